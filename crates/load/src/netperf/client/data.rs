//! The client's data: its socket, its memory, and moving them.

use crate::netperf::fault::Fault;
use crate::netperf::flow::{End, Flow, Part, Rings, Tally, end};
use crate::netperf::protocol::omni::Results;
use crate::netperf::ring::Ring;
use crate::netperf::settings::{DATAGRAM, Length, Settings};
use crate::netperf::socket::{
    Unconnected, congestion, datagrams, may_reach, retransmits, segment, service, sizes, unconnected,
};
use crate::netperf::table::{Test, Transport};
use crate::netperf::timer::Shared;
use crate::socket::sys::memory_file;
use crate::socket::{Options, Site, Sizes, TcpStream, UdpSocket, is_tick};
use hdrhistogram::Histogram;
use linerate_result::Connection;
use linerate_text::cut;
use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Time for the other end to take what is under way.
const DRAINS: Duration = Duration::from_secs(120);

pub(super) struct Data<'a> {
    s: &'a Settings,
    site: &'a Site,
    /// Own address that is asked for, and that of the first socket.
    asked: SocketAddr,
    own: SocketAddr,
    wanted: Options,
    socket: Socket,
    sizes: Sizes,
    rings: Rings,
    file: Option<Part>,
    send_size: u32,
    receive_size: u32,
}

enum Socket {
    /// A stream, before it is connected and while it is.
    Tcp(Option<Unconnected>, Option<TcpStream>),
    Udp(UdpSocket),
}

/// Amounts moved, and the state of the connection at the end.
pub(super) struct Moved {
    pub(super) tally: Tally,
    pub(super) latency: Option<Histogram<u64>>,
    pub(super) sizes: Sizes,
    pub(super) mss: Option<u32>,
    pub(super) retransmits: i32,
    pub(super) connection: Option<Connection>,
    pub(super) congestion: String,
}

impl<'a> Data<'a> {
    /// Makes the socket and the memory.
    pub(super) fn new(s: &'a Settings, site: &'a Site, asked: SocketAddr) -> Result<Self, Fault> {
        let (local, udp) = (&s.local, s.test.transport == Transport::Udp);
        let wanted = Options {
            send: local.buffers.send.map(u64::from),
            receive: local.buffers.receive.map(u64::from),
            no_delay: s.no_delay,
            keep_alive: s.keep_alive,
            no_gateway: !s.routing,
            priority: local.priority.map(u64::from),
            service: local.tos.map(|tos| service(tos.into(), !udp)),
            congestion: Some(local.congestion.clone()).filter(|name| !name.is_empty()),
            drops: udp && !s.test.receives,
            ..Options::default()
        };
        let (socket, own, sizes) = if udp {
            let (socket, sizes) = datagrams(site, asked, &wanted)?;
            let own = socket.local_addr();
            (Socket::Udp(socket), own, sizes)
        } else {
            let (first, sizes) = unconnected(site, asked, &wanted)?;
            let own = first.local_addr(asked);
            (Socket::Tcp(Some(first), None), own, sizes)
        };
        let own = own.map_err(Fault::DataConnect)?;
        let (send_size, receive_size) = if s.test.is_transactions() {
            (s.request, s.response)
        } else {
            (local.send_size.unwrap_or(usual(sizes.send, udp)), local.receive_size.unwrap_or(sizes.receive))
        };
        // Nothing is kept for the direction that has no data.
        let ring = |of: bool, layout: crate::netperf::Layout, buffer, size| {
            let width = if s.test.is_transactions() { layout.width.max(1) } else { layout.width(buffer, size) };
            if of { Ring::new(layout, width, size) } else { Ring::new(layout, 1, 0) }
        };
        let mut send = ring(s.test.sends && !s.test.file, local.send, sizes.send, send_size);
        let mut receive = ring(s.test.receives, local.receive, sizes.receive, receive_size);
        let mut file = None;
        if s.test.file {
            file = Some(part(s, send_size, local.send.width(sizes.send, send_size))?);
        } else if let Some(path) = &s.file {
            for (used, ring, size) in
                [(s.test.sends, &mut send, send_size), (s.test.receives, &mut receive, receive_size)]
            {
                if used {
                    ring.fill(&beginning(path, ring.width() as usize * size as usize)?);
                }
            }
        }
        let rings = Rings { send, receive };
        Ok(Self { s, site, asked, own, wanted, socket, sizes, rings, file, send_size, receive_size })
    }

