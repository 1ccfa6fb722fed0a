//! Objects of one type, from the C library's pools.

use crate::raw;
use core::alloc::Layout;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::alloc::handle_alloc_error;

/// SlicePoolV1
#[repr(C)]
struct Head {
    top: *mut *mut c_void,
    bottom: *mut *mut c_void,
    limit: *mut *mut c_void,
}

extern "C" {
    fn slice_pool_new_plain(object_bytes: usize) -> *mut Head;
    fn slice_pool_destroy(pool: *mut Head);
    #[cold]
    fn slice_pool_alloc_slow_v1(pool: *mut Head) -> *mut c_void;
    #[cold]
    fn slice_pool_free_slow_v1(pool: *mut Head, object: *mut c_void);
    fn slice_pool_n_live(pool: *const Head) -> usize;
}

/// A pool of `T`.  One thread uses it at a time; it may move to another
/// while nothing of it is in use.
///
/// An object that is forgotten (`mem::forget`) stays until the pool goes, and
/// is not dropped.
pub struct Pool<T> {
    head: NonNull<Head>,
    /// Of no thread but the one that has it: not Sync.  Send as T is.
    holds: PhantomData<core::cell::Cell<T>>,
}

// SAFETY: what is in use borrows the pool, so one that moves is unused; the C
// pool belongs to one thread at a time, and not to one for good.
unsafe impl<T: Send> Send for Pool<T> {}

/// A `T` of a pool: drop gives its place back.  It stays on the pool's thread.
pub struct Pooled<'pool, T> {
    value: NonNull<T>,
    pool: &'pool Pool<T>,
    owns: PhantomData<(T, *mut ())>,
}

impl<T> Pool<T> {
    /// Types of 1 byte to a MiB, aligned to at most 16: an error of the
    /// compiler for others.
    const OBJECT_BYTES: usize = {
        assert!(mem::size_of::<T>() > 0 && mem::size_of::<T>() <= 1 << 20);
        assert!(mem::align_of::<T>() <= 16);
        raw::pool_object_bytes::<T>()
    };

    /// An empty pool.
    pub fn new() -> Self {
        // SAFETY: the size is one that a pool takes.
        match NonNull::new(unsafe { slice_pool_new_plain(Self::OBJECT_BYTES) }) {
            Some(head) => Pool { head, holds: PhantomData },
            None => handle_alloc_error(Layout::new::<T>()),
        }
    }

    /// Moves a value into the pool.
    #[inline]
    pub fn alloc(&self, value: T) -> Pooled<'_, T> {
        let head = self.head.as_ptr();
        // SAFETY: only this thread uses the pool (not Sync), and below top lie
        // the addresses of free objects, which are not null.
        let place = unsafe {
            let top = (*head).top;
            if top != (*head).bottom {
                (*head).top = top.sub(1);
                Some(NonNull::new_unchecked(*top.sub(1)))
            } else {
                NonNull::new(slice_pool_alloc_slow_v1(head))
            }
        };
        match place {
            Some(place) => {
                let place = place.cast::<T>();
                // SAFETY: it has the size and alignment of a T, and is free.
                unsafe { place.as_ptr().write(value) };
                Pooled { value: place, pool: self, owns: PhantomData }
            }
            None => handle_alloc_error(Layout::new::<T>()),
        }
    }

    /// How many objects are in use, forgotten ones included.
    pub fn n_live(&self) -> usize {
        // SAFETY: the pool is alive.
        unsafe { slice_pool_n_live(self.head.as_ptr()) }
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        // SAFETY: nothing borrows it, and it is not used again.
        unsafe { slice_pool_destroy(self.head.as_ptr()) };
    }
}

/// Gives the place back also when the value's destructor panics.
struct FreeLater<T>(NonNull<Head>, NonNull<T>);

impl<T> Drop for FreeLater<T> {
    #[inline]
    fn drop(&mut self) {
        let head = self.0.as_ptr();
        let object: *mut c_void = self.1.as_ptr().cast();
        // SAFETY: the object is of this pool, and is freed once; at limit
        // there is no place, and below it there is.
        unsafe {
            let top = (*head).top;
            if top != (*head).limit && *top.sub(1) != object {
                *top = object;
                (*head).top = top.add(1);
            } else {
                slice_pool_free_slow_v1(head, object);
            }
        }
    }
}

impl<T> Drop for Pooled<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let _later = FreeLater(self.pool.head, self.value);
        // SAFETY: the value is there, and is not used again.
        unsafe { self.value.as_ptr().drop_in_place() };
    }
}

impl<T> Deref for Pooled<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value is there as long as this.
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for Pooled<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this is the only access.
        unsafe { self.value.as_mut() }
    }
}
