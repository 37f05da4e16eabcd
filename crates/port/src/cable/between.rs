//! A cable between two processes: who makes the region, who joins it, and what happens when one goes.
//!
//! Both ends look for the cable's socket in the user's runtime directory. Nobody listens: this end makes the region and
//! listens. Somebody does: this end joins. A thread of each end watches the other one through the socket, sleeping.
//!
//! When the other end goes (however: the kernel closes its socket), the link goes down and each queue takes its slots
//! back. Then a maker listens again, over the same region; a joiner, whose region was the other's, pairs anew: with a
//! successor if there is one already, over a region of its own otherwise.

use super::engine::{CableRx, CableTx};
use super::message::{self, Offer, OfferedPair, Refusal};
use super::side::{FreshRx, FreshTx, Side};
use super::{End, Pairs, Ready, Shape, Wire};
use crate::error::{Cause, OpenError};
use crate::open::Parts;
use crate::queue::{RxQueue, TxQueue};
use crate::spec::Spec;
use crate::sys::seqpacket::{self as socket, DirLock, MOST_FDS};
use linerate_ring::{Bell, Pipe, Region, RegionConfig, RegionError, RingPair, Sharing};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long an opener tries to find out whether it is the first.
const PATIENCE: Duration = Duration::from_secs(3);

/// The region and where the rings lie in it.
struct Memory {
    pipe: Pipe,
    region: Arc<Region>,
    pairs: Pairs,
}

/// How two ends came together.
enum Met {
    /// This end is the first: it listens.
    First(OwnedFd),
    /// The other end was there.
    Joined { peer: OwnedFd, memory: Memory, offer: Box<Offer>, tx_far: Vec<Bell>, rx_far: Vec<Bell> },
}

pub(super) fn open(spec: &Spec, region: &Arc<Region>, end: &End, shape: &Shape) -> Result<Parts, OpenError> {
    let oops =
        |e: &dyn std::fmt::Display| OpenError::new(spec, Cause::System, e, "check $XDG_RUNTIME_DIR and free memory");
    let dir = socket::runtime_dir().map_err(|e| oops(&e))?;
    let path = dir.join(format!("cable-{}.sock", end.cable));
    // The bells must exist before the other end is met, their number is known only then: an offer may say otherwise.
    let mut meeting = Meeting { end: end.clone(), path, dir, queues: shape.queues };
    let deadline = Instant::now() + PATIENCE;
    let (met, side) = loop {
        let side = Arc::new(Side::new(meeting.queues as usize, false).map_err(|e| oops(&e))?);
        match meeting.meet(&side) {
            Ok(met) => break (met, side),
            Err(Trouble::Queues(queues)) => meeting.queues = queues,
            Err(Trouble::Again) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            Err(trouble) => return Err(trouble.named(spec)),
        }
    };
    match met {
        Met::First(listener) => {
            let pairs = Pairs::new(region, end, shape).map_err(|e| oops(&e))?;
            let memory = Memory { pipe: Pipe::Maker, region: region.clone(), pairs };
            let ready = memory.ready(end, shape, &side, None).map_err(|e| oops(&e))?;
            side.listens_at(&meeting.path);
            let parts = ready.parts(spec, shape, "cable to another process, over this one's memory".into());
            Watcher::start(&side, meeting, *shape, memory, Some(listener), None).map_err(|e| oops(&e))?;
            Ok(parts)
        }
        Met::Joined { peer, memory, offer, tx_far, rx_far } => {
            shape.agree(spec, &offer.shape)?;
            let shape = offer.shape;
            let ready = memory.ready(end, &shape, &side, Some((&offer, &tx_far, &rx_far))).map_err(|e| oops(&e))?;
            side.up();
            let parts = ready.parts(spec, &shape, "cable to another process, over the other one's memory".into());
            Watcher::start(&side, meeting, shape, memory, None, Some(peer)).map_err(|e| oops(&e))?;
            Ok(parts)
        }
    }
}

