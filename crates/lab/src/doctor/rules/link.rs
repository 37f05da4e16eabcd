//! The link: carrier, speed, flow control, and frames that it damages.

use super::dcb;
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Found, INTERFACE, Look, Rule, healthy};
use crate::doctor::view::{View, amount, have};
use linerate_host::adapter::{Interface, Lane, Route, dbm};
use std::net::IpAddr;

pub(super) const RULES: &[Rule] = &[
    INTERFACE.by("link-down", link_down),
    INTERFACE.by("interface-down", interface_down),
    INTERFACE.by("duplex", duplex),
    INTERFACE.by("link-speed", link_speed),
    INTERFACE.by("crc-errors", crc_errors),
    INTERFACE.by("length-errors", length_errors),
    INTERFACE.looks(
        "collisions",
        Look::Losses(
            &["collisions", "LateCollisions", "SingleCollisionFrames", "MultipleCollisionFrames"],
            0,
            "frames collide",
            "ethtool -s {} autoneg on, at both ends",
        ),
    ),
    INTERFACE.by("pause-frames", pause_frames),
    INTERFACE.by("pause-unlike", pause_unlike),
    INTERFACE.by("fec-errors", fec_errors),
    INTERFACE.by("fec-off", fec_off),
    INTERFACE.by("optics", optics),
    INTERFACE.by("carrier-flaps", carrier_flaps),
    INTERFACE.by("promiscuous", promiscuous),
];

/// Counters of pause frames that came, and of those that were sent, by the kernel's names and those of drivers.
const PAUSES: [&str; 2] = [
    "rx_pause_frames|rx_xoff_frames|rx_pause_ctrl_phy|rx_flow_control_xoff|rx_global_pause|link_xoff_rx|rx_xoff_pause_rcvd|\
     rx_pause|rxpauseframes|mac_rx_mac_pause_num",
    "tx_pause_frames|tx_xoff_frames|tx_pause_ctrl_phy|tx_flow_control_xoff|tx_global_pause|link_xoff_tx|tx_xoff_sent|tx_pause|\
     txpauseframes|mac_tx_mac_pause_num",
];

/// Those of single priorities (IEEE 802.1Qbb).
const PRIORITIES: &str = "rx_prio0_pause|rx_prio1_pause|rx_prio2_pause|rx_prio3_pause|rx_prio4_pause|rx_prio5_pause|rx_prio6_pause|rx_prio7_pause|\
     tx_prio0_pause|tx_prio1_pause|tx_prio2_pause|tx_prio3_pause|tx_prio4_pause|tx_prio5_pause|tx_prio6_pause|tx_prio7_pause";

fn link_down(view: &View<'_>) -> Found {
    // The state of operation follows the carrier up to a second later.
    if !view.is_up() || view.has_flag("RUNNING") && view.has_flag("LOWER_UP") {
        return healthy();
    }
    let typed = view.typed();
    if matches!(view.interface().kind.as_deref(), Some("tun" | "bridge")) {
        return Finding::new(Severity::Note, "it is up, and nothing is at its other end")
            .seen("no carrier", format!("ip link show dev {typed}"))
            .mend("a program that opens the TAP, or a member of the bridge that is up")
            .alone();
    }
    let interface = view.interface();
    if interface.kept_down {
        return Finding::new(Severity::Error, "it is up, and somebody keeps it down (protodown)")
            .seen("protodown on", format!("ip -d link show dev {typed}"))
            .mend(format!("ip link set dev {typed} protodown off"))
            .alone();
    }
    if interface.state == Some("dormant") {
        return Finding::new(Severity::Warning, "it waits for a program that lets it run: it is dormant")
            .seen("state dormant", format!("ip -d link show dev {typed}"))
            .mend(format!("ip link set dev {typed} mode default state up"))
            .alone();
    }
    let link = view.adapter.link.as_ref().ok();
    let reason = link.and_then(|link| link.reason.clone()).unwrap_or_else(|| "no reason is told".to_owned());
    let detail = link.and_then(|link| link.detail.clone()).map(|detail| format!(", {detail}")).unwrap_or_default();
    let mend = "see cable, module and partner; 'ip link set DEV up' at the other end of a virtual pair";
    let (severity, meant) = if is_spare(view) {
        (Severity::Note, "nothing, if no cable belongs there; otherwise: ")
    } else {
        (Severity::Error, "")
    };
    Finding::new(severity, "it is up and has no carrier")
        .seen(format!("no carrier: {reason}{detail}"), view.link_modes())
        .mend(format!("{meant}{mend}"))
        .alone()
}

