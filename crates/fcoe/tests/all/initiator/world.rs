//! An initiator, the peer that a test plays, and the frames between them.

use linerate_block::{Buffer, Tag};
use linerate_fcoe::{
    Command, Completed, Data, Initiator, InitiatorConfig, Link, Lun, Outcome, Peer, PeerId, Role, Sequence,
    TaskAttribute, Transmit,
};
use linerate_wire::*;
use linerate_wire::{OxId, RxId};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const LUN: Lun = Lun([0; 8]);
/// Tolerance of timers, in nanoseconds.
pub(crate) const TICK: u64 = 20_000_000;

/// Frames as they went out, without their Ethernet header, and room for more.
pub(crate) struct Recorder {
    pub(crate) frames: Vec<Vec<u8>>,
    pub(crate) room: usize,
}

impl Transmit for Recorder {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let payload = sequence.payload.concat();
        assert_eq!(sequence.max_payload % 4, 0);
        let pieces: Vec<&[u8]> =
            if payload.is_empty() { vec![&[]] } else { payload.chunks(sequence.max_payload).collect() };
        let count = pieces.len();
        let mut header = sequence.header;
        for (i, piece) in pieces.into_iter().enumerate() {
            if self.room == 0 {
                return i;
            }
            self.room -= 1;
            let last = i + 1 == count && sequence.end;
            let mut this = header;
            if !last {
                this.f_ctl &= !(f_ctl::END_SEQUENCE | f_ctl::LAST_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE);
            }
            let sof = if i == 0 && sequence.start { Sof::I3 } else { Sof::N3 };
            self.frames.push(encode(this, piece, sof, if last { Eof::T } else { Eof::N }));
            header.seq_cnt = header.seq_cnt.wrapping_add(1);
            if header.has(f_ctl::RELATIVE_OFFSET) {
                header.parameter += u32::try_from(piece.len()).unwrap();
            }
        }
        count
    }

    fn frame(&mut self, _: &[u8]) -> bool {
        unreachable!("an initiator sends no FIP frames")
    }

    fn room(&self) -> usize {
        self.room
    }
}

pub(crate) fn encode(mut header: FcHeader, payload: &[u8], sof: Sof, eof: Eof) -> Vec<u8> {
    let fill = payload.len().next_multiple_of(4) - payload.len();
    header.f_ctl |= u32::try_from(fill).unwrap();
    let mut bytes = FcoeRepr { sof, eof }.header().to_vec();
    bytes.extend(header.bytes());
    bytes.extend(payload);
    bytes.extend(std::iter::repeat_n(0, fill));
    let crc = crc32(&bytes[FcoeFrame::HEADER_LEN..]);
    bytes.extend(FcoeRepr { sof, eof }.trailer(crc));
    bytes
}

/// CRC-32, byte by byte.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    static TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256_u32 {
            let (mut crc, mut bit) = (byte, 0);
            while bit < 8 {
                crc = crc >> 1 ^ if crc & 1 != 0 { 0xedb8_8320 } else { 0 };
                bit += 1;
            }
            table[byte as usize] = crc;
            byte += 1;
        }
        table
    };
    !bytes.iter().fold(u32::MAX, |crc, byte| crc >> 8 ^ TABLE[(crc.to_le_bytes()[0] ^ byte) as usize])
}

/// A frame that went out, or came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) header: FcHeader,
    pub(crate) payload: Vec<u8>,
    pub(crate) sof: Sof,
    pub(crate) eof: Eof,
}

impl Frame {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let frame = FcoeFrame::new_checked(bytes).unwrap();
        assert_eq!(frame.crc(), crc32(frame.covered()));
        Self { header: *frame.header(), payload: frame.payload().to_vec(), sof: frame.sof(), eof: frame.eof() }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        encode(FcHeader { f_ctl: self.header.f_ctl & !3, ..self.header }, &self.payload, self.sof, self.eof)
    }

    pub(crate) fn is(&self, r_ctl: u8) -> bool {
        self.header.r_ctl == r_ctl
    }
}

pub(crate) fn peer() -> Peer {
    let (own, theirs) = (FcId::new(0x0e01), FcId::new(0x0e02));
    let map = [0x0e, 0xfd, 0];
    Peer {
        id: PeerId { index: 3, generation: 1 },
        wwpn: Wwn(0x2000_5254_00fc_0e02),
        wwnn: Wwn(0x1000_5254_00fc_0e02),
        fc_id: theirs,
        own,
        link: Link { src: own.mac(map), dst: theirs.mac(map), vlan: None },
        max_payload: 2112,
        role: Role { target: true, initiator: false },
        retry: false,
        confirm: false,
        e_d_tov: 2 * SECOND,
        r_a_tov: 4 * SECOND,
        authenticated: false,
    }
}

