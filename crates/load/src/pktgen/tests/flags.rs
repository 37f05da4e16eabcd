//! A case for every flag of the table that shows its effect; no flag is without a case.

use super::*;
use crate::frame::{Layout, Mark};
use crate::pktgen::flags::FLAGS;
use linerate_port::capture::{Record, Writer};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const V4: Layout = Layout { vnet: 0, v6: false };

fn distinct<T: Ord>(list: impl IntoIterator<Item = T>) -> usize {
    list.into_iter().collect::<BTreeSet<T>>().len()
}

fn lengths(frames: &[Vec<u8>]) -> Vec<usize> {
    frames.iter().map(Vec::len).collect()
}

/// A capture of two frames, 30 ms apart, the first with a wrong UDP checksum.
fn capture() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("two.pcap");
    let mut first = frames("-n 1 -l 70")[0].clone();
    first[40] ^= 0x55;
    let mut writer = Writer::create(&path).unwrap();
    for (time_ns, data) in [(1_000_000_000, &first[..]), (1_030_000_000, &[0xab; 80])] {
        writer.write(&Record { time_ns, orig_len: data.len().try_into().unwrap(), data }).unwrap();
    }
    writer.flush().unwrap();
    drop(writer);
    (dir, path.to_str().unwrap().to_owned())
}

