//! A host that runs in threads of its own, one for each queue of its port, and its users.

use super::mailbox::Mailbox;
use super::node::{NetError, Node, Options};
use super::queue::{Calls, Queue, wake};
use super::turns::Thread;
use crate::ThreadTime;
use crate::event::run;
use crate::machine::{Machine, Progress, Sleeper};
use crate::signal::Stop;
use crate::spawn;
use crate::wait::{WaitMode, Waiter};
use linerate_nic::Control;
use linerate_port::{Link, open_all};
use linerate_stack::{BindError, Cidr, Counters, Host, Traffic, UdpId};
use linerate_text::saturating_ns;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the host goes on with what arrives before it wakes those who read it (ns): about what a wake-up costs. Readers
/// that were woken for each few datagrams of a flood would sleep in between, and both sides pay for it.
const GO_ON: u64 = 20_000;

/// Time after which a thread says how much processor time it has used, ns.
const SAYS: u64 = 1_000_000;

/// Longest time that a host that ends waits for a peer that takes nothing.
const LINGER: Duration = Duration::from_secs(3);

/// A host that runs in threads of its own until the last handle and socket of it is dropped.
///
/// Each queue of its port has a thread and a shard of the host. Datagrams arrive by whichever queue the port chooses; a
/// socket sends by one queue.
#[derive(Clone)]
pub struct Net {
    running: Arc<Running>,
}

struct Running {
    queues: Vec<Arc<Queue>>,
    /// Connections made.
    next: AtomicUsize,
    control: Control,
    stop: Stop,
    threads: Vec<JoinHandle<()>>,
    /// Processor time of each thread.
    spent: Vec<Arc<Spent>>,
}

/// Processor time that a thread has used, in user mode and in the kernel, ns; published by it alone, from time to time.
#[derive(Default)]
struct Spent([AtomicU64; 2]);

impl Spent {
    #[cold]
    fn say(&self) {
        let time = ThreadTime::of_this_thread();
        // Each is a figure of its own; nothing else is published by them.
        self.0[0].store(saturating_ns(time.user), Relaxed);
        self.0[1].store(saturating_ns(time.system), Relaxed);
    }

    fn read(&self) -> ThreadTime {
        let [user, system] = [0, 1].map(|at| Duration::from_nanos(self.0[at].load(Relaxed)));
        ThreadTime { user, system }
    }
}

