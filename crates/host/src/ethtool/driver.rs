//! The driver of an interface, and the device's firmware version.
//!
//! The kernel's netlink has no message for it, so it is read by ioctl (ETHTOOL_GDRVINFO).

use super::oops;
use crate::error::Error;
use crate::netlink::message::text;
use crate::sys::ethtool;
use serde::Serialize;
use std::io;

const ETHTOOL_GDRVINFO: u32 = 0x3;
/// Bytes of `struct ethtool_drvinfo`.
const SIZE: usize = 196;

/// An interface's driver as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Driver {
    pub name: Option<String>,
    /// Version of the driver; most have the kernel's.
    pub version: Option<String>,
    pub firmware: Option<String>,
    /// Address of the device on its bus.
    pub bus: Option<String>,
    /// Version of the option ROM.
    pub rom: Option<String>,
}

impl Driver {
    /// Reads the driver of an interface of the calling thread's network namespace.
    pub fn of(interface: &str) -> Result<Self, Error> {
        Self::blob(interface).map(|blob| Self::parse(&blob)).map_err(|e| oops(interface, "asking for its driver", &e))
    }

    /// `struct ethtool_drvinfo` of an interface.
    pub(crate) fn blob(interface: &str) -> io::Result<Vec<u8>> {
        ethtool::ask(interface, &ETHTOOL_GDRVINFO.to_ne_bytes(), SIZE)
    }

    /// Parses `struct ethtool_drvinfo`; fields behind its end are not there.
    #[must_use]
    pub fn parse(blob: &[u8]) -> Self {
        let field = |at: usize| told(blob.get(at..).unwrap_or_default().get(..32).unwrap_or_default());
        Self { name: field(4), version: field(36), firmware: field(68), bus: field(100), rom: field(132) }
    }
}

/// Text of a field; None if it is empty or `N/A`, as drivers without a value leave it.
fn told(field: &[u8]) -> Option<String> {
    let text = text(field).trim().to_owned();
    (!text.is_empty() && text != "N/A").then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_unknown() {
        assert_eq!(told(b"1.27.0.0, TP 0.1.4.9\0\0\0").as_deref(), Some("1.27.0.0, TP 0.1.4.9"));
        assert_eq!(told(b"cxgb4").as_deref(), Some("cxgb4"), "a full field has no zero");
        assert_eq!((told(b"\0junk"), told(b"N/A\0"), told(b"  \0"), told(b"")), (None, None, None, None));
    }

    #[test]
    fn a_blob_that_was_cut_has_fewer_fields() {
        let mut blob = vec![0; SIZE];
        for (at, text) in [(4, "ice"), (36, "6.1.0"), (68, "4.20 0x8001778b 1.3346.0"), (100, "0000:17:00.0")] {
            blob[at..at + text.len()].copy_from_slice(text.as_bytes());
        }
        let whole = Driver::parse(&blob);
        assert_eq!(
            (whole.name.as_deref(), whole.bus.as_deref(), &whole.rom),
            (Some("ice"), Some("0000:17:00.0"), &None)
        );
        for end in 0..SIZE {
            let cut = Driver::parse(&blob[..end]);
            assert_eq!(cut.version.is_some(), end >= 68, "{end}");
        }
    }
}
