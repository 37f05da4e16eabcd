//! `linerate sweep`.

use super::agent::Records;
use super::kept::Db;
use super::remote::OtherMachine;
use super::shared::{conclude, file, is_full, one_of, place, stop_at_signals, typed};
use super::{Command, parsed};
use crate::print::{colours, columns, print, remark};
use crate::progress::Progress;
use crate::trouble::Trouble;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, CommandFactory, Parser};
use linerate_host::shell::word;
use linerate_lab::remote::Remote;
use linerate_lab::sweep::{
    Confidence, Form, Order, Other, PRESETS, Plan, Point, Repeats, Store, SweepError, Via, measure, sweep,
};
use linerate_lab::{environment, store, text};
use linerate_load::WORKLOADS;
use linerate_load::validity::watched;
use linerate_result::{Outcome, RunResult, Timestamp};
use linerate_rt::Stop;
use linerate_text::path::from_text;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const COMMAND: Command =
    Command::by_clap("sweep", Arguments::command, |matches, words| run(parsed(matches)?, words));

/// Measure all points of a plan, resuming where an earlier run stopped, and write a table and a report.
///
/// Each measurement is stored as soon as it is made; Ctrl-C ends the sweep early, and --resume continues it.
#[derive(Parser)]
#[command(after_help = after())]
struct Arguments {
    /// A preset, or a file with a plan.
    #[arg(value_name = "PLAN", value_parser = PlanParser, required_unless_present = "workloads")]
    plan: Option<PathBuf>,
    /// Some of a preset's points (the default).
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// All of a preset's points.
    #[arg(long)]
    full: bool,
    /// Only these points, by their ids: such as those that `compare` cannot decide.
    #[arg(long, value_name = "ID[,ID]", value_delimiter = ',')]
    only: Option<Vec<String>>,
    /// Whose sockets streams have: the kernel's, over a veth pair between two namespaces (the default), or those of
    /// linerate's own stack, over a cable.
    #[arg(long, value_name = "HOW", conflicts_with = "remote", value_parser = one_of(Via::ALL.iter().map(|via| (via.word(), *via))))]
    via: Option<Via>,
    /// Ports of a preset that measures what is between two (rfc2544): where frames are sent, and where they arrive.
    #[arg(long, value_names = ["PORT", "PORT"], num_args = 2)]
    ports: Option<Vec<String>>,
    #[command(flatten)]
    other: OtherMachine,
    /// Leave both interfaces up when their MTU changes.
    ///
    /// With --remote the MTU is set at both ends, and both interfaces are taken down and up after a change of it. All that was
    /// changed is put back in the end; after SIGKILL by the next start.
    #[arg(long, requires = "remote")]
    no_bounce: bool,
    #[command(flatten)]
    records: Records,
    /// Repeats of each point of a preset (3, as `compare` needs); with --confidence the least and the most: 3,10.
    #[arg(long, value_name = "N[,MOST]", value_delimiter = ',', num_args = 1)]
    repeats: Option<Vec<u32>>,
    /// Repeat each point until the mean is known: with 95 % to 5 % of it, for example, as netperf's -I has it.
    #[arg(long, value_name = "LEVEL,WIDTH", value_delimiter = ',', num_args = 1, requires = "repeats")]
    confidence: Option<Vec<f64>>,
    /// Order of the measurements of a preset: in rounds over all points (the default), all repeats of a point at once, or
    /// rounds in an order of chance.
    #[arg(long, value_name = "ORDER", value_parser = one_of(Order::ALL))]
    order: Option<Order>,
    /// Let repeats count that other programs on this machine were in the way of, with a warning; without it they are made again.
    #[arg(long)]
    shared: bool,
    /// Print what would be done, step by step, and do nothing.
    #[arg(long, conflicts_with_all = ["out", "resume", "json"])]
    dry_run: bool,
    /// Print the workloads that a plan can name, and their parameters.
    #[arg(long, exclusive = true)]
    workloads: bool,
    /// Folder for points, result and report (a new one in the user's data directory).
    #[arg(long, value_name = "DIR", value_parser = file)]
    out: Option<PathBuf>,
    /// Continue the sweep in the folder that --out names; there must be one.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Print the result document instead of the table.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    db: Db,
}

/// Help behind the options: presets, an example of a plan, exit codes.
fn after() -> String {
    let rows = PRESETS.iter().map(|row| format!("  {:<20}{}\n", row.name, row.about));
    format!("Presets:\n{}\n{AFTER}", rows.collect::<String>())
}

