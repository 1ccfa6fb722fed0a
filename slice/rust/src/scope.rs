//! Scopes: what is put into one goes with it, from the C library's linear
//! arenas.
//!
//! A scope's lifetime `'s` is its own and no other's (it is invariant, and a
//! scope is only lent to a function that must do for every lifetime).  So what
//! lives in a scope cannot leave its function, and scopes cannot be swapped.
//! What the values refer to lives for `'env`, which outlives each `'s`, as in
//! `std::thread::scope`.

use core::alloc::Layout;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::{self, MaybeUninit};
use core::ptr::{self, NonNull};
use std::alloc::handle_alloc_error;
use std::cell::Cell;

/// SliceBumpV1, its first members.
#[repr(C)]
struct Bump {
    next: *mut u8,
    end: *mut u8,
}

/// SliceMark
#[repr(C)]
#[derive(Clone, Copy)]
struct Mark {
    linear: *mut Bump,
    next: *mut u8,
    cleanups: *mut c_void,
    left_bytes: usize,
    own_bytes: usize,
    stamp: u64,
    n_used: u32,
    current: i32,
}

const ALIGNMENT_MAX: usize = 4096;

extern "C" {
    fn slice_linear_new(options: *const c_void) -> *mut Bump;
    fn slice_linear_destroy(linear: *mut Bump);
    fn slice_linear_alloc_aligned_slow_v1(
        linear: *mut Bump,
        alignment: usize,
        size: usize,
    ) -> *mut c_void;
    fn slice_linear_resize(
        linear: *mut Bump,
        object: *mut c_void,
        old_size: usize,
        new_size: usize,
    ) -> *mut c_void;
    fn slice_linear_mark(linear: *mut Bump) -> Mark;
    fn slice_linear_rollback(linear: *mut Bump, mark: Mark);
}

/// A destructor to run, in the arena itself; the latest first.
struct Cleanup {
    next: *mut Cleanup,
    run: unsafe fn(*mut u8),
    value: *mut u8,
}

/// A place for objects that all go at once.
pub struct Scope<'s, 'env: 's> {
    linear: NonNull<Bump>,
    cleanups: Cell<*mut Cleanup>,
    /// Invariant, and of one thread.
    lifetime: PhantomData<(*mut (), fn(&'s ()) -> &'s ())>,
    /// Invariant, too.
    environment: PhantomData<fn(&'env ()) -> &'env ()>,
}

/// Runs a function with a scope, and then drops what is in it, latest first.
///
/// ```
/// let total = slice_alloc::scope(|s| {
///     let numbers: Vec<&mut u64> = (0..10).map(|n| s.alloc(n)).collect();
///     numbers.iter().map(|n| **n).sum::<u64>()
/// });
/// assert_eq!(total, 45);
/// ```
///
/// Values may refer to what lives longer than the call:
///
/// ```
/// struct Word<'a> { text: &'a str, next: Option<&'a Word<'a>> }
/// let text = String::from("to be or not");
/// let n = slice_alloc::scope(|s| {
///     let mut list: Option<&Word> = None;
///     for text in text.split(' ') {
///         list = Some(s.alloc(Word { text, next: list }));
///     }
///     let mut n = 0;
///     while let Some(word) = list {
///         n += word.text.len();
///         list = word.next;
///     }
///     n
/// });
/// assert_eq!(n, 9);
/// ```
///
/// but not to what ends before the scope does:
///
/// ```compile_fail
/// slice_alloc::scope(|s| {
///     let text = String::from("short");
///     let word: &mut &str = s.alloc(text.as_str());
///     println!("{word}");
/// });
/// ```
///
/// Nothing of a scope can leave it:
///
/// ```compile_fail
/// let late = slice_alloc::scope(|s| s.alloc(1));
/// ```
///
/// by no way that begins outside:
///
/// ```compile_fail
/// let late = std::cell::Cell::new(None);
/// slice_alloc::scope(|s| late.set(Some(&*s.alloc(1))));
/// ```
///
/// nor go to another thread's:
///
/// ```compile_fail
/// slice_alloc::scope(|s| {
///     std::thread::scope(|t| { t.spawn(|| { s.alloc(1); }); });
/// });
/// ```
pub fn scope<'env, R>(body: impl for<'s> FnOnce(&mut Scope<'s, 'env>) -> R) -> R {
    // SAFETY: NULL is for the defaults.
    let linear = match NonNull::new(unsafe { slice_linear_new(ptr::null()) }) {
        Some(linear) => linear,
        None => handle_alloc_error(Layout::new::<Mark>()),
    };
    struct Root(NonNull<Bump>);
    impl Drop for Root {
        fn drop(&mut self) {
            // SAFETY: all scopes in it have ended.
            unsafe { slice_linear_destroy(self.0.as_ptr()) };
        }
    }
    let _root = Root(linear);
    let mut scope = Scope::begin(linear);
    body(&mut scope)
}

