//! Tests of what stands beside the figures of imported logs: samples, failures, other programs, and results that are not taken.

use crate::import::{file, read};
use crate::import_foreign;
use crate::import_refused::{figures, one, refused};
use linerate_lab::export::EXPORTS;
use linerate_lab::import::not_taken;

#[test]
fn a_log_of_a_program_that_is_not_read_is_named() {
    for (text, what) in [
        ("This is ApacheBench, Version 2.3\nRequests per second:    3205.13 [#/sec] (mean)\n", "a log of ab,"),
        ("sockperf: Summary: BandWidth is 4873.781 MBps (38990.250 Mbps)\n", "a log of sockperf,"),
        ("tcp_bw:\n    bw  =  1.16 GB/sec\n", "a log of qperf,"),
        (
            "Running 10s test @ http://192.0.2.2/\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n",
            "a log of wrk,",
        ),
        ("HPING 192.0.2.2 (eth0 192.0.2.2): S set, 40 headers + 0 data bytes\n", "a log of hping,"),
        ("{\"metadata\": {}, \"raw_values\": {}, \"results\": {}}\n", "a file of flent,"),
        ("(\u{fffd}/\u{fffd}\0", "packed by zstd: unpack it"),
    ] {
        let why = refused(text);
        assert!(why.starts_with(&format!("x: {what}")) && why.contains("iperf3-text, fio"), "{why}");
        assert_eq!(why.lines().count(), 1, "{why}");
    }
    assert!(refused("nothing of the sort\n").starts_with("x: no format that is known; name it by --format"));
}

#[test]
fn samples_of_a_test_that_failed_have_their_unit() {
    let client = "Connecting to host 192.0.2.2, port 5201\n\
        [  5] local 192.0.2.1 port 36500 connected to 192.0.2.2 port 5201\n\
        [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
        [  5]   0.00-1.00   sec  12.0 MBytes   101 Mbits/sec    0    767 KBytes       \n\
        iperf3: error - control socket has closed unexpectedly\n";
    let csv = EXPORTS.iter().find(|export| export.name == "csv").unwrap();
    let rows = csv.text(&[one(client)]).unwrap();
    assert!(rows.contains(",sample of the sender,1,1,bit/s,101000000\r\n") && !rows.contains(",median,"), "{rows}");
    let document = file("iperf3-tcp.json").text.replacen("\"end\":", "\"error\": \"unable to read\", \"end\":", 1);
    let run = one(&document);
    assert!(!run.tests[0].samples.is_empty() && run.tests[0].value.as_ref().unwrap().unit.name() == "bit/s");
}

#[test]
fn the_figure_of_a_servers_report_is_not_called_the_clients() {
    let runs = import_foreign::runs();
    let (_, run) = runs.iter().find(|(name, _)| name == "iperf2-udp-intervals.txt").unwrap();
    assert_eq!(run.tests[0].title, "UDP, as the server reports");
}

#[test]
fn lines_of_two_hosts_in_a_system_log_are_two_sources() {
    let [host, other] = ["192.0.2.5", "192.0.2.6"].map(|host| file("iperf3-tcp.txt").text.replace("127.0.0.1", host));
    let mixed: String = host
        .lines()
        .zip(other.lines())
        .map(|(a, b)| format!("Nov 28 12:37:21 a iperf3[7]: {a}\nNov 28 12:37:21 b iperf3[9]: {b}\n"))
        .collect();
    let run = one(&mixed);
    let ids: Vec<_> = figures(&run).into_iter().map(|(id, _, repeats)| (id, repeats)).collect();
    assert_eq!(ids, [("tcp-2s-source_a_iperf3".to_owned(), 1), ("tcp-2s-source_b_iperf3".to_owned(), 1)]);
}

