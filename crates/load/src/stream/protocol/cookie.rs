//! Cookies, which name a test: control connection and data connections of one client begin with the same.

use std::fmt;

const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// 36 letters and a zero.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cookie([u8; Cookie::LEN]);

impl Cookie {
    /// Bytes on the wire.
    pub const LEN: usize = 37;

    pub fn new(mut random: impl FnMut() -> u64) -> Self {
        let (mut bytes, mut bits, mut left) = ([0; Self::LEN], 0, 0);
        for byte in &mut bytes[..Self::LEN - 1] {
            if left == 0 {
                (bits, left) = (random(), 12);
            }
            *byte = LETTERS[usize::try_from(bits % 32).unwrap_or(0)];
            (bits, left) = (bits / 32, left - 1);
        }
        Self(bytes)
    }

    /// Cookie that a peer sent. Clients are free in their choice of bytes.
    #[must_use]
    pub fn received(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

/// The printable letters up to the zero.
impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = self.0.iter().take_while(|byte| **byte != 0).filter(|byte| byte.is_ascii_graphic());
        letters.map(|byte| char::from(*byte)).try_for_each(|letter| fmt::Write::write_char(f, letter))
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({self})")
    }
}
