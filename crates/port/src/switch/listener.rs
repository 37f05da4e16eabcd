//! The listener of a switch for ports of other processes: a socket in the user's runtime directory, and its thread, which
//! sleeps until a process connects, leaves or violates the protocol.
//!
//! Each process gets a region of its own, made here, and is then at the right end of a cable whose left end is the
//! switch's: its access to memory is that of a cable's end. It is admitted when it reports that it is ready; no missing
//! message makes anybody wait. The thread that polls the switch ends the handshake ([`Listener::admit`]), so that a process
//! whose port is open has a port at the switch, and gets the first frame that is sent then. A process that goes, or violates the protocol, is disconnected; the switch then reads
//! the frames that it had published, and removes the port.

use super::guest::Guest;
use super::hello::{Hello, Wrong};
use super::member::{PROGRAM, Policy};
use super::vale::{is_name, socket_name};
use super::vi;
use super::{MOST_PORTS, Plug, Switch};
use crate::cable::{
    End, Memory, Ready, Refusal, Shape, Side, Trouble, Visitor, Visitors, Wish, check_user, knock, send_bells,
};
use crate::class::priorities_of;
use crate::error::{Cause, OpenError};
use crate::info::Link;
use crate::kind::Spec;
use crate::sleep::{Sleep, Sleeper};
use crate::sys::seqpacket as socket;
use linerate_ring::{Bell, Foreign};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Time limit for the directory's lock, which another process may hold.
const PATIENCE: Duration = Duration::from_secs(3);
/// Most waits, of 1 ms each, of a newcomer for an earlier port of its name to go.
const GOING: u32 = 100;

/// The listener; when it is dropped, the switch is closed to other processes, and their links go down.
pub struct Listener {
    shared: Arc<Shared>,
    path: PathBuf,
}

/// Rights granted to the program that takes a port, and what it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Policy of the port.
    pub policy: Policy,
    /// Address that it is to send from.
    pub mac: Option<[u8; 6]>,
    /// Largest payload of its frames; None: what the program asks for.
    pub mtu: Option<usize>,
}

impl From<Policy> for Grant {
    fn from(policy: Policy) -> Self {
        Self { policy, ..Self::default() }
    }
}

/// Names that may be taken.
enum Grants {
    /// Any, with the default policy.
    Any,
    /// Nobody has said yet: who comes tries again.
    Later,
    /// These, with what is granted to each.
    These(Vec<(String, Grant)>),
}

/// Counters of connection attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerCounters {
    /// Ports let in.
    pub admitted: u64,
    /// Attempts rejected: of another user or version, a name that is taken, no place, or no answer in time.
    pub refused: u64,
    /// Ports disconnected because their process wrote invalid cursors or buffer indices.
    pub violations: u64,
}

#[derive(Default)]
struct Counts {
    admitted: AtomicU64,
    refused: AtomicU64,
    violations: AtomicU64,
}

struct Shared {
    /// Processes admitted that the switch has not taken over yet; their handshakes have not ended.
    arrived: Mutex<Vec<Arrival>>,
    /// Names of ports that other processes cannot take.
    reserved: Mutex<Vec<String>>,
    /// Names of ports that other processes can take.
    grants: Mutex<Grants>,
    any: AtomicBool,
    /// Rung for the switch: a port has arrived.
    arrivals: Bell,
    /// Rung for the thread: the switch is closing.
    closing: Bell,
    closed: AtomicBool,
    counts: Counts,
}

impl Shared {
    fn arrived(&self) -> MutexGuard<'_, Vec<Arrival>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener {
    /// Opens the listener of a switch by this name. `guests`: the only names of ports that others may take, with the policy
    /// granted to each; without a list, any name may be taken, with all VLANs and no pause granted.
    ///
    /// # Errors
    /// When a name is invalid or given twice, or another process of this user has a switch of this name.
    pub fn open(name: &str, guests: Option<Vec<(String, Policy)>>) -> Result<Self, OpenError> {
        let new = |cause, what: &dyn std::fmt::Display, mend: &str| {
            OpenError::new(format!("switch '{name}'"), cause, what, mend)
        };
        if !is_name(name) {
            return Err(new(Cause::Usage, &"that is no name", "give up to 48 letters, digits and ._-+"));
        }
        let mut names: Vec<&str> = guests.iter().flatten().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(port) = names.iter().find(|port| !is_name(port)) {
            let what = format!("'{port}' is no name of a port");
            return Err(new(Cause::Usage, &what, "give up to 48 letters, digits and ._-+"));
        }
        if let Some(two) = names.windows(2).find(|two| two[0] == two[1]) {
            return Err(new(Cause::Usage, &format!("it has two ports '{}'", two[0]), "name each once"));
        }
        let grants = guests.map_or(Grants::Any, |guests| {
            Grants::These(guests.into_iter().map(|(name, policy)| (name, policy.into())).collect())
        });
        Self::at(&format!("switch '{name}'"), &socket_name(name), grants)
    }

