//! IPv6's fixed header. Extension headers count as payload; jumbograms (RFC 2675) are not known.

use std::net::Ipv6Addr;

use crate::field::view;
use crate::{Error, IpProtocol};

const NAME: &str = "ipv6";

const FLOW_LABEL: u32 = 0xf_ffff;

view! {
    /// A view of an IPv6 packet (RFC 8200, section 3).
    Ipv6Packet, HEADER_LEN = 40 "Bytes of the fixed header.";
    0 first set_first: u32 = "Version 6 (4 bits), traffic class (8), flow label (20).";
    4 pub payload_len set_payload_len: u16 = "Bytes after the fixed header.";
    6 pub next_header set_next_header: IpProtocol = "The protocol of the payload, or an extension header's.";
    7 pub hop_limit set_hop_limit: u8 = "Hops left.";
    8 pub src set_src: Ipv6Addr = "The sender.";
    24 pub dst set_dst: Ipv6Addr = "The receiver.";
}

impl<T: AsRef<[u8]>> Ipv6Packet<T> {
    /// Views `buffer` as a packet and, after its payload, padding.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than the header and the payload length, [`Error::Malformed`] when the
    /// version is not 6.
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let len = buffer.as_ref().len();
        if len < Self::HEADER_LEN {
            return Err(Error::Truncated(NAME));
        }
        let packet = Self { buffer };
        if packet.version() != 6 {
            return Err(Error::Malformed(NAME, "version"));
        }
        if len - Self::HEADER_LEN < usize::from(packet.payload_len()) {
            return Err(Error::Truncated(NAME));
        }
        Ok(packet)
    }

    pub(crate) fn version(&self) -> u8 {
        self.first().to_be_bytes()[0] >> 4
    }

    /// Traffic class: differentiated services code point (6 bits) and congestion notification (2).
    pub fn traffic_class(&self) -> u8 {
        (self.first() << 4).to_be_bytes()[0]
    }

    /// Flow label, 20 bits.
    pub fn flow_label(&self) -> u32 {
        self.first() & FLOW_LABEL
    }

    /// Place where the payload lies; within the buffer even when a setter changed its length.
    fn payload_range(&self) -> std::ops::Range<usize> {
        let end = Self::HEADER_LEN + usize::from(self.payload_len());
        Self::HEADER_LEN..end.min(self.buffer.as_ref().len())
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> Ipv6Packet<&'a T> {
    /// The bytes after the fixed header, padding excluded.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.buffer.as_ref()[self.payload_range()]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Ipv6Packet<T> {
    /// Sets the traffic class.
    pub fn set_traffic_class(&mut self, class: u8) {
        self.set_first(self.first() & !(0xff << 20) | u32::from(class) << 20);
    }

    /// Sets the flow label; bits beyond its 20 are dropped.
    pub fn set_flow_label(&mut self, label: u32) {
        self.set_first(self.first() & !FLOW_LABEL | label & FLOW_LABEL);
    }

    /// The bytes after the fixed header, padding excluded, to write.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let range = self.payload_range();
        &mut self.buffer.as_mut()[range]
    }
}

/// An IPv6 fixed header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Repr {
    /// The sender.
    pub src: Ipv6Addr,
    /// The receiver.
    pub dst: Ipv6Addr,
    /// The protocol of the payload.
    pub next_header: IpProtocol,
    /// Bytes of payload.
    pub payload_len: usize,
    /// Hops left.
    pub hop_limit: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
}

impl Ipv6Repr {
    /// The header of a packet without payload, with 64 hops left.
    pub const fn new(src: Ipv6Addr, dst: Ipv6Addr, next_header: IpProtocol) -> Self {
        Self { src, dst, next_header, payload_len: 0, hop_limit: 64, traffic_class: 0, flow_label: 0 }
    }

    /// The header of `packet`.
    pub fn parse<T: AsRef<[u8]>>(packet: &Ipv6Packet<T>) -> Self {
        Self {
            src: packet.src(),
            dst: packet.dst(),
            next_header: packet.next_header(),
            payload_len: packet.payload_range().len(),
            hop_limit: packet.hop_limit(),
            traffic_class: packet.traffic_class(),
            flow_label: packet.flow_label(),
        }
    }

    /// Bytes that [`emit`](Self::emit) writes.
    pub const fn buffer_len(&self) -> usize {
        Ipv6Packet::<&[u8]>::HEADER_LEN
    }

    /// Writes the header to the front of `buffer`; returns the payload's bytes, or as many of them as `buffer` has: a
    /// header may be written apart from its payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the header does not fit, [`Error::TooLarge`] when the payload exceeds 65535 bytes or
    /// the flow label 20 bits; nothing is written then.
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let payload_len = u16::try_from(self.payload_len).map_err(|_| Error::TooLarge(NAME, "payload"))?;
        if self.flow_label > FLOW_LABEL {
            return Err(Error::TooLarge(NAME, "flow label"));
        }
        let (header, rest) = buffer.split_at_mut_checked(self.buffer_len()).ok_or(Error::Truncated(NAME))?;
        let mut packet = Ipv6Packet { buffer: header };
        packet.set_first(6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label);
        packet.set_payload_len(payload_len);
        packet.set_next_header(self.next_header);
        packet.set_hop_limit(self.hop_limit);
        packet.set_src(self.src);
        packet.set_dst(self.dst);
        let end = self.payload_len.min(rest.len());
        Ok(&mut rest[..end])
    }
}
