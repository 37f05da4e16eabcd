//! `file:PATH`: a regular file or a block device of the kernel.

use super::{BLOCK, Kind, NAA, Naming, READ_ONLY, SERIAL};
use crate::block::access::{Access, Cache};
use crate::block::error::Want;
use crate::block::grammar::DeviceSpec;
use crate::block::{Device, DeviceError, FileBackend, FileOptions, Protected, ProtectedOptions};
use linerate_block::Backend;
use linerate_port::OptionRow;
use linerate_text::path::from_text;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

const PROTECTION: OptionRow = OptionRow {
    key: "pi",
    value: "1|2|3",
    about: "protection information of this type, kept in PATH.pi; a file must be regular for it (none)",
};
const ADOPT: OptionRow = OptionRow {
    key: "pi-adopt",
    value: "",
    about: "PATH.pi is taken although it was made for another file or size: after both were copied, or the file grew",
};

/// Notes behind the path of a file.
const MADE: &str = "; its side file will be made: nothing that is there already is protected";
const SPOILT: &str =
    "; its side file with protection information is not used: what is written now fails its checks later";

pub(super) const KIND: Kind = Kind {
    name: "file",
    about: "a regular file or block device, through io_uring, past the page cache where it can",
    example: "file:disk.img",
    naming: Naming::Path,
    options: &[READ_ONLY, BLOCK, PROTECTION, ADOPT, SERIAL, NAA],
    forgets: false,
    check,
    open,
};

fn check(spec: &DeviceSpec) -> Result<(), DeviceError> {
    spec.block_size()?;
    if spec.protection()? == 0 && spec.flag("pi-adopt") {
        return Err(spec.oops("without 'pi=' there is no protection information", "leave out 'pi-adopt', or add 'pi='"));
    }
    Ok(())
}

fn open(spec: &DeviceSpec, access: &Access, _: u64) -> Result<Box<dyn Device>, DeviceError> {
    let (path, protection) = (from_text(&spec.name), spec.protection()?);
    if protection > 0 && std::fs::metadata(&path).is_ok_and(|file| file.file_type().is_block_device()) {
        let mend = "use a regular file on it, or leave out 'pi='";
        return Err(spec.oops("a block device has no place beside it for protection information", mend));
    }
    let file = opened(spec, access, &path)?;
    let (writes, has_side) = (!file.geometry().read_only, Protected::<FileBackend>::side_of(&path).exists());
    if protection > 0 && access.checks && writes && !has_side {
        return Ok(Box::new(file.noting(MADE)));
    }
    if protection > 0 {
        let options = ProtectedOptions {
            kind: protection,
            makes: !access.checks,
            adopts: spec.flag("pi-adopt") && !access.checks,
        };
        return Ok(Box::new(Protected::open(file, &path, &options)?));
    }
    Ok(Box::new(if writes && has_side { file.noting(SPOILT) } else { file }))
}

fn opened(spec: &DeviceSpec, access: &Access, path: &Path) -> Result<FileBackend, DeviceError> {
    let (read_only, direct) = (access.read_only || spec.flag("ro"), access.cache != Cache::Used);
    let with = |block_size| FileBackend::open(path, &FileOptions { read_only, block_size, direct });
    let mut file = with(spec.block_size()?)?;
    if access.cache == Cache::Bypassed && !file.is_direct() {
        // A device with larger sectors. The first descriptor is dropped because it holds a lock.
        drop(file);
        file = with(4096)?;
        if !file.is_direct() {
            let what = "there is no O_DIRECT on its file system";
            return Err(spec.oops(what, "use the page cache, or give another").wanting(Want::PageCache));
        }
    }
    Ok(file)
}
