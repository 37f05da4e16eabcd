//! The client of an export: operations in, requests out, replies in, completions out. The owner of the connection moves
//! the bytes.
//!
//! Operations are held while the server is lost, which it also is when it breaks the protocol, and sent again from the
//! request on that had no reply. Only an export of the same size, flags, name and description is taken back; NBD tells no
//! more of what it is.
//!
//! Requests read and write fixed places, so that one that is done twice at once does no harm. A server may however still do
//! a change whose connection is gone, after its repetition and over data that was written since, for NBD has no means to
//! ask whether a connection's requests have ended: NBD_FLAG_CAN_MULTI_CONN says that a FLUSH covers what was *completed*
//! on other connections, and a FLUSH on a new one waits for nothing else. Time alone helps. [`Client::lose`] tells which
//! changes are in doubt, and the owner of the connection decides how long it waits before [`Client::renew`].
//! An operation that has been held for [`ClientOptions::hold`] ends with
//! [`BackendError::NotReady`], and so do new operations from then on until the server is back; with
//! [`BackendError::Replaced`] if it is back with another export. A server that is silent for
//! [`ClientOptions::timeout`] while it owes a reply is lost, and so is one that has not completed a request within
//! [`ClientOptions::patience`], even if it sends other data meanwhile.
//!
//! Changes that a server had completed but was not asked to flush may be lost with it: [`Client::renew`] tells how many
//! there are.

mod link;

use crate::negotiation::Agreed;
use crate::plan::{Next, RequestPlan, Start};
use crate::wire::facts::Sizes;
use crate::wire::{command, error, export};
use linerate_block::{BackendError, Completion, Geometry, Operation, Tag};
use link::{Job, Link};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::Range;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time limits for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// Time that the server may take to connect and negotiate, and be silent while a reply is due.
    pub timeout: Duration,
    /// Time that one request may take from its start to the end of its reply.
    pub patience: Duration,
    /// Time that an operation is held while the server is lost. Zero: operations end as soon as it is lost.
    pub hold: Duration,
}

impl Default for ClientOptions {
    /// Defaults: 10 seconds, a minute, and nothing is held.
    fn default() -> Self {
        Self { timeout: Duration::from_secs(10), patience: Duration::from_secs(60), hold: Duration::ZERO }
    }
}

/// Reason that an export cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    /// Its minimum block size is too large.
    #[error("it wants requests of {0} bytes at least")]
    BlockSize(u32),
    /// It is smaller than one block.
    #[error("it holds not one block")]
    Empty,
    /// Its size is no whole number of blocks.
    #[error("its size, {size} bytes, is no number of blocks of {block_size}")]
    Size {
        /// Bytes of the export.
        size: u64,
        /// Bytes of a block.
        block_size: u32,
    },
}

/// Difference between an export and the one that was lost.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Different {
    /// Its size.
    #[error("it has {new} bytes, and had {old}")]
    Size {
        /// Bytes of the export.
        new: u64,
        /// Bytes of the lost one.
        old: u64,
    },
    /// It can no longer be written.
    #[error("it is read-only, and was not")]
    ReadOnly,
    /// Its transmission flags.
    #[error("its flags are {new:#06x}, and were {old:#06x}")]
    Flags {
        /// Flags of the export.
        new: u16,
        /// Flags of the lost one.
        old: u16,
    },
    /// Its name.
    #[error("its name is {}, and was {}", told(.new), told(.old))]
    Name {
        /// Name of the export, if its server tells one.
        new: Option<String>,
        /// Name of the lost one.
        old: Option<String>,
    },
    /// Its description.
    #[error("its description is {}, and was {}", told(.new), told(.old))]
    Description {
        /// Description of the export, if its server tells one.
        new: Option<String>,
        /// Description of the lost one.
        old: Option<String>,
    },
    /// Its request sizes.
    #[error("it wants requests of {} to {} bytes, and took {} to {}", .new.least, .new.most, .old.least, .old.most)]
    Sizes {
        /// Sizes of the export.
        new: Sizes,
        /// Sizes of the lost one.
        old: Sizes,
    },
}

