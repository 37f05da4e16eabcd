//! Tests of logs with more in them than one program's tests: rows of programs that are not read, documents beside lines, both ends of a
//! test, lines that others put around, and tests that were cut amid others.

use crate::import::{file, further, read};
use crate::import_left::{iperf3, left, named, of_clients};
use crate::import_refused::{figures, one, refused};
use flate2::{Compression, write::GzEncoder};
use linerate_lab::import::{LARGEST, decoded};
use linerate_lab::text;
use linerate_result::{RunResult, Unit};
use std::io::Write;

fn parameters(run: &RunResult, name: &str) -> Vec<String> {
    let of = |test: &linerate_result::Test| test.parameters.get(name).map_or("none".to_owned(), ToString::to_string);
    run.tests.iter().map(of).collect()
}

/// Rows of programs that are not read, the line of the first of them, and how they are counted.
const ROWS: &[(&str, usize, &str)] = &[
    (
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n \
         2          5000             0.068              0.066              4.151342\n \
         65536      5000             98.02              98.01              0.186940\n",
        2,
        "2 of perftest",
    ),
    (
        "sockperf: Summary: Message Rate is 97530 [msg/sec]\nsockperf: Summary: BandWidth is 1.302 MBps (10.417 Mbps)\n",
        1,
        "2 of sockperf",
    ),
    ("tcp_bw:\n    bw  =  1.42 GB/sec\ntcp_lat:\n    latency  =  10.8 us\n", 2, "2 of qperf"),
    (" 1178.7500 MB /   1.00 sec = 9869.6648 Mbps 39 %TX 41 %RX 0 retrans 0.12 msRTT\n", 1, "1 of nuttcp"),
    ("[ ID ]   Protocol    Interval      Bits/s\n[  6]     TCP      000-001 sec     9.13G\n", 2, "1 of ethr"),
    (
        "$ netperf -H 192.0.2.2 -l 1 -P 0\n131072  16384  16384    1.00     5205.63\n212992           1.00        71951            402.84\n",
        2,
        "2 of netperf without their headings, which -P 1 prints",
    ),
    ("copied 1.1 GB, 2.1 GB/s\n", 1, "1 of another program"),
];

/// No row of figures goes without a word, whichever program it is of.
#[test]
fn rows_of_programs_that_are_not_read_are_counted_beside_a_log() {
    let log = iperf3(38412, "7.40", "2.59");
    let [json, tx] = ["iperf3-tcp.json", "pktgen-tx.txt"].map(|name| file(name).text.to_owned());
    for (rows, first, counted) in ROWS {
        for log in [&log, &json, &tx] {
            for text in [format!("{rows}{log}"), format!("{log}{rows}")] {
                let run = one(&text);
                assert_eq!(figures(&run), figures(&one(log)), "{text}");
                let first = first + if text.starts_with(rows) { 0 } else { log.lines().count() };
                named(&run, &format!("line {first} was not taken: rows of figures that are not read, {counted}: '"));
            }
        }
    }
    let all: String = ROWS.iter().map(|(rows, ..)| *rows).collect();
    let run = one(&format!("{all}{log}"));
    assert!(left(&run)[0].contains("2 of perftest, 2 of sockperf, 2 of qperf, 1 of nuttcp, 1 of ethr, 2 of netperf"));
    // Rates that were asked for, a device's speed and plain numbers are none.
    for text in [
        "Target rate 50.0 Mbits/sec\n",
        "The link is 50 Mbit/sec, period.\n",
        "        Speed: 10000Mb/s\n",
        "1 2 3 4 5\n",
        "0.00 0.01 0.05 1/123 4567\n",
    ] {
        assert!(left(&one(&format!("{text}{log}"))).is_empty(), "{text}");
    }
}

