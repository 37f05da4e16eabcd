//! An open file of `/dev/netmap`: nothing at first, then registered on rings of a port.

use crate::facts::{BUF, register};
use crate::name;
use crate::port::{Port, Side};
use crate::sleep::add_sleep;
use crate::sys::process::{Blocked, lock};
use crate::sys::real;
use linerate_port::{Link, Sleeper};
use linerate_ring::layout::{RING_OFS_OFFSET, if_bytes};
use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) struct File {
    /// Process that opened it.
    generation: AtomicU32,
    /// Number of the open file among all of the process.
    number: AtomicU32,
    /// Descriptor of the memory that a child maps; -1 while there is none.
    memory: AtomicI32,
    bound: Mutex<Option<Arc<Bound>>>,
}

impl File {
    pub(crate) const fn new() -> Self {
        Self {
            generation: AtomicU32::new(0),
            number: AtomicU32::new(0),
            memory: AtomicI32::new(-1),
            bound: Mutex::new(None),
        }
    }

    /// Begins anew, in the process of this number.
    pub(crate) fn begin(&self, generation: u32) {
        static FILES: AtomicU32 = AtomicU32::new(0);
        self.memory.store(-1, Relaxed);
        self.number.store(FILES.fetch_add(1, Relaxed), Relaxed);
        self.generation.store(generation, Relaxed);
    }

    /// Number of the open file, which no other one had before.
    pub(crate) fn number(&self) -> u32 {
        self.number.load(Relaxed)
    }

    /// True if a parent of this process opened it: rings and ports are the parent's.
    pub(crate) fn is_foreign(&self) -> bool {
        self.generation.load(Relaxed) != crate::sys::process::generation()
    }

    /// Number of forks before the process that opened it.
    pub(crate) fn depth(&self) -> usize {
        self.generation.load(Relaxed) as usize
    }

    /// Descriptor of the memory that it is registered in, for a child.
    pub(crate) fn memory(&self) -> c_int {
        self.memory.load(Relaxed)
    }

    /// The rings that it is registered on.
    pub(crate) fn bound(&self) -> Option<Arc<Bound>> {
        lock(&self.bound).clone()
    }

    /// Registers it; EBUSY if it is.
    pub(crate) fn bind(&self, make: impl FnOnce() -> Result<Bound, c_int>) -> Result<Arc<Bound>, c_int> {
        let mut place = lock(&self.bound);
        if place.is_some() {
            return Err(libc::EBUSY);
        }
        let bound = place.insert(Arc::new(make()?));
        self.memory.store(bound.port.area.memory.file(), Relaxed);
        Ok(bound.clone())
    }

    /// Ends it. The port closes when no other file and no thread that is amid a call has it.
    pub(crate) fn end(&self) {
        // Of a handler that asked, too, while this thread drains, the wait would have no end.
        let _blocked = Blocked::all();
        drop(lock(&self.bound).take());
    }
}

/// Rings of a port that a file is registered on, and the interface that tells the program where they are.
pub(crate) struct Bound {
    pub(crate) port: Arc<Port>,
    pub(crate) tx: Range<usize>,
    pub(crate) rx: Range<usize>,
    /// Flags of the registration.
    flags: u64,
    /// Offset of the interface in the memory.
    pub(crate) interface: usize,
    /// Extra buffers that the program got.
    pub(crate) extra: u32,
}

/// Offset of the first extra buffer's number in `struct netmap_if`.
const BUFS_HEAD: usize = 32;
/// Time after which threads look again that share what wakes them.
pub(crate) const SHARED: Duration = Duration::from_millis(10);

/// Longest time that the end of a descriptor, or of the program, waits for frames to leave.
const LINGER: Duration = Duration::from_secs(1);

/// A queue that a thread has fallen asleep on.
pub(crate) enum Asleep {
    Tx(Arc<Port>, usize),
    Rx(Arc<Port>, usize),
}

impl Asleep {
    /// Ends the sleep.
    pub(crate) fn end(self) {
        match self {
            Self::Tx(port, ring) => end_sleep(&mut *lock(&port.tx[ring])),
            Self::Rx(port, ring) => end_sleep(&mut *lock(&port.rx[ring])),
        }
    }
}

fn end_sleep(side: &mut impl Side) {
    let (sleepers, asleep) = side.sleepers();
    *asleep -= 1;
    // Of several threads the last one: the others' bells would be taken from under them.
    if *asleep == 0 {
        sleepers.into_iter().for_each(Sleeper::wake_up);
    }
}

/// Prepares to sleep on a queue: adds its descriptor and time; false if there is work after all.
fn sleep_on(side: &mut impl Side, set: &mut Vec<libc::pollfd>, until: &mut Option<Instant>) -> bool {
    let (sleepers, asleep) = side.sleepers();
    *asleep += 1;
    let shared = *asleep > 1;
    sleepers.into_iter().all(|sleeper| {
        let Some(sleep) = sleeper.fall_asleep() else { return false };
        add_sleep(&sleep, set, until);
        if shared && sleep.on.is_some() {
            *until = [*until, Some(Instant::now() + SHARED)].into_iter().flatten().min();
        }
        true
    })
}

