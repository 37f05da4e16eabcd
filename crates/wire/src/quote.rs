//! The beginning of a packet that an ICMP error is about.

use std::net::IpAddr;

use crate::field::u16_at;
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
        let ip = Ipv4Packet { buffer: bytes };
        if ip.version() != 4 || ip.header_len() < Ipv4Packet::<&[u8]>::MIN_HEADER_LEN {
            return Err(Error::Malformed(NAME, "version or header length"));
        }
        let payload = bytes.get(ip.header_len()..).ok_or(Error::Truncated(NAME))?;
        let (src, dst, protocol) = (ip.src().into(), ip.dst().into(), ip.protocol());
        Ok(Self { src, dst, protocol, first: ip.fragment_offset() == 0, payload })
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
        let ip = Ipv6Packet { buffer: header };
        if ip.version() != 6 {
            return Err(Error::Malformed(NAME, "version"));
        }
        let chain = walk(ip.next_header(), payload).map_err(|_| Error::Malformed(NAME, "extension headers"))?;
        Ok(Self {
            src: ip.src().into(),
            dst: ip.dst().into(),
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
