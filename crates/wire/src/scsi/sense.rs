//! Sense data: the reason of a command's status.

use crate::Error;
use crate::field::{array_at, put, u32_at, values};
use std::fmt;

const NAME: &str = "sense data";

values! {
    /// Sense key (SPC-4, clause 4.5.6, table 43), a code of four bits.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct SenseKey(u8), name;
    NO_SENSE = 0, "No sense data." as "NO SENSE";
    RECOVERED_ERROR = 1, "The command succeeded after error recovery." as "RECOVERED ERROR";
    NOT_READY = 2, "The unit is not accessible now." as "NOT READY";
    MEDIUM_ERROR = 3, "The medium has an error." as "MEDIUM ERROR";
    HARDWARE_ERROR = 4, "The device has an error." as "HARDWARE ERROR";
    ILLEGAL_REQUEST = 5, "The command or its parameters are invalid." as "ILLEGAL REQUEST";
    UNIT_ATTENTION = 6, "An event of the unit that the initiator must be told." as "UNIT ATTENTION";
    DATA_PROTECT = 7, "The medium is write-protected." as "DATA PROTECT";
    COPY_ABORTED = 0xa, "A copy ended before its end." as "COPY ABORTED";
    ABORTED_COMMAND = 0xb, "The device aborted the command; a retry may succeed." as "ABORTED COMMAND";
    MISCOMPARE = 0xe, "The compared data differs." as "MISCOMPARE";
}

impl fmt::Display for SenseKey {
    /// Name in the standard.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "sense key {:x}", self.0),
        }
    }
}

