// main.rs - slice-alloc beside its peers in one run
//
// Each line: nanoseconds of CPU time for an object, the median of the rounds,
// which go through the contestants in turn.
//
// SPDX-License-Identifier: MIT

#![forbid(unsafe_code)]

use slice_alloc::{scope, Owned, Pool};
use std::hint::black_box;
use std::time::Instant;

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

fn timed(repeats: usize, mut body: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repeats {
        body();
    }
    start.elapsed().as_nanos() as f64 / (repeats * OBJECTS) as f64
}

type Contestant<'a> = (&'static str, Box<dyn FnMut() + 'a>);

fn table(title: &str, mut contestants: Vec<Contestant<'_>>) {
    let mut times = vec![Vec::new(); contestants.len()];
    for _ in 0..ROUNDS {
        for (i, (_, body)) in contestants.iter_mut().enumerate() {
            times[i].push(timed(REPEATS, body));
        }
    }
    println!("{title}");
    for ((name, _), times) in contestants.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("  {name:<24} {:6.2} ns", times[ROUNDS / 2]);
    }
}

fn main() {
    let pool = Pool::new();
    table(
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
    });
}
