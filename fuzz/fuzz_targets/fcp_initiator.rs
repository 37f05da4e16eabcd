//! FCP commands of ours by a script, with whatever frames come: each ends once and in its time, and what is GOOD has its data.
//!
//! The script is a sequence of steps, one byte each and what it needs: 0 and 1 a command with data in or out of so many
//! quarters of a KiB (1 byte), 2 one without, 3 a reset; 4 time passes, a power of two of nanoseconds (1); 5 a frame:
//! flags (1), length (2, little-endian), header and payload; 6 room for so many frames (1); 7 the peer is gone. Of a
//! frame's flags, 1 gives it the OX_ID of the last command, 2 of the last link service request, and 4 makes it the
//! first of its sequence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_block::{Buffer, Tag};
use linerate_fcoe::{
    Command, Completed, Data, Initiator, InitiatorConfig, Link, Lun, Outcome, Peer, PeerId, Role, Sequence,
    TaskAttribute, Transmit,
};
use linerate_wire::OxId;
use linerate_wire::*;
use std::collections::HashMap;

const SECOND: u64 = 1_000_000_000;

/// Counts room, and remembers names.
struct Out {
    room: usize,
    command: OxId,
    service: OxId,
}

impl Transmit for Out {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let bytes: usize = sequence.payload.iter().map(|piece| piece.len()).sum();
        let frames = bytes.div_ceil(sequence.max_payload).max(1).min(self.room);
        self.room -= frames;
        if frames > 0 {
            match sequence.header.r_ctl {
                r_ctl::COMMAND => self.command = sequence.header.ox_id,
                r_ctl::ELS_REQUEST | r_ctl::FC4_LS_REQUEST => self.service = sequence.header.ox_id,
                _ => {}
            }
        }
        frames
    }

    fn frame(&mut self, _: &[u8]) -> bool {
        unreachable!("an initiator sends no FIP frames")
    }

    fn room(&self) -> usize {
        self.room
    }
}

struct World {
    initiator: Initiator,
    peer: Peer,
    now: u64,
    out: Out,
    /// By tag: bytes of data in, and when the command must have ended.
    waits: HashMap<u32, (Option<usize>, u64)>,
    tag: u32,
    bytes_in: u64,
    bytes_good: u64,
}

impl World {
    fn submit(&mut self, data: Data) {
        self.tag += 1;
        let len = match &data {
            Data::In(buffer) => Some(buffer.len()),
            _ => None,
        };
        let mut cdb = [0; 32];
        // Every third is one that must not be sent twice.
        cdb[0] = if self.tag.is_multiple_of(3) { 0x89 } else { 0x88 };
        let attribute = TaskAttribute::Simple;
        let command =
            Command { tag: Tag(self.tag), lun: Lun([0; 8]), cdb, cdb_len: 16, attribute, data, timeout: 30 * SECOND };
        if self.initiator.submit(self.now, &self.peer, command).is_ok() {
            self.waits.insert(self.tag, (len, self.deadline()));
        }
    }

    fn deadline(&self) -> u64 {
        self.now + 30 * SECOND + 4 * self.peer.r_a_tov + SECOND
    }

    fn settle(&mut self) {
        self.initiator.poll(self.now, &mut self.out);
        while self.initiator.poll_event().is_some() {}
        self.take();
    }

    fn take(&mut self) {
        while let Some(done) = self.initiator.poll_completion() {
            let (len, deadline) = self.waits.remove(&done.tag.0).expect("each ends once");
            assert!(self.now <= deadline);
            self.check(&done, len);
        }
    }

    fn check(&mut self, done: &Completed, len: Option<usize>) {
        assert!(done.sense().len() <= 96);
        if let (true, Some(len)) = (done.outcome == Outcome::Response && done.status == 0, len) {
            assert_eq!(done.buffer.as_ref().map(Buffer::len), Some(len));
            self.bytes_good += u64::try_from(len).unwrap() - u64::try_from((-done.residual).max(0)).unwrap();
        }
    }

