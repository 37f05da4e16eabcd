//! Offloads that affect the frames read from an interface.

use super::Features;

/// Offloads of an interface. On a veth pair: work that the sending end leaves undone, visible at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offloads {
    /// Completes checksums of frames that are sent; a veth passes them on incomplete.
    pub tx_checksum: bool,
    /// Segments TCP super-frames that are sent; a veth passes them on whole.
    pub tso: bool,
    /// The kernel segments super-frames late, just before the driver (GSO).
    pub gso: bool,
    /// The kernel merges received frames (GRO).
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

    /// Features to be switched to reach these offloads: of those that differ, all that can be changed.
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
