//! Every value beside that of `ethtool`, `ip` and `lspci`.

use super::{adapter, apart, printed, run};
use crate::process::until;
use linerate_skip::{is_installed, skip};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// True if both programs are installed; reported otherwise.
#[track_caller]
fn has_programs() -> bool {
    for program in ["ethtool", "ip"] {
        if !is_installed(program) {
            skip!("{program} is not installed");
            return false;
        }
    }
    true
}

#[test]
fn software_interfaces_have_the_values_of_ethtool_and_ip() {
    if !has_programs() {
        return;
    }
    apart(|| {
        let kinds: [(&str, &[&str]); 6] = [
            ("bridge", &["link", "add", "cr", "type", "bridge"]),
            (
                "veth",
                &["link", "add", "ca", "numtxqueues", "4", "numrxqueues", "4", "type", "veth", "peer", "name", "cb"],
            ),
            ("tap", &["tuntap", "add", "ct", "mode", "tap"]),
            ("dummy", &["link", "add", "cd", "type", "dummy"]),
            ("ifb", &["link", "add", "ci", "type", "ifb"]),
            ("macvlan", &["link", "add", "cm", "link", "cb", "type", "macvlan", "mode", "private"]),
        ];
        for (kind, words) in kinds {
            let made = run("ip", words);
            if !made.status.success() {
                skip!("{kind}: {}", String::from_utf8_lossy(&made.stderr));
                continue;
            }
            let at = words.iter().position(|word| *word == "add").unwrap() + 1;
            // Down, and up.
            compare(words[at]);
            printed("ip", &["link", "set", words[at], "up"]);
            if kind == "veth" {
                printed("ip", &["link", "set", "cb", "up"]);
                printed("ip", &["link", "set", "ca", "master", "cr"]);
                // The kernel tells of the carrier a little later.
                until("it has a carrier", || printed("ip", &["-br", "link", "show", "dev", "ca"]).contains(" UP "));
                printed("ethtool", &["-K", "ca", "tso", "off", "gro", "on"]);
                printed("ethtool", &["-L", "ca", "rx", "3", "tx", "2"]);
            }
            compare(words[at]);
        }
        compare("lo");
    });
}

#[test]
fn the_machines_own_interfaces_have_the_values_of_ethtool_and_ip() {
    if !has_programs() {
        return;
    }
    let all = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names: Vec<_> = all.filter(|one| one.path().join("device").exists()).collect();
    if names.is_empty() {
        return skip!("this machine has no interface with a device");
    }
    for one in names {
        compare(one.file_name().to_str().unwrap());
    }
}

/// Compares all there are, and prints the name of each.
pub(super) fn every_interface_has_the_values_of_the_other_programs() {
    assert!(has_programs());
    for one in std::fs::read_dir("/sys/class/net").unwrap().flatten() {
        // Not an interface, but the bonding driver's list of its own.
        if one.path().is_dir() {
            let name = one.file_name();
            compare(name.to_str().unwrap());
            println!("compared {}", name.display());
        }
    }
}

fn compare(name: &str) {
    let before = adapter(name);
    ip(name, &before);
    driver(name, &before);
    function(name, &before);
    offloads(name, &before);
    rings(name, &before);
    channels(name, &before);
    coalesce(name, &before);
    pause(name, &before);
    fec(name, &before);
    hash(name, &before);
    module(name, &before);
    devlink(name, &before);
    own_counters(name);
}

/// Output of ethtool, or None if it says that there is no such thing; then the part must be absent for that reason.
#[track_caller]
fn ethtool(flag: &str, name: &str, part: &Value) -> Option<String> {
    let out = run("ethtool", &[flag, name]);
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let why = part["absent"].as_str().unwrap_or_else(|| panic!("{name} {flag}: {said}, and yet {part}"));
        assert!(said.contains(why.rsplit(": ").next().unwrap()), "{name} {flag}: {said} beside {why}");
        return None;
    }
    assert!(part["absent"].is_null(), "{name} {flag}: {part}");
    Some(String::from_utf8(out.stdout).unwrap())
}

/// Lines of `key: value`.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key.trim(), value.trim()))
}

