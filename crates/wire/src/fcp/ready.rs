//! FCP_XFER_RDY: the target is ready for data.

use crate::Error;
use crate::field::{Field, record};

const NAME: &str = "fcp transfer ready";

record! {
    /// The FCP_XFER_RDY information unit (FCP-4, clause 9.3).
    FcpTransferReady[12] bytes;
    0 offset: u32 = "Place where the data begins that is asked for, counted from the command's first byte.";
    4 len: u32 = "Number of bytes asked for.";
}

impl FcpTransferReady {
    /// Reads a unit: the whole payload of its frame.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter, [`Error::Malformed`] when it is longer, or asks for nothing or for bytes
    /// that no relative offset can name.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() < Self::LEN {
            return Err(Error::Truncated(NAME));
        }
        if bytes.len() > Self::LEN {
            return Err(Error::Malformed(NAME, "length"));
        }
        let ready = Self::get(bytes, 0);
        if ready.len == 0 || ready.offset.checked_add(ready.len).is_none() {
            return Err(Error::Malformed(NAME, "burst length"));
        }
        Ok(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_some_bytes_that_can_be_named() {
        let ready = FcpTransferReady { offset: 0x8000, len: 0x1_0000 };
        assert_eq!(ready.bytes(), [0, 0, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(FcpTransferReady::parse(&ready.bytes()), Ok(ready));
        assert_eq!(FcpTransferReady::parse(&[0; 11]), Err(Error::Truncated(NAME)));
        assert_eq!(FcpTransferReady::parse(&[0; 13]), Err(Error::Malformed(NAME, "length")));
        for bad in [FcpTransferReady { offset: 0, len: 0 }, FcpTransferReady { offset: u32::MAX, len: 1 }] {
            assert_eq!(FcpTransferReady::parse(&bad.bytes()), Err(Error::Malformed(NAME, "burst length")));
        }
    }
}
