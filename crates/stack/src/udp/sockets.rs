//! The table of sockets: who listens where, what has arrived, and the header of the last datagram sent.

use super::inbox::Inbox;
use super::template::Template;
use super::{BindError, SendError};
use crate::address::Key;
use std::net::SocketAddr;

/// A socket of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UdpId(u16);

/// Most sockets of a host.
pub(super) const MOST: u16 = 4096;
/// Ports for those who do not mind (RFC 6335, section 6).
const EPHEMERAL: std::ops::RangeInclusive<u16> = 49152..=65535;

/// One socket.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) local: SocketAddr,
    pub(crate) remote: Option<SocketAddr>,
    /// The same as they are compared.
    here: Key,
    there: Option<(Key, u16)>,
    pub(crate) inbox: Inbox,
    pub(crate) template: Option<Template>,
    /// What an ICMP error said of an earlier datagram; told once.
    pub(crate) error: Option<SendError>,
    /// The next socket at this port, plus one.
    next: u16,
}

/// All sockets, and who is at which port.
#[derive(Debug)]
pub(crate) struct Sockets {
    slots: Vec<Option<Socket>>,
    /// For each port: the first socket there, plus one.
    at: Box<[u16]>,
    /// Place where the search for a free port begins.
    seek: u16,
}

impl Sockets {
    pub(crate) fn new(seed: u64) -> Self {
        let seek = u16::try_from(seed & 0x3fff).unwrap_or(0);
        Self { slots: Vec::new(), at: vec![0; 65536].into(), seek }
    }

    pub(crate) fn bind(&mut self, local: SocketAddr, capacity: usize) -> Result<UdpId, BindError> {
        let local = if local.port() == 0 { self.free_port(local)? } else { local };
        if self.taken(local) {
            return Err(BindError::InUse(local));
        }
        let free = self.slots.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        let Some(id) = u16::try_from(at).ok().filter(|id| *id < MOST) else {
            self.slots.truncate(MOST.into());
            return Err(BindError::Full);
        };
        let first = &mut self.at[usize::from(local.port())];
        let next = std::mem::replace(first, id + 1);
        let inbox = Inbox::new(capacity);
        let here = Key::new(local.ip());
        self.slots[at] =
            Some(Socket { local, remote: None, here, there: None, inbox, template: None, error: None, next });
        Ok(UdpId(id))
    }

    fn taken(&self, local: SocketAddr) -> bool {
        let clash = |s: &Socket| {
            s.local.is_ipv4() == local.is_ipv4()
                && (s.local.ip() == local.ip() || s.local.ip().is_unspecified() || local.ip().is_unspecified())
        };
        self.at_port(local.port()).any(|(_, s)| clash(s))
    }

    fn free_port(&mut self, local: SocketAddr) -> Result<SocketAddr, BindError> {
        let count = EPHEMERAL.end() - EPHEMERAL.start();
        for _ in 0..=count {
            self.seek = (self.seek + 1) % (count + 1);
            let candidate = SocketAddr::new(local.ip(), EPHEMERAL.start() + self.seek);
            if !self.taken(candidate) {
                return Ok(candidate);
            }
        }
        Err(BindError::Full)
    }

    fn at_port(&self, port: u16) -> impl Iterator<Item = (UdpId, &Socket)> {
        let mut next = self.at[usize::from(port)];
        std::iter::from_fn(move || {
            let id = next.checked_sub(1)?;
            let socket = self.slots.get(usize::from(id))?.as_ref()?;
            next = socket.next;
            Some((UdpId(id), socket))
        })
    }

    pub(crate) fn close(&mut self, id: UdpId) -> bool {
        let Some(socket) = self.slots.get_mut(usize::from(id.0)).and_then(Option::take) else { return false };
        let port = usize::from(socket.local.port());
        if self.at[port] == id.0 + 1 {
            self.at[port] = socket.next;
        } else {
            for other in self.slots.iter_mut().flatten() {
                if other.local.port() == socket.local.port() && other.next == id.0 + 1 {
                    other.next = socket.next;
                }
            }
        }
        true
    }

