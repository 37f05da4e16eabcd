//! FC segmentation: a sequence's headers and the caller's slices become frames, each written once, straight into its
//! slot, with its CRC folded into the copy.

use linerate_sum::{crc32, crc32_update};
use linerate_wire::{Eof, FcHeader, FcoeFrame, FcoeRepr, Sof, f_ctl};

use super::super::headers::{u16_at, u32_at};
use super::super::sink::Sink;
use super::encapsulated;

/// The longest header template: Ethernet, three tags, the encapsulation and the FC header.
pub const MAX_FC_HEADER: usize = 14 + 3 * 4 + FcoeFrame::HEADER_LEN + FcHeader::LEN;

/// The most octets of payload in a frame (FC-FS-3, clause 11.3.6).
pub const MAX_FC_PAYLOAD: usize = 2112;

/// Frame control of a sequence's last frame alone: the end, and what comes with it.
const LAST: u32 = f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE | f_ctl::LAST_SEQUENCE;

// Places in the FC header.
const F_CTL: usize = 9;
const SEQ_CNT: usize = 14;
const PARAMETER: usize = 20;

/// Why a sequence cannot be segmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FcSegmentError {
    /// The template is not Ethernet, FCoE and FC, whole.
    #[error("FC segmentation: the template is no Ethernet, FCoE and FC header: give all of them and nothing more")]
    Template,
    /// Frames of no octets, of parts of words, or of more than FC has.
    #[error("FC segmentation: frames of {0} octets of payload: give a multiple of 4, from 4 to {MAX_FC_PAYLOAD}")]
    Size(usize),
}

/// A sequence, or a part of it, being segmented.
///
/// Each frame but the last has `max_payload` octets of payload; SEQ_CNT counts on by one a frame, and the parameter by the
/// payload's octets where frame control has RELATIVE_OFFSET (FC-FS-3, clauses 12.8 and 12.11). Frame control is the
/// template's; END_SEQUENCE, SEQUENCE_INITIATIVE and LAST_SEQUENCE stand in the sequence's last frame only, and a last
/// payload of no number of words is filled with zeros, which are counted there (clause 12.7).
///
/// ```
/// use linerate_nic::{FcSegments, Verdict, verify_fc_crc};
/// use linerate_wire::*;
///
/// let ethernet = EthernetRepr { dst: MacAddr([2; 6]), src: MacAddr([6; 6]), ethertype: EtherType::FCOE };
/// let header = FcHeader {
///     r_ctl: r_ctl::DATA,
///     fc_type: FcType::FCP,
///     f_ctl: f_ctl::EXCHANGE_RESPONDER | f_ctl::END_SEQUENCE | f_ctl::RELATIVE_OFFSET,
///     ..FcHeader::parse(&[0; 24])?
/// };
/// let mut template = [0; 14 + 14 + 24];
/// let fcoe = ethernet.emit(&mut template)?;
/// fcoe[14..].copy_from_slice(&header.octets());
///
/// // What is sent may lie in several places; each octet is copied once, from there into its frame.
/// let payload = [&[1; 100][..], &[2; 4000]];
/// let mut segments = FcSegments::new(&template, &payload, 2112, true, true)?;
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
    /// The template; the fields that change are the last written frame's.
    header: [u8; MAX_FC_HEADER],
    header_len: usize,
    /// Frame control of the sequence's last frame, without fill.
    f_ctl: u32,
    seq_cnt: u16,
    parameter: u32,
    /// Slices that are not used up; `offset` octets of the first are.
    payload: &'a [&'a [u8]],
    offset: usize,
    left: usize,
    size: usize,
    sof: Sof,
    end: bool,
    done: bool,
}

