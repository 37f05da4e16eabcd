//! Targets that follow from the flags.

use super::state::{Scope, State};
use crate::flags::Given;
use crate::xdd::config::Target;
use crate::xdd::engine::{is_file, kind_of};
use linerate_text::{
    path::{from_text, to_text},
    short,
};
use std::path::PathBuf;
use std::time::Duration;

/// Greatest number of targets.
pub(super) const TARGETS: usize = 1024;

/// Flags about the targets' names.
#[derive(Default)]
pub(super) struct Named {
    /// Groups of targets, in order.
    pub(super) groups: Vec<Group>,
    /// Directory of the targets.
    pub(super) directory: Option<PathBuf>,
    /// Number of blocks by which each target begins later than the one before.
    pub(super) offset: u64,
    /// Seconds by which each target begins later than the one before.
    pub(super) delay: f64,
    /// Targets and their processors.
    pub(super) cpus: Vec<(usize, usize)>,
    /// Number of processors that targets are spread over.
    pub(super) spread: Option<usize>,
}

/// Targets of one flag, and their names as far as they are known.
pub(super) struct Group {
    /// Number behind `-targets`, as it is typed; none for `-target`.
    typed: Option<String>,
    wanted: usize,
    /// True if one name is for all.
    repeated: bool,
    names: Vec<String>,
}

impl Group {
    /// The target of `-target NAME`.
    pub(super) fn one(name: &str) -> Self {
        Self { typed: None, wanted: 1, repeated: false, names: vec![name.to_owned()] }
    }

    /// The targets of `-targets N`, without a name yet.
    pub(super) fn several(typed: &str, wanted: usize, repeated: bool) -> Self {
        Self { typed: Some(typed.to_owned()), wanted, repeated, names: Vec::new() }
    }

    /// Number of names that it has when it is complete. The units of one device have one name.
    fn names(&self) -> usize {
        let one = self.repeated || self.names.first().is_some_and(|name| kind_of(name, false).several);
        if one { 1 } else { self.wanted }
    }

    pub(super) fn is_named(&self) -> bool {
        self.names.len() >= self.names()
    }

    pub(super) fn take(&mut self, name: String) {
        self.names.push(name);
    }

    /// Names and units of its targets.
    fn targets(self) -> Result<Vec<(String, usize)>, String> {
        let Some(first) = self.names.first().cloned() else {
            return Err(self.trouble("no names; give one for each target, behind it or behind a later flag"));
        };
        if kind_of(&first, false).several {
            return Ok((0..self.wanted).map(|unit| (first.clone(), unit)).collect());
        }
        if self.repeated {
            return Ok(vec![(first, 0); self.wanted]);
        }
        let (wanted, there) = (self.wanted, self.names.len());
        if there < wanted {
            let why = format!("{wanted} names are wanted, there are {there}; give -targets {there}, or more names");
            return Err(self.trouble(&why));
        }
        Ok(self.names.into_iter().map(|name| (name, 0)).collect())
    }

    fn trouble(&self, why: &str) -> String {
        let typed = self.typed.as_deref().unwrap_or_default();
        format!("{}: {why}", short(&format!("-targets {typed} {}", self.names.join(" ")), 80).trim_end())
    }
}

/// A flag of a target, with the target's number if it names one.
type Said = (Option<usize>, Given<State, Scope>);

impl Named {
    /// Number of targets.
    pub(super) fn count(&self) -> usize {
        self.groups.iter().map(|group| group.wanted).sum()
    }

    /// First group that lacks a name. The words that stand where a flag is expected are its names: the published
    /// command lines have them behind a later flag, `-targets 2 -rwratio 100 /dev/sg1 /dev/sg2`.
    pub(super) fn unnamed(&mut self) -> Option<&mut Group> {
        self.groups.iter_mut().find(|group| !group.is_named())
    }

    /// Error for one more word; `None` if there is no `-targets`.
    pub(super) fn too_many(&self, word: &str) -> Option<String> {
        let group = self.groups.iter().rev().find(|group| group.typed.is_some())?;
        let typed = group.typed.as_deref()?;
        let more = if group.names() == group.wanted {
            format!("give -targets {}, or ", group.wanted + 1)
        } else {
            String::new()
        };
        Some(format!("{}: no flag, and -targets {typed} has all of its names; {more}leave it out", short(word, 80)))
    }

    /// Makes the targets after all flags, in order.
    pub(super) fn targets(self, said: &[Said]) -> Result<Vec<Target>, String> {
        let cpus = linerate_rt::cpus();
        let (mut targets, mut names) = (Vec::new(), Vec::new());
        for group in self.groups {
            names.extend(group.targets()?);
        }
        for (number, (name, unit)) in (0u32..).zip(names) {
            let mut state = State { target: Target { unit, ..Target::new(&name) }, ..State::default() };
            let index = targets.len();
            for (_, given) in said.iter().filter(|(of, _)| of.is_none_or(|of| of == index)) {
                given.set(&mut state)?;
            }
            let mut target = state.target;
            target.start = target.start.saturating_add(self.offset.saturating_mul(number.into()));
            target.start_delay += Duration::from_secs_f64(self.delay * f64::from(number));
            target.cpu = self.spread.map(|n| cpus[index % n.min(cpus.len())]);
            target.cpu = self.cpus.iter().rev().find(|(of, _)| *of == index).map(|(_, cpu)| *cpu).or(target.cpu);
            if let Some(directory) = &self.directory
                && is_file(&target)
            {
                target.name = to_text(directory.join(from_text(&target.name)).as_os_str());
            }
            targets.push(target);
        }
        let beyond =
            said.iter().find_map(|(of, given)| Some((of.filter(|of| *of >= targets.len())?, given.flag.name())));
        match beyond {
            Some((of, flag)) => Err(format!("{flag} target {of}: there is no such target; they count from 0")),
            None => Ok(targets),
        }
    }
}
