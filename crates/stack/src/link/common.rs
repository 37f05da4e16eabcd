//! State of a link that the shards of a host share: the neighbours, and the generation of all that cached headers
//! depend on.

use super::{NeighbourConfig, Neighbours};
use crate::due::Due;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Generation of settings, addresses, routes and neighbours: headers that were made under it are valid as long as it is
/// the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(pub(crate) u64);

/// State that the shards share.
#[derive(Debug)]
pub(crate) struct Common {
    generation: AtomicU64,
    /// Time at which the neighbours have something to do; `u64::MAX` for never.
    due: AtomicU64,
    neighbours: Mutex<Neighbours>,
}

impl Common {
    pub(super) fn new(config: NeighbourConfig) -> Self {
        let neighbours = Mutex::new(Neighbours::new(config));
        Self { generation: AtomicU64::new(1), due: AtomicU64::new(u64::MAX), neighbours }
    }

    /// The present generation. Whoever caches a result takes it before what the result is made of: a change between
    /// the two makes the result one that is not used.
    #[inline]
    pub(crate) fn generation(&self) -> Generation {
        // Acquire: with the Release of `changed`, a shard that sees the number sees the change, too.
        Generation(self.generation.load(Ordering::Acquire))
    }

    /// Ends the present generation. The change was made before.
    pub(crate) fn changed(&self) {
        // Release: partner of the Acquire of `generation`.
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Time at which the neighbours have something to do.
    #[inline]
    pub(super) fn due(&self) -> Due {
        // Relaxed: the value stands for itself; what is due is looked up under the lock.
        Due::at(self.due.load(Ordering::Relaxed))
    }

    /// The neighbours, for one shard at a time.
    pub(crate) fn neighbours(&self) -> NeighbourTable<'_> {
        let table = self.neighbours.lock().unwrap_or_else(PoisonError::into_inner);
        NeighbourTable { before: table.generation(), table, common: self }
    }
}

/// The neighbours of a host, for one user at a time: all shards of the host wait meanwhile.
#[derive(Debug)]
pub struct NeighbourTable<'a> {
    table: MutexGuard<'a, Neighbours>,
    common: &'a Common,
    before: u64,
}

impl Deref for NeighbourTable<'_> {
    type Target = Neighbours;

    fn deref(&self) -> &Neighbours {
        &self.table
    }
}

impl DerefMut for NeighbourTable<'_> {
    fn deref_mut(&mut self) -> &mut Neighbours {
        &mut self.table
    }
}

impl Drop for NeighbourTable<'_> {
    /// Publishes changes, while the table is still locked.
    fn drop(&mut self) {
        if self.table.generation() != self.before {
            self.common.changed();
        }
        self.common.due.store(self.table.poll_timeout().unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
