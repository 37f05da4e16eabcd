//! `linerate nic up`.

use super::super::dcb;
use super::super::shared::{confine, ended, port_name, rate, stop_at_signals, wait};
use super::{asked, guests};
use crate::print;
use crate::trouble::Trouble;
use clap::Args;
use linerate_dcb::{Congestion, Settings};
use linerate_load::ports::{Links, forwarded, lines};
use linerate_load::resolve;
use linerate_load::vis::{AdapterJob, serve};
use linerate_nic::{ClassTable, GuestLedger, MAX_INTERFACES, Saved, adapter_for_guests};
use linerate_port::switch::Listener;
use linerate_rt::control::{Server, callee};
use linerate_rt::dcb::SharedDcb;
use linerate_rt::{WaitMode, monotonic_ns, raise_descriptors};
use std::io::IsTerminal;
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct Up {
    /// The port (KIND:NAME; a bare name is xdp:NAME).
    #[arg(short, value_name = "PORT")]
    i: String,
    /// Virtual interfaces 0 to N-1, besides those that are saved (`linerate nic vi add`).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_INTERFACES as u64))]
    vis: Option<u64>,
    /// Weights of the traffic classes, the first for class 0: 1 to 8 numbers of 1 to 1000, with commas between; strict is
    /// before all of lower numbers, rest has what they leave. An interface's tx.priority chooses its class; shares are
    /// within a class.
    #[arg(long, value_name = "WEIGHTS", conflicts_with = "dcb")]
    class_weights: Option<ClassTable>,
    #[command(flatten)]
    dcb: dcb::Negotiate,
    /// Obey congestion points (QCN, IEEE 802.1Q clause 30): an interface whose frames they sample sends slower than this rate of the
    /// link in bit/s, as 10G, and faster again after a while.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    qcn: Option<u64>,
    /// Stop after so many seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    seconds: Option<u64>,
    /// Wait mode of the thread.
    #[arg(long, value_name = "HOW", default_value = "adaptive", value_parser = wait())]
    wait: WaitMode,
    /// Print the final counters as a JSON document.
    #[arg(long)]
    json: bool,
}

/// Negotiation at the adapter's port, if there is one.
fn negotiated(job: &AdapterJob) -> Option<dcb::Port<'_>> {
    Some((job.dcb.as_ref()?.client(), job.guests.control().port(), job.guests.link()))
}

pub(super) fn run(arguments: &Up) -> Result<ExitCode, Trouble> {
    let congestion = arguments.qcn.map_or(Congestion::Off, |_| Congestion::Reacts);
    let settings = arguments.dcb.settings()?.map(|settings| Settings { congestion, ..settings });
    let (name, remark) = resolve(&arguments.i);
    let [spec] = &forwarded(&[name])?[..] else { return Err(Trouble::usage("-i: no port; give one")) };
    let key = spec.key();
    let stop = stop_at_signals()?;
    let output = print::output(arguments.json, &stop);
    // If that fails, the limit is what it was, and programs beyond it are told.
    let _ = raise_descriptors();
    // The listener first: who runs an adapter here already is told before the port is opened a second time.
    let listener = Listener::of_adapter(spec)?;
    let port = spec.open()?;
    remark.iter().for_each(|line| output.remark("main", 90, line));
    lines(&port).iter().for_each(|line| output.remark("main", 90, line));
    let mut nic = adapter_for_guests(port)?;
    let control = nic.control();
    arguments.class_weights.iter().for_each(|classes| control.set_classes(*classes));
    control.react(arguments.qcn);
    let mut guests = asked::guests(&mut nic)?;
    let agent = settings.map(|settings| SharedDcb::new(&mut guests, settings, monotonic_ns())).transpose()?;
    asked::apply_saved(&mut guests, &Saved::load()?, &key)?;
    let several = usize::try_from(arguments.vis.unwrap_or(0)).unwrap_or(0);
    for vi in 0..several {
        if !guests.exists(vi) {
            guests.add(vi, &[])?;
        }
    }
    let callee = callee().map_err(|e| Trouble::failed(format!("{key}: {e}; free some descriptors")))?;
    let mut caller = callee.caller();
    let listens = Server::listen("nic", &key, move |words| asked::answer(&control, &mut caller, words));
    if let Err(e) = &listens {
        output.remark("main", 90, &format!("linerate nic vi and filter cannot reach this adapter: {e}"));
    }
    let shown = agent.as_ref().and_then(|_| dcb::shown(&port_name(&arguments.i), callee.caller(), negotiated));
    confine(&[]);
    let mut job = AdapterJob { guests, listener, dcb: agent };
    job.change(|_| ());
    output.remark("main", 100, &format!("adapter runs on {key}; open its interfaces as {key}/viN"));
    job.dcb.iter().for_each(|agent| output.remark("dcb", 100, &dcb::operative(agent.client())));
    let live = std::io::stdout().is_terminal() && !arguments.json;
    let mut links = Links::default();
    serve(&mut job, Some(&callee), arguments.seconds, arguments.wait, &stop, &mut |job| {
        if let Some(line) = links.change(&key, job.guests.link()) {
            output.remark("main", 110, &line);
        }
        while let Some(event) = job.dcb.as_mut().and_then(SharedDcb::poll_event) {
            output.remark("dcb", 110, &event.to_string());
        }
        if live {
            output.line(&guests::table(&job.guests.reports()));
        }
    });
    drop(shown);
    let (reports, uplink) = (job.guests.reports(), job.guests.uplink());
    let ledger = GuestLedger::of(&reports, &uplink);
    output.line(&guests::table(&reports));
    output.line(&guests::ledger_line(&ledger, &uplink, job.listener.counters()));
    if arguments.json {
        output.document(&guests::document(&key, &job.guests, &reports, &uplink, job.listener.counters()).to_string());
    }
    if ledger.unexplained > 0 {
        return Err(Trouble::failed(format!(
            "{} frames are unexplained; report this with the table",
            ledger.unexplained
        )));
    }
    Ok(ended(&stop))
}
