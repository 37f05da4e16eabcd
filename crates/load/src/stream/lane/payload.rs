//! Payload of what is sent: random bytes, or digits over and over.

use crate::socket::PageAligned;
use crate::socket::sys::memory_file;
use std::fs::File;
use std::io::{self, Write};

/// Payload of one block, which all lanes of a test send.
pub(in crate::stream) struct Payload {
    pub(super) block: PageAligned,
    /// The same in a file, for sendfile(2).
    pub(super) file: Option<File>,
}

impl Payload {
    pub(in crate::stream) fn new(
        bytes: usize,
        repeating: bool,
        in_file: bool,
        mut random: impl FnMut() -> u64,
    ) -> io::Result<Self> {
        let mut block = PageAligned::new(bytes);
        if repeating {
            block.iter_mut().zip((b'0'..=b'9').cycle()).for_each(|(byte, digit)| *byte = digit);
        } else {
            block.chunks_mut(8).for_each(|word| word.copy_from_slice(&random().to_ne_bytes()[..word.len()]));
        }
        let file = if in_file {
            let mut file = memory_file()?;
            file.write_all(&block)?;
            Some(file)
        } else {
            None
        };
        Ok(Self { block, file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    #[test]
    fn a_payload_is_as_long_as_asked_in_memory_and_in_its_file() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            seed
        };
        let digits = Payload::new(23, true, false, &mut random).unwrap();
        assert_eq!(digits.block[..], *b"01234567890123456789012");
        let bytes = Payload::new(1001, false, true, &mut random).unwrap();
        let mut file = bytes.file.unwrap();
        let mut read = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut read).unwrap();
        assert_eq!((read.len(), &read[..]), (1001, &bytes.block[..]));
        assert!(bytes.block.windows(8).all(|eight| eight != [0; 8]));
    }
}
