//! Tests of `linerate nic up` and its virtual interfaces, used by other processes.
#![cfg(target_os = "linux")]

use crate::nic_vis_rig::{Endpoint, Rig, end, frame, mac, row};
use crate::process::{Ended, LIMIT};
use linerate_port::Link;
use std::time::Instant;

const ALL: [u8; 6] = [0xff; 6];
const OUTSIDE: [u8; 6] = [2, 0, 0, 0, 0x88, 1];

/// Checks that these are the next frames that come, told by addresses, tag and number.
fn gets(who: &mut Endpoint, wanted: &[Vec<u8>], what: &str) {
    wanted.iter().for_each(|wanted| is(&who.next(), wanted, what));
}

fn is(got: &[u8], wanted: &[u8], what: &str) {
    let head = wanted.len().min(got.len());
    assert_eq!(got[..18], wanted[..18], "{what}");
    assert_eq!(got[head - 5], wanted[head - 5], "{what}: the number");
}

/// Five interfaces with addresses and VLANs of their own: each gets what is for it, with the tag that is due, and no more.
/// Frames arrive in order, so what comes next shows that nothing came before it.
#[test]
fn frames_go_to_whom_they_are_for_and_to_nobody_else() {
    let Some(mut rig) = Rig::over_veth() else { return };
    for (vi, vlan) in [(1, "10"), (2, "10"), (3, "20"), (4, "t30"), (5, "all")] {
        rig.does(&format!("vi add -i PORT {vi} mac=02:00:00:00:77:0{vi} vlan={vlan}"));
    }
    let adapter = rig.up("");
    let [mut one, mut two, mut three, mut four, mut five] = [1, 2, 3, 4, 5].map(|vi| rig.at(vi));
    assert_eq!(one.port.info().mac, Some(mac(1)), "a program is told its address");
    rig.seats(5);
    // Inside: not on the wire. In another VLAN: on the wire, and not inside.
    one.send(&frame(mac(2), mac(1), None, 1));
    one.send(&frame(mac(3), mac(1), None, 2));
    one.send(&frame(ALL, mac(1), None, 3));
    gets(&mut two, &[frame(mac(2), mac(1), None, 1), frame(ALL, mac(1), None, 3)], "vi2");
    gets(&mut five, &[frame(ALL, mac(1), Some(10), 3)], "vi5, which is in all VLANs");
    gets(&mut rig.far, &[frame(mac(3), mac(1), Some(10), 2), frame(ALL, mac(1), Some(10), 3)], "the wire");
    // From the wire.
    for (to, tag) in [(mac(3), None), (mac(3), Some(10)), (mac(3), Some(20)), (mac(4), Some(30)), (ALL, Some(20))] {
        rig.far.send(&frame(to, OUTSIDE, tag, 4));
    }
    gets(&mut three, &[frame(mac(3), OUTSIDE, None, 4), frame(ALL, OUTSIDE, None, 4)], "vi3");
    gets(&mut four, &[frame(mac(4), OUTSIDE, Some(30), 4)], "vi4");
    gets(&mut five, &[frame(ALL, OUTSIDE, Some(20), 4)], "vi5");
    // What nobody may send.
    one.send(&frame(OUTSIDE, mac(2), None, 5));
    one.send(&frame(OUTSIDE, mac(1), Some(20), 5));
    four.send(&frame(OUTSIDE, mac(4), None, 5));
    five.send(&frame(mac(2), mac(1), Some(10), 5));
    five.send(&[0; 13]);
    // And what they may: the next that arrives.
    one.send(&frame(OUTSIDE, mac(1), None, 6));
    gets(&mut rig.far, &[frame(OUTSIDE, mac(1), Some(10), 6)], "the wire, after what was refused");
    four.send(&frame(OUTSIDE, mac(4), Some(30), 6));
    gets(&mut rig.far, &[frame(OUTSIDE, mac(4), Some(30), 6)], "the wire");
    five.send(&frame(mac(2), mac(5), Some(10), 7));
    gets(&mut two, &[frame(mac(2), mac(5), None, 7)], "vi2, after what was refused");
    let document = end(adapter);
    let refused = |vi: usize| row(&document, vi)["not_carried"].clone();
    assert_eq!((&refused(1)["tx.spoofed"], &refused(1)["tx.vlan"]), (&1.into(), &1.into()), "{document}");
    assert_eq!(refused(4)["tx.vlan"], 1);
    assert_eq!((&refused(5)["tx.spoofed"], &refused(5)["tx.too_short"]), (&1.into(), &1.into()));
    assert_eq!(refused(3)["rx.vlan"], 2, "two of its address in other VLANs");
}

