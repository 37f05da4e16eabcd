//! Tests of the functions: ping and pong, numbered frames, several queues, chains, every port in one process.

use super::*;
use crate::frame::{Mark, Stamp};
use linerate_result::Outcome;
use std::thread;

pub(super) fn run_named(names: &[&str], text: &str) -> (String, String, linerate_result::RunResult) {
    let (out, log) = (Lines::default(), Lines::default());
    let stop = Stop::new().unwrap();
    let output = Arc::new(Output::new(Box::new(out.clone()), Box::new(log.clone()), false, &stop));
    let to = names.get(1).map(|to| format!("--to {to}")).unwrap_or_default();
    let config = config(&format!("-i {} {to} {text}", names[0])).unwrap();
    let finished = run(config, vec!["pkt-gen".into()], &stop, &output).unwrap();
    (out.text(), log.text(), finished.result)
}

/// A sender and a checking receiver, with all variations: nothing is lost, nothing is unexplained.
#[test]
fn every_shape_of_stream_arrives_whole() {
    for (ports, text) in [
        ("", "-l 60"),
        ("", "-l 59"),
        ("", "-l 16"),
        ("", "-6 -l 80"),
        ("", "-6"),
        ("", "-l 1514 -l 60"),
        ("", "--imix"),
        ("", "-z -Z"),
        ("", "-6 -l 100 -z"),
        ("", "-s 10.0.0.1-10.0.0.200:1234-1300 -l 64"),
        ("", "-H 12 -l 1000"),
        ("", "-F 5 -l 777"),
        ("", "--latency -l 80 -F 3"),
        ("", "-o 8 -l 200"),
        (",mtu=9000,buf=2048", "-l 9000"),
        (",mtu=9000", "-l 9014 -l 60"),
        (",queues=3", "-p 3"),
        (",queues=3", "-l 70"),
        (",slots=64", "-b 1000"),
        (",rate=100M", "-l 1000 -n 300"),
        ("", "-R 200000"),
    ] {
        for wait in ["adaptive", "sleep"] {
            let left = format!("cable:shape{{1{ports}");
            let text = format!("-f tx -n 5000 {text} --wait {wait}");
            let (out, log, result) = run_named(&[&left, "cable:shape}1"], &text);
            let ledger = result.tests[0].ledger.clone().unwrap();
            assert_eq!(result.outcome, Outcome::Pass, "{ports} {text}: {out}{log}");
            assert!(ledger.settle().is_zero() && ledger.sent == ledger.received, "{text}: {out}");
            assert!(ledger.sent == Some(5000) || text.contains("-n 300"), "{text}: {out}");
        }
    }
}

#[test]
fn ping_hears_pong() {
    for text in ["-n 50", "-n 50 -b 5", "-n 20 -R 2000", "-n 20 -6 -l 80", "-n 20 -H 10"] {
        let mut ports = cable("");
        let (far, near) = (ports.pop().unwrap(), ports.pop().unwrap());
        let lines = (Lines::default(), Lines::default());
        let start = |port, text: String, lines: &(Lines, Lines)| {
            let stop = Stop::new().unwrap();
            let output = Arc::new(Output::new(Box::new(lines.0.clone()), Box::new(lines.1.clone()), false, &stop));
            let config = config(&text).unwrap();
            let asked = stop.clone();
            let job = move || run_on(config, Captures::default(), vec![port], vec![], &asked, &output).unwrap();
            (thread::spawn(job), stop)
        };
        let vnet = if text.contains("-H") { "-H 10" } else { "" };
        let (pong, stop) = start(far, format!("-i cable:t}}1 -f pong {vnet}"), &(Lines::default(), Lines::default()));
        let (ping, _) = start(near, format!("-i cable:t{{1 -f ping {text}"), &lines);
        let result = ping.join().unwrap().result;
        stop.ask(0);
        let echoed = pong.join().unwrap().result;
        let n = result.tests[0].ledger.as_ref().unwrap().sent.unwrap();
        assert_eq!(result.tests[0].counters.total("ping.echoes").unwrap(), n, "{text}: {}", lines.1.text());
        assert_eq!(result.tests[0].latency.as_ref().unwrap().count, n);
        assert_eq!(echoed.tests[0].ledger.as_ref().unwrap().sent, Some(n));
        assert!(result.outcome == Outcome::Pass && result.tests[0].counters.total("check.corrupt").unwrap() == 0);
        let log = lines.1.text();
        let rtt = log.lines().find(|l| l.contains("RTT over")).unwrap();
        assert!(rtt.contains(&format!("RTT over {n} packets: min ")) && !rtt.contains("-1"), "{rtt}");
    }
}

