//! Reception by a mapped ring of blocks (`rx=ring`): the kernel delivers a block when it is full, or a millisecond after its
//! first frame.

use crate::counters::{DropReason, RxCounters};
use crate::info::Link;
use crate::interface::Carrier;
use crate::queue::RxEngine;
use crate::sleep::{Interest, Sleep, Sleeper};
use crate::sys::block_ring::BlockRing;
use linerate_ring::OwnRx;
use linerate_ring::layout::MAX_FRAGS;
use std::os::fd::AsFd;
use std::sync::Arc;

pub(super) struct RingRx {
    blocks: BlockRing,
    carrier: Arc<Carrier>,
}

impl RingRx {
    pub(super) fn new(blocks: BlockRing, carrier: &Arc<Carrier>) -> Self {
        Self { blocks, carrier: carrier.clone() }
    }
}

impl RxEngine for RingRx {
    fn sync(&mut self, ring: &mut OwnRx<'_>, count: &mut RxCounters) {
        let before = ring.available();
        let most = ring.usable() * MAX_FRAGS.min(ring.slots() as usize - 1);
        while let Some(frame) = self.blocks.frame() {
            if frame.truncated {
                count.dropped.add(DropReason::Truncated, 1);
            } else if frame.bytes.len() > most {
                count.dropped.add(DropReason::TooLong, 1);
            } else if !ring.deliver_copy(frame.bytes, frame.meta) {
                break;
            }
            self.blocks.pass();
        }
        let new = ring.available() - before;
        count.slots += u64::from(new);
        count.batches += u64::from(new > 0);
        if self.blocks.losing() {
            self.refresh(count);
        }
    }

    fn refresh(&mut self, count: &mut RxCounters) {
        count.syscalls += 1;
        count.dropped.add(DropReason::NoRoom, self.blocks.dropped());
    }

    fn link(&self) -> Link {
        self.carrier.link()
    }
}

impl Sleeper for RingRx {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        self.carrier.forget();
        (!self.blocks.ready()).then(|| Sleep::on(self.blocks.as_fd(), Interest::Readable))
    }
}