    /// Blocks that take turns: sent, received; 0 for a direction without data.
    pub(super) fn widths(&self) -> (u32, u32) {
        let of = |has: bool, ring: &Ring| if has { ring.width() } else { 0 };
        (of(self.s.test.sends, &self.rings.send), of(self.s.test.receives, &self.rings.receive))
    }

    pub(super) fn sizes(&self) -> Sizes {
        self.sizes
    }

    pub(super) fn send_size(&self) -> u32 {
        self.send_size
    }

    pub(super) fn receive_size(&self) -> u32 {
        self.receive_size
    }

    /// Type of service that its socket has; -1 for the system's own.
    pub(super) fn service(&self) -> i32 {
        self.wanted.service.map_or(-1, |n| cut(n, i32::MAX))
    }

    /// Own address of the data, as far as it is known.
    pub(super) fn own(&self) -> SocketAddr {
        self.own
    }

    pub(super) fn run(
        &mut self,
        server: SocketAddr,
        time: &Shared,
        look: &dyn Fn() -> Result<(), Fault>,
    ) -> Result<Moved, Fault> {
        let left = match self.s.length {
            Length::Time(_) => u64::MAX,
            Length::Count(n) => n.into(),
        };
        let mut flow = Flow::new(time, left, look);
        if self.s.latency {
            flow.keep_latency();
        }
        let test = self.s.test;
        let mut moved = Moved {
            tally: Tally::default(),
            latency: None,
            sizes: self.sizes,
            mss: None,
            retransmits: -1,
            connection: None,
            congestion: String::new(),
        };
        may_reach(self.site, &self.wanted, server)?;
        match &mut self.socket {
            Socket::Tcp(..) if test.connects => drop(self.by_connections(&mut flow, server, time, &mut moved)?),
            Socket::Tcp(first, connected) => {
                let Some(first) = first.take() else { return Ok(moved) };
                if let Some(stream) = first.connect(server, time, &self.wanted)? {
                    let stream = connected.insert(stream);
                    match (&self.file, test.sends, test.receives) {
                        (Some(part), ..) => flow.send_file(stream, part, self.send_size as usize)?,
                        (None, true, true) => flow.ask(stream, &mut self.rings)?,
                        (None, true, false) => flow.send(stream, &mut self.rings.send)?,
                        (None, false, _) => flow.receive(stream, &mut self.rings.receive)?,
                    };
                    moved.know(stream);
                }
            }
            Socket::Udp(socket) => {
                if self.s.connected {
                    socket.connect(server).map_err(Fault::DataConnect)?;
                }
                if test.receives {
                    let (connected, patience) = (self.s.connected, self.s.patience);
                    flow.ask_by_datagrams(socket, &mut self.rings, server, connected, patience)?;
                } else {
                    let to = (!self.s.connected).then_some(server);
                    flow.send_datagrams(socket, &mut self.rings.send, to)?;
                }
            }
        }
        (moved.tally, moved.latency) = (flow.tally, flow.latency);
        Ok(moved)
    }

    fn by_connections(
        &mut self,
        flow: &mut Flow<'_>,
        server: SocketAddr,
        time: &Shared,
        moved: &mut Moved,
    ) -> Result<End, Fault> {
        let (site, asked, wanted) = (self.site, self.asked, &self.wanted);
        let connection = || unconnected(site, asked, wanted)?.0.connect(server, time, wanted);
        // Each connection is like the first.
        flow.ask_by_connections(connection, &mut self.rings, |stream, first| {
            if first {
                moved.know(stream);
            }
        })
    }

