//! The NBD server: listeners, client connections, and the [`BlockService`] that executes their requests.

use super::super::DeviceError;
use super::stream::{Listener, Stream};
use super::uri::Address;
use crate::machine::Sleeper;
use crate::sys::socket::listen_alone;
use linerate_block::{Operation, Tag};
use linerate_nbd::{BlockService, CLIENTS, Export, Gone, SERVER_SLICES, Server};
use linerate_port::{Admission, Crowded, Interest, Limits, Origin, Sleep, Ticket};
use linerate_text::saturating_ns;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Most requests taken from one client before the next one's turn.
const TURN: usize = 32;
/// Most reads from a client for one request. Data of refused WRITEs is read and discarded: other clients get their turn
/// in between.
const READS: usize = 64;
/// Time that a stopping server waits for its clients.
const FAREWELL: Duration = Duration::from_secs(2);
/// Time until the next accept after the system had no resources for one.
const PAUSE: Duration = Duration::from_millis(100);

/// An NBD server. It owns its clients; their requests are executed by the service passed to [`NbdServer::handle`].
pub struct NbdServer {
    listeners: Vec<Listener>,
    /// UNIX sockets to be removed by this server: path, device and inode.
    paths: Vec<(PathBuf, (u64, u64))>,
    server: Server,
    door: Admission,
    /// Time from which the door's times count.
    began: Instant,
    /// Connections of the clients, by their indices.
    streams: Vec<Option<(Stream, Ticket)>>,
    /// An accepted connection that has no place yet.
    at_door: Option<(Stream, Origin)>,
    not_before: Option<Instant>,
    /// Time at which it is looked whether there is a place for who is at the door: a proof may have lapsed.
    again: Option<Instant>,
    /// Time at which clients that do not read their answers are dropped, after [`NbdServer::stop`].
    leave_at: Option<Instant>,
}

impl NbdServer {
    /// Listens for clients. A UNIX socket is for this user only; one that a dead server left behind is replaced. A TCP
    /// address that other hosts can reach needs `insecure`: whoever connects can read and write.
    ///
    /// # Errors
    /// An address is in use, or not permitted, or other hosts can reach it.
    pub fn listen(addresses: &[Address], insecure: bool) -> Result<Self, DeviceError> {
        let mut server = Self {
            listeners: Vec::new(),
            paths: Vec::new(),
            server: Server::new(),
            door: Admission::new(Limits::new(CLIENTS)),
            began: Instant::now(),
            streams: (0..CLIENTS).map(|_| None).collect(),
            at_door: None,
            not_before: None,
            again: None,
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

    /// Addresses at which it listens; with the port that the system chose, if 0 was requested.
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

    #[must_use]
    pub fn clients(&self) -> usize {
        self.server.clients()
    }

    /// Accepts no more clients and requests; requests under way are answered, to clients that read the answers within 2
    /// seconds.
    pub fn stop(&mut self) {
        self.leave_at = Some(Instant::now() + FAREWELL);
        self.listeners.clear();
        (self.at_door, self.again) = (None, None);
        self.remove_paths();
        self.server.close();
    }

    /// True if no request is under way any more, after [`NbdServer::stop`].
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.listeners.is_empty() && self.server.is_done()
    }

    /// Does the work that is possible now: reads requests, passes operations to the service, and sends the answers.
    /// True if there was something to do.
    pub fn handle<S: BlockService + ?Sized>(&mut self, service: &mut S) -> bool {
        self.handle_at(Instant::now(), service)
    }

    fn handle_at<S: BlockService + ?Sized>(&mut self, now: Instant, service: &mut S) -> bool {
        let mut worked = self.accept(now);
        for place in 0..CLIENTS {
            worked |= self.hear(now, place, service);
        }
        service.flush();
        while let Some(completion) = service.complete() {
            worked = true;
            let tag = completion.tag;
            if let Some(export) = self.server.completed(completion) {
                service.submit(export, tag, Operation::Flush);
            }
        }
        // Submits flushes that follow.
        service.flush();
        for place in 0..CLIENTS {
            let sent = self.send(now, place);
            worked |= sent == Ok(true);
            let is_over = self.server.is_over(place, now) || self.leave_at.is_some_and(|at| at <= now);
            if self.streams[place].is_some() && (sent.is_err() || is_over) {
                self.leave(place);
                worked = true;
            }
        }
        worked
    }

    /// Visits the sleepers to wait for; the service's own descriptors are up to its owner.
    pub fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        let open = self.at_door.is_none() && self.not_before.is_none();
        for listener in self.listeners.iter().filter(|_| open) {
            visit(&mut Sleep::on(listener.as_fd(), Interest::Readable));
        }
        for (place, stream) in self.streams.iter().enumerate() {
            let Some((stream, _)) = stream else { continue };
            let mut watch =
                |interest| visit(&mut Sleep::on(stream.as_fd(), interest).until(self.server.deadline(place)));
            if self.server.wants_input(place) {
                watch(Interest::Readable);
            }
            if self.server.has_output(place) {
                watch(Interest::Writable);
            }
        }
    }

