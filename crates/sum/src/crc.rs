//! Cyclic redundancy checks of any polynomial: the update of a remainder by a message, in forms of different width.
//!
//! A remainder is kept as the bytes that are added (xor) to the message's next ones, the first of them lowest in a
//! `u32`, so that a form does not depend on the remainder's length or bit order. Two facts make the wide forms
//! possible:
//!
//! - Zero bytes before a message change nothing, so its odd bytes are processed first, after zeros, and the rest is
//!   whole vectors.
//! - A part of the message is congruent to itself times x^n modulo the polynomial, `n` bits further on: it is *folded* onto
//!   the vector there by one carry-less multiplication of each half and xor. The last vector is *reduced* by Barrett's method
//!   (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod clmul;
mod polynomial;
mod portable;

pub(crate) use polynomial::Polynomial;

/// One CRC, without the operations before and after the division.
pub(crate) trait Kind {
    /// Generator polynomial.
    const POLYNOMIAL: Polynomial;
    /// Tables by distance in bytes: the remainder of a byte that many bytes before the end.
    const TABLES: &'static [[u32; 256]; portable::STEP] = &Self::POLYNOMIAL.tables();
}

/// Continues `remainder` over `src`.
#[inline]
pub(crate) fn update<K: Kind>(remainder: u32, src: &[u8]) -> u32 {
    let form = if src.len() < WIDE { Form::Portable } else { Form::best() };
    // SAFETY: the portable form is available everywhere, and `best` returns only available forms.
    unsafe { form.update::<K>(remainder, src) }
}

/// Like [`update`], and copies `src` to `dst` of the same length.
#[inline]
pub(crate) fn copy_and_update<K: Kind>(remainder: u32, dst: &mut [u8], src: &[u8]) -> u32 {
    let form = if src.len() < WIDE { Form::Portable } else { Form::best() };
    // SAFETY: as in `update`.
    unsafe { form.copy_and_update::<K>(remainder, dst, src) }
}

/// Continues `remainder` over three words in little-endian order.
#[inline]
pub(crate) fn update_words<K: Kind>(remainder: u32, words: [u64; 3]) -> u32 {
    // SAFETY: `best` returns only available forms.
    unsafe { Form::best().update_words::<K>(remainder, words) }
}

/// Part of a remainder that is left for the bytes after the next `n`.
#[cfg(target_arch = "x86_64")]
#[inline]
fn beyond(remainder: u32, n: usize) -> u32 {
    if n < 4 { remainder >> (8 * n) } else { 0 }
}

/// Length in bytes below which the final reduction of a wide form costs more than it saves.
const WIDE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Clmul,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Form {
    #[cfg(test)]
    const ALL: &'static [Form] = &[
        Form::Portable,
        #[cfg(target_arch = "x86_64")]
        Form::Clmul,
        #[cfg(target_arch = "x86_64")]
        Form::Avx2,
        #[cfg(target_arch = "x86_64")]
        Form::Avx512,
    ];

    /// The widest form that this CPU supports. The standard library caches the CPU's features.
    #[inline]
    fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if Form::Avx512.is_available() {
                return Form::Avx512;
            }
            if Form::Avx2.is_available() {
                return Form::Avx2;
            }
            if Form::Clmul.is_available() {
                return Form::Clmul;
            }
        }
        Form::Portable
    }

    #[inline]
    fn is_available(self) -> bool {
        match self {
            Form::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Form::Clmul => is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("sse4.1"),
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => {
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("vpclmulqdq") && Form::Clmul.is_available()
            }
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("vpclmulqdq")
                    && Form::Clmul.is_available()
            }
        }
    }

    /// Continues `remainder` over `src`.
    ///
    /// # Safety
    ///
    /// The form is available on this CPU.
    #[inline]
    unsafe fn update<K: Kind>(self, remainder: u32, src: &[u8]) -> u32 {
        match self {
            Form::Portable => portable::update::<K>(remainder, src),
            // SAFETY: the caller vouches that the CPU has PCLMULQDQ and SSE 4.1.
            #[cfg(target_arch = "x86_64")]
            Form::Clmul => unsafe { clmul::update::<K>(remainder, src) },
            // SAFETY: the caller vouches that the CPU has AVX2 and VPCLMULQDQ, and what the form before needs.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => unsafe { avx2::update::<K>(remainder, src) },
            // SAFETY: the caller vouches that the CPU has AVX-512 F, BW and VBMI2, and VPCLMULQDQ.
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => unsafe { avx512::update::<K>(remainder, src) },
        }
    }

    /// Like [`Form::update`], and copies `src` to `dst` of the same length.
    ///
    /// # Safety
    ///
    /// The form is available on this CPU.
    #[inline]
    unsafe fn copy_and_update<K: Kind>(self, remainder: u32, dst: &mut [u8], src: &[u8]) -> u32 {
        match self {
            Form::Portable => {
                dst.copy_from_slice(src);
                portable::update::<K>(remainder, src)
            }
            // SAFETY: the caller vouches that the CPU has PCLMULQDQ and SSE 4.1.
            #[cfg(target_arch = "x86_64")]
            Form::Clmul => unsafe { clmul::copy_and_update::<K>(remainder, dst, src) },
            // SAFETY: the caller vouches that the CPU has AVX2 and VPCLMULQDQ, and what the form before needs.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => unsafe { avx2::copy_and_update::<K>(remainder, dst, src) },
            // SAFETY: the caller vouches that the CPU has AVX-512 F, BW and VBMI2, and VPCLMULQDQ.
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => unsafe { avx512::copy_and_update::<K>(remainder, dst, src) },
        }
    }

    /// Continues `remainder` over three words in little-endian order.
    ///
    /// # Safety
    ///
    /// The form is available on this CPU.
    #[inline]
    unsafe fn update_words<K: Kind>(self, remainder: u32, words: [u64; 3]) -> u32 {
        match self {
            Form::Portable => portable::update::<K>(remainder, words.map(u64::to_le_bytes).as_flattened()),
            // SAFETY: the caller vouches that the CPU has PCLMULQDQ and SSE 4.1, which the other forms need too.
            #[cfg(target_arch = "x86_64")]
            Form::Clmul | Form::Avx2 | Form::Avx512 => unsafe {
                clmul::update_words::<K>(remainder, words[0], words[1], words[2])
            },
        }
    }
}

#[cfg(test)]
mod tests;
