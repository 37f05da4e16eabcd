//! Facts about a peer of the initiator.

use super::command::InitiatorCounters;
use crate::Peer;

/// SCSI statuses (SAM-5, clause 5.3.1).
const GOOD: u8 = 0x00;
const BUSY: u8 = 0x08;
const TASK_SET_FULL: u8 = 0x28;

#[derive(Debug)]
pub(super) struct Target {
    pub(super) peer: Peer,
    /// Commands at once, at most: what TASK SET FULL and GOOD say of its queue.
    pub(super) depth: u16,
    /// And ever.
    limit: u16,
    /// Commands whose outcome has not been told.
    pub(super) outstanding: u16,
    /// GOODs since the depth last changed.
    good: u16,
    /// It answers REC.
    pub(super) answers_rec: bool,
    /// That it should log out has been said.
    pub(super) hinted: bool,
    pub(super) counters: InitiatorCounters,
}

impl Target {
    pub(super) fn new(peer: &Peer, limit: u16) -> Self {
        Self {
            peer: *peer,
            depth: limit.max(1),
            limit: limit.max(1),
            outstanding: 0,
            good: 0,
            answers_rec: true,
            hinted: false,
            counters: InitiatorCounters::default(),
        }
    }

    /// Nanoseconds without progress after which the target is asked what it has: E_D_TOV and a second, REC_TOV (FCP-4,
    /// clause 11).
    pub(super) fn rec_tov(&self) -> u64 {
        self.peer.e_d_tov.saturating_add(1_000_000_000)
    }

    /// Nanoseconds to wait for the reply to ABTS: twice R_A_TOV (FCP-4, clause 12.3).
    pub(super) fn abort_tov(&self) -> u64 {
        self.peer.r_a_tov.saturating_mul(2)
    }

    /// A status has come, and the command is no longer outstanding: what it says about the target's queue. Full, the depth
    /// is what it holds now (SAM-5, clause 5.3.1: TASK SET FULL); it grows by one for each depth of commands that went well.
    pub(super) fn learn(&mut self, status: u8) {
        match status {
            TASK_SET_FULL | BUSY => {
                self.counters.task_set_full += 1;
                self.depth = self.outstanding.clamp(1, self.depth);
                self.good = 0;
            }
            GOOD if self.depth < self.limit => {
                self.good += 1;
                if self.good >= self.depth {
                    self.depth += 1;
                    self.good = 0;
                }
            }
            _ => {}
        }
    }
}
