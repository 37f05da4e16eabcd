//! Tests of what importers refuse: text of which they cannot prove the figures, and conditions that differ.

use crate::import::{ALL, file, further, read};
use linerate_result::{RunResult, Unit};

/// The line with which a log is refused.
pub(crate) fn refused(text: &str) -> String {
    match read("x", text) {
        Ok(runs) => panic!("read, as {:?}", figures(&runs[0])),
        Err(why) => why.to_string(),
    }
}

pub(crate) fn one(text: &str) -> RunResult {
    read("x", text).unwrap_or_else(|why| panic!("{why}\n{text}")).remove(0)
}

/// Ids, medians and counts of repeats.
pub(crate) fn figures(run: &RunResult) -> Vec<(String, Option<f64>, usize)> {
    let median = |test: &linerate_result::Test| test.value.as_ref().and_then(|value| value.median.known());
    run.tests.iter().map(|test| (test.id.clone(), median(test), test.repeats.len())).collect()
}

/// A document of iperf3 as `--json-stream` tells it.
fn events(document: &str) -> String {
    let document: serde_json::Value = serde_json::from_str(&document[document.find('{').unwrap()..]).unwrap();
    let event =
        |name: &str, data: &serde_json::Value| serde_json::json!({"event": name, "data": data}).to_string() + "\n";
    let intervals = document["intervals"].as_array().unwrap().iter();
    let intervals: String = intervals.map(|interval| event("interval", interval)).collect();
    event("start", &document["start"]) + &intervals + &event("end", &document["end"])
}

#[test]
fn events_of_iperf3_are_the_document_that_they_make() {
    for name in ["iperf3-tcp.json", "iperf3-udp.json", "iperf3-bidir.json", "iperf3-r.json"] {
        let text = file(name).text;
        let (whole, events) = (one(text), events(text));
        assert_eq!(one(&events).tests, whole.tests, "{name}");
        // --json-stream-full-output adds the document: the same test.
        assert_eq!(figures(&one(&format!("{events}{text}"))), figures(&whole), "{name}");
        let cut = &events[..events.rfind("{\"data\"").or(events.rfind("{\"event\"")).unwrap()];
        assert!(refused(cut).starts_with("x:1: events of a test without its end"), "{}", refused(cut));
    }
    let failed = "{\"event\":\"error\",\"data\":\"unable to connect to server\"}\n";
    assert_eq!(one(failed).reasons, ["iperf3: line 1: unable to connect to server"]);
    let ended = format!("{failed}{{\"event\":\"end\",\"data\":{{}}}}\n");
    assert_eq!(one(&ended).reasons, ["iperf3: line 1: unable to connect to server"]);
}

/// Text between documents tells conditions, as between lines.
#[test]
fn text_between_documents_keeps_them_apart() {
    let tcp = file("iperf3-tcp.json").text;
    let other = tcp.replace("qrtqxx", "other1");
    let run = one(&format!("mtu 1500\n{tcp}mtu 9000\n{other}"));
    let ids: Vec<_> = figures(&run).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["tcp-1s-mtu_1500", "tcp-1s-mtu_9000"]);
    assert_eq!(figures(&one(&format!("run 1\n{tcp}run 2\n{other}")))[0].2, 2);
}

#[test]
fn fios_other_outputs_are_read_beside_its_document_or_refused() {
    let json = file("fio-randrw.json").text;
    let people = "r: (g=0): rw=randrw, bs=(R) 4096B-4096B\nfio-3.33\nStarting 1 process\n";
    let behind =
        "\nr: (groupid=0, jobs=1): err= 0: pid=6633: Sat Nov 28 08:55:34 2026\n  read: IOPS=13.2k, BW=51.6MiB/s\n";
    let wanted = figures(&one(json));
    assert_eq!(figures(&one(&format!("{people}{json}{behind}"))), wanted);
    assert!(refused(&format!("{people}{behind}")).starts_with("x:5: fio's output for people"));
    let terse = file("fio-terse.txt").text;
    assert_eq!(figures(&one(&format!("{people}{behind}\n{terse}"))), figures(&one(terse)));
    assert_eq!(figures(&one(&format!("{terse}{json}"))), wanted, "the document has more");
    let test = &one(terse).tests[0];
    assert_eq!(further(test, "throughput"), (16_384_000.0, Unit::BytesPerSecond));
    assert_eq!((further(test, "clat_p99").0, further(test, "cpu_system").0), (3_686_000.0, 18.75));
    // Jobs of one name at once, or one behind the other: the lines do not tell.
    assert!(refused(&format!("{terse}{terse}")).starts_with("x:2: a job of the name of one before it"));
    assert_eq!(figures(&one(&format!("run 1\n{terse}run 2\n{terse}")))[0].2, 2);
    assert!(refused(&terse.replacen("3;", "5;", 1)).starts_with("x:1: terse version 5"));
    assert!(
        refused(&terse.replacen(";16000;", ";96000;", 1)).starts_with("x:1: an amount that is not that of the rate")
    );
}

