//! Tests of kinds of faults that importers had with logs of others: what is counted twice, dropped, or told by no line.

use crate::import::{ALL, further, read};
use crate::import_foreign;
use crate::import_refused::{figures, one, refused};
use linerate_lab::import::{Import, not_taken};
use linerate_result::{RunResult, Test};

fn ids(run: &RunResult) -> Vec<&str> {
    run.tests.iter().map(|test| test.id.as_str()).collect()
}

fn word(test: &Test, name: &str) -> String {
    test.parameters.get(name).map_or_else(|| "none".to_owned(), ToString::to_string)
}

fn near(found: Option<f64>, wanted: f64) -> bool {
    found.is_some_and(|found| (found - wanted).abs() <= 1e-6 * wanted)
}

/// Lines of netmap's pkt-gen, which opens `ping` as a sender and `pong` as a receiver.
fn pkt_gen(opens: &str, mode: &str, verb: &str) -> String {
    let body = match mode {
        "ping" => [(18_210, 30_100, 30_000), (18_200, 30_000, 10_000)]
            .map(|(least, mean, count)| format!("515.1 ping_body [1401] count {count} RTT: min {least} av {mean} ns\n"))
            .concat(),
        "pong" => "515.1 pong_body [1501] understood ponging 40000 pkts\n".to_owned(),
        _ => String::new(),
    };
    format!(
        "512.1 main [2896] interface is netmap:eth0\n{opens} netmap:eth0: 4 queues, 1 threads and 1 cpus.\n\
         514.1 start_threads [2573] Ready...\n{body}\
         515.2 main_thread [2704] 20.000 Kpps (20.000 Kpkts 9.600 Mbps in 1000000 usec) 1.00 avg_batch 99999 min_space\n\
         {verb} 40000 packets 2400000 bytes 40000 events 60 bytes each in 2.00 seconds.\n\
         Speed: 20.000 Kpps Bandwidth: 9.600 Mbps (raw 13.440 Mbps). Average batch: 1.00 pkts\n"
    )
}

#[test]
fn a_ping_of_pkt_gen_is_no_transmission_and_has_its_round_trips() {
    let ping = pkt_gen("Sending on", "ping", "Sent");
    let run = one(&ping);
    assert_eq!((ids(&run), run.tests[0].workload.as_str()), (vec!["ping-60"], "pkt-gen-ping"));
    let (least, mean) = (further(&run.tests[0], "latency_min").0, figures(&run)[0].1.unwrap());
    assert_eq!((least, mean, run.tests[0].counters.total("round_trips")), (18_200.0, 30_075.0, Some(40_000)));
    // By the command alone, whose output has no lines of round trips.
    let bare: String = ping.lines().filter(|line| !line.contains("ping_body")).map(|l| l.to_owned() + "\n").collect();
    let tx = pkt_gen("Sending on", "tx", "Sent");
    let run = one(&format!("$ pkt-gen -i netmap:eth0 -f tx\n{tx}$ pkt-gen -i netmap:eth0 -f ping -n 5\n{bare}"));
    let told: Vec<&str> = not_taken(&run).collect();
    assert_eq!(ids(&run), ["tx-60"]);
    assert!(told[0].starts_with("line 10 was not taken: a run of ping without its round trips"), "{told:?}");
    // The command is that of the run behind it alone.
    let run = one(&format!("$ pkt-gen -i netmap:eth0 -f ping\n{ping}{tx}"));
    assert_eq!(ids(&run), ["ping-60", "tx-60"]);
    for pong in [
        pkt_gen("Receiving from", "pong", "Received"),
        format!("# pkt-gen -f pong\n{}", pkt_gen("Receiving from", "", "Received")),
    ] {
        let why = refused(&pong);
        assert!(why.contains("a run of pong, which sends back what it receives: not read"), "{why}");
        assert!(why.starts_with("x:2: ") || why.starts_with("x:3: "), "{why}");
    }
    assert!(refused(&pkt_gen("Working on", "", "Sent")).contains("a log of ping or pong without their lines"));
}

