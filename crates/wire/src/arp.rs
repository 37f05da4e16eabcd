//! Address resolution, of IPv4 addresses on Ethernet only.

use std::fmt;
use std::net::Ipv4Addr;

use crate::field::{array_at, put, put_u16, u16_at};
use crate::{Error, EtherType, MacAddr};

const NAME: &str = "arp";

/// First bytes of an ARP packet for IPv4 on Ethernet: hardware type 1, protocol type IPv4, lengths 6 and 4.
const ETHERNET_IPV4: [u8; 6] = [0, 1, EtherType::IPV4.0.to_be_bytes()[0], EtherType::IPV4.0.to_be_bytes()[1], 6, 4];

/// Offsets of the fields (RFC 826, "Packet format").
mod field {
    pub(super) const HARDWARE_TYPE: usize = 0;
    pub(super) const OPERATION: usize = 6;
    pub(super) const SENDER_MAC: usize = 8;
    pub(super) const SENDER_IP: usize = 14;
    pub(super) const TARGET_MAC: usize = 18;
    pub(super) const TARGET_IP: usize = 24;
}

/// A view of an ARP packet for IPv4 on Ethernet (RFC 826, "Packet format").
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |       hardware type = 1       |    protocol type = 0x0800     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | hardware len 6| protocol len 4|           operation           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                    sender hardware address                    |
/// +                               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                               |   sender protocol address     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                               |                               |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+                               +
/// |                    target hardware address                    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                    target protocol address                    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArpPacket<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> ArpPacket<T> {
    /// Length of the packet in bytes; any bytes after it are padding.
    pub const LEN: usize = 28;

    /// Views `buffer` as an ARP packet for IPv4 on Ethernet.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than the packet, [`Error::Malformed`] when it is about other kinds of
    /// addresses.
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let bytes = buffer.as_ref();
        if bytes.len() < Self::LEN {
            return Err(Error::Truncated(NAME));
        }
        if !bytes.starts_with(&ETHERNET_IPV4) {
            return Err(Error::Malformed(NAME, "address types"));
        }
        Ok(Self { buffer })
    }

    /// Returns the viewed buffer.
    pub fn into_inner(self) -> T {
        self.buffer
    }

    /// Request or reply.
    pub fn operation(&self) -> ArpOperation {
        ArpOperation(u16_at(self.buffer.as_ref(), field::OPERATION))
    }

    /// The sender's hardware address.
    pub fn sender_mac(&self) -> MacAddr {
        MacAddr(array_at(self.buffer.as_ref(), field::SENDER_MAC))
    }

    /// The sender's protocol address.
    pub fn sender_ip(&self) -> Ipv4Addr {
        array_at::<4>(self.buffer.as_ref(), field::SENDER_IP).into()
    }

    /// The target's hardware address; without meaning in a request.
    pub fn target_mac(&self) -> MacAddr {
        MacAddr(array_at(self.buffer.as_ref(), field::TARGET_MAC))
    }

    /// The target's protocol address.
    pub fn target_ip(&self) -> Ipv4Addr {
        array_at::<4>(self.buffer.as_ref(), field::TARGET_IP).into()
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> ArpPacket<T> {
    /// Sets request or reply.
    pub fn set_operation(&mut self, operation: ArpOperation) {
        put_u16(self.buffer.as_mut(), field::OPERATION, operation.0);
    }

    /// Sets the sender's hardware address.
    pub fn set_sender_mac(&mut self, mac: MacAddr) {
        put(self.buffer.as_mut(), field::SENDER_MAC, &mac.0);
    }

    /// Sets the sender's protocol address.
    pub fn set_sender_ip(&mut self, ip: Ipv4Addr) {
        put(self.buffer.as_mut(), field::SENDER_IP, &ip.octets());
    }

    /// Sets the target's hardware address.
    pub fn set_target_mac(&mut self, mac: MacAddr) {
        put(self.buffer.as_mut(), field::TARGET_MAC, &mac.0);
    }

    /// Sets the target's protocol address.
    pub fn set_target_ip(&mut self, ip: Ipv4Addr) {
        put(self.buffer.as_mut(), field::TARGET_IP, &ip.octets());
    }
}

/// An ARP packet for IPv4 on Ethernet.
///
/// ```
/// use linerate_wire::*;
///
/// let request = ArpRepr {
///     operation: ArpOperation::REQUEST,
///     sender_mac: MacAddr([2, 0, 0, 0, 0, 1]),
///     sender_ip: [10, 0, 0, 1].into(),
///     target_mac: MacAddr::UNSPECIFIED,
///     target_ip: [10, 0, 0, 2].into(),
/// };
/// let mut packet = [0; 28];
/// request.emit(&mut packet)?;
/// assert_eq!(ArpRepr::parse(&ArpPacket::new_checked(&packet[..])?), request);
/// # Ok::<(), linerate_wire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArpRepr {
    /// Request or reply.
    pub operation: ArpOperation,
    /// The sender's hardware address.
    pub sender_mac: MacAddr,
    /// The sender's protocol address.
    pub sender_ip: Ipv4Addr,
    /// The target's hardware address; zero in a request.
    pub target_mac: MacAddr,
    /// The target's protocol address.
    pub target_ip: Ipv4Addr,
}

impl ArpRepr {
    /// Parses `packet`.
    pub fn parse<T: AsRef<[u8]>>(packet: &ArpPacket<T>) -> Self {
        Self {
            operation: packet.operation(),
            sender_mac: packet.sender_mac(),
            sender_ip: packet.sender_ip(),
            target_mac: packet.target_mac(),
            target_ip: packet.target_ip(),
        }
    }

    /// Bytes that [`emit`](Self::emit) writes.
    pub const fn buffer_len(&self) -> usize {
        ArpPacket::<&[u8]>::LEN
    }

    /// Writes the packet to the front of `buffer`; returns the rest, which is padding.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the packet does not fit; nothing is written then.
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (packet, rest) = buffer.split_at_mut_checked(self.buffer_len()).ok_or(Error::Truncated(NAME))?;
        put(packet, field::HARDWARE_TYPE, &ETHERNET_IPV4);
        let mut packet = ArpPacket { buffer: packet };
        packet.set_operation(self.operation);
        packet.set_sender_mac(self.sender_mac);
        packet.set_sender_ip(self.sender_ip);
        packet.set_target_mac(self.target_mac);
        packet.set_target_ip(self.target_ip);
        Ok(rest)
    }
}

/// Operation of an ARP packet (IANA, ARP Parameters).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArpOperation(pub u16);

impl ArpOperation {
    /// Asks for the hardware address of the target's protocol address.
    pub const REQUEST: Self = Self(1);
    /// Gives the sender's hardware address.
    pub const REPLY: Self = Self(2);
}

impl fmt::Display for ArpOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::REQUEST => f.write_str("Request"),
            Self::REPLY => f.write_str("Reply"),
            Self(number) => write!(f, "operation {number}"),
        }
    }
}
