/* answers.c - small programs whose right allocator is beyond doubt
 *
 * Tests: a program to be recorded.  The argument chooses a behaviour; the
 * table in test-answers.sh has what slice-trace must say of it, and of which
 * function.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "answers-lib.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__ ((noinline, noclone)) static

static __thread unsigned state = 1;

static unsigned
below (unsigned n)
{
  state = state * 1664525 + 1013904223;
  return (unsigned)((unsigned long long)state * n >> 32);
}

static size_t
any_size (void)
{
  return 16 * (1 + below (40));
}

/* Keeps a call from becoming a jump. */
static void *
kept (void *block)
{
  void *volatile result = block;

  return result;
}

typedef void *(*Make) (size_t size);

/* --- the five ways to live ----------------------------------------------- */

/* Everything of a round dies before the next one, in any order. */
static void
phases (Make make, int n_rounds)
{
  void *blocks[200];

  for (int round = 0; round < n_rounds; round++)
    {
      for (int i = 0; i < 200; i++)
        blocks[i] = make (any_size ());
      for (int i = 0; i < 200; i++)
        free (blocks[i * 7 % 200]);
    }
}

/* The youngest dies first. */
static void
tower (Make make, int n)
{
  void *blocks[200];
  int height = 0, up = 1;

  for (int i = 0; i < n; i++)
    {
      up = height < 3 ? 1 : height > 180 ? 0 : up;
      if (height == 0 || (height < 200 && below (100) < (up ? 65u : 35u)))
        blocks[height++] = make (any_size ());
      else
        free (blocks[--height]);
    }
  while (height > 0)
    free (blocks[--height]);
}

/* Blocks replaced in no order. */
static void
churn (Make make, size_t (*size) (void), int n)
{
  void *blocks[300] = { 0 };

  for (int i = 0; i < n; i++)
    {
      unsigned at = i < 300 ? (unsigned)i : below (300);

      free (blocks[at]);
      blocks[at] = make (size ());
    }
  for (int i = 0; i < 300; i++)
    free (blocks[i]);
}

static size_t
one_size (void)
{
  return 64;
}

static void
threads (void *(*run) (void *), int n)
{
  pthread_t ids[16];

  for (int i = 0; i < n; i++)
    pthread_create (&ids[i], NULL, run, (void *)(intptr_t)i);
  for (int i = 0; i < n; i++)
    pthread_join (ids[i], NULL);
}

/* --- one site ------------------------------------------------------------ */

APART void *
token_new (size_t size)
{
  return kept (malloc (size));
}

APART void
tokenize (void)
{
  void *tokens[200];

  for (int i = 0; i < 200; i++)
    tokens[i] = token_new (any_size ());
  for (int i = 0; i < 200; i++)
    free (tokens[i * 7 % 200]);
}

static void
linear_function (void)
{
  for (int i = 0; i < 50; i++)
    tokenize ();
}

static void
linear_phase (void)
{
  phases (token_new, 50);
}

/* All goes at the end, in some order. */
static void
linear_at_end (void)
{
  enum
  {
    N = 5000
  };
  static void *blocks[N];

  for (int i = 0; i < N; i++)
    blocks[i] = token_new (any_size ());
  for (int i = 0; i < N; i++)
    free (blocks[i * 7 % N]);
}

APART void *
entry_new (size_t size)
{
  return kept (malloc (size));
}

static void
long_lived (void)
{
  static void *table[5000];

  for (int i = 0; i < 5000; i++)
    table[i] = entry_new (any_size ());
}

APART void *
frame_push (size_t size)
{
  return kept (malloc (size));
}

static void
stack_strict (void)
{
  tower (frame_push, 20000);
}

/* Each level of the recursion has some blocks, the youngest goes first. */
APART void
descend (int depth)
{
  void *a = kept (malloc (any_size ())), *b = kept (malloc (any_size ()));

  for (int i = 0; depth > 0 && i < 3; i++)
    descend (depth - 1);
  free (b);
  free (a);
}

static void
stack_recursive (void)
{
  descend (7);
}

static void
stack_lazy (void)
{
  void *blocks[200];
  int height = 0, up = 1;

  for (int i = 0; i < 40000; i++)
    {
      int at;

      up = height < 3 ? 1 : height > 180 ? 0 : up;
      if (height < 2 || (height < 200 && below (100) < (up ? 65u : 35u)))
        {
          blocks[height++] = frame_push (any_size ());
          continue;
        }
      at = height - 1;
      if (below (100) < 5)
        at -= (int)below (height < 20 ? (unsigned)height : 20);
      free (blocks[at]);
      memmove (&blocks[at], &blocks[at + 1],
               (size_t)(height - at - 1) * sizeof *blocks);
      height--;
    }
}

