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
    /// Present limit of commands at once, adapted to TASK SET FULL and GOOD.
    pub(super) depth: u16,
    /// Upper bound of `depth`.
    limit: u16,
    /// Commands whose outcome has not been reported.
    pub(super) outstanding: u16,
    /// GOODs since the depth last changed.
    good: u16,
    /// It answers REC.
    pub(super) answers_rec: bool,
    /// The recommendation to log out was reported.
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

    /// REC_TOV: nanoseconds without progress after which the target is asked for its status: E_D_TOV and a second
    /// (FCP-4, clause 11).
    pub(super) fn rec_tov(&self) -> u64 {
        self.peer.e_d_tov.saturating_add(1_000_000_000)
    }

    /// Nanoseconds to wait for the reply to ABTS: twice R_A_TOV (FCP-4, clause 12.3).
    pub(super) fn abort_tov(&self) -> u64 {
        self.peer.r_a_tov.saturating_mul(2)
    }

    /// Adapts the queue depth to the status of a command, which is no longer outstanding. On TASK SET FULL, the depth
    /// becomes the number of outstanding commands (SAM-5, clause 5.3.1); it grows by one after as many successful
    /// commands as the depth.
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
