//! A rule: one thing to look at.

use super::finding::Finding;
use super::view::View;

/// Kind of a rule's subject.
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
    /// Kind of its subject.
    pub scope: Scope,
    /// Description of the values that it looks at.
    pub about: &'static str,
    /// Meaning of a finding.
    pub means: &'static str,
    /// Publication of that.
    pub published: &'static str,
    pub(super) look: Look,
}

/// Nothing was found.
pub(super) fn healthy() -> Result<Vec<Finding>, String> {
    Ok(Vec::new())
}
