//! A cable between two processes: who makes the region, who joins it, and what happens when one goes.
//!
//! Both ends look for the cable's socket in the user's runtime directory. Nobody listens: this end makes the region and
//! listens. Somebody does: this end joins. A thread of each end watches the other one from then on ([`Watcher`]).
//!
//! Nothing that the other process says or leaves unsaid makes an end wait for longer than [`PATIENCE`] and a handshake.

use super::engine::{CableRx, CableTx};
use super::message::{self, Offer, OfferedPair, Refusal};
use super::side::Side;
use super::watcher::Watcher;
use super::{End, Pairs, Ready, Shape, Wire};
use crate::error::{Cause, OpenError};
use crate::open::Parts;
use crate::queue::{RxQueue, TxQueue};
use crate::spec::Spec;
use crate::sys::seqpacket::{self as socket, DirLock, MOST_FDS};
use linerate_ring::{Bell, Pipe, Region, RegionError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an opener tries to find out whether it is the first.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a handshake may take.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(2);

/// The region and where the rings lie in it.
pub(super) struct Memory {
    pub(super) pipe: Pipe,
    pub(super) region: Arc<Region>,
    pub(super) pairs: Pairs,
}

/// How two ends came together.
pub(super) enum Met {
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
        match meeting.meet(&side, &|offered| shape.agree(spec, offered).is_ok()) {
            Ok(met) => break (met, side),
            Err(Trouble::Shape(offered)) => shape.agree(spec, &offered)?,
            Err(trouble) if Instant::now() >= deadline => return Err(trouble.named(spec)),
            Err(Trouble::Queues(queues)) => meeting.queues = queues,
            Err(Trouble::Again | Trouble::Locked) => std::thread::sleep(Duration::from_millis(10)),
            Err(trouble) => return Err(trouble.named(spec)),
        }
    };
    match met {
        Met::First(listener) => {
            let pairs = Pairs::new(region, end, shape).map_err(|e| oops(&e))?;
            let memory = Memory { pipe: Pipe::Maker, region: region.clone(), pairs };
            let ready = memory.ready(end, shape, &side, None).map_err(|e| oops(&e))?;
            side.listens_at(Some(&meeting.path));
            let parts = ready.parts(spec, shape, "cable to another process, over this one's memory".into());
            Watcher::start(&side, meeting, *shape, memory, Some(listener), None).map_err(|e| oops(&e))?;
            Ok(parts)
        }
        Met::Joined { peer, memory, offer, tx_far, rx_far } => {
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
    pub(super) fn out(&self, left: bool) -> &[OfferedPair] {
        if left { &self.right } else { &self.left }
    }

    fn pairs(&self) -> Pairs {
        let some = |offered: &[OfferedPair]| offered.iter().map(|o| o.pair).collect();
        Pairs { right: some(&self.right), left: some(&self.left) }
    }
}

/// Why two ends did not meet.
pub(super) enum Trouble {
    /// The other one was just going, or is not linerate: worth another try.
    Again,
    /// Another process is just looking for an end, or keeps the directory locked.
    Locked,
    /// The maker's cable is another than is wanted.
    Shape(Shape),
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
            Self::Locked => {
                new(Cause::Busy, "another process keeps the directory of sockets locked".into(), "stop that process")
            }
            Self::Shape(_) => new(Cause::Peer, "the other end has other options".into(), "leave the options out"),
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
pub(super) struct Meeting {
    pub(super) end: End,
    dir: PathBuf,
    pub(super) path: PathBuf,
    queues: u32,
}

impl Meeting {
    /// Joins whoever listens, if its cable fits, or listens.
    pub(super) fn meet(&self, side: &Side, fits: &dyn Fn(&Shape) -> bool) -> Result<Met, Trouble> {
        match self.knock()? {
            Ok(peer) => self.join(peer, side, fits),
            Err(listener) => Ok(Met::First(listener)),
        }
    }

    /// Listens, if nobody does.
    pub(super) fn place(&self) -> Option<OwnedFd> {
        self.knock().ok().and_then(Result::err)
    }

    /// A connection to whoever listens; if nobody does, a listener.
    fn knock(&self) -> Result<Result<OwnedFd, OwnedFd>, Trouble> {
        let _lock = match DirLock::take(&self.dir) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(Trouble::Locked),
            lock => lock?,
        };
        match socket::connect(&self.path) {
            Ok(peer) => Ok(Ok(peer)),
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                // Refused: the file of a process that is gone. The lock makes sure that nobody is just replacing it.
                if e.kind() == io::ErrorKind::ConnectionRefused {
                    std::fs::remove_file(&self.path)?;
                }
                Ok(Err(socket::listen(&self.path)?))
            }
            Err(e) => Err(e.into()),
        }
    }

    fn join(&self, peer: OwnedFd, side: &Side, fits: &dyn Fn(&Shape) -> bool) -> Result<Met, Trouble> {
        let end = Instant::now() + HANDSHAKE;
        self.check_user(&peer)?;
        socket::send(&peer, &message::hello(self.end.left), &[])?;
        let (bytes, mut fds) = socket::receive_until(&peer, message::LONGEST, end)?;
        let offer = match Offer::read(&bytes) {
            None => return Err(Trouble::Again),
            Some(Err(refusal)) => return Err(Trouble::Refused(refusal)),
            Some(Ok(offer)) => offer,
        };
        if !fits(&offer.shape) {
            return Err(Trouble::Shape(offer.shape));
        }
        if offer.shape.queues != self.queues {
            return Err(Trouble::Queues(offer.shape.queues));
        }
        let file = fds.pop().filter(|_| fds.is_empty()).ok_or(Trouble::Again)?;
        let region =
            Region::join(file, offer.buf_area, offer.shape.buf_size, offer.buffers).map_err(Trouble::Region)?;
        let pairs = offer.pairs();
        region.check_pairs(pairs.right.iter().chain(&pairs.left)).map_err(Trouble::Region)?;
        // The last that the maker waits for: from here on it counts us in.
        send_bells(&peer, side)?;
        let queues = offer.shape.queues as usize;
        let mut tx_far = Vec::new();
        while tx_far.len() < 2 * queues {
            let message = socket::receive_until(&peer, BELLS.len() + 1, end)?;
            add_bells(&mut tx_far, message, 2 * queues)?;
        }
        let rx_far = tx_far.split_off(queues);
        let memory = Memory { pipe: Pipe::Joiner, region, pairs };
        Ok(Met::Joined { peer, memory, offer: Box::new(offer), tx_far, rx_far })
    }

    pub(super) fn check_user(&self, peer: &OwnedFd) -> Result<(), Trouble> {
        let uid = socket::peer_user(peer)?;
        if uid == socket::user() { Ok(()) } else { Err(Trouble::OtherUser(uid)) }
    }
}

/// What a message says that brings bells.
pub(super) const BELLS: &[u8] = b"bells";

/// Sends all bells of this end: transmit queues, then receive queues.
pub(super) fn send_bells(peer: &OwnedFd, side: &Side) -> io::Result<()> {
    side.bells().chunks(MOST_FDS).try_for_each(|some| {
        let fds: Vec<BorrowedFd<'_>> = some.iter().map(AsFd::as_fd).collect();
        socket::send(peer, BELLS, &fds)
    })
}

/// Adds the bells of one message to those that came before; no more than are wanted.
pub(super) fn add_bells(
    bells: &mut Vec<Bell>,
    (word, fds): (Vec<u8>, Vec<OwnedFd>),
    wanted: usize,
) -> Result<(), Trouble> {
    if word != BELLS || fds.is_empty() || bells.len() + fds.len() > wanted {
        return Err(Trouble::Again);
    }
    for fd in fds {
        bells.push(Bell::from_fd(fd)?);
    }
    Ok(())
}
