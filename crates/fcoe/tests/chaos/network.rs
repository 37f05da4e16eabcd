//! The network between the stations: loss, duplication, delay and corruption of frames.

use crate::chance::Chance;
use linerate_fcoe::{Sequence, Transmit};
use linerate_wire::*;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
/// Longest delay of a frame: less than a restarting station needs to log in, as FC-FS-3 requires of R_A_TOV.
pub(crate) const LONGEST: u64 = 800 * MILLISECOND;
/// Time that a frame takes.
const USUAL: u64 = 20 * MICROSECOND;
/// Most additional time that a late frame takes.
const DELAYS: [u64; 4] = [10 * MICROSECOND, 100 * MICROSECOND, 20 * MILLISECOND, LONGEST - USUAL];

/// Output of a node, as long as there is room: whole Ethernet frames, without a valid CRC.
#[derive(Debug, Default)]
pub(crate) struct Out {
    pub(crate) frames: Vec<Vec<u8>>,
    pub(crate) room: usize,
}

impl Transmit for Out {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let payload = sequence.payload.concat();
        let count = payload.len().div_ceil(sequence.max_payload).max(1);
        let mut header = sequence.header;
        for i in 0..count {
            if self.room == 0 {
                return i;
            }
            self.room -= 1;
            let rest = &payload[i * sequence.max_payload..];
            let piece = &rest[..rest.len().min(sequence.max_payload)];
            let last = i + 1 == count && sequence.end;
            let sof = if i == 0 && sequence.start { Sof::I3 } else { Sof::N3 };
            let mut this = header;
            if !last {
                this.f_ctl &= !(f_ctl::END_SEQUENCE | f_ctl::LAST_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE);
            }
            self.frames.push(frame(sequence, this, piece, FcoeRepr { sof, eof: if last { Eof::T } else { Eof::N } }));
            header.seq_cnt = header.seq_cnt.wrapping_add(1);
            if header.has(f_ctl::RELATIVE_OFFSET) {
                header.parameter += u32::try_from(piece.len()).unwrap();
            }
        }
        count
    }

    fn frame(&mut self, frame: &[u8]) -> bool {
        if self.room == 0 {
            return false;
        }
        self.room -= 1;
        self.frames.push(frame.to_vec());
        true
    }

    fn room(&self) -> usize {
        self.room
    }
}

fn frame(sequence: &Sequence<'_>, mut header: FcHeader, payload: &[u8], ends: FcoeRepr) -> Vec<u8> {
    let fill = payload.len().next_multiple_of(4) - payload.len();
    header.f_ctl |= u32::try_from(fill).unwrap();
    let mut bytes = vec![0; EthernetFrame::<&[u8]>::HEADER_LEN];
    let ethernet = EthernetRepr { dst: sequence.link.dst, src: sequence.link.src, ethertype: EtherType::FCOE };
    ethernet.emit(&mut bytes).unwrap();
    bytes.extend(ends.header());
    bytes.extend(header.bytes());
    bytes.extend(payload);
    bytes.extend(std::iter::repeat_n(0, fill));
    bytes.extend(ends.trailer(0));
    bytes
}

/// Rates of the faults of frames, per thousand, and the number of each so far.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) late: u64,
    pub(crate) corrupt: u64,
    /// Longest delays of late frames.
    delays: &'static [u64],
    pub(crate) counts: [u64; 4],
}

impl Network {
    pub(crate) fn new(chance: &mut Chance) -> Self {
        let rates = [0, 0, 2, 10, 40, 120];
        let [lost, doubled, late, corrupt] = [(); 4].map(|()| chance.of(&rates));
        Self { lost, doubled, late, corrupt, delays: &DELAYS, counts: [0; 4] }
    }

    /// Loses nothing: of a hundred frames three come twice, and three are overtaken by those of the next tenth of a
    /// millisecond.
    pub(crate) fn that_reorders() -> Self {
        Self { lost: 0, doubled: 30, late: 30, corrupt: 0, delays: &DELAYS[..2], counts: [0; 4] }
    }

    /// From now on all frames arrive as they were sent.
    pub(crate) fn heal(&mut self) {
        (self.lost, self.doubled, self.late, self.corrupt) = (0, 0, 0, 0);
    }

    /// Passes on the copies of a frame that arrive, each with its delay.
    pub(crate) fn carry(&mut self, chance: &mut Chance, mut frame: Vec<u8>, mut arrive: impl FnMut(u64, Vec<u8>)) {
        if chance.often(self.lost) {
            return self.counts[0] += 1;
        }
        if chance.often(self.corrupt) {
            self.counts[3] += 1;
            // A frame of FC is dropped for its CRC; one of FIP has none.
            if EthernetFrame::new_checked(&frame).is_ok_and(|frame| frame.ethertype() == EtherType::FCOE) {
                return;
            }
            let at = 14 + chance.index(frame.len() - 14);
            frame[at] ^= 1 << chance.below(8);
        }
        if chance.often(self.doubled) {
            self.counts[1] += 1;
            arrive(self.delay(chance), frame.clone());
        }
        arrive(self.delay(chance), frame);
    }

    /// Nearly all frames take the same time, so that they stay in order; a late one is overtaken by few or by many.
    fn delay(&mut self, chance: &mut Chance) -> u64 {
        if !chance.often(self.late) {
            return USUAL;
        }
        self.counts[2] += 1;
        let most = chance.of(self.delays);
        USUAL + chance.below(most)
    }
}
