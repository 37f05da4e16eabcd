//! System calls of the host. All `unsafe` code of this crate is here.

pub(crate) mod arp;
pub(crate) mod bpf;
pub(crate) mod control;
pub(crate) mod ethtool;
pub(crate) mod icmp;
pub(crate) mod netlink;
pub(crate) mod netns;
