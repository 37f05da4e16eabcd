//! The state machine of discovery: its calls and its timers. Received frames are processed in `receive`.

mod receive;

use linerate_sum::SplitMix64;
use std::collections::VecDeque;

use super::config::*;
use super::counters::FipCounters;
use super::identifiers::Identifiers;
use super::neighbours::{NEIGHBOURS, Neighbour, Neighbours, RefusedClaim, Rival};
use super::sender::Sender;
use crate::Transmit;
use linerate_wire::*;

/// Most events that wait; of droppable ones half as many, so that the others of one call always have room.
const EVENTS: usize = 4 * NEIGHBOURS;

/// LS_RJT: the one reply that carries no MAC address.
const LS_RJT: u8 = 0x01;

/// Bytes of the longest payload that a descriptor has room for.
const MAX_PAYLOAD: usize = 255 * 4 - 4 - FcHeader::LEN;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FipEvent {
    /// The node has an N_Port_ID: it was claimed, nobody objected, and the first Beacon is sent.
    Up {
        fc_id: FcId,
        /// The VN_Port's MAC address.
        mac: MacAddr,
    },
    /// The node has lost its N_Port_ID, and all neighbours: the link went down, or another port took the identifier.
    Down,
    /// A neighbour is alive: every Beacon of a port that has claimed its identifier.
    Beacon(Neighbour),
    /// A neighbour answered our claim and has not sent a Beacon by the time of our second one: it was there before us,
    /// and its next Beacon may be 8 s away. Later, in a full table, each that answers: it may have lost its place by then.
    Answered(Neighbour),
    /// A neighbour known from a Beacon claims its present identifier: it may have restarted, without any logins.
    Claimed(Neighbour),
    /// A neighbour is gone: it was silent for 20 s, or it or its identifier's new owner made a new claim. Comes only
    /// for neighbours that other events told of.
    Gone(Neighbour),
    /// A claim to the identity of a neighbour, or to our name, was refused; one claimant in 20 s is told of.
    Refused(RefusedClaim),
    /// The ENode of this MAC address has our name, and had it first. We have no N_Port_ID, and try again every 10 s.
    NameInUse(MacAddr),
    /// A login or logout for our identifier was received.
    Els {
        /// Link service; a reply repeats it.
        kind: FipElsKind,
        /// The sender, when it is a neighbour with this S_ID and ENode MAC address.
        from: Option<Neighbour>,
        /// The sender's ENode MAC address, the destination of an answer.
        enode_mac: MacAddr,
        header: FcHeader,
        payload: Vec<u8>,
        /// The VN_Port MAC address that the sender states; always the one derived from its S_ID.
        mac: Option<MacAddr>,
    },
}

/// State of the port; each but the first ends at [`Vn2vn::due`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The link is down.
    Off,
    /// Before the first Probe Request.
    Start,
    /// After the first.
    Probe1,
    /// After the second.
    Probe2,
    /// After the Claim Notification.
    Claim,
    /// Beaconing.
    Up,
}

/// VN2VN discovery of a VN_Port (FC-BB-6, clause 7, VN2VN): it finds a free N_Port_ID, keeps it, and knows the other
/// ports.
///
/// Two Probe Requests ask for the identifier; if 400 ms later nobody has replied, a Claim Notification takes it, which
/// all others answer; 400 ms later Beacons begin, the first after 400 ms, then one every 8 s. A conflict is won by the
/// greater port name; the loser starts again with another identifier. A name belongs to the station that claimed it
/// first, until that logs out or is silent for 20 s, and so does an identifier that a Beacon has confirmed.
///
/// Time is in nanoseconds from any origin, the same in all calls. Events are to be taken after each call that takes a
/// time: the number of waiting events is bounded, and events without room are dropped, first of all Beacons and logins,
/// which are counted.
#[derive(Debug)]
pub struct Vn2vn {
    config: FipConfig,
    /// The mode in force.
    mode: FipMode,
    state: State,
    /// End of the state; in state `Up`, time of the next Beacon.
    due: u64,
    /// N_Port_ID that we have or want.
    fc_id: FcId,
    identifiers: Identifiers,
    /// Identifiers tried since the link came up.
    tries: u32,
    /// Kind of the last frame to all, and its time.
    last: Option<(Vn2vnKind, u64)>,
    /// Time at which the last Claim Notification was sent.
    claimed: Option<u64>,
    /// The second Beacon has been sent.
    settled: bool,
    neighbours: Neighbours,
    /// The last other station with our name.
    rival: Rival,
    events: VecDeque<FipEvent>,
    counters: FipCounters,
    random: SplitMix64,
    sender: Sender,
}

