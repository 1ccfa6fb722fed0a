//! A box of a size that the compiler knows.

use crate::raw;
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::alloc::handle_alloc_error;

/// Owns a `T` in a slice, whatever the program's global allocator is.
///
/// Any thread may drop it, if any thread may drop a `T`.
pub struct Owned<T> {
    value: NonNull<T>,
    owns: PhantomData<T>,
}

// SAFETY: it is a T that lives elsewhere, and a block may be freed by any
// thread.
unsafe impl<T: Send> Send for Owned<T> {}
// SAFETY: as above; a shared one gives shared access to the T alone.
unsafe impl<T: Sync> Sync for Owned<T> {}

impl<T> Owned<T> {
    const LAYOUT: Layout = Layout::new::<T>();

    /// Moves a value into a block of its own.
    #[inline]
    pub fn new(value: T) -> Self {
        let place = if mem::size_of::<T>() == 0 {
            NonNull::dangling()
        } else {
            match NonNull::new(raw::try_alloc(Self::LAYOUT).cast::<T>()) {
                Some(place) => place,
                None => handle_alloc_error(Self::LAYOUT),
            }
        };
        // SAFETY: the block has the layout of a T, and nobody else knows it.
        unsafe { place.as_ptr().write(value) };
        Owned { value: place, owns: PhantomData }
    }

    /// Moves the value out, and frees the block.
    #[inline]
    pub fn into_inner(self) -> T {
        let this = ManuallyDrop::new(self);
        // SAFETY: read once; `this` drops nothing.
        unsafe {
            let value = this.value.as_ptr().read();
            Self::free(this.value);
            value
        }
    }

    /// # Safety
    /// The block is of `new`, its value is gone, and this is its only free.
    #[inline(always)]
    unsafe fn free(place: NonNull<T>) {
        if mem::size_of::<T>() != 0 {
            // SAFETY: the caller's.
            unsafe { raw::free(place.as_ptr().cast(), Self::LAYOUT) };
        }
    }
}

/// Frees the block also when the value's destructor panics.
struct FreeLater<T>(NonNull<T>);

impl<T> Drop for FreeLater<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: made by Owned's drop alone, once.
        unsafe { Owned::free(self.0) };
    }
}

impl<T> Drop for Owned<T> {
    #[inline]
    fn drop(&mut self) {
        let _later = FreeLater(self.value);
        // SAFETY: the value is there, and is not used again.
        unsafe { self.value.as_ptr().drop_in_place() };
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value is there as long as its owner.
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for Owned<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this is the only access.
        unsafe { self.value.as_mut() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
