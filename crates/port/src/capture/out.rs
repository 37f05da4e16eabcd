//! Whole records to a file: buffered, counted exactly, and cut back to the last whole one when the disk is full.

use super::{CaptureError, STANDARD};
use crate::sys::standard_streams;
use linerate_host::place;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Bytes that are collected before a write; no more than these and one record wait.
const ENOUGH: usize = 128 << 10;

/// Output file of either format.
#[derive(Debug)]
pub(crate) struct Out {
    name: String,
    file: File,
    regular: bool,
    waiting: Vec<u8>,
    /// End of each waiting record, and the bytes of its frame.
    ends: VecDeque<(usize, usize)>,
    /// Bytes of the file that hold whole records.
    whole: u64,
    failed: Option<(ErrorKind, String)>,
    /// Counters so far.
    pub(crate) done: Done,
}

/// Counters of an output file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    /// Records written completely.
    pub(crate) records: u64,
    /// Bytes of their frames.
    pub(crate) bytes: u64,
    /// Records that were accepted and did not reach the file.
    pub(crate) lost: u64,
    /// Write system calls.
    pub(crate) writes: u64,
}

impl Out {
    /// Creates a file, or empties one that no other reader or writer holds the lock of. A named pipe needs a reader
    /// already.
    pub(crate) fn create(path: &Path) -> Result<Self, CaptureError> {
        let standard = path == Path::new(STANDARD);
        let name = if standard { "standard output".to_owned() } else { path.display().to_string() };
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz")) {
            return Err(CaptureError::Packed { name });
        }
        let open = || -> Result<(File, bool), Error> {
            if standard {
                // What a shell gave it holds is not ours to cut.
                return Ok((standard_streams::take_output()?, false));
            }
            let mut options = OpenOptions::new();
            // The file is emptied only when the lock is held; opening a pipe must not block.
            options.write(true).create(true).truncate(false);
            let file = place::open(path, &options, libc::O_NONBLOCK)?;
            let regular = file.metadata()?.is_file();
            if regular {
                if let Err(TryLockError::WouldBlock) = file.try_lock() {
                    return Err(ErrorKind::ResourceBusy.into());
                }
                file.set_len(0)?;
            }
            Ok((file, regular))
        };
        match open() {
            Ok((file, regular)) => Ok(Self {
                name,
                file,
                regular,
                waiting: Vec::with_capacity(ENOUGH),
                ends: VecDeque::new(),
                whole: 0,
                failed: None,
                done: Done::default(),
            }),
            Err(e) if e.kind() == ErrorKind::ResourceBusy => Err(CaptureError::Busy { name }),
            Err(source) => Err(CaptureError::Open { name, source }),
        }
    }

    /// Writes bytes of a file header, so that the file is a valid capture from the start.
    pub(super) fn head(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(), CaptureError> {
        fill(&mut self.waiting);
        self.flush().or_else(|e| if e.is_later() { Ok(()) } else { Err(e) })
    }

    /// Appends a record of a frame of `bytes` bytes. After a failure it is counted as lost; an error that
    /// [`CaptureError::is_later`] means that it was not accepted, because a pipe has no room.
    pub(super) fn record(&mut self, bytes: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(), CaptureError> {
        if let Some(error) = self.failure() {
            self.done.lost += 1;
            return Err(error);
        }
        if self.waiting.len() >= ENOUGH
            && let Err(error) = self.flush()
        {
            self.done.lost += u64::from(!error.is_later());
            return Err(error);
        }
        fill(&mut self.waiting);
        self.ends.push_back((self.waiting.len(), bytes));
        Ok(())
    }

    /// Writes all waiting bytes. An error that [`CaptureError::is_later`] means that some still wait, because a pipe
    /// has no room; after any other error nothing more is ever written.
    pub(crate) fn flush(&mut self) -> Result<(), CaptureError> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let mut at = 0;
        let result = loop {
            if at == self.waiting.len() {
                break Ok(());
            }
            self.done.writes += 1;
            match self.file.write(&self.waiting[at..]) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(n) => at += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => break Err(e),
            }
        };
        self.settle(at);
        result.map_err(|error: Error| {
            if error.kind() != ErrorKind::WouldBlock {
                self.fail(&error);
            }
            CaptureError::Write { name: self.name.clone(), source: error }
        })
    }

    /// Takes note that the first `at` waiting bytes are in the file.
    fn settle(&mut self, at: usize) {
        let mut last = if self.ends.is_empty() { at } else { 0 };
        while let Some((end, bytes)) = self.ends.front().copied().filter(|(end, _)| *end <= at) {
            self.ends.pop_front();
            self.done.records += 1;
            self.done.bytes += bytes as u64;
            last = end;
        }
        // `whole` includes the bytes of an incomplete record that a pipe took; only regular files are ever cut, and
        // those fail at once.
        self.whole += last as u64;
        self.waiting.drain(..at);
        for (end, _) in &mut self.ends {
            *end -= at;
        }
    }

    #[cold]
    fn fail(&mut self, error: &Error) {
        self.failed = Some((error.kind(), error.to_string()));
        self.done.lost += self.ends.len() as u64;
        self.ends.clear();
        self.waiting = Vec::new();
        if self.regular {
            // The rest is a capture that every reader accepts. If even the cut fails, readers see a truncated record.
            let _ = self.file.set_len(self.whole);
        }
    }

    fn failure(&self) -> Option<CaptureError> {
        let (kind, text) = self.failed.as_ref()?;
        Some(CaptureError::Write { name: self.name.clone(), source: Error::new(*kind, text.clone()) })
    }

    /// True if bytes wait for room in a pipe.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// True if writing has failed for good.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }
}

impl AsFd for Out {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        // An error here has no receiver; a caller that needs it flushes before.
        let _ = self.flush();
        // Closing does not release the lock while a child that was just forked has the file open too.
        let _ = self.file.unlock();
    }
}
