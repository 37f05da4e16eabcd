//! Frames that are lost, doubled, late or forged: no wrong byte is written or read, and no exchange is left behind.

use crate::target::mock::pattern;
use crate::target::rig::{OURS, Rig, SECOND};
use crate::target::wire::{frame, header};
use linerate_fcoe::{Peer, TargetConfig};
use linerate_sum::SplitMix64;
use linerate_wire::{Eof, FcType, FcoeFrame, FcpResponse, FcpSrr, FcpTransferReady, OxId, RxId, Sof, r_ctl};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of memory that one command at a time uses.
const REGION: usize = 16 * 512;
const REGIONS: usize = 16;

/// Numbers of chance from a seed.
struct Chance(SplitMix64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.next_u64() % limit as u64).unwrap()
    }

    /// The next frame that arrives, if one does: mostly the first, at times a later one, or the same twice, or none.
    fn take(&mut self, queue: &mut VecDeque<Vec<u8>>) -> Option<Vec<u8>> {
        let at = if self.below(20) == 0 { self.below(queue.len().max(1)) } else { 0 };
        let bytes = queue.remove(at)?;
        match self.below(40) {
            0 => None,
            1 => {
                let later = self.below(queue.len() + 1);
                queue.insert(later, bytes.clone());
                Some(bytes)
            }
            _ => Some(bytes),
        }
    }
}

/// A command that an initiator waits for.
struct Io {
    from: usize,
    region: usize,
    start: usize,
    /// Data to be written, or data read so far.
    data: Vec<u8>,
    came: Vec<bool>,
    write: bool,
    rx_id: Option<RxId>,
    aborting: bool,
}

