//! One end of a cable, as its queues and its watcher see it: the link's state and its generation.
//!
//! A generation is one pairing of two ends. When the other end goes, the link goes down; each queue notices at its next
//! sync, takes its slots back, and reports. Only when all queues have reported does the watcher pair again.

use super::memory::Ends;
use super::wire::Wire;
use crate::clock::Clock;
use crate::info::Link;
use linerate_ring::{Bell, PipeRx, PipeTx, RxRing, TxRing};
use linerate_text::saturating_ns;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// State that a queue starts with before its first sync: down, in a generation that never comes.
pub(super) const NEVER: u32 = u32::MAX - 1;

/// Resources for a queue of a new generation: rings of its own region, the rate of the wire that comes with them, and
/// the far end's bell.
#[derive(Default)]
pub(super) struct Fresh<Half> {
    pub(super) ends: Option<(Box<Half>, Option<Wire>)>,
    pub(super) far: Option<Bell>,
}

pub(super) type FreshTx = Fresh<(TxRing, PipeTx)>;
pub(super) type FreshRx = Fresh<(RxRing, PipeRx)>;

/// Entry of one queue in the [`Handover`].
pub(super) struct QueueEntry<Half> {
    /// The queue has been synced.
    pub(super) claimed: bool,
    /// The queue has been dropped.
    gone: bool,
    /// The queue has left the last pairing.
    pub(super) let_go: bool,
    pub(super) fresh: Fresh<Half>,
    /// Rings that no other process maps, for the queue after it has left the pairing.
    pub(super) own: Option<Box<Half>>,
}

impl<Half> QueueEntry<Half> {
    fn new() -> Self {
        Self { claimed: false, gone: false, let_go: true, fresh: Fresh { ends: None, far: None }, own: None }
    }

    /// True if a queue is in use: synced once, and not dropped.
    fn in_use(&self) -> bool {
        self.claimed && !self.gone
    }

    /// Takes note that the queue is dropped.
    pub(super) fn leave(&mut self) {
        (self.gone, self.let_go) = (true, true);
    }
}

/// Exchange between the queues and the watcher; used only when the link changes.
pub(super) struct Handover {
    pub(super) tx: Vec<QueueEntry<(TxRing, PipeTx)>>,
    pub(super) rx: Vec<QueueEntry<(RxRing, PipeRx)>>,
}

/// State of one end; see the module's text.
pub(crate) struct Side {
    /// Generation times two, plus one when the link is up.
    state: AtomicU32,
    handover: Mutex<Handover>,
    reported: Condvar,
    /// Bells that this end's queues sleep on: transmit queues, then receive queues.
    bells: Vec<Bell>,
    queues: usize,
    /// The other end, if it is in this process: it is told when this one is gone.
    far: OnceLock<Weak<Side>>,
    /// Socket file to be removed at the end.
    listens_at: Mutex<Option<PathBuf>>,
    /// State in which the other process violated the protocol; the watcher is told once.
    violation: AtomicU32,
    /// Number of times that a pause of the far end held frames back here, and the total in ns.
    pauses: [AtomicU64; 2],
    /// Clock that its queues go by.
    pub(super) clock: Clock,
    /// Bell that the watcher sleeps on besides its sockets.
    pub(crate) watcher: Bell,
}

impl Side {
    /// An end whose far end is in this process.
    pub(crate) fn within(queues: usize) -> std::io::Result<Self> {
        Self::new(queues, true, Bell::new)
    }

    /// An end whose far end is, or will be, in another process.
    pub(crate) fn between(queues: usize, up: bool) -> std::io::Result<Self> {
        Self::new(queues, up, Bell::between)
    }

    fn new(queues: usize, up: bool, bell: fn() -> std::io::Result<Bell>) -> std::io::Result<Self> {
        let bells = (0..2 * queues).map(|_| bell()).collect::<Result<_, _>>()?;
        let handover = Handover {
            tx: (0..queues).map(|_| QueueEntry::new()).collect(),
            rx: (0..queues).map(|_| QueueEntry::new()).collect(),
        };
        Ok(Self {
            state: AtomicU32::new(up.into()),
            handover: Mutex::new(handover),
            reported: Condvar::new(),
            bells,
            queues,
            far: OnceLock::new(),
            listens_at: Mutex::new(None),
            violation: AtomicU32::new(0),
            pauses: Default::default(),
            clock: Clock::default(),
            watcher: Bell::new()?,
        })
    }

    /// Registers the other end, in the same process, to be told when this one is gone.
    pub(crate) fn hang_up(&self, far: &Arc<Side>) {
        let _ = self.far.set(Arc::downgrade(far));
    }

