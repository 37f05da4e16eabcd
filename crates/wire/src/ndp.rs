//! Neighbour discovery's messages, of Ethernet addresses only. Who sent a message, and its hop limit, which must be 255,
//! is checked above.

use std::net::Ipv6Addr;

use crate::field::{Bit, Field, array_at, put, put_u16, record, u16_at, u32_at};
use crate::{Error, MacAddr};

const NAME: &str = "ndp";

const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
const NEIGHBOR_SOLICITATION: u8 = 135;
const NEIGHBOR_ADVERTISEMENT: u8 = 136;
const REDIRECT: u8 = 137;

const SOURCE_LINK_LAYER: u8 = 1;
const TARGET_LINK_LAYER: u8 = 2;
const PREFIX_INFORMATION: u8 = 3;
const MTU: u8 = 5;

/// Offsets of the fields of solicitations, neighbour advertisements and redirects (RFC 4861, sections 4.1 and 4.3 to 4.5).
mod field {
    pub(super) const TYPE: usize = 0;
    pub(super) const CODE: usize = 1;
    pub(super) const FLAGS: usize = 4;
    pub(super) const TARGET: usize = 8;
    pub(super) const DESTINATION: usize = 24;
}

/// Offsets of the fields of a router advertisement (RFC 4861, section 4.2).
mod advertisement {
    pub(super) const HOP_LIMIT: usize = 4;
    pub(super) const FLAGS: usize = 5;
    pub(super) const LIFETIME: usize = 6;
    pub(super) const REACHABLE: usize = 8;
    pub(super) const RETRANS: usize = 12;
}

/// Offsets of the values of options, from the option's first byte on (RFC 4861, sections 4.6.1 and 4.6.4).
mod option {
    pub(super) const MAC: usize = 2;
    pub(super) const MTU: usize = 4;
}

/// A view of a neighbour discovery message (RFC 4861, section 4), with its ICMPv6 header.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  type 133-137 |   code = 0    |           checksum            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   flags of advertisements: R S O; hop limit, M O, lifetime    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  target (135, 136, 137; 16 bytes), destination (137; 16), or  |
/// |        reachable time and retransmission timer (134; 4 each)  |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  option type  | length (8 oct)|  option …
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NdpPacket<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> NdpPacket<T> {
    /// Views all of `buffer`, an ICMPv6 message, as neighbour discovery's. The checksum is not verified here:
    /// [`Icmpv6Packet`](crate::Icmpv6Packet) does that.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it, or an option, is cut short; [`Error::Malformed`] when it is another message, or not
    /// valid by itself (RFC 4861, sections 6.1, 7.1 and 8.1): a code, an option of length zero, a group as target.
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let bytes = buffer.as_ref();
        let kind = *bytes.first().ok_or(Error::Truncated(NAME))?;
        let fixed = fixed_len(kind).ok_or(Error::Malformed(NAME, "type"))?;
        let mut options = bytes.get(fixed..).ok_or(Error::Truncated(NAME))?;
        if bytes[field::CODE] != 0 {
            return Err(Error::Malformed(NAME, "code"));
        }
        while let [_, rest @ ..] = options {
            let len = usize::from(*rest.first().ok_or(Error::Truncated(NAME))?) * 8;
            if len == 0 {
                return Err(Error::Malformed(NAME, "option length"));
            }
            options = options.get(len..).ok_or(Error::Truncated(NAME))?;
        }
        let packet = Self { buffer };
        match kind {
            NEIGHBOR_SOLICITATION | NEIGHBOR_ADVERTISEMENT if packet.address(field::TARGET).is_multicast() => {
                Err(Error::Malformed(NAME, "target"))
            }
            REDIRECT if packet.address(field::DESTINATION).is_multicast() => Err(Error::Malformed(NAME, "destination")),
            _ => Ok(packet),
        }
    }

    /// The viewed buffer back.
    pub fn into_inner(self) -> T {
        self.buffer
    }

    /// The ICMPv6 type: 133 to 137.
    pub fn kind(&self) -> u8 {
        self.buffer.as_ref()[field::TYPE]
    }

    /// Type and bytes of each option; type and length are among the bytes.
    pub fn options(&self) -> impl Iterator<Item = (u8, &[u8])> {
        let bytes = self.buffer.as_ref();
        let mut rest = fixed_len(self.kind()).and_then(|fixed| bytes.get(fixed..)).unwrap_or(&[]);
        std::iter::from_fn(move || {
            let len = usize::from(*rest.get(1)?) * 8;
            let (option, after) = rest.split_at_checked(len).filter(|(option, _)| !option.is_empty())?;
            rest = after;
            Some((option[0], option))
        })
    }

    fn address(&self, at: usize) -> Ipv6Addr {
        array_at::<16>(self.buffer.as_ref(), at).into()
    }

    /// The first link-layer address option of that type; one of another length is not Ethernet's.
    fn mac(&self, kind: u8) -> Option<MacAddr> {
        self.options()
            .find(|&(k, option)| k == kind && option.len() == 8)
            .map(|(_, option)| MacAddr(array_at(option, option::MAC)))
    }
}

