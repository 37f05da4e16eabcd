//! Header parser: Ethernet, VLAN tags, IPv4 or IPv6 with its extension headers, and the offset of the transport header.
//! Every offload uses it; none parses a frame by itself.
//!
//! Out of scope: it reads no transport header and verifies no checksum.

use linerate_wire::{EtherType, IpProtocol, VlanTag};

/// Most VLAN tags skipped: a service tag and a customer tag (IEEE 802.1ad), and one in reserve.
const TAGS: usize = 3;

/// Most IPv6 extension headers skipped; a packet with more counts as one of unknown protocol.
const EXTENSIONS: usize = 8;

/// Offsets of a frame's headers, in bytes from the start of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// Outermost VLAN tag in the frame.
    pub tag: Option<VlanTag>,
    /// EtherType after all tags.
    pub ethertype: EtherType,
    /// Offset of the payload after the tags: the IP header if `ip` is set.
    pub network: usize,
    /// IP header, if there is one and its lengths are consistent with each other and with the frame.
    pub ip: Option<Ip>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// IPv4 (RFC 791).
    V4,
    /// IPv6 (RFC 8200).
    V6,
}

/// The IP part of [`Headers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ip {
    pub version: Version,
    /// Protocol of the header at `transport`, after the known extension headers.
    pub protocol: IpProtocol,
    /// Offset of the transport header, after options and extension headers.
    pub transport: usize,
    /// End of the packet by its own length: bytes of the frame from this offset on are padding.
    pub end: usize,
    /// One of several fragments: there is no whole transport segment to parse.
    pub fragment: bool,
    /// The destination in the header is not the final one (an IPv6 routing header with segments left): the transport
    /// checksum covers an address that is not there.
    pub under_way: bool,
}

impl Headers {
    /// Parses the headers of a frame of `len` bytes that begins with `head`: the whole frame, or the part in its first
    /// buffer. All headers must lie in `head`, the payload need not. `None` if it does not even hold an Ethernet
    /// header.
    #[inline]
    #[must_use]
    pub fn parse(head: &[u8], len: usize) -> Option<Self> {
        let mut headers = Self::link(head)?;
        headers.ip = match headers.ethertype {
            EtherType::IPV4 => ipv4(head, headers.network).filter(|ip| ip.end <= len),
            EtherType::IPV6 => ipv6(head, headers.network).filter(|ip| ip.end <= len),
            _ => None,
        };
        Some(headers)
    }

    /// Parses the headers of a template whose length fields are not set yet; the end of the packet is unknown.
    pub(super) fn parse_template(template: &[u8]) -> Option<Self> {
        let mut headers = Self::link(template)?;
        headers.ip = match headers.ethertype {
            EtherType::IPV4 => ipv4_header(template, headers.network),
            EtherType::IPV6 => ipv6_header(template, headers.network, template.len()),
            _ => None,
        };
        Some(headers)
    }

    #[inline]
    fn link(head: &[u8]) -> Option<Self> {
        let mut ethertype = EtherType(u16_at(head, 12)?);
        let (mut network, mut tag) = (14, None);
        for _ in 0..TAGS {
            if !ethertype.is_vlan() {
                break;
            }
            tag = tag.or(Some(VlanTag(u16_at(head, network)?)));
            ethertype = EtherType(u16_at(head, network + 2)?);
            network += 4;
        }
        Some(Self { tag, ethertype, network, ip: None })
    }
}

#[inline]
fn ipv4(head: &[u8], at: usize) -> Option<Ip> {
    let ip = ipv4_header(head, at)?;
    let end = at + usize::from(u16_at(head, at + 2)?);
    (end >= ip.transport).then_some(Ip { end, ..ip })
}

#[inline]
fn ipv4_header(head: &[u8], at: usize) -> Option<Ip> {
    let header: &[u8; 20] = head.get(at..)?.first_chunk()?;
    let transport = at + usize::from(header[0] & 0xf) * 4;
    if header[0] >> 4 != 4 || transport < at + 20 || transport > head.len() {
        return None;
    }
    // Fragment offset and "more fragments"; "don't fragment" and the reserved bit do not make a fragment.
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let protocol = IpProtocol(header[9]);
    Some(Ip { version: Version::V4, protocol, transport, end: transport, fragment, under_way: false })
}

#[inline]
fn ipv6(head: &[u8], at: usize) -> Option<Ip> {
    let end = at + 40 + usize::from(u16_at(head, at + 4)?);
    ipv6_header(head, at, end)
}

/// Skips the extension headers (RFC 8200, section 4) before `end`.
#[inline]
fn ipv6_header(head: &[u8], at: usize, end: usize) -> Option<Ip> {
    const ROUTING: IpProtocol = IpProtocol(43);
    const AUTHENTICATION: IpProtocol = IpProtocol(51);
    const DESTINATION_OPTIONS: IpProtocol = IpProtocol(60);

    let header: &[u8; 40] = head.get(at..)?.first_chunk()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let mut protocol = IpProtocol(header[6]);
    let (mut transport, mut fragment, mut under_way) = (at + 40, false, false);
    for _ in 0..EXTENSIONS {
        let units = match protocol {
            IpProtocol::HOP_BY_HOP | DESTINATION_OPTIONS | ROUTING => 8,
            // RFC 4302, section 2.2: the length is in units of 4 bytes, minus 2.
            AUTHENTICATION => 4,
            IpProtocol::IPV6_FRAGMENT => 0,
            _ => break,
        };
        let extension: &[u8; 4] = head.get(transport..)?.first_chunk()?;
        let len = match units {
            8 => 8 + usize::from(extension[1]) * 8,
            4 => 8 + usize::from(extension[1]) * 4,
            // Fragment offset and M flag; without both it is a whole packet (RFC 6946).
            _ => {
                fragment |= u16::from_be_bytes([extension[2], extension[3]]) & 0xfff9 != 0;
                8
            }
        };
        under_way |= protocol == ROUTING && extension[3] != 0;
        protocol = IpProtocol(extension[0]);
        transport += len;
        if transport > end.min(head.len()) {
            return None;
        }
        if fragment {
            // The header of a later fragment is followed by payload, not by another header.
            break;
        }
    }
    Some(Ip { version: Version::V6, protocol, transport, end, fragment, under_way })
}

/// Reads a 16-bit big-endian number at `at`.
#[inline]
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|chunk| u16::from_be_bytes(*chunk))
}

/// Reads a 32-bit big-endian number at `at`.
#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|chunk| u32::from_be_bytes(*chunk))
}
