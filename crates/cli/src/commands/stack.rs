//! `linerate stack`.

mod asked;
mod document;

use super::ip::Address;
use super::link::Watched;
use super::shared::{confine, ended, port_name, stop_after, stop_at_signals, wait};
use super::{Command, control, dcb, ip, parsed};
use crate::print::remark;
use crate::trouble::{Trouble, print};
use clap::{Args, CommandFactory, Parser, Subcommand};
use document::{Common, Part};
use linerate_load::resolve;
use linerate_port::Link;
use linerate_rt::control::{CallError, Callee, Caller, callee};
use linerate_rt::net::{DEFAULT_SERVICES, NetError, Node, Offer, Options, Serving};
use linerate_rt::{Machine, Progress, Sleeper, Stop, WaitMode, Waiter, run as run_machine};
use linerate_stack::{Cidr, Event, Route};
use linerate_wire::{MacAddr, VlanTag};
use serde_json::Value;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("stack", Arguments::command, |matches, _| run(parsed(matches)?));

/// An IP host on a port: ping, echo, discard, over UDP and TCP.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Be an IP host on a port until Ctrl-C: answer ARP, neighbour discovery and ping, and serve echo (7) and discard (9)
    /// over UDP and TCP.
    Up(Box<Up>),
    /// Show a host that runs: addresses and their state, routes, neighbours, TCP connections, services, counters.
    Show(control::Show),
}

#[derive(Args)]
struct Up {
    /// The port (KIND:NAME; a bare name is xdp:NAME), such as tap:tap0.
    #[arg(short, value_name = "PORT")]
    i: String,
    /// Address and prefix length, such as 10.0.0.2/24 or fd00::2/64, or auto: IPv6 addresses, default route and MTU of the
    /// link's router; may be given more than once. An address that another station has is not used.
    #[arg(long, value_name = "CIDR|auto", required = true, value_parser = ip::address)]
    addr: Vec<Address>,
    /// Route, such as 0.0.0.0/0=10.0.0.1; may be given more than once.
    #[arg(long, value_name = "CIDR=ROUTER")]
    route: Vec<Route>,
    /// The hardware address; otherwise the port's own, or a random one.
    #[arg(long, value_name = "MAC")]
    mac: Option<MacAddr>,
    /// Longest IP packet in bytes; otherwise the port's.
    #[arg(long, value_name = "BYTES")]
    mtu: Option<usize>,
    /// The VLAN of all frames, 1 to 4094.
    #[arg(long, value_name = "VID", value_parser = vlan)]
    vlan: Option<VlanTag>,
    /// Services to offer, separated by commas: over UDP and TCP echo (7), discard (9), chargen (19); over TCP http=FOLDER (80),
    /// which serves the files of a folder, of the current one if none is given; none: --services=. Those of UDP
    /// answer nothing that was sent to a broadcast or a group, or from a port below 1024.
    #[arg(long, value_name = "NAMES", default_value = DEFAULT_SERVICES, value_delimiter = ',', value_parser = ip::ServiceParser { datagrams: false })]
    services: Vec<Option<Offer>>,
    /// Compute and verify all checksums in software, even if the port can do it.
    #[arg(long)]
    no_offload: bool,
    /// Switch on all offloads of the adapter (`linerate nic show`), then apply these words of `linerate nic set`,
    /// separated by commas (may be empty: --nic=). Settings saved for the port have the same effect without this
    /// option.
    #[arg(long, value_name = "WORDS", value_delimiter = ',', allow_hyphen_values = true, require_equals = true)]
    nic: Option<Vec<String>>,
    #[command(flatten)]
    dcb: dcb::Negotiate,
    /// Wait mode of the thread.
    #[arg(long, value_name = "HOW", default_value = "adaptive", value_parser = wait())]
    wait: WaitMode,
    /// End after so many seconds; otherwise at Ctrl-C.
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Print the counters at the end as one JSON document.
    #[arg(long)]
    json: bool,
}

