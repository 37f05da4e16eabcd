//! `linerate switch`.

mod show;

use super::shared::{ended, stop_at_signals, wait};
use super::{Command, parse};
use crate::trouble::Trouble;
use clap::Parser;
use linerate_load::pktgen::{Output, resolve};
use linerate_load::switch::{SwitchJob, serve};
use linerate_port::switch::{Direction, Door, Policy, Switch, Vlans};
use linerate_port::{Spec, open_all};
use linerate_rt::WaitMode;
use std::io::IsTerminal;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command {
    name: "switch",
    about: "a learning switch that other processes attach to as vale:SW:PORT",
    alone: false,
    run,
};

/// Run a learning switch until Ctrl-C; other programs of this user attach to it as vale:SW:PORT.
#[derive(Parser)]
struct Arguments {
    /// The switch's name.
    #[arg(value_name = "SW")]
    name: String,
    /// Names of ports that other programs may take, by comma; any when it is left out.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    ports: Option<Vec<String>>,
    /// Attach a TAP interface, by which the kernel sends and receives (netmap's host rings).
    #[arg(long, value_name = "TAP")]
    host: Vec<String>,
    /// Attach a port (KIND:NAME; a bare name is xdp:NAME); at the switch it is called NAME.
    #[arg(long, visible_alias = "port", value_name = "PORT")]
    attach: Vec<String>,
    /// VLANs of an attached port: 10 is the untagged one, t20 and t30-39 have tags, joined by +.
    #[arg(long, value_name = "NAME=LIST")]
    vlan: Vec<String>,
    /// Classes, a bit each, whose senders wait for room at an attached port.
    #[arg(long, value_name = "NAME=MASK")]
    pause: Vec<String>,
    /// Copy what port FROM sends and gets to port TO, which then does nothing else; or only one of them, with :in or :out
    /// behind (seen from the switch).
    #[arg(long, value_name = "FROM:TO")]
    mirror: Vec<String>,
    /// Stop after so many seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    seconds: Option<u64>,
    /// How the thread waits: busy, adaptive or sleep.
    #[arg(long, value_name = "HOW", default_value = "adaptive", value_parser = wait)]
    wait: WaitMode,
    /// Print the final counters as a JSON document.
    #[arg(long)]
    json: bool,
}

fn run(arguments: &[String]) -> Result<ExitCode, Trouble> {
    let Some(arguments) = parse::<Arguments>(COMMAND.name, arguments)? else { return Ok(ExitCode::SUCCESS) };
    let mirrors = arguments.mirror.iter().map(|text| mirror(text)).collect::<Result<Vec<_>, _>>()?;
    let hosts = arguments.host.iter().map(|tap| if tap.contains(':') { tap.clone() } else { format!("tap:{tap}") });
    let names: Vec<String> = hosts.chain(arguments.attach.iter().map(|port| resolve(port).0)).collect();
    let specs = names.iter().map(|name| Spec::parse(name)).collect::<Result<Vec<_>, _>>()?;
    let policies = policies(&arguments, &specs)?;
    let stop = stop_at_signals()?;
    let output = Output::standard(arguments.json, &stop);
    let door = Door::open(&arguments.name, arguments.ports.clone())?;
    let mut switch = Switch::new();
    if !names.is_empty() {
        for ((port, spec), policy) in open_all(&names)?.into_iter().zip(&specs).zip(policies) {
            switch.attach(&spec.name, port, policy)?;
            door.reserve(&spec.name);
        }
    }
    mirrors.iter().for_each(|(of, to, direction)| switch.mirror(of, to, *direction));
    let name = &arguments.name;
    output.remark("main", 100, &format!("switch {name} runs; attach to it as vale:{name}:PORT"));
    let mut job = SwitchJob { switch, door };
    let live = std::io::stdout().is_terminal() && !arguments.json;
    let mut before = show::Before::default();
    serve(&mut job, arguments.seconds, arguments.wait, &stop, &mut |job| {
        if live {
            output.line(&show::table(&job.switch, Some(&mut before)));
        }
    });
    output.line(&show::table(&job.switch, None));
    let ledger = show::ledger(&job.switch);
    output.line(&show::ledger_line(&ledger, &job));
    if arguments.json {
        output.document(&show::document(name, &job).to_string());
    }
    if ledger.unexplained > 0 {
        return Err(Trouble::failed(format!(
            "{} frames are unexplained; report this with the table",
            ledger.unexplained
        )));
    }
    Ok(ended(&stop))
}

fn mirror(text: &str) -> Result<(String, String, Direction), Trouble> {
    let parts: Vec<&str> = text.split(':').collect();
    let (of, to, direction) = match parts[..] {
        [of, to] => (of, to, Direction::Both),
        [of, to, "in"] => (of, to, Direction::In),
        [of, to, "out"] => (of, to, Direction::Out),
        _ => return Err(Trouble::usage(format!("--mirror {text}: give FROM:TO, with :in or :out behind for one way"))),
    };
    if of.is_empty() || to.is_empty() || of == to {
        return Err(Trouble::usage(format!("--mirror {text}: FROM and TO are two ports; give both names")));
    }
    Ok((of.to_owned(), to.to_owned(), direction))
}

/// What each attached port is told to do.
fn policies(arguments: &Arguments, specs: &[Spec]) -> Result<Vec<Policy>, Trouble> {
    let mut policies: Vec<Policy> = specs.iter().map(|_| Policy::default()).collect();
    let mut each = |flag: &str, list: &[String], set: &dyn Fn(&mut Policy, &str) -> Option<()>| {
        for text in list {
            let usage = |mend: &str| Trouble::usage(format!("--{flag} {text}: {mend}"));
            let (name, value) = text.split_once('=').ok_or_else(|| usage("no =; give NAME=VALUE"))?;
            let at = specs.iter().position(|spec| spec.name == name);
            let at = at.ok_or_else(|| usage("no port of that name is attached; give one of --host or --attach"))?;
            set(&mut policies[at], value).ok_or_else(|| usage("that value will not do; give --help a look"))?;
        }
        Ok::<(), Trouble>(())
    };
    each("vlan", &arguments.vlan, &|policy, value| Vlans::parse(value).map(|vlans| policy.vlans = vlans))?;
    each("pause", &arguments.pause, &|policy, value| Policy::parse_pause(value).map(|mask| policy.pause = mask))?;
    Ok(policies)
}
