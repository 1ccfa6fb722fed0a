/* stress.h - what the files of slice-test share
 *
 * slice-test drives an allocator with one of two streams of operations, the
 * random walk of GSlice's announcement (tests/adaptors/walk.h) or one that was
 * recorded of a real program (tests/recording), and does so with one of
 * several contestants (contestants.c).  Fast laps, which are timed, carry the
 * contestant's calls inline (contestant.h); careful laps (careful.c) verify all
 * they can and lie if asked to.
 *
 *   slice-test.c   main: what to do; slice-setup.c: the library's options
 *   options.c      the command line
 *   contestants.c  the table of contestants, contestant-*.c each of them, made
 *                  of an adaptor (tests/adaptors)
 *   run.c          a gang of threads, its clocks
 *   result.c       one run's figures, as text and as JSON
 *   careful.c      patterns, alignment, sharing; lies.c
 *   expand.c       flattens a recording's tree to a stream; stream.c hands it
 *                  on
 *   support.c      clocks, the end of all hope
 *   child.c        runs slice-test again, as a child
 *   expect.c       runs lying children, expects that each is caught
 *   table.c        runs the comparison; report.c prints it
 *   progress.c     the bar on a terminal
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STRESS_STRESS_H
#define STRESS_STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tests/adaptors/walk-state.h>

#define NSEC_PER_SEC 1000000000u

/* Exit codes; 77 is Automake's "skipped". */
enum
{
  EXIT_GOOD = 0,
  EXIT_FOUND = 1,
  EXIT_USAGE = 2,
  EXIT_MISSING = 77
};

/* In which order the walk frees and allocates. */
typedef enum
{
  ORDER_ANNOUNCED, /* free every second block, then fill the gaps */
  ORDER_RANDOM,    /* free and replace one random block at a time */
  ORDER_ROWS,      /* rows of blocks of one random size */
  N_ORDERS
} WalkOrder;

/* What a lie is about. */
typedef enum
{
  LIE_NONE,
  LIE_SIZE_UP,     /* one byte more than was asked for */
  LIE_SIZE_DOWN,   /* one byte less */
  LIE_POINTER,     /* one byte past the block's start */
  LIE_INTERIOR,    /* eight bytes past it, aligned like a block */
  LIE_TWICE,       /* freed again at once */
  LIE_TWICE_LATER, /* freed again after another one */
  LIE_FOREIGN,     /* a block of the system's malloc */
  LIE_STACK,       /* a variable */
  LIE_ANY,         /* one of these, at random */
  N_LIES = LIE_ANY
} LieKind;

/* What is spoilt on purpose, to see that --check notices. */
typedef enum
{
  SABOTAGE_NONE,
  SABOTAGE_BYTE, /* a byte of a live block is changed */
  SABOTAGE_LEAK  /* a block is forgotten */
} SabotageKind;

typedef struct Contestant Contestant;

/* The command line, checked. */
typedef struct
{
  const Contestant *contestant;
  WalkOrder order;
  LieKind lie;
  SabotageKind sabotage;
  unsigned n_threads;
  unsigned n_blocks; /* live in each thread */
  uint32_t max_bytes;
  uint32_t modulus; /* sizes are below it */
  uint32_t seed;
  uint32_t header_bytes; /* added to each size of a recorded stream */
  double seconds;
  uint64_t n_rounds; /* laps a thread; 0: until `seconds` end */
  unsigned n_table_rounds;
  const char *replay_path; /* NULL: walk */
  int expanded_fd;         /* an expanded stream that a parent left
                              open for us; -1: none */
  unsigned n_expect;       /* lies of each kind; 0: not asked */
  bool table;
  bool quick;
  bool wall;
  bool literal;
  bool eager;
  bool counters;
  bool check;
  bool touch;
  bool share;
  bool with_arenas;
  bool json;
  bool quiet;
} Options;

/* Blocks of a row (ORDER_ROWS). */
#define WALK_ROW_BLOCKS 100

/* An operation of an expanded stream.  word: size << 2 | kind.  A resize is
 * two of them, the second with the old size. */
typedef struct
{
  uint32_t slot;
  uint32_t word;
} StreamOp;

enum
{
  STREAM_ALLOC,
  STREAM_ALLOC0,
  STREAM_RESIZE,
  STREAM_FREE
};

#define STREAM_KIND_BITS 2
#define STREAM_SIZE_MAX ((1u << 30) - 1)

/* An expanded stream: every free names one block, everything is freed at the
 * end, slots are used again.  All threads read the same one. */