pub(crate) struct World {
    pub(crate) initiator: Initiator,
    pub(crate) out: Recorder,
    pub(crate) peer: Peer,
    pub(crate) now: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(peer(), InitiatorConfig { exchanges: 64, queue_depth: 32, retries: 5 })
    }

    pub(crate) fn with(peer: Peer, config: InitiatorConfig) -> Self {
        let out = Recorder { frames: Vec::new(), room: usize::MAX };
        Self { initiator: Initiator::new(config), out, peer, now: 1000 * SECOND }
    }

    pub(crate) fn submit(&mut self, tag: u32, cdb: &[u8], data: Data) {
        self.initiator.submit(self.now, &self.peer, command(tag, cdb, data)).unwrap();
    }

    /// Submits a READ of so many bytes, polls, and returns the OX_ID of its command.
    pub(crate) fn read(&mut self, len: usize) -> OxId {
        self.submit(7, &read_cdb(len), Data::In(Buffer::new(len)));
        self.command().header.ox_id
    }

    /// Submits a WRITE of these bytes, polls, and returns the OX_ID of its command.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> OxId {
        let mut buffer = Buffer::new(bytes.len());
        buffer.bytes_mut().copy_from_slice(bytes);
        self.submit(8, &write_cdb(bytes.len()), Data::Out(buffer));
        self.command().header.ox_id
    }

    /// Polls, and takes the one frame that went out: a command.
    pub(crate) fn command(&mut self) -> Frame {
        let frame = self.only();
        assert!(frame.is(r_ctl::COMMAND), "{frame:?}");
        frame
    }

    /// Polls, and takes the one frame that went out.
    pub(crate) fn only(&mut self) -> Frame {
        let mut sent = self.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        sent.remove(0)
    }

    /// Polls, and takes what went out.
    pub(crate) fn sent(&mut self) -> Vec<Frame> {
        self.initiator.poll(self.now, &mut self.out);
        self.out.frames.drain(..).map(|bytes| Frame::parse(&bytes)).collect()
    }

    /// Time passes; all that is due by its end happens, and what went out is returned.
    pub(crate) fn pass(&mut self, nanoseconds: u64) -> Vec<Frame> {
        let end = self.now + nanoseconds;
        let mut sent = self.sent();
        while let Some(due) = self.initiator.poll_timeout().filter(|due| *due <= end) {
            assert!(due > self.now, "a timer that does not advance");
            self.now = due;
            sent.extend(self.sent());
        }
        self.now = end;
        sent.extend(self.sent());
        sent
    }

    pub(crate) fn feed(&mut self, frame: &Frame) {
        let bytes = frame.bytes();
        let frame = FcoeFrame::new_checked(&bytes).unwrap();
        self.initiator.handle(self.now, &self.peer, &frame, &mut self.out);
    }

    pub(crate) fn done(&mut self) -> Completed {
        let completed = self.initiator.poll_completion().expect("a command has ended");
        assert!(self.initiator.poll_completion().is_none());
        completed
    }

    /// Checks that no command has ended.
    pub(crate) fn none_done(&mut self) {
        assert!(self.initiator.poll_completion().is_none());
    }

    pub(crate) fn good(&mut self) -> Completed {
        let completed = self.done();
        assert_eq!((completed.outcome, completed.status), (Outcome::Response, 0));
        completed
    }
}

pub(crate) fn command(tag: u32, cdb: &[u8], data: Data) -> Command {
    let mut bytes = [0; 32];
    bytes[..cdb.len()].copy_from_slice(cdb);
    let cdb_len = u8::try_from(cdb.len()).unwrap();
    let attribute = TaskAttribute::Simple;
    Command { tag: Tag(tag), lun: LUN, cdb: bytes, cdb_len, attribute, data, timeout: 30 * SECOND }
}

pub(crate) fn read_cdb(len: usize) -> [u8; 10] {
    let blocks = u16::try_from(len / 512).unwrap().to_be_bytes();
    [0x28, 0, 0, 0, 0, 0, 0, blocks[0], blocks[1], 0]
}

pub(crate) fn write_cdb(len: usize) -> [u8; 10] {
    let mut cdb = read_cdb(len);
    cdb[0] = 0x2a;
    cdb
}

/// Bytes that are nowhere the same for long.
pub(crate) fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| i.to_le_bytes().iter().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte))).collect()
}

