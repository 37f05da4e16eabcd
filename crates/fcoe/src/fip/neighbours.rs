//! Table of neighbours, of fixed size.

use super::config::AGE;
use super::counters::FipDrop;
use super::identifiers::is_usable;
use crate::Role;
use linerate_wire::{Fc4Features, FcId, FipFrame, FipVn2vnRepr, MacAddr, Wwn};
use std::fmt;

/// Most neighbours in the table.
pub(super) const NEIGHBOURS: usize = 256;

/// A VN_Port that has claimed its identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// Its N_Port_ID.
    pub fc_id: FcId,
    /// The VN_Port's MAC address, the destination of FCoE frames.
    pub mac: MacAddr,
    /// The ENode's MAC address, the destination of FIP frames.
    pub enode_mac: MacAddr,
    pub wwpn: Wwn,
    pub wwnn: Wwn,
    /// Role of the port in FCP; neither, when it does not support FCP.
    pub role: Role,
    /// Bytes of its longest FCoE frame after the Ethernet header.
    pub max_fcoe_size: u16,
}

impl Neighbour {
    /// Neighbour described by a claim; None for a frame of another kind.
    pub(super) fn from_claim(repr: &FipVn2vnRepr) -> Option<Self> {
        let claim = repr.claim?;
        let bits = claim.features.fcp().unwrap_or(0);
        Some(Self {
            fc_id: repr.port.fc_id,
            mac: repr.port.mac,
            enode_mac: repr.enode_mac,
            wwpn: repr.port.name,
            wwnn: repr.node_name,
            role: Role { target: bits & Fc4Features::TARGET != 0, initiator: bits & Fc4Features::INITIATOR != 0 },
            max_fcoe_size: claim.max_fcoe_size,
        })
    }

    /// True if a frame of discovery comes from this port.
    pub(super) fn sent(&self, repr: &FipVn2vnRepr) -> bool {
        (self.fc_id, self.enode_mac, self.wwpn, self.wwnn)
            == (repr.port.fc_id, repr.enode_mac, repr.port.name, repr.node_name)
    }
}

/// True if the sender's fields in a frame of discovery are consistent with each other and with the source address.
pub(super) fn is_consistent(src: MacAddr, repr: &FipVn2vnRepr) -> bool {
    let port = &repr.port;
    let beacon = repr.kind == linerate_wire::Vn2vnKind::Beacon;
    is_usable(port.fc_id)
        && port.mac == port.fc_id.mac(FipFrame::VN2VN_FC_MAP)
        && !repr.enode_mac.is_multicast()
        && repr.enode_mac != MacAddr::UNSPECIFIED
        && (src == repr.enode_mac || beacon && src == port.mac)
}

/// A part of a port's identity that no other may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The port's name.
    Name(Wwn),
    Id(FcId),
    /// Its ENode's MAC address, which the station of this port's name has too.
    Mac(Wwn),
}

/// A claim to what another live station has. It changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedClaim {
    /// The identity in question.
    pub what: Identity,
    /// MAC address of the ENode that has it.
    pub holder: MacAddr,
    /// MAC address of the ENode that claims it too.
    pub claimant: MacAddr,
}

impl fmt::Display for RefusedClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, holder, claimant } = self;
        if let Identity::Mac(wwpn) = what {
            return write!(
                f,
                "the station of WWPN {wwpn} has MAC {holder} too, our own: frames for one of us reach the other, and logins and \
                 commands are late or lost; give one another --mac"
            );
        }
        if holder == claimant {
            return write!(
                f,
                "another station has MAC {holder} too, our own: it is refused, but takes frames of ours each time it comes; \
                 end it, or give it another --mac and --wwpn"
            );
        }
        match what {
            Identity::Name(wwpn) => write!(f, "WWPN {wwpn}")?,
            Identity::Id(fc_id) => write!(f, "N_Port_ID {fc_id}")?,
            Identity::Mac(_) => {}
        }
        write!(f, " belongs to MAC {holder}: refused to MAC {claimant} until that one leaves or is silent for 20 s")
    }
}

