//! Tests on the texts of `tests/freebsd`, whole, cut at each byte, and damaged.

use super::*;
use std::path::Path;

fn file(card: &str, name: &str) -> std::io::Result<Vec<u8>> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/freebsd").join(card).join("freebsd").join(name))
}

fn text(card: &str, name: &str) -> String {
    String::from_utf8(file(card, name).unwrap()).unwrap()
}

fn card(name: &str) -> FreebsdTexts {
    FreebsdTexts::read(|file_name| file(name, file_name))
}

#[test]
fn the_adapter_of_the_tuning_note_is_read() {
    let texts = card("oce-be3");
    let one = texts.adapter("oce0").unwrap();
    let link = &one.interface;
    assert_eq!((link.mtu, link.metric, link.speed()), (Some(9000), Some(0), Some(10_000)));
    assert_eq!(link.ether.as_deref(), Some("02:00:c9:00:00:10"));
    assert_eq!((link.status.as_deref(), link.inet.len(), link.inet6.len()), (Some("active"), 1, 1));
    assert_eq!(link.supported, ["media autoselect", "media 10Gbase-SR mediaopt full-duplex"]);
    assert_eq!(link.other, ["nd6 options=29<PERFORMNUD,IFDISABLED,AUTO_LINKLOCAL>"]);
    assert!(link.has("RUNNING") && !link.has("LOOPBACK"));
    assert_eq!(link.options.as_ref().map(|set| set.bits), Some(0x507bb));
    assert_eq!(
        (one.driver.as_str(), one.driver_version.as_deref(), one.firmware.as_deref()),
        ("oce", Ok("4.0.140.0"), Ok("4.0.360.15"))
    );
    let pci = one.pci.as_ref().unwrap();
    assert_eq!((pci.vendor_id, pci.device_id, pci.selector.as_str()), (Some(0x19a2), Some(0x710), "pci0:3:0:0"));
    let express = pci.express.as_ref().unwrap();
    assert_eq!((express.lanes, express.speed, express.max_data), (Some((4, 8)), Some((5.0, 5.0)), Some((256, 512))));
    let sysctls = one.sysctls.as_ref().unwrap();
    let handled = sysctls.iter().find(|row| row.name == "dev.oce.0.max_rsp_handled").unwrap();
    assert_eq!(
        (handled.value.as_str(), handled.default.as_deref(), handled.boot.as_deref()),
        ("128", Some("64"), Some("128"))
    );
    assert_eq!(handled.about.as_deref(), Some("Receive completions that an interrupt handles"));
    let loop_back = sysctls.iter().find(|row| row.name == "dev.oce.0.loop_back").unwrap();
    assert_eq!((loop_back.default.as_deref(), loop_back.boot.as_deref()), (Some("0"), None));
    assert!(sysctls.iter().any(|row| row.name == "hw.oce.max_rsp_handled"));
    assert!(sysctls.iter().all(|row| !row.name.contains(".stats.") && !row.name.contains('%')));
    let counters = one.counters.as_ref().unwrap();
    assert_eq!((counters["stats.rx.err.crc_errs"], counters["stats.tx.total_tx_pkts"]), (3, 612_007));
    let boot: Vec<_> = one.boot.as_ref().unwrap().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(boot, ["if_oce_load", "hw.oce.max_rsp_handled", "kern.ipc.nmbclusters"]);
    let packages = one.packages.as_ref().unwrap();
    assert_eq!((packages.len(), packages[0].version.as_str()), (1, "4.0.140.0"));
    assert!(one.notes.is_empty(), "{:?}", one.notes);
}

/// As the tuning note's table has it: `-txcsum` takes TSO4 and TSO6 with it.
#[test]
fn what_is_off_is_told_from_what_is_on() {
    let texts = card("oce-be3");
    let off: Vec<_> = texts.adapter("oce1").unwrap().offloads.into_iter().filter(|one| !one.enabled).collect();
    let off: Vec<_> = off.iter().map(|one| (one.name.as_str(), one.bit)).collect();
    assert_eq!(off, [("TXCSUM", Some(1)), ("TSO4", Some(8)), ("TSO6", Some(9))]);
    // The second port's text has no speed of its link.
    let express = texts.function("oce1").unwrap().express.clone().unwrap();
    assert_eq!((express.lanes, express.speed), (Some((4, 8)), None));
}

