//! A session of a server: its connection, its client's request, and its course.

use super::{ServerState, reverse};
use crate::iperf::config::Serving;
use crate::iperf::flow::{Counters, Flow, Times};
use crate::iperf::lane::{Lane, Receiving, Work};
use crate::iperf::protocol::{Ask, Request};
use crate::iperf::report::{Connected, Of};
use crate::iperf::settings::DATAGRAMS;
use crate::socket::sys::TcpInfo;
use crate::socket::{Options, Socket, Transport, given};
use linerate_rt::Place;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// A connection as it was when it came: a client that goes within its data leaves neither addresses nor a state behind.
pub(super) struct Arrived {
    socket: Arc<Socket>,
    local: SocketAddr,
    remote: SocketAddr,
    /// State of the connection, and its largest segment.
    tcp: Option<(TcpInfo, u64)>,
}

impl Arrived {
    pub(super) fn new(socket: Arc<Socket>) -> Result<Self, String> {
        let (local, remote) = socket.addresses().map_err(|e| format!("socket: {e}"))?;
        Ok(Self { tcp: socket.info(), socket, local, remote })
    }
}

/// Has what a server sends carry the client's type of service, if the server has none of its own and the system lets it be. A
/// host of our own has none to give: a client that wants data with one is refused.
pub(super) fn serve_as(socket: &Socket, v6: bool, serving: &Serving, request: &Request) -> Result<(), String> {
    let sends = request.ask != Ask::Forward;
    match socket.kernel() {
        Some(fd) if serving.tos == 0 => {
            let service = Options { service: given(request.tos), ..Options::default() };
            let _ = service.set(fd, Transport::Udp, !v6);
        }
        None if request.tos > 0 && sends => {
            return Err(format!("refused: it wants data with type of service 0x{:x}; there is none here", request.tos));
        }
        _ => {}
    }
    Ok(())
}

/// A session: its connection, and what its client wants.
pub(super) struct Session<'a> {
    pub(super) state: &'a Arc<ServerState>,
    pub(super) place: &'a Place,
    pub(super) socket: Arc<Socket>,
    pub(super) id: u32,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// Beginning, ns.
    pub(super) begin: u64,
    pub(super) request: Request,
    pub(super) enhanced: bool,
}

impl Session<'_> {
    pub(super) fn udp(&self) -> bool {
        self.socket.tcp().is_none()
    }

    /// Group of the session's flows.
    pub(super) fn of(&self) -> Of {
        Some((self.remote.ip(), false))
    }

    pub(super) fn flow(&self, sends: bool) -> Arc<Flow> {
        let duplex = self.request.ask == Ask::FullDuplex;
        let (timed, block) = (self.request.begun.is_some(), self.state.serving.block);
        let times = !sends && (timed || self.udp() && self.enhanced);
        Arc::new(Flow {
            id: self.id,
            reversed: sends && duplex,
            sends,
            duplex,
            socket: self.socket.clone(),
            local: self.local,
            remote: self.remote,
            begin: self.begin,
            block: if self.udp() { DATAGRAMS[1] } else { block },
            enhanced: self.enhanced,
            times: times.then(|| Mutex::new(Times::default())),
            moves: self.place.moves().clone(),
            counters: Counters::default(),
        })
    }

    /// Opens a session, and has its line printed. `no_fin` is true for datagrams without one that says their end.
    pub(super) fn open<'a>(
        (state, place): (&'a Arc<ServerState>, &'a Place),
        arrived: Arrived,
        begin: u64,
        request: Request,
        no_fin: bool,
    ) -> Session<'a> {
        let reporter = &state.reporter;
        let Arrived { socket, local, remote, tcp } = arrived;
        let timed = request.begun.is_some();
        let enhanced = reporter.form.enhanced || timed;
        let mut about = Vec::new();
        match request.ask {
            Ask::FullDuplex => about.push("full-duplex"),
            Ask::Reverse => about.push("reverse"),
            Ask::Forward | Ask::Dual | Ask::TradeOff => {}
        }
        if no_fin {
            about.push("no-udp-fin");
        }
        if timed {
            about.push("trip-times");
        }
        let id = reporter.number();
        reporter.connected(&Connected {
            id,
            reversed: false,
            local,
            remote,
            about: &about,
            enhanced,
            socket: socket.number(),
            version: request.version,
            tos: request.tos,
            tcp: tcp.filter(|_| state.only.is_none()),
            took: None,
            dated: !matches!(request.ask, Ask::FullDuplex | Ask::Reverse),
        });
        Session { state, place, socket, id, local, remote, begin, request, enhanced }
    }

    /// Does what the client asks for: receives, sends, or both.
    pub(super) fn go(&self, work: Receiving) -> Result<(), String> {
        match self.request.ask {
            Ask::Forward | Ask::TradeOff => {
                let flow = self.flow(false);
                self.state.reporter.begin(self.of(), &flow);
                let (reporter, over) = (self.state.reporter.clone(), self.place.stop().clone());
                self.state
                    .keep(vec![Lane { flow, reporter, told: over.clone(), over, work: Work::Receive(work) }.run()])?;
                if self.request.ask == Ask::TradeOff { reverse::back(self, None) } else { Ok(()) }
            }
            Ask::Dual => reverse::back(self, Some(work)),
            Ask::Reverse => reverse::over_it(self, None),
            Ask::FullDuplex => reverse::over_it(self, Some(work)),
        }
    }
}
