//! Errors in a command line: turns each of clap's errors into one line that names the argument and the mend.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use linerate_text::{nearest, short};
use std::error::Error;
use std::num::{IntErrorKind, ParseIntError};

/// The line. `command` is the command that the words lead to, `path` the words that one types for it.
pub(crate) fn line(error: &clap::Error, command: &Command, path: &str, words: &[String]) -> String {
    let wrong = Wrong { error, command, path, words };
    match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => wrong.value(),
        ErrorKind::UnknownArgument => wrong.unknown(),
        ErrorKind::InvalidSubcommand => wrong.subcommand(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("no subcommand; give one of {}", wrong.subcommands().join(", "))
        }
        ErrorKind::MissingRequiredArgument => wrong.missing(),
        ErrorKind::ArgumentConflict => wrong.conflict(),
        ErrorKind::TooManyValues => {
            format!("{}: takes no value; leave it out", name(&wrong.text(ContextKind::InvalidArg)))
        }
        ErrorKind::NoEquals => {
            let argument = wrong.text(ContextKind::InvalidArg);
            format!("{}: its value needs a =; write {argument}", name(&argument))
        }
        _ => wrong.other(),
    }
}

struct Wrong<'a> {
    error: &'a clap::Error,
    command: &'a Command,
    path: &'a str,
    words: &'a [String],
}

impl Wrong<'_> {
    fn value(&self) -> String {
        let (argument, value) = (self.text(ContextKind::InvalidArg), self.text(ContextKind::InvalidValue));
        let (name, about) = (name(&argument), self.about(&argument));
        if value.is_empty() {
            return format!("{name}: no value; give {argument}{about}");
        }
        let shown = short(&value, 80);
        let valid = self.list(ContextKind::ValidValue);
        if !valid.is_empty() {
            let mend = mend(&value, valid.iter().map(String::as_str));
            return format!("{name} {shown}: no such value; {mend}");
        }
        match self.error.source().map(reason).unwrap_or_default() {
            Reason::Mended(why) => format!("{name} {shown}: {why}"),
            Reason::Bare(why) => format!("{name} {shown}: {why}; give {argument}{about}"),
        }
    }

    fn unknown(&self) -> String {
        let argument = self.text(ContextKind::InvalidArg);
        let named = short(&argument, 80);
        if !argument.starts_with('-') {
            let takes = self.command.get_positionals().next().is_some();
            let why = if takes { "one word too many" } else { "no word is taken here" };
            return format!("{named}: {why}; leave it out{}", self.or_help());
        }
        // For `-time`, which is a cluster of letters, clap names the first letter.
        let typed = self.words.iter().find(|word| **word == argument).or_else(|| {
            let cluster = |word: &&String| !argument.starts_with("--") && word.starts_with(&argument);
            self.words.iter().find(cluster)
        });
        let typed = typed.map_or(argument.as_str(), |word| word.split('=').next().unwrap_or(word));
        let longs: Vec<&str> = self.command.get_arguments().filter_map(Arg::get_long).collect();
        match nearest(typed.trim_start_matches('-'), longs) {
            Some(meant) => format!("{}: no such option; did you mean --{meant}?", short(typed, 80)),
            None => format!("{named}: no such option; leave it out{}", self.or_help()),
        }
    }

    fn subcommand(&self) -> String {
        let typed = self.text(ContextKind::InvalidSubcommand);
        format!("{}: there is no such command; {}", short(&typed, 80), mend(&typed, self.subcommands()))
    }

    fn missing(&self) -> String {
        let arguments = self.list(ContextKind::InvalidArg);
        let names = arguments.iter().map(|argument| name(argument)).collect::<Vec<_>>().join(" and ");
        let (are, about) = match &arguments[..] {
            [one] => ("is", self.about(one)),
            _ => ("are", String::new()),
        };
        format!("{names} {are} missing; give {}{about}", arguments.join(" "))
    }

    fn conflict(&self) -> String {
        let (argument, prior) = (self.text(ContextKind::InvalidArg), self.list(ContextKind::PriorArg));
        // A subcommand behind arguments has another place in clap's error.
        let subcommand = self.text(ContextKind::InvalidSubcommand);
        let argument = name(if argument.is_empty() { &subcommand } else { &argument });
        let others: Vec<&str> = prior.iter().map(|other| name(other)).collect();
        match &others[..] {
            [] => format!("{argument}: not together with the others; leave it out{}", self.or_help()),
            [other] if *other == argument => format!("{argument}: it stands twice; give it once"),
            others => format!("{argument}: not together with {}; give one of them", others.join(" and ")),
        }
    }

    /// All other kinds of errors: clap's text before its usage.
    fn other(&self) -> String {
        let text = self.error.to_string();
        let lines = text.lines().take_while(|line| !line.starts_with("Usage:")).map(str::trim);
        let what = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        format!("{}; `{} --help` lists what there is", what.trim_start_matches("error: "), self.path)
    }

    fn list(&self, kind: ContextKind) -> Vec<String> {
        match self.error.get(kind) {
            Some(ContextValue::String(one)) => vec![one.clone()],
            Some(ContextValue::Strings(all)) => all.clone(),
            _ => Vec::new(),
        }
    }

    fn text(&self, kind: ContextKind) -> String {
        self.list(kind).join(" ")
    }

    fn subcommands(&self) -> Vec<&str> {
        self.command.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect()
    }

    fn or_help(&self) -> String {
        format!(", or see `{} --help`", self.path)
    }

    /// Description of an argument, behind a colon, from its help.
    fn about(&self, argument: &str) -> String {
        let found = self.command.get_arguments().find(|known| name(&known.to_string()) == name(argument));
        let help = found.and_then(Arg::get_help).map(ToString::to_string).unwrap_or_default();
        let help = help.split(". ").next().unwrap_or_default();
        // "The port", but "TCP".
        let mut letters = help.chars();
        match (letters.next(), letters.clone().next()) {
            (Some(first), Some(second)) if !second.is_uppercase() => {
                format!(": {}{}", first.to_lowercase(), letters.as_str())
            }
            (Some(_), _) => format!(": {help}"),
            _ => String::new(),
        }
    }
}

/// Proposal to replace an unknown word.
fn mend<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(typed, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("give one of {}", known.join(", ")),
    }
}

/// Name of an argument: `--time` for `--time <MS>`, `FILE` for `[FILE]...`.
fn name(argument: &str) -> &str {
    let name = argument.split([' ', '=']).next().unwrap_or(argument);
    name.trim_end_matches("...").trim_matches(['<', '>', '[', ']'])
}

/// Reason why a value is refused, with or without a proposal.
enum Reason {
    Mended(String),
    Bare(String),
}

impl Default for Reason {
    fn default() -> Self {
        Self::Bare("it will not do".to_owned())
    }
}

fn reason(error: &(dyn Error + 'static)) -> Reason {
    if let Some(number) = error.downcast_ref::<ParseIntError>() {
        let large = matches!(number.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
        return Reason::Bare(if large { "too large a number" } else { "not a whole number" }.to_owned());
    }
    let text = error.to_string();
    // Message of clap's ranges: "5 is not in 10..=600000".
    if let Some((least, most)) = text.split_once(" is not in ").and_then(|(_, range)| range.split_once("..=")) {
        return Reason::Mended(format!("give a number from {least} to {most}"));
    }
    if ["give ", "write "].iter().any(|mend| text.contains(mend)) { Reason::Mended(text) } else { Reason::Bare(text) }
}
