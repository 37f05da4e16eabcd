//! TCP, UDP and sockets.

use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::protocols::{NETSTAT, SNMP, ipv6_counter, is_share, protocol_counter, tcp_counter};
use crate::doctor::rule::{FAST, Found, HOST, Look, Proof, Rule, healthy};
use crate::doctor::view::{View, is_usual};

pub(super) const RULES: &[Rule] = &[
    HOST.by("buffers-tcp", buffers_tcp).risk(Risk::Safe).proof(Proof::Back),
    HOST.by("buffers-socket", buffers_socket).risk(Risk::Safe).proof(Proof::Stream),
    HOST.by("tcp-options", tcp_options).risk(Risk::Safe).proof(Proof::Stream),
    HOST.by("congestion-control", congestion_control).risk(Risk::Safe).proof(Proof::Stream),
    HOST.looks(
        "slow-start-after-idle",
        Look::Sysctl(
            "net.ipv4.tcp_slow_start_after_idle",
            [0, 0],
            0,
            &[Load::Tcp],
            0,
            "requests after pauses are answered in fewer round trips",
        ),
    )
    .risk(Risk::Safe)
    .proof(Proof::Requests),
    HOST.by("tcp-memory", tcp_memory),
    HOST.looks(
        "somaxconn",
        Look::Sysctl(
            "net.core.somaxconn",
            [1024, u64::MAX],
            4096,
            &[Load::Tcp],
            0,
            "that many connections may wait at a listening socket",
        ),
    )
    .risk(Risk::Safe),
    HOST.by("listen-drops", listen_drops),
    HOST.by("udp-drops", udp_drops),
    HOST.by("tcp-drops", tcp_drops),
    HOST.by("connections", connections),
    HOST.by("retransmits", retransmits),
    HOST.looks(
        "metrics-save",
        Look::Sysctl(
            "net.ipv4.tcp_no_metrics_save",
            [1, u64::MAX],
            1,
            &[Load::Tcp],
            FAST,
            "each connection finds out what the path has",
        ),
    )
    .risk(Risk::Safe)
    .proof(Proof::Stream),
    HOST.looks(
        "fast-open",
        Look::Sysctl(
            "net.ipv4.tcp_fastopen",
            [1, u64::MAX],
            1,
            &[Load::Tcp],
            0,
            "a round trip less for first requests to servers that take part",
        ),
    )
    .risk(Risk::Safe),
    HOST.by("default-qdisc", default_qdisc).risk(Risk::Safe).proof(Proof::Stream),
];

/// Longest round trip of a connection that ss(8) shows, whole ms.
fn round_trip(view: &View<'_>) -> Option<u64> {
    let text = view.file("posted/ss").ok()?;
    text.split_whitespace().filter_map(|word| word.strip_prefix("rtt:")?.split(['/', '.']).next()?.parse().ok()).max()
}

fn buffers_tcp(view: &View<'_>) -> Found {
    let mut found = Vec::new();
    // 10 Gb/s for 5 ms, or 1 Gb/s for the longest round trip that a text tells, twice.
    let far = round_trip(view).filter(|ms| *ms > 20);
    let wanted: u64 = far.map_or(6 << 20, |ms| (ms.min(300) * 250_000).next_power_of_two().clamp(6 << 20, 64 << 20));
    let ms = far.filter(|_| wanted > 6 << 20).unwrap_or(5) as f64;
    for name in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        let all = view.sysctl_numbers(name)?;
        let [least, usual, most] = all[..] else { return Err(format!("{name} has no three numbers")) };
        if usual < 16_384 {
            let finding = view.set(
                view.unless_others(&[Load::Tcp]),
                name,
                format!("{least} {usual} {most}"),
                format!("{least} {} {}", if name.ends_with("rmem") { 131_072 } else { 16_384 }, most.max(wanted)),
            );
            found.push(finding.gain("connections begin with a window of more than a few segments"));
            continue;
        }
        if most >= 4 << 20 {
            continue;
        }
        let finding = view.set(
            view.unless_others(&[Load::Tcp]),
            name,
            format!("{least} {usual} {most}"),
            format!("{least} {usual} {wanted}"),
        );
        let rate = |bytes: u64| bytes as f64 * 8.0 / 1e6 / ms;
        found.push(finding.gain(format!("{:.1} Gb/s at {ms:.0} ms instead of {:.2}", rate(wanted), rate(most))));
    }
    Ok(found)
}

