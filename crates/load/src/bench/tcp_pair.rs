//! Two hosts at the ends of a cable that know each other, for benches of TCP.

use super::{Missing, failed};
use linerate_rt::Clock;
use linerate_rt::net::{Node, Options};
use linerate_stack::Cidr;
use linerate_stack::tcp::{State, TcpId, TcpListenerId};
use linerate_wire::MacAddr;
use std::net::{Ipv4Addr, SocketAddr};

pub(super) const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
pub(super) const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];
/// Longest time for a handshake, and without a byte, in ns.
pub(super) const PATIENCE: u64 = 10_000_000_000;

/// Opens a cable of this name and a host at each end of it.
pub(super) fn hosts(name: &str, slots: u32) -> Result<[Node; 2], Missing> {
    let cidr = |at: usize| Cidr::new(HOSTS[at].into(), 24).ok_or_else(|| failed("no address"));
    let addresses: [&[Cidr]; 2] = [&[cidr(0)?], &[cidr(1)?]];
    let ports = ["{1", "}1"].map(|end| format!("cable:{name}{end},slots={slots}"));
    let nodes = Node::open_all(&[&ports[0], &ports[1]], &addresses, &Options::default()).map_err(failed)?;
    let mut nodes = <[Node; 2]>::try_from(nodes).map_err(|_| failed("there are two ends"))?;
    for (at, node) in nodes.iter_mut().enumerate() {
        node.set_mac(MACS[at]).map_err(failed)?;
        node.ip.host.neighbours().insert_permanent(HOSTS[1 - at].into(), MACS[1 - at]).map_err(failed)?;
    }
    Ok(nodes)
}

/// A listener of the second host.
pub(super) fn listen(hosts: &mut [Node; 2], port: u16) -> Result<TcpListenerId, Missing> {
    hosts[1].ip.host.tcp_listen((HOSTS[1], port).into(), 1024).map_err(failed)
}

/// Makes so many connections from the first host to a listener of the second; their identifiers at both.
pub(super) fn connect(
    hosts: &mut [Node; 2],
    listener: TcpListenerId,
    count: usize,
) -> Result<Vec<(TcpId, TcpId)>, Missing> {
    let to: SocketAddr = hosts[1].ip.host.tcp_listener_end(listener).ok_or_else(|| failed("nobody listens"))?;
    let mut clock = Clock::new();
    let until = clock.now() + PATIENCE;
    let ours = (0..count).map(|_| hosts[0].ip.host.tcp_connect(clock.now(), None, to).map_err(failed));
    let ours = ours.collect::<Result<Vec<_>, _>>()?;
    let mut theirs = Vec::with_capacity(count);
    loop {
        let now = clock.now();
        for host in hosts.iter_mut() {
            host.handle(now);
        }
        while let Some((id, _)) = hosts[1].ip.host.tcp_accept(listener) {
            theirs.push(id);
        }
        let stands = |id: &TcpId| hosts[0].ip.host.tcp_state(*id).is_some_and(|(state, _)| state == State::Established);
        if theirs.len() == count && ours.iter().all(stands) {
            return Ok(ours.into_iter().zip(theirs).collect());
        }
        if now > until {
            return Err(failed(format!("{} of {count} connections were made", theirs.len())));
        }
    }
}
