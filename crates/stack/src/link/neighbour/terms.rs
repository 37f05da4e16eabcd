//! Inputs and outputs of the table of neighbours.

use std::net::IpAddr;

use linerate_wire::MacAddr;

#[cfg(doc)]
use super::Neighbours;

const SECOND: u64 = 1_000_000_000;

/// Sizes and times of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Neighbours at a time; at least one.
    pub capacity: usize,
    /// Packets held for each neighbour that is being resolved; at least one.
    pub queue: usize,
    /// Bytes held in all.
    pub queue_bytes: usize,
    /// Time for which an answer is believed, before a random factor of 0.5 to 1.5 (BaseReachableTime), in nanoseconds.
    pub reachable_ns: u64,
    /// Time for which a used neighbour may be confirmed by its answers before it is asked (DELAY_FIRST_PROBE_TIME).
    pub delay_ns: u64,
    /// Between two requests to one neighbour (RetransTimer).
    pub retrans_ns: u64,
    /// Requests before a neighbour counts as gone (MAX_MULTICAST_SOLICIT and MAX_UNICAST_SOLICIT); at least one.
    pub probes: u32,
    /// What hashes and the random factor are made from; keep it secret from the link.
    pub seed: u64,
}

impl Default for Config {
    /// RFC 4861, section 10, and 1024 neighbours, 16 packets each, 1 MB in all.
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
    /// The neighbour's address on the link.
    Found {
        /// Station to send to.
        mac: MacAddr,
        /// Differs from every earlier one of this neighbour if the MAC address could: a header made under the same
        /// number still is right.
        generation: u64,
    },
    /// Not known yet; [`Neighbours::poll`] asks. Give the packet to [`Neighbours::hold`].
    Unresolved,
}

/// Source of a mapping on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// From one who asks for an address of ours: an ARP request, or a neighbour solicitation's source link-layer address
    /// (RFC 4861, section 7.2.3). Likewise a router's solicitation or advertisement. May make a new entry.
    Solicitation,
    /// From a neighbour advertisement (RFC 4861, section 7.2.5). An ARP reply to our address is `solicited` and
    /// `overrides`; a gratuitous ARP or another's request is not `solicited`. Never makes an entry.
    Advertisement {
        /// The S flag: an answer to us, which proves that the neighbour hears us.
        solicited: bool,
        /// The O flag: the address replaces a different one.
        overrides: bool,
        /// The R flag: the neighbour is a router.
        router: bool,
    },
}

impl Heard {
    /// An ARP reply that was sent to us.
    pub const ARP_REPLY: Self = Self::Advertisement { solicited: true, overrides: true, router: false };
    /// A gratuitous ARP, or a request that is not for us: updates what is known, proves nothing.
    pub const ARP_GRATUITOUS: Self = Self::Advertisement { solicited: false, overrides: true, router: false };
}

/// What [`Neighbours::poll`] wants done.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send an ARP request or a neighbour solicitation for `ip`.
    SendRequest {
        /// Address to ask for.
        ip: IpAddr,
        /// Station to send it to; to all (broadcast, or the solicited-node group) when absent.
        unicast: Option<MacAddr>,
    },
    /// The neighbour did not answer and is forgotten: for each packet, ICMP host (address) unreachable is due.
    Failed {
        /// Address that did not answer.
        ip: IpAddr,
        /// What was held for it, oldest first.
        packets: Vec<Vec<u8>>,
    },
}

/// A packet that was not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HoldError {
    /// The neighbour is not being resolved: look it up first; if it was, the table is full of neighbours in use.
    #[error("neighbour: nobody is being asked for this address: look it up first, or give the table more capacity")]
    NotResolving,
    /// The packet alone exceeds what may be held in all.
    #[error("neighbour: packet larger than all that may be held: raise queue_bytes")]
    TooLarge,
}

/// There is no place for a static neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neighbour: the table is full of neighbours in use: give it more capacity")]
pub struct TableFull;

/// The states of RFC 4861, section 7.3.2, and one for what was configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Asked for, no answer yet.
    Incomplete,
    /// Answered of late.
    Reachable,
    /// Not heard of for a while, and not used since.
    Stale,
    /// Used since; will be asked soon.
    Delay,
    /// Being asked again.
    Probe,
    /// Configured.
    Permanent,
}

/// One row of the table, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// Its IP address.
    pub ip: IpAddr,
    /// Its address on the link, when known.
    pub mac: Option<MacAddr>,
    /// Its state.
    pub state: State,
    /// True if it said that it is a router.
    pub router: bool,
    /// Of its mapping; see [`Lookup::Found`].
    pub generation: u64,
    /// Packets held for it.
    pub held: usize,
}

/// Counts of events since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests asked for.
    pub requests: u64,
    /// Neighbours that did not answer.
    pub failed: u64,
    /// Neighbours that lost their place to another.
    pub evicted: u64,
    /// Look-ups and requests that found no place in the table.
    pub table_full: u64,
    /// MAC addresses that changed.
    pub moved: u64,
    /// Claims not followed: a group's MAC address, or an address that was not asked for or is not to be replaced.
    pub ignored: u64,
    /// Packets held.
    pub held: u64,
    /// Packets held that were dropped for newer ones, or with their neighbour's place. Those of [`Action::Failed`] are
    /// not among them.
    pub held_dropped: u64,
}