fn buffers_socket(view: &View<'_>) -> Found {
    let mut found = Vec::new();
    for name in ["net.core.rmem_max", "net.core.wmem_max"] {
        let most = view.sysctl_number(name)?;
        if most < 512_000 {
            let severity = if most < 128_000 { Severity::Warning } else { view.graver_for(&[Load::Udp]) };
            found.push(view.set(severity, name, most, 4 << 20).gain("'-w 512k' is what it says"));
        }
    }
    for name in ["net.core.rmem_default", "net.core.wmem_default"] {
        // A kernel's own is 212992; a program that asks for nothing has this.
        if let Ok(usual) = view.sysctl_number(name)
            && usual < 65_536
        {
            found.push(
                view.set(Severity::Warning, name, usual, 212_992)
                    .gain("datagrams find room at programs that ask for none"),
            );
        }
    }
    Ok(found)
}

fn tcp_options(view: &View<'_>) -> Found {
    let mut found = Vec::new();
    for (name, words) in [
        ("net.ipv4.tcp_window_scaling", "no window is larger than 64 KiB"),
        ("net.ipv4.tcp_sack", "each loss of a window costs a round trip"),
        ("net.ipv4.tcp_timestamps", "round trips are measured seldom, and old segments not told from new ones"),
    ] {
        if view.sysctl_number(name)? == 0 {
            found.push({
                let mut finding = view.set(view.unless_others(&[Load::Tcp]), name, 0, 1);
                finding.what = format!("{}: {words}", finding.what);
                finding
            });
        }
    }
    Ok(found)
}

fn congestion_control(view: &View<'_>) -> Found {
    let name = "net.ipv4.tcp_congestion_control";
    let now = view.sysctl(name)?;
    if ["cubic", "bbr", "bbr2", "bbr3", "dctcp", "htcp"].contains(&now.as_str()) {
        return healthy();
    }
    let known = view.sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let to =
        ["cubic", "bbr"].into_iter().find(|one| known.split_whitespace().any(|word| word == *one)).unwrap_or("cubic");
    // Those that are older than fast long paths, or made for traffic that gives way.
    let slow = ["reno", "vegas", "lp", "veno", "westwood", "yeah", "hybla"].contains(&now.as_str());
    let severity = if slow && view.has_speed(FAST) { Severity::Warning } else { Severity::Note };
    view.set(severity, name, now, to).alone()
}

fn tcp_memory(view: &View<'_>) -> Found {
    let text = view.file("proc/net/sockstat");
    let pressures = match (tcp_counter(view, "TCPMemoryPressures"), &text) {
        (Err(why), Err(_)) => return Err(why),
        (counted, _) => counted.unwrap_or_default().value,
    };
    let mem = |line: &str| line.strip_prefix("TCP:")?.split_once(" mem ")?.1.split_whitespace().next()?.parse().ok();
    if let (Err(why), 0) = (&text, pressures) {
        return Err(why.clone());
    }
    // Of a part of the texts only the other may be there.
    let used: u64 = text.unwrap_or_default().lines().find_map(mem).unwrap_or(0);
    // Only the first network namespace shows the limits.
    let limits = view.sysctl_numbers("net.ipv4.tcp_mem").unwrap_or_default();
    let pressed = limits.get(1).is_some_and(|pressure| used > *pressure);
    if !pressed && pressures == 0 {
        return healthy();
    }
    let (severity, what) = match pressed {
        true => (Severity::Warning, "TCP has more memory in use than it may without pressure".to_owned()),
        false => (
            if is_share(view, NETSTAT, pressures, 0) { Severity::Warning } else { Severity::Note },
            format!("TCP was short of memory, {pressures} times since the start"),
        ),
    };
    let wider = limits.iter().map(|limit| limit.saturating_mul(2).to_string()).collect::<Vec<_>>().join(" ");
    let limits = limits.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let finding = Finding::new(severity, what)
        .seen(format!("TCP mem {used} pages"), "/proc/net/sockstat")
        .seen(format!("TCPMemoryPressures {pressures}"), "/proc/net/netstat, nstat -az");
    match limits.as_str() {
        "" => finding.mend("sysctl -w net.ipv4.tcp_mem='LOW PRESSURE MOST' in the first network namespace"),
        limits => finding
            .seen(format!("net.ipv4.tcp_mem = {limits}"), "sysctl net.ipv4.tcp_mem")
            .mend(format!("sysctl -w net.ipv4.tcp_mem='{wider}', if the machine has the memory")),
    }
    .alone()
}

