//! The receive half of a port queue: a batch of the port's frames is divided among the interfaces where it lies, and each
//! interface's reader is shown its frames one by one. A batch lives until the next poll; what was not read by then is
//! dropped, and counted.

use super::batch::{Batch, END, SLOTS, with};
use super::count::{Count, RxLedger};
use super::demux::{Cache, Key, NO_ADDRESS, ViSet, destination, each};
use super::frame::{RxFrame, RxMeta};
use super::reaction::{Refused, message};
use super::settings::{Compiled, Shared};
use super::work::{FRONT, Tally, Work};
use linerate_offload::{Action, Lro, LroConfig, Merged, Pushed, Received};
use linerate_port::{Link, RxQueue};
use linerate_ring::flags;
use linerate_wire::EtherType;
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
    /// Work wanted by each interface.
    works: Vec<Work>,
    /// Checksums that the port does not vouch for are verified.
    verify: bool,
    /// Nothing is to be done for any interface: readers can be shown frames where they lie in the port's ring.
    idle: bool,
    /// The same, and there is one interface.
    direct: bool,
    /// Address of the last frame that this interface took, if all frames to one address go the same way; [`NO_ADDRESS`]
    /// otherwise. A frame to the same address needs no look-up.
    last: u64,
    batch: Batch,
    cache: Cache,
    ledger: RxLedger,
    lro: Lro,
    now: u64,
    /// Scratch: the front of a frame that is offered for merging.
    front: [u8; FRONT],
}

/// Interfaces that a frame of another one is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    takers: ViSet,
    owners: ViSet,
    queue: u16,
}

impl Inside {
    /// Interfaces that take the frame.
    pub fn takers(self) -> impl Iterator<Item = usize> {
        each(self.takers)
    }

    /// Those that have its unicast address: it is for nobody else.
    pub fn owners(self) -> impl Iterator<Item = usize> {
        each(self.owners)
    }

    /// Queue of theirs that a filter sends it to.
    #[must_use]
    pub fn queue(self) -> u16 {
        self.queue
    }
}