impl<'s, 'env: 's> Scope<'s, 'env> {
    fn begin(linear: NonNull<Bump>) -> Self {
        Scope {
            linear,
            cleanups: Cell::new(ptr::null_mut()),
            lifetime: PhantomData,
            environment: PhantomData,
        }
    }

    /// Runs a function with a scope within this one, and drops what was put
    /// there.  Values of this scope stay usable; it takes no new ones
    /// meanwhile.  The memory stays for what comes next, except that of values
    /// above 64 KiB, which is returned each time.
    ///
    /// Values of the inner scope may refer to those of the outer one:
    ///
    /// ```
    /// slice_alloc::scope(|s| {
    ///     let outer: &u32 = s.alloc(1);
    ///     s.scope(|t| assert_eq!(**t.alloc(outer), 1));
    /// });
    /// ```
    ///
    /// but cannot get into them:
    ///
    /// ```compile_fail
    /// use std::cell::Cell;
    /// slice_alloc::scope(|s| {
    ///     let outer: &Cell<Option<&u32>> = s.alloc(Cell::new(None));
    ///     s.scope(|t| outer.set(Some(t.alloc(1))));
    /// });
    /// ```
    pub fn scope<R>(&mut self, body: impl for<'t> FnOnce(&mut Scope<'t, 's>) -> R) -> R {
        struct Inner(Mark);
        impl Drop for Inner {
            fn drop(&mut self) {
                // SAFETY: the outer scope was borrowed since the mark was
                // set, so that all that is above it is the inner one's.
                unsafe { slice_linear_rollback(self.0.linear, self.0) };
            }
        }
        // SAFETY: the arena is alive.
        let _inner = Inner(unsafe { slice_linear_mark(self.linear.as_ptr()) });
        let mut scope = Scope::begin(self.linear);
        body(&mut scope)
    }

    /// Memory for a layout.  Its size is not 0.
    #[inline(always)]
    fn space(&self, layout: Layout) -> NonNull<u8> {
        let bump = self.linear.as_ptr();
        // SAFETY: next and end lie in one block, and only this thread moves
        // them.  Sizes of layouts are at most isize::MAX.
        unsafe {
            let next = (*bump).next;
            // What next is a multiple of needs no padding.
            let pad = match layout.align() {
                0..=8 => 0,
                align => (next as usize).wrapping_neg() & (align - 1),
            };
            let left = ((*bump).end as usize).wrapping_sub(next as usize);
            if pad <= left && layout.size() <= left - pad {
                let object = next.add(pad);
                (*bump).next = object.add((layout.size() + 7) & !7);
                return NonNull::new_unchecked(object);
            }
        }
        self.room_slow(layout)
    }

    #[cold]
    #[inline(never)]
    fn room_slow(&self, layout: Layout) -> NonNull<u8> {
        // SAFETY: the arena is alive, the alignment one that it takes.
        let object = unsafe {
            slice_linear_alloc_aligned_slow_v1(self.linear.as_ptr(), layout.align(), layout.size())
        };
        match NonNull::new(object.cast::<u8>()) {
            Some(object) => object,
            None => handle_alloc_error(layout),
        }
    }

    /// Memory of a layout, for allocators of collections: it stays until the
    /// scope ends.  None: the layout has no bytes, or an alignment above 4096.
    #[inline]
    pub fn alloc_layout(&self, layout: Layout) -> Option<NonNull<u8>> {
        if layout.size() == 0 || layout.align() > ALIGNMENT_MAX {
            return None;
        }
        Some(self.space(layout))
    }

    /// Makes a block larger: where it is, if it was allocated last and there is
    /// room, else by a copy.
    ///
    /// # Safety
    ///
    /// The block is of [`Scope::alloc_layout`] of this scope with the layout
    /// `old`, or of this function with that size and alignment; it is not used
    /// any more.  `new_size` is not smaller, and a layout of it and the old
    /// alignment is valid.
    pub unsafe fn grow_block(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new_size: usize,
    ) -> NonNull<u8> {
        // SAFETY: the caller's.
        let new = unsafe { Layout::from_size_align_unchecked(new_size, old.align()) };
        if old.align() > 8 {
            // The library keeps the alignment of a size alone.
            let copy = self.space(new);
            // SAFETY: the new block is not smaller, and another one.
            unsafe { copy.as_ptr().copy_from_nonoverlapping(block.as_ptr(), old.size()) };
            return copy;
        }
        let object = block.as_ptr().cast();
        // SAFETY: an object of the arena, with its size.
        let grown =
            unsafe { slice_linear_resize(self.linear.as_ptr(), object, old.size(), new_size) };
        match NonNull::new(grown.cast::<u8>()) {
            Some(block) => block,
            None => handle_alloc_error(new),
        }
    }

    #[inline(always)]
    fn place<T>(&self) -> *mut T {
        struct Check<T>(T);
        impl<T> Check<T> {
            const ALIGNED: () = assert!(mem::align_of::<T>() <= ALIGNMENT_MAX);
        }
        #[allow(clippy::let_unit_value)]
        let () = Check::<T>::ALIGNED;
        if mem::size_of::<T>() == 0 {
            return NonNull::dangling().as_ptr();
        }
        self.space(Layout::new::<T>()).as_ptr().cast()
    }

    /// Moves a value without a destructor into the scope; what it refers to may
    /// lie there, too.
    ///
    /// ```compile_fail
    /// slice_alloc::scope(|s| { s.alloc(String::new()); });
    /// ```
    #[inline]
    pub fn alloc<T>(&self, value: T) -> &'s mut T {
        struct Check<T>(T);
        impl<T> Check<T> {
            const PLAIN: () = assert!(
                !mem::needs_drop::<T>(),
                "this type has a destructor: use alloc_dropped"
            );
        }
        #[allow(clippy::let_unit_value)]
        let () = Check::<T>::PLAIN;
        let place = self.place::<T>();
        // SAFETY: the place is a T's, and stays until 's has ended.
        unsafe {
            place.write(value);
            &mut *place
        }
    }

    /// Moves a value into the scope and drops it at the scope's end, the latest
    /// first.  It may refer to nothing in a scope: its destructor could find
    /// that gone already.
    ///
    /// ```compile_fail
    /// struct Looks<'a>(&'a u32);
    /// impl Drop for Looks<'_> {
    ///     fn drop(&mut self) { println!("{}", self.0); }
    /// }
    /// slice_alloc::scope(|s| {
    ///     let n: &u32 = s.alloc(1);
    ///     s.alloc_dropped(Looks(n));
    /// });
    /// ```
    pub fn alloc_dropped<T: 'static>(&self, value: T) -> &'s mut T {
        unsafe fn run<T>(value: *mut u8) {
            // SAFETY: a T that was written below, dropped once.
            unsafe { value.cast::<T>().drop_in_place() };
        }
        let place = self.place::<T>();
        let cleanup = self.place::<Cleanup>();
        // SAFETY: both places are of their types; from here on nothing fails.
        unsafe {
            place.write(value);
            cleanup.write(Cleanup { next: self.cleanups.get(), run: run::<T>, value: place.cast() });
            self.cleanups.set(cleanup);
            &mut *place
        }
    }

    /// A copy of a string.
    pub fn alloc_str(&self, text: &str) -> &'s mut str {
        let bytes = self.alloc_copy(text.as_bytes());
        // SAFETY: the same bytes.
        unsafe { core::str::from_utf8_unchecked_mut(bytes) }
    }

    /// A copy of a slice.
    pub fn alloc_copy<T: Copy>(&self, values: &[T]) -> &'s mut [T] {
        self.alloc_with(values.len(), |i| values[i])
    }

    /// A slice of `n` values without destructors, made by a function of the
    /// index.
    pub fn alloc_with<T: Copy>(&self, n: usize, mut make: impl FnMut(usize) -> T) -> &'s mut [T] {
        let layout = match Layout::array::<T>(n) {
            Ok(layout) => layout,
            Err(_) => panic!("capacity overflow"),
        };
        assert!(layout.align() <= ALIGNMENT_MAX);
        let place: *mut MaybeUninit<T> = if layout.size() == 0 {
            NonNull::dangling().as_ptr()
        } else {
            self.space(layout).as_ptr().cast()
        };
        // SAFETY: n places of T; what is made has no destructor, so that a
        // panic on the way leaves nothing to do.
        unsafe {
            for i in 0..n {
                place.add(i).write(MaybeUninit::new(make(i)));
            }
            core::slice::from_raw_parts_mut(place.cast(), n)
        }
    }
}

impl Drop for Scope<'_, '_> {
    /// All destructors, also when one of them panics; a second panic ends the
    /// program, as everywhere.
    fn drop(&mut self) {
        struct Rest<'a>(&'a Cell<*mut Cleanup>);
        impl Rest<'_> {
            fn run(&self) {
                while let Some(cleanup) = NonNull::new(self.0.get()) {
                    // SAFETY: in the arena, which outlives its scopes; off the
                    // list before it is run.
                    unsafe {
                        let Cleanup { next, run, value } = cleanup.as_ptr().read();
                        self.0.set(next);
                        run(value);
                    }
                }
            }
        }
        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.run();
            }
        }
        Rest(&self.cleanups).run();
    }
}
