//! Persistent reservations: who may use a unit.

use crate::Error;
use crate::field::{Bit, record};

const NAME: &str = "reservation parameters";

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

record! {
    /// The parameter list of PERSISTENT RESERVE OUT, without names (SPC-4, clause 6.16.3).
    #[derive(Default)]
    ReserveParameters[24] parse bytes;
    0 key: u64 = "The key that the sender is registered with.";
    8 action_key: u64 = "The key that the action is about.";
    20 named_initiators: bool as Bit<3> = "SPEC_I_PT: other initiators' names follow.";
    20 all_ports: bool as Bit<2> = "ALL_TG_PT: it is for all ports of the target.";
    20 persist: bool as Bit<0> = "APTPL: it is to survive a loss of power.";
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
