//! Checksums: the Internet checksum and Fibre Channel's and T10's CRCs, alone and fused with a copy. Beside them SplitMix64,
//! the one mixing function and generator of the workspace, for hashes, patterns and repeatable chance.
//!
//! Each algorithm has a portable form and wider ones (AVX2, AVX-512, carry-less multiplication) chosen at run time by
//! what the CPU has; all forms give the same answer. This crate knows no packet format: which bytes are covered, and
//! where the result goes, is the business of `wire`.
//!
//! ```
//! // The example of RFC 1071, section 3.
//! let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
//! assert_eq!(linerate_sum::checksum(&data), !0xddf2);
//! ```

mod crc;
mod crc16;
mod crc32;
mod internet;
mod split_mix;

pub use crc16::{crc16_t10dif, crc16_t10dif_update};
pub use crc32::{copy_and_crc32, crc32, crc32_update, crc32_words};
pub use internet::{Sum, checksum, copy_and_sum, form, update};
pub use split_mix::{SplitMix64, mix};
