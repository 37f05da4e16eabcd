//! Rings, queues, steering and queueing disciplines.

use super::link::not_lossless;
use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::protocols::SOFTNET;
use crate::doctor::rule::{FAST, Found, HOST, INTERFACE, Proof, Rule, healthy};
use crate::doctor::view::{View, amount, have, is_usual};
use linerate_host::tunables::Value;

pub(super) const RULES: &[Rule] = &[
    INTERFACE.by("ring-rx", ring_rx).risk(Risk::Traffic).proof(Proof::Back),
    INTERFACE.by("tx-drops", tx_drops),
    INTERFACE.by("one-queue", one_queue).risk(Risk::Traffic).proof(Proof::Stream),
    INTERFACE.by("rss-table", rss_table).proof(Proof::Back),
    INTERFACE.by("allowances", allowances),
    INTERFACE.by("xps", xps),
    INTERFACE.by("rps-on-multiqueue", rps_on_multiqueue),
    INTERFACE.by("rps-one", rps_one).proof(Proof::Back),
    INTERFACE.by("shaped", shaped),
    INTERFACE.by("queue-short", queue_short).proof(Proof::Stream),
    INTERFACE.by("queue-drops", queue_drops),
    INTERFACE.by("traffic-filters", traffic_filters),
    INTERFACE.by("no-queue", no_queue),
    HOST.by("backlog", backlog).risk(Risk::Safe).proof(Proof::Stream),
    INTERFACE.by("flow-steering", flow_steering).risk(Risk::Safe).proof(Proof::Back),
];

/// Counters of frames for which neither a descriptor nor the adapter's own memory had room.
const ROOM: &str = "rx_missed_errors|rx_fifo_errors|rx_over_errors|rx_no_buffer_count|rx_missed|rx_out_of_buffer|rx-alloc-fail|\
     rx-hw-drop-overruns|rx_no_dma_resources|rx_discards|rx_dropped.nic|alloc_rx_buff_failed|rx_alloc_failed|\
     rx_buff_alloc_err|rx*_buff_alloc_err|rx_nodesc_drops|rx_nodesc_drop_cnt|rx_no_buff_discards|no_buff_discards|\
     rx_brb_discard|brb_discards|[*]: rx_discards|rx_stat_discard|rx_total_ring_discards|rx_total_discard_pkts|\
     rx_drops_no_pbuf|rx_drops_no_erx_descr|rxq*: rx_drops_no_frags|rx_input_fifo_overflow_drop|rx_overruns|rx_drops|\
     rx*_drops|rx_queue_*_drops|rx_queue_*_alloc_failed|rx_no_bufs|rx_no_memory|rx_comp_busy|dev_rx_discards|pkts rx OOB|\
     rx buf alloc fail|drv dropped rx total|rxbds_empty";
/// Those of frames to be sent.
const SENDING: &str = "tx_dropped|tx_fifo_errors|tx_carrier_errors|tx_aborted_errors|tx_heartbeat_errors|tx_queue_dropped|tx_discards_phy|\
     tx_no_memory|tx_no_space|drv dropped tx total|ring full";
/// Times that a queue stood still and its driver began anew.
const HUNG: &str = "tx_timeout_count|tx_timeout|tx_timeouts|wd_expired|tx_hang|tx timeout count";

