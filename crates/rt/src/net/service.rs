//! The small services that every host once had, to try a stack with: a table, and a machine that runs them on a node.

use super::http::Http;
use super::ip::Ip;
use super::node::Node;
use super::streams::{self, Streamed, Streams, Talk};
use crate::dcb::DcbClient;
use crate::line::Line;
use crate::machine::Sleeper;
use crate::machine::{Machine, Progress};
use linerate_stack::{BindError, Event, Host, SendError, UdpId};
use linerate_text::counters;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

type Answer = fn(&mut [u8], usize) -> Option<usize>;

#[derive(Debug)]
pub struct Service {
    pub name: &'static str,
    pub port: u16,
    pub about: &'static str,
    /// Turns a datagram in the buffer into its answer, in place: how long the answer is; none is no answer. A service without
    /// it is of TCP alone.
    answer: Option<Answer>,
    /// Begins to talk on a connection.
    pub(super) talk: fn(&Offer) -> Box<dyn Talk>,
}

impl Service {
    #[must_use]
    pub fn is_of_udp(&self) -> bool {
        self.answer.is_some()
    }
}

/// A service that a host offers.
#[derive(Clone, Debug)]
pub struct Offer {
    pub service: &'static Service,
    /// The folder whose files it serves, if it serves any.
    pub folder: Arc<Path>,
}

impl From<&'static Service> for Offer {
    fn from(service: &'static Service) -> Self {
        Self { service, folder: Path::new(".").into() }
    }
}

pub const SERVICES: &[Service] = &[
    Service {
        name: "echo",
        port: 7,
        about: "sends back what it gets (RFC 862)",
        answer: Some(|_, n| Some(n)),
        talk: |_| Box::new(streams::echo),
    },
    Service {
        name: "discard",
        port: 9,
        about: "takes what it gets (RFC 863)",
        answer: Some(|_, _| None),
        talk: |_| Box::new(streams::discard),
    },
    Service {
        name: "chargen",
        port: 19,
        about: "answers with a line of characters (RFC 864)",
        answer: Some(|buffer, _| {
            // RFC 864: printing characters; one line of the pattern is enough for an answer.
            let line = (b' '..=b'~').take(72).chain(*b"\r\n");
            Some(buffer.iter_mut().zip(line).map(|(to, c)| *to = c).count())
        }),
        talk: |_| Box::new(streams::chargen),
    },
    Service {
        name: "http",
        port: 80,
        about: "serves the files of a folder to browsers (RFC 9110)",
        answer: None,
        talk: |offer| Box::new(Http::new(offer.folder.clone())),
    },
];

/// Names of the services that a host offers unless others are asked for. chargen answers a datagram of no bytes with a line:
/// who forges a source has others flooded with more than it sends.
pub const DEFAULT_SERVICES: &str = "echo,discard";

/// Ports below this are those of services (RFC 6335, section 6). A datagram from there may be the answer of one, and would
/// be answered without end: inetd refuses the same.
const SYSTEM_PORTS: u16 = 1024;
/// Longest time for which clients are told that the host ends, ns.
const FAREWELL: u64 = 100_000_000;

counters! {
    pub struct Served {
        /// Datagrams taken.
        pub received: u64,
        /// Datagrams refused: sent to a broadcast or a group, from the port of a service, or from the host itself.
        pub refused: u64,
        /// Answers sent.
        pub sent: u64,
        /// Answers that could not be sent.
        pub unsent: u64,
    }
}

pub struct Services {
    open: Vec<(&'static Service, UdpId, Served)>,
    buffer: Box<[u8]>,
}

/// A node with services: a machine for [`crate::run`].
pub struct Serving {
    pub(super) node: Node,
    services: Services,
    streams: Streams,
    /// It ends, by this time at the latest.
    ends: Option<u64>,
}

impl Services {
    /// Opens these services for all of a host's addresses.
    pub fn open(ip: &mut Ip, services: &[&'static Service]) -> Result<Self, BindError> {
        let mut open = Vec::new();
        for service in services.iter().filter(|service| service.is_of_udp()) {
            for any in [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)] {
                let id = ip.host.udp_bind(SocketAddr::new(any, service.port))?;
                // Answers of all hosts to one datagram, whose source may be forged, are a flood (CERT CA-1996-01).
                ip.host.udp_refuse_broadcasts(id);
                open.push((*service, id, Served::default()));
            }
        }
        Ok(Self { open, buffer: vec![0; 65536].into() })
    }

