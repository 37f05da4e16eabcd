//! What is received: its memory, the window that tells of it, and when to acknowledge.

use super::super::holes::Holes;
use super::super::memory::Memory;
use super::super::seq::Seq;
use super::super::{MILLISECOND, count};
use crate::due::Due;
use linerate_wire::{SackBlocks, TcpOptions};

/// Most bytes that one acknowledgement tells of, unless a segment is longer: as much as is joined on its way to receivers that
/// acknowledge what was joined.
const STRETCH: u32 = 64 << 10;
/// Segment size of a peer of which no longer one is known (RFC 9293, section 3.7.1).
const USUAL: u32 = super::DEFAULT_MSS;

/// Receiving side of a connection.
#[derive(Debug)]
pub(super) struct Receive {
    /// Next number that is expected.
    nxt: Seq,
    /// End of the window that the peer was told of; it never goes back (RFC 9293, section 3.8.6.2.1).
    edge: Seq,
    /// Last number that was acknowledged.
    acked: Seq,
    memory: Memory,
    /// Bytes in order that were not read.
    unread: u32,
    /// Most bytes in memory now, and ever.
    limit: u32,
    greatest: u32,
    /// Bytes that have come in order since a time.
    turn: (u32, u64),
    /// There is little memory: the window opens to a few segments only, and what comes beyond a gap is not kept.
    pressed: bool,
    shift: u8,
    holes: Holes,
    /// Number of the peer's FIN, once it is known.
    fin: Option<Seq>,
    ended: bool,
    ack: Due,
    /// Acknowledgements that tell nothing new, one for each segment beyond a gap: without SACK that is how loss is told. With it
    /// three are enough for senders that count them nevertheless (RFC 5681, section 3.2).
    duplicates: u8,
    /// Most bytes of data that the peer was told to put in a segment. What is longer are several that were joined.
    most: u32,
    /// Largest segment that has come, or what any peer can send: two of them are acknowledged at once.
    largest: u32,
}

/// Longest time for which an acknowledgement waits for company: of a whole segment, or of less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    pub(super) whole: u64,
    pub(super) small: u64,
}

impl Receive {
    pub(super) fn new(limit: u32, scaling: bool, most: u32) -> Self {
        let greatest = limit.clamp(2048, 1 << 30);
        let shift = if scaling { shift(greatest) } else { 0 };
        let mut new = Self {
            nxt: Seq(0),
            edge: Seq(0),
            acked: Seq(0),
            memory: Memory::default(),
            unread: 0,
            limit: greatest.min(super::Config::FIRST),
            greatest,
            turn: (0, 0),
            pressed: false,
            shift,
            holes: Holes::default(),
            fin: None,
            ended: false,
            ack: Due::NEVER,
            duplicates: 0,
            most,
            largest: most.min(USUAL),
        };
        if !scaling {
            new.unscaled();
        }
        new
    }

    /// Sets the most bytes in memory, as far as windows can tell of them. A window that the peer was told of stays.
    pub(super) fn set_limit(&mut self, limit: u32) {
        self.greatest = limit.clamp(2048, 0xffff << self.shift);
        self.limit = self.greatest;
    }

    /// Most bytes that are ever in memory.
    pub(super) fn greatest(&self) -> u32 {
        self.greatest
    }

    /// The peer does not scale windows.
    pub(super) fn unscaled(&mut self) {
        self.shift = 0;
        (self.limit, self.greatest) = (self.limit.min(0xffff), self.greatest.min(0xffff));
    }

    /// Shift of our windows.
    pub(super) fn shift(&self) -> u8 {
        self.shift
    }

    /// The peer's SYN has this number.
    pub(super) fn begin(&mut self, seq: Seq) {
        self.nxt = seq.plus(1);
        (self.edge, self.acked) = (self.nxt.plus(self.limit.min(0xffff)), self.nxt);
    }

    /// Next number that is expected.
    #[inline]
    pub(super) fn nxt(&self) -> Seq {
        self.nxt
    }

    /// End of the window.
    #[inline]
    pub(super) fn edge(&self) -> Seq {
        self.edge
    }

    /// Last number that was acknowledged.
    #[inline]
    pub(super) fn acked(&self) -> Seq {
        self.acked
    }

