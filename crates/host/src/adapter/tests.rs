//! Tests of adapters on recorded trees, whole, damaged and lost halfway.

use super::*;
use std::cell::Cell;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Recorded cards and their interfaces.
const CARDS: [(&str, &str); 3] = [("ixgbe-82599", "ens2f0"), ("mlx5-connectx", "p3p1"), ("ice-e810", "eth0")];

fn tree(card: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cards").join(card)
}

fn open(card: &str) -> Recorded {
    Recorded::open(&tree(card)).unwrap()
}

fn whole(card: &str, name: &str) -> (Adapter, Vec<Group>) {
    let mut source = open(card);
    let found = find(&mut source, name).unwrap();
    let adapter = read(&mut source, found);
    let groups = counters(&mut source, &adapter.interface).unwrap().groups;
    (adapter, groups)
}

/// Value that a tree has for a line of a dump, as the dump would print it.
fn printed(adapter: &Adapter, groups: &[Group], section: &str, key: &str) -> Option<String> {
    let amount = |amounts: &[Amount], name: &str| {
        let one = amounts.iter().find(|one| one.name == name)?;
        Some(format!("{} of {}", one.now?, one.most?))
    };
    let driver = adapter.driver.as_ref().ok()?;
    match section {
        "-i" => match key {
            "driver" => driver.name.clone(),
            "version" => driver.version.clone(),
            "firmware-version" => driver.firmware.clone(),
            "bus-info" => driver.bus.clone(),
            _ => None,
        },
        "-l" => amount(adapter.channels.as_ref().ok()?, &key.to_lowercase()),
        "-g" => amount(&adapter.rings.as_ref().ok()?.sizes, &key.to_lowercase()),
        "-c" => {
            let rows = adapter.coalesce.as_ref().ok()?;
            let on = |name: &str| rows.get(name).map_or("n/a", |on| if on == 1 { "on" } else { "off" });
            match key {
                "Adaptive RX" => Some(format!("{}  TX: {}", on("adaptive-rx"), on("adaptive-tx"))),
                _ => rows.get(key).map(|value| value.to_string()),
            }
        }
        "-S" => groups.iter().find(|group| group.name == "driver")?.rows.get(key).map(|value| value.to_string()),
        "lspci" => {
            let link = adapter.device.as_ref().ok()?.pci.as_ref().ok()?.link.as_ref().ok()?;
            Some(format!("Speed {:.1}GT/s, Width x{}", link.speed, link.width))
        }
        "-m" => of_module(adapter.module.as_ref().ok()?, key),
        _ => None,
    }
}

fn of_module(module: &Module, key: &str) -> Option<String> {
    let length =
        |name: &str| module.lengths.iter().find(|(one, _)| *one == name).map(|(_, metres)| format!("{metres}m"));
    let lane = module.lanes.first();
    let light = |power: f64| format!("{power:.4} mW / {:.2} dBm", dbm(power).unwrap());
    match key {
        // Numbers of codes are not kept where there are names.
        "Identifier" | "Connector" => {
            let name = if key == "Identifier" { Some(&module.identifier) } else { module.connector.as_ref() };
            let codes = [("SFP", "0x03"), ("LC", "0x07"), ("QSFP28", "0x11"), ("MPO Parallel Optic", "0x0c")];
            let (name, code) = codes.iter().find(|(one, _)| name.is_some_and(|name| name == one))?;
            Some(format!("{code} ({name})"))
        }
        "Transceiver type" => Some(module.media.join(", ")),
        "BR, Nominal" => {
            module.rate.map(|rate| format!("{rate}M{}", if module.identifier == "SFP" { "Bd" } else { "bps" }))
        }
        "Length (50um)" => length("OM2"),
        "Length (62.5um)" => length("OM1"),
        "Length (OM3)" | "Length (OM3 50um)" => length("OM3"),
        "Length (Copper or Active cable)" => length("cable or OM4"),
        "Laser wavelength" => {
            let length = module.wavelength?;
            Some(if module.identifier == "SFP" { format!("{length}nm") } else { format!("{length:.3}nm") })
        }
        "Vendor name" => module.vendor.clone(),
        "Vendor OUI" => module.oui.clone(),
        "Vendor PN" => module.part.clone(),
        "Vendor rev" => module.revision.clone(),
        "Vendor SN" => module.serial.clone(),
        "Date code" => module.date.clone(),
        "Extended identifier description" => Some(format!("{}W max. Power consumption", module.power_most?)),
        "Laser bias current" => Some(format!("{:.3} mA", lane?.bias?)),
        "Laser output power" => Some(light(lane?.tx_power?)),
        "Receiver signal average optical power" => Some(light(lane?.rx_power?)),
        "Module temperature" => Some(format!("{:.2} degrees C", module.temperature?)),
        "Module voltage" => Some(format!("{:.4} V", module.voltage?)),
        _ => None,
    }
}

