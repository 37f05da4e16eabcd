//! TCP, UDP and sockets.

use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::protocols::{NETSTAT, SNMP, ipv6_counter, is_share, protocol_counter, tcp_counter};
use crate::doctor::rule::{FAST, Found, HOST, Look, Proof, Rule, healthy};
use crate::doctor::view::{View, is_usual};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "buffers-tcp",
        about: "the largest buffers of TCP",
        means: "a window smaller than bandwidth times delay: the sender waits for acknowledgements",
        published: "RFC 7323, section 1; Documentation/networking/ip-sysctl.rst",
        risk: Risk::Safe,
        proof: Proof::Back,
        look: Look::Custom(buffers_tcp),
        ..HOST
    },
    Rule {
        name: "buffers-socket",
        about: "the largest buffers that programs may ask for",
        means: "programs that set their buffers, as iperf -w and netperf -s do, get less than they ask for",
        published: "Documentation/admin-guide/sysctl/net.rst",
        risk: Risk::Safe,
        proof: Proof::Stream,
        look: Look::Custom(buffers_socket),
        ..HOST
    },
    Rule {
        name: "tcp-options",
        about: "options of TCP that fast paths need",
        means: "both ends must have it, or neither uses it",
        published: "RFC 7323, RFC 2018",
        risk: Risk::Safe,
        proof: Proof::Stream,
        look: Look::Custom(tcp_options),
        ..HOST
    },
    Rule {
        name: "congestion-control",
        about: "congestion control of TCP",
        means: "NewReno and older ones fill a fast long path only after minutes",
        published: "RFC 9438",
        risk: Risk::Safe,
        proof: Proof::Stream,
        look: Look::Custom(congestion_control),
        ..HOST
    },
    Rule {
        name: "slow-start-after-idle",
        about: "what TCP does after a pause",
        means: "each burst after a pause begins with ten segments again",
        published: "RFC 2861; Documentation/networking/ip-sysctl.rst",
        risk: Risk::Safe,
        proof: Proof::Requests,
        look: Look::Sysctl(
            "net.ipv4.tcp_slow_start_after_idle",
            [0, 0],
            0,
            &[Load::Tcp],
            0,
            "requests after pauses are answered in fewer round trips",
        ),
        ..HOST
    },
    Rule {
        name: "tcp-memory",
        about: "the limit of all memory of TCP",
        means: "under memory pressure windows do not grow, and what was received out of order is thrown away",
        published: "Documentation/networking/ip-sysctl.rst, tcp_mem; tcp(7)",
        look: Look::Custom(tcp_memory),
        ..HOST
    },
    Rule {
        name: "somaxconn",
        about: "how many connections may wait for a program",
        means: "of clients that connect at once, those beyond it wait a second and longer for another try",
        published: "listen(2); Documentation/admin-guide/sysctl/net.rst, somaxconn: 4096 since Linux 5.4",
        risk: Risk::Safe,
        look: Look::Sysctl(
            "net.core.somaxconn",
            [1024, u64::MAX],
            4096,
            &[Load::Tcp],
            0,
            "that many connections may wait at a listening socket",
        ),
        ..HOST
    },
    Rule {
        name: "listen-drops",
        about: "connections that no program took in time",
        means: "a listening socket had no room: clients waited a second and longer for another try, or gave up",
        published: "listen(2), backlog; Documentation/networking/snmp_counter.rst, TcpExtListenOverflows, TcpExtListenDrops",
        look: Look::Custom(listen_drops),
        ..HOST
    },
    Rule {
        name: "udp-drops",
        about: "datagrams for which a socket had no room",
        means: "a program reads slower than datagrams come: they are lost after they have arrived",
        published: "udp(7), udp_rmem_min; nstat(8), UdpRcvbufErrors",
        look: Look::Custom(udp_drops),
        ..HOST
    },
    Rule {
        name: "retransmits",
        about: "segments that TCP sent again",
        means: "the path loses packets, or delays them for long: each loss halves a connection's rate, or nearly so",
        published: "RFC 9293, section 3.8; RFC 9438, section 4.6; nstat(8), TcpRetransSegs",
        look: Look::Custom(retransmits),
        ..HOST
    },
    Rule {
        name: "metrics-save",
        about: "whether TCP remembers what a path once had",
        means: "after a connection that lost much, new ones to that host begin with its slow-start threshold: they grow slowly for minutes",
        published: "fasterdata.es.net, Linux tuning; Documentation/networking/ip-sysctl.rst, tcp_no_metrics_save",
        risk: Risk::Safe,
        proof: Proof::Stream,
        look: Look::Sysctl(
            "net.ipv4.tcp_no_metrics_save",
            [1, u64::MAX],
            1,
            &[Load::Tcp],
            FAST,
            "each connection finds out what the path has",
        ),
        ..HOST
    },
    Rule {
        name: "fast-open",
        about: "whether TCP may send data with a SYN",
        means: "a program that asks for it waits for another round trip before each first request",
        published: "RFC 7413; tuned, profile network-latency; Documentation/networking/ip-sysctl.rst, tcp_fastopen",
        risk: Risk::Safe,
        look: Look::Sysctl(
            "net.ipv4.tcp_fastopen",
            [1, u64::MAX],
            1,
            &[Load::Tcp],
            0,
            "a round trip less for first requests to servers that take part",
        ),
        ..HOST
    },
    Rule {
        name: "default-qdisc",
        about: "the queueing discipline that interfaces of a fast host get",
        means: "segments of a fast connection leave in bursts, and switches on the way drop them: fq sends them at the rate that TCP has \
                found",
        published: "fasterdata.es.net, Linux tuning: fq; tc-fq(8); Documentation/admin-guide/sysctl/net.rst, default_qdisc",
        risk: Risk::Safe,
        proof: Proof::Stream,
        look: Look::Custom(default_qdisc),
        ..HOST
    },
];

