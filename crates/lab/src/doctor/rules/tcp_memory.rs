//! Memory of TCP.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::protocols::tcp_counter;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "tcp-memory",
    scope: Scope::Host,
    about: "the limit of all memory of TCP",
    means: "under memory pressure windows do not grow, and what was received out of order is thrown away",
    published: "Documentation/networking/ip-sysctl.rst, tcp_mem; tcp(7)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let pressures = tcp_counter(view, "TCPMemoryPressures")?.value;
    let text = view.file("proc/net/sockstat")?;
    let mem = |line: &str| line.strip_prefix("TCP:")?.split_once(" mem ")?.1.split_whitespace().next()?.parse().ok();
    let used: u64 = text.lines().find_map(mem).ok_or("/proc/net/sockstat: it tells no memory of TCP")?;
    // Only the first network namespace shows the limits.
    let limits = view.sysctl_numbers("net.ipv4.tcp_mem").unwrap_or_default();
    let pressed = limits.get(1).is_some_and(|pressure| used > *pressure);
    if !pressed && pressures == 0 {
        return healthy();
    }
    let (severity, what) = match pressed {
        true => (Severity::Warning, "TCP has more memory in use than it may without pressure".to_owned()),
        false => (Severity::Note, format!("TCP was short of memory, {pressures} times since the start")),
    };
    let wider = limits.iter().map(|limit| limit.saturating_mul(2).to_string()).collect::<Vec<_>>().join(" ");
    let limits = limits.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let finding = Finding::new(severity, what)
        .seen(format!("TCP mem {used} pages"), "/proc/net/sockstat")
        .seen(format!("TCPMemoryPressures {pressures}"), "/proc/net/netstat, nstat -az");
    match limits.as_str() {
        "" => finding.mend("sysctl -w net.ipv4.tcp_mem='LOW PRESSURE MOST' in the first network namespace"),
        limits => finding
            .seen(format!("net.ipv4.tcp_mem = {limits}"), "sysctl net.ipv4.tcp_mem")
            .mend(format!("sysctl -w net.ipv4.tcp_mem='{wider}', if the machine has the memory")),
    }
    .alone()
}
