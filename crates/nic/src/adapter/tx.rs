//! The transmit half of a port queue: frames of all interfaces go straight into the port's ring; there is no queue
//! between. What a frame's request asks for is handed down where the port does it, and done here where it does not.

use super::cap::{Cap, on_the_wire};
use super::count::{Count, ViCells};
use super::demux::{ViSet, each};
use super::reaction::Reactions;
use super::request::{Cut, ETHERNET, Request, SuperFrame, UDP_L4};
use super::settings::{Compiled, QueueCells, Shared};
use super::share::Share;
use crate::flags::Flags;
use linerate_offload::{Frames, Prepared, Sink, TAG_LEN};
use linerate_port::{Caps, Info, Link, SlotWriter, TxCounters, TxQueue};
use linerate_ring::{Frame, Meta};
use std::sync::Arc;

/// How many slots ahead of the one that is written its lines are fetched, where many frames are written.
const AHEAD: u32 = 2;
/// The longest frames with which that pays: longer ones have more lines than a core can have under way.
const FETCHED: usize = 1024;

/// The transmit half of one port queue, in the hands of one thread.
pub struct NicTx {
    pub(super) port: TxQueue,
    shared: Arc<Shared>,
    cells: Arc<QueueCells>,
    seen: u64,
    settings: Arc<Compiled>,
    vis: Box<[TxVi]>,
    share: Share,
    /// There is one interface: nobody shares the link with it.
    alone: bool,
    /// Its [`TxVi::quick`], and what it sent since the last sync; 0 where there are several. They lie here, because a look
    /// at a table of one costs a tenth of what sending a short datagram takes.
    quick: usize,
    frames: u64,
    bytes: u64,
    /// Interfaces that have sent what is not counted yet, if there are several.
    uncounted: ViSet,
    /// A frame was refused since the last sync: it may be the turn of others that no longer send, and only time tells.
    refused: bool,
    /// Interfaces of which a frame was refused by their rate, and may not have been sent since.
    capped: ViSet,
    /// Rates of interfaces that congestion points have slowed down, if these are heard.
    reactions: Option<Box<Reactions>>,
    queue: usize,
    down: Down,
    /// Longest frame that the port carries, if it is not to be segmented.
    largest: usize,
    /// Time, as it was last told.
    now: u64,
}

/// An interface, as sending sees it.
#[derive(Clone, Copy)]
struct TxVi {
    /// Frames of 14 bytes and fewer than so many more pass with no further look: one slot, below the MTU, up, not capped.
    quick: usize,
    cap: Option<Cap>,
    /// Frames and bytes that went that way since the last sync, which counts them.
    frames: u64,
    bytes: u64,
}

impl NicTx {
    pub(super) fn new(port: TxQueue, shared: Arc<Shared>, queue: usize, down: Down, largest: usize) -> Self {
        let settings = shared.now();
        let mut tx = Self {
            port,
            cells: shared.cells[queue].clone(),
            seen: 0,
            share: Share::new(settings.classes, &[]),
            alone: false,
            quick: 0,
            frames: 0,
            bytes: 0,
            uncounted: 0,
            refused: false,
            capped: 0,
            reactions: None,
            queue,
            vis: Box::default(),
            down,
            largest,
            now: 0,
            settings,
            shared,
        };
        tx.refresh();
        tx
    }

    /// Sends what was given, as far as it can be sent now, gets sent slots back, and takes over settings that were
    /// changed. `now`: any monotonic nanoseconds, the same clock in all calls to one adapter.
    #[inline]
    pub fn sync(&mut self, now: u64) {
        self.tick(now);
        self.refused = false;
        self.count();
        self.port.sync();
        if !self.alone {
            self.share.tick(now, self.port.ring.outstanding() == 0);
        }
        self.follow();
    }

    /// Takes over the time, by which interfaces that are capped send: for who sends before the next sync.
    #[inline]
    pub fn tick(&mut self, now: u64) {
        self.now = now;
        if self.reactions.is_some() {
            self.react();
        }
    }

    /// Has interfaces send by what congestion points have said.
    #[cold]
    fn react(&mut self) {
        let Some(reactions) = self.reactions.as_deref_mut() else { return };
        let changed = reactions.turn(self.now, &self.shared.notices[self.queue]);
        for vi in each(changed) {
            let (quick, cap) = self.limits(vi);
            let of = &mut self.vis[vi];
            (of.quick, of.cap) = (quick, cap);
            self.quick = if self.alone { quick } else { 0 };
        }
    }

