//! Hosts of FreeBSD, from what their programs print.

use super::{columns, document, fits, nic, run};
use std::fs;
use std::path::{Path, PathBuf};

/// A tree of texts.
fn tree(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/tests/freebsd").join(name)
}

fn shown(interface: &str, name: &str) -> String {
    let text = nic(&["show", interface, "--from", tree(name).to_str().unwrap()]);
    fits(&text);
    text
}

#[track_caller]
fn has(text: &str, wanted: &[&str]) {
    // Broken lines are put together again.
    let joined = text.replace("\n\t                   ", " ").replace(",\n\t    ", ",");
    for words in wanted {
        assert!(text.contains(words) || joined.contains(words), "it lacks {words:?}:\n{text}");
    }
}

#[test]
fn the_adapter_of_the_tuning_note_is_shown_as_its_programs_print_it() {
    let text = shown("oce0", "oce-be3");
    let published =
        "507bb<RXCSUM,TXCSUM,VLAN_MTU,VLAN_HWTAGGING,JUMBO_MTU,VLAN_HWCSUM,TSO4,TSO6,LRO,VLAN_HWFILTER,VLAN_HWTSO>";
    has(
        &text,
        &[
            "oce0: flags=8843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> metric 0 mtu 9000\n",
            &format!("\toptions={published}\n\tcapabilities={published}\n\tether 02:00:c9:00:00:10\n"),
            "\tmedia: Ethernet autoselect (10Gbase-SR <full-duplex>)\n\tstatus: active\n\tsupported media:\n\t\tmedia autoselect\n\
             \t\tmedia 10Gbase-SR mediaopt full-duplex\n",
            "driver             oce 4.0.140.0\n",
            "firmware           4.0.360.15\n",
            "PCI                pci0:3:0:0 (19a2:0710)\n",
            "PCIe               5 GT/s x4, 16.0 Gb/s each way; at most 5 GT/s x8, 32.0 Gb/s each way\n",
            "PCIe payload       256 of 512 bytes\n",
            "TSO4               on, bit 8 (0x100): segment TCP on IPv4; needs TXCSUM\n",
            "VLAN_MTU           on, bit 3 (0x8): carry a VLAN tag beyond the MTU; cannot be changed\n",
            "TSO6               on, bit 9 (0x200): segment TCP on IPv6; needs TXCSUM; cannot be disabled\n",
            "\tdev.oce.0.max_rsp_handled        128, default 64, at boot 128\n",
            "\tif_oce_load                      YES\n",
            "oce                4.0.140.0, Emulex OneConnect 10Gb network driver\n",
            "\tstats.rx.err.crc_errs            3\n",
        ],
    );
    for words in ["pbuf_errors", "not told", "zfs_load", "procmap", "kern.osrelease"] {
        assert!(!text.contains(words), "{words}:\n{text}");
    }
}

#[test]
fn flags_that_are_off_and_a_speed_that_is_not_printed_are_told() {
    let text = shown("oce1", "oce-be3");
    has(
        &text,
        &[
            "\tstatus: no carrier\n",
            "TXCSUM             off, bit 1 (0x2): fill in checksums of sent packets\n",
            "TSO4               off, bit 8 (0x100): segment TCP on IPv4; needs TXCSUM\n",
            "LRO                on, bit 10 (0x400): merge received TCP segments\n",
            "PCIe               x4 of x8; pciconf tells no speed\n",
        ],
    );
    // The manual of another driver has no such rules, and what nobody knows is kept.
    let text = shown("ix0", "ix-82599");
    has(
        &text,
        &[
            "IFCAP_32           off, bit 32 (0x100000000)\n",
            "TSO6               on, bit 9 (0x200): segment TCP on IPv6\n",
            "PCIe               5 GT/s x8, 32.0 Gb/s each way\n",
            "hwaddr 00:90:fa:00:00:20\n",
            "\tmedia: Ethernet autoselect (10Gbase-Twinax\n\t    <full-duplex,rxpause,txpause>)\n",
            "boot settings      not recorded; write it by: cat /boot/loader.conf >freebsd/loader.conf\n",
            "packages           not recorded; write it by: pkg info >freebsd/pkg\n",
        ],
    );
}

#[test]
fn interfaces_of_a_recorded_host_are_listed() {
    let from = tree("oce-be3");
    let from = from.to_str().unwrap();
    let text = nic(&["list", "--from", from]);
    fits(&text);
    let rows: Vec<Vec<&str>> = text.lines().take(4).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1], ["oce0", "device", "oce", "pci0:3:0:0", "10G", "9000", "active", "-", "no"]);
    assert_eq!(rows[2], ["oce1", "device", "oce", "pci0:3:0:1", "-", "1500", "down", "-", "no"]);
    assert_eq!(rows[3], ["lo0", "loopback", "lo", "-", "-", "16384", "-", "-", "no"]);
    let all = document(&["list", "--from", from]);
    let row = &all["host"][0];
    assert_eq!((row["name"].as_str(), row["speed_mbps"].as_u64()), (Some("oce0"), Some(10_000)));
    assert_eq!((row["bus"].as_str(), row["mac"].as_str()), (Some("pci0:3:0:0"), Some("02:00:c9:00:00:10")));
}

