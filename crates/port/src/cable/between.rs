//! A cable between two processes: who makes the region, who joins it, and what happens when one goes.
//!
//! Both ends look for the cable's socket in the user's runtime directory. Nobody listens: this end makes the region and
//! listens. Somebody does: this end joins. A thread of each end watches the other one from then on ([`Watcher`]).
//!
//! Nothing that the other process says or leaves unsaid makes an end wait for longer than [`PATIENCE`] and a handshake.

use super::memory::Memory;
use super::message::{self, Offer, Refusal};
use super::side::Side;
use super::watcher::Watcher;
use super::{End, Shape};
use crate::error::{Cause, OpenError};
use crate::kind::Spec;
use crate::port::Parts;
use crate::sys::seqpacket::{self as socket, DirLock, MOST_FDS};
use linerate_ring::Region;
use linerate_ring::{Bell, Foreign, Pipe, RegionError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an opener tries to find out whether it is the first.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a handshake may take.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(2);

/// How two ends came together.
pub(super) enum Met {
    /// This end is the first: it listens.
    First(OwnedFd),
    /// The other end was there.
    Joined(Joined),
}

/// What joining gave.
pub(super) struct Joined {
    pub(super) peer: Foreign,
    pub(super) memory: Memory,
    pub(super) shape: Shape,
    /// The other end's bells: of its transmit queues, of its receive queues.
    pub(super) far: Vec<Bell>,
}

pub(super) fn open(spec: &Spec, end: &End, shape: &Shape) -> Result<Parts, OpenError> {
    let dir = socket::runtime_dir().map_err(|e| system(spec, &e))?;
    let path = dir.join(format!("cable-{}.sock", end.cable));
    let hello = message::hello(end.left);
    let mut meeting = Meeting { end: end.clone(), path, dir, queues: shape.queues, hello, may_listen: true };
    match meeting.patiently(spec, shape)? {
        (Met::First(listener), side) => {
            let memory = Memory::make(end, shape).map_err(|e| system(spec, &e))?;
            let ready = memory.ends(end.left).map_err(|e| system(spec, &e))?.ready(&side, shape.rate, &[]);
            side.listens_at(Some(&meeting.path));
            let parts = ready.parts(spec, shape, "cable to another process, over this one's memory".into());
            Watcher::start(&side, meeting, *shape, Some(listener), None).map_err(|e| system(spec, &e))?;
            Ok(parts)
        }
        (Met::Joined(joined), side) => {
            joined.start(spec, meeting, &side, "cable to another process, over the other one's memory".into())
        }
    }
}

/// Joins whoever listens at a socket of the user's runtime directory and understands this hello, now and whenever it
/// comes anew; never listens itself. It is the right end of what it joins.
pub(crate) fn join(
    spec: &Spec,
    socket_name: &str,
    hello: Vec<u8>,
    shape: &Shape,
    path: String,
) -> Result<Parts, OpenError> {
    let dir = socket::runtime_dir().map_err(|e| system(spec, &e))?;
    let end = End { cable: socket_name.to_owned(), left: false };
    let at = dir.join(format!("{socket_name}.sock"));
    let mut meeting = Meeting { end, path: at, dir, queues: shape.queues, hello, may_listen: false };
    match meeting.patiently(spec, shape)? {
        (Met::Joined(joined), side) => joined.start(spec, meeting, &side, path),
        (Met::First(_), _) => Err(Trouble::Again.named(spec)),
    }
}

fn system(spec: &Spec, e: &dyn std::fmt::Display) -> OpenError {
    OpenError::new(spec, Cause::System, e, "check $XDG_RUNTIME_DIR and free memory")
}

impl Joined {
    /// The port of an end that has joined.
    fn start(self, spec: &Spec, meeting: Meeting, side: &Arc<Side>, path: String) -> Result<Parts, OpenError> {
        let Self { peer, memory, shape, far } = self;
        let ends = memory.ends(meeting.end.left).map_err(|e| system(spec, &e))?;
        let ready = ends.ready(side, shape.rate, &far);
        side.up();
        let parts = ready.parts(spec, &shape, path);
        Watcher::start(side, meeting, shape, None, Some(peer)).map_err(|e| system(spec, &e))?;
        Ok(parts)
    }
}

/// Why two ends did not meet.
pub(crate) enum Trouble {
    /// The other one was just going, or is not linerate: worth another try.
    Again,
    /// Nobody listens, and this end may not.
    Nobody,
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
    pub(crate) fn named(self, spec: &Spec) -> OpenError {
        let new = |cause, what: String, mend: &str| OpenError::new(spec, cause, what, mend);
        match self {
            Self::Again => new(Cause::Busy, "the other end does not answer".into(), "stop the program that holds it"),
            Self::Nobody => new(
                Cause::Missing,
                format!("no switch '{0}' runs as this user", switch_of(spec)),
                &format!("start `linerate switch {0}`, or open two of its ports in one program", switch_of(spec)),
            ),
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
                let mend = "close one of them, use another cable ID, or for more than two a switch (vale:SW:PORT)";
                new(Cause::Busy, "both ends are open in other processes".into(), mend)
            }
            Self::Refused(Refusal::Taken) => new(
                Cause::Busy,
                "the switch has a port of that name".into(),
                "use another name, or close the program that has it",
            ),
            Self::Refused(Refusal::Unknown) => new(
                Cause::Peer,
                "the switch is to have no port of that name".into(),
                "use one that it was started with (--ports), or start it without",
            ),
            Self::Refused(Refusal::Pause) => not_granted(spec, "pause"),
            Self::Refused(Refusal::Vlans) => not_granted(spec, "vlan"),
            Self::Refused(Refusal::Full) => {
                new(Cause::Busy, "the switch has no more ports".into(), "close some of them")
            }
            Self::Refused(Refusal::Memory) => {
                new(Cause::System, "the other end has no memory for such a port".into(), "use fewer or smaller rings")
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

/// A switch does not let its port have what it asks for by an option.
fn not_granted(spec: &Spec, option: &str) -> OpenError {
    let (switch, port) = spec.name.split_once(':').unwrap_or_default();
    let asked = spec.option(option).unwrap_or_default();
    let what = format!("the switch does not grant {option}={asked} to this port");
    let mend =
        format!("run it with --ports {port}:{option}={asked} (`linerate switch {switch}`), or leave {option}= out");
    OpenError::new(spec, Cause::Peer, what, mend)
}

/// The switch that a port's name says, before the second colon.
fn switch_of(spec: &Spec) -> &str {
    spec.name.split(':').next().unwrap_or_default()
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
    /// First words to whoever listens.
    hello: Vec<u8>,
    /// Takes the listening place if nobody has it.
    may_listen: bool,
}

/// A connection to whoever listens at a path of a directory; if nobody does, a listener, if that is wanted.
pub(crate) fn knock(dir: &Path, path: &Path, may_listen: bool) -> Result<Result<Foreign, OwnedFd>, Trouble> {
    let _lock = match DirLock::take(dir) {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(Trouble::Locked),
        lock => lock?,
    };
    match socket::connect(path) {
        Ok(peer) => Ok(Ok(peer)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            if !may_listen {
                return Err(Trouble::Nobody);
            }
            // Refused: the file of a process that is gone. The lock makes sure that nobody is just replacing it.
            if e.kind() == io::ErrorKind::ConnectionRefused {
                std::fs::remove_file(path)?;
            }
            Ok(Err(socket::listen(path)?))
        }
        Err(e) => Err(e.into()),
    }
}

/// Whether the process at the other side is of this user.
pub(crate) fn check_user(peer: &Foreign) -> Result<(), Trouble> {
    let uid = socket::peer_user(peer)?;
    if uid == socket::user() { Ok(()) } else { Err(Trouble::OtherUser(uid)) }
}

impl Meeting {
    /// Meets, or finds out within [`PATIENCE`] why not.
    fn patiently(&mut self, spec: &Spec, shape: &Shape) -> Result<(Met, Arc<Side>), OpenError> {
        // The bells must exist before the other end is met, their number is known only then: an offer may say otherwise.
        let deadline = Instant::now() + PATIENCE;
        loop {
            let side = Arc::new(Side::between(self.queues as usize, false).map_err(|e| system(spec, &e))?);
            match self.meet(&side, &|offered| shape.agree(spec, offered).is_ok()) {
                Ok(met) => return Ok((met, side)),
                Err(Trouble::Shape(offered)) => shape.agree(spec, &offered)?,
                Err(trouble) if Instant::now() >= deadline => return Err(trouble.named(spec)),
                Err(Trouble::Queues(queues)) => self.queues = queues,
                // Busy: the end before this one may be just going, and its socket is closed by a thread of its own.
                Err(Trouble::Again | Trouble::Locked | Trouble::Refused(Refusal::Busy)) => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(trouble) => return Err(trouble.named(spec)),
            }
        }
    }

    /// Joins whoever listens, if its cable fits, or listens.
    pub(super) fn meet(&self, side: &Side, fits: &dyn Fn(&Shape) -> bool) -> Result<Met, Trouble> {
        match knock(&self.dir, &self.path, self.may_listen)? {
            Ok(peer) => self.join(peer, side, fits),
            Err(listener) => Ok(Met::First(listener)),
        }
    }

    /// Listens, if nobody does.
    pub(super) fn place(&self) -> Option<OwnedFd> {
        if !self.may_listen {
            return None;
        }
        // Others hold the lock for a few system calls; who keeps it longer does not keep this end.
        for _ in 0..50 {
            match knock(&self.dir, &self.path, true) {
                Err(Trouble::Locked) => std::thread::sleep(Duration::from_millis(1)),
                met => return met.ok().and_then(Result::err),
            }
        }
        None
    }

    fn join(&self, peer: Foreign, side: &Side, fits: &dyn Fn(&Shape) -> bool) -> Result<Met, Trouble> {
        let end = Instant::now() + HANDSHAKE;
        check_user(&peer)?;
        socket::send(&peer, &self.hello, &[])?;
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
        socket::send(&peer, READY, &[])?;
        let own = side.bells();
        let mut fds = Vec::new();
        while fds.len() < 2 * own.len() {
            let (word, some) = socket::receive_until(&peer, BELLS.len() + 1, end)?;
            if word != BELLS || some.is_empty() || fds.len() + some.len() > 2 * own.len() {
                return Err(Trouble::Again);
            }
            fds.extend(some);
        }
        let far = fds.split_off(own.len()).into_iter().map(Bell::from_fd).collect::<io::Result<_>>()?;
        own.iter().zip(fds).try_for_each(|(bell, fd)| bell.take_over(fd))?;
        socket::refuse_descriptors(&peer);
        let memory = Memory { pipe: Pipe::Joiner, region, pairs };
        Ok(Met::Joined(Joined { peer, memory, shape: offer.shape, far }))
    }
}

/// A joiner's word once it has looked at the offer.
pub(super) const READY: &[u8] = b"ready";
/// What a message says that brings bells.
const BELLS: &[u8] = b"bells";
/// Bells of one message.
const BELLS_EACH: usize = 128;
const _: () = assert!(BELLS_EACH <= MOST_FDS);

/// Hands over what a joiner needs of all bells: what it sleeps on, and what it rings this end by; both of its transmit
/// queues, then of its receive queues, and of this end's. Gives the bells that wake it.
pub(crate) fn send_bells(peer: &Foreign, side: &Side) -> io::Result<Vec<Bell>> {
    let hand = |ends: io::Result<Vec<OwnedFd>>| {
        let ends = ends?;
        let fds: Vec<BorrowedFd<'_>> = ends.iter().map(AsFd::as_fd).collect();
        socket::send(peer, BELLS, &fds)
    };
    // As many descriptors at a time as a message carries: there may be no more to be had.
    let (own, mut far) = (side.bells(), Vec::new());
    for some in own.chunks(BELLS_EACH) {
        let pairs = some.iter().map(|_| Bell::apart()).collect::<io::Result<Vec<_>>>()?;
        let (bells, ends): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        far.extend(bells);
        hand(Ok(ends))?;
    }
    own.chunks(BELLS_EACH).try_for_each(|some| hand(some.iter().map(Bell::hand_over).collect()))?;
    Ok(far)
}
