//! Allocations of a target: all are made at the start, within bounds, and none for a command.

use crate::counting::held;
use linerate_block::{Buffer, Memory, Tag};
use linerate_fcoe::*;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};
/// One memory for all units: WRITE(10) and READ(10) of one block.
struct Disk([u8; 512]);

const GOOD: Response = Response { status: 0, sense: [0; 32], sense_len: 0, wanted: 512 };

impl Memory for Disk {
    fn read(&self, offset: u64, len: usize) -> &[u8] {
        &self.0[usize::try_from(offset).unwrap()..][..len]
    }
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.0[usize::try_from(offset).unwrap()..][..bytes.len()].copy_from_slice(bytes);
    }
    fn protection(&self, _: u64) -> Option<[u8; 8]> {
        None
    }
    fn set_protection(&mut self, _: u64, _: [u8; 8]) {}
}

impl DeviceServer for Disk {
    fn nexus(&mut self, _: PeerId, _: Wwn) {}
    fn nexus_lost(&mut self, _: PeerId) {}
    fn command(&mut self, _: u64, task: &Task<'_>) -> Step {
        match task.cdb[0] {
            0x28 => Step::SendMemory { offset: 0, len: 512, then: GOOD },
            _ => Step::ReceiveMemory { offset: 0, len: 512 },
        }
    }
    fn received(&mut self, _: u64, _: Tag, _: Option<Buffer>) -> Step {
        Step::End(GOOD)
    }
    fn give_back(&mut self, _: Buffer) {}
    fn sent(&mut self, _: Tag) -> bool {
        false
    }
    fn abort(&mut self, _: Tag, _: Option<Buffer>) {}
    fn manage(&mut self, _: u64, _: PeerId, _: Lun, _: Function, _: &mut dyn FnMut(Tag)) -> FunctionResponse {
        FunctionResponse::Complete
    }
    fn poll(&mut self, _: u64) -> Option<(Tag, Step)> {
        None
    }
    fn with_memory<R>(&mut self, _: Tag, with: impl FnOnce(&mut dyn Memory) -> R) -> Option<R> {
        Some(with(self))
    }
}

/// Sends all at once, to nobody; remembers what was asked for last, and counts responses.
struct Nobody {
    rx_id: RxId,
    responses: u64,
}

impl Transmit for Nobody {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        match sequence.header.r_ctl {
            r_ctl::DATA_DESCRIPTOR => self.rx_id = sequence.header.rx_id,
            r_ctl::STATUS => self.responses += 1,
            _ => {}
        }
        let bytes: usize = sequence.payload.iter().map(|piece| piece.len()).sum();
        bytes.div_ceil(sequence.max_payload)
    }
    fn frame(&mut self, _: &[u8]) -> bool {
        false
    }
    fn room(&self) -> usize {
        64
    }
}

const PEER: Peer = Peer {
    id: PeerId { index: 0, generation: 0 },
    wwpn: Wwn(1),
    wwnn: Wwn(2),
    fc_id: FcId::new(0x0e01),
    own: FcId::new(0x0e02),
    link: Link { src: MacAddr([0x0e; 6]), dst: MacAddr([0x0e; 6]), vlan: None },
    max_payload: 2112,
    role: Role { target: false, initiator: true },
    retry: false,
    confirm: false,
    e_d_tov: 2_000_000_000,
    r_a_tov: 4_000_000_000,
    authenticated: false,
};

/// A frame of the initiator's, from its FCoE header on, in memory that is used again.
fn frame(bytes: &mut Vec<u8>, r_ctl: u8, f_ctl: u32, ox_id: OxId, rx_id: RxId, payload: &[u8]) {
    let header = FcHeader {
        r_ctl,
        d_id: PEER.own,
        cs_ctl: 0,
        s_id: PEER.fc_id,
        fc_type: FcType::FCP,
        f_ctl,
        seq_id: 0,
        df_ctl: 0,
        seq_cnt: 0,
        ox_id,
        rx_id,
        parameter: 0,
    };
    let repr = FcoeRepr { sof: Sof::I3, eof: Eof::T };
    bytes.clear();
    bytes.extend_from_slice(&repr.header());
    bytes.extend_from_slice(&header.bytes());
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&repr.trailer(0));
}

fn command(bytes: &mut Vec<u8>, ox_id: OxId, code: u8) {
    let mut unit = [0; 32];
    (unit[11], unit[12], unit[20], unit[30]) = (if code == 0x28 { 2 } else { 1 }, code, 1, 2);
    frame(bytes, r_ctl::COMMAND, 0x29_0000, ox_id, RxId::UNASSIGNED, &unit);
}

#[test]
fn ten_thousand_exchanges_take_less_than_64_mib_and_none_allocates() {
    let mut bytes = Vec::with_capacity(4096);
    let before = held().0;
    for retry in [false, true] {
        let peer = Peer { retry, ..PEER };
        let config = TargetConfig { max_queue: 20_000, ..TargetConfig::default() };
        let mut target = Target::new(config, Disk([0; 512]));
        assert!(target.up(&peer));
        let mut out = Nobody { rx_id: RxId::UNASSIGNED, responses: 0 };
        let made = held();
        assert!(made.0 - before < 8 << 20, "{} bytes", made.0 - before);
        for round in 0..20_000_u16 {
            // Of two READs of one OX_ID within 40 ms, the second is held back.
            let now = 1 + u64::from(round) * 3_000_000;
            for code in [0x28, 0x2a] {
                command(&mut bytes, OxId(round % 16), code);
                target.handle(now, &peer, &FcoeFrame::new_checked(&bytes).unwrap(), &mut out);
                if code == 0x2a {
                    frame(&mut bytes, r_ctl::DATA, 0x09_0008, OxId(round % 16), out.rx_id, &[7; 512]);
                    target.handle(now, &peer, &FcoeFrame::new_checked(&bytes).unwrap(), &mut out);
                }
                target.poll(now, &mut out);
            }
        }
        assert_eq!((out.responses, target.counters().drops()), (40_000, 0));
        for ox_id in 0..10_000 {
            command(&mut bytes, OxId(ox_id), 0x2a);
            target.handle(1, &peer, &FcoeFrame::new_checked(&bytes).unwrap(), &mut out);
        }
        assert_eq!(target.peers().next().unwrap().queue_depth, 10_000);
        assert_eq!(held(), made, "nothing was allocated since it was made");
    }
}
