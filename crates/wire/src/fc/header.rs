//! The FC-2 frame header.

use super::FcId;
use crate::field::{U24, newtype, record};
use crate::{Error, OxId, RxId};

const NAME: &str = "fc";

/// Routing control: the kind of frame (FC-FS-3, clause 12.3).
pub mod r_ctl {
    /// Solicited data: FCP_DATA.
    pub const DATA: u8 = 0x01;
    /// Data descriptor: FCP_XFER_RDY.
    pub const DATA_DESCRIPTOR: u8 = 0x05;
    /// Unsolicited command: FCP_CMND.
    pub const COMMAND: u8 = 0x06;
    /// Command status: FCP_RSP.
    pub const STATUS: u8 = 0x07;
    /// Solicited control: FCP_CONF.
    pub const CONFIRM: u8 = 0x03;
    /// Request of an extended link service.
    pub const ELS_REQUEST: u8 = 0x22;
    /// Reply of an extended link service.
    pub const ELS_REPLY: u8 = 0x23;
    /// Request of an FC-4 link service (SRR).
    pub const FC4_LS_REQUEST: u8 = 0x32;
    /// Reply of an FC-4 link service.
    pub const FC4_LS_REPLY: u8 = 0x33;
    /// Abort sequence.
    pub const BLS_ABTS: u8 = 0x81;
    /// Basic accept.
    pub const BLS_BA_ACC: u8 = 0x84;
    /// Basic reject.
    pub const BLS_BA_RJT: u8 = 0x85;
}

/// Frame control bits (FC-FS-3, clause 12.7).
pub mod f_ctl {
    /// The sender is the exchange's responder.
    pub const EXCHANGE_RESPONDER: u32 = 0x80_0000;
    /// The sender is the sequence's recipient.
    pub const SEQUENCE_RECIPIENT: u32 = 0x40_0000;
    /// The exchange's first sequence.
    pub const FIRST_SEQUENCE: u32 = 0x20_0000;
    /// The exchange's last sequence.
    pub const LAST_SEQUENCE: u32 = 0x10_0000;
    /// The sequence's last frame.
    pub const END_SEQUENCE: u32 = 0x08_0000;
    /// The initiative to send the next sequence passes to the receiver.
    pub const SEQUENCE_INITIATIVE: u32 = 0x01_0000;
    /// The parameter is a relative offset.
    pub const RELATIVE_OFFSET: u32 = 0x00_0008;
    /// Number of fill bytes in the last word of the payload.
    pub const FILL: u32 = 0x00_0003;
}

/// Protocol of the data (FC-FS-3, clause 12.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FcType(pub u8);

impl FcType {
    /// Basic link services.
    pub const BLS: Self = Self(0x00);
    /// Extended link services.
    pub const ELS: Self = Self(0x01);
    /// SCSI.
    pub const FCP: Self = Self(0x08);
}

newtype!(FcType(u8));

record! {
    /// The header of an FC-2 frame (FC-FS-3, clause 12).
    FcHeader[24] parse bytes;
    0 r_ctl: u8 = "Routing control: one of [`r_ctl`].";
    1 d_id: FcId = "Destination N_Port_ID.";
    4 cs_ctl: u8 = "Class specific control.";
    5 s_id: FcId = "Source N_Port_ID.";
    8 fc_type: FcType = "Protocol of the data.";
    9 f_ctl: u32 as U24 = "Frame control: bits of [`f_ctl`], 24 of them.";
    12 seq_id: u8 = "Sequence identifier.";
    13 df_ctl: u8 = "Data field control: optional headers.";
    14 seq_cnt: u16 = "Number of the frame in its sequence, from 0.";
    16 ox_id: OxId = "Exchange identifier of the originator.";
    18 rx_id: RxId = "Exchange identifier of the responder; unassigned before its first frame.";
    20 parameter: u32 = "Relative offset of the payload, if [`f_ctl::RELATIVE_OFFSET`] is set.";
}

impl FcHeader {
    /// Number of fill bytes in the payload's last word.
    #[must_use]
    pub fn fill(&self) -> usize {
        usize::from((self.f_ctl & f_ctl::FILL).to_be_bytes()[3])
    }

    /// True if all these bits of frame control are set.
    #[must_use]
    pub fn has(&self, bits: u32) -> bool {
        self.f_ctl & bits == bits
    }

    /// True if the sender is the exchange's responder.
    #[must_use]
    pub fn from_responder(&self) -> bool {
        self.has(f_ctl::EXCHANGE_RESPONDER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_fields_are_the_same_header() {
        // FCP_CMND of the Linux kernel.
        let bytes = [
            0x06, 0x00, 0x0e, 0x02, 0x00, 0x00, 0x0e, 0x01, 0x08, 0x29, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05,
            0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
        ];
        let header = FcHeader::parse(&bytes).unwrap();
        assert_eq!((header.d_id, header.s_id), (FcId::new(0x0e02), FcId::new(0x0e01)));
        assert_eq!((header.fc_type, header.ox_id, header.rx_id), (FcType::FCP, OxId(5), RxId::UNASSIGNED));
        assert!(header.has(f_ctl::FIRST_SEQUENCE | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE));
        assert!(!header.from_responder() && header.fill() == 0);
        assert_eq!(header.bytes(), bytes);
        assert_eq!(FcHeader::parse(&bytes[..23]), Err(Error::Truncated("fc")));
    }
}
