//! The side of fork that did not open a file: its calls are handed over to the process that did (`heirs.rs`), by a socket that fork
//! made for this child alone. A file is known by the number of forks before it was opened, and by its own.

use crate::file::File;
use crate::sys::process::{Blocked, PerProcess, lock};
use crate::sys::real;
use crate::sys::say::Once;
use linerate_ring::sys::message::{receive, send};
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What a child asks for.
pub(crate) mod what {
    pub(crate) const TXSYNC: u32 = 1;
    pub(crate) const RXSYNC: u32 = 2;
    /// What poll finds.
    pub(crate) const READY: u32 = 3;
    /// The bell that comes along is to be rung when poll finds something.
    pub(crate) const SLEEP: u32 = 4;
    pub(crate) const CLOSE: u32 = 5;
    /// The socket that comes along is one of a child of the child's.
    pub(crate) const FORK: u32 = 6;
}

/// A call that is handed over.
#[derive(Default)]
pub(crate) struct Call {
    pub(crate) what: u32,
    pub(crate) file: u32,
    pub(crate) events: u32,
    pub(crate) process: u32,
    pub(crate) thread: u32,
    /// The answer has it, too.
    pub(crate) number: u32,
}

/// Words of four bytes of a call, and of an answer: its number, and what is returned, or errno below 0.
pub(crate) const WORDS: usize = 6;
const ANSWER: usize = 8;

impl Call {
    fn bytes(&self) -> Vec<u8> {
        let words = [self.what, self.file, self.events, self.process, self.thread, self.number];
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        let mut next = || words.next();
        Some(Self { what: next()?, file: next()?, events: next()?, process: next()?, thread: next()?, number: next()? })
    }
}

/// Forks of forks that are served.
pub(crate) const DEPTH: usize = 8;
/// Longest time that an answer may take: the other process may be stopped.
const PATIENCE: Duration = Duration::from_secs(5);
/// Sockets to the processes that opened files, by the number of forks before them, one more each; 0 is none.
static WAYS: [AtomicI32; DEPTH] = [const { AtomicI32::new(0) }; DEPTH];
/// Number of the last call on each, whose lock the thread has that calls.
static LAST: PerProcess<[Mutex<u32>; DEPTH]> = PerProcess::new();

static GONE: Once = Once::new();
static SLOW: Once = Once::new();
static UNKNOWN: Once = Once::new();
static REFUSED: Once = Once::new();

/// A way for a child to the process that this one's own leads to; None if there is none, or that has gone.
pub(crate) fn passed_on(depth: usize) -> Option<c_int> {
    if WAYS[depth].load(Relaxed) == 0 {
        return None;
    }
    let (ours, theirs) = UnixStream::pair().ok()?;
    let call = Call { what: what::FORK, ..Call::default() };
    ask(depth, call, Some(ours.as_fd())).ok()?;
    Some(OwnedFd::from(theirs).into_raw_fd())
}

/// In a child: takes its own ways, and closes its parent's.
pub(crate) fn take(ways: [c_int; DEPTH]) {
    for (way, next) in WAYS.iter().zip(ways) {
        let was = way.swap(next, Relaxed);
        if was > 0 {
            real::close(was - 1);
        }
    }
}

/// Hands a call over; what is returned, or errno.
pub(crate) fn call(file: &File, what: u32, events: i16, with: Option<BorrowedFd<'_>>) -> Result<i32, c_int> {
    let events = u32::from(events.cast_unsigned());
    ask(file.depth(), Call { what, file: file.number(), events, ..Call::default() }, with)
}

fn ask(depth: usize, call: Call, with: Option<BorrowedFd<'_>>) -> Result<i32, c_int> {
    let way = WAYS.get(depth).map_or(0, |way| way.load(Relaxed)) - 1;
    if way < 0 {
        UNKNOWN.say(format_args!(
            "there is no way to the process that opened a descriptor (too many forks, children or descriptors); open /dev/netmap here"
        ));
        return Err(libc::EOPNOTSUPP);
    }
    // A handler that asked, too, would wait for the thread that it interrupted.
    let _blocked = Blocked::all();
    let mut last = lock(&LAST.get(|| Ok::<_, c_int>(Default::default()))?[depth]);
    *last = last.wrapping_add(1);
    let call = Call { process: std::process::id(), thread: real::thread(), number: *last, ..call };
    let (way, gone) = (real::borrowed(way), || {
        GONE.say(format_args!("the process that opened a descriptor has ended, and its rings with it (ENXIO)"));
        libc::ENXIO
    });
    let with: Vec<_> = with.into_iter().collect();
    send(&way, &call.bytes(), &with).map_err(|_| gone())?;
    let end = Instant::now() + PATIENCE;
    loop {
        let answer = match receive(&way, ANSWER) {
            Ok((bytes, _)) if bytes.len() == ANSWER => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    SLOW.say(format_args!("the process that opened a descriptor does not answer (EIO)"));
                    return Err(libc::EIO);
                }
                // Signals are blocked; a failure is a wait that was short.
                let _ = real::ppoll(&mut [entry(&way)], Some(left), None);
                continue;
            }
            _ => return Err(gone()),
        };
        let word = |at: usize| u32::from_ne_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]]);
        // An older answer is one to a call that was given up.
        if word(0) == *last {
            let value = word(4).cast_signed();
            return if value < 0 { Err(-value) } else { Ok(value) };
        }
    }
}

fn entry(way: &BorrowedFd<'_>) -> libc::pollfd {
    libc::pollfd { fd: way.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

/// What poll finds on a parent's file.
pub(crate) fn ready(file: &File, events: i16) -> i16 {
    call(file, what::READY, events, None).map_or(libc::POLLERR, |found| i16::try_from(found).unwrap_or(libc::POLLERR))
}

/// Prepares to sleep on a parent's file: `bell` is rung when poll finds something, and the end of that process ends the sleep, too.
pub(crate) fn sleep_on(file: &File, events: i16, bell: BorrowedFd<'_>, set: &mut Vec<libc::pollfd>) -> bool {
    let way = WAYS.get(file.depth()).map_or(0, |way| way.load(Relaxed)) - 1;
    set.push(libc::pollfd { fd: way, events: 0, revents: 0 });
    call(file, what::SLEEP, events, Some(bell)).is_ok()
}

/// Says that a request is none that a child makes of its parent's file.
pub(crate) fn refuse() -> c_int {
    REFUSED.say(format_args!(
        "a child of fork syncs, polls and maps what its parent opened, and asks for nothing else there (EOPNOTSUPP); let it open /dev/netmap itself"
    ));
    libc::EOPNOTSUPP
}
