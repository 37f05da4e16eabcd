//! Capture files, read and written as a stream in bounded memory.
//!
//! Read: pcap (both byte orders, microseconds and nanoseconds, Kuznetzov's longer records) and pcapng (both byte orders,
//! several sections and interfaces, enhanced, simple and obsolete packet blocks; other blocks are skipped), as they are or
//! by gzip. Written: pcap with nanoseconds. `-` is standard input and output; once that is taken for a capture, what else is
//! printed there goes to standard error. Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
//!
//! Out of scope: link types other than Ethernet, and other compression. A length that was read is never trusted: no record or
//! block makes the reader allocate, and a step reads no more than one of them.
//!
//! # Records and skipped blocks
//! - A record that was captured shorter than its frame was ([`Record::orig_len`]) is returned as captured and counted
//!   as [`Counts::truncated`].
//! - A record of fewer than 14 bytes or a pcapng packet block that contradicts itself (more bytes than the block,
//!   an interface that was not described, more than [`LONGEST`] bytes) is skipped and counted as [`Counts::bad`].
//! - A frame of a pcapng interface that is not Ethernet, or not the requested one ([`Reader::only`]), is skipped and
//!   counted as [`Counts::other`]. A file that describes no usable interface is refused, or ends in an error.
//! - The start of the next record is unknown after a pcap record of more than [`LONGEST`] bytes, a pcapng block whose
//!   two lengths differ, a file cut inside a record, or 65536 skipped records or blocks in a row: one more
//!   [`Counts::bad`], and the capture ends there.
//! - An FCS announced by the file's header or the interface's `if_fcslen` is cut off: frames carry none.

mod classic;
mod error;
mod ng;
mod ng_writer;
mod out;
mod reader;
mod source;
mod window;
mod writer;

pub use error::CaptureError;
use linerate_text::saturating_ns;
pub(crate) use ng_writer::{Direction, NgWriter};
pub(crate) use out::Out;
pub(crate) use reader::Stage;
pub use reader::{Counts, Reader};
pub use source::Source;
pub use writer::Writer;

use std::time::{SystemTime, UNIX_EPOCH};

/// Most bytes of a record that are read or written: libpcap's limit (`MAXIMUM_SNAPLEN`).
pub const LONGEST: usize = SNAPLEN as usize;

/// [`LONGEST`] in the width that files have for it.
const SNAPLEN: u32 = 262_144;

/// Bytes of the shortest frame: an Ethernet header.
const SHORTEST: usize = 14;

/// Name of standard input or output among files.
const STANDARD: &str = "-";

/// One captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Time of capture, in nanoseconds since 1970 (UTC).
    pub time_ns: u64,
    /// Original length of the frame in bytes, without FCS; more than `data` has if it was captured short.
    pub orig_len: u32,
    /// The frame from its Ethernet header on, without FCS.
    pub data: &'a [u8],
}

/// Converts a number of bytes to the 32 bits that files have for it. What is kept of a frame fits; the original length of a
/// frame beyond 4 GiB, which no port carries, is cut.
fn length(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Nanoseconds since 1970, from the system's real-time clock.
pub(crate) fn real_time_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    saturating_ns(since)
}
