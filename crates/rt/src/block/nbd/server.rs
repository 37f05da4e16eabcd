//! The server: listeners, clients, and the operations that they have under way in a [`BlockService`].

use super::super::DeviceError;
use super::super::watch::Watch;
use super::service::BlockService;
use super::session::{Asked, DEPTH, Gone, Session};
use super::stream::{Listener, Stream};
use super::uri::Address;
use crate::wait::Sleeper;
use linerate_fcoe::{Buffer, Completion, Operation, Pool, Tag};
use linerate_port::Interest;
use std::fs::Permissions;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Clients at once; more wait to be accepted.
const CLIENTS: usize = 64;
/// Octets of all requests' data at once.
const MEMORY: usize = 256 << 20;
/// Requests that one client is heard for before the next one's turn.
const TURN: usize = 32;
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
    pool: Pool,
    not_before: Option<Instant>,
}

impl NbdServer {
    /// Listens for clients. A UNIX socket is for this user only; one that a dead server left behind is replaced.
    ///
    /// # Errors
    /// An address is in use, or not ours to use.
    pub fn listen(addresses: &[Address]) -> Result<Self, DeviceError> {
        let most = u32::try_from(CLIENTS * DEPTH).unwrap_or(0);
        let mut server = Self {
            listeners: Vec::new(),
            paths: Vec::new(),
            clients: (0..CLIENTS).map(|_| None).collect(),
            number: 0,
            asked: (0..most).map(|_| None).collect(),
            free: (0..most).rev().collect(),
            pool: Pool::new(MEMORY),
            not_before: None,
        };
        for address in addresses {
            let oops = |e: io::Error| DeviceError::new(address, e, "choose another address, or end who has it");
            let listener = match address {
                Address::Tcp(host, port) => {
                    let listener = TcpListener::bind((host.as_str(), *port)).map_err(oops)?;
                    listener.set_nonblocking(true).map_err(oops)?;
                    Listener::Tcp(listener)
                }
                Address::Unix(path) => {
                    make_way(path).map_err(oops)?;
                    let listener = UnixListener::bind(path).map_err(oops)?;
                    server.paths.extend(identity(path).map(|identity| (path.clone(), identity)));
                    std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(oops)?;
                    listener.set_nonblocking(true).map_err(oops)?;
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

    /// Takes no more clients and no more requests; what is under way is answered.
    pub fn stop(&mut self) {
        self.listeners.clear();
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
        let now = Instant::now();
        let mut worked = self.accept(now);
        for place in 0..self.clients.len() {
            worked |= self.hear(place, service);
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
            let sent = client.send(&mut self.pool);
            worked |= sent.as_ref().is_ok_and(|sent| *sent);
            if sent.is_err() || client.is_over(now) {
                self.leave(place);
                worked = true;
            }
        }
        worked
    }

    /// Shows what to sleep on; the service's own descriptors are its owner's matter.
    pub fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        let full = self.clients.iter().all(Option::is_some);
        for listener in self.listeners.iter().filter(|_| !full && self.not_before.is_none()) {
            visit(&mut Watch::new(listener.as_fd(), Interest::Readable));
        }
        self.clients.iter().flatten().for_each(|(_, client)| client.waits_for(visit));
    }

    /// When to be asked again although nothing happens.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.not_before
    }

    fn accept(&mut self, now: Instant) -> bool {
        if self.not_before.is_some_and(|at| now < at) {
            return false;
        }
        self.not_before = None;
        let mut worked = false;
        for listener in &self.listeners {
            while let Some(place) = self.clients.iter_mut().find(|place| place.is_none()) {
                match Stream::accept(listener) {
                    Ok(stream) => {
                        self.number += 1;
                        *place = Some((self.number, Session::new(stream, now)));
                        worked = true;
                    }
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                    // No descriptors, no memory: later, perhaps.
                    Err(_) => {
                        self.not_before = Some(now + PAUSE);
                        break;
                    }
                }
            }
        }
        worked
    }

    /// Takes requests of a client.
    fn hear<S: BlockService + ?Sized>(&mut self, place: usize, service: &mut S) -> bool {
        for heard in 0..TURN {
            let Some((number, client)) = &mut self.clients[place] else { return heard > 0 };
            let Some(tag) = self.free.last().copied() else { return heard > 0 };
            match client.next(service.exports(), &mut self.pool) {
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
        let data = if asked.is_read() && result.is_ok() { buffer } else { buffer.and_then(|b| self.give(b)) };
        match &mut self.clients[place] {
            Some((now, client)) if *now == number => client.answer(asked, result, data),
            _ => drop(data.and_then(|b| self.give(b))),
        }
    }

    fn give(&mut self, buffer: Buffer) -> Option<Buffer> {
        self.pool.give(buffer);
        None
    }

    fn leave(&mut self, place: usize) {
        if let Some((_, client)) = self.clients[place].take() {
            client.end(&mut self.pool);
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