fn vlan(text: &str) -> Result<VlanTag, String> {
    let vid = text.parse().ok().filter(|vid| (1..=4094).contains(vid));
    vid.and_then(|vid| VlanTag::new(0, false, vid).ok()).ok_or_else(|| "give 1 to 4094".to_owned())
}

impl From<NetError> for Trouble {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Open(error) => error.into(),
            NetError::System(error) => Self::failed(error.to_string()),
            other => Self::usage(other.to_string()),
        }
    }
}

fn run(arguments: Arguments) -> Result<ExitCode, Trouble> {
    match arguments.what {
        What::Up(arguments) => up(*arguments),
        What::Show(arguments) => control::show(&asked::KIND, &arguments),
    }
}

fn up(arguments: Up) -> Result<ExitCode, Trouble> {
    let stop = stop_at_signals()?;
    let (name, remark) = resolve(&arguments.i);
    let options = Options {
        mac: arguments.mac,
        mtu: arguments.mtu,
        vlan: arguments.vlan,
        software: arguments.no_offload,
        dcb: arguments.dcb.settings()?,
        auto: arguments.addr.iter().any(|addr| matches!(addr, Address::Auto)),
        ..Options::default()
    };
    let given: Vec<Cidr> = arguments.addr.iter().filter_map(Address::given).collect();
    let words: Option<Vec<String>> = arguments.nic.map(|words| words.into_iter().filter(|w| !w.is_empty()).collect());
    let mut nodes = match super::nic::for_host(&name, words.as_deref(), 1 + usize::from(options.dcb.is_some()))? {
        Some(nic) => Node::shards(nic, &given, &options)?,
        None => Node::open_shards(&name, &given, &options)?,
    };
    let calls = nodes.iter().map(|_| callee()).collect::<Result<Vec<Callee<Serving>>, _>>();
    let calls = calls.map_err(|e| Trouble::failed(format!("{e}; free some descriptors")))?;
    let callers: Vec<_> = calls.iter().map(Callee::caller).collect();
    let control = control::serve(&asked::KIND, &port_name(&arguments.i), asked_by(callers));
    let negotiating = options.dcb.as_ref();
    let negotiating = negotiating.and_then(|_| dcb::shown(&port_name(&arguments.i), calls[0].caller(), negotiated));
    confine(&[]);
    ip::set_routes(&mut nodes[0].ip, &arguments.route)?;
    nodes[0].announce(linerate_rt::monotonic_ns());
    let offers: Vec<Offer> = arguments.services.into_iter().flatten().collect();
    let serving = nodes.into_iter().map(|node| Serving::new(node, &offers));
    let shard = |(serving, calls)| Shard {
        serving,
        calls,
        given: given.clone(),
        auto: options.auto,
        json: arguments.json,
        bare: false,
    };
    let mut all = serving
        .zip(calls)
        .map(|(serving, calls)| serving.map(|serving| shard((serving, calls))))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| Trouble::usage(format!("--services: {e}: name each service once")))?;
    if !arguments.json {
        let node = all[0].serving.node();
        let info = node.line().info();
        let addresses: Vec<String> = node.ip.host.addresses().iter().map(Cidr::to_string).collect();
        let mut text = remark.map(|said| format!("{said}\n")).unwrap_or_default();
        text += &format!("{}: {}\n", info.name, info.path);
        text += &node.line().notes().iter().map(|note| format!("note: {note}\n")).collect::<String>();
        let (mac, mtu, link) = (node.ip.host.mac(), node.ip.host.mtu(), node.line().link());
        let link = if link == Link::Up { "up" } else { "down" };
        if let Ok(settings) = node.line().control().settings(0) {
            text += &format!("adapter: options={}\n", settings.flags.enabled());
        }
        if all.len() > 1 {
            text += &format!("{} queues, a thread each\n", all.len());
        }
        text += &format!("{mac}, MTU {mtu}, link {link}: {}\n", addresses.join(" "));
        text += &node.dcb().map(|client| format!("LLDP: {}\n", dcb::operative(client))).unwrap_or_default();
        print(&text);
    }
    stop_after(&stop, arguments.seconds);
    serve(&mut all, arguments.wait, &stop)?;
    // Nobody is answered any more: what follows is the end.
    drop((control, negotiating));
    let parts: Vec<Part> = all.iter().map(|shard| Part::of(&shard.serving)).collect();
    let common = Common::of(&mut all[0].serving);
    print(&if arguments.json {
        format!("{}\n", document::document(&common, &parts))
    } else {
        document::table(&common, &parts)
    });
    if all.iter().any(|shard| shard.bare) {
        return Err(Trouble::failed("other stations have all addresses of this host: nothing is left for it to do"));
    }
    Ok(ended(&stop))
}

