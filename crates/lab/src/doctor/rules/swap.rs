//! Memory that went to disk.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "swap",
    scope: Scope::Host,
    about: "memory that went to disk",
    means: "a page that must come back takes milliseconds: whoever waits for it drops frames",
    published: "Documentation/admin-guide/sysctl/vm.rst",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let text = view.file("proc/meminfo")?;
    let kib = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok())
    };
    let used = kib("SwapTotal:").zip(kib("SwapFree:")).map_or(0, |(all, free)| all.saturating_sub(free));
    if used < 64 << 10 {
        return healthy();
    }
    Finding::new(Severity::Note, format!("{} MiB of memory are in swap", used >> 10))
        .seen(format!("SwapTotal - SwapFree = {used} kB"), "/proc/meminfo")
        .mend("swapoff -a && swapon -a, with memory enough")
        .alone()
}