const AFTER: &str = "\
A plan in a file (all of it is checked before anything is measured):
  name = \"small-writes\"
  repeats = [3, 10]              # or one number
  confidence = [95, 5]           # level and width, per cent
  order = \"rounds\"             # or points, shuffled
  minutes = 30                   # no measurement begins later
  [[test]]
  workload = \"TCP_STREAM\"
  parameters = { via = \"stack\", seconds = 2 }
  axes = { parallel = [1, 8], io_bytes = [64, 2048] }
  [[test]]                       # latency alone, and beside 4 streams
  workload = \"UDP_RR\"
  parameters = { via = \"stack\", seconds = 10 }
  quiet = 5                      # seconds alone before
  [[test.beside]]                # has via, mtu and seconds from the test
  name = \"up\"
  workload = \"TCP_STREAM\"
  parameters = { parallel = 4, io_bytes = 16384 }

Exit codes: 0 all points were measured, 1 requests of one failed, nothing moved or it could not be written down, 2 wrong on the command
line or in the plan, 4 a point could not be measured or its repeats have little in common, 128+n ended early by signal n";

/// Reader of PLAN: any path, of which the presets' names are offered.
#[derive(Clone)]
struct PlanParser;

impl TypedValueParser for PlanParser {
    type Value = PathBuf;

    fn parse_ref(&self, _: &clap::Command, _: Option<&Arg>, value: &OsStr) -> Result<PathBuf, clap::Error> {
        Ok(from_text(&value.to_string_lossy()))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(PRESETS.iter().map(|row| PossibleValue::new(row.name))))
    }
}

/// The workloads and their parameters.
fn workloads() -> String {
    let mut text = String::new();
    for workload in WORKLOADS {
        text.push_str(&format!("{}: {}\n", workload.name, workload.about));
        let rows = (workload.parameters)();
        let rows = rows.iter().map(|row| (format!("{} {}", row.name, row.value), &row.about));
        for (given, about) in rows {
            text.push_str(&format!("  {given:<28} {about}\n"));
        }
    }
    text
}

/// The plan that the command line asks for.
fn plan(path: &Path, parsed: &Arguments) -> Result<Plan, Trouble> {
    let Some(preset) = PRESETS.iter().find(|preset| Path::new(preset.name) == path) else {
        return written(path, parsed);
    };
    if parsed.via.is_some() && !preset.has_via() {
        return Err(Trouble::usage(format!("--via: {} has no sockets; leave it out", preset.name)));
    }
    if parsed.ports.is_some() && !preset.has_ports() {
        return Err(Trouble::usage(format!("--ports: {} has its own; leave it out", preset.name)));
    }
    let ports =
        parsed.ports.as_deref().and_then(|ports| Some(ports.first_chunk::<2>()?.each_ref().map(String::as_str)));
    let form = if parsed.full { Form::Full } else { Form::Quick };
    let mut plan = preset.plan(form, parsed.via.unwrap_or(Via::Kernel), ports);
    let confidence = match parsed.confidence.as_deref() {
        None => None,
        Some([level, width]) => Some(Confidence { level: *level, width: *width }),
        Some(_) => return Err(Trouble::usage("--confidence: give a level and a width in per cent: 95,5")),
    };
    let (least, most) = match parsed.repeats.as_deref() {
        None => (Repeats::default().least, Repeats::default().most),
        Some([n]) => (*n, *n),
        Some([least, most]) => (*least, *most),
        Some(_) => return Err(Trouble::usage("--repeats: give one number, or the least and the most: 3,10")),
    };
    plan.repeats = Repeats::new(least, most, confidence).map_err(|why| Trouble::usage(format!("--repeats: {why}")))?;
    plan.order = parsed.order.unwrap_or_default();
    Ok(plan)
}

/// A plan in a file, which says all of it.
fn written(path: &Path, parsed: &Arguments) -> Result<Plan, Trouble> {
    let flags = [
        ("--quick", parsed.quick),
        ("--full", parsed.full),
        ("--via", parsed.via.is_some()),
        ("--ports", parsed.ports.is_some()),
        ("--repeats", parsed.repeats.is_some()),
        ("--order", parsed.order.is_some()),
    ];
    let plan = Plan::read(path).map_err(Trouble::usage)?;
    match flags.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Trouble::usage(format!("{flag} is for presets; write it in {}", path.display()))),
        None => Ok(plan),
    }
}

