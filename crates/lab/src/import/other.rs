//! Programs whose logs are not read, by words that they alone write: a refusal names the program, and so does the warning of their
//! rows beside a log that is read.

use super::{Part, Wrong, command, interval, iperf3_text, lines, units};

/// Words, and what has them.
const OTHERS: &[(&str, &str)] = &[
    ("This is ApacheBench", "a log of ab, which is not read"),
    ("sockperf: ", "a log of sockperf, which is not read"),
    ("tcp_bw:", "a log of qperf, which is not read"),
    ("tcp_lat:", "a log of qperf, which is not read"),
    ("udp_bw:", "a log of qperf, which is not read"),
    ("udp_lat:", "a log of qperf, which is not read"),
    ("Thread Stats   Avg", "a log of wrk, which is not read"),
    ("HPING ", "a log of hping, which is not read"),
    ("\"raw_values\"", "a file of flent, which is not read"),
    ("\"SERIES_META\"", "a file of flent, which is not read"),
    ("Summary of tcp_", "a table of flent, which is not read"),
    ("NTTTCP: ", "a log of ntttcp, which is not read"),
    ("nuttcp-", "a log of nuttcp, which is not read"),
    ("Ethr: ", "a log of ethr, which is not read"),
    ("starting benchmark...", "a log of h2load, which is not read"),
    ("ib_send_bw", "a log of perftest, which is not read"),
    (" BW Test", "a log of perftest, which is not read"),
    ("Pktgen:/>", "a log of DPDK's pktgen, which is not read"),
    ("testpmd>", "a log of DPDK's testpmd, which is not read"),
    ("sysbench ", "a log of sysbench, which is not read"),
    (" bytes of data.", "a log of ping, which is not read"),
];

/// Begins of files that are packed in forms that are not read (bzip2; xz 2.1.1.1; zstd, RFC 8878 3.1.1), as text.
const PACKED: &[(&str, &str)] = &[
    ("BZh", "packed by bzip2: unpack it by bunzip2 first"),
    ("\u{fffd}7zXZ\0", "packed by xz: unpack it by unxz first"),
    ("(\u{fffd}/\u{fffd}", "packed by zstd: unpack it by unzstd first"),
];

/// The sort of a text that is in no format that is read, and what to do about it.
pub(super) fn named(text: &str) -> Option<&'static str> {
    let packed = PACKED.iter().find(|(begin, _)| text.starts_with(begin));
    let other = packed.or_else(|| OTHERS.iter().find(|(words, _)| text.contains(words))).map(|(_, what)| *what);
    other.or_else(|| text.trim_start().starts_with('{').then_some("JSON of a program that is not known"))
}

/// True of a text with a document, or a line of more than three numbers or a rate, whosever it is.
pub(super) fn has_figures(text: &str) -> bool {
    let is_number = |word: &&str| units::number(word).is_some();
    text.lines().any(|line| {
        let words: Vec<&str> = line.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty()).collect();
        let rate = || words.windows(2).any(|pair| is_number(&pair[0]) && interval::is_rate(pair[1]));
        line.contains("\":") || words.iter().filter(|word| is_number(word)).count() > 3 || rate()
    })
}

/// Rows of figures that no reader takes: where the first of them stands, and how many are of which program. `format` is the one that
/// is read, whose own rows its reader takes or names.
pub(super) fn rows(parts: &[Part<'_>], format: Option<&str>) -> Option<Wrong> {
    let (mut first, mut counts): (Option<Wrong>, Vec<(&str, usize)>) = (None, Vec::new());
    for part in parts {
        // The program of a table that is nothing but numbers.
        let mut table = UNKNOWN;
        for line in lines(part.log.as_deref().unwrap_or(&part.text)) {
            let words: Vec<&str> = line.text.split_whitespace().collect();
            if line.text.starts_with("#bytes") {
                table = "perftest";
            } else if line.text.contains("netperf") && command::options(&words).is_some() {
                table = "netperf without their headings, which -P 1 prints";
            }
            if let Some(program) = row(line.text, &words, table, format) {
                first.get_or_insert_with(|| line.wrong(""));
                match counts.iter_mut().find(|(known, _)| *known == program) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((program, 1)),
                }
            }
        }
    }
    let all: Vec<String> = counts.iter().map(|(program, count)| format!("{count} of {program}")).collect();
    first.map(|Wrong { line, why }| Wrong {
        line,
        why: format!("rows of figures that are not read, {}{why}", all.join(", ")),
    })
}

/// Program of a row that is not known.
const UNKNOWN: &str = "another program";

/// The program of a row of figures that no reader of `format` takes.
fn row(text: &str, words: &[&str], table: &'static str, format: Option<&str>) -> Option<&'static str> {
    const BEGINS: &[(&str, &str)] = &[
        ("sockperf: Summary: ", "sockperf"),
        ("Requests/sec:", "wrk"),
        ("Requests per second:", "ab"),
        ("rtt min/avg/max", "ping"),
        ("round-trip min/avg/max", "ping"),
    ];
    if let Some((_, program)) = BEGINS.iter().find(|(begin, _)| text.starts_with(begin)) {
        return Some(program);
    }
    let is_number = |word: &&str| units::number(word).is_some();
    match *words {
        ["bw" | "send_bw" | "recv_bw" | "latency" | "msg_rate", "=", ..] => return Some("qperf"),
        [_, "MB", "/", _, "sec", "=", ..] => return Some("nuttcp"),
        [.., "TCP" | "UDP" | "ICMP", span, "sec", _] if span.contains('-') => return Some("ethr"),
        _ => {}
    }
    let numbers = words.len() > 3 && words.iter().all(is_number) && words.iter().any(|word| word.contains('.'));
    let counts = |word: &&str| word.contains('.') && is_number(word);
    let rate = words.windows(2).any(|pair| interval::is_rate(pair[1]) && counts(&pair[0]));
    if !numbers && !rate {
        return None;
    }
    let is_own = match format {
        Some("iperf" | "iperf3-text") => text.starts_with('[') || iperf3_text::stamped(text).starts_with('['),
        Some("pkt-gen") => {
            text.contains("main_thread [") || ["Speed: ", "Sent ", "Received "].iter().any(|of| text.starts_with(of))
        }
        Some("netperf") => true,
        _ => false,
    };
    let asked =
        || ["limit", "target", "pacing", " set to "].iter().any(|asked| text.to_ascii_lowercase().contains(asked));
    (!is_own && (numbers || !asked())).then_some(if numbers { table } else { UNKNOWN })
}