/// One of 128 programs sends to the next, and to the wire, which sends to each.
#[test]
fn an_adapter_has_128_interfaces_for_as_many_programs() {
    const N: usize = 128;
    let _ = linerate_rt::raise_descriptors();
    let Some(mut rig) = Rig::over_veth() else { return };
    let adapter = rig.up("--vis 128");
    let mut programs: Vec<_> = (0..N).map(|vi| rig.at(vi)).collect();
    let macs: Vec<[u8; 6]> = programs.iter().map(|program| program.port.info().mac.unwrap()).collect();
    rig.seats(N);
    for vi in 0..N {
        let next = (vi + 1) % N;
        let number = u8::try_from(vi).unwrap();
        programs[vi].send(&frame(macs[next], macs[vi], None, number));
        gets(&mut programs[next], &[frame(macs[next], macs[vi], None, number)], "inside");
        programs[vi].send(&frame(OUTSIDE, macs[vi], None, number));
        gets(&mut rig.far, &[frame(OUTSIDE, macs[vi], None, number)], "the wire");
        rig.far.send(&frame(macs[vi], OUTSIDE, None, number));
        gets(&mut programs[vi], &[frame(macs[vi], OUTSIDE, None, number)], "from the wire");
    }
    let document = end(adapter);
    assert_eq!(document["interfaces"].as_array().unwrap().len(), N);
    for vi in 0..N {
        let row = row(&document, vi);
        assert_eq!((&row["to_port"], &row["stayed"], &row["in"]), (&1.into(), &1.into(), &2.into()), "{row}");
    }
}

/// Five pkt-gens, a process each, over one veth pair: every byte is checked, and every frame accounted for.
#[test]
fn pkt_gens_meet_through_an_adapter_and_the_ledgers_agree() {
    const FRAMES: u64 = 20_000;
    let Some(mut rig) = Rig::over_veth() else { return };
    for vi in 1..=4 {
        rig.does(&format!("vi add -i PORT {vi} mac=02:00:00:00:77:0{vi} vlan={}", if vi < 3 { 10 } else { 20 }));
    }
    let adapter = rig.up("");
    // At a rate that a receiver keeps up with on a busy machine, and losses would be counted.
    let receivers = [2, 4].map(|vi| {
        let mut process = rig.pkt_gen(vi, &format!("-f rx -n {FRAMES} -w 0 --json"));
        process.until("threads and");
        process
    });
    rig.seats(2);
    let sender =
        |vi: usize| rig.pkt_gen(vi, &format!("-f tx -n {FRAMES} -R 20000 -w 0 -D 02:00:00:00:77:0{} --json", vi + 1));
    for sender in [sender(1), sender(3)] {
        let Ended { code, out, log } = sender.end();
        assert_eq!(code, Some(0), "{out}{log}");
    }
    let listed: serde_json::Value = serde_json::from_str(&rig.does("vi list -i PORT --json")).unwrap();
    let dropped: u64 = [2, 4].iter().filter_map(|vi| row(&listed, *vi)["not_carried"]["rx.no_room"].as_u64()).sum();
    for mut receiver in receivers {
        if dropped > 0 && !receiver.ends_within(std::time::Duration::from_secs(1)) {
            receiver.signal("INT");
        }
        let Ended { out, log, .. } = receiver.end();
        let ledger = serde_json::from_str::<serde_json::Value>(&out).unwrap()["tests"][0]["ledger"].clone();
        let received = ledger["received"].as_u64().unwrap() + ledger["dropped"]["no_room"].as_u64().unwrap_or(0);
        assert_eq!(received, FRAMES, "{ledger} {log}");
    }
    let document = end(adapter);
    for vi in [1, 3] {
        assert_eq!((&row(&document, vi)["out"], &row(&document, vi)["stayed"]), (&FRAMES.into(), &FRAMES.into()));
    }
}

