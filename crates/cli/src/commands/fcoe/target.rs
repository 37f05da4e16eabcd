//! `linerate fcoe target`.

mod config;
mod events;
mod status;

use super::common::{NodeArguments, counters, introduce, route, stopper, with_ip};
use crate::commands::ip::{self, IpArguments};
use crate::commands::shared::{confine, ended};
use crate::trouble::{Trouble, print};
use clap::Args;
use config::{Allow, LunSpec};
use events::Events;
use linerate_fcoe::{Disks, NodeConfig, TargetConfig, TargetDrop};
use linerate_rt::{Capability, Waiter, run as run_machine};
use serde_json::{Map, json};
use status::Shown;
use std::iter::once;
use std::path::PathBuf;
use std::process::ExitCode;

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

const EXAMPLE: &str = "fcoe target -i xdp:eth1 --lun 0=ram:64M";

pub(super) fn run(mut arguments: Arguments) -> Result<ExitCode, Trouble> {
    if let Some(path) = arguments.config.take() {
        let file = config::read(&path)?;
        if arguments.node.i.is_empty() {
            arguments.node.i = file.port.unwrap_or_default();
        }
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
    let opened = config::open(&arguments.lun, &arguments.allow, (config.wwpn, config.wwnn))?;
    let devices: String = opened.lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    if arguments.check {
        print(&devices);
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stopper(arguments.seconds)?;
    let config = NodeConfig { target: Some(TargetConfig::default()), ..config };
    let events = Events { silent: arguments.json, waits: opened.waits };
    let mut node = with_ip(port, &arguments.ip).node(&config, opened.disks, events)?;
    route(&mut node, &arguments.ip)?;
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
    let mut shown = Shown::new(node, arguments.status, arguments.json);
    run_machine(&mut shown, &mut Waiter::new(arguments.node.wait), &stop);
    let node = shown.node;
    let figures = figures(&node);
    if arguments.json {
        // IPv4 and IPv6 counters of a service are added up.
        let mut counters = Map::new();
        for (name, n) in figures {
            let before = counters.get(&name).and_then(serde_json::Value::as_u64).unwrap_or(0);
            counters.insert(name, json!(before + n));
        }
        let config = node.config();
        let document = json!({
            "schema": "linerate.fcoe.target", "version": 1, "port": node.line().info().name, "path": node.line().info().path,
            "wwpn": config.wwpn.to_string(), "wwnn": config.wwnn.to_string(), "mac": config.mac.to_string(),
            "luns": opened.lines.iter().map(|(lun, line)| json!({"lun": lun, "device": line})).collect::<Vec<_>>(),
            "counters": counters,
        });
        print(&format!("{document}\n"));
    } else {
        print(&figures.iter().map(|(name, n)| format!("{name:32} {n}\n")).collect::<String>());
    }
    Ok(ended(&stop))
}

type Node = linerate_rt::fc::FcNode<Disks, Events>;

fn figures(node: &Node) -> Vec<(String, u64)> {
    let (tx, rx) = node.lines();
    let (sent, received) = (tx.counters(), rx.counters());
    let mut all: Vec<(String, u64)> = [
        ("frames_sent", sent.frames),
        ("frames_refused", sent.refused),
        ("frames_received", received.frames),
        ("frames_bad_crc", received.bad_crc),
        ("frames_too_long", received.too_long),
        ("frames_spoiled", node.line().control().ledger().spoiled),
    ]
    .map(|(name, n)| (name.to_owned(), n))
    .into();
    all.extend(counters(node.node()));
    if let Some((ip, services)) = node.ip() {
        let mut theirs = ip::figures(ip.host.counters(), services.served(&ip.host));
        theirs.extend(ip::adapter_figures(once(node.line()), linerate_rt::fc::IP));
        all.extend(theirs.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (format!("ip.{name}"), n)));
    }
    if let Some(target) = node.node().target() {
        let counters = target.counters();
        all.extend(
            [
                ("commands", counters.commands),
                ("bytes_sent", counters.bytes_sent),
                ("bytes_received", counters.bytes_received),
                ("exchanges_aborted", counters.aborted),
                ("exchanges_expired", counters.expired),
            ]
            .map(|(name, n)| (name.to_owned(), n)),
        );
        let drops =
            TargetDrop::ALL.map(|reason| (format!("target_dropped.{}", reason.name()), counters.dropped(reason)));
        all.extend(drops.into_iter().filter(|(_, n)| *n > 0));
    }
    all
}
