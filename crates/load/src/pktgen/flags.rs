//! The command line: one row a flag, from which parsing, help and the refusal of what has no effect derive.
//!
//! Flags are netmap's, and behave as getopt's: `-l60`, `-l 60` and `-AB` all work. What has no effect where it is given,
//! netmap's pkt-gen ignores without a word; here it is checked all the same, left out, and said.

use super::address;
use super::captured::ReplayConfig;
use super::config::{Config, Style, options};
use super::modes::MODES;
use super::name::resolve;
use super::sizes::{LIMITS, Sizes};
use crate::words::{number, tidy, wrapped};
use linerate_port::nearest;
use linerate_port::path::from_text;
use linerate_rt::WaitMode;
use linerate_wire::MacAddr;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Whether a flag takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// One, called so in help.
    Value(&'static str),
    /// One, if what follows begins with a digit.
    Maybe(&'static str),
}

/// Where a flag has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In all modes.
    All,
    /// In none: netmap's pkt-gen has it.
    Never,
    /// Where frames are made: tx, txseq, ping.
    Sends,
    /// Where a stream is sent: tx, txseq.
    Streams,
    /// Where frames are made from addresses, so not from a capture, nor from rubbish.
    Makes,
    /// Where their lengths can be chosen, so not from a capture.
    Lengths,
    /// Where a stream is received: rx, rxseq.
    Receives,
    /// tx, txseq, rx and rxseq.
    Threads,
    /// Where linerate's mark is sent or looked for: tx, rx, ping.
    Marks,
    /// tx alone.
    Tx,
}

/// One flag.
pub struct Flag {
    /// After one dash.
    pub short: Option<char>,
    /// After two.
    pub long: Option<&'static str>,
    /// Its value.
    pub takes: Takes,
    /// What it does.
    pub about: &'static str,
    /// Where it does it.
    pub scope: Scope,
    /// Takes note of it. The error says what is wrong and what to do.
    set: fn(&mut Parse, &str) -> Result<(), String>,
}

/// What is known while flags are read.
struct Parse {
    config: Config,
    port: Option<String>,
    src: Option<String>,
    dst: Option<String>,
    len: Option<usize>,
    least: Option<usize>,
    mix: Option<Sizes>,
    capture: Option<PathBuf>,
    interface: Option<u32>,
    loops: Option<u64>,
    speed: Option<f64>,
}

/// What a command line asks for.
#[derive(Debug)]
pub enum Command {
    /// To run; what was left out of it is among its remarks.
    Run(Box<Config>),
    /// Help, or the version.
    Print(String),
}

const fn flag(
    short: char,
    takes: Takes,
    scope: Scope,
    about: &'static str,
    set: fn(&mut Parse, &str) -> Result<(), String>,
) -> Flag {
    Flag { short: Some(short), long: None, takes, about, scope, set }
}

const fn long(
    long: &'static str,
    takes: Takes,
    scope: Scope,
    about: &'static str,
    set: fn(&mut Parse, &str) -> Result<(), String>,
) -> Flag {
    Flag { short: None, long: Some(long), takes, about, scope, set }
}

/// A flag that ends the command line, and is asked for in either way.
const fn both(short: char, long: &'static str, about: &'static str) -> Flag {
    Flag { short: Some(short), long: Some(long), takes: Nothing, about, scope: All, set: |_, _| Ok(()) }
}

use Scope::{All, Lengths, Makes, Marks, Never, Receives, Sends, Streams, Threads};
use Takes::{Maybe, Nothing, Value};

