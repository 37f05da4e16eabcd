//! `linerate doctor`.

mod mend;

use super::remote::OtherMachine;
use super::shared::{file, one_of, stop_at_signals, typed};
use super::{Command, parsed};
use crate::print::{colours, print};
use crate::trouble::Trouble;
use clap::{ArgGroup, CommandFactory, Parser};
use linerate_lab::doctor::{Asked, Examination, Load, RULES, Risk, Role, Rule, Severity, Side, examine, render};
use linerate_lab::remote::Visit;
use linerate_rt::Stop;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const COMMAND: Command =
    Command::by_clap("doctor", Arguments::command, |matches, words| run(&parsed(matches)?, typed(words)));

/// Exit code of findings from warnings on.
const FOUND: u8 = 3;

/// Find what is wrong with this machine and its interfaces, what it means, and what to type.
///
/// Without --fix and --prove nothing is changed. Counters are read twice, half a second apart, so that what grows now is told
/// from what has been.
#[derive(Parser)]
#[command(
    group(ArgGroup::new("end").args(["peer", "remote"]).multiple(true)),
    group(ArgGroup::new("change").args(["fix", "prove"]).multiple(true)),
    after_help = "Exit codes: 0 nothing, or notes; 1 a change was refused, or could not be taken back; 2 wrong on the command \
                        line, or an interface cannot be read; 3 warnings or errors were found; 128+n ended by signal n"
)]
struct Arguments {
    /// Interfaces (all that are up, but the loopback).
    #[arg(value_name = "IF")]
    interfaces: Vec<String>,
    /// Load that the machine is to carry: what it needs is graver then.
    #[arg(long = "for", value_name = "LOAD", value_delimiter = ',', value_parser = one_of(Load::ALL))]
    loads: Vec<Load>,
    /// Roles of the machine beside those that are recognised: what is usual for them is a note.
    #[arg(long = "as", value_name = "ROLE", value_delimiter = ',', value_parser = one_of(Role::ALL))]
    roles: Vec<Role>,
    /// Examine what was kept of a machine instead of this one: a tree of `linerate nic record`; a sosreport's folder; or a
    /// file or folder with the output of `ip -d -s addr`, `ip route`, `ip rule`, `ip neigh`, `tc -s qdisc`, `sysctl -a`, `lscpu`,
    /// ethtool with its options, `lspci -vv`, `iptables-save -c`, `nft list ruleset`, `dmesg`, `nstat -az`, `ss -ltn`, ping, older
    /// programs and files of /proc and /sys; of FreeBSD that of `ifconfig`, `sysctl -a`, `netstat -m`, `netstat -i`, `dmesg` and
    /// `pciconf -lcv`.
    #[arg(long, value_name = "PATH", value_parser = file, conflicts_with = "remote")]
    from: Option<PathBuf>,
    /// Print what each rule looks at, how its changes are proven, and their class.
    #[arg(long, exclusive = true)]
    rules: bool,
    /// Make the changes that can be taken back, after a question: those of warnings and errors that cost speed at most (safe), or
    /// those that interrupt traffic for a moment, too (traffic). Those of notes, and of what may be set for security, take the
    /// rule's name (--only). How to take them back is written to a file first.
    #[arg(long, value_name = "CLASS", conflicts_with = "from", num_args = 0..=1, require_equals = true, default_missing_value = "safe",
          value_parser = one_of([Risk::Safe, Risk::Traffic].map(|class| (class.word(), class))))]
    fix: Option<Risk>,
    /// Seconds in which changes that may cut the way to this machine are to be confirmed: by Enter, by --confirm, or with --yes
    /// by the answers of who answered before. Else they are taken back.
    #[arg(long, value_name = "N", requires = "fix", default_value_t = 60, value_parser = clap::value_parser!(u32).range(5..=3600))]
    within: u32,
    /// Keep the changes that wait to be confirmed.
    #[arg(long, exclusive = true)]
    confirm: bool,
    #[arg(long, hide = true, exclusive = true, num_args = 2)]
    unless_confirmed: Option<Vec<String>>,
    /// Measure what each change does, in rounds with and without it in turns, and take it back; with --fix keep what helps.
    #[arg(long, requires = "end", conflicts_with_all = ["from", "json"])]
    prove: bool,
    /// The other end, whose way is probed. For --prove without --remote 'linerate stream -s' runs there, and 'linerate netserver
    /// -D'.
    #[arg(long, value_name = "IP", conflicts_with = "from")]
    peer: Option<IpAddr>,
    #[command(flatten)]
    other: OtherMachine,
    /// Pairs of rounds for each proof.
    #[arg(long, value_name = "N", requires = "prove", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    rounds: u32,
    /// Seconds of each round.
    #[arg(long, value_name = "N", requires = "prove", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Change only what these rules found, notes and security settings among them.
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = one_of_rules, requires = "change")]
    only: Vec<String>,
    /// Ask nothing before changes.
    #[arg(long, requires = "change")]
    yes: bool,
    /// Take back what --fix changed, by the file that it wrote.
    #[arg(long, value_name = "FILE", value_parser = file, exclusive = true)]
    undo: Option<PathBuf>,
    /// Print notes, too, and why rules could not look.
    #[arg(long)]
    all: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

