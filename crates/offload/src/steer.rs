//! Receive filters: rules that direct a flow to a queue before RSS is applied. A rule gives exact values for some of a
//! packet's fields and leaves the others open; of the rules that match, the one at the lowest location wins, as with
//! ethtool's n-tuple filters.
//!
//! Rules on the same fields form a group with one hash table ("tuple space search", Srinivasan and others, 1999): a
//! packet costs one lookup for each group, however many rules there are.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use linerate_wire::{EtherType, IpProtocol, MacAddr};

use super::headers::{Headers, Ip, Version, u16_at};

/// Fields of a received frame that rules can match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowKey {
    pub src_mac: MacAddr,
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
            src_mac: MacAddr(head.get(6..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default()),
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
    pub src_mac: Option<MacAddr>,
    pub dst_mac: Option<MacAddr>,
    /// VLAN, 0 for untagged.
    pub vlan: Option<u16>,
    /// EtherType after all tags.
    pub ethertype: Option<EtherType>,
    /// Network of the source IP address.
    pub src: Option<Prefix>,
    /// Network of the destination IP address.
    pub dst: Option<Prefix>,
    /// Protocol above IP.
    pub protocol: Option<IpProtocol>,
    pub src_port: Option<u16>,
    pub dst_port: Option<u16>,
}

/// A network: the first bits of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

/// Error of a text that is no network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give an address, or a network as 10.0.0.0/8 or fd00::/16")]
pub struct PrefixError;

impl Prefix {
    /// The network of the first `len` bits of an address; None if it has fewer.
    #[must_use]
    pub fn new(address: IpAddr, len: u8) -> Option<Self> {
        let masked = match address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32_u32.checked_sub(len.into())?).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128_u32.checked_sub(len.into())?).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
        };
        Some(Self { address: masked, len })
    }

    /// Its first address.
    #[must_use]
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// The network of the same size that an address of the same family is in.
    #[inline]
    fn around(self, address: IpAddr) -> Option<Self> {
        if self.address.is_ipv4() == address.is_ipv4() { Self::new(address, self.len) } else { None }
    }

    /// A number that is the same for networks of one family and size, and not 0.
    fn size(self) -> u8 {
        if self.address.is_ipv4() { 1 + self.len } else { 64 + self.len }
    }
}

impl<A: Into<IpAddr>> From<A> for Prefix {
    /// An address alone.
    fn from(address: A) -> Self {
        let address = address.into();
        Self { address, len: if address.is_ipv4() { 32 } else { 128 } }
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let (address, len) = text.split_once('/').map_or((text, None), |(address, len)| (address, Some(len)));
        let address: IpAddr = address.parse().map_err(|_| PrefixError)?;
        let Some(len) = len else { return Ok(address.into()) };
        len.parse().ok().and_then(|len| Self::new(address, len)).ok_or(PrefixError)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::from(self.address) {
            return self.address.fmt(f);
        }
        write!(f, "{}/{}", self.address, self.len)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Queue(u16),
    Drop,
    /// Deliver to this interface alone, whatever its address; to one of its queues, or as its own settings say.
    Interface(u16, Option<u16>),
    /// Deliver as without the rule, and a copy to this interface.
    Mirror(u16),
}

/// A receive filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Location in the table: the lowest one wins.
    pub location: u16,
    pub fields: Match,
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SteerError {
    #[error("filter: the table is full with {0} rules: delete one first")]
    Full(usize),
    #[error("filter: queue {queue} is not there: name 0 to {last}", last = queues.saturating_sub(1))]
    Queue { queue: u16, queues: u16 },
    #[error("filter: there is no interface {interface}: name 0 to {last}", last = interfaces.saturating_sub(1))]
    Interface { interface: u16, interfaces: u16 },
    #[error("filter: no rule at location {0}: see the list for those there are")]
    NoRule(u16),
    #[error("filter: {0}: no packet can fit such a rule")]
    Impossible(&'static str),
}

/// Table of the receive filters.
#[derive(Debug, Clone)]
pub struct Steering {
    queues: u16,
    /// Interfaces that rules can name; none in the table of a single one.
    interfaces: u16,
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
    pub const MAX_RULES: usize = 1024;

    /// An empty table, for an adapter of `queues` queues.
    #[must_use]
    pub const fn new(queues: u16) -> Self {
        Self { queues, interfaces: 0, rules: Vec::new(), groups: Vec::new() }
    }

    /// An empty table for an adapter of so many interfaces, each of `queues` queues.
    #[must_use]
    pub const fn of_interfaces(interfaces: u16, queues: u16) -> Self {
        Self { queues, interfaces, rules: Vec::new(), groups: Vec::new() }
    }

    /// Adds a rule, replacing one at the same location.
    ///
    /// # Errors
    ///
    /// [`SteerError`]; the table is unchanged then.
    pub fn insert(&mut self, rule: Rule) -> Result<(), SteerError> {
        let (interface, queue) = match rule.action {
            Action::Queue(queue) => (None, Some(queue)),
            Action::Drop => (None, None),
            Action::Interface(interface, queue) => (Some(interface), queue),
            Action::Mirror(interface) => (Some(interface), None),
        };
        let (queues, interfaces) = (self.queues, self.interfaces);
        if let Some(interface) = interface.filter(|interface| *interface >= interfaces) {
            return Err(SteerError::Interface { interface, interfaces });
        }
        if let Some(queue) = queue.filter(|queue| *queue >= queues) {
            return Err(SteerError::Queue { queue, queues });
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
    /// The fields that are given, and how much of each.
    fn names(&self) -> [u8; 9] {
        [
            self.src_mac.is_some().into(),
            self.dst_mac.is_some().into(),
            self.vlan.is_some().into(),
            self.ethertype.is_some().into(),
            self.src.map_or(0, Prefix::size),
            self.dst.map_or(0, Prefix::size),
            self.protocol.is_some().into(),
            self.src_port.is_some().into(),
            self.dst_port.is_some().into(),
        ]
    }

    /// Values of `key` in the fields that are given, to be compared with rules on the same fields.
    #[inline]
    fn of(&self, key: &FlowKey) -> Self {
        Self {
            src_mac: self.src_mac.and(Some(key.src_mac)),
            dst_mac: self.dst_mac.and(Some(key.dst_mac)),
            vlan: self.vlan.and(Some(key.vlan)),
            ethertype: self.ethertype.and(Some(key.ethertype)),
            src: self.src.and_then(|net| net.around(key.src?)),
            dst: self.dst.and_then(|net| net.around(key.dst?)),
            protocol: self.protocol.and(key.protocol),
            src_port: self.src_port.and(key.ports.map(|(src, _)| src)),
            dst_port: self.dst_port.and(key.ports.map(|(_, dst)| dst)),
        }
    }

    /// Checks that some packet can match.
    fn check(&self) -> Result<(), SteerError> {
        let family = |net: Prefix| if net.address.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
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
