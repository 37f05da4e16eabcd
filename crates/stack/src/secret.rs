//! Numbers that strangers must not predict: a host has one secret, and of it a key for each use, so that numbers of one use tell
//! nothing of another.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Ports that the host chooses (RFC 6335, section 6).
pub(crate) const EPHEMERAL: RangeInclusive<u16> = 49152..=65535;
/// Counters of [`Numbers`], each for all that a hash assigns to it.
const COUNTERS: usize = 1024;

/// Use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Use {
    /// Initial sequence numbers and offsets of timestamps (RFC 6528; RFC 7323, section 5.4).
    Sequence,
    /// Cookies in the answer to a SYN (RFC 4987, section 3.6).
    SynCookie,
    /// Cookies of Fast Open (RFC 7413).
    FastOpen,
    /// Ports of connections (RFC 6056, section 3.3.4).
    TcpPort,
    /// Ports of UDP sockets (RFC 6056, section 3.3.1).
    UdpPort,
    /// Identifications of fragments (RFC 7739, section 5.3).
    Ident,
    /// Places of connections in their table.
    Connections,
    /// Places of neighbours in theirs, and times at which they are asked.
    Neighbours,
    /// Waits before the probes for an address (RFC 5227, section 2.1.1).
    Probes,
    /// Waits before reports of groups (RFC 3810, section 6.2).
    Reports,
}

/// A host's secret.
#[derive(Clone, Copy)]
pub(crate) struct Secret(u64);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn key(self, of: Use) -> Keyed {
        Keyed(Keyed(self.0).hash_one(of))
    }
}

/// Hasher with a key (SipHash, of the standard library): who chooses what is hashed knows nothing of the hash.
#[derive(Clone, Copy)]
pub(crate) struct Keyed(u64);

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyed")
    }
}

impl BuildHasher for Keyed {
    type Hasher = std::hash::DefaultHasher;

    fn build_hasher(&self) -> Self::Hasher {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write_u64(self.0);
        hasher
    }
}

/// Numbers of which each subject has a row of its own, that goes on by one from a beginning which only this host knows, and
/// comes again as late as can be; for all shards of a host. Who sees one subject's learns nothing of another's.
#[derive(Debug)]
pub(crate) struct Numbers {
    key: Keyed,
    counters: Box<[AtomicU32]>,
}

impl Numbers {
    pub(crate) fn new(key: Keyed) -> Self {
        Self { key, counters: (0..COUNTERS).map(|_| AtomicU32::new(0)).collect() }
    }

    pub(crate) fn next(&self, of: impl Hash) -> u32 {
        let hash = self.key.hash_one(of);
        // The low bits choose the counter, the high ones are the beginning.
        let place = usize::try_from(hash % COUNTERS as u64).unwrap_or(0);
        let [a, b, c, d, ..] = hash.to_be_bytes();
        // Relaxed: the number stands for itself.
        u32::from_be_bytes([a, b, c, d]).wrapping_add(self.counters[place].fetch_add(1, Relaxed))
    }
}

/// The port that a number chooses.
pub(crate) fn port(number: u64) -> u16 {
    let count = u64::from(EPHEMERAL.end() - EPHEMERAL.start()) + 1;
    EPHEMERAL.start() + u16::try_from(number % count).unwrap_or(0)
}
