//! Exclusive claims to the halves of a pair in a private region, where frames are borrowed and must have one holder.
//!
//! Between processes this cannot be enforced and need not be: there frames are only copied.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// One half of a pair of rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Sender,
    Receiver,
}

/// Exclusive right to one half of a pair; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    half: Half,
    gone: Arc<[AtomicBool; 2]>,
}

impl Claim {
    /// Both halves of a new pair: sender, receiver.
    pub(crate) fn both() -> [Option<Self>; 2] {
        let gone = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        [Half::Sender, Half::Receiver].map(|half| Some(Self { half, gone: gone.clone() }))
    }

    /// True if the other half was dropped. Pairs with the release in `drop`: its holder's accesses to frames came
    /// before.
    pub(crate) fn other_is_gone(&self) -> bool {
        self.gone[1 - self.half as usize].load(Acquire)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.gone[self.half as usize].store(true, Release);
    }
}

/// Number that no other call returns in this process; never 0.
#[must_use]
pub fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}
