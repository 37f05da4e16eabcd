//! What is known while flags are read.

use super::targets::Named;
use crate::xdd::config::{Config, Target};

/// What a flag is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::xdd) enum Scope {
    /// The run.
    Run,
    /// A target that it may name, or all.
    Target,
}

/// What flags have said.
#[derive(Default)]
pub(in crate::xdd) struct State {
    /// Of the run.
    pub(super) config: Config,
    /// Of which targets there are.
    pub(super) named: Named,
    /// Of a target.
    pub(super) target: Target,
    /// Words that stand where the last flag stood.
    pub(super) inserted: Vec<String>,
    /// Files whose words were inserted.
    pub(super) files: usize,
}
