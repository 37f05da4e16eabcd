//! The initiator of FCP: exchanges that we originate with logged-in targets (FCP-4, initiator FCP_Port).
//!
//! An exchange has an index in a table of fixed size, and an OX_ID. A target's frame is matched by its OX_ID and
//! accepted only if it is consistent: the peer, its RX_ID, sequence count and relative offset, and with the status the
//! amount of data. GOOD without all of its data is never reported: the command is sent again.
//!
//! - `ranges`, `wheel`, `ids`: received byte ranges, timers, resting identifiers.
//! - `receive`: XFER_RDY, DATA and RSP; `send`: output, as there is room.
//! - `recovery`: REC, SRR, ABTS and RRQ after a loss (FCP-4, clause 12).
//! - `scan`, `disk`: search for a target's disks, and the commands that read and write them.
//!
//! Out of scope: logins; the order of commands (the submitter of two is responsible); the CRC, which must have been
//! checked.

mod command;
mod disk;
mod exchange;
mod ids;
mod peer;
mod ranges;
mod receive;
mod recovery;
mod scan;
mod send;
mod wheel;

pub use command::{
    Command, Completed, Data, Event, InitiatorConfig, InitiatorCounters, Outcome, Refused, TransportError,
};
pub use disk::{Carried, FoundLun};
pub use scan::{LunScan, ScanError, SkipReason, Skipped};

use crate::indexed::Indexed;
use crate::{Lun, Peer, PeerId, TaskAttribute, Transmit};
use exchange::{Burst, Direction, Exchange, ExchangeIndex, Phase, want};
use ids::{Ids, Resting, Services};
use linerate_block::Tag;
use linerate_wire::{FcpResponse, OxId, RxId};
use peer::Target;
use std::collections::VecDeque;
use wheel::Wheel;

/// The exchanges of an initiator.
///
/// `submit` takes a command, `poll` sends as many frames as there is room for and handles timers, `handle` takes a
/// frame of a target, `poll_completion` returns ended commands. Time is in nanoseconds and does not go back.
#[derive(Debug)]
pub struct Initiator {
    config: InitiatorConfig,
    now: u64,
    exchanges: Indexed<ExchangeIndex, Exchange>,
    /// Free indices, the last used one on top.
    free: Vec<ExchangeIndex>,
    ids: Ids,
    services: Services,
    wheel: Wheel,
    /// Indices of exchanges with frames to send, in order.
    ready: VecDeque<ExchangeIndex>,
    /// Targets by the index of their identifiers.
    targets: Vec<Option<Box<Target>>>,
    completed: VecDeque<Completed>,
    events: VecDeque<Event>,
    /// Counters of frames from peers that were sent no command.
    strangers: InitiatorCounters,
}

impl Initiator {
    #[must_use]
    pub fn new(config: InitiatorConfig) -> Self {
        let count = u16::try_from(config.exchanges.clamp(1, 32768)).unwrap_or(32768);
        let places = usize::from(count);
        Self {
            config,
            now: 0,
            exchanges: Indexed::filled(count, Exchange::new),
            free: (0..count).rev().map(ExchangeIndex).collect(),
            ids: Ids::new(),
            services: Services::new(),
            wheel: Wheel::new(count),
            ready: VecDeque::with_capacity(places),
            targets: Vec::new(),
            completed: VecDeque::with_capacity(places),
            events: VecDeque::new(),
            strangers: InitiatorCounters::default(),
        }
    }

    /// Takes a command for a peer; [`Initiator::poll`] sends it.
    ///
    /// # Errors
    ///
    /// The reason of the refusal, and the command.
    pub fn submit(&mut self, now: u64, peer: &Peer, command: Command) -> Result<(), (Refused, Command)> {
        let (direction, len) = match &command.data {
            Data::None => (Direction::None, 0),
            Data::In(buffer) => (Direction::In, buffer.len()),
            Data::Out(buffer) => (Direction::Out, buffer.len()),
        };
        let Ok(length) = u32::try_from(len) else { return Err((Refused::Malformed, command)) };
        if !(6..=command.cdb.len()).contains(&usize::from(command.cdb_len)) {
            return Err((Refused::Malformed, command));
        }
        let target = self.target(peer);
        if target.outstanding >= target.depth {
            return Err((Refused::Busy, command));
        }
        let Some(at) = self.open(now, peer, command.timeout) else { return Err((Refused::Full, command)) };
        let exchange = &mut self.exchanges[at];
        // An empty buffer means no data: FCP_CMND then has neither RDDATA nor WRDATA.
        exchange.direction = if length == 0 { Direction::None } else { direction };
        exchange.length = length;
        exchange.buffer = match command.data {
            Data::None => None,
            Data::In(buffer) | Data::Out(buffer) => Some(buffer),
        };
        exchange.tag = command.tag;
        exchange.lun = command.lun;
        exchange.cdb = command.cdb;
        exchange.cdb_len = command.cdb_len;
        exchange.attribute = command.attribute;
        exchange.reset = false;
        Ok(())
    }

