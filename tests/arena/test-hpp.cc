/* test-hpp.cc - slice.hpp: allocators, resources, strategies
 *
 * SPDX-License-Identifier: MIT
 */
#include <glib.h>

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <slice/slice.hpp>

namespace
{

template <typename Map>
void
exercise_map (Map &map)
{
  for (int i = 0; i < 5000; i++)
    map[i * 7919 % 10007] = i;
  for (int i = 0; i < 5000; i += 2)
    map.erase (i * 7919 % 10007);
  int sum = 0;
  for (const auto &entry : map)
    sum += entry.second;
  g_assert_cmpint (sum, ==, 2500 * 2500);
}

typedef std::pair<const int, int> Pair;

void
test_allocator ()
{
  std::map<int, int, std::less<int>, slice::allocator<Pair>> map;
  exercise_map (map);
  std::vector<long, slice::allocator<long>> numbers;
  for (long i = 0; i < 100000; i++)
    numbers.push_back (i);
  g_assert_cmpint (numbers[99999], ==, 99999);
  std::vector<long, slice::allocator<long>> copy (numbers);
  g_assert_true (copy == numbers);
  copy.swap (numbers);
  g_assert_true (slice::allocator<int> () == slice::allocator<long> ());
}

struct alignas (64) Wide
{
  char bytes[64];
};

void
test_alignment ()
{
  std::list<Wide, slice::allocator<Wide>> wide;
  for (int i = 0; i < 100; i++)
    {
      wide.emplace_back ();
      g_assert_cmpuint (
          reinterpret_cast<std::uintptr_t> (&wide.back ()) % 64, ==, 0);
    }
  slice::CustomAllocator<Wide, slice::Pool> pool;
  slice::CustomAllocator<Wide, slice::LinearPool> linear;
  slice::CustomAllocator<Wide, slice::StackPool> stack;
  for (int i = 0; i < 100; i++)
    {
      g_assert_cmpuint (
          reinterpret_cast<std::uintptr_t> (pool.create ()) % 64, ==, 0);
      g_assert_cmpuint (
          reinterpret_cast<std::uintptr_t> (linear.create ()) % 64, ==, 0);
      g_assert_cmpuint (
          reinterpret_cast<std::uintptr_t> (stack.create ()) % 64, ==, 0);
    }
}

void
test_bad_alloc ()
{
  slice::allocator<long> allocator;
  volatile std::size_t n = static_cast<std::size_t> (-1) / 4;
  bool thrown = false;
  try
    {
      allocator.allocate (n);
    }
  catch (const std::bad_alloc &)
    {
      thrown = true;
    }
  g_assert_true (thrown);

  SliceArenaOptions options = SliceArenaOptions ();
  options.limit_bytes = 10000;
  slice::LinearPool linear (&options);
  thrown = false;
  try
    {
      for (;;)
        linear.allocate (100, 8);
    }
  catch (const std::bad_alloc &)
    {
      thrown = true;
    }
  g_assert_true (thrown);
}

int n_alive;

struct Counted
{
  explicit Counted (int v) : value (v)
  {
    if (v < 0)
      throw v;
    n_alive++;
  }
  virtual ~Counted ()
  {
    n_alive--;
  }
  SLICE_CLASS_OPERATORS
  int value;
};

struct Larger : Counted
{
  explicit Larger (int v) : Counted (v)
  {
  }
  char more[300];
};

void
test_unique ()
{
  n_alive = 0;
  {
    slice::unique_ptr<Counted> one = slice::make_unique<Counted> (5);
    g_assert_cmpint (one->value, ==, 5);
    g_assert_cmpint (n_alive, ==, 1);
    static_assert (sizeof one == sizeof (void *), "no state");
  }
  g_assert_cmpint (n_alive, ==, 0);
  bool thrown = false;
  try
    {
      slice::make_unique<Counted> (-1);
    }
  catch (int)
    {
      thrown = true;
    }
  g_assert_true (thrown);
}

/* The size that delete hands on is that of the real type. */
void
test_class_operators ()
{
  n_alive = 0;
  Counted *one = new Counted (1);
  Counted *other = new Larger (2);
  g_assert_cmpint (n_alive, ==, 2);
  delete one;
  delete other;
  g_assert_cmpint (n_alive, ==, 0);
  Counted *null = nullptr;
  delete null;
}

/* --- strategies ---------------------------------------------------------- */

void
test_strategies ()
{
  typedef slice::CustomAllocator<Pair, slice::Pool> PoolAllocator;
  std::map<int, int, std::less<int>, PoolAllocator> pooled;
  exercise_map (pooled);
  typedef slice::CustomAllocator<Pair, slice::LinearPool> LinearAllocator;
  slice::LinearPool owner;
  {
    std::map<int, int, std::less<int>, LinearAllocator> linear (
        (std::less<int> ()), LinearAllocator (owner));
    exercise_map (linear);
  }
  owner.reset ();

  slice::CustomAllocator<long, slice::StackPool> stack;
  long *a = stack.create (1);
  long *b = stack.create (2);
  stack.destroy (b);
  g_assert_true (stack.create (3) == b);
  stack.destroy (b);
  stack.destroy (a);
  stack.reset ();

  auto shared = std::make_shared<slice::LinearPool> ();
  {
    slice::CustomAllocator<int, slice::LinearPool> one (shared);
    slice::CustomAllocator<long, slice::LinearPool> two (shared);
    g_assert_true (one == two);
    g_assert_cmpint (*one.create (4) + *two.create (5), ==, 9);
    g_assert_cmpint (shared.use_count (), ==, 3);
  }
  g_assert_cmpint (shared.use_count (), ==, 1);
}

/* --- resources ----------------------------------------------------------- */

#ifdef SLICE_HAS_PMR

void
exercise_resource (std::pmr::memory_resource *resource)
{
  std::pmr::map<int, int> map (resource);
  exercise_map (map);
  std::pmr::vector<std::pmr::string> strings (resource);
  for (int i = 0; i < 1000; i++)
    strings.emplace_back ("a string that is too long to be kept inside");
  g_assert_cmpuint (strings.back ().size (), ==, 43);
  void *wide = resource->allocate (100, 64);
  g_assert_cmpuint (reinterpret_cast<std::uintptr_t> (wide) % 64, ==, 0);
  resource->deallocate (wide, 100, 64);
}

void
test_resources ()
{
  slice::memory_resource slices;
  exercise_resource (&slices);
  g_assert_true (slices.is_equal (*slice::default_resource ()));

  SliceLinear *linear = slice_linear_new (nullptr);
  slice::linear_resource linear_resource (linear);
  exercise_resource (&linear_resource);
  slice::linear_resource same (linear);
  g_assert_true (same.is_equal (linear_resource));
  g_assert_false (same.is_equal (slices));
  slice_linear_destroy (linear);

  SliceTlsf *tlsf = slice_tlsf_new (nullptr);
  slice::tlsf_resource tlsf_resource (tlsf);
  exercise_resource (&tlsf_resource);
  slice_tlsf_destroy (tlsf);

  SlicePool *pool = slice_pool_new_plain (48);
  slice::pool_resource pool_resource (pool, 48);
  exercise_resource (&pool_resource);
  g_assert_cmpuint (slice_pool_n_live (pool), ==, 0);
  slice_pool_destroy (pool);

  SliceStack *stack = slice_stack_new (nullptr);
  slice::stack_resource stack_resource (stack);
  void *low = stack_resource.allocate (100, 8);
  void *top = stack_resource.allocate (100, 32);
  stack_resource.deallocate (top, 100, 32);
  stack_resource.deallocate (low, 100, 8);
  g_assert_true (slice_stack_is_empty (stack));
  slice_stack_destroy (stack);
}

#endif

} // namespace

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, nullptr);
  g_test_add_func ("/slice/hpp/allocator", test_allocator);
  g_test_add_func ("/slice/hpp/alignment", test_alignment);
  g_test_add_func ("/slice/hpp/bad-alloc", test_bad_alloc);
  g_test_add_func ("/slice/hpp/unique", test_unique);
  g_test_add_func ("/slice/hpp/class-operators", test_class_operators);
  g_test_add_func ("/slice/hpp/strategies", test_strategies);
#ifdef SLICE_HAS_PMR
  g_test_add_func ("/slice/hpp/resources", test_resources);
#endif
  return g_test_run ();
}
