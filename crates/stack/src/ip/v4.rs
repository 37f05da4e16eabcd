//! IPv4 input.

use super::reassembly::Outcome;
use super::{Ip, Origin, Packet, Taken, Wrong, options};
use crate::Transmit;
use crate::address::Key;
use crate::counters::Discard;
use linerate_sum::Sum;
use linerate_wire::{IpProtocol, Ipv4Packet, pseudo_header_v4};
use std::net::Ipv4Addr;

/// A packet with a valid header and source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct V4<'a> {
    pub(crate) from: Key,
    pub(crate) to: Key,
    whole: &'a [u8],
    ip: Ipv4Packet<&'a [u8]>,
}

impl<'a> V4<'a> {
    #[inline]
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.ip.payload()
    }

    /// Properties of a plain packet ([`Ip::is_plain_v4`]).
    #[inline]
    pub(crate) fn plain(&self, origin: Origin) -> Packet<'a> {
        Packet {
            from: self.ip.src().into(),
            to: self.ip.dst().into(),
            hops: self.ip.ttl(),
            whole: &self.whole[..usize::from(self.ip.total_len())],
            protocol: self.ip.protocol(),
            named_at: 9,
            payload: self.ip.payload(),
            to_all: false,
            origin,
        }
    }

    /// Sum over the pseudo-header, for a checksum of the layer above.
    #[inline]
    pub(crate) fn pseudo_header(&self, protocol: IpProtocol) -> Sum {
        pseudo_header_v4(self.ip.src(), self.ip.dst(), protocol, self.payload().len())
    }
}

impl Ip {
    /// Checks a packet's header and source.
    #[inline]
    pub(crate) fn open_v4<'a>(&self, whole: &'a [u8], origin: Origin) -> Result<V4<'a>, Discard> {
        let ip = Ipv4Packet::new_checked(whole).map_err(|_| Discard::Malformed)?;
        if !ip.verify_checksum() {
            return Err(Discard::BadChecksum);
        }
        let (src, dst) = (ip.src(), ip.dst());
        let (from, to) = (Key::v4(src), Key::v4(dst));
        let outside = origin.stations.is_some();
        if !plausible(src) || self.settings.own.is_broadcast(src.into()) || (outside && self.settings.own.has(from)) {
            return Err(Discard::BadAddress);
        }
        Ok(V4 { from, to, whole, ip })
    }

    /// True if a packet is for this host only, and its payload directly one of `protocol`: then IP has nothing more to
    /// do.
    #[inline]
    pub(crate) fn is_plain_v4(&self, packet: &V4<'_>, origin: Origin, protocol: IpProtocol) -> bool {
        let V4 { ip, to, .. } = packet;
        let plain = ip.header_len() == 20 && !ip.is_fragment() && !origin.to_group();
        plain && ip.protocol() == protocol && self.settings.own.has(*to)
    }

    /// Processes any packet.
    pub(crate) fn take_v4<'a, T: Transmit>(
        &mut self,
        now: u64,
        packet: &V4<'a>,
        origin: Origin,
        tx: &mut T,
    ) -> Result<Taken<'a>, Discard> {
        let V4 { to, whole, ip, .. } = packet;
        let (src, dst) = (ip.src(), ip.dst());
        let to_all = self.settings.own.is_to_all(dst.into());
        if !to_all && !self.settings.own.has(*to) {
            return Err(Discard::NotForUs);
        }
        // RFC 1122, section 3.3.6: a link-layer broadcast must have an IP broadcast or group as destination.
        if !to_all && origin.to_group() {
            return Err(Discard::BadAddress);
        }
        let whole = &whole[..usize::from(ip.total_len())];
        let packet = Packet {
            from: src.into(),
            to: dst.into(),
            hops: ip.ttl(),
            whole,
            protocol: ip.protocol(),
            named_at: 9,
            payload: ip.payload(),
            to_all,
            origin,
        };
        match options::check(&whole[20..ip.header_len()]) {
            Ok(()) => {}
            Err(options::Problem::SourceRoute) => return Err(Discard::BadAddress),
            Err(options::Problem::Parameter { at }) => {
                let pointer = u32::try_from(20 + at).unwrap_or(20);
                self.send_error(now, packet, Wrong::Parameter { code: 0, pointer }, tx);
                return Err(Discard::Malformed);
            }
        }
        if !ip.is_fragment() {
            return self.take_payload(now, packet, tx);
        }
        match self.reassembly.push_v4(now, ip) {
            Outcome::Complete(whole) => Ok(Taken::Whole(whole)),
            Outcome::Incomplete => {
                self.link.counters.fragments += 1;
                Ok(Taken::Done)
            }
            Outcome::Dropped(_) => Err(Discard::Fragments),
        }
    }
}

/// True if a packet from outside can have this source (RFC 1122, section 3.2.1.3).
fn plausible(src: Ipv4Addr) -> bool {
    !(src.is_multicast() || src.is_broadcast() || src.is_loopback() || src.is_unspecified())
}
