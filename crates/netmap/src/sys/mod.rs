//! System calls, and the memory that the program maps. `unsafe` code of this crate is here and at the entry points.

pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod real;
pub(crate) mod user;
