//! Opening a file: its size, its ability to bypass the page cache, and its locking.

use super::identity::identity;
use super::lost::Place;
use super::{DEPTH, FileBackend};
use crate::block::DeviceError;
use crate::block::error::Want;
use crate::sys::uring::Ring;
use linerate_block::{Buffer, Geometry};
use std::collections::VecDeque;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOptions {
    pub read_only: bool,
    /// Bytes of a logical block: 512 or 4096.
    pub block_size: u32,
    /// Bypass the page cache if the file supports that.
    pub direct: bool,
}

impl Default for FileOptions {
    /// For reading and writing, blocks of 512 bytes, bypassing the page cache.
    fn default() -> Self {
        Self { read_only: false, block_size: 512, direct: true }
    }
}

/// Largest physical block size that is reported, in bytes.
const PHYSICAL: u64 = 4096;

impl FileBackend {
    /// Opens a regular file, which must be whole blocks, or a block device, whose bytes after the last whole block are
    /// not accessed.
    ///
    /// A file opened for writing is locked (flock(2)), a block device is opened exclusively: one that is mounted, or
    /// served by another process, is refused. A killed process holds its files until the kernel has completed its
    /// writes, so that none of them follows those of the next process; `open` waits for that.
    ///
    /// # Errors
    /// An error if it does not exist, is not permitted, in use, empty, no whole number of blocks, no regular file or
    /// block device, or if there is no io_uring.
    pub fn open(path: &Path, options: &FileOptions) -> Result<Self, DeviceError> {
        let oops = |what: &dyn std::fmt::Display, mend: &str| DeviceError::new(path.display(), what, mend);
        let metadata = std::fs::metadata(path).map_err(|e| trouble(path, &e, options))?;
        let is_block = metadata.file_type().is_block_device();
        if !is_block && !metadata.is_file() {
            return Err(oops(&"it is no regular file and no block device", "give the path of one"));
        }
        let (mut file, is_direct) =
            patiently(|| open(path, is_block, options)).map_err(|e| trouble(path, &e, options))?;
        // The metadata of a block device has no length.
        let size = file.seek(SeekFrom::End(0)).map_err(|e| trouble(path, &e, options))?;
        // Of what was opened: the path may lead to another file by now.
        let metadata = file.metadata().map_err(|e| trouble(path, &e, options))?;
        let serial = identity(path, &file, &metadata).map_err(|e| trouble(path, &e, options))?;
        let geometry = geometry(&metadata, size, serial, options);
        if geometry.blocks == 0 {
            return Err(oops(
                &"it holds not one block",
                &format!("make it larger: truncate -s 64M {}", path.display()),
            ));
        }
        // They would be missing from what is read and copied, and nobody would be told. A device's size is as it is.
        let block = u64::from(options.block_size.max(1));
        let beyond = size % block;
        if beyond > 0 && !is_block {
            return Err(oops(
                &format!("its size, {size} bytes, is no number of blocks of {block}"),
                &format!("make it larger: truncate -s {} {}", size.next_multiple_of(block), path.display()),
            ));
        }
        let ring = Ring::new(file, DEPTH)
            .map_err(|e| oops(&format!("there is no io_uring ({e})"), "allow it: sysctl kernel.io_uring_disabled=0"))?;
        let done = VecDeque::with_capacity(DEPTH as usize);
        let (waiting, direct, is_device) = (VecDeque::new(), is_direct, is_block);
        let place = (!is_block).then(|| Place::new(path));
        Ok(Self { geometry, direct, is_device, beyond, place, ring, waiting, done, lost: false, note: "" })
    }
}

/// Time for which a file may be in use by a process that was killed, and the interval of the retries.
const DYING: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(10);

/// Retries for a while if the file is in use.
fn patiently<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let until = Instant::now() + DYING;
    loop {
        match open() {
            Err(e) if e.kind() == ErrorKind::ResourceBusy && Instant::now() < until => std::thread::sleep(LOOK),
            outcome => return outcome,
        }
    }
}

/// Opens a file exclusively; true if it bypasses the page cache.
fn open(path: &Path, is_block: bool, options: &FileOptions) -> io::Result<(File, bool)> {
    let exclusive = if is_block && !options.read_only { libc::O_EXCL } else { 0 };
    let open =
        |flags| OpenOptions::new().read(true).write(!options.read_only).custom_flags(exclusive | flags).open(path);
    let direct = options.direct.then(|| open(libc::O_DIRECT).ok()).flatten();
    let direct = direct.filter(|file| can_be_direct(file, options.block_size));
    let is_direct = direct.is_some();
    let file = direct.map_or_else(|| open(0), Ok)?;
    if !is_block {
        lock(&file, options.read_only)?;
    }
    Ok((file, is_direct))
}

fn geometry(metadata: &Metadata, size: u64, serial: u64, options: &FileOptions) -> Geometry {
    let block = u64::from(options.block_size);
    let physical = metadata.blksize().clamp(block.min(PHYSICAL), PHYSICAL);
    let exponent = (physical / block.max(1)).max(1).ilog2();
    Geometry {
        block_size: options.block_size,
        blocks: size / block.max(1),
        physical_exponent: u8::try_from(exponent).unwrap_or(0),
        read_only: options.read_only,
        volatile: true,
        discards: !options.read_only,
        discard_zeroes: true,
        protection: false,
        product: "file",
        serial,
    }
}

/// True if blocks of this size can be read bypassing the page cache. A file system may refuse when the file is opened,
/// or when it is read; a device with larger sectors refuses single blocks.
fn can_be_direct(file: &File, block_size: u32) -> bool {
    let mut block = Buffer::new(usize::try_from(block_size).unwrap_or(0));
    file.read_at(block.bytes_mut(), 0).is_ok()
}

/// Locks a file for one writer, or for any number of readers (`shared`).
fn lock(file: &File, shared: bool) -> io::Result<()> {
    let locked = if shared { file.try_lock_shared() } else { file.try_lock() };
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(ErrorKind::ResourceBusy.into()),
        // A file system without locks.
        Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

fn trouble(path: &Path, error: &io::Error, options: &FileOptions) -> DeviceError {
    let named = path.display();
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            DeviceError::new(&named, "it is not there", format!("make it: truncate -s 64M {named}"))
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem if !options.read_only => {
            DeviceError::new(&named, "not permitted to write it", format!("add ',ro', or: chmod u+w {named}"))
                .wanting(Want::ReadOnly)
        }
        ErrorKind::PermissionDenied => {
            DeviceError::new(&named, "not permitted to read it", format!("allow it: chmod u+r {named}"))
        }
        ErrorKind::ResourceBusy => DeviceError::new(
            named,
            "it is in use",
            "unmount it, end the program that has it, or add ',ro' if nobody writes it",
        )
        .wanting(Want::ReadOnly),
        _ => DeviceError::new(&named, error, "give the path of a file or block device that can be opened"),
    }
}
