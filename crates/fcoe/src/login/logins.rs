//! Interface of the logins: calls, events and timers.

use super::recent::Recent;
use super::table::{NeighbourIndex, Pending, Proved, ReplyPath, State, Table, fits};
use super::{
    LoginConfig, LoginCounters, LoginEvent, MAX_PAYLOAD, MIN_PAYLOAD, NeighbourInfo, R_A_TOV, SessionEnd, TunneledEls,
    Ways,
};
use crate::auth::Authenticator;
use crate::{Link, Peer, PeerId};
use linerate_wire::{ElsCommand, Eof, FcHeader, FcId, FcType, FcoeFrame, MacAddr, OxId, Sof, f_ctl, r_ctl};
use std::collections::VecDeque;

/// Time limit for a reply to a link service (FC-LS-3, reply time).
pub(super) const REPLY_TIME: u64 = 2 * R_A_TOV;
/// Time limit for the PLOGI of a neighbour whose FLOGI we accepted: long enough for it to repeat one.
pub(super) const PLOGI_TIME: u64 = 2 * REPLY_TIME;

/// The logins of one VN_Port with its neighbours.
///
/// Each call that takes [`Ways`] may send frames and make events; [`Logins::poll_event`] is to be called until it has
/// none, after each of them. Time is in nanoseconds from any origin, and does not go back.
#[derive(Debug)]
pub struct Logins {
    pub(super) config: LoginConfig,
    pub(super) own: Option<(FcId, MacAddr)>,
    pub(super) table: Table,
    pub(super) events: VecDeque<LoginEvent>,
    pub(super) counters: LoginCounters,
    /// The last OX_ID assigned.
    pub(super) last_ox_id: OxId,
    /// Time before which no entry wakes.
    pub(super) next: Option<u64>,
    /// All sessions are being logged out, and no new login begins.
    pub(super) closing: bool,
    /// Secrets, if ports authenticate each other.
    pub(super) auth: Option<Authenticator>,
}

impl Logins {
    /// First OX_ID of our link services; FCP's exchanges have lower ones.
    pub const FIRST_OX_ID: OxId = OxId(0xf000);
    /// Last OX_ID of our link services.
    pub const LAST_OX_ID: OxId = OxId(0xfffe);

    /// Logins without neighbours, and without an address.
    #[must_use]
    pub fn new(config: &LoginConfig) -> Self {
        let config =
            LoginConfig { max_payload: config.max_payload.clamp(MIN_PAYLOAD, MAX_PAYLOAD) & !3, ..config.clone() };
        Self {
            table: Table::new(&config),
            config,
            own: None,
            events: VecDeque::new(),
            counters: LoginCounters::default(),
            last_ox_id: Self::LAST_OX_ID,
            next: None,
            closing: false,
            auth: None,
        }
    }

    /// Sets our address and our VN_Port's MAC address, once claimed. With another one, or none, all sessions end
    /// without a frame to the peers: a request to the old address would reach another port, or none.
    pub fn set_own(&mut self, own: Option<(FcId, MacAddr)>) {
        if own == self.own {
            return;
        }
        self.own = own;
        for index in self.table.indices() {
            self.lose(index, SessionEnd::NoAddress);
            self.reset(index);
            if let Some(entry) = self.table.entry_mut(index) {
                entry.beaconed = false;
            }
        }
    }

    /// Processes a beacon of a neighbour. The first one begins the login if the roles fit (FC-BB-6, VN2VN login), and
    /// so does each while there is none; the first one after a login that the neighbour began checks that the login
    /// still holds.
    pub fn neighbour_beacon(&mut self, now: u64, info: &NeighbourInfo, ways: &mut impl Ways) {
        let Some(index) = self.know(info) else { return };
        let Some(entry) = self.table.entry_mut(index) else { return };
        let first = !std::mem::replace(&mut entry.beaconed, true);
        match entry.state {
            State::Idle => self.start(now, index, ways),
            State::Port => self.process_login(now, index, ways),
            State::Ready if first => {
                entry.verify = true;
                self.settle(now, index, ways);
            }
            _ => {}
        }
    }

    /// Adds a neighbour that has not sent a beacon yet: the login begins if the roles fit and the neighbour has not
    /// begun it. A neighbour that was there before us may, as Linux, still wait for an answer of our previous process.
    pub fn neighbour_answered(&mut self, now: u64, info: &NeighbourInfo, ways: &mut impl Ways) {
        let Some(index) = self.know(info) else { return };
        if self.table.entry(index).is_some_and(|entry| entry.state == State::Idle) {
            self.start(now, index, ways);
        }
    }

