//! Programs whose logs are not read, by words that they alone write: a refusal names the program.

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
    ("starting benchmark...", "a log of h2load, which is not read"),
    ("ib_send_bw", "a log of perftest, which is not read"),
    (" BW Test", "a log of perftest, which is not read"),
    ("Pktgen:/>", "a log of DPDK's pktgen, which is not read"),
    ("testpmd>", "a log of DPDK's testpmd, which is not read"),
    ("sysbench ", "a log of sysbench, which is not read"),
    (" bytes of data.", "a log of ping, which is not read"),
];

/// Begins of files that are packed (RFC 1952 2.3.1; bzip2; xz 2.1.1.1; zstd, RFC 8878 3.1.1), as text.
const PACKED: &[(&str, &str)] = &[
    ("\u{1f}\u{fffd}\u{8}", "packed by gzip: unpack it by gunzip first"),
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
