//! A back end that takes its time: operations end in any order, some fail, and what happened is written down.

use linerate_block::{Backend, BackendError, Buffer, Completion, Geometry, Operation, Ram, Tag};
use std::cell::RefCell;
use std::rc::Rc;

/// What a test knows of the back end.
#[derive(Debug, Default)]
pub(super) struct Diary {
    /// What was asked, in short.
    pub(super) asked: Vec<String>,
    /// Operations that have not ended.
    pub(super) open: Vec<(Tag, Operation)>,
    /// How the next operations end; well, when there is nothing here.
    pub(super) results: Vec<BackendError>,
    /// So many operations end well before that.
    pub(super) good: usize,
    /// Nothing ends as long as this is set.
    pub(super) stuck: bool,
    /// Each operation's turn is drawn from this.
    pub(super) seed: u64,
    /// Times that submitted operations were handed on.
    pub(super) flushes: u32,
    /// It does not write zeros itself.
    pub(super) no_zeroes: bool,
}

/// See the module.
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
