//! Bench of the Internet checksum of one segment's payload, beside reading it.

use super::alone::{each_ns, on_core};
use super::sys::read::{Form, forms};
use super::{Bench, How, Missing, Peer, Setting, Variant, failed};
use linerate_result::Unit;
use std::hint::black_box;
use std::time::Duration;

pub(super) const BENCH: Bench = Bench {
    name: "checksum",
    about: "Internet checksum of 1448 bytes in the first cache, on one core",
    unit: Unit::BytesPerSecond,
    two_cores: false,
    bound: None,
    run: |setting| measure(setting, |bytes, time| sum(&bytes, time)),
    peers: &[Peer { name: "read loop", how: How::Best(loops), wanted: Some(0.8) }],
};

/// Payload of a TCP segment with time-stamps, at an MTU of 1500.
const SIZE: usize = 1448;
/// Calls between two clock readings.
const CALLS: u64 = 1024;

/// Bytes per second, computed from nanoseconds per call.
fn measure(
    setting: &Setting,
    measure: impl FnOnce([u8; SIZE], Duration) -> Result<f64, Missing> + Send + 'static,
) -> Result<f64, Missing> {
    let time = setting.time;
    let bytes = std::array::from_fn(|i| u8::try_from((i * 7 + i / 251) % 256).unwrap_or(0));
    on_core(setting.cores[0], move || measure(bytes, time)).map(|ns| SIZE as f64 * 1e9 / ns)
}

fn sum(bytes: &[u8; SIZE], time: Duration) -> Result<f64, Missing> {
    let right = plainly(bytes);
    calls(time, || linerate_sum::checksum(black_box(bytes)) == right)
}

/// Roof: loops that only read the bytes, in the forms that this processor has.
fn loops() -> Vec<Variant> {
    let variant = |(name, form): (&str, Form)| {
        Variant::new(name, move |setting: &Setting| measure(setting, move |bytes, time| read(form, &bytes, time)))
    };
    forms().into_iter().map(variant).collect()
}

fn read(form: Form, bytes: &[u8; SIZE], time: Duration) -> Result<f64, Missing> {
    let right = bytes.as_chunks::<8>().0.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
    calls(time, || form(black_box(bytes)) == right)
}

/// Nanoseconds per call; the result of each call must be right.
fn calls(time: Duration, mut call: impl FnMut() -> bool) -> Result<f64, Missing> {
    each_ns(time, || {
        let mut right = true;
        for _ in 0..CALLS {
            right &= call();
        }
        if right { Ok(CALLS) } else { Err(failed("the sum came out wrong")) }
    })
}

/// Checksum as in RFC 1071, word by word.
fn plainly(bytes: &[u8]) -> u16 {
    let mut sum = 0u16;
    for pair in bytes.chunks(2) {
        let word = u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
        let (low, carry) = sum.overflowing_add(word);
        sum = low + u16::from(carry);
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_and_the_checksum_give_the_right_answer() {
        let bytes = std::array::from_fn(|i| u8::try_from(i % 253).unwrap());
        assert!(sum(&bytes, Duration::from_millis(1)).unwrap() > 0.0);
        for (name, form) in forms() {
            assert!(read(form, &bytes, Duration::from_millis(1)).unwrap() > 0.0, "{name}");
        }
        assert!(loops().len() == forms().len() && loops()[0].name == "64-bit words");
        // RFC 1071, section 3.
        assert_eq!(plainly(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(plainly(&[0xff, 0xff, 0x01]), !0x0100);
    }

    #[test]
    fn a_wrong_answer_fails_the_run() {
        let mut n = 0;
        assert!(
            calls(Duration::ZERO, || {
                n += 1;
                n != 700
            })
            .is_err()
        );
    }
}
