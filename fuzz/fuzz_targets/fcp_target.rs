//! An FCP target by a script of frames and time: it never panics, writes only where a WRITE asked for it, sends only whole
//! frames of exchanges, and has nothing left when its peers are gone.
//!
//! The first byte says what was agreed on and how the target is configured. Then a step is a byte of flags (bit 0 the
//! peer, bit 1 RX_ID becomes ours for that OX_ID, bits 2 and 3 the room), the time since the last in units of 2^24 ns (1),
//! a length (2, big endian), and so many bytes of a frame from its FCoE header on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_block::{Buffer, Memory, Tag};
use linerate_fcoe::*;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};
use std::collections::BTreeMap;

const OURS: FcId = FcId::new(0x0e02);
const SIZE: usize = 1 << 16;

struct Ram(Vec<u8>);

impl Memory for Ram {
    fn read(&self, offset: u64, len: usize) -> &[u8] {
        let rest = usize::try_from(offset).ok().and_then(|start| self.0.get(start..)).unwrap_or_default();
        &rest[..len.min(rest.len()).min(3000)]
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.0[usize::try_from(offset).unwrap()..][..bytes.len()].copy_from_slice(bytes);
    }

    fn protection(&self, _: u64) -> Option<[u8; 8]> {
        None
    }

    fn set_protection(&mut self, _: u64, _: [u8; 8]) {}
}

/// READ(10) and WRITE(10) on a memory, through buffers when the LUN is odd; all else is done without data, VERIFY later.
struct Disk {
    ram: Ram,
    asked: Vec<bool>,
    away: i32,
    open: BTreeMap<u32, (Lun, PeerId, u64)>,
}

const GOOD: Response = Response { status: 0, sense: [0; 32], sense_len: 0, wanted: 0 };

impl DeviceServer for Disk {
    fn nexus(&mut self, _: PeerId, _: Wwn) {}

    fn nexus_lost(&mut self, nexus: PeerId) {
        assert!(self.open.values().all(|(_, whose, _)| *whose != nexus));
    }

    fn command(&mut self, _: u64, task: &Task<'_>) -> Step {
        let start = u64::from(u32::from_be_bytes(task.cdb[2..6].try_into().unwrap())).saturating_mul(512);
        let len = usize::from(u16::from_be_bytes([task.cdb[7], task.cdb[8]])) * 512;
        let (write, buffers) = (task.cdb[0] == 0x2a, task.lun.0[1] & 1 == 1);
        let then = Response { wanted: len as u64, ..GOOD };
        if !matches!(task.cdb[0], 0x28 | 0x2a) || start + len as u64 > SIZE as u64 {
            if task.cdb[0] != 0x2f {
                return Step::End(Response { status: 2, sense: [7; 32], sense_len: task.cdb[1], ..GOOD });
            }
            assert!(self.open.insert(task.tag.0, (task.lun, task.nexus, 0)).is_none());
            return Step::Pending;
        }
        if !write {
            if !buffers {
                return Step::SendMemory { offset: start, len: len as u32, then };
            }
            self.away += 1;
            return Step::Send { buffer: Buffer::new(len), then };
        }
        let len = len.min(task.data_out as usize);
        assert!(self.open.insert(task.tag.0, (task.lun, task.nexus, start)).is_none());
        if buffers {
            self.away += 1;
            return Step::Receive { buffer: Buffer::new(len) };
        }
        self.asked[start as usize..][..len].fill(true);
        Step::ReceiveMemory { offset: start, len: len as u32 }
    }

    fn received(&mut self, _: u64, tag: Tag, buffer: Option<Buffer>) -> Step {
        self.away -= i32::from(buffer.is_some());
        self.open.remove(&tag.0).unwrap();
        Step::End(GOOD)
    }

    fn give_back(&mut self, _: Buffer) {
        self.away -= 1;
    }

    fn sent(&mut self, _: Tag) -> bool {
        false
    }

    fn abort(&mut self, tag: Tag, buffer: Option<Buffer>) {
        self.away -= i32::from(buffer.is_some());
        self.open.remove(&tag.0).unwrap();
    }

    fn manage(&mut self, _: u64, _: PeerId, lun: Lun, _: Function, aborted: &mut dyn FnMut(Tag)) -> FunctionResponse {
        self.open.retain(|tag, (of, _, _)| {
            if *of == lun {
                aborted(Tag(*tag));
            }
            *of != lun
        });
        FunctionResponse::Complete
    }

    fn poll(&mut self, _: u64) -> Option<(Tag, Step)> {
        None
    }

    fn with_memory<R>(&mut self, _: Tag, with: impl FnOnce(&mut dyn Memory) -> R) -> Option<R> {
        Some(with(&mut self.ram))
    }
}

/// What is sent is looked at and forgotten, but for RX_IDs.
struct Wire {
    room: usize,
    rx_ids: BTreeMap<(FcId, OxId), RxId>,
}

