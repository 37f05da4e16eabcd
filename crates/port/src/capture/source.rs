//! Capture file open for reading.

use super::CaptureError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// A capture file that is open for reading. Until it is dropped, [`super::Writer`] does not open it.
#[derive(Debug)]
pub struct Source {
    file: File,
    pipe: bool,
    /// A writer has begun to write the pipe.
    begun: bool,
}

impl Source {
    /// Opens a file that no [`super::Writer`] has open. Waits for the writer of a named pipe if `wait`; otherwise
    /// reading gives [`CaptureError::is_later`] while the pipe is empty, also before there is a writer.
    pub(crate) fn open(path: &Path, wait: bool) -> Result<Self, CaptureError> {
        let name = || path.display().to_string();
        let flags = if wait { 0 } else { libc::O_NONBLOCK };
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path).and_then(|file| {
            let kind = file.metadata()?.file_type();
            Ok((file, kind))
        });
        let (file, kind) = opened.map_err(|source| CaptureError::Open { name: name(), source })?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) if kind.is_file() => Err(CaptureError::Busy { name: name() }),
            // A file system without locks is no reason not to read.
            _ => Ok(Self { file, pipe: kind.is_fifo(), begun: wait }),
        }
    }

    pub(crate) fn is_pipe(&self) -> bool {
        self.pipe
    }
}

impl Read for Source {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(to)?;
        if n == 0 && self.pipe && !self.begun {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.begun = true;
        Ok(n)
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // Closing does not release the lock while a child that was just forked has the file open too.
        let _ = self.file.unlock();
    }
}
