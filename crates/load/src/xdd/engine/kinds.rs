//! The kinds of targets. What a target is called says which: one of xdd's own, one row each, or a block device of the
//! table that LUNs live on too ([`linerate_rt::block::KINDS`]).

use super::{Opened, device, fcoe, sg};
use crate::xdd::config::Target;

/// What is to be opened.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The target; of a device with several units the first.
    pub target: &'a Target,
    /// Units that are wanted: 1, or more where [`Kind::several`].
    pub units: usize,
}

/// What opens targets.
pub type Open = fn(&Request<'_>) -> Opened;

/// A kind of target of xdd's own.
pub struct Kind {
    /// What its name begins with.
    pub prefix: &'static str,
    /// A name, for help.
    pub example: &'static str,
    /// What it is.
    pub about: &'static str,
    /// A name opens as many units as are asked for: `-targets 12 NAME` are twelve units of one device.
    pub several: bool,
    /// Opens a device on the thread that will drive it: an engine a unit, at least one. The error says what is wrong and what
    /// to do.
    pub open: Open,
}

/// All kinds of xdd's own.
const OWN: &[Kind] = &[SG, FCOE];

const SG: Kind = Kind {
    prefix: "/dev/sg",
    example: "/dev/sg1",
    about: "a SCSI device by SG_IO (with -sgio, any SCSI device)",
    several: false,
    open: sg::open,
};

const FCOE: Kind = Kind {
    prefix: "fcoe:",
    example: "fcoe:PORT[/WWPN]",
    about: "LUNs of an FCoE target on a port: with -targets N, N of them",
    several: true,
    open: fcoe::open,
};

/// Any block device, by the table of devices.
const DEVICE: Kind =
    Kind { prefix: "", example: device::EXAMPLE, about: device::ABOUT, several: false, open: device::open };

/// The kind of target that a name means. The first whose prefix fits is meant, unless `-sgio` says otherwise.
#[must_use]
pub fn kind_of(name: &str, sg: bool) -> &'static Kind {
    if sg && name.starts_with('/') {
        return &SG;
    }
    OWN.iter().find(|kind| name.starts_with(kind.prefix)).unwrap_or(&DEVICE)
}

/// Whether a target is a file: it can be made and deleted, and has a page cache.
#[must_use]
pub fn is_file(target: &Target) -> bool {
    !target.sg && kind_of(&target.name, false).prefix.is_empty() && device::path_of(&target.name).is_some()
}

/// Examples of names and what they are, for help.
pub fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = OWN.iter().chain([&DEVICE]).map(|kind| (kind.example, kind.about));
    device::examples().chain(own)
}

/// Opens a target by its kind.
///
/// # Errors
/// What is wrong, and the mend.
pub fn open(request: &Request<'_>) -> Opened {
    (kind_of(&request.target.name, request.target.sg).open)(request)
}
