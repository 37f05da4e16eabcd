//! The table of sockets: bindings, received datagrams, and the header of the last datagram sent.

use super::inbox::Inbox;
use super::template::Template;
use super::{BindError, SendError};
use crate::address::Key;
use crate::ip::Traffic;
use crate::secret::{EPHEMERAL, Keyed, port};
use std::hash::BuildHasher;
use std::net::SocketAddr;

/// Identifier of a socket of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UdpId(u16);

impl UdpId {
    /// Index in the host's table: a small number, reused after the socket was closed.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// Most sockets of a host.
pub(super) const MOST: u16 = 16_384;

/// One socket.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) local: SocketAddr,
    pub(crate) remote: Option<SocketAddr>,
    /// Local and remote address, in the form in which they are compared.
    here: Key,
    there: Option<(Key, u16)>,
    pub(crate) inbox: Inbox,
    pub(crate) template: Option<Template>,
    /// Traffic class and flow label of what it sends.
    pub(crate) traffic: Traffic,
    /// ICMP error about an earlier datagram; reported once.
    pub(crate) error: Option<SendError>,
    /// The socket is in the list of those with news.
    listed: bool,
    /// It takes no datagrams to a broadcast or a group; the number of those refused.
    refuses: bool,
    refused: u64,
    /// Index of the next socket at this port, plus one; 0 for none.
    next: u16,
}

/// All sockets, and the sockets of each port.
#[derive(Debug)]
pub(crate) struct Sockets {
    slots: Vec<Option<Socket>>,
    /// Places of closed sockets.
    free: Vec<u16>,
    /// Index of the first socket at each port, plus one; 0 for none.
    at: Box<[u16]>,
    /// Key of the ports that are chosen, and how many were.
    pub(super) key: Keyed,
    chosen: u32,
    /// Sockets with a new datagram or error since they were last returned, each once.
    news: Vec<UdpId>,
    /// A datagram came to one that is filling since that was last asked.
    filling: bool,
}

impl Sockets {
    pub(crate) fn new(key: Keyed) -> Self {
        let (slots, free, at) = (Vec::new(), Vec::new(), vec![0; 65536].into());
        Self { slots, free, at, key, chosen: 0, news: Vec::new(), filling: false }
    }

    /// Opens a socket: for everybody, or for one peer; beside one for everybody, or for other peers.
    pub(crate) fn bind(
        &mut self,
        local: SocketAddr,
        remote: Option<SocketAddr>,
        capacity: usize,
    ) -> Result<UdpId, BindError> {
        let local = if local.port() == 0 { self.free_port(local)? } else { local };
        if self.taken(local, remote) {
            return Err(BindError::InUse(local));
        }
        let new = || u16::try_from(self.slots.len()).ok().filter(|id| *id < MOST);
        let Some(id) = self.free.last().copied().or_else(new) else { return Err(BindError::Full) };
        let at = usize::from(id);
        match self.free.pop() {
            None => self.slots.push(None),
            Some(_) => debug_assert!(self.slots[at].is_none()),
        }
        let first = &mut self.at[usize::from(local.port())];
        let next = std::mem::replace(first, id + 1);
        let inbox = Inbox::new(capacity);
        let here = Key::new(local.ip());
        self.slots[at] = Some(Socket {
            local,
            remote,
            here,
            there: remote.map(|to| (Key::new(to.ip()), to.port())),
            inbox,
            template: None,
            traffic: Traffic::default(),
            error: None,
            listed: false,
            refuses: false,
            refused: 0,
            next,
        });
        Ok(UdpId(id))
    }

    fn taken(&self, local: SocketAddr, remote: Option<SocketAddr>) -> bool {
        let clash = |s: &Socket| {
            s.local.is_ipv4() == local.is_ipv4()
                && (remote.is_none() || s.remote == remote)
                && (s.local.ip() == local.ip() || s.local.ip().is_unspecified() || local.ip().is_unspecified())
        };
        self.at_port(local.port()).any(|(_, s)| clash(s))
    }

