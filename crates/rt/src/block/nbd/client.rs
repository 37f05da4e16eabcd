//! The NBD client: a remote export as a back end.
//!
//! Requests of a batch are sent in one system call, replies are read directly into their buffers. A lost server is
//! connected to again; what becomes of operations meanwhile: [`ClientOptions::hold`]. If changes were under way, that is
//! not before the URI's settle time has passed.

use super::super::{Device, DeviceError};
use super::connect::{ConnectError, Reconnect, connect};
use super::stream::Stream;
use super::uri::NbdUri;
use crate::identity::host_hash;
use crate::machine::Sleeper;
use linerate_block::{Backend, Completion, Geometry, Operation, Tag};
use linerate_nbd::{CLIENT_SLICES, Client, ClientOptions, Different, InDoubt, Labels, Lost, NegotiateError, Unfit};
use linerate_port::{Interest, Sleep};
use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Most news that are kept for the user.
const NEWS: usize = 16;

/// An export on an NBD server.
pub struct NbdBackend {
    uri: NbdUri,
    options: ClientOptions,
    client: Client,
    server: Server,
    news: VecDeque<String>,
}

/// State of the connection.
enum Server {
    Up(Stream),
    Lost {
        since: Instant,
        reconnect: Reconnect,
        /// Difference that was told of the export with which the server is back.
        told: Option<Different>,
    },
}

impl NbdBackend {
    /// Connects to a server, within the time-out.
    ///
    /// # Errors
    /// The settle time is not within the hold time, there is no server or no such export, or it is empty, no whole number of blocks, or requires requests larger than
    /// 4096 bytes.
    pub fn open(uri: &NbdUri, options: ClientOptions) -> Result<Self, DeviceError> {
        if uri.settle >= options.hold && !options.hold.is_zero() && !uri.settle.is_zero() {
            let (settle, hold) = (uri.settle.as_secs_f64(), options.hold.as_secs_f64());
            let what = format!("settle={settle} is no shorter than the {hold} s for which commands are held");
            return Err(DeviceError::new(uri.as_str(), what, "give less, or a longer --hold"));
        }
        let (stream, agreed) = connect(uri, options.timeout).map_err(|e| trouble(uri, &e))?;
        // With what the server says that it is: another one at this address, while nobody was here to see it, is another disk.
        let Labels { name, description } = &agreed.labels;
        let identity = format!("{:?} {} {name:?} {description:?}", uri.address, uri.export);
        let serial = host_hash(identity.as_bytes());
        let client = Client::new(agreed, options, serial, Instant::now()).map_err(|e| {
            let mend = match e {
                Unfit::BlockSize(_) => "give an export with less".to_owned(),
                Unfit::Empty => "let the server serve something larger".to_owned(),
                Unfit::Size { size, block_size } => {
                    format!("let the server serve {} bytes", size.next_multiple_of(block_size.into()))
                }
            };
            DeviceError::new(uri.as_str(), e, mend)
        })?;
        Ok(Self { uri: uri.clone(), options, client, server: Server::Up(stream), news: VecDeque::new() })
    }

    #[must_use]
    pub fn is_up(&self) -> bool {
        self.client.is_up()
    }

    fn lose(&mut self, now: Instant) {
        let doubt = self.client.lose(now);
        let settle = if doubt.is_some() { self.uri.settle } else { Duration::ZERO };
        self.server = Server::Lost { since: now, reconnect: Reconnect::new(now + settle), told: None };
        let mut news = match self.options.hold {
            Duration::ZERO => "the server is lost; commands fail until it is back".to_owned(),
            hold => format!("the server is lost; commands wait for it for up to {} s", hold.as_secs_f64()),
        };
        if let Some(InDoubt { changes, bytes }) = doubt {
            news += &format!("; changes under way: {changes}, within bytes {} to {}", bytes.start, bytes.end - 1);
            news += &match settle {
                Duration::ZERO => {
                    "; a server that does them after they were repeated overwrites newer data: settle=SECONDS in the URI \
                     waits for that"
                        .to_owned()
                }
                settle => format!("; it has {} s to end them", settle.as_secs_f64()),
            };
        }
        self.tell(news);
    }

    /// Takes note of something that the user should know; the oldest goes if nobody asks.
    fn tell(&mut self, news: String) {
        if self.news.len() == NEWS {
            self.news.pop_front();
        }
        self.news.push_back(news);
    }

    /// Sends the requests that are waiting.
    fn push(&mut self) {
        let Server::Up(stream) = &mut self.server else { return };
        if self.client.has_waiting() {
            self.client.begin(Instant::now());
        }
        if send(&mut self.client, stream).is_err() {
            self.lose(Instant::now());
        }
    }

