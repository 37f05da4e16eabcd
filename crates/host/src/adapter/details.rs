//! Own values of a software interface, by its kind: a VLAN's tag, a bond's mode (IFLA_INFO_DATA); and what a bond or a bridge
//! says of its member (IFLA_INFO_SLAVE_DATA). Names are iproute2's. Timers that run are not among them.

use crate::netlink::message::{Message, attribute, attributes, half, long, word};
use linerate_text::unhex;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;
use std::net::Ipv4Addr;

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum Detail {
    Number(u64),
    /// Index of an interface.
    Link(u32),
    On(bool),
    /// A word or an address.
    Word(String),
    Words(Vec<String>),
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => value.fmt(f),
            Self::Link(index) => write!(f, "interface {index}"),
            Self::On(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Word(word) => word.fmt(f),
            Self::Words(words) => f.write_str(&words.join(" ")),
        }
    }
}

/// Values by their names, in the order of their table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details(pub Vec<(&'static str, Detail)>);

impl Details {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Detail> {
        self.0.iter().find_map(|(one, value)| (*one == name).then_some(value))
    }

    /// Names and values in a line, interfaces by what `named` gives for their index; none if there are none.
    pub fn line(&self, named: impl Fn(u32) -> String) -> Option<String> {
        let all = self.0.iter().map(|(name, value)| match value {
            Detail::Link(index) => format!("{name} {}", named(*index)),
            value => format!("{name} {value}"),
        });
        let all: Vec<_> = all.collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// Values of an interface of this kind.
    pub(super) fn of_kind(kind: &str, data: &[u8]) -> Self {
        Self::of(KINDS, kind, data)
    }

    /// Values of a member of an interface of this kind.
    pub(super) fn of_member(kind: &str, data: &[u8]) -> Self {
        Self::of(MEMBERS, kind, data)
    }

    /// Adds the attributes of an interface of this kind, or of a member of one, whose values stand behind their names, as
    /// `ip -d link` prints them. An interface has the number that `index` gives for its name.
    pub(crate) fn printed(
        to: &mut Message,
        kind: &str,
        member: bool,
        words: &[String],
        index: impl Fn(&str) -> Option<u32>,
    ) {
        let tables = if member { MEMBERS } else { KINDS };
        for (at, name, form) in tables.iter().filter(|(one, _)| *one == kind).flat_map(|(_, rows)| *rows) {
            let word = words.iter().position(|one| one == name).and_then(|place| words.get(place + 1));
            if let Some(bytes) = word.and_then(|word| form.written(word, &index)) {
                to.attribute(*at, &bytes);
            }
        }
    }

    fn of(tables: &[(&str, &[Row])], kind: &str, data: &[u8]) -> Self {
        let table = tables.iter().find(|(one, _)| *one == kind).map_or(&[][..], |(_, rows)| *rows);
        Self(table.iter().filter_map(|(at, name, form)| Some((*name, form.read(attribute(data, *at)?)?))).collect())
    }
}

impl Serialize for Details {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Attribute, name, and form.
type Row = (u16, &'static str, Form);

/// Form of an attribute.
#[derive(Clone, Copy)]
enum Form {
    /// Unsigned, of any size.
    Number,
    /// Index of an interface.
    Link,
    /// Zero is off.
    Truth,
    /// Numbers that stand for words, from 0.
    Words(&'static [&'static str]),
    /// Bits that stand for words, of which one is set.
    Choice(&'static [&'static str]),
    /// Bits that stand for words, in the first of two numbers.
    Flags(&'static [&'static str]),
    /// One of those bits.
    Flag(u32),
    /// EtherType of a VLAN tag, in the network's order.
    Protocol,
    /// MAC address.
    Address,
    /// Priority and MAC address of a bridge (IEEE 802.1D, 9.2.5).
    BridgeId,
    /// IPv4 addresses, each in an attribute.
    Targets,
    /// IPv4 address; none if it is nobody's.
    Host,
}