/// All transmit rings of the process.
pub(crate) fn all_tx() -> Vec<(Arc<Port>, usize)> {
    crate::port::ports().into_iter().flat_map(|port| tx_of(&port, 0..port.tx.len())).collect()
}

fn tx_of(port: &Arc<Port>, rings: Range<usize>) -> Vec<(Arc<Port>, usize)> {
    rings.map(|ring| (port.clone(), ring)).collect()
}

/// Sends on what a sync of these rings had to leave, and sleeps on it: with netmap, frames that were given to the kernel leave
/// while the program waits for something else. False if there is work after all.
pub(crate) fn carry_on(
    rings: &[(Arc<Port>, usize)],
    set: &mut Vec<libc::pollfd>,
    until: &mut Option<Instant>,
    asleep: &mut Vec<Asleep>,
) -> bool {
    let mut sleeps = true;
    for (port, ring) in rings {
        let known = |one: &Asleep| matches!(one, Asleep::Tx(of, at) if Arc::ptr_eq(of, port) && at == ring);
        let Ok(mut tx) = port.tx[*ring].try_lock() else { continue };
        if !tx.queue.is_held_up() || asleep.iter().any(known) {
            continue;
        }
        tx.queue.sync();
        if tx.queue.is_held_up() {
            sleeps &= sleep_on(&mut *tx, set, until);
            asleep.push(Asleep::Tx(port.clone(), *ring));
        }
    }
    sleeps
}

/// Sends what the program has committed in these rings before they end, and waits for it, [`LINGER`] at most: with netmap the
/// kernel has such frames, and the program may end. Nothing is waited for while nobody is at the far end, nor for a ring that a
/// thread is amid a sync of, which a signal handler may have interrupted to end the program.
pub(crate) fn drain(rings: &[(Arc<Port>, usize)]) {
    let blocked = Blocked::all();
    for (port, ring) in rings {
        let _ = port.tx[*ring].try_lock().map(|mut tx| tx.sync());
    }
    let end = Instant::now() + LINGER;
    while Instant::now() < end {
        let up: Vec<_> = rings.iter().filter(|(port, ring)| port.is_up(*ring)).cloned().collect();
        let (mut set, mut until, mut asleep) = (Vec::new(), Some(end), Vec::new());
        let sleeps = carry_on(&up, &mut set, &mut until, &mut asleep);
        if sleeps && !asleep.is_empty() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            // A signal ends the sleep; how long is waited is told by the clock.
            let _ = real::ppoll(&mut set, left, Some(&blocked.0));
        }
        let done = asleep.is_empty();
        asleep.into_iter().for_each(Asleep::end);
        if done {
            return;
        }
    }
}

impl Bound {
    /// Registers on rings of a port: writes the interface, and up to `extra` buffers behind it.
    pub(crate) fn new(
        port: Arc<Port>,
        [tx, rx]: [Range<usize>; 2],
        flags: u64,
        extra: u32,
        name: &str,
    ) -> Result<Self, c_int> {
        let exclusive = flags & register::EXCLUSIVE != 0;
        {
            let mut users = lock(&port.users);
            let [t, r] = &mut *users;
            let mut wanted = t[tx.clone()].iter().chain(&r[rx.clone()]);
            if wanted.any(|ring| ring.exclusive || exclusive && ring.n > 0) {
                return Err(libc::EBUSY);
            }
            for ring in t[tx.clone()].iter_mut().chain(&mut r[rx.clone()]) {
                (ring.n, ring.exclusive) = (ring.n + 1, exclusive);
            }
        }
        // From here on it is dropped like any other.
        let mut bound = Self { port, tx, rx, flags, interface: 0, extra: 0 };
        let area = bound.port.area.clone();
        let mut pool = lock(&area.pool);
        bound.interface = pool.bytes(bound.bytes()).ok_or(libc::ENOMEM)?;
        let buffers = pool.buffers(extra).unwrap_or_default();
        drop(pool);
        bound.extra = u32::try_from(buffers.len()).unwrap_or(0);
        bound.write(name, &buffers);
        Ok(bound)
    }

    /// Bytes of the interface.
    fn bytes(&self) -> usize {
        if_bytes(self.port.at[0].len(), self.port.at[1].len())
    }