    /// Number for the next acknowledgement: what is expected next, unless that is further than one may tell of.
    #[inline]
    pub(super) fn next_ack(&self) -> Seq {
        if self.acked.to(self.nxt) <= STRETCH {
            return self.nxt;
        }
        self.acked.plus((STRETCH / self.largest).max(1) * self.largest)
    }

    /// Bytes that can be read.
    pub(super) fn unread(&self) -> usize {
        self.unread as usize
    }

    /// True if the peer's FIN has come, and all before it.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Bytes that are taken from this number on: up to the window's end. Where there is little memory, no window that was told
    /// before makes more of it: the rest comes again.
    #[inline]
    pub(super) fn room(&self, seq: Seq) -> usize {
        let told = seq.to(self.edge) as usize;
        if !self.pressed {
            return told;
        }
        let most = self.memory.capacity().max(super::PRESSED as usize);
        told.min(most.saturating_sub((self.unread + self.nxt.to(seq)) as usize))
    }

    /// Takes data that lie within the window, and whether FIN follows them; true if FIN is reached.
    pub(super) fn take(&mut self, now: u64, seq: Seq, payload: &[u8], fin: bool, delay: Delay, sack: bool) -> bool {
        let len = count(payload.len());
        let end = seq.plus(len);
        self.largest = self.largest.max(len.min(self.most));
        if fin && self.fin.is_none_or(|known| known == end) {
            self.fin = Some(end);
        }
        let gap = self.nxt.is_before(seq);
        if len > 0 {
            let at = (self.unread + self.nxt.to(seq)) as usize;
            let held = (self.unread + self.holes_end()) as usize;
            if gap {
                if self.pressed || !self.holes.add(seq, end) {
                    return self.acknowledge_beyond(sack);
                }
                self.memory.reserve(held, at + payload.len());
                self.memory.put(at, payload);
                return self.acknowledge_beyond(sack);
            }
            self.memory.reserve(held, at + payload.len());
            self.memory.put(at, payload);
        } else if gap {
            return self.acknowledge_beyond(sack);
        }
        let filled = !self.holes.is_empty();
        let whole = if filled { self.holes.close(self.nxt.max(end)) } else { self.nxt.max(end) };
        self.unread += self.nxt.to(whole);
        self.turn.0 += self.nxt.to(whole);
        self.nxt = whole;
        let over = self.fin == Some(self.nxt) && !self.ended;
        if over {
            (self.nxt, self.ended) = (self.nxt.plus(1), true);
            // FIN needs no room: it may stand behind all that there is, and the window ends before nothing that has come.
            self.edge = self.edge.max(self.nxt);
        }
        if filled && sack && self.holes.is_empty() {
            // Others acknowledge each segment then. Here one acknowledgement stands for all that have come together, and if that
            // is lost, senders that do not probe in a recovery wait for a time-out.
            self.duplicates = self.duplicates.max(2);
        }
        // RFC 5681, section 4.2: at least every second full segment, and at once when a gap is filled.
        if over || filled || self.acked.to(self.nxt) >= 2 * self.largest {
            self.ack = Due::NOW;
        } else if len > 0 && !self.ack.is_set() {
            let delay = if len < self.largest { delay.small } else { delay.whole };
            self.ack = Due::after(now, delay);
        }
        over
    }

    /// Makes the window larger if more than half of it has come in a round trip: it may be what holds the peer up.
    #[inline]
    pub(super) fn grow(&mut self, now: u64, trip: u64) {
        let (came, since) = self.turn;
        if now.saturating_sub(since) < trip.max(MILLISECOND) {
            return;
        }
        self.turn = (0, now);
        // Who has not read half of it would not read more of a larger one.
        if came > self.limit / 2 && self.unread < self.limit / 2 && !self.pressed {
            self.limit = came.saturating_mul(2).next_power_of_two().clamp(self.limit, self.greatest);
        }
    }

    /// Gives back memory that is empty.
    pub(super) fn rest(&mut self) {
        if self.unread == 0 && self.holes.is_empty() {
            self.memory.release();
        }
    }

    /// Holds to little memory from now on, or no more.
    pub(super) fn set_pressed(&mut self, pressed: bool) {
        self.pressed = pressed;
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.memory.capacity()
    }

    /// Bytes from what is expected next to the end of what has arrived.
    fn holes_end(&self) -> u32 {
        self.holes.end().map_or(0, |end| self.nxt.to(end))
    }

