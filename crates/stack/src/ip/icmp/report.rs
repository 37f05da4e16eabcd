//! Errors that were received, or that follow from an unreachable neighbour: the datagrams that they are about.

use crate::counters::Discard;
use crate::ip::{Ip, Taken};
use linerate_wire::{IpProtocol, Quote};
use std::net::{IpAddr, SocketAddr};

/// Contents of an ICMP error.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told {
    TooBig(usize),
    Refused,
    Unreachable,
}

/// Protocol above IP, and what tells its packets from forged ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    Datagram,
    /// A segment of TCP with this sequence number.
    Segment(u32),
}

/// Error about a UDP datagram or a TCP segment that this host sent, or is claimed to have sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) about: About,
    pub(crate) what: Told,
}

impl Ip {
    /// Processes an error about a packet of ours. It must quote a datagram that a socket could have sent, which the
    /// layer above checks, or an echo reply: others could be forged by anybody.
    pub(super) fn take_error(&mut self, now: u64, quote: &Quote<'_>, what: Told) -> Result<Taken<'static>, Discard> {
        // Replies over IPv4 may be fragmented on their path; those over IPv6 only by their sender.
        let echo = quote.protocol == IpProtocol::ICMPV6 && quote.first && quote.payload.first() == Some(&129);
        if let (true, Told::TooBig(mtu)) = (echo && self.settings.own.is_ours(quote.src), what) {
            self.narrow(now, quote.dst, mtu);
            self.link.counters.errors_received += 1;
            return Ok(Taken::Done);
        }
        self.report(quote, what).map(Taken::Error)
    }

    /// Applies an error about a datagram or a segment of a socket: a new path MTU.
    pub(crate) fn heed(&mut self, now: u64, report: &Report) {
        if let Told::TooBig(mtu) = report.what {
            self.narrow(now, report.to.ip(), mtu);
        }
        self.link.counters.errors_received += 1;
    }

    /// Report about a datagram of ours whose neighbour never answered, if there is one. Packets of no socket are
    /// dropped without a report.
    pub(crate) fn undelivered(&mut self) -> Option<Report> {
        while let Some(packet) = self.link.failed() {
            let v4 = packet.first().is_some_and(|b| b >> 4 == 4);
            let quote = if v4 { Quote::parse_v4(&packet) } else { Quote::parse_v6(&packet) };
            if let Some(report) = quote.ok().and_then(|quote| self.report(&quote, Told::Unreachable).ok()) {
                return Some(report);
            }
        }
        None
    }

    fn report(&self, quote: &Quote<'_>, what: Told) -> Result<Report, Discard> {
        let about = match (quote.protocol, quote.payload.get(4..8)) {
            (IpProtocol::UDP, _) => Some(About::Datagram),
            (IpProtocol::TCP, Some(seq)) => seq.try_into().ok().map(|seq| About::Segment(u32::from_be_bytes(seq))),
            _ => None,
        };
        let (about, (from, to)) = about.zip(quote.ports()).ok_or(Discard::NotForUs)?;
        if !self.settings.own.is_ours(quote.src) {
            return Err(Discard::BadAddress);
        }
        Ok(Report { from: SocketAddr::new(quote.src, from), to: SocketAddr::new(quote.dst, to), about, what })
    }

    /// Applies a router's report that packets may have at most `mtu` bytes.
    fn narrow(&mut self, now: u64, to: IpAddr, mtu: usize) {
        let known = &self.settings;
        // Most reports say nothing new, and cost no copy of the settings.
        if known.pmtu.narrowed(to, mtu, known.mtu(to), now).is_some() {
            self.change(|settings| settings.pmtu.tell(to, mtu, settings.mtu(to), now));
        }
    }
}