    #[inline]
    pub(crate) fn get(&self, id: UdpId) -> Option<&Socket> {
        self.slots.get(usize::from(id.0))?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: UdpId) -> Option<&mut Socket> {
        self.slots.get_mut(usize::from(id.0))?.as_mut()
    }

    /// Sets or clears whom a socket talks to; false if there is no such socket.
    pub(crate) fn connect(&mut self, id: UdpId, remote: Option<SocketAddr>) -> bool {
        let Some(socket) = self.get_mut(id) else { return false };
        socket.remote = remote;
        socket.there = remote.map(|to| (Key::new(to.ip()), to.port()));
        socket.template = None;
        socket.error = None;
        true
    }

    /// The socket that a datagram is for: the one connected to its sender, else the one at this address, else the one
    /// at all addresses, which is also the one for what went to everybody.
    #[inline]
    pub(crate) fn find(&mut self, to: (Key, u16), from: (Key, u16)) -> Option<&mut Socket> {
        let mut best = None;
        let mut next = self.at[usize::from(to.1)];
        while let Some(id) = next.checked_sub(1) {
            let Some(socket) = self.slots.get(usize::from(id)).and_then(Option::as_ref) else { break };
            next = socket.next;
            let here = socket.here == to.0;
            let meant = socket.there.is_none_or(|there| there == from);
            let rank = 1 + u8::from(here) + 2 * u8::from(socket.there.is_some());
            if (here || socket.here == to.0.any()) && meant && best.is_none_or(|(_, r)| rank > r) {
                best = Some((id, rank));
            }
        }
        self.slots.get_mut(usize::from(best?.0))?.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_closest_socket_gets_the_datagram() {
        let mut sockets = Sockets::new(0);
        let all = sockets.bind(at("0.0.0.0:7"), 100).unwrap();
        assert_eq!(sockets.bind(at("10.0.0.1:7"), 100), Err(BindError::InUse(at("10.0.0.1:7"))));
        assert_eq!(sockets.bind(at("[::]:7"), 100).map(|_| ()), Ok(()), "IPv6 has ports of its own");
        assert!(sockets.close(all) && !sockets.close(all));
        let one = sockets.bind(at("10.0.0.1:7"), 100).unwrap();
        let two = sockets.bind(at("10.0.0.2:7"), 100).unwrap();
        assert!(sockets.connect(two, Some(at("10.0.0.9:9"))));
        let key = |text: &str| (Key::new(at(text).ip()), at(text).port());
        let local = |s: &mut Sockets, to: &str, from: &str| s.find(key(to), key(from)).map(|s| s.local.to_string());
        assert_eq!(local(&mut sockets, "10.0.0.1:7", "1.1.1.1:1").as_deref(), Some("10.0.0.1:7"));
        assert_eq!(local(&mut sockets, "10.0.0.2:7", "10.0.0.9:9").as_deref(), Some("10.0.0.2:7"));
        assert_eq!(local(&mut sockets, "10.0.0.2:7", "10.0.0.9:8"), None, "connected to another port");
        assert_eq!(local(&mut sockets, "10.0.0.3:7", "1.1.1.1:1"), None);
        assert!(sockets.close(one));
        assert_eq!(local(&mut sockets, "10.0.0.1:7", "1.1.1.1:1"), None);
        assert_eq!(local(&mut sockets, "10.0.0.2:7", "10.0.0.9:9").as_deref(), Some("10.0.0.2:7"));
    }

    #[test]
    fn ports_and_sockets_are_bounded() {
        let mut sockets = Sockets::new(7);
        let ids: Vec<_> = (0..MOST).map(|_| sockets.bind(at("0.0.0.0:0"), 16).unwrap()).collect();
        assert_eq!(sockets.bind(at("0.0.0.0:0"), 16), Err(BindError::Full));
        let mut ports: Vec<u16> = ids.iter().map(|id| sockets.get(*id).unwrap().local.port()).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), usize::from(MOST), "each has a port of its own");
        assert!(ports.iter().all(|port| EPHEMERAL.contains(port)));
        assert!(sockets.close(ids[17]));
        assert!(sockets.bind(at("0.0.0.0:0"), 16).is_ok());
    }
}
