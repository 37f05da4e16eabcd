//! A port of linerate's with netmap's rings, shared by all open files of the process that are registered on its name.

use crate::facts::{BUFS, MEMORY, RINGS, short};
use crate::name;
use crate::pool::Pool;
use crate::ring::{Broken, Ring};
use crate::rx::Rx;
use crate::sys::memory::Memory;
use crate::sys::process::{Blocked, PerProcess};
use crate::sys::say::{Once, say};
use crate::tx::Tx;
use linerate_port::{Cause, Link, OpenError, Sleeper};
use std::collections::HashMap;
use std::ffi::c_int;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

/// All that the library has in this process.
pub(crate) struct State {
    pub(crate) memory: Memory,
    pub(crate) pool: Mutex<Pool>,
    ports: Mutex<HashMap<String, Weak<Port>>>,
}

static STATE: PerProcess<State> = PerProcess::new();

/// This process's state, made when it is first wanted.
pub(crate) fn state() -> Result<&'static State, c_int> {
    STATE.get(|| match Memory::new() {
        Ok(memory) => Ok(State { memory, pool: Mutex::new(Pool::new()), ports: Mutex::default() }),
        Err(e) => {
            say(format_args!("{} MiB of sparse memory cannot be had: {e}", MEMORY >> 20));
            Err(e.raw_os_error().unwrap_or(libc::ENOMEM))
        }
    })
}

/// Ports that are open; none while one is being opened.
pub(crate) fn ports() -> Vec<Arc<Port>> {
    let ports = STATE.known().and_then(|state| state.ports.try_lock().ok());
    ports.map_or_else(Vec::new, |ports| ports.values().filter_map(Weak::upgrade).collect())
}

/// Locks. A panic ends the process, so what a lock guards is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Users of one ring.
#[derive(Clone, Copy, Default)]
pub(crate) struct Users {
    pub(crate) n: u32,
    pub(crate) exclusive: bool,
}

pub(crate) struct Port {
    name: String,
    pub(crate) tx: Vec<Mutex<Tx>>,
    pub(crate) rx: Vec<Mutex<Rx>>,
    /// Offsets of the rings in the memory.
    pub(crate) tx_at: Vec<usize>,
    pub(crate) rx_at: Vec<usize>,
    pub(crate) slots: u32,
    /// Users of each transmit ring, and of each receive ring.
    pub(crate) users: Mutex<[Vec<Users>; 2]>,
    /// Number of the link's state that all queues have seen.
    link: AtomicU32,
    state: &'static State,
    /// Owners of the queues, which are above, and go first.
    port: Mutex<linerate_port::Port>,
}

static BROKEN: Once = Once::new();

impl Port {
    /// The port of a name, opened if nobody has it open. The error is errno, and a line has said why.
    pub(crate) fn open(name: &str) -> Result<Arc<Self>, c_int> {
        let state = state()?;
        let mut ports = lock(&state.ports);
        if let Some(port) = ports.get(name).and_then(Weak::upgrade) {
            return Ok(port);
        }
        let port = Arc::new(Self::new(name, opened(name)?, state)?);
        ports.retain(|_, port| port.strong_count() > 0);
        ports.insert(name.into(), Arc::downgrade(&port));
        Ok(port)
    }

    fn new(name: &str, mut port: linerate_port::Port, state: &'static State) -> Result<Self, c_int> {
        let (slots, sizes) = (port.info().slots, [port.info().tx_queues, port.info().rx_queues]);
        let mut pool = lock(&state.pool);
        let mut rings: [Vec<Ring>; 2] = [Vec::new(), Vec::new()];
        for (dir, n) in sizes.into_iter().enumerate() {
            for id in 0..n {
                let Some(ring) = Ring::new(&state.memory, &mut pool, short(id), short(dir), slots) else {
                    rings.iter().flatten().for_each(|ring| ring.give_back(&mut pool));
                    say(format_args!(
                        "{name}: no room for {} rings of {slots} slots among {BUFS} buffers and {} MiB; use smaller rings (slots=)",
                        sizes[0] + sizes[1],
                        RINGS >> 20
                    ));
                    return Err(libc::ENOMEM);
                };
                rings[dir].push(ring);
            }
        }
        drop(pool);
        let [tx, rx] = rings;
        let [tx_at, rx_at] = [&tx, &rx].map(|rings| rings.iter().map(Ring::at).collect());
        let tx: Vec<_> = tx
            .into_iter()
            .enumerate()
            .filter_map(|(q, ring)| Some(Mutex::new(Tx::new(port.take_tx(q)?, ring))))
            .collect();
        let rx: Vec<_> = rx
            .into_iter()
            .enumerate()
            .filter_map(|(q, ring)| Some(Mutex::new(Rx::new(port.take_rx(q)?, ring))))
            .collect();
        let users = Mutex::new([vec![Users::default(); tx.len()], vec![Users::default(); rx.len()]]);
        let (name, link, port) = (name.into(), AtomicU32::new(0), Mutex::new(port));
        Ok(Self { name, tx, rx, tx_at, rx_at, slots, users, link, state, port })
    }

