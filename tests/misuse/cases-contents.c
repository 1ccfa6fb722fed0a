/* cases-contents.c - writes and reads where none may be: numbers 26 to 42
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <slice/libslice.h>

#include "misuse.h"

enum
{
  SIZE = 64,
  N_RUN = 256,
  N_SEARCHED = 24000
};

/* Where an attacker would like to have a block. */
static _Alignas (64) char target[4096];

/* A write after free may not decide what is handed out; or else who hands it
 * out must say so. */
static Verdict
churn_and_judge (void)
{
  fault_begin (NULL, SIZE);
  churn (SIZE);
  if (hands_out_twice (SIZE, target))
    return HARM;
  fault_end ();
  allocator->settle ();
  return NO_HARM;
}

static Verdict
write_first_word (void)
{
  char *volatile p = take (SIZE);
  char *chosen = target + 1024;

  give (SIZE, p);
  memcpy (p, &chosen, sizeof chosen);
  return churn_and_judge ();
}

/* Every second of many, here and there in their slabs: and not one of the
 * blocks that come then may be another's memory. */
static Verdict
write_many_first_words (void)
{
  enum
  {
    N = 20000,
    STEP = 7919 /* which no power of ten shares a factor with */
  };
  static char *volatile blocks[N];
  char *chosen = target + 1024;

  for (int i = 0; i < N; i++)
    blocks[i] = take (SIZE);
  for (int i = 0; i < N / 2; i++)
    give (SIZE, blocks[2 * (i * STEP % (N / 2))]);
  for (int i = 0; i < N; i += 2)
    memcpy (blocks[i], &chosen, sizeof chosen);
  fault_begin (NULL, SIZE);
  for (int i = 0; i < N; i += 2)
    {
      blocks[i] = take (SIZE);
      if (!slice_is_ours (blocks[i]))
        return HARM;
    }
  for (int i = 0; i < N; i += 2)
    give (SIZE, blocks[i]);
  return churn_and_judge ();
}

static Verdict
write_whole (void)
{
  char *volatile p = take (SIZE);

  give (SIZE, p);
  memset (p, 'A', SIZE);
  return churn_and_judge ();
}

static Verdict
write_one_byte (void)
{
  char *volatile p = take (SIZE);

  give (SIZE, p);
  p[40] = 1;
  return churn_and_judge ();
}

static void *
take_and_give (void *data)
{
  char **block = data;

  *block = take (SIZE);
  give (SIZE, *block);
  return NULL;
}

static void *
churn_in_thread (void *data)
{
  (void) data;
  churn (SIZE);
  churn (SIZE);
  return NULL;
}

/* The thread that freed it ends, another one takes it over. */
static Verdict
write_after_thread (void)
{
  char *block = NULL;
  pthread_t thread;

  pthread_create (&thread, NULL, take_and_give, &block);
  pthread_join (thread, NULL);
  memset (block, 'A', SIZE);
  fault_begin (NULL, SIZE);
  pthread_create (&thread, NULL, churn_in_thread, NULL);
  pthread_join (thread, NULL);
  fault_end ();
  return churn_and_judge ();
}

static Verdict
overflow_in_slack (void)
{
  char *volatile p = take (61);

  memset (p, 1, 61);
  p[61] = (char) ~p[61]; /* whatever a mode keeps there, it is another */
  give_wrongly (61, p);
  return hands_out_twice (61, NULL) ? HARM : NO_HARM;
}

/* Without a mode these blocks are malloc's, which rounds the sizes up: nothing
 * else lies where the byte is written. */
static Verdict
overflow_of_large (void)
{
  const size_t size = 5001;
  char *volatile p = take (size);

  memset (p, 1, size);
  p[size] = (char) ~p[size];
  give_wrongly (size, p);
  return hands_out_twice (size, NULL) ? HARM : NO_HARM;
}

static Verdict
overflow_of_aligned (void)
{
  char *volatile p;

  if (!allocator->is_slice)
    return SKIP;
  p = slice_alloc_aligned (256, 1000);
  memset (p, 1, 1000);
  p[1000] = (char) ~p[1000];
  fault_begin (p, 1000);
  slice_free_aligned (256, 1000, p);
  fault_end ();
  return NO_HARM;
}

