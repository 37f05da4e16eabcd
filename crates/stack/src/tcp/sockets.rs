//! Connections and listeners of a host, by their addresses and ports.
//!
//! Connections lie in a table and are found by a hash of both ends. What one that is idle costs is its place: timers are
//! in a heap, and those that have something to send, or news for their user, in lists.

use super::early::Early;
use super::headers::Headers;
use super::shares::Shares;
use super::{Config, Connection, End, Seq, State, cookie, count, low};
use crate::address::{Key, Own};
use crate::due::Due;
use crate::secret::{EPHEMERAL, Keyed, Numbers, Secret, Use, port};
use crate::udp::BindError;
use std::cmp::Reverse;
use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash, Hasher};
use std::net::SocketAddr;

/// Most connections of a host.
const MOST: usize = 1 << 20;

/// Identifier of a connection of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TcpId {
    index: u32,
    /// Number of the connections that had the place before.
    life: u32,
}

/// Identifier of a listener of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TcpListenerId(u32);

impl TcpId {
    /// Place of the connection among those of its host: small numbers, used again.
    #[must_use]
    pub fn index(self) -> usize {
        self.index as usize
    }
}

impl TcpListenerId {
    /// Place of the listener among those of its host.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Both ends of a connection, as they are compared: ours first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends(pub(crate) (Key, u16), pub(crate) (Key, u16));

impl Hash for Ends {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.0.0.bits());
        state.write_u128(self.1.0.bits());
        state.write_u32(u32::from(self.0.1) << 16 | u32::from(self.1.1));
    }
}

/// A connection with its ends.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) connection: Connection,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    life: u32,
    /// Its listener, until it is accepted.
    listener: Option<u32>,
    /// The listener that counts it as begun with data, until its handshake is over (Fast Open).
    early: Option<u32>,
    /// Nobody asks for it any more: it goes when it has ended.
    released: bool,
    /// It is in the list of those to be looked at, and in the list of those with news.
    listed: bool,
    told: bool,
    /// Somebody has had it looked at: it is not in the first list only because it waits for room.
    stirred: bool,
    /// Time for which it is in the heap.
    due: Due,
    /// Bytes of memory that are counted for it, and the account of its peer's origin.
    held: u32,
    account: u32,
    /// Headers in front of its segments', while they hold.
    pub(crate) headers: Option<Headers>,
}

#[derive(Debug)]
struct Listener {
    local: SocketAddr,
    key: Key,
    config: Config,
    /// Most connections that are not accepted yet, and those that are not, in order of their handshakes' ends.
    backlog: usize,
    pending: usize,
    ready: VecDeque<TcpId>,
    /// Time of the last SYN that was answered by a cookie.
    cookies: Option<u64>,
    early: Early,
}

/// A listener that a segment is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listening {
    pub(crate) id: u32,
    pub(crate) config: Config,
    pub(crate) room: Room,
    /// A cookie may have been sent lately.
    pub(crate) cookies: bool,
    /// Fast Open is on, and true if one more may begin with data.
    pub(crate) fast: Option<bool>,
}

/// Room of a listener for one more connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It is remembered.
    Some,
    /// Too many handshakes are going on: it is answered by a cookie.
    Cookie,
    /// Its user accepts none.
    None,
}

/// All connections and listeners.
#[derive(Debug)]
pub(crate) struct Sockets {
    places: Vec<Option<Socket>>,
    lives: Vec<u32>,
    free: Vec<u32>,
    by_ends: HashMap<Ends, u32, Keyed>,
    /// The one that was found last: segments come in trains.
    latest: Option<(Ends, u32)>,
    listeners: Vec<Option<Listener>>,
    due: BinaryHeap<Reverse<(Due, u32, u32)>>,
    /// Those that have something to do.
    work: VecDeque<u32>,
    news: VecDeque<TcpId>,
    arrivals: VecDeque<TcpListenerId>,
    pub(crate) shares: Shares,
}

impl Sockets {
    pub(crate) fn new(key: Keyed, memory: usize) -> Self {
        Self {
            places: Vec::new(),
            lives: Vec::new(),
            free: Vec::new(),
            by_ends: HashMap::with_hasher(key),
            latest: None,
            listeners: Vec::new(),
            due: BinaryHeap::new(),
            work: VecDeque::new(),
            news: VecDeque::new(),
            arrivals: VecDeque::new(),
            shares: Shares::new(key, memory),
        }
    }

    // ---- listeners ----

