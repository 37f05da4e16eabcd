//! Tests of iperf3's text: the figure is the receiver's, whichever end and version wrote the log.

use crate::import::{file, further};
use crate::import_refused::{figures, one, refused};
use linerate_result::{Test, Unit};

const CLIENT: &str = "Connecting to host 10.0.0.2, port 5201\n\
    [  5] local 10.0.0.1 port 48312 connected to 10.0.0.2 port 5201\n\
    [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
    [  5]   0.00-1.00   sec  1.10 GBytes  9.45 Gbits/sec    2    895 KBytes       \n\
    [  5]   1.00-2.00   sec  1.10 GBytes  9.45 Gbits/sec    1    895 KBytes       \n\
    - - - - - - - - - - - - - - - - - - - - - - - - -\n\
    [ ID] Interval           Transfer     Bitrate         Retr\n\
    [  5]   0.00-2.00   sec  2.20 GBytes  9.45 Gbits/sec    3             sender\n\
    [  5]   0.00-2.04   sec  2.18 GBytes  9.18 Gbits/sec                  receiver\n\
    \n\
    iperf Done.\n";

const SERVER: &str = "-----------------------------------------------------------\n\
    Server listening on 5201 (test #1)\n\
    -----------------------------------------------------------\n\
    Accepted connection from 10.0.0.1, port 48298\n\
    [  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 48312\n\
    [ ID] Interval           Transfer     Bitrate\n\
    [  5]   0.00-1.00   sec  1.09 GBytes  9.36 Gbits/sec                  \n\
    [  5]   1.00-2.00   sec  1.09 GBytes  9.36 Gbits/sec                  \n\
    [  5]   2.00-2.04   sec  4.19 MBytes   879 Mbits/sec                  \n\
    - - - - - - - - - - - - - - - - - - - - - - - - -\n\
    [ ID] Interval           Transfer     Bitrate\n\
    [  5]   0.00-2.04   sec  2.18 GBytes  9.18 Gbits/sec                  receiver\n";

const UDP: &str = "Connecting to host 10.0.0.2, port 5201\n\
    [  5] local 10.0.0.1 port 51884 connected to 10.0.0.2 port 5201\n\
    [ ID] Interval           Transfer     Bitrate         Total Datagrams\n\
    [  5]   0.00-2.00   sec   412 MBytes  1.73 Gbits/sec  308277  \n\
    - - - - - - - - - - - - - - - - - - - - - - - - -\n\
    [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
    [  5]   0.00-2.00   sec   412 MBytes  1.73 Gbits/sec  0.000 ms  0/308277 (0%)  sender\n\
    [  5]   0.00-2.00   sec   238 MBytes  1.00 Gbits/sec  0.007 ms  129672/308277 (42%)  receiver\n\
    \n\
    iperf Done.\n";

const BIDIR: &str = "Connecting to host 10.0.0.2, port 5201\n\
    [  5] local 10.0.0.1 port 35396 connected to 10.0.0.2 port 5201\n\
    [  7] local 10.0.0.1 port 35404 connected to 10.0.0.2 port 5201\n\
    [ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd\n\
    [  5][TX-C]   0.00-1.00   sec  2.80 GBytes  24.1 Gbits/sec   16   1.12 MBytes       \n\
    [  7][RX-C]   0.00-1.00   sec  1.59 GBytes  13.7 Gbits/sec                  \n\
    - - - - - - - - - - - - - - - - - - - - - - - - -\n\
    [ ID][Role] Interval           Transfer     Bitrate         Retr\n\
    [  5][TX-C]   0.00-1.00   sec  2.80 GBytes  24.1 Gbits/sec   16             sender\n\
    [  5][TX-C]   0.00-1.00   sec  2.79 GBytes  24.0 Gbits/sec                  receiver\n\
    [  7][RX-C]   0.00-1.00   sec  1.60 GBytes  13.7 Gbits/sec   19             sender\n\
    [  7][RX-C]   0.00-1.00   sec  1.59 GBytes  13.7 Gbits/sec                  receiver\n";

fn only(text: &str) -> Test {
    let mut run = one(text);
    assert_eq!(run.tests.len(), 1, "{text}");
    run.tests.remove(0)
}

fn median(test: &Test) -> f64 {
    test.value.as_ref().unwrap().median.known().unwrap()
}

fn word(test: &Test, name: &str) -> String {
    test.parameters.get(name).map_or_else(|| "none".to_owned(), ToString::to_string)
}