#[test]
fn a_log_without_a_result_is_refused_by_what_is_in_it() {
    let (netperf, nuttcp) = (ROWS[5].0, ROWS[3].0);
    assert!(
        refused(netperf).starts_with("x:2: rows of figures that are not read, 2 of netperf without"),
        "{}",
        refused(netperf)
    );
    assert!(refused(nuttcp).starts_with("x:1: rows of figures that are not read, 1 of nuttcp"), "{}", refused(nuttcp));
    let ethr = format!("[  6]   local 192.0.2.1 port 48032 connected to 192.0.2.2 port 8888\n{}", ROWS[4].0);
    assert!(refused(&ethr).starts_with("x:3: rows of figures that are not read, 1 of ethr"), "{}", refused(&ethr));
    let failed = "$ iperf3 -c 192.0.2.9\niperf3: error - unable to connect to server: Connection refused\n\
        $ iperf -c 192.0.2.9\nconnect failed: Connection refused\nClient connecting to 192.0.2.9, TCP port 5001\n";
    let why = refused(failed);
    assert!(why.starts_with("x: no result of iperf3-text or of iperf in it"), "{why}");
    let why = refused(&format!("{failed}{}", file("iperf2-tcp.txt").text));
    assert!(why.contains("results of iperf3-text and of iperf in one file"), "{why}");
    let sent = "MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 () port 0 AF_INET\n\
        Local Send Throughput,Protocol,Local Send Size\n974.18,UDP,1400\n";
    assert!(refused(sent).starts_with("x:3: a list without THROUGHPUT; ask for"), "{}", refused(sent));
    let whole = file("npresults.txt").text;
    let run = one(&format!("{}{sent}", &whole[..whole.find("netperf -t TCP_STREAM -c").unwrap()]));
    assert_eq!((run.tests.len(), left(&run).len()), (1, 1), "{:?}", left(&run));
}

#[test]
fn an_mtu_is_a_plain_number() {
    let log = iperf3(38412, "7.40", "2.59");
    for (line, mtu) in [
        (" Mtu             : 4096[B]", "none"),
        ("mtu=4096[B]", "none"),
        ("mtu 1500", "1500"),
        ("a cable, mtu=1500, and", "1500"),
        ("with MTU 9000: gro on", "9000"),
        ("MTU: 9000", "9000"),
        ("mtu=9000", "9000"),
    ] {
        assert_eq!(parameters(&one(&format!("{line}\n{log}")), "mtu"), [mtu], "{line}");
    }
}

#[test]
fn fios_output_for_people_is_named_unless_it_is_of_the_document_beside_it() {
    let json = file("fio-randrw.json").text;
    let people = |name: &str, time: &str| {
        format!("{name}: (groupid=0, jobs=1): err= 0: pid=6633: {time}\n  read: IOPS=7129, BW=27.8MiB/s\n")
    };
    assert!(left(&one(&format!("{json}{}", people("r", "Thu Nov 26 07:08:14 2026")))).is_empty());
    let other = people("r", "Thu Nov 26 07:08:11 2026") + &people("s", "Thu Nov 26 07:08:12 2026");
    let run = one(&format!("{other}{json}"));
    assert_eq!(figures(&run), figures(&one(json)));
    named(&run, "line 1 was not taken: 2 jobs in fio's output for people, which is rounded; give that of");
    let terse = file("fio-terse.txt").text;
    let own = people(terse.split(';').nth(2).unwrap(), "Thu Nov 26 07:08:14 2026");
    assert!(left(&one(&format!("{own}{terse}"))).is_empty());
    named(&one(&format!("{own}{own}{terse}")), "line 3 was not taken: 1 jobs in fio's output for people");
}

#[test]
fn the_sum_of_one_client_is_no_further_test_and_hosts_are_shown() {
    let mut document = of_clients();
    let run = one(&document.to_string());
    assert_eq!(parameters(&run, "host"), ["10.3.3.11", "10.3.3.12", "all"]);
    let page = text::render(&run, false, 100);
    assert!(page.contains("10.3.3.12") && page.contains("Host"), "{page}");
    document["client_stats"].as_array_mut().unwrap().remove(1);
    assert_eq!(parameters(&one(&document.to_string()), "host"), ["10.3.3.11"]);
}

