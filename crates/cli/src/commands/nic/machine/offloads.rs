//! Offloads by FreeBSD's names, beside the kernel's.

use linerate_host::adapter::Adapter;

/// A capability of FreeBSD's (`net/if.h`): bit, name, and the kernel's features that are it. It is on if one of them is.
struct Capability {
    bit: u32,
    name: &'static str,
    features: &'static [&'static str],
}

const fn row(bit: u32, name: &'static str, features: &'static [&'static str]) -> Capability {
    Capability { bit, name, features }
}

const CAPABILITIES: &[Capability] = &[
    row(0x1, "RXCSUM", &["rx-checksum"]),
    row(0x2, "TXCSUM", &["tx-checksum-ipv4", "tx-checksum-ip-generic"]),
    row(0x10, "VLAN_HWTAGGING", &["rx-vlan-hw-parse", "tx-vlan-hw-insert"]),
    row(0x100, "TSO4", &["tx-tcp-segmentation"]),
    row(0x200, "TSO6", &["tx-tcp6-segmentation"]),
    row(0x400, "LRO", &["rx-lro", "rx-gro-hw"]),
    row(0x1_0000, "VLAN_HWFILTER", &["rx-vlan-filter"]),
    row(0x20_0000, "RXCSUM_IPV6", &["rx-checksum"]),
    row(0x40_0000, "TXCSUM_IPV6", &["tx-checksum-ipv6", "tx-checksum-ip-generic"]),
    row(0x800_0000, "TXTLS4", &["tls-hw-tx-offload"]),
    row(0x1000_0000, "TXTLS6", &["tls-hw-tx-offload"]),
    row(0x2000_0000, "VXLAN_HWCSUM", &["tx-udp_tnl-csum-segmentation"]),
    row(0x4000_0000, "VXLAN_HWTSO", &["tx-udp_tnl-segmentation"]),
];

/// Capabilities that are on, or that there are, as `ifconfig -m` prints them.
pub(super) fn options(adapter: &Adapter, all: bool) -> Option<String> {
    let features = &adapter.features.as_ref().ok()?.0;
    let has = |row: &&Capability| {
        row.features.iter().filter_map(|name| features.get(*name)).any(|one| one.active || (all && one.changeable))
    };
    let mut rows: Vec<_> = CAPABILITIES.iter().filter(has).map(|row| (row.bit, row.name)).collect();
    if adapter.interface.mtu_most.is_some_and(|most| most > 1500) {
        rows.push((0x20, "JUMBO_MTU"));
    }
    if adapter.stamps.as_ref().is_ok_and(|stamps| stamps.receive.iter().any(|name| name == "all")) {
        rows.push((0x200_0000, "HWRXTSTMP"));
    }
    rows.sort_unstable();
    let bits = rows.iter().fold(0, |bits, (bit, _)| bits | bit);
    Some(format!("{bits:x}<{}>", rows.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(",")))
}

/// FreeBSD's names of a feature of the kernel's.
pub(super) fn names_of(feature: &str) -> Vec<&'static str> {
    CAPABILITIES.iter().filter(|row| row.features.contains(&feature)).map(|row| row.name).collect()
}
