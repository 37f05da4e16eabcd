//! Inputs and outputs of the neighbour table.

use std::net::IpAddr;

use linerate_wire::MacAddr;

#[cfg(doc)]
use super::Neighbours;

const SECOND: u64 = 1_000_000_000;

/// Sizes and times of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Most neighbours at a time; at least one.
    pub capacity: usize,
    /// Most packets held for each neighbour that is being resolved; at least one.
    pub queue: usize,
    /// Most bytes held in all.
    pub queue_bytes: usize,
    /// Time for which an answer is valid, before a random factor of 0.5 to 1.5 (BaseReachableTime), in nanoseconds.
    pub reachable_ns: u64,
    /// Time after use for which a confirmation is awaited before a probe is sent (DELAY_FIRST_PROBE_TIME), in
    /// nanoseconds.
    pub delay_ns: u64,
    /// Time between two requests to one neighbour (RetransTimer), in nanoseconds.
    pub retrans_ns: u64,
    /// Requests before a neighbour counts as unreachable (MAX_MULTICAST_SOLICIT and MAX_UNICAST_SOLICIT); at least one.
    pub probes: u32,
    /// Seed for hashes and the random factor; keep it secret from the link.
    pub seed: u64,
}

impl Default for Config {
    /// Values of RFC 4861, section 10, and 1024 neighbours, 16 packets each, 1 MB in all.
    fn default() -> Self {
        Self {
            capacity: 1024,
            queue: 16,
            queue_bytes: 1_000_000,
            reachable_ns: 30 * SECOND,
            delay_ns: 5 * SECOND,
            retrans_ns: SECOND,
            probes: 3,
            seed: 0,
        }
    }
}

/// Result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The neighbour's MAC address is known.
    Found {
        /// MAC address to send to.
        mac: MacAddr,
        /// Differs from every earlier generation of this neighbour if its MAC address may differ: a header made under
        /// the same generation is still right.
        generation: u64,
    },
    /// Not known yet; [`Neighbours::poll`] requests it. Give the packet to [`Neighbours::hold`].
    Unresolved,
}

/// Kind of a message with a mapping of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Request for an address of ours: an ARP request, or a neighbour solicitation's source link-layer address (RFC
    /// 4861, section 7.2.3). Likewise a router's solicitation or advertisement. May make a new entry.
    Solicitation,
    /// Neighbour advertisement (RFC 4861, section 7.2.5). An ARP reply to our address is `solicited` and `overrides`; a
    /// gratuitous ARP or a request for another host is not `solicited`. Never makes an entry.
    Advertisement {
        /// S flag: an answer to us, which proves that the neighbour hears us.
        solicited: bool,
        /// O flag: the address replaces a different one.
        overrides: bool,
        /// R flag: the neighbour is a router.
        router: bool,
    },
}

impl Heard {
    /// An ARP reply that was sent to us.
    pub const ARP_REPLY: Self = Self::Advertisement { solicited: true, overrides: true, router: false };
    /// A gratuitous ARP, or a request for another host: updates an entry, proves no reachability.
    pub const ARP_GRATUITOUS: Self = Self::Advertisement { solicited: false, overrides: true, router: false };
}

/// Work requested by [`Neighbours::poll`].
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send an ARP request or a neighbour solicitation for `ip`.
    SendRequest {
        /// Address to be resolved.
        ip: IpAddr,
        /// Station to send it to; None for all (broadcast, or the solicited-node group).
        unicast: Option<MacAddr>,
    },
    /// The neighbour did not answer and was removed: for each packet, ICMP host (address) unreachable is due.
    Failed {
        /// Address that did not answer.
        ip: IpAddr,
        /// Packets held for it, oldest first.
        packets: Vec<Vec<u8>>,
    },
}

/// Reason for which a packet was not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HoldError {
    /// The neighbour is not being resolved: look it up first; if it was, the table is full of neighbours in use.
    #[error("neighbour: nobody is being asked for this address: look it up first, or give the table more capacity")]
    NotResolving,
    /// The packet alone exceeds the limit of all held bytes.
    #[error("neighbour: packet larger than all that may be held: raise queue_bytes")]
    TooLarge,
}

/// There is no place for a static neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neighbour: the table is full of neighbours in use: give it more capacity")]
pub struct TableFull;

/// States of RFC 4861, section 7.3.2, and one for configured entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Requested, no answer yet.
    Incomplete,
    /// Confirmed recently.
    Reachable,
    /// Not confirmed for a while, and not used since.
    Stale,
    /// Used since it became STALE; will be probed soon.
    Delay,
    /// Being probed.
    Probe,
    /// Configured, never expires.
    Permanent,
}

/// One row of the table, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// IP address of the neighbour.
    pub ip: IpAddr,
    /// MAC address, if known.
    pub mac: Option<MacAddr>,
    /// State of the entry.
    pub state: State,
    /// True if it announced itself as a router.
    pub router: bool,
    /// Generation of the mapping; see [`Lookup::Found`].
    pub generation: u64,
    /// Number of packets held for it.
    pub held: usize,
}

/// Counts of events since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests passed to the caller to send.
    pub requests: u64,
    /// Neighbours that did not answer.
    pub failed: u64,
    /// Neighbours evicted for others.
    pub evicted: u64,
    /// Lookups and requests that found no place in the table.
    pub table_full: u64,
    /// Changes of a MAC address.
    pub moved: u64,
    /// Messages ignored: a group's MAC address, an address that was not requested, or one that may not be replaced.
    pub ignored: u64,
    /// Packets held.
    pub held: u64,
    /// Packets held that were dropped for newer ones, or because their entry was removed. Those of [`Action::Failed`]
    /// are not included.
    pub held_dropped: u64,
}
