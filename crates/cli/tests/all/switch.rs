//! Tests of `linerate switch` and two pkt-gens on it, as processes.

use crate::process::{BINARY, Ended, Process, until};
use std::process::Command;

fn linerate(arguments: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments.split_whitespace());
    command
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn wrong_usage_is_one_line_and_exit_code_2() {
    for (arguments, contains) in [
        ("switch", "SW is missing"),
        ("switch a/b", "no name"),
        ("switch x --mirror a", "--mirror a"),
        ("switch x --mirror a:a", "two ports"),
        ("switch x --mirror a:b:up", "a:b:up"),
        ("switch x --attach wire:y", "wire"),
        ("switch x --attach pcap:f:vlan=0", "--attach pcap:f:vlan=0: vlan=0 is no list of VLANs"),
        ("switch x --host t:pause=256", "pause=256 is no mask of 8 priorities; give 0 to 255"),
        ("switch x --ports a,b:pause=", "--ports b:pause=: pause= is no mask"),
        ("switch x --ports a:vlan=1:vlan=2", "said twice"),
        ("switch x --ports a:puase=1", "'a:puase=1' is no name of a port"),
        ("switch x --ports a,b:pause=1,a", "two ports 'a'"),
        ("switch x --mac-hold 301", "--mac-hold"),
        ("switch x --buffers 1K", "give a size from 64K to 16G"),
        ("switch x --buffers 1M:alpha=3", "alpha=3: give a power of two"),
        ("switch x --ets prio-tc 3:1", "--buffers"),
        ("switch x --pfc prio 3", "--buffers"),
        ("switch x --buffers 1M --pfc prio 8", "--pfc: 8:on: give a number"),
        ("switch x --buffers 1M --pfc prio 3 --pfc-watchdog 5", "give 10 to 60000 milliseconds"),
        ("switch x --buffers 1M --pfc-watchdog 200", "--pfc"),
        ("switch x --ecn 10K:20K", "--buffers"),
        ("switch x --buffers 1M --ecn 20K:10K", "as 100K:400K:10"),
        ("switch x --qcn prio 3", "--buffers"),
        ("switch x --buffers 1M --qcn prio 8", "--qcn: 8:on: give a number"),
        ("switch x --buffers 1M --qcn prio 3:setpoint=9", "--qcn: 3:setpoint=9: give setpoint=1000 to 1G"),
        ("switch x --buffers 1M --ets tc-tsa 0:ets tc-bw 0:50", "sum to 50: they must sum to 100"),
        ("switch x --fdb-size 3", "--fdb-size 3: give a number from 4 to 262144"),
        ("switch x --attach no-such-interface0", "no-such-interface0"),
        ("switch x --seconds 0", "--seconds"),
        ("switch x --wait long", "--wait"),
        ("pkt-gen -i vale:no-such-switch:a -f tx", "start: linerate switch no-such-switch"),
    ] {
        let output = linerate(arguments).output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {log}");
        let last = log.lines().last().unwrap_or_default();
        assert!(output.stdout.is_empty() && last.contains(contains), "{arguments}: {log}");
    }
}

#[test]
fn the_table_has_room_for_as_many_addresses_as_was_asked_for_and_says_so() {
    for (options, size) in [("", 8192), ("--fdb-size 4", 4), ("--fdb-size 20000", 32768)] {
        let name = format!("fdb{size}-{}", std::process::id());
        let switch = Process::ready(linerate(&format!("switch {name} {options}")), "attach to it as vale:");
        let run = linerate(&format!("pkt-gen -i vale:{name}:a -f tx -n 100 -S 02:00:00:00:00:07"));
        let Ended { code, log, .. } = Process::start(run).end();
        assert_eq!(code, Some(0), "{log}");
        let shown = |more: &str| {
            let shown = linerate(&format!("switch show {name} {more}")).output().unwrap();
            String::from_utf8(shown.stdout).unwrap()
        };
        until("the address is learned", || json(&shown("--json"))["table"]["learned"] == 1);
        assert_eq!(json(&shown("--json"))["table"]["size"], size, "{}", shown("--json"));
        assert!(shown("").contains(&format!("known of {size} at most")), "{}", shown(""));
        switch.signal("INT");
        let ended = switch.end();
        assert!(ended.out.contains(&format!("known of {size} at most")), "{}", ended.said());
    }
}