    /// [`TxVi::quick`] of an interface, and its rate: the one that was set, or less after congestion.
    fn limits(&mut self, vi: usize) -> (usize, Option<Cap>) {
        let one_slot = self.port.ring.usable().min(self.largest).saturating_sub(ETHERNET);
        let settings = &self.settings.vis[vi];
        let largest = settings.mtu + ETHERNET;
        let slowed = self.reactions.as_deref_mut().and_then(|reactions| reactions.of(vi)).map(|point| point.rate());
        let cap = match (settings.rate, slowed) {
            (rate, None) => rate.map(|rate| Cap::new(rate, largest)),
            (rate, Some(slowed)) => Some(Cap::even(rate.map_or(slowed, |rate| rate.min(slowed)), largest)),
        };
        let quick = if settings.up && cap.is_none() { settings.mtu.min(one_slot) + 1 } else { 0 };
        (quick, cap)
    }

    /// Takes note of bytes of an interface that its rate was asked for.
    #[inline]
    fn spent(&mut self, vi: usize, bytes: u64) {
        if let Some(point) = self.reactions.as_deref_mut().and_then(|reactions| reactions.of(vi)) {
            point.sent(bytes);
        }
    }

    /// Takes over settings that were changed since the last sync: for who knows of the change already, and sends by them.
    #[inline]
    pub fn follow(&mut self) {
        if self.shared.generation() != self.seen {
            self.refresh();
        }
    }

    /// Flags switched on for an interface, as of the last sync.
    ///
    /// # Panics
    /// There is no such interface.
    #[must_use]
    pub fn flags(&self, vi: usize) -> Flags {
        self.settings.vis[vi].flags.enabled()
    }

    /// Largest payload of an interface's frames, as of the last sync.
    ///
    /// # Panics
    /// There is no such interface.
    #[must_use]
    pub fn mtu(&self, vi: usize) -> usize {
        self.settings.vis[vi].mtu
    }

    /// When an interface whose rate is capped may send again, in nanoseconds of the clock of [`NicTx::sync`]; None if
    /// its rate does not hinder it.
    ///
    /// # Panics
    /// There is no such interface.
    #[must_use]
    pub fn due(&self, vi: usize) -> Option<u64> {
        let due = self.shared.buckets[vi].due(self.vis[vi].cap?);
        (due > self.now).then_some(due)
    }

    /// An interface has nothing more to send at the moment: nobody waits for it once the port has no frames either. Who
    /// cannot tell says nothing, and is waited for a while after each refusal.
    ///
    /// # Panics
    /// There is no such interface.
    #[inline]
    pub fn drained(&mut self, vi: usize) {
        debug_assert!(vi < self.vis.len());
        self.share.drained(vi);
    }

    /// Time at which the first interface may send again of those of which a frame was refused by their rate, in nanoseconds of the
    /// clock of [`NicTx::sync`]; None if there is none. The port does not tell when that is.
    #[inline]
    #[must_use]
    pub fn resumes(&self) -> Option<u64> {
        if self.capped == 0 { None } else { each(self.capped).filter_map(|vi| self.due(vi)).min() }
    }

    /// Nanoseconds for which an interface whose rate is capped may put off sending and lose nothing: its frames may then
    /// leave together.
    ///
    /// # Panics
    /// There is no such interface.
    #[must_use]
    pub fn slack(&self, vi: usize) -> u64 {
        self.vis[vi].cap.map_or(0, Cap::slack)
    }

    /// Takes so many bytes of a frame that does not go to the port from an interface's rate; false, and counted, if the
    /// rate does not allow them now.
    ///
    /// # Panics
    /// There is no such interface.
    #[must_use = "false means that the frame has to wait"]
    pub fn spend(&mut self, vi: usize, len: usize) -> bool {
        let Some(cap) = self.vis[vi].cap.filter(|_| self.settings.vis[vi].rate.is_some()) else { return true };
        let may = self.shared.buckets[vi].take(cap, self.now, on_the_wire(len));
        if !may {
            self.cells(vi).add(Count::TxCapped, 1);
        }
        may
    }

    /// State of the link.
    #[must_use]
    pub fn link(&self) -> Link {
        self.port.link()
    }

    /// Counters of the port's queue.
    #[must_use]
    pub fn port_counters(&self) -> TxCounters {
        self.port.counters()
    }

