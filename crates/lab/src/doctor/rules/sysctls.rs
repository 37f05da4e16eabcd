//! Sysctls: values that harm, and values that do not stay.

use crate::doctor::configured::{Configured, LAST, covers, interchanged, is_pattern, is_same, sysctls};
use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::rule::{Found, HOST, Rule, healthy};
use crate::doctor::view::View;
use linerate_host::shell::quoted;
use std::collections::BTreeSet;

pub(super) const RULES: &[Rule] = &[
    HOST.by("sysctl-range", sysctl_range).risk(Risk::Safe),
    HOST.by("not-persistent", not_persistent),
    HOST.by("persistent-differs", persistent_differs),
];

/// A sysctl: the least and the greatest value that does no harm, the value to set, whom another one harms, and how.
struct Row(&'static str, u64, u64, &'static str, &'static [Load], &'static str);

const MOST: u64 = u64::MAX;
const TCP: &[Load] = &[Load::Tcp];
const UDP: &[Load] = &[Load::Udp];
const ALL: &[Load] = &[];

const ROWS: &[Row] = &[
    Row("net.ipv4.tcp_moderate_rcvbuf", 1, 1, "1", TCP, "windows do not grow beyond the middle value of tcp_rmem"),
    Row(
        "net.ipv4.tcp_limit_output_bytes",
        65_536,
        MOST,
        "4194304",
        TCP,
        "a connection has so few bytes in queues below it",
    ),
    Row("net.ipv4.tcp_notsent_lowat", 4096, MOST, "4294967295", TCP, "writers wait until almost nothing is unsent"),
    Row("net.ipv4.tcp_min_tso_segs", 0, 16, "2", TCP, "small windows are sent in one burst"),
    Row("net.ipv4.tcp_tso_win_divisor", 0, 8, "3", TCP, "super-frames are cut to a small part of the window"),
    Row(
        "net.ipv4.tcp_rto_min_us",
        0,
        1_000_000,
        "200000",
        TCP,
        "a lost segment that nothing follows is sent again so late",
    ),
    Row("net.ipv4.tcp_retries2", 3, MOST, "15", TCP, "connections end at the first short outage"),
    Row("net.ipv4.tcp_syn_retries", 2, MOST, "6", TCP, "connections are given up after a lost SYN"),
    Row("net.ipv4.tcp_mtu_probing", 0, 1, "0", TCP, "each connection begins with small segments"),
    Row("net.ipv4.tcp_base_mss", 512, MOST, "1024", TCP, "probing of the path's MTU begins so low"),
    Row("net.ipv4.tcp_min_snd_mss", 0, 536, "48", TCP, "segments longer than a path carries"),
    Row("net.ipv4.tcp_recovery", 1, MOST, "1", TCP, "losses in the middle of a window are found late"),
    Row("net.ipv4.tcp_early_retrans", 1, 4, "3", TCP, "losses at the end of a window wait for a timer"),
    Row("net.ipv4.tcp_reordering", 3, 300, "3", TCP, "losses are taken for reordering, or the other way round"),
    Row("net.ipv4.tcp_max_reordering", 30, MOST, "300", TCP, "paths that reorder look lossy"),
    Row("net.ipv4.tcp_pacing_ca_ratio", 100, MOST, "120", TCP, "connections are paced below the rate of their window"),
    Row("net.ipv4.tcp_pacing_ss_ratio", 100, MOST, "200", TCP, "connections are paced below the rate of their window"),
    Row("net.ipv4.tcp_max_syn_backlog", 64, MOST, "1024", TCP, "a burst of new connections is dropped"),
    Row("net.ipv4.tcp_abort_on_overflow", 0, 0, "0", TCP, "a burst of new connections is reset"),
    Row(
        "net.ipv4.tcp_tw_recycle",
        0,
        0,
        "0",
        ALL,
        "of several clients behind one address those whose clock is behind are dropped (PAWSPassive of nstat counts them)",
    ),
    Row("net.ipv4.tcp_fin_timeout", 5, 300, "60", TCP, "closed connections stay too long, or not long enough"),
    Row("net.ipv4.tcp_max_tw_buckets", 1024, MOST, "262144", TCP, "closed connections are forgotten at once"),
    Row("net.ipv4.route.min_pmtu", 0, 1280, "552", ALL, "what routers say of narrower paths is not believed"),
    Row("net.ipv4.tcp_max_orphans", 1024, MOST, "65536", TCP, "connections that their programs have closed are reset"),
    Row(
        "net.ipv4.tcp_mem",
        4097,
        MOST,
        "188000 251000 376000",
        TCP,
        "in pages of 4 KiB: TCP is short of memory at once",
    ),
    Row("net.ipv4.ip_no_pmtu_disc", 0, 0, "0", ALL, "packets are cut on the way, or sent at the least MTU"),
    Row("net.ipv4.ip_default_ttl", 32, MOST, "64", ALL, "routers on the way drop packets after so many hops"),
    Row("net.ipv4.ipfrag_high_thresh", 1 << 18, MOST, "4194304", UDP, "fragments of long datagrams are thrown away"),
    Row("net.ipv6.ip6frag_high_thresh", 1 << 18, MOST, "4194304", UDP, "fragments of long datagrams are thrown away"),
    Row("net.ipv4.ipfrag_time", 1, MOST, "30", UDP, "fragments of long datagrams are thrown away"),
    Row("net.ipv4.udp_rmem_min", 1024, MOST, "4096", UDP, "under pressure a socket keeps not one datagram"),
    Row(
        "net.ipv4.neigh.default.unres_qlen_bytes",
        4096,
        MOST,
        "212992",
        ALL,
        "packets to neighbours that are asked for are dropped",
    ),
    Row(
        "net.ipv6.neigh.default.unres_qlen_bytes",
        4096,
        MOST,
        "212992",
        ALL,
        "packets to neighbours that are asked for are dropped",
    ),
    Row("net.core.netdev_budget", 64, MOST, "300", ALL, "a turn of receiving ends after so few frames"),
    Row("net.core.netdev_budget_usecs", 500, MOST, "2000", ALL, "a turn of receiving ends so early"),
    Row("net.core.dev_weight", 16, MOST, "64", ALL, "a queue gets a turn of so few frames"),
    Row("net.core.optmem_max", 4096, MOST, "131072", ALL, "options and zero-copy notes of sockets find no room"),
    Row(
        "net.netfilter.nf_conntrack_tcp_timeout_established",
        600,
        MOST,
        "432000",
        ALL,
        "idle connections are forgotten, and their next packet dropped",
    ),
    Row("net.netfilter.nf_conntrack_udp_timeout", 5, MOST, "30", ALL, "flows of datagrams are forgotten between two"),
];

