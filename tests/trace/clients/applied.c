/* applied.c - a program whose sites slice-trace apply gives advice for
 *
 * Its output does not depend on the malloc.
 *
 *   applied list              a list, a queue of strings, and scratch, through
 *                             one wrapper
 *   applied survive N         every N-th block of a list stays; 0: none
 *   applied threads           blocks that others free, while their owners
 *                             allocate, and after their ends
 *   applied fork              a child frees and allocates, beside threads
 *   applied realloc           blocks that grow, shrink, and move
 *   applied grown             blocks that begin as realloc (NULL, n)
 *   applied plugin FILE       a site in a module that comes and goes
 *   applied huge N            a list of N nodes: are there huge pages?
 *   applied pairs N           calls of a site without advice
 *   applied random SEED       all calls at random, in four threads
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_THREADS 4
#define N_TEXTS 64
#define APART __attribute__ ((noinline))

typedef struct Node
{
  struct Node *next;
  unsigned number, check;
} Node;

static void
fail (const char *what)
{
  printf ("wrong: %s\n", what);
  exit (1);
}

/* --- sites --------------------------------------------------------------- */

APART static void *
xmalloc (size_t size)
{
  void *block = malloc (size);

  if (block == NULL)
    fail ("no memory");
  return block;
}

APART static Node *
node_new (Node *next, unsigned number)
{
  Node *node = xmalloc (sizeof *node);

  *node = (Node){ next, number, number * 7 };
  return node;
}

APART static char *
text_new (unsigned number)
{
  char *text = xmalloc (16 + number % 50);

  sprintf (text, "%u", number);
  return text;
}

/* One at a time. */
APART static void *
scratch_new (unsigned number)
{
  return xmalloc (10 + number % 20);
}

static unsigned
node_end (Node *node)
{
  unsigned number = node->number;

  if (node->check != number * 7)
    fail ("contents");
  free (node);
  return number;
}

static unsigned
list_end (Node *node)
{
  unsigned sum = 0;

  while (node != NULL)
    {
      Node *next = node->next;

      sum += node_end (node);
      node = next;
    }
  return sum;
}

/* --- one thread ---------------------------------------------------------- */

static void
run_list (void)
{
  unsigned sum = 0;
  char *texts[N_TEXTS] = { NULL };

  for (int round = 0; round < 10; round++)
    {
      Node *list = NULL;

      for (unsigned i = 0; i < 10000; i++)
        {
          char *text = text_new (i);

          list = node_new (list, i);
          sum += (unsigned) strlen (text);
          free (texts[i % N_TEXTS]);
          texts[i % N_TEXTS] = text;
          free (scratch_new (i));
        }
      sum += list_end (list);
    }
  for (int i = 0; i < N_TEXTS; i++)
    free (texts[i]);
  printf ("list %u\n", sum);
}

static void
run_survive (unsigned each)
{
  Node *kept = NULL;
  unsigned sum = 0;

  for (unsigned round = 0; round < 50; round++)
    {
      Node *list = NULL;

      for (unsigned i = 0; i < 10000; i++)
        list = node_new (list, i);
      while (list != NULL)
        {
          Node *node = list;

          list = node->next;
          if (each != 0 && node->number % each == 0)
            {
              node->next = kept;
              kept = node;
            }
          else
            sum += node_end (node);
        }
    }
  sum += list_end (kept);
  printf ("survive %u\n", sum);
}

static void
block_check (const unsigned char *block, size_t size, unsigned char value)
{
  for (size_t i = 0; i < size; i++)
    if (block[i] != value)
      fail ("contents after realloc");
  if (malloc_usable_size ((void *) block) < size)
    fail ("usable size");
}

static void
run_realloc (void)
{
  for (unsigned i = 0; i < 5000; i++)
    {
      size_t size = 1 + i % 90;
      unsigned char *block = (unsigned char *) text_new (i);
      char *above = i % 3 == 0 ? text_new (i) : NULL;

      memset (block, (int) i, 16);
      for (size_t to = 16; to < 40000; to += to / 2 + size)
        {
          size_t before = to < 16 + size ? 16 : to;

          block = realloc (block, to);
          block_check (block, before < 16 ? before : 16, (unsigned char) i);
          memset (block, (int) i, to);
          block_check (block, to, (unsigned char) i);
        }
      block = realloc (block, size);
      block_check (block, size, (unsigned char) i);
      if (i % 2 == 0 ? realloc (block, 0) != NULL : (free (block), false))
        fail ("realloc to 0");
      free (above);
    }
  puts ("realloc");
}

/* One function for everything, as interpreters have it. */
APART static void *
xresize (void *block, size_t size)
{
  if (size == 0)
    {
      free (block);
      return NULL;
    }
  block = realloc (block, size);
  if (block == NULL)
    fail ("no memory");
  return block;
}

