//! A disk of a target, as it was found.

use super::integrity::{Edge, Integrity, Mismatches};
use linerate_fcoe::{FoundLun, Guard, PeerId};
use linerate_wire::Wwn;

/// A disk of a target.
#[derive(Clone, Debug)]
pub struct RemoteUnit {
    /// Port name of the target.
    pub wwpn: Wwn,
    /// Logical unit that was found.
    pub lun: FoundLun,
    /// Session by which it is reached, while there is one.
    pub peer: Option<PeerId>,
    /// Time at which it became unreachable, while it is.
    pub(super) lost: Option<u64>,
    /// Checks of its blocks' protection information, if it has any that is checked.
    pub(super) edge: Option<Edge>,
    /// Mismatches of data and protection information that were found here.
    pub found_here: Mismatches,
    /// Those that the target has found.
    pub found_there: Mismatches,
}

impl RemoteUnit {
    /// Disk that was found in a session with a target; of its protection information this is checked.
    pub(super) fn found(wwpn: Wwn, session: PeerId, mut lun: FoundLun, integrity: &Integrity) -> Self {
        let edge = Edge::of(&mut lun, integrity);
        let (found_here, found_there) = (Mismatches::default(), Mismatches::default());
        Self { wwpn, lun, peer: Some(session), lost: None, edge, found_here, found_there }
    }

    /// Takes the same disk, found in another session; false if it is another disk than before.
    pub(super) fn is_back(&mut self, found: Self) -> bool {
        let same = is_same(&self.lun, &found.lun);
        if same {
            *self = Self { found_here: self.found_here, found_there: self.found_there, ..found };
        }
        same
    }

    /// Guard of the protection information that is made and checked here; None if there is none.
    #[must_use]
    pub fn checked(&self) -> Option<Guard> {
        self.edge.map(|edge| edge.guard())
    }

    /// The protection information of the disk, and whether it is checked here, in a few words; None if it has none.
    #[must_use]
    pub fn protection(&self) -> Option<String> {
        let how = match self.checked() {
            Some(Guard::Crc16) => "checked by CRC",
            Some(Guard::IpChecksum) => "checked by IP checksum",
            None => "not checked here",
        };
        (self.lun.protection > 0).then(|| format!("protection type {}, {how}", self.lun.protection))
    }
}

/// True if both are the same disk: of the same name, or of the same make if it has none, and of the same size and format.
fn is_same(one: &FoundLun, other: &FoundLun) -> bool {
    let identity = |lun: &FoundLun| {
        let make = (lun.vendor.clone(), lun.product.clone(), lun.serial.clone());
        (
            lun.designator.clone(),
            lun.designator.is_empty().then_some(make),
            lun.block_size,
            lun.blocks,
            (lun.protection, lun.interval_exponent),
        )
    };
    identity(one) == identity(other)
}
