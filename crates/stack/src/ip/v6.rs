//! IPv6 input.

use super::reassembly::{Outcome, Reason};
use super::{Ip, Origin, Packet, Taken, Wrong};
use crate::Transmit;
use crate::address::Key;
use crate::counters::Discard;
use linerate_sum::Sum;
use linerate_wire::{IpProtocol, Ipv6Chain, Ipv6Packet, Ipv6Problem, pseudo_header_v6};

/// Code of a parameter problem: the first fragment does not have all headers (RFC 7112, section 6).
const HEADERS_INCOMPLETE: u8 = 3;

/// A packet with a valid source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct V6<'a> {
    pub(crate) from: Key,
    pub(crate) to: Key,
    whole: &'a [u8],
    ip: Ipv6Packet<&'a [u8]>,
}

impl<'a> V6<'a> {
    /// Properties of a plain packet ([`Ip::is_plain_v6`]).
    #[inline]
    pub(crate) fn plain(&self, origin: Origin) -> Packet<'a> {
        let payload = self.ip.payload();
        Packet {
            from: self.ip.src().into(),
            to: self.ip.dst().into(),
            hops: self.ip.hop_limit(),
            whole: &self.whole[..40 + payload.len()],
            protocol: self.ip.next_header(),
            named_at: 6,
            payload,
            to_all: false,
            origin,
        }
    }

    #[inline]
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.ip.payload()
    }

    /// Sum over the pseudo-header, for a checksum of the layer above.
    #[inline]
    pub(crate) fn pseudo_header(&self, protocol: IpProtocol) -> Sum {
        pseudo_header_v6(self.ip.src(), self.ip.dst(), protocol, usize::from(self.ip.payload_len()))
    }
}

impl Ip {
    /// Checks a packet's source and destination.
    #[inline]
    pub(crate) fn open_v6<'a>(&self, whole: &'a [u8], origin: Origin) -> Result<V6<'a>, Discard> {
        let ip = Ipv6Packet::new_checked(whole).map_err(|_| Discard::Malformed)?;
        let (src, dst) = (ip.src(), ip.dst());
        let (from, to) = (Key::v6(src), Key::v6(dst));
        // IPv4-mapped IPv6 addresses must not appear on the link (RFC 4291, section 2.5.5.2).
        let mapped = from.is_v4() || to.is_v4();
        if src.is_multicast()
            || src.is_loopback()
            || mapped
            || (origin.stations.is_some() && self.settings.own.has(from))
        {
            return Err(Discard::BadAddress);
        }
        Ok(V6 { from, to, whole, ip })
    }

    /// True if a packet is for this host only, and its payload directly one of `protocol`: then IP has nothing more to
    /// do.
    #[inline]
    pub(crate) fn is_plain_v6(&self, packet: &V6<'_>, origin: Origin, protocol: IpProtocol) -> bool {
        packet.ip.next_header() == protocol && self.settings.own.has(packet.to) && !origin.to_group()
    }

    /// Processes any packet.
    pub(crate) fn take_v6<'a, T: Transmit>(
        &mut self,
        now: u64,
        packet: &V6<'a>,
        origin: Origin,
        tx: &mut T,
    ) -> Result<Taken<'a>, Discard> {
        let V6 { to, whole, ip, .. } = packet;
        let (src, dst) = (ip.src(), ip.dst());
        let group = self.settings.own.is_to_all(dst.into());
        if !group && !self.settings.own.has(*to) {
            return Err(Discard::NotForUs);
        }
        let whole = &whole[..40 + ip.payload().len()];
        let to_all = group || origin.to_group();
        let mut packet = Packet {
            from: src.into(),
            to: dst.into(),
            hops: ip.hop_limit(),
            whole,
            protocol: ip.next_header(),
            named_at: 6,
            payload: &whole[40..],
            to_all,
            origin,
        };
        let chain = match Ipv6Chain::walk(ip) {
            Ok(chain) => chain,
            Err(Ipv6Problem::Discard) => return Err(Discard::Malformed),
            Err(Ipv6Problem::Parameter { code, pointer, multicast }) => {
                packet.to_all &= !multicast;
                let wrong = match code {
                    HEADERS_INCOMPLETE => Wrong::Fragment { code, pointer },
                    _ => Wrong::Parameter { code, pointer },
                };
                self.send_error(now, packet, wrong, tx);
                return Err(Discard::Malformed);
            }
        };
        let Some(piece) = chain.fragment else {
            (packet.protocol, packet.payload) = (chain.protocol, &whole[40 + chain.offset..]);
            packet.named_at = u32::try_from(chain.named_at).unwrap_or(6);
            return self.take_payload(now, packet, tx);
        };
        match self.reassembly.push_v6(now, ip, &piece) {
            Outcome::Complete(whole) => Ok(Taken::Whole(whole)),
            Outcome::Incomplete => {
                self.link.counters.fragments += 1;
                Ok(Taken::Done)
            }
            Outcome::Dropped(why) => {
                let pointer = match why {
                    Reason::Unaligned => Some(4),
                    Reason::TooLong => u32::try_from(40 + piece.at + 2).ok(),
                    _ => None,
                };
                if let Some(pointer) = pointer {
                    self.send_error(now, packet, Wrong::Fragment { code: 0, pointer }, tx);
                }
                Err(Discard::Fragments)
            }
        }
    }
}
