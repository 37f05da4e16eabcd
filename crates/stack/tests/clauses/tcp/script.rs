//! Scripts of TCP: each tells by times what the peer and our user do, and which segments of ours follow.
//!
//! A title at the left names the clause; below it each line begins with a time in seconds. Our first number is written as
//! 100, that of our clock's timestamps as 0; the peer's are as written. All segments of ours must be in the script, at
//! their times; of their fields SEQ, ACK, CTL (but PSH), DATA and SACK always count, others where they are written.
//!
//! ```text
//! RFC 9293, section 3.5, figure 6: a connection is opened
//!     0.0  connect
//!     0.0  --> <SEQ=100><CTL=SYN>
//!     0.1  <-- <SEQ=300><ACK=101><CTL=SYN,ACK>
//!     0.1  --> <SEQ=101><ACK=301>
//!     0.1  state ESTABLISHED
//! ```
//!
//! A cookie of Fast Open is written as `<FO=0102a0b0>`, the request for one as `<FO=>`. One that the host gives has a name, such
//! as `<FO=first>`: another name means another cookie. The peer's segments have it by its name.
//!
//! | line | |
//! |---|---|
//! | `--> <…> x3`, `<-- <…> x3` | a segment of ours, of the peer; three, one behind the other |
//! | `<-- <…> +` | the next one comes with it: nothing is sent in between |
//! | `<-- too big 1200 <SEQ=101>`, `<-- no port <SEQ=100>` | an ICMP error about a segment of ours |
//! | `set NAME VALUE` | a setting, before the connection is made |
//! | `listen`, `fast-open N`, `connect`, `connect-with N`, `accept`, `write N`, `read N`, `close`, `release`, `abort`, `nagle on`, `keep-alive off` | calls |
//! | `established [SECONDS] [<…>]` | connect, and an answer after so long, with these fields |
//! | `state NAME`, `end REASON`, `readable N`, `at-end`, `unsent N`, `written N`, `room N`, `memory N`, `cwnd N`, `mss N`, `fast`, `slow`, `gone` | what is known of the connection |
//! | `owing N BYTES` | connections that have bytes or a FIN for their peers, and the bytes that those have had acknowledged |

use super::segment::{ACK, SYN, Segment, between};
use crate::world::{PEER, SECOND, US, World, icmp_frame, peer4, peer6, us4, us6};
use linerate_stack::Config;
use linerate_stack::tcp::{Algorithm, Connection, Ecn, KeepAlive, MtuSearch, TcpId, TcpListenerId};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// Our first number, and the peer's where `established` makes the connection.
const OURS: u32 = 100;
const THEIRS: u32 = 300;
const START: u64 = 1000 * SECOND;

/// Runs all scripts of a file.
pub(super) fn run(file: &str, text: &str) {
    let mut failed = Vec::new();
    let (mut title, mut lines, mut count) = ("", Vec::new(), 0);
    for (at, line) in text.lines().chain(["end"]).enumerate() {
        let step = line.split(" #").next().unwrap_or("").trim_end();
        if step.trim().is_empty() || step.starts_with('#') {
            continue;
        }
        if step.starts_with(' ') {
            lines.push((at + 1, step.trim()));
            continue;
        }
        if !title.is_empty() {
            assert!(!lines.is_empty(), "{file}: {title}: nothing in it");
            count += 1;
            if let Err(why) = Play::new().run(&std::mem::take(&mut lines)) {
                failed.push(format!("{file}: {title}\n  {why}"));
            }
        }
        title = step;
    }
    assert!(count > 0 && failed.is_empty(), "{} of {count} scripts:\n{}", failed.len(), failed.join("\n"));
}

/// A byte of either side's data at a place of the stream.
fn byte(at: u32) -> u8 {
    u8::try_from(at.wrapping_mul(31) % 251).unwrap()
}

fn data(from: u32, len: usize) -> Vec<u8> {
    (0..u32::try_from(len).unwrap()).map(|at| byte(from.wrapping_add(at))).collect()
}

struct Play {
    world: World,
    config: Config,
    /// The peer's address, and ours.
    ends: (IpAddr, IpAddr),
    listener: Option<TcpListenerId>,
    id: Option<TcpId>,
    /// Our port, by the peer's.
    ports: HashMap<u16, u16>,
    /// On the wire: our first number, of a connection with a port of the peer's, and the peer's.
    iss: HashMap<u16, u32>,
    irs: HashMap<u16, u32>,
    renewed: Option<u16>,
    /// Our first timestamp.
    stamps: HashMap<u16, u32>,
    written: u32,
    read: u32,
    sent: VecDeque<(u64, Segment)>,
    /// Cookies of ours, by their names.
    cookies: HashMap<String, Vec<u8>>,
    /// Nothing is sent before the next line.
    held: bool,
}