    /// True if somebody is at the far end, or none is needed.
    pub(crate) fn is_up(&self) -> bool {
        self.port.lock().unwrap_or_else(PoisonError::into_inner).link() == Link::Up
    }

    /// Sends what is committed in these rings; false if one of them had to be set back.
    pub(crate) fn sync_tx(&self, rings: Range<usize>) -> bool {
        self.follow_link();
        self.tx[rings.clone()].iter().zip(rings).fold(true, |sound, (ring, id)| {
            let synced = lock(ring).sync();
            self.tell("transmit", id, synced) && sound
        })
    }

    /// Delivers what has arrived into these rings; false if one of them had to be set back.
    pub(crate) fn sync_rx(&self, rings: Range<usize>) -> bool {
        self.follow_link();
        self.rx[rings.clone()].iter().zip(rings).fold(true, |sound, (ring, id)| {
            let synced = lock(ring).sync();
            self.tell("receive", id, synced) && sound
        })
    }

    fn tell(&self, what: &str, id: usize, synced: Result<(), Broken>) -> bool {
        let Err(Broken { head, cur }) = synced else { return true };
        BROKEN.say(format_args!(
            "{}: {what} ring {id}: head {head} and cur {cur} cannot be; the ring is set back",
            self.name
        ));
        false
    }

    /// Has all queues see a link that has changed: the next peer of a cable is let in when all have left the last one, those
    /// that the program does not use, too.
    fn follow_link(&self) {
        let Some(first) = self.rx.first() else { return };
        let now = match first.try_lock() {
            Ok(rx) => rx.queue.link_generation(),
            Err(TryLockError::Poisoned(rx)) => rx.into_inner().queue.link_generation(),
            // Whoever has it comes by here, too.
            Err(TryLockError::WouldBlock) => return,
        };
        if self.link.swap(now, Relaxed) != now {
            self.rx.iter().for_each(|rx| lock(rx).queue.sync());
            self.tx.iter().for_each(|tx| lock(tx).queue.sync());
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let mut pool = lock(&self.state.pool);
        self.tx.iter().for_each(|tx| lock(tx).ring.give_back(&mut pool));
        self.rx.iter().for_each(|rx| lock(rx).ring.give_back(&mut pool));
    }
}

/// A queue that a thread can sleep on, and the number of threads that do.
pub(crate) trait Side {
    fn sleeper(&mut self) -> (&mut dyn Sleeper, &mut u32);
}

impl Side for Tx {
    fn sleeper(&mut self) -> (&mut dyn Sleeper, &mut u32) {
        (&mut self.queue, &mut self.asleep)
    }
}

impl Side for Rx {
    fn sleeper(&mut self) -> (&mut dyn Sleeper, &mut u32) {
        (&mut self.queue, &mut self.asleep)
    }
}

/// Opens what a name means, the best that there is.
fn opened(name: &str) -> Result<linerate_port::Port, c_int> {
    let table = std::env::var(name::TABLE).unwrap_or_default();
    let mut refused: Option<OpenError> = None;
    for port in name::ports(name, &table) {
        // Threads that a port makes shall get none of the program's signals.
        let blocked = Blocked::all();
        let opened = linerate_port::open(&port);
        drop(blocked);
        match opened {
            Ok(opened) => {
                if let Some(first) = refused {
                    say(format_args!("{name} is {port}, because of {first}"));
                }
                return Ok(opened);
            }
            Err(error) => refused = Some(error),
        }
    }
    let Some(error) = refused else { return Err(libc::ENXIO) };
    // A port's error has no errno, but the system's own words for it.
    if error.what.contains(&io::Error::from_raw_os_error(libc::EMFILE).to_string()) {
        say(format_args!("{name}: {}; close some, or raise their limit (ulimit -n)", error.what));
        return Err(libc::EMFILE);
    }
    say(format_args!("{error}"));
    Err(match error.cause {
        Cause::Usage | Cause::Peer => libc::EINVAL,
        Cause::Missing => libc::ENXIO,
        Cause::Capability => libc::EPERM,
        Cause::Busy => libc::EBUSY,
        Cause::System => libc::EIO,
    })
}
