//! The wire in both directions: what the target sends, as frames; what an initiator sends, byte by byte.

use linerate_fcoe::{Sequence, Transmit};
use linerate_wire::{Eof, FcHeader, FcId, FcType, FcoeFrame, FcoeRepr, OxId, RxId, Sof, f_ctl, r_ctl};
use std::collections::VecDeque;

/// Records what is sent: each frame from its FCoE header on.
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) frames: VecDeque<Vec<u8>>,
    pub(crate) room: usize,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self { frames: VecDeque::new(), room: 1_000_000 }
    }

    /// The next frame that was sent.
    pub(crate) fn next(&mut self) -> Option<Sent> {
        let bytes = self.frames.pop_front()?;
        let frame = FcoeFrame::new_checked(&bytes).expect("what is sent is a frame");
        assert_eq!(frame.crc(), crc(frame.covered()));
        assert_eq!(frame.eof() == Eof::T, frame.header().has(f_ctl::END_SEQUENCE));
        assert_eq!(frame.sof() == Sof::I3, frame.header().seq_cnt == 0, "no sequence here has 65536 frames");
        Some(Sent { header: *frame.header(), payload: frame.payload().to_vec() })
    }

    /// The next frame, which there is.
    pub(crate) fn expect(&mut self, r_ctl: u8) -> Sent {
        let sent = self.next().expect("a frame was sent");
        assert_eq!(sent.header.r_ctl, r_ctl, "{sent:x?}");
        sent
    }

    pub(crate) fn all(&mut self) -> Vec<Sent> {
        std::iter::from_fn(|| self.next()).collect()
    }

    #[track_caller]
    pub(crate) fn silent(&mut self) {
        assert_eq!(self.next(), None);
    }
}

/// A frame that the target sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) header: FcHeader,
    pub(crate) payload: Vec<u8>,
}

impl Transmit for Wire {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let max = sequence.max_payload;
        let payload = sequence.payload.concat();
        assert!(max > 0 && max.is_multiple_of(4));
        assert!(sequence.end || payload.len().is_multiple_of(max), "only a sequence's last frame may be short");
        let all = payload.len().div_ceil(max).max(1);
        let count = all.min(self.room);
        self.room -= count;
        let last_only = f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE | f_ctl::LAST_SEQUENCE;
        for i in 0..count {
            let piece = &payload[i * max..payload.len().min((i + 1) * max)];
            let mut header = sequence.header;
            let step = u16::try_from(i).unwrap();
            header.seq_cnt = header.seq_cnt.wrapping_add(step);
            if header.has(f_ctl::RELATIVE_OFFSET) {
                header.parameter += u32::from(step) * u32::try_from(max).unwrap();
            }
            let ends = i + 1 == all && sequence.end;
            if i + 1 != all {
                header.f_ctl &= !last_only;
            }
            let sof = if sequence.start && i == 0 { Sof::I3 } else { Sof::N3 };
            let eof = if ends { Eof::T } else { Eof::N };
            self.frames.push_back(frame(header, sof, eof, piece));
        }
        count
    }

    fn frame(&mut self, _: &[u8]) -> bool {
        unreachable!("a target sends no frames of FIP")
    }

    fn room(&self) -> usize {
        self.room
    }
}

/// A frame with fill and CRC.
pub(crate) fn frame(mut header: FcHeader, sof: Sof, eof: Eof, payload: &[u8]) -> Vec<u8> {
    let fill = (4 - payload.len() % 4) % 4;
    header.f_ctl |= u32::try_from(fill).unwrap();
    let repr = FcoeRepr { sof, eof };
    let mut bytes = repr.header().to_vec();
    bytes.extend(header.bytes());
    bytes.extend(payload);
    bytes.resize(bytes.len() + fill, 0);
    let crc = crc(&bytes[14..]);
    bytes.extend(repr.trailer(crc));
    bytes
}

/// CRC-32 bit by bit (FC-FS-3).
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

/// The header of a frame from an initiator to the target.
pub(crate) fn header(s_id: FcId, d_id: FcId, r_ctl: u8, f_ctl: u32, ox_id: OxId, rx_id: RxId) -> FcHeader {
    let fc_type = if r_ctl == r_ctl::BLS_ABTS { FcType::BLS } else { FcType::FCP };
    FcHeader {
        r_ctl,
        d_id,
        cs_ctl: 0,
        s_id,
        fc_type,
        f_ctl,
        seq_id: 0,
        df_ctl: 0,
        seq_cnt: 0,
        ox_id,
        rx_id,
        parameter: 0,
    }
}