#[test]
fn a_receivers_wait_is_no_sample_and_threads_are_a_condition() {
    let rx = pkt_gen("Receiving from", "rx", "Received");
    let wait = "514.2 main_thread [2704] 0.000 pps (0.000 pkts 0.000 bps in 1001009 usec) 0.00 avg_batch 0 min_space\n";
    let at = rx.find("515.2").unwrap();
    let (plain, waited) = (one(&rx), one(&format!("{}{wait}{}", &rx[..at], &rx[at..])));
    let samples = |run: &RunResult| -> Vec<(f64, f64)> {
        let of = |sample: &linerate_result::Sample| (sample.t_s.known().unwrap(), sample.value.known().unwrap());
        run.tests[0].samples.iter().map(of).collect()
    };
    assert_eq!(samples(&plain), [(1.0, 20e3)]);
    assert!(matches!(samples(&waited)[..], [(t, 20e3)] if (t - 1.0f64).abs() < 1e-9), "{:?}", samples(&waited));
    // One that goes on after it has begun is one.
    let end = rx.find("Received").unwrap();
    assert_eq!(one(&format!("{}{wait}{}", &rx[..end], &rx[end..])).tests[0].samples.len(), 2);
    let only = format!("{}{wait}", &rx[..at]);
    let run = one(&format!("{rx}{only}"));
    assert!(not_taken(&run).any(|told| told.contains("waited for its first packet")), "{:?}", run.tests[0].warnings);
    let tx = pkt_gen("Sending on", "tx", "Sent");
    let run = one(&format!("{tx}{}", tx.replace("1 threads and 1 cpus", "2 threads and 2 cpus")));
    assert_eq!(ids(&run), ["tx-60-threads_1", "tx-60-threads_2"]);
    assert_eq!(one(&format!("{tx}{tx}")).tests[0].repeats.len(), 2);
}

/// Rows of figures by format.
const ROWS: &[(&str, &str)] = &[
    ("iperf", "[  3]  0.0-10.0 sec  1.09 GBytes   940 Mbits/sec"),
    ("iperf", "[SUM]  0.0-10.0 sec  1.09 GBytes   936 Mbits/sec"),
    ("iperf", "[SUM]  0.0- 1.0 sec   112 MBytes   940 Mbits/sec"),
    ("iperf3-text", "[  5]   0.00-10.00  sec  1.09 GBytes   940 Mbits/sec                  receiver"),
    ("iperf3-text", "[SUM]   0.00-10.00  sec  1.09 GBytes   940 Mbits/sec                  receiver"),
    ("netperf", " 87380  16384  16384    10.00    9412.36"),
    ("netperf", "212992    1472   10.00      865012      0    1018.64"),
    ("netperf", "212992           10.00      864000           1017.45"),
    ("netperf", "16384  87380  1       1      10.00   21034.50"),
    ("netperf", "22950.31   10^6bits/s  10.00"),
    ("netperf", "22950.31,10^6bits/s,10.00"),
    ("pkt-gen", "Speed: 33.223 Kpps Bandwidth: 15.947 Mbps (raw 22.326 Mbps). Average batch: 1.00 pkts"),
    ("pkt-gen", "Sent 100000 packets 6000000 bytes 100000 events 60 bytes each in 3.01 seconds."),
    (
        "pkt-gen",
        "515.1 main_thread [2704] 33.168 Kpps (33.201 Kpkts 15.921 Mbps in 1001001 usec) 1.00 avg_batch 9 min_space",
    ),
    ("xdd", " COMBINED 3 1 1 12582912 3072 2.5 5.033 1228.8 0.8 69.0 mixed 4096"),
    ("xdd", " TARGET_PASS 3 7 1 12582912 3072 2.5 5.033 1228.8 0.8 69.0 mixed 4096"),
    ("iperf-csv", "20261126070716,127.0.0.1,58704,127.0.0.1,29501,9,0.0-2.0,7802847292,31210864880"),
    ("fio-terse", "3;fio-3.33;b;0;0;9232;160440;40110"),
];

