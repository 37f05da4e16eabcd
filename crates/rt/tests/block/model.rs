//! Random operations on a device, compared with a plain array.

use linerate_block::{Buffer, Completion, Operation, Tag};
use linerate_rt::block::Device;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time limit of all waits.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// Random numbers (xorshift64*, Vigna 2016).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Waits for one operation to complete.
pub(crate) fn wait(device: &mut dyn Device) -> Completion {
    let until = Instant::now() + BOUND;
    device.flush();
    loop {
        if let Some(completion) = device.complete() {
            return completion;
        }
        assert!(Instant::now() < until, "an operation did not end");
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Runs one operation from submission to completion.
pub(crate) fn one(device: &mut dyn Device, operation: Operation) -> Completion {
    device.submit(Tag(77), operation);
    let completion = wait(device);
    assert_eq!(completion.tag, Tag(77));
    completion
}

pub(crate) fn read(device: &mut dyn Device, lba: u64, len: usize) -> Vec<u8> {
    let completion = one(device, Operation::Read { lba, buffer: Buffer::new(len) });
    assert_eq!(completion.result, Ok(()));
    completion.buffer.unwrap().bytes().to_vec()
}

pub(crate) fn write(device: &mut dyn Device, lba: u64, bytes: &[u8], fua: bool) {
    let mut buffer = Buffer::new(bytes.len());
    buffer.bytes_mut().copy_from_slice(bytes);
    let completion = one(device, Operation::Write { lba, buffer, fua });
    assert_eq!(completion.result, Ok(()));
    assert_eq!(completion.buffer.unwrap().len(), bytes.len(), "the buffer comes back");
}

/// Runs batches of operations on disjoint ranges, and compares all data read with the model, and all blocks at the end.
pub(crate) fn against_model(device: &mut dyn Device, seed: u64, batches: u32) {
    let geometry = device.geometry().clone();
    let (size, blocks) = (usize::try_from(geometry.block_size).unwrap(), geometry.blocks);
    // Protection information follows each block, and is all ones after a block of zeros.
    let block = size + if geometry.protection { 8 } else { 0 };
    let zero = |range: &mut [u8]| {
        for block in range.chunks_exact_mut(block) {
            block[..size].fill(0);
            block[size..].fill(0xff);
        }
    };
    let mut model = read(device, 0, block * usize::try_from(blocks).unwrap());
    let mut dice = Dice(seed | 1);
    for _ in 0..batches {
        let count = 1 + dice.below(12);
        let share = blocks / count;
        let mut asked = BTreeMap::new();
        for i in 0..count {
            let lba = i * share + dice.below(share);
            let n = 1 + dice.below((i + 1) * share - lba);
            let range = usize::try_from(lba).unwrap() * block..usize::try_from(lba + n).unwrap() * block;
            let mut buffer = Buffer::new(range.len());
            let operation = match dice.below(10) {
                0..4 => Operation::Read { lba, buffer },
                4..7 => {
                    let first = dice.next();
                    let mut word = first;
                    for chunk in buffer.bytes_mut().chunks_mut(8) {
                        word = word.wrapping_mul(31).wrapping_add(7);
                        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
                    }
                    model[range.clone()].copy_from_slice(buffer.bytes());
                    Operation::Write { lba, buffer, fua: first.is_multiple_of(3) }
                }
                7 => {
                    zero(&mut model[range.clone()]);
                    Operation::WriteZeroes { lba, blocks: n, discard: dice.below(2) == 0, fua: dice.below(2) == 0 }
                }
                8 if geometry.discards && geometry.discard_zeroes => {
                    zero(&mut model[range.clone()]);
                    Operation::Discard { lba, blocks: n }
                }
                _ => Operation::Flush,
            };
            let tag = Tag(u32::try_from(i).unwrap());
            asked.insert(tag, (matches!(operation, Operation::Read { .. }), range));
            device.submit(tag, operation);
        }
        while !asked.is_empty() {
            let Completion { tag, buffer, result } = wait(device);
            let (is_read, range) = asked.remove(&tag).expect("an operation that was asked for, once");
            assert_eq!(result, Ok(()), "seed {seed:#x}");
            if is_read {
                assert!(buffer.unwrap().bytes() == &model[range.clone()], "seed {seed:#x}: {range:?}");
            }
        }
    }
    assert!(read(device, 0, model.len()) == model, "seed {seed:#x}: not as the model has it at the end");
}
