//! One queue of a running host: its shard, and its output, each under a lock of its own.
//!
//! Whoever takes a turn ([`super::turns`]) holds the shard's lock while it processes a batch, and takes that of the output when
//! the first answer is sent. A sender whose headers are prepared takes the lock of the output alone. Locks are taken in this order:
//! arrivals, shard, output; and nobody who holds one waits for anything but the other.

use super::gate::Gate;
use super::ip::{Ip, IpTx};
use super::mailbox::Mailbox;
use super::stray_answer::StrayAnswer;
use super::turns::Turns;
use crate::clock::monotonic_ns;
use crate::line::{Arrivals, Line};
use crate::machine::Sleeper;
use linerate_nic::{Control, NicTx};
use linerate_port::{Link, Sleep};
use linerate_ring::{Bell, Frame, Meta};
use linerate_stack::tcp::{TcpId, TcpListenerId};
use linerate_stack::{BindError, Transmit, UdpId};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A queue of a running host, shared by its thread and the host's users.
pub(super) struct Queue {
    shard: Mutex<Shard>,
    output: Mutex<Output>,
    interface: usize,
    control: Control,
    turns: Turns,
    /// Rung when there is something to do earlier than the sleeping thread knows.
    bell: Bell,
}

/// A shard of the host, and the mailboxes and gates of its sockets.
pub(super) struct Shard {
    pub(super) ip: Ip,
    /// By [`UdpId::index`].
    mailboxes: Vec<Option<Arc<Mailbox>>>,
    /// By [`TcpId::index`].
    streams: Vec<Option<(TcpId, Arc<Gate>)>>,
    /// By [`TcpListenerId::index`].
    listeners: Vec<Option<Arc<Gate>>>,
    /// Of connections that other shards make, by their ends.
    hails: HashMap<(SocketAddr, SocketAddr), Arc<StrayAnswer>>,
    /// Its own number among the shards.
    at: usize,
    /// Latest time that it was given.
    latest: u64,
}

pub(super) struct Output {
    nic: NicTx,
    /// Datagrams that were sent with prepared headers, and are not among the shard's counters yet.
    prepared: u64,
    /// Generation of the adapter's settings under which headers may have been prepared.
    settings: u64,
}

/// Next step after work on a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// To send for its connections, and to tell those who wait what is new.
    Tell,
    /// To do the same if there is something to be sent: nothing else can have come of the work.
    Send,
    /// To leave it to a turn, if the thread looks soon.
    Hold,
}

/// Somebody who is to be woken.
pub(super) enum Call {
    /// So many readers of a mailbox.
    Mailbox(Arc<Mailbox>, usize),
    /// Users of a connection, or of a listener.
    Gate(Arc<Gate>),
}

/// All who are to be woken.
pub(super) type Calls = Vec<Call>;

pub(super) fn wake(calls: &mut Calls) {
    calls.drain(..).for_each(|call| match call {
        Call::Mailbox(mailbox, readers) => mailbox.wake(readers),
        Call::Gate(gate) => gate.open(),
    });
}

/// Puts something in its place of a table, or takes it away.
fn put<T>(table: &mut Vec<Option<T>>, at: usize, value: Option<T>) {
    if table.len() <= at {
        table.resize_with(at + 1, || None);
    }
    table[at] = value;
}