/// The server is gone, or broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the server is lost")]
pub struct Lost;

/// Changes that were under way when their connection was lost: done, or not, or by a slow server yet to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InDoubt {
    /// Number of requests.
    pub changes: u64,
    /// Bytes of the export between which they lie.
    pub bytes: Range<u64>,
}

/// Most slices of bytes sent at once: requests, and the data of each.
pub const CLIENT_SLICES: usize = 2 * link::BATCH;

/// An export on a server. The block size is the server's minimum request size, 512 bytes or more.
///
/// To send: [`begin`](Self::begin), then [`output`](Self::output) and [`sent`](Self::sent) until there is no more. To
/// receive, if [`expects`](Self::expects) is true: [`advance`](Self::advance) until it returns false, then fill
/// [`room`](Self::room), report the bytes to [`received`](Self::received), and repeat.
#[derive(Debug)]
pub struct Client {
    options: ClientOptions,
    geometry: Geometry,
    agreed: Agreed,
    server: Server,
    /// Operations that wait for a free place among the requests under way, or for the server.
    waiting: VecDeque<Job>,
    done: VecDeque<Completion>,
    /// Number of changes that the server has completed, and of the first of them that it has flushed.
    changed: u64,
    flushed: u64,
}

/// State of the server.
#[derive(Debug)]
enum Server {
    Up(Box<Link>),
    Lost {
        since: Instant,
        /// Operations are held.
        holds: bool,
        /// Error of those that are held no longer.
        error: BackendError,
    },
}

impl Client {
    /// Client of a negotiated export; `serial` identifies its device.
    ///
    /// # Errors
    /// The export is empty, no whole number of blocks, or wants requests of more than 4096 bytes.
    pub fn new(agreed: Agreed, options: ClientOptions, serial: u64, now: Instant) -> Result<Self, Unfit> {
        let block_size = agreed.sizes.least.max(512);
        if block_size > 4096 {
            return Err(Unfit::BlockSize(block_size));
        }
        let geometry = geometry(&agreed, block_size, serial);
        if geometry.blocks == 0 {
            return Err(Unfit::Empty);
        }
        let size = agreed.info.size;
        if !size.is_multiple_of(u64::from(block_size)) {
            return Err(Unfit::Size { size, block_size });
        }
        let (waiting, done) = (VecDeque::new(), VecDeque::new());
        Ok(Self {
            options,
            geometry,
            agreed,
            server: Server::Up(Box::new(Link::new(now))),
            waiting,
            done,
            changed: 0,
            flushed: 0,
        })
    }

