//! Flags in the order of help.

use super::state::State;
use super::{help, tos, version};
use crate::flags::Scope::{self, Both, Client, Server};
use crate::flags::{Flag, KEEP, number, own, print, refused, set, value};
use crate::iperf::protocol::Ask;
use crate::iperf::settings::{LONGEST, MSS, Rate, STREAMS, Transport, WINDOW};
use crate::iperf::units::{packets, rate, size};
use linerate_text::path::from_text;
use std::time::Duration;

const NO_BOUNCE: &str = "there are no tests of round trips here; leave it out, or give linerate profile";
const NO_BURSTS: &str = "blocks are sent one after the other; give -b for a rate";
const NO_KEYS: &str = "there are no keys here; leave it out";
/// Reason for which flags of one address or port for each stream are refused.
const NO_STEPS: &str = "all streams have the same addresses and the server's port; leave it out";
const NO_HISTOGRAMS: &str = "there are no histograms here; give --trip-times for least, mean, greatest and deviation";

/// Parses seconds from `least` to `most`.
fn seconds(text: &str, least: f64, most: f64) -> Result<Duration, String> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let seconds = if plain { text.parse::<f64>().ok() } else { None };
    let seconds = seconds.filter(|n| *n == 0.0 || (least..=most).contains(n));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("give 0, or a number of seconds from {least} to {most}"))
}

