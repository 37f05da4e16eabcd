//! Data sockets of a host of our own. What its stack has not is refused before anything is made.

use super::{CONNECTS, Listener, Sizes, TICK, Unconnected, Wanted};
use crate::netperf::fault::Fault;
use crate::netperf::timer::Shared;
use crate::socket::{Site, TcpStream, UdpSocket, algorithm};
use linerate_rt::net;
use linerate_stack::tcp::{Algorithm, Config, Connection, KeepAlive};
use linerate_text::cut;
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Largest buffer that sends, and smallest one that receives, bytes.
const SENDS: u32 = 16 << 20;
const RECEIVES: u32 = 2048;

/// Options of a connection of our own, which are set once it stands.
#[derive(Clone, Copy, Debug)]
pub(in crate::netperf) struct Options {
    /// Buffers that are asked for.
    send: Option<u32>,
    receive: Option<u32>,
    no_delay: bool,
    keep_alive: bool,
    congestion: Option<Algorithm>,
}

/// Refuses what the stack has not.
fn unlike_kernel(wanted: &Wanted) -> Result<(), Fault> {
    // Zero is what every packet has.
    let asked = |value: Option<u32>| value.is_some_and(|n| n > 0);
    for (asked, what) in [(asked(wanted.priority), "priority"), (asked(wanted.tos), "type of service")] {
        if asked {
            return Err(not_there(what));
        }
    }
    Ok(())
}

fn not_there(what: &'static str) -> Fault {
    Fault::Option { what, error: Error::from_raw_os_error(libc::EOPNOTSUPP) }
}

impl Options {
    fn new(wanted: &Wanted) -> Result<Self, Fault> {
        unlike_kernel(wanted)?;
        let usual = Config::default();
        let named = |name: &str| algorithm(name).map_err(|error| Fault::Option { what: "congestion control", error });
        Ok(Self {
            // As the kernel: what is beyond the limits is cut, and the size that is given is reported. Windows are scaled for
            // the usual size, so there is none that is larger.
            send: wanted.send.map(|size| size.min(SENDS)),
            receive: wanted.receive.map(|size| size.clamp(RECEIVES, usual.receive)),
            no_delay: wanted.no_delay,
            keep_alive: wanted.keep_alive,
            congestion: Some(&*wanted.congestion).filter(|name| !name.is_empty()).map(named).transpose()?,
        })
    }

    /// Buffers with which a connection begins; those that nobody has chosen grow with the path.
    fn sizes(&self) -> Sizes {
        Sizes { send: self.send.unwrap_or(Config::FIRST), receive: self.receive.unwrap_or(Config::FIRST) }
    }

    /// Sets them, and has calls return now and then.
    pub(super) fn settle(&self, of: &TcpStream) {
        let TcpStream::Own(stream, _) = of else { return };
        stream.set_read_timeout(Some(TICK));
        stream.set_write_timeout(Some(TICK));
        if self.send.is_some() || self.receive.is_some() {
            let has = sizes(stream);
            stream.set_buffers(self.send.unwrap_or(has.send), self.receive.unwrap_or(has.receive));
        }
        if self.no_delay {
            stream.set_nodelay(true);
        }
        if self.keep_alive {
            stream.set_keep_alive(Some(Duration::from_nanos(KeepAlive::default().idle)));
        }
        if let Some(algorithm) = self.congestion {
            stream.set_congestion(algorithm);
        }
    }
}

pub(super) fn sizes(of: &net::TcpStream) -> Sizes {
    let (send, receive) = of.look(Connection::buffers).unwrap_or_default();
    Sizes { send, receive }
}

/// A socket for datagrams at this address; `None` if the sockets are the kernel's. All have queues of one size, and none to send.
pub(super) fn datagrams(site: &Site, own: SocketAddr, wanted: &Wanted) -> Option<Result<(UdpSocket, Sizes), Fault>> {
    let socket = site.datagrams_at(own)?;
    let made = || {
        unlike_kernel(wanted)?;
        for (asked, what) in [(wanted.send, "send buffer"), (wanted.receive, "receive buffer")] {
            if asked.is_some() {
                return Err(not_there(what));
            }
        }
        let socket = socket.map_err(|error| Fault::Option { what: "own address", error })?;
        socket.set_read_timeout(Some(TICK)).map_err(|error| Fault::Option { what: "time limit", error })?;
        Ok((socket, Sizes { send: 0, receive: cut(linerate_stack::Config::INBOX, u32::MAX) }))
    };
    Some(made())
}

/// A listener at this address; `None` if the sockets are the kernel's.
pub(super) fn listener(site: &Site, own: SocketAddr, wanted: &Wanted) -> Option<Result<(Listener, Sizes), Fault>> {
    let listener = site.listen_at(own, TICK)?;
    let made = || {
        let options = Options::new(wanted)?;
        let listener = listener.map_err(|error| Fault::Option { what: "listen", error })?;
        Ok((Listener { listener, options: Some(options) }, options.sizes()))
    };
    Some(made())
}

/// A connection that is not made yet; `None` if the sockets are the kernel's.
pub(super) fn unconnected(site: &Site, wanted: &Wanted) -> Option<Result<(Unconnected, Sizes), Fault>> {
    let made = |options: Options| (Unconnected::Own(site.clone(), options), options.sizes());
    site.is_own().then(|| Options::new(wanted).map(made))
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
            options.settle(&stream);
            Ok(Some(stream))
        }
    }
}
