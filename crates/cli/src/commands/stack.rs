//! `linerate stack`.

use super::shared::{confine, ended, one_of, stop_after, stop_at_signals, wait};
use super::{Command, parsed};
use crate::trouble::{Trouble, print};
use clap::{Args, CommandFactory, Parser, Subcommand};
use linerate_load::pktgen::resolve;
use linerate_port::Link;
use linerate_rt::net::{NetError, Node, Options, SERVICES, Service, Serving};
use linerate_rt::{WaitMode, Waiter, run as run_machine};
use linerate_stack::{Cidr, Route};
use linerate_wire::{MacAddr, VlanTag};
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("stack", Arguments::command, |matches, _| run(parsed(matches)?));

/// An IP host on a port: ping, echo, discard, chargen.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Be an IP host on a port until Ctrl-C: answer ARP, neighbour discovery and ping, and serve echo (7), discard (9)
    /// and chargen (19) over UDP.
    Up(Up),
}

#[derive(Args)]
struct Up {
    /// The port (KIND:NAME; a bare name is xdp:NAME), as tap:tap0.
    #[arg(short, value_name = "PORT")]
    i: String,
    /// An address with its network, as 10.0.0.2/24 or fd00::2/64; may be given again.
    #[arg(long, value_name = "CIDR", required = true)]
    addr: Vec<Cidr>,
    /// A route, as 0.0.0.0/0=10.0.0.1; may be given again.
    #[arg(long, value_name = "CIDR=ROUTER", value_parser = route)]
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
    /// Services to offer, with commas between.
    #[arg(long, value_name = "NAMES", default_value = "echo,discard,chargen", value_delimiter = ',', value_parser = one_of(SERVICES.iter().map(|row| (row.name, row))))]
    services: Vec<&'static Service>,
    /// Make and verify all checksums here, whatever the port could do.
    #[arg(long)]
    no_offload: bool,
    /// Put an adapter between host and port, with these words of `linerate nic set`, commas between (none is fine:
    /// --nic=). Without it there is one if settings for the port were saved.
    #[arg(long, value_name = "WORDS", value_delimiter = ',', allow_hyphen_values = true, require_equals = true)]
    nic: Option<Vec<String>>,
    /// How the thread waits.
    #[arg(long, value_name = "HOW", default_value = "adaptive", value_parser = wait())]
    wait: WaitMode,
    /// End after so many seconds; otherwise at Ctrl-C.
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Print what was counted as one JSON document.
    #[arg(long)]
    json: bool,
}

fn vlan(text: &str) -> Result<VlanTag, String> {
    let vid = text.parse().ok().filter(|vid| (1..=4094).contains(vid));
    vid.and_then(|vid| VlanTag::new(0, false, vid).ok()).ok_or_else(|| "give 1 to 4094".to_owned())
}

fn route(text: &str) -> Result<Route, String> {
    let (to, via) = text.split_once('=').ok_or("write it as 0.0.0.0/0=10.0.0.1")?;
    let via: IpAddr = via.parse().map_err(|_| format!("'{via}' is no IPv4 or IPv6 address"))?;
    Ok(Route { to: to.parse().map_err(|e: linerate_stack::CidrError| e.to_string())?, via: Some(via) })
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
        What::Up(arguments) => up(arguments),
    }
}