fn ring_rx(view: &View<'_>) -> Found {
    let what = "received frames are lost for want of room";
    let (name, typed) = (view.name(), view.typed());
    let lost = view.losses(ROOM, 0, what);
    // The adapter's own buffer, before any ring (mlx5).
    let inner = view.losses("rx_discards_phy", 0, "the adapter has no room for frames that come, before any ring");
    // Of a priority without flow control its own rule tells.
    let inner = inner.filter(|_| not_lossless(view).is_none());
    if let Some(finding) = inner.filter(|one| lost.as_ref().is_none_or(|lost| lost.severity < one.severity)) {
        return finding
            .meaning("its way to memory is slower than the link: the adapter's own buffer is full, and frames are lost there")
            .mend("see its PCIe link (pcie-width, pcie-speed) and the node of its memory (irq-far); a longer ring has no part in it")
            .alone();
    }
    let behind = view.losses("rx_dropped", 10, "received frames are dropped behind the ring");
    let graver = |one: &Finding| lost.as_ref().is_none_or(|lost| lost.severity < one.severity);
    if let Some(finding) = behind.filter(graver) {
        // What the kernel drops behind the ring are frames of protocols that nobody here speaks (STP, LLDP), or for the idle member
        // of a bond; no ring has room for those.
        return finding
            .meaning(
                "the stack has no use for them, or no memory or time: frames that nobody here speaks, or real loss",
            )
            .mend(format!("see which: tcpdump -e -n -i {typed} not ip and not ip6 and not arp; 'nstat -az', backlog"))
            .alone();
    }
    let Some(mut finding) = lost else { return healthy() };
    let ring = view
        .adapter
        .rings
        .as_ref()
        .ok()
        .and_then(|rings| amount(&rings.sizes, "rx"))
        .and_then(|rx| Some((rx.now?, rx.most?)));
    match ring {
        Some((now, most)) if now < most => {
            // So short a ring is not what its driver makes; what it has lost is no burst that any ring would lose.
            let lost = view.counted(ROOM).iter().map(|one| one.value).max().unwrap_or(0);
            if now < 256 && now * 8 <= most && lost >= 10_000 {
                finding.severity = Severity::Warning;
            }
            finding
                .seen(format!("receive ring {now} of {most}"), format!("ethtool -g {typed}"))
                .mend(format!("ethtool -G {typed} rx {most}"))
                .sets(name, "ring-rx", Value::Number(most))
                .gain("bursts of that many frames are held")
        }
        _ => finding
            .mend("more queues, or a reader that is faster: see the findings about queues, interrupts and backlog"),
    }
    .alone()
}

fn tx_drops(view: &View<'_>) -> Found {
    if let Some(hung) = view.counted(HUNG).first() {
        let often = hung.more > 0 || view.is_once() && hung.value > 2;
        let severity = if often { Severity::Warning } else { Severity::Note };
        let typed = view.typed();
        return Finding::new(
            severity,
            format!("a transmit queue stood still {} times, and was begun anew", hung.value),
        )
        .seen(format!("{} {}", hung.name, hung.value), format!("ethtool -S {typed}"))
        .meaning("each time all queues are empty for seconds: the adapter, its firmware or its host does not go on")
        .mend(format!(
            "firmware and driver of one release; to see whether an offload does it: ethtool -K {typed} tso off gso off"
        ))
        .alone();
    }
    let Some(mut finding) = view.losses(SENDING, 0, "frames are dropped on transmit") else { return healthy() };
    // To stations that it does not know, as of each broadcast where it has no list of them.
    // Nor is anything sent without a carrier, of which its own rule tells.
    if view.is_tunnel() || !view.has_flag("RUNNING") {
        finding.severity = Severity::Note;
    }
    let ring = view.adapter.rings.as_ref().ok().and_then(|rings| amount(&rings.sizes, "tx"));
    let (name, typed) = (view.name(), view.typed());
    match ring.and_then(|tx| Some((tx.now?, tx.most?))) {
        Some((now, most)) if now < 256 && now * 8 <= most => finding
            .seen(format!("transmit ring {now} of {most}"), format!("ethtool -g {typed}"))
            .mend(format!("ethtool -G {typed} tx {most}"))
            .sets(name, "ring-tx", Value::Number(most))
            .alone(),
        _ => finding.mend(format!("see the queueing discipline: tc -s qdisc show dev {typed}")).alone(),
    }
}

