//! `ram:SIZE`: memory of this process.

use super::{BLOCK, Kind, NAA, Naming, READ_ONLY, SERIAL, wrong};
use crate::block::access::Access;
use crate::block::grammar::DeviceSpec;
use crate::block::{Device, DeviceError};
use crate::machine::Sleeper;
use linerate_block::{Geometry, Ram};
use linerate_port::OptionRow;

const PROTECTION: OptionRow =
    OptionRow { key: "pi", value: "1|2|3", about: "protection information of this type with each block (none)" };

pub(super) const KIND: Kind = Kind {
    name: "ram",
    about: "memory, zeros at first",
    example: "ram:64M",
    naming: Naming::Size,
    options: &[READ_ONLY, BLOCK, PROTECTION, SERIAL, NAA],
    forgets: true,
    check,
    open,
};

fn check(spec: &DeviceSpec) -> Result<(), DeviceError> {
    spec.protection()?;
    Geometry::blocks_of(spec.size()?, spec.block_size()?).map(drop).map_err(|e| wrong(spec, &e))
}

fn open(spec: &DeviceSpec, access: &Access, serial: u64) -> Result<Box<dyn Device>, DeviceError> {
    let size = spec.size()?;
    if size > access.memory {
        let what = format!("it takes more than {} GiB of memory", access.memory >> 30);
        return Err(spec.oops(what, "give a smaller size"));
    }
    let protection = spec.protection()? > 0;
    // Memory that was given up is another disk the next time: whoever knew the one before must not take it for that.
    let serial = serial ^ crate::random();
    let ram = Ram::new(size, spec.block_size()?, protection, serial).map_err(|e| wrong(spec, &e))?;
    Ok(Box::new(if spec.flag("ro") { ram.read_only() } else { ram }))
}

/// Each operation completes as it is submitted.
impl Device for Ram {
    fn path(&self) -> String {
        "memory".into()
    }

    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}
}
