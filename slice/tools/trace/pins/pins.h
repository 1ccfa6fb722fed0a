/* pins.h - which sites' blocks keep pages resident that hold little else
 *
 * Tools.  The command `pins' reads a trace twice.  The first reading samples
 * the address space.  The second stops at the chosen moment, and assigns each
 * resident byte that is in no live block to a site that pins it:
 *
 *   - A page with live blocks: its free bytes are divided equally among the
 *     sites that have blocks on it.
 *   - A page without a live block: it goes to the site of the next live block
 *     above, since glibc's malloc could return the page without that block.
 *     A page of slices goes to no site, since slice_trim (0) returns it.
 *
 * A second figure predicts how many bytes the system would get back if a
 * site's blocks had memory of their own.  The model (heap-model.h) computes
 * which pages become free without the blocks.  From these, the pages are
 * subtracted that the blocks would fill when they lie close together.
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
  uint64_t n_pages;      /* pages with a block of this site */
  uint64_t pinned_bytes; /* assigned to it */
  uint64_t alone_bytes;  /* returned if this site alone had its own memory */
  uint64_t together_bytes; /* returned if all sites of the list up to this one
                              had their own memory */
  bool is_predicted;       /* the two above are known */
} PinsSite;

typedef struct
{
  const Profile *profile;
  HeapPolicy policy;
  unsigned page_shift;
  PinsSample samples[PINS_SAMPLES];
  double at_seconds;  /* the chosen moment */
  double end_seconds; /* the end of the run */
  uint64_t live_bytes, n_blocks, resident_bytes;
  uint64_t unassigned_bytes; /* behind the last live block */
  uint64_t empty_bytes;      /* in pages without a live block */
  uint64_t slices_empty_bytes; /* of them, in pages of slices */
  uint64_t process_bytes;    /* resident, as the recorder saw it; or 0 */
  PinsSite *sites;           /* most pinned first */
  uint32_t n_sites;
} Pins;

/* at_seconds  the moment; below 0: the middle of the twentieth of the run that
 *             has most pinned from its first sample to its last
 */
Pins *sli_pins_new (Profile *profile, HeapPolicy policy, double at_seconds);
void sli_pins_free (Pins *pins);

/* Prints a table for people, of at most n_rows sites. */
void sli_pins_print (const Pins *pins, FILE *file, uint32_t n_rows);
/* Writes all as JSON. */
void sli_pins_write (const Pins *pins, FILE *file);
/* Draws the address space over time, as SVG. */
void sli_pins_draw (const Pins *pins, FILE *file);

#endif