APART static unsigned *
row_new (unsigned n)
{
  unsigned *row = reallocarray (NULL, n, sizeof *row);

  if (row == NULL)
    fail ("no memory");
  for (unsigned i = 0; i < n; i++)
    row[i] = i;
  return row;
}

APART static Node *
grown_new (Node *next, unsigned number)
{
  Node *node = xresize (NULL, sizeof *node);

  *node = (Node){ next, number, number * 7 };
  return node;
}

/* A third of the nodes gets larger. */
static void
run_grown (void)
{
  unsigned sum = 0;

  for (int round = 0; round < 10; round++)
    {
      Node *list = NULL;
      unsigned *rows[100];

      for (unsigned i = 0; i < 6000; i++)
        {
          list = grown_new (list, i);
          if (i % 3 == 0)
            list = xresize (list, 100);
        }
      sum += list_end (list);
      for (unsigned i = 0; i < 100; i++)
        rows[i] = row_new (20 + i % 2);
      for (unsigned i = 0; i < 100; i++)
        {
          rows[i] = reallocarray (rows[i], 40, sizeof *rows[i]);
          sum += rows[i][19];
          free (rows[i]);
        }
    }
  if (reallocarray (NULL, SIZE_MAX / 2, 4) != NULL)
    fail ("reallocarray");
  printf ("grown %u\n", sum);
}

/* --- threads ------------------------------------------------------------- */

