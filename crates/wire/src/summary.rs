//! A frame in one line, for dumps.

use std::fmt;
use std::net::IpAddr;

use crate::field::u16_at;
use crate::{
    ArpOperation, ArpPacket, Error, EtherType, EthernetFrame, IpProtocol, Ipv4Packet, Ipv6Packet, UdpDatagram,
    VlanHeader,
};

/// The most VLAN tags shown; a frame of nothing but tags stays one line of readable length.
const MAX_TAGS: usize = 4;

/// Describes a frame in one line, as `tcpdump -e` does: addresses, type, length, tags, and what IP or ARP say.
///
/// Malformed bytes end the line with the error in brackets. For people: the format may change.
///
/// ```
/// let mut frame = [0; 60];
/// frame[12..14].copy_from_slice(&[0x88, 0xb5]);
/// assert_eq!(
///     linerate_wire::summary(&frame),
///     "00:00:00:00:00:00 > 00:00:00:00:00:00, ethertype 0x88b5, length 60"
/// );
/// assert_eq!(linerate_wire::summary(&frame[..9]), "length 9 [ethernet: cut short]");
/// ```
pub fn summary(frame: &[u8]) -> String {
    Summary(frame).to_string()
}

struct Summary<'a>(&'a [u8]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = match EthernetFrame::new_checked(self.0) {
            Ok(frame) => frame,
            Err(error) => {
                write!(f, "length {}", self.0.len())?;
                return broken(f, error);
            }
        };
        write!(f, "{} > {}, {}, length {}", frame.src(), frame.dst(), frame.ethertype(), self.0.len())?;
        payload(f, frame.ethertype(), frame.payload())
    }
}

fn payload(f: &mut fmt::Formatter<'_>, mut ethertype: EtherType, mut bytes: &[u8]) -> fmt::Result {
    let mut separator = ": ";
    for _ in 0..MAX_TAGS {
        if !ethertype.is_vlan() {
            break;
        }
        let header = match VlanHeader::new_checked(bytes) {
            Ok(header) => header,
            Err(error) => return broken(f, error),
        };
        let tag = header.tag();
        write!(f, "{separator}vlan {}, p {}", tag.vid(), tag.priority().number())?;
        if tag.dei() {
            f.write_str(", DEI")?;
        }
        (ethertype, bytes, separator) = (header.ethertype(), header.payload(), ", ");
        write!(f, ", {ethertype}")?;
    }
    let described = match ethertype {
        EtherType::ARP => ArpPacket::new_checked(bytes).map(|packet| arp(f, &packet)),
        EtherType::IPV4 => Ipv4Packet::new_checked(bytes).map(|packet| ipv4(f, &packet)),
        EtherType::IPV6 => Ipv6Packet::new_checked(bytes).map(|packet| {
            let ends = (packet.src().into(), packet.dst().into());
            transport(f, ends, packet.next_header(), packet.payload())
        }),
        _ => return Ok(()),
    };
    described.unwrap_or_else(|error| broken(f, error))
}

fn arp(f: &mut fmt::Formatter<'_>, packet: &ArpPacket<&[u8]>) -> fmt::Result {
    match packet.operation() {
        ArpOperation::REQUEST => write!(f, ": Request who-has {} tell {}", packet.target_ip(), packet.sender_ip()),
        ArpOperation::REPLY => write!(f, ": Reply {} is-at {}", packet.sender_ip(), packet.sender_mac()),
        other => write!(f, ": {other}"),
    }
}

fn ipv4(f: &mut fmt::Formatter<'_>, packet: &Ipv4Packet<&[u8]>) -> fmt::Result {
    let (src, dst) = (packet.src(), packet.dst());
    if !packet.is_fragment() {
        return transport(f, (src.into(), dst.into()), packet.protocol(), packet.payload());
    }
    // Only the first fragment has ports, and none has a whole datagram.
    let (protocol, len) = (packet.protocol(), packet.payload().len());
    let more = if packet.more_fragments() { "+" } else { "" };
    write!(f, ": {src} > {dst}: {protocol}, fragment {}:{len}@{}{more}", packet.ident(), packet.fragment_offset())
}

fn transport(f: &mut fmt::Formatter<'_>, ends: (IpAddr, IpAddr), protocol: IpProtocol, bytes: &[u8]) -> fmt::Result {
    let (src, dst) = ends;
    let len = bytes.len();
    match protocol {
        IpProtocol::UDP => match UdpDatagram::new_checked(bytes) {
            Ok(udp) => {
                let (from, to, len) = (udp.src_port(), udp.dst_port(), udp.payload().len());
                write!(f, ": {src}.{from} > {dst}.{to}: UDP, length {len}")
            }
            Err(error) => {
                write!(f, ": {src} > {dst}: UDP")?;
                broken(f, error)
            }
        },
        IpProtocol::TCP if len >= 4 => {
            let (from, to) = (u16_at(bytes, 0), u16_at(bytes, 2));
            write!(f, ": {src}.{from} > {dst}.{to}: TCP, segment of {len}")
        }
        other => write!(f, ": {src} > {dst}: {other}, length {len}"),
    }
}

/// Writes the fault, without the advice in the error's own message.
fn broken(f: &mut fmt::Formatter<'_>, error: Error) -> fmt::Result {
    match error {
        Error::Truncated(what) => write!(f, " [{what}: cut short]"),
        Error::Malformed(what, field) => write!(f, " [{what}: bad {field}]"),
        other => write!(f, " [{other}]"),
    }
}

#[cfg(test)]
mod tests;
