/* test-containers.cc - every allocator of slice.hpp in every container
 *
 * What an allocator must give a container: memory that is aligned and nobody
 * else's, the same answer at both ends of a block's life, elements that end
 * without their memory, and a use after a move.  Needs neither GLib nor
 * C++17, so that it runs in any of the language's versions.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/cxx/containers.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace
{

/* --- containers ---------------------------------------------------------- */

/* What all containers do with copies and moves: `a` holds something. */
template <typename Container, typename Allocator>
void
trade (Container &a, const Allocator &allocator)
{
  const Container was (a);
  REQUIRE (was == a);
  Container b (std::move (a));
  REQUIRE (b == was);
  a = b; /* moved from, and used again */
  REQUIRE (a == was);
  Container c (allocator);
  c = std::move (a);
  REQUIRE (c == was);
  a = was;
  using std::swap;
  Container empty (c.get_allocator ());
  swap (c, empty);
  REQUIRE (empty == was && c.empty ());
  c = std::move (empty);
  empty = c;
  c.clear ();
  c = empty;
  c = *&c;
  REQUIRE (c == was && a == was && b == was);
  Container with (was, was.get_allocator ());
  Container moved (std::move (with), was.get_allocator ());
  REQUIRE (moved == was);
  REQUIRE (moved.get_allocator () == was.get_allocator ());
}

template <typename T, typename Sequence>
void
use_sequence (Sequence &sequence, int n)
{
  for (int i = 0; i < n; i++)
    sequence.push_back (T (i));
  sequence.pop_back ();
  sequence.emplace_back (n - 1);
  sequence.insert (sequence.begin (), T (-5));
  sequence.erase (sequence.begin ());
  sequence.resize (sequence.size () + 3);
  sequence.resize (sequence.size () - 3);
  int i = 0;
  for (const T &element : sequence)
    REQUIRE (element.checked () == i++);
  REQUIRE (i == n);
}

template <typename T, typename Allocator>
void
use_vector (const Allocator &allocator, int n)
{
  typedef For<Allocator, T> Own;
  const Own own (allocator);
  std::vector<T, Own> vector (own);
  use_sequence<T> (vector, n);
  vector.reserve (vector.size () * 3);
  vector.shrink_to_fit ();
  trade (vector, own);
  /* The one that was moved from goes on by itself. */
  std::vector<T, Own> other (own);
  other = std::move (vector);
  vector.clear ();
  vector.push_back (T (2));
  REQUIRE (vector.size () == 1 && other.size () == std::size_t (n));
}

template <typename T, typename Allocator>
void
use_lists (const Allocator &allocator, int n)
{
  typedef For<Allocator, T> Own;
  const Own own (allocator);
  std::deque<T, Own> deque (own);
  use_sequence<T> (deque, n);
  deque.push_front (T (9));
  deque.pop_front ();
  trade (deque, own);

  std::list<T, Own> list (own);
  use_sequence<T> (list, n);
  std::list<T, Own> more (list, own);
  more.splice (more.begin (), list);
  REQUIRE (list.empty () && more.size () == 2 * std::size_t (n));
  more.sort ();
  more.unique ();
  trade (more, own);

  std::forward_list<T, Own> forward (own);
  for (int i = 0; i < n; i++)
    forward.push_front (T (i));
  forward.pop_front ();
  forward.reverse ();
  trade (forward, own);
}

template <typename T, typename Allocator>
void
use_trees (const Allocator &allocator, int n)
{
  typedef For<Allocator, T> Own;
  std::set<T, std::less<T>, Own> set ((Own (allocator)));
  for (int i = 0; i < n; i++)
    set.insert (T (i * 7 % n));
  set.erase (set.begin ());
  trade (set, Own (allocator));

  typedef For<Allocator, std::pair<const T, int>> OwnPair;
  std::map<T, int, std::less<T>, OwnPair> map ((OwnPair (allocator)));
  for (int i = 0; i < n; i++)
    map[T (i)] = i;
  for (int i = 0; i < n; i += 2)
    map.erase (T (i));
  trade (map, OwnPair (allocator));
}

