//! Findings of rules.

use super::fix::Mend;
use super::knob::Knob;
use super::rule::Rule;
use linerate_host::tunables::Value;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know; or nothing that this machine could change.
    Note,
    /// It costs speed or frames.
    Warning,
    /// It does not work, or corrupts.
    Error,
}

impl Severity {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Class of what changes may do besides what they are made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// They cost speed at most.
    #[default]
    Safe,
    /// They interrupt or change traffic for a moment: the link or its queues are set up anew.
    Traffic,
    /// They may loosen what an administrator has tightened, so they are made only if their rule is named.
    Security,
}

impl Risk {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Traffic => "traffic",
            Self::Security => "security",
        }
    }

    fn is_safe(&self) -> bool {
        *self == Self::Safe
    }
}

/// A load for which a host is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    Tcp,
    Udp,
    /// Frames by AF_XDP or packet sockets.
    PktGen,
    /// Storage.
    Fcoe,
    /// Frames that are passed on.
    Forward,
}

impl Load {
    pub const ALL: [(&'static str, Self); 5] = [
        ("tcp", Self::Tcp),
        ("udp", Self::Udp),
        ("pkt-gen", Self::PktGen),
        ("fcoe", Self::Fcoe),
        ("forward", Self::Forward),
    ];

    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, load)| *load == self).map_or("", |(word, _)| word)
    }

    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, load)| *load)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The value, with its name.
    pub value: String,
    /// A command that shows it, or the file.
    pub read: String,
}

/// A finding. Those of another machine may be of another version of this program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub rule: Cow<'static, str>,
    /// The interface, the address of the peer, or `host`.
    pub subject: String,
    pub severity: Severity,
    /// The fault, in a line.
    pub what: String,
    /// Values that were seen.
    pub evidence: Vec<Evidence>,
    pub means: Cow<'static, str>,
    /// Command to type; none if nothing on this machine helps.
    pub mend: Option<String>,
    /// Changes that do the same, and can be taken back; none if it is to be done by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix: Vec<Mend>,
    #[serde(default, skip_serializing_if = "Risk::is_safe")]
    pub risk: Risk,
    /// Effect that is to be expected from that.
    pub gain: Option<String>,
    pub published: Cow<'static, str>,
}

impl Finding {
    /// Makes a finding of a line; the rule and the subject are filled in by who applies the rule.
    pub(super) fn new(severity: Severity, what: impl Into<String>) -> Self {
        Self {
            rule: Cow::Borrowed(""),
            subject: String::new(),
            severity,
            what: what.into(),
            evidence: Vec::new(),
            means: Cow::Borrowed(""),
            mend: None,
            fix: Vec::new(),
            risk: Risk::Safe,
            gain: None,
            published: Cow::Borrowed(""),
        }
    }

    pub(super) fn seen(mut self, value: impl Into<String>, read: impl Into<String>) -> Self {
        self.evidence.push(Evidence { value: value.into(), read: read.into() });
        self
    }

    pub(super) fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }

    /// Adds a setting of an interface that does the same.
    pub(super) fn sets(mut self, interface: &str, name: &str, to: Value) -> Self {
        let knob = Knob::Setting { interface: interface.to_owned(), name: name.to_owned() };
        self.risk = self.risk.max(knob.risk());
        self.fix.push(Mend { knob, to });
        self
    }

    /// Adds a file of /proc or /sys that does the same, its path without the slash in front.
    pub(super) fn writes(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        let knob = Knob::File(path.into());
        self.risk = self.risk.max(knob.risk());
        self.fix.push(Mend { knob, to: Value::Text(text.into()) });
        self
    }

    /// Says what this one means, where that is not what its rule's others mean.
    pub(super) fn meaning(mut self, means: &'static str) -> Self {
        self.means = Cow::Borrowed(means);
        self
    }

    pub(super) fn gain(mut self, gain: impl Into<String>) -> Self {
        self.gain = Some(gain.into());
        self
    }

    pub(super) fn alone(self) -> Result<Vec<Self>, String> {
        Ok(vec![self])
    }

    pub(super) fn of(self, rule: &Rule, subject: &str) -> Self {
        let [name, usual, published] = [rule.name, rule.means, rule.published].map(Cow::Borrowed);
        let means = if self.means.is_empty() { usual } else { self.means };
        let risk = if self.fix.is_empty() { Risk::Safe } else { self.risk.max(rule.risk) };
        Self { rule: name, subject: subject.to_owned(), means, published, risk, ..self }
    }
}
