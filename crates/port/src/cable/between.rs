//! A cable between two processes: making or joining the region, and the handover when one end goes.
//!
//! Both ends look for the cable's socket in the user's runtime directory. If no process listens there, this end makes
//! the region and listens; otherwise it joins. A thread of each end watches the other end from then on ([`Watcher`]).
//!
//! No message of the other process, and no missing one, delays an end for longer than [`PATIENCE`] and one handshake.

use super::memory::Memory;
use super::message::{self, Offer, Refusal};
use super::side::Side;
use super::watcher::Watcher;
use super::{End, Shape};
use crate::error::{Cause, OpenError};
use crate::kind::Spec;
use crate::port::Parts;
use crate::sys::seqpacket::{self as socket, DirLock, MOST_FDS};
use linerate_host::shell::{operand, word};
use linerate_ring::Region;
use linerate_ring::{Bell, Foreign, Pipe, RegionError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for which an opener tries to find out if it is the first.
const PATIENCE: Duration = Duration::from_secs(6);
/// Time limit of a handshake. Linux was seen to keep a process of a busy machine from its processors for more than two seconds.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(5);

/// Outcome of the meeting of two ends.
pub(super) enum Met {
    /// This end is the first: it listens.
    First(OwnedFd),
    /// This end has joined the other one.
    Joined(Joined),
}

/// Resources obtained by joining.
pub(super) struct Joined {
    pub(super) peer: Foreign,
    pub(super) memory: Memory,
    pub(super) shape: Shape,
    /// Address that this end is to send from, if the maker says one.
    mac: Option<[u8; 6]>,
    /// Bells of the other end: of its transmit queues, then of its receive queues.
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

/// Joins the process that listens at a socket of the user's runtime directory and understands this hello, now and
/// whenever it restarts; never listens itself. It takes the right end.
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
    /// Makes the port of an end that has joined.
    fn start(self, spec: &Spec, meeting: Meeting, side: &Arc<Side>, path: String) -> Result<Parts, OpenError> {
        let Self { peer, memory, shape, mac, far } = self;
        let ends = memory.ends(meeting.end.left).map_err(|e| system(spec, &e))?;
        let ready = ends.ready(side, shape.rate, &far);
        side.up();
        let mut parts = ready.parts(spec, &shape, path);
        parts.info.mac = mac;
        Watcher::start(side, meeting, shape, None, Some(peer)).map_err(|e| system(spec, &e))?;
        Ok(parts)
    }
}

/// Reason that two ends did not meet.
pub(crate) enum Trouble {
    /// The other end was about to go, or is not linerate: worth another try.
    Again,
    /// No process listens, and this end may not.
    Nobody,
    /// Another process is looking for an end at this moment, or keeps the directory locked.
    Locked,
    /// The maker's cable has another shape than wanted.
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
            Self::Nobody | Self::Refused(Refusal::Taken | Refusal::Unknown) if spec.interface().is_some() => {
                let (port, vi) = spec.interface().unwrap_or_default();
                match self {
                    Self::Nobody => new(
                        Cause::Missing,
                        format!("no adapter runs on {port} as this user"),
                        &format!("start: linerate nic up -i {}", word(port)),
                    ),
                    Self::Refused(Refusal::Unknown) => new(
                        Cause::Peer,
                        format!("the adapter on {port} has no virtual interface {vi}"),
                        &format!("add it: linerate nic vi add -i {} {vi}", word(port)),
                    ),
                    _ => new(
                        Cause::Busy,
                        format!("virtual interface {vi} of {port} is open in another program"),
                        "use another one, or close that program",
                    ),
                }
            }
            Self::Again => new(Cause::Busy, "the other end does not answer".into(), "stop the program that holds it"),
            Self::Nobody => new(
                Cause::Missing,
                format!("no switch '{0}' runs as this user", switch_of(spec)),
                &format!(
                    "open two of its ports in one program, or start: linerate switch {}",
                    operand(switch_of(spec))
                ),
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

/// Error: the switch does not grant its port an option.
fn not_granted(spec: &Spec, option: &str) -> OpenError {
    let (switch, port) = spec.name.split_once(':').unwrap_or_default();
    let asked = spec.option(option).unwrap_or_default();
    let what = format!("the switch does not grant {option}={asked} to this port");
    let mend = format!(
        "leave {option}= out, or start it so: linerate switch --ports {} {}",
        word(format!("{port}:{option}={asked}")),
        operand(switch)
    );
    OpenError::new(spec, Cause::Peer, what, mend)
}

/// Name of the switch in a port's name: the part before the second colon.
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

/// Connection parameters of one end: where and how it meets the other.
pub(super) struct Meeting {
    pub(super) end: End,
    dir: PathBuf,
    pub(super) path: PathBuf,
    queues: u32,
    /// First message to the listening process.
    hello: Vec<u8>,
    /// Take the listening place if no process has it.
    may_listen: bool,
}

/// Connects to the process that listens at a path of a directory; if there is none, listens there if `may_listen`.
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
            // Refused: the socket file of a process that is gone. The lock makes sure that no process is replacing it
            // right now.
            if e.kind() == io::ErrorKind::ConnectionRefused {
                std::fs::remove_file(path)?;
            }
            Ok(Err(socket::listen(path)?))
        }
        Err(e) => Err(e.into()),
    }
}

