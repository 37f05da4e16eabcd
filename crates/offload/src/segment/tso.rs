//! TSO4 and TSO6: the TCP fields of each segment. Sequence numbers increase; FIN and PSH are on the last segment only,
//! CWR (RFC 3168, section 6.1.2) on the first; everything else is the template's.

use linerate_sum::Sum;
use linerate_wire::TcpFlags;

use super::{SegmentError, Turn};
use crate::headers::{u16_at, u32_at};

const SEQ: usize = 4;
const OFFSET_AND_FLAGS: usize = 12;

/// Flags allowed on a single segment only.
const ALONE: TcpFlags = TcpFlags::SYN.union(TcpFlags::RST).union(TcpFlags::URG);
const LAST: TcpFlags = TcpFlags::FIN.union(TcpFlags::PSH);

/// State of the TCP header in a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tcp {
    seq: u32,
    /// The 16 bits of data offset, reserved bits and flags.
    word: u16,
}

/// Bytes of the header at the front of `bytes`, if it is whole.
pub(super) fn header_len(bytes: &[u8]) -> Option<usize> {
    let len = usize::from(bytes.get(OFFSET_AND_FLAGS)? >> 4) * 4;
    (20..=bytes.len()).contains(&len).then_some(len)
}

impl Tcp {
    /// Offset of the checksum in the header.
    pub(super) const CHECKSUM: usize = 16;

    /// Parses a whole header and clears the fields that [`patch`](Self::patch) writes.
    pub(super) fn take(header: &mut [u8]) -> Result<Self, SegmentError> {
        let seq = u32_at(header, SEQ).ok_or(SegmentError::Template)?;
        let word = u16_at(header, OFFSET_AND_FLAGS).ok_or(SegmentError::Template)?;
        let flags = TcpFlags(word.to_be_bytes()[1]);
        if flags.intersects(ALONE) {
            return Err(SegmentError::Flags(flags.0));
        }
        header[SEQ..SEQ + 4].fill(0);
        header[OFFSET_AND_FLAGS..OFFSET_AND_FLAGS + 2].fill(0);
        header[Self::CHECKSUM..Self::CHECKSUM + 2].fill(0);
        Ok(Self { seq, word })
    }

    /// Changes the sequence number of the next segment.
    #[inline]
    pub(super) fn set_seq(&mut self, seq: u32) {
        self.seq = seq;
    }

    /// Writes the fields of the next segment, of `len` bytes of payload, into `header`; `sum` covers all but the
    /// payload, whose sum is separate because its length may be odd.
    #[inline]
    pub(super) fn patch(&mut self, header: &mut [u8; 20], turn: Turn, len: u16, mut sum: Sum, payload: Sum) {
        let mut word = self.word;
        if !turn.first {
            word &= !u16::from(TcpFlags::CWR.0);
        }
        if !turn.last {
            word &= !u16::from(LAST.0);
        }
        header[SEQ..SEQ + 4].copy_from_slice(&self.seq.to_be_bytes());
        header[OFFSET_AND_FLAGS..OFFSET_AND_FLAGS + 2].copy_from_slice(&word.to_be_bytes());
        let checksum = sum.add_u32(self.seq).add_u16(word).add_sum(payload).finish();
        header[Self::CHECKSUM..Self::CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
        self.seq = self.seq.wrapping_add(u32::from(len));
    }
}