/// Listening port at which most connections wait for their program, and how many.
fn fullest(view: &View<'_>) -> Option<(u16, u64)> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Of a socket that listens (0A) the second queue is of connections.
        let [_, local, _, "0A", queues, ..] = words[..] else { return None };
        let hex = |text: &str| u64::from_str_radix(text.rsplit_once(':')?.1, 16).ok();
        Some((u16::try_from(hex(local)?).ok()?, hex(queues)?))
    };
    let texts = ["proc/net/tcp", "proc/net/tcp6"].map(|path| view.file(path).unwrap_or_default());
    let all = texts.iter().flat_map(|text| text.lines()).filter_map(line).filter(|(_, waiting)| *waiting > 0);
    all.max_by_key(|(_, waiting)| *waiting)
}

fn listen_drops(view: &View<'_>) -> Found {
    let [overflows, drops] = [tcp_counter(view, "ListenOverflows")?, tcp_counter(view, "ListenDrops")?];
    // Those that it drops for the time-stamp are counted there, too (tcp_tw_recycle, which has its own rule).
    let stamps = tcp_counter(view, "PAWSPassive").unwrap_or_default();
    let all = drops.value.saturating_sub(stamps.value).max(overflows.value);
    let now = drops.more.saturating_sub(stamps.more).max(overflows.more);
    let opened = protocol_counter(view, "Tcp", "PassiveOpens").unwrap_or_default();
    let finding = match (all, now) {
        (0, _) => return healthy(),
        (all, 0) if is_share(view, NETSTAT, all, opened.value) => Finding::new(
            Severity::Warning,
            format!(
                "{all} connections were dropped at listening sockets since the start, and {} came in",
                opened.value
            ),
        ),
        (all, now) if is_usual(now, opened.more, 0) => {
            Finding::new(Severity::Note, format!("{all} connections were dropped at listening sockets since the start"))
        }
        (_, now) => Finding::new(
            Severity::Warning,
            format!("{now} connections were dropped at listening sockets while it was looked at"),
        ),
    };
    // A program gets the lesser one of this and what it asks for.
    let (name, most) = ("net.core.somaxconn", view.sysctl_number("net.core.somaxconn"));
    let finding = finding.seen(
        format!("ListenOverflows {}, ListenDrops {}", overflows.value, drops.value),
        "/proc/net/netstat, nstat -az",
    );
    let finding = match &most {
        Ok(most) => finding.seen(format!("{name} = {most}, the most that a program gets"), format!("sysctl {name}")),
        Err(_) => finding,
    };
    let Some((port, waiting)) = fullest(view) else {
        return finding
            .mend("see 'ss -ltn': where Recv-Q comes up to Send-Q, the program needs a greater backlog, or more threads that accept")
            .alone();
    };
    let finding = finding.seen(format!("at port {port} {waiting} connections wait"), "ss -ltn, Recv-Q");
    match most {
        Ok(most) if waiting >= most => {
            let to = (most * 2).max(4096);
            finding.mend(format!("sysctl -w {name}='{to}', and start the program at port {port} again"))
        }
        _ => finding.mend(format!("a greater backlog of the program at port {port}, or more threads that accept")),
    }
    .alone()
}

