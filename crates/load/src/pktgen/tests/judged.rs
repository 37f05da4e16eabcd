//! Tests of outcomes: a run that must not pass does not, and gives the reason.

use super::*;
use linerate_port::capture::{Record, Writer};
use linerate_result::{Outcome, Role, RunResult};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

/// Fate of a frame in transit, by its number: the frames that are passed on instead.
type Passage = fn(u64, Vec<u8>) -> Vec<Vec<u8>>;

fn honest(_: u64, frame: Vec<u8>) -> Vec<Vec<u8>> {
    vec![frame]
}

/// Sends from one port to another past a relay that no counter sees. `faults`: an option of the sender's port.
fn past(way: Passage, faults: &str, text: &str) -> (String, RunResult) {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { dir.path().join(name) };
    let (from, to) = (UnixDatagram::bind(at("from")).unwrap(), UnixDatagram::bind(at("to")).unwrap());
    from.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let name = |near: &str, far: &str| format!("unix:{}:{}", at(near).display(), at(far).display());
    let (over, receiver) = (Arc::new(std::sync::atomic::AtomicBool::new(false)), at("rx"));
    let relay = {
        let over = over.clone();
        std::thread::spawn(move || {
            let (mut frame, mut number) = ([0; 4096], 0);
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let Ok(n) = from.recv(&mut frame) else { continue };
                for frame in way(number, frame[..n].to_vec()) {
                    // A receiver that ended too early shows in the ledger.
                    let _ = to.send_to(&frame, &receiver);
                }
                number += 1;
            }
        })
    };
    let lines = (Lines::default(), Lines::default());
    let stop = Stop::new().unwrap();
    let output = Arc::new(Output::new(Box::new(lines.0.clone()), Box::new(lines.1.clone()), false, &stop));
    let command = format!("-i {}{faults} --to {} {text}", name("tx", "from"), name("rx", "to"));
    let finished = run(config(&command).unwrap(), vec![], &stop, &output).unwrap();
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    relay.join().unwrap();
    (lines.0.text() + &lines.1.text(), finished.result)
}

fn failed(result: &RunResult, why: &str) {
    assert_eq!(result.outcome, Outcome::Failed, "{why}: {:?}", result.tests[0].ledger);
    assert!(result.reasons.iter().any(|reason| reason.contains(why)), "{why}: {:?}", result.reasons);
}

#[test]
fn a_result_says_what_was_run_and_on_what() {
    let (_, result) = past(honest, "", "-f tx -n 1000 -l 100 -b 64 -R 500000 -w 0");
    let [test] = &result.tests[..] else { panic!("one test: {result:?}") };
    let text = (test.id.as_str(), test.workload.as_str(), test.title.starts_with("pkt-gen -f tx: "));
    assert_eq!(text, ("pkt-gen-tx", "tx", true), "{}", test.title);
    let ports: Vec<_> = test
        .ports
        .iter()
        .map(|port| (port.name.starts_with("unix:"), port.path.is_empty(), port.mtu, port.role))
        .collect();
    assert_eq!(ports, [(true, false, Some(1500), Role::Tx), (true, false, Some(1500), Role::Rx)]);
    assert_eq!((test.frame_bytes, test.wire_bytes), (Some(100), Some(104)));
    let parameters: Vec<_> = test.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(parameters, ["burst=64", "count=1000", "rate=500000", "sizes=100", "threads=1", "wait=adaptive"]);
    let [repeat] = &test.repeats[..] else { panic!("one repeat: {test:?}") };
    assert!(repeat.valid && repeat.why_invalid.is_none() && repeat.seconds.known().is_some());
    let ledger = test.ledger.as_ref().unwrap();
    assert_eq!((ledger.sent, ledger.received), (Some(1000), Some(1000)));
    let counted = |port: usize, name: &str| test.counters.get(Some(&test.ports[port].name), name);
    assert!(counted(0, "tx0.batches") > Some(0) && counted(1, "rx0.batches") > Some(0), "{:?}", test.counters);
    assert_eq!((counted(0, "rx0.batches"), test.counters.get(None, "check.lost")), (None, Some(0)));
    assert!(!test.cpu.is_empty());
}

#[test]
fn a_frame_taken_away_behind_the_counters_fails_the_run() {
    let (said, result) = past(honest, "", "-f tx -n 1000");
    assert_eq!(result.outcome, Outcome::Pass, "{said}");
    let (said, result) = past(|k, frame| if k == 500 { vec![] } else { vec![frame] }, "", "-f tx -n 1000");
    failed(&result, "1 frames are unexplained (0 of those offered, 1 of those sent)");
    assert!(said.contains("failed: 1 frames are unexplained") && said.contains(", unexplained 1."), "{said}");
}

