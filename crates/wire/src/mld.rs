//! Multicast listener discovery, versions 1 and 2 (RFC 2710; RFC 3810): what the hosts of a link listen to. Lists of
//! sources are counted, not read.

use std::net::{IpAddr, Ipv6Addr};

use crate::field::{put, put_u16, u16_at};
use crate::membership::{FLOATS_16, GroupPacket, GroupQuery, GroupRecords, Listening, time_of};
use crate::{Icmpv6Packet, IpProtocol, Ipv6Packet, Ipv6Repr};

const QUERY: u8 = 130;
const REPORT_V1: u8 = 131;
const DONE: u8 = 132;
const REPORT_V2: u8 = 143;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// Hop-by-hop options of all messages: next header, length, router alert for MLD (RFC 2711, section 2.1), padding.
const OPTIONS: [u8; 8] = [IpProtocol::ICMPV6.0, 0, 5, 2, 0, 0, 1, 0];
/// Reports of a change that a host sends (RFC 3810, section 9.1), in a query.
const ROBUSTNESS: u8 = 2;

/// Offsets of the fields (RFC 3810, section 5.1).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     type      |     code      |           checksum            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     maximum response code     |    reserved; in a report of   |
/// |                               |  version 2: number of records |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |       group (16 bytes); in a report of version 2: records     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | resv  |S| QRV |     QQIC      |       number of sources       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     sources …
/// ```
mod field {
    pub(super) const TYPE: usize = 0;
    pub(super) const CODE: usize = 4;
    pub(super) const RECORDS: usize = 6;
    pub(super) const GROUP: usize = 8;
    pub(super) const ROBUSTNESS: usize = 24;
    pub(super) const INTERVAL: usize = 25;
    pub(super) const SOURCES: usize = 26;
}

fn is_link_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xffc0 == 0xfe80
}

/// The message in a packet to a group; None if hosts and routers would not take it for one (RFC 3810, sections 5.1.14
/// and 5.2.13).
pub(crate) fn parse<'a>(ip: &Ipv6Packet<&'a [u8]>, message: &'a [u8]) -> Option<GroupPacket<'a>> {
    let (src, dst) = (ip.src(), ip.dst());
    let kind = *message.first()?;
    let known = matches!(kind, QUERY | REPORT_V1 | DONE | REPORT_V2);
    if !known || ip.hop_limit() != 1 || !(is_link_local(src) || src.is_unspecified()) {
        return None;
    }
    let icmp = Icmpv6Packet::new_checked(message).ok().filter(|icmp| icmp.verify_checksum(src, dst))?;
    if icmp.kind() == REPORT_V2 {
        let records = GroupRecords::list(u16_at(message, field::RECORDS), &message[field::GROUP..], 16);
        return Some(GroupPacket::Report(records));
    }
    let group = Ipv6Addr::from(message.get(field::GROUP..)?.first_chunk::<16>().copied()?);
    let one = |listening| {
        let report = GroupPacket::Report(GroupRecords::one(group.into(), listening));
        group.is_multicast().then_some(report)
    };
    match icmp.kind() {
        REPORT_V1 => one(Listening::Begins),
        DONE => one(Listening::Ends),
        _ => parse_query(ip, message, group).map(GroupPacket::Query),
    }
}

fn parse_query(ip: &Ipv6Packet<&[u8]>, message: &[u8], group: Ipv6Addr) -> Option<GroupQuery> {
    let code = u16_at(message, field::CODE);
    // RFC 3810, section 8.1: the version is told by the length.
    let (within_ms, sources) = match message.len() {
        24 => (code.into(), 0),
        28.. => (time_of(code, FLOATS_16), u16_at(message, field::SOURCES)),
        _ => return None,
    };
    let asked = if group.is_unspecified() { ALL_NODES } else { group };
    if ip.dst() != asked || !is_link_local(ip.src()) || !alerts_routers(ip) {
        return None;
    }
    let group = (!group.is_unspecified()).then_some(IpAddr::V6(group));
    Some(GroupQuery { from: ip.src().into(), group, sources: sources > 0, within_ms })
}

/// True if a packet's only extension header has the option that makes routers look at it for MLD (RFC 2711), with padding
/// before or behind it: hosts may drop what has others.
fn alerts_routers(ip: &Ipv6Packet<&[u8]>) -> bool {
    const ALERT: [u8; 4] = [5, 2, 0, 0];
    let header = ip.payload();
    ip.next_header() == IpProtocol::HOP_BY_HOP
        && header.starts_with(&OPTIONS[..2])
        && header.get(2..8).is_some_and(|options| match options {
            [alert @ .., 1, 0] | [alert @ .., 0, 0] | [1, 0, alert @ ..] | [0, 0, alert @ ..] => alert == ALERT,
            _ => false,
        })
}

/// The packet of a query of version 2 without sources.
pub(crate) fn query(from: Ipv6Addr, group: Option<Ipv6Addr>, within_ms: u64, interval_s: u8) -> Vec<u8> {
    let to = group.unwrap_or(ALL_NODES);
    let mut message = [0; 28];
    message[field::TYPE] = QUERY;
    put_u16(&mut message, field::CODE, u16::try_from(within_ms).unwrap_or(FLOATS_16).min(FLOATS_16 - 1));
    put(&mut message, field::GROUP, &group.unwrap_or(Ipv6Addr::UNSPECIFIED).octets());
    (message[field::ROBUSTNESS], message[field::INTERVAL]) = (ROBUSTNESS, interval_s.min(127));
    if let Ok(mut icmp) = Icmpv6Packet::new_checked(&mut message[..]) {
        icmp.fill_checksum(from, to);
    }
    let payload_len = OPTIONS.len() + message.len();
    let ip = Ipv6Repr { payload_len, hop_limit: 1, ..Ipv6Repr::new(from, to, IpProtocol::HOP_BY_HOP) };
    let mut packet = vec![0; 40 + payload_len];
    if let Ok(rest) = ip.emit(&mut packet) {
        rest[..OPTIONS.len()].copy_from_slice(&OPTIONS);
        rest[OPTIONS.len()..].copy_from_slice(&message);
    }
    packet
}