fn udp_drops(view: &View<'_>) -> Found {
    let mut all = vec![("UdpRcvbufErrors", protocol_counter(view, "Udp", "RcvbufErrors")?)];
    all.extend(ipv6_counter(view, "Udp6RcvbufErrors").ok().map(|counter| ("Udp6RcvbufErrors", counter)));
    let (lost, now) = all.iter().fold((0, 0), |(lost, now), (_, one)| (lost + one.value, now + one.more));
    let memory = protocol_counter(view, "Udp", "MemErrors").unwrap_or_default();
    let read = protocol_counter(view, "Udp", "InDatagrams").unwrap_or_default().value;
    if memory.more > 0 || is_share(view, SNMP, memory.value, read) {
        return Finding::new(Severity::Warning, format!("{} datagrams were dropped: all sockets of UDP had too little memory", memory.value))
            .seen(format!("UdpMemErrors {} (+{})", memory.value, memory.more), "nstat -az")
            .mend("sysctl net.ipv4.udp_mem, whose three numbers are pages of 4 KiB, twice what they are, if the machine has the memory; and \
                   programs that read sooner")
            .alone();
    }
    let read = protocol_counter(view, "Udp", "InDatagrams").unwrap_or_default().more
        + ipv6_counter(view, "Udp6InDatagrams").unwrap_or_default().more;
    let came = protocol_counter(view, "Udp", "InDatagrams").unwrap_or_default().value;
    let first = match (lost, now) {
        (0, _) => return healthy(),
        (lost, 0) if is_share(view, SNMP, lost, came) => Finding::new(
            Severity::Warning,
            format!("{lost} datagrams found no room in their socket since the start, and {came} were read"),
        ),
        (lost, now) if is_usual(now, read, 0) => {
            Finding::new(Severity::Note, format!("{lost} datagrams found no room in their socket since the start"))
        }
        (_, now) => Finding::new(
            Severity::Warning,
            format!("{now} datagrams found no room in their socket while it was looked at"),
        ),
    };
    let shown =
        |name: &str| if name.contains('6') { "/proc/net/snmp6, nstat -az" } else { "/proc/net/snmp, nstat -az" };
    all.iter()
        .filter(|(_, one)| one.value > 0)
        .fold(first, |finding, (name, one)| finding.seen(format!("{name} {} (+{})", one.value, one.more), shown(name)))
        .mend("see 'ss -lunm' (d in skmem): a larger SO_RCVBUF there and net.core.rmem_max, or more threads that read")
        .alone()
}

/// Rows: a counter of TcpExt, the least that matters of a thousand segments that came, the loss, and what helps.
const DROPS: &str = include_str!("../../../data/tcp_drops.txt");

fn tcp_drops(view: &View<'_>) -> Found {
    let came = protocol_counter(view, "Tcp", "InSegs").unwrap_or_default();
    let mut found = Vec::new();
    let mut told = Err("no text tells them".to_owned());
    for row in DROPS.lines() {
        let [name, share, what, mend] = row.split(" | ").collect::<Vec<_>>()[..] else { continue };
        let share: u64 = share.parse().unwrap_or(1);
        let counted = tcp_counter(view, name);
        if told.is_err() {
            told = counted.clone().map(drop);
        }
        let Ok(counter) = counted else { continue };
        let now = counter.more >= 100 && counter.more.saturating_mul(1000) >= came.more.saturating_mul(share);
        // Of a part of the text no share is known.
        let few = share > 0 && came.value == 0 && counter.value < UNKNOWN;
        if !now && (few || !is_share(view, NETSTAT, counter.value, came.value.saturating_mul(share))) {
            continue;
        }
        found.push(
            Finding::new(Severity::Warning, format!("{}: {what}", counter.value))
                .seen(format!("TcpExt{name} {} (+{})", counter.value, counter.more), "nstat -az")
                .mend(view.raised(mend)),
        );
    }
    told.map(|()| found)
}

/// So many are a loss whatever came.
const UNKNOWN: u64 = 100_000;

/// Numbers of a connection as ss(8) prints it: per cent of its time that it waited for something.
fn waited(line: &str, word: &str) -> Option<f64> {
    line.split_once(word)?.1.split_once('(')?.1.split_once("%)")?.0.parse().ok()
}