/// True if nothing that is told uses it, as the port of a laptop without its cable: it has no address and stands for itself, or in a
/// bridge beside a port that has its cable, and another interface leads out; where routes are not told, one that runs.
fn is_spare(view: &View<'_>) -> bool {
    let interface = view.interface();
    let leads_out = |route: &Route| {
        let link = route.link.filter(|link| *link != interface.index).and_then(|link| view.named(link));
        route.to.1 == 0 && route.kind == "unicast" && link.is_some_and(|link| link.has("RUNNING"))
    };
    let runs =
        |one: &Interface| one.index != interface.index && one.has("RUNNING") && one.hardware == interface.hardware;
    let another = view.interfaces.iter().any(|one| runs(one) && one.kind.is_none());
    let beside = |one: &Interface| runs(one) && one.master == interface.master;
    let bridged = interface.master.and_then(|master| view.named(master)).is_some_and(|master| {
        // A bond's port says so.
        !interface.has("SLAVE")
            && master.kind.as_deref().is_none_or(|kind| kind == "bridge")
            && view.interfaces.iter().any(beside)
    });
    // It has had those since it had a carrier.
    let local = |ip: IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    view.loads.is_empty()
        && (interface.master.is_none() || bridged)
        && !view.interfaces.iter().any(|one| one.lower == Some(interface.index) && !one.lower_elsewhere)
        && view.addresses().map_or(true, |own| own.iter().all(|one| local(one.address)))
        && view.routes().map_or(another, |routes| routes.iter().any(leads_out))
}

fn pause_frames(view: &View<'_>) -> Found {
    // Of 3.4 ms at most each at 10 Gb/s.
    let few = 5;
    let slower = "find the slower end: more queues, larger rings there";
    let most = |names| view.counted(names).iter().map(|one| one.value).max().unwrap_or(0);
    let [came, sent] = PAUSES.map(most);
    let ring = view.adapter.rings.as_ref().ok().and_then(|rings| amount(&rings.sizes, "rx"));
    let short = ring.and_then(|rx| Some((rx.now?, rx.most?))).filter(|(now, most)| now < most);
    let typed = view.typed();
    let all = view.losses(&PAUSES.join("|"), few, "pause frames flow").map(|one| match short {
        _ if came / 10 > sent => Finding {
            what: one.what.replace("pause frames flow", "pause frames come: its partner stops it"),
            ..one
        }
        .mend(format!(
            "see the switch's port, and behind it the receiver that does not keep up; or do without, and lose frames \
             instead: ethtool -A {typed} rx off, at the switch, too"
        )),
        Some((now, most)) if sent / 10 > came => Finding {
            what: one.what.replace("pause frames flow", "it sends pause frames: it does not keep up with what comes"),
            ..one
        }
        .seen(format!("receive ring {now} of {most}"), format!("ethtool -g {typed}"))
        .mend(format!("ethtool -G {typed} rx {most}; then more queues, and processors near the adapter")),
        None if sent / 10 > came => Finding {
            what: one.what.replace("pause frames flow", "it sends pause frames: it does not keep up with what comes"),
            ..one
        }
        .mend(
            "more queues, larger rings, and processors near the adapter: see the findings about those, and about PCIe",
        ),
        _ => one.mend(format!("{slower}; or switch pause off at both ends (ethtool -A)")),
    });
    if let Some(finding) = not_lossless(view) {
        return finding.alone();
    }
    // Without loss on purpose: to switch that off would lose frames.
    let single = || {
        let one = view.losses(PRIORITIES, few, "pause frames of single priorities flow")?;
        Some(one.mend(format!("{slower}; what is paused there was chosen to lose nothing (PFC)")))
    };
    Ok(all.or_else(single).into_iter().collect())
}

