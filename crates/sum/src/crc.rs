//! Cyclic redundancy checks of any polynomial: the update of a remainder by a message, in forms of different width.
//!
//! A remainder is kept as the bytes that are added (xor) to the message's next ones, the first of them lowest in a
//! `u32`: so a form need not know how long a remainder is, nor which way its bits run. Two facts carry the wide forms:
//!
//! - Bytes of zero in front of a message change nothing, so its odd bytes are taken first, behind zeros, and all that
//!   follows is whole vectors.
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

/// One CRC, without what is done before and after the division.
pub(crate) trait Kind {
    /// Generator polynomial.
    const POLYNOMIAL: Polynomial;
    /// By distance in bytes: the remainder of a byte so many bytes before the end.
    const TABLES: &'static [[u32; 256]; portable::STEP] = &Self::POLYNOMIAL.tables();
}

/// The remainder of what `octets` is of, followed by `src`.
#[inline]
pub(crate) fn update<K: Kind>(octets: u32, src: &[u8]) -> u32 {
    let form = if src.len() < WIDE { Form::Portable } else { Form::best() };
    // SAFETY: the portable form is available everywhere, and `best` returns only what is available.
    unsafe { form.update::<K>(octets, src) }
}

/// The same, and copies `src` to `dst` of the same length.
#[inline]
pub(crate) fn copy_and_update<K: Kind>(octets: u32, dst: &mut [u8], src: &[u8]) -> u32 {
    let form = if src.len() < WIDE { Form::Portable } else { Form::best() };
    // SAFETY: as in `fold`.
    unsafe { form.copy_and_update::<K>(octets, dst, src) }
}

/// The remainder of what `octets` is of, followed by the bytes of three words, the first of each lowest.
#[inline]
pub(crate) fn update_words<K: Kind>(octets: u32, words: [u64; 3]) -> u32 {
    // SAFETY: `best` returns only what is available.
    unsafe { Form::best().update_words::<K>(octets, words) }
}

/// What of a remainder is left over for the bytes after the next `n`.
#[cfg(target_arch = "x86_64")]
#[inline]
fn beyond(octets: u32, n: usize) -> u32 {
    if n < 4 { octets >> (8 * n) } else { 0 }
}

/// Below this many bytes a wide form's end costs more than it saves.
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

    /// The widest form that this CPU has. The standard library asks the CPU once and keeps the answer.
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

    /// The remainder of what `octets` is of, followed by `src`.
    ///
    /// # Safety
    ///
    /// The form is available on this CPU.
    #[inline]
    unsafe fn update<K: Kind>(self, octets: u32, src: &[u8]) -> u32 {
        match self {
            Form::Portable => portable::update::<K>(octets, src),
            // SAFETY: the caller vouches that the CPU has PCLMULQDQ and SSE 4.1.
            #[cfg(target_arch = "x86_64")]
            Form::Clmul => unsafe { clmul::update::<K>(octets, src) },
            // SAFETY: the caller vouches that the CPU has AVX2 and VPCLMULQDQ, and what the form before needs.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => unsafe { avx2::update::<K>(octets, src) },
            // SAFETY: the caller vouches that the CPU has AVX-512 F, BW and VBMI2, and VPCLMULQDQ.
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => unsafe { avx512::update::<K>(octets, src) },
        }
    }

    /// The same, and copies `src` to `dst` of the same length.
    ///
    /// # Safety
    ///
    /// The form is available on this CPU.
    #[inline]
    unsafe fn copy_and_update<K: Kind>(self, octets: u32, dst: &mut [u8], src: &[u8]) -> u32 {
        match self {
            Form::Portable => {
                dst.copy_from_slice(src);
                portable::update::<K>(octets, src)
            }
            // SAFETY: the caller vouches that the CPU has PCLMULQDQ and SSE 4.1.
            #[cfg(target_arch = "x86_64")]
            Form::Clmul => unsafe { clmul::copy_and_update::<K>(octets, dst, src) },
            // SAFETY: the caller vouches that the CPU has AVX2 and VPCLMULQDQ, and what the form before needs.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => unsafe { avx2::copy_and_update::<K>(octets, dst, src) },
            // SAFETY: the caller vouches that the CPU has AVX-512 F, BW and VBMI2, and VPCLMULQDQ.
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => unsafe { avx512::copy_and_update::<K>(octets, dst, src) },
        }
    }

    /// The remainder of what `octets` is of, followed by the bytes of three words, the first of each lowest.
    ///
    /// # Safety
    ///
    /// The form is available on this CPU.
    #[inline]
    unsafe fn update_words<K: Kind>(self, octets: u32, words: [u64; 3]) -> u32 {
        match self {
            Form::Portable => portable::update::<K>(octets, words.map(u64::to_le_bytes).as_flattened()),
            // SAFETY: the caller vouches that the CPU has PCLMULQDQ and SSE 4.1, which the other forms need too.
            #[cfg(target_arch = "x86_64")]
            Form::Clmul | Form::Avx2 | Form::Avx512 => unsafe {
                clmul::update_words::<K>(octets, words[0], words[1], words[2])
            },
        }
    }
}

#[cfg(test)]
mod tests;
