//! The FC-2 frame header.

use super::FcId;
use crate::field::{U24, record, values};
use crate::{Error, OxId, RxId};

const NAME: &str = "fc";

values! {
    /// Routing control: the kind of frame (FC-FS-3, clause 12.3).
    pub mod r_ctl: u8;
    DATA = 0x01, "Solicited data: FCP_DATA.";
    DATA_DESCRIPTOR = 0x05, "Data descriptor: FCP_XFER_RDY.";
    COMMAND = 0x06, "Unsolicited command: FCP_CMND.";
    STATUS = 0x07, "Command status: FCP_RSP.";
    CONFIRM = 0x03, "Solicited control: FCP_CONF.";
    ELS_REQUEST = 0x22, "Request of an extended link service.";
    ELS_REPLY = 0x23, "Reply of an extended link service.";
    FC4_LS_REQUEST = 0x32, "Request of an FC-4 link service (SRR).";
    FC4_LS_REPLY = 0x33, "Reply of an FC-4 link service.";
    BLS_ABTS = 0x81, "Abort sequence.";
    BLS_BA_ACC = 0x84, "Basic accept.";
    BLS_BA_RJT = 0x85, "Basic reject.";
}

values! {
    /// Frame control bits (FC-FS-3, clause 12.7).
    pub mod f_ctl: u32;
    EXCHANGE_RESPONDER = 0x80_0000, "The sender is the exchange's responder.";
    SEQUENCE_RECIPIENT = 0x40_0000, "The sender is the sequence's recipient.";
    FIRST_SEQUENCE = 0x20_0000, "The exchange's first sequence.";
    LAST_SEQUENCE = 0x10_0000, "The exchange's last sequence.";
    END_SEQUENCE = 0x08_0000, "The sequence's last frame.";
    SEQUENCE_INITIATIVE = 0x01_0000, "The initiative to send the next sequence passes to the receiver.";
    RELATIVE_OFFSET = 0x00_0008, "The parameter is a relative offset.";
    FILL = 0x00_0003, "Number of fill bytes in the last word of the payload.";
}

values! {
    /// Protocol of the data (FC-FS-3, clause 12.6).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct FcType(u8);
    BLS = 0x00, "Basic link services.";
    ELS = 0x01, "Extended link services.";
    FCP = 0x08, "SCSI.";
}

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