APART void *
buffer_new (size_t size)
{
  return kept (malloc (size));
}

static void
scratch (void)
{
  for (int i = 0; i < 3000; i++)
    {
      void *a = buffer_new (512), *b = buffer_new (80);

      free (b);
      free (a);
    }
}

APART void *
particle_new (size_t size)
{
  return kept (malloc (size));
}

static void
pool (void)
{
  churn (particle_new, one_size, 20000);
}

static void
queue_one_thread (void)
{
  void *queue[100] = { 0 };

  for (int i = 0; i < 20000; i++)
    {
      free (queue[i % 100]);
      queue[i % 100] = particle_new (48);
    }
}

/* Little reuse, but the type is known where it is freed. */
static void
slice (void)
{
  churn (particle_new, one_size, 900);
}

APART void *
text_new (size_t size)
{
  return kept (malloc (size));
}

static void
general (void)
{
  churn (text_new, any_size, 20000);
}

APART void *
image_new (size_t size)
{
  return kept (malloc (size));
}

static void
huge (void)
{
  for (int i = 0; i < 300; i++)
    free (image_new (300 * 1024));
}

static void
rare (void)
{
  for (int i = 0; i < 20000; i++)
    free (buffer_new (80));
  for (int i = 0; i < 15; i++)
    free (image_new (600));
}

/* Buffers that grow, many at once. */
APART void *
buffer_grow (void *buffer, size_t size)
{
  return kept (realloc (buffer, size));
}

static void
realloc_growth (void)
{
  void *buffers[50] = { 0 };
  size_t sizes[50] = { 0 };

  for (int i = 0; i < 20000; i++)
    {
      unsigned at = below (50);

      if (sizes[at] > 20000)
        {
          free (buffers[at]);
          buffers[at] = NULL;
          sizes[at] = 0;
        }
      sizes[at] += 16 + below (600);
      buffers[at] = buffer_grow (buffers[at], sizes[at]);
    }
}

/* --- owners -------------------------------------------------------------- */

typedef struct
{
  void *children[60];
  int n;
} Tree;

static void
trees (Make tree_make, Make child_make)
{
  Tree *alive[8] = { 0 };

  for (int i = 0; i < 30000; i++)
    {
      unsigned at = below (8);
      Tree *tree = alive[at];

      if (tree == NULL)
        {
          alive[at] = tree_make (sizeof (Tree));
          alive[at]->n = 0;
        }
      else if (tree->n < 60)
        tree->children[tree->n++] = child_make (any_size ());
      else
        {
          for (int k = 0; k < 60; k++)
            free (tree->children[k * 7 % 60]);
          free (tree);
          alive[at] = NULL;
        }
    }
}

APART void *
tree_new (size_t size)
{
  return kept (malloc (size));
}

APART void *
child_new (size_t size)
{
  return kept (malloc (size));
}

static void
tree_owner (void)
{
  trees (tree_new, child_new);
}

/* --- threads ------------------------------------------------------------- */

static void *
stack_thread (void *number)
{
  state = (unsigned)(intptr_t)number + 1;
  tower (frame_push, 10000);
  return NULL;
}

static void
stack_each_thread (void)
{
  threads (stack_thread, 4);
}

static void *
phase_thread (void *number)
{
  state = (unsigned)(intptr_t)number + 1;
  /* rounds of different lengths: there is always somebody in the middle */
  phases (token_new, 40 + (int)(intptr_t)number);
  return NULL;
}

static void
phase_each_thread (void)
{
  threads (phase_thread, 4);
}

static void
threads_come_and_go (void)
{
  void *held = token_new (64);

  for (int i = 0; i < 100; i++)
    {
      pthread_t id;
      void *again = held;

      pthread_create (&id, NULL, phase_thread, (void *)(intptr_t)-39);
      held = token_new (64);
      free (again);
      pthread_join (id, NULL);
    }
  free (held);
}

static pthread_barrier_t all_there;

static void *
scratch_thread (void *unused)
{
  (void)unused;
  for (int i = 0; i < 1000; i++)
    {
      void *a = buffer_new (512), *b = buffer_new (80);

      if (i % 100 == 0)
        pthread_barrier_wait (&all_there);
      free (b);
      free (a);
    }
  return NULL;
}

static void
scratch_each_thread (void)
{
  pthread_barrier_init (&all_there, NULL, 6);
  threads (scratch_thread, 6);
}