impl Running {
    /// Bytes that were written and FINs go out before the host ends, as long as their peers take any.
    fn linger(&self) {
        let mut seen = (0, Instant::now());
        loop {
            let unsent = self.queues.iter().map(|queue| queue.shard().ip.host.tcp_unsent());
            let (busy, done) = unsent.fold((0, 0), |(n, sum), (busy, done)| (n + busy, sum + done + 1));
            if done != seen.0 {
                seen = (done, Instant::now());
            }
            if busy == 0 || self.control.link() != Link::Up || seen.1.elapsed() >= LINGER {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.linger();
        self.stop.ask(0);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Net {
    /// Opens a port and runs a host with one address on it.
    pub fn open(port: &str, address: Cidr, options: &Options) -> Result<Self, NetError> {
        Self::run(Node::open_shards(port, &[address], options)?)
    }

    /// Two at once, which may be the ends of one cable.
    pub fn open_pair(ports: [&str; 2], addresses: [Cidr; 2], options: &Options) -> Result<[Self; 2], NetError> {
        let mut nets = open_all(&ports)?
            .into_iter()
            .zip(addresses)
            .map(|(port, address)| Self::run(Node::shards(Node::adapter(port, options)?, &[address], options)?));
        match (nets.next(), nets.next()) {
            (Some(a), Some(b)) => Ok([a?, b?]),
            _ => Err(NetError::OneWay(ports.join(" "))),
        }
    }

    /// Runs a host that was set up: the nodes of all its queues, as [`Node::shards`] gives them.
    pub fn run(nodes: Vec<Node>) -> Result<Self, NetError> {
        let control = nodes.first().ok_or_else(|| NetError::OneWay("no node".into()))?.line().control().clone();
        let next = AtomicUsize::new(0);
        let mut running =
            Running { queues: Vec::new(), next, control, stop: Stop::new()?, threads: Vec::new(), spent: Vec::new() };
        for node in nodes {
            let (ip, line) = node.into_parts();
            let queue = Arc::new(Queue::new(running.queues.len(), ip, line)?);
            let (shared, stop) = (queue.clone(), running.stop.clone());
            let spent = Arc::new(Spent::default());
            running.spent.push(spent.clone());
            running.queues.push(queue);
            let thread = spawn("net", &[], move || {
                let thread = Thread::default();
                let mut runner =
                    Runner { queue: shared, thread, calls: Vec::new(), since: 0, stopping: false, spent, said: 0 };
                run(&mut runner, &mut Waiter::new(WaitMode::Sleep), &stop);
            })?;
            running.threads.push(thread);
        }
        Ok(Self { running: Arc::new(running) })
    }

    /// Looks at the host, or changes it: addresses, routes, neighbours. Of a host of several queues this is the shard of
    /// the first, and what it has in common with the others; the thread of that queue waits meanwhile.
    pub fn with<T>(&self, look: impl FnOnce(&mut Host) -> T) -> T {
        let mut calls = Vec::new();
        let seen = self.running.queues[0].with(&mut calls, |ip| look(&mut ip.host));
        wake(&mut calls);
        seen
    }

    /// Counters of all shards together.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let (mut sum, mut calls) = (Counters::default(), Vec::new());
        self.running.queues.iter().for_each(|queue| sum += queue.with(&mut calls, |ip| *ip.host.counters()));
        wake(&mut calls);
        sum
    }

    /// Processor time of its threads, a millisecond ago at most.
    #[must_use]
    pub fn spent(&self) -> ThreadTime {
        self.running.spent.iter().map(|spent| spent.read()).fold(ThreadTime::default(), |sum, time| ThreadTime {
            user: sum.user + time.user,
            system: sum.system + time.system,
        })
    }

    /// Reads and changes the settings of its adapter.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.running.control
    }

    /// Opens a socket in all shards, with one mailbox, for everybody or for one peer: its identifier in each.
    pub(super) fn bind(
        &self,
        local: SocketAddr,
        remote: Option<SocketAddr>,
    ) -> Result<(Vec<UdpId>, Arc<Mailbox>), BindError> {
        let [first, others @ ..] = &self.running.queues[..] else { return Err(BindError::Full) };
        let mut shard = first.shard();
        let (id, mailbox) = shard.open(local, remote, None)?;
        // The first one has chosen the port, where none was given.
        let local = shard.ip.host.udp_ends(id).map_or(local, |(local, _)| local);
        drop(shard);
        let mut ids = vec![id];
        for queue in others {
            match queue.shard().open(local, remote, Some(&mailbox)) {
                Ok((id, _)) => ids.push(id),
                Err(error) => {
                    self.close(&ids);
                    return Err(error);
                }
            }
        }
        Ok((ids, mailbox))
    }

    /// Closes a socket in the shards where it is open: in the first one last, because that is where others are told
    /// whether its port is free.
    pub(super) fn close(&self, ids: &[UdpId]) {
        let queues = self.running.queues.iter().zip(ids);
        queues.rev().for_each(|(queue, id)| queue.shard().close(*id));
    }

    /// Connects a socket in all shards; false if it is closed.
    pub(super) fn connect(&self, ids: &[UdpId], to: SocketAddr) -> bool {
        let mut shards = self.running.queues.iter().zip(ids);
        shards.all(|(queue, id)| queue.shard().ip.host.udp_connect(*id, Some(to)))
    }

    /// Sets the traffic class and the flow label of what a socket sends; false if it is closed.
    pub(super) fn set_traffic(&self, ids: &[UdpId], traffic: Traffic) -> bool {
        let mut shards = self.running.queues.iter().zip(ids);
        shards.all(|(queue, id)| queue.shard().ip.host.udp_set_traffic(*id, traffic))
    }

    /// Index of the queue by which a socket sends: sockets are spread over all.
    pub(super) fn output_of(&self, ids: &[UdpId]) -> usize {
        ids.first().map_or(0, |id| id.index() % self.running.queues.len())
    }

    /// Index of the queue by which the next connection is made: they are spread over all.
    pub(super) fn next_queue(&self) -> usize {
        self.running.next.fetch_add(1, Relaxed) % self.running.queues.len()
    }

    pub(super) fn queues(&self) -> usize {
        self.running.queues.len()
    }

    #[inline]
    pub(super) fn queue(&self, index: usize) -> &Queue {
        &self.running.queues[index]
    }
}

/// Machine of a queue's thread.
struct Runner {
    queue: Arc<Queue>,
    thread: Thread,
    /// Mailboxes whose readers are to be woken, since when.
    calls: Calls,
    since: u64,
    stopping: bool,
    spent: Arc<Spent>,
    /// Time at which it last published its processor time.
    said: u64,
}

impl Machine for Runner {
    fn handle(&mut self, now: u64) -> Progress {
        if self.stopping {
            return Progress::Done;
        }
        if self.calls.is_empty() {
            self.since = now;
        }
        if now >= self.said + SAYS {
            self.said = now;
            self.spent.say();
        }
        let worked = self.thread.turn(&self.queue, now, &mut self.calls);
        // Nobody waits for long, and nobody while the host sleeps.
        if !worked || now >= self.since + GO_ON {
            wake(&mut self.calls);
        }
        if worked { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.thread.poll_timeout(&self.queue)
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.thread.waits_for(&self.queue, visit);
    }

    fn stop(&mut self, _: u64) {
        wake(&mut self.calls);
        self.spent.say();
        self.stopping = true;
    }
}