#[test]
fn frames_that_come_again_are_a_finding() {
    let doubled: Passage = |k, frame| if k % 5 == 0 { vec![frame.clone(), frame] } else { vec![frame] };
    let (_, result) = past(doubled, "", "-f tx -n 1000");
    failed(&result, "200 frames are unexplained (0 of those offered, 0 of those sent, 200 that nobody sent)");
    // A surplus does not offset a loss.
    let both: Passage = |k, frame| match k {
        1 => vec![frame.clone(), frame],
        2 => vec![],
        _ => vec![frame],
    };
    failed(
        &past(both, "", "-f tx -n 10").1,
        "2 frames are unexplained (0 of those offered, 1 of those sent, 1 that nobody sent)",
    );
    // A receiver of another process's frames sees it too.
    let mut frames = frames("-n 20");
    frames.extend_from_within(3..7);
    let left = run_with("", "-f rx -n 24", &frames).unwrap();
    failed(&left.result, "4 frames arrived again");
    let numbered = run_with("", "-f txseq -n 20", &[]).unwrap().whole();
    let left = run_with("", "-f rxseq -n 40", &[&numbered[..], &numbered[..]].concat()).unwrap();
    failed(&left.result, "20 frames arrived again");
}

#[test]
fn faults_put_in_on_purpose_are_matched_by_number_and_pass() {
    for (kind, text) in
        [("drop", ""), ("dup", ""), ("corrupt", ""), ("corrupt", "-6 -l 100 -z"), ("dup", "--latency -l 80")]
    {
        let (said, result) = past(honest, &format!(",faults={kind}:0.1/seed:7"), &format!("-f tx -n 2000 {text}"));
        let test = &result.tests[0];
        assert_eq!(result.outcome, Outcome::Pass, "{kind}: {said}");
        let [put_in, found] =
            ["put_in", "found"].map(|what| test.counters.total(&format!("check.{kind}.{what}")).unwrap());
        assert!(put_in == found && (150..250).contains(&put_in), "{kind}: {found} of {put_in}");
    }
    let (said, result) = past(honest, ",faults=drop:0.1/dup:0.1/corrupt:0.1/reorder:0.1/seed:7", "-f tx -n 2000");
    assert_eq!(result.outcome, Outcome::Pass, "{said}");
    let (said, result) = past(honest, ",faults=dup:0.1", "-f txseq -n 500");
    assert_eq!(result.outcome, Outcome::Pass, "{said}");
}

#[test]
fn what_others_do_beside_the_faults_put_in_is_a_finding() {
    let steals: Passage = |k, frame| if k == 500 { vec![] } else { vec![frame] };
    for faults in ["drop:0.1", "dup:0.1", "corrupt:0.1"] {
        let (_, result) = past(steals, &format!(",faults={faults}/seed:7"), "-f tx -n 1000");
        failed(&result, "1 frames are unexplained (0 of those offered, 1 of those sent)");
    }
    let doubles: Passage = |k, frame| if k < 200 { vec![frame.clone(), frame] } else { vec![frame] };
    // The port had doubled some of the 200 frames that the relay doubled.
    let (_, result) = past(doubles, ",faults=dup:0.1/seed:7", "-f tx -n 1000");
    failed(&result, "that nobody sent");
    let (_, result) = past(
        |k, mut frame| {
            frame[50] ^= u8::from(k == 400);
            vec![frame]
        },
        ",faults=drop:0.1/seed:7",
        "-f tx -n 1000",
    );
    failed(&result, "1 frames arrived with other bytes");
    // The relay turns the flipped bit back.
    let (_, result) = past(
        |_, mut frame| {
            if frame.len() == 60 && frame[12..14] != [8, 0] {
                frame[12..14].copy_from_slice(&[8, 0]);
            }
            vec![frame]
        },
        ",faults=corrupt:0.5/seed:7",
        "-f tx -n 2000",
    );
    failed(&result, "that were damaged on purpose arrived whole");
}