/// Bytes before the options.
const fn fixed_len(kind: u8) -> Option<usize> {
    Some(match kind {
        ROUTER_SOLICITATION => 8,
        ROUTER_ADVERTISEMENT => 16,
        NEIGHBOR_SOLICITATION | NEIGHBOR_ADVERTISEMENT => 24,
        REDIRECT => 40,
        _ => return None,
    })
}

/// A neighbour discovery message.
///
/// ```
/// use linerate_wire::*;
///
/// let target = "fe80::2".parse().unwrap();
/// let ask = NdpRepr::NeighborSolicitation { target, source: Some(MacAddr([2, 0, 0, 0, 0, 1])) };
/// let mut message = vec![0; ask.buffer_len()];
/// ask.emit(&mut message)?;
/// let (src, dst) = ("fe80::1".parse().unwrap(), solicited_node(target));
/// Icmpv6Packet::new_checked(&mut message)?.fill_checksum(src, dst);
///
/// assert!(Icmpv6Packet::new_checked(&message)?.verify_checksum(src, dst));
/// assert_eq!(NdpRepr::parse(&NdpPacket::new_checked(&message)?), ask);
/// # Ok::<(), linerate_wire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NdpRepr {
    /// Asks for routers (RFC 4861, section 4.1).
    RouterSolicitation {
        /// The sender's address on the link.
        source: Option<MacAddr>,
    },
    /// Announces a router and properties of the link (section 4.2).
    RouterAdvertisement {
        /// Content of the advertisement.
        router: NdpRouter,
        /// The sender's address on the link.
        source: Option<MacAddr>,
    },
    /// Asks for a neighbour (section 4.3).
    NeighborSolicitation {
        /// Target address; never a group.
        target: Ipv6Addr,
        /// The sender's address on the link.
        source: Option<MacAddr>,
    },
    /// Announces a neighbour (section 4.4).
    NeighborAdvertisement {
        /// Target address; never a group.
        target: Ipv6Addr,
        /// Router flag: the sender is a router.
        router: bool,
        /// Solicited flag: the answer to a solicitation.
        solicited: bool,
        /// Override flag: the address replaces a cached one.
        overrides: bool,
        /// The target's address on the link.
        mac: Option<MacAddr>,
    },
    /// Announces a better first hop (section 4.5).
    Redirect {
        /// Better first hop; the destination itself when that is a neighbour.
        target: Ipv6Addr,
        /// Destination of the traffic to redirect; never a group.
        destination: Ipv6Addr,
        /// The target's address on the link.
        mac: Option<MacAddr>,
    },
}

/// Contents of a router advertisement (RFC 4861, section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NdpRouter {
    /// Hop limit to send with; zero: unspecified.
    pub hop_limit: u8,
    /// Managed flag: addresses are available by DHCPv6.
    pub managed: bool,
    /// Other flag: other configuration is available by DHCPv6.
    pub other: bool,
    /// Lifetime as a default router, in seconds; zero: not a default router.
    pub lifetime_s: u16,
    /// Time for which a neighbour counts as reachable after an answer, in milliseconds; zero: unspecified.
    pub reachable_ms: u32,
    /// Interval between retransmitted solicitations, in milliseconds; zero: unspecified.
    pub retrans_ms: u32,
    /// The link's MTU.
    pub mtu: Option<u32>,
    /// Prefixes of the link, from the front; what an advertisement has beyond these is not read.
    pub prefixes: [Option<NdpPrefix>; Self::PREFIXES],
}

