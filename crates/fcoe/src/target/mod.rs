//! The target of FCP: exchanges with logged-in initiators, between their frames and a [`DeviceServer`] (FCP-4).
//!
//! Out of scope: logins, disks, and storage of data beyond the device server's. Frames that fit no exchange are counted
//! and change nothing; no byte is written outside of a command's range.

mod command;
mod counters;
mod doubt;
mod early;
mod exchange;
mod rec;
mod receive;
mod recovery;
mod reply;
mod send;
mod table;

pub use counters::{TargetCounters, TargetDrop};
pub(crate) use rec::FIRST_OX_ID;

use crate::{DeviceServer, Peer, PeerId, Step, Transmit};
use doubt::Doubts;
use exchange::{ExchangeIndex, Place, Said, State, Which};
use linerate_wire::{Eof, FcType, FcoeFrame, f_ctl, r_ctl};
use rec::RecPolls;
use reply::Replies;
use table::Table;

const SECOND: u64 = 1_000_000_000;
/// Interval between two searches for exchanges past their deadline.
const SWEEP: u64 = SECOND / 2;

/// Limits of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetConfig {
    /// Exchanges of all peers, including ended ones that are kept for retransmission: 1 to 32768.
    pub max_exchanges: u16,
    /// Open commands of one peer; further ones are answered with TASK SET FULL.
    pub max_queue: u16,
    /// Size of the table of peers.
    pub max_peers: u16,
    /// Most bytes of data out that one FCP_XFER_RDY asks for; rounded down to a multiple of four.
    pub burst: u32,
    /// Frames of data in that are sent for a command before the next one's turn.
    pub turn: u16,
    /// Nanoseconds after which a command whose data does not come is given up.
    pub patience: u64,
    /// Ended exchanges that are kept for retransmission requests (SRR).
    pub max_finished: u16,
    /// Bytes of buffers that such exchanges keep; must be fewer than the device server has, or its commands find none.
    pub max_finished_bytes: usize,
}

impl Default for TargetConfig {
    /// Defaults: 16384 exchanges, 1024 per peer, 256 peers; data out in one burst, data in 32 frames a turn; a minute
    /// of patience; 1024 finished exchanges with 8 MiB.
    fn default() -> Self {
        Self {
            max_exchanges: 16384,
            max_queue: 1024,
            max_peers: 256,
            burst: u32::MAX,
            turn: 32,
            patience: 60 * SECOND,
            max_finished: 1024,
            max_finished_bytes: 8 << 20,
        }
    }
}

/// A logged-in peer, for status views.
#[derive(Debug, Clone, Copy)]
pub struct TargetPeer {
    /// Identity and parameters.
    pub peer: Peer,
    /// Number of open commands.
    pub queue_depth: u16,
    /// Commands since it logged in.
    pub commands: u64,
    /// Bytes of data in since then.
    pub bytes_sent: u64,
    /// Bytes of data out since then.
    pub bytes_received: u64,
}

/// An FCP target: all exchanges of which it is the responder, and the device server behind them.
///
/// `up` and `down` follow the logins; `handle` takes the FCP and ABTS frames of logged-in peers; `poll` is called in
/// each turn of the loop, since the device server may have made progress or the port may have room.
#[derive(Debug)]
pub struct Target<S> {
    config: TargetConfig,
    device: S,
    peers: Box<[Option<TargetPeer>]>,
    table: Table,
    replies: Replies,
    rec_polls: RecPolls,
    doubts: Doubts,
    counters: TargetCounters,
    /// Buffer to assemble a frame from memory that lies in small pieces.
    scratch: Box<[u8; send::MAX_PAYLOAD]>,
    /// Bytes of buffers in finished exchanges.
    finished_bytes: usize,
    sweep_at: u64,
    /// Sent data has released waiting tasks: the device server has a step.
    woken: bool,
    /// No command is begun any more.
    closing: bool,
}

