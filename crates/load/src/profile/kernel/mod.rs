//! The kernel's path of UDP and TCP by differences between *cut points*: packets are refused or dropped at one point of
//! the path after the other, and the additional cost of a point over the one before is the stage between them.
//!
//! Each cut belongs to a network namespace: an address without a route, or a BPF program that counts and drops. The
//! cost of the program itself is measured by one that lets all pass, in the same round, and subtracted. A cut counts
//! only if as many packets ended there as were sent, and none was seen beyond.
//!
//! Limits of the method: freeing a buffer is in the first cut that has one, so it is missing in the stage where it
//! happens without cuts; and a drop by netfilter returns by the error path, which is a little shorter.

mod kernel_path;
mod lan;
mod rx;
mod tcp_rx;
mod tcp_tx;
mod tx;

use super::{Direction, Order, Protocol, Source, Tell, missing_column};
use kernel_path::{KernelPath, measure_all};
use linerate_host::{Error, Namespace};
use linerate_result::Test;
use linerate_rt::{Stop, core_times, pin};
use std::time::Duration;

pub(super) const SOURCE: Source = Source {
    name: "kernel",
    kernel: true,
    ways: &[
        (Protocol::Udp, Direction::Tx),
        (Protocol::Udp, Direction::Rx),
        (Protocol::Tcp, Direction::Tx),
        (Protocol::Tcp, Direction::Rx),
    ],
    measure,
};

/// A column, and the function that builds its path in a namespace of its own.
struct Row {
    id: &'static str,
    title: &'static str,
    build: fn(&Order) -> Result<Box<dyn KernelPath>, Error>,
}

fn measure(order: &Order, stop: &Stop, tell: Tell<'_>) -> Vec<Test> {
    let rows = match (order.protocol, order.way) {
        (Protocol::Udp, Direction::Tx) => tx::ROWS,
        (Protocol::Udp, Direction::Rx) => rx::ROWS,
        (Protocol::Tcp, Direction::Tx) => tcp_tx::ROWS,
        (Protocol::Tcp, Direction::Rx) => tcp_rx::ROWS,
    };
    let busy = busy_cores();
    let mut tests = Vec::new();
    for row in rows {
        if stop.asked() {
            break;
        }
        tell(row.title);
        let mut test = match alone(row, order, stop) {
            Ok(test) => test,
            Err(why) => missing_column(row.id, row.title, order, &why),
        };
        if busy > QUIET {
            test.warnings.push(format!("the machine was not quiet before: {busy:.1} cores were busy"));
        }
        tests.push(test);
    }
    tests
}

/// Measures in a namespace of its own, on one processor.
fn alone(row: &Row, order: &Order, stop: &Stop) -> Result<Test, String> {
    let space = Namespace::new().map_err(|e| e.to_string())?;
    let inside = || {
        pin(&[order.core]).map_err(|e| format!("processor {}: {e}", order.core))?;
        let mut path = (row.build)(order).map_err(|e| e.to_string())?;
        measure_all(row.id, row.title, path.as_mut(), order, stop)
    };
    space.run_in(inside).map_err(|e| e.to_string())?
}

/// Load of other programs, in cores, above which the machine is not quiet.
const QUIET: f64 = 0.3;

/// Number of cores in use by all programs, measured for a moment.
fn busy_cores() -> f64 {
    const MOMENT: Duration = Duration::from_millis(200);
    let before = core_times();
    std::thread::sleep(MOMENT);
    let used = core_times().into_iter().zip(before).map(|(now, before)| {
        let spent = now.since(before);
        spent.user + spent.system + spent.irq + spent.softirq + spent.steal
    });
    used.sum::<Duration>().as_secs_f64() / MOMENT.as_secs_f64()
}
