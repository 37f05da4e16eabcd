//! State while flags are read.

use super::targets::Named;
use crate::xdd::config::{Config, Target};

/// Object that a flag applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::xdd) enum Scope {
    Run,
    /// A target that the flag may name, or all targets.
    Target,
}

/// Values of the flags read so far.
#[derive(Default)]
pub(in crate::xdd) struct State {
    pub(super) config: Config,
    /// Names of the targets, and settings that concern several.
    pub(super) named: Named,
    pub(super) target: Target,
    /// Words to insert in place of the last flag.
    pub(super) inserted: Vec<String>,
    /// Number of files whose words were inserted.
    pub(super) files: usize,
}
