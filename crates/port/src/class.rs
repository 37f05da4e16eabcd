//! Traffic classes: the transmit queue for frames of a priority, and the priorities that a queue carries.
//!
//! A class is a priority of 802.1Q, 0 to 7. Class c uses queue c*N/8 of N. With fewer queues than classes a queue
//! carries several, and stops while one of them is paused, as an adapter's queue does. With more, the queues between
//! those of two classes carry the lower class.

/// Traffic classes: the priorities of 802.1Q.
pub const CLASSES: usize = 8;
/// Time limit of a pause, in ns, unless it is renewed: a receiver that has stopped must not stop senders for good
/// (802.1Q leaves such a limit to the bridge).
pub(crate) const PATIENCE: u64 = 1_000_000_000;

/// Queue, of `queues`, that a class uses.
#[inline]
pub(crate) fn queue_of(class: usize, queues: usize) -> usize {
    class * queues / CLASSES
}

/// Classes that a queue of `queues` carries, one bit each.
pub(crate) fn classes_of(queue: usize, queues: usize) -> u8 {
    let set = |carries: &dyn Fn(usize) -> bool| (0..CLASSES).filter(|c| carries(*c)).fold(0, |set, c| set | 1 << c);
    let own = set(&|class| queue_of(class, queues) == queue);
    // A queue between those of two classes: the last class that uses a queue before it.
    let last = (0..CLASSES).rfind(|class| queue_of(*class, queues) <= queue);
    if own == 0 { set(&|class| Some(class) == last) } else { own }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_carries_what_leaves_through_it() {
        assert_eq!(classes_of(0, 1), 0xff);
        assert_eq!([0, 1].map(|q| classes_of(q, 2)), [0x0f, 0xf0]);
        assert_eq!([0, 1, 2].map(|q| classes_of(q, 3)), [0x07, 0x38, 0xc0]);
        assert_eq!([0, 1, 2, 15].map(|q| classes_of(q, 16)), [0x01, 0x01, 0x02, 0x80]);
        for queues in 1..=128 {
            for class in 0..CLASSES {
                assert_ne!(classes_of(queue_of(class, queues), queues) & 1 << class, 0, "{class} of {queues}");
            }
            assert!((0..queues).all(|q| classes_of(q, queues) != 0), "{queues}");
        }
    }
}
