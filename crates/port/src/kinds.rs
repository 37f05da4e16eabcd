//! The table of port kinds. A kind is one file and one row.

use crate::kind::Kind;
use crate::{cable, null, pcap, switch};
#[cfg(target_os = "linux")]
use crate::{packet, tap, unix, xdp};

/// All kinds.
pub static KINDS: &[Kind] = &[
    cable::KIND,
    switch::KIND,
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
