//! Tests of what is left of a log of which a part cannot be read: a test that was broken off, cut or wrapped is named and not taken,
//! and the whole ones beside it are.

use crate::import::{file, further};
use crate::import_refused::{figures, one, refused};
use linerate_lab::import::not_taken;
use linerate_lab::report::{self, FORMS};
use linerate_lab::text;
use linerate_result::{RunResult, Unit};

pub(crate) fn left(run: &RunResult) -> Vec<&str> {
    not_taken(run).collect()
}

/// The only result that was not taken, which begins so.
pub(crate) fn named(run: &RunResult, begins: &str) {
    assert!(matches!(left(run)[..], [told] if told.starts_with(begins)), "{begins}: {:?}", left(run));
}

const BANNER: &str =
    "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.66.0.2 () port 0 AF_INET : demo\n";

const TABLE: &str = "Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n\
    bytes  bytes   bytes    secs.    10^9bits/sec\n\n131072  16384  16384    4.00       24.18   \n";

fn interim(end: f64) -> String {
    format!("Interim result:   24.30 10^9bits/s over 1.000 seconds ending at {end:.3}\n")
}

#[test]
fn a_test_of_netperf_that_was_broken_off_is_named() {
    let whole = format!("{BANNER}{}{TABLE}", interim(1_713_380_600.1));
    let broken = format!("{BANNER}{}^C\n", interim(1_713_380_640.8));
    let command = "$ netperf -H 10.66.0.2 -D 1\n";
    for (text, line) in [
        (format!("{whole}{command}{broken}$ exit\n"), 10),
        (format!("{whole}{command}{broken}{command}{whole}"), 10),
        (format!("{broken}{whole}"), 1),
        (format!("{whole}{BANNER}"), 9),
    ] {
        let run = one(&text);
        assert!(
            figures(&run).iter().all(|(id, value, _)| id.starts_with("tcp_stream") && *value == Some(24.18e9)),
            "{text}"
        );
        named(&run, &format!("line {line} was not taken: a test without its result, as one that was broken off"));
    }
    // Without a banner (-P 0) its intervals are no samples of the test behind it.
    let row = "131072  16384  16384    4.00       24.20   \n";
    let bare = |row: &str, end: f64| format!("$ netperf -H 10.66.0.2 -D 1 -P 0\n{}{row}", interim(end));
    let run = one(&format!("{whole}{}{}", bare("^C\n", 1_713_380_640.8), bare(row, 1_713_380_660.8)));
    named(&run, "line 10 was not taken: a test without its result");
    let samples: usize = run.tests.iter().map(|test| test.samples.len()).sum();
    assert_eq!(samples, 2);
    assert!(refused(&broken).starts_with("x:1: a test without its result"), "{}", refused(&broken));
    // The line of the datagrams that arrived has not come.
    let udp = "MIGRATED UDP STREAM TEST from a () port 0 to b () port 0\nSocket  Message  Elapsed      Messages\n\
        Size    Size     Time         Okay Errors   Throughput\nbytes   bytes    secs            #      #   10^6bits/sec\n\n\
        212992    1472   10.00      865012      0    1018.64\n";
    named(&one(&format!("{whole}{udp}")), "line 14 was not taken: datagrams without the line of those received");
}

#[test]
fn a_run_of_pkt_gen_or_iperf_that_was_broken_off_is_named() {
    let tx = file("pktgen-tx.txt").text;
    let opening = "Sending on netmap:eth0: 4 queues, 1 threads and 1 cpus.\n512.1 start_threads [2573] Wait 2 secs for phy reset\n^C\n";
    let run = one(&format!("{tx}{opening}"));
    assert_eq!(figures(&run), figures(&one(tx)));
    named(&run, &format!("line {} was not taken: a run without its figures", tx.lines().count() + 1));
    let heading = "Client connecting to 192.0.2.9, TCP port 5001\nTCP window size: 85.0 KByte (default)\n";
    let rule = "------------------------------------------------------------\n";
    let tcp = file("iperf2-tcp.txt").text;
    let client = format!("{rule}{heading}{rule}^C\n");
    for (text, line) in [(format!("{tcp}{client}"), tcp.lines().count() + 2), (format!("{client}{tcp}"), 2)] {
        let run = one(&text);
        assert_eq!(run.tests[0].value, one(tcp).tests[0].value);
        named(&run, &format!("line {line} was not taken: a client without a connection"));
    }
    // Streams at once, before their sum, beside a whole test.
    let two = file("iperf2-tcp-p2.txt").text;
    let run = one(&format!("{tcp}{}", &two[..two.find("[SUM] 0.0000-2.0028").unwrap()]));
    assert_eq!(figures(&run), figures(&one(tcp)));
    assert!(left(&run)[0].contains("streams at once (line "), "{:?}", left(&run));
    // Who says why has no need of it.
    assert!(left(&one(&format!("{tcp}{rule}{heading}{rule}connect failed: Connection refused\n"))).is_empty());
}

