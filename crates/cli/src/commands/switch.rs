//! `linerate switch`.

mod asked;
mod document;
pub(super) mod queues;
mod show;

use super::control;
use super::shared::{confine, ended, stop_at_signals, wait};
use super::{Command, parsed};
use crate::print;
use crate::trouble::Trouble;
use clap::{CommandFactory, Parser, Subcommand};
use document::Snapshot;
use linerate_load::ports::{self, Links, Loops, forwarded};
use linerate_load::resolve;
use linerate_load::switch::{SwitchJob, serve};
use linerate_port::open_specs;
use linerate_port::switch::{ADDRESSES, Direction, Listener, Policy, Span, Switch, TABLE_SIZES};
use linerate_rt::control::callee;
use linerate_rt::dcb::SwitchDcb;
use linerate_rt::{WaitMode, host_hash, local_mac, raise_descriptors};
use std::io::IsTerminal;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("switch", Arguments::command, |matches, _| run(parsed(matches)?));

/// Run a learning switch until Ctrl-C, that other programs of this user attach to as vale:SW:PORT.
///
/// Frames for a port that has no room are dropped and counted, unless pause was granted to that port (--ports) or they find
/// a place in a queue (--buffers): a sender that is faster than its receiver loses most of them. The last lines say for each port what became of all
/// frames.
#[derive(Parser)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// The switch's name, 1 to 48 letters, digits and ._-+
    #[arg(value_name = "SW", required = true)]
    name: Option<String>,
    /// Names of the ports that other programs may take, separated by commas, each with what is granted to it. Without
    /// --ports any name is accepted, with all VLANs and no pause.
    ///
    /// vlan=LIST says which VLANs the port is a member of (all, if it is left out), joined by +: 10 is the VLAN of
    /// untagged frames; frames of t20 and t30-39 are received and sent with tags.
    ///
    /// pause=MASK says, one bit for each 802.1Q priority, which frames wait at their sender for room at this port
    /// instead of being dropped (none, if it is left out). Untagged frames have priority 0, so 1 is enough for them;
    /// 0xff is all priorities. A port that takes no frame for a second holds up no sender until it takes one again.
    ///
    /// A program may ask for less than was granted to its port, for example vale:SW:NAME,pause=0; it is refused if it
    /// asks for more.
    #[arg(long, value_name = "NAME[:vlan=LIST][:pause=MASK]", value_delimiter = ',')]
    ports: Option<Vec<String>>,
    /// Attach a TAP interface, through which the kernel sends and receives (netmap's host rings).
    #[arg(long, value_name = "TAP[:vlan=LIST][:pause=MASK]")]
    host: Vec<String>,
    /// Attach a port (KIND:NAME; a bare name is xdp:NAME); the switch calls it NAME.
    #[arg(long, value_name = "PORT[:vlan=LIST][:pause=MASK]")]
    attach: Vec<String>,
    /// Copy all frames that port FROM sends and receives to port TO, which then carries nothing else; :in or :out
    /// limits this to frames into or out of the switch.
    #[arg(long, value_name = "FROM:TO[:in|:out]")]
    mirror: Vec<String>,
    /// Keep a MAC address at the port where it was first seen until that port has sent nothing from it for so many
    /// seconds, or is gone; 0: it moves with the first frame from another port (30 with --ports, else 0).
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(0..=300))]
    mac_hold: Option<u32>,
    /// Room of the table of addresses (fdb), rounded up to a power of two. When it is full, addresses that are not in use
    /// make room, and frames to an address that it has not go to all ports.
    #[arg(long, value_name = "ADDRESSES", default_value_t = ADDRESSES, value_parser = clap::value_parser!(u32).range(fdb()))]
    fdb_size: u32,
    /// Forward 01:80:c2:00:00:00 to 0f too: spanning tree, PAUSE, LACP, 802.1X and LLDP, which bridges drop.
    #[arg(long, conflicts_with = "dcb")]
    forward_reserved: bool,
    /// Send all groups of IP to all ports. Without this option the switch listens to IGMP and MLD, and where a querier is
    /// about (a multicast router, or --querier), it sends a group to those ports alone that have listeners or routers.
    #[arg(long, conflicts_with = "querier")]
    no_snooping: bool,
    /// Ask which groups hosts listen to while no other querier does, from this IPv4 address or from none (0.0.0.0).
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "0.0.0.0")]
    querier: Option<Ipv4Addr>,
    /// Send no probes: an attached port that is joined to another one outside the switch is not found, and not blocked.
    #[arg(long)]
    no_loop_check: bool,
    #[command(flatten)]
    queues: queues::Queues,
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

#[derive(Subcommand)]
enum What {
    /// Show a switch that runs: ports, counters, drops by reason, addresses with their age, groups, queriers, routers.
    Show(control::Show),
}

/// Default time that an address is held when ports are named (--ports), seconds.
const HOLD: u32 = 30;

const EXAMPLES: &str = "\
Examples:
  Any program of this user may be a port, as vale:lab:NAME:
    linerate switch lab
  Two ports; senders to b wait until b has room:
    linerate switch lab --ports a,b:pause=0xff
  Two VLANs, and a port that is in both, with tags:
    linerate switch lab --ports a:vlan=10,b:vlan=20,c:vlan=t10+t20
  eth0, the kernel, and any program:
    linerate switch lab --attach xdp:eth0 --host tap0
  Bursts wait in 16 MB; storage (priority 3) loses nothing and has half of each port:
    linerate switch lab --buffers 16M --ets prio-tc 3:1 tc-tsa 0:ets 1:ets tc-bw 0:50 1:50 --pfc prio 3
  The same, and neighbours are offered it by DCBX, with FCoE's priority:
    linerate switch lab --buffers 16M --ets prio-tc 3:1 tc-tsa 0:ets 1:ets tc-bw 0:50 1:50 --pfc prio 3 \
      --dcb --app ethtype 0x8906:3 0x8914:3
  Copy what a sends to port watch:
    linerate switch lab --ports a,b,watch --mirror a:watch:in
  What it does and knows, from another shell:
    linerate switch show lab";

