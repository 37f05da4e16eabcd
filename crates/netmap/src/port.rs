//! A port of linerate's with netmap's rings, shared by all open files of the process that are registered on its name.

use crate::area::Area;
use crate::facts::{MEMORY, memory_number, short};
use crate::monitor::{self, Place};
use crate::name;
use crate::ring::{Broken, Ring};
use crate::rx::Rx;
use crate::switches::Switches;
use crate::sys::process::{PerProcess, generation, lock, quietly};
use crate::sys::say::{Once, say};
use crate::tx::Tx;
use linerate_port::{Cause, Link, OpenError, Sleeper};
use std::collections::HashMap;
use std::ffi::c_int;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, TryLockError, Weak};

/// All that the library has in this process.
pub(crate) struct State {
    pub(crate) area: Arc<Area>,
    /// Memory that programs brought.
    areas: Mutex<Vec<Weak<Area>>>,
    ports: Mutex<HashMap<String, Weak<Port>>>,
    pub(crate) switches: Mutex<Switches>,
}

impl State {
    /// The port of a name, if a file of this process is registered on it.
    pub(crate) fn known(&self, name: &str) -> Option<Arc<Port>> {
        lock(&self.ports).get(name).and_then(Weak::upgrade)
    }

    /// The memory of this number, 0 being the process's own; EINVAL if there is none.
    pub(crate) fn area(&self, id: u16) -> Result<Arc<Area>, c_int> {
        let brought = lock(&self.areas).iter().filter_map(Weak::upgrade).collect::<Vec<_>>();
        [self.area.clone()].into_iter().chain(brought).find(|area| area.id == id || id == 0).ok_or(libc::EINVAL)
    }

    /// Keeps what a program brought, by its number, as long as a port has it.
    pub(crate) fn keep(&self, area: &Arc<Area>) {
        let mut areas = lock(&self.areas);
        areas.retain(|area| area.strong_count() > 0);
        areas.push(Arc::downgrade(area));
    }

    pub(crate) fn is_open(&self, name: &str) -> bool {
        self.known(name).is_some()
    }
}

static STATE: PerProcess<State> = PerProcess::new();

/// This process's state, made when it is first wanted.
pub(crate) fn state() -> Result<&'static State, c_int> {
    STATE.get(|| match Area::new(memory_number(generation())) {
        Ok(area) => Ok(State { area, areas: Mutex::default(), ports: Mutex::default(), switches: Mutex::default() }),
        Err(e) => {
            say(format_args!("{} MiB of sparse memory cannot be had: {e}", MEMORY >> 20));
            Err(e.raw_os_error().unwrap_or(libc::ENOMEM))
        }
    })
}

/// The process's state, if it was wanted before.
pub(crate) fn known_state() -> Option<&'static State> {
    STATE.known()
}

/// Ports that are open; none while one is being opened.
pub(crate) fn ports() -> Vec<Arc<Port>> {
    let ports = STATE.known().and_then(|state| state.ports.try_lock().ok());
    ports.map_or_else(Vec::new, |ports| ports.values().filter_map(Weak::upgrade).collect())
}

/// Users of one ring.
#[derive(Clone, Copy, Default)]
pub(crate) struct Users {
    pub(crate) n: u32,
    pub(crate) exclusive: bool,
}

pub(crate) struct Port {
    pub(crate) name: String,
    /// The interface's rings, and the host's behind them.
    pub(crate) tx: Vec<Mutex<Tx>>,
    pub(crate) rx: Vec<Mutex<Rx>>,
    /// Rings that lead nowhere, each way: those of a port of no interface.
    idle: [Vec<Ring>; 2],
    /// Offsets of all rings in the memory, transmit and receive.
    pub(crate) at: [Vec<usize>; 2],
    /// Number of the interface's rings, transmit and receive.
    pub(crate) nics: [usize; 2],
    pub(crate) slots: [u32; 2],
    /// Users of each transmit ring, and of each receive ring.
    pub(crate) users: Mutex<[Vec<Users>; 2]>,
    /// Places for copies, of a monitor.
    places: Vec<Place>,
    pub(crate) area: Arc<Area>,
    /// Owners of the queues, which are above, and go first.
    devices: Vec<Device>,
}

