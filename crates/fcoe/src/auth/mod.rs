//! Authentication of ports by DH-CHAP (FC-SP-2): each proves that it knows the secret of its name, which does not go over the
//! wire.
//!
//! Out of scope: frames are not signed. Who can send with the MAC address of a port that is logged in can speak for it.

mod compute;
mod guess;
mod transaction;

pub(crate) use transaction::{Ends, Heard, Transaction};

use compute::Draws;
use ctutils::CtEq;
use guess::Guesses;
use linerate_wire::Wwn;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;
use thiserror::Error;

/// A secret that two ports share.
#[derive(Clone)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Bytes of a secret: fewer could be guessed from what goes over the wire.
    pub const LENGTHS: RangeInclusive<usize> = 12..=128;

    /// None if it is too short or too long.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        Self::LENGTHS.contains(&bytes.len()).then(|| Self(bytes.into()))
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        is_same(&self.0, &other.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Compares bytes in a time that depends on their number only.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

/// Secrets, and who must prove its name.
#[derive(Debug, Clone, Default)]
pub struct AuthConfig {
    /// The secret of our own name.
    pub own: Option<Secret>,
    /// Secrets of other ports, by port name or node name.
    pub names: BTreeMap<Wwn, Secret>,
    /// Every port must prove its name; otherwise those that have a secret here.
    pub all: bool,
    /// Port names that need not nevertheless.
    pub open: BTreeSet<Wwn>,
}

impl AuthConfig {
    fn secret(&self, wwpn: Wwn, wwnn: Wwn) -> Option<&Secret> {
        self.names.get(&wwpn).or_else(|| self.names.get(&wwnn))
    }

    /// True if a port of these names may not log in without authentication.
    fn demands(&self, wwpn: Wwn, wwnn: Wwn) -> bool {
        (self.all || self.secret(wwpn, wwnn).is_some()) && !self.open.contains(&wwpn)
    }
}

/// The way in which a login was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthProof {
    /// Name of the hash function.
    pub hash: &'static str,
    /// Bits of the Diffie-Hellman group's modulus; zero without Diffie-Hellman.
    pub bits: u32,
    /// The peer has proved its name.
    pub theirs: bool,
    /// We have proved ours.
    pub ours: bool,
}

/// The reason for which a login could not be authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AuthFailure {
    /// The peer lets nobody in without authentication, and we have no secret.
    #[error("it lets nobody in without authentication: give --auth FILE with our own secret")]
    Demanded,
    /// The peer must prove its name, and does not offer to.
    #[error("it must authenticate itself and does not offer to: give it --auth, or take its line out of our file")]
    NotOffered,
    /// The peer's name has no secret here.
    #[error("our file of secrets has none for it: write a line with its name")]
    Unknown,
    /// The peer's response was not made with its secret, or it sends our own challenge or public value back.
    #[error("it does not know the secret that our file has for it: give both the same")]
    Wrong,
    /// The peer does not take our proof.
    #[error("it does not take our proof: its file must have for us the secret that ours has as own")]
    Refused,
    /// The peer has rejected a message with this explanation of [`linerate_wire::auth_explanation`].
    #[error("it has rejected our message with AUTH_Reject, explanation {0:02x}h: look at its log")]
    Rejected(u8),
    /// The peer's messages are not those of DH-CHAP, or it shares no hash function or group.
    #[error("its messages are not DH-CHAP's, or it shares no hash function or group with us: look at its settings")]
    Protocol,
    /// The peer puts us off, because too many authentications in our name have failed.
    #[error("it puts us off, as too many in our name have failed: wait a minute, and find out whose they are")]
    PutOff,
    /// The peer's next message did not come.
    #[error("its next message did not come: it has no secrets, or does not answer")]
    Silent,
}

/// Counters of authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuthCounters {
    /// Transactions that ended well.
    pub done: u64,
    /// Logins that could not be authenticated.
    pub failed: u64,
    /// Transactions put off because too many for that name had failed.
    pub put_off: u64,
    /// Messages of no transaction that was under way.
    pub strays: u64,
}

/// Secrets, random numbers, and what was tried.
#[derive(Debug)]
pub(crate) struct Authenticator {
    pub(crate) config: AuthConfig,
    draws: Draws,
    pub(crate) guesses: Guesses,
    pub(crate) counters: AuthCounters,
}

impl Authenticator {
    /// `seed` are random bytes that nobody else has, and that were given to nothing else.
    pub(crate) fn new(config: AuthConfig, seed: [u8; 32]) -> Self {
        let (draws, guesses) = (Draws::new(seed), Guesses::default());
        Self { config, draws, guesses, counters: AuthCounters::default() }
    }

    /// True if there is a secret of a port of these names.
    pub(crate) fn knows(&self, wwpn: Wwn, wwnn: Wwn) -> bool {
        self.config.secret(wwpn, wwnn).is_some()
    }

    pub(crate) fn demands(&self, wwpn: Wwn, wwnn: Wwn) -> bool {
        self.config.demands(wwpn, wwnn)
    }
}

#[cfg(test)]
mod tests;