/// A receiver that is slower than its sender, whose priority is lossless whatever port it is for.
#[test]
fn frames_wait_in_queues_where_there_are_buffers() {
    let name = format!("queues-{}", std::process::id());
    let options = "--json --buffers 64K --ets prio-tc 3:1 tc-tsa 0:ets 1:ets tc-bw 0:40 1:60 --pfc prio 0";
    let switch = Process::ready(linerate(&format!("switch {name} {options}")), "attach to it as vale:");
    let shown = |more: &str| {
        let shown = linerate(&format!("switch show {name} {more}")).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    };
    let rx = Process::start(linerate(&format!("pkt-gen -i vale:{name}:b -f rx -n 200000")));
    until("the receiver is there", || shown("").contains("\nb "));
    let Ended { code, log, .. } = Process::start(linerate(&format!("pkt-gen -i vale:{name}:a -f tx -n 200000"))).end();
    assert_eq!(code, Some(0), "{log}");
    let Ended { code, log, .. } = rx.end();
    assert_eq!(code, Some(0), "{log}");
    let gone = |port: &serde_json::Value| port["gone"] == true;
    until("both are gone", || json(&shown("--json"))["ports"].as_array().unwrap().iter().all(gone));
    switch.signal("INT");
    let Ended { code, out, log } = switch.end();
    assert_eq!(code, Some(130), "{log}");
    let document = json(&out);
    for (key, n) in [("received", 200_000), ("sent", 200_000), ("waiting", 0), ("unexplained", 0)] {
        assert_eq!(document["ledger"][key], n, "{out}");
    }
    let b = document["ports"].as_array().unwrap().iter().find(|port| port["name"] == "b").unwrap();
    assert_eq!(b["classes"].as_array().unwrap().len(), 8, "{b}");
}

/// A receiver that is stopped altogether stops its sender until the watchdog finds it.
#[test]
fn a_receiver_that_has_stopped_is_a_storm_and_goes_again() {
    let name = format!("storm-{}", std::process::id());
    let options = "--json --buffers 64K --pfc prio 0 --pfc-watchdog 100:restore=50";
    let switch = Process::ready(linerate(&format!("switch {name} {options}")), "attach to it as vale:");
    let shown = |more: &str| {
        let shown = linerate(&format!("switch show {name} {more}")).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    };
    let storms = || json(&shown("--json"))["storms"].clone();
    let rx = Process::ready(linerate(&format!("pkt-gen -i vale:{name}:b -f rx")), "threads and");
    let tx = Process::ready(linerate(&format!("pkt-gen -i vale:{name}:a -f tx -R 50000")), "threads and");
    let came = || json(&shown("--json"))["ports"].as_array().unwrap().iter().any(|port| port["sent"] != 0);
    until("frames come", came);
    assert_eq!(storms(), serde_json::json!([]));
    rx.signal("STOP");
    until("there is a storm", || storms()[0]["port"] == "b");
    assert!(shown("").contains("storm at  class  prio"), "{}", shown(""));
    rx.signal("CONT");
    until("it is over", || storms() == serde_json::json!([]));
    for process in [tx, rx] {
        process.signal("INT");
        process.end();
    }
    switch.signal("INT");
    let Ended { code, out, log } = switch.end();
    assert_eq!(code, Some(130), "{log}");
    let document = json(&out);
    let b = document["ports"].as_array().unwrap().iter().find(|port| port["name"] == "b").unwrap();
    let class = &b["classes"][0];
    assert!(class["storms"].as_u64() >= Some(1) && class["dropped"]["storm"].as_u64() >= Some(1), "{b}");
    assert_eq!(document["ledger"]["unexplained"], 0, "{out}");
}