/// Slots of each ring of a switch's port, transmit and receive, and rings of the host's, as a program wants them; 0 is as it is.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sizes {
    pub(crate) slots: [u32; 2],
    pub(crate) host: [u16; 2],
}

/// A port of linerate's, some of whose rings these are.
struct Device {
    tx: Range<usize>,
    rx: Range<usize>,
    /// Number of the link's state that all queues have seen.
    link: AtomicU32,
    port: Mutex<linerate_port::Port>,
}

static BROKEN: Once = Once::new();

impl Port {
    /// The port of a name, opened if nobody has it open. The error is errno, and a line has said why.
    pub(crate) fn open(name: &str) -> Result<Arc<Self>, c_int> {
        Self::open_in(name, None, Sizes::default())
    }

    /// In this memory, if one is given; EINVAL if it is open in another. What is wanted counts for the first who opens it.
    pub(crate) fn open_in(name: &str, area: Option<Arc<Area>>, mut wanted: Sizes) -> Result<Arc<Self>, c_int> {
        let state = state()?;
        let mut ports = lock(&state.ports);
        if let Some(port) = ports.get(name).and_then(Weak::upgrade) {
            return if area.is_none_or(|area| Arc::ptr_eq(&area, &port.area)) { Ok(port) } else { Err(libc::EINVAL) };
        }
        let area = area.unwrap_or_else(|| state.area.clone());
        if name::of_switch(name).is_none() {
            wanted.slots = [0; 2];
        }
        let table = name::table();
        let means =
            lock(&state.switches).persistent(name)?.map_or_else(|| name::ports(name, &table), |port| vec![port]);
        let mut all = vec![opened(name, &means, Some(state))?];
        if let Some(host) = name::host(name, &table) {
            let most = wanted.host[0].max(wanted.host[1]);
            let queues = if most == 0 || host.contains("queues=") { String::new() } else { format!(",queues={most}") };
            all.push(opened(&format!("{name}^"), &[host + &queues], Some(state))?);
        }
        let port = Arc::new(Self::new(name, all, area, wanted)?);
        ports.retain(|_, port| port.strong_count() > 0);
        ports.insert(name.into(), Arc::downgrade(&port));
        Ok(port)
    }

    /// A port over an interface, and the one that stands for the host, if there is one.
    fn new(name: &str, all: Vec<linerate_port::Port>, area: Arc<Area>, wanted: Sizes) -> Result<Self, c_int> {
        let mut port = Self::without_rings(name, area);
        for (nth, mut device) in all.into_iter().enumerate() {
            let (slots, n) = (device.info().slots, [device.info().tx_queues, device.info().rx_queues]);
            let slots = wanted.slots.map(|wanted| if wanted == 0 { slots } else { wanted.clamp(2, 4096) });
            let n = [0, 1].map(|dir| match usize::from(wanted.host[dir]) {
                most if most > 0 && nth > 0 => n[dir].min(most),
                _ => n[dir],
            });
            let [tx, rx] = rings(name, &port.area, slots, n, [port.tx.len(), port.rx.len()])?;
            let begins = (port.tx.len(), port.rx.len());
            port.at[0].extend(tx.iter().map(Ring::at));
            port.at[1].extend(rx.iter().map(Ring::at));
            let tx = tx.into_iter().enumerate();
            port.tx.extend(tx.filter_map(|(q, ring)| Some(Mutex::new(Tx::new(device.take_tx(q)?, ring)))));
            for (q, ring) in rx.into_iter().enumerate() {
                // Where there are fewer rings, each has several queues.
                let mut own = (q..device.info().rx_queues).step_by(n[1]).map_while(|q| device.take_rx(q));
                let first = own.next().map(|first| Rx::new(first, own.collect(), ring));
                port.rx.extend(first.map(Mutex::new));
            }
            if nth == 0 {
                (port.nics, port.slots) = (n, slots);
            }
            let (tx, rx) = (begins.0..port.tx.len(), begins.1..port.rx.len());
            port.devices.push(Device { tx, rx, link: AtomicU32::new(0), port: Mutex::new(device) });
        }
        port.users = Mutex::new([port.tx.len(), port.rx.len()].map(|n| vec![Users::default(); n]));
        Ok(port)
    }