fn up(arguments: Up) -> Result<ExitCode, Trouble> {
    let stop = stop_at_signals()?;
    let (name, remark) = resolve(&arguments.i);
    let options =
        Options { mac: arguments.mac, mtu: arguments.mtu, vlan: arguments.vlan, software: arguments.no_offload };
    let words: Option<Vec<String>> = arguments.nic.map(|words| words.into_iter().filter(|w| !w.is_empty()).collect());
    let mut node = match super::nic::for_host(&name, words.as_deref())? {
        Some(nic) => Node::over_nic(nic, &arguments.addr, &options)?,
        None => Node::open(&name, &arguments.addr, &options)?,
    };
    confine(&[]);
    for route in &arguments.route {
        node.host.set_route(*route).map_err(|e| Trouble::usage(e.to_string()))?;
    }
    node.announce(linerate_rt::monotonic_ns());
    let mut serving = Serving::new(node, &arguments.services)
        .map_err(|e| Trouble::usage(format!("--services: {e}: name each service once")))?;
    if !arguments.json {
        let node = serving.node();
        let info = node.info();
        let addresses: Vec<String> = node.host.addresses().iter().map(Cidr::to_string).collect();
        let mut text = remark.map(|said| format!("{said}\n")).unwrap_or_default();
        text += &format!("{}: {}\n", info.name, info.path);
        text += &node.notes().iter().map(|note| format!("note: {note}\n")).collect::<String>();
        let (mac, mtu, link) = (node.host.mac(), node.host.mtu(), node.link());
        let link = if link == Link::Up { "up" } else { "down" };
        if let Some(settings) = node.adapter().and_then(|adapter| adapter.settings(0).ok()) {
            text += &format!("adapter: options={}\n", settings.flags.enabled());
        }
        text += &format!("{mac}, MTU {mtu}, link {link}: {}\n", addresses.join(" "));
        print(&text);
    }
    stop_after(&stop, arguments.seconds);
    run_machine(&mut serving, &mut Waiter::new(arguments.wait), &stop);
    print(&if arguments.json { document(&serving) } else { table(&serving) });
    Ok(ended(&stop))
}

fn figures(serving: &Serving) -> Vec<(String, u64)> {
    let counters = serving.node().host.counters();
    let mut all: Vec<(String, u64)> = [
        ("frames", counters.frames),
        ("echoes", counters.echoes),
        ("looped", counters.looped),
        ("neighbour_messages", counters.neighbours),
        ("fragments", counters.fragments),
        ("udp_received", counters.udp_received),
        ("udp_sent", counters.udp_sent),
        ("udp_sent_fast", counters.udp_fast),
        ("udp_sent_flow", counters.udp_flow),
        ("icmp_errors_sent", counters.errors_sent),
        ("icmp_errors_received", counters.errors_received),
        ("unexplained", counters.unexplained()),
    ]
    .map(|(name, n)| (name.to_owned(), n))
    .into();
    all.extend(counters.discards().map(|(name, n)| (format!("discarded.{name}"), n)));
    for (service, served) in serving.served() {
        if served.received > 0 {
            all.push((format!("{}.received", service.name), served.received));
            all.push((format!("{}.sent", service.name), served.sent));
            all.push((format!("{}.unsent", service.name), served.unsent));
        }
    }
    let tx = serving.node().tx.counters();
    all.extend(tx.dropped.iter().map(|(name, n)| (format!("tx_dropped.{name}"), n)));
    if let Some(counters) = serving.node().adapter().and_then(|adapter| adapter.counters(0).ok()) {
        all.extend(counters.iter().filter(|(_, n)| *n > 0).map(|(name, n)| (format!("nic.{name}"), n)));
    }
    all
}

fn table(serving: &Serving) -> String {
    figures(serving).iter().map(|(name, n)| format!("{name:28} {n}\n")).collect()
}

fn document(serving: &Serving) -> String {
    // Both families of a service count together.
    let mut counters = Map::new();
    for (name, n) in figures(serving) {
        let before = counters.get(&name).and_then(Value::as_u64).unwrap_or(0);
        counters.insert(name, json!(before + n));
    }
    let info = serving.node().info();
    let document = json!({
        "schema": "linerate.stack", "version": 1, "port": info.name, "path": info.path,
        "addresses": serving.node().host.addresses().iter().map(Cidr::to_string).collect::<Vec<_>>(),
        "mac": serving.node().host.mac().to_string(), "mtu": serving.node().host.mtu(), "counters": counters,
    });
    format!("{document}\n")
}
