//! Allocators of slice-alloc for single collections, with a stable compiler.
//!
//! The standard library's trait `Allocator` is unstable.  The crate
//! [`allocator_api2`] has the same trait, a `Vec` and a `Box`, and other crates
//! (hashbrown) take its allocators, too.
//!
//! - [`InSlices`]: blocks of slices, as the global allocator [`Slices`] has.
//! - [`InScope`]: memory of a [`Scope`], which goes when the scope ends.
//!
//! ```
//! use allocator_api2::vec::Vec;
//! use slice_collections::{InScope, InSlices};
//!
//! let mut numbers = Vec::new_in(InSlices);
//! numbers.extend(0..100);
//! let sum = slice_alloc::scope(|s| {
//!     let mut doubled = Vec::new_in(InScope(s));
//!     doubled.extend(numbers.iter().map(|n| n * 2));
//!     doubled.iter().sum::<i32>()
//! });
//! assert_eq!(sum, 9900);
//! ```
//!
//! What lies in a scope cannot leave it:
//!
//! ```compile_fail
//! use allocator_api2::vec::Vec;
//! use slice_collections::InScope;
//! let late = slice_alloc::scope(|s| Vec::<u8, _>::new_in(InScope(s)));
//! ```
//!
//! nor be used while an inner scope has its place:
//!
//! ```compile_fail
//! use allocator_api2::vec::Vec;
//! use slice_collections::InScope;
//! slice_alloc::scope(|s| {
//!     let mut numbers = Vec::new_in(InScope(s));
//!     s.scope(|_| numbers.push(1));
//! });
//! ```
//!
//! SPDX-License-Identifier: MIT

#![warn(missing_docs)]
#![warn(unsafe_op_in_unsafe_fn)]

use allocator_api2::alloc::{AllocError, Allocator};
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{self, NonNull};
use slice_alloc::{Scope, Slices};

/// A block of no bytes: any aligned address.
fn nothing(layout: Layout) -> NonNull<[u8]> {
    let address = ptr::null_mut::<u8>().wrapping_add(layout.align());
    // SAFETY: an alignment is not 0.
    NonNull::slice_from_raw_parts(unsafe { NonNull::new_unchecked(address) }, 0)
}

/// Slices; any thread may free what another one has allocated.
#[derive(Clone, Copy, Debug, Default)]
pub struct InSlices;

// SAFETY: blocks of the global allocator stay until they are freed.
unsafe impl Allocator for InSlices {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(nothing(layout));
        }
        // SAFETY: the size is not 0.
        match NonNull::new(unsafe { Slices.alloc(layout) }) {
            Some(block) => Ok(NonNull::slice_from_raw_parts(block, layout.size())),
            None => Err(AllocError),
        }
    }

    #[inline]
    fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(nothing(layout));
        }
        // SAFETY: the size is not 0.
        match NonNull::new(unsafe { Slices.alloc_zeroed(layout) }) {
            Some(block) => Ok(NonNull::slice_from_raw_parts(block, layout.size())),
            None => Err(AllocError),
        }
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            // SAFETY: the caller's; it was allocated above.
            unsafe { Slices.dealloc(block.as_ptr(), layout) }
        }
    }

    #[inline]
    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller's.
        unsafe { self.resize(block, old, new) }
    }

    #[inline]
    unsafe fn grow_zeroed(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if old.size() == 0 {
            return self.allocate_zeroed(new);
        }
        // SAFETY: the caller's; the new block is not smaller.
        unsafe {
            let grown = self.resize(block, old, new)?;
            let rest = grown.cast::<u8>().as_ptr().add(old.size());
            rest.write_bytes(0, new.size() - old.size());
            Ok(grown)
        }
    }

    #[inline]
    unsafe fn shrink(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller's.
        unsafe { self.resize(block, old, new) }
    }
}

impl InSlices {
    /// # Safety
    /// The block is of this allocator, with the layout `old`.
    unsafe fn resize(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if old.size() != 0 && new.size() != 0 && old.align() == new.align() {
            // SAFETY: the caller's; the new layout is a valid one.
            let moved = unsafe { Slices.realloc(block.as_ptr(), old, new.size()) };
            return match NonNull::new(moved) {
                Some(moved) => Ok(NonNull::slice_from_raw_parts(moved, new.size())),
                None => Err(AllocError),
            };
        }
        let moved = self.allocate(new)?;
        // SAFETY: the smaller one's bytes; the new block is another one.
        unsafe {
            let n = old.size().min(new.size());
            moved.cast::<u8>().as_ptr().copy_from_nonoverlapping(block.as_ptr(), n);
            self.deallocate(block, old);
        }
        Ok(moved)
    }
}

/// Memory of a scope.  Freeing does nothing; the block that was allocated last
/// grows where it is, as long as its place lasts.
///
/// As for all that is in a scope, no memory ends the program.
#[derive(Clone, Copy)]
pub struct InScope<'a, 's, 'env>(pub &'a Scope<'s, 'env>);

// SAFETY: the memory stays until the scope ends, which the allocator and its
// copies borrow; an inner scope needs the outer one alone.
unsafe impl Allocator for InScope<'_, '_, '_> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(nothing(layout));
        }
        let block = self.0.alloc_layout(layout).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(block, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, _block: NonNull<u8>, _layout: Layout) {}

    #[inline]
    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if old.size() == 0 || old.align() < new.align() {
            let moved = self.allocate(new)?;
            // SAFETY: the new block is not smaller, and another one.
            unsafe {
                moved.cast::<u8>().as_ptr().copy_from_nonoverlapping(block.as_ptr(), old.size())
            };
            return Ok(moved);
        }
        // SAFETY: the caller's: a block of this scope with the old layout.  An
        // alignment that is larger than needed does no harm.
        let block = unsafe { self.0.grow_block(block, old, new.size()) };
        Ok(NonNull::slice_from_raw_parts(block, new.size()))
    }
}
