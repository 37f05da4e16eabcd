//! Captures of real kernels, read; frames of ours, written.

use std::path::{Path, PathBuf};

/// One frame of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Nanoseconds since the capture's first frame.
    pub(crate) at: u64,
    /// The frame, from its Ethernet header on.
    pub(crate) octets: Vec<u8>,
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The frames of a capture with microseconds, of the reader's byte order.
pub(crate) fn read(path: &Path) -> Vec<Frame> {
    let bytes = std::fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xa1b2_c3d4, "{}: microseconds, little-endian", path.display());
    let (mut at, mut frames, mut first) = (24, Vec::new(), None);
    while at < bytes.len() {
        let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)) * 1000;
        let len = usize::try_from(word(at + 8)).unwrap();
        at += 16;
        frames.push(Frame { at: time - *first.get_or_insert(time), octets: bytes[at..at + len].to_vec() });
        at += len;
    }
    frames
}
