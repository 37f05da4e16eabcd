//! Who takes the turns of a queue: its thread, or for a short time a user of the host who waits.
//!
//! A user that waits for a connection takes turns itself before it goes to sleep: what it waits for is processed by the thread
//! that wants it, without a wake-up of another. Whoever has the lock of the arrivals takes the turns.
//!
//! The thread of the queue has them as long as no user wants them: then it sleeps until the port has something (it is
//! *armed*). It is left armed by users who come now and then. When it is woken and finds that users take turns, it looks only
//! every [`TICK`] whether they still do, so that it is not woken for what they process; and is armed again when they do not, or
//! when one of them goes to sleep. If none has taken a turn since its last look, it takes one: whatever they leave waits for two
//! ticks at most.

use super::queue::{Calls, Queue, Shard, Then, wake};
use crate::clock::monotonic_ns;
use crate::line::Arrivals;
use crate::machine::Sleeper;
use crate::thread::cpus;
use linerate_port::{RxQueue, Sleep};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};

/// Time between two looks of the thread while users take turns, ns.
const TICK: u64 = 200_000;
/// Time without work after which a user goes to sleep, ns: about what a wake-up costs.
const PATIENCE: u64 = 50_000;
/// Looks without work after which a user lets others have its processor.
const YIELD_EVERY: u32 = 16;

/// Bytes of a write to which a turn adds next to nothing, and number of smaller ones of which one takes a turn.
const LARGE: usize = 16 << 10;
const FEW: u64 = 8;

pub(super) struct Turns {
    arrivals: Mutex<Arrivals>,
    /// The thread sleeps until the port or the bell wakes it, or is about to. Set, and read by users, under the lock of the
    /// arrivals.
    armed: AtomicBool,
    /// The thread sleeps a tick at most. It changes this before it looks at the times of the shard, under the shard's lock;
    /// others read it after they have changed those.
    ticking: AtomicBool,
    /// Users that have come, and turns that those took who were not waiting.
    users: AtomicU64,
    taken: AtomicU64,
    /// A user goes to sleep: the thread is to be armed.
    wanted: AtomicBool,
}

impl Turns {
    pub(super) fn new(arrivals: Arrivals) -> Self {
        let no = || AtomicBool::new(false);
        let none = || AtomicU64::new(0);
        let arrivals = Mutex::new(arrivals);
        Self { arrivals, armed: no(), ticking: no(), users: none(), taken: none(), wanted: no() }
    }

    /// True if the thread looks soon for whatever is due.
    pub(super) fn are_ticking(&self) -> bool {
        self.ticking.load(Relaxed)
    }