#[test]
fn each_line_of_the_dumps_is_read() {
    let mut lines = 0;
    for (card, name) in CARDS {
        let (adapter, groups) = whole(card, name);
        let dump = fs::read_to_string(tree(card).join("dump.txt")).unwrap();
        let mut section = "";
        for line in dump.lines() {
            if let Some(begins) = line.strip_prefix("== ") {
                section = begins;
                continue;
            }
            let (key, value) = line.split_once(": ").unwrap();
            assert_eq!(printed(&adapter, &groups, section, key).as_deref(), Some(value), "{card} {section} {key}");
            lines += 1;
        }
    }
    assert!(lines > 70, "{lines}");
}

#[test]
fn what_no_dump_prints_is_read_as_well() {
    let (ixgbe, groups) = whole("ixgbe-82599", "ens2f0");
    let device = ixgbe.device.as_ref().unwrap();
    assert_eq!((device.driver.as_deref(), device.near.as_deref()), (Ok("ixgbe"), Ok("0-7,16-23")));
    assert!(device.pci.as_ref().unwrap().narrows.is_empty(), "a slot of 8 GT/s does not narrow 5 GT/s");
    let irqs = ixgbe.irqs.as_ref().unwrap();
    assert_eq!(irqs.len(), 3);
    assert_eq!(
        (irqs[1].name.as_deref(), irqs[1].count, irqs[1].effective.as_deref()),
        (Some("ens2f0-TxRx-1"), Some(88), Ok("1"))
    );
    let features = &ixgbe.features.as_ref().unwrap().0;
    assert!(
        features["rx-lro"].wanted
            && !features["rx-lro"].active
            && features["vlan-challenged"] == crate::Feature::default()
    );
    let rss = ixgbe.rss.as_ref().unwrap();
    assert_eq!((rss.function.as_deref(), rss.table.as_ref().map(Vec::len)), (Some("toeplitz"), Some(128)), "by ioctl");
    assert_eq!((rss.fields.len(), rss.fields[2].0.as_str(), rss.fields[2].1.len()), (3, "udp4", 2));
    assert_eq!(groups.iter().find(|group| group.name == "pause").unwrap().rows.get("rx_pause_frames"), Some(9));
    assert_eq!(ixgbe.stamps.as_ref().unwrap().clock, Some(0));
    assert_eq!(
        ixgbe.xdp.as_ref().unwrap().features,
        ["basic", "redirect", "ndo-xmit", "xsk-zerocopy", "rx-sg", "ndo-xmit-sg"]
    );

    let (mlx5, groups) = whole("mlx5-connectx", "p3p1");
    let device = mlx5.device.as_ref().unwrap();
    assert_eq!(device.node, Ok(1));
    // The slot has 16 lanes and 8 are up: the card's own link and the port above it both say so.
    let pci = device.pci.as_ref().unwrap();
    assert_eq!((pci.ids.as_deref(), pci.narrows.len(), pci.narrows[0].1.width), (Some("15b3:1017"), 1, 8));
    let fec = mlx5.fec.as_ref().unwrap();
    assert_eq!(
        (fec.active.as_deref(), fec.counters.get("corrected_blocks"), fec.lanes[0].1.len()),
        (Some("RS"), Some(12), 4)
    );
    let modes = mlx5.modes.as_ref().unwrap();
    assert_eq!((modes.speed, modes.duplex, modes.lanes), (Some(100_000), Some("full"), Some(4)));
    assert_eq!(modes.partner.as_ref().unwrap(), &["100000baseSR4/Full", "RS"]);
    let queues = mlx5.queues.as_ref().unwrap();
    assert_eq!((queues[1].name.as_str(), queues[1].napi, queues[1].irq), ("tx-0", Some(600), Some(201)));
    let histogram = groups.iter().find(|group| group.name == "rmon").unwrap();
    assert_eq!(histogram.rows.get("rx-etherStatsPkts8192toMaxOctets"), Some(66));
    assert_eq!(
        groups.iter().find(|group| group.name == "queue tx-0").unwrap().rows.get("tx-packets"),
        Some(896_117_891)
    );
    let fields = &mlx5.rss.as_ref().unwrap().fields;
    assert_eq!(fields[2], ("ip4".to_owned(), vec!["IP SA", "IP DA"]));
    assert_eq!(mlx5.module.as_ref().unwrap().lanes.len(), 4);

    let (ice, _) = whole("ice-e810", "eth0");
    let link = ice.link.as_ref().unwrap();
    assert_eq!(
        (link.reason.as_deref(), link.detail.as_deref(), link.downs),
        (Some("Cable issue"), Some("Unsupported cable"), Some(4))
    );
    assert_eq!((ice.modes.as_ref().unwrap().speed, ice.modes.as_ref().unwrap().duplex), (None, None));
    let narrows = &ice.device.as_ref().unwrap().pci.as_ref().unwrap().narrows;
    assert_eq!((narrows[0].0.as_str(), narrows[0].1.width), ("0000:e0:01.1", 8));
    // Reasons are the kernel's own.
    assert_eq!(ice.module.unwrap_err().why, "cannot read module EEPROM memory: Invalid argument");
    assert!(ice.pause.as_ref().unwrap_err().is_forbidden());
    assert_eq!(ice.stamps.unwrap_err(), Absent::told("not recorded"));
}

