//! 64-bit words with end-around carry, on any CPU: four chains at once, since each addition waits for the carry before.

use super::add;

const CHAINS: usize = 4;
const STEP: usize = 8 * CHAINS;

/// The partial of `src`.
#[inline]
pub(super) fn sum(src: &[u8]) -> u64 {
    let (steps, rest) = src.as_chunks::<STEP>();
    let mut chains = [0; CHAINS];
    for step in steps {
        accumulate(&mut chains, step);
    }
    add(join(chains), tail(rest))
}

/// Copies `src` to `dst` of the same length; returns its partial.
#[inline]
pub(super) fn copy(dst: &mut [u8], src: &[u8]) -> u64 {
    let (to, to_rest) = dst.as_chunks_mut::<STEP>();
    let (from, from_rest) = src.as_chunks::<STEP>();
    let mut chains = [0; CHAINS];
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
        accumulate(&mut chains, from);
    }
    to_rest.copy_from_slice(from_rest);
    add(join(chains), tail(from_rest))
}

#[inline]
fn accumulate(chains: &mut [u64; CHAINS], step: &[u8; STEP]) {
    for (chain, word) in chains.iter_mut().zip(step.as_chunks::<8>().0) {
        *chain = add(*chain, u64::from_ne_bytes(*word));
    }
}

#[inline]
fn join([a, b, c, d]: [u64; CHAINS]) -> u64 {
    add(add(a, b), add(c, d))
}

/// The partial of what is left after the steps, by halving words; the last odd octet has a zero after it.
#[inline]
fn tail(rest: &[u8]) -> u64 {
    let (words, rest) = rest.as_chunks::<8>();
    let mut sum = words.iter().fold(0, |sum, word| add(sum, u64::from_ne_bytes(*word)));
    let (words, rest) = rest.as_chunks::<4>();
    if let [word] = words {
        sum = add(sum, u64::from(u32::from_ne_bytes(*word)));
    }
    let (words, rest) = rest.as_chunks::<2>();
    if let [word] = words {
        sum = add(sum, u64::from(u16::from_ne_bytes(*word)));
    }
    if let [octet] = rest {
        sum = add(sum, u64::from(u16::from_ne_bytes([*octet, 0])));
    }
    sum
}
