//! Hosts of FreeBSD, by what their programs print: nothing is changed there, so all is to be typed.

use super::bus::is_one_release;
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{FREEBSD, Found, Look, Rule, healthy};
use linerate_host::freebsd::{FreebsdAdapter, FreebsdTexts};
use linerate_host::shell::word;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "freebsd-link-down",
        about: "of FreeBSD: the carrier of an interface that is up",
        means: "nothing can be sent or received",
        published: "ifconfig(8), status",
        look: Look::Freebsd(link_down),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-duplex",
        about: "of FreeBSD: duplex of the link",
        means: "each side waits while the other sends; with the partner at full duplex frames collide and are lost",
        published: "IEEE 802.3, clause 4; ifconfig(8), media",
        look: Look::Freebsd(duplex),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-tcp-options",
        about: "of FreeBSD: options of TCP that fast paths need",
        means: "no window is larger than 64 KiB, or each loss of a window costs a round trip, whatever the buffers",
        published: "RFC 7323, RFC 2018; tcp(4), rfc1323, sack.enable",
        look: Look::Freebsd(tcp_options),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-lro-forwarding",
        about: "of FreeBSD: large receive offload where frames are forwarded",
        means: "merged frames are larger than the next link takes, and are sent on as no sender has sent them, or dropped",
        published: "ifconfig(8), lro; FreeBSD Handbook, Network Servers: LRO is not for routers and bridges",
        look: Look::Freebsd(lro_forwarding),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-vtnet-checksum",
        about: "of FreeBSD: checksums that vtnet leaves to its host, where frames are forwarded",
        means: "what another guest of that host sends comes without a checksum, and is forwarded or translated without one: it is dropped \
                behind the router",
        published: "vtnet(4), hw.vtnet.csum_disable",
        look: Look::Freebsd(vtnet_checksum),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-offloads",
        about: "of FreeBSD: offloads that the driver has and that are off",
        means: "each byte is read once more by a processor, or each segment passes the whole stack by itself",
        published: "ifconfig(8), rxcsum, txcsum, tso; the 2012 tuning note",
        look: Look::Freebsd(offloads),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-pcie",
        about: "of FreeBSD: lanes and speed of the adapter's PCIe link",
        means: "the adapter's way to memory is narrower than it was built for: at speed, frames are missed",
        published: "pciconf(8), -c; the 2012 tuning note asks for it first",
        look: Look::Freebsd(pcie),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-driver-firmware",
        about: "of FreeBSD: versions of driver, package and firmware that are released together",
        means: "driver and firmware are of different releases, which their vendor does not test together: commands can be refused, offloads \
                be missing",
        published: "the 2012 tuning note: driver and firmware",
        look: Look::Freebsd(driver_firmware),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-buffers",
        about: "of FreeBSD: the largest buffers of TCP at a fast link",
        means: "a window smaller than bandwidth times delay: the sender waits for acknowledgements",
        published: "tcp(4), sendbuf_max and recvbuf_max; fasterdata.es.net, FreeBSD tuning",
        look: Look::Freebsd(buffers),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-mbufs",
        about: "of FreeBSD: clusters for what the network holds",
        means: "what comes finds no buffer and is dropped; programs that send wait or fail",
        published: "netstat(1), -m; mbuf(9); tuning(7), kern.ipc.nmbclusters",
        look: Look::Freebsd(mbufs),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-lagg",
        about: "of FreeBSD: members of a LACP aggregation that carry nothing",
        means: "the partner has not taken the link into the group: the aggregation is narrower than it was built, and nothing is left if \
                another link fails",
        published: "IEEE 802.1AX, actor state; lagg(4); ifconfig(8), laggport",
        look: Look::Freebsd(lagg),
        ..FREEBSD
    },
    Rule {
        name: "freebsd-netisr",
        about: "of FreeBSD: packets for which the queue of IP had no room",
        means: "one thread has more packets to handle than it can: the others are dropped",
        published: "netisr(9); inet(4), intr_queue_maxlen, intr_queue_drops",
        look: Look::Freebsd(netisr),
        ..FREEBSD
    },
];

fn is_on(one: &FreebsdAdapter, name: &str) -> bool {
    one.offloads.iter().any(|offload| offload.name == name && offload.enabled)
}