/// All flags, in the order of help.
pub static FLAGS: &[Flag] = &[
    both('h', "help", "show this and exit"),
    both('V', "version", "show the version and exit"),
    flag('i', Value("port"), All, "port: KIND:NAME (see `linerate ports`); a bare name is xdp:NAME", |p, v| {
        let (port, line) = resolve(v);
        p.config.remarks.extend(line);
        p.port = Some(port);
        Ok(())
    }),
    flag('f', Value("function"), All, "tx, rx, ping, pong, txseq or rxseq (rx)", |p, v| {
        let names: Vec<_> = MODES.iter().map(|mode| mode.name).collect();
        let mode = MODES.iter().find(|mode| mode.name == v);
        p.config.mode = mode.ok_or_else(|| format!("there is no such function; give one of {}", names.join(", ")))?;
        Ok(())
    }),
    flag('n', Value("count"), All, "frames to send or receive, or to ping with; 0 is no end (0)", |p, v| {
        number(v, 0..=u64::MAX).map(|n| p.config.count = n)
    }),
    flag(
        'l',
        Value("size"),
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
    flag('b', Value("burst"), All, "frames a sync (512; ping and pong 1); -R cuts it to rate/300", |p, v| {
        number(v, 0..=65_536).map(|n: u32| p.config.burst = (n > 0).then_some(n))
    }),
    flag('4', Nothing, Makes, "IPv4 (the default)", |p, _| {
        p.config.v6 = false;
        Ok(())
    }),
    flag('6', Nothing, Makes, "IPv6; the mark needs frames of 80 bytes then", |p, _| {
        p.config.v6 = true;
        Ok(())
    }),
    flag('d', Value("addr[-addr][:port[-port]]"), Makes, "destination addresses and ports (10.1.0.1:1234)", |p, v| {
        p.dst = Some(v.to_owned());
        Ok(())
    }),
    flag('s', Value("addr[-addr][:port[-port]]"), Makes, "source addresses and ports (10.0.0.1:1234)", |p, v| {
        p.src = Some(v.to_owned());
        Ok(())
    }),
    flag('D', Value("mac"), Makes, "destination MAC address (ff:ff:ff:ff:ff:ff)", |p, v| {
        mac(v).map(|mac| p.config.dst_mac = mac)
    }),
    flag('S', Value("mac"), Makes, "source MAC address (the port's own)", |p, v| {
        mac(v).map(|mac| p.config.src_mac = Some(mac))
    }),
    flag('a', Value("cpu"), All, "pin the first thread to this processor, further ones to the following", |p, v| {
        number(v, 0..=4095).map(|cpu| p.config.affinity = Some(cpu))
    }),
    flag('c', Value("cpus"), All, "use the first so many processors only; 0 is all (0)", |p, v| {
        number(v, 0..=4096).map(|n| p.config.cpus = Some(n))
    }),
    flag(
        'p',
        Value("threads"),
        Threads,
        "threads, each with a queue of its own (1, which serves all queues)",
        |p, v| number(v, 1..=256).map(|n| p.config.threads = n),
    ),
    flag('T', Value("ms"), All, "milliseconds between reports, 10 or more (1000)", |p, v| {
        number(v, 10..=86_400_000).map(|ms| p.config.report = Duration::from_millis(ms))
    }),
    flag('w', Value("seconds"), All, "wait before starting (until a physical link is up, but 2 s at most)", |p, v| {
        number(v, 0..=86_400).map(|s| p.config.wait_link = Some(Duration::from_secs(s)))
    }),
    flag('R', Value("rate"), Sends, "frames per second, of all threads together; 0 is no limit (0)", |p, v| {
        number(v, 0..=1_000_000_000_000).map(|rate: u64| p.config.rate = (rate > 0).then_some(rate))
    }),
    flag('X', Nothing, Threads, "dump each frame", |p, _| option(p, options::DUMP)),
    flag('H', Value("bytes"), All, "virtio-net header before each frame: 0, 10 or 12 (0)", |p, v| {
        let n = number(v, 0..=12)?;
        if ![0, 10, 12].contains(&n) {
            return Err("a virtio-net header has 0, 10 or 12 bytes; give one of them".into());
        }
        p.config.vnet = n;
        Ok(())
    }),
    flag('P', Value("file"), Scope::Tx, "send the first frame of this capture", |p, v| {
        p.config.packet_file = Some(from_text(v));
        Ok(())
    }),
    flag('z', Nothing, Makes, "random source addresses and ports", |p, _| option(p, options::RANDOM_SRC)),
    flag('Z', Nothing, Makes, "random destination addresses and ports", |p, _| option(p, options::RANDOM_DST)),
    flag('N', Nothing, All, "do not normalize units: pps rather than Mpps", |p, _| {
        p.config.normalize = false;
        Ok(())
    }),
    flag('F', Value("fragments"), Streams, "slots of each frame, 1 to 63 (1)", |p, v| {
        number(v, 1..=63).map(|n| p.config.frags = n)
    }),
    flag('M', Value("bytes"), Streams, "most bytes of a slot (a buffer)", |p, v| {
        number(v, 1..=65_536).map(|n| p.config.frag_size = Some(n))
    }),
    flag('I', Nothing, Never, "indirect buffers, which linerate has not: without effect", |_, _| Ok(())),
    flag('W', Nothing, Receives, "exit after a second of silence that follows the first frame", |p, _| {
        p.config.exit_idle = true;
        Ok(())
    }),
    flag('v', Nothing, All, "tell more", |p, _| {
        p.config.verbose = p.config.verbose.saturating_add(1);
        Ok(())
    }),
    flag('r', Nothing, Scope::Tx, "send whatever the buffers contain", |p, _| option(p, options::RUBBISH)),
    flag('A', Nothing, All, "mean and standard deviation of the rate over the last 15 reports", |p, _| {
        option(p, options::PPS_STATS)
    }),
    flag('B', Nothing, All, "count 24 bytes of framing and CRC a frame in the bandwidth", |p, _| {
        p.config.framing = true;
        Ok(())
    }),
    flag('C', Value("slots[,slots[,rings[,rings]]]"), All, "slots and rings each way; 0 is the default", |p, v| {
        rings(v).map(|rings| p.config.rings = Some(rings))
    }),
    flag(
        'o',
        Value("bits"),
        All,
        "sum of: 1 prefetch, 4 copy (linerate's own), 8 memcpy (the C library's), 16 time-stamp, 64 dump, 256 rubbish, 512 random source, 1024 random destination, 2048 rate statistics, 4096 right checksums in captured frames",
        |p, v| {
            let bits = number(v, 0..=u32::MAX)?;
            bits_known(bits)?;
            p.config.options |= bits;
            Ok(())
        },
    ),
    long("to", Value("port"), Scope::Tx, "receive and check in this process, at this port, what is sent", |p, v| {
        let (port, line) = resolve(v);
        p.config.remarks.extend(line);
        p.config.to = Some(port);
        Ok(())
    }),
    long("imix", Maybe("len:weight[,...]"), Streams, "lengths in turn by weight (60:7,590:4,1514:1)", |p, v| {
        let weights = if v.is_empty() { Sizes::IMIX.to_vec() } else { mix(v)? };
        p.mix = Some(Sizes::mix(&weights));
        Ok(())
    }),
    long(
        "pcap",
        Value("file[,if=N]"),
        Scope::Tx,
        "replay this capture (or one interface of it) in its own time (or by -R)",
        |p, v| {
            // A comma may be part of the file's name.
            let chosen = v.rsplit_once(",if=").filter(|(_, n)| !n.contains(','));
            p.interface =
                chosen.map(|(_, n)| number(n, 0..=u32::MAX).map_err(|why| format!("if={n}: {why}"))).transpose()?;
            p.capture = Some(from_text(chosen.map_or(v, |(file, _)| file)));
            Ok(())
        },
    ),
    long("loop", Value("n"), Scope::Tx, "go through the capture so often; 0 is no end (1)", |p, v| {
        number(v, 0..=u64::MAX - 1).map(|n| p.loops = Some(n))
    }),
    long("speed", Value("x"), Scope::Tx, "replay x times as fast; 0 is as fast as it goes (1)", |p, v| {
        let x = f64::from_str(v).ok().filter(|x| *x == 0.0 || (0.001..=1e6).contains(x));
        p.speed = Some(x.ok_or("give 0, or a number from 0.001 to 1000000")?);
        Ok(())
    }),
    long("seconds", Value("s"), All, "end after so long", |p, v| {
        let s = f64::from_str(v).ok().filter(|s| (0.001..=1e7).contains(s)).ok_or("give seconds, as 10 or 0.5")?;
        p.config.seconds = Some(Duration::from_secs_f64(s));
        Ok(())
    }),
    long(
        "latency",
        Nothing,
        Marks,
        "percentiles of latency: time-stamps in the frames sent (76 bytes, IPv6 96), read where they arrive",
        |p, _| {
            p.config.latency = true;
            Ok(())
        },
    ),
    long("wait", Value("how"), All, "how threads wait: busy, adaptive or sleep (adaptive)", |p, v| {
        let names: Vec<_> = WaitMode::ALL.iter().map(|(name, _)| *name).collect();
        let mode = WaitMode::ALL.iter().find(|(name, _)| *name == v);
        p.config.wait = mode.ok_or_else(|| format!("there is no such way; give one of {}", names.join(", ")))?.1;
        Ok(())
    }),
    long(
        "run",
        Value("number"),
        Marks,
        "the run that frames are marked with, or that is received: others are foreign (random; any)",
        |p, v| number(v, 1..=u16::MAX).map(|run| p.config.run = Some(run)),
    ),
    long("classic", Nothing, All, "periodic lines as older pkt-gens print them", |p, _| {
        p.config.style = Style::Classic;
        Ok(())
    }),
    long("json", Nothing, All, "the result document on standard output, lines on standard error", |p, _| {
        p.config.json = true;
        Ok(())
    }),
    long("ndjson", Nothing, All, "events as they happen on standard output, a JSON line each", |p, _| {
        p.config.ndjson = true;
        Ok(())
    }),
];

impl Flag {
    /// As it is typed.
    #[must_use]
    pub fn name(&self) -> String {
        match (self.short, self.long) {
            (Some(c), _) => format!("-{c}"),
            (None, long) => format!("--{}", long.unwrap_or_default()),
        }
    }
}

impl Config {
    /// What a command line (without the program's name) asks for.
    ///
    /// # Errors
    /// One line that names the flag and the mend.
    pub fn parse(arguments: &[String]) -> Result<Command, String> {
        if arguments == ["help"] {
            return Ok(Command::Print(help()));
        }
        let mut words = Words { arguments, at: 0, cluster: "" };
        let mut given = Vec::new();
        while let Some((flag, value)) = words.next()? {
            match flag.long {
                Some("help") => return Ok(Command::Print(help())),
                Some("version") => return Ok(Command::Print(version())),
                _ => {}
            }
            given.push((flag, value));
        }
        // Which flags have an effect depends on others, which may be without one themselves.
        let mut left_out = Vec::new();
        loop {
            let parse = Parse::of(&given)?;
            let Some(at) = given.iter().position(|(flag, _)| !has_effect(&parse.config, flag.scope)) else {
                return parse.finish(left_out);
            };
            let (flag, config) = (given.remove(at).0, &parse.config);
            let (name, mode) = (flag.name(), config.mode.name);
            left_out.push(match flag.scope {
                Makes | Lengths if config.mode.sends() => format!("{name}: the frames come as they are; left out"),
                Never => format!(
                    "{name}: linerate has no indirect buffers, frames are always copied into the ring; left out"
                ),
                _ => format!("{name}: has no effect with -f {mode}; left out"),
            });
        }
    }
}

/// Flags and their values, one after the other, as getopt finds them.
struct Words<'a> {
    arguments: &'a [String],
    at: usize,
    /// What is left of a word with several short flags.
    cluster: &'a str,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<Option<(&'static Flag, String)>, String> {
        if self.cluster.is_empty() {
            let Some(word) = self.arguments.get(self.at) else { return Ok(None) };
            self.at += 1;
            if let Some(name) = word.strip_prefix("--") {
                return self.long(name).map(Some);
            }
            self.cluster = match word.strip_prefix('-') {
                Some(cluster) if !cluster.is_empty() => cluster,
                _ => return Err(format!("{}: not a flag; flags begin with a dash, -h lists them", tidy(word))),
            };
        }
        let mut chars = self.cluster.chars();
        let c = chars.next().unwrap_or('-');
        let flag = FLAGS.iter().find(|flag| flag.short == Some(c)).ok_or_else(|| unknown(&format!("-{c}")))?;
        self.cluster = chars.as_str();
        let Takes::Value(value) = flag.takes else { return Ok(Some((flag, String::new()))) };
        let attached = std::mem::take(&mut self.cluster);
        let given = if attached.is_empty() { self.argument() } else { Some(attached.to_owned()) };
        given.map(|v| Some((flag, v))).ok_or_else(|| format!("-{c}: no value; give -{c} {value}"))
    }

    fn long(&mut self, word: &str) -> Result<(&'static Flag, String), String> {
        let (name, attached) =
            word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.to_owned())));
        let flag = FLAGS.iter().find(|flag| flag.long == Some(name)).ok_or_else(|| unknown(&format!("--{name}")))?;
        let value = match (flag.takes, attached) {
            (Nothing, Some(_)) => return Err(format!("--{name}: takes no value; leave it out")),
            (Nothing, None) => String::new(),
            (_, Some(value)) => value,
            (Value(value), None) => {
                self.argument().ok_or_else(|| format!("--{name}: no value; give --{name} {value}"))?
            }
            (Maybe(_), None) => {
                let follows = self.arguments.get(self.at).is_some_and(|a| a.starts_with(|c: char| c.is_ascii_digit()));
                if follows { self.argument().unwrap_or_default() } else { String::new() }
            }
        };
        Ok((flag, value))
    }

    fn argument(&mut self) -> Option<String> {
        let word = self.arguments.get(self.at)?;
        self.at += 1;
        Some(word.clone())
    }
}