/// Additional sense codes and their qualifiers (SPC-4, clause 4.5.6, table 44), as pairs.
pub mod asc {
    macro_rules! codes {
        ($($name:ident $code:tt $text:literal;)*) => {
            $(
                #[doc = concat!($text, ".")]
                pub const $name: (u8, u8) = $code;
            )*

            /// Name of a code in the standard.
            pub(super) fn text(code: (u8, u8)) -> Option<&'static str> {
                match code {
                    $($name => Some($text),)*
                    _ => None,
                }
            }
        };
    }

    codes! {
        NONE (0x00, 0x00) "NO ADDITIONAL SENSE INFORMATION";
        BECOMING_READY (0x04, 0x01) "LOGICAL UNIT IS IN PROCESS OF BECOMING READY";
        // The unit was stopped.
        STOPPED (0x04, 0x02) "LOGICAL UNIT NOT READY, INITIALIZING COMMAND REQUIRED";
        MANUAL_INTERVENTION (0x04, 0x03) "LOGICAL UNIT NOT READY, MANUAL INTERVENTION REQUIRED";
        FORMATTING (0x04, 0x04) "LOGICAL UNIT NOT READY, FORMAT IN PROGRESS";
        SANITIZING (0x04, 0x1b) "LOGICAL UNIT NOT READY, SANITIZE IN PROGRESS";
        WRITE_ERROR (0x0c, 0x00) "WRITE ERROR";
        THIRD_PARTY_FAILURE (0x0d, 0x01) "THIRD PARTY DEVICE FAILURE";
        COPY_TARGET_NOT_REACHABLE (0x0d, 0x02) "COPY TARGET DEVICE NOT REACHABLE";
        GUARD_CHECK (0x10, 0x01) "LOGICAL BLOCK GUARD CHECK FAILED";
        APPLICATION_TAG_CHECK (0x10, 0x02) "LOGICAL BLOCK APPLICATION TAG CHECK FAILED";
        REFERENCE_TAG_CHECK (0x10, 0x03) "LOGICAL BLOCK REFERENCE TAG CHECK FAILED";
        READ_ERROR (0x11, 0x00) "UNRECOVERED READ ERROR";
        PARAMETER_LENGTH (0x1a, 0x00) "PARAMETER LIST LENGTH ERROR";
        DEFECT_LIST (0x1c, 0x00) "DEFECT LIST NOT FOUND";
        MISCOMPARE (0x1d, 0x00) "MISCOMPARE DURING VERIFY OPERATION";
        OPCODE (0x20, 0x00) "INVALID COMMAND OPERATION CODE";
        LBA_OUT_OF_RANGE (0x21, 0x00) "LOGICAL BLOCK ADDRESS OUT OF RANGE";
        FIELD_IN_CDB (0x24, 0x00) "INVALID FIELD IN CDB";
        LUN (0x25, 0x00) "LOGICAL UNIT NOT SUPPORTED";
        FIELD_IN_PARAMETERS (0x26, 0x00) "INVALID FIELD IN PARAMETER LIST";
        INVALID_RELEASE (0x26, 0x04) "INVALID RELEASE OF PERSISTENT RESERVATION";
        TOO_MANY_TARGETS (0x26, 0x06) "TOO MANY TARGET DESCRIPTORS";
        TARGET_DESCRIPTOR (0x26, 0x07) "UNSUPPORTED TARGET DESCRIPTOR TYPE CODE";
        TOO_MANY_SEGMENTS (0x26, 0x08) "TOO MANY SEGMENT DESCRIPTORS";
        SEGMENT_DESCRIPTOR (0x26, 0x09) "UNSUPPORTED SEGMENT DESCRIPTOR TYPE CODE";
        INLINE_DATA (0x26, 0x0b) "INLINE DATA LENGTH EXCEEDED";
        WRITE_PROTECTED (0x27, 0x00) "WRITE PROTECTED";
        SOFTWARE_PROTECTED (0x27, 0x02) "LOGICAL UNIT SOFTWARE WRITE PROTECTED";
        NO_SPACE (0x27, 0x07) "SPACE ALLOCATION FAILED WRITE PROTECT";
        MEDIUM_CHANGED (0x28, 0x00) "NOT READY TO READY CHANGE, MEDIUM MAY HAVE CHANGED";
        RESET (0x29, 0x00) "POWER ON, RESET, OR BUS DEVICE RESET OCCURRED";
        POWER_ON (0x29, 0x01) "POWER ON OCCURRED";
        DEVICE_RESET (0x29, 0x03) "BUS DEVICE RESET FUNCTION OCCURRED";
        NEXUS_LOSS (0x29, 0x07) "I_T NEXUS LOSS OCCURRED";
        MODE_CHANGED (0x2a, 0x01) "MODE PARAMETERS CHANGED";
        LOG_CHANGED (0x2a, 0x02) "LOG PARAMETERS CHANGED";
        RESERVATIONS_PREEMPTED (0x2a, 0x03) "RESERVATIONS PREEMPTED";
        RESERVATIONS_RELEASED (0x2a, 0x04) "RESERVATIONS RELEASED";
        REGISTRATIONS_PREEMPTED (0x2a, 0x05) "REGISTRATIONS PREEMPTED";
        CAPACITY_CHANGED (0x2a, 0x09) "CAPACITY DATA HAS CHANGED";
        COMMAND_SEQUENCE (0x2c, 0x00) "COMMAND SEQUENCE ERROR";
        COMMANDS_CLEARED (0x2f, 0x00) "COMMANDS CLEARED BY ANOTHER INITIATOR";
        FORMAT_CORRUPTED (0x31, 0x00) "MEDIUM FORMAT CORRUPTED";
        FORMAT_FAILED (0x31, 0x01) "FORMAT COMMAND FAILED";
        SANITIZE_FAILED (0x31, 0x03) "SANITIZE COMMAND FAILED";
        UNIT_FAILURE (0x3e, 0x01) "LOGICAL UNIT FAILURE";
        SELF_TEST_FAILED (0x3e, 0x03) "LOGICAL UNIT FAILED SELF-TEST";
        INQUIRY_CHANGED (0x3f, 0x03) "INQUIRY DATA HAS CHANGED";
        IDENTIFIER_CHANGED (0x3f, 0x05) "DEVICE IDENTIFIER CHANGED";
        ECHO_OVERWRITTEN (0x3f, 0x0f) "ECHO BUFFER OVERWRITTEN";
        LUNS_CHANGED (0x3f, 0x0e) "REPORTED LUNS DATA HAS CHANGED";
        TARGET_FAILURE (0x44, 0x00) "INTERNAL TARGET FAILURE";
        INFORMATION_UNIT (0x0e, 0x03) "INVALID FIELD IN COMMAND INFORMATION UNIT";
        SAVING_PARAMETERS (0x39, 0x00) "SAVING PARAMETERS NOT SUPPORTED";
        INVALID_MESSAGE (0x49, 0x00) "INVALID MESSAGE ERROR";
        REGISTRATION_RESOURCES (0x55, 0x04) "INSUFFICIENT REGISTRATION RESOURCES";
    }
}