template <typename T, typename Allocator>
void
use_hashed (const Allocator &allocator, int n)
{
  typedef For<Allocator, T> Own;
  typedef std::unordered_set<T, Hash, std::equal_to<T>, Own> Set;
  Set set (1, Hash (), std::equal_to<T> (), Own (allocator));
  for (int i = 0; i < n; i++)
    set.insert (T (i));
  set.rehash (static_cast<std::size_t> (n) * 5);
  for (int i = 0; i < n; i += 3)
    set.erase (T (i));
  trade (set, Own (allocator));

  typedef For<Allocator, std::pair<const T, T>> OwnPair;
  typedef std::unordered_map<T, T, Hash, std::equal_to<T>, OwnPair> Map;
  Map map (1, Hash (), std::equal_to<T> (), OwnPair (allocator));
  for (int i = 0; i < n; i++)
    map.emplace (T (i), T (-i));
  for (int i = 0; i < n; i++)
    REQUIRE (map.find (T (i))->second.checked () == -i);
  map.erase (map.begin ());
  trade (map, OwnPair (allocator));
}

template <typename T, typename Allocator>
void
use_adaptors (const Allocator &allocator, int n)
{
  typedef For<Allocator, T> Own;
  const Own own (allocator);
  std::stack<T, std::deque<T, Own>> stack (own);
  std::queue<T, std::list<T, Own>> queue (own);
  std::priority_queue<T, std::vector<T, Own>> first (std::less<T> (), own);
  for (int i = 0; i < n; i++)
    {
      stack.push (T (i));
      queue.push (T (i));
      first.push (T (i * 5 % n));
    }
  for (int i = 0; i < n; i++)
    {
      REQUIRE (stack.top ().checked () == n - 1 - i);
      REQUIRE (queue.front ().checked () == i);
      REQUIRE (n % 5 == 0 || first.top ().checked () == n - 1 - i);
      stack.pop ();
      queue.pop ();
      first.pop ();
    }
}

template <typename Allocator>
void
use_strings (const Allocator &allocator, int n)
{
  typedef std::basic_string<char, std::char_traits<char>,
                            For<Allocator, char>>
      String;
  const For<Allocator, char> of_chars (allocator);
  String string (of_chars);
  for (int i = 0; i < 20 * n; i++)
    string.push_back (static_cast<char> ('a' + i % 26));
  string += string;
  string.erase (3, 10);
  trade (string, of_chars);
  /* Strings of one allocator inside a vector of the same. */
  typedef For<Allocator, String> OfStrings;
  std::vector<String, OfStrings> strings ((OfStrings (allocator)));
  for (int i = 0; i < n; i++)
    strings.emplace_back (String (static_cast<std::size_t> (i) * 9 + 1, 'x',
                                  of_chars));
  for (int i = 0; i < n; i++)
    REQUIRE (strings[static_cast<std::size_t> (i)].size ()
             == static_cast<std::size_t> (i) * 9 + 1);
  trade (strings, OfStrings (allocator));
}

template <typename T, typename Allocator>
void
use_shared (const Allocator &allocator, int n)
{
  typedef For<Allocator, T> Own;
  const Own own (allocator);
  std::vector<std::shared_ptr<T>> kept;
  std::weak_ptr<T> weak;
  for (int i = 0; i < n; i++)
    kept.push_back (std::allocate_shared<T> (own, i));
  for (std::size_t i = 0; i < kept.size (); i += 2)
    kept[i].reset ();
  weak = kept[1];
  kept.clear ();
  REQUIRE (weak.expired ());
  std::shared_ptr<T> last (std::allocate_shared<T> (own, 3));
  REQUIRE (last->checked () == 3);
}

/* --- the allocator by itself --------------------------------------------- */

unsigned seed;