impl NdpRouter {
    /// The most prefixes read of one advertisement.
    pub const PREFIXES: usize = 4;
}

record! {
    /// A prefix of the link (RFC 4861, section 4.6.2).
    NdpPrefix[32] bytes([PREFIX_INFORMATION, 4]);
    2 len: u8 = "Its length in bits, at most 128.";
    3 on_link: bool as Bit<7> = "Its addresses are neighbours.";
    3 autonomous: bool as Bit<6> = "Hosts may make addresses of it (RFC 4862).";
    4 valid_s: u32 = "Time for which the prefix is valid, in seconds; all ones: for ever.";
    8 preferred_s: u32 = "Time for which its addresses are preferred, in seconds; all ones: for ever.";
    16 prefix: Ipv6Addr = "The prefix; bits beyond its length say nothing.";
}

impl NdpPrefix {
    fn parse(option: &[u8]) -> Option<Self> {
        (option.len() == Self::LEN).then(|| Self::get(option, 0)).filter(|prefix| prefix.len <= 128)
    }
}

impl NdpRepr {
    /// The fields of `packet`. Unknown options are ignored, and so are known ones of a wrong length (RFC 4861, section
    /// 4.6).
    pub fn parse<T: AsRef<[u8]>>(packet: &NdpPacket<T>) -> Self {
        let bytes = packet.buffer.as_ref();
        let (source, mac) = (packet.mac(SOURCE_LINK_LAYER), packet.mac(TARGET_LINK_LAYER));
        match packet.kind() {
            ROUTER_SOLICITATION => Self::RouterSolicitation { source },
            ROUTER_ADVERTISEMENT => Self::RouterAdvertisement { router: router(packet), source },
            NEIGHBOR_SOLICITATION => Self::NeighborSolicitation { target: packet.address(field::TARGET), source },
            NEIGHBOR_ADVERTISEMENT => Self::NeighborAdvertisement {
                target: packet.address(field::TARGET),
                router: bytes[field::FLAGS] & 0x80 != 0,
                solicited: bytes[field::FLAGS] & 0x40 != 0,
                overrides: bytes[field::FLAGS] & 0x20 != 0,
                mac,
            },
            _ => Self::Redirect {
                target: packet.address(field::TARGET),
                destination: packet.address(field::DESTINATION),
                mac,
            },
        }
    }

    /// Bytes that [`emit`](Self::emit) writes.
    pub fn buffer_len(&self) -> usize {
        let link_layer = |mac: &Option<MacAddr>| if mac.is_some() { 8 } else { 0 };
        match self {
            Self::RouterSolicitation { source } => 8 + link_layer(source),
            Self::RouterAdvertisement { router, source } => {
                let mtu = if router.mtu.is_some() { 8 } else { 0 };
                16 + link_layer(source) + mtu + router.prefixes.iter().flatten().count() * NdpPrefix::LEN
            }
            Self::NeighborSolicitation { source: mac, .. } | Self::NeighborAdvertisement { mac, .. } => {
                24 + link_layer(mac)
            }
            Self::Redirect { mac, .. } => 40 + link_layer(mac),
        }
    }

