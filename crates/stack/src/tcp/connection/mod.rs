//! A connection: its state (RFC 9293, section 3.3), and what its user asks of it.

mod ack;
mod arrival;
mod ecn;
mod fast;
mod keep;
mod mtu;
mod output;
mod pace;
mod receive;
mod recovery;
mod stamps;
mod timers;

use super::congestion::{Algorithm, Congestion};
use super::flight::Flight;
use super::rtt::Rtt;
use super::segment::Segment;
use super::send_queue::{self, SendQueue};
use super::seq::Seq;
use super::{MILLISECOND, SECOND, count};
use crate::ip::Traffic;
use bytes::{Buf, Bytes as Chunk};
pub use ecn::Ecn;
use ecn::Marks;
use fast::Fast;
pub use fast::FastOpenLesson;
use keep::Keep;
pub use keep::KeepAlive;
use linerate_wire::{TcpFlags, TcpOptions};
pub use mtu::MtuSearch;
use mtu::Path;
use receive::Receive;
use recovery::Phase;
use stamps::Stamps;
use timers::Timers;

/// Segment size of a peer that names none (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u32 = 536;
/// Least segment size that is believed: smaller ones would only multiply our packets.
const LEAST_MSS: u32 = 88;

/// Most bytes where there is little memory.
const PRESSED: u32 = 16 << 10;

/// Settings of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Most bytes that wait to be sent or acknowledged; fewer where the path carries less in two round trips.
    pub send: u32,
    /// Most bytes that wait to be read: the greatest window. A connection begins with at most 256 KiB.
    pub receive: u32,
    /// Congestion control.
    pub algorithm: Algorithm,
    /// Hold back what is less than a segment while something is not acknowledged (Nagle; RFC 9293, section 3.7.4).
    pub nagle: bool,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Offer SACK (RFC 2018).
    pub sack: bool,
    /// Offer window scaling (RFC 7323).
    pub scaling: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: Ecn,
    /// Spread what is sent over the round trip, unless that is short.
    pub pacing: bool,
    /// Search for the longest segment that the path takes, where no router tells (RFC 4821).
    pub mtu_search: MtuSearch,
    /// Time for which an acknowledgement may wait for company, ns (RFC 9293, section 3.8.6.3).
    pub delay: u64,
    /// Time for which nothing need be acknowledged before the connection is given up, ns.
    pub patience: u64,
    /// Times at which a silent peer is asked whether it is there, if it is.
    pub keep_alive: Option<KeepAlive>,
    /// Time in TIME-WAIT, ns (RFC 9293, section 3.4.2: twice the life of a segment).
    pub linger: u64,
    /// Most bytes that are handed out at once.
    pub burst: u32,
}

impl Config {
    /// Most bytes at first that wait to be sent or acknowledged, and that wait to be read.
    pub const FIRST: u32 = 256 << 10;
}

impl Default for Config {
    fn default() -> Self {
        Self {
            send: 4 << 20,
            receive: 4 << 20,
            algorithm: Algorithm::Cubic,
            nagle: true,
            timestamps: true,
            sack: true,
            scaling: true,
            ecn: Ecn::default(),
            pacing: true,
            mtu_search: MtuSearch::default(),
            delay: 40 * MILLISECOND,
            patience: 900 * SECOND,
            keep_alive: None,
            linger: 60 * SECOND,
            burst: 65_536 - 512,
        }
    }
}

/// State of a connection (RFC 9293, section 3.3.2). Those that listen are no connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// SYN was sent.
    SynSent,
    /// SYN was received and answered.
    SynReceived,
    /// Data go both ways.
    Established,
    /// We have closed; FIN is not acknowledged.
    FinWait1,
    /// We have closed; the peer has not.
    FinWait2,
    /// The peer has closed; we have not.
    CloseWait,
    /// Both have closed at the same time; our FIN is not acknowledged.
    Closing,
    /// Both have closed, the peer first; our FIN is not acknowledged.
    LastAck,
    /// Both have closed; late segments are waited for.
    TimeWait,
    /// There is no connection.
    Closed,
}

impl State {
    /// Its name, as the RFC writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SynSent => "SYN-SENT",
            Self::SynReceived => "SYN-RECEIVED",
            Self::Established => "ESTABLISHED",
            Self::FinWait1 => "FIN-WAIT-1",
            Self::FinWait2 => "FIN-WAIT-2",
            Self::CloseWait => "CLOSE-WAIT",
            Self::Closing => "CLOSING",
            Self::LastAck => "LAST-ACK",
            Self::TimeWait => "TIME-WAIT",
            Self::Closed => "CLOSED",
        }
    }
}

