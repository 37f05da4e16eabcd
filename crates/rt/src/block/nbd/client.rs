//! The client: an export of somebody else's as a back end.
//!
//! Requests of a batch leave in one system call, replies are read where they belong. When the server is lost, or says what
//! it may not, all operations end with [`BackendError::Gone`], and so do new ones until it is back; it must come back as
//! large as it was. A server that is silent for [`NbdOptions::timeout`] while it owes a reply is lost, and so is one that has
//! not done a request within [`NbdOptions::patience`], however much it says meanwhile.

mod link;

use super::super::watch::Watch;
use super::super::{Device, DeviceError, serial};
use super::negotiate::{Agreed, NegotiateError};
use super::plan::{Next, Plan, Start};
use super::reconnect::{Reconnect, connect};
use super::uri::NbdUri;
use super::wire::export;
use crate::wait::Sleeper;
use linerate_block::{Backend, BackendError, Completion, Geometry, Operation, Tag};
use linerate_port::Interest;
use link::{Job, Link, Lost};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How to use a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NbdOptions {
    /// How long it may take to connect and negotiate, and to give a sign of life while a reply is due.
    pub timeout: Duration,
    /// How long one request may take from its beginning to the end of its reply.
    pub patience: Duration,
}

impl Default for NbdOptions {
    /// 10 seconds, and a minute.
    fn default() -> Self {
        Self { timeout: Duration::from_secs(10), patience: Duration::from_secs(60) }
    }
}

/// An export on an NBD server. Blocks are as large as the least request that the server takes, 512 octets or more.
pub struct NbdBackend {
    uri: NbdUri,
    options: NbdOptions,
    geometry: Geometry,
    agreed: Agreed,
    server: Server,
    /// Operations that wait for room among the requests under way.
    waiting: VecDeque<Job>,
    done: VecDeque<Completion>,
}

/// Whether there is one.
enum Server {
    Up(Box<Link>),
    Lost(Reconnect),
}

impl NbdBackend {
    /// Connects to a server; ends within the time-out.
    ///
    /// # Errors
    /// There is no server or no such export, or it is empty or wants requests of more than 4096 octets.
    pub fn open(uri: &NbdUri, options: NbdOptions) -> Result<Self, DeviceError> {
        let oops = |what: String, mend: &str| DeviceError::new(uri.as_str(), what, mend);
        let (stream, agreed) = connect(uri, options.timeout).map_err(|e| match e {
            NegotiateError::Io(e) => oops(format!("the server cannot be reached ({e})"), "start it, or mend the URI"),
            e @ NegotiateError::NoExport(_) => oops(e.to_string(), "name one that it has: nbdinfo --list URI"),
            e @ NegotiateError::Wire(_) => oops(e.to_string(), "give the address of an NBD server of today"),
            e @ NegotiateError::Refused(_) => oops(e.to_string(), "let it serve without TLS, and to this host"),
        })?;
        let block_size = agreed.sizes.least.max(512);
        if block_size > 4096 {
            return Err(oops(format!("it wants requests of {block_size} octets at least"), "give an export with less"));
        }
        let geometry = geometry(uri, &agreed, block_size);
        if geometry.blocks == 0 {
            return Err(oops("it holds not one block".into(), "let the server serve something larger"));
        }
        let server = Server::Up(Box::new(Link::new(stream)));
        let (waiting, done) = (VecDeque::new(), VecDeque::new());
        Ok(Self { uri: uri.clone(), options, geometry, agreed, server, waiting, done })
    }