    /// The port's queue, for whoever waits on it.
    pub fn port(&mut self) -> &mut TxQueue {
        &mut self.port
    }

    #[cold]
    fn refresh(&mut self) {
        self.count();
        // First the number, then what it stands for: settings that change in between are fetched again.
        self.seen = self.shared.generation();
        self.settings = self.shared.now();
        let parts = self.settings.parts();
        if !self.share.has(self.settings.classes, &parts) {
            self.share = Share::new(self.settings.classes, &parts);
        }
        self.alone = parts.len() == 1;
        let made = |most| Box::new(Reactions::new(most, parts.len(), self.queue as u64));
        let reactions =
            self.reactions.take().filter(|now| self.settings.reaction.is_some_and(|most| now.are_for(most)));
        self.reactions = reactions.or(self.settings.reaction.map(made));
        let vis = (0..parts.len()).map(|vi| {
            let (quick, cap) = self.limits(vi);
            TxVi { quick, cap, frames: 0, bytes: 0 }
        });
        self.vis = vis.collect();
        self.capped = 0;
        self.quick = if self.alone { self.vis[0].quick } else { 0 };
    }

    #[inline]
    fn cells(&self, vi: usize) -> &ViCells {
        &self.cells.vis[vi]
    }

    /// Sends a frame of an interface, `head` and then the slices of `body`: into the ring now, on its way with the next
    /// [`NicTx::sync`]. False, and nothing done, if there is no room, or it is not this interface's turn. A frame that can
    /// never be sent is counted as dropped, and gives true.
    ///
    /// `request` is virtio's: a checksum to complete (`csum_start` and `csum_offset` count from the frame's first byte
    /// as it is given, and the field holds the pseudo-header's sum), segmentation, and a VLAN tag to put in.
    ///
    /// # Panics
    /// There is no such interface.
    #[inline]
    #[must_use = "false means that nothing was sent"]
    pub fn send(&mut self, vi: usize, head: &[u8], body: &[&[u8]], request: Option<Meta>) -> bool {
        let len = body.iter().fold(head.len(), |len, piece| len + piece.len());
        if request.is_some() || len.wrapping_sub(ETHERNET) >= self.vis[vi].quick {
            return self.send_special(vi, head, body, request);
        }
        if self.port.ring.free() == 0 || !self.may_send(vi, len) {
            return self.refuse(vi);
        }
        self.write(vi, head, body, len);
        true
    }

    /// Sends a frame before whatever others wait with, outside of classes and shares: for a protocol of the link itself, of which
    /// there are some frames a minute. False, and nothing done, if there is no room; a frame of several slots, or of an
    /// interface that is capped or down, is sent as any other.
    ///
    /// # Panics
    /// There is no such interface.
    #[must_use = "false means that nothing was sent"]
    pub fn send_first(&mut self, vi: usize, frame: &[u8]) -> bool {
        if frame.len().wrapping_sub(ETHERNET) >= self.vis[vi].quick {
            return self.send_special(vi, frame, &[], None);
        }
        if self.port.ring.free() == 0 {
            self.refused = true;
            return false;
        }
        self.uncounted |= 1 << vi;
        self.write(vi, frame, &[], frame.len());
        true
    }

    /// Writes a frame into a slot that is free.
    #[inline]
    fn write(&mut self, vi: usize, head: &[u8], body: &[&[u8]], len: usize) {
        let mut batch = self.port.ring.reserve(1);
        let mut frame = batch.frame(0);
        let (mut fits, mut at) = (frame.write(0, head), head.len());
        for piece in body {
            fits &= frame.write(at, piece);
            at += piece.len();
        }
        debug_assert!(fits);
        batch.set(0, len, 0);
        batch.commit(1);
        self.sent(vi, len);
    }

    /// Sends a super-frame whose headers are prepared: `gso_size` bytes of `body` behind each copy of them, a VLAN tag among
    /// them if it has one. Nothing is parsed. It is what [`NicTx::send`] does with such a request, with the same counters:
    /// handed down to a port that segments this kind, else segmented here. False, and nothing done, if there is no room,
    /// or it is not this interface's turn.
    ///
    /// # Panics
    /// There is no such interface.
    #[must_use = "false means that nothing was sent"]
    pub fn send_prepared(&mut self, vi: usize, headers: &Prepared, body: &[&[u8]], gso_size: u16) -> bool {
        if !self.settings.vis[vi].up {
            return self.never_sent(vi, Count::TxDown);
        }
        let Some(frame) = SuperFrame::new(headers, body, gso_size, false) else {
            return self.never_sent(vi, Count::TxBadRequest);
        };
        let whole = if self.down.segments(headers.gso_type()) { frame.whole() } else { None };
        match &whole {
            Some((front, meta)) => {
                let request = Request::new(&front[..headers.header_len()], body, *meta);
                self.send_super_frame(vi, frame, Some(&request))
            }
            None => self.send_super_frame(vi, frame, None),
        }
    }