type Result<T = ()> = std::result::Result<T, String>;

impl Play {
    fn new() -> Self {
        let config = Config::new(US, 7);
        Self {
            world: Self::world(&config),
            config,
            ends: (peer4(), us4()),
            listener: None,
            id: None,
            ports: HashMap::new(),
            iss: HashMap::new(),
            irs: HashMap::new(),
            renewed: None,
            stamps: HashMap::new(),
            written: 0,
            read: 0,
            sent: VecDeque::new(),
            cookies: HashMap::new(),
            held: false,
        }
    }

    fn world(config: &Config) -> World {
        let mut world = World::with(config);
        for peer in [peer4(), peer6()] {
            world.host.neighbours().insert_permanent(peer, PEER).unwrap();
        }
        // Where a script is not about it, the windows alone say what leaves.
        world.host.tcp_config().pacing = false;
        world.now = START;
        world
    }

    fn run(mut self, lines: &[(usize, &str)]) -> Result {
        for (at, line) in lines {
            self.line(line).map_err(|why| format!("line {at}: {line}\n    {why}"))?;
        }
        self.silent()
    }

    fn line(&mut self, line: &str) -> Result {
        let (time, step) = line.split_once(char::is_whitespace).ok_or("no time")?;
        let until = START + Self::nanoseconds(time)?;
        if until < self.world.now && !step.trim().starts_with("-->") {
            return Err("it is later already".into());
        }
        let step = step.trim();
        if let Some(wanted) = step.strip_prefix("-->") {
            self.advance(until);
            return self.expect(until, wanted);
        }
        // What is due at this very time comes behind what happens then.
        if !std::mem::take(&mut self.held) {
            self.advance(until - 1);
        }
        self.silent()?;
        self.world.now = until;
        if let Some(arrives) = step.strip_prefix("<--") {
            self.held = arrives.ends_with(" +");
            self.arrive(arrives.trim_end_matches(" +").trim())?;
        } else {
            self.call(step)?;
        }
        if !self.held {
            self.advance(until);
        }
        Ok(())
    }

    /// Nothing was sent that is not in the script.
    fn silent(&mut self) -> Result {
        if self.sent.is_empty() {
            return Ok(());
        }
        let all: Vec<_> = self.sent.drain(..).map(|(at, segment)| format!("{} {segment}", Self::time(at))).collect();
        Err(format!("not in the script: {}", all.join("\n    ")))
    }

    fn time(at: u64) -> String {
        let (seconds, rest) = ((at - START) / SECOND, (at - START) % SECOND);
        format!("{seconds}.{rest:09}").trim_end_matches('0').to_string()
    }

    /// Reads a time in seconds.
    fn nanoseconds(text: &str) -> Result<u64> {
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let part = format!("{rest:0<9}");
        let number = |digits: &str| digits.parse::<u64>().map_err(|_| format!("{text}: no time"));
        Ok(number(whole)? * SECOND + number(&part)?)
    }

    /// Polls until a time, whenever something is due.
    fn advance(&mut self, until: u64) {
        for round in 0.. {
            assert!(round < 10_000, "something is due for ever");
            let Some(at) = self.world.host.poll_timeout().filter(|at| *at <= until) else { break };
            self.world.now = self.world.now.max(at);
            self.poll();
        }
        self.world.now = self.world.now.max(until);
    }

    fn poll(&mut self) {
        self.world.host.poll(self.world.now, &mut self.world.ring);
        self.collect();
    }

    fn collect(&mut self) {
        for frame in self.world.sent() {
            let Some(mut segment) = Segment::parse(&frame) else { continue };
            let (.., port) = between(&frame);
            self.ports.insert(segment.port, port);
            if segment.ctl & SYN != 0 {
                if self.renewed.take() == Some(segment.port) || !self.iss.contains_key(&segment.port) {
                    self.iss.insert(segment.port, segment.seq.wrapping_sub(OURS));
                }
                if let Some((value, _)) = segment.stamps {
                    self.stamps.entry(segment.port).or_insert(value);
                }
            }
            let base = self.iss.get(&segment.port).copied().unwrap_or(0);
            let first = u32::from(segment.ctl & SYN == 0);
            let at = segment.seq.wrapping_sub(base).wrapping_sub(OURS + first);
            assert!(segment.payload == data(at, segment.data), "wrong data: {segment}");
            segment.seq = segment.seq.wrapping_sub(base);
            segment.stamps = segment.stamps.map(|(value, echo)| (value.wrapping_sub(self.stamp(segment.port)), echo));
            self.sent.push_back((self.world.now, segment));
        }
    }

