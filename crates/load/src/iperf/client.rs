//! The client: connects all streams, says what it wants, has its lanes move the data, and awaits connections back if it
//! asked for some.

use super::config::Asked;
use super::flow::{Counters, Flow, Times};
use super::lane::{Lanes, Outcome, Receiving, Sending, Work};
use super::link::Dialled;
use super::protocol::{Amount, Ask, Request, Stamp};
use super::report::{ClientSettings, Connected, EndSettings, Reporter};
use super::server::Back;
use super::settings::{IDLE, Limit, Rate, SLOP, Settings, Transport};
use crate::socket::{Options, Site, Socket, addresses, given};
use linerate_rt::{Moves, Stop, monotonic_ns, wall};
use std::fs::File;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Least time in which the server must take what is on its way, or send its report.
const ANSWER: Duration = Duration::from_secs(2);

struct Stream {
    id: u32,
    socket: Arc<Socket>,
    local: SocketAddr,
    remote: SocketAddr,
}

/// Runs a client's test to its end.
pub(super) fn run(site: &Site, asked: &Asked, reporter: &Arc<Reporter>, stop: &Stop) -> Result<Vec<Outcome>, String> {
    let settings = &asked.settings;
    settings.check()?;
    let place = site.place();
    let all = addresses(&asked.host, place.port, place.family).map_err(|e| format!("{}: {e}", asked.host))?;
    let server = *all.first().ok_or_else(|| format!("{}: no address", asked.host))?;
    if server.ip().is_multicast() {
        return Err(format!("{}: there are no tests of groups here; give the address of one host", asked.host));
    }
    let back = match settings.way {
        Ask::Dual | Ask::TradeOff => Some(Back::open(site, asked, server.ip(), reporter)?),
        _ => None,
    };
    let streams = connect(site, asked, server, reporter)?;
    if stop.asked() {
        return Ok(Vec::new());
    }
    // The server's connections come while the client sends, or afterwards.
    let dual = settings.way == Ask::Dual;
    let (mut coming, mut later) = (None, None);
    match back {
        Some(back) if dual => coming = Some(back.begin(time(settings.limit))?),
        back => later = back,
    }
    let outcomes = moved(asked, &streams, reporter, stop);
    drop(streams);
    if let (Some(back), true) = (later, outcomes.as_ref().is_ok_and(|outcomes| !stop.asked() && whole(outcomes))) {
        coming = Some(back.begin(time(settings.limit))?);
    }
    let back = coming.map(|coming| coming.end(stop, outcomes.as_ref().is_ok_and(|outcomes| whole(outcomes))));
    let mut outcomes = outcomes?;
    outcomes.extend(back.transpose()?.unwrap_or_default());
    Ok(outcomes)
}

fn whole(outcomes: &[Outcome]) -> bool {
    outcomes.iter().all(|outcome| outcome.fault.is_none())
}

fn time(limit: Limit) -> Option<Duration> {
    match limit {
        Limit::Time(time) => Some(time),
        Limit::Bytes(_) | Limit::None => None,
    }
}