impl NicRx {
    pub(super) fn new(port: RxQueue, shared: Arc<Shared>, queue: usize, verify: bool) -> Self {
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
            verify,
            idle: false,
            direct: false,
            last: NO_ADDRESS,
            settings,
            shared,
        }
    }

    /// Gives the last batch back, takes over settings that were changed, and takes a new batch; gives for how many
    /// readers frames came, each counted once a reader; where one interface has nothing switched on, how many slots came,
    /// and its frames wait in the port's ring until they are read. `now`: any monotonic nanoseconds, the same clock in all
    /// calls to one adapter.
    #[inline]
    pub fn poll(&mut self, now: u64) -> usize {
        self.fetch(now);
        if self.direct {
            return self.port.ring.available() as usize;
        }
        self.divide();
        self.batch.frames.len()
    }

    /// Gives the last batch back, takes over settings that were changed, and gets what has arrived.
    #[inline]
    fn fetch(&mut self, now: u64) {
        self.now = now;
        let slots = self.batch.slots;
        if slots > 0 {
            let cells = &self.shared.cells[self.queue];
            self.batch.clear(|vi, left| cells.vis[vi].add(Count::RxUnread, left));
            self.port.ring.batch(slots).release(slots);
        }
        if self.shared.generation() != self.seen {
            // First the number, then what it stands for: settings that change in between are fetched again.
            self.seen = self.shared.generation();
            self.settings = self.shared.now();
            self.works = self.settings.vis.iter().map(|vi| Work::new(vi, self.verify)).collect();
            self.idle = self.works.iter().all(Work::is_idle) && !self.settings.looks();
            self.direct = self.idle && self.works.len() == 1;
            self.cache = Cache::new();
            self.last = NO_ADDRESS;
        }
        self.port.sync();
    }

    /// Polls, unless frames of the last poll wait to be read, and shows the reader up to `most` frames of each interface
    /// with the interface's number; returns the number of frames shown. In the order of arrival where nothing is switched
    /// on, and then up to `most` of all interfaces together, without a list for each: the cheapest way for several.
    #[inline]
    pub fn take(&mut self, now: u64, most: usize, mut reader: impl FnMut(usize, RxFrame<'_>)) -> usize {
        if self.is_read() {
            self.fetch(now);
            if !self.idle {
                self.divide();
            }
        }
        if self.idle && self.batch.slots == 0 {
            return self.receive_direct::<true>(most, reader);
        }
        self.ready().map(|vi| self.receive_divided(vi, most, |frame| reader(vi, frame))).sum()
    }

    /// The interfaces of this adapter that a frame is for which another one of them sends, the receive filters included;
    /// None of what is no frame.
    #[must_use]
    pub fn inside(&self, from: usize, frame: &[u8]) -> Option<Inside> {
        let demux = &self.settings.demux;
        let key = Key::of_any(frame, demux.types())?;
        let taken = demux.choose(key).1;
        let owners = demux.owners(key) & taken;
        let mut inside = Inside { takers: taken & !(1 << from), owners, queue: 0 };
        let filters = self.settings.filters.as_deref().filter(|_| inside.takers != 0);
        match filters.and_then(|filters| filters.judge(frame)) {
            None => {}
            Some(Action::Queue(queue)) => inside.queue = queue,
            Some(Action::Drop) => inside.takers = 0,
            Some(Action::Interface(vi, queue)) => {
                (inside.takers, inside.queue) = (demux.up(vi), queue.unwrap_or(0));
            }
            Some(Action::Mirror(vi)) => inside.takers |= demux.up(vi),
        }
        Some(inside)
    }

    /// True if all frames of the last poll were read.
    #[inline]
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.batch.ready == 0
    }

    /// Interfaces that have frames to read.
    pub fn ready(&self) -> impl Iterator<Item = usize> + use<> {
        let direct = self.direct && self.port.ring.available() > 0;
        each(if direct { 1 } else { self.batch.ready })
    }

    /// The generation of the settings that are in force here: it changes with each change of a setting.
    #[inline]
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.seen
    }

    /// State of the link.
    #[must_use]
    #[inline]
    pub fn link(&self) -> Link {
        self.port.link()
    }

    /// See [`RxQueue::link_generation`].
    #[must_use]
    #[inline]
    pub fn link_generation(&self) -> u32 {
        self.port.link_generation()
    }

    /// The port's queue, for whoever waits on it.
    pub fn port(&mut self) -> &mut RxQueue {
        &mut self.port
    }

    /// Divides what the port delivered.
    fn divide(&mut self) {
        if self.settings.looks() { self.divide_by::<true>() } else { self.divide_by::<false>() }
    }

    /// `FILTERED`: the adapter looks into frames first, for messages of congestion points or by its filters. Two loops, because the
    /// one without is slower with the other's code in it.
    fn divide_by<const FILTERED: bool>(&mut self) {
        let Self { port, settings, batch, cache, ledger, shared, queue, .. } = self;
        let cells = &shared.cells[*queue].vis;
        // What a pass without lists has copied last is no part of this batch's share.
        batch.forget_copies();
        let mut ring = port.ring.batch(SLOTS);
        let (types, filters) = (settings.demux.types(), settings.filters.as_deref().filter(|_| FILTERED));
        let mut at = 0;
        while let Some((mut entry, key)) = batch.next(&mut ring, &mut at, types, ledger) {
            let mut mirror = 0;
            if FILTERED && settings.reaction.is_some() {
                let said = with(&mut ring, &mut batch.copies, &entry, |bytes| message(bytes)).flatten();
                if let Some(said) = said {
                    hear(said, settings, shared, ledger);
                    continue;
                }
            }
            if FILTERED && let Some(filters) = filters {
                let said = with(&mut ring, &mut batch.copies, &entry, |bytes| filters.judge(bytes)).flatten();
                match said {
                    None => {}
                    Some(Action::Queue(queue)) => entry.to = place_of(queue),
                    Some(Action::Mirror(vi)) => mirror = settings.demux.up(vi),
                    Some(Action::Drop) => {
                        ledger.filtered += 1;
                        continue;
                    }
                    Some(Action::Interface(vi, queue)) => {
                        entry.to = queue.map_or(0, place_of);
                        let to = settings.demux.up(vi);
                        ledger.no_interface += u64::from(to == 0);
                        batch.add(to, entry);
                        continue;
                    }
                }
            } else if let Some(vi) = cache.find(key) {
                batch.add_one(vi, entry);
                continue;
            }
            let (addressed, taken) = settings.demux.choose(key);
            let (addressed, taken) = (addressed | mirror, taken | mirror);
            if !FILTERED && addressed == taken && taken.count_ones() == 1 {
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
        shared.cells[*queue].ledger.write(ledger);
    }

    /// Shows an interface's reader up to `most` of its frames, in order; gives how many frames of the wire that were.
    ///
    /// # Panics
    /// When there is no such interface.
    #[inline]
    pub fn receive(&mut self, vi: usize, most: usize, mut reader: impl FnMut(RxFrame<'_>)) -> usize {
        if self.direct && vi == 0 {
            self.receive_direct::<false>(most, |_, frame| reader(frame))
        } else {
            self.receive_divided(vi, most, reader)
        }
    }

    /// Shows readers their frames where they lie in the port's ring, whose slots go back at once.
    fn receive_direct<const SEVERAL: bool>(
        &mut self,
        most: usize,
        mut reader: impl FnMut(usize, RxFrame<'_>),
    ) -> usize {
        let Self { port, works, batch, shared, queue, settings, cache, ledger, front, last, .. } = self;
        if port.ring.available() == 0 {
            return 0;
        }
        let (cells, demux) = (&shared.cells[*queue], &settings.demux);
        let types = demux.types();
        // Of the interface that had the last frame: they come in runs.
        let (mut current, mut tally) = (0, Tally::default());
        let mut ring = port.ring.batch(SLOTS);
        let (mut at, mut shown) = (0, 0);
        while shown < most {
            if at == ring.len() {
                break;
            }
            let Some((frame, word)) = ring.frame(at) else {
                // Void, or bad, which the ring has counted: it is not looked at again.
                at += 1;
                continue;
            };
            // Nearly always: one slot without metadata, to where frames went before.
            if word & (flags::MOREFRAG | flags::META) == 0
                && let Some(bytes) = frame.bytes()
                && let Some(vi) = if SEVERAL {
                    Key::of(bytes, types).and_then(|key| cache.find(key))
                } else {
                    (destination(bytes) == Some(*last)).then_some(0)
                }
            {
                if SEVERAL && vi != current {
                    std::mem::take(&mut tally).count(&cells.vis[current]);
                    current = vi;
                }
                (at, shown, ledger.frames) = (at + 1, shown + 1, ledger.frames + 1);
                (tally.frames, tally.bytes) = (tally.frames + 1, tally.bytes + bytes.len() as u64);
                reader(vi, RxFrame::plain(bytes));
                continue;
            }
            batch.forget_copies();
            let Some((entry, key)) = batch.next(&mut ring, &mut at, types, ledger) else { break };
            let (addressed, taken) = demux.choose(key);
            if addressed == taken && taken.count_ones() == 1 {
                cache.keep(key, taken.trailing_zeros());
                *last = if demux.by_address() { key.to } else { NO_ADDRESS };
            }
            if addressed == 0 {
                ledger.no_interface += 1;
                continue;
            }
            ledger.copies += u64::from(addressed.count_ones()) - 1;
            each(addressed & !taken).for_each(|vi| cells.vis[vi].add(Count::RxVlan, 1));
            shown += usize::from(taken != 0);
            for vi in each(taken) {
                let mut tally = Tally::default();
                let mut about = RxMeta { request: entry.meta(&ring), ..RxMeta::default() };
                let offer = with(&mut ring, &mut batch.copies, &entry, |bytes| {
                    if entry.told {
                        return works[vi]
                            .look(bytes, &mut about, None, front, &mut tally, &mut |frame| reader(vi, frame));
                    }
                    (tally.frames, tally.bytes) = (1, bytes.len() as u64);
                    reader(vi, RxFrame::plain(bytes));
                    None
                });
                debug_assert!(offer.flatten().is_none(), "nothing is merged where nothing is switched on");
                tally.count(&cells.vis[vi]);
            }
        }
        ring.release(at);
        tally.count(&cells.vis[current]);
        cells.ledger.write(ledger);
        shown
    }

    fn receive_divided(&mut self, vi: usize, most: usize, mut reader: impl FnMut(RxFrame<'_>)) -> usize {
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
            let to = u16::from(entry.to).checked_sub(1);
            let look = |bytes: &mut [u8]| work.look(bytes, &mut about, to, front, &mut tally, &mut reader);
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

/// Has the interfaces slow down that a congestion point's message is about.
fn hear(said: Result<(u64, EtherType, u8), Refused>, settings: &Compiled, shared: &Shared, ledger: &mut RxLedger) {
    let found = said.and_then(|(to, ethertype, feedback)| match settings.demux.at(to, ethertype) {
        0 => Err(Refused::NoFlow),
        interfaces => Ok((interfaces, feedback)),
    });
    match found {
        Ok((interfaces, feedback)) => {
            ledger.cnm += 1;
            shared.notify(interfaces, feedback);
        }
        Err(Refused::Damaged) => ledger.cnm_damaged += 1,
        Err(Refused::NoFlow) => ledger.cnm_no_flow += 1,
    }
}

/// A queue as a frame's entry has it.
fn place_of(queue: u16) -> u8 {
    u8::try_from(queue).unwrap_or(u8::MAX - 1).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::settings::ViSettings;
    use crate::adapter::{MAX_MTU, interface};
    use crate::flags::{Flags, PUBLISHED};
    use linerate_port::{Info, RxCounters, RxEngine, Sleeper, open};
    use linerate_ring::{OwnRx, Region, RegionConfig, RxRing, Sharing, flags};
    use linerate_wire::EtherType;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

    /// Slots to be delivered, one list a sync: bytes, and whether the frame goes on.
    struct Script(Vec<Vec<(Vec<u8>, bool)>>);

    impl Sleeper for Script {}

    impl RxEngine for Script {
        fn sync(&mut self, ring: &mut OwnRx<'_>, _: &mut RxCounters) {
            if self.0.is_empty() {
                return;
            }
            let slots = self.0.remove(0);
            for (i, (bytes, more)) in (0..).zip(&slots) {
                assert!(ring.free_frame(i).unwrap().write(0, bytes));
                ring.set_free(i, bytes.len(), if *more { flags::MOREFRAG } else { 0 }, None);
            }
            ring.deliver(u32::try_from(slots.len()).unwrap());
        }
    }

    /// Settings of so many interfaces with one address.
    fn interfaces(n: usize, capabilities: Flags) -> Vec<ViSettings> {
        let info: Info = open("null:").unwrap().info().clone();
        let one = |_| ViSettings { mac: MAC, mtu: MAX_MTU, ..interface(MAC, 0, &info, capabilities) };
        (0..n).map(one).collect()
    }

    fn receiver(vis: Vec<ViSettings>, sharing: Sharing, script: Script) -> NicRx {
        let ring_bytes = Region::ring_room(256) + 4096;
        let region =
            Region::new(&RegionConfig { buf_size: 4096, buffers: 300, ring_bytes, sharing, huge: false }).unwrap();
        let queue = RxQueue::new(RxRing::new(&region, 0, 256).unwrap(), Box::new(script));
        NicRx::new(queue, Arc::new(Shared::new(vis, 1)), 0, false)
    }

    fn frame(ethertype: u16, tag: bool, len: usize) -> Vec<u8> {
        let mut frame: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect();
        frame[..6].copy_from_slice(&MAC);
        let at = if tag { 16 } else { 12 };
        if tag {
            frame[12..16].copy_from_slice(&[0x81, 0, 0, 7]);
        }
        frame[at..at + 2].copy_from_slice(&ethertype.to_be_bytes());
        frame
    }

    /// Read from the ring, and divided first; from memory of one's own, and from memory that another process may write.
    #[test]
    fn chains_and_memory_of_others_are_copied_and_bad_chains_counted() {
        let good = frame(0x88b5, false, 2158);
        let cut = |n: usize| {
            let parts = good.chunks(n).map(<[u8]>::to_vec);
            let last = good.len().div_ceil(n) - 1;
            parts.enumerate().map(move |(i, part)| (part, i < last)).collect::<Vec<_>>()
        };
        for (sharing, capabilities) in
            [Sharing::Private, Sharing::Shared].into_iter().flat_map(|s| [(s, Flags::NONE), (s, PUBLISHED)])
        {
            let script = vec![
                // In one slot; in many; with an empty slot in front.
                [vec![(good.clone(), false)], cut(100), vec![(vec![], true), (good.clone(), false)]].concat(),
                // The end comes later.
                cut(1000)[..2].to_vec(),
                cut(1000)[2..].to_vec(),
                // Shorter than a header; a void slot at a chain's end; a frame of 65 slots.
                [
                    vec![(vec![0; 13], false), (vec![0; 7], true), (vec![0; 6], false)],
                    vec![(good.clone(), true), (vec![], false), (good[..9].to_vec(), true)],
                    vec![(vec![1], true); 63],
                    vec![(vec![2], false), (good.clone(), false)],
                ]
                .concat(),
                // A chain that is never ended.
                vec![(vec![1], true); 64],
            ];
            let mut rx = receiver(interfaces(1, capabilities), sharing, Script(script));
            let mut counts = Vec::new();
            for _ in 0..5 {
                rx.poll(0);
                assert_eq!(rx.direct, capabilities == Flags::NONE);
                counts.push(rx.receive(0, usize::MAX, |shown| assert!(shown.head() == good)));
            }
            rx.poll(0);
            assert_eq!(counts, [3, 0, 1, 1, 0], "{sharing:?} {capabilities}");
            let ledger = rx.shared.cells[0].ledger.read();
            assert_eq!((ledger.frames, ledger.too_short, ledger.spoiled), (10, 2, 3), "{sharing:?} {capabilities}");
            assert_eq!(rx.port.ring.available(), 0, "all slots were given back");
        }
    }

    #[test]
    fn what_is_not_read_waits_in_the_ring_where_nothing_is_switched_on() {
        let script = Script(vec![vec![(frame(0x88b5, false, 60), false); 5]]);
        let mut rx = receiver(interfaces(1, Flags::NONE), Sharing::Private, script);
        let mut read = Vec::new();
        for most in [2, 0, 2, 9] {
            rx.poll(0);
            read.push(rx.receive(0, most, |_| ()));
        }
        assert_eq!(read, [2, 0, 2, 1]);
        assert_eq!(rx.shared.cells[0].vis[0].read().of(Count::RxUnread), 0);
    }

    /// One address, two interfaces: the one that names EtherTypes gets theirs, tagged or not, the other one the rest.
    #[test]
    fn the_ethertype_chooses_between_interfaces_of_one_address() {
        let (fcoe, ip) = (EtherType::FCOE.0, EtherType::IPV4.0);
        let frames =
            [(fcoe, false, 60), (ip, false, 61), (fcoe, true, 62), (ip, true, 63), (0, false, 16), (0, false, 14)];
        let script = frames.map(|(ethertype, tag, len)| (frame(ethertype, tag, len), false)).to_vec();
        // A tag, and nothing behind it.
        let script = Script(vec![[script, vec![(frame(fcoe, true, 18)[..17].to_vec(), false)]].concat(); 2]);
        let mut vis = interfaces(2, Flags::NONE);
        vis[0].ethertypes = vec![EtherType::FCOE, EtherType::FIP];
        let mut rx = receiver(vis, Sharing::Private, script);
        for _ in 0..2 {
            rx.poll(0);
            let mut seen = [Vec::new(), Vec::new()];
            for (vi, seen) in seen.iter_mut().enumerate() {
                rx.receive(vi, usize::MAX, |frame| seen.push(frame.len()));
            }
            assert_eq!(seen, [vec![60, 62], vec![61, 63, 16, 14, 17]]);
        }
    }

    /// Several interfaces in one pass: in the order of arrival where nothing is switched on, else list by list; either way
    /// every interface gets what it would get by itself, groups reach all, and the ledger is whole.
    #[test]
    fn one_pass_gives_each_interface_what_its_list_would() {
        let (fcoe, ip) = (EtherType::FCOE.0, EtherType::IPV4.0);
        let group = |len| {
            let mut frame = frame(ip, false, len);
            frame[..6].copy_from_slice(&[0xff; 6]);
            frame
        };
        let mut stranger = frame(ip, false, 70);
        stranger[5] ^= 1;
        let frames = [frame(fcoe, false, 60), frame(ip, false, 61), group(62), stranger, frame(fcoe, true, 63)];
        let long = frame(ip, false, 200);
        let chain = vec![(long[..100].to_vec(), true), (long[100..].to_vec(), false)];
        let whole = frames.iter().map(|frame| (frame.clone(), false)).collect::<Vec<_>>();
        for (capabilities, order) in [
            (Flags::NONE, [(0, 60), (1, 61), (1, 62), (2, 62), (0, 63), (1, 200)]),
            (Flags::LRO, [(0, 60), (0, 63), (1, 61), (1, 62), (1, 200), (2, 62)]),
        ] {
            let script = Script(vec![[whole.clone(), chain.clone()].concat(); 3]);
            let mut vis = interfaces(3, capabilities);
            vis[0].ethertypes = vec![EtherType::FCOE, EtherType::FIP];
            vis[2].mac[5] = 0x77;
            let mut rx = receiver(vis, Sharing::Private, script);
            for _ in 0..2 {
                let mut seen = Vec::new();
                let n = rx.take(0, usize::MAX, |vi, frame| seen.push((vi, frame.len())));
                assert_eq!(seen, order, "{capabilities}");
                assert_eq!(n, if capabilities == Flags::NONE { 5 } else { 6 });
            }
            // A few at a time, nothing is lost.
            let mut seen = Vec::new();
            for _ in 0..6 {
                rx.take(0, 1, |vi, frame| seen.push((vi, frame.len())));
            }
            seen.sort_unstable();
            let mut all = order;
            all.sort_unstable();
            assert_eq!(seen, all, "{capabilities}");
            let ledger = rx.shared.cells[0].ledger.read();
            assert_eq!((ledger.frames, ledger.copies, ledger.no_interface), (18, 3, 3));
            let counts = |count| [0, 1, 2].map(|vi| rx.shared.cells[0].vis[vi].read().of(count));
            assert_eq!((counts(Count::RxFrames), counts(Count::RxUnread)), ([6, 9, 3], [0; 3]));
            assert_eq!(counts(Count::RxBytes), [369, 969, 186]);
        }
    }

    /// A copy made in a pass without lists takes no room from a batch that is divided after it.
    #[test]
    fn copies_of_a_pass_are_gone_when_a_batch_is_divided() {
        let long = frame(0x88b5, false, 200);
        let chain = vec![(long[..100].to_vec(), true), (long[100..].to_vec(), false)];
        let script = Script(vec![chain, vec![(frame(0x88b5, false, 60), false)]]);
        let mut vis = interfaces(2, Flags::NONE);
        vis[1].mac[5] = 0x77;
        let mut rx = receiver(vis, Sharing::Private, script);
        assert_eq!(rx.take(0, usize::MAX, |_, frame| assert_eq!(frame.len(), 200)), 1);
        assert_eq!(rx.poll(0), 1);
        assert!(rx.batch.copies.is_empty());
    }

    /// A list made by a poll is read first, whoever reads it.
    #[test]
    fn a_batch_that_was_divided_is_read_to_its_end() {
        let script = Script(vec![vec![(frame(0x88b5, false, 60), false); 3], vec![(frame(0x88b5, false, 64), false)]]);
        let mut vis = interfaces(2, Flags::NONE);
        vis[1].mac[5] = 0x77;
        let mut rx = receiver(vis, Sharing::Private, script);
        rx.poll(0);
        let mut seen = Vec::new();
        for most in [2, 9, 9] {
            rx.take(0, most, |vi, frame| seen.push((vi, frame.len())));
        }
        assert_eq!(seen, [(0, 60), (0, 60), (0, 60), (0, 64)]);
    }

    /// Alone, too, it gets no others.
    #[test]
    fn an_interface_that_names_ethertypes_gets_no_others() {
        let frames = [(EtherType::FIP.0, false, 60), (EtherType::IPV4.0, false, 61)];
        let script = frames.map(|(ethertype, tag, len)| (frame(ethertype, tag, len), false)).to_vec();
        let mut vis = interfaces(1, Flags::NONE);
        vis[0].ethertypes = vec![EtherType::FIP];
        let mut rx = receiver(vis, Sharing::Private, Script(vec![script]));
        rx.poll(0);
        let mut seen = Vec::new();
        rx.receive(0, usize::MAX, |frame| seen.push(frame.len()));
        assert_eq!((seen, rx.shared.cells[0].ledger.read().no_interface), (vec![60], 1));
    }
}
