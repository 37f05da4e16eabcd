//! The command line: one row a flag, from which parsing, help and the refusal of what has no effect derive.
//!
//! Flags are xdd's, one dash and a word, or the short form that xdd knows too. Those of a target may name one: `-op target 1
//! write` is about target 1 only. What xdd takes and this one does not do is refused by name.

mod parse;
mod table;
mod value;

pub use parse::{Command, help};
pub use table::FLAGS;

use super::config::{Config, Target};
use parse::Words;
use std::path::PathBuf;

/// One flag.
pub struct Flag {
    /// After a dash.
    pub name: &'static str,
    /// A shorter form.
    pub short: Option<&'static str>,
    /// What follows it; empty for nothing.
    pub takes: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Takes note of it.
    set: Set,
}

/// What a flag is about. The errors say what is wrong and what to do.
#[derive(Clone, Copy)]
enum Set {
    /// The run.
    Run(fn(&mut Config, &mut Words) -> Result<(), String>),
    /// A target, or all.
    Target(fn(&mut Target, &mut Words) -> Result<(), String>),
    /// Which targets there are.
    Names(fn(&mut Named, &mut Words) -> Result<(), String>),
    /// Help.
    Help,
    /// The version.
    Version,
    /// Words of a file stand here.
    Setup,
}

/// What is said of targets' names.
#[derive(Default)]
struct Named {
    /// Names with their units.
    targets: Vec<(String, usize)>,
    /// Where they are.
    directory: Option<PathBuf>,
    /// Blocks that each target begins later than the one before.
    offset: u64,
    /// Seconds that each target begins later than the one before.
    delay: f64,
    /// Targets' processors.
    cpus: Vec<(usize, usize)>,
    /// Processors that targets are spread over.
    spread: Option<usize>,
}
