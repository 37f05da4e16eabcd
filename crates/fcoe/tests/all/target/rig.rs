//! A target with two initiators, and the frames that they send.

use crate::target::mock::Mock;
use crate::target::wire::{Sent, Wire, frame, header};
use linerate_fcoe::{DeviceServer, Link, Peer, PeerId, Role, Target, TargetConfig, TargetDrop};
use linerate_wire::{
    Eof, FcHeader, FcId, FcoeFrame, FcpCommand, FcpResponse, FcpSrr, MacAddr, OxId, RxId, Sof, Wwn, f_ctl, r_ctl,
};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const OURS: FcId = FcId::new(0x0e02);

/// Initiator `index`: 0e01, 0e03 and so on.
pub(crate) fn peer(index: u16) -> Peer {
    let fc_id = FcId::new(0x0e01 + u32::from(index) * 2);
    Peer {
        id: PeerId { index, generation: 1 },
        wwpn: Wwn(0x2000_0000_0000_0000 + u64::from(index)),
        wwnn: Wwn(0x1000_0000_0000_0000 + u64::from(index)),
        fc_id,
        own: OURS,
        link: Link { src: OURS.mac([0x0e, 0xfd, 0]), dst: MacAddr([0x0e, 0xfd, 0, 0, 0x0e, 1]), vlan: None },
        max_payload: 2112,
        role: Role { target: false, initiator: true },
        retry: false,
        confirm: false,
        e_d_tov: 2 * SECOND,
        r_a_tov: 4 * SECOND,
        authenticated: false,
    }
}

pub(crate) struct Rig<S = Mock> {
    pub(crate) target: Target<S>,
    pub(crate) wire: Wire,
    pub(crate) now: u64,
    pub(crate) peers: [Peer; 2],
}

pub(crate) fn rig() -> Rig {
    Rig::new(TargetConfig::default(), |peer| peer)
}

impl Rig {
    pub(crate) fn new(config: TargetConfig, change: impl Fn(Peer) -> Peer) -> Self {
        Self::of(Mock::new(1 << 20), config, change)
    }
}

impl<S: DeviceServer> Rig<S> {
    pub(crate) fn of(device: S, config: TargetConfig, change: impl Fn(Peer) -> Peer) -> Self {
        let peers = [0, 1].map(|index| change(peer(index)));
        let mut target = Target::new(config, device);
        assert!(peers.iter().all(|peer| target.up(peer)));
        Self { target, wire: Wire::new(), now: SECOND, peers }
    }

    pub(crate) fn device(&mut self) -> &mut S {
        self.target.device_mut()
    }

    /// Hands a frame of initiator `from` to the target.
    pub(crate) fn take(&mut self, from: usize, bytes: &[u8]) {
        let frame = FcoeFrame::new_checked(bytes).unwrap();
        self.target.handle(self.now, &self.peers[from], &frame, &mut self.wire);
    }

    pub(crate) fn poll(&mut self) {
        self.target.poll(self.now, &mut self.wire);
    }

    pub(crate) fn dropped(&self, reason: TargetDrop) -> u64 {
        self.target.counters().dropped(reason)
    }

    pub(crate) fn header(&self, from: usize, r_ctl: u8, f_ctl: u32, ox_id: OxId, rx_id: RxId) -> FcHeader {
        header(self.peers[from].fc_id, OURS, r_ctl, f_ctl, ox_id, rx_id)
    }

    /// Sends a sequence of one frame.
    pub(crate) fn send(&mut self, from: usize, header: FcHeader, payload: &[u8]) {
        assert_eq!(header.s_id, self.peers[from].fc_id);
        self.take(from, &frame(header, Sof::I3, Eof::T, payload));
    }

    pub(crate) fn command(&mut self, from: usize, ox_id: OxId, command: &FcpCommand<'_>) {
        let mut payload = [0; FcpCommand::MAX_LEN];
        let len = command.emit(&mut payload).unwrap();
        let header = self.header(from, r_ctl::COMMAND, 0x29_0000, ox_id, RxId::UNASSIGNED);
        self.send(from, header, &payload[..len]);
    }

