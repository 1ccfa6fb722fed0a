/* cases-free.c - frees that are wrong: numbers 1 to 25
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <slice/libslice.h>

#include "misuse.h"

enum
{
  SIZE = 64,
  N_MANY = 6000,
  N_OTHERS = 600
};

static Verdict
verdict_of (size_t size)
{
  bool harm = hands_out_twice (size, NULL);

  allocator->settle ();
  return harm ? HARM : NO_HARM;
}

static Verdict
twice_at_once (void)
{
  void *p = take (SIZE);

  give (SIZE, p);
  give_wrongly (SIZE, p);
  return verdict_of (SIZE);
}

static Verdict
twice_with_one_between (void)
{
  void *p = take (SIZE), *q = take (SIZE);

  give (SIZE, p);
  give (SIZE, q);
  give_wrongly (SIZE, p);
  return verdict_of (SIZE);
}

/* p must not be handed out meanwhile, so the others were taken before. */
static Verdict
twice_with_many_between (void)
{
  static void *others[N_OTHERS];
  void *p = take (SIZE);

  for (int i = 0; i < N_OTHERS; i++)
    others[i] = take (SIZE);
  give (SIZE, p);
  for (int i = 0; i < N_OTHERS; i++)
    give (SIZE, others[i]);
  give_wrongly (SIZE, p);
  return verdict_of (SIZE);
}

static void *
give_in_thread (void *block)
{
  give (SIZE, block);
  return NULL;
}

static Verdict
twice_in_two_threads (void)
{
  void *p = take (SIZE);
  pthread_t thread;

  pthread_create (&thread, NULL, give_in_thread, p);
  pthread_join (thread, NULL);
  give_wrongly (SIZE, p);
  return verdict_of (SIZE);
}

static pthread_barrier_t together;

static void *
give_together (void *block)
{
  void *warm = take (SIZE); /* the thread's first call is behind it */

  pthread_barrier_wait (&together);
  give (SIZE, block);
  give (SIZE, warm);
  return NULL;
}

static Verdict
twice_at_the_same_moment (void)
{
  void *p = take (SIZE);
  pthread_t threads[2];

  pthread_barrier_init (&together, NULL, 2);
  fault_begin (NULL, SIZE);
  for (int i = 0; i < 2; i++)
    pthread_create (&threads[i], NULL, give_together, p);
  for (int i = 0; i < 2; i++)
    pthread_join (threads[i], NULL);
  fault_end ();
  return verdict_of (SIZE);
}

static Verdict
twice_after_reissue (void)
{
  void *p = take (SIZE), *q = NULL;

  give (SIZE, p);
  for (int i = 0; i < N_MANY && q != p; i++)
    {
      q = take (SIZE);
      if (q != p)
        give (SIZE, q);
    }
  if (q != p)
    return NO_HARM; /* not handed out again so soon */
  give (SIZE, p);
  give_wrongly (SIZE, q);
  return verdict_of (SIZE);
}

static Verdict
other_size (size_t real, size_t given)
{
  void *p = take (real);
  bool harm = false;

  memset (p, 1, real);
  give_wrongly (given, p);
  for (int i = 0; i < 2; i++)
    harm = hands_out_twice (i == 0 ? given : real, NULL) || harm;
  allocator->settle ();
  return harm ? HARM : NO_HARM;
}

static Verdict
larger_class (void)
{
  return other_size (32, 64);
}

static Verdict
smaller_class (void)
{
  return other_size (64, 32);
}

static Verdict
other_size_same_class (void)
{
  return other_size (60, 64);
}

static Verdict
slice_as_large (void)
{
  return other_size (48, 4096);
}

static Verdict
large_as_slice (void)
{
  return other_size (4096, 48);
}

static Verdict
large_as_larger (void)
{
  return other_size (5000, 6000);
}

/* Both are malloc's in the checking modes, and the second is a chunk of
 * another class in the default mode. */
static Verdict
other_alignment (void)
{
  void *p;

  if (!allocator->is_slice)
    return SKIP;
  p = slice_alloc_aligned (32, 96);
  fault_begin (p, 96);
  slice_free_aligned (64, 96, p);
  fault_end ();
  return verdict_of (96);
}

