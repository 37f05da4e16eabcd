//! `linerate fcoe initiator`: serves LUNs of targets over NBD.

use super::common::{
    NodeArguments, PROTECTION, authenticated, introduce, name_in_use, name_taken, negotiated, no_address, over, route,
    unauthenticated, with_ip,
};
use super::secrets::InitiatorSecrets;
use crate::commands::dcb;
use crate::commands::ip::IpArguments;
use crate::commands::link::Watched;
use crate::commands::shared::{confine, ended, port_name, stop_after, stop_at_signals};
use crate::print::print_told;
use crate::trouble::{Trouble, print};
use clap::Args;
use linerate_block::{Completion, Geometry, Operation, Tag};
use linerate_fcoe::{Disks, DisksConfig, InitiatorConfig, Node, NodeConfig, NodeEvent};
use linerate_nbd::{BlockService, Export};
use linerate_rt::block::nbd::{Address, NbdServer};
use linerate_rt::control::{Callee, callee};
use linerate_rt::fc::{FcNode, Integrity, Mismatches, Remote, RemoteUnit, Watcher};
use linerate_rt::{Machine, Progress, Sleeper, Waiter, run as run_machine};
use linerate_text::saturating_ns;
use linerate_wire::Wwn;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    node: NodeArguments,
    #[command(flatten)]
    secrets: InitiatorSecrets,
    #[command(flatten)]
    ip: IpArguments,
    #[command(flatten)]
    dcb: dcb::Negotiate,
    /// The target's port name; otherwise the LUNs of all targets are served.
    #[arg(long, value_name = "WWPN")]
    target: Option<Wwn>,
    /// Address at which to serve the LUNs over NBD: unix:PATH, tcp:HOST or tcp:HOST:PORT; may be given more than once.
    /// Exports are called WWPN/LUN. The default export, whose name is empty, is the only LUN that was found; where there were
    /// several, clients must name one.
    #[arg(long, value_name = "ADDRESS", required = true)]
    nbd: Vec<String>,
    /// Serve at addresses that other hosts reach. NBD has no authentication: whoever connects reads and writes.
    #[arg(long)]
    insecure: bool,
    /// Hold requests to a LUN whose target is lost for up to N seconds: after that they fail until it is back.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=3600))]
    hold: u64,
    /// Protection information that is made from the clients' data and checked before they get any, of LUNs that have it:
    /// crc, ip (an IP checksum, which becomes a CRC for the wire) or off; behind commas app=TAG, an application tag, and
    /// protect=N, what the target checks (1).
    #[arg(long, value_name = "GUARD", default_value = PROTECTION)]
    pi: Integrity,
    /// End after so many seconds; otherwise at Ctrl-C.
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
}

/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;
/// Time for which clients wait for the search for LUNs, as they come with the command that starts the initiator: after that
/// they are told of those that were found by then.
const FIRST: u64 = 10 * SECOND;
/// Time between two rounds of a target's LUNs, which are asked whether they are what they were.
const WATCH: u64 = 5 * SECOND;

const EXAMPLE: &str = "fcoe initiator -i xdp:eth1 --nbd unix:/tmp/luns";

/// The remote LUNs and their NBD exports.
struct Luns {
    remote: Remote,
    exports: Vec<Export>,
    /// Last line about the default export.
    default: String,
}

impl Luns {
    /// Adds exports for LUNs that were found since the last call, and lets the others follow their LUNs: clients that connect
    /// from now on are told another size, and cannot choose a LUN that has ended. NBD tells those that are connected nothing.
    fn offer(&mut self) {
        for (unit, export) in self.remote.units().iter().zip(&mut self.exports) {
            (export.geometry, export.ended) = (geometry(unit), unit.ended.is_some());
        }
        for unit in &self.remote.units()[self.exports.len()..] {
            let name = unit.name();
            let size = u128::from(unit.lun.blocks) * u128::from(unit.lun.block_size);
            let pi = unit.protection().map_or_else(String::new, |protection| format!(", {protection}"));
            let (vendor, product) = (&unit.lun.vendor, &unit.lun.product);
            print_told(&format!("export {name}: {vendor} {product}, {size} bytes{pi}\n"), false);
            // With the disk's name: a client that comes back, or a target on top of this, knows another disk by it.
            let description = format!("{} {}, {}", unit.lun.vendor, unit.lun.product, unit.identity());
            self.exports.push(Export { name, description, geometry: geometry(unit), ended: false });
        }
    }
}

