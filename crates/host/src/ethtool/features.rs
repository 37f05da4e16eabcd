//! Features: offloads of an interface (FEATURES_GET, FEATURES_SET), by the kernel's names.

use super::{Ethtool, bitset};
use crate::netlink::bad_answer;
use crate::netlink::message::attribute;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

const ETHTOOL_MSG_FEATURES_GET: u8 = 11;
const ETHTOOL_MSG_FEATURES_SET: u8 = 12;
const ETHTOOL_A_FEATURES_HW: u16 = 2;
const ETHTOOL_A_FEATURES_WANTED: u16 = 3;
const ETHTOOL_A_FEATURES_ACTIVE: u16 = 4;
const ETHTOOL_A_FEATURES_NOCHANGE: u16 = 5;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Feature {
    pub active: bool,
    /// The feature was requested; it may be off because another feature that it needs is.
    pub wanted: bool,
    pub changeable: bool,
}

/// All features of an interface, by the kernel's names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Features(pub BTreeMap<String, Feature>);

/// A family of features for which the `ethtool` program has one name.
struct Group {
    name: &'static str,
    /// Prefix and suffix of the kernel's names.
    matches: (&'static str, &'static str),
}

/// Families of the program's `netlink/features.c`.
const GROUPS: [Group; 11] = [
    Group { name: "rx-checksumming", matches: ("rx-checksum", "") },
    Group { name: "tx-checksumming", matches: ("tx-checksum-", "") },
    Group { name: "scatter-gather", matches: ("tx-scatter-gather", "") },
    Group { name: "tcp-segmentation-offload", matches: ("tx-tcp", "-segmentation") },
    Group { name: "generic-segmentation-offload", matches: ("tx-generic-segmentation", "") },
    Group { name: "generic-receive-offload", matches: ("rx-gro", "") },
    Group { name: "large-receive-offload", matches: ("rx-lro", "") },
    Group { name: "rx-vlan-offload", matches: ("rx-vlan-hw-parse", "") },
    Group { name: "tx-vlan-offload", matches: ("tx-vlan-hw-insert", "") },
    Group { name: "ntuple-filters", matches: ("rx-ntuple-filter", "") },
    Group { name: "receive-hashing", matches: ("rx-hashing", "") },
];

impl Group {
    fn has(&self, feature: &str) -> bool {
        let (begin, end) = self.matches;
        // Only families have a wildcard: `rx-gro` is one feature, and `rx-gro-list` another.
        let one = !begin.ends_with('-') && end.is_empty() && begin != "tx-scatter-gather";
        if one { feature == begin } else { feature.starts_with(begin) && feature.ends_with(end) }
    }
}

impl Features {
    /// State of each feature, true if on, as `ethtool -k` lists them: its own names for families, and the kernel's
    /// names for their members and for all others. A feature that is a family by itself is listed under the program's
    /// name only.
    #[must_use]
    pub fn listed(&self) -> BTreeMap<String, bool> {
        let mut list: BTreeMap<_, _> = self.0.iter().map(|(name, feature)| (name.clone(), feature.active)).collect();
        for group in &GROUPS {
            let members: Vec<_> = self.0.iter().filter(|(name, _)| group.has(name)).collect();
            if let [(only, _)] = members.as_slice() {
                list.remove(*only);
            }
            if !members.is_empty() {
                list.insert(group.name.to_owned(), members.iter().any(|(_, feature)| feature.active));
            }
        }
        list
    }

    /// True if a member of a family is on.
    pub(super) fn any_active(&self, group: &str) -> bool {
        self.members(group).any(|(_, feature)| feature.active)
    }

    /// Members of one of `ethtool`'s families.
    pub(super) fn members<'a>(&'a self, group: &str) -> impl Iterator<Item = (&'a str, Feature)> {
        let group = GROUPS.iter().find(|one| one.name == group);
        let all = self.0.iter().map(|(name, feature)| (name.as_str(), *feature));
        all.filter(move |(name, _)| group.is_some_and(|group| group.has(name)))
    }

    pub(crate) fn parse(answer: &[u8]) -> Option<Self> {
        let set = |kind| attribute(answer, kind).map(bitset::parse);
        // This set names all features that there are, and which of them can be switched.
        let all = set(ETHTOOL_A_FEATURES_HW)?.into_iter();
        let mut features: BTreeMap<_, _> =
            all.map(|(name, changeable)| (name, Feature { changeable, ..Feature::default() })).collect();
        for (name, on) in set(ETHTOOL_A_FEATURES_WANTED)? {
            features.entry(name).or_default().wanted = on;
        }
        for (name, on) in set(ETHTOOL_A_FEATURES_ACTIVE)? {
            features.entry(name).or_default().active = on;
        }
        // Some drivers list among their own what the kernel never changes.
        for (name, never) in set(ETHTOOL_A_FEATURES_NOCHANGE).unwrap_or_default() {
            features.entry(name).or_default().changeable &= !never;
        }
        Some(Self(features))
    }
}

pub(super) fn get(ethtool: &mut Ethtool, name: &str) -> io::Result<Features> {
    let message = ethtool.request(ETHTOOL_MSG_FEATURES_GET, name);
    Features::parse(&ethtool.0.ask(message)?).ok_or_else(bad_answer)
}

pub(super) fn set(ethtool: &mut Ethtool, name: &str, wanted: &[(&str, bool)]) -> io::Result<()> {
    let mut message = ethtool.request(ETHTOOL_MSG_FEATURES_SET, name);
    bitset::build(&mut message, ETHTOOL_A_FEATURES_WANTED, wanted);
    ethtool.0.ask(message).map(drop)
}
