//! System calls, the C entry points, and the memory that the program maps. All `unsafe` code of this crate is here.

#[cfg(not(test))]
mod hooks;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod real;
pub(crate) mod user;
