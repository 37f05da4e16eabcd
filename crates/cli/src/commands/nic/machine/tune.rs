//! `nic set NAME`: settings of the host's own adapters, changed to stay.

use super::{failed, interface};
use crate::print::print;
use crate::trouble::Trouble;
use linerate_host::adapter::{Machine, Source, Subject};
use linerate_host::shell::operand;
use linerate_host::tunables::{self, Aim, Group, Outcome, State, Unknown, Value, Wish};
use linerate_text::nearest;
use std::process::ExitCode;

/// Sets what the words say.
pub(in super::super) fn set(name: &str, words: &[String]) -> Result<ExitCode, Trouble> {
    let mut machine = Machine::new();
    let (subject, state) = state(&mut machine, name)?;
    let mut wishes: Vec<Wish> = Vec::new();
    for word in words {
        let meant = tunables::meant(&state, word).map_err(|unknown| unclear(name, &state, unknown))?;
        if let Some(twice) = meant.iter().find(|wish| wishes.iter().any(|one| one.name == wish.name)) {
            return Err(Trouble::usage(format!("{name}: {word}: {} is set twice; say it once", twice.name)));
        }
        wishes.extend(meant);
    }
    let outcome = tunables::apply(&mut machine, &subject, &wishes, Aim::Effect);
    told(name, &outcome)
}

/// All settings of an interface. The link is read last, so the interface was there until then.
pub(in crate::commands) fn state(source: &mut dyn Source, name: &str) -> Result<(Subject, State), Trouble> {
    let found = interface(source, name)?;
    let subject = Subject { index: found.index, name: found.name };
    let state = tunables::read(source, &subject);
    match state.why(Group::Link) {
        Some(absent) if absent.is_gone() => Err(gone(name)),
        Some(absent) => Err(failed(name, absent)),
        None => Ok((subject, state)),
    }
}

fn gone(name: &str) -> Trouble {
    Trouble::failed(format!("{name}: the interface went away meanwhile; see 'linerate nic list'"))
}

fn unclear(interface: &str, state: &State, unknown: Unknown) -> Trouble {
    Trouble::usage(match unknown {
        Unknown::Name(name) => {
            let near = nearest(&name, tunables::names(state));
            let mend = near.map_or_else(
                || format!("see what there is: linerate nic save {} FILE", operand(interface)),
                |near| format!("did you mean {near}?"),
            );
            format!("{interface}: {name}: no such setting; {mend}")
        }
        Unknown::Value(word, values) => format!("{interface}: {word}: that is no value of it; give {values}"),
        Unknown::Bare(name, values) => format!("{interface}: {name}: its value is missing; write {name}=…, {values}"),
    })
}

/// Prints what was changed and what was refused; the exit code says whether anything was.
pub(in crate::commands) fn told(name: &str, outcome: &Outcome) -> Result<ExitCode, Trouble> {
    if outcome.gone {
        print(&refusals(outcome));
        return Err(gone(name));
    }
    let changes = tunables::difference(&outcome.before, &outcome.after);
    let text: String = changes
        .iter()
        .map(|(name, before, after)| format!("{name}: {} -> {}\n", or_none(before.as_ref()), or_none(after.as_ref())))
        .collect();
    let nothing =
        if text.is_empty() && outcome.refused.is_empty() { "nothing changed: it is so already\n" } else { "" };
    print(&(text + nothing + &refusals(outcome)));
    let Some(first) = outcome.refused.first() else { return Ok(ExitCode::SUCCESS) };
    let count = match outcome.refused.len() {
        1 => "a setting was refused".to_owned(),
        several => format!("{several} settings were refused"),
    };
    let mend = match first.why.is_forbidden() {
        true => "run as root, or with CAP_NET_ADMIN",
        false => "the lines above say which and why",
    };
    Err(Trouble::failed(format!("{name}: {count}; {mend}")))
}

fn refusals(outcome: &Outcome) -> String {
    let line = |one: &tunables::Refused| {
        let (name, now) = (&one.wish.name, or_none(one.now.as_ref()));
        format!("{name}: refused {}: {}; it is {now}\n", one.wish.value, one.why)
    };
    outcome.refused.iter().map(line).collect()
}

/// A value; in place of none, words.
pub(super) fn or_none(value: Option<&Value>) -> String {
    value.map_or_else(|| "none".to_owned(), Value::to_string)
}
