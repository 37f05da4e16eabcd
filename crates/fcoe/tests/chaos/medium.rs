//! A slow medium with a cache: operations take effect and complete at random times, in any order, and a restart loses
//! the data that was not put on stable storage.

use crate::chance::Chance;
use linerate_block::{Backend, Buffer, Completion, Geometry, Operation, Ram, Tag};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

pub(crate) const BLOCK: usize = 512;

/// A submitted operation.
#[derive(Debug)]
struct Asked {
    tag: Tag,
    operation: Operation,
    /// Time at which it takes effect; None once it has.
    happens: Option<u64>,
    ends: u64,
}

/// The medium itself, which outlives the target.
#[derive(Debug)]
pub(crate) struct Medium {
    pub(crate) now: u64,
    chance: Chance,
    /// Content for reads.
    current: Vec<u8>,
    /// Content after a restart.
    stable: Vec<u8>,
    asked: Vec<Asked>,
    ended: VecDeque<Completion>,
    /// Nanoseconds that an operation takes at most: mostly the first, at times the second.
    pub(crate) pace: (u64, u64),
}

/// See the module.
pub(crate) struct Slow {
    geometry: Geometry,
    medium: Rc<RefCell<Medium>>,
}

impl Slow {
    pub(crate) fn new(medium: Rc<RefCell<Medium>>) -> Self {
        let size = medium.borrow().current.len() as u64;
        let ram = Ram::new(size, 512, false, 2).unwrap();
        let geometry = Geometry { volatile: true, product: "slow", ..ram.geometry().clone() };
        Self { geometry, medium }
    }
}

impl Medium {
    pub(crate) fn new(blocks: usize, seed: u64, pace: (u64, u64)) -> Self {
        let zeros = vec![0; blocks * BLOCK];
        Self {
            now: 0,
            chance: Chance::new(seed),
            current: zeros.clone(),
            stable: zeros,
            asked: Vec::new(),
            ended: VecDeque::new(),
            pace,
        }
    }

    /// Time of the next effect or completion.
    pub(crate) fn next(&self) -> Option<u64> {
        let ends = self.asked.iter().map(|asked| asked.happens.unwrap_or(asked.ends)).min();
        if self.ended.is_empty() { ends } else { Some(self.now) }
    }

    /// Number of operations whose completion was not taken.
    pub(crate) fn open(&self) -> usize {
        self.asked.len() + self.ended.len()
    }

    /// Carries out all effects and completions up to `now`, in the order of their times.
    pub(crate) fn advance(&mut self, now: u64) {
        self.now = now;
        loop {
            let due = |asked: &Asked| asked.happens.unwrap_or(asked.ends);
            let first = self.asked.iter().enumerate().min_by_key(|(_, asked)| due(asked));
            let Some((at, _)) = first.filter(|(_, asked)| due(asked) <= now) else { return };
            if self.asked[at].happens.take().is_some() {
                let mut asked = self.asked.swap_remove(at);
                self.happen(&mut asked.operation);
                self.asked.push(asked);
            } else {
                let Asked { tag, operation, .. } = self.asked.swap_remove(at);
                let buffer = match operation {
                    Operation::Read { buffer, .. } | Operation::Write { buffer, .. } => Some(buffer),
                    _ => None,
                };
                self.ended.push_back(Completion { tag, buffer, result: Ok(()) });
            }
        }
    }

    fn happen(&mut self, operation: &mut Operation) {
        let range = |lba: u64, len: usize| {
            let start = usize::try_from(lba).unwrap() * BLOCK;
            start..start + len
        };
        let bytes = |blocks: u64| usize::try_from(blocks).unwrap() * BLOCK;
        match operation {
            Operation::Read { lba, buffer } => {
                let from = range(*lba, buffer.len());
                buffer.bytes_mut().copy_from_slice(&self.current[from]);
            }
            Operation::Write { lba, buffer, fua } => self.put(range(*lba, buffer.len()), Some(buffer), *fua),
            Operation::Flush => self.stable.copy_from_slice(&self.current),
            Operation::Discard { lba, blocks } => self.put(range(*lba, bytes(*blocks)), None, false),
            Operation::WriteZeroes { lba, blocks, fua, .. } => self.put(range(*lba, bytes(*blocks)), None, *fua),
        }
    }

    fn put(&mut self, range: std::ops::Range<usize>, buffer: Option<&Buffer>, fua: bool) {
        let current = &mut self.current[range.clone()];
        match buffer {
            Some(buffer) => current.copy_from_slice(buffer.bytes()),
            None => current.fill(0),
        }
        if fua {
            self.stable[range.clone()].copy_from_slice(&self.current[range]);
        }
    }

    /// The target dies: of what it has asked, some happens yet; of what is not stable, some is lost.
    pub(crate) fn restart(&mut self) {
        for mut asked in std::mem::take(&mut self.asked) {
            if asked.happens.is_some() && self.chance.often(500) {
                self.happen(&mut asked.operation);
            }
        }
        self.ended.clear();
        for (current, stable) in self.current.chunks_mut(BLOCK).zip(self.stable.chunks_mut(BLOCK)) {
            if self.chance.often(500) {
                current.copy_from_slice(stable);
            } else {
                stable.copy_from_slice(current);
            }
        }
    }
}

impl Backend for Slow {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        let mut medium = self.medium.borrow_mut();
        let (usual, most) = medium.pace;
        let pace = if medium.chance.often(50) { most } else { usual };
        let happens = medium.now + medium.chance.below(pace);
        let ends = happens + medium.chance.below(pace);
        medium.asked.push(Asked { tag, operation, happens: Some(happens), ends });
    }

    fn complete(&mut self) -> Option<Completion> {
        self.medium.borrow_mut().ended.pop_front()
    }
}
