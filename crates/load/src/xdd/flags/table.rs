//! Flags in the order of help.

use super::check::REQUEST;
use super::setup::setup;
use super::state::Scope::{self, Run, Target};
use super::state::State;
use super::targets::{Group, TARGETS};
use super::value::{PATTERNS, SEEKS, byte, bytes, decimal, format, percent, seconds, targets, throttle};
use super::{PROGRAM, help};
use crate::flags::Does::{Refused, Set};
use crate::flags::{Flag, KEEP, number, one_of, print, refused, set, value, values};
use crate::xdd::config::{Amount, Document, Verify, WHOLE};
use linerate_text::path::from_text;
use std::path::PathBuf;
use std::time::Duration;

/// Greatest number of requests in flight on a target, and greatest number of its blocks.
const DEPTH: u32 = 1024;
const BLOCKS: u64 = 1 << 48;

pub(in crate::xdd) static FLAGS: &[Flag<State, Scope>] = &[
    print("-help -h --help", Run, "show this and exit", help),
    print("-fullhelp -exthelp", Run, "the same", help),
    print("-version -ver --version", Run, "show the version and exit", || PROGRAM.version()),
    print("-V", Run, "the same", || PROGRAM.version()),
    value("-setup FILE", Run, "insert the words of this file here", setup),
    values(
        "-targets N NAME...",
        Run,
        "N targets by name; names may stand behind later flags; a negative N: one name for that many targets; of a device \
         with several units (fcoe:) one name stands for its first N",
        |s, v| targets(&mut s.named, v),
    ),
    value("-target NAME", Run, "one more target", |s, v| {
        s.named.groups.push(Group::one(v));
        if s.named.count() > TARGETS { Err(format!("there are {TARGETS} targets at most")) } else { Ok(()) }
    }),
    value("-targetdir -td DIR", Run, "directory of targets that are named as files", |s, v| {
        s.named.directory = Some(from_text(v));
        Ok(())
    }),
    value("-targetoffset -to BLOCKS", Run, "distance between the starts of successive targets (0)", |s, v| {
        number(v, 0..=BLOCKS).map(|n| s.named.offset = n)
    }),
    value("-targetstartdelay -tsd S", Run, "seconds between the starts of successive targets (0)", |s, v| {
        decimal(v, 0.0, 1e4).map(|n| s.named.delay = n)
    }),
    values("-processor -pr TARGET CPU", Run, "run a target's thread on this processor", |s, v| {
        s.named.cpus.push((number(&v.value()?, 0..=TARGETS)?, number(&v.value()?, 0..=4095)?));
        Ok(())
    }),
    value("-singleproc -sp CPU", Run, "run all threads on this processor", |s, v| {
        let cpu = number(v, 0..=4095)?;
        s.named.cpus.extend((0..TARGETS).map(|target| (target, cpu)));
        Ok(())
    }),
    value("-roundrobin -rr N", Run, "spread the targets over N processors, or all", |s, v| {
        s.named.spread = Some(if v == "all" { usize::MAX } else { number(v, 1..=4096)? });
        Ok(())
    }),
    one_of(
        "-operation -op read|write",
        Target,
        "operation of all requests; a later -rwratio replaces it (read)",
        &[
            ("read", Set(|s| s.target.reads = WHOLE)),
            ("write", Set(|s| s.target.reads = 0)),
            ("noop", Refused("there are no requests without data here; give read, and null:1G for no device")),
        ],
        |_, _| Err("give read or write".into()),
    ),
    value(
        "-rwratio -rw PERCENT",
        Target,
        "percentage of requests that read; the others write, evenly mixed",
        |s, v| percent(v).map(|n| s.target.reads = n),
    ),
    value("-blocksize -bs BYTES", Target, "bytes of a block, the unit of -reqsize (1024)", |s, v| {
        number(v, 1..=REQUEST).map(|n| s.target.block_size = n)
    }),
    value(
        "-reqsize -rs BLOCKS",
        Target,
        "blocks per request (128); published sizes of 512 to 32768 bytes are 1 to 64 with -blocksize 512",
        |s, v| number(v, 1..=REQUEST).map(|n| s.target.request_blocks = n),
    ),
    value("-numreqs -nr N", Target, "requests per pass", |s, v| {
        number(v, 1..=u64::MAX).map(|n| s.target.amount = Amount::Requests(n))
    }),
    value("-bytes -b N", Target, "bytes per pass", |s, v| bytes(s, v, 1)),
    value("-kbytes -kb N", Target, "the same in 1024 bytes", |s, v| bytes(s, v, 1 << 10)),
    value("-mbytes -mb N", Target, "the same in 1048576 bytes", |s, v| bytes(s, v, 1 << 20)),
    value("-queuedepth -qd N", Target, "requests outstanding at a time (1)", |s, v| {
        number(v, 1..=DEPTH).map(|n| s.target.depth = n)
    }),
    one_of(
        "-seek -s WAY",
        Target,
        "sequential, from the start again at the end; random; none: always the same position; range BLOCKS: not beyond; seed N",
        SEEKS,
        |_, _| Err("there is no such way; give sequential, random, none, range N or seed N".into()),
    ),
    set("-randomize -rand", Target, "random positions differ from pass to pass; otherwise they are the same", |s| {
        s.target.randomize = true
    }),
    set("-serialordering -so", Target, "begin a request when the one before it has ended", |s| s.target.serial = true),
    set("-noordering -no", Target, "requests end in any order: undo -serialordering", |s| s.target.serial = false),
    value("-startoffset -sto BLOCKS", Target, "position of the first request (0)", |s, v| {
        number(v, 0..=BLOCKS).map(|n| s.target.start = n)
    }),
    value("-passoffset -po BLOCKS", Target, "distance between the starts of successive passes (0)", |s, v| {
        number(v, 0..=BLOCKS).map(|n| s.target.pass_offset = n)
    }),
    one_of(
        "-datapattern -dp WHAT",
        Target,
        "data to write: a character; sequenced: each word's position; random; prefix HEX: its upper bits; inverse; ascii TEXT or \
         hex HEX, once or with replicate (zeros)",
        PATTERNS,
        byte,
    ),
    one_of(
        "-verify contents|location",
        Target,
        "compare what was read with the pattern, or its first word with its position",
        &[
            ("contents content", Set(|s| s.target.verify = Verify::Contents)),
            ("location", Set(|s| s.target.verify = Verify::Location)),
        ],
        |_, _| Err("give contents or location".into()),
    ),
    set("-directio -dio", Target, "open files past the kernel's page cache (O_DIRECT)", |s| s.target.direct = true),
    value(
        "-pi crc|ip|off",
        Target,
        "protection information of LUNs on a port: guard that is made of each buffer and checked; ip: an IP checksum, a CRC on the \
         wire; behind commas app=TAG, protect=N: what the target checks (crc,protect=1)",
        |s, v| v.parse().map(|pi| s.target.pi = Some(pi)),
    ),
    value(
        "--wwpn WWPN",
        Target,
        "own World Wide Port Name, by which a target of LUNs on a port knows this initiator",
        |s, v| {
            s.target.wwpn = Some(v.parse().map_err(|_| "give a name as 20:00:52:54:00:00:00:01")?);
            Ok(())
        },
    ),
    set("-scsigeneric -sgio", Target, "use SG_IO, whatever the device's name", |s| s.target.sg = true),
    set("-syncwrite -sw", Target, "a write completes only when it is on stable storage", |s| {
        s.target.sync_write = true
    }),
    value("-flushwrite -fw N", Target, "flush after every N writes", |s, v| {
        number(v, 1..=u64::MAX).map(|n| s.target.flush_every = Some(n))
    }),
    values(
        "-throttle -throt ops N|bw MB|delay S",
        Target,
        "limit of requests, or of 10^6 bytes, per second; delay: as -operationdelay",
        |s, v| throttle(&mut s.target, v),
    ),
    value(
        "-operationdelay -opdelay S",
        Target,
        "seconds between the end, or the begin, of a request and the begin of the next (0)",
        |s, v| seconds(v).map(|n| s.target.delay = n),
    ),
    value("-retry -ret N", Target, "repeat a request that failed, up to N times (0)", |s, v| {
        number(v, 1..=1_000_000).map(|n| s.target.retries = n)
    }),
    value("-reportthreshold -rept S", Target, "print each request that takes longer than S seconds", |s, v| {
        decimal(v, 0.0, 1e6).map(|n| s.target.threshold = Some(Duration::from_secs_f64(n)))
    }),
    value("-startdelay -sd S", Target, "seconds before the first pass (0)", |s, v| {
        seconds(v).map(|n| s.target.start_delay = n)
    }),
    value("-timelimit -tl S", Target, "longest time of a pass, seconds", |s, v| {
        seconds(v).map(|n| s.target.time_limit = Some(n))
    }),
    value("-pretruncate -pt BYTES", Target, "make the file this long before it is written", |s, v| {
        number(v, 1..=1 << 60).map(|n| s.target.truncate = Some(n))
    }),
    set("-deletefile -del", Target, "delete the file at the end", |s| s.target.delete = true),
    value("-passes -p N", Run, "number of passes (1)", |s, v| number(v, 1..=u64::MAX).map(|n| s.config.passes = n)),
    value("-passdelay -pdelay S", Run, "seconds between two passes (0)", |s, v| {
        seconds(v).map(|n| s.config.pass_delay = n)
    }),
    value("-runtime -rt S", Run, "repeat passes until S seconds are over, whatever -passes says", |s, v| {
        decimal(v, 0.001, 1e7).map(|n| s.config.runtime = Some(Duration::from_secs_f64(n)))
    }),
    value("-syncio -sio N", Run, "targets wait for each other before every Nth request", |s, v| {
        number(v, 1..=u64::MAX).map(|n| s.config.step = Some(n))
    }),
    set("-maxall", Run, "-maximumpriority and -processlock", |s| (s.config.priority, s.config.lock) = (true, true)),
    set("-maximumpriority -maxpri", Run, "run threads at the highest priority (nice -20)", |s| {
        s.config.priority = true
    }),
    set("-processlock -plock", Run, "lock the process's memory", |s| s.config.lock = true),
    set("-minall", Run, "undo -maxall, -maximumpriority and -processlock", |s| {
        (s.config.priority, s.config.lock) = (false, false)
    }),
    set("-noproclock -noplock", Run, "do not lock memory: undo -processlock", |s| s.config.lock = false),
    set("-nomemlock -nomlock", Run, "the same", |s| s.config.lock = false),
    set("-stoponerror -soe", Run, "end the run at the first error of any target", |s| s.config.stop_on_error = true),
    value("-maxerrors N", Run, "end the run after N errors", |s, v| {
        number(v, 1..=u64::MAX).map(|n| s.config.max_errors = Some(n))
    }),
    value("-maxerrorstoprint -mep N", Run, "errors to print per target (10)", |s, v| {
        number(v, 0..=1_000_000).map(|n| s.config.errors_told = n)
    }),
    value("-heartbeat -hb S", Run, "print progress every S seconds, on standard error", |s, v| {
        decimal(v, 0.01, 1e6).map(|n| s.config.heartbeat = Some(Duration::from_secs_f64(n)))
    }),
    value("-identifier -id TEXT|commandline", Run, "name of the run", |s, v| {
        s.config.id = Some(v.to_owned());
        Ok(())
    }),
    set("-dryrun -dry", Run, "print what would be done, and do nothing", |s| s.config.dry = true),
    set("-verbose", Run, "print a line for each target and pass, and for each target's average", |s| {
        s.config.verbose = true
    }),
    set("-unverbose -unv", Run, "undo -verbose", |s| s.config.verbose = false),
    values(
        "-outputformat -ofmt add|new COLUMNS",
        Run,
        "columns of the table, as +PASS+OPS+LATENCY: after the present ones, or instead of them; -1 is what was not measured",
        |s, v| format(&mut s.config.columns, v),
    ),
    one_of(
        "-percentcpu -pcpu absolute|relative",
        Run,
        "processor time in per cent of the time measured, or of all processor time (absolute)",
        &[("absolute", Set(|s| s.config.relative = false)), ("relative", Set(|s| s.config.relative = true))],
        |_, _| Err("give absolute or relative".into()),
    ),
    set("-timerinfo -ti", Run, "print how long it takes to read the clock, and its smallest step", |s| {
        s.config.timer = true
    }),
    set("-extendedstats -extstats", Run, "print latency percentiles", |s| s.config.percentiles = true),
    value("-output -o FILE", Run, "write lines to this file", |s, v| file(&mut s.config.output, v)),
    value("-errout -eo FILE", Run, "write errors to this file", |s, v| file(&mut s.config.errors, v)),
    value("-csvout -csvo FILE", Run, "write the table, separated by commas, to this file too", |s, v| {
        file(&mut s.config.csv, v)
    }),
    value("-combinedout -combo FILE", Run, "append the lines of all targets together to this file too", |s, v| {
        file(&mut s.config.combined, v)
    }),
    set("--json", Run, "print the result document instead of the table", |s| s.config.document = Document::Result),
    set("--keep", Run, KEEP, |s| s.config.keep = true),
    set("--fio-json", Run, "print a document as fio's --output-format=json does", |s| {
        s.config.document = Document::Fio
    }),
    refused(
        "-endtoend -e2e -targetin -tin -targetout -tout -restart -rst -readafterwrite -raw -writeafterread -war -xni \
         -ibdevice -cookie -congestion",
        Run,
        "",
        "no copies between machines are made here; leave it out",
    ),
    refused("-timestamps -ts", Run, "", "no request gets a line; -extstats shows percentiles, --json all figures"),
    refused("-lockstep -ls -starttrigger -stoptrigger -st -et", Run, "", "targets run freely; leave it out"),
    refused(
        "-looseordering -lo -ordering -or",
        Run,
        "",
        "requests of a target begin in order and end in any; leave it out, or give -serialordering",
    ),
    refused(
        "-timeserver -tsvr -starttime -stime -interactive -inter",
        Run,
        "",
        "a run begins at once, and takes no commands; leave it out",
    ),
    refused(
        "-nobarrier -nb",
        Run,
        "",
        "all targets begin a pass together; leave it out, or run a program for each target",
    ),
    refused("-multipath -mp", Run, "", "a target has one path; leave it out, or give each path as a target of its own"),
    refused(
        "-debug -reallyverbose -rv",
        Run,
        "",
        "there is nothing more to print; -verbose shows each pass, --json all figures",
    ),
    refused("-devicefile -devf", Run, "", "it is for Windows, and a device is known by its name here; leave it out"),
    refused(
        "-preallocate -pa -createnewfiles -cnf -recreatefiles -recreate -reopen -reop",
        Run,
        "",
        "targets are opened once; leave it out",
    ),
    refused("-memalign -mal -sharedmemory -shm", Run, "", "buffers begin at multiples of 4096; leave it out"),
];

fn file(to: &mut Option<PathBuf>, path: &str) -> Result<(), String> {
    *to = Some(from_text(path));
    Ok(())
}