    /// Something came beyond a gap, and is answered at once.
    fn acknowledge_beyond(&mut self, sack: bool) -> bool {
        self.ack = Due::NOW;
        if !sack || self.duplicates < 3 {
            self.duplicates = self.duplicates.saturating_add(1);
        }
        false
    }

    /// Notes that an acknowledgement is to be sent at once.
    pub(super) fn acknowledge_now(&mut self) {
        self.ack = Due::NOW;
    }

    /// Notes that a range came that was there already.
    pub(super) fn came_twice(&mut self, from: Seq, to: Seq) {
        self.holes.came_twice(from, to);
    }

    /// True if an acknowledgement is due.
    #[inline]
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.ack.has_come(now)
    }

    /// Time at which an acknowledgement is due.
    #[inline]
    pub(super) fn due_at(&self) -> Due {
        self.ack
    }

    /// Nothing is acknowledged any more.
    pub(super) fn forget_ack(&mut self) {
        (self.ack, self.duplicates) = (Due::NEVER, 0);
    }

    /// Window for a segment that is sent now with this acknowledgement, in the units of the header; `is_scaled` but for SYN.
    #[inline]
    pub(super) fn window(&mut self, ack: Seq, is_scaled: bool) -> u16 {
        self.open();
        let window = ack.to(self.edge);
        let shift = if is_scaled { self.shift } else { 0 };
        // Rounded down, the end that is told may lie a unit before the one told last, up to which all is taken (RFC 7323,
        // section 2.4): rounded up, a window that nobody reads from would never close.
        (window >> shift).min(0xffff) as u16
    }

    /// Moves the window's end as far as there is room, if that is worth telling (RFC 9293, section 3.8.6.2.2).
    #[inline]
    fn open(&mut self) {
        let limit = self.most();
        let room = limit.saturating_sub(self.unread) >> self.shift << self.shift;
        let edge = self.nxt.plus(room);
        if self.edge.is_before(edge) && (self.edge.to(edge) >= self.step() || room == limit) {
            self.edge = edge;
        }
    }

    /// Most bytes that may be unread.
    #[inline]
    fn most(&self) -> u32 {
        if self.pressed { self.limit.min(super::PRESSED) } else { self.limit }
    }

    /// Least step of the window's end.
    #[inline]
    fn step(&self) -> u32 {
        self.largest.min(self.limit / 2)
    }

    /// An acknowledgement was sent; others follow if it was not of all.
    #[inline]
    pub(super) fn sent_ack(&mut self, ack: Seq) {
        self.acked = ack;
        if ack != self.nxt {
            return;
        }
        self.duplicates = self.duplicates.saturating_sub(1);
        if self.duplicates == 0 {
            self.ack = Due::NEVER;
        }
    }

    /// True if there are ranges to tell the peer of.
    #[inline]
    pub(super) fn tells(&self) -> bool {
        self.holes.tells()
    }

    /// Ranges to tell the peer of, with so many bytes for options left.
    #[inline]
    pub(super) fn blocks(&mut self, room: usize) -> SackBlocks {
        if !self.holes.tells() {
            return SackBlocks::default();
        }
        self.holes.blocks((room.saturating_sub(4) / 8).min(SackBlocks::MOST))
    }

    /// Bytes that can be read, where they lie.
    #[inline]
    pub(super) fn peek(&self, most: usize) -> [&[u8]; 2] {
        let (first, second) = self.memory.get(0, most.min(self.unread as usize));
        [first, second]
    }

    /// Drops bytes that were read.
    pub(super) fn consume(&mut self, bytes: usize) {
        let len = bytes.min(self.unread as usize);
        if len == 0 {
            return;
        }
        self.memory.drop_front(len);
        self.unread -= count(len);
        // A window that was small is told when it has grown by half of all (or two segments): the peer may wait for it.
        let was = self.nxt.to(self.edge);
        let room = self.most().saturating_sub(self.unread);
        let grows = room.saturating_sub(was);
        if !self.ended && grows >= (2 * self.largest).min(self.limit / 2) && was < self.limit / 2 {
            self.ack = Due::NOW;
        }
        if self.unread == 0 && self.holes.is_empty() && self.ended {
            self.memory.release();
        }
    }
}

/// Shift with which a window of so many bytes fits 16 bits (RFC 7323, section 2.3).
fn shift(limit: u32) -> u8 {
    (0..TcpOptions::MAX_SHIFT).find(|shift| limit >> shift <= 0xffff).unwrap_or(TcpOptions::MAX_SHIFT)
}
