//! Frames that are known byte for byte, sending them and checking them.

use crate::rigs::{Far, FramePath};
use crate::sys::poll;
use linerate_port::{RxCounters, RxQueue, Sleep, Sleeper, TxCounters, TxQueue};
use linerate_ring::flags;
use std::time::{Duration, Instant};

/// No test takes longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// No single sleep takes longer; whoever sleeps looks again then.
pub(crate) const NAP: Duration = Duration::from_millis(20);

/// Frame `number` of so many bytes (at least 18): IEEE's local experimental Ethertype, its number, a pattern.
pub(crate) fn frame(number: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    bytes[..12].copy_from_slice(&[0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2]);
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes[14..18].copy_from_slice(&number.to_be_bytes());
    let mut x = number.wrapping_mul(0x9e37_79b9) | 1;
    for byte in &mut bytes[18..] {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = x.to_be_bytes()[0];
    }
    bytes
}

/// The number of a frame of ours; None for others (a kernel's neighbour discovery).
pub(crate) fn number(bytes: &[u8]) -> Option<u32> {
    let number = bytes.get(14..18)?;
    (bytes[12..14] == [0x88, 0xb5]).then(|| u32::from_be_bytes(number.try_into().unwrap()))
}

/// Frames to send.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    /// Frame n has `sizes[n % len]` bytes.
    pub(crate) sizes: &'a [usize],
    pub(crate) frames: u32,
    /// Slots committed between two syncs.
    pub(crate) batch: u32,
    /// Each frame is cut into two to five slots.
    pub(crate) chains: bool,
}

impl Load<'_> {
    pub(crate) fn len(&self, number: u32) -> usize {
        self.sizes[number as usize % self.sizes.len()]
    }

    fn parts(&self, number: u32, usable: usize) -> usize {
        let least = self.len(number).div_ceil(usable);
        if self.chains { least.max(2 + number as usize % 4) } else { least }
    }

    /// Commits frames from `next` on, a batch of slots at most; gives the next one.
    pub(crate) fn fill(&self, tx: &mut TxQueue, mut next: u32) -> u32 {
        let usable = tx.ring.usable();
        let mut batch = tx.ring.reserve(self.batch);
        let mut slot = 0;
        while next < self.frames {
            let (bytes, parts) = (frame(next, self.len(next)), self.parts(next, usable));
            let parts = u32::try_from(parts).unwrap();
            // A batch smaller than a frame takes the frame nevertheless.
            if slot + parts > batch.len() {
                break;
            }
            for (i, part) in (0..parts).zip(bytes.chunks(bytes.len().div_ceil(parts as usize))) {
                assert!(batch.frame(slot + i).write(0, part));
                batch.set(slot + i, part.len(), if i + 1 < parts { flags::MOREFRAG } else { 0 });
            }
            slot += parts;
            next += 1;
        }
        batch.commit(slot);
        next
    }
}

/// Frames that have arrived at a queue.
pub(crate) struct Inbox {
    part: Vec<u8>,
    in_part: bool,
    /// Frames of ours, in order.
    pub(crate) numbers: Vec<u32>,
    /// Frames of ours that came in more than one slot.
    pub(crate) chains: u32,
    pub(crate) slots: u64,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { part: Vec::new(), in_part: false, numbers: Vec::new(), chains: 0, slots: 0 }
    }

    /// Takes what the queue has, and checks every byte.
    pub(crate) fn take(&mut self, rx: &mut RxQueue, load: &Load<'_>) {
        rx.sync();
        let mut batch = rx.ring.batch(u32::MAX);
        let n = batch.len();
        self.slots += u64::from(n);
        for i in 0..n {
            let Some((part, word)) = batch.frame(i) else { continue };
            self.part.extend(part.to_vec());
            if word & flags::MOREFRAG != 0 {
                self.in_part = true;
                continue;
            }
            let bytes = std::mem::take(&mut self.part);
            let chain = std::mem::take(&mut self.in_part);
            let Some(number) = number(&bytes) else { continue };
            assert!(bytes == frame(number, load.len(number)), "frame {number} of {} bytes came changed", bytes.len());
            self.chains += u32::from(chain);
            self.numbers.push(number);
        }
        batch.release(n);
        assert!(!self.in_part, "a frame was delivered in part");
    }
}

