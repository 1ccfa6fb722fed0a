/* record.c - the entry points of malloc, recorded
 *
 * Tools: the preloaded object (record.h).  Every entry calls the next
 * definition of its name, whoever provides it, and writes one event, two for
 * realloc.  The order within an event is what makes the merged order of
 * several threads right: the time of a death is read before the block is
 * given back, the time of a birth after it was handed out.
 *
 * While an event is written the thread is busy; a call made then (by a signal
 * handler) is served and counted, not recorded.
 *
 * Before dlsym() has found the next malloc, requests are served from a small
 * static arena; such blocks are never given to a real free().
 *
 * Theory: section 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record.h"
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#define EARLY_BYTES 65536

static struct
{
  void *(*malloc) (size_t);
  void *(*calloc) (size_t, size_t);
  void *(*realloc) (void *, size_t);
  void (*free) (void *);
  void *(*memalign) (size_t, size_t);
  int (*posix_memalign) (void **, size_t, size_t);
  void *(*aligned_alloc) (size_t, size_t);
  void *(*valloc) (size_t);
  void *(*pvalloc) (size_t);
  size_t (*usable_size) (void *);
  int (*dlclose) (void *);
} next;

static enum { UNKNOWN, LOOKING, FOUND } next_state;

/* Blocks handed out before the next malloc is known: each has its size in
 * front, none is ever used again. */
static struct
{
  uint8_t bytes[EARLY_BYTES] __attribute__ ((aligned (16)));
  size_t used;
} early;

static bool
early_has (const void *block)
{
  return (const uint8_t *)block >= early.bytes
         && (const uint8_t *)block < early.bytes + EARLY_BYTES;
}

static void *
early_alloc (size_t alignment, size_t size)
{
  size_t at = early.used + 16;
  at = (at + alignment - 1) & ~(alignment - 1);
  if (size > EARLY_BYTES || at + size > EARLY_BYTES)
    sli_record_die ("slice-trace: the start needs more memory than is set "
                    "aside\n");
  early.used = (at + size + 15) & ~(size_t)15;
  memcpy (&early.bytes[at - sizeof size], &size, sizeof size);
  return &early.bytes[at];
}

static size_t
early_size (const void *block)
{
  size_t size;
  memcpy (&size, (const uint8_t *)block - sizeof size, sizeof size);
  return size;
}

void
sli_record_die (const char *text)
{
  if (write (STDERR_FILENO, text, strlen (text)) < 0)
    _exit (127);
  abort ();
}

/* The next definition of a symbol.  A C++ runtime that was loaded privately
 * is not in the search order: it is asked itself. */
