//! `unix:LOCAL:REMOTE`: one Ethernet frame per UNIX datagram, compatible with QEMU's dgram netdev. Frames are received
//! at LOCAL and sent to REMOTE; no privileges.
//!
//! The socket is bound to LOCAL and connected to REMOTE, so the peer must send from the socket at which it receives (as
//! QEMU does): a connected socket accepts datagrams of its peer alone. In return the kernel reports when a full peer
//! has room again, and between two ports of this kind lifts its limit of a few datagrams (`net.unix.max_dgram_qlen`).
//!
//! REMOTE may come later, go, and come again; while it is away the link is down and sent frames are counted as not
//! received.

use crate::chain::{most_slots, set_frame};
use crate::counters::{DropReason, RxCounters, TxCounters};
use crate::error::{Cause, OpenError};
use crate::frames::{ETHERNET, SendPlan};
use crate::info::{Caps, Info, Link};
use crate::kind::{Context, Demand, Kind, OptionRow, Spec};
use crate::port::{Device, Parts};
use crate::queue::{RxEngine, RxQueue, TxEngine, TxQueue};
use crate::sleep::{Interest, Sleep, Sleeper};
use crate::sys::socket::{MOST, Messages};
use crate::sys::unix;
use linerate_ring::{OwnRx, OwnTx, RxRing, TxRing};
use linerate_text::path::from_text;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(crate) const KIND: Kind = Kind {
    name: "unix",
    about: "one Ethernet frame per UNIX datagram, compatible with QEMU's dgram netdev; no privileges",
    example: "unix:LOCAL:REMOTE (two socket paths)",
    needs_name: true,
    is_path: true,
    queue_suffix: false,
    options: &[OptionRow {
        key: "sndbuf",
        value: "BYTES",
        about: "bytes under way at most, 4K to 256M; beyond net.core.wmem_max with CAP_NET_ADMIN (the system's)",
    }],
    demand,
    open,
};

/// Interval at which an idle port checks that its peer is still there.
const LOOK: Duration = Duration::from_millis(100);
/// Interval before another attempt to send when the kernel had no memory.
const NO_MEMORY: Duration = Duration::from_millis(1);

fn paths(spec: &Spec) -> Result<[PathBuf; 2], OpenError> {
    let parts: Vec<_> = spec.name.split(':').collect();
    let [local, remote] = parts[..] else {
        return Err(spec.oops("that names not two sockets", "write unix:LOCAL:REMOTE, two paths without ':'"));
    };
    let paths = [local, remote].map(from_text);
    for path in &paths {
        let len = path.as_os_str().len();
        if len == 0 || len > unix::LONGEST_PATH {
            let mend = format!("give paths of 1 to {} bytes", unix::LONGEST_PATH);
            return Err(spec.oops("a socket's path is empty or too long", mend));
        }
    }
    if local == remote {
        return Err(spec.oops("both paths are the same", "give the peer's socket as the second path"));
    }
    Ok(paths)
}

fn send_buffer(spec: &Spec) -> Result<Option<u32>, OpenError> {
    let bytes = spec.number("sndbuf", 0, 4 << 10, 256 << 20)?;
    Ok(Some(bytes).filter(|bytes| *bytes > 0))
}

fn demand(spec: &Spec) -> Result<Demand, OpenError> {
    paths(spec)?;
    send_buffer(spec)?;
    spec.check_largest(spec.mtu()? + 22)?;
    Ok(Demand::rings(1, 1, spec.slots()?, spec.buf_size()?))
}

