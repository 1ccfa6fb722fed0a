/* record.h - the recorder's parts
 *
 * Tools.  The recorder is a preloaded object: record.c has the entry points of
 * C, record-cxx.c those of C++, record-hooks.c those of our own library.
 * record-event.c records an event, record-start.c starts the recorder;
 * record-spool.h has the shared file, record-stack.h the stacks,
 * record-sample.h the choice of a sampled recording.  No code here may
 * allocate: all memory comes from mmap.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_RECORD_RECORD_H
#define SLI_TRACE_RECORD_RECORD_H

#include "tools/trace/pack/spool.h"
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define RECORD_DEPTH_MAX 256
#define RECORD_API __attribute__ ((visibility ("default")))
#define LIKELY(x) __builtin_expect (!!(x), 1)
#define UNLIKELY(x) __builtin_expect (!!(x), 0)

/* A step of the tree that this thread has taken lately. */
typedef struct
{
  uint64_t pc; /* 0: none */
  uint32_t parent, node;
} RecordStep;

#define RECORD_STEPS 256

/* What the recorder keeps for each thread; the first fields are touched by
 * every event. */
typedef struct
{
  /* the bytes that can be allocated before the next sample; 0 also if it is
   * not drawn yet, if everything is recorded, or while libslice calls malloc
   * for itself */
  size_t sample_left;
  bool busy;       /* an event is being recorded: count, don't record */
  uint8_t tag;     /* the operation that the next inner call stands for */
  bool setup;      /* the unwinder sets itself up: its calls don't count */
  bool walked;     /* the unwinder has done so in this thread */
  bool late;       /* the thread's destructor has run its last round */
  bool hooked;     /* an event of libslice's: its frames are on the stack */
  bool wrapped;    /* an operator's event: the runtime's frames are on the
                    * stack between the recorder's */
  bool was_overtaken; /* see sample_passes() */
  uint8_t inside;  /* libslice calls malloc for itself: no event */
  uint32_t epoch;  /* the epoch of the spool that the chunk belongs to */
  RawChunk *chunk; /* NULL: take one at the next event */
  uint32_t n_events;
  uint32_t capacity; /* events that the chunk can hold now */
  uint32_t chunk_index;
  uint32_t thread; /* 0: it has no number */
  uint32_t exit_rounds;
  uint32_t line; /* string id of a source line for the next allocation */
  size_t line_left; /* sample_left when the line was reported */
  size_t sample_outside; /* sample_left while `inside' is not 0 */
  /* the state of the thread's random numbers; 0: no gap is drawn yet */
  uint64_t sample_random;
  uint64_t base_ticks;    /* the chunk's times count from here */
  /* the stack of the last full walk, outermost frame first */
  uint32_t depth;
  uint32_t nodes[RECORD_DEPTH_MAX];
  uint64_t pcs[RECORD_DEPTH_MAX];
  /* a cache of the shared tree's steps, in which most are found */
  RecordStep steps[RECORD_STEPS];
} RecordThread;

extern __thread RecordThread sli_record_self
    __attribute__ ((tls_model ("initial-exec"), visibility ("hidden")));

/* The state that every event reads, written at the start and at a fork. */
typedef struct
{
  bool ready;         /* a spool is mapped */
  bool timed;         /* measure the real calls */
  bool check_unwind;  /* walk each stack twice */
  uint32_t epoch;     /* counts the spools of this process */
  uint32_t *own_page; /* 1 in this process; wiped to 0 in a forked child */
  SpoolHead *head;
  WatchControl *control; /* of a process that sleeps until it is watched, see
                          * record-watch.c; else NULL */
  uint32_t stack_depth;
  uint32_t free_depth;
  uint32_t sample_bytes; /* mean gap between samples; 0: all is recorded */
  uint64_t text_low; /* the recorder's own code */
  uint64_t text_high;
} RecordState;

extern RecordState sli_record __attribute__ ((visibility ("hidden")));

/* record-spool.c, -reserve.c, -chunks.c, -log.c */
bool sli_spool_open (const char *directory);
void sli_spool_close (void);
bool sli_spool_reopen_in_child (void);
/* The same in another directory, in a process that sleeps. */
bool sli_spool_reopen (const char *directory);
/* What such a process needs before. */
bool sli_spool_prepare (void);
/* Forgets the spool. */
void sli_spool_drop (void);
char *sli_number_append (char *end, uint64_t number);
RawEvent *sli_spool_next_event (RecordThread *self, uint64_t now);
uint32_t sli_spool_string (const char *text);
void sli_spool_log (uint32_t type, const void *a, size_t n_a, const void *b,
                    size_t n_b, const void *c, size_t n_c);
RawNode *sli_spool_nodes (void);
bool sli_spool_nodes_reserve (uint32_t n);
void sli_spool_command (void);

/* record-stack.c, -modules.c, -unwind.c */
#define SLI_STACK_INTERNAL UINT32_MAX /* the unwinder's own call: no event */
void sli_stack_init (void);
void sli_stack_reset (void);
uint32_t sli_stack_node (RecordThread *self, uint32_t depth);
/* Forgets the thread's nodes, whose tree no longer exists. */
void sli_stack_forget (RecordThread *self);
void sli_stack_library (const void *inside);
void sli_modules_scan (void);
void sli_unwind_open (void);
void sli_unwind_single (void);
/* Counts the recorder's frames among the first ones, which are dropped from the
 * inner end: also those between them, if the event is an operator's (wrapped).
 * If a signal has interrupted the operator, the event is the handler's, and
 * wrapped becomes false. */
#define OWN_FRAMES_MAX 8
uint32_t sli_stack_own_frames (RecordThread *self, void *const *frames,
                               uint32_t n, uint32_t most);

/* record-check.c */
void sli_unwind_check (const uint64_t *pcs, uint32_t n, uint32_t limit);

/* record.c */
void sli_record_abort (const char *text);
void *sli_record_next (const char *symbol);
bool sli_record_next_ready (void);
void sli_record_sample (uint32_t mean_bytes, uint32_t seed);

/* record-start.c */
void sli_record_child_start (RecordThread *self);

/* record-watch.c */
bool sli_watch_open (const char *directory);
void sli_watch_close (void);
/* Begins what uses the spool; false: the process sleeps, or wakes up. */
bool sli_watch_begin (RecordThread *self);
void sli_watch_end (void);
/* False: the watcher has died, and the process sleeps again. */
bool sli_watch_has_watcher (void);
/* False: it has made no round since the last call, and the process sleeps
 * again. */
bool sli_watch_beats (uint32_t *beat);

/* Returns true if no call is an event now. */
static inline bool
record_asleep (void)
{
  const WatchControl *control = sli_record.control;

  return UNLIKELY (control != NULL)
         && atomic_load_explicit (&control->wanted, memory_order_relaxed) == 0;
}

/* record-event.c */
void sli_record_alloc (RecordThread *self, unsigned op, void *block,
                       size_t size, uint32_t extra);
/* True if the free is an event. */
bool sli_record_free (RecordThread *self, unsigned op, void *block,
                      uint32_t extra, uint64_t now);
void sli_record_kept (RecordThread *self, void *block, bool was_freed);
void sli_record_marker (unsigned op, const char *name);
bool sli_record_enter (RecordThread *self);

static inline void
record_compiler_barrier (void)
{
  __atomic_signal_fence (__ATOMIC_SEQ_CST);
}

/* Ends what sli_record_enter() has started. */
static inline void
record_leave (RecordThread *self)
{
  record_compiler_barrier ();
  self->busy = false;
  if (UNLIKELY (sli_record.control != NULL))
    sli_watch_end ();
}

#endif
