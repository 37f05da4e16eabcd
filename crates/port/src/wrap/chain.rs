//! Frames as they stand in a ring: chains of slots.

use linerate_ring::{Frame, TxRing, flags};

/// Most slots of a frame (netmap's limit).
pub(crate) const MAX_SLOTS: u32 = 64;

/// What begins at a pending slot of a transmit ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A whole frame.
    Frame { slots: u32, bytes: usize },
    /// A frame that was taken back: no bytes.
    Void { slots: u32 },
    /// More slots than a frame may have: these, up to its end or all that is there.
    TooMany { slots: u32 },
}

impl Unit {
    pub(crate) fn slots(self) -> u32 {
        match self {
            Self::Frame { slots, .. } | Self::Void { slots } | Self::TooMany { slots } => slots,
        }
    }
}

/// What begins at the `from`th pending slot; None if its end is not committed yet.
pub(crate) fn unit(ring: &TxRing, from: u32) -> Option<Unit> {
    let (mut slots, mut bytes) = (0, 0);
    for i in from..ring.pending() {
        let word = ring.pending_word(i);
        let last = !word.has(flags::MOREFRAG);
        slots += 1;
        bytes += usize::from(word.len());
        match (last, slots > MAX_SLOTS) {
            (true, true) => return Some(Unit::TooMany { slots }),
            (true, false) if bytes == 0 => return Some(Unit::Void { slots }),
            (true, false) => return Some(Unit::Frame { slots, bytes }),
            (false, _) => {}
        }
    }
    (slots >= MAX_SLOTS).then_some(Unit::TooMany { slots })
}

/// Appends a frame's bytes.
pub(crate) fn append(bytes: &mut Vec<u8>, frame: &Frame<'_>) {
    if let Some(slice) = frame.bytes() {
        bytes.extend_from_slice(slice);
    } else {
        let at = bytes.len();
        bytes.resize(at + frame.len(), 0);
        let whole = frame.read(0, &mut bytes[at..]);
        debug_assert!(whole);
    }
}

/// Appends the first `kept` bytes of the frame of so many slots that begins at the `from`th pending one.
pub(crate) fn gather(bytes: &mut Vec<u8>, ring: &mut TxRing, from: u32, slots: u32, kept: usize) {
    let begin = bytes.len();
    for i in from..from + slots {
        append(bytes, &ring.pending_frame(i));
    }
    bytes.truncate(begin + kept);
}
