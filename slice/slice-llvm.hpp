/* slice-llvm.hpp - pages for LLVM's arenas
 *
 * Public; a part of slice.hpp: include that one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_LLVM_HPP
#define SLICE_SLICE_LLVM_HPP

#include <slice/slice.hpp>
#include <slice/source.h>

#include <unistd.h>
#include <cstddef>

namespace slice
{

inline namespace SLICE_FAILURE_V1
{

/** Slabs for LLVM from a page source: the allocator parameter of
 * llvm::BumpPtrAllocatorImpl.  Pages are mapped for each slab and returned
 * with it.
 *
 *   typedef llvm::BumpPtrAllocatorImpl<slice::llvm_allocator<>> Bump;
 *
 * It needs no header of LLVM's.
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
    std::size_t least = page_bytes ();
    std::size_t wanted = alignment > least ? alignment : least;
    const SliceSource *source = source_;
    if (source == nullptr || size > SIZE_MAX - least)
      detail::never_fits ();
    return detail::insist (size, alignment, [=] {
      return aligned_or_null (
          source->map (source, whole_pages (size), wanted), wanted);
    });
  }

  void
  Deallocate (const void *slab, std::size_t size, std::size_t)
  {
    if (source_->unmap != nullptr)
      source_->unmap (source_, const_cast<void *> (slab), whole_pages (size));
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
  static std::size_t
  page_bytes () noexcept
  {
    return static_cast<std::size_t> (sysconf (_SC_PAGESIZE));
  }

  static std::size_t
  whole_pages (std::size_t size) noexcept
  {
    return detail::rounded (size + (size == 0), page_bytes ());
  }

  /* A source that breaks its promise has no memory, as with arenas. */
  static void *
  aligned_or_null (void *pages, std::size_t alignment) noexcept
  {
    std::uintptr_t address = reinterpret_cast<std::uintptr_t> (pages);
    return address % alignment == 0 ? pages : nullptr;
  }

  const SliceSource *source_;
};

} // inline namespace

} // namespace slice

#endif
