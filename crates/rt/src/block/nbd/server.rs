//! The server: listeners, clients, and the operations that they have under way in a [`BlockService`].
//!
//! NBD has no authentication, so whoever reaches a listener is a client, and clients are kept from each other: each has
//! memory of its own, a number of requests, and a time for its greeting, its data and its answers. When all places are
//! taken and one more comes, an idle client goes: of whoever has the most of them the one that has been idle longest, and
//! before all one that has never asked for anything.
//! Where none is idle, whoever has more than half of the places loses one to others.

use super::super::DeviceError;
use super::super::watch::Watch;
use super::memory::Memory;
use super::service::BlockService;
use super::session::{Asked, DEPTH, Gone, Session};
use super::stream::{Listener, Peer, Stream};
use super::uri::Address;
use crate::sys::socket::listen_alone;
use crate::wait::Sleeper;
use linerate_block::{Completion, Operation, Tag};
use linerate_port::Interest;
use std::cmp::Reverse;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Clients at once.
const CLIENTS: usize = 64;
/// Operations under way of clients that have left, with which one more is still let in.
const LEFT_BEHIND: usize = 8 * DEPTH;
/// Requests that one client is heard for before the next one's turn.
const TURN: usize = 32;
/// How long a server that stops waits for its clients.
const FAREWELL: Duration = Duration::from_secs(2);
/// When to accept again after the system could not.
const PAUSE: Duration = Duration::from_millis(100);

/// A server. It owns its clients; what they ask for is done by the service that [`NbdServer::handle`] is given.
pub struct NbdServer {
    listeners: Vec<Listener>,
    /// UNIX sockets that are ours to remove: device and inode.
    paths: Vec<(PathBuf, (u64, u64))>,
    clients: Vec<Option<(u64, Session)>>,
    /// Who came when: a client's number is never used again.
    number: u64,
    /// Operations under way by tag: of which client, by place and number.
    asked: Vec<Option<(usize, u64, Asked)>>,
    free: Vec<u32>,
    memory: Memory,
    /// Operations under way whose clients have left.
    left_behind: usize,
    /// Who has come and has no place yet.
    at_door: Option<(Stream, Peer)>,
    not_before: Option<Instant>,
    /// When clients that do not take their answers are left, after [`NbdServer::stop`].
    leave_at: Option<Instant>,
}

impl NbdServer {
    /// Listens for clients. A UNIX socket is for this user only; one that a dead server left behind is replaced. A TCP
    /// address that other hosts reach takes `insecure`: whoever connects reads and writes.
    ///
    /// # Errors
    /// An address is in use, or not ours to use, or other hosts reach it.
    pub fn listen(addresses: &[Address], insecure: bool) -> Result<Self, DeviceError> {
        let most = u32::try_from(CLIENTS * DEPTH + LEFT_BEHIND).unwrap_or(0);
        let mut server = Self {
            listeners: Vec::new(),
            paths: Vec::new(),
            clients: (0..CLIENTS).map(|_| None).collect(),
            number: 0,
            asked: (0..most).map(|_| None).collect(),
            free: (0..most).rev().collect(),
            memory: Memory::new(CLIENTS),
            left_behind: 0,
            at_door: None,
            not_before: None,
            leave_at: None,
        };
        for address in addresses {
            let oops = |e: io::Error| DeviceError::new(address, e, "choose another address, or end who has it");
            let listener = match address {
                Address::Tcp(host, port) => {
                    let all: Vec<SocketAddr> = (host.as_str(), *port).to_socket_addrs().map_err(oops)?.collect();
                    if !insecure && !all.iter().all(|at| at.ip().to_canonical().is_loopback()) {
                        let what = "other hosts reach it, and NBD has no authentication";
                        let mend = "give tcp:127.0.0.1 or unix:PATH, or --insecure to let anybody in";
                        return Err(DeviceError::new(address, what, mend));
                    }
                    let listener = TcpListener::bind(&all[..]).map_err(oops)?;
                    listener.set_nonblocking(true).map_err(oops)?;
                    Listener::Tcp(listener)
                }
                Address::Unix(path) => {
                    make_way(path).map_err(oops)?;
                    let listener = listen_alone(path).map_err(oops)?;
                    server.paths.extend(identity(path).map(|identity| (path.clone(), identity)));
                    Listener::Unix(listener)
                }
            };
            server.listeners.push(listener);
        }
        Ok(server)
    }

    /// Where it listens: with the port that the system chose, where 0 was asked for.
    #[must_use]
    pub fn addresses(&self) -> Vec<Address> {
        let tcp = self.listeners.iter().filter_map(|listener| match listener {
            Listener::Tcp(listener) => {
                listener.local_addr().ok().map(|at| Address::Tcp(at.ip().to_string(), at.port()))
            }
            Listener::Unix(_) => None,
        });
        tcp.chain(self.paths.iter().map(|(path, _)| Address::Unix(path.clone()))).collect()
    }