/// A finding about a priority that its partner pauses, or whose frames are lost, and that has no flow control here (`dcb pfc show`).
pub(super) fn not_lossless(view: &View<'_>) -> Option<Finding> {
    let enabled = dcb::of(view).ok()??.pfc.as_ref()?.enabled;
    let off = (0..8).filter(|priority| enabled >> priority & 1 == 0);
    let counted = |priority: u32| {
        let names = ["pause", "discards", "buf_discard"].map(|what| format!("rx_prio{priority}_{what}"));
        let all = view.counted(&names.join("|"));
        all.into_iter().filter(|one| one.value >= 1000).max_by_key(|one| one.value).map(|one| (priority, one))
    };
    let (priority, one) = off.filter_map(counted).max_by_key(|(_, one)| one.value)?;
    let typed = view.typed();
    let told = view.file("posted/lldp").unwrap_or_default();
    let told = told.lines().find(|line| line.split([' ', ',', ':']).any(|word| word == priority.to_string()));
    let first = |finding: Finding| match told {
        Some(line) => finding.seen(line.trim(), format!("lldptool -t -n -i {typed} -V PFC")),
        None => finding,
    };
    Some(first(
        Finding::new(
            Severity::Warning,
            format!("priority {priority} has no flow control here, and its partner uses it, or frames of it are lost"),
        )
        .seen(format!("{} {}", one.name, one.value), format!("ethtool -S {typed}"))
        .seen(format!("prio-pfc {priority}:off"), format!("dcb pfc show dev {typed}"))
        .mend(format!(
            "dcb pfc set dev {typed} prio-pfc {priority}:on, as at the switch; and ethtool -A {typed} rx off tx off"
        )),
    ))
}

fn interface_down(view: &View<'_>) -> Found {
    if view.is_up() || view.interface().name == "lo" || view.interface().kind.as_deref() == Some("ifb") {
        return healthy();
    }
    let typed = view.typed();
    let severity = if view.loads.is_empty() { Severity::Note } else { Severity::Error };
    Finding::new(severity, "it is down")
        .seen("no flag UP", format!("ip link show dev {typed}"))
        .mend(format!("ip link set dev {typed} up"))
        .alone()
}

fn duplex(view: &View<'_>) -> Found {
    let modes = have(&view.adapter.modes)?;
    // A port of USB says so of what has none, with a rate that no Ethernet has.
    let rates = modes.speed.is_none_or(|speed| [10, 100].contains(&speed) || speed >= 1000);
    if modes.duplex != Some("half") || !rates {
        return healthy();
    }
    let partner = modes.partner.as_deref().unwrap_or_default();
    let offers = |duplex: &str| partner.iter().any(|mode| mode.ends_with(duplex));
    let mend = match modes.autonegotiation {
        Some(true) if offers("/Half") && !offers("/Full") => {
            "at the partner, which offers no full duplex: autonegotiation on, with all that it has".to_owned()
        }
        Some(true) => "at the partner: autonegotiation on; one without it is taken for half duplex".to_owned(),
        _ => format!("ethtool -s {} autoneg on", view.typed()),
    };
    Finding::new(Severity::Error, "the link is half duplex")
        .seen("duplex half", view.link_modes())
        .mend(mend)
        .gain("both directions at once, and no collisions")
        .alone()
}

