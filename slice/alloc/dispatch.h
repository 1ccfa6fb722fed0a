/* dispatch.h - chooses the layers that serve a block, for the entries
 *
 * Layer: alloc.  For the files of the layer alone; other layers include
 * alloc.h or untraced.h.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ALLOC_DISPATCH_H
#define SLI_ALLOC_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slice/slice.h>

#include "alloc.h"
#include "checking/checking.h"
#include "port/compiler.h"
#include "port/thread/lock.h"

/* The address of the program's call, for the debug mode's messages. */
#define CALL_SITE __builtin_return_address (0)

/* Constant once `ready', except what hooks change, and the counters. */
typedef struct
{
  bool ready;
  bool is_inline;       /* only magazines, unless there are hooks */
  bool is_fast;         /* ready, inline, and no hooks */
  AllocPath path;
  CheckingMode mode;    /* a checking mode, or CHECKING_OFF */
  /* The slow paths of the entries.  Before `ready' these functions initialise
   * the layers; with hooks, the first three are the ones that call the
   * hooks. */
  CheckingCalls calls;
  CheckingCalls untraced; /* the same without hooks */
  size_t size_max;      /* larger blocks are the system malloc's */
  size_t zone_bytes;    /* that malloc allocates behind such a block */
  bool registers;       /* mallocs are in the registry of live blocks */
  bool malloc_is_exact; /* malloc knows the exact requested size */
  _Alignas (8) uint64_t n_large_allocs;
  _Alignas (8) uint64_t n_large_frees;
  _Alignas (8) uint64_t n_live_mallocs; /* of any size; PATH_MALLOC */
} Dispatch;

extern Dispatch sli_dispatch;

/* Reads the options and initialises the layers, once. */
void sli_dispatch_begin_once (void);
/* For fork.c. */
Lock *sli_dispatch_lock (void);

/* The first step of every slow path. */
static inline void
dispatch_make_ready (void)
{
  if (UNLIKELY (!LOAD_ACQUIRE (&sli_dispatch.ready)))
    sli_dispatch_begin_once ();
}

/* Returns true if a block of this size may come from the magazines without
 * further checks. */
static inline bool
dispatch_is_fast (size_t size)
{
  return LIKELY (LOAD_ACQUIRE (&sli_dispatch.is_fast))
         && LIKELY (size - 1 < SLICE_SIZE_MAX);
}

/* Returns true if a free may report misuse at the call.  Then it goes through
 * sli_free_as() instead of slice_free1(), so that the message names the
 * function that was called. */
static inline bool
dispatch_checks_frees (void)
{
  return sli_dispatch.path == PATH_CHECKING
         || sli_dispatch.path == PATH_MALLOC;
}

static inline bool
dispatch_goes_to_malloc (size_t size)
{
  return size > sli_dispatch.size_max;
}

/* --- dispatch.c --- */

/* Ends the program: a slab's block is freed as a malloc. */
_Noreturn void sli_dispatch_report_chunk (size_t size, const void *block,
                                          const char *operation);

/* Allocates a block of any size but 0; NULL: no memory.  site: CALL_SITE. */
void *sli_dispatch_alloc (size_t size, const void *site);
void *sli_dispatch_alloc0 (size_t size, const void *site);
/* A zeroed block of malloc, not traced: memory that is new from the system is
 * not touched. */
void *sli_dispatch_large0 (size_t size, bool may_fail, const void *site);
void sli_dispatch_free (size_t size, void *block, const char *operation,
                        const void *site);

/* As slice_free1(), for another public function. */
void sli_free_as (size_t size, void *block, const char *operation,
                  const void *site);

/* Count a block of the system's malloc, by whatever function it is allocated
 * and freed: the caller that frees it may not know its size. */
void sli_dispatch_count_malloc (void);
void sli_dispatch_count_malloc_free (void);

/* --- aligned.c --- */

/* As slice_free_aligned(). */
void sli_free_aligned_as (size_t alignment, size_t size, void *block,
                          const char *operation, const void *site);

/* --- exit-link.c --- */

/* Has no meaning; a reference to it links what happens at exit. */
extern const char sli_exit_link;

/* --- trace.c --- */

/* Lets the entries call the hooks if there are any.  Before `ready' is set, and
 * again after it, where hooks may have been set meanwhile. */
void sli_trace_apply_hooks (void);
void sli_trace_apply_late_hooks (void);
/* Gets the hooks of the recorder, if there is one. */
void sli_trace_load (void);

/* --- oom.c --- */

/* For fork.c. */
Lock *sli_oom_lock (void);

/* Sets the name of slice_alloc() in the message about no memory, where it
 * serves a call that does not return NULL then (g_slice_alloc(), but not
 * malloc()); it must stay valid. */
void sli_oom_rename (const char *name);

/* Calls the failure handler, with no lock held; false if there is none or it
 * gives up. */
bool sli_oom_ask (size_t size, size_t alignment);

/* One attempt to allocate a block. */
typedef void *(*Attempt) (size_t alignment, size_t size, const void *site);

/* Does what the manual promises after a failed attempt: trims and tries again.
 * Then, unless may_fail, calls the handler and tries again as long as it
 * returns true.  Then ends the program. */
void *sli_oom_retry (Attempt attempt, size_t alignment, size_t size,
                     bool may_fail, const void *site);

#endif