/// Two programs send from one address: it stays at the first one's port, or moves with every frame.
#[test]
fn an_address_is_held_where_guests_are_named_and_moves_where_they_are_not() {
    for (n, (options, holds)) in
        [("--ports a,b", true), ("--ports a,b --mac-hold 0", false), ("", false), ("--mac-hold 9", true)]
            .iter()
            .enumerate()
    {
        let name = format!("hold{n}-{}", std::process::id());
        let switch = Process::ready(linerate(&format!("switch {name} --json {options}")), "attach to it as vale:");
        let runs = |port: &str, more: &str| {
            linerate(&format!("pkt-gen -i vale:{name}:{port} -f tx -S 02:00:00:00:00:07 -D ff:ff:ff:ff:ff:ff {more}"))
        };
        let first = Process::start(runs("a", "-R 1000"));
        until("the address is learned", || {
            let shown = linerate(&format!("switch show {name} --json")).output().unwrap();
            json(&String::from_utf8(shown.stdout).unwrap())["addresses"][0]["port"] == "a"
        });
        let Ended { code, log, .. } = Process::start(runs("b", "-n 10")).end();
        assert_eq!(code, Some(0), "{log}");
        first.signal("INT");
        first.end();
        switch.signal("INT");
        let Ended { code, out, .. } = switch.end();
        assert_eq!(code, Some(130), "{out}");
        let document = json(&out);
        let held =
            document["ports"].as_array().unwrap().iter().find(|port| port["name"] == "b").unwrap()["held"].as_u64();
        let moved = document["table"]["moved"].as_u64().unwrap();
        assert_eq!((moved == 0, held), (*holds, Some(if *holds { 10 } else { 0 })), "{options}: {document}");
    }
}

#[test]
fn two_pkt_gens_meet_on_a_switch_and_the_ledgers_agree() {
    const FRAMES: u64 = 200_000;
    let name = format!("cli-{}", std::process::id());
    let runs = format!("switch {name} --json --ports a,b:pause=255,m --mirror a:m:in");
    let switch = Process::ready(linerate(&runs), "attach to it as vale:");
    let receiver = |port: &str| {
        let runs = format!("pkt-gen -i vale:{name}:{port} -f rx -n {FRAMES} --json");
        Process::ready(linerate(&runs), "threads and")
    };
    let (rx, watcher) = (receiver("b"), receiver("m"));
    let tx = Process::start(linerate(&format!("pkt-gen -i vale:{name}:a -f tx -n {FRAMES} --json")));
    let Ended { code, out, .. } = tx.end();
    assert_eq!(code, Some(0), "{out}");
    let sent = &json(&out)["tests"][0]["ledger"];
    assert_eq!((&sent["sent"], &sent["unexplained"]["sending"]), (&FRAMES.into(), &0.into()));
    let Ended { code, out, .. } = rx.end();
    assert_eq!(code, Some(0), "{out}");
    assert_eq!(json(&out)["tests"][0]["ledger"]["received"], FRAMES, "nothing is lost where senders wait");
    watcher.signal("INT");
    let out = watcher.end().out;
    let watched = json(&out)["tests"][0]["ledger"].clone();
    switch.signal("INT");
    let Ended { code, out, .. } = switch.end();
    assert_eq!(code, Some(130), "{out}");
    let document = json(&out);
    let ledger = &document["ledger"];
    assert_eq!((&ledger["unexplained"], &ledger["received"]), (&0.into(), &FRAMES.into()), "{document}");
    assert_eq!(ledger["copies"], 2 * FRAMES, "one for b, one for its watcher");
    let port = |name: &str| document["ports"].as_array().unwrap().iter().find(|port| port["name"] == name).unwrap();
    assert_eq!((&port("a")["received"], &port("b")["sent"]), (&FRAMES.into(), &FRAMES.into()));
    let dropped = port("m")["dropped"]["no_room"].as_u64().unwrap_or(0);
    assert_eq!(watched["received"].as_u64().unwrap() + dropped, FRAMES, "the watcher's drops are counted");
    assert_eq!(watched["dropped"]["no_room"].as_u64().unwrap_or(0), dropped, "and it knows of them: {watched}");
}