fn run(parsed: &Arguments, command: Vec<String>) -> Result<ExitCode, Trouble> {
    if parsed.rules {
        let line =
            |rule: &Rule| format!("{:<22} {} ({}; {})\n", rule.name, rule.about, rule.proof.words(), rule.risk.word());
        print(&RULES.iter().map(line).collect::<String>());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &parsed.undo {
        return mend::undo(file);
    }
    if parsed.confirm {
        return mend::confirm();
    }
    let stop = stop_at_signals()?;
    if let Some([file, seconds]) = parsed.unless_confirmed.as_deref() {
        return mend::wait(file, seconds, &stop);
    }
    let changes = parsed.fix.is_some() || parsed.prove;
    // A class behind a blank would be an interface.
    let class =
        parsed.interfaces.iter().find(|name| [Risk::Safe, Risk::Traffic].iter().any(|risk| risk.word() == **name));
    if let Some(class) = class.filter(|class| parsed.fix.is_some() && !Path::new("/sys/class/net").join(class).exists())
    {
        return Err(Trouble::usage(format!(
            "{class}: there is no such interface; the class is given by --fix={class}"
        )));
    }
    if changes {
        mend::recover()?;
    } else if parsed.from.is_none() {
        mend::tell_of_left();
    }
    let looked = other_end(parsed, &stop).and_then(|remote| {
        let examined = look(parsed, remote.as_ref(), &stop)?;
        Ok((examined, remote))
    });
    if let Some(signal) = stop.signal() {
        return Ok(ExitCode::from(128 + signal));
    }
    let (examined, remote) = looked?;
    if changes {
        return mend::mend(parsed, &examined, remote, command, &stop);
    }
    match parsed.json {
        true => document(&examined),
        false => print(&render(&examined, parsed.all, colours())),
    }
    Ok(judged(&examined))
}

struct OtherEnd {
    visit: Visit,
    side: Side,
}

fn other_end(parsed: &Arguments, stop: &Stop) -> Result<Option<OtherEnd>, Trouble> {
    let Some(far) = parsed.other.far(false) else { return Ok(None) };
    let mut visit = Visit::open(&far, stop).map_err(Trouble::failed)?;
    let side = visit.examine(&parsed.loads, stop).map_err(Trouble::failed)?;
    Ok(Some(OtherEnd { visit, side }))
}

fn look(parsed: &Arguments, remote: Option<&OtherEnd>, stop: &Stop) -> Result<Examination, Trouble> {
    let asked = Asked {
        names: &parsed.interfaces,
        loads: &parsed.loads,
        roles: &parsed.roles,
        peer: parsed.peer.or(remote.map(|end| end.visit.address)),
        remote: remote.map(|end| &end.side),
        tree: parsed.from.as_deref(),
    };
    examine(&asked, stop).map_err(Trouble::usage)
}

fn document(value: &impl serde::Serialize) {
    print(&(linerate_text::escaped(&serde_json::to_string_pretty(value).unwrap_or_default()) + "\n"));
}

fn judged(examined: &Examination) -> ExitCode {
    match examined.worst() {
        Some(Severity::Warning | Severity::Error) => ExitCode::from(FOUND),
        _ => ExitCode::SUCCESS,
    }
}

fn one_of_rules(text: &str) -> Result<String, String> {
    match RULES.iter().any(|rule| rule.name == text) {
        true => Ok(text.to_owned()),
        false => Err("no such rule; see 'linerate doctor --rules'".to_owned()),
    }
}
