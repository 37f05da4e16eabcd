//! `linerate netmap`.

use super::{Command, Outcome, parsed};
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser, Subcommand};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

pub(super) const COMMAND: Command = Command::by_clap("netmap", Arguments::command, |matches, _| {
    let Arguments { what: What::Run(arguments) } = parsed(matches)?;
    run(&arguments)
});

/// Programs written for netmap, unmodified, on linerate's ports.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Run a program whose /dev/netmap is linerate: a library beside this binary is preloaded. It ends as the program does.
    ///
    /// `netmap:eth0` is xdp:eth0, or packet:eth0 where that cannot be; `vale0:a` is vale:0:a; a pipe, `netmap:x{1`, is
    /// cable:x{1; linerate's own names stand behind `netmap:` as they are.
    Run(Run),
}

#[derive(clap::Args)]
struct Run {
    /// Give a name of netmap's another port, such as eth0=packet:eth0,rx=ring; may be repeated.
    #[arg(long, value_name = "NAME=PORT", value_parser = pair)]
    port: Vec<String>,
    /// The program and its words.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// Library that is preloaded, and its table of names (crates/netmap).
const LIBRARY: &str = "liblinerate_netmap.so";
const TABLE: &str = "LINERATE_NETMAP_PORTS";

fn pair(text: &str) -> Result<String, String> {
    let right = text.split_once('=').is_some_and(|(name, port)| !name.is_empty() && port.contains(':'));
    let one_line = !text.contains(char::is_control);
    if right && one_line { Ok(text.into()) } else { Err("write it as NAME=KIND:NAME".into()) }
}

fn run(arguments: &Run) -> Outcome {
    let library = library()?;
    let (program, words) = arguments.program.split_first().ok_or_else(|| Trouble::usage("give a program"))?;
    if let Some(why) = found(program).and_then(|file| unreachable(&file)) {
        return Err(Trouble::failed(format!("{program}: {why}")));
    }
    let before = std::env::var("LD_PRELOAD").unwrap_or_default();
    let preloaded = if before.is_empty() { library } else { format!("{library}:{before}") };
    let mut command = std::process::Command::new(program);
    command.args(words).env("LD_PRELOAD", preloaded);
    if !arguments.port.is_empty() {
        command.env(TABLE, arguments.port.join("\n"));
    }
    let error = command.exec();
    Err(Trouble::failed(format!("{program}: {error}; give a program that can be run")))
}

/// The library beside this binary. The dynamic linker takes words apart at spaces and colons.
fn library() -> Result<String, Trouble> {
    let own = std::env::current_exe().map_err(|e| Trouble::failed(format!("/proc/self/exe: {e}; mount /proc")))?;
    let library = own.with_file_name(LIBRARY);
    let text = library.display().to_string();
    if !library.is_file() {
        let how =
            format!("build it with `cargo build --release -p linerate-netmap`, and put it beside {}", own.display());
        return Err(Trouble::failed(format!("{text} is not there; {how}")));
    }
    if text.contains([' ', ':', '\n']) {
        return Err(Trouble::failed(format!("{text}: nothing is preloaded by such a path; move it and {LIBRARY}")));
    }
    Ok(text)
}

/// The file that a program's name means.
fn found(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(program.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Reason that a preloaded library does not reach a program, with its mend; None if it does, or nothing is known.
fn unreachable(program: &Path) -> Option<String> {
    let (file, own) = (fs::metadata(program).ok()?, fs::metadata("/proc/self").ok()?);
    let mode = file.permissions().mode();
    let gains = mode & 0o4000 != 0 && file.uid() != own.uid() || mode & 0o2000 != 0 && file.gid() != own.gid();
    if gains {
        return Some("it is setuid or setgid, and nothing is preloaded into it; run it as its owner, or a copy".into());
    }
    is_static(program)?.then(|| "it is linked statically, and nothing is preloaded into it; link it dynamically".into())
}

/// True for an ELF program without an interpreter (PT_INTERP), whose libraries nobody loads; None for what is no 64-bit ELF.
fn is_static(program: &Path) -> Option<bool> {
    const INTERPRETER: u32 = 3;
    let (mut file, mut head) = (File::open(program).ok()?, [0; 64]);
    file.read_exact(&mut head).ok()?;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let at = u64::from_le_bytes(head[32..40].try_into().ok()?);
    let [size, n] = [54, 56].map(|at| u64::from(u16::from_le_bytes([head[at], head[at + 1]])));
    for i in 0..n {
        let mut kind = [0; 4];
        file.read_exact_at(&mut kind, at.checked_add(i * size)?).ok()?;
        if u32::from_le_bytes(kind) == INTERPRETER {
            return Some(false);
        }
    }
    Some(true)
}
