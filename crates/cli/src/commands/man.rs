//! `linerate man`.

use super::root::root;
use super::shared::file;
use super::{Command, Reader, commands, parsed};
use crate::print::print;
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use linerate_host::place;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("man", Arguments::command, |matches, _| run(&parsed(matches)?));

/// Write man pages, one for linerate and one for each command and subcommand.
#[derive(Parser)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// Folder to write them to; it is created if it does not exist.
    #[arg(value_name = "DIR", value_parser = file)]
    directory: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  linerate man ~/.cargo/share/man/man1
  man linerate-fcoe-target

`man` looks for pages beside each folder of the PATH: those of ~/.cargo/bin are in ~/.cargo/share/man.";

fn run(arguments: &Arguments) -> Result<ExitCode, Trouble> {
    let directory = &arguments.directory;
    place::make_folder(directory)
        .map_err(|e| Trouble::usage(format!("{}: {e}; give a directory that can be made", directory.display())))?;
    let mut root = without_help(root());
    root.build();
    let mut pages = Vec::new();
    write(&root, &mut pages).map_err(|e| Trouble::failed(format!("a page: {e}; try again")))?;
    for (name, page) in pages {
        let path = directory.join(name);
        let written = place::create(&path).and_then(|mut file| file.write_all(&page));
        written
            .map_err(|e| Trouble::failed(format!("{}: {e}; give a directory that can be written", path.display())))?;
        print(&format!("{}\n", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// `help` has no page.
fn without_help(command: clap::Command) -> clap::Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

/// File name and contents.
type Page = (String, Vec<u8>);

/// Adds the pages of a command and its subcommands.
fn write(command: &clap::Command, pages: &mut Vec<Page>) -> io::Result<()> {
    let version = concat!("linerate ", env!("CARGO_PKG_VERSION"));
    // An empty date would be replaced by the version.
    let man = Man::new(command.clone()).source(version).manual("linerate").date(" ");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    match help_of_its_own(command.get_name()) {
        Some(help) => {
            let (usage, options) = help.split_once("\n\n").unwrap_or(("", &help));
            section("SYNOPSIS", usage.trim_start_matches("Usage: "), &mut page)?;
            section("OPTIONS", options, &mut page)?;
        }
        None => {
            man.render_synopsis_section(&mut page)?;
            man.render_description_section(&mut page)?;
            man.render_options_section(&mut page)?;
            if command.has_subcommands() {
                man.render_subcommands_section(&mut page)?;
            }
            if let Some(notes) = command.get_after_help() {
                section("NOTES", &notes.to_string(), &mut page)?;
            }
        }
    }
    pages.push((man.get_filename(), page));
    command.get_subcommands().try_for_each(|subcommand| write(subcommand, pages))
}

/// The help of a command that reads its words itself.
fn help_of_its_own(name: &str) -> Option<String> {
    commands().find(|command| command.name == name).and_then(|command| match command.reader {
        Reader::Itself { help, .. } => Some(help()),
        Reader::Clap { .. } => None,
    })
}

/// Adds a section; a text of several lines keeps its line breaks.
fn section(heading: &str, text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    let as_it_stands = text.trim().contains('\n');
    if as_it_stands {
        roff.control("nf", []);
    }
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    if as_it_stands {
        roff.control("fi", []);
    }
    roff.to_writer(page)
}
