//! Neighbours that do not answer.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "neighbours",
    scope: Scope::Host,
    about: "neighbours that do not answer",
    means: "packets to them are held back and dropped",
    published: "RFC 4861; /proc/net/arp",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let text = view.file("proc/net/arp")?;
    let dead: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            // Incomplete: no flag is set.
            (words.get(2) == Some(&"0x0")).then_some(words[0])
        })
        .collect();
    let Some(first) = dead.first() else { return healthy() };
    Finding::new(Severity::Note, format!("{} of the neighbours asked for do not answer", dead.len()))
        .seen(format!("{first} incomplete"), "/proc/net/arp, ip neigh")
        .mend("see that these addresses are in use; 'ip neigh flush nud failed' forgets them")
        .alone()
}
