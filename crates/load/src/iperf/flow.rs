//! Flow: the data of one direction at one socket, with counters that its lane writes and reports read.

use super::protocol::{Receipt, Spread};
use crate::socket::sys::TcpInfo;
use crate::socket::{Socket, TcpStream};
use linerate_rt::Moves;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of bins of sizes that reads returned.
pub(super) const BINS: usize = 8;

pub(super) struct Flow {
    /// Number in lines.
    pub(super) id: u32,
    /// True if the data flow against the usual direction: lines have a star.
    pub(super) reversed: bool,
    pub(super) sends: bool,
    /// True if the same socket has a flow in the other direction.
    pub(super) duplex: bool,
    pub(super) socket: Arc<Socket>,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// Beginning, ns of the monotonic clock.
    pub(super) begin: u64,
    /// Bytes of a read or write.
    pub(super) block: usize,
    /// True for lines with more figures.
    pub(super) enhanced: bool,
    /// Times on the way, if they are measured.
    pub(super) times: Option<Mutex<Times>>,
    /// Marked when data come or go: a session that does not move may lose its place.
    pub(super) moves: Moves,
    pub(super) counters: Counters,
}

/// What tells a flow from others, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) id: u32,
    pub(super) is_udp: bool,
    pub(super) sends: bool,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

/// Times on the way: of the present interval, and of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    now: Spread,
    all: Spread,
}

/// Counters of a flow, on cache lines of their own. Each is a figure of its own, which one thread writes; nothing else is
/// published by them, so relaxed memory order is sufficient.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Counters {
    bytes: AtomicU64,
    calls: AtomicU64,
    errors: AtomicU64,
    bins: [AtomicU64; BINS],
    datagrams: AtomicU64,
    fins: AtomicU64,
    lost: AtomicU64,
    out_of_order: AtomicU64,
    jitter: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) bytes: u64,
    /// Reads or writes that moved something, and those that did not.
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) bins: [u64; BINS],
    /// Datagrams with data: sent, or said to be sent by the greatest number received.
    pub(super) datagrams: u64,
    /// Datagrams sent to say the end.
    pub(super) fins: u64,
    pub(super) lost: u64,
    pub(super) out_of_order: u64,
    /// Jitter at present, seconds.
    pub(super) jitter: f64,
    /// State of the connection at present; retransmits count.
    pub(super) tcp: Option<TcpInfo>,
    pub(super) times: Spread,
}

impl Flow {
    pub(super) fn is_udp(&self) -> bool {
        self.socket.tcp().is_none()
    }

    pub(super) fn ends(&self) -> Ends {
        let &Self { id, sends, local, remote, .. } = self;
        Ends { id, is_udp: self.is_udp(), sends, local, remote }
    }

    /// Figures so far. The times are those of the last interval, or of all.
    pub(super) fn figures(&self, of_interval: bool) -> Figures {
        let counters = &self.counters;
        let times = self.times.as_ref().map(|times| {
            let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
            if of_interval { std::mem::take(&mut times.now) } else { times.all }
        });
        Figures {
            bytes: counters.bytes.load(Relaxed),
            calls: counters.calls.load(Relaxed),
            errors: counters.errors.load(Relaxed),
            bins: std::array::from_fn(|bin| counters.bins[bin].load(Relaxed)),
            datagrams: counters.datagrams.load(Relaxed),
            fins: counters.fins.load(Relaxed),
            lost: counters.lost.load(Relaxed),
            out_of_order: counters.out_of_order.load(Relaxed),
            jitter: f64::from_bits(counters.jitter.load(Relaxed)),
            tcp: self.socket.tcp().filter(|_| self.sends).and_then(TcpStream::info),
            times: times.unwrap_or_default(),
        }
    }

    /// Notes a time on the way.
    #[inline]
    pub(super) fn took(&self, seconds: f64) {
        if let Some(times) = &self.times {
            let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
            times.now.add(seconds);
            times.all.add(seconds);
        }
    }
}

/// Counts of a lane, which it stores for others to read.
pub(super) struct Tally<'a> {
    to: &'a Counters,
    /// Mark, unless the flow is of datagrams to an address that need not be the client's.
    moves: Option<&'a Moves>,
    /// Bytes of a bin.
    bin: usize,
    pub(super) bytes: u64,
    calls: u64,
    errors: u64,
    bins: [u64; BINS],
}

