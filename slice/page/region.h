/* region.h - the header of a region, and how an address leads to it
 *
 * Layer: page.  Private to the layer, except for the inline functions that
 * look up addresses.  They need no lock while the run of the address is in
 * use.
 * Design: chapter 3.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_REGION_H
#define SLI_PAGE_REGION_H

#include "page/map/extent-cache.h"
#include "granuleset.h"
#include "page/map/map.h"
#include "page.h"
#include "base/align.h"
#include "base/list.h"
#include "port/compiler.h"

#define REGION_BYTES ((size_t) 1 << WINDOW_SHIFT)
#define EXTENT_BYTES_MAX ((size_t) (sizeof (void *) > 4 ? 32 : 4) << 20)

enum
{
  GRANULE_BYTES_MIN = 16 * 1024, /* 32 chunks of 512 bytes; measured against
                                    4 and 64 KiB (design chapter 11) */
  REGION_GRANULES_MAX = (1 << WINDOW_SHIFT) / GRANULE_BYTES_MIN,
  EXTENT_GRANULES_MAX = EXTENT_BYTES_MAX / GRANULE_BYTES_MIN
};

/* In the checking modes a region has, behind its header, a tag of two bytes
 * for each 16 bytes, for a chunk that begins there.  So a chunk's address
 * alone leads to its tag. */
enum
{
  TAG_GRAIN_SHIFT = 4,
  TAGS_OFFSET = GRANULE_BYTES_MIN /* from the region's start */
};

typedef struct
{
  void *start;            /* what the source returned */
  size_t bytes;
  unsigned n_regions;     /* that fit into it */
  unsigned n_initialised; /* the first so many regions have headers */
  unsigned n_purged;      /* regions in state REGION_PURGED */
  CachedExtent *cached;   /* its entry; NULL: it has none, although an extent
                             at the same address may have had one */
  bool is_permanent;      /* has a leaf of the map, or is the first extent */
  bool is_zeroed;         /* memory that was never used reads as zero */
  bool is_huge;           /* the system was advised to use huge pages */
  Link link;              /* in sli_page.extents */
} Extent;

/* USED ---- last run freed ----> IDLE ------ purged ----> PURGED
 *      ^                             |                          |
 *      +------- run allocated -------+--------------------------+
 *
 * A USED or IDLE region is IN_TRIM while a trimmer purges it or some of its
 * granules; then it is USED, IDLE or PURGED. */
typedef enum
{
  REGION_USED,   /* in the ring of its fullness: has runs */
  REGION_IDLE,   /* in sli_page.idle: no run, but memory */
  REGION_PURGED, /* in sli_page.purged: no run, no memory; or the source can't
                    purge, and the region waits until its extent is unmapped */
  REGION_IN_TRIM /* in no ring: a trimmer works on it without the lock */
} RegionState;

/* The header of a region, in its first granule.  Runs use neither this granule
 * nor the next ones, which hold the tags. */
typedef struct
{
  Link link;           /* in the ring of its state (P1) */
  Extent *extent;      /* its record is in its first region */
  Extent extent_record; /* used in the first region of an extent only */
  RegionState state;
  uint32_t n_granules; /* all, with those of header and tags */
  uint32_t n_header;   /* those of the header and the tags */
  uint32_t tags_bytes; /* 0: there are none */
  uint32_t n_free;     /* members of `free' (P2) */
  uint32_t trim_pass;  /* the last pass of sli_page_trim_granules() */
  bool has_small_pages; /* in an extent with huge pages, but advised to have
                           small ones, since a part of it was purged */
  uint64_t idle_msec;  /* when it became idle */
  uint64_t used_msec;  /* when a run was last allocated or last needed */
  uint64_t dirty_msec; /* no free granule with memory has been free for
                          longer; UINT64_MAX: there is none */
  GranuleSet free;     /* granules in no run */
  GranuleSet zeroed;   /* of these, those that read as zero and hold no memory
                          (P3) */
  uint8_t run_first[REGION_GRANULES_MAX];    /* by granule: the first granule
                                                of its run; 0: none */
  uint8_t run_granules[REGION_GRANULES_MAX]; /* by first granule of a run: the
                                                length */
  uint8_t run_class[REGION_GRANULES_MAX];    /* by granule: the size class of
                                                the slab that has it; 0: none.
                                                The slab layer's */
  uint64_t free_msec[REGION_GRANULES_MAX];   /* by free granule with memory:
                                                when it became free */
  _Alignas (64) char records[REGION_GRANULES_MAX][RUN_RECORD_BYTES];
  uint8_t extent_class[EXTENT_GRANULES_MAX]; /* used in the first region of an
                                                extent only: as run_class, for
                                                all its regions; see
                                                extent-cache.h */
} Region;

/* log2 of a granule's size; constant after sli_page_init(). */
extern unsigned sli_region_granule_shift
    __attribute__ ((visibility ("hidden")));

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

/* The tag of one of our chunks; its address is a multiple of 16, and the mode
 * has tags. */
static inline uint16_t *
region_tag_of (const void *chunk)
{
  uintptr_t offset = (uintptr_t) chunk & (REGION_BYTES - 1);

  return (uint16_t *) (void *) ((char *) region_of (chunk) + TAGS_OFFSET
                                + (offset >> (TAG_GRAIN_SHIFT - 1)));
}

/* The run that has an address, and its record; NULL if there is none.  Takes
 * no lock: exact if the caller knows that the run is in use, otherwise a
 * guess.  Never faults while the region is mapped. */
static ALWAYS_INLINE void *
region_run_of (const void *address, void **record)
{
  Region *region = region_of (address);
  unsigned granule, first;

  if (UNLIKELY (!extent_cache_has_large (address) && !sli_map_has (address)))
    return NULL;
  granule = region_granule_of (region, address);
  first = LOAD (&region->run_first[granule]);
  if (UNLIKELY (first == 0))
    return NULL;
  *record = region->records[first];
  return region_granule (region, first);
}

/* Notes the size class of a run's slab; 0: it is no slab any more. */
static inline void
region_set_class (void *run, unsigned n_granules, unsigned class_index)
{
  Region *region = region_of (run);
  unsigned first = region_granule_of (region, run);

  for (unsigned i = first; i < first + n_granules; i++)
    STORE (&region->run_class[i], (uint8_t) class_index);
  extent_cache_set_class (run, n_granules, class_index,
                          sli_region_granule_shift);
}

/* The size class of the slab that has an address; 0: none. */
static inline unsigned
region_class_of (const Region *region, const void *address)
{
  return LOAD (&region->run_class[region_granule_of (region, address)]);
}

#endif