#[test]
fn what_a_document_holds_of_its_server_is_no_other_log() {
    let tcp = file("iperf3-tcp.json").text;
    let end = tcp.rfind('}').unwrap();
    let of_server = "Accepted connection from 192.0.2.1, port 36500\\n[  5] local 192.0.2.2 port 5201 connected to 192.0.2.1 port 4\\n";
    let text = format!("{},\n\t\"server_output_text\":\t\"{of_server}\"\n}}\n", &tcp[..end]);
    assert_eq!(figures(&one(&text)), figures(&one(tcp)));
    for warning in ["iperf3: warning: unable to set the TTL\n", "iperf3: OUT OF ORDER - incoming packet = 5\n"] {
        let run = one(&format!("{warning}{tcp}{warning}"));
        assert_eq!((figures(&run), run.exit_code()), (figures(&one(tcp)), 0));
    }
    let run = one(&format!("{tcp}iperf3: error - unable to connect to server: Connection refused\n"));
    assert!(run.exit_code() == 1 && run.reasons[0].contains(": unable to connect"), "{:?}", run.reasons);
    let both = refused(&format!("{tcp}{}", iperf3(38412, "7.40", "2.59")));
    assert!(both.contains("results of iperf3 and of iperf3-text in one file"), "{both}");
}

/// Members that versions 3.17 to 3.21 have added.
#[test]
fn documents_of_newer_iperf3_are_read_as_those_before() {
    let tcp = file("iperf3-tcp.json").text;
    let newer = tcp
        .replacen("\"start\":\t{", "\"title\": \"a\", \"extra_data\": \"b\", \"start\":\t{ \"fq_rate\": 0,", 1)
        .replacen("\"timesecs\":", "\"timemillisecs\": 1795676884123, \"timesecs\":", 1)
        .replacen(
            "\"protocol\":",
            "\"bidir\": 0, \"fqrate\": 0, \"interval\": 1, \"gso\": 0, \"gro\": 0, \"protocol\":",
            1,
        )
        .replacen("\"retransmits\":", "\"reorder\": 0, \"retransmits\":", 1);
    assert!(["fq_rate", "timemillisecs", "gso", "reorder"].iter().all(|name| newer.contains(name)));
    let run = one(&format!("{tcp}{}", newer.replace("qrtqxx", "other1")));
    assert_eq!((figures(&run).len(), run.tests[0].repeats.len()), (1, 2), "{:?}", run.tests);
}

#[test]
fn lines_of_containers_and_marks_in_brackets_tell_programs_apart() {
    let marked = |mark: &str, text: &str| text.lines().map(|line| format!("{mark}{line}\n")).collect::<Vec<_>>();
    let mixed = |a: Vec<String>, b: Vec<String>| a.iter().zip(&b).map(|(a, b)| format!("{a}{b}")).collect::<String>();
    let [a, b] = [("38412", "192.0.2.20"), ("38420", "192.0.2.30")]
        .map(|(port, host)| iperf3(port.parse().unwrap(), "7.40", "2.59").replace("192.0.2.20", host));
    let both = mixed(marked("client-a  | ", &a), marked("client-b  | ", &b));
    for begin in [
        "Attaching to client-a, client-b\n",
        " ✔ Network bench_default  Created   0.1s\nAttaching to client-a, client-b\n",
        "[+] Running 2/2\n ✔ Container client-a  Created   0.1s\n",
    ] {
        let run = one(&format!("{begin}{both}client-a exited with code 0\n"));
        assert_eq!(parameters(&run, "source"), ["client-a", "client-b"]);
    }
    let [tx, rx] = ["pktgen-tx.txt", "pktgen-rx.txt"].map(|name| file(name).text);
    let run = one(&(marked("[rx] ", rx).concat() + &marked("[tx] ", tx).concat()));
    let found: Vec<_> = figures(&run).into_iter().map(|(_, value, _)| value).collect();
    assert_eq!(found, [figures(&one(rx))[0].1, figures(&one(tx))[0].1]);
    assert_eq!(figures(&one(&marked("[tx] ", tx).concat())), figures(&one(tx)));
}

