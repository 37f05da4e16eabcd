//! Tables of the firewall.

use crate::doctor::finding::{Finding, Load};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "firewall",
    scope: Scope::Host,
    about: "tables of the firewall",
    means: "each packet passes their rules: a tenth to a half of the rate of small packets",
    published: "iptables(8), nft(8); /proc/net/ip_tables_names",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let tables: Vec<String> = ["proc/net/ip_tables_names", "proc/net/ip6_tables_names", "proc/net/arp_tables_names"]
        .iter()
        .filter_map(|path| view.file(path).ok())
        .flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let chains: Vec<String> = match &view.chains {
        Ok(chains) => chains
            .iter()
            .filter(|chain| chain.rules > 0 || chain.drops)
            .map(|chain| match chain.rules {
                0 => format!("{} {} drops all", chain.table, chain.name),
                1 => format!("{} {} with a rule", chain.table, chain.name),
                rules => format!("{} {} with {rules} rules", chain.table, chain.name),
            })
            .collect(),
        // A kernel without them has none.
        Err(absent) if absent.is_forbidden() && tables.is_empty() => {
            return Err(format!("chains of nftables: {absent}"));
        }
        Err(_) => Vec::new(),
    };
    if tables.is_empty() && chains.is_empty() {
        return healthy();
    }
    let mut finding = Finding::new(view.graver_for(&[Load::Forward]), "packets pass tables of the firewall");
    if !tables.is_empty() {
        finding = finding.seen(format!("tables {}", tables.join(", ")), "/proc/net/ip_tables_names");
    }
    if !chains.is_empty() {
        finding = finding.seen(format!("chains {}", chains.join(", ")), "nft list ruleset");
    }
    let shows = if chains.is_empty() { "iptables-save" } else { "nft list ruleset" };
    finding.mend(format!("{shows} shows the rules; skip the measured ports in the first chain, or remove them")).alone()
}
