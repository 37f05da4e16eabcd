//! pkt-gen's row in the table of workloads.

use super::flags::PROGRAM;
use super::{Command, Config, Finished, Output, run};
use crate::frame::Layout;
use crate::parameters::command_line;
use crate::workload::{Job, ParameterRow, Workload, nothing_needed};
use linerate_result::{Parameters, Test, Unit};
use linerate_rt::Stop;
use std::sync::Arc;

pub const WORKLOAD: Workload = Workload::new(
    ("pkt-gen", "frames sent, received or echoed on a port, each accounted for"),
    parameters,
    nothing_needed,
    &[("rate", Unit::Pps)],
    prepare,
);

pub(crate) fn parameters() -> Vec<ParameterRow> {
    PROGRAM.parameters()
}

/// pkt-gen whose flags are read.
pub(crate) struct Ready {
    words: Vec<String>,
    config: Box<Config>,
}

/// Reads the flags of a pkt-gen. Nothing is opened.
pub(crate) fn ready(all: &Parameters) -> Result<Ready, String> {
    let words = command_line(all);
    match Config::parse(&words)? {
        Command::Run(config) => Ok(Ready { words, config }),
        _ => Err("-h: measures nothing; leave it out".to_owned()),
    }
}

impl Ready {
    /// Its command line.
    pub(crate) fn does(&self) -> String {
        format!("{} {}", WORKLOAD.name, self.words.join(" "))
    }

    /// Runs it, without output.
    pub(super) fn run(&self, stop: &Stop) -> Result<Test, String> {
        let finished = self.trial(stop, |_| ())?;
        finished.result.tests.into_iter().next().ok_or_else(|| "nothing was measured".to_owned())
    }

    /// Bytes without FCS of the shortest frames with a mark, and with a time-stamp behind it.
    pub(crate) fn room(&self) -> [usize; 2] {
        let layout = Layout { vnet: 0, v6: self.config.v6 };
        [layout.end(), layout.stamp_end()]
    }

    /// Runs it with something changed, without output.
    pub(crate) fn trial(&self, stop: &Stop, change: impl FnOnce(&mut Config)) -> Result<Finished, String> {
        let silent = || Box::new(std::io::sink());
        let output = Arc::new(Output::new(silent(), silent(), false, stop));
        let command = std::iter::once(WORKLOAD.name.to_owned()).chain(self.words.iter().cloned()).collect();
        let mut config = (*self.config).clone();
        change(&mut config);
        run(config, command, stop, &output).map_err(|refusal| refusal.to_string())
    }
}

fn prepare(all: &Parameters) -> Result<Job, String> {
    let ready = ready(all)?;
    Ok(Job::new(ready.does(), move |stop: &Stop| ready.run(stop)))
}
