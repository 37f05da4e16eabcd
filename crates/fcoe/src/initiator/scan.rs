//! Search for the disks of a target.

use super::command::{Command, Completed, Data, Outcome};
use super::disk::{FoundLun, command};
use crate::{AuthFailure, Lun};
use linerate_block::{Buffer, Tag};
use linerate_wire::scsi::{
    BlockCharacteristics, BlockLimits, BlockProvisioning, Capacity, Cdb, Designator, Inquiry, ModePage, Qualifier,
    Sense, SenseKey, VpdPage, asc, parse_luns, parse_mode,
};
use std::collections::VecDeque;
use thiserror::Error;

/// Time limit of each command, in nanoseconds.
const TIMEOUT: u64 = 15_000_000_000;
/// Most attempts of a command that the unit answers with UNIT ATTENTION, NOT READY or BUSY.
const TRIES: u8 = 12;
/// Nanoseconds between attempts with a unit that is not ready or busy.
const PAUSE: u64 = 500_000_000;
/// Most LUNs that are examined.
const LUNS: u32 = 4096;
/// Most times that the list of LUNs is read because it has changed meanwhile.
const LISTS: u8 = 4;
/// Allocation length of the scan's commands, except for the list of LUNs.
pub(super) const ALLOCATION: u8 = 252;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ScanError {
    #[error("the target was lost during the scan: scan again after its next login")]
    Lost,
    #[error("the target does not answer REPORT LUNS: look at its log, and whether it lets this initiator in")]
    NoLuns,
    #[error(transparent)]
    Unauthenticated(#[from] AuthFailure),
}

/// A LUN that was skipped, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    pub lun: Lun,
    pub why: SkipReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SkipReason {
    /// No unit is connected there, or it is no disk.
    #[error("not a disk")]
    NoDisk,
    #[error("INQUIRY fails")]
    Inquiry,
    #[error("not ready")]
    NotReady,
    /// The unit reports changes of itself again and again.
    #[error("it changes while it is examined")]
    Changes,
    #[error("its capacity cannot be read")]
    Capacity,
    /// Its blocks are not of 512 to 65536 bytes, a power of two.
    #[error("its blocks are of a strange size")]
    BlockSize,
}

/// Finds the disks of a target, one command after another: REPORT LUNS, then for each LUN INQUIRY, TEST UNIT
/// READY, the pages of INQUIRY, READ CAPACITY and MODE SENSE. A unit attention by which the unit may be another one begins its
/// examination again, so that all that is told of a unit is of one.
///
/// The owner submits the commands of [`LunScan::command`] to an [`Initiator`](super::Initiator), and returns the
/// completions with its tag, until [`LunScan::result`] has a value.
#[derive(Debug)]
pub struct LunScan {
    tag: Tag,
    step: Step,
    /// Number of attempts of the present step.
    tries: u8,
    /// Allocation length for the list of LUNs.
    list: u32,
    waits: bool,
    /// Time before which no command is given.
    not_before: u64,
    luns: VecDeque<Lun>,
    /// The LUN being examined.
    current: Option<FoundLun>,
    /// Number of times that its examination was begun again.
    again: u8,
    /// REQUEST SENSE is next: a unit may keep its attention until it is asked (SPC-4, clause 7.5.8, UA_INTLCK_CTRL).
    asks: bool,
    /// The list of LUNs may have changed since it was read.
    stale: bool,
    /// Number of times that it was read.
    lists: u8,
    pages: Pages,
    found: Vec<FoundLun>,
    skipped: Vec<Skipped>,
    error: Option<ScanError>,
}

/// Pages of vital product data that the unit has, among those that the scan reads.
#[derive(Debug, Clone, Copy, Default)]
struct Pages {
    serial: bool,
    designators: bool,
    limits: bool,
    characteristics: bool,
    provisioning: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Luns,
    Inquiry,
    Ready,
    Supported,
    Page(u8),
    Capacity16,
    Capacity10,
    Mode6,
    Mode10,
    Done,
}

impl LunScan {
    /// Scan whose commands have this tag.
    #[must_use]
    pub fn new(tag: Tag) -> Self {
        Self {
            tag,
            step: Step::Luns,
            tries: 0,
            list: 8 + 8 * 256,
            waits: false,
            not_before: 0,
            luns: VecDeque::new(),
            current: None,
            again: 0,
            asks: false,
            stale: false,
            lists: 0,
            pages: Pages::default(),
            found: Vec::new(),
            skipped: Vec::new(),
            error: None,
        }
    }

    /// The next command to submit; none while one is under way, during a pause, and at the end.
    pub fn command(&mut self, now: u64) -> Option<Command> {
        if self.waits || now < self.not_before {
            return None;
        }
        let lun = self.current.as_ref().map_or(Lun([0; 8]), |current| current.lun);
        let allocation = u16::from(ALLOCATION);
        let (cdb, len) = match self.step {
            Step::Done => return None,
            _ if self.asks => (Cdb::RequestSense { descriptors: false, allocation: ALLOCATION }, allocation.into()),
            Step::Luns => (Cdb::ReportLuns { select: 0, allocation: self.list }, self.list),
            Step::Inquiry => (Cdb::Inquiry { page: None, allocation }, allocation.into()),
            Step::Supported => (Cdb::Inquiry { page: Some(VpdPage::SUPPORTED), allocation }, allocation.into()),
            Step::Page(page) => (Cdb::Inquiry { page: Some(page), allocation }, allocation.into()),
            Step::Ready => (Cdb::TestUnitReady, 0),
            Step::Capacity16 => (Cdb::ReadCapacity16 { allocation: 32 }, 32),
            Step::Capacity10 => (Cdb::ReadCapacity10, 8),
            Step::Mode6 => (mode_sense(false), allocation.into()),
            Step::Mode10 => (mode_sense(true), allocation.into()),
        };
        let data = if len == 0 { Data::None } else { Data::In(Buffer::new(len as usize)) };
        let command = command(self.tag, lun, &cdb, data, TIMEOUT)?;
        self.waits = true;
        Some(command)
    }

    /// Time at which a pause ends.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        (!self.waits && self.not_before > 0 && self.step != Step::Done).then_some(self.not_before)
    }

    /// Processes the completion of a command of the scan.
    pub fn completed(&mut self, now: u64, completed: &Completed) {
        if !std::mem::replace(&mut self.waits, false) {
            return;
        }
        self.not_before = 0;
        match completed.outcome {
            Outcome::LinkLost => return self.fail(ScanError::Lost),
            _ if std::mem::take(&mut self.asks) => {
                // The attention in question, or the next one, of which nothing else tells then.
                if completed.is_good()
                    && let Ok(sense) = Sense::parse(completed.data())
                    && sense.key == SenseKey::UNIT_ATTENTION
                    && sense.questions_identity()
                    && !matches!(self.step, Step::Luns | Step::Done)
                {
                    self.questioned(&sense);
                }
                return;
            }
            Outcome::Response if completed.status == 0 => {
                self.tries = 0;
                self.good(completed.data());
                return;
            }
            _ => {}
        }
        self.tries += 1;
        let sense = Sense::parse(completed.sense()).ok().filter(|_| completed.status == 2);
        let key = sense.map(|sense| sense.key);
        let told = matches!(key, Some(SenseKey::UNIT_ATTENTION | SenseKey::ABORTED_COMMAND));
        let soon = matches!(key, Some(SenseKey::NOT_READY));
        self.asks = key == Some(SenseKey::UNIT_ATTENTION);
        if let Some(sense) = sense.filter(Sense::questions_identity)
            && !matches!(self.step, Step::Luns | Step::Done)
        {
            return self.questioned(&sense);
        }
        // CHECK CONDITION: conditions that end when reported, and those that may end soon, are retried, as any other
        // status is.
        let passes = completed.outcome == Outcome::Response && (completed.status != 2 || told || soon);
        if passes && self.tries < TRIES {
            if !told {
                self.not_before = now.saturating_add(PAUSE);
            }
            return;
        }
        self.tries = 0;
        self.bad();
    }

    /// Disks found; None until the end of the scan. The list is returned once.
    ///
    /// # Errors
    ///
    /// [`ScanError`].
    pub fn result(&mut self) -> Option<Result<Vec<FoundLun>, ScanError>> {
        if self.step != Step::Done {
            return None;
        }
        Some(self.error.map_or_else(|| Ok(std::mem::take(&mut self.found)), Err))
    }

    /// LUNs that are not disks, or not ready.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Continues after a successful command.
    fn good(&mut self, bytes: &[u8]) {
        match self.step {
            Step::Luns => self.listed(bytes),
            Step::Inquiry => self.inquired(bytes),
            Step::Ready => self.step = Step::Supported,
            Step::Supported => {
                let has = |page| VpdPage::parse(bytes).is_ok_and(|found| found.body.contains(&page));
                self.pages = Pages {
                    serial: has(VpdPage::SERIAL),
                    designators: has(VpdPage::DESIGNATORS),
                    limits: has(VpdPage::LIMITS),
                    characteristics: has(VpdPage::CHARACTERISTICS),
                    provisioning: has(VpdPage::PROVISIONING),
                };
                self.next_page();
            }
            Step::Page(page) => {
                if let (Some(current), Ok(found)) = (&mut self.current, VpdPage::parse(bytes))
                    && found.page == page
                {
                    take_page(current, &found);
                }
                self.next_page();
            }
            Step::Capacity16 => match Capacity::parse_16(bytes) {
                Ok(capacity) => self.sized(&capacity),
                Err(_) => self.skip(SkipReason::Capacity),
            },
            Step::Capacity10 => match Capacity::parse_10(bytes) {
                Ok(Some(capacity)) => self.sized(&capacity),
                Ok(None) | Err(_) => self.skip(SkipReason::Capacity),
            },
            Step::Mode6 | Step::Mode10 => {
                let ten = self.step == Step::Mode10;
                if let (Some(current), Ok((header, mut pages))) = (&mut self.current, parse_mode(ten, bytes)) {
                    current.read_only = header.write_protected;
                    current.fua = header.dpo_fua;
                    let cache = pages.find(|page| page.page == ModePage::CACHING && page.subpage == 0);
                    current.write_cache = cache.is_some_and(|page| page.body.first().is_some_and(|byte| byte & 4 != 0));
                }
                self.keep();
            }
            Step::Done => {}
        }
    }

    /// Continues after an answer by which the unit may be another one than what was read of it so far.
    fn questioned(&mut self, sense: &Sense) {
        self.tries = 0;
        self.stale |= sense.code == asc::LUNS_CHANGED;
        if sense.key != SenseKey::UNIT_ATTENTION {
            // A target may refuse a unit whose names were not asked for.
            return if self.step == Step::Ready { self.step = Step::Supported } else { self.bad() };
        }
        self.again += 1;
        if self.again >= TRIES {
            return self.skip(SkipReason::Changes);
        }
        self.current = self.current.take().map(|current| unknown(current.lun));
        self.pages = Pages::default();
        self.step = Step::Inquiry;
    }

    /// Continues after a failed command.
    fn bad(&mut self) {
        match self.step {
            Step::Luns => self.fail(ScanError::NoLuns),
            Step::Inquiry => self.skip(SkipReason::Inquiry),
            Step::Ready => self.skip(SkipReason::NotReady),
            Step::Supported | Step::Page(_) => self.next_page(),
            // Not all units have READ CAPACITY (16), nor MODE SENSE of either length.
            Step::Capacity16 => self.step = Step::Capacity10,
            Step::Capacity10 => self.skip(SkipReason::Capacity),
            Step::Mode6 => self.step = Step::Mode10,
            Step::Mode10 => {
                // Assume a write cache, if the unit does not tell.
                if let Some(current) = &mut self.current {
                    current.write_cache = true;
                }
                self.keep();
            }
            Step::Done => {}
        }
    }

    fn listed(&mut self, bytes: &[u8]) {
        let Ok((luns, len)) = parse_luns(bytes) else { return self.fail(ScanError::NoLuns) };
        let whole = len.saturating_add(8).min(8 + 8 * LUNS);
        if whole > self.list {
            // There are more LUNs than the buffer had room for.
            self.list = whole;
            return;
        }
        self.lists += 1;
        for lun in luns.map(Lun).take(LUNS as usize) {
            self.luns.push_back(lun);
        }
        self.luns.make_contiguous().sort_unstable();
        let mut luns = Vec::from(std::mem::take(&mut self.luns));
        luns.dedup();
        self.luns = luns.into();
        self.next_lun();
    }

    fn inquired(&mut self, bytes: &[u8]) {
        let Ok(inquiry) = Inquiry::parse(bytes) else { return self.skip(SkipReason::Inquiry) };
        if inquiry.qualifier != Qualifier::CONNECTED || inquiry.device_type != 0 {
            return self.skip(SkipReason::NoDisk);
        }
        if let Some(current) = &mut self.current {
            current.vendor = text(&inquiry.vendor);
            current.product = text(&inquiry.product);
            current.revision = text(&inquiry.revision);
            self.step = Step::Ready;
        }
    }

    /// Moves to the next page that the unit has, or to the step after the pages.
    fn next_page(&mut self) {
        let pages = &mut self.pages;
        let wanted = [
            (&mut pages.serial, VpdPage::SERIAL),
            (&mut pages.designators, VpdPage::DESIGNATORS),
            (&mut pages.limits, VpdPage::LIMITS),
            (&mut pages.characteristics, VpdPage::CHARACTERISTICS),
            (&mut pages.provisioning, VpdPage::PROVISIONING),
        ];
        let next = wanted.into_iter().find_map(|(wanted, page)| std::mem::take(wanted).then_some(page));
        self.step = next.map_or(Step::Capacity16, Step::Page);
    }

    fn sized(&mut self, capacity: &Capacity) {
        let size = capacity.block_size;
        let Some(blocks) = capacity.last.checked_add(1) else { return self.skip(SkipReason::Capacity) };
        if !size.is_power_of_two() || !(512..=65536).contains(&size) {
            return self.skip(SkipReason::BlockSize);
        }
        if let Some(current) = &mut self.current {
            current.block_size = size;
            current.blocks = blocks;
            current.physical_exponent = capacity.physical_exponent;
            current.protection = capacity.protection;
            current.interval_exponent = capacity.interval_exponent;
            current.zeroes |= capacity.provisioning.managed && capacity.provisioning.zeroes;
            current.unmap &= capacity.provisioning.managed;
            let said = current.max_transfer;
            current.limit_transfer(said);
            current.optimal = current.optimal.min(current.max_transfer);
            self.step = Step::Mode6;
        }
    }

    fn keep(&mut self) {
        self.found.extend(self.current.take());
        self.next_lun();
    }

    fn skip(&mut self, why: SkipReason) {
        if let Some(current) = self.current.take() {
            self.skipped.push(Skipped { lun: current.lun, why });
        }
        self.next_lun();
    }

    fn fail(&mut self, error: ScanError) {
        self.error = Some(error);
        self.step = Step::Done;
    }

    fn next_lun(&mut self) {
        self.pages = Pages::default();
        self.again = 0;
        self.current = self.luns.pop_front().map(unknown);
        self.step = if self.current.is_some() {
            Step::Inquiry
        } else if std::mem::take(&mut self.stale) && self.lists < LISTS {
            (self.found, self.skipped) = Default::default();
            Step::Luns
        } else {
            Step::Done
        };
    }
}