static void *
pool_thread (void *number)
{
  state = (unsigned)(intptr_t)number + 1;
  churn (particle_new, one_size, 10000);
  return NULL;
}

static void
pool_each_thread (void)
{
  threads (pool_thread, 4);
}

/* One makes, another one frees. */
static struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  void *items[64];
  int n, ended, left_alone;
} mailbox = { .lock = PTHREAD_MUTEX_INITIALIZER,
              .changed = PTHREAD_COND_INITIALIZER };

static void *
consumer (void *unused)
{
  (void)unused;
  for (;;)
    {
      void *item;

      pthread_mutex_lock (&mailbox.lock);
      while (mailbox.n == 0 && !mailbox.ended)
        pthread_cond_wait (&mailbox.changed, &mailbox.lock);
      item = mailbox.n > 0 ? mailbox.items[--mailbox.n] : NULL;
      pthread_cond_signal (&mailbox.changed);
      pthread_mutex_unlock (&mailbox.lock);
      if (item == NULL)
        return NULL;
      free (item);
    }
}

static void
mail (void *item)
{
  pthread_mutex_lock (&mailbox.lock);
  while (mailbox.n == 64)
    pthread_cond_wait (&mailbox.changed, &mailbox.lock);
  mailbox.items[mailbox.n++] = item;
  pthread_cond_signal (&mailbox.changed);
  pthread_mutex_unlock (&mailbox.lock);
}

APART void *
message_new (size_t size)
{
  return kept (malloc (size));
}

static void
produce (size_t (*size) (void), unsigned sent_percent)
{
  pthread_t id;
  void *own[200] = { 0 };

  pthread_create (&id, NULL, consumer, NULL);
  for (int i = 0; i < 10000; i++)
    {
      void *message = message_new (size ());
      unsigned at = below (200);

      if (below (100) < sent_percent)
        mail (message);
      else
        {
          free (own[at]);
          own[at] = message;
        }
    }
  pthread_mutex_lock (&mailbox.lock);
  mailbox.ended = 1;
  pthread_cond_signal (&mailbox.changed);
  pthread_mutex_unlock (&mailbox.lock);
  pthread_join (id, NULL);
  for (int i = 0; i < 200; i++)
    free (own[i]);
}

static void
producer_consumer (void)
{
  produce (one_size, 100);
}

static void
producer_any_size (void)
{
  produce (any_size, 100);
}

static void
pool_some_elsewhere (void)
{
  produce (one_size, 5);
}

/* --- wrappers ------------------------------------------------------------ */

APART void *
grab (size_t size)
{
  return kept (malloc (size));
}

APART void *
node_make (size_t size)
{
  return kept (grab (size));
}

APART void *
scope_make (size_t size)
{
  return kept (grab (size));
}

APART void *
record_make (size_t size)
{
  return kept (grab (size));
}

APART void *
string_make (size_t size)
{
  return kept (grab (size));
}

/* All at once, a step of each at a time, so that none is seen alone. */
static void
mixture (Make phase, Make stack, Make third, size_t (*third_size) (void),
         int immortal)
{
  void *blocks[200], *heights[200], *slots[300] = { 0 };
  int n = 0, height = 0, up = 1;

  for (int i = 0; i < 20000; i++)
    {
      unsigned at;

      blocks[n++] = phase (any_size ());
      if (n == 200)
        while (n > 0)
          {
            int at = (int)below ((unsigned)n);

            free (blocks[at]);
            blocks[at] = blocks[--n];
          }
      up = height < 3 ? 1 : height > 180 ? 0 : up;
      if (height == 0 || (height < 200 && below (100) < (up ? 65u : 35u)))
        heights[height++] = stack (any_size ());
      else
        free (heights[--height]);
      if (third == NULL)
        continue;
      at = below (300);
      if (!immortal)
        free (slots[at]);
      slots[at] = third (third_size ());
    }
}

static void
wrapper_three (void)
{
  mixture (node_make, scope_make, record_make, one_size, 0);
}

static void
wrapper_immortal (void)
{
  mixture (node_make, scope_make, record_make, any_size, 1);
}

static void
wrapper_one_general (void)
{
  mixture (node_make, scope_make, string_make, any_size, 0);
}

APART void *
xmalloc (size_t size)
{
  return kept (malloc (size));
}

APART void *
pool_alloc (size_t size)
{
  return kept (xmalloc (size));
}

APART void *
object_new (size_t size)
{
  return kept (pool_alloc (size));
}

APART void *
leaf_make (size_t size)
{
  return kept (object_new (size));
}

APART void *
block_make (size_t size)
{
  return kept (object_new (size));
}

