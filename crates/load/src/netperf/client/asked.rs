//! Requests of a client and the server's answers, in the dialect of the test.

use super::{Ready, measures};
use crate::netperf::fault::Fault;
use crate::netperf::protocol::omni::{self, Half, direction, flag, kind};
use crate::netperf::protocol::{Message, stream};
use crate::netperf::settings::{Length, Settings};
use crate::netperf::table::Transport;
use crate::socket::Sizes;
use linerate_text::cut;
use std::net::{IpAddr, SocketAddr};

/// The request for a test; `widths` are those of this end, which netperf's server takes for its own. `server` is the address
/// of its data, if it is another one than that of the control connection.
pub(super) fn request(
    s: &Settings,
    widths: (u32, u32),
    own: SocketAddr,
    v6: bool,
    server: Option<IpAddr>,
) -> omni::Request {
    let (test, remote) = (s.test, &s.remote);
    let transaction = |size| test.is_transactions().then_some(size);
    let udp = test.transport == Transport::Udp;
    let flags = [
        (s.no_delay, flag::NO_DELAY),
        (test.connects, flag::CONNECT),
        (remote.cpu, flag::MEASURE_CPU),
        (s.routing, flag::ROUTING),
        (s.keep_alive, flag::KEEP_ALIVE),
    ];
    omni::Request {
        cpu: remote.pin.and_then(|cpu| u32::try_from(cpu).ok()),
        send: Half {
            socket: remote.buffers.send,
            block: remote.send_size,
            align: remote.send.align,
            offset: remote.send.offset,
            width: widths.0,
            transaction: transaction(s.request),
        },
        receive: Half {
            socket: remote.buffers.receive,
            block: remote.receive_size,
            align: remote.receive.align,
            offset: remote.receive.offset,
            width: widths.1,
            transaction: transaction(s.response),
        },
        flags: flags.iter().filter(|(on, _)| *on).map(|(_, flag)| flag).sum(),
        length: match s.length {
            Length::Time(seconds) => cut(seconds, i32::MAX),
            Length::Count(n) => i32::try_from(n).map_or(i32::MIN + 1, |n| -n),
        },
        data_port: remote.port,
        v6,
        socket_type: if udp { kind::DATAGRAM } else { kind::STREAM },
        protocol: if udp { kind::UDP } else { kind::TCP },
        direction: if test.sends { direction::RECEIVE } else { 0 } | if test.receives { direction::SEND } else { 0 },
        client_port: own.port(),
        pacing: (0, 0),
        client: Some(own.ip()).filter(|ip| !ip.is_unspecified()),
        server,
        priority: remote.priority,
        tos: remote.tos.map(u32::from),
        congestion: remote.congestion.clone(),
        fill: String::new(),
    }
}

/// The same in the older dialect.
pub(super) fn older(request: &omni::Request) -> stream::Request {
    stream::Request {
        cpu: request.cpu,
        send_socket: request.send.socket,
        receive_socket: request.receive.socket,
        block: request.receive.block,
        align: request.receive.align,
        offset: request.receive.offset,
        no_delay: request.flags & flag::NO_DELAY != 0,
        measure_cpu: measures(request.flags),
        length: request.length,
        data_port: request.data_port,
        v6: request.v6,
    }
}

/// The server's answer; true behind it if it measures its processors.
pub(super) fn ready(answer: &Message, is_older: bool) -> Result<(Ready, bool), Fault> {
    if is_older {
        let r = stream::Response::read(answer)?;
        let ready = Ready {
            port: r.data_port,
            sizes: Sizes { send: r.send_socket, receive: r.receive_socket },
            send_size: -1,
            receive_size: r.block.into(),
            widths: (0, 0),
            priority: -1,
            tos: -1,
        };
        return Ok((ready, r.measure_cpu));
    }
    let r = omni::Response::read(answer)?;
    let ready = Ready {
        port: r.data_port,
        sizes: Sizes { send: r.send_socket, receive: r.receive_socket },
        send_size: r.send_block.into(),
        receive_size: r.receive_block.into(),
        widths: (r.send_width, r.receive_width),
        priority: r.priority,
        tos: r.tos,
    };
    Ok((ready, measures(r.flags)))
}

pub(super) fn results(message: &Message, is_older: bool) -> Result<omni::Results, Fault> {
    if !is_older {
        return Ok(omni::Results::read(message)?);
    }
    let r = stream::Results::read(message)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes, not negative")]
    let received = r.received as u64;
    Ok(omni::Results {
        received,
        receives: r.receives,
        seconds: r.seconds,
        // The older dialect says no more.
        cpu: r.cpu.map(|all| [all, 0.0, 0.0, 0.0, 0.0, 0.0]),
        method: r.method,
        cpus: r.cpus,
        peak_id: -1,
        retransmits: -1,
        ..omni::Results::default()
    })
}