/// Ports for connections that begin here.
const PORTS: &str = "net.ipv4.ip_local_port_range";

fn sysctl_range(view: &View<'_>) -> Found {
    let mut found = Vec::new();
    for Row(name, least, most, to, loads, words) in ROWS {
        // What a kernel does not have cannot be wrong.
        let Ok(now) = view.sysctl_number(name) else { continue };
        if (*least..=*most).contains(&now) {
            continue;
        }
        let hurts = loads.is_empty() || view.loads.is_empty() || view.wants(loads);
        let severity = if hurts { Severity::Warning } else { Severity::Note };
        let mut finding = view.set(severity, name, now, to);
        finding.what = format!("{}: {words}", finding.what);
        found.push(finding);
    }
    if let Ok([low, high]) = view.sysctl_numbers(PORTS).as_deref()
        && high.saturating_sub(*low) < 1000
    {
        let severity =
            if view.wants(&[Load::Udp, Load::PktGen, Load::Fcoe]) { Severity::Note } else { Severity::Warning };
        let mut finding = view.set(severity, PORTS, format!("{low} {high}"), "32768 60999");
        finding.what = format!("{}: so few connections begin here", finding.what);
        found.push(finding);
    }
    if found.is_empty() { view.lacks("/proc/sys: nothing of it is told".to_owned()) } else { Ok(found) }
}

