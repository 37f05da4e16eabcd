//! Tables of the firewall.

use crate::doctor::finding::{Finding, Load};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "firewall",
    scope: Scope::Host,
    about: "tables of the firewall",
    means: "each packet passes their rules: a tenth to a half of the rate of small packets",
    published: "iptables(8); /proc/net/ip_tables_names",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let tables: Vec<String> = ["proc/net/ip_tables_names", "proc/net/ip6_tables_names", "proc/net/arp_tables_names"]
        .iter()
        .filter_map(|path| view.file(path).ok())
        .flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    if tables.is_empty() {
        return healthy();
    }
    Finding::new(view.graver_for(&[Load::Forward]), "packets pass tables of the firewall")
        .seen(format!("tables {}", tables.join(", ")), "/proc/net/ip_tables_names")
        .mend("iptables-save shows the rules; skip the measured ports in the table raw, or remove them")
        .alone()
}