fn buffers_tcp(view: &View<'_>) -> Found {
    let mut found = Vec::new();
    // 10 Gb/s for 5 ms.
    let wanted: u64 = 6 << 20;
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
        found.push(finding.gain(format!(
            "{:.1} Gb/s at 5 ms instead of {:.2}",
            wanted as f64 * 8.0 / 5e6,
            most as f64 * 8.0 / 5e6
        )));
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
    view.set(Severity::Note, name, now, to).alone()
}

fn tcp_memory(view: &View<'_>) -> Found {
    let pressures = tcp_counter(view, "TCPMemoryPressures")?.value;
    let text = view.file("proc/net/sockstat")?;
    let mem = |line: &str| line.strip_prefix("TCP:")?.split_once(" mem ")?.1.split_whitespace().next()?.parse().ok();
    let used: u64 = text.lines().find_map(mem).ok_or("/proc/net/sockstat: it tells no memory of TCP")?;
    // Only the first network namespace shows the limits.
    let limits = view.sysctl_numbers("net.ipv4.tcp_mem").unwrap_or_default();
    let pressed = limits.get(1).is_some_and(|pressure| used > *pressure);
    if !pressed && pressures == 0 {
        return healthy();
    }
    let (severity, what) = match pressed {
        true => (Severity::Warning, "TCP has more memory in use than it may without pressure".to_owned()),
        false => (Severity::Note, format!("TCP was short of memory, {pressures} times since the start")),
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

/// Fewer segments tell nothing, and so few again are usual.
const ENOUGH: u64 = 10_000;
const USUAL: f64 = 0.01;

fn retransmits(view: &View<'_>) -> Found {
    let [again, sent] = [protocol_counter(view, "Tcp", "RetransSegs")?, protocol_counter(view, "Tcp", "OutSegs")?];
    let share = |again: u64, sent: u64| again as f64 / (again + sent).max(1) as f64;
    let (all, now) = (share(again.value, sent.value), share(again.more, sent.more));
    let (severity, share, when) = match (sent.value < ENOUGH || all < USUAL, sent.more < ENOUGH || now < USUAL) {
        (true, true) => return healthy(),
        (_, false) => (Severity::Warning, now, "while it was looked at"),
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
