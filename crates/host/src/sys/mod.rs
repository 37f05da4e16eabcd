//! System calls of the host. `unsafe` of this crate stands here and nowhere else.

pub(crate) mod bpf;
pub(crate) mod control;
pub(crate) mod drvinfo;
pub(crate) mod netlink;
pub(crate) mod netns;
