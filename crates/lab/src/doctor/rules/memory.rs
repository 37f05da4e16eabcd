//! Memory and clock of the host.

use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::rule::{FAST, Found, HOST, Proof, Rule, healthy};
use crate::doctor::view::{View, processors};

pub(super) const RULES: &[Rule] = &[
    HOST.by("clock-source", clock_source).risk(Risk::Safe).proof(Proof::Stream),
    HOST.by("siblings", siblings),
    HOST.by("numa-balancing", numa_balancing).risk(Risk::Safe),
    HOST.by("swap", swap).proof(Proof::Stream),
    HOST.by("huge-pages", huge_pages).risk(Risk::Safe),
    HOST.by("zone-reclaim", zone_reclaim).risk(Risk::Safe),
    HOST.by("min-free", min_free).risk(Risk::Safe),
];

pub(super) fn clock_source(view: &View<'_>) -> Found {
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let now = view.file(path)?;
    if ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "xen"].contains(&now.as_str()) {
        return healthy();
    }
    let known = view.file("sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    let finding = Finding::new(Severity::Warning, format!("the clock source is {now}"))
        .seen(format!("{now}; there are {known}"), format!("/{path}"));
    match ["tsc", "kvm-clock"].into_iter().find(|one| known.split_whitespace().any(|word| word == *one)) {
        Some(better) => finding.mend(format!("echo {better} > /{path}")).writes(path, better),
        None => finding.mend(
            "newer firmware of the machine, whose clocks the kernel does not trust ('dmesg | grep -i tsc' says why); then it takes tsc \
             by itself",
        ),
    }
    .alone()
}

fn siblings(view: &View<'_>) -> Found {
    let on: u64 = view.number("sys/devices/system/cpu/smt/active")?;
    if on == 0 || view.loads.is_empty() {
        return healthy();
    }
    let pair = view.file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list").unwrap_or_default();
    Finding::new(Severity::Note, "processors share cores: pin loads to one of each pair")
        .seen(format!("smt active; CPU 0 with {pair}"), "/sys/devices/system/cpu/smt/active, thread_siblings_list")
        .mend("echo off > /sys/devices/system/cpu/smt/control, or pin by -A, -a")
        .alone()
}

fn numa_balancing(view: &View<'_>) -> Found {
    let name = "kernel.numa_balancing";
    // Kernels without it have no such file.
    let on = match view.sysctl_number(name) {
        Err(why) => return view.lacks(why),
        Ok(on) => on,
    };
    let nodes = processors(&view.file("sys/devices/system/node/online")?).len();
    if on == 0 || nodes < 2 || view.loads.is_empty() {
        return healthy();
    }
    view.set(Severity::Note, name, on, 0)
        .seen(format!("{nodes} nodes"), "/sys/devices/system/node/online")
        .gain("threads that are tied to a node (-A, -a) are not interrupted for it")
        .alone()
}

fn swap(view: &View<'_>) -> Found {
    let text = view.file("proc/meminfo")?;
    let used = kib(&text, "SwapTotal:").zip(kib(&text, "SwapFree:")).map_or(0, |(all, free)| all.saturating_sub(free));
    if used < 64 << 10 {
        return healthy();
    }
    Finding::new(Severity::Note, format!("{} MiB of memory are in swap", used >> 10))
        .seen(format!("SwapTotal - SwapFree = {used} kB"), "/proc/meminfo")
        .mend("swapoff -a && swapon -a, with memory enough")
        .alone()
}

fn huge_pages(view: &View<'_>) -> Found {
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

/// A row of /proc/meminfo.
fn kib(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

fn zone_reclaim(view: &View<'_>) -> Found {
    let name = "vm.zone_reclaim_mode";
    // Kernels without nodes have no such file.
    let mode = match view.sysctl_number(name) {
        Err(why) => return view.lacks(why),
        Ok(mode) => mode,
    };
    let nodes = processors(&view.file("sys/devices/system/node/online")?).len();
    if mode == 0 || nodes < 2 || !view.has_speed(FAST) {
        return healthy();
    }
    view.set(Severity::Warning, name, mode, 0).seen(format!("{nodes} nodes"), "/sys/devices/system/node/online").alone()
}

/// Memory of a machine for fast links, and what is kept free of it at least, kB.
const LARGE: u64 = 16 << 20;
const KEPT: u64 = 64 << 10;

fn min_free(view: &View<'_>) -> Found {
    let name = "vm.min_free_kbytes";
    let now = view.sysctl_number(name)?;
    let text = view.file("proc/meminfo")?;
    let all = kib(&text, "MemTotal:").ok_or("/proc/meminfo: it has no MemTotal")?;
    let seen = |finding: Finding| finding.seen(format!("MemTotal {all} kB"), "/proc/meminfo");
    if now > all / 10 {
        return seen(view.set(Severity::Warning, name, now, (all / 100).max(KEPT.min(all / 10)))).alone();
    }
    if now >= KEPT / 2 || all < LARGE || !view.has_speed(FAST) {
        return healthy();
    }
    seen(view.set(Severity::Note, name, now, KEPT)).gain("bursts find pages").alone()
}
