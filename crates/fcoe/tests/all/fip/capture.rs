//! Captures of real kernels, read; frames of ours, written.

use std::path::{Path, PathBuf};

/// One frame of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Nanoseconds since the capture's first frame.
    pub(crate) at: u64,
    /// The frame, from its Ethernet header on.
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The frames of the capture whose name begins so.
pub(crate) fn golden(number: &str) -> Vec<Frame> {
    let mut found = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let path = found.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(number));
    read(&path.expect("there is such a capture"))
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
        frames.push(Frame { at: time - *first.get_or_insert(time), bytes: bytes[at..at + len].to_vec() });
        at += len;
    }
    frames
}

/// Writes `frames` as such a capture.
pub(crate) fn write(path: &Path, frames: &[Frame]) {
    let mut bytes = Vec::new();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    bytes.extend(words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, 1]));
    for frame in frames {
        let (len, seconds) = (u32::try_from(frame.bytes.len()).unwrap(), frame.at / 1_000_000_000);
        let micros = frame.at % 1_000_000_000 / 1000;
        bytes.extend(words(&[u32::try_from(seconds).unwrap(), u32::try_from(micros).unwrap(), len, len]));
        bytes.extend(&frame.bytes);
    }
    std::fs::write(path, bytes).unwrap();
}
