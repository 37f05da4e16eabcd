//! Persistent reservations: who may use a unit.

use crate::Error;
use crate::field::{array_at, put};

/// Type of a persistent reservation (SPC-4, table 202).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReserveType {
    /// Writing is for the holder.
    WriteExclusive,
    /// Reading and writing are for the holder.
    ExclusiveAccess,
    /// Write exclusive, registrants only: registered ports may write; one holds the reservation.
    WriteExclusiveRegistrants,
    /// Exclusive access, registrants only: registered ports may read and write; one holds the reservation.
    ExclusiveAccessRegistrants,
    /// Write exclusive, all registrants: registered ports may write; all of them hold the reservation.
    WriteExclusiveAll,
    /// Exclusive access, all registrants: registered ports may read and write; all of them hold the reservation.
    ExclusiveAccessAll,
}

impl ReserveType {
    const CODES: [(u8, Self); 6] = [
        (1, Self::WriteExclusive),
        (3, Self::ExclusiveAccess),
        (5, Self::WriteExclusiveRegistrants),
        (6, Self::ExclusiveAccessRegistrants),
        (7, Self::WriteExclusiveAll),
        (8, Self::ExclusiveAccessAll),
    ];

    /// From its code; none when no type has it.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::CODES.iter().find(|(known, _)| *known == code).map(|(_, kind)| *kind)
    }

    /// Its code.
    #[must_use]
    pub fn code(self) -> u8 {
        Self::CODES.iter().find(|(_, kind)| *kind == self).map_or(0, |(code, _)| *code)
    }

    /// True if others may not even read.
    #[must_use]
    pub const fn excludes_reads(self) -> bool {
        matches!(self, Self::ExclusiveAccess | Self::ExclusiveAccessRegistrants | Self::ExclusiveAccessAll)
    }

    /// True if every registered port has the holder's access.
    #[must_use]
    pub const fn registrants(self) -> bool {
        !matches!(self, Self::WriteExclusive | Self::ExclusiveAccess)
    }

    /// True if all who are registered hold it.
    #[must_use]
    pub const fn all(self) -> bool {
        matches!(self, Self::WriteExclusiveAll | Self::ExclusiveAccessAll)
    }
}

/// Offsets of the fields (SPC-4, clause 6.16.3).
mod field {
    pub(super) const KEY: usize = 0;
    pub(super) const ACTION_KEY: usize = 8;
    pub(super) const OPTIONS: usize = 20;
}

/// The parameter list of PERSISTENT RESERVE OUT (SPC-4, clause 6.16.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReserveParameters {
    /// The key that the sender is registered with.
    pub key: u64,
    /// The key that the action is about.
    pub action_key: u64,
    /// SPEC_I_PT: other initiators' names follow.
    pub named_initiators: bool,
    /// ALL_TG_PT: it is for all ports of the target.
    pub all_ports: bool,
    /// APTPL: it is to survive a loss of power.
    pub persist: bool,
}

impl ReserveParameters {
    /// Bytes of the list without names.
    pub const LEN: usize = 24;

    /// The list's bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, field::KEY, &self.key.to_be_bytes());
        put(&mut bytes, field::ACTION_KEY, &self.action_key.to_be_bytes());
        bytes[field::OPTIONS] =
            u8::from(self.named_initiators) << 3 | u8::from(self.all_ports) << 2 | u8::from(self.persist);
        bytes
    }

    /// The list at the front of `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there are fewer than 24 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() < Self::LEN {
            return Err(Error::Truncated("reservation parameters"));
        }
        Ok(Self {
            key: u64::from_be_bytes(array_at(bytes, field::KEY)),
            action_key: u64::from_be_bytes(array_at(bytes, field::ACTION_KEY)),
            named_initiators: bytes[field::OPTIONS] & 8 != 0,
            all_ports: bytes[field::OPTIONS] & 4 != 0,
            persist: bytes[field::OPTIONS] & 1 != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_spc_4_table_202() {
        let known: Vec<_> = (0..16).filter_map(ReserveType::from_code).map(ReserveType::code).collect();
        assert_eq!(known, [1, 3, 5, 6, 7, 8]);
        let of = |code| ReserveType::from_code(code).unwrap();
        assert_eq!([1, 3, 5, 6, 7, 8].map(|code| of(code).excludes_reads()), [false, true, false, true, false, true]);
        assert_eq!([1, 3, 5, 6, 7, 8].map(|code| of(code).registrants()), [false, false, true, true, true, true]);
        assert_eq!([1, 3, 5, 6, 7, 8].map(|code| of(code).all()), [false, false, false, false, true, true]);
    }

    #[test]
    fn parameters_are_as_spc_4_clause_6_16_3_lays_them_out() {
        let list = ReserveParameters { key: 1, action_key: 2, persist: true, ..ReserveParameters::default() };
        assert_eq!(list.bytes(), [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0]);
        let other = ReserveParameters { named_initiators: true, all_ports: true, persist: false, ..list };
        assert_eq!(other.bytes()[20], 0x0c);
        assert_eq!(ReserveParameters::parse(&other.bytes()), Ok(other));
        assert!(ReserveParameters::parse(&[0; 23]).is_err());
    }
}
