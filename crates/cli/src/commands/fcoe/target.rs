//! `linerate fcoe target`.

mod asked;
mod config;
mod document;
mod events;
mod kept;
mod status;

use super::common::{NodeArguments, introduce, route, stopper, with_ip};
use crate::commands::control;
use crate::commands::ip::IpArguments;
use crate::commands::link::Watched;
use crate::commands::shared::{confine, ended, port_name};
use crate::trouble::{Trouble, print};
use clap::Args;
use config::{Allow, LunSpec};
use events::Events;
use linerate_fcoe::{Disks, NodeConfig, TargetConfig};
use linerate_rt::control::callee;
use linerate_rt::{Capability, Waiter, run as run_machine};
use status::Shown;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    node: NodeArguments,
    #[command(flatten)]
    ip: IpArguments,
    /// A LUN: its number and its device: 0=ram:64M, 1=file:disk.img,ro, 2=null:1T, 3=nbd://host/export; may be given
    /// more than once.
    #[arg(long, value_name = "N=DEVICE")]
    lun: Vec<LunSpec>,
    /// Port name of an initiator, and the LUNs that it may see, separated by commas; may be given more than once.
    /// Without any, every initiator sees every LUN; with one, each initiator sees only what an --allow grants it. This
    /// hides LUNs and authenticates nobody: an initiator names itself, and whoever is on the network can take the name
    /// of another.
    #[arg(long, value_name = "WWPN=LUNS")]
    allow: Vec<Allow>,
    /// Read port, LUNs and permissions from a TOML file; options on the command line take precedence.
    #[arg(long, value_name = "FILE", value_parser = crate::commands::shared::file)]
    config: Option<PathBuf>,
    /// Hold commands to a LUN whose NBD server is lost for up to N seconds (20): after that they end with NOT READY until
    /// it is back. Less than the initiators' own time-out: Linux's is 30.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=config::LONGEST_HOLD))]
    hold: Option<u64>,
    /// Check all arguments, devices included, and end.
    #[arg(long)]
    check: bool,
    /// Print sessions, their traffic and errors every N seconds; with --json one JSON document per line.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    status: Option<u64>,
    /// End after so many seconds; otherwise at Ctrl-C.
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Print the counters at the end as one JSON document.
    #[arg(long)]
    json: bool,
}

/// Shows targets that run.
pub(super) fn show(arguments: &control::Show) -> Result<ExitCode, Trouble> {
    control::show(&asked::KIND, arguments)
}

/// Seconds for which commands are held unless told otherwise.
const HOLD: u64 = 20;

const EXAMPLE: &str = "fcoe target -i xdp:eth1 --lun 0=ram:64M";

pub(super) fn run(mut arguments: Arguments) -> Result<ExitCode, Trouble> {
    if let Some(path) = arguments.config.take() {
        let file = config::read(&path)?;
        if arguments.node.i.is_empty() {
            arguments.node.i = file.port.unwrap_or_default();
        }
        arguments.hold = arguments.hold.or(file.hold);
        if arguments.lun.is_empty() {
            arguments.lun = file.luns;
        }
        if arguments.allow.is_empty() {
            arguments.allow = file.allow;
        }
    }
    if arguments.lun.is_empty() {
        return Err(Trouble::usage(format!("--lun is missing: a target needs a LUN; give one, as {EXAMPLE}")));
    }
    let port = arguments.node.port(EXAMPLE)?;
    let config = port.config();
    let hold = Duration::from_secs(arguments.hold.unwrap_or(HOLD));
    let opened = config::open(&arguments.lun, &arguments.allow, (config.wwpn, config.wwnn), (hold, arguments.check))?;
    let devices: String = opened.lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    if arguments.check {
        print(&devices);
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stopper(arguments.seconds)?;
    let config = NodeConfig { target: Some(TargetConfig::default()), ..config };
    let events = Events::new(arguments.json, opened.waits);
    let mut node = with_ip(port, &arguments.ip).node(&config, opened.disks, events)?;
    route(&mut node, &arguments.ip)?;
    let calls = callee().map_err(|e| Trouble::failed(format!("{e}; free some descriptors")))?;
    let (mut caller, luns) = (calls.caller(), document::luns(&opened.lines));
    let control = control::serve(&asked::KIND, &port_name(&arguments.node.i), move || {
        let mut document = caller.call(|node: &mut Node| document::known(node))?;
        document["luns"] = luns.clone();
        Ok(document)
    });
    // A lost NBD server is connected to again, and its socket may be another user's.
    confine(if arguments.lun.iter().any(LunSpec::has_socket) { &[Capability::DacOverride] } else { &[] });
    if !arguments.json {
        introduce(&node);
        print(&devices);
        if !arguments.allow.is_empty() {
            print(
                "note: --allow hides LUNs and authenticates nobody: any initiator on this network can take a port name\n",
            );
        }
    }
    let mut shown = Shown::new(node, calls, arguments.status, arguments.json);
    let name = shown.node().line().info().name.clone();
    let mut watched = Watched::new(&mut shown, &name, |shown| shown.node().line().link());
    run_machine(&mut watched, &mut Waiter::new(arguments.node.wait), &stop);
    let node = shown.end();
    // Nobody is answered any more: what follows is the end.
    drop(control);
    if arguments.json {
        let mut document = document::document(&node);
        document["luns"] = document::luns(&opened.lines);
        print(&format!("{document}\n"));
    } else {
        print(&document::figures(&node).iter().map(|(name, n)| format!("{name:32} {n}\n")).collect::<String>());
    }
    Ok(ended(&stop))
}

type Node = linerate_rt::fc::FcNode<Disks, Events>;
