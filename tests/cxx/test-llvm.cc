/* test-llvm.cc - LLVM's own allocators on our page sources
 *
 * Built where LLVM's headers (llvm-14-dev) are found; else it says so and is
 * skipped.  The adaptor needs no LLVM library but for what the headers leave
 * out of line.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <glib.h>

#include <string>
#include <type_traits>

#include <slice/slice.hpp>

#if defined HAVE_LLVM

/* SpecificBumpPtrAllocator names BumpPtrAllocator, whose slabs come from
 * MallocAllocator: its code is used as it stands, with that name meaning
 * ours. */
# include <llvm/Support/AllocatorBase.h>
namespace llvm
{
typedef slice::llvm_allocator<> SliceAllocator;
}
# define MallocAllocator SliceAllocator
# include <llvm/ADT/StringMap.h>
# include <llvm/Support/Allocator.h>
# undef MallocAllocator

namespace
{

/* Counts what the mmap source is asked for, and hands it on. */
struct Counting
{
  SliceSource source;
  std::size_t n_maps;
  std::size_t out_bytes;

  static void *
  map (const SliceSource *self, std::size_t bytes, std::size_t alignment)
  {
    Counting *counting = static_cast<Counting *> (self->data);
    const SliceSource *mmap = slice_source_builtin (SLICE_PAGES_MMAP);
    counting->n_maps++;
    counting->out_bytes += bytes;
    return mmap->map (mmap, bytes, alignment);
  }

  static void
  unmap (const SliceSource *self, void *address, std::size_t bytes)
  {
    Counting *counting = static_cast<Counting *> (self->data);
    const SliceSource *mmap = slice_source_builtin (SLICE_PAGES_MMAP);
    counting->out_bytes -= bytes;
    mmap->unmap (mmap, address, bytes);
  }

  Counting () : source (), n_maps (0), out_bytes (0)
  {
    source.name = "counting";
    source.map = map;
    source.unmap = unmap;
    source.data = this;
  }
};

typedef slice::llvm_allocator<> Pages;
typedef llvm::BumpPtrAllocatorImpl<Pages> Bump;

void
test_bump ()
{
  Counting counting;
  {
    Bump bump{ Pages (&counting.source) };
    for (std::size_t i = 1; i < 20000; i++)
      {
        char *object = static_cast<char *> (bump.Allocate (i % 300 + 1, 16));
        g_assert_cmpuint (reinterpret_cast<std::uintptr_t> (object) % 16, ==,
                          0);
        object[0] = object[i % 300] = 1;
      }
    void *large = bump.Allocate (100000, 8);
    g_assert_nonnull (large);
    g_test_message ("BumpPtrAllocator: %zu slabs, %zu bytes in all, %zu maps",
                    bump.GetNumSlabs (), bump.getTotalMemory (),
                    counting.n_maps);
    g_assert_cmpuint (bump.getTotalMemory (), <=, counting.out_bytes);
    std::size_t before = counting.out_bytes;
    bump.Reset ();
    g_assert_cmpuint (counting.out_bytes, <, before / 10);
  }
  g_assert_cmpuint (counting.out_bytes, ==, 0);
}

void
test_string_map ()
{
  Counting counting;
  {
    Bump bump{ Pages (&counting.source) };
    llvm::StringMap<int, Bump &> map (bump);
    for (int i = 0; i < 20000; i++)
      map[std::to_string (i) + " is a key"] = i;
    g_assert_cmpuint (map.size (), ==, 20000);
    for (int i = 0; i < 20000; i += 7)
      g_assert_cmpint (map.lookup (std::to_string (i) + " is a key"), ==, i);
    g_test_message ("StringMap: %u entries, %zu bytes mapped", map.size (),
                    counting.out_bytes);
  }
  g_assert_cmpuint (counting.out_bytes, ==, 0);
}

alignas (4096) char askew[64 * 4096];

void *
map_askew (const SliceSource *, std::size_t, std::size_t)
{
  return askew + 16;
}

/* A source that does not align is one without memory. */
void
test_askew ()
{
  SliceSource source = SliceSource ();
  source.name = "askew";
  source.map = map_askew;
  bool is_refused = false;
  try
    {
      Pages (&source).Allocate (4096, 4096);
    }
  catch (const std::bad_alloc &)
    {
      is_refused = true;
    }
  g_assert_true (is_refused);
}

int n_destroyed;

struct Node
{
  long value;
  explicit Node (long v) : value (v)
  {
  }
  ~Node ()
  {
    n_destroyed++;
  }
};

void
test_specific ()
{
  static_assert (std::is_same<llvm::BumpPtrAllocator, Bump>::value,
                 "over our pages");
  n_destroyed = 0;
  llvm::SpecificBumpPtrAllocator<Node> nodes;
  for (long i = 0; i < 5000; i++)
    new (nodes.Allocate ()) Node (i);
  nodes.DestroyAll ();
  g_assert_cmpint (n_destroyed, ==, 5000);
}

void
test_default_source ()
{
  Bump bump;
  char *object = static_cast<char *> (bump.Allocate (10, 1));
  object[9] = 1;
  g_assert_cmpuint (bump.getTotalMemory (), ==, 4096);
  slice::llvm_allocator<SLICE_PAGES_POSIX_MEMALIGN> other;
  long *numbers = other.Allocate<long> (1000);
  numbers[999] = 1;
  other.Deallocate (numbers, 1000);
}

} // namespace

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, nullptr);
  g_test_add_func ("/slice/llvm/bump", test_bump);
  g_test_add_func ("/slice/llvm/string-map", test_string_map);
  g_test_add_func ("/slice/llvm/specific", test_specific);
  g_test_add_func ("/slice/llvm/default-source", test_default_source);
  g_test_add_func ("/slice/llvm/askew", test_askew);
  return g_test_run ();
}

#else

static void
test_missing ()
{
  g_test_skip ("LLVM's headers (llvm-14-dev) were not found");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, nullptr);
  g_test_add_func ("/slice/llvm/missing", test_missing);
  return g_test_run ();
}

#endif