fn open(spec: &Spec, context: &mut Context<'_>) -> Result<Parts, OpenError> {
    let [local, remote] = paths(spec)?;
    let (slots, largest) = (spec.slots()?, spec.mtu()? + 22);
    let memory = |e| OpenError::new(spec, Cause::System, e, "use smaller rings");
    let end = Arc::new(End::new(spec, local, remote)?);
    if let Some(bytes) = send_buffer(spec)? {
        unix::set_send_buffer(end.socket.as_fd(), bytes).map_err(|e| trouble(spec, &e))?;
    }
    end.look(Instant::now());
    let tx = UnixTx { end: end.clone(), plan: SendPlan::new(largest, false), messages: Messages::new(), again: None };
    let per_frame = most_slots(largest, context.region.usable());
    let rx = UnixRx { end: end.clone(), messages: Messages::new(), per_frame };
    let info = Info {
        name: spec.to_string(),
        path: "UNIX datagrams, sendmmsg and recvmmsg".into(),
        mtu: spec.mtu()?,
        largest,
        mac: None,
        caps: Caps { scatter: true, ..Caps::default() },
        tx_queues: 1,
        rx_queues: 1,
        slots,
        rate: None,
        notes: Vec::new(),
    };
    let tx = vec![TxQueue::new(TxRing::new(context.region, 0, slots).map_err(memory)?, Box::new(tx))];
    let rx = vec![RxQueue::new(RxRing::new(context.region, 0, slots).map_err(memory)?, Box::new(rx))];
    Ok(Parts { info, tx, rx, device: Box::new(Unix { end }) })
}

fn trouble(spec: &Spec, error: &io::Error) -> OpenError {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => {
            OpenError::new(spec, Cause::Missing, "LOCAL's directory is not there", "make it, or choose another path")
        }
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => OpenError::new(
            spec,
            Cause::Capability,
            "not permitted to make a socket at LOCAL",
            "choose another directory",
        ),
        Some(libc::EADDRINUSE) => {
            OpenError::new(spec, Cause::Busy, "somebody else has just bound LOCAL", "choose another path")
        }
        _ => OpenError::new(spec, Cause::System, error, "choose another path"),
    }
}

/// The socket and the state of its peer, shared by both queues.
struct End {
    socket: OwnedFd,
    local: PathBuf,
    /// Device and inode of LOCAL: the file is removed only if it is still this socket's.
    file: Option<(u64, u64)>,
    remote: PathBuf,
    up: AtomicBool,
    /// Time of the last attempt to reach the peer.
    looked: Mutex<Instant>,
}

impl End {
    fn new(spec: &Spec, local: PathBuf, remote: PathBuf) -> Result<Self, OpenError> {
        let oops = |e: io::Error| trouble(spec, &e);
        let socket = unix::datagram().map_err(oops)?;
        make_way(spec, &local)?;
        unix::bind(socket.as_fd(), &local).map_err(oops)?;
        let file = identity(&local);
        Ok(Self { socket, local, file, remote, up: AtomicBool::new(false), looked: Mutex::new(Instant::now()) })
    }

    fn link(&self) -> Link {
        if self.up.load(Relaxed) { Link::Up } else { Link::Down }
    }

    /// Connects to the socket at REMOTE now; disconnects if there is none.
    fn look(&self, now: Instant) -> bool {
        let up = unix::connect(self.socket.as_fd(), &self.remote).is_ok();
        if !up && self.up.load(Relaxed) {
            unix::disconnect(self.socket.as_fd());
        }
        self.up.store(up, Relaxed);
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = now;
        up
    }