type Case = (&'static str, fn());

/// One case per flag.
const CASES: &[Case] = &[
    ("-h", || {
        for asked in ["-h", "--help", "-i null --help", "help"] {
            assert!(config(asked).unwrap_err().starts_with("Usage: pkt-gen"), "{asked}");
        }
    }),
    ("-V", || {
        for asked in ["-V", "--version", "-i null -V"] {
            assert!(config(asked).unwrap_err().starts_with("pkt-gen (linerate "), "{asked}");
        }
    }),
    ("-i", || {
        let bare = config("-i eth7").unwrap();
        assert_eq!((bare.port.as_str(), bare.remarks[0].as_str()), ("xdp:eth7", "eth7 is opened as xdp:eth7"));
    }),
    ("-f", || {
        assert_eq!((tx("").result.tests[0].workload.as_str(), config("-i null").unwrap().mode.name), ("tx", "rx"))
    }),
    ("-n", || {
        assert_eq!(frames("-n 33").len(), 33);
        assert_eq!(frames("-n 7 -b 3").len(), 7, "no more than asked for, whatever the burst");
    }),
    ("-l", || {
        assert_eq!(lengths(&frames("-l 100")), [100; 20]);
        let sizes = lengths(&frames("-n 500 -l 64 -l 60"));
        assert_eq!(sizes.iter().collect::<BTreeSet<_>>(), [60, 61, 62, 63].iter().collect(), "below the first");
    }),
    ("-b", || {
        assert!(tx("-b 4").out.contains(" 5 events "));
        assert!(tx("-b 20").out.contains(" 1 events "));
    }),
    ("-4", || assert_eq!(frames("-6 -4")[0][12..14], [8, 0], "the last one counts")),
    ("-6", || {
        let frame = &frames("-6 -l 80")[0];
        assert_eq!(frame[12..14], [0x86, 0xdd]);
        assert!(Mark::of(frame, Layout { vnet: 0, v6: true }).is_some());
    }),
    ("-d", || {
        let frames = frames("-d 10.9.0.1-10.9.0.4:7-8");
        assert_eq!(distinct(frames.iter().map(|f| f[30..34].to_vec())), 4);
        assert_eq!(distinct(frames.iter().map(|f| f[36..38].to_vec())), 2);
    }),
    ("-s", || {
        let list = frames("-s 10.9.0.1-10.9.0.4:7-8");
        assert_eq!(distinct(list.iter().map(|f| f[26..30].to_vec())), 4);
        assert_eq!(list[1][34..36], [0, 8], "ports first");
        assert_eq!(frames("-s 1.2.3.4:5")[0][26..36], [1, 2, 3, 4, 10, 1, 0, 1, 0, 5]);
    }),
    ("-D", || assert_eq!(frames("-D 02:00:00:00:00:99")[0][..6], [2, 0, 0, 0, 0, 0x99])),
    ("-S", || assert_eq!(frames("-S 02:00:00:00:00:98")[0][6..12], [2, 0, 0, 0, 0, 0x98])),
    ("-a", || {
        let cpu = *linerate_rt::cpus().last().unwrap();
        assert_eq!(tx(&format!("-a {cpu}")).result.tests[0].cpu[0].core, u32::try_from(cpu).ok());
    }),
    ("-c", || {
        assert!(tx("-c 1").out.contains("1 threads and 1 cpus"));
        assert_eq!(tx("-c 1").result.tests[0].cpu[0].core, u32::try_from(linerate_rt::cpus()[0]).ok());
    }),
    ("-p", || {
        let left = run_with(",queues=2", "-f tx -n 21 -p 2", &[]).unwrap();
        let streams = left.whole().iter().map(|f| Mark::of(f, V4).unwrap().stream).collect::<Vec<_>>();
        assert_eq!(streams.iter().filter(|s| **s == 0).count(), 11);
        assert_eq!(streams.iter().filter(|s| **s == 1).count(), 10, "all of -n, shared");
        assert!(left.out.contains("2 queues, 2 threads"));
    }),
    ("-T", || {
        let reports = |ms| run_with("", &format!("-f tx -R 10 --seconds 0.25 -T {ms}"), &[]).unwrap();
        let count = |left: Left| left.log.matches("main_thread [2781]").count();
        assert!(count(reports(20)) > count(reports(200)));
    }),
    ("-w", || {
        let start = Instant::now();
        assert!(tx("-w 1").log.contains("Wait 1 secs for phy reset"));
        assert!(start.elapsed() >= Duration::from_secs(1));
    }),
    ("-R", || {
        let start = Instant::now();
        frames("-n 31 -R 100");
        assert!(start.elapsed() >= Duration::from_millis(300), "30 intervals of 10 ms");
        assert_eq!(config("-i null -f tx -R 3000").unwrap().burst(), 10);
    }),
    ("-X", || {
        assert_eq!(tx("-n 2 -X").out.matches("len    60]").count(), 2);
        let left = run_with("", "-f rx -n 2 -X", &[vec![0xee; 60], vec![0xee; 61]]).unwrap();
        assert!(left.out.contains("len    60]") && left.out.contains("len    61]"));
        assert!(left.out.contains("   48: ee ee"));
    }),
    ("-H", || {
        let frame = &frames("-H 12")[0];
        assert_eq!((frame.len(), &frame[..12], &frame[12..18]), (72, &[0; 12][..], &[0xff; 6][..]));
        let got = run_with("", "-f rx -n 1 -H 12", std::slice::from_ref(frame)).unwrap();
        assert!(got.out.contains("1 of this run, 0 corrupt"), "{}", got.out);
    }),
    ("-P", || {
        let (_dir, path) = capture();
        assert_eq!(lengths(&frames(&format!("-P {path}"))), [70; 20]);
        assert!(distinct(frames(&format!("-P {path}"))) == 1);
    }),
    ("-z", || {
        let frames = frames("-z");
        assert!(distinct(frames.iter().map(|f| f[26..30].to_vec())) > 15);
        assert_eq!(distinct(frames.iter().map(|f| f[30..34].to_vec())), 1);
    }),
    ("-Z", || {
        let frames = frames("-Z");
        assert_eq!(distinct(frames.iter().map(|f| f[26..30].to_vec())), 1);
        assert!(distinct(frames.iter().map(|f| (f[30..34].to_vec(), f[36..38].to_vec()))) > 15);
    }),
    ("-N", || assert!(tx("-n 1 -N").out.contains("0 bps (raw") || !tx("-n 1 -N").out.contains(" Kbps"))),
    ("-F", || {
        let left = tx("-l 100 -F 3");
        assert!(left.frames.iter().all(|slots| slots.iter().map(Vec::len).collect::<Vec<_>>() == [33, 33, 34]));
        assert_eq!(distinct(left.whole()), 20, "whole frames, each with its mark");
    }),
    ("-M", || {
        let left = tx("-l 100 -F 2 -M 30");
        assert!(left.frames.iter().all(|slots| slots.iter().map(Vec::len).collect::<Vec<_>>() == [30, 30, 30, 10]));
    }),
    ("-I", || {
        assert!(tx("-I").log.contains("-I: linerate has no indirect buffers"), "it is taken, and said to do nothing")
    }),
    ("-W", || {
        let start = Instant::now();
        let left = run_with("", "-f rx -W", &[vec![1; 60]]).unwrap();
        assert!(left.out.contains("Received 1 packets"));
        assert!(start.elapsed() >= Duration::from_secs(1));
    }),
    ("-v", || assert!(tx("-v").log.contains("sleeps") && !tx("").log.contains("sleeps"))),
    ("-r", || {
        assert!(frames("-r").iter().all(|f| f.len() == 60 && f.iter().all(|b| *b == 0)), "a fresh region is all zeros");
    }),
    ("-A", || {
        let log = |flag| run_with("", &format!("-f tx -R 1000 --seconds 0.1 -T 20 {flag}"), &[]).unwrap().log;
        assert!(log("-A").contains("pps [avg/std ") && !log("").contains("avg/std"));
    }),
    ("-B", || {
        let number = |text: &str, before: &str, after: &str| -> f64 {
            let at = text.find(before).unwrap() + before.len();
            text[at..].split(after).next().unwrap().trim().parse().unwrap()
        };
        // Of one run: the next one's rate is another.
        let ratio = |flag| {
            let text = tx(&format!("-N -R 100 {flag}")).out;
            number(&text, "raw ", " bps") / number(&text, "Bandwidth: ", " bps")
        };
        assert!((ratio("") - 1.0).abs() < 0.2 && (ratio("-B") - 84.0 / 60.0).abs() < 0.2);
    }),
    ("-C", || {
        let named = |text: &str| name::with_rings(&config(&format!("-i cable:t{{1 {text}")).unwrap(), "cable:t{1");
        assert_eq!(named("-C 256").unwrap(), "cable:t{1,slots=256");
        assert_eq!(named("-C 256,256,2").unwrap(), "cable:t{1,slots=256,queues=2");
        assert!(named("-C 256,512").unwrap_err().to_string().contains("the same both ways"));
    }),
    ("-o", || {
        for (bits, name) in [(1, "prefetch"), (4, "copy"), (8, "memcpy"), (2048, "pps_stats")] {
            let left = tx(&format!("-o {bits}"));
            assert!(left.log.contains(&format!("SPECIAL OPTIONS: {name}")), "{}", left.log);
            let marks: Vec<_> = left.whole().iter().map(|f| Mark::of(f, V4).unwrap().sequence).collect();
            assert_eq!(marks, (0..20).collect::<Vec<_>>());
        }
        let stamp = |text| Mark::word_at(&frames(text)[3], 60);
        assert!(stamp("-o 16 -l 76").is_some() && stamp("-l 76").is_none());
        assert_eq!(tx("-n 1 -o 64").out.matches("len    60]").count(), 1);
        assert!(frames("-o 256").iter().all(|f| f.iter().all(|b| *b == 0)));
        assert!(distinct(frames("-o 512").iter().map(|f| f[26..30].to_vec())) > 15);
        assert!(distinct(frames("-o 1024").iter().map(|f| f[30..34].to_vec())) > 15);
        let (_dir, path) = capture();
        let (wrong, right) = (frames(&format!("-P {path}")), frames(&format!("-P {path} -o 4096")));
        assert_eq!(wrong[0][40] ^ 0x55, right[0][40]);
    }),
    ("--pcap", || {
        let (_dir, path) = capture();
        let start = Instant::now();
        assert_eq!(lengths(&frames(&format!("--pcap {path}"))), [70, 80]);
        assert!(start.elapsed() >= Duration::from_millis(30), "in its own time");
    }),
    ("--loop", || {
        let (_dir, path) = capture();
        assert_eq!(lengths(&frames(&format!("--pcap {path} --loop 2"))), [70, 80, 70, 80]);
    }),
    ("--speed", || {
        let (_dir, path) = capture();
        let start = Instant::now();
        assert_eq!(frames(&format!("--pcap {path} --speed 0.1")).len(), 2);
        assert!(start.elapsed() >= Duration::from_millis(300));
        assert_eq!(frames(&format!("--pcap {path} --speed 0 --loop 0")).len(), 20, "endless, so -n ends it");
    }),
    ("--to", || assert_eq!(config("-i null -f tx --to eth9").unwrap().to.as_deref(), Some("xdp:eth9"))),
    ("--imix", || {
        let count = |sizes: &[usize], len| sizes.iter().filter(|l| **l == len).count();
        let sizes = lengths(&frames("-n 24 --imix"));
        assert_eq!((count(&sizes, 60), count(&sizes, 590), count(&sizes, 1514)), (14, 8, 2));
        let sizes = lengths(&frames("-n 9 --imix 64:2,128:1"));
        assert_eq!((count(&sizes, 64), count(&sizes, 128)), (6, 3));
    }),
    ("--seconds", || {
        let start = Instant::now();
        run_with("", "-f rx --seconds 0.2", &[]).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(200));
    }),
    ("--latency", || {
        let sent = frames("--latency -l 80");
        assert!(Mark::word_at(&sent[0], 60).is_some());
        let left = run_with("", "-f rx -n 20 --latency", &sent).unwrap();
        let [own, burst] =
            [&left.result.tests[0].latency, &left.result.tests[0].burst_latency].map(|l| l.clone().unwrap());
        assert_eq!((own.count, burst.count), (1, 19), "one frame of the burst is tagged");
        assert!(own.min.known().unwrap() > 0.0 && left.out.contains("Latency ns: min "), "{}", left.out);
        assert!(left.out.contains("Latency with the time in the burst ns: min "), "{}", left.out);
    }),
    ("--wait", || {
        for (how, sleeps) in [("busy", false), ("sleep", true)] {
            let log = run_with("", &format!("-f rx --seconds 0.05 -v --wait {how}"), &[]).unwrap().log;
            assert_eq!(!log.contains(" 0 sleeps"), sleeps, "{log}");
        }
    }),
    ("--run", || {
        let sent = frames("--run 77");
        assert_eq!(Mark::of(&sent[0], V4).unwrap().run, 77);
        assert!(run_with("", "-f rx -n 20 --run 78", &sent).unwrap().out.contains(" 20 foreign"));
        assert!(run_with("", "-f rx -n 20 --run 77", &sent).unwrap().out.contains(" 0 foreign"));
    }),
    ("--classic", || {
        let log = run_with("", "-f tx -R 100 --seconds 0.1 -T 20 --classic", &[]).unwrap().log;
        assert!(log.contains("main_thread [1418]") && !log.contains("avg_batch"));
        // The first lines of the older programs, in their order.
        let lines: Vec<_> = log.lines().filter_map(|line| line.split_once(' ')).map(|(_, line)| line).take(4).collect();
        assert_eq!(lines[0], "main [1507] interface is cable:t{1");
        assert_eq!(lines[1], "extract_ip_range [160] range is 10.0.0.1:1234 to 10.0.0.1:1234");
        assert_eq!(lines[2], "extract_ip_range [160] range is 10.1.0.1:1234 to 10.1.0.1:1234");
        let (kb, at) =
            lines[3].strip_prefix("main [1700] mapped ").and_then(|rest| rest.split_once("KB at 0x")).unwrap();
        assert!(kb.parse::<u64>().unwrap() > 1024 && u64::from_str_radix(at, 16).unwrap() > 0, "{}", lines[3]);
        assert!(!tx("").log.contains("interface is"));
    }),
    ("--json", || {
        let left = tx("--json");
        assert!(left.out.is_empty() && left.log.contains("Sent 20 packets"), "standard output is the document's");
    }),
    ("--keep", || {
        // The command keeps what it is asked to keep; the run is the same.
        let keeps = |text: &str| config(text).unwrap().keep;
        assert!(keeps("-i null -f tx --keep") && !keeps("-i null -f tx --json"));
        assert!(tx("--keep").out.contains("Sent 20 packets"));
    }),
    ("--ndjson", || {
        let left = run_with("", "-f tx -R 1000 --seconds 0.1 -T 20 --ndjson", &[]).unwrap();
        let events: Vec<serde_json::Value> = left.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(events[0]["event"], "start");
        assert!(events[1..].iter().all(|e| e["event"] == "report" && e["pps"].is_number()) && events.len() > 2);
    }),
];

