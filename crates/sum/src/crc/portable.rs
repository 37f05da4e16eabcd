//! Table-driven CRC, eight bytes a step, for any CPU (Kounavis and Berry, "A Systematic Approach to Building High
//! Performance Software-based CRC Generators", 2005).

use super::Kind;

/// Bytes per step, and number of tables of 1 KiB.
pub(super) const STEP: usize = 8;

/// Continues `remainder` over `src`.
#[inline]
pub(super) fn update<K: Kind>(mut remainder: u32, src: &[u8]) -> u32 {
    let (steps, rest) = src.as_chunks::<STEP>();
    for step in steps {
        let mut step = *step;
        step.iter_mut().zip(remainder.to_le_bytes()).for_each(|(byte, added)| *byte ^= added);
        remainder =
            step.iter().zip(K::TABLES.iter().rev()).fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)]);
    }
    rest.iter().fold(remainder, |remainder, byte| {
        remainder >> 8 ^ K::TABLES[0][usize::from(remainder.to_le_bytes()[0] ^ byte)]
    })
}