    /// Writes the interface. Extra buffers are a list: each begins with the number of the next, 0 behind the last.
    fn write(&self, name: &str, buffers: &[u32]) {
        let (memory, at) = (&self.port.area.memory, self.interface);
        let mut letters = [0; 16];
        letters.iter_mut().zip(name.bytes().take(15)).for_each(|(to, from)| *to = from);
        for (i, part) in letters.chunks_exact(4).enumerate() {
            memory.word(at + 4 * i).store(u32::from_ne_bytes([part[0], part[1], part[2], part[3]]), Relaxed);
        }
        let [tx, rx, host_tx, host_rx] = self.port.counts().map(u32::from);
        let first = buffers.first().copied().unwrap_or(0);
        let words = [14, 0, tx, rx, first, host_tx, host_rx, 0, 0, 0];
        words.into_iter().enumerate().for_each(|(i, word)| memory.word(at + 16 + 4 * i).store(word, Relaxed));
        // A ring of another registration has no offset: programs know their own by it.
        let here = at as u64;
        let of = |dir: usize, own: Range<usize>| {
            let (at, idle) = (&self.port.at[dir], self.port.is_idle());
            at.iter().enumerate().map(move |(ring, at)| if idle || own.contains(&ring) { *at as u64 } else { here })
        };
        for (i, ring) in of(0, self.tx.clone()).chain(of(1, self.rx.clone())).enumerate() {
            memory.long(at + RING_OFS_OFFSET + 8 * i).store(ring.wrapping_sub(here), Relaxed);
        }
        for (i, buffer) in buffers.iter().enumerate() {
            let next = buffers.get(i + 1).copied().unwrap_or(0);
            let _ = memory.buffer(*buffer, BUF).is_some_and(|mut frame| frame.write(0, &next.to_ne_bytes()));
        }
    }

    /// Syncs as poll does, for these events; those that have come.
    pub(crate) fn ready(&self, events: i16) -> i16 {
        let (wants_tx, wants_rx) =
            (events & (libc::POLLOUT | libc::POLLWRNORM), events & (libc::POLLIN | libc::POLLRDNORM));
        let (mut sound, mut got) = (true, 0);
        if wants_tx != 0 || self.flags & register::NO_TX_POLL == 0 {
            sound &= self.port.sync_tx(self.tx.clone());
        }
        let ready = |dir| self.port.is_idle_ready(dir);
        if wants_tx != 0 && (ready(0) || self.port.tx[self.tx.clone()].iter().any(|tx| lock(tx).ring.ready())) {
            got |= wants_tx;
        }
        if wants_rx != 0 || self.flags & register::DO_RX_POLL != 0 {
            sound &= self.port.sync_rx(self.rx.clone());
        }
        if wants_rx != 0 && (ready(1) || self.port.rx[self.rx.clone()].iter().any(|rx| lock(rx).ring.ready())) {
            got |= wants_rx;
        }
        // What has arrived is told first.
        let over = got & (libc::POLLIN | libc::POLLRDNORM) == 0 && self.has_ended();
        if sound && !over { got } else { got | libc::POLLERR }
    }

    /// True if nothing will pass any more: the interface has gone, or the switch has ended.
    fn has_ended(&self) -> bool {
        let switch = name::of_switch(&self.port.name).is_some();
        self.port.rx.iter().any(|rx| {
            let queue = &lock(rx).queue;
            // A port of a switch that was up once (generation 1, twice and up) has lost its switch.
            queue.link() == Link::Gone || switch && queue.link() == Link::Down && queue.link_generation() > 1
        })
    }

    /// Prepares to sleep until these events may have come; false if there is work after all. Whatever fell asleep is in
    /// `asleep`, and is to be woken.
    pub(crate) fn sleep_on(
        &self,
        events: i16,
        set: &mut Vec<libc::pollfd>,
        until: &mut Option<Instant>,
        asleep: &mut Vec<Asleep>,
    ) -> bool {
        let mut sleeps = true;
        for ring in self.tx.clone() {
            let mut tx = lock(&self.port.tx[ring]);
            if events & (libc::POLLOUT | libc::POLLWRNORM) != 0 {
                sleeps &= sleep_on(&mut *tx, set, until);
                asleep.push(Asleep::Tx(self.port.clone(), ring));
            }
        }
        for ring in self.rx.clone() {
            let mut rx = lock(&self.port.rx[ring]);
            // Into a full ring nothing can come.
            if events & (libc::POLLIN | libc::POLLRDNORM) != 0 && rx.room() > 0 {
                sleeps &= sleep_on(&mut *rx, set, until);
                asleep.push(Asleep::Rx(self.port.clone(), ring));
            }
        }
        sleeps
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        drain(&tx_of(&self.port, self.tx.clone()));
        let mut users = lock(&self.port.users);
        let [t, r] = &mut *users;
        for ring in t[self.tx.clone()].iter_mut().chain(&mut r[self.rx.clone()]) {
            (ring.n, ring.exclusive) = (ring.n - 1, false);
        }
        drop(users);
        if self.interface == 0 {
            return;
        }
        let memory = &self.port.area.memory;
        let mut next = memory.word(self.interface + BUFS_HEAD).load(Relaxed);
        let mut pool = lock(&self.port.area.pool);
        // The list is the program's, and may lead anywhere.
        for _ in 0..self.extra {
            let mut bytes = [0; 4];
            let Some(frame) = memory.buffer(next, BUF) else { break };
            pool.give_buffer(next);
            next = if frame.read(0, &mut bytes) { u32::from_ne_bytes(bytes) } else { 0 };
        }
        pool.give_bytes(self.interface, self.bytes());
    }
}
