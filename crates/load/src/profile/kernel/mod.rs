//! The kernel's UDP path by differences between *cut points*: packets are refused or dropped at one place of the path
//! after the other, and what a place costs more than the one before is the stage between.
//!
//! Each cut is a network namespace's own: an address without a route, or a BPF program that counts and drops. What the
//! program itself costs is measured by one that lets all pass, in the same round, and taken off. A cut counts only if
//! as many packets died there as were sent, and none was seen behind.
//!
//! What no difference can tell: freeing a buffer is in the first cut that has one, so it is missing in the stage where
//! it happens without cuts; and a drop by netfilter takes the error's way back, which is a little shorter.

mod kernel_path;
mod lan;
mod rx;
mod tx;

use super::{Direction, Order, Source, Tell, missing_column};
use kernel_path::{KernelPath, measure_all};
use linerate_host::{Error, Namespace};
use linerate_result::Test;
use linerate_rt::{Stop, core_times, pin};
use std::time::Duration;

pub(super) const SOURCE: Source =
    Source { name: "kernel", kernel: true, ways: &[Direction::Tx, Direction::Rx], measure };

/// A column, and how its path is built in a namespace that is there for it alone.
struct Row {
    id: &'static str,
    title: &'static str,
    build: fn(&Order) -> Result<Box<dyn KernelPath>, Error>,
}

fn measure(order: &Order, stop: &Stop, tell: Tell<'_>) -> Vec<Test> {
    let rows = match order.way {
        Direction::Tx => tx::ROWS,
        Direction::Rx => rx::ROWS,
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

/// In a namespace of its own, on one processor.
fn alone(row: &Row, order: &Order, stop: &Stop) -> Result<Test, String> {
    let space = Namespace::new().map_err(|e| e.to_string())?;
    let inside = || {
        pin(&[order.core]).map_err(|e| format!("processor {}: {e}", order.core))?;
        let mut path = (row.build)(order).map_err(|e| e.to_string())?;
        measure_all(row.id, row.title, path.as_mut(), order, stop)
    };
    space.run_in(inside).map_err(|e| e.to_string())?
}

/// Cores that others may use before it is no longer quiet.
const QUIET: f64 = 0.3;

/// How many cores' worth of time is used by whoever, measured for a moment.
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