impl Memory {
    /// The queues of this end. `met`: the offer and the other end's bells, if it is there already.
    fn ready(
        &self,
        end: &End,
        shape: &Shape,
        side: &Arc<Side>,
        met: Option<(&Offer, &[Bell], &[Bell])>,
    ) -> Result<Ready, RegionError> {
        let wire = shape.rate.map(Wire::new);
        let start = |left: bool, q: usize| met.map_or(0, |(offer, ..)| offer.out(left)[q].start);
        let mut ready = Ready { side: side.clone(), tx: Vec::new(), rx: Vec::new() };
        for (q, pair) in self.pairs.out(end.left).iter().enumerate() {
            let (ring, pipe) = self.pipe.sender(&self.region, pair, start(end.left, q))?;
            // Until the other end brings its own, the bell is this end's: nobody sleeps on the other side.
            let far = met.map_or_else(|| side.tx_bell(q), |(_, _, rx)| rx[q].clone());
            ready.tx.push(TxQueue::new(ring, Box::new(CableTx::new(pipe, side, q, far, wire.clone()))));
        }
        for (q, pair) in self.pairs.out(!end.left).iter().enumerate() {
            let (ring, pipe) = self.pipe.receiver(&self.region, pair, start(!end.left, q))?;
            let far = met.map_or_else(|| side.rx_bell(q), |(_, tx, _)| tx[q].clone());
            ready.rx.push(RxQueue::new(ring, Box::new(CableRx::new(pipe, side, q, far))));
        }
        Ok(ready)
    }
}

impl Offer {
    fn out(&self, left: bool) -> &[OfferedPair] {
        if left { &self.right } else { &self.left }
    }

    fn pairs(&self) -> Pairs {
        let some = |offered: &[OfferedPair]| offered.iter().map(|o| o.pair).collect();
        Pairs { right: some(&self.right), left: some(&self.left) }
    }
}

/// Why two ends did not meet.
enum Trouble {
    /// The other one was just going, or is not linerate: worth another try.
    Again,
    /// The maker has another number of queues.
    Queues(u32),
    Refused(Refusal),
    OtherUser(u32),
    Region(RegionError),
    Io(io::Error),
}

impl Trouble {
    fn named(self, spec: &Spec) -> OpenError {
        let new = |cause, what: String, mend: &str| OpenError::new(spec, cause, what, mend);
        match self {
            Self::Again => new(Cause::Busy, "the other end does not answer".into(), "stop the program that holds it"),
            Self::Queues(n) => new(Cause::Peer, format!("the other end has {n} queues"), "leave queues= out"),
            Self::Refused(Refusal::SameEnd) => new(
                Cause::Busy,
                "this end is open in another process".into(),
                "open the other end ({ and } are the two)",
            ),
            Self::Refused(Refusal::Busy) => {
                new(Cause::Busy, "both ends are open in other processes".into(), "use another cable ID")
            }
            Self::Refused(Refusal::Version) => {
                new(Cause::Peer, "the other end is of another version".into(), "use one version of linerate")
            }
            Self::OtherUser(uid) => {
                new(Cause::Peer, format!("the other end is of user {uid}"), "run both ends as one user")
            }
            Self::Region(e) => new(Cause::Peer, e.to_string(), "restart the other end"),
            Self::Io(e) => new(Cause::System, e.to_string(), "check $XDG_RUNTIME_DIR"),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(e: io::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, InvalidData, NotConnected, WouldBlock};
        match e.kind() {
            BrokenPipe | ConnectionReset | InvalidData | NotConnected | WouldBlock => Self::Again,
            _ => Self::Io(e),
        }
    }
}

/// One end's way to the other.
struct Meeting {
    end: End,
    dir: PathBuf,
    path: PathBuf,
    queues: u32,
}

impl Meeting {
    /// Joins whoever listens, or listens.
    fn meet(&self, side: &Side) -> Result<Met, Trouble> {
        let lock = DirLock::take(&self.dir)?;
        match socket::connect(&self.path) {
            Ok(peer) => {
                drop(lock);
                self.join(peer, side)
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                // Refused: the file of a process that is gone. The lock makes sure that nobody is just replacing it.
                if e.kind() == io::ErrorKind::ConnectionRefused {
                    std::fs::remove_file(&self.path)?;
                }
                Ok(Met::First(socket::listen(&self.path)?))
            }
            Err(e) => Err(e.into()),
        }
    }

    fn join(&self, peer: OwnedFd, side: &Side) -> Result<Met, Trouble> {
        self.check_user(&peer)?;
        socket::send(&peer, &message::hello(self.end.left), &[])?;
        let (bytes, mut fds) = socket::receive(&peer, message::LONGEST)?;
        let offer = match Offer::read(&bytes) {
            None => return Err(Trouble::Again),
            Some(Err(refusal)) => return Err(Trouble::Refused(refusal)),
            Some(Ok(offer)) => offer,
        };
        if offer.shape.queues != self.queues {
            return Err(Trouble::Queues(offer.shape.queues));
        }
        let file = fds.pop().filter(|_| fds.is_empty()).ok_or(Trouble::Again)?;
        let region =
            Region::join(file, offer.buf_area, offer.shape.buf_size, offer.buffers).map_err(Trouble::Region)?;
        let queues = offer.shape.queues as usize;
        let mut tx_far = receive_bells(&peer, 2 * queues)?;
        let rx_far = tx_far.split_off(queues);
        send_bells(&peer, side)?;
        let memory = Memory { pipe: Pipe::Joiner, region, pairs: offer.pairs() };
        Ok(Met::Joined { peer, memory, offer: Box::new(offer), tx_far, rx_far })
    }