/// Why a flag is not taken.
fn unknown(name: &str) -> String {
    let longs = || FLAGS.iter().filter_map(|flag| flag.long);
    match name.strip_prefix("--").and_then(|long| nearest(long, longs())) {
        Some(meant) => format!("{}: no such flag; did you mean --{meant}?", tidy(name)),
        None => format!("{}: no such flag; -h lists them", tidy(name)),
    }
}

/// Bits of netmap's that say how frames are handed over, which linerate does in one way.
const ACCESS: u32 = 2;
const INDIRECT: u32 = 32;

fn bits_known(bits: u32) -> Result<(), String> {
    let known = options::ALL.iter().fold(ACCESS | INDIRECT, |all, (_, bit)| all | bit);
    if bits & !known != 0 {
        return Err(format!("bit {} means nothing; -h lists the bits", 1u32 << (bits & !known).trailing_zeros()));
    }
    Ok(())
}

impl Parse {
    /// Takes note of all flags.
    fn of(given: &[(&'static Flag, String)]) -> Result<Self, String> {
        let mut parse = Self {
            config: Config::new(""),
            port: None,
            src: None,
            dst: None,
            len: None,
            least: None,
            mix: None,
            capture: None,
            interface: None,
            loops: None,
            speed: None,
        };
        for (flag, value) in given {
            let shown = if value.is_empty() { flag.name() } else { format!("{} {}", flag.name(), tidy(value)) };
            (flag.set)(&mut parse, value).map_err(|why| format!("{shown}: {why}"))?;
        }
        parse.config.replay = replay(&parse)?;
        Ok(parse)
    }

    fn finish(mut self, mut left_out: Vec<String>) -> Result<Command, String> {
        let config = &mut self.config;
        config.port = self.port.ok_or("no port; give one with -i, as -i cable:lab{1")?;
        left_out.extend(without_effect(config)?);
        config.remarks.append(&mut left_out);
        if config.replay.is_some() && config.threads > 1 {
            return Err(format!("-p {}: a capture is replayed by one thread; leave it out", config.threads));
        }
        if config.mode.single && config.threads > 1 {
            let line = format!("-p {}: -f {} has one thread; left out", config.threads, config.mode.name);
            config.remarks.push(line);
            config.threads = 1;
        }
        config.sizes = match (self.len, self.least, self.mix) {
            (None, _, Some(mix)) => mix,
            (Some(_), _, Some(_)) => return Err("--imix: -l says other sizes; give one of them".into()),
            (Some(len), Some(least), None) if least < len => Sizes::Range(least, len - 1),
            (Some(len), Some(least), None) if least > len => {
                return Err(format!("-l {least}: the second -l is the smaller; give -l {least} -l {len}"));
            }
            (Some(len), ..) => Sizes::Fixed(len),
            (None, ..) => config.sizes.clone(),
        };
        let (src, dst) = if config.v6 { ("fd00::1", "fd00::2") } else { ("10.0.0.1", "10.1.0.1") };
        config.src_text = self.src.unwrap_or_else(|| src.into());
        config.dst_text = self.dst.unwrap_or_else(|| dst.into());
        config.src = address::range(&config.src_text, config.v6)
            .map_err(|why| format!("-s {}: {why}", tidy(&config.src_text)))?;
        config.dst = address::range(&config.dst_text, config.v6)
            .map_err(|why| format!("-d {}: {why}", tidy(&config.dst_text)))?;
        Ok(Command::Run(Box::new(self.config)))
    }
}

/// How a capture is replayed, if one is.
fn replay(parse: &Parse) -> Result<Option<ReplayConfig>, String> {
    let Parse { config, capture, interface, loops, speed, .. } = parse;
    let Some(path) = capture else {
        let alone = [("--loop", loops.is_some()), ("--speed", speed.is_some())];
        return match alone.iter().find(|(_, given)| *given && config.mode.name == "tx") {
            Some((name, _)) => Err(format!("{name}: nothing is replayed; give --pcap file, or leave it out")),
            None => Ok(None),
        };
    };
    if config.packet_file.is_some() || config.has(options::RUBBISH) {
        return Err("--pcap: -P and -r send something else; give one of them".into());
    }
    if config.rate.is_some() && speed.is_some() {
        return Err("--speed: -R sets the rate; give one of them".into());
    }
    let speed = speed.unwrap_or(if config.rate.is_some() { 0.0 } else { 1.0 });
    Ok(Some(ReplayConfig { path: path.clone(), interface: *interface, loops: loops.unwrap_or(1), speed }))
}

fn has_effect(config: &Config, scope: Scope) -> bool {
    let (sends, receives) = (config.mode.sends(), config.mode.receives());
    let streams = sends && !config.mode.single || config.mode.name == "txseq";
    match scope {
        All => true,
        Never => false,
        Sends => sends,
        Streams => streams,
        Makes => sends && !config.captured() && !config.has(options::RUBBISH),
        Lengths => sends && !config.captured(),
        Receives => receives,
        Threads => streams || receives,
        Marks => matches!(config.mode.name, "tx" | "rx" | "ping"),
        Scope::Tx => config.mode.name == "tx",
    }
}

/// Takes those bits of `-o` out that do nothing here; a line for each.
fn without_effect(config: &mut Config) -> Result<Vec<String>, String> {
    use options::{COPY, DUMP, MEMCPY, PREFETCH, RANDOM_DST, RANDOM_SRC, RUBBISH, TS, UPDATE_CSUM};
    let mode = config.mode.name;
    let nothing = format!("has no effect with -f {mode}");
    let mut lines = Vec::new();
    let mut no = |config: &mut Config, bits: u32, why: &str| {
        let set = config.options & bits;
        for bit in (0..32).map(|k| 1 << k).filter(|bit| set & bit != 0) {
            config.options &= !bit;
            lines.push(format!("-o {bit}: {why}; left out"));
        }
    };
    no(config, ACCESS, "every byte received is read and checked anyway");
    no(config, INDIRECT, "linerate has no indirect buffers");
    if mode != "tx" && mode != "txseq" {
        no(config, PREFETCH | COPY | MEMCPY, &nothing);
    }
    if mode != "tx" {
        no(config, RUBBISH, &nothing);
    }
    if !has_effect(config, Marks) || config.mode.receives() {
        no(config, TS, &nothing);
    }
    if !has_effect(config, Threads) {
        no(config, DUMP, &nothing);
    }
    if !has_effect(config, Makes) {
        no(config, RANDOM_SRC | RANDOM_DST | TS, &format!("no frames are made with -f {mode} here"));
    }
    if config.has(COPY) && config.has(MEMCPY) {
        return Err("-o 12: COPY (4) and MEMCPY (8) are two ways to copy; give one of them".into());
    }
    if config.has(RUBBISH) {
        no(config, COPY | MEMCPY, "rubbish is not copied");
    }
    if !config.captured() {
        no(config, UPDATE_CSUM, "frames made here always have right checksums, it is for captured ones (-P, --pcap)");
    }
    Ok(lines)
}

fn option(parse: &mut Parse, bit: u32) -> Result<(), String> {
    parse.config.options |= bit;
    Ok(())
}

fn mac(text: &str) -> Result<[u8; 6], String> {
    text.parse::<MacAddr>().map(|mac| mac.0).map_err(|e| e.to_string())
}

fn rings(text: &str) -> Result<[u32; 4], String> {
    let parts: Vec<&str> = text.split(',').collect();
    let form = || "give one to four numbers, as 1024 or 1024,1024,2,2".to_owned();
    if parts.len() > 4 {
        return Err(form());
    }
    let n = parts.iter().map(|part| if part.is_empty() { Ok(0) } else { number(part, 0..=65_536) });
    let n: Vec<u32> = n.collect::<Result<_, _>>().map_err(|_| form())?;
    let at = |k: usize| n.get(k).copied();
    let (slots, rings) = (at(0).unwrap_or(0), at(2).unwrap_or(0));
    Ok([slots, at(1).unwrap_or(slots), rings, at(3).unwrap_or(rings)])
}

fn mix(text: &str) -> Result<Vec<(usize, usize)>, String> {
    let one = |part: &str| -> Option<(usize, usize)> {
        let (len, weight) = part.split_once(':')?;
        Some((number(len, *LIMITS.start()..=*LIMITS.end()).ok()?, number(weight, 1..=1000).ok()?))
    };
    let list: Option<Vec<_>> = text.split(',').map(one).collect();
    list.filter(|list| list.len() <= 64).ok_or_else(|| "give lengths and weights, as 60:7,590:4,1514:1".into())
}

fn version() -> String {
    concat!("pkt-gen (linerate ", env!("CARGO_PKG_VERSION"), ")\n").into()
}

/// The text of `-h`.
#[must_use]
pub fn help() -> String {
    let mut text = String::from("Usage: pkt-gen -i port [-f function] [flags]\n\n");
    for flag in FLAGS {
        let value = match flag.takes {
            Nothing => String::new(),
            Value(v) => format!(" {v}"),
            Maybe(v) => format!(" [{v}]"),
        };
        let long = flag.long.filter(|_| flag.short.is_some()).map(|long| format!(", --{long}")).unwrap_or_default();
        let _ = writeln!(text, "  {}{long}{value}", flag.name());
        for line in wrapped(flag.about, 88) {
            let _ = writeln!(text, "          {line}");
        }
    }
    text.push_str("\nFunctions\n");
    for mode in MODES {
        let _ = writeln!(text, "  {:6} {}", mode.name, mode.about);
    }
    text.push_str("\nExit codes: 0 passed, 1 failed, 2 wrong on the command line, 128+n ended early by signal n\n");
    text
}