void *
sli_record_next (const char *symbol)
{
  void *found = dlsym (RTLD_NEXT, symbol);
  if (found != NULL)
    return found;
  void *runtime = dlopen ("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return runtime == NULL ? NULL : dlsym (runtime, symbol);
}

static void
next_find (void)
{
  next_state = LOOKING;
  next.malloc = dlsym (RTLD_NEXT, "malloc");
  next.calloc = dlsym (RTLD_NEXT, "calloc");
  next.realloc = dlsym (RTLD_NEXT, "realloc");
  next.free = dlsym (RTLD_NEXT, "free");
  next.memalign = dlsym (RTLD_NEXT, "memalign");
  next.posix_memalign = dlsym (RTLD_NEXT, "posix_memalign");
  next.aligned_alloc = dlsym (RTLD_NEXT, "aligned_alloc");
  next.valloc = dlsym (RTLD_NEXT, "valloc");
  next.pvalloc = dlsym (RTLD_NEXT, "pvalloc");
  next.usable_size = dlsym (RTLD_NEXT, "malloc_usable_size");
  next.dlclose = dlsym (RTLD_NEXT, "dlclose");
  if (next.malloc == NULL || next.free == NULL || next.realloc == NULL)
    sli_record_die ("slice-trace: no malloc to be found\n");
  next_state = FOUND;
}

/* Whether the next malloc may be called; if not, the caller is inside of
 * dlsym() itself and takes from the early arena. */
static bool
next_ready (void)
{
  if (UNLIKELY (next_state == UNKNOWN))
    next_find ();
  return next_state == FOUND;
}

static void record_leave (RecordThread *self);

/* --- start, fork, end ---------------------------------------------------- */

static const char *
option_find (const char *options, const char *name)
{
  const char *at = options == NULL ? NULL : strstr (options, name);
  return at == NULL ? NULL : at + strlen (name);
}

static uint32_t
option_number (const char *options, const char *name, uint32_t missing,
               uint32_t most)
{
  const char *at = option_find (options, name);
  uint32_t value = at == NULL ? missing : (uint32_t)strtoul (at, NULL, 10);
  return value > most ? most : value;
}

/* The C library's own environment is not set up yet when this runs first. */
static char **
environment_find (char **envp, const char *name)
{
  size_t n = strlen (name);
  for (; *envp != NULL; envp++)
    if (strncmp (*envp, name, n) == 0 && (*envp)[n] == '=')
      return envp;
  return NULL;
}

static const char *
environment_get (char **envp, const char *name)
{
  char **found = environment_find (envp, name);
  return found == NULL ? NULL : *found + strlen (name) + 1;
}

static void
environment_remove (char **envp, const char *name)
{
  char **at = environment_find (envp, name);
  for (; at != NULL && *at != NULL; at++)
    at[0] = at[1];
}

/* Takes this object out of what the program's children would preload, and
 * out of what getenv() shows.  The launcher put it first. */
static void
environment_clean (char **envp)
{
  environment_remove (envp, SPOOL_ENV);
  environment_remove (envp, SPOOL_ENV_OPTIONS);
  char **preload = environment_find (envp, "LD_PRELOAD");
  char *value = preload == NULL ? NULL : *preload + strlen ("LD_PRELOAD=");
  char *rest = value == NULL ? NULL : strchr (value, ':');
  if (rest != NULL)
    memmove (value, rest + 1, strlen (rest + 1) + 1);
  else
    environment_remove (envp, "LD_PRELOAD");
}

static void
at_exit (void)
{
  sli_spool_close ();
}

/* Runs before the constructors of all other objects (the object is linked
 * with -z initfirst), when the loader may be called. */
__attribute__ ((constructor)) static void
record_start (int argc, char **argv, char **envp)
{
  (void)argc;
  (void)argv;
  RecordThread *self = &sli_record_self;
  const char *options = environment_get (envp, SPOOL_ENV_OPTIONS);
  next_ready ();
  self->busy = true;
  sli_record.stack_depth
      = option_number (options, "depth=", 128, RECORD_DEPTH_MAX);
  sli_record.free_depth
      = option_number (options, "free=", 4, RECORD_DEPTH_MAX);
  sli_record.timed = option_find (options, "timed") != NULL;
  sli_record.check_unwind = option_find (options, "check-unwind") != NULL;
  if (sli_spool_open (environment_get (envp, SPOOL_ENV)))
    {
      sli_stack_init ();
      if (option_find (options, "follow") == NULL)
        environment_clean (envp);
      atexit (at_exit);
      record_compiler_barrier ();
      sli_record.ready = true;
    }
  self->busy = false;
}

int __libc_start_main (int (*main_function) (int, char **, char **), int argc,
                       char **argv, void (*init) (void), void (*fini) (void),
                       void (*rtld_fini) (void), void *stack_end);

/* Between the constructors and main(). */
RECORD_API int
__libc_start_main (int (*main_function) (int, char **, char **), int argc,
                   char **argv, void (*init) (void), void (*fini) (void),
                   void (*rtld_fini) (void), void *stack_end)
{
  int (*call) (int (*) (int, char **, char **), int, char **, void (*) (void),
               void (*) (void), void (*) (void), void *)
      = dlsym (RTLD_NEXT, "__libc_start_main");
  RecordThread *self = &sli_record_self;
  if (sli_record_enter (self))
    {
      sli_stack_unwinder_open ();
      record_leave (self);
    }
  return call (main_function, argc, argv, init, fini, rtld_fini, stack_end);
}

/* The spool is the parent's: begin one of our own. */
static __attribute__ ((noinline, cold)) void
child_start (RecordThread *self)
{
  bool several = !__libc_single_threaded;
  sli_record.ready = false;
  self->chunk = NULL;
  self->depth = 0;
  self->thread = 0;
  if (!sli_spool_reopen_in_child ())
    return;
  if (several)
    sli_stack_single ();
  sli_stack_reset ();
  sli_stack_modules_scan ();
  sli_record.ready = true;
}

/* --- the unwinder's own blocks ------------------------------------------- */

/* What libunwind allocates for a thread (its thread-local block, by way of
 * the loader) is freed by others when the thread has ended; such a free is no
 * event.  A filter keeps the check to one load for all other blocks. */
#define N_OWN_BLOCKS 4096

static struct
{
  _Atomic uint64_t blocks[N_OWN_BLOCKS];
  _Atomic uint8_t filter[N_OWN_BLOCKS];
} own;

static uint32_t
own_slot (uint64_t address)
{
  return (uint32_t)((address * UINT64_C (0x9E3779B97F4A7C15)) >> 52);
}

static void
own_note (void *block)
{
  uint32_t slot = own_slot ((uint64_t)block);
  atomic_store (&own.filter[slot], 1);
  for (uint32_t i = 0; i < N_OWN_BLOCKS; i++)
    {
      uint64_t nothing = 0;
      if (atomic_compare_exchange_strong (
              &own.blocks[(slot + i) % N_OWN_BLOCKS], &nothing,
              (uint64_t)block))
        return;
    }
}

static bool
own_take (void *block)
{
  uint32_t slot = own_slot ((uint64_t)block);
  if (LIKELY (own.filter[slot] == 0))
    return false;
  for (uint32_t i = 0; i < N_OWN_BLOCKS; i++)
    {
      uint64_t found = (uint64_t)block;
      if (own.blocks[(slot + i) % N_OWN_BLOCKS] == found
          && atomic_compare_exchange_strong (
              &own.blocks[(slot + i) % N_OWN_BLOCKS], &found, 0))
        return true;
    }
  return false;
}

/* --- events -------------------------------------------------------------- */

/* Makes the thread busy; false if it is, or if nothing is recorded. */
bool
sli_record_enter (RecordThread *self)
{
  if (UNLIKELY (!sli_record.ready))
    return false;
  if (UNLIKELY (self->busy))
    {
      if (!self->setup)
        atomic_fetch_add (&sli_record.head->n_dropped_nested, 1);
      return false;
    }
  self->busy = true;
  record_compiler_barrier ();
  if (UNLIKELY (*sli_record.own_page == 0))
    {
      child_start (self);
      if (!sli_record.ready)
        {
          self->busy = false;
          return false;
        }
    }
  if (UNLIKELY (self->epoch != sli_record.epoch))
    {
      self->chunk = NULL;
      self->depth = 0;
    }
  return true;
}

static void
record_leave (RecordThread *self)
{
  record_compiler_barrier ();
  self->busy = false;
}

static void
event_finish (RecordThread *self)
{
  self->n_events++;
  atomic_store_explicit (&self->chunk->head.n_events, self->n_events,
                         memory_order_release);
}

static void
event_write (RecordThread *self, unsigned op, uint64_t address, size_t size,
             uint32_t node, uint64_t now, uint32_t extra)
{
  RawEvent *event = sli_spool_next_event (self, now);
  if (event == NULL)
    return;
  if (UNLIKELY (size > UINT32_MAX))
    {
      event->address_op = TRACE_OP_BIG;
      event->size = (uint32_t)(size >> 32);
      self->n_events++;
      event[1].ticks = event->ticks;
      event++;
    }
  event->address_op = address << 8 | op;
  event->node = node;
  event->size = (uint32_t)size;
  event->extra = extra;
  event_finish (self);
}

/* This moment, after all that the program did before.  Without the wait the
 * clock may be read while the block that dies is still on its way from the
 * thread that made it, and the death come out before the birth. */
static uint64_t
time_after (void)
{
  return __libc_single_threaded ? ticks_now () : ticks_after ();
}

void
sli_record_birth (RecordThread *self, unsigned op, void *block, size_t size,
                  uint32_t extra)
{
  if (UNLIKELY (self->inside != 0))
    {
      atomic_fetch_add (&sli_record.head->n_backing, 1);
      return;
    }
  if (UNLIKELY (self->setup) && block != NULL)
    own_note (block);
  if (!sli_record_enter (self))
    return;
  int saved_errno = errno;
  if (UNLIKELY (self->tag != 0) && self->tag < TRACE_OP_FREE)
    {
      op = self->tag;
      self->tag = 0;
    }
  if (UNLIKELY (block == NULL))
    atomic_fetch_add (&sli_record.head->n_failed, 1);
  else
    {
      uint64_t now = time_after ();
      uint32_t node = sli_stack_node (self, sli_record.stack_depth);
      if (LIKELY (node != SLI_STACK_OWN))
        event_write (self, op, (uint64_t)block, size, node, now, extra);
    }
  errno = saved_errno;
  record_leave (self);
}

/* now  when the block was about to be given back; 0 for this moment */
void
sli_record_death (RecordThread *self, unsigned op, void *block, uint32_t extra,
                  uint64_t now)
{
  if (UNLIKELY (self->inside != 0))
    {
      atomic_fetch_add (&sli_record.head->n_backing, 1);
      return;
    }
  if (UNLIKELY (own_take (block)) || !sli_record_enter (self))
    return;
  int saved_errno = errno;
  if (UNLIKELY (self->tag >= TRACE_OP_FREE) && op == TRACE_OP_FREE)
    {
      op = self->tag;
      self->tag = 0;
    }
  if (LIKELY (now == 0))
    now = time_after ();
  uint32_t line = self->line; /* the next birth's, a realloc's maybe */
  self->line = 0;
  uint32_t node = sli_stack_node (self, sli_record.free_depth);
  self->line = line;
  if (LIKELY (node != SLI_STACK_OWN))
    event_write (self, op, (uint64_t)block, 0, node, now, extra);
  errno = saved_errno;
  record_leave (self);
}

/* A block that a failed realloc left alive: its death is taken back. */
static void
record_kept (RecordThread *self, void *block)
{
  if (self->inside != 0 || !sli_record_enter (self))
    return;
  event_write (self, TRACE_OP_REALLOC_KEPT, (uint64_t)block, 0, TRACE_NODE_CUT,
               ticks_now (), 0);
  atomic_fetch_add (&sli_record.head->n_failed, 1);
  record_leave (self);
}

/* Markers of the program's own: scopes and points in time. */
void
sli_record_marker (unsigned op, const char *name)
{
  RecordThread *self = &sli_record_self;
  if (!sli_record_enter (self))
    return;
  uint32_t id = sli_spool_string (name);
  event_write (self, op, id, 0, TRACE_NODE_CUT, ticks_now (), 0);
  record_leave (self);
}

RECORD_API void
slice_trace_scope_begin_v1 (const char *name)
{
  sli_record_marker (TRACE_OP_SCOPE_BEGIN, name);
}

RECORD_API void
slice_trace_scope_end_v1 (const char *name)
{
  sli_record_marker (TRACE_OP_SCOPE_END, name);
}

RECORD_API void
slice_trace_mark_v1 (const char *name)
{
  sli_record_marker (TRACE_OP_MARK, name);
}

/* The next birth of this thread comes from that source line. */
RECORD_API void
slice_trace_line_v1 (const char *file_line)
{
  RecordThread *self = &sli_record_self;
  if (!sli_record_enter (self))
    return;
  self->line = sli_spool_string (file_line);
  record_leave (self);
}

/* --- the cost of the real call ------------------------------------------- */

#define COST_MAX ((1u << 27) - 1)

static inline uint64_t
cost_begin (void)
{
  return UNLIKELY (sli_record.timed) ? ticks_after () : 0;
}

/* At least 1, so that a measured call is known from one that was not. */
static inline uint32_t
cost_end (uint64_t begin)
{
  if (LIKELY (!sli_record.timed))
    return 0;
  uint64_t cost = ticks_after () - begin;
  return (uint32_t)(cost == 0 ? 1 : cost > COST_MAX ? COST_MAX : cost) << 5;
}

/* --- entry points -------------------------------------------------------- */

static uint32_t
alignment_extra (size_t alignment)
{
  return alignment == 0 ? 0 : (uint32_t)__builtin_ctzl (alignment) & 31;
}

RECORD_API void *
malloc (size_t size)
{
  if (UNLIKELY (!next_ready ()))
    return early_alloc (16, size);
  uint64_t begin = cost_begin ();
  void *block = next.malloc (size);
  uint32_t extra = cost_end (begin);
  sli_record_birth (&sli_record_self, TRACE_OP_MALLOC, block, size, extra);
  return block;
}

RECORD_API void *
calloc (size_t n, size_t size)
{
  if (UNLIKELY (!next_ready ()))
    return early_alloc (16, n * size); /* zero: it is used once */
  uint64_t begin = cost_begin ();
  void *block = next.calloc (n, size);
  uint32_t extra = cost_end (begin);
  sli_record_birth (&sli_record_self, TRACE_OP_CALLOC, block, n * size, extra);
  return block;
}

/* In timed runs the event follows the call, whose cost it carries, with the
 * time read before it. */
static void
timed_free (RecordThread *self, void *block)
{
  uint64_t begin = cost_begin ();
  next.free (block);
  uint32_t extra = cost_end (begin);
  sli_record_death (self, TRACE_OP_FREE, block, extra, begin);
}

RECORD_API void
free (void *block)
{
  if (block == NULL || UNLIKELY (early_has (block)))
    return;
  if (UNLIKELY (!next_ready ()))
    return;
  if (UNLIKELY (sli_record.timed))
    {
      timed_free (&sli_record_self, block);
      return;
    }
  sli_record_death (&sli_record_self, TRACE_OP_FREE, block, 0, 0);
  next.free (block);
}

static void *
early_realloc (void *block, size_t size)
{
  void *fresh = malloc (size);
  size_t old = early_size (block);
  if (fresh != NULL)
    memcpy (fresh, block, old < size ? old : size);
  return fresh;
}

static void *
realloc_as (unsigned op, void *block, size_t size)
{
  RecordThread *self = &sli_record_self;
  if (UNLIKELY (!next_ready ()))
    return early_alloc (16, size);
  if (UNLIKELY (early_has (block)))
    return early_realloc (block, size);
  if (block != NULL)
    sli_record_death (self, size == 0 ? TRACE_OP_FREE : TRACE_OP_REALLOC_FREE,
                      block, 0, 0);
  uint64_t begin = cost_begin ();
  void *fresh = next.realloc (block, size);
  uint32_t extra = cost_end (begin);
  if (fresh != NULL || block == NULL)
    sli_record_birth (self, op, fresh, size, extra);
  else if (size != 0)
    record_kept (self, block);
  return fresh;
}

RECORD_API void *
realloc (void *block, size_t size)
{
  return realloc_as (TRACE_OP_REALLOC, block, size);
}

RECORD_API void *
reallocarray (void *block, size_t n, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow (n, size, &bytes))
    {
      errno = ENOMEM;
      return NULL;
    }
  return realloc_as (TRACE_OP_REALLOCARRAY, block, bytes);
}