#[test]
fn every_flag_has_an_effect() {
    let all: BTreeSet<_> = FLAGS.iter().map(|flag| flag.name()).collect();
    assert_eq!(all, CASES.iter().map(|case| case.0).collect(), "a case for each flag, and no other");
    for (name, case) in CASES {
        println!("{name}");
        case();
    }
}

#[test]
fn help_names_every_flag_and_function() {
    let text = help();
    assert!(FLAGS.iter().all(|flag| text.contains(&format!("  {}", flag.name()))));
    assert!(MODES.iter().all(|mode| text.contains(mode.name)));
}

#[test]
fn clusters_and_attached_values_are_getopts() {
    let config = config("-ABi null -ftx -l100 --wait=sleep -n5").unwrap();
    assert!(config.framing && config.has(options::PPS_STATS));
    assert_eq!((config.mode.name, config.sizes, config.count), ("tx", Sizes::Fixed(100), 5));
}

/// Errors are one line that begins with the flag.
#[test]
fn what_is_wrong_is_named() {
    for (text, begins, contains) in [
        ("", "no port", "-i"),
        ("-i", "-i", "no value"),
        ("-i null -Q", "-Q", "no such flag"),
        ("-i null --bogus", "--bogus", "no such flag"),
        ("-i null --latancy", "--latancy", "did you mean --latency?"),
        ("-i null --imx=60:1", "--imx", "did you mean --imix?"),
        ("-i null -e 5", "-e", "no such flag"),
        ("-i null extra", "extra", "not a flag"),
        ("-i null -f fly", "-f fly", "rx, tx"),
        ("-i null -n many", "-n many", "number"),
        ("-i null -n -5", "-n -5", "number"),
        ("-i null -f tx -l 15", "-l 15", "16 to 65536"),
        ("-i null -f tx -l 65537", "-l 65537", "16 to 65536"),
        ("-i null -f tx -l 60 -l 100", "-l 100", "smaller"),
        ("-i null -f tx -D 1:2:3", "-D 1:2:3", "MAC"),
        ("-i null -f tx -S gg:00:00:00:00:00", "-S gg", "MAC"),
        ("-i null -f tx -d 10.0.0", "-d 10.0.0", "IPv4"),
        ("-i null -f tx -s 10.0.0.1:70000", "-s 10.0.0.1:70000", "IPv4"),
        ("-i null -f tx -6 -s 10.0.0.1", "-s 10.0.0.1", "IPv6"),
        ("-i null -H 11", "-H 11", "0, 10 or 12"),
        ("-i null -f tx -F 64", "-F 64", "1 to 63"),
        ("-i null -T 5", "-T 5", "10"),
        ("-i null -C 1,2,3,4,5", "-C", "one to four"),
        ("-i null -f tx -o 128", "-o 128", "bit 128"),
        ("-i null -f tx -o 12", "-o 12", "two ways"),
        ("-i null -f tx --imix 60", "--imix 60", "60:7"),
        ("-i null -f tx --imix 60:1 -l 60", "--imix", "-l"),
        ("-i null --seconds 0", "--seconds 0", "seconds"),
        ("-i null --wait long", "--wait long", "busy"),
        ("-i null --run 0", "--run 0", "number"),
        ("-i null --json=1", "--json", "no value"),
        ("-i null -f tx --loop 2", "--loop", "--pcap"),
        ("-i null -f tx --pcap x --speed 2 -R 5", "--speed", "-R"),
        ("-i null -f txseq --latency -l 80", "--latency: has no effect with -f txseq", "leave it out"),
        ("-i null -f rxseq --run 5", "--run: has no effect with -f rxseq", "leave it out"),
        ("-i null -f rx --loop 2", "--loop: has no effect with -f rx", "leave it out"),
        ("-i null -f tx -P x --imix", "--imix: the frames come as they are", "leave it out"),
        ("-i null -f tx -P x --latency", "--latency: the frames come as they are", "leave it out"),
        ("-i null -f tx --pcap x --run 5", "--run: the frames come as they are", "leave it out"),
        ("-i null -f tx --pcap x --pcap y", "--pcap: is given twice", "once"),
        ("-i null -f tx -P x -P y", "-P: is given twice", "once"),
        ("-i null -i x", "-i: is given twice", "once"),
        ("-i null -f tx --to x --to y", "--to: is given twice", "once"),
    ] {
        let line = config(text).expect_err(text);
        assert!(line.starts_with(begins) && line.contains(contains) && !line.contains('\n'), "{text}: {line}");
    }
}