/// Reason for which a connection has ended before both sides closed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// The peer refused it: nobody listens there.
    #[error("connection refused")]
    Refused,
    /// The peer has reset it.
    #[error("connection reset by peer")]
    Reset,
    /// The peer does not answer.
    #[error("connection timed out")]
    TimedOut,
    /// The peer cannot be reached: its link does not know it, or a router has said so.
    #[error("host unreachable")]
    Unreachable,
    /// It was aborted here.
    #[error("connection aborted")]
    Aborted,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    state: State,
    end: Option<End>,
    /// It began with the peer's SYN.
    passive: bool,
    /// Nobody will read what comes.
    orphaned: bool,
    /// There is little memory.
    pressed: bool,
    /// It is a handshake with so many others that it is in their way.
    pub(in crate::tcp) crowded: bool,

    // ---- what is sent (RFC 9293, section 3.3.1) ----
    /// Number of our SYN.
    iss: Seq,
    /// First number that is not acknowledged.
    una: Seq,
    /// Next number to be sent.
    nxt: Seq,
    /// The peer's window, scaled, and the numbers of the segment that told it.
    window: u32,
    told: (Seq, Seq),
    /// The peer's greatest window.
    greatest: u32,
    /// Shift of the peer's windows, and of ours.
    shift: (u8, u8),
    /// Bytes of data in a segment, without options.
    mss: u32,
    /// Most bytes of data that the path takes here, without options: the link's.
    own_mss: u16,
    path: Path,
    /// Most bytes of data that are handed out at once.
    burst: u32,
    /// Traffic class and flow label of all segments.
    traffic: Traffic,
    queue: SendQueue,
    /// Number of the first byte in the queue.
    front: Seq,
    /// Our user has closed: FIN follows the last byte.
    closing: bool,
    /// End of the bytes that are to be sent at once (PSH).
    pushed: Seq,
    flight: Flight,
    rtt: Rtt,
    congestion: Congestion,
    phase: Phase,
    /// Number whose acknowledgement ends a round trip.
    round: Seq,
    /// Most bytes that were under way at a time in this round trip and the one before.
    peaks: [u32; 2],
    /// Time of the last data that were sent.
    last_sent: u64,
    /// Time up to which what was sent has used up its share of the pace.
    paced: u64,
    sack: bool,
    stamps: Stamps,
    marks: Marks,
    fast: Fast,

    // ---- what is received ----
    receive: Receive,

    timers: Timers,
    keep: Keep,
    /// Time of the last segment of the peer.
    heard: u64,
    /// RST is to be sent, with these numbers.
    reset: Option<(Seq, Option<Seq>)>,
    counters: Counters,
}

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments received.
    pub received: u64,
    /// Bytes of data acknowledged by the peer.
    pub acknowledged: u64,
    /// Bytes sent again.
    pub sent_again: u64,
    /// Segments sent again.
    pub segments_again: u32,
    /// Time-outs.
    pub timeouts: u64,
    /// Probes of the tail.
    pub probes: u32,
    /// Recoveries, and those that were for nothing.
    pub recoveries: u64,
    /// Reductions that were taken back.
    pub undone: u32,
    /// Reductions for marks of routers.
    pub marked: u32,
    /// Times that segments became shorter because they timed out again and again.
    pub black_holes: u32,
    /// Segments that were longer than others, to find out whether the path takes them.
    pub path_probes: u32,
    /// Segments dropped because their timestamps were older than those of others before them (PAWS).
    pub old_timestamps: u32,
    /// Segments dropped because they lay outside the window: they came twice, mostly.
    pub outside_window: u32,
}

impl Connection {
    /// Begins a connection: SYN is to be sent. `mss` is what the link takes, `iss` an initial sequence number that nobody
    /// can guess (RFC 6528), `stamp` a random offset of timestamps (RFC 7323, section 5.4).
    #[must_use]
    pub fn connect(now: u64, config: &Config, mss: u32, iss: Seq, stamp: u32) -> Self {
        let mut new = Self::new(now, config, mss, iss, stamp);
        new.state = State::SynSent;
        new
    }

    /// Answers a SYN: SYN and ACK are to be sent.
    #[must_use]
    pub fn accept(now: u64, config: &Config, mss: u32, iss: Seq, stamp: u32, syn: &Segment<'_>) -> Self {
        let mut new = Self::new(now, config, mss, iss, stamp);
        (new.state, new.passive) = (State::SynReceived, true);
        new.take_syn(now, syn);
        new
    }