    pub(crate) fn listen(
        &mut self,
        local: SocketAddr,
        backlog: usize,
        config: Config,
        own: &Own,
    ) -> Result<TcpListenerId, BindError> {
        if !local.ip().is_unspecified() && !own.is_ours(local.ip()) {
            return Err(BindError::NotOurs(local.ip()));
        }
        let local = match local.port() {
            0 => self.listening_port(local).ok_or(BindError::Full)?,
            _ if self.clashes(local) => return Err(BindError::InUse(local)),
            _ => local,
        };
        let new = Listener {
            local,
            key: Key::new(local.ip()),
            config,
            backlog: backlog.max(1),
            pending: 0,
            ready: VecDeque::new(),
            cookies: None,
            early: Early::default(),
        };
        let at = self.listeners.iter().position(Option::is_none).unwrap_or(self.listeners.len());
        let Ok(id) = u32::try_from(at) else { return Err(BindError::Full) };
        if at == self.listeners.len() {
            self.listeners.push(None);
        }
        self.listeners[at] = Some(new);
        Ok(TcpListenerId(id))
    }

    /// True if somebody listens where this would.
    fn clashes(&self, local: SocketAddr) -> bool {
        self.listeners.iter().flatten().any(|other| {
            other.local.port() == local.port()
                && other.local.is_ipv4() == local.is_ipv4()
                && (other.local.ip() == local.ip() || other.local.ip().is_unspecified() || local.ip().is_unspecified())
        })
    }

    /// The same address with a port at which nobody listens, and that no connection has.
    fn listening_port(&mut self, local: SocketAddr) -> Option<SocketAddr> {
        let taken: HashSet<u16> = self.places.iter().flatten().map(|socket| socket.local.port()).collect();
        EPHEMERAL.filter(|port| !taken.contains(port)).find_map(|port| {
            let local = SocketAddr::new(local.ip(), port);
            (!self.clashes(local)).then_some(local)
        })
    }

    /// The listener at this end.
    pub(crate) fn listener(&self, now: u64, to: (Key, u16)) -> Option<Listening> {
        let meant = |listener: &&Listener| {
            listener.local.port() == to.1 && (listener.key == to.0 || listener.key == to.0.any())
        };
        let all = self.listeners.iter().enumerate();
        let mut found = all.filter_map(|(at, listener)| Some((at, listener.as_ref().filter(meant)?)));
        // An exact address comes before all addresses.
        let first = found.next()?;
        let (at, listener) = found.find(|(_, listener)| listener.key == to.0).unwrap_or(first);
        let room = if listener.ready.len() >= listener.backlog {
            Room::None
        } else if listener.pending + listener.ready.len() >= listener.backlog {
            Room::Cookie
        } else {
            Room::Some
        };
        let cookies = listener.cookies.is_some_and(|last| now.saturating_sub(last) <= cookie::LIFE);
        let fast = listener.early.room(now);
        Some(Listening { id: u32::try_from(at).ok()?, config: listener.config, room, cookies, fast })
    }

    /// A listener answers with a cookie.
    pub(crate) fn sends_cookie(&mut self, listener: u32, now: u64) {
        if let Some(Some(listener)) = self.listeners.get_mut(listener as usize) {
            listener.cookies = Some(now);
        }
    }

    /// True if a connection is one of so many handshakes of its listener that it has to give way when nobody goes on with it for
    /// long.
    pub(crate) fn is_crowded(&self, index: u32) -> bool {
        let Some(Some(socket)) = self.places.get(index as usize) else { return false };
        let Some(listener) = socket.listener else { return false };
        let handshake = socket.early.is_none() && socket.connection.state() == State::SynReceived;
        let listener = self.listeners.get(listener as usize).and_then(Option::as_ref).filter(|_| handshake);
        listener.is_some_and(|listener| 2 * listener.pending > listener.backlog)
    }

    /// Sets how many connections of a listener may begin with data at a time; false if there is none.
    pub(crate) fn set_fast_open(&mut self, id: TcpListenerId, most: usize) -> bool {
        let listener = self.listeners.get_mut(id.0 as usize).and_then(Option::as_mut);
        listener.map(|listener| listener.early.most = most).is_some()
    }

    /// Takes a connection that has come, with its peer.
    pub(crate) fn accept(&mut self, id: TcpListenerId) -> Option<(TcpId, SocketAddr)> {
        let listener = self.listeners.get_mut(id.0 as usize)?.as_mut()?;
        let id = listener.ready.pop_front()?;
        let socket = self.for_user(id)?;
        (socket.listener, socket.told) = (None, false);
        Some((id, socket.remote))
    }

