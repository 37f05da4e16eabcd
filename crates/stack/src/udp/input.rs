//! UDP input: from a datagram to a socket's queue.

use super::{SendError, Udp};
use crate::address::Key;
use crate::counters::{Counters, Discard};
use crate::ip::{About, Packet, Report, Told};
use linerate_sum::Sum;
use linerate_wire::UdpDatagram;
use std::net::IpAddr;

impl Udp {
    /// Delivers a whole datagram to an address of ours by the fast path. None, with nothing done, if it needs the
    /// general path.
    #[inline]
    pub(crate) fn deliver(
        &mut self,
        from: Key,
        to: Key,
        datagram: &[u8],
        pseudo: Option<impl FnOnce() -> Sum>,
        counters: &mut Counters,
    ) -> Option<Result<(), Discard>> {
        let header = datagram.first_chunk::<8>()?;
        let field = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        if usize::from(field(4)) != datagram.len() || field(6) == 0 {
            return None;
        }
        if let Some(pseudo) = pseudo
            && pseudo().add_bytes(datagram).finish() != 0
        {
            return None;
        }
        let sender = (from, field(0));
        if !self.sockets.push((to, field(2)), sender, &datagram[8..])? {
            return Some(Err(Discard::QueueFull));
        }
        counters.udp_received += 1;
        Some(Ok(()))
    }

    /// Processes any datagram.
    pub(crate) fn take(&mut self, packet: &Packet<'_>, counters: &mut Counters) -> Result<(), Discard> {
        let udp = UdpDatagram::new_checked(packet.payload).map_err(|_| Discard::Malformed)?;
        // RFC 8200, section 8.1: over IPv6 a checksum is mandatory, even if the adapter reports it as verified.
        let missing = packet.to.is_ipv6() && udp.checksum() == 0;
        let right = !missing && packet.origin.verified
            || match (packet.from, packet.to) {
                (IpAddr::V4(src), IpAddr::V4(dst)) => udp.verify_checksum_v4(src, dst),
                (IpAddr::V6(src), IpAddr::V6(dst)) => udp.verify_checksum_v6(src, dst),
                _ => false,
            };
        if !right {
            return Err(Discard::BadChecksum);
        }
        let (from, to) = ((Key::new(packet.from), udp.src_port()), (Key::new(packet.to), udp.dst_port()));
        if packet.to_all && self.sockets.refuses(to, from) {
            return Err(Discard::Broadcast);
        }
        match self.sockets.push(to, from, udp.payload()) {
            None => Err(Discard::NoSocket),
            Some(false) => Err(Discard::QueueFull),
            Some(true) => {
                counters.udp_received += 1;
                Ok(())
            }
        }
    }

    /// Reports an error to the socket that it is about; it is an error if there is none.
    pub(crate) fn report(&mut self, report: &Report) -> Result<(), Discard> {
        let Report { from, to, about, what } = *report;
        if about != About::Datagram {
            return Err(Discard::NoSocket);
        }
        let ends = ((Key::new(from.ip()), from.port()), (Key::new(to.ip()), to.port()));
        let id = self.sockets.find(ends.0, ends.1).ok_or(Discard::NoSocket)?;
        // Only a connected socket can tell which of its datagrams is meant (as in the usual systems).
        let told = self.sockets.get(id).is_some_and(|socket| socket.remote == Some(to));
        match what {
            Told::Refused if told => self.sockets.tell(id, SendError::Refused),
            Told::Unreachable if told => self.sockets.tell(id, SendError::Unreachable),
            _ => {}
        }
        Ok(())
    }
}
