//! Frames dropped between interrupt and stack.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "backlog",
    scope: Scope::Host,
    about: "frames dropped between interrupt and stack",
    means: "the queue in front of the stack is full: frames are lost after the adapter has delivered them",
    published: "Documentation/admin-guide/sysctl/net.rst, netdev_max_backlog; /proc/net/softnet_stat",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let (drops, squeezed) = softnet(&view.file("proc/net/softnet_stat")?);
    // Namespaces but the first do not show them.
    let most = view.sysctl_number("net.core.netdev_max_backlog").ok();
    let mut found = Vec::new();
    if drops > 0 {
        let (now, to) =
            most.map_or(("not shown here".to_owned(), 4000), |most| (most.to_string(), (most * 4).max(4000)));
        found.push(
            view.set(Severity::Warning, "net.core.netdev_max_backlog", now, to).seen(
                format!("{drops} dropped, of all processors since the start"),
                "/proc/net/softnet_stat, column 2",
            ),
        );
    } else if let Some(most) = most.filter(|most| *most < 300) {
        found.push(view.set(Severity::Warning, "net.core.netdev_max_backlog", most, 1000));
    }
    let Ok(budget) = view.sysctl_number("net.core.netdev_budget") else { return Ok(found) };
    if budget < 100 {
        found.push(view.set(Severity::Warning, "net.core.netdev_budget", budget, 300));
    } else if squeezed > 1000 {
        found.push(
            view.set(Severity::Note, "net.core.netdev_budget", budget, budget * 2)
                .seen(format!("time_squeeze {squeezed}"), "/proc/net/softnet_stat, column 3"),
        );
    }
    Ok(found)
}

/// Frames dropped, and rounds cut short, of all processors.
fn softnet(text: &str) -> (u64, u64) {
    let column =
        |line: &str, at: usize| line.split_whitespace().nth(at).and_then(|word| u64::from_str_radix(word, 16).ok());
    let sum = |at| text.lines().filter_map(|line| column(line, at)).sum();
    (sum(1), sum(2))
}