/// Position of an invalid field of a command or of its parameters (SPC-4, clause 4.5.2.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldPointer {
    /// True for the command descriptor block; otherwise the parameter list.
    pub in_cdb: bool,
    /// The field's first byte.
    pub byte: u16,
    /// Its highest bit in that byte, if it is not a whole byte.
    pub bit: Option<u8>,
}

impl FieldPointer {
    fn bytes(self) -> [u8; 3] {
        let [high, low] = self.byte.to_be_bytes();
        let bit = self.bit.map_or(0, |bit| 0x08 | bit & 7);
        [0x80 | u8::from(self.in_cdb) << 6 | bit, high, low]
    }

    fn parse(bytes: [u8; 3]) -> Option<Self> {
        (bytes[0] & 0x80 != 0).then(|| Self {
            in_cdb: bytes[0] & 0x40 != 0,
            byte: u16::from_be_bytes([bytes[1], bytes[2]]),
            bit: (bytes[0] & 8 != 0).then_some(bytes[0] & 7),
        })
    }
}

/// Offsets of sense data in fixed format (SPC-4, clause 4.5.3).
mod fixed_field {
    pub(super) const RESPONSE_CODE: usize = 0;
    pub(super) const KEY: usize = 2;
    pub(super) const INFORMATION: usize = 3;
    pub(super) const ADDITIONAL_LENGTH: usize = 7;
    pub(super) const CODE: usize = 12;
    pub(super) const QUALIFIER: usize = 13;
    pub(super) const SPECIFIC: usize = 15;
}

/// Offsets of sense data in descriptor format (SPC-4, clause 4.5.2).
mod descriptor_field {
    pub(super) const RESPONSE_CODE: usize = 0;
    pub(super) const KEY: usize = 1;
    pub(super) const CODE: usize = 2;
    pub(super) const QUALIFIER: usize = 3;
    pub(super) const ADDITIONAL_LENGTH: usize = 7;
    pub(super) const DESCRIPTORS: usize = 8;
}

/// Sense data, in either format (SPC-4, clauses 4.5.2 and 4.5.3).
///
/// ```text
///  fixed format                              descriptor format
///  0  VALID, response code 0x70              0  response code 0x72
///  2  sense key                              1  sense key
///  3  information (4 bytes)                  2  additional sense code, qualifier
///  7  additional length (10)                 7  additional length
/// 12  additional sense code, qualifier       8  descriptors: 00 information (12 bytes),
/// 15  sense key specific (3 bytes)                           02 sense key specific (8 bytes)
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sense {
    /// Sense key.
    pub key: SenseKey,
    /// Additional sense code and its qualifier, see [`asc`].
    pub code: (u8, u8),
    /// INFORMATION field, defined by the command: mostly the logical block at which it stopped.
    pub information: Option<u64>,
    /// Field pointer: the invalid field of the CDB or parameter list.
    pub field: Option<FieldPointer>,
    /// Progress of what the unit is busy with, in 65536ths (SPC-4, clause 4.5.2.4.4).
    pub progress: Option<u16>,
    /// The error belongs to an earlier command than the one it came with (response codes 0x71 and 0x73).
    pub deferred: bool,
}

impl Sense {
    /// Length in bytes of fixed format.
    pub const FIXED_LEN: usize = 18;
    /// Longest output of [`descriptors`](Self::descriptors) in bytes.
    pub const DESCRIPTORS_LEN: usize = 28;

    /// Sense data without information and field pointer.
    #[must_use]
    pub const fn new(key: SenseKey, code: (u8, u8)) -> Self {
        Self { key, code, information: None, field: None, progress: None, deferred: false }
    }

    /// Adds the INFORMATION field.
    #[must_use]
    pub const fn at(self, information: u64) -> Self {
        Self { information: Some(information), ..self }
    }

    /// Adds a progress indication.
    #[must_use]
    pub const fn progressed(self, progress: u16) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// INVALID FIELD IN CDB with a field pointer.
    #[must_use]
    pub const fn invalid_field(byte: u16, bit: Option<u8>) -> Self {
        let field = Some(FieldPointer { in_cdb: true, byte, bit });
        Self { field, ..Self::new(SenseKey::ILLEGAL_REQUEST, asc::FIELD_IN_CDB) }
    }

    /// INVALID FIELD IN PARAMETER LIST with a field pointer.
    #[must_use]
    pub const fn invalid_parameter(byte: u16, bit: Option<u8>) -> Self {
        let field = Some(FieldPointer { in_cdb: false, byte, bit });
        Self { field, ..Self::new(SenseKey::ILLEGAL_REQUEST, asc::FIELD_IN_PARAMETERS) }
    }

