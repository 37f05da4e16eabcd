//! The beginning of a packet that an ICMP error is about.

use std::net::IpAddr;

use crate::field::{array_at, u16_at};
use crate::ipv4::field as v4;
use crate::ipv6::field as v6;
use crate::ipv6_ext::walk;
use crate::{Error, IpProtocol, Ipv4Packet, Ipv6Packet};

const NAME: &str = "icmp quote";

/// Readable part of a packet that an ICMP error quotes: its addresses and protocol. It may end anywhere after 8 bytes
/// of the upper layer (RFC 792; RFC 1122, section 3.2.2), so its lengths and checksums are not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote<'a> {
    /// Sender.
    pub src: IpAddr,
    /// Destination.
    pub dst: IpAddr,
    /// The protocol above IP; behind the extension headers in IPv6.
    pub protocol: IpProtocol,
    /// True if `payload` begins with the upper layer's header: in a fragment only if it is the first.
    pub first: bool,
    /// Available bytes of the upper layer.
    pub payload: &'a [u8],
}

impl<'a> Quote<'a> {
    /// Reads an ICMPv4 error's payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it ends within the IP header, [`Error::Malformed`] when that is not IPv4's.
    pub fn parse_v4(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() < Ipv4Packet::<&[u8]>::MIN_HEADER_LEN {
            return Err(Error::Truncated(NAME));
        }
        let header_len = usize::from(bytes[v4::VERSION_AND_LENGTH] & 0xf) * 4;
        if bytes[v4::VERSION_AND_LENGTH] >> 4 != 4 || header_len < Ipv4Packet::<&[u8]>::MIN_HEADER_LEN {
            return Err(Error::Malformed(NAME, "version or header length"));
        }
        let payload = bytes.get(header_len..).ok_or(Error::Truncated(NAME))?;
        Ok(Self {
            src: array_at::<4>(bytes, v4::SOURCE).into(),
            dst: array_at::<4>(bytes, v4::DESTINATION).into(),
            protocol: IpProtocol(bytes[v4::PROTOCOL]),
            first: u16_at(bytes, v4::FLAGS_AND_OFFSET) & 0x1fff == 0,
            payload,
        })
    }

    /// Reads an ICMPv6 error's payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it ends within the IP header, [`Error::Malformed`] when that is not IPv6's or the
    /// extension headers do not lead to an upper layer.
    pub fn parse_v6(bytes: &'a [u8]) -> Result<Self, Error> {
        let (header, payload) =
            bytes.split_at_checked(Ipv6Packet::<&[u8]>::HEADER_LEN).ok_or(Error::Truncated(NAME))?;
        if header[v6::VERSION_CLASS_FLOW] >> 4 != 6 {
            return Err(Error::Malformed(NAME, "version"));
        }
        let chain = walk(IpProtocol(header[v6::NEXT_HEADER]), payload)
            .map_err(|_| Error::Malformed(NAME, "extension headers"))?;
        Ok(Self {
            src: array_at::<16>(header, v6::SOURCE).into(),
            dst: array_at::<16>(header, v6::DESTINATION).into(),
            protocol: chain.protocol,
            first: chain.fragment.is_none_or(|fragment| fragment.repr.offset == 0),
            payload: &payload[chain.offset..],
        })
    }

    /// The source and destination port of TCP or UDP.
    pub fn ports(&self) -> Option<(u16, u16)> {
        let has_ports = self.first && matches!(self.protocol, IpProtocol::TCP | IpProtocol::UDP);
        (has_ports && self.payload.len() >= 4).then(|| (u16_at(self.payload, 0), u16_at(self.payload, 2)))
    }
}
