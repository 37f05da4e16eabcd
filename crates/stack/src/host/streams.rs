//! Calls for TCP.

use super::Host;
use crate::tcp::{Config, Connection, End, Opening, State, TcpId, TcpListenerId, TcpMoving, TcpStray};
use crate::{BindError, SendError};
use bytes::Bytes;
use std::net::{IpAddr, SocketAddr};

impl Host {
    /// Listens for connections to a local address; an unspecified one means all of its family. At most `backlog` wait to be
    /// accepted.
    pub fn tcp_listen(&mut self, local: SocketAddr, backlog: usize) -> Result<TcpListenerId, BindError> {
        self.ip.follow();
        self.tcp.listen(&self.ip, local, backlog)
    }

    /// Switches Fast Open on for a listener (RFC 7413): clients are given cookies, and data that come with SYN and a cookie are
    /// taken at once. At most `most` connections have begun so at a time without having ended their handshake; 0 switches it
    /// off. False if there is no such listener.
    ///
    /// A SYN that the network doubles may bring the same data in a second connection: it is for servers to whom a request may
    /// come twice (section 6).
    pub fn tcp_fast_open(&mut self, id: TcpListenerId, most: usize) -> bool {
        self.tcp.sockets.set_fast_open(id, most)
    }

    /// Takes a connection that has come, with its peer; None if there is none.
    pub fn tcp_accept(&mut self, id: TcpListenerId) -> Option<(TcpId, SocketAddr)> {
        self.tcp.sockets.accept(id)
    }

    /// Closes a listener; connections that wait to be accepted are reset. False if it was closed already.
    pub fn tcp_unlisten(&mut self, id: TcpListenerId) -> bool {
        self.tcp.sockets.close_listener(id)
    }

    /// A listener to which a connection has come since it was last returned, once for each.
    pub fn tcp_arrival(&mut self) -> Option<TcpListenerId> {
        self.tcp.sockets.arrival()
    }

    /// Begins a connection; its SYN goes out with the next [`Host::poll`]. Without a local address one is chosen, and a port
    /// where that is 0.
    pub fn tcp_connect(&mut self, now: u64, local: Option<SocketAddr>, remote: SocketAddr) -> Result<TcpId, SendError> {
        self.tcp_connect_as(now, local, remote, Opening::default(), None).map(|(id, _)| id)
    }

    /// Begins a connection with bytes to be sent, by Fast Open (RFC 7413): if the server has given a cookie before, the first of
    /// them go with SYN, and its answer may come a round trip earlier. Otherwise SYN asks for a cookie, and they go as soon as
    /// the handshake is over; so they do wherever Fast Open fails. Returns how many of them were taken, as
    /// [`tcp_write`](Self::tcp_write) does.
    ///
    /// Bytes of a SYN may reach the server's user twice, when the network doubles it. So they should be a request that can be
    /// repeated without harm (section 6).
    pub fn tcp_connect_with(
        &mut self,
        now: u64,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        bytes: &[u8],
    ) -> Result<(TcpId, usize), SendError> {
        self.tcp_connect_as(now, local, remote, Opening::default(), Some(bytes))
    }

    /// The same with bytes or without, where the connection is to have this from its first segment on.
    pub fn tcp_connect_as(
        &mut self,
        now: u64,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        opening: Opening,
        bytes: Option<&[u8]>,
    ) -> Result<(TcpId, usize), SendError> {
        self.ip.follow();
        self.tcp.connect(&self.ip, now, (local, remote), opening, bytes)
    }

    /// Local end that a connection to this address would have, from this port if it is not 0: for a host of several shards, the
    /// others of which are told of it before one of them makes the connection.
    pub fn tcp_local(&mut self, now: u64, port: u16, remote: SocketAddr) -> Result<SocketAddr, SendError> {
        self.ip.follow();
        let any = if remote.is_ipv4() { IpAddr::from([0_u8; 4]) } else { IpAddr::from([0_u8; 16]) };
        self.tcp.local(&self.ip, now, Some(SocketAddr::new(any, port)), remote).map(|(local, _)| local)
    }

    /// Expects the answer to a connection that another shard makes: it comes to whichever the port chooses, and is given out
    /// by [`Host::tcp_stray`]. False if this shard has a connection with these ends.
    pub fn tcp_expect(&mut self, local: SocketAddr, remote: SocketAddr) -> bool {
        self.tcp.expect(local, remote)
    }

    /// Expects it no more.
    pub fn tcp_expect_no_more(&mut self, local: SocketAddr, remote: SocketAddr) {
        self.tcp.expect_no_more(local, remote);
    }

    /// A segment for a connection that another shard makes.
    pub fn tcp_stray(&mut self) -> Option<TcpStray> {
        self.tcp.stray()
    }