fn link_speed(view: &View<'_>) -> Found {
    let modes = have(&view.adapter.modes)?;
    let Some(now) = view.speed() else { return healthy() };
    let digits = |mode: &String| -> Option<u32> {
        mode.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
    };
    let Some(most) = modes.supported.iter().filter_map(digits).max().filter(|most| *most > now) else {
        return healthy();
    };
    let typed = view.typed();
    let partner = modes.partner.as_ref().and_then(|partner| partner.iter().filter_map(digits).max());
    let offers =
        modes.autonegotiation != Some(false) && modes.advertised.iter().filter_map(digits).any(|mode| mode == most);
    // Copper can nearly always do all that both ends can, if they negotiate.
    let copper = modes.supported.iter().any(|mode| mode.starts_with(&format!("{most}baseT/")));
    let forced = copper
        && now <= 1000
        && !modes.advertised.is_empty()
        && modes.advertised.iter().all(|mode| digits(mode) != Some(most));
    let (severity, mend) = match partner {
        // Without 'speed', ethtool(8) offers all that the adapter has.
        Some(partner) if partner >= most && !offers => (Severity::Warning, format!("ethtool -s {typed} autoneg on")),
        Some(partner) if partner >= most => {
            let pairs = if copper { format!(": {most}BASE-T takes all four pairs of it") } else { String::new() };
            (Severity::Warning, format!("another cable{pairs}; then another port of the partner"))
        }
        None if modes.autonegotiation == Some(false) && copper && now <= 1000
            || forced && modes.autonegotiation == Some(true) =>
        {
            (Severity::Warning, format!("ethtool -s {typed} autoneg on, and at the partner, too"))
        }
        // A guest has what its host gives it.
        _ if view.is_guest() => return healthy(),
        _ => (Severity::Note, format!("a partner, cable and module of {most} Mb/s")),
    };
    Finding::new(severity, format!("the link has {now} Mb/s, the adapter {most}"))
        .seen(format!("speed {now}Mb/s, supported up to {most}baseT or its like"), view.link_modes())
        .mend(mend)
        .gain(format!("up to {:.1} times the rate", f64::from(most) / f64::from(now)))
        .alone()
}

fn length_errors(view: &View<'_>) -> Found {
    let names = "rx_length_errors|OutOfRangeLengthField|FrameTooLongErrors|etherStatsOversizePkts|rx_long_length_errors|rx_oversize|\
                 rx_oversize_pkts_phy|rx_oversize_packets|rx_ovrsz_frames|rx_frame_too_long_errors|rx_gtmax_pkt";
    let Some(finding) = view.losses(names, 0, "frames longer than the MTU arrive") else { return healthy() };
    let typed = view.typed();
    let mtu = view.interface().mtu.unwrap_or_default();
    finding
        .seen(format!("MTU {mtu}"), format!("ip link show dev {typed}"))
        .mend(format!("ip link set dev {typed} mtu N, with the MTU of the other end"))
        .alone()
}

fn pause_unlike(view: &View<'_>) -> Found {
    let pause = have(&view.adapter.pause)?;
    let (Some(rx), Some(tx)) = (pause.rx, pause.tx) else { return healthy() };
    if rx == tx {
        return healthy();
    }
    let typed = view.typed();
    let word = |on| if on { "on" } else { "off" };
    Finding::new(Severity::Note, "flow control is on in one direction only")
        .seen(format!("pause rx {}, tx {}", word(rx), word(tx)), format!("ethtool -a {typed}"))
        .mend(format!("ethtool -A {typed} rx on tx on, and the same at the other end"))
        .alone()
}

fn fec_errors(view: &View<'_>) -> Found {
    let fec = have(&view.adapter.fec)?;
    let all: Vec<(&str, u64)> = fec.counters.iter().filter(|(_, value)| *value > 0).collect();
    let Some((name, value)) = all.iter().find(|(name, _)| name.contains("uncorr")).or(all.first()) else {
        return healthy();
    };
    // What was counted while the link came up is history.
    let grows = view.counted(name).iter().any(|one| one.more > 0);
    let often = view.is_once() && *value >= 1000;
    let severity = if (grows || often) && name.contains("uncorr") { Severity::Warning } else { Severity::Note };
    Finding::new(severity, format!("error correction counts {name}"))
        .seen(format!("{name} {value}"), format!("ethtool --show-fec -I {}", view.typed()))
        .mend("clean or replace cable and module; the same FEC at both ends")
        .alone()
}

/// Counters of frames that came damaged.
const DAMAGE: &str = "rx_crc_errors|rx_crc_errors_phy|rx_symbol_err_phy|rx_pcs_symbol_err_phy|rx_fcs_errors|rx_fcs_err_frames|rx_frame_errors|\
     rx_align_errors|align_errors|rx_alignment_symbol_errors|rx_symbol_error|rx_crc_err|rx_bad|mac_rx_fcs_err_num|\
     illegal_bytes|SymbolErrorDuringCarrier|FrameCheckSequenceErrors|AlignmentErrors|etherStatsFragments|etherStatsJabbers";