/// A refusal names where the log was cut and not what lacks the rest; two runs at once are called so.
#[test]
fn a_cut_log_and_two_runs_at_once_are_named_for_what_they_are() {
    let text = file("iperf3-tcp.txt").text;
    let at = text.rfind("[SUM]").unwrap();
    let last = text[..at].lines().count() + 1;
    let why = refused(&text[..at + 40]);
    assert!(why.starts_with(&format!("x:{last}: the last line has no end")), "{why}");
    let why = refused(&text[..at]);
    assert!(why.starts_with(&format!("x:{}: streams at once without the row of their sum", last - 2)), "{why}");
    let heads = "Connecting to host 192.0.2.20, port 5201\nConnecting to host 192.0.2.21, port 5201\n";
    assert!(
        refused(heads)
            .contains("the test of line 2 begins before this one has its summary, as where two runs are mixed")
    );
    let client = |host: &str| {
        format!(
            "Client connecting to {host}, TCP port 5001\n[  3] local 192.0.2.1 port 4000{} connected with {host} port 5001\n\
             [  3]  0.0-10.0 sec  1.09 GBytes   940 Mbits/sec\n",
            &host[host.len() - 1..]
        )
    };
    let [a, b] = ["192.0.2.2", "192.0.2.3"].map(client);
    let mixed: String = a.lines().zip(b.lines()).map(|(a, b)| format!("{a}\n{b}\n")).collect();
    assert!(refused(&mixed).contains("two runs are mixed"), "{}", refused(&mixed));
    assert_eq!(one(&format!("{a}{b}")).tests.len(), 2);
}

#[test]
fn what_is_not_read_of_a_list_is_named() {
    let banner = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 () port 0 AF_INET\n";
    let list = "THROUGHPUT=9401.10\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=10.00\nLOCAL_TRANSPORT_RETRANS=31\n\
        LOCAL_RECV_SIZE=131072\nSOME_FIGURE=12.5\nREMOTE_FIGURE=-1\nCPU_METHOD=S\nCONFIDENCE_LEVEL=-1\n";
    let test = one(&format!("{banner}{list}")).tests.remove(0);
    assert_eq!(test.counters.total("local_transport_retrans"), Some(31));
    assert!(
        test.warnings.iter().any(|told| told == "of the list is not read: SOME_FIGURE, CPU_METHOD"),
        "{:?}",
        test.warnings
    );
    let sizes = |size| list.replace("131072", size);
    let run = one(&format!("{banner}{list}{banner}{}", sizes("65536")));
    assert_eq!(run.tests.len(), 2, "a size is a condition: {:?}", figures(&run));
}

/// Results that cannot be proven are passed over beside those that can, and nothing behind it is taken for a repeat.
#[test]
fn a_result_without_proof_is_named_and_the_others_are_read() {
    let whole = file("npresults.txt").text;
    let first = &whole[..whole.find("netperf -t TCP_STREAM -c").unwrap()];
    let row = "131072  16384  16384    1.00     9000.00\n";
    let rr = "16384  131072 1        1       1.00     67150.93\n";
    for (command, line, why) in [
        (format!("netperf -t TCP_CRR -P 0\n{rr}{row}"), 10, "numbers of TCP_CRR without a heading of their own"),
        (format!("some words\n{row}netperf -t TCP_STREAM -P 0\n{row}"), 10, "numbers behind other text"),
        (
            "netperf -P 0 -- -o throughput,throughput_units\n13292.45,1.00\n".to_owned(),
            10,
            "values without a line of their names",
        ),
    ] {
        let run = read("x", &format!("{first}{command}")).unwrap().remove(0);
        assert_eq!(figures(&run), figures(&one(first)), "{command}");
        let told: Vec<&str> = not_taken(&run).collect();
        assert!(told[0].starts_with(&format!("line {line} was not taken: {why}")), "{told:?}");
        assert_eq!(told.len(), command.matches("1.00").count(), "{told:?}");
        // Another test behind it is read.
        let behind = &whole[whole.find("MIGRATED TCP REQUEST/RESPONSE").unwrap()..];
        let run =
            read("x", &format!("{first}{command}{}", &behind[..behind.find("netperf ").unwrap()])).unwrap().remove(0);
        assert_eq!(run.tests.len(), 2, "{:?}", figures(&run));
    }
    // Alone it is refused.
    assert!(
        refused(&format!("MIGRATED TCP STREAM TEST from a () port 0 to b ()\n{row}"))
            .starts_with("x:2: numbers without a heading")
    );
}
