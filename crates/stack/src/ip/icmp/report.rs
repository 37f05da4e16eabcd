//! Errors that were received, or that a silent neighbour amounts to: whose datagram they are about.

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

/// What is said of a UDP datagram that left this host, if it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) what: Told,
}

impl Ip {
    /// An error about a packet of ours. It must quote a datagram that a socket could have sent, which is for the layer
    /// above to say, or an echo's answer: others could be anybody's.
    pub(super) fn take_error(&mut self, now: u64, quote: &Quote<'_>, what: Told) -> Result<Taken<'static>, Discard> {
        // Answers over IPv4 may be cut on their way; those over IPv6 are cut by who sends them, or not at all.
        let echo = quote.protocol == IpProtocol::ICMPV6 && quote.first && quote.payload.first() == Some(&129);
        if let (true, Told::TooBig(mtu)) = (echo && self.own.is_ours(quote.src), what) {
            self.narrow(now, quote.dst, mtu);
            self.link.counters.errors_received += 1;
            return Ok(Taken::Done);
        }
        self.report(quote, what).map(Taken::Error)
    }

    /// Heeds an error about a datagram that was a socket's.
    pub(crate) fn heed(&mut self, now: u64, report: &Report) {
        if let Told::TooBig(mtu) = report.what {
            self.narrow(now, report.to.ip(), mtu);
        }
        self.link.counters.errors_received += 1;
    }

    /// What there is to say of a datagram of ours whose neighbour never answered, if there is one. What is not a socket's
    /// has nobody to be told.
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
        let (from, to) = quote.ports().filter(|_| quote.protocol == IpProtocol::UDP).ok_or(Discard::NotForUs)?;
        if !self.own.is_ours(quote.src) {
            return Err(Discard::BadAddress);
        }
        Ok(Report { from: SocketAddr::new(quote.src, from), to: SocketAddr::new(quote.dst, to), what })
    }

    /// A router said that packets may have `mtu` bytes.
    fn narrow(&mut self, now: u64, to: IpAddr, mtu: usize) {
        self.link.generation += u64::from(self.pmtu.tell(to, mtu, self.link.mtu, now));
    }
}
