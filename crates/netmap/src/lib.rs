//! `/dev/netmap` without netmap's module: a library that is preloaded into an unmodified C program and serves its calls by
//! linerate's ports, inside the program's process.
//!
//! A call's way: `entry/sys.rs` has the C entry points and passes on what is not netmap's; `table.rs` tells netmap's
//! descriptors from others; `control.rs` (and `legacy.rs`, the older ones) reads requests, `register.rs` finds the rings that are
//! meant and `file.rs` has them; `wait.rs` is poll and its relatives, `epoll.rs` epoll.
//! `vale.rs` has what is asked of switches (`switches.rs`), which threads run (`forward.rs`); `monitor.rs` copies for monitors.
//! `port.rs` joins one of linerate's ports to netmap's rings (`ring.rs`, `tx.rs`, `rx.rs`), which lie in the memory that the
//! program maps (`pool.rs` over `sys/memory.rs`).
//!
//! # Trust
//! Everything that the program can write (rings, slots, buffers, requests) is hostile: it is read once by atomic words or
//! copied, checked, and then used. See DESIGN.md.

// A program of unit tests keeps the C library's entry points, and calls little of what stands behind ours.
#![cfg_attr(test, allow(dead_code))]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("the entry points are those of 64-bit Linux");

mod area;
mod control;
#[cfg(not(test))]
mod entry;
mod epoll;
mod facts;
mod file;
mod forks;
mod forward;
mod heirs;
mod legacy;
mod members;
mod monitor;
mod name;
mod parents;
mod pool;
mod port;
mod register;
mod request;
mod ring;
mod rx;
mod select;
mod sleep;
mod switches;
mod sys;
mod table;
mod tx;
mod vale;
mod vnet;
mod wait;
