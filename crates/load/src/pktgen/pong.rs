//! `-f pong`: sends arriving frames back, with source and destination addresses exchanged.

use super::job::{Done, Job, Lane, Setup, Tally};
use super::modes::{Mode, Role};
use super::{rx, tx};
use linerate_port::{RxQueue, TxQueue};
use linerate_ring::{Frame, flags};
use linerate_rt::{Machine, Progress, Sleeper};
use linerate_wire::EtherType;
use std::sync::Arc;

pub(super) const MODE: Mode = Mode {
    name: "pong",
    about: "send back what comes",
    role: Role::Other,
    burst: 1,
    single: true,
    far: None,
    job: |setup, lanes| Box::new(Pong::new(setup, lanes)),
};

/// All arrived frames are sent back at once, unless `-b` gives a limit.
const ALL: u32 = 65_536;

struct Pong {
    tx: Option<TxQueue>,
    rx: Option<RxQueue>,
    vnet: usize,
    burst: u32,
    left: u64,
    sent: u64,
    events: u64,
    /// True if the last slot was not the last of its frame.
    in_chain: bool,
    /// True if echoes wait for room.
    full: bool,
    times: Option<(u64, u64)>,
    stopped: bool,
    tally: Arc<Tally>,
}

impl Pong {
    fn new(setup: &Setup, lanes: Vec<Lane>) -> Self {
        let (tx, rx) = lanes.into_iter().next().map_or((None, None), |lane| (lane.tx, lane.rx));
        Self {
            tx,
            rx,
            vnet: setup.config.vnet,
            burst: setup.config.burst.unwrap_or(ALL),
            left: if setup.count == 0 { u64::MAX } else { setup.count },
            sent: 0,
            events: 0,
            in_chain: false,
            full: false,
            times: None,
            stopped: false,
            tally: setup.tally.clone(),
        }
    }

    /// Copies arrived frames into the transmit ring; returns the number of slots taken from the receive ring.
    fn echo(&mut self) -> u32 {
        let (Some(tx), Some(rx)) = (&mut self.tx, &mut self.rx) else { return 0 };
        let mut from = rx.ring.batch(self.burst);
        let mut to = tx.ring.reserve(from.len());
        let n = from.len().min(to.len());
        let (mut taken, mut put) = (0, 0);
        while taken < n && self.left > 0 {
            let i = taken;
            taken += 1;
            let Some((frame, slot)) = from.frame(i) else { continue };
            let mut echo = to.frame(put);
            // Both rings are in one region, so their buffers have one size.
            if !echo.copy_from(&frame) {
                continue;
            }
            if !self.in_chain {
                exchange(&mut echo, frame.len(), self.vnet);
            }
            to.set(put, frame.len(), slot & flags::MOREFRAG);
            put += 1;
            self.in_chain = slot & flags::MOREFRAG != 0;
            if !self.in_chain {
                self.sent += 1;
                self.left -= 1;
            }
        }
        to.commit(put);
        from.release(taken);
        taken
    }
}

/// Exchanges MAC addresses, and IP addresses, which changes no checksum.
fn exchange(frame: &mut Frame<'_>, len: usize, vnet: usize) {
    let mut head = [0; 64];
    let n = len.min(head.len());
    if n < vnet + 14 || !frame.read(0, &mut head[..n]) {
        return;
    }
    let mut swap = |a: usize, b: usize, each: usize| {
        if b + each <= n {
            let (first, second) = head.split_at_mut(b);
            first[a..a + each].swap_with_slice(&mut second[..each]);
        }
    };
    swap(vnet, vnet + 6, 6);
    let ip = vnet + 14;
    let mut ethertype = [0; 2];
    if frame.read(vnet + 12, &mut ethertype) {
        match EtherType(u16::from_be_bytes(ethertype)) {
            EtherType::IPV4 => swap(ip + 12, ip + 16, 4),
            EtherType::IPV6 => swap(ip + 8, ip + 24, 16),
            _ => {}
        }
    }
    let fits = frame.write(0, &head[..n]);
    debug_assert!(fits, "it was read from there");
}

impl Machine for Pong {
    fn handle(&mut self, now: u64) -> Progress {
        if let Some(rx) = &mut self.rx {
            rx.sync();
        }
        let taken = self.echo();
        if let Some(tx) = &mut self.tx {
            tx.sync();
            self.tally.set(self.sent, tx.counters().bytes, self.events);
            self.tally.came(self.sent);
        }
        // The last sync may have freed slots, and no wake-up will follow for them.
        let waiting = self.rx.as_ref().map_or(0, |rx| rx.ring.available());
        let room = self.tx.as_ref().map_or(0, |tx| tx.ring.free());
        self.full = waiting > 0 && room == 0;
        let more = waiting > 0 && room > 0 && self.left > 0;
        if taken > 0 {
            self.events += 1;
            let (first, _) = *self.times.get_or_insert((now, now));
            self.times = Some((first, now));
        }
        let pending = self.tx.as_ref().map_or(0, |tx| tx.ring.pending());
        match taken {
            _ if self.stopped || (self.left == 0 && pending == 0) => Progress::Done,
            0 if !more => Progress::Idle,
            _ => Progress::Worked,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        // While there is no room, arriving frames wake nobody.
        if let Some(rx) = self.rx.as_mut().filter(|_| !self.full) {
            visit(rx);
        }
        if let Some(tx) = self.tx.as_mut().filter(|tx| self.full || tx.ring.pending() > 0) {
            visit(tx);
        }
    }

    fn stop(&mut self, _: u64) {
        self.stopped = true;
    }
}

impl Job for Pong {
    fn finish(self: Box<Self>) -> Done {
        let mut done = Done { events: self.events, times: self.times, ..Done::default() };
        if let Some(tx) = &self.tx {
            tx::settle(&mut done, 0, tx, self.sent);
        }
        if let Some(rx) = self.rx {
            rx::settle(&mut done, 0, rx);
            // Arrived frames are not the frames sent: they have no place in the ledger.
            done.ledger.received = None;
            done.ledger.dropped.clear();
            done.ledger.in_flight = 0;
        }
        done
    }
}
