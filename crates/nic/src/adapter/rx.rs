//! The receive half of a port queue: a batch of the port's frames is divided among the interfaces where it lies, and each
//! interface's reader is shown its frames one by one. A batch lives until the next poll; what was not read by then is
//! dropped, and counted.

use super::batch::{Batch, END, Found, SLOTS, with};
use super::count::{Count, RxLedger};
use super::demux::{Cache, Key, each};
use super::frame::{RxFrame, RxMeta};
use super::settings::{Compiled, Shared};
use super::work::{FRONT, Tally, Work};
use linerate_offload::{Lro, LroConfig, Merged, Pushed, Received};
use linerate_port::{Link, RxQueue};
use std::sync::Arc;

/// Fuzzing makes a table for each script: few flows are made sooner, and give way more often.
const FLOWS: usize = if cfg!(fuzzing) { 16 } else { 256 };
/// How segments are merged. Whatever is held is handed out at the end of each batch.
pub(super) const LRO: LroConfig = LroConfig { flows: FLOWS, max_len: u16::MAX, max_pieces: 64, timeout: 1_000_000_000 };

/// The receive half of one port queue, in the hands of one thread.
pub struct NicRx {
    port: RxQueue,
    shared: Arc<Shared>,
    queue: usize,
    seen: u64,
    settings: Arc<Compiled>,
    /// What each interface wants done.
    works: Vec<Work>,
    batch: Batch,
    cache: Cache,
    ledger: RxLedger,
    lro: Lro,
    now: u64,
    /// Scratch: the front of a frame that is offered for merging.
    front: [u8; FRONT],
}

impl NicRx {
    pub(super) fn new(port: RxQueue, shared: Arc<Shared>, queue: usize) -> Self {
        let settings = shared.now();
        let batch = Batch::new(settings.vis.len());
        let (lro, ledger) = (Lro::new(LRO), RxLedger::default());
        Self {
            port,
            queue,
            seen: 0,
            batch,
            cache: Cache::new(),
            front: [0; FRONT],
            ledger,
            lro,
            now: 0,
            works: Vec::new(),
            settings,
            shared,
        }
    }

    /// Gives the last batch back, takes over settings that were changed, and takes a new batch; gives for how many
    /// readers frames came, each counted once a reader. `now`: any monotonic nanoseconds, the same clock in all calls to
    /// one adapter.
    pub fn poll(&mut self, now: u64) -> usize {
        self.now = now;
        let slots = self.batch.slots;
        let cells = &self.shared.cells[self.queue];
        self.batch.clear(|vi, left| cells.vis[vi].add(Count::RxUnread, left));
        self.port.ring.batch(slots).release(slots);
        if self.shared.generation() != self.seen {
            // First the number, then what it stands for: settings that change in between are fetched again.
            self.seen = self.shared.generation();
            self.settings = self.shared.now();
            self.works = self.settings.vis.iter().map(Work::new).collect();
            self.cache = Cache::new();
        }
        self.port.sync();
        self.divide();
        self.shared.cells[self.queue].ledger.write(&self.ledger);
        self.batch.frames.len()
    }

    /// Interfaces that have frames to read.
    pub fn ready(&self) -> impl Iterator<Item = usize> + use<> {
        each(self.batch.ready)
    }

    /// The generation of the settings that are in force here: it changes with each change of a setting.
    #[inline]
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.seen
    }

    /// Whether frames can pass.
    #[must_use]
    pub fn link(&self) -> Link {
        self.port.link()
    }

    /// The port's queue, for whoever waits on it.
    pub fn port(&mut self) -> &mut RxQueue {
        &mut self.port
    }

    /// Divides what the port delivered.
    fn divide(&mut self) {
        let Self { port, settings, batch, cache, ledger, shared, queue, .. } = self;
        let cells = &shared.cells[*queue].vis;
        let mut ring = port.ring.batch(SLOTS);
        let mut at = 0;
        while at < ring.len() {
            let (entry, front) = if let Some((entry, first, second)) = Batch::plain(&mut ring, at) {
                at += 1;
                (entry, [first, second])
            } else {
                match batch.find(&mut ring, at) {
                    Found::Frame { entry, front, slots } => {
                        at += slots;
                        (entry, front)
                    }
                    Found::Void => {
                        at += 1;
                        continue;
                    }
                    Found::Later => break,
                    Found::Short { slots } => {
                        (ledger.frames, ledger.too_short) = (ledger.frames + 1, ledger.too_short + 1);
                        at += slots;
                        continue;
                    }
                    Found::Spoiled { slots } => {
                        (ledger.frames, ledger.spoiled) = (ledger.frames + 1, ledger.spoiled + 1);
                        at += slots;
                        continue;
                    }
                }
            };
            ledger.frames += 1;
            let key = Key::new(front);
            if let Some(vi) = cache.find(key) {
                batch.add_one(vi, entry);
                continue;
            }
            let (addressed, taken) = settings.demux.choose(key);
            if addressed == taken && taken.count_ones() == 1 {
                cache.keep(key, taken.trailing_zeros());
            }
            if addressed == 0 {
                ledger.no_interface += 1;
                continue;
            }
            ledger.copies += u64::from(addressed.count_ones()) - 1;
            each(addressed & !taken).for_each(|vi| cells[vi].add(Count::RxVlan, 1));
            batch.add(taken, entry);
        }
        batch.slots = at;
    }

    /// Shows an interface's reader up to `most` of its frames, in order; gives how many frames of the wire that were.
    ///
    /// # Panics
    /// When there is no such interface.
    pub fn receive(&mut self, vi: usize, most: usize, mut reader: impl FnMut(RxFrame<'_>)) -> usize {
        let Self { port, works, batch, shared, queue, lro, now, front, .. } = self;
        let mut at = batch.first(vi);
        if at == END {
            return 0;
        }
        let work = &works[vi];
        let mut tally = Tally::default();
        let mut ring = port.ring.batch(batch.slots);
        let Batch { frames, copies, .. } = &mut *batch;
        let mut n = 0;
        while at != END && n < most {
            let index = at;
            let entry = frames[at as usize];
            (at, n) = (entry.next, n + 1);
            let mut about = RxMeta { request: entry.meta(&ring), ..RxMeta::default() };
            let look = |bytes: &mut [u8]| work.look(bytes, &mut about, front, &mut tally, &mut reader);
            let Some(Some(offer)) = with(&mut ring, copies, &entry, look) else { continue };
            frames[index as usize].skip = offer.skip;
            let received = Received {
                head: &front[..offer.front],
                len: offer.len,
                frame: index,
                verdict: about.checksum,
                vlan_tci: about.vlan.unwrap_or(0),
                hash: about.hash.unwrap_or(0),
            };
            let out = |merged: Merged<'_>| work.merged(&merged, &mut ring, copies, frames, &mut tally, &mut reader);
            if lro.push(*now, &received, out) == Pushed::Pass {
                let show = |bytes: &mut [u8]| work.show(bytes, offer.skip, &about, &mut reader);
                with(&mut ring, copies, &entry, show);
            }
        }
        if work.lro {
            lro.flush(|merged| work.merged(&merged, &mut ring, copies, frames, &mut tally, &mut reader));
        }
        batch.set_first(vi, at);
        tally.count(&shared.cells[*queue].vis[vi]);
        n
    }
}