unsigned
any (unsigned below)
{
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

/* Arrays of many lengths, freed in any order; whether one lies in another is
 * seen by what is written to them. */
template <typename T, typename Allocator>
void
use_raw (const Allocator &allocator, unsigned length, unsigned n_steps)
{
  typedef For<Allocator, T> Own;
  typedef std::allocator_traits<Own> Traits;
  struct Array
  {
    T *start;
    std::size_t n;
    unsigned char sign;
  };
  Own own (allocator);
  std::vector<Array> out;
  for (unsigned step = 0; step < 2 * n_steps || !out.empty (); step++)
    {
      if (step < n_steps && (out.size () < 3 || any (2) == 0))
        {
          Array array;
          array.n = any (4) == 0 ? 1 : any (length);
          array.sign = static_cast<unsigned char> (step);
          array.start = Traits::allocate (own, array.n);
          REQUIRE (array.start != nullptr);
          REQUIRE (reinterpret_cast<std::uintptr_t> (array.start) % alignof (T)
                   == 0);
          std::memset (static_cast<void *> (array.start), array.sign,
                       array.n * sizeof (T));
          out.push_back (array);
        }
      else if (!out.empty ())
        {
          std::size_t which = any (static_cast<unsigned> (out.size ()));
          Array array = out[which];
          out[which] = out.back ();
          out.pop_back ();
          const unsigned char *bytes
              = reinterpret_cast<unsigned char *> (array.start);
          for (std::size_t i = 0; i < array.n * sizeof (T); i++)
            REQUIRE (bytes[i] == array.sign);
          Own copy (own); /* an equal one may take it back */
          Traits::deallocate (copy, array.start, array.n);
        }
    }
}

/* An element ends, its memory does not. */
#ifdef SLICE_HAS_PMR
typedef std::pmr::polymorphic_allocator<int> Pmr;
#else
typedef void Pmr;
#endif

template <typename Allocator>
void
use_traits (const Allocator &allocator)
{
  typedef Element<16> T;
  typedef For<Allocator, T> Own;
  typedef std::allocator_traits<Own> Traits;
  Own own (allocator);
  T *objects = Traits::allocate (own, 4);
  for (int i = 0; i < 4; i++)
    Traits::construct (own, objects + i, i);
  for (int i = 4; i > 0; i--)
    Traits::destroy (own, objects + i - 1);
  T *others = Traits::allocate (own, 4);
  REQUIRE (others + 4 <= objects || objects + 4 <= others);
  Traits::deallocate (own, others, 4);
  Traits::deallocate (own, objects, 4);

  Own moved (std::move (own));
  REQUIRE (moved == own && !(moved != own));
  T *one = Traits::allocate (own, 1);
  Traits::deallocate (moved, one, 1);
  For<Allocator, char> rebound (moved);
  REQUIRE (Own (rebound) == own);
  /* (A copy of a std::pmr container is on the default resource.) */
  const Own selected
      = Traits::select_on_container_copy_construction (own);
  REQUIRE (std::is_same<For<Allocator, int>, Pmr>::value || selected == own);
  bool is_thrown = false;
  try
    {
      volatile std::size_t n = SIZE_MAX / sizeof (T) - 1;
      one = Traits::allocate (own, n);
    }
  catch (const std::bad_alloc &)
    {
      is_thrown = true;
    }
  REQUIRE (is_thrown);
}

template <typename T, typename Allocator>
void
use_elements (const Allocator &allocator, int n)
{
  use_vector<T> (allocator, n);
  use_lists<T> (allocator, n);
  use_trees<T> (allocator, n);
  use_hashed<T> (allocator, n);
  use_adaptors<T> (allocator, n);
  use_shared<T> (allocator, n);
}

template <typename Allocator>
void
use_all (const Allocator &allocator)
{
  use_traits (allocator);
  use_strings (allocator, 60);
  use_elements<Element<8>> (allocator, 101);
  use_vector<Element<128>> (allocator, 51);
  use_shared<Element<32>> (allocator, 51);
  use_vector<Element<8192>> (allocator, 4);
  use_raw<char> (allocator, 300, 300);
  use_raw<long double> (allocator, 10, 100);
  use_raw<Element<32>> (allocator, 10, 100);
  use_raw<Element<128>> (allocator, 70, 100);
  use_raw<Element<8192>> (allocator, 3, 8);
}

/* --- strategies ---------------------------------------------------------- */

/* One of the program's own: counts what is out. */
class Counting
{
public:
  Counting (std::size_t, std::size_t) : n_out (0)
  {
  }
  void *
  allocate (std::size_t bytes, std::size_t alignment)
  {
    n_out += static_cast<long> (bytes + alignment);
    return slice::detail::slice_get (bytes, alignment);
  }
  void
  deallocate (void *block, std::size_t bytes, std::size_t alignment) noexcept
  {
    if (block == nullptr)
      return; /* libc++ has moved the block to another container */
    n_out -= static_cast<long> (bytes + alignment);
    slice::detail::slice_put (block, bytes, alignment);
  }
  void reset (SliceKeep)
  {
  }
  long n_out;
};

bool
is_clean (const Counting &counting)
{
  return counting.n_out == 0;
}

/* Containers of two owners exchange what they hold, with their allocators. */
template <typename Container>
void
trade_owners (const Container &full, const Container &empty)
{
  typedef typename Container::allocator_type Allocator;
  const Allocator of_full = full.get_allocator ();
  const Allocator of_empty = empty.get_allocator ();
  REQUIRE (of_full != of_empty);
  Container a (full), b (empty);
  using std::swap;
  swap (a, b);
  REQUIRE (b == full && b.get_allocator () == of_full);
  REQUIRE (a == empty && a.get_allocator () == of_empty);
  a = b;
  REQUIRE (a == full && a.get_allocator () == of_full);
  b = Container (of_empty);
  REQUIRE (b.empty () && b.get_allocator () == of_empty);
  b = std::move (a);
  REQUIRE (b == full && b.get_allocator () == of_full);
  a = empty;
  a = full;
  Container in_other (full, of_empty);
  REQUIRE (in_other == full && in_other.get_allocator () == of_empty);
  Container moved_over (std::move (in_other), of_full);
  REQUIRE (moved_over == full && moved_over.get_allocator () == of_full);
}

template <typename Strategy>
void
use_owners (Strategy &one, Strategy &other)
{
  typedef Element<8> T;
  typedef slice::CustomAllocator<T, Strategy> Allocator;
  const Allocator first (one), second (other);
  std::vector<T, Allocator> vector (33, T (4), first);
  trade_owners (vector, std::vector<T, Allocator> (second));
  std::deque<T, Allocator> deque (33, T (4), first);
  trade_owners (deque, std::deque<T, Allocator> (second));
  std::list<T, Allocator> list (33, T (4), first);
  trade_owners (list, std::list<T, Allocator> (second));
  typedef std::set<T, std::less<T>, Allocator> Set;
  Set set (list.begin (), list.end (), std::less<T> (), first);
  trade_owners (set, Set (second));
  typedef std::unordered_set<T, Hash, std::equal_to<T>, Allocator> Hashed;
  Hashed hashed (list.begin (), list.end (), 1, Hash (), std::equal_to<T> (),
                 first);
  trade_owners (
      hashed, Hashed (1, Hash (), std::equal_to<T> (), second));
}

template <typename Strategy>
void
use_create (const slice::CustomAllocator<Element<32>, Strategy> &given)
{
  slice::CustomAllocator<Element<32>, Strategy> allocator (given);
  std::vector<Element<32> *> made;
  for (int i = 0; i < 40; i++)
    made.push_back (allocator.create (i));
  for (int i = 0; i < 40; i++)
    {
      std::size_t which = static_cast<std::size_t> (i) * 7 % 40;
      REQUIRE (made[which]->checked () == static_cast<int> (which));
      allocator.dispose (made[which]);
    }
  allocator.dispose (nullptr);
}

template <typename Strategy>
void
test_strategy (std::size_t bytes, std::size_t alignment)
{
  typedef slice::CustomAllocator<int, Strategy> Allocator;
  {
    Strategy owner (bytes, alignment), other (bytes, alignment);
    use_all (Allocator (owner));
    use_create<Strategy> (Allocator (owner));
    use_owners (owner, other);
    REQUIRE (n_alive == 0);
    REQUIRE (is_clean (owner) && is_clean (other));
    owner.reset (SLICE_KEEP_LARGEST);
    use_lists<Element<8>> (Allocator (owner), 20);
    REQUIRE (is_clean (owner));
  }
  std::shared_ptr<Strategy> shared
      = std::make_shared<Strategy> (bytes, alignment);
  {
    Allocator first (shared);
    use_vector<Element<8>> (first, 30);
    REQUIRE (shared.use_count () == 2);
  }
  REQUIRE (is_clean (*shared) && shared.use_count () == 1);
  use_elements<Element<8>> (Allocator (), 50);
  use_vector<Element<8192>> (
      slice::CustomAllocator<Element<8192>, Strategy> (), 3);
  REQUIRE (n_alive == 0);
}

void
test_slices ()
{
  use_all (slice::allocator<int> ());
}

void
test_linear ()
{
  test_strategy<slice::LinearPool> (1, 1);
}

void
test_stack ()
{
  test_strategy<slice::StackPool> (1, 1);
}

void
test_tlsf ()
{
  test_strategy<slice::TlsfPool> (1, 1);
}

void
test_own_strategy ()
{
  test_strategy<Counting> (1, 1);
}

/* Of sizes and alignments around what the containers ask for. */
void
test_pool ()
{
  test_strategy<slice::Pool> (sizeof (int), alignof (int));
  test_strategy<slice::Pool> (8, 8);
  test_strategy<slice::Pool> (48, 8);
  test_strategy<slice::Pool> (64, 64);
  test_strategy<slice::Pool> (200, 128);
  test_strategy<slice::Pool> (1000, 1);
  test_strategy<slice::Pool> (8192, 8192);
  test_strategy<slice::Pool> (3 << 20, 16);
}

/* What a container lets go out of order does not pile up. */
void
test_stack_memory ()
{
  typedef slice::CustomAllocator<int, slice::StackPool> Allocator;
  slice::StackPool pool;
  SliceArenaStats stats;
  for (int round = 0; round < 300; round++)
    {
      std::vector<int, Allocator> below ((Allocator (pool)));
      std::vector<int, Allocator> above ((Allocator (pool)));
      for (int i = 0; i < 1000; i++)
        {
          below.push_back (i);
          above.push_back (i);
        }
    }
  slice_stack_get_stats (pool.arena (), &stats);
  REQUIRE (slice_stack_is_empty (pool.arena ()));
  REQUIRE (stats.held_bytes < 200000);
  /* Its owner may empty the arena, too. */
  pool.allocate (100, 8);
  void *dead = pool.allocate (100, 8);
  void *top = pool.allocate (100, 8);
  pool.deallocate (dead, 100, 8);
  static_cast<void> (top);
  slice_stack_reset (pool.arena (), SLICE_KEEP_NONE);
  pool.deallocate (pool.allocate (100, 256), 100, 256);
  REQUIRE (slice_stack_is_empty (pool.arena ()));
}

/* The last object's memory comes back, a large one's too. */
void
use_linear_last (SliceLinear *arena,
                 const std::function<void *(std::size_t, std::size_t)> &get,
                 const std::function<void (void *, std::size_t,
                                           std::size_t)> &put)
{
  static const std::size_t sizes[] = { 0, 1, 100, 5000, 1000000 };
  static const std::size_t alignments[] = { 1, 16, 64, 4096, 8192 };
  SliceArenaStats before, after;
  void *kept = get (40, 8);
  for (std::size_t size : sizes)
    for (std::size_t alignment : alignments)
      {
        put (get (size, alignment), size, alignment);
        slice_linear_get_stats (arena, &before);
        for (int i = 0; i < 50; i++)
          {
            void *block = get (size, alignment);
            REQUIRE (reinterpret_cast<std::uintptr_t> (block) % alignment
                     == 0);
            std::memset (block, 1, size);
            put (block, size, alignment);
          }
        slice_linear_get_stats (arena, &after);
        REQUIRE (after.held_bytes == before.held_bytes);
        REQUIRE (after.used_bytes == before.used_bytes);
      }
  /* What isn't the last stays. */
  void *block = get (64, 8);
  void *last = get (64, 8);
  put (block, 64, 8);
  REQUIRE (get (64, 8) != block);
  static_cast<void> (last);
  static_cast<void> (kept);
  /* An object that grows is not in the way. */
  block = get (64, 8);
  slice_linear_grow (arena, 3, "abc");
  put (block, 64, 8);
  REQUIRE (std::memcmp (slice_linear_finish (arena, nullptr), "abc", 3) == 0);
}

void
test_linear_last ()
{
  slice::LinearPool pool;
  use_linear_last (
      pool.arena (),
      [&] (std::size_t n, std::size_t a) { return pool.allocate (n, a); },
      [&] (void *block, std::size_t n, std::size_t a) {
        pool.deallocate (block, n, a);
      });
#ifdef SLICE_HAS_PMR
  SliceLinear *arena = slice_linear_new (nullptr);
  slice::linear_resource resource (arena);
  use_linear_last (
      arena,
      [&] (std::size_t n, std::size_t a) { return resource.allocate (n, a); },
      [&] (void *block, std::size_t n, std::size_t a) {
        resource.deallocate (block, n, a);
      });
  slice_linear_destroy (arena);
#endif
}

/* --- resources ----------------------------------------------------------- */

#ifdef SLICE_HAS_PMR

void
test_resources ()
{
  use_all (Pmr (slice::default_resource ()));

  SliceLinear *linear = slice_linear_new (nullptr);
  slice::linear_resource linear_resource (linear);
  use_all (Pmr (&linear_resource));
  slice_linear_destroy (linear);

  SliceStack *stack = slice_stack_new (nullptr);
  slice::stack_resource stack_resource (stack);
  use_all (Pmr (&stack_resource));
  REQUIRE (slice_stack_is_empty (stack));
  slice_stack_destroy (stack);

  SliceTlsf *tlsf = slice_tlsf_new (nullptr);
  slice::tlsf_resource tlsf_resource (tlsf);
  use_all (Pmr (&tlsf_resource));
  slice_tlsf_destroy (tlsf);

  static const std::size_t sizes[] = { 1, 8, 24, 48, 64, 100, 1000 };
  for (std::size_t size : sizes)
    for (std::size_t alignment : { 0, 8, 16, 64 })
      {
        SlicePoolOptions options = SlicePoolOptions ();
        options.object_bytes = size;
        options.alignment = alignment;
        SlicePool *pool = slice_pool_new (&options);
        slice::pool_resource pool_resource (pool, size);
        use_all (Pmr (&pool_resource));
        REQUIRE (slice_pool_n_live (pool) == 0);
        slice_pool_destroy (pool);
      }
}

void
test_resources_equal ()
{
  SlicePool *pool = slice_pool_new_plain (48);
  SliceTlsf *tlsf = slice_tlsf_new (nullptr);
  SliceTlsf *tlsf_2 = slice_tlsf_new (nullptr);
  SliceStack *stack = slice_stack_new (nullptr);
  slice::memory_resource slices;
  slice::tlsf_resource heap (tlsf), heap_same (tlsf), heap_other (tlsf_2);
  slice::pool_resource of_slices (pool, 48), of_slices_2 (pool, 48),
      of_less (pool, 40), of_heap (pool, 48, &heap),
      of_heap_2 (pool, 48, &heap_same);
  slice::stack_resource order (stack), order_2 (stack);
  REQUIRE (slices == *slice::default_resource ());
  REQUIRE (!(slices == heap) && !(heap == slices));
  REQUIRE (heap == heap_same && !(heap == heap_other));
  REQUIRE (of_slices == of_slices_2 && of_heap == of_heap_2);
  /* What one hands out, the other can't take. */
  REQUIRE (!(of_slices == of_heap) && !(of_slices == of_less));
  REQUIRE (order == order && !(order == order_2));
  REQUIRE (!(slices == *std::pmr::new_delete_resource ()));
  REQUIRE (!(of_slices == *std::pmr::null_memory_resource ()));
  slice_stack_destroy (stack);
  slice_tlsf_destroy (tlsf_2);
  slice_tlsf_destroy (tlsf);
  slice_pool_destroy (pool);
}

#endif

const Test tests[] = {
  { "slices", test_slices },
  { "linear", test_linear },
  { "stack", test_stack },
  { "pool", test_pool },
  { "tlsf", test_tlsf },
  { "own-strategy", test_own_strategy },
  { "stack-memory", test_stack_memory },
  { "linear-last", test_linear_last },
#ifdef SLICE_HAS_PMR
  { "resources", test_resources },
  { "resources-equal", test_resources_equal },
#endif
};

} // namespace

int
main ()
{
  return run_tests (tests, sizeof tests / sizeof *tests, [] { seed = 1; });
}
