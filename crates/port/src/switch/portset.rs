//! A set of ports, one bit each.

use super::table::{MOST_PORTS, PortId};

const WORDS: usize = MOST_PORTS.div_ceil(64);

/// See the module's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PortSet([u64; WORDS]);

impl PortSet {
    fn at(port: PortId) -> (usize, u64) {
        (usize::from(port / 64) % WORDS, 1 << (port % 64))
    }

    pub(super) fn insert(&mut self, port: PortId) {
        let (word, bit) = Self::at(port);
        self.0[word] |= bit;
    }

    pub(super) fn remove(&mut self, port: PortId) {
        let (word, bit) = Self::at(port);
        self.0[word] &= !bit;
    }

    pub(super) fn contains(&self, port: PortId) -> bool {
        let (word, bit) = Self::at(port);
        self.0[word] & bit != 0
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    /// All ports that are not in the set.
    pub(super) fn others(&self) -> Self {
        Self(self.0.map(|word| !word))
    }

    pub(super) fn iter(self) -> impl Iterator<Item = PortId> {
        (0..PortId::MAX).take(MOST_PORTS).filter(move |port| self.contains(*port))
    }
}

impl FromIterator<PortId> for PortSet {
    fn from_iter<I: IntoIterator<Item = PortId>>(ports: I) -> Self {
        let mut set = Self::default();
        ports.into_iter().for_each(|port| set.insert(port));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_has_a_bit_of_its_own() {
        let last = PortId::try_from(MOST_PORTS).unwrap() - 1;
        for port in 0..=last {
            let one = PortSet::from_iter([port]);
            assert_eq!(one.iter().collect::<Vec<_>>(), [port]);
            assert!(!one.others().contains(port) && one.others().iter().count() == MOST_PORTS - 1);
        }
        let mut set = PortSet::from_iter([0, 63, 64, last]);
        set.remove(63);
        assert_eq!(set.or(&PortSet::from_iter([128])).iter().collect::<Vec<_>>(), [0, 64, 128, last]);
        assert_eq!(set.and(&PortSet::from_iter([64, 65, last])).iter().collect::<Vec<_>>(), [64, last]);
        assert!(PortSet::default().is_empty() && !set.is_empty());
    }
}
