//! The rules, by their subject. A new one is a row and a function of such a file.

mod bus;
mod dcb;
mod firewall;
mod freebsd;
mod interrupts;
mod ip;
mod link;
mod log;
mod memory;
mod offloads;
mod path;
mod peer;
mod queues;
mod routes;
mod stacked;
mod sysctls;
mod transport;

use crate::doctor::rule::Rule;
use std::sync::LazyLock;

/// All rules, in the order in which they look.
pub static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    [
        link::RULES,
        dcb::RULES,
        bus::RULES,
        offloads::RULES,
        queues::RULES,
        interrupts::RULES,
        stacked::RULES,
        ip::RULES,
        path::RULES,
        transport::RULES,
        sysctls::RULES,
        memory::RULES,
        firewall::RULES,
        routes::RULES,
        log::RULES,
        peer::RULES,
        freebsd::RULES,
    ]
    .concat()
    .into_iter()
    .map(Rule::told)
    .collect()
});
