//! Tests of `linerate dcb`: ports that negotiate over a cable and over the kernel's interfaces, shown from another process.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, Process, until};
use linerate_host::{Cause, Namespace, VethPair};
use linerate_port::capture::Reader;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

/// Settings that a peer is to take over.
const SAN: &str =
    "--ets prio-tc 0:0 3:1 tc-tsa 0:ets 1:ets tc-bw 0:60 1:40 --pfc prio 3 --app ethtype 0x8906:3 0x8914:3";

/// `linerate dcb …` with a directory of its own for its sockets.
fn dcb(place: &Path, words: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.env("XDG_RUNTIME_DIR", place).arg("dcb").args(words.split_whitespace());
    command
}

fn said(output: Output) -> String {
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn shown(place: &Path, port: &str) -> Value {
    serde_json::from_str(&said(dcb(place, &format!("show -i {port} --json")).output().unwrap())).unwrap()
}

/// Two ports, of which the second is willing, until both have settled.
fn agree(place: &Path, ports: [&str; 2], dcbx: &str, version: &str) -> [Process; 2] {
    let first = Process::ready(dcb(place, &format!("up -i {} --dcbx {dcbx} {SAN}", ports[0])), "dcbx off (no peer)");
    let second =
        Process::ready(dcb(place, &format!("up -i {} --willing yes", ports[1])), &format!("dcbx {version}; ets"));
    until("the willing one has what the other has", || {
        shown(place, ports[1])["operative"] == shown(place, ports[0])["local"]
    });
    let (a, b) = (shown(place, ports[0]), shown(place, ports[1]));
    assert_eq!((&a["dcbx"], &b["dcbx"]), (&json!(version), &json!(version)));
    assert_eq!(b["from_peer"], json!({ "ets": true, "pfc": true, "app": true }));
    assert_eq!((&a["operative"], &a["from_peer"]["pfc"]), (&a["local"], &json!(false)));
    assert_eq!((&b["operative"]["pfc"], &b["operative"]["ets"]["tc_bw"][1]), (&json!([3]), &json!(40)));
    assert_eq!((&a["neighbours"][0]["mac"], &b["neighbours"][0]["mac"]), (&b["mac"], &a["mac"]));
    assert_eq!((&a["counters"]["dropped"], &b["counters"]["tlvs_discarded"]), (&json!({}), &json!({})));
    [first, second]
}

#[test]
fn two_ports_of_a_cable_agree_and_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    for (dcbx, version) in [("auto", "ieee"), ("cee", "cee")] {
        let ports = [format!("cable:dcb-{dcbx}{{1"), format!("cable:dcb-{dcbx}}}1")];
        let [mut first, second] = agree(dir.path(), [&ports[0], &ports[1]], dcbx, version);
        let text = said(dcb(dir.path(), &format!("show {}", ports[1])).output().unwrap());
        for words in ["3     1      ets  40    yes", "ets peer, pfc peer, app peer", "ethtype  0x8906    3", version] {
            assert!(text.contains(words), "{words}: {text}");
        }
        second.signal("INT");
        assert_eq!(second.end().code, Some(130));
        first.until("took leave");
        first.until("dcbx off (no peer)");
        first.stop();
    }
}

#[test]
fn the_final_document_is_the_one_that_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let peer = Process::ready(dcb(dir.path(), &format!("up -i cable:dcb-end{{1 {SAN}")), "dcbx off");
    let process = Process::start(dcb(dir.path(), "up -i cable:dcb-end}1 --willing yes --json"));
    until("it runs", || said(dcb(dir.path(), "show --json").output().unwrap()).contains("names"));
    until("it has a peer", || shown(dir.path(), "cable:dcb-end}1")["dcbx"] == "ieee");
    let before = shown(dir.path(), "cable:dcb-end}1");
    process.signal("INT");
    let ended = process.end();
    let after: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(
        (ended.code, &after["operative"], &after["schema"]),
        (Some(130), &before["operative"], &json!("linerate.dcb"))
    );
    peer.stop();
}

/// The kernel's interfaces receive the group's frames for us; this needs root.
#[test]
fn two_ends_of_a_veth_pair_agree() {
    let Some(ns) = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability) else { return };
    let _pair = ns.run_in(|| VethPair::new(["va", "vb"], 1, 1500)).unwrap().unwrap();
    let dir = tempfile::tempdir().unwrap();
    for kind in ["packet", "xdp"] {
        let ports = [format!("{kind}:va"), format!("{kind}:vb")];
        let ends = ns.run_in(|| agree(dir.path(), [&ports[0], &ports[1]], "auto", "ieee")).unwrap();
        ends.into_iter().for_each(|end| drop(end.stop()));
    }
}

