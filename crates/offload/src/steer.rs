//! Receive filters: rules that direct a flow to a queue before RSS is applied. A rule gives exact values for some of a
//! packet's fields and leaves the others open; of the rules that match, the one at the lowest location wins, as with
//! ethtool's n-tuple filters.
//!
//! Rules on the same fields form a group with one hash table ("tuple space search", Srinivasan and others, 1999): a
//! packet costs one lookup for each group, however many rules there are.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linerate_wire::{EtherType, IpProtocol, MacAddr};

use super::headers::{Headers, Ip, Version, u16_at};

/// Fields of a received frame that rules can match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowKey {
    /// Destination MAC address.
    pub dst_mac: MacAddr,
    /// VLAN of the outermost tag, stripped or not; 0 without one.
    pub vlan: u16,
    /// EtherType after all tags.
    pub ethertype: EtherType,
    /// Source IP address, if it is IP.
    pub src: Option<IpAddr>,
    /// Destination IP address, if it is IP.
    pub dst: Option<IpAddr>,
    /// Protocol above IP.
    pub protocol: Option<IpProtocol>,
    /// Source and destination port of TCP, UDP and SCTP, not of fragments.
    pub ports: Option<(u16, u16)>,
}

impl FlowKey {
    /// Extracts the key of a frame that begins with `head`; `stripped` is the tag that the adapter removed, 0 for none.
    #[inline]
    #[must_use]
    pub fn new(headers: &Headers, head: &[u8], stripped: u16) -> Self {
        let tag = if stripped == 0 { headers.tag.map_or(0, |tag| tag.0) } else { stripped };
        let ip = headers.ip;
        let addresses = ip.and_then(|ip| addresses(head, headers.network, &ip));
        let ports = ip.filter(|ip| has_ports(ip.protocol) && !ip.fragment && ip.transport + 4 <= ip.end);
        Self {
            dst_mac: MacAddr(head.first_chunk().copied().unwrap_or_default()),
            vlan: tag & 0xfff,
            ethertype: headers.ethertype,
            src: addresses.map(|(src, _)| src),
            dst: addresses.map(|(_, dst)| dst),
            protocol: ip.map(|ip| ip.protocol),
            ports: ports.and_then(|ip| Some((u16_at(head, ip.transport)?, u16_at(head, ip.transport + 2)?))),
        }
    }
}

/// Fields that a rule matches; `None` is any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Match {
    /// Destination MAC address.
    pub dst_mac: Option<MacAddr>,
    /// VLAN, 0 for untagged.
    pub vlan: Option<u16>,
    /// EtherType after all tags.
    pub ethertype: Option<EtherType>,
    /// Source IP address.
    pub src: Option<IpAddr>,
    /// Destination IP address.
    pub dst: Option<IpAddr>,
    /// Protocol above IP.
    pub protocol: Option<IpProtocol>,
    /// Source port.
    pub src_port: Option<u16>,
    /// Destination port.
    pub dst_port: Option<u16>,
}

/// Action on a packet that a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Deliver to this queue.
    Queue(u16),
    /// Drop.
    Drop,
}

/// A receive filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Location in the table: the lowest one wins.
    pub location: u16,
    /// Fields to match.
    pub fields: Match,
    /// Action on a match.
    pub action: Action,
}

/// Reason for which a rule is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SteerError {
    /// The table is full.
    #[error("filter: the table is full with {0} rules: delete one first")]
    Full(usize),
    /// The queue does not exist.
    #[error("filter: queue {queue} is not there: name 0 to {last}", last = queues.saturating_sub(1))]
    Queue {
        /// Queue of the rule.
        queue: u16,
        /// Number of queues.
        queues: u16,
    },
    /// There is no rule at this location.
    #[error("filter: no rule at location {0}: see the list for those there are")]
    NoRule(u16),
    /// No packet can match.
    #[error("filter: {0}: no packet can fit such a rule")]
    Impossible(&'static str),
}

/// Table of the receive filters.
#[derive(Debug, Clone)]
pub struct Steering {
    queues: u16,
    /// Rules in order of location.
    rules: Vec<Rule>,
    /// Groups in order of their lowest location.
    groups: Vec<Group>,
}

/// Rules on the same fields.
#[derive(Debug, Clone)]
struct Group {
    /// One rule's fields, to show which ones the group uses.
    names: Match,
    /// Lowest location in the group.
    best: u16,
    rules: HashMap<Match, Rule, BuildHasherDefault<Fold>>,
}

impl Steering {
    /// Most rules.
    pub const MAX_RULES: usize = 1024;

    /// An empty table, for an adapter of `queues` queues.
    #[must_use]
    pub const fn new(queues: u16) -> Self {
        Self { queues, rules: Vec::new(), groups: Vec::new() }
    }

    /// Adds a rule, replacing one at the same location.
    ///
    /// # Errors
    ///
    /// [`SteerError`]; the table is unchanged then.
    pub fn insert(&mut self, rule: Rule) -> Result<(), SteerError> {
        if let Action::Queue(queue) = rule.action
            && queue >= self.queues
        {
            return Err(SteerError::Queue { queue, queues: self.queues });
        }
        rule.fields.check()?;
        match self.rules.binary_search_by_key(&rule.location, |rule| rule.location) {
            Ok(at) => self.rules[at] = rule,
            Err(_) if self.rules.len() >= Self::MAX_RULES => return Err(SteerError::Full(self.rules.len())),
            Err(at) => self.rules.insert(at, rule),
        }
        self.regroup();
        Ok(())
    }