fn crc_errors(view: &View<'_>) -> Found {
    let Some(finding) = view.losses(DAMAGE, 0, "frames arrive damaged") else { return unnamed_errors(view) };
    let modes = view.adapter.modes.as_ref().ok();
    let half = modes.is_some_and(|modes| modes.duplex == Some("half"));
    // A partner that negotiates hears nothing of the duplex, and takes half (IEEE 802.3, 28.2.3.1).
    let forced = modes.is_some_and(|modes| {
        modes.autonegotiation == Some(false)
            && modes.duplex == Some("full")
            && modes.speed.is_some_and(|speed| speed <= 100)
    });
    let finding = match forced {
        true => finding.seen("autonegotiation off, full duplex", view.link_modes()),
        false => finding,
    };
    let bare = fec_off(view).is_ok_and(|found| !found.is_empty());
    finding
        .mend(match (half, bare) {
            _ if forced => format!(
                "ethtool -s {} autoneg on: a partner that negotiates takes half duplex of an end that does not, and its \
                 frames collide; or forced likewise at both ends",
                view.typed()
            ),
            (true, _) => "duplex first, as its own finding says: at half duplex these are what is left of collisions".to_owned(),
            (_, true) => "error correction first, as its own finding says; then clean or replace cable and module".to_owned(),
            _ => "clean or replace cable and module; see optical power in 'linerate nic show'".to_owned(),
        })
        .alone()
}

/// Errors of which no counter tells the kind.
fn unnamed_errors(view: &View<'_>) -> Found {
    let others = "rx_length_errors|rx_missed_errors|rx_fifo_errors|rx_over_errors";
    if !view.is_hardware() || !view.counted(others).is_empty() {
        return healthy();
    }
    let Some(finding) = view.losses("rx_errors", 10, "frames arrive with errors, whose kind no counter tells") else {
        return healthy();
    };
    finding.mend(format!("see which: ethtool -S {}; most are a cable's or a module's", view.typed())).alone()
}

fn fec_off(view: &View<'_>) -> Found {
    let fec = have(&view.adapter.fec)?;
    let Some(speed) = view.speed().filter(|speed| *speed >= 25_000) else { return healthy() };
    if fec.active.as_deref() != Some("None") {
        return healthy();
    }
    let damaged = view.counted(DAMAGE).into_iter().max_by_key(|one| one.value).filter(|one| one.value >= 1000);
    // Of 25 Gb/s a short cable, of 100 Gb/s long-wave light does without.
    let modes = have(&view.adapter.modes)?;
    let without = |mode: &String| mode.starts_with("25000base") || mode.contains("baseLR") || mode.contains("baseER");
    if damaged.is_none() && (modes.advertised.is_empty() || modes.advertised.iter().any(without)) {
        return healthy();
    }
    let typed = view.typed();
    let severity = if damaged.is_some() { Severity::Warning } else { Severity::Note };
    let finding = Finding::new(severity, format!("its link of {speed} Mb/s has no error correction"))
        .seen("active FEC: off", format!("ethtool --show-fec {typed}"))
        .mend(format!("ethtool --set-fec {typed} encoding rs, and the same at the other end"));
    let seen = |finding: Finding| match &damaged {
        Some(one) => finding.seen(format!("{} {}", one.name, one.value), format!("ethtool -S {typed}")),
        None => finding,
    };
    seen(finding).alone()
}

fn optics(view: &View<'_>) -> Found {
    let module = have(&view.adapter.module)?;
    let typed = view.typed();
    let Some(first) = module.alarms.first() else { return Ok(weak_lane(view).into_iter().collect()) };
    let severity = if view.has_flag("RUNNING") { Severity::Warning } else { Severity::Note };
    if first.contains("temperature") {
        let heat = module.temperature.map_or_else(String::new, |degrees| format!(", {degrees:.1} C"));
        return Finding::new(severity, "its module is too hot")
            .seen(format!("{first}{heat}"), format!("ethtool -m {typed}"))
            .meaning("a laser that is too hot sends what is read wrongly, and fails early")
            .mend("see fans and the air at the port; a module of a lesser class of power, or one for that temperature")
            .alone();
    }
    let light = |lane: &Lane| lane.rx_power.map(|power| (power, dbm(power)));
    let least = module.lanes.iter().filter_map(light).min_by(|one, other| one.0.total_cmp(&other.0));
    let finding = Finding::new(severity, format!("its module raises an alarm: {first}"));
    match least {
        Some((power, level)) => {
            let level = level.map_or_else(String::new, |level| format!(", {level:.1} dBm"));
            finding.seen(
                format!("{}; received {power} mW{level}", module.alarms.join(", ")),
                format!("ethtool -m {typed}"),
            )
        }
        None => finding.seen(module.alarms.join(", "), format!("ethtool -m {typed}")),
    }
    .mend("clean and try another fibre, then the module at the other end, whose light this one receives")
    .alone()
}

