//! The cases, a group a file. Another case is one row.

pub(crate) mod arp;
pub(crate) mod discovery;
pub(crate) mod extensions;
pub(crate) mod fragments_v4;
pub(crate) mod fragments_v6;
pub(crate) mod groups;
pub(crate) mod icmp;
pub(crate) mod icmpv6;
pub(crate) mod link;
pub(crate) mod malformed;
pub(crate) mod martians;
pub(crate) mod mtu;
pub(crate) mod options;
pub(crate) mod udp;