pub(crate) fn iperf3(port: u16, value: &str, amount: &str) -> String {
    format!(
        "Connecting to host 192.0.2.20, port 5201\n[  4] local 192.0.2.21 port {port} connected to 192.0.2.20 port 5201\n\
         [ ID] Interval           Transfer     Bandwidth       Retr  Cwnd\n\
         [  4]   0.00-3.00   sec  {amount} GBytes  {value} Gbits/sec    0    621 KBytes       \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bandwidth       Retr\n\
         [  4]   0.00-3.00   sec  {amount} GBytes  {value} Gbits/sec    0             sender\n\
         [  4]   0.00-3.00   sec  {amount} GBytes  {value} Gbits/sec                  receiver\n\niperf Done.\n"
    )
}

#[test]
fn the_last_test_that_is_cut_is_named_and_the_whole_ones_are_taken() {
    let (first, second) = (iperf3(38412, "7.40", "2.59"), iperf3(38420, "9.39", "3.28"));
    let wanted = figures(&one(&first));
    let at = |part: &str| second.find(part).unwrap();
    for end in [
        at("[  4]   0.00-3.00   sec  3.28 GBytes  9.39 Gbits/sec    0    621") + 40,
        at(" sender") - 20,
        at("3.00   sec  3.28") + 20,
    ] {
        let text = format!("{first}== mtu 9000\n{}", &second[..end]);
        let run = one(&text);
        assert_eq!(figures(&run), wanted);
        named(
            &run,
            &format!(
                "line {} was not taken: the last line has no end, so that it may be cut, and with it the test of line 12",
                text.lines().count()
            ),
        );
        // The same with the cut line away: what is there has no summary.
        let whole = &text[..=text.rfind('\n').unwrap()];
        if !whole.contains("9.39 Gbits/sec    0             sender") {
            let run = one(whole);
            assert_eq!(figures(&run), wanted, "{whole}");
            named(&run, "line 12 was not taken: a test without its ");
        }
    }
    // Nothing before it is whole.
    let why = refused(&second[..at(" sender")]);
    assert!(
        why.starts_with("x:7: the last line has no end, so that it may be cut, and with it the test of line 1"),
        "{why}"
    );
    // Other programs.
    let netperf = file("npresults.txt").text;
    let run = one(netperf.trim_end());
    assert!(left(&run)[0].contains("the last line has no end"), "{:?}", left(&run));
    let tx = file("pktgen-tx.txt").text;
    let run = one(&format!("{tx}{}", &tx[..tx.find("Speed: ").unwrap() + 9]));
    assert_eq!((figures(&run), left(&run).len()), (figures(&one(tx)), 1));
    let terse = file("fio-terse.txt").text;
    let (line, of_5) = (terse.lines().next().unwrap(), terse.replacen("3;", "5;", 1));
    let run = one(&format!("{line}\n# another box\n{of_5}"));
    assert_eq!(figures(&run), figures(&one(&format!("{line}\n"))));
    named(&run, "line 3 was not taken: terse version 5, which is not read");
    let run = one(&format!("{line}\n# another box\n{}", &line[..line.len() / 2]));
    named(&run, "line 3 was not taken: the last line has no end");
    let run = one(&format!("{line}\n# another box\n{}\n", &line[..line.len() / 2]));
    named(&run, "line 3 was not taken: fewer values than a terse line has");
}