#[test]
fn datagrams_with_processors_are_one_test_whose_figure_is_what_arrived() {
    let text = "MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo\n\
        Socket  Message  Elapsed      Messages                   CPU      Service\n\
        Size    Size     Time         Okay Errors   Throughput   Util     Demand\n\
        bytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB\n\n\
        262144      64   1.00       200308      0      102.5     68.03    108.732\n\
        262144           1.00       199202             101.9     -1.00    -1.000\n\n";
    let run = one(text);
    assert_eq!(figures(&run), [("udp_stream".to_owned(), Some(101.9e6), 1)]);
    let test = &run.tests[0];
    assert_eq!(further(test, "sent"), (102.5e6, Unit::BitsPerSecond));
    assert_eq!(further(test, "cpu_local"), (68.03, Unit::PerCent));
    assert_eq!(further(test, "service_demand_local"), (108.732, Unit::Other("us/KB".into())));
    assert!(!test.further.contains_key("cpu_remote"), "-1 is not measured");
    assert_eq!((test.counters.total("sent"), test.counters.total("received")), (Some(200_308), Some(199_202)));
    // The second line with the form of a first one, and none at all.
    let why =
        refused(&text.replace("262144           1.00       199202             101.9     -1.00    -1.000", "1 2 3 4"));
    assert!(why.starts_with("x:7: 4 numbers where the line of datagrams received has 6"), "{why}");
    let why = refused(&text[..text.find("262144           1.00").unwrap()]);
    assert!(why.starts_with("x:6: datagrams without the line of those received"), "{why}");
}

#[test]
fn other_tables_of_netperf_are_no_repeats() {
    let block = &file("npresults.txt").text[..file("npresults.txt").text.find("netperf -t TCP_STREAM -c").unwrap()];
    // `-v 2` prints nine numbers behind the five.
    let more = "\x20   8       8      0       0 1.234e+10  16384.00    753243  16384.00 9999\n";
    let run = one(&format!(
        "{block}\nAlignment      Offset         Bytes    Bytes       Sends   Bytes    Recvs\n\
         Local  Remote  Local  Remote  Xfered   Per                 Per\n\
         Send   Recv    Send   Recv             Send (avg)          Recv (avg)\n{more}\n\
         Maximum\nSegment\nSize (bytes)\n 65483\n"
    ));
    assert_eq!(figures(&run), [("tcp_stream".to_owned(), Some(16_232.9e6), 1)]);
    let why = refused(&format!("{block}{more}"));
    assert!(why.starts_with("x:9: numbers that are not those of TCP_STREAM: a processor"), "{why}");
}

#[test]
fn what_verbose_netperf_adds_to_requests_is_no_other_test() {
    let rr = |unit: &str, heading: &str, cpu: &str, value: &str| {
        format!(
            "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 () port 0 AF_INET\n\
             Local /Remote\nSocket Size   Request Resp.  Elapsed {heading}\n\
             Send   Recv   Size    Size   Time    {unit}\nbytes  bytes  bytes   bytes  secs.   per sec{cpu}\n\n{value}\n16384  131072\n"
        )
    };
    let plain = rr("Rate", "Trans.", "", "16384  131072 1        1       1.00     30647.03");
    let cpus = rr(
        "Rate     local  remote local   remote",
        "Trans.   CPU    CPU    S.dem   S.dem",
        "  % S    % S    us/Tr   us/Tr",
        "16384  131072 1       1      1.00   30647.03  12.10  13.20  40.001  42.002",
    );
    let latency = "Alignment      Offset         RoundTrip  Trans    Throughput\n\
        Local  Remote  Local  Remote  Latency    Rate     10^6bits/s\n\
        Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound\n    \
        8      0       0      0   32.630   30647.032 0.245     0.245\n";
    let four = "Alignment      Offset\nLocal  Remote  Local  Remote\nSend   Recv    Send   Recv\n    8      0       0      0\n";
    for text in [&plain, &cpus] {
        for more in [latency, four] {
            let run = one(&format!("{text}{more}"));
            assert_eq!(figures(&run), [("tcp_rr".to_owned(), Some(30_647.03), 1)]);
            assert!(run.tests[0].failures.is_empty() && linerate_lab::import::not_taken(&run).next().is_none());
            // Of a table behind it the unit is its own.
            let run = one(&format!("{text}{more}{text}"));
            assert_eq!(figures(&run), [("tcp_rr".to_owned(), Some(30_647.03), 2)]);
        }
    }
    // -f m -c: the unit stands above the time that it is of.
    let value = "16384  131072 1       1      1.00   0.49  12.10  13.20  40.001  42.002";
    let bits =
        rr("10^6bits local  remote local   remote", "Tput     CPU    CPU    S.dem   S.dem", "  % S    % S", value);
    assert_eq!(one(&bits).tests[0].value.as_ref().unwrap().unit, Unit::BitsPerSecond);
}

