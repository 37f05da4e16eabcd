//! Identity of a file or a block device: what it is, whatever path leads to it.

use crate::identity::{hash, host_hash};
use crate::sys;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Serial number: of a block device by the name that its maker gave it, which is the same on all hosts that reach it; of a
/// file by its inode on this host, and so of a loop device; of any other block device by its path on this host.
pub(super) fn identity(path: &Path, file: &File, metadata: &Metadata) -> io::Result<u64> {
    if !metadata.file_type().is_block_device() {
        return inode(file, metadata).map(|inode| host_hash(inode.as_bytes()));
    }
    let (major, minor) = (libc::major(metadata.rdev()), libc::minor(metadata.rdev()));
    let device = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    Ok(match (world_wide_name(&device), backing_file(&device)) {
        (Some(name), _) => hash(name.as_bytes()),
        (_, Some(name)) => host_hash(name.as_bytes()),
        // The canonical path rather than the one that was given.
        _ => host_hash(path.canonicalize()?.as_os_str().as_bytes()),
    })
}

/// A file's inode for as long as it exists. Its number is used again after that: the time of its birth tells the two apart
/// or, where the file system keeps none, the number's generation. A device number may be another one after a restart of the
/// host: it stands only for a file system without an identifier.
fn inode(file: &File, metadata: &Metadata) -> io::Result<String> {
    let system = match sys::inode::file_system(file)? {
        Some(id) => format!("{id:016x}"),
        None => format!("device {}", metadata.dev()),
    };
    let born = metadata.created().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    let life = match born {
        Some(at) => format!("born {}", at.as_nanos()),
        None => format!("generation {:?}", sys::inode::generation(file)),
    };
    Ok(format!("inode {} of {system}, {life}", metadata.ino()))
}

/// Attribute of a block device in sysfs; None if it has none, or an empty one.
fn attribute(device: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(device.join(name)).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// World-wide name of a block device: the kernel shows that of an NVMe namespace beside the device, of a SCSI disk beneath
/// it, and that which a device mapper's device was given. A partition has none of its own: it lies at a place of its disk.
fn world_wide_name(device: &Path) -> Option<String> {
    if let Some(start) = attribute(device, "partition").and_then(|_| attribute(device, "start")) {
        return Some(format!("{}, from sector {start}", world_wide_name(&device.join(".."))?));
    }
    ["wwid", "device/wwid", "dm/uuid"].iter().find_map(|name| attribute(device, name))
}

/// File behind a loop device, which was at another loop device before, and this one over another file.
fn backing_file(device: &Path) -> Option<String> {
    let file = File::open(attribute(device, "loop/backing_file")?).ok()?;
    let inode = inode(&file, &file.metadata().ok()?).ok()?;
    Some(format!("{inode}, from byte {}", attribute(device, "loop/offset")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a partition and a logical volume had their names from paths such as /dev/sdb1 and /dev/dm-0, which lead to
    /// other ones after a restart of the host.
    #[test]
    fn a_block_device_has_a_name_of_its_own_where_the_kernel_knows_one() {
        let dir = tempfile::tempdir().unwrap();
        let disk = |name: &str, attributes: &[(&str, &str)]| {
            for (attribute, text) in attributes {
                let path = dir.path().join(name).join(attribute);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, format!("{text}\n")).unwrap();
            }
            world_wide_name(&dir.path().join(name))
        };
        assert_eq!(disk("nvme0n1", &[("wwid", "eui.1")]).unwrap(), "eui.1");
        assert_eq!(disk("sda", &[("device/wwid", "naa.5")]).unwrap(), "naa.5");
        assert_eq!(disk("dm-0", &[("dm/uuid", "LVM-x")]).unwrap(), "LVM-x");
        assert_eq!(disk("dm-1", &[("dm/uuid", "")]), None);
        let part = |of: &str, start| disk(of, &[("partition", "1"), ("start", start)]);
        let first = part("sda/sda1", "2048").unwrap();
        assert!(first.contains("naa.5") && part("sda/sda2", "4096").unwrap() != first);
        assert_ne!(part("nvme0n1/nvme0n1p1", "2048").unwrap(), first);
        assert_eq!(part("vda/vda1", "2048"), None, "its disk has no name");
    }
}
