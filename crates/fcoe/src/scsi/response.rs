//! Outcomes of commands.

use super::Response;
use linerate_block::BackendError;
use linerate_wire::scsi::{Cdb, CdbError, Sense, SenseKey, asc};

impl Response {
    /// GOOD.
    pub const GOOD: u8 = 0x00;
    /// CHECK CONDITION: there is sense data.
    pub const CHECK_CONDITION: u8 = 0x02;
    /// RESERVATION CONFLICT.
    pub const RESERVATION_CONFLICT: u8 = 0x18;
    /// TASK SET FULL: to be retried when another command has ended.
    pub const TASK_SET_FULL: u8 = 0x28;
    /// TASK ABORTED: another initiator ended the task (SAM-5, clause 5.3.1).
    pub const TASK_ABORTED: u8 = 0x40;

    /// GOOD after `wanted` bytes.
    #[must_use]
    pub const fn good(wanted: u64) -> Self {
        Self { status: Self::GOOD, sense: [0; 32], sense_len: 0, wanted }
    }

    /// A status without sense data.
    #[must_use]
    pub const fn status(status: u8) -> Self {
        Self { status, ..Self::good(0) }
    }

    /// Becomes a copy of `other`, field by field, and of its sense data only what there is: loads that are wider than the
    /// stores just before them wait until those have reached the cache, the data of the last WRITE among them.
    #[inline]
    pub(crate) fn store(&mut self, other: &Self) {
        (self.status, self.sense_len, self.wanted) = (other.status, other.sense_len, other.wanted);
        if other.sense_len > 0 {
            self.sense = other.sense;
        }
    }

    /// CHECK CONDITION with sense data in descriptor format, which keeps all of it; it leaves the unit in the format that
    /// the control mode page states (D_SENSE).
    #[must_use]
    pub fn check(sense: &Sense) -> Self {
        let mut response = Self::status(Self::CHECK_CONDITION);
        let (bytes, len) = sense.descriptors();
        response.sense[..bytes.len()].copy_from_slice(&bytes);
        response.sense_len = u8::try_from(len).unwrap_or(0);
        response
    }

    /// The response with its sense data in fixed format, if there is any.
    #[must_use]
    pub(super) fn in_fixed_format(mut self) -> Self {
        if let Some(sense) = self.parsed_sense() {
            let bytes = sense.fixed();
            self.sense = [0; 32];
            self.sense[..bytes.len()].copy_from_slice(&bytes);
            self.sense_len = u8::try_from(bytes.len()).unwrap_or(0);
        }
        self
    }

    /// CHECK CONDITION, ILLEGAL REQUEST.
    #[must_use]
    pub fn illegal(code: (u8, u8)) -> Self {
        Self::check(&Sense::new(SenseKey::ILLEGAL_REQUEST, code))
    }

    /// CHECK CONDITION, INVALID FIELD IN CDB, with the field's position.
    #[must_use]
    pub fn invalid_field(byte: u16, bit: Option<u8>) -> Self {
        Self::check(&Sense::invalid_field(byte, bit))
    }

    /// Parsed sense data; None if there is none or it is malformed.
    #[must_use]
    pub fn parsed_sense(&self) -> Option<Sense> {
        Sense::parse(self.sense.get(..usize::from(self.sense_len))?).ok()
    }
}

/// Response for a device that failed to read or write at `lba`.
pub(super) fn failure(error: BackendError, writing: bool, lba: u64) -> Response {
    let sense = match error {
        BackendError::Medium if writing => Sense::new(SenseKey::MEDIUM_ERROR, asc::WRITE_ERROR).at(lba),
        BackendError::Medium => Sense::new(SenseKey::MEDIUM_ERROR, asc::READ_ERROR).at(lba),
        BackendError::NoSpace => Sense::new(SenseKey::DATA_PROTECT, asc::NO_SPACE),
        BackendError::Gone => Sense::new(SenseKey::HARDWARE_ERROR, asc::UNIT_FAILURE),
        // Initiators retry it for as long as it lasts.
        BackendError::NotReady => Sense::new(SenseKey::NOT_READY, asc::BECOMING_READY),
        // Initiators give it up at once.
        BackendError::Replaced => Sense::new(SenseKey::NOT_READY, asc::MANUAL_INTERVENTION),
        BackendError::Unsupported => Sense::new(SenseKey::HARDWARE_ERROR, asc::TARGET_FAILURE),
        BackendError::ReadOnly => Sense::new(SenseKey::DATA_PROTECT, asc::WRITE_PROTECTED),
    };
    Response::check(&sense)
}

/// The parsed command, or the response to a malformed one.
pub(super) fn parse(cdb: &[u8]) -> Result<Cdb, Response> {
    Cdb::parse(cdb).map_err(|error: CdbError| Response::check(&error.sense()))
}