/// Ids of tests with their numbers of repeats.
fn repeats(text: &str) -> Vec<(String, usize)> {
    figures(&one(text)).into_iter().map(|(id, _, repeats)| (id, repeats)).collect()
}

fn named(list: &[(&str, usize)]) -> Vec<(String, usize)> {
    list.iter().map(|(id, repeats)| ((*id).to_owned(), *repeats)).collect()
}

#[test]
fn conditions_that_a_log_tells_apart_are_other_tests() {
    let iperf = |size: &str, port: &str| {
        let text = file("iperf2-tcp-p2.txt").text.replace("58690", port);
        format!("iperf -c 127.0.0.1 -l {size} -P 2\n{text}")
    };
    let wanted = named(&[("tcp-2s-client-block_1024", 1), ("tcp-2s-client-block_8192", 1)]);
    assert_eq!(repeats(&(iperf("1K", "58690") + &iperf("8K", "58700"))), wanted);
    assert_eq!(repeats(&(iperf("1K", "58690") + &iperf("1K", "58700"))), named(&[("tcp-2s-client", 2)]));
    // What is written twice was not measured twice.
    let why = refused(&(iperf("1K", "58690") + &iperf("1K", "58690")));
    assert!(why.starts_with("x:34: the test of line 17 again"), "{why}");
    // As the script of published results writes them.
    let block = &file("npresults.txt").text[file("npresults.txt").text.find("MIGRATED").unwrap()..];
    let block = &block[..block.find("netperf -t").unwrap()];
    let labelled = |mtu: u32| format!("Fri Nov 27 15:25:58 UTC 2026 TCP_STREAM mtu={mtu} Block size = 64\n{block}");
    let text = labelled(1500) + &labelled(9000);
    assert_eq!(repeats(&text), named(&[("tcp_stream-mtu_1500", 1), ("tcp_stream-mtu_9000", 1)]));
    let run = one(&text);
    assert_eq!(run.start.to_string(), "2026-11-27T15:25:58.000Z");
    assert_eq!(run.tests[1].parameters["mtu"].count(), Some(9000));
    assert_eq!(repeats(&(labelled(1500) + &labelled(1500))), named(&[("tcp_stream", 2)]));
    // Another host, other options, another length, another command.
    for (from, to, ids) in [
        ("to 127.0.0.1", "to 127.0.0.2", ["tcp_stream-host_127.0.0.1", "tcp_stream-host_127.0.0.2"]),
        (" : demo", " : nodelay : demo", ["tcp_stream-options_none", "tcp_stream-options_nodelay"]),
        (" 1.02 ", " 10.02 ", ["tcp_stream-lasted_s_1.0", "tcp_stream-lasted_s_10.0"]),
    ] {
        let text = block.to_owned() + &block.replace(from, to);
        assert_eq!(repeats(&text), named(&[(ids[0], 1), (ids[1], 1)]));
    }
    let row = "131072  16384  16384    1.00     15115.51\n";
    let again = |command: &str| format!("netperf -t TCP_STREAM\n{block}netperf {command}\n{row}");
    assert_eq!(repeats(&again("-t TCP_STREAM -P 0 -v 1 -c -C")), named(&[("tcp_stream", 2)]));
    let bound = named(&[("tcp_stream", 1), ("tcp_stream-cpu_bind_1_2", 1)]);
    assert_eq!(repeats(&again("-t TCP_STREAM -P 0 -T 1,2")), bound);
}

