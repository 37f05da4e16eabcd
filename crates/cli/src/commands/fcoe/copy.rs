//! `linerate fcoe read` and `linerate fcoe write`: copies between a LUN and a file.

use super::common::{PROTECTION, stopper};
use super::which::Which;
use crate::commands::shared::ended;
use crate::print::{self, print, remark};
use crate::trouble::Trouble;
use clap::Args;
use linerate_load::fcoe::{Copied, CopyDirection, Order, copy};
use linerate_rt::fc::Integrity;
use linerate_text::bytes;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The LUN.
    #[arg(long, value_name = "N", default_value_t = 0)]
    lun: u16,
    /// Offset on the LUN, in bytes or as 64k, 64M, 2G, 1T (powers of 1024): a multiple of its block size.
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = parse_size)]
    offset: u64,
    /// Amount to copy, in bytes or as 64k, 64M, 2G, 1T: a multiple of its block size; otherwise to the end of the LUN,
    /// or of the file that is written to it.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    bytes: Option<u64>,
    /// Protection information that is made and checked here, of a LUN that has it: crc, ip (an IP checksum, which becomes
    /// a CRC for the wire) or off; behind commas app=TAG, an application tag, and protect=N, what the target checks (1).
    #[arg(long, value_name = "GUARD", default_value = PROTECTION)]
    pi: Integrity,
    /// The file; - is standard output or input.
    #[arg(value_name = "FILE", default_value = "-", value_parser = crate::commands::shared::file)]
    file: PathBuf,
}

fn parse_size(text: &str) -> Result<u64, String> {
    bytes(text).ok_or_else(|| "give bytes, or K, M, G or T of them, as 4096 or 64M".to_owned())
}

pub(super) fn run(arguments: Arguments, way: CopyDirection) -> Result<ExitCode, Trouble> {
    let Arguments { which, lun, offset, bytes, pi, file } = arguments;
    let file = Some(file).filter(|file| file.as_os_str() != "-");
    let order = Order { way, lun, offset, bytes, file };
    let opened = order.open().map_err(Trouble::usage)?;
    let stop = stopper(None)?;
    let example = if way == CopyDirection::Read {
        "fcoe read -i xdp:eth1 --lun 0 FILE"
    } else {
        "fcoe write -i xdp:eth1 --lun 0 FILE"
    };
    // Without --target it may be that of any target.
    let of = |copied: &Copied| {
        let word = if way == CopyDirection::Read { "from" } else { "to" };
        copied.name.as_ref().map_or_else(String::new, |name| format!(" {word} {name}"))
    };
    let copied = copy(&order, opened, which.visit(example, pi, &stop)?)?;
    if copied.unread {
        print::unread();
    }
    if print::is_unread() {
        // The exit code reports it.
        return Ok(ExitCode::SUCCESS);
    }
    if stop.signal().is_some() {
        remark(&format!("linerate fcoe: ended by a signal; {} bytes were copied{}", copied.bytes, of(&copied)));
        return Ok(ended(&stop));
    }
    let which = of(&copied);
    copied.result.map_err(Trouble::failed)?;
    let protection = copied.protection.map_or_else(String::new, |protection| format!(", {protection}"));
    let line = format!("{} bytes{which}{protection}", copied.bytes);
    match (&order.file, way) {
        // Standard output has the data.
        (None, CopyDirection::Read) => remark(&line),
        _ => print(&format!("{line}\n")),
    }
    Ok(ExitCode::SUCCESS)
}
