/* test-allocators.cc - what the language asks of an allocator, beyond memory
 *
 * Which container takes its allocator along (propagation), elements that use
 * the allocator of their container, nodes that go from one container to
 * another, a constructor or an allocation that fails in the middle of an
 * operation, shared pointers whose block outlives the object, resources below
 * those of the standard library.  Needs neither GLib nor C++17.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/cxx/containers.h"

#include <cstring>
#include <deque>
#include <forward_list>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <scoped_allocator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L && defined __has_include
# if __has_include(<version>)
#  include <version>
# endif
#endif

namespace
{

typedef Element<8> T;

template <typename Allocator>
using StringOf = std::basic_string<char, std::char_traits<char>,
                                   For<Allocator, char>>;
template <typename Allocator, typename U>
using VectorOf = std::vector<U, For<Allocator, U>>;
template <typename Allocator, typename Key, typename Value>
using MapOf = std::map<Key, Value, std::less<Key>,
                       For<Allocator, std::pair<const Key, Value>>>;
template <typename Allocator, typename Key>
using HashedOf = std::unordered_multiset<Key, Hash, std::equal_to<Key>,
                                         For<Allocator, Key>>;

const char long_text[] = "a text that is too long to be in the string itself";

/* --- types --------------------------------------------------------------- */

typedef slice::allocator<int> Slices;
typedef slice::CustomAllocator<int, slice::TlsfPool> Custom;
typedef std::allocator_traits<Slices> SlicesTraits;
typedef std::allocator_traits<Custom> CustomTraits;

static_assert (SlicesTraits::is_always_equal::value
                   && SlicesTraits::propagate_on_container_move_assignment::
                       value,
               "containers of slices move by their pointers");
static_assert (!CustomTraits::is_always_equal::value
                   && CustomTraits::propagate_on_container_move_assignment::
                       value
                   && CustomTraits::propagate_on_container_copy_assignment::
                       value
                   && CustomTraits::propagate_on_container_swap::value,
               "containers take an owner along");
static_assert (std::is_same<SlicesTraits::rebind_alloc<char>,
                            slice::allocator<char>>::value
                   && std::is_same<SlicesTraits::pointer, int *>::value
                   && std::is_same<CustomTraits::size_type,
                                   std::size_t>::value,
               "the rest is what the language has");
static_assert (std::is_empty<Slices>::value
                   && std::is_nothrow_copy_constructible<Slices>::value
                   && std::is_nothrow_copy_constructible<Custom>::value
                   && std::is_nothrow_copy_assignable<Custom>::value
                   && std::is_nothrow_move_constructible<Custom>::value,
               "a copy of an allocator can't fail");
static_assert (sizeof (std::vector<int, Slices>) == sizeof (std::vector<int>)
                   && sizeof (std::list<int, Slices>)
                          == sizeof (std::list<int>),
               "it takes no space");
static_assert (std::is_nothrow_move_constructible<
                   std::vector<int, Slices>>::value
                   && std::is_nothrow_move_constructible<
                       std::vector<int, Custom>>::value,
               "a move can't fail");
#if __cplusplus >= 201703L
static_assert (std::is_nothrow_move_assignable<
                   std::vector<int, Slices>>::value
                   && std::is_nothrow_move_assignable<
                       std::basic_string<char, std::char_traits<char>,
                                         slice::allocator<char>>>::value
                   && std::is_nothrow_swappable<
                       std::vector<int, Custom>>::value,
               "nor an assignment");
#endif

/* --- elements with an allocator ------------------------------------------ */

/* The elements of a container have its allocator, at every depth. */
template <typename Allocator>
void
use_scoped (const Allocator &allocator)
{
  typedef StringOf<Allocator> String;
  typedef std::scoped_allocator_adaptor<For<Allocator, String>> Scoped;
  typedef std::vector<String, Scoped> Strings;
  typedef std::scoped_allocator_adaptor<For<Allocator, Strings>> Outer;
  typedef std::pair<const int, Strings> Pair;
  typedef std::scoped_allocator_adaptor<For<Allocator, Pair>> PairScoped;

  Strings strings ((Scoped (For<Allocator, String> (allocator))));
  strings.emplace_back (long_text);
  strings.push_back (String ("x", For<Allocator, char> (allocator)));
  strings.resize (5);
  for (const String &string : strings)
    REQUIRE (string.get_allocator () == For<Allocator, char> (allocator));
  REQUIRE (strings[0] == long_text);

  const For<Allocator, Strings> of_strings (allocator);
  std::list<Strings, Outer> list ((Outer (of_strings)));
  list.emplace_back ();
  list.back ().emplace_back (30, 'y');
  REQUIRE (list.back ().back ().get_allocator ()
           == For<Allocator, char> (allocator));

  std::map<int, Strings, std::less<int>, PairScoped> map (
      (PairScoped (For<Allocator, Pair> (allocator))));
  map[3].emplace_back (long_text);
  map.emplace (std::piecewise_construct, std::forward_as_tuple (4),
               std::forward_as_tuple (2, long_text));
  REQUIRE (map[3][0].get_allocator () == For<Allocator, char> (allocator));
  REQUIRE (map[4].size () == 2);
  REQUIRE (map[4].get_allocator ().outer_allocator ()
           == (For<Allocator, String> (allocator)));
}