static Verdict
overflow_of_unsized (void)
{
  char *volatile p;

  if (!allocator->is_slice)
    return SKIP;
  p = slice_alloc_aligned (512, 300);
  memset (p, 1, 300);
  p[300 + 7] = (char) ~p[300 + 7];
  fault_begin (p, 300);
  slice_free_unsized (p);
  fault_end ();
  return NO_HARM;
}

/* Writes n bytes past the end of the middle one of some live blocks. */
static Verdict
overflow_by (size_t n)
{
  char *blocks[N_RUN];
  bool harm = false;
  volatile char *end;

  for (int i = 0; i < N_RUN; i++)
    {
      blocks[i] = take (SIZE);
      memset (blocks[i], i, SIZE);
    }
  fault_begin (NULL, SIZE);
  end = blocks[N_RUN / 2] + SIZE;
  for (size_t i = 0; i < n; i++)
    end[i] = (char) (end[i] ^ 0xa5); /* certainly another */
  for (int i = 0; i < N_RUN; i++)
    for (int j = 0; j < SIZE; j++)
      harm = harm || blocks[i][j] != (char) i;
  for (int i = 0; i < N_RUN; i++)
    give (SIZE, blocks[i]);
  fault_end ();
  return harm || hands_out_twice (SIZE, target) ? HARM : NO_HARM;
}

static Verdict
overflow_1 (void)
{
  return overflow_by (1);
}

static Verdict
overflow_8 (void)
{
  return overflow_by (8);
}

static Verdict
overflow_16 (void)
{
  return overflow_by (16);
}

static Verdict
overflow_64 (void)
{
  return overflow_by (64);
}

static Verdict
overflow_70000 (void)
{
  return overflow_by (70000);
}

/* One more than fits: only a zero byte lands behind the block. */
static Verdict
string_one_too_long (void)
{
  char *blocks[N_RUN];
  char text[SIZE + 1];
  bool harm = false;

  char *(*volatile copy) (char *, const char *) = strcpy;

  for (int i = 0; i < N_RUN; i++)
    {
      blocks[i] = take (SIZE);
      memset (blocks[i], 1, SIZE);
    }
  memset (text, 'x', SIZE);
  text[SIZE] = '\0';
  fault_begin (NULL, SIZE);
  copy (blocks[N_RUN / 2], text);
  for (int i = 0; i < N_RUN; i++)
    if (i != N_RUN / 2)
      harm = harm || blocks[i][0] != 1;
  for (int i = 0; i < N_RUN; i++)
    give (SIZE, blocks[i]);
  fault_end ();
  return harm ? HARM : NO_HARM;
}

static Verdict
underflow_8 (void)
{
  char *blocks[N_RUN];
  bool harm = false;
  volatile char *middle;

  for (int i = 0; i < N_RUN; i++)
    {
      blocks[i] = take (SIZE);
      memset (blocks[i], i, SIZE);
    }
  fault_begin (NULL, SIZE);
  middle = blocks[N_RUN / 2];
  for (int i = 1; i <= 8; i++)
    middle[-i] = (char) 0xa5;
  for (int i = 0; i < N_RUN; i++)
    for (int j = 0; j < SIZE; j++)
      harm = harm || blocks[i][j] != (char) i;
  for (int i = 0; i < N_RUN; i++)
    give (SIZE, blocks[i]);
  fault_end ();
  return harm || hands_out_twice (SIZE, target) ? HARM : NO_HARM;
}

/* The block behind is free, and where a list would have its link the
 * overflow writes an address. */
static Verdict
overflow_into_free (void)
{
  char *blocks[N_RUN], *chosen = target + 1024;

  for (int i = 0; i < N_RUN; i++)
    {
      blocks[i] = take (SIZE);
      memset (blocks[i], i, SIZE);
    }
  for (int i = N_RUN / 2; i < N_RUN; i++)
    give (SIZE, blocks[i]);
  fault_begin (NULL, SIZE);
  for (int i = 0; i < 32; i += 8)
    memcpy (*(char *volatile *) &blocks[N_RUN / 2 - 1] + SIZE + i, &chosen,
            sizeof chosen);
  for (int i = 0; i < N_RUN / 2; i++)
    give (SIZE, blocks[i]);
  return churn_and_judge ();
}

/* Called through a pointer: or the compiler knows that it is free. */
static bool (*volatile is_marked) (const void *block);