    /// Time at which an idle port should check its peer again.
    fn due(&self) -> Instant {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) + LOOK
    }

    /// Checks the peer, if it is time; returns the number of system calls.
    fn look_if_due(&self) -> u64 {
        let now = Instant::now();
        if now < self.due() {
            return 0;
        }
        self.look(now);
        1
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if self.file.is_some() && identity(&self.local) == self.file {
            // The file may be removed already; that is no error.
            let _ = std::fs::remove_file(&self.local);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Removes the socket file of a dead process.
fn make_way(spec: &Spec, local: &Path) -> Result<(), OpenError> {
    let Ok(file) = std::fs::symlink_metadata(local) else { return Ok(()) };
    if !file.file_type().is_socket() {
        return Err(OpenError::new(spec, Cause::Busy, "LOCAL is there and is no socket", "choose another path"));
    }
    let probe = unix::datagram().map_err(|e| trouble(spec, &e))?;
    match unix::connect(probe.as_fd(), local).map_err(|e| e.raw_os_error()) {
        Err(Some(libc::ECONNREFUSED)) => std::fs::remove_file(local).map_err(|e| trouble(spec, &e)),
        Err(Some(libc::ENOENT)) => Ok(()),
        _ => Err(OpenError::new(
            spec,
            Cause::Busy,
            "another program is bound to LOCAL",
            "end it, or choose another path",
        )),
    }
}

struct Unix {
    end: Arc<End>,
}

impl Device for Unix {
    fn link(&self) -> Link {
        self.end.link()
    }
}

struct UnixTx {
    end: Arc<End>,
    plan: SendPlan,
    messages: Messages,
    again: Option<Instant>,
}

impl TxEngine for UnixTx {
    fn sync(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) {
        self.again = None;
        let before = count.frames;
        if ring.pending() == 0 {
            count.syscalls += self.end.look_if_due();
        }
        // At most one new peer per sync: another one that is gone at once is handled in the next sync.
        let mut looked = false;
        loop {
            let frames = self.plan.make(ring, count, MOST);
            if frames.is_empty() {
                break;
            }
            if self.end.up.load(Relaxed) {
                count.syscalls += 1;
                let error = match self.messages.send(self.end.socket.as_fd(), ring, frames, false) {
                    Ok(n) => {
                        self.plan.sent(ring, count, n);
                        continue;
                    }
                    Err(error) => error,
                };
                match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) => break,
                    Some(libc::ENOBUFS | libc::ENOMEM) => {
                        self.again = Some(Instant::now() + NO_MEMORY);
                        break;
                    }
                    Some(libc::EMSGSIZE) => {
                        self.plan.drop_first(ring, count, DropReason::TooLong);
                        continue;
                    }
                    // The peer is gone, or is connected to another socket.
                    _ => {}
                }
            }
            if !looked {
                looked = true;
                count.syscalls += 1;
                if self.end.look(Instant::now()) {
                    continue;
                }
            }
            self.end.up.store(false, Relaxed);
            self.plan.drop_all(ring, count, DropReason::NoReceiver);
        }
        count.batches += u64::from(count.frames > before);
    }

    fn link(&self) -> Link {
        self.end.link()
    }
}

impl Sleeper for UnixTx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        let on = self.again.is_none().then(|| (self.end.socket.as_fd(), Interest::Writable));
        let until = self.again.or_else(|| (self.end.link() == Link::Down).then(|| self.end.due()));
        Some(Sleep { on, until, ..Sleep::default() })
    }
}

struct UnixRx {
    end: Arc<End>,
    messages: Messages,
    /// Slots for the longest frame.
    per_frame: u32,
}

impl RxEngine for UnixRx {
    fn sync(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) {
        let before = count.slots;
        // Frames of several slots are received one by one, so that no slot stays empty between two.
        let most = if self.per_frame == 1 { u32::try_from(MOST).unwrap_or(1) } else { 1 };
        while ring.room() >= self.per_frame {
            count.syscalls += 1;
            let wanted = most.min(ring.room());
            let got = self.messages.receive(self.end.socket.as_fd(), ring, self.per_frame, wanted).unwrap_or(0);
            let mut slots = 0;
            for i in 0..got {
                let (len, truncated) = self.messages.received(i);
                if truncated {
                    count.dropped.add(DropReason::Truncated, 1);
                } else if len < ETHERNET {
                    count.dropped.add(DropReason::TooShort, 1);
                }
                // A frame that must not be delivered leaves a void slot.
                slots += set_frame(ring, slots, if truncated || len < ETHERNET { 0 } else { len }, None);
            }
            ring.deliver(slots);
            count.slots += u64::from(slots);
            if got < wanted {
                break;
            }
        }
        count.batches += u64::from(count.slots > before);
        if count.slots == before {
            count.syscalls += self.end.look_if_due();
        }
    }

    fn link(&self) -> Link {
        self.end.link()
    }
}

impl Sleeper for UnixRx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        Some(Sleep::on(self.end.socket.as_fd(), Interest::Readable).until(Some(self.end.due())))
    }
}

#[cfg(test)]
mod tests;