/* What takes an allocator by itself. */
template <typename Allocator>
void
use_tags (const Allocator &allocator)
{
  typedef StringOf<Allocator> String;
  const For<Allocator, char> of_chars (allocator);
  typedef std::tuple<int, String> Tuple;
  static_assert (std::uses_allocator<String, For<Allocator, char>>::value,
                 "a string takes an allocator");
  Tuple tuple (std::allocator_arg, of_chars, 3, long_text);
  REQUIRE (std::get<1> (tuple).get_allocator () == of_chars);
  REQUIRE (std::get<1> (tuple) == long_text);

  std::promise<int> promise (std::allocator_arg, allocator);
  std::future<int> future = promise.get_future ();
  promise.set_value (5);
  REQUIRE (future.get () == 5);

  typedef std::basic_stringbuf<char, std::char_traits<char>,
                               For<Allocator, char>>
      Buffer;
  Buffer buffer (String (long_text, of_chars));
  std::ostream stream (&buffer);
  stream.seekp (0, std::ios::end);
  stream << long_text;
  REQUIRE (buffer.str ().size () == 2 * (sizeof long_text - 1));
#ifdef __cpp_lib_make_obj_using_allocator
  String made = std::make_obj_using_allocator<String> (of_chars, long_text);
  REQUIRE (made.get_allocator () == of_chars);
#endif
}

/* --- shared pointers ------------------------------------------------------ */

struct Parts : std::enable_shared_from_this<Parts>
{
  explicit Parts (int first) : one (first), other (first + 1)
  {
  }
  T one, other;
};

/* The block of an object lives as long as its last observer. */
template <typename Allocator>
void
use_shared (const Allocator &allocator)
{
  std::weak_ptr<Parts> observer;
  std::shared_ptr<T> part;
  {
    std::shared_ptr<Parts> parts
        = std::allocate_shared<Parts> (allocator, 3);
    observer = parts->shared_from_this ();
    part = std::shared_ptr<T> (parts, &parts->other);
    REQUIRE (parts.use_count () == 2);
  }
  REQUIRE (part->checked () == 4 && !observer.expired ());
  part.reset ();
  REQUIRE (observer.expired () && n_alive == 0);

  /* The allocator has the counts alone. */
  bool is_deleted = false;
  {
    T object (7);
    std::shared_ptr<T> pointer (
        &object, [&] (T *) { is_deleted = true; }, allocator);
    std::shared_ptr<T> copy (pointer);
  }
  REQUIRE (is_deleted);
  {
    std::shared_ptr<const T> constant
        = std::allocate_shared<T> (allocator, 5);
    REQUIRE (constant->checked () == 5);
  }
#if defined __cpp_lib_shared_ptr_arrays && __cpp_lib_shared_ptr_arrays > 201706L
  std::shared_ptr<T[]> array = std::allocate_shared<T[]> (allocator, 20);
  std::shared_ptr<T[]> filled
      = std::allocate_shared<T[]> (allocator, 9, T (4));
  std::shared_ptr<T[3]> three = std::allocate_shared<T[3]> (allocator);
  REQUIRE (n_alive == 32 && filled[8].checked () == 4);
  typedef Element<64> Wide;
  std::shared_ptr<Wide[]> wide
      = std::allocate_shared<Wide[]> (allocator, 5);
  REQUIRE (wide[4].checked () == 0);
#endif
}

/* --- nodes ---------------------------------------------------------------- */

