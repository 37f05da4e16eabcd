//! Ports of a switch, their programs and the switch itself in one thread: only the switch's turns are timed.

use super::super::alone::{Stretches, on_core};
use super::super::traffic::{Traffic, station};
use super::super::{Missing, Setting, failed};
use linerate_port::switch::{Ledger, Policy, Switch};
use linerate_port::{Port, RxQueue, Sleeper, TxQueue, open_all};
use linerate_rt::Clock;
use linerate_text::saturating_ns;

const SLOTS: u32 = 512;
/// Frames of one batch of a flood.
const FLOCK: u32 = 32;
/// Longest frame's buffer, bytes: many rings shall fit into little memory.
const BUFFER: u32 = 2048;

/// State in which the receivers of a flood are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Receivers {
    Awake,
    Asleep,
}

/// Far end of a port.
struct Guest {
    tx: TxQueue,
    rx: RxQueue,
    asleep: bool,
    got: u64,
}

impl Guest {
    fn new(mut port: Port) -> Result<Self, Missing> {
        let no_queue = || failed("no queue");
        let (tx, rx) = (port.take_tx(0).ok_or_else(no_queue)?, port.take_rx(0).ok_or_else(no_queue)?);
        Ok(Self { tx, rx, asleep: false, got: 0 })
    }

    /// Sends copies of a frame as far as there is room, `most` at most; returns their number.
    fn send(&mut self, frame: &[u8], most: u32) -> Result<u32, Missing> {
        self.tx.sync();
        let mut batch = self.tx.ring.reserve(most);
        let n = batch.len();
        if !(0..n).all(|i| batch.put(i, frame)) {
            return Err(failed("a frame does not fit"));
        }
        batch.commit(n);
        self.tx.sync();
        Ok(n)
    }

    /// Takes all that has arrived, and sleeps again if it slept.
    fn drain(&mut self) {
        if self.asleep {
            self.rx.wake_up();
        }
        self.rx.sync();
        let batch = self.rx.ring.batch(u32::MAX);
        let n = batch.len();
        batch.release(n);
        self.rx.sync();
        self.got += u64::from(n);
        if self.asleep {
            self.rx.fall_asleep();
        }
    }
}

/// A switch, and the guests at its ports.
struct Rig {
    switch: Switch,
    guests: Vec<Guest>,
    clock: Clock,
}

impl Rig {
    /// Makes a switch of `n` ports that knows where station 2 is: at the second one.
    fn new(n: usize) -> Result<Self, Missing> {
        let names: Vec<String> = (0..n)
            .flat_map(|id| ["{", "}"].map(|end| format!("cable:scale{end}{id},slots={SLOTS},buf={BUFFER}")))
            .collect();
        let mut ports = open_all(&names).map_err(failed)?.into_iter();
        let (mut switch, mut guests) = (Switch::new(), Vec::new());
        while let (Some(near), Some(far)) = (ports.next(), ports.next()) {
            switch.attach(&format!("p{}", guests.len()), near, Policy::default()).map_err(failed)?;
            guests.push(Guest::new(far)?);
        }
        let mut rig = Self { switch, guests, clock: Clock::new() };
        rig.guests[1].send(&frame([0xff; 6], station(2)), 1)?;
        rig.settle();
        Ok(rig)
    }

    /// Lets the switch carry everything, and the guests take it.
    fn settle(&mut self) {
        while self.poll() {}
        self.guests.iter_mut().for_each(Guest::drain);
    }

    fn poll(&mut self) -> bool {
        self.switch.poll(self.clock.now())
    }

    /// Checks that the switch can account for every frame.
    fn judge(&self) -> Result<(), Missing> {
        match Ledger::of(&self.switch.ports()).unexplained {
            0 => Ok(()),
            n => Err(failed(format!("{n} frames are unexplained"))),
        }
    }
}

/// A frame of 60 bytes without FCS, of the local experimental EtherType (IEEE 802).
fn frame(dst: [u8; 6], src: [u8; 6]) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&dst);
    frame[6..12].copy_from_slice(&src);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame
}

