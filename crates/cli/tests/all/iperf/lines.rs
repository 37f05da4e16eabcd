//! Tests of lines: those of both programs are the same, but for the numbers in them.

use super::{End, PAIRINGS, field, has_iperf, pair};
use crate::ends::are_alike;
use std::collections::BTreeSet;

/// A line without its numbers: each run of digits and the blanks around it become one mark.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    // The interface of an address, and the sort of pacing, are not ours to tell.
    let line = line.replace("%lo", "").replace(" (kalman adjust)", "");
    for c in line.chars() {
        match c {
            '0'..='9' | '.' | ' ' if shape.ends_with('#') => {}
            '0'..='9' | ' ' => shape.push('#'),
            c => shape.push(c),
        }
    }
    // Units follow from the numbers.
    let units = ["KByte", "MByte", "GByte", "Kbit", "Mbit", "Gbit", "Byte", "bit"];
    units.iter().fold(shape, |shape, unit| shape.replace(unit, "unit"))
}

/// Shapes of all lines. Lines that are there or not as the clocks have it are left out, and so are those whose numbers are
/// not true: iperf names a range of ports where it listens at one, and calls what both ends sent its own.
fn shapes(text: &str) -> BTreeSet<String> {
    let left_out = |line: &&str| {
        let words =
            ["out-of-order", "Server listening on TCP ports ", "Server listening on UDP ports ", "WARNING: ack"];
        !words.iter().any(|word| line.contains(word))
    };
    text.lines().filter(left_out).map(shape).collect()
}

#[test]
fn lines_are_those_of_iperf() {
    if !has_iperf() {
        return;
    }
    // Most of the time is waited for: some at once.
    for cases in LINES.chunks(4) {
        std::thread::scope(|scope| {
            for (words, of_server) in cases {
                scope.spawn(|| compare(words, of_server));
            }
        });
    }
}

/// Words of a client and of its server.
const LINES: [(&[&str], &[&str]); 21] = [
    (&["-t", "1", "-w", "512k", "-l", "8K"], &["-w", "512k"]),
    (&["-t", "1", "-b", "20m", "-i", "0.4"], &["-i", "0.4"]),
    (&["-t", "1", "-b", "20m", "-P", "2"], &[]),
    (&["-t", "1", "-b", "20m", "-P", "2", "-e"], &["-e"]),
    (&["-t", "1", "-b", "20m", "-e", "-N", "-S", "0x10"], &["-e"]),
    (&["-t", "1", "-b", "20m", "-R", "-f", "K"], &["-f", "m"]),
    (&["-t", "1", "-b", "20m", "-R", "-e"], &["-e"]),
    (&["-t", "1", "-b", "20m", "--full-duplex"], &[]),
    (&["-t", "1", "-b", "20m", "--full-duplex", "-e"], &["-e"]),
    (&["-t", "1", "-b", "20m", "--trip-times"], &[]),
    (&["-t", "1", "-b", "20m", "--trip-times", "-R", "-e"], &["-e"]),
    (&["-t", "1", "-b", "20m", "-M", "1000"], &["-m"]),
    (&["-t", "1", "-b", "20m", "-x", "C", "--hide-ips"], &["-x", "S", "--hide-ips"]),
    (&["-t", "1", "-b", "20m", "-y", "C", "-i", "0.4"], &["-y", "C"]),
    (&["-t", "1", "-b", "20m", "-r", "-L", "LPORT"], &[]),
    (&["-u", "-t", "1", "-b", "5m"], &[]),
    (&["-u", "-t", "1", "-b", "5m", "-P", "2", "-i", "0.4"], &[]),
    (&["-u", "-t", "1", "-b", "5m", "-e"], &["-e"]),
    (&["-u", "-t", "1", "-b", "5m", "--trip-times"], &[]),
    (&["-u", "-t", "1", "-b", "5m", "-R"], &[]),
    (&["-u", "-t", "1", "-b", "5m", "-r", "-L", "LPORT"], &[]),
];

/// Lines of both programs with the same words, at both ends.
fn compare(words: &[&str], of_server: &[&str]) {
    // Which address a client listens at for -r is told in iperf's words above.
    let told = |mut shapes: BTreeSet<String>| {
        shapes.retain(|shape| !shape.starts_with("Server#listening") || !words.contains(&"-r"));
        shapes
    };
    let said = |end| {
        let (client, server) = pair((end, end), words, of_server);
        [client, server].map(|of| told(shapes(&of.out)))
    };
    are_alike(words, || [End::Ours, End::Theirs].map(said));
}

/// Sizes mean the same to both.
#[test]
fn sizes_are_those_of_iperf() {
    if !has_iperf() {
        return;
    }
    for pairing in PAIRINGS {
        for (size, bytes) in
            [("100k", 100_000), ("100K", 102_400), ("1m", 1_000_000), ("1M", 1 << 20), ("77777", 77_777)]
        {
            let (client, server) = pair(pairing, &["-n", size, "-y", "C"], &["-y", "C"]);
            for said in [&client.out, &server.out] {
                assert_eq!(field(said, 7), bytes, "{pairing:?} -n {size}: {said}");
            }
        }
    }
    for (size, line) in [("512k", "requested  500 KByte"), ("512K", "requested  512 KByte")] {
        for end in [End::Ours, End::Theirs] {
            let (client, _) = pair((end, End::Ours), &["-n", "1k", "-w", size], &[]);
            assert!(client.out.contains(line), "{end:?} -w {size}: {}", client.out);
        }
    }
    for (size, line) in [("8K", "Write buffer size: 8192 Byte"), ("8k", "Write buffer size: 8000 Byte")] {
        for end in [End::Ours, End::Theirs] {
            let (client, _) = pair((end, End::Ours), &["-n", "10k", "-l", size, "-e"], &[]);
            assert!(client.out.contains(line), "{end:?} -l {size}: {}", client.out);
        }
    }
    for (rate, gap) in
        [("10m", "IPG target: 1176.00 us"), ("10M", "IPG target: 1121.52 us"), ("1000pps", "IPG target: 1000.00 us")]
    {
        for end in [End::Ours, End::Theirs] {
            let (client, _) = pair((end, End::Ours), &["-u", "-n", "10k", "-b", rate], &[]);
            assert!(client.out.contains(gap), "{end:?} -b {rate}: {}", client.out);
        }
    }
}

/// Rows have a time of the calendar, and the sender's address first.
#[test]
fn rows_are_dated_and_say_who_sent() {
    let year =
        || std::process::Command::new("date").arg("+%Y").output().map(|out| String::from_utf8(out.stdout).unwrap());
    let (client, server) = pair((End::Ours, End::Ours), &["-n", "100k", "-y", "C"], &["-y", "C"]);
    for said in [&client.out, &server.out] {
        assert!(
            said.starts_with(year().unwrap().trim()) && said.split(',').next().is_some_and(|time| time.len() == 14)
        );
        assert_eq!(said.trim().split(',').count(), 9, "{said}");
    }
    let sender = |said: &str| said.split(',').skip(1).take(4).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(sender(&client.out), sender(&server.out));
    let (client, server) = pair((End::Ours, End::Ours), &["-n", "100k", "-y", "C", "-R"], &["-y", "C"]);
    assert_eq!(sender(&client.out), sender(&server.out));
}
