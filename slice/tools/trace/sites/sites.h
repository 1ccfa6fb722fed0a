/* sites.h - call sites: stacks cut at a depth, allocators and wrappers dropped
 *
 * Tools.  A site of depth K is the first K frames outward from the first that
 * is no allocator's or wrapper's.  Sites form a tree: one of depth K is a
 * child of one of depth K-1.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_SITES_SITES_H
#define SLI_TRACE_SITES_SITES_H

#include "symbols.h"
#include "tools/trace/common/table.h"

#define SITE_NONE UINT32_MAX
#define SITE_DEPTH_MAX 8
/* The most frames of libraries that are skipped to find the program's own. */
#define LIBRARY_FRAMES_MAX 8

typedef struct
{
  uint32_t parent; /* SITE_NONE at depth 1 */
  uint32_t depth;
  uint64_t pc;      /* of its outermost frame */
  uint32_t through; /* at depth 1: if it allocates by a function of a library,
                       the node of that call (one of several); else 0 */
  uint64_t function; /* its start: a call by a pointer may be of several
                        functions */
  bool temporary;   /* a library's own: freed before the call returns */
} Site;

/* The blocks that a thread has allocated within one call of a library. */
#define CALL_BLOCKS 8
typedef struct
{
  uint32_t outside; /* the caller's node */
  uint32_t n;
  uint32_t nodes[CALL_BLOCKS];
  uint64_t blocks[CALL_BLOCKS];
} LibraryCall;

typedef struct
{
  const TraceReader *reader;
  Symbols *symbols;
  uint64_t *allocs; /* by node */
  uint64_t *bytes;
  uint64_t *frees;
  uint32_t *start; /* by node: the first node outward that is no wrapper */
  uint32_t *outside; /* by node: the first one outward that is no library's, if
                        it is near; else the node itself */
  uint8_t *depth_in; /* by node: frames of libraries at its inner end */
  uint64_t *gone;    /* by node: blocks that were freed within the call */
  bool *temporary;   /* by node: nearly all were */
  uint16_t *depths;   /* by node: frames from the outer end */
  uint64_t *functions; /* by node, computed when needed: see below */
  LibraryCall *calls; /* by thread */
  uint32_t n_calls;
  Site *sites;
  uint32_t n_sites, capacity;
  Table table; /* by hash of parent, pc and function: site + 1 */
  char **patterns; /* extended regular expressions of the user's */
  size_t n_patterns;
  uint64_t *wrapper_pcs; /* that sli_sites_settle() found, for the report */
  size_t n_wrapper_pcs;
} Sites;

/* The counts come from one reading of the trace. */
Sites *sli_sites_new (const TraceReader *reader, Symbols *symbols);
void sli_sites_count (Sites *sites, const TraceEvent *event);
/* Called after counting: finds where each stack's site starts. */
void sli_sites_settle (Sites *sites);
/* The site of a node at a depth; of the node's own depth if it is less. */
uint32_t sli_sites_of (Sites *sites, uint32_t node, uint32_t depth);
/* The start of a node's function; 0 if unknown. */
uint64_t sli_sites_function (Sites *sites, uint32_t node);
void sli_sites_free (Sites *sites);
/* The same in every run of the same binaries. */
uint64_t sli_sites_key (Sites *sites, uint32_t site);
/* The function of a library's that the site calls for its blocks, or NULL. */
const char *sli_sites_through (const Sites *sites, uint32_t site);
bool sli_sites_temporary (const Sites *sites, uint32_t site);
/* From the innermost frame: fills pcs and returns their number. */
uint32_t sli_sites_frames (const Sites *sites, uint32_t site,
                           uint64_t pcs[SITE_DEPTH_MAX]);

/* --- wrappers.c --- */

/* Adds a pattern for names of wrappers, an extended regular expression. */
void sli_sites_wrapper (Sites *sites, const char *pattern);
/* Adds those of the usual ones. */
void sli_sites_wrappers_init (Sites *sites);
/* Moves the starts outward until none is at a wrapper. */
void sli_sites_wrappers_find (Sites *sites);

#endif
