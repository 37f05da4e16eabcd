//! Forwards all frames between two ports in both directions: by exchanging buffers where the ports share a region, else
//! by copy. What a frame's metadata asks for and the other port does not do is done on the way.

use crate::pktgen::Output;
use crate::ports::{self, Links};
use linerate_port::{DropReason, Drops, Finished, Finisher, Link, Port, RxQueue, TxQueue, tag_inside};
use linerate_ring::{Gathered, flags, forward};
use linerate_rt::{Machine, Progress, Sleeper, Stop, WaitMode, Waiter, run};
use linerate_text::saturating_ns;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct BridgeConfig {
    /// Number of slots moved at a time.
    pub burst: u32,
    pub wait: WaitMode,
    /// Time between two lines of output; `None` for no output.
    pub report: Option<Duration>,
}

/// Counts of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    pub frames: u64,
    pub bytes: u64,
    /// Frames that did not arrive at the first port's ring, or were spoiled in it.
    pub refused: Drops,
    /// Frames that the second port did not take.
    pub dropped: Drops,
    /// Requests in the metadata that were carried out on the way.
    pub finished: Finished,
    /// True if buffers are exchanged rather than copied.
    pub by_swap: bool,
}

impl Forwarded {
    /// What was done on the way, and frames that were not carried, by reason; nothing that is empty.
    #[must_use]
    pub fn reasons(&self) -> Vec<(&'static str, String)> {
        let list = |counts: &mut dyn Iterator<Item = (&'static str, u64)>| {
            counts.map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
        };
        let mut all = vec![
            ("finished on the way (done because the second port does not)", list(&mut self.finished.iter())),
            ("not received", list(&mut self.refused.iter())),
            ("not sent", list(&mut self.dropped.iter())),
        ];
        all.retain(|(_, list)| !list.is_empty());
        all
    }
}

/// A receive queue.
struct Input {
    rx: RxQueue,
    /// True if frames wait for room in the other ring.
    full: bool,
}

/// The way to a transmit queue of one port, from one or more receive queues of the other.
struct ForwardPath {
    from: usize,
    inputs: Vec<Input>,
    /// Index of the input that is served.
    at: usize,
    /// Index of the input whose last frame is in the other ring in part.
    inside: Option<usize>,
    tx: TxQueue,
    count: Forwarded,
    /// Number of free slots that was too small for the parts of the next frame.
    refused: u32,
    finisher: Finisher,
    dropped: Drops,
    whole: Vec<u8>,
}

struct Bridge {
    ways: Vec<ForwardPath>,
    names: [String; 2],
    burst: u32,
    stopped: bool,
    patience: u64,
    report: Option<u64>,
    next: u64,
    links: Links,
    /// Time at which the links are looked at.
    look: u64,
    output: Arc<Output>,
}

/// Longest frame: a super-frame of 64 KiB with its headers and tags.
const LONGEST: usize = 65_536 + 64;
/// Time limit for frames already taken to leave when the bridge is told to stop, nanoseconds.
const FLUSH_NS: u64 = 200_000_000;
/// Time between two looks at the links, nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;

impl ForwardPath {
    /// Moves frames as far as there are any and there is room; true if it moved some, or can move more at once.
    fn pass(&mut self, burst: u32) -> bool {
        let mut worked = false;
        for at in 0..self.inputs.len() {
            self.at = at;
            // The rest of a frame comes before all others.
            if self.inside.is_none_or(|inside| inside == at) {
                worked |= self.pass_input(burst);
            } else {
                self.inputs[at].full = true;
            }
        }
        worked
    }

    fn pass_input(&mut self, burst: u32) -> bool {
        self.inputs[self.at].rx.sync();
        self.refused = 0;
        let swapped = {
            let (rx, tx) = (self.inputs[self.at].rx.ring.batch(burst), self.tx.ring.reserve(burst));
            forward(rx, tx, burst, |meta| self.finisher.takes(meta))
        };
        let taken = match swapped {
            Some((released, _)) => released,
            None => self.copy(burst),
        };
        let taken = taken + self.finish();
        let ring = &self.tx.ring;
        if let Some(last) = ring.pending().checked_sub(1) {
            self.inside = ring.pending_word(last).has(flags::MOREFRAG).then_some(self.at);
        }
        self.tx.sync();
        let counters = self.tx.counters();
        (self.count.frames, self.count.bytes) = (counters.frames, counters.bytes);
        // The last sync may have freed slots, and no wake-up will follow for them.
        let input = &mut self.inputs[self.at];
        let (waiting, room) = (input.rx.ring.available(), self.tx.ring.free());
        let more = waiting > 0 && room > self.refused;
        input.full = waiting > 0 && !more;
        taken > 0 || more
    }