    /// Writes the message, with its ICMPv6 header but without a checksum, to the front of `buffer`; returns the rest,
    /// which is none of it. Let [`Icmpv6Packet::fill_checksum`](crate::Icmpv6Packet::fill_checksum) complete it.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the message does not fit, [`Error::TooLarge`] when a prefix is longer than 128 bits;
    /// nothing is written then.
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        if let Self::RouterAdvertisement { router, .. } = self
            && router.prefixes.iter().flatten().any(|prefix| prefix.len > 128)
        {
            return Err(Error::TooLarge(NAME, "prefix length"));
        }
        let (message, rest) = buffer.split_at_mut_checked(self.buffer_len()).ok_or(Error::Truncated(NAME))?;
        message.fill(0);
        match self {
            Self::RouterSolicitation { source } => {
                message[field::TYPE] = ROUTER_SOLICITATION;
                emit_mac(&mut message[8..], SOURCE_LINK_LAYER, *source);
            }
            Self::RouterAdvertisement { router, source } => {
                message[field::TYPE] = ROUTER_ADVERTISEMENT;
                emit_router(message, router);
                let at = message.len() - if source.is_some() { 8 } else { 0 };
                emit_mac(&mut message[at..], SOURCE_LINK_LAYER, *source);
            }
            Self::NeighborSolicitation { target, source } => {
                message[field::TYPE] = NEIGHBOR_SOLICITATION;
                put(message, field::TARGET, &target.octets());
                emit_mac(&mut message[24..], SOURCE_LINK_LAYER, *source);
            }
            Self::NeighborAdvertisement { target, router, solicited, overrides, mac } => {
                message[field::TYPE] = NEIGHBOR_ADVERTISEMENT;
                message[field::FLAGS] = u8::from(*router) << 7 | u8::from(*solicited) << 6 | u8::from(*overrides) << 5;
                put(message, field::TARGET, &target.octets());
                emit_mac(&mut message[24..], TARGET_LINK_LAYER, *mac);
            }
            Self::Redirect { target, destination, mac } => {
                message[field::TYPE] = REDIRECT;
                put(message, field::TARGET, &target.octets());
                put(message, field::DESTINATION, &destination.octets());
                emit_mac(&mut message[40..], TARGET_LINK_LAYER, *mac);
            }
        }
        Ok(rest)
    }
}

fn router<T: AsRef<[u8]>>(packet: &NdpPacket<T>) -> NdpRouter {
    let bytes = packet.buffer.as_ref();
    let prefixes = packet.options().filter(|&(kind, _)| kind == PREFIX_INFORMATION);
    let mut prefixes = prefixes.filter_map(|(_, option)| NdpPrefix::parse(option));
    let mtu = packet.options().find(|&(kind, option)| kind == MTU && option.len() == 8);
    NdpRouter {
        hop_limit: bytes[advertisement::HOP_LIMIT],
        managed: bytes[advertisement::FLAGS] & 0x80 != 0,
        other: bytes[advertisement::FLAGS] & 0x40 != 0,
        lifetime_s: u16_at(bytes, advertisement::LIFETIME),
        reachable_ms: u32_at(bytes, advertisement::REACHABLE),
        retrans_ms: u32_at(bytes, advertisement::RETRANS),
        mtu: mtu.map(|(_, option)| u32_at(option, option::MTU)),
        prefixes: std::array::from_fn(|_| prefixes.next()),
    }
}

fn emit_router(message: &mut [u8], router: &NdpRouter) {
    message[advertisement::HOP_LIMIT] = router.hop_limit;
    message[advertisement::FLAGS] = u8::from(router.managed) << 7 | u8::from(router.other) << 6;
    put_u16(message, advertisement::LIFETIME, router.lifetime_s);
    put(message, advertisement::REACHABLE, &router.reachable_ms.to_be_bytes());
    put(message, advertisement::RETRANS, &router.retrans_ms.to_be_bytes());
    let mut at = 16;
    if let Some(mtu) = router.mtu {
        message[at..at + 2].copy_from_slice(&[MTU, 1]);
        put(message, at + option::MTU, &mtu.to_be_bytes());
        at += 8;
    }
    for prefix in router.prefixes.iter().flatten() {
        put(message, at, &prefix.bytes());
        at += NdpPrefix::LEN;
    }
}

/// A link-layer address option (RFC 4861, section 4.6.1).
fn emit_mac(option: &mut [u8], kind: u8, mac: Option<MacAddr>) {
    if let Some(mac) = mac {
        option[..2].copy_from_slice(&[kind, 1]);
        put(option, option::MAC, &mac.0);
    }
}
