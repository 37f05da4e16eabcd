//! One test at the server: sockets and memory, the response, the data, the results.

use super::ServerState;
use super::accepted::{Accepted, Blocks, Task};
use crate::netperf::control::Control;
use crate::netperf::cpu::{Meter, Reading};
use crate::netperf::fault::Fault;
use crate::netperf::flow::{End, Flow, Rings, Tally};
use crate::netperf::protocol::omni::{self, Half, flag};
use crate::netperf::protocol::{Message, stream};
use crate::netperf::ring::{Layout, Ring};
use crate::netperf::socket::{Listener, TICK, congestion, datagrams, listener, may_reach, retransmits, sizes};
use crate::netperf::timer::{Timer, Times};
use crate::socket::{Options, Sizes, TcpStream, UdpSocket, any, plain};
use linerate_rt::{Moves, pin};
use linerate_text::cut;
use std::cell::OnceCell;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Time that a client may wait before it connects.
const WAITS: Duration = Duration::from_secs(86_400);
/// Time that data may come behind the end of a test, and that a client may wait before its datagrams.
const LATE: Duration = Duration::from_secs(60);
/// Silence behind the end of a test after which nothing more comes.
const SILENCE: Duration = Duration::from_secs(4);
/// The same for a test of connections: their client says nothing at its end.
const SILENCE_OF_CONNECTIONS: Duration = Duration::from_millis(500);

/// The older dialect's request in the newer one.
pub(super) fn newer(r: &stream::Request) -> omni::Request {
    let half = |socket, block| Half { socket, block, align: r.align, offset: r.offset, width: 0, transaction: None };
    let flags = [(r.no_delay, flag::NO_DELAY), (r.measure_cpu, flag::MEASURE_CPU), (true, flag::ROUTING)];
    omni::Request {
        cpu: r.cpu,
        send: half(r.send_socket, None),
        receive: half(r.receive_socket, r.block),
        flags: flags.iter().filter(|(on, _)| *on).map(|(_, flag)| flag).sum(),
        length: r.length,
        data_port: r.data_port,
        v6: r.v6,
        ..omni::Request::stream()
    }
}

enum Socket {
    Tcp(Listener),
    Udp(UdpSocket),
}

/// State of the data connection at the end.
struct Last {
    sizes: Sizes,
    retransmits: i32,
    congestion: String,
}

