//! FCP_RSP: how a command or a task management function ended.

use crate::Error;
use crate::field::{at_most_u32, put, put_u16, u16_at, u32_at, values};

const NAME: &str = "fcp response";

values! {
    /// Response codes of the target, apart from SCSI's status: RSP_CODE (FCP-4, clause 9.5).
    pub mod fcp_code: u8;
    COMPLETE = 0x00, "The task management function is complete.";
    DATA_LENGTH = 0x01, "The data was longer or shorter than the burst that was asked for.";
    INVALID_FIELDS = 0x02, "Fields of FCP_CMND are not valid.";
    REJECTED = 0x04, "The task management function is rejected.";
    FAILED = 0x05, "The task management function failed.";
    SUCCEEDED = 0x08, "The task management function succeeded.";
    INCORRECT_LUN = 0x09, "The task management function names a logical unit that is not there.";
}

const RSP_LEN_VALID: u8 = 0x01;
const SNS_LEN_VALID: u8 = 0x02;
const RESID_OVER: u8 = 0x04;
const RESID_UNDER: u8 = 0x08;
const CONF_REQ: u8 = 0x10;
const BIDI_RESID_OVER: u8 = 0x20;
const BIDI_RESID_UNDER: u8 = 0x40;
const BIDI_RSP: u8 = 0x80;

/// Offsets of the fields before response info and sense data (FCP-4, clause 9.5).
mod field {
    pub(super) const QUALIFIER: usize = 8;
    pub(super) const FLAGS: usize = 10;
    pub(super) const STATUS: usize = 11;
    pub(super) const RESID: usize = 12;
    pub(super) const SNS_LEN: usize = 16;
    pub(super) const RSP_LEN: usize = 20;
}

/// The FCP_RSP information unit (FCP-4, clause 9.5).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      reserved, 8 bytes                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |       status qualifier        |     flags     |    status     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                           FCP_RESID                           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                 FCP_SNS_LEN, bytes of sense                   |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |              FCP_RSP_LEN, bytes of response info              |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   response info (code in its fourth byte), sense data, and    |
/// |         FCP_BIDIRECTIONAL_READ_RESID, as the flags say …
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FcpResponse<'a> {
    /// The status qualifier (SAM-5, clause 5.3.3): after TASK SET FULL and BUSY, how long to wait.
    pub qualifier: u16,
    /// SCSI's status (SAM-5, clause 5.3); not valid when `code` is there.
    pub status: u8,
    /// Bytes that the command wanted beyond FCP_DL (greater than zero) or did not want of it (less than zero).
    pub residual: i64,
    /// The target wants FCP_CONF.
    pub confirm: bool,
    /// RSP_CODE: one of [`fcp_code`].
    pub code: Option<u8>,
    /// Sense data.
    pub sense: &'a [u8],
    /// As `residual`, for the data in of a command with both directions.
    pub bidirectional_read_residual: Option<i64>,
}

impl<'a> FcpResponse<'a> {
    /// Bytes of a unit without response info and sense data.
    pub const LEN: usize = 24;
    const INFO_LEN: usize = 8;

    /// Reads a unit: the payload of its frame. Bytes after what its lengths count are left alone.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than its lengths say, [`Error::Malformed`] when the response info has
    /// neither 4 nor 8 bytes or a residual is both over and under.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() < Self::LEN {
            return Err(Error::Truncated(NAME));
        }
        let flags = bytes[field::FLAGS];
        let info_len = if flags & RSP_LEN_VALID == 0 { 0 } else { u32_at(bytes, field::RSP_LEN) };
        let sense_len = if flags & SNS_LEN_VALID == 0 { 0 } else { u32_at(bytes, field::SNS_LEN) };
        if flags & RSP_LEN_VALID != 0 && !matches!(info_len, 4 | 8) {
            return Err(Error::Malformed(NAME, "length of response info"));
        }
        let (info, rest) = take(&bytes[Self::LEN..], info_len)?;
        let (sense, rest) = take(rest, sense_len)?;
        let bidirectional_read_residual = if flags & BIDI_RSP == 0 {
            None
        } else {
            let (residual, _) = take(rest, 4)?;
            Some(residual_of(u32_at(residual, 0), flags & BIDI_RESID_OVER != 0, flags & BIDI_RESID_UNDER != 0)?)
        };
        Ok(Self {
            qualifier: u16_at(bytes, field::QUALIFIER),
            status: bytes[field::STATUS],
            residual: residual_of(u32_at(bytes, field::RESID), flags & RESID_OVER != 0, flags & RESID_UNDER != 0)?,
            confirm: flags & CONF_REQ != 0,
            code: info.get(3).copied(),
            sense,
            bidirectional_read_residual,
        })
    }

    /// Bytes that [`emit`](Self::emit) writes.
    #[must_use]
    pub fn buffer_len(&self) -> usize {
        let info = if self.code.is_some() { Self::INFO_LEN } else { 0 };
        let residual = if self.bidirectional_read_residual.is_some() { 4 } else { 0 };
        Self::LEN + info + self.sense.len() + residual
    }

    /// Writes the unit to the front of `buffer`; returns the bytes written. A residual beyond 32 bits is written as the
    /// greatest that fits.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it does not fit, [`Error::TooLarge`] when the sense data has more than 65535 bytes;
    /// nothing is written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let sense_len = u16::try_from(self.sense.len()).map_err(|_| Error::TooLarge(NAME, "sense data"))?;
        let len = self.buffer_len();
        let bytes = buffer.get_mut(..len).ok_or(Error::Truncated(NAME))?;
        bytes.fill(0);
        put_u16(bytes, field::QUALIFIER, self.qualifier);
        let mut flags = if self.confirm { CONF_REQ } else { 0 };
        flags |= direction(self.residual, RESID_OVER, RESID_UNDER);
        put(bytes, field::RESID, &magnitude(self.residual));
        let mut at = Self::LEN;
        if let Some(code) = self.code {
            flags |= RSP_LEN_VALID;
            put(bytes, field::RSP_LEN, &8_u32.to_be_bytes());
            bytes[at + 3] = code;
            at += Self::INFO_LEN;
        }
        if sense_len > 0 {
            flags |= SNS_LEN_VALID;
            put(bytes, field::SNS_LEN, &u32::from(sense_len).to_be_bytes());
            put(bytes, at, self.sense);
            at += self.sense.len();
        }
        if let Some(residual) = self.bidirectional_read_residual {
            flags |= BIDI_RSP | direction(residual, BIDI_RESID_OVER, BIDI_RESID_UNDER);
            put(bytes, at, &magnitude(residual));
        }
        put(bytes, field::FLAGS, &[flags, self.status]);
        Ok(len)
    }
}