static struct
{
  pthread_mutex_t lock;
  Node *list;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static Node *
shared_swap (Node *list)
{
  Node *old;

  pthread_mutex_lock (&shared.lock);
  old = shared.list;
  shared.list = list;
  pthread_mutex_unlock (&shared.lock);
  return old;
}

static void *
thread_run (void *sum)
{
  for (unsigned round = 0; round < 200; round++)
    {
      Node *list = NULL;

      for (unsigned i = 0; i < 500; i++)
        list = node_new (list, i);
      *(unsigned *) sum += list_end (shared_swap (list));
    }
  return NULL;
}

static unsigned
threads_run (void)
{
  pthread_t threads[N_THREADS];
  unsigned sums[N_THREADS] = { 0 }, sum = 0;

  for (int i = 0; i < N_THREADS; i++)
    if (pthread_create (&threads[i], NULL, thread_run, &sums[i]) != 0)
      fail ("no thread");
  for (int i = 0; i < N_THREADS; i++)
    {
      pthread_join (threads[i], NULL);
      sum += sums[i];
    }
  return sum + list_end (shared_swap (NULL));
}

static void
run_threads (void)
{
  unsigned sum = 0;

  for (int round = 0; round < 5; round++)
    sum += threads_run ();
  printf ("threads %u\n", sum);
}

static void *
busy_run (void *stop)
{
  while (!__atomic_load_n ((int *) stop, __ATOMIC_RELAXED))
    list_end (node_new (node_new (NULL, 1), 2));
  return NULL;
}

static void
run_fork (void)
{
  int stop = 0, good = 0;
  pthread_t thread;

  if (pthread_create (&thread, NULL, busy_run, &stop) != 0)
    fail ("no thread");
  for (unsigned i = 0; i < 40; i++)
    {
      Node *list = node_new (node_new (NULL, i), i + 1);
      int status;
      pid_t child = fork ();

      if (child == 0)
        {
          Node *other = NULL;

          list_end (list);
          for (unsigned k = 0; k < 5000; k++)
            other = node_new (other, k);
          _exit (list_end (other) == 12497500 ? 0 : 1);
        }
      waitpid (child, &status, 0);
      good += status == 0;
      list_end (list);
    }
  __atomic_store_n (&stop, 1, __ATOMIC_RELAXED);
  pthread_join (thread, NULL);
  printf ("fork %d\n", good);
}

/* --- a plugin ------------------------------------------------------------ */

static void
run_plugin (const char *path)
{
  unsigned n = 0;

  for (int round = 0; round < 5; round++)
    {
      void *handle = dlopen (path, RTLD_NOW);
      void *(*make) (size_t)
          = handle == NULL ? NULL : (void *(*) (size_t)) dlsym (handle, "make");
      void *blocks[2000];

      if (make == NULL)
        fail ("no plugin");
      for (unsigned i = 0; i < 2000; i++)
        memset (blocks[i] = make (40), 1, 40);
      dlclose (handle);
      for (unsigned i = 0; i < 2000; i++)
        {
          n += ((unsigned char *) blocks[i])[39];
          free (blocks[i]);
        }
    }
  printf ("plugin %u\n", n);
}

/* --- at random ----------------------------------------------------------- */

#define N_SLOTS 512

typedef struct
{
  unsigned char *block;
  size_t size;
  unsigned char value;
} Slot;

APART static void *
any_malloc (size_t size)
{
  return malloc (size);
}

APART static void *
any_calloc (size_t size)
{
  unsigned char *block = calloc (1, size);

  for (size_t i = 0; block != NULL && i < size; i++)
    if (block[i] != 0)
      fail ("calloc");
  return block;
}

APART static void *
any_aligned (size_t size)
{
  void *block = NULL;

  if (posix_memalign (&block, 256, size) != 0 || (uintptr_t) block % 256 != 0)
    fail ("posix_memalign");
  return block;
}

static void
slot_step (Slot *slot, unsigned random)
{
  static void *(*const makers[]) (size_t)
      = { any_malloc, xmalloc, any_calloc, any_aligned };
  size_t size = random >> 8 & ((random & 0x70) == 0 ? 0xffff : 0xff);
  if (slot->block == NULL)
    slot->block = makers[random % 4](size);
  else
    {
      block_check (slot->block, slot->size, slot->value);
      if (random % 4 != 0)
        {
          free (slot->block);
          slot->block = NULL;
          return;
        }
      slot->block = realloc (slot->block, size + 1);
      size++;
      block_check (slot->block, slot->size < size ? slot->size : size,
                   slot->value);
    }
  if (slot->block == NULL || (uintptr_t) slot->block % 16 != 0)
    fail ("alignment");
  slot->size = size;
  slot->value = (unsigned char) random;
  memset (slot->block, slot->value, size);
}

static Slot slots[N_THREADS][N_SLOTS];
static pthread_mutex_t slot_locks[N_THREADS];

static void *
random_run (void *seed)
{
  uint64_t state = (uintptr_t) seed;

  for (unsigned i = 0; i < 200000; i++)
    {
      unsigned random;
      unsigned row;

      state = state * UINT64_C (6364136223846793005) + 1442695040888963407u;
      random = (unsigned) (state >> 33);
      /* now and then another thread's slots */
      row = (random >> 28 & 7) == 0 ? random >> 20 & 3 : (uintptr_t) seed & 3;
      pthread_mutex_lock (&slot_locks[row]);
      slot_step (&slots[row][random >> 4 & (N_SLOTS - 1)],
                 (unsigned) (state >> 24));
      pthread_mutex_unlock (&slot_locks[row]);
    }
  return NULL;
}

static void
run_random (uintptr_t seed)
{
  pthread_t threads[N_THREADS];

  for (int i = 0; i < N_THREADS; i++)
    pthread_mutex_init (&slot_locks[i], NULL);
  for (uintptr_t i = 0; i < N_THREADS; i++)
    if (pthread_create (&threads[i], NULL, random_run,
                        (void *) (seed * N_THREADS + i))
        != 0)
      fail ("no thread");
  for (int i = 0; i < N_THREADS; i++)
    pthread_join (threads[i], NULL);
  for (int i = 0; i < N_THREADS; i++)
    for (int k = 0; k < N_SLOTS; k++)
      {
        if (slots[i][k].block != NULL)
          block_check (slots[i][k].block, slots[i][k].size, slots[i][k].value);
        free (slots[i][k].block);
      }
  puts ("random");
}

/* Calls of a site that is not in the advice. */
static void
run_pairs (int n)
{
  static void *volatile block;

  for (int i = 0; i < n; i++)
    {
      block = malloc (32);
      free (block);
    }
  puts ("pairs");
}

/* Says whether huge pages were asked for while a list lived. */
static void
run_huge (unsigned n)
{
  Node *list = NULL;
  FILE *maps;
  char line[512];
  bool found = false;

  for (unsigned i = 0; i < n; i++)
    list = node_new (list, i);
  maps = fopen ("/proc/self/smaps", "r");
  while (maps != NULL && fgets (line, sizeof line, maps) != NULL)
    found |= strncmp (line, "VmFlags:", 8) == 0
             && strstr (line, " hg") != NULL;
  if (maps != NULL)
    fclose (maps);
  printf ("%u %s\n", list_end (list), found ? "huge" : "small");
}

int
main (int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "0";

  if (strcmp (what, "list") == 0)
    run_list ();
  else if (strcmp (what, "survive") == 0)
    run_survive ((unsigned) atoi (how));
  else if (strcmp (what, "threads") == 0)
    run_threads ();
  else if (strcmp (what, "fork") == 0)
    run_fork ();
  else if (strcmp (what, "realloc") == 0)
    run_realloc ();
  else if (strcmp (what, "grown") == 0)
    run_grown ();
  else if (strcmp (what, "plugin") == 0)
    run_plugin (how);
  else if (strcmp (what, "pairs") == 0)
    run_pairs (atoi (how));
  else if (strcmp (what, "huge") == 0)
    run_huge ((unsigned) atoi (how));
  else if (strcmp (what, "random") == 0)
    run_random ((uintptr_t) atoi (how));
  else
    return 2;
  return 0;
}
