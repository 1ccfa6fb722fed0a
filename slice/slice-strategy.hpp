/* slice-strategy.hpp - owners of arenas, and objects by one of them
 *
 * Public; a part of slice.hpp, which is what to include.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_STRATEGY_HPP
#define SLICE_SLICE_STRATEGY_HPP

#include <slice/slice.hpp>
#include <slice/arena.h>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace slice
{

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

} // namespace slice

#endif