    /// Goes on with the acknowledgement of a SYN and ACK that nobody remembers (SYN cookies): `syn` is what it answered, as far
    /// as that is known.
    #[must_use]
    pub(super) fn resume(
        now: u64,
        config: &Config,
        mss: u32,
        iss: Seq,
        stamp: u32,
        syn: &Segment<'_>,
        ack: &Segment<'_>,
    ) -> Self {
        let mut new = Self::accept(now, config, mss, iss, stamp, syn);
        new.poll(now, &mut |_| true);
        // Nobody knows when it was sent.
        new.flight.sent_again(now, iss, iss.plus(1));
        new.arrive(now, ack);
        new
    }

    fn new(now: u64, config: &Config, mss: u32, iss: Seq, stamp: u32) -> Self {
        let mss = mss.max(LEAST_MSS);
        Self {
            config: *config,
            state: State::Closed,
            end: None,
            passive: false,
            orphaned: false,
            pressed: false,
            crowded: false,
            iss,
            una: iss,
            nxt: iss,
            window: 0,
            told: (Seq(0), Seq(0)),
            greatest: 0,
            shift: (0, 0),
            mss,
            own_mss: linerate_text::cut(mss, u16::MAX),
            path: Path::new(config.mtu_search, mss),
            burst: config.burst.min(LONGEST),
            traffic: Traffic::default(),
            queue: SendQueue::default(),
            front: iss.plus(1),
            closing: false,
            pushed: iss.plus(1),
            flight: Flight::default(),
            rtt: Rtt::default(),
            congestion: Congestion::new(config.algorithm, mss),
            phase: Phase::Open,
            round: iss,
            peaks: [0; 2],
            last_sent: now,
            paced: 0,
            sack: config.sack,
            stamps: Stamps::new(config.timestamps, stamp),
            marks: Marks::default(),
            fast: Fast::default(),
            receive: Receive::new(config.receive, config.scaling, mss),
            timers: Timers::new(now),
            keep: Keep::default(),
            heard: now,
            reset: None,
            counters: Counters::default(),
        }
    }

    /// Sets the traffic class and the flow label of segments that are sent from now on.
    pub fn set_traffic(&mut self, traffic: Traffic) {
        self.traffic = traffic;
    }

    /// Traffic class and flow label.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// State.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Reason for which it has ended, unless both sides have closed it.
    #[must_use]
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Congestion window, bytes.
    #[must_use]
    pub fn congestion_window(&self) -> u32 {
        self.congestion.window()
    }

    /// Smoothed round-trip time, ns; None before the first measurement.
    #[must_use]
    pub fn rtt(&self) -> Option<u64> {
        self.rtt.smoothed()
    }

    /// Least round-trip time of the last ten seconds or so, ns; None before the first measurement.
    #[must_use]
    pub fn least_rtt(&self) -> Option<u64> {
        self.rtt.least()
    }

    /// Variation of the round-trip time, ns; 0 before the first measurement.
    #[must_use]
    pub fn rtt_variation(&self) -> u64 {
        self.rtt.variation()
    }

    /// Bytes of data in a segment, without options.
    #[must_use]
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// True if a segment is the SYN of a new connection between the same ends, which this one, in TIME-WAIT, does not stand in
    /// the way of (RFC 9293, section 3.10.7.4, MAY-2; RFC 6191).
    #[must_use]
    #[inline]
    pub fn gives_way_to(&self, segment: &Segment<'_>) -> bool {
        let syn = segment.flags.0 & (TcpFlags::SYN.0 | TcpFlags::ACK.0 | TcpFlags::RST.0) == TcpFlags::SYN.0;
        let newer = self.receive.nxt().is_before(segment.seq) || self.stamps.is_newer(segment.options.timestamps);
        self.state == State::TimeWait && syn && newer
    }

    // ---- user's calls (RFC 9293, section 3.9.1) ----

