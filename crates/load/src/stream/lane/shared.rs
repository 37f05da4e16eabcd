//! State that the lanes of a test share: its end, and how much they may move until then.

use crate::stream::fault::Fault;
use linerate_rt::{Moves, Stop};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two blocks that are sent beyond the limit.
const TRICKLE: Duration = Duration::from_millis(10);

/// Amount after which a test ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream) enum Limit {
    None,
    Bytes(u64),
    Blocks(u64),
}

pub(in crate::stream) struct Shared {
    /// True once receivers, and once senders, are to end.
    done: [AtomicBool; 2],
    /// True while the beginning is left out, which no limit counts.
    omitting: AtomicBool,
    /// Number of times that the count has begun anew.
    counted: AtomicU32,
    limit: Limit,
    /// Time for which a sender at its limit waits for the end, before it sends on; at once nothing more without.
    patience: Option<Duration>,
    /// True once senders have waited so long; and the number of blocks that they may send beyond the limit since.
    waited: AtomicBool,
    extra: AtomicU32,
    /// Amounts that senders have claimed, and that receivers have got.
    claimed: AtomicU64,
    got: AtomicU64,
    senders: AtomicUsize,
    /// Datagrams that belong to no stream's sequence: added by each lane at its end, and read behind its join, which orders it.
    pub(in crate::stream) outside: AtomicU64,
    /// Those that had come before, likewise.
    pub(in crate::stream) copies: AtomicU64,
    fault: Mutex<Option<Fault>>,
    /// Requested when a limit is reached, all senders have ended, or a stream broke.
    pub(in crate::stream) over: Stop,
    /// Marked when data come or go: a session that does not move may lose its place.
    pub(in crate::stream) moves: Moves,
}

impl Shared {
    /// Makes the state of a test with so many senders.
    pub(in crate::stream) fn new(
        limit: Limit,
        patience: Option<Duration>,
        omitting: bool,
        senders: usize,
    ) -> std::io::Result<Self> {
        Ok(Self {
            patience,
            waited: AtomicBool::new(false),
            extra: AtomicU32::new(0),
            done: [const { AtomicBool::new(false) }; 2],
            omitting: AtomicBool::new(omitting),
            counted: AtomicU32::new(0),
            limit,
            claimed: AtomicU64::new(0),
            got: AtomicU64::new(0),
            senders: AtomicUsize::new(senders),
            outside: AtomicU64::new(0),
            copies: AtomicU64::new(0),
            fault: Mutex::new(None),
            over: Stop::new()?,
            moves: Moves::default(),
        })
    }

    /// True if lanes that send, or that receive, are to end.
    #[inline]
    pub(super) fn is_done(&self, sends: bool) -> bool {
        self.done[usize::from(sends)].load(Relaxed)
    }

    /// Tells lanes that send, or that receive, to end.
    pub(in crate::stream) fn end(&self, sends: bool) {
        // Before the sockets are shut down, so that a lane that fails by that sees why.
        self.done[usize::from(sends)].store(true, SeqCst);
    }

    /// True if the number of blocks counts.
    #[inline]
    pub(super) fn counts_blocks(&self) -> bool {
        matches!(self.limit, Limit::Blocks(_))
    }

    /// Begins the count: from now on the limit holds, and jitter begins anew.
    pub(in crate::stream) fn count(&self) {
        self.omitting.store(false, Relaxed);
        self.counted.fetch_add(1, Relaxed);
    }

    #[inline]
    pub(super) fn counted(&self) -> u32 {
        self.counted.load(Relaxed)
    }