template <typename Allocator>
void
use_nodes (const Allocator &allocator)
{
#ifdef __cpp_lib_node_extract
  typedef MapOf<Allocator, int, T> Map;
  const typename Map::allocator_type of_pairs (allocator);
  Map one (of_pairs), other (of_pairs);
  for (int i = 0; i < 20; i++)
    one.emplace (i, i);
  auto node = one.extract (7);
  REQUIRE (node.get_allocator () == of_pairs);
  const T *place = &node.mapped ();
  node.key () = 70;
  other.insert (std::move (node));
  REQUIRE (&other.at (70) == place && node.empty ());
  other.emplace (3, 300);
  other.merge (one);
  REQUIRE (other.size () == 20 && one.size () == 1);
  /* A handle outlives its container. */
  const auto take = [&] {
    Map brief (of_pairs);
    brief.emplace (1, 1);
    return brief.extract (1);
  };
  const auto last = take ();
  REQUIRE (last.mapped ().checked () == 1);

  typedef HashedOf<Allocator, T> Hashed;
  const typename Hashed::allocator_type of_elements (allocator);
  Hashed set (3, Hash (), std::equal_to<T> (), of_elements);
  Hashed more (set, of_elements);
  for (int i = 0; i < 30; i++)
    set.insert (T (i % 10));
  more.insert (set.extract (set.begin ()));
  more.merge (set);
  REQUIRE (set.empty () && more.size () == 30 && more.count (T (4)) == 3);
#else
  static_cast<void> (allocator);
#endif
}

/* --- further containers -------------------------------------------------- */

template <typename Allocator>
void
use_deque (const Allocator &allocator)
{
  const For<Allocator, T> own (allocator);
  std::deque<T, For<Allocator, T>> deque (own);
  /* A window that moves through memory, and ends that grow. */
  for (int i = 0; i < 3000; i++)
    {
      deque.push_back (T (i));
      if (i % 3 != 0)
        deque.pop_front ();
    }
  for (int i = 0; i < 1000; i++)
    deque.push_front (T (-i));
  REQUIRE (deque.size () == 2000 && deque.back ().checked () == 2999);
  deque.insert (deque.begin () + 500, 100, T (77));
  const std::deque<T, For<Allocator, T>> copy (deque, own);
  deque.insert (deque.end () - 500, copy.begin (), copy.begin () + 50);
  deque.erase (deque.begin () + 10, deque.begin () + 400);
  deque.resize (100, T (5));
  deque.shrink_to_fit ();
  deque.assign (700, T (6));
  for (const T &element : deque)
    REQUIRE (element.checked () == 6);
}

template <typename Allocator>
void
use_others (const Allocator &allocator)
{
  VectorOf<Allocator, bool> bits ((For<Allocator, bool> (allocator)));
  for (int i = 0; i < 1000; i++)
    bits.push_back (i % 3 == 0);
  bits.insert (bits.begin () + 5, true);
  bits.erase (bits.begin () + 5);
  VectorOf<Allocator, bool> copy (bits);
  bits.clear ();
  bits.shrink_to_fit ();
  REQUIRE (copy.size () == 1000 && copy[999] && !copy[998]);

  std::basic_string<char32_t, std::char_traits<char32_t>,
                    For<Allocator, char32_t>>
      wide (40, U'w', For<Allocator, char32_t> (allocator));
  wide.insert (3, wide);
  wide.reserve (1000);
  wide.shrink_to_fit ();
  REQUIRE (wide.size () == 80);

  HashedOf<Allocator, T> hashed (1, Hash (), std::equal_to<T> (),
                                 For<Allocator, T> (allocator));
  for (int i = 0; i < 300; i++)
    hashed.insert (T (i % 60));
  hashed.reserve (5000);
  hashed.erase (T (3));
  hashed.rehash (0);
  REQUIRE (hashed.size () == 295 && hashed.count (T (4)) == 5);

  const For<Allocator, T> own (allocator);
  std::forward_list<T, For<Allocator, T>> one (own);
  one.assign ({ 3, 1, 2 });
  std::forward_list<T, For<Allocator, T>> two (one, own);
  one.sort ();
  two.sort ();
  one.merge (two);
  one.splice_after (one.before_begin (), one, one.begin ());
  REQUIRE (two.empty ());
}

template <typename Allocator>
void
use_sizes (const Allocator &allocator)
{
  typedef For<Allocator, T> Own;
  typedef std::allocator_traits<Own> Traits;
  Own own (allocator);
  REQUIRE (Traits::max_size (own) > 1000);
  T *none = Traits::allocate (own, 0);
  Traits::deallocate (own, none, 0);
#ifdef __cpp_lib_allocate_at_least
  auto result = Traits::allocate_at_least (own, 5);
  REQUIRE (result.count >= 5);
  Traits::deallocate (own, result.ptr, result.count);
#endif
}

