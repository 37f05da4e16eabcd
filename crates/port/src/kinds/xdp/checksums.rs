//! Whether somebody below completes the checksums of frames that ask for it (AF_XDP's transmit metadata).
//!
//! The kernel takes any request, and a driver that does not know it passes it over: so it has to be known beforehand.

use super::host::Host;
use crate::release;
use linerate_host::{Ethtool, XSK_TX_CHECKSUM, xsk_features};

/// What the user is told when the kernel takes no requests, from which it can be seen too.
pub(super) const REFUSED: &str =
    "checksums of frames that are sent are completed by linerate: this kernel does not take them (Linux 6.18 does)";

/// Nothing if checksums may be asked for; otherwise why they are not.
///
/// In copy mode the kernel makes socket buffers of the frames, with which it does as with its own stack's: the driver
/// completes the checksum, or the kernel does if the driver does not. Before Linux 6.18 that holds for some drivers only
/// (not for those that take the memory's pages as they are, as virtio_net: `xsk_build_skb_zerocopy`).
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
    // The far end would see them as they are, and an XDP program there has nobody to complete them.
    if host.link.kind == "veth"
        && Ethtool::open().and_then(|mut ethtool| ethtool.offloads(name)).map_or(true, |offloads| offloads.tx_checksum)
    {
        return Err(format!(
            "checksums of frames that are sent are completed by linerate: a veth whose transmit checksum offload is on \
             would pass them on open; type 'ethtool -K {name} tx off' to have the kernel complete them"
        ));
    }
    Ok(())
}