/// Measures one flow on a switch of `n` ports: frames per second of the switch's time.
pub(super) fn flow(setting: &Setting, n: usize) -> Result<f64, Missing> {
    let limit = saturating_ns(setting.time);
    on_core(setting.cores[0], move || {
        let mut rig = Rig::new(n)?;
        let (mut traffic, mut times, mut frames) = (Traffic::new(), Stretches::new()?, 0);
        let until = rig.clock.now() + limit;
        let mut now = 0;
        while now < until {
            traffic.write(&mut rig.guests[0].tx)?;
            rig.guests[0].tx.sync();
            let before = rig.clock.now();
            rig.switch.poll(before);
            now = rig.clock.now();
            let receiver = &mut rig.guests[1].rx;
            receiver.sync();
            // More than a batch may have come: what is left would be counted again.
            let mut came = 0;
            while receiver.ring.available() > 0 {
                came += traffic.read(receiver);
            }
            times.add(now - before, came);
            frames += came;
            receiver.sync();
        }
        traffic.judge(frames)?;
        rig.judge()?;
        Ok(1e9 / times.each_ns()?)
    })
}

/// Measures a flood to all ports of a switch but one: frames flooded per second of the switch's time.
pub(super) fn flood(setting: &Setting, n: usize, receivers: Receivers) -> Result<f64, Missing> {
    let limit = saturating_ns(setting.time);
    on_core(setting.cores[0], move || {
        let mut rig = Rig::new(n)?;
        for guest in &mut rig.guests[1..] {
            (guest.asleep, guest.got) = (receivers == Receivers::Asleep, 0);
            guest.drain();
        }
        let all = frame([0xff; 6], station(1));
        let (mut times, mut sent) = (Stretches::new()?, 0);
        let until = rig.clock.now() + limit;
        let mut now = 0;
        while now < until {
            let flooded = rig.guests[0].send(&all, FLOCK)?;
            let before = rig.clock.now();
            while rig.switch.poll(before) {}
            now = rig.clock.now();
            times.add(now - before, flooded.into());
            sent += u64::from(flooded);
            rig.guests.iter_mut().for_each(Guest::drain);
        }
        rig.judge()?;
        match rig.guests[1..].iter().find(|guest| guest.got != sent) {
            Some(guest) => Err(failed(format!("of {sent} frames a port got {}", guest.got))),
            None => Ok(1e9 / times.each_ns()?),
        }
    })
}

/// Measures a flow beside a port that floods as much as it can: frames of the flow per second of the switch's time.
pub(super) fn beside(setting: &Setting, n: usize, floods: bool) -> Result<f64, Missing> {
    let limit = saturating_ns(setting.time);
    on_core(setting.cores[0], move || {
        let mut rig = Rig::new(n)?;
        let (one, all) = (frame(station(2), station(1)), frame([0xff; 6], station(3)));
        let (start, mut spent) = (rig.clock.now(), 0);
        rig.guests[1].got = 0;
        let mut flooded = 0;
        while rig.clock.now() < start + limit {
            rig.guests[0].send(&one, u32::MAX)?;
            if floods {
                flooded += rig.guests[2].send(&all, u32::MAX)?;
            }
            let before = rig.clock.now();
            rig.switch.poll(before);
            spent += rig.clock.now() - before;
            rig.guests.iter_mut().for_each(Guest::drain);
        }
        rig.judge()?;
        let flow: u64 =
            rig.switch.ports().iter().filter(|port| port.name == "p0").map(|port| port.count.received).sum();
        if floods && flooded == 0 {
            return Err(failed("nothing was flooded"));
        }
        Ok(flow as f64 * 1e9 / spent.max(1) as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn setting() -> Setting {
        let cores = [linerate_rt::cpus()[0]; 2];
        Setting { cores, time: Duration::from_millis(10), rounds: 1, peers: None }
    }

    #[test]
    fn every_frame_of_a_flow_and_of_a_flood_arrives() {
        assert!(flow(&setting(), 5).unwrap() > 0.0);
        for receivers in [Receivers::Awake, Receivers::Asleep] {
            assert!(flood(&setting(), 5, receivers).unwrap() > 0.0);
        }
        assert!(beside(&setting(), 5, true).unwrap() > 0.0 && beside(&setting(), 5, false).unwrap() > 0.0);
    }
}