/// Sysctls that other rules look at, with the values that kernels give them; those that depend on the machine are not here.
const DEFAULTS: &[(&str, &[&str])] = &[
    ("net.core.rmem_max", &["212992", "229376", "4194304"]),
    ("net.core.wmem_max", &["212992", "229376", "4194304"]),
    ("net.core.netdev_max_backlog", &["1000"]),
    ("net.core.netdev_budget", &["300"]),
    ("net.core.busy_read", &["0"]),
    ("net.core.somaxconn", &["128", "4096"]),
    ("net.ipv4.tcp_slow_start_after_idle", &["1"]),
    ("net.ipv4.tcp_window_scaling", &["1"]),
    ("net.ipv4.tcp_sack", &["1"]),
    ("net.ipv4.tcp_timestamps", &["1"]),
    ("net.ipv4.ip_forward", &["0"]),
    ("net.ipv4.conf.all.rp_filter", &["0"]),
    ("net.ipv4.neigh.default.gc_thresh3", &["1024"]),
];

fn not_persistent(view: &View<'_>) -> Found {
    let files = sysctls(view)?;
    let boot = view.file("proc/cmdline").unwrap_or_default();
    let is_set = |name: &str| {
        let path = interchanged(name);
        files.iter().any(|one| covers(&one.name, &path))
            // Since Linux 5.8.
            || boot.split_whitespace().any(|word| {
                let set = word.strip_prefix("sysctl.").and_then(|rest| rest.split_once('='));
                set.is_some_and(|(key, _)| key == name || key == path)
            })
    };
    let now = |name: &str| view.sysctl(name).ok();
    let lost: Vec<(&str, String)> = DEFAULTS
        .iter()
        .filter_map(|(name, defaults)| Some((*name, now(name)?, *defaults)))
        .filter(|(name, now, defaults)| !defaults.iter().any(|default| is_same(default, now)) && !is_set(name))
        .map(|(name, now, _)| (name, now))
        .collect();
    if lost.is_empty() {
        return healthy();
    }
    let what = match lost.len() {
        1 => "a sysctl is set, and no file sets it at the next start".to_owned(),
        n => format!("{n} sysctls are set, and no file sets them at the next start"),
    };
    let lines: Vec<String> = lost.iter().map(|(name, now)| quoted(format!("{name} = {now}"))).collect();
    let first = Finding::new(Severity::Note, what)
        .mend(format!("to keep them: printf '%s\\n' {} >> /etc/sysctl.d/90-network.conf", lines.join(" ")));
    let all = lost.iter().fold(first, |finding, (name, now)| {
        finding.seen(format!("{name} = {now}, not in sysctl.conf or sysctl.d"), format!("sysctl {name}"))
    });
    all.alone()
}

fn persistent_differs(view: &View<'_>) -> Found {
    let files = sysctls(view)?;
    // A pattern may be meant for interfaces that are not there yet.
    let keys = files.iter().map(|one| one.name.as_str()).filter(|key| key.starts_with("net/") && !is_pattern(key));
    let keys: BTreeSet<&str> = keys.collect();
    // A list of ranges, which the kernel writes in its own way.
    let keys = keys.into_iter().filter(|key| !key.ends_with("ip_local_reserved_ports"));
    let one = |key: &str| {
        // What is not there, or is there to be written only, has no value.
        let now = view.file(&format!("proc/sys/{key}")).ok()?;
        let of = |is_last: bool| {
            let is_of = |one: &&Configured| one.name == key && (one.file == LAST) == is_last;
            files.iter().rev().find(is_of)
        };
        // Either may be in force: systemd does not read the last file, sysctl --system does.
        let said: Vec<&Configured> = [of(true), of(false)].into_iter().flatten().collect();
        let differs = !said.iter().any(|one| is_same(&one.value, &now));
        let Configured { value, file, .. } = said.first().filter(|_| differs)?;
        let name = interchanged(key);
        let finding = view
            .set(Severity::Warning, &name, &now, value)
            .seen(format!("{name} = {value}"), file.as_str())
            // What was changed since, and any key may be of security.
            .gain("or take that line out of the file, if the present value is the right one");
        Some(Finding { what: format!("{name} is {now}, and {file} says {value}"), ..finding })
    };
    Ok(keys.filter_map(one).collect())
}
