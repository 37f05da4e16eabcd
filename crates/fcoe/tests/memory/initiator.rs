//! An initiator, and a target with real disks, on a line that allocates nothing itself.

use crate::counting::held;
use linerate_block::{Buffer, Ram, Tag};
use linerate_fcoe::*;
use linerate_wire::*;
use std::collections::VecDeque;

/// A frame from its FCoE header on.
type Frame = ([u8; 2176], usize);

/// Frames on their way to the other end, which has room for so many.
struct Line(VecDeque<Frame>);

const ROOM: usize = 64;

impl Line {
    fn new() -> Self {
        Self(VecDeque::with_capacity(ROOM))
    }
}

impl Transmit for Line {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let bytes: usize = sequence.payload.iter().map(|piece| piece.len()).sum();
        let all = bytes.div_ceil(sequence.max_payload).max(1);
        let (mut piece, mut at) = (0, 0);
        let count = all.min(self.room());
        for i in 0..count {
            let (last, step) = (i + 1 == all, u16::try_from(i).unwrap());
            let mut header = sequence.header;
            header.seq_cnt = header.seq_cnt.wrapping_add(step);
            if header.has(f_ctl::RELATIVE_OFFSET) {
                header.parameter += u32::from(step) * u32::try_from(sequence.max_payload).unwrap();
            }
            if !last {
                header.f_ctl &= !(f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE | f_ctl::LAST_SEQUENCE);
            }
            let sof = if sequence.start && i == 0 { Sof::I3 } else { Sof::N3 };
            let here = (bytes - i * sequence.max_payload).min(sequence.max_payload);
            let fill = here.next_multiple_of(4) - here;
            header.f_ctl |= u32::try_from(fill).unwrap();
            let repr = FcoeRepr { sof, eof: if last && sequence.end { Eof::T } else { Eof::N } };
            let (mut frame, mut len) = ([0; 2176], 0);
            let mut put = |bytes: &[u8]| {
                frame[len..len + bytes.len()].copy_from_slice(bytes);
                len += bytes.len();
            };
            put(&repr.header());
            put(&header.bytes());
            let mut left = sequence.max_payload;
            while left > 0 && piece < sequence.payload.len() {
                let rest = &sequence.payload[piece][at..];
                let next = rest.len().min(left);
                put(&rest[..next]);
                (left, at) = (left - next, at + next);
                if at == sequence.payload[piece].len() {
                    (piece, at) = (piece + 1, 0);
                }
            }
            put(&[0; 3][..fill]);
            put(&repr.trailer(0));
            self.0.push_back((frame, len));
        }
        count
    }

    fn frame(&mut self, _: &[u8]) -> bool {
        false
    }

    fn room(&self) -> usize {
        ROOM - self.0.len()
    }
}

/// Nanoseconds between two rounds.
const ROUND: u64 = 1_000_000;

struct World {
    now: u64,
    initiator: Initiator,
    target: Target<Disks>,
    /// Each as the other knows it.
    ends: [Peer; 2],
    lines: [Line; 2],
}

fn end(fc_id: u32, own: u32, role: Role, retry: bool) -> Peer {
    Peer {
        id: PeerId { index: 0, generation: 0 },
        wwpn: Wwn(fc_id.into()),
        wwnn: Wwn(own.into()),
        fc_id: FcId::new(fc_id),
        own: FcId::new(own),
        link: Link { src: MacAddr([0x0e; 6]), dst: MacAddr([0x0e; 6]), vlan: None },
        max_payload: 2112,
        role,
        retry,
        confirm: false,
        e_d_tov: 2_000_000_000,
        r_a_tov: 4_000_000_000,
        authenticated: false,
    }
}

impl World {
    fn new(commands: u16, retry: bool) -> Self {
        let initiator =
            InitiatorConfig { exchanges: commands.into(), queue_depth: commands, ..InitiatorConfig::default() };
        let mut disks = Disks::new(&DisksConfig { wwpn: Wwn(1), wwnn: Wwn(2), buffers: 1 << 20 });
        disks.add(0, Box::new(Ram::new(1 << 20, 512, false, 1).unwrap())).unwrap();
        let limits = TargetConfig { max_queue: commands, ..TargetConfig::default() };
        let mut target = Target::new(limits, disks);
        let ends = [
            end(0x0e01, 0x0e02, Role { target: false, initiator: true }, retry),
            end(0x0e02, 0x0e01, Role { target: true, initiator: false }, retry),
        ];
        assert!(target.up(&ends[0]));
        let lines = [Line::new(), Line::new()];
        Self { now: 1, initiator: Initiator::new(initiator), target, ends, lines }
    }

