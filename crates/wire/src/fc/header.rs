//! The FC-2 frame header.

use super::FcId;
use crate::field::{array_at, put, put_u16, u16_at, u32_at};
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

/// Offsets of the fields (FC-FS-3, clause 12). F_CTL has three bytes; it is read with TYPE, the byte before it.
mod field {
    pub(super) const R_CTL: usize = 0;
    pub(super) const D_ID: usize = 1;
    pub(super) const CS_CTL: usize = 4;
    pub(super) const S_ID: usize = 5;
    pub(super) const TYPE_AND_F_CTL: usize = 8;
    pub(super) const SEQ_ID: usize = 12;
    pub(super) const DF_CTL: usize = 13;
    pub(super) const SEQ_CNT: usize = 14;
    pub(super) const OX_ID: usize = 16;
    pub(super) const RX_ID: usize = 18;
    pub(super) const PARAMETER: usize = 20;
}

/// The header of an FC-2 frame (FC-FS-3, clause 12).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     R_CTL     |                     D_ID                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    CS_CTL     |                     S_ID                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     TYPE      |                     F_CTL                     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    SEQ_ID     |    DF_CTL     |            SEQ_CNT            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |             OX_ID             |             RX_ID             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                           parameter                           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FcHeader {
    /// Routing control: one of [`r_ctl`].
    pub r_ctl: u8,
    /// Destination N_Port_ID.
    pub d_id: FcId,
    /// Class specific control.
    pub cs_ctl: u8,
    /// Source N_Port_ID.
    pub s_id: FcId,
    /// Protocol of the data.
    pub fc_type: FcType,
    /// Frame control: bits of [`f_ctl`], 24 of them.
    pub f_ctl: u32,
    /// Sequence identifier.
    pub seq_id: u8,
    /// Data field control: optional headers.
    pub df_ctl: u8,
    /// Number of the frame in its sequence, from 0.
    pub seq_cnt: u16,
    /// Exchange identifier of the originator.
    pub ox_id: OxId,
    /// Exchange identifier of the responder; unassigned before its first frame.
    pub rx_id: RxId,
    /// Relative offset of the payload, if [`f_ctl::RELATIVE_OFFSET`] is set.
    pub parameter: u32,
}

impl FcHeader {
    /// Bytes of the header.
    pub const LEN: usize = 24;

    /// Parses the header at the front of `frame`.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than the header.
    pub fn parse(frame: &[u8]) -> Result<Self, Error> {
        if frame.len() < Self::LEN {
            return Err(Error::Truncated(NAME));
        }
        Ok(Self {
            r_ctl: frame[field::R_CTL],
            d_id: FcId::from_bytes(array_at(frame, field::D_ID)),
            cs_ctl: frame[field::CS_CTL],
            s_id: FcId::from_bytes(array_at(frame, field::S_ID)),
            fc_type: FcType(frame[field::TYPE_AND_F_CTL]),
            f_ctl: u32_at(frame, field::TYPE_AND_F_CTL) & 0xff_ffff,
            seq_id: frame[field::SEQ_ID],
            df_ctl: frame[field::DF_CTL],
            seq_cnt: u16_at(frame, field::SEQ_CNT),
            ox_id: OxId::parse(frame, field::OX_ID),
            rx_id: RxId::parse(frame, field::RX_ID),
            parameter: u32_at(frame, field::PARAMETER),
        })
    }

    /// Serializes the header.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, field::R_CTL, &[self.r_ctl]);
        put(&mut bytes, field::D_ID, &self.d_id.bytes());
        put(&mut bytes, field::CS_CTL, &[self.cs_ctl]);
        put(&mut bytes, field::S_ID, &self.s_id.bytes());
        put(&mut bytes, field::TYPE_AND_F_CTL, &(self.f_ctl & 0xff_ffff).to_be_bytes());
        put(&mut bytes, field::TYPE_AND_F_CTL, &[self.fc_type.0]);
        put(&mut bytes, field::SEQ_ID, &[self.seq_id]);
        put(&mut bytes, field::DF_CTL, &[self.df_ctl]);
        put_u16(&mut bytes, field::SEQ_CNT, self.seq_cnt);
        self.ox_id.emit(&mut bytes, field::OX_ID);
        self.rx_id.emit(&mut bytes, field::RX_ID);
        put(&mut bytes, field::PARAMETER, &self.parameter.to_be_bytes());
        bytes
    }

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