fn one_queue(view: &View<'_>) -> Found {
    let channels = have(&view.adapter.channels)?;
    let cores = u64::try_from(view.shared()?.len()).unwrap_or(1);
    let (name, typed) = (view.name(), view.typed());
    let pair = view.interface().kind.as_deref() == Some("veth");
    let merges =
        view.interface().xdp_program.is_some() || view.feature("rx-gro").ok().flatten().is_some_and(|gro| gro.active);
    let mut found = Vec::new();
    for (kind, setting) in [("combined", "combined"), ("rx", "channels-rx"), ("tx", "channels-tx")] {
        let Some((now, most)) = amount(channels, kind).and_then(|one| Some((one.now?, one.most?))) else { continue };
        let wanted = most.min(cores);
        if kind == "combined" && most == 1 && cores >= 4 && view.driver() == Some("virtio_net") {
            found.push(one_pair(view, cores));
        }
        if now == 0 || now >= wanted {
            continue;
        }
        // A virtual pair is made with one queue in use, and few of them carry more than one core's worth.
        let severity = match now {
            // What a link of 1 Gb/s brings one core carries, and some drivers send by one queue only (tg3).
            1 if view.is_hardware() && view.speed().is_none_or(|speed| speed > 1000) => Severity::Warning,
            // Without GRO or XDP a pair's frames are processed by the core that sends them, whatever its queues.
            1 if pair && !merges => Severity::Note,
            1 => view.graver_for(&[Load::Tcp, Load::Udp, Load::PktGen, Load::Forward]),
            _ => Severity::Note,
        };
        found.push(
            Finding::new(severity, format!("{now} of {most} {kind} queues are used, with {cores} processors"))
                .seen(format!("{kind} {now} of {most}"), format!("ethtool -l {typed}"))
                .mend(format!("ethtool -L {typed} {kind} {wanted}"))
                .sets(name, setting, Value::Number(wanted))
                .gain("several streams use several cores"),
        );
    }
    Ok(found)
}

/// A finding about a virtio adapter whose host gives it one pair of queues: a warning if one processor was out of time.
fn one_pair(view: &View<'_>, cores: u64) -> Finding {
    let typed = view.typed();
    let text = view.file(SOFTNET).unwrap_or_default();
    let each: Vec<u64> = text.lines().map(|line| softnet(line)[2]).collect();
    let (most, all) = (each.iter().max().copied().unwrap_or(0), each.iter().sum::<u64>());
    let busy = most > 1000 && most * 10 >= all * 9;
    let severity = if busy { Severity::Warning } else { Severity::Note };
    let finding = Finding::new(severity, format!("its host gives it one pair of queues, and there are {cores} processors"))
        .seen("combined 1 of 1", format!("ethtool -l {typed}"))
        .mend(format!(
            "on its host: driver queues='{0}' of the interface (libvirt), or mq=on and queues={0} (QEMU); until then by software: \
             echo MASK > /sys/class/net/{typed}/queues/rx-0/rps_cpus",
            cores.min(16)
        ));
    if busy {
        finding.seen(format!("time_squeeze {most} of {all} on one processor"), "/proc/net/softnet_stat, column 3")
    } else {
        finding
    }
}

fn rss_table(view: &View<'_>) -> Found {
    let rss = have(&view.adapter.rss)?;
    let channels = have(&view.adapter.channels)?;
    let now = |kind| amount(channels, kind).and_then(|one| one.now).unwrap_or(0);
    let queues = now("combined") + now("rx");
    let Some(table) = rss.table.as_ref().filter(|table| !table.is_empty() && queues > 1) else { return healthy() };
    let used: std::collections::BTreeSet<u32> = table.iter().copied().collect();
    if used.len() as u64 >= queues.min(table.len() as u64) {
        return healthy();
    }
    let typed = view.typed();
    // Some queues may be kept for programs that take their frames by rules.
    let severity = if used.len() == 1 { Severity::Warning } else { Severity::Note };
    let list: Vec<String> = used.iter().take(8).map(u32::to_string).collect();
    Finding::new(severity, format!("what it receives is spread over {} of {queues} queues", used.len()))
        .seen(format!("{} entries, all of them {}", table.len(), list.join(", ")), format!("ethtool -x {typed}"))
        .mend(format!("ethtool -X {typed} equal {queues}"))
        .gain("as many cores as queues")
        .alone()
}

/// Counters of ENA.
const ALLOWANCES: &str = "bw_in_allowance_exceeded|bw_out_allowance_exceeded|pps_allowance_exceeded|\
     conntrack_allowance_exceeded|linklocal_allowance_exceeded";

fn allowances(view: &View<'_>) -> Found {
    let Some(mut finding) = view.losses(ALLOWANCES, 0, "the cloud's network held back or dropped packets") else {
        return healthy();
    };
    let passed = view.counted("rx_packets|tx_packets").iter().map(|one| one.value).max().unwrap_or(0);
    let most = view.counted(ALLOWANCES).iter().map(|one| one.value).max().unwrap_or(0);
    // Bursts come to each; one packet of a hundred thousand is no burst.
    if view.is_once() && most >= 1000 && most.saturating_mul(100_000) >= passed {
        finding.severity = Severity::Warning;
    }
    finding.mend("a greater instance, fewer packets (MTU 9001 within a VPC), or fewer connections that its security groups track").alone()
}

