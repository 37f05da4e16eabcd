//! 64-bit words with end-around carry, for any CPU: four chains at once, since each addition waits for the carry
//! before.

use super::add;

const CHAINS: usize = 4;
const STEP: usize = 8 * CHAINS;

/// Length in bytes below which a copy in pieces of fixed sizes is the fastest, wide forms included.
pub(super) const SHORT: usize = 128;

/// Partial sum of `src`.
#[inline]
pub(super) fn sum(src: &[u8]) -> u64 {
    let (steps, rest) = src.as_chunks::<STEP>();
    let mut chains = [0; CHAINS];
    for step in steps {
        accumulate(&mut chains, step);
    }
    add(join(chains), tail(rest))
}

/// Partial sum of `src`, which is short: one chain.
#[inline]
pub(super) fn short(src: &[u8]) -> u64 {
    tail(src)
}

/// Copies `src` to `dst` of the same length; returns its partial sum.
#[inline]
pub(super) fn copy(dst: &mut [u8], src: &[u8]) -> u64 {
    let (to, to_rest) = dst.as_chunks_mut::<STEP>();
    let (from, from_rest) = src.as_chunks::<STEP>();
    let mut chains = [0; CHAINS];
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
        accumulate(&mut chains, from);
    }
    add(join(chains), copy_short(to_rest, from_rest))
}

/// Copies less than [`SHORT`] bytes in pieces of fixed, decreasing sizes: faster than a call of `memcpy`.
#[inline]
pub(super) fn copy_short(dst: &mut [u8], src: &[u8]) -> u64 {
    let (mut to, mut from, mut sum) = (dst, src, 0);
    piece::<64>(&mut to, &mut from, &mut sum);
    piece::<32>(&mut to, &mut from, &mut sum);
    piece::<16>(&mut to, &mut from, &mut sum);
    piece::<8>(&mut to, &mut from, &mut sum);
    piece::<4>(&mut to, &mut from, &mut sum);
    piece::<2>(&mut to, &mut from, &mut sum);
    if let ([to], [from]) = (to, from) {
        *to = *from;
        sum = add(sum, u64::from(u16::from_ne_bytes([*from, 0])));
    }
    sum
}

/// Copies and adds the first `N` bytes, if there are as many.
#[inline]
fn piece<const N: usize>(to: &mut &mut [u8], from: &mut &[u8], sum: &mut u64) {
    let Some((first, rest)) = from.split_first_chunk::<N>() else { return };
    let Some((into, room)) = std::mem::take(to).split_first_chunk_mut::<N>() else { return };
    *into = *first;
    *sum = add(*sum, if N < 8 { tail(first) } else { whole(first) });
    (*to, *from) = (room, rest);
}

/// Partial sum of 64-bit words.
#[inline]
fn whole(words: &[u8]) -> u64 {
    words.as_chunks::<8>().0.iter().fold(0, |sum, word| add(sum, u64::from_ne_bytes(*word)))
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

/// Partial sum of the rest after the steps, with ever smaller words; the last odd byte has a zero after it.
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
    if let [byte] = rest {
        sum = add(sum, u64::from(u16::from_ne_bytes([*byte, 0])));
    }
    sum
}
