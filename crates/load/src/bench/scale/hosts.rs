//! A host with many sockets, routes or neighbours.

use super::super::alone::{Stretches, each_ns, on_core};
use super::super::udp_flood::{BODY, hosts};
use super::super::{Missing, Setting, failed};
use linerate_rt::Clock;
use linerate_rt::net::{Node, Options};
use linerate_stack::{Cidr, Path, Route, UdpId};
use linerate_text::saturating_ns;
use linerate_wire::MacAddr;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Datagrams between two clock readings.
const BATCH: usize = 256;
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// First address of the neighbours, the first of which is the router.
const THERE: u32 = 0x0a01_0000;
/// First address of the networks behind it, and the bits of each network's addresses.
const BEHIND: u32 = 0x2000_0000;
const EACH: u32 = 12;
const PORT: u16 = 9;

/// How much a measured host holds.
#[derive(Clone, Copy)]
pub(super) struct Many {
    pub(super) sockets: u16,
    pub(super) routes: u32,
    pub(super) neighbours: u32,
}

impl Many {
    pub(super) const ONE: Self = Self { sockets: 1, routes: 1, neighbours: 1 };
}

/// A host on `null:`, and the sockets and destinations that it sends from and to in turn.
struct Sender {
    node: Node,
    sockets: Vec<UdpId>,
    to: Vec<SocketAddr>,
    next: usize,
    clock: Clock,
}

impl Sender {
    fn new(many: Many) -> Result<Self, Missing> {
        let neighbours = usize::try_from(many.neighbours).unwrap_or(1);
        let mac = Some(MacAddr([2, 0, 0, 0, 0, 1]));
        let options = Options { mac, software: true, neighbours: Some(2 * neighbours), ..Options::default() };
        let address = Cidr::new(HERE.into(), 8).ok_or_else(|| failed("no address"))?;
        let mut node = Node::open("null:", &[address], &options).map_err(failed)?;
        let host = &mut node.ip.host;
        let mut to = Vec::new();
        for n in 0..many.neighbours {
            let [_, a, b, c] = n.to_be_bytes();
            let there = IpAddr::V4((THERE + n).into());
            host.neighbours().insert_permanent(there, MacAddr([2, 0, 1, a, b, c])).map_err(failed)?;
            to.push(SocketAddr::new(there, PORT));
        }
        if many.routes > 1 {
            to.clear();
            for n in 0..many.routes {
                let network = IpAddr::V4((BEHIND + (n << EACH)).into());
                let network = Cidr::new(network, 20).ok_or_else(|| failed("no network"))?;
                host.set_route(Route { to: network, via: Some(IpAddr::V4(THERE.into())) }).map_err(failed)?;
                to.push(SocketAddr::new(IpAddr::V4((BEHIND + (n << EACH) + 7).into()), PORT));
            }
        }
        let ports = 1000..1000 + many.sockets;
        let sockets = ports.map(|port| host.udp_bind((HERE, port).into())).collect::<Result<Vec<_>, _>>();
        let sockets = sockets.map_err(failed)?;
        if many.sockets > 1 {
            sockets.iter().for_each(|socket| {
                host.udp_connect(*socket, Some(to[0]));
            });
        } else {
            host.set_path(Path::Long);
        }
        Ok(Self { node, sockets, to, next: 0, clock: Clock::new() })
    }

    fn send(&mut self) -> Result<u64, Missing> {
        let Self { node, sockets, to, next, clock } = self;
        let now = clock.now();
        let (host, mut tx) = node.parts();
        for _ in 0..BATCH {
            // A stride that comes by all of them, and is no help to those who fetch ahead.
            *next = next.wrapping_add(7919);
            let to = (sockets.len() == 1).then(|| to[*next % to.len()]);
            host.udp_send(now, sockets[*next % sockets.len()], to, &[0x55; BODY], &mut tx).map_err(failed)?;
        }
        node.flush(now);
        Ok(BATCH as u64)
    }
}

/// Measures the time of a datagram from the send call to the ring, each from another socket or to another destination, ns.
pub(super) fn send(setting: &Setting, many: Many) -> Result<f64, Missing> {
    let time = setting.time;
    on_core(setting.cores[0], move || {
        let mut sender = Sender::new(many)?;
        each_ns(time, || sender.send())
    })
}

/// Measures the time of binding one more socket and closing it, ns.
pub(super) fn bind(setting: &Setting, sockets: u16) -> Result<f64, Missing> {
    let time = setting.time;
    on_core(setting.cores[0], move || {
        let mut sender = Sender::new(Many { sockets, ..Many::ONE })?;
        let host = &mut sender.node.ip.host;
        each_ns(time, || {
            for _ in 0..16 {
                let socket = host.udp_bind((HERE, 0).into()).map_err(failed)?;
                host.udp_close(socket);
            }
            Ok(16)
        })
    })
}

/// Measures the time in which a host takes a datagram from its ring to the one of its sockets that it is for, says which,
/// and hands it over, ns.
pub(super) fn receive(setting: &Setting, sockets: u16) -> Result<f64, Missing> {
    let limit = saturating_ns(setting.time);
    on_core(setting.cores[0], move || {
        let [(mut from, socket), (mut to, _)] = hosts("scale-sockets")?;
        let there = to.ip.host.addresses().first().ok_or_else(|| failed("no address"))?.addr();
        let mut wanted = Vec::new();
        for port in 1000..1000 + sockets {
            wanted.push(to.ip.host.udp_bind((there, port).into()).map_err(failed)?);
        }
        let (mut clock, mut times, mut next, mut wrong) = (Clock::new(), Stretches::new()?, 0u32, 0);
        let (until, mut now) = (clock.now() + limit, 0);
        while now < until {
            let mut sent = Vec::with_capacity(BATCH);
            let (host, mut tx) = from.parts();
            for _ in 0..BATCH {
                next = (next + 7919) % u32::from(sockets);
                let place = u16::try_from(next).unwrap_or(0);
                host.udp_send(now, socket, Some((there, 1000 + place).into()), &[7; BODY], &mut tx).map_err(failed)?;
                sent.push(wanted[usize::from(place)].index());
            }
            from.flush(now);
            let before = clock.now();
            while to.handle(before) {}
            let (mut came, mut body) = (Vec::with_capacity(BATCH), [0; BODY]);
            while let Some(id) = to.ip.host.udp_news() {
                while to.ip.host.udp_recv(id, &mut body).is_some() {
                    came.push(id.index());
                }
            }
            now = clock.now();
            times.add(now - before, came.len() as u64);
            came.sort_unstable();
            sent.sort_unstable();
            wrong += usize::from(came != sent);
            while from.handle(now) {}
        }
        match wrong {
            0 => times.each_ns(),
            _ => Err(failed(format!("{wrong} batches came to other sockets than they were sent to"))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn hosts_have_as_much_as_is_measured() {
        let cores = [linerate_rt::cpus()[0]; 2];
        let setting = Setting { cores, time: Duration::from_millis(5), rounds: 1, peers: None };
        for many in [
            Many::ONE,
            Many { sockets: 10_000, ..Many::ONE },
            Many { routes: 2000, ..Many::ONE },
            Many { neighbours: 10_000, ..Many::ONE },
        ] {
            assert!(send(&setting, many).unwrap() > 0.0);
        }
        assert!(bind(&setting, 10_000).unwrap() > 0.0 && receive(&setting, 300).unwrap() > 0.0);
    }
}