    /// Our port for one of the peer's: the listener's, unless a connection has another.
    fn port(&self, peer: u16) -> u16 {
        self.ports.get(&peer).copied().unwrap_or(80)
    }

    fn stamp(&self, port: u16) -> u32 {
        self.stamps.get(&port).copied().unwrap_or(0)
    }

    /// The segment and its number of times.
    fn written(text: &str) -> Result<(Segment, u32)> {
        let (text, times) = match text.rsplit_once(" x") {
            Some((text, times)) => (text, times.parse().map_err(|_| format!("x{times}: no number"))?),
            None => (text, 1),
        };
        Ok((Segment::read(text)?, times))
    }

    fn expect(&mut self, at: u64, text: &str) -> Result {
        let (mut wanted, times) = Self::written(text)?;
        for _ in 0..times {
            let Some((time, ours)) = self.sent.pop_front() else { return Err(format!("not sent: {wanted}")) };
            if time != at {
                return Err(format!("sent at {}, not {}: {ours}", Self::time(time), Self::time(at)));
            }
            if let Some(name) = &wanted.cookie_name {
                let cookie = ours.cookie.clone().filter(|cookie| !cookie.is_empty()).ok_or("there is no cookie")?;
                if !self.cookies.contains_key(name) && self.cookies.values().any(|known| *known == cookie) {
                    return Err(format!("it has another name already: {ours}"));
                }
                wanted.cookie = Some(self.cookies.entry(name.clone()).or_insert(cookie).clone());
            }
            if let Some(field) = wanted.differs(&ours) {
                return Err(format!("{field} differs: {ours}"));
            }
            wanted.seq = wanted.seq.wrapping_add(u32::try_from(wanted.data).unwrap());
        }
        Ok(())
    }

    fn arrive(&mut self, text: &str) -> Result {
        if !text.starts_with('<') {
            return self.icmp(text);
        }
        let (mut segment, times) = Self::written(text)?;
        if let Some(name) = &segment.cookie_name {
            segment.cookie = Some(self.cookies.get(name).ok_or(format!("{name}: no such cookie"))?.clone());
        }
        if segment.ctl & SYN != 0
            && self.irs.insert(segment.port, segment.seq) != Some(segment.seq)
            && segment.ctl & ACK == 0
        {
            // For a new connection our number is another one.
            self.renewed = Some(segment.port);
        }
        let irs = self.irs.get(&segment.port).copied().unwrap_or(THEIRS);
        for _ in 0..times {
            let at = segment.seq.wrapping_sub(irs).wrapping_sub(u32::from(segment.ctl & SYN == 0));
            let mut wire = segment.clone();
            if wire.ctl & ACK != 0 {
                let base = self.iss.get(&segment.port).copied().unwrap_or(0);
                wire.ack = wire.ack.wrapping_add(base);
                wire.sack
                    .iter_mut()
                    .for_each(|(from, to)| (*from, *to) = (from.wrapping_add(base), to.wrapping_add(base)));
            }
            wire.stamps = wire.stamps.map(|(value, echo)| (value, echo.wrapping_add(self.stamp(segment.port))));
            let frame = wire.frame(self.ends, self.port(wire.port), &data(at, wire.data));
            self.world.host.handle(self.world.now, &frame, None, &mut self.world.ring);
            self.collect();
            segment.seq = segment.seq.wrapping_add(u32::try_from(segment.data).unwrap());
        }
        Ok(())
    }

    /// An ICMP error that quotes a segment of ours.
    fn icmp(&mut self, text: &str) -> Result {
        let (what, about) = text.split_once('<').ok_or("no segment")?;
        let about = Segment::read(&format!("<{about}"))?;
        let seq = about.seq.wrapping_add(self.iss.get(&about.port).copied().unwrap_or(0));
        let tcp = [&self.port(about.port).to_be_bytes()[..], &about.port.to_be_bytes(), &seq.to_be_bytes()].concat();
        let (IpAddr::V4(us), IpAddr::V4(peer)) = (us4(), peer4()) else { unreachable!() };
        let quoted = crate::world::v4_with(us, peer, 6, &[], &tcp, |header| {
            header[2..4].copy_from_slice(&1500_u16.to_be_bytes())
        });
        let words: Vec<_> = what.split_whitespace().collect();
        let (code, rest) = match words[..] {
            ["too", "big", mtu] => {
                let mtu = mtu.parse::<u16>().map_err(|_| format!("{mtu}: no MTU"))?.to_be_bytes();
                (4, [0, 0, mtu[0], mtu[1]])
            }
            ["no", "port"] => (3, [0; 4]),
            ["no", "host"] => (1, [0; 4]),
            _ => return Err(format!("{what}: no such error")),
        };
        let frame = icmp_frame(peer4(), us4(), 3, code, rest, &quoted);
        self.world.host.handle(self.world.now, &frame, None, &mut self.world.ring);
        self.collect();
        Ok(())
    }

