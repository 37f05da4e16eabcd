//! `linerate compare`.

use super::kept::{Db, RUN};
use super::{Command, parsed};
use crate::print::{colours, print};
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser};
use linerate_lab::compare::{Compared, render};
use std::process::ExitCode;

pub(super) const COMMAND: Command =
    Command::by_clap("compare", Arguments::command, |matches, _| run(&parsed(matches)?));

/// Compare the tests of two runs: ratios with their confidence, and which tests are worse in the second one.
///
/// Tests are paired by id and parameters. The interval is Welch's at 95 %, on the logarithms of the repeats; with fewer
/// than three repeats that count on either side a test is not judged, but three such points or more that differ in their size
/// alone are judged together. Verdicts hold for all tests together: of two runs of
/// the same thing, one in twenty has a test that is called worse. What is beyond the threshold but may be chance is
/// unclear. The last line says what loss would have been found.
#[derive(Parser)]
#[command(
    after_help = "Exit codes: 0 no test is worse, 1 the index could not be read, 2 wrong on the command line, 3 a test or a series of points is worse by more than the threshold \
                        and by more than the spread, 4 nothing could be judged"
)]
struct Arguments {
    #[arg(value_name = "A", help = RUN)]
    a: String,
    #[arg(value_name = "B", help = "The run that is held against it, named in the same ways")]
    b: String,
    /// Per cent by which a figure may be worse, 0 to 1000.
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = per_cent)]
    threshold: f64,
    /// Print a JSON document instead of the table.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    db: Db,
}

fn per_cent(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|share| (0.0..=1000.0).contains(share)).ok_or_else(|| "give 0 to 1000".to_owned())
}

fn run(asked: &Arguments) -> Result<ExitCode, Trouble> {
    let ((a, _), (b, _)) = (asked.db.find(&asked.a)?, asked.db.find(&asked.b)?);
    let compared = Compared::new(&a, &b, asked.threshold);
    if asked.json {
        print(&compared.to_json());
    } else {
        print(&render(&compared, colours()));
    }
    Ok(ExitCode::from(compared.exit_code()))
}
