//! The engine of a packet port's transmit queues.

use crate::counters::{DropReason, TxCounters};
use crate::frames::{Outgoing, SendPlan};
use crate::info::Link;
use crate::interface::Carrier;
use crate::queue::TxEngine;
use crate::sleep::{Interest, Sleep, Sleeper};
use crate::sys::socket::{MOST, Messages};
use linerate_ring::{Meta, OwnTx};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval before another attempt on an interface whose queue was full: about the time that a 10 Gb/s link takes for
/// 64 frames.
const FULL: Duration = Duration::from_micros(50);
/// Time after which an interface that is up but has had no room counts as stuck: no link's queue takes so long to
/// drain.
const HOPELESS: Duration = Duration::from_millis(200);

pub(super) struct PacketTx {
    /// Socket for frames without offload requests: bypasses the queueing discipline.
    plain: OwnedFd,
    /// Socket for frames that request a checksum or segmentation: with virtio headers, and through the queueing
    /// discipline, because past it the kernel drops frames that the driver cannot segment itself.
    asking: OwnedFd,
    carrier: Arc<Carrier>,
    plan: SendPlan,
    messages: Messages,
    /// The frames sent last had offload requests.
    asked: bool,
    /// Time of the next attempt after the interface's queue was full: there is no notification of room.
    again: Option<Instant>,
    /// Time since which it has been full.
    full_since: Option<Instant>,
}

impl PacketTx {
    pub(super) fn new(plain: OwnedFd, asking: OwnedFd, carrier: &Arc<Carrier>, largest: usize) -> Self {
        let (plan, messages) = (SendPlan::new(largest, true), Messages::new());
        Self { plain, asking, carrier: carrier.clone(), plan, messages, asked: false, again: None, full_since: None }
    }
}

/// True if a frame requests an offload of the kernel.
fn asks(frame: &Outgoing) -> bool {
    frame.meta.is_some_and(|meta| meta.gso_type != 0 || meta.flags & Meta::NEEDS_CSUM != 0)
}

impl TxEngine for PacketTx {
    fn sync(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) {
        self.again = None;
        let before = count.frames;
        loop {
            let frames = self.plan.make(ring, count, MOST);
            if frames.is_empty() {
                break;
            }
            count.syscalls += 1;
            self.asked = asks(&frames[0]);
            let alike = frames.iter().position(|frame| asks(frame) != self.asked).unwrap_or(frames.len());
            let socket = if self.asked { &self.asking } else { &self.plain };
            let error = match self.messages.send(socket.as_fd(), ring, &frames[..alike], self.asked) {
                Ok(n) => {
                    self.full_since = None;
                    self.plan.sent(ring, count, n);
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                // The socket's buffer is full; poll reports when it has room.
                Some(libc::EAGAIN | libc::EINTR) => break,
                Some(libc::ENOBUFS) if self.carrier.look() == Link::Up => {
                    let now = Instant::now();
                    if now - *self.full_since.get_or_insert(now) < HOPELESS {
                        self.again = Some(now + FULL);
                        break;
                    }
                    self.full_since = None;
                    self.plan.drop_first(ring, count, DropReason::Refused);
                }
                Some(libc::ENOBUFS | libc::ENETDOWN | libc::ENXIO) => {
                    self.plan.drop_all(ring, count, DropReason::NoReceiver);
                }
                Some(libc::EMSGSIZE) => self.plan.drop_first(ring, count, DropReason::TooLong),
                _ => self.plan.drop_first(ring, count, DropReason::Refused),
            }
        }
        count.batches += u64::from(count.frames > before);
    }

    fn link(&self) -> Link {
        self.carrier.link()
    }
}

impl Sleeper for PacketTx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        let socket = if self.asked { &self.asking } else { &self.plain };
        let on = self.again.is_none().then(|| (socket.as_fd(), Interest::Writable));
        Some(Sleep { on, until: self.again, ..Sleep::default() })
    }
}