    /// Takes a connection out of this shard; its identifier means nothing from now on.
    pub fn tcp_take_out(&mut self, id: TcpId) -> Option<TcpMoving> {
        self.tcp.take_out(id)
    }

    /// Goes on with a connection of another shard, and with the segments that came for it here. None if there is no room.
    pub fn tcp_put_in(&mut self, now: u64, moving: TcpMoving, strays: &[TcpStray]) -> Option<TcpId> {
        self.tcp.put_in(now, moving, strays)
    }

    /// Takes bytes to be sent, as many as there is room for: they go out with the next [`Host::poll`]. None if the connection's
    /// sending side is closed, or it is none.
    pub fn tcp_write(&mut self, id: TcpId, bytes: &[u8]) -> Option<usize> {
        self.tcp.write(id, bytes)
    }

    /// Reads bytes that have arrived; None if there is no such connection. 0 is the end if [`Connection::is_at_end`].
    pub fn tcp_read(&mut self, id: TcpId, into: &mut [u8]) -> Option<usize> {
        self.tcp.read(id, into)
    }

    /// Takes bytes to be sent from the front of a buffer, which is left where it is until they are acknowledged
    /// ([`Connection::write_chunk`]). None if the connection's sending side is closed, or it is none.
    pub fn tcp_write_chunk(&mut self, id: TcpId, chunk: &mut Bytes) -> Option<usize> {
        self.tcp.write_chunk(id, chunk)
    }

    /// Shows `read` the bytes that have arrived, where they lie, in two pieces of which the second follows the first; drops as
    /// many of them as it says, and gives their number. None if there is no such connection.
    pub fn tcp_read_with(&mut self, id: TcpId, read: impl FnOnce([&[u8]; 2]) -> usize) -> Option<usize> {
        self.tcp.read_with(id, read)
    }

    /// Closes the sending side: FIN follows what was written.
    pub fn tcp_close(&mut self, id: TcpId) -> bool {
        self.tcp.close(id)
    }

    /// Resets a connection.
    pub fn tcp_abort(&mut self, id: TcpId) -> bool {
        self.tcp.abort(id)
    }

    /// Needs a connection no more: it is closed, and goes when it has ended. If there was something to be read, it is reset.
    pub fn tcp_release(&mut self, id: TcpId) -> bool {
        self.tcp.sockets.release(id)
    }

    /// A connection, to be looked at.
    #[must_use]
    pub fn tcp_connection(&self, id: TcpId) -> Option<&Connection> {
        self.tcp.connection(id)
    }

    /// Local and remote end of a connection.
    #[must_use]
    pub fn tcp_ends(&self, id: TcpId) -> Option<(SocketAddr, SocketAddr)> {
        self.tcp.ends(id)
    }

    /// State of a connection, and why it has ended.
    #[must_use]
    pub fn tcp_state(&self, id: TcpId) -> Option<(State, Option<End>)> {
        self.tcp.state(id)
    }

    /// Local end of a listener; None if it is closed.
    #[must_use]
    pub fn tcp_listener_end(&self, id: TcpListenerId) -> Option<SocketAddr> {
        self.tcp.sockets.listener_end(id)
    }

    /// Settings of the connections and listeners that are made from now on.
    pub fn tcp_config(&mut self) -> &mut Config {
        &mut self.tcp.config
    }

    /// Changes the settings of one connection; false if there is none.
    pub fn tcp_change(&mut self, id: TcpId, change: impl FnOnce(&mut Connection)) -> bool {
        self.tcp.change(id, change)
    }

    /// Resets all connections, but for those that are closed here and whose peers know it: for the end of a host, of which its
    /// peers would learn by time-outs only. The segments go out with the next [`Host::poll`]s, until [`Host::tcp_unsent`] tells of
    /// none.
    pub fn tcp_abort_all(&mut self) {
        self.tcp.sockets.abort_all();
    }

    /// Number of connections whose peer has not acknowledged all that was written or the FIN, and the bytes that those have
    /// had acknowledged: who ends a host waits for them while that grows.
    #[must_use]
    pub fn tcp_unsent(&self) -> (usize, u64) {
        self.tcp.sockets.unsent()
    }

    /// Bytes of memory of all connections, as of when each was last looked at.
    #[must_use]
    pub fn tcp_memory(&self) -> usize {
        self.tcp.sockets.shares.held()
    }

    /// Number of connections.
    #[must_use]
    pub fn tcp_connections(&self) -> usize {
        self.tcp.sockets.len()
    }

    /// All connections, with their local and remote ends.
    pub fn tcp_all(&self) -> impl Iterator<Item = (SocketAddr, SocketAddr, &Connection)> {
        self.tcp.sockets.all()
    }

    /// Takes a connection of which something may be new since it was last returned: bytes, room, or its end.
    pub fn tcp_news(&mut self) -> Option<TcpId> {
        self.tcp.sockets.news()
    }
}