/* --- failures ------------------------------------------------------------- */

int n_until_throw; /* copies of a Thrower; negative: all succeed */

struct Thrower : T
{
  Thrower (int v = 0) : T (v)
  {
  }
  Thrower (const Thrower &other) : T (other)
  {
    if (n_until_throw >= 0 && n_until_throw-- == 0)
      throw std::runtime_error ("a copy fails");
  }
  Thrower &operator= (const Thrower &) = default;
};

/* Repeats an operation on a copy of a container until nothing fails in it. */
template <typename Container, typename Operation>
void
fail_each (const Container &container, Operation operate)
{
  bool fails = true;
  for (int n = 0; fails; n++)
    {
      Container copy (container, container.get_allocator ());
      REQUIRE (n < 1000);
      n_until_throw = n;
      try
        {
          operate (copy);
          fails = false;
        }
      catch (const std::runtime_error &)
        {
        }
      n_until_throw = -1;
      for (const Thrower &element : copy)
        element.checked ();
      copy.clear ();
    }
}

template <typename Container>
void
fail_sequence (Container container)
{
  for (int i = 0; i < 17; i++)
    container.push_back (Thrower (i));
  fail_each (container, [&] (Container &copy) {
    const std::size_t size = copy.size ();
    try
      {
        copy.push_back (copy.front ());
      }
    catch (const std::runtime_error &)
      {
        REQUIRE (copy.size () == size); /* as if nothing had been */
        throw;
      }
  });
  fail_each (container,
             [] (Container &copy) { copy.resize (40, Thrower (3)); });
  fail_each (container, [&] (Container &copy) {
    copy.insert (copy.begin (), container.begin (), container.end ());
  });
  fail_each (container, [&] (Container &copy) { copy = container; });
  fail_each (container,
             [&] (Container &copy) { copy.assign (50, Thrower (9)); });
}

struct Less
{
  bool
  operator() (const Thrower &a, const Thrower &b) const
  {
    return a.checked () < b.checked ();
  }
};

template <typename Allocator>
void
use_throwing (const Allocator &allocator)
{
  typedef For<Allocator, Thrower> Own;
  const Own own (allocator);
  n_until_throw = -1;
  fail_sequence (std::vector<Thrower, Own> (own));
  fail_sequence (std::deque<Thrower, Own> (own));
  fail_sequence (std::list<Thrower, Own> (own));
  typedef std::multiset<Thrower, Less, Own> Set;
  Set set (Less (), own);
  for (int i = 0; i < 20; i++)
    set.insert (Thrower (i * 7 % 11));
  fail_each (set, [&] (Set &copy) {
    copy.insert (set.begin (), set.end ());
    copy = set;
  });
  typedef std::unordered_multiset<Thrower, Hash, std::equal_to<T>, Own> Hashed;
  Hashed hashed (set.begin (), set.end (), 1, Hash (), std::equal_to<T> (),
                 own);
  fail_each (hashed, [&] (Hashed &copy) {
    copy.insert (hashed.begin (), hashed.end ());
    copy.rehash (500);
    copy = hashed;
  });
  n_until_throw = 0;
  const Thrower source (3);
  bool is_thrown = false;
  try
    {
      std::allocate_shared<Thrower> (own, source);
    }
  catch (const std::runtime_error &)
    {
      is_thrown = true;
    }
  REQUIRE (is_thrown && n_until_throw < 0);
}

/* Adds to a container until there is no more memory; it stays as it was, and
 * can be used again. */
template <typename Container, typename Add>
void
fill_up (Container &container, Add add)
{
  const int n_max = 1000000;
  int n = 0;
  try
    {
      for (; n < n_max; n++)
        add (container, n);
    }
  catch (const std::bad_alloc &)
    {
    }
  REQUIRE (n > 10 && n < n_max);
  REQUIRE (container.size () == static_cast<std::size_t> (n));
  container.erase (container.begin ());
  REQUIRE (container.size () == static_cast<std::size_t> (n - 1));
}

