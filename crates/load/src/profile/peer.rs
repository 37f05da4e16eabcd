//! The other end of a TCP connection whose path is measured: it writes whatever frames are to arrive, and remembers nothing
//! but numbers.

use linerate_wire::{EtherType, EthernetRepr, IpProtocol, Ipv4Repr, MacAddr, TcpFlags, TcpSegment};
use std::net::SocketAddrV4;

/// Longest headers that it writes: Ethernet, IPv4, TCP with all options.
const LONGEST: usize = 14 + 20 + 60;

/// Two of no operation, and the head of timestamps (RFC 7323, appendix A).
const STAMPS: [u8; 4] = [1, 1, 8, 10];

/// Options of a SYN: segments of so many bytes, a window scale of 14, SACK.
pub(super) fn syn_options(mss: u16) -> [u8; 12] {
    let [high, low] = mss.to_be_bytes();
    [2, 4, high, low, 1, 3, 3, 14, 1, 1, 4, 2]
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    /// Its own station and end, and those of the host under test.
    pub(super) here: (MacAddr, SocketAddrV4),
    pub(super) there: (MacAddr, SocketAddrV4),
    /// Number of its next byte, and of the next that it expects.
    pub(super) seq: u32,
    pub(super) ack: u32,
    /// Its timestamp, and the one that it echoes.
    pub(super) stamps: (u32, u32),
    /// Window that it tells, before scaling.
    pub(super) window: u16,
}

impl Peer {
    /// Writes a frame with a segment that has timestamps, and in front of them these options, of whole words; returns its
    /// length. None if the buffer has no room for it.
    pub(super) fn frame(&self, buffer: &mut [u8], flags: TcpFlags, options: &[u8], payload: &[u8]) -> Option<usize> {
        let ((mac, end), (to_mac, to)) = (self.here, self.there);
        let stamps_at = 20 + options.len();
        let header = stamps_at + STAMPS.len() + 8;
        let segment_len = header + payload.len();
        let len = 14 + 20 + segment_len;
        let frame = buffer.get_mut(..len)?;
        let rest = EthernetRepr { dst: to_mac, src: mac, ethertype: EtherType::IPV4 }.emit(frame).ok()?;
        let ip = Ipv4Repr { payload_len: segment_len, ..Ipv4Repr::new(*end.ip(), *to.ip(), IpProtocol::TCP) };
        let rest = ip.emit(rest).ok()?;
        rest[..header].fill(0);
        // The data's offset comes first: the checked view wants it.
        rest[12] = u8::try_from(header / 4).ok()? << 4;
        rest[20..stamps_at].copy_from_slice(options);
        rest[stamps_at..header - 8].copy_from_slice(&STAMPS);
        rest[header - 8..header - 4].copy_from_slice(&self.stamps.0.to_be_bytes());
        rest[header - 4..header].copy_from_slice(&self.stamps.1.to_be_bytes());
        rest[header..segment_len].copy_from_slice(payload);
        let mut segment = TcpSegment::new_checked(&mut rest[..segment_len]).ok()?;
        segment.set_src_port(end.port());
        segment.set_dst_port(to.port());
        segment.set_seq(self.seq);
        segment.set_ack(self.ack);
        segment.set_flags(flags);
        segment.set_window(self.window);
        segment.fill_checksum_v4(*end.ip(), *to.ip());
        Some(len)
    }

    /// A frame with an acknowledgement alone.
    pub(super) fn acknowledgement(&self) -> Vec<u8> {
        self.of(TcpFlags::ACK, &[], &[])
    }

    /// A frame with a segment.
    pub(super) fn of(&self, flags: TcpFlags, options: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; LONGEST + payload.len()];
        let len = self.frame(&mut frame, flags, options, payload).unwrap_or(0);
        frame.truncate(len);
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};

    #[test]
    fn its_frames_are_tcp_with_timestamps_and_a_right_checksum() {
        let (here, there) = ("10.0.0.2:9".parse().unwrap(), "10.0.0.1:7".parse().unwrap());
        let peer = Peer {
            here: (MacAddr([2, 0, 0, 0, 0, 2]), here),
            there: (MacAddr([2, 0, 0, 0, 0, 1]), there),
            seq: u32::MAX,
            ack: 5,
            stamps: (6, 7),
            window: 8,
        };
        for len in [0, 1, 1448] {
            let payload = vec![0x55; len];
            let flags = TcpFlags::ACK.union(TcpFlags::PSH);
            let frame = if len == 0 { peer.acknowledgement() } else { peer.of(flags, &[], &payload) };
            assert_eq!(frame.len(), 66 + len);
            let parsed = SlicedPacket::from_ethernet(&frame).unwrap();
            let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (parsed.net, parsed.transport) else {
                panic!("no TCP over IPv4")
            };
            let (from, to) = (ip.header().source(), ip.header().destination());
            assert_eq!(tcp.payload(), payload);
            assert_eq!(tcp.options(), [1, 1, 8, 10, 0, 0, 0, 6, 0, 0, 0, 7]);
            assert_eq!((tcp.source_port(), tcp.destination_port(), tcp.window_size()), (9, 7, 8));
            assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number(), tcp.ack()), (u32::MAX, 5, true));
            assert_eq!(tcp.calc_checksum_ipv4(from, to).unwrap(), tcp.checksum());
        }
        let frame = peer.of(TcpFlags::SYN, &syn_options(1460), &[]);
        let told = linerate_wire::TcpOptions::parse(TcpSegment::new_checked(&frame[34..]).unwrap().options());
        assert_eq!((told.mss, told.window_scale, told.sack_permitted), (Some(1460), Some(14), true));
        assert_eq!(told.timestamps, Some((6, 7)));
        assert_eq!(peer.frame(&mut [0; 65], TcpFlags::ACK, &[], &[]), None, "there is no room");
    }
}
