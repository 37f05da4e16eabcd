//! MAC control frames: PAUSE and priority-based flow control.

use crate::field::Field;
use crate::{Error, MacAddr};

const NAME: &str = "mac control";
const PAUSE: u16 = 0x0001;
const PFC: u16 = 0x0101;

/// A MAC control frame, behind its Ethernet header. Times are in quanta: each is as long as 512 bits take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MacControl {
    /// PAUSE (IEEE 802.3-2022, annex 31B): send nothing for so many quanta; 0 ends a pause.
    Pause(u16),
    /// Priority-based flow control (IEEE 802.3-2022, annex 31D; 802.1Q-2022, clause 36): the same for some priorities.
    Pfc {
        /// A bit for each priority whose time counts.
        enabled: u8,
        /// Quanta of each priority.
        quanta: [u16; 8],
    },
}

impl MacControl {
    /// Group that each station listens to and no bridge forwards.
    pub const GROUP: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x01]);
    /// Bytes that [`emit`](Self::emit) writes: with the Ethernet header those of a shortest frame.
    pub const LEN: usize = 46;

    /// Reads all that follows the Ethernet header. The reserved upper half of the class enable vector is ignored.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it ends within a field, [`Error::Malformed`] for another opcode.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let (opcode, rest) = bytes.split_at_checked(2).ok_or(Error::Truncated(NAME))?;
        let fields = |len| rest.get(..len).ok_or(Error::Truncated(NAME));
        match u16::get(opcode, 0) {
            PAUSE => Ok(Self::Pause(u16::get(fields(2)?, 0))),
            PFC => fields(18).map(|fields| Self::Pfc { enabled: fields[1], quanta: <[u16; 8]>::get(fields, 2) }),
            _ => Err(Error::Malformed(NAME, "opcode")),
        }
    }

    /// Writes the frame to the front of `buffer`, zeros behind its fields; returns the rest.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it does not fit; nothing is written then.
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = buffer.split_at_mut_checked(Self::LEN).ok_or(Error::Truncated(NAME))?;
        bytes.fill(0);
        match *self {
            Self::Pause(quanta) => <[u16; 2]>::put([PAUSE, quanta], bytes, 0),
            Self::Pfc { enabled, quanta } => {
                <[u16; 2]>::put([PFC, u16::from(enabled)], bytes, 0);
                <[u16; 8]>::put(quanta, bytes, 4);
            }
        }
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_are_their_bytes() {
        let pfc = MacControl::Pfc { enabled: 0x88, quanta: [0, 0, 0, 0xffff, 0, 0, 0, 0x1234] };
        let pfc_bytes = [1, 1, 0, 0x88, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x12, 0x34];
        for (frame, front) in [(MacControl::Pause(0x1234), &[0, 1, 0x12, 0x34][..]), (pfc, &pfc_bytes[..])] {
            let mut bytes = [0xa5; 47];
            assert_eq!(frame.emit(&mut bytes).unwrap(), [0xa5]);
            assert_eq!((&bytes[..front.len()], bytes[front.len()..46].iter().any(|b| *b != 0)), (front, false));
            assert_eq!(MacControl::parse(&bytes[..46]), Ok(frame));
            for len in 0..front.len() {
                assert_eq!(MacControl::parse(&front[..len]), Err(Error::Truncated("mac control")), "{frame:?} {len}");
            }
            assert_eq!(frame.emit(&mut bytes[..45]), Err(Error::Truncated("mac control")));
        }
        let mut reserved = pfc_bytes;
        reserved[2] = 0xff;
        assert_eq!(MacControl::parse(&reserved), Ok(pfc), "the vector's upper half is ignored on receipt");
        assert_eq!(MacControl::parse(&[0, 2, 0, 0]), Err(Error::Malformed("mac control", "opcode")));
    }
}
