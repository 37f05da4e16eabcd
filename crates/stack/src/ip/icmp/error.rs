//! ICMP errors sent: problems of a packet, reported to its sender.

use super::unspecified;
use crate::Transmit;
use crate::counters::Discard;
use crate::ip::{Ip, Origin, Packet};
use linerate_wire::{Icmpv4Repr, Icmpv6Repr, IpProtocol};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Errors that may be sent in a burst, and the time in ns that each takes to be allowed again (RFC 1812, section
/// 4.3.2.8; the values are Linux's).
const BURST: u64 = 50;
const EACH_NS: u64 = 1_000_000;
/// Longest error packets (RFC 1812, section 4.3.2.3; RFC 4443, section 2.4 c).
const LONGEST_V4: usize = 576;
const LONGEST_V6: usize = 1280;

/// Rate limit of errors.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    /// Time at which the whole burst is allowed again.
    until: AtomicU64,
}

impl Allowance {
    fn take(&self, now: u64) -> bool {
        let next = |until: u64| Some(until.max(now) + EACH_NS).filter(|until| *until <= now + BURST * EACH_NS);
        // Relaxed: the time stands for itself.
        self.until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

/// Error to be reported to a packet's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// No socket listens at the port.
    NoPort,
    /// The protocol is not supported here.
    NoProtocol,
    /// A field is wrong.
    Parameter { code: u8, pointer: u32 },
    /// A fragment over IPv6 is wrong by itself.
    Fragment { code: u8, pointer: u32 },
    /// The fragments did not arrive in time.
    Reassembly,
}

impl Ip {
    /// Sends an ICMP error about a packet to its sender, unless that is forbidden (RFC 1122, section 3.2.2; RFC 4443,
    /// section 2.4 e).
    pub(crate) fn send_error<T: Transmit>(&mut self, now: u64, packet: Packet<'_>, error: Wrong, tx: &mut T) {
        let nobody =
            packet.from.is_unspecified() || packet.from.is_multicast() || self.settings.own.is_broadcast(packet.from);
        // Errors are at most 1280 bytes long (RFC 4443, section 2.4 c): no fragment of one is cut short, or ends beyond the
        // longest packet. So of such a fragment, where the type cannot be seen, its sender is told.
        let unseen = !matches!(error, Wrong::Fragment { .. });
        if packet.to_all || nobody || is_error(packet.whole, unseen) {
            return;
        }
        if !self.shared.allowance.take(now) {
            self.link.counters.discard(Discard::NoRoom);
            return;
        }
        let (most, header) = if packet.from.is_ipv4() { (LONGEST_V4, 20) } else { (LONGEST_V6, 40) };
        let quoted = &packet.whole[..packet.whole.len().min(most - header - 8)];
        let mut message = vec![0; 8 + quoted.len()];
        message[8..].copy_from_slice(quoted);
        let written = match packet.from {
            IpAddr::V4(_) => match error {
                Wrong::NoPort => Icmpv4Repr::Unreachable { code: Icmpv4Repr::PORT, mtu: 0 },
                Wrong::NoProtocol => Icmpv4Repr::Unreachable { code: Icmpv4Repr::PROTOCOL, mtu: 0 },
                Wrong::Parameter { code, pointer } | Wrong::Fragment { code, pointer } => {
                    Icmpv4Repr::ParameterProblem { code, pointer: u8::try_from(pointer).unwrap_or(0) }
                }
                Wrong::Reassembly => Icmpv4Repr::TimeExceeded { code: Icmpv4Repr::REASSEMBLY },
            }
            .emit(&mut message)
            .is_ok(),
            IpAddr::V6(_) => match error {
                Wrong::NoPort => Icmpv6Repr::Unreachable { code: Icmpv6Repr::PORT },
                // RFC 8200, section 4: an unknown next header is a parameter problem, code 1, that points to it.
                Wrong::NoProtocol => Icmpv6Repr::ParameterProblem { code: 1, pointer: packet.named_at },
                Wrong::Parameter { code, pointer } | Wrong::Fragment { code, pointer } => {
                    Icmpv6Repr::ParameterProblem { code, pointer }
                }
                Wrong::Reassembly => Icmpv6Repr::TimeExceeded { code: Icmpv6Repr::REASSEMBLY },
            }
            .emit(&mut message)
            .is_ok(),
        };
        debug_assert!(written);
        // An error about a packet to a group is sent from one of our own addresses.
        let from = if self.settings.own.is_ours(packet.to) { packet.to } else { unspecified(packet.from) };
        match self.send_icmp(now, (from, packet.from), &mut message, tx) {
            Ok(()) => self.link.counters.errors_sent += 1,
            Err(why) => self.link.counters.discard(why),
        }
    }