RECORD_API void *
memalign (size_t alignment, size_t size)
{
  if (UNLIKELY (!next_ready ()))
    return early_alloc (alignment, size);
  uint64_t begin = cost_begin ();
  void *block = next.memalign (alignment, size);
  uint32_t extra = cost_end (begin) | alignment_extra (alignment);
  sli_record_birth (&sli_record_self, TRACE_OP_MEMALIGN, block, size, extra);
  return block;
}

RECORD_API int
posix_memalign (void **result, size_t alignment, size_t size)
{
  if (UNLIKELY (!next_ready ()))
    {
      *result = early_alloc (alignment, size);
      return 0;
    }
  void *block = NULL;
  uint64_t begin = cost_begin ();
  int error = next.posix_memalign (&block, alignment, size);
  uint32_t extra = cost_end (begin) | alignment_extra (alignment);
  if (error == 0)
    *result = block;
  sli_record_birth (&sli_record_self, TRACE_OP_POSIX_MEMALIGN,
                    error == 0 ? block : NULL, size, extra);
  return error;
}

RECORD_API void *
aligned_alloc (size_t alignment, size_t size)
{
  if (UNLIKELY (!next_ready ()))
    return early_alloc (alignment, size);
  uint64_t begin = cost_begin ();
  void *block = next.aligned_alloc (alignment, size);
  uint32_t extra = cost_end (begin) | alignment_extra (alignment);
  sli_record_birth (&sli_record_self, TRACE_OP_ALIGNED_ALLOC, block, size,
                    extra);
  return block;
}

RECORD_API void *
valloc (size_t size)
{
  if (UNLIKELY (!next_ready ()))
    return early_alloc (4096, size);
  void *block = next.valloc (size);
  sli_record_birth (&sli_record_self, TRACE_OP_VALLOC, block, size, 12);
  return block;
}

RECORD_API void *
pvalloc (size_t size)
{
  if (UNLIKELY (!next_ready ()))
    return early_alloc (4096, size);
  void *block = next.pvalloc (size);
  sli_record_birth (&sli_record_self, TRACE_OP_PVALLOC, block, size, 12);
  return block;
}

RECORD_API size_t
malloc_usable_size (void *block)
{
  if (UNLIKELY (early_has (block)))
    return early_size (block);
  return next_ready () && block != NULL ? next.usable_size (block) : 0;
}

RECORD_API int
dlclose (void *handle)
{
  RecordThread *self = &sli_record_self;
  if (!next_ready ())
    return 0;
  int result = next.dlclose (handle);
  if (sli_record_enter (self))
    {
      sli_stack_modules_changed ();
      record_leave (self);
    }
  return result;
}
