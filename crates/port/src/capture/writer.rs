//! The writer of pcap with nanoseconds.

use super::classic::MAGIC_NS;
use super::{CaptureError, LONGEST, Out, Record, SNAPLEN, length};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

/// Last second that the format knows, in 2106.
const LAST_SECOND: u32 = u32::MAX;

/// Writes a pcap file with time-stamps in nanoseconds. Buffered; the rest is written when it is dropped.
#[derive(Debug)]
pub struct Writer {
    pub(crate) out: Out,
}

impl Writer {
    /// Creates the file, or empties it if no other reader or writer of this kind has it open, and writes the header.
    pub fn create(path: &Path) -> Result<Self, CaptureError> {
        let mut out = Out::create(path)?;
        out.head(|bytes| {
            bytes.extend(MAGIC_NS.to_le_bytes());
            bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            bytes.extend(SNAPLEN.to_le_bytes());
            bytes.extend(1u32.to_le_bytes());
        })?;
        Ok(Self { out })
    }

    /// Appends a record, cut to [`LONGEST`]. A time beyond the year 2106 is clamped. An error that
    /// [`CaptureError::is_later`] means that a pipe has no room and the record was not accepted; after any other error
    /// this and all further records are lost, and the file keeps what was written before.
    pub fn write(&mut self, record: &Record<'_>) -> Result<(), CaptureError> {
        let kept = record.data.len().min(LONGEST);
        let orig_len = (record.orig_len as usize).max(record.data.len());
        self.append(record.time_ns, orig_len, kept, |bytes| bytes.extend_from_slice(&record.data[..kept]))
    }

    /// Appends a record, whose `kept` bytes `fill` writes.
    pub(crate) fn append(
        &mut self,
        time_ns: u64,
        orig_len: usize,
        kept: usize,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), CaptureError> {
        let time = Duration::from_nanos(time_ns);
        let seconds = u32::try_from(time.as_secs()).unwrap_or(LAST_SECOND);
        self.out.record(orig_len, |bytes| {
            bytes.extend(seconds.to_le_bytes());
            bytes.extend(time.subsec_nanos().to_le_bytes());
            bytes.extend(length(kept).to_le_bytes());
            bytes.extend(length(orig_len).to_le_bytes());
            fill(bytes);
        })
    }

    /// Writes all waiting bytes. The errors are those of [`Writer::write`].
    pub fn flush(&mut self) -> Result<(), CaptureError> {
        self.out.flush()
    }

    /// Number of records written completely.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.out.done.records
    }

    /// Number of records that were accepted and are lost, because writing failed.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.out.done.lost
    }
}

impl AsFd for Writer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.out.as_fd()
    }
}
