//! Connections that no program took in time.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::netstat::tcp_counter;
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
    if overflows == 0 && drops == 0 {
        return healthy();
    }
    Finding::new(Severity::Note, format!("{} connections were dropped at listening sockets since the start", drops.max(overflows)))
        .seen(format!("ListenOverflows {overflows}, ListenDrops {drops}"), "/proc/net/netstat, nstat -az")
        .mend("see 'ss -ltn': where Recv-Q comes up to Send-Q, the program needs a greater backlog, or more threads that accept")
        .alone()
}
