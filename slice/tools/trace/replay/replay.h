/* replay.h - replays a trace's operations on other allocators
 *
 * Tools.  The operations are written once, compactly, into a file; each
 * measurement is a process of its own that maps the file and runs it.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_REPLAY_REPLAY_H
#define SLI_TRACE_REPLAY_REPLAY_H

#include "tools/trace/profile/profile.h"

typedef enum
{
  BACKEND_NONE, /* the loop and the touching, no allocator */
  BACKEND_MALLOC,
  BACKEND_SLICE,
  BACKEND_CONTEXT, /* ralloc: a context for each site, or for each group of
                      blocks with one owner */
  BACKEND_LINEAR,  /* an arena for each site, reset when it is empty */
  BACKEND_STACK,   /* a stack for each site; a freed block waits until it is on
                      top */
  BACKEND_POOL,
  BACKEND_TLSF,
  N_BACKENDS
} BackendId;

typedef struct
{
  uint32_t slot_allocated; /* slot << 1 | 1 for an allocation */
  uint32_t size;       /* allocations; capped */
  uint32_t site;
  uint32_t group_align; /* owner's group << 5 | log2 of the alignment */
} ReplayOp;

typedef struct
{
  uint32_t class; /* SiteClass */
  uint32_t pool_bytes;
  uint32_t alignment_log2;
  uint32_t reserved;
} ReplaySite;

typedef struct
{
  uint64_t n_ops, n_slots, n_sites, n_groups, n_allocs, bytes, peak;
  /* ReplaySite[n_sites], ReplayOp[n_ops] */
} ReplayHead;

typedef enum
{
  FREES_CALLED, /* frees each block */
  FREES_READ,   /* reads each block, and frees it */
  FREES_VISIT,  /* follows a link from each block to the next, frees none */
  FREES_NONE    /* does nothing with them */
} ReplayFrees;

/* The parameters of one measurement. */
typedef struct
{
  const char *ops_path;
  BackendId backend;  /* for all sites, unless advised */
  bool advised;       /* each site by its class, the rest by malloc */
  uint32_t only_site; /* SITE_NONE for all */
  ReplayFrees frees;
  unsigned n_repeats;
  size_t block_bytes;     /* arenas' blocks; 0 for their default */
  unsigned pollute_lines; /* cache lines touched between operations */
  bool litter;            /* a heap that was used before */
  const char *preload;    /* another malloc; NULL for the C library's */
  const char *options;    /* SLICE_OPTIONS; NULL: as they are */
} ReplayTask;

typedef struct
{
  bool good;
  uint64_t n_ops, n_allocs, bytes, peak_live;
  double nsec; /* of all operations, the least of the repeats */
  double nsec_median;
  uint64_t rss_peak;  /* by how much the anonymous memory grew */
  uint64_t curve[64]; /* the same in the course of the operations */
} ReplayResult;

#define N_CURVE 64

const char *sli_backend_name (BackendId id);
BackendId sli_backend_by_name (const char *name); /* N_BACKENDS: none such */
/* The backend that serves a class when its advice is taken. */
BackendId sli_backend_of_class (SiteClass class);

/* The operations, in a file without a name, so none is left behind and no
 * other process has it.  The path is valid while the file is open, here and in
 * children.
 */
typedef struct
{
  int fd;
  char path[32];
} ReplayFile;

/* Writes the operations of the profile, which was made with these options;
 * exits with a message if the disk is full. */
ReplayFile sli_replay_write (Profile *profile, const ProfileOptions *options);
void sli_replay_file_close (ReplayFile *file);
/* In this process: prints the result for the parent. */
int sli_replay_run (const ReplayTask *task);
/* In a new process. */
ReplayResult sli_replay_measure (const ReplayTask *task);
/* Starts a process with the library in LD_PRELOAD.  Exits with a message if it
 * is not loaded there.  Called before long work. */
void sli_replay_preload_check (const char *library);

/* --- replay-backends.c --- */

typedef struct
{
  void *block;
  uint32_t size;
  uint32_t place; /* in its site's stack */
} ReplaySlot;

typedef struct
{
  void *arena;
  uint32_t n_live;
  uint8_t backend;
  uint32_t pool_bytes;
  struct StackEntry *stack;
  uint32_t n_stack, stack_capacity;
} ReplayArena;

typedef struct
{
  const char *name;
  void *(*alloc) (ReplayArena *arena, uint32_t size, unsigned align_log2,
                  ReplaySlot *slot);
  void (*free) (ReplayArena *arena, ReplaySlot *slot);
  void (*empty) (ReplayArena *arena);   /* none of its blocks lives; or NULL */
  void (*destroy) (ReplayArena *arena); /* or NULL */
} Backend;

extern const Backend sli_backends[N_BACKENDS];
void sli_backends_block_bytes (size_t bytes);

#endif
