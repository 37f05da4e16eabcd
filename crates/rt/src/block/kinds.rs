//! The table of block device kinds. A kind is one row.

use super::grammar::{DeviceSpec, Opened};
use super::nbd::{NbdBackend, NbdUri};
use super::shared::share;
use super::{Device, DeviceError, FileBackend, FileOptions, Protected};
use linerate_block::{Geometry, GeometryError, Null, Ram};
use linerate_nbd::ClientOptions;
use linerate_port::OptionRow;
use linerate_port::path::from_text;
use std::os::unix::fs::FileTypeExt;

/// One kind of block device.
pub struct Kind {
    /// What stands before the colon.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How it is written.
    pub example: &'static str,
    /// Its options; those without a value are flags.
    pub options: &'static [OptionRow],
    /// Whether the whole text is a URI, in which a comma begins no option.
    pub(super) is_uri: bool,
    /// Checks name and values.
    pub(super) check: fn(&DeviceSpec) -> Result<(), DeviceError>,
    /// Opens it, with this serial number.
    pub(super) open: fn(&DeviceSpec, u64) -> Result<Opened, DeviceError>,
}

const READ_ONLY: OptionRow = OptionRow { key: "ro", value: "", about: "nothing can be written" };
const BLOCK: OptionRow = OptionRow { key: "block", value: "512|4096", about: "octets of a logical block (512)" };
const PROTECTION: OptionRow =
    OptionRow { key: "pi", value: "1|2|3", about: "protection information of this type with each block (none)" };

/// All kinds.
pub static KINDS: &[Kind] = &[
    Kind {
        name: "ram",
        about: "memory, zeros at first",
        example: "ram:64M",
        options: &[READ_ONLY, BLOCK, PROTECTION],
        is_uri: false,
        check: check_ram,
        open: open_ram,
    },
    Kind {
        name: "null",
        about: "reads as zeros and forgets what is written",
        example: "null:1T",
        options: &[BLOCK],
        is_uri: false,
        check: check_null,
        open: open_null,
    },
    Kind {
        name: "file",
        about: "a regular file or block device, through io_uring, past the page cache where it can",
        example: "file:disk.img",
        options: &[
            READ_ONLY,
            BLOCK,
            OptionRow {
                key: "pi",
                value: "1|2|3",
                about: "protection information of this type, kept in PATH.pi; a file must be regular for it (none)",
            },
        ],
        is_uri: false,
        check: check_file,
        open: open_file,
    },
    Kind {
        name: "nbd",
        about: "an export of an NBD server, over TCP",
        example: "nbd://HOST[:PORT]/EXPORT",
        options: &[],
        is_uri: true,
        check: check_nbd,
        open: open_nbd,
    },
    Kind {
        name: "nbd+unix",
        about: "an export of an NBD server, over a UNIX socket",
        example: "nbd+unix:///EXPORT?socket=PATH",
        options: &[],
        is_uri: true,
        check: check_nbd,
        open: open_nbd,
    },
];

fn check_ram(spec: &DeviceSpec) -> Result<(), DeviceError> {
    spec.protection()?;
    check_null(spec)
}

fn open_ram(spec: &DeviceSpec, serial: u64) -> Result<Opened, DeviceError> {
    let protection = spec.protection()?;
    let ram = Ram::new(spec.size()?, spec.block_size()?, protection > 0, serial).map_err(|e| wrong(spec, &e))?;
    let ram = if spec.flag("ro") { ram.read_only() } else { ram };
    Ok(Opened { backend: Box::new(ram), waits: None, path: "memory".into(), protection })
}

fn check_null(spec: &DeviceSpec) -> Result<(), DeviceError> {
    Geometry::blocks_of(spec.size()?, spec.block_size()?).map(drop).map_err(|e| wrong(spec, &e))
}

fn open_null(spec: &DeviceSpec, serial: u64) -> Result<Opened, DeviceError> {
    let null = Null::new(spec.size()?, spec.block_size()?, serial).map_err(|e| wrong(spec, &e))?;
    Ok(Opened { backend: Box::new(null), waits: None, path: "nothing".into(), protection: 0 })
}

fn wrong(spec: &DeviceSpec, error: &GeometryError) -> DeviceError {
    let (what, mend) = match error {
        GeometryError::BlockSize(size) => {
            (format!("no device has blocks of {size} octets"), "give block=512 or block=4096")
        }
        GeometryError::Size { block_size } => (
            format!("the size is no number of blocks of {block_size} octets"),
            "give a multiple of the block size, such as 64M",
        ),
        GeometryError::Memory => ("there is not so much memory".into(), "give a smaller size, or file:PATH"),
    };
    spec.oops(what, mend)
}

fn check_file(spec: &DeviceSpec) -> Result<(), DeviceError> {
    spec.block_size()?;
    spec.protection().map(drop)
}

fn open_file(spec: &DeviceSpec, serial: u64) -> Result<Opened, DeviceError> {
    let (path, protection) = (from_text(&spec.name), spec.protection()?);
    if protection > 0 && std::fs::metadata(&path).is_ok_and(|file| file.file_type().is_block_device()) {
        let mend = "use a regular file on it, or leave out 'pi='";
        return Err(spec.oops("a block device has no place beside it for protection information", mend));
    }
    let options = FileOptions { read_only: spec.flag("ro"), block_size: spec.block_size()?, direct: true };
    let file = FileBackend::open(&path, &options)?;
    Ok(match protection {
        0 => shared(file, serial, 0),
        kind => shared(Protected::open(file, &Protected::<FileBackend>::side_of(&path))?, serial, kind),
    })
}

fn check_nbd(spec: &DeviceSpec) -> Result<(), DeviceError> {
    NbdUri::parse(&spec.to_string()).map(drop)
}

fn open_nbd(spec: &DeviceSpec, serial: u64) -> Result<Opened, DeviceError> {
    let uri = NbdUri::parse(&spec.to_string())?;
    Ok(shared(NbdBackend::open(&uri, ClientOptions::default())?, serial, 0))
}

fn shared(device: impl Device + 'static, serial: u64, protection: u8) -> Opened {
    let path = device.path();
    let (backend, waits) = share(device, serial);
    Opened { backend: Box::new(backend), waits: Some(waits), path, protection }
}