    fn check_user(&self, peer: &OwnedFd) -> Result<(), Trouble> {
        let uid = socket::peer_user(peer)?;
        if uid == socket::user() { Ok(()) } else { Err(Trouble::OtherUser(uid)) }
    }
}

/// Sends all bells of this end: transmit queues, then receive queues.
fn send_bells(peer: &OwnedFd, side: &Side) -> io::Result<()> {
    side.bells().chunks(MOST_FDS).try_for_each(|some| {
        let fds: Vec<BorrowedFd<'_>> = some.iter().map(AsFd::as_fd).collect();
        socket::send(peer, b"bells", &fds)
    })
}

fn receive_bells(peer: &OwnedFd, wanted: usize) -> Result<Vec<Bell>, Trouble> {
    let mut bells = Vec::new();
    while bells.len() < wanted {
        let (word, fds) = socket::receive(peer, 16)?;
        if word != b"bells" || fds.is_empty() || bells.len() + fds.len() > wanted {
            return Err(Trouble::Again);
        }
        bells.extend(fds.into_iter().map(Bell::from_fd).collect::<io::Result<Vec<_>>>()?);
    }
    Ok(bells)
}

/// The thread that watches the other end.
struct Watcher {
    side: Weak<Side>,
    bell: Bell,
    meeting: Meeting,
    shape: Shape,
    memory: Memory,
    listener: Option<OwnedFd>,
    peer: Option<OwnedFd>,
    /// Where the next pairing starts: transmit, then receive cursors.
    start: (Vec<u32>, Vec<u32>),
    /// The queues still hold the rings of a region that is gone.
    anew: bool,
}

impl Watcher {
    fn start(
        side: &Arc<Side>,
        meeting: Meeting,
        shape: Shape,
        memory: Memory,
        listener: Option<OwnedFd>,
        peer: Option<OwnedFd>,
    ) -> io::Result<()> {
        let zeroes = vec![0; shape.queues as usize];
        let (bell, start) = (side.watcher.clone(), (zeroes.clone(), zeroes));
        let side = Arc::downgrade(side);
        let watcher = Self { side, bell, meeting, shape, memory, listener, peer, start, anew: false };
        std::thread::Builder::new().name("cable-watch".into()).spawn(move || watcher.run())?;
        Ok(())
    }

    /// Until this end is closed.
    fn run(mut self) {
        loop {
            let fds =
                [socket::borrow(self.peer.as_ref()), socket::borrow(self.listener.as_ref()), Some(self.bell.as_fd())];
            let [parted, knocked, rung] = socket::poll(fds, None);
            if rung {
                self.bell.clear();
            }
            let Some(side) = self.side.upgrade() else { return };
            if knocked {
                self.answer(&side);
            }
            // The peer never says anything after the handshake: whatever comes is its end, or nonsense.
            if self.peer.is_some() && (parted || side.accused()) {
                self.peer = None;
                side.down();
                drop(side);
                if !self.part() {
                    return;
                }
            }
        }
    }

    /// Somebody connects: an offer, or a refusal.
    fn answer(&mut self, side: &Arc<Side>) {
        let Some(listener) = &self.listener else { return };
        let Ok(peer) = socket::accept(listener) else { return };
        if self.meeting.check_user(&peer).is_err() {
            return;
        }
        let Ok((bytes, _)) = socket::receive(&peer, 64) else { return };
        let refusal = match message::read_hello(&bytes) {
            None => Some(Refusal::Version),
            Some(_) if self.peer.is_some() => Some(Refusal::Busy),
            Some(left) if left == self.meeting.end.left => Some(Refusal::SameEnd),
            Some(_) => None,
        };
        if let Some(refusal) = refusal {
            // It may be gone already, and then needs no answer.
            let _ = socket::send(&peer, &refusal.write(), &[]);
            return;
        }
        // A visitor that leaves in the middle changes nothing here.
        if let Ok((tx_far, rx_far)) = self.receive_joiner(&peer, side) {
            self.pair(side, &tx_far, &rx_far);
            self.peer = Some(peer);
            side.up();
        }
    }