    /// True if the unit that answered may be another one than before, or of another size: LOGICAL UNIT NOT SUPPORTED, and each
    /// unit attention but those that are about something else (SPC-4, table 44): mode and log parameters, reservations, access
    /// states, commands that others have cleared, limits that were reached. Codes that are not known are taken for one.
    #[must_use]
    pub const fn questions_identity(&self) -> bool {
        match (self.key, self.code) {
            (SenseKey::ILLEGAL_REQUEST, asc::LUN) => true,
            (SenseKey::UNIT_ATTENTION, asc::CAPACITY_CHANGED) => true,
            (SenseKey::UNIT_ATTENTION, (0x2a, 0x01..) | (0x2f | 0x38 | 0x5d, _)) => false,
            (SenseKey::UNIT_ATTENTION, _) => true,
            _ => false,
        }
    }

    /// Sense key specific bytes, of which there is one meaning at a time.
    fn specific(&self) -> Option<[u8; 3]> {
        let progress = self.progress.map(|progress| {
            let [high, low] = progress.to_be_bytes();
            [0x80, high, low]
        });
        self.field.map(FieldPointer::bytes).or(progress)
    }

    /// Serializes in fixed format. Information of more than 32 bits is left out, because it does not fit (SPC-4, clause
    /// 4.5.3).
    #[must_use]
    pub fn fixed(&self) -> [u8; Self::FIXED_LEN] {
        let mut bytes = [0; Self::FIXED_LEN];
        bytes[fixed_field::RESPONSE_CODE] = 0x70 | u8::from(self.deferred);
        if let Some(information) = self.information.and_then(|information| u32::try_from(information).ok()) {
            bytes[fixed_field::RESPONSE_CODE] |= 0x80;
            put(&mut bytes, fixed_field::INFORMATION, &information.to_be_bytes());
        }
        bytes[fixed_field::KEY] = self.key.0 & 0xf;
        bytes[fixed_field::ADDITIONAL_LENGTH] = 10;
        bytes[fixed_field::CODE] = self.code.0;
        bytes[fixed_field::QUALIFIER] = self.code.1;
        if let Some(specific) = self.specific() {
            put(&mut bytes, fixed_field::SPECIFIC, &specific);
        }
        bytes
    }

    /// Serializes in descriptor format; the second value is the length in bytes.
    #[must_use]
    pub fn descriptors(&self) -> ([u8; Self::DESCRIPTORS_LEN], usize) {
        let mut bytes = [0; Self::DESCRIPTORS_LEN];
        bytes[descriptor_field::RESPONSE_CODE] = 0x72 | u8::from(self.deferred);
        bytes[descriptor_field::KEY] = self.key.0 & 0xf;
        bytes[descriptor_field::CODE] = self.code.0;
        bytes[descriptor_field::QUALIFIER] = self.code.1;
        let mut len = descriptor_field::DESCRIPTORS;
        if let Some(information) = self.information {
            bytes[len..len + 4].copy_from_slice(&[0, 10, 0x80, 0]);
            bytes[len + 4..len + 12].copy_from_slice(&information.to_be_bytes());
            len += 12;
            bytes[descriptor_field::ADDITIONAL_LENGTH] += 12;
        }
        if let Some(specific) = self.specific() {
            bytes[len..len + 2].copy_from_slice(&[2, 6]);
            bytes[len + 4..len + 7].copy_from_slice(&specific);
            len += 8;
            bytes[descriptor_field::ADDITIONAL_LENGTH] += 8;
        }
        (bytes, len)
    }

