//! The thread that watches the other end, sleeping, and pairs anew when it goes.
//!
//! When the other end goes (however: the kernel closes its socket) or lies, the link goes down and each queue takes its
//! slots back. Then a maker listens again, over the same region; a joiner, whose region was the other's, pairs anew:
//! with a successor if there is one already, over a region of its own otherwise.

use super::Shape;
use super::between::{Joined, Meeting, Met, check_user, send_bells};
use super::memory::Memory;
use super::message::{self, Refusal};
use super::side::{FreshRx, FreshTx, Side};
use super::visitor::{Visitor, Visitors, Wish};
use super::wire::Wire;
use crate::sys::seqpacket as socket;
use linerate_ring::{Bell, Foreign, RegionError};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Between two tries to find a successor.
const RETRY: Duration = Duration::from_millis(20);

/// The thread that watches the other end.
pub(super) struct Watcher {
    side: Weak<Side>,
    bell: Bell,
    meeting: Meeting,
    shape: Shape,
    memory: Memory,
    listener: Option<OwnedFd>,
    peer: Option<Foreign>,
    visitors: Visitors,
    /// When this end was last paired.
    paired: Instant,
    /// Where the next pairing starts: transmit, then receive cursors.
    start: (Vec<u32>, Vec<u32>),
}

impl Watcher {
    pub(super) fn start(
        side: &Arc<Side>,
        meeting: Meeting,
        shape: Shape,
        memory: Memory,
        listener: Option<OwnedFd>,
        peer: Option<Foreign>,
    ) -> io::Result<()> {
        let zeroes = vec![0; shape.queues as usize];
        let (bell, start) = (side.watcher.clone(), (zeroes.clone(), zeroes));
        let side = Arc::downgrade(side);
        let visitors = Visitors::default();
        let watcher =
            Self { side, bell, meeting, shape, memory, listener, peer, visitors, paired: Instant::now(), start };
        std::thread::Builder::new().name("cable-watch".into()).spawn(move || watcher.run())?;
        Ok(())
    }

