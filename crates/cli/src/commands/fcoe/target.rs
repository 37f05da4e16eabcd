//! `linerate fcoe target`.

pub(super) mod asked;
pub(super) mod config;
mod document;
mod events;
mod kept;
mod luns;
mod status;

use super::common::{NodeArguments, introduce, negotiated, route, stopper, with_ip};
use super::secrets;
use crate::commands::ip::IpArguments;
use crate::commands::link::Watched;
use crate::commands::shared::{confine, ended, port_name};
use crate::commands::{control, dcb};
use crate::print::remark;
use crate::trouble::{Trouble, print};
use clap::Args;
use config::{Allow, LunSpec};

use events::Events;
use linerate_fcoe::{DiskPort, NodeConfig, TargetConfig};
use linerate_rt::control::callee;
use linerate_rt::{Capability, Waiter, at_hangup, run as run_machine};
use luns::{Begun, Running};
use status::Shown;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    node: NodeArguments,
    #[command(flatten)]
    ip: IpArguments,
    #[command(flatten)]
    dcb: dcb::Negotiate,
    /// A LUN: its number and its device: 0=ram:64M, 1=file:disk.img,ro, 2=null:1T, 3=nbd://host/export; may be given
    /// more than once. Another file at the path is another disk to initiators; one that was copied on purpose, or restored
    /// from a backup, is the same with the same serial= as its original: 1=file:disk.img,serial=D1.
    /// Memory is another disk each time it is made, with serial= too; naa= makes it the same one, without its data.
    #[arg(long, value_name = "N=DEVICE")]
    lun: Vec<LunSpec>,
    /// Port name of an initiator, and the LUNs that it may see, separated by commas; may be given more than once.
    /// Without any, every initiator sees every LUN; with one, each initiator sees only what an --allow grants it. This
    /// hides LUNs and authenticates nobody: an initiator names itself, and whoever is on the network can take the name
    /// of another. With --auth, an initiator with `open` among its LUNs need not prove its name.
    #[arg(long, value_name = "WWPN=LUNS")]
    allow: Vec<Allow>,
    /// Let in only initiators that prove their names (DH-CHAP, FC-SP-2) with the secrets that stand in this file, a line each:
    /// WWPN SECRET. To those that ask for it we prove our own with the secret of a line own SECRET. A secret has 12 to 128
    /// characters without spaces, or as many bytes as 0x and hexadecimal digits; nobody but its owner may read the file.
    #[arg(long, value_name = "FILE", value_parser = crate::commands::shared::file)]
    auth: Option<PathBuf>,
    /// Read port, LUNs and permissions from a TOML file; options on the command line take precedence. At SIGHUP LUNs and
    /// permissions are read again.
    #[arg(long, value_name = "FILE", value_parser = crate::commands::shared::file)]
    config: Option<PathBuf>,
    /// Hold commands to a LUN whose NBD server is lost for up to N seconds (20): after that they end with NOT READY until
    /// it is back. Less than the initiators' own time-out: Linux's is 30. Then they are repeated; a server that may still do
    /// writes of the lost connection, over newer ones, needs a settle time: nbd://host/export?settle=5. NBD names
    /// no disk: a server that is back with another one of the same size is used.
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

pub(super) fn show(arguments: &control::Show) -> Result<ExitCode, Trouble> {
    control::show(&asked::KIND, arguments)
}

/// Seconds for which commands are held unless told otherwise.
const HOLD: u64 = 20;

const EXAMPLE: &str = "fcoe target -i xdp:eth1 --lun 0=ram:64M";

