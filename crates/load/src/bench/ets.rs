//! Bench of the division of a link among traffic classes, where frames are admitted to an adapter.

use super::alone::{each_ns, on_core};
use super::{Bench, How, Missing, Peer, Setting, failed};
use linerate_nic::{Control, Count, Nic, NicConfig, NicTx};
use linerate_offload::{ClassTable, Selection};
use linerate_port::open_all;
use linerate_result::Unit;
use linerate_rt::Clock;
use std::time::Duration;

pub(super) const BENCH: Bench = Bench {
    name: "ets-8",
    about: "64-byte frames of eight interfaces, one in each of eight ETS classes with shares of 1 to 8, into the ring of null:; one core",
    unit: Unit::Ns,
    two_cores: false,
    bound: None,
    run: |setting| run(setting, true),
    peers: &[Peer { name: "without classes", how: How::Own(|setting| run(setting, false)), wanted: None }],
};

const INTERFACES: usize = 8;
/// Slots of the ring: frames between two syncs.
const SLOTS: u64 = 512;
const SIZE: usize = 64;

fn run(setting: &Setting, classes: bool) -> Result<f64, Missing> {
    let time = setting.time;
    on_core(setting.cores[0], move || measure(classes, time))
}

fn measure(classes: bool, time: Duration) -> Result<f64, Missing> {
    let port =
        open_all(&[&format!("null:ets,slots={SLOTS}")]).map_err(failed)?.pop().ok_or_else(|| failed("no port"))?;
    let config = NicConfig { interfaces: INTERFACES, mac: Some([2, 0, 0, 0, 1, 0]), ..NicConfig::default() };
    let mut nic = Nic::new(port, &config).map_err(failed)?;
    let control = nic.control();
    if classes {
        let shares = [1, 2, 3, 4, 5, 6, 7, 8].map(Selection::Share);
        let table = ClassTable::new([0, 1, 2, 3, 4, 5, 6, 7], shares, 0).ok_or_else(|| failed("no table"))?;
        control.set_classes(table);
        for vi in 0..INTERFACES {
            control.set_parameter(vi, "tx.priority", &vi.to_string()).map_err(failed)?;
        }
    }
    let mut tx = nic.take_tx(0).ok_or_else(|| failed("no queue"))?;
    let mut clock = Clock::new();
    // Where nothing divides the link, the program does.
    let most = if classes { SLOTS } else { SLOTS / INTERFACES as u64 };
    let ns = each_ns(time, || fill(&mut tx, &mut clock, most))?;
    judge(&control, classes)?;
    Ok(ns)
}

/// Has each interface in turn send up to `most` frames, as long as it may, until the ring is full; returns the number of
/// frames.
fn fill(tx: &mut NicTx, clock: &mut Clock, most: u64) -> Result<u64, Missing> {
    let mut sent = 0;
    tx.sync(clock.now());
    while tx.free() > 0 {
        let before = sent;
        for (vi, last) in (0..8).enumerate() {
            let mut frame = [0; SIZE];
            frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 1, last, 8, 0]);
            sent += (0..most).take_while(|_| tx.send(vi, &frame, &[], None)).count() as u64;
        }
        if sent == before {
            return Err(failed("nobody may send, and the ring has room"));
        }
    }
    Ok(sent)
}

/// Checks that each class has its share, to 2 %.
fn judge(control: &Control, classes: bool) -> Result<(), Missing> {
    let mut sent = [0; INTERFACES];
    for (vi, frames) in sent.iter_mut().enumerate() {
        *frames = control.counters(vi).map_err(failed)?.of(Count::TxFrames);
    }
    let all: u64 = sent.iter().sum();
    for (vi, frames) in sent.into_iter().enumerate().filter(|_| classes) {
        let wanted = all * (vi as u64 + 1) / 36;
        if frames.abs_diff(wanted) > wanted / 50 + SLOTS {
            return Err(failed(format!("class {vi} sent {frames} of {all} frames, its share is {wanted}")));
        }
    }
    Ok(())
}