#[test]
fn a_list_has_a_row_for_each() {
    let mut source = open("mlx5-connectx");
    let rows = list(&mut source).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].driver.as_deref(), rows[0].place.as_deref()), (Some("mlx5_core"), Some("0000:af:00.0")));
    assert_eq!((rows[0].speed, rows[0].queues), (Some(100_000), Some(1)));
}

#[test]
fn a_recording_reads_as_what_was_recorded() {
    let dir = tempfile::tempdir().unwrap();
    for (card, name) in CARDS {
        let (adapter, groups) = whole(card, name);
        let mut recorder = Recorder::new(open(card), &dir.path().join(card), name).unwrap();
        let subject = adapter.interface.clone();
        assert_eq!(read(&mut recorder, subject), adapter);
        assert_eq!(counters(&mut recorder, &adapter.interface).unwrap().groups, groups);
        recorder.finish().unwrap();
        let mut again = Recorded::open(&dir.path().join(card)).unwrap();
        let found = find(&mut again, name).unwrap();
        assert_eq!(read(&mut again, found), adapter, "{card}");
        assert_eq!(counters(&mut again, &adapter.interface).unwrap().groups, groups, "{card}");
    }
    assert!(Recorder::new(Machine::new(), dir.path(), "lo").is_err(), "it is there already");
}

#[test]
fn a_link_out_of_a_tree_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc", dir.path().join("sys")).unwrap();
    let source = Recorded::open(dir.path()).unwrap();
    assert!(
        source.file("sys/passwd").is_err() && source.file("../../etc/passwd").is_err() && source.real("sys").is_err()
    );
}

/// A source whose answers and files are damaged.
struct Damaged<F> {
    inner: Recorded,
    damage: F,
}

impl<F: Fn(&mut Vec<u8>)> Source for Damaged<F> {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = self.inner.file(path)?;
        (self.damage)(&mut bytes);
        Ok(bytes)
    }
    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        self.inner.names(path)
    }
    fn real(&self, path: &str) -> io::Result<String> {
        self.inner.real(path)
    }
    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        let mut answers = self.inner.ask(question, of)?;
        answers.iter_mut().for_each(|answer| (self.damage)(answer));
        Ok(answers)
    }
}

/// Reads all there is; that it ends without a panic is the test.
fn all(source: &mut dyn Source, interface: &Interface) {
    let adapter = read(source, interface.clone());
    let groups = counters(source, interface).unwrap_or_default().groups;
    let _ = (adapter, rates(&groups, &groups, 1.0), list(source), find(source, "p3p1"));
}

#[test]
fn answers_that_are_cut_anywhere_lose_parts_and_nothing_else() {
    let interface = whole("mlx5-connectx", "p3p1").0.interface;
    for cut in (0..300).chain((300..1200).step_by(37)) {
        let damage = |bytes: &mut Vec<u8>| bytes.truncate(cut);
        all(&mut Damaged { inner: open("mlx5-connectx"), damage }, &interface);
    }
}

