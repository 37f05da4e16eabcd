//! The flags, in the order of help.

use super::value::{decimal, number, pattern, percent, seconds, seek, throttle};
use super::{Flag, Named, Set, Words};
use crate::xdd::config::{Amount, Config, Document, Target, Verify, WHOLE};
use linerate_port::path::from_text;
use std::path::PathBuf;
use std::time::Duration;

type Names = fn(&mut Named, &mut Words) -> Result<(), String>;
type Run = fn(&mut Config, &mut Words) -> Result<(), String>;
type Each = fn(&mut Target, &mut Words) -> Result<(), String>;

const fn row(
    name: &'static str,
    short: Option<&'static str>,
    takes: &'static str,
    about: &'static str,
    set: Set,
) -> Flag {
    Flag { name, short, takes, about, set }
}

const fn names(
    name: &'static str,
    short: Option<&'static str>,
    takes: &'static str,
    about: &'static str,
    set: Names,
) -> Flag {
    row(name, short, takes, about, Set::Names(set))
}

const fn each(name: &'static str, short: &'static str, takes: &'static str, about: &'static str, set: Each) -> Flag {
    row(name, Some(short), takes, about, Set::Target(set))
}

const fn run(name: &'static str, short: &'static str, takes: &'static str, about: &'static str, set: Run) -> Flag {
    row(name, Some(short), takes, about, Set::Run(set))
}

const fn document(name: &'static str, about: &'static str, set: Run) -> Flag {
    row(name, None, "", about, Set::Run(set))
}

/// The largest request, octets.
const REQUEST: u64 = 16 << 20;
/// The most targets, requests under way of one, and blocks of a target.
const TARGETS: usize = 1024;
const DEPTH: u32 = 1024;
const BLOCKS: u64 = 1 << 48;