/// A LUN of which only the number is known.
fn unknown(lun: Lun) -> FoundLun {
    FoundLun {
        lun,
        vendor: String::new(),
        product: String::new(),
        revision: String::new(),
        serial: None,
        designator: Vec::new(),
        block_size: 512,
        blocks: 0,
        physical_exponent: 0,
        protection: 0,
        interval_exponent: 0,
        carried: None,
        read_only: false,
        write_cache: false,
        fua: false,
        unmap: false,
        max_unmap: 0,
        max_unmap_ranges: 0,
        write_same_unmaps: false,
        zeroes: false,
        max_write_same: 0,
        max_transfer: 0,
        granularity: 0,
        optimal: 0,
        rotation: 0,
    }
}

fn mode_sense(ten: bool) -> Cdb {
    Cdb::ModeSense {
        ten,
        no_descriptors: true,
        long: false,
        control: 0,
        page: ModePage::CACHING,
        subpage: 0,
        allocation: u16::from(ALLOCATION),
    }
}

/// Name of the unit among the designators of a page; empty if there is none.
pub(super) fn name(body: &[u8]) -> Vec<u8> {
    const EUI_64: u8 = 2;
    const NAA: u8 = 3;
    Designator::all(body)
        .filter(|designator| designator.association == 0 && matches!(designator.kind, EUI_64 | NAA))
        .max_by_key(|designator| (designator.identifier.len(), designator.kind))
        .map_or_else(Vec::new, |designator| designator.identifier.to_vec())
}