/// Files of lines: what stands before a copy tells it apart, and a line that comes twice changes no figure.
#[test]
fn a_log_whose_mtu_changes_has_no_repeats_and_doubled_lines_make_no_other_figure() {
    let all = ALL.iter().filter(|row| !row.file.ends_with(".json") && row.file != "npresults.txt");
    for row in all {
        let alone = figures(&one(row.text));
        // Of values with commas, an equal port is the same stream.
        let ports = ["43594", "58704", "41202", "58710", "53855", "58716", "58698", "58690", "48818", "54914", "43778"];
        let again =
            ports.iter().fold(row.text.to_owned(), |text, port| text.replace(port, &format!("6{}", &port[1..])));
        let twice = one(&format!("mtu=1500\n{}mtu=9000\n{again}", row.text));
        let sorted = |mut list: Vec<(Option<f64>, usize)>| {
            list.sort_by(|a, b| a.partial_cmp(b).unwrap());
            list
        };
        let wanted = sorted(alone.iter().flat_map(|(_, median, made)| [(*median, *made); 2]).collect());
        let found = sorted(figures(&twice).into_iter().map(|(_, median, made)| (median, made)).collect());
        assert_eq!(found, wanted, "{}", row.file);
        for test in &twice.tests {
            let mtu = test.parameters.get("mtu").and_then(linerate_result::Parameter::count);
            assert!(mtu == Some(1500) || mtu == Some(9000), "{}: {}", row.file, test.id);
        }
        let doubled: String = row.text.lines().map(|line| format!("{line}\n{line}\n")).collect();
        for (_, median, _) in read("x", &doubled).map_or_else(|_| Vec::new(), |runs| figures(&runs[0])) {
            let same = alone.iter().any(|(_, of, _)| *of == median);
            assert!(same, "{}: {median:?}, alone {alone:?}", row.file);
        }
    }
    for row in ALL.iter().filter(|row| row.text.contains("\"tcp_mss_default\"")) {
        let other = row.text.replace("\"tcp_mss_default\":\t", "\"tcp_mss_default\":\t1");
        let other = other.replace("\"cookie\":\t\"", "\"cookie\":\t\"another");
        assert_ne!(other, row.text);
        let run = one(&format!("{}{other}", row.text));
        assert!(run.tests.iter().all(|test| test.repeats.len() < 2 && test.parameters.contains_key("tcp_mss_default")));
    }
}

#[test]
fn streams_at_once_are_read_by_their_sum_or_not_at_all() {
    let text = file("iperf2-tcp-p2.txt").text;
    // Cut before the last sum, and before the last lines of the streams: a sum of a part is not that of the whole.
    for cut in ["[SUM] 0.0000-2.0028", "[  1] 0.0000-2.0016"] {
        let why = refused(&text[..text.find(cut).unwrap()]);
        assert!(why.contains("streams at once (line ") && why.contains("without the line of their sum"), "{why}");
    }
    let why = refused(&text.lines().skip(6).map(|line| line.to_owned() + "\n").collect::<String>());
    assert!(why.starts_with("x:2: an interval without the line of its connection"), "{why}");
    let why = refused(&text.replace("15.0 GBytes  64.1", "25.0 GBytes  107"));
    assert!(why.starts_with("x:16: a [SUM] that is not that of the streams"), "{why}");
}

#[test]
fn streams_of_one_call_are_no_repeats_of_each_other() {
    let csv = include_str!("../logs/iperf2-tcp-p2.csv");
    let run = one(csv);
    // Over the time of the longer one.
    let (id, median, repeats) = figures(&run).remove(0);
    assert!((median.unwrap() / 43_558_975_888.0 - 1.0).abs() < 1e-4, "{median:?}");
    assert_eq!((id.as_str(), repeats), ("tcp-2s", 1));
    assert_eq!(run.tests[0].parameters["streams"].count(), Some(2));
    assert_eq!(run.tests[0].counters.total("bytes"), Some(10_980_819_064));
    // A second call begins with the first number again.
    let again = csv.replace("58710", "58810").replace("58712", "58812");
    assert_eq!(figures(&one(&format!("{csv}{again}")))[0].2, 2);
    assert_eq!(figures(&one(&format!("{csv}{csv}"))), figures(&run), "written twice it is one");
    // At a server they may be two clients, and so may be streams that end at other times.
    let server = csv.replace("58710,127.0.0.1,29501", "29501,127.0.0.1,58710");
    let server = server.replace("58712,127.0.0.1,29501", "29501,127.0.0.1,58712");
    assert!(refused(&server).contains("streams that may be at once, without their sum"), "{}", refused(&server));
    let longer = csv.replace("2,0.0-2.0,5349048380,21218720144", "2,0.0-4.0,10698096760,21218720144");
    assert!(refused(&longer).starts_with("x:2: a stream that did not last as long"), "{}", refused(&longer));
    let sum = "19700101000000,127.0.0.1,0,127.0.0.1,29501,-1,0.0-2.0,10980819064,43923276256\n";
    let run = one(&format!("{csv}{sum}"));
    assert_eq!(figures(&run), [("tcp-2s".to_owned(), Some(43_923_276_256.0), 1)]);
    let at_once = file("iperf2-tcp.csv").text;
    let at_once = at_once.replace("20261126070715", "19700101000000").replace("20261126070716", "19700101000001");
    assert!(refused(&format!("{csv}{sum}{at_once}")).starts_with("x:4: streams that may be"));
}

