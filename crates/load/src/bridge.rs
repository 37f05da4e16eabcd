//! Forwards all frames between two ports in both directions: by exchanging buffers where the ports share a region, else
//! by copy.

use crate::pktgen::Output;
use linerate_port::saturating_ns;
use linerate_port::{Port, RxQueue, TxQueue};
use linerate_ring::{flags, forward};
use linerate_rt::{Machine, Progress, Sleeper, Stop, WaitMode, Waiter, run};
use std::sync::Arc;
use std::time::Duration;

/// Settings of a bridge.
#[derive(Clone, Copy, Debug)]
pub struct BridgeConfig {
    /// Number of slots moved at a time.
    pub burst: u32,
    /// Wait mode of its thread.
    pub wait: WaitMode,
    /// Time between two lines of output; `None` for no output.
    pub report: Option<Duration>,
}

/// Counts of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// Number of frames.
    pub frames: u64,
    /// Number of bytes in the frames.
    pub bytes: u64,
    /// True if buffers were exchanged rather than copied.
    pub by_swap: bool,
}

/// One direction between two queues.
struct ForwardPath {
    from: usize,
    rx: RxQueue,
    tx: TxQueue,
    count: Forwarded,
    /// True if frames wait for room in the other ring.
    full: bool,
    /// Number of free slots that was too small for the parts of the next frame.
    refused: u32,
}

struct Bridge {
    ways: Vec<ForwardPath>,
    names: [String; 2],
    burst: u32,
    stopped: bool,
    patience: u64,
    report: Option<u64>,
    next: u64,
    output: Arc<Output>,
}

/// Time limit for frames already taken to leave when the bridge is told to stop, nanoseconds.
const FLUSH_NS: u64 = 200_000_000;

impl ForwardPath {
    /// Moves frames as far as there are any and there is room; true if it moved some, or can move more at once.
    fn pass(&mut self, burst: u32) -> bool {
        self.rx.sync();
        self.refused = 0;
        let swapped = {
            let (rx, tx) = (self.rx.ring.batch(burst), self.tx.ring.reserve(burst));
            forward(rx, tx, burst)
        };
        let taken = match swapped {
            Some((released, sent)) => {
                self.count.by_swap |= sent > 0;
                released
            }
            None => self.copy(burst),
        };
        self.tx.sync();
        let counters = self.tx.counters();
        (self.count.frames, self.count.bytes) = (counters.frames, counters.bytes);
        // The last sync may have freed slots, and no wake-up will follow for them.
        let (waiting, room) = (self.rx.ring.available(), self.tx.ring.free());
        let more = waiting > 0 && room > self.refused;
        self.full = waiting > 0 && !more;
        taken > 0 || more
    }

    fn copy(&mut self, burst: u32) -> u32 {
        let mut from = self.rx.ring.batch(burst);
        let mut to = self.tx.ring.reserve(u32::MAX);
        let (mut taken, mut put) = (0, 0);
        while taken < from.len() && put < to.len() {
            let meta = from.meta(taken);
            let Some((frame, slot)) = from.frame(taken) else {
                taken += 1;
                continue;
            };
            let first = put;
            if to.frame(put).copy_from(&frame) {
                to.set(put, frame.len(), slot & flags::MOREFRAG);
                put += 1;
            } else {
                // The other region's buffers are smaller: one slot becomes several.
                let (bytes, each) = (frame.to_vec(), to.frame(put).len());
                let parts = bytes.chunks(each);
                if parts.len() > (to.len() - put) as usize {
                    self.refused = to.len() - put;
                    break;
                }
                let last = parts.len() - 1;
                for (k, part) in parts.enumerate() {
                    let fits = to.frame(put).write(0, part);
                    debug_assert!(fits, "cut to what a buffer holds");
                    to.set(put, part.len(), if k < last { flags::MOREFRAG } else { slot & flags::MOREFRAG });
                    put += 1;
                }
            }
            if let Some(meta) = meta {
                to.set_meta(first, meta);
            }
            taken += 1;
        }
        to.commit(put);
        from.release(taken);
        taken
    }
}

impl Bridge {
    fn line(&self, way: &ForwardPath) -> String {
        let (from, to) = (&self.names[way.from], &self.names[1 - way.from]);
        let how = if way.count.by_swap { "buffers exchanged" } else { "copied" };
        format!("{from} -> {to}: {} packets {} bytes, {how}", way.count.frames, way.count.bytes)
    }
}

impl Machine for Bridge {
    fn handle(&mut self, now: u64) -> Progress {
        let burst = self.burst;
        let mut worked = false;
        self.ways.iter_mut().for_each(|way| worked |= way.pass(burst));
        if let Some(every) = self.report
            && now >= self.next
        {
            if self.next > 0 {
                self.ways.iter().for_each(|way| self.output.remark("main", 210, &self.line(way)));
            }
            self.next = now + every;
        }
        let pending: u32 = self.ways.iter().map(|way| way.tx.ring.pending()).sum();
        if self.stopped && (pending == 0 || now >= self.patience) {
            return Progress::Done;
        }
        if worked { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        if self.stopped { Some(self.patience) } else { self.report.map(|_| self.next) }
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        for way in &mut self.ways {
            if way.full || way.tx.ring.pending() > 0 {
                visit(&mut way.tx);
            }
            if !way.full {
                visit(&mut way.rx);
            }
        }
    }

    fn stop(&mut self, now: u64) {
        self.stopped = true;
        self.patience = now + FLUSH_NS;
    }
}

/// Forwards between two open ports, queue by queue, until it is told to stop. Returns the counts from the first to the
/// second, and back.
///
/// # Errors
/// One line, when the ports have different numbers of queues.
pub fn bridge(
    ports: &mut [Port; 2],
    config: BridgeConfig,
    stop: &Stop,
    output: &Arc<Output>,
) -> Result<[Forwarded; 2], String> {
    let names = [ports[0].info().name.clone(), ports[1].info().name.clone()];
    let queues = |port: &Port| port.info().tx_queues.min(port.info().rx_queues);
    let (a, b) = (queues(&ports[0]), queues(&ports[1]));
    if a != b {
        return Err(format!("{} has {a} queues, {} has {b}; open both with as many (queues=, @N)", names[0], names[1]));
    }
    let mut ways = Vec::new();
    for q in 0..a {
        for from in [0, 1] {
            let (rx, tx) = (ports[from].take_rx(q), ports[1 - from].take_tx(q));
            let (Some(rx), Some(tx)) = (rx, tx) else { continue };
            ways.push(ForwardPath { from, rx, tx, count: Forwarded::default(), full: false, refused: 0 });
        }
    }
    for way in &ways {
        let shared = way.rx.ring.region().id() == way.tx.ring.region().id();
        let how = if shared { "by exchanging buffers" } else { "by copy: the ports have a region each" };
        output.remark("main", 200, &format!("{} -> {}: {how}", names[way.from], names[1 - way.from]));
    }
    let report = config.report.map(saturating_ns);
    let output = output.clone();
    let mut machine = Bridge { ways, names, burst: config.burst, stopped: false, patience: 0, report, next: 0, output };
    run(&mut machine, &mut Waiter::new(config.wait), stop);
    let mut sums = [Forwarded::default(); 2];
    for way in &machine.ways {
        let sum = &mut sums[way.from];
        sum.frames += way.count.frames;
        sum.bytes += way.count.bytes;
        sum.by_swap |= way.count.by_swap;
    }
    Ok(sums)
}

#[cfg(test)]
mod tests;