    /// Receives replies; true if anything was received.
    fn pull(&mut self) -> bool {
        let now = Instant::now();
        match &mut self.server {
            Server::Up(stream) => receive(&mut self.client, stream, now).unwrap_or_else(|Lost| {
                self.lose(now);
                true
            }),
            Server::Lost { since, reconnect, told } => {
                self.client.expire(now);
                let Some((stream, agreed)) = reconnect.poll(now, &self.uri, self.options.timeout) else { return false };
                let unflushed = match self.client.renew(agreed, now) {
                    Ok(unflushed) => unflushed,
                    Err(different) => {
                        reconnect.failed(now);
                        if told.as_ref() != Some(&different) {
                            let when = match self.options.hold {
                                Duration::ZERO => String::new(),
                                hold => format!(" after the {} s for which they wait", hold.as_secs_f64()),
                            };
                            let news = format!(
                                "the server is back with another export: {different}; it is not used, and commands \
                                 fail{when}; let it serve the one from before"
                            );
                            *told = Some(different);
                            self.tell(news);
                        }
                        return false;
                    }
                };
                let mut news = format!(
                    "the server is back after {:.1} s; that it serves the same disk is not known, for NBD names none",
                    (now - *since).as_secs_f64()
                );
                if unflushed > 0 {
                    news += &format!("; {unflushed} changes were not flushed: if it lost its memory, they are lost");
                }
                self.server = Server::Up(stream);
                self.tell(news);
                self.push();
                false
            }
        }
    }
}

fn trouble(uri: &NbdUri, error: &ConnectError) -> DeviceError {
    let mend = match error {
        ConnectError::Unreachable(_) => "start it, or mend the URI",
        ConnectError::Negotiate(NegotiateError::HungUp) => "start it, or mend the URI",
        ConnectError::Negotiate(NegotiateError::NoExport(_)) => "name one that it has: nbdinfo --list URI",
        ConnectError::Negotiate(NegotiateError::Wire(_)) => "give the address of an NBD server of today",
        ConnectError::Negotiate(NegotiateError::Refused(_)) => "let it serve without TLS, and to this host",
    };
    DeviceError::new(uri.as_str(), error, mend)
}

/// Sends requests until all are sent or the socket is full.
fn send(client: &mut Client, stream: &mut Stream) -> Result<(), Lost> {
    while client.has_output() {
        let mut slices = [IoSlice::new(&[]); CLIENT_SLICES];
        let n = client.output(&mut slices);
        match stream.write_vectored(&slices[..n]) {
            Ok(0) => return Err(Lost),
            Ok(count) => client.sent(count),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Lost),
        }
    }
    Ok(())
}

/// Receives up to the end of a reply; false if that has not arrived yet.
fn receive(client: &mut Client, stream: &mut Stream, now: Instant) -> Result<bool, Lost> {
    if !client.expects(now)? {
        return Ok(false);
    }
    while !client.advance()? {
        match stream.read(client.room()) {
            Ok(0) => return Err(Lost),
            Ok(count) => client.received(count, now),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => return client.nothing_came(now).map(|()| false),
            Err(_) => return Err(Lost),
        }
    }
    Ok(true)
}

impl Backend for NbdBackend {
    fn geometry(&self) -> &Geometry {
        self.client.geometry()
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        if !self.is_up() {
            // A caller that never sleeps finds the reconnected server here.
            self.pull();
        }
        self.client.submit(tag, operation);
    }

    fn flush(&mut self) {
        self.push();
    }

    fn complete(&mut self) -> Option<Completion> {
        while !self.client.has_ended() && self.pull() {}
        if !self.client.has_ended() {
            // Sends following parts, and requests for which the socket had no room.
            self.push();
        }
        self.client.complete()
    }
}

impl Device for NbdBackend {
    fn path(&self) -> String {
        let replies = if self.client.is_structured() { "structured" } else { "simple" };
        format!("NBD, {replies} replies")
    }

    fn news(&mut self) -> Option<String> {
        self.news.pop_front()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(self);
        if let Server::Up(stream) = &self.server
            && self.client.has_output()
        {
            visit(&mut Sleep::on(stream.as_fd(), Interest::Writable));
        }
    }
}

/// Waits for replies, or for the server to come back.
impl Sleeper for NbdBackend {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        self.push();
        (!self.client.has_ended()).then(|| match &self.server {
            Server::Up(stream) => Sleep::on(stream.as_fd(), Interest::Readable).until(self.client.due()),
            Server::Lost { reconnect, .. } => {
                let due = reconnect.due(Instant::now());
                Sleep::default().until(Some(self.client.due().map_or(due, |end| due.min(end))))
            }
        })
    }

    /// Handles the event that made the descriptor readable: without operations under way nobody calls `complete`, and
    /// the server may have hung up, or be back.
    fn wake_up(&mut self) {
        self.client.look();
        while self.pull() {}
    }
}