    /// Geometry of the device.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Bytes of the export.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.agreed.info.size
    }

    /// True if reads are answered in chunks.
    #[must_use]
    pub fn is_structured(&self) -> bool {
        self.agreed.structured
    }

    /// True if the server is connected.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self.server, Server::Up(_))
    }

    /// Takes note that the server is lost: operations are held, or end. Returns the changes that it may still do.
    pub fn lose(&mut self, now: Instant) -> Option<InDoubt> {
        let Server::Up(link) = &mut self.server else { return None };
        let in_doubt = link.in_doubt();
        let since = link.lost_since(now);
        // Those under way were begun before all that wait.
        for job in link.abandon().collect::<Vec<_>>().into_iter().rev() {
            self.waiting.push_front(job);
        }
        self.waiting.iter_mut().for_each(|job| _ = job.lost.get_or_insert(since));
        self.server = Server::Lost { since, holds: true, error: BackendError::NotReady };
        self.expire(now);
        in_doubt
    }

    /// Ends operations that were held for too long, counted from the first loss during each: one that makes every server
    /// die ends too. To be called while the server is lost.
    pub fn expire(&mut self, now: Instant) {
        let Server::Lost { since, holds, error } = &mut self.server else { return };
        *holds = now < *since + self.options.hold;
        let late = |job: &Job| job.lost.is_some_and(|lost| now >= lost + self.options.hold);
        for _ in 0..self.waiting.len() {
            let Some(job) = self.waiting.pop_front() else { break };
            if late(&job) {
                self.done.push_back(job.end(Err(*error)));
            } else {
                self.waiting.push_back(job);
            }
        }
    }

    /// Uses a new connection to a server, and begins the held operations again; returns the number of changes that the lost
    /// server had completed and not been asked to flush.
    ///
    /// # Errors
    /// Its export differs from the lost one. Operations are held on, as before.
    pub fn renew(&mut self, agreed: Agreed, now: Instant) -> Result<u64, Different> {
        if let Some(different) = self.difference(&agreed) {
            if let Server::Lost { error, .. } = &mut self.server {
                *error = BackendError::Replaced;
            }
            return Err(different);
        }
        (self.agreed, self.server) = (agreed, Server::Up(Box::new(Link::new(now))));
        let unflushed = self.changed - self.flushed;
        self.flushed = self.changed;
        Ok(unflushed)
    }

    /// Difference between an export and the one that was lost, if it cannot be that.
    fn difference(&self, agreed: &Agreed) -> Option<Different> {
        let (new, old) = (agreed, &self.agreed);
        // Held operations were cut into requests of the longest length.
        let fits = new.sizes.least <= self.geometry.block_size && new.sizes.most >= old.sizes.most;
        if new.info.size != old.info.size {
            Some(Different::Size { new: new.info.size, old: old.info.size })
        } else if new.info.has(export::READ_ONLY) && !old.info.has(export::READ_ONLY) {
            Some(Different::ReadOnly)
        } else if new.info.flags != old.info.flags {
            Some(Different::Flags { new: new.info.flags, old: old.info.flags })
        } else if let Some((new, old)) = unlike(&new.labels.name, &old.labels.name) {
            Some(Different::Name { new, old })
        } else if let Some((new, old)) = unlike(&new.labels.description, &old.labels.description) {
            Some(Different::Description { new, old })
        } else {
            (!fits).then_some(Different::Sizes { new: new.sizes, old: old.sizes })
        }
    }

    fn link(&self) -> Option<&Link> {
        match &self.server {
            Server::Up(link) => Some(link),
            Server::Lost { .. } => None,
        }
    }

    fn link_mut(&mut self) -> Option<&mut Link> {
        match &mut self.server {
            Server::Up(link) => Some(link),
            Server::Lost { .. } => None,
        }
    }

    /// Takes an operation. Its first request is sent after the next [`Client::begin`].
    pub fn submit(&mut self, tag: Tag, operation: Operation) {
        let (result, buffer) = match RequestPlan::start(operation, self.geometry.block_size, &self.agreed) {
            Start::RequestPlan(plan, buffer) => {
                let mut job = Job::new(tag, plan, buffer);
                match self.server {
                    Server::Up(_) => {}
                    Server::Lost { since, holds: true, .. } => job.lost = Some(since),
                    Server::Lost { error, .. } => return self.done.push_back(job.end(Err(error))),
                }
                return self.waiting.push_back(job);
            }
            Start::End(end, buffer) => (end, buffer),
        };
        self.done.push_back(Completion { tag, buffer, result });
    }

    /// True if a completion can be taken.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        !self.done.is_empty()
    }

    /// Takes the completion of an operation that has ended.
    pub fn complete(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }

    /// True if [`Client::begin`] can start a request.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() && self.link().is_some_and(Link::has_room)
    }

    /// Starts as many requests as there is room for.
    pub fn begin(&mut self, now: Instant) {
        let Server::Up(link) = &mut self.server else { return };
        while link.has_room() {
            let Some(mut job) = self.waiting.pop_front() else { break };
            job.covers = self.changed;
            link.begin(job, now);
        }
    }

    /// True if there are bytes to send.
    #[must_use]
    pub fn has_output(&self) -> bool {
        self.link().is_some_and(Link::has_output)
    }

    /// Shows the bytes to send next, a WRITE's data in its own buffer; returns the number of slices.
    pub fn output<'a>(&'a self, slices: &mut [IoSlice<'a>; CLIENT_SLICES]) -> usize {
        self.link().map_or(0, |link| link.output(slices))
    }

    /// Takes note that so many of the bytes that [`Client::output`] showed have been sent.
    pub fn sent(&mut self, count: usize) {
        if let Some(link) = self.link_mut() {
            link.sent(count);
        }
    }

    /// True if the connection is to be read: a reply is due, or [`Client::look`] asked for a check.
    ///
    /// # Errors
    /// A request has taken too long.
    pub fn expects(&mut self, now: Instant) -> Result<bool, Lost> {
        let Server::Up(link) = &mut self.server else { return Ok(false) };
        if link.expects_nothing() {
            return Ok(false);
        }
        if link.is_late(&self.options, now) { Err(Lost) } else { Ok(true) }
    }

    /// Has the connection checked although no reply is due: the server may have hung up.
    pub fn look(&mut self) {
        if let Some(link) = self.link_mut() {
            link.look();
        }
    }

    /// Processes received bytes, up to the end of a reply; true if a reply has ended.
    ///
    /// # Errors
    /// The server broke the protocol, or shuts down.
    pub fn advance(&mut self) -> Result<bool, Lost> {
        let Server::Up(link) = &mut self.server else { return Ok(false) };
        let Some((mut job, number)) = link.next()? else { return Ok(false) };
        match (job.part.kind, number) {
            // It is about to end: another one may do the request.
            (_, error::ESHUTDOWN) => {
                self.waiting.push_front(job);
                return Err(Lost);
            }
            (command::FLUSH, 0) => self.flushed = self.flushed.max(job.covers),
            (_, 0) if job.part.is_change() && self.geometry.volatile && job.part.flags & command::FLAG_FUA == 0 => {
                self.changed += 1;
            }
            _ => {}
        }
        match job.plan.advance(number) {
            Next::Part(part) => {
                job.part = part;
                // It was started before all that wait.
                self.waiting.push_front(job);
            }
            Next::End(result) => self.done.push_back(job.end(result)),
        }
        Ok(true)
    }

    /// Place for the next bytes received: a READ's data in its buffer, all else in a buffer of the client's. There is
    /// room after [`Client::advance`] has returned false.
    pub fn room(&mut self) -> &mut [u8] {
        self.link_mut().map_or(&mut [], Link::room)
    }

    /// Takes the first `count` bytes of [`Client::room`], which have been received.
    pub fn received(&mut self, count: usize, now: Instant) {
        if let Some(link) = self.link_mut() {
            link.received(count, now);
        }
    }

    /// Takes note that nothing more can be received now.
    ///
    /// # Errors
    /// The server has been silent for too long.
    pub fn nothing_came(&mut self, now: Instant) -> Result<(), Lost> {
        let silent = match &mut self.server {
            Server::Up(link) => link.is_silent(&self.options, now),
            Server::Lost { .. } => false,
        };
        if silent { Err(Lost) } else { Ok(()) }
    }

    /// Time at which the server's silence becomes too long, or a request may become late; while it is lost, time at which
    /// an operation may have been held for too long.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        match &self.server {
            Server::Up(link) => link.due(&self.options),
            Server::Lost { .. } => Some(self.waiting.iter().filter_map(|job| job.lost).min()? + self.options.hold),
        }
    }
}

/// A label of an export for people.
fn told(label: &Option<String>) -> String {
    label.as_ref().map_or_else(|| "none".to_owned(), |text| format!("{text:?}"))
}

/// Both of them if they differ: one that is told no longer, or for the first time, is another one too.
fn unlike(new: &Option<String>, old: &Option<String>) -> Option<(Option<String>, Option<String>)> {
    (new != old).then(|| (new.clone(), old.clone()))
}

fn geometry(agreed: &Agreed, block_size: u32, serial: u64) -> Geometry {
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
        serial,
    }
}