#[test]
fn answers_with_flipped_bits_are_read_to_their_end() {
    for (card, name) in CARDS {
        let interface = whole(card, name).0.interface;
        for seed in 0..120_u64 {
            let state = Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let next = || {
                let mut x = state.get();
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                state.set(x);
                usize::try_from(x >> 33).unwrap()
            };
            let damage = |bytes: &mut Vec<u8>| {
                for _ in 0..=seed % 5 {
                    if let Some(at) = next().checked_rem(bytes.len()) {
                        bytes[at] ^= u8::try_from(next() % 256).unwrap();
                    }
                }
            };
            all(&mut Damaged { inner: open(card), damage }, &interface);
        }
    }
}

/// A source of which one file, directory, link or answer cannot be read.
struct Failing {
    inner: Recorded,
    left: Cell<usize>,
}

impl Failing {
    fn step(&self) -> io::Result<()> {
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        if left == 0 { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }
}

impl Source for Failing {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        self.step().and_then(|()| self.inner.file(path))
    }
    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        self.step().and_then(|()| self.inner.names(path))
    }
    fn real(&self, path: &str) -> io::Result<String> {
        self.step().and_then(|()| self.inner.real(path))
    }
    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        self.step()?;
        self.inner.ask(question, of)
    }
}

/// JSON without the parts that are absent.
fn present(value: &Adapter) -> serde_json::Map<String, serde_json::Value> {
    let serde_json::Value::Object(mut map) = serde_json::to_value(value).unwrap() else { panic!() };
    map.retain(|_, part| part.get("absent").is_none());
    map
}

#[test]
fn one_read_that_fails_costs_what_it_is_of_and_nothing_else() {
    let (adapter, _) = whole("mlx5-connectx", "p3p1");
    let before = present(&adapter);
    let mut ended = false;
    for left in 0..400 {
        let mut source = Failing { inner: open("mlx5-connectx"), left: Cell::new(left) };
        let part = read(&mut source, adapter.interface.clone());
        let differ: Vec<_> = before.iter().filter(|(name, was)| present(&part).get(*name) != Some(was)).collect();
        // Without sysfs there are neither device nor queues' maps nor interrupts.
        let names: Vec<_> = differ.iter().map(|(name, _)| name.as_str()).collect();
        assert!(
            names.len() <= 1 || names.iter().all(|name| ["device", "steering", "irqs"].contains(name)),
            "{left}: {names:?}"
        );
        ended = names.is_empty();
    }
    assert!(ended, "the last ones fail after all was read");
}

/// A source that loses its interface, or has it renamed, after so many answers.
struct Fleeting {
    inner: Recorded,
    left: usize,
    renamed: Option<&'static str>,
}

impl Source for Fleeting {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        if self.left == 0 { Err(io::ErrorKind::NotFound.into()) } else { self.inner.file(path) }
    }
    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        if self.left == 0 { Err(io::ErrorKind::NotFound.into()) } else { self.inner.names(path) }
    }
    fn real(&self, path: &str) -> io::Result<String> {
        if self.left == 0 { Err(io::ErrorKind::NotFound.into()) } else { self.inner.real(path) }
    }
    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return self.inner.ask(question, of);
        }
        let Some(name) = self.renamed else { return Err(Absent::new(19, None)) };
        let mut answers = self.inner.ask(question, of)?;
        if question == Question::Link {
            let old = b"p3p1\0";
            let at = answers[0].windows(old.len()).position(|window| window == old).unwrap();
            answers[0][at..at + name.len()].copy_from_slice(name.as_bytes());
        }
        Ok(answers)
    }
}

#[test]
fn an_interface_that_goes_or_is_renamed_halfway_leaves_what_was_read() {
    let (whole, _) = whole("mlx5-connectx", "p3p1");
    for left in 1..15 {
        let mut source = Fleeting { inner: open("mlx5-connectx"), left, renamed: None };
        let part = read(&mut source, whole.interface.clone());
        assert_eq!((&part.fate, &part.interface), (&Fate::Gone, &whole.interface), "{left}");
        assert!(left < 3 || part.driver == whole.driver, "{left}");
        assert!(part.stamps.is_err(), "{left}");
    }
    let mut source = Fleeting { inner: open("mlx5-connectx"), left: 6, renamed: Some("wan0") };
    let part = read(&mut source, whole.interface.clone());
    assert_eq!(part.fate, Fate::Renamed("wan0".to_owned()));
    assert_eq!(part.driver, whole.driver);
}

