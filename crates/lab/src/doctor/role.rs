//! Roles of hosts, by what stands and runs on them or as they are named: what is usual for a role is no fault.

use super::finding::{Evidence, Finding, Severity};
use super::intent::MEANT;
use super::view::View;
use linerate_host::adapter::Interface;
use linerate_host::shell::word;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    ContainerNode,
    Hypervisor,
    Router,
    Hardened,
    LowLatency,
}

/// Rules that find what is usual for a role; at interfaces of software only with `true`.
const USUAL: &[(Role, &str, bool)] = &[
    // Limits of virtual machines (libvirt's bandwidth), of pods (the bandwidth plugin), and of the line behind a router.
    (Role::Hypervisor, "shaped", true),
    (Role::ContainerNode, "shaped", true),
    (Role::Router, "shaped", false),
    // Time-stamps tell how long a machine has run.
    (Role::Hardened, "tcp-options", false),
    // Each frame at once, and no core but for its program.
    (Role::LowLatency, "gro", false),
    (Role::LowLatency, "one-queue", false),
    (Role::LowLatency, "irqs-on-one-core", false),
    (Role::LowLatency, "rss-table", false),
];

/// Programs of a role: beginnings of their names.
const PROGRAMS: &[(Role, &[&str])] = &[
    (Role::ContainerNode, &["kubelet", "dockerd", "containerd", "crio"]),
    (Role::Hypervisor, &["qemu-", "libvirtd", "virtqemud", "cloud-hyperviso", "firecracker"]),
    (Role::Router, &["bird", "zebra", "bgpd", "ospfd", "isisd", "babeld", "gobgpd"]),
];

/// Beginnings of the names of container networks' interfaces (docker, CNI, flannel, Calico, Cilium, kube-proxy).
pub(super) const CONTAINERS: [&str; 7] = ["docker0", "cni0", "cbr0", "flannel", "cali", "cilium_", "kube-"];

/// Settings of IPv4 that CIS benchmarks ask for, and that Linux has otherwise by itself.
const HARDENED: [(&str, u64); 3] = [
    ("net.ipv4.conf.all.send_redirects", 0),
    ("net.ipv4.conf.all.accept_redirects", 0),
    ("net.ipv4.conf.all.log_martians", 1),
];

impl Role {
    pub const ALL: [(&'static str, Self); 5] = [
        ("container-node", Self::ContainerNode),
        ("hypervisor", Self::Hypervisor),
        ("router", Self::Router),
        ("hardened", Self::Hardened),
        ("low-latency", Self::LowLatency),
    ];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, role)| *role == self).map_or("", |(word, _)| word)
    }
}

/// Roles of a host, each with what shows it: those that are named, and those that are recognised.
pub(super) fn roles(view: &View<'_>, named: &[Role]) -> Vec<(Role, Evidence)> {
    let of = |value: String, read: String| Evidence { value, read };
    let mut all: Vec<(Role, Evidence)> = named
        .iter()
        .map(|role| (*role, of(format!("it is named a {}", role.word()), format!("--as {}", role.word()))))
        .collect();
    let link = |one: &Interface| format!("ip -d link show dev {}", word(&one.name));
    let is_of_containers = |one: &&Interface| CONTAINERS.iter().any(|start| one.name.starts_with(start));
    let container = view.interfaces.iter().find(is_of_containers);
    all.extend(container.map(|one| (Role::ContainerNode, of(format!("it has {}", one.name), link(one)))));
    for process in view.names("proc").iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit())) {
        let path = format!("proc/{process}/comm");
        let Ok(name) = view.file(&path) else { continue };
        let runs = PROGRAMS.iter().filter(|(_, starts)| starts.iter().any(|start| name.starts_with(start)));
        all.extend(runs.map(|(role, _)| (*role, of(format!("{name} runs"), format!("/{path}")))));
    }
    // Cards with routes of their own, and packets go from one to the other.
    let routed = |one: &&Interface| {
        let mut routes = view.network.routes.iter().flatten().filter(|route| route.kind == "unicast");
        one.device.is_some() && routes.any(|route| route.link == Some(one.index))
    };
    if view.sysctl_number("net.ipv4.ip_forward") == Ok(1) && view.interfaces.iter().filter(routed).count() > 1 {
        let value = "it forwards between cards with routes of their own".to_owned();
        all.push((Role::Router, of(value, "sysctl net.ipv4.ip_forward; ip route".to_owned())));
    }
    all.extend(low_latency(view).map(|evidence| (Role::LowLatency, evidence)));
    if HARDENED.iter().all(|(name, value)| view.sysctl_number(name) == Ok(*value)) {
        let value = HARDENED.map(|(name, value)| format!("{name} = {value}")).join(", ");
        all.push((Role::Hardened, of(value, format!("sysctl {}", HARDENED.map(|(name, _)| name).join(" ")))));
    }
    all
}