typedef struct
{
  StreamOp *ops;
  size_t n_ops;
  uint64_t n_pairs; /* allocations; a resize counts as one */
  uint64_t n_zeroed;
  uint64_t n_resizes;
  uint64_t n_left;  /* freed only because the stream ended */
  uint32_t n_slots; /* most blocks live at once */
} Stream;

/* One thread's replay. */
typedef struct
{
  const Stream *stream;
  void **blocks; /* [n_slots] */
  bool touch;
} Replay;

/* The calls of a contestant, for careful laps and for filling up. */
typedef struct
{
  void *(*alloc) (size_t size);
  void *(*alloc0) (size_t size);
  void *(*resize) (size_t old_size, size_t size, void *block);
  void (*free) (size_t size, void *block);
} BlockCalls;

/* An allocator that can be driven. */
struct Contestant
{
  const char *name;
  const char *what;
  /* Makes it ready; returns NULL, or why that can't be. */
  const char *(*prepare) (const Options *options);
  BlockCalls calls;
  void (*walk) (Walk *walk, const Options *options);
  void (*replay) (Replay *replay);
  size_t alignment_max; /* what a block of 16 bytes is aligned to */
  bool is_slice;        /* has our options and statistics */
  bool is_empty;        /* hands out nothing: measures the loop alone */
};

/* What a run found. */
typedef struct
{
  uint64_t n_pairs;
  double wall_sec;
  double cpu_sec;    /* of all threads */
  double first_nsec; /* CPU, a pair, in the first lap */
  uint64_t peak_rss_bytes;
  uint64_t trimmed_bytes; /* what slice_trim (0) gave back at the end */
  bool kept_blocks;       /* statistics show live blocks at the end */
} RunResult;

/* options.c */
void options_parse (Options *options, int argc, char **argv);
const char *order_name (WalkOrder order);

/* contestants.c */
const Contestant *contestant_by_name (const char *name);
const Contestant *contestant_at (unsigned index);
extern const Contestant contestant_slice, contestant_calls, contestant_slab;
extern const Contestant contestant_malloc, contestant_gslice;
extern const Contestant contestant_limit, contestant_loop;

/* slice-setup.c: sets the library's options; NULL, or what was refused. */
const char *slice_prepare (const Options *options);

/* run.c */
bool run_gang (const Options *options, const Stream *stream,
               RunResult *result);

/* result.c */
void result_print (const Options *options, const Stream *stream,
                   const RunResult *result);
void result_print_json (const Options *options, const Stream *stream,
                        const RunResult *result);

/* careful.c */
typedef struct Careful Careful;
Careful *careful_new (const Options *options, const Stream *stream);
void careful_walk (Careful *careful, unsigned thread_index);
void careful_replay (Careful *careful, unsigned thread_index);
void careful_finish_thread (Careful *careful, unsigned thread_index);
void careful_destroy (Careful *careful);
const char *lie_name (LieKind kind);
bool lie_is_named (LieKind kind, int error_number);
LieKind lie_by_name (const char *name);

/* expand.c, stream.c */
bool stream_read (Stream *stream, const char *path, bool with_arenas,
                  uint32_t header_bytes);
int stream_to_file (const Stream *stream);
bool stream_from_file (Stream *stream, int fd);
void stream_destroy (Stream *stream);

/* child.c */
typedef struct
{
  int status; /* as waitpid() gives it */
  char *out;  /* what it wrote, with a NUL at the end */
  char *err;
} ChildResult;

#define CHILD_ARGS_MAX 16
#define CHILD_ARG_BYTES 48

/* A command line in the making; all zero to begin with. */
typedef struct
{
  char text[CHILD_ARGS_MAX][CHILD_ARG_BYTES];
  unsigned n;
} ChildArgs;

void child_args_add (ChildArgs *args, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
bool child_run (const ChildArgs *args, const char *preload,
                ChildResult *result);
void child_result_clear (ChildResult *result);

/* What main() does. */
int slice_test (int argc, char **argv);

/* expect.c, table.c */
int expect_caught (const Options *options);
int table_run (const Options *options);

/* progress.c */
typedef struct
{
  double began_sec;
  bool shown;
} Progress;

void progress_begin (Progress *progress, bool wanted);
void progress_show (Progress *progress, double fraction, const char *what);
void progress_end (Progress *progress);

/* Clocks and the end of all hope. */
double clock_wall_sec (void);
double clock_thread_sec (void);
void *stress_alloc (size_t n, size_t size);
void stress_fail (int code, const char *format, ...)
    __attribute__ ((noreturn, format (printf, 2, 3)));
void stress_output_end (void);

#endif