fn run(arguments: Arguments) -> Result<ExitCode, Trouble> {
    match (&arguments.what, arguments.name.clone()) {
        (Some(What::Show(show)), _) => control::show(&asked::KIND, show),
        (None, Some(name)) => forward(&name, arguments),
        (None, None) => Err(Trouble::usage("SW is missing; give the switch's name")),
    }
}

fn forward(name: &str, arguments: Arguments) -> Result<ExitCode, Trouble> {
    let mirrors = arguments.mirror.iter().map(|text| mirror(text)).collect::<Result<Vec<_>, _>>()?;
    let guests = arguments.ports.as_deref().map(|ports| granted("ports", ports)).transpose()?;
    let hosts = granted("host", &arguments.host)?;
    let hosts =
        hosts.into_iter().map(|(tap, policy)| (if tap.contains(':') { tap } else { format!("tap:{tap}") }, policy));
    let attached = granted("attach", &arguments.attach)?.into_iter().map(|(port, policy)| (resolve(&port).0, policy));
    let (names, policies): (Vec<String>, Vec<Policy>) = hosts.chain(attached).unzip();
    let specs = forwarded(&names)?;
    let buffers = arguments.queues.buffers(Span::default())?;
    let offered = arguments.queues.offered()?;
    let hold = arguments.mac_hold.unwrap_or(if guests.is_some() { HOLD } else { 0 });
    let stop = stop_at_signals()?;
    let output = print::output(arguments.json, &stop);
    // If that fails, the limit is what it was, and guests beyond it are told.
    let _ = raise_descriptors();
    let listener = Listener::open(name, guests)?;
    let mut switch = Switch::with_addresses(arguments.fdb_size);
    switch.hold_addresses(hold);
    switch.forward_reserved(arguments.forward_reserved);
    buffers.iter().for_each(|buffers| switch.buffers(buffers));
    arguments.queues.headroom().iter().for_each(|line| output.remark("main", 80, line));
    if !arguments.no_loop_check {
        switch.find_loops();
    }
    if !arguments.no_snooping {
        switch.snoop(arguments.querier);
    }
    if !specs.is_empty() {
        for ((port, spec), policy) in open_specs(&specs)?.into_iter().zip(&specs).zip(policies) {
            ports::lines(&port).iter().for_each(|line| output.remark("main", 90, line));
            switch.attach(&spec.name, port, policy)?;
            listener.reserve(&spec.name);
        }
    }
    let mac = local_mac(host_hash(format!("switch {name}").as_bytes()));
    let dcb = offered.map(|offered| SwitchDcb::new(&mut switch, mac, offered)).transpose();
    let dcb = dcb.map_err(|e| Trouble::usage(e.to_string()))?;
    let calls = callee().map_err(|e| Trouble::failed(format!("{e}; free some descriptors")))?;
    let (mut caller, named) = (calls.caller(), name.to_owned());
    let control = control::serve(&asked::KIND, name, move || {
        Ok(caller.call(|job: &mut SwitchJob| Snapshot::of(job))?.document(&named))
    });
    confine(&[]);
    mirrors.iter().for_each(|(of, to, direction)| switch.mirror(of, to, *direction));
    output.remark("main", 100, &format!("switch {name} runs; attach to it as vale:{name}:PORT"));
    let mut job = SwitchJob { switch, listener, dcb };
    let live = std::io::stdout().is_terminal() && !arguments.json;
    let mut before = show::Before::default();
    let (mut links, mut loops, mut storms) = (Links::default(), Loops::default(), queues::Storms::default());
    serve(&mut job, &calls, arguments.seconds, arguments.wait, &stop, &mut |job| {
        let changes = job.switch.links().filter_map(|(name, link)| links.change(name, link));
        changes.for_each(|line| output.remark("main", 110, &line));
        let changes = loops.change(job.switch.blocked().map(|row| (row.port, row.joined_to)));
        changes.iter().for_each(|line| output.remark("main", 120, line));
        while let Some((port, event)) = job.dcb.as_mut().and_then(SwitchDcb::poll_event) {
            output.remark("dcb", 140, &format!("{port}: {event}"));
        }
        storms.change(job.switch.storms()).iter().for_each(|line| output.remark("main", 130, line));
        if live {
            output.line(&show::table(&job.switch, Some(&mut before)));
        }
    });
    // Nobody is answered any more: what follows is the end.
    drop((control, calls));
    output.line(&show::table(&job.switch, None));
    let ledger = show::ledger(&job.switch);
    output.line(&show::ledger_line(&ledger, &job));
    if arguments.json {
        output.document(&Snapshot::of(&job).document(name).to_string());
    }
    if ledger.unexplained > 0 {
        return Err(Trouble::failed(format!(
            "{} frames are unexplained; report this with the table",
            ledger.unexplained
        )));
    }
    Ok(ended(&stop))
}

fn fdb() -> RangeInclusive<i64> {
    i64::from(*TABLE_SIZES.start())..=i64::from(*TABLE_SIZES.end())
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

/// Port names, each with the policy granted to it.
fn granted(flag: &str, texts: &[String]) -> Result<Vec<(String, Policy)>, Trouble> {
    let one = |text: &String| match Policy::behind(text) {
        Ok((name, policy)) => Ok((name.to_owned(), policy)),
        Err(line) => Err(Trouble::usage(format!("--{flag} {text}: {line}"))),
    };
    texts.iter().map(one).collect()
}
