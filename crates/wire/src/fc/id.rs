//! Identifiers of Fibre Channel: addresses of 24 bits and names of 64.

use std::fmt;
use std::str::FromStr;

use crate::field::{U24, newtype};
use crate::{Error, MacAddr};

/// An address identifier: an N_Port_ID or a well-known address (FC-FS-3, clause 11). 24 bits; greater ones are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FcId(u32);

newtype!(FcId(U24), Wwn(u64));

impl FcId {
    /// None: an N_Port that has no address yet.
    pub const UNASSIGNED: Self = Self(0);
    /// The F_Port of the fabric (FC-FS-3, table 44).
    pub const FABRIC: Self = Self(0xff_fffe);

    /// From its number, of which 24 bits count.
    #[must_use]
    pub const fn new(id: u32) -> Self {
        Self(id & 0xff_ffff)
    }

    /// From network order.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 3]) -> Self {
        Self(u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]))
    }

    /// In network order.
    #[must_use]
    pub const fn bytes(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }

    /// Its number.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The VN_Port's MAC address under a prefix: 24 bits of FC-MAP and 24 of the address (FPMA: FC-BB-6, 7.7).
    #[must_use]
    pub const fn mac(self, fc_map: [u8; 3]) -> MacAddr {
        let [a, b, c] = self.bytes();
        MacAddr([fc_map[0], fc_map[1], fc_map[2], a, b, c])
    }
}

impl fmt::Display for FcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06x}", self.0)
    }
}

/// A world-wide name of a port or a node (FC-FS-3, clause 14): 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Wwn(pub u64);

impl Wwn {
    /// The name that is an IEEE address of 48 bits behind a word of the name's kind: 0x1000 for a node, 0x2000 for its
    /// first port, as the Linux kernel makes them.
    #[must_use]
    pub const fn from_mac(kind: u16, mac: MacAddr) -> Self {
        let ([k, l], [a, b, c, d, e, f]) = (kind.to_be_bytes(), mac.0);
        Self(u64::from_be_bytes([k, l, a, b, c, d, e, f]))
    }
}

impl fmt::Display for Wwn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.to_be_bytes().iter().enumerate() {
            write!(f, "{}{byte:02x}", if i == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}

impl FromStr for Wwn {
    type Err = Error;

    /// Reads 16 hexadecimal digits, with a colon between all pairs or none at all, and perhaps `0x` in front.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut digits = String::with_capacity(16);
        if text.contains(':') {
            for pair in text.split(':') {
                if pair.len() != 2 {
                    return Err(Error::Wwn);
                }
                digits.push_str(pair);
            }
        } else {
            digits.push_str(text.strip_prefix("0x").unwrap_or(text));
        }
        if digits.len() != 16 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(Error::Wwn);
        }
        u64::from_str_radix(&digits, 16).map(Self).map_err(|_| Error::Wwn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_as_it_prints() {
        let name: Wwn = "20:00:52:54:00:fc:0e:01".parse().unwrap();
        assert_eq!(name, Wwn::from_mac(0x2000, MacAddr([0x52, 0x54, 0, 0xfc, 0x0e, 1])));
        assert_eq!(name.to_string().parse(), Ok(name));
        assert_eq!("0x2000525400fc0e01".parse(), Ok(name));
        for bad in [
            "",
            "20",
            "20:00:52:54:00:fc:0e",
            "20:00:52:54:00:fc:0e:0g",
            "+000525400fc0e01x",
            "200:0:52:54:00:fc:0e:01",
        ] {
            assert_eq!(bad.parse::<Wwn>(), Err(Error::Wwn), "{bad}");
        }
    }

    #[test]
    fn an_address_makes_a_mac_address() {
        let id = FcId::new(0x00_0e01);
        assert_eq!(id.mac([0x0e, 0xfd, 0]), MacAddr([0x0e, 0xfd, 0, 0, 0x0e, 1]));
        assert_eq!(FcId::from_bytes(id.bytes()), id);
        assert_eq!(FcId::new(0xff_00_0e_01), id);
        assert_eq!(id.to_string(), "000e01");
    }
}