/// As pkt-gen wrote it from 2013 to 2015.
#[test]
fn round_trips_of_older_pkt_gen_are_read() {
    let text = "Sending on vale0:a: 1 queues, 1 threads and 1 cpus.\n\
        215.042200 ping_body [1085] count 81210 min 6310 av 8102\n\
        215.043100 main_thread [2416] 81.210 Kpps (81.210 Kpkts 38.981 Mbps in 1000501 usec) 1.00 avg_batch 1022 min_space\n\
        216.042201 ping_body [1085] count 84020 min 6288 av 7931\n\
        216.043101 main_thread [2416] 84.020 Kpps (84.020 Kpkts 40.330 Mbps in 1000501 usec) 1.00 avg_batch 1022 min_space\n\
        Sent 165230 packets 9913800 bytes 165230 events 60 bytes each in 2.00 seconds.\n\
        Speed: 82.615 Kpps Bandwidth: 39.655 Mbps (raw 55.517 Mbps). Average batch: 1.00 pkts\n";
    let run = one(text);
    let mean = (81_210.0 * 8102.0 + 84_020.0 * 7931.0) / 165_230.0;
    assert!((figures(&run)[0].1.unwrap() - mean).abs() < 1e-6 && run.tests[0].workload == "pkt-gen-ping");
    assert_eq!(further(&run.tests[0], "latency_min"), (6288.0, Unit::Ns));
}

const CSV: &str = "20240311101502,192.0.2.10,40218,192.0.2.20,5001,3,0.0-10.0,1180434432,944347545\n\
    20240311101502,192.0.2.10,40220,192.0.2.20,5001,4,0.0-10.0,1171390464,937112371\n\
    20240311101502,192.0.2.10,0,192.0.2.20,5001,-1,0.0-10.0,2351824896,1881459916\n\
    20240311101531,192.0.2.10,52117,192.0.2.20,5001,3,0.0-10.0,125000190,100000152\n\
    20240311101531,192.0.2.20,5001,192.0.2.10,52117,3,0.0-10.0,123000780,98400624,0.014,1360,85034,1.599,0\n\
    20240311101559,192.0.2.10,40232,192.0.2.20,5001,3,0.0-1.0,117964800,943718400\n\
    20240311101600,192.0.2.10,40232,192.0.2.20,5001,3,0.0-2.0,235798528,943194112\n";

#[test]
fn values_whose_times_prove_it_are_of_calls_behind_each_other() {
    let run = one(CSV);
    let found: Vec<_> = figures(&run).into_iter().map(|(id, value, _)| (id, value.unwrap())).collect();
    let wanted = [("tcp-2s", 1_881_459_916.0), ("udp", 98_400_624.0), ("tcp", 943_194_112.0)];
    assert_eq!(found, wanted.map(|(id, value)| (id.to_owned(), value)));
    // The same times within a second of each other prove nothing.
    let why = refused(&CSV.replace("20240311101531", "20240311101512"));
    assert!(why.starts_with("x:4: streams that may be at once"), "{why}");
    // A line that is cut: of another call, or perhaps of the one before it.
    let one_by_one: Vec<&str> = CSV.lines().collect();
    let call = |port: &str| one_by_one[0].replace("40218", port) + "\n";
    let two = call("40301") + &call("40302");
    let cut = |end: &str| one(&format!("{two}{end}"));
    assert_eq!(figures(&cut("20240311101542,192.0.2.10,40303,192.0.2.20,5001,3,0.0-1"))[0].2, 2);
    for end in [
        "20240311101542,192.0.2.10,403",
        "20240311101502,192.0.2.10,40303,192.0.2.20,5001,4,0.0-1",
        "20240311101502,192.0.2.20,5001,192.0.2.10,40302,3,0.0-1",
    ] {
        let run = cut(end);
        assert_eq!((figures(&run)[0].2, left(&run).len()), (1, 2), "{end}: {:?}", left(&run));
        assert!(left(&run)[0].starts_with("line 3 was not taken: the last line has no end"), "{:?}", left(&run));
    }
}