/// A tag is written last of its burst: the stamps of the frames around it are earlier, and they are written in order. With
/// `-b 1` each frame is tagged.
#[test]
fn a_tagged_frames_stamp_is_that_of_its_own_transmission() {
    for (burst, more, tags) in [(512, "", 1), (64, "", 2), (1, "", 100), (100, "-F 5", 1), (50, "-F 3 -M 61", 2)] {
        let text = format!("-f tx -n 100 --latency -l 80 -b {burst} {more}");
        let sent = run_with("", &text, &[]).unwrap().whole();
        let stamps: Vec<_> = sent.iter().map(|frame| Stamp::of(Mark::word_at(frame, 60).expect("whole"))).collect();
        assert_eq!(stamps.iter().filter(|stamp| stamp.tagged).count(), tags, "{text}");
        for burst in stamps.chunks(burst) {
            let (own, others): (Vec<_>, Vec<_>) = burst.iter().partition::<Vec<Stamp>, _>(|stamp| stamp.tagged);
            assert!(
                others.is_sorted_by_key(|other| other.ns) && others.iter().all(|other| other.ns <= own[0].ns),
                "{text}"
            );
        }
    }
}

/// A pong exchanges addresses and leaves the checksums right.
#[test]
fn pong_exchanges_addresses() {
    let sent = frames("-n 1 -S 02:00:00:00:00:01 -D 02:00:00:00:00:02 -s 1.1.1.1 -d 2.2.2.2");
    let left = run_with("", "-f pong -n 1", &sent).unwrap();
    let echo = &left.whole()[0];
    assert_eq!((&echo[..6], &echo[6..12]), (&sent[0][6..12], &sent[0][..6]));
    assert_eq!((&echo[26..30], &echo[30..34]), (&sent[0][30..34], &sent[0][26..30]));
    assert_eq!(echo[34..], sent[0][34..]);
    etherparse::PacketHeaders::from_ethernet_slice(echo).unwrap();
}

#[test]
fn txseq_numbers_and_rxseq_checks_the_order() {
    let mut sent = run_with("", "-f txseq -n 20", &[]).unwrap().whole();
    assert_eq!(sent.len(), 20, "no more than asked for");
    for (k, frame) in sent.iter().enumerate() {
        assert_eq!(u32::from_be_bytes(frame[42..46].try_into().unwrap()) as usize, k);
        let packet = etherparse::PacketHeaders::from_ethernet_slice(frame).unwrap();
        let (udp, payload) = (packet.transport.unwrap().udp().unwrap(), packet.payload.slice());
        let etherparse::NetHeaders::Ipv4(ip, _) = packet.net.unwrap() else { panic!("IPv4") };
        assert_eq!(udp.checksum, udp.calc_checksum_ipv4(&ip, payload).unwrap());
    }
    let got = run_with("", "-f rxseq -n 20", &sent).unwrap();
    assert!(got.out.contains("20 of this run, 0 corrupt, 0 lost"), "{}", got.out);
    sent.remove(5);
    sent.swap(10, 11);
    sent[15][50] ^= 1;
    let got = run_with("", "-f rxseq -n 19", &sent).unwrap();
    assert!(got.out.contains("1 corrupt, 1 lost, 0 duplicates, 1 reordered"), "{}", got.out);
    assert!(got.log.contains("Sequence GAP: exp 5 found 6"), "{}", got.log);
    assert_eq!(got.result.outcome, Outcome::Failed);
}

#[test]
fn a_rate_beyond_the_wires_is_kept_by_the_wire_and_noticed() {
    let (out, _, result) = run_named(&["cable:r{1,rate=10M", "cable:r}1"], "-f tx -R 1000000 -n 400");
    assert_eq!(result.outcome, Outcome::Pass, "{out}");
    let pps = result.tests[0].value.as_ref().unwrap().median.known().unwrap();
    assert!(pps < 14_881.0 * 1.01, "10 Mb/s carry 14880 frames of 60 bytes a second, not {pps}");
}

/// Soft interrupts are counted per core: they are not known for a thread that is not pinned.
#[test]
fn soft_interrupts_are_told_of_a_pinned_threads_core_over_the_run_alone() {
    let cpu = *linerate_rt::cpus().last().unwrap();
    let pinned = tx(&format!("-a {cpu}")).result;
    let (elapsed, softirq) = (pinned.elapsed_s.known().unwrap(), pinned.tests[0].cpu[0].softirq_s.known());
    let told = linerate_rt::core_times().iter().any(|time| usize::try_from(time.core) == Ok(cpu));
    assert_eq!(softirq.is_some(), told, "where the kernel tells");
    // The kernel counts in ticks; the core's time since boot would be far more.
    assert!(softirq.is_none_or(|s| (0.0..=elapsed + 0.1).contains(&s)), "{softirq:?} s of {elapsed} s");
    assert_eq!(tx("").result.tests[0].cpu[0].softirq_s, linerate_result::Number::UNKNOWN);
}