static Verdict
size_zero (void)
{
  void *p = take (SIZE);

  give_wrongly (0, p);
  return verdict_of (SIZE);
}

static Verdict
moved_by (size_t offset)
{
  char *p = take (SIZE);

  memset (p, 0, SIZE);
  give_wrongly (SIZE, p + offset);
  return verdict_of (SIZE);
}

static Verdict
interior (void)
{
  return moved_by (16);
}

static Verdict
misaligned (void)
{
  return moved_by (1);
}

/* An address of a slab that is in none of its chunks: the colour before them
 * or what is left behind them. */
static Verdict
padding (void)
{
  char *p = take (48);
  SliceBlockInfo info;

  for (char *at = p; at > p - 16384; at -= 16)
    {
      slice_block_info (at, &info);
      if (info.kind == SLICE_BLOCK_NONE)
        {
          give_wrongly (48, at);
          return verdict_of (48);
        }
      if (info.kind == SLICE_BLOCK_FOREIGN)
        break;
    }
  for (char *at = p; at < p + 16384; at += 16)
    {
      slice_block_info (at, &info);
      if (info.kind == SLICE_BLOCK_NONE)
        {
          give_wrongly (48, at);
          return verdict_of (48);
        }
    }
  return SKIP;
}

static Verdict
on_the_stack (void)
{
  _Alignas (64) char buffer[4 * SIZE] = { 0 };

  take (SIZE);
  give_wrongly (SIZE, buffer + 64);
  return verdict_of (SIZE);
}

static Verdict
static_buffer (void)
{
  static _Alignas (64) char buffer[4 * SIZE];

  take (SIZE);
  give_wrongly (SIZE, buffer + 64);
  return verdict_of (SIZE);
}

static Verdict
of_malloc (void)
{
  void *(*volatile of_libc) (size_t) = malloc;
  void *p = of_libc (SIZE);

  take (SIZE);
  give_wrongly (SIZE, p);
  return verdict_of (SIZE);
}