impl<S: DeviceServer> Target<S> {
    /// Target with these logical units. All memory that it needs is allocated here.
    #[must_use]
    pub fn new(config: TargetConfig, device: S) -> Self {
        let config = TargetConfig { burst: (config.burst & !3).max(4), turn: config.turn.max(1), ..config };
        Self {
            config,
            device,
            peers: vec![None; usize::from(config.max_peers)].into_boxed_slice(),
            table: Table::new(config.max_exchanges),
            replies: Replies::new(),
            rec_polls: RecPolls::new(),
            doubts: Doubts::new(config.max_peers),
            counters: TargetCounters::default(),
            scratch: Box::new([0; send::MAX_PAYLOAD]),
            finished_bytes: 0,
            sweep_at: 0,
            woken: false,
            closing: false,
        }
    }

    pub fn device(&self) -> &S {
        &self.device
    }

    pub fn device_mut(&mut self) -> &mut S {
        &mut self.device
    }

    pub fn counters(&self) -> &TargetCounters {
        &self.counters
    }

    /// Logged-in peers, with their counters.
    pub fn peers(&self) -> impl Iterator<Item = &TargetPeer> {
        self.peers.iter().flatten()
    }

    /// Number of exchanges in use: open ones, and ended ones that are kept.
    pub fn exchanges(&self) -> usize {
        self.table.used()
    }

    /// True if frames wait for room in the port.
    pub fn is_blocked(&self) -> bool {
        !self.replies.is_empty() || self.table.count(Which::Ready) > 0
    }

    /// Begins no more commands: they are answered with BUSY (SAM-5), after which initiators ask again.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// True if a command has not been answered yet.
    #[must_use]
    pub fn has_commands(&self) -> bool {
        self.peers().any(|peer| peer.queue_depth > 0)
    }

    /// Registers a peer that has logged in (PRLI). A previous peer of its place is removed first. False when its place
    /// is beyond [`TargetConfig::max_peers`]: all of its frames are dropped.
    pub fn up(&mut self, peer: &Peer) -> bool {
        let index = usize::from(peer.id.index);
        if index >= self.peers.len() {
            return false;
        }
        if let Some(before) = &self.peers[index] {
            self.down(before.peer.id);
        }
        let peer = within_limits(peer);
        self.doubts.forget(peer.id);
        self.peers[index] = Some(TargetPeer { peer, queue_depth: 0, commands: 0, bytes_sent: 0, bytes_received: 0 });
        self.device.nexus(peer.id, peer.wwpn);
        true
    }

    /// Updates the parameters of a logged-in peer: its time-outs (RTV), its service parameters (PRLI).
    pub fn change(&mut self, peer: &Peer) {
        match self.peer_mut(peer.id) {
            Some(known) => known.peer = within_limits(peer),
            None if peer.role.initiator => _ = self.up(peer),
            None => {}
        }
    }

    /// Removes a peer whose login has ended, for any reason: its exchanges end without a frame (FCP-4, clause 4.10).
    pub fn down(&mut self, peer: PeerId) {
        if self.peer(peer).is_none() {
            return;
        }
        for place in self.table.touched() {
            let exchange = self.table.at(place);
            if exchange.peer == peer && !matches!(exchange.state, State::Free) {
                self.end(place);
            }
        }
        self.peers[usize::from(peer.index)] = None;
        self.doubts.forget(peer);
        self.device.nexus_lost(peer);
    }

    /// Processes a frame from `peer`: FCP, ABTS, or a reply to REC. Its CRC must have been checked.
    pub fn handle(&mut self, now: u64, peer: &Peer, frame: &FcoeFrame<'_>, out: &mut impl Transmit) {
        if let Err(reason) = self.accept(now, peer.id, frame) {
            self.counters.drop(reason);
            if reason == TargetDrop::Duplicate {
                self.doubts.doubled(now, peer.id);
            }
        }
        self.transmit(now, out);
    }