    /// Ends the data: says so, and waits until the other end has taken all, or it is late.
    pub(super) fn finish(&mut self, server: SocketAddr, is_late: &dyn Fn() -> bool) -> Result<(), Fault> {
        match &self.socket {
            Socket::Udp(_) => self.remind(server),
            // A response that is still under way counts no more; the socket stays until the results have come.
            Socket::Tcp(_, Some(stream)) if self.s.test.receives && self.s.test.sends => stream.send_no_more(),
            Socket::Tcp(_, Some(stream)) => {
                stream.send_no_more();
                let (begin, mut stream) = (Instant::now(), stream);
                let mut scratch = vec![0; 64 << 10];
                loop {
                    match stream.read(&mut scratch) {
                        Ok(0) => break,
                        _ if is_late() => break,
                        Ok(_) => {}
                        Err(e) if is_tick(&e) => {
                            if begin.elapsed() > DRAINS {
                                return Err(Fault::Silent);
                            }
                        }
                        // A server that has all that it wants need not wait for the end.
                        Err(_) => break,
                    }
                }
            }
            Socket::Tcp(_, None) => {}
        }
        Ok(())
    }

    /// Says, if the data are datagrams, that there are no more.
    pub(super) fn remind(&self, server: SocketAddr) {
        if let Socket::Udp(socket) = &self.socket {
            end(socket, (!self.s.connected).then_some(server));
        }
    }
}

impl Moved {
    /// True if there were no transactions, or no data, as the other end's results confirm.
    pub(super) fn is_nothing(&self, test: &Test, results: &Results) -> bool {
        let tally = &self.tally;
        match test.transport {
            _ if test.is_transactions() => tally.transactions == 0,
            _ if test.receives => tally.received == 0,
            Transport::Tcp => tally.sent == 0 || results.received == 0,
            // How many arrive is what the test measures.
            Transport::Udp => tally.sent == 0,
        }
    }

    /// Notes what the system knows of a connection.
    fn know(&mut self, stream: &TcpStream) {
        self.sizes = sizes(stream);
        self.mss = Some(segment(stream));
        self.retransmits = retransmits(stream);
        self.connection = stream.info().map(|info| info.connection(info.retransmits));
        self.congestion = congestion(stream);
    }
}

/// Bytes of a call that sends, for a socket's buffer of this size. A socket for datagrams of our own has none.
fn usual(buffer: u32, udp: bool) -> u32 {
    match buffer {
        0 => DATAGRAM,
        n if udp => n.min(DATAGRAM),
        n => n,
    }
}

/// The file to send, or one of as many bytes as memory would have been sent from.
fn part(s: &Settings, send_size: u32, width: u32) -> Result<Part, Fault> {
    if let Some(path) = &s.file {
        let fault = |error| Fault::File { path: path.clone(), error };
        let file = File::open(path).map_err(fault)?;
        let meta = file.metadata().map_err(fault)?;
        if !meta.is_file() || meta.len() == 0 {
            return Err(fault(std::io::Error::other("it has no bytes")));
        }
        // As much as memory would have been sent from, so that caches see the same.
        return Ok(Part { file, len: meta.len().min(u64::from(width) * u64::from(send_size)) });
    }
    let mut ring = Ring::new(s.local.send, width, send_size);
    let mut file = memory_file().map_err(Fault::System)?;
    let mut len = 0;
    for _ in 0..ring.width() {
        let block = ring.next();
        file.write_all(block).map_err(Fault::System)?;
        len += block.len() as u64;
    }
    Ok(Part { file, len })
}

/// The first bytes of a file.
fn beginning(path: &std::path::Path, most: usize) -> Result<Vec<u8>, Fault> {
    let fault = |error| Fault::File { path: path.to_owned(), error };
    let mut bytes = Vec::new();
    File::open(path).map_err(fault)?.take(most as u64).read_to_end(&mut bytes).map_err(fault)?;
    if bytes.is_empty() { Err(fault(std::io::Error::other("it has no bytes"))) } else { Ok(bytes) }
}