impl Transmit for Wire {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let (header, max) = (sequence.header, sequence.max_payload);
        assert!(header.s_id == OURS && max % 4 == 0 && (256..=2112).contains(&max));
        // The only exchanges that a target begins are RECs.
        assert_eq!(header.from_responder(), header.r_ctl != r_ctl::ELS_REQUEST);
        let len: usize = sequence.payload.iter().map(|piece| piece.len()).sum();
        assert!(sequence.end || len > 0 && len % max == 0);
        assert_eq!(header.has(f_ctl::END_SEQUENCE), sequence.end);
        match header.r_ctl {
            r_ctl::STATUS => drop(FcpResponse::parse(sequence.payload[0]).unwrap()),
            r_ctl::DATA_DESCRIPTOR => drop(FcpTransferReady::parse(sequence.payload[0]).unwrap()),
            r_ctl::FC4_LS_REPLY => drop(FcpSrrReply::parse(sequence.payload[0]).unwrap()),
            r_ctl::ELS_REQUEST => {
                assert_eq!((header.fc_type, sequence.payload[0][0]), (FcType::ELS, ElsCommand::REC.0));
                let _ = ExchangeRepr::parse(sequence.payload[0]).unwrap();
            }
            r_ctl::DATA | r_ctl::BLS_BA_ACC | r_ctl::BLS_BA_RJT => {}
            other => panic!("{other:02x}"),
        }
        let frames = len.div_ceil(max).max(1).min(self.room);
        self.room -= frames;
        if frames > 0 && header.fc_type == FcType::FCP && header.rx_id != RxId::UNASSIGNED {
            self.rx_ids.insert((header.d_id, header.ox_id), header.rx_id);
        }
        frames
    }

    fn frame(&mut self, _: &[u8]) -> bool {
        unreachable!()
    }

    fn room(&self) -> usize {
        self.room
    }
}

fn peer(index: u16, flags: u8) -> Peer {
    let fc_id = FcId::new(0x0e01 + u32::from(index) * 2);
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    Peer {
        id: PeerId { index, generation: 0 },
        wwpn: Wwn(1),
        wwnn: Wwn(2),
        fc_id,
        own: OURS,
        link: Link { src: mac, dst: mac, vlan: None },
        max_payload: if flags & 1 == 0 { 2112 } else { 1452 },
        role: Role { target: false, initiator: true },
        retry: flags & 2 != 0,
        confirm: flags & 4 != 0,
        e_d_tov: 2_000_000_000,
        r_a_tov: 4_000_000_000,
        authenticated: false,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&flags, mut rest)) = bytes.split_first() else { return };
    let config = TargetConfig {
        max_exchanges: if flags & 8 == 0 { 64 } else { 4 },
        max_queue: 32,
        max_peers: 2,
        burst: if flags & 16 == 0 { u32::MAX } else { 2048 },
        turn: 2,
        patience: 10_000_000_000,
        max_finished: 3,
        max_finished_bytes: 20_000,
    };
    let disk = Disk { ram: Ram(vec![0; SIZE]), asked: vec![false; SIZE], away: 0, open: BTreeMap::new() };
    let mut target = Target::new(config, disk);
    let peers = [peer(0, flags), peer(1, flags)];
    assert!(peers.iter().all(|peer| target.up(peer)));
    let mut wire = Wire { room: 0, rx_ids: BTreeMap::new() };
    let mut now = 1;
    while let Some((&[flags, time, high, low], after)) = rest.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([high, low])).min(after.len());
        let (bytes, next) = after.split_at(len);
        rest = next;
        now += u64::from(time) << 24;
        wire.room = [100, 1, 0, 3][usize::from(flags >> 2 & 3)];
        let peer = &peers[usize::from(flags & 1)];
        let mut bytes = bytes.to_vec();
        if let Ok(frame) = FcoeFrame::new_checked(&bytes) {
            let (ox_id, rx_id) = (frame.header().ox_id, frame.header().rx_id);
            let _ = target.exchange_status(peer.fc_id, ox_id, rx_id);
            if let Some(known) = wire.rx_ids.get(&(peer.fc_id, ox_id)).filter(|_| flags & 2 != 0) {
                bytes[32..34].copy_from_slice(&known.0.to_be_bytes());
            }
            target.handle(now, peer, &FcoeFrame::new_checked(&bytes).unwrap(), &mut wire);
        } else if flags & 0xf0 == 0xf0 {
            let _ = target.reinstate(peer.fc_id, OxId(u16::from(high)), RxId(u16::from(low)));
        } else if flags & 0xf0 == 0xe0 {
            target.down(peer.id);
            assert!(target.up(peer));
        }
        target.poll(now, &mut wire);
        assert!(target.exchanges() <= usize::from(config.max_exchanges));
        assert!(target.peers().all(|peer| usize::from(peer.queue_depth) <= target.exchanges()));
    }
    for peer in &peers {
        target.down(peer.id);
    }
    let disk = target.device();
    assert_eq!((target.exchanges(), disk.away, disk.open.len()), (0, 0, 0));
    // Most of it was never asked for: looked at by whole blocks, which costs a script next to nothing.
    for (bytes, asked) in disk.ram.0.as_chunks::<512>().0.iter().zip(disk.asked.as_chunks::<512>().0) {
        assert!(*bytes == [0; 512] || bytes.iter().zip(asked).all(|(byte, asked)| *asked || *byte == 0));
    }
});
