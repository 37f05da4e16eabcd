//! Files and block devices through io_uring, and NBD exports: the FCoE target's back ends, driven directly.

use super::{Blocks, Engine, Opened, Request};
use crate::xdd::config::Target;
use linerate_nbd::ClientOptions;
use linerate_port::path::from_text;
use linerate_rt::block::nbd::{NbdBackend, NbdUri};
use linerate_rt::block::{Device, DeviceError, FileBackend, FileOptions};
use std::fs::{File, OpenOptions};
use std::path::Path;

/// A file or a block device by its path.
pub(super) fn open_file(request: &Request<'_>) -> Opened {
    let target = request.target;
    let path = &from_text(target.name.strip_prefix("file:").unwrap_or(&target.name));
    if target.writes() {
        make(path, target)?;
    }
    let with = |block_size, direct| {
        let options = FileOptions { read_only: !target.writes(), block_size, direct };
        FileBackend::open(path, &options).map_err(told)
    };
    let mut file = with(512, target.direct)?;
    if target.direct && !file.is_direct() {
        // A device with larger sectors. The first descriptor holds a lock.
        drop(file);
        file = with(4096, true)?;
        if !file.is_direct() {
            return Err("there is no O_DIRECT on its file system; leave out -dio, or give another".into());
        }
    }
    Ok(engine(file))
}

/// An export of an NBD server.
pub(super) fn open_nbd(request: &Request<'_>) -> Opened {
    let uri = NbdUri::parse(&request.target.name).map_err(told)?;
    let backend = NbdBackend::open(&uri, ClientOptions::default()).map_err(told)?;
    Ok(engine(backend))
}

fn engine<D: Device + 'static>(device: D) -> Vec<Box<dyn Engine>> {
    let path = device.path();
    vec![Box::new(Blocks::new(device, path).waiting_for(D::waits_for))]
}

/// A file that is written is made, and as large as a pass needs it, as xdd's is by its writing.
fn make(path: &Path, target: &Target) -> Result<(), String> {
    let Some(span) = target.span() else { return Ok(()) };
    let grow = |file: File| {
        let metadata = file.metadata()?;
        if metadata.is_file() && metadata.len() < span { file.set_len(span) } else { Ok(()) }
    };
    let made = OpenOptions::new().write(true).create(true).truncate(false).open(path).and_then(grow);
    made.map_err(|e| format!("{e}; give a file or device that can be written, or -op read"))
}

/// What is wrong, without the device's name, which is said by whoever asked.
fn told(error: DeviceError) -> String {
    // Options behind a comma are of another command.
    let mend = if error.mend.contains("',ro'") {
        "give -op read, or a target that is free to be written"
    } else {
        &error.mend
    };
    format!("{}; {mend}", error.what)
}
