/* slice-strategy.hpp - owners of arenas, and objects by one of them
 *
 * Public; a part of slice.hpp: include that one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_STRATEGY_HPP
#define SLICE_SLICE_STRATEGY_HPP

#include <slice/slice.hpp>
#include <slice/arena.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace slice
{

inline namespace SLICE_FAILURE_V1
{

namespace detail
{

/* Owns an arena; it can't be copied. */
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
  /* `make` returns an arena, or nullptr. */
  template <typename Make>
  explicit arena_owner (Make make)
      : arena_ (static_cast<Arena *> (
          insist (control_bytes, 0, [=] { return try_make (make); })))
  {
  }
  ~arena_owner ()
  {
    Destroy (arena_);
  }

private:
  /* The size that messages name for an arena. */
  static constexpr std::size_t control_bytes = 512;

  template <typename Make>
  static void *
  try_make (Make make)
  {
    void *arena = make ();
    if (arena == nullptr && errno == EINVAL)
      bad_options ();
    return arena;
  }

  Arena *arena_;
};

} // namespace detail

/* A strategy of CustomAllocator.  A program may write its own:
 *
 *   S (std::size_t bytes, std::size_t alignment)   of the objects to come
 *   void *allocate (std::size_t bytes, std::size_t alignment)
 *   void deallocate (void *, std::size_t bytes, std::size_t alignment)
 *                                                  noexcept; as allocated
 *   void reset (SliceKeep)                         if it is called
 */

/** Objects that are all freed at once; deallocating one frees memory only if
 * it is the last one. */
class LinearPool
    : public detail::arena_owner<SliceLinear, slice_linear_destroy>
{
public:
  explicit LinearPool (const SliceArenaOptions *options = nullptr)
      : arena_owner ([=] { return slice_linear_new (options); })
  {
  }
  /* For CustomAllocator, which passes its objects' size and alignment. */
  LinearPool (std::size_t, std::size_t) : LinearPool ()
  {
  }

  void *
  allocate (std::size_t bytes, std::size_t alignment)
  {
    return detail::arena_get (arena (), bytes, alignment);
  }

  void
  deallocate (void *block, std::size_t bytes, std::size_t alignment) noexcept
  {
    detail::linear_put (arena (), block, bytes, alignment);
  }

  void
  reset (SliceKeep keep = SLICE_KEEP_LARGEST) noexcept
  {
    slice_linear_reset (arena (), keep);
  }
};

/** Objects that are mostly freed in the reverse order of their allocation.
 * One that is deallocated out of order waits for those above it.  So standard
 * containers can use it, but the old array of a vector that grows is freed
 * only with the new one.  Three words precede each object.
 *
 * Errors: it is misuse to deallocate an address that is no live object of this
 * pool (312) or was deallocated before (311; 312 once its memory was used
 * again or returned, as a large object's is at once), or an object that was
 * overrun from below (313).
 *
 * If the program uses the arena directly, it must release those objects before
 * it deallocates the next object of this pool. */
class StackPool
    : public detail::arena_owner<SliceStack, slice_stack_destroy>
{
public:
  explicit StackPool (const SliceArenaOptions *options = nullptr)
      : arena_owner ([=] { return slice_stack_new (options); }), order_ ()
  {
  }
  StackPool (std::size_t, std::size_t) : StackPool ()
  {
  }

  void *
  allocate (std::size_t bytes, std::size_t alignment)
  {
    return order_.get (arena (), bytes, alignment);
  }

  void
  deallocate (void *block, std::size_t, std::size_t) noexcept
  {
    order_.put (arena (), block);
  }

  void
  reset (SliceKeep keep = SLICE_KEEP_LARGEST) noexcept
  {
    order_.reset ();
    slice_stack_reset (arena (), keep);
  }

private:
  detail::stack_order order_;
};

/** Objects of one size that are freed in any order.  A larger object, such as
 * an array, or one that needs more alignment, is a slice. */
class Pool : public detail::arena_owner<SlicePool, slice_pool_destroy>
{
public:
  /** For objects of this size and alignment.  If either is too large for pools
   * (1 MiB, 4096), all objects are slices.  Alignment 0: the natural one, as in
   * pool.h. */
  Pool (std::size_t object_bytes, std::size_t alignment)
      : arena_owner ([=] { return make (object_bytes, alignment); }),
        object_bytes_ (object_bytes),
        alignment_ (is_too_large (object_bytes, alignment) ? 0
                    : alignment == 0 ? natural_alignment (object_bytes)
                                     : alignment)
  {
  }

  void *
  allocate (std::size_t bytes, std::size_t alignment)
  {
    SlicePool *pool = arena ();
    return fits (bytes, alignment)
               ? detail::insist (bytes, alignment,
                                 [=] { return slice_pool_alloc (pool); })
               : detail::slice_get (bytes, alignment);
  }

  void
  deallocate (void *block, std::size_t bytes, std::size_t alignment) noexcept
  {
    if (fits (bytes, alignment))
      slice_pool_free (arena (), block);
    else
      detail::slice_put (block, bytes, alignment);
  }

