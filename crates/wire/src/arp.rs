//! Address resolution, of IPv4 addresses on Ethernet only.

use std::fmt;
use std::net::Ipv4Addr;

use crate::field::{values, view};
use crate::{Error, EtherType, MacAddr};

const NAME: &str = "arp";

/// First bytes of an ARP packet for IPv4 on Ethernet: hardware type 1, protocol type IPv4, lengths 6 and 4.
const ETHERNET_IPV4: [u8; 6] = [0, 1, EtherType::IPV4.0.to_be_bytes()[0], EtherType::IPV4.0.to_be_bytes()[1], 6, 4];

view! {
    /// A view of an ARP packet for IPv4 on Ethernet (RFC 826, "Packet format"). It begins with the hardware and protocol
    /// types and the lengths of their addresses.
    ArpPacket, LEN = 28 "Length of the packet in bytes; any bytes after it are padding.";
    =>
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
    ArpRepr(ETHERNET_IPV4);
    6 pub operation set_operation: ArpOperation = "Request or reply.";
    8 pub sender_mac set_sender_mac: MacAddr = "The sender's hardware address.";
    14 pub sender_ip set_sender_ip: Ipv4Addr = "The sender's protocol address.";
    18 pub target_mac set_target_mac: MacAddr = "The target's hardware address; without meaning in a request, zero in ours.";
    24 pub target_ip set_target_ip: Ipv4Addr = "The target's protocol address.";
}

impl<T: AsRef<[u8]>> ArpPacket<T> {
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
}

values! {
    /// Operation of an ARP packet (IANA, ARP Parameters).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct ArpOperation(u16);
    REQUEST = 1, "Asks for the hardware address of the target's protocol address.";
    REPLY = 2, "Gives the sender's hardware address.";
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