#[test]
fn the_last_document_of_iperf3_that_is_cut_is_named_and_the_whole_ones_are_taken() {
    let tcp = file("iperf3-tcp.json").text;
    let other = tcp.replace("qrtqxx", "other1");
    let run = one(&format!("{tcp}{}", &other[..other.len() / 2]));
    assert_eq!(figures(&run), figures(&one(tcp)));
    let told = left(&run)[0].to_owned();
    assert!(told.contains(&format!("(the document of line {} has no end)", tcp.lines().count() + 1)), "{told}");
    let event = "{\"event\":\"start\",\"data\":{\"cookie\":\"x\"}}\n";
    let run = one(&format!("{tcp}{event}"));
    named(&run, &format!("line {} was not taken: events of a test without its end", tcp.lines().count() + 1));
    // Of fio one before it may be a status of the same run.
    let fio = file("fio-randrw.json").text;
    assert!(refused(&format!("{fio}{}", &fio[..fio.len() / 2])).contains("has no end)"));
}

/// As mail programs quote and wrap.
#[test]
fn rows_that_a_mail_has_wrapped_are_named_and_the_tests_beside_them_are_taken() {
    let quoted = |text: &str| text.lines().map(|line| format!("> {line}\n")).collect::<String>();
    let wrapped = iperf3(38420, "9.39", "3.28")
        .replace("connected to 192", "connected to\n192")
        .replace("    0    621", "\n0    621")
        .replace("    0             sender", "\n0             sender")
        .replace("                  receiver", "\nreceiver");
    let mail = "From: Karl <k@example.org>\nDate: Wed, 18 Sep 2019 11:20:33 +0200\n\nHi,\n";
    let first = iperf3(38412, "7.40", "2.59");
    let wanted = figures(&one(&first));
    for (text, line) in
        [(format!("{mail}{}{}", quoted(&first), quoted(&wrapped)), 16), (format!("{wrapped}{first}"), 2)]
    {
        let run = one(&text);
        assert_eq!(figures(&run), wanted, "{text}");
        let why = format!("a row that was wrapped, whose end stands on line {}; give the lines", line + 1);
        named(&run, &format!("line {line} was not taken: {why}"));
        assert!(!run.start.to_string().starts_with("2019-09-18"), "that of the mail");
    }
    assert!(
        refused(&wrapped).starts_with("x:2: a row that was wrapped, whose end stands on line 3"),
        "{}",
        refused(&wrapped)
    );
    // A condition between them holds.
    let run = one(&format!("mtu 1500\n{first}{wrapped}mtu 9000\n{}", iperf3(38430, "9.90", "3.46")));
    let ids: Vec<_> = figures(&run).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["tcp-1s-mtu_1500", "tcp-1s-mtu_9000"]);
    // Quoted lines of other programs.
    let netperf = format!("{BANNER}{TABLE}");
    assert_eq!(one(&quoted(&quoted(&netperf))).tests[0].title, "TCP_STREAM");
    // Numbers behind a row are none of it.
    let tcp = file("iperf2-tcp.txt").text;
    assert_eq!(figures(&one(&format!("{tcp}1500\n"))), figures(&one(tcp)));
}

const SERVER: &str = "Server listening on UDP port 5001 with pid 5175\n\
    [  1] local 10.5.0.1%eth0 port 5001 connected with 10.5.0.7 port 35510 (trip-times) (sock=3) (peer 2.1.8) on 2024-08-20 10:00:01 (UTC)\n\
    [ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr\n\
    [  1] 0.0000-1.0000 sec  2.38 MBytes  20.0 Mbits/sec   0.024 ms 3/1701 (0.18%) 0.611/0.204/1.402/0.110 ms 1698 pps 1698/1(1) pkts 4085\n\
    [  1] 0.0000-1.0000 sec T8-PDF: bin(w=100us):cnt(1698)=3:100,5:500 (5.00/95.00/99.7%=3/14/14,Outliers=0,obl/obu=0/0)\n\
    [  1] 0.0000-2.0006 sec  4.77 MBytes  20.0 Mbits/sec   0.027 ms 3/3402 (0.088%) 0.611/0.204/1.402/0.110 ms 1698 pps 3399/1(1) pkts 4087\n\
    [  1] 0.0000-2.0006 sec T8(f)-PDF: bin(w=100us):cnt(3399)=3:200,5:1000 (5.00/95.00/99.7%=3/14/14,Outliers=0,obl/obu=0/0)\n\
    [  1] 0.0000-2.0006 sec F8(f)-PDF: bin(w=100us):cnt(60)=9:2 (5.00/95.00/99.7%=11/11/13,Outliers=0,obl/obu=0/0)\n\
    [  1] 0.0000-2.0006 sec  2 datagrams received out-of-order\n";