fn earlier(before: Option<u64>, after: Option<u64>) -> bool {
    after.is_some_and(|at| before.is_none_or(|before| at < before))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    /// A time for the shard, which never goes back: who has read the clock may have waited for the lock while others went on.
    /// A peer drops segments whose timestamps are older than those of others before them (RFC 7323, section 5.3).
    fn time(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }

    pub(super) fn now(&mut self) -> u64 {
        self.time(monotonic_ns())
    }

    /// True if there is something to do as of the latest time that it was given.
    #[inline]
    fn is_due(&self) -> bool {
        self.ip.host.wants_room() || self.ip.poll_timeout().is_some_and(|at| at <= self.latest)
    }

    /// Opens a socket whose datagrams come to a mailbox: the one given, or a new one.
    pub(super) fn open(
        &mut self,
        local: SocketAddr,
        remote: Option<SocketAddr>,
        mailbox: Option<&Arc<Mailbox>>,
    ) -> Result<(UdpId, Arc<Mailbox>), BindError> {
        let host = &mut self.ip.host;
        let id = match remote {
            None => host.udp_bind(local),
            Some(remote) => host.udp_bind_to(local, remote),
        }?;
        let mailbox = mailbox.map_or_else(|| Arc::new(Mailbox::new(self.ip.host.udp_inbox())), Arc::clone);
        put(&mut self.mailboxes, id.index(), Some(mailbox.clone()));
        Ok((id, mailbox))
    }

    /// Has a gate opened for what is new of a connection.
    pub(super) fn watch(&mut self, id: TcpId, gate: Arc<Gate>) {
        put(&mut self.streams, id.index(), Some((id, gate)));
    }

    /// Ends that. Another connection may have the place by now: a SYN takes that of one in TIME-WAIT, which its user still has.
    pub(super) fn unwatch(&mut self, id: TcpId) {
        if let Some(place) = self.streams.get_mut(id.index()) {
            place.take_if(|(watched, _)| *watched == id);
        }
    }

    /// Has a gate opened for connections that come to a listener; none: no more.
    pub(super) fn watch_listener(&mut self, id: TcpListenerId, gate: Option<Arc<Gate>>) {
        put(&mut self.listeners, id.index(), gate);
    }

    /// Has a stray answer answered by what comes for a connection with these ends; false if this shard has one.
    pub(super) fn expect(&mut self, ends: (SocketAddr, SocketAddr), stray_answer: &Arc<StrayAnswer>) -> bool {
        let free = self.ip.host.tcp_expect(ends.0, ends.1);
        if free {
            self.hails.insert(ends, stray_answer.clone());
        }
        free
    }

    pub(super) fn expect_no_more(&mut self, ends: (SocketAddr, SocketAddr)) {
        self.hails.remove(&ends);
        self.ip.host.tcp_expect_no_more(ends.0, ends.1);
    }

    pub(super) fn close(&mut self, id: UdpId) {
        self.ip.host.udp_close(id);
        self.mailboxes[id.index()] = None;
    }

    /// Brings what has come for sockets to their mailboxes, and notes whose readers are to be woken.
    #[inline]
    fn deliver(&mut self, calls: &mut Calls) {
        while let Some(id) = self.ip.host.udp_news() {
            // What a user of the host has opened there has no mailbox, and keeps its datagrams.
            let Some(Some(mailbox)) = self.mailboxes.get(id.index()) else { continue };
            let readers = mailbox.fill(&mut self.ip.host, id);
            if readers > 0 {
                calls.push(Call::Mailbox(mailbox.clone(), readers));
            }
        }
        while let Some(id) = self.ip.host.tcp_news() {
            if let Some(Some((watched, gate))) = self.streams.get(id.index())
                && *watched == id
            {
                calls.push(Call::Gate(gate.clone()));
            }
        }
        while let Some(stray) = self.ip.host.tcp_stray() {
            if let Some(stray_answer) = self.hails.get(&stray.ends()) {
                calls.push(Call::Gate(stray_answer.heard(self.at, stray)));
            }
        }
        while let Some(id) = self.ip.host.tcp_arrival() {
            if let Some(Some(gate)) = self.listeners.get(id.index()) {
                calls.push(Call::Gate(gate.clone()));
            }
        }
    }
}

/// The output, locked from the first frame on: a turn that sends nothing hinders no sender.
struct Late<'a> {
    queue: &'a Queue,
    now: u64,
    output: Option<MutexGuard<'a, Output>>,
}

impl Late<'_> {
    #[inline]
    fn tx(&mut self) -> IpTx<'_> {
        let output = self.output.get_or_insert_with(|| {
            let mut output = lock(&self.queue.output);
            output.nic.tick(self.now);
            output.nic.follow();
            output
        });
        IpTx::new(&mut output.nic, self.queue.interface)
    }
}

impl Transmit for Late<'_> {
    fn send(&mut self, head: &[u8], body: &[&[u8]], request: Option<Meta>) -> bool {
        self.tx().send(head, body, request)
    }

    fn frame(&mut self, len: usize, request: Option<Meta>, fill: impl FnOnce(&mut Frame<'_>)) -> bool {
        self.tx().frame(len, request, fill)
    }

    fn single(&self) -> usize {
        match &self.output {
            Some(output) => output.nic.single(self.queue.interface),
            None => lock(&self.queue.output).nic.single(self.queue.interface),
        }
    }
}

