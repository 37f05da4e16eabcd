//! The table of block device kinds. A kind is one file and one row.

mod file;
mod nbd;
mod null;
mod ram;

use super::access::Access;
use super::grammar::DeviceSpec;
use super::{Device, DeviceError};
use linerate_block::GeometryError;
use linerate_port::OptionRow;

/// Function that opens a device, with this serial number unless it has one of its own.
type Open = fn(&DeviceSpec, &Access, u64) -> Result<Box<dyn Device>, DeviceError>;

pub struct Kind {
    /// Name of the kind: the text before the colon.
    pub name: &'static str,
    pub about: &'static str,
    /// Example of a device's text.
    pub example: &'static str,
    /// Meaning of the text after the colon.
    pub naming: Naming,
    /// Options of the kind; those without a value are flags.
    pub options: &'static [OptionRow],
    /// True if it loses what was written when it is closed: it is another disk each time it is opened.
    pub forgets: bool,
    /// Checks the name and the values of the options.
    pub(super) check: fn(&DeviceSpec) -> Result<(), DeviceError>,
    pub(super) open: Open,
}

/// Meaning of a device's name, the text after the colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Size in bytes.
    Size,
    Path,
    /// The rest of a URI that begins with the kind and `://`. It has no options.
    Uri,
}

impl Kind {
    /// The name in a text of this kind; None if the text is of another kind.
    #[must_use]
    pub fn name_in<'a>(&self, text: &'a str) -> Option<&'a str> {
        let name = text.strip_prefix(self.name)?.strip_prefix(':')?;
        (self.naming != Naming::Uri || name.starts_with("//")).then_some(name)
    }
}

const READ_ONLY: OptionRow = OptionRow { key: "ro", value: "", about: "nothing can be written" };
const BLOCK: OptionRow = OptionRow { key: "block", value: "512|4096", about: "bytes of a logical block (512)" };

pub(super) const SERIAL: OptionRow = OptionRow {
    key: "serial",
    value: "TEXT",
    about: "serial number of a LUN (goes with the device; memory is another disk each time all the same)",
};
pub(super) const NAA: OptionRow =
    OptionRow { key: "naa", value: "HEX", about: "world-wide name of a LUN (goes with the device)" };

pub static KINDS: &[Kind] = &[ram::KIND, null::KIND, file::KIND, nbd::TCP, nbd::UNIX];

/// Error for a size or a block size that no device can have.
fn wrong(spec: &DeviceSpec, error: &GeometryError) -> DeviceError {
    let (what, mend) = match error {
        GeometryError::BlockSize(size) => {
            (format!("no device has blocks of {size} bytes"), "give block=512 or block=4096")
        }
        GeometryError::Size { block_size } => (
            format!("the size is no number of blocks of {block_size} bytes"),
            "give a multiple of the block size, such as 64M",
        ),
        GeometryError::Memory => ("there is not so much memory".into(), "give a smaller size, or file:PATH"),
    };
    spec.oops(what, mend)
}
