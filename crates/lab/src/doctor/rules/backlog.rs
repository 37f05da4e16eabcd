//! Frames dropped between interrupt and stack.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::protocols::SOFTNET;
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

/// Of so many frames one dropped is worth a warning.
const FEW: u64 = 10_000;

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let [frames, drops, squeezed] = softnet(&view.file(SOFTNET)?);
    let more = view.earlier.get(SOFTNET).map_or(0, |text| drops.saturating_sub(softnet(text)[1]));
    // Long ago, and few of all: they are history.
    let grave = more > 0 || drops.saturating_mul(FEW) >= frames;
    // Namespaces but the first do not show them.
    let most = view.sysctl_number("net.core.netdev_max_backlog").ok();
    let mut found = Vec::new();
    if drops > 0 {
        let severity = if grave { Severity::Warning } else { Severity::Note };
        let seen = format!("{drops} of {frames} dropped, of all processors since the start (+{more})");
        let name = "net.core.netdev_max_backlog";
        let finding = match most {
            Some(most) => view.set(severity, name, most, (most * 4).max(4000)),
            // It cannot be set here, either.
            None => Finding::new(severity, "a processor's backlog was full")
                .mend(format!("sysctl -w {name}=4000, in the first network namespace")),
        };
        found.push(finding.seen(seen, "/proc/net/softnet_stat, column 2"));
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

/// Frames processed and dropped, and rounds cut short, of all processors.
fn softnet(text: &str) -> [u64; 3] {
    let column =
        |line: &str, at: usize| line.split_whitespace().nth(at).and_then(|word| u64::from_str_radix(word, 16).ok());
    [0, 1, 2].map(|at| text.lines().filter_map(|line| column(line, at)).fold(0, u64::saturating_add))
}