/// Ids, medians and whether the other direction was tested too.
fn ways(text: &str) -> Vec<(String, Option<f64>, bool)> {
    let run = one(text);
    let both = run.tests.iter().map(|test| test.parameters.contains_key("bidir"));
    figures(&run).into_iter().zip(both).map(|((id, median, _), both)| (id, median, both)).collect()
}

#[test]
fn both_directions_of_a_stream_are_two_tests() {
    let full = "Client connecting to 10.0.0.2, TCP port 5001\n\
         [  1] local 10.0.0.1 port 36344 connected with 10.0.0.2 port 5001 (full-duplex)\n\
         [ ID] Interval       Transfer     Bandwidth\n\
         [  1] 0.0000-1.0001 sec  1.74 GBytes  14.9 Gbits/sec\n\
         [ *1] 0.0000-1.0001 sec   526 MBytes  4.41 Gbits/sec\n\
         [SUM] 0.0000-1.0016 sec  2.25 GBytes  19.3 Gbits/sec\n";
    let wanted =
        [("tcp-1s-client".to_owned(), Some(14.9e9), true), ("tcp-1s-client-reverse".to_owned(), Some(4.41e9), true)];
    let mut sorted = ways(full);
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(sorted, wanted);
    // Without the sum, and with that of the enhanced lines.
    let without = full.replace("[SUM] 0.0000-1.0016 sec  2.25 GBytes  19.3 Gbits/sec\n", "");
    let mut sorted = ways(&without);
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(sorted, wanted);
    assert_eq!(ways(&full.replace("[SUM]", "[FD1]")).len(), 2);
    assert!(
        refused(&full.replace("2.25 GBytes  19.3", "3.25 GBytes  27.9")).starts_with("x:6: a [SUM] that is not that")
    );
    assert!(refused(&full.replace(" (full-duplex)", "")).starts_with("x:5: a stream in both directions at once"));
    let back = full
        .replace("full-duplex", "reverse")
        .replace("[  1] 0.0000-1.0001 sec  1.74 GBytes  14.9", "[ *1] 0.0000-0.5 sec  1 GBytes  8");
    let back = &back[..back.find("[SUM]").unwrap()];
    assert_eq!(figures(&one(back))[0].0, "tcp-1s-client-reverse", "the other way is another test");
    // Two streams each way: what all of a way moved.
    let two =
        full.replace("[ ID]", "[  2] local 10.0.0.1 port 36346 connected with 10.0.0.2 port 5001 (full-duplex)\n[ ID]");
    let two = two.replace(
        "[SUM] 0.0000-1.0016 sec  2.25 GBytes  19.3",
        "[  2] 0.0000-1.0001 sec  1.74 GBytes  14.9 Gbits/sec\n[ *2] 0.0000-1.0001 sec   526 MBytes  4.41 Gbits/sec\n\
         [SUM-4] 0.0000-1.0016 sec  4.50 GBytes  38.6",
    );
    let mut sorted = ways(&two);
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        sorted,
        [("tcp-2s-client".to_owned(), Some(29.8e9), true), ("tcp-2s-client-reverse".to_owned(), Some(8.82e9), true)]
    );
}

