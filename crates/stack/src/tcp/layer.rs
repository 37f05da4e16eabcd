//! TCP over IP: demultiplexing, checksums, frames.

use super::cookie;
use super::fast::{self, Known};
use super::headers::{HEADER, Headers, LONGEST_HEAD};
use super::sockets::{Ends, Room, Socket, Sockets, numbers};
use super::strays::Strays;
use super::{Config, Connection, End, Opening, Outgoing, Segment, State, TcpId, TcpListenerId, TcpMoving, TcpStray};
use crate::Transmit;
use crate::address::Key;
use crate::counters::Discard;
use crate::due::Due;
use crate::ip::{About, Ip, NextHop, Packet, Report, Told, Traffic};
use crate::secret::{Numbers, Secret, Use};
use crate::stage::{Probe, Stage};
use crate::udp::{BindError, Fills, SendError};
use bytes::Bytes;
use linerate_wire::{TcpFlags, TcpOptions, TcpSegment};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// TCP layer of a host.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) sockets: Sockets,
    strays: Strays,
    secret: Secret,
    /// Ports of connections that the host makes, of all shards.
    ports: Arc<Numbers>,
    pub(crate) fills: Fills,
    pub(crate) tso: Tso,
    pub(crate) config: Config,
    /// The last segment found no room.
    blocked: bool,
    /// RSTs for segments of no connection, of which a moment has so many.
    resets: (u64, u32),
    /// Servers' cookies, of all shards.
    known: Arc<Mutex<Known>>,
}

/// Segmentation of super-frames by the adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tso {
    /// It segments TCP over IPv4.
    pub v4: bool,
    /// It segments TCP over IPv6.
    pub v6: bool,
    /// Slots of its transmit ring: a super-frame takes up to half of them.
    pub slots: u32,
}

/// Bytes of a frame that a slot is counted to hold.
const SLOT: usize = 1536;
/// Most bytes of data in a super-frame: IP's length holds them with all headers.
const MOST: usize = 65_535 - LONGEST_HEAD;

impl Tso {
    /// Most bytes of data of a super-frame over this version of IP, of segments of so many bytes.
    #[inline]
    fn most(self, v4: bool, mss: u32) -> u32 {
        if !(if v4 { self.v4 } else { self.v6 }) {
            return mss;
        }
        let slots = (mss as usize + LONGEST_HEAD).div_ceil(SLOT);
        let segments = (self.slots as usize / 2 / slots).max(1);
        super::count((segments * mss as usize).min(MOST))
    }
}

/// RSTs that are sent in a millisecond at most, for segments of no connection.
const RESETS: u32 = 64;

impl Tcp {
    pub(crate) fn new(fills: Fills, secret: Secret, memory: usize) -> Self {
        Self {
            sockets: Sockets::new(secret.key(Use::Connections), memory),
            strays: Strays::default(),
            secret,
            ports: Arc::new(Numbers::new(secret.key(Use::TcpPort))),
            fills,
            tso: Tso::default(),
            config: Config::default(),
            blocked: false,
            resets: (0, 0),
            known: Arc::default(),
        }
    }

    /// Another shard's, without connections; each has all of the memory, and is told what its adapter segments.
    pub(crate) fn shard(&self) -> Self {
        let (config, known, ports) = (self.config, self.known.clone(), self.ports.clone());
        Self { config, known, ports, ..Self::new(self.fills, self.secret, self.sockets.shares.limit()) }
    }

    // ---- user's calls ----

    pub(crate) fn listen(&mut self, ip: &Ip, local: SocketAddr, backlog: usize) -> Result<TcpListenerId, BindError> {
        self.sockets.listen(local, backlog, self.config, &ip.settings.own)
    }

    /// The local end of a connection to `remote`, with a free port where none is given; and the way there.
    pub(crate) fn local(
        &mut self,
        ip: &Ip,
        now: u64,
        local: Option<SocketAddr>,
        remote: SocketAddr,
    ) -> Result<(SocketAddr, NextHop), SendError> {
        let unspecified = if remote.is_ipv4() { IpAddr::from([0_u8; 4]) } else { IpAddr::from([0_u8; 16]) };
        let bound = local.map_or(unspecified, |local| local.ip());
        let nobody =
            remote.ip().is_unspecified() || remote.ip().is_multicast() || ip.settings.own.is_broadcast(remote.ip());
        if remote.port() == 0 || nobody || bound.is_ipv4() != remote.is_ipv4() {
            return Err(SendError::BadDestination);
        }
        let way = ip.way(remote.ip(), bound, now).ok_or(SendError::NoRoute)?;
        let port = match local.map(|local| local.port()).filter(|port| *port != 0) {
            Some(port) => port,
            None => {
                let (here, there) = (Key::new(way.from), (Key::new(remote.ip()), remote.port()));
                self.sockets.port(&self.ports, here, there).ok_or(SendError::NoRoom)?
            }
        };
        Ok((SocketAddr::new(way.from, port), way))
    }

