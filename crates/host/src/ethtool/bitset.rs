//! Sets of named bits (ETHTOOL_A_BITSET), in the verbose form that names each bit.

use super::NESTED;
use crate::netlink::message::{Message, attribute, attributes, text};

const ETHTOOL_A_BITSET_NOMASK: u16 = 1;
const ETHTOOL_A_BITSET_BITS: u16 = 3;
const ETHTOOL_A_BITSET_BITS_BIT: u16 = 1;
const ETHTOOL_A_BITSET_BIT_NAME: u16 = 2;
const ETHTOOL_A_BITSET_BIT_VALUE: u16 = 3;

/// Bits that a set names, each with true if it is on. In a list without a mask, all named bits are on.
pub(crate) fn parse(set: &[u8]) -> Vec<(String, bool)> {
    let list = attribute(set, ETHTOOL_A_BITSET_NOMASK).is_some();
    let bits = attribute(set, ETHTOOL_A_BITSET_BITS).unwrap_or_default();
    let bits = attributes(bits).filter(|(kind, _)| *kind == ETHTOOL_A_BITSET_BITS_BIT);
    let named = bits.filter_map(|(_, bit)| {
        let name = attribute(bit, ETHTOOL_A_BITSET_BIT_NAME).map(text)?;
        Some((name, list || attribute(bit, ETHTOOL_A_BITSET_BIT_VALUE).is_some()))
    });
    named.filter(|(name, _)| !name.is_empty()).collect()
}

/// Names of the bits that are on.
pub(crate) fn on(set: &[u8]) -> Vec<String> {
    parse(set).into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
}

/// Appends a set of bits to be switched on or off; bits not named stay as they are.
pub(crate) fn build(message: &mut Message, kind: u16, bits: &[(&str, bool)]) {
    message.nest(kind | NESTED, |set| {
        set.nest(ETHTOOL_A_BITSET_BITS | NESTED, |all| {
            for (name, on) in bits {
                all.nest(ETHTOOL_A_BITSET_BITS_BIT | NESTED, |bit| {
                    bit.text(ETHTOOL_A_BITSET_BIT_NAME, name);
                    if *on {
                        bit.attribute(ETHTOOL_A_BITSET_BIT_VALUE, &[]);
                    }
                });
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Message {
        let mut message = Message::about(0, 0, &[]);
        build(&mut message, 2, &[("tx-checksum-ipv4", true), ("rx-gro", false), ("", true)]);
        message
    }

    #[test]
    fn what_is_built_is_read() {
        let message = sample();
        let set = attribute(message.body(), 2).unwrap();
        assert_eq!(parse(set), [("tx-checksum-ipv4".into(), true), ("rx-gro".into(), false)]);
        let mut list = Message::about(0, 0, &[]);
        list.attribute(ETHTOOL_A_BITSET_NOMASK, &[]);
        let both = [list.body(), set].concat();
        assert_eq!(parse(&both), [("tx-checksum-ipv4".into(), true), ("rx-gro".into(), true)], "a list without a mask");
    }

    /// A set cut at any byte, or with any length in any place, gives fewer bits and no panic.
    #[test]
    fn a_damaged_set_has_fewer_bits() {
        let message = sample();
        let set = attribute(message.body(), 2).unwrap();
        assert!((0..set.len()).all(|end| parse(&set[..end]).len() <= 2));
        for at in 0..set.len() {
            for value in 0..=255 {
                let mut bent = set.to_vec();
                bent[at] = value;
                assert!(parse(&bent).len() <= set.len() / 4);
            }
        }
    }
}