fn driver(name: &str, adapter: &Value) {
    let part = &adapter["driver"];
    let Some(text) = ethtool("-i", name, part) else { return };
    let rows = [
        ("driver", "name"),
        ("version", "version"),
        ("firmware-version", "firmware"),
        ("bus-info", "bus"),
        ("expansion-rom-version", "rom"),
    ];
    for (key, ours) in rows {
        let theirs = lines(&text).find(|(one, _)| *one == key).unwrap().1;
        let theirs = if theirs == "N/A" { "" } else { theirs };
        assert_eq!(part[ours].as_str().unwrap_or_default(), theirs, "{name}: {key}");
    }
}

/// The PCI function that an interface is on, if it is on one, by `lspci`.
fn function(name: &str, adapter: &Value) {
    let device = &adapter["device"];
    let Some(address) = device["pci"]["address"].as_str() else { return };
    if !is_installed("lspci") {
        return skip!("lspci is not installed");
    }
    let text = printed("lspci", &["-vv", "-n", "-D", "-s", address]);
    let ids = text.split_whitespace().nth(2);
    assert_eq!(device["pci"]["ids"].as_str(), ids, "{name}: {text}");
    let of = |key: &str| lines(&text).find(|(one, _)| *one == key).map(|(_, value)| value);
    assert_eq!(device["node"].as_u64(), of("NUMA node").map(|node| node.parse().unwrap()), "{name}: {text}");
    // The driver of what stands on the function is another one.
    if device["path"].as_str().unwrap().ends_with(address) {
        assert_eq!(device["driver"].as_str(), of("Kernel driver in use"), "{name}: {text}");
    }
    if text.contains("<access denied>") {
        return skip!("{name}: lspci may not read its capabilities");
    }
    let ours = &device["pci"]["link"];
    for (key, speed, width) in [("LnkCap", "speed_most", "width_most"), ("LnkSta", "speed", "width")] {
        let theirs = of(key).map(speed_and_width).unzip();
        assert_eq!((ours[speed].as_f64(), ours[width].as_u64()), theirs, "{name} {key}: {text}");
        if theirs.0.is_some() {
            println!("compared {name}: {key}");
        }
    }
}

/// GT/s and lanes of a link that lspci prints: `Port #0, Speed 2.5GT/s, Width x1, …`.
fn speed_and_width(text: &str) -> (f64, u64) {
    let after = |word: &str, end: &[char]| {
        let (_, rest) = text.split_once(word).unwrap();
        rest.split(end).next().unwrap().to_owned()
    };
    (after("Speed ", &['G']).parse().unwrap(), after("Width x", &[',', ' ']).parse().unwrap())
}

/// ethtool's names of features that are a family by themselves.
const ALONE: [(&str, &str); 8] = [
    ("rx-checksumming", "rx-checksum"),
    ("generic-segmentation-offload", "tx-generic-segmentation"),
    ("generic-receive-offload", "rx-gro"),
    ("large-receive-offload", "rx-lro"),
    ("rx-vlan-offload", "rx-vlan-hw-parse"),
    ("tx-vlan-offload", "tx-vlan-hw-insert"),
    ("ntuple-filters", "rx-ntuple-filter"),
    ("receive-hashing", "rx-hashing"),
];
/// Families of several.
const FAMILIES: [&str; 3] = ["tx-checksumming", "scatter-gather", "tcp-segmentation-offload"];

fn offloads(name: &str, adapter: &Value) {
    let features: &Map<String, Value> = adapter["features"].as_object().unwrap();
    let mut seen = BTreeSet::new();
    for (key, value) in lines(&printed("ethtool", &["-k", name]))
        .filter(|(key, value)| !key.starts_with("Features") && !value.is_empty())
    {
        if FAMILIES.contains(&key) {
            continue;
        }
        let kernels = ALONE.iter().find(|(one, _)| *one == key).map_or(key, |(_, kernels)| kernels);
        let ours = &features[kernels];
        let on = |field: &str| ours[field].as_bool().unwrap();
        let mut said = if on("active") { "on" } else { "off" }.to_owned();
        if !on("changeable") {
            said += " [fixed]";
        } else if on("active") != on("wanted") {
            said += &format!(" [requested {}]", if on("wanted") { "on" } else { "off" });
        }
        assert_eq!(said, value, "{name}: {key}");
        seen.insert(kernels.to_owned());
    }
    assert_eq!(seen, features.keys().cloned().collect(), "{name}: all features");
    assert!(seen.len() > 40, "{seen:?}");
}