    fn call(&mut self, step: &str) -> Result {
        let (name, value) = step.split_once(' ').map_or((step, ""), |(name, value)| (name, value.trim()));
        let number = || value.parse::<u32>().map_err(|_| format!("{value}: no number"));
        let remote = SocketAddr::new(self.ends.0, 4000);
        let now = self.world.now;
        match name {
            "set" => return self.set(value),
            "established" => return self.established(value),
            "listen" => {
                let backlog = if value.is_empty() { 16 } else { number()? as usize };
                let local = SocketAddr::new(self.ends.1, 80);
                self.listener = Some(self.world.host.tcp_listen(local, backlog).map_err(|e| e.to_string())?);
                return Ok(());
            }
            "fast-open" => {
                let listener = self.listener.ok_or("nobody listens")?;
                return same(self.world.host.tcp_fast_open(listener, number()? as usize), true);
            }
            "connect" => {
                self.iss.clear();
                self.id = Some(self.world.host.tcp_connect(now, None, remote).map_err(|e| e.to_string())?);
                return Ok(());
            }
            "connect-with" => {
                self.iss.clear();
                self.stamps.clear();
                (self.written, self.read) = (number()?, 0);
                let bytes = data(0, self.written as usize);
                let made = self.world.host.tcp_connect_with(now, None, remote, &bytes);
                let (id, taken) = made.map_err(|e| e.to_string())?;
                self.id = Some(id);
                return same(taken, bytes.len());
            }
            "accept" => {
                let listener = self.listener.ok_or("nobody listens")?;
                let accepted = self.world.host.tcp_accept(listener);
                return match (accepted, value) {
                    (Some((id, _)), "") => {
                        (self.id, self.written, self.read) = (Some(id), 0, 0);
                        Ok(())
                    }
                    (None, "none") => Ok(()),
                    (accepted, _) => Err(format!("{accepted:?}")),
                };
            }
            _ => {}
        }
        let id = self.id.ok_or("no connection")?;
        let host = &mut self.world.host;
        match name {
            "write" => {
                let len = number()?;
                let taken = host.tcp_write(id, &data(self.written, len as usize)).ok_or("it is closed")?;
                self.written += len;
                same(taken, len as usize)
            }
            "read" => {
                let mut buffer = vec![0; number()? as usize];
                let taken = host.tcp_read(id, &mut buffer).ok_or("there is no connection")?;
                same(&buffer[..taken], &data(self.read, buffer.len()))?;
                self.read += number()?;
                Ok(())
            }
            "nagle" => same(host.tcp_change(id, |connection| connection.set_nagle(value == "on")), true),
            "keep-alive" => {
                let how = Self::keep_alive(value)?;
                same(host.tcp_change(id, |connection| connection.set_keep_alive(now, how)), true)
            }
            "close" => same(host.tcp_close(id), true),
            "release" => same(host.tcp_release(id), true),
            "abort" => same(host.tcp_abort(id), true),
            "fast" => same(self.connection(id)?.is_fast_open(), true),
            "slow" => same(self.connection(id)?.is_fast_open(), false),
            "gone" => same(host.tcp_state(id), None),
            "state" => same(host.tcp_state(id).map(|(state, _)| state.name()), Some(value)),
            "end" => same(
                host.tcp_state(id).and_then(|(_, end)| end).map_or("closed".into(), |end| end.to_string()),
                value.to_string(),
            ),
            "readable" => same(self.connection(id)?.readable(), number()? as usize),
            "at-end" => same(self.connection(id)?.is_at_end(), true),
            "memory" => same(host.tcp_memory(), number()? as usize),
            "room" => same(self.connection(id)?.room(), number()? as usize),
            "unsent" => same(self.connection(id)?.unacknowledged(), number()? as usize),
            "written" => same(self.connection(id)?.written(), number()?.into()),
            "owing" => same(format!("{} {}", host.tcp_unsent().0, host.tcp_unsent().1), value.to_string()),
            "cwnd" => same(self.connection(id)?.congestion_window(), number()?),
            "old" => same(self.connection(id)?.counters().old_timestamps, number()?),
            "outside" => same(self.connection(id)?.counters().outside_window, number()?),
            "mss" => same(self.connection(id)?.mss(), number()?),
            _ => Err(format!("{name}: no such step")),
        }
    }

