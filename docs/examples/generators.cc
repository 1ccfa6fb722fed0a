// generators.cc - coroutines whose frames lie in an arena
//
// A coroutine's promise takes the arena from the coroutine's arguments: its
// operator new gets these, too.  The frames end with the arena, or with what is
// rolled back; delete has nothing to do.
//
// C++20.
//
// SPDX-License-Identifier: MIT
#include <coroutine>
#include <cstddef>
#include <exception>
#include <iostream>
#include <slice/slice.hpp>

/* The base of promises whose coroutine has an arena as its first argument.
 * Compilers do not pass the alignment of a frame: it is that of ::new. */
struct InArena
{
  template <typename... Arguments>
  static void *
  operator new (std::size_t size, SliceLinear *arena, Arguments &&...) noexcept
  {
    return slice_linear_alloc_aligned (
        arena, __STDCPP_DEFAULT_NEW_ALIGNMENT__, size);
  }
  static void
  operator delete (void *, std::size_t) noexcept
  {
  }
};

template <typename Value> class Generator
{
public:
  struct promise_type : InArena
  {
    Value value;

    Generator
    get_return_object ()
    {
      return Generator (Handle::from_promise (*this));
    }
    static Generator
    get_return_object_on_allocation_failure ()
    {
      return Generator (nullptr);
    }
    std::suspend_always initial_suspend () noexcept { return {}; }
    std::suspend_always final_suspend () noexcept { return {}; }
    std::suspend_always
    yield_value (Value next)
    {
      value = next;
      return {};
    }
    void return_void () {}
    void unhandled_exception () { std::terminate (); }
  };

  Generator (Generator &&other) : handle_ (other.handle_)
  {
    other.handle_ = nullptr;
  }
  ~Generator ()
  {
    if (handle_)
      handle_.destroy ();
  }
  /* False at the end, or if there was no memory for the frame. */
  bool
  next (Value &value)
  {
    if (!handle_ || handle_.done ())
      return false;
    handle_.resume ();
    value = handle_.promise ().value;
    return !handle_.done ();
  }

private:
  using Handle = std::coroutine_handle<promise_type>;
  explicit Generator (Handle handle) : handle_ (handle) {}
  Handle handle_;
};

static Generator<int>
count (SliceLinear *, int from, int to)
{
  for (int i = from; i < to; i++)
    co_yield i;
}

static Generator<int>
squares (SliceLinear *arena, int n)
{
  Generator<int> numbers = count (arena, 1, n + 1);
  for (int number; numbers.next (number);)
    co_yield number * number;
}

int
main ()
{
  SliceLinear *arena = slice_linear_new (nullptr);
  SliceArenaStats stats;
  long sum = 0;

  for (int request = 0; request < 1000; request++)
    {
      SliceMark mark = slice_linear_mark (arena);
      {
        Generator<int> all = squares (arena, 10);
        for (int square; all.next (square);)
          sum += square;
      }
      slice_linear_rollback (arena, mark);
    }
  slice_linear_get_stats (arena, &stats);
  std::cout << "sum " << sum << ", " << stats.used_bytes
            << " bytes of frames are left, requests for blocks: "
            << (stats.n_requests < 4 ? "few" : "many") << "\n";
  slice_linear_destroy (arena);
}
