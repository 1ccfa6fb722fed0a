// blocks.rs - the global allocator, typed slices and pools, without unsafe
//
// SPDX-License-Identifier: MIT

#![forbid(unsafe_code)]

use slice_alloc::{Owned, Pool, Slices};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;

#[global_allocator]
static SLICES: Slices = Slices;

/// Counts its drops.
struct Counted(Rc<Cell<u32>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn layout_is_the_headers() {
    // check-rust.sh says what C's are.
    if let Ok(wanted) = std::env::var("SLICE_LAYOUT") {
        let ours = slice_alloc::layout_of_version_1();
        assert_eq!(format!("{} {} {}", ours[0], ours[1], ours[2]), wanted);
        println!("compared");
    }
}

#[test]
fn classes_grow_with_sizes() {
    for size in 1..2064 {
        let step = slice_alloc::class(size + 1) - slice_alloc::class(size);
        assert!(step <= 1, "{size}");
    }
}

#[test]
fn collections() {
    let mut map = HashMap::new();
    let mut tree = BTreeMap::new();
    for i in 0..20_000u64 {
        map.insert(i, vec![i as u8; (i % 3000) as usize]);
        tree.insert(i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i.to_string());
        if i % 3 == 0 {
            map.remove(&(i / 2));
        }
    }
    for (i, bytes) in &map {
        assert_eq!(bytes.len() as u64, i % 3000);
        assert!(bytes.iter().all(|b| *b == *i as u8));
    }
    assert_eq!(tree.len(), 20_000);
}

/// KiB of the process in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap_or("VmRSS: 0 kB");
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn large_zeroes_are_not_touched() {
    const BYTES: usize = 1 << 30;
    let before = resident();
    let zeroes = vec![0u8; BYTES];
    let wide = vec![0u128; BYTES / 16];
    assert!(zeroes.iter().step_by(1 << 22).all(|b| *b == 0));
    assert!(wide.iter().step_by(1 << 18).all(|w| *w == 0));
    // Two times 256 pages were read; huge ones may lie there, but not all.
    assert!(resident() < before + (2 * BYTES / 1024) * 3 / 4);
}

#[test]
fn zeroed_blocks_are_zero() {
    #[repr(align(64))]
    #[derive(Clone, Copy)]
    struct Wide(#[allow(dead_code)] u8);
    for size in (1..3000).chain([5_000, 70_000, 400_000]) {
        drop(vec![0xa5u8; size]);
        assert!(vec![0u8; size].iter().all(|b| *b == 0), "{size}");
        assert!(vec![0u128; size].iter().all(|w| *w == 0), "{size}");
    }
    drop(vec![Wide(1); 100]);
}

/// All sizes are resized to all others: from and to slices, in the C library.
#[test]
fn blocks_that_are_resized_keep_their_bytes() {
    let sizes = [1, 8, 24, 100, 2_000, 2_064, 2_065, 2_073, 3_000, 100_000, 500_000];
    for old in sizes {
        for new in sizes {
            let mut bytes: Vec<u8> = Vec::with_capacity(old);
            bytes.extend((0..old.min(new)).map(|i| i as u8));
            if new > old {
                bytes.reserve_exact(new - old);
            } else {
                bytes.shrink_to(new);
            }
            assert!(bytes.iter().enumerate().all(|(i, b)| *b == i as u8), "{old} {new}");
            let mut words: Vec<u128> = Vec::with_capacity(old);
            words.extend((0..old.min(new)).map(|i| i as u128));
            words.reserve_exact(new.saturating_sub(words.len()));
            words.shrink_to(new);
            assert_eq!(words.as_ptr() as usize % 16, 0);
            assert!(words.iter().enumerate().all(|(i, w)| *w == i as u128), "{old} {new}");
        }
    }
}

#[test]
fn a_large_block_grows_without_a_copy() {
    const BYTES: usize = 256 << 20;
    let before = resident();
    let mut bytes = vec![0u8; BYTES];
    bytes.reserve_exact(BYTES); // a copy would touch all pages of the new one
    // Where blocks are registered, they are copied.
    if std::env::var_os("SLICE_OPTIONS").is_none() {
        assert!(resident() < before + BYTES / 1024 / 2);
    }
    assert!(bytes.capacity() >= 2 * BYTES && bytes[BYTES - 1] == 0);
}

#[test]
fn alignments() {
    #[repr(align(16))]
    struct A16([u8; 48]);
    #[repr(align(64))]
    struct A64([u8; 64]);
    #[repr(align(4096))]
    struct A4096([u8; 4096]);
    fn aligned<T>(value: T) {
        let boxes = [Box::new(0u8)];
        let owned = Owned::new(value);
        assert_eq!(&*owned as *const T as usize % std::mem::align_of::<T>(), 0);
        assert_eq!(*boxes[0], 0);
    }
    for _ in 0..100 {
        aligned(A16([1; 48]));
        aligned(A64([1; 64]));
        aligned(A4096([1; 4096]));
        aligned(1u128);
        aligned([1u8; 5000]);
    }
    let _ = (A16([0; 48]).0, A64([0; 64]).0, A4096([0; 4096]).0);
}

#[test]
fn owned_drops_once() {
    let drops = Rc::new(Cell::new(0));
    {
        let mut first = Owned::new(Counted(drops.clone()));
        let second = Owned::new(Counted(drops.clone()));
        first.0 = drops.clone();
        let inner = second.into_inner();
        assert_eq!(drops.get(), 0);
        drop(inner);
        assert_eq!(drops.get(), 1);
    }
    assert_eq!(drops.get(), 2);
    let nothing = Owned::new(());
    nothing.into_inner();
}

#[test]
fn owned_goes_to_another_thread() {
    let (send, receive) = mpsc::channel();
    let reader = thread::spawn(move || receive.iter().map(|b: Owned<[u64; 5]>| b[4]).sum::<u64>());
    for i in 0..10_000 {
        send.send(Owned::new([i; 5])).unwrap();
    }
    drop(send);
    assert_eq!(reader.join().unwrap(), 9_999 * 10_000 / 2);
}

struct Panics(#[allow(dead_code)] u64);

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[test]
fn a_destructor_that_panics_frees() {
    let pool = Pool::new();
    for _ in 0..10 {
        assert!(catch_unwind(AssertUnwindSafe(|| drop(pool.alloc(Panics(1))))).is_err());
        assert!(catch_unwind(|| drop(Owned::new(Panics(1)))).is_err());
    }
    assert_eq!(pool.n_live(), 0);
}

#[test]
fn pool() {
    let drops = Rc::new(Cell::new(0));
    let pool = Pool::new();
    let mut live = Vec::new();
    for i in 0..5_000u32 {
        live.push(pool.alloc((i, Counted(drops.clone()))));
        if i % 3 == 2 {
            live.swap_remove((i / 2) as usize % live.len());
        }
    }
    assert_eq!(pool.n_live(), live.len());
    let mut seen: Vec<u32> = live.iter().map(|o| o.0).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), live.len());
    live.clear();
    assert_eq!(drops.get(), 5_000);
    assert_eq!(pool.n_live(), 0);
    std::mem::forget(pool.alloc((0, Counted(drops.clone()))));
    assert_eq!(pool.n_live(), 1);
    drop(live);
    drop(pool);
    assert_eq!(drops.get(), 5_000);
}

#[test]
fn pool_moves_to_another_thread() {
    let pool = Pool::new();
    drop(pool.alloc([1u64; 3]));
    thread::spawn(move || {
        let object = pool.alloc([2u64; 3]);
        assert_eq!(object[2], 2);
    })
    .join()
    .unwrap();
}
