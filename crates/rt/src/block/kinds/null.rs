//! `null:SIZE`: a device that stores no data.

use super::{BLOCK, Kind, NAA, Naming, SERIAL, wrong};
use crate::block::access::Access;
use crate::block::grammar::DeviceSpec;
use crate::block::{Device, DeviceError};
use crate::machine::Sleeper;
use linerate_block::{Geometry, Null};

pub(super) const KIND: Kind = Kind {
    name: "null",
    about: "nothing: reads as zeros, forgets what is written",
    example: "null:1G",
    naming: Naming::Size,
    options: &[BLOCK, SERIAL, NAA],
    forgets: false,
    check,
    open,
};

fn check(spec: &DeviceSpec) -> Result<(), DeviceError> {
    Geometry::blocks_of(spec.size()?, spec.block_size()?).map(drop).map_err(|e| wrong(spec, &e))
}

/// Opens the device; nothing is ever written, even if that is permitted.
fn open(spec: &DeviceSpec, _: &Access, serial: u64) -> Result<Box<dyn Device>, DeviceError> {
    let null = Null::new(spec.size()?, spec.block_size()?, serial).map_err(|e| wrong(spec, &e))?;
    Ok(Box::new(null))
}

/// Each operation completes as it is submitted.
impl Device for Null {
    fn path(&self) -> String {
        "null".into()
    }

    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}
}
