//! VLAN tags, and who takes them off.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "vlan-offload",
    scope: Scope::Interface,
    about: "whether the adapter takes VLAN tags off, with VLANs above it",
    means: "a processor takes the tag off each frame, and moves the bytes before it",
    published: "linux/netdev_features.h, NETIF_F_HW_VLAN_CTAG_RX; ethtool(8), rxvlan",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let own = view.interface().index;
    let is_above = |kind: Option<&str>, lower: Option<u32>| kind == Some("vlan") && lower == Some(own);
    let above = view.interfaces.iter().find(|one| is_above(one.kind.as_deref(), one.lower) && !one.lower_elsewhere);
    let Some(above) = above.filter(|_| view.is_hardware()) else { return healthy() };
    let found = view.off("rx-vlan-hw-parse", "rxvlan", "a few nanoseconds of each frame")?;
    let seen = |finding: Finding| finding.seen(format!("{} is a VLAN of it", above.name), "ip -d link show type vlan");
    Ok(found.into_iter().map(seen).collect())
}
