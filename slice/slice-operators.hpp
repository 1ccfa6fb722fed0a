/* slice-operators.hpp - operator new and delete of a class
 *
 * Public; a part of slice.hpp: include that one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_OPERATORS_HPP
#define SLICE_SLICE_OPERATORS_HPP

#include <slice/slice-detail.hpp>

#include <cstddef>
#include <new>

namespace slice
{

inline namespace SLICE_FAILURE_V1
{

namespace detail
{

/* A coroutine passes its arguments to its promise's operator new.  A single
 * pointer looks like placement, and the frame would overwrite what the pointer
 * points to.  So placement needs this function, which the compiler finds only
 * if the class has none of its name, as a promise has. */
struct use_SLICE_PROMISE_OPERATORS
{
};
int get_return_object (use_SLICE_PROMISE_OPERATORS);

/* The alignment of a coroutine's frame.  Compilers do not pass it: clang
 * assumes that of ::operator new, even if the size is not a multiple of it. */
#ifdef __STDCPP_DEFAULT_NEW_ALIGNMENT__
constexpr std::size_t frame_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
#else
constexpr std::size_t frame_alignment = 16;
#endif

} // namespace detail

/* All or none of them are inlined.  If gcc inlined new and not delete, it
 * would warn that the two do not match. */
#define SLICE_OPERATOR_ SLICE_ATTR_ALWAYS_INLINE static

/** Inside a class: its objects, and those of derived classes, are slices.
 * A class that is deleted through a base needs a virtual destructor there, so
 * that delete knows the size.  Arrays are allocated as usual.
 * new (std::nothrow) returns nullptr if there is no memory.
 *
 * An alignas works if the language passes it to operator new: from C++17 on,
 * or with -faligned-new.  Before, a class that needs an alignment above 16 has
 * SLICE_CLASS_OPERATORS_ALIGNED (64).  With the language's alignas delete
 * looks the size up.
 *
 * A coroutine's promise, or a base of one, has SLICE_PROMISE_OPERATORS
 * instead, or SLICE_PROMISE_OPERATORS_NOTHROW. */
#define SLICE_CLASS_OPERATORS SLICE_CLASS_OPERATORS_ALIGNED (1)

/** The same for a class whose objects are aligned to `least` at least, a power
 * of two. */
#define SLICE_CLASS_OPERATORS_ALIGNED(least)                                  \
  SLICE_OPERATOR_ void *operator new (std::size_t size)                       \
  {                                                                           \
    return ::slice::detail::slice_get (size, (least));                        \
  }                                                                           \
  SLICE_OPERATOR_ void *operator new (std::size_t size,                       \
                                      const std::nothrow_t &) noexcept        \
  {                                                                           \
    return ::slice::detail::slice_try_get (size, (least));                    \
  }                                                                           \
  static void *operator new (std::size_t, void *place) noexcept               \
  {                                                                           \
    static_cast<void> (sizeof (get_return_object (                            \
        ::slice::detail::use_SLICE_PROMISE_OPERATORS ())));                   \
    return place;                                                             \
  }                                                                           \
  SLICE_OPERATOR_ void operator delete (void *block,                          \
                                        std::size_t size) noexcept            \
  {                                                                           \
    if (block != nullptr)                                                     \
      ::slice::detail::slice_put (block, size, (least));                      \
  }                                                                           \
  SLICE_OPERATOR_ void operator delete (void *block,                          \
                                        const std::nothrow_t &) noexcept      \
  {                                                                           \
    ::slice::detail::slice_put_unsized (block, (least));                      \
  }                                                                           \
  static void operator delete (void *, void *) noexcept                       \
  {                                                                           \
  }                                                                           \
  SLICE_CLASS_OPERATORS_OF_ALIGNAS_ (least)

/* Delete without a size: if a constructor throws the compiler calls only this
 * one, and if both are declared every delete calls it. */
#ifdef __cpp_aligned_new
# define SLICE_CLASS_OPERATORS_OF_ALIGNAS_(least)                             \
   SLICE_OPERATOR_ void *operator new (std::size_t size,                      \
                                       std::align_val_t alignment)            \
   {                                                                          \
     return ::slice::detail::slice_get (                                      \
         size, ::slice::detail::larger ((least), alignment));                 \
   }                                                                          \
   SLICE_OPERATOR_ void *operator new (std::size_t size,                      \
                                       std::align_val_t alignment,            \
                                       const std::nothrow_t &) noexcept       \
   {                                                                          \
     return ::slice::detail::slice_try_get (                                  \
         size, ::slice::detail::larger ((least), alignment));                 \
   }                                                                          \
   SLICE_OPERATOR_ void operator delete (void *block,                         \
                                         std::align_val_t alignment) noexcept \
   {                                                                          \
     ::slice::detail::slice_put_unsized (                                     \
         block, ::slice::detail::larger ((least), alignment));                \
   }                                                                          \
   SLICE_OPERATOR_ void operator delete (void *block,                         \
                                         std::align_val_t alignment,          \
                                         const std::nothrow_t &) noexcept     \
   {                                                                          \
     ::slice::detail::slice_put_unsized (                                     \
         block, ::slice::detail::larger ((least), alignment));                \
   }

namespace detail
{

inline std::size_t
larger (std::size_t least, std::align_val_t alignment) noexcept
{
  std::size_t asked = static_cast<std::size_t> (alignment);
  return asked > least ? asked : least;
}

} // namespace detail
#else
# define SLICE_CLASS_OPERATORS_OF_ALIGNAS_(least)
#endif

/** Inside a coroutine's promise: its frames are slices, whatever the
 * coroutine's arguments are.  They are aligned to 16 bytes. */
#define SLICE_PROMISE_OPERATORS                                               \
  SLICE_OPERATOR_ void *operator new (std::size_t size)                       \
  {                                                                           \
    return ::slice::detail::slice_get (size, ::slice::detail::frame_alignment);\
  }                                                                           \
  SLICE_PROMISE_DELETE_

/** The same for a promise with get_return_object_on_allocation_failure(),
 * which makes the coroutine's result if there is no memory for its frame. */
#define SLICE_PROMISE_OPERATORS_NOTHROW                                       \
  SLICE_OPERATOR_ void *operator new (std::size_t size) noexcept              \
  {                                                                           \
    return ::slice::detail::slice_try_get (size,                              \
                                           ::slice::detail::frame_alignment); \
  }                                                                           \
  SLICE_PROMISE_DELETE_

#define SLICE_PROMISE_DELETE_                                                 \
  SLICE_OPERATOR_ void operator delete (void *block,                          \
                                        std::size_t size) noexcept            \
  {                                                                           \
    ::slice::detail::slice_put (block, size,                                  \
                                ::slice::detail::frame_alignment);            \
  }

} // inline namespace

} // namespace slice

#endif
