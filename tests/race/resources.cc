/* resources.cc - threads that compare resources of std::pmr
 *
 * Compiled twice: with PLUGIN as a library with virtual tables of its own.  A
 * resource asks one that it does not know by a place of libslice's, which one
 * thread hands to the next; inline functions write to it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/slice.hpp>

#include <cstdio>
#include <cstring>
#include <thread>

#ifdef SLICE_HAS_PMR
std::pmr::memory_resource *plugin_resource ();
#endif

#ifdef PLUGIN

# ifdef SLICE_HAS_PMR
__attribute__ ((visibility ("default"))) std::pmr::memory_resource *
plugin_resource ()
{
  static slice::memory_resource resource;
  return &resource;
}
# endif

#else

# ifdef SLICE_HAS_PMR

static const int n_rounds = 1000;

static const void *
virtual_table (const std::pmr::memory_resource *resource)
{
  const void *table;
  std::memcpy (&table, static_cast<const void *> (resource), sizeof table);
  return table;
}

static void
compare (int *n_wrong)
{
  slice::memory_resource slices;
  const std::pmr::memory_resource &theirs = *plugin_resource ();
  const std::pmr::memory_resource &others = *std::pmr::new_delete_resource ();

  for (int i = 0; i < n_rounds; i++)
    *n_wrong += !slices.is_equal (theirs) + !theirs.is_equal (slices)
                + slices.is_equal (others) + others.is_equal (slices);
}

int
main ()
{
  int wrong[2] = { 0, 0 };
  const std::pmr::memory_resource *ours = slice::default_resource ();
  bool is_apart = virtual_table (ours) != virtual_table (plugin_resource ());
  std::thread one (compare, &wrong[0]), two (compare, &wrong[1]);

  one.join ();
  two.join ();
  std::printf ("%s, %d wrong\n", is_apart ? "apart" : "not apart",
               wrong[0] + wrong[1]);
}

# else

int
main ()
{
  std::puts ("apart, 0 wrong");
}

# endif
#endif