/// Checks that the process at the other end runs as this user.
pub(crate) fn check_user(peer: &Foreign) -> Result<(), Trouble> {
    let uid = socket::peer_user(peer)?;
    if uid == linerate_host::user() { Ok(()) } else { Err(Trouble::OtherUser(uid)) }
}

impl Meeting {
    /// Meets the other end, or finds out within [`PATIENCE`] why not.
    fn patiently(&mut self, spec: &Spec, shape: &Shape) -> Result<(Met, Arc<Side>), OpenError> {
        // The bells must exist before the meeting, but their number is known only then: an offer may say otherwise.
        let deadline = Instant::now() + PATIENCE;
        loop {
            let side = Arc::new(Side::between(self.queues as usize, false).map_err(|e| system(spec, &e))?);
            match self.meet(&side, &|offered| shape.agree(spec, offered).is_ok()) {
                Ok(met) => return Ok((met, side)),
                Err(Trouble::Shape(offered)) => shape.agree(spec, &offered)?,
                Err(trouble) if Instant::now() >= deadline => return Err(trouble.named(spec)),
                Err(Trouble::Queues(queues)) => self.queues = queues,
                // Busy: the previous end may be about to go, and its socket is closed by a thread of its own.
                Err(Trouble::Again | Trouble::Locked | Trouble::Refused(Refusal::Busy)) => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(trouble) => return Err(trouble.named(spec)),
            }
        }
    }

    /// Joins the listening process if its cable fits, or listens.
    pub(super) fn meet(&self, side: &Side, fits: &dyn Fn(&Shape) -> bool) -> Result<Met, Trouble> {
        match knock(&self.dir, &self.path, self.may_listen)? {
            Ok(peer) => self.join(peer, side, fits),
            Err(listener) => Ok(Met::First(listener)),
        }
    }

    /// Listens, if no process does.
    pub(super) fn place(&self) -> Option<OwnedFd> {
        if !self.may_listen {
            return None;
        }
        // Others hold the lock for a few system calls only; a process that keeps it longer does not block this end.
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
        // The last message that the maker waits for: from here on it counts this end as joined.
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
        Ok(Met::Joined(Joined { peer, memory, shape: offer.shape, mac: offer.mac, far }))
    }
}

/// Message of a joiner after it has checked the offer.
pub(super) const READY: &[u8] = b"ready";
/// Text of a message that carries bells.
const BELLS: &[u8] = b"bells";
/// Bells in one message.
const BELLS_EACH: usize = 128;
const _: () = assert!(BELLS_EACH <= MOST_FDS);

/// Hands over all bells that a joiner needs: those that it sleeps on, and those that wake this end; for each of its
/// transmit queues, then of its receive queues, and then of this end's. Returns the bells that wake the joiner.
pub(crate) fn send_bells(peer: &Foreign, side: &Side) -> io::Result<Vec<Bell>> {
    let hand = |ends: io::Result<Vec<OwnedFd>>| {
        let ends = ends?;
        let fds: Vec<BorrowedFd<'_>> = ends.iter().map(AsFd::as_fd).collect();
        socket::send(peer, BELLS, &fds)
    };
    // As many descriptors at a time as a message carries: the process may have no more to spare.
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
