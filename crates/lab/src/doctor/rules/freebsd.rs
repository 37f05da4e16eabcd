//! Hosts of FreeBSD, by what their programs print: nothing is changed there, so all is to be typed.

use super::bus::is_one_release;
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{FREEBSD, Found, Rule, healthy};
use linerate_host::freebsd::{FreebsdAdapter, FreebsdTexts};
use linerate_host::shell::word;

pub(super) const RULES: &[Rule] = &[
    FREEBSD.freebsd("freebsd-link-down", link_down),
    FREEBSD.freebsd("freebsd-duplex", duplex),
    FREEBSD.freebsd("freebsd-tcp-options", tcp_options),
    FREEBSD.freebsd("freebsd-lro-forwarding", lro_forwarding),
    FREEBSD.freebsd("freebsd-vtnet-checksum", vtnet_checksum),
    FREEBSD.freebsd("freebsd-offloads", offloads),
    FREEBSD.freebsd("freebsd-pcie", pcie),
    FREEBSD.freebsd("freebsd-driver-firmware", driver_firmware),
    FREEBSD.freebsd("freebsd-buffers", buffers),
    FREEBSD.freebsd("freebsd-mbufs", mbufs),
    FREEBSD.freebsd("freebsd-lagg", lagg),
    FREEBSD.freebsd("freebsd-netisr", netisr),
    FREEBSD.freebsd("freebsd-messages", messages),
    FREEBSD.freebsd("freebsd-counters", counters),
    FREEBSD.freebsd("freebsd-mtu", mtu),
    FREEBSD.freebsd("freebsd-one-queue", one_queue),
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
    let forced = !media.contains("autoselect") && ["10baseT", "100baseT"].iter().any(|rate| media.contains(rate));
    if forced && media.contains("full-duplex") && link.status.as_deref() == Some("active") {
        let name = word(&link.name);
        return Finding::new(
            Severity::Warning,
            "its link is forced: a partner that negotiates takes half duplex of it",
        )
        .seen(format!("media: {media}"), format!("ifconfig {name}"))
        .mend(format!("ifconfig {name} media autoselect, and autonegotiation on at the partner"))
        .alone();
    }
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
    // With a packet filter that translates, segments that adapters are to cut are known to stall.
    let filters = texts.interfaces.iter().flatten().any(|other| ["pflog0", "pfsync0"].contains(&other.name.as_str()));
    if !is_on(one, "LRO") && filters && is_on(one, "TSO4") {
        let Some(why) = forwards(one, texts)? else { return healthy() };
        let name = word(&one.interface.name);
        return Finding::new(Severity::Warning, "TSO is on, and this machine forwards through pf")
            .seen("TSO4 among the options", format!("ifconfig {name}"))
            .seen(why, "sysctl net.inet.ip.forwarding, ifconfig")
            .mend(format!("ifconfig {name} -tso, and so in ifconfig_{name} of /etc/rc.conf"))
            .alone();
    }
    if !is_on(one, "LRO") {
        return healthy();
    }
    let Some(why) = forwards(one, texts)? else { return healthy() };
    let name = word(&one.interface.name);
    let tso = is_on(one, "TSO4");
    let (options, both) =
        if tso { ("-lro -tso", "LRO and TSO among the options") } else { ("-lro", "LRO among the options") };
    Finding::new(Severity::Error, "LRO is on, and this machine forwards")
        .seen(both, format!("ifconfig {name}"))
        .seen(why, "sysctl net.inet.ip.forwarding, ifconfig")
        .mend(format!("ifconfig {name} {options}, and so in ifconfig_{name} of /etc/rc.conf"))
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
    let sizes = [("kern.ipc.nmbjumbop", "4k"), ("kern.ipc.nmbjumbo9", "9k"), ("kern.ipc.nmbjumbo16", "16k")];
    if let Some(((name, size), denied)) =
        sizes.iter().zip(of.jumbo).find(|(_, denied)| *denied > 0 && is_first(one, texts))
    {
        let most = number(texts, name)
            .map_or("N, with twice what it is".to_owned(), |most| most.saturating_mul(2).to_string());
        return Finding::new(Severity::Warning, format!("{denied} requests for jumbo clusters of {size} were denied"))
            .seen(format!("denied {denied} of {size}"), "netstat -m")
            .mend(format!("sysctl {name}={most}, and so in /etc/sysctl.conf"))
            .alone();
    }
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

/// Rows: lines that are more than usual, words in each, the fault, and what to type.
const MESSAGES: &str = include_str!("../../../data/freebsd_log.txt");

fn messages(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    let text = texts.messages.as_ref().map_err(ToString::to_string)?;
    // They are the host's, and told once.
    if !is_first(one, texts) {
        return healthy();
    }
    let found = MESSAGES.lines().filter_map(|row| {
        let [least, words, what, mend] = row.split(" | ").collect::<Vec<_>>()[..] else { return None };
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(words)).collect();
        let last = lines.last().filter(|_| least.parse().is_ok_and(|least: usize| lines.len() >= least))?;
        Some(
            Finding::new(Severity::Warning, format!("{what} ({} lines)", lines.len()))
                .seen(last.trim(), "dmesg")
                .mend(mend),
        )
    });
    Ok(found.collect())
}

