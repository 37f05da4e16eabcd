//! A slow back end: operations complete in any order, some fail, and all are recorded.

use linerate_block::{Backend, BackendError, Buffer, Completion, Extent, Geometry, Operation, Ram, SizeError, Tag};
use std::cell::RefCell;
use std::rc::Rc;

/// State of the back end, shared with the test.
#[derive(Debug, Default)]
pub(super) struct Diary {
    /// Submitted operations in short notation.
    pub(super) asked: Vec<String>,
    /// Operations that have not ended.
    pub(super) open: Vec<(Tag, Operation)>,
    /// Errors of the next operations; an operation succeeds when the list is empty.
    pub(super) results: Vec<BackendError>,
    /// Number of operations that succeed before the first error.
    pub(super) good: usize,
    /// No operation completes while this is set.
    pub(super) stuck: bool,
    /// Seed of the order of completions.
    pub(super) seed: u64,
    /// Number of flushes of submitted operations.
    pub(super) flushes: u32,
    /// Blocks of the device, once others have changed its size.
    pub(super) blocks: Option<u64>,
    /// The device does not write zeros itself.
    pub(super) no_zeroes: bool,
}

/// A slow back end; see the module's text.
pub(super) struct Slow {
    ram: Ram,
    geometry: Geometry,
    diary: Rc<RefCell<Diary>>,
}

impl Slow {
    /// Of `size` bytes in blocks of 512, with a volatile cache; with protection information if the geometry says so.
    pub(super) fn new(size: u64, change: impl FnOnce(&mut Geometry)) -> (Self, Rc<RefCell<Diary>>) {
        let ram = |protection| Ram::new(size, 512, protection, 9).unwrap();
        let mut geometry = Geometry { volatile: true, product: "slow", ..ram(false).geometry().clone() };
        change(&mut geometry);
        let ram = ram(geometry.protection);
        let diary = Rc::new(RefCell::new(Diary::default()));
        (Self { ram, geometry, diary: diary.clone() }, diary)
    }
}

impl Backend for Slow {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn extent(&mut self, lba: u64) -> Extent {
        self.ram.extent(lba)
    }

    fn refresh(&mut self) -> Result<(), SizeError> {
        let blocks = self.diary.borrow().blocks.ok_or(SizeError::Fixed)?;
        self.geometry.blocks = blocks;
        Ok(())
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        let mut diary = self.diary.borrow_mut();
        let stride = if self.geometry.protection { 520 } else { 512 };
        let blocks = |buffer: &Buffer| buffer.len() / stride;
        let asked = match &operation {
            Operation::Read { lba, buffer } => format!("read {lba} {}", blocks(buffer)),
            Operation::Write { lba, buffer, fua } => {
                format!("write {lba} {}{}", blocks(buffer), if *fua { " fua" } else { "" })
            }
            Operation::Flush => "flush".into(),
            Operation::Discard { lba, blocks } => format!("discard {lba} {blocks}"),
            Operation::WriteZeroes { lba, blocks, discard, .. } => {
                format!("zero {lba} {blocks}{}", if *discard { " discard" } else { "" })
            }
        };
        diary.asked.push(asked);
        diary.open.push((tag, operation));
    }

    fn flush(&mut self) {
        self.diary.borrow_mut().flushes += 1;
    }

    fn complete(&mut self) -> Option<Completion> {
        let mut diary = self.diary.borrow_mut();
        if diary.stuck || diary.open.is_empty() {
            return None;
        }
        diary.seed = diary.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let turn = usize::try_from(diary.seed >> 33).unwrap() % diary.open.len();
        let (tag, operation) = diary.open.swap_remove(turn);
        let failed = if diary.no_zeroes && matches!(operation, Operation::WriteZeroes { .. }) {
            Some(BackendError::Unsupported)
        } else if diary.good > 0 {
            diary.good -= 1;
            None
        } else {
            diary.results.pop()
        };
        if let Some(error) = failed {
            let buffer = match operation {
                Operation::Read { buffer, .. } | Operation::Write { buffer, .. } => Some(buffer),
                _ => None,
            };
            return Some(Completion { tag, buffer, result: Err(error) });
        }
        self.ram.submit(tag, operation);
        self.ram.complete()
    }
}
