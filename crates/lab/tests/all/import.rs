//! Tests of importers with outputs that the programs have written.

use linerate_lab::import::{self, IMPORTS, Import, ImportError};
use linerate_result::{Outcome, RunResult, Test, Timestamp, Unit};

/// Recorded outputs: file, format, ids of the tests with their medians and units.
pub(crate) struct Recorded {
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
    format: &'static str,
    tests: &'static [(&'static str, Option<f64>, &'static str)],
}

macro_rules! recorded {
    ($file:literal, $format:literal, $($test:expr),+) => {
        Recorded { file: $file, text: include_str!(concat!("../logs/", $file)), format: $format, tests: &[$($test),+] }
    };
}

pub(crate) const ALL: &[Recorded] = &[
    recorded!("iperf2-tcp.txt", "iperf", ("tcp-1s-client", Some(28.2e9), "bit/s")),
    recorded!("iperf2-tcp-p2.txt", "iperf", ("tcp-2s-client", Some(64.1e9), "bit/s")),
    recorded!("iperf2-tcp-e.txt", "iperf", ("tcp-1s-client", Some(22.2e9), "bit/s")),
    recorded!("iperf2-udp.txt", "iperf", ("udp-1s-client", Some(10.5e6), "bit/s")),
    recorded!("iperf2-udp-server.txt", "iperf", ("udp-1s-server", Some(10.5e6), "bit/s")),
    recorded!(
        "iperf2-r.txt",
        "iperf",
        ("tcp-1s-client", Some(36.3e9), "bit/s"),
        ("tcp-1s-server", Some(17.2e9), "bit/s")
    ),
    recorded!("iperf2-tcp.csv", "iperf-csv", ("tcp", Some(30_950_507_341.0), "bit/s")),
    recorded!("iperf2-udp.csv", "iperf-csv", ("udp", Some(10_491_042.0), "bit/s")),
    recorded!("iperf3-tcp.json", "iperf3", ("tcp-1s", Some(23_876_337_209.436_012), "bit/s")),
    recorded!("iperf3-r.json", "iperf3", ("tcp-2s-reverse", Some(23_280_232_131.662_85), "bit/s")),
    recorded!("iperf3-udp.json", "iperf3", ("udp-1s", Some(8_911_443.434_720_14), "bit/s")),
    recorded!(
        "iperf3-bidir.json",
        "iperf3",
        ("tcp-1s", Some(11_096_368_653.597_69), "bit/s"),
        ("tcp-1s-reverse", Some(10_297_200_133.986_25), "bit/s")
    ),
    recorded!("iperf3-tcp.txt", "iperf3-text", ("tcp-2s", Some(18.6e9), "bit/s")),
    recorded!("iperf3-refused.json", "iperf3", ("iperf3", None, "")),
    recorded!(
        "npresults.txt",
        "netperf",
        ("tcp_stream-message_16384", Some(15_115.51e6), "bit/s"),
        ("udp_stream", Some(1203.74e6), "bit/s"),
        ("tcp_rr-request_1", Some(67_150.93), "transactions/s"),
        ("udp_rr", Some(55_490.84), "transactions/s"),
        ("tcp_crr", Some(13_777.95), "transactions/s"),
        ("tcp_maerts", Some(18_475.09e6), "bit/s"),
        ("tcp_sendfile", Some(12_360.16e6), "bit/s"),
        ("tcp_stream", Some(13_292.45e6), "bit/s"),
        ("tcp_rr", Some(48_121.88), "transactions/s"),
        ("omni_send", Some(12_833.19e6), "bit/s")
    ),
    recorded!("pktgen-tx.txt", "pkt-gen", ("tx-60", Some(1e6), "pps")),
    recorded!("pktgen-rx.txt", "pkt-gen", ("rx-128", Some(800_060.0), "pps")),
    recorded!("xdd.txt", "xdd", ("xdd", Some(1_230_150.213), "IOPS")),
    recorded!("xdd.csv", "xdd", ("xdd", Some(694_927.999), "IOPS")),
    recorded!(
        "xdd-passes.txt",
        "xdd",
        ("target-0", Some((732_734.396 + 754_240.529) / 2.0), "IOPS"),
        ("target-1", Some((330_307.824 + 208_549.008) / 2.0), "IOPS"),
        ("xdd", Some(511_344.497), "IOPS")
    ),
    recorded!(
        "fio-randrw.json",
        "fio",
        ("r-read", Some(7_129.241_517), "IOPS"),
        ("r-write", Some(7_124.251_497), "IOPS")
    ),
    recorded!("fio-terse.txt", "fio-terse", ("a-read", Some(4000.0), "IOPS"), ("a-write", Some(3757.0), "IOPS")),
    recorded!(
        "fio-two-jobs.json",
        "fio",
        ("a-read", Some(21_333.333_333), "IOPS"),
        ("b-write", Some(128_000.0), "IOPS")
    ),
];

