/* slice.hpp - slices and arenas for C++
 *
 * Public, header only; C++11, and with C++17 resources for std::pmr.
 *
 *   slice::allocator<T>        standard allocator over slices
 *   slice::unique_ptr<T>       and slice::make_unique<T> (...)
 *   slice::unique_ptr<T[]>     and slice::make_unique<T[]> (n)
 *   SLICE_CLASS_OPERATORS      operator new and delete of a class, sized
 *   SLICE_PROMISE_OPERATORS    those of a coroutine's promise
 *
 * and in its parts, which it includes:
 *
 *   slice-resource.hpp   slice::memory_resource, over slices, and over arenas
 *                        linear_resource, stack_resource, pool_resource,
 *                        tlsf_resource: std::pmr (C++17)
 *   slice-strategy.hpp   slice::LinearPool, StackPool, Pool, TlsfPool:
 *                        strategies, owners of arenas;
 *                        slice::CustomAllocator: objects of one type by one
 *                        strategy
 *   slice-llvm.hpp       slice::llvm_allocator: pages for LLVM's
 *                        BumpPtrAllocatorImpl
 *
 * Any alignment is served; those above 4096 at the cost of so many bytes.
 *
 * Everything throws std::bad_alloc when there is no memory, and where an
 * arena's options are out of range (without exceptions that is error 340).
 * Where exceptions are off (-fno-exceptions) it does what slice_alloc() does: the failure
 * handler is asked, and if it gives up the program ends with error 120, which
 * tells the size.  RTTI is not needed.  Units with and without either may be
 * in one program; types of slice:: in what they tell each other are of one kind
 * of unit as to exceptions, or do not link.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_HPP
#define SLICE_SLICE_HPP

#include <slice/arena.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

/* What is done when there is no memory is in the names, so that units with and
 * without exceptions may be in one program: none gets the other's functions. */
#if defined __cpp_exceptions || defined __EXCEPTIONS
# define SLICE_FAILURE_V1 throwing
#else
# define SLICE_FAILURE_V1 ending
#endif