fn xps(view: &View<'_>) -> Found {
    if !view.is_hardware() {
        return healthy();
    }
    let steering = have(&view.adapter.steering)?;
    let sending: Vec<_> = steering.iter().filter(|one| one.queue.starts_with("tx-")).collect();
    let cores = view.online()?.len();
    if cores < 2 || sending.len() < cores {
        return healthy();
    }
    let is_zero = |mask: &str| mask.bytes().all(|b| b == b'0' || b == b',');
    let by_queue = |mask: Option<&str>| mask.is_some_and(|mask| !is_zero(mask));
    let mut masks = Vec::new();
    for one in &sending {
        masks.push(have(&one.cpus)?);
    }
    if masks.into_iter().any(|mask| !is_zero(mask)) || sending.iter().any(|one| by_queue(one.by_queue.as_deref())) {
        return healthy();
    }
    let at = format!("/sys/class/net/{}/queues/tx-N/xps_cpus", view.typed());
    Finding::new(
        Severity::Note,
        format!("{cores} processors and {} transmit queues, and none is any's own", sending.len()),
    )
    .seen("0 for all queues", at.as_str())
    .mend(format!("a processor each: echo MASK > {at}, with bit N in the mask"))
    .gain("no lock of a queue goes from core to core")
    .alone()
}

fn rps_on_multiqueue(view: &View<'_>) -> Found {
    if !view.is_hardware() {
        return healthy();
    }
    let steering = have(&view.adapter.steering)?;
    let receiving: Vec<_> = steering.iter().filter(|one| one.queue.starts_with("rx-")).collect();
    let cores = view.online()?.len();
    let is_set = |mask: &str| mask.bytes().any(|b| b != b'0' && b != b',');
    let set: Vec<_> = receiving
        .iter()
        .filter_map(|one| Some((&one.queue, one.cpus.as_ref().ok().filter(|mask| is_set(mask))?)))
        .collect();
    if cores < 2 || receiving.len() < cores || set.is_empty() {
        return healthy();
    }
    let folder = format!("/sys/class/net/{}/queues", view.typed());
    let (first, mask) = set[0];
    Finding::new(Severity::Note, format!("{cores} processors and {} receive queues, and RPS is on", receiving.len()))
        .seen(
            format!("{mask}, and {} of {} queues have one", set.len(), receiving.len()),
            format!("{folder}/{first}/rps_cpus"),
        )
        .mend(format!("for queue in {folder}/rx-*; do echo 0 > \"$queue/rps_cpus\"; done"))
        .gain("an interrupt between processors less for each batch of frames")
        .alone()
}

fn rps_one(view: &View<'_>) -> Found {
    let steering = have(&view.adapter.steering)?;
    let mut masks = Vec::new();
    for one in steering.iter().filter(|one| one.queue.starts_with("rx-")) {
        masks.push(have(&one.cpus)?.as_str());
    }
    let is_one =
        |mask: &str| mask.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum::<u32>() == 1;
    let Some(first) = masks.first().filter(|first| is_one(first) && masks.iter().all(|mask| mask == *first)) else {
        return healthy();
    };
    let (typed, cores) = (view.typed(), view.online()?.len());
    if cores < 2 {
        return healthy();
    }
    let at = format!("/sys/class/net/{typed}/queues/rx-*/rps_cpus");
    Finding::new(
        view.graver_for(&[Load::Tcp, Load::Udp, Load::Forward]),
        format!("all that it receives goes to one of {cores} processors"),
    )
    .seen(format!("mask {first} for {} queues", masks.len()), at.as_str())
    .mend(format!("echo 0 | tee {at}"))
    .alone()
}

/// Disciplines that are there to delay, drop or limit; the last ones to try out what that does.
const KINDS: &[&str] = &["tbf", "htb", "hfsc", "cbq", "cake", "netem", "blackhole", "plug"];
const TRIALS: &[&str] = &["netem", "blackhole", "plug"];