    fn submit(&mut self, write: bool, tag: u32, buffer: Buffer) {
        let mut cdb = [0; 32];
        let blocks = u8::try_from(buffer.len() / 512).unwrap();
        (cdb[0], cdb[5], cdb[8]) = (if write { 0x2a } else { 0x28 }, tag.to_le_bytes()[0], blocks);
        let command = Command {
            tag: Tag(tag),
            lun: Lun([0; 8]),
            cdb,
            cdb_len: 10,
            attribute: TaskAttribute::Simple,
            data: if write { Data::Out(buffer) } else { Data::In(buffer) },
            timeout: 60_000_000_000,
        };
        assert!(self.initiator.submit(self.now, &self.ends[1], command).is_ok());
    }

    /// In every fifth round, what is under way comes in reverse order.
    fn reorder(&mut self, line: usize) {
        if (self.now / ROUND).is_multiple_of(5) {
            self.lines[line].0.make_contiguous().reverse();
        }
    }

    fn run_target(&mut self) {
        self.initiator.poll(self.now, &mut self.lines[0]);
        self.reorder(0);
        while let Some((frame, len)) = self.lines[0].0.pop_front() {
            let frame = FcoeFrame::new_checked(&frame[..len]).unwrap();
            self.target.handle(self.now, &self.ends[0], &frame, &mut self.lines[1]);
        }
        self.target.poll(self.now, &mut self.lines[1]);
    }

    fn run_initiator(&mut self) {
        self.reorder(1);
        while let Some((frame, len)) = self.lines[1].0.pop_front() {
            let frame = FcoeFrame::new_checked(&frame[..len]).unwrap();
            self.initiator.handle(self.now, &self.ends[1], &frame, &mut self.lines[0]);
        }
    }
}

#[test]
fn no_command_of_an_initiator_allocates() {
    for retry in [false, true] {
        let mut world = World::new(16, retry);
        // The first is told that the unit is new.
        world.submit(false, 0, Buffer::new(4096));
        world.run_target();
        world.run_initiator();
        let mut buffers: Vec<Buffer> = Vec::with_capacity(16);
        buffers.extend(world.initiator.poll_completion().unwrap().buffer);
        buffers.extend((1..16).map(|_| Buffer::new(4096)));
        let (mut warm, mut good) = (None, 0_u32);
        for round in 0..4_000 {
            if round == 1_000 {
                warm = Some(held());
            }
            while let Some(buffer) = buffers.pop() {
                // Half are written, half read; never the same turn by turn.
                world.submit(round % 3 == 0 || buffers.len().is_multiple_of(2), round, buffer);
            }
            world.run_target();
            world.run_initiator();
            world.now += ROUND;
            while let Some(completed) = world.initiator.poll_completion() {
                assert!(completed.is_good(), "{completed:?}");
                good += 1;
                buffers.extend(completed.buffer);
            }
        }
        assert!(good > 10_000, "{good}");
        let counters = world.initiator.counters(world.ends[1].id);
        assert_eq!((counters.resent, counters.unexpected, world.target.counters().drops()), (0, 0, 0));
        assert!(counters.out_of_order > 1000 && world.target.counters().early > 1000, "{counters:?}");
        assert_eq!(held(), warm.unwrap(), "nothing was allocated since the first thousand rounds");
    }
}

#[test]
fn ten_thousand_exchanges_at_both_ends_take_less_than_64_mib() {
    let before = held().0;
    let mut world = World::new(10_000, true);
    let made = held().0 - before;
    assert!(made < 16 << 20, "{made} bytes");
    world.submit(false, 0, Buffer::new(512));
    world.run_target();
    world.run_initiator();
    assert!(world.initiator.poll_completion().is_some());
    for tag in 0..10_000 {
        world.submit(true, tag, Buffer::new(512));
    }
    // All are asked for their data, which is not sent.
    for _ in 0..400 {
        world.run_target();
        world.lines[1].0.clear();
    }
    let depth = world.target.peers().next().unwrap().queue_depth;
    assert_eq!(
        (world.initiator.exchanges(), depth, world.target.counters().transfer_readies),
        (10_000, 10_000, 10_000)
    );
    let held = held().0 - before;
    assert!(held < 64 << 20, "{held} bytes, buffers of the initiator's and a disk of 1 MiB included");
}
