//! Log pages (SPC-4, clause 7.3), LOG SENSE and LOG SELECT: only what is counted where it happens is told. Temperature,
//! starts and stops, and the use of a thin back end are not known, so they have no page.

use super::attention::Attentions;
use super::disks::Disks;
use super::unit::{Unit, UnitCounters};
use super::{Response, Step};
use linerate_block::{BackendError, Tag};
use linerate_wire::scsi::{Cdb, SenseKey, asc};
use std::collections::VecDeque;

/// Most results of self-tests that are kept (SPC-4, clause 7.3.17).
const RESULTS: usize = 20;

/// Page codes.
mod page {
    pub(super) const SUPPORTED: u8 = 0x00;
    pub(super) const WRITE_ERRORS: u8 = 0x02;
    pub(super) const READ_ERRORS: u8 = 0x03;
    pub(super) const SELF_TESTS: u8 = 0x10;
    pub(super) const STATISTICS: u8 = 0x19;
    pub(super) const EXCEPTIONS: u8 = 0x2f;
    /// Subpage of the list of pages with their subpages.
    pub(super) const ALL_SUBPAGES: u8 = 0xff;
}

const PAGES: [u8; 6] =
    [page::SUPPORTED, page::WRITE_ERRORS, page::READ_ERRORS, page::SELF_TESTS, page::STATISTICS, page::EXCEPTIONS];

/// Result of a self-test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SelfTestResult {
    /// SELF-TEST CODE that asked for it.
    pub(super) code: u8,
    /// SELF-TEST RESULTS (SPC-4, table 348): 0 is success.
    pub(super) result: u8,
    /// The first block that failed, and why.
    pub(super) failed: Option<(u64, SenseKey, (u8, u8))>,
}

/// Content of the log pages beyond the unit's counters.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Counters when the log was last cleared.
    since: UnitCounters,
    /// Operations that could not read the medium, or not write it.
    unread: u64,
    unwritten: u64,
    /// The newest is the first.
    tests: VecDeque<SelfTestResult>,
}

impl Log {
    /// Counts the outcome of an operation.
    pub(super) fn operated(&mut self, reads: bool, result: &Result<(), BackendError>) {
        if matches!(result, Err(BackendError::Medium)) {
            *if reads { &mut self.unread } else { &mut self.unwritten } += 1;
        }
    }

    /// Keeps the result of a self-test.
    pub(super) fn tested(&mut self, result: SelfTestResult) {
        self.tests.truncate(RESULTS - 1);
        self.tests.push_front(result);
    }
}

/// Appends a page to `to` (SPC-4, clause 7.3.2).
fn sense(unit: &Unit, page: u8, subpage: u8, pointer: u16, to: &mut Vec<u8>) -> Result<(), Response> {
    let (counters, log) = (&unit.counters, &unit.log);
    let since = |field: fn(&UnitCounters) -> u64| field(counters) - field(&log.since);
    let blocks = |field: fn(&UnitCounters) -> u64| since(field) / unit.block();
    let number = |value: u64| value.to_be_bytes().to_vec();
    let errors = |bytes, errors| vec![(5, COUNTER, number(bytes)), (6, COUNTER, number(errors))];
    // Parameters: their codes in ascending order, their control bytes and values.
    let parameters: Vec<(u16, u8, Vec<u8>)> = match (page, subpage) {
        (page::SUPPORTED, 0) => return list(0, PAGES.to_vec(), to, pointer),
        (page::SUPPORTED, page::ALL_SUBPAGES) => {
            let all = PAGES.iter().flat_map(|page| [*page, 0]);
            let first = [page::SUPPORTED, 0, page::SUPPORTED, page::ALL_SUBPAGES];
            return list(subpage, first.into_iter().chain(all.skip(2)).collect(), to, pointer);
        }
        // Bytes processed, and uncorrected errors (SPC-4, clause 7.3.8).
        (page::WRITE_ERRORS, 0) => errors(since(|counters| counters.bytes_written), log.unwritten),
        (page::READ_ERRORS, 0) => errors(since(|counters| counters.bytes_read), log.unread),
        (page::SELF_TESTS, 0) => {
            let results = (1..).zip(log.tests.iter().map(Some).chain(std::iter::repeat(None))).take(RESULTS);
            results.map(|(code, test)| (code, LIST, result(test))).collect()
        }
        // Commands and blocks; times are not measured, so their unit is 0 seconds (SPC-4, clause 7.3.10).
        (page::STATISTICS, 0) => {
            let commands = [since(|counters| counters.reads), since(|counters| counters.writes)];
            let moved = [blocks(|counters| counters.bytes_written), blocks(|counters| counters.bytes_read)];
            let all = commands.into_iter().chain(moved).chain([0; 4]);
            let unmeasured = |code| (code, LIST, vec![0; 8]);
            vec![(1, LIST, all.flat_map(u64::to_be_bytes).collect()), unmeasured(2), unmeasured(3)]
        }
        // There is none, and the temperature is not known (SPC-4, clause 7.3.11).
        (page::EXCEPTIONS, 0) => vec![(0, LIST, vec![0, 0, u8::MAX, 0])],
        (page, _) if PAGES.contains(&page) => return Err(Response::invalid_field(3, None)),
        _ => return Err(Response::invalid_field(2, Some(5))),
    };
    if parameters.last().is_none_or(|(code, ..)| pointer > *code) {
        return Err(Response::invalid_field(5, None));
    }
    let mut body = Vec::with_capacity(512);
    for (code, control, value) in parameters.into_iter().filter(|(code, ..)| *code >= pointer) {
        body.extend(code.to_be_bytes());
        let [.., len] = value.len().to_be_bytes();
        body.extend([control, len]);
        body.extend(value);
    }
    // DS: nothing is saved.
    put(0x80 | page, 0, &body, to);
    Ok(())
}