/// Bytes per second, 40 Gb/s.
const WIDE: u64 = 5_000_000_000;

fn shaped(view: &View<'_>) -> Found {
    let typed = view.typed();
    let read = format!("tc -s qdisc show dev {typed}");
    let mut seen = Vec::new();
    for one in view.qdiscs().unwrap_or_default() {
        let rate = one.rate.map(|rate| format!(", {} Mb/s", rate as f64 * 8.0 / 1e6)).unwrap_or_default();
        if KINDS.contains(&one.kind.as_str()) || one.rate.is_some() {
            let value = format!("qdisc {} at {}{rate}, {} dropped", one.kind, one.parent, one.drops);
            seen.push((one.kind.clone(), value, Some(one.drops)));
        }
    }
    // The root alone is told with the interface, too.
    if let Some(root) = view.interface().qdisc.as_deref().filter(|root| seen.is_empty() && KINDS.contains(root)) {
        seen.push((root.to_owned(), format!("qdisc {root}, whose drops are not told"), None));
    }
    let trial = seen.iter().find(|(kind, ..)| TRIALS.contains(&kind.as_str()));
    let Some((kind, ..)) = trial.or(seen.first()) else { return healthy() };
    // Classes that hold to more than the link has, or than anybody asks for, hold nothing back.
    let ceiling = view.network.ceilings.get(&view.interface().index).copied();
    let most = view.speed().map_or(WIDE, |speed| u64::from(speed) * 125_000);
    // Tokens for less than what its rate sends in a millisecond run out before the kernel looks again.
    let narrow = view.qdiscs().unwrap_or_default().into_iter().find_map(|one| {
        let (rate, burst) = (one.rate?, one.burst?);
        (one.kind == "tbf" && burst < (rate / 1000).max(1500)).then_some((one.parent.clone(), rate, burst))
    });
    let severity = match ceiling {
        _ if trial.is_some() => Severity::Warning,
        Some(rate) if kind == "htb" && rate >= most => Severity::Note,
        // A shaper for the line behind it, which nobody sets up by mistake.
        _ if kind == "cake" => Severity::Note,
        _ if narrow.is_some() => Severity::Warning,
        // One that has dropped nothing is as wide as what was sent.
        _ if seen.iter().all(|(.., drops)| *drops == Some(0)) => Severity::Note,
        _ => Severity::Warning,
    };
    let what = match &narrow {
        Some((_, rate, burst)) => {
            format!(
                "its tbf never has its {} Mb/s: a burst of {burst} bytes is too short for that",
                *rate as f64 * 8.0 / 1e6
            )
        }
        None => format!("its queueing discipline is {kind}, which delays, drops or limits"),
    };
    let first = Finding::new(severity, what);
    let finding = seen.iter().take(4).fold(first, |finding, (_, value, _)| finding.seen(value.as_str(), read.as_str()));
    let finding = match ceiling {
        Some(rate) => finding.seen(
            format!("a class of it has {} Mb/s at most", rate as f64 * 8.0 / 1e6),
            format!("tc -s class show dev {typed}"),
        ),
        None => finding,
    };
    // A rate is somebody's will, which is to be asked for.
    let mend = match kind.as_str() {
        _ if trial.is_some() => format!("tc qdisc del dev {typed} root"),
        _ if let Some((parent, rate, _)) = &narrow => {
            format!(
                "tc qdisc change dev {typed} {} tbf rate {}bit burst {} latency 50ms, its rate for 4 ms",
                place(parent),
                rate * 8,
                (rate / 250).max(65_536)
            )
        }
        "htb" | "hfsc" | "cbq" => {
            format!(
                "nothing, if it is meant so; otherwise: tc class change dev {typed} with a higher rate; 'tc -s class show dev {typed}'"
            )
        }
        kind => {
            format!("nothing, if it is meant so; otherwise: tc qdisc change dev {typed} root {kind} with a higher rate")
        }
    };
    finding.mend(mend).alone()
}

/// Packets of a super-frame.
const LEAST: u32 = 44;