    /// Longest frame of an interface that [`NicTx::frame`] takes, in bytes, as of the last sync; 0 if it takes none,
    /// because the interface is down or capped.
    ///
    /// # Panics
    /// There is no such interface.
    #[inline]
    #[must_use]
    pub fn single(&self, vi: usize) -> usize {
        if vi == 0 && self.quick > 0 {
            return self.quick - 1 + ETHERNET;
        }
        match self.vis[vi].quick {
            0 => 0,
            quick => quick - 1 + ETHERNET,
        }
    }

    /// Sends a frame of `len` bytes, all of which `fill` writes where they go; at most [`NicTx::single`] of them. A
    /// request must be one that the port does itself. False if there is no room, it is not this interface's turn, or it
    /// is not such a frame: `fill` has not been called then.
    ///
    /// # Panics
    /// There is no such interface.
    #[inline]
    #[must_use = "false means that nothing was sent"]
    pub fn frame(&mut self, vi: usize, len: usize, request: Option<Meta>, fill: impl FnOnce(&mut Frame<'_>)) -> bool {
        let handed_down = request.is_none() || self.down.checksum;
        if handed_down && vi == 0 && len.wrapping_sub(ETHERNET) < self.quick {
            let mut batch = self.port.ring.reserve(1);
            if !batch.is_empty() {
                fill(&mut batch.frame(0));
                batch.set(0, len, 0);
                if let Some(request) = request {
                    batch.set_meta(0, request);
                }
                batch.commit(1);
                (self.frames, self.bytes) = (self.frames + 1, self.bytes + len as u64);
                if request.is_some() {
                    self.cells(0).add(Count::TxHandedDown, 1);
                }
                return true;
            }
            return self.refuse(0);
        }
        self.frame_of_several(vi, len, request, fill)
    }

    /// The same, of one of several interfaces.
    fn frame_of_several(
        &mut self,
        vi: usize,
        len: usize,
        request: Option<Meta>,
        fill: impl FnOnce(&mut Frame<'_>),
    ) -> bool {
        let handed_down = request.is_none() || self.down.checksum;
        if !handed_down || len.wrapping_sub(ETHERNET) >= self.vis[vi].quick {
            return false;
        }
        if self.port.ring.free() == 0 || !self.may_send(vi, len) {
            return self.refuse(vi);
        }
        let mut batch = self.port.ring.reserve(1);
        fill(&mut batch.frame(0));
        batch.set(0, len, 0);
        if let Some(request) = request {
            batch.set_meta(0, request);
        }
        batch.commit(1);
        if request.is_some() {
            self.cells(vi).add(Count::TxHandedDown, 1);
        }
        self.sent(vi, len);
        true
    }

    /// Sends as many of the frames as there is room for, and as it is the interface's turn; gives how many. Frames that
    /// can never be sent are counted as dropped.
    ///
    /// # Errors
    /// The counter of the drop, when no frame of these can ever be sent: the interface is down, or the first, which is
    /// the longest, is too long.
    ///
    /// # Panics
    /// There is no such interface.
    #[inline]
    pub fn send_all(&mut self, vi: usize, frames: &mut impl Frames) -> Result<usize, Count> {
        let Some(longest) = frames.next_len() else { return Ok(0) };
        // Frames that fit a slot each, of an interface that is up and not capped, need no further check.
        let quick = longest.wrapping_sub(ETHERNET) < self.vis[vi].quick;
        if !quick && let Some(why) = self.never(vi, longest) {
            self.cells(vi).add(why, 1);
            return Err(why);
        }
        let Self { port, vis, share, alone, shared, cells, now, uncounted, capped, reactions, .. } = self;
        let (cells, vi_state) = (&cells.vis[vi], &mut vis[vi]);
        let mut writer = SlotWriter::new(&mut port.ring, u32::MAX);
        let (mut sent, mut bytes, mut no_room, mut over_rate) = (0, 0, false, false);
        // Bytes that were taken from the interface's credit, and those that it may send before it is asked again.
        let (mut paid, mut credit) = (0, if *alone { u64::MAX } else { share.credit(vi) });
        while let Some(len) = frames.next_len() {
            if len <= FETCHED {
                writer.fetch(AHEAD, len);
            }
            if bytes >= credit {
                share.take(vi, bytes - paid);
                (paid, credit) = (bytes, bytes + share.credit(vi));
                if bytes == credit {
                    break;
                }
            }
            if !quick {
                if len > writer.room() {
                    no_room = true;
                    break;
                }
                if vi_state.cap.is_some_and(|cap| !shared.buckets[vi].take(cap, *now, on_the_wire(len))) {
                    cells.add(Count::TxCapped, 1);
                    *capped |= 1 << vi;
                    over_rate = true;
                    break;
                }
            }
            // Straight into the one slot that a frame nearly always has, or else into as many as it needs.
            let written = writer.with_first(|slot| frames.write_next(slot)).flatten();
            let Some(len) = written.or_else(|| frames.write_next(&mut writer)) else { break };
            writer.end(len, None);
            (sent, bytes) = (sent + 1, bytes + len as u64);
        }
        writer.commit();
        if let Some(point) = reactions.as_deref_mut().and_then(|reactions| reactions.of(vi)) {
            point.sent(bytes);
        }
        if !*alone {
            share.take(vi, bytes - paid);
            match (no_room, over_rate) {
                (true, _) => share.refused(vi),
                (_, true) => share.gone(vi),
                _ => {}
            }
            *uncounted |= 1 << vi;
        }
        (vi_state.frames, vi_state.bytes) = (vi_state.frames + sent as u64, vi_state.bytes + bytes);
        if frames.next_len().is_some() {
            self.refuse(vi);
        }
        Ok(sent)
    }

    /// Reason why a frame of this length, and any longer one, can never be sent.
    fn never(&self, vi: usize, len: usize) -> Option<Count> {
        let settings = &self.settings.vis[vi];
        let most = (ETHERNET + settings.mtu + TAG_LEN).min(self.largest);
        match SlotWriter::slots(&self.port.ring, len) {
            _ if !settings.up => Some(Count::TxDown),
            Some(_) if len <= most => None,
            _ => Some(Count::TxTooLong),
        }
    }

    /// Free slots of the port's ring.
    #[inline]
    #[must_use]
    pub fn free(&self) -> u32 {
        self.port.ring.free()
    }

    /// True if a [`NicTx::sync`] has something to do: frames to send, or slots to get back; or a frame was refused since the last.
    #[inline]
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.refused || self.port.ring.outstanding() > 0
    }

    /// True if frames do not get on their way without another sync, or one was refused since the last: somebody has to look again.
    /// Slots that are only to come back are none's hurry.
    #[inline]
    #[must_use]
    pub fn is_held_up(&self) -> bool {
        self.refused || self.port.is_held_up()
    }

    /// True if it is the interface's turn; then its credit is used.
    #[inline]
    fn may_send(&mut self, vi: usize, len: usize) -> bool {
        self.alone || self.take_credit(vi, len)
    }

    #[inline(never)]
    fn take_credit(&mut self, vi: usize, len: usize) -> bool {
        self.uncounted |= 1 << vi;
        self.share.take(vi, len as u64)
    }

    #[inline]
    fn sent(&mut self, vi: usize, len: usize) {
        let vi = &mut self.vis[vi];
        (vi.frames, vi.bytes) = (vi.frames + 1, vi.bytes + len as u64);
    }

    /// Counts what was sent since the last time.
    #[inline]
    fn count(&mut self) {
        let Self { vis, cells, uncounted, alone, frames: mine, bytes: bytes_of_mine, .. } = self;
        let those = if *alone { 1 } else { std::mem::take(uncounted) };
        if *alone && *mine > 0 {
            cells.vis[0].add(Count::TxFrames, std::mem::take(mine));
            cells.vis[0].add(Count::TxBytes, std::mem::take(bytes_of_mine));
        }
        for vi in each(those) {
            let (TxVi { frames, bytes, .. }, cells) = (&mut vis[vi], &cells.vis[vi]);
            cells.add(Count::TxFrames, std::mem::take(frames));
            cells.add(Count::TxBytes, std::mem::take(bytes));
        }
    }

    #[cold]
    fn refuse(&mut self, vi: usize) -> bool {
        self.refused = true;
        if self.port.ring.free() == 0 {
            self.share.refused(vi);
        }
        self.cells(vi).add(Count::TxRefused, 1);
        false
    }

    /// Frames that are long, tagged, capped, or ask for something.
    #[inline(never)]
    fn send_special(&mut self, vi: usize, head: &[u8], body: &[&[u8]], meta: Option<Meta>) -> bool {
        let settings = &self.settings.vis[vi];
        if !settings.up {
            return self.never_sent(vi, Count::TxDown);
        }
        let request = Request::new(head, body, meta.unwrap_or_default());
        if let Err(reason) = request.check() {
            return self.never_sent(vi, reason);
        }
        if request.gso_type() == 0 {
            return match request.single(settings, &self.port.ring, self.largest, self.down.checksum) {
                Ok((slots, hand_down)) => self.send_one(vi, &request, slots, hand_down),
                Err(reason) => self.never_sent(vi, reason),
            };
        }
        let headers = match request.prepare() {
            Ok(headers) => headers,
            Err(reason) => return self.never_sent(vi, reason),
        };
        let whole = self.down.segments(headers.gso_type()).then_some(&request);
        request.with_super_frame(&headers, |frame| match frame {
            Some(frame) => self.send_super_frame(vi, frame, whole),
            None => self.never_sent(vi, Count::TxBadRequest),
        })
    }

    /// Sends a super-frame as segments, or if it is given as it is handed down, as one frame.
    fn send_super_frame(&mut self, vi: usize, frame: SuperFrame<'_>, whole: Option<&Request<'_>>) -> bool {
        if let Err(reason) = frame.check(&self.settings.vis[vi], self.largest) {
            return self.never_sent(vi, reason);
        }
        let Some(request) = whole else {
            return match frame.cut(&self.port.ring) {
                Ok(cut) => self.send_segments(vi, frame, &cut),
                Err(reason) => self.never_sent(vi, reason),
            };
        };
        match request.slots(&self.port.ring) {
            Ok(slots) => self.send_one(vi, request, slots, Some(request.handed_down())),
            Err(reason) => self.never_sent(vi, reason),
        }
    }

    fn send_one(&mut self, vi: usize, request: &Request<'_>, slots: u32, hand_down: Option<Meta>) -> bool {
        if !self.admit(vi, slots, request.len as u64, on_the_wire(request.len)) {
            return false;
        }
        let filled = request.write(&mut self.port.ring, slots, hand_down);
        let cells = self.cells(vi);
        cells.add(Count::TxFrames, 1);
        cells.add(Count::TxBytes, request.len as u64);
        cells.add(Count::TxHandedDown, u64::from(hand_down.is_some()));
        cells.add(Count::TxChecksums, u64::from(filled));
        true
    }

    fn send_segments(&mut self, vi: usize, frame: SuperFrame<'_>, cut: &Cut) -> bool {
        if !self.admit(vi, cut.slots, cut.bytes, cut.wire) {
            return false;
        }
        frame.write(&mut self.port.ring, cut.slots);
        let cells = self.cells(vi);
        cells.add(Count::TxFrames, cut.frames);
        cells.add(Count::TxBytes, cut.bytes);
        cells.add(Count::TxSegmented, 1);
        cells.add(Count::TxSegments, cut.frames);
        true
    }

    /// Counts a frame that can never be sent; it is done with.
    fn never_sent(&self, vi: usize, reason: Count) -> bool {
        self.cells(vi).add(reason, 1);
        true
    }

    /// True if there is room, credit and rate for a frame; they are taken then.
    fn admit(&mut self, vi: usize, slots: u32, bytes: u64, wire: u64) -> bool {
        if self.port.ring.free() < slots {
            self.share.refused(vi);
            return self.refuse(vi);
        }
        if !self.share.may(vi) {
            return self.refuse(vi);
        }
        if let Some(cap) = self.vis[vi].cap {
            let may = self.shared.buckets[vi].take(cap, self.now, wire);
            self.capped = self.capped & !(1 << vi) | ViSet::from(!may) << vi;
            if !may {
                self.cells(vi).add(Count::TxCapped, 1);
                self.share.gone(vi);
                return false;
            }
            self.spent(vi, bytes);
        }
        self.share.take(vi, bytes)
    }
}

/// Requests that are handed down to the port, because it does them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Down {
    /// Completing checksums.
    pub(crate) checksum: bool,
    /// Segmenting TCP, and UDP.
    pub(crate) tso: bool,
    pub(crate) uso: bool,
}