/// Control bytes of a counter and of a binary list (SPC-4, table 318: FORMAT AND LINKING).
const COUNTER: u8 = 0x02;
const LIST: u8 = 0x03;

/// Appends a list of pages, which has no parameters to point at.
fn list(subpage: u8, pages: Vec<u8>, to: &mut Vec<u8>, pointer: u16) -> Result<(), Response> {
    if pointer != 0 {
        return Err(Response::invalid_field(5, None));
    }
    put(if subpage == 0 { 0 } else { 0x40 }, subpage, &pages, to);
    Ok(())
}

fn put(first: u8, subpage: u8, body: &[u8], to: &mut Vec<u8>) {
    let [.., high, low] = body.len().to_be_bytes();
    to.extend([first, subpage, high, low]);
    to.extend(body);
}

/// Value of a self-test results parameter; zeros where there was no test (SPC-4, clause 7.3.17).
fn result(test: Option<&SelfTestResult>) -> Vec<u8> {
    let mut value = vec![0; 16];
    let Some(SelfTestResult { code, result, failed }) = test else { return value };
    value[0] = code << 5 | result & 0xf;
    // Hours of power are not counted. Without a failure, the address is all ones.
    value[4..12].fill(u8::MAX);
    if let Some((lba, key, code)) = failed {
        value[4..12].copy_from_slice(&lba.to_be_bytes());
        value[12..15].copy_from_slice(&[key.0 & 0xf, code.0, code.1]);
    }
    value
}

impl Disks {
    /// LOG SENSE (SPC-4, clause 6.10): appends the data to the scratch buffer.
    pub(super) fn log_sense(&mut self, tag: Tag, cdb: &Cdb) -> Result<(), Response> {
        let Cdb::LogSense { save, control, page, subpage, pointer, .. } = *cdb else {
            return Err(Response::illegal(asc::OPCODE));
        };
        if save {
            return Err(Response::invalid_field(1, Some(0)));
        }
        // There are no thresholds, and cumulative values begin at nothing. The lists of pages have no values.
        if control != 1 && page != page::SUPPORTED {
            return Err(Response::invalid_field(2, Some(7)));
        }
        sense(&self.units[self.tasks[tag].unit], page, subpage, pointer, &mut self.scratch)
    }

    /// LOG SELECT (SPC-4, clause 6.9): with PCR the counters begin again. No parameter can be set to a value.
    pub(super) fn log_select(&mut self, tag: Tag, cdb: &Cdb) -> Result<Step, Response> {
        let Cdb::LogSelect { reset, save, page, subpage, len, .. } = *cdb else {
            return Err(Response::illegal(asc::OPCODE));
        };
        if save {
            return Err(Response::invalid_field(1, Some(0)));
        }
        if len != 0 {
            return Err(Response::invalid_field(7, None));
        }
        if subpage != 0 {
            return Err(Response::invalid_field(3, None));
        }
        if !PAGES.contains(&page) {
            return Err(Response::invalid_field(2, Some(5)));
        }
        if !reset {
            return Ok(Step::End(Response::good(0)));
        }
        let (index, nexus) = (self.tasks[tag].unit, self.tasks[tag].nexus);
        let Unit { log, counters, .. } = &mut self.units[index];
        let named = |code| matches!(page, page::SUPPORTED) || page == code;
        if named(page::WRITE_ERRORS) {
            (log.since.bytes_written, log.unwritten) = (counters.bytes_written, 0);
        }
        if named(page::READ_ERRORS) {
            (log.since.bytes_read, log.unread) = (counters.bytes_read, 0);
        }
        if named(page::STATISTICS) {
            log.since = *counters;
        }
        self.tell(index, Attentions::LOG_CHANGED, Some(nexus));
        Ok(Step::End(Response::good(0)))
    }
}
