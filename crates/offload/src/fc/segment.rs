//! FC segmentation: a sequence's headers and the caller's slices become frames, each written once, directly into its
//! slot, with its CRC computed during the copy.

use linerate_sum::{crc32_update, crc32_words, prefetch};
use linerate_wire::{Eof, FcHeader, FcoeFrame, FcoeRepr, Sof, f_ctl};

use super::super::sink::{Frames, Sink};
use super::encapsulated;
use std::ptr::NonNull;

/// Longest headers in bytes: Ethernet, three tags, the encapsulation and the FC header.
pub const MAX_FC_HEADER: usize = 14 + 3 * 4 + FcoeFrame::HEADER_LEN + FcHeader::LEN;

/// Most bytes of payload in a frame (FC-FS-3, clause 11.3.6).
pub const MAX_FC_PAYLOAD: usize = 2112;

/// Bytes of a cache line.
const LINE: usize = 64;

/// F_CTL bits that only a sequence's last frame has.
const LAST: u32 = f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE | f_ctl::LAST_SEQUENCE;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FcSegmentError {
    #[error("FC segmentation: {0} bytes are no Ethernet and FCoE header: give both of them and nothing more")]
    Front(usize),
    #[error("FC segmentation: frames of {0} bytes of payload: give a multiple of 4, from 4 to {MAX_FC_PAYLOAD}")]
    Size(usize),
}

/// A sequence, or a part of it, being segmented.
///
/// Each frame but the last has `max_payload` bytes of payload; SEQ_CNT increases by one a frame, and the parameter by
/// the payload's bytes if F_CTL has RELATIVE_OFFSET (FC-FS-3, clauses 12.8 and 12.11). END_SEQUENCE,
/// SEQUENCE_INITIATIVE and LAST_SEQUENCE are set in the sequence's last frame only, and a last payload of partial words
/// is filled with zeros, whose number is in F_CTL (clause 12.7).
///
/// ```
/// use linerate_offload::{FcSegments, Frames, Verdict, verify_fc_crc};
/// use linerate_wire::*;
///
/// let ethernet = EthernetRepr { dst: MacAddr([2; 6]), src: MacAddr([6; 6]), ethertype: EtherType::FCOE };
/// let mut front = [0; 14 + 14];
/// ethernet.emit(&mut front)?;
/// let header = FcHeader {
///     r_ctl: r_ctl::DATA,
///     fc_type: FcType::FCP,
///     f_ctl: f_ctl::EXCHANGE_RESPONDER | f_ctl::END_SEQUENCE | f_ctl::RELATIVE_OFFSET,
///     ..FcHeader::parse(&[0; 24])?
/// };
///
/// // The payload may lie in several places; each byte is copied once, from there into its frame.
/// let payload = [&[1; 100][..], &[2; 4000]];
/// let mut segments = FcSegments::new(&front, &header, &payload, 2112, true, true)?;
/// let mut slot = [0; 2180];
/// let mut lengths = Vec::new();
/// while let Some(len) = segments.write_next(&mut slot[..]) {
///     assert_eq!(verify_fc_crc(&slot[..len]), Verdict::Good);
///     lengths.push(len);
/// }
/// assert_eq!(lengths, [2172, 2048]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FcSegments<'a> {
    /// All headers before the FC header; the SOF in them is ignored.
    front: &'a [u8],
    /// Header of the next frame, with the F_CTL of the sequence's last one, without fill bytes.
    header: FcHeader,
    /// Slices not used up; `offset` bytes of the first one are used.
    payload: &'a [&'a [u8]],
    offset: usize,
    left: usize,
    size: usize,
    sof: Sof,
    end: bool,
    done: bool,
}

impl Frames for FcSegments<'_> {
    #[inline]
    fn next_len(&self) -> Option<usize> {
        let payload = self.left.min(self.size).next_multiple_of(4);
        (!self.done).then_some(self.front.len() + FcHeader::LEN + payload + FcoeFrame::TRAILER_LEN)
    }

    #[inline]
    fn write_next(&mut self, to: &mut (impl Sink + ?Sized)) -> Option<usize> {
        let total = self.next_len().filter(|&total| total <= to.room())?;
        let len = self.left.min(self.size);
        let fill = len.next_multiple_of(4) - len;
        self.left -= len;
        self.done = self.left == 0;
        self.fetch_next(len);
        let ends = self.done && self.end;

        let repr = FcoeRepr { sof: std::mem::replace(&mut self.sof, Sof::N3), eof: if ends { Eof::T } else { Eof::N } };
        to.put(0, self.front);
        to.put(self.front.len() - 1, &[repr.sof.0]);
        let header = self.next_header(ends, len, fill);
        let words = words(&header);
        for (at, word) in (self.front.len()..).step_by(8).zip(words) {
            to.put_u64(at, word);
        }
        let mut crc = crc32_words(0, words.map(u64::swap_bytes));
        let mut at = self.front.len() + FcHeader::LEN;
        crc = self.copy_payload(to, at, len, crc);
        at += len;
        if fill > 0 {
            let fill = &[0; 3][..fill];
            to.put(at, fill);
            crc = crc32_update(crc, fill);
            at += fill.len();
        }
        to.put_u64(at, u64::from_be_bytes(repr.trailer(crc)));
        Some(total)
    }
}