    /// Counters of each service, for each family.
    pub fn served(&self, host: &Host) -> impl Iterator<Item = (&'static Service, Served)> {
        let all = self.open.iter();
        all.map(|(service, id, served)| {
            (*service, Served { refused: served.refused + host.udp_refused(*id), ..*served })
        })
    }

    /// Answers what the host has received; true if there was something.
    pub(crate) fn serve(&mut self, now: u64, ip: &mut Ip, line: &mut Line) -> bool {
        let (mut worked, (host, mut tx)) = (false, ip.over(&mut line.tx));
        for (service, id, served) in &mut self.open {
            while let Some((n, _, from)) = host.udp_recv(*id, &mut self.buffer) {
                worked = true;
                if is_refused(host, from) {
                    served.refused += 1;
                    continue;
                }
                served.received += 1;
                let Some(n) = service.answer.and_then(|answer| answer(&mut self.buffer, n)) else { continue };
                match host.udp_send(now, *id, Some(from), &self.buffer[..n], &mut tx) {
                    Ok(()) => served.sent += 1,
                    Err(SendError::NoRoom) => {
                        // The ring may only want a sync; what finds no room then is lost, as on any wire.
                        tx.sync(now);
                        let again = host.udp_send(now, *id, Some(from), &self.buffer[..n], &mut tx).is_ok();
                        served.sent += u64::from(again);
                        served.unsent += u64::from(!again);
                    }
                    Err(_) => served.unsent += 1,
                }
            }
        }
        if worked {
            line.flush(now);
        }
        worked
    }
}

/// True if a datagram's source is nobody to be answered: two services that answer each other never end, and one forged
/// datagram would start them. Broadcasts and groups as sources have been dropped by IP (RFC 1122, section 3.2.1.3).
fn is_refused(host: &Host, from: SocketAddr) -> bool {
    from.port() < SYSTEM_PORTS
        || from.ip().is_unspecified()
        || host.addresses().iter().any(|ours| ours.addr() == from.ip())
}

impl Serving {
    /// Opens these services for all of the node's addresses.
    pub fn new(mut node: Node, offers: &[Offer]) -> Result<Self, BindError> {
        let services: Vec<_> = offers.iter().map(|offer| offer.service).collect();
        let services = Services::open(&mut node.ip, &services)?;
        let streams = Streams::open(&mut node.ip, offers)?;
        Ok(Self { node, services, streams, ends: None })
    }

    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The host, to be looked at or changed.
    pub fn host(&mut self) -> &mut Host {
        &mut self.node.ip.host
    }

    /// Takes an event of DCBX.
    pub fn poll_dcb(&mut self) -> Option<linerate_dcb::Event> {
        self.node.dcb_mut()?.poll_event()
    }

    /// Takes an event of the host ([`Host::poll_event`]).
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.node.ip.host.poll_event()
    }

    /// Its services' counters over TCP, for each family.
    pub fn streamed(&self) -> impl Iterator<Item = (&'static Service, Streamed)> {
        self.streams.streamed()
    }

    /// Its services' counters, for each family.
    pub fn served(&self) -> impl Iterator<Item = (&'static Service, Served)> {
        self.services.served(&self.node.ip.host)
    }
}

impl Machine for Serving {
    fn handle(&mut self, now: u64) -> Progress {
        let arrived = self.node.handle(now);
        if let Some(until) = self.ends {
            let held = self.node.dcb().is_some_and(DcbClient::is_held_up);
            let over = now >= until || self.node.ip.host.tcp_unsent().0 == 0 && !held;
            return if over { Progress::Done } else { Progress::Worked };
        }
        let (ip, line) = self.node.split();
        let streamed = self.streams.serve(now, &mut ip.host);
        if streamed {
            // What was written goes out at once.
            let (host, mut tx) = ip.over(&mut line.tx);
            host.poll(now, &mut tx);
            line.flush(now);
        }
        if self.services.serve(now, ip, line) || streamed || arrived { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.node.poll_timeout()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.node.waits_for(visit);
    }

    fn stop(&mut self, now: u64) {
        // Clients are told.
        self.node.ip.host.tcp_abort_all();
        self.node.dcb_mut().into_iter().for_each(DcbClient::stop);
        self.ends = Some(now.saturating_add(FAREWELL));
    }
}