#[test]
fn the_figure_is_the_receivers_from_either_end() {
    let client = only(CLIENT);
    assert_eq!((client.id.as_str(), median(&client), client.repeats.len()), ("tcp-1s", 9.18e9, 1));
    assert_eq!(further(&client, "sent"), (9.45e9, Unit::BitsPerSecond));
    assert_eq!((client.counters.total("retransmits"), client.samples.len()), (Some(3), 2));
    assert_eq!((word(&client, "side"), word(&client, "reverse")), ("client".to_owned(), "false".to_owned()));
    let server = only(SERVER);
    assert_eq!((server.id.as_str(), median(&server), server.samples.len()), ("tcp-1s-server", 9.18e9, 3));
    assert!(!server.further.contains_key("sent"), "a server does not hear what its client sent");
    // Version 3.1 wrote noughts for what it did not hear, and no number of the test.
    let zeros = "[  5]   0.00-2.04   sec  0.00 Bytes  0.00 bits/sec                  sender\n";
    let old = SERVER.replace(" (test #1)", "").replace("Bitrate", "Bandwidth");
    let old = only(&old.replace("[  5]   0.00-2.04", &format!("{zeros}[  5]   0.00-2.04")));
    assert_eq!(
        (old.id, old.value, old.further, old.parameters),
        (server.id, server.value, server.further, server.parameters)
    );
    let udp = only(UDP);
    assert_eq!((udp.id.as_str(), udp.workload.as_str(), median(&udp)), ("udp-1s", "iperf3-udp", 1.0e9));
    assert_eq!(further(&udp, "sent").0, 1.73e9);
    assert_eq!(further(&udp, "jitter"), (7000.0, Unit::Ns));
    assert!((further(&udp, "lost").0 - 42.063).abs() < 0.001);
    assert_eq!((udp.counters.total("packets"), udp.counters.total("lost_packets")), (Some(308_277), Some(129_672)));
}

#[test]
fn directions_and_roles_are_told_apart() {
    let reverse = "Reverse mode, remote host 10.0.0.2 is sending\n[  5] local";
    let back = only(&CLIENT.replacen("[  5] local", reverse, 1));
    assert_eq!((back.id.as_str(), word(&back, "reverse")), ("tcp-1s-reverse", "true".to_owned()));
    let sends = only(&SERVER.replace("                  receiver", "    7             sender"));
    assert_eq!((sends.id.as_str(), word(&sends, "figure")), ("tcp-1s-reverse-server", "sent".to_owned()));
    assert_eq!(sends.counters.total("retransmits"), Some(7));
    let both = one(BIDIR);
    assert_eq!(
        figures(&both),
        [("tcp-1s".to_owned(), Some(24.0e9), 1), ("tcp-1s-reverse".to_owned(), Some(13.7e9), 1)]
    );
    assert!(both.tests.iter().all(|test| test.samples.len() == 1 && word(test, "bidir") == "true"));
    assert_eq!(both.tests[1].counters.total("retransmits"), Some(19));
    let roles = BIDIR.replace("Connecting to host 10.0.0.2", "Accepted connection from 10.0.0.1");
    let roles = roles.replace("TX-C", "RX-S").replace("RX-C", "TX-S");
    let ids: Vec<_> = figures(&one(&roles)).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["tcp-1s-server", "tcp-1s-reverse-server"]);
}

#[test]
fn streams_are_read_by_their_sum() {
    let run = one(file("iperf3-tcp.txt").text);
    assert_eq!(figures(&run), [("tcp-2s".to_owned(), Some(18.6e9), 1)]);
    let samples: Vec<_> = run.tests[0].samples.iter().map(|sample| sample.value.known().unwrap()).collect();
    assert_eq!(samples, [18.7e9, 18.6e9]);
    let text = file("iperf3-tcp.txt").text;
    let without = |begin: &str| {
        text.lines().filter(|line| !line.starts_with(begin)).map(|l| l.to_owned() + "\n").collect::<String>()
    };
    assert!(refused(&without("[SUM]   0.00-2.00")).starts_with("x:16: streams at once without the row of their sum"));
    assert!(refused(&without("[  7]   0.00-2.00")).contains("1 streams in the summary, where 2 were connected"));
    let why = refused(&text.replace("4.33 GBytes  18.6", "8.66 GBytes  37.2"));
    assert!(why.starts_with("x:19: a [SUM] that is not that of the streams"), "{why}");
    assert!(refused(&text.replace("[  7] local", "[  9] local")).contains("a stream that was not connected"));
}

