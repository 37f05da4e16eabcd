//! `linerate dcb`.

mod asked;
mod document;
mod words;

use super::link::Watched;
use super::shared::{confine, ended, one_of, port_name, stop_after, stop_at_signals, wait};
use super::{Command, control, parsed};
use crate::trouble::{Trouble, print};
use clap::{Args, CommandFactory, Parser, Subcommand};
use linerate_dcb::{Dcbx, Settings};
use linerate_load::resolve;
use linerate_rt::control::{Callee, callee};
use linerate_rt::dcb::{DcbError, DcbNode};
use linerate_rt::{Machine, Progress, Sleeper, WaitMode, Waiter, monotonic_ns, run as run_machine};
use std::process::ExitCode;

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
    /// becomes operative is shown, and not yet obeyed by the port's queues.
    Up(Up),
    /// Show a port that runs: what is operative, neighbours, counters.
    Show(Asked),
}

#[derive(Args)]
struct Up {
    /// The port (KIND:NAME; a bare name is xdp:NAME), such as packet:eth1.
    #[arg(short, value_name = "PORT")]
    i: String,
    /// Traffic classes, as iproute2's `dcb ets` has them: prio-tc 0:0 3:1, tc-tsa 0:ets 1:ets (or strict), tc-bw 0:50 1:50; `all`
    /// stands for each number. Without these all priorities are of class 0, and each class is strict. They are recommended
    /// to the neighbour too.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    ets: Vec<String>,
    /// Lossless priorities: prio 3, or as iproute2's `dcb pfc` has them, prio-pfc 3:on.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    pfc: Vec<String>,
    /// Priorities of applications, as iproute2's `dcb app` has them: ethtype 0x8906:3, stream-port 3260:4, dgram-port, port,
    /// dscp, default 0.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    app: Vec<String>,
    /// Precedence of the neighbour's settings over these.
    #[arg(long, value_name = "yes|no", action = clap::ArgAction::Set, default_value = "no", value_parser = one_of([("yes", true), ("no", false)]))]
    willing: bool,
    /// Version of DCBX: auto is ieee, and cee as long as the neighbour speaks that alone.
    #[arg(long, value_name = "VERSION", default_value = "auto", value_parser = one_of([("auto", Dcbx::Auto), ("ieee", Dcbx::Ieee), ("cee", Dcbx::Cee)]))]
    dcbx: Dcbx,
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
    /// The port of the one to show; needless if only one runs.
    #[arg(short, value_name = "PORT", conflicts_with = "name")]
    i: Option<String>,
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
        What::Show(arguments) => control::show(&asked::KIND, &arguments.show.of(arguments.i)),
    }
}

fn up(arguments: &Up) -> Result<ExitCode, Trouble> {
    let classes = words::classes(&arguments.ets)?;
    let settings = Settings {
        classes: classes.unwrap_or_default(),
        recommendation: classes,
        pfc: words::lossless(&arguments.pfc)?,
        applications: words::applications(&arguments.app)?,
        willing: arguments.willing,
        dcbx: arguments.dcbx,
    };
    let stop = stop_at_signals()?;
    let (name, remark) = resolve(&arguments.i);
    let node = DcbNode::open(&name, settings, monotonic_ns())?;
    let calls = callee().map_err(|e| Trouble::failed(format!("{e}; free some descriptors")))?;
    let mut caller = calls.caller();
    let control = control::serve(&asked::KIND, &port_name(&arguments.i), move || {
        caller.call(|node: &mut DcbNode| document::Snapshot::of(node)).map(|state| state.document())
    });
    confine(&[]);
    if !arguments.json {
        let info = node.line().info();
        remark.iter().for_each(|line| print(&format!("{line}\n")));
        print(&format!("{}: {}\n", info.name, info.path));
        node.line().notes().iter().for_each(|note| print(&format!("note: {note}\n")));
        print(&format!("{}: {}\n", node.mac(), node.dcb().operative()));
    }
    stop_after(&stop, arguments.seconds);
    let names = [node.line().info().name.clone()];
    let mut speaking = Speaking { node, calls, json: arguments.json };
    let mut watched = Watched::new(&mut speaking, &names, |speaking, _| speaking.node.line().link());
    run_machine(&mut watched, &mut Waiter::new(arguments.wait), &stop);
    drop(control);
    if arguments.json {
        print(&format!("{}\n", document::Snapshot::of(&speaking.node).document()));
    }
    Ok(ended(&stop))
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
        while let Some(event) = self.node.dcb_mut().poll_event() {
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
