//! Candidates for a port's N_Port_ID.

use linerate_wire::{FcId, Wwn};

/// Identifiers of one port name, in the order in which they are tried: the same in each life of the port, and different
/// for each name (FC-BB-6, clause 7, N_Port_ID selection).
///
/// First the name's low 16 bits, then the output of LFSR113 (P. L'Ecuyer, "Tables of maximally-equidistributed combined
/// LFSR generators", 1999), seeded with the name as the Linux kernel does, so that a disk moved from one to the other
/// keeps its identifiers.
#[derive(Debug)]
pub(super) struct Identifiers {
    wwpn: Wwn,
    state: [u32; 4],
}

/// LFSR113's four components: the two feedback shifts, the mask of significant bits, the shift of the state. The least
/// state with one of these bits is `!mask + 1`.
const COMPONENTS: [(u32, u32, u32, u32); 4] =
    [(6, 13, 0xffff_fffe, 18), (2, 27, 0xffff_fff8, 2), (13, 21, 0xffff_fff0, 7), (3, 12, 0xffff_ff80, 13)];

impl Identifiers {
    pub(super) fn new(wwpn: Wwn) -> Self {
        let mixed = (wwpn.0 >> 32) ^ (wwpn.0 << 10) ^ wwpn.0;
        let [.., a, b, c, d] = mixed.to_be_bytes();
        let seed = u32::from_be_bytes([a, b, c, d]);
        let state = COMPONENTS.map(|(_, _, mask, _)| {
            let least = !mask + 1;
            if seed < least { seed + least } else { seed }
        });
        Self { wwpn, state }
    }

    /// First identifier to try.
    pub(super) fn first(&self) -> FcId {
        let [.., a, b] = self.wwpn.0.to_be_bytes();
        usable(u16::from_be_bytes([a, b]))
    }

    /// Next identifier to try.
    pub(super) fn next(&mut self) -> FcId {
        for (state, (out, back, mask, shift)) in self.state.iter_mut().zip(COMPONENTS) {
            *state = ((*state & mask) << shift) ^ (((*state << out) ^ *state) >> back);
        }
        let [.., a, b] = self.state.iter().fold(0, |all, state| all ^ state).to_be_bytes();
        usable(u16::from_be_bytes([a, b]))
    }
}

/// True if a VN2VN port may have this identifier: 000001 to 00fffe.
pub(super) fn is_usable(id: FcId) -> bool {
    (1..0xffff).contains(&id.value())
}

fn usable(low: u16) -> FcId {
    let id = FcId::new(u32::from(low));
    if is_usable(id) { id } else { FcId::new(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_those_that_linux_chose() {
        // Golden captures 03 and 11: the identifier after the first conflict.
        for (wwpn, first, second) in [(0x2000_5254_00fd_0e02, 0x0e02, 0x78df), (0x2000_5254_00fc_0e02, 0x0e02, 0x1b65)]
        {
            let mut identifiers = Identifiers::new(Wwn(wwpn));
            assert_eq!((identifiers.first(), identifiers.next()), (FcId::new(first), FcId::new(second)));
        }
    }

    #[test]
    fn what_is_reserved_becomes_one() {
        assert_eq!(Identifiers::new(Wwn(0x2000_0000_0000_0000)).first(), FcId::new(1));
        assert_eq!(Identifiers::new(Wwn(0x2000_0000_0000_ffff)).first(), FcId::new(1));
        assert_eq!(Identifiers::new(Wwn(0x2000_0000_0000_fffe)).first(), FcId::new(0xfffe));
        assert!(!is_usable(FcId::new(0)) && !is_usable(FcId::new(0xffff)) && !is_usable(FcId::new(0x01_0001)));
        let mut identifiers = Identifiers::new(Wwn(0));
        assert!((0..200_000).all(|_| is_usable(identifiers.next())));
    }
}