#[test]
fn a_run_in_which_nothing_moved_is_no_pass_and_says_who_is_missing() {
    let name = format!("judged{}", std::process::id());
    let alone = |text: &str| {
        let lines = (Lines::default(), Lines::default());
        let stop = Stop::new().unwrap();
        let output = Arc::new(Output::new(Box::new(lines.0.clone()), Box::new(lines.1.clone()), false, &stop));
        let config = config(&format!("-i cable:{name}{{1,slots=256 {text}")).unwrap();
        (run(config, vec![], &stop, &output).unwrap().result, lines.1.text())
    };
    for (text, why) in [
        ("-f tx -n 100 --seconds 0.4", "nothing was sent: all frames were refused (left_in_ring 100)"),
        ("-f rx --seconds 0.4", "nothing was received"),
        ("-f pong --seconds 0.4", "nothing came that could be sent back"),
    ] {
        let (result, log) = alone(text);
        failed(&result, why);
        failed(&result, &format!("nobody is at the far end; open cable:{name}}}1 there"));
        let at = |words: &str| log.find(words).unwrap_or_else(|| panic!("{words}: {log}"));
        assert!(at("nobody is at the far end") < at("failed: "), "early: {log}");
    }
    failed(&run_with("", "-f ping -n 1", &[]).unwrap().result, "none of 1 pings was answered");
    // Regression: frames that no port was there to take were dropped of those sent, which they were not, and unexplained.
    let dir = tempfile::tempdir().unwrap();
    let [here, there] = ["a", "b"].map(|name| dir.path().join(name).display().to_string());
    let (out, _, result) = modes::run_named(&[&format!("unix:{here}:{there}")], "-f tx -n 100");
    failed(&result, "nothing was sent: all frames were refused (no_receiver 100)");
    assert!(out.contains("sent 0 + refused 100 (no_receiver 100); ") && out.contains(" unexplained 0."), "{out}");
    assert!(!tx("").log.contains("nobody is at the far end"));
}

#[test]
fn frames_that_could_not_be_checked_are_no_pass() {
    let left = run_with("", "-f rx -n 20", &frames("-6 -l 60")).unwrap();
    assert_eq!(left.result.outcome, Outcome::Partial);
    assert!(
        left.result.reasons[0].contains("nothing could be checked: none of 20 frames"),
        "{:?}",
        left.result.reasons
    );
    for line in ["received 0 (and 20 foreign), dropped 0", "Checked: 0 of 20 frames, 0 of this run"] {
        assert!(left.out.contains(line), "{}", left.out);
    }
    assert!(tx("-6 -l 60").log.contains("frames of 60 bytes have no room for a mark"));
    assert!(!tx("-6 -l 80").log.contains("no room for a mark"));
    assert_eq!(run_with("", "-f rx -n 20", &frames("-6 -l 80")).unwrap().result.outcome, Outcome::Pass);
}

/// A capture of frames of these lengths, each captured to at most 100 bytes.
fn capture(lengths: &[usize]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("some.pcap");
    let mut writer = Writer::create(&path).unwrap();
    for len in lengths {
        let (data, orig_len) = (vec![7; *len], (*len).try_into().unwrap());
        writer
            .write(&Record { time_ns: 1, orig_len, data: &data[..if *len > 1600 { *len } else { (*len).min(100) }] })
            .unwrap();
    }
    writer.flush().unwrap();
    (dir, path)
}

#[test]
fn a_capture_that_is_cut_or_was_cut_is_said_to_be_by_pcap_as_by_the_port() {
    let (_dir, path) = capture(&[60, 80, 90, 200]);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    let shown = path.display();
    let left = run_with("", &format!("-f tx --pcap {shown} --speed 0"), &[]).unwrap();
    let ledger = left.result.tests[0].ledger.clone().unwrap();
    assert_eq!((ledger.offered, ledger.sent, ledger.refused["bad_record"]), (Some(4), Some(3), 1), "{ledger:?}");
    assert!(ledger.settle().frames() == Some(0) && left.result.outcome == Outcome::Partial, "{}", left.out);
    assert!(
        left.result.reasons[0].starts_with("1 records of the capture are damaged, cut off"),
        "{:?}",
        left.result.reasons
    );
    // With the same result as from the port.
    let (_, _, result) = modes::run_named(&[&format!("pcap:{shown}")], "-f rx");
    assert_eq!((result.outcome, result.tests[0].ledger.as_ref().unwrap().dropped["bad_record"]), (Outcome::Partial, 1));
    // Truncated when it was captured: sent truncated, and reported.
    std::fs::write(&path, &whole).unwrap();
    let left = run_with("", &format!("-f tx --pcap {shown} --speed 0"), &[]).unwrap();
    assert_eq!(
        (left.result.outcome, left.result.tests[0].counters.total("capture_truncated").unwrap()),
        (Outcome::Pass, 1)
    );
    assert!(left.log.contains("note: 1 frames were captured shorter than they were"), "{}", left.log);
}

