//! Flags in the order of help.

use super::Scope::{self, All, Far, Lengths, Makes, Marks, Mixes, Receives, Sends, Streams, Threads, Tx};
use super::state::State;
use super::value::{bits, mac, mix, rings, seconds, speed};
use super::{PROGRAM, help};
use crate::flags::{Flag, KEEP, maybe, number, print, refused, set, value};
use crate::pktgen::config::{Style, options};
use crate::pktgen::modes::MODES;
use crate::pktgen::sizes::{LIMITS, Sizes};
use crate::resolve;
use linerate_rt::WaitMode;
use linerate_text::path::from_text;
use std::time::Duration;

pub(in crate::pktgen) static FLAGS: &[Flag<State, Scope>] = &[
    print("-h --help", All, "show this and exit", help),
    print("-V --version", All, "show the version and exit", || PROGRAM.version()),
    value("-i port", All, "port: KIND:NAME (see `linerate ports`); a bare name is xdp:NAME", |p, v| {
        let (port, line) = resolve(v);
        p.config.remarks.extend(line);
        p.port = Some(port);
        Ok(())
    }),
    value("-f function", All, "tx, rx, ping, pong, txseq or rxseq (rx)", |p, v| {
        let names: Vec<_> = MODES.iter().map(|mode| mode.name).collect();
        let mode = MODES.iter().find(|mode| mode.name == v);
        p.config.mode = mode.ok_or_else(|| format!("there is no such function; give one of {}", names.join(", ")))?;
        Ok(())
    }),
    value("-n count", All, "frames to send or receive, or to ping with; 0 is unlimited (0)", |p, v| {
        number(v, 0..=u64::MAX).map(|n| p.config.count = n)
    }),
    value(
        "-l size",
        Lengths,
        "bytes of a frame without CRC (60); a second -l: random sizes from it up, below the first",
        |p, v| {
            let size = number(v, *LIMITS.start()..=*LIMITS.end())?;
            if p.len.is_none() {
                p.len = Some(size)
            } else {
                p.least = Some(size)
            }
            Ok(())
        },
    ),
    value("-b burst", All, "frames per sync (512; ping and pong 1); -R limits it to rate/300", |p, v| {
        number(v, 0..=65_536).map(|n: u32| p.config.burst = (n > 0).then_some(n))
    }),
    set("-4", Makes, "IPv4 (the default)", |p| p.config.v6 = false),
    set("-6", Makes, "IPv6; the mark needs frames of 80 bytes then", |p| p.config.v6 = true),
    value("-d addr[-addr][:port[-port]]", Makes, "destination addresses and ports (10.1.0.1:1234)", |p, v| {
        p.dst = Some(v.to_owned());
        Ok(())
    }),
    value("-s addr[-addr][:port[-port]]", Makes, "source addresses and ports (10.0.0.1:1234)", |p, v| {
        p.src = Some(v.to_owned());
        Ok(())
    }),
    value("-D mac", Makes, "destination MAC address (ff:ff:ff:ff:ff:ff)", |p, v| {
        mac(v).map(|mac| p.config.dst_mac = mac)
    }),
    value("-S mac", Makes, "source MAC address (the port's own)", |p, v| {
        mac(v).map(|mac| p.config.src_mac = Some(mac))
    }),
    value("-a cpu", All, "pin the first thread to this processor, further ones to the following", |p, v| {
        number(v, 0..=4095).map(|cpu| p.config.affinity = Some(cpu))
    }),
    value("-c cpus", All, "use only this many processors, from the first on; 0 is all (0)", |p, v| {
        number(v, 0..=4096).map(|n| p.config.cpus = Some(n))
    }),
    value("-p threads", Threads, "threads, each with a queue of its own (1, which serves all queues)", |p, v| {
        number(v, 1..=256).map(|n| p.config.threads = n)
    }),
    value("-T ms", All, "milliseconds between reports, 10 or more (1000)", |p, v| {
        number(v, 10..=86_400_000).map(|ms| p.config.report = Duration::from_millis(ms))
    }),
    value("-w seconds", All, "wait before starting (until a physical link is up, but 2 s at most)", |p, v| {
        number(v, 0..=86_400).map(|s| p.config.wait_link = Some(Duration::from_secs(s)))
    }),
    value("-R rate", Sends, "frames per second, of all threads together; 0 is no limit (0)", |p, v| {
        number(v, 0..=1_000_000_000_000).map(|rate: u64| p.config.rate = (rate > 0).then_some(rate))
    }),
    set("-X", Threads, "dump each frame", |p| p.config.options |= options::DUMP),
    value("-H bytes", All, "virtio-net header before each frame: 0, 10 or 12 (0)", |p, v| {
        let n = number(v, 0..=12)?;
        if ![0, 10, 12].contains(&n) {
            return Err("a virtio-net header has 0, 10 or 12 bytes; give one of them".into());
        }
        p.config.vnet = n;
        Ok(())
    }),
    value("-P file", Tx, "send the first frame of this capture", |p, v| {
        p.config.packet_file = Some(from_text(v));
        Ok(())
    }),
    set("-z", Makes, "random source addresses and ports", |p| p.config.options |= options::RANDOM_SRC),
    set("-Z", Makes, "random destination addresses and ports", |p| p.config.options |= options::RANDOM_DST),
    set("-N", All, "do not normalize units: pps rather than Mpps", |p| p.config.normalize = false),
    value("-F fragments", Streams, "slots of each frame, 1 to 63 (1)", |p, v| {
        number(v, 1..=63).map(|n| p.config.frags = n)
    }),
    value("-M bytes", Streams, "most bytes of a slot (a buffer)", |p, v| {
        number(v, 1..=65_536).map(|n| p.config.frag_size = Some(n))
    }),
    refused(
        "-I",
        All,
        "indirect buffers, which linerate does not have: no effect",
        "linerate has no indirect buffers, frames are always copied into the ring; left out",
    ),
    set("-W", Receives, "exit after a second of silence that follows the first frame", |p| p.config.exit_idle = true),
    set("-v", All, "print more", |p| p.config.verbose = p.config.verbose.saturating_add(1)),
    set("-r", Tx, "send whatever the buffers contain", |p| p.config.options |= options::RUBBISH),
    set("-A", All, "mean and standard deviation of the rate over the last 15 reports", |p| {
        p.config.options |= options::PPS_STATS
    }),
    set("-B", All, "count 24 bytes of framing and CRC per frame in the bandwidth", |p| p.config.framing = true),
    value("-C slots[,slots[,rings[,rings]]]", All, "slots and rings each way; 0 is the default", |p, v| {
        rings(v).map(|rings| p.config.rings = Some(rings))
    }),
    value(
        "-o bits",
        All,
        "sum of: 1 prefetch, 4 copy (linerate's own), 8 memcpy (the C library's), 16 time-stamp, 64 dump, 256 rubbish, 512 random source, 1024 random destination, 2048 rate statistics, 4096 right checksums in captured frames",
        |p, v| bits(v).map(|bits| p.config.options |= bits),
    ),
    value("--to port", Far, "also receive and check (ping: send back) at this port, in this process", |p, v| {
        let (port, line) = resolve(v);
        p.config.remarks.extend(line);
        p.config.to = Some(port);
        Ok(())
    }),
    maybe("--imix len:weight[,...]", Mixes, "lengths in turn by weight (60:7,590:4,1514:1)", |p, v| {
        let weights = if v.is_empty() { Sizes::IMIX.to_vec() } else { mix(v)? };
        p.mix = Some(Sizes::mix(&weights));
        Ok(())
    }),
    value(
        "--pcap file[,if=N]",
        Tx,
        "replay this capture (or one interface of it) with its own timing (or at rate -R)",
        |p, v| {
            // A comma may be part of the file's name.
            let chosen = v.rsplit_once(",if=").filter(|(_, n)| !n.contains(','));
            p.interface =
                chosen.map(|(_, n)| number(n, 0..=u32::MAX).map_err(|why| format!("if={n}: {why}"))).transpose()?;
            p.capture = Some(from_text(chosen.map_or(v, |(file, _)| file)));
            Ok(())
        },
    ),
    value("--loop n", Tx, "replay the capture n times; 0 is endless (1)", |p, v| {
        number(v, 0..=u64::MAX - 1).map(|n| p.loops = Some(n))
    }),
    value("--speed x", Tx, "replay x times as fast; 0 is without pauses (1)", |p, v| {
        speed(v).map(|x| p.speed = Some(x))
    }),
    value("--seconds s", All, "end after s seconds", |p, v| seconds(v).map(|s| p.config.seconds = Some(s))),
    set(
        "--latency",
        Marks,
        "percentiles of latency, by time-stamps in the frames sent (76 bytes, IPv6 96): of one tagged frame of each burst from just before its transmission, of others with the time in the burst",
        |p| p.config.latency = true,
    ),
    value("--wait how", All, "how threads wait: busy, adaptive or sleep (adaptive)", |p, v| {
        let names: Vec<_> = WaitMode::ALL.iter().map(|(name, _)| *name).collect();
        let mode = WaitMode::ALL.iter().find(|(name, _)| *name == v);
        p.config.wait = mode.ok_or_else(|| format!("there is no such way; give one of {}", names.join(", ")))?.1;
        Ok(())
    }),
    value(
        "--run number",
        Marks,
        "number of the run, in each frame sent (random); the run to receive (any): other frames count as foreign",
        |p, v| number(v, 1..=u16::MAX).map(|run| p.config.run = Some(run)),
    ),
    set("--classic", All, "periodic lines as older pkt-gens print them", |p| p.config.style = Style::Classic),
    set("--json", All, "the result document on standard output, lines on standard error", |p| p.config.json = true),
    set("--keep", All, KEEP, |p| p.config.keep = true),
    set("--ndjson", All, "events as they happen on standard output, a JSON line each", |p| p.config.ndjson = true),
];