#[test]
fn rates_are_differences_by_group_and_name() {
    let group = |rows: &[(&str, u64)]| Group {
        name: "driver".to_owned(),
        rows: Rows(rows.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()),
    };
    // A name may be there twice; one that fell was reset, and has no rate.
    let before = [group(&[("a", 10), ("a", 100), ("fell", 5)])];
    let after = [group(&[("a", 30), ("a", 101), ("fell", 4), ("new", 7)])];
    let found: Vec<_> =
        rates(&before, &after, 2.0).into_iter().map(|one| (one.name, one.difference, one.rate)).collect();
    let wanted = [("a", Some(20), Some(10.0)), ("a", Some(1), Some(0.5)), ("fell", None, None), ("new", None, None)];
    assert_eq!(found, wanted.map(|(name, difference, rate)| (name.to_owned(), difference, rate)));
    assert!(rates(&before, &before, 0.0).iter().all(|one| one.rate.is_none()));
}

#[test]
fn loopback_is_an_adapter_without_most_parts() {
    let mut machine = Machine::new();
    let Ok(lo) = find(&mut machine, "lo") else { return linerate_skip::skip!("there is no lo") };
    let adapter = read(&mut machine, lo);
    assert_eq!((adapter.interface.hardware, adapter.fate.clone()), (772, Fate::Stayed));
    assert_eq!(adapter.channels.as_ref().unwrap_err().why, "Operation not supported");
    assert!(adapter.device.is_err());
    let Counters { groups: link, absent } = counters(&mut machine, &adapter.interface).unwrap();
    assert!(absent.iter().any(|(name, why)| *name == "driver" && why.why == "Operation not supported"), "{absent:?}");
    assert!(link[0].name == "link" && link[0].rows.get("rx_packets") == link[0].rows.get("tx_packets"));
    assert!(find(&mut machine, "no-such-one").unwrap_err().is_gone());
}

/// `/sys` shows the namespace of who mounted it: what it has of an interface of the same name is another one's.
#[test]
fn sysfs_of_another_namespace_is_not_believed() {
    let entries = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let theirs = entries.map(|one| one.path()).find(|path| path.join("device").exists());
    let Some(name) = theirs.and_then(|path| Some(path.file_name()?.to_str()?.to_owned())) else {
        return linerate_skip::skip!("no interface here has a device");
    };
    let made = crate::Namespace::quiet();
    let Some(ns) = linerate_skip::permitted(made, |e| e.cause == crate::Cause::Capability) else { return };
    ns.run_in(|| {
        let _pair = crate::VethPair::new([&name, "far"], 1, 1500).unwrap();
        let mut machine = Machine::new();
        let found = find(&mut machine, &name).unwrap();
        let adapter = read(&mut machine, found);
        let why = "/sys shows another network namespace";
        assert_eq!(adapter.device.unwrap_err().why, why);
        assert_eq!(adapter.steering.unwrap_err().why, why);
        assert_eq!(adapter.irqs.unwrap_err().why, why);
        // All else is of the one that was meant.
        assert_eq!(adapter.driver.unwrap().name.as_deref(), Some("veth"));
        let rows = list(&mut machine).unwrap();
        let row = rows.iter().find(|row| row.interface.name == name).unwrap();
        assert_eq!(
            (row.driver.as_deref(), row.place.as_deref(), row.interface.kind.as_deref()),
            (None, None, Some("veth"))
        );
    })
    .unwrap();
}

/// Of sockets those that listen are recorded: with whom a host is connected is nobody's.
#[test]
fn connections_are_not_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| dir.path().join(name));
    let path = "proc/net/tcp";
    std::fs::create_dir_all(from.join("proc/net")).unwrap();
    let head = "  sl  local_address rem_address   st tx_queue rx_queue\n";
    let listens = "   0: 00000000:1F90 00000000:0000 0A 00000000:00000003\n";
    let connected = "   1: 0100000A:1F90 4D0200C0:D431 01 00000000:00000000\n";
    std::fs::write(from.join(path), [head, listens, connected].concat()).unwrap();
    let recorder = Recorder::new(Recorded::open(&from).unwrap(), &to, "lo").unwrap();
    assert_eq!(recorder.file(path).unwrap().len(), head.len() + listens.len() + connected.len());
    recorder.finish().unwrap();
    assert_eq!(std::fs::read_to_string(to.join(path)).unwrap(), [head, listens].concat());
}