  /** Frees the objects of the pool only: arrays must have been freed. */
  void
  reset (SliceKeep keep = SLICE_KEEP_LARGEST) noexcept
  {
    slice_pool_reset (arena (), keep);
  }

private:
  /* Is an object the pool's, or a slice?  Allocation and free must agree. */
  bool
  fits (std::size_t bytes, std::size_t alignment) const noexcept
  {
    return bytes <= object_bytes_ && alignment <= alignment_
           && alignment_ != 0;
  }

  /* The largest power of two up to 16 that divides the size. */
  static std::size_t
  natural_alignment (std::size_t object_bytes) noexcept
  {
    return detail::rounded (object_bytes, 8) % 16 == 0 && object_bytes > 0
               ? 16
               : 8;
  }

  static bool
  is_too_large (std::size_t object_bytes, std::size_t alignment) noexcept
  {
    return object_bytes > object_bytes_max
           || alignment > detail::alignment_max;
  }

  static SlicePool *
  make (std::size_t object_bytes, std::size_t alignment)
  {
    SlicePoolOptions options = SlicePoolOptions ();
    bool is_unused = is_too_large (object_bytes, alignment);
    options.object_bytes = is_unused || object_bytes == 0 ? 1 : object_bytes;
    options.alignment = is_unused ? 1 : alignment;
    return slice_pool_new (&options);
  }

  static constexpr std::size_t object_bytes_max = std::size_t{ 1 } << 20;

  std::size_t object_bytes_;
  std::size_t alignment_;
};

/** Objects of any size that are freed in any order, each call in bounded time,
 * in a buffer of the caller's or in a heap that grows. */
class TlsfPool : public detail::arena_owner<SliceTlsf, slice_tlsf_destroy>
{
public:
  explicit TlsfPool (const SliceArenaOptions *options = nullptr)
      : arena_owner ([=] { return slice_tlsf_new (options); })
  {
  }
  /** Over a buffer: see slice_tlsf_new_fixed().  A buffer that is too small, or
   * nullptr, is handled as options out of range. */
  TlsfPool (void *buffer, std::size_t bytes)
      : arena_owner ([=] {
          return slice_tlsf_new_fixed (buffer, buffer != nullptr ? bytes : 0);
        })
  {
  }
  /* A template, so that a 0 is a number first, and no buffer. */
  template <typename Bytes,
            typename = typename std::enable_if<
                std::is_convertible<Bytes, std::size_t>::value>::type>
  TlsfPool (Bytes, std::size_t) : TlsfPool ()
  {
  }

  void *
  allocate (std::size_t bytes, std::size_t alignment)
  {
    return detail::arena_get (arena (), bytes, alignment);
  }

  void
  deallocate (void *block, std::size_t, std::size_t) noexcept
  {
    if (block != nullptr)
      slice_tlsf_free (arena (), block);
  }

  void
  reset (SliceKeep keep = SLICE_KEEP_LARGEST) noexcept
  {
    slice_tlsf_reset (arena (), keep);
  }
};

/** Objects of type T by a strategy: LinearPool, StackPool, Pool or TlsfPool.
 * It is a standard allocator, too.  The constructor says who owns the
 * strategy, and for how long:
 *
 *   CustomAllocator<T, S> a;           a and its copies own a strategy
 *   CustomAllocator<T, S> b (pool);    the program owns `pool`, which must
 *                                      outlive b
 *   CustomAllocator<T, S> c (shared);  many consumers share it: a
 *                                      std::shared_ptr; the last one ends it
 *
 * A copy, also one for another type, shares the strategy and is equal.  An
 * allocator that was moved from is unchanged, so a container that was moved
 * from may be used again.  The pool of a is made for objects of type T.  The
 * nodes of a container (a list, a map) are larger; they are slices unless the
 * container has a pool of their size: Pool (sizeof (T) + 64, 16).
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

  CustomAllocator (std::nullptr_t) = delete; /* there is no strategy */

  /* No move functions: moving is copying. */
  CustomAllocator (const CustomAllocator &) noexcept = default;
  CustomAllocator &operator= (const CustomAllocator &) noexcept = default;
  ~CustomAllocator () = default;

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
    strategy_->deallocate (block, n * sizeof (T), alignof (T));
  }

  /** Makes one object. */
  template <typename... Arguments>
  T *
  create (Arguments &&...arguments)
  {
    Guard guard (this, allocate (1));
    T *object = ::new (static_cast<void *> (guard.block))
        T (std::forward<Arguments> (arguments)...);
    guard.block = nullptr;
    return object;
  }

  /** Destroys one object of create(), and frees it. nullptr does nothing. (It
   * is not called destroy(), because containers use a function of that name to
   * destroy an element without freeing it: std::allocator_traits.) */
  void
  dispose (T *object) noexcept
  {
    if (object == nullptr)
      return;
    object->~T ();
    deallocate (object, 1);
  }

  /** Frees all objects.  No destructor runs, so that of T must be trivial. */
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
  /* Frees a block whose object could not be constructed. */
  struct Guard
  {
    Guard (CustomAllocator *a, T *b) noexcept : self (a), block (b)
    {
    }
    Guard (const Guard &) = delete;
    Guard &operator= (const Guard &) = delete;
    ~Guard ()
    {
      if (block != nullptr)
        self->deallocate (block, 1);
    }
    CustomAllocator *self;
    T *block;
  };

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

} // inline namespace

} // namespace slice

#endif