impl Form {
    fn read(self, value: &[u8]) -> Option<Detail> {
        let number = || match value.len() {
            1 => Some(value[0].into()),
            2 => Some(half(value, 0).into()),
            4 => Some(word(value, 0).into()),
            8 => Some(long(value, 0)),
            _ => None,
        };
        let bits = || (value.len() >= 4).then(|| word(value, 0));
        let set = |words: &[&str], bits: u64| -> Vec<String> {
            words.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, one)| (*one).to_owned()).collect()
        };
        let named = |words: &[&str], number: u64| {
            let known = usize::try_from(number).ok().and_then(|number| words.get(number));
            Detail::Word(known.map_or_else(|| number.to_string(), |word| (*word).to_owned()))
        };
        Some(match self {
            Self::Number => Detail::Number(number()?),
            Self::Link => Detail::Link(bits()?),
            Self::Truth => Detail::On(number()? != 0),
            Self::Words(words) => named(words, number()?),
            Self::Choice(words) => {
                let number = number()?;
                Detail::Word(set(words, number).pop().unwrap_or_else(|| number.to_string()))
            }
            Self::Flags(words) => Detail::Words(set(words, bits()?.into())),
            Self::Flag(bit) => Detail::Number((bits()? >> bit & 1).into()),
            Self::Protocol => Detail::Word(match *value.first_chunk()? {
                [0x81, 0x00] => "802.1Q".to_owned(),
                [0x88, 0xa8] => "802.1ad".to_owned(),
                [a, b] => format!("{a:02x}{b:02x}"),
            }),
            Self::Address => Detail::Word(super::link::hex(value)?),
            Self::BridgeId => {
                let [a, b, mac @ ..] = value.first_chunk::<8>()?;
                let mac: Vec<_> = mac.iter().map(|byte| format!("{byte:x}")).collect();
                Detail::Word(format!("{a:02x}{b:02x}.{}", mac.join(":")))
            }
            Self::Targets => {
                let all = attributes(value).filter_map(|(_, one)| Some(Ipv4Addr::from(*one.first_chunk::<4>()?)));
                let all: Vec<_> = all.map(|one| one.to_string()).collect();
                Detail::Words((!all.is_empty()).then_some(all)?)
            }
            Self::Host => {
                let address = Ipv4Addr::from(*value.first_chunk::<4>()?);
                Detail::Word((!address.is_unspecified()).then(|| address.to_string())?)
            }
        })
    }
}

impl Form {
    /// The attribute of a word as iproute2 prints it; none of forms of several words.
    fn written(self, word: &str, index: impl Fn(&str) -> Option<u32>) -> Option<Vec<u8>> {
        Some(match self {
            Self::Number => word.parse::<u32>().ok()?.to_ne_bytes().to_vec(),
            Self::Link => index(word)?.to_ne_bytes().to_vec(),
            Self::Truth => vec![u8::from(word == "on" || word == "1")],
            Self::Words(words) => vec![u8::try_from(words.iter().position(|one| *one == word)?).ok()?],
            Self::Address => unhex(&word.replace(':', "")).filter(|bytes| !bytes.is_empty())?,
            Self::Host => word.parse::<Ipv4Addr>().ok()?.octets().to_vec(),
            Self::Choice(_) | Self::Flags(_) | Self::Flag(_) | Self::Protocol | Self::BridgeId | Self::Targets => {
                return None;
            }
        })
    }
}

use Form::{Address, BridgeId, Choice, Flag, Flags, Host, Link, Number, Protocol, Targets, Truth, Words};

/// Tables by kind: IFLA_VLAN_… and its like of linux/if_link.h.
const KINDS: &[(&str, &[Row])] = &[
    ("vlan", VLAN),
    ("bond", BOND),
    ("bridge", BRIDGE),
    ("tun", TUN),
    ("macvlan", MACVLAN),
    ("vxlan", VXLAN),
    ("geneve", GENEVE),
    ("gre", GRE),
    ("gretap", GRE),
    ("ipip", IPTUN),
    ("sit", IPTUN),
];
const MEMBERS: &[(&str, &[Row])] = &[("bond", BOND_MEMBER), ("bridge", BRIDGE_PORT)];

const VLAN: &[Row] = &[
    (5, "protocol", Protocol),
    (1, "id", Number),
    (2, "flags", Flags(&["REORDER_HDR", "GVRP", "LOOSE_BINDING", "MVRP", "BRIDGE_BINDING"])),
];

