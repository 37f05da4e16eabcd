//! `linerate dcb`.

pub(super) mod asked;
mod document;
#[cfg(target_os = "linux")]
mod host;
mod words;

pub(super) use document::{neighbour, priorities};
pub(super) use words::{Negotiate, applications, classes, lossless, priorities_of};

use super::link::Watched;
use super::shared::{confine, ended, port_name, stop_after, stop_at_signals, wait};
use super::{Command, control, parsed};
use crate::print::print_told;
use crate::trouble::{Trouble, print};
use clap::{Args, CommandFactory, Parser, Subcommand};
use linerate_load::resolve;
use linerate_port::{Info, Link};
use linerate_rt::control::{Callee, Caller, Server, callee};
use linerate_rt::dcb::{DcbClient, DcbError, DcbNode};
use linerate_rt::{Machine, Progress, Sleeper, WaitMode, Waiter, monotonic_ns, run as run_machine};
use serde_json::Value;
use std::process::ExitCode;
use words::Words;

pub(super) const COMMAND: Command = Command::by_clap("dcb", Arguments::command, |matches, _| run(parsed(matches)?));

/// Data Center Bridging on a port: LLDP, and DCBX of IEEE 802.1Q and CEE.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Announce a port's settings to its neighbour and negotiate with it until Ctrl-C; each change is printed in a line. What
    /// becomes operative is shown; an adapter obeys its classes if it negotiates itself (--dcb of linerate nic up, stack up, fcoe
    /// target and fcoe initiator).
    Up(Up),
    /// Show a port that runs: what is operative, neighbours, counters; or an interface whose driver offers DCB to the kernel
    /// (dcbnl). Without a name, all of both.
    Show(Asked),
    /// Set what an interface's driver offers, in the words of iproute2's `dcb`; each is read back, and printed before and after.
    #[cfg(target_os = "linux")]
    Set(host::Set),
}