    /// Opens the listener of an adapter over a port, through which its virtual interfaces can be taken once they
    /// are granted ([`Listener::grant`]).
    ///
    /// # Errors
    /// When a port of this kind or name has no interfaces that can be named, or another process of this user runs an
    /// adapter over it.
    pub fn of_adapter(port: &Spec) -> Result<Self, OpenError> {
        let key = port.key();
        let name = format!("adapter on {key}");
        let socket = vi::socket_name(&key).filter(|_| !port.kind.is_path).ok_or_else(|| {
            let what = "its name is a path, or too long for one: no PORT/viN can be written behind it";
            OpenError::new(&name, Cause::Usage, what, "use another kind of port, or a shorter name")
        })?;
        Self::at(&name, &socket, Grants::Later)
    }

    /// Opens a listener at a socket; errors name it as `what`.
    fn at(name: &str, socket: &str, grants: Grants) -> Result<Self, OpenError> {
        let new = |cause, what: &dyn std::fmt::Display, mend: &str| OpenError::new(name, cause, what, mend);
        let system = |e: io::Error| new(Cause::System, &e, "check $XDG_RUNTIME_DIR and free descriptors");
        let dir = socket::runtime_dir().map_err(system)?;
        let path = dir.join(format!("{socket}.sock"));
        let deadline = Instant::now() + PATIENCE;
        let listener = loop {
            match knock(&dir, &path, true) {
                Ok(Err(listener)) => break listener,
                Ok(Ok(_)) => return Err(new(Cause::Busy, &"it runs already", "stop it, or use another name")),
                Err(Trouble::Locked | Trouble::Again) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(Trouble::Io(e)) => return Err(system(e)),
                Err(_) => {
                    let what = "another process keeps the directory of sockets locked";
                    return Err(new(Cause::Busy, &what, "stop that process"));
                }
            }
        };
        let shared = Arc::new(Shared {
            arrived: Mutex::new(Vec::new()),
            reserved: Mutex::default(),
            grants: Mutex::new(grants),
            any: AtomicBool::new(false),
            arrivals: Bell::new().map_err(system)?,
            closing: Bell::new().map_err(system)?,
            closed: AtomicBool::new(false),
            counts: Counts::default(),
        });
        let (visitors, residents) = (Visitors::default(), Vec::new());
        let porter = Porter { shared: shared.clone(), listener, visitors, residents };
        std::thread::Builder::new().name("switch-door".into()).spawn(move || porter.run()).map_err(system)?;
        Ok(Self { shared, path })
    }

    /// Keeps a name for a port of this process: no other process can take it.
    pub fn reserve(&self, name: &str) {
        self.shared.reserved.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
    }

    /// Replaces the names that may be taken. Who has one that is not among them keeps it until it goes.
    pub fn grant(&self, grants: Vec<(String, Grant)>) {
        *self.shared.grants() = Grants::These(grants);
    }

    /// Programs that have arrived since the last call; for an adapter, which is no [`Switch`].
    pub fn guests(&self) -> Vec<Guest> {
        let arrived = self.arrivals();
        self.shared.counts.admitted.fetch_add(arrived.len() as u64, Relaxed);
        arrived.into_iter().filter_map(Guest::new).collect()
    }

    /// Takes the ports that have arrived since the last call, and ends their handshakes.
    fn arrivals(&self) -> Vec<Plug> {
        if !self.shared.any.load(Acquire) {
            return Vec::new();
        }
        self.shared.arrivals.clear();
        self.shared.any.store(false, Relaxed);
        let arrived = std::mem::take(&mut *self.shared.arrived());
        let plugs: Vec<Plug> = arrived.iter().filter_map(Arrival::plug).collect();
        self.shared.counts.refused.fetch_add((arrived.len() - plugs.len()) as u64, Relaxed);
        plugs
    }