const BOND: &[Row] = &[
    (
        1,
        "mode",
        Words(&["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"]),
    ),
    (2, "active_slave", Link),
    (3, "miimon", Number),
    (4, "updelay", Number),
    (5, "downdelay", Number),
    (28, "peer_notify_delay", Number),
    (6, "use_carrier", Number),
    (7, "arp_interval", Number),
    (8, "arp_ip_target", Targets),
    (30, "arp_missed_max", Number),
    (9, "arp_validate", Words(&["none", "active", "backup", "all", "filter", "filter_active", "filter_backup"])),
    (10, "arp_all_targets", Words(&["any", "all"])),
    (11, "primary", Link),
    (12, "primary_reselect", Words(&["always", "better", "failure"])),
    (13, "fail_over_mac", Words(&["none", "active", "follow"])),
    (14, "xmit_hash_policy", Words(&["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"])),
    (15, "resend_igmp", Number),
    (16, "num_peer_notif", Number),
    (17, "all_slaves_active", Number),
    (18, "min_links", Number),
    (19, "lp_interval", Number),
    (20, "packets_per_slave", Number),
    (29, "ad_lacp_active", Words(&["off", "on"])),
    (21, "ad_lacp_rate", Words(&["slow", "fast"])),
    (22, "ad_select", Words(&["stable", "bandwidth", "count"])),
    (24, "ad_actor_sys_prio", Number),
    (25, "ad_user_port_key", Number),
    (26, "ad_actor_system", Address),
    (27, "tlb_dynamic_lb", Number),
];

const BOND_MEMBER: &[Row] = &[
    (1, "state", Words(&["ACTIVE", "BACKUP"])),
    (2, "mii_status", Words(&["UP", "GOING_DOWN", "DOWN", "GOING_BACK"])),
    (3, "link_failure_count", Number),
    (4, "perm_hwaddr", Address),
    (5, "queue_id", Number),
    (9, "prio", Number),
    (6, "ad_aggregator_id", Number),
    (7, "ad_actor_oper_port_state", Number),
    (8, "ad_partner_oper_port_state", Number),
];

const TUN: &[Row] = &[
    (3, "type", Words(&["0", "tun", "tap"])),
    (4, "pi", Truth),
    (5, "vnet_hdr", Truth),
    (7, "multi_queue", Truth),
    (8, "numqueues", Number),
    (9, "numdisabled", Number),
    (6, "persist", Truth),
    (1, "user", Number),
    (2, "group", Number),
];

const VXLAN: &[Row] = &[(1, "id", Number), (2, "remote", Host), (4, "local", Host), (3, "dev", Link)];

const GENEVE: &[Row] = &[(1, "id", Number), (2, "remote", Host)];

const GRE: &[Row] = &[(7, "remote", Host), (6, "local", Host), (1, "dev", Link)];

const IPTUN: &[Row] = &[(3, "remote", Host), (2, "local", Host), (1, "dev", Link)];

const MACVLAN: &[Row] = &[
    (1, "mode", Choice(&["private", "vepa", "bridge", "passthru", "source"])),
    (7, "bcqueuelen", Number),
    (8, "usedbcqueuelen", Number),
];

const BRIDGE: &[Row] = &[
    (1, "forward_delay", Number),
    (2, "hello_time", Number),
    (3, "max_age", Number),
    (4, "ageing_time", Number),
    (5, "stp_state", Number),
    (6, "priority", Number),
    (7, "vlan_filtering", Number),
    (8, "vlan_protocol", Protocol),
    (11, "bridge_id", BridgeId),
    (10, "root_id", BridgeId),
    (12, "root_port", Number),
    (13, "root_path_cost", Number),
    (14, "topology_change", Number),
    (15, "topology_change_detected", Number),
    (39, "vlan_default_pvid", Number),
    (41, "vlan_stats_enabled", Number),
    (45, "vlan_stats_per_port", Number),
    (9, "group_fwd_mask", Number),
    (20, "group_addr", Address),
    (23, "mcast_snooping", Number),
    (46, "no_linklocal_learn", Flag(0)),
    (46, "mcast_vlan_snooping", Flag(1)),
    (22, "mcast_router", Number),
    (24, "mcast_query_use_ifaddr", Number),
    (25, "mcast_querier", Number),
    (26, "mcast_hash_elasticity", Number),
    (27, "mcast_hash_max", Number),
    (28, "mcast_last_member_cnt", Number),
    (29, "mcast_startup_query_cnt", Number),
    (30, "mcast_last_member_intvl", Number),
    (31, "mcast_membership_intvl", Number),
    (32, "mcast_querier_intvl", Number),
    (33, "mcast_query_intvl", Number),
    (34, "mcast_query_response_intvl", Number),
    (35, "mcast_startup_query_intvl", Number),
    (42, "mcast_stats_enabled", Number),
    (43, "mcast_igmp_version", Number),
    (44, "mcast_mld_version", Number),
    (36, "nf_call_iptables", Number),
    (37, "nf_call_ip6tables", Number),
    (38, "nf_call_arptables", Number),
];

