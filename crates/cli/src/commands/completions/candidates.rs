//! Words that may stand at a place of a command line and are of this machine at this moment: kinds of ports with interfaces and
//! switches, interfaces, settings, runs, names of commands that run. What a place wants, the name of its value says.

use crate::commands::root::root;
use crate::commands::{Reader, commands};
use clap::{Arg, Command};
use linerate_lab::index::{Index, Wanted, default_path};
use linerate_port::KINDS;
use linerate_rt::control::list;
use std::path::Path;

/// Kinds of ports that are named by an interface.
const OF_INTERFACES: [&str; 3] = ["packet", "xdp", "tap"];

/// Words that may stand in place of the last of these; the first is the program, by whatever name.
pub(super) fn candidates(words: &[String]) -> Vec<String> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let program = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    let stands_in = commands().find(|command| command.stands_in_for(&program)).map(|command| command.name.to_owned());
    let words: Vec<&str> = stands_in.iter().chain(rest).map(String::as_str).collect();
    let root = root();
    let Some(place) = Place::of(&root, &words) else { return Vec::new() };
    let mut all = place.all();
    // They go into a line that a shell reads.
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-_.:+@/".contains(c);
    // What has two names of one spelling is offered once.
    all.sort();
    all.dedup();
    all.retain(|word| word.starts_with(place.typed) && word.chars().all(harmless));
    all.into_iter().map(|word| format!("{}{word}", place.before)).collect()
}

/// A place on a command line.
struct Place<'a> {
    /// Names of the command and its subcommands, without the program's.
    path: Vec<&'a str>,
    /// Name of the value that stands there.
    value: &'a str,
    /// Operands before it.
    operands: Vec<&'a str>,
    /// Beginning of the word that is no part of the value, and what of the value is typed.
    before: &'a str,
    typed: &'a str,
}

impl<'a> Place<'a> {
    /// The place of the last word; `None` for one that no value stands at.
    fn of(root: &'a Command, words: &[&'a str]) -> Option<Self> {
        let (last, words) = words.split_last()?;
        let (mut command, mut path, mut operands, mut awaits) = (root, Vec::new(), Vec::new(), None);
        for word in words {
            if awaits.take().is_some() {
                continue;
            }
            if word.starts_with('-') {
                awaits = flag(command, word).filter(|_| !word.contains('='));
            } else if let Some(next) = command.find_subcommand(word).filter(|_| operands.is_empty()) {
                command = next;
                path.push(next.get_name());
            } else {
                operands.push(*word);
            }
        }
        let value_of = last.find('=').filter(|_| last.starts_with("--"));
        let (arg, before, typed) = match (awaits, value_of) {
            (Some(arg), _) => (arg, "", *last),
            (None, Some(at)) => (flag(command, &last[..at])?, &last[..=at], &last[at + 1..]),
            (None, None) if last.starts_with('-') => return None,
            (None, None) => {
                let mut all: Vec<&Arg> = command.get_positionals().collect();
                let at = operands.len().min(all.len().checked_sub(1)?);
                (all.swap_remove(at), "", *last)
            }
        };
        let value = arg.get_value_names()?.first()?.as_str();
        Some(Self { path, value, operands, before, typed })
    }

    /// All words of the kind that stands there.
    fn all(&self) -> Vec<String> {
        let reads_itself = commands()
            .any(|command| matches!(command.reader, Reader::Itself { .. }) && self.path.contains(&command.name));
        match (self.value, &self.path[..]) {
            ("kernel|PORT", _) => [vec!["kernel".to_owned()], self.ports()].concat(),
            ("port", ["pkt-gen"]) | ("PEER", ["qualify"]) => self.ports(),
            // Those of the programs that are replaced are TCP's.
            (value, _) if !reads_itself && value.split('[').next() == Some("PORT") => self.ports(),
            ("IF", _) | ("NAME", ["nic", ..]) => interfaces(),
            ("WORD", ["nic", "set"]) => self.operands.first().map_or_else(interfaces, |name| settings(name)),
            ("RUN", _) | ("A" | "B", ["compare"]) => runs(),
            ("NAME", ["fcoe", "show"]) => list("target").unwrap_or_default(),
            ("NAME", [kind, "show"]) => list(kind).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn ports(&self) -> Vec<String> {
        match self.typed.split_once(':') {
            // A bare name is an interface's.
            None => KINDS.iter().map(|kind| format!("{}:", kind.name)).chain(interfaces()).collect(),
            Some((kind, _)) if OF_INTERFACES.contains(&kind) => {
                interfaces().into_iter().map(|name| format!("{kind}:{name}")).collect()
            }
            Some(("vale", _)) => {
                list("switch").unwrap_or_default().into_iter().map(|name| format!("vale:{name}:")).collect()
            }
            Some(_) => Vec::new(),
        }
    }
}

/// The flag with a value that a word names.
fn flag<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.split('=').next().unwrap_or(word);
    let is = |arg: &&Arg| match (name.strip_prefix("--"), name.strip_prefix('-')) {
        (Some(long), _) => arg.get_long_and_visible_aliases().is_some_and(|all| all.contains(&long)),
        (None, Some(short)) => arg.get_short().is_some_and(|own| short.chars().eq([own])),
        (None, None) => false,
    };
    command.get_arguments().find(is).filter(|arg| arg.get_action().takes_values())
}

fn interfaces() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Settings that `nic set` changes at an interface.
#[cfg(target_os = "linux")]
fn settings(interface: &str) -> Vec<String> {
    use linerate_host::adapter::{Machine, Subject};
    use linerate_host::tunables::{names, read};
    let index = std::fs::read_to_string(Path::new("/sys/class/net").join(interface).join("ifindex"));
    let Some(index) = index.ok().and_then(|index| index.trim().parse().ok()) else { return Vec::new() };
    let state = read(&mut Machine::new(), &Subject { index, name: interface.to_owned() });
    names(&state).map(str::to_owned).collect()
}

#[cfg(not(target_os = "linux"))]
fn settings(_: &str) -> Vec<String> {
    Vec::new()
}

/// Ids of the runs that are kept.
fn runs() -> Vec<String> {
    let index = default_path().ok().and_then(|path| Index::look(&path).ok()?);
    let list = index.and_then(|index| index.list(&Wanted::default()).ok()).unwrap_or_default();
    list.into_iter().map(|run| run.id).chain(["last".to_owned()]).collect()
}
