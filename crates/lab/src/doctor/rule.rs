//! A rule: one thing to look at.

use super::finding::Finding;
use super::view::View;

/// Kind of a rule's subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Interface,
    Host,
    /// The peer that was named.
    Peer,
    /// The interface by which the peer is reached, and the peer's own.
    Ends,
}

/// Load that shows whether a finding's changes help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// TCP to the peer.
    Stream,
    /// TCP from the peer.
    Back,
    /// Requests to the peer, and its responses.
    Requests,
    /// None: the rule finds nothing any more.
    Look,
}

impl Proof {
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Stream => "TCP to a peer",
            Self::Back => "TCP from a peer",
            Self::Requests => "requests to a peer",
            Self::Look => "a second look",
        }
    }
}

/// Function that looks; the error is the reason why it cannot.
pub(super) type Look = fn(&View<'_>) -> Result<Vec<Finding>, String>;

pub struct Rule {
    /// Name, as in findings.
    pub name: &'static str,
    pub scope: Scope,
    pub about: &'static str,
    /// Meaning of a finding.
    pub means: &'static str,
    /// Publication of that.
    pub published: &'static str,
    pub proof: Proof,
    pub(super) look: Look,
}

pub(super) fn healthy() -> Result<Vec<Finding>, String> {
    Ok(Vec::new())
}