/// Rows: ends of drivers' counters and columns of `netstat -i`, the fault, and what to look at.
const COUNTERS: &str = include_str!("../../../data/freebsd_counters.txt");
/// Names of counters of all frames that came.
const ALL: [&str; 5] = ["total_pkts_recvd", "good_pkts_recvd", "good_pkts_rcvd", "rx_packets", "Ipkts"];

/// Counters of an interface: those of its driver, and those of the interface's row of `netstat -i`.
fn counted(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Vec<(String, u64)> {
    let name = &one.interface.name;
    let unit = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let node = format!("dev.{}.{unit}", one.driver);
    let rows = texts
        .sysctl
        .iter()
        .flat_map(|all| all.below(&node))
        .filter_map(|(leaf, value)| Some((leaf.to_owned(), value.parse().ok()?)));
    let mut all: Vec<(String, u64)> = rows.collect();
    let table = texts.counted.as_deref().unwrap_or_default();
    let head: Vec<&str> = table.lines().next().unwrap_or_default().split_whitespace().collect();
    let row = table.lines().find(|line| line.contains("<Link#") && line.split_whitespace().next() == Some(name));
    if let Some(row) = row {
        // From the right: an interface without an address has a column less.
        let words: Vec<&str> = row.split_whitespace().collect();
        all.extend(
            head.iter()
                .rev()
                .zip(words.iter().rev())
                .filter_map(|(name, word)| Some(((*name).to_owned(), word.parse().ok()?))),
        );
    }
    all
}

fn counters(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    let all = counted(one, texts);
    let end = |leaf: &str| leaf.rsplit('.').next().unwrap_or(leaf).to_owned();
    let passed = all.iter().filter(|(leaf, _)| ALL.contains(&end(leaf).as_str())).map(|(_, value)| *value).max();
    let name = word(&one.interface.name);
    let found = COUNTERS.lines().filter_map(|row| {
        let [ends, what, mend] = row.split(" | ").collect::<Vec<_>>()[..] else { return None };
        let of = |leaf: &str| ends.split(' ').any(|one| one == end(leaf));
        let (leaf, value) = all.iter().filter(|(leaf, _)| of(leaf)).max_by_key(|(_, value)| *value)?;
        let much = passed.map_or(*value >= 10_000, |passed| *value >= 1000 && value.saturating_mul(1000) >= passed);
        let read =
            if leaf.contains('.') { format!("sysctl dev.{}", one.driver) } else { format!("netstat -i -I {name}") };
        much.then(|| {
            Finding::new(Severity::Warning, what).seen(format!("{leaf} {value}"), read).mend(mend.replace("IF", &name))
        })
    });
    Ok(found.collect())
}

fn mtu(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    let of =
        |name: &str| texts.interfaces.iter().flatten().find(|other| other.name == name).and_then(|other| other.mtu);
    let link = &one.interface;
    let Some(own) = link.mtu else { return healthy() };
    let parent = link.other.iter().find_map(|line| line.split_once("parent interface: ")).map(|(_, rest)| rest.trim());
    let member = |line: &String| Some(line.strip_prefix("member: ")?.split_whitespace().next()?.to_owned());
    let members: Vec<(String, u32)> =
        link.other.iter().filter_map(member).filter_map(|name| Some((name.clone(), of(&name)?))).collect();
    let least = members.iter().min_by_key(|(_, mtu)| *mtu);
    let most = members.iter().max_by_key(|(_, mtu)| *mtu);
    match (parent.and_then(|parent| Some((parent, of(parent)?))), least, most) {
        (Some((parent, room)), ..) if room < own => {
            Finding::new(Severity::Warning, format!("its MTU is {own}, that of {parent} below it {room}"))
                .seen(format!("{} {own}, {parent} {room}", link.name), "ifconfig")
                .mend(format!("ifconfig {} mtu {room}; or {parent} and its switch to {own}", word(&link.name)))
                .alone()
        }
        (_, Some((short, least)), Some((long, most))) if least < most => {
            Finding::new(Severity::Warning, "its members have different MTUs")
                .seen(format!("{short} {least}, {long} {most}"), "ifconfig")
                .mend(format!("ifconfig {} mtu {least}, the same for all", word(long)))
                .alone()
        }
        _ => healthy(),
    }
}

fn one_queue(one: &FreebsdAdapter, texts: &FreebsdTexts) -> Found {
    let unit = one.interface.name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let cores = number(texts, "hw.ncpu")?;
    if cores < 4 || one.interface.speed().is_none_or(|speed| speed < FAST) {
        return healthy();
    }
    let names = [format!("dev.{}.{unit}.iflib.override_nrxqs", one.driver), format!("hw.{}.num_queues", one.driver)];
    let Some(name) = names.iter().find(|name| number(texts, name) == Ok(1)) else { return healthy() };
    Finding::new(Severity::Warning, format!("it has one queue, with {cores} processors"))
        .seen(format!("{name}: 1"), format!("sysctl {name}"))
        .mend(format!("{name}=0 in /boot/loader.conf, and restart: a queue for each processor"))
        .gain("several streams use several cores")
        .alone()
}
