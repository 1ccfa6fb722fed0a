/* arena-test.h - what the arenas' tests share
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ARENA_TEST_H
#define ARENA_TEST_H

#include <glib.h>
#include <slice/arena.h>

/* A page source that counts what it hands out and can be made to fail. */
typedef struct
{
  SliceSource source;
  size_t n_maps;
  size_t n_unmaps;
  size_t out_bytes;
  size_t n_until_failure; /* this many more succeed; SIZE_MAX: all */
} CountingSource;

void counting_source_init (CountingSource *counting);

/* Contents that depend on address-free things alone: a number. */
void pattern_fill (void *object, size_t size, unsigned number);
bool pattern_holds (const void *object, size_t size, unsigned number);

/* Do objects have gaps between them, as a tool watches? */
bool is_annotated (void);
/* If so, skips the test for that reason. */
bool skip_watched (const char *reason);

/* A constructor of a pool. */
bool construct_nothing (void *object, void *data);

/* Skips the test if an option makes all arenas checked. */
bool skip_checked (const char *reason);

/* Runs the test itself in a process of its own and asks that it aborts with
 * that error number, and that the text matches. */
void expect_error (int number, const char *text);

/* The head of a function test_misuse_<name>, whose body ends so; or that of one
 * whose body is a call. */
#define MISUSE(name, number, text)                                            \
 static void body_##name (void);                                              \
 static void test_misuse_##name (void)                                        \
 {                                                                            \
  if (g_test_subprocess ())                                                   \
   body_##name ();                                                            \
  else                                                                        \
   expect_error (number, text);                                               \
 }                                                                            \
 static void body_##name (void)
#define MISUSE_CALL(name, number, text, call)                                 \
 MISUSE (name, number, text)                                                  \
 {                                                                            \
  call;                                                                       \
 }

/* held = used + free + wasted + control. */
void assert_stats_add_up (const SliceArenaStats *stats);

#endif
