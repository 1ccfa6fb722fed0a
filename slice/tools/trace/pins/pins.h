/* pins.h - which sites' blocks keep pages resident that hold little else
 *
 * Tools.  One reading of the trace takes samples of the address space; another
 * stops at the chosen moment.  There, each resident byte that is in no live
 * block is assigned to the site that pins it:
 *
 *   - the free bytes of a page with live blocks, in equal parts to the sites
 *     that have blocks on it;
 *   - pages without a live block to the site of the next live block above
 *     them: with glibc's malloc nothing else keeps them.
 *
 * The bytes that would return if a site's blocks had memory of their own are
 * computed, not assigned: the model gives the pages that stay without the
 * blocks, and the pages that the blocks fill when they are close together are
 * subtracted.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PINS_PINS_H
#define SLI_TRACE_PINS_PINS_H

#include "heap-model.h"
#include "tools/trace/profile/profile.h"

#define PINS_SAMPLES 200

/* A region at a sample. */
typedef struct
{
  uint64_t number;
  uint32_t resident_pages;
  uint64_t live_bytes;
} PinsCell;

typedef struct
{
  uint64_t ticks;
  uint64_t live_bytes, resident_bytes;
  PinsCell *cells; /* of regions with resident pages, by address */
  uint32_t n_cells;
} PinsSample;

typedef struct
{
  uint32_t result; /* in the profile */
  uint64_t live_bytes, n_blocks;
  uint64_t n_pages;      /* with a block of it */
  uint64_t pinned_bytes; /* assigned to it */
  uint64_t alone_bytes;  /* that return if this site had its own memory */
  uint64_t together_bytes; /* ... and those before it in the list, too */
  bool is_predicted;       /* the two above are known */
} PinsSite;

typedef struct
{
  const Profile *profile;
  HeapPolicy policy;
  unsigned page_shift;
  PinsSample samples[PINS_SAMPLES];
  double at_seconds; /* the moment, and the end */
  double end_seconds;
  uint64_t live_bytes, n_blocks, resident_bytes;
  uint64_t unassigned_bytes; /* behind the last live block */
  uint64_t empty_bytes;      /* in pages without a live block */
  uint64_t process_bytes;    /* resident, as the recorder saw it; or 0 */
  PinsSite *sites;           /* most pinned first */
  uint32_t n_sites;
} Pins;

/* at_seconds  the moment; below 0: when most is pinned for a twentieth of the
 *             run */
Pins *sli_pins_new (Profile *profile, HeapPolicy policy, double at_seconds);
void sli_pins_free (Pins *pins);

/* Lines for a reader, at most n_rows sites. */
void sli_pins_print (const Pins *pins, FILE *file, uint32_t n_rows);
void sli_pins_write (const Pins *pins, FILE *file);
/* The address space over time. */
void sli_pins_draw (const Pins *pins, FILE *file);

#endif