/// Line about the blocks of a LUN that did not match their protection information; empty if none is checked.
fn mismatches(unit: &RemoteUnit) -> String {
    if unit.checked().is_none() {
        return String::new();
    }
    let of = |who: &str, Mismatches { guard, application, reference }: Mismatches| {
        format!("{who}: {guard} guards, {application} application tags, {reference} reference tags")
    };
    let (here, there) = (of("found here", unit.found_here), of("by the target", unit.found_there));
    format!("{}: mismatches {here}; {there}\n", unit.name())
}

fn geometry(unit: &RemoteUnit) -> Geometry {
    let lun = &unit.lun;
    let serial = lun.designator.iter().fold(0u64, |all, byte| all.rotate_left(8) ^ u64::from(*byte));
    Geometry {
        block_size: lun.block_size,
        blocks: lun.blocks,
        physical_exponent: lun.physical_exponent,
        read_only: lun.read_only,
        volatile: lun.write_cache,
        discards: lun.unmap,
        discard_zeroes: lun.zeroes,
        protection: false,
        product: "FCoE",
        serial,
    }
}

impl BlockService for Luns {
    fn exports(&self) -> &[Export] {
        &self.exports
    }

    /// Tells what clients without a name get: once, and when that has changed.
    fn asked_default(&mut self, given: Option<usize>) {
        let line = match (given, &self.exports[..]) {
            (Some(at), exports) => format!("the default export is {}, the only LUN that was found\n", exports[at].name),
            (None, [only]) => {
                format!("note: the default export was {}: clients that name none are refused\n", only.name)
            }
            (None, []) => "note: a client asked for the default export: no LUN was found\n".to_owned(),
            (None, several) => {
                let name = several.iter().find(|export| !export.ended).map_or("WWPN/LUN", |export| &export.name);
                format!(
                    "note: a client without an export's name is refused, for there were several: name one, as {name}\n"
                )
            }
        };
        if line != self.default {
            print(&line);
            self.default = line;
        }
    }

    fn submit(&mut self, export: usize, tag: Tag, operation: Operation) {
        self.remote.submit(export, tag, operation);
    }

    fn flush(&mut self) {}

    fn complete(&mut self) -> Option<Completion> {
        let ended = self.remote.complete()?;
        if let Some(why) = ended.trouble {
            print(&format!("{}: {why}\n", self.remote.units()[ended.unit].name()));
        }
        Some(ended.completion)
    }
}

/// The NBD server in the node's loop.
struct Serving {
    server: NbdServer,
    luns: Luns,
    /// Time until which clients wait for the search; None once they are served.
    opens: Option<u64>,
    /// The only target that is used, if one was named.
    only: Option<Wwn>,
    /// A target that was not authenticated, or did not let us in, and the reason.
    refused: Option<String>,
}

impl Serving {
    /// Time at which clients are served for the first time: when no more LUNs are expected, so that the default export is
    /// not that of the fastest target.
    fn opens_at(&self) -> Option<u64> {
        let found = self.luns.remote.complete_at().filter(|_| !self.luns.exports.is_empty());
        self.opens.map(|limit| found.map_or(limit, |at| at.min(limit)))
    }
}

impl Watcher<Disks> for Serving {
    fn event(&mut self, now: u64, event: &NodeEvent, node: &mut Node<Disks>) {
        match event {
            NodeEvent::Address(id) => print(&format!("address {id}\n")),
            NodeEvent::NoAddress => print(no_address(node)),
            NodeEvent::Up(peer) => print(&format!("{} at {} logged in\n", peer.wwpn, peer.fc_id)),
            NodeEvent::Down(peer, why) => print(&over(peer, *why)),
            NodeEvent::Refused(refused) => print(&format!("note: {refused}\n")),
            NodeEvent::NameInUse(holder) => print(&name_in_use(*holder)),
            NodeEvent::NameTaken(by) => print(&name_taken(*by)),
            NodeEvent::Authenticated(name, proof) => print(&authenticated(*name, proof)),
            NodeEvent::Unauthenticated(name, why) => {
                print(&unauthenticated(*name, *why));
                if self.only.is_none_or(|only| only == *name) {
                    self.refused = Some(format!("{name}: {why}"));
                }
            }
            NodeEvent::Found(_) | NodeEvent::Lost(_) => {}
        }
        self.luns.remote.event(now, event);
    }