    /// Closes a listener: connections that nobody has accepted are reset.
    pub(crate) fn close_listener(&mut self, id: TcpListenerId) -> bool {
        if self.listeners.get_mut(id.0 as usize).and_then(Option::take).is_none() {
            return false;
        }
        for at in 0..self.places.len() {
            if let Some(socket) = &mut self.places[at] {
                socket.early.take_if(|listener| *listener == id.0);
            }
            if let Some(socket) = &mut self.places[at]
                && socket.listener == Some(id.0)
            {
                (socket.listener, socket.released) = (None, true);
                socket.connection.abort();
                self.wake(count(at));
            }
        }
        true
    }

    /// A listener to which a connection has come since it was last returned.
    pub(crate) fn arrival(&mut self) -> Option<TcpListenerId> {
        self.arrivals.pop_front()
    }

    // ---- connections ----

    /// Adds a connection; None if there is no room, or one with these ends.
    pub(crate) fn add(
        &mut self,
        connection: Connection,
        local: SocketAddr,
        remote: SocketAddr,
        listener: Option<u32>,
    ) -> Option<TcpId> {
        let ends = Ends((Key::new(local.ip()), local.port()), (Key::new(remote.ip()), remote.port()));
        if self.places.len() - self.free.len() >= MOST {
            return None;
        }
        let index = match self.free.last() {
            Some(index) => *index,
            None => u32::try_from(self.places.len()).ok()?,
        };
        match self.by_ends.entry(ends) {
            MapEntry::Occupied(_) => return None,
            MapEntry::Vacant(place) => place.insert(index),
        };
        let at = index as usize;
        if self.free.pop().is_none() {
            self.places.push(None);
            self.lives.push(0);
        }
        let life = self.lives[at];
        let early = listener.filter(|_| connection.is_open_early());
        self.places[at] = Some(Socket {
            connection,
            local,
            remote,
            life,
            listener,
            early,
            released: false,
            listed: false,
            told: false,
            stirred: false,
            due: Due::NEVER,
            held: 0,
            account: self.shares.open(remote.ip()),
            headers: None,
        });
        if let Some(listener) = listener.and_then(|at| self.listeners.get_mut(at as usize)?.as_mut()) {
            listener.pending += 1;
            listener.early.begun += usize::from(early.is_some());
        }
        self.wake(index);
        Some(TcpId { index, life })
    }

    /// A free port for a connection to `remote` from this address.
    pub(crate) fn port(&self, ports: &Numbers, local: Key, remote: (Key, u16)) -> Option<u16> {
        let mut all = EPHEMERAL.map(|_| port(ports.next((local.bits(), remote.0.bits(), remote.1)).into()));
        all.find(|port| !self.by_ends.contains_key(&Ends((local, *port), remote)))
    }

    #[inline]
    pub(crate) fn find(&mut self, ends: Ends) -> Option<u32> {
        if let Some((latest, index)) = self.latest
            && latest == ends
        {
            return Some(index);
        }
        self.look_up(ends)
    }

    /// The same, of another one than was found last: not to be in the way of those that come in trains.
    #[inline(never)]
    fn look_up(&mut self, ends: Ends) -> Option<u32> {
        let index = self.by_ends.get(&ends).copied()?;
        self.latest = Some((ends, index));
        Some(index)
    }

    #[inline]
    pub(crate) fn get(&self, id: TcpId) -> Option<&Socket> {
        self.places.get(id.index as usize)?.as_ref().filter(|socket| socket.life == id.life)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: TcpId) -> Option<&mut Socket> {
        self.places.get_mut(id.index as usize)?.as_mut().filter(|socket| socket.life == id.life)
    }

    #[inline]
    pub(crate) fn at(&mut self, index: u32) -> Option<&mut Socket> {
        self.places.get_mut(index as usize)?.as_mut()
    }

    /// Has a connection looked at.
    #[inline]
    pub(crate) fn wake(&mut self, index: u32) {
        self.list(index, true);
    }

    /// Has a connection looked at; unless that `stirs` it, nothing is new there: it waits for room.
    #[inline]
    pub(crate) fn list(&mut self, index: u32, stirs: bool) {
        if let Some(Some(socket)) = self.places.get_mut(index as usize) {
            socket.stirred |= stirs;
            if !std::mem::replace(&mut socket.listed, true) {
                self.work.push_back(index);
            }
        }
    }

    #[inline]
    pub(crate) fn wake_id(&mut self, id: TcpId) {
        if self.get(id).is_some() {
            self.wake(id.index);
        }
    }

    /// Number of connections that have something to do now.
    pub(crate) fn works(&self) -> usize {
        self.work.len()
    }