/// A finding about a lane whose light is a quarter of the others' or less (6 dB), at a link that damages frames.
fn weak_lane(view: &View<'_>) -> Option<Finding> {
    let module = view.adapter.module.as_ref().ok()?;
    let powers = module.lanes.iter().enumerate().filter_map(|(at, lane)| Some((at + 1, lane.rx_power?)));
    let powers: Vec<(usize, f64)> = powers.collect();
    let most = powers.iter().map(|(_, power)| *power).fold(0.0, f64::max);
    let (lane, least) = powers.iter().copied().min_by(|one, other| one.1.total_cmp(&other.1))?;
    if least * 4.0 > most {
        return None;
    }
    let damaged = view.counted(DAMAGE).into_iter().max_by_key(|one| one.value).filter(|one| one.value >= 1000);
    let severity = if damaged.is_some() { Severity::Warning } else { Severity::Note };
    let level = |power: f64| dbm(power).map_or_else(String::new, |level| format!(", {level:.1} dBm"));
    let finding = Finding::new(severity, format!("lane {lane} of its module receives weak light"))
        .seen(
            format!("lane {lane}: {least} mW{}; the strongest: {most} mW{}", level(least), level(most)),
            format!("ethtool -m {}", view.typed()),
        )
        .meaning("the light of one lane is below the others': a dirty or damaged fibre of that lane, or its laser at the other end");
    let finding = match &damaged {
        Some(one) => finding.seen(format!("{} {}", one.name, one.value), format!("ethtool -S {}", view.typed())),
        None => finding,
    };
    Some(finding.mend("clean and try another fibre (MPO: all of its fibres), then the module at the other end, whose light this one receives"))
}

/// Times that a link went, by the log.
pub(super) fn downs(view: &View<'_>) -> usize {
    let named = |line: &String| line.split([' ', ':', ',', ')', '(']).any(|word| word == view.name());
    let words = ["Link is Down", "Link is down", "link down", "Link down", "Lost carrier"];
    let all = words.map(|words| view.logged(&[words]));
    all.iter().flatten().filter(|line| named(line)).count()
}

fn carrier_flaps(view: &View<'_>) -> Found {
    let names = "link_down_events_phy|link_down_events|carrier_down_count";
    let own = view.counted(names).iter().map(|one| one.value).max();
    let counted = view.interface().carrier_changes[2].map(u64::from).max(own).unwrap_or(0);
    let logged = downs(view) as u64;
    let (times, read) = match counted >= logged {
        true => (counted, format!("carrier_down_count, ethtool -S {}", view.typed())),
        false => (logged, "dmesg".to_owned()),
    };
    if times <= 10 {
        return healthy();
    }
    // A port that nobody uses, or a laptop's, goes with its cable.
    let severity = if times > 50 || logged > 10 { Severity::Warning } else { Severity::Note };
    Finding::new(severity, format!("the link went {times} times"))
        .seen(format!("{times} times down"), read)
        .mend("see cable, module and partner, if nobody took the interface down")
        .alone()
}

fn promiscuous(view: &View<'_>) -> Found {
    let bridged = view.interface().master.is_some();
    let Some(users) = view.interface().promiscuity.filter(|users| *users > 0 && !bridged) else { return healthy() };
    Finding::new(Severity::Note, "it receives frames for all addresses")
        .seen(format!("promiscuity {users}"), format!("ip -d link show dev {}", view.typed()))
        .mend(format!("end the program that captures there, or: ip link set dev {} promisc off", view.typed()))
        .alone()
}
