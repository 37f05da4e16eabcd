//! A look at all that a receive queue delivers, for whoever keeps a record of it: slots are shown before the queue's user reads them.

use crate::counters::RxCounters;
use crate::info::Link;
use crate::port::Port;
use crate::queue::{RxEngine, RxQueue};
use crate::sleep::Sleeper;
use linerate_ring::RxRing;

/// Reader of the bytes of a slot: a whole frame, or a part of one that is longer than a slot.
pub type Eye = Box<dyn FnMut(&[u8]) + Send>;

impl Port {
    /// Shows what the port delivers from now on, each receive queue that was not taken yet to an eye of its own. Nothing is copied. What
    /// another process can write to is not shown.
    pub fn show(&mut self, mut eye: impl FnMut() -> Eye) {
        self.change_rx(|rx| {
            let mut eye = eye();
            shown(rx, move |ring, new| {
                let all = ring.available();
                let mut batch = ring.batch(all);
                for at in all - new..all {
                    if let Some((frame, _)) = batch.frame(at) {
                        frame.bytes().map(&mut eye);
                    }
                }
            })
        });
    }
}

/// Shows a queue's ring after each sync that delivered something, with the number of slots delivered.
pub(crate) fn shown(rx: RxQueue, look: impl FnMut(&mut RxRing, u32) + Send + 'static) -> RxQueue {
    let RxQueue { ring, engine, count } = rx;
    RxQueue { ring, engine: Box::new(Shown { inner: engine, look }), count }
}

struct Shown<L> {
    inner: Box<dyn RxEngine>,
    look: L,
}

impl<L: FnMut(&mut RxRing, u32) + Send> RxEngine for Shown<L> {
    #[inline]
    fn serve(&mut self, ring: &mut RxRing, count: &mut RxCounters) {
        let before = ring.available();
        self.inner.serve(ring, count);
        let new = ring.available().saturating_sub(before);
        if new > 0 {
            (self.look)(ring, new);
        }
    }

    fn pause(&mut self, priorities: u8) {
        self.inner.pause(priorities);
    }

    fn refresh(&mut self, count: &mut RxCounters) {
        self.inner.refresh(count);
    }

    fn link(&self) -> Link {
        self.inner.link()
    }

    fn link_generation(&self) -> u32 {
        self.inner.link_generation()
    }

    fn ended(&self) -> bool {
        self.inner.ended()
    }
}

impl<L> Sleeper for Shown<L> {
    fn behind(&mut self) -> Option<&mut dyn Sleeper> {
        Some(&mut *self.inner)
    }
}

#[cfg(test)]
mod tests {
    use crate::open_all;
    use std::sync::{Arc, Mutex};

    #[test]
    fn each_frame_is_shown_once_before_it_is_read() {
        let mut ports = open_all(&["cable:look{1", "cable:look}1"]).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        ports[1].show(|| {
            let seen = seen.clone();
            Box::new(move |bytes| seen.lock().unwrap().push(bytes.to_vec()))
        });
        let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
        let send = |tx: &mut crate::TxQueue, bytes: &[u8]| {
            let mut batch = tx.ring.reserve(1);
            assert!(batch.put(0, bytes));
            batch.commit(1);
            tx.sync();
        };
        for bytes in [b"one", b"two"] {
            send(&mut tx, bytes);
        }
        rx.sync();
        rx.ring.batch(1).release(1);
        send(&mut tx, b"three");
        rx.sync();
        rx.sync();
        assert_eq!(*seen.lock().unwrap(), [&b"one"[..], b"two", b"three"]);
    }
}
