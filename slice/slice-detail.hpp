/* slice-detail.hpp - allocation for the other parts of slice.hpp
 *
 * Public; a part of slice.hpp: include that one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_DETAIL_HPP
#define SLICE_SLICE_DETAIL_HPP

#include <slice/arena.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

/* The name of this namespace says what happens without memory.  So units with
 * and without exceptions may be in one program: neither gets the other's
 * functions. */
#if defined __cpp_exceptions || defined __EXCEPTIONS
# define SLICE_FAILURE_V1 throwing
#else
# define SLICE_FAILURE_V1 ending
#endif

SLICE_BEGIN_QUIET_
namespace slice
{

inline namespace SLICE_FAILURE_V1
{

namespace detail
{

/* The largest alignment that slices and arenas support. */
constexpr std::size_t alignment_max = SLICE_ARENA_ALIGNMENT_MAX;

/* Handles a lack of memory.  If this returns, the caller tries again. */
#if defined __cpp_exceptions || defined __EXCEPTIONS
[[noreturn]] inline void
no_memory (std::size_t, std::size_t)
{
  throw std::bad_alloc ();
}

/* Handles a request that can never succeed. */
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

/* Calls the handler, as always, although it can't help. */
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

/* Repeats `attempt` until it returns no nullptr; returns that. */
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

/* The size of n objects; a product that overflows is handled as no memory.
 */
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

/* `block`, rounded up to a multiple of `alignment`. */
inline void *
aligned (void *block, std::size_t alignment) noexcept
{
  std::uintptr_t address = reinterpret_cast<std::uintptr_t> (block);
  return static_cast<char *> (block) + ((0 - address) & (alignment - 1));
}

/* For alignments above alignment_max in a linear arena: an object inside a
 * block that is larger by the alignment and a pointer; the pointer before the
 * object is the block's address. */

/* The block's size; 0 if there is none. */
inline std::size_t
wide_bytes (std::size_t bytes, std::size_t alignment) noexcept
{
  std::size_t more = alignment + sizeof (void *);
  return bytes <= SIZE_MAX / 2 && alignment <= SIZE_MAX / 4 ? bytes + more : 0;
}

/* `get` allocates that many bytes, or returns nullptr. */
template <typename Get>
inline void *
wide_object (std::size_t bytes, std::size_t alignment, Get get) noexcept
{
  std::size_t wide = wide_bytes (bytes, alignment);
  void *block = wide != 0 ? get (wide) : nullptr;
  if (block == nullptr)
    return nullptr;
  void *object
      = aligned (static_cast<char *> (block) + sizeof (void *), alignment);
  static_cast<void **> (object)[-1] = block;
  return object;
}

/* The block of an object.  If the word before the object can't be the block's
 * address, returns the object itself, which is no block's start. */
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

/* Allocates a slice, or returns nullptr. */
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

/* Frees a block of unknown size. */
inline void
slice_put_unsized (void *block, std::size_t) noexcept
{
  slice_free_unsized (block);
}

/* Allocates from an arena, or nullptr.  The natural alignment of any size is
 * at least 8. */
inline void *
arena_try_get (SliceLinear *arena, std::size_t bytes,
               std::size_t alignment) noexcept
{
  if (alignment <= 8)
    return slice_linear_alloc (arena, bytes);
  if (alignment <= alignment_max)
    return slice_linear_alloc_aligned (arena, alignment, bytes);
  return wide_object (bytes, alignment, [=] (std::size_t wide) {
    return slice_linear_alloc (arena, wide);
  });
}

inline void *
arena_try_get (SliceTlsf *arena, std::size_t bytes,
               std::size_t alignment) noexcept
{
  return alignment <= 16 ? slice_tlsf_alloc (arena, bytes)
                         : slice_tlsf_alloc_aligned (arena, alignment, bytes);
}

/* A SliceLinear or a SliceTlsf. */
template <typename Arena>
inline void *
arena_get (Arena *arena, std::size_t bytes, std::size_t alignment)
{
  return insist (bytes, alignment,
                 [=] { return arena_try_get (arena, bytes, alignment); });
}

/* Frees the last object; the memory of others stays until the reset. */
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

/* Objects on a stack arena that may be freed in any order: one that is not the
 * top waits until all above it are freed.
 *
 *   | (padding) | below, block, sign | object |
 *   ^
 *   block, as the arena allocated it
 *
 * The sign identifies a live or a waiting object of this stack.  A head's sign
 * is checked before any write through the head.
 */
class stack_order
{
public:
  void *
  get (SliceStack *arena, std::size_t bytes, std::size_t alignment)
  {
    std::size_t wanted = alignment > 8 ? alignment : 8;
    std::size_t more = sizeof (Head) + wanted - 8;
    bytes += bytes == 0; /* the object's address is one of its block */
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

  /* The error number; the sign is not that of a live object. */
  int
  fault_of (const Head *head) const noexcept
  {
    return head->sign == sign (head, dead) ? 311 : head == top_ ? 313 : 312;
  }

  Head *top_ = nullptr;
};

} // namespace detail
} // inline namespace

} // namespace slice
SLICE_END_QUIET_

#endif