impl Vn2vn {
    /// A node whose link is down.
    #[must_use]
    pub fn new(config: &FipConfig) -> Self {
        let identifiers = Identifiers::new(config.wwpn);
        Self {
            config: *config,
            mode: config.mode,
            state: State::Off,
            due: u64::MAX,
            fc_id: identifiers.first(),
            identifiers,
            tries: 0,
            last: None,
            claimed: None,
            settled: false,
            neighbours: Neighbours::new(),
            rival: Rival::default(),
            events: VecDeque::with_capacity(EVENTS),
            counters: FipCounters::default(),
            random: SplitMix64::new(config.seed),
            sender: Sender::new(config),
        }
    }

    /// Sets the state of the link. When it comes up again, the last identifier is tried first, in the configured mode.
    pub fn set_link(&mut self, now: u64, up: bool) {
        if up && self.state == State::Off {
            self.identifiers = Identifiers::new(self.config.wwpn);
            self.begin(now, self.config.mode);
        } else if !up && self.state != State::Off {
            self.leave();
            self.state = State::Off;
            self.due = u64::MAX;
        }
    }

    /// True while the link is up.
    #[must_use]
    pub fn has_link(&self) -> bool {
        self.state != State::Off
    }

    /// Processes a received frame: `ethernet` begins with its Ethernet header and may end with padding.
    pub fn handle(&mut self, now: u64, ethernet: &[u8], out: &mut impl Transmit) {
        self.counters.received += 1;
        if let Err(reason) = self.take(now, ethernet, out) {
            self.counters.drop(reason);
        }
    }

    /// Does the work that is due.
    pub fn poll(&mut self, now: u64, out: &mut impl Transmit) {
        if self.neighbours.age_at() <= now {
            let events = &mut self.events;
            self.neighbours.age(now, |gone| tell(events, FipEvent::Gone(gone)));
        }
        if self.due <= now {
            self.advance(now, out);
        }
    }