/// The tests of a run without the numbers of lines that they tell.
fn told(run: &RunResult) -> String {
    let all = format!("{:?}", run.tests);
    all.split("line ")
        .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()))
        .collect::<Vec<_>>()
        .join("line ")
}

/// A row of figures, wherever it stands, is a figure or a sample, is named as not taken, or has the log refused.
#[test]
fn no_row_of_figures_goes_silently() {
    let foreign: Vec<(String, String)> = import_foreign::texts();
    let own = ALL.iter().map(|row| (row.file.to_owned(), row.text.to_owned()));
    let (mut silent, mut tried) = (Vec::new(), 0);
    for (file, text) in own.chain(foreign) {
        let Some(format) = Import::detect(&text).map(|import| import.name) else { continue };
        let Ok(runs) = read(&file, &text) else { continue };
        let wanted = told(&runs[0]);
        // A sum over both directions is none of either.
        let sums = !text.contains("(full-duplex)");
        for (_, row) in ROWS.iter().filter(|(of, row)| *of == format && (sums || !row.starts_with("[SUM]"))) {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            for at in 0..=lines.len() {
                tried += 1;
                let changed = format!("{}{row}\n{}", lines[..at].concat(), lines[at..].concat());
                let same = read(&file, &changed).is_ok_and(|runs| told(&runs[0]) == wanted);
                silent.extend(same.then(|| format!("{file}:{}: {row}", at + 1)));
            }
        }
    }
    assert!(tried > 2000 && silent.is_empty(), "{tried} tried\n{}", silent.join("\n"));
}

#[test]
fn both_lines_of_datagrams_without_a_heading_are_named() {
    let block = include_str!("../logs/foreign/netperf-verbose.txt");
    let first = figures(&one(block));
    let run = one(&format!(
        "{block}\nroot@a# netperf -P 0 -t UDP_STREAM -H 192.0.2.2 -- -m 1472\n\
         212992    1472   10.00      865012      0    1018.64\n212992           10.00      864000           1017.45\n"
    ));
    assert_eq!(figures(&run), first);
    let told: Vec<&str> = not_taken(&run).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("numbers of UDP_STREAM without a heading of their own"), "{told:?}");
}

/// What stands in front of a log is no condition of its first result alone.
#[test]
fn a_line_in_front_of_a_log_splits_no_repeats() {
    let block = |value: &str| {
        format!(
            "+ netperf -H 192.0.2.2 -t TCP_STREAM -- -m 64\n\
             MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 () port 0 AF_INET\n\
             Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n\
             bytes  bytes   bytes    secs.    10^6bits/sec\n\n 87380  16384     64    10.00       {value}\n"
        )
    };
    for front in [
        "#!/bin/sh -x output of np.sh, Tue Oct  4 11:02:17 CEST 2022\n",
        "my results of Friday\n",
        "root@a:~# cat x\n",
        "",
    ] {
        let run = one(&format!("{front}{}{}", block("812.33"), block("815.02")));
        assert_eq!((run.tests.len(), run.tests[0].repeats.len()), (1, 2), "{front}: {:?}", ids(&run));
        assert!(!run.tests[0].parameters.contains_key("text"), "{front}");
    }
}

const UDP: &str = "Connecting to host server, port 5201\n\
    [  5] local 192.0.2.1 port 43808 connected to 192.0.2.2 port 5201\n\
    [ ID] Interval           Transfer     Bitrate         Total Datagrams\n\
    [  5]   0.00-1.00   sec  23.8 MBytes   200 Mbits/sec  17265  \n\
    [  5]   1.00-2.00   sec  23.8 MBytes   200 Mbits/sec  17266  \n\
    - - - - - - - - - - - - - - - - - - - - - - - - -\n\
    [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
    [  5]   0.00-2.00   sec  47.6 MBytes   200 Mbits/sec  0.000 ms  0/34531 (0%)  sender\n\
    [  5]   0.00-2.02   sec  47.2 MBytes   196 Mbits/sec  0.009 ms  310/34531 (0.9%)  receiver\n";

