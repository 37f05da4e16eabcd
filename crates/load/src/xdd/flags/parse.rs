//! From words to a configuration.

use super::{FLAGS, Flag, Named, Set};
use crate::words::{tidy, wrapped};
use crate::xdd::config::{Amount, Config, Target, Verify, Way};
use crate::xdd::engine::{examples, is_file, kind_of};
use crate::xdd::pattern::Base;
use linerate_port::nearest;
use linerate_port::path::{from_text, to_text};
use std::fmt::Write as _;
use std::path::Path;

/// The largest file of `-setup`, and how deep such files may name each other.
const SETUP: u64 = 1 << 20;
const NESTED: usize = 8;
/// The largest request, octets: what one buffer holds.
const REQUEST: u64 = 16 << 20;
/// Octets that buffers take in all.
const BUFFERS: u64 = 4 << 30;

/// What a command line asks for.
#[derive(Debug)]
pub enum Command {
    /// To run.
    Run(Box<Config>),
    /// Help, or the version.
    Print(String),
}

/// The words of a command line, one after the other.
pub(super) struct Words {
    words: Vec<String>,
    at: usize,
    /// What the present flag takes.
    takes: &'static str,
}

impl Words {
    pub(super) fn value(&mut self) -> Result<String, String> {
        let word = self.words.get(self.at).cloned().ok_or_else(|| format!("no value; give {}", self.takes))?;
        self.at += 1;
        Ok(word)
    }

    /// Takes the next word if it is this one.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let is = self.words.get(self.at).is_some_and(|next| next == word);
        self.at += usize::from(is);
        is
    }

    /// `-targets`: a number, and names.
    pub(super) fn targets(&mut self, targets: &mut Vec<(String, usize)>, most: usize) -> Result<(), String> {
        let number = self.value()?;
        let (repeated, digits) = number.strip_prefix('-').map_or((false, number.as_str()), |digits| (true, digits));
        let good = digits.bytes().all(|b| b.is_ascii_digit());
        let n = digits.parse::<usize>().ok().filter(|n| good && (1..=most - targets.len().min(most)).contains(n));
        let n = n.ok_or_else(|| format!("give how many, {most} at most in all, and their names"))?;
        let first = self.value()?;
        if kind_of(&first, false).several {
            targets.extend((0..n).map(|unit| (first.clone(), unit)));
        } else if repeated {
            targets.extend((0..n).map(|_| (first.clone(), 0)));
        } else {
            targets.push((first, 0));
            for k in 1..n {
                let next = self.words.get(self.at).filter(|word| !word.starts_with('-'));
                let next = next.ok_or_else(|| format!("{n} names are wanted, there are {k}; give -targets {k}"))?;
                targets.push((next.clone(), 0));
                self.at += 1;
            }
        }
        Ok(())
    }
}