fn take_page(current: &mut FoundLun, page: &VpdPage<'_>) {
    match page.page {
        VpdPage::SERIAL => current.serial = Some(text(page.body)).filter(|serial| !serial.is_empty()),
        VpdPage::DESIGNATORS => current.designator = name(page.body),
        VpdPage::LIMITS => {
            if let Ok(limits) = BlockLimits::parse(page.body) {
                current.max_transfer = limits.transfer;
                current.optimal = limits.optimal;
                current.granularity = limits.granularity;
                current.max_unmap = limits.unmap_blocks;
                current.max_unmap_ranges = limits.unmap_ranges;
                current.unmap = limits.unmap_blocks > 0 && limits.unmap_ranges > 0;
                current.max_write_same = limits.write_same;
            }
        }
        VpdPage::CHARACTERISTICS => {
            current.rotation =
                BlockCharacteristics::parse(page.body).map_or(0, |characteristics| characteristics.rotation);
        }
        VpdPage::PROVISIONING => {
            if let Ok(provisioning) = BlockProvisioning::parse(page.body) {
                current.unmap &= provisioning.unmap;
                current.write_same_unmaps = provisioning.write_same_16;
                current.zeroes = provisioning.zeroes;
            }
        }
        _ => {}
    }
}

/// ASCII text without surrounding spaces; unprintable characters become question marks.
fn text(bytes: &[u8]) -> String {
    let printed: String = bytes
        .iter()
        .take_while(|byte| **byte != 0)
        .map(|&byte| if (0x20..0x7f).contains(&byte) { char::from(byte) } else { '?' })
        .collect();
    printed.trim().to_owned()
}
