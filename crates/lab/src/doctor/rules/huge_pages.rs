//! Huge pages of 2 MiB.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "huge-pages",
    scope: Scope::Host,
    about: "huge pages of 2 MiB",
    means: "rings of several MiB have a page table entry for each 4 KiB: misses on each few frames",
    published: "Documentation/admin-guide/mm/hugetlbpage.rst",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let pages: u64 = view.number("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")?;
    if pages > 0 || !view.wants(&[Load::PktGen]) {
        return healthy();
    }
    Finding::new(Severity::Note, "no huge pages are reserved")
        .seen("nr_hugepages 0", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
        .mend("sysctl -w vm.nr_hugepages=128")
        .writes("proc/sys/vm/nr_hugepages", "128")
        .alone()
}