#[test]
fn what_did_not_move_is_a_failure() {
    let udp = "Client connecting to 10.0.0.2, UDP port 5001\n\
               [  1] local 10.0.0.1 port 4261 connected with 10.0.0.2 port 5001 (reverse)\n\
               [ *1] 0.0000-3.0800 sec  0.000 Bytes  0.000 bits/sec   0.000 ms 0/0 (-nan%)\n";
    let run = one(udp);
    assert_eq!(run.reasons, ["udp-1s-client-reverse: line 3: nothing was moved"]);
    assert_eq!(run.tests[0].counted().to_string(), "0 of 1");
    // What arrived was nothing: not what was sent.
    let text = file("iperf3-udp.json").text.replace("8911443.43472014", "0");
    let run = one(&text);
    assert_eq!((run.exit_code(), figures(&run)[0].1), (1, None));
    // A server that sends writes nought for what it does not know.
    let server = text.replacen("\"test_start\"", "\"accepted_connection\":{\"host\":\"10.0.0.1\"},\n\"test_start\"", 1);
    let server = server.replace("\"reverse\":\t0", "\"reverse\":\t1");
    let run = one(&server);
    assert_eq!(figures(&run)[0].1, Some(10_092_099.947_602_306));
    assert!(run.tests[0].warnings.iter().any(|warning| warning.contains("does not tell what arrived")));
    let counts = ["sent_bytes", "received_bytes", "lost_packets"].map(|name| run.tests[0].counters.total(name));
    assert_eq!((counts, run.tests[0].further.contains_key("lost")), ([Some(2_523_136), None, None], false));
}

#[test]
fn who_sent_is_not_guessed_and_a_cut_number_is_not_read() {
    let rates: String = file("pktgen-rx.txt")
        .text
        .lines()
        .filter(|line| line.contains("main_thread"))
        .map(|line| line.to_owned() + "\n")
        .collect();
    assert!(refused(&rates).contains("nothing says whether it sent or received"), "{}", refused(&rates));
    for (name, cut) in [("iperf2-tcp.csv", 4), ("iperf2-tcp.txt", 1), ("pktgen-tx.txt", 2)] {
        let text = file(name).text.trim_end();
        let why = refused(&text[..text.len() - cut]);
        assert!(why.contains("no end, so that it may be cut") || why.starts_with("x:"), "{name}: {why}");
    }
    let two = format!("{}{}", file("npresults.txt").text, file("iperf2-tcp.txt").text);
    assert_eq!(refused(&two), "x: results of netperf and of iperf in one file; import each from its own file");
}

#[test]
fn lists_of_netperf_have_the_keys_of_its_tables() {
    let banner =
        "MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo\n";
    let list = "LSS_SIZE=212992\nRSR_SIZE=212992\nLOCAL_SEND_SIZE=1024\nREMOTE_SEND_SIZE=-1\nELAPSED_TIME=1.00\n\
        THROUGHPUT=1854.46\nTHROUGHPUT_UNITS=10^6bits/s\nREMOTE_RECV_THROUGHPUT=743.52\n\
        LOCAL_SEND_THROUGHPUT=1854.46\nLOCAL_CPU_UTIL=12.50\n\
        REMOTE_CPU_UTIL=-1.00\nLOCAL_SD=1.250\nSD_UNITS=usec/KB\nRT_LATENCY=-1.000\n";
    let test = one(&format!("{banner}{list}")).tests.remove(0);
    let value = test.value.as_ref().unwrap().median.known().unwrap();
    assert!((value - 743.52e6).abs() < 1.0 && (further(&test, "sent").0 - 1854.46e6).abs() < 1.0, "{value}");
    assert_eq!(further(&test, "cpu_local"), (12.5, Unit::PerCent));
    assert_eq!(further(&test, "service_demand_local"), (1.25, Unit::Other("us/KB".into())));
    assert!(!test.further.contains_key("cpu_remote") && !test.further.contains_key("rt_latency"));
    let table = format!(
        "{banner}Socket  Message  Elapsed      Messages\nSize    Size     Time         Okay Errors   Throughput\n\
         bytes   bytes    secs            #      #   10^6bits/sec\n\n\
         212992    1024   1.00       226524      0    1854.46\n212992           1.00        90822            743.52\n\n"
    );
    assert_eq!(one(&table).tests[0].parameters, test.parameters);
    // What arrived is not told: the figure is not known to be it.
    let without = list.replace("REMOTE_RECV_THROUGHPUT=743.52\n", "");
    let test = one(&format!("{banner}{without}")).tests.remove(0);
    assert!(test.parameters["figure"].text().unwrap().starts_with("not told"));
    // One of the long names begins with a digit.
    let long = "50th Percentile Latency Microseconds,Throughput,Throughput Units\n4,100.00,Trans/s\n";
    let test = one(&format!("MIGRATED TCP REQUEST/RESPONSE TEST from a to b\n{long}")).tests.remove(0);
    assert_eq!(further(&test, "p50_latency"), (4000.0, Unit::Ns));
}

