//! Capture file open for reading, as it is or packed by gzip.

use super::{CaptureError, STANDARD};
use crate::sys::standard_streams;
use flate2::bufread::MultiGzDecoder;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// First byte of a gzip file (RFC 1952, 2.3.1), and of no capture.
const GZIP: u8 = 0x1f;

/// A capture file that is open for reading. Until it is dropped, [`super::Writer`] does not open it.
pub struct Source {
    file: Arc<File>,
    pipe: bool,
    /// A writer has begun to write the pipe.
    begun: bool,
    /// The capture's bytes; None before the first one.
    bytes: Option<Box<dyn Read + Send>>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Source {
    /// Opens a file that no [`super::Writer`] has open. Waits for the writer of a named pipe if `wait`; otherwise
    /// reading gives [`CaptureError::is_later`] while the pipe is empty, also before there is a writer.
    pub(crate) fn open(path: &Path, wait: bool) -> Result<Self, CaptureError> {
        let standard = path == Path::new(STANDARD);
        let name = || if standard { "standard input".to_owned() } else { path.display().to_string() };
        let flags = if wait { 0 } else { libc::O_NONBLOCK };
        let open = || {
            if standard {
                standard_streams::input(wait)
            } else {
                OpenOptions::new().read(true).custom_flags(flags).open(path)
            }
        };
        let opened = open().and_then(|file| {
            let kind = file.metadata()?.file_type();
            Ok((file, kind))
        });
        let (file, kind) = opened.map_err(|source| CaptureError::Open { name: name(), source })?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) if kind.is_file() => Err(CaptureError::Busy { name: name() }),
            // A file system without locks is no reason not to read.
            _ => Ok(Self { file: Arc::new(file), pipe: kind.is_fifo(), begun: wait || standard, bytes: None }),
        }
    }

    pub(crate) fn is_pipe(&self) -> bool {
        self.pipe
    }
}

impl Read for Source {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let bytes = match &mut self.bytes {
            Some(bytes) => bytes,
            bytes => {
                let mut plain = BufReader::new(self.file.clone());
                match plain.fill_buf()?.first() {
                    None if self.pipe && !self.begun => return Err(ErrorKind::WouldBlock.into()),
                    Some(&GZIP) => bytes.insert(Box::new(MultiGzDecoder::new(plain))),
                    _ => bytes.insert(Box::new(plain)),
                }
            }
        };
        self.begun = true;
        bytes.read(to)
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes = None;
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
