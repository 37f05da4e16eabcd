//! Segments of a TCP stream, made and parsed by `wire` alone: input of offloads, and reference to check their output.

use super::{Missing, failed};
use linerate_wire::{
    EtherType, EthernetFrame, EthernetRepr, IpProtocol, Ipv4Packet, Ipv4Repr, MacAddr, TcpFlags, TcpSegment,
};
use std::net::Ipv4Addr;

/// Ethernet, IPv4 and TCP without options.
pub(super) const HEADERS: usize = 54;
/// Payload of a segment in a packet of 1500 bytes.
pub(super) const MSS: usize = 1460;

const ENDS: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];
const PORT: u16 = 80;

/// Fields that differ between segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    /// Port of the sender, which identifies the stream.
    pub(super) stream: u16,
    pub(super) ident: u16,
    pub(super) seq: u32,
    pub(super) flags: TcpFlags,
    pub(super) payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// The frame, checksums included.
    pub(super) fn frame(&self) -> Result<Vec<u8>, Missing> {
        let mut frame = vec![0; HEADERS + self.payload.len()];
        let ethernet = EthernetRepr { dst: MACS[1], src: MACS[0], ethertype: EtherType::IPV4 };
        let ip = Ipv4Repr {
            ident: self.ident,
            payload_len: HEADERS - 34 + self.payload.len(),
            ..Ipv4Repr::new(ENDS.0, ENDS.1, IpProtocol::TCP)
        };
        let rest = ethernet.emit(&mut frame).map_err(failed)?;
        let rest = ip.emit(rest).map_err(failed)?;
        // The header's length in words must be set first.
        rest[12] = 0x50;
        let mut tcp = TcpSegment::new_checked(rest).map_err(failed)?;
        tcp.set_src_port(self.stream);
        tcp.set_dst_port(PORT);
        tcp.set_seq(self.seq);
        tcp.set_ack(1);
        tcp.set_flags(self.flags);
        tcp.set_window(512);
        tcp.payload_mut().copy_from_slice(self.payload);
        tcp.fill_checksum_v4(ENDS.0, ENDS.1);
        Ok(frame)
    }

    /// Parses a frame; `None` if it is not as [`Segment::frame`] makes them, checksums included.
    pub(super) fn parse(frame: &'a [u8]) -> Option<Self> {
        let ethernet = EthernetFrame::new_checked(frame).ok()?;
        let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
        let tcp = TcpSegment::new_checked(ip.payload()).ok()?;
        let right = (ethernet.dst(), ethernet.src(), ethernet.ethertype()) == (MACS[1], MACS[0], EtherType::IPV4)
            && usize::from(ip.total_len()) + 14 == frame.len()
            && (ip.src(), ip.dst()) == ENDS
            && (ip.protocol(), ip.ttl(), ip.dont_fragment(), ip.is_fragment()) == (IpProtocol::TCP, 64, true, false)
            && ip.verify_checksum()
            && (tcp.dst_port(), tcp.ack(), tcp.window(), tcp.urgent()) == (PORT, 1, 512, 0)
            && tcp.header_len() == HEADERS - 34
            && tcp.verify_checksum_v4(ENDS.0, ENDS.1);
        right.then_some(Self {
            stream: tcp.src_port(),
            ident: ip.ident(),
            seq: tcp.seq(),
            flags: tcp.flags(),
            payload: tcp.payload(),
        })
    }
}

/// `len` bytes with a long period.
pub(super) fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 7 + i / 251) % 256).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_parsed_and_no_byte_may_be_wrong() {
        let payload = payload(100);
        let segment = Segment { stream: 7, ident: 3, seq: 5, flags: TcpFlags::ACK, payload: &payload };
        let frame = segment.frame().unwrap();
        assert_eq!(Segment::parse(&frame), Some(segment));
        assert!(etherparse::SlicedPacket::from_ethernet(&frame).is_ok_and(|p| p.transport.is_some()));
        for at in 0..frame.len() {
            let mut wrong = frame.clone();
            wrong[at] ^= 1;
            assert_ne!(Segment::parse(&wrong), Some(segment), "byte {at}");
        }
    }
}