#[test]
fn the_document_has_what_the_text_has() {
    let from = tree("oce-be3");
    let all = document(&["show", "oce0", "--from", from.to_str().unwrap()]);
    assert_eq!((all["schema"].as_str(), all["version"].as_u64()), (Some("linerate.nic.freebsd"), Some(1)));
    let adapter = &all["adapter"];
    assert_eq!(adapter["interface"]["options"]["bits"], 0x507bb);
    assert_eq!((&adapter["offloads"][6]["name"], &adapter["offloads"][6]["bit"]), (&"TSO4".into(), &8.into()));
    assert_eq!(adapter["pci"]["express"]["lanes"], serde_json::json!([4, 8]));
    assert_eq!(adapter["firmware"], "4.0.360.15");
    let parameters = adapter["sysctls"].as_array().unwrap();
    let row = parameters.iter().find(|row| row["name"] == "dev.oce.0.max_rsp_handled").unwrap();
    assert_eq!((&row["value"], &row["default"], &row["boot"]), (&"128".into(), &"64".into(), &"128".into()));
    assert_eq!(adapter["boot"][1], serde_json::json!(["hw.oce.max_rsp_handled", "128"]));
    assert_eq!(adapter["counters"]["stats.rx.err.crc_errs"], 3);
    let ix = document(&["show", "ix0", "--from", tree("ix-82599").to_str().unwrap()]);
    assert!(ix["adapter"]["boot"]["absent"].as_str().unwrap().starts_with("not recorded"), "{ix}");
}

/// Copies a tree.
fn copy(to: &Path) -> PathBuf {
    let folder = to.join("freebsd");
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(tree("oce-be3").join("freebsd")).unwrap().flatten() {
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    folder
}

/// Regression: a control character of the C1 set, which begins an escape sequence by itself, reached the terminal.
#[test]
fn what_texts_have_drives_no_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let file = copy(dir.path()).join("ifconfig");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("status: active", "status: active\u{9b}2J")).unwrap();
    let asked = ["show", "oce0", "--from", dir.path().to_str().unwrap()];
    let (text, json) = (nic(&asked), nic(&[&asked[..], &["--json"]].concat()));
    assert!(text.contains("status: active\u{fffd}2J") && json.contains("active\\u009b2J"), "{text}{json}");
    assert!(!(text + &json).contains('\u{9b}'));
}

#[test]
fn what_cannot_be_shown_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().to_str().unwrap();
    let folder = copy(dir.path());
    let refused = |words: &[&str], code: i32, line: &str| {
        let out = run(env!("CARGO_BIN_EXE_linerate"), &[&["nic"], words, &["--from", from]].concat());
        let error = String::from_utf8(out.stderr).unwrap();
        assert_eq!((out.status.code(), error.lines().count()), (Some(code), 1), "{words:?}: {error}");
        assert!(error.contains(line) && out.stdout.is_empty(), "{words:?}: {error}");
    };
    refused(&["show", "oce7"], 2, "oce7: no such interface here");
    refused(&["stats", "oce0"], 2, "that is a tree of a FreeBSD host; see its counters in 'linerate nic show");
    fs::remove_file(folder.join("ifconfig")).unwrap();
    refused(&["show", "oce0"], 1, "freebsd/ifconfig: not recorded; write it by: ifconfig -m >freebsd/ifconfig");
    refused(&["list"], 1, "freebsd/ifconfig: not recorded");
    std::os::unix::fs::symlink("/etc/passwd", folder.join("ifconfig")).unwrap();
    refused(&["list"], 1, "freebsd/ifconfig: it leads out of the recorded tree");
}

#[test]
fn damaged_texts_are_shown_as_far_as_they_go() {
    let dir = tempfile::tempdir().unwrap();
    let folder = copy(dir.path());
    let show = || {
        let out = run(env!("CARGO_BIN_EXE_linerate"), &["nic", "show", "oce0", "--from", dir.path().to_str().unwrap()]);
        assert_eq!((out.status.code(), out.stderr.len()), (Some(0), 0), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    for name in ["pciconf", "sysctl", "pkg", "loader.conf"] {
        let whole = fs::read(folder.join(name)).unwrap();
        fs::write(folder.join(name), &whole[..whole.len() - 4]).unwrap();
        has(&show(), &[&format!("text               {name}: its last line has no end, and was left out\n")]);
        fs::write(folder.join(name), [b"\xff\x00\x1b[31m", &whole[..whole.len() / 2], b"\n\xfe\n"].concat()).unwrap();
        let text = show();
        assert!(!text.contains('\u{1b}') && text.starts_with("oce0: flags="), "{text}");
        fs::write(folder.join(name), whole).unwrap();
    }
    fs::write(folder.join("ifconfig"), "oce0: flags=zz\n\toptions=3<A\n\tcapabilities=>\n\tmedia:\n\tstatus:\n")
        .unwrap();
    let text = show();
    assert!(text.starts_with("oce0: flags=\n") && !text.contains("\toptions="), "{text}");
    has(&text, &["ifconfig: a set cannot be read, and was left out:\n\t                   options=3<A\n"]);
    // A name, a value and a set that are longer than any line.
    let long = "x".repeat(300);
    fs::write(folder.join("ifconfig"), format!("oce0: flags=1<UP>\n\toptions=1<{long}>\n")).unwrap();
    fs::write(folder.join("sysctl"), format!("dev.oce.0.{long}: {long}\ndev.oce.0.a: {long}\n")).unwrap();
    let text = show();
    let wide: Vec<_> = text.lines().filter(|line| columns(line) > 80 && !line.contains("options=")).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}