#[test]
fn a_receiver_of_pkt_gen_is_named_by_what_opens_its_log() {
    let text = file("pktgen-rx.txt").text;
    let ids = |text: &str| figures(&one(text)).into_iter().map(|(id, median, _)| (id, median)).collect::<Vec<_>>();
    let wanted = [("rx-128".to_owned(), Some(800_060.0))];
    assert_eq!(ids(text), wanted);
    let run = one(&text.replace("Received 2000000", "Sent 2000000"));
    assert_eq!((run.tests[0].title.as_str(), run.tests[0].workload.as_str()), ("Receive", "pkt-gen-rx"));
    // As versions before 2016 wrote it.
    let old = "Received 2000000 packets, in 2.50 seconds.\nSpeed: 800.06 Kpps\n";
    assert_eq!(ids(old), [("rx".to_owned(), Some(800_060.0))]);
    assert_eq!(one("Receiving from netmap:eth1: 1 queues, 1 threads and 1 cpus.\nReceived nothing.\n").exit_code(), 1);
    let ping = "Working on netmap:eth1: 1 queues, 1 threads and 1 cpus.\nSent 5 packets 300 bytes 5 events 60 bytes each in 5.00 seconds.\nSpeed: 1.000 pps\n";
    assert!(refused(ping).starts_with("x:1: a log of ping or pong"), "{}", refused(ping));
}

#[test]
fn jobs_of_one_name_at_once_are_not_repeats() {
    let text = file("fio-two-jobs.json").text.replace("\"percentile\"", "\"of\"");
    let mut document: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    assert_eq!(figures(&one(&document.to_string())).len(), 2);
    document["jobs"][1] = document["jobs"][0].clone();
    assert_eq!(repeats(&document.to_string()), named(&[("a-read-place_0", 1), ("a-read-place_1", 1)]));
}

#[test]
fn a_sum_over_both_directions_is_taken_apart_and_sctp_refused() {
    let dual = "Server listening on TCP port 5001\nClient connecting to 10.0.0.2, TCP port 5001\n\
        [  1] local 10.0.0.1 port 40000 connected with 10.0.0.2 port 5001\n\
        [  2] local 10.0.0.1 port 5001 connected with 10.0.0.2 port 40002\n\
        [  1] 0.0000-1.0000 sec  1.00 GBytes  8.59 Gbits/sec\n\
        [  2] 0.0000-1.0000 sec  1.50 GBytes  12.9 Gbits/sec\n\
        [SUM] 0.0000-1.0000 sec  2.50 GBytes  21.5 Gbits/sec\n";
    let wanted = [("tcp-1s-client".to_owned(), Some(8.59e9), true), ("tcp-1s-server".to_owned(), Some(12.9e9), true)];
    assert_eq!(ways(dual), wanted);
    // One after the other (-r) they are not at once.
    let one_by_one = file("iperf2-r.txt").text;
    assert!(ways(one_by_one).iter().all(|(.., both)| !both));
    let sctp = file("iperf2-tcp.txt").text.replace("TCP port", "SCTP port");
    assert!(refused(&sctp).contains("over SCTP"));
}

#[test]
fn a_test_that_iperf_says_has_failed_does_not_pass() {
    let tcp = file("iperf2-tcp.txt").text;
    for said in [
        "[  1] WARNING: did not receive ack of last datagram after 10 tries.",
        "read failed: Connection refused",
        "write failed: Broken pipe",
        "connect failed: Connection refused",
        "iperf: Client.cpp:1: Assertion `x' failed.",
        "[  2] local 127.0.0.1 port 43779 connected with 127.0.0.1 port 29501",
    ] {
        let run = one(&format!("{tcp}{said}\n"));
        assert_eq!(run.exit_code(), 1, "{said}");
        assert!(run.reasons[0].contains("line "), "{:?}", run.reasons);
    }
    let csv = one(file("iperf2-udp.csv").text);
    assert!(csv.exit_code() == 1 && csv.reasons[0].contains("read failed"), "{:?}", csv.reasons);
    let udp = file("iperf2-udp.txt").text;
    let run = one(&udp[..udp.find("[  1] Server Report").unwrap()]);
    assert!(run.tests[0].warnings.iter().any(|warning| warning.contains("what arrived is unknown")));
}

