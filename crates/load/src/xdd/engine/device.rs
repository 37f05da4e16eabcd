//! Block devices of the table that LUNs use too, driven directly: memory, null, files, NBD exports.

use super::{Blocks, Engine, Opened, Request};
use crate::xdd::config::Target;
use linerate_host::place;
use linerate_rt::block::{Access, Cache, DeviceError, DeviceSpec, KINDS, Kind, Naming, Want};
use linerate_text::bytes;
use linerate_text::path::from_text;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// Kind of device for a name without a kind: `PATH` means `file:PATH`.
const BARE: &str = "file";
/// Syntax and description of such a name.
pub(super) const EXAMPLE: &str = "PATH";
pub(super) const ABOUT: &str = "a file or block device by io_uring; with -dio past the page cache";

/// Block of a file, bytes.
const BLOCK: u64 = 512;
/// Largest size in a name, bytes.
const LARGEST: u64 = 1 << 50;
/// Largest memory device, bytes.
const MEMORY: u64 = 64 << 30;

/// Names and descriptions of devices, except those that are a path.
pub(super) fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().filter(|kind| kind.name != BARE).map(|kind| (kind.example, kind.about))
}

/// Path that a target's name denotes; `None` if it is not a path.
pub fn path_of(name: &str) -> Option<PathBuf> {
    let (kind, name) = device(name);
    (kind.naming == Naming::Path).then(|| from_text(name))
}

pub(super) fn open(request: &Request<'_>) -> Opened {
    let target = request.target;
    let (kind, name) = device(&target.name);
    match kind.naming {
        Naming::Size => checked(name)?,
        Naming::Path if target.writes() => make(&from_text(name), target)?,
        Naming::Path | Naming::Uri => {}
    }
    let cache = if target.direct { Cache::Bypassed } else { Cache::Used };
    let access = Access { read_only: !target.writes(), cache, memory: MEMORY, ..Access::default() };
    let spec = DeviceSpec::new(kind, name).map_err(told)?;
    let mut device = spec.device(&access).map_err(told)?;
    let (path, is_memory) = (device.path(), device.memory().is_some());
    let blocks = Blocks::new(device, path);
    let engine: Box<dyn Engine> = if is_memory {
        Box::new(blocks)
    } else {
        Box::new(blocks.waiting_for(|device, visit| device.waits_for(visit)))
    };
    Ok(vec![engine])
}

/// Kind of device that a target's name means, and the name without the kind. Options are not parsed: a path may have
/// commas.
fn device(name: &str) -> (&'static Kind, &str) {
    let named = KINDS.iter().find_map(|kind| Some((kind, kind.name_in(name)?)));
    named.unwrap_or_else(|| (KINDS.iter().find(|kind| kind.name == BARE).expect("a row of the table"), name))
}

/// Checks that a size is valid, and not too large.
fn checked(name: &str) -> Result<(), String> {
    let good = bytes(name).is_some_and(|size| (1..=LARGEST).contains(&size));
    if good { Ok(()) } else { Err("no size; give one up to 1024T, as null:1G".into()) }
}

/// Makes a file that is to be written: as long as `-pretruncate` says, then as large as a pass needs it, in whole
/// blocks; xdd's grows by its writes.
fn make(path: &Path, target: &Target) -> Result<(), String> {
    let span = target.span().map(|span| span.checked_next_multiple_of(BLOCK).unwrap_or(span));
    if span.is_none() && target.truncate.is_none() {
        return Ok(());
    }
    let shape = |file: File| {
        if !file.metadata()?.is_file() {
            return Ok(target.truncate.is_none());
        }
        if let Some(bytes) = target.truncate {
            file.set_len(bytes)?;
        }
        if let Some(span) = span.filter(|span| file.metadata().is_ok_and(|metadata| metadata.len() < *span)) {
            file.set_len(span)?;
        }
        Ok(true)
    };
    match place::open(path, OpenOptions::new().write(true).create(true).truncate(false), 0).and_then(shape) {
        Ok(true) => Ok(()),
        Ok(false) => Err("-pretruncate: it is no regular file; leave it out".into()),
        Err(e) => Err(format!("{e}; give a file or device that can be written, or -op read")),
    }
}

/// Error text without the device's name, which the caller adds; the mend is in xdd's words.
fn told(error: DeviceError) -> String {
    let mend = match error.want {
        Some(Want::ReadOnly) => "give -op read, or a target that is free to be written",
        Some(Want::PageCache) => "leave out -dio, or give another",
        None => &error.mend,
    };
    format!("{}; {mend}", error.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        for name in ["512", "64M", "1g", "1024T"] {
            assert_eq!(checked(name), Ok(()), "{name}");
        }
        for name in ["", "M", "-1", "1X", "99999999999T", "0", "1\u{e9}", "2048T"] {
            assert!(checked(name).unwrap_err().contains("as null:1G"), "{name}");
        }
    }

    #[test]
    fn a_name_without_a_kind_is_a_path_and_nothing_in_it_is_an_option() {
        for (name, kind, rest) in [
            ("disk", "file", "disk"),
            ("file:a,ro", "file", "a,ro"),
            ("/dev/sdb", "file", "/dev/sdb"),
            ("tape:x", "file", "tape:x"),
            ("nbd:x", "file", "nbd:x"),
            ("nbd://h/a,b", "nbd", "//h/a,b"),
            ("nbd+unix:///?socket=s", "nbd+unix", "///?socket=s"),
            ("ram:64M", "ram", "64M"),
            ("null:", "null", ""),
        ] {
            let (found, name) = device(name);
            assert_eq!((found.name, name), (kind, rest));
        }
        assert_eq!((path_of("file:a"), path_of("a"), path_of("ram:1M")), (Some("a".into()), Some("a".into()), None));
    }
}