    /// Until this end is closed.
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
            // The peer never says anything after the handshake: whatever comes is its end, or nonsense. It is looked at now:
            // who speaks may have come because it went, and is not told that it is here.
            let gone =
                self.peer.as_ref().is_some_and(|peer| socket::poll(&[Some(peer.as_fd())], Some(Duration::ZERO))[0]);
            if self.peer.is_some() && (gone || side.accused()) {
                self.peer = None;
                // Before anybody learns of it, so that the place is not taken by one with other options.
                let place = if self.listener.is_none() { self.meeting.place() } else { None };
                if place.is_some() {
                    side.listens_at(Some(&self.meeting.path));
                }
                side.down();
                drop(side);
                if !self.part(place) {
                    return;
                }
                // Who has spoken is heard in the next round.
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

    /// Somebody connects.
    fn let_in(&mut self) {
        let Some(listener) = &self.listener else { return };
        match socket::accept(listener) {
            Ok(visitor) if check_user(&visitor).is_ok() => self.visitors.come(visitor),
            Ok(_) => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => {}
            // No descriptors or memory: the one that knocks has to wait, without keeping this thread busy.
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }

    /// A visitor has spoken, or is gone. One who is not let stay changes nothing here.
    fn answer(&mut self, side: &Arc<Side>, mut visitor: Visitor) {
        let queues = self.shape.queues as usize;
        let stays = match visitor.hear(|()| 2 * queues) {
            Err(_) => false,
            Ok(Wish::Wait) => true,
            Ok(Wish::Hello(message)) => {
                let refusal = match message::read_hello(&message) {
                    None => Some(Refusal::Version),
                    Some(_) if self.peer.is_some() => Some(Refusal::Busy),
                    Some(left) if left == self.meeting.end.left => Some(Refusal::SameEnd),
                    Some(_) => None,
                };
                if let Some(refusal) = refusal {
                    // It may be gone already, and then needs no answer.
                    let _ = socket::send(&visitor.socket, &refusal.write(), &[]);
                    return;
                }
                visitor.offered(());
                let start = (&self.start.0[..], &self.start.1[..]);
                self.memory.offer(&visitor.socket, &self.shape, self.meeting.end.left, start).is_ok()
            }
            Ok(Wish::Pair((), mut tx_far)) => {
                if self.peer.is_some() {
                    return;
                }
                self.renew(side);
                if send_bells(&visitor.socket, side).is_ok() {
                    let rx_far = tx_far.split_off(queues);
                    self.pair(side, &tx_far, &rx_far);
                    self.visitors.withdraw_offers();
                    self.peer = Some(visitor.socket);
                    side.up();
                }
                return;
            }
        };
        if stays {
            self.visitors.admit(visitor);
        }
    }

    /// Leaves on the desk what the queues need for the pairing that begins.
    fn pair(&mut self, side: &Arc<Side>, tx_far: &[Bell], rx_far: &[Bell]) {
        self.paired = Instant::now();
        let mut desk = side.desk();
        for (seat, far) in desk.tx.iter_mut().zip(rx_far) {
            seat.freshen(|fresh: &mut FreshTx| fresh.far = Some(far.clone()));
        }
        for (seat, far) in desk.rx.iter_mut().zip(tx_far) {
            seat.freshen(|fresh: &mut FreshRx| fresh.far = Some(far.clone()));
        }
    }

    /// The other end is gone: waits until the queues have let go, then pairs anew. `place`: this end, once a joiner,
    /// listens now. False: this end was closed.
    fn part(&mut self, mut place: Option<OwnedFd>) -> bool {
        self.visitors.withdraw_offers();
        self.start = loop {
            let Some(side) = self.side.upgrade() else { return false };
            if let Some(start) = side.reports(Duration::from_millis(100)) {
                break start;
            }
        };
        if self.listener.is_some() {
            return true;
        }
        // The region was the other's. Pair with a successor, or make one of our own.
        let queues = self.shape.queues;
        // Makers that go as fast as they come shall not keep this thread busy.
        let mut wait = if place.is_none() && self.paired.elapsed() < RETRY { RETRY } else { Duration::ZERO };
        loop {
            std::thread::sleep(std::mem::replace(&mut wait, RETRY));
            let Some(side) = self.side.upgrade() else { return false };
            // A successor with other options is no successor.
            let met = match place.take() {
                Some(listener) => Ok(Met::First(listener)),
                None => self.meeting.meet(&side, &|offered| offered.queues == queues),
            };
            if let Ok(met) = met
                && self.succeed(&side, met).is_some()
            {
                return true;
            }
        }
    }

    /// Writes anew what both ends share, just before they are paired: whoever was here before may have written to it until
    /// now. No queue touches it while the link is down.
    fn renew(&self, side: &Side) {
        let (left, desk, region) = (self.meeting.end.left, side.desk(), &self.memory.region);
        for (pair, start) in self.memory.pairs.out(left).iter().zip(&self.start.0) {
            region.renew(pair, *start, None);
        }
        for ((pair, start), seat) in self.memory.pairs.out(!left).iter().zip(&self.start.1).zip(&desk.rx) {
            region.renew(pair, *start, seat.lent.as_deref());
        }
    }

    /// New rings for all queues. None: it did not work out, try again.
    fn succeed(&mut self, side: &Arc<Side>, met: Met) -> Option<()> {
        let (memory, met) = match met {
            Met::First(listener) => {
                let memory = Memory::make(&self.meeting.end, &self.shape).ok()?;
                self.listener = Some(listener);
                side.listens_at(Some(&self.meeting.path));
                (memory, None)
            }
            Met::Joined(Joined { peer, memory, offer, tx_far, rx_far }) => {
                // A successor has as many queues; rings and rate may be others, and are the first's.
                self.shape = offer.shape;
                self.peer = Some(peer);
                (memory, Some((offer, tx_far, rx_far)))
            }
        };
        let left = self.meeting.end.left;
        let start = |out: bool, q: usize| met.as_ref().map_or(0, |(offer, ..)| offer.out(out)[q].start);
        let made: Result<(Vec<_>, Vec<_>), RegionError> = (|| {
            let tx = memory.pairs.out(left).iter().enumerate();
            let rx = memory.pairs.out(!left).iter().enumerate();
            let tx = tx.map(|(q, pair)| memory.pipe.sender(&memory.region, pair, start(left, q)));
            let rx = rx.map(|(q, pair)| memory.pipe.receiver(&memory.region, pair, start(!left, q)));
            Ok((tx.collect::<Result<_, _>>()?, rx.collect::<Result<_, _>>()?))
        })();
        let Ok((tx, rx)) = made else {
            (self.peer, self.listener) = (None, None);
            side.listens_at(None);
            return None;
        };
        {
            let (mut desk, wire) = (side.desk(), self.shape.rate.map(Wire::new));
            for (seat, ends) in desk.tx.iter_mut().zip(tx) {
                seat.freshen(|fresh: &mut FreshTx| fresh.ends = Some((Box::new(ends), wire.clone())));
            }
            for (seat, ends) in desk.rx.iter_mut().zip(rx) {
                seat.freshen(|fresh: &mut FreshRx| fresh.ends = Some((Box::new(ends), None)));
            }
        }
        self.memory = memory;
        let zeroes = vec![0; self.shape.queues as usize];
        self.start = (zeroes.clone(), zeroes);
        if let Some((_, tx_far, rx_far)) = met {
            self.pair(side, &tx_far, &rx_far);
            side.up();
        }
        Some(())
    }
}