    /// Records that a neighbour claims its present address: its next beacon counts as its first, after which it is
    /// asked by ADISC (FC-LS-3) if we are still logged in. A neighbour that has restarted has no login, and would
    /// notice only with our next beacon.
    pub fn neighbour_claimed(&mut self, id: FcId) {
        if let Some(entry) = self.table.find(id).and_then(|index| self.table.entry_mut(index)) {
            entry.beaconed = false;
        }
    }

    /// Logs out a neighbour that sent no beacon for too long, or whose link went down, though nobody may receive it.
    pub fn neighbour_gone(&mut self, now: u64, id: FcId, ways: &mut impl Ways) {
        if let Some(index) = self.table.find(id) {
            self.log_out(now, index, SessionEnd::Gone, ways);
            self.table.remove(index);
        }
    }

    /// Logs out of all sessions and begins no more. [`Logins::is_quiet`] is true when all peers have answered or timed
    /// out.
    pub fn log_out_all(&mut self, now: u64, ways: &mut impl Ways) {
        self.closing = true;
        for index in self.table.indices() {
            self.log_out(now, index, SessionEnd::Shutdown, ways);
        }
    }

    /// Logs a peer out whose answers show that it is not logged in; its next beacon begins a new login.
    pub fn log_in_again(&mut self, now: u64, peer: PeerId, ways: &mut impl Ways) {
        if self.peer(peer).is_some() {
            self.log_out(now, NeighbourIndex(peer.index), SessionEnd::Silent, ways);
        }
    }