/// Makes a block of pcapng in this host's byte order.
fn ng(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(12 + body.len()).unwrap().to_ne_bytes();
    [&kind.to_ne_bytes(), &len, body, &len].concat()
}

#[test]
fn frames_of_other_link_types_are_skipped_and_said_or_an_interface_is_chosen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mixed,if.pcapng");
    let words = |list: &[u32]| list.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    let interface = |link: u16| ng(1, &[&link.to_ne_bytes()[..], &[0; 6]].concat());
    let packet = |on: u32, len: u32| ng(6, &[words(&[on, 0, 1, len, len]), vec![7; len as usize]].concat());
    let section = ng(0x0a0d_0d0a, &[words(&[0x1a2b_3c4d]), vec![1, 0, 0, 0], vec![0xff; 8]].concat());
    let file = [section, interface(113), interface(1), interface(1), packet(0, 60), packet(1, 64), packet(2, 68)];
    std::fs::write(&path, file.concat()).unwrap();
    for (chosen, sent, skipped) in [("", 2, 1), (",if=2", 1, 2)] {
        let left = run_with("", &format!("-f tx --pcap {}{chosen} --speed 0", path.display()), &[]).unwrap();
        assert_eq!((left.frames.len(), left.result.outcome), (sent, Outcome::Pass), "{}", left.log);
        assert_eq!(left.result.tests[0].counters.total("capture_other_interfaces").unwrap(), skipped);
        let said = format!("note: {skipped} frames of the capture are of other interfaces or link types");
        assert!(left.log.contains(&said), "{}", left.log);
    }
    for (chosen, why) in [(",if=0", "link type 113"), (",if=7", "has no interface 7"), (",if=x", "if=x")] {
        let line = run_with("", &format!("-f tx --pcap {}{chosen}", path.display()), &[]).err().expect(chosen);
        assert!(line.contains(why) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn frames_refused_as_too_long_are_no_pass() {
    let (_dir, path) = capture(&[1700, 1701]);
    let left = run_with("", &format!("-f tx --pcap {} --speed 0", path.display()), &[]).unwrap();
    failed(&left.result, "nothing was sent: all frames were refused (too_long 2)");
    let (_dir, path) = capture(&[60, 1700]);
    let left = run_with("", &format!("-f tx --pcap {} --speed 0", path.display()), &[]).unwrap();
    assert_eq!(left.result.outcome, Outcome::Partial);
    assert!(left.result.reasons[0].contains("1 captured frames are longer than the port carries"));
}

#[test]
fn a_stream_over_several_queues_is_put_together_before_it_is_judged() {
    for (threads, frames) in
        [("-p 3", frames("-n 300")), ("", frames("-n 300")), ("-p 3", frames("-n 300 --imix 60:1,90:1"))]
    {
        let left = run_with(",queues=3", &format!("-f rx -n 300 {threads}"), &frames).unwrap();
        assert!(left.out.contains("300 of this run, 0 corrupt, 0 lost, 0 duplicates"), "{threads}: {}", left.out);
        assert_eq!(left.result.outcome, Outcome::Pass, "{threads}: {}", left.out);
    }
    let mut some = frames("-n 300");
    some.remove(150);
    some.insert(200, some[100].clone());
    let left = run_with(",queues=3", "-f rx -n 300 -p 3", &some).unwrap();
    assert!(left.out.contains("299 of this run, 0 corrupt, 1 lost, 1 duplicates"), "{}", left.out);
    failed(&left.result, "1 frames arrived again");
    let numbered = run_with("", "-f txseq -n 300", &[]).unwrap().whole();
    let left = run_with(",queues=3", "-f rxseq -n 300 -p 3", &numbered).unwrap();
    assert!(left.out.contains("300 of this run, 0 corrupt, 0 lost, 0 duplicates"), "{}", left.out);
    assert!(!left.log.contains("Sequence GAP"), "what is missing in one queue came by another: {}", left.log);
}

/// A run too short to be measured has no rate in the document, with the reason; others have one.
#[test]
fn a_rate_that_was_not_measured_is_null_and_says_why() {
    for text in ["-n 1", "-n 20 -R 1000"] {
        let Left { out, result, .. } = tx(text);
        let (test, unmeasured) = (&result.tests[0], out.contains("Speed: not measured: "));
        assert_eq!(test.value.is_none(), unmeasured, "{out}");
        assert_eq!(test.repeats[0].valid, !unmeasured);
        assert_eq!(test.repeats[0].why_invalid.is_some(), unmeasured);
    }
    // A time of 19 ms is long enough.
    assert!(tx("-n 20 -R 1000").result.tests[0].value.is_some());
}
