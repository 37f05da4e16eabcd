//! Transmission of frames.

use crate::Link;
use linerate_wire::FcHeader;

/// A sequence, or the part of it that has not been sent: the common fields of its frames, and the start of the next.
///
/// All frames but the last carry `max_payload` bytes and `header.f_ctl` without END_SEQUENCE, SEQUENCE_INITIATIVE and
/// LAST_SEQUENCE; from frame to frame SEQ_CNT counts on by one, and the parameter by the payload's bytes when
/// `f_ctl` has RELATIVE_OFFSET. The sender counts fill bytes into F_CTL of a last frame whose payload is no number of
/// words. The first frame starts with SOFi3 when `start` is set, all others with SOFn3; the last ends with EOFt when
/// `end` is set, all others with EOFn. Without `end` the part's last frame is not the sequence's, and has none of those
/// three bits either. Each frame gets its CRC.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'a> {
    /// Source and destination.
    pub link: Link,
    /// The header of the next frame, with the F_CTL bits of the last one.
    pub header: FcHeader,
    /// Bytes of payload in each frame but the last; a multiple of four.
    pub max_payload: usize,
    /// True if the next frame is the sequence's first.
    pub start: bool,
    /// True if the payload's end is the sequence's.
    pub end: bool,
    /// Payload still to be sent, in pieces; all empty for a frame without payload.
    pub payload: &'a [&'a [u8]],
}

/// Carrier of frames: a queue of a port, an adapter, a test's list.
pub trait Transmit {
    /// Sends as many frames of a sequence as there is room for; returns their number. `n` frames carry
    /// `min(n * max_payload, all)` bytes of the payload, so the number also shows if all pieces were sent, or not even
    /// one.
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize;

    /// Sends a frame that begins with its Ethernet header (for FIP); false when there is no room.
    fn frame(&mut self, frame: &[u8]) -> bool;

    /// Number of frames with a full payload that can be taken now.
    fn room(&self) -> usize;
}
