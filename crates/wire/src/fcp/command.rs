//! FCP_CMND: a command or a task management function.

use crate::Error;
use crate::field::{array_at, put, u32_at, values};

const NAME: &str = "fcp command";

values! {
    /// Task attributes: order of a command's execution (FCP-4, clause 9.2.2).
    pub mod fcp_attribute: u8;
    SIMPLE = 0, "SIMPLE: in any order.";
    HEAD_OF_QUEUE = 1, "HEAD OF QUEUE: before all others.";
    ORDERED = 2, "ORDERED: after all before it.";
    ACA = 4, "ACA: under auto contingent allegiance.";
}

values! {
    /// Task management flags: at most one is set (FCP-4, clause 9.2.2).
    pub mod fcp_function: u8;
    ABORT_TASK_SET = 0x02, "ABORT TASK SET.";
    CLEAR_TASK_SET = 0x04, "CLEAR TASK SET.";
    LOGICAL_UNIT_RESET = 0x10, "LOGICAL UNIT RESET.";
    TARGET_RESET = 0x20, "TARGET RESET.";
    CLEAR_ACA = 0x40, "CLEAR ACA.";
}

/// Offsets of the fields before the CDB, and of the CDB (FCP-4, clause 9.2).
mod field {
    pub(super) const LUN: usize = 0;
    pub(super) const REFERENCE: usize = 8;
    pub(super) const PRIORITY_AND_ATTRIBUTE: usize = 9;
    pub(super) const FUNCTION: usize = 10;
    pub(super) const ADDED_AND_DIRECTION: usize = 11;
    pub(super) const CDB: usize = 12;
}

/// The FCP_CMND information unit (FCP-4, clause 9.2).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                          logical unit …                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       … number, 8 bytes                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |      CRN      |.|prio |attrib.|   task mgmt   | add. CDB  |R|W|
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |          CDB, 16 bytes and as many words as are added …       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                            FCP_DL                             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |         FCP_BIDIRECTIONAL_READ_DL, when both R and W          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FcpCommand<'a> {
    /// The logical unit.
    pub lun: [u8; 8],
    /// The command reference number; zero when commands are not numbered.
    pub reference: u8,
    /// The priority, 0 to 15.
    pub priority: u8,
    /// Task attribute, see [`fcp_attribute`]; 0 to 7.
    pub attribute: u8,
    /// Task management function, see [`fcp_function`]; zero for a command. With a function, the CDB is ignored.
    pub function: u8,
    /// RDDATA: the initiator receives data.
    pub read: bool,
    /// WRDATA: the initiator sends data.
    pub write: bool,
    /// Command descriptor block: 16 bytes and up to 63 words more.
    pub cdb: &'a [u8],
    /// FCP_DL: most bytes of data; of data out, when both directions are used.
    pub data_len: u32,
    /// FCP_BIDIRECTIONAL_READ_DL: most bytes of data in, when both directions are used; else zero and absent from the
    /// frame.
    pub bidirectional_read_len: u32,
}

impl<'a> FcpCommand<'a> {
    /// Length in bytes of a unit with a CDB of 16 bytes and one direction of data.
    pub const LEN: usize = 32;
    /// Length in bytes of the longest unit.
    pub const MAX_LEN: usize = Self::LEN + 63 * 4 + 4;