/// `linerate fcoe …` beside [`dcb`].
fn fcoe(place: &Path, words: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.env("XDG_RUNTIME_DIR", place).arg("fcoe").args(words.split_whitespace());
    command
}

/// Tags of frames of an EtherType in a trace, in order, each as often as it changes.
fn tags(trace: &Path, ethertype: [u8; 2]) -> Vec<Option<u16>> {
    let mut tags = Vec::new();
    let mut reader = Reader::open(trace).unwrap();
    while let Some(record) = reader.read().unwrap() {
        let tag = match record.data {
            [_, _, _, _, _, _, _, _, _, _, _, _, 0x81, 0x00, high, low, a, b, ..] if [*a, *b] == ethertype => {
                Some(u16::from_be_bytes([*high, *low]))
            }
            [_, _, _, _, _, _, _, _, _, _, _, _, a, b, ..] if [*a, *b] == ethertype => None,
            _ => continue,
        };
        tags.push(tag);
    }
    tags.dedup();
    tags
}

const FCOE: [u8; 2] = [0x89, 0x06];
const FIP: [u8; 2] = [0x89, 0x14];

/// The neighbour says which priority FCoE has, changes its mind, and goes.
#[test]
fn a_target_has_the_priority_that_its_neighbour_says() {
    let dir = tempfile::tempdir().unwrap();
    let (near, far) = ("cable:dcb-fcoe{1", "cable:dcb-fcoe}1");
    let trace = dir.path().join("trace");
    let words = format!("target -i {near},trace={} --lun 0=ram:16M --dcb --willing yes", trace.display());
    let mut target = Process::ready(fcoe(dir.path(), &words), "LLDP: ");
    let first = Process::ready(dcb(dir.path(), &format!("up -i {far} {SAN}")), "dcbx ieee");
    target.until("note: dcbx ieee");
    let (ours, theirs) = (shown(dir.path(), near), shown(dir.path(), far));
    assert_eq!(ours["operative"], theirs["local"]);
    assert_eq!(ours["from_peer"], json!({ "ets": true, "pfc": true, "app": true }));
    target.until("address ");
    first.signal("INT");
    target.until("took leave");
    target.until("note: dcbx off (no peer)");
    first.end();
    let mut second = Process::ready(dcb(dir.path(), &format!("up -i {far} --app ethtype 0x8906:4")), "dcbx ieee");
    target.until("app (peer): ethtype 0x8906:4");
    target.until("address ");
    target.signal("INT");
    second.until("took leave");
    let ended = target.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    second.stop();
    let tags: Vec<u16> = tags(&trace, FIP).into_iter().flatten().collect();
    assert_eq!(tags, [0x6000, 0x8000], "priorities 3 and 4 of VLAN 0");
}

/// The target says which priority its initiator's frames have.
#[test]
fn an_initiator_has_the_priority_that_the_target_says() {
    let dir = tempfile::tempdir().unwrap();
    let (near, far) = ("cable:dcb-san{1", "cable:dcb-san}1");
    let trace = dir.path().join("trace");
    let target = format!("target -i {near} --lun 0=ram:16M --dcb {SAN}");
    let target = Process::ready(fcoe(dir.path(), &target), "LLDP: ");
    let nbd = dir.path().join("nbd");
    let words = format!("-i {far},trace={} --nbd unix:{}", trace.display(), nbd.display());
    let mut initiator =
        Process::ready(fcoe(dir.path(), &format!("initiator {words} --dcb --willing yes")), "dcbx ieee");
    initiator.until("export ");
    let (ours, theirs) = (shown(dir.path(), far), shown(dir.path(), near));
    assert_eq!((&ours["operative"], &theirs["neighbours"][0]["mac"]), (&theirs["local"], &ours["mac"]));
    initiator.signal("INT");
    initiator.end();
    assert_eq!((tags(&trace, FCOE), tags(&trace, FIP).last()), (vec![Some(0x6000)], Some(&Some(0x6000))));
    // Who has no tag hears, and is heard by, who has one.
    let said = fcoe(dir.path(), &format!("ls -i {far} --timeout 50")).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    target.stop();
}

