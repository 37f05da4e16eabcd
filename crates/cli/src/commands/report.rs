//! `linerate report`.

use super::kept::{Db, RUN};
use super::shared::{file, one_of};
use super::{Command, parsed};
use crate::print::{print, remark};
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser};
use linerate_lab::index::Listed;
use linerate_lab::report::{FORMS, Form};
use linerate_lab::store::{self, REPORT};
use linerate_result::RunResult;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

pub(super) const COMMAND: Command = Command::by_clap("report", Arguments::command, |matches, _| run(&parsed(matches)?));

/// Make the report of a run anew, as a page, in Markdown, as a table or as drawings.
#[derive(Parser)]
struct Arguments {
    #[arg(value_name = "RUN", help = RUN)]
    run: String,
    #[arg(long, value_name = "FORM", help = forms(), default_value = FORMS[0].name, value_parser = one_of(FORMS.iter().map(|row| (row.name, row))))]
    format: &'static Form,
    /// Write a file, and open it with xdg-open.
    #[arg(long)]
    open: bool,
    /// File to write instead of standard output.
    #[arg(long, value_name = "FILE", value_parser = file)]
    out: Option<PathBuf>,
    #[command(flatten)]
    db: Db,
}

/// Help of --format: the description of each form.
fn forms() -> String {
    let rows: Vec<String> = FORMS.iter().map(|row| format!("{}: {}", row.name, row.about)).collect();
    format!("Form of the report. {}", rows.join("; "))
}

fn run(asked: &Arguments) -> Result<ExitCode, Trouble> {
    let (run, listed) = asked.db.find(&asked.run)?;
    let text = (asked.format.render)(&run);
    let text = text.map_err(|why| Trouble::usage(format!("--format {}: {why}", asked.format.name)))?;
    let out = match (&asked.out, asked.open) {
        (Some(out), _) => out.clone(),
        (None, true) => place(&run, listed.as_ref(), asked.format)?,
        (None, false) => {
            print(&text);
            return Ok(ExitCode::SUCCESS);
        }
    };
    store::write_file(&out, text.as_bytes()).map_err(|e| Trouble::failed(e.to_string()))?;
    if asked.open {
        open(&out);
    }
    Ok(ExitCode::SUCCESS)
}

/// File for a report that is opened: in the run's folder, if that is there, otherwise in the user's data directory.
fn place(run: &RunResult, listed: Option<&Listed>, form: &Form) -> Result<PathBuf, Trouble> {
    let folder = listed.and_then(|listed| listed.folder.clone()).filter(|folder| folder.is_dir());
    let folder = folder.map_or_else(|| store::default_directory(run), Ok).map_err(|e| Trouble::usage(e.to_string()))?;
    linerate_host::place::make_folder(&folder)
        .map_err(|why| Trouble::failed(format!("cannot make {folder:?}: {why}; name a file by --out FILE")))?;
    Ok(folder.join(REPORT).with_extension(form.name))
}

/// Opens a file with the user's program for it; says the path where that is not possible.
fn open(path: &Path) {
    let mut command = std::process::Command::new("xdg-open");
    // A name that begins with a dash would be an option.
    let opened = command
        .arg(Path::new(".").join(path))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let why = match opened {
        Ok(status) if status.success() => return,
        Ok(status) => format!("xdg-open failed ({status})"),
        Err(why) => format!("xdg-open: {why}"),
    };
    remark(&format!("linerate report: {why}; open {} yourself", linerate_text::plain(&path.display().to_string())));
}
