//! Keep-alive (RFC 9293, section 3.8.4): a peer that has long said nothing is asked whether it is there.

use super::super::SECOND;
use super::{Connection, State};
use crate::due::Due;

/// Times at which a silent peer is asked whether it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before it is asked, ns.
    pub idle: u64,
    /// Time between two questions, ns.
    pub interval: u64,
    /// Questions without an answer, after which the connection is given up.
    pub probes: u8,
}

impl Default for KeepAlive {
    /// The usual systems': two hours, then nine times every 75 s.
    fn default() -> Self {
        Self { idle: 7200 * SECOND, interval: 75 * SECOND, probes: 9 }
    }
}

/// Questions to the peer.
#[derive(Debug)]
pub(super) struct Keep {
    /// Time to look whether the peer is silent; it is not set anew by each segment.
    pub(super) at: Due,
    /// Questions since the peer was heard.
    asked: u8,
}

impl Default for Keep {
    fn default() -> Self {
        Self { at: Due::NEVER, asked: 0 }
    }
}

impl Connection {
    /// Has a silent peer asked from now on whether it is there, or no more. It is not at first.
    pub fn set_keep_alive(&mut self, now: u64, how: Option<KeepAlive>) {
        self.config.keep_alive = how;
        self.keep = Keep { at: how.map_or(Due::NEVER, |how| Due::after(now.max(self.heard), how.idle)), asked: 0 };
    }

    /// Begins to listen for the peer, with the settings that the connection was made with.
    pub(super) fn keep(&mut self, now: u64) {
        self.set_keep_alive(now, self.config.keep_alive);
    }

    /// The time to look has come.
    pub(super) fn keep_alive(&mut self, now: u64) {
        let Some(how) = self.config.keep_alive else { return self.keep.at = Due::NEVER };
        if matches!(self.state, State::Closed | State::TimeWait) {
            return self.keep.at = Due::NEVER;
        }
        let silent = now.saturating_sub(self.heard);
        // What is under way asks by itself, and what waits for a window, too.
        let asks = !self.flight.is_empty() || !self.queue.is_empty();
        if silent < how.idle || asks {
            let since = if asks { now } else { self.heard };
            self.keep = Keep { at: Due::after(since, how.idle), asked: 0 };
        } else if self.keep.asked >= how.probes {
            let told = (self.nxt, Some(self.receive.nxt()));
            self.give_up();
            self.reset = Some(told);
        } else {
            self.keep = Keep { at: Due::after(now, how.interval), asked: self.keep.asked + 1 };
            self.timers.probe = true;
        }
    }
}