    /// Takes a connection that has something to do; true if something may be new there.
    pub(crate) fn next(&mut self) -> Option<(u32, bool)> {
        let index = self.work.pop_front()?;
        let stirred = self.at(index).is_some_and(|socket| {
            socket.listed = false;
            std::mem::take(&mut socket.stirred)
        });
        Some((index, stirred))
    }

    /// Has those looked at whose time has come.
    pub(crate) fn wake_due(&mut self, now: u64) {
        while let Some(&Reverse((at, index, life))) = self.due.peek().filter(|Reverse((at, ..))| at.has_come(now)) {
            self.due.pop();
            if let Some(socket) = self.at(index)
                && (socket.life, socket.due) == (life, at)
            {
                socket.due = Due::NEVER;
                self.wake(index);
            }
        }
    }

    /// Time at which the next one has something to do.
    #[inline]
    pub(crate) fn next_due(&self) -> Due {
        if self.work.is_empty() { self.next_timer() } else { Due::NOW }
    }

    /// Time at which the next timer ends.
    #[inline]
    pub(crate) fn next_timer(&self) -> Due {
        self.due.peek().map_or(Due::NEVER, |Reverse((at, ..))| *at)
    }

    /// A connection was looked at: notes its next time, tells its user or listener of what is new, and takes it away when
    /// it has ended.
    pub(crate) fn settle(&mut self, now: u64, index: u32, news: bool) {
        let Some(Some(socket)) = self.places.get_mut(index as usize) else { return };
        let (state, life) = (socket.connection.state(), socket.life);
        let id = TcpId { index, life };
        let held = count(socket.connection.memory());
        self.shares.change(socket.account, std::mem::replace(&mut socket.held, held), held);
        let next = socket.connection.due();
        // What is due and waits for room has no time.
        if next < socket.due && !(socket.listed && next.has_come(now)) {
            // An earlier entry of the heap is passed over when its time comes.
            socket.due = next;
            self.due.push(Reverse((next, index, life)));
        }
        let early = socket.connection.is_open_early();
        if !early && let Some(listener) = socket.early.take() {
            let reset = socket.connection.end() == Some(End::Reset);
            if let Some(Some(listener)) = self.listeners.get_mut(listener as usize) {
                listener.early.ends(now, reset);
            }
        }
        if let Some(listener) = socket.listener {
            if state != State::SynReceived || early {
                self.arrived(id, listener, state);
            }
        } else if news && !socket.released && !std::mem::replace(&mut socket.told, true) {
            self.news.push_back(id);
        }
        self.remove_ended(index);
    }

    /// A handshake has ended, or data have come with SYN.
    fn arrived(&mut self, id: TcpId, listener: u32, state: State) {
        let Some(socket) = self.get_mut(id) else { return };
        if socket.told {
            return;
        }
        socket.told = true;
        let failed = state == State::Closed;
        if failed {
            (socket.released, socket.listener) = (true, None);
        }
        let Some(Some(listening)) = self.listeners.get_mut(listener as usize) else { return };
        listening.pending = listening.pending.saturating_sub(1);
        if !failed {
            listening.ready.push_back(id);
            self.arrivals.push_back(TcpListenerId(listener));
        }
    }

    fn remove_ended(&mut self, index: u32) {
        let Some(Some(socket)) = self.places.get(index as usize) else { return };
        if socket.connection.state() != State::Closed || !socket.released || socket.connection.due().is_set() {
            return;
        }
        self.forget(index);
    }

    /// Takes a connection out, with its ends.
    pub(crate) fn take_out(&mut self, id: TcpId) -> Option<(Connection, SocketAddr, SocketAddr)> {
        self.get(id)?;
        self.forget(id.index).map(|socket| (socket.connection, socket.local, socket.remote))
    }

    /// Takes a connection away.
    pub(crate) fn forget(&mut self, index: u32) -> Option<Socket> {
        let socket = self.places.get_mut(index as usize)?.take()?;
        let ends = Ends(
            (Key::new(socket.local.ip()), socket.local.port()),
            (Key::new(socket.remote.ip()), socket.remote.port()),
        );
        if let Some(Some(listener)) = socket.early.and_then(|at| self.listeners.get_mut(at as usize)) {
            listener.early.ends(0, false);
        }
        self.shares.change(socket.account, socket.held, 0);
        self.shares.close(socket.account);
        self.latest = None;
        self.by_ends.remove(&ends);
        self.lives[index as usize] = self.lives[index as usize].wrapping_add(1);
        self.free.push(index);
        Some(socket)
    }

