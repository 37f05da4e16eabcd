//! Sysctls that a restart takes back.

use crate::doctor::configured::{covers, interchanged, is_same, sysctls};
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;
use linerate_host::shell::quoted;

pub(super) const RULE: Rule = Rule {
    name: "not-persistent",
    scope: Scope::Host,
    about: "sysctls that a restart takes back",
    means: "after a restart the kernel's own values are back, unless a program sets these again (tuned, Docker)",
    published: "sysctl.d(5); Documentation/admin-guide/sysctl/net.rst and networking/ip-sysctl.rst: defaults",
    proof: Proof::Look,
    look,
};

/// Sysctls that other rules look at, with the values that kernels give them; those that depend on the machine are not here.
const DEFAULTS: &[(&str, &[&str])] = &[
    ("net.core.rmem_max", &["212992", "229376", "4194304"]),
    ("net.core.wmem_max", &["212992", "229376", "4194304"]),
    ("net.core.netdev_max_backlog", &["1000"]),
    ("net.core.netdev_budget", &["300"]),
    ("net.core.busy_read", &["0"]),
    ("net.core.somaxconn", &["128", "4096"]),
    ("net.ipv4.tcp_slow_start_after_idle", &["1"]),
    ("net.ipv4.tcp_window_scaling", &["1"]),
    ("net.ipv4.tcp_sack", &["1"]),
    ("net.ipv4.tcp_timestamps", &["1"]),
    ("net.ipv4.ip_forward", &["0"]),
    ("net.ipv4.conf.all.rp_filter", &["0"]),
    ("net.ipv4.neigh.default.gc_thresh3", &["1024"]),
];

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let files = sysctls(view)?;
    let boot = view.file("proc/cmdline").unwrap_or_default();
    let is_set = |name: &str| {
        let path = interchanged(name);
        files.iter().any(|one| covers(&one.name, &path))
            // Since Linux 5.8.
            || boot.split_whitespace().any(|word| {
                let set = word.strip_prefix("sysctl.").and_then(|rest| rest.split_once('='));
                set.is_some_and(|(key, _)| key == name || key == path)
            })
    };
    let now = |name: &str| view.sysctl(name).ok();
    let lost: Vec<(&str, String)> = DEFAULTS
        .iter()
        .filter_map(|(name, defaults)| Some((*name, now(name)?, *defaults)))
        .filter(|(name, now, defaults)| !defaults.iter().any(|default| is_same(default, now)) && !is_set(name))
        .map(|(name, now, _)| (name, now))
        .collect();
    if lost.is_empty() {
        return healthy();
    }
    let what = match lost.len() {
        1 => "a sysctl is set, and no file sets it at the next start".to_owned(),
        n => format!("{n} sysctls are set, and no file sets them at the next start"),
    };
    let lines: Vec<String> = lost.iter().map(|(name, now)| quoted(format!("{name} = {now}"))).collect();
    let first = Finding::new(Severity::Note, what)
        .mend(format!("to keep them: printf '%s\\n' {} >> /etc/sysctl.d/90-network.conf", lines.join(" ")));
    let all = lost.iter().fold(first, |finding, (name, now)| {
        finding.seen(format!("{name} = {now}, not in sysctl.conf or sysctl.d"), format!("sysctl {name}"))
    });
    all.alone()
}