    fn without_rings(name: &str, area: Arc<Area>) -> Self {
        Self {
            name: name.into(),
            tx: Vec::new(),
            rx: Vec::new(),
            idle: [Vec::new(), Vec::new()],
            at: [Vec::new(), Vec::new()],
            nics: [0; 2],
            slots: [0; 2],
            users: Mutex::default(),
            places: Vec::new(),
            area,
            devices: Vec::new(),
        }
    }

    /// A monitor of transmit and receive rings of a port, with a receive ring for each ring of it.
    pub(crate) fn monitor(
        name: &str,
        watched: &Self,
        [tx, rx]: [Range<usize>; 2],
        slots: u32,
    ) -> Result<Arc<Self>, c_int> {
        let opened = quietly(|| monitor::open(watched.tx.len().max(watched.rx.len()), slots));
        let (left, places, right) = opened.map_err(|error| refused(name, &error))?;
        let mut port = Self::new(name, vec![right], watched.area.clone(), Sizes::default())?;
        tx.for_each(|ring| lock(&watched.tx[ring]).taps.add(&places[ring]));
        rx.for_each(|ring| lock(&watched.rx[ring]).taps.add(&places[ring]));
        port.places = places;
        port.devices.push(Device { tx: 0..0, rx: 0..0, link: AtomicU32::new(0), port: Mutex::new(left) });
        Ok(Arc::new(port))
    }

    /// Bytes of virtio-net's header before each frame in the program's slots: 0, 10 or 12.
    pub(crate) fn header(&self) -> usize {
        self.tx.first().map_or(0, |tx| lock(tx).header)
    }

    pub(crate) fn set_header(&self, bytes: usize) {
        self.tx.iter().for_each(|tx| lock(tx).header = bytes);
        self.rx.iter().for_each(|rx| lock(rx).header = bytes);
    }

    /// A port of no interface, with rings that lead nowhere: for its buffers, and for what else the program uses it.
    pub(crate) fn null(name: &str, area: Arc<Area>, slots: [u32; 2], n: [u16; 2]) -> Result<Arc<Self>, c_int> {
        // A ring of one slot has no room.
        if (0..2).any(|dir| n[dir] > 0 && slots[dir] < 2) {
            return Err(libc::EINVAL);
        }
        let idle = rings(name, &area, slots, n.map(usize::from), [0; 2])?;
        let at = [0, 1].map(|dir: usize| idle[dir].iter().map(Ring::at).collect());
        let nics = n.map(usize::from);
        let mut port = Self::without_rings(name, area);
        (port.idle, port.at, port.nics, port.slots) = (idle, at, nics, slots);
        Ok(Arc::new(port))
    }

    /// Number of rings: transmit, receive, and those of the host.
    pub(crate) fn counts(&self) -> [u16; 4] {
        let host = [0, 1].map(|dir| self.at[dir].len() - self.nics[dir]);
        [self.nics[0], self.nics[1], host[0], host[1]].map(short)
    }

    /// True for a port of no interface, whose rings lead nowhere and are all its only user's.
    pub(crate) fn is_idle(&self) -> bool {
        self.devices.is_empty()
    }

    /// True if a ring that leads nowhere has slots from the program's `cur` on.
    pub(crate) fn is_idle_ready(&self, dir: usize) -> bool {
        self.idle[dir].iter().any(Ring::ready)
    }

    /// True if somebody is at the far end of a transmit ring, or none is needed.
    pub(crate) fn is_up(&self, ring: usize) -> bool {
        self.devices.iter().any(|device| device.tx.contains(&ring) && lock(&device.port).link() == Link::Up)
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
        for device in &self.devices {
            let Some(first) = self.rx[device.rx.clone()].first() else { continue };
            let now = match first.try_lock() {
                Ok(rx) => rx.queue.link_generation(),
                Err(TryLockError::Poisoned(rx)) => rx.into_inner().queue.link_generation(),
                // Whoever has it comes by here, too.
                Err(TryLockError::WouldBlock) => continue,
            };
            if device.link.swap(now, Relaxed) != now {
                self.rx[device.rx.clone()].iter().for_each(|rx| lock(rx).queue.sync());
                self.tx[device.tx.clone()].iter().for_each(|tx| lock(tx).queue.sync());
            }
        }
    }
}