/// All flags.
pub static FLAGS: &[Flag] = &[
    row("help", Some("h"), "", "show this and exit, as --help does", Set::Help),
    row("fullhelp", Some("exthelp"), "", "the same", Set::Help),
    row("version", Some("ver"), "", "show the version and exit, as --version does", Set::Version),
    row("V", None, "", "the same", Set::Version),
    row("setup", None, "FILE", "the words in this file stand here", Set::Setup),
    names(
        "targets",
        None,
        "N NAME...",
        "N targets by name; N of a negative sign: one name for as many targets; of a device with several units (fcoe:) one \
         name stands for its first N",
        |n, w| w.targets(&mut n.targets, TARGETS),
    ),
    names("target", None, "NAME", "one more target", |n, w| {
        n.targets.push((w.value()?, 0));
        if n.targets.len() > TARGETS { Err(format!("there are {TARGETS} targets at most")) } else { Ok(()) }
    }),
    names("targetdir", Some("td"), "DIR", "targets whose names are of files stand in this directory", |n, w| {
        n.directory = Some(from_text(&w.value()?));
        Ok(())
    }),
    names("targetoffset", Some("to"), "BLOCKS", "each target begins so much later than the one before (0)", |n, w| {
        n.offset = number(w, 0..=BLOCKS)?;
        Ok(())
    }),
    names("targetstartdelay", Some("tsd"), "S", "each target waits so much longer than the one before (0)", |n, w| {
        n.delay = decimal(w, 0.0, 1e4)?;
        Ok(())
    }),
    names("processor", Some("pt"), "TARGET CPU", "where a target's thread runs", |n, w| {
        n.cpus.push((number(w, 0..=TARGETS)?, number(w, 0..=4095)?));
        Ok(())
    }),
    names("singleproc", Some("sp"), "CPU", "where all threads run", |n, w| {
        let cpu = number(w, 0..=4095)?;
        n.cpus.extend((0..TARGETS).map(|target| (target, cpu)));
        Ok(())
    }),
    names("roundrobin", Some("rr"), "N", "targets are spread over so many processors, or all", |n, w| {
        n.spread = Some(if w.take("all") { usize::MAX } else { number(w, 1..=4096)? });
        Ok(())
    }),
    each("operation", "op", "read|write", "what is done; a later -rwratio counts instead (read)", |t, w| {
        t.reads = match w.value()?.as_str() {
            "read" => WHOLE,
            "write" => 0,
            _ => return Err("give read or write".into()),
        };
        Ok(())
    }),
    each("rwratio", "rw", "PERCENT", "so many requests of a hundred read, the others write, evenly spread", |t, w| {
        t.reads = percent(w)?;
        Ok(())
    }),
    each("blocksize", "bs", "BYTES", "a block, in which -reqsize counts (1024)", |t, w| {
        t.block_size = number(w, 1..=REQUEST)?;
        Ok(())
    }),
    each(
        "reqsize",
        "rs",
        "BLOCKS",
        "blocks of a request (128); published sizes of 512 to 32768 bytes are 1 to 64 with -blocksize 512",
        |t, w| {
            t.request_blocks = number(w, 1..=REQUEST)?;
            Ok(())
        },
    ),
    each("numreqs", "nr", "N", "requests of a pass", |t, w| {
        t.amount = Amount::Requests(number(w, 1..=u64::MAX)?);
        Ok(())
    }),
    each("bytes", "b", "N", "bytes of a pass", |t, w| bytes(t, w, 1)),
    each("kbytes", "kb", "N", "the same in 1024 bytes", |t, w| bytes(t, w, 1 << 10)),
    each("mbytes", "mb", "N", "the same in 1048576 bytes", |t, w| bytes(t, w, 1 << 20)),
    each("queuedepth", "qd", "N", "requests under way at once (1)", |t, w| {
        t.depth = number(w, 1..=DEPTH)?;
        Ok(())
    }),
    each(
        "seek",
        "s",
        "WAY",
        "sequential, at the end from the start again; random; none: always the same place; range BLOCKS: no further; seed N",
        |t, w| seek(&mut t.seek, w),
    ),
    each("startoffset", "sto", "BLOCKS", "where the first request goes (0)", |t, w| {
        t.start = number(w, 0..=BLOCKS)?;
        Ok(())
    }),
    each("passoffset", "po", "BLOCKS", "how much later each pass begins than the one before (0)", |t, w| {
        t.pass_offset = number(w, 0..=BLOCKS)?;
        Ok(())
    }),
    each(
        "datapattern",
        "dp",
        "WHAT",
        "what is written: a character; sequenced: each word's place; random; prefix HEX: its upper bits; inverse; ascii TEXT or \
         hex HEX, once or with replicate (zeros)",
        |t, w| pattern(&mut t.pattern, w),
    ),
    each(
        "verify",
        "verify",
        "contents|location",
        "compare what was read with the pattern, or its first word with its place",
        |t, w| {
            t.verify = match w.value()?.as_str() {
                "contents" | "content" => Verify::Contents,
                "location" => Verify::Location,
                _ => return Err("give contents or location".into()),
            };
            Ok(())
        },
    ),
    each("directio", "dio", "", "files without the kernel's cache (O_DIRECT)", |t, _| {
        t.direct = true;
        Ok(())
    }),
    each("scsigeneric", "sgio", "", "SG_IO, whatever the device's name", |t, _| {
        t.sg = true;
        Ok(())
    }),
    each("syncwrite", "sw", "", "writes complete on stable storage only", |t, _| {
        t.sync_write = true;
        Ok(())
    }),
    each("flushwrite", "fw", "N", "flush after every N writes", |t, w| {
        t.flush_every = Some(number(w, 1..=u64::MAX)?);
        Ok(())
    }),
    each("throttle", "throt", "ops N|bw MB", "no more requests, or 10^6 bytes, a second than this", |t, w| {
        t.throttle = Some(throttle(w)?);
        Ok(())
    }),
    each("startdelay", "sd", "S", "seconds before the first pass (0)", |t, w| {
        t.start_delay = seconds(w)?;
        Ok(())
    }),
    each("timelimit", "tl", "S", "the longest time of a pass", |t, w| {
        t.time_limit = Some(seconds(w)?);
        Ok(())
    }),
    each("deletefile", "del", "", "delete the file at the end", |t, _| {
        t.delete = true;
        Ok(())
    }),
    run("passes", "p", "N", "how often the requests are done (1)", |c, w| {
        c.passes = number(w, 1..=u64::MAX)?;
        Ok(())
    }),
    run("passdelay", "pdelay", "S", "seconds between two passes (0)", |c, w| {
        c.pass_delay = seconds(w)?;
        Ok(())
    }),
    run("runtime", "rt", "S", "passes are done until so many seconds are over, however many they are", |c, w| {
        c.runtime = Some(Duration::from_secs_f64(decimal(w, 0.001, 1e7)?));
        Ok(())
    }),
    run("maxall", "maxall", "", "-maximumpriority and -processlock", |c, _| {
        (c.priority, c.lock) = (true, true);
        Ok(())
    }),
    run("maximumpriority", "maxpri", "", "threads come before all others (nice -20)", |c, _| {
        c.priority = true;
        Ok(())
    }),
    run("processlock", "plock", "", "memory is locked", |c, _| {
        c.lock = true;
        Ok(())
    }),
    run("minall", "minall", "", "neither: takes back what came before", |c, _| {
        (c.priority, c.lock) = (false, false);
        Ok(())
    }),
    run("noproclock", "noplock", "", "memory is not locked: takes back -processlock", |c, _| {
        c.lock = false;
        Ok(())
    }),
    run("nomemlock", "nomlock", "", "the same", |c, _| {
        c.lock = false;
        Ok(())
    }),
    run("stoponerror", "soe", "", "the first error of any target ends the run", |c, _| {
        c.stop_on_error = true;
        Ok(())
    }),
    run("maxerrors", "maxerrors", "N", "so many errors end the run", |c, w| {
        c.max_errors = Some(number(w, 1..=u64::MAX)?);
        Ok(())
    }),
    run("maxerrorstoprint", "mep", "N", "errors of a target that get a line (10)", |c, w| {
        c.errors_told = number(w, 0..=1_000_000)?;
        Ok(())
    }),
    run("heartbeat", "hb", "S", "a sign of life so often, on standard error", |c, w| {
        c.heartbeat = Some(Duration::from_secs_f64(decimal(w, 0.01, 1e6)?));
        Ok(())
    }),
    run("identifier", "id", "TEXT|commandline", "what the run is called", |c, w| {
        c.id = Some(w.value()?);
        Ok(())
    }),
    run("dryrun", "dry", "", "say what would be done, and do nothing", |c, _| {
        c.dry = true;
        Ok(())
    }),
    run("verbose", "verbose", "", "a line a target and pass", |c, _| {
        c.verbose = true;
        Ok(())
    }),
    run("unverbose", "unv", "", "takes -verbose back", |c, _| {
        c.verbose = false;
        Ok(())
    }),
    run("extendedstats", "extstats", "", "lines of latency percentiles", |c, _| {
        c.percentiles = true;
        Ok(())
    }),
    run("output", "o", "FILE", "lines go to this file", |c, w| file(&mut c.output, w)),
    run("errout", "eo", "FILE", "errors go to this file", |c, w| file(&mut c.errors, w)),
    run("csvout", "csvo", "FILE", "the table, separated by commas, to this file too", |c, w| file(&mut c.csv, w)),
    run("combinedout", "combo", "FILE", "lines of all targets together are added to this file too", |c, w| {
        file(&mut c.combined, w)
    }),
    document("-json", "the result document on standard output instead of the table", |c, _| {
        c.document = Document::Result;
        Ok(())
    }),
    document("-fio-json", "a document as fio's --output-format=json prints it", |c, _| {
        c.document = Document::Fio;
        Ok(())
    }),
];

fn bytes(target: &mut Target, words: &mut Words, unit: u64) -> Result<(), String> {
    target.amount = Amount::Bytes(number(words, 1..=u64::MAX / unit)? * unit);
    Ok(())
}

fn file(to: &mut Option<PathBuf>, words: &mut Words) -> Result<(), String> {
    *to = Some(from_text(&words.value()?));
    Ok(())
}