    /// Attaches the ports that have arrived since the last call to the switch; true if there was one. A process that opens a
    /// port waits for this call: the thread that makes it cannot be the one that opens.
    pub fn admit(&self, switch: &mut Switch) -> bool {
        let arrived = self.arrivals();
        let any = !arrived.is_empty();
        for plug in arrived {
            let side = plug.life.clone();
            // The name of an attached port that was not reserved, or no place: the newcomer's link goes down.
            match (switch.plug(plug), side) {
                (Err(_), Some(side)) => {
                    self.shared.counts.refused.fetch_add(1, Relaxed);
                    side.down();
                }
                _ => {
                    self.shared.counts.admitted.fetch_add(1, Relaxed);
                }
            }
        }
        any
    }

    /// Counters of connection attempts.
    #[must_use]
    pub fn counters(&self) -> ListenerCounters {
        let Counts { admitted, refused, violations } = &self.shared.counts;
        ListenerCounters {
            admitted: admitted.load(Relaxed),
            refused: refused.load(Relaxed),
            violations: violations.load(Relaxed),
        }
    }
}

/// Ends a sleep when a port has arrived.
impl Sleeper for &Listener {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        // Cleared before the look: a ring that came late for a port already taken over would end every further sleep.
        // The acquire pairs with the release in `pair`, which rings after it: the port is seen, or its ring ends the sleep.
        self.shared.arrivals.clear();
        (!self.shared.any.load(Acquire)).then(|| Sleep::on_bell(&self.shared.arrivals))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // The file may be removed already; that is no error.
        let _ = std::fs::remove_file(&self.path);
        self.shared.closed.store(true, Release);
        self.shared.closing.ring();
    }
}

/// Resources offered to a visitor.
struct Offered {
    name: String,
    policy: Policy,
    shape: Shape,
    memory: Memory,
    side: Arc<Side>,
}

/// A process that is ready, and waits for the bells with which its handshake ends.
struct Arrival {
    offered: Offered,
    peer: Arc<Foreign>,
}

impl Arrival {
    /// Ends the handshake; None if the process is gone, or there is no memory.
    fn plug(&self) -> Option<Plug> {
        let Offered { name, policy, shape, memory, side } = &self.offered;
        // The visitor may have written to the region since the offer.
        memory.renew();
        // The rings are ready before the visitor gets its bells: from then on it may send.
        let ends = memory.ends(end(name).left).ok()?;
        let Ready { mut tx, rx, .. } = ends.ready(side, None, &send_bells(&self.peer, side).ok()?);
        let queues = tx.len();
        tx.iter_mut().enumerate().for_each(|(q, tx)| tx.set_priorities(priorities_of(q, queues)));
        let path = "another process of this user".to_owned();
        let (caps, life, largest) = (PROGRAM, Some(side.clone()), shape.mtu + 22);
        Some(Plug { name: name.clone(), path, policy: policy.clone(), caps, largest, rx, tx, life, keep: None })
    }
}

/// A process that was admitted.
struct Resident {
    name: String,
    /// None: disconnected.
    peer: Option<Arc<Foreign>>,
    side: Weak<Side>,
    /// Rung when the process violated the protocol, and when the switch has removed the port.
    bell: Bell,
}

/// The thread of the listener.
struct Porter {
    shared: Arc<Shared>,
    listener: OwnedFd,
    visitors: Visitors<Offered>,
    residents: Vec<Resident>,
}

impl Porter {
    fn run(mut self) {
        loop {
            let mut fds = vec![Some(self.shared.closing.as_fd()), Some(self.listener.as_fd())];
            let residents = self.residents.iter();
            fds.extend(
                residents.flat_map(|resident| {
                    [resident.peer.as_ref().map(|peer| peer.as_fd()), Some(resident.bell.as_fd())]
                }),
            );
            fds.extend(self.visitors.sockets().map(Some));
            let patience = self.visitors.until().map(|until| until.saturating_duration_since(Instant::now()));
            let ready = socket::poll(&fds, patience);
            drop(fds);
            if self.shared.closed.load(Acquire) {
                return;
            }
            let (mine, theirs) = ready.split_at(2);
            let (residents, visitors) = theirs.split_at(2 * self.residents.len());
            let late = self.visitors.sockets().count();
            let speakers = self.visitors.speakers(visitors);
            let forgotten = late - speakers.len() - self.visitors.sockets().count();
            self.refused(forgotten as u64);
            self.look_after(residents);
            for visitor in speakers {
                self.answer(visitor);
            }
            if mine[1] {
                self.let_in();
            }
        }
    }

    fn refused(&self, n: u64) {
        self.shared.counts.refused.fetch_add(n, Relaxed);
    }

