//! The offloads that matter to who reads an interface's frames.

use super::Features;

/// What an interface does for the kernel. On a veth pair: what it leaves undone for the far end to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offloads {
    /// Fills in checksums of frames that are sent; a veth passes them on unfilled.
    pub tx_checksum: bool,
    /// Cuts TCP super-frames that are sent; a veth passes them on whole.
    pub tso: bool,
    /// The kernel cuts super-frames late, just before the driver.
    pub gso: bool,
    /// The kernel joins received frames.
    pub gro: bool,
}

const TX_CHECKSUM: &str = "tx-checksumming";
const TSO: &str = "tcp-segmentation-offload";
const GSO: &str = "generic-segmentation-offload";
const GRO: &str = "generic-receive-offload";

impl Offloads {
    pub(super) fn of(features: &Features) -> Self {
        Self {
            tx_checksum: features.any_active(TX_CHECKSUM),
            tso: features.any_active(TSO),
            gso: features.any_active(GSO),
            gro: features.any_active(GRO),
        }
    }

    /// The features to be switched so that these are what an interface has: of what differs, all that can be.
    pub(super) fn changes<'a>(&self, features: &'a Features) -> Vec<(&'a str, bool)> {
        let now = Self::of(features);
        let groups = [
            (TX_CHECKSUM, now.tx_checksum, self.tx_checksum),
            (TSO, now.tso, self.tso),
            (GSO, now.gso, self.gso),
            (GRO, now.gro, self.gro),
        ];
        let differ = groups.into_iter().filter(|(_, now, wanted)| now != wanted);
        differ
            .flat_map(|(group, _, wanted)| {
                let members = features.members(group).filter(|(_, feature)| feature.changeable);
                members.map(move |(name, _)| (name, wanted))
            })
            .collect()
    }
}