fn queue_short(view: &View<'_>) -> Found {
    let (typed, interface) = (view.typed(), view.interface());
    let mtu = interface.mtu.unwrap_or(1500);
    let of = view.qdiscs()?;
    let packets = |kind: &str, limit: u32| if kind == "bfifo" { limit / mtu.max(1) } else { limit };
    let short =
        of.iter().filter_map(|one| Some((one, one.limit?))).find(|(one, limit)| packets(&one.kind, *limit) < LEAST);
    if let Some((one, limit)) = short {
        let unit = if one.kind == "bfifo" { "bytes" } else { "packets" };
        return Finding::new(Severity::Warning, format!("its queueing discipline holds {limit} {unit}"))
            .seen(
                format!("qdisc {} at {}, limit {limit}, {} dropped", one.kind, one.parent, one.drops),
                format!("tc -s qdisc show dev {typed}"),
            )
            .mend(format!(
                "tc qdisc replace dev {typed} {} {} limit 1000{}",
                place(&one.parent),
                one.kind,
                if unit == "bytes" { "000" } else { "" }
            ))
            .alone();
    }
    // It takes its limit from the interface. That of an ifb, which queues nothing, is 32.
    let Some(length) = interface.queue_length.filter(|length| *length < LEAST) else { return healthy() };
    if !of.iter().any(|one| one.kind == "pfifo_fast") || interface.kind.as_deref() == Some("ifb") {
        return healthy();
    }
    Finding::new(Severity::Warning, format!("its queueing discipline holds {length} packets"))
        .seen(format!("qlen {length}"), format!("ip link show dev {typed}"))
        .mend(format!("ip link set dev {typed} txqueuelen 1000"))
        .alone()
}

/// Disciplines that drop only for want of room; others drop to keep delay short, or a rate.
const PLAIN: [&str; 5] = ["pfifo", "pfifo_fast", "bfifo", "fq", "sfq"];

fn queue_drops(view: &View<'_>) -> Found {
    let full = |one: &&linerate_host::adapter::Qdisc| {
        PLAIN.contains(&one.kind.as_str()) && one.rate.is_none() && one.drops >= 1000 && one.drops * 1000 >= one.sent
    };
    let of = view.qdiscs()?;
    // Below a shaper a queue fills as that holds it back: the rule about shapers tells it.
    let below = |one: &&linerate_host::adapter::Qdisc| {
        one.parent != "root" && of.iter().any(|root| KINDS.contains(&root.kind.as_str()))
    };
    let full = of.iter().copied().filter(full).filter(|one| !below(one));
    let Some(one) = full.max_by_key(|one| one.drops) else { return healthy() };
    // What it drops while it is looked at is not known: it may have been long ago.
    let severity = if view.is_once() && view.has_flag("RUNNING") { Severity::Warning } else { Severity::Note };
    let typed = view.typed();
    let limit = one.limit.map_or_else(String::new, |limit| format!(", limit {limit}"));
    let finding = Finding::new(severity, format!("its queueing discipline has dropped {} packets", one.drops)).seen(
        format!("qdisc {} at {}{limit}, {} dropped of {} sent", one.kind, one.parent, one.drops, one.sent),
        format!("tc -s qdisc show dev {typed}"),
    );
    match (one.kind.as_str(), view.interface().queue_length) {
        ("pfifo_fast", length) => {
            let longer = length.unwrap_or(1000).clamp(1000, 5000) * 2;
            finding.mend(format!("ip link set dev {typed} txqueuelen {longer}; or tc qdisc replace dev {typed} root fq"))
        }
        ("fq", _) => finding.mend(format!(
            "tc qdisc replace dev {typed} {} fq limit 20000 flow_limit 1000, and no more than the link takes of one flow",
            place(&one.parent)
        )),
        _ => finding.mend(format!("tc qdisc replace dev {typed} {} fq", place(&one.parent))),
    }
    .alone()
}

fn place(parent: &str) -> String {
    if parent == "root" { "root".to_owned() } else { format!("parent {parent}") }
}