impl Output {
    /// Hands on what was sent.
    fn flush(&mut self, now: u64) {
        if self.nic.is_due() {
            self.nic.sync(now);
        }
    }
}

impl Queue {
    /// The queue, for its thread and the host's users.
    pub(super) fn new(at: usize, ip: Ip, line: Line) -> std::io::Result<Self> {
        let interface = ip.interface();
        let (mailboxes, streams, listeners, hails) = (Vec::new(), Vec::new(), Vec::new(), HashMap::new());
        let shard = Mutex::new(Shard { ip, mailboxes, streams, listeners, hails, at, latest: 0 });
        let output = Mutex::new(Output { nic: line.tx, prepared: 0, settings: 0 });
        let control = line.arrivals.control().clone();
        Ok(Self { shard, output, interface, control, turns: Turns::new(line.arrivals), bell: Bell::new()? })
    }

    pub(super) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Wakes its thread.
    pub(super) fn ring(&self) {
        self.bell.ring();
    }

    /// The shard, to be looked at or changed.
    pub(super) fn shard(&self) -> MutexGuard<'_, Shard> {
        lock(&self.shard)
    }

    /// Works on the shard, with its counters up to date, and brings what comes of it to the mailboxes. Readers are to be
    /// woken after it: they may want the lock to answer.
    pub(super) fn with<T>(&self, calls: &mut Calls, work: impl FnOnce(&mut Ip) -> T) -> T {
        let mut shard = self.shard();
        let prepared = std::mem::take(&mut lock(&self.output).prepared);
        shard.ip.host.udp_count_prepared(prepared);
        shard.ip.host.follow();
        let before = shard.ip.poll_timeout();
        let done = work(&mut shard.ip);
        shard.deliver(calls);
        let after = shard.ip.poll_timeout();
        drop(shard);
        self.wake_earlier(before, after);
        done
    }

    /// Wakes the thread if it has something to do earlier than it knows.
    fn wake_earlier(&self, before: Option<u64>, after: Option<u64>) {
        if earlier(before, after) && !self.turns.are_ticking() {
            self.bell.ring();
        }
    }

    /// True if there is something to do before this time.
    pub(super) fn is_earlier(&self, before: Option<u64>) -> bool {
        earlier(before, self.poll_timeout())
    }

    /// A turn: processes what has arrived, and what is due; true if there was something to do.
    pub(super) fn turn(&self, now: u64, arrivals: &mut Arrivals, calls: &mut Calls) -> bool {
        let mut shard = self.shard();
        let now = shard.time(now);
        let mut late = Late { queue: self, now, output: None };
        let link = arrivals.changed();
        if let Some(link) = link {
            shard.ip.set_link(link, &mut late);
            late.tx().sync(now);
        }
        arrivals.take(now);
        // The link may have changed once more by now: that is looked at before anybody sleeps.
        let mut worked = shard.ip.work(now, arrivals, &mut late) || link.is_some() || arrivals.is_news();
        // Who is sending now flushes.
        if let Some(mut output) = late.output.or_else(|| self.output.try_lock().ok()) {
            let free = output.nic.free();
            output.flush(now);
            // What was refused before finds room now.
            worked |= shard.ip.host.wants_room() && output.nic.free() > free;
        }
        shard.deliver(calls);
        worked
    }

    /// Sends by the general path: `send` is given the shard, its output, which is flushed afterwards, and the time.
    pub(super) fn send<T>(&self, send: impl FnOnce(&mut Ip, &mut IpTx<'_>, u64) -> T) -> T {
        let (mut shard, before) = self.begin();
        let (now, mut output) = self.output(&mut shard);
        let done = send(&mut shard.ip, &mut IpTx::new(&mut output.nic, self.interface), now);
        let held_up = self.flush(now, output);
        self.end(shard, before, held_up);
        done
    }

    /// Works on the shard, and sends at once what its connections have to send then.
    pub(super) fn talk<T>(&self, work: impl FnOnce(&mut Shard) -> T) -> T {
        self.talk_then(|shard| (work(shard), Then::Tell))
    }

    /// Works on the shard, and does then what `work` says.
    #[inline]
    pub(super) fn talk_then<T>(&self, work: impl FnOnce(&mut Shard) -> (T, Then)) -> T {
        let (mut shard, before) = self.begin();
        let (done, then) = work(&mut shard);
        match then {
            // A thread that ceases to look soon takes a turn first, for which it waits for the lock.
            Then::Hold if self.turns.are_ticking() => return done,
            Then::Send if !shard.is_due() => return done,
            _ => {}
        }
        let mut held_up = false;
        if shard.is_due() {
            let (now, mut output) = self.output(&mut shard);
            shard.ip.poll(now, &self.control, &mut IpTx::new(&mut output.nic, self.interface));
            held_up = self.flush(now, output);
        }
        self.end(shard, before, held_up);
        done
    }

    /// Works on the shard, and leaves what comes of it to a turn.
    pub(super) fn change<T>(&self, work: impl FnOnce(&mut Shard) -> T) -> T {
        work(&mut self.begin().0)
    }

    /// The shard, with the settings that are in force, and when there was to be something to do. The thread, which takes them
    /// over otherwise, may be asleep.
    #[inline]
    fn begin(&self) -> (MutexGuard<'_, Shard>, Option<u64>) {
        let mut shard = self.shard();
        shard.ip.follow(&self.control);
        let before = shard.ip.poll_timeout();
        (shard, before)
    }

    /// The output, with the settings that the shard has, and the time, read where nobody else sends meanwhile.
    fn output(&self, shard: &mut Shard) -> (u64, MutexGuard<'_, Output>) {
        let mut output = lock(&self.output);
        // First the number, then what it stands for.
        output.settings = self.control.generation();
        shard.ip.follow(&self.control);
        output.nic.follow();
        let now = shard.now();
        output.nic.tick(now);
        (now, output)
    }

    /// Tells of what has come of it those who wait, and the thread.
    #[inline]
    fn end(&self, mut shard: MutexGuard<'_, Shard>, before: Option<u64>, held_up: bool) {
        let mut calls = Vec::new();
        shard.deliver(&mut calls);
        let held_up = held_up || shard.ip.host.wants_room();
        let after = shard.ip.poll_timeout();
        // A port's descriptor may not tell that its link is back.
        let back = !shard.ip.host.has_carrier() && self.control.link() == Link::Up;
        drop(shard);
        wake(&mut calls);
        if back || (held_up && !self.turns.are_ticking()) {
            self.bell.ring();
        }
        self.wake_earlier(before, after);
    }

    /// Sends datagrams with prepared headers: `send` is given the output, which is flushed afterwards, and gives how many
    /// it has sent, and something more. None, and `send` is not called, if the adapter's settings have changed.
    #[inline]
    pub(super) fn send_prepared<T>(
        &self,
        now: u64,
        send: impl FnOnce(&mut IpTx<'_>) -> (usize, T),
    ) -> Option<(usize, T)> {
        let mut output = lock(&self.output);
        if output.settings != self.control.generation() {
            return None;
        }
        output.nic.tick(now);
        let (sent, more) = send(&mut IpTx::new(&mut output.nic, self.interface));
        output.prepared += sent as u64;
        if self.flush(now, output) && !self.turns.are_ticking() {
            self.bell.ring();
        }
        Some((sent, more))
    }

    /// Hands on what was sent; true if the port took not all of it: the thread waits until it takes more.
    fn flush(&self, now: u64, mut output: MutexGuard<'_, Output>) -> bool {
        output.flush(now);
        output.nic.is_held_up()
    }

    /// Time of the next turn even if nothing arrives.
    pub(super) fn poll_timeout(&self) -> Option<u64> {
        let shard = self.shard();
        let resumes = lock(&self.output).nic.resumes();
        [shard.ip.poll_timeout(), resumes].into_iter().flatten().min()
    }

    /// True if the port has not taken all that was sent, or the host waits for room to send more.
    pub(super) fn is_held_up(&self) -> bool {
        let shard = self.shard();
        let output = lock(&self.output);
        output.nic.is_held_up() || (shard.ip.host.wants_room() && output.nic.resumes().is_none())
    }

    /// Visits the output, if something waits for it.
    pub(super) fn waits_for_room(&self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        if self.is_held_up() {
            visit(lock(&self.output).nic.port());
        }
    }

    /// Visits the bell of the queue's thread.
    pub(super) fn waits_for_bell(&self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(&mut Wake(&self.bell));
    }
}

/// The bell, as the thread waits on it.
struct Wake<'a>(&'a Bell);

