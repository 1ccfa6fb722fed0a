/* test-depot-check.c - the depot's validators name what damage breaks
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "tests/testlib.h"
#include "tests/testprocessor.h"
#include "base/option.h"
#include "depot/depot.h"
#include "depot/stack.h"
#include "port/os/os.h"
#include "slab/slab.h"

/* The class of 64 bytes. */
enum
{
  CLASS = 8
};

static Magazine *magazines[2]; /* the depot's, the last first */

static Magazine *
full_magazine (void)
{
  Magazine *magazine = sli_depot_new_magazine (CLASS, 0);

  g_assert_nonnull (magazine);
  while (magazine->n_rounds < magazine->n_rounds_max)
    {
      g_assert_cmpuint (
          sli_slab_alloc (CLASS, 1, &magazine->slots[magazine->n_rounds + 2]),
          ==, 1);
      magazine->n_rounds++;
    }
  return magazine;
}

static void
begin (void)
{
  DepotExchange exchange;

  sli_shard_pretend (pretended_processor);
  sli_option_freeze ();
  sli_depot_init ();
  for (unsigned i = G_N_ELEMENTS (magazines); i-- > 0;)
    {
      sli_os_pretend_clock_msec (1000000 - i);
      magazines[i] = full_magazine ();
      sli_depot_push (magazines[i], UINT_MAX, &exchange);
    }
}

static void
assert_broken (const char *id, const void *expected)
{
  const void *where = NULL;

  g_assert_cmpstr (sli_depot_check (CLASS, &where), ==, id);
  if (expected != NULL)
    g_assert_true (where == expected);
}

static void
test_magazine (void)
{
  Magazine *magazine;
  unsigned n_rounds;

  begin ();
  assert_broken (NULL, NULL);
  magazine = magazines[1];
  magazine->class_index++;
  assert_broken ("D1", magazine);
  magazine->class_index--;
  magazine->slots[0] = magazine;
  assert_broken ("D1", magazine);
  magazine->slots[0] = NULL;
  n_rounds = magazine->n_rounds;
  magazine->n_rounds = 0;
  assert_broken ("D1", magazine);
  magazine->n_rounds = magazine->n_rounds_max + 1;
  assert_broken ("D1", magazine);
  magazine->n_rounds = n_rounds;
  assert_broken (NULL, NULL);
}

/* D2: the deeper a magazine lies, the earlier it was pushed. */
static void
test_order (void)
{
  begin ();
  magazines[1]->pushed_msec = magazines[0]->pushed_msec + 1;
  assert_broken ("D2", magazines[1]);
}

static void
test_counts (void)
{
  DepotStack *stack;

  begin ();
  stack = &sli_depot_stacks[0][CLASS];
  while (stack->n_magazines == 0)
    stack += N_CLASSES;
  stack->n_magazines++;
  assert_broken ("D3", stack);
  stack->n_magazines--;
  stack->n_chunks--;
  assert_broken ("D3", stack);
  stack->n_chunks++;
  assert_broken (NULL, NULL);
  sli_depot_classes[CLASS].n_large++;
  assert_broken ("D4", &sli_depot_classes[CLASS]);
  sli_depot_classes[CLASS].n_large--;
  assert_broken (NULL, NULL);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/depot-check/magazine", test_magazine);
  test_add_fresh ("/slice/depot-check/order", test_order);
  test_add_fresh ("/slice/depot-check/counts", test_counts);
  return g_test_run ();
}