/// netmap's pkt-gen accepts such flags silently; here they are reported, and the run goes on without them.
#[test]
fn a_flag_without_effect_is_said_and_the_run_goes_on() {
    let remarks = |text: &str| config(text).unwrap_or_else(|e| panic!("{text}: {e}")).remarks;
    for (text, begins) in [
        ("-f rx -R 5", "-R: has no effect with -f rx"),
        ("-f rx -l 60", "-l: has no effect with -f rx"),
        ("-f rx -P x", "-P: has no effect with -f rx"),
        ("-f rx -d 10.0.0.1 -f rx", "-d: has no effect"),
        ("-f tx -W", "-W: has no effect with -f tx"),
        ("-f tx -I", "-I: linerate has no indirect buffers"),
        ("-f txseq -o 256", "-o 256: has no effect"),
        ("-f txseq -o 16", "-o 16: has no effect"),
        ("-f rx -o 16", "-o 16: has no effect"),
        ("-f ping -o 64", "-o 64: has no effect"),
        ("-f ping -o 1", "-o 1: has no effect"),
        ("-f ping -p 2", "-p: has no effect with -f ping"),
        ("-f txseq -p 2", "-p 2: -f txseq has one thread"),
        ("-f tx -P x -l 60", "-l: the frames come as they are"),
        ("-f tx -r -z", "-z: the frames come as they are"),
        ("-f tx -o 2", "-o 2: every byte received"),
        ("-f tx -o 32", "-o 32: linerate has no indirect buffers"),
        ("-f tx -o 4096", "-o 4096: frames made here"),
    ] {
        let (one, none) = (remarks(&format!("-i cable:t{{1 {text}")), remarks("-i cable:t{1"));
        assert_eq!((one.len(), none.len()), (1, 0), "{text}: {one:?}");
        assert!(one[0].starts_with(begins) && one[0].ends_with("left out"), "{text}: {one:?}");
    }
    // A flag that is left out changes nothing: -R would have reduced the burst.
    let both = config("-i null: -f rx -R 300 -l 99 -o 17").unwrap();
    assert_eq!((both.burst(), both.rate, &both.sizes, both.options), (512, None, &Sizes::Fixed(60), 0));
    assert_eq!(both.remarks.len(), 4, "{:?}", both.remarks);
    assert_eq!(config("-i null: -f txseq -p 2").unwrap().threads, 1);
    // A wrong value is an error although the flag would have no effect.
    assert!(config("-i null: -f rx -R many").unwrap_err().starts_with("-R many"));
    let left = run_with("", "-f rx -l 60 -n 1", &[vec![1; 60]]).unwrap();
    assert!(left.log.contains("-l: has no effect with -f rx; left out") && left.out.contains("Received 1 packets"));
}