#[test]
fn a_newer_version_and_what_it_lacks_is_read() {
    let one = card("ix-82599").adapter("ix0").unwrap();
    let new = one.offloads.iter().find(|one| one.name == "IFCAP_32").unwrap();
    assert_eq!((new.bit, new.enabled), (Some(32), false));
    assert_eq!((one.driver_version.as_deref(), one.firmware.as_deref()), (Ok("4.0.1-k"), Ok("eTrack 0x800003e1")));
    let express = one.pci.unwrap().express.unwrap();
    assert_eq!((express.lanes, express.max_read), (Some((8, 8)), Some(512)));
    assert_eq!(one.interface.hardware.as_deref(), Some("00:90:fa:00:00:20"));
    assert!(one.interface.other.iter().any(|line| line == "description: uplink, rack 4"), "{:?}", one.interface.other);
    let why = one.boot.unwrap_err().why;
    assert_eq!(why, "not recorded; write it by: cat /boot/loader.conf >freebsd/loader.conf");
    assert!(one.packages.is_err());
    assert!(one.sysctls.unwrap().iter().any(|row| row.name == "dev.ix.0.fc" && row.value == "3"));
    let lagg = card("ix-82599").adapter("lagg0").unwrap();
    assert_eq!((lagg.offloads.len(), lagg.interface.options.unwrap().bits), (0, 0));
    assert_eq!(lagg.pci.unwrap_err().why, "pciconf lists no lagg0");
    assert_eq!(lagg.firmware.unwrap_err().why.split(',').next(), Some("sysctl has no dev.lagg.0.firmware_version"));
}

/// Regression: the driver of `re0.33` was `re0.`.
#[test]
fn a_vlan_that_is_named_after_its_lower_interface_is_one() {
    let texts = FreebsdTexts::read(|name| match name {
        "ifconfig" => Ok(b"re0.33: flags=8843<UP,RUNNING> metric 0 mtu 1500\n\toptions=3<RXCSUM,\n".to_vec()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    });
    let one = texts.adapter("re0.33").unwrap();
    assert_eq!((one.driver.as_str(), one.interface.driver()), ("vlan", "vlan"));
    assert_eq!(one.notes, ["ifconfig: a set cannot be read, and was left out: options=3<RXCSUM,"]);
}

#[test]
fn an_interface_that_is_not_there_is_gone() {
    assert!(card("oce-be3").adapter("oce2").unwrap_err().is_gone());
    let none = FreebsdTexts::read(|_| Err(std::io::ErrorKind::NotFound.into())).adapter("oce0").unwrap_err();
    assert_eq!(none.why, "not recorded; write it by: ifconfig -m >freebsd/ifconfig");
}

#[test]
fn a_text_without_its_end_and_a_wrong_line_are_told() {
    let texts = FreebsdTexts::read(|name| match name {
        "loader.conf" => Ok(b"a=\"1\"\nno setting\n".to_vec()),
        "ifconfig" => Ok(text("oce-be3", name).trim_end().as_bytes().to_vec()),
        _ => file("oce-be3", name),
    });
    assert_eq!(
        texts.adapter("oce0").unwrap().notes,
        ["ifconfig: its last line has no end, and was left out", "loader.conf: line 2 is not NAME=\"VALUE\"",]
    );
}

/// True if a part of a cut text is there as in the whole one, or not at all.
fn same<T: PartialEq>(part: &Option<T>, whole: &Option<T>) -> bool {
    part.is_none() || part == whole
}

#[test]
fn a_text_that_is_cut_anywhere_says_nothing_that_the_whole_does_not() {
    let whole = text("oce-be3", "ifconfig");
    let all = Ifconfig::parse(&whole);
    for end in 0..whole.len() {
        for (one, whole) in Ifconfig::parse(&whole[..end]).iter().zip(&all) {
            assert!(one.name == whole.name && one.flags == whole.flags && one.mtu == whole.mtu, "{end}");
            assert!(same(&one.options, &whole.options) && same(&one.capabilities, &whole.capabilities), "{end}");
            assert!(same(&one.ether, &whole.ether) && same(&one.media, &whole.media), "{end}");
            assert!(same(&one.status, &whole.status) && whole.supported.starts_with(&one.supported), "{end}");
            assert!(whole.inet.starts_with(&one.inet) && whole.inet6.starts_with(&one.inet6), "{end}");
        }
    }
    let whole = text("oce-be3", "pciconf");
    let all = PciFunction::parse(&whole);
    for end in 0..whole.len() {
        for (one, whole) in PciFunction::parse(&whole[..end]).iter().zip(&all) {
            assert!(
                one.selector == whole.selector && one.device_id == whole.device_id && one.card == whole.card,
                "{end}"
            );
            assert!(same(&one.vendor, &whole.vendor) && same(&one.device, &whole.device), "{end}");
            if let Some((part, whole)) = one.express.as_ref().zip(whole.express.as_ref()) {
                assert!(part.lanes == whole.lanes && same(&part.speed, &whole.speed), "{end}: {part:?}");
            }
        }
    }
    let whole = text("oce-be3", "sysctl");
    let all = SysctlText::parse(&whole);
    for end in 0..whole.len() {
        let part = SysctlText::parse(&whole[..end]);
        assert!(part.below("dev").all(|(name, value)| all.get(&format!("dev.{name}")) == Some(value)), "{end}");
    }
    let (whole, packages) = (text("oce-be3", "loader.conf"), text("oce-be3", "pkg"));
    let (all, known) = (LoaderConf::parse(&whole), InstalledPackage::parse(&packages));
    for end in 0..whole.len() {
        assert!(all.settings.starts_with(&LoaderConf::parse(&whole[..end]).settings), "{end}");
    }
    for end in 0..packages.len() {
        assert!(known.starts_with(&InstalledPackage::parse(&packages[..end])), "{end}");
    }
}

/// Numbers that are the same in each run (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % end
    }
}