pub(super) static FLAGS: &[Flag<State, Scope>] = &[
    print("-h --help", Both, "show this and exit", help),
    print("-v --version", Both, "show the version and exit", version),
    set("-s --server", Both, "be the server: take in clients, several at a time", |s| s.server = true),
    value("-c --client HOST", Both, "be the client of this server (HOST%INTERFACE: by that interface)", |s, v| {
        s.host = Some(s.host_of(v)?);
        Ok(())
    }),
    value("-p --port PORT", Both, "the server's port (5001)", |s, v| {
        if v.contains('-') {
            return Err("one port at a time; give one".to_owned());
        }
        number(v, 1..=u16::MAX).map(|n| s.place.port = n)
    }),
    set("-u --udp", Both, "datagrams instead of byte streams", |s| s.settings.transport = Transport::Udp),
    value("-l --len SIZE", Both, "bytes of a read or write (128K), or of a datagram (1470, over IPv6 1450)", |s, v| {
        size(v).map(|n| s.block = Some(n))
    }),
    value(
        "-w --window SIZE",
        Both,
        "size of the socket buffer: a client's for sending, a server's for receiving",
        |s, v| {
            s.settings.window = size(v)?;
            if (1..=WINDOW).contains(&s.settings.window) { Ok(()) } else { Err("give a size up to 1G".to_owned()) }
        },
    ),
    value(
        "-t --time SECONDS",
        Both,
        "time of the test; 0: until it is ended (10). A server's: until it ends",
        |s, v| {
            s.time = Some(Some(seconds(v, 0.01, LONGEST)?).filter(|time| !time.is_zero()));
            Ok(())
        },
    ),
    value(
        "-P --parallel N",
        Both,
        "number of streams at once, a thread each (1). A server's: connections, then it ends",
        |s, v| number(v, 1..=STREAMS).map(|n| s.streams = Some(n)),
    ),
    value("-i --interval SECONDS", Both, "time between two lines of figures (only those of the whole test)", |s, v| {
        if v.starts_with(['f', 'F']) {
            return Err("there are no frames here; give seconds".to_owned());
        }
        s.form.interval = Some(seconds(v, 0.01, 86_400.0)?).filter(|time| !time.is_zero());
        Ok(())
    }),
    set("-e --enhanced", Both, "more figures: calls, retransmits, windows, times, processes", |s| {
        s.form.enhanced = true
    }),
    value(
        "-f --format LETTER",
        Both,
        "unit of speeds: b, k, m, g for bits, B, K, M, G for bytes, a and A for what fits (a)",
        |s, v| {
            s.form.unit = v.chars().next().filter(|c| v.len() == 1 && "abkmgABKMG".contains(*c)).unwrap_or_default();
            if s.form.unit == char::default() {
                Err("give one of a, b, k, m, g, A, B, K, M, G".to_owned())
            } else {
                Ok(())
            }
        },
    ),
    value("-y --reportstyle C", Both, "comma-separated values instead of lines", |s, v| {
        s.form.csv = v.eq_ignore_ascii_case("c");
        if s.form.csv { Ok(()) } else { Err("give C".to_owned()) }
    }),
    value(
        "-x --reportexclude CDMSV",
        Both,
        "leave out lines: C connections, D figures, S settings, V the server's report",
        |s, v| {
            for letter in v.chars() {
                match letter.to_ascii_uppercase() {
                    'C' => s.form.without.connections = true,
                    'D' => s.form.without.data = true,
                    'S' => s.form.without.settings = true,
                    'V' => s.form.without.report = true,
                    'M' => return Err("M: there are no lines about groups; leave M out".to_owned()),
                    _ => return Err("give letters of C, D, S, V".to_owned()),
                }
            }
            if v.is_empty() { Err("give letters of C, D, S, V".to_owned()) } else { Ok(()) }
        },
    ),
    set("--keep", Both, KEEP, |s| s.form.keep = true),
    value("-o --output FILE", Both, "append what would be printed to a file", |s, v| {
        s.form.file = Some(from_text(v));
        Ok(())
    }),
    set("-m --print_mss", Both, "show the largest segment", |s| s.form.segment = true),
    set("--hide-ips", Both, "hide all but the last part of IPv4 addresses", |s| s.form.hidden = true),
    value(
        "-B --bind ADDRESS[:PORT]",
        Both,
        "own address and, at a client, port (ADDRESS%INTERFACE: and interface)",
        |s, v| s.bind(v),
    ),
    set("-V --ipv6_domain -6", Both, "IPv6 (a server takes in both, one with --via IPv6 alone)", |s| s.v6 = true),
    set("-4", Both, "IPv4 only, as without -V", |s| s.v4 = true),
    value("-M --mss BYTES", Both, "largest segment (what the path takes)", |s, v| {
        s.form.segment = true;
        s.settings.mss = size(v)?;
        if (88..=MSS).contains(&s.settings.mss) { Ok(()) } else { Err(format!("give a size from 88 to {MSS}")) }
    }),
    set("-N --nodelay", Both, "send small segments at once (no Nagle)", |s| s.settings.no_delay = true),
    set("-z --realtime", Both, "run before all programs that are not real-time (SCHED_RR)", |s| s.realtime = true),
    value("-S --tos N|NAME", Both, "type of service, 0 to 255 or a name, as ef", |s, v| {
        tos::service(v).map(|n| s.settings.tos = n)
    }),
    value("-Z --tcp-congestion --linux-congestion NAME", Both, "congestion control", |s, v| {
        s.settings.congestion = Some(v.to_owned());
        if v.is_empty() || v.len() > 15 { Err("give a name, as cubic".to_owned()) } else { Ok(()) }
    }),
    set("-D --daemon", Server, "leave the terminal once clients are taken in", |s| s.daemon = true),
    value(
        "-b --bandwidth RATE",
        Client,
        "bits per second, or datagrams per second (1000pps), of each stream (1048576 for UDP, no limit for TCP)",
        |s, v| {
            let pps = v.to_ascii_lowercase();
            s.rate = Some(match pps.strip_suffix("pps").or_else(|| pps.strip_suffix('p')) {
                Some(digits) => Rate::Packets(packets(&v[..digits.len()])?),
                None if v.contains(',') => return Err("rates do not vary here; give one".to_owned()),
                None => Rate::Bits(rate(v)?),
            });
            if matches!(s.rate, Some(Rate::Bits(0) | Rate::Packets(0))) {
                Err("give a rate above 0".to_owned())
            } else {
                Ok(())
            }
        },
    ),
    value("-n --num SIZE", Client, "number of bytes of each stream, instead of a time", |s, v| {
        s.bytes = Some(size(v)?);
        if s.bytes == Some(0) { Err("give a size above 0".to_owned()) } else { Ok(()) }
    }),
    set("-d --dualtest", Client, "the server sends too, over a connection to the client's port -L", |s| {
        s.way("-d", Ask::Dual)
    }),
    set("-r --tradeoff", Client, "the server sends afterwards, over a connection to the client's port -L", |s| {
        s.way("-r", Ask::TradeOff);
    }),
    value("-L --listenport PORT", Client, "port of the client for -d and -r (the server's)", |s, v| {
        number(v, 1..=u16::MAX).map(|n| s.listen_port = n)
    }),
    set("-R --reverse", Client, "the server sends, the client receives", |s| s.way("-R", Ask::Reverse)),
    set("--full-duplex", Client, "both send, over the same connection", |s| s.way("--full-duplex", Ask::FullDuplex)),
    set("--trip-times", Client, "measure times from write to read; the clocks of both ends must agree", |s| {
        s.settings.times = true;
    }),
    set("--no-udp-fin", Client, "end a test with datagrams without the server's report", |s| s.settings.no_fin = true),
    value("-F --fileinput --file_input FILE", Client, "send this file instead of digits, to its end", |s, v| {
        s.settings.file = Some(from_text(v));
        Ok(())
    }),
    value("-T --ttl N", Client, "hops that packets may take", |s, v| {
        number(v, 1..=u8::MAX).map(|n| s.settings.ttl = n)
    }),
    set("-C --compatibility", Client, "say nothing of the test to the server, as iperf 1 does", |s| {
        s.settings.silent = true
    }),
    own::via(Both),
    own::addr(Both),
    own::route(Both),
    own::mtu(Both),
    // Flags of iperf 2.1.8 that are not built.
    refused("-I --stdin --stdin_input", Client, "", "give -F /dev/stdin"),
    refused("-1 --singleclient", Server, "", "clients do not wait for each other here; -P 1 ends after one connection"),
    refused("-U --single_udp", Server, "", "each stream has a thread of its own; give -u"),
    refused("-A --awdl", Both, "", "there is no AWDL here; leave it out"),
    refused("-H --ssm-host", Server, "", "there are no groups here; leave it out"),
    refused("-W --suggest_win_size", Both, "", "no window is suggested here; leave it out"),
    refused("-X --peer-detect", Client, "", "the server's version is not asked for; leave it out"),
    refused("-k", Both, "", "iperf 2 has no such flag; give -n"),
    refused("--sum-only", Both, "", "lines of streams are shown too; -x CS leaves out the others"),
    refused("--sum-dstip", Server, "", "sums are by the client's address; leave it out"),
    refused("--connect-only", Client, "", "there are no tests of connections alone here; leave it out"),
    refused("--connect-retries", Client, "", "a connection is tried once; start the client again"),
    refused("--no-connect-sync", Client, "", "streams begin together, once all are connected; leave it out"),
    refused("--txdelay-time", Client, "", "a test begins at once; start the client later"),
    refused("--txstart-time", Client, "", "a test begins at once; start the client later"),
    refused("--fq-rate", Client, "", "each stream keeps its rate by itself; give -b"),
    refused("--local-only", Client, "", "routes are used as they are; leave it out"),
    refused("--l2checks", Client, "", "the kernel checks frames; leave it out"),
    refused("--tcp-quickack", Client, "", "acknowledgements are the kernel's; leave it out"),
    refused("--tcp-write-prefetch", Client, "", "writes are not held back by events; leave it out"),
    refused("--tcp-write-times", Client, "", NO_HISTOGRAMS),
    refused("--histograms --udp-histograms --udp-histogram", Both, "", NO_HISTOGRAMS),
    refused("--tcp-rx-window-clamp", Server, "", "give -w"),
    refused("--tos-override", Server, "", "give -S, which holds for what a server sends"),
    refused("--tap-dev --tun-dev", Server, "", "there are no such devices here; leave it out"),
    refused("--near-congestion", Client, "", NO_BURSTS),
    refused("--isochronous", Client, "", NO_BURSTS),
    refused("--ipg", Client, "", NO_BURSTS),
    refused("--burst-size", Client, "", NO_BURSTS),
    refused("--burst-period", Client, "", NO_BURSTS),
    refused("--bounceback", Client, "", NO_BOUNCE),
    refused("--bounceback-congest", Client, "", NO_BOUNCE),
    refused("--bounceback-hold", Client, "", NO_BOUNCE),
    refused("--bounceback-period", Client, "", NO_BOUNCE),
    refused("--bounceback-no-quickack", Client, "", NO_BOUNCE),
    refused("--bounceback-txdelay", Client, "", NO_BOUNCE),
    refused("--permit-key", Both, "", NO_KEYS),
    refused("--permit-key-timeout", Server, "", NO_KEYS),
    refused("--incr-dstip", Client, "", NO_STEPS),
    refused("--incr-srcip", Client, "", NO_STEPS),
    refused("--incr-dstport", Client, "", NO_STEPS),
    refused(
        "--incr-srcport",
        Client,
        "",
        "streams have one own port after the other with -B ADDRESS:PORT; leave it out",
    ),
    refused("--NUM_REPORT_STRUCTS", Both, "", "nothing waits for a reporter here; leave it out"),
];

impl State {
    /// Takes a flag for the way of the data.
    fn way(&mut self, flag: &'static str, way: Ask) {
        self.settings.way = way;
        if !self.ways.contains(&flag) {
            self.ways.push(flag);
        }
    }
}