/// Each flag with a value, and where it has an effect: functions, and what tx sends (`tx-P`, `tx-pcap`, `tx-r`). There it
/// changes the run; everywhere else it is said or refused.
#[test]
fn no_flag_is_ignored_in_silence() {
    let senders = "tx txseq ping tx-P tx-pcap tx-r";
    let streams = "tx txseq tx-P tx-pcap tx-r";
    let receivers = "rx rxseq";
    let all = format!("{senders} {receivers} pong");
    let rows = [
        ("-n 5", all.clone()),
        ("-l 99", "tx txseq ping tx-r".into()),
        ("-b 7", all.clone()),
        ("-4", String::new()),
        ("-6", "tx txseq ping".into()),
        ("-d 10.9.9.9:1", "tx txseq ping".into()),
        ("-s 10.9.9.9:1", "tx txseq ping".into()),
        ("-D 02:00:00:00:00:99", "tx txseq ping".into()),
        ("-S 02:00:00:00:00:99", "tx txseq ping".into()),
        ("-a 0", all.clone()),
        ("-c 1", all.clone()),
        ("-p 2", format!("tx tx-P tx-r {receivers}")),
        ("-T 50", all.clone()),
        ("-w 1", all.clone()),
        ("-R 1000", senders.into()),
        ("-X", format!("{streams} {receivers}")),
        ("-H 10", all.clone()),
        ("-P y", "tx".into()),
        ("-z", "tx txseq ping".into()),
        ("-Z", "tx txseq ping".into()),
        ("-N", all.clone()),
        ("-F 2", streams.into()),
        ("-M 60", streams.into()),
        ("-I", String::new()),
        ("-W", receivers.into()),
        ("-v", all.clone()),
        ("-r", "tx".into()),
        ("-A", all.clone()),
        ("-B", all.clone()),
        ("-C 256", all.clone()),
        ("-o 1", streams.into()),
        ("-o 4", "tx txseq tx-P tx-pcap".into()),
        ("-o 8", "tx txseq tx-P tx-pcap".into()),
        ("-o 16", "tx ping".into()),
        ("-o 64", format!("{streams} {receivers}")),
        ("-o 256", "tx".into()),
        ("-o 512", "tx txseq ping".into()),
        ("-o 1024", "tx txseq ping".into()),
        ("-o 2048", all.clone()),
        ("-o 4096", "tx-P tx-pcap".into()),
        ("--to null:", senders.into()),
        ("--imix", "tx txseq tx-r".into()),
        ("--pcap y", "tx".into()),
        ("--loop 2", "tx-pcap".into()),
        ("--speed 2", "tx-pcap".into()),
        ("--seconds 1", all.clone()),
        ("--latency", "tx rx ping".into()),
        ("--wait busy", all.clone()),
        ("--run 5", "tx rx ping".into()),
        ("--classic", all.clone()),
        ("--json", all.clone()),
        ("--keep", all.clone()),
        ("--ndjson", all.clone()),
    ];
    let asked = ["-i", "-f", "-h", "-V"];
    let known: BTreeSet<_> = rows.iter().map(|(flag, _)| flag.split(' ').next().unwrap()).chain(asked).collect();
    assert_eq!(FLAGS.iter().map(|flag| flag.name()).collect::<BTreeSet<_>>(), known, "a row for each");
    for (flag, effective) in rows.iter().filter(|(flag, _)| *flag != "-4") {
        for place in all.split(' ') {
            let function = place.replace("tx-", "tx -").replace("-pcap", "--pcap x").replace("-P", "-P x");
            let (bare, name) = (format!("-i null: -f {function}"), flag.split(' ').next().unwrap());
            if function.ends_with(name) || (*flag, place) == ("-o 256", "tx-r") {
                continue;
            }
            let effects = effective.split(' ').any(|named| named == place);
            let with = format!("{bare} {flag}");
            match (config(&bare).unwrap(), config(&with)) {
                (_, Err(line)) => assert!(!effects && line.contains(name), "{with}: {line}"),
                (bare, Ok(mut config)) => {
                    let said = config.remarks.iter().any(|line| line.starts_with(name));
                    config.remarks.clear();
                    let changed = format!("{bare:?}") != format!("{config:?}");
                    assert_eq!((changed, said), (effects, !effects), "{with}");
                }
            }
        }
    }
}

