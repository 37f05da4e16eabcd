//! Offloads, and what they need of each other.

use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::fix::Mend;
use crate::doctor::intent::meant;
use crate::doctor::knob::Knob;
use crate::doctor::rule::{Found, INTERFACE, Look, Proof, Rule, healthy};
use crate::doctor::view::{View, have};
use linerate_host::shell::operand;
use linerate_host::tunables::Value;

pub(super) const RULES: &[Rule] = &[
    INTERFACE
        .looks(
            "tx-checksum",
            Look::Feature("tx-checksum-ip-generic", "tx", "a tenth to a third of the processor time of sending"),
        )
        .risk(Risk::Traffic)
        .proof(Proof::Stream),
    INTERFACE
        .looks(
            "rx-checksum",
            Look::Feature("rx-checksum", "rx", "a tenth to a third of the processor time of receiving"),
        )
        .risk(Risk::Traffic)
        .proof(Proof::Back),
    INTERFACE
        .looks("scatter-gather", Look::Feature("tx-scatter-gather", "sg", "what a copy of each byte costs"))
        .risk(Risk::Traffic)
        .proof(Proof::Stream),
    INTERFACE
        .looks(
            "tso",
            Look::Feature("tx-tcp-segmentation", "tso", "a multiple of the rate of TCP per processor at MTU 1500"),
        )
        .risk(Risk::Traffic)
        .proof(Proof::Stream),
    INTERFACE
        .looks("gso", Look::Feature("tx-generic-segmentation", "gso", "up to twice the rate of TCP per processor"))
        .risk(Risk::Traffic)
        .proof(Proof::Stream),
    INTERFACE.by("gro", gro).risk(Risk::Traffic).proof(Proof::Back),
    INTERFACE.by("super-frames", super_frames).risk(Risk::Traffic).proof(Proof::Stream),
    INTERFACE.by("gro-flush", gro_flush).risk(Risk::Safe).proof(Proof::Requests),
    INTERFACE.by("vlan-offload", vlan_offload).risk(Risk::Traffic),
    INTERFACE.by("feature-refused", feature_refused),
    INTERFACE.by("lro-forwarding", lro_forwarding).proof(Proof::Back),
    INTERFACE.by("veth-checksums", veth_checksums),
    INTERFACE.by("xdp-generic", xdp_generic),
    INTERFACE.by("xdp-copy", xdp_copy),
];

fn gro(view: &View<'_>) -> Found {
    let mut found = view.off("rx-gro", "gro", "up to three times the rate of TCP per processor at MTU 1500")?;
    // A veth is made so: the kernel at its other end sends super-frames. What stands on another interface gets from it what
    // that has merged.
    if !view.is_hardware() {
        found.iter_mut().for_each(|finding| finding.severity = Severity::Note);
    }
    Ok(found)
}

/// Settings, linerate's names for them, the least that is of use, what is usual, and the driver's own limit.
const SIZES: &[(&str, &str, u64, u64, &str)] = &[
    ("gso_max_size", "gso-max-size", 16_384, 65_536, "tso_max_size"),
    ("gso_ipv4_max_size", "gso-ipv4-max-size", 16_384, 65_536, "tso_max_size"),
    ("gso_max_segs", "gso-max-segs", 12, 65_535, "tso_max_segs"),
    ("gro_max_size", "gro-max-size", 16_384, 65_536, ""),
    ("gro_ipv4_max_size", "gro-ipv4-max-size", 16_384, 65_536, ""),
];

fn super_frames(view: &View<'_>) -> Found {
    let sizes = &view.interface().super_frames;
    if sizes.0.is_empty() {
        return Err("the kernel does not tell them".to_owned());
    }
    let (name, typed) = (view.name(), view.typed());
    let mut found: Vec<Finding> = Vec::new();
    for (size, setting, least, usual, limit) in SIZES {
        let most = sizes.get(limit).filter(|most| *most > 0).unwrap_or(*usual).min(*usual);
        let Some(now) = sizes.get(size).filter(|now| *now > 0 && now < least && *now < most) else { continue };
        // To set one sets the other, too.
        if size.contains("ipv4") && found.iter().any(|one| one.what.starts_with(&size[..3])) {
            continue;
        }
        found.push(
            Finding::new(view.graver_than_program().min(Severity::Warning), format!("{size} is {now}"))
                .seen(format!("{size} {now}"), format!("ip -d link show dev {typed}"))
                .mend(format!("ip link set dev {typed} {size} {most}"))
                .sets(name, setting, Value::Number(most))
                .gain("up to several times the rate of TCP per processor"),
        );
    }
    Ok(found)
}

/// Time, ns, that a response may be late by.
const MOST: u64 = 1_000_000;

fn gro_flush(view: &View<'_>) -> Found {
    let at = format!("sys/class/net/{}/gro_flush_timeout", view.name());
    let now: u64 = view.number(&at)?;
    if now <= MOST {
        return healthy();
    }
    let typed = format!("/sys/class/net/{}/gro_flush_timeout", view.typed());
    Finding::new(Severity::Warning, format!("segments wait for {} ms to be merged", now / 1_000_000))
        .seen(format!("gro_flush_timeout {now} ns"), typed.as_str())
        .mend(format!("echo 0 > {typed}"))
        .writes(at, "0")
        .alone()
}

fn vlan_offload(view: &View<'_>) -> Found {
    let own = view.interface().index;
    let is_above = |kind: Option<&str>, lower: Option<u32>| kind == Some("vlan") && lower == Some(own);
    let above = view.interfaces.iter().find(|one| is_above(one.kind.as_deref(), one.lower) && !one.lower_elsewhere);
    let Some(above) = above.filter(|_| view.is_hardware()) else { return healthy() };
    let found = view.off("rx-vlan-hw-parse", "rxvlan", "a few nanoseconds of each frame")?;
    let seen = |finding: Finding| finding.seen(format!("{} is a VLAN of it", above.name), "ip -d link show type vlan");
    Ok(found.into_iter().map(seen).collect())
}

