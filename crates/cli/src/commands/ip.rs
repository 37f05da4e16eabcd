//! Arguments and counters of commands that have an IP host on their port.

use super::shared::one_of;
use crate::trouble::Trouble;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command};
use linerate_nic::Control;
use linerate_port::Drops;
use linerate_rt::net::{DEFAULT_SERVICES, Ip, Offer, SERVICES, Served, Service, Streamed};
use linerate_stack::{Cidr, CidrError, Counters, Route};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// Arguments for an IP host beside the command's own purpose.
#[derive(Args)]
pub(super) struct IpArguments {
    /// Be an IP host too, on the same port and with the same MAC address: address and prefix length, such as
    /// 10.0.0.2/24; it answers ping, and serves UDP echo (port 7) and discard (9); may be given more than once.
    #[arg(long, value_name = "CIDR")]
    pub(super) addr: Vec<Cidr>,
    /// Route of the IP host, such as 0.0.0.0/0=10.0.0.1; may be given more than once.
    #[arg(long, value_name = "CIDR=ROUTER", requires = "addr")]
    pub(super) route: Vec<Route>,
    /// UDP services of the IP host, separated by commas: echo, discard, chargen; none: --services=. They answer nothing
    /// that was sent to a broadcast or a group, or from a port below 1024.
    #[arg(long, value_name = "NAMES", default_value = DEFAULT_SERVICES, value_delimiter = ',', value_parser = ServiceParser { datagrams: true }, requires = "addr")]
    pub(super) services: Vec<Option<Offer>>,
}

/// Parser of services as they are typed: a name, or `http=` and a folder, or nothing.
#[derive(Clone, Copy)]
pub(super) struct ServiceParser {
    /// Services over UDP alone.
    pub(super) datagrams: bool,
}

impl ServiceParser {
    fn rows(self) -> impl Iterator<Item = &'static Service> {
        SERVICES.iter().filter(move |row| !self.datagrams || row.is_of_udp())
    }
}

impl TypedValueParser for ServiceParser {
    type Value = Option<Offer>;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, text: &OsStr) -> Result<Self::Value, clap::Error> {
        let typed = text.to_str().unwrap_or_default();
        if text.is_empty() {
            return Ok(None);
        }
        let known = if typed.contains('=') && !self.datagrams {
            with_folder.parse_ref(command, arg, text)?
        } else {
            one_of(self.rows().map(|row| (row.name, row))).parse_ref(command, arg, text)?.into()
        };
        Ok(Some(known))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.rows().map(|row| PossibleValue::new(row.name))))
    }
}

/// Parses `http=FOLDER`.
fn with_folder(text: &str) -> Result<Offer, String> {
    let (name, folder) = text.split_once('=').unwrap_or((text, "."));
    let service = SERVICES.iter().find(|row| row.name == name && !row.is_of_udp()).ok_or("only http takes a folder")?;
    let whole = Path::new(folder).canonicalize().map_err(|e| format!("{folder}: {e}"))?;
    if whole.is_dir() { Ok(Offer { service, folder: whole.into() }) } else { Err(format!("{folder} is no folder")) }
}

/// Address of a host as it is typed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Address {
    /// Those that routers advertise.
    Auto,
    Given(Cidr),
}

impl Address {
    pub(super) fn given(&self) -> Option<Cidr> {
        match self {
            Self::Auto => None,
            Self::Given(cidr) => Some(*cidr),
        }
    }
}

pub(super) fn address(text: &str) -> Result<Address, CidrError> {
    if text == "auto" { Ok(Address::Auto) } else { text.parse().map(Address::Given) }
}

pub(super) fn set_routes(ip: &mut Ip, routes: &[Route]) -> Result<(), Trouble> {
    routes.iter().try_for_each(|route| ip.host.set_route(*route)).map_err(|e| Trouble::usage(e.to_string()))
}

/// All counters of a host and its services, by name. A service's counters are those of all its sockets together.
pub(super) fn figures(
    counters: &Counters,
    services: impl Iterator<Item = (&'static Service, Served)>,
    streams: impl Iterator<Item = (&'static Service, Streamed)>,
) -> Vec<(String, u64)> {
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
        ("tcp_received", counters.tcp_received),
        ("tcp_sent", counters.tcp_sent),
        ("icmp_errors_sent", counters.errors_sent),
        ("icmp_errors_received", counters.errors_received),
        ("address_conflicts", counters.conflicts),
        ("unexplained", counters.unexplained()),
    ]
    .map(|(name, n)| (name.to_owned(), n))
    .into();
    all.extend(counters.discards().map(|(name, n)| (format!("discarded.{name}"), n)));
    let mut of_services = vec![Served::default(); SERVICES.len()];
    for (service, served) in services {
        if let Some(at) = SERVICES.iter().position(|row| row.name == service.name) {
            of_services[at] += served;
        }
    }
    for (service, served) in SERVICES.iter().zip(of_services).filter(|(_, served)| *served != Served::default()) {
        all.push((format!("{}.received", service.name), served.received));
        all.push((format!("{}.refused", service.name), served.refused));
        all.push((format!("{}.sent", service.name), served.sent));
        all.push((format!("{}.unsent", service.name), served.unsent));
    }
    let mut of_streams = vec![Streamed::default(); SERVICES.len()];
    for (service, streamed) in streams {
        if let Some(at) = SERVICES.iter().position(|row| row.name == service.name) {
            of_streams[at] += streamed;
        }
    }
    for (service, streamed) in SERVICES.iter().zip(of_streams).filter(|(_, streamed)| *streamed != Streamed::default())
    {
        all.push((format!("{}.tcp.connections", service.name), streamed.connections));
        all.push((format!("{}.tcp.refused", service.name), streamed.refused));
        all.push((format!("{}.tcp.received", service.name), streamed.received));
        all.push((format!("{}.tcp.sent", service.name), streamed.sent));
    }
    all
}

/// Drops of the ports' queues and counters of an adapter's interface, by name, without zeros.
pub(super) fn adapter_figures(control: &Control, drops: &[Drops], interface: usize) -> Vec<(String, u64)> {
    let mut dropped = BTreeMap::new();
    for of_queue in drops {
        of_queue.iter().for_each(|(name, n)| *dropped.entry(format!("tx_dropped.{name}")).or_insert(0) += n);
    }
    let mut all: Vec<_> = dropped.into_iter().collect();
    if let Ok(counters) = control.counters(interface) {
        all.extend(counters.iter().map(|(name, n)| (format!("nic.{name}"), n)));
    }
    let ledger = control.ledger();
    let lost = [("no_interface", ledger.no_interface), ("too_short", ledger.too_short), ("spoiled", ledger.spoiled)];
    all.extend(lost.map(|(name, n)| (format!("nic.rx.drop.{name}"), n)));
    all.retain(|(_, n)| *n > 0);
    all
}
