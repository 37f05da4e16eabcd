//! The kinds of targets: one row each. What a target is called says which.

use super::{Opened, device, fcoe, memory, sg};
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

/// A kind of target.
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

/// All kinds. The first whose prefix fits is meant, unless `-sgio` says otherwise.
pub const KINDS: &[Kind] = &[SG, NULL, RAM, NBD, NBD_UNIX, FCOE, FILE];

const SG: Kind = Kind {
    prefix: "/dev/sg",
    example: "/dev/sg1",
    about: "a SCSI device by SG_IO (with -sgio, any SCSI device)",
    several: false,
    open: sg::open,
};

const NULL: Kind = Kind {
    prefix: "null:",
    example: "null:1G",
    about: "nothing: reads zeros, forgets what is written, to measure the load itself",
    several: false,
    open: memory::open_null,
};

const RAM: Kind = Kind {
    prefix: "ram:",
    example: "ram:64M",
    about: "memory of this process, zeros at first",
    several: false,
    open: memory::open_ram,
};

const NBD: Kind = Kind {
    prefix: "nbd://",
    example: "nbd://HOST[:PORT]/EXPORT",
    about: "an export of an NBD server",
    several: false,
    open: device::open_nbd,
};

const NBD_UNIX: Kind = Kind {
    prefix: "nbd+unix://",
    example: "nbd+unix:///EXPORT?socket=PATH",
    about: "the same through a UNIX socket",
    several: false,
    open: device::open_nbd,
};

const FCOE: Kind = Kind {
    prefix: "fcoe:",
    example: "fcoe:PORT[/WWPN]",
    about: "LUNs of an FCoE target on a port: with -targets N, N of them",
    several: true,
    open: fcoe::open,
};

/// What has no prefix is a path.
const FILE: Kind = Kind {
    prefix: "",
    example: "PATH",
    about: "a file or block device by io_uring; with -dio past the page cache",
    several: false,
    open: device::open_file,
};

/// The kind of target that a name means.
#[must_use]
pub fn kind_of(name: &str, sg: bool) -> Option<&'static Kind> {
    if sg && name.starts_with('/') {
        return Some(&SG);
    }
    KINDS.iter().find(|kind| name.starts_with(kind.prefix))
}

/// Opens a target by its kind.
///
/// # Errors
/// What is wrong, and the mend.
pub fn open(request: &Request<'_>) -> Opened {
    let target = request.target;
    let Some(kind) = kind_of(&target.name, target.sg) else {
        let examples: Vec<_> = KINDS.iter().map(|kind| kind.example).collect();
        return Err(format!("there is no such kind of target; give one as {}", examples.join(", ")));
    };
    (kind.open)(request)
}
