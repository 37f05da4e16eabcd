//! Receive-side scaling: the Toeplitz hash over addresses and ports, FCoE's exchange ID, and the indirection table that
//! maps either to a queue.
//!
//! The hash, its key, its inputs and the verification vectors are Microsoft's ("RSS Hashing Functions", "Verifying the
//! RSS Hash Calculation"). Ports of fragments are not hashed, since later fragments have none.

use linerate_wire::IpProtocol;
use std::fmt;
use std::str::FromStr;

use super::fc_hash;
use super::headers::{Headers, Version};

/// Bytes of a key: 36 of the longest input, and 4 of the hash.
pub const KEY_LEN: usize = 40;

/// The default key of the published vectors.
pub const DEFAULT_KEY: [u8; KEY_LEN] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b,
    0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac,
    0x01, 0xfa,
];

/// A key that repeats every 16 bits, so that both directions of a flow get one hash (Woo and Park, "Scalable TCP session
/// monitoring with symmetric receive-side scaling", 2012).
pub const SYMMETRIC_KEY: [u8; KEY_LEN] = {
    let mut key = [0x6d; KEY_LEN];
    let mut at = 1;
    while at < KEY_LEN {
        key[at] = 0x5a;
        at += 2;
    }
    key
};

/// The Toeplitz hash under one key, with precomputed sums: 16 words for each half byte of input, 4.5 KiB in all.
#[derive(Clone)]
pub struct Toeplitz {
    key: [u8; KEY_LEN],
    sums: Box<[[[u32; 16]; 2]; INPUT_LEN]>,
}

/// Bytes of the longest input: two IPv6 addresses and two ports.
const INPUT_LEN: usize = 36;

impl Toeplitz {
    #[must_use]
    pub fn new(key: [u8; KEY_LEN]) -> Self {
        let mut sums = Box::new([[[0; 16]; 2]; INPUT_LEN]);
        for (byte, halves) in sums.iter_mut().enumerate() {
            for (half, words) in halves.iter_mut().enumerate() {
                for (value, word) in words.iter_mut().enumerate() {
                    *word = (0..4).filter(|bit| value >> (3 - bit) & 1 == 1).fold(0, |sum, bit| {
                        // The hash adds, for each bit of input that is set, the 32 bits of the key that begin at it.
                        sum ^ window(&key, byte * 8 + half * 4 + bit)
                    });
                }
            }
        }
        Self { key, sums }
    }

    #[must_use]
    pub const fn key(&self) -> &[u8; KEY_LEN] {
        &self.key
    }

    /// Hash of `input`, bytes in network order: source address, destination address, source port, destination port, or
    /// the addresses alone. Bytes beyond the 36th are ignored.
    #[inline]
    #[must_use]
    pub fn hash(&self, input: &[u8]) -> u32 {
        self.sums
            .iter()
            .zip(input)
            .fold(0, |hash, ([high, low], &byte)| hash ^ high[usize::from(byte >> 4)] ^ low[usize::from(byte & 0xf)])
    }
}

impl std::fmt::Debug for Toeplitz {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toeplitz").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The 32 bits of `key` that begin at bit `at`, counted from the most significant.
fn window(key: &[u8; KEY_LEN], at: usize) -> u32 {
    (at..at + 32).fold(0, |word, bit| word << 1 | u32::from(key[bit / 8] >> (7 - bit % 8) & 1))
}

/// Set of the header fields that are hashed (VIRTIO 1.2, section 5.1.6.4.3: the bits are its
/// `VIRTIO_NET_RSS_HASH_TYPE_*`, except the last one, for FCoE, which it lacks).
///
/// It is printed and read as names joined by `+`, `all` or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashTypes(pub u32);

impl HashTypes {
    /// No hash type.
    pub const NONE: Self = Self(0);
    /// Addresses of IPv4.
    pub const IPV4: Self = Self(1);
    /// Addresses and ports of TCP on IPv4.
    pub const TCPV4: Self = Self(2);
    /// Addresses and ports of UDP on IPv4.
    pub const UDPV4: Self = Self(4);
    /// Addresses of IPv6.
    pub const IPV6: Self = Self(8);
    /// Addresses and ports of TCP on IPv6.
    pub const TCPV6: Self = Self(16);
    /// Addresses and ports of UDP on IPv6.
    pub const UDPV6: Self = Self(32);
    /// Exchange of FCoE: its OX_ID, unhashed.
    pub const FCOE: Self = Self(1 << 31);
    /// All of the above.
    pub const ALL: Self = Self(63 | Self::FCOE.0);
    const NAMES: [(Self, &str); 7] = [
        (Self::IPV4, "ipv4"),
        (Self::TCPV4, "tcpv4"),
        (Self::UDPV4, "udpv4"),
        (Self::IPV6, "ipv6"),
        (Self::TCPV6, "tcpv6"),
        (Self::UDPV6, "udpv6"),
        (Self::FCOE, "fcoe"),
    ];