/// Sleeps until a receiver has something, or for a nap.
pub(crate) fn rest_rx(rx: &mut RxQueue) {
    if let Some((fd, interest)) = rx.fall_asleep().and_then(|sleep| sleep.on) {
        poll(fd, interest, NAP);
    }
    rx.wake_up();
}

/// Waits as a sender does that has no slots left, but no longer than a nap.
pub(crate) fn rest_tx(tx: &mut TxQueue) {
    match tx.fall_asleep() {
        Some(Sleep { until: Some(due), .. }) => {
            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(NAP));
        }
        Some(Sleep { on: Some((fd, interest)), .. }) => _ = poll(fd, interest, Duration::from_millis(1)),
        _ => {}
    }
    tx.wake_up();
}

/// The end of an exchange.
pub(crate) struct Outcome {
    pub(crate) inbox: Inbox,
    pub(crate) sent: TxCounters,
    pub(crate) received: RxCounters,
}

/// Sends a load down a way and receives it, one thread doing both; ends when every frame is accounted for. To a receiver
/// that drops, batches are of less than half its slots: it gives slots back only with its next sync.
pub(crate) fn exchange(way: FramePath, load: &Load<'_>) -> Outcome {
    let (mut tx, name, until) = (way.tx, way.name, Instant::now() + LIMIT);
    let (mut inbox, mut next) = (Inbox::new(), 0);
    let mut rx = match way.far {
        Far::Now(mut rx) => {
            while next < load.frames || tx.ring.outstanding() > 0 {
                assert!(Instant::now() < until, "{name}: {next} of {} frames in time", load.frames);
                let before = (next, tx.ring.outstanding(), inbox.slots);
                // A receiver that drops is not sent more than it has slots for: nothing may be lost then.
                let under_way = next - u32::try_from(inbox.numbers.len()).unwrap();
                if way.blocks || under_way + load.batch <= rx.ring.slots() / 2 {
                    next = load.fill(&mut tx, next);
                }
                tx.sync();
                inbox.take(&mut rx, load);
                if before == (next, tx.ring.outstanding(), inbox.slots) {
                    std::thread::yield_now();
                }
            }
            rx
        }
        Far::Later(open) => {
            while next < load.frames || tx.ring.outstanding() > 0 {
                assert!(Instant::now() < until, "{name}: {next} of {} frames in time", load.frames);
                next = load.fill(&mut tx, next);
                tx.sync();
                std::thread::yield_now();
            }
            let sent = tx.counters();
            drop(tx);
            let mut rx = open();
            drain(&name, &sent, &mut rx, &mut inbox, load, until);
            return Outcome { received: rx.counters(), inbox, sent };
        }
    };
    let sent = tx.counters();
    drain(&name, &sent, &mut rx, &mut inbox, load, until);
    Outcome { received: rx.counters(), inbox, sent }
}

/// Receives until what was sent has arrived or was dropped.
pub(crate) fn drain(
    name: &str,
    sent: &TxCounters,
    rx: &mut RxQueue,
    inbox: &mut Inbox,
    load: &Load<'_>,
    until: Instant,
) {
    loop {
        inbox.take(rx, load);
        rx.refresh();
        let (arrived, dropped) = (inbox.numbers.len() as u64, rx.counters().dropped.total());
        if arrived + dropped >= sent.frames {
            assert_eq!(arrived + dropped, sent.frames, "{name}: {arrived} arrived, {dropped} dropped");
            return;
        }
        assert!(Instant::now() < until, "{name}: {} sent, {arrived} arrived, {dropped} dropped", sent.frames);
        rest_rx(rx);
    }
}
