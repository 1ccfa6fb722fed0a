/* slice.hpp - slices and arenas for C++
 *
 * Public, header only; C++11, and with C++17 resources for std::pmr.
 *
 *   slice::allocator<T>        standard allocator over slices
 *   slice::unique_ptr<T>       and slice::make_unique<T> (...)
 *   SLICE_CLASS_OPERATORS      operator new and delete of a class, sized
 *   slice::memory_resource     std::pmr over slices (C++17), and
 *   slice::linear_resource     stack_resource, pool_resource, tlsf_resource
 *   slice::LinearPool          StackPool, Pool: strategies, owners of arenas
 *   slice::CustomAllocator     objects of one type by one strategy
 *   slice::llvm_allocator      pages for LLVM's BumpPtrAllocatorImpl
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

#if __cplusplus >= 201703L && defined __has_include
# if __has_include(<memory_resource>)
#  include <memory_resource>
#  define SLICE_HAS_PMR 1
# endif
#endif

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

/* --- resources for std::pmr (C++17) -------------------------------------- */

#ifdef SLICE_HAS_PMR

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

} // namespace detail

/** A linear arena, which it does not own: the last object's memory comes back
 * when it is deallocated, all else at reset. */
class linear_resource final
    : public detail::arena_resource<linear_resource, SliceLinear>
{
public:
  using arena_resource::arena_resource;

private:
  void *
  do_allocate (std::size_t bytes, std::size_t alignment) override
  {
    return detail::arena_get (arena (), bytes, alignment);
  }

  void
  do_deallocate (void *, std::size_t, std::size_t) override
  {
  }
};

/** A stack arena, which it does not own: what is deallocated must be the top,
 * anything else is misuse (slice_stack_release()). */