    /// Lets the device server proceed, gives up expired exchanges, and sends as many frames as there is room for.
    pub fn poll(&mut self, now: u64, out: &mut impl Transmit) {
        self.advance(now);
        if now >= self.sweep_at {
            self.sweep_at = now.saturating_add(SWEEP);
            self.sweep(now);
        }
        if self.doubts.due().is_some_and(|at| at <= now) {
            self.settle(now);
        }
        self.transmit(now, out);
    }

    /// Takes the available steps of the device server.
    fn advance(&mut self, now: u64) {
        while let Some((tag, step)) = self.device.poll(now) {
            let place = self.table.of_tag(tag);
            match place.filter(|place| self.waits_for(*place, &step)) {
                Some(place) => self.step(now, place, step),
                None => {
                    self.counters.failed_steps += 1;
                    if let Step::Send { buffer, .. } | Step::Receive { buffer } = step {
                        self.device.give_back(buffer);
                    }
                }
            }
        }
    }

    /// True if an exchange can take this step now. A task ended by another initiator stops taking data into memory.
    fn waits_for(&self, place: ExchangeIndex, step: &Step) -> bool {
        match &self.table.at(place).state {
            State::Working => true,
            State::Receiving(receiving) => {
                matches!((&receiving.into, step), (Place::Memory(_), Step::End(_)))
            }
            State::Free | State::Answering(_) | State::Aborted => false,
        }
    }

    /// Time at which `poll` has work even without a frame, an ended step or new room.
    pub fn poll_timeout(&self) -> Option<u64> {
        let sweep = (self.table.used() > 0).then_some(self.sweep_at);
        [sweep, self.doubts.due(), self.device.poll_timeout()].into_iter().flatten().min()
    }

    /// Checks every frame, then passes it to the handler of its kind.
    fn accept(&mut self, now: u64, peer: PeerId, frame: &FcoeFrame<'_>) -> Result<(), TargetDrop> {
        let peer = self.peer(peer).ok_or(TargetDrop::NotLoggedIn)?.peer;
        let header = frame.header();
        if (header.s_id, header.d_id) != (peer.fc_id, peer.own) {
            return Err(TargetDrop::Foreign);
        }
        if !matches!(frame.eof(), Eof::N | Eof::T) {
            return Err(TargetDrop::Void);
        }
        // All frames for a target come from the exchange's originator, without optional headers, except replies to REC.
        if header.from_responder() || header.has(f_ctl::SEQUENCE_RECIPIENT) || header.df_ctl != 0 {
            return match (header.fc_type, header.r_ctl) {
                (FcType::ELS, r_ctl::ELS_REPLY) => self.rec_answered(now, &peer, frame),
                _ => Err(TargetDrop::Unexpected),
            };
        }
        match (header.fc_type, header.r_ctl) {
            (FcType::FCP, r_ctl::DATA) => self.data(now, &peer, frame),
            (FcType::FCP, r_ctl::COMMAND) => self.command(now, &peer, frame),
            (FcType::FCP, r_ctl::CONFIRM) => self.confirmed(&peer, frame),
            (FcType::FCP, r_ctl::FC4_LS_REQUEST) => self.retransmit(now, &peer, frame),
            (FcType::BLS, r_ctl::BLS_ABTS) => self.abort(now, &peer, frame),
            _ => Err(TargetDrop::Unexpected),
        }
    }

    fn peer(&self, id: PeerId) -> Option<&TargetPeer> {
        self.peers.get(usize::from(id.index))?.as_ref().filter(|known| known.peer.id == id)
    }

    fn peer_mut(&mut self, id: PeerId) -> Option<&mut TargetPeer> {
        self.peers.get_mut(usize::from(id.index))?.as_mut().filter(|known| known.peer.id == id)
    }

    /// Removes the exchange from its peer's queue count.
    fn dequeue(&mut self, place: ExchangeIndex) {
        let exchange = self.table.at_mut(place);
        if std::mem::take(&mut exchange.queued) {
            let peer = exchange.peer;
            if let Some(peer) = self.peer_mut(peer) {
                peer.queue_depth -= 1;
            }
        }
    }