fn run(parsed: Arguments, words: &[String]) -> Result<ExitCode, Trouble> {
    let Some(path) = &parsed.plan else {
        print(&workloads());
        return Ok(ExitCode::SUCCESS);
    };
    let mut plan = plan(path, &parsed)?;
    plan.shared = parsed.shared;
    if let Some(ids) = &parsed.only {
        plan.keep_only(ids).map_err(|why| Trouble::usage(format!("--only: {why}")))?;
    }
    let far = parsed.other.far(!parsed.no_bounce);
    if let Some(far) = &far {
        if let Some(point) = plan.points.iter().find(|point| !point.has_peer()) {
            if point.is_together() {
                let what = "--remote: workloads at once are not measured so; give each a peer in a plan";
                return Err(Trouble::usage(what));
            }
            let workload = point.workload.name;
            return Err(Trouble::usage(format!(
                "--remote: {workload} is not measured with another machine; leave it out"
            )));
        }
        plan.remote = Some(Other { name: far.data().to_owned(), cycles: far.cycles });
        plan.via = None;
    }
    if parsed.dry_run {
        print(&plan.describe().map_err(Trouble::usage)?);
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stop_at_signals()?;
    let command = typed(words);
    let fresh = RunResult::new(plan.name.clone(), Vec::new(), Timestamp::now());
    let directory = match parsed.out {
        Some(directory) => directory,
        None => store::default_directory(&fresh).map_err(|e| Trouble::usage(e.to_string()))?,
    };
    // Errors of the directory are reported before anything is made.
    Store::look(&directory, parsed.resume).map_err(refused)?;
    let place = place(Some(&directory), &fresh, &parsed.db)?;
    plan.needs().map_err(Trouble::usage)?;
    let mut remote = match &far {
        None => None,
        Some(far) => {
            let mtus: Vec<u32> = plan.points.iter().filter_map(Point::mtu).collect();
            let records = parsed.records.recovered()?;
            Some(Remote::connect(far, &mtus, &records, &stop).map_err(Trouble::failed)?)
        }
    };
    let go_on = go_on(words, &directory);
    let mut begun = false;
    let mut progress = Progress::new();
    let mut measure = |point: &Point, stop: &Stop| {
        watched(plan.shared, || match &mut remote {
            Some(remote) => remote.measure(point, stop),
            None => measure(point, stop),
        })
    };
    let run = sweep(&plan, &mut measure, &directory, parsed.resume, command.clone(), &stop, |step| {
        if !std::mem::replace(&mut begun, true) {
            begin(&directory, &command, &go_on, &parsed.db);
        }
        progress.step(step);
    });
    progress.clear();
    let left = remote.map(Remote::end).unwrap_or_default();
    left.iter().for_each(|line| remark(&format!("linerate: {line}")));
    let run = run.map_err(refused)?;
    let code = conclude(&run, &text::render(&run, colours(), columns()), Some(place), parsed.json, &parsed.db)?;
    if run.outcome == Outcome::Partial {
        remark(&format!("linerate sweep: not all of it is measured; go on with: {go_on}"));
    }
    Ok(code)
}

/// The command line that goes on with a sweep.
fn go_on(words: &[String], directory: &Path) -> String {
    let out = words.iter().any(|word| word == "--out" || word.starts_with("--out="));
    let given = words.iter().filter(|word| *word != "--resume").map(word);
    let mut line: Vec<String> = std::iter::once("linerate".to_owned()).chain(given).collect();
    if !out {
        line.extend(["--out".to_owned(), word(directory)]);
    }
    line.push("--resume".to_owned());
    line.join(" ")
}

/// Puts a sweep that begins on the list of runs, so that it is there whatever ends it, with the command that goes on with it.
fn begin(directory: &Path, command: &[String], go_on: &str, db: &Db) {
    remark(&format!(
        "linerate sweep: each measurement is kept in {}; if the sweep ends early, go on with: {go_on}",
        word(directory)
    ));
    // What an earlier part of it has measured says more.
    let Some(head) = Store::begun(directory).filter(|_| !directory.join(store::RESULT).exists()) else { return };
    let mut run = RunResult::new(head.run_id, command.to_vec(), head.start);
    run.environment = environment::read(&[]);
    run.reasons = vec![format!("the sweep did not come to its end; go on with: {go_on}")];
    let written = store::write_document(directory, &run).map_err(|why| linerate_text::plain(&why.to_string()));
    if let Err(why) = written.and_then(|_| db.record(&run, directory).map_err(|why| why.to_string())) {
        remark(&format!("linerate sweep: {why}"));
    }
}

fn refused(error: SweepError) -> Trouble {
    match &error {
        SweepError::System { why, .. } if is_full(why) => Trouble::failed(error.to_string()),
        _ => Trouble::usage(error.to_string()),
    }
}