    /// True if a sender may send another block; what it claims so is its own.
    #[inline]
    pub(super) fn claim(&self, bytes: u64) -> bool {
        self.moves.mark();
        let (amount, most) = match self.limit {
            Limit::None => return true,
            Limit::Bytes(most) => (bytes, most),
            Limit::Blocks(most) => (1, most),
        };
        self.omitting.load(Relaxed)
            || self.claimed.fetch_add(amount, Relaxed) < most
            || self.extra.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Waits at the limit for the end of the test; true if it does not come, so that the other end, which ends the test when it
    /// has received all, lacks something. One block more may be claimed then: a hundred a second, whatever the rate, since more
    /// at once would be lost as those before were.
    pub(super) fn lacks(&self) -> bool {
        let Some(patience) = self.patience else { return false };
        let patience = if self.waited.load(Relaxed) { patience.min(TRICKLE) } else { patience };
        let until = Instant::now() + patience;
        while !self.is_done(true) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.waited.store(true, Relaxed);
        let lacks = !self.is_done(true);
        self.extra.fetch_add(u32::from(lacks), Relaxed);
        lacks
    }

    /// True if a sender of a byte stream may send another block, at the limit after its wait.
    #[inline]
    pub(super) fn may_send(&self, bytes: u64) -> bool {
        self.claim(bytes) || self.lacks() && self.claim(bytes)
    }

    /// Counts what a receiver got, `pieces` of them since the last time.
    #[inline]
    pub(super) fn got(&self, bytes: u64, pieces: u64) {
        self.moves.mark();
        let (amount, most) = match self.limit {
            Limit::None => return,
            Limit::Bytes(most) => (bytes, most),
            Limit::Blocks(most) => (pieces, most),
        };
        if !self.omitting.load(Relaxed) && self.got.fetch_add(amount, Relaxed) + amount >= most {
            self.over.ask(0);
        }
    }

    /// A lane has ended, because of a fault or not.
    pub(super) fn left(&self, sends: bool, fault: Option<Fault>) {
        let broke = fault.is_some();
        if let Some(fault) = fault {
            self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        }
        let last = sends && self.senders.fetch_sub(1, SeqCst) == 1;
        if broke || last {
            self.over.ask(0);
        }
    }

    /// The first fault of a lane.
    pub(in crate::stream) fn fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_claim_no_more_than_the_limit_and_a_block() {
        let shared = Shared::new(Limit::Bytes(1000), None, false, 1).unwrap();
        assert_eq!((0..9).filter(|_| shared.claim(300)).count(), 4);
        let shared = Shared::new(Limit::Blocks(3), None, true, 1).unwrap();
        assert_eq!((0..9).filter(|_| shared.claim(300)).count(), 9, "nothing counts yet");
        shared.count();
        assert_eq!((0..9).filter(|_| shared.claim(300)).count(), 3);
    }

    #[test]
    fn at_its_limit_a_sender_that_is_not_told_to_end_sends_on_after_a_while() {
        for (patience, sends_on) in [(None, false), (Some(Duration::ZERO), true)] {
            let shared = Shared::new(Limit::Blocks(2), patience, false, 1).unwrap();
            assert!(shared.may_send(1) && shared.may_send(1));
            assert_eq!((shared.may_send(1), shared.claim(1)), (sends_on, false), "one for each wait");
            shared.end(true);
            assert!(!shared.lacks());
        }
        let shared = Shared::new(Limit::Blocks(0), Some(Duration::from_secs(600)), false, 1).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| shared.may_send(1));
            shared.end(true);
            assert!(!waits.join().unwrap(), "the end ends the wait");
        });
    }

    #[test]
    fn a_limit_a_fault_and_the_last_sender_end_a_test() {
        let shared = Shared::new(Limit::Bytes(1000), None, false, 2).unwrap();
        shared.got(999, 1);
        assert!(!shared.over.asked());
        shared.got(1, 1);
        assert!(shared.over.asked());
        let shared = Shared::new(Limit::None, None, false, 2).unwrap();
        shared.left(true, None);
        shared.left(false, None);
        assert!(!shared.over.asked());
        shared.left(true, None);
        assert!(shared.over.asked() && shared.fault().is_none());
        let shared = Shared::new(Limit::None, None, false, 2).unwrap();
        shared.left(false, Some(Fault::Idle));
        assert!(shared.over.asked() && matches!(shared.fault(), Some(Fault::Idle)));
    }
}
