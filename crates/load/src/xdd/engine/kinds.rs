//! Kinds of targets, selected by the target's name: xdd's own kinds, one row each, or a block device of the table that
//! LUNs use too ([`linerate_rt::block::KINDS`]).

use super::{Opened, device, fcoe, sg};
use crate::xdd::config::Target;

/// Device that is to be opened.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The target; of a device with several units the first.
    pub target: &'a Target,
    /// Number of units wanted: 1, or more where [`Kind::several`].
    pub units: usize,
}

pub type Open = fn(&Request<'_>) -> Opened;

/// A kind of target of xdd's own.
pub struct Kind {
    /// Prefix of its names.
    pub prefix: &'static str,
    /// Example of a name, for help.
    pub example: &'static str,
    pub about: &'static str,
    /// True if a name opens as many units as are requested: `-targets 12 NAME` are twelve units of one device.
    pub several: bool,
    /// True if its units may have protection information that is checked.
    pub protects: bool,
    /// Function that opens a device on the thread that will drive it: one engine per unit, at least one. The error
    /// names the fault and the mend.
    pub open: Open,
}

/// All kinds of xdd's own.
const OWN: &[Kind] = &[SG, FCOE];

const SG: Kind = Kind {
    prefix: "/dev/sg",
    example: "/dev/sg1",
    about: "a SCSI device by SG_IO (with -sgio, any SCSI device)",
    several: false,
    protects: false,
    open: sg::open,
};

const FCOE: Kind = Kind {
    prefix: "fcoe:",
    example: "fcoe:PORT[/WWPN]",
    about: "LUNs of an FCoE target on a port: with -targets N, N of them",
    several: true,
    protects: true,
    open: fcoe::open,
};

/// Any block device, by the table of devices.
const DEVICE: Kind = Kind {
    prefix: "",
    example: device::EXAMPLE,
    about: device::ABOUT,
    several: false,
    protects: false,
    open: device::open,
};

/// Kind of target that a name means: the first whose prefix matches, unless `-sgio` is given.
#[must_use]
pub fn kind_of(name: &str, sg: bool) -> &'static Kind {
    if sg && name.starts_with('/') {
        return &SG;
    }
    OWN.iter().find(|kind| name.starts_with(kind.prefix)).unwrap_or(&DEVICE)
}

/// True if a target is a file: it can be made and deleted, and has a page cache.
#[must_use]
pub fn is_file(target: &Target) -> bool {
    !target.sg && kind_of(&target.name, false).prefix.is_empty() && device::path_of(&target.name).is_some()
}

/// Examples and descriptions of names, for help.
pub fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = OWN.iter().chain([&DEVICE]).map(|kind| (kind.example, kind.about));
    device::examples().chain(own)
}

/// Opens a target by its kind.
pub fn open(request: &Request<'_>) -> Opened {
    (kind_of(&request.target.name, request.target.sg).open)(request)
}