#[test]
fn what_verbose_adds_is_the_documents_key() {
    let verbose = CLIENT
        .replacen(
            "Connecting",
            "iperf 3.12\nLinux testhost 6.1.0-test #1 SMP x86_64\nControl connection MSS 1448\n\
             Time: Fri, 27 Nov 2026 15:25:58 GMT\nConnecting",
            1,
        )
        .replacen("[  5] local", "      Cookie: qabc\n      TCP MSS: 1448 (default)\n[  5] local", 1)
        .replacen(
            "[ ID]",
            "Starting Test: protocol: TCP, 1 streams, 131072 byte blocks, omitting 1 seconds, 2 second test, tos 0\n[ ID]",
            1,
        )
        .replacen("- -\n[ ID]", "- -\nTest Complete. Summary Results:\n[ ID]", 1)
        .replacen(
            "\n\niperf",
            "\nCPU Utilization: local/sender 2.4% (0.1%u/2.3%s), remote/receiver 10.5% (1.1%u/9.4%s)\n\
             snd_tcp_congestion cubic\nrcv_tcp_congestion cubic\n\niperf",
            1,
        );
    let run = one(&verbose);
    assert_eq!(run.start.to_string(), "2026-11-27T15:25:58.000Z");
    assert_eq!(run.environment.host.as_deref(), Some("testhost"));
    assert_eq!(run.environment.kernel.as_deref(), Some("Linux 6.1.0-test"));
    let test = &run.tests[0];
    let key = ["block_bytes", "omit_s", "duration_s", "tos"].map(|name| word(test, name));
    assert_eq!(key, ["131072", "1", "2", "0"]);
    assert_eq!((further(test, "cpu_client").0, further(test, "cpu_server").0), (2.4, 10.5));
    // A cookie that comes again is the same test.
    assert!(refused(&format!("{verbose}{verbose}")).contains("no repeat of it"));
}

#[test]
fn every_unit_gives_the_same_key() {
    let all = [
        ("2.18 GBytes  9.18 Gbits/sec", "2.18 GBytes  9.18 Gbits/sec"),
        ("2.18 GBytes  9.18 Gbits/sec", "2.18 GBytes  9180 Mbits/sec"),
        ("2.18 GBytes  9.18 Gbits/sec", "2.18 GBytes  9180000 Kbits/sec"),
        ("2.18 GBytes  9.18 Gbits/sec", "2.18 GBytes  1.0687 GBytes/sec"),
        ("2.18 GBytes  9.18 Gbits/sec", "2.18 GBytes  1094.3 MBytes/sec"),
        ("2.18 GBytes  9.18 Gbits/sec", "2.18 GBytes  1120605 KBytes/sec"),
    ];
    let text: String = all
        .iter()
        .enumerate()
        .map(|(n, (from, to))| CLIENT.replace(from, to).replace("48312", &format!("4840{n}")))
        .collect();
    let test = only(&text);
    assert_eq!(test.repeats.len(), 6);
    for repeat in &test.repeats {
        let rate = repeat.value.known().unwrap();
        assert!((rate / 9.18e9 - 1.0).abs() < 1e-3, "{rate}");
    }
}

#[test]
fn stamps_titles_and_the_servers_own_lines_change_nothing() {
    let plain = only(CLIENT);
    let stamp = |front: &str| CLIENT.lines().map(|line| format!("{front}{line}\n")).collect::<String>();
    let with_server = CLIENT.replace(
        "\niperf Done.",
        &format!("\nServer output:\n{}\n\niperf Done.", SERVER.split("---\n").nth(2).unwrap()),
    );
    for text in [
        stamp("Fri Nov 27 15:25:58 2026 "),
        stamp("2026-11-27T15:25:58+0100 "),
        stamp("[12:00:01] "),
        stamp("my test:  "),
        stamp("Nov 27 15:25:58 host iperf3[4711]: "),
        with_server,
        CLIENT.replace('\n', "\r\n"),
        format!("\u{feff}{CLIENT}"),
    ] {
        let test = only(&text);
        assert_eq!(
            (&test.id, &test.value, &test.parameters, &test.samples, &test.further),
            (&plain.id, &plain.value, &plain.parameters, &plain.samples, &plain.further),
            "{text}"
        );
    }
}

#[test]
fn omitted_intervals_are_no_samples() {
    let omitted = "[  5]   0.00-1.00   sec   800 MBytes  6.71 Gbits/sec    9    895 KBytes       (omitted)\n";
    let test = only(&CLIENT.replacen("[  5]   0.00-1.00", &format!("{omitted}[  5]   0.00-1.00"), 1));
    assert_eq!((test.samples.len(), median(&test)), (2, 9.18e9));
}

