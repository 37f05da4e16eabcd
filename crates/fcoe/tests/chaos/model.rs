//! Model of the expected content of each block: the value of the last acknowledged write, or of one that was under way
//! at the same time.
//!
//! Every write has a unique value. A write that has failed may have happened, until one that was begun later is
//! acknowledged; one that failed because its session was lost may happen until its initiator has logged in again.

use crate::medium::BLOCK;
use linerate_sum::mix;
use std::ops::Range;

/// Blocks of each disk.
pub(crate) const BLOCKS: usize = 48;
/// The disk in memory, whose blocks may be read while they are written.
pub(crate) const RAM: usize = 0;
/// The disk on a slow medium with a cache.
pub(crate) const SLOW: usize = 1;

/// Value of a write; 0 means zeros.
pub(crate) type Value = u32;

/// Kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write { fua: bool },
    Compare { expected: Value },
    Unmap,
    Flush,
}

/// An operation under way.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) kind: Kind,
    pub(crate) lun: usize,
    pub(crate) range: Range<usize>,
    pub(crate) value: Value,
    begun: u64,
    /// Values that each block may hold at the operation's start.
    before: Vec<Vec<Value>>,
    /// Values written by others during the operation.
    beside: Vec<(Range<usize>, Value)>,
    /// The target has restarted during the operation.
    restarted: bool,
}

/// A block: what it may hold, what it may hold after a restart, and when a write of it last ended.
#[derive(Debug, Clone)]
struct Block {
    now: Vec<Value>,
    lost: Vec<Value>,
    ended: u64,
}

/// A write that may happen until its initiator has logged in again.
#[derive(Debug)]
struct Ghost {
    initiator: usize,
    lun: usize,
    range: Range<usize>,
    value: Value,
}

#[derive(Debug)]
pub(crate) struct Model {
    disks: [Vec<Block>; 2],
    values: Value,
    clock: u64,
    open: Vec<Option<Op>>,
    ghosts: Vec<Ghost>,
}

/// The bytes of a block.
pub(crate) fn bytes(value: Value, lun: usize, lba: usize) -> [u8; BLOCK] {
    let mut bytes = [0; BLOCK];
    if value != 0 {
        let seed = u64::from(value) << 20 | (lun as u64) << 16 | lba as u64;
        for (i, word) in bytes.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&mix(seed << 6 | i as u64).to_le_bytes());
        }
    }
    bytes
}

fn meets(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn add(values: &mut Vec<Value>, value: Value) {
    if !values.contains(&value) {
        values.push(value);
    }
}

impl Op {
    fn writes(&self) -> bool {
        !matches!(self.kind, Kind::Read | Kind::Flush)
    }

    /// Values that others have written to a block during the operation.
    fn beside(&self, lba: usize) -> impl Iterator<Item = Value> + '_ {
        self.beside.iter().filter(move |(range, _)| range.contains(&lba)).map(|(_, value)| *value)
    }
}

impl Model {
    pub(crate) fn new() -> Self {
        let block = Block { now: vec![0], lost: vec![0], ended: 0 };
        let disk = vec![block; BLOCKS];
        Self { disks: [disk.clone(), disk], values: 0, clock: 0, open: Vec::new(), ghosts: Vec::new() }
    }

    /// Values that a block may hold.
    pub(crate) fn may_hold(&self, lun: usize, lba: usize) -> &[Value] {
        &self.disks[lun][lba].now
    }

    /// An operation begins; it is called so until it ends.
    pub(crate) fn begin(&mut self, kind: Kind, lun: usize, range: Range<usize>) -> usize {
        self.clock += 1;
        let value = match kind {
            Kind::Unmap | Kind::Read | Kind::Flush => 0,
            Kind::Write { .. } | Kind::Compare { .. } => {
                self.values += 1;
                self.values
            }
        };
        let before = self.disks[lun][range.clone()].iter().map(|block| block.now.clone()).collect();
        let mut op = Op { kind, lun, range, value, begun: self.clock, before, beside: Vec::new(), restarted: false };
        for ghost in self.ghosts.iter().filter(|ghost| ghost.lun == lun && meets(&ghost.range, &op.range)) {
            op.beside.push((ghost.range.clone(), ghost.value));
        }
        for other in self.open.iter_mut().flatten().filter(|other| other.lun == lun && meets(&other.range, &op.range)) {
            if other.writes() {
                op.beside.push((other.range.clone(), other.value));
            }
            if op.writes() {
                other.beside.push((op.range.clone(), op.value));
            }
        }
        let free = self.open.iter().position(Option::is_none);
        let at = free.unwrap_or(self.open.len());
        if free.is_none() {
            self.open.push(None);
        }
        self.open[at] = Some(op);
        at
    }

    pub(crate) fn op(&self, id: usize) -> &Op {
        self.open[id].as_ref().unwrap()
    }

