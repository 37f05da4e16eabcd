//! Retries of requests without an answer, or with a rejection.

use super::table::{NeighbourIndex, State, fits};
use super::{E_D_TOV, Logins, SessionEnd, Ways};
use crate::AuthFailure;
use linerate_wire::ElsCommand;

/// Number of times that a request is repeated before the login waits for the neighbour's next beacon.
const RETRIES: u8 = 3;

impl Logins {
    /// Handles the timer of an entry.
    pub(super) fn wake(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        let Some(entry) = self.table.entry_mut(index) else { return };
        entry.wake = None;
        let (pending, state) = (entry.pending.take(), entry.state);
        let known = entry.info.role;
        // A name that must be proved from now on.
        if entry.up.is_some() && self.owes(index) {
            return self.log_out(now, index, SessionEnd::Unauthenticated, ways);
        }
        let Some(pending) = pending else {
            if self.wake_auth(now, index, ways) {
                return;
            }
            match state {
                // The neighbour may wait for a reply that it will not get, and refuses all else until then: LOGO ends
                // that.
                State::PlogiWait if fits(self.config.role, known) => {
                    self.log_out(now, index, SessionEnd::Silent, ways);
                }
                State::PlogiWait => self.reset(index),
                _ => self.again(now, index, ways),
            }
            return;
        };
        self.counters.timeouts += 1;
        match pending.command {
            ElsCommand::FLOGI | ElsCommand::PLOGI | ElsCommand::PRLI | ElsCommand::AUTH => {
                if self.may_retry(now, index, SessionEnd::Silent, ways) {
                    self.again(now, index, ways);
                }
            }
            ElsCommand::ADISC => self.restart(now, index, SessionEnd::Silent, ways),
            // Without an answer to RTV the default time-outs hold; LOGO is finished in any case.
            _ => self.settle(now, index, ways),
        }
    }

    /// Schedules a retry of a rejected or wrongly answered request, with time for others to finish.
    pub(super) fn retry_later(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        if self.may_retry(now, index, SessionEnd::Refused, ways) {
            self.wake_at(index, now.saturating_add(E_D_TOV));
        }
    }

    /// Counts a retry. After the last one the login is given up until the next beacon.
    fn may_retry(&mut self, now: u64, index: NeighbourIndex, why: SessionEnd, ways: &mut impl Ways) -> bool {
        let Some(entry) = self.table.entry_mut(index) else { return false };
        entry.retries += 1;
        if entry.retries > RETRIES {
            match entry.state {
                // The session came up by the other side's PRLI; ours is not needed.
                State::Prli if entry.up.is_some() => self.process_done(now, index, ways),
                State::Auth if entry.up.is_some() => self.process_login(now, index, ways),
                State::Auth => {
                    let why = if why == SessionEnd::Refused { AuthFailure::PutOff } else { AuthFailure::Silent };
                    self.unauthenticated(now, index, why, ways);
                }
                _ => self.log_out(now, index, why, ways),
            }
            return false;
        }
        self.counters.retries += 1;
        true
    }

    /// Repeats the request of the state.
    fn again(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        if self.send_auth_again(now, index, ways) {
            return;
        }
        let command = match self.table.entry(index).map(|entry| entry.state) {
            Some(State::Flogi) => ElsCommand::FLOGI,
            Some(State::Plogi) => ElsCommand::PLOGI,
            Some(State::Prli) => ElsCommand::PRLI,
            _ => return,
        };
        self.request(now, index, command, ways);
    }

    /// Ends a session that the peer no longer knows, and logs in again.
    pub(super) fn restart(&mut self, now: u64, index: NeighbourIndex, why: SessionEnd, ways: &mut impl Ways) {
        self.lose(index, why);
        self.reset(index);
        self.start(now, index, ways);
    }
}