static bool
block_is_marked (const void *block)
{
  return memcmp ((const char *) block + 16, "secret marker 42", 16) == 0;
}

static Verdict
read_freed (void)
{
  char *p = take (SIZE);

  is_marked = block_is_marked;
  memset (p, 0, SIZE);
  memcpy (p + 16, "secret marker 42", 16);
  give (SIZE, p);
  fault_begin (NULL, SIZE);
  if (is_marked (p))
    return HARM;
  fault_end ();
  return NO_HARM;
}

static Verdict
read_recycled (void)
{
  bool found = false;
  char *p = take (SIZE);

  is_marked = block_is_marked;
  memset (p, 0, SIZE);
  memcpy (p + 16, "secret marker 42", 16);
  give (SIZE, p);
  fault_begin (NULL, SIZE);
  for (int i = 0; i < N_SEARCHED && !found; i++)
    found = is_marked (take (SIZE));
  fault_end ();
  return found ? HARM : NO_HARM;
}

/* Lost, and no trace of it in a register or on the stack. */
static __attribute__ ((noinline)) void
lose_some (void)
{
  void *volatile blocks[20];

  for (int i = 0; i < 20; i++)
    blocks[i] = take (SIZE);
  for (int i = 0; i < 17; i++)
    give (SIZE, blocks[i]);
  for (int i = 0; i < 20; i++)
    blocks[i] = NULL;
}

static Verdict
leak (void)
{
  lose_some ();
  churn (SIZE);
  return NO_HARM;
}

static __attribute__ ((noinline)) void
lose_cycle (void)
{
  void **a = take (SIZE), **b = take (SIZE);

  *a = b;
  *b = a;
}

static Verdict
leak_cycle (void)
{
  lose_cycle ();
  churn (SIZE);
  return NO_HARM;
}

const Case contents_cases[] = {
  { 26, "first word written after free", write_first_word,
    { "N", "N", "115", "115" }, true, "ma" },
  { 126, "10,000 first words written after free", write_many_first_words,
    { "N", "N", "115", "115" }, false, NULL },
  { 27, "all written after free", write_whole,
    { "N", "N", "115", "115" }, true, "ma" },
  { 28, "one byte written after free", write_one_byte,
    { "N", "N", "115", "115" }, true, "ma" },
  { 29, "written after free and thread's end", write_after_thread,
    { "N", "N", "115|L115", "115|L115" }, false, "ma" },
  { 30, "one byte behind, in the slack", overflow_in_slack,
    { "N", "N", "113", "113" }, true, "ma" },
  { 127, "one byte behind, large block", overflow_of_large,
    { "N", "N", "113", "113" }, false, "ma" },
  { 128, "one byte behind, aligned block", overflow_of_aligned,
    { "N", "N", "113", "113" }, false, NULL },
  { 129, "8 bytes behind, freed without a size", overflow_of_unsized,
    { "N", "N", "113", "113" }, false, NULL },
  { 31, "one byte behind", overflow_1,
    { "U", "U", "113", "113" }, true, "ma" },
  { 32, "8 bytes behind", overflow_8,
    { "U", "U", "113", "113" }, true, "ma" },
  { 33, "16 bytes behind", overflow_16,
    { "U", "U", "113", "113" }, true, "ma" },
  { 34, "64 bytes behind", overflow_64,
    { "U", "U", "113", "113|114" }, true, "ma" },
  { 35, "70,000 bytes behind", overflow_70000,
    { "U|G", "U|G|105|106", "G|113|105|106", "G|113|114|105|106" }, true,
    "ma" },
  { 36, "string one too long", string_one_too_long,
    { "U", "U", "113", "113" }, false, "ma" },
  { 37, "8 bytes before", underflow_8,
    { "U", "U", "113|N", "114" }, true, "ma" },
  { 38, "behind, into a free neighbour", overflow_into_free,
    { "N", "N", "113|115", "113|114|115" }, true, "ma" },
  { 39, "freed block read", read_freed,
    { "U", "U", "N", "N" }, true, "ma" },
  { 40, "new block read", read_recycled,
    { "U", "U", "N", "E150" }, true, "m" },
  { 41, "3 of 20 blocks lost", leak, { "N", "N", "N", "E150" }, false, "ml" },
  { 42, "a cycle of two lost", leak_cycle, { "N", "N", "N", "E150" }, false,
    "ml" },
  { .number = 0 }
};