/// A flag of a target: of which, and what.
type Said = (Option<usize>, &'static Flag, Vec<String>);

impl Config {
    /// What a command line (without the program's name) asks for.
    ///
    /// # Errors
    /// One line that names the flag and the mend.
    pub fn parse(arguments: &[String]) -> Result<Command, String> {
        if arguments == ["help"] {
            return Ok(Command::Print(help()));
        }
        let (mut config, mut named, mut said) = (Self::default(), Named::default(), Vec::<Said>::new());
        let mut words = Words { words: arguments.to_vec(), at: 0, takes: "" };
        let mut nested = 0;
        while words.at < words.words.len() {
            let word = words.value()?;
            let name = word.strip_prefix('-').unwrap_or_default();
            let flag = FLAGS.iter().find(|flag| flag.is(name)).ok_or_else(|| unknown(&word))?;
            words.takes = flag.takes;
            let begin = words.at;
            let trouble = |words: &Words, why: String| {
                let given = words.words[begin..words.at].join(" ");
                format!("{} {}: {why}", tidy(&word), tidy(&given)).replace(" :", ":")
            };
            match flag.set {
                Set::Help => return Ok(Command::Print(help())),
                Set::Version => {
                    return Ok(Command::Print(concat!("xdd (linerate ", env!("CARGO_PKG_VERSION"), ")\n").into()));
                }
                Set::Setup => {
                    let path = words.value().map_err(|why| trouble(&words, why))?;
                    nested += 1;
                    let more = setup(&from_text(&path), nested).map_err(|why| trouble(&words, why))?;
                    words.words.splice(words.at..words.at, more);
                }
                Set::Run(set) => set(&mut config, &mut words).map_err(|why| trouble(&words, why))?,
                Set::Names(set) => set(&mut named, &mut words).map_err(|why| trouble(&words, why))?,
                Set::Target(set) => {
                    let of = if words.take("target") {
                        Some(super::value::number(&mut words, 0..=1023).map_err(|why| trouble(&words, why))?)
                    } else {
                        None
                    };
                    let begins = words.at;
                    set(&mut Target::new(""), &mut words).map_err(|why| trouble(&words, why))?;
                    said.push((of, flag, words.words[begins..words.at].to_vec()));
                }
            }
        }
        if config.id.as_deref() == Some("commandline") {
            config.id = Some(arguments.join(" "));
        }
        config.targets = targets(named, &said)?;
        config.check()?;
        Ok(Command::Run(Box::new(config)))
    }

    /// What does not go together.
    fn check(&self) -> Result<(), String> {
        if self.targets.is_empty() {
            return Err("no target; give -targets 1 NAME".into());
        }
        let mut buffers = 0u64;
        for (number, target) in self.targets.iter().enumerate() {
            let trouble = |why: &str| Err(format!("target {number} ({}): {why}", tidy(&target.name)));
            let Some(bytes) = target.block_size.checked_mul(target.request_blocks).filter(|n| *n <= REQUEST) else {
                return trouble("its requests are larger than 16 MiB; give smaller -reqsize or -blocksize");
            };
            buffers = buffers.saturating_add(bytes.saturating_mul(target.depth.into()));
            if target.amount == Amount::Whole && self.runtime.is_none() {
                return trouble("no end; give -numreqs, -mbytes or -runtime");
            }
            if target.delete && !is_file(target) {
                return trouble("-deletefile: it is no file; leave it out");
            }
            let reads = target.reads > 0;
            if target.verify != Verify::Nothing && !reads {
                return trouble("-verify: nothing is read; give -rwratio, or leave it out");
            }
            if (target.sync_write || target.flush_every.is_some()) && !target.writes() {
                return trouble("-syncwrite and -flushwrite: nothing is written; leave them out");
            }
            if target.pattern.replicate && !matches!(target.pattern.base, Base::Text(_)) {
                return trouble("-datapattern replicate: there is no text; give ascii TEXT or hex HEX too");
            }
            if target.pattern.prefix.is_some() && !target.pattern.moves() {
                return trouble("-datapattern prefix: the pattern has no words; give sequenced or random too");
            }
            if target.pass_offset > 0 && target.seek.way == Way::Random {
                return trouble("-passoffset: places are random; leave it out");
            }
            if target.direct && !is_file(target) {
                return trouble("-dio: it is no file; leave it out");
            }
            if target.sg && !target.name.starts_with('/') {
                return trouble("-sgio: it is no device of this machine; leave it out");
            }
        }
        if buffers > BUFFERS {
            return Err("-queuedepth, -reqsize and -targets: buffers of more than 4 GiB in all; give less".into());
        }
        if self.pass_delay > std::time::Duration::ZERO && self.passes == 1 && self.runtime.is_none() {
            return Err("-passdelay: there is one pass; give -passes, or leave it out".into());
        }
        Ok(())
    }
}

impl Flag {
    /// Whether it is called so, after the dash. Help and version, which other programs have after two, may be here too.
    fn is(&self, name: &str) -> bool {
        let twice = matches!(self.set, Set::Help | Set::Version) && name.strip_prefix('-') == Some(self.name);
        self.name == name || self.short == Some(name) || twice
    }
}

/// The targets as they are after all flags, in order.
fn targets(named: Named, said: &[Said]) -> Result<Vec<Target>, String> {
    let cpus = linerate_rt::cpus();
    let mut targets = Vec::new();
    for (number, (name, unit)) in (0u32..).zip(named.targets) {
        let mut target = Target { unit, ..Target::new(&name) };
        let index = targets.len();
        for (of, flag, words) in said {
            if of.is_none_or(|of| of == index)
                && let Set::Target(set) = flag.set
            {
                set(&mut target, &mut Words { words: words.clone(), at: 0, takes: flag.takes })?;
            }
        }
        target.start = target.start.saturating_add(named.offset.saturating_mul(number.into()));
        target.start_delay += std::time::Duration::from_secs_f64(named.delay * f64::from(number));
        target.cpu = named.spread.map(|n| cpus[index % n.min(cpus.len())]);
        target.cpu = named.cpus.iter().rev().find(|(of, _)| *of == index).map(|(_, cpu)| *cpu).or(target.cpu);
        if let Some(directory) = &named.directory
            && is_file(&target)
        {
            target.name = to_text(directory.join(from_text(&target.name)).as_os_str());
        }
        targets.push(target);
    }
    let most = |n: Option<usize>| n.filter(|of| *of >= targets.len());
    let beyond = said.iter().find_map(|(of, flag, _)| Some((most(*of)?, flag.name)));
    match beyond {
        Some((of, flag)) => Err(format!("-{flag} target {of}: there is no such target; they count from 0")),
        None => Ok(targets),
    }
}

/// The words of a file.
fn setup(path: &Path, nested: usize) -> Result<Vec<String>, String> {
    use std::io::Read;
    if nested > NESTED {
        return Err(format!("more than {NESTED} files; put all into one"));
    }
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(SETUP + 1).read_to_string(&mut text));
    match read {
        Ok(n) if n as u64 <= SETUP => Ok(text.split_whitespace().map(str::to_owned).collect()),
        Ok(_) => Err("it is larger than 1 MiB; give a smaller one".into()),
        Err(e) => Err(format!("{e}; give a file that can be read")),
    }
}