struct World {
    chance: Chance,
    rig: Rig,
    to_target: VecDeque<Vec<u8>>,
    to_initiator: VecDeque<Vec<u8>>,
    open: BTreeMap<OxId, Io>,
    /// Content of the memory outside of open commands.
    expected: Vec<u8>,
    next_ox_id: OxId,
    good: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance(SplitMix64::new(seed));
        let config = TargetConfig {
            turn: 2,
            burst: if chance.below(2) == 0 { 4096 } else { u32::MAX },
            patience: 1000 * SECOND,
            ..TargetConfig::default()
        };
        let retry = chance.below(2) == 0;
        let mut rig = Rig::new(config, |peer| Peer { retry, ..peer });
        rig.device().buffers = chance.below(2) == 0;
        rig.device().memory.piece = [1 << 20, 1000, 4096][chance.below(3)];
        let expected = (0..REGION * REGIONS).map(pattern).collect();
        let (to_target, to_initiator, open) = (VecDeque::new(), VecDeque::new(), BTreeMap::new());
        rig.device().memory.bytes.truncate(1 << 18);
        Self { chance, rig, to_target, to_initiator, open, expected, next_ox_id: OxId(0), good: 0 }
    }

    /// An initiator sends a command for a region that no other uses.
    fn submit(&mut self) {
        let region = self.chance.below(REGIONS);
        if self.open.values().any(|io| io.region == region) {
            return;
        }
        let (from, write) = (self.chance.below(2), self.chance.below(2) == 0);
        let first = self.chance.below(16);
        let blocks = 1 + self.chance.below(16 - first);
        let (start, len) = (region * REGION + first * 512, blocks * 512);
        let ox_id = self.next_ox_id;
        self.next_ox_id.0 += 1;
        let data =
            (0..len).map(|i| if write { (i * 3 + usize::from(ox_id.0) * 17).to_le_bytes()[0] } else { 0 }).collect();
        let io = Io { from, region, start, data, came: vec![false; len], write, rx_id: None, aborting: false };
        self.open.insert(ox_id, io);
        let mut payload = [0; 32];
        payload[11] = if write { 1 } else { 2 };
        let cdb = crate::target::rig::cdb(
            if write { 0x2a } else { 0x28 },
            u32::try_from(start / 512).unwrap(),
            u16::try_from(blocks).unwrap(),
        );
        payload[12..28].copy_from_slice(&cdb);
        payload[28..].copy_from_slice(&u32::try_from(len).unwrap().to_be_bytes());
        let s_id = self.rig.peers[from].fc_id;
        let header = header(s_id, OURS, r_ctl::COMMAND, 0x29_0000, ox_id, RxId::UNASSIGNED);
        self.to_target.push_back(frame(header, Sof::I3, Eof::T, &payload));
    }

    /// An initiator has waited long enough for a command, and asks for it again or aborts it.
    fn lose_patience(&mut self) {
        let at = self.chance.below(self.open.len().max(1));
        let Some((&ox_id, io)) = self.open.iter_mut().nth(at) else { return };
        let rx_id = io.rx_id.filter(|_| self.chance.below(3) > 0).unwrap_or(RxId::UNASSIGNED);
        let s_id = self.rig.peers[io.from].fc_id;
        if self.rig.peers[0].retry && !io.aborting && self.chance.below(2) == 0 {
            let Some(status) = self.rig.target.exchange_status(s_id, ox_id, rx_id) else { return };
            let r_ctl = match io.write {
                true if (status.transferred as usize) < io.data.len() => r_ctl::DATA_DESCRIPTOR,
                false if io.came.contains(&false) => r_ctl::DATA,
                _ => r_ctl::STATUS,
            };
            let missing = io.came.iter().position(|came| !came).unwrap_or(0);
            let offset = if io.write { status.transferred } else { u32::try_from(missing).unwrap() };
            let request = FcpSrr { ox_id, rx_id, offset, r_ctl };
            let header = header(s_id, OURS, r_ctl::FC4_LS_REQUEST, 0x29_0000, OxId(0xeff0), RxId::UNASSIGNED);
            return self.to_target.push_back(frame(header, Sof::I3, Eof::T, &request.bytes()));
        }
        io.aborting = true;
        let header = header(s_id, OURS, r_ctl::BLS_ABTS, 0x09_0000, ox_id, rx_id);
        self.to_target.push_back(frame(header, Sof::I3, Eof::T, &[]));
    }

    /// Processes a frame as the initiator.
    fn initiator(&mut self, bytes: &[u8]) {
        let frame = FcoeFrame::new_checked(bytes).unwrap();
        let (header, payload) = (*frame.header(), frame.payload());
        if matches!(header.r_ctl, r_ctl::FC4_LS_REPLY) {
            return;
        }
        let Some(io) = self.open.get_mut(&header.ox_id) else { return };
        if header.r_ctl == r_ctl::BLS_BA_RJT || header.r_ctl == r_ctl::BLS_BA_ACC {
            return self.aborted(header.ox_id);
        }
        if *io.rx_id.get_or_insert(header.rx_id) != header.rx_id {
            return;
        }
        match header.r_ctl {
            r_ctl::DATA_DESCRIPTOR if io.write && !io.aborting => {
                let ready = FcpTransferReady::parse(payload).unwrap();
                let data = &io.data[ready.offset as usize..][..ready.len as usize];
                let frames = self.rig.data_frames(io.from, header.ox_id, header.rx_id, ready.offset, data);
                self.to_target.extend(frames);
            }
            r_ctl::DATA if !io.write => {
                let at = header.parameter as usize;
                io.data[at..at + payload.len()].copy_from_slice(payload);
                io.came[at..at + payload.len()].fill(true);
            }
            r_ctl::STATUS if !io.aborting => {
                let unit = FcpResponse::parse(payload).unwrap();
                assert_eq!((unit.status, unit.residual, unit.code), (0, 0, None));
                if !io.write && io.came.contains(&false) {
                    return;
                }
                let expected = &mut self.expected[io.start..io.start + io.data.len()];
                if io.write {
                    expected.copy_from_slice(&io.data);
                }
                assert_eq!(io.data, expected, "what was read is what is there");
                self.good += 1;
                self.open.remove(&header.ox_id);
            }
            _ => {}
        }
    }

    /// An aborted write has written some of its bytes, and none but its own.
    fn aborted(&mut self, ox_id: OxId) {
        let Some(io) = self.open.remove(&ox_id).filter(|io| io.write) else { return };
        for (i, new) in io.data.iter().enumerate() {
            let there = self.rig.device().memory.bytes[io.start + i];
            assert!(there == *new || there == self.expected[io.start + i]);
            self.expected[io.start + i] = there;
        }
    }

    fn step(&mut self) {
        self.rig.now += self.chance.below(1_000_000) as u64;
        match self.chance.below(100) {
            0..10 => self.submit(),
            10..12 => self.lose_patience(),
            12..20 => {
                self.rig.wire.room = self.chance.below(20);
                self.rig.poll();
            }
            20..60 => {
                if let Some(bytes) = self.chance.take(&mut self.to_target) {
                    let s_id = FcoeFrame::new_checked(&bytes).unwrap().header().s_id;
                    let from = self.rig.peers.iter().position(|peer| peer.fc_id == s_id).unwrap();
                    self.rig.take(from, &bytes);
                }
            }
            _ => {
                if let Some(bytes) = self.chance.take(&mut self.to_initiator) {
                    self.initiator(&bytes);
                }
            }
        }
        self.to_initiator.extend(self.rig.wire.frames.drain(..));
    }

    /// Checks that the memory without open commands has not changed.
    fn check(&mut self) {
        for region in (0..REGIONS).filter(|region| self.open.values().all(|io| io.region != *region)) {
            let range = region * REGION..(region + 1) * REGION;
            assert!(self.rig.device().memory.bytes[range.clone()] == self.expected[range], "region {region}");
        }
    }

    /// Nothing is lost any more; all that is open ends, and nothing is left.
    fn settle(&mut self) {
        for _ in 0..3 {
            self.rig.wire.room = 1_000_000;
            self.rig.poll();
            self.to_initiator.extend(self.rig.wire.frames.drain(..));
            while let Some(bytes) = self.to_initiator.pop_front() {
                self.initiator(&bytes);
            }
            while let Some(bytes) = self.to_target.pop_front() {
                let s_id = FcoeFrame::new_checked(&bytes).unwrap().header().s_id;
                let from = self.rig.peers.iter().position(|peer| peer.fc_id == s_id).unwrap();
                self.rig.take(from, &bytes);
            }
            self.to_initiator.extend(self.rig.wire.frames.drain(..));
            let left: Vec<(OxId, usize)> = self.open.iter().map(|(ox_id, io)| (*ox_id, io.from)).collect();
            for (ox_id, from) in left {
                self.rig.abts(from, ox_id, RxId::UNASSIGNED);
            }
        }
        self.to_initiator.extend(self.rig.wire.frames.drain(..));
        while let Some(bytes) = self.to_initiator.pop_front() {
            self.initiator(&bytes);
        }
        assert_eq!(self.open.len(), 0);
        self.check();
        let beyond = self.rig.device().memory.bytes.iter().enumerate().skip(REGION * REGIONS);
        assert!(beyond.clone().count() > REGION && beyond.clone().all(|(at, byte)| *byte == pattern(at)));
        // What was held back ends in a time of its own.
        for _ in 0..2 {
            self.rig.now += 2000 * SECOND;
            self.rig.poll();
        }
        assert_eq!((self.rig.target.exchanges(), self.rig.device().away, self.rig.device().open.len()), (0, 0, 0));
        assert!(self.rig.target.peers().all(|peer| peer.queue_depth == 0) && !self.rig.target.is_blocked());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_fault_of_the_network_makes_a_wrong_byte_or_leaves_an_exchange(seed: u64) {
        let mut world = World::new(seed);
        for _ in 0..20 {
            for _ in 0..100 {
                world.step();
            }
            world.check();
        }
        world.settle();
        prop_assert!(world.good > 0, "some commands end well: {:?}", world.rig.target.counters());
    }

    /// Frames of any content from peers that are logged in: what is written lies within what a WRITE of theirs has asked
    /// for, all are counted, and nothing is left when they are gone.
    #[test]
    fn forged_frames_write_nothing_elsewhere(seed: u64) {
        let mut world = World::new(seed);
        let mut asked = vec![false; 1 << 18];
        for _ in 0..1000 {
            world.rig.wire.room = world.chance.below(100);
            if world.chance.below(10) == 0 {
                world.submit();
                if let Some(io) = world.open.values().last().filter(|io| io.write) {
                    asked[io.start..io.start + io.data.len()].fill(true);
                }
            }
            let at = world.chance.below(world.to_target.len().max(1));
            let Some(bytes) = world.to_target.get(at) else { continue };
            let real = FcoeFrame::new_checked(bytes).unwrap();
            let (mut header, mut payload) = (*real.header(), real.payload().to_vec());
            let (mut sof, mut eof) = (real.sof(), real.eof());
            let from = world.rig.peers.iter().position(|peer| peer.fc_id == header.s_id).unwrap();
            let few = u16::try_from(world.chance.below(24)).unwrap();
            for _ in 0..world.chance.below(3) {
                match world.chance.below(14) {
                    0 => header.ox_id = OxId(few),
                    1 => header.rx_id = RxId(few),
                    2 => header.rx_id = RxId::UNASSIGNED,
                    3 => header.parameter = u32::try_from(world.chance.below(20_000)).unwrap(),
                    4 => header.parameter = u32::MAX - u32::from(few),
                    5 => header.f_ctl ^= 1 << world.chance.below(24),
                    6 => header.seq_cnt = few,
                    7 => header.seq_id = few.to_le_bytes()[0],
                    8 => (sof, eof) = (Sof::N3, Eof::N),
                    // FCP_CMND itself stays as it is, so that what it asks for is known.
                    9 if header.r_ctl != r_ctl::COMMAND => payload.resize(world.chance.below(2300), 0xee),
                    10 => header.r_ctl = [1, 3, 5, 7, 0x32, 0x81][world.chance.below(6)],
                    11 => header.fc_type = FcType([0, 1, 8][world.chance.below(3)]),
                    12 => header.d_id = header.s_id,
                    _ => {}
                }
            }
            header.f_ctl &= !3;
            world.rig.now += 1_000_000;
            let forged = frame(header, sof, eof, &payload);
            world.rig.take(from, &forged);
            world.rig.poll();
            let sent: Vec<Vec<u8>> = world.rig.wire.frames.drain(..).collect();
            for bytes in sent {
                world.initiator_blindly(&bytes);
            }
        }
        for (at, byte) in world.rig.device().memory.bytes.iter().enumerate() {
            prop_assert!(asked[at] || *byte == pattern(at));
        }
        for peer in world.rig.peers {
            world.rig.target.down(peer.id);
        }
        prop_assert_eq!((world.rig.target.exchanges(), world.rig.device().away, world.rig.device().open.len()), (0, 0, 0));
    }
}

impl World {
    /// Answers FCP_XFER_RDY, and believes nothing else.
    fn initiator_blindly(&mut self, bytes: &[u8]) {
        let frame = FcoeFrame::new_checked(bytes).unwrap();
        let header = *frame.header();
        let Some(io) = self.open.get(&header.ox_id).filter(|_| header.r_ctl == r_ctl::DATA_DESCRIPTOR) else { return };
        let ready = FcpTransferReady::parse(frame.payload()).unwrap();
        let data = vec![0xee; ready.len as usize];
        let frames = self.rig.data_frames(io.from, header.ox_id, header.rx_id, ready.offset, &data);
        self.to_target.extend(frames);
    }
}