fn traffic_filters(view: &View<'_>) -> Found {
    let typed = view.typed();
    let filters = view.filters()?;
    let does = |action: &&String| ["police", "drop", "ctinfo", "gate"].contains(&action.as_str());
    let Some(what) = filters.iter().flat_map(|one| &one.actions).find(does) else { return healthy() };
    let word = if what == "police" { "limits" } else { "drops" };
    // A burst below the longest packet before it is cut (GSO): each such is dropped, whatever the rate.
    let short = filters.iter().filter_map(|one| one.police).find(|[rate, burst]| *rate > 0 && *burst < 65_536);
    if let Some([rate, burst]) = short {
        return Finding::new(Severity::Warning, format!("a policer lets pass {burst} bytes at once, and packets of TCP come with up to 65,536"))
            .seen(format!("police rate {}Mbit burst {burst}", rate * 8 / 1_000_000), format!("tc -s filter show dev {typed} ingress"))
            .meaning("what is longer than the burst is dropped, each time: TCP, whose packets are cut into segments behind it (GSO), stands nearly still")
            .mend(format!(
                "the same rate with a burst of 4 ms of it, and 131,072 bytes at least: here {}; of Open vSwitch: ovs-vsctl set interface {typed} \
                 ingress_policing_burst={} (kbit)",
                (rate / 250).max(131_072),
                (rate / 250).max(131_072) * 8 / 1000
            ))
            .alone();
    }
    let first = Finding::new(Severity::Warning, format!("a filter of traffic control {word} packets"));
    let read = format!("tc -s filter show dev {typed} ingress, egress or root");
    let all = filters.iter().take(4);
    all.fold(first, |finding, one| finding.seen(format!("{}: {}", one.kind, one.actions.join(", ")), read.as_str()))
        .mend(format!("tc filter del dev {typed} ingress"))
        .alone()
}

fn no_queue(view: &View<'_>) -> Found {
    let interface = view.interface();
    let none = interface.qdisc.as_deref() == Some("noqueue")
        && view.is_hardware()
        && interface.kind.is_none()
        && !view.is_wireless(view.name());
    let short = interface
        .queue_length
        .filter(|length| (1..100).contains(length) && interface.qdisc.as_deref() == Some("pfifo_fast"));
    let short = short.filter(|_| view.is_hardware());
    if !none && short.is_none() {
        return healthy();
    }
    let typed = view.typed();
    Finding::new(Severity::Warning, "frames that the ring has no room for are dropped at once")
        .seen(
            format!(
                "qdisc {}, qlen {}",
                interface.qdisc.as_deref().unwrap_or("none"),
                interface.queue_length.unwrap_or_default()
            ),
            format!("ip link show dev {typed}"),
        )
        .mend(format!("tc qdisc replace dev {typed} root fq; ip link set dev {typed} txqueuelen 1000"))
        .alone()
}

/// Of so many frames one dropped is worth a warning.
const FEW: u64 = 10_000;

fn backlog(view: &View<'_>) -> Found {
    let [frames, drops, squeezed] = softnet(&view.file(SOFTNET)?);
    let earlier = view.earlier.get(SOFTNET).map_or([frames, drops, 0], |text| softnet(text));
    let more = drops.saturating_sub(earlier[1]);
    // Long ago, and few of all: they are history.
    let grave = !is_usual(more, frames.saturating_sub(earlier[0]), 0) || drops.saturating_mul(FEW) >= frames;
    // Namespaces but the first do not show them.
    let most = view.sysctl_number("net.core.netdev_max_backlog").ok();
    let mut found: Vec<Finding> = one_core(view).into_iter().collect();
    if drops > 0 {
        // A longer queue before a processor that has no time left loses as much, later.
        let severity = if grave && found.is_empty() { Severity::Warning } else { Severity::Note };
        let seen = format!("{drops} of {frames} dropped, of all processors since the start (+{more})");
        let name = "net.core.netdev_max_backlog";
        let finding = match most {
            Some(most) => view.set(severity, name, most, (most * 4).max(4000)),
            // It cannot be set here, either.
            None => Finding::new(severity, "a processor's backlog was full")
                .mend(format!("sysctl -w {name}=4000, in the first network namespace")),
        };
        found.push(finding.seen(seen, "/proc/net/softnet_stat, column 2"));
    } else if let Some(most) = most.filter(|most| *most < 300) {
        found.push(view.set(Severity::Warning, "net.core.netdev_max_backlog", most, 1000));
    }
    let Ok(budget) = view.sysctl_number("net.core.netdev_budget") else { return Ok(found) };
    if budget < 100 {
        found.push(view.set(Severity::Warning, "net.core.netdev_budget", budget, 300));
    } else if squeezed > 1000 {
        // Of a busy host some are usual; of a thousand frames one is a turn that ends early for each few.
        let often = squeezed.saturating_mul(1000) >= frames && earlier[0] == frames;
        let severity = if often { Severity::Warning } else { Severity::Note };
        found.push(
            view.set(severity, "net.core.netdev_budget", budget, budget * 2)
                .seen(format!("time_squeeze {squeezed}"), "/proc/net/softnet_stat, column 3"),
        );
    }
    Ok(found)
}

