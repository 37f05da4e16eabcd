//! Completion of transmit checksums by kernel or driver on request (AF_XDP's transmit metadata).
//!
//! The kernel accepts any request, and a driver without support ignores it: so support has to be known beforehand.

use super::host::Host;
use crate::release;
use linerate_host::shell::word;
use linerate_host::{Ethtool, XSK_TX_CHECKSUM, xsk_features};

/// Note for the user when the kernel refuses requests, which also shows that it has no support.
pub(super) const REFUSED: &str =
    "checksums of frames that are sent are completed by linerate: this kernel does not take them (Linux 6.18 does)";

/// Checks that checksums may be requested; the error is the reason that they may not.
///
/// In copy mode the kernel makes socket buffers of the frames and treats them like those of its own stack: the driver
/// completes the checksum, or else the kernel does. Before Linux 6.18 that holds for some drivers only (not for those
/// that take the memory's pages as they are, such as virtio_net: `xsk_build_skb_zerocopy`).
pub(super) fn who(host: &Host, zero_copy: bool) -> Result<(), String> {
    let name = host.link.name.as_str();
    if zero_copy {
        let features = xsk_features(host.link.index).unwrap_or(0);
        return if features & XSK_TX_CHECKSUM != 0 {
            Ok(())
        } else {
            Err(format!("checksums of frames that are sent are completed by linerate: {name}'s driver does not"))
        };
    }
    if !release::is_at_least([6, 18]) {
        return Err(REFUSED.into());
    }
    // The far end would see the frames unchanged, and an XDP program there cannot have them completed.
    if host.link.kind == "veth"
        && Ethtool::open().and_then(|mut ethtool| ethtool.offloads(name)).map_or(true, |offloads| offloads.tx_checksum)
    {
        return Err(format!(
            "checksums of frames that are sent are completed by linerate: a veth whose transmit checksum offload is on \
             would pass them on open; to have the kernel complete them, type: ethtool -K {} tx off",
            word(name)
        ));
    }
    Ok(())
}
