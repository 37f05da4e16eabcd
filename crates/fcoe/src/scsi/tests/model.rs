//! Random commands against an array of bytes.

use super::slow::Slow;
use super::support::*;
use crate::*;
use linerate_block::{Ram, Tag};
use linerate_wire::scsi::{Cdb, Transfer, UnmapRange, Width, put_unmap};
use proptest::prelude::*;

const BLOCKS: u64 = 256;

/// Command on some blocks.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Read,
    Write { verify: bool },
    Verify { right: bool },
    Compare { right: bool },
    Same { zeros: bool, unmap: bool },
    Unmap,
}

#[derive(Debug, Clone, Copy)]
struct Doing {
    kind: Kind,
    lba: u64,
    blocks: u32,
    value: u8,
    attribute: TaskAttribute,
    /// The command is aborted before it ends.
    abort: bool,
}

/// Command on the `i`-th of eight parts of the disk: simultaneous commands do not overlap.
fn doing(i: u64) -> impl Strategy<Value = Doing> {
    let kind = prop_oneof![
        Just(Kind::Read),
        any::<bool>().prop_map(|verify| Kind::Write { verify }),
        any::<bool>().prop_map(|right| Kind::Verify { right }),
        any::<bool>().prop_map(|right| Kind::Compare { right }),
        any::<(bool, bool)>().prop_map(|(zeros, unmap)| Kind::Same { zeros, unmap }),
        Just(Kind::Unmap),
    ];
    let attribute = prop_oneof![
        4 => Just(TaskAttribute::Simple),
        1 => Just(TaskAttribute::Ordered),
        1 => Just(TaskAttribute::HeadOfQueue),
    ];
    (kind, 0..16u64, 1..=16u32, 1..=255u8, attribute, prop::bool::weighted(0.1)).prop_map(
        move |(kind, at, blocks, value, attribute, abort)| Doing {
            kind,
            lba: i * 32 + at,
            blocks,
            value,
            attribute,
            abort,
        },
    )
}

fn batch() -> impl Strategy<Value = Vec<Doing>> {
    (doing(0), doing(1), doing(2), doing(3), doing(4), doing(5), doing(6), doing(7))
        .prop_map(|(a, b, c, d, e, f, g, h)| vec![a, b, c, d, e, f, g, h])
}

impl Doing {
    fn span(&self) -> std::ops::Range<usize> {
        let start = usize::try_from(self.lba).unwrap() * 512;
        start..start + self.blocks as usize * 512
    }

    /// Data of blocks that are all different.
    fn data(&self) -> Vec<u8> {
        let block = |i: u32| vec![self.value.wrapping_add(u8::try_from(i).unwrap()); 512];
        (0..self.blocks).flat_map(block).collect()
    }

    /// The command, its data out, and its expected end: status, data in, and the blocks after it.
    fn expect(&self, disk: &[u8]) -> (Cdb, Vec<u8>, u8, Vec<u8>, Vec<u8>) {
        let now = disk[self.span()].to_vec();
        let mut transfer = Transfer::new(self.lba, self.blocks);
        transfer.width = [Width::Ten, Width::Sixteen][usize::from(self.value & 1)];
        transfer.fua = self.value & 2 != 0 && matches!(self.kind, Kind::Read | Kind::Write { verify: false });
        let (bad, data) = (Response::CHECK_CONDITION, self.data());
        let wrong = || now.iter().map(|byte| byte ^ self.value).collect::<Vec<_>>();
        match self.kind {
            Kind::Read => (Cdb::Read(transfer), vec![], 0, now.clone(), now),
            Kind::Write { verify: false } => (Cdb::Write(transfer), data.clone(), 0, vec![], data),
            Kind::Write { verify: true } => {
                (Cdb::WriteAndVerify { transfer, compare: 1 }, data.clone(), 0, vec![], data)
            }
            Kind::Verify { right: true } => (Cdb::Verify { transfer, compare: 1 }, now.clone(), 0, vec![], now),
            Kind::Verify { right: false } => (Cdb::Verify { transfer, compare: 1 }, wrong(), bad, vec![], now),
            Kind::Compare { right } => {
                let blocks = u8::try_from(self.blocks).unwrap();
                let cdb = Cdb::CompareAndWrite { lba: self.lba, blocks, protect: 0, dpo: false, fua: transfer.fua };
                if right {
                    (cdb, [now, data.clone()].concat(), 0, vec![], data)
                } else {
                    (cdb, [wrong(), data].concat(), bad, vec![], now)
                }
            }
            Kind::Same { zeros, unmap } => {
                let (width, lba, blocks) = (transfer.width, self.lba, self.blocks);
                let block = if zeros { vec![0; 512] } else { data[..512].to_vec() };
                let cdb = Cdb::WriteSame { width, lba, blocks, protect: 0, anchor: false, unmap, no_data: false };
                (cdb, block.clone(), 0, vec![], block.repeat(blocks as usize))
            }
            Kind::Unmap => {
                let mut list = Vec::new();
                put_unmap(&[UnmapRange { lba: self.lba, blocks: self.blocks }], &mut list).unwrap();
                let len = u16::try_from(list.len()).unwrap();
                (Cdb::Unmap { anchor: false, len }, list, 0, vec![], vec![0; now.len()])
            }
        }
    }
}

