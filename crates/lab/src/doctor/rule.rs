//! A rule: one thing to look at.

use super::finding::Finding;
use super::view::View;

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each interface.
    Interface,
    /// The machine.
    Host,
}

/// Function that looks; the error is the reason why it cannot.
pub(super) type Look = fn(&View<'_>) -> Result<Vec<Finding>, String>;

/// A rule.
pub struct Rule {
    /// Name, as in findings.
    pub name: &'static str,
    /// What it is about.
    pub scope: Scope,
    /// What it looks at.
    pub about: &'static str,
    /// What a finding means.
    pub means: &'static str,
    /// Where that is published.
    pub published: &'static str,
    pub(super) look: Look,
}

/// Nothing was found.
pub(super) fn healthy() -> Result<Vec<Finding>, String> {
    Ok(Vec::new())
}
