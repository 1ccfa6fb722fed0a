//! The global allocator.

use crate::raw;
use core::alloc::{GlobalAlloc, Layout};

/// A global allocator: `#[global_allocator] static SLICES: Slices = Slices;`
///
/// Blocks above 2064 bytes are the C library's malloc's: its calloc() leaves
/// new memory untouched.  The C library's realloc() resizes them, which extends
/// most of them in place or moves their pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slices;

// SAFETY: a block has the size and the alignment that its layout says, is freed
// with the same layout by any thread, and no call unwinds: the library is C.
unsafe impl GlobalAlloc for Slices {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        raw::try_alloc(layout)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        raw::try_alloc_zeroed(layout)
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { raw::try_resize(block, layout, new_size) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { raw::free(block, layout) }
    }
}