fn number(texts: &FreebsdTexts, name: &str) -> Result<u64, String> {
    let all = texts.sysctl.as_ref().map_err(|absent| format!("sysctl: {absent}"))?;
    let value = all.get(name).ok_or_else(|| format!("sysctl: it has no {name}"))?;
    value.parse().map_err(|_| format!("{name}: {value:?} is no number"))
}

/// The reason for which frames of an interface are forwarded, if they are.
fn forwards(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Result<Option<String>, String> {
    let member = format!("member: {} ", one.interface.name);
    let bridge =
        texts.interfaces.iter().flatten().find(|other| other.other.iter().any(|line| line.starts_with(&member)));
    if let Some(bridge) = bridge {
        return Ok(Some(format!("member of {}", bridge.name)));
    }
    let on = number(texts, "net.inet.ip.forwarding")? > 0;
    Ok(on.then(|| "net.inet.ip.forwarding = 1".to_owned()))
}

fn link_down(one: &FreebsdAdapter, _: &FreebsdTexts) -> Found {
    let link = &one.interface;
    if !link.has("UP") || link.status.as_deref() != Some("no carrier") {
        return healthy();
    }
    let name = word(&link.name);
    Finding::new(Severity::Error, "it is up and has no carrier")
        .seen("status: no carrier", format!("ifconfig {name}"))
        .mend("see cable, module and partner")
        .alone()
}

fn duplex(one: &FreebsdAdapter, _: &FreebsdTexts) -> Found {
    let link = &one.interface;
    let media = link.media.as_deref().unwrap_or_default();
    if !media.contains("half-duplex") || link.status.as_deref() == Some("no carrier") {
        return healthy();
    }
    let name = word(&link.name);
    let mend = match media.contains("autoselect") {
        true => "at the partner: autonegotiation on; one without it is taken for half duplex".to_owned(),
        false => format!("ifconfig {name} media autoselect, and autonegotiation on at the partner"),
    };
    Finding::new(Severity::Error, "the link is half duplex")
        .seen(format!("media: {media}"), format!("ifconfig {name}"))
        .mend(mend)
        .gain("both directions at once, and no collisions")
        .alone()
}

fn tcp_options(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    // They are the host's, and told once.
    if !is_first(one, texts) {
        return healthy();
    }
    texts.sysctl.as_ref().map_err(|absent| format!("sysctl: {absent}"))?;
    let mut found = Vec::new();
    for (name, words) in [
        ("net.inet.tcp.rfc1323", "no window is larger than 64 KiB"),
        ("net.inet.tcp.sack.enable", "each loss of a window costs a round trip"),
    ] {
        if number(texts, name) == Ok(0) {
            found.push(
                Finding::new(Severity::Warning, format!("{name} is 0: {words}"))
                    .seen(format!("{name}: 0"), format!("sysctl {name}"))
                    .mend(format!("sysctl {name}=1, and so in /etc/sysctl.conf")),
            );
        }
    }
    Ok(found)
}

/// True for the first interface that is up.
fn is_first(one: &FreebsdAdapter, texts: &FreebsdTexts) -> bool {
    let mut up = texts.interfaces.iter().flatten().filter(|one| one.has("UP") && !one.has("LOOPBACK"));
    up.next().is_none_or(|first| first.name == one.interface.name)
}

fn lro_forwarding(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    if !is_on(one, "LRO") {
        return healthy();
    }
    let Some(why) = forwards(one, texts)? else { return healthy() };
    let name = word(&one.interface.name);
    Finding::new(Severity::Error, "LRO is on, and this machine forwards")
        .seen("LRO among the options", format!("ifconfig {name}"))
        .seen(why, "sysctl net.inet.ip.forwarding, ifconfig")
        .mend(format!("ifconfig {name} -lro, and so in ifconfig_{name} of /etc/rc.conf"))
        .gain("forwarded frames leave as they came")
        .alone()
}

fn vtnet_checksum(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    let on: Vec<&str> =
        ["RXCSUM", "TXCSUM", "RXCSUM_IPV6", "TXCSUM_IPV6"].into_iter().filter(|name| is_on(one, name)).collect();
    if one.driver != "vtnet" || on.is_empty() {
        return healthy();
    }
    let Some(why) = forwards(one, texts)? else { return healthy() };
    let name = word(&one.interface.name);
    Finding::new(Severity::Warning, "the host makes its checksums, and this machine forwards")
        .seen(format!("{} among the options", on.join(", ")), format!("ifconfig {name}"))
        .seen(why, "sysctl net.inet.ip.forwarding, ifconfig")
        .mend(format!(
            "ifconfig {name} -rxcsum -txcsum -rxcsum6 -txcsum6; for each start hw.vtnet.csum_disable=1 in /boot/loader.conf"
        ))
        .gain("packets between guests of one host are forwarded with their checksums")
        .alone()
}

/// Offloads: FreeBSD's name, the word of ifconfig(8), the gain.
const OFFLOADS: &[(&str, &str, &str)] = &[
    ("RXCSUM", "rxcsum", "a tenth to a third of the processor time of receiving"),
    ("TXCSUM", "txcsum", "a tenth to a third of the processor time of sending"),
    ("TSO4", "tso4", "a multiple of the rate of TCP per processor at MTU 1500"),
];

fn offloads(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    // Those that a router does better without are off on purpose there, as those of a bridge's members.
    if !one.interface.has("UP") || one.driver == "vtnet" || forwards(one, texts)?.is_some() {
        return healthy();
    }
    let name = word(&one.interface.name);
    // These take segmentation away below 1 Gb/s themselves.
    let slow =
        ["em", "igb", "lem"].contains(&one.driver.as_str()) && one.interface.speed().is_some_and(|speed| speed < 1000);
    let off = |wanted: &str| {
        !(slow && wanted == "TSO4") && one.offloads.iter().any(|offload| offload.name == wanted && !offload.enabled)
    };
    let found = OFFLOADS.iter().filter(|(wanted, ..)| off(wanted)).map(|(wanted, typed, gain)| {
        Finding::new(Severity::Warning, format!("{wanted} is off, and can be switched on"))
            .seen(format!("{wanted} among the capabilities, and not among the options"), format!("ifconfig -m {name}"))
            .mend(format!("ifconfig {name} {typed}"))
            .gain(*gain)
    });
    Ok(found.collect())
}

fn pcie(one: &FreebsdAdapter, _: &FreebsdTexts) -> Found {
    let Some(link) = one.pci.as_ref().map_err(ToString::to_string)?.express.as_ref() else { return healthy() };
    let selector = one.pci.as_ref().map_or("", |pci| &pci.selector);
    let lanes = link.lanes.filter(|(now, most)| now < most).map(|(now, most)| (format!("x{now}"), format!("x{most}")));
    // Of a link that is down it is 0.
    let speed = link.speed.filter(|(now, most)| *now > 0.0 && now < most);
    let speed = speed.map(|(now, most)| (format!("{now} GT/s"), format!("{most} GT/s")));
    let found = lanes.into_iter().chain(speed).map(|(now, most)| {
        Finding::new(Severity::Warning, format!("the PCIe link is {now}, the card can {most}"))
            .seen(format!("{now} of {most}"), format!("pciconf -lc {}", word(selector)))
            .mend("another slot, or the card seated anew; see the link of the bridges above it in pciconf -lcv")
    });
    Ok(found.collect())
}

fn driver_firmware(one: &FreebsdAdapter, _: &FreebsdTexts) -> Found {
    // The driver whose own version is that of its firmware's release.
    if one.driver != "oce" {
        return healthy();
    }
    let packages =
        one.packages.iter().flatten().map(|package| (format!("package {}", package.name), package.version.as_str()));
    let firmware = one.firmware.as_ref().map_err(ToString::to_string)?;
    let driver = one.driver_version.iter().map(|version| ("driver".to_owned(), version.as_str()));
    let others: Vec<_> = driver.chain(packages).filter(|(_, version)| !is_one_release(version, firmware)).collect();
    let Some((what, version)) = others.first() else { return healthy() };
    let first = Finding::new(Severity::Warning, format!("the {what} is {version}, the firmware {firmware}"));
    let all = others
        .iter()
        .fold(first, |finding, (what, version)| finding.seen(format!("{what} {version}"), "sysctl, pkg info"));
    all.seen(
        format!("firmware {firmware}"),
        format!("sysctl dev.oce.{}.firmware_version", one.interface.name.trim_start_matches("oce")),
    )
    .mend("install driver and firmware of one release, as the vendor's compatibility list has them")
    .alone()
}

/// Greatest rate, Mb/s, for which the usual 2 MiB are enough.
const FAST: u32 = 10_000;
const LEAST: u64 = 4 << 20;
/// FreeBSD's own value.
const OWN: u64 = 2 << 20;

fn buffers(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    if one.interface.speed().is_none_or(|speed| speed < FAST) || one.interface.status.as_deref() != Some("active") {
        return healthy();
    }
    // What is forwarded has no buffer of TCP here.
    if forwards(one, texts).is_ok_and(|why| why.is_some()) {
        return healthy();
    }
    let mut found = Vec::new();
    for name in ["net.inet.tcp.recvbuf_max", "net.inet.tcp.sendbuf_max"] {
        let now = number(texts, name)?;
        if now < LEAST {
            found.push(
                // FreeBSD's own value is enough for short paths; below that somebody has set it.
                Finding::new(if now < OWN { Severity::Warning } else { Severity::Note }, format!("{name} is {now}"))
                    .seen(format!("{name}: {now}"), format!("sysctl {name}"))
                    .mend(format!("sysctl kern.ipc.maxsockbuf=33554432 {name}=16777216, and so in /etc/sysctl.conf"))
                    .gain("windows of up to 16 MiB: 10 Gb/s at 13 ms"),
            );
        }
    }
    Ok(found)
}

fn mbufs(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    let of = texts.mbufs.as_ref().map_err(ToString::to_string)?;
    let (total, most) = of.clusters.ok_or("netstat -m: it tells no clusters")?;
    let [buffers, clusters, both] = of.denied;
    if !is_first(one, texts) || of.denied == [0; 3] && total < most / 10 * 9 {
        return healthy();
    }
    let name = "kern.ipc.nmbclusters";
    Finding::new(Severity::Warning, format!("{total} of {most} clusters are taken"))
        .seen(
            format!("{total} of {most}; denied: {buffers} buffers, {clusters} clusters, {both} times both in one"),
            "netstat -m",
        )
        .mend(format!("sysctl {name}={}, and so in /etc/sysctl.conf", most.saturating_mul(2)))
        .alone()
}

/// States in which a member of an aggregation carries frames.
const CARRIES: [&str; 3] = ["ACTIVE", "COLLECTING", "DISTRIBUTING"];

fn lagg(one: &FreebsdAdapter, _: &FreebsdTexts) -> Found {
    let lines = &one.interface.other;
    if !lines.iter().any(|line| line.starts_with("laggproto lacp")) {
        return healthy();
    }
    let name = word(&one.interface.name);
    let found = lines.iter().filter_map(|line| {
        let (member, flags) = line.strip_prefix("laggport: ")?.split_once(" flags=")?;
        let has = |state: &str| flags.split(['<', '>', ',']).any(|flag| flag == state);
        let lacks: Vec<String> =
            CARRIES.iter().filter(|state| !has(state)).map(|state| state.to_ascii_lowercase()).collect();
        let first = Finding::new(Severity::Warning, format!("its member {member} is not {}", lacks.join(", ")));
        (!lacks.is_empty()).then(|| {
            first.seen(line.as_str(), format!("ifconfig {name}")).mend(format!(
                "LACP on at the partner's port, in one group with the others; then cable and speed: ifconfig {}, ifconfig -v {name}",
                word(member)
            ))
        })
    });
    Ok(found.collect())
}

fn netisr(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    let drops = number(texts, "net.inet.ip.intr_queue_drops")?;
    // It is the host's, and told once; some are of its start.
    if !is_first(one, texts) || drops == 0 {
        return healthy();
    }
    let most = number(texts, "net.inet.ip.intr_queue_maxlen")?;
    let severity = if drops < 1000 { Severity::Note } else { Severity::Warning };
    let finding = Finding::new(severity, format!("{drops} packets found no room in the queue of IP"))
        .seen(format!("net.inet.ip.intr_queue_drops: {drops}"), "sysctl net.inet.ip.intr_queue_drops")
        .seen(format!("net.inet.ip.intr_queue_maxlen: {most}"), "sysctl net.inet.ip.intr_queue_maxlen");
    let single = number(texts, "net.isr.maxthreads") == Ok(1);
    let threads = "for each start net.isr.maxthreads=-1 in /boot/loader.conf: a thread for each processor";
    let longer =
        format!("sysctl net.inet.ip.intr_queue_maxlen={}, and so in /etc/sysctl.conf", most.clamp(1, 2048) * 4);
    finding.mend(if single { format!("{longer}; {threads}") } else { longer }).alone()
}