    /// Time of the next call of [`NbdServer::handle`] even if nothing happens.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let leave = self.leave_at.filter(|_| self.clients() > 0);
        self.not_before.into_iter().chain(leave).chain(self.again).min()
    }

    fn accept(&mut self, now: Instant) -> bool {
        if self.not_before.is_some_and(|at| now < at) {
            return false;
        }
        (self.not_before, self.again) = (None, None);
        for accepted in 0..TURN {
            let Some((stream, origin)) = self.at_door.take().or_else(|| self.next_client(now)) else {
                return accepted > 0;
            };
            match self.admit(now, origin) {
                Ok((place, ticket)) => {
                    self.server.enter(place, now);
                    self.streams[place] = Some((stream, ticket));
                }
                // It would stand in the way of others.
                Err(Crowded::Share(_)) => {}
                Err(Crowded::Full(_)) => {
                    (self.at_door, self.again) = (Some((stream, origin)), Some(now + PAUSE));
                    return accepted > 0;
                }
            }
        }
        true
    }

    /// A place for a client that has come, if need be of another one, which is dropped.
    fn admit(&mut self, now: Instant, origin: Origin) -> Result<(usize, Ticket), Crowded> {
        if !self.server.has_room() {
            return Err(Crowded::Full(CLIENTS));
        }
        let ns = |at: Instant| saturating_ns(at.saturating_duration_since(self.began));
        for (place, (_, ticket)) in self.streams.iter().enumerate().filter_map(|(at, held)| Some((at, held.as_ref()?)))
        {
            if let Some(at) = self.server.proved(place, now) {
                self.door.proved(*ticket, ns(at));
            }
        }
        let (ticket, gone) = self.door.admit(ns(now), origin)?;
        let of = |held: &Option<(Stream, Ticket)>| held.as_ref().map(|(_, ticket)| *ticket);
        let place = self.streams.iter().position(|held| of(held) == gone).ok_or(Crowded::Full(CLIENTS))?;
        self.leave(place);
        Ok((place, ticket))
    }

    fn next_client(&mut self, now: Instant) -> Option<(Stream, Origin)> {
        for listener in &self.listeners {
            loop {
                match Stream::accept(listener) {
                    Ok(accepted) => return Some(accepted),
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                    // No descriptors or no memory: tried again later.
                    Err(_) => {
                        self.not_before = Some(now + PAUSE);
                        return None;
                    }
                }
            }
        }
        None
    }

    /// Processes requests of a client; true if there were any.
    fn hear<S: BlockService + ?Sized>(&mut self, now: Instant, place: usize, service: &mut S) -> bool {
        for heard in 0..TURN {
            let next = self.next(now, place, service.exports());
            if let Some(given) = self.server.take_default(place) {
                service.asked_default(given);
            }
            match next {
                Ok(Some((export, tag, operation))) => service.submit(export, tag, operation),
                Ok(None) => return heard > 0,
                Err(Gone) => {
                    self.leave(place);
                    return true;
                }
            }
        }
        true
    }

    /// The next operation that a client requests; None if nothing more has arrived.
    fn next(
        &mut self,
        now: Instant,
        place: usize,
        exports: &[Export],
    ) -> Result<Option<(usize, Tag, Operation)>, Gone> {
        let Some((stream, _)) = &mut self.streams[place] else { return Ok(None) };
        for _ in 0..READS {
            let next = self.server.next(place, now, exports)?;
            if next.is_some() || !self.server.wants_input(place) {
                return Ok(next);
            }
            match stream.read(self.server.room(place)) {
                Ok(0) => return Err(Gone),
                Ok(count) => self.server.received(place, now, count),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Gone),
            }
        }
        Ok(None)
    }

    /// Sends a client its answers until all are sent or the socket is full. True if something was sent.
    fn send(&mut self, now: Instant, place: usize) -> Result<bool, Gone> {
        let Some((stream, _)) = &mut self.streams[place] else { return Ok(false) };
        let mut worked = false;
        loop {
            let mut slices = [IoSlice::new(&[]); SERVER_SLICES];
            let n = self.server.output(place, now, &mut slices);
            if n == 0 {
                return Ok(worked);
            }
            match stream.write_vectored(&slices[..n]) {
                Ok(0) => return Err(Gone),
                Ok(count) => self.server.sent(place, now, count),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(worked),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Err(Gone),
            }
            worked = true;
        }
    }

    fn leave(&mut self, place: usize) {
        if let Some((_, ticket)) = self.streams[place].take() {
            self.door.leave(ticket);
        }
        self.server.leave(place);
    }

    fn remove_paths(&mut self) {
        for (path, ours) in self.paths.drain(..) {
            if identity(&path) == Some(ours) {
                // If it was removed meanwhile, nothing is left to do.
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