pub(super) fn run(
    state: &ServerState,
    moves: &Moves,
    control: &Arc<Control>,
    r: &omni::Request,
    is_older: bool,
) -> Result<(), Fault> {
    let accepted = Accepted::new(r)?;
    if let Some(cpu) = r.cpu {
        let cpu = cut(cpu, usize::MAX);
        pin(&[cpu]).map_err(|error| Fault::Option { what: "processor", error })?;
    }
    let own = own(control, r)?;
    if accepted.task.sends() {
        may_reach(&state.site, &accepted.wanted, plain(control.addresses()?.1))?;
    }
    let (socket, sizes) = if accepted.task.is_udp() {
        datagrams(&state.site, own, &accepted.wanted).map(|(socket, sizes)| (Socket::Udp(socket), sizes))?
    } else {
        listener(&state.site, own, &accepted.wanted).map(|(socket, sizes)| (Socket::Tcp(socket), sizes))?
    };
    let (send, receive) = accepted.blocks(r, sizes);
    let bytes = |layout: Layout, blocks: Option<Blocks>| blocks.map_or(0, |b| Ring::bytes(layout, b.width, b.size));
    let _reserved = state.reserve(bytes(accepted.send, send) + bytes(accepted.receive, receive))?;
    let ring = |layout: Layout, blocks: Option<Blocks>| {
        let blocks = blocks.unwrap_or(Blocks { size: 0, width: 1 });
        Ring::new(layout, blocks.width, blocks.size)
    };
    let mut rings = Rings { send: ring(accepted.send, send), receive: ring(accepted.receive, receive) };
    control.send(&ready(r, &socket, (&accepted.wanted, sizes), (send, receive), &rings, is_older)?)?;

    let meter = Meter::of(r.flags & flag::MEASURE_CPU != 0, state.threads, &state.site);
    let due = u64::try_from(r.length).ok().filter(|n| *n > 0).map(Duration::from_secs);
    let grace = match accepted.task {
        Task::Send => Duration::ZERO,
        // It is not looked after by ticks, and has nothing under way but one request.
        Task::Answer => SILENCE,
        _ => LATE,
    };
    // Whether a client waits, or its datagrams are lost, cannot be told apart.
    let waits = if accepted.task.is_udp() { LATE } else { WAITS };
    let timer = Timer::start(
        Times { due, grace, cores: meter.is_system(), waits },
        control.stop(),
        None,
        Some(Control::watch(control)),
    )
    .map_err(Fault::System)?;
    let look = || control.look();
    // A client that sends bytes says when it has sent all; whoever counts transactions, or sends, has to know when to end.
    let counts = accepted.task.sends() && r.length < 0;
    // A client may wait before its data: the time begins with them.
    let begun = OnceCell::new();
    let begins = || {
        timer.shared.begin();
        let _ = begun.set(Reading::now(&meter));
    };
    let mut flow = Flow::new(&timer.shared, if counts { r.length.unsigned_abs().into() } else { u64::MAX }, &look);
    let silence = if accepted.task == Task::AnswerByConnections { SILENCE_OF_CONNECTIONS } else { SILENCE };
    flow.first = Some(&begins);
    flow.moves = moves.clone();
    flow.peers = peers(control, r)?;
    flow.patience = cut(silence.as_millis() / TICK.as_millis(), u32::MAX);
    let mut last = Last { sizes, retransmits: -1, congestion: String::new() };
    let end = match &socket {
        Socket::Tcp(listener) => connections(&accepted, &mut flow, listener, &mut rings, &mut last),
        Socket::Udp(socket) if accepted.task == Task::AnswerDatagrams => flow.answer_datagrams(socket, &mut rings),
        Socket::Udp(socket) => flow.receive_datagrams(socket, &mut rings.receive),
    };
    let tally = flow.tally;
    let end = match end {
        // A connection that breaks behind the end of the test is over.
        Err(Fault::Receive(_) | Fault::Send(_)) if timer.shared.is_due() => End::Time,
        end => end?,
    };
    if control.stop().asked() {
        return Err(Fault::Stopped);
    }
    // The time that was waited for nothing does not count.
    let after = Reading::now(&meter);
    let before = begun.into_inner().unwrap_or_else(|| after.clone());
    let after = match timer.shared.at_due().filter(|_| end == End::Time) {
        Some(due) => after.back_at(due),
        None => after,
    };
    drop(timer);
    control.send(&results(&tally, &last, &before, &after, is_older))
}

/// Own address of the data: the one that is asked for, or that of the control connection.
fn own(control: &Control, r: &omni::Request) -> Result<SocketAddr, Fault> {
    let mut own = plain(control.addresses()?.0);
    match r.server {
        Some(ip) => own = SocketAddr::new(ip, r.data_port),
        None if own.is_ipv6() != r.v6 => own = any(!r.v6, 0),
        None => {}
    }
    own.set_port(r.data_port);
    Ok(own)
}

/// Addresses that data come from: the client's, and the one that it names for them; all, if it has asked for another way than
/// that of the control connection, by an address of the server's or a family of its own.
fn peers(control: &Control, r: &omni::Request) -> Result<Option<[IpAddr; 2]>, Fault> {
    let (own, peer) = control.addresses()?;
    let (own, peer) = (plain(own).ip(), plain(peer).ip());
    let same = r.server.is_none_or(|ip| ip.is_unspecified() || ip.to_canonical() == own);
    let named = r.client.map(|ip| ip.to_canonical()).filter(|ip| !ip.is_unspecified());
    Ok(Some([peer, named.unwrap_or(peer)]).filter(|_| same && own.is_ipv6() == r.v6))
}