impl Sleeper for Wake<'_> {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        Some(Sleep::on_bell(self.0))
    }

    fn wake_up(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::turns::Thread;
    use crate::net::{Node, Options};
    use crate::sys::poll::readable;
    use linerate_nic::Count;
    use std::os::fd::AsFd;
    use std::time::Duration;

    /// Regression: who closed a connection that had given way to a new one in its place had that one's news told to nobody.
    #[test]
    fn the_end_of_a_connection_is_not_that_of_the_next_in_its_place() {
        let address = "10.0.0.1/24".parse().unwrap();
        let node = Node::open("null:", &[address], &Options::default()).unwrap();
        let (ip, line) = node.into_parts();
        let queue = Queue::new(0, ip, line).unwrap();
        let connect = || {
            let id = queue.talk(|shard| shard.ip.host.tcp_connect(1, None, "10.0.0.2:9".parse().unwrap())).unwrap();
            queue.shard().watch(id, Arc::default());
            id
        };
        let old = connect();
        queue.talk(|shard| shard.ip.host.tcp_abort(old) && shard.ip.host.tcp_release(old));
        let new = connect();
        assert!(new != old && new.index() == old.index());
        queue.shard().unwatch(old);
        assert!(queue.shard().streams[new.index()].is_some());
        queue.shard().unwatch(new);
        assert!(queue.shard().streams[new.index()].is_none());
    }

    /// Regression: who had read the clock, and then waited for the lock, sent with older timestamps than whoever had had it
    /// before; the peer dropped all of them.
    #[test]
    fn the_time_of_a_shard_does_not_go_back() {
        let node = Node::open("null:", &["10.0.0.1/24".parse().unwrap()], &Options::default()).unwrap();
        let (ip, line) = node.into_parts();
        let queue = Queue::new(0, ip, line).unwrap();
        let before = monotonic_ns();
        let first = queue.talk(Shard::now);
        assert!(first >= before);
        // The thread of the queue read the clock before.
        assert!(queue.shard().time(before) >= first);
        Thread::default().turn(&queue, first + 1_000_000_000_000, &mut Vec::new());
        assert!(queue.talk(Shard::now) == first + 1_000_000_000_000);
    }

    /// Regression: a datagram that was taken for an interface that was up again was dropped by the adapter, whose settings were
    /// from its last sync, while it was down.
    #[test]
    fn an_interface_that_is_up_again_drops_nothing() {
        let node = Node::open("null:", &["10.0.0.1/24".parse().unwrap()], &Options::default()).unwrap();
        let (ip, line) = node.into_parts();
        let queue = Queue::new(0, ip, line).unwrap();
        Thread::default().turn(&queue, 1, &mut Vec::new());
        queue.control.change(0, |vi| vi.up = false).unwrap();
        queue.send(|_, tx, now| tx.sync(now));
        queue.control.change(0, |vi| vi.up = true).unwrap();
        let before = queue.control.counters(0).unwrap();
        queue.send(|_, tx, now| {
            assert!(tx.send(&[0xff; 60], &[], None));
            tx.sync(now);
        });
        let after = queue.control.counters(0).unwrap();
        let more = |count| after.of(count) - before.of(count);
        assert!(more(Count::TxDown) == 0 && more(Count::TxFrames) > 0, "{after:?}");
    }

    /// Regression: what a change made due waited until the thread woke for something else.
    #[test]
    fn the_thread_is_woken_for_what_a_change_makes_due() {
        let address = "10.0.0.1/24".parse().unwrap();
        let node = Node::open("null:", &[address], &Options::default()).unwrap();
        let (ip, line) = node.into_parts();
        let queue = Queue::new(0, ip, line).unwrap();
        let mut calls = Vec::new();
        // Both reports that follow the link's coming up, which are empty, and the check of the address.
        for second in 0..20 {
            Thread::default().turn(&queue, second * 1_000_000_000, &mut calls);
        }
        assert_eq!(queue.poll_timeout(), None, "nothing is due");
        queue.bell.clear();
        let rung = || readable(&[queue.bell.as_fd()], Some(Duration::ZERO));
        queue.with(&mut calls, |ip| *ip.host.counters());
        assert!(!rung(), "a look makes nothing due");
        queue.with(&mut calls, |ip| ip.host.add_address("fd00::1/64".parse().unwrap())).unwrap();
        assert!(queue.poll_timeout() == Some(0) && rung());
    }
}
