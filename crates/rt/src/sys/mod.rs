//! System calls and machine instructions, one concept a file. All `unsafe` code of this crate is here.

pub(crate) mod affinity;
pub(crate) mod inode;
pub(crate) mod limits;
pub(crate) mod poll;
pub(crate) mod privileges;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod stdio;
pub(crate) mod time;
pub(crate) mod tsc;
pub(crate) mod uring;
pub(crate) mod usage;
