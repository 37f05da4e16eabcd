//! System calls of the host. `unsafe` of this crate stands here and nowhere else.

pub(crate) mod bpf;
pub(crate) mod ethtool;
pub(crate) mod interface;
pub(crate) mod netlink;
pub(crate) mod netns;