/// The last claimant that was refused, and the time at which it was told of.
#[derive(Debug, Default)]
pub(super) struct Rival(Option<(MacAddr, u64)>);

impl Rival {
    /// True if this claimant is to be told of: it is another one than the last, of which there is one in 20 s.
    pub(super) fn is_news(&mut self, now: u64, claimant: MacAddr) -> bool {
        let news = self.0.is_none_or(|(last, at)| last != claimant && now >= at.saturating_add(AGE));
        if news {
            self.0 = Some((claimant, now));
        }
        news
    }
}

#[derive(Debug)]
struct Entry {
    neighbour: Neighbour,
    /// Time at which it was entered, and at which it last claimed or beaconed.
    since: u64,
    heard: u64,
    /// The port has ever sent a Beacon.
    beaconed: bool,
    /// An event has told of the neighbour, so another must tell when it is gone.
    told: bool,
    /// The entry must not make room for another.
    pinned: bool,
    /// The port has logged out since it was last heard of: its name is free.
    left: bool,
    rival: Rival,
}

impl Entry {
    /// True if the port has kept its identifier through its claim, or is logged in.
    fn is_settled(&self) -> bool {
        self.beaconed || self.pinned
    }
}

/// The neighbours, by identifier.
#[derive(Debug)]
pub(super) struct Neighbours {
    entries: Vec<Entry>,
    /// Time before which no entry expires.
    age_at: u64,
}