pub(super) fn run(mut arguments: Arguments) -> Result<ExitCode, Trouble> {
    // What the command line says, the file does not change.
    let fixed = (!arguments.lun.is_empty(), !arguments.allow.is_empty());
    if let Some(path) = arguments.config.take() {
        let file = config::read(&path)?;
        if arguments.node.i.is_empty() {
            arguments.node.i = file.ports;
        }
        arguments.hold = arguments.hold.or(file.hold);
        if arguments.lun.is_empty() {
            arguments.lun = file.luns;
        }
        if arguments.allow.is_empty() {
            arguments.allow = file.allow;
        }
        arguments.auth = arguments.auth.or(file.auth);
        arguments.config = Some(path);
    }
    if arguments.lun.is_empty() {
        return Err(Trouble::usage(format!("--lun is missing: a target needs a LUN; give one, as {EXAMPLE}")));
    }
    if arguments.node.i.len() > 1 && !arguments.ip.addr.is_empty() {
        return Err(Trouble::usage("--addr: a target with several ports carries no IP: leave it out, or give one -i"));
    }
    let settings = arguments.dcb.settings()?;
    let mut secrets = arguments.auth.as_deref().map(secrets::read).transpose()?;
    if let Some(secrets) = &mut secrets {
        (secrets.all, secrets.open) = (true, luns::open_names(&arguments.allow));
    }
    let ports = arguments.node.ports(EXAMPLE)?;
    let wwpns: Vec<_> = ports.iter().map(|port| port.config().wwpn).collect();
    let hold = Duration::from_secs(arguments.hold.unwrap_or(HOLD));
    // A lost NBD server is connected to again, and its socket may be another user's.
    let kept: &[_] = if arguments.lun.iter().any(LunSpec::has_socket) { &[Capability::DacOverride] } else { &[] };
    let names = (wwpns[0], ports[0].config().wwnn);
    let Begun { luns, disks, waits, keeps } =
        luns::open(arguments.lun, (arguments.allow, secrets.is_some()), names, (hold, arguments.check))?;
    let lines = luns.lines();
    let devices: String = lines.get().into_iter().map(|(_, line)| format!("{line}\n")).collect();
    if arguments.check {
        print(&devices);
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stopper(arguments.seconds)?;
    let mut nodes = Nodes::new();
    let mut waits = Some(waits);
    for (port, device) in ports.into_iter().zip(DiskPort::over(disks, &wwpns)) {
        let config = NodeConfig { target: Some(TargetConfig::default()), ..port.config() };
        let events = Events::new(arguments.json, waits.take().unwrap_or_default());
        let node = with_ip(port.with_auth(secrets.clone()).with_dcb(settings.clone()), &arguments.ip);
        let mut node = node.node(&config, device, events)?;
        route(&mut node, &arguments.ip)?;
        nodes.push(node);
    }
    let calls = callee().map_err(|e| Trouble::failed(format!("{e}; free some descriptors")))?;
    let hides = luns.hides();
    let running = Running::new(luns, calls.caller(), arguments.config, fixed);
    let running = Arc::new(Mutex::new(running));
    let (mut caller, shown, changed) = (calls.caller(), lines.clone(), running.clone());
    let control = control::serve(&asked::KIND, &port_name(&arguments.node.i[0]), move || {
        let (mut document, losses) = caller.call(|nodes: &mut Nodes| (document::known(nodes), losses(nodes)))?;
        document["luns"] = document::luns(&shown, &losses);
        Ok(document)
    });
    let names = arguments.node.i.iter().enumerate().filter(|_| settings.is_some());
    let negotiating = names.map(|(number, port)| {
        dcb::shown(&port_name(port), calls.caller(), move |nodes: &Nodes| negotiated(nodes.get(number)?))
    });
    let negotiating: Vec<_> = negotiating.collect();
    let changes = control::obey(asked::LUNS, control.as_ref(), move |words| lock(&changed).answer(words));
    if lock(&running).follows_file() {
        let (running, silent) = (running.clone(), arguments.json);
        at_hangup(move || lock(&running).hang_up(silent))
            .map_err(|e| Trouble::failed(format!("signals: {e}; free some descriptors")))?;
    }
    confine(kept);
    if !arguments.json {
        nodes.iter().for_each(introduce);
        print(&devices);
        if !keeps {
            print(
                "note: there is no state directory that can be written: reservations and identifying information end with \
                 this process, and APTPL is refused\n",
            );
        }
        if hides && secrets.is_none() {
            print(
                "note: --allow hides LUNs and authenticates nobody: any initiator on this network can take a port name\n",
            );
        }
    }
    let mut shown = Shown::new(nodes, calls, arguments.status, arguments.json);
    let names: Vec<_> = (0..wwpns.len()).map(|number| shown.node(number).line().info().name.clone()).collect();
    let mut watched = Watched::new(&mut shown, &names, |shown, number| shown.node(number).line().link());
    run_machine(&mut watched, &mut Waiter::new(arguments.node.wait), &stop);
    let mut nodes = shown.end();
    // The devices are still open.
    let losses = losses(&mut nodes);
    losses.iter().for_each(|(lun, loss)| remark(&format!("linerate: LUN {lun}: {loss}")));
    // Nobody is answered any more: what follows is the end.
    drop((control, changes, negotiating));
    nodes.iter().try_for_each(Node::check)?;
    if arguments.json {
        let mut document = document::document(&nodes);
        document["luns"] = document::luns(&lines, &losses);
        print(&format!("{document}\n"));
    } else {
        for node in &nodes {
            if nodes.len() > 1 {
                print(&format!("{}:\n", node.line().info().name));
            }
            print(&document::of_port(node).iter().map(|(name, n)| format!("{name:32} {n}\n")).collect::<String>());
        }
    }
    Ok(ended(&stop))
}

/// Losses when the devices are closed, by LUN.
fn losses(nodes: &mut Nodes) -> Vec<(u16, String)> {
    nodes.first_mut().map_or_else(Vec::new, |first| events::losses(&first.watcher().0.waits))
}

/// The LUNs, for one request after the other.
fn lock(running: &Mutex<Running>) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The target at a port.
type Node = linerate_rt::fc::FcNode<DiskPort, Events>;
/// The target at each of its ports.
type Nodes = Vec<Node>;