impl Down {
    /// Requests that a port does, if they are to be handed down.
    pub(super) fn of(info: &Info, wanted: bool) -> Self {
        let Caps { checksum, gso, uso, .. } = info.caps;
        Self { checksum: wanted && checksum, tso: wanted && gso, uso: wanted && uso }
    }

    fn segments(self, gso_type: u8) -> bool {
        match gso_type {
            UDP_L4 => self.uso,
            _ => self.tso,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::interface;
    use crate::adapter::settings::ViSettings;
    use crate::flags::{AdapterFlags, FlagError, PUBLISHED};
    use etherparse::PacketBuilder;
    use linerate_port::{Sleeper, TxEngine, open};
    use linerate_ring::{Region, RegionConfig, Sharing, TxRing};

    /// Leaves all frames in their slots.
    struct Idle;

    impl Sleeper for Idle {}
    impl TxEngine for Idle {}

    fn sender(down: bool) -> NicTx {
        let ring_bytes = Region::ring_room(256);
        let config = RegionConfig { buf_size: 2048, buffers: 256, ring_bytes, sharing: Sharing::Private, huge: false };
        let ring = TxRing::new(&Region::new(&config).unwrap(), 0, 256).unwrap();
        let vi = interface([2; 6], 0, open("null:").unwrap().info(), PUBLISHED);
        let down = Down { checksum: down, tso: down, uso: down };
        NicTx::new(TxQueue::new(ring, Box::new(Idle)), Arc::new(Shared::new(vec![vi], 1)), 0, down, 1518)
    }

    /// All that is in the ring: each slot's bytes, flags and request.
    fn sent(tx: &mut NicTx) -> Vec<(Vec<u8>, u16, Option<Meta>)> {
        tx.sync(0);
        let ring = &mut tx.port.ring;
        (0..ring.pending())
            .map(|i| {
                let (word, meta) = (ring.pending_word(i), ring.pending_meta(i));
                (ring.pending_frame(i).to_vec()[..usize::from(word.len())].to_vec(), word.flags(), meta)
            })
            .collect()
    }

    /// Headers of a super-frame with so many bytes of payload, as a driver gets it: complete, but for the checksum, whose
    /// field has the pseudo-header's sum. With it, the request.
    fn headers(tcp: bool, v6: bool, tagged: bool, payload: usize) -> (Vec<u8>, Meta) {
        let link = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let (mut frame, body) = (Vec::new(), vec![0; payload]);
        let ip = if v6 { link.ipv6([6; 16], [8; 16], 9) } else { link.ipv4([6; 4], [8; 4], 9) };
        if tcp {
            ip.tcp(1, 2, 3, 4).ack(5).psh().write(&mut frame, &body).unwrap();
        } else {
            ip.udp(1, 2).write(&mut frame, &body).unwrap();
        }
        let transport = if v6 { 54 } else { 34 };
        let (len, csum_offset, protocol) = if tcp { (20, 16, 6) } else { (8, 6, 17) };
        let field = transport + csum_offset;
        let mut sum = protocol + u32::try_from(len + payload).unwrap();
        for pair in frame[if v6 { 22..54 } else { 26..34 }].chunks(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
        }
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
        frame[field..field + 2].copy_from_slice(&sum.to_be_bytes());
        frame.truncate(transport + len);
        let mut start = transport;
        if tagged {
            frame.splice(12..12, [0x81, 0, 0x20, 5]);
            start += 4;
        }
        let [hdr_len, csum_start, csum_offset] = [frame.len(), start, csum_offset].map(|n| u16::try_from(n).unwrap());
        let gso_type = match (tcp, v6) {
            (true, false) => 1,
            (true, true) => 4,
            (false, _) => UDP_L4,
        };
        let asked = Meta { flags: Meta::NEEDS_CSUM, gso_type, hdr_len, ..Meta::default() };
        (frame, Meta { csum_start, csum_offset, ..asked })
    }

    #[test]
    fn prepared_headers_leave_as_a_request_for_segments_does() {
        let payload: Vec<u8> = (0..60_000_u32).map(|i| i.to_le_bytes()[0] ^ i.to_le_bytes()[1]).collect();
        for down in [true, false] {
            for kind in 0..8 {
                let [tcp, v6, tagged] = [1, 2, 4].map(|bit| kind & bit != 0);
                for (len, gso_size) in [(1, 1400), (1400, 1400), (1401, 1400), (60_000, 1000)] {
                    let (head, meta) = headers(tcp, v6, tagged, len);
                    let body = [&payload[..len / 3], &payload[len / 3..len]];
                    let [mut asked, mut prepared] = [down; 2].map(sender);
                    assert!(asked.send(0, &head, &body, Some(Meta { gso_size, ..meta })));
                    assert!(prepared.send_prepared(0, &Prepared::new(&head).unwrap(), &body, gso_size));
                    let (wanted, got) = (sent(&mut asked), sent(&mut prepared));
                    assert!(got == wanted, "{kind} {len} {gso_size} {down}");
                    let counted = prepared.cells(0).read();
                    assert_eq!(counted, asked.cells(0).read());
                    if down {
                        assert_eq!(got[0].2, Some(Meta { gso_size, ..meta }));
                        assert_eq!(got.iter().map(|slot| slot.0.len()).sum::<usize>(), head.len() + len);
                        assert_eq!((counted.of(Count::TxHandedDown), counted.of(Count::TxFrames)), (1, 1));
                    } else {
                        let n = len.div_ceil(gso_size.into());
                        assert_eq!((got.len(), got[0].2), (n, None));
                        assert_eq!(counted.of(Count::TxSegments), n as u64);
                    }
                }
            }
        }
    }

    /// No length of IP's counts that many bytes, but segments have lengths of their own.
    #[test]
    fn a_super_frame_beyond_ip_is_segmented_also_for_a_port_that_does_it_itself() {
        let (head, _) = headers(true, false, false, 1);
        let headers = Prepared::new(&head).unwrap();
        let mut tx = sender(true);
        assert!(tx.send_prepared(0, &headers, &[&[7; 65_536]], 1460));
        assert_eq!(sent(&mut tx).len(), 45);
        assert!(tx.send_prepared(0, &headers, &[&[7; 65_495]], 1460));
        assert_eq!(tx.cells(0).read().of(Count::TxHandedDown), 1);
    }

    #[test]
    fn prepared_headers_are_checked_as_requests_are() {
        let (tcp, _) = headers(true, false, true, 1);
        let (udp, _) = headers(false, true, false, 1);
        let [tcp, udp] = [tcp, udp].map(|head| Prepared::new(&head).unwrap());
        for down in [true, false] {
            let dropped = |headers: &Prepared, word: &str, body: &[u8], gso_size: u16| {
                let mut tx = sender(down);
                let without = |flag: Flags| AdapterFlags::new(Flags(PUBLISHED.0 & !flag.0));
                let change = |vis: &mut Vec<ViSettings>| {
                    match word {
                        "" => {}
                        "down" => vis[0].up = false,
                        "vlanhwtso" => vis[0].flags = without(Flags::VLAN_HWTSO),
                        "vlanhwcsum" => vis[0].flags = without(Flags::VLAN_HWCSUM),
                        flag => drop(vis[0].flags.apply(flag)?),
                    }
                    Ok::<_, FlagError>(())
                };
                tx.shared.replace(change).unwrap();
                tx.sync(0);
                assert!(tx.send_prepared(0, headers, &[body], gso_size));
                let n = sent(&mut tx).len();
                let all = tx.cells(0).read();
                assert_eq!(n > 0, all.of(Count::TxFrames) > 0);
                all.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{name}={n}")).collect::<Vec<_>>().join(" ")
            };
            let body = [7; 3000];
            assert_eq!(dropped(&tcp, "down", &body, 1000), "tx.drop.down=1");
            assert_eq!(dropped(&tcp, "", &[], 1000), "tx.drop.bad_request=1");
            assert_eq!(dropped(&tcp, "", &body, 0), "tx.drop.bad_request=1");
            assert_eq!(dropped(&tcp, "", &[7; 65_537], 1000), "tx.drop.bad_request=1");
            assert_eq!(dropped(&tcp, "", &body, 1461), "tx.drop.too_long=1");
            for flag in ["-tso4", "-txcsum", "vlanhwtso", "vlanhwcsum"] {
                assert_eq!(dropped(&tcp, flag, &body, 1000), "tx.drop.offload_off=1", "{flag}");
            }
            assert_eq!(dropped(&udp, "-txcsum", &body, 1000), "tx.drop.offload_off=1");
            assert!(!dropped(&udp, "vlanhwtso", &body, 1000).contains("drop"), "it has no tag");
        }
    }
}
