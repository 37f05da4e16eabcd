//! The table of neighbours: each at a fixed index, found by its address in constant time.

use super::recent::Recent;
use super::{LoginConfig, MIN_PAYLOAD, NeighbourInfo};
use crate::auth::Transaction;
use crate::indexed::{Indexed, table_index};
use crate::{Peer, PeerId, Role};
use linerate_wire::{ElsCommand, FcId, FcoeFrame, LoginRepr, MacAddr, OxId, Wwn};

/// State of the logins with a neighbour. The order counts: from [`State::Auth`] on it is logged in as N_Port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// Not begun: begins with its next beacon.
    Idle,
    /// We have sent FLOGI, or are to send it.
    Flogi,
    /// FLOGI is done, and the neighbour's PLOGI is awaited.
    PlogiWait,
    /// We have sent PLOGI, or are to send it.
    Plogi,
    /// PLOGI is done, and an authentication is under way or awaited.
    Auth,
    /// PLOGI is done, and we have sent PRLI, or are to send it.
    Prli,
    /// PLOGI is done, and there is no process login.
    Port,
    /// Our PRLI is done.
    Ready,
}

/// A request of ours that is not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) command: ElsCommand,
    pub(super) ox_id: OxId,
}

/// Service parameters of PRLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) role: Role,
    pub(super) retry: bool,
    pub(super) confirm: bool,
}

/// Ends of a login that have proved their names.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Proved {
    pub(super) theirs: bool,
    pub(super) ours: bool,
}

/// A neighbour.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) info: NeighbourInfo,
    /// The neighbour has sent a beacon since it was entered.
    pub(super) beaconed: bool,
    pub(super) state: State,
    pub(super) pending: Option<Pending>,
    /// Time at which the pending request times out; without one, time at which the state's request is sent (again).
    pub(super) wake: Option<u64>,
    /// Number of times that the state's request was repeated.
    pub(super) retries: u8,
    /// Its PLOGI was refused while the reply to our FLOGI was awaited, which it may have overtaken: it comes again.
    pub(super) plogi_refused: bool,
    /// ADISC is to be sent as soon as nothing is pending.
    pub(super) verify: bool,
    /// RTV is to be sent as soon as nothing is pending.
    pub(super) ask_times: bool,
    /// Bytes of payload in a frame, as agreed by PLOGI.
    pub(super) max_payload: usize,
    pub(super) e_d_tov: u64,
    pub(super) r_a_tov: u64,
    /// Properties of its process, once a PRLI established an image pair.
    pub(super) process: Option<Process>,
    /// An event has told that it rejects us because of our name.
    pub(super) told: bool,
    /// Its PLOGI, or the LS_ACC to ours, has offered authentication.
    pub(super) secure: bool,
    /// It has proved its name, and we have proved ours, since that PLOGI.
    pub(super) proved: Proved,
    /// The authentication that is under way, or was the last.
    pub(super) transaction: Option<Transaction>,
    /// Its requests of a moment ago.
    pub(super) recent: Recent,
    /// The session, while it is up.
    pub(super) up: Option<Peer>,
}

impl Entry {
    fn new(info: NeighbourInfo) -> Self {
        Self {
            info,
            beaconed: false,
            state: State::Idle,
            pending: None,
            wake: None,
            retries: 0,
            plogi_refused: false,
            verify: false,
            ask_times: false,
            max_payload: usize::from(MIN_PAYLOAD),
            e_d_tov: super::E_D_TOV,
            r_a_tov: super::R_A_TOV,
            process: None,
            told: false,
            secure: false,
            proved: Proved::default(),
            transaction: None,
            recent: Recent::default(),
            up: None,
        }
    }

    /// True if the names in its service parameters match its claim.
    pub(super) fn is_named(&self, port_name: Wwn, node_name: Wwn) -> bool {
        (self.info.wwpn, self.info.wwnn) == (port_name, node_name)
    }

    /// Sets the payload of frames to it: the least of its receive size, the path's limit, and our own size.
    pub(super) fn agree_on_payload(&mut self, ours: u16, login: &LoginRepr) {
        let reaches =
            usize::from(self.info.max_fcoe_size).checked_sub(FcoeFrame::OVERHEAD).unwrap_or(usize::from(ours));
        let takes = login.receive_size.min(login.class_3.receive_size);
        self.max_payload = usize::from(ours.min(takes)).min(reaches).max(usize::from(MIN_PAYLOAD)) & !3;
    }
}