    fn pass(&mut self, end: u64) {
        while let Some(due) = self.initiator.poll_timeout().filter(|due| *due <= end) {
            assert!(due > self.now, "a timer that does not advance");
            self.now = due;
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    fn feed(&mut self, flags: u8, bytes: &[u8]) {
        let Ok(mut header) = FcHeader::parse(bytes) else { return };
        if flags & 1 != 0 {
            header.ox_id = self.out.command;
        }
        if flags & 2 != 0 {
            header.ox_id = self.out.service;
        }
        let sof = if flags & 4 != 0 { Sof::I3 } else { Sof::N3 };
        let mut frame = FcoeRepr { sof, eof: Eof::N }.header().to_vec();
        frame.extend(header.bytes());
        frame.extend(&bytes[FcHeader::LEN..]);
        while (frame.len() - FcoeFrame::HEADER_LEN) % 4 != 0 {
            frame.push(0);
        }
        frame.extend(FcoeRepr { sof, eof: Eof::N }.trailer(0));
        let Ok(frame) = FcoeFrame::new_checked(&frame) else { return };
        self.initiator.handle(self.now, &self.peer, &frame, &mut self.out);
        let counted = self.initiator.counters(self.peer.id).bytes_in;
        self.bytes_in = self.bytes_in.max(counted);
        self.settle();
        // What was placed is what can be good: nothing else is.
        assert!(self.bytes_good <= self.bytes_in);
    }
}

fuzz_target!(|script: &[u8]| {
    let (own, theirs) = (FcId::new(0x0e01), FcId::new(0x0e02));
    let map = [0x0e, 0xfd, 0];
    let option = script.first().copied().unwrap_or(0);
    let peer = Peer {
        id: PeerId { index: 1, generation: 0 },
        wwpn: Wwn(2),
        wwnn: Wwn(1),
        fc_id: theirs,
        own,
        link: Link { src: own.mac(map), dst: theirs.mac(map), vlan: None },
        max_payload: 2112,
        role: Role { target: true, initiator: false },
        retry: option & 1 != 0,
        confirm: option & 2 != 0,
        e_d_tov: 2 * SECOND,
        r_a_tov: 4 * SECOND,
        authenticated: false,
    };
    let initiator = Initiator::new(InitiatorConfig { exchanges: 8, queue_depth: 6, retries: 3 });
    let out = Out { room: 64, command: OxId(0), service: OxId(0xe000) };
    let mut world =
        World { initiator, peer, now: SECOND, out, waits: HashMap::new(), tag: 0, bytes_in: 0, bytes_good: 0 };
    let mut rest = script.get(1..).unwrap_or_default();
    while let [step, after @ ..] = rest {
        rest = after;
        let mut byte = || {
            let (first, after) = rest.split_first().unwrap_or((&0, &[]));
            rest = after;
            *first
        };
        match step % 8 {
            0 => world.submit(Data::In(Buffer::new(usize::from(byte()) * 256))),
            1 => world.submit(Data::Out(Buffer::new(usize::from(byte()) * 256))),
            2 => world.submit(Data::None),
            3 => {
                world.tag += 1;
                let (tag, deadline) = (world.tag, world.deadline());
                if world.initiator.lun_reset(world.now, &world.peer, Lun([0; 8]), Tag(tag), 30 * SECOND).is_ok() {
                    world.waits.insert(tag, (None, deadline));
                }
            }
            4 => {
                let end = world.now + (1 << (byte() % 36));
                world.pass(end);
            }
            5 => {
                let (flags, len) = (byte(), usize::from(u16::from_le_bytes([byte(), byte()])));
                let (bytes, after) = rest.split_at(len.min(rest.len()));
                rest = after;
                world.feed(flags, bytes);
            }
            6 => world.out.room = usize::from(byte()),
            _ => {
                world.initiator.down(world.peer.id);
                world.take();
                assert!(world.waits.is_empty(), "all ends when the peer is gone");
                (world.bytes_in, world.bytes_good) = (0, 0);
                world.peer.id.generation = world.peer.id.generation.wrapping_add(1);
            }
        }
        world.settle();
    }
    world.out.room = usize::MAX;
    let end = world.now + 100 * SECOND;
    world.pass(end);
    assert!(world.waits.is_empty(), "a command does not end");
    assert_eq!(world.initiator.outstanding(world.peer.id), 0);
});
