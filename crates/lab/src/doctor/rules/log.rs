//! Lines of the kernel's log about the network: each line is a fault that it has seen itself.

use super::firewall::conntrack;
use super::routes::neighbour_table;
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Found, HOST, Look, Rule};
use crate::doctor::view::View;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "kernel-log",
    about: "what the kernel has written to its log",
    means: "the kernel has seen it happen",
    published: "dmesg(1)",
    look: Look::Custom(kernel_log),
    ..HOST
}];

/// Words that all are in the line, whether it is a warning, the fault, and what to type.
type Row = (&'static [&'static str], bool, &'static str, &'static str);

const ROWS: &[Row] = &[
    (
        &["conntrack: table full"],
        true,
        "the table of connections was full: packets were dropped",
        "sysctl -w net.netfilter.nf_conntrack_max=N, with twice what it is; 'conntrack -S' tells whether it goes on",
    ),
    (
        &["table overflow!"],
        true,
        "the table of neighbours was full: packets to new ones were dropped",
        "sysctl -w net.ipv4.neigh.default.gc_thresh3=16384 net.ipv4.neigh.default.gc_thresh2=8192, of IPv6 likewise",
    ),
    (
        &["NETDEV WATCHDOG"],
        true,
        "a transmit queue stood still, and its driver was to reset the adapter",
        "firmware and driver of one release; to see whether an offload does it: ethtool -K DEV tso off gso off",
    ),
    (
        &["Unit Hang"],
        true,
        "the adapter's transmit unit hung",
        "firmware and driver of one release; to see whether an offload does it: ethtool -K DEV tso off gso off",
    ),
    (
        &["Reset adapter unexpectedly"],
        true,
        "the driver reset its adapter unexpectedly",
        "firmware and driver of one release, and the adapter's power saving off (pcie_aspm=off on the kernel's command line)",
    ),
    (
        &["driver issue detected"],
        true,
        "the adapter stopped a queue for a malformed descriptor (malicious driver detection)",
        "a newer driver; of a guest's function the driver in the guest",
    ),
    (
        &["page allocation failure", "order:0"],
        true,
        "an interrupt found no page of memory: frames were dropped",
        "sysctl -w vm.min_free_kbytes=N, with twice what it is",
    ),
    (
        &["swiotlb buffer is full"],
        true,
        "the buffers for adapters that do not reach all memory were full",
        "swiotlb=131072 on the kernel's command line, or the IOMMU on",
    ),
    (
        &["own address as source address"],
        true,
        "frames of a bridge came back to it: there is a loop, or another one has its address",
        "see the cables of its members; ip link set dev BRIDGE type bridge stp_state 1 breaks a loop",
    ),
    (
        &["SYN flooding on port"],
        false,
        "more connections came at a port than its program took",
        "a greater backlog of that program, and net.core.somaxconn; 'ss -ltn' shows which",
    ),
    (
        &["TCP: out of memory"],
        true,
        "TCP had no memory",
        "sysctl -w net.ipv4.tcp_mem='LOW PRESSURE MOST', twice what it is",
    ),
    (
        &["over-mtu packet"],
        true,
        "packets longer than an MTU were dropped in this machine",
        "the same MTU for a bridge and its members, or 'ethtool -K DEV lro off' where frames are forwarded",
    ),
    (
        &["hw csum failure"],
        true,
        "the adapter took a wrong checksum for right, or counted one wrongly",
        "a newer driver; until then ethtool -K DEV rx off",
    ),
    (
        &["unsupported", "SFP"],
        true,
        "the driver refused a module",
        "a module of the adapter's list; of ixgbe allow_unsupported_sfp=1, at one's own risk",
    ),
    (
        &["available PCIe bandwidth, limited by"],
        false,
        "a PCIe link is slower than the adapter's own",
        "see where: lspci -vv, LnkCap and LnkSta; another slot",
    ),
    (
        &["ownshift"],
        true,
        "the link came up slower than both ends offer: a pair of the cable is bad",
        "another cable with all four pairs; then another port of the partner",
    ),
    (
        &["duplicate address"],
        true,
        "another host has an address of this one",
        "another address for one of both; 'arping -D' and 'ip -6 neigh' find the other",
    ),
    (
        &["severity=Uncorrected"],
        true,
        "a device on PCIe reported errors that its link could not mend",
        "seat card and riser anew, or take another slot; then firmware of card and machine",
    ),
    (
        &["PCIe link lost"],
        true,
        "an adapter was lost on the bus",
        "pcie_aspm=off pcie_port_pm=off on the kernel's command line, then another slot; firmware of card and machine",
    ),
    (&["over temperature"], true, "an adapter was too hot", "see fans and slots beside it"),
    (
        &[HOT],
        false,
        "processors were too hot, and their clock was held down",
        "see fans, dust and the air before it; then its limits of power",
    ),
    (
        &["poof", "detected"],
        true,
        "frames of a guest with an address that is not its function's were dropped (spoof checking)",
        "ip link set dev DEV vf N mac ADDRESS, that from which the guest sends; for one that bonds or bridges its functions, and is \
         trusted: ip link set dev DEV vf N trust on spoofchk off",
    ),
];

/// Words of a processor that is too hot: for a moment under load that is usual.
const HOT: &str = "clock throttled";

/// The clock that is held down: below half of its most while its processor is too hot.
fn held_down(view: &View<'_>) -> Option<String> {
    let number = |file| view.number::<u64>(&format!("sys/devices/system/cpu/cpu0/cpufreq/{file}")).ok();
    let (now, most) = (number("scaling_cur_freq")?, number("cpuinfo_max_freq")?);
    (now < most / 2).then(|| format!("a clock of {} MHz, at most {}", now / 1000, most / 1000))
}

type Tells = fn(&View<'_>) -> bool;

/// Rows, by their first words, whose state another rule looks at: it tells the values, and they are not told twice.
const ELSEWHERE: &[(&str, Tells)] = &[
    ("conntrack: table full", |view| conntrack(view).is_ok_and(|found| !found.is_empty())),
    ("table overflow!", |view| neighbour_table(view).is_ok_and(|found| !found.is_empty())),
    ("duplicate address", |view| view.network.addresses.iter().flatten().any(|one| one.states.contains(&"dadfailed"))),
];

fn kernel_log(view: &View<'_>) -> Found {
    view.file("var/log/dmesg")?;
    let told = |words: &[&str]| ELSEWHERE.iter().any(|(first, tells)| words[0] == *first && tells(view));
    let found = ROWS.iter().filter(|(words, ..)| !told(words)).filter_map(|(words, grave, what, mend)| {
        let lines = view.logged(words);
        let last = lines.last()?;
        let held = held_down(view).filter(|_| words[0] == HOT);
        let severity = if *grave || held.is_some() { Severity::Warning } else { Severity::Note };
        let times = if lines.len() == 1 { String::new() } else { format!(" ({} lines)", lines.len()) };
        let finding = Finding::new(severity, format!("{what}{times}")).seen(last.trim(), "dmesg").mend(*mend);
        Some(
            held.into_iter()
                .fold(finding, |finding, clock| finding.seen(clock, "lscpu, /sys/devices/system/cpu/cpu0/cpufreq")),
        )
    });
    Ok(found.collect())
}
