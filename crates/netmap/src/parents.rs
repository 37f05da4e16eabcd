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

/// Requests of a child.
pub(crate) mod what {
    pub(crate) const TXSYNC: u32 = 1;
    pub(crate) const RXSYNC: u32 = 2;
    /// Events that poll finds.
    pub(crate) const READY: u32 = 3;
    /// The bell that comes along is to be rung when poll finds something.
    pub(crate) const SLEEP: u32 = 4;
    pub(crate) const CLOSE: u32 = 5;
    /// The socket that comes along is one of a child of the child's.
    pub(crate) const FORK: u32 = 6;
}

/// Words of a call: what, number of the file, events, process, thread, and its number, which the answer has, too.
pub(crate) type Call = [u32; 6];
/// Words of an answer: its call's number, and what is returned, or errno below 0.
pub(crate) type Answer = [u32; 2];

pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Words of a message; None if it is of another length.
pub(crate) fn words<const N: usize>(bytes: &[u8]) -> Option<[u32; N]> {
    let words = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    words.collect::<Vec<_>>().try_into().ok()
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
    ask(depth, [what::FORK, 0, 0], Some(ours.as_fd())).ok()?;
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
    ask(file.depth(), [what, file.number(), events.cast_unsigned().into()], with)
}

fn ask(depth: usize, [what, file, events]: [u32; 3], with: Option<BorrowedFd<'_>>) -> Result<i32, c_int> {
    let way = WAYS.get(depth).map_or(0, |way| way.load(Relaxed)) - 1;
    if way < 0 {
        UNKNOWN.say(format_args!(
            "there is no way to the process that opened a descriptor (too many forks, children or descriptors); open /dev/netmap here"
        ));
        return Err(libc::EOPNOTSUPP);
    }
    // For those that are asked by fork or close; see `entry`.
    let _blocked = Blocked::all();
    let mut last = lock(&LAST.get(|| Ok::<_, c_int>(Default::default()))?[depth]);
    *last = last.wrapping_add(1);
    let call: Call = [what, file, events, std::process::id(), real::thread(), *last];
    let (way, gone) = (real::borrowed(way), || {
        // A child of a child that holds nothing misses nothing.
        if what == what::FORK {
            return libc::ENXIO;
        }
        GONE.say(format_args!("the process that opened a descriptor has ended, and its rings with it (ENXIO)"));
        libc::ENXIO
    });
    let with: Vec<_> = with.into_iter().collect();
    send(&way, &bytes(&call), &with).map_err(|_| gone())?;
    let end = Instant::now() + PATIENCE;
    loop {
        let got = receive(&way, size_of::<Answer>());
        let [number, value]: Answer = match &got {
            Ok((bytes, _)) => words(bytes).ok_or_else(gone)?,
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
            Err(_) => return Err(gone()),
        };
        // An older answer is one to a call that was given up.
        if number == *last {
            let value = value.cast_signed();
            return if value < 0 { Err(-value) } else { Ok(value) };
        }
    }
}

fn entry(way: &BorrowedFd<'_>) -> libc::pollfd {
    libc::pollfd { fd: way.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

/// Events that poll finds on a parent's file.
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
