// main.rs - slice-alloc beside its peers in one run
//
// Each line: nanoseconds of CPU time for an object, the median of the rounds,
// which go through the contestants in turn, and least and most.
//
// With an argument, TABLE.ROW as in 2.1, that contestant runs alone, as often as
// a second argument says: for tools that count instructions.
//
// SPDX-License-Identifier: MIT

#![forbid(unsafe_code)]

use allocator_api2::alloc::{Allocator, Global};
use cpu_time::ThreadTime;
use slice_alloc::{scope, Owned, Pool};
use slice_collections::{InScope, InSlices};
use std::hint::black_box;

const ROUNDS: usize = 15;
const OBJECTS: usize = 1_000;
const REPEATS: usize = 300;

#[derive(Clone, Copy)]
struct Node(#[allow(dead_code)] [u64; 5]);

fn node(i: usize) -> Node {
    Node([i as u64; 5])
}

/// One block, again and again.
fn pairs<B>(make: impl Fn(Node) -> B) {
    for i in 0..OBJECTS {
        drop(black_box(make(node(i))));
    }
}

/// All are made, and all go.
fn fill<B>(nodes: &mut Vec<B>, make: impl Fn(Node) -> B) {
    for i in 0..OBJECTS {
        nodes.push(black_box(make(node(i))));
    }
    nodes.clear();
}

/// A vector of words that grows by single ones.
fn grow(allocator: impl Allocator) {
    let mut words = allocator_api2::vec::Vec::new_in(allocator);
    for i in 0..OBJECTS {
        words.push(i);
    }
    black_box(words.as_slice());
}

fn timed(repeats: usize, mut body: impl FnMut()) -> f64 {
    let start = ThreadTime::now();
    for _ in 0..repeats {
        body();
    }
    start.elapsed().as_nanos() as f64 / (repeats * OBJECTS) as f64
}

type Contestant<'a> = (&'static str, Box<dyn FnMut() + 'a>);

fn table(number: usize, title: &str, mut contestants: Vec<Contestant<'_>>) {
    let mut arguments = std::env::args().skip(1);
    if let Some(chosen) = arguments.next() {
        let n = arguments.next().map_or(1, |n| n.parse().expect("a number"));
        for (i, (_, body)) in contestants.iter_mut().enumerate() {
            if chosen == format!("{number}.{}", i + 1) {
                (0..n).for_each(|_| body());
            }
        }
        return;
    }
    let mut times = vec![Vec::new(); contestants.len()];
    for _ in 0..ROUNDS {
        for (i, (_, body)) in contestants.iter_mut().enumerate() {
            times[i].push(timed(REPEATS, body));
        }
    }
    println!("{title}");
    for ((name, _), times) in contestants.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!(
            "  {name:<24} {:6.2} ns ({:.2} to {:.2})",
            times[ROUNDS / 2],
            times[0],
            times[ROUNDS - 1]
        );
    }
}

fn main() {
    let pool = Pool::new();
    table(
        1,
        "one object of 40 bytes, again and again",
        vec![
            ("slice Owned", Box::new(|| pairs(Owned::new))),
            ("slice Pool", Box::new(|| pairs(|n| pool.alloc(n)))),
            ("Box (system malloc)", Box::new(|| pairs(Box::new))),
        ],
    );
    let mut owned = Vec::with_capacity(OBJECTS);
    let mut pooled = Vec::with_capacity(OBJECTS);
    let mut boxes = Vec::with_capacity(OBJECTS);
    table(
        2,
        "1000 objects are made, then all are freed",
        vec![
            ("slice Owned", Box::new(|| fill(&mut owned, Owned::new))),
            ("slice Pool", Box::new(|| fill(&mut pooled, |n| pool.alloc(n)))),
            ("Box (system malloc)", Box::new(|| fill(&mut boxes, Box::new))),
        ],
    );
    let mut bump = bumpalo::Bump::new();
    let in_a_scope = || {
        scope(|s| {
            for i in 0..OBJECTS {
                black_box(s.alloc(node(i)));
            }
        })
    };
    table(
        3,
        "1000 objects in an arena that is made, and goes",
        vec![
            ("slice scope", Box::new(in_a_scope)),
            (
                "bumpalo",
                Box::new(|| {
                    let bump = bumpalo::Bump::new();
                    for i in 0..OBJECTS {
                        black_box(bump.alloc(node(i)));
                    }
                }),
            ),
        ],
    );
    scope(|s| {
        table(
            4,
            "1000 objects in an arena that is used again",
            vec![
                (
                    "slice scope in a scope",
                    Box::new(|| {
                        s.scope(|t| {
                            for i in 0..OBJECTS {
                                black_box(t.alloc(node(i)));
                            }
                        })
                    }),
                ),
                (
                    "bumpalo, reset",
                    Box::new(|| {
                        for i in 0..OBJECTS {
                            black_box(bump.alloc(node(i)));
                        }
                        bump.reset();
                    }),
                ),
            ],
        );
        table(
            5,
            "a vector that grows to 1000 words, in an arena that is used again",
            vec![
                ("slice scope in a scope", Box::new(|| s.scope(|t| grow(InScope(t))))),
                (
                    "bumpalo, reset",
                    Box::new(|| {
                        grow(&bump);
                        bump.reset();
                    }),
                ),
            ],
        );
    });
    table(
        6,
        "a vector that grows to 1000 words",
        vec![
            ("slice InSlices", Box::new(|| grow(InSlices))),
            ("system malloc", Box::new(|| grow(Global))),
        ],
    );
}
