//! Plain IP hosts that send as much as TCP lets them, each over one connection to an IP host on the target's port.

use super::datagrams::{FIRST, address, settings};
use super::{San, SimulateError, Stream};
use linerate_port::Port;
use linerate_rt::net::Node;
use linerate_stack::Host;
use linerate_stack::tcp::{Ecn, TcpId, TcpListenerId};
use linerate_wire::MacAddr;
use std::net::SocketAddr;
use std::ops::Range;

/// Bytes written at once, and read.
const PIECE: usize = 64 << 10;

/// A host that sends; its connection asks for ECN.
pub(super) struct Writer {
    node: Node,
    connection: Option<TcpId>,
    remote: SocketAddr,
    body: Vec<u8>,
    /// Time at which it begins, and times that count, behind which it ends.
    begun: Option<u64>,
    window: Range<u64>,
}

impl Writer {
    /// Host `number`, counted from 1.
    pub(super) fn new(san: &San, number: u16, port: Port, mac: MacAddr) -> Result<Self, SimulateError> {
        let (cidr, options) = settings(san, number, mac)?;
        let mut node = Node::over(port, &[cidr], &options)?;
        node.parts().0.tcp_config().ecn = Ecn::Ask;
        let remote = SocketAddr::new(address(0), FIRST);
        Ok(Self { node, connection: None, remote, body: vec![0x5a; PIECE], begun: None, window: 0..0 })
    }

    /// Begins to send.
    pub(super) fn begin(&mut self, now: u64, window: &Range<u64>) {
        (self.begun, self.window) = (Some(now), window.clone());
    }

    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Does what the host does, and writes what there is room for; true if there was something.
    pub(super) fn handle(&mut self, now: u64) -> bool {
        let mut worked = self.node.handle(now);
        if self.begun.is_some_and(|begun| begun <= now) && now < self.window.end {
            let (host, _) = self.node.parts();
            if self.connection.is_none() {
                self.connection = host.tcp_connect(now, None, self.remote).ok();
                worked = true;
            }
            let wrote = self.connection.and_then(|id| host.tcp_write(id, &self.body)).unwrap_or(0);
            if worked || wrote > 0 {
                self.node.answer(now);
            }
            worked |= wrote > 0;
        }
        worked
    }

    /// Local end of the connection, and the number of segments that were sent again.
    fn told(&mut self) -> Option<(SocketAddr, u64)> {
        let id = self.connection?;
        let (host, _) = self.node.parts();
        let again = host.tcp_connection(id)?.counters().segments_again;
        Some((host.tcp_ends(id)?.0, again.into()))
    }
}

/// Reader of what comes to the target's host.
pub(super) struct Reader {
    listener: TcpListenerId,
    /// Connections, their peers, and the bytes that came over them in the time that counts.
    all: Vec<(TcpId, SocketAddr, u64)>,
    piece: Vec<u8>,
}

impl Reader {
    pub(super) fn new(san: &San, host: &mut Host) -> Result<Self, SimulateError> {
        let listener = host.tcp_listen(SocketAddr::new(address(0), FIRST), san.hosts.into());
        let listener = listener.map_err(|_| SimulateError::Hosts)?;
        Ok(Self { listener, all: Vec::new(), piece: vec![0; PIECE] })
    }

    /// Reads all that has come; true if there was something, and windows may have to be told.
    pub(super) fn take(&mut self, now: u64, window: &Range<u64>, host: &mut Host) -> bool {
        let mut any = false;
        while let Some((id, peer)) = host.tcp_accept(self.listener) {
            self.all.push((id, peer, 0));
        }
        for (id, _, bytes) in &mut self.all {
            while let Some(n @ 1..) = host.tcp_read(*id, &mut self.piece) {
                *bytes += if window.contains(&now) { n as u64 } else { 0 };
                any = true;
            }
        }
        any
    }

    /// Results of a host.
    pub(super) fn stream(&self, name: &str, writer: &mut Writer) -> Stream {
        let told = writer.told();
        let of = |(end, _): (SocketAddr, u64)| self.all.iter().find(|(_, peer, _)| *peer == end);
        let bytes = told.and_then(of).map_or(0, |(_, _, bytes)| *bytes);
        let resent = Some(told.map_or(0, |(_, again)| again));
        Stream { name: name.to_owned(), sent: 0, refused: 0, received: 0, resent, bytes, latency: None }
    }
}