    /// Begins a connection; with bytes to be sent by Fast Open, of which it takes as many as there is room for.
    pub(crate) fn connect(
        &mut self,
        ip: &Ip,
        now: u64,
        (local, remote): (Option<SocketAddr>, SocketAddr),
        opening: Opening,
        bytes: Option<&[u8]>,
    ) -> Result<(TcpId, usize), SendError> {
        let (local, way) = self.local(ip, now, local, remote)?;
        let (iss, stamp) = numbers(now, self.secret, ends(local, remote));
        let mss = mss(way.mtu, remote.is_ipv4());
        let mss = mss.min(opening.mss.map_or(mss, |most| most.get().into()));
        let mut connection = Connection::connect(now, &self.config, mss, iss, stamp);
        connection.set_traffic(opening.traffic);
        let taken = bytes.and_then(|bytes| {
            if let Some((cookie, mss)) = lock(&self.known).option(now, local, remote) {
                connection.ask_fast_open(cookie, mss.into());
            }
            connection.write(bytes)
        });
        let id = self.sockets.add(connection, local, remote, None).ok_or(SendError::NoRoom)?;
        Ok((id, taken.unwrap_or(0)))
    }

    // ---- connections that go from shard to shard ----

    /// Expects the answer to a connection that another shard makes; false if there is one with these ends here.
    pub(crate) fn expect(&mut self, local: SocketAddr, remote: SocketAddr) -> bool {
        let ends = ends(local, remote);
        self.sockets.find(ends).is_none() && self.strays.expect(ends)
    }

    pub(crate) fn expect_no_more(&mut self, local: SocketAddr, remote: SocketAddr) {
        self.strays.forget(ends(local, remote));
    }

    pub(crate) fn stray(&mut self) -> Option<TcpStray> {
        self.strays.next()
    }

    pub(crate) fn take_out(&mut self, id: TcpId) -> Option<TcpMoving> {
        self.sockets.take_out(id).map(|(connection, local, remote)| TcpMoving { connection, local, remote })
    }

    /// Goes on with a connection here, and with the segments that came for it.
    pub(crate) fn put_in(&mut self, now: u64, moving: TcpMoving, strays: &[TcpStray]) -> Option<TcpId> {
        let TcpMoving { mut connection, local, remote } = moving;
        self.strays.forget(ends(local, remote));
        strays.iter().for_each(|stray| stray.arrive(now, &mut connection));
        self.sockets.add(connection, local, remote, None)
    }

    pub(crate) fn write(&mut self, id: TcpId, bytes: &[u8]) -> Option<usize> {
        self.write_probed(id, bytes, &mut ()).map(|(taken, _)| taken)
    }

    /// Writes with a probe; gives the bytes taken, and true if the probe lets them go on. Even then they go out with the next
    /// poll.
    #[inline]
    pub(crate) fn write_probed<P: Probe>(&mut self, id: TcpId, bytes: &[u8], probe: &mut P) -> Option<(usize, bool)> {
        // As much as there was room for when it was last looked at: whoever has asked for the room relies on it.
        let connection = &mut self.sockets.get_mut(id)?.connection;
        let taken = connection.write(bytes)?;
        let goes_on = probe.passed(Stage::Buffer, connection);
        if taken > 0 {
            self.sockets.wrote(id);
        }
        Some((taken, goes_on))
    }

    pub(crate) fn write_chunk(&mut self, id: TcpId, chunk: &mut Bytes) -> Option<usize> {
        let taken = self.sockets.get_mut(id)?.connection.write_chunk(chunk)?;
        if taken > 0 {
            self.sockets.wrote(id);
        }
        Some(taken)
    }

    pub(crate) fn read(&mut self, id: TcpId, into: &mut [u8]) -> Option<usize> {
        self.reads(id, |connection| connection.read(into))
    }

