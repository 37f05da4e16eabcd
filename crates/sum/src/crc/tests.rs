//! Tests of every form of both CRCs against a bitwise division, over all lengths and alignments.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::crc16::Crc16T10Dif;
use crate::crc32::Crc32;
use crate::{copy_and_crc32, crc16_t10dif, crc16_t10dif_update, crc32, crc32_update};

/// Longer than a frame's payload and than a page.
const LONGEST: usize = if cfg!(miri) { 300 } else { 4200 };
const ALIGNMENTS: usize = if cfg!(miri) { 3 } else { 64 };

/// One byte of CRC-32, bit by bit as defined.
fn naive32(crc: u32, byte: u8) -> u32 {
    (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
}

/// One byte of the T10 guard, bit by bit.
fn naive16(crc: u16, byte: u8) -> u16 {
    (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| if crc >> 15 == 1 { crc << 1 ^ 0x8bb7 } else { crc << 1 })
}

fn available() -> impl Iterator<Item = Form> {
    Form::ALL.iter().copied().filter(|form| {
        let here = form.is_available();
        if !here {
            linerate_skip::skip!("this CPU has no {form:?}");
        }
        here
    })
}

/// Bytes without a pattern that could hide a misplaced word.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    };
    (0..len).map(|_| next()).collect()
}

/// Compares a form's remainder for every length and alignment, with different initial remainders, with one computed
/// byte by byte by `step`; `convert` converts a remainder to the engine's representation.
fn every_length<K: Kind, T: Copy>(first: [T; 2], step: fn(T, u8) -> T, convert: fn(T) -> u32) {
    let data = noise(LONGEST + ALIGNMENTS);
    for form in available() {
        for start in 0..ALIGNMENTS {
            let bytes = &data[start..start + LONGEST];
            let begun = first[start % 2];
            let mut right = begun;
            for len in 0..=LONGEST {
                // SAFETY: `available` returned the form.
                let got = unsafe { form.update::<K>(convert(begun), &bytes[..len]) };
                assert_eq!(got, convert(right), "{form:?}, {len} bytes at {start}");
                right = step(right, bytes.get(len).copied().unwrap_or_default());
            }
        }
    }
}

fn remainder16(crc: u16) -> u32 {
    u32::from(crc.swap_bytes())
}

#[test]
fn every_form_of_crc32_divides_every_length_at_every_alignment() {
    every_length::<Crc32, u32>([!0, 0x1234_5678], naive32, |crc| crc);
}

#[test]
fn every_form_of_the_guard_divides_every_length_at_every_alignment() {
    every_length::<Crc16T10Dif, u16>([0, 0x1234], naive16, remainder16);
}

#[test]
fn every_form_copies_every_length_and_nothing_more() {
    let data = noise(LONGEST + ALIGNMENTS);
    for form in available() {
        for len in 0..=LONGEST {
            let (from, to) = (len % ALIGNMENTS, (len / 3) % ALIGNMENTS);
            let src = &data[from..from + len];
            let mut dst = vec![0xa5; LONGEST + 2 * ALIGNMENTS];
            let begun = 0x89ab_cdef;
            // SAFETY: `available` returned the form.
            let got = unsafe { form.copy_and_update::<Crc32>(begun, &mut dst[to..to + len], src) };
            assert_eq!(got, portable::update::<Crc32>(begun, src), "{form:?}, {len} bytes");
            assert_eq!(&dst[to..to + len], src, "{form:?}, {len} bytes");
            let outside = dst[..to].iter().chain(&dst[to + len..]);
            assert!(outside.into_iter().all(|&byte| byte == 0xa5), "{form:?}, {len} bytes: wrote outside");
        }
    }
}

#[test]
fn a_flipped_bit_is_seen_wherever_it_stands() {
    let mut data = noise(2136);
    let right = crc32(&data);
    for bit in (0..8 * data.len()).step_by(if cfg!(miri) { 4001 } else { 7 }) {
        data[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(crc32(&data), right, "bit {bit}");
        data[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn known_values_come_out() {
    // Values of zlib.
    assert_eq!(crc32(&[]), 0);
    assert_eq!(crc32(&[0; 32]), 0x190a_55ad);
    assert_eq!(crc32(&[0xff; 32]), 0xff6c_ab0b);
    let counting: Vec<u8> = (0..32).collect();
    assert_eq!(crc32(&counting), 0x9126_7e8a);
    assert_eq!(crc32(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
    // Test cases of SBC-3, clause 4.22.4.
    assert_eq!(crc16_t10dif(&[0; 32]), 0);
    assert_eq!(crc16_t10dif(&[0xff; 32]), 0xa293);
    assert_eq!(crc16_t10dif(&counting), 0x0224);
    assert_eq!(crc16_t10dif(&[&[0xff; 2][..], &[0; 30]].concat()), 0x21b8);
}

#[test]
fn the_best_form_is_available() {
    assert!(Form::best().is_available());
}

#[test]
#[should_panic(expected = "give source and destination of one length")]
fn copy_refuses_unequal_lengths() {
    let _ = copy_and_crc32(&mut [0; 3], &[0; 4], 0);
}

proptest! {
    #[test]
    fn words_divide_as_their_bytes(crc: u32, guard: u16, words: [u64; 3]) {
        let bytes = words.map(u64::to_le_bytes);
        let (right, right16) =
            bytes.as_flattened().iter().fold((crc, guard), |(a, b), byte| (naive32(a, *byte), naive16(b, *byte)));
        for form in available() {
            // SAFETY: `available` returned the form.
            let (got, got16) = unsafe {
                (form.update_words::<Crc32>(crc, words), form.update_words::<Crc16T10Dif>(remainder16(guard), words))
            };
            prop_assert_eq!((got, got16), (right, remainder16(right16)), "{:?}", form);
        }
    }

    #[test]
    fn pieces_divide_as_the_whole(pieces in vec(vec(any::<u8>(), 0..200), 0..12)) {
        let whole = pieces.concat();
        let mut copied = vec![0; whole.len()];
        let (mut crc, mut fused, mut guard, mut at) = (0, 0, 0, 0);
        for piece in &pieces {
            crc = crc32_update(crc, piece);
            guard = crc16_t10dif_update(guard, piece);
            fused = copy_and_crc32(&mut copied[at..at + piece.len()], piece, fused);
            at += piece.len();
        }
        prop_assert_eq!(crc, !whole.iter().fold(!0, |crc, &byte| naive32(crc, byte)));
        prop_assert_eq!(guard, whole.iter().fold(0, |crc, &byte| naive16(crc, byte)));
        prop_assert_eq!(fused, crc);
        prop_assert_eq!(copied, whole);
    }
}