#[test]
fn histograms_of_iperf_are_no_intervals() {
    let run = one(SERVER);
    assert_eq!(figures(&run), [("udp-1s-server".to_owned(), Some(20e6), 1)]);
    let test = &run.tests[0];
    assert_eq!(
        (test.counters.total("lost_packets"), test.counters.total("out_of_order"), test.samples.len()),
        (Some(3), Some(2), 1)
    );
    assert_eq!(further(test, "latency_mean").0, 611_000.0);
}

#[test]
fn a_bounceback_of_iperf_is_no_rate_of_tcp() {
    let row = |span: &str, count: u32| {
        format!(
            "[  1] {span} sec  9.77 KBytes  16.0 Kbits/sec    {count}=0.442/0.381/0.560/0.047 ms    0   14K/422 us    2262 rps\n"
        )
    };
    let heading = "Client connecting to 10.3.1.8, TCP port 5001 with pid 90211 (1/0 flows/load)\n";
    let about = "Bounceback test (req/reply size = 100 Byte/ 100 Byte) (server hold req=0 usecs & tcp_quickack)\n";
    let connected = |mark: &str| {
        format!(
            "[  1] local 10.3.1.4%eth0 port 40202 connected with 10.3.1.8 port 5001 {mark}(icwnd/mss/irtt=14/1448/402)\n"
        )
    };
    let pdf = "[  1] 0.00-5.01 sec BB8(f)-PDF: bin(w=100us):cnt(50)=4:11,5:36,6:3 (5.00/95.00/99.7%=4/5/6,Outliers=0,obl/obu=0/0)\n";
    let mark = "(bb w/quickack req/reply/hold=100/100/0) ";
    let (total, plain) = (row("0.00-5.01", 50), "[  1] 0.00-5.01 sec  9.77 KBytes  16.0 Kbits/sec\n");
    for (text, line) in [
        (format!("{heading}{about}{}{total}{pdf}", connected(mark)), 3),
        (format!("{heading}{about}{}{total}", connected(mark)), 3),
        // Each of what tells it alone.
        (format!("{heading}{about}{}{plain}", connected("")), 3),
        (format!("{heading}{}{plain}", connected(mark)), 2),
        (format!("{heading}{}{total}", connected("")), 2),
    ] {
        let why = refused(&text);
        assert!(why.starts_with(&format!("x:{line}: a test of requests that are sent back (--bounceback)")), "{why}");
        // Beside others it is named.
        let run = one(&format!("{}{text}", file("iperf2-tcp.txt").text));
        assert_eq!(figures(&run), figures(&one(file("iperf2-tcp.txt").text)));
        assert!(left(&run)[0].contains("--bounceback"), "{:?}", left(&run));
    }
}

/// Document of fio about jobs on several machines.
pub(crate) fn of_clients() -> serde_json::Value {
    let json = file("fio-two-jobs.json").text;
    let document: serde_json::Value = serde_json::from_str(&json[json.find('{').unwrap()..]).unwrap();
    let mut job = document["jobs"][0].clone();
    let mut client = |name: &str, host: &str, iops: f64| {
        job["jobname"] = name.into();
        job["hostname"] = host.into();
        job["port"] = 8765.into();
        job["read"]["iops"] = iops.into();
        job["read"]["runtime"] = 15_003.into();
        job.as_object_mut().unwrap().remove("elapsed");
        job.as_object_mut().unwrap().remove("job_start");
        job.clone()
    };
    let all = [("rr", "10.3.3.11", 26_802.1), ("rr", "10.3.3.12", 26_584.9), ("All clients", "10.3.3.11", 53_383.5)];
    let clients: Vec<_> = all.map(|(name, host, iops)| client(name, host, iops)).to_vec();
    serde_json::json!({"fio version": "fio-3.35", "timestamp": 1_710_501_010, "client_stats": clients})
}

#[test]
fn fios_clients_are_tests_of_their_hosts_and_their_sum_is_no_sample() {
    let run = one(&format!("hostname=st11, be=0, 64-bit\n<st11> Starting 1 process\n{:#}\n", of_clients()));
    let hosts: Vec<_> = run.tests.iter().map(|test| test.parameters["host"].to_string()).collect();
    let values: Vec<_> = figures(&run).into_iter().map(|(_, value, repeats)| (value.unwrap(), repeats)).collect();
    assert_eq!(hosts, ["10.3.3.11", "10.3.3.12", "all"]);
    assert_eq!(values, [(26_802.1, 1), (26_584.9, 1), (53_383.5, 1)]);
    assert!((run.elapsed_s.known().unwrap() - 15.003).abs() < 1e-6, "at once: {:?}", run.elapsed_s);
    assert!(left(&run).is_empty());
}