    /// Clients there are.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.clients.iter().flatten().count()
    }

    /// Takes no more clients and no more requests; what is under way is answered, to clients that take it within 2 seconds.
    pub fn stop(&mut self) {
        self.leave_at = Some(Instant::now() + FAREWELL);
        self.listeners.clear();
        self.at_door = None;
        self.remove_paths();
        self.clients.iter_mut().flatten().for_each(|(_, client)| client.close());
    }

    /// Whether nothing is under way any more, after [`NbdServer::stop`].
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.listeners.is_empty() && self.clients() == 0 && self.free.len() == self.asked.len()
    }

    /// Does what can be done now: hears clients, hands their operations to the service, and sends what has ended. True if
    /// there was something to do.
    pub fn handle<S: BlockService + ?Sized>(&mut self, service: &mut S) -> bool {
        self.handle_at(Instant::now(), service)
    }

    fn handle_at<S: BlockService + ?Sized>(&mut self, now: Instant, service: &mut S) -> bool {
        let mut worked = self.accept(now);
        for place in 0..self.clients.len() {
            worked |= self.hear(now, place, service);
        }
        service.flush();
        while let Some(completion) = service.complete() {
            worked = true;
            self.completed(service, completion);
        }
        // Flushes that follow.
        service.flush();
        for place in 0..self.clients.len() {
            let Some((_, client)) = &mut self.clients[place] else { continue };
            let sent = client.send(now, &mut self.memory);
            worked |= sent.as_ref().is_ok_and(|sent| *sent);
            if sent.is_err() || client.is_over(now) || self.leave_at.is_some_and(|at| at <= now) {
                self.leave(place);
                worked = true;
            }
        }
        worked
    }

    /// Shows what to sleep on; the service's own descriptors are its owner's matter.
    pub fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        let open = self.at_door.is_none() && self.not_before.is_none();
        for listener in self.listeners.iter().filter(|_| open) {
            visit(&mut Watch::new(listener.as_fd(), Interest::Readable));
        }
        self.clients.iter().flatten().for_each(|(_, client)| client.waits_for(visit));
    }

    /// When to be asked again although nothing happens.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let leave = self.leave_at.filter(|_| self.clients() > 0);
        self.not_before.into_iter().chain(leave).min()
    }

    fn accept(&mut self, now: Instant) -> bool {
        if self.not_before.is_some_and(|at| now < at) {
            return false;
        }
        self.not_before = None;
        for accepted in 0..TURN {
            let Some((stream, peer)) = self.at_door.take().or_else(|| self.next_client(now)) else {
                return accepted > 0;
            };
            let Some(place) = self.place_for(peer) else {
                self.at_door = Some((stream, peer));
                return accepted > 0;
            };
            self.leave(place);
            self.number += 1;
            self.clients[place] = Some((self.number, Session::new(stream, peer, now)));
        }
        true
    }

    /// Who comes next.
    fn next_client(&mut self, now: Instant) -> Option<(Stream, Peer)> {
        for listener in &self.listeners {
            loop {
                match Stream::accept(listener) {
                    Ok(accepted) => return Some(accepted),
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                    // No descriptors, no memory: later, perhaps.
                    Err(_) => {
                        self.not_before = Some(now + PAUSE);
                        return None;
                    }
                }
            }
        }
        None
    }

    /// A place for one more: a free one, or that of a client who gives way; none for now if all have something under way.
    fn place_for(&self, comer: Peer) -> Option<usize> {
        if !self.memory.has_room() || self.left_behind > LEFT_BEHIND {
            return None;
        }
        if let Some(free) = self.clients.iter().position(Option::is_none) {
            return Some(free);
        }
        let clients = || self.clients.iter().enumerate().filter_map(|(at, place)| Some((at, &place.as_ref()?.1)));
        let of = |peer| clients().filter(|(_, client)| client.peer() == peer).count();
        let idle = clients()
            .filter(|(_, client)| client.is_idle())
            .max_by_key(|(_, client)| (of(client.peer()), !client.has_asked(), Reverse(client.heard())));
        let excess = || {
            clients()
                .filter(|(_, client)| client.peer() != comer && of(client.peer()) > CLIENTS / 2)
                .min_by_key(|(_, client)| client.heard())
        };
        idle.or_else(excess).map(|(at, _)| at)
    }

    /// Takes requests of a client.
    fn hear<S: BlockService + ?Sized>(&mut self, now: Instant, place: usize, service: &mut S) -> bool {
        for heard in 0..TURN {
            let Some((number, client)) = &mut self.clients[place] else { return heard > 0 };
            let Some(tag) = self.free.last().copied() else { return heard > 0 };
            match client.next(now, service.exports(), &mut self.memory) {
                Ok(Some((asked, operation))) => {
                    self.free.pop();
                    self.asked[tag as usize] = Some((place, *number, asked));
                    service.submit(asked.export, Tag(tag), operation);
                }
                Ok(None) => return heard > 0,
                Err(Gone) => {
                    self.leave(place);
                    return true;
                }
            }
        }
        true
    }

    /// An operation has ended: its client is answered, if it is still the one who asked.
    fn completed<S: BlockService + ?Sized>(&mut self, service: &mut S, completion: Completion) {
        let Completion { tag, buffer, result } = completion;
        let slot = usize::try_from(tag.0).ok().and_then(|tag| self.asked.get_mut(tag));
        let Some((slot, (place, number, mut asked))) = slot.and_then(|slot| slot.take().map(|asked| (slot, asked)))
        else {
            return;
        };
        if asked.then_flush && result.is_ok() {
            asked.then_flush = false;
            *slot = Some((place, number, asked));
            service.submit(asked.export, tag, Operation::Flush);
            return;
        }
        self.free.push(tag.0);
        match &mut self.clients[place] {
            Some((now, client)) if *now == number => client.answer(asked, result, buffer, &mut self.memory),
            _ => {
                self.left_behind = self.left_behind.saturating_sub(1);
                self.memory.give_after_leave(asked.memory, buffer);
            }
        }
    }

    fn leave(&mut self, place: usize) {
        if let Some((_, client)) = self.clients[place].take() {
            self.left_behind += client.under_way();
            client.end(&mut self.memory);
        }
    }

    fn remove_paths(&mut self) {
        for (path, ours) in self.paths.drain(..) {
            if identity(&path) == Some(ours) {
                // Whoever removed it meanwhile did what was wanted.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

impl Drop for NbdServer {
    fn drop(&mut self) {
        self.remove_paths();
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Removes the socket of a dead server.
fn make_way(path: &Path) -> io::Result<()> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