    pub(crate) fn read_with(&mut self, id: TcpId, read: impl FnOnce([&[u8]; 2]) -> usize) -> Option<usize> {
        self.reads(id, |connection| {
            let [first, second] = connection.peek();
            let n = read([first, second]).min(first.len() + second.len());
            connection.consume(n);
            n
        })
    }

    fn reads(&mut self, id: TcpId, read: impl FnOnce(&mut Connection) -> usize) -> Option<usize> {
        let connection = &mut self.sockets.get_mut(id)?.connection;
        let n = read(connection);
        // The window may be told.
        if n > 0 && connection.due() == Due::NOW {
            self.sockets.wake_id(id);
        }
        Some(n)
    }

    pub(crate) fn close(&mut self, id: TcpId) -> bool {
        let Some(socket) = self.sockets.get_mut(id) else { return false };
        socket.connection.close();
        self.sockets.wake_id(id);
        true
    }

    pub(crate) fn change(&mut self, id: TcpId, change: impl FnOnce(&mut Connection)) -> bool {
        let Some(socket) = self.sockets.get_mut(id) else { return false };
        change(&mut socket.connection);
        self.sockets.wake_id(id);
        true
    }

    pub(crate) fn abort(&mut self, id: TcpId) -> bool {
        let Some(socket) = self.sockets.get_mut(id) else { return false };
        socket.connection.abort();
        self.sockets.wake_id(id);
        true
    }

    pub(crate) fn connection(&self, id: TcpId) -> Option<&Connection> {
        self.sockets.get(id).map(|socket| &socket.connection)
    }

    pub(crate) fn ends(&self, id: TcpId) -> Option<(SocketAddr, SocketAddr)> {
        self.sockets.get(id).map(|socket| (socket.local, socket.remote))
    }

    pub(crate) fn state(&self, id: TcpId) -> Option<(State, Option<End>)> {
        self.sockets.state(id)
    }

    // ---- input ----

    /// Takes a segment. Whatever it has a connection send goes out with [`poll`](Self::poll), once for all that arrive
    /// together.
    pub(crate) fn take<T: Transmit, P: Probe>(
        &mut self,
        ip: &mut Ip,
        now: u64,
        packet: &Packet<'_>,
        tx: &mut T,
        probe: &mut P,
    ) -> Result<(), Discard> {
        let view = TcpSegment::new_checked(packet.payload).map_err(|_| Discard::Malformed)?;
        // RFC 9293, section 3.9.2.3: nothing that came to a group or a broadcast is taken.
        if packet.to_all || packet.from.is_unspecified() {
            return Err(Discard::BadAddress);
        }
        let right = packet.origin.verified
            || match (packet.from, packet.to) {
                (IpAddr::V4(src), IpAddr::V4(dst)) => view.verify_checksum_v4(src, dst),
                (IpAddr::V6(src), IpAddr::V6(dst)) => view.verify_checksum_v6(src, dst),
                _ => false,
            };
        if !right {
            return Err(Discard::BadChecksum);
        }
        let segment = Segment { is_marked: packet.is_marked(), ..Segment::new(&view) };
        if !probe.passed(Stage::Segment, &segment) {
            return Ok(());
        }
        let (local, remote) =
            (SocketAddr::new(packet.to, view.dst_port()), SocketAddr::new(packet.from, view.src_port()));
        let ends = ends(local, remote);
        if let Some(index) = self.sockets.find(ends)
            && let pressed = self.sockets.is_pressed(index)
            && let Some(socket) = self.sockets.at(index)
        {
            if !socket.connection.gives_way_to(&segment) {
                if !probe.passed(Stage::Socket, socket) {
                    return Ok(());
                }
                socket.connection.set_pressed(pressed);
                socket.connection.arrive(now, &segment);
                self.sockets.wake(index);
                ip.link.counters.tcp_received += 1;
                probe.passed(Stage::Input, &self.sockets);
                return Ok(());
            }
            // A new connection in place of one that has ended (RFC 9293, section 3.10.7.4; RFC 6191).
            self.sockets.forget(index);
        }
        let begun = self.begin(ip, now, (local, remote, ends), &segment, tx)?;
        if begun || self.strays.take(ends, local, remote, packet.payload) {
            ip.link.counters.tcp_received += 1;
            return Ok(());
        }
        self.refuse(ip, now, (local, remote), &segment, tx);
        Err(Discard::NoSocket)
    }

