//! Tests of every form against a sum written after RFC 1071, over all lengths and alignments.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const LONGEST: usize = 4096;
const ALIGNMENTS: usize = 64;

/// RFC 1071, section 1, word by word.
fn naive(bytes: &[u8]) -> u16 {
    let mut sum = 0_u64;
    for word in bytes.chunks(2) {
        sum += u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0));
    }
    folded(sum)
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
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

fn sum_by(form: Form, bytes: &[u8]) -> u16 {
    // SAFETY: the callers take forms from `available`.
    !u16::from_be(fold(unsafe { form.sum(bytes) }))
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

#[test]
fn every_form_sums_every_length_at_every_alignment() {
    let data = noise(LONGEST + ALIGNMENTS);
    for form in available() {
        for start in 0..ALIGNMENTS {
            let bytes = &data[start..start + LONGEST];
            // The expected sum grows with the length: a byte is the high half of its word, then the low half.
            let mut words = 0_u64;
            for len in 0..=LONGEST {
                assert_eq!(sum_by(form, &bytes[..len]), folded(words), "{form:?}, {len} bytes at {start}");
                let byte = bytes.get(len).copied().unwrap_or_default();
                words += u64::from(byte) << (8 * (1 - len % 2));
            }
        }
    }
}

#[test]
fn every_form_copies_every_length_and_nothing_more() {
    let data = noise(LONGEST + ALIGNMENTS);
    for form in available() {
        for len in 0..=LONGEST {
            let (from, to) = (len % ALIGNMENTS, (len / 3) % ALIGNMENTS);
            let src = &data[from..from + len];
            let mut dst = vec![0xa5; LONGEST + 2 * ALIGNMENTS];
            // SAFETY: `available` returned the form.
            let partial = unsafe { form.copy(&mut dst[to..to + len], src) };
            assert_eq!(!u16::from_be(fold(partial)), naive(src), "{form:?}, {len} bytes");
            assert_eq!(&dst[to..to + len], src, "{form:?}, {len} bytes");
            let outside = dst[..to].iter().chain(&dst[to + len..]);
            assert!(outside.into_iter().all(|&byte| byte == 0xa5), "{form:?}, {len} bytes: wrote outside");
        }
    }
}

#[test]
fn short_copies_are_copied_and_summed_at_every_length() {
    let data = noise(2 * portable::SHORT);
    for len in 0..data.len() {
        let mut dst = vec![0xa5; len + 2];
        let sum = copy_and_sum(&mut dst[1..=len], &data[..len]);
        assert_eq!(sum.finish(), naive(&data[..len]), "{len} bytes");
        assert_eq!(dst[1..=len], data[..len], "{len} bytes");
        assert_eq!((dst[0], dst[len + 1]), (0xa5, 0xa5), "{len} bytes: wrote outside");
    }
}

#[test]
fn every_form_carries_through_all_ones() {
    // Words of the greatest value: every addition carries. A megabyte exceeds 32 bits in each lane.
    for len in [1, 2, 63, 64, 65, 4096, 1 << 20, (1 << 20) + 1] {
        let ones = vec![0xff; len];
        for form in available() {
            assert_eq!(sum_by(form, &ones), naive(&ones), "{form:?}, {len} bytes");
        }
        assert_eq!(sum_by(Form::Portable, &vec![0; len]), 0xffff, "zeros sum to zero");
    }
}

#[test]
fn the_best_form_is_available_and_named() {
    assert!(Form::best().is_available());
    assert_eq!(form(), format!("{:?}", Form::best()).to_lowercase());
}

#[test]
#[should_panic(expected = "give source and destination of one length")]
fn copy_refuses_unequal_lengths() {
    let _ = copy_and_sum(&mut [0; 3], &[0; 4]);
}

proptest! {
    #[test]
    fn every_form_agrees_with_the_rfc(data in vec(any::<u8>(), 0..LONGEST), start in 0..ALIGNMENTS) {
        let bytes = &data[start.min(data.len())..];
        let right = naive(bytes);
        for form in available() {
            prop_assert_eq!(sum_by(form, bytes), right, "{:?}", form);
        }
        prop_assert_eq!(checksum(bytes), right);
    }

    #[test]
    fn pieces_sum_to_the_whole(pieces in vec(vec(any::<u8>(), 0..200), 0..12)) {
        let whole = pieces.concat();
        let mut by_bytes = Sum::new();
        let mut by_sums = Sum::new();
        for piece in &pieces {
            by_bytes.add_bytes(piece);
            by_sums.add_sum(*Sum::new().add_bytes(piece));
        }
        prop_assert_eq!(by_bytes.finish(), naive(&whole));
        prop_assert_eq!(by_sums.finish(), naive(&whole));
    }

    #[test]
    fn integers_are_their_bytes(head in vec(any::<u8>(), 0..4), half in any::<u16>(), word in any::<u32>()) {
        let mut sum = Sum::new();
        sum.add_bytes(&head).add_u16(half).add_u32(word);
        let bytes = [&head[..], &half.to_be_bytes(), &word.to_be_bytes()].concat();
        prop_assert_eq!(sum.finish(), naive(&bytes));
        prop_assert_eq!(sum.fold(), !naive(&bytes));
    }

    #[test]
    fn copy_and_sum_is_copy_and_sum(src in vec(any::<u8>(), 0..LONGEST), after in vec(any::<u8>(), 0..8)) {
        let mut dst = vec![0; src.len()];
        let mut sum = copy_and_sum(&mut dst, &src);
        prop_assert_eq!(&dst, &src);
        prop_assert_eq!(sum.finish(), naive(&src));
        prop_assert_eq!(sum.add_bytes(&after).finish(), naive(&[src, after].concat()));
    }

    #[test]
    fn update_is_a_fresh_checksum(mut data in vec(any::<u8>(), 2..64), at in any::<prop::sample::Index>(), new: u16) {
        // A header is never all zeros (RFC 1624, section 3 depends on this).
        data.push(1);
        let at = at.index(data.len() / 2) * 2;
        let old_csum = checksum(&data);
        let field = &mut data[at..at + 2];
        let old = u16::from_be_bytes([field[0], field[1]]);
        field.copy_from_slice(&new.to_be_bytes());
        prop_assume!(data.iter().any(|&byte| byte != 0));
        prop_assert_eq!(update(old_csum, old, new), checksum(&data));
    }
}