    fn connection(&self, id: TcpId) -> Result<&Connection> {
        self.world.host.tcp_connection(id).ok_or("there is no connection".into())
    }

    /// Connects, and has the peer answer, at once or after a round trip.
    fn established(&mut self, value: &str) -> Result {
        let (trip, fields) = value.split_at(value.find('<').unwrap_or(value.len()));
        let trip = if trip.is_empty() { 0 } else { Self::nanoseconds(trip.trim())? };
        let at = self.world.now;
        let fields = if fields.is_empty() { "<MSS=1000>" } else { fields };
        for (at, line) in [
            (at, "connect".to_string()),
            (at, format!("--> <SEQ={OURS}><CTL=SYN>")),
            (at + trip, format!("<-- <SEQ={THEIRS}><ACK={}><CTL=SYN>{fields}", OURS + 1)),
            (at + trip, format!("--> <SEQ={}><ACK={}>", OURS + 1, THEIRS + 1)),
        ] {
            self.line(&format!("{} {line}", Self::time(at))).map_err(|why| format!("{line}: {why}"))?;
        }
        Ok(())
    }

    /// Reads `IDLE,INTERVAL,PROBES`, seconds, or `off`.
    fn keep_alive(text: &str) -> Result<Option<KeepAlive>> {
        if text == "off" {
            return Ok(None);
        }
        let parts: Vec<u64> = text.split(',').map_while(|part| part.parse().ok()).collect();
        let [idle, interval, probes] = parts[..] else { return Err(format!("{text}: not three numbers")) };
        let probes = u8::try_from(probes).map_err(|_| format!("{probes} is too much"))?;
        Ok(Some(KeepAlive { idle: idle * SECOND, interval: interval * SECOND, probes }))
    }

    fn set(&mut self, value: &str) -> Result {
        let (name, value) = value.split_once(' ').ok_or("no value")?;
        let number = || value.parse::<u32>().map_err(|_| format!("{value}: no number"));
        let seconds = || Self::nanoseconds(value);
        let on = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(format!("{value}: on or off")),
        };
        if let "mtu" | "memory" = name {
            let of = if name == "mtu" { &mut self.config.mtu } else { &mut self.config.tcp_memory };
            *of = number()? as usize;
            self.world = Self::world(&self.config);
            return Ok(());
        }
        if name == "ipv6" {
            self.ends = if on()? { (peer6(), us6()) } else { (peer4(), us4()) };
            return Ok(());
        }
        let tcp = self.world.host.tcp_config();
        match name {
            "send" => tcp.send = number()?,
            "receive" => tcp.receive = number()?,
            "newreno" => tcp.algorithm = if on()? { Algorithm::NewReno } else { Algorithm::Cubic },
            "nagle" => tcp.nagle = on()?,
            "pacing" => tcp.pacing = on()?,
            "timestamps" => tcp.timestamps = on()?,
            "sack" => tcp.sack = on()?,
            "scaling" => tcp.scaling = on()?,
            "ecn" => {
                tcp.ecn = match value {
                    "off" => Ecn::Off,
                    "accept" => Ecn::Accept,
                    "ask" => Ecn::Ask,
                    _ => return Err(format!("{value}: off, accept or ask")),
                }
            }
            "mtu-search" => {
                tcp.mtu_search = match value {
                    "off" => MtuSearch::Off,
                    "after-black-hole" => MtuSearch::AfterBlackHole,
                    "always" => MtuSearch::Always,
                    _ => return Err(format!("{value}: off, after-black-hole or always")),
                }
            }
            "delay" => tcp.delay = seconds()?,
            "patience" => tcp.patience = seconds()?,
            "linger" => tcp.linger = seconds()?,
            "keep-alive" => tcp.keep_alive = Self::keep_alive(value)?,
            _ => return Err(format!("{name}: no such setting")),
        }
        Ok(())
    }
}

fn same<T: PartialEq + std::fmt::Debug>(is: T, wanted: T) -> Result {
    if is == wanted { Ok(()) } else { Err(format!("it is {is:?}")) }
}