    /// Begins a connection with a SYN to a listener, or with the acknowledgement of a cookie; false if it is neither, but is to be
    /// answered. A listener drops what is neither SYN, ACK nor RST (RFC 9293, section 3.10.7.2, fourth).
    fn begin<T: Transmit>(
        &mut self,
        ip: &mut Ip,
        now: u64,
        (local, remote, ends): (SocketAddr, SocketAddr, Ends),
        segment: &Segment<'_>,
        tx: &mut T,
    ) -> Result<bool, Discard> {
        let bits = segment.flags.0 & (TcpFlags::SYN.0 | TcpFlags::ACK.0 | TcpFlags::RST.0);
        let syn = bits == TcpFlags::SYN.0;
        if !syn && bits != TcpFlags::ACK.0 && bits != 0 {
            return Ok(false);
        }
        let Some(listening) = self.sockets.listener(now, ends.0) else { return Ok(false) };
        if bits == 0 {
            return Err(Discard::Malformed);
        }
        let peer = if syn { segment.seq } else { segment.seq.minus(1) };
        // What the cookie tells of the SYN.
        let mut told = None;
        if !syn {
            let mss = cookie::check(now, self.secret, ends, peer, segment.ack.minus(1)).filter(|_| listening.cookies);
            let Some(mss) = mss else { return Ok(false) };
            let options = cookie::options(mss, segment.options.timestamps);
            told = Some(Segment { seq: peer, options, ..*segment });
        }
        if listening.room == Room::None || self.sockets.shares.refuses(remote.ip()) {
            return Err(Discard::QueueFull);
        }
        let way = ip.way(remote.ip(), local.ip(), now).ok_or(Discard::NoSocket)?;
        let (mss, (iss, stamp)) = (mss(way.mtu, remote.is_ipv4()), numbers(now, self.secret, ends));
        let connection = match &told {
            Some(told) => Connection::resume(now, &listening.config, mss, segment.ack.minus(1), stamp, told, segment),
            None if listening.room == Room::Cookie => {
                let iss = cookie::make(now, self.secret, ends, peer, segment.options.mss);
                if let Some(answer) = cookie::answer(now, &listening.config, mss, iss, stamp, segment) {
                    self.sockets.sends_cookie(listening.id, now);
                    let valid = ip.link.common.generation();
                    Headers::new(ip, now, (local, remote), way, valid).send(ip, now, self.fills, &answer, tx, &mut ());
                }
                return Ok(true);
            }
            None => {
                let mut new = Connection::accept(now, &listening.config, mss, iss, stamp, segment);
                if let Some(room) = listening.fast {
                    fast::answer(now, self.secret, ends, room, &mut new, segment);
                }
                new
            }
        };
        self.sockets.add(connection, local, remote, Some(listening.id)).ok_or(Discard::QueueFull)?;
        Ok(true)
    }

    /// Takes an error about a segment, if one with its number is under way: others could be forged by anybody (RFC 5927, section
    /// 4.1).
    pub(crate) fn report(&mut self, report: &Report) -> Result<(), Discard> {
        let Report { from, to, about, what } = *report;
        let About::Segment(seq) = about else { return Err(Discard::NoSocket) };
        let index = self.sockets.find(ends(from, to)).ok_or(Discard::NoSocket)?;
        let socket = self.sockets.at(index).ok_or(Discard::NoSocket)?;
        if !socket.connection.is_under_way(super::Seq(seq)) {
            return Err(Discard::NoSocket);
        }
        match what {
            Told::Refused => socket.connection.refused(),
            Told::Unreachable => socket.connection.unreachable(),
            // The connection learns the path's MTU when it is looked at.
            Told::TooBig(_) => {}
        }
        self.sockets.wake(index);
        Ok(())
    }

    /// Answers a segment for no connection with RST (RFC 9293, section 3.10.7.1).
    fn refuse<T: Transmit>(
        &mut self,
        ip: &mut Ip,
        now: u64,
        (local, remote): (SocketAddr, SocketAddr),
        segment: &Segment<'_>,
        tx: &mut T,
    ) {
        let moment = now / 1_000_000;
        if self.resets.0 != moment {
            self.resets = (moment, 0);
        }
        self.resets.1 += 1;
        if segment.has(TcpFlags::RST) || self.resets.1 > RESETS {
            return;
        }
        let answers = segment.has(TcpFlags::ACK);
        let rst = Outgoing {
            seq: if answers { segment.ack } else { super::Seq(0) },
            ack: if answers { super::Seq(0) } else { segment.seq.plus(segment.len()) },
            flags: if answers { TcpFlags::RST } else { TcpFlags::RST.union(TcpFlags::ACK) },
            window: 0,
            options: TcpOptions::default(),
            payload: Outgoing::NO_DATA,
            mss: 536,
            may_be_marked: false,
            traffic: Traffic::default(),
        };
        if let Some(way) = ip.way(remote.ip(), local.ip(), now) {
            let valid = ip.link.common.generation();
            Headers::new(ip, now, (local, remote), way, valid).send(ip, now, self.fills, &rst, tx, &mut ());
        }
    }

