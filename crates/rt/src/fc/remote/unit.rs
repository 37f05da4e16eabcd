//! A disk of a target, as it was found.

use super::integrity::{Edge, Integrity, Mismatches};
use super::written::Written;
use linerate_fcoe::{FoundLun, Guard, Peer, PeerId};
use linerate_text::hex;
use linerate_wire::Wwn;
use linerate_wire::scsi::lun_number;

/// A disk of a target.
#[derive(Clone, Debug)]
pub struct RemoteUnit {
    /// Port name of the target.
    pub wwpn: Wwn,
    /// The target has proved its name.
    pub authenticated: bool,
    pub lun: FoundLun,
    /// Session by which it is reached, while there is one.
    pub peer: Option<PeerId>,
    /// Reason that it is no longer used, in a few words.
    pub ended: Option<String>,
    /// Time at which it became unreachable, while it is.
    pub(super) lost: Option<u64>,
    /// Its last writes.
    pub(super) written: Written,
    /// Checks of its blocks' protection information, if it has any that is checked.
    pub(super) edge: Option<Edge>,
    /// Mismatches of data and protection information that were found here.
    pub found_here: Mismatches,
    /// Those that the target has found.
    pub found_there: Mismatches,
}

impl RemoteUnit {
    /// Disk that was found in a session with a target; of its protection information this is checked.
    pub(super) fn found(target: &Peer, mut lun: FoundLun, integrity: &Integrity) -> Self {
        let edge = Edge::of(&mut lun, integrity);
        let written = Written::new(lun.is_guarded());
        let (found_here, found_there) = (Mismatches::default(), Mismatches::default());
        let (wwpn, peer, authenticated) = (target.wwpn, Some(target.id), target.authenticated);
        Self { wwpn, authenticated, lun, peer, ended: None, lost: None, written, edge, found_here, found_there }
    }

    /// Its LUN: a number if it is one, and 16 hexadecimal digits otherwise.
    #[must_use]
    pub fn number(&self) -> String {
        let digits = || hex(&self.lun.lun.0);
        lun_number(self.lun.lun.0).map_or_else(digits, |number| number.to_string())
    }

    /// Its target's name and its LUN, in one word.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.wwpn, self.number())
    }

    /// Identity in few words: its name in hexadecimal digits, or its serial number if it has none.
    #[must_use]
    pub fn identity(&self) -> String {
        identity(&self.lun)
    }

    /// Takes the disk that was found under its LUN; a sentence for the user if that is another one, or has another size.
    pub(super) fn is_found(&mut self, found: Self) -> Option<String> {
        if let Some(why) = other(&self.lun, &found.lun) {
            self.written.exchange();
            return self.end(&format!("{why}, and is not used: start again to use it"));
        }
        let (before, now) = (size(&self.lun), size(&found.lun));
        let known = std::mem::replace(self, found);
        (self.found_here, self.found_there) = (known.found_here, known.found_there);
        self.written = known.written;
        self.written.trust();
        let name = self.name();
        if known.ended.is_some() {
            return Some(format!("{name}: the disk is back"));
        }
        (before != now).then(|| format!("{name}: its size has changed from {before} to {now} bytes"))
    }

    /// Uses the disk no longer; a sentence for the user, the first time.
    pub(super) fn end(&mut self, why: &str) -> Option<String> {
        let doubt = self.written.doubt();
        self.peer = None;
        self.written.trust();
        let told = self.ended.as_deref() == Some(why);
        self.ended = Some(why.to_owned());
        (!told).then(|| format!("{}: {why}{doubt}", self.name()))
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

/// Size in bytes.
fn size(lun: &FoundLun) -> u128 {
    u128::from(lun.blocks) * u128::from(lun.block_size)
}

/// Reason why the second is not the disk that the first one was: another name, or another make and size if it has none, or
/// another format of its blocks.
fn other(one: &FoundLun, two: &FoundLun) -> Option<String> {
    let make = |lun: &FoundLun| (lun.vendor.clone(), lun.product.clone(), lun.serial.clone(), lun.blocks);
    let format = |lun: &FoundLun| (lun.block_size, lun.protection, lun.interval_exponent);
    if one.designator != two.designator {
        return Some(format!("it is another disk than before, {} and not {}", identity(two), identity(one)));
    }
    if one.designator.is_empty() && make(one) != make(two) {
        return Some(
            "it is another disk than before: it has no name, and another serial number, make or size".to_owned(),
        );
    }
    (format(one) != format(two)).then(|| "the format of its blocks is another one than before".to_owned())
}

/// The disk's name in hexadecimal digits, or its serial number.
fn identity(lun: &FoundLun) -> String {
    match (&lun.designator[..], &lun.serial) {
        ([], Some(serial)) => format!("serial number {serial}"),
        ([], None) => "without a name".to_owned(),
        (name, _) => hex(name),
    }
}
