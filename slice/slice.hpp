/* slice.hpp - slices and arenas for C++
 *
 * Public, header only; C++11, and with C++17 resources for std::pmr.
 *
 *   slice::allocator<T>        standard allocator over slices
 *
 * and in its parts, which it includes:
 *
 *   slice-unique.hpp     slice::unique_ptr<T>, slice::make_unique<T> (...);
 *                        slice::unique_ptr<T[]>, slice::make_unique<T[]> (n)
 *   slice-operators.hpp  SLICE_CLASS_OPERATORS: operator new and delete of a
 *                        class, sized;
 *                        SLICE_PROMISE_OPERATORS[_NOTHROW]: of a coroutine's
 *                        promise
 *   slice-resource.hpp   slice::memory_resource, over slices, and over arenas
 *                        linear_resource, stack_resource, pool_resource,
 *                        tlsf_resource: std::pmr (C++17)
 *   slice-strategy.hpp   slice::LinearPool, StackPool, Pool, TlsfPool:
 *                        strategies, owners of arenas;
 *                        slice::CustomAllocator: objects of one type by one
 *                        strategy
 *   slice-llvm.hpp       slice::llvm_allocator: pages for LLVM's
 *                        BumpPtrAllocatorImpl
 *   slice-detail.hpp     private functions of the others
 *
 * Any alignment is possible; one above 4096 costs that many bytes.
 *
 * Everything throws std::bad_alloc if there is no memory, or if an arena's
 * options are out of range.  Without exceptions (-fno-exceptions) the second
 * is error 340, and the first is handled as by slice_alloc(): it calls the
 * failure handler, and if that gives up the program ends with error 120, which
 * has the size.  RTTI is not needed.  Units with and without exceptions or
 * RTTI may be in one program.  A unit with exceptions and one without can't
 * pass types of slice:: to each other: that does not link.  For a unit with
 * RTTI and one without this holds of the resources alone; they can be passed as
 * std::pmr::memory_resource.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_HPP
#define SLICE_SLICE_HPP

#include <slice/slice-detail.hpp>

#include <cstddef>
#include <type_traits>

namespace slice
{

inline namespace SLICE_FAILURE_V1
{

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

} // inline namespace

} // namespace slice

#include <slice/slice-llvm.hpp>
#include <slice/slice-operators.hpp>
#include <slice/slice-resource.hpp>
#include <slice/slice-strategy.hpp>
#include <slice/slice-unique.hpp>

#endif