    fn take(&self) -> Option<MutexGuard<'_, Arrivals>> {
        match self.arrivals.try_lock() {
            Ok(arrivals) => Some(arrivals),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Time for which a user takes turns without work: none where nobody else can run meanwhile.
fn patience() -> u64 {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    if *PROCESSORS.get_or_init(|| cpus().len()) > 1 { PATIENCE } else { 0 }
}

impl Queue {
    /// Works on the shard for a user that writes so many bytes. If the thread leaves that to users, a turn follows that sends
    /// what has come of it; else the thread learns that one was there. A turn costs as much as a small write, so of small ones
    /// only one in a few takes one.
    pub(super) fn talk_in_turn<T>(&self, bytes: usize, work: impl FnOnce(&mut Shard) -> (T, Then)) -> T {
        let turns = self.turns();
        let users = turns.users.fetch_add(1, Relaxed);
        if (bytes >= LARGE || users.is_multiple_of(FEW))
            && turns.are_ticking()
            && let Some(mut arrivals) = turns.take()
        {
            let (done, _) = self.change(work);
            let mut calls = Calls::new();
            self.turn(monotonic_ns(), &mut arrivals, &mut calls);
            turns.taken.fetch_add(1, Relaxed);
            // The thread may have looked at what is due just before, and may be going to sleep.
            let ring = !turns.are_ticking();
            drop(arrivals);
            wake(&mut calls);
            if ring {
                self.ring();
            }
            return done;
        }
        self.talk_then(work)
    }

    /// Takes turns for a user until there is `news` for it, and no longer than until this time. It may return without: the user
    /// then sleeps until it is called.
    pub(super) fn turn_until(&self, until: Option<u64>, news: impl Fn() -> bool) {
        let Some(mut arrivals) = self.turns().take() else {
            // Somebody else has the turns, and then the thread.
            return self.turns().wanted.store(true, Relaxed);
        };
        // Relaxed: an estimate of who is there.
        self.turns().users.fetch_add(1, Relaxed);
        arrivals.rx.port().wake_up();
        let due = self.poll_timeout();
        let (mut calls, mut idle_since, mut looks, mut gone) = (Calls::new(), None, 0_u32, false);
        while !news() {
            let now = monotonic_ns();
            let worked = self.turn(now, &mut arrivals, &mut calls);
            wake(&mut calls);
            if until.is_some_and(|until| now >= until) {
                break;
            }
            if worked {
                idle_since = None;
                continue;
            }
            gone = now - *idle_since.get_or_insert(now) >= patience();
            if gone {
                break;
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(YIELD_EVERY) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        let turns = self.turns();
        if gone {
            turns.wanted.store(true, Relaxed);
        }
        let ring = if turns.armed.load(Relaxed) {
            // What has arrived since is left to the thread, and the slots of what was read are given back.
            arrivals.take(monotonic_ns());
            let left = !arrivals.rx.is_read() || arrivals.rx.port().ring.available() > 0;
            // The thread sleeps on what it knew before: the same descriptor, if it is one, and no time of the port's.
            let sleep = arrivals.rx.port().fall_asleep();
            left || sleep.is_none_or(|sleep| sleep.until.is_some()) || self.is_earlier(due) || self.is_held_up()
        } else {
            // Who neither sleeps nor ticks may have looked at what is due just before, and may be going to sleep.
            turns.wanted.load(Relaxed) || !turns.are_ticking()
        };
        drop(arrivals);
        if ring {
            self.ring();
        }
    }
}

/// What the thread of a queue knows of its users.
#[derive(Default)]
pub(super) struct Thread {
    /// Users that had come when it last went to sleep, and when that was.
    users: u64,
    since: u64,
    /// Turns that users had taken when it last looked.
    taken: u64,
    /// One of them has gone to sleep since.
    wanted: bool,
    /// Time of the next look, while users take the turns.
    tick: Option<u64>,
}

impl Thread {
    /// Takes a turn, unless a user does; true if there was something to do.
    pub(super) fn turn(&mut self, queue: &Queue, now: u64, calls: &mut Calls) -> bool {
        let turns = queue.turns();
        self.wanted |= turns.wanted.swap(false, Relaxed);
        let arrivals = turns.take();
        let users = turns.users.load(Relaxed);
        let came = users - self.users;
        // On average one in each tick, and none of them asleep.
        let many = came > 0 && now - self.since < came.saturating_mul(TICK);
        let with_users = arrivals.is_none() || (many && !self.wanted);
        self.tick = with_users.then_some(now + TICK);
        turns.ticking.store(with_users, Relaxed);
        let busy = arrivals.is_none();
        // What users have done since the last look need not be done again: what they left is for the next.
        let taken = turns.taken.load(Relaxed);
        let done = std::mem::replace(&mut self.taken, taken) != taken && with_users;
        let worked = !done && arrivals.is_some_and(|mut arrivals| queue.turn(now, &mut arrivals, calls));
        if !worked {
            // It goes to sleep, armed unless somebody has the turns, who may leave without a look at those who sleep.
            (self.users, self.since, self.wanted) = (users, now, self.wanted && busy);
        }
        worked
    }

    /// Time of the next turn even if nothing arrives.
    pub(super) fn poll_timeout(&self, queue: &Queue) -> Option<u64> {
        self.tick.or_else(|| queue.poll_timeout())
    }

    /// Visits what the thread waits for.
    pub(super) fn waits_for(&mut self, queue: &Queue, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        let turns = queue.turns();
        if self.tick.is_none() {
            let armed = &turns.armed;
            match turns.take() {
                Some(mut arrivals) => visit(&mut Armed { port: Some(arrivals.rx.port()), armed }),
                None => visit(&mut Armed { port: None, armed }),
            }
            queue.waits_for_room(visit);
        }
        queue.waits_for_bell(visit);
    }
}

/// The port, as the thread waits on it; none while a user takes turns, which is looked at once more before any sleep.
struct Armed<'a> {
    port: Option<&'a mut RxQueue>,
    armed: &'a AtomicBool,
}

impl Sleeper for Armed<'_> {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        // A turn takes no more than a batch; if nothing of it was for this host, there is more.
        let sleep = self.port.as_mut().filter(|port| port.ring.available() == 0)?.fall_asleep()?;
        self.armed.store(true, Relaxed);
        Some(sleep)
    }

    fn wake_up(&mut self) {
        // Without the lock, if a user takes turns: it then prepares a sleep that nobody sleeps, which does no harm.
        self.armed.store(false, Relaxed);
        if let Some(port) = &mut self.port {
            port.wake_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::gate::Gate;
    use crate::net::{Node, Options};
    use crate::sys::poll::PollSet;
    use linerate_stack::Transmit;
    use linerate_stack::tcp::TcpId;
    use std::time::{Duration, Instant};

    const LIMIT: Duration = Duration::from_secs(60);
    /// Time of all, which stands still: later than the clock's, and a shard's does not go back. So nothing is sent again, and no
    /// acknowledgement is overdue, however long a test is held up.
    const NOW: u64 = 1 << 57;

    /// A queue without a thread, and who is at the far end.
    fn queue(name: &str) -> (Queue, Node) {
        let ports = ["{1", "}1"].map(|end| format!("cable:turns-{name}{end}"));
        let [ours, theirs] = ["10.0.0.1/24", "10.0.0.2/24"].map(|cidr| cidr.parse().unwrap());
        let options = Options::default();
        let nodes = Node::open_all(&[&ports[0], &ports[1]], &[&[ours], &[theirs]], &options).unwrap();
        let [near, far] = <[Node; 2]>::try_from(nodes).ok().unwrap();
        let (ip, line) = near.into_parts();
        let queue = Queue::new(0, ip, line).unwrap();
        // The link comes up, and what is sent then is over.
        let (mut thread, mut far, end) = (Thread::default(), far, Instant::now() + LIMIT);
        let mut is_busy = || {
            let ours = thread.turn(&queue, NOW, &mut Vec::new());
            far.handle(NOW) || ours || !far.ip.host.has_carrier() || !queue.shard().ip.host.has_carrier()
        };
        while is_busy() {
            assert!(Instant::now() < end, "the link is not up, or something goes on for ever");
        }
        (queue, far)
    }

    fn frames(queue: &Queue) -> u64 {
        queue.shard().ip.host.counters().frames
    }

    /// Has the far end send frames.
    fn send(far: &mut Node, frames: usize) {
        let now = NOW;
        let (_, mut tx) = far.parts();
        let frame = [&[0xff; 12][..], &[0x08, 0x06], &[0; 46]].concat();
        assert!((0..frames).all(|_| tx.send(&frame, &[], None)));
        far.flush(now);
    }

    /// What the thread sleeps on.
    fn armed(queue: &Queue) -> PollSet {
        let mut thread = Thread::default();
        let (mut set, mut falls, mut asleep) = (PollSet::new(), true, true);
        while thread.turn(queue, NOW, &mut Vec::new()) {}
        set.begin();
        thread.waits_for(queue, &mut |sleeper| match sleeper.fall_asleep() {
            Some(sleep) => falls &= set.add(&sleep),
            None => asleep = false,
        });
        assert!(falls && asleep && set.watch());
        set
    }

    fn woken(set: &mut PollSet, limit: Duration) -> bool {
        let began = Instant::now();
        set.sleep(Some(limit));
        began.elapsed() < limit
    }

    #[test]
    fn who_waits_processes_what_arrives() {
        let (queue, mut far) = queue("wait");
        let before = frames(&queue);
        send(&mut far, 1);
        queue.turn_until(Some(monotonic_ns() + 60_000_000_000), || frames(&queue) > before);
        assert!(frames(&queue) > before);
        // Not for longer than it may, nor than it is patient.
        let (now, users) = (monotonic_ns(), queue.turns().users.load(Relaxed));
        queue.turn_until(Some(now), || false);
        queue.turn_until(None, || false);
        assert_eq!(queue.turns().users.load(Relaxed), users + 2);
        // Somebody else has the turns.
        let taken = queue.turns().take();
        queue.turn_until(None, || panic!("there is nothing to wait for"));
        drop(taken);
        assert!(queue.turns().wanted.load(Relaxed), "and leaves them to the thread");
    }

    /// The thread, asleep on the port, is woken by what comes after a user has taken turns, and for what that made due.
    #[test]
    fn the_thread_is_left_armed() {
        let (queue, mut far) = queue("armed");
        let mut set = armed(&queue);
        let before = frames(&queue);
        for _ in 0..2 {
            queue.turn_until(None, || false);
        }
        assert!(!woken(&mut set, Duration::from_millis(50)), "users that find nothing wake nobody");
        send(&mut far, 1);
        assert!(frames(&queue) == before && woken(&mut set, LIMIT));
    }

    /// Regression: a user that had what it waited for left frames behind a first batch, of which nobody was told.
    #[test]
    fn what_a_user_leaves_behind_is_looked_at() {
        let (queue, mut far) = queue("rest");
        let mut set = armed(&queue);
        let before = frames(&queue);
        send(&mut far, 600);
        queue.turn_until(None, || frames(&queue) > before);
        assert!(frames(&queue) < before + 600 && woken(&mut set, LIMIT));
    }

    /// Regression: one turn took more datagrams than a socket has room for, before its reader could come for the first; of long
    /// ones more than half were dropped.
    #[test]
    fn a_turn_takes_no_more_than_a_socket_has_room_for() {
        let (queue, mut far) = queue("fills");
        let (ours, mac) = {
            let host = &mut queue.shard().ip.host;
            (host.udp_bind("10.0.0.1:7".parse().unwrap()).unwrap(), host.mac())
        };
        let theirs = far.ip.host.udp_bind("10.0.0.2:7".parse().unwrap()).unwrap();
        far.ip.host.neighbours().insert_permanent([10, 0, 0, 1].into(), mac).unwrap();
        let (now, to) = (NOW, "10.0.0.1:7".parse().ok());
        let (host, mut tx) = far.parts();
        for _ in 0..250 {
            host.udp_send(now, theirs, to, &[7; 1400], &mut tx).unwrap();
        }
        far.flush(now);
        let (mut thread, mut all, mut most, end) = (Thread::default(), 0, 0, Instant::now() + LIMIT);
        while all < 250 && Instant::now() < end {
            thread.turn(&queue, NOW, &mut Vec::new());
            let host = &mut queue.shard().ip.host;
            let mut buffer = [0; 1400];
            let took = std::iter::from_fn(|| host.udp_recv(ours, &mut buffer)).count();
            (all, most) = (all + took, most.max(took));
        }
        assert!(all == 250 && most < 128, "{all}, {most} in a turn");
    }

    /// Users that take turns often are left alone, and looked after when they do not, or go to sleep.
    #[test]
    fn the_thread_looks_now_and_then_while_users_take_turns() {
        let (queue, _far) = queue("tick");
        let (mut thread, mut calls, mut now) = (Thread::default(), Vec::new(), NOW);
        let mut ticks = |users: u64, wanted: bool, later: u64| {
            queue.turns().users.fetch_add(users, Relaxed);
            queue.turns().wanted.store(wanted, Relaxed);
            now += later;
            while thread.turn(&queue, now, &mut calls) {}
            assert_eq!(queue.turns().are_ticking(), thread.poll_timeout(&queue) == Some(now + TICK));
            queue.turns().are_ticking()
        };
        assert!(!ticks(0, false, TICK));
        assert!(ticks(2, false, TICK) && ticks(2, false, TICK));
        assert!(!ticks(0, false, TICK), "nobody comes any more");
        assert!(!ticks(3, false, 4 * TICK), "they come too seldom");
        assert!(!ticks(9, true, TICK), "one of them sleeps");
        assert!(ticks(9, false, TICK));
        let taken = queue.turns().take();
        assert!(ticks(0, false, TICK), "one of them takes turns now");
        assert!(ticks(9, true, TICK), "and another one sleeps");
        drop(taken);
        assert!(!ticks(9, false, TICK));
        assert!(ticks(9, false, TICK));
    }

    /// A connection of the queue's to the far end, established.
    fn connected(queue: &Queue, far: &mut Node) -> TcpId {
        let end = "10.0.0.2:9".parse().unwrap();
        let listener = far.ip.host.tcp_listen(end, 1).unwrap();
        let id = queue.talk(|shard| {
            let now = shard.now();
            shard.ip.host.tcp_connect(now, None, end).unwrap()
        });
        let limit = Instant::now() + LIMIT;
        while far.ip.host.tcp_accept(listener).is_none() {
            assert!(Instant::now() < limit, "it is not connected");
            far.handle(NOW);
            Thread::default().turn(queue, NOW, &mut Vec::new());
        }
        far.flush(NOW);
        // Each write is sent as soon as it may.
        queue.talk(|shard| shard.ip.host.tcp_change(id, |connection| connection.set_nagle(false)));
        id
    }

    /// Frames that have come to the far end.
    fn come(far: &mut Node) -> u64 {
        far.handle(NOW);
        far.ip.host.counters().frames
    }

    /// Has the thread look now and then, as it does when users come.
    fn tick(thread: &mut Thread, queue: &Queue) {
        queue.turns().users.fetch_add(1 << 40, Relaxed);
        while thread.turn(queue, NOW, &mut Vec::new()) {}
        assert!(queue.turns().are_ticking());
    }

    /// A write that may wait waits for a turn while the thread looks soon, and for nothing else.
    #[test]
    fn what_may_wait_is_sent_by_the_next_turn() {
        let (queue, mut far) = queue("hold");
        let id = connected(&queue, &mut far);
        let write = |shard: &mut Shard| (assert_eq!(shard.ip.host.tcp_write(id, &[1; 100]), Some(100)), Then::Hold);
        let mut thread = Thread::default();
        while thread.turn(&queue, NOW, &mut Vec::new()) {}
        let before = come(&mut far);
        assert!(!queue.turns().are_ticking());
        queue.talk_then(write);
        assert_eq!(come(&mut far), before + 1, "the thread does not look soon");
        tick(&mut thread, &queue);
        queue.talk_then(write);
        assert_eq!(come(&mut far), before + 1, "it waits");
        thread.turn(&queue, NOW, &mut Vec::new());
        assert_eq!(come(&mut far), before + 2, "the thread sends it");
        tick(&mut thread, &queue);
        queue.talk_then(write);
        queue.talk_in_turn(LARGE, write);
        assert!(come(&mut far) > before + 2, "a turn sends it, with what follows");
        assert_eq!(far.ip.host.tcp_all().map(|(_, _, connection)| connection.readable()).sum::<usize>(), 400);
    }

    /// A read sends what waits to be sent.
    #[test]
    fn what_waits_is_sent_by_a_look_at_the_connection() {
        let (queue, mut far) = queue("look");
        let id = connected(&queue, &mut far);
        let mut thread = Thread::default();
        tick(&mut thread, &queue);
        let before = come(&mut far);
        queue.talk_then(|shard| (shard.ip.host.tcp_write(id, &[1; 100]), Then::Hold));
        queue.talk_then(|shard| (shard.ip.host.tcp_read(id, &mut [0; 10]), Then::Send));
        assert_eq!(come(&mut far), before + 1);
    }

    /// The thread leaves alone what users have done since its last look; what they leave waits for its next one.
    #[test]
    fn the_thread_does_not_do_again_what_users_did() {
        let (queue, mut far) = queue("again");
        let mut thread = Thread::default();
        tick(&mut thread, &queue);
        let before = frames(&queue);
        send(&mut far, 1);
        for (taken, processed) in [(1, 0), (0, 1)] {
            queue.turns().users.fetch_add(1 << 40, Relaxed);
            queue.turns().taken.fetch_add(taken, Relaxed);
            thread.turn(&queue, NOW, &mut Vec::new());
            assert_eq!(frames(&queue) - before, processed);
        }
        // Once they cease to come, or one of them sleeps, it looks before it goes to sleep.
        send(&mut far, 1);
        queue.turns().taken.fetch_add(1, Relaxed);
        queue.turns().wanted.store(true, Relaxed);
        thread.turn(&queue, NOW, &mut Vec::new());
        assert_eq!(frames(&queue) - before, 2);
    }

    /// A wait ends in time, though something is new at each attempt that brings no result.
    #[test]
    fn a_wait_ends_though_something_is_new_all_the_time() {
        let (queue, _far) = queue("news");
        let (gate, ends) = (Gate::default(), Instant::now() + LIMIT);
        let waited = gate.wait(&queue, Some(Duration::from_millis(30)), || {
            gate.open();
            (Instant::now() > ends).then_some("it goes on")
        });
        assert_eq!(waited, None);
    }
}
