//! `nbd://…` and `nbd+unix://…`: an export of an NBD server.

use super::{Kind, Naming};
use crate::block::access::Access;
use crate::block::grammar::DeviceSpec;
use crate::block::nbd::{NbdBackend, NbdUri};
use crate::block::{Device, DeviceError};
use linerate_nbd::ClientOptions;

pub(super) const TCP: Kind = Kind {
    name: "nbd",
    about: "an export of an NBD server, over TCP",
    example: "nbd://HOST[:PORT]/EXPORT[?settle=SECONDS]",
    naming: Naming::Uri,
    options: &[],
    forgets: false,
    check,
    open,
};

pub(super) const UNIX: Kind = Kind {
    name: "nbd+unix",
    about: "an export of an NBD server, over a UNIX socket",
    example: "nbd+unix:///EXPORT?socket=PATH[&settle=SECONDS]",
    ..TCP
};

fn check(spec: &DeviceSpec) -> Result<(), DeviceError> {
    NbdUri::parse(&spec.to_string()).map(drop)
}

/// Opens the export; the server determines if it can be written.
fn open(spec: &DeviceSpec, access: &Access, _: u64) -> Result<Box<dyn Device>, DeviceError> {
    let uri = NbdUri::parse(&spec.to_string())?;
    Ok(Box::new(NbdBackend::open(&uri, ClientOptions { hold: access.hold, ..ClientOptions::default() })?))
}
