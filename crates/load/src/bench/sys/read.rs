//! Loops that only read, as fast as the compiler makes them for each instruction set: the roof of a checksum.

/// Form of the loop: returns the wrapping sum of all whole 64-bit words, in the processor's byte order.
pub(crate) type Form = fn(&[u8]) -> u64;

/// Forms that this processor has, with their names.
pub(crate) fn forms() -> Vec<(&'static str, Form)> {
    let mut forms: Vec<(&str, Form)> = vec![("64-bit words", add::<8>)];
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            forms.push(("AVX2", |bytes| unsafe { avx2(bytes) }));
        }
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            forms.push(("AVX-512", |bytes| unsafe { avx512(bytes) }));
        }
    }
    forms
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(bytes: &[u8]) -> u64 {
    add::<16>(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(bytes: &[u8]) -> u64 {
    add::<64>(bytes)
}

/// Adds in `LANES` lanes; each form uses the number with which the compiler's code was fastest.
#[inline(always)]
fn add<const LANES: usize>(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks::<8>().0;
    let (steps, rest) = words.as_chunks::<LANES>();
    let mut lanes = [0u64; LANES];
    for step in steps {
        for (lane, word) in lanes.iter_mut().zip(step) {
            *lane = lane.wrapping_add(u64::from_ne_bytes(*word));
        }
    }
    let rest = rest.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
    lanes.iter().fold(rest, |sum, lane| sum.wrapping_add(*lane))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_agree() {
        let bytes: Vec<u8> = (0..2000u32).map(|i| u8::try_from(i % 251).unwrap()).collect();
        for len in (0..600).chain([1448, 1999]) {
            let right = bytes[..len].chunks_exact(8).map(|w| u64::from_ne_bytes(w.try_into().unwrap()));
            let right = right.fold(0u64, u64::wrapping_add);
            for (name, form) in forms() {
                assert_eq!(form(&bytes[..len]), right, "{name}, {len}");
            }
        }
    }
}