namespace slice
{

inline namespace SLICE_FAILURE_V1
{

namespace detail
{

/* The largest alignment that slices and arenas know. */
constexpr std::size_t alignment_max = SLICE_ARENA_ALIGNMENT_MAX;

/* There is no memory.  If this returns, it is worth another try. */
#if defined __cpp_exceptions || defined __EXCEPTIONS
[[noreturn]] inline void
no_memory (std::size_t, std::size_t)
{
  throw std::bad_alloc ();
}

/* No try is worth another. */
[[noreturn]] inline void
never_fits ()
{
  throw std::bad_alloc ();
}

[[noreturn]] inline void
bad_options ()
{
  throw std::bad_alloc ();
}
#else
inline void
no_memory (std::size_t bytes, std::size_t alignment)
{
  slice_out_of_memory (bytes, alignment);
}

/* The handler is asked, as always, but can't help. */
[[noreturn]] inline void
never_fits ()
{
  slice_out_of_memory (SIZE_MAX, 0);
  slice_set_failure_handler (nullptr, nullptr);
  slice_out_of_memory (SIZE_MAX, 0);
  std::abort ();
}

[[noreturn]] inline void
bad_options ()
{
  slice_arena_bad_options_v1 ();
  std::abort ();
}
#endif

/* What `attempt` gives, which is no nullptr in the end. */
template <typename Attempt>
inline void *
insist (std::size_t bytes, std::size_t alignment, Attempt attempt)
{
  void *block = attempt ();
  while (SLICE_UNLIKELY (block == nullptr))
    {
      no_memory (bytes, alignment);
      block = attempt ();
    }
  return block;
}

/* n objects of `size`; a product that does not fit is no memory. */
inline std::size_t
array_bytes (std::size_t n, std::size_t size)
{
  if (SLICE_UNLIKELY (n > SIZE_MAX / 2 / size))
    never_fits ();
  return n * size;
}

inline std::size_t
rounded (std::size_t bytes, std::size_t alignment) noexcept
{
  return (bytes + alignment - 1) & ~(alignment - 1);
}

/* `block`, moved up to a multiple of `alignment`. */
inline void *
aligned (void *block, std::size_t alignment) noexcept
{
  std::uintptr_t address = reinterpret_cast<std::uintptr_t> (block);
  return static_cast<char *> (block) + ((0 - address) & (alignment - 1));
}

/* Beyond alignment_max, in a linear arena: an object inside a block that is so much
 * larger, with the block's address in front of it. */

/* The block's size; 0 if there is none. */
inline std::size_t
wide_bytes (std::size_t bytes, std::size_t alignment) noexcept
{
  std::size_t more = alignment + sizeof (void *);
  return bytes <= SIZE_MAX / 2 && alignment <= SIZE_MAX / 4 ? bytes + more : 0;
}

inline void *
wide_object (void *block, std::size_t alignment) noexcept
{
  if (block == nullptr)
    return nullptr;
  void *object
      = aligned (static_cast<char *> (block) + sizeof (void *), alignment);
  static_cast<void **> (object)[-1] = block;
  return object;
}

/* The object itself, which is no block's start, if what is in front of it can
 * not be the block's address. */
inline void *
wide_block (void *object, std::size_t alignment) noexcept
{
  if (object == nullptr)
    return nullptr;
  void *block = static_cast<void **> (object)[-1];
  std::size_t skip = reinterpret_cast<std::uintptr_t> (object)
                     - reinterpret_cast<std::uintptr_t> (block);
  bool fits = skip >= sizeof (void *) && skip < alignment + sizeof (void *);
  return fits ? block : object;
}

/* nullptr if there is no memory. */
inline void *
slice_try_get (std::size_t bytes, std::size_t alignment) noexcept
{
  bytes += bytes == 0;
  if (alignment <= 16)
    return slice_try_alloc (rounded (bytes, alignment));
  if (alignment <= alignment_max)
    return slice_try_alloc_aligned (alignment, bytes);
  return slice_try_alloc_wide_v1 (alignment, bytes);
}

inline void *
slice_get (std::size_t bytes, std::size_t alignment)
{
  return insist (bytes, alignment,
                 [=] { return slice_try_get (bytes, alignment); });
}

inline void
slice_put (void *block, std::size_t bytes, std::size_t alignment) noexcept
{
  bytes += bytes == 0;
  if (alignment <= 16)
    slice_free1 (rounded (bytes, alignment), block);
  else if (alignment <= alignment_max)
    slice_free_aligned (alignment, bytes, block);
  else
    slice_free_wide_v1 (alignment, bytes, block);
}

/* For a block whose size is not known. */
inline void
slice_put_unsized (void *block, std::size_t) noexcept
{
  slice_free_unsized (block);
}

/* Of an arena: a size's own alignment is at least 8. */
inline void *
linear_try_get (SliceLinear *arena, std::size_t bytes,
                std::size_t alignment) noexcept
{
  if (alignment <= 8)
    return slice_linear_alloc (arena, bytes);
  if (alignment <= alignment_max)
    return slice_linear_alloc_aligned (arena, alignment, bytes);
  std::size_t wide = wide_bytes (bytes, alignment);
  return wide != 0 ? wide_object (slice_linear_alloc (arena, wide), alignment)
                   : nullptr;
}

inline void *
linear_get (SliceLinear *arena, std::size_t bytes, std::size_t alignment)
{
  return insist (bytes, alignment,
                 [=] { return linear_try_get (arena, bytes, alignment); });
}

/* The last object's memory comes back. */
inline void
linear_put (SliceLinear *arena, void *block, std::size_t bytes,
            std::size_t alignment) noexcept
{
  if (alignment > alignment_max)
    {
      if (!slice_linear_owns (arena, block))
        return;
      block = wide_block (block, alignment);
      bytes = wide_bytes (bytes, alignment);
    }
  slice_linear_free_last (arena, block, bytes);
}

inline void *
tlsf_try_get (SliceTlsf *arena, std::size_t bytes,
              std::size_t alignment) noexcept
{
  return alignment <= 16 ? slice_tlsf_alloc (arena, bytes)
                         : slice_tlsf_alloc_aligned (arena, alignment, bytes);
}

inline void *
tlsf_get (SliceTlsf *arena, std::size_t bytes, std::size_t alignment)
{
  return insist (bytes, alignment,
                 [=] { return tlsf_try_get (arena, bytes, alignment); });
}

/* Objects on a stack arena that may go in any order: one that is not the top
 * waits until what lies above it has gone.
 *
 *   | (padding) | below, block, sign | object |
 *   ^
 *   block, as the arena handed it out
 *
 * The sign is live's or dead's, and tells this stack's objects from all else:
 * nothing is written by a head before it was asked.
 */
class stack_order
{
public:
  void *
  get (SliceStack *arena, std::size_t bytes, std::size_t alignment)
  {
    std::size_t wanted = alignment > 8 ? alignment : 8;
    std::size_t more = sizeof (Head) + wanted - 8;
    std::size_t whole = bytes <= SIZE_MAX / 4 ? bytes + more : SIZE_MAX;
    /* The arena may have been reset by its owner. */
    if (top_ != nullptr && slice_stack_is_empty (arena))
      top_ = nullptr;
    void *block = insist (bytes, alignment, [=] {
      return slice_stack_alloc (arena, whole);
    });
    void *object
        = aligned (static_cast<char *> (block) + sizeof (Head), wanted);
    Head *head = static_cast<Head *> (object) - 1;
    head->below = top_;
    head->block = block;
    head->sign = sign (head, live);
    top_ = head;
    return object;
  }

  void
  put (SliceStack *arena, void *object) noexcept
  {
    if (object == nullptr)
      return;
    Head *head = static_cast<Head *> (object) - 1;
    if (head != top_)
      slice_stack_check_v1 (arena, object, 0);
    if (SLICE_UNLIKELY (head->sign != sign (head, live)))
      slice_stack_check_v1 (arena, object, fault_of (head));
    head->sign = sign (head, dead);
    while (top_ != nullptr && top_->sign == sign (top_, dead))
      {
        void *block = top_->block;
        top_ = top_->below;
        slice_stack_release (arena, block);
      }
  }

  void
  reset () noexcept
  {
    top_ = nullptr;
  }

private:
  struct Head
  {
    Head *below;
    void *block;
    std::uintptr_t sign;
  };
  static constexpr std::uintptr_t live = 0x9e3779b9;
  static constexpr std::uintptr_t dead = 0xc2b2ae3d;

  std::uintptr_t
  sign (const Head *head, std::uintptr_t kind) const noexcept
  {
    return kind ^ reinterpret_cast<std::uintptr_t> (head)
           ^ (reinterpret_cast<std::uintptr_t> (this) << 7);
  }

  /* Its sign is not that of a live object. */
  int
  fault_of (const Head *head) const noexcept
  {
    return head->sign == sign (head, dead) ? 311 : head == top_ ? 313 : 312;
  }

  Head *top_ = nullptr;
};

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
    typedef typename std::remove_cv<T>::type Plain;
    object->~T ();
    detail::slice_put (const_cast<Plain *> (object), sizeof (T), alignof (T));
  }
};

/** The same of an array, whose length it keeps. */
template <typename T> class deleter<T[]>
{
public:
  explicit deleter (std::size_t n = 0) noexcept : n_ (n)
  {
  }

  /** The array's length. */
  std::size_t
  size () const noexcept
  {
    return n_;
  }

  void
  operator() (T *array) const noexcept
  {
    typedef typename std::remove_cv<T>::type Plain;
    for (std::size_t i = n_; i > 0; i--)
      array[i - 1].~T ();
    detail::slice_put (const_cast<Plain *> (array), n_ * sizeof (T),
                       alignof (T));
  }

private:
  std::size_t n_;
};

/** A std::unique_ptr that frees a slice: the size of a pointer; of an array,
 * of two.  An array's length is get_deleter ().size (). */
template <typename T> using unique_ptr = std::unique_ptr<T, deleter<T>>;

namespace detail
{

/* Frees a block that did not become an object, or an array of which `n` did.
 */
template <typename T> class unfinished
{
public:
  explicit unfinished (std::size_t n_room)
      : n (0), block_ (slice_get (array_bytes (n_room, sizeof (T)),
                                  alignof (T))),
        n_room_ (n_room)
  {
  }
  unfinished (const unfinished &) = delete;
  unfinished &operator= (const unfinished &) = delete;
  ~unfinished ()
  {
    if (block_ == nullptr)
      return;
    while (n > 0)
      static_cast<T *> (block_)[--n].~T ();
    slice_put (block_, n_room_ * sizeof (T), alignof (T));
  }

  void *
  place () const noexcept
  {
    return static_cast<char *> (block_) + n * sizeof (T);
  }

  /* It is the caller's from now on. */
  T *
  finished () noexcept
  {
    void *block = block_;
    block_ = nullptr;
    return static_cast<T *> (block);
  }

  std::size_t n;

private:
  void *block_;
  std::size_t n_room_;
};

template <typename T> struct make_unique_of
{
  typedef unique_ptr<T> object;
};
template <typename T> struct make_unique_of<T[]>
{
  typedef unique_ptr<T[]> array;
};
template <typename T, std::size_t N> struct make_unique_of<T[N]>
{
};

} // namespace detail

/** Makes an object in a slice. */
template <typename T, typename... Arguments>
typename detail::make_unique_of<T>::object
make_unique (Arguments &&...arguments)
{
  detail::unfinished<typename std::remove_cv<T>::type> made (1);
  ::new (made.place ()) T (std::forward<Arguments> (arguments)...);
  return unique_ptr<T> (made.finished ());
}

/** Makes an array of n objects in a slice: T is `Element[]`.  They are value-
 * initialised: numbers are 0. */
template <typename T>
typename detail::make_unique_of<T>::array
make_unique (std::size_t n)
{
  typedef typename std::remove_extent<T>::type Element;
  detail::unfinished<typename std::remove_cv<Element>::type> made (n);
  for (; made.n < n; made.n++)
    ::new (made.place ()) Element ();
  return unique_ptr<T> (made.finished (), deleter<T> (n));
}

namespace detail
{

/* A coroutine hands its arguments on to its promise's operator new: with one
 * pointer they look like placement, and the frame would overwrite what the
 * pointer points to.  So placement asks for this function, which is found
 * where the class has none of its name. */
struct use_SLICE_PROMISE_OPERATORS
{
};
int get_return_object (use_SLICE_PROMISE_OPERATORS);

} // namespace detail

/** Inside a class: its objects, and those of derived classes, are slices.
 * A class that is deleted through a base needs a virtual destructor there, so
 * that delete knows the size; arrays go the usual way.  new (std::nothrow)
 * gives nullptr when there is no memory.
 *
 * An alignas is served where the language tells operator new of it: from
 * C++17 on, or with -faligned-new.  Before, a class that wants more than 16
 * says so: SLICE_CLASS_OPERATORS_ALIGNED (64).  With the language's alignas
 * delete looks the size up.
 *
 * Not for a coroutine's promise, nor a base of one: there it is
 * SLICE_PROMISE_OPERATORS. */
#define SLICE_CLASS_OPERATORS SLICE_CLASS_OPERATORS_ALIGNED (1)

/** The same for a class whose objects are aligned to `least` at least, a power
 * of two. */
#define SLICE_CLASS_OPERATORS_ALIGNED(least)                                  \
  static void *operator new (std::size_t size)                                \
  {                                                                           \
    return ::slice::detail::slice_get (size, (least));                        \
  }                                                                           \
  static void *operator new (std::size_t size,                                \
                                    const std::nothrow_t &) noexcept          \
  {                                                                           \
    return ::slice::detail::slice_try_get (size, (least));                    \
  }                                                                           \
  static void *operator new (std::size_t, void *place) noexcept               \
  {                                                                           \
    static_cast<void> (sizeof (get_return_object (                            \
        ::slice::detail::use_SLICE_PROMISE_OPERATORS ())));                   \
    return place;                                                             \
  }                                                                           \
  static void operator delete (void *block, std::size_t size) noexcept        \
  {                                                                           \
    if (block != nullptr)                                                     \
      ::slice::detail::slice_put (block, size, (least));                      \
  }                                                                           \
  static void operator delete (void *block,                                   \
                                      const std::nothrow_t &) noexcept        \
  {                                                                           \
    ::slice::detail::slice_put_unsized (block, (least));                      \
  }                                                                           \
  static void operator delete (void *, void *) noexcept                       \
  {                                                                           \
  }                                                                           \
  SLICE_CLASS_OPERATORS_OF_ALIGNAS_ (least)

/* Delete without a size: new finds no other when a constructor throws, and
 * where both are declared each delete takes it. */
#ifdef __cpp_aligned_new
# define SLICE_CLASS_OPERATORS_OF_ALIGNAS_(least)                             \
   static void *operator new (std::size_t size,                               \
                                     std::align_val_t alignment)              \
   {                                                                          \
     return ::slice::detail::slice_get (                                      \
         size, ::slice::detail::larger ((least), alignment));                 \
   }                                                                          \
   static void *operator new (std::size_t size,                               \
                                     std::align_val_t alignment,              \
                                     const std::nothrow_t &) noexcept         \
   {                                                                          \
     return ::slice::detail::slice_try_get (                                  \
         size, ::slice::detail::larger ((least), alignment));                 \
   }                                                                          \
   static void operator delete (void *block,                                  \
                                       std::align_val_t alignment) noexcept   \
   {                                                                          \
     ::slice::detail::slice_put_unsized (                                     \
         block, ::slice::detail::larger ((least), alignment));                \
   }                                                                          \
   static void operator delete (void *block,                                  \
                                       std::align_val_t alignment,            \
                                       const std::nothrow_t &) noexcept       \
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
 * coroutine's arguments are. */
#define SLICE_PROMISE_OPERATORS                                               \
  static void *operator new (std::size_t size)                                \
  {                                                                           \
    return ::slice::detail::slice_get (size, 1);                              \
  }                                                                           \
  static void operator delete (void *block, std::size_t size) noexcept        \
  {                                                                           \
    ::slice::detail::slice_put (block, size, 1);                              \
  }

} // inline namespace

} // namespace slice

#include <slice/slice-llvm.hpp>
#include <slice/slice-resource.hpp>
#include <slice/slice-strategy.hpp>

#endif