/// Milliseconds for which a connection has had something to send before it tells anything.
const BUSY: u64 = 5000;

fn connections(view: &View<'_>) -> Found {
    let text = view.file("posted/ss")?;
    let mut found = Vec::new();
    for (word, what, mend) in [
        (
            "rwnd_limited:",
            "of its busy time a connection has waited for the window of the other end",
            "at the other end: a greater third value of net.ipv4.tcp_rmem, and a program that reads sooner and does not set its buffer",
        ),
        (
            "sndbuf_limited:",
            "of its busy time a connection has waited for its own send buffer",
            "sysctl -w net.ipv4.tcp_wmem='4096 16384 67108864' net.core.wmem_max=67108864; and a program that does not set its buffer",
        ),
    ] {
        // Of a server's many connections some are always of slow clients.
        let busy = |line: &&str| {
            line.split_once("busy:").and_then(|(_, rest)| rest.split_once("ms")?.0.parse::<u64>().ok()) >= Some(BUSY)
        };
        let all: Vec<f64> = text.lines().filter(busy).map(|line| waited(line, word).unwrap_or(0.0)).collect();
        let late = all.iter().filter(|share| **share >= 50.0).count();
        let most = text.lines().filter(busy).filter_map(|line| Some((waited(line, word)?, line)));
        let most = most.max_by(|one, other| one.0.total_cmp(&other.0)).filter(|_| late > 0 && late * 2 >= all.len());
        let Some((share, line)) = most else { continue };
        let seen: Vec<&str> = line
            .split_whitespace()
            .filter(|one| ["rtt:", "cwnd:", "mss:", word].iter().any(|start| one.starts_with(start)))
            .collect();
        let wide = view.sysctl_numbers("net.ipv4.tcp_wmem").is_ok_and(|all| all.last() >= Some(&(64 << 20)));
        let mend = if mend.starts_with("sysctl -w") && wide { "a program that does not set its buffer" } else { mend };
        found.push(
            Finding::new(Severity::Warning, format!("{share:.0} % {what}")).seen(seen.join(" "), "ss -ti").mend(mend),
        );
    }
    Ok(found)
}

/// Fewer segments tell nothing, and so few again are usual.
const ENOUGH: u64 = 10_000;
const USUAL: f64 = 0.01;
const MANY: f64 = 0.05;

fn retransmits(view: &View<'_>) -> Found {
    let [again, sent] = [protocol_counter(view, "Tcp", "RetransSegs")?, protocol_counter(view, "Tcp", "OutSegs")?];
    let share = |again: u64, sent: u64| again as f64 / (again + sent).max(1) as f64;
    let (all, now) = (share(again.value, sent.value), share(again.more, sent.more));
    let (severity, share, when) = match (sent.value < ENOUGH || all < USUAL, sent.more < ENOUGH || now < USUAL) {
        (true, true) => return healthy(),
        (_, false) => (Severity::Warning, now, "while it was looked at"),
        // Some are of far and bad paths; of twenty segments one is a path that loses.
        (false, true) if all >= MANY && sent.more == 0 => (Severity::Warning, all, "since the start"),
        (false, true) => (Severity::Note, all, "since the start"),
    };
    Finding::new(severity, format!("TCP has sent {:.1} % of its segments again {when}", 100.0 * share))
        .seen(format!("RetransSegs {} of OutSegs {}", again.value, sent.value), "/proc/net/snmp, nstat -az")
        .mend("see which peers: 'ss -ti' (retrans), and the rules about errors and drops at both ends")
        .alone()
}

fn default_qdisc(view: &View<'_>) -> Found {
    let name = "net.core.default_qdisc";
    // Namespaces but the first do not show it.
    let now = match view.sysctl(name) {
        Err(why) => return view.lacks(why),
        Ok(now) => now,
    };
    // Others share or pace.
    if !view.has_speed(FAST) || !["pfifo_fast", "pfifo"].contains(&now.as_str()) {
        return healthy();
    }
    view.set(Severity::Note, name, now, "fq")
        .gain("for interfaces that are made later; for others: tc qdisc replace dev DEV root fq")
        .alone()
}
