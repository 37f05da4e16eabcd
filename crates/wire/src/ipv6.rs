//! IPv6's fixed header. Extension headers count as payload; jumbograms (RFC 2675) are not known.

use std::net::Ipv6Addr;

use crate::field::{array_at, put, put_u16, u16_at, u32_at};
use crate::{Error, IpProtocol};

const NAME: &str = "ipv6";

const FLOW_LABEL: u32 = 0xf_ffff;

/// Offsets of the fields (RFC 8200, section 3).
pub(crate) mod field {
    pub(crate) const VERSION_CLASS_FLOW: usize = 0;
    pub(crate) const PAYLOAD_LENGTH: usize = 4;
    pub(crate) const NEXT_HEADER: usize = 6;
    pub(crate) const HOP_LIMIT: usize = 7;
    pub(crate) const SOURCE: usize = 8;
    pub(crate) const DESTINATION: usize = 24;
}

/// A view of an IPv6 packet (RFC 8200, section 3).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |version| traffic class |              flow label               |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |        payload length         |  next header  |   hop limit   |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                                                               |
/// +                        source address                         +
/// +                          (16 bytes)                           +
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                                                               |
/// +                      destination address                      +
/// +                          (16 bytes)                           +
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                           payload …
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Packet<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Ipv6Packet<T> {
    /// Bytes of the fixed header.
    pub const HEADER_LEN: usize = 40;

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

    /// The viewed buffer back.
    pub fn into_inner(self) -> T {
        self.buffer
    }

    fn version(&self) -> u8 {
        self.buffer.as_ref()[field::VERSION_CLASS_FLOW] >> 4
    }

    /// Traffic class: differentiated services code point (6 bits) and congestion notification (2).
    pub fn traffic_class(&self) -> u8 {
        (u32_at(self.buffer.as_ref(), field::VERSION_CLASS_FLOW) << 4).to_be_bytes()[0]
    }

    /// Flow label, 20 bits.
    pub fn flow_label(&self) -> u32 {
        u32_at(self.buffer.as_ref(), field::VERSION_CLASS_FLOW) & FLOW_LABEL
    }

    /// Bytes after the fixed header.
    pub fn payload_len(&self) -> u16 {
        u16_at(self.buffer.as_ref(), field::PAYLOAD_LENGTH)
    }

    /// The protocol of the payload, or an extension header's.
    pub fn next_header(&self) -> IpProtocol {
        IpProtocol(self.buffer.as_ref()[field::NEXT_HEADER])
    }

    /// Hops left.
    pub fn hop_limit(&self) -> u8 {
        self.buffer.as_ref()[field::HOP_LIMIT]
    }

    /// The sender.
    pub fn src(&self) -> Ipv6Addr {
        array_at::<16>(self.buffer.as_ref(), field::SOURCE).into()
    }

    /// The receiver.
    pub fn dst(&self) -> Ipv6Addr {
        array_at::<16>(self.buffer.as_ref(), field::DESTINATION).into()
    }

    /// Place where the payload lies; within the buffer even when a setter changed its length.
    fn payload_range(&self) -> std::ops::Range<usize> {
        let end = Self::HEADER_LEN + usize::from(self.payload_len());
        Self::HEADER_LEN..end.min(self.buffer.as_ref().len())
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> Ipv6Packet<&'a T> {
    /// The bytes after the fixed header, padding excluded.
    pub fn payload(&self) -> &'a [u8] {
        &self.buffer.as_ref()[self.payload_range()]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Ipv6Packet<T> {
    /// Sets the traffic class.
    pub fn set_traffic_class(&mut self, class: u8) {
        let others = u32_at(self.buffer.as_ref(), field::VERSION_CLASS_FLOW) & !(0xff << 20);
        put(self.buffer.as_mut(), field::VERSION_CLASS_FLOW, &(others | u32::from(class) << 20).to_be_bytes());
    }

    /// Sets the flow label; bits beyond its 20 are dropped.
    pub fn set_flow_label(&mut self, label: u32) {
        let others = u32_at(self.buffer.as_ref(), field::VERSION_CLASS_FLOW) & !FLOW_LABEL;
        put(self.buffer.as_mut(), field::VERSION_CLASS_FLOW, &(others | label & FLOW_LABEL).to_be_bytes());
    }

    /// Sets the bytes after the fixed header.
    pub fn set_payload_len(&mut self, len: u16) {
        put_u16(self.buffer.as_mut(), field::PAYLOAD_LENGTH, len);
    }

    /// Sets the protocol of the payload.
    pub fn set_next_header(&mut self, protocol: IpProtocol) {
        self.buffer.as_mut()[field::NEXT_HEADER] = protocol.0;
    }

    /// Sets the hops left.
    pub fn set_hop_limit(&mut self, hops: u8) {
        self.buffer.as_mut()[field::HOP_LIMIT] = hops;
    }

    /// Sets the sender.
    pub fn set_src(&mut self, src: Ipv6Addr) {
        put(self.buffer.as_mut(), field::SOURCE, &src.octets());
    }

    /// Sets the receiver.
    pub fn set_dst(&mut self, dst: Ipv6Addr) {
        put(self.buffer.as_mut(), field::DESTINATION, &dst.octets());
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
        header[field::VERSION_CLASS_FLOW] = 0x60;
        let mut packet = Ipv6Packet { buffer: header };
        packet.set_traffic_class(self.traffic_class);
        packet.set_flow_label(self.flow_label);
        packet.set_payload_len(payload_len);
        packet.set_next_header(self.next_header);
        packet.set_hop_limit(self.hop_limit);
        packet.set_src(self.src);
        packet.set_dst(self.dst);
        let end = self.payload_len.min(rest.len());
        Ok(&mut rest[..end])
    }
}