fn connect(site: &Site, asked: &Asked, server: SocketAddr, reporter: &Reporter) -> Result<Vec<Stream>, String> {
    let (settings, form, place) = (&asked.settings, &reporter.form, site.place());
    let options = Options {
        send: given(settings.window),
        segment: given(settings.mss),
        no_delay: settings.no_delay,
        service: given(settings.tos),
        hops: given(settings.ttl),
        congestion: settings.congestion.clone(),
        ..Options::default()
    };
    let (mut streams, mut times) = (Vec::new(), Vec::new());
    for n in 0..settings.streams {
        let own = if asked.own_port > 0 { u32::from(asked.own_port) + n } else { 0 };
        let own = u16::try_from(own).unwrap_or(0);
        let dialled = Dialled::new(site, server, own, settings.transport, &options)?;
        if n == 0 {
            let text = ClientSettings {
                host: &asked.host,
                port: place.port,
                device: place.device.as_deref(),
                streams: settings.streams,
                transport: settings.transport,
                block: settings.block,
                rate: settings.rate,
                no_delay: settings.no_delay,
                tos: settings.tos,
                end: EndSettings {
                    window: (settings.window, dialled.sizes().buffer),
                    segment: (settings.mss, dialled.sizes().segment),
                    congestion: settings.congestion.as_deref(),
                },
            };
            reporter.settings(&text.text(form));
        }
        let (socket, took) = dialled.connect().map_err(|e| match settings.transport {
            Transport::Tcp => format!("tcp connect failed: {e}"),
            Transport::Udp => format!("udp connect failed: {e}"),
        })?;
        let (local, remote) = socket.addresses().map_err(|e| format!("socket: {e}"))?;
        let id = reporter.number();
        reporter.connected(&Connected {
            id,
            reversed: false,
            local,
            remote,
            about: &about(settings),
            enhanced: form.enhanced,
            socket: socket.number(),
            version: None,
            tos: settings.tos,
            tcp: socket.info(),
            took: (settings.transport == Transport::Tcp).then_some(took),
            dated: true,
        });
        times.push(took);
        streams.push(Stream { id, socket: Arc::new(socket), local, remote });
    }
    if form.enhanced && settings.transport == Transport::Tcp && times.len() > 1 {
        reporter.connects(&took(&times));
    }
    Ok(streams)
}

/// Line about the times that connecting took, milliseconds.
fn took(times: &[f64]) -> String {
    let mut spread = super::protocol::Spread::default();
    times.iter().for_each(|ms| spread.add(*ms));
    let (least, mean, most, off, all) = (spread.least, spread.mean, spread.most, spread.deviation(), times.len());
    format!(
        "[ CT] final connect times (min/avg/max/stdev) = {least:.3}/{mean:.3}/{most:.3}/{off:.3} ms (tot/err) = {all}/0\n"
    )
}

/// Words about a connection.
fn about(settings: &Settings) -> Vec<&'static str> {
    let mut words = Vec::new();
    match settings.way {
        Ask::FullDuplex => words.push("full-duplex"),
        Ask::Reverse => words.push("reverse"),
        Ask::Forward | Ask::Dual | Ask::TradeOff => {}
    }
    if settings.no_fin || settings.transport == Transport::Udp && settings.way == Ask::FullDuplex {
        words.push("no-udp-fin");
    }
    if settings.times {
        words.push("trip-times");
    }
    words
}

fn request(asked: &Asked, begun: Stamp) -> Request {
    let settings = &asked.settings;
    let block = settings.block as u64;
    let udp = settings.transport == Transport::Udp;
    // A server that sends is told bits.
    let rate = match settings.rate {
        Rate::Unlimited => 0,
        Rate::Bits(rate) => rate,
        Rate::Packets(rate) if settings.way == Ask::Forward => rate,
        Rate::Packets(rate) => rate.saturating_mul(8 * block),
    };
    Request {
        ask: settings.way,
        threads: settings.streams,
        port: asked.listen_port,
        block: if settings.block_given { u32::try_from(block).unwrap_or(0) } else { 0 },
        amount: match settings.limit {
            Limit::Time(time) => {
                Amount::Time(u32::try_from((time.as_millis() / 10).min(0x7fff_ffff)).unwrap_or(0).max(1))
            }
            Limit::Bytes(bytes) => Amount::Bytes(u32::try_from(bytes & 0x7fff_ffff).unwrap_or(0)),
            Limit::None => Amount::Bytes(0),
        },
        rate,
        tos: settings.tos,
        begun: settings.times.then_some(begun),
        no_fin: settings.no_fin || udp && settings.way == Ask::FullDuplex,
        ..Request::default()
    }
}