/// A switch offers its classes to whoever is at a port, and shows who has heard; FCoE through it has the priority that it says.
#[test]
fn a_switch_offers_its_classes_and_shows_its_neighbours() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let linerate = |words: &str| {
        let mut command = Command::new(BINARY);
        command.env("XDG_RUNTIME_DIR", place).args(words.split_whitespace());
        command
    };
    let words = format!("switch dcb-lab --buffers 1M --dcb {SAN} --qcn prio 3");
    let switch = Process::ready(linerate(&words), "switch dcb-lab runs");
    let mut stubborn = Process::ready(dcb(place, "up -i vale:dcb-lab:a --pfc prio 1"), "dcbx ieee");
    let trace = place.join("trace");
    let target = "target -i vale:dcb-lab:t,mtu=2180 --lun 0=ram:16M --dcb --willing yes";
    let mut target = Process::ready(fcoe(place, target), "app (peer): ethtype 0x8906:3");
    let words = format!(
        "initiator -i vale:dcb-lab:i,mtu=2180,trace={} --nbd unix:{} --dcb --willing yes --qcn 10G",
        trace.display(),
        place.join("nbd").display()
    );
    let initiator = Process::ready(fcoe(place, &words), "export ");
    let known =
        || -> Value { serde_json::from_str(&said(linerate("switch show dcb-lab --json").output().unwrap())).unwrap() };
    let document = known();
    let rows = document["neighbours"].as_array().unwrap();
    let at: Vec<_> = rows.iter().map(|row| (&row["at"], &row["ieee"]["ets"]["willing"])).collect();
    assert_eq!(at, [(&json!("a"), &json!(false)), (&json!("t"), &json!(true)), (&json!("i"), &json!(true))]);
    let [ours, offered, reacts] = ["a", "t", "i"].map(|port| shown(place, &format!("vale:dcb-lab:{port}")));
    assert_eq!((&ours["operative"]["pfc"], &offered["operative"]["pfc"]), (&json!([1]), &json!([3])));
    assert_eq!(offered["operative"]["ets"]["tc_bw"][1], 40);
    // Who reacts is in the switch's domain, who does not is told of it.
    let ready = json!({ "prio": 3, "defence": "interior ready" });
    assert_eq!((&reacts["cn"], &offered["cn"]), (&json!([ready]), &json!([])));
    assert_eq!(offered["neighbours"][0]["cn"], json!({ "prio": [3], "ready": [3] }));
    let told: Vec<_> = rows.iter().map(|row| &row["cn"]["prio"]).collect();
    assert_eq!(told, [&Value::Null, &Value::Null, &json!([3])]);
    assert_eq!((&offered["neighbours"][0]["port"], rows.len()), (&json!("t"), 3));
    let text = said(linerate("switch show dcb-lab").output().unwrap());
    assert!(text.contains("at port  neighbour") && document["ledger"]["unexplained"] == 0, "{text}");
    initiator.signal("INT");
    initiator.end();
    assert_eq!((tags(&trace, FCOE), tags(&trace, FIP).last()), (vec![Some(0x6000)], Some(&Some(0x6000))));
    until("it has left", || known()["neighbours"].as_array().unwrap().len() == 2);
    switch.signal("INT");
    stubborn.until("took leave");
    target.until("took leave");
    assert_eq!(switch.end().code, Some(130));
    for guest in [stubborn, target] {
        guest.signal("INT");
        guest.end();
    }
}

/// A host takes the classes of its neighbour; sockets' priorities are not obeyed.
#[test]
fn a_host_negotiates_beside_ip() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let stack = |words: &str| {
        let mut command = Command::new(BINARY);
        command.env("XDG_RUNTIME_DIR", place).arg("stack").args(words.split_whitespace());
        command
    };
    let mut peer = Process::ready(dcb(place, &format!("up -i cable:dcb-host{{1 {SAN}")), "dcbx off");
    let words = "up -i cable:dcb-host}1 --addr 10.0.0.2/24 --dcb";
    let host = Process::ready(stack(&format!("{words} --willing yes")), "dcbx ieee; ets (peer)");
    let (ours, theirs) = (shown(place, "cable:dcb-host}1"), shown(place, "cable:dcb-host{1"));
    assert_eq!((&ours["operative"], &theirs["neighbours"][0]["mac"]), (&theirs["local"], &ours["mac"]));
    host.signal("INT");
    peer.until("took leave");
    peer.stop();
    assert_eq!(host.end().code, Some(130));
    let refused = stack(&words.replace("}1", "}1,queues=4")).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && said.contains("open it with ,queues=1"), "{said}");
}

#[test]
fn words_for_a_negotiation_that_is_not_asked_for_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (words, line) in [
        ("target -i null: --lun 0=ram:1M --willing yes", "are for --dcb: give it, too"),
        ("initiator -i null: --nbd unix:x --pfc prio 3", "are for --dcb: give it, too"),
        ("target -i null: --lun 0=ram:1M --dcb --ets tc-tsa 0:ets tc-bw 0:50", "they must sum to 100"),
    ] {
        let refused = fcoe(dir.path(), words).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(
            refused.status.code() == Some(2) && said.contains(line) && said.lines().count() == 1,
            "{words}: {said}"
        );
    }
}