/// A filter that drops, one that sends elsewhere, one that copies, one that no frame matches; each counts what it matched.
#[test]
fn filters_drop_redirect_and_mirror_and_count_their_hits() {
    let mut rig = Rig::over_cable();
    for vi in 1..=3 {
        rig.does(&format!("vi add -i PORT {vi} mac=02:00:00:00:77:0{vi}"));
    }
    rig.does("filter add -i PORT src-mac 02:00:00:00:88:01 vlan 66 action -1");
    let adapter = rig.up("");
    let [mut one, mut two, mut three] = [1, 2, 3].map(|vi| rig.at(vi));
    rig.seats(3);
    rig.does("filter add -i PORT dst-mac 02:00:00:00:77:01 vlan 5 vf 2");
    rig.does("filter add -i PORT proto 0x88b5 vlan 6 mirror 3");
    rig.does("filter add -i PORT flow-type udp4 dst-ip 10.0.0.0/8 dst-port 9 action 1 loc 40");
    for (number, tag) in [(1, Some(66)), (2, Some(5)), (3, Some(6)), (4, None)] {
        rig.far.send(&frame(mac(1), OUTSIDE, tag, number));
    }
    gets(
        &mut one,
        &[frame(mac(1), OUTSIDE, Some(6), 3), frame(mac(1), OUTSIDE, None, 4)],
        "vi1: not 1, which is dropped",
    );
    gets(&mut two, &[frame(mac(1), OUTSIDE, Some(5), 2)], "vi2: another's frame");
    gets(&mut three, &[frame(mac(1), OUTSIDE, Some(6), 3)], "vi3: a copy");
    // Between interfaces too.
    two.send(&frame(mac(1), mac(2), Some(6), 5));
    gets(&mut one, &[frame(mac(1), mac(2), Some(6), 5)], "vi1");
    gets(&mut three, &[frame(mac(1), mac(2), Some(6), 5)], "vi3: a copy");
    let list = rig.does("filter list -i PORT --json");
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let hits: Vec<_> = list["filters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["loc"].clone(), row["frames"].clone(), row["bytes"].clone()))
        .collect();
    let of = |loc: u64, frames: u64| (loc.into(), frames.into(), (64 * frames).into());
    assert_eq!(hits, [of(0, 1), of(1, 1), of(2, 2), of(40, 0)], "{list}");
    // Without it, what was dropped arrives.
    rig.does("filter del -i PORT 0");
    let until = Instant::now() + LIMIT;
    while rig.does("filter list -i PORT").contains("loc 0") {
        assert!(Instant::now() < until);
    }
    rig.far.send(&frame(mac(1), OUTSIDE, Some(66), 7));
    gets(&mut one, &[frame(mac(1), OUTSIDE, Some(66), 7)], "vi1");
    let document = end(adapter);
    assert_eq!(document["uplink"]["filtered"], 1, "{document}");
    let saved = rig.does("filter list -i PORT");
    assert!(
        !saved.contains("action -1") && saved.contains("loc 40 flow-type udp4 dst-ip 10.0.0.0/8 dst-port 9 action 1"),
        "{saved}"
    );
}

/// Changes reach the adapter that runs, and the next one.
#[test]
fn interfaces_are_added_changed_and_removed_while_the_adapter_runs() {
    let mut rig = Rig::over_cable();
    let adapter = rig.up("--vis 1");
    rig.does("vi add -i PORT 7 mac=02:00:00:00:77:07 cap=1G");
    let mut seven = rig.at(7);
    rig.seats(1);
    rig.far.send(&frame(mac(7), OUTSIDE, None, 1));
    gets(&mut seven, &[frame(mac(7), OUTSIDE, None, 1)], "vi7");
    rig.does("vi set -i PORT 7 cap=0 share=9 -tso vlan=5");
    seven.send(&frame(OUTSIDE, mac(7), None, 2));
    gets(&mut rig.far, &[frame(OUTSIDE, mac(7), Some(5), 2)], "in its VLAN");
    let list = rig.does("vi list -i PORT");
    let line = list.lines().find(|line| line.starts_with("vi7")).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words[..7], ["vi7", "02:00:00:00:77:07", "5", "1500", "1", "-", "9"], "{list}");
    assert!(!line.contains("TSO4") && line.contains("TSO6"), "{line}");
    rig.does("vi del -i PORT 7");
    let until = Instant::now() + LIMIT;
    while seven.rx.link() == Link::Up {
        assert!(Instant::now() < until, "the link of a removed interface stays up");
        std::thread::yield_now();
    }
    let line = linerate_port::open(&format!("{}/vi7", rig.port)).err().unwrap().to_string();
    assert!(line.contains("has no virtual interface 7; add it: linerate nic vi add"), "{line}");
    rig.does("vi add -i PORT 9 vlan=t7 cap=5M");
    end(adapter);
    let line = linerate_port::open(&format!("{}/vi9", rig.port)).err().unwrap().to_string();
    assert!(line.contains("start: linerate nic up -i 'cable:"), "{line}");
    assert!(rig.does("vi list -i PORT").contains("vi9        saved: vlan=t7 cap=5M"));
    let adapter = rig.up("");
    let listed: serde_json::Value = serde_json::from_str(&rig.does("vi list -i PORT --json")).unwrap();
    assert_eq!((&row(&listed, 9)["vlan"], &row(&listed, 9)["cap"]), (&"t7".into(), &5_000_000.into()));
    end(adapter);
}

