/* apply.h - advice for the unchanged program, as slice-run --advice follows it
 *
 * Tools.  apply-regions.c replays each site on regions as libslice-advice has
 * them; apply-paths.c finds the stacks by which a site is known; apply.c
 * chooses and writes.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_APPLY_APPLY_H
#define SLI_TRACE_APPLY_APPLY_H

#include "tools/trace/profile/profile-parts.h"

/* As in slice/dropin/advice: what a region is, and how much a file may have. */
#define APPLY_CHUNK_BYTES 32768u
#define APPLY_BLOCK_BYTES_MAX 4096u
#define APPLY_SITES_MAX 1024u
#define APPLY_FRAMES_MAX 16383u
#define APPLY_MODULES_MAX 256u

/* A site on its region.  Only calls of malloc, calloc and new count, and those
 * of realloc and reallocarray without an old block. */
typedef struct
{
  uint64_t n_blocks, bytes;
  uint64_t malloc_bytes, malloc_peak; /* with malloc's rounding and header */
  uint64_t region_bytes, region_peak;
  uint64_t largest;
} ApplySite;

/* Reads the trace once more; by result.  *by_node gets the blocks by node.  The
 * caller frees both. */
ApplySite *sli_apply_regions (Profile *profile, const ProfileOptions *options,
                              uint64_t **by_node);

/* Returns true if the library serves an allocation: a realloc only if it has no
 * old block, that is, if it is malloc.
 *
 * resizing  threads whose realloc has freed the old block */
bool sli_apply_is_served (const TraceEvent *event, Table *resizing);

/* A frame that is one of a path, as a node of a tree. */
typedef struct
{
  uint64_t pc;
  uint32_t parent;
  uint32_t result; /* whose blocks have passed; SITE_NONE: several's */
  bool ends;       /* a path of the result */
} PathNode;

typedef struct
{
  PathNode *nodes; /* node 0 is the root */
  uint32_t n, capacity;
  Table by_key;
} Paths;

/* The shortest stacks that tell each site from all others. */
void sli_apply_paths (Paths *paths, const Profile *profile,
                      const uint64_t *by_node);

typedef struct
{
  bool all;         /* a region for each site, whatever that takes */
  const bool *only; /* by result: those that count; NULL: all */
} ApplyChoice;

/* Writes the advice; returns the sites. */
uint32_t sli_apply_write (Profile *profile, const ApplySite *sites,
                          const Paths *paths, ApplyChoice choice, FILE *file);

#endif
