//! FCP commands of ours: exchanges that we originate with targets that are logged in (FCP-4, initiator FCP_Port).
//!
//! An exchange has a place in a table, which is made once, and a name, the OX_ID. What the target sends is found by its
//! name and believed only if it fits: the peer, its RX_ID, sequence count and relative offset, and with the status the
//! amount of data. GOOD without all of its data is never handed up: the command is sent again.
//!
//! - `ranges`, `wheel`, `ids`: bytes that were seen, times that come, names that rest.
//! - `receive`: XFER_RDY, DATA and RSP; `send`: what goes out, as there is room.
//! - `recovery`: REC, SRR, ABTS and RRQ when something was lost (FCP-4, clause 12).
//! - `scan`, `disk`: which disks a target has, and the commands that read and write them.
//!
//! Out of scope: it knows no logins; it orders no commands (the one who submits two does); it checks no CRC,
//! which the frames it is given have passed.

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
pub use disk::FoundLun;
pub use scan::{LunScan, ScanError, Skipped};

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
/// `submit` takes a command, `poll` sends what there is room for and looks at what is due, `handle` takes a frame of a
/// target, `poll_completion` tells how commands ended. Time is in nanoseconds and does not go back.
#[derive(Debug)]
pub struct Initiator {
    config: InitiatorConfig,
    now: u64,
    exchanges: Indexed<ExchangeIndex, Exchange>,
    /// Places that are free, the last used one on top.
    free: Vec<ExchangeIndex>,
    ids: Ids,
    services: Services,
    wheel: Wheel,
    /// Places of exchanges that have something to send, in order.
    ready: VecDeque<ExchangeIndex>,
    /// By the index of their identifiers.
    targets: Vec<Option<Box<Target>>>,
    completed: VecDeque<Completed>,
    events: VecDeque<Event>,
    /// Counters of frames from peers that were sent nothing.
    strangers: InitiatorCounters,
}

impl Initiator {
    /// One without a command.
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
    /// Why not, and the command.
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
        // A buffer of no bytes moves none: FCP_CMND says so with neither RDDATA nor WRDATA.
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

    /// Resets a logical unit (SAM-5, clause 7.7): the outcome is [`Outcome::Function`]; when that is complete, all commands
    /// that were submitted before for the unit end with [`TransportError::Reset`]. The queue depth does not hold it up.
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

    /// Sends what there is room for, and looks at what is due by now.
    pub fn poll(&mut self, now: u64, out: &mut impl Transmit) {
        self.now = now;
        while let Some(at) = self.wheel.pop(now) {
            self.look(at);
        }
        self.reinstate(out);
        self.pump(out);
    }

    /// Time at which [`Initiator::poll`] has something to do although nothing comes; what waits for room is not counted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        [self.wheel.next(), self.ids.rested_at()].into_iter().flatten().min()
    }

    /// True if something waits for room to be sent.
    #[must_use]
    pub fn wants_room(&self) -> bool {
        !self.ready.is_empty()
    }

    /// A command that has ended.
    pub fn poll_completion(&mut self) -> Option<Completed> {
        self.completed.pop_front()
    }

    /// Something that others should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// A peer is gone: all that it has not answered ends with [`Outcome::LinkLost`].
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

    /// Number of commands that can be submitted for a peer before one of its own completes; less than its queue depth when the
    /// target has said TASK SET FULL.
    #[must_use]
    pub fn room(&self, peer: PeerId) -> usize {
        let depth = match self.known(peer) {
            Some(target) => target.depth.saturating_sub(target.outstanding),
            None => self.config.queue_depth,
        };
        usize::from(depth).min(self.free.len())
    }

    /// Commands of a peer whose outcome has not been told.
    #[must_use]
    pub fn outstanding(&self, peer: PeerId) -> usize {
        self.known(peer).map_or(0, |target| usize::from(target.outstanding))
    }

    /// Exchanges in use, those included whose outcome was told but whose end is awaited.
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

    /// What is known of a peer, which is brought up to date. Another one that had its place is gone.
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

    /// A place for an exchange, which will send its command.
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

    /// It has something to send.
    fn queue(&mut self, at: ExchangeIndex) {
        let exchange = &mut self.exchanges[at];
        if !std::mem::replace(&mut exchange.queued, true) {
            self.ready.push_back(at);
        }
    }

    /// Tells how a command ended, once.
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
            // No command leaves more than all of its data.
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

    /// The exchange is over without an answer: its name rests, since frames of it may be on their way.
    fn fail(&mut self, at: ExchangeIndex, outcome: Outcome, qualifier: Option<RxId>) {
        self.report(at, outcome, None);
        self.rest(at, qualifier);
        self.vacate(at);
    }

    /// The exchange is over, and the target knows it: its name is free at once.
    fn close(&mut self, at: ExchangeIndex) {
        self.ids.release(self.exchanges[at].ox_id);
        self.vacate(at);
    }

    /// The name of an exchange is not used for R_A_TOV; then RRQ is sent if there is a recovery qualifier, for the
    /// exchange that the target calls so (FC-FS-3, recovery qualifier).
    fn rest(&mut self, at: ExchangeIndex, qualifier: Option<RxId>) {
        let exchange = &self.exchanges[at];
        // A command that was never sent leaves nothing on its way.
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
