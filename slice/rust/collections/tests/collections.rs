// collections.rs - vectors, boxes and maps in slices and in scopes
//
// SPDX-License-Identifier: MIT

#![forbid(unsafe_code)]

use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use hashbrown::HashMap;
use slice_alloc::scope;
use slice_collections::{InScope, InSlices};
use std::cell::Cell;

/// The sum of what a vector holds that has grown by single elements.
fn grown(numbers: &mut impl Extend<u64>, n: u64) {
    for i in 0..n {
        numbers.extend(Some(i));
    }
}

#[test]
fn vectors_of_slices_and_beyond() {
    let mut numbers = Vec::new_in(InSlices);
    grown(&mut numbers, 10_000); // above the largest slice as well
    assert!(numbers.iter().copied().eq(0..10_000));
    numbers.truncate(3);
    numbers.shrink_to_fit();
    assert_eq!(numbers.as_slice(), [0, 1, 2]);
}

#[test]
fn a_vector_in_a_scope_grows_in_place() {
    scope(|s| {
        let mut numbers = Vec::with_capacity_in(4, InScope(s));
        grown(&mut numbers, 4);
        let place = numbers.as_ptr();
        grown(&mut numbers, 4);
        assert_eq!(numbers.as_ptr(), place, "the last block moved");
        s.alloc(1u64); // now it is not the last one
        grown(&mut numbers, 8);
        assert_ne!(numbers.as_ptr(), place, "it grew over another object");
        assert_eq!(numbers.as_slice(), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7]);
    });
}

#[test]
fn what_lies_behind_a_vector_is_not_overwritten() {
    scope(|s| {
        let mut vectors = std::vec::Vec::new();
        for i in 0..50u8 {
            vectors.push((i, Vec::new_in(InScope(s)), s.alloc(i)));
        }
        for round in 0..500 {
            for (i, bytes, beside) in vectors.iter_mut() {
                if round % (*i as usize + 1) == 0 {
                    bytes.push(*i);
                }
                assert_eq!(**beside, *i);
            }
        }
        for (i, bytes, _) in &vectors {
            assert!(bytes.iter().all(|byte| byte == i));
            assert_eq!(bytes.len(), (500 + *i as usize) / (*i as usize + 1));
        }
    });
}

#[test]
fn a_vector_outlives_an_inner_scope() {
    scope(|s| {
        s.scope(|inner| {
            let mut numbers = Vec::new_in(InScope(inner));
            grown(&mut numbers, 1_000);
            assert_eq!(numbers.iter().sum::<u64>(), 499_500);
        });
        let mut numbers = Vec::new_in(InScope(s));
        grown(&mut numbers, 2_000);
        assert_eq!(numbers.iter().sum::<u64>(), 1_999_000);
    });
}

#[test]
fn elements_are_dropped() {
    struct Counted<'a>(&'a Cell<u32>);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let n = Cell::new(0);
    scope(|s| {
        let mut counted = Vec::new_in(InScope(s));
        for _ in 0..100 {
            counted.push(Counted(&n));
        }
        drop(Box::new_in(Counted(&n), InScope(s)));
        assert_eq!(n.get(), 1);
    });
    drop(Box::new_in(Counted(&n), InSlices));
    assert_eq!(n.get(), 102);
}

#[test]
fn no_bytes_and_large_alignments() {
    #[repr(align(256))]
    struct Wide(u8);
    scope(|s| {
        let units: Vec<(), _> = {
            let mut units = Vec::new_in(InScope(s));
            units.resize(10, ());
            units
        };
        assert_eq!(units.len(), 10);
        let mut wide = Vec::new_in(InScope(s));
        for i in 0..20 {
            wide.push(Wide(i));
            assert_eq!(wide.as_ptr() as usize % 256, 0);
        }
        assert!(wide.iter().map(|w| w.0).eq(0..20));
    });
}

#[test]
fn maps() {
    let mut squares = HashMap::new_in(InSlices);
    for i in 0..1_000u64 {
        squares.insert(i, i * i);
    }
    assert_eq!(squares[&30], 900);
    scope(|s| {
        let mut names = HashMap::new_in(InScope(s));
        for i in 0..1_000u64 {
            names.insert(i, s.alloc_str(&i.to_string()));
        }
        names.remove(&7);
        assert_eq!(names.len(), 999);
        assert_eq!(*names[&400], *"400");
    });
}
