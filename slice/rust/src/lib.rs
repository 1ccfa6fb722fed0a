//! libslice for Rust: blocks that know their size.
//!
//! - [`Slices`] is a global allocator; all collections go by it.
//! - [`Owned`] is a box whose size the compiler knows: on x86-64 its
//!   allocation and its free are inline, as in C.
//! - [`Pool`] holds objects of one type; what it gives cannot outlive it.
//! - [`scope`] runs a function with an arena; all that was put into it goes
//!   when the function ends, and an inner scope goes before.
//!
//! The users of the last three write no `unsafe`.
//!
//! When memory runs out they end the program by `handle_alloc_error`, as `Box`
//! does.
//!
//! SPDX-License-Identifier: MIT

#![warn(missing_docs)]
#![warn(unsafe_op_in_unsafe_fn)]

mod global;
mod owned;
mod pool;
mod raw;
mod scope;

pub use global::Slices;
pub use owned::Owned;
pub use pool::{Pool, Pooled};
pub use scope::{scope, Scope};

#[doc(hidden)]
pub use raw::{class, layout_of_version_1};