/// A command under way.
struct Open {
    doing: Doing,
    tag: Tag,
    out: Vec<u8>,
    step: Option<Step>,
    status: u8,
    data: Vec<u8>,
    after: Vec<u8>,
}

/// Runs all commands of a batch at once, and compares.
fn together(bench: &mut Bench, disk: &mut [u8], batch: &[Doing], rng: &mut u64) {
    let mut open = Vec::new();
    for doing in batch {
        let (cdb, out, status, data, after) = doing.expect(disk);
        let cdb = cdb.bytes().unwrap();
        let who = if doing.value & 4 == 0 { ALICE } else { BOB };
        let task = Task { attribute: doing.attribute, ..bench.task(who, lun(0), &cdb, out.len(), 8192) };
        let step = bench.disks.command(0, &task);
        open.push(Open { doing: *doing, tag: task.tag, out, step: Some(step), status, data, after });
    }
    for _ in 0..10_000 {
        if open.is_empty() {
            return;
        }
        *rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let turn = usize::try_from(*rng >> 33).unwrap() % open.len();
        let mut one = open.swap_remove(turn);
        if one.doing.abort {
            let buffer = match one.step.take() {
                Some(Step::Receive { buffer }) => Some(buffer),
                Some(Step::Send { buffer, .. }) => {
                    bench.disks.give_back(buffer);
                    None
                }
                _ => None,
            };
            bench.disks.abort(one.tag, buffer);
            while let Some((tag, step)) = bench.disks.poll(0) {
                open.iter_mut().find(|one| one.tag == tag).expect("a step of a task that is").step = Some(step);
            }
            // An aborted command may have been executed or not: the blocks are overwritten.
            disk[one.doing.span()].fill(0xa5);
            let again = Doing {
                kind: Kind::Write { verify: false },
                abort: false,
                attribute: TaskAttribute::HeadOfQueue,
                ..one.doing
            };
            let (cdb, out, status, data, after) = again.expect(disk);
            let cdb = cdb.bytes().unwrap();
            let task = Task { attribute: again.attribute, ..bench.task(ALICE, lun(0), &cdb, out.len(), 0) };
            let step = bench.disks.command(0, &task);
            open.push(Open { doing: again, tag: task.tag, out, step: Some(step), status, data, after });
            continue;
        }
        one.step = match one.step.take() {
            None | Some(Step::Pending) => {
                if let Some((tag, step)) = bench.disks.poll(0) {
                    if tag == one.tag {
                        one.step = Some(step);
                    } else {
                        open.iter_mut().find(|one| one.tag == tag).expect("a step of a task that is").step = Some(step);
                    }
                }
                open.push(one);
                continue;
            }
            Some(Step::Receive { mut buffer }) => {
                let len = buffer.len();
                buffer.bytes_mut().copy_from_slice(&one.out[..len]);
                Some(bench.disks.received(0, one.tag, Some(buffer)))
            }
            Some(Step::ReceiveMemory { offset, len }) => {
                bench.disks.memory(one.tag).unwrap().write(offset, &one.out[..len as usize]);
                Some(bench.disks.received(0, one.tag, None))
            }
            Some(last) => {
                let ended = bench.finish(one.tag, last, &[], u32::MAX);
                assert_eq!((ended.response.status, &ended.data), (one.status, &one.data), "{:?}", one.doing);
                disk[one.doing.span()].copy_from_slice(&one.after);
                continue;
            }
        };
        open.push(one);
    }
    panic!("tasks do not end: {:?}", open.iter().map(|one| one.doing).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The disk holds the written data, in whatever order the back end completes its operations.
    #[test]
    fn a_disk_is_an_array_of_bytes(batches in prop::collection::vec(batch(), 1..12), seed: u64, no_zeroes: bool) {
        let ram = Ram::new(BLOCKS * 512, 512, false, 1).unwrap();
        let (slow, diary) = Slow::new(BLOCKS * 512, |_| {});
        diary.borrow_mut().seed = seed;
        diary.borrow_mut().no_zeroes = no_zeroes;
        let protected = Ram::new(BLOCKS * 512, 512, true, 1).unwrap();
        for mut bench in [Bench::new(ram), Bench::new(slow), Bench::new(protected)] {
            let mut disk = vec![0; usize::try_from(BLOCKS * 512).unwrap()];
            let mut rng = seed;
            for batch in &batches {
                together(&mut bench, &mut disk, batch, &mut rng);
            }
            let all = bench.send(&Cdb::Read(Transfer::new(0, 256)), &[]).good();
            prop_assert!(all == disk);
            prop_assert_eq!(bench.disks.status().next().unwrap().in_flight, 0);
        }
    }
}