/// Profiles of tuned(8) that trade rate for latency.
const PROFILES: [&str; 3] = ["network-latency", "realtime", "cpu-partitioning"];

/// Signs that a host is set up for latency: a profile, or processors that are kept for single programs without a tick.
fn low_latency(view: &View<'_>) -> Option<Evidence> {
    let profile = view.file("etc/tuned/active_profile").ok().filter(|profile| PROFILES.contains(&profile.as_str()));
    if let Some(profile) = profile {
        return Some(Evidence { value: format!("profile {profile}"), read: "tuned-adm active".to_owned() });
    }
    let line = view.file("proc/cmdline").ok()?;
    let words = ["isolcpus=", "nohz_full="].map(|start| line.split_whitespace().find(|word| word.starts_with(start)));
    let [Some(isolated), Some(tickless)] = words else { return None };
    Some(Evidence { value: format!("{isolated} {tickless}"), read: "/proc/cmdline".to_owned() })
}

/// Rules that find what is meant at a port that only captures: frames are to be seen as they came, in their order.
const CAPTURED: [&str; 11] = [
    "gro",
    "gso",
    "tso",
    "scatter-gather",
    "rx-checksum",
    "tx-checksum",
    "vlan-offload",
    "feature-refused",
    "one-queue",
    "rss-table",
    "super-frames",
];

/// Signs that a port only captures: it takes frames for all, and nothing is reached by it.
fn captures(view: &View<'_>) -> Option<Evidence> {
    let interface = view.interface();
    let local = |ip: std::net::IpAddr| matches!(ip, std::net::IpAddr::V6(v6) if v6.is_unicast_link_local());
    let takes_all = view.has_flag("PROMISC") || interface.promiscuity.is_some_and(|users| users > 0);
    let is_below = view.interfaces.iter().any(|one| one.lower == Some(interface.index) && !one.lower_elsewhere);
    let unused = view.addresses().is_ok_and(|own| own.iter().all(|one| local(one.address)));
    let value = "it receives frames for all, has no address and nothing above it, as a port that captures".to_owned();
    (takes_all && unused && !is_below && interface.master.is_none() && view.is_hardware())
        .then(|| Evidence { value, read: format!("ip -d addr show dev {}", view.typed()) })
}

/// A finding as a note without changes, if it is usual for a role of the host, or of the interface.
pub(super) fn respected(mut finding: Finding, rule: &str, view: &View<'_>) -> Finding {
    let usual = |role: Role| {
        USUAL.iter().any(|(of, name, software)| (*of, *name) == (role, rule) && !(*software && view.is_hardware()))
    };
    let of_port = || captures(view).filter(|_| CAPTURED.contains(&rule));
    let of_host = view.roles.iter().find(|(role, _)| usual(*role)).map(|(_, evidence)| evidence.clone());
    let Some(evidence) = of_host.or_else(of_port) else { return finding };
    if finding.severity > Severity::Note {
        finding.severity = Severity::Note;
        finding.fix.clear();
        let meant = |mend: String| if mend.starts_with(MEANT) { mend } else { format!("{MEANT}{mend}") };
        finding.mend = finding.mend.map(meant);
        finding.evidence.push(evidence);
    }
    finding
}