static Verdict
foreign_mapping (void)
{
  char *p = mmap (NULL, 65536, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  take (SIZE);
  give_wrongly (SIZE, p + 4096);
  return verdict_of (SIZE);
}

static Verdict
unmapped_page (void)
{
  char *p = mmap (NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  take (SIZE);
  give_wrongly (SIZE, p + 4096);
  return verdict_of (SIZE);
}

static Verdict
slab_gone (void)
{
  static void *blocks[N_MANY];

  for (int i = 0; i < N_MANY; i++)
    blocks[i] = take (SIZE);
  for (int i = 0; i < N_MANY; i++)
    give (SIZE, blocks[i]);
  slice_trim (0);
  give_wrongly (SIZE, blocks[N_MANY / 2]);
  return verdict_of (SIZE);
}

/* The slab, which has live and free blocks, gets it back twice. */
static Verdict
twice_to_the_slab (void)
{
  void *blocks[40];

  for (int i = 0; i < 40; i++)
    blocks[i] = take (SIZE);
  for (int i = 10; i < 20; i++)
    give (SIZE, blocks[i]);
  slice_trim (0);
  give_wrongly (SIZE, blocks[15]);
  slice_trim (0);
  return verdict_of (SIZE);
}

static Verdict
null_any_size (void)
{
  give (SIZE, NULL);
  give (0, NULL);
  give (100000, NULL);
  give (SIZE_MAX, NULL);
  return verdict_of (SIZE);
}

typedef struct Node
{
  void *key;
  struct Node *next;
  void *value;
  char rest[40];
} Node;

static Node *
list_new (int n)
{
  Node *first = NULL;

  for (int i = 0; i < n; i++)
    {
      Node *node = take (sizeof *node);

      *node = (Node){ NULL, first, (void *) 0x4141414141414141, "" };
      first = node;
    }
  return first;
}

static Verdict
chain_wrong_offset (void)
{
  Node *list = list_new (10);

  fault_begin (NULL, sizeof *list);
  slice_free_chain_with_offset (sizeof *list, list, offsetof (Node, value));
  fault_end ();
  return HARM;
}

static Verdict
chain_cyclic (void)
{
  Node *list = list_new (10), *last = list;

  while (last->next != NULL)
    last = last->next;
  last->next = list;
  fault_begin (NULL, sizeof *list);
  slice_free_chain_with_offset (sizeof *list, list, offsetof (Node, next));
  fault_end ();
  return verdict_of (sizeof *list);
}

static Verdict
large_twice (void)
{
  void *p = take (100000);

  give (100000, p);
  give_wrongly (100000, p);
  return verdict_of (100000);
}

/* glibc ends the program itself when a large block is freed twice. */
#define BY_LIBC "abort|G"

const Case free_cases[] = {
  { 1, "freed twice at once", twice_at_once,
    { "101", "105", "105", "105" }, true, "ma" },
  { 2, "freed twice, one between", twice_with_one_between,
    { "L101|L105", "105", "105", "105" }, true, "ma" },
  { 3, "freed twice, 600 between", twice_with_many_between,
    { "L101|L105", "105", "105", "105" }, true, "ma" },
  { 4, "freed in two threads", twice_in_two_threads,
    { "101|L101|L105|L112", "105", "105", "105" }, true, "ma" },
  { 5, "freed in two threads at the same moment", twice_at_the_same_moment,
    { "105|101|L105|L101|L112", "105|L105", "105|L105", "105|108|L105" }, false,
    "ma" },
  { 6, "freed twice after reissue", twice_after_reissue,
    { "101", "105", "105", "105" }, true, NULL },
  { 7, "32 bytes freed as 64", larger_class,
    { "L103", "103", "103", "103" }, true, "ma" },
  { 8, "64 bytes freed as 32", smaller_class,
    { "L103", "103", "103", "103" }, true, "ma" },
  { 9, "60 bytes freed as 64", other_size_same_class,
    { "N", "103", "103", "103" }, true, "ma" },
  { 10, "48 bytes freed as 4096", slice_as_large,
    { "103", "103", "103", "103" }, true, "ma" },
  { 11, "4096 bytes freed as 48", large_as_slice,
    { "L102", "103", "103", "103" }, false, "ma" },
  { 12, "5000 bytes freed as 6000", large_as_larger,
    { "U", "109", "109", "109" }, false, "ma" },
  { 130, "alignment 32 freed as 64", other_alignment,
    { "L103", "103", "103", "103" }, false, NULL },
  { 13, "freed with size 0", size_zero,
    { "103", "103", "103", "103" }, false, "ma" },
  { 14, "interior pointer", interior,
    { "L104", "104", "104", "104" }, true, "ma" },
  { 15, "misaligned pointer", misaligned,
    { "L104", "104", "104", "104" }, true, "ma" },
  { 16, "pointer into a slab's padding", padding,
    { "L112", "112", "112", "112" }, false, NULL },
  { 17, "pointer to the stack", on_the_stack,
    { "L102", "102", "102", "102" }, true, "ma" },
  { 18, "pointer to a static buffer", static_buffer,
    { "L102", "102", "102", "102" }, true, "ma" },
  { 19, "pointer from malloc", of_malloc,
    { "L102", "102", "102", "102" }, false, NULL },
  { 20, "pointer into a foreign mapping", foreign_mapping,
    { "L102", "102", "102", "102" }, true, "ma" },
  { 120, "pointer into an untouchable page", unmapped_page,
    { "L102|G", "102", "102", "102" }, false, NULL },
  { 21, "block of a slab that is gone", slab_gone,
    { "L112|L106|L102|L101", "112|106|102", "112|106|102",
      "112|108|102" },
    false, "ma" },
  { 121, "block that its slab has back", twice_to_the_slab,
    { "L105", "105", "105", "105" }, false, "ma" },
  { 22, "NULL with any size", null_any_size,
    { "N", "N", "N", "N" }, false, NULL },
  { 23, "chain with a wrong offset", chain_wrong_offset,
    { "G", "102", "102", "102" }, false, NULL },
  { 24, "cyclic chain", chain_cyclic,
    { "105|111|101|L105", "105|111", "105|111", "105|111" }, false, "ma" },
  { 25, "large block freed twice", large_twice,
    { BY_LIBC, "108", "108", "108" }, true, "ma" },
  { .number = 0 }
};
