//! The table of port kinds. A kind is one file below, and a module line and a row here; kinds that others are built on
//! are modules outside this folder.

mod null;
#[cfg(target_os = "linux")]
pub(crate) mod packet;
mod pcap;
#[cfg(target_os = "linux")]
mod tap;
#[cfg(target_os = "linux")]
mod unix;
#[cfg(target_os = "linux")]
mod xdp;

use crate::kind::Kind;
use crate::{cable, switch};

/// All kinds.
pub static KINDS: &[Kind] = &[
    cable::KIND,
    switch::KIND,
    switch::INTERFACE,
    #[cfg(target_os = "linux")]
    packet::KIND,
    #[cfg(target_os = "linux")]
    tap::KIND,
    #[cfg(target_os = "linux")]
    unix::KIND,
    pcap::KIND,
    null::KIND,
    #[cfg(target_os = "linux")]
    xdp::KIND,
];