/// Numbers of two parts of an output, by ethtool's labels: the greatest, and the present ones.
fn now_and_most(text: &str) -> [BTreeMap<String, u64>; 2] {
    let (most, now) = text.split_once("Current hardware settings:").unwrap();
    [most, now].map(|half| {
        lines(half)
            .filter_map(|(key, value)| Some((key.to_lowercase().replace(' ', "-"), value.parse().ok()?)))
            .collect()
    })
}

fn amounts(name: &str, flag: &str, ours: &Value, text: &str, kinds: &[&str]) {
    let [most, now] = now_and_most(text);
    for kind in kinds {
        let one = ours.as_array().unwrap().iter().find(|one| one["name"] == *kind);
        let get = |field: &str| one.and_then(|one| one[field].as_u64());
        assert_eq!(
            (get("now"), get("most")),
            (now.get(*kind).copied(), most.get(*kind).copied()),
            "{name} {flag}: {kind}"
        );
    }
}

fn rings(name: &str, adapter: &Value) {
    let part = &adapter["rings"];
    let Some(text) = ethtool("-g", name, part) else { return };
    amounts(name, "-g", &part["sizes"], &text, &["rx", "rx-mini", "rx-jumbo", "tx"]);
    let (_, now) = text.split_once("Current hardware settings:").unwrap();
    let push = lines(now).find(|(key, _)| *key == "TX Push").map(|(_, value)| value == "on");
    assert_eq!(part["settings"]["tx-push"].as_u64().map(|on| on == 1), push, "{name} -g");
}

fn channels(name: &str, adapter: &Value) {
    let part = &adapter["channels"];
    let Some(text) = ethtool("-l", name, part) else { return };
    amounts(name, "-l", part, &text, &["rx", "tx", "other", "combined"]);
}

