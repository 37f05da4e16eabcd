//! Streams of a client: opened one after the other, as the server counts them.

use crate::socket::{Site, Socket, UdpSocket};
use crate::stream::fault::Fault;
use crate::stream::figures::{Buffers, StreamInfo};
use crate::stream::protocol::{CONNECT, Cookie, is_accepted};
use crate::stream::run::Stream;
use crate::stream::settings::{Role, Settings, Transport};
use crate::stream::socket::{connect_tcp, connect_udp, settle};
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// Time for the server's answer to a datagram.
const ACCEPTS: Duration = Duration::from_secs(30);
/// Datagrams of streams that are open already, which may come before it.
const OTHERS: usize = 1000;

/// Opens all streams; those that send are the first. `told` hears of each.
pub(super) fn open(
    site: &Site,
    remote: SocketAddr,
    port: u16,
    settings: &Settings,
    cookie: &Cookie,
    mut told: impl FnMut(&StreamInfo, Buffers),
) -> Result<(Vec<Stream>, Option<String>), Fault> {
    let (receive, send) = settings.direction.split(Role::Client, settings.streams);
    let (mut streams, mut congestion) = (Vec::with_capacity(send + receive), None);
    for at in 0..send + receive {
        // The configuration has checked that there are so many.
        let own = if port > 0 { port.saturating_add(u16::try_from(at).unwrap_or(0)) } else { 0 };
        let (socket, sizes) = match settings.transport {
            Transport::Tcp => connect_tcp(site, remote, own, settings)?,
            Transport::Udp => connect_udp(site, remote, own, settings)?,
        };
        let introduced = match &socket {
            Socket::Tcp(stream) => { stream }.write_all(cookie.bytes()),
            Socket::Udp(socket) => introduce(socket),
        };
        introduced.map_err(Fault::StreamConnect)?;
        congestion = settle(&socket, settings, false)?;
        let info = StreamInfo::of(&socket, at < send).map_err(Fault::StreamConnect)?;
        told(&info, sizes);
        streams.push(Stream { socket, info });
    }
    Ok((streams, congestion))
}

/// Tells the server of a socket, and waits for its answer.
fn introduce(socket: &UdpSocket) -> std::io::Result<()> {
    socket.set_read_timeout(Some(ACCEPTS))?;
    socket.send(&CONNECT)?;
    let mut datagram = [0; 8];
    for _ in 0..OTHERS {
        let n = socket.recv(&mut datagram)?;
        if is_accepted(&datagram[..n]) {
            return socket.set_read_timeout(None);
        }
    }
    Err(ErrorKind::InvalidData.into())
}
