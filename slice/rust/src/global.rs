//! The global allocator.

use crate::raw;
use core::alloc::{GlobalAlloc, Layout};

/// A global allocator: `#[global_allocator] static SLICES: Slices = Slices;`
///
/// Blocks above 2064 bytes are the C library's malloc's.
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
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { raw::free(block, layout) }
    }
}
