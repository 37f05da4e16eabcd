//! `tap:IF`: the far end of a TAP interface. Frames that the kernel sends into the interface are received here, and
//! frames sent here arrive from the interface.
//!
//! The kernel's interface is one frame per read or write; each is counted as a system call. A virtio header of twelve
//! bytes precedes every frame and becomes the slot's metadata, both ways. The kernel delivers finished frames unless
//! `gso=on` allows open checksums and super-frames.
//!
//! A frame for which the interface's queue has no room (`txqueuelen`) is refused to its sender at once, and so it is
//! not counted here as dropped; the interface counts it (`tx_dropped` of the raw counters).

use crate::chain::{most_slots, set_frame};
use crate::counters::{DropReason, RxCounters, TxCounters};
use crate::error::{Cause, OpenError};
use crate::frames::{SUPER, SendPlan};
use crate::info::{Caps, Info, Link};
use crate::interface::{self, Carrier, find, raw_counters};
use crate::kind::{Context, Demand, Kind, OptionRow, Spec};
use crate::port::{Device, Parts};
use crate::queue::{RxEngine, RxQueue, TxEngine, TxQueue};
use crate::sleep::{Interest, Sleep, Sleeper};
use crate::sys::socket::MOST;
use crate::sys::tap::{self, TapQueue};
use crate::vnet::segments_udp;
use linerate_host::shell::word;
use linerate_host::{Control, LinkState, Rtnetlink};
use linerate_ring::{OwnRx, OwnTx, RxRing, TxRing};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) const KIND: Kind = Kind {
    name: "tap",
    about: "the far end of a TAP interface, which is made if there is none (needs CAP_NET_ADMIN, or to own it)",
    example: "tap:tap0",
    needs_name: true,
    is_path: false,
    queue_suffix: false,
    options: &[
        OptionRow { key: "queues", value: "N", about: "queues each way, 1 to 64 (1)" },
        OptionRow {
            key: "gso",
            value: "on|off",
            about: "accept unfinished checksums and GSO frames from the kernel (off)",
        },
    ],
    demand,
    open,
};

/// Most frames read in one sync, so that a busy interface cannot hold its reader.
const BATCH: u32 = 256;
/// Interval before another attempt to write a frame for which the kernel had no memory.
const NO_MEMORY: Duration = Duration::from_millis(1);

fn queues(spec: &Spec) -> Result<u32, OpenError> {
    spec.number("queues", 1, 1, 64)
}

fn gso(spec: &Spec) -> Result<bool, OpenError> {
    match spec.option("gso") {
        None | Some("off") => Ok(false),
        Some("on") => Ok(true),
        Some(_) => Err(spec.oops("gso= is neither on nor off", "give gso=on or gso=off")),
    }
}

fn demand(spec: &Spec) -> Result<Demand, OpenError> {
    let gso = gso(spec)?;
    let (queues, slots, buf_size) = (queues(spec)?, spec.slots()?, spec.buf_size()?);
    spec.check_largest(if gso { SUPER } else { spec.mtu()? + 22 })?;
    Ok(Demand::rings(queues, queues, slots, buf_size))
}

fn open(spec: &Spec, context: &mut Context<'_>) -> Result<Parts, OpenError> {
    let (wanted, slots, gso) = (queues(spec)?, spec.slots()?, gso(spec)?);
    let oops = |e: io::Error| trouble(spec, &e);
    let mut links = Rtnetlink::open().map_err(|e| OpenError::below(spec, e))?;
    let there = match find(spec, &mut links) {
        Ok(link) => Some(link),
        Err(e) if e.cause == Cause::Missing && spec.name.len() < libc::IFNAMSIZ => None,
        Err(e) => return Err(e),
    };
    let attached = attach(spec, wanted, there.as_ref())?;
    for queue in &attached {
        queue.set_offloads(gso).map_err(oops)?;
    }
    let mut notes = Vec::new();
    let (state, path) = finish(spec, &mut links, there, &mut notes)?;
    let mtu = state.mtu as usize;
    let per_frame = most_slots(if gso { SUPER } else { mtu + 22 }, context.region.usable());
    let memory = |e| OpenError::new(spec, Cause::System, e, "use fewer or smaller rings");
    let Some(first) = attached.first() else { return Err(spec.oops("no queues", "give queues=1")) };
    let (control, queue) =
        (Control::open(state.index).map_err(oops)?, first.as_fd().try_clone_to_owned().map_err(oops)?);
    let watch = Arc::new(Watch { name: state.name, links: Mutex::new(links), carrier: Carrier::new(control), queue });
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for (id, queue) in (0..).zip(attached) {
        let plan = SendPlan::new(mtu + 22, true);
        let engine =
            TapTx { queue: queue.another().map_err(oops)?, plan, again: None, gone: false, watch: watch.clone() };
        tx.push(TxQueue::new(TxRing::new(context.region, id, slots).map_err(memory)?, Box::new(engine)));
        let engine = TapRx { queue, per_frame, gone: false, watch: watch.clone() };
        rx.push(RxQueue::new(RxRing::new(context.region, id, slots).map_err(memory)?, Box::new(engine)));
    }
    let info = Info {
        name: spec.to_string(),
        path: format!("TAP with vnet headers, one frame a system call; {path}"),
        mtu,
        largest: mtu + 22,
        // The interface's own address belongs to the kernel's side.
        mac: None,
        caps: Caps {
            checksum: true,
            gso: true,
            uso: segments_udp(),
            scatter: true,
            metadata: true,
            filters: false,
            ..Caps::default()
        },
        tx_queues: tx.len(),
        rx_queues: rx.len(),
        slots,
        rate: None,
        notes,
    };
    Ok(Parts { info, tx, rx, device: Box::new(Tap { watch }) })
}

