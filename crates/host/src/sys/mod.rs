//! System calls of the host. All `unsafe` code of this crate is here.

#[cfg(target_os = "linux")]
pub(crate) mod arp;
#[cfg(target_os = "linux")]
pub(crate) mod bpf;
#[cfg(target_os = "linux")]
pub(crate) mod control;
#[cfg(target_os = "linux")]
pub(crate) mod ethtool;
#[cfg(target_os = "linux")]
pub(crate) mod icmp;
#[cfg(target_os = "linux")]
pub(crate) mod netlink;
#[cfg(target_os = "linux")]
pub(crate) mod netns;
pub(crate) mod user;
