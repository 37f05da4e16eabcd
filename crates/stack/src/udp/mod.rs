//! UDP: sockets, their received datagrams, and three paths for datagrams that they send.
//!
//! It uses IP, which is passed in, so that other protocols can use the same layer. Sent datagrams are made by [`send`];
//! received ones come by [`Udp::deliver`], the fast path, and [`Udp::take`]. Errors of lower layers about sent
//! datagrams come by [`Udp::report`].
//!
//! Out of scope: it sends no errors about received datagrams; it returns the reason for which it refused them.

mod error;
mod flow;
mod header;
mod inbox;
mod input;
mod output;
mod prepared;
mod sockets;
mod template;

use crate::address::Own;
use crate::counters::{Counters, Discard};
use crate::ip::{Ip, Traffic};
use crate::secret::Keyed;
pub use error::{BindError, SendError};
use flow::Flows;
pub use inbox::Inbox;
pub(crate) use output::send;
pub use prepared::Prepared;
use sockets::Sockets;
pub use sockets::UdpId;
use std::net::SocketAddr;

/// Checksums that the adapter completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fills {
    /// TXCSUM.
    pub v4: bool,
    /// TXCSUM_IPV6.
    pub v6: bool,
}

/// Paths that sent datagrams may take; each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Path {
    /// No caching: route and neighbour are looked up, and all headers made, for each datagram.
    Long,
    /// Route and neighbour are cached by destination.
    Flow,
    /// Whole headers are cached in the socket.
    #[default]
    Fast,
}

/// Owner of UDP and the IP layer under it: senders pass one pointer for both, as registers are few.
pub(crate) trait OnIp {
    /// Both layers.
    fn layers(&mut self) -> (&mut Udp, &mut Ip);
}

/// UDP layer of a host.
#[derive(Debug)]
pub(crate) struct Udp {
    sockets: Sockets,
    flows: Flows,
    /// Capacity of a socket's queue, in bytes.
    inbox: usize,
    pub(crate) fills: Fills,
    pub(crate) path: Path,
}

impl Udp {
    /// Makes a layer without sockets.
    pub(crate) fn new(inbox: usize, fills: Fills, key: Keyed) -> Self {
        Self { sockets: Sockets::new(key), flows: Flows::default(), inbox, fills, path: Path::Fast }
    }

    /// Makes a layer of another shard, without sockets.
    pub(crate) fn shard(&self) -> Self {
        Self { path: self.path, ..Self::new(self.inbox, self.fills, self.sockets.key) }
    }

    pub(crate) fn bind(
        &mut self,
        local: SocketAddr,
        remote: Option<SocketAddr>,
        own: &Own,
    ) -> Result<UdpId, BindError> {
        if !local.ip().is_unspecified() && !own.is_ours(local.ip()) {
            return Err(BindError::NotOurs(local.ip()));
        }
        self.sockets.bind(local, remote, self.inbox)
    }

    pub(crate) fn close(&mut self, id: UdpId) -> bool {
        self.sockets.close(id)
    }

    pub(crate) fn connect(&mut self, id: UdpId, remote: Option<SocketAddr>) -> bool {
        self.sockets.connect(id, remote)
    }

    /// Headers that were made before hold no more.
    pub(crate) fn set_traffic(&mut self, id: UdpId, traffic: Traffic) -> bool {
        let Some(socket) = self.sockets.get_mut(id) else { return false };
        (socket.traffic, socket.template) = (traffic, None);
        true
    }

    pub(crate) fn refuse_broadcasts(&mut self, id: UdpId) -> bool {
        self.sockets.refuse_broadcasts(id)
    }

    pub(crate) fn refused(&self, id: UdpId) -> u64 {
        self.sockets.refused(id)
    }

    pub(crate) fn ends(&self, id: UdpId) -> Option<(SocketAddr, Option<SocketAddr>)> {
        self.sockets.get(id).map(|s| (s.local, s.remote))
    }

    #[inline]
    pub(crate) fn recv(&mut self, id: UdpId, into: &mut [u8]) -> Option<(usize, usize, SocketAddr)> {
        self.sockets.get_mut(id)?.inbox.pop(into)
    }

    pub(crate) fn waiting(&self, id: UdpId) -> usize {
        self.sockets.get(id).map_or(0, |s| s.inbox.len())
    }

    pub(crate) fn error(&mut self, id: UdpId) -> Option<SendError> {
        self.sockets.get_mut(id)?.error.take()
    }

    #[inline]
    pub(crate) fn news(&mut self) -> Option<UdpId> {
        self.sockets.news()
    }

    #[inline]
    pub(crate) fn fills(&mut self) -> bool {
        self.sockets.fills()
    }

    /// An empty queue of the size that sockets have.
    pub(crate) fn inbox(&self) -> Inbox {
        Inbox::new(self.inbox)
    }

    pub(crate) fn hand_over(
        &mut self,
        id: UdpId,
        to: &mut Inbox,
        counters: &mut Counters,
    ) -> (usize, Option<SendError>) {
        let Some(socket) = self.sockets.get_mut(id) else { return (0, None) };
        let came = socket.inbox.len();
        let dropped = to.take_from(&mut socket.inbox);
        for _ in 0..dropped {
            counters.udp_received -= 1;
            counters.discard(Discard::QueueFull);
        }
        (came - dropped, socket.error.take())
    }
}