/// A header of the peer.
pub(crate) fn from_target(r_ctl: u8, f_ctl: u32, ox_id: OxId) -> FcHeader {
    let fc_type = match r_ctl {
        r_ctl::BLS_ABTS | r_ctl::BLS_BA_ACC | r_ctl::BLS_BA_RJT => FcType::BLS,
        r_ctl::ELS_REPLY => FcType::ELS,
        _ => FcType::FCP,
    };
    let peer = peer();
    FcHeader {
        r_ctl,
        d_id: peer.own,
        cs_ctl: 0,
        s_id: peer.fc_id,
        fc_type,
        f_ctl,
        seq_id: 1,
        df_ctl: 0,
        seq_cnt: 0,
        ox_id,
        rx_id: RxId(0x0011),
        parameter: 0,
    }
}

fn single(header: FcHeader, payload: &[u8]) -> Frame {
    Frame { header, payload: payload.to_vec(), sof: Sof::I3, eof: Eof::T }
}

pub(crate) fn xfer_rdy(ox_id: OxId, offset: u32, len: u32) -> Frame {
    single(from_target(r_ctl::DATA_DESCRIPTOR, 0x89_0000, ox_id), &FcpTransferReady { offset, len }.bytes())
}

pub(crate) fn response(ox_id: OxId, response: &FcpResponse<'_>) -> Frame {
    let mut bytes = vec![0; response.buffer_len()];
    response.emit(&mut bytes).unwrap();
    let header = FcHeader { seq_id: 2, ..from_target(r_ctl::STATUS, 0x98_0000, ox_id) };
    single(header, &bytes)
}

pub(crate) fn good(ox_id: OxId) -> Frame {
    response(ox_id, &FcpResponse::default())
}

/// One sequence of data in, in frames of 2112 bytes.
pub(crate) fn data(ox_id: OxId, bytes: &[u8]) -> Vec<Frame> {
    data_at(ox_id, 1, 0, bytes)
}

pub(crate) fn data_at(ox_id: OxId, seq_id: u8, offset: usize, bytes: &[u8]) -> Vec<Frame> {
    let count = bytes.len().div_ceil(2112);
    bytes
        .chunks(2112)
        .enumerate()
        .map(|(i, piece)| {
            let last = i + 1 == count;
            let mut header = from_target(r_ctl::DATA, if last { 0x88_0008 } else { 0x80_0008 }, ox_id);
            header.seq_id = seq_id;
            header.seq_cnt = u16::try_from(i).unwrap();
            header.parameter = u32::try_from(offset + i * 2112).unwrap();
            let sof = if i == 0 { Sof::I3 } else { Sof::N3 };
            Frame { header, payload: piece.to_vec(), sof, eof: if last { Eof::T } else { Eof::N } }
        })
        .collect()
}

/// A reply to an ELS request of ours.
pub(crate) fn els_reply(request: &Frame, payload: &[u8]) -> Frame {
    single(
        FcHeader { rx_id: RxId::UNASSIGNED, ..from_target(r_ctl::ELS_REPLY, 0x99_0000, request.header.ox_id) },
        payload,
    )
}

pub(crate) fn rec_accept(request: &Frame, status: u32, transferred: u32) -> Frame {
    let which = ExchangeRepr::parse(&request.payload).unwrap();
    let answer = RecAccRepr {
        ox_id: which.ox_id,
        rx_id: RxId(0x0011),
        originator: peer().own,
        responder: peer().fc_id,
        transferred,
        status: e_stat::RESPONDER | status,
    };
    els_reply(request, &answer.bytes())
}

pub(crate) fn reject(request: &Frame, reason: u8, explanation: u8) -> Frame {
    els_reply(request, &LsRjtRepr::new(reason, explanation).bytes())
}

pub(crate) fn ba_acc(ox_id: OxId, low: u16, high: u16) -> Frame {
    let accept = BaAccRepr { last_seq_id: Some(1), ox_id, rx_id: RxId(0x0011), low_seq_cnt: low, high_seq_cnt: high };
    single(from_target(r_ctl::BLS_BA_ACC, 0x99_0000, ox_id), &accept.bytes())
}

pub(crate) fn ba_rjt(ox_id: OxId) -> Frame {
    single(from_target(r_ctl::BLS_BA_RJT, 0x99_0000, ox_id), &[0, 3, 3, 0])
}

pub(crate) fn srr_reply(request: &Frame, reply: FcpSrrReply) -> Frame {
    let (bytes, len) = reply.bytes();
    let header = FcHeader { fc_type: FcType::FCP, ..from_target(r_ctl::FC4_LS_REPLY, 0x99_0000, request.header.ox_id) };
    single(header, &bytes[..len])
}
