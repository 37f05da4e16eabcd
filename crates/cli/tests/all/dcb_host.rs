//! Tests of `linerate dcb show IF` and `set IF` beside iproute2's `dcb`, in a virtual machine: on `dcb0`, whose driver (a module of
//! our own, tests/rig/dcb) keeps what dcbnl sets, and refuses what a driver would.
#![cfg(target_os = "linux")]

use crate::process::BINARY;
use crate::rig;
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Output};

/// Commands that make the interface in the machine.
const MAKE: &str = "modprobe dcbdev || exit 1\n";

/// Runs a program to its end: exit code, and both outputs.
fn run(program: &str, words: &str) -> (i32, String, String) {
    let Output { status, stdout, stderr } = Command::new(program).args(words.split(' ')).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// Runs `linerate …`, which succeeds.
#[track_caller]
fn ours(words: &str) -> String {
    let (code, out, errors) = run(BINARY, words);
    assert_eq!((code, errors.as_str()), (0, ""), "{words}: {out}");
    out
}

/// Runs iproute2's `dcb …`, which succeeds.
#[track_caller]
fn dcb(words: &str) -> String {
    let (code, out, errors) = run("dcb", words);
    assert_eq!((code, errors.as_str()), (0, ""), "{words}: {out}");
    out
}

/// Object of iproute2's, as a document.
fn theirs(object: &str) -> Value {
    serde_json::from_str(&dcb(&format!("-s -j {object} show dev dcb0"))).unwrap()
}

fn shown() -> Value {
    serde_json::from_str(&ours("dcb show dcb0 --json")).unwrap()
}

/// Each value that iproute2 reads is ours.
#[track_caller]
fn agree() {
    let ours = shown();
    let document = &ours["dcbnl"];
    assert_eq!(document["ets"], theirs("ets"));
    let mut pfc = theirs("pfc");
    let enabled = pfc["prio_pfc"].take();
    pfc.as_object_mut().unwrap().remove("prio_pfc");
    let mut of_ours = document["pfc"].clone();
    let bits = of_ours["enabled"].take().as_u64().unwrap();
    of_ours.as_object_mut().unwrap().remove("enabled");
    assert_eq!(of_ours, pfc);
    let prios: Vec<u64> = (0..8).filter(|prio| enabled[usize::try_from(*prio).unwrap()] == true).collect();
    assert_eq!(ours["operative"]["pfc"], json!(prios));
    assert_eq!(prios.iter().fold(0, |all, prio| all | 1 << prio), bits);
    assert_eq!(document["buffer"], theirs("buffer"));
    // The kernel's header says kbit/s; iproute2 6.1 has the same number as bytes a second.
    assert_eq!(document["maxrate"], theirs("maxrate")["tc_maxrate"]);
    let modes = theirs("dcbx");
    let words: Vec<&str> = ["host", "cee", "ieee", "static"].into_iter().filter(|word| modes[*word] == true).collect();
    assert_eq!(document["dcbx"], json!(words.join(",")));
}

#[test]
fn settings_of_a_drivers_dcb_are_those_of_iproute2() {
    let roles = ["what_the_other_sets_is_read", "what_is_refused_is_told", "what_is_saved_comes_back"]
        .map(|role| format!("dcb_host::{role}"));
    let roles = roles.each_ref().map(String::as_str);
    rig::within(&["dcb", "ip"], MAKE, &roles, &[]);
}

#[test]
#[ignore = "a role of another test"]
fn what_the_other_sets_is_read() {
    if !rig::is_role() {
        return;
    }
    agree();
    dcb("ets set dev dcb0 willing on prio-tc all:0 3:1 tc-tsa all:strict 0:ets 1:ets tc-bw all:0 0:60 1:40");
    dcb("pfc set dev dcb0 prio-pfc all:off 3:on delay 100 macsec-bypass on");
    dcb("buffer set dev dcb0 prio-buffer all:0 3:1 buffer-size 0:100K 1:64K");
    dcb("maxrate set dev dcb0 tc-maxrate all:0 1:10Gbit 3:77Kbit");
    dcb("app add dev dcb0 ethtype-prio 0x8906:3 dscp-prio 46:5 stream-port-prio 3260:4");
    dcb("dcbx set dev dcb0 host cee ieee");
    fs::write("/sys/module/dcbdev/parameters/requests", "12").unwrap();
    fs::write("/sys/module/dcbdev/parameters/indications", "34").unwrap();
    agree();
    let text = ours("dcb show dcb0 -s");
    for line in [
        "dcb0, driver ",
        "dcbx host,cee,ieee",
        "willing on, ets-cap 8, cbs off",
        "pfc-cap 2, macsec-bypass on, delay 100",
        "prio  class  tsa  bw %  lossless  buffer  bytes   requests  indications",
        "3     1      ets  40    yes       1       65536   12        34",
        "total-size 262144",
        "1      0        1250000000kbit",
        "ethtype      0x8906    3",
        "dscp         46        5",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!ours("dcb show dcb0").contains("requests"));
    // Set by us, read by the other.
    let out = ours(
        "dcb set dcb0 --ets willing off prio-tc 4:2 tc-tsa 2:ets tc-bw 0:50 2:10 reco-tc-bw 0:100 reco-tc-tsa 0:ets --pfc prio-pfc 4:on delay 7 --buffer buffer-size 0:96K 1:80K --maxrate tc-maxrate 2:1500Mbit --app ethtype-prio 0x8906:4 default-prio 1 --app-del dscp-prio 46:5 --dcbx host ieee",
    );
    for line in ["ets-willing: on -> off", "pfc-delay: 100 -> 7", "dcbx: host,cee,ieee -> host,ieee"] {
        assert!(out.lines().any(|one| one == line), "{line}: {out}");
    }
    let ets = theirs("ets");
    assert_eq!((&ets["willing"], &ets["tc_bw"]), (&json!(false), &json!([50, 40, 10, 0, 0, 0, 0, 0])));
    assert_eq!((&ets["prio_tc"][4], &ets["tc_tsa"][2], &ets["reco_tc_bw"][0]), (&json!(2), &json!("ets"), &json!(100)));
    let pfc = theirs("pfc");
    assert_eq!((&pfc["prio_pfc"][3], &pfc["prio_pfc"][4], &pfc["delay"]), (&json!(true), &json!(true), &json!(7)));
    assert_eq!(theirs("buffer")["buffer_size"][1], 80 << 10);
    assert_eq!(theirs("maxrate")["tc_maxrate"][2], 1_500_000);
    let app = dcb("app show dev dcb0");
    assert!(
        app.contains("8906:4") && !app.contains("8906:3") && app.contains("3260:4") && !app.contains("dscp"),
        "{app}"
    );
    assert!(app.contains("default-prio 1"), "{app}");
    agree();
    assert_eq!(ours("dcb set dcb0 --pfc delay 7"), "nothing changed: it is so already\n");
}

#[test]
#[ignore = "a role of another test"]
fn what_is_refused_is_told() {
    if !rig::is_role() {
        return;
    }
    let before = shown();
    for (words, code, line) in [
        ("set dcb0 --pfc prio-pfc 1:on 2:on 5:on", 1, "a setting was refused"),
        ("set dcb0 --dcbx lld-managed", 1, "a setting was refused"),
        ("set dcb0 --buffer buffer-size 0:1G", 1, "a setting was refused"),
        ("set dcb0 --ets tc-tsa 0:ets tc-bw 0:99", 2, "--ets: tc-bw: the shares would sum to"),
        ("set dcb0 --ets tc-bw 0:101", 2, "--ets: tc-bw 0:101: give pairs as 0:1"),
        ("set dcb0 --ets tc-tsa 0:best", 2, "--ets: tc-tsa 0:best: give pairs"),
        ("set dcb0 --pfc prio-pfc 8:on", 2, "--pfc: prio-pfc 8:on: give pairs"),
        ("set dcb0 --pfc delay 65536", 1, "a setting was refused"),
        ("set dcb0 --maxrate tc-maxrate 0:fast", 2, "--maxrate: tc-maxrate 0:fast: give a number"),
        ("set dcb0 --app ethtype-prio 0x8906:8", 2, "--app: ethtype-prio 0x8906:8: give a priority, 0 to 7"),
        ("set dcb0 --dcbx cisco", 2, "--dcbx: cisco: give some of host"),
        ("set dcb0", 2, "nothing is to be set"),
        ("show lo", 1, "lo: its driver offers no DCB (dcbnl)"),
        ("set lo --pfc delay 1", 1, "lo: its driver offers no DCB (dcbnl)"),
        ("set no-such --pfc delay 1", 2, "no-such: no such interface here"),
    ] {
        let (ended, out, errors) = run(BINARY, &format!("dcb {words}"));
        assert_eq!((ended, errors.lines().count()), (code, 1), "{words}: {out} {errors}");
        assert!(errors.contains(line), "{words}: {errors}");
    }
    let (_, out, _) = run(BINARY, "dcb set dcb0 --pfc prio-pfc 1:on 2:on 5:on");
    assert!(out.contains("Argument list too long"), "the driver's own words: {out}");
    assert_eq!(shown(), before);
}

#[test]
#[ignore = "a role of another test"]
fn what_is_saved_comes_back() {
    if !rig::is_role() {
        return;
    }
    let before = shown();
    assert!(ours("nic save dcb0 /tmp/settings").contains("settings saved"));
    let text = fs::read_to_string("/tmp/settings").unwrap();
    assert!(
        text.contains("prio-pfc = \"0:") && text.contains("dcb-app = \"") && text.contains("dcbx = \"host,ieee\""),
        "{text}"
    );
    dcb(
        "ets set dev dcb0 willing on prio-tc all:0 7:5 tc-tsa all:strict tc-bw all:0 reco-tc-tsa all:strict reco-tc-bw all:0",
    );
    dcb("pfc set dev dcb0 prio-pfc all:off 6:on delay 9");
    dcb("buffer set dev dcb0 prio-buffer all:0 buffer-size 0:64K 1:32K");
    dcb("maxrate set dev dcb0 tc-maxrate all:0 5:1Gbit");
    dcb("app replace dev dcb0 dscp-prio 8:1");
    dcb("dcbx set dev dcb0 host cee");
    let (code, out, errors) = run(BINARY, "nic diff dcb0 /tmp/settings");
    assert_eq!((code, errors.as_str()), (3, ""), "{out}");
    for name in ["prio-tc", "prio-pfc", "pfc-delay", "buffer-size", "tc-maxrate", "dcb-app", "dcbx"] {
        assert!(
            out.lines().any(|line| line.starts_with(&format!("{name}: ")) && line.contains(" here, ")),
            "{name}: {out}"
        );
    }
    ours("nic restore dcb0 /tmp/settings");
    assert_eq!(ours("nic diff dcb0 /tmp/settings"), "");
    let mut after = shown();
    // Entries of applications have no order that is kept.
    let apps = |document: &mut Value| {
        let list =
            |of: Value| of.as_array().unwrap().iter().map(Value::to_string).collect::<std::collections::BTreeSet<_>>();
        (list(document["operative"]["app"].take()), list(document["dcbnl"]["app"].take()))
    };
    let mut wanted = before;
    assert_eq!(apps(&mut after), apps(&mut wanted));
    assert_eq!(after, wanted);
    // A file of before there was DCB; and one with it, where a driver has none.
    let old: String = text
        .lines()
        .filter(|line| !line.contains("\"0:") && !line.contains("dcb"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write("/tmp/old", old).unwrap();
    assert!(ours("nic diff dcb0 /tmp/old").contains("prio-pfc: not compared: it is not in the file"));
    ours("nic restore dcb0 /tmp/old");
    assert!(ours("nic save lo /tmp/lo").contains("not saved: DCB: Operation not supported"));
    let (_, out, _) = run(BINARY, "nic diff lo /tmp/settings");
    assert!(out.contains("prio-pfc: not compared: Operation not supported"), "{out}");
    // Counters, and the doctor, by the same answer.
    fs::write("/sys/module/dcbdev/parameters/indications", "34").unwrap();
    assert!(ours("nic stats dcb0 --interval 0").contains("pfc_indications_3"));
    dcb("app add dev dcb0 ethtype-prio 0x8906:5");
    dcb("pfc set dev dcb0 prio-pfc all:off 3:on");
    fs::write("/sys/module/dcbdev/parameters/peer_pfc", "16").unwrap();
    let text = run(BINARY, "doctor dcb0").1;
    for line in ["FCoE has priority 5, which may lose frames", "lossless priorities are 3 here, and 4 at the peer"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
