//! The Internet checksum (RFC 1071): the one's complement of the one's complement sum of 16-bit big-endian words.
//!
//! Two facts of RFC 1071, section 2 determine the design:
//!
//! - (B) The sum does not depend on byte order: words are added as the CPU loads them and only the result is swapped.
//! - (C) Because 2^16 = 1 modulo 2^16 - 1, wider words may be added and folded late, and a sum whose bytes lie at an
//!   odd offset is the same sum rotated by eight bits.
//!
//! A *partial* in the files below is a `u64` that is congruent, modulo 2^16 - 1, to the sum of the 16-bit words in the
//! CPU's byte order, and that is zero only when every byte was zero.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

/// A running Internet checksum over bytes that arrive in pieces.
///
/// Pieces may have any length and alignment, odd ones included: the sum is that of their concatenation, padded with one
/// zero byte if its length is odd.
///
/// ```
/// use linerate_sum::{Sum, checksum};
///
/// let mut sum = Sum::new();
/// sum.add_bytes(b"odd").add_u16(0x1234).add_bytes(b"rest");
/// assert_eq!(sum.finish(), checksum(b"odd\x12\x34rest"));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    /// A partial sum; end-around carry keeps it from overflowing.
    partial: u64,
    /// True if an odd number of bytes was added.
    odd: bool,
}

impl Sum {
    /// The sum of no bytes.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self { partial: 0, odd: false }
    }

    /// Adds the bytes of `bytes`.
    #[inline]
    pub fn add_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        if bytes.len() < WIDE {
            // Headers and short datagrams: a call would take longer than the sum.
            self.add_partial(portable::short(bytes), bytes.len() % 2 == 1);
            return self;
        }
        self.add_long(bytes)
    }

    #[inline(never)]
    fn add_long(&mut self, bytes: &[u8]) -> &mut Self {
        for block in bytes.chunks(BLOCK) {
            self.add_partial(sum(block), block.len() % 2 == 1);
        }
        self
    }

    /// Adds the two bytes of `value` in network order.
    #[inline]
    pub fn add_u16(&mut self, value: u16) -> &mut Self {
        self.add_partial(u64::from(value.to_be()), false);
        self
    }

    /// Adds the four bytes of `value` in network order.
    #[inline]
    pub fn add_u32(&mut self, value: u32) -> &mut Self {
        self.add_partial(u64::from(value.to_be()), false);
        self
    }

    /// Adds the bytes that `other` has summed, as if they followed here: the sums of a header and of its payload make
    /// the packet's.
    #[inline]
    pub fn add_sum(&mut self, other: Self) -> &mut Self {
        self.add_partial(other.partial, other.odd);
        self
    }

    /// The sum folded to 16 bits and *not* complemented, in host order: the initial value of a checksum field that an
    /// adapter is to complete (for the pseudo-header).
    #[inline]
    #[must_use]
    pub const fn fold(self) -> u16 {
        u16::from_be(fold(self.partial))
    }

    /// The checksum, folded and complemented, in host order. Zero for a packet with a right checksum field.
    #[inline]
    #[must_use]
    pub const fn finish(self) -> u16 {
        !self.fold()
    }

    #[inline]
    fn add_partial(&mut self, partial: u64, odd: bool) {
        let aligned = if self.odd { partial.rotate_left(8) } else { partial };
        self.partial = add(self.partial, aligned);
        self.odd ^= odd;
    }
}

/// The Internet checksum of `bytes`, in host order.
///
/// It is zero for a header that contains its own right checksum:
///
/// ```
/// let header = [
///     0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00,
///     0xc7,
/// ];
/// assert_eq!(linerate_sum::checksum(&header), 0);
/// ```
#[inline]
#[must_use]
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::new().add_bytes(bytes).finish()
}

/// Updates a checksum after one covered 16-bit word changed from `old` to `new`; all in host order.
///
/// RFC 1624, equation 3: `HC' = ~(~HC + ~m + m')`. It is exact: unless all covered bytes are zero, the result equals
/// the checksum computed afresh.
///
/// ```
/// // The example of RFC 1624, section 4.
/// assert_eq!(linerate_sum::update(0xdd2f, 0x5555, 0x3285), 0x0000);
/// ```
#[inline]
#[must_use]
pub const fn update(old_csum: u16, old: u16, new: u16) -> u16 {
    !fold(!old_csum as u64 + !old as u64 + new as u64)
}