    /// Time at which [`poll`](Self::poll) has work; None while the link is down.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        Some(self.due.min(self.neighbours.age_at())).filter(|&at| at != u64::MAX)
    }

    /// The oldest event that was not taken yet.
    pub fn poll_event(&mut self) -> Option<FipEvent> {
        self.events.pop_front()
    }

    /// Our N_Port_ID and the VN_Port's MAC address, while we have them.
    #[must_use]
    pub fn own(&self) -> Option<(FcId, MacAddr)> {
        (self.state == State::Up).then(|| (self.fc_id, self.fc_id.mac(FipFrame::VN2VN_FC_MAP)))
    }

    /// Mode in force: the configured one, or multipoint if point-to-point is not possible.
    #[must_use]
    pub fn mode(&self) -> FipMode {
        self.mode
    }

    /// Ports that have claimed an identifier and were heard in the last 20 s; at most 256.
    pub fn neighbours(&self) -> impl Iterator<Item = &Neighbour> {
        self.neighbours.iter()
    }

    #[must_use]
    pub fn neighbour(&self, fc_id: FcId) -> Option<&Neighbour> {
        self.neighbours.find(fc_id)
    }

    /// Pins a neighbour in the table, or unpins it: a pinned one, for logged-in ports, makes no room for others. It
    /// still expires after 20 s of silence. False when there is no such neighbour.
    pub fn pin(&mut self, fc_id: FcId, pinned: bool) -> bool {
        self.neighbours.pin(fc_id, pinned)
    }

    #[must_use]
    pub fn counters(&self) -> &FipCounters {
        &self.counters
    }

    /// Sends a login or logout, or an answer to one, to the ENode `to`, with our VN_Port's MAC address in it unless it
    /// is a reject. `header.r_ctl` distinguishes requests from replies; `kind` is the request's kind, also in a reply.
    /// False when it was not sent: we have no identifier, the payload is not a whole number of words or longer than 992
    /// bytes, or there is no room.
    pub fn send_els(
        &mut self,
        to: MacAddr,
        kind: FipElsKind,
        header: &FcHeader,
        payload: &[u8],
        out: &mut impl Transmit,
    ) -> bool {
        let Some((_, mac)) = self.own() else { return false };
        if payload.len() > MAX_PAYLOAD || !payload.len().is_multiple_of(4) {
            return false;
        }
        let reply = header.r_ctl == r_ctl::ELS_REPLY;
        let mac = (!reply || payload.first() != Some(&LS_RJT)).then_some(mac);
        let repr = FipElsRepr { kind, reply, flags: FipFlags::default(), header: *header, payload, mac };
        let sent = self.sender.els(to, &repr, out);
        self.counted(sent)
    }

    /// Starts with the identifier that we last had or wanted.
    fn begin(&mut self, now: u64, mode: FipMode) {
        self.leave();
        self.mode = mode;
        self.tries = 1;
        self.state = State::Start;
        self.due = now.saturating_add(self.random_below(PROBE_WAIT));
    }

    /// Starts again with another identifier (FC-BB-6, clause 7: a conflict).
    fn restart(&mut self, now: u64) {
        self.leave();
        self.counters.conflicts += 1;
        let old = self.fc_id;
        // After the link was down, the sequence starts anew, and may begin with the identifier in conflict.
        while self.fc_id == old {
            self.fc_id = self.identifiers.next();
        }
        let wait = if self.tries < RATE_LIMIT_CONFLICTS {
            self.tries += 1;
            self.random_below(PROBE_WAIT)
        } else {
            RATE_LIMIT_WAIT
        };
        self.state = State::Start;
        self.due = now.saturating_add(wait);
    }

    /// Gives up the identifier, if we have one, and the data learned while we wanted it.
    fn leave(&mut self) {
        if self.state == State::Up {
            tell(&mut self.events, FipEvent::Down);
        }
        self.neighbours.clear();
        self.claimed = None;
        self.settled = false;
    }

    /// Acts on the end of the present state.
    fn advance(&mut self, now: u64, out: &mut impl Transmit) {
        let (kind, next, wait) = match self.state {
            State::Off => return,
            State::Start => (Vn2vnKind::ProbeRequest, State::Probe1, PROBE_WAIT),
            State::Probe1 => (Vn2vnKind::ProbeRequest, State::Probe2, ANNOUNCE_WAIT),
            State::Probe2 => (Vn2vnKind::ClaimNotification, State::Claim, ANNOUNCE_WAIT),
            State::Claim => (Vn2vnKind::Beacon, State::Up, ANNOUNCE_WAIT),
            State::Up => (Vn2vnKind::Beacon, State::Up, BEACON_PERIOD + self.random_below(BEACON_FUZZ)),
        };
        if !self.multicast(now, kind, self.mode, out) {
            self.due = now.saturating_add(RETRY);
            return;
        }
        self.due = now.saturating_add(wait);
        if next == State::Claim {
            self.claimed = Some(now);
        }
        let was = std::mem::replace(&mut self.state, next);
        if let (State::Claim, Some((fc_id, mac))) = (was, self.own()) {
            tell(&mut self.events, FipEvent::Up { fc_id, mac });
        }
        if was == State::Up && !std::mem::replace(&mut self.settled, true) {
            let events = &mut self.events;
            self.neighbours.tell_silent(|silent| tell(events, FipEvent::Answered(silent)));
        }
    }

    /// Claims our identifier again.
    fn claim(&mut self, now: u64, out: &mut impl Transmit) {
        if self.multicast(now, Vn2vnKind::ClaimNotification, self.mode, out) {
            self.claimed = Some(now);
        }
    }

    fn multicast(&mut self, now: u64, kind: Vn2vnKind, mode: FipMode, out: &mut impl Transmit) -> bool {
        self.last = Some((kind, now));
        let sent = self.sender.vn2vn(kind, self.fc_id, mode, None, 0, out);
        self.counted(sent)
    }

    fn unicast(&mut self, kind: Vn2vnKind, to: MacAddr, padded: u16, out: &mut impl Transmit) -> bool {
        let sent = self.sender.vn2vn(kind, self.fc_id, self.mode, Some(to), padded, out);
        self.counted(sent)
    }

    fn counted(&mut self, sent: bool) -> bool {
        *if sent { &mut self.counters.sent } else { &mut self.counters.unsent } += 1;
        sent
    }

    /// A random number below `bound`.
    fn random_below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }
}

/// Queues an event, unless the queue is full.
fn tell(events: &mut VecDeque<FipEvent>, event: FipEvent) {
    if events.len() < EVENTS {
        events.push_back(event);
    }
}
