//! The sending side of a server: over the client's connection, or over one of its own to the client.

use super::options;
use super::session::Session;
use crate::iperf::client::digits;
use crate::iperf::flow::{Counters, Flow};
use crate::iperf::lane::{Lanes, Receiving, Sending, Work};
use crate::iperf::link::Dialled;
use crate::iperf::protocol::{Amount, Ask, Request, Stamp};
use crate::iperf::report::{ClientSettings, Connected, EndSettings};
use crate::iperf::settings::{BLOCK_ASKED, DATAGRAMS, Rate, TCP_BLOCK, Transport, UDP_BLOCK, UDP_RATE};
use crate::socket::{Options, Place, given};
use linerate_rt::{monotonic_ns, wall};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Least time in which a client must take what is on its way, or send its report.
const ANSWER: Duration = Duration::from_secs(2);

impl Session<'_> {
    /// Bytes of a block that the client wants; no more than there is memory for.
    fn block(&self) -> Result<usize, String> {
        let asked = self.request.block as usize;
        match (self.udp(), asked) {
            (false, 0) => Ok(TCP_BLOCK),
            (false, asked) => Ok(asked.min(BLOCK_ASKED)),
            (true, 0) => Ok(UDP_BLOCK[usize::from(self.remote.is_ipv6())]),
            (true, asked) if (DATAGRAMS[0]..=DATAGRAMS[1]).contains(&asked) => Ok(asked),
            (true, asked) => Err(format!("refused: it wants datagrams of {asked} bytes")),
        }
    }

    /// Rate that the client wants.
    fn rate(&self) -> Rate {
        match (self.request.rate, self.udp(), self.request.per_packet) {
            (0, false, _) => Rate::Unlimited,
            (0, true, _) => Rate::Bits(UDP_RATE),
            (rate, true, true) => Rate::Packets(rate),
            (rate, ..) => Rate::Bits(rate),
        }
    }

    /// Work of the sender. `over` is true for the client's own connection, which says times if the client does.
    fn sending(&self, over: bool) -> Result<Sending, String> {
        let begun = self.request.begun.filter(|_| over).map(|_| Stamp::of(wall()));
        let mut block = digits(self.block()?);
        let mut first = Vec::new();
        if begun.is_some() {
            let said = Request { ask: Ask::Forward, begun, no_fin: true, ..self.request };
            if self.udp() {
                if block.len() < Request::IN_TIMED_DATAGRAM {
                    return Err("refused: its datagrams have no room for times".to_owned());
                }
                said.write_datagram(&mut block);
            } else {
                block.resize(block.len().max(crate::iperf::protocol::Burst::LEN), b'0');
                first = said.header();
            }
        }
        let limit = if let Amount::Bytes(bytes) = self.request.amount { Some(bytes.into()) } else { None };
        let wait = self.time().unwrap_or(ANSWER).max(ANSWER);
        let answer = match (self.udp(), over) {
            (true, true) => None,
            (true, false) => Some(ANSWER),
            (false, _) => (self.request.ask != Ask::FullDuplex).then_some(wait),
        };
        let insists = self.udp() && over && self.request.ask == Ask::Reverse;
        let begun = begun.filter(|_| !self.udp());
        Ok(Sending { first, block, limit, rate: self.rate(), begun, file: None, answer, insists })
    }

    /// Time for which the client wants to receive.
    fn time(&self) -> Option<Duration> {
        match self.request.amount {
            Amount::Time(hundredths) => Some(Duration::from_millis(10 * u64::from(hundredths))),
            Amount::Bytes(_) => None,
        }
    }
}

/// Sends over the client's connection, and receives over it too, if there is work for that.
pub(super) fn over_it(session: &Session<'_>, work: Option<Receiving>) -> Result<(), String> {
    let (state, mut lanes) = (session.state, Lanes::new()?);
    let sending = session.sending(true)?;
    let flow = session.flow(true);
    // The sender's beginning is not the client's.
    state.reporter.begin(session.of(), &flow);
    if let Some(work) = work {
        let flow = session.flow(false);
        state.reporter.begin(session.of(), &flow);
        lanes.start(flow, &state.reporter, Work::Receive(work))?;
    }
    lanes.start(flow, &state.reporter, Work::Send(sending))?;
    state.keep(lanes.watch(&[session.place.stop()], session.time(), None, |now| state.reporter.tick(now)))
}

/// Sends over a connection to the client, and receives over the client's, if there is work for that.
pub(super) fn back(session: &Session<'_>, work: Option<Receiving>) -> Result<(), String> {
    let (state, mut lanes) = (session.state, Lanes::new()?);
    let flow = connected(session)?;
    let sending = session.sending(false)?;
    // What is sent afterwards has a sum of its own.
    let of = session.of().map(|(ip, _)| (ip, work.is_none()));
    if let Some(work) = work {
        let flow = session.flow(false);
        state.reporter.begin(session.of(), &flow);
        lanes.start(flow, &state.reporter, Work::Receive(work))?;
    }
    state.reporter.begin(of, &flow);
    lanes.start(flow, &state.reporter, Work::Send(sending))?;
    state.keep(lanes.watch(&[session.place.stop()], session.time(), None, |now| state.reporter.tick(now)))
}

/// Flow of a new connection to the client.
fn connected(session: &Session<'_>) -> Result<Arc<Flow>, String> {
    let (state, port) = (session.state, session.request.port);
    let (serving, reporter) = (&state.serving, &state.reporter);
    if port == 0 {
        return Err("refused: it awaits a connection back, and says no port".to_owned());
    }
    let transport = if session.udp() { Transport::Udp } else { Transport::Tcp };
    let to = SocketAddr::new(session.remote.ip(), port);
    let tos = if serving.tos > 0 { serving.tos } else { session.request.tos };
    let options = Options { send: given(serving.window), receive: None, service: given(tos), ..options(serving) };
    let site = state.site.placed(Place { bind: None, family: None, ..state.site.place().clone() });
    let dialled = Dialled::new(&site, to, 0, transport, &options)?;
    let text = ClientSettings {
        host: &to.ip().to_string(),
        port,
        device: site.place().device.as_deref(),
        streams: 1,
        transport,
        block: session.block()?,
        rate: session.rate(),
        no_delay: serving.no_delay,
        tos,
        end: EndSettings {
            window: (serving.window, dialled.sizes().buffer),
            segment: (serving.mss, dialled.sizes().segment),
            congestion: serving.congestion.as_deref(),
        },
    };
    reporter.settings(&text.text(&reporter.form));
    let (socket, took) = dialled.connect_back().map_err(|e| format!("connection back to port {port} failed: {e}"))?;
    let (local, remote) = socket.addresses().map_err(|e| format!("socket: {e}"))?;
    let id = reporter.number();
    reporter.connected(&Connected {
        id,
        reversed: true,
        local,
        remote,
        about: &["reverse"],
        enhanced: session.enhanced,
        socket: socket.number(),
        version: None,
        tos,
        tcp: socket.info(),
        took: (transport == Transport::Tcp).then_some(took),
        dated: false,
    });
    Ok(Arc::new(Flow {
        id,
        reversed: true,
        sends: true,
        duplex: false,
        socket: Arc::new(socket),
        local,
        remote,
        begin: monotonic_ns(),
        block: session.block()?,
        enhanced: session.enhanced,
        times: None,
        moves: session.place.moves().clone(),
        counters: Counters::default(),
    }))
}