    fn end(&mut self, id: usize) -> Op {
        self.clock += 1;
        self.open[id].take().unwrap()
    }

    /// Records a successful operation; `data` is the data of a read.
    pub(crate) fn good(&mut self, id: usize, data: &[u8]) {
        let op = self.end(id);
        let (clock, lun) = (self.clock, op.lun);
        match op.kind {
            Kind::Read => return check(&op, data),
            Kind::Flush => {
                for (lba, block) in self.disks[lun].iter_mut().enumerate() {
                    let haunted = self.ghosts.iter().any(|ghost| ghost.lun == lun && ghost.range.contains(&lba));
                    if block.ended < op.begun && !haunted {
                        block.lost.clone_from(&block.now);
                    }
                }
                return;
            }
            Kind::Compare { expected } => {
                let lba = op.range.start;
                let found = op.before[0].contains(&expected) || op.beside(lba).any(|value| value == expected);
                assert!(found, "{op:?} has compared with what block {lba} cannot hold");
            }
            Kind::Write { .. } | Kind::Unmap => {}
        }
        let stable = matches!(op.kind, Kind::Write { fua: true });
        for (lba, before) in op.range.clone().zip(&op.before) {
            let block = &mut self.disks[lun][lba];
            block.now.clear();
            block.now.push(op.value);
            op.beside(lba).for_each(|value| add(&mut block.now, value));
            if op.restarted && !stable {
                before.iter().for_each(|value| add(&mut block.now, *value));
            }
            if stable {
                block.lost.clear();
            }
            block.now.iter().for_each(|value| add(&mut block.lost, *value));
            block.ended = clock;
        }
    }

    /// A comparison has found something else.
    pub(crate) fn differs(&mut self, id: usize) {
        let op = self.end(id);
        let Kind::Compare { expected } = op.kind else { panic!("{op:?} compares nothing") };
        let lba = op.range.start;
        let other = op.before[0].iter().copied().chain(op.beside(lba)).any(|value| value != expected);
        assert!(other, "{op:?} has found block {lba} to differ from the only thing that it can hold");
    }

    /// Records an operation that was not executed, and will not be.
    pub(crate) fn refused(&mut self, id: usize) {
        self.end(id);
    }

    /// Records a failed operation, which may have been executed, and may still be if its initiator has lost its
    /// session.
    pub(crate) fn failed(&mut self, id: usize, lost: Option<usize>) {
        let op = self.end(id);
        if !op.writes() {
            return;
        }
        for block in &mut self.disks[op.lun][op.range.clone()] {
            add(&mut block.now, op.value);
            add(&mut block.lost, op.value);
            block.ended = self.clock;
        }
        if let Some(initiator) = lost {
            self.ghosts.push(Ghost { initiator, lun: op.lun, range: op.range, value: op.value });
        }
    }

    /// An initiator has logged in again: nothing of its earlier session happens any more.
    pub(crate) fn logged_in(&mut self, initiator: usize) {
        self.ghosts.retain(|ghost| ghost.initiator != initiator);
    }

    /// The target has restarted: what was in the cache may be lost.
    pub(crate) fn restarted(&mut self) {
        for block in &mut self.disks[SLOW] {
            for i in 0..block.lost.len() {
                add(&mut block.now, block.lost[i]);
            }
        }
        for op in self.open.iter_mut().flatten().filter(|op| op.lun == SLOW) {
            op.restarted = true;
            for (before, block) in op.before.iter_mut().zip(&self.disks[SLOW][op.range.clone()]) {
                block.lost.iter().for_each(|value| add(before, *value));
            }
        }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.open.iter().all(Option::is_none)
    }
}

/// Checks that a read returned values that the blocks may hold. A block in memory may be partly old and partly new when
/// it is written at the same time, or when a write of it has failed: frames are stored as they come, and those to a
/// peer whose claim was damaged may be smaller than a block.
fn check(op: &Op, data: &[u8]) {
    assert_eq!(data.len(), op.range.len() * BLOCK);
    for ((lba, before), block) in op.range.clone().zip(&op.before).zip(data.chunks_exact(BLOCK)) {
        let values = || before.iter().copied().chain(op.beside(lba));
        if values().any(|value| bytes(value, op.lun, lba) == block) {
            continue;
        }
        let mixed = op.lun == RAM && {
            let all: Vec<_> = values().map(|value| bytes(value, op.lun, lba)).collect();
            block.iter().enumerate().all(|(i, byte)| all.iter().any(|bytes| bytes[i] == *byte))
        };
        let value = (0..10_000).find(|value| bytes(*value, op.lun, lba) == block);
        assert!(mixed, "block {lba} of disk {} holds {value:?}, not one of {before:?} or {:?}", op.lun, op.beside);
    }
}
