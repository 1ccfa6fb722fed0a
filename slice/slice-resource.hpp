/* slice-resource.hpp - resources for std::pmr
 *
 * Public; a part of slice.hpp: include that one.  It is empty without
 * std::pmr (before C++17).
 *
 * A unit without RTTI has classes of its own, so the linker can't keep a
 * virtual table without type information for a unit with RTTI.  Their objects
 * have the type information of std::pmr::null_memory_resource(), whose type has
 * no name: in a unit with RTTI dynamic_cast of such a resource to any class
 * but std::pmr::memory_resource gives nullptr.
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

/* The name of this namespace says whether the classes have type information, so
 * that units with and without RTTI may be in one program. */
#if defined __cpp_rtti || defined __GXX_RTTI
# define SLICE_TYPES_V1 typed
#else
# define SLICE_TYPES_V1 untyped
# define SLICE_UNTYPED_V1 1
#endif

namespace slice
{

inline namespace SLICE_FAILURE_V1
{

namespace detail
{

inline namespace SLICE_TYPES_V1
{

/* The functions of a resource's class, in its virtual table, to which the first
 * word points. */
inline const void *
resource_functions (const std::pmr::memory_resource *resource) noexcept
{
  const void *functions;
  std::memcpy (&functions, static_cast<const void *> (resource),
               sizeof functions);
  return functions;
}

/* `other`, if it is a Type, as `same` is.  It is a Type if its virtual table is
 * that of `same`; a class derived from Type has another one.  There may be no
 * RTTI, so dynamic_cast can't be used. */
template <typename Type>
const Type *
resource_as (const std::pmr::memory_resource *other,
             const Type *same) noexcept
{
  return resource_functions (same) == resource_functions (other)
             ? static_cast<const Type *> (other)
             : nullptr;
}

#ifdef SLICE_UNTYPED_V1

/* A virtual table of the C++ ABI.  This one is a copy of a class's, with the
 * type information that the class lacks: that of the null resource.
 *
 *   | offset to the object's start | type information | functions |
 */
class resource_table
{
public:
  explicit resource_table (const std::pmr::memory_resource *made) noexcept
      : words_ ()
  {
    std::memcpy (words_, words_of (made), sizeof words_);
    words_[1] = words_of (std::pmr::null_memory_resource ())[1];
  }

  const void *
  functions () const noexcept
  {
    return words_ + 2;
  }

private:
  /* Two destructors, do_allocate(), do_deallocate() and do_is_equal(). */
  static constexpr std::size_t n_functions = 5;

  static const void *const *
  words_of (const std::pmr::memory_resource *resource) noexcept
  {
    return static_cast<const void *const *> (resource_functions (resource))
           - 2;
  }

  const void *words_[2 + n_functions];
};

/* Gives a resource type information.  Each constructor of a class ends with
 * this; a class derived from Type has its own virtual table. */
template <typename Type>
void
resource_describe (Type *made) noexcept
{
  static const resource_table table (made);
  std::pmr::memory_resource *base = made;
  const void *functions = table.functions ();
  std::memcpy (static_cast<void *> (base), &functions, sizeof functions);
}

#else

template <typename Type>
void
resource_describe (Type *) noexcept
{
}

#endif

/* A program and a library that it loads have virtual tables of their own for
 * one class.  So a resource compares an unknown resource with a question, a
 * copy of the null resource in a place that only libslice uses for questions.
 * A resource of slice's answers with its kind and address.  Any other class
 * compares the question like any resource; it may use dynamic_cast, because the
 * null resource's class has type information in every program. */
enum resource_kind
{
  resource_slices = 1,
  resource_linear,
  resource_tlsf,
  resource_pool
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
  typedef std::pmr::memory_resource Question;
  static_assert (sizeof (Question) <= sizeof (void *[2]),
                 "a question fits its place");
  SliceQuestionV1 *place = slice_question_begin_v1 ();
  const void *null = std::pmr::null_memory_resource ();
  void *question = place->object;
  std::memcpy (question, null, sizeof (Question));
  static_cast<void> (other.is_equal (*static_cast<Question *> (question)));
  SliceQuestionV1 answer = *place;
  slice_question_end_v1 (place);
  const std::pmr::memory_resource *asked = &other;
  if (answer.self != asked)
    answer.kind = 0;
  return answer;
}

} // inline namespace

} // namespace detail

inline namespace SLICE_TYPES_V1
{

/** Slices as a memory resource.  All of these are equal, also between a program
 * and the libraries that it loads. */
class memory_resource : public std::pmr::memory_resource
{
#ifdef SLICE_UNTYPED_V1
public:
  memory_resource () noexcept
  {
    detail::resource_describe (this);
  }
  memory_resource (const memory_resource &other) noexcept
      : std::pmr::memory_resource (other)
  {
    detail::resource_describe (this);
  }
  memory_resource &operator= (const memory_resource &) = default;

private:
#endif
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

} // inline namespace

namespace detail
{

inline namespace SLICE_TYPES_V1
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

} // inline namespace

} // namespace detail

inline namespace SLICE_TYPES_V1
{

/** A linear arena, which it does not own.  Deallocating the last object frees
 * its memory; all other memory is freed at reset. */
class linear_resource final
    : public detail::arena_resource<linear_resource, SliceLinear,
                                    detail::resource_linear>
{
public:
  explicit linear_resource (SliceLinear *arena) noexcept
      : arena_resource (arena)
  {
    detail::resource_describe (this);
  }
  linear_resource (const linear_resource &other) noexcept
      : arena_resource (other)
  {
    detail::resource_describe (this);
  }
  linear_resource &operator= (const linear_resource &) = default;

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
    detail::resource_describe (this);
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
  explicit tlsf_resource (SliceTlsf *arena) noexcept : arena_resource (arena)
  {
    detail::resource_describe (this);
  }
  tlsf_resource (const tlsf_resource &other) noexcept
      : arena_resource (other)
  {
    detail::resource_describe (this);
  }
  tlsf_resource &operator= (const tlsf_resource &) = default;

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
    detail::resource_describe (this);
  }
  pool_resource (const pool_resource &other) noexcept
      : std::pmr::memory_resource (other), pool_ (other.pool_),
        object_bytes_ (other.object_bytes_),
        chunk_bytes_ (other.chunk_bytes_), other_ (other.other_)
  {
    detail::resource_describe (this);
  }
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

} // inline namespace

} // namespace slice

#ifdef __clang__
# pragma clang diagnostic pop
#endif

#endif /* SLICE_HAS_PMR */

#endif
