//! The thread that watches the other end, sleeping, and pairs anew when it goes.
//!
//! When the other end goes (for any reason: the kernel closes its socket) or violates the protocol, the link goes down
//! and each queue takes its slots back. Then a maker listens again; a joiner pairs anew: with a successor if there is
//! one already, as a maker otherwise. A maker makes a region for each process that it sends an offer to, and no region
//! serves two: a process that had one, paired or not, may keep it mapped, but has no access to the regions of later
//! ones.

use super::Shape;
use super::between::{Joined, Meeting, Met, check_user, send_bells};
use super::memory::{Ends, Memory};
use super::message::{self, Refusal};
use super::side::{FreshRx, FreshTx, Side};
use super::visitor::{Visitor, Visitors, Wish};
use super::wire::Wire;
use crate::sys::seqpacket as socket;
use linerate_ring::{Bell, Foreign};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Interval between two attempts to find a successor.
const RETRY: Duration = Duration::from_millis(20);

/// The thread that watches the other end.
pub(super) struct Watcher {
    side: Weak<Side>,
    bell: Bell,
    meeting: Meeting,
    shape: Shape,
    listener: Option<OwnedFd>,
    peer: Option<Foreign>,
    visitors: Visitors<Memory>,
    /// Time at which this end was last paired.
    paired: Instant,
}

impl Watcher {
    pub(super) fn start(
        side: &Arc<Side>,
        meeting: Meeting,
        shape: Shape,
        listener: Option<OwnedFd>,
        peer: Option<Foreign>,
    ) -> io::Result<()> {
        let (bell, side) = (side.watcher.clone(), Arc::downgrade(side));
        let (visitors, paired) = (Visitors::default(), Instant::now());
        let watcher = Self { side, bell, meeting, shape, listener, peer, visitors, paired };
        std::thread::Builder::new().name("cable-watch".into()).spawn(move || watcher.run())?;
        Ok(())
    }

    /// Runs until this end is closed.
    fn run(mut self) {
        loop {
            let own =
                [socket::borrow(self.peer.as_ref()), socket::borrow(self.listener.as_ref()), Some(self.bell.as_fd())];
            let fds: Vec<_> = own.into_iter().chain(self.visitors.sockets().map(Some)).collect();
            let patience = self.visitors.until().map(|until| until.saturating_duration_since(Instant::now()));
            let ready = socket::poll(&fds, patience);
            let (knocked, rung, spoke) = (ready[1], ready[2], &ready[3..]);
            if rung {
                self.bell.clear();
            }
            let Some(side) = self.side.upgrade() else { return };
            // The peer sends nothing after the handshake: input is its end of file, or a violation. It is checked now,
            // because a new visitor may have come because the peer went, and must not be told that it is still here.
            let gone =
                self.peer.as_ref().is_some_and(|peer| socket::poll(&[Some(peer.as_fd())], Some(Duration::ZERO))[0]);
            if self.peer.is_some() && (gone || side.peer_violated()) {
                let own = Memory::make(&self.meeting.end, &self.shape);
                let Ok(own) = own.and_then(|own| own.ends(self.meeting.end.left)) else {
                    // No memory now. Until there is some, the queues keep their pairing, and the link seems to be up.
                    drop(side);
                    std::thread::sleep(Duration::from_millis(100));
                    continue;
                };
                self.peer = None;
                // Taken before anybody learns of it, so that no process with other options takes the listening place.
                let place = if self.listener.is_none() { self.meeting.place() } else { None };
                if place.is_some() {
                    side.listens_at(Some(&self.meeting.path));
                }
                side.part(own);
                drop(side);
                if !self.part(place) {
                    return;
                }
                // Messages of visitors are read in the next round.
                continue;
            }
            for visitor in self.visitors.speakers(spoke) {
                self.answer(&side, visitor);
            }
            if knocked {
                self.let_in();
            }
        }
    }