fn feature_refused(view: &View<'_>) -> Found {
    let features = have(&view.adapter.features)?;
    let (name, typed) = (view.name(), view.typed());
    let refused: Vec<&str> =
        features.0.iter().filter(|(_, one)| one.wanted && !one.active).map(|(feature, _)| feature.as_str()).collect();
    if refused.is_empty() || view.is_crippled() {
        return healthy();
    }
    let on = |feature: &str| features.0.get(feature).is_some_and(|one| one.active);
    let segments = refused.iter().any(|feature| feature.contains("segmentation"));
    let sums = features.0.iter().any(|(feature, one)| feature.starts_with("tx-checksum-ip") && one.active);
    let (needs, severity, why, mend) = match (segments, sums, on("tx-scatter-gather")) {
        // The adapter has none of what they need, or its driver leaves it off.
        (true, ..) if view.is_careful() => return healthy(),
        (true, ..)
            if !["tx-tcp-segmentation", "tx-generic-segmentation"]
                .iter()
                .any(|one| view.could_be_on(one) == Ok(true)) =>
        {
            return healthy();
        }
        (true, false, _) => (
            Some("tx-checksum-ip-generic"),
            view.graver_than_program(),
            "segmentation needs checksums on transmit",
            format!("ethtool -K {typed} tx on"),
        ),
        (true, true, false) => (
            Some("tx-scatter-gather"),
            view.graver_than_program(),
            "segmentation needs scatter-gather",
            format!("ethtool -K {typed} sg on"),
        ),
        // Bridges and their like ask for all there is, whether what stands below them has it or not.
        _ if !view.is_hardware() => return healthy(),
        _ => (
            None,
            Severity::Note,
            "something that it needs is off",
            format!("see what is off beside it: ethtool -k {typed}"),
        ),
    };
    let knob = |needs: &str| Knob::Setting { interface: name.to_owned(), name: needs.to_owned() };
    let meant = needs.and_then(|needs| meant(view, &Mend { knob: knob(needs), to: Value::On(true) }));
    let finding = Finding::new(
        severity,
        format!("{} {} asked for and off: {why}", refused.join(", "), if refused.len() == 1 { "is" } else { "are" }),
    )
    .seen(format!("{} off [requested on]", refused.join(", ")), format!("ethtool -k {typed}"))
    .mend(mend);
    match meant {
        Some(evidence) => finding.meant(evidence),
        None => finding,
    }
    .alone()
}

fn lro_forwarding(view: &View<'_>) -> Found {
    if !view.feature("rx-lro")?.is_some_and(|lro| lro.active) {
        return healthy();
    }
    let typed = view.typed();
    let bridged = view
        .interface()
        .master
        .and_then(|master| view.named(master))
        .filter(|master| master.kind.as_deref() == Some("bridge"));
    let routed = view.sysctl_number("net.ipv4.ip_forward").is_ok_and(|on| on > 0);
    if bridged.is_none() && !routed && !view.wants(&[Load::Forward]) {
        return healthy();
    }
    Finding::new(Severity::Error, "LRO is on, and this machine forwards")
        .seen("rx-lro on", format!("ethtool -k {typed}"))
        .seen(
            bridged.map_or_else(
                || "net.ipv4.ip_forward".to_owned(),
                |bridge| format!("member of the bridge {}", bridge.name),
            ),
            "sysctl net.ipv4.ip_forward, ip link",
        )
        .mend(format!("ethtool -K {typed} lro off gro on"))
        .gain("forwarded frames arrive as they were sent")
        .alone()
}

fn veth_checksums(view: &View<'_>) -> Found {
    if view.interface().kind.as_deref() != Some("veth")
        || !view.feature("tx-checksum-ip-generic")?.is_some_and(|one| one.active)
    {
        return healthy();
    }
    let typed = view.typed();
    Finding::new(view.graver_for(&[Load::PktGen]), "the kernel leaves checksums of what it sends here to nobody")
        .seen("tx-checksum-ip-generic on", format!("ethtool -k {typed}"))
        .mend(format!("ethtool -K {typed} tx off, if another program than a kernel reads at the other end"))
        .alone()
}

fn xdp_generic(view: &View<'_>) -> Found {
    let interface = view.interface();
    let Some(program) = interface.xdp_program else { return healthy() };
    let native = have(&view.adapter.xdp)?.features.iter().any(|feature| feature == "basic");
    if !native || !interface.xdp_generic {
        return healthy();
    }
    let typed = view.typed();
    Finding::new(Severity::Warning, "an XDP program runs in generic mode, and the driver has a mode of its own")
        .seen(format!("program {program} xdpgeneric"), format!("ip link show dev {typed}"))
        .mend(format!(
            "end the program that attached it, or ip link set dev {typed} xdpgeneric off; then attach it as xdpdrv"
        ))
        .gain("two to five times as many frames a second")
        .alone()
}

fn xdp_copy(view: &View<'_>) -> Found {
    if !view.is_up() || view.interface().hardware != 1 {
        return healthy();
    }
    let xdp = have(&view.adapter.xdp)?;
    if xdp.features.iter().any(|feature| feature == "xsk-zerocopy") {
        return healthy();
    }
    let features = if xdp.features.is_empty() { "none".to_owned() } else { xdp.features.join(", ") };
    Finding::new(view.graver_for(&[Load::PktGen]), "its driver has no zero-copy for AF_XDP: xdp: copies")
        .seen(format!("XDP features: {features}"), format!("linerate nic show {}", operand(view.name())))
        .alone()
}
