//! Targets that follow from the flags.

use super::state::{Scope, State};
use crate::flags::Given;
use crate::xdd::config::Target;
use crate::xdd::engine::is_file;
use linerate_port::path::{from_text, to_text};
use std::path::PathBuf;
use std::time::Duration;

/// Greatest number of targets.
pub(super) const TARGETS: usize = 1024;

/// Flags about the targets' names.
#[derive(Default)]
pub(super) struct Named {
    /// Names with their units.
    pub(super) targets: Vec<(String, usize)>,
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

/// A flag of a target, with the target's number if it names one.
type Said = (Option<usize>, Given<State, Scope>);

impl Named {
    /// Makes the targets after all flags, in order.
    pub(super) fn targets(self, said: &[Said]) -> Result<Vec<Target>, String> {
        let cpus = linerate_rt::cpus();
        let mut targets = Vec::new();
        for (number, (name, unit)) in (0u32..).zip(self.targets) {
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
