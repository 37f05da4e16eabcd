//! SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS (SPC-4, clauses 6.28 and 6.42).

use super::disks::Disks;
use super::work::{SelfTest, Work};
use super::{Response, Step};
use linerate_block::Tag;
use linerate_wire::scsi::{Cdb, asc};

/// SELF-TEST CODE of the tests that end before the status (SPC-4, table 210).
const SHORT: u8 = 5;
const EXTENDED: u8 = 6;

impl Disks {
    /// SEND DIAGNOSTIC: self-tests in the foreground, and no pages. The extended one reads all blocks, which says nothing of
    /// memory.
    pub(super) fn send_diagnostic(&mut self, tag: Tag, cdb: &Cdb) -> Result<Step, Response> {
        let Cdb::SendDiagnostic { code, test, len, .. } = *cdb else { return Err(Response::illegal(asc::OPCODE)) };
        let index = self.tasks[tag].unit;
        match code {
            0 => {}
            SHORT if !test => {}
            EXTENDED if !test && !self.units[index].in_memory => {}
            _ => return Err(Response::invalid_field(1, Some(7))),
        }
        if len != 0 {
            return Err(Response::invalid_field(3, None));
        }
        if code == 0 && !test {
            return Ok(Step::End(Response::good(0)));
        }
        self.ready(index)?;
        let slot = &mut self.tasks[tag];
        slot.wanted = 0;
        slot.work = Work::SelfTest(SelfTest::new(code, code == EXTENDED));
        Ok(self.go(tag))
    }

    /// RECEIVE DIAGNOSTIC RESULTS: appends the list of pages, which is the only one, to the scratch buffer.
    pub(super) fn diagnosed(&mut self, coded: bool, page: u8) -> Result<(), Response> {
        if coded && page != 0 {
            return Err(Response::invalid_field(2, None));
        }
        self.scratch.extend([0, 0, 0, 1, 0]);
        Ok(())
    }
}