    /// True if all of `other` are in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for HashTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        let names: Vec<_> = Self::NAMES.iter().filter(|(one, _)| self.contains(*one)).map(|(_, name)| *name).collect();
        f.write_str(if names.is_empty() { "none".into() } else { names.join("+") }.as_str())
    }
}

impl FromStr for HashTypes {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let one = |name| Self::NAMES.iter().find(|(_, known)| *known == name).map(|(one, _)| *one);
        match text {
            "all" => Ok(Self::ALL),
            "none" => Ok(Self::NONE),
            _ => text.split('+').try_fold(Self::NONE, |set, name| Some(set.union(one(name)?))).ok_or(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RssError {
    #[error("rss: a table of {0} entries: give a power of two from 1 to {max}", max = Rss::MAX_ENTRIES)]
    Entries(usize),
    #[error("rss: the table names queue {queue}, but there are {queues}: name 0 to {last}", last = queues.saturating_sub(1))]
    Queue { queue: u16, queues: u16 },
}

/// Receive-side scaling of one adapter: key, hash types, indirection table.
#[derive(Debug, Clone)]
pub struct Rss {
    toeplitz: Toeplitz,
    types: HashTypes,
    table: Vec<u16>,
    queues: u16,
}

impl Rss {
    /// Most entries that a table may have.
    pub const MAX_ENTRIES: usize = 4096;

    /// Entries of the default table: the number in Microsoft's RSS specification.
    pub const ENTRIES: usize = 128;

    /// Scaling over `queues` (at least 1): all hash types, the default key, each queue equally often in the table.
    #[must_use]
    pub fn new(queues: u16) -> Self {
        let queues = queues.max(1);
        let table = (0..queues).cycle().take(Self::ENTRIES).collect();
        Self { toeplitz: Toeplitz::new(DEFAULT_KEY), types: HashTypes::ALL, table, queues }
    }

    pub fn set_key(&mut self, key: [u8; KEY_LEN]) {
        self.toeplitz = Toeplitz::new(key);
    }

    pub fn set_types(&mut self, types: HashTypes) {
        self.types = types;
    }

    /// Sets another indirection table.
    ///
    /// # Errors
    ///
    /// [`RssError`]; the old table stays then.
    pub fn set_table(&mut self, table: &[u16]) -> Result<(), RssError> {
        if !table.len().is_power_of_two() || table.len() > Self::MAX_ENTRIES {
            return Err(RssError::Entries(table.len()));
        }
        if let Some(&queue) = table.iter().find(|&&queue| queue >= self.queues) {
            return Err(RssError::Queue { queue, queues: self.queues });
        }
        table.clone_into(&mut self.table);
        Ok(())
    }

    /// Toeplitz hash, with its key.
    #[must_use]
    pub const fn toeplitz(&self) -> &Toeplitz {
        &self.toeplitz
    }

    #[must_use]
    pub const fn types(&self) -> HashTypes {
        self.types
    }

    /// Indirection table: queues, indexed by the hash's low bits.
    #[must_use]
    pub fn table(&self) -> &[u16] {
        &self.table
    }

    #[must_use]
    pub const fn queues(&self) -> u16 {
        self.queues
    }

    /// Hash of a frame that begins with `head`, and its type; `None` if none of the types applies. A fragment is hashed
    /// by its addresses.
    #[inline]
    #[must_use]
    pub fn hash(&self, headers: &Headers, head: &[u8]) -> Option<(u32, HashTypes)> {
        let Some(ip) = headers.ip else {
            let hash = fc_hash(headers, head).filter(|_| self.types.contains(HashTypes::FCOE));
            return hash.map(|hash| (hash, HashTypes::FCOE));
        };
        let (addresses, plain, tcp, udp) = match ip.version {
            Version::V4 => {
                (headers.network + 12..headers.network + 20, HashTypes::IPV4, HashTypes::TCPV4, HashTypes::UDPV4)
            }
            Version::V6 => {
                (headers.network + 8..headers.network + 40, HashTypes::IPV6, HashTypes::TCPV6, HashTypes::UDPV6)
            }
        };
        let mut input = [0; INPUT_LEN];
        let addresses = head.get(addresses)?;
        let len = addresses.len();
        input[..len].copy_from_slice(addresses);
        let with_ports = match ip.protocol {
            IpProtocol::TCP => tcp,
            IpProtocol::UDP => udp,
            _ => HashTypes::NONE,
        };
        let wanted = with_ports != HashTypes::NONE && self.types.contains(with_ports);
        if wanted
            && !ip.fragment
            && ip.transport + 4 <= ip.end
            && let Some(ports) = head.get(ip.transport..ip.transport + 4)
        {
            input[len..len + 4].copy_from_slice(ports);
            return Some((self.toeplitz.hash(&input[..len + 4]), with_ports));
        }
        self.types.contains(plain).then(|| (self.toeplitz.hash(&input[..len]), plain))
    }

    #[inline]
    #[must_use]
    pub fn queue(&self, hash: u32) -> u16 {
        // A power of two entries: the low bits, as published.
        let mask = self.table.len() - 1;
        self.table[hash as usize & mask]
    }
}

#[cfg(test)]
mod tests;