fn coalesce(name: &str, adapter: &Value) {
    let part = &adapter["coalesce"];
    let Some(text) = ethtool("-c", name, part) else { return };
    let mut compared = 0;
    for (key, value) in lines(&text) {
        // Older programs call these frame, in the singular.
        let key = key.replace("-frame-", "-frames-");
        let pairs: Vec<(String, &str)> = match key.as_str() {
            "Adaptive RX" | "CQE mode RX" => {
                let (rx, tx) = value.split_once("TX:").unwrap();
                let name = if key.starts_with('A') { "adaptive" } else { "cqe-mode" };
                vec![(format!("{name}-rx"), rx.trim()), (format!("{name}-tx"), tx.trim())]
            }
            _ if value.is_empty() => continue,
            _ => vec![(key, value)],
        };
        for (key, value) in pairs {
            let theirs = match value {
                "on" => Some(1),
                "off" => Some(0),
                _ => value.parse::<u64>().ok(),
            };
            if key.starts_with("Coalesce") {
                continue;
            }
            assert_eq!(part[&key].as_u64(), theirs, "{name} -c: {key}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{text}");
}

fn pause(name: &str, adapter: &Value) {
    let part = &adapter["pause"];
    let Some(text) = ethtool("-a", name, part) else { return };
    for (key, ours) in [("Autonegotiate", "autonegotiation"), ("RX", "rx"), ("TX", "tx")] {
        let theirs = lines(&text).find(|(one, _)| *one == key).unwrap().1;
        assert_eq!(part[ours].as_bool().unwrap(), theirs == "on", "{name} -a: {key}");
    }
}

fn fec(name: &str, adapter: &Value) {
    let part = &adapter["fec"];
    let Some(text) = ethtool("--show-fec", name, part) else { return };
    let words = |key: &str| lines(&text).find(|(one, _)| one.starts_with(key)).map(|(_, value)| value.to_lowercase());
    let configured: Vec<_> =
        part["configured"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_lowercase()).collect();
    let theirs = words("Configured FEC").unwrap();
    assert!(configured.iter().all(|one| theirs.split_whitespace().any(|word| word == one)), "{name}: {theirs}");
}

fn hash(name: &str, adapter: &Value) {
    let part = &adapter["rss"];
    let Some(text) = ethtool("-x", name, part) else { return };
    let function = text.lines().filter_map(|line| line.trim().strip_suffix(": on")).next();
    assert_eq!(part["function"].as_str(), function, "{name} -x");
    let table: Vec<u64> = text
        .lines()
        .filter_map(|line| line.trim().split_once(':'))
        .filter(|(row, _)| row.parse::<u32>().is_ok())
        .flat_map(|(_, row)| row.split_whitespace().filter_map(|queue| queue.parse().ok()))
        .collect();
    let ours: Vec<u64> = part["table"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    assert_eq!(ours, table, "{name} -x");
    let key = text
        .lines()
        .skip_while(|line| *line != "RSS hash key:")
        .nth(1)
        .filter(|key| key.contains("..") || key.contains(':'));
    assert_eq!(part["key"].as_str(), key, "{name} -x");
}

fn module(name: &str, adapter: &Value) {
    let part = &adapter["module"];
    let Some(text) = ethtool("-m", name, part) else { return };
    for (key, ours) in
        [("Vendor name", "vendor"), ("Vendor PN", "part"), ("Vendor rev", "revision"), ("Vendor SN", "serial")]
    {
        let theirs = lines(&text).find(|(one, _)| *one == key).map(|(_, value)| value);
        assert_eq!(part[ours].as_str(), theirs.filter(|value| !value.is_empty()), "{name} -m: {key}");
    }
}

/// The device under an interface, by `devlink`.
fn devlink(name: &str, adapter: &Value) {
    if !is_installed("devlink") {
        return skip!("devlink is not installed");
    }
    let (part, interface) = (&adapter["devlink"], &adapter["interface"]);
    let (Some(bus), Some(device)) = (interface["bus"].as_str(), interface["device"].as_str()) else { return };
    let handle = format!("{bus}/{device}");
    // Without a driver that tells it fails, or says nothing.
    let out = run("devlink", &["-j", "dev", "info", &handle]);
    let theirs: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
    let theirs = &theirs["info"][&handle];
    if theirs.is_null() {
        assert!(part["absent"].is_string(), "{name}: devlink says nothing, and yet {part}");
        return;
    }
    for (key, ours) in [
        ("driver", &part["driver"]),
        ("serial_number", &part["serial_number"]),
        ("board.serial_number", &part["board_serial_number"]),
    ] {
        assert_eq!(&theirs[key], ours, "{name}: devlink {key}");
    }
    for kind in ["fixed", "running", "stored"] {
        let theirs = theirs["versions"][kind].as_object().cloned().unwrap_or_default();
        assert_eq!(part[kind].as_object(), Some(&theirs), "{name}: devlink {kind}");
    }
}

/// Counters of the driver: the same names in the same order, and values between two readings of ours.
fn own_counters(name: &str) {
    let ours = || -> Vec<(String, u64)> {
        let document = super::document(&["stats", name, "--interval", "0", "--all"]);
        let rows = document["counters"].as_array().unwrap().iter().filter(|row| row["group"] == "driver");
        rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row["value"].as_u64().unwrap())).collect()
    };
    let before = ours();
    let out = run("ethtool", &["-S", name]);
    let text = String::from_utf8(out.stdout).unwrap();
    let after = ours();
    let theirs: Vec<_> =
        lines(&text).filter_map(|(key, value)| Some((key.to_owned(), value.parse::<u64>().ok()?))).collect();
    let names = |rows: &[(String, u64)]| rows.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!((names(&before), names(&after)), (names(&theirs), names(&theirs)), "{name} -S");
    for ((row, theirs), ((_, before), (_, after))) in theirs.iter().zip(before.iter().zip(&after)) {
        // Numbers of interfaces, which some drivers have among their counters, do not grow.
        assert!(
            (before.min(after)..=before.max(after)).contains(&theirs),
            "{name} -S: {row} {before} {theirs} {after}"
        );
    }
}

fn ip(name: &str, adapter: &Value) {
    let (mut before, mut all) = (adapter.clone(), Value::Null);
    // The kernel tells of a state some time after what it follows from: it is compared once it stays.
    until(&format!("{name} stays as it is"), || {
        all = serde_json::from_str(&printed("ip", &["-s", "-d", "-j", "link", "show", "dev", name])).unwrap();
        let after = super::adapter(name);
        let stays = ["state", "flags"].iter().all(|key| before["interface"][key] == after["interface"][key]);
        if stays {
            counters(name, [&before, &after], &all[0]["stats64"]);
        } else {
            before = after;
        }
        stays
    });
    let (theirs, ours) = (&all[0], &before["interface"]);
    let pairs = [
        ("ifindex", &ours["index"]),
        ("ifname", &ours["name"]),
        ("mtu", &ours["mtu"]),
        ("qdisc", &ours["qdisc"]),
        ("txqlen", &ours["queue_length"]),
        ("address", &ours["address"]),
        ("promiscuity", &ours["promiscuity"]),
        ("min_mtu", &ours["mtu_least"]),
        ("num_tx_queues", &ours["queues"][0]),
        ("num_rx_queues", &ours["queues"][1]),
        ("gso_max_size", &ours["super_frames"]["gso_max_size"]),
        ("gso_max_segs", &ours["super_frames"]["gso_max_segs"]),
        ("parentbus", &ours["bus"]),
        ("parentdev", &ours["device"]),
        ("link_index", &if ours["lower_elsewhere"] == true { ours["lower"].clone() } else { Value::Null }),
    ];
    for (key, ours) in pairs {
        // A tap without a user has none of some.
        assert!(
            theirs[key] == *ours || (theirs[key].is_null() && ours == &Value::from(0)),
            "{name}: {key} {} {ours}",
            theirs[key]
        );
    }
    assert_eq!(theirs["max_mtu"].as_u64().filter(|most| *most != 0), ours["mtu_most"].as_u64(), "{name}");
    assert_eq!(theirs["linkinfo"]["info_kind"].as_str(), ours["kind"].as_str(), "{name}");
    details(name, &theirs["linkinfo"]["info_data"], &ours["details"]);
    details(name, &theirs["linkinfo"]["info_slave_data"], &ours["member"]);
    assert_eq!(theirs["operstate"].as_str().unwrap().to_lowercase(), ours["state"].as_str().unwrap(), "{name}");
    let flags = |value: &Value| -> BTreeSet<String> {
        let all = value["flags"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap().to_owned());
        // The program's own words, of a lower link too; and RUNNING, which it leaves out.
        all.filter(|flag| !["NO-CARRIER", "M-DOWN", "RUNNING"].contains(&flag.as_str())).collect()
    };
    assert_eq!(flags(theirs), flags(ours), "{name}");
}

/// Values that run by themselves, and the same in other words.
const LEFT_OUT: [&str; 9] = [
    "hello_timer",
    "tcn_timer",
    "topology_change_timer",
    "gc_timer",
    "hold_timer",
    "message_age_timer",
    "forward_delay_timer",
    "group_fwd_mask_str",
    "usedbcqueuelen",
];

/// Values of an interface's kind, or of a member's.
fn details(name: &str, theirs: &Value, ours: &Value) {
    let Some(all) = theirs.as_object() else { return };
    for (key, value) in all.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str())) {
        let ours = &ours[key];
        // It writes some numbers in base 16, and interfaces by their name.
        let number = value.as_str().and_then(|text| {
            let index = std::fs::read_to_string(format!("/sys/class/net/{text}/ifindex")).ok();
            let index = index.and_then(|index| index.trim().parse().ok());
            index.or_else(|| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok())
        });
        let same =
            value == ours || (number.is_some() && number == ours.as_u64()) || (value.is_null() && ours == "none");
        assert!(same, "{name}: {key} {value} {ours}");
    }
    println!("compared {name}: {} details", all.len());
}

/// Counters of `ip -s`: between two readings of ours.
fn counters(name: &str, [before, after]: [&Value; 2], theirs: &Value) {
    let mut compared = 0;
    for (way, key, ours) in [
        ("rx", "bytes", "rx_bytes"),
        ("rx", "packets", "rx_packets"),
        ("rx", "errors", "rx_errors"),
        ("rx", "dropped", "rx_dropped"),
        ("rx", "multicast", "multicast"),
        ("tx", "bytes", "tx_bytes"),
        ("tx", "packets", "tx_packets"),
        ("tx", "errors", "tx_errors"),
        ("tx", "dropped", "tx_dropped"),
        ("tx", "collisions", "collisions"),
    ] {
        let Some(value) = theirs[way][key].as_u64() else { continue };
        let of = |adapter: &Value| adapter["interface"]["counters"][ours].as_u64().unwrap();
        assert!((of(before)..=of(after)).contains(&value), "{name}: {ours} {} {value} {}", of(before), of(after));
        compared += 1;
    }
    assert!(compared >= 8, "{theirs}");
}
