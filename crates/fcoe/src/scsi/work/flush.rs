//! SYNCHRONIZE CACHE.

use super::{Next, Outcome, Tools};
use crate::scsi::response::failure;
use linerate_block::Operation;

/// One flush.
#[derive(Debug, Default)]
pub(in crate::scsi) struct Flush {
    asked: bool,
}

impl Flush {
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        tools.give(outcome.buffer);
        if let Err(error) = outcome.result {
            return failure(error, true, 0).into();
        }
        if std::mem::replace(&mut self.asked, true) { tools.good() } else { Next::Submit(Operation::Flush) }
    }
}