APART void *
symbol_make (size_t size)
{
  return kept (object_new (size));
}

static void
wrapper_nested (void)
{
  mixture (leaf_make, block_make, symbol_make, one_size, 0);
}

/* One size through the wrapper: a slice would do, arenas do better. */
APART void *
cell_make (size_t size)
{
  (void)size;
  return kept (grab (64));
}

APART void *
link_make (size_t size)
{
  (void)size;
  return kept (grab (64));
}

static void
wrapper_one_size (void)
{
  mixture (cell_make, link_make, NULL, NULL, 0);
}

APART void *
owned_make (size_t size)
{
  return kept (grab (size));
}

APART void *
owner_make (size_t size)
{
  return kept (grab (size));
}

static void
wrapper_owner (void)
{
  trees (owner_make, owned_make);
}

/* Jumps to malloc: the wrapper is not on the stack. */
__attribute__ ((noinline, optimize ("O2"))) static void *
jump (size_t size)
{
  return malloc (size);
}

APART void *
piece_make (size_t size)
{
  return kept (jump (size));
}

APART void *
level_make (size_t size)
{
  return kept (jump (size));
}

static void
tail_calls (void)
{
  mixture (piece_make, level_make, NULL, NULL, 0);
}

static void
wrapper_alike (void)
{
  void *slots[300] = { 0 };
  Make makes[] = { node_make, scope_make, record_make };

  for (int i = 0; i < 20000; i++)
    {
      unsigned at = below (300);

      free (slots[at]);
      slots[at] = makes[below (3)](any_size ());
    }
}

/* --- a function's own life ----------------------------------------------- */

/* Each activation's blocks die before it returns, the oldest first; those of
 * the callers are still alive. */
APART void *
operand_new (size_t size)
{
  return kept (malloc (size));
}

APART void
evaluate (int depth)
{
  void *operands[6];

  for (int i = 0; i < 6; i++)
    operands[i] = operand_new (any_size ());
  for (int i = 0; depth > 0 && i < 3; i++)
    evaluate (depth - 1);
  for (int i = 0; i < 6; i++)
    free (operands[i]);
}

static void
life_recursive (void)
{
  for (int i = 0; i < 5; i++)
    evaluate (6);
}

/* A request's blocks die with it, but for a few that are kept for good. */
static void *cache[1000];
static int n_cached;

APART void
request (void)
{
  void *blocks[300];

  for (int i = 0; i < 300; i++)
    blocks[i] = operand_new (any_size ());
  cache[n_cached++] = blocks[77];
  for (int i = 0; i < 300; i++)
    if (i != 77)
      free (blocks[i]);
}

static void
life_survivors (void)
{
  for (int i = 0; i < 100; i++)
    request ();
}

/* A request may be interrupted by another one. */
APART void
dispatch (int depth)
{
  void *blocks[40];

  for (int i = 0; i < 40; i++)
    {
      blocks[i] = operand_new (any_size ());
      if (i == 20 && depth < 5 && below (3) > 0)
        dispatch (depth + 1);
    }
  for (int i = 0; i < 40; i++)
    free (blocks[i * 7 % 40]);
}

static void
life_nested (void)
{
  for (int i = 0; i < 200; i++)
    dispatch (0);
}

static void *
life_thread (void *number)
{
  state = (unsigned)(intptr_t)number + 1;
  for (int i = 0; i < 3; i++)
    evaluate (5);
  return NULL;
}

static void
life_each_thread (void)
{
  threads (life_thread, 4);
}

/* Handed to the caller, which frees it after some more: nobody's own life. */
APART void *
answer (void)
{
  return kept (operand_new (any_size ()));
}

static void
life_not (void)
{
  void *slots[300] = { 0 };

  for (int i = 0; i < 20000; i++)
    {
      unsigned at = below (300);

      free (slots[at]);
      slots[at] = answer ();
    }
}

/* --- libraries ----------------------------------------------------------- */

APART void *
line_format (size_t size)
{
  char *line;
  int n = asprintf (&line, "%0*d", (int)size, 7);

  return n < 0 ? NULL : line;
}

static void
library_asprintf (void)
{
  phases (line_format, 50);
}

APART char *
name_intern (const char *name)
{
  return kept (strdup (name));
}

static void
library_strdup (void)
{
  static char *names[3000];
  char name[32];

  for (int i = 0; i < 3000; i++)
    {
      snprintf (name, sizeof name, "name-%d", i * i);
      names[i] = name_intern (name);
    }
}

APART char *
line_read (FILE *file)
{
  char *line = NULL;
  size_t capacity = 0;

  if (getline (&line, &capacity, file) < 0)
    {
      free (line);
      return NULL;
    }
  return line;
}