    /// Releases the device server's resources of an exchange: it is over, but keeps its identifiers.
    fn dispose(&mut self, place: ExchangeIndex) {
        self.dequeue(place);
        let exchange = self.table.at_mut(place);
        let (finished, kept) = (exchange.list == Some(Which::Finished), exchange.kept());
        let doomed = std::mem::take(&mut exchange.doomed);
        exchange.deadline = u64::MAX;
        match std::mem::replace(&mut exchange.state, State::Aborted) {
            State::Working if !doomed => self.device.abort(place.tag(), None),
            State::Receiving(receiving) if !doomed => {
                self.device.abort(place.tag(), receiving.into.into_buffer());
            }
            State::Receiving(receiving) => {
                if let Some(buffer) = receiving.into.into_buffer() {
                    self.device.give_back(buffer);
                }
            }
            State::Answering(answering) => self.leave(place, answering.from),
            State::Free | State::Working | State::Aborted => {}
        }
        if finished {
            self.finished_bytes -= kept;
        }
        self.table.remove(place);
    }

    /// Returns the memory of an exchange's data to the device server.
    #[inline]
    fn leave(&mut self, place: ExchangeIndex, from: Place) {
        match from {
            Place::Memory(_) => self.woken |= self.device.sent(place.tag()),
            Place::Buffer(buffer) => self.device.give_back(buffer),
            Place::Nowhere => {}
        }
    }

    /// Ends an exchange and frees its entry.
    fn end(&mut self, place: ExchangeIndex) {
        self.dispose(place);
        self.table.close(place);
    }

    /// Keeps an exchange whose response was sent, until it is confirmed or can no longer be asked for.
    fn finish(&mut self, now: u64, place: ExchangeIndex, peer: &Peer, confirm: bool) {
        self.dequeue(place);
        if !confirm && !peer.retry {
            return self.end(place);
        }
        let exchange = self.table.at_mut(place);
        if let State::Answering(answering) = &mut exchange.state {
            answering.said = if confirm { Said::ToConfirm } else { Said::Done };
            let from = match &answering.from {
                // The exchange stays for a retransmission, without holding up other tasks.
                Place::Memory(offset) if peer.retry => Place::Memory(*offset),
                _ if peer.retry => Place::Nowhere,
                _ => std::mem::replace(&mut answering.from, Place::Nowhere),
            };
            self.leave(place, from);
        }
        let exchange = self.table.at_mut(place);
        // RR_TOV (FCP-4, clause 11.4): time enough for an initiator that retries to ask twice, with REC_TOV = E_D_TOV +
        // 1 s; otherwise two seconds.
        let (e_d_tov, r_a_tov) = (peer.e_d_tov.min(60 * SECOND), peer.r_a_tov.min(120 * SECOND));
        let rr_tov = if peer.retry { e_d_tov + SECOND + 2 * r_a_tov + SECOND } else { 2 * SECOND };
        exchange.deadline = now.saturating_add(rr_tov);
        self.finished_bytes += exchange.kept();
        self.table.append(Which::Finished, place);
        while self.table.count(Which::Finished) > usize::from(self.config.max_finished)
            || self.finished_bytes > self.config.max_finished_bytes
        {
            let Some(oldest) = self.table.first(Which::Finished) else { return };
            self.end(oldest);
        }
    }

    fn sweep(&mut self, now: u64) {
        for place in self.table.touched() {
            let exchange = self.table.at(place);
            if exchange.deadline <= now {
                if matches!(exchange.state, State::Receiving(_)) {
                    self.counters.expired += 1;
                }
                self.end(place);
            }
        }
        self.poll_by_rec(now);
    }
}

/// 256 bytes is the minimum for every port (FC-LS-3, PLOGI: the receive data field size is at least that).
fn within_limits(peer: &Peer) -> Peer {
    Peer { max_payload: (peer.max_payload & !3).clamp(256, 2112), ..*peer }
}