/// Reads texts as all of a host's; returns how much of them was taken for something.
fn read(bytes: &[u8]) -> usize {
    let texts = FreebsdTexts::read(|_| Ok(bytes.to_vec()));
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    let (interfaces, functions) = (texts.interfaces.as_ref().unwrap(), texts.pci.as_ref().unwrap());
    let loader = texts.loader.as_ref().unwrap();
    assert!(interfaces.len() <= lines && functions.len() <= lines && texts.sysctl.as_ref().unwrap().len() <= lines);
    assert!(loader.settings.len() + loader.wrong.len() <= lines && texts.packages.as_ref().unwrap().len() <= lines);
    for one in interfaces {
        let adapter = texts.adapter(&one.name).unwrap();
        assert!(serde_json::to_string(&adapter).is_ok(), "{adapter:?}");
    }
    interfaces.len() + functions.len()
}

#[test]
fn hostile_texts_are_read_to_their_end() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let texts: Vec<_> = ["oce-be3", "ix-82599"]
        .into_iter()
        .flat_map(|card| FREEBSD_FILES.iter().filter_map(move |(name, _)| file(card, name).ok()))
        .collect();
    assert!(texts.len() >= 9, "{}", texts.len());
    let mut taken = 0;
    for text in &texts {
        taken += read(text);
        for _ in 0..200 {
            let mut bytes = text.clone();
            for _ in 0..=dice.below(12) {
                if bytes.is_empty() {
                    break;
                }
                let at = dice.below(bytes.len());
                match dice.below(5) {
                    0 => bytes[at] = u8::try_from(dice.below(256)).unwrap(),
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, b"<>=:\n\t \"'(),x@\\"[dice.below(14)]),
                    3 => bytes.truncate(at.max(1)),
                    // A piece of the text at another place.
                    _ => {
                        let piece = bytes[at..(at + dice.below(40)).min(bytes.len())].to_vec();
                        let to = dice.below(bytes.len() + 1);
                        bytes.splice(to..to, piece);
                    }
                }
            }
            taken += read(&bytes);
        }
    }
    // The damage left much of it readable.
    assert!(taken > 1000, "{taken}");
    for length in 0..300 {
        let noise: Vec<u8> = (0..length).map(|_| u8::try_from(dice.below(256)).unwrap()).collect();
        read(&noise);
        // Bytes that the formats are made of.
        let words: [&[u8]; 16] = [
            b"oce0: flags=",
            b"8843<",
            b">",
            b"\n",
            b"\t",
            b"options=",
            b"oce0@pci0:0:0:0:\t",
            b"    cap 10[70] = PCI-Express ",
            b"link x8(x",
            b" speed ",
            b"(",
            b")",
            b"dev.oce.0.",
            b": ",
            b"9999999999999999999999",
            b"supported media:",
        ];
        let made: Vec<u8> = (0..length).flat_map(|_| words[dice.below(16)].to_vec()).collect();
        read(&made);
    }
}
