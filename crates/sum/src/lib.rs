//! Checksums: the Internet checksum and the CRCs of Fibre Channel and T10, alone and fused with a copy. Also
//! SplitMix64, the mixing function and generator of the whole workspace, for hashes, patterns and reproducible random
//! numbers, and the passes over memory that only fetch it.
//!
//! Each algorithm has a portable form and wider ones (AVX2, AVX-512, carry-less multiplication) chosen at run time by
//! the CPU's features; all forms give the same result. This crate knows no packet format: `wire` determines the covered
//! bytes and the place of the result.
//!
//! ```
//! // The example of RFC 1071, section 3.
//! let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
//! assert_eq!(linerate_sum::checksum(&data), !0xddf2);
//! ```

#![deny(missing_docs)]

mod crc;
mod crc16;
mod crc32;
mod hint;
mod internet;
mod split_mix;

pub use crc16::{crc16_t10dif, crc16_t10dif_update};
pub use crc32::{copy_and_crc32, crc32, crc32_update, crc32_words};
pub use hint::{prefetch, prefetch_to_write};
pub use internet::{Sum, checksum, copy_and_sum, form, update};
pub use split_mix::{SplitMix64, mix};
