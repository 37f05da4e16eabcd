//! Text that users type and read: sizes, lines that are safe on a terminal, hexadecimal digits, file names that are not
//! UTF-8, the word that was meant.
//!
//! It knows no flag, no port and no protocol: who parses says what is wrong and how to mend it.

#![forbid(unsafe_code)]

mod counters;
mod hex;
mod line;
mod nearest;
pub mod path;
mod saturating;
mod size;

pub use counters::Sum;
pub use hex::{colons, hex, unhex};
pub use line::{drives, escaped, many, one_line, plain, plain_lines, short, wrapped};
pub use nearest::nearest;
pub use saturating::{cut, saturating_ns, saturating_u64};
pub use size::{by_case, bytes, decimal, fraction, power, size, whole};