const BRIDGE_PORT: &[Row] = &[
    (1, "state", Words(&["disabled", "listening", "learning", "forwarding", "blocking"])),
    (2, "priority", Number),
    (3, "cost", Number),
    (4, "hairpin", Truth),
    (5, "guard", Truth),
    (6, "root_block", Truth),
    (7, "fastleave", Truth),
    (8, "learning", Truth),
    (9, "flood", Truth),
    (17, "id", Number),
    (18, "no", Number),
    (15, "designated_port", Number),
    (16, "designated_cost", Number),
    (14, "bridge_id", BridgeId),
    (13, "root_id", BridgeId),
    (19, "topology_change_ack", Number),
    (20, "config_pending", Number),
    (10, "proxy_arp", Truth),
    (12, "proxy_arp_wifi", Truth),
    (25, "multicast_router", Number),
    (27, "mcast_flood", Truth),
    (30, "bcast_flood", Truth),
    (28, "mcast_to_unicast", Truth),
    (32, "neigh_suppress", Truth),
    (31, "group_fwd_mask", Number),
    (29, "vlan_tunnel", Truth),
    (33, "isolated", Truth),
    (39, "locked", Truth),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let len = u16::try_from(4 + value.len()).unwrap();
        let mut all = [&len.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
        all.resize(all.len().next_multiple_of(4), 0);
        all
    }

    fn named(index: u32) -> String {
        format!("eth{index}")
    }

    #[test]
    fn values_have_the_form_of_their_attribute() {
        let tag = [
            attribute(1, &7_u16.to_ne_bytes()),
            attribute(2, &[3_u32.to_ne_bytes(), u32::MAX.to_ne_bytes()].concat()),
            attribute(5, &[0x88, 0xa8]),
        ];
        let details = Details::of_kind("vlan", &tag.concat());
        assert_eq!(details.line(named).unwrap(), "protocol 802.1ad, id 7, flags REORDER_HDR GVRP");
        let json = serde_json::to_string(&details).unwrap();
        assert_eq!(json, r#"{"protocol":"802.1ad","id":7,"flags":["REORDER_HDR","GVRP"]}"#);
        assert_eq!(details.get("id"), Some(&Detail::Number(7)));
        let targets = [attribute(0, &[10, 0, 0, 1]), attribute(1, &[10, 0, 0, 2])].concat();
        let bond = [
            attribute(1, &[1]),
            attribute(2, &3_u32.to_ne_bytes()),
            attribute(8, &targets),
            attribute(9, &9_u32.to_ne_bytes()),
        ]
        .concat();
        let line = Details::of_kind("bond", &bond).line(named).unwrap();
        assert_eq!(
            line, "mode active-backup, active_slave eth3, arp_ip_target 10.0.0.1 10.0.0.2, arp_validate 9",
            "an unknown one too"
        );
        let id = attribute(11, &[0x80, 0, 2, 0, 0, 0, 0, 0xab]);
        let options = attribute(46, &[2_u32.to_ne_bytes(), 3_u32.to_ne_bytes()].concat());
        let line = Details::of_kind("bridge", &[id, options].concat()).line(named).unwrap();
        assert_eq!(line, "bridge_id 8000.2:0:0:0:0:ab, no_linklocal_learn 0, mcast_vlan_snooping 1");
        assert_eq!(Details::of_member("bridge", &attribute(4, &[1])).line(named).unwrap(), "hairpin on");
        assert_eq!(
            Details::of_kind("macvlan", &attribute(1, &4_u32.to_ne_bytes())).line(named).unwrap(),
            "mode bridge"
        );
    }

    #[test]
    fn what_is_short_or_unknown_is_not_there() {
        for kind in ["vlan", "bond", "bridge", "tun", "macvlan", "geneve"] {
            let all: Vec<u8> = (0..50).flat_map(|at| attribute(at, &[])).collect();
            assert_eq!(Details::of_kind(kind, &all).line(named), None, "{kind}");
            assert_eq!(Details::of_member(kind, &all[..all.len() / 2 + 3]).line(named), None, "{kind}");
        }
    }
}
