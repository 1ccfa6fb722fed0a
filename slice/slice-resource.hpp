/* slice-resource.hpp - resources for std::pmr
 *
 * Public; a part of slice.hpp: include that one.  It is empty without
 * std::pmr (before C++17).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_RESOURCE_HPP
#define SLICE_SLICE_RESOURCE_HPP

#include <slice/slice.hpp>
#include <slice/arena.h>

#include <cstddef>
#include <cstring>
#include <new>

#if __cplusplus >= 201703L && defined __has_include
# if __has_include(<memory_resource>)
#  include <memory_resource>
#  define SLICE_HAS_PMR 1
# endif
#endif

#ifdef SLICE_HAS_PMR

/* These classes have no out-of-line function, so each unit has their virtual
 * tables. */
#ifdef __clang__
# pragma clang diagnostic push
# pragma clang diagnostic ignored "-Wweak-vtables"
#endif

namespace slice
{

inline namespace SLICE_FAILURE_V1
{

namespace detail
{

/* `other`, if it is a Type, as `same` is.  It is a Type if its virtual table,
 * to which the first word points, is that of `same`; a class derived from Type
 * has another one.  Units without RTTI share these classes, so dynamic_cast
 * can't be used. */
template <typename Type>
const Type *
resource_as (const std::pmr::memory_resource *other,
             const Type *same) noexcept
{
  const std::pmr::memory_resource *base = same;
  const void *functions, *others;
  std::memcpy (&functions, static_cast<const void *> (base),
               sizeof functions);
  std::memcpy (&others, static_cast<const void *> (other), sizeof others);
  return functions == others ? static_cast<const Type *> (other) : nullptr;
}

} // namespace detail

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
    return detail::resource_as (&other, this) != nullptr;
  }
};

/** A resource that all may share; it is never destroyed. */
inline memory_resource *
default_resource () noexcept
{
  alignas (memory_resource) static unsigned char
      place[sizeof (memory_resource)];
  static memory_resource *resource = ::new (place) memory_resource ();
  return resource;
}

namespace detail
{

/* A resource of an arena that it does not own.  Two are equal if they use the
 * same one. */
template <typename Derived, typename Arena>
class arena_resource : public std::pmr::memory_resource
{
public:
  explicit arena_resource (Arena *arena) noexcept : arena_ (arena)
  {
  }
  arena_resource (const arena_resource &) = default;
  arena_resource &operator= (const arena_resource &) = default;

  Arena *
  arena () const noexcept
  {
    return arena_;
  }

private:
  void *
  do_allocate (std::size_t bytes, std::size_t alignment) override
  {
    return arena_get (arena_, bytes, alignment);
  }

  bool
  do_is_equal (const std::pmr::memory_resource &other) const noexcept override
  {
    const Derived *self = static_cast<const Derived *> (this);
    const Derived *same = resource_as (&other, self);
    return same != nullptr && same->arena () == arena_;
  }

  Arena *arena_;
};

} // namespace detail

/** A linear arena, which it does not own.  Deallocating the last object frees
 * its memory; all other memory is freed at reset. */
class linear_resource final
    : public detail::arena_resource<linear_resource, SliceLinear>
{
public:
  using arena_resource::arena_resource;

private:
  void
  do_deallocate (void *block, std::size_t bytes,
                 std::size_t alignment) override
  {
    detail::linear_put (arena (), block, bytes, alignment);
  }
};

/** A stack arena, which it does not own.  An object that is deallocated out of
 * order waits for those above it: see StackPool.  The resource is equal to
 * itself only, as it knows the order of its own objects: anything else on the
 * arena must be released before the next object is deallocated.  Errors: as
 * StackPool. */
class stack_resource final : public std::pmr::memory_resource
{
public:
  explicit stack_resource (SliceStack *arena) noexcept
      : arena_ (arena), order_ ()
  {
  }
  stack_resource (const stack_resource &) = delete;
  stack_resource &operator= (const stack_resource &) = delete;

  SliceStack *
  arena () const noexcept
  {
    return arena_;
  }

private:
  void *
  do_allocate (std::size_t bytes, std::size_t alignment) override
  {
    return order_.get (arena_, bytes, alignment);
  }

  void
  do_deallocate (void *block, std::size_t, std::size_t) override
  {
    order_.put (arena_, block);
  }

  bool
  do_is_equal (const std::pmr::memory_resource &other) const noexcept override
  {
    return this == &other;
  }

  SliceStack *arena_;
  detail::stack_order order_;
};

/** A TLSF heap, which it does not own. */
class tlsf_resource final
    : public detail::arena_resource<tlsf_resource, SliceTlsf>
{
public:
  using arena_resource::arena_resource;

private:
  void
  do_deallocate (void *block, std::size_t, std::size_t) override
  {
    slice_tlsf_free (arena (), block);
  }
};

/** A pool, which it does not own.  A request that does not fit the pool's
 * objects is passed to another resource; the default is slices.  Two are equal
 * if they use the same pool and size, and equal other resources. */
class pool_resource final : public std::pmr::memory_resource
{
public:
  /** @param object_bytes  the pool's, or less */
  pool_resource (SlicePool *pool, std::size_t object_bytes,
                 std::pmr::memory_resource *other = default_resource ())
      : pool_ (pool), object_bytes_ (object_bytes),
        chunk_bytes_ (slice_pool_chunk_bytes (pool)), other_ (other)
  {
  }
  pool_resource (const pool_resource &) = default;
  pool_resource &operator= (const pool_resource &) = default;

  SlicePool *
  arena () const noexcept
  {
    return pool_;
  }

private:
  /* A pool promises only the natural alignment of its size, and one that was
   * made for less may have less space between its objects. */
  bool
  fits (std::size_t bytes, std::size_t alignment) const noexcept
  {
    return bytes <= object_bytes_ && bytes <= chunk_bytes_ && alignment <= 16
           && detail::rounded (object_bytes_, 8) % alignment == 0
           && chunk_bytes_ % alignment == 0;
  }

  void *
  do_allocate (std::size_t bytes, std::size_t alignment) override
  {
    SlicePool *pool = pool_;
    return fits (bytes, alignment)
               ? detail::insist (bytes, alignment,
                                 [=] { return slice_pool_alloc (pool); })
               : other_->allocate (bytes, alignment);
  }

  void
  do_deallocate (void *block, std::size_t bytes,
                 std::size_t alignment) override
  {
    if (fits (bytes, alignment))
      slice_pool_free (pool_, block);
    else
      other_->deallocate (block, bytes, alignment);
  }

  bool
  do_is_equal (const std::pmr::memory_resource &other) const noexcept override
  {
    const pool_resource *same = detail::resource_as (&other, this);
    return same != nullptr && same->pool_ == pool_
           && same->object_bytes_ == object_bytes_
           && same->other_->is_equal (*other_);
  }

  SlicePool *pool_;
  std::size_t object_bytes_;
  std::size_t chunk_bytes_;
  std::pmr::memory_resource *other_;
};

} // inline namespace

} // namespace slice

#ifdef __clang__
# pragma clang diagnostic pop
#endif

#endif /* SLICE_HAS_PMR */

#endif
