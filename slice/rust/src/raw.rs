//! The C library's functions, and the inline code of <slice/slice.h>.
//!
//! The layouts are those that end in `_v1` or `V1` there, which stay as they
//! are.  Stable Rust reads no thread-local variable of another library, so
//! the one load is assembler where it is written, and elsewhere each call is a
//! call of the library.

use core::alloc::Layout;
use core::ffi::c_void;
use core::mem::{align_of, size_of};

/// SLICE_SIZE_MAX
pub const SIZE_MAX: usize = 2064;

/// The largest alignment of slice_alloc_aligned()
const ALIGNMENT_MAX: usize = 4096;

/// SLICE_CLASS_V1
#[doc(hidden)]
pub const fn class(size: usize) -> usize {
    if size <= 256 {
        (size + 7) >> 3
    } else if size <= 512 {
        ((size + 15) >> 4) + 16
    } else if size <= 1040 {
        ((size + 15) >> 5) + 33
    } else {
        ((size + 111) >> 7) + 57
    }
}

const CLASSES: usize = class(SIZE_MAX) + 1;
const CLASS_TABLE_BYTES: usize = 2072;

/// SliceEntryV1
#[repr(C)]
struct Entry {
    top: *mut *mut c_void,
    end: *mut *mut c_void,
}

/// SliceThreadV1
#[repr(C)]
struct Thread {
    entries: [Entry; CLASSES],
    class_table: [u8; CLASS_TABLE_BYTES],
}

/// Bytes of a thread's table, of an entry, and the number of classes: the
/// tests compare them with the header's.
#[doc(hidden)]
pub const fn layout_of_version_1() -> [usize; 3] {
    [size_of::<Thread>(), size_of::<Entry>(), CLASSES]
}

extern "C" {
    #[cold]
    fn slice_try_alloc_slow_v1(size: usize) -> *mut c_void;
    #[cold]
    fn slice_free_slow_v1(size: usize, block: *mut c_void);
    fn slice_try_alloc_wide_v1(alignment: usize, size: usize) -> *mut c_void;
    fn slice_free_wide_v1(alignment: usize, size: usize, block: *mut c_void);
    fn slice_try_resize_wide_v1(
        alignment: usize,
        old_size: usize,
        size: usize,
        block: *mut c_void,
    ) -> *mut c_void;
    #[cold]
    fn slice_try_alloc0_slow_v1(size: usize) -> *mut c_void;
    fn slice_try_alloc0_aligned(alignment: usize, size: usize) -> *mut c_void;
    #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64")))]
    fn slice_try_alloc(size: usize) -> *mut c_void;
    #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64")))]
    fn slice_free1(size: usize, block: *mut c_void);
}