    /// Parses either format; unknown descriptors are ignored, and fixed data may be cut after the sense key, as by an
    /// allocation length.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the sense key is missing, [`Error::Malformed`] when the response code is not 0x70 to
    /// 0x73.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let code = bytes.first().ok_or(Error::Truncated(NAME))? & 0x7f;
        let deferred = code & 1 != 0;
        match code {
            0x70 | 0x71 => {
                let mut fixed = [0; Self::FIXED_LEN];
                let there = bytes.len().min(fixed.len());
                if there < 3 {
                    return Err(Error::Truncated(NAME));
                }
                fixed[..there].copy_from_slice(&bytes[..there]);
                let key = SenseKey(fixed[fixed_field::KEY] & 0xf);
                // Only ILLEGAL REQUEST has a field pointer there (SPC-4, table 40).
                let field = FieldPointer::parse(array_at(&fixed, fixed_field::SPECIFIC))
                    .filter(|_| key == SenseKey::ILLEGAL_REQUEST);
                let information = (fixed[fixed_field::RESPONSE_CODE] & 0x80 != 0 && there >= 7)
                    .then(|| u64::from(u32_at(&fixed, fixed_field::INFORMATION)));
                Ok(Self {
                    key,
                    code: (fixed[fixed_field::CODE], fixed[fixed_field::QUALIFIER]),
                    information,
                    field,
                    progress: progress(key, array_at(&fixed, fixed_field::SPECIFIC)),
                    deferred,
                })
            }
            0x72 | 0x73 => {
                if bytes.len() < 8 {
                    return Err(Error::Truncated(NAME));
                }
                let key = SenseKey(bytes[descriptor_field::KEY] & 0xf);
                let mut sense = Self {
                    deferred,
                    ..Self::new(key, (bytes[descriptor_field::CODE], bytes[descriptor_field::QUALIFIER]))
                };
                let end = bytes
                    .len()
                    .min(descriptor_field::DESCRIPTORS + usize::from(bytes[descriptor_field::ADDITIONAL_LENGTH]));
                let mut rest = &bytes[descriptor_field::DESCRIPTORS..end];
                while let [kind, len, after @ ..] = rest {
                    let Some((body, next)) = after.split_at_checked(usize::from(*len)) else { break };
                    match kind {
                        0 if body.len() >= 10 && body[0] & 0x80 != 0 => {
                            sense.information = Some(u64::from_be_bytes(array_at(body, 2)));
                        }
                        2 if body.len() >= 6 && key == SenseKey::ILLEGAL_REQUEST => {
                            sense.field = FieldPointer::parse(array_at(body, 2));
                        }
                        2 if body.len() >= 6 => sense.progress = progress(key, array_at(body, 2)),
                        _ => {}
                    }
                    rest = next;
                }
                Ok(sense)
            }
            _ => Err(Error::Malformed(NAME, "response code")),
        }
    }
}

/// Progress in sense key specific bytes: only these two keys have one there (SPC-4, table 40).
fn progress(key: SenseKey, specific: [u8; 3]) -> Option<u16> {
    let valid = matches!(key, SenseKey::NO_SENSE | SenseKey::NOT_READY) && specific[0] & 0x80 != 0;
    valid.then(|| u16::from_be_bytes([specific[1], specific[2]]))
}