static void
library_getline (void)
{
  FILE *file = tmpfile ();
  char *lines[100];
  char *line;
  int n = 0;

  for (int i = 0; i < 5000; i++)
    fprintf (file, "%d\n", i);
  rewind (file);
  while ((line = line_read (file)) != NULL)
    {
      lines[n++] = line;
      if (n == 100)
        while (n > 0)
          {
            int at = (int)below ((unsigned)n);

            free (lines[at]);
            lines[at] = lines[--n];
          }
    }
  fclose (file);
}

/* A library between the program and malloc, two functions deep. */
APART void *
widget_make (size_t size)
{
  return kept (foo_create (size));
}

static void
library_object (void)
{
  void *widgets[300] = { 0 };

  for (int i = 0; i < 20000; i++)
    {
      unsigned at = below (300);

      if (widgets[at] != NULL)
        foo_destroy (widgets[at]);
      widgets[at] = widget_make (64);
    }
}

/* Two users of one library, each with its own way. */
APART void *
request_part (size_t size)
{
  return kept (foo_context_alloc (NULL, size));
}

APART void *
saved_part (size_t size)
{
  return kept (foo_context_alloc (NULL, size));
}

static void
library_two_users (void)
{
  mixture (request_part, saved_part, NULL, NULL, 0);
}

/* The library calls back; the program's innermost function is it. */
static void *listed[200];
static int n_listed;

APART void
visit (int number)
{
  (void)number;
  listed[n_listed++] = kept (malloc (any_size ()));
}

static void
library_callback (void)
{
  for (int i = 0; i < 50; i++)
    {
      foo_each (200, visit);
      while (n_listed > 0)
        {
          int at = (int)below ((unsigned)n_listed);

          free (listed[at]);
          listed[at] = listed[--n_listed];
        }
    }
}

/* The program's own function around one of the library's. */
__attribute__ ((format (printf, 1, 2))) APART void *
text_format (const char *format, ...)
{
  char *text;
  va_list list;
  int n;

  va_start (list, format);
  n = vasprintf (&text, format, list);
  va_end (list);
  return n < 0 ? NULL : text;
}

APART void *
row_make (size_t size)
{
  return kept (text_format ("%0*d", (int)size, 5));
}

APART void *
path_make (size_t size)
{
  return kept (text_format ("/%0*d", (int)size, 5));
}

static void
wrapper_library (void)
{
  mixture (row_make, path_make, NULL, NULL, 0);
}

/* ------------------------------------------------------------------------- */

#define ANSWER(name) { #name, name }

static const struct
{
  const char *name;
  void (*run) (void);
} answers[] = { ANSWER (linear_function),
                ANSWER (linear_phase),
                ANSWER (linear_at_end),
                ANSWER (long_lived),
                ANSWER (stack_strict),
                ANSWER (stack_recursive),
                ANSWER (stack_lazy),
                ANSWER (scratch),
                ANSWER (pool),
                ANSWER (queue_one_thread),
                ANSWER (slice),
                ANSWER (general),
                ANSWER (huge),
                ANSWER (rare),
                ANSWER (realloc_growth),
                ANSWER (tree_owner),
                ANSWER (stack_each_thread),
                ANSWER (phase_each_thread),
                ANSWER (threads_come_and_go),
                ANSWER (scratch_each_thread),
                ANSWER (pool_each_thread),
                ANSWER (producer_consumer),
                ANSWER (producer_any_size),
                ANSWER (pool_some_elsewhere),
                ANSWER (wrapper_three),
                ANSWER (wrapper_immortal),
                ANSWER (wrapper_one_general),
                ANSWER (wrapper_nested),
                ANSWER (wrapper_one_size),
                ANSWER (wrapper_owner),
                ANSWER (wrapper_alike),
                ANSWER (wrapper_library),
                ANSWER (tail_calls),
                ANSWER (life_recursive),
                ANSWER (life_survivors),
                ANSWER (life_nested),
                ANSWER (life_each_thread),
                ANSWER (life_not),
                ANSWER (library_asprintf),
                ANSWER (library_strdup),
                ANSWER (library_getline),
                ANSWER (library_object),
                ANSWER (library_two_users),
                ANSWER (library_callback) };

int
main (int argc, char **argv)
{
  for (size_t i = 0; argc > 1 && i < sizeof answers / sizeof *answers; i++)
    if (strcmp (answers[i].name, argv[1]) == 0)
      {
        answers[i].run ();
        return 0;
      }
  return 2;
}