#[test]
fn the_first_versions_have_other_summaries() {
    let old = CLIENT
        .replace("Bitrate         Retr", "Bandwidth       Retransmits")
        .replace("[  5]   0.00-2.00", "      Sent\n[  5]   0.00-2.00")
        .replace("[  5]   0.00-2.04", "      Received\n[  5]   0.00-2.04")
        .replace("             sender", "")
        .replace("                  receiver", "");
    let (old, new) = (only(&old), only(CLIENT));
    assert_eq!((old.id, old.value, old.further, old.parameters), (new.id, new.value, new.further, new.parameters));
    // Datagrams had one row: bytes sent, and what of them was lost.
    let row =
        "[  4]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.012 ms  3/160 (1.9%)  \n[  4] Sent 160 datagrams\n";
    let old = format!(
        "Connecting to host 10.0.0.2, port 5201\n\
         [  4] local 10.0.0.1 port 51884 connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bandwidth       Total Datagrams\n\
         [  4]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  160  \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n{row}\n\
         iperf Done.\n"
    );
    let test = only(&old);
    assert_eq!((test.id.as_str(), median(&test), word(&test, "figure")), ("udp-1s", 1.05e6, "sent".to_owned()));
    assert_eq!((further(&test, "lost").0, test.counters.total("lost_packets")), (1.875, Some(3)));
    // Their servers told no bytes.
    let server = old
        .replace("Connecting to host 10.0.0.2", "Accepted connection from 10.0.0.1")
        .replace("Total Datagrams\n[", "Jitter    Lost/Total Datagrams\n[")
        .replace("160  \n", "0.012 ms  3/160 (1.9%)  \n")
        .replace(row, "[  4]   0.00-10.04  sec  0.00 Bytes  0.00 bits/sec  0.012 ms  3/160 (1.9%)  \n");
    let test = only(&server);
    assert_eq!((test.id.as_str(), median(&test)), ("udp-1s-server", 1.05e6));
    assert!(test.warnings[0].contains("mean of its intervals"), "{:?}", test.warnings);
}

#[test]
fn a_servers_log_has_a_test_for_each_client() {
    let again = SERVER.replace("(test #1)", "(test #2)").replace("48312", "48400").replace("9.18", "9.20");
    let other = SERVER.replace("(test #1)", "(test #3)").replace("10.0.0.1", "10.0.0.9");
    let run = one(&format!("{SERVER}{again}{other}-----------------------------------------------------------\n"));
    assert_eq!(
        figures(&run),
        [
            ("tcp-1s-server-host_10.0.0.1".to_owned(), Some(9.19e9), 2),
            ("tcp-1s-server-host_10.0.0.9".to_owned(), Some(9.18e9), 1)
        ]
    );
    assert!(refused(&format!("{SERVER}{SERVER}")).contains("no repeat of it"));
    // The other end's log of the same test is another view, not a repeat.
    assert_eq!(one(&format!("{CLIENT}{SERVER}")).tests.len(), 2);
}

#[test]
fn what_failed_is_a_failure_and_what_was_cut_is_refused() {
    let run = one("iperf3: error - unable to connect to server: Connection refused\n");
    assert_eq!(
        (run.reasons, figures(&one(CLIENT))[0].1),
        (vec!["iperf3: line 1: unable to connect to server: Connection refused".to_owned()], Some(9.18e9))
    );
    let stopped = CLIENT
        .replace(
            "[  5]   0.00-2.04   sec  2.18 GBytes  9.18 Gbits/sec",
            "[  5]   0.00-2.00   sec  0.00 Bytes  0.00 bits/sec",
        )
        .replace("iperf Done.", "iperf3: interrupt - the client has terminated");
    let run = one(&stopped);
    assert_eq!(run.reasons, ["tcp-1s: line 11: interrupt - the client has terminated"]);
    assert_eq!((figures(&run)[0].1, word(&run.tests[0], "figure")), (Some(9.45e9), "sent".to_owned()));
    // In a file standard error comes before the test.
    let said = "iperf3: interrupt - the client has terminated\n";
    let early = format!("{said}{}", stopped.replace(said, ""));
    let reasons = vec!["tcp-1s: line 1: interrupt - the client has terminated".to_owned()];
    assert_eq!((figures(&one(&early)), one(&early).reasons), (figures(&run), reasons));
    assert_eq!(one(said).reasons, ["iperf3: line 1: interrupt - the client has terminated"]);
    let cut = &CLIENT[..CLIENT.find("- - -").unwrap()];
    assert!(refused(cut).starts_with("x:1: a test without its summary"), "{}", refused(cut));
    let head = CLIENT.lines().take(2).collect::<Vec<_>>().join("\n") + "\n";
    assert!(refused(&head).starts_with("x:1: a test without its rows"));
    let tail = &CLIENT[CLIENT.find("[ ID]").unwrap()..];
    assert!(refused(tail).starts_with("x:2: a row without the line before it"), "{}", refused(tail));
    assert!(refused(&CLIENT.replace("2.18 GBytes", "2,18 GBytes")).starts_with("x:9: an amount or a rate in no unit"));
    assert!(refused(&CLIENT.replace("9.18", "91.8")).starts_with("x:9: an amount that is not that of the rate"));
    let twice = CLIENT.replace(
        "                  receiver\n",
        "                  receiver\n[  5]   0.00-2.04   sec  2.18 GBytes  9.18 Gbits/sec                  receiver\n",
    );
    assert!(refused(&twice).contains("a second row of that kind"), "{}", refused(&twice));
}