impl fmt::Display for Sense {
    /// Text for logs: ILLEGAL REQUEST, LOGICAL BLOCK ADDRESS OUT OF RANGE (05/21/00).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, code, .. } = self;
        if self.deferred {
            f.write_str("deferred: ")?;
        }
        write!(f, "{key}, ")?;
        if let Some(text) = asc::text(*code) {
            write!(f, "{text} ")?;
        }
        write!(f, "({:02x}/{:02x}/{:02x})", key.0, code.0, code.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_format_is_as_spc_4_clause_4_5_3_lays_it_out() {
        let sense = Sense::invalid_field(0x0102, Some(3));
        assert_eq!(sense.fixed(), [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0, 0, 0xcb, 1, 2]);
        assert_eq!(Sense::parse(&sense.fixed()), Ok(sense));
        let sense = Sense::new(SenseKey::MEDIUM_ERROR, asc::READ_ERROR).at(0x0102_0304);
        assert_eq!(sense.fixed()[..8], [0xf0, 0, 3, 1, 2, 3, 4, 10]);
        assert_eq!(Sense::parse(&sense.fixed()), Ok(sense));
        let far = sense.at(1 << 32);
        assert_eq!(far.fixed()[0], 0x70, "VALID is off when the information does not fit");
        assert_eq!(Sense::parse(&[0x70, 0, 6]).unwrap().key, SenseKey::UNIT_ATTENTION, "cut short");
    }

    #[test]
    fn descriptor_format_is_as_spc_4_clause_4_5_2_lays_it_out() {
        let sense = Sense::invalid_parameter(8, None).at(1 << 40);
        let (bytes, len) = sense.descriptors();
        assert_eq!(bytes[..8], [0x72, 5, 0x26, 0, 0, 0, 0, 20]);
        assert_eq!(bytes[8..20], [0, 10, 0x80, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[20..28], [2, 6, 0, 0, 0x80, 0, 8, 0]);
        assert_eq!(len, 28);
        assert_eq!(Sense::parse(&bytes[..len]), Ok(sense));
        let deferred = Sense { deferred: true, ..Sense::new(SenseKey::NO_SENSE, asc::NONE) };
        let (bytes, len) = deferred.descriptors();
        assert_eq!((bytes[0], len, Sense::parse(&bytes[..len])), (0x73, 8, Ok(deferred)));
    }

    /// SPC-4, table 40: the same bytes hold a field's position, a progress or a retry count.
    #[test]
    fn only_an_illegal_request_points_at_a_field() {
        let field = Some(FieldPointer { in_cdb: true, byte: 7, bit: None });
        for key in (0..16).map(SenseKey) {
            let sense = Sense { field, ..Sense::new(key, asc::NONE) };
            let (bytes, len) = sense.descriptors();
            let wanted = field.filter(|_| key == SenseKey::ILLEGAL_REQUEST);
            for read in [Sense::parse(&sense.fixed()), Sense::parse(&bytes[..len])] {
                assert_eq!(read.unwrap().field, wanted, "{key:?}");
            }
        }
    }

    /// SPC-4, clause 4.5.2.4.4.
    #[test]
    fn progress_is_told_in_both_formats() {
        let sense = Sense::new(SenseKey::NOT_READY, asc::FORMATTING).progressed(0x8001);
        assert_eq!(sense.fixed()[12..], [4, 4, 0, 0x80, 0x80, 1]);
        let (bytes, len) = sense.descriptors();
        assert_eq!(bytes[8..len], [2, 6, 0, 0, 0x80, 0x80, 1, 0]);
        assert_eq!((Sense::parse(&sense.fixed()), Sense::parse(&bytes[..len])), (Ok(sense), Ok(sense)));
    }

    #[test]
    fn it_is_told_in_the_standards_words() {
        let sense = Sense::new(SenseKey::ILLEGAL_REQUEST, asc::LBA_OUT_OF_RANGE);
        assert_eq!(sense.to_string(), "ILLEGAL REQUEST, LOGICAL BLOCK ADDRESS OUT OF RANGE (05/21/00)");
        let sense = Sense { deferred: true, ..Sense::new(SenseKey(9), (0x80, 0xff)) };
        assert_eq!(sense.to_string(), "deferred: sense key 9, (09/80/ff)");
    }

    /// SPC-4, table 44.
    #[test]
    fn what_may_be_another_unit_is_told_from_other_news() {
        let attention = |code| Sense::new(SenseKey::UNIT_ATTENTION, code).questions_identity();
        for code in [
            asc::LUNS_CHANGED,
            asc::INQUIRY_CHANGED,
            asc::IDENTIFIER_CHANGED,
            asc::MEDIUM_CHANGED,
            asc::CAPACITY_CHANGED,
            asc::RESET,
            asc::POWER_ON,
            asc::DEVICE_RESET,
            asc::NEXUS_LOSS,
            (0x2a, 0x00),
            (0x3f, 0x02),
            (0xff, 0xff),
        ] {
            assert!(attention(code), "{code:?}");
        }
        for code in [
            asc::MODE_CHANGED,
            asc::LOG_CHANGED,
            asc::RESERVATIONS_PREEMPTED,
            asc::RESERVATIONS_RELEASED,
            asc::REGISTRATIONS_PREEMPTED,
            (0x2a, 0x06),
            asc::COMMANDS_CLEARED,
            (0x38, 0x07),
        ] {
            assert!(!attention(code), "{code:?}");
        }
        assert!(Sense::new(SenseKey::ILLEGAL_REQUEST, asc::LUN).questions_identity());
        assert!(!Sense::new(SenseKey::ILLEGAL_REQUEST, asc::FIELD_IN_CDB).questions_identity());
        assert!(!Sense::new(SenseKey::NOT_READY, asc::LUNS_CHANGED).questions_identity());
    }

    #[test]
    fn what_the_linux_target_sent_is_read() {
        // CHECK CONDITION of LIO to REPORT SUPPORTED OPERATION CODES (capture 02, frame 82).
        let bytes = [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0];
        assert_eq!(Sense::parse(&bytes), Ok(Sense::new(SenseKey::ILLEGAL_REQUEST, asc::OPCODE)));
        for bad in [&[][..], &[0x70, 0], &[0x72, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(Sense::parse(bad), Err(Error::Truncated(NAME)));
        }
        assert_eq!(Sense::parse(&[0; 18]), Err(Error::Malformed(NAME, "response code")));
    }
}
