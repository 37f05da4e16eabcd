//! Meter of a stream: what its counters say in an interval, and since the count began.

use crate::socket::Socket;
use crate::socket::sys::TcpInfo;
use crate::stream::figures::{Figure, Total};
use crate::stream::lane::{Counters, Counts};
use crate::stream::protocol::StreamResult;
use crate::stream::settings::Transport;
use std::sync::Arc;

pub(super) struct Meter {
    counters: Arc<Counters>,
    sends: bool,
    transport: Transport,
    /// Counts when the count began, and at the last figure.
    base: Counts,
    last: Counts,
    last_at: u64,
    /// Segments sent again when the count began, and at the last figure.
    base_retransmits: u64,
    retransmits: u64,
    /// State of the connection at the last figure.
    tcp: Option<TcpInfo>,
    max_cwnd: u64,
    max_wnd: u64,
    max_rtt: u64,
    min_rtt: u64,
    sum_rtt: u64,
    looks: u64,
}

fn seconds(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e9
}

fn difference(from: u64, to: u64) -> i64 {
    i64::try_from(i128::from(to) - i128::from(from)).unwrap_or(0)
}

impl Meter {
    /// Makes the meter of a stream whose counters are zero.
    pub(super) fn new(sends: bool, transport: Transport) -> Self {
        Self {
            counters: Arc::new(Counters::default()),
            sends,
            transport,
            base: Counts::default(),
            last: Counts::default(),
            last_at: 0,
            base_retransmits: 0,
            retransmits: 0,
            tcp: None,
            max_cwnd: 0,
            max_wnd: 0,
            max_rtt: 0,
            min_rtt: 0,
            sum_rtt: 0,
            looks: 0,
        }
    }

    /// Begins its time.
    pub(super) fn begin(&mut self, now: u64) {
        self.last_at = now;
    }

    pub(super) fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.counters.read().bytes
    }

    fn info(&self, socket: &Socket) -> Option<TcpInfo> {
        socket.tcp().filter(|_| self.sends)?.info()
    }

    /// Begins the count.
    pub(super) fn count(&mut self, socket: &Socket, now: u64) {
        self.base = self.counters.read();
        (self.last, self.last_at) = (self.base, now);
        if let Some(info) = self.info(socket) {
            (self.base_retransmits, self.retransmits) = (info.retransmits, info.retransmits);
        }
    }

    /// Figure since the last one.
    pub(super) fn figure(&mut self, socket: &Socket, begin: u64, now: u64, omitted: bool) -> Figure {
        let (counts, before) = (self.counters.read(), self.last);
        let mut figure = Figure {
            start: seconds(begin, self.last_at),
            end: seconds(begin, now),
            bytes: counts.bytes - before.bytes,
            packets: counts.packets - before.packets,
            lost: difference(before.lost, counts.lost),
            jitter: counts.jitter,
            omitted,
            ..Figure::default()
        };
        if let Some(info) = self.info(socket) {
            self.tcp = Some(info);
            figure.retransmits = info.retransmits.saturating_sub(self.retransmits);
            (figure.cwnd, figure.wnd, figure.rtt) = (info.cwnd, info.wnd, info.rtt);
            (figure.rttvar, figure.pmtu) = (info.rttvar, info.pmtu);
            self.retransmits = self.retransmits.max(info.retransmits);
            self.max_cwnd = self.max_cwnd.max(info.cwnd);
            self.max_wnd = self.max_wnd.max(info.wnd);
            self.max_rtt = self.max_rtt.max(info.rtt);
            self.min_rtt = if self.min_rtt == 0 { info.rtt } else { self.min_rtt.min(info.rtt) };
            (self.sum_rtt, self.looks) = (self.sum_rtt + info.rtt, self.looks + 1);
        }
        (self.last, self.last_at) = (counts, now);
        figure
    }

    /// Seconds from the beginning of the count to the last figure.
    pub(super) fn seconds(&self, begin: u64) -> f64 {
        seconds(begin, self.last_at)
    }

    /// Result for the other end, up to the last figure.
    pub(super) fn result(&self, id: u64, begin: u64) -> StreamResult {
        let known = self.sends && self.transport == Transport::Tcp;
        StreamResult {
            id,
            bytes: self.last.bytes - self.base.bytes,
            retransmits: known.then_some(self.retransmits.saturating_sub(self.base_retransmits)),
            jitter: if self.sends { 0.0 } else { self.last.jitter },
            errors: self.last.lost.saturating_sub(self.base.lost),
            // The other end takes off what was left out at the beginning.
            packets: self.last.packets,
            start_time: 0.0,
            end_time: self.seconds(begin),
        }
    }

    /// Total up to the last figure, with the other end's result if it is known.
    pub(super) fn total(&self, other: Option<&StreamResult>) -> Total {
        let bytes = self.last.bytes - self.base.bytes;
        let theirs = other.map_or(0, |other| other.bytes);
        let packets = self.last.packets - self.base.packets;
        // Datagrams that were left out are numbered too.
        let their_packets = other.map_or(0, |other| other.packets.saturating_sub(self.base.packets));
        let common = Total {
            tcp: self.tcp,
            max_cwnd: self.max_cwnd,
            max_wnd: self.max_wnd,
            max_rtt: self.max_rtt,
            min_rtt: self.min_rtt,
            mean_rtt: self.sum_rtt.checked_div(self.looks).unwrap_or(0),
            ..Total::default()
        };
        if self.sends {
            Total {
                sent: bytes,
                received: theirs,
                retransmits: self.retransmits.saturating_sub(self.base_retransmits),
                packets_sent: packets,
                packets_received: their_packets,
                lost: other.map_or(0, |other| other.errors),
                jitter: other.map_or(0.0, |other| other.jitter),
                ..common
            }
        } else {
            Total {
                sent: theirs,
                received: bytes,
                retransmits: other.and_then(|other| other.retransmits).unwrap_or(0),
                packets_sent: their_packets,
                packets_received: packets,
                lost: self.last.lost.saturating_sub(self.base.lost),
                out_of_order: self.last.out_of_order - self.base.out_of_order,
                jitter: self.last.jitter,
                ..common
            }
        }
    }
}