/// A finding about one processor that handles nearly all frames, and is out of time: it has dropped some, or ended turns early.
fn one_core(view: &View<'_>) -> Option<Finding> {
    let text = view.file(SOFTNET).ok()?;
    let each: Vec<[u64; 3]> = text.lines().map(softnet).collect();
    let all: u64 = each.iter().map(|one| one[0]).fold(0, u64::saturating_add);
    let (core, most) = each.iter().enumerate().max_by_key(|(_, one)| one[0])?;
    let late = most[1].max(most[2]);
    let alone = each.len() >= 4 && most[0] >= 100_000_000 && most[0].saturating_mul(5) >= all.saturating_mul(4);
    (alone && late >= 1000).then(|| {
        Finding::new(Severity::Warning, format!("CPU {core} of {} handles nearly all frames, and is out of time", each.len()))
            .seen(
                format!("CPU {core}: {} of {all} frames, {} dropped, time_squeeze {}", most[0], most[1], most[2]),
                "/proc/net/softnet_stat, columns 1 to 3",
            )
            .mend(
                "spread them: interrupts of several queues (/proc/interrupts, ethtool -l, ethtool -x); of one queue by software: \
                 echo MASK > /sys/class/net/DEV/queues/rx-0/rps_cpus",
            )
    })
}

/// Frames processed and dropped, and rounds cut short, of all processors.
fn softnet(text: &str) -> [u64; 3] {
    let column =
        |line: &str, at: usize| line.split_whitespace().nth(at).and_then(|word| u64::from_str_radix(word, 16).ok());
    [0, 1, 2].map(|at| text.lines().filter_map(|line| column(line, at)).fold(0, u64::saturating_add))
}

fn flow_steering(view: &View<'_>) -> Found {
    if view.speed().is_none_or(|speed| speed < FAST) {
        return healthy();
    }
    // Namespaces but the first do not show it.
    let Ok(host) = view.sysctl_number("net.core.rps_sock_flow_entries") else { return healthy() };
    let queues = have(&view.adapter.steering)?;
    let flows = |one: &linerate_host::adapter::Steering| one.flows.as_deref()?.parse::<u64>().ok();
    let queues: Vec<u64> = queues.iter().filter_map(flows).collect();
    let (all, typed): (u64, _) = (queues.iter().sum(), view.typed());
    let files = format!("/sys/class/net/{typed}/queues/rx-*/rps_flow_cnt");
    match (host > 0, all > 0) {
        (false, true) => {
            let finding = view.set(Severity::Note, "net.core.rps_sock_flow_entries", 0, all.max(32_768));
            let what = "its queues have tables of flows, and the host has none".to_owned();
            Finding { what, ..finding }.seen(format!("{all} entries of its queues"), files.as_str()).alone()
        }
        (true, false) if !queues.is_empty() => {
            let each = (host / u64::try_from(queues.len()).unwrap_or(1)).max(1);
            Finding::new(Severity::Note, "the host has a table of flows, and its queues have none")
                .seen(format!("rps_sock_flow_entries {host}, rps_flow_cnt 0"), files.as_str())
                .mend(format!("echo {each} | tee {files}"))
                .alone()
        }
        (true, true) if view.is_needlessly_off("rx-ntuple-filter")? => {
            Finding::new(Severity::Note, "frames are steered to their readers by software, and the adapter could do it")
                .seen("rx-ntuple-filter off", format!("ethtool -k {typed}"))
                .mend(format!("ethtool -K {typed} ntuple on"))
                .gain("frames come in at the processor that reads them")
                .alone()
        }
        _ => healthy(),
    }
}