/// Moves the data of a test with connections.
fn connections(
    accepted: &Accepted,
    flow: &mut Flow<'_>,
    listener: &Listener,
    rings: &mut Rings,
    last: &mut Last,
) -> Result<End, Fault> {
    if accepted.task == Task::AnswerByConnections {
        return flow.answer_by_connections(listener, rings);
    }
    let Some(stream) = flow.accept(listener)? else { return Ok(End::Time) };
    let end = match accepted.task {
        Task::Send => flow.send(&stream, &mut rings.send),
        Task::Answer => flow.answer(&stream, rings),
        _ => flow.receive(&stream, &mut rings.receive),
    };
    *last = Last::of(&stream);
    end
}

impl Last {
    fn of(stream: &TcpStream) -> Self {
        Self { sizes: sizes(stream), retransmits: retransmits(stream), congestion: congestion(stream) }
    }
}

fn ready(
    r: &omni::Request,
    socket: &Socket,
    (wanted, sizes): (&Options, Sizes),
    (send, receive): (Option<Blocks>, Option<Blocks>),
    rings: &Rings,
    is_older: bool,
) -> Result<Message, Fault> {
    let own = match socket {
        Socket::Tcp(listener) => listener.local_addr(),
        Socket::Udp(socket) => socket.local_addr(),
    };
    let data_port = own.map_err(Fault::DataConnect)?.port();
    let size = |blocks: Option<Blocks>, half: &Half| {
        let size = blocks.map(|blocks| blocks.size).or(half.block);
        size.map_or(-1, |size| cut(size, i32::MAX))
    };
    let width = |blocks: Option<Blocks>, ring: &Ring, half: &Half| blocks.map_or(half.width, |_| ring.width());
    if is_older {
        let response = stream::Response {
            receive_socket: sizes.receive,
            block: receive.map_or(0, |blocks| blocks.size),
            no_delay: r.flags & flag::NO_DELAY != 0,
            measure_cpu: r.flags & flag::MEASURE_CPU != 0,
            send_socket: sizes.send,
            data_port,
        };
        return Ok(response.message());
    }
    let or = |n: Option<u64>| n.map_or(-1, |n| cut(n, i32::MAX));
    let response = omni::Response {
        receive_socket: sizes.receive,
        receive_block: size(receive, &r.receive),
        receive_width: width(receive, &rings.receive, &r.receive),
        send_socket: sizes.send,
        send_block: size(send, &r.send),
        send_width: width(send, &rings.send, &r.send),
        flags: r.flags & (flag::NO_DELAY | flag::MEASURE_CPU),
        data_port,
        priority: or(wanted.priority),
        tos: or(wanted.service),
    };
    Ok(response.message())
}

/// A counter of the message, which has 32 bits as netperf's has, and starts again behind them.
fn low(n: u64) -> u32 {
    u32::try_from(n & u64::from(u32::MAX)).unwrap_or(0)
}

#[expect(clippy::cast_possible_truncation, reason = "the message has floating-point numbers of 32 bits")]
fn results(tally: &Tally, last: &Last, before: &Reading, after: &Reading, is_older: bool) -> Message {
    let cpu = after.since(before);
    let seconds = after.seconds_since(before) as f32;
    let (method, cpus) = cpu.map_or((0, 0), |cpu| (cpu.method, cpu.count));
    if is_older {
        let results = stream::Results {
            received: tally.received as f64,
            receives: low(tally.receives),
            seconds,
            cpu: cpu.map(|cpu| cpu.all as f32),
            method,
            cpus,
        };
        return results.message();
    }
    let results = omni::Results {
        received: tally.received,
        receives: low(tally.receives),
        receive_socket: last.sizes.receive,
        sent: tally.sent,
        sends: low(tally.sends),
        send_socket: last.sizes.send,
        failed: low(tally.failed),
        transactions: low(tally.transactions),
        seconds,
        cpu: cpu.map(|c| [c.all, c.user, c.system, c.waiting, c.interrupts, c.soft].map(|n| n as f32)),
        method,
        cpus,
        peak_id: cpu.map_or(-1, |cpu| cpu.peak_id),
        peak: cpu.map_or(0.0, |cpu| cpu.peak as f32),
        retransmits: last.retransmits,
        congestion: last.congestion.clone(),
    };
    results.message()
}
