//! Congestion notification (IEEE 802.1Q-2022, clause 33): the tag of a flow, and the message to its source.

use crate::field::{Bits, Field, payload, record, view};
use crate::{Error, EtherType, MacAddr};

const NAME: &str = "congestion notification";

view! {
    /// A view of a CN-TAG and what it tags, from behind the EtherType that announced it (IEEE 802.1Q-2022, clause 33.2).
    CnTag, HEADER_LEN = 4 "Bytes of the header.";
    =>
    /// A CN-TAG.
    CnTagRepr;
    0 pub flow set_flow: u16 = "Flow identifier, of its source's choice.";
    2 pub ethertype set_ethertype: EtherType = "The type of what is tagged.";
}

payload!(CnTag, "All bytes after the tag, padding included.");

record! {
    /// A congestion notification message (IEEE 802.1Q-2022, clause 33.3), from behind its CN-TAG.
    Cnm[24] bytes;
    0 version: u8 as Bits<7, 4> = "Version: 0; a receiver ignores it.";
    1 feedback: u8 as Bits<5, 0> = "Quantized feedback, 0 to 63: how much the source should slow down.";
    2 cpid: [u8; 8] = "Congestion point identifier.";
    10 q_offset: i16 = "Units of 64 octets that the queue is above its set point.";
    12 q_delta: i16 = "Units of 64 octets that the queue has grown since the last sample.";
    14 priority: u8 as Bits<7, 5> = "Priority of the frame that caused the message.";
    16 dst: MacAddr = "Destination of that frame.";
    22 msdu_len: u16 = "Octets of that frame that follow, at most [`MAX_MSDU`](Self::MAX_MSDU).";
}

impl Cnm {
    /// Most octets of the frame that caused the message.
    pub const MAX_MSDU: usize = 64;

    /// Parses a message, and returns the octets of the frame that caused it too. What stands behind them is padding.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there are fewer bytes than it says, [`Error::Malformed`] when it states more octets than
    /// a message may have.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (header, rest) = bytes.split_at_checked(Self::LEN).ok_or(Error::Truncated(NAME))?;
        let cnm = Self::get(header, 0);
        if usize::from(cnm.msdu_len) > Self::MAX_MSDU {
            return Err(Error::Malformed(NAME, "MSDU length"));
        }
        Ok((cnm, rest.get(..usize::from(cnm.msdu_len)).ok_or(Error::Truncated(NAME))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_its_bytes() {
        let cnm = Cnm {
            version: 0,
            feedback: 0x2a,
            cpid: [1, 2, 3, 4, 5, 6, 7, 8],
            q_offset: -2,
            q_delta: 0x102,
            priority: 3,
            dst: MacAddr([2, 0, 0, 0, 0, 9]),
            msdu_len: 2,
        };
        let header = [0, 0x2a, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0xfe, 1, 2, 0x60, 0, 2, 0, 0, 0, 0, 9, 0, 2];
        assert_eq!(cnm.bytes(), header);
        let all = [&header[..], &[0xaa, 0xbb, 0]].concat();
        assert_eq!(Cnm::parse(&all), Ok((cnm, &[0xaa, 0xbb][..])));
        for len in 0..26 {
            assert_eq!(Cnm::parse(&all[..len]), Err(Error::Truncated(NAME)), "{len}");
        }
        let long = Cnm { msdu_len: 65, ..cnm };
        let all = [&long.bytes()[..], &[0; 65]].concat();
        assert_eq!(Cnm::parse(&all), Err(Error::Malformed(NAME, "MSDU length")));
    }

    #[test]
    fn a_tag_names_its_flow_and_what_it_tags() {
        let tag = CnTagRepr { flow: 0x1234, ethertype: EtherType::FCOE };
        let mut bytes = [0xa5; 5];
        assert_eq!(tag.emit(&mut bytes).unwrap(), [0xa5]);
        assert_eq!(bytes[..4], [0x12, 0x34, 0x89, 0x06]);
        let view = CnTag::new_checked(&bytes[..]).unwrap();
        assert_eq!((CnTagRepr::parse(&view), view.payload()), (tag, &[0xa5][..]));
        assert_eq!(CnTag::new_checked(&bytes[..3]), Err(Error::Truncated(NAME)));
    }
}