impl<'a> FcSegments<'a> {
    /// Begins. `template` is the Ethernet header with its tags, the encapsulation and the FC header of the first frame, its
    /// frame control with the bits of the sequence's last one; it need hold no SOF. `payload`'s slices count as one run; no
    /// octets make one frame. `start`: the first frame is the sequence's first and begins with SOFi3, all others with
    /// SOFn3. `end`: the last frame is the sequence's last and ends with EOFt, all others with EOFn.
    ///
    /// # Errors
    ///
    /// [`FcSegmentError`] says what cannot be segmented.
    #[inline]
    pub fn new(
        template: &[u8],
        payload: &'a [&'a [u8]],
        max_payload: usize,
        start: bool,
        end: bool,
    ) -> Result<Self, FcSegmentError> {
        let at = encapsulated(template).ok_or(FcSegmentError::Template)? + FcoeFrame::HEADER_LEN;
        if template.len() != at + FcHeader::LEN || template.len() > MAX_FC_HEADER {
            return Err(FcSegmentError::Template);
        }
        if max_payload == 0 || max_payload > MAX_FC_PAYLOAD || !max_payload.is_multiple_of(4) {
            return Err(FcSegmentError::Size(max_payload));
        }
        let mut header = [0; MAX_FC_HEADER];
        header[..template.len()].copy_from_slice(template);
        let fc = &template[at..];
        Ok(Self {
            header,
            header_len: template.len(),
            f_ctl: u32_at(fc, F_CTL - 1).ok_or(FcSegmentError::Template)? & 0xff_ffff & !f_ctl::FILL,
            seq_cnt: u16_at(fc, SEQ_CNT).ok_or(FcSegmentError::Template)?,
            parameter: u32_at(fc, PARAMETER).ok_or(FcSegmentError::Template)?,
            payload,
            offset: 0,
            left: payload.iter().fold(0, |sum, slice| sum.saturating_add(slice.len())),
            size: max_payload,
            sof: if start { Sof::I3 } else { Sof::N3 },
            end,
            done: false,
        })
    }

    /// Frames not yet written.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        if self.done { 0 } else { self.left.div_ceil(self.size).max(1) }
    }

    /// Octets of the next frame; `None` when all are written.
    #[inline]
    #[must_use]
    pub fn next_len(&self) -> Option<usize> {
        let payload = self.left.min(self.size).next_multiple_of(4);
        (!self.done).then_some(self.header_len + payload + FcoeFrame::TRAILER_LEN)
    }

    /// Writes the next frame to the front of `to`; returns its length. `None`, and nothing done, when all are written
    /// or `to` is shorter than [`next_len`](Self::next_len).
    #[inline]
    pub fn write_next(&mut self, to: &mut (impl Sink + ?Sized)) -> Option<usize> {
        let total = self.next_len().filter(|&total| total <= to.room())?;
        let len = self.left.min(self.size);
        let fill = len.next_multiple_of(4) - len;
        self.left -= len;
        self.done = self.left == 0;
        let ends = self.done && self.end;
        self.patch(ends, fill);
        self.parameter =
            self.parameter.wrapping_add(if self.f_ctl & f_ctl::RELATIVE_OFFSET == 0 { 0 } else { octets(len) });
        self.seq_cnt = self.seq_cnt.wrapping_add(1);

        let header = &self.header[..self.header_len];
        to.put(0, header);
        let crc = crc32(&header[self.header_len - FcHeader::LEN..]);
        let crc = crc32_update(self.copy_payload(to, len, crc), &[0; 3][..fill]);
        let repr = FcoeRepr { sof: self.sof, eof: if ends { Eof::T } else { Eof::N } };
        let mut tail = [0; 3 + FcoeFrame::TRAILER_LEN];
        tail[fill..fill + FcoeFrame::TRAILER_LEN].copy_from_slice(&repr.trailer(crc));
        to.put(self.header_len + len, &tail[..fill + FcoeFrame::TRAILER_LEN]);
        self.sof = Sof::N3;
        Some(total)
    }

    /// Brings the header up to the next frame. `ends`: it is the sequence's last.
    #[inline]
    fn patch(&mut self, ends: bool, fill: usize) {
        let f_ctl = if ends { self.f_ctl } else { self.f_ctl & !LAST } | octets(fill);
        let (front, header) = self.header[..self.header_len].split_at_mut(self.header_len - FcHeader::LEN);
        if let Some(sof) = front.last_mut() {
            *sof = self.sof.0;
        }
        header[F_CTL..F_CTL + 3].copy_from_slice(&f_ctl.to_be_bytes()[1..]);
        header[SEQ_CNT..SEQ_CNT + 2].copy_from_slice(&self.seq_cnt.to_be_bytes());
        header[PARAMETER..].copy_from_slice(&self.parameter.to_be_bytes());
    }

    /// Writes the next `len` octets of payload behind where the header stands; returns the CRC, begun with `crc`.
    #[inline]
    fn copy_payload(&mut self, to: &mut (impl Sink + ?Sized), len: usize, mut crc: u32) -> u32 {
        let (mut at, end) = (self.header_len, self.header_len + len);
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

/// A number of octets in a frame, at most [`MAX_FC_PAYLOAD`].
#[inline]
fn octets(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
