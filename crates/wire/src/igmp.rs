//! IGMP, versions 1 to 3 (RFC 1112, appendix I; RFC 2236; RFC 3376): what the hosts of a link listen to. Lists of
//! sources are counted, not read.

use std::net::{IpAddr, Ipv4Addr};

use linerate_sum::checksum;

use crate::field::{array_at, put, put_u16, u16_at};
use crate::membership::{FLOATS_8, GroupPacket, GroupQuery, GroupRecords, Listening, time_of};
use crate::{IpProtocol, Ipv4Packet};

/// The protocol's number.
pub(crate) const PROTOCOL: IpProtocol = IpProtocol(2);

const QUERY: u8 = 0x11;
const REPORT_V1: u8 = 0x12;
const REPORT_V2: u8 = 0x16;
const LEAVE: u8 = 0x17;
const REPORT_V3: u8 = 0x22;

/// Time in ms within which a query of version 1, which says none, is answered (RFC 3376, section 7.2.1).
const WITHIN_V1: u64 = 10_000;
/// Bytes of an IPv4 header with the router alert option.
const HEADER: usize = 24;
/// Option that makes routers look at a packet (RFC 2113, section 2.1): its type and its length.
const ROUTER_ALERT: [u8; 2] = [0x94, 4];
/// Precedence of internetwork control (RFC 3376, section 4).
const CONTROL: u8 = 0xc0;
/// Reports of a change that a host sends (RFC 3376, section 8.1), in a query.
const ROBUSTNESS: u8 = 2;

/// Offsets of the fields (RFC 3376, section 4.1).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     type      | max resp code |           checksum            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |             group; in a report of version 3: records          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | resv  |S| QRV |     QQIC      |       number of sources       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     sources …
/// ```
mod field {
    pub(super) const TYPE: usize = 0;
    pub(super) const CODE: usize = 1;
    pub(super) const CHECKSUM: usize = 2;
    pub(super) const GROUP: usize = 4;
    /// In a report of version 3.
    pub(super) const RECORDS: usize = 6;
    pub(super) const ROBUSTNESS: usize = 8;
    pub(super) const INTERVAL: usize = 9;
    pub(super) const SOURCES: usize = 10;
}

/// The message in a packet to a group; None if hosts and routers would not take it for one.
pub(crate) fn parse<'a>(ip: &Ipv4Packet<&'a [u8]>) -> Option<GroupPacket<'a>> {
    let message = ip.payload();
    if message.len() < 8 || ip.ttl() != 1 || !ip.verify_checksum() || checksum(message) != 0 {
        return None;
    }
    let group = Ipv4Addr::from(array_at::<4>(message, field::GROUP));
    let one = |listening| {
        let report = GroupPacket::Report(GroupRecords::one(group.into(), listening));
        group.is_multicast().then_some(report)
    };
    match message[field::TYPE] {
        QUERY => parse_query(ip, message, group).map(GroupPacket::Query),
        REPORT_V1 | REPORT_V2 => one(Listening::Begins),
        LEAVE => one(Listening::Ends),
        REPORT_V3 => Some(GroupPacket::Report(GroupRecords::list(u16_at(message, field::RECORDS), &message[8..], 4))),
        _ => None,
    }
}

fn parse_query(ip: &Ipv4Packet<&[u8]>, message: &[u8], group: Ipv4Addr) -> Option<GroupQuery> {
    let code = message[field::CODE];
    // RFC 3376, section 7.1: the version is told by length and code.
    let (within_ms, sources) = match message.len() {
        8 if code == 0 => (WITHIN_V1, 0),
        8 => (u64::from(code) * 100, 0),
        12.. => (time_of(code.into(), FLOATS_8) * 100, u16_at(message, field::SOURCES)),
        _ => return None,
    };
    let is_v1 = message.len() == 8 && code == 0;
    let asked = if group.is_unspecified() { Ipv4Addr::new(224, 0, 0, 1) } else { group };
    // RFC 3376, section 9.1: hosts may ignore a query without the option, and those to an address of no group.
    if ip.dst() != asked || !(is_v1 || alerts_routers(ip)) {
        return None;
    }
    let group = (!group.is_unspecified()).then_some(IpAddr::V4(group));
    Some(GroupQuery { from: ip.src().into(), group, sources: sources > 0, within_ms })
}

/// True if a packet's only option is the one that makes routers look at it: hosts may drop what has others.
fn alerts_routers(ip: &Ipv4Packet<&[u8]>) -> bool {
    ip.options() == [ROUTER_ALERT[0], ROUTER_ALERT[1], 0, 0]
}

/// The packet of a query of version 3 without sources.
pub(crate) fn query(from: Ipv4Addr, group: Option<Ipv4Addr>, within_ms: u64, interval_s: u8) -> Vec<u8> {
    let to = group.unwrap_or(Ipv4Addr::new(224, 0, 0, 1));
    let mut packet = vec![0; HEADER + 12];
    let (header, message) = packet.split_at_mut(HEADER);
    // Version 4, six 32-bit words.
    (header[0], header[1]) = (0x46, CONTROL);
    put_u16(header, 2, 36);
    put_u16(header, 6, 0x4000);
    (header[8], header[9]) = (1, PROTOCOL.0);
    put(header, 12, &from.octets());
    put(header, 16, &to.octets());
    put(header, 20, &ROUTER_ALERT);
    let sum = checksum(header);
    put_u16(header, 10, sum);
    message[field::TYPE] = QUERY;
    // Tenths of a second, up to what is written as it is.
    message[field::CODE] = u8::try_from((within_ms / 100).clamp(1, 127)).unwrap_or(127);
    put(message, field::GROUP, &group.unwrap_or(Ipv4Addr::UNSPECIFIED).octets());
    (message[field::ROBUSTNESS], message[field::INTERVAL]) = (ROBUSTNESS, interval_s.min(127));
    let sum = checksum(message);
    put_u16(message, field::CHECKSUM, sum);
    packet
}
