//! The link: carrier, speed, flow control, and frames that it damages.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Found, INTERFACE, Look, Rule, healthy};
use crate::doctor::view::{View, have};
use linerate_host::adapter::{Lane, Route, dbm};
use std::net::IpAddr;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "link-down",
        about: "the carrier of an interface that is up",
        means: "nothing can be sent or received",
        published: "ethtool(8); Documentation/networking/ethtool-netlink.rst, LINKSTATE_GET",
        look: Look::Custom(link_down),
        ..INTERFACE
    },
    Rule {
        name: "interface-down",
        about: "whether the interface is up",
        means: "nothing can be sent or received",
        published: "ip-link(8)",
        look: Look::Custom(interface_down),
        ..INTERFACE
    },
    Rule {
        name: "duplex",
        about: "duplex of the link",
        means: "each side waits while the other sends; with the partner at full duplex frames collide and are lost",
        published: "IEEE 802.3, clause 4; ethtool(8)",
        look: Look::Custom(duplex),
        ..INTERFACE
    },
    Rule {
        name: "link-speed",
        about: "speed of the link beside the fastest mode of the adapter",
        means: "the link carries a fraction of what the adapter could",
        published: "ethtool(8), link modes",
        look: Look::Custom(link_speed),
        ..INTERFACE
    },
    Rule {
        name: "crc-errors",
        about: "frames with a wrong check sequence",
        means: "cable, module or port damage frames: TCP sees them as loss, and slows down",
        published: "linux/if_link.h, rx_crc_errors; ethtool(8), eth-mac group",
        look: Look::Custom(crc_errors),
        ..INTERFACE
    },
    Rule {
        name: "length-errors",
        about: "frames longer than this end takes",
        means: "the other end sends with a larger MTU: its long frames are lost here",
        published: "linux/if_link.h, rx_length_errors, rx_over_errors",
        look: Look::Custom(length_errors),
        ..INTERFACE
    },
    Rule {
        name: "collisions",
        about: "collisions",
        means: "the link is shared or half duplex",
        published: "linux/if_link.h, collisions",
        look: Look::Losses(
            &["collisions", "LateCollisions", "SingleCollisionFrames", "MultipleCollisionFrames"],
            0,
            "frames collide",
            "ethtool -s {} autoneg on, at both ends",
        ),
        ..INTERFACE
    },
    Rule {
        name: "pause-frames",
        about: "pause frames",
        means: "the receiver of them is slower than the sender, which is stopped: all its traffic waits, not only the fast flow",
        published: "IEEE 802.3, annex 31B; ethtool(8), -a",
        look: Look::Custom(pause_frames),
        ..INTERFACE
    },
    Rule {
        name: "pause-unlike",
        about: "flow control of each direction",
        means: "one end stops the other, and is not stopped itself: loss in one direction only",
        published: "IEEE 802.3, annex 28B; ethtool(8), -a",
        look: Look::Custom(pause_unlike),
        ..INTERFACE
    },
    Rule {
        name: "fec-errors",
        about: "blocks that error correction could not mend",
        means: "the link is at the edge: what cannot be corrected is lost",
        published: "IEEE 802.3, clauses 74, 91 and 108; ethtool(8), --show-fec",
        look: Look::Custom(fec_errors),
        ..INTERFACE
    },
    Rule {
        name: "fec-off",
        about: "whether a link that needs error correction has it",
        means: "at this rate a cable or module damages bits that only error correction mends: frames are lost",
        published: "IEEE 802.3, clauses 91, 108 and 134; ethtool(8), --set-fec",
        look: Look::Custom(fec_off),
        ..INTERFACE
    },
    Rule {
        name: "optics",
        about: "alarms of the module about its light",
        means: "too little light, or too much, is read wrongly: frames arrive damaged, or the link goes",
        published: "SFF-8472, table 9-12; SFF-8636, table 6-7; ethtool(8), -m",
        look: Look::Custom(optics),
        ..INTERFACE
    },
    Rule {
        name: "carrier-flaps",
        about: "how often the link went",
        means: "each time frames are lost, and connections wait for their retransmission",
        published: "linux/if_link.h, IFLA_CARRIER_DOWN_COUNT",
        look: Look::Custom(carrier_flaps),
        ..INTERFACE
    },
    Rule {
        name: "promiscuous",
        about: "promiscuous mode",
        means: "frames for others are received and thrown away by a processor",
        published: "ip-link(8), promiscuity",
        look: Look::Custom(promiscuous),
        ..INTERFACE
    },
];

/// Counters of pause frames, by the kernel's names and those of drivers.
const PAUSES: &[&str] = &[
    "tx_pause_frames",
    "rx_pause_frames",
    "rx_xoff_frames",
    "tx_xoff_frames",
    "rx_pause_ctrl_phy",
    "tx_pause_ctrl_phy",
    "rx_flow_control_xoff",
    "tx_flow_control_xoff",
    "rx_global_pause",
    "tx_global_pause",
    "link_xoff_rx",
    "link_xoff_tx",
    "port.link_xoff_rx",
    "port.link_xoff_tx",
];

