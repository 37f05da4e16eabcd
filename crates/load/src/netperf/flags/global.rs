//! Flags of all tests, in the order of help.

use super::state::{State, first_size, place, sizes};
use super::{help, version};
use crate::flags::{Flag, KEEP, based, named, number, own, print, refused, set, value};
use crate::netperf::ring::{ALIGN, BLOCK};
use crate::netperf::settings::Length;
use crate::netperf::table::{TESTS, Test};
use crate::netperf::units::{both, first, is_unit, size};
use crate::socket::Family;
use linerate_text::path::from_text;
use std::time::Duration;

pub(super) static FLAGS: &[Flag<State, ()>] = &[
    value("-H HOST[,FAMILY]", (), "the server (localhost); FAMILY is 4 or 6, inet or inet6", |s, v| {
        let (host, family) = place(v)?;
        s.host = host.or(s.host.take());
        s.place.family = family.or(s.place.family);
        Ok(())
    }),
    value("-p PORT", (), "the server's port (12865)", |s, v| match first(v) {
        (Some(port), None) => number(port, 1..=u16::MAX).map(|n| s.place.port = n),
        _ => Err("an own port of the control connection is not built; give one port".into()),
    }),
    value("-t TEST", (), "the test (TCP_STREAM); below", |s, v| {
        let known = || TESTS.iter().map(|test| test.name).collect::<Vec<_>>().join(", ");
        s.test = Test::by_name(v).ok_or_else(|| format!("not built here; give one of {}", known()))?;
        Ok(())
    }),
    value("-l SECONDS", (), "length of the test (10); 0: until Ctrl-C; negative: bytes, or transactions", |s, v| {
        s.length = match v.strip_prefix('-') {
            Some(count) => Length::Count(size(count).ok().filter(|n| *n > 0).ok_or("give a number of bytes or so")?),
            None => Length::Time(size(v).map_err(|_| "give seconds, or -N for so many bytes or transactions")?),
        };
        Ok(())
    }),
    set("-c", (), "measure this system's processors, from /proc/stat", |s| s.local.cpu = true),
    set("-C", (), "measure the server's processors", |s| s.remote.cpu = true),
    value("-i MOST[,LEAST]", (), "repeat until the means are known well enough: 3 to 30 times", |s, v| {
        let count = |text| size(text).map_err(|_| "give numbers of runs".to_owned());
        let (most, least) = both(v);
        let repeats = s.repeats();
        let most = most.map_or(Ok(repeats.most), count)?;
        let least = least.map_or(Ok(repeats.least), count)?;
        (repeats.least, repeats.most) = (least.clamp(3, 30), most.max(least).clamp(3, 30));
        Ok(())
    }),
    value(
        "-I LEVEL[,WIDTH]",
        (),
        "confidence: 95 or 99 (99) per cent; width of the means' interval, per cent (5)",
        |s, v| {
            let (level, width) = first(v);
            let level: u32 = level.map_or(Ok(99), |level| number(level, 1..=100))?;
            if !matches!(level, 95 | 99) {
                return Err("give 95 or 99".into());
            }
            let width = match width {
                Some(text) => {
                    let width = text.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0 && *n <= 100.0);
                    Some(width.ok_or("give a width from 0 to 100")? / 100.0)
                }
                None => None,
            };
            let repeats = s.repeats();
            (repeats.level, repeats.width) = (level, width.unwrap_or(repeats.width));
            if repeats.most == 1 {
                (repeats.least, repeats.most) = (3, 10);
            }
            Ok(())
        },
    ),
    set("-r", (), "only the result has to be known so well, and not the processors' use", |s| {
        s.repeats.result_only = true;
    }),
    value("-P 0|1", (), "print the lines above figures, or do not (1)", |s, v| {
        number(v, 0..=1).map(|n: u8| s.headers = n > 0)
    }),
    value("-v 0|1|2", (), "one figure, a line, or all that is known (1)", |s, v| {
        number(v, 0..=2).map(|n| s.verbosity = n)
    }),
    value("-D SECONDS", (), "print a figure now and then while the test goes on (1)", |s, v| {
        if v.contains(',') {
            return Err("figures come by the clock, so no number of units is guessed; leave it out".into());
        }
        let seconds = v.trim_start_matches('-').parse::<f64>().ok().filter(|n| (0.01..=86_400.0).contains(n));
        s.interim = Some(Duration::from_secs_f64(seconds.ok_or("give a time from 0.01 to 86400")?));
        Ok(())
    }),
    value(
        "-f K|M|G|k|m|g|x",
        (),
        "unit: bytes by 1024, bits by 1000 (m), transactions (x, where there are some)",
        |s, v| {
            s.unit = v.chars().next().filter(|c| v.len() == 1 && is_unit(*c));
            if s.unit.is_some() { Ok(()) } else { Err("give one of K, M, G, k, m, g, x".into()) }
        },
    ),
    value(
        "-F FILE",
        (),
        "send this file's bytes: without a copy by TCP_SENDFILE, otherwise as what buffers are filled with",
        |s, v| {
            match first(v) {
                (Some(file), None) => s.file = Some(from_text(file)),
                _ => return Err("a server here reads no file that a client names; give one file, of this end".into()),
            }
            Ok(())
        },
    ),
    set("-j", (), "keep the time of each call or transaction", |s| s.statistics = true),
    value("-L HOST[,FAMILY]", (), "own address", |s, v| {
        let (host, family) = place(v)?;
        s.place.bind = host;
        s.place.family = family.or(s.place.family);
        Ok(())
    }),
    set("-4", (), "IPv4 only", |s| s.only(Family::V4)),
    set("-6", (), "IPv6 only", |s| s.only(Family::V6)),
    value("-s SECONDS", (), "wait between the setup and the data", |s, v| {
        number(v, 0..=86_400).map(|n| s.wait = Duration::from_secs(n))
    }),
    set("-S", (), "keep the data connection alive (SO_KEEPALIVE)", |s| s.keep_alive = true),
    value("-T CPU[,CPU]", (), "run on a processor; behind the comma the server's", |s, v| {
        let (local, remote) = both(v);
        for (to, text) in [(&mut s.local.pin, local), (&mut s.remote.pin, remote)] {
            if let Some(text) = text {
                *to = Some(number(text, 0..=4095)?);
            }
        }
        Ok(())
    }),
    value("-a SEND[,RECEIVE]", (), "alignment of the memory, a power of two (8)", |s, v| {
        align(v, |is_first, n| if is_first { s.local.send.align = n } else { s.local.receive.align = n })
    }),
    value("-A SEND[,RECEIVE]", (), "alignment of the server's memory (8)", |s, v| {
        align(v, |is_first, n| if is_first { s.remote.send.align = n } else { s.remote.receive.align = n })
    }),
    value("-o SEND[,RECEIVE]", (), "offset of the memory from its alignment (0)", |s, v| {
        sizes(v, ALIGN, |is_first, n| if is_first { s.local.send.offset = n } else { s.local.receive.offset = n })
    }),
    value("-O SEND[,RECEIVE]", (), "offset of the server's memory (0)", |s, v| {
        sizes(v, ALIGN, |is_first, n| if is_first { s.remote.send.offset = n } else { s.remote.receive.offset = n })
    }),
    value("-W SEND[,RECEIVE]", (), "blocks of memory that take turns (as many as fill the socket's buffer)", |s, v| {
        first_size(v, BLOCK, |is_first, n| if is_first { s.local.send.width = n } else { s.local.receive.width = n })
    }),
    value("-B TEXT", (), "a text behind the line of figures, if there are no headers (-P 0)", |s, v| {
        s.brand = Some(linerate_text::short(v, 80));
        Ok(())
    }),
    value("-y LOCAL[,REMOTE]", (), "priority of the data socket (SO_PRIORITY)", |s, v| {
        let (local, remote) = both(v);
        for (to, text) in [(&mut s.local.priority, local), (&mut s.remote.priority, remote)] {
            if let Some(text) = text {
                *to = Some(number(text, 0..=i32::MAX.unsigned_abs())?);
            }
        }
        Ok(())
    }),
    value(
        "-Y LOCAL[,REMOTE]",
        (),
        "type of service of the data, 0 to 255, as 184 or 0xb8, or a name, as ef",
        |s, v| {
            let (local, remote) = both(v);
            for (to, text) in [(&mut s.local.tos, local), (&mut s.remote.tos, remote)] {
                if let Some(text) = text {
                    let n = named(text, &[]).or_else(|| based(text).and_then(|n| u8::try_from(n).ok()));
                    *to = Some(n.ok_or("give numbers from 0 to 255, as 184 or 0xb8, or names, as ef")?);
                }
            }
            Ok(())
        },
    ),
    set("--keep", (), KEEP, |s| s.keep = true),
    own::via(()),
    own::addr(()),
    own::route(()),
    own::mtu(()),
    print("-V --version", (), "print the version", version),
    print("-h --help", (), "print this", help),
    refused("-d", (), "", "there is no log of what the program does; leave it out"),
    refused("-b", (), "", "sends are not paced here; leave it out"),
    refused("-w", (), "", "sends are not paced here; leave it out"),
    refused("-k", (), "", "memory is not written to between calls; output selectors stand behind --"),
    refused("-K", (), "", "memory is not written to between calls; leave it out"),
    refused("-n", (), "", "processors are counted in /proc/stat; leave it out"),
    refused("-N", (), "", "a test needs a server's figures; leave it out"),
    refused("-Z", (), "", "a passphrase that all can read protects nothing; leave it out"),
];

fn align(text: &str, to: impl FnMut(bool, u32)) -> Result<(), String> {
    let powers = |text: Option<&str>| text.is_none_or(|text| size(text).is_ok_and(u32::is_power_of_two));
    let (send, receive) = both(text);
    if powers(send) && powers(receive) { sizes(text, ALIGN, to) } else { Err("give powers of two".into()) }
}
