//! Connections that no program took in time.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::protocols::tcp_counter;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "listen-drops",
    scope: Scope::Host,
    about: "connections that no program took in time",
    means: "a listening socket had no room: clients waited a second and longer for another try, or gave up",
    published: "listen(2), backlog; Documentation/networking/snmp_counter.rst, TcpExtListenOverflows, TcpExtListenDrops",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let [overflows, drops] = [tcp_counter(view, "ListenOverflows")?, tcp_counter(view, "ListenDrops")?];
    let (all, now) = (drops.value.max(overflows.value), drops.more.max(overflows.more));
    let finding = match (all, now) {
        (0, _) => return healthy(),
        (all, 0) => {
            Finding::new(Severity::Note, format!("{all} connections were dropped at listening sockets since the start"))
        }
        (_, now) => Finding::new(
            Severity::Warning,
            format!("{now} connections were dropped at listening sockets while it was looked at"),
        ),
    };
    finding
        .seen(format!("ListenOverflows {}, ListenDrops {}", overflows.value, drops.value), "/proc/net/netstat, nstat -az")
        .mend("see 'ss -ltn': where Recv-Q comes up to Send-Q, the program needs a greater backlog, or more threads that accept")
        .alone()
}