    fn copy(&mut self, burst: u32) -> u32 {
        let mut from = self.inputs[self.at].rx.ring.batch(burst);
        let mut to = self.tx.ring.reserve(u32::MAX);
        let (mut taken, mut put) = (0, 0);
        while taken < from.len() && put < to.len() {
            let meta = from.meta(taken);
            if meta.is_some_and(|meta| !self.finisher.takes(&meta)) {
                break;
            }
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

    /// Carries the next frame, if its metadata asks for something that the other port does not do; returns the number of
    /// slots consumed.
    #[cold]
    fn finish_next(&mut self) -> u32 {
        let mut from = self.inputs[self.at].rx.ring.batch(u32::MAX);
        if from.is_empty() {
            return 0;
        }
        let Some(mut meta) = from.meta(0).filter(|meta| !self.finisher.takes(meta)).map(Some) else { return 0 };
        self.whole.clear();
        let slots = match from.gather(0, LONGEST, &mut self.whole) {
            Gathered::Later => return 0,
            Gathered::Whole { slots } => slots,
            Gathered::TooLong { slots } => {
                self.dropped.add(DropReason::TooLong, 1);
                from.release(slots);
                return slots;
            }
            // Counted by the ring.
            Gathered::Spoiled { slots } => {
                from.release(slots);
                return slots;
            }
        };
        tag_inside(&mut self.whole, &mut meta);
        let ring = &mut self.tx.ring;
        let (free, all) = (ring.free(), ring.slots() - 1);
        // What never finds room is put as far as there is some; all else waits for it.
        if self.finisher.slots(ring, &self.whole, meta).is_some_and(|needed| free < needed && needed <= all) {
            self.refused = free;
            return 0;
        }
        let put = self.finisher.put(ring, free, &self.whole, meta);
        if let Some((reason, n)) = put.dropped {
            self.dropped.add(reason, n.into());
        }
        self.inputs[self.at].rx.ring.batch(slots).release(slots);
        slots
    }

    fn finish(&mut self) -> u32 {
        let mut taken = 0;
        loop {
            match self.finish_next() {
                0 => return taken,
                slots => taken += slots,
            }
        }
    }

    /// True if no more frames follow, and all were handed on: at the end of a file.
    fn over(&self) -> bool {
        self.inputs.iter().all(|input| input.rx.ended() && input.rx.ring.available() == 0)
            && self.tx.ring.pending() == 0
    }

    fn counted(&mut self) -> Forwarded {
        let mut count = self.count;
        for input in &mut self.inputs {
            input.rx.refresh();
            count.refused += input.rx.counters().dropped;
        }
        count.dropped = self.tx.counters().dropped;
        count.dropped += self.dropped;
        count.finished = self.finisher.done();
        count
    }
}

impl Bridge {
    /// Prints a direction's counts so far.
    fn report(&mut self, at: usize) {
        let way = &mut self.ways[at];
        let count = way.counted();
        let (from, to) = (&self.names[way.from], &self.names[1 - way.from]);
        let how = if count.by_swap { "buffers exchanged" } else { "copied" };
        let mut line = format!("{from} -> {to}: {} packets {} bytes, {how}", count.frames, count.bytes);
        for (what, list) in count.reasons() {
            line += &format!("; {what}: {list}");
        }
        self.output.remark("main", 210, &line);
    }

    fn tell_links(&mut self) {
        for way in &self.ways {
            // The end of a file is no link that goes down.
            let open = way.inputs.iter().filter(|input| !input.rx.ended());
            let down = open.map(|input| input.rx.link()).find(|link| *link != Link::Up);
            if let Some(line) = self.links.change(&self.names[way.from], down.unwrap_or(Link::Up)) {
                self.output.remark("main", 220, &line);
            }
        }
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
                (0..self.ways.len()).for_each(|at| self.report(at));
            }
            self.next = now + every;
        }
        if now >= self.look {
            self.look = now + LOOK_NS;
            self.tell_links();
        }
        if !self.stopped && self.ways.iter().all(ForwardPath::over) {
            self.stop(now);
        }
        let out: u32 = self.ways.iter().map(|way| way.tx.ring.outstanding()).sum();
        if self.stopped && (out == 0 || now >= self.patience) {
            return Progress::Done;
        }
        if worked { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let next = self.report.map_or(u64::MAX, |_| self.next);
        Some(if self.stopped { self.patience } else { next.min(self.look) })
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        for way in &mut self.ways {
            let last = self.stopped && way.tx.ring.outstanding() > 0;
            if last || way.tx.ring.pending() > 0 || way.inputs.iter().any(|input| input.full) {
                visit(&mut way.tx);
            }
            way.inputs.iter_mut().filter(|input| !input.full).for_each(|input| visit(&mut input.rx));
        }
    }

    fn stop(&mut self, now: u64) {
        self.stopped = true;
        self.patience = now + FLUSH_NS;
    }
}

/// Forwards between two open ports until it is told to stop, or all that is read are files at their ends. Receive queue k
/// is forwarded to transmit queue k modulo their number. Returns the counts from the first to the second, and back; None
/// where the one is not received from, or the other not sent to.
///
/// # Errors
/// One line, when neither way is possible.
pub fn bridge(
    ports: &mut [Port; 2],
    config: BridgeConfig,
    stop: &Stop,
    output: &Arc<Output>,
) -> Result<[Option<Forwarded>; 2], String> {
    let names = [ports[0].info().name.clone(), ports[1].info().name.clone()];
    ports.iter().flat_map(ports::lines).for_each(|line| output.remark("main", 190, &line));
    let mut ways = Vec::new();
    for from in [0, 1] {
        let (received, sent) = (ports[from].info().rx_queues, ports[1 - from].info().tx_queues);
        for q in 0..sent.min(received) {
            let Some(tx) = ports[1 - from].take_tx(q) else { continue };
            let rx = (q..received).step_by(sent).filter_map(|q| ports[from].take_rx(q));
            let inputs: Vec<_> = rx.map(|rx| Input { rx, full: false }).collect();
            let to = ports[1 - from].info();
            let finisher = Finisher::new(to.caps, to.largest);
            let by_swap = inputs.iter().all(|input| input.rx.ring.swaps_with(&tx.ring));
            let (count, dropped) = (Forwarded { by_swap, ..Forwarded::default() }, Drops::default());
            let (at, inside, refused, whole) = (0, None, 0, Vec::new());
            ways.push(ForwardPath { from, inputs, at, inside, tx, count, refused, finisher, dropped, whole });
        }
    }
    if ways.is_empty() {
        let [a, b] = &names;
        let does = |port: &Port| if port.info().rx_queues > 0 { "read" } else { "written" };
        let does = ports.each_ref().map(does)[0];
        return Err(format!(
            "{a} and {b} are both {does}, so nothing can be forwarded; a capture that exists is read: to write one over, give mode=w"
        ));
    }
    for way in &ways {
        let how = if way.count.by_swap {
            "by exchanging buffers"
        } else {
            "by copy: the ports have a region each, or share one with another process"
        };
        output.remark("main", 200, &format!("{} -> {}: {how}", names[way.from], names[1 - way.from]));
    }
    let report = config.report.map(saturating_ns);
    let output = output.clone();
    let mut machine = Bridge {
        ways,
        names,
        burst: config.burst,
        stopped: false,
        patience: 0,
        report,
        next: 0,
        links: Links::default(),
        look: 0,
        output,
    };
    run(&mut machine, &mut Waiter::new(config.wait), stop);
    let mut sums = [None; 2];
    for way in &mut machine.ways {
        let (count, sum) = (way.counted(), sums[way.from].get_or_insert_with(Forwarded::default));
        sum.frames += count.frames;
        sum.bytes += count.bytes;
        sum.by_swap |= count.by_swap;
        sum.refused += count.refused;
        sum.dropped += count.dropped;
        sum.finished += count.finished;
    }
    Ok(sums)
}

#[cfg(test)]
mod tests;