/// Moves the data of all streams.
fn moved(asked: &Asked, streams: &[Stream], reporter: &Arc<Reporter>, stop: &Stop) -> Result<Vec<Outcome>, String> {
    let settings = &asked.settings;
    let begun = Stamp::of(wall());
    let request = request(asked, begun);
    let mut lanes = Lanes::new()?;
    let begin = monotonic_ns();
    for stream in streams {
        for sends in [true, false] {
            let receives = matches!(settings.way, Ask::Reverse | Ask::FullDuplex);
            if sends && settings.way == Ask::Reverse || !sends && !receives {
                continue;
            }
            let flow = Arc::new(flow(settings, stream, sends, begin, reporter));
            reporter.begin(None, &flow);
            let work = if sends {
                Work::Send(sending(settings, &request, begun)?)
            } else {
                Work::Receive(receiving(settings, &request))
            };
            lanes.start(flow, reporter, work)?;
        }
    }
    let time = time(settings.limit);
    Ok(lanes.watch(&[stop], time, time.map(|time| time + SLOP), |now| reporter.tick(now)))
}

fn flow(settings: &Settings, stream: &Stream, sends: bool, begin: u64, reporter: &Reporter) -> Flow {
    let udp = settings.transport == Transport::Udp;
    let enhanced = reporter.form.enhanced || settings.times && settings.way != Ask::Forward;
    let times = !sends && (settings.times || udp && enhanced);
    Flow {
        id: stream.id,
        reversed: !sends,
        sends,
        duplex: settings.way == Ask::FullDuplex,
        socket: stream.socket.clone(),
        local: stream.local,
        remote: stream.remote,
        begin,
        block: if udp && !sends { super::settings::DATAGRAMS[1] } else { settings.block },
        enhanced,
        times: times.then(|| Mutex::new(Times::default())),
        moves: Moves::default(),
        counters: Counters::default(),
    }
}

pub(super) fn digits(bytes: usize) -> Vec<u8> {
    (b'0'..=b'9').cycle().take(bytes).collect()
}

fn sending(settings: &Settings, request: &Request, begun: Stamp) -> Result<Sending, String> {
    let udp = settings.transport == Transport::Udp;
    let open = |path: &std::path::PathBuf| {
        File::open(path).map_err(|e| format!("-F {}: {e}; give a file that can be read", path.display()))
    };
    let mut block = digits(settings.block);
    let first = match (settings.silent, udp) {
        (true, _) => Vec::new(),
        (false, false) => request.header(),
        (false, true) => {
            let room = if request.begun.is_some() { Request::IN_TIMED_DATAGRAM } else { Request::IN_DATAGRAM };
            let mut first = digits(settings.block.max(room));
            request.write_datagram(&mut first);
            let part = settings.block;
            block.copy_from_slice(&first[..part]);
            first
        }
    };
    let answers = if udp { settings.way == Ask::Forward || is_back(settings) } else { settings.way != Ask::FullDuplex };
    let answer = time(settings.limit).unwrap_or(ANSWER).max(ANSWER);
    Ok(Sending {
        first,
        block,
        limit: if let Limit::Bytes(bytes) = settings.limit { Some(bytes) } else { None },
        rate: settings.rate,
        begun: settings.times.then_some(begun),
        file: settings.file.as_ref().map(open).transpose()?,
        answer: (answers && !settings.no_fin).then_some(if udp { ANSWER } else { answer }),
        insists: false,
    })
}

const fn is_back(settings: &Settings) -> bool {
    matches!(settings.way, Ask::Dual | Ask::TradeOff)
}

fn receiving(settings: &Settings, request: &Request) -> Receiving {
    let udp = settings.transport == Transport::Udp;
    let reverse = settings.way == Ask::Reverse;
    let first = match (reverse, udp) {
        (false, _) => Vec::new(),
        (true, false) => request.header(),
        (true, true) => {
            let room = if request.begun.is_some() { Request::IN_TIMED_DATAGRAM } else { Request::IN_DATAGRAM };
            let mut first = digits(settings.block.max(room));
            request.write_datagram(&mut first);
            super::protocol::Datagram { number: 1, sent: Stamp::of(wall()) }.write(&mut first);
            first
        }
    };
    Receiving {
        first,
        limit: if let Limit::Bytes(bytes) = settings.limit { Some(bytes).filter(|_| !udp) } else { None },
        timed: settings.times && !udp,
        headed: true,
        wide: true,
        ..Receiving::new(IDLE)
    }
}