    fn turn(&mut self, now: u64, node: &mut Node<Disks>) -> bool {
        let Some((initiator, logins)) = node.initiator_mut() else { return false };
        let moved = self.luns.remote.turn(now, initiator, logins);
        let news = self.luns.remote.take_news();
        if !news.is_empty() || self.luns.remote.units().len() > self.luns.exports.len() {
            self.luns.offer();
        }
        for news in news {
            print(&format!("{news}\n"));
        }
        if self.opens_at().is_some_and(|at| now >= at) {
            self.opens = None;
        }
        let served = self.opens.is_none() && self.server.handle(&mut self.luns);
        // Requests of the clients are sent in this turn.
        moved | served | self.luns.remote.turn(now, initiator, logins)
    }

    fn poll_timeout(&self) -> Option<u64> {
        let due = self
            .server
            .due()
            .map(|at| linerate_rt::monotonic_ns() + saturating_ns(at.saturating_duration_since(Instant::now())));
        [self.luns.remote.poll_timeout(), due, self.opens_at()].into_iter().flatten().min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        if self.opens.is_none() {
            self.server.waits_for(visit);
        }
    }

    /// It ends by itself where no target lets it in: another may come, unless one is named, as long as clients wait.
    fn is_done(&self) -> bool {
        self.refused.is_some() && self.luns.exports.is_empty() && (self.only.is_some() || self.opens.is_none())
    }

    fn note(&mut self, note: &str) {
        print(&format!("note: {note}\n"));
    }
}

type Initiator = FcNode<Disks, Serving>;

/// An initiator that answers who asks.
struct Called {
    node: Initiator,
    calls: Callee<Initiator>,
}

impl Machine for Called {
    fn handle(&mut self, now: u64) -> Progress {
        let progress = self.node.handle(now);
        let called = self.calls.serve(&mut self.node);
        if called && progress == Progress::Idle { Progress::Worked } else { progress }
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

/// Warning about the clients that can connect at an address; empty for a UNIX socket.
fn open_to(address: &Address) -> &'static str {
    match address {
        Address::Unix(_) => "",
        Address::Tcp(..) => ": NBD has no authentication, whoever connects there reads and writes",
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Trouble> {
    let usage = |e: linerate_rt::block::DeviceError| Trouble::usage(e.to_string());
    let addresses =
        arguments.nbd.iter().map(|text| Address::parse(text)).collect::<Result<Vec<_>, _>>().map_err(usage)?;
    let settings = arguments.dcb.settings()?;
    let negotiates = settings.is_some();
    let port = arguments.node.port(EXAMPLE)?.with_auth(arguments.secrets.read()?).with_dcb(settings);
    // Signals are caught first, so that the server's sockets are removed whatever ends the program.
    let stop = stop_at_signals()?;
    let server = NbdServer::listen(&addresses, arguments.insecure).map_err(usage)?;
    let serves: String =
        server.addresses().iter().map(|at| format!("serves NBD at {}{}\n", at.uri(), open_to(at))).collect();
    let config = NodeConfig { initiator: Some(InitiatorConfig::default()), ..port.config() };
    let disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 0 });
    let luns = Luns {
        remote: Remote::new(arguments.target, arguments.hold * SECOND, arguments.pi).watching(WATCH),
        exports: Vec::new(),
        default: String::new(),
    };
    let serving = Serving {
        server,
        luns,
        opens: Some(linerate_rt::monotonic_ns() + FIRST),
        only: arguments.target,
        refused: None,
    };
    let mut node = with_ip(port, &arguments.ip).node(&config, disks, serving)?;
    route(&mut node, &arguments.ip)?;
    let calls = callee().map_err(|e| Trouble::failed(format!("{e}; free some descriptors")))?;
    let shown = arguments.node.i.first().filter(|_| negotiates);
    let shown = shown.and_then(|port| dcb::shown(&port_name(port), calls.caller(), negotiated::<Disks, Serving>));
    confine(&[]);
    introduce(&node);
    print(&serves);
    stop_after(&stop, arguments.seconds);
    let name = node.line().info().name.clone();
    let mut called = Called { node, calls };
    let mut watched = Watched::new(&mut called, std::slice::from_ref(&name), |called, _| called.node.line().link());
    run_machine(&mut watched, &mut Waiter::new(arguments.node.wait), &stop);
    drop(shown);
    let mut node = called.node;
    let checked = node.check();
    let (serving, _) = node.watcher();
    serving.server.stop();
    checked?;
    if serving.is_done()
        && stop.signal().is_none()
        && let Some(refused) = serving.refused.take()
    {
        return Err(Trouble::failed(refused));
    }
    print(&serving.luns.remote.units().iter().map(mismatches).collect::<String>());
    Ok(ended(&stop))
}
