//! pkt-gen's row in the table of workloads.

use super::flags::PROGRAM;
use super::{Command, Config, Output, run};
use crate::workload::{Job, ParameterRow, Workload, command_line, nothing_needed};
use linerate_result::{Parameters, Unit};
use linerate_rt::Stop;
use std::sync::Arc;

/// pkt-gen, controlled by its flags.
pub const WORKLOAD: Workload = Workload::new(
    ("pkt-gen", "frames sent, received or echoed on a port, each accounted for"),
    parameters,
    nothing_needed,
    &[("rate", Unit::Pps)],
    prepare,
);

fn parameters() -> Vec<ParameterRow> {
    PROGRAM.parameters()
}

fn prepare(all: &Parameters) -> Result<Job, String> {
    let words = command_line(all);
    let Command::Run(config) = Config::parse(&words)? else {
        return Err("-h: measures nothing; leave it out".to_owned());
    };
    Ok(Job::new(format!("pkt-gen {}", words.join(" ")), move |stop: &Stop| {
        let silent = || Box::new(std::io::sink());
        let output = Arc::new(Output::new(silent(), silent(), false, stop));
        let command = std::iter::once(WORKLOAD.name.to_owned()).chain(words).collect();
        let finished = run(*config, command, stop, &output).map_err(|refusal| refusal.to_string())?;
        finished.result.tests.into_iter().next().ok_or_else(|| "nothing was measured".to_owned())
    }))
}
