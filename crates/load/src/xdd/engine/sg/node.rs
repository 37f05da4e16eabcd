//! Device node that takes SCSI commands: /dev/sgN, or a disk's block device.

use super::{Outcome, ScsiGeneric, Transfer};
use crate::xdd::sys::sg;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A device that takes the SG_IO ioctl.
#[derive(Debug)]
pub struct Generic(File);

/// Bytes that sg reserves for a descriptor by default.
const RESERVED: u64 = 32 << 10;

impl Generic {
    /// Opens a device for commands that transfer at most `len` bytes each.
    pub fn open(path: &Path, writes: bool, len: u64) -> Result<Self, String> {
        // sg permits only reads through a descriptor that may not write. A blocking open would wait for a program that
        // has the device exclusively.
        let file = OpenOptions::new().read(true).write(writes).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(|e| match e.kind() {
            ErrorKind::NotFound => format!("{e}; lsscsi -g names what there is, once 'modprobe sg' was typed"),
            _ if e.raw_os_error() == Some(libc::EMFILE) => format!("{e}; give a smaller -queuedepth, or see ulimit -n"),
            _ => format!("{e}; give a device that this user may open"),
        })?;
        if len > RESERVED {
            // Otherwise the kernel allocates memory for each command.
            let _ = sg::reserve(file.as_fd(), len);
        }
        Ok(Self(file))
    }
}

impl ScsiGeneric for Generic {
    fn execute(
        &self,
        command: &[u8],
        transfer: Transfer<'_>,
        sense: &mut [u8; 32],
        timeout_ms: u32,
    ) -> io::Result<Outcome> {
        sg::execute(self.0.as_fd(), command, transfer, sense, timeout_ms)
    }
}

/// Disks that this program has opened exclusively, by their paths: several targets may be one disk.
static TAKEN: Mutex<BTreeMap<PathBuf, Weak<File>>> = Mutex::new(BTreeMap::new());

/// Looks up the disk that SCSI commands to this device reach. A disk that is to be written is opened exclusively, if
/// the kernel has it as a block device.
///
/// # Errors
/// The device is a partition, or in use; with the mend.
pub(super) fn disk(path: &Path, writes: bool) -> Result<Option<Arc<File>>, String> {
    // A missing device is reported when it is opened.
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(None) };
    let number = format!("{}:{}", libc::major(metadata.rdev()), libc::minor(metadata.rdev()));
    let disk = if metadata.file_type().is_block_device() {
        let system = PathBuf::from(format!("/sys/dev/block/{number}"));
        if system.join("partition").exists() {
            let whole = system.canonicalize().ok().and_then(|part| Some(part.parent()?.file_name()?.to_owned()));
            let whole = whole.map(|name| format!(": /dev/{}", name.display())).unwrap_or_default();
            return Err(format!("a partition: SCSI commands count from the start of its disk; give the disk{whole}"));
        }
        // Without symbolic links, of which a disk has many.
        Some(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
    } else {
        let disks = std::fs::read_dir(format!("/sys/dev/char/{number}/device/block")).ok();
        disks.and_then(|mut disks| Some(Path::new("/dev").join(disks.next()?.ok()?.file_name())))
    };
    let Some(disk) = disk.filter(|_| writes) else { return Ok(None) };
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = taken.get(&disk).and_then(Weak::upgrade) {
        return Ok(Some(file));
    }
    let alone = libc::O_EXCL | libc::O_NONBLOCK;
    match OpenOptions::new().read(true).custom_flags(alone).open(&disk) {
        Ok(file) => {
            let file = Arc::new(file);
            taken.insert(disk, Arc::downgrade(&file));
            Ok(Some(file))
        }
        Err(e) if e.kind() == ErrorKind::ResourceBusy => {
            Err(format!("{} is in use; unmount it, or end the program that has it", disk.display()))
        }
        // The device may exist for sg only.
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_or_no_disk_is_said() {
        assert!(disk(Path::new("/dev/no-such-sg"), true).unwrap().is_none());
        let error = Generic::open(Path::new("/dev/no-such-sg"), false, 512).unwrap_err();
        assert!(error.contains("modprobe sg"), "{error}");
        assert!(disk(Path::new("/dev/null"), true).unwrap().is_none());
        let null = Generic::open(Path::new("/dev/null"), false, 1 << 20).unwrap();
        let outcome = null.execute(&[0; 6], Transfer::Nothing, &mut [0; 32], 1000);
        assert_eq!(outcome.unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
