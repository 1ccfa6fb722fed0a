// scopes.rs - scopes, their order of drops and their panics, without unsafe
//
// SPDX-License-Identifier: MIT

#![forbid(unsafe_code)]

use slice_alloc::scope;
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;

struct Logged(u32, Rc<RefCell<Vec<u32>>>);

impl Drop for Logged {
    fn drop(&mut self) {
        self.1.borrow_mut().push(self.0);
        if self.0 == 13 {
            panic!("on purpose");
        }
    }
}

#[test]
fn a_list_in_a_scope() {
    struct Node<'s> {
        next: Option<&'s Node<'s>>,
        n: u32,
        seen: Cell<bool>,
    }
    let total = scope(|s| {
        let mut list = None;
        for n in 0..10_000 {
            list = Some(&*s.alloc(Node { next: list, n, seen: Cell::new(false) }));
        }
        let mut total = 0;
        while let Some(node) = list {
            node.seen.set(true);
            total += node.n;
            list = node.next;
        }
        total
    });
    assert_eq!(total, 9_999 * 10_000 / 2);
}

#[test]
fn inner_scopes_go_first_and_outer_values_stay() {
    let log = Rc::new(RefCell::new(Vec::new()));
    scope(|outer| {
        let text = outer.alloc_str("outer");
        outer.alloc_dropped(Logged(1, log.clone()));
        for round in 0..1_000 {
            outer.scope(|inner| {
                let numbers = inner.alloc_with(round, |i| i * 3);
                assert!(numbers.iter().enumerate().all(|(i, n)| *n == i * 3));
                if round < 2 {
                    inner.alloc_dropped(Logged(2, log.clone()));
                    inner.scope(|last| {
                        last.alloc_dropped(Logged(3, log.clone()));
                        last.alloc_dropped(Logged(4, log.clone()));
                    });
                }
            });
        }
        outer.alloc_dropped(Logged(5, log.clone()));
        assert_eq!(text, "outer");
    });
    assert_eq!(*log.borrow(), [4, 3, 2, 4, 3, 2, 5, 1]);
}

#[test]
fn a_panic_drops_what_is_there() {
    let log = Rc::new(RefCell::new(Vec::new()));
    let done = catch_unwind(AssertUnwindSafe(|| {
        scope(|s| {
            s.alloc_dropped(Logged(1, log.clone()));
            s.scope(|t| {
                t.alloc_dropped(Logged(2, log.clone()));
                panic!("on purpose");
            })
        })
    }));
    assert!(done.is_err());
    assert_eq!(*log.borrow(), [2, 1]);
}

#[test]
fn a_destructor_that_panics_keeps_none_from_running() {
    let log = Rc::new(RefCell::new(Vec::new()));
    let done = catch_unwind(AssertUnwindSafe(|| {
        scope(|s| {
            for n in [1, 13, 2] {
                s.alloc_dropped(Logged(n, log.clone()));
            }
        })
    }));
    assert!(done.is_err());
    assert_eq!(*log.borrow(), [2, 13, 1]);
}

#[test]
fn alignments_and_empty_types() {
    #[repr(align(64))]
    #[derive(Clone, Copy)]
    struct Wide(#[allow(dead_code)] u8);
    scope(|s| {
        for n in 1..500usize {
            s.alloc_with(n, |i| i as u8);
            let wide = s.alloc(Wide(1)) as *const Wide as usize;
            assert_eq!(wide % 64, 0);
            assert_eq!(s.alloc(1u128) as *const u128 as usize % 16, 0);
            s.alloc(());
            assert_eq!(s.alloc_copy(&[] as &[u32]).len(), 0);
        }
    });
}