impl Neighbours {
    pub(super) fn new() -> Self {
        Self { entries: Vec::with_capacity(NEIGHBOURS), age_at: u64::MAX }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Neighbour> {
        self.entries.iter().map(|entry| &entry.neighbour)
    }

    pub(super) fn find(&self, fc_id: FcId) -> Option<&Neighbour> {
        self.iter().find(|neighbour| neighbour.fc_id == fc_id)
    }

    pub(super) fn pin(&mut self, fc_id: FcId, pinned: bool) -> bool {
        let entry = self.entry(fc_id);
        let known = entry.is_some();
        // The caller that pins a neighbour knows it, so it must be told when it is gone.
        entry.into_iter().for_each(|entry| (entry.pinned, entry.told) = (pinned, entry.told | pinned));
        known
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.age_at = u64::MAX;
    }

    /// Enters a claim; the error is the reason that it is not, or the claim to what another station has. Passes displaced
    /// neighbours to `gone`, if an event told of them.
    ///
    /// Linux lets the last claimant of a name have it, which ends the first one's sessions.
    pub(super) fn learn(&mut self, now: u64, new: Neighbour, mut gone: impl FnMut(Neighbour)) -> Result<(), FipDrop> {
        let named = |old: &Neighbour| old.wwpn == new.wwpn && old.enode_mac != new.enode_mac;
        if let Some(at) = self.entries.iter().position(|entry| named(&entry.neighbour)) {
            if !self.entries[at].left {
                return Err(FipDrop::NameInUse);
            }
            self.remove(at, &mut gone);
        }
        // A port that chose another identifier has left its old one.
        let moved = |old: &Neighbour| old.wwpn == new.wwpn && old.enode_mac == new.enode_mac && old.fc_id != new.fc_id;
        if let Some(at) = self.entries.iter().position(|entry| moved(&entry.neighbour)) {
            self.remove(at, &mut gone);
        }
        if let Some(at) = self.entries.iter().position(|entry| entry.neighbour.fc_id == new.fc_id) {
            let entry = &mut self.entries[at];
            let old = entry.neighbour;
            if (old.wwpn, old.wwnn, old.enode_mac) == (new.wwpn, new.wwnn, new.enode_mac) {
                entry.neighbour = new;
                (entry.heard, entry.left) = (now, false);
                return Ok(());
            }
            // The lesser name must give way. It does so itself, by a claim of another identifier, unless the other claim
            // is a forged one.
            if entry.is_settled() && !entry.left {
                return Err(FipDrop::IdInUse);
            }
            self.remove(at, &mut gone);
        }
        if self.entries.len() == NEIGHBOURS {
            // Whoever sends claims can send Beacons, in any number of names: only who answers a login has proved itself.
            let unproven = self.entries.iter().enumerate().filter(|(_, entry)| !entry.pinned);
            let Some((oldest, _)) = unproven.min_by_key(|(_, entry)| entry.since) else {
                return Err(FipDrop::TableFull);
            };
            self.remove(oldest, &mut gone);
        }
        self.entries.push(Entry {
            neighbour: new,
            since: now,
            heard: now,
            beaconed: false,
            told: false,
            pinned: false,
            left: false,
            rival: Rival::default(),
        });
        self.age_at = self.age_at.min(now.saturating_add(AGE));
        Ok(())
    }

    /// The refusal of a claim, if it is to be told of.
    pub(super) fn refuse(&mut self, now: u64, new: &Neighbour) -> Option<RefusedClaim> {
        let named = self.entries.iter().position(|entry| entry.neighbour.wwpn == new.wwpn);
        let at = named.or_else(|| self.entries.iter().position(|entry| entry.neighbour.fc_id == new.fc_id))?;
        let what = if named.is_some() { Identity::Name(new.wwpn) } else { Identity::Id(new.fc_id) };
        let Entry { neighbour, rival, .. } = &mut self.entries[at];
        let refused = RefusedClaim { what, holder: neighbour.enode_mac, claimant: new.enode_mac };
        rival.is_news(now, refused.claimant).then_some(refused)
    }

    /// Records a Beacon: the neighbour is alive.
    pub(super) fn beacon(&mut self, now: u64, fc_id: FcId) {
        if let Some(entry) = self.entry(fc_id) {
            entry.heard = now;
            (entry.beaconed, entry.left) = (true, false);
        }
    }

    /// Records whether the last login or logout of a neighbour was a logout.
    pub(super) fn leave(&mut self, fc_id: FcId, left: bool) {
        self.entry(fc_id).into_iter().for_each(|entry| entry.left = left);
    }

    /// Passes neighbours that never sent a Beacon to `tell`, and marks them as told.
    pub(super) fn tell_silent(&mut self, mut tell: impl FnMut(Neighbour)) {
        for entry in self.entries.iter_mut().filter(|entry| !entry.beaconed) {
            entry.told = true;
            tell(entry.neighbour);
        }
    }

    /// The neighbour with this identifier, if no event has told of it and the table is full: it may have to give way before
    /// its next Beacon.
    pub(super) fn untold_in_crowd(&self, fc_id: FcId) -> Option<Neighbour> {
        let entry = self.entries.iter().find(|entry| entry.neighbour.fc_id == fc_id && !entry.told);
        entry.filter(|_| self.entries.len() == NEIGHBOURS).map(|entry| entry.neighbour)
    }

    pub(super) fn told(&mut self, fc_id: FcId) {
        self.entry(fc_id).into_iter().for_each(|entry| entry.told = true);
    }

    /// True if an event told of the neighbour that sent this, with its present identifier.
    pub(super) fn is_told(&self, repr: &FipVn2vnRepr) -> bool {
        self.entries.iter().any(|entry| entry.told && entry.beaconed && entry.neighbour.sent(repr))
    }

    /// Time at which [`age`](Self::age) is to be called again: at the latest when the first neighbour expires.
    pub(super) fn age_at(&self) -> u64 {
        self.age_at
    }

    /// Removes neighbours that were silent for too long, and passes those that an event told of to `gone`.
    pub(super) fn age(&mut self, now: u64, mut gone: impl FnMut(Neighbour)) {
        let mut at = 0;
        self.age_at = u64::MAX;
        while let Some(entry) = self.entries.get(at) {
            let ends = entry.heard.saturating_add(AGE);
            if ends <= now {
                self.remove(at, &mut gone);
            } else {
                self.age_at = self.age_at.min(ends);
                at += 1;
            }
        }
    }

    fn entry(&mut self, fc_id: FcId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.neighbour.fc_id == fc_id)
    }

    fn remove(&mut self, at: usize, gone: &mut impl FnMut(Neighbour)) {
        let entry = self.entries.swap_remove(at);
        if entry.told {
            gone(entry.neighbour);
        }
    }
}