pub(crate) fn file(name: &str) -> &'static Recorded {
    ALL.iter().find(|row| row.file == name).unwrap()
}

pub(crate) fn read(name: &str, text: &str) -> Result<Vec<RunResult>, ImportError> {
    let command = ["linerate", "import", name].map(str::to_owned);
    import::read(name, text, None, "2001-02-03T04:05:06Z".parse().unwrap(), &command)
}

fn run(name: &str) -> RunResult {
    let mut runs = read(name, file(name).text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

pub(crate) fn further(test: &Test, name: &str) -> (f64, Unit) {
    let of = test.further.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", test.further));
    (of.median.known().unwrap(), of.unit.clone())
}

fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= 1e-9 * wanted.abs()
}

#[test]
fn every_recorded_output_is_recognized_and_its_figures_keep_their_units() {
    for row in ALL {
        assert_eq!(Import::detect(row.text).map(|import| import.name), Some(row.format), "{}", row.file);
        let run = run(row.file);
        let found: Vec<_> = run
            .tests
            .iter()
            .map(|test| {
                let value = test.value.as_ref();
                (
                    test.id.as_str(),
                    value.and_then(|value| value.median.known()),
                    value.map_or("", |value| value.unit.name()),
                )
            })
            .collect();
        let same = found.len() == row.tests.len()
            && found.iter().zip(row.tests).all(|(found, wanted)| {
                found.0 == wanted.0
                    && found.2 == wanted.2
                    && found.1.is_some() == wanted.1.is_some()
                    && found.1.zip(wanted.1).is_none_or(|(found, wanted)| near(found, wanted))
            });
        assert!(same, "{}: {found:?}", row.file);
        assert_eq!(RunResult::from_json(&run.to_json()).unwrap(), run, "{}", row.file);
    }
    for import in IMPORTS.iter().filter(|import| import.name != "linerate") {
        assert!(ALL.iter().any(|row| row.format == import.name), "{} has no recorded output", import.name);
    }
}

#[test]
fn an_imported_run_says_so_and_has_no_fact_of_this_machine() {
    for row in ALL {
        let run = run(row.file);
        assert_eq!(import::source(&run).as_deref(), Some(row.file));
        for port in run.tests.iter().flat_map(|test| &test.ports) {
            assert_eq!(port.path, format!("imported from {}", row.file));
        }
        let known = &run.environment;
        assert_eq!(
            (&known.linerate, &known.cpu, known.cores, known.memory_bytes),
            (&None, &None, None, None),
            "{}",
            row.file
        );
        let told = row.format == "iperf3";
        assert_eq!(
            (known.host.as_deref(), known.kernel.as_deref()),
            if told { (Some("testhost"), Some("Linux 6.1.0-test")) } else { (None, None) }
        );
        assert_eq!(run.run_id, self::run(row.file).run_id, "a log that is read twice is one run");
    }
}

#[test]
fn the_start_is_the_logs_own_or_said_to_be_the_files() {
    for (name, start) in [
        ("iperf3-tcp.json", "2026-11-26T07:08:04.000Z"),
        // Of the time of the output, 3 seconds less.
        ("fio-randrw.json", "2026-11-26T07:08:11.569Z"),
        ("iperf2-tcp-e.txt", "2026-11-26T07:07:11.000Z"),
    ] {
        let run = run(name);
        assert_eq!(run.start.to_string(), start, "{name}");
        assert!(run.tests[0].warnings.is_empty(), "{name}: {:?}", run.tests[0].warnings);
    }
    for name in ["iperf2-tcp.txt", "iperf2-tcp.csv", "npresults.txt", "xdd.txt", "pktgen-tx.txt"] {
        let run = run(name);
        assert_eq!(run.start.to_string(), "2001-02-03T04:05:06.000Z");
        assert!(run.tests[0].warnings.iter().any(|warning| warning.contains("time of the file")), "{name}");
    }
}

#[test]
fn further_figures_samples_and_counters_are_kept() {
    let test = |name: &str, at: usize| run(name).tests.remove(at);
    let tcp = test("iperf3-tcp.json", 0);
    assert_eq!((tcp.samples.len(), tcp.counters.total("retransmits")), (2, Some(0)));
    assert_eq!(further(&tcp, "sent"), (23_896_437_680.839_138, Unit::BitsPerSecond));
    assert_eq!(tcp.parameters["block_bytes"].count(), Some(131_072));
    let udp = test("iperf3-udp.json", 0);
    assert!(near(further(&udp, "jitter").0, 4_510_618.639_725_828) && further(&udp, "jitter").1 == Unit::Ns);
    assert_eq!((udp.counters.total("lost_packets"), udp.counters.total("packets")), (Some(9), Some(77)));
    let old = test("iperf2-udp.txt", 0);
    assert_eq!((further(&old, "jitter"), old.counters.total("packets")), ((1000.0, Unit::Ns), Some(1787)));
    // What is sent is no sample of what arrives.
    assert_eq!((old.samples.len(), old.parameters["datagram_bytes"].count()), (0, Some(1470)));
    let stream = test("npresults.txt", 0);
    // With and without -c, by -P 0, in another unit, and after a warning: one test, measured five times.
    assert_eq!(stream.counted().to_string(), "5 of 5");
    assert_eq!(further(&stream, "service_demand_local"), (0.94, Unit::Other("us/KB".into())));
    assert!(stream.warnings.iter().any(|warning| warning.contains("confidence")), "{:?}", stream.warnings);
    assert_eq!(stream.parameters["message_bytes"].count(), Some(16384));
    let datagrams = test("npresults.txt", 1);
    assert_eq!(
        (datagrams.counters.total("sent"), datagrams.counters.total("received")),
        (Some(169_337), Some(102_234))
    );
    assert_eq!(further(&datagrams, "sent"), (1993.84e6, Unit::BitsPerSecond));
    let requests = test("npresults.txt", 3);
    assert_eq!(
        (requests.parameters["request_bytes"].count(), requests.parameters["response_bytes"].count()),
        (Some(100), Some(200))
    );
    assert_eq!(further(&requests, "service_demand_remote"), (36.042, Unit::Other("us/Tr".into())));
    assert_eq!(further(&test("npresults.txt", 8), "mean_latency"), (20_740.0, Unit::Ns));
    let sent = test("pktgen-tx.txt", 0);
    assert_eq!((sent.samples.len(), sent.frame_bytes, sent.wire_bytes), (3, Some(60), Some(64)));
    assert_eq!((sent.ports[0].name.as_str(), sent.counters.total("packets")), ("null:", Some(3_000_000)));
    let passes = test("xdd-passes.txt", 0);
    assert_eq!((passes.repeats.len(), passes.parameters["request_bytes"].count()), (2, Some(131_072)));
    assert_eq!(further(&test("xdd.txt", 0), "throughput"), (5_038_695_000.0, Unit::BytesPerSecond));
    let disk = test("fio-randrw.json", 0);
    let latency = disk.latency.as_ref().unwrap();
    assert_eq!(
        (latency.count, latency.p99.known(), latency.p99_9.known()),
        (14287, Some(1_957_888.0), Some(4_489_216.0))
    );
    assert_eq!(further(&disk, "throughput"), (29_201_373.0, Unit::BytesPerSecond));
    assert_eq!(disk.parameters["bs"].text(), Some("4k"));
}

#[test]
fn an_error_of_the_program_is_a_failure_of_the_run() {
    let run = run("iperf3-refused.json");
    assert_eq!((run.outcome, run.exit_code()), (Outcome::Failed, 1));
    assert_eq!(run.reasons, ["iperf3: line 10: unable to connect to server: Connection refused"]);
}

#[test]
fn what_cannot_be_read_is_named_by_file_and_line() {
    let broken = |name: &str, from: &str, to: &str| {
        let text = file(name).text;
        assert!(text.contains(from), "{name}: {from}");
        read(name, &text.replacen(from, to, 1)).unwrap_err().to_string()
    };
    for (name, from, to, begins) in [
        ("iperf2-tcp.txt", "26.4 Gbits/sec", "26.4 Gfurlongs", "iperf2-tcp.txt:7: "),
        ("iperf2-tcp.csv", "7802847292", "78x2847292", "iperf2-tcp.csv:3: "),
        ("iperf3-tcp.json", "\"intervals\":", "\"intervals\"", "iperf3-tcp.json:39: no JSON"),
        ("npresults.txt", "16232.90", "16232.9x", "npresults.txt:8: "),
        ("npresults.txt", "131072  16384  16384    1.02", "131072", "npresults.txt:8: "),
        (
            "npresults.txt",
            "1.02     16232.90",
            "1,02     16232,90",
            "npresults.txt:8: decimal commas; measure with LC_ALL",
        ),
        ("npresults.txt", "THROUGHPUT_UNITS=Trans/s", "THROUGHPUT_UNITS=Bogus", "npresults.txt:101: "),
        ("pktgen-tx.txt", "Speed: 1.000 Mpps", "Speed: x Mpps", "pktgen-tx.txt:10: "),
        ("xdd.txt", "1230150.213", "1230150.2.13", "xdd.txt:6: IOPS is no number"),
        ("xdd.txt", "mixed         4096", "4096", "xdd.txt:6: "),
        ("fio-randrw.json", "\"jobs\" :", "\"jbs\" :", "fio-randrw.json:1: no document of fio"),
    ] {
        let line = broken(name, from, to);
        assert!(line.starts_with(begins) && line.lines().count() == 1, "{name}: {line}");
    }
    let unknown = read("x", "hello\nworld\n").unwrap_err().to_string();
    assert!(
        unknown.starts_with("x: no format") && unknown.contains("iperf3-text, fio, fio-terse, netperf"),
        "{unknown}"
    );
    let nothing = read("x", "Server listening on TCP port 5001\n").unwrap_err().to_string();
    assert_eq!(nothing, "x: no result of iperf in it; give its whole output, or name another --format");
}

#[test]
fn a_log_that_was_cut_short_says_that_its_figure_is_a_mean() {
    let cut = |name: &str, before: &str| {
        let text = file(name).text;
        read(name, &text[..text.find(before).unwrap()]).unwrap().remove(0).tests.remove(0)
    };
    for (name, before, mean) in [
        ("iperf2-tcp.txt", "[  1] 0.0000-2.0198", 28.5e9),
        ("iperf2-tcp.csv", "20261126070716,127.0.0.1,58704,127.0.0.1,29501,1,0.0-2.0", 31_210_864_880.0),
        ("pktgen-tx.txt", "Sent ", (1e6 + 999_850.0 + 996_023.0) / 3.0),
    ] {
        let test = cut(name, before);
        let value = test.value.as_ref().unwrap().median.known().unwrap();
        assert!(near(value, mean), "{name}: {value}");
        assert!(test.warnings.iter().any(|warning| warning.contains("the mean of its")), "{name}: {:?}", test.warnings);
        // And is no repeat of one that is whole.
        assert_eq!(test.parameters["figure"].text(), Some("mean of its intervals"), "{name}");
    }
}

#[test]
fn lines_that_follow_no_heading_are_refused_where_their_unit_is_not_known() {
    let banner = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.1 () port 0 AF_INET\n";
    let bare = format!("{banner}131072  16384  16384    1.02     16232.90\n");
    assert!(read("x", &bare).unwrap_err().to_string().contains("without a heading"));
    let whole = file("npresults.txt").text;
    let first = &whole[..whole.find("netperf -t TCP_STREAM -c").unwrap()];
    // The numbers of another test, and those in another unit.
    for command in [
        "netperf -t TCP_RR -P 0\n16384  131072 1        1       1.00     67150.93\n",
        "netperf -t TCP_STREAM -P 0 -f K\n131072  16384  16384    1.00     1755095.22\n",
    ] {
        let run = read("x", &format!("{first}{command}")).unwrap().remove(0);
        assert_eq!((run.tests.len(), run.tests[0].repeats.len()), (1, 1), "{command}");
        let told = import::not_taken(&run).collect::<Vec<_>>().join("\n");
        assert!(
            told.starts_with("line 10 was not taken: ") && told.contains("without a heading of their own"),
            "{told}"
        );
    }
    // Other numbers between the blocks are passed over.
    let more = format!("{first}2026 11 26\n");
    assert_eq!(read("x", &more).unwrap()[0].tests.len(), 1);
}

#[test]
fn interim_results_are_samples() {
    let whole = file("npresults.txt").text;
    let block = &whole[whole.find("MIGRATED").unwrap()..whole.find("netperf -t TCP_STREAM -c").unwrap()];
    let interim = "Interim result: 9000.50 10^6bits/s over 0.500 seconds ending at 1700000000.500\n\
                   Interim result: 9100.50 10^6bits/s over 0.500 seconds ending at 1700000001.000\n";
    let text = block.replacen('\n', &format!("\n{interim}"), 1);
    let test = read("x", &text).unwrap().remove(0).tests.remove(0);
    let samples: Vec<_> =
        test.samples.iter().map(|sample| (sample.t_s.known().unwrap(), sample.value.known().unwrap())).collect();
    assert_eq!(samples, [(0.5, 9_000_500_000.0), (1.0, 9_100_500_000.0)]);
}

#[test]
fn names_from_outside_hold_no_control_characters_and_no_length() {
    let hostile = format!("\x1b[2J\u{202e}{}", "x".repeat(100_000));
    let text = file("fio-randrw.json").text.replace(
        "\"jobname\" : \"r\"",
        &format!("\"jobname\" : {hostile:?}").replace("\\u{1b}", "\\u001b").replace("\\u{202e}", "\\u202e"),
    );
    let run = read("a\nb", &text).unwrap().remove(0);
    assert!(
        run.tests.iter().all(|test| test.id.len() < 120 && test.id.is_ascii() && test.title.len() < 400),
        "{:?}",
        run.tests[0].id
    );
    assert!(!run.tests[0].title.contains('\x1b') && !run.tests[0].ports[0].path.contains('\n'));
    let text = file("npresults.txt").text.replacen("to 127.0.0.1", "to \x1b[31mhost", 1);
    let text = text.replacen("MIGRATED TCP STREAM", "MIGRATED TCP \x1b[2JSTREAM", 1);
    let run = read("x", &text).unwrap().remove(0);
    assert!(!run.tests[0].ports[0].name.contains('\x1b'));
    assert!(run.tests.iter().all(|test| !(test.title.clone() + &test.workload).contains('\x1b')), "{:?}", run.tests[0]);
    let error =
        read("\x1b[2J", &file("xdd.txt").text.replacen("1230150.213", "\x1b]0;x\x07", 1)).unwrap_err().to_string();
    assert!(!error.contains(|c: char| c.is_control()), "{error:?}");
}

/// Whatever stands in a file, no importer panics.
#[test]
fn cut_and_changed_files_are_read_or_refused() {
    for row in ALL {
        let bytes = row.text.as_bytes();
        for import in IMPORTS {
            for at in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
                let mut changed = bytes.to_vec();
                changed[at] = b"-0e{,\"["[at % 7];
                for text in [&bytes[..at], &changed[..]] {
                    let text = String::from_utf8_lossy(text);
                    if let Ok(runs) = import::read("x", &text, Some(import), Timestamp::default(), &[]) {
                        assert!(
                            runs.iter()
                                .all(|run| RunResult::from_json(&run.to_json()).is_ok_and(|again| again == *run))
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_of_too_many_tests_is_refused() {
    let row = "MIGRATED A TEST from a to b\n10^6bits/s\n1 2 N 1.00 5.0\n";
    let text: String = (0..=import::MOST_TESTS).map(|n| row.replace('N', &n.to_string())).collect();
    let error = read("x", &text).unwrap_err().to_string();
    assert!(error.contains("more than 10000 tests"), "{error}");
}