impl<'a> FcSegments<'a> {
    /// Prepares the frames. `front` is the Ethernet header with its tags and FCoE's, whose SOF is ignored; `header` is
    /// the first frame's, with the F_CTL bits of the sequence's last one. The slices of `payload` are concatenated; an
    /// empty one makes one frame. `start`: the first frame is the sequence's first and begins with SOFi3, all others
    /// with SOFn3. `end`: the last frame is the sequence's last and ends with EOFt, all others with EOFn.
    ///
    /// # Errors
    ///
    /// [`FcSegmentError`] gives the reason for which the sequence cannot be segmented.
    #[inline]
    pub fn new(
        front: &'a [u8],
        header: &FcHeader,
        payload: &'a [&'a [u8]],
        max_payload: usize,
        start: bool,
        end: bool,
    ) -> Result<Self, FcSegmentError> {
        if encapsulated(front).is_none_or(|at| at + FcoeFrame::HEADER_LEN != front.len()) {
            return Err(FcSegmentError::Front(front.len()));
        }
        if max_payload == 0 || max_payload > MAX_FC_PAYLOAD || !max_payload.is_multiple_of(4) {
            return Err(FcSegmentError::Size(max_payload));
        }
        Ok(Self {
            front,
            header: FcHeader { f_ctl: header.f_ctl & !f_ctl::FILL, ..*header },
            payload,
            offset: 0,
            left: payload.iter().fold(0, |sum, slice| sum.saturating_add(slice.len())),
            size: max_payload,
            sof: if start { Sof::I3 } else { Sof::N3 },
            end,
            done: false,
        })
    }

    /// Number of frames not yet written.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        if self.done { 0 } else { self.left.div_ceil(self.size).max(1) }
    }

    /// Header of the next frame, which has `len` bytes of payload and `fill` fill bytes. `ends`: it is the sequence's
    /// last.
    #[inline]
    fn next_header(&mut self, ends: bool, len: usize, fill: usize) -> FcHeader {
        let header = FcHeader {
            f_ctl: if ends { self.header.f_ctl } else { self.header.f_ctl & !LAST } | count(fill),
            ..self.header
        };
        self.header.seq_cnt = header.seq_cnt.wrapping_add(1);
        if header.has(f_ctl::RELATIVE_OFFSET) {
            self.header.parameter = header.parameter.wrapping_add(count(len));
        }
        header
    }

    /// Fetches the payload of the frame after this one, which has `len` bytes, as far as it is in the same slice: while
    /// data that no cache holds is copied, waiting for memory takes most of the time.
    #[inline]
    fn fetch_next(&self, len: usize) {
        let slice = self.payload.first().and_then(|slice| slice.get(self.offset + len..)).unwrap_or_default();
        let next = &slice[..slice.len().min(self.size)];
        next.chunks(LINE).for_each(|line| prefetch(NonNull::from(&line[0])));
    }

    /// Writes the next `len` bytes of payload at `at`; returns `crc` continued over them.
    #[inline]
    fn copy_payload(&mut self, to: &mut (impl Sink + ?Sized), mut at: usize, len: usize, mut crc: u32) -> u32 {
        let end = at + len;
        while at < end {
            let Some((slice, others)) = self.payload.split_first() else { break };
            let rest = &slice[self.offset..];
            if rest.len() > end - at {
                crc = to.put_and_crc(at, &rest[..end - at], crc);
                self.offset += end - at;
                break;
            }
            crc = to.put_and_crc(at, rest, crc);
            at += rest.len();
            self.payload = others;
            self.offset = 0;
        }
        crc
    }
}

/// The header as numbers in network order, computed in registers: loading it from memory where it was just stored in
/// pieces would stall, and each frame would wait for the one before.
#[inline]
fn words(header: &FcHeader) -> [u64; FcHeader::LEN / 8] {
    let high = |byte: u8| u64::from(byte) << 56;
    let id = |first: u16, second: u16| u64::from(first) << 16 | u64::from(second);
    let (d_id, s_id) = (u64::from(header.d_id.value()), u64::from(header.s_id.value()));
    let counted = u64::from(header.seq_id) << 24 | u64::from(header.df_ctl) << 16 | u64::from(header.seq_cnt);
    [
        high(header.r_ctl) | d_id << 32 | u64::from(header.cs_ctl) << 24 | s_id,
        high(header.fc_type.0) | u64::from(header.f_ctl & 0xff_ffff) << 32 | counted,
        id(header.ox_id.0, header.rx_id.0) << 32 | u64::from(header.parameter),
    ]
}

/// Converts a number of bytes in a frame, at most [`MAX_FC_PAYLOAD`].
#[inline]
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