#[test]
fn the_figure_of_datagrams_is_what_arrived() {
    let udp = file("iperf2-udp.txt").text;
    let report = "2.51 MBytes  10.5 Mbits/sec   0.001 ms 0/1787 (0%)";
    let run = one(&udp.replace(report, "25.1 KBytes  0.105 Mbits/sec   0.001 ms 1769/1787 (99%)"));
    assert_eq!(figures(&run)[0].1, Some(105e3));
    assert_eq!(further(&run.tests[0], "sent").0, 10.5e6);
    for none in [
        "0.000 Bytes  0.000 bits/sec   0.000 ms 1787/1787 (1e+02%)",
        "2.51 MBytes  10.5 Mbits/sec   0.001 ms 1787/1787 (100%)",
    ] {
        assert!(one(&udp.replace(report, none)).reasons[0].contains("nothing was moved"));
    }
    let csv = "20261126070716,10.0.0.2,5001,10.0.0.1,43594,1,0.0-2.0,2623950,10495800,0.000,1785,1785,100.000,0\n";
    assert!(one(csv).reasons[0].contains("nothing was moved"));
}

#[test]
fn figures_that_contradict_each_other_are_refused() {
    for (name, from, to) in [
        ("iperf2-tcp.txt", "28.2 Gbits", "82.2 Gbits"),
        ("iperf2-tcp.csv", "30950507341", "90950507341"),
        ("iperf2-udp.txt", "0/1787 (0%)", "0/1787 (50%)"),
        ("iperf3-tcp.json", "23876337209.436012", "93876337209.436012"),
        ("iperf3-tcp.json", "\"num_streams\":\t1", "\"num_streams\":\t4"),
        ("pktgen-tx.txt", "Speed: 1.000 Mpps", "Speed: 9.000 Mpps"),
    ] {
        let text = file(name).text;
        assert!(text.contains(from), "{name}");
        assert!(refused(&text.replace(from, to)).contains("not ") || name.ends_with("json"), "{name}");
    }
}

#[test]
fn both_ways_at_once_is_no_repeat_of_one_way() {
    let run = one(&format!("{}{}", file("iperf3-tcp.json").text, file("iperf3-bidir.json").text));
    assert_eq!(run.tests.len(), 3);
    assert!(run.tests[1].parameters.contains_key("bidir"));
}

#[test]
fn one_test_written_twice_or_by_both_ends_is_not_two_repeats() {
    for name in ["iperf3-tcp.json", "iperf3-bidir.json", "fio-randrw.json"] {
        let text = file(name).text;
        let why = refused(&format!("{text}{text}"));
        assert!(why.contains("line 1") && why.contains("alone"), "{name}: {why}");
    }
    let tcp = file("iperf3-tcp.json").text;
    assert_eq!(one(&format!("{tcp}{}", tcp.replace("qrtqxx", "other1"))).tests[0].repeats.len(), 2);
    // What --status-interval=1 writes, and a run that begins behind it.
    let fio = file("fio-randrw.json").text;
    let at = |ms: u64, elapsed: u64| {
        let elapsed = format!("\"elapsed\" : {elapsed},");
        fio.replace("1795676894569", &(1_795_676_894_569 + ms).to_string()).replace("\"elapsed\" : 3,", &elapsed)
    };
    let why = refused(&format!("{}{}", at(0, 3), at(1000, 4)));
    assert!(why.contains("status-interval"), "{why}");
    one(&format!("{}{}", at(0, 3), at(4000, 3)));
    let with_start = |text: String, ms: u64| {
        text.replace("\"jobname\"", &format!("\"job_start\" : {}, \"jobname\"", 1_795_676_891_000 + ms))
    };
    let why = refused(&format!("{}{}", with_start(at(0, 3), 0), with_start(at(9000, 3), 0)));
    assert!(why.contains("status-interval"), "{why}");
}

#[test]
fn a_document_without_its_head_is_not_passed_over() {
    let (tcp, udp) = (file("iperf3-tcp.json").text, file("iperf3-udp.json").text);
    for head in [tcp[700..].to_owned(), format!("client1: {}\n", tcp.replace('\n', " ")), format!("> {tcp}")] {
        let why = refused(&format!("{head}{udp}"));
        assert!(why.contains("x:1: a part of a document") || why.contains("x:2: a part of a document"), "{why}");
    }
    let marked = one(&format!("\u{feff}{tcp}{udp}"));
    assert_eq!(marked.tests.len(), 2);
    assert_eq!(one(&format!("$ iperf3 -c 10.0.0.2 -J --title \"a: b\"\n{tcp}")).tests.len(), 1);
}
