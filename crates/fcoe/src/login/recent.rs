//! Logins and logouts that a network delivers twice, the second one late.
//!
//! FLOGI and PLOGI end the session before them (FC-LS-3), so the twin of one would end the session that it has begun. It
//! is told by its header, OX_ID included, and its payload, and by its time: a port that repeats a request has waited for
//! the reply for seconds. The reply has been sent, so a twin is dropped.

use crate::twin::{WINDOW, digest};
use linerate_wire::{ElsCommand, FcHeader};

/// Requests of a neighbour that are remembered: one of each kind.
const REMEMBERED: usize = 4;

/// The last requests of a neighbour that begin or end sessions.
#[derive(Debug, Default)]
pub(super) struct Recent([Option<Request>; REMEMBERED]);

/// A request that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    at: u64,
    header: FcHeader,
    digest: u64,
}

impl Request {
    /// A request to remember, if it begins or ends a session.
    pub(super) fn of(at: u64, header: &FcHeader, payload: &[u8]) -> Option<Self> {
        matches!(ElsCommand::of(payload), ElsCommand::FLOGI | ElsCommand::PLOGI | ElsCommand::PRLI | ElsCommand::LOGO)
            .then(|| Self { at, header: *header, digest: digest(payload) })
    }
}

impl Recent {
    /// True if a request is the twin of one that was answered a moment ago.
    pub(super) fn has_twin(&self, of: &Request) -> bool {
        let is_twin =
            |known: &Request| *known == Request { at: known.at, ..*of } && of.at.saturating_sub(known.at) < WINDOW;
        self.0.iter().flatten().any(is_twin)
    }

    /// Remembers a request instead of the oldest.
    pub(super) fn note(&mut self, request: Request) {
        self.0.rotate_right(1);
        self.0[0] = Some(request);
    }
}