    /// READ(10) of so many blocks from `lba` on.
    pub(crate) fn read(&mut self, from: usize, ox_id: OxId, lba: u32, blocks: u16) {
        let cdb = cdb(0x28, lba, blocks);
        self.command(from, ox_id, &FcpCommand { read: true, data_len: u32::from(blocks) * 512, ..plain(&cdb) });
    }

    /// WRITE(10), without its data.
    pub(crate) fn write(&mut self, from: usize, ox_id: OxId, lba: u32, blocks: u16) {
        let cdb = cdb(0x2a, lba, blocks);
        self.command(from, ox_id, &FcpCommand { write: true, data_len: u32::from(blocks) * 512, ..plain(&cdb) });
    }

    /// Data out in frames of 2048 bytes as the kernel sends them, `data` lying at `offset`.
    pub(crate) fn data(&mut self, from: usize, ox_id: OxId, rx_id: RxId, offset: u32, data: &[u8]) {
        for frame in self.data_frames(from, ox_id, rx_id, offset, data) {
            self.take(from, &frame);
        }
    }

    pub(crate) fn data_frames(&self, from: usize, ox_id: OxId, rx_id: RxId, offset: u32, data: &[u8]) -> Vec<Vec<u8>> {
        let count = data.len().div_ceil(2048);
        let frames = data.chunks(2048).zip(0_u16..).map(|(piece, i)| {
            let last = usize::from(i) + 1 == count;
            let ends = if last { f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE } else { 0 };
            let header = FcHeader {
                seq_id: 1,
                seq_cnt: i,
                parameter: offset + u32::from(i) * 2048,
                ..self.header(from, r_ctl::DATA, f_ctl::RELATIVE_OFFSET | ends, ox_id, rx_id)
            };
            frame(header, if i == 0 { Sof::I3 } else { Sof::N3 }, if last { Eof::T } else { Eof::N }, piece)
        });
        frames.collect()
    }

    pub(crate) fn abts(&mut self, from: usize, ox_id: OxId, rx_id: RxId) {
        let header = FcHeader { seq_id: 9, ..self.header(from, r_ctl::BLS_ABTS, 0x09_0000, ox_id, rx_id) };
        self.send(from, header, &[]);
    }

    pub(crate) fn srr(&mut self, from: usize, request: &FcpSrr) {
        let header = self.header(from, r_ctl::FC4_LS_REQUEST, 0x29_0000, OxId(0xeff0), RxId::UNASSIGNED);
        self.send(from, header, &request.bytes());
    }

    /// The next frame sent is FCP_RSP of this exchange: its status, residual and RSP_CODE.
    pub(crate) fn response(&mut self, ox_id: OxId) -> (u8, i64, Option<u8>) {
        let sent = self.wire.expect(r_ctl::STATUS);
        assert_eq!(sent.header.ox_id, ox_id);
        let unit = FcpResponse::parse(&sent.payload).unwrap();
        (unit.status, unit.residual, unit.code)
    }

    /// The next frame sent is FCP_XFER_RDY: the exchange's RX_ID, where and how many bytes.
    pub(crate) fn ready(&mut self) -> (RxId, u32, u32) {
        let sent: Sent = self.wire.expect(r_ctl::DATA_DESCRIPTOR);
        let unit = linerate_wire::FcpTransferReady::parse(&sent.payload).unwrap();
        (sent.header.rx_id, unit.offset, unit.len)
    }
}

pub(crate) fn cdb(code: u8, lba: u32, blocks: u16) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[0] = code;
    cdb[2..6].copy_from_slice(&lba.to_be_bytes());
    cdb[7..9].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

/// A command for unit 0 without data.
pub(crate) fn plain(cdb: &[u8]) -> FcpCommand<'_> {
    FcpCommand {
        lun: [0; 8],
        reference: 0,
        priority: 0,
        attribute: 0,
        function: 0,
        read: false,
        write: false,
        cdb,
        data_len: 0,
        bidirectional_read_len: 0,
    }
}