template <typename Strategy>
void
test_limit ()
{
  typedef slice::CustomAllocator<int, Strategy> Allocator;
  SliceArenaOptions options = SliceArenaOptions ();
  options.limit_bytes = 200000;
  const auto push = [] (VectorOf<Allocator, T> &vector, int i) {
    vector.push_back (T (i));
  };
  {
    Strategy strategy (&options);
    const Allocator allocator (strategy);
    VectorOf<Allocator, T> vector ((For<Allocator, T> (allocator)));
    fill_up (vector, push);
  }
  {
    Strategy strategy (&options);
    const Allocator allocator (strategy);
    MapOf<Allocator, int, T> map (
        (For<Allocator, std::pair<const int, T>> (allocator)));
    fill_up (map, [] (MapOf<Allocator, int, T> &m, int i) {
      m.emplace (i, i);
    });
  }
  {
    Strategy strategy (&options);
    const Allocator allocator (strategy);
    std::deque<T, For<Allocator, T>> deque ((For<Allocator, T> (allocator)));
    fill_up (deque, [] (std::deque<T, For<Allocator, T>> &d, int i) {
      d.push_back (T (i));
    });
  }
  {
    Strategy strategy (&options);
    HashedOf<Allocator, T> hashed (
        1, Hash (), std::equal_to<T> (),
        For<Allocator, T> (Allocator (strategy)));
    fill_up (hashed, [] (HashedOf<Allocator, T> &h, int i) {
      h.insert (T (i));
    });
  }
  REQUIRE (n_alive == 0);
}

/* --- all ------------------------------------------------------------------ */

template <typename Allocator>
void
use_all (const Allocator &allocator)
{
  use_tags (allocator);
  use_shared (allocator);
  use_deque (allocator);
  use_others (allocator);
  use_sizes (allocator);
  use_throwing (allocator);
  REQUIRE (n_alive == 0);
}

template <typename Strategy>
void
test_strategy ()
{
  typedef slice::CustomAllocator<int, Strategy> Allocator;
  Strategy strategy (48, 16);
  use_scoped (Allocator (strategy));
  use_all (Allocator (strategy));
  use_nodes (Allocator (strategy));
  REQUIRE (is_clean (strategy));
  /* Each shares one of its own.  (No nodes: when one is inserted, libstdc++ may
   * not destroy the allocator of its handle, GCC's bug 114401.) */
  use_scoped (Allocator ());
  use_all (Allocator ());
}

void
test_slices ()
{
  use_scoped (Slices ());
  use_all (Slices ());
  use_nodes (Slices ());
}

/* --- resources ------------------------------------------------------------ */

#ifdef SLICE_HAS_PMR

/* A container keeps its resource, whatever it is assigned. */
template <typename Container>
void
keep_resource (std::pmr::memory_resource *one, std::pmr::memory_resource *other,
               const Container &elements)
{
  const Container full (elements, one);
  Container a (full, one), b (other);
  b = a;
  REQUIRE (b == full && b.get_allocator ().resource () == other);
  b = Container (one);
  REQUIRE (b.empty () && b.get_allocator ().resource () == other);
  b = std::move (a); /* element by element, if they are not equal */
  REQUIRE (b == full && b.get_allocator ().resource () == other);
  Container c (std::move (b), one);
  REQUIRE (c == full && c.get_allocator ().resource () == one);
  Container d (c);
  REQUIRE (d.get_allocator ().resource () == std::pmr::get_default_resource ());
  Container e (one);
  e.swap (c);
  REQUIRE (e == full && c.empty ());
}

void
keep_resources (std::pmr::memory_resource *one,
                std::pmr::memory_resource *other)
{
  const std::pmr::vector<T> vector (33, T (4));
  keep_resource (one, other, vector);
  keep_resource (one, other,
                 std::pmr::deque<T> (vector.begin (), vector.end ()));
  keep_resource (one, other,
                 std::pmr::list<T> (vector.begin (), vector.end ()));
  keep_resource (one, other,
                 std::pmr::multiset<T> (vector.begin (), vector.end ()));
  keep_resource (one, other, std::pmr::string (long_text));
  std::pmr::unordered_multiset<T, Hash> hashed (vector.begin (),
                                                vector.end ());
  keep_resource (one, other, hashed);
}

