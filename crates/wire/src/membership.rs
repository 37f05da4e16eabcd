//! Membership in groups of IP, as a bridge reads it from the frames that pass (RFC 4541): packets to a group are told
//! apart from queries, reports and hellos of routers, in one form for IGMP and MLD, whose versions 3 and 2 have records
//! of one layout.

use std::net::IpAddr;

use crate::field::{array_at, u16_at};

/// A packet to a group.
///
/// ```
/// use linerate_wire::*;
///
/// let query = GroupQuery { from: [0, 0, 0, 0].into(), group: None, sources: false, within_ms: 10_000 };
/// let packet = query.packet(125).expect("an IPv4 address, and groups of IPv4");
/// assert_eq!(GroupPacket::parse(EtherType::IPV4, &packet), Some(GroupPacket::Query(query)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupPacket<'a> {
    /// Data for this group.
    Data(IpAddr),
    /// A querier's question.
    Query(GroupQuery),
    /// A host's report: what it listens to, or no longer.
    Report(GroupRecords<'a>),
    /// A hello of a multicast router.
    Hello,
}

/// A querier's question who listens (RFC 3376, section 4.1; RFC 3810, section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupQuery {
    /// The querier.
    pub from: IpAddr,
    /// The group asked about; None: all groups.
    pub group: Option<IpAddr>,
    /// True if it asks about certain sources of the group only.
    pub sources: bool,
    /// Milliseconds within which listeners answer.
    pub within_ms: u64,
}

/// Relation of a host to a group, by a record of its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening {
    /// It listens to the group, or to some sources of it.
    Begins,
    /// It has left the group, or some sources of it, and may listen to others still: whoever wants to know asks.
    Ends,
}

/// A record of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRecord {
    /// The group.
    pub group: IpAddr,
    /// Actions of the host.
    pub listening: Listening,
}

/// The records of a report; those that say nothing are left out.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  record type  | auxiliary len |       number of sources       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |         group (4 or 16 bytes), its sources, auxiliary data …
/// ```
/// (RFC 3376, section 4.2.4; RFC 3810, section 5.2.4). A record that is cut short ends the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRecords<'a> {
    one: Option<GroupRecord>,
    bytes: &'a [u8],
    left: u16,
    /// Bytes of an address.
    each: usize,
}

impl<'a> GroupRecords<'a> {
    /// A report about one group, of the older versions.
    pub(crate) const fn one(group: IpAddr, listening: Listening) -> Self {
        Self { one: Some(GroupRecord { group, listening }), bytes: &[], left: 0, each: 4 }
    }

    /// `count` records with addresses of `each` bytes.
    pub(crate) const fn list(count: u16, bytes: &'a [u8], each: usize) -> Self {
        Self { one: None, bytes, left: count, each }
    }

    fn read(&mut self) -> Option<Option<GroupRecord>> {
        let head = self.bytes.get(..4 + self.each)?;
        let (kind, sources) = (head[0], usize::from(u16_at(head, 2)));
        let group = match self.each {
            4 => IpAddr::from(array_at::<4>(head, 4)),
            _ => IpAddr::from(array_at::<16>(head, 4)),
        };
        let len = head.len() + sources * self.each + usize::from(head[1]) * 4;
        self.bytes = self.bytes.get(len..)?;
        let listening = match kind {
            // MODE_IS_EXCLUDE and CHANGE_TO_EXCLUDE: all sources, or all but some.
            2 | 4 => Listening::Begins,
            // MODE_IS_INCLUDE, CHANGE_TO_INCLUDE and ALLOW_NEW_SOURCES: those sources.
            1 | 3 | 5 if sources > 0 => Listening::Begins,
            // CHANGE_TO_INCLUDE of none, and BLOCK_OLD_SOURCES.
            3 | 6 => Listening::Ends,
            _ => return Some(None),
        };
        Some(group.is_multicast().then_some(GroupRecord { group, listening }))
    }
}

impl Iterator for GroupRecords<'_> {
    type Item = GroupRecord;

    fn next(&mut self) -> Option<GroupRecord> {
        if let Some(one) = self.one.take() {
            return Some(one);
        }
        while self.left > 0 {
            self.left -= 1;
            match self.read() {
                Some(Some(record)) => return Some(record),
                Some(None) => {}
                None => self.left = 0,
            }
        }
        None
    }
}

/// Least code of a time that is a floating-point number of 8 bits: a mantissa of 4, an exponent of 3 (RFC 3376, section
/// 4.1.1).
pub(crate) const FLOATS_8: u16 = 0x80;
/// The same of 16 bits: a mantissa of 12, an exponent of 3 (RFC 3810, section 5.1.3).
pub(crate) const FLOATS_16: u16 = 0x8000;

/// The time that a code stands for, in the code's unit; codes from `floats` on are floating-point numbers.
pub(crate) fn time_of(code: u16, floats: u16) -> u64 {
    if code < floats {
        return code.into();
    }
    // The leading one of the mantissa is left out: it stands where the exponent's lowest bit is.
    let mantissa_bits = if floats == FLOATS_8 { 4 } else { 12 };
    let hidden = 1u64 << mantissa_bits;
    let (mantissa, exponent) = (u64::from(code) & (hidden - 1), u64::from(code) >> mantissa_bits & 7);
    (mantissa | hidden) << (exponent + 3)
}