    // ---- output ----

    /// Sends what connections have to send, as far as there is room.
    pub(crate) fn poll<T: Transmit, P: Probe>(&mut self, ip: &mut Ip, now: u64, tx: &mut T, probe: &mut P) {
        let valid = ip.link.common.generation();
        ip.follow();
        self.sockets.wake_due(now);
        self.blocked = false;
        for _ in 0..self.sockets.works() {
            let Some((index, stirred)) = self.sockets.next() else { return };
            let (fills, tso, pressed) = (self.fills, self.tso, self.sockets.is_pressed(index));
            let crowded = self.sockets.is_crowded(index);
            let Some(socket) = self.sockets.at(index) else { continue };
            if !probe.passed(Stage::Turn, socket) {
                return self.sockets.wake(index);
            }
            socket.connection.crowded = crowded;
            let Socket { connection, headers, local, remote, .. } = socket;
            if headers.as_ref().is_some_and(|headers| !headers.hold(ip, now)) {
                *headers = None;
            }
            let way = if headers.is_some() { None } else { ip.way(remote.ip(), local.ip(), now) };
            let known = headers.as_ref().map(Headers::mtu).or_else(|| way.as_ref().map(|way| way.mtu));
            let mut full = false;
            if let Some(mtu) = known {
                if !probe.passed(Stage::Route, &mtu) {
                    return self.sockets.wake(index);
                }
                connection.set_path_mss(mss(mtu, remote.is_ipv4()), least_mss(remote.is_ipv4()));
                connection.set_pressed(pressed);
                connection.set_burst(tso.most(remote.is_ipv4(), connection.mss()));
                connection.poll(now, &mut |outgoing| {
                    // What is turned back from here on is lost on its way, as far as the connection knows.
                    if !probe.passed(Stage::Output, outgoing) {
                        return true;
                    }
                    // The neighbour is looked for only if there is something to send.
                    if let (None, Some(way)) = (&headers, way) {
                        *headers = Some(Headers::new(ip, now, (*local, *remote), way, valid));
                    }
                    if !probe.passed(Stage::Neighbour, headers) {
                        return true;
                    }
                    full = headers.as_ref().is_some_and(|headers| !headers.send(ip, now, fills, outgoing, tx, probe));
                    !full
                });
            } else {
                // Without a route nothing goes out: time-outs go on as if it were lost.
                connection.poll(now, &mut |_| true);
            }
            if let Some(lesson) = connection.fast_open_lesson() {
                lock(&self.known).learn(now, *local, *remote, lesson);
            }
            if full {
                // It goes on when there is room; so do those behind it.
                self.sockets.list(index, false);
                self.blocked = true;
            }
            // Who waits for room itself is not called by each look at a full ring.
            self.sockets.settle(now, index, stirred || !full);
            if full {
                return;
            }
        }
    }

    /// True if segments wait for room.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked
    }

    #[inline]
    pub(crate) fn due(&self) -> Due {
        // What waits for room has no time.
        if self.blocked { self.sockets.next_timer() } else { self.sockets.next_due() }
    }
}

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ends(local: SocketAddr, remote: SocketAddr) -> Ends {
    Ends((Key::new(local.ip()), local.port()), (Key::new(remote.ip()), remote.port()))
}

/// Bytes of data in a segment on a path of this MTU, without options (RFC 6691).
#[inline]
fn mss(mtu: usize, v4: bool) -> u32 {
    let headers = if v4 { 20 } else { 40 } + HEADER;
    u32::try_from(mtu.saturating_sub(headers)).unwrap_or(536).min(65_495)
}

/// Bytes of data that every path takes, without options: those of IPv6 carry 1280 bytes (RFC 8200, section 5), those of IPv4
/// hardly any (RFC 791).
#[inline]
fn least_mss(v4: bool) -> u32 {
    if v4 { 0 } else { 1280 - 40 - 20 }
}