/// The time that fio prints is that of its end.
#[test]
fn the_start_of_fios_run_is_its_end_less_its_time() {
    let mut document = of_clients();
    // 2024-03-15T11:10:10Z, and 15.003 s before it.
    assert_eq!(one(&document.to_string()).start.to_string(), "2024-03-15T11:09:54.997Z");
    // One behind the other.
    let jobs: Vec<_> = [false, true, true]
        .iter()
        .zip(["a", "b", "c"])
        .map(|(waits, name)| {
            let mut job = document["client_stats"][0].clone();
            job["jobname"] = name.into();
            job.as_object_mut().unwrap().remove("hostname");
            job["elapsed"] = 31.into();
            job["job options"] = if *waits { serde_json::json!({"stonewall": ""}) } else { serde_json::json!({}) };
            job
        })
        .collect();
    document["jobs"] = jobs.into();
    let run = one(&document.to_string());
    assert_eq!(
        (run.start.to_string().as_str(), run.elapsed_s.known().map(f64::round)),
        ("2024-03-15T11:09:24.991Z", Some(45.0))
    );
}

#[test]
fn a_cookie_of_another_time_is_called_what_it_is() {
    let tcp = file("iperf3-tcp.json").text;
    let at = tcp.find("\"timesecs\":").unwrap() + 11;
    let end = at + tcp[at..].find(['\n', ',', '}']).unwrap();
    let later = format!("{} 1795676999{}", &tcp[..at], &tcp[end..]);
    let why = refused(&format!("{tcp}{later}"));
    assert!(why.contains("the cookie of line 1 (cookie ") && why.contains("a copy that was changed"), "{why}");
    let why = refused(&format!("{tcp}{tcp}"));
    assert!(why.contains("the test of line 1 (cookie ") && why.contains("again, or its other end"), "{why}");
}

#[test]
fn the_figure_of_a_ping_is_its_round_trip() {
    let second = |count: u32, mean: u32| {
        format!(
            "914.1 ping_body [1533] count {count} RTT: min 70988 av {mean} ns\n914.1 ping_body [1549] k: 65536 .. 131072\n\
             914.1 main_thread [2781] 11.204 Kpps (11.204 Kpkts 5.378 Mbps in 1000000 usec) 1.00 avg_batch 99999 min_space\n"
        )
    };
    let lines = format!(
        "Working on netmap:ixl0: 12 queues, 1 threads and 1 cpus.\n913.1 start_threads [2697] Ready...\n{}{}",
        second(11_204, 88_120),
        second(18_796, 88_500)
    );
    let run = one(&format!("{lines}915.7 ping_body [1566] RTT over 30000 packets: min 70988 av 88349 ns\n"));
    let test = &run.tests[0];
    let value = test.value.as_ref().unwrap();
    assert_eq!((value.median.known(), &value.unit), (Some(88_349.0), &Unit::Ns));
    assert_eq!((further(test, "latency_min").0, further(test, "sent").1), (70_988.0, Unit::Pps));
    assert_eq!((test.counters.total("round_trips"), test.title.as_str()), (Some(30_000), "Ping, round trips"));
    assert!(!test.warnings.iter().any(|told| told.contains("ends before the total")), "{:?}", test.warnings);
    assert!(!test.parameters.contains_key("figure"));
    let md = FORMS.iter().find(|form| form.name == "md").unwrap();
    for page in [(md.render)(&run).unwrap(), report::render(&run), text::render(&run, false, 80)] {
        assert!(page.contains("88.3 µs"), "{page}");
    }
    // Without its total it is the mean of the seconds, and says so.
    let cut = one(&lines);
    assert!(cut.tests[0].warnings.iter().any(|told| told.contains("ends before the total")));
    let mean = (11_204.0 * 88_120.0 + 18_796.0 * 88_500.0) / 30_000.0;
    assert_eq!(cut.tests[0].value.as_ref().unwrap().median.known(), Some(mean));
}