fn take(bytes: &[u8], len: u32) -> Result<(&[u8], &[u8]), Error> {
    let len = usize::try_from(len).map_err(|_| Error::Truncated(NAME))?;
    bytes.split_at_checked(len).ok_or(Error::Truncated(NAME))
}

fn residual_of(bytes: u32, over: bool, under: bool) -> Result<i64, Error> {
    match (over, under) {
        (false, false) => Ok(0),
        (true, false) => Ok(i64::from(bytes)),
        (false, true) => Ok(-i64::from(bytes)),
        (true, true) => Err(Error::Malformed(NAME, "residual")),
    }
}

fn direction(residual: i64, over: u8, under: u8) -> u8 {
    match residual.signum() {
        1 => over,
        -1 => under,
        _ => 0,
    }
}

fn magnitude(residual: i64) -> [u8; 4] {
    at_most_u32(residual.unsigned_abs()).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_where_its_length_says() {
        let response = FcpResponse {
            qualifier: 0x4001,
            status: 2,
            residual: -7,
            confirm: true,
            code: Some(fcp_code::FAILED),
            sense: &[0x70, 0, 5],
            bidirectional_read_residual: Some(0x0102),
        };
        let mut bytes = [0xa5; 48];
        assert_eq!(response.emit(&mut bytes), Ok(39));
        assert_eq!(bytes[8..24], [0x40, 1, 0xbb, 2, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 8]);
        assert_eq!(bytes[24..39], [0, 0, 0, 5, 0, 0, 0, 0, 0x70, 0, 5, 0, 0, 1, 2]);
        assert_eq!(FcpResponse::parse(&bytes[..39]), Ok(response));
        for cut in 0..39 {
            assert_eq!(FcpResponse::parse(&bytes[..cut]), Err(Error::Truncated(NAME)));
            assert_eq!(response.emit(&mut [0; 38][..cut]), Err(Error::Truncated(NAME)));
        }
    }

    #[test]
    fn lengths_count_only_when_they_are_valid() {
        let mut bytes = [0xff; 24];
        bytes[10] = 0;
        let response = FcpResponse::parse(&bytes).unwrap();
        assert_eq!((response.residual, response.code, response.sense), (0, None, &[][..]));
        bytes[10] = RESID_OVER;
        assert_eq!(FcpResponse::parse(&bytes).unwrap().residual, i64::from(u32::MAX));
        bytes[10] = RESID_OVER | RESID_UNDER;
        assert_eq!(FcpResponse::parse(&bytes), Err(Error::Malformed(NAME, "residual")));
        bytes[10] = SNS_LEN_VALID;
        assert_eq!(FcpResponse::parse(&bytes), Err(Error::Truncated(NAME)));
        bytes[10] = RSP_LEN_VALID;
        assert_eq!(FcpResponse::parse(&bytes), Err(Error::Malformed(NAME, "length of response info")));
        for (len, right) in [(0, false), (4, true), (5, false), (8, true), (12, false)] {
            let mut bytes = [0; 36];
            (bytes[10], bytes[23], bytes[27]) = (RSP_LEN_VALID, len, fcp_code::FAILED);
            assert_eq!(FcpResponse::parse(&bytes).map(|read| read.code).ok(), right.then_some(Some(5)), "{len}");
        }
        let huge = FcpResponse { residual: 1 << 40, ..FcpResponse::default() };
        huge.emit(&mut bytes).unwrap();
        assert_eq!(FcpResponse::parse(&bytes).unwrap().residual, i64::from(u32::MAX));
    }
}
