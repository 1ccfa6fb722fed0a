/* slice.hpp - slices and arenas for C++
 *
 * Public, header only; C++11, and with C++17 resources for std::pmr.
 *
 *   slice::allocator<T>        standard allocator over slices
 *   slice::unique_ptr<T>       and slice::make_unique<T> (...)
 *   SLICE_CLASS_OPERATORS      operator new and delete of a class, sized
 *
 * and in its parts, which it includes:
 *
 *   slice-resource.hpp   slice::memory_resource, over slices, and over arenas
 *                        linear_resource, stack_resource, pool_resource,
 *                        tlsf_resource: std::pmr (C++17)
 *   slice-strategy.hpp   slice::LinearPool, StackPool, Pool: strategies, owners
 *                        of arenas; slice::CustomAllocator: objects of one type
 *                        by one strategy
 *   slice-llvm.hpp       slice::llvm_allocator: pages for LLVM's
 *                        BumpPtrAllocatorImpl
 *
 * Everything throws std::bad_alloc when there is no memory; where exceptions
 * are off the program ends by slice_alloc()'s way of ending it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_HPP
#define SLICE_SLICE_HPP

#include <slice/arena.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace slice
{

/** What all of this does when there is no memory. */
[[noreturn]] inline void
throw_bad_alloc ()
{
#if defined __cpp_exceptions || defined __EXCEPTIONS
  throw std::bad_alloc ();
#else
  std::abort ();
#endif
}

namespace detail
{

inline void *
checked (void *block)
{
  if (SLICE_UNLIKELY (block == nullptr))
    throw_bad_alloc ();
  return block;
}

/* n objects of `size`; a product that does not fit is no memory. */
inline std::size_t
array_bytes (std::size_t n, std::size_t size)
{
  if (SLICE_UNLIKELY (n > static_cast<std::size_t> (-1) / 2 / size))
    throw_bad_alloc ();
  return n * size;
}

inline void *
slice_get (std::size_t bytes, std::size_t alignment)
{
  bytes += bytes == 0;
  return checked (alignment <= 16
                      ? slice_try_alloc ((bytes + alignment - 1)
                                         & ~(alignment - 1))
                      : slice_try_alloc_aligned (alignment, bytes));
}

/* Of an arena: a size's own alignment is at least 8. */
inline void *
arena_get (SliceLinear *arena, std::size_t bytes, std::size_t alignment)
{
  return checked (alignment <= 8
                      ? slice_linear_alloc (arena, bytes)
                      : slice_linear_alloc_aligned (arena, alignment, bytes));
}

inline void *
arena_get (SliceStack *arena, std::size_t bytes, std::size_t alignment)
{
  return checked (alignment <= 8
                      ? slice_stack_alloc (arena, bytes)
                      : slice_stack_alloc_aligned (arena, alignment, bytes));
}

inline void
slice_put (void *block, std::size_t bytes, std::size_t alignment) noexcept
{
  bytes += bytes == 0;
  if (alignment <= 16)
    slice_free1 ((bytes + alignment - 1) & ~(alignment - 1), block);
  else
    slice_free_aligned (alignment, bytes, block);
}

} // namespace detail

/* --- slices -------------------------------------------------------------- */

/** A standard allocator over slices; all of them are equal.
 *
 * Errors: std::bad_alloc.
 * Threads: any; a block may be freed by another thread.
 * Cost: as slice_alloc() and slice_free1(), inline.
 */
template <typename T> struct allocator
{
  typedef T value_type;
  typedef std::true_type is_always_equal;
  typedef std::true_type propagate_on_container_move_assignment;

  allocator () noexcept = default;
  template <typename U> allocator (const allocator<U> &) noexcept
  {
  }

  T *
  allocate (std::size_t n)
  {
    return static_cast<T *> (detail::slice_get (
        detail::array_bytes (n, sizeof (T)), alignof (T)));
  }

  void
  deallocate (T *block, std::size_t n) noexcept
  {
    detail::slice_put (block, n * sizeof (T), alignof (T));
  }
};

template <typename T, typename U>
bool
operator== (const allocator<T> &, const allocator<U> &) noexcept
{
  return true;
}

template <typename T, typename U>
bool
operator!= (const allocator<T> &, const allocator<U> &) noexcept
{
  return false;
}

/** Destroys an object of make_unique() and frees its slice.  T must be the
 * type that it was made with, as the size is not kept. */
template <typename T> struct deleter
{
  void
  operator() (T *object) const noexcept
  {
    object->~T ();
    detail::slice_put (object, sizeof (T), alignof (T));
  }
};

/** A std::unique_ptr that frees a slice: the size of a pointer. */
template <typename T> using unique_ptr = std::unique_ptr<T, deleter<T>>;

/** Makes an object in a slice. */
template <typename T, typename... Arguments>
unique_ptr<T>
make_unique (Arguments &&...arguments)
{
  struct Guard
  {
    void *block;
    ~Guard ()
    {
      if (block != nullptr)
        detail::slice_put (block, sizeof (T), alignof (T));
    }
  } guard = { detail::slice_get (sizeof (T), alignof (T)) };
  T *object = ::new (guard.block) T (std::forward<Arguments> (arguments)...);
  guard.block = nullptr;
  return unique_ptr<T> (object);
}

/** Inside a class: its objects, and those of derived classes, are slices.
 * A class that is deleted through a base needs a virtual destructor there, so
 * that delete knows the size; arrays go the usual way. */
#define SLICE_CLASS_OPERATORS                                                 \
  static void *operator new (std::size_t size)                                \
  {                                                                           \
    return ::slice::detail::slice_get (size, 1);                              \
  }                                                                           \
  static void *operator new (std::size_t, void *place) noexcept               \
  {                                                                           \
    return place;                                                             \
  }                                                                           \
  static void operator delete (void *block, std::size_t size) noexcept        \
  {                                                                           \
    if (block != nullptr)                                                     \
      ::slice::detail::slice_put (block, size, 1);                            \
  }                                                                           \
  static void operator delete (void *, void *) noexcept                       \
  {                                                                           \
  }

} // namespace slice

#include <slice/slice-llvm.hpp>
#include <slice/slice-resource.hpp>
#include <slice/slice-strategy.hpp>

#endif
