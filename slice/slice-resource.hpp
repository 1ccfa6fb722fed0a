/* slice-resource.hpp - resources for std::pmr
 *
 * Public; a part of slice.hpp: include that one.  It is empty without
 * std::pmr (before C++17).
 *
 * The virtual table of a unit without RTTI has no type information, and the
 * linker may keep it for the whole program.  Then dynamic_cast of a resource of
 * slice's may crash, also in the do_is_equal() of another resource that is
 * compared with it.
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

/* A program and a library that it loads have virtual tables of their own for
 * one class.  So a resource compares an unknown resource with a question, an
 * object in a place that only libslice uses for questions.  A resource of
 * slice's answers with its kind and address.  Any other class compares the
 * question like any resource. */
enum resource_kind
{
  resource_slices = 1,
  resource_linear,
  resource_tlsf,
  resource_pool
};

class resource_question final : public std::pmr::memory_resource
{
  void *
  do_allocate (std::size_t, std::size_t) override
  {
    return nullptr;
  }

  void
  do_deallocate (void *, std::size_t, std::size_t) override
  {
  }

  bool
  do_is_equal (const std::pmr::memory_resource &other) const noexcept override
  {
    return this == &other;
  }
};

/* Answers, if `asked` is a question. */
inline bool
resource_answer (const std::pmr::memory_resource &asked,
                 const std::pmr::memory_resource *self, resource_kind kind,
                 const void *arena, std::size_t bytes = 0,
                 const std::pmr::memory_resource *other = nullptr) noexcept
{
  SliceQuestionV1 *question = slice_question_of_v1 (&asked);
  if (question == nullptr)
    return false;
  question->self = self;
  question->arena = arena;
  question->other = other;
  question->bytes = bytes;
  question->kind = kind;
  return true;
}

/* What `other` answers.  The kind is 0 if `other` is no resource of slice's, or
 * only passes the question on to one. */
inline SliceQuestionV1
resource_ask (const std::pmr::memory_resource &other) noexcept
{
  static_assert (sizeof (resource_question) <= sizeof (void *[2]),
                 "a question fits its place");
  SliceQuestionV1 *place = slice_question_begin_v1 ();
  resource_question *question
      = ::new (static_cast<void *> (place->object)) resource_question ();
  static_cast<void> (other.is_equal (*question));
  question->~resource_question ();
  SliceQuestionV1 answer = *place;
  slice_question_end_v1 (place);
  const std::pmr::memory_resource *asked = &other;
  if (answer.self != asked)
    answer.kind = 0;
  return answer;
}

} // namespace detail

/** Slices as a memory resource.  All of these are equal, also between a program
 * and the libraries that it loads. */
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
    if (detail::resource_as (&other, this) != nullptr)
      return true;
    const memory_resource plain; /* a class derived from this one is not */
    if (detail::resource_as (this, &plain) == nullptr
        || detail::resource_answer (other, this, detail::resource_slices,
                                    nullptr))
      return false;
    return detail::resource_ask (other).kind == detail::resource_slices;
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
template <typename Derived, typename Arena, resource_kind Kind>
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
    if (same != nullptr)
      return same->arena () == arena_;
    if (resource_answer (other, this, Kind, arena_))
      return false;
    SliceQuestionV1 answer = resource_ask (other);
    return answer.kind == Kind && answer.arena == arena_;
  }

  Arena *arena_;
};

} // namespace detail

/** A linear arena, which it does not own.  Deallocating the last object frees
 * its memory; all other memory is freed at reset. */
class linear_resource final
    : public detail::arena_resource<linear_resource, SliceLinear,
                                    detail::resource_linear>
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
 * order waits for those above it: see StackPool.  The resource is equal only to
 * itself, because it knows only the order of its own objects.  All other
 * objects on the arena must be released before the next object is deallocated.
 * Errors: as StackPool. */
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
    : public detail::arena_resource<tlsf_resource, SliceTlsf,
                                    detail::resource_tlsf>
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
  /* A pool promises only the natural alignment of its size.  A pool for smaller
   * objects may have less space between them. */
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
    if (same != nullptr)
      return same->pool_ == pool_ && same->object_bytes_ == object_bytes_
             && same->other_->is_equal (*other_);
    if (detail::resource_answer (other, this, detail::resource_pool, pool_,
                                 object_bytes_, other_))
      return false;
    SliceQuestionV1 answer = detail::resource_ask (other);
    return answer.kind == detail::resource_pool && answer.arena == pool_
           && answer.bytes == object_bytes_
           && static_cast<const std::pmr::memory_resource *> (answer.other)
                  ->is_equal (*other_);
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
