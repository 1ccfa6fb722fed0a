/* test-map-notes.c - page/map/map.c: what is noted outside of the regions
 *
 * With addresses that are made up: nothing at them is ever touched.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "page/map/map.h"

#define KIB ((uintptr_t) 1 << 10)

static void *
at (uintptr_t address)
{
  return (void *) address;
}

/* A node at an address, and nothing at others that are near in one way. */
static void
check_node (uintptr_t address)
{
  g_assert_false (sli_map_is_noted (at (address), NOTE_NODE));
  g_assert_true (sli_map_note (at (address), NOTE_NODE));
  g_assert_true (sli_map_is_noted (at (address), NOTE_NODE));
  g_assert_false (sli_map_is_noted (at (address), NOTE_GC_SLAB));
  g_assert_false (sli_map_is_noted (at (address + 8), NOTE_NODE));
  g_assert_false (sli_map_is_noted (at (address ^ 16), NOTE_NODE));
  for (unsigned bit = 10; bit < 8 * sizeof address; bit++)
    g_assert_false (
        sli_map_is_noted (at (address ^ (uintptr_t) 1 << bit), NOTE_NODE));
  sli_map_forget (at (address));
  g_assert_false (sli_map_is_noted (at (address), NOTE_NODE));
  g_assert_true (sli_map_note (at (address & -KIB), NOTE_GC_SLAB));
  g_assert_true (sli_map_is_noted (at (address & -KIB), NOTE_GC_SLAB));
  if ((uint64_t) address >> MAP_LEAF_BITS < MAP_LEAVES)
    g_assert_true (sli_map_is_noted_near (at (address & -KIB), NOTE_GC_SLAB));
  sli_map_forget (at (address & -KIB));
}

/* Around each border, up to the last address of all. */
static void
test_borders (void)
{
  static const unsigned bits[]
      = { 22, 31, 35, 39, 40, 46, 47, 48, 49, 52, 53, 56, 57, 63 };

  for (unsigned i = 0;
       i < G_N_ELEMENTS (bits) && bits[i] < 8 * sizeof (uintptr_t); i++)
    {
      uintptr_t border = (uintptr_t) 1 << bits[i];

      check_node (border - KIB + 16);
      check_node (border);
      check_node (border + 5 * KIB + 32);
    }
  check_node (0 - KIB + 16);
}

/* Nothing was ever there, and nothing is made by asking. */
static void
test_any_address (void)
{
  TestRandom random;

  test_random_init (&random, 0);
  g_assert_false (sli_map_is_noted (at (UINTPTR_MAX - 15), NOTE_NODE));
  for (int i = 0; i < 100000; i++)
    {
      uintptr_t address = (uintptr_t) test_random (&random) & -(uintptr_t) 16;

      g_assert_false (sli_map_is_noted (at (address), NOTE_NODE));
      sli_map_forget (at (address));
    }
}

/* Threads that make the levels of one place at once: none is lost.  Eight
 * places a turn, most of them far. */
enum { PLACES = 8, THREADS = 4 };

static uintptr_t
place_of (unsigned turn, unsigned place, unsigned thread)
{
  uintptr_t mid = sizeof (void *) == 4
                      ? 0
                      : (uintptr_t) 0x1234 << (place * 2) % 16 << 35;

  return mid + (turn * PLACES + place) * 2048 * KIB + (thread + 1) * 3 * KIB;
}

static void
race_run (unsigned thread, void *data)
{
  unsigned n_turns = *(const unsigned *) data;

  for (unsigned turn = 0; turn < n_turns; turn++)
    for (unsigned place = 0; place < PLACES; place++)
      g_assert_true (sli_map_note (
          at (place_of (turn, place, thread) & -KIB), NOTE_GC_SLAB));
}

static void
test_race (void)
{
  unsigned n_turns = test_times (16, 2);

  test_gang (THREADS, race_run, &n_turns);
  for (unsigned turn = 0; turn < n_turns; turn++)
    for (unsigned place = 0; place < PLACES; place++)
      for (unsigned thread = 0; thread < THREADS; thread++)
        g_assert_true (sli_map_is_noted (
            at (place_of (turn, place, thread) & -KIB), NOTE_GC_SLAB));
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/map/notes-any-address", test_any_address);
  test_add_fresh ("/slice/map/notes-borders", test_borders);
  test_add_fresh ("/slice/map/notes-race", test_race);
  return g_test_run ();
}