/// Does a block of this size have this alignment by itself?  As the top of
/// slice.h says: the largest power of two, at most 16, that divides the size
/// rounded up to 8.
#[inline(always)]
const fn is_aligned_by_size(layout: Layout) -> bool {
    layout.align() <= 8 || (layout.align() == 16 && (layout.size() + 7) & 8 == 0)
}

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod fast {
    use super::*;
    use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

    /// slice_tls_v1, by the initial-exec model: one offset for all threads,
    /// which never changes, so that the compiler loads it once for a loop.
    #[inline(always)]
    fn thread() -> *mut Thread {
        let offset: usize;
        let thread: *mut Thread;
        // SAFETY: two loads; the library's variable is never NULL.
        unsafe {
            core::arch::asm!(
                "mov {o}, qword ptr [rip + slice_tls_v1@GOTTPOFF]",
                o = lateout(reg) offset,
                options(pure, nomem, nostack, preserves_flags)
            );
            core::arch::asm!(
                "mov {t}, qword ptr fs:[{o}]",
                o = in(reg) offset,
                t = lateout(reg) thread,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        thread
    }

    /// The entry for a size; class 0's, always empty and full, for one that is
    /// too large.
    #[inline(always)]
    fn entry(size: usize) -> *mut Entry {
        let class = if size <= SIZE_MAX { class(size) } else { 0 };
        // SAFETY: the class is below CLASSES, the table is the thread's.
        unsafe {
            core::ptr::addr_of_mut!((*thread()).entries)
                .cast::<Entry>()
                .add(class)
        }
    }

    /// Nothing but this thread writes an entry, but the trim of another one
    /// may look at it: so `top` is atomic, as in C.
    #[inline(always)]
    fn top_of<'a>(entry: *mut Entry) -> &'a AtomicPtr<*mut c_void> {
        // SAFETY: an entry lives as long as its thread, and is not kept.
        unsafe { &*(core::ptr::addr_of_mut!((*entry).top) as *const AtomicPtr<*mut c_void>) }
    }

    #[inline(always)]
    pub fn try_alloc(size: usize) -> *mut c_void {
        let top_place = top_of(entry(size));
        let top = top_place.load(Relaxed);
        // SAFETY: top points to a round, or to the sentinel, which is NULL.
        unsafe {
            let block = *top;
            if !block.is_null() {
                top_place.store(top.sub(1), Relaxed);
                return block;
            }
            slice_try_alloc_slow_v1(size)
        }
    }

    #[inline(always)]
    pub unsafe fn free(size: usize, block: *mut c_void) {
        let entry = entry(size);
        let top_place = top_of(entry);
        let top = top_place.load(Relaxed);
        // SAFETY: as above; below end there is a place for one more.
        unsafe {
            if top != (*entry).end && *top != block {
                *top.add(1) = block;
                top_place.store(top.add(1), Relaxed);
                return;
            }
            slice_free_slow_v1(size, block)
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64")))]
mod fast {
    use super::*;

    #[inline(always)]
    pub fn try_alloc(size: usize) -> *mut c_void {
        // SAFETY: any size may be asked for.
        unsafe { slice_try_alloc(size) }
    }

    #[inline(always)]
    pub unsafe fn free(size: usize, block: *mut c_void) {
        // SAFETY: the caller's.
        unsafe { slice_free1(size, block) }
    }

    const _: unsafe extern "C" fn(usize, *mut c_void) = slice_free_slow_v1;
    const _: unsafe extern "C" fn(usize) -> *mut c_void = slice_try_alloc_slow_v1;
}

/// A block, or null.  The size of the layout is not 0.
#[inline(always)]
pub fn try_alloc(layout: Layout) -> *mut u8 {
    if is_aligned_by_size(layout) {
        fast::try_alloc(layout.size()).cast()
    } else {
        // SAFETY: any power of two, any size.
        unsafe { slice_try_alloc_wide_v1(layout.align(), layout.size()).cast() }
    }
}

/// A zeroed block, or null.  The size of the layout is not 0.
#[inline(always)]
pub fn try_alloc_zeroed(layout: Layout) -> *mut u8 {
    if layout.size() > SIZE_MAX {
        return try_alloc_zeroed_large(layout);
    }
    let block = try_alloc(layout);
    if !block.is_null() {
        // SAFETY: the block has that many bytes.
        unsafe { block.write_bytes(0, layout.size()) };
    }
    block
}

/// The C library's calloc, which knows what is new, unless the alignment is
/// too large for it.
#[cold]
fn try_alloc_zeroed_large(layout: Layout) -> *mut u8 {
    // SAFETY: any size; a power of two up to 4096, or any.
    unsafe {
        if is_aligned_by_size(layout) {
            return slice_try_alloc0_slow_v1(layout.size()).cast();
        }
        if layout.align() <= ALIGNMENT_MAX {
            return slice_try_alloc0_aligned(layout.align(), layout.size()).cast();
        }
        let block: *mut u8 = slice_try_alloc_wide_v1(layout.align(), layout.size()).cast();
        if !block.is_null() {
            block.write_bytes(0, layout.size());
        }
        block
    }
}

/// Resizes a block, or returns null and leaves it.  Large blocks are resized by
/// the C library's realloc, others copied.
///
/// # Safety
/// As for `free`; the new size is not 0, and a layout of it and the old
/// alignment is valid.
#[inline]
pub unsafe fn try_resize(block: *mut u8, old: Layout, new_size: usize) -> *mut u8 {
    // SAFETY: the caller's; a new block is another one.
    unsafe {
        if old.size() > SIZE_MAX && new_size > SIZE_MAX {
            return slice_try_resize_wide_v1(old.align(), old.size(), new_size, block.cast())
                .cast();
        }
        let moved = try_alloc(Layout::from_size_align_unchecked(new_size, old.align()));
        if !moved.is_null() {
            moved.copy_from_nonoverlapping(block, old.size().min(new_size));
            free(block, old);
        }
        moved
    }
}

/// Frees a block.
///
/// # Safety
/// It came from `try_alloc` with the same layout, and is not used any more.
#[inline(always)]
pub unsafe fn free(block: *mut u8, layout: Layout) {
    // SAFETY: the caller's.
    unsafe {
        if is_aligned_by_size(layout) {
            fast::free(layout.size(), block.cast())
        } else {
            slice_free_wide_v1(layout.align(), layout.size(), block.cast())
        }
    }
}

/// Bytes of a pool's object.  Its alignment is the largest power of two up to
/// 16 that divides them.
pub const fn pool_object_bytes<T>() -> usize {
    let align = align_of::<T>();
    (size_of::<T>() + align - 1) & !(align - 1)
}