/// Copies `src` to `dst` and returns its sum, reading it once.
///
/// ```
/// let mut slot = [0; 5];
/// let mut sum = linerate_sum::copy_and_sum(&mut slot, b"hello");
/// assert_eq!(&slot, b"hello");
/// assert_eq!(sum.finish(), linerate_sum::checksum(b"hello"));
/// ```
///
/// # Panics
///
/// Panics if the lengths differ, as [`slice::copy_from_slice`] does.
#[inline]
pub fn copy_and_sum(dst: &mut [u8], src: &[u8]) -> Sum {
    assert_eq!(dst.len(), src.len(), "copy_and_sum: give source and destination of one length");
    let mut total = Sum::new();
    for (dst, src) in dst.chunks_mut(BLOCK).zip(src.chunks(BLOCK)) {
        total.add_partial(copy(dst, src), src.len() % 2 == 1);
    }
    total
}

/// Name of the implementation that this CPU runs: `portable`, `avx2` or `avx512`.
#[must_use]
pub fn form() -> &'static str {
    match Form::best() {
        Form::Portable => "portable",
        #[cfg(target_arch = "x86_64")]
        Form::Avx2 => "avx2",
        #[cfg(target_arch = "x86_64")]
        Form::Avx512 => "avx512",
    }
}

/// Most bytes summed by one call of a form, so that its lanes do not overflow. Small in tests, so that they exceed it.
const BLOCK: usize = if cfg!(test) { 1000 } else { 1 << 20 };

/// Length in bytes below which the start-up of a wide form costs more than it saves.
const WIDE: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Portable,
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
        }
        Form::Portable
    }

    #[inline]
    fn is_available(self) -> bool {
        match self {
            Form::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vnni")
            }
        }
    }

    /// Partial sum of `src`, at most [`BLOCK`] bytes.
    ///
    /// # Safety
    ///
    /// The form is available on this CPU.
    #[inline]
    unsafe fn sum(self, src: &[u8]) -> u64 {
        match self {
            Form::Portable => portable::sum(src),
            // SAFETY: the caller vouches that the CPU has AVX2.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => unsafe { avx2::sum(src) },
            // SAFETY: the caller vouches that the CPU has AVX-512 F, BW and VNNI.
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => unsafe { avx512::sum(src) },
        }
    }

    /// Copies `src`, at most [`BLOCK`] bytes, to `dst` of the same length; returns its partial sum.
    ///
    /// # Safety
    ///
    /// The form is available on this CPU.
    #[inline]
    unsafe fn copy(self, dst: &mut [u8], src: &[u8]) -> u64 {
        match self {
            Form::Portable => portable::copy(dst, src),
            // SAFETY: the caller vouches that the CPU has AVX2.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2 => unsafe { avx2::copy(dst, src) },
            // SAFETY: the caller vouches that the CPU has AVX-512 F, BW and VNNI.
            #[cfg(target_arch = "x86_64")]
            Form::Avx512 => unsafe { avx512::copy(dst, src) },
        }
    }
}

#[inline]
fn sum(src: &[u8]) -> u64 {
    let form = if src.len() < WIDE { Form::Portable } else { Form::best() };
    // SAFETY: the portable form is available everywhere, and `best` returns only available forms.
    unsafe { form.sum(src) }
}

#[inline]
fn copy(dst: &mut [u8], src: &[u8]) -> u64 {
    if src.len() < portable::SHORT {
        return portable::copy_short(dst, src);
    }
    // SAFETY: `best` returns only available forms.
    unsafe { Form::best().copy(dst, src) }
}

/// One's complement addition: the carry is added at the low end. It cannot carry twice: a sum that overflowed is at
/// most 2^64 - 2.
#[inline]
const fn add(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum + carry as u64
}

/// Folds a partial sum to 16 bits; zero only for zero.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "each half is taken on purpose; their carry comes back in")]
const fn fold(partial: u64) -> u16 {
    let (low, carry) = (partial as u32).overflowing_add((partial >> 32) as u32);
    let word = low + carry as u32;
    let (low, carry) = (word as u16).overflowing_add((word >> 16) as u16);
    low + carry as u16
}

#[cfg(test)]
mod tests;