/// Opens the queues, one descriptor each.
fn attach(spec: &Spec, wanted: u32, there: Option<&LinkState>) -> Result<Vec<TapQueue>, OpenError> {
    if let Some(link) = there
        && link.kind != "tun"
    {
        return Err(OpenError::new(
            spec,
            Cause::Usage,
            "that is an interface, but no TAP",
            "use packet: or xdp: for it",
        ));
    }
    let all = |multi| (0..wanted).map(|_| TapQueue::attach(&spec.name, multi)).collect::<io::Result<Vec<_>>>();
    match all(wanted > 1) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) && there.is_some() => {
            if wanted > 1 {
                let mend = format!("give queues=1, or make it anew: ip tuntap add {} mode tap multi_queue", spec.name);
                return Err(OpenError::new(spec, Cause::Usage, "the interface has one queue, or is no TAP", mend));
            }
            // The interface was made with several queues; one of them will do.
            all(true).map_err(|e| match e.raw_os_error() {
                Some(libc::EINVAL) => OpenError::new(
                    spec,
                    Cause::Usage,
                    "that is a TUN interface, without Ethernet",
                    "make one: mode tap",
                ),
                _ => trouble(spec, &e),
            })
        }
        queues => queues.map_err(|e| trouble(spec, &e)),
    }
}

/// Sets MTU and state of the interface; returns a description of the interface found or made.
fn finish(
    spec: &Spec,
    links: &mut Rtnetlink,
    there: Option<LinkState>,
    notes: &mut Vec<String>,
) -> Result<(LinkState, &'static str), OpenError> {
    let Some(link) = there else {
        let link = find(spec, links)?;
        let set = links.set_mtu(&link.name, spec.mtu_16()?.into()).and_then(|()| links.set_up(&link.name, true));
        set.map_err(|e| OpenError::below(spec, e))?;
        return Ok((find(spec, links)?, "made, goes with this program"));
    };
    if spec.option("mtu").is_some() && spec.mtu()? != link.mtu as usize {
        let what = format!("mtu={} is not the interface's {}", spec.mtu()?, link.mtu);
        let mend =
            format!("leave it out, or set the interface's: ip link set dev {} mtu {}", word(&link.name), spec.mtu()?);
        return Err(spec.oops(what, mend));
    }
    if !link.up && links.set_up(&link.name, true).is_err() {
        notes.push(format!("the interface is switched off: ip link set dev {} up", word(&link.name)));
    }
    Ok((find(spec, links)?, "found as it was"))
}

fn trouble(spec: &Spec, error: &io::Error) -> OpenError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            let mend = format!("run as root, or have it made for you: ip tuntap add {} mode tap user NAME", spec.name);
            OpenError::new(spec, Cause::Capability, "not permitted: a TAP takes CAP_NET_ADMIN, or to own it", mend)
        }
        Some(libc::ENOENT | libc::ENODEV) => {
            OpenError::new(spec, Cause::Capability, "there is no /dev/net/tun", "load the module: modprobe tun")
        }
        Some(libc::EBUSY) => OpenError::new(
            spec,
            Cause::Busy,
            "another program has the interface",
            "end that program, or choose another",
        ),
        Some(libc::EINVAL) => OpenError::new(
            spec,
            Cause::Usage,
            "the kernel makes no TAP of that name",
            "give 1 to 15 letters and digits",
        ),
        _ => OpenError::new(spec, Cause::System, error, "see whether the kernel has TAP interfaces (CONFIG_TUN)"),
    }
}

