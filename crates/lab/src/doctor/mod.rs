//! The doctor: what is wrong with an interface of this machine and with the machine around it, what that means, and what to
//! type.
//!
//! A rule is a row in the file of its subject, and all of them are [`RULES`]. It looks at what was read ([`View`]) and gives
//! findings; it changes nothing. A rule that cannot look says why.

mod configured;
mod document;
mod examine;
mod finding;
mod fix;
mod flows;
mod guard;
mod intent;
mod knob;
mod longest;
mod network;
mod peer;
mod protocols;
mod prove;
mod role;
mod rule;
mod rules;
mod side;
mod text;
mod undo;
mod view;

pub use document::proofs;
pub use examine::{Asked, examine, touch};
pub use finding::{Evidence, Finding, Load, Risk, Severity};
pub use fix::{Did, Mend, Step, fix, left_out, plan};
pub use flows::{Flows, Segments};
pub use guard::{Guard, confirm, refuse, unconfirmed_file, wait, waiting};
pub use knob::Knob;
pub use longest::Sizes;
pub use peer::Probed;
pub use prove::{Measured, ProofServer, Proven, Rounds, Verdict, abandoned, prove, recover};
pub use role::Role;
pub use rule::{Proof, Rule, Scope};
pub use rules::RULES;
pub use side::{LinkEnd, Side};
pub use text::{made, planned, proof, render};
pub use undo::{TakenBack, Was, new_file, undo};
pub use view::View;

use linerate_host::freebsd::{FreebsdAdapter, FreebsdTexts};
use linerate_result::Environment;
use rule::Look;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// All findings about an interface, or about the machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Examination {
    pub interfaces: Vec<String>,
    /// Answers of the peer that was named, in a line.
    pub peer: Option<String>,
    /// Findings, the severest first.
    pub findings: Vec<Finding>,
    /// Number of rules that looked and found nothing.
    pub healthy: usize,
    /// Rules that could not look, by the subject, with the reason.
    pub unable: Vec<(String, Cow<'static, str>, String)>,
    /// Texts of which nothing was read, by their commands or files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untaken: Vec<String>,
    pub environment: Environment,
    /// The other end, if it was read, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<Box<Side>>,
}

impl Examination {
    /// Applies the rules of a scope to what was read.
    pub fn add(&mut self, view: &View<'_>, scope: Scope) {
        for rule in RULES.iter().filter(|rule| rule.scope == scope) {
            match rule.look(view) {
                Ok(found) if found.is_empty() => self.healthy += 1,
                Ok(found) => {
                    let of = |finding: Finding| {
                        let finding = intent::respected(finding, rule.name, view);
                        role::respected(finding, rule.name, view).of(rule, &view.subject(scope))
                    };
                    self.findings.extend(found.into_iter().map(of))
                }
                Err(why) => self.unable.push((view.subject(scope), rule.name.into(), why)),
            }
        }
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }

    /// Applies the rules of FreeBSD to an interface.
    fn add_freebsd(&mut self, adapter: &FreebsdAdapter, texts: &FreebsdTexts) {
        let subject = &adapter.interface.name;
        for rule in RULES.iter() {
            let Look::Freebsd(look) = rule.look else { continue };
            match look(adapter, texts) {
                Ok(found) if found.is_empty() => self.healthy += 1,
                Ok(found) => self.findings.extend(found.into_iter().map(|finding| finding.of(rule, subject))),
                Err(why) => self.unable.push((subject.clone(), rule.name.into(), why)),
            }
        }
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }

    /// The severest finding's severity, at either end.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        let remote = self.remote.as_ref().and_then(|side| side.examination.worst());
        self.findings.iter().map(|finding| finding.severity).max().max(remote)
    }
}

#[cfg(test)]
mod tests;