    /// Whether there is a server now.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self.server, Server::Up(_))
    }

    /// What follows a request: the operation's next one, or its end.
    fn ended(&mut self, mut job: Job, number: u32) {
        match job.plan.advance(number) {
            Next::Part(part) => {
                job.part = part;
                // It was begun before all that wait.
                self.waiting.push_front(job);
            }
            Next::End(result) => self.done.push_back(job.end(result)),
        }
    }

    fn lose(&mut self, now: Instant) {
        if let Server::Up(link) = &mut self.server {
            for job in link.abandon().chain(self.waiting.drain(..)) {
                self.done.push_back(job.end(Err(BackendError::Gone)));
            }
            self.server = Server::Lost(Reconnect::new(now));
        }
    }

    /// Sends what can be sent.
    fn push(&mut self) {
        let Server::Up(link) = &mut self.server else { return };
        while link.has_room() {
            let Some(job) = self.waiting.pop_front() else { break };
            link.begin(job);
        }
        if link.send().is_err() {
            self.lose(Instant::now());
        }
    }

    /// Receives what has come; true if something has.
    fn pull(&mut self) -> bool {
        let now = Instant::now();
        match &mut self.server {
            Server::Up(link) => match link.receive(&self.options, now) {
                Ok(Some((job, number))) => {
                    self.ended(job, number);
                    true
                }
                Ok(None) => false,
                Err(Lost) => {
                    self.lose(now);
                    true
                }
            },
            Server::Lost(reconnect) => {
                let Some((stream, agreed)) = reconnect.poll(now, &self.uri, self.options.timeout) else { return false };
                if agreed.info == self.agreed.info && agreed.sizes.least <= self.geometry.block_size {
                    self.agreed = agreed;
                    self.server = Server::Up(Box::new(Link::new(stream)));
                } else {
                    reconnect.failed(now);
                }
                false
            }
        }
    }
}

fn geometry(uri: &NbdUri, agreed: &Agreed, block_size: u32) -> Geometry {
    let physical = agreed.sizes.preferred.clamp(block_size, 4096);
    let has = |flag| agreed.info.has(flag);
    Geometry {
        block_size,
        blocks: agreed.info.size / u64::from(block_size),
        physical_exponent: u8::try_from((physical / block_size).max(1).ilog2()).unwrap_or(0),
        read_only: has(export::READ_ONLY),
        volatile: has(export::SEND_FLUSH),
        discards: has(export::SEND_TRIM) && !has(export::READ_ONLY),
        discard_zeroes: false,
        protection: false,
        product: "nbd",
        serial: serial(uri.as_str().as_bytes()),
    }
}

impl Backend for NbdBackend {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        if !self.is_up() {
            // Who never sleeps finds the server here.
            self.pull();
        }
        let (result, buffer) = match Plan::start(operation, self.geometry.block_size, &self.agreed) {
            Start::Plan(plan, buffer) if self.is_up() => {
                self.waiting.push_back(Job::new(tag, plan, buffer));
                return;
            }
            Start::Plan(plan, buffer) => (Err(BackendError::Gone), buffer.filter(|_| plan.is_transfer())),
            Start::End(end, buffer) => (end, buffer),
        };
        self.done.push_back(Completion { tag, buffer, result });
    }

    fn flush(&mut self) {
        self.push();
    }

    fn complete(&mut self) -> Option<Completion> {
        while self.done.is_empty() && self.pull() {}
        if self.done.is_empty() {
            // Parts that follow, and what the socket had no room for.
            self.push();
        }
        self.done.pop_front()
    }
}

impl Device for NbdBackend {
    fn path(&self) -> String {
        let replies = if self.agreed.structured { "structured" } else { "simple" };
        format!("NBD, {replies} replies")
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(self);
        if let Server::Up(link) = &self.server
            && link.has_to_send()
        {
            visit(&mut Watch::new(link.as_fd(), Interest::Writable));
        }
    }
}

/// For replies, or for the server to come back.
impl Sleeper for NbdBackend {
    fn fall_asleep(&mut self) -> bool {
        self.push();
        self.done.is_empty()
    }

    /// What made the descriptor readable is dealt with here: who has no operation under way does not ask for one's end, and
    /// the server may have hung up, or be back.
    fn wake_up(&mut self) {
        if let Server::Up(link) = &mut self.server {
            link.look();
        }
        while self.pull() {}
    }

    fn waits_on(&self) -> Option<(BorrowedFd<'_>, Interest)> {
        match &self.server {
            Server::Up(link) => Some((link.as_fd(), Interest::Readable)),
            Server::Lost(_) => None,
        }
    }

    fn due(&self) -> Option<Instant> {
        match &self.server {
            Server::Up(link) => link.due(&self.options),
            Server::Lost(reconnect) => Some(reconnect.due(Instant::now())),
        }
    }
}
