/* slice-resource.hpp - resources for std::pmr
 *
 * Public; a part of slice.hpp, which is what to include.  Where there is no
 * std::pmr (before C++17) it is empty.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_RESOURCE_HPP
#define SLICE_SLICE_RESOURCE_HPP

#include <slice/slice.hpp>
#include <slice/arena.h>

#include <cstddef>

#if __cplusplus >= 201703L && defined __has_include
# if __has_include(<memory_resource>)
#  include <memory_resource>
#  define SLICE_HAS_PMR 1
# endif
#endif

#ifdef SLICE_HAS_PMR

namespace slice
{

/** Slices as a memory resource; all of them are equal. */
class memory_resource : public std::pmr::memory_resource
{
  void *
  do_allocate (std::size_t bytes, std::size_t alignment) override
  {
    return detail::slice_get (bytes, alignment);
  }

  void
  do_deallocate (void *block, std::size_t bytes,
                 std::size_t alignment) override
  {
    detail::slice_put (block, bytes, alignment);
  }

  bool
  do_is_equal (const std::pmr::memory_resource &other) const noexcept override
  {
    return dynamic_cast<const memory_resource *> (&other) != nullptr;
  }
};

/** The one that may be shared by all. */
inline memory_resource *
default_resource () noexcept
{
  static memory_resource resource;
  return &resource;
}

namespace detail
{

/* Equal is what stands on the same arena. */
template <typename Derived, typename Arena>
class arena_resource : public std::pmr::memory_resource
{
public:
  explicit arena_resource (Arena *arena) noexcept : arena_ (arena)
  {
  }

  Arena *
  arena () const noexcept
  {
    return arena_;
  }

private:
  bool
  do_is_equal (const std::pmr::memory_resource &other) const noexcept override
  {
    const Derived *same = dynamic_cast<const Derived *> (&other);
    return same != nullptr && same->arena () == arena_;
  }

  Arena *arena_;
};

/* One that only adds to a pointer. */
template <typename Derived, typename Arena>
class bump_resource : public arena_resource<Derived, Arena>
{
public:
  using arena_resource<Derived, Arena>::arena_resource;

private:
  void *
  do_allocate (std::size_t bytes, std::size_t alignment) override
  {
    return arena_get (this->arena (), bytes, alignment);
  }
};

} // namespace detail

/** A linear arena, which it does not own: the last object's memory comes back
 * when it is deallocated, all else at reset. */
class linear_resource final
    : public detail::bump_resource<linear_resource, SliceLinear>
{
public:
  using bump_resource::bump_resource;

private:
  void
  do_deallocate (void *, std::size_t, std::size_t) override
  {
  }
};

/** A stack arena, which it does not own: what is deallocated must be the top,
 * anything else is misuse (slice_stack_release()). */
class stack_resource final
    : public detail::bump_resource<stack_resource, SliceStack>
{
public:
  using bump_resource::bump_resource;

private:
  void
  do_deallocate (void *block, std::size_t, std::size_t) override
  {
    slice_stack_release (arena (), block);
  }
};

/** A TLSF heap, which it does not own. */
class tlsf_resource final
    : public detail::arena_resource<tlsf_resource, SliceTlsf>
{
public:
  using arena_resource::arena_resource;

private:
  void *
  do_allocate (std::size_t bytes, std::size_t alignment) override
  {
    return detail::checked (
        slice_tlsf_alloc_aligned (arena (), alignment, bytes));
  }

  void
  do_deallocate (void *block, std::size_t, std::size_t) override
  {
    slice_tlsf_free (arena (), block);
  }
};

/** A pool, which it does not own; what does not fit its objects goes to
 * another resource, slices if none is named. */
class pool_resource final
    : public detail::arena_resource<pool_resource, SlicePool>
{
public:
  pool_resource (SlicePool *pool, std::size_t object_bytes,
                 std::pmr::memory_resource *other = default_resource ())
      : arena_resource (pool), object_bytes_ (object_bytes), other_ (other)
  {
  }

private:
  /* A size's own alignment is all that a pool promises. */
  bool
  fits (std::size_t bytes, std::size_t alignment) const noexcept
  {
    std::size_t rounded = (object_bytes_ + 7) & ~std::size_t (7);
    return bytes <= object_bytes_ && alignment <= 16
           && rounded % alignment == 0;
  }

  void *
  do_allocate (std::size_t bytes, std::size_t alignment) override
  {
    return fits (bytes, alignment)
               ? detail::checked (slice_pool_alloc (arena ()))
               : other_->allocate (bytes, alignment);
  }

  void
  do_deallocate (void *block, std::size_t bytes,
                 std::size_t alignment) override
  {
    if (fits (bytes, alignment))
      slice_pool_free (arena (), block);
    else
      other_->deallocate (block, bytes, alignment);
  }

  std::size_t object_bytes_;
  std::pmr::memory_resource *other_;
};

} // namespace slice

#endif /* SLICE_HAS_PMR */

#endif