/// Those of single priorities (IEEE 802.1Qbb).
const PRIORITIES: &[&str] = &[
    "rx_prio0_pause",
    "rx_prio1_pause",
    "rx_prio2_pause",
    "rx_prio3_pause",
    "rx_prio4_pause",
    "rx_prio5_pause",
    "rx_prio6_pause",
    "rx_prio7_pause",
    "tx_prio0_pause",
    "tx_prio1_pause",
    "tx_prio2_pause",
    "tx_prio3_pause",
    "tx_prio4_pause",
    "tx_prio5_pause",
    "tx_prio6_pause",
    "tx_prio7_pause",
];

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

/// True if nothing uses it, as the port of a laptop without its cable: it has no address and stands for itself, and another
/// interface leads out.
fn is_spare(view: &View<'_>) -> bool {
    let interface = view.interface();
    let leads_out = |route: &Route| {
        let link = route.link.filter(|link| *link != interface.index).and_then(|link| view.named(link));
        route.to.1 == 0 && route.kind == "unicast" && link.is_some_and(|link| link.has("RUNNING"))
    };
    // It has had those since it had a carrier.
    let local = |ip: IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    view.loads.is_empty()
        && interface.master.is_none()
        && !view.interfaces.iter().any(|one| one.lower == Some(interface.index) && !one.lower_elsewhere)
        && view.addresses().is_ok_and(|own| own.iter().all(|one| local(one.address)))
        && view.routes().is_ok_and(|routes| routes.iter().any(leads_out))
}

fn pause_frames(view: &View<'_>) -> Found {
    // Of 3.4 ms at most each at 10 Gb/s.
    let few = 5;
    let slower = "find the slower end: more queues, larger rings there";
    let all = view
        .losses(PAUSES, few, "pause frames flow")
        .map(|one| one.mend(format!("{slower}; or switch pause off at both ends (ethtool -A)")));
    // Without loss on purpose: to switch that off would lose frames.
    let single = || {
        let one = view.losses(PRIORITIES, few, "pause frames of single priorities flow")?;
        Some(one.mend(format!("{slower}; what is paused there was chosen to lose nothing (PFC)")))
    };
    Ok(all.or_else(single).into_iter().collect())
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
    if modes.duplex != Some("half") {
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
    let (severity, mend) = match partner {
        // Without 'speed', ethtool(8) offers all that the adapter has.
        Some(partner) if partner >= most && !offers => (Severity::Warning, format!("ethtool -s {typed} autoneg on")),
        Some(partner) if partner >= most => {
            let copper = modes.supported.iter().any(|mode| mode.starts_with(&format!("{most}baseT/")));
            let pairs = if copper { format!(": {most}BASE-T takes all four pairs of it") } else { String::new() };
            (Severity::Warning, format!("another cable{pairs}; then another port of the partner"))
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
    let names =
        ["rx_length_errors", "rx_over_errors", "OutOfRangeLengthField", "FrameTooLongErrors", "etherStatsOversizePkts"];
    let Some(finding) = view.losses(&names, 0, "frames longer than the MTU arrive") else { return healthy() };
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
    let grows = view.counted(&[name]).iter().any(|one| one.more > 0);
    let severity = if grows && name.contains("uncorr") { Severity::Warning } else { Severity::Note };
    Finding::new(severity, format!("error correction counts {name}"))
        .seen(format!("{name} {value}"), format!("ethtool --show-fec -I {}", view.typed()))
        .mend("clean or replace cable and module; the same FEC at both ends")
        .alone()
}

/// Counters of damage that FEC would have mended.
/// Counters of frames that came damaged.
const DAMAGE: &[&str] = &[
    "rx_crc_errors",
    "rx_crc_errors_phy",
    "rx_symbol_err_phy",
    "port.rx_crc_errors",
    "rx_fcs_errors",
    "rx_frame_errors",
    "FrameCheckSequenceErrors",
    "AlignmentErrors",
    "etherStatsFragments",
    "etherStatsJabbers",
];

fn crc_errors(view: &View<'_>) -> Found {
    let Some(finding) = view.losses(DAMAGE, 0, "frames arrive damaged") else { return healthy() };
    let half = view.adapter.modes.as_ref().is_ok_and(|modes| modes.duplex == Some("half"));
    let bare = fec_off(view).is_ok_and(|found| !found.is_empty());
    finding
        .mend(match (half, bare) {
            (true, _) => "duplex first, as its own finding says: at half duplex these are what is left of collisions",
            (_, true) => "error correction first, as its own finding says; then clean or replace cable and module",
            _ => "clean or replace cable and module; see optical power in 'linerate nic show'",
        })
        .alone()
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
    let Some(first) = module.alarms.first() else { return healthy() };
    let typed = view.typed();
    let severity = if view.has_flag("RUNNING") { Severity::Warning } else { Severity::Note };
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

fn carrier_flaps(view: &View<'_>) -> Found {
    let Some(downs) = view.interface().carrier_changes[2].filter(|downs| *downs > 10) else { return healthy() };
    Finding::new(Severity::Note, format!("the link went {downs} times"))
        .seen(format!("carrier_down_count {downs}"), format!("ip -d link show dev {}", view.typed()))
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
