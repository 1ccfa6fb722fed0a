// resize.rs - blocks of the allocator that are zeroed and resized
//
// SPDX-License-Identifier: MIT

use allocator_api2::alloc::{AllocError, Allocator};
use core::alloc::Layout;
use core::ptr::NonNull;
use slice_collections::InSlices;

const SIZES: [usize; 8] = [0, 1, 100, 2_064, 2_065, 4_000, 70_000, 1 << 20];

type Resized = Result<NonNull<[u8]>, AllocError>;

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

fn bytes<'a>(block: NonNull<[u8]>, layout: Layout) -> &'a mut [u8] {
    assert_eq!(block.len(), layout.size());
    assert_eq!(block.cast::<u8>().as_ptr() as usize % layout.align(), 0);
    // SAFETY: the tests write a block before they read it.
    unsafe { &mut *block.as_ptr() }
}

/// Resizes by a function; `after` looks at the bytes that are new.
fn resize(
    old: Layout,
    new: Layout,
    by: impl Fn(NonNull<u8>, Layout, Layout) -> Resized,
    after: impl Fn(&[u8]),
) {
    let block = InSlices.allocate(old).unwrap();
    for (i, byte) in bytes(block, old).iter_mut().enumerate() {
        *byte = i as u8;
    }
    let moved = by(block.cast(), old, new).unwrap();
    let moved_bytes = bytes(moved, new);
    let n = old.size().min(new.size());
    assert!(moved_bytes[..n].iter().enumerate().all(|(i, b)| *b == i as u8));
    after(&moved_bytes[n..]);
    // SAFETY: the block is not used any more.
    unsafe { InSlices.deallocate(moved.cast(), new) };
}

#[test]
fn zeroed() {
    for size in SIZES {
        for align in [1, 8, 16, 64, 4096, 8192] {
            let layout = layout(size, align);
            let block = InSlices.allocate_zeroed(layout).unwrap();
            assert!(bytes(block, layout).iter().all(|b| *b == 0));
            bytes(block, layout).fill(0xa5);
            // SAFETY: the block is not used any more.
            unsafe { InSlices.deallocate(block.cast(), layout) };
        }
    }
}

#[test]
fn resized() {
    // SAFETY, in all three: the block has the old layout.
    for (old, new) in SIZES.iter().flat_map(|a| SIZES.map(|b| (*a, b))) {
        for (from, to) in [(1, 1), (16, 16), (64, 64), (8, 64), (4096, 1)] {
            let (old, new) = (layout(old, from), layout(new, to));
            if new.size() < old.size() {
                resize(old, new, |b, o, n| unsafe { InSlices.shrink(b, o, n) }, |_| ());
                continue;
            }
            resize(old, new, |b, o, n| unsafe { InSlices.grow(b, o, n) }, |_| ());
            resize(
                old,
                new,
                |b, o, n| unsafe { InSlices.grow_zeroed(b, o, n) },
                |rest| assert!(rest.iter().all(|b| *b == 0)),
            );
        }
    }
}
