//! Multipliers of the wide forms, computed from the polynomial at compile time.
//!
//! A lane is 128 bits of message in a register. If bits run from the highest power of x to the lowest (as in zlib's
//! CRC-32), bit `k` of a lane is the coefficient of x^(127-k), and otherwise, after the bytes were reversed, that of
//! x^k. A product of two reflected halves is one power too high, for which the multipliers here compensate.

use super::portable;

/// A polynomial of a degree of at most 32.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polynomial {
    degree: u32,
    /// Coefficients below the highest, that of x^0 in the lowest bit.
    low: u32,
    /// True if the lowest bit of a byte comes first.
    pub(crate) reflected: bool,
}

/// Two multipliers: for the lower half of a lane in the register, and for the higher one.
#[cfg(any(target_arch = "x86_64", test))]
pub(crate) type Pair = [u64; 2];

impl Polynomial {
    /// Makes a polynomial from degree, coefficients below it, and direction: (32, reflected) or (16, not reflected).
    pub(crate) const fn new(degree: u32, low: u32, reflected: bool) -> Self {
        assert!(if reflected { degree == 32 } else { degree == 16 && low >> 16 == 0 });
        Self { degree, low, reflected }
    }

    /// Tables of [`portable`].
    pub(crate) const fn tables(&self) -> [[u32; 256]; portable::STEP] {
        let mut tables = [[0; 256]; portable::STEP];
        let mut byte = 0;
        while byte < 256 {
            tables[0][byte] = self.byte(byte);
            byte += 1;
        }
        let mut at = 1;
        while at < portable::STEP {
            byte = 0;
            while byte < 256 {
                let before = tables[at - 1][byte];
                tables[at][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
                byte += 1;
            }
            at += 1;
        }
        tables
    }

    /// Remainder of one byte.
    const fn byte(&self, byte: usize) -> u32 {
        let mut rest = byte as u64;
        if self.reflected {
            rest = rest.reverse_bits() >> 56;
        }
        rest <<= self.degree - 8;
        let mut bit = 0;
        while bit < 8 {
            rest <<= 1;
            if rest >> self.degree & 1 == 1 {
                rest ^= 1 << self.degree | self.low as u64;
            }
            bit += 1;
        }
        let [_, _, _, _, a, b, c, d] = rest.to_be_bytes();
        if self.reflected { u32::from_be_bytes([a, b, c, d]).reverse_bits() } else { u32::from_le_bytes([c, d, 0, 0]) }
    }
}

#[cfg(any(target_arch = "x86_64", test))]
impl Polynomial {
    /// Quotient (its 128 lowest bits) and remainder of x^n divided by the polynomial.
    const fn divide(&self, n: u32) -> (u128, u64) {
        let (mut quotient, mut rest, mut at) = (0_u128, 1_u64, 0);
        while at < n {
            rest <<= 1;
            let carry = rest >> self.degree & 1;
            if carry == 1 {
                rest ^= 1 << self.degree | self.low as u64;
            }
            quotient = quotient << 1 | carry as u128;
            at += 1;
        }
        (quotient, rest)
    }

    /// x^n modulo the polynomial, in the form that the products need.
    const fn power(&self, n: u32) -> u64 {
        let rest = self.divide(n).1;
        // Bit j is the coefficient of x^(32-j): this compensates for the extra power.
        if self.reflected { rest.reverse_bits() >> 31 } else { rest }
    }

    /// Multipliers that shift a lane by `bits`, at least 64: the products of its halves are added to the lane there.
    pub(crate) const fn fold(&self, bits: u32) -> Pair {
        if self.reflected {
            [self.power(bits + 32), self.power(bits - 32)]
        } else {
            [self.power(bits), self.power(bits + 64)]
        }
    }

    /// Multipliers that shift a lane by `bits` and by the polynomial's degree, for the division by
    /// [`barrett`](Self::barrett): a reflected result is in the lowest 96 bits, another one in the highest 80.
    pub(crate) const fn last(&self, bits: u32) -> Pair {
        if self.reflected {
            [self.power(bits + 96), self.power(bits + 32)]
        } else {
            [self.power(bits + 16) << 48, self.power(bits + 80) << 48]
        }
    }

    /// Constants of a Barrett division by two multiplications: x^(64 + degree) divided by the polynomial, and the
    /// polynomial. If reflected, the highest coefficient is in the lowest bit, and the first constant lacks its last
    /// coefficient, on which no whole quotient depends; otherwise both lack their highest ones.
    pub(crate) const fn barrett(&self) -> Pair {
        let quotient = self.divide(64 + self.degree).0;
        if self.reflected {
            [low_half(quotient >> 1).reverse_bits(), (self.low.reverse_bits() as u64) << 1 | 1]
        } else {
            [low_half(quotient), (self.low as u64) << 48]
        }
    }
}

#[cfg(any(target_arch = "x86_64", test))]
#[expect(clippy::cast_possible_truncation, reason = "the half that is wanted")]
const fn low_half(wide: u128) -> u64 {
    wide as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_were_published() {
        // Gopal et al., at the end of section "Bit-reflected": k1 to k5, the polynomial, and its quotient, which has 33
        // bits there where 65 are needed here.
        let crc32 = Polynomial::new(32, 0x04c1_1db7, true);
        assert_eq!(crc32.fold(512), [0x1_5444_2bd4, 0x1_c6e4_1596]);
        assert_eq!(crc32.fold(128), [0x1_7519_97d0, 0x0_ccaa_009e]);
        assert_eq!(crc32.power(64), 0x1_63cd_6124);
        assert_eq!(crc32.barrett()[1], 0x1_db71_0641);
        assert_eq!(crc32.barrett()[0] & 0x1_ffff_ffff, 0x1_f701_1641);
        assert_eq!(crc32.tables()[0][1], 0x7707_3096);
    }
}