    /// Accepts a connection.
    fn let_in(&mut self) {
        let Some(listener) = &self.listener else { return };
        match socket::accept(listener) {
            Ok(visitor) if check_user(&visitor).is_ok() => self.visitors.come(visitor),
            Ok(_) => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => {}
            // No descriptors or memory: the connecting process has to wait, without keeping this thread busy.
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }

    /// Handles a visitor that has sent a message, or is gone. A visitor that is rejected changes nothing here.
    fn answer(&mut self, side: &Arc<Side>, mut visitor: Visitor<Memory>) {
        let stays = match visitor.hear() {
            Err(_) => false,
            Ok(Wish::Wait) => true,
            Ok(Wish::Hello(message)) => match self.offer(&visitor.socket, &message) {
                Ok(memory) => {
                    visitor.offered(memory);
                    true
                }
                Err(refusal) => {
                    // The visitor may be gone already, and then needs no answer.
                    let _ = socket::send(&visitor.socket, &refusal.write(), &[]);
                    false
                }
            },
            Ok(Wish::Pair(memory)) => return self.pair(side, visitor.socket, &memory),
        };
        if stays {
            self.visitors.admit(visitor);
        }
    }

    /// Offers a new region to a visitor that has sent its hello.
    fn offer(&self, peer: &Foreign, message: &[u8]) -> Result<Memory, Refusal> {
        let left = message::read_hello(message).ok_or(Refusal::Version)?;
        if self.peer.is_some() {
            return Err(Refusal::Busy);
        }
        if left == self.meeting.end.left {
            return Err(Refusal::SameEnd);
        }
        let memory = Memory::make(&self.meeting.end, &self.shape).map_err(|_| Refusal::Memory)?;
        memory.offer(peer, &self.shape, None).map_err(|_| Refusal::Version)?;
        Ok(memory)
    }

    /// Pairs with a visitor that has accepted its offer: the link goes up, over the region offered to it.
    fn pair(&mut self, side: &Arc<Side>, peer: Foreign, memory: &Memory) {
        if self.peer.is_some() {
            return;
        }
        // The visitor may have written to the region since the offer.
        memory.renew();
        let Ok(ends) = memory.ends(self.meeting.end.left) else { return };
        if let Ok(far) = send_bells(&peer, side) {
            lay_out(side, ends, self.shape.rate, &far);
            self.visitors.withdraw_offers();
            (self.peer, self.paired) = (Some(peer), Instant::now());
            side.up();
        } else {
            // The visitor may have got some of them.
            side.bells().iter().for_each(Bell::detach);
        }
    }

    /// Ends a pairing: waits until the queues have left it, then prepares this end for the next. `place`: this end, so
    /// far a joiner, now listens. False: this end was closed.
    fn part(&mut self, mut place: Option<OwnedFd>) -> bool {
        self.visitors.withdraw_offers();
        loop {
            let Some(side) = self.side.upgrade() else { return false };
            if side.reports(Duration::from_millis(100)) {
                break;
            }
        }
        // Makers that go as fast as they come must not keep this thread busy.
        let mut wait = if place.is_none() && self.paired.elapsed() < RETRY { RETRY } else { Duration::ZERO };
        while self.listener.is_none() && self.peer.is_none() {
            std::thread::sleep(std::mem::replace(&mut wait, RETRY));
            let Some(side) = self.side.upgrade() else { return false };
            // A successor has the same number of queues; rings and rate may differ, and are the maker's while it is
            // there.
            let queues = self.shape.queues;
            let met = match place.take() {
                Some(listener) => Ok(Met::First(listener)),
                None => self.meeting.meet(&side, &|offered| offered.queues == queues),
            };
            match met {
                Ok(Met::First(listener)) => {
                    side.listens_at(Some(&self.meeting.path));
                    self.listener = Some(listener);
                }
                Ok(Met::Joined(Joined { peer, memory, shape, far, .. })) => {
                    if let Ok(ends) = memory.ends(self.meeting.end.left) {
                        (self.peer, self.paired) = (Some(peer), Instant::now());
                        lay_out(&side, ends, shape.rate, &far);
                        side.up();
                    }
                }
                Err(_) => {}
            }
        }
        true
    }
}

/// Puts into the handover what the queues need for a new pairing: rings, and the far end's bells (of its transmit
/// queues, then of its receive queues; empty before it is there).
fn lay_out(side: &Side, ends: Ends, rate: Option<u64>, far: &[Bell]) {
    let (mut handover, wire) = (side.handover(), rate.map(|rate| Wire::new(rate, Instant::now())));
    let (tx_far, rx_far) = far.split_at(far.len() / 2);
    for (q, (entry, ends)) in handover.tx.iter_mut().zip(ends.tx).enumerate() {
        entry.own = None;
        entry.fresh = FreshTx { ends: Some((Box::new(ends), wire.clone())), far: rx_far.get(q).cloned() };
    }
    for (q, (entry, ends)) in handover.rx.iter_mut().zip(ends.rx).enumerate() {
        entry.own = None;
        entry.fresh = FreshRx { ends: Some((Box::new(ends), None)), far: tx_far.get(q).cloned() };
    }
}