/// The interface, as all queues see it.
struct Watch {
    name: String,
    links: Mutex<Rtnetlink>,
    carrier: Carrier,
    /// A queue's descriptor.
    queue: OwnedFd,
}

impl Watch {
    fn link(&self) -> Link {
        self.known(self.carrier.link())
    }

    fn known(&self, link: Link) -> Link {
        match link {
            // Deleted, or moved to another network namespace, as for a container: the descriptor knows which.
            Link::Gone => tap::link(self.queue.as_fd()),
            state => state,
        }
    }
}

struct Tap {
    watch: Arc<Watch>,
}

impl Device for Tap {
    fn link(&self) -> Link {
        self.watch.known(self.watch.carrier.look())
    }

    fn mtu(&self) -> Option<usize> {
        interface::mtu(&self.watch.links, &self.watch.name)
    }

    fn raw_counters(&self) -> Vec<(String, u64)> {
        raw_counters(&self.watch.links, &self.watch.name)
    }
}

struct TapTx {
    queue: TapQueue,
    plan: SendPlan,
    again: Option<Instant>,
    /// The interface was deleted.
    gone: bool,
    watch: Arc<Watch>,
}

impl TxEngine for TapTx {
    fn sync(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) {
        self.again = None;
        let before = count.frames;
        loop {
            let frames = self.plan.make(ring, count, MOST);
            if frames.is_empty() {
                break;
            }
            let (mut written, mut error) = (0, None);
            for frame in frames {
                count.syscalls += 1;
                match self.queue.write(ring, frame) {
                    Ok(()) => written += 1,
                    Err(e) => {
                        error = e.raw_os_error();
                        break;
                    }
                }
            }
            let all = written == frames.len();
            self.plan.sent(ring, count, written);
            if all {
                continue;
            }
            match error {
                Some(libc::EAGAIN | libc::EINTR) => break,
                Some(libc::ENOBUFS | libc::ENOMEM) => {
                    self.again = Some(Instant::now() + NO_MEMORY);
                    break;
                }
                // The interface was switched off, or deleted.
                Some(code @ (libc::EIO | libc::EBADFD)) => {
                    self.gone = code == libc::EBADFD;
                    self.plan.drop_all(ring, count, DropReason::NoReceiver);
                }
                _ => self.plan.drop_first(ring, count, DropReason::Refused),
            }
        }
        count.batches += u64::from(count.frames > before);
    }

    fn link(&self) -> Link {
        self.watch.link()
    }
}

impl Sleeper for TapTx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        if self.gone {
            return Some(forever());
        }
        let on = self.again.is_none().then(|| (self.queue.as_fd(), Interest::Writable));
        Some(Sleep { on, until: self.again, ..Sleep::default() })
    }
}

struct TapRx {
    queue: TapQueue,
    /// Slots for the longest frame.
    per_frame: u32,
    /// The interface was deleted.
    gone: bool,
    watch: Arc<Watch>,
}

impl RxEngine for TapRx {
    fn sync(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) {
        let before = count.slots;
        for _ in 0..BATCH {
            if ring.room() < self.per_frame {
                break;
            }
            count.syscalls += 1;
            let frame = match self.queue.read(ring, self.per_frame) {
                Ok(frame) => frame,
                Err(e) => {
                    self.gone = e.raw_os_error() == Some(libc::EBADFD);
                    break;
                }
            };
            if frame.truncated {
                count.dropped.add(DropReason::Truncated, 1);
                continue;
            }
            let slot = if frame.len > 0 { set_frame(ring, 0, frame.len, frame.meta) } else { 0 };
            ring.deliver(slot);
            count.slots += u64::from(slot);
        }
        count.batches += u64::from(count.slots > before);
    }

    fn link(&self) -> Link {
        self.watch.link()
    }
}

impl Sleeper for TapRx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        self.watch.carrier.forget();
        Some(if self.gone { forever() } else { Sleep::on(self.queue.as_fd(), Interest::Readable) })
    }
}

/// The sleep of a queue to which nothing will happen any more: a descriptor of a deleted interface is always ready.
fn forever() -> Sleep<'static> {
    Sleep::default().until(Some(Instant::now() + Duration::from_secs(1)))
}

#[cfg(test)]
mod tests;
