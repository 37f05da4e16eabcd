//! xdd's row in the table of workloads.

use super::flags::PROGRAM;
use super::{Command, Config, Refusal, Streams, engine, run};
use crate::parameters::command_line;
use crate::workload::{Job, ParameterRow, Workload, nothing_needed};
use linerate_result::{Parameters, Unit};
use linerate_rt::Stop;

/// xdd, controlled by those of its flags that take one value or none.
pub const WORKLOAD: Workload = Workload::new(
    ("xdd", "block I/O on files, devices, NBD exports and LUNs"),
    parameters,
    nothing_needed,
    &[
        ("requests", Unit::Iops),
        ("throughput", Unit::BytesPerSecond),
        ("reads", Unit::Iops),
        ("writes", Unit::Iops),
        ("cpu", Unit::PerCent),
    ],
    prepare,
);

fn parameters() -> Vec<ParameterRow> {
    PROGRAM.parameters()
}

fn prepare(all: &Parameters) -> Result<Job, String> {
    let words = command_line(all);
    let Command::Run(config) = Config::parse(&words)? else {
        return Err("-help and -version measure nothing; leave them out".to_owned());
    };
    Ok(Job::new(format!("xdd {}", words.join(" ")), move |stop: &Stop| {
        let silent = || Box::new(std::io::sink());
        let mut streams = Streams::open(&config, silent(), silent(), stop)?;
        let command = std::iter::once(WORKLOAD.name.to_owned()).chain(words).collect();
        let finished = run(&config, engine::open, command, stop, &mut streams).map_err(|refusal| match refusal {
            Refusal::Stopped => "stopped".to_owned(),
            other => other.to_string(),
        })?;
        finished.result.tests.into_iter().next().ok_or_else(|| "nothing was measured".to_owned())
    }))
}