    /// Sends errors about fragments that never became a datagram (RFC 1122, section 3.3.2; RFC 8200, section 4.5).
    pub(crate) fn end_fragments<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        let mut late = Vec::new();
        self.reassembly.poll(now, |first| late.push(first));
        for first in &late {
            self.link.counters.discard(Discard::Late);
            let ends: Option<(IpAddr, IpAddr)> = match first.first().map(|b| b >> 4) {
                Some(4) => ends_at::<4>(first, 12),
                _ => ends_at::<16>(first, 8),
            };
            let Some((from, to)) = ends.filter(|(_, to)| self.settings.own.is_ours(*to)) else { continue };
            let packet = Packet {
                from,
                to,
                hops: 0,
                whole: first,
                origin: Origin::default(),
                protocol: IpProtocol(if from.is_ipv4() { first[9] } else { first[6] }),
                named_at: 6,
                payload: &[],
                to_all: false,
            };
            self.send_error(now, packet, Wrong::Reassembly, tx);
        }
    }
}

/// True if a packet is an ICMP error itself; `unseen` of a fragment that does not show it.
fn is_error(whole: &[u8], unseen: bool) -> bool {
    let byte = |at: usize| whole.get(at).copied();
    if byte(0).is_some_and(|b| b >> 4 == 4) {
        let header = byte(0).map_or(0, |b| usize::from(b & 15) * 4);
        let first = byte(6).is_some_and(|b| b & 0x1f == 0) && byte(7) == Some(0);
        let kind = byte(header).filter(|_| first);
        return byte(9) == Some(IpProtocol::ICMP.0) && kind.map_or(unseen, |kind| matches!(kind, 3 | 4 | 5 | 11 | 12));
    }
    let (mut next, mut at, mut first) = (byte(6), 40, true);
    while let Some(kind) = next {
        let len = match IpProtocol(kind) {
            IpProtocol::HOP_BY_HOP | IpProtocol::IPV6_DESTINATION | IpProtocol::IPV6_ROUTING => {
                byte(at + 1).map_or(8, |units| (usize::from(units) + 1) * 8)
            }
            IpProtocol::IPV6_FRAGMENT => {
                first = byte(at + 2) == Some(0) && byte(at + 3).is_none_or(|b| b < 8);
                8
            }
            IpProtocol::ICMPV6 => return byte(at).filter(|_| first).map_or(unseen, |kind| kind < 128 || kind == 137),
            _ => return false,
        };
        next = byte(at).filter(|_| first || kind == IpProtocol::IPV6_FRAGMENT.0);
        at += len;
    }
    false
}

/// Source and destination address, one after the other in a header.
fn ends_at<const N: usize>(bytes: &[u8], at: usize) -> Option<(IpAddr, IpAddr)>
where
    IpAddr: From<[u8; N]>,
{
    let one = |at: usize| -> Option<IpAddr> { Some(<[u8; N]>::try_from(bytes.get(at..at + N)?).ok()?.into()) };
    Some((one(at)?, one(at + N)?))
}

/// Whatever the bytes are where the first fragment has the message type.
#[test]
fn a_fragment_that_is_not_the_first_is_taken_for_an_error() {
    for ([high, low], error) in [([0, 0], false), ([0, 1], false), ([0, 8], true), ([1, 0], true), ([0x7f, 1], true)] {
        let mut whole = [0; 49];
        (whole[0], whole[6]) = (0x60, IpProtocol::IPV6_FRAGMENT.0);
        whole[40..44].copy_from_slice(&[IpProtocol::ICMPV6.0, 0, high, low]);
        whole[48] = 128;
        assert_eq!(is_error(&whole, true), error, "{high:#x} {low:#x}");
        assert!(!is_error(&whole, false), "{high:#x} {low:#x}");
    }
}
