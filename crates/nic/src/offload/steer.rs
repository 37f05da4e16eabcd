//! Receive filters: rules that send a flow to a queue before RSS is asked. A rule names some of a packet's fields
//! exactly and leaves the others open; of the rules that fit, the one at the lowest location wins, as with ethtool's
//! n-tuple filters.

use std::net::IpAddr;

use linerate_wire::{IpProtocol, MacAddr};

use super::headers::Headers;

/// The fields of a received frame that rules look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowKey {
    /// Destination address of the frame.
    pub dst_mac: MacAddr,
    /// VLAN of the outermost tag, stripped or not; 0 without one.
    pub vlan: u16,
    /// Type of the payload behind all tags.
    pub ethertype: u16,
    /// Source address, when it is IP.
    pub src: Option<IpAddr>,
    /// Destination address, when it is IP.
    pub dst: Option<IpAddr>,
    /// Protocol above IP.
    pub protocol: Option<IpProtocol>,
    /// Source and destination port of TCP, UDP and SCTP, not of fragments.
    pub ports: Option<(u16, u16)>,
}

impl FlowKey {
    /// The key of a frame that begins with `head`; `stripped` is the tag that the adapter took out of it, 0 for none.
    #[must_use]
    pub fn new(headers: &Headers, head: &[u8], stripped: u16) -> Self {
        let _ = (headers, head, stripped);
        todo!()
    }
}

/// What a rule asks of a packet; `None` is any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Match {
    /// Destination address of the frame.
    pub dst_mac: Option<MacAddr>,
    /// VLAN, 0 for untagged.
    pub vlan: Option<u16>,
    /// Type of the payload.
    pub ethertype: Option<u16>,
    /// IP source.
    pub src: Option<IpAddr>,
    /// IP destination.
    pub dst: Option<IpAddr>,
    /// Protocol above IP.
    pub protocol: Option<IpProtocol>,
    /// Source port.
    pub src_port: Option<u16>,
    /// Destination port.
    pub dst_port: Option<u16>,
}

/// What is done with a packet that a rule fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It goes to this queue.
    Queue(u16),
    /// It is dropped.
    Drop,
}

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Where it stands: lower ones win.
    pub location: u16,
    /// What it asks for.
    pub fields: Match,
    /// What it does.
    pub action: Action,
}

/// Why a rule is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SteerError {
    /// The table is full.
    #[error("filter: the table is full with {0} rules: delete one first")]
    Full(usize),
    /// No such queue.
    #[error("filter: queue {queue} is not there: name 0 to {last}", last = queues.saturating_sub(1))]
    Queue {
        /// The queue named.
        queue: u16,
        /// Queues there are.
        queues: u16,
    },
    /// No rule stands there.
    #[error("filter: no rule at location {0}: see the list for those there are")]
    NoRule(u16),
    /// No packet can fit.
    #[error("filter: {0}: no packet can fit such a rule")]
    Impossible(&'static str),
}

/// The table of rules.
#[derive(Debug, Clone)]
pub struct Steering {
    queues: u16,
    rules: Vec<Rule>,
}

impl Steering {
    /// The most rules.
    pub const MAX_RULES: usize = 1024;

    /// No rules, for an adapter of `queues`.
    #[must_use]
    pub fn new(queues: u16) -> Self {
        Self { queues, rules: Vec::new() }
    }

    /// Adds a rule; one that stands at its location is replaced.
    ///
    /// # Errors
    ///
    /// [`SteerError`]; the table is as it was then.
    pub fn insert(&mut self, rule: Rule) -> Result<(), SteerError> {
        todo!("{rule:?} {}", self.queues)
    }

    /// Takes a rule out.
    ///
    /// # Errors
    ///
    /// [`SteerError::NoRule`].
    pub fn remove(&mut self, location: u16) -> Result<Rule, SteerError> {
        todo!("{location}")
    }

    /// The rules, by location.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether there are no rules: then no key needs to be made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rule that a packet gets, if one fits.
    #[must_use]
    pub fn classify(&self, key: &FlowKey) -> Option<&Rule> {
        todo!("{key:?}")
    }
}
