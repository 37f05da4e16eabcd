//! A host in a thread of its own, and who may use it meanwhile.

use super::mailbox::Mailbox;
use super::node::{NetError, Node, Options};
use crate::event::run;
use crate::machine::{Machine, Progress, Sleeper};
use crate::signal::Stop;
use crate::spawn;
use crate::wait::{WaitMode, Waiter};
use linerate_port::{Interest, Sleep};
use linerate_ring::Bell;
use linerate_stack::{BindError, Cidr, UdpId};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// How long the host goes on with what arrives before it wakes those who read it (ns): about what a wake-up costs. Readers
/// that were woken for each few datagrams of a flood would sleep in between, and both sides pay for it.
const GO_ON: u64 = 20_000;

/// What the thread shares with those who use the host.
struct Shared {
    station: Mutex<Station>,
    stop: Stop,
    /// Rung when the host has something to do earlier than its sleeping thread knows.
    bell: Bell,
}

/// The host, and where it brings what has come for sockets.
struct Station {
    node: Node,
    /// By [`UdpId::index`].
    mailboxes: Vec<Option<Arc<Mailbox>>>,
    /// Mailboxes of which readers are to be woken, and how many.
    calls: Calls,
}

type Calls = Vec<(Arc<Mailbox>, usize)>;

fn wake(calls: &mut Calls) {
    calls.drain(..).for_each(|(mailbox, readers)| mailbox.wake(readers));
}

impl Station {
    /// Brings what has come to the mailboxes; true if readers are to be woken.
    #[inline]
    fn deliver(&mut self) -> bool {
        while let Some(id) = self.node.ip.host.udp_news() {
            // What [`Net::with`] has opened has no mailbox, and keeps its datagrams.
            let Some(Some(mailbox)) = self.mailboxes.get(id.index()) else { continue };
            let readers = mailbox.fill(&mut self.node.ip.host, id);
            if readers > 0 {
                self.calls.push((mailbox.clone(), readers));
            }
        }
        !self.calls.is_empty()
    }
}

/// The bell, as the thread waits on it.
struct Wake<'a>(&'a Bell);

impl Sleeper for Wake<'_> {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        Some(Sleep::on(self.0.as_fd(), Interest::Readable))
    }

    fn wake_up(&mut self) {
        self.0.clear();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Station> {
        self.station.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the node, and brings what comes of it to the mailboxes. Gives whose readers are to be woken, which is for
    /// after the lock: they may want it to answer.
    #[inline]
    fn work<T>(&self, calls: &mut Calls, work: impl FnOnce(&mut Node) -> T) -> T {
        let mut station = self.lock();
        let done = work(&mut station.node);
        if station.deliver() {
            calls.append(&mut station.calls);
        }
        done
    }
}

/// A host that runs in a thread of its own until the last handle and socket of it is dropped.
#[derive(Clone)]
pub struct Net {
    running: Arc<Running>,
}

struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stop.ask(0);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Net {
    /// Opens a port and runs a host with one address on it.
    pub fn open(port: &str, address: Cidr, options: &Options) -> Result<Self, NetError> {
        Self::run(Node::open(port, &[address], options)?)
    }

    /// Two at once, which may be the ends of one cable.
    pub fn open_pair(ports: [&str; 2], addresses: [Cidr; 2], options: &Options) -> Result<[Self; 2], NetError> {
        let addresses = addresses.map(|a| [a]);
        let mut nodes = Node::open_all(&ports, &[&addresses[0], &addresses[1]], options)?.into_iter();
        match (nodes.next(), nodes.next()) {
            (Some(a), Some(b)) => Ok([Self::run(a)?, Self::run(b)?]),
            _ => Err(NetError::OneWay(ports.join(" "))),
        }
    }

    /// Runs a node that was set up.
    pub fn run(node: Node) -> Result<Self, NetError> {
        let (stop, bell) = (Stop::new()?, Bell::new()?);
        let station = Station { node, mailboxes: Vec::new(), calls: Vec::new() };
        let shared = Arc::new(Shared { station: Mutex::new(station), stop, bell });
        let theirs = shared.clone();
        let thread = spawn("net", &[], move || {
            let stop = theirs.stop.clone();
            let mut runner = Runner { shared: theirs, calls: Vec::new(), since: 0, stopping: false };
            run(&mut runner, &mut Waiter::new(WaitMode::Sleep), &stop);
        })?;
        Ok(Self { running: Arc::new(Running { shared, thread: Some(thread) }) })
    }

    /// Looks at the host, or changes it: routes, addresses, counters. Its thread, and all who send, wait meanwhile.
    pub fn with<T>(&self, look: impl FnOnce(&mut Node) -> T) -> T {
        let mut calls = Vec::new();
        let seen = self.running.shared.work(&mut calls, look);
        wake(&mut calls);
        seen
    }

    /// Opens a socket whose datagrams come to a mailbox.
    pub(super) fn bind(&self, local: SocketAddr) -> Result<(UdpId, Arc<Mailbox>), BindError> {
        let mut station = self.running.shared.lock();
        let host = &mut station.node.ip.host;
        let id = host.udp_bind(local)?;
        let mailbox = Arc::new(Mailbox::new(host.udp_inbox()));
        let at = id.index();
        if station.mailboxes.len() <= at {
            station.mailboxes.resize(at + 1, None);
        }
        station.mailboxes[at] = Some(mailbox.clone());
        Ok((id, mailbox))
    }

    /// Closes a socket.
    pub(super) fn close(&self, id: UdpId) {
        let mut station = self.running.shared.lock();
        station.node.ip.host.udp_close(id);
        station.mailboxes[id.index()] = None;
    }

    /// Has the thread look when it must be up next.
    pub(super) fn ring(&self) {
        self.running.shared.bell.ring();
    }
}

/// What the thread runs.
struct Runner {
    shared: Arc<Shared>,
    /// Whose readers are to be woken, since when.
    calls: Calls,
    since: u64,
    stopping: bool,
}

impl Machine for Runner {
    fn handle(&mut self, now: u64) -> Progress {
        if self.stopping {
            return Progress::Done;
        }
        if self.calls.is_empty() {
            self.since = now;
        }
        let worked = self.shared.work(&mut self.calls, |node| node.handle(now));
        // Nobody waits for long, and nobody while the host sleeps.
        if !worked || now >= self.since + GO_ON {
            wake(&mut self.calls);
        }
        if worked { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.shared.lock().node.poll_timeout()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.shared.lock().node.waits_for(visit);
        visit(&mut Wake(&self.shared.bell));
    }

    fn stop(&mut self, _: u64) {
        wake(&mut self.calls);
        self.stopping = true;
    }
}
