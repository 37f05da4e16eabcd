//! Self-tests: blocks are read, and verified against their protection information.

use super::{Next, Outcome, Tools};
use crate::scsi::Response;
use crate::scsi::log::SelfTestResult;
use crate::scsi::response::failure;
use linerate_wire::scsi::{Sense, SenseKey, asc};

/// A self-test of SEND DIAGNOSTIC (SPC-4, clause 5.9): the short one reads the first, the middle and the last block, the
/// extended one all of them.
#[derive(Debug)]
pub(in crate::scsi) struct SelfTest {
    /// SELF-TEST CODE.
    code: u8,
    extended: bool,
    /// Reads that have ended well, and the first block of the present one.
    done: u64,
    lba: u64,
    /// The reason for which it failed.
    failed: Option<Sense>,
    ended: bool,
}

impl SelfTest {
    pub(in crate::scsi) fn new(code: u8, extended: bool) -> Self {
        Self { code, extended, done: 0, lba: 0, failed: None, ended: false }
    }

    /// Result for the log; of a test that was cut short, if it has not ended.
    pub(in crate::scsi) fn result(&self) -> SelfTestResult {
        // SPC-4, table 348: aborted otherwise than by SEND DIAGNOSTIC, and failed in an unknown element.
        let result = match (self.ended, self.failed) {
            (true, None) => 0,
            (true, Some(_)) => 4,
            (false, _) => 2,
        };
        let failed = self.failed.map(|sense| (sense.information.unwrap_or(self.lba), sense.key, sense.code));
        SelfTestResult { code: self.code, result, failed }
    }

    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        let judged = match (outcome.result, outcome.buffer) {
            (Err(error), buffer) => {
                tools.give(buffer);
                Err(failure(error, false, self.lba))
            }
            (Ok(()), Some(mut buffer)) => {
                let verified = tools.verify_and_strip(self.lba, &mut buffer);
                tools.pool.give(buffer);
                self.done += 1;
                verified
            }
            (Ok(()), None) => Ok(()),
        };
        if let Err(response) = judged {
            self.failed = response.parsed_sense();
            self.ended = true;
            // SPC-4, clause 5.9.1.
            return Response::check(&Sense::new(SenseKey::HARDWARE_ERROR, asc::SELF_TEST_FAILED)).into();
        }
        let all = tools.geometry.blocks;
        let piece = tools.piece(all);
        let (lba, blocks) = match self.done {
            done if self.extended => (done * piece, tools.piece(all.saturating_sub(done * piece))),
            0 => (0, 1),
            1 => (all / 2, 1),
            2 => (all - 1, 1),
            _ => (0, 0),
        };
        if blocks == 0 {
            self.ended = true;
            return tools.good();
        }
        self.lba = lba;
        tools.read(lba, blocks)
    }
}