    /// Parses a unit: the whole payload of its frame.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than its length fields state, [`Error::Malformed`] when it is longer.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() < Self::LEN {
            return Err(Error::Truncated(NAME));
        }
        let flags = bytes[field::ADDED_AND_DIRECTION];
        let (read, write) = (flags & 2 != 0, flags & 1 != 0);
        let cdb_end = field::CDB + 16 + usize::from(flags >> 2) * 4;
        let end = cdb_end + if read && write { 8 } else { 4 };
        if bytes.len() < end {
            return Err(Error::Truncated(NAME));
        }
        if bytes.len() > end {
            return Err(Error::Malformed(NAME, "length"));
        }
        Ok(Self {
            lun: array_at(bytes, field::LUN),
            reference: bytes[field::REFERENCE],
            priority: bytes[field::PRIORITY_AND_ATTRIBUTE] >> 3 & 0x0f,
            attribute: bytes[field::PRIORITY_AND_ATTRIBUTE] & 0x07,
            function: bytes[field::FUNCTION],
            read,
            write,
            cdb: &bytes[field::CDB..cdb_end],
            data_len: u32_at(bytes, cdb_end),
            bidirectional_read_len: if read && write { u32_at(bytes, cdb_end + 4) } else { 0 },
        })
    }

    /// Bytes that [`emit`](Self::emit) writes.
    #[must_use]
    pub fn buffer_len(&self) -> usize {
        field::CDB + self.cdb_words() * 4 + if self.read && self.write { 8 } else { 4 }
    }

    /// Writes the unit to the front of `buffer`; a CDB shorter than 16 bytes, or not a whole number of words, is padded
    /// with zeros. Returns the number of bytes written.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it does not fit, [`Error::TooLarge`] when the CDB is longer than 268 bytes, the
    /// priority above 15 or the attribute above 7; nothing is written then.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        let added = u8::try_from(self.cdb_words() - 4).ok().filter(|words| *words < 64);
        let added = added.ok_or(Error::TooLarge(NAME, "command descriptor block"))?;
        if self.priority > 0x0f || self.attribute > 0x07 {
            return Err(Error::TooLarge(NAME, "priority or attribute"));
        }
        let len = self.buffer_len();
        let bytes = buffer.get_mut(..len).ok_or(Error::Truncated(NAME))?;
        bytes.fill(0);
        put(bytes, field::LUN, &self.lun);
        let flags = added << 2 | u8::from(self.read) << 1 | u8::from(self.write);
        put(bytes, field::REFERENCE, &[self.reference, self.priority << 3 | self.attribute, self.function, flags]);
        put(bytes, field::CDB, self.cdb);
        let cdb_end = field::CDB + self.cdb_words() * 4;
        put(bytes, cdb_end, &self.data_len.to_be_bytes());
        if self.read && self.write {
            put(bytes, cdb_end + 4, &self.bidirectional_read_len.to_be_bytes());
        }
        Ok(len)
    }

    fn cdb_words(&self) -> usize {
        self.cdb.len().div_ceil(4).max(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_bidirectional_command_is_read_as_it_was_written() {
        let cdb = [0x7f; 32];
        let command = FcpCommand {
            lun: [0, 3, 0, 0, 0, 0, 0, 0],
            reference: 9,
            priority: 15,
            attribute: fcp_attribute::ORDERED,
            function: 0,
            read: true,
            write: true,
            cdb: &cdb,
            data_len: 0x0102_0304,
            bidirectional_read_len: 512,
        };
        let mut bytes = [0xa5; FcpCommand::MAX_LEN];
        let len = command.emit(&mut bytes).unwrap();
        assert_eq!((len, command.buffer_len()), (12 + 32 + 8, 12 + 32 + 8));
        assert_eq!(bytes[8..12], [9, 0x7a, 0, 0x13]);
        assert_eq!(FcpCommand::parse(&bytes[..len]), Ok(command));
        bytes[9] |= 0x80;
        assert_eq!(FcpCommand::parse(&bytes[..len]), Ok(command), "the bit above the priority is reserved");
        assert_eq!(FcpCommand::parse(&bytes[..len - 1]), Err(Error::Truncated(NAME)));
        assert_eq!(FcpCommand::parse(&bytes[..=len]), Err(Error::Malformed(NAME, "length")));
        assert_eq!(FcpCommand::parse(&bytes[..31]), Err(Error::Truncated(NAME)));
        assert_eq!(command.emit(&mut bytes[..len - 1]), Err(Error::Truncated(NAME)));
    }

    #[test]
    fn what_does_not_fit_its_field_is_not_written() {
        let command = FcpCommand::parse(&[0; 32]).unwrap();
        let mut bytes = [0xa5; 600];
        for bad in [
            FcpCommand { cdb: &[0; 269], ..command },
            FcpCommand { priority: 16, ..command },
            FcpCommand { attribute: 8, ..command },
        ] {
            assert!(matches!(bad.emit(&mut bytes), Err(Error::TooLarge(NAME, _))));
        }
        assert_eq!(bytes, [0xa5; 600]);
        assert_eq!(FcpCommand { cdb: &[0x12, 0, 0, 0, 36, 0], ..command }.emit(&mut bytes), Ok(32));
        assert_eq!(bytes[12..28], [0x12, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(FcpCommand { cdb: &[1; 268], ..command }.emit(&mut bytes), Ok(12 + 268 + 4));
    }
}