    fn receive_joiner(&self, peer: &OwnedFd, side: &Side) -> Result<(Vec<Bell>, Vec<Bell>), Trouble> {
        let offered = |pairs: &[RingPair], start: &[u32]| -> Vec<OfferedPair> {
            pairs.iter().zip(start).map(|(pair, start)| OfferedPair { pair: *pair, start: *start }).collect()
        };
        let left = self.meeting.end.left;
        let (right_start, left_start) =
            if left { (&self.start.0, &self.start.1) } else { (&self.start.1, &self.start.0) };
        let region = &self.memory.region;
        let offer = Offer {
            shape: self.shape,
            buf_area: region.buf_area(),
            buffers: region.buffers(),
            right: offered(&self.memory.pairs.right, right_start),
            left: offered(&self.memory.pairs.left, left_start),
        };
        let file = region.file().ok_or(Trouble::Again)?;
        socket::send(peer, &offer.write(), &[file])?;
        send_bells(peer, side)?;
        let queues = self.shape.queues as usize;
        let mut tx_far = receive_bells(peer, 2 * queues)?;
        let rx_far = tx_far.split_off(queues);
        Ok((tx_far, rx_far))
    }

    /// Leaves on the desk what the queues need for the pairing that begins.
    fn pair(&mut self, side: &Arc<Side>, tx_far: &[Bell], rx_far: &[Bell]) {
        let mut desk = side.desk();
        for (seat, far) in desk.tx.iter_mut().zip(rx_far) {
            seat.freshen(|fresh: &mut FreshTx| fresh.far = Some(far.clone()));
        }
        for (seat, far) in desk.rx.iter_mut().zip(tx_far) {
            seat.freshen(|fresh: &mut FreshRx| fresh.far = Some(far.clone()));
        }
        self.anew = false;
    }

    /// The other end is gone: waits until the queues have let go, then pairs anew. False: this end was closed.
    fn part(&mut self) -> bool {
        self.start = loop {
            let Some(side) = self.side.upgrade() else { return false };
            if let Some(start) = side.reports(Duration::from_millis(100)) {
                break start;
            }
        };
        let Some(side) = self.side.upgrade() else { return false };
        self.renew_idle(&side);
        if self.listener.is_some() {
            return true;
        }
        drop(side);
        // The region was the other's. Pair with a successor, or make one of our own.
        loop {
            let Some(side) = self.side.upgrade() else { return false };
            match self.meeting.meet(&side) {
                Ok(met) => {
                    if self.succeed(&side, met).is_some() {
                        return true;
                    }
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Rings that no queue has touched yet, or none will touch any more, start from where they are.
    fn renew_idle(&self, side: &Side) {
        let (left, desk) = (self.meeting.end.left, side.desk());
        let renew = |pair: &RingPair, start: u32| self.memory.region.renew(pair, start);
        for (seat, (pair, start)) in desk.tx.iter().zip(self.memory.pairs.out(left).iter().zip(&self.start.0)) {
            if !seat.in_use() {
                renew(pair, *start);
            }
        }
        for (seat, (pair, start)) in desk.rx.iter().zip(self.memory.pairs.out(!left).iter().zip(&self.start.1)) {
            if !seat.in_use() {
                renew(pair, *start);
            }
        }
    }

    /// New rings for all queues. None: it did not work out, try again.
    fn succeed(&mut self, side: &Arc<Side>, met: Met) -> Option<()> {
        let (memory, met) = match met {
            Met::First(listener) => {
                let memory = self.own_memory()?;
                self.listener = Some(listener);
                side.listens_at(&self.meeting.path);
                (memory, None)
            }
            Met::Joined { peer, memory, offer, tx_far, rx_far } => {
                // A successor has as many queues (`join` sees to it); rings and rate may be others, and are the first's.
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
        self.anew = true;
        if let Some((_, tx_far, rx_far)) = met {
            self.pair(side, &tx_far, &rx_far);
            side.up();
        }
        Some(())
    }

    fn own_memory(&self) -> Option<Memory> {
        let s = &self.shape;
        let rings = 4 * s.queues;
        let ring_bytes = Region::ring_room(s.slots) * rings as usize + 2 * Region::if_room(s.queues, s.queues);
        let buffers = 2 * s.queues * s.slots;
        let sharing = Sharing::Shared;
        let config = RegionConfig { buf_size: s.buf_size, buffers, ring_bytes, sharing, huge: true };
        let region = Region::new(&config).ok()?;
        let pairs = Pairs::new(&region, &self.meeting.end, s).ok()?;
        Some(Memory { pipe: Pipe::Maker, region, pairs })
    }
}