impl<'a> Tally<'a> {
    pub(super) fn new(flow: &'a Flow) -> Self {
        let bin = flow.block.div_ceil(BINS).max(1);
        let moves = (!flow.sends || !flow.is_udp()).then_some(&flow.moves);
        Self { to: &flow.counters, moves, bin, bytes: 0, calls: 0, errors: 0, bins: [0; BINS] }
    }

    #[inline]
    pub(super) fn moved(&mut self, bytes: usize) {
        // The first is what begins a session, and costs who sends it no more than that.
        if let Some(moves) = self.moves.filter(|_| self.calls > 0) {
            moves.mark();
        }
        self.bytes += bytes as u64;
        self.calls += 1;
        self.to.bytes.store(self.bytes, Relaxed);
        self.to.calls.store(self.calls, Relaxed);
    }

    #[inline]
    pub(super) fn read(&mut self, bytes: usize) {
        self.moved(bytes);
        let bin = (bytes.saturating_sub(1) / self.bin).min(BINS - 1);
        self.bins[bin] += 1;
        self.to.bins[bin].store(self.bins[bin], Relaxed);
    }

    /// A call has moved nothing.
    pub(super) fn failed(&mut self) {
        self.errors += 1;
        self.to.errors.store(self.errors, Relaxed);
    }

    /// Sets the number of datagrams sent.
    #[inline]
    pub(super) fn sent(&self, datagrams: u64) {
        self.to.datagrams.store(datagrams, Relaxed);
    }

    /// Sets the number of datagrams sent to say the end.
    pub(super) fn fins(&self, fins: u64) {
        self.to.fins.store(fins, Relaxed);
    }

    #[inline]
    pub(super) fn received(&self, receipt: &Receipt) {
        self.to.datagrams.store(receipt.highest, Relaxed);
        self.to.lost.store(receipt.lost, Relaxed);
        self.to.out_of_order.store(receipt.out_of_order, Relaxed);
        self.to.jitter.store(receipt.jitter.to_bits(), Relaxed);
    }
}

impl Figures {
    /// Figures since an earlier reading; those that do not count are the present ones.
    pub(super) fn since(self, before: &Self) -> Self {
        let less = u64::saturating_sub;
        let tcp = self.tcp.map(|tcp| TcpInfo {
            retransmits: less(tcp.retransmits, before.tcp.map_or(0, |before| before.retransmits)),
            ..tcp
        });
        Self {
            bytes: less(self.bytes, before.bytes),
            calls: less(self.calls, before.calls),
            errors: less(self.errors, before.errors),
            bins: std::array::from_fn(|bin| less(self.bins[bin], before.bins[bin])),
            datagrams: less(self.datagrams, before.datagrams),
            fins: less(self.fins, before.fins),
            lost: less(self.lost, before.lost),
            out_of_order: less(self.out_of_order, before.out_of_order),
            tcp,
            ..self
        }
    }

    /// Figures of both.
    pub(super) fn and(self, other: &Self) -> Self {
        let retransmits = |of: &Self| of.tcp.map_or(0, |tcp| tcp.retransmits);
        let retransmits = retransmits(&self) + retransmits(other);
        Self {
            bytes: self.bytes + other.bytes,
            calls: self.calls + other.calls,
            errors: self.errors + other.errors,
            bins: std::array::from_fn(|bin| self.bins[bin] + other.bins[bin]),
            datagrams: self.datagrams + other.datagrams,
            fins: self.fins + other.fins,
            lost: self.lost + other.lost,
            out_of_order: self.out_of_order + other.out_of_order,
            jitter: 0.0,
            tcp: self.tcp.or(other.tcp).map(|tcp| TcpInfo { retransmits, ..tcp }),
            times: Spread::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_an_interval_are_differences_and_sums_are_sums() {
        let tcp = |retransmits| Some(TcpInfo { cwnd: 9, rtt: 8, rttvar: 7, retransmits, ..TcpInfo::default() });
        let before = Figures { bytes: 10, lost: 3, jitter: 0.5, tcp: tcp(2), ..Figures::default() };
        let now = Figures { bytes: 15, lost: 2, jitter: 0.25, tcp: tcp(5), ..Figures::default() };
        let since = now.since(&before);
        assert_eq!((since.bytes, since.lost, since.jitter, since.tcp), (5, 0, 0.25, tcp(3)));
        let both = before.and(&now);
        assert_eq!((both.bytes, both.lost, both.tcp), (25, 5, tcp(7)));
    }
}