#[derive(Args)]
struct Up {
    /// The port (KIND:NAME; a bare name is xdp:NAME), such as packet:eth1.
    #[arg(short, value_name = "PORT")]
    i: String,
    #[command(flatten)]
    words: Words,
    /// Wait mode of the thread.
    #[arg(long, value_name = "HOW", default_value = "sleep", value_parser = wait())]
    wait: WaitMode,
    /// End after so many seconds; otherwise at Ctrl-C.
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Print nothing but the final state, as one JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Asked {
    /// The port of the one to show, where an interface has the same name.
    #[arg(short, value_name = "PORT", conflicts_with = "name")]
    i: Option<String>,
    /// Print pause frames sent and received by an interface too, as `dcb -s pfc show` has them.
    #[cfg(target_os = "linux")]
    #[arg(short, long, conflicts_with = "i")]
    statistics: bool,
    #[command(flatten)]
    show: control::Show,
}

impl From<DcbError> for Trouble {
    fn from(error: DcbError) -> Self {
        match error {
            DcbError::Open(error) => error.into(),
            other => Self::usage(other.to_string()),
        }
    }
}

fn run(arguments: Arguments) -> Result<ExitCode, Trouble> {
    match arguments.what {
        What::Up(arguments) => up(&arguments),
        What::Show(arguments) => show(arguments),
        #[cfg(target_os = "linux")]
        What::Set(arguments) => host::set(&arguments),
    }
}

/// Shows an interface of the host that is named, or else a port that runs; without a name, all of both.
#[cfg(target_os = "linux")]
fn show(arguments: Asked) -> Result<ExitCode, Trouble> {
    let Asked { i, statistics, show } = arguments;
    let ports = |show: &control::Show| {
        if statistics {
            return Err(Trouble::usage("-s: a port of linerate counts no pause frames; give an interface"));
        }
        control::show(&asked::KIND, show)
    };
    if i.is_some() || show.watches() {
        return ports(&show.of(i));
    }
    if let Some(name) = show.name() {
        return match host::Host::named(name) {
            Ok(host) => {
                host.print(statistics, show.json());
                Ok(ExitCode::SUCCESS)
            }
            // A port of that name, if one runs; else the line about the interface, if there is one.
            Err(trouble) => ports(&show).map_err(|port| if host::is_there(name) { trouble } else { port }),
        };
    }
    let hosts = host::Host::all();
    let names = control::names(&asked::KIND)?;
    match (hosts.as_slice(), names.as_slice()) {
        ([], _) => ports(&show),
        ([host], []) => {
            host.print(statistics, show.json());
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            let documents: Result<Vec<Value>, Trouble> =
                names.iter().map(|name| control::state(&asked::KIND, name)).collect();
            let documents: Vec<Value> = documents?.into_iter().chain(hosts.iter().map(host::Host::document)).collect();
            let text = if show.json() { format!("{}\n", Value::Array(documents)) } else { asked::overview(&documents) };
            print_told(&text, show.json());
            Ok(ExitCode::SUCCESS)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn show(arguments: Asked) -> Result<ExitCode, Trouble> {
    control::show(&asked::KIND, &arguments.show.of(arguments.i))
}

/// Negotiation at a port, the port, and its link.
pub(super) type Port<'a> = (&'a DcbClient, &'a Info, Link);

/// Lets `dcb show` see what a machine of another command has negotiated on a port, if it does so: `find` has its place.
pub(super) fn shown<M: 'static>(
    port: &str,
    mut caller: Caller<M>,
    find: impl Fn(&M) -> Option<Port<'_>> + Copy + Send + 'static,
) -> Option<Server> {
    control::serve(&asked::KIND, port, move || {
        let state = caller.call(move |machine| find(machine).map(document::Snapshot::of));
        state.map(|state| state.map_or(Value::Null, |state| state.document()))
    })
}

/// Line with a port's address and what is operative.
pub(super) fn operative(client: &DcbClient) -> String {
    format!("{}: {}", client.mac(), client.dcb().operative())
}

fn up(arguments: &Up) -> Result<ExitCode, Trouble> {
    let settings = arguments.words.settings()?;
    let stop = stop_at_signals()?;
    let (name, remark) = resolve(&arguments.i);
    let node = DcbNode::open(&name, settings, monotonic_ns())?;
    let calls = callee().map_err(|e| Trouble::failed(format!("{e}; free some descriptors")))?;
    let mut caller = calls.caller();
    let control = control::serve(&asked::KIND, &port_name(&arguments.i), move || {
        caller.call(|node: &mut DcbNode| snapshot(node)).map(|state| state.document())
    });
    confine(&[]);
    if !arguments.json {
        let info = node.line().info();
        remark.iter().for_each(|line| print(&format!("{line}\n")));
        print(&format!("{}: {}\n", info.name, info.path));
        node.line().notes().iter().for_each(|note| print(&format!("note: {note}\n")));
        print(&format!("{}\n", operative(node.client())));
    }
    stop_after(&stop, arguments.seconds);
    let names = [node.line().info().name.clone()];
    let mut speaking = Speaking { node, calls, json: arguments.json };
    let mut watched = Watched::new(&mut speaking, &names, |speaking, _| speaking.node.line().link());
    run_machine(&mut watched, &mut Waiter::new(arguments.wait), &stop);
    drop(control);
    if arguments.json {
        print(&format!("{}\n", snapshot(&speaking.node).document()));
    }
    Ok(ended(&stop))
}

fn snapshot(node: &DcbNode) -> document::Snapshot {
    document::Snapshot::of((node.client(), node.line().info(), node.line().link()))
}

/// A port that tells what happens, and answers who asks.
struct Speaking {
    node: DcbNode,
    calls: Callee<DcbNode>,
    json: bool,
}

impl Machine for Speaking {
    fn handle(&mut self, now: u64) -> Progress {
        let progress = self.node.handle(now);
        while let Some(event) = self.node.poll_event() {
            if !self.json {
                print(&format!("{event}\n"));
            }
        }
        match progress {
            Progress::Idle if self.calls.serve(&mut self.node) => Progress::Worked,
            other => other,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.node.poll_timeout()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.node.waits_for(visit);
        visit(&mut self.calls.sleep());
    }

    fn stop(&mut self, now: u64) {
        self.node.stop(now);
    }
}