    /// Takes a connection of which something is new since it was last returned.
    pub(crate) fn news(&mut self) -> Option<TcpId> {
        loop {
            let id = self.news.pop_front()?;
            if let Some(socket) = self.for_user(id) {
                socket.told = false;
                return Some(id);
            }
        }
    }

    /// Its user needs a connection no more.
    pub(crate) fn release(&mut self, id: TcpId) -> bool {
        let Some(socket) = self.get_mut(id) else { return false };
        socket.released = true;
        socket.connection.release();
        self.wake(id.index);
        true
    }

    /// All connections, with their local and remote ends.
    pub(crate) fn all(&self) -> impl Iterator<Item = (SocketAddr, SocketAddr, &Connection)> {
        self.places.iter().flatten().map(|socket| (socket.local, socket.remote, &socket.connection))
    }

    /// Local end of a listener.
    pub(crate) fn listener_end(&self, id: TcpListenerId) -> Option<SocketAddr> {
        self.listeners.get(id.0 as usize)?.as_ref().map(|listener| listener.local)
    }

    /// Resets all connections of which the peer does not know yet that all of ours has come.
    pub(crate) fn abort_all(&mut self) {
        for at in 0..self.places.len() {
            if let Some(socket) = &mut self.places[at]
                && !matches!(socket.connection.state(), State::FinWait2 | State::TimeWait | State::Closed)
            {
                socket.connection.abort();
                self.wake(count(at));
            }
        }
    }

    /// Number of connections that still have bytes or a FIN for their peer, and what they have sent.
    pub(crate) fn unsent(&self) -> (usize, u64) {
        let busy = self.places.iter().flatten().filter(|socket| socket.connection.is_unsent());
        busy.fold((0, 0), |(n, sent), socket| (n + 1, sent + socket.connection.counters().acknowledged))
    }

    /// True if a connection is to hold little memory.
    #[inline]
    pub(crate) fn is_pressed(&self, index: u32) -> bool {
        let socket = self.places.get(index as usize).and_then(Option::as_ref);
        socket.is_some_and(|socket| self.shares.is_pressed(socket.account))
    }

    /// A connection that its user is told of, and whose room it may ask for.
    fn for_user(&mut self, id: TcpId) -> Option<&mut Socket> {
        let pressed = self.is_pressed(id.index);
        let socket = self.get_mut(id)?;
        socket.connection.set_pressed(pressed);
        Some(socket)
    }

    /// Its user has written to a connection: what that takes is counted before anybody asks for room again.
    #[inline]
    pub(crate) fn wrote(&mut self, id: TcpId) {
        let Some(Some(socket)) = self.places.get_mut(id.index as usize) else { return };
        let held = count(socket.connection.memory());
        if held != socket.held {
            self.shares.change(socket.account, std::mem::replace(&mut socket.held, held), held);
            socket.connection.set_pressed(self.shares.is_pressed(socket.account));
        }
        self.wake(id.index);
    }

    /// Number of connections.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// State of a connection, its ends, and why it has ended.
    pub(crate) fn state(&self, id: TcpId) -> Option<(State, Option<End>)> {
        let connection = &self.get(id)?.connection;
        Some((connection.state(), connection.end()))
    }
}

/// Initial sequence number and offset of timestamps (RFC 6528; RFC 7323, section 5.4): a keyed hash of the ends, and for
/// the first a clock of 4 us.
pub(crate) fn numbers(now: u64, secret: Secret, ends: Ends) -> (Seq, u32) {
    let hash = secret.key(Use::Sequence).hash_one(ends);
    (Seq(low(hash).wrapping_add(low(now / 4_000))), low(hash >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: what a peer is told in sequence number and timestamp was the hash by which its connection is found, so that it
    /// could choose ports whose connections come to lie in one place.
    #[test]
    fn what_a_peer_is_told_is_not_the_place_of_its_connection() {
        let tcp = crate::tcp::Tcp::new(crate::udp::Fills::default(), Secret::new(7), 0);
        for port in 0..100 {
            let end = |last| Key::new([10, 0, 0, last].into());
            let ends = Ends((end(1), 80), (end(2), port));
            let (seq, stamp) = numbers(0, Secret::new(7), ends);
            assert_ne!(tcp.sockets.by_ends.hasher().hash_one(ends), u64::from(stamp) << 32 | u64::from(seq.0));
        }
    }

    /// An idle connection has given its buffers back: this, and its entry in the table, are all that it takes.
    #[test]
    fn an_idle_connection_is_small() {
        assert!(size_of::<Socket>() <= 1536, "{} bytes", size_of::<Socket>());
    }
}
