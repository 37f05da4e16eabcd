//! Transmit queue for frames of a priority, and the priorities that a queue carries.
//!
//! Frames of a priority belong to a traffic class ([`TrafficClass`]), and each class has a queue. With N queues up to 8
//! there are N classes; a queue that carries several priorities stops while one of them is paused, as an adapter's queue
//! does. With more than 8 there are 8 classes, class c has queue c*N/8, and the queues between those of two classes carry
//! the lower class.

use linerate_offload::TrafficClass;
use linerate_wire::Priority;

/// Time limit of a pause, in ns, unless it is renewed: a receiver that has stopped must not stop senders for good
/// (802.1Q leaves such a limit to the bridge).
pub(crate) const PATIENCE: u64 = 1_000_000_000;

/// Queue, of `queues`, that frames of a priority use.
#[inline]
pub(crate) fn queue_of(priority: Priority, queues: usize) -> usize {
    let class = TrafficClass::of(priority, queues).index();
    if queues > TrafficClass::MOST { class * queues / TrafficClass::MOST } else { class }
}

/// Priorities that a queue of `queues` carries, one bit each.
pub(crate) fn priorities_of(queue: usize, queues: usize) -> u8 {
    // A queue between those of two classes: the last class that uses a queue up to it.
    let used = Priority::ALL.map(|priority| queue_of(priority, queues)).into_iter().filter(|used| *used <= queue).max();
    let carried = Priority::ALL.into_iter().filter(|priority| Some(queue_of(*priority, queues)) == used);
    carried.fold(0, |set, priority| set | priority.bit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_carries_what_leaves_through_it() {
        assert_eq!(priorities_of(0, 1), 0xff);
        assert_eq!([0, 1].map(|q| priorities_of(q, 2)), [0x0f, 0xf0]);
        assert_eq!([0, 1, 2].map(|q| priorities_of(q, 3)), [0x0f, 0x30, 0xc0]);
        // Priority 1, "background", is served last where it has a class of its own.
        assert_eq!([0, 1, 2, 15].map(|q| priorities_of(q, 16)), [0x02, 0x02, 0x01, 0x80]);
        for queues in 1..=128 {
            for priority in Priority::ALL {
                let carried = priorities_of(queue_of(priority, queues), queues);
                assert_ne!(carried & priority.bit(), 0, "{priority:?} of {queues}");
            }
            assert!((0..queues).all(|q| priorities_of(q, queues) != 0), "{queues}");
        }
    }
}
