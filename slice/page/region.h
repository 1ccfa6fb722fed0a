/* region.h - what lies in a region's first granule, and the way from an
 * address
 *
 * Layer: page.  page.c's own, and inline for who looks addresses up: no
 * lock is needed for that as long as the address's run is in use.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_REGION_H
#define SLI_PAGE_REGION_H

#include "map.h"
#include "page.h"
#include "granuleset.h"
#include "base/align.h"
#include "base/list.h"
#include "port/compiler.h"

#define REGION_BYTES ((size_t) 1 << WINDOW_SHIFT)

enum
{
  GRANULE_BYTES_MIN = 16 * 1024, /* 32 chunks of 512 bytes; measured against
                                 4 and 64 KiB (design chapter 11) */
  REGION_GRANULES_MAX = (1 << WINDOW_SHIFT) / GRANULE_BYTES_MIN
};

/* The checking modes keep a mark of two bytes for each 16 bytes of a region,
 * for a chunk that begins there, behind the header: an address alone tells
 * where its mark is. */
enum
{
  TAG_GRAIN_SHIFT = 4,
  TAGS_OFFSET = GRANULE_BYTES_MIN /* from the region's start */
};

typedef struct
{
  void *start;        /* what the source gave */
  size_t bytes;
  unsigned n_regions; /* that fit in */
  unsigned n_initialised; /* of these, the first so many have headers */
  unsigned n_purged;      /* begun, idle and given back to the system */
  bool is_permanent;  /* holds a leaf of the map, or is the first */
  bool is_zeroed;     /* what was never used reads as zero */
  bool is_huge;       /* the system was asked for huge pages */
  Link link;          /* in sli_page.extents */
} Extent;

typedef enum
{
  REGION_USED,   /* in one of the fullness rings or the full one */
  REGION_IDLE,   /* in sli_page.idle: no run, memory still held */
  REGION_PURGED, /* in sli_page.purged: no run, memory given back; or, where
                   a source can't, set aside to go with its extent */
  REGION_IN_TRIM /* in no ring: a trimmer works on it unlocked */
} RegionState;

/* Lies in the region's first granule, which is never handed out; nor are the
 * next ones, where marks are kept. */
typedef struct
{
  Link link;              /* in the ring of its state */
  Extent *extent;         /* lies in the extent's first region */
  Extent own_extent;      /* in the first region of an extent only */
  RegionState state;
  uint32_t n_granules;    /* the header's included */
  uint32_t n_header;      /* the header's and the marks' */
  uint32_t tags_bytes;    /* 0: none are kept */
  uint32_t n_free;
  uint32_t trim_pass;     /* the last pass of sli_page_trim_granules() */
  bool is_plain;          /* in an extent of huge pages, but small ones are
                             asked for, since some of it was given back */
  uint64_t idle_msec;     /* since when it is idle, or its memory unneeded */
  uint64_t used_msec;     /* when a run was last taken or came back */
  uint64_t dirty_msec;    /* no free granule with memory has been free for
                             longer; UINT64_MAX: there is none */
  GranuleSet free;        /* granules that are in no run */
  GranuleSet zeroed;      /* granules that read as zero and hold no memory */
  uint8_t run_first[REGION_GRANULES_MAX];    /* of a granule: its run's first
                                                granule; 0: none */
  uint8_t run_granules[REGION_GRANULES_MAX]; /* of the run that begins there */
  uint64_t free_msec[REGION_GRANULES_MAX];   /* of a free granule with memory:
                                                since when it is unneeded */
  _Alignas (64) char records[REGION_GRANULES_MAX][RUN_RECORD_BYTES];
} Region;

/* log2 of a granule's size; constant after sli_page_init(). */
extern unsigned sli_region_granule_shift;

static inline Region *
region_of (const void *address)
{
  return align_down_address (address, REGION_BYTES);
}

static inline char *
region_granule (Region *region, unsigned granule)
{
  return (char *) region + ((size_t) granule << sli_region_granule_shift);
}

static inline unsigned
region_granule_of (const Region *region, const void *address)
{
  return (unsigned) ((size_t) ((const char *) address - (const char *) region)
                     >> sli_region_granule_shift);
}

/* See sli_page_is_ours(). */
static inline bool
region_holds (const void *address)
{
  return sli_map_has (address);
}

/* The mark of a chunk, which is a multiple of 16, of ours, in a mode that
 * keeps marks. */
static inline uint16_t *
region_tag_of (const void *chunk)
{
  uintptr_t offset = (uintptr_t) chunk & (REGION_BYTES - 1);

  return (uint16_t *) (void *) ((char *) region_of (chunk) + TAGS_OFFSET
                                + (offset >> (TAG_GRAIN_SHIFT - 1)));
}

/* See sli_page_run_of(). */
static ALWAYS_INLINE void *
region_run_of (const void *address, void **record)
{
  Region *region = region_of (address);
  unsigned granule, first;

  if (UNLIKELY (!sli_map_has (address)))
    return NULL;
  granule = region_granule_of (region, address);
  first = LOAD (&region->run_first[granule]);
  if (UNLIKELY (first == 0))
    return NULL;
  *record = region->records[first];
  return region_granule (region, first);
}

#endif
