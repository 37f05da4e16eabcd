//! Monitors: copies of the frames that pass the rings of a port of this process. A monitor is the right end of a cable of its own,
//! into whose left end the monitored rings put what passes them; what it has no room for is dropped, as with netmap.

use crate::sys::process::lock;
use linerate_port::{Port, TxQueue, open_all};
use linerate_ring::flags::MOREFRAG;
use linerate_text::cut;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

/// Slot flag (`NS_TXMON`): the frame was sent by the monitored port, not received.
pub(crate) const TXMON: u16 = 0x40;

/// A place for copies: one queue of a monitor.
pub(crate) type Place = Arc<Mutex<TxQueue>>;

/// What a ring copies its frames for.
#[derive(Default)]
pub(crate) struct Taps {
    places: Vec<Weak<Mutex<TxQueue>>>,
    /// The frame at hand, which may come slot by slot: a monitor gets it whole or not at all.
    frame: Vec<u8>,
}

impl Taps {
    /// True if somebody looks.
    pub(crate) fn any(&self) -> bool {
        !self.places.is_empty()
    }

    pub(crate) fn add(&mut self, place: &Place) {
        // Its beginning was not seen.
        self.frame.clear();
        self.places.push(Arc::downgrade(place));
    }

    /// Takes a part of a frame, and copies it with its last one; its slots carry `flag`.
    pub(crate) fn see(&mut self, part: impl FnOnce(&mut Vec<u8>), ends: bool, flag: u16) {
        part(&mut self.frame);
        if !ends {
            return;
        }
        self.places.retain(|place| place.upgrade().is_some_and(|place| copy(&self.frame, &place, flag)));
        self.frame.clear();
    }

    /// Has the monitors see what was copied.
    pub(crate) fn flush(&self) {
        self.places.iter().filter_map(Weak::upgrade).for_each(|place| lock(&place).sync());
    }
}

/// Puts a frame into a monitor's queue, whole or not at all.
fn copy(frame: &[u8], place: &Place, flag: u16) -> bool {
    let mut queue = lock(place);
    let pieces = frame.chunks(queue.ring.usable());
    let n = cut(pieces.len(), u32::MAX);
    if queue.ring.free() < n {
        queue.sync();
    }
    let mut batch = queue.ring.reserve(n);
    if batch.len() == n {
        for (i, piece) in (0..).zip(pieces) {
            let more = if i + 1 < n { MOREFRAG } else { 0 };
            if batch.put(i, piece) {
                batch.set(i, piece.len(), more | flag);
            }
        }
        batch.commit(n);
    }
    true
}

/// A monitor of so many queues and slots: its port, and the places for copies with the port that they are of.
pub(crate) fn open(queues: usize, slots: u32) -> Result<(Port, Vec<Place>, Port), linerate_port::OpenError> {
    static MONITORS: AtomicU32 = AtomicU32::new(0);
    let name = format!("cable:monitor-{}-{}", std::process::id(), MONITORS.fetch_add(1, Relaxed));
    // A slot's bytes fit into one of its own.
    let [left, right] = ['{', '}'].map(|brace| format!("{name}{brace}1,queues={queues},slots={slots},buf=4096"));
    let mut ends = open_all(&[&left, &right])?.into_iter();
    let (Some(mut left), Some(right)) = (ends.next(), ends.next()) else { unreachable!("two ends were asked for") };
    let places = (0..queues).filter_map(|queue| left.take_tx(queue).map(|tx| Arc::new(Mutex::new(tx)))).collect();
    Ok((left, places, right))
}
