//! `linerate fcoe lun`: changes of a target that runs, by its control socket.

use super::target::asked::{KIND, LUNS};
use super::target::config::{Allow, LunSpec, OPEN, number};
use crate::commands::control::{request, the_one};
use crate::trouble::{Trouble, print};
use clap::{Args, Subcommand};
use linerate_wire::Wwn;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(super) enum What {
    /// Add LUNs; initiators that see them are told so.
    Add {
        #[command(flatten)]
        target: Target,
        /// A LUN: its number and its device, as --lun of `linerate fcoe target`.
        #[arg(value_name = "N=DEVICE", required = true)]
        luns: Vec<LunSpec>,
    },
    /// Remove LUNs: their commands end with TASK ABORTED, and initiators are told so.
    Remove {
        #[command(flatten)]
        target: Target,
        /// Number of a LUN.
        #[arg(value_name = "N", required = true, value_parser = number)]
        luns: Vec<u16>,
    },
    /// Take over the sizes that the LUNs' files or block devices have now; initiators are told so.
    Resize {
        #[command(flatten)]
        target: Target,
        /// Number of a LUN.
        #[arg(value_name = "N", required = true, value_parser = number)]
        luns: Vec<u16>,
    },
    /// Let an initiator see further LUNs; from the first time on, initiators without a name see none. An initiator learns of
    /// it when it next asks: `fcoe initiator` within 5 s.
    Allow {
        #[command(flatten)]
        target: Target,
        /// Port name of the initiator, and LUNs, separated by commas; with `open` among them it need not prove its name, and
        /// without it must, at a target with --auth.
        #[arg(value_name = "WWPN=LUNS")]
        rule: Allow,
    },
    /// Hide all LUNs from an initiator that was allowed some. It learns of it when it next asks, `fcoe initiator` within 5 s;
    /// commands that come meanwhile fail.
    Deny {
        #[command(flatten)]
        target: Target,
        /// Port name of the initiator.
        #[arg(value_name = "WWPN")]
        wwpn: Wwn,
    },
}

/// The target that is meant.
#[derive(Args)]
pub(super) struct Target {
    /// Port of the target; needless if only one runs.
    #[arg(short, value_name = "PORT")]
    pub(super) i: Option<String>,
}

pub(super) fn run(what: What) -> Result<ExitCode, Trouble> {
    let (target, requests) = match what {
        What::Add { target, luns } => {
            let words: Result<Vec<_>, _> = luns.iter().map(LunSpec::word).collect();
            (target, words?.into_iter().map(|word| format!("add {word}")).collect::<Vec<_>>())
        }
        What::Remove { target, luns } => (target, luns.iter().map(|lun| format!("remove {lun}")).collect()),
        What::Resize { target, luns } => (target, luns.iter().map(|lun| format!("resize {lun}")).collect()),
        What::Allow { target, rule: Allow { wwpn, luns, open } } => {
            let luns: Vec<_> = luns.iter().map(ToString::to_string).chain(open.then(|| OPEN.to_owned())).collect();
            (target, vec![format!("allow {wwpn}={}", luns.join(","))])
        }
        What::Deny { target, wwpn } => (target, vec![format!("deny {wwpn}")]),
    };
    let name = the_one(&KIND, target.i.as_deref())?;
    for words in requests {
        print(&request(&KIND, LUNS, &name, &words)?);
    }
    Ok(ExitCode::SUCCESS)
}
