//! Settings of the machine's own adapters: one table of names, each read from the kernel's answer and written by the
//! message beside it (ethtool's `…_SET`, rtnetlink, sysctl), and read back.
//!
//! Changes stay: what has to be put back is the matter of [`settings`](crate::settings). A driver that answers yes and
//! does something else is not believed; refusals keep the kernel's words.

mod apply;
mod build;
mod dcb;
mod sets;
mod state;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};
use std::fmt;

pub use apply::{Aim, Outcome, Refused, apply, group_of_name, same, why_not};
pub use build::Change;
pub use dcb::applications;
pub(crate) use dcb::map as dcb_map;
pub use state::{State, Tunable, difference, read};
pub use table::Group;
pub use target::Target;
pub use words::{Unknown, Wish, meant, names};

/// Value of a setting. Documents have it as it is: `true`, `9000`, `"rs,baser"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// On or off.
    On(bool),
    Number(u64),
    /// Words, or several numbers.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}
