/* containers.h - what the tests of the allocators in containers share
 *
 * It needs neither GLib nor C++17, so that they run in any of the language's
 * versions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTAINERS_H
#define CONTAINERS_H

#include <slice/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace
{

const char *now;

void
require (bool holds, int line, const char *what)
{
  if (holds)
    return;
  std::printf ("not ok - %s: line %d: %s\n", now, line, what);
  std::fflush (stdout);
  std::_Exit (1);
}

#define REQUIRE(...) require ((__VA_ARGS__), __LINE__, #__VA_ARGS__)

/* --- elements ------------------------------------------------------------ */

long n_alive;

/* Knows where it lives, so that it is seen if another one was put there. */
template <std::size_t Alignment> struct alignas (Alignment) Element
{
  Element (int v = 0) : value (v), self (this)
  {
    n_alive++;
    require (reinterpret_cast<std::uintptr_t> (this) % Alignment == 0,
             __LINE__, "an element is aligned");
  }
  Element (const Element &other) : Element (other.checked ())
  {
  }
  Element (Element &&other) : Element (other.checked ())
  {
    other.value = -1;
  }
  Element &
  operator= (const Element &other)
  {
    checked ();
    value = other.checked ();
    return *this;
  }
  Element &
  operator= (Element &&other)
  {
    checked ();
    value = other.checked ();
    return *this;
  }
  ~Element ()
  {
    checked ();
    self = nullptr;
    n_alive--;
  }

  int
  checked () const
  {
    require (self == this, __LINE__, "an element is where it was");
    return value;
  }

  bool
  operator< (const Element &other) const
  {
    return checked () < other.checked ();
  }
  bool
  operator== (const Element &other) const
  {
    return checked () == other.checked ();
  }

  int value;
  const Element *self;
};

struct Hash
{
  template <std::size_t Alignment>
  std::size_t
  operator() (const Element<Alignment> &element) const
  {
    return static_cast<std::size_t> (element.checked ()) * 7919;
  }
};

/* Allocator is of any type; For<T> is the same for T. */
template <typename Allocator, typename T>
using For =
    typename std::allocator_traits<Allocator>::template rebind_alloc<T>;

/* --- strategies ---------------------------------------------------------- */

/* Is all of it back? */
bool
is_clean (const slice::LinearPool &)
{
  return true;
}

bool
is_clean (const slice::StackPool &pool)
{
  return slice_stack_is_empty (pool.arena ());
}

bool
is_clean (const slice::Pool &pool)
{
  return slice_pool_n_live (pool.arena ()) == 0;
}

bool
is_clean (const slice::TlsfPool &pool)
{
  SliceTlsfStats stats;
  slice_tlsf_get_stats (pool.arena (), &stats);
  return stats.n_live == 0;
}

/* --- tests --------------------------------------------------------------- */

struct Test
{
  const char *name;
  void (*run) ();
};

/* Runs the tests, each after `begin`. */
template <typename Begin>
int
run_tests (const Test *tests, std::size_t n, Begin begin)
{
  std::printf ("1..%d\n", static_cast<int> (n));
  for (std::size_t i = 0; i < n; i++)
    {
      now = tests[i].name;
      begin ();
      tests[i].run ();
      REQUIRE (n_alive == 0);
      std::printf ("ok %d %s\n", static_cast<int> (i + 1), now);
      std::fflush (stdout);
    }
  return 0;
}

} // namespace

#endif
