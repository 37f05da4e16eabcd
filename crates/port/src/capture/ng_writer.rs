//! The writer of pcapng that traces a port: one interface, each packet with its direction and queue.

use super::{CaptureError, Out, SNAPLEN, length, ng};
use std::path::Path;

/// Direction of a frame; the value of `epb_flags` bits 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    In = 1,
    Out = 2,
}

/// Bytes of an enhanced packet block besides the data: header, two options, their end, the second length.
const BLOCK: usize = 28 + 8 + 8 + 4 + 4;

#[derive(Debug)]
pub(crate) struct NgWriter {
    pub(crate) out: Out,
}

impl NgWriter {
    /// Creates or empties a file that traces the port called `name`.
    pub(crate) fn create(path: &Path, name: &str) -> Result<Self, CaptureError> {
        let mut out = Out::create(path)?;
        out.head(|bytes| {
            let mut section = Vec::new();
            section.extend(0x1a2b_3c4d_u32.to_le_bytes());
            section.extend([1, 0, 0, 0]);
            section.extend(u64::MAX.to_le_bytes());
            option(&mut section, 4, b"linerate");
            option(&mut section, 0, b"");
            block(bytes, ng::SHB, &section);
            let mut interface = vec![1, 0, 0, 0];
            interface.extend(SNAPLEN.to_le_bytes());
            option(&mut interface, 2, name.as_bytes());
            option(&mut interface, 9, &[9]);
            option(&mut interface, 0, b"");
            block(bytes, 1, &interface);
        })?;
        Ok(Self { out })
    }

    /// Appends a packet, whose `kept` bytes `fill` writes. The errors are those of [`super::Writer::write`].
    pub(crate) fn append(
        &mut self,
        time_ns: u64,
        way: Direction,
        queue: u32,
        (orig_len, kept): (usize, usize),
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), CaptureError> {
        self.out.record(orig_len, |bytes| {
            let padded = kept.next_multiple_of(4);
            let total = length(BLOCK + padded).to_le_bytes();
            bytes.extend(6u32.to_le_bytes());
            bytes.extend(total);
            bytes.extend(0u32.to_le_bytes());
            // The upper half of the time goes first, in either byte order.
            bytes.extend(time_ns.rotate_left(32).to_le_bytes());
            bytes.extend(length(kept).to_le_bytes());
            bytes.extend(length(orig_len).to_le_bytes());
            fill(bytes);
            bytes.resize(bytes.len() + padded - kept, 0);
            option(bytes, 2, &(way as u32).to_le_bytes());
            option(bytes, 6, &queue.to_le_bytes());
            option(bytes, 0, b"");
            bytes.extend(total);
        })
    }
}

fn block(bytes: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let total = length(12 + body.len()).to_le_bytes();
    bytes.extend(kind.to_le_bytes());
    bytes.extend(total);
    bytes.extend(body);
    bytes.extend(total);
}

/// Appends an option; one too long for its length field is left out.
fn option(bytes: &mut Vec<u8>, code: u16, value: &[u8]) {
    let Ok(len) = u16::try_from(value.len()) else { return };
    bytes.extend(code.to_le_bytes());
    bytes.extend(len.to_le_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len() + value.len().next_multiple_of(4) - value.len(), 0);
}