    fn free_port(&mut self, local: SocketAddr) -> Result<SocketAddr, BindError> {
        self.chosen = self.chosen.wrapping_add(1);
        let begin = self.key.hash_one(self.chosen);
        let mut all = EPHEMERAL.zip(0..).map(|(_, n)| SocketAddr::new(local.ip(), port(begin.wrapping_add(n))));
        all.find(|candidate| !self.taken(*candidate, None)).ok_or(BindError::Full)
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
        if socket.listed {
            self.news.retain(|other| *other != id);
        }
        self.free.push(id.0);
        let port = usize::from(socket.local.port());
        let mut before = self.at[port];
        if before == id.0 + 1 {
            self.at[port] = socket.next;
            return true;
        }
        // The sockets of its port, up to the one before it.
        while let Some(other) = before.checked_sub(1).and_then(|at| self.slots[usize::from(at)].as_mut()) {
            before = other.next;
            if before == id.0 + 1 {
                other.next = socket.next;
                break;
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

    /// Sets or clears a socket's peer; false if there is no such socket.
    pub(crate) fn connect(&mut self, id: UdpId, remote: Option<SocketAddr>) -> bool {
        let Some(socket) = self.get_mut(id) else { return false };
        socket.remote = remote;
        socket.there = remote.map(|to| (Key::new(to.ip()), to.port()));
        socket.template = None;
        socket.error = None;
        true
    }

    /// Finds the socket for a datagram: the one connected to its sender, else the one at this address, else the one at
    /// all addresses, which also gets broadcasts and multicasts.
    #[inline]
    pub(crate) fn find(&self, to: (Key, u16), from: (Key, u16)) -> Option<UdpId> {
        let mut best = None;
        let mut next = self.at[usize::from(to.1)];
        while let Some(id) = next.checked_sub(1) {
            let Some(socket) = self.slots.get(usize::from(id)).and_then(Option::as_ref) else { break };
            next = socket.next;
            let here = socket.here == to.0;
            let meant = socket.there.is_none_or(|there| there == from);
            let rank = u8::from(here) + 2 * u8::from(socket.there.is_some());
            if (here || socket.here == to.0.any()) && meant && best.is_none_or(|(_, r)| rank > r) {
                best = Some((id, rank));
            }
        }
        best.map(|(id, _)| UdpId(id))
    }

    /// Queues a datagram for its socket: false if the queue is full, None if there is no socket for it.
    #[inline]
    pub(crate) fn push(&mut self, to: (Key, u16), from: (Key, u16), datagram: &[u8]) -> Option<bool> {
        let id = self.find(to, from)?;
        let socket = self.slots.get_mut(usize::from(id.0))?.as_mut()?;
        let room = socket.inbox.push(from, datagram);
        if room && !socket.listed {
            socket.listed = true;
            self.news.push(id);
        }
        self.filling |= room && socket.inbox.is_filling();
        Some(room)
    }

    /// Makes a socket refuse datagrams to broadcasts and groups; false if there is no such socket.
    pub(crate) fn refuse_broadcasts(&mut self, id: UdpId) -> bool {
        let socket = self.get_mut(id);
        socket.map(|socket| socket.refuses = true).is_some()
    }

    /// Number of datagrams that a socket has refused.
    pub(crate) fn refused(&self, id: UdpId) -> u64 {
        self.get(id).map_or(0, |socket| socket.refused)
    }

    /// True if the socket for a datagram to a broadcast or a group refuses it, which is counted.
    pub(crate) fn refuses(&mut self, to: (Key, u16), from: (Key, u16)) -> bool {
        let Some(socket) = self.find(to, from).and_then(|id| self.get_mut(id)) else { return false };
        socket.refused += u64::from(socket.refuses);
        socket.refuses
    }

    /// Stores an error for a socket.
    pub(crate) fn tell(&mut self, id: UdpId, error: SendError) {
        let Some(socket) = self.slots.get_mut(usize::from(id.0)).and_then(Option::as_mut) else { return };
        socket.error = Some(error);
        // The header template is dropped, so that the next send reports the error.
        socket.template = None;
        if !std::mem::replace(&mut socket.listed, true) {
            self.news.push(id);
        }
    }

    /// True, once, if a datagram came to a queue that is filling.
    #[inline]
    pub(crate) fn fills(&mut self) -> bool {
        std::mem::take(&mut self.filling)
    }

    /// Takes a socket from the list of those with news.
    #[inline]
    pub(crate) fn news(&mut self) -> Option<UdpId> {
        let id = self.news.pop()?;
        if let Some(socket) = self.get_mut(id) {
            socket.listed = false;
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::{Secret, Use};

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_closest_socket_gets_the_datagram() {
        let mut sockets = Sockets::new(Secret::new(0).key(Use::UdpPort));
        let all = sockets.bind(at("0.0.0.0:7"), None, 100).unwrap();
        assert_eq!(sockets.bind(at("10.0.0.1:7"), None, 100), Err(BindError::InUse(at("10.0.0.1:7"))));
        assert_eq!(sockets.bind(at("[::]:7"), None, 100).map(|_| ()), Ok(()), "IPv6 has ports of its own");
        assert!(sockets.close(all) && !sockets.close(all));
        let one = sockets.bind(at("10.0.0.1:7"), None, 100).unwrap();
        let two = sockets.bind(at("10.0.0.2:7"), None, 100).unwrap();
        assert!(sockets.connect(two, Some(at("10.0.0.9:9"))));
        let key = |text: &str| (Key::new(at(text).ip()), at(text).port());
        let local = |s: &mut Sockets, to: &str, from: &str| {
            let id = s.find(key(to), key(from))?;
            s.get(id).map(|s| s.local.to_string())
        };
        assert_eq!(local(&mut sockets, "10.0.0.1:7", "1.1.1.1:1").as_deref(), Some("10.0.0.1:7"));
        assert_eq!(local(&mut sockets, "10.0.0.2:7", "10.0.0.9:9").as_deref(), Some("10.0.0.2:7"));
        assert_eq!(local(&mut sockets, "10.0.0.2:7", "10.0.0.9:8"), None, "connected to another port");
        assert_eq!(local(&mut sockets, "10.0.0.3:7", "1.1.1.1:1"), None);
        assert!(sockets.close(one));
        assert_eq!(local(&mut sockets, "10.0.0.1:7", "1.1.1.1:1"), None);
        assert_eq!(local(&mut sockets, "10.0.0.2:7", "10.0.0.9:9").as_deref(), Some("10.0.0.2:7"));
    }

    #[test]
    fn who_has_news_is_listed_once_and_not_after_its_end() {
        let mut sockets = Sockets::new(Secret::new(0).key(Use::UdpPort));
        let ids = [7, 8, 9].map(|port| sockets.bind(SocketAddr::new([0; 4].into(), port), None, 200).unwrap());
        let from = (Key::new([10, 0, 0, 9].into()), 9);
        let push = |sockets: &mut Sockets, port| sockets.push((Key::new([10, 0, 0, 1].into()), port), from, &[0; 64]);
        assert_eq!([7, 7, 7, 7, 7].map(|port| push(&mut sockets, port)), [true, true, true, true, false].map(Some));
        assert_eq!((push(&mut sockets, 9), push(&mut sockets, 10)), (Some(true), None));
        sockets.tell(ids[0], SendError::Refused);
        assert_eq!([(); 3].map(|()| sockets.news()), [Some(ids[2]), Some(ids[0]), None]);
        assert_eq!(push(&mut sockets, 7), Some(false));
        assert_eq!(sockets.news(), None, "what was dropped is no news");
        sockets.tell(ids[0], SendError::Refused);
        push(&mut sockets, 8);
        assert!(sockets.close(ids[1]));
        assert_eq!(sockets.bind(at("0.0.0.0:8"), None, 200), Ok(ids[1]));
        assert_eq!([(); 2].map(|()| sockets.news()), [Some(ids[0]), None]);
    }

    #[test]
    fn it_is_said_once_that_a_queue_is_filling() {
        let mut sockets = Sockets::new(Secret::new(0).key(Use::UdpPort));
        let id = sockets.bind(at("0.0.0.0:7"), None, 1024).unwrap();
        let from = (Key::new([10, 0, 0, 9].into()), 9);
        let mut push = |len| {
            let room = sockets.push((Key::new([10, 0, 0, 1].into()), 7), from, &[0; 600][..len]);
            (room, sockets.fills(), sockets.fills())
        };
        assert_eq!(push(256), (Some(true), false, false), "a quarter is not more than a quarter");
        assert_eq!(push(1), (Some(true), true, false));
        assert_eq!(push(1), (Some(true), true, false), "and again with the next");
        assert_eq!(
            (push(600), push(600)),
            ((Some(true), true, false), (Some(false), false, false)),
            "not if it is full"
        );
        while sockets.get_mut(id).unwrap().inbox.pop(&mut []).is_some() {}
        // Many small ones, too.
        let mut push = || {
            sockets.push((Key::new([10, 0, 0, 1].into()), 7), from, &[]);
            sockets.fills()
        };
        assert_eq!([(); 6].map(|()| push()), [false, false, false, false, true, true]);
    }

    #[test]
    fn ports_and_sockets_are_bounded() {
        let mut sockets = Sockets::new(Secret::new(7).key(Use::UdpPort));
        let ids: Vec<_> = (0..MOST).map(|_| sockets.bind(at("0.0.0.0:0"), None, 16).unwrap()).collect();
        assert_eq!(sockets.bind(at("0.0.0.0:0"), None, 16), Err(BindError::Full));
        let mut ports: Vec<u16> = ids.iter().map(|id| sockets.get(*id).unwrap().local.port()).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), usize::from(MOST), "each has a port of its own");
        assert!(ports.iter().all(|port| EPHEMERAL.contains(port)));
        assert!(sockets.close(ids[17]));
        assert!(sockets.bind(at("0.0.0.0:0"), None, 16).is_ok());
    }
}
