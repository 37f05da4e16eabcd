//! `linerate bridge`.

use super::shared::{confine, ended, stop_at_signals, wait};
use super::{Command, parsed};
use crate::print;
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser};
use linerate_load::bridge::{BridgeConfig, bridge};
use linerate_load::ports::{are_one_link, forwarded};
use linerate_load::resolve;
use linerate_port::{Link, open_specs};
use linerate_rt::{WaitMode, monotonic_ns, pause};
use std::process::ExitCode;
use std::time::Duration;

pub(super) const COMMAND: Command = Command::by_clap("bridge", Arguments::command, |matches, _| run(&parsed(matches)?));

/// Forward all frames between two ports, in both directions, until Ctrl-C, or to the end of the captures that are read.
#[derive(Parser)]
struct Arguments {
    /// One of the two ports (KIND:NAME; a bare name is xdp:NAME): give it twice.
    #[arg(short, value_name = "PORT", required = true)]
    i: Vec<String>,
    /// Slots moved at a time, 1 to 65536.
    #[arg(short, value_name = "BURST", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=65536))]
    b: u32,
    /// Seconds to wait for links before starting; it starts as soon as both are up.
    #[arg(short, value_name = "SECONDS", default_value_t = 4, value_parser = clap::value_parser!(u64).range(0..=86400))]
    w: u64,
    /// Milliseconds between reports, one line for each direction; 0 is no reports.
    #[arg(short = 'T', value_name = "MS", default_value_t = 0)]
    report: u64,
    /// Wait mode of the thread.
    #[arg(long, value_name = "HOW", default_value = "adaptive", value_parser = wait())]
    wait: WaitMode,
}

fn run(arguments: &Arguments) -> Result<ExitCode, Trouble> {
    let [a, b] = &arguments.i[..] else {
        let n = arguments.i.len();
        return Err(Trouble::usage(format!("-i: {n} ports, a bridge has two; give -i A -i B")));
    };
    let named = [resolve(a), resolve(b)];
    if are_one_link([&named[0].0, &named[1].0]) {
        return Err(Trouble::usage(format!(
            "-i {a} -i {b}: these are the two ends of one link, and each frame would go round for ever; bridge other ports"
        )));
    }
    let stop = stop_at_signals()?;
    let output = print::output(false, &stop);
    let ports = open_specs(&forwarded(&[&named[0].0, &named[1].0])?)?;
    let mut ports: [_; 2] = ports.try_into().map_err(|_| Trouble::failed("a port is missing; open it again"))?;
    confine(&[]);
    named.iter().filter_map(|(_, said)| said.as_ref()).for_each(|said| output.remark("main", 100, said));
    let until = monotonic_ns() + arguments.w * 1_000_000_000;
    while !stop.asked() && monotonic_ns() < until && ports.iter().any(|port| port.link() == Link::Down) {
        pause(&[&stop], Some(monotonic_ns() + 10_000_000));
    }
    let config = BridgeConfig {
        burst: arguments.b,
        wait: arguments.wait,
        report: (arguments.report > 0).then(|| Duration::from_millis(arguments.report)),
    };
    let [there, back] = bridge(&mut ports, config, &stop, &output).map_err(Trouble::usage)?;
    let [a, b] = ports.each_ref().map(|port| port.info().name.clone());
    for (from, to, way) in [(&a, &b, there), (&b, &a, back)] {
        let Some(way) = way else { continue };
        let how = if way.by_swap { "exchanging buffers" } else { "copy" };
        output.line(&format!("Forwarded {from} -> {to}: {} packets {} bytes by {how}.", way.frames, way.bytes));
        way.reasons().iter().for_each(|(what, list)| output.line(&format!("  {what}: {list}.")));
    }
    match ports.iter().find_map(|port| Some(format!("{}: {}", port.info().name, port.trouble()?))) {
        Some(trouble) => Err(Trouble::failed(trouble)),
        None => Ok(ended(&stop)),
    }
}