/// Why a flag that xdd knows, or nobody knows, is not taken.
fn unknown(word: &str) -> String {
    let name = word.strip_prefix('-').unwrap_or_default();
    let names = FLAGS.iter().flat_map(|flag| std::iter::once(flag.name).chain(flag.short));
    let meant = nearest(word.trim_start_matches('-'), names);
    let meant = meant.map(|meant| format!("no such flag; did you mean -{meant}?"));
    let why = match name {
        "endtoend" | "e2e" | "targetin" | "targetout" | "restart" | "rst" | "readafterwrite" | "writeafterread" => {
            "no copies between machines are made here; leave it out"
        }
        "timestamps" | "ts" => "no request gets a line; -extstats shows percentiles, --json all figures",
        "lockstep" | "ls" | "starttrigger" | "stoptrigger" | "st" | "et" => "targets run freely; leave it out",
        "looseordering" | "lo" | "serialordering" | "so" | "ordering" | "or" => {
            "requests of a target complete in any order; leave it out, or give -queuedepth 1"
        }
        "timeserver" | "tsvr" | "starttime" | "stime" => "a run begins at once; leave it out",
        "preallocate" | "pa" | "createnewfiles" | "cnf" | "recreatefiles" | "recreate" | "reopen" | "reop" => {
            "targets are opened once; leave it out"
        }
        "memalign" | "mal" | "sharedmemory" | "shm" => "buffers begin at multiples of 4096; leave it out",
        _ if meant.is_some() => meant.as_deref().unwrap_or_default(),
        _ if !word.starts_with('-') => "not a flag; flags begin with a dash, -h lists them",
        _ => "no such flag; -h lists them",
    };
    format!("{}: {why}", tidy(word))
}

/// The text of `-h`.
#[must_use]
pub fn help() -> String {
    let mut text = String::from("Usage: xdd -targets N NAME... [flags]\n\n");
    for flag in FLAGS {
        let short = flag.short.filter(|short| *short != flag.name).map(|s| format!(", -{s}")).unwrap_or_default();
        let of = if matches!(flag.set, Set::Target(_)) { " [target N]" } else { "" };
        let takes = if flag.takes.is_empty() { String::new() } else { format!(" {}", flag.takes) };
        let _ = writeln!(text, "  -{}{short}{of}{takes}", flag.name);
        for line in wrapped(flag.about, 100) {
            let _ = writeln!(text, "          {line}");
        }
    }
    text.push_str("\nTargets\n");
    for (example, about) in examples() {
        let _ = writeln!(text, "  {example:24} {about}");
    }
    text.push_str(
        "\nExit codes: 0 done, 1 a request failed or a file of results could not be written, 2 wrong on the command line, \
         128+n ended early by signal n\n",
    );
    text
}