class stack_resource final
    : public detail::arena_resource<stack_resource, SliceStack>
{
public:
  using arena_resource::arena_resource;

private:
  void *
  do_allocate (std::size_t bytes, std::size_t alignment) override
  {
    return detail::arena_get (arena (), bytes, alignment);
  }

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

#endif /* SLICE_HAS_PMR */

/* --- strategies: owners of arenas ---------------------------------------- */

namespace detail
{

/* Owns an arena; can't be copied. */
template <typename Arena, void (*Destroy) (Arena *)> class arena_owner
{
public:
  arena_owner (const arena_owner &) = delete;
  arena_owner &operator= (const arena_owner &) = delete;

  Arena *
  arena () const noexcept
  {
    return arena_;
  }

protected:
  explicit arena_owner (Arena *arena) : arena_ (arena)
  {
    checked (arena);
  }
  ~arena_owner ()
  {
    Destroy (arena_);
  }

private:
  Arena *arena_;
};

} // namespace detail

/** Objects that all die at once. */
class LinearPool
    : public detail::arena_owner<SliceLinear, slice_linear_destroy>
{
public:
  explicit LinearPool (const SliceArenaOptions *options = nullptr)
      : arena_owner (slice_linear_new (options))
  {
  }
  /* For CustomAllocator, which says what it will ask for. */
  LinearPool (std::size_t, std::size_t) : LinearPool ()
  {
  }

  void *
  allocate (std::size_t bytes, std::size_t alignment)
  {
    return detail::arena_get (arena (), bytes, alignment);
  }

  void
  deallocate (void *, std::size_t) noexcept
  {
  }

  void
  reset (SliceKeep keep = SLICE_KEEP_LARGEST) noexcept
  {
    slice_linear_reset (arena (), keep);
  }
};

/** Objects that die in the reverse order of their birth. */
class StackPool
    : public detail::arena_owner<SliceStack, slice_stack_destroy>
{
public:
  explicit StackPool (const SliceArenaOptions *options = nullptr)
      : arena_owner (slice_stack_new (options))
  {
  }
  StackPool (std::size_t, std::size_t) : StackPool ()
  {
  }

  void *
  allocate (std::size_t bytes, std::size_t alignment)
  {
    return detail::arena_get (arena (), bytes, alignment);
  }

  void
  deallocate (void *block, std::size_t) noexcept
  {
    slice_stack_release (arena (), block);
  }

  void
  reset (SliceKeep keep = SLICE_KEEP_LARGEST) noexcept
  {
    slice_stack_reset (arena (), keep);
  }
};

/** Objects of one size that die in any order; what is larger (an array) is a
 * slice. */
class Pool : public detail::arena_owner<SlicePool, slice_pool_destroy>
{
public:
  Pool (std::size_t object_bytes, std::size_t alignment)
      : arena_owner (make (object_bytes, alignment)),
        object_bytes_ (object_bytes), alignment_ (alignment)
  {
  }

  void *
  allocate (std::size_t bytes, std::size_t alignment)
  {
    return bytes <= object_bytes_ && alignment <= alignment_
               ? detail::checked (slice_pool_alloc (arena ()))
               : detail::slice_get (bytes, alignment_);
  }

  void
  deallocate (void *block, std::size_t bytes) noexcept
  {
    if (bytes <= object_bytes_)
      slice_pool_free (arena (), block);
    else
      detail::slice_put (block, bytes, alignment_);
  }

  /** Objects of the pool alone: arrays must have been freed. */
  void
  reset (SliceKeep keep = SLICE_KEEP_LARGEST) noexcept
  {
    slice_pool_reset (arena (), keep);
  }

private:
  static SlicePool *
  make (std::size_t object_bytes, std::size_t alignment)
  {
    SlicePoolOptions options = SlicePoolOptions ();
    options.object_bytes = object_bytes;
    options.alignment = alignment;
    return slice_pool_new (&options);
  }

  std::size_t object_bytes_;
  std::size_t alignment_;
};

/** Objects of type T by a strategy: LinearPool, StackPool or Pool.  It is a
 * standard allocator, too.  Who owns the strategy, and for how long, is said
 * where it is made:
 *
 *   CustomAllocator<T, S> a;           one owner: a's, and its copies'
 *   CustomAllocator<T, S> b (pool);    owner and consumer apart: `pool` must
 *                                      outlive b
 *   CustomAllocator<T, S> c (shared);  many consumers share it: a
 *                                      std::shared_ptr; the last one ends it
 *
 * Errors: std::bad_alloc.  Threads: as the arena: one at a time.
 * Cost: the strategy's; copying counts a reference.
 */
template <typename T, typename Strategy> class CustomAllocator
{
public:
  typedef T value_type;
  typedef std::false_type is_always_equal;
  typedef std::true_type propagate_on_container_copy_assignment;
  typedef std::true_type propagate_on_container_move_assignment;
  typedef std::true_type propagate_on_container_swap;
  template <typename U> struct rebind
  {
    typedef CustomAllocator<U, Strategy> other;
  };

  CustomAllocator ()
      : strategy_ (std::make_shared<Strategy> (sizeof (T), alignof (T)))
  {
  }

  explicit CustomAllocator (Strategy &strategy) noexcept
      : strategy_ (std::shared_ptr<void> (), &strategy)
  {
  }

  explicit CustomAllocator (std::shared_ptr<Strategy> strategy) noexcept
      : strategy_ (std::move (strategy))
  {
  }

  template <typename U>
  CustomAllocator (const CustomAllocator<U, Strategy> &other) noexcept
      : strategy_ (other.strategy ())
  {
  }

  T *
  allocate (std::size_t n)
  {
    return static_cast<T *> (strategy_->allocate (
        detail::array_bytes (n, sizeof (T)), alignof (T)));
  }

  void
  deallocate (T *block, std::size_t n) noexcept
  {
    strategy_->deallocate (block, n * sizeof (T));
  }

  /** Makes one object. */
  template <typename... Arguments>
  T *
  create (Arguments &&...arguments)
  {
    struct Guard
    {
      CustomAllocator *self;
      T *block;
      ~Guard ()
      {
        if (block != nullptr)
          self->deallocate (block, 1);
      }
    } guard = { this, allocate (1) };
    T *object = ::new (static_cast<void *> (guard.block))
        T (std::forward<Arguments> (arguments)...);
    guard.block = nullptr;
    return object;
  }

  /** Ends one object; with a StackPool the one made last. */
  void
  destroy (T *object) noexcept
  {
    object->~T ();
    deallocate (object, 1);
  }

  /** Forgets all objects.  Their destructors are not run, so T's must have
   * nothing to do. */
  void
  reset (SliceKeep keep = SLICE_KEEP_LARGEST) noexcept
  {
    static_assert (std::is_trivially_destructible<T>::value,
                   "reset() runs no destructors");
    strategy_->reset (keep);
  }

  const std::shared_ptr<Strategy> &
  strategy () const noexcept
  {
    return strategy_;
  }

private:
  std::shared_ptr<Strategy> strategy_;
};

template <typename T, typename U, typename Strategy>
bool
operator== (const CustomAllocator<T, Strategy> &a,
            const CustomAllocator<U, Strategy> &b) noexcept
{
  return a.strategy ().get () == b.strategy ().get ();
}

template <typename T, typename U, typename Strategy>
bool
operator!= (const CustomAllocator<T, Strategy> &a,
            const CustomAllocator<U, Strategy> &b) noexcept
{
  return !(a == b);
}

/* --- LLVM ---------------------------------------------------------------- */

/** Slabs for LLVM from a page source: the allocator parameter of
 * llvm::BumpPtrAllocatorImpl.  Pages are mapped for each slab and given back
 * with it.
 *
 *   typedef llvm::BumpPtrAllocatorImpl<slice::llvm_allocator<>> Bump;
 *
 * Needs nothing of LLVM's headers.
 */
template <SlicePageSource Which = SLICE_PAGES_MMAP> class llvm_allocator
{
public:
  llvm_allocator () noexcept : source_ (slice_source_builtin (Which))
  {
  }
  /** Another source than the built-in one; it must outlive the slabs. */
  explicit llvm_allocator (const SliceSource *source) noexcept
      : source_ (source)
  {
  }

  void *
  Allocate (std::size_t size, std::size_t alignment)
  {
    std::size_t least = page_bytes;
    return detail::checked (source_->map (
        source_, rounded (size), alignment > least ? alignment : least));
  }

  void
  Deallocate (const void *slab, std::size_t size, std::size_t)
  {
    if (source_->unmap != nullptr)
      source_->unmap (source_, const_cast<void *> (slab), rounded (size));
  }

  template <typename T>
  T *
  Allocate (std::size_t n = 1)
  {
    return static_cast<T *> (
        Allocate (detail::array_bytes (n, sizeof (T)), alignof (T)));
  }

  template <typename T>
  void
  Deallocate (T *objects, std::size_t n = 1)
  {
    Deallocate (static_cast<const void *> (objects), n * sizeof (T),
                alignof (T));
  }

  void
  Reset () noexcept
  {
  }
  void
  PrintStats () const noexcept
  {
  }

private:
  static constexpr std::size_t page_bytes = 4096;

  static std::size_t
  rounded (std::size_t size) noexcept
  {
    return (size + page_bytes - 1) & ~(page_bytes - 1);
  }

  const SliceSource *source_;
};

} // namespace slice

#endif