/* Resources of the standard library above one of ours. */
void
use_above (std::pmr::memory_resource *resource)
{
  std::pmr::monotonic_buffer_resource buffer (resource);
  std::pmr::unsynchronized_pool_resource pools (resource);
  std::pmr::synchronized_pool_resource shared (resource);
  for (std::pmr::memory_resource *above :
       { static_cast<std::pmr::memory_resource *> (&buffer),
         static_cast<std::pmr::memory_resource *> (&pools),
         static_cast<std::pmr::memory_resource *> (&shared) })
    {
      std::pmr::map<int, std::pmr::string> map (above);
      for (int i = 0; i < 500; i++)
        map[i % 300] = long_text;
      for (int i = 0; i < 300; i += 2)
        map.erase (i);
      REQUIRE (!above->is_equal (*resource) && !resource->is_equal (*above));
    }
}

/* Elements have the resource of their container. */
void
use_nested (std::pmr::memory_resource *resource)
{
  std::pmr::vector<std::pmr::map<int, std::pmr::string>> rows (resource);
  rows.resize (3);
  rows[1][5] = long_text;
  rows[2].emplace (6, long_text);
  REQUIRE (rows[1][5].get_allocator ().resource () == resource);
  REQUIRE (rows[2].at (6).get_allocator ().resource () == resource);
  std::pmr::polymorphic_allocator<std::pair<std::pmr::string, int>> pairs (
      resource);
  std::pair<std::pmr::string, int> *pair = pairs.allocate (1);
  pairs.construct (pair, long_text, 4);
  REQUIRE (pair->first.get_allocator ().resource () == resource);
  pair->~pair ();
  pairs.deallocate (pair, 1);
#ifdef __cpp_lib_polymorphic_allocator
  std::pmr::polymorphic_allocator<> bytes (resource);
  T *object = bytes.new_object<T> (7);
  REQUIRE (object->checked () == 7);
  bytes.delete_object (object);
  bytes.deallocate_bytes (bytes.allocate_bytes (100, 64), 100, 64);
#endif
}

void
use_resource (std::pmr::memory_resource *resource)
{
  typedef std::pmr::polymorphic_allocator<int> Pmr;
  use_all (Pmr (resource));
  use_nodes (Pmr (resource));
  use_above (resource);
  use_nested (resource);
  keep_resources (resource, std::pmr::new_delete_resource ());
  keep_resources (std::pmr::new_delete_resource (), resource);
  keep_resources (resource, slice::default_resource ());
}

void
test_resources ()
{
  SliceLinear *linear = slice_linear_new (nullptr);
  SliceStack *stack = slice_stack_new (nullptr);
  SliceTlsf *tlsf = slice_tlsf_new (nullptr);
  SlicePool *pool = slice_pool_new_plain (64);
  slice::linear_resource of_linear (linear), of_linear_2 (linear);
  slice::stack_resource of_stack (stack);
  slice::tlsf_resource of_tlsf (tlsf), of_tlsf_2 (tlsf);
  slice::pool_resource of_pool (pool, 64, &of_tlsf);
  use_resource (slice::default_resource ());
  use_resource (&of_linear);
  use_resource (&of_stack);
  use_resource (&of_tlsf);
  use_resource (&of_pool);
  keep_resources (&of_linear, &of_linear_2);
  keep_resources (&of_tlsf, &of_tlsf_2);
  REQUIRE (slice_stack_is_empty (stack) && slice_pool_n_live (pool) == 0);
  slice_pool_destroy (pool);
  slice_tlsf_destroy (tlsf);
  slice_stack_destroy (stack);
  slice_linear_destroy (linear);
}

/* For all of the program that names no resource. */
void
test_default ()
{
  std::pmr::memory_resource *before
      = std::pmr::set_default_resource (slice::default_resource ());
  {
    std::pmr::vector<std::pmr::string> strings;
    for (int i = 0; i < 100; i++)
      strings.emplace_back (long_text);
    REQUIRE (strings[5].get_allocator ().resource ()
             == slice::default_resource ());
  }
  std::pmr::set_default_resource (before);
}

#endif

const Test tests[] = {
  { "slices", test_slices },
  { "linear", test_strategy<slice::LinearPool> },
  { "stack", test_strategy<slice::StackPool> },
  { "pool", test_strategy<slice::Pool> },
  { "tlsf", test_strategy<slice::TlsfPool> },
  { "limit-linear", test_limit<slice::LinearPool> },
  { "limit-stack", test_limit<slice::StackPool> },
  { "limit-tlsf", test_limit<slice::TlsfPool> },
#ifdef SLICE_HAS_PMR
  { "resources", test_resources },
  { "default", test_default },
#endif
};

} // namespace

int
main ()
{
  return run_tests (tests, sizeof tests / sizeof *tests, [] {});
}