    /// Sets the socket file that stands for this end, if there is one.
    pub(super) fn listens_at(&self, path: Option<&Path>) {
        *self.listens_at.lock().unwrap_or_else(PoisonError::into_inner) = path.map(Path::to_owned);
    }

    /// Reports that the other process of this pairing violated the protocol: the watcher ends the pairing.
    #[cold]
    pub(super) fn report_violation(&self, state: u32) {
        if self.violation.swap(state, Relaxed) != state {
            self.watcher.ring();
        }
    }

    /// True if the other process violated the protocol in the present pairing; earlier pairings do not count.
    pub(crate) fn peer_violated(&self) -> bool {
        let state = self.state();
        state & 1 == 1 && self.violation.load(Relaxed) == state
    }

    pub(super) fn count_pause(&self, times: u64, long: Duration) {
        self.pauses[0].fetch_add(times, Relaxed);
        self.pauses[1].fetch_add(saturating_ns(long), Relaxed);
    }

    /// Number of times that the far end has paused queues with frames to send, and the microseconds that they have
    /// waited.
    pub(super) fn pauses(&self) -> (u64, u64) {
        (self.pauses[0].load(Relaxed), self.pauses[1].load(Relaxed) / 1000)
    }

    /// Registers a new queue: it takes part from the start in a pairing that is up, else from its first sync on.
    pub(super) fn enter(&self, claim: impl FnOnce(&mut Handover)) -> u32 {
        let mut handover = self.handover();
        let state = self.state();
        if state & 1 == 0 {
            return NEVER;
        }
        claim(&mut handover);
        state
    }

    /// All bells of this end: transmit queues, then receive queues.
    pub(super) fn bells(&self) -> &[Bell] {
        &self.bells
    }

    pub(crate) fn tx_bell(&self, queue: usize) -> Bell {
        self.bells[queue].clone()
    }

    pub(crate) fn rx_bell(&self, queue: usize) -> Bell {
        self.bells[self.queues + queue].clone()
    }

    /// Link state. The load pairs with the release in `set`: a reader of a generation also sees the handover entries
    /// for it.
    #[inline]
    pub(super) fn state(&self) -> u32 {
        self.state.load(Acquire)
    }

    pub(crate) fn link(&self) -> Link {
        if self.state() & 1 == 1 { Link::Up } else { Link::Down }
    }

    fn set(&self, state: u32) {
        self.state.store(state, Release);
        for bell in &self.bells {
            bell.ring();
        }
    }

    /// Takes the link down, because the other end is gone. Queues in use have to report anew.
    pub(crate) fn down(&self) {
        self.part(Ends { tx: Vec::new(), rx: Vec::new() });
    }

    /// Takes the link down, with rings that each queue uses once it has left those that the other end maps.
    pub(super) fn part(&self, own: Ends) {
        let state = self.state();
        if state & 1 == 0 {
            return;
        }
        let mut handover = self.handover();
        let (mut tx, mut rx) = (own.tx.into_iter().map(Box::new), own.rx.into_iter().map(Box::new));
        for entry in &mut handover.tx {
            (entry.let_go, entry.own) = (!entry.in_use(), tx.next());
        }
        for entry in &mut handover.rx {
            (entry.let_go, entry.own) = (!entry.in_use(), rx.next());
        }
        self.bells.iter().for_each(Bell::detach);
        self.set(state.wrapping_add(1));
    }

    /// Takes the link up: the new rings and bells are in the handover.
    pub(super) fn up(&self) {
        let state = self.state();
        if state & 1 == 0 {
            self.set(state.wrapping_add(1));
        }
    }

    pub(super) fn handover(&self) -> MutexGuard<'_, Handover> {
        self.handover.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the watcher after a queue has reported.
    pub(super) fn reported(&self) {
        self.reported.notify_all();
    }

    /// Waits at most `patience` for the reports of all queues; true if all have reported.
    pub(super) fn reports(&self, patience: Duration) -> bool {
        let open = |handover: &mut Handover| {
            handover.tx.iter().any(|entry| !entry.let_go) || handover.rx.iter().any(|entry| !entry.let_go)
        };
        let waited = self.reported.wait_timeout_while(self.handover(), patience, open);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Drop for Side {
    /// Runs when the port and all its queues are gone, so nothing of this end accesses the rings any more.
    fn drop(&mut self) {
        if let Some(far) = self.far.get().and_then(Weak::upgrade) {
            far.down();
        }
        let path = self.listens_at.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = path.take() {
            // The file may be removed already; that is no error.
            let _ = std::fs::remove_file(path);
        }
        self.watcher.ring();
    }
}
