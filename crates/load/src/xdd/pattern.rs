//! Data that is written, and expected to be read back.

use linerate_sum::SplitMix64;

/// A data pattern: xdd's `-datapattern`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    pub base: Base,
    /// Upper bits of each word of a sequenced pattern: the bits, and their mask.
    pub prefix: Option<Prefix>,
    /// True to invert all bits.
    pub inverse: bool,
    /// True if a text fills the buffer repeatedly; otherwise it is at the start, followed by zeros.
    pub replicate: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    Byte(u8),
    /// A pseudo-random word for each eight bytes, computed from their position on the target.
    Random,
    /// For each eight bytes their position on the target, least significant byte first.
    Sequenced,
    Text(Vec<u8>),
}

impl Default for Base {
    fn default() -> Self {
        Self::Byte(0)
    }
}

/// Upper bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The bits in their position, zeros below.
    pub bits: u64,
    pub mask: u64,
}

impl Prefix {
    /// Parses up to 16 hexadecimal digits, the first of which is the most significant; `None` for anything else.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        let width = u32::try_from(digits.len()).ok().filter(|n| (1..=16).contains(n))? * 4;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let value = u64::from_str_radix(digits, 16).ok()?;
        Some(Self { bits: value << (64 - width), mask: u64::MAX << (64 - width) })
    }
}

impl Pattern {
    /// True if it differs from position to position, so that a buffer must be filled for each write.
    #[must_use]
    pub fn moves(&self) -> bool {
        matches!(self.base, Base::Random | Base::Sequenced)
    }

    /// Fills the data for a write at `offset`, in bytes from the target's start.
    pub fn fill(&self, offset: u64, buffer: &mut [u8]) {
        match &self.base {
            Base::Byte(byte) => buffer.fill(if self.inverse { !byte } else { *byte }),
            Base::Random | Base::Sequenced => {
                let (words, rest) = buffer.as_chunks_mut::<8>();
                let mut at = offset;
                for word in words {
                    *word = self.word(at);
                    at = at.wrapping_add(8);
                }
                let last = self.word(at);
                let len = rest.len();
                rest.copy_from_slice(&last[..len]);
            }
            Base::Text(_) => (0..).zip(buffer).for_each(|(i, byte)| *byte = self.byte(i)),
        }
    }

    /// First byte of `got`, read at `offset`, that differs from the data of [`fill`](Self::fill): its index, and the
    /// expected byte.
    #[must_use]
    pub fn mismatch(&self, offset: u64, got: &[u8]) -> Option<(usize, u8)> {
        match &self.base {
            Base::Byte(byte) => {
                let want = if self.inverse { !byte } else { *byte };
                got.iter().position(|byte| *byte != want).map(|at| (at, want))
            }
            Base::Random | Base::Sequenced => {
                let mut at = offset;
                for (n, chunk) in got.chunks(8).enumerate() {
                    let want = self.word(at);
                    if chunk != &want[..chunk.len()] {
                        let inside = chunk.iter().zip(want).position(|(a, b)| *a != b)?;
                        return Some((n * 8 + inside, want[inside]));
                    }
                    at = at.wrapping_add(8);
                }
                None
            }
            Base::Text(_) => (0..).zip(got).find_map(|(i, byte)| {
                let want = self.byte(i);
                (*byte != want).then_some((i, want))
            }),
        }
    }

    #[inline]
    fn word(&self, at: u64) -> [u8; 8] {
        let mut word = if self.base == Base::Random { scrambled(at) } else { at };
        if let Some(prefix) = self.prefix {
            word = word & !prefix.mask | prefix.bits;
        }
        if self.inverse { !word } else { word }.to_le_bytes()
    }

    fn byte(&self, at: usize) -> u8 {
        let Base::Text(text) = &self.base else { return 0 };
        let inside = at < text.len() || self.replicate;
        let byte = if inside && !text.is_empty() { text[at % text.len()] } else { 0 };
        if self.inverse { !byte } else { byte }
    }
}

/// A word for each position, one to one: the first number of SplitMix64 from there.
pub(super) fn scrambled(n: u64) -> u64 {
    SplitMix64::nth(n, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(pattern: &Pattern, offset: u64, len: usize) -> Vec<u8> {
        let mut buffer = vec![0xee; len];
        pattern.fill(offset, &mut buffer);
        buffer
    }

    fn of(base: Base) -> Pattern {
        Pattern { base, ..Pattern::default() }
    }

    /// Existing disks hold it, so it must not change.
    #[test]
    fn the_random_pattern_is_that_of_earlier_versions() {
        let got = filled(&of(Base::Random), 0, 16);
        let words = got.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>();
        assert_eq!(words, [0xe220_a839_7b1d_cdaf, 0x9e56_51b0_ef95_3636]);
    }

    #[test]
    fn the_sequenced_pattern_is_each_words_place() {
        let got = filled(&of(Base::Sequenced), 512, 20);
        assert_eq!(got, [0, 2, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0x10, 2, 0, 0]);
        let prefix = Prefix::parse("0123");
        let got = filled(&Pattern { prefix, ..of(Base::Sequenced) }, 8, 8);
        assert_eq!(got, [8, 0, 0, 0, 0, 0, 0x23, 1]);
        let got = filled(&Pattern { prefix, inverse: true, ..of(Base::Sequenced) }, 8, 8);
        assert_eq!(got, [0xf7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xdc, 0xfe]);
        assert!(
            [Prefix::parse(""), Prefix::parse("+1"), Prefix::parse("00000000000000000")].iter().all(Option::is_none)
        );
    }

    #[test]
    fn texts_stand_once_or_again_and_again() {
        let text = of(Base::Text(b"abc".to_vec()));
        assert_eq!(filled(&text, 512, 5), *b"abc\0\0");
        assert_eq!(filled(&Pattern { replicate: true, ..text }, 0, 7), *b"abcabca");
        assert_eq!(filled(&of(Base::Byte(b'x')), 0, 3), *b"xxx");
        assert_eq!(filled(&of(Base::Text(Vec::new())), 0, 2), [0, 0]);
    }

    #[test]
    fn random_words_differ_and_come_again() {
        let random = of(Base::Random);
        let (a, b) = (filled(&random, 0, 64), filled(&random, 64, 64));
        assert!(a != b && a == filled(&random, 0, 64));
        assert_eq!(filled(&random, 8, 8), a[8..16]);
    }

    #[test]
    fn one_flipped_bit_is_found_where_it_is() {
        for base in [Base::Byte(7), Base::Random, Base::Sequenced, Base::Text(b"linerate".to_vec())] {
            for inverse in [false, true] {
                let pattern = Pattern { base: base.clone(), inverse, ..Pattern::default() };
                let whole = filled(&pattern, 4096, 515);
                assert_eq!(pattern.mismatch(4096, &whole), None);
                for at in [0, 7, 8, 300, 512, 514] {
                    let mut wrong = whole.clone();
                    wrong[at] ^= 0x10;
                    assert_eq!(pattern.mismatch(4096, &wrong), Some((at, whole[at])), "{pattern:?}");
                }
            }
        }
    }
}