/// Rings with their buffers, so many each way, the first of which has number `first`; ENOMEM, and a line, without room for them.
fn rings(
    name: &str,
    area: &Arc<Area>,
    slots: [u32; 2],
    n: [usize; 2],
    first: [usize; 2],
) -> Result<[Vec<Ring>; 2], c_int> {
    let (mut pool, mut rings) = (lock(&area.pool), [Vec::new(), Vec::new()]);
    for dir in 0..2 {
        for id in first[dir]..first[dir] + n[dir] {
            let Some(ring) = Ring::new(area, &mut pool, short(id), short(dir), slots[dir]) else {
                rings.iter().flatten().for_each(|ring: &Ring| ring.give_back(&mut pool));
                say(format_args!(
                    "{name}: no room for {} rings of {} slots among {} buffers and {} KiB; use smaller rings (slots=)",
                    n[0] + n[1],
                    slots[dir],
                    area.memory.bufs,
                    area.memory.rings >> 10
                ));
                return Err(libc::ENOMEM);
            };
            rings[dir].push(ring);
        }
    }
    Ok(rings)
}

impl Drop for Port {
    fn drop(&mut self) {
        let mut pool = lock(&self.area.pool);
        self.tx.iter().for_each(|tx| lock(tx).ring.give_back(&mut pool));
        self.rx.iter().for_each(|rx| lock(rx).ring.give_back(&mut pool));
        self.idle.iter().flatten().for_each(|ring| ring.give_back(&mut pool));
    }
}

/// Queues of a ring, which a thread can sleep on, and the number of threads that do.
pub(crate) trait Side {
    fn sleepers(&mut self) -> (Vec<&mut dyn Sleeper>, &mut u32);
}

impl Side for Tx {
    fn sleepers(&mut self) -> (Vec<&mut dyn Sleeper>, &mut u32) {
        (vec![&mut self.queue], &mut self.asleep)
    }
}

impl Side for Rx {
    fn sleepers(&mut self) -> (Vec<&mut dyn Sleeper>, &mut u32) {
        let queues = std::iter::once(&mut self.queue).chain(&mut self.more);
        (queues.map(|queue| queue as &mut dyn Sleeper).collect(), &mut self.asleep)
    }
}

/// Opens what a name means, the best that there is of these. With `runs`, a switch that nobody runs is run from now on, if the
/// port is one of its. The error is errno, and a line has said why.
pub(crate) fn opened(name: &str, ports: &[String], runs: Option<&State>) -> Result<linerate_port::Port, c_int> {
    let mut first: Option<OpenError> = None;
    for port in ports {
        let mut opened = quietly(|| linerate_port::open(port));
        let missing = opened.as_ref().is_err_and(|error| error.cause == Cause::Missing);
        let switch = port.strip_prefix("vale:").and_then(|rest| rest.split_once(':'));
        if let (true, Some(state), Some((switch, _))) = (missing, runs, switch) {
            lock(&state.switches).run(switch)?;
            opened = quietly(|| linerate_port::open(port));
        }
        match opened {
            Ok(opened) => {
                if let Some(first) = first {
                    say(format_args!("{name} is {port}, because of {first}"));
                }
                return Ok(opened);
            }
            Err(error) => first = Some(error),
        }
    }
    Err(first.map_or(libc::ENXIO, |error| refused(name, &error)))
}

/// Says why a port cannot be opened; errno.
fn refused(name: &str, error: &OpenError) -> c_int {
    // A port's error has no errno, but the system's own words for it.
    if error.what.contains(&io::Error::from_raw_os_error(libc::EMFILE).to_string()) {
        say(format_args!("{name}: {}; close some, or raise their limit (ulimit -n)", error.what));
        return libc::EMFILE;
    }
    say(format_args!("{error}"));
    match error.cause {
        Cause::Usage | Cause::Peer => libc::EINVAL,
        Cause::Missing => libc::ENXIO,
        Cause::Capability => libc::EPERM,
        Cause::Busy => libc::EBUSY,
        Cause::System => libc::EIO,
    }
}
