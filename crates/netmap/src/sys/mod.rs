//! System calls, and the memory that the program maps. All `unsafe` code of this crate is here and in `entry/sys.rs`.

pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod real;
pub(crate) mod say;
pub(crate) mod user;
