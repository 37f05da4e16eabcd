//! The driver of an interface, and the device's firmware version.
//!
//! The kernel's netlink has no message for it, so it is read by ioctl (ETHTOOL_GDRVINFO).

use super::oops;
use crate::error::Error;
use crate::netlink::message::text;
use crate::sys::drvinfo::driver_and_firmware;

/// An interface's driver as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// Name of the driver.
    pub name: Option<String>,
    /// Version of the device's firmware.
    pub firmware: Option<String>,
}

impl Driver {
    /// Reads the driver of an interface of the calling thread's network namespace.
    pub fn of(interface: &str) -> Result<Self, Error> {
        let (name, firmware) =
            driver_and_firmware(interface).map_err(|e| oops(interface, "asking for its driver", &e))?;
        Ok(Self { name: told(&name), firmware: told(&firmware) })
    }
}

/// Text of a field; None if it is empty or `N/A`, as drivers without a value leave it.
fn told(field: &[u8]) -> Option<String> {
    let text = text(field).trim().to_owned();
    (!text.is_empty() && text != "N/A").then_some(text)
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn what_is_not_told_is_unknown() {
        assert_eq!(told(b"1.27.0.0, TP 0.1.4.9\0\0\0").as_deref(), Some("1.27.0.0, TP 0.1.4.9"));
        assert_eq!(told(b"cxgb4").as_deref(), Some("cxgb4"), "a full field has no zero");
        assert_eq!((told(b"\0junk"), told(b"N/A\0"), told(b"  \0"), told(b"")), (None, None, None, None));
    }
}