const OF_SERVER: &str = "\nServer output:\n\
    Accepted connection from 192.0.2.1, port 54250\n\
    [  5] local 192.0.2.2 port 5201 connected to 192.0.2.1 port 43808\n\
    [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
    [  5]   0.00-1.00   sec  23.5 MBytes   197 Mbits/sec  0.008 ms  200/17265 (1.2%)  \n\
    [  5]   1.00-2.00   sec  23.6 MBytes   198 Mbits/sec  0.009 ms  110/17266 (0.64%)  \n\
    - - - - - - - - - - - - - - - - - - - - - - - - -\n\
    [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
    [  5]   0.00-2.02   sec  47.2 MBytes   196 Mbits/sec  0.009 ms  310/34531 (0.9%)  receiver\n";

#[test]
fn the_servers_output_is_the_receivers_view_of_the_same_test() {
    let text = format!("{UDP}{OF_SERVER}\n\niperf Done.\n");
    let marked: String = text.lines().map(|line| format!("client-1  | {line}\n")).collect();
    for text in [text.clone(), format!("Attaching to client-1\n{marked}client-1 exited with code 0\n")] {
        let run = one(&text);
        assert_eq!(figures(&run), [("udp-1s".to_owned(), Some(196e6), 1)], "{text}");
        assert!(near(run.elapsed_s.known(), 2.02), "{:?}", run.elapsed_s);
        // Its intervals are what arrived.
        let samples: Vec<_> = run.tests[0].samples.iter().map(|sample| sample.value.known().unwrap()).collect();
        assert_eq!(samples, [197e6, 198e6]);
    }
    let other = text.replace(
        "47.2 MBytes   196 Mbits/sec  0.009 ms  310/34531 (0.9%)  receiver\n\n\n",
        "23.6 MBytes  98.0 Mbits/sec  0.009 ms  310/34531 (0.9%)  receiver\n\n\n",
    );
    assert!(refused(&other).starts_with("x:19: the server's output is not of this test"), "{}", refused(&other));
}

#[test]
fn both_ends_of_one_test_take_its_time_once() {
    let runs = import_foreign::runs();
    let (_, run) = runs.iter().find(|(name, _)| name == "iperf3-both-ends.txt").unwrap();
    let seconds: Vec<_> = run.tests.iter().filter_map(|test| test.repeats[0].seconds.known()).collect();
    assert_eq!((seconds.len(), run.elapsed_s.known()), (2, Some(seconds[0])));
}

#[test]
fn a_latency_of_too_few_digits_is_unknown_and_the_only_target_is_one_measurement() {
    let heading = ",Target,Q,Bytes,Ops,Time,Avg Rate,IOPS,Latency,Percent CPU,OP_Type,ReqSize\n";
    let rows = |latency: &str| {
        ["TARGET   PASS0001,   0,16", "TARGET   Average ,   0,16", "         Combined,   1,16"]
            .map(|row| {
                format!("{row},  2048000000,500000, 20.114,101.820,24858.31, {latency},22.10,write,      4096\n")
            })
            .concat()
    };
    for (latency, wanted) in [("0.0000", None), ("0.0002", None), ("0.0012", Some(1.2e6))] {
        let run = one(&format!("{heading}{}", rows(latency)));
        assert_eq!(figures(&run), [("target-0".to_owned(), Some(24858.31), 1)]);
        assert!(near(run.elapsed_s.known(), 20.114), "{:?}", run.elapsed_s);
        let test = &run.tests[0];
        assert_eq!(test.further.get("latency_mean").and_then(|of| of.median.known()), wanted, "{latency}");
        let said = test.warnings.iter().any(|told| told == "line 2: a latency of too few digits, which is unknown");
        assert_eq!(said, wanted.is_none(), "{:?}", test.warnings);
    }
    // Several targets are measured together, too, and at once.
    let run = one(include_str!("../logs/xdd-passes.txt"));
    assert!(ids(&run) == ["target-0", "target-1", "xdd"] && near(run.elapsed_s.known(), 0.008), "{:?}", run.elapsed_s);
    // Nought milliseconds of jitter are less than half a microsecond.
    let jitter = UDP.replace("0.009 ms", "0.000 ms");
    assert!(!one(&jitter).tests[0].further.contains_key("jitter") && one(UDP).tests[0].further.contains_key("jitter"));
}

#[test]
fn the_duration_is_that_of_the_row_with_the_figure() {
    let seconds = |text: &str| one(text).tests[0].repeats[0].seconds.known();
    let iperf = include_str!("../logs/iperf2-udp.txt");
    let report = iperf.find("Server Report").unwrap();
    let longer = format!("{}{}", &iperf[..report], iperf[report..].replacen("0.0000-2.0", "0.0000-2.1", 1));
    let wanted = seconds(iperf).unwrap() + 0.1;
    assert!(near(seconds(&longer), wanted), "{:?}, not {wanted}", seconds(&longer));
    let netperf = "MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 () port 0 AF_INET\n\
        Socket  Message  Elapsed      Messages\nSize    Size     Time         Okay Errors   Throughput\n\
        bytes   bytes    secs            #      #   10^6bits/sec\n\n\
        212992    1472   10.00      865012      0    1018.64\n212992           10.25      864000           992.60\n";
    assert_eq!(seconds(netperf), Some(10.25));
    // Of a test whose receiver nobody heard of, the sender's.
    let stopped = UDP.replace(
        "0.00-2.02   sec  47.2 MBytes   196 Mbits/sec  0.009 ms  310/34531 (0.9%)",
        "0.00-2.50   sec  0.00 Bytes  0.00 bits/sec  0.000 ms  0/0 (0%)",
    ) + "iperf3: interrupt - the client has terminated\n";
    assert_eq!(seconds(&stopped), Some(2.0));
}

#[test]
fn losses_and_latency_of_the_streams_are_those_of_their_sum() {
    let rows = |from: &str, to: &str| {
        format!(
            "[  1] {from}-{to} sec  14.3 MBytes  39.9 Mbits/sec   0.004 ms 15/10199 (0.15%) 0.200/0.102/1.874/0.061 ms 3397 pps\n\
             [  2] {from}-{to} sec  14.2 MBytes  39.8 Mbits/sec   0.006 ms 46/10198 (0.45%) 0.400/0.110/1.900/0.061 ms 3397 pps\n\
             [SUM] {from}-{to} sec  28.5 MBytes  79.7 Mbits/sec  61/20397      6794 pps\n"
        )
    };
    let text = format!(
        "Server listening on UDP port 5001 with pid 771\n\
         [  1] local 192.0.2.2%eth0 port 5001 connected with 192.0.2.1 port 38925 (trip-times)\n\
         [  2] local 192.0.2.2%eth0 port 5001 connected with 192.0.2.1 port 46807 (trip-times)\n\
         [ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS\n{}",
        rows("0.0000", "3.0021")
    );
    let test = one(&text).tests.remove(0);
    let counts = ["lost_packets", "packets"].map(|name| test.counters.total(name));
    assert_eq!((counts, test.id.as_str()), ([Some(61), Some(20_397)], "udp-2s-server"));
    let latency = ["latency_mean", "latency_min", "latency_max"].map(|name| further(&test, name).0);
    assert!((latency[0] - 299_843.0).abs() < 1.0 && latency[1..] == [102_000.0, 1_900_000.0], "{latency:?}");
    assert!(test.warnings.iter().any(|told| told.starts_with("jitter is not taken")), "{:?}", test.warnings);
}

#[test]
fn omnis_table_for_people_is_read_by_the_names_above_its_values() {
    let table = "OMNI Send TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 () port 0 AF_INET\n\
        Protocol Local  Throughput Throughput  Elapsed \n         Send              Units       Time    \n         \
        Size                          (sec)   \nTCP      16384  22950.31   10^6bits/s  10.25   \n";
    let run = one(table);
    let test = &run.tests[0];
    assert_eq!(figures(&run), [("omni_send".to_owned(), Some(22_950.31e6), 1)]);
    assert_eq!(
        (test.repeats[0].seconds.known(), word(test, "protocol"), word(test, "message_bytes")),
        (Some(10.25), "TCP".to_owned(), "16384".to_owned())
    );
    // Another protocol is no repeat.
    let run = one(&format!("{table}{}", table.replace("TCP ", "SCTP")));
    assert_eq!(ids(&run), ["omni_send-protocol_TCP", "omni_send-protocol_SCTP"]);
    // Out of line, the names are not sure.
    let why = refused(&table.replace("Protocol Local  ", "Protocol Lo  "));
    assert!(why.starts_with("x:5: values that do not stand below their names"), "{why}");
    let list = |protocol: &str| {
        format!(
            "OMNI Send TEST from a () port 0 to b ()\nPROTOCOL={protocol}\nDIRECTION=Send\nELAPSED_TIME=10.00\nTHROUGHPUT=900.5\nTHROUGHPUT_UNITS=10^6bits/s\n"
        )
    };
    let run = one(&(list("TCP") + &list("UDP")));
    assert_eq!((run.tests.len(), word(&run.tests[1], "protocol")), (2, "UDP".to_owned()));
    assert_eq!(word(&run.tests[0], "direction"), "Send");
}

/// Stamps are taken off before any reader sees the lines.
#[test]
fn stamps_change_nothing_of_any_format() {
    let stamps = [
        "Mar 09 14:02:11 ",
        "[2026-03-09 14:02:11] ",
        "2026-03-09 14:02:11 ",
        "2026-03-09T14:02:11.250 ",
        "2026-03-09T14:02:11+0100 ",
        "[2026-03-09T14:02:11Z] ",
        "Mon Mar  9 14:02:11 2026 ",
        "14:02:11.5 ",
        "[14:02:11] ",
        "1773061331.123456 ",
        "Mar 09 14:02:11 host prog[17]: ",
        "2026-03-09T14:02:11.250+01:00 host prog[17]: ",
    ];
    let mut tried = 0;
    for row in ALL.iter().filter(|row| !row.file.ends_with(".json")) {
        let of = |run: RunResult| -> Vec<_> {
            let undated = |test: Test| Test {
                warnings: test.warnings.into_iter().filter(|told| !told.ends_with("time of the file")).collect(),
                ..test
            };
            run.tests.into_iter().map(undated).collect()
        };
        let plain = of(one(row.text));
        for stamp in stamps {
            let text: String = row.text.lines().map(|line| format!("{stamp}{line}\n")).collect();
            let run = read("x", &text).unwrap_or_else(|why| panic!("{} {stamp}: {why}", row.file)).remove(0);
            assert_eq!(of(run), plain, "{} {stamp}", row.file);
            tried += 1;
        }
    }
    assert!(tried > 150, "{tried}");
}

#[test]
fn a_refusal_names_the_line_and_the_cause() {
    // Broken by a mail program.
    for (from, to, line) in [
        ("192.0.2.2 port 5201\n[ ID]", "192.0.2.2\nport 5201\n[ ID]", 2),
        ("  sender", "\nsender", 8),
        ("196 Mbits/sec", "196\nMbits/sec", 9),
    ] {
        let text = UDP.replacen(from, to, 1);
        assert_ne!(text, UDP);
        let why = refused(&text);
        assert!(
            why.starts_with(&format!("x:{line}: a row that was wrapped, whose end stands on line {}", line + 1)),
            "{why}"
        );
    }
    let iperf = include_str!("../logs/iperf2-tcp.txt");
    let why = refused(&iperf.replacen(" GBytes  26.4 Gbits/sec", " GBytes  26.4\nGbits/sec", 1));
    assert!(why.starts_with("x:7: a row that was wrapped, whose end stands on line 8"), "{why}");
    // An equal cookie is named, and is another test's if that has another protocol.
    let [tcp, udp] = [include_str!("../logs/iperf3-tcp.json"), include_str!("../logs/iperf3-udp.json")];
    let why = refused(&format!("{tcp}{tcp}"));
    assert!(why.contains("the test of line 1 (cookie "), "{why}");
    let cookie = |text: &str| text.split("\"cookie\":\t\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let both = one(&format!("{tcp}{}", udp.replace(&cookie(udp), &cookie(tcp))));
    assert_eq!(ids(&both), ["tcp-1s", "udp-1s"]);
    // Failures have the lines that tell them.
    let failed = "\niperf3: error - unable to receive control message\n";
    let head = UDP.lines().take(4).collect::<Vec<_>>().join("\n");
    assert_eq!(one(&format!("{head}{failed}")).reasons, ["udp-1s: line 5: unable to receive control message"]);
    // Of several programs in one log, the one that is at fault.
    let pods =
        |text: &str, pod: &str| -> String { text.lines().map(|line| format!("[pod/{pod}/c] {line}\n")).collect() };
    let cut = UDP.replace("196 Mbits/sec", "");
    let why = refused(&(pods(UDP, "a") + &pods(&cut, "b")));
    assert!(why.starts_with("x:18: pod/b/c: an amount or a rate in no unit"), "{why}");
    // What a client that was interrupted did not hear is no nought.
    let stopped =
        udp.replacen("\"intervals\":", "\"error\": \"interrupt - the client has terminated\", \"intervals\":", 1);
    let received = stopped.find("\"sum_received\"").unwrap();
    let rate = stopped[received..].replacen("8911443.43472014", "0", 1);
    let test = one(&format!("{}{rate}", &stopped[..received])).tests.remove(0);
    let heard = ["received_bytes", "lost_packets"].map(|name| test.counters.total(name));
    let unheard = ["jitter", "lost", "cpu_server"].iter().all(|name| !test.further.contains_key(*name));
    assert!(heard == [None, None] && unheard && word(&test, "figure") == "sent", "{heard:?} {:?}", test.further);
    // A program's data file that nothing here reads.
    let flent = "{\n \"metadata\": {\n  \"NAME\": \"rrul\",\n  \"SERIES_META\": {}\n },\n \"results\": {}\n}\n";
    assert!(
        refused(flent).starts_with("x: a file of flent, which is not read; the formats that are read are linerate")
    );
    assert!(refused("{\"a\": 1}\n").starts_with("x: JSON of a program that is not known; the formats"));
}

#[test]
fn the_logs_own_time_is_the_start_where_its_zone_is_sure() {
    let start = |text: &str| one(text).start.to_string();
    let tcp = include_str!("../logs/iperf2-tcp.txt");
    let script = "Script started on 2024-08-30 16:20:11+02:00 [TERM=\"xterm\"]\n";
    assert_eq!(start(&format!("{script}{tcp}")), "2024-08-30T14:20:11.000Z");
    let stamped = |stamp: &str| tcp.lines().map(|line| format!("{stamp}{line}\n")).collect::<String>();
    assert_eq!(start(&stamped("[2024-08-30T16:20:11+0200] ")), "2024-08-30T14:20:11.000Z");
    assert_eq!(start(&stamped("1664874140.250 ")), "2022-10-04T09:02:20.250Z");
    let netperf = include_str!("../logs/npresults.txt");
    let block = &netperf[netperf.find("MIGRATED").unwrap()..netperf.find("netperf -t TCP_STREAM -c").unwrap()];
    let interim = "Interim result: 9000.50 10^6bits/s over 1.000 seconds ending at 1664874141.250\n";
    assert_eq!(start(&block.replacen('\n', &format!("\n{interim}"), 1)), "2022-10-04T09:02:20.250Z");
    // The first document has no time, the second has.
    let failed = "{\"start\": {\"connected\": []}, \"intervals\": [], \"end\": {}, \"error\": \"error - unable to connect to server: Connection refused\"}\n";
    let run = one(&format!("{failed}{}", include_str!("../logs/iperf3-tcp.json")));
    assert_eq!(run.start.to_string(), "2026-11-26T07:08:04.000Z");
    // A date without a sure zone is not said to be none.
    let said = |text: &str, part: &str| one(text).tests[0].warnings.iter().any(|told| told.starts_with(part));
    assert!(said(tcp, "the log does not tell when it was made"));
    assert!(said(&stamped("Mar 09 14:02:11 "), "the log's dates have no zone"));
}

#[test]
fn the_time_of_tests_at_once_is_not_their_sum() {
    let elapsed = |text: &str| one(text).elapsed_s.known();
    let runs = import_foreign::runs();
    for file in ["iperf2-dual.txt", "iperf2-2.1-full-duplex.txt"] {
        let (_, run) = runs.iter().find(|(name, _)| name == file).unwrap();
        let seconds = run.tests.iter().filter_map(|test| test.repeats[0].seconds.known());
        assert_eq!((run.tests.len(), run.elapsed_s.known()), (2, seconds.reduce(f64::max)), "{file}");
    }
    let bidir = include_str!("../logs/iperf3-bidir.json");
    assert!(elapsed(bidir).is_some_and(|seconds| seconds < 3.0), "{:?}", elapsed(bidir));
    let fio = include_str!("../logs/fio-randrw.json");
    assert_eq!(elapsed(fio), one(fio).tests[0].repeats[0].seconds.known());
    let again = fio.replace("1795676894569", "1795676994569");
    assert!(near(elapsed(&format!("{fio}{again}")), 2.0 * elapsed(fio).unwrap()));
    // One after the other they are.
    let one_by_one = include_str!("../logs/iperf2-r.txt");
    assert!(elapsed(one_by_one).is_some_and(|seconds| seconds > 2.0), "{:?}", elapsed(one_by_one));
    // Jobs of terse lines, and programs whose lines are mixed, do not tell.
    let terse = include_str!("../logs/fio-terse.txt");
    let job = terse.split(';').nth(2).unwrap();
    let two = format!("{terse}{}", terse.replacen(job, "other", 1));
    assert!(elapsed(terse).is_some() && elapsed(&two).is_none(), "{:?}", elapsed(&two));
    let (_, pods) = runs.iter().find(|(name, _)| name == "iperf3-two-pods.txt").unwrap();
    assert_eq!(pods.elapsed_s.known(), None);
}

#[test]
fn a_protocol_that_is_not_told_is_not_called_tcp_without_a_word() {
    let json = include_str!("../logs/iperf3-refused.json");
    for text in [json, "iperf3: error - unable to connect to server: Connection refused\n"] {
        let run = one(text);
        let test = &run.tests[0];
        assert_eq!((test.id.as_str(), test.title.as_str(), test.workload.as_str()), ("iperf3", "iperf3", "iperf3"));
        assert_eq!((word(test, "protocol"), word(test, "reverse")), ("none".to_owned(), "none".to_owned()));
    }
    let said = |text: &str, part: &str| one(text).tests[0].warnings.iter().any(|told| told.contains(part));
    let server = include_str!("../logs/foreign/iperf3-server-three.txt");
    assert!(said(server, "does not tell TCP from SCTP") && !said(include_str!("../logs/iperf3-tcp.txt"), "SCTP"));
    assert!(said(include_str!("../logs/iperf2-tcp.csv"), "do not tell TCP from datagrams"));
    let iperf = include_str!("../logs/iperf2-tcp.txt");
    let bare = &iperf[iperf.find('[').unwrap()..];
    assert!(
        said(bare, "neither a heading nor a line of datagrams tells the protocol: it is called TCP")
            && !said(iperf, "neither a heading")
    );
}