    /// Resets a logical unit (SAM-5, clause 7.7): the outcome is [`Outcome::Function`]; when that is complete, all
    /// commands submitted before for the unit end with [`TransportError::Reset`]. The queue depth does not delay it.
    ///
    /// # Errors
    ///
    /// [`Refused::Full`].
    pub fn lun_reset(&mut self, now: u64, peer: &Peer, lun: Lun, tag: Tag, timeout: u64) -> Result<(), Refused> {
        self.target(peer);
        let at = self.open(now, peer, timeout).ok_or(Refused::Full)?;
        let exchange = &mut self.exchanges[at];
        exchange.direction = Direction::None;
        exchange.length = 0;
        exchange.buffer = None;
        exchange.tag = tag;
        exchange.lun = lun;
        exchange.cdb = [0; 32];
        exchange.cdb_len = 16;
        exchange.attribute = TaskAttribute::Simple;
        exchange.reset = true;
        Ok(())
    }

    /// Sends as many frames as there is room for, and handles expired timers.
    pub fn poll(&mut self, now: u64, out: &mut impl Transmit) {
        self.now = now;
        while let Some(at) = self.wheel.pop(now) {
            self.look(at);
        }
        self.reinstate(out);
        self.pump(out);
    }

    /// Time at which [`Initiator::poll`] has work even without a frame; frames that wait for room are not counted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        [self.wheel.next(), self.ids.rested_at()].into_iter().flatten().min()
    }

    /// True if a frame waits for room.
    #[must_use]
    pub fn wants_room(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next command that has ended.
    pub fn poll_completion(&mut self) -> Option<Completed> {
        self.completed.pop_front()
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Removes a peer: all commands that it has not answered end with [`Outcome::LinkLost`].
    pub fn down(&mut self, peer: PeerId) {
        for at in self.exchanges.indices() {
            let exchange = &self.exchanges[at];
            if exchange.phase != Phase::Free && exchange.peer == peer {
                self.fail(at, Outcome::LinkLost, None);
            }
        }
        self.ids.forget(peer);
        if let Some(place) = self.targets.get_mut(usize::from(peer.index))
            && place.as_ref().is_some_and(|target| target.peer.id == peer)
        {
            *place = None;
        }
    }

    /// Number of commands that can be submitted for a peer before one of its own completes; less than its queue depth
    /// after TASK SET FULL.
    #[must_use]
    pub fn room(&self, peer: PeerId) -> usize {
        let depth = match self.known(peer) {
            Some(target) => target.depth.saturating_sub(target.outstanding),
            None => self.config.queue_depth,
        };
        usize::from(depth).min(self.free.len())
    }

    /// Number of a peer's commands whose outcome has not been reported.
    #[must_use]
    pub fn outstanding(&self, peer: PeerId) -> usize {
        self.known(peer).map_or(0, |target| usize::from(target.outstanding))
    }

    /// Number of exchanges in use, including those whose outcome was reported but whose end is awaited.
    #[must_use]
    pub fn exchanges(&self) -> usize {
        self.exchanges.len() - self.free.len()
    }

    /// Counters of a peer since its login.
    #[must_use]
    pub fn counters(&self, peer: PeerId) -> InitiatorCounters {
        self.known(peer).map_or_else(InitiatorCounters::default, |target| target.counters)
    }

    /// Counters of frames from peers that were never sent a command.
    #[must_use]
    pub fn strangers(&self) -> &InitiatorCounters {
        &self.strangers
    }

    fn known(&self, peer: PeerId) -> Option<&Target> {
        self.targets.get(usize::from(peer.index))?.as_deref().filter(|target| target.peer.id == peer)
    }

    /// Entry of a peer, updated from `peer`. A previous peer of the same index is removed.
    fn target(&mut self, peer: &Peer) -> &mut Target {
        let index = usize::from(peer.id.index);
        if self.targets.len() <= index {
            self.targets.resize_with(index + 1, || None);
        }
        if let Some(before) = self.targets[index].as_ref().map(|target| target.peer.id)
            && before != peer.id
        {
            self.down(before);
        }
        let target = self.targets[index].get_or_insert_with(|| Box::new(Target::new(peer, self.config.queue_depth)));
        target.peer = *peer;
        target
    }

    fn count(&mut self, peer: PeerId) -> &mut InitiatorCounters {
        match self.targets.get_mut(usize::from(peer.index)).and_then(Option::as_mut) {
            Some(target) if target.peer.id == peer => &mut target.counters,
            _ => &mut self.strangers,
        }
    }

    /// Opens an exchange, which will send its command.
    fn open(&mut self, now: u64, peer: &Peer, timeout: u64) -> Option<ExchangeIndex> {
        self.now = now;
        let at = self.free.pop()?;
        let Some(ox_id) = self.ids.take(at) else {
            self.free.push(at);
            return None;
        };
        if let Some(target) = self.targets[usize::from(peer.id.index)].as_mut() {
            target.outstanding = target.outstanding.saturating_add(1);
            target.counters.commands += 1;
        }
        let exchange = &mut self.exchanges[at];
        exchange.peer = peer.id;
        exchange.reported = false;
        exchange.attempts = 0;
        exchange.burst = Burst::default();
        exchange.service = OxId::UNASSIGNED;
        exchange.started = now;
        exchange.deadline = now.saturating_add(timeout);
        exchange.restart(now, ox_id);
        self.queue(at);
        self.schedule(at);
        Some(at)
    }

    /// Queues an exchange that has frames to send.
    fn queue(&mut self, at: ExchangeIndex) {
        let exchange = &mut self.exchanges[at];
        if !std::mem::replace(&mut exchange.queued, true) {
            self.ready.push_back(at);
        }
    }

    /// Reports the outcome of a command, once.
    fn report(&mut self, at: ExchangeIndex, outcome: Outcome, response: Option<&FcpResponse<'_>>) {
        let exchange = &mut self.exchanges[at];
        if std::mem::replace(&mut exchange.reported, true) {
            return;
        }
        let mut completed = Completed {
            tag: exchange.tag,
            peer: exchange.peer,
            outcome,
            status: 0,
            sense: [0; 96],
            sense_len: 0,
            residual: 0,
            buffer: exchange.buffer.take(),
        };
        if let Some(response) = response {
            completed.status = response.status;
            // The residual of a command is at most all of its data.
            completed.residual = response.residual.max(-i64::from(exchange.length));
            for (to, from) in completed.sense.iter_mut().zip(response.sense) {
                *to = *from;
                completed.sense_len += 1;
            }
        }
        if let Some(target) = self.targets.get_mut(usize::from(exchange.peer.index)).and_then(Option::as_mut) {
            target.outstanding = target.outstanding.saturating_sub(1);
            match outcome {
                Outcome::Response => {
                    target.counters.responses += 1;
                    target.learn(completed.status);
                }
                Outcome::Function(_) => target.counters.responses += 1,
                _ => target.counters.failed += 1,
            }
        }
        self.completed.push_back(completed);
    }

    /// Ends an exchange without an answer: its OX_ID rests, since frames of it may be under way.
    fn fail(&mut self, at: ExchangeIndex, outcome: Outcome, qualifier: Option<RxId>) {
        self.report(at, outcome, None);
        self.rest(at, qualifier);
        self.vacate(at);
    }

    /// Ends an exchange whose end the target knows: its OX_ID is free at once.
    fn close(&mut self, at: ExchangeIndex) {
        self.ids.release(self.exchanges[at].ox_id);
        self.vacate(at);
    }

    /// Puts the OX_ID of an exchange to rest for R_A_TOV; then RRQ is sent if there is a recovery qualifier, with this
    /// RX_ID of the target (FC-FS-3, recovery qualifier).
    fn rest(&mut self, at: ExchangeIndex, qualifier: Option<RxId>) {
        let exchange = &self.exchanges[at];
        // A command that was never sent has no frames under way.
        if exchange.wants & want::COMMAND != 0 {
            self.ids.release(exchange.ox_id);
            return;
        }
        let r_a_tov = self.known(exchange.peer).map_or(0, |target| target.peer.r_a_tov);
        let qualifier = qualifier.map(|rx_id| (exchange.peer, rx_id));
        let until = self.now.saturating_add(r_a_tov);
        self.ids.rest(Resting { ox_id: exchange.ox_id, until, qualifier, service: OxId::UNASSIGNED });
    }

    fn vacate(&mut self, at: ExchangeIndex) {
        let exchange = &mut self.exchanges[at];
        self.services.release(exchange.service);
        exchange.service = OxId::UNASSIGNED;
        exchange.phase = Phase::Free;
        exchange.wants = 0;
        exchange.buffer = None;
        self.wheel.cancel(at);
        self.free.push(at);
    }
}
