//! Flags in the order of help.

use super::dscp;
use super::state::State;
use super::{help, version};
use crate::flags::Scope::{self, Both, Client, Server};
use crate::flags::{Flag, KEEP, based, maybe, number, own, print, refused, set, value};
use crate::socket::Family;
use crate::stream::settings::{BURST, MSS, OMIT, STREAMS, TIME, Transport, WINDOW};
use crate::stream::units::{rate, size};
use linerate_text::path::from_text;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

const NO_SCTP: &str = "there is no SCTP here; leave it out, or give -u";

pub(in crate::stream) static FLAGS: &[Flag<State, Scope>] = &[
    print("-h --help", Both, "show this and exit", help),
    print("-v --version", Both, "show the version and exit", version),
    set("-s --server", Both, "be the server: take in clients, several at a time", |s| s.server = true),
    value("-c --client HOST", Both, "be the client of this server (HOST%INTERFACE: by that interface)", |s, v| {
        s.host = Some(s.place.host_of(v).to_owned());
        if v.is_empty() { Err("give a name or an address".into()) } else { Ok(()) }
    }),
    value("-p --port PORT", Both, "the server's port (5201)", |s, v| number(v, 1..=u16::MAX).map(|n| s.place.port = n)),
    value("-f --format k|m|g|t|K|M|G|T", Both, "unit of speeds: bits, or bytes for capitals (what fits)", |s, v| {
        s.form.unit = v.chars().next().filter(|c| v.len() == 1 && "kmgtKMGT".contains(*c));
        if s.form.unit.is_some() { Ok(()) } else { Err("give one of k, m, g, t, K, M, G, T".into()) }
    }),
    value("-i --interval SECONDS", Both, "time between two lines of figures; 0: only the summary (1)", |s, v| {
        let plain = !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let seconds = if plain { v.parse::<f64>().ok() } else { None };
        let seconds = seconds.filter(|n| *n == 0.0 || (0.1..=60.0).contains(n));
        let seconds = seconds.ok_or("give 0, or a number from 0.1 to 60")?;
        s.form.interval = (seconds > 0.0).then(|| Duration::from_secs_f64(seconds));
        Ok(())
    }),
    value("-I --pidfile FILE", Both, "write the process number to a file, which is deleted at the end", |s, v| {
        s.pid_file = Some(from_text(v));
        Ok(())
    }),
    value(
        "-F --file FILE",
        Both,
        "send this file instead of random bytes, to its end if neither -t, -n nor -k is given; a receiver writes to it \
         what it receives",
        |s, v| {
            s.file = Some(from_text(v));
            Ok(())
        },
    ),
    value(
        "-A --affinity N[,M]",
        Both,
        "run on processor N, and the server, if a client gives it, on processor M",
        |s, v| {
            let (own, other) = v.split_once(',').map_or((v, None), |(own, other)| (own, Some(other)));
            s.cpu = Some(number(own, 0..=1023)?);
            if let Some(other) = other {
                s.settings.server_cpu = Some(number(other, 0..=1023)?);
                s.ends.client.get_or_insert("-A N,M");
            }
            Ok(())
        },
    ),
    value("-B --bind HOST", Both, "own address (HOST%INTERFACE: and that interface)", |s, v| {
        s.place.bind = Some(s.place.host_of(v).to_owned());
        Ok(())
    }),
    value("--bind-dev INTERFACE", Both, "the interface of all sockets", |s, v| {
        s.place.device = Some(v.to_owned());
        Ok(())
    }),
    set("-4 --version4", Both, "IPv4 only", |s| s.only(Family::V4)),
    set("-6 --version6", Both, "IPv6 only", |s| s.only(Family::V6)),
    set("-V --verbose", Both, "say more: times, cookie, settings, processor time of both ends", |s| {
        s.form.verbose = true
    }),
    set("-J --json", Both, "a document instead of lines", |s| s.form.json = true),
    set("--json-stream", Both, "a document a line for each event: start, interval, end", |s| {
        (s.form.json, s.form.events) = (true, true);
    }),
    set("--json-stream-full-output", Both, "with --json-stream: the whole document in the end too", |s| {
        s.form.whole = true;
    }),
    value("--logfile FILE", Both, "append what would be printed to a file", |s, v| {
        s.form.log = Some(from_text(v));
        Ok(())
    }),
    maybe(
        "--timestamps FORMAT",
        Both,
        "the time in front of each line; =FORMAT: in this format of strftime(3) ('%c ')",
        |s, v| {
            s.form.timestamps = Some(if v.is_empty() { "%c " } else { v }.to_owned());
            Ok(())
        },
    ),
    set("--keep", Both, KEEP, |s| s.form.keep = true),
    set("--forceflush", Both, "write each line at once; it always is", |_| {}),
    value("--rcv-timeout MS", Both, "time without data after which a receiver gives up (120000)", |s, v| {
        number(v, 100..=TIME * 1000).map(|ms| s.idle = Some(Duration::from_millis(ms)))
    }),
    value(
        "--snd-timeout MS",
        Both,
        "time without an acknowledgement after which TCP gives up (the system's)",
        |s, v| number(v, 1..=TIME * 1000).map(|ms| s.send_timeout = Some(Duration::from_millis(ms))),
    ),
    maybe(
        "--cntl-ka IDLE[/INTERVAL[/COUNT]]",
        Both,
        "have the kernel ask whether the other end of a silent control connection is there: after IDLE seconds, again after each \
         INTERVAL, COUNT times (the system's)",
        |s, v| {
            let mut all =
                v.splitn(3, '/').map(|n| if n.is_empty() { Ok(None) } else { number(n, 1..=32_767).map(Some) });
            let mut next = || all.next().unwrap_or(Ok(None));
            s.keep_alive = Some([next()?, next()?, next()?]);
            Ok(())
        },
    ),
    set(
        "--use-pkcs1-padding",
        Both,
        "log in, or take logins, by PKCS #1 v1.5 alone, as iperf3 before 3.17 does. Without it a server takes OAEP, as \
         later ones do, and a client tries OAEP first, then, if that is refused, PKCS #1 v1.5 by a second connection",
        |s| s.login.old = true,
    ),
    set("-D --daemon", Server, "leave the terminal once clients are taken in", |s| s.daemon = true),
    set("-1 --one-off", Server, "end after the first client", |s| s.once = true),
    value("--idle-timeout SECONDS", Server, "with -1: end if no client has come for so long", |s, v| {
        number(v, 1..=TIME).map(|n| s.limits.idle = Some(Duration::from_secs(n)))
    }),
    value(
        "--server-bitrate-limit RATE[/SECONDS]",
        Server,
        "most bits per second of a test, all its streams together: one that asks for more is refused, one that moves more within \
         SECONDS is ended (5)",
        |s, v| {
            let (text, over) = v.split_once('/').map_or((v, None), |(rate, over)| (rate, Some(over)));
            if let Some(over) = over {
                let seconds = over.parse::<f64>().ok().filter(|n| (0.1..=60.0).contains(n));
                s.limits.over = Duration::from_secs_f64(seconds.ok_or("give seconds from 0.1 to 60")?);
            }
            s.limits.rate = rate(text)?;
            if s.limits.rate > 0 { Ok(()) } else { Err("give a rate, as 100M".into()) }
        },
    ),
    value(
        "--server-max-duration SECONDS",
        Server,
        "longest test, with what is omitted; longer ones are refused",
        |s, v| number(v, 1..=TIME).map(|n| s.limits.longest = Some(n)),
    ),
    value(
        "--rsa-private-key-path FILE",
        Server,
        "take in only clients that log in; the key (PEM, without a password) that reads their logins",
        |s, v| {
            s.login.private = Some(from_text(v));
            Ok(())
        },
    ),
    value(
        "--authorized-users-path FILE",
        Server,
        "who may log in: lines NAME,HASH, HASH by: printf '{%s}%s' NAME PASSWORD | sha256sum; read at each login",
        |s, v| {
            s.login.users = Some(from_text(v));
            Ok(())
        },
    ),
    value(
        "--time-skew-threshold SECONDS",
        Server,
        "how far the clock of a client that logs in may be off (10)",
        |s, v| number(v, 1..=u32::MAX).map(|n| s.login.skew = Some(n)),
    ),
    set("-u --udp", Client, "datagrams instead of a byte stream", |s| s.settings.transport = Transport::Udp),
    value("--connect-timeout MS", Client, "time for the first connection (the system's)", |s, v| {
        number(v, 1..=TIME * 1000).map(|ms| s.patience = Some(Duration::from_millis(ms)))
    }),
    value(
        "-b --bitrate --bandwidth RATE[/BURST]",
        Client,
        "bits per second of each stream, 0 for no limit (1048576 for UDP, no limit for TCP); send BURST blocks at once",
        |s, v| {
            let (text, burst) = v.split_once('/').map_or((v, None), |(rate, burst)| (rate, Some(burst)));
            if let Some(burst) = burst {
                s.settings.burst = number(burst, 1..=BURST)?;
            }
            rate(text).map(|n| s.rate = Some(n))
        },
    ),
    value("--fq-rate RATE", Client, "bits per second to which the kernel paces each stream", |s, v| {
        rate(v).map(|n| s.settings.pacing = n)
    }),
    value("-t --time SECONDS", Client, "time of the test; 0: until it is ended (10)", |s, v| {
        number(v, 0..=TIME).map(|n| s.time = Some(n))
    }),
    value("-n --bytes SIZE", Client, "number of bytes of the test, instead of a time", |s, v| {
        size(v).map(|n| s.settings.bytes = n)
    }),
    value("-k --blockcount N", Client, "number of blocks of the test, instead of a time", |s, v| {
        size(v).map(|n| s.settings.blocks = n)
    }),
    value(
        "-l --length SIZE",
        Client,
        "bytes of a block: of a read or write, or of a datagram (128k for TCP, what the \
         path takes for UDP)",
        |s, v| size(v).map(|n| s.block = Some(n)),
    ),
    value("--cport PORT", Client, "first own port of the streams; each further stream has the next", |s, v| {
        number(v, 1..=u16::MAX).map(|n| s.own_port = n)
    }),
    value("-P --parallel N", Client, "number of streams at once, a thread each (1)", |s, v| {
        number(v, 1..=STREAMS).map(|n| s.settings.streams = n)
    }),
    set("-R --reverse", Client, "the server sends, the client receives", |s| s.reverse = true),
    set("--bidir", Client, "both send and receive", |s| s.both = true),
    value("-w --window SIZE", Client, "size of the socket buffers of both ends", |s, v| {
        let n = size(v)?;
        s.settings.window = n;
        if n <= WINDOW { Ok(()) } else { Err("give 512M at most".into()) }
    }),
    value("-C --congestion --linux-congestion NAME", Client, "congestion control of both ends", |s, v| {
        s.settings.congestion = Some(v.to_owned());
        if v.is_empty() || v.len() > 15 { Err("give a name, as cubic".into()) } else { Ok(()) }
    }),
    value("-M --set-mss BYTES", Client, "largest segment (what the path takes)", |s, v| {
        number(v, 88..=MSS).map(|n| s.settings.mss = n)
    }),
    set("-N --no-delay", Client, "send small segments at once (no Nagle)", |s| s.settings.no_delay = true),
    value("-S --tos N", Client, "type of service, 0 to 255, as 52, 064 or 0x34", |s, v| {
        let n = based(v).and_then(|n| u8::try_from(n).ok());
        s.settings.tos = n.ok_or("give a number from 0 to 255, as 52, 064 or 0x34")?;
        Ok(())
    }),
    value("--dscp N|NAME", Client, "differentiated services codepoint, 0 to 63 or a name, as ef", |s, v| {
        dscp::service(v).map(|n| s.settings.tos = n)
    }),
    value("-L --flowlabel N", Client, "flow label of what the client sends (IPv6), 1 to 0xfffff", |s, v| {
        let n = based(v).filter(|n| (1..=0xf_ffff).contains(n));
        s.settings.flow_label = n.ok_or("give a number from 1 to 0xfffff")?;
        Ok(())
    }),
    set("-Z --zerocopy", Client, "send by sendfile(2), without a copy", |s| s.settings.zero_copy = true),
    value("-O --omit SECONDS", Client, "time at the beginning that does not count (0)", |s, v| {
        number(v, 0..=OMIT).map(|n| s.settings.omit = n)
    }),
    value("-T --title TEXT", Client, "text in front of each line", |s, v| {
        s.settings.title = Some(v.to_owned());
        Ok(())
    }),
    value("--extra-data TEXT", Client, "text for the document", |s, v| {
        s.settings.extra_data = Some(v.to_owned());
        Ok(())
    }),
    set("--get-server-output", Client, "show the server's output too", |s| s.settings.server_output = true),
    set("--udp-counters-64bit", Client, "count datagrams with 64 bits", |s| s.settings.wide_counters = true),
    set("--repeating-payload", Client, "send digits over and over, as iperf 2, instead of random bytes", |s| {
        s.settings.repeating = true;
    }),
    set("--dont-fragment", Client, "have no datagram fragmented (IPv4)", |s| s.settings.dont_fragment = true),
    value(
        "--username NAME",
        Client,
        "log in as this user; the password is that of IPERF3_PASSWORD, or is asked for on the terminal",
        |s, v| {
            s.login.user = Some(from_text(v).into_os_string().into_vec());
            Ok(())
        },
    ),
    value(
        "--rsa-public-key-path FILE",
        Client,
        "the server's public key (PEM), with which the login is enciphered",
        |s, v| {
            s.login.public = Some(from_text(v));
            Ok(())
        },
    ),
    own::via(Both),
    own::addr(Both),
    own::route(Both),
    own::mtu(Both),
    refused("--sctp", Client, "", NO_SCTP),
    refused("--nstreams", Client, "", NO_SCTP),
    refused("-X --xbind", Client, "", NO_SCTP),
    refused("--pacing-timer", Client, "", "each stream keeps its rate by itself; leave it out"),
    refused("--no-fq-socket-pacing", Client, "", "the kernel paces only with --fq-rate; leave it out"),
    refused("--skip-rx-copy", Client, "", "what is received is read, as programs read it; leave it out"),
    refused("--gsro", Client, "", "datagrams are passed to the kernel one by one, as programs pass them; leave it out"),
    refused("-m --mptcp", Both, "", "there is no Multipath TCP here; leave it out"),
    refused("-d --debug", Both, "", "there is no such output; give -V"),
];