/// As the server of iperf 2.1.8 writes.
#[test]
fn a_sum_over_other_tests_time_is_named_and_the_tests_are_taken() {
    let stream = |id: &str, port: u16, mark: &str| {
        format!(
            "[{id}] local 192.0.2.2 port 5001 connected with 192.0.2.1 port {port}{mark} (icwnd/mss/irtt=14/1448/29)\n"
        )
    };
    let row = |id: &str, rate: &str| format!("[{id}] 0.0000-2.0{} sec  12.1 MBytes  {rate} Mbits/sec\n", &rate[..1]);
    let sum = "[SUM] 0.0000-4.0675 sec  36.4 MBytes  75.0 Mbits/sec\n";
    let client = "Client connecting to 192.0.2.1, TCP port 5001\nTCP window size:  135 KByte (default)\n";
    let sends = "[ *8] local 192.0.2.2 port 50734 connected with 192.0.2.1 port 5001 (reverse)\n";
    let text = format!(
        "Server listening on TCP port 5001\n{}{}{}{sum}{}{sends}{client}{}{}",
        stream("  6", 45_246, " (full-duplex)"),
        row(" *6", "50.4"),
        row("  6", "50.5"),
        stream("  7", 45_250, ""),
        row("  7", "50.6"),
        row(" *8", "49.9"),
    );
    let run = one(&text);
    let mut found: Vec<_> = figures(&run).into_iter().map(|(_, value, _)| value.unwrap() / 1e6).collect();
    found.sort_by(f64::total_cmp);
    assert_eq!(found.iter().map(|rate| (rate * 10.0).round()).collect::<Vec<_>>(), [499.0, 504.0, 505.0, 506.0]);
    assert!(run.reasons.is_empty(), "{:?}", run.reasons);
    named(&run, "line 5 was not taken: a [SUM] that is not that of the streams before it");
    // What a client has asked the server to send is not told.
    let asked = |id, port, rate| stream(id, port, " (reverse)") + &row(id, rate);
    let run = one(&format!(
        "Server listening on TCP port 5001\n{}{}",
        asked("  9", 45_300, "50.4"),
        asked(" 10", 45_301, "49.9")
    ));
    assert_eq!(figures(&run).iter().map(|(.., repeats)| *repeats).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn both_ends_of_a_test_are_told_apart_and_take_its_time_once() {
    let client = "Client connecting to 192.0.2.2, TCP port 5003 with pid 9738 (1 flows)\nWrite buffer size: 131072 Byte\n\
        [  1] local 192.0.2.1%eth0 port 40342 connected with 192.0.2.2 port 5003 (icwnd/mss/irtt=14/1448/31)\n\
        [  1] 0.0000-2.0391 sec  9.75 MBytes  40.1 Mbits/sec  156/0          0      336K/8823(10985) us  568\n";
    let server = "Server listening on TCP port 5003 with pid 9283\n\
        [  1] local 192.0.2.2%eth1 port 5003 connected with 192.0.2.1 port 40342 (icwnd/mss/irtt=14/1448/19)\n\
        [  1] 0.0000-2.0192 sec  9.75 MBytes  40.5 Mbits/sec\n";
    for (text, line) in [(format!("{client}{server}"), 4), (format!("{server}{client}"), 3)] {
        let run = one(&text);
        let page = text::render(&run, false, 100);
        assert!(page.contains("Side") && page.contains("Block"), "{page}");
        let seconds = run.tests[0].repeats[0].seconds.known();
        assert_eq!((run.tests.len(), run.elapsed_s.known()), (2, seconds));
        let told = format!("the other end of the test of line {line}, which is measured once");
        assert!(run.tests[1].warnings.contains(&told), "{:?}", run.tests[1].warnings);
    }
    // From the same ports again it is another test.
    let again = client.replace("9.75 MBytes  40.1", "9.70 MBytes  39.9");
    assert!(one(&format!("{client}{again}")).elapsed_s.known().unwrap() > 4.0);
}

#[test]
fn rates_of_datagrams_are_told_by_the_command_or_the_pace() {
    let call = |command: &str, pace: &str, port: u16| {
        format!(
            "{command}Client connecting to 192.0.2.9, UDP port 5001\n\
             Sending 1470 byte datagrams, IPG target: {pace} us (kalman adjust)\nUDP buffer size:  208 KByte (default)\n\
             [  3] local 192.0.2.4 port {port} connected with 192.0.2.9 port 5001\n\
             [  3]  0.0-10.0 sec  12208 KBytes  10001 Kbits/sec\n[  3] Sent 8504 datagrams\n[  3] Server Report:\n\
             [  3]  0.0-10.0 sec  12208 KBytes  10001 Kbits/sec   0.153 ms    0/ 8504 (0%)\n"
        )
    };
    let ids = |run: RunResult| figures(&run).into_iter().map(|(id, ..)| id).collect::<Vec<_>>();
    let of = |rate: &str, pace, port| call(&format!("$ iperf -c 192.0.2.9 -u -b {rate}\n"), pace, port);
    let [one_rate, other] = [of("10m", "1176.00", 4001), of("50m", "235.20", 4002)];
    assert_eq!(ids(one(&(one_rate + &other))), ["udp-1s-client-rate_10m", "udp-1s-client-rate_50m"]);
    let paces = call("", "1176.00", 4001) + &call("", "235.20", 4002);
    assert_eq!(ids(one(&paces)), ["udp-1s-client-pace_us_1176.00", "udp-1s-client-pace_us_235.20"]);
}

#[test]
fn a_packed_log_is_unpacked_up_to_the_largest_size() {
    let packed = |bytes: &[u8]| {
        let mut into = GzEncoder::new(Vec::new(), Compression::fast());
        into.write_all(bytes).unwrap();
        into.finish().unwrap()
    };
    let log = iperf3(38412, "7.40", "2.59");
    let twice = [packed(log.as_bytes()), packed(b"mtu 1500\n")].concat();
    assert_eq!(decoded(&packed(log.as_bytes())).unwrap(), log);
    assert_eq!(decoded(&twice).unwrap(), log.clone() + "mtu 1500\n");
    let cut = &twice[..twice.len() - 12];
    assert!(decoded(cut).unwrap_err().to_string().starts_with("packed by gzip, and broken: "));
    let large = packed(&vec![b' '; usize::try_from(LARGEST).unwrap() + 1]);
    assert!(large.len() < 1 << 20 && decoded(&large).unwrap_err().to_string() == "too large a file");
}

#[test]
fn a_client_that_was_killed_amid_a_log_is_named_and_the_others_are_taken() {
    let (first, second) = (iperf3(38412, "7.40", "2.59"), iperf3(38430, "9.90", "3.46"));
    let killed = iperf3(38420, "9.39", "3.28");
    let wanted = figures(&one(&format!("{first}{second}")));
    for end in ["- - -", "[ ID] Interval", "[  4] local"] {
        let text = format!("{first}{}$ \n{second}", &killed[..killed.find(end).unwrap()]);
        let run = one(&text);
        assert_eq!(figures(&run), wanted, "{text}");
        named(&run, "line 11 was not taken: the test of line ");
    }
    // Its summary may stand within the test behind it.
    let at = killed.find("- - -").unwrap();
    let head = second.find("- - -").unwrap();
    let mixed = format!("{first}{}{}{}", &killed[..at], &second[..head], &killed[at..]);
    assert!(refused(&mixed).starts_with("x:11: the test of line 15 begins before"), "{}", refused(&mixed));
}

#[test]
fn the_last_row_of_xdd_and_document_of_fio_that_is_cut_is_named() {
    let xdd = include_str!("../logs/xdd-passes.txt");
    let at = xdd.rfind(" COMBINED").or(xdd.rfind("COMBINED")).unwrap();
    for end in ["COMBINED  1  1  4  8192000  2000", "COMBINED  1  1  4  8192000  2000\n"] {
        let run = one(&format!("{}{end}", &xdd[..at]));
        let ids: Vec<_> = figures(&run).into_iter().map(|(id, ..)| id).collect();
        assert_eq!(ids, ["target-0", "target-1"]);
        assert!(left(&run)[0].starts_with(&format!("line {} was not taken: ", xdd[..at].lines().count() + 1)));
    }
    let fio = file("fio-randrw.json").text;
    let later = fio.replace("1795676894", "1795676994");
    let run = one(&format!("{fio}{}", &later[..later.len() / 2]));
    assert_eq!(figures(&run), figures(&one(fio)));
    assert!(left(&run)[0].contains("has no end)"), "{:?}", left(&run));
    // One whose time is not there may be the same run's.
    let why = read("x", &format!("{fio}{}", &later[..40])).unwrap_err().to_string();
    assert!(why.contains("has no end)"), "{why}");
}