    /// Takes bytes to be sent, as many as there is room for; returns their number. None once our side is closed.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Option<usize> {
        if !self.takes_data() {
            return None;
        }
        let taken = bytes.len().min(self.room());
        if taken > 0 {
            self.queue.copy(&bytes[..taken]);
            self.pushed = self.front.plus(self.queue.len());
        }
        Some(taken)
    }

    /// Takes bytes to be sent from the front of a buffer, which is left where it is until they are acknowledged: all of it if
    /// there is any room, unless it is longer than 16 MiB. Buffers of less than 64 KiB are copied, as [`write`](Self::write) does.
    /// Returns the number of bytes; None once our side is closed.
    pub fn write_chunk(&mut self, chunk: &mut Chunk) -> Option<usize> {
        if chunk.len() < send_queue::LEAST {
            let taken = self.write(chunk)?;
            chunk.advance(taken);
            return Some(taken);
        }
        if !self.takes_data() {
            return None;
        }
        if self.room() == 0 {
            return Some(0);
        }
        let taken = self.queue.hand(chunk);
        self.pushed = self.front.plus(self.queue.len());
        Some(taken)
    }

    /// True if our side is not closed.
    #[inline]
    fn takes_data(&self) -> bool {
        let open = matches!(self.state, State::SynSent | State::SynReceived | State::Established | State::CloseWait);
        open && !self.closing
    }

    /// Bytes that [`write`](Self::write) would take now.
    #[must_use]
    pub fn room(&self) -> usize {
        // As much as two round trips carry: more would only wait here.
        let most = if self.pressed { PRESSED } else { self.congestion.window().saturating_mul(2).max(Config::FIRST) };
        let most = most.min(self.config.send);
        most.saturating_sub(self.queue.len()) as usize
    }

    /// Bytes that are worth reading from elsewhere to be written now: the room, unless that is little of what there is when more
    /// is acknowledged.
    #[must_use]
    pub fn room_for_chunk(&self) -> usize {
        let room = self.room();
        let worth = send_queue::LEAST.min((room + self.unacknowledged()) / 2);
        if room < worth { 0 } else { room }
    }

    /// Tells it whether there is little memory: it takes less to be sent then, and its window opens to less.
    #[inline]
    pub fn set_pressed(&mut self, pressed: bool) {
        if std::mem::replace(&mut self.pressed, pressed) != pressed {
            self.receive.set_pressed(pressed);
        }
    }

    /// Bytes of memory of both directions.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.queue.memory() + self.receive.memory()
    }

    /// Bytes that were written since it began.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.counters.acknowledged + u64::from(self.queue.len())
    }

    /// Sets the most bytes that wait to be sent or acknowledged, and that wait to be read. The latter are as many from now on, and
    /// no more than windows of this connection can tell.
    pub fn set_buffers(&mut self, send: u32, receive: u32) {
        self.config.send = send;
        self.receive.set_limit(receive);
    }

    /// Most bytes that wait to be sent or acknowledged, and that wait to be read.
    #[must_use]
    pub fn buffers(&self) -> (u32, u32) {
        (self.config.send, self.receive.greatest())
    }

    /// Sets the congestion control. The window stays as it is.
    pub fn set_algorithm(&mut self, algorithm: Algorithm) {
        self.config.algorithm = algorithm;
        self.congestion.set_algorithm(algorithm);
    }

    /// Congestion control.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.config.algorithm
    }

    /// Window that the peer offers, bytes.
    #[must_use]
    pub fn peer_window(&self) -> u32 {
        self.window
    }

    /// True if Nagle's algorithm is on: less than a segment waits while something is not acknowledged.
    #[must_use]
    pub fn has_nagle(&self) -> bool {
        self.config.nagle
    }

    /// Switches Nagle's algorithm on or off from now on.
    pub fn set_nagle(&mut self, on: bool) {
        self.config.nagle = on;
    }

    /// Sets the time for which nothing need be acknowledged before the connection is given up, ns (RFC 9293, section 3.8.3).
    pub fn set_user_timeout(&mut self, patience: u64) {
        self.config.patience = patience;
    }

    /// True if the peer has not acknowledged all that was written, or our FIN where this side is closed.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        let synchronized = !matches!(self.state, State::SynSent | State::Closed | State::TimeWait);
        synchronized && (!self.queue.is_empty() || self.closing && !self.is_fin_acknowledged()) || self.reset.is_some()
    }

    /// Bytes that are not acknowledged, or not yet sent.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.queue.len() as usize
    }

    /// Reads bytes that have arrived; returns their number.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        let [first, second] = self.receive.peek(into.len());
        let len = first.len() + second.len();
        into[..first.len()].copy_from_slice(first);
        into[first.len()..len].copy_from_slice(second);
        self.receive.consume(len);
        len
    }

    /// Bytes that have arrived, where they lie, without a copy: the second piece follows the first.
    #[must_use]
    pub fn peek(&self) -> [&[u8]; 2] {
        self.receive.peek(usize::MAX)
    }

    /// Drops bytes at the front of those that [`peek`](Self::peek) shows: they were read.
    pub fn consume(&mut self, bytes: usize) {
        self.receive.consume(bytes);
    }

    /// Bytes that can be read.
    #[must_use]
    pub fn readable(&self) -> usize {
        self.receive.unread()
    }

    /// True if all that the peer has sent was read, and no more will come.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        let over = self.receive.has_ended() || matches!(self.state, State::Closed | State::TimeWait);
        over && self.receive.unread() == 0
    }

    /// Closes our side: what was written is sent, and FIN behind it.
    pub fn close(&mut self) {
        match self.state {
            State::SynSent if self.queue.is_empty() => self.finish(None),
            State::SynSent | State::SynReceived => self.closing = true,
            State::Established => (self.closing, self.state) = (true, State::FinWait1),
            State::CloseWait => (self.closing, self.state) = (true, State::LastAck),
            _ => {}
        }
    }

    /// Closes both sides: nobody will read what comes. If there is something to be read, or comes later, the peer is told by
    /// RST that it is lost (RFC 2525, section 2.17; RFC 9293, section 3.6.1).
    pub fn release(&mut self) {
        self.orphaned = true;
        if self.receive.unread() > 0 { self.abort() } else { self.close() }
    }

    /// Gives up the connection: the peer is told by RST.
    pub fn abort(&mut self) {
        let told = match self.state {
            State::Closed | State::SynSent | State::TimeWait => None,
            _ => Some((self.nxt, Some(self.receive.nxt()))),
        };
        if self.state != State::Closed {
            self.finish(Some(End::Aborted));
        }
        self.reset = told;
    }

    /// There is no connection any more.
    fn finish(&mut self, end: Option<End>) {
        self.state = State::Closed;
        self.end = self.end.or(end);
        self.queue.clear();
        self.flight = Flight::default();
        self.timers.clear();
        self.keep = Keep::default();
        self.receive.forget_ack();
    }

    /// FIN's number, once it is known.
    fn fin(&self) -> Option<Seq> {
        self.closing.then(|| self.front.plus(self.queue.len()))
    }

    /// True if FIN was sent and is acknowledged.
    fn is_fin_acknowledged(&self) -> bool {
        self.fin().is_some_and(|fin| fin.is_before(self.una))
    }

    /// Options of all segments but SYN.
    fn options(&self, now: u64) -> TcpOptions {
        TcpOptions { timestamps: self.stamps.option(now), ..TcpOptions::default() }
    }

    /// Takes the numbers and options of the peer's SYN.
    fn take_syn(&mut self, now: u64, syn: &Segment<'_>) {
        let options = &syn.options;
        self.receive.begin(syn.seq);
        self.agree_on_ecn(syn);
        let ends = options.mss.map_or(DEFAULT_MSS, u32::from).clamp(LEAST_MSS, u32::from(self.own_mss).max(LEAST_MSS));
        self.mss = self.path.begin(ends);
        self.sack &= options.sack_permitted;
        self.stamps.agree(now, options.timestamps);
        self.shift = match options.window_scale {
            Some(shift) if self.config.scaling => (shift, self.receive.shift()),
            _ => {
                self.receive.unscaled();
                (0, 0)
            }
        };
        self.congestion.set_mss(self.segment());
        // A SYN's window is not scaled (RFC 7323, section 2.2).
        self.window = u32::from(syn.window);
        self.greatest = self.window;
        self.told = (syn.seq, syn.ack);
    }

    /// Bytes of data in a segment with the options that all have (RFC 6691).
    #[inline]
    fn segment(&self) -> u32 {
        self.mss - self.stamps.len()
    }

    /// Sets the most bytes of data that are handed out at once: what is longer than a segment is cut by who sends it.
    #[inline]
    pub fn set_burst(&mut self, bytes: u32) {
        self.burst = bytes.min(self.config.burst).min(LONGEST);
    }

    /// True if a segment with this number was sent and is not acknowledged.
    #[must_use]
    pub fn is_under_way(&self, seq: Seq) -> bool {
        self.una.is_until(seq) && seq.is_before(self.nxt)
    }

    /// Takes the news that the peer has no such port, or does not speak TCP: it ends a connection that is being made (RFC 1122,
    /// section 4.2.3.9), no other.
    pub fn refused(&mut self) {
        if self.state == State::SynSent {
            self.learn_of_failure();
            self.finish(Some(End::Refused));
        }
    }
}

/// Most bytes of data that are handed out at once, whatever the settings: they lie in few pieces.
const LONGEST: u32 = 65_495;
const _: () = assert!((LONGEST as usize) < send_queue::LEAST);
const _: () = assert!(LEAST_MSS > 2 * 12, "options leave room for data");
