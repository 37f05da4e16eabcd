//! Contents of a block: a text that all blocks have, and a name that is unique.

use linerate_sum::SplitMix64;

/// Bytes of a sector, which has a name of its own.
pub(super) const SECTOR: usize = 512;
/// Bytes of the name.
const NAME: usize = 8;

/// The contents of blocks.
pub(super) struct Pattern {
    text: [u8; SECTOR],
    /// True for zeros only, without names.
    zeros: bool,
}

impl Pattern {
    /// Pattern of disks that keep writes.
    pub(super) fn named() -> Self {
        let mut text = [0; SECTOR];
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for word in text.as_chunks_mut::<8>().0 {
            state = SplitMix64::nth(state, 0);
            *word = state.to_le_bytes();
        }
        Self { text, zeros: false }
    }

    pub(super) fn zeros() -> Self {
        Self { text: [0; SECTOR], zeros: true }
    }

    fn name(&self, lun: u16, sector: u64, generation: u32) -> [u8; NAME] {
        if self.zeros {
            return [0; NAME];
        }
        SplitMix64::nth((u64::from(lun) << 48 ^ sector).wrapping_add(u64::from(generation) << 36), 0).to_le_bytes()
    }

    /// Fills a buffer with whole sectors, whatever it held.
    pub(super) fn write(&self, bytes: &mut [u8], lun: u16, first: u64, generation: u32) {
        for sector in bytes.as_chunks_mut::<SECTOR>().0 {
            *sector = self.text;
        }
        self.name_all(bytes, lun, first, generation);
    }

    /// Sets only the names, in a buffer that already holds such sectors.
    pub(super) fn name_all(&self, bytes: &mut [u8], lun: u16, first: u64, generation: u32) {
        for (sector, bytes) in (first..).zip(bytes.as_chunks_mut::<SECTOR>().0) {
            bytes[..NAME].copy_from_slice(&self.name(lun, sector, generation));
        }
    }

    /// True if the bytes are as [`write`](Self::write) makes them.
    pub(super) fn check(&self, bytes: &[u8], lun: u16, first: u64, generation: u32) -> bool {
        (first..).zip(bytes.as_chunks::<SECTOR>().0).all(|(sector, bytes)| {
            bytes[..NAME] == self.name(lun, sector, generation) && bytes[NAME..] == self.text[NAME..]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Existing disks hold it, so it must not change.
    #[test]
    fn the_pattern_is_that_of_earlier_versions() {
        let mut bytes = [0; SECTOR];
        Pattern::named().write(&mut bytes, 3, 10, 7);
        let words = bytes.as_chunks().0;
        assert_eq!(
            words[..2].iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>(),
            [0x52bb_0408_4ddc_d93b, 0x46b7_3e79_f0c3_7c00,]
        );
    }

    #[test]
    fn a_byte_a_place_or_a_generation_that_is_wrong_is_seen() {
        let pattern = Pattern::named();
        let mut bytes = [0; 2 * SECTOR];
        pattern.write(&mut bytes, 3, 10, 7);
        assert!(pattern.check(&bytes, 3, 10, 7));
        for (lun, first, generation) in [(2, 10, 7), (3, 11, 7), (3, 9, 7), (3, 10, 6)] {
            assert!(!pattern.check(&bytes, lun, first, generation));
        }
        for at in 0..bytes.len() {
            bytes[at] ^= 0x10;
            assert!(!pattern.check(&bytes, 3, 10, 7), "byte {at}");
            bytes[at] ^= 0x10;
        }
        pattern.name_all(&mut bytes, 5, 0, 1);
        assert!(pattern.check(&bytes, 5, 0, 1));
        assert!(Pattern::zeros().check(&[0; 1024], 5, 0, 1) && !Pattern::zeros().check(&bytes, 5, 0, 1));
    }
}