/// A program that dies in the midst of sending leaves its place to the next one, and nothing unexplained; an adapter that
/// dies is replaced, and programs go on.
#[test]
fn programs_and_adapters_that_die_are_replaced() {
    let mut rig = Rig::over_cable();
    rig.does("vi add -i PORT 1 mac=02:00:00:00:77:01");
    let adapter = rig.up("");
    let mut flood = rig.pkt_gen(1, "-f tx -w 0");
    flood.until("pps");
    flood.kill();
    // What it had sent has to leave first.
    let until = Instant::now() + LIMIT;
    let mut one = loop {
        rig.far.rx.sync();
        let n = rig.far.rx.ring.available();
        rig.far.rx.ring.batch(n).release(n);
        match linerate_port::open(&format!("{}/vi1", rig.port)) {
            Ok(port) => break Endpoint::new(port),
            Err(e) => assert!(Instant::now() < until, "{e}"),
        }
    };
    one.send(&frame(OUTSIDE, mac(1), None, 1));
    gets(&mut rig.far, &[frame(OUTSIDE, mac(1), None, 1)], "from the next program");
    adapter.kill();
    let adapter = rig.up("");
    while one.rx.link() == Link::Down || rig.far.rx.link() == Link::Down {
        assert!(Instant::now() < until, "the program does not find the next adapter");
        one.rx.sync();
        one.tx.sync();
        rig.far.rx.sync();
        rig.far.tx.sync();
        std::thread::yield_now();
    }
    // Until the adapter has learned of its link, too, it drops what it is given.
    let (sent, mut came) = (frame(OUTSIDE, mac(1), None, 2), None);
    crate::process::until("a frame comes through the next adapter", || {
        one.send(&sent);
        came = rig.far.came();
        came.is_some()
    });
    is(&came.unwrap(), &sent, "through the next adapter");
    end(adapter);
}

#[test]
fn wrong_usage_is_one_line_and_exit_code_2() {
    let mut rig = Rig::over_cable();
    rig.does("vi add -i PORT 1");
    rig.does("filter add -i PORT action -1");
    let adapter = rig.up("");
    for (arguments, says) in [
        ("up -i pcap:/tmp/none", "no PORT/viN can be written behind it"),
        ("up -i null: --vis 129", "--vis 129"),
        ("up -i null: --class-weights 0", "--class-weights 0"),
        ("vi add -i PORT 1", "is there already"),
        ("vi add -i PORT 128", "128"),
        ("vi add -i PORT 2 mac=02", "mac=02"),
        ("vi add -i PORT 2 vlan=0", "vlan=0 is no list of VLANs"),
        ("vi set -i PORT 1 cap=fast", "cap=fast will not do"),
        ("vi set -i PORT 1 sahre=2", "did you mean share?"),
        ("vi set -i PORT 1", "WORD is missing"),
        ("vi set -i PORT 5 cap=1G", "there is no virtual interface 5; there are 1"),
        ("vi del -i PORT 5", "no virtual interface 5"),
        ("filter add -i PORT dst-port 5", "it does not say what to do"),
        ("filter add -i PORT dst-prot 5 action 1", "did you mean dst-port?"),
        ("filter add -i PORT vf 200", "there is no interface 200"),
        ("filter add -i PORT flow-type tcp4 proto 0x806 dst-port 1 action 1", "filter"),
        ("filter del -i PORT 7", "no rule at location 7"),
    ] {
        let (code, out, error) = rig.nic(arguments);
        assert_eq!((code, out.as_str(), error.lines().count()), (Some(2), "", 1), "{arguments}: {error}");
        assert!(error.contains(says), "{arguments}: {error}");
    }
    let (code, _, error) = rig.nic("up -i PORT");
    assert!(code == Some(1) && error.contains("runs already") && error.lines().count() == 1, "{error}");
    let (code, _, error) = rig.nic("vi list -i wire:x");
    assert!(code == Some(2) && error.contains("wire"), "{error}");
    end(adapter);
}
