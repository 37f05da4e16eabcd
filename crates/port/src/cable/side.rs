//! One end of a cable, as its queues and its watcher see it: is the link up, and in which generation?
//!
//! A generation is one pairing of two ends. When the other end goes, the link goes down; each queue notices at its next
//! sync, takes its slots back, and reports from which cursor the next pairing may start. Only when all queues have
//! reported does the watcher pair anew.

use crate::info::Link;
use linerate_ring::{Bell, PipeRx, PipeTx, RxRing, TxRing};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// What a new generation brings a transmit queue.
pub(super) enum FreshTx {
    /// The ring stays; the other end has another bell.
    Bell(Bell),
    /// Everything is new.
    Ends(Box<(TxRing, PipeTx)>, Bell),
}

/// What a new generation brings a receive queue.
pub(super) enum FreshRx {
    /// The ring stays; the other end has another bell.
    Bell(Bell),
    /// Everything is new.
    Ends(Box<(RxRing, PipeRx)>, Bell),
}

/// What queues and watcher leave for each other; looked at only when the link changes.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) tx_start: Vec<Option<u32>>,
    pub(super) rx_start: Vec<Option<u32>>,
    pub(super) tx: Vec<Option<FreshTx>>,
    pub(super) rx: Vec<Option<FreshRx>>,
}

/// See the module's text.
pub(super) struct Side {
    /// Generation times two, plus one when the link is up.
    state: AtomicU32,
    desk: Mutex<Desk>,
    reported: Condvar,
    /// What this end's queues sleep on: transmit queues, then receive queues.
    bells: Vec<Bell>,
    queues: usize,
    /// The other end, if it is of this process: it learns when this one is gone.
    far: OnceLock<Weak<Side>>,
    /// The other process lied; the watcher is told once.
    accused: AtomicBool,
    /// What the watcher sleeps on besides its sockets.
    pub(super) watcher: Bell,
}

impl Side {
    pub(super) fn new(queues: usize, up: bool) -> std::io::Result<Self> {
        let bells = (0..2 * queues).map(|_| Bell::new()).collect::<Result<_, _>>()?;
        let mut desk = Desk::default();
        desk.tx_start.resize(queues, None);
        desk.rx_start.resize(queues, None);
        desk.tx.resize_with(queues, || None);
        desk.rx.resize_with(queues, || None);
        Ok(Self {
            state: AtomicU32::new(up.into()),
            desk: Mutex::new(desk),
            reported: Condvar::new(),
            bells,
            queues,
            far: OnceLock::new(),
            accused: AtomicBool::new(false),
            watcher: Bell::new()?,
        })
    }

    /// Tells the other end of the same process when this one is gone.
    pub(super) fn hang_up(&self, far: &Arc<Side>) {
        let _ = self.far.set(Arc::downgrade(far));
    }

    /// The other process wrote what cannot be: the watcher shall part from it.
    #[cold]
    pub(super) fn accuse(&self) {
        if !self.accused.swap(true, Relaxed) {
            self.watcher.ring();
        }
    }

    /// Whether there was an accusation since the last time that this was asked.
    pub(super) fn accused(&self) -> bool {
        self.accused.swap(false, Relaxed)
    }

    pub(super) fn tx_bell(&self, queue: usize) -> Bell {
        self.bells[queue].clone()
    }

    pub(super) fn rx_bell(&self, queue: usize) -> Bell {
        self.bells[self.queues + queue].clone()
    }

    /// Pairs with the release in `set`: who sees a generation sees what lies on the desk for it.
    #[inline]
    pub(super) fn state(&self) -> u32 {
        self.state.load(Acquire)
    }

    pub(super) fn link(&self) -> Link {
        if self.state() & 1 == 1 { Link::Up } else { Link::Down }
    }

    fn set(&self, state: u32) {
        self.state.store(state, Release);
        for bell in &self.bells {
            bell.ring();
        }
    }

    /// The other end is gone.
    pub(super) fn down(&self) {
        let state = self.state();
        if state & 1 == 1 {
            self.set(state.wrapping_add(1));
        }
    }

    /// Paired: what is fresh lies on the desk.
    pub(super) fn up(&self) {
        let state = self.state();
        if state & 1 == 0 {
            self.set(state.wrapping_add(1));
        }
    }

    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A queue has taken its slots back.
    pub(super) fn report(&self, tx: bool, queue: usize, start: u32) {
        let mut desk = self.desk();
        let starts = if tx { &mut desk.tx_start } else { &mut desk.rx_start };
        starts[queue] = Some(start);
        self.reported.notify_all();
    }

    /// Waits a while for all queues' reports: their cursors, transmit then receive.
    pub(super) fn reports(&self, patience: Duration) -> Option<(Vec<u32>, Vec<u32>)> {
        let missing = |desk: &mut Desk| desk.tx_start.iter().chain(&desk.rx_start).any(Option::is_none);
        let desk = self.desk();
        let (desk, _) =
            self.reported.wait_timeout_while(desk, patience, missing).unwrap_or_else(PoisonError::into_inner);
        let all = |starts: &[Option<u32>]| starts.iter().copied().collect::<Option<Vec<_>>>();
        Some((all(&desk.tx_start)?, all(&desk.rx_start)?))
    }
}

impl Drop for Side {
    /// Runs when the port and all its queues are gone, so nothing of this end touches the rings any more.
    fn drop(&mut self) {
        if let Some(far) = self.far.get().and_then(Weak::upgrade) {
            far.down();
        }
    }
}