    /// Disconnects processes that went or violated the protocol; drops those whose port the switch has removed.
    fn look_after(&mut self, ready: &[bool]) {
        for (resident, ready) in self.residents.iter_mut().zip(ready.chunks(2)) {
            if ready[1] {
                resident.bell.clear();
            }
            let Some(side) = resident.side.upgrade() else {
                resident.peer = None;
                continue;
            };
            let violated = side.peer_violated();
            // A resident sends nothing after the handshake: input is its end of file, or a violation.
            if resident.peer.is_some() && (ready[0] || violated || side.link() == Link::Down) {
                self.shared.counts.violations.fetch_add(violated.into(), Relaxed);
                resident.peer = None;
                side.down();
            }
        }
        self.residents.retain(|resident| resident.side.strong_count() > 0);
    }

    /// Accepts a connection.
    fn let_in(&mut self) {
        match socket::accept(&self.listener) {
            Ok(visitor) if check_user(&visitor).is_ok() => self.visitors.come(visitor),
            Ok(_) => self.refused(1),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => {}
            // No descriptors or memory: the connecting process has to wait, without keeping this thread busy.
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }

    /// Handles a visitor that has sent a message, or is gone.
    fn answer(&mut self, mut visitor: Visitor<Offered>) {
        let stays = match visitor.hear() {
            Err(_) => false,
            Ok(Wish::Wait) => true,
            Ok(Wish::Hello(message)) => match self.offer(&visitor.socket, &message) {
                Ok(offered) => {
                    visitor.offered(offered);
                    true
                }
                Err(refusal) => {
                    // The visitor may be gone already, and then needs no answer.
                    let _ = socket::send(&visitor.socket, &refusal.write(), &[]);
                    false
                }
            },
            Ok(Wish::Pair(offered)) => return self.pair(visitor.socket, offered),
        };
        if stays {
            self.visitors.admit(visitor);
        } else {
            self.refused(1);
        }
    }

    /// True if a name is taken. The name of a departed owner is free as soon as the switch has removed its port.
    fn is_taken(&self, name: &str) -> bool {
        let reserved = self.shared.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if reserved.iter().any(|reserved| reserved == name) {
            return true;
        }
        drop(reserved);
        for _ in 0..GOING {
            let Some(resident) = self.residents.iter().find(|r| r.name == name && r.side.strong_count() > 0) else {
                return false;
            };
            if resident.peer.is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    fn offer(&self, peer: &Foreign, message: &[u8]) -> Result<Offered, Refusal> {
        let (hello, wish) = Hello::read(message).map_err(|wrong| match wrong {
            Wrong::Malformed => Refusal::Version,
            Wrong::Memory => Refusal::Memory,
        })?;
        let grant = match &*self.shared.grants() {
            Grants::Any => Grant::default(),
            Grants::Later => return Err(Refusal::Busy),
            Grants::These(grants) => {
                let grant = grants.iter().find(|(name, _)| *name == hello.port);
                grant.ok_or(Refusal::Unknown)?.1.clone()
            }
        };
        let policy = wish.granted(&grant.policy)?;
        if self.is_taken(&hello.port) {
            return Err(Refusal::Taken);
        }
        if self.residents.len() >= MOST_PORTS {
            return Err(Refusal::Full);
        }
        let shape = hello.shape.granted(grant.mtu);
        let side = Side::between(shape.queues as usize, true).map_err(|_| Refusal::Memory)?;
        let end = end(&hello.port);
        let memory = Memory::make(&end, &shape).map_err(|_| Refusal::Memory)?;
        memory.offer(peer, &shape, grant.mac).map_err(|_| Refusal::Version)?;
        Ok(Offered { name: hello.port, policy, shape, memory, side: Arc::new(side) })
    }

    /// Lets a visitor in that is ready: the switch makes it a port.
    fn pair(&mut self, peer: Foreign, offered: Offered) {
        if self.is_taken(&offered.name) || self.residents.len() >= MOST_PORTS {
            return self.refused(1);
        }
        let (peer, side, name) = (Arc::new(peer), Arc::downgrade(&offered.side), offered.name.clone());
        let bell = offered.side.watcher.clone();
        self.residents.push(Resident { name, peer: Some(peer.clone()), side, bell });
        self.shared.arrived().push(Arrival { offered, peer });
        self.shared.any.store(true, Release);
        self.shared.arrivals.ring();
    }
}

/// The switch's end of the cable to a port.
fn end(port: &str) -> End {
    End { cable: format!("switch#{port}"), left: true }
}