    /// Removes a rule.
    ///
    /// # Errors
    ///
    /// [`SteerError::NoRule`].
    pub fn remove(&mut self, location: u16) -> Result<Rule, SteerError> {
        let at = self.rules.binary_search_by_key(&location, |rule| rule.location);
        let rule = self.rules.remove(at.map_err(|_| SteerError::NoRule(location))?);
        self.regroup();
        Ok(rule)
    }

    /// All rules, by location.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// True if there are no rules: then no key is needed.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The first rule that a packet matches, if any.
    #[inline]
    #[must_use]
    pub fn classify(&self, key: &FlowKey) -> Option<&Rule> {
        let mut found: Option<&Rule> = None;
        for group in &self.groups {
            if found.is_some_and(|found| found.location < group.best) {
                break;
            }
            let rule = group.rules.get(&group.names.of(key));
            found = rule.into_iter().chain(found).min_by_key(|rule| rule.location);
        }
        found
    }

    /// Rebuilds the groups; rules change seldom.
    fn regroup(&mut self) {
        self.groups.clear();
        for &rule in &self.rules {
            let group = match self.groups.iter_mut().position(|group| group.names.names() == rule.fields.names()) {
                Some(at) => &mut self.groups[at],
                None => {
                    let group = Group { names: rule.fields, best: rule.location, rules: HashMap::default() };
                    self.groups.push(group);
                    let last = self.groups.len() - 1;
                    &mut self.groups[last]
                }
            };
            // In order of location: of equal rules the first stays.
            group.rules.entry(rule.fields).or_insert(rule);
        }
    }
}

impl Match {
    /// Flags of the fields that are given.
    fn names(&self) -> [bool; 8] {
        [
            self.dst_mac.is_some(),
            self.vlan.is_some(),
            self.ethertype.is_some(),
            self.src.is_some(),
            self.dst.is_some(),
            self.protocol.is_some(),
            self.src_port.is_some(),
            self.dst_port.is_some(),
        ]
    }

    /// Values of `key` in the fields that are given, to be compared with rules on the same fields.
    #[inline]
    fn of(&self, key: &FlowKey) -> Self {
        Self {
            dst_mac: self.dst_mac.and(Some(key.dst_mac)),
            vlan: self.vlan.and(Some(key.vlan)),
            ethertype: self.ethertype.and(Some(key.ethertype)),
            src: self.src.and(key.src),
            dst: self.dst.and(key.dst),
            protocol: self.protocol.and(key.protocol),
            src_port: self.src_port.and(key.ports.map(|(src, _)| src)),
            dst_port: self.dst_port.and(key.ports.map(|(_, dst)| dst)),
        }
    }

    /// Checks that some packet can match.
    fn check(&self) -> Result<(), SteerError> {
        let family = |address: IpAddr| if address.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
        if self.vlan.is_some_and(|vlan| vlan > 4095) {
            return Err(SteerError::Impossible("a VLAN beyond 4095"));
        }
        if let (Some(src), Some(dst)) = (self.src, self.dst)
            && family(src) != family(dst)
        {
            return Err(SteerError::Impossible("an IPv4 and an IPv6 address"));
        }
        let ethertype = self.src.or(self.dst).map(family).or(self.ethertype);
        if self.ethertype.is_some_and(|own| Some(own) != ethertype) {
            return Err(SteerError::Impossible("an EtherType other than the addresses'"));
        }
        let above = self.protocol.is_some() || self.src_port.is_some() || self.dst_port.is_some();
        if above && ethertype.is_some_and(|own| own != EtherType::IPV4 && own != EtherType::IPV6) {
            return Err(SteerError::Impossible("a protocol or port above an EtherType other than IP's"));
        }
        if (self.src_port.is_some() || self.dst_port.is_some()) && !self.protocol.is_none_or(has_ports) {
            return Err(SteerError::Impossible("a port of a protocol without ports"));
        }
        Ok(())
    }
}

const fn has_ports(protocol: IpProtocol) -> bool {
    const SCTP: IpProtocol = IpProtocol(132);

    matches!(protocol, IpProtocol::TCP | IpProtocol::UDP | SCTP)
}

#[inline]
fn addresses(head: &[u8], network: usize, ip: &Ip) -> Option<(IpAddr, IpAddr)> {
    let header = head.get(network..)?;
    Some(match ip.version {
        Version::V4 => {
            let at = |at: usize| header.get(at..)?.first_chunk().map(|bytes| Ipv4Addr::from(*bytes));
            (at(12)?.into(), at(16)?.into())
        }
        Version::V6 => {
            let at = |at: usize| header.get(at..)?.first_chunk().map(|bytes| Ipv6Addr::from(*bytes));
            (at(8)?.into(), at(24)?.into())
        }
    })
}

/// Hash by multiplying and folding: the keys in the table are the operator's, so packets cannot make them collide.
#[derive(Debug, Clone, Copy, Default)]
struct Fold(u64);

impl Hasher for Fold {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_ne_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "both halves of the product are added")]
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value ^ 0x9e37_79b9_7f4a_7c15) * 0xd1b5_4a32_d192_ed03_u128;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write(&value.to_ne_bytes());
    }

    /// Enum discriminants.
    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.write(&value.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests;
