/* misuse.h - what the programs of the misuse corpus share
 *
 * A case commits one fault, in a process of its own.  It calls the allocator
 * through volatile pointers only: a compiler that knew what it calls would
 * fold the fault away.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MISUSE_H
#define MISUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a case that came to its end says of it. */
typedef enum
{
  NO_HARM = 40, /* nothing that the program could notice */
  HARM = 41,    /* memory handed out twice, changed or disclosed */
  SKIP = 42     /* this machine or this allocator can't do it */
} Verdict;

typedef struct
{
  const char *name;
  void *(*alloc) (size_t size);
  void (*free) (size_t size, void *block);
  /* Gives back all that can be; what was freed wrongly shows. */
  void (*settle) (void);
  bool is_slice; /* ours: slice.h may be used beside */
} Allocator;

/* The one under test. */
extern const Allocator *allocator;

extern void *(*volatile take) (size_t size);
extern void (*volatile give) (size_t size, void *block);

/* What the parent reads when the child is dead. */
typedef enum
{
  BEFORE_FAULT,
  AT_FAULT,
  PAST_FAULT
} Stage;

typedef struct
{
  Stage stage;
  const void *block; /* that the faulty call was given; NULL: none */
  size_t size;
  unsigned thread;
} Trace;

extern Trace *trace;

/* The next call is the faulty one, with this block and size. */
void fault_begin (const void *block, size_t size);
void fault_end (void);
/* A faulty free. */
void give_wrongly (size_t size, void *block);

/* Has the allocator handed out one piece of memory twice, or the `wanted`
 * address?  Takes and gives many blocks of that size. */
bool hands_out_twice (size_t size, const void *wanted);
/* Takes and gives so much that whatever waits comes round. */
void churn (size_t size);

typedef struct
{
  int number;            /* in the corpus; stable */
  const char *name;
  Verdict (*run) (void);
  /* By mode (default, checked, hardened, debug), what must come:
   *   a number      that message and SIGABRT, at the faulty call
   *   L and number  the same, later
   *   G             a fault of the memory: SIGSEGV or SIGBUS
   *   N             the end of the case, no harm done
   *   U             the end of the case, harm or not: not detected
   *   E and number  the end of the case, no harm, and that warning
   *   several of these with | between them: one of them */
  const char *expected[4];
  bool is_compared;      /* is one of the 28 of the comparison */
  const char *tools;     /* which report it: memcheck (m), address sanitizer
                            (a), its search for leaks (l); NULL: not tried */
} Case;

extern const Case free_cases[], contents_cases[], resource_cases[],
    thread_cases[]; /* each ended by number 0 */

#endif