/// Regression: each thread wanted its share, and frames of one queue never came up to all shares. None is taken beyond.
#[test]
fn several_receivers_want_their_frames_together() {
    let sent: Vec<_> = frames("-f tx -n 30");
    for (n, queues) in [(30, 8), (17, 8), (1, 2)] {
        // They are spread as the shares are not.
        let left =
            run_with(&format!(",queues={queues}"), &format!("-f rx -p {queues} -n {n} --seconds 60"), &sent[..n])
                .unwrap();
        let test = &left.result.tests[0];
        assert!(left.out.contains(&format!("Received {n} packets")), "{}", left.out);
        assert!(left.result.elapsed_s.known().unwrap() < 50.0, "it ended by itself");
        assert_eq!(test.ledger.as_ref().unwrap().received, Some(n as u64));
    }
    let wanted = super::super::job::Wanted::new(10);
    assert_eq!((wanted.claim(7), wanted.claim(7), wanted.claim(7)), (7, 3, 0));
    wanted.received(7, 2);
    assert!(wanted.claim(7) == 5 && !wanted.is_over());
    wanted.received(3, 3);
    wanted.received(5, 5);
    assert!(wanted.is_over());
}

/// Limits of the port are reported before anything is sent.
#[test]
fn what_the_port_cannot_do_is_named() {
    for (options, text, contains) in [
        ("", "-f tx -l 1523", "up to 1522 bytes"),
        ("", "-f tx -p 2", "1 queues"),
        ("", "-f tx --latency", "-l 76"),
        ("", "-f tx -6 --latency -l 80", "-l 96"),
        ("", "-f ping -l 59", "-l 60"),
        ("", "-f txseq -l 45", "-l 46"),
        ("", "-f tx -l 100 -M 1", "larger -M"),
        ("", "-f tx -c 4096", "processors"),
        ("", "-f tx -a 4095", "processor"),
        ("", "-f tx -P /nonexistent.pcap", "/nonexistent.pcap"),
    ] {
        let line = run_with(options, text, &[]).err().expect(text);
        assert!(line.contains(contains) && !line.contains('\n'), "{text}: {line}");
    }
}