table_index! {
    /// The place of a neighbour in the table of logins: the index of its [`PeerId`].
    NeighbourIndex
}

const NONE: NeighbourIndex = NeighbourIndex(u16::MAX);
/// Each neighbour may have one request pending, and there are 4095 OX_IDs for them.
const MOST: u16 = 2048;

/// A fixed number of entries, and the index of each address.
#[derive(Debug)]
pub(super) struct Table {
    places: Indexed<NeighbourIndex, Option<Entry>>,
    generations: Indexed<NeighbourIndex, u16>,
    /// Indices by N_Port_ID: VN2VN's have 16 bits (FC-BB-6, locally unique N_Port_ID).
    by_id: Box<[NeighbourIndex]>,
}

impl Table {
    pub(super) fn new(config: &LoginConfig) -> Self {
        let places = u16::try_from(config.peers).map_or(MOST, |peers| peers.clamp(1, MOST));
        Self {
            places: Indexed::filled(places, || None),
            generations: Indexed::filled(places, || 0),
            by_id: vec![NONE; 1 << 16].into_boxed_slice(),
        }
    }

    pub(super) fn find(&self, id: FcId) -> Option<NeighbourIndex> {
        let index = *self.by_id.get(usize::try_from(id.value()).ok()?)?;
        (index != NONE).then_some(index)
    }

    pub(super) fn find_name(&self, wwpn: Wwn) -> Option<NeighbourIndex> {
        self.entries().find(|(_, entry)| entry.info.wwpn == wwpn).map(|(index, _)| index)
    }

    pub(super) fn entry(&self, index: NeighbourIndex) -> Option<&Entry> {
        self.places.get(index)?.as_ref()
    }

    pub(super) fn entry_mut(&mut self, index: NeighbourIndex) -> Option<&mut Entry> {
        self.places.get_mut(index)?.as_mut()
    }

    /// Entries in use, with their indices.
    pub(super) fn entries(&self) -> impl Iterator<Item = (NeighbourIndex, &Entry)> {
        self.places.indices().zip(self.places.iter()).filter_map(|(index, entry)| Some((index, entry.as_ref()?)))
    }

    pub(super) fn indices(&self) -> impl Iterator<Item = NeighbourIndex> + use<> {
        self.places.indices()
    }

    /// Enters a neighbour whose address is new; None if the table is full.
    pub(super) fn insert(&mut self, info: NeighbourInfo) -> Option<NeighbourIndex> {
        let index = self.places.indices().find(|index| self.places[*index].is_none())?;
        *self.by_id.get_mut(usize::try_from(info.fc_id.value()).ok()?)? = index;
        self.places[index] = Some(Entry::new(info));
        Some(index)
    }

    pub(super) fn remove(&mut self, index: NeighbourIndex) {
        if let Some(entry) = self.places.get_mut(index).and_then(Option::take)
            && let Ok(id) = usize::try_from(entry.info.fc_id.value())
        {
            self.by_id[id] = NONE;
        }
    }

    /// Identifier of a neighbour's next session.
    pub(super) fn next_session(&mut self, index: NeighbourIndex) -> PeerId {
        let generation = &mut self.generations[index];
        *generation = generation.wrapping_add(1);
        PeerId { index: index.0, generation: *generation }
    }
}

/// True if ports of these roles can communicate; an unknown role may fit.
pub(super) fn fits(ours: Role, theirs: Option<Role>) -> bool {
    theirs.is_none_or(|theirs| ours.target && theirs.initiator || ours.initiator && theirs.target)
}

/// Path of a link service, and of its reply.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReplyPath {
    /// Inside FIP, from this ENode MAC address, of a VN_Port with the second address if it states one.
    Fip(MacAddr, Option<MacAddr>),
    /// In an FCoE frame, from this MAC address.
    Fc(MacAddr),
}

impl ReplyPath {
    /// True if it comes from this neighbour.
    pub(super) fn is_from(self, info: &NeighbourInfo) -> bool {
        match self {
            Self::Fip(enode, vn) => enode == info.enode_mac && vn.is_none_or(|vn| vn == info.vn_mac),
            Self::Fc(vn) => vn == info.vn_mac,
        }
    }
}