    /// True if none of our requests waits for its reply.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.table.entries().all(|(_, entry)| entry.pending.is_none())
    }

    /// Processes a link service received inside FIP.
    pub fn handle_fip_els(&mut self, now: u64, els: &TunneledEls<'_>, ways: &mut impl Ways) {
        if let Some(info) = &els.neighbour
            && info.fc_id == els.header.s_id
        {
            self.know(info);
        }
        self.dispatch(now, ReplyPath::Fip(els.src, els.mac), &els.header, els.payload, ways);
    }

    /// Processes a received frame with a link service: an ELS, or a BLS that is about no FCP exchange.
    pub fn handle(&mut self, now: u64, link: &Link, frame: &FcoeFrame<'_>, ways: &mut impl Ways) {
        let header = frame.header();
        // The echo of a payload longer than our limit would not fit into one frame.
        let long = frame.payload().len() > usize::from(self.config.max_payload);
        if frame.sof() != Sof::I3 || frame.eof() != Eof::T || long {
            self.counters.malformed += 1;
            return;
        }
        self.dispatch(now, ReplyPath::Fc(link.src), header, frame.payload(), ways);
    }

    /// Does the work that is due: gives up replies that did not come, repeats requests.
    pub fn poll(&mut self, now: u64, ways: &mut impl Ways) {
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        for index in self.table.indices() {
            if self.table.entry(index).and_then(|entry| entry.wake).is_some_and(|wake| wake <= now) {
                self.wake(now, index, ways);
            }
        }
        self.next = self.table.entries().filter_map(|(_, entry)| entry.wake).min();
    }

    /// Time at which [`Logins::poll`] is to be called next; it may have nothing to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        self.next
    }

    /// The next event, in order.
    pub fn poll_event(&mut self) -> Option<LoginEvent> {
        self.events.pop_front()
    }

    /// Logged-in peer with this address; found in constant time.
    #[must_use]
    pub fn peer_by_id(&self, id: FcId) -> Option<&Peer> {
        self.table.entry(self.table.find(id)?)?.up.as_ref()
    }

    /// Peer with this identifier, if the session is still the same.
    #[must_use]
    pub fn peer(&self, id: PeerId) -> Option<&Peer> {
        self.table.entry(NeighbourIndex(id.index))?.up.as_ref().filter(|peer| peer.id == id)
    }

    pub fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.table.entries().filter_map(|(_, entry)| entry.up.as_ref())
    }

    #[must_use]
    pub fn counters(&self) -> &LoginCounters {
        &self.counters
    }

    /// Index of a neighbour, which is entered if it is new. A neighbour with another's address, or with a new address,
    /// replaces the old entry.
    fn know(&mut self, info: &NeighbourInfo) -> Option<NeighbourIndex> {
        let own = self.own.map(|(id, _)| id);
        if !(1..=0xffff).contains(&info.fc_id.value()) || own == Some(info.fc_id) || info.wwpn == self.config.wwpn {
            self.counters.bad_neighbours += 1;
            return None;
        }
        for index in [self.table.find(info.fc_id), self.table.find_name(info.wwpn)].into_iter().flatten() {
            let Some(known) = self.table.entry_mut(index) else { continue };
            let same = NeighbourInfo { max_fcoe_size: 0, role: None, ..known.info }
                == NeighbourInfo { max_fcoe_size: 0, role: None, ..*info };
            if same {
                // A beacon carries fewer fields than a claim.
                known.info.role = info.role.or(known.info.role);
                if info.max_fcoe_size != 0 {
                    known.info.max_fcoe_size = info.max_fcoe_size;
                }
                return Some(index);
            }
            self.lose(index, SessionEnd::Moved);
            self.table.remove(index);
        }
        let index = self.table.insert(*info);
        if index.is_none() {
            self.counters.table_full += 1;
        }
        index
    }

    /// Begins a login, if that is possible.
    pub(super) fn start(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        let Some(entry) = self.table.entry_mut(index) else { return };
        if self.own.is_none() || self.closing || !fits(self.config.role, entry.info.role) {
            return;
        }
        entry.state = State::Flogi;
        entry.retries = 0;
        self.request(now, index, ElsCommand::FLOGI, ways);
    }

    /// Ends a session, if there is one. The entry stays.
    pub(super) fn lose(&mut self, index: NeighbourIndex, why: SessionEnd) {
        let Some(entry) = self.table.entry_mut(index) else { return };
        entry.process = None;
        (entry.verify, entry.ask_times) = (false, false);
        (entry.e_d_tov, entry.r_a_tov) = (super::E_D_TOV, super::R_A_TOV);
        if let Some(peer) = entry.up.take() {
            self.counters.downs += 1;
            self.events.push_back(LoginEvent::Down(peer.id, why));
        }
    }

    /// Cancels the requests to a neighbour, until its next beacon.
    pub(super) fn reset(&mut self, index: NeighbourIndex) {
        if let Some(entry) = self.table.entry_mut(index) {
            (entry.state, entry.pending, entry.wake, entry.retries) = (State::Idle, None, None, 0);
            entry.plogi_refused = false;
            (entry.secure, entry.proved, entry.transaction) = (false, Proved::default(), None);
            // The login that comes next may be the last one in all bytes: Linux gives OX_IDs again at once.
            entry.recent = Recent::default();
        }
    }

    /// Ends a session with a logout to the peer.
    pub(super) fn log_out(&mut self, now: u64, index: NeighbourIndex, why: SessionEnd, ways: &mut impl Ways) {
        let Some(entry) = self.table.entry(index) else { return };
        let said = entry.state >= State::PlogiWait;
        self.lose(index, why);
        self.reset(index);
        if said {
            self.request(now, index, ElsCommand::LOGO, ways);
        }
    }

    /// Sets the time at which an entry wakes.
    pub(super) fn wake_at(&mut self, index: NeighbourIndex, at: u64) {
        if let Some(entry) = self.table.entry_mut(index) {
            entry.wake = Some(at);
            self.next = Some(self.next.map_or(at, |next| next.min(at)));
        }
    }

    /// Passes a link service to the handler of its kind.
    fn dispatch(&mut self, now: u64, way: ReplyPath, header: &FcHeader, payload: &[u8], ways: &mut impl Ways) {
        let Some((own, _)) = self.own else { return self.counters.wrong_destination += 1 };
        // A FLOGI may go to the well-known address of the fabric's F_Port, whose part each VN_Port plays here.
        let to_fabric = header.d_id == FcId::FABRIC && ElsCommand::of(payload) == ElsCommand::FLOGI;
        if header.d_id != own && !to_fabric {
            self.counters.wrong_destination += 1;
            return;
        }
        // FC-LS-3: each of these services is a sequence of one frame, which transfers the initiative.
        let whole = header.seq_cnt == 0 && header.df_ctl == 0 && header.has(f_ctl::END_SEQUENCE);
        match (header.r_ctl, header.fc_type) {
            (r_ctl::ELS_REQUEST, FcType::ELS) if whole && !header.from_responder() => {
                self.answer(now, way, header, payload, ways);
            }
            (r_ctl::ELS_REPLY, FcType::ELS) if whole && header.from_responder() => {
                self.replied(now, way, header, payload, ways);
            }
            (r_ctl::BLS_ABTS, FcType::BLS) => self.answer_abort(way, header, ways),
            (r_ctl::BLS_BA_ACC | r_ctl::BLS_BA_RJT, FcType::BLS) => self.counters.unknown_replies += 1,
            _ => self.counters.malformed += 1,
        }
    }

    /// Assigns an OX_ID that no pending request has.
    pub(super) fn ox_id(&mut self) -> OxId {
        loop {
            self.last_ox_id =
                if self.last_ox_id >= Self::LAST_OX_ID { Self::FIRST_OX_ID } else { OxId(self.last_ox_id.0 + 1) };
            let ox_id = self.last_ox_id;
            let taken = |pending: Pending| pending.ox_id == ox_id;
            if !self.table.entries().any(|(_, entry)| entry.pending.is_some_and(taken)) {
                return ox_id;
            }
        }
    }
}