/// Negotiation at the host's port, if there is one.
fn negotiated(serving: &Serving) -> Option<dcb::Port<'_>> {
    let node = serving.node();
    Some((node.dcb()?, node.line().info(), node.line().link()))
}

/// A shard that tells what becomes of the host's addresses, and is done when none of those that it was given is left.
struct Shard {
    serving: Serving,
    calls: Callee<Serving>,
    given: Vec<Cidr>,
    auto: bool,
    json: bool,
    bare: bool,
}

impl Shard {
    #[cold]
    fn tell(&mut self, event: Event) {
        match event {
            Event::AddressLost { .. } | Event::AddressContested { .. } => remark(&format!("linerate: {event}")),
            _ if self.json => {}
            _ => print(&format!("{event}\n")),
        }
        if let Event::AddressLost { .. } = event {
            let has = |addr: &Cidr| self.serving.node().ip.host.addresses().contains(addr);
            let left = self.given.iter().any(has) || self.auto && !self.serving.node().ip.host.addresses().is_empty();
            self.bare |= !left;
        }
    }
}

impl Machine for Shard {
    fn handle(&mut self, now: u64) -> Progress {
        let progress = self.serving.handle(now);
        while let Some(event) = self.serving.poll_event() {
            self.tell(event);
        }
        while let Some(event) = self.serving.poll_dcb() {
            if !self.json {
                print(&format!("{event}\n"));
            }
        }
        let called = self.calls.serve(&mut self.serving);
        match progress {
            _ if self.bare => Progress::Done,
            Progress::Idle if called => Progress::Worked,
            other => other,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.serving.poll_timeout()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.serving.waits_for(visit);
        visit(&mut self.calls.sleep());
    }

    fn stop(&mut self, now: u64) {
        self.serving.stop(now);
    }
}

/// Runs each shard in a thread, the first one in this. When one of them has come to its end, all have.
fn serve(all: &mut [Shard], wait: WaitMode, stop: &Stop) -> Result<(), Trouble> {
    let Some((first, others)) = all.split_first_mut() else { return Ok(()) };
    std::thread::scope(|scope| {
        for shard in others {
            let thread = std::thread::Builder::new().name("queue".into());
            let started = thread.spawn_scoped(scope, || {
                run_machine(shard, &mut Waiter::new(wait), stop);
                stop.ask(0);
            });
            if let Err(error) = started {
                stop.ask(0);
                return Err(Trouble::failed(format!("no thread for a queue: {error}")));
            }
        }
        let name = first.serving.node().line().info().name.clone();
        let mut first = Watched::new(first, std::slice::from_ref(&name), |shard, _| shard.serving.node().line().link());
        run_machine(&mut first, &mut Waiter::new(wait), stop);
        stop.ask(0);
        Ok(())
    })
}

/// State of the host, of which each shard is asked in turn.
fn asked_by(mut callers: Vec<Caller<Serving>>) -> impl FnMut() -> Result<Value, CallError> + Send {
    move || {
        let parts = callers.iter_mut().map(|caller| caller.call(|serving| Part::of(serving)));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let common = callers[0].call(Common::of)?;
        Ok(document::known(&common, &parts))
    }
}
