//! Data sockets of a host of our own. What its stack has not is refused before anything is made.

use super::{CONNECTS, Listener, TICK, Unconnected};
use crate::netperf::fault::Fault;
use crate::netperf::timer::Shared;
use crate::socket::{Options, Site, Sizes, TcpStream, Transport, UdpSocket};
use linerate_stack::tcp::Config;
use linerate_text::cut;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Instant;

/// Buffers with which a connection begins; those that nobody has chosen grow with the path.
fn first(wanted: &Options) -> Sizes {
    let (send, receive) = wanted.own_buffers();
    Sizes { send: send.unwrap_or(Config::FIRST), receive: receive.unwrap_or(Config::FIRST) }
}

/// Sets the options of a connection, and has its calls return now and then.
pub(super) fn settle(of: &TcpStream, wanted: &Options) {
    // Those of our own stack do not fail.
    let _ = of.set_read_timeout(Some(TICK)).and_then(|()| of.set_write_timeout(Some(TICK)));
    wanted.set_own(of);
}

/// A socket for datagrams at this address; `None` if the sockets are the kernel's. All have queues of one size, and none to send.
pub(super) fn datagrams(site: &Site, own: SocketAddr, wanted: &Options) -> Option<Result<(UdpSocket, Sizes), Fault>> {
    let socket = site.datagrams_at(own)?;
    let made = || {
        wanted.check_own(Transport::Udp)?;
        let socket = socket.map_err(|error| Fault::Option { what: "own address", error })?;
        socket.set_read_timeout(Some(TICK)).map_err(|error| Fault::Option { what: "time limit", error })?;
        Ok((socket, Sizes { send: 0, receive: cut(linerate_stack::Config::INBOX, u32::MAX) }))
    };
    Some(made())
}

/// A listener at this address; `None` if the sockets are the kernel's.
pub(super) fn listener(site: &Site, own: SocketAddr, wanted: &Options) -> Option<Result<(Listener, Sizes), Fault>> {
    let listener = site.listen_at(own, TICK)?;
    let made = || {
        wanted.check_own(Transport::Tcp)?;
        let listener = listener.map_err(|error| Fault::Option { what: "listen", error })?;
        Ok((Listener { listener, options: Some(wanted.clone()) }, first(wanted)))
    };
    Some(made())
}

/// A connection that is not made yet; `None` if the sockets are the kernel's.
pub(super) fn unconnected(site: &Site, wanted: &Options) -> Option<Result<(Unconnected, Sizes), Fault>> {
    let made = |()| (Unconnected::Own(site.clone(), wanted.clone()), first(wanted));
    site.is_own().then(|| Ok(wanted.check_own(Transport::Tcp).map(made)?))
}

/// Connects; `None` if the time was over before.
pub(super) fn connect(
    site: &Site,
    options: &Options,
    to: SocketAddr,
    time: &Shared,
) -> Result<Option<TcpStream>, Fault> {
    let begin = Instant::now();
    let goes_on = || !time.is_over() && begin.elapsed() < CONNECTS;
    let made = site.connect_while(to, TICK, goes_on).unwrap_or(Ok(None)).map_err(Fault::DataConnect)?;
    match made {
        None if time.is_over() => Ok(None),
        None => Err(Fault::DataConnect(ErrorKind::TimedOut.into())),
        Some(stream) => {
            settle(&stream, options);
            Ok(Some(stream))
        }
    }
}
