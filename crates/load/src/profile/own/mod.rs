//! linerate's stack. Each stage is measured by two methods, both from the start of a packet to the end of a stage, with the
//! same up to the stage before subtracted. *Time-stamps*: for one batch in [`EVERY`](look::EVERY), the processor's counter
//! is read at the end of the stage, and the packet goes on. *Early return*: all packets are returned there. In both, a
//! packet begins when the one before has ended, by a reading that waits for it; the cost of that alone is subtracted.
//!
//! A measuring point is not free even when it is not used: the data made up to there must be in memory, where the
//! compiler would have kept it in registers. The whole path is measured with the same code and no point in use; its
//! time when compiled without such points is reported beside it.

mod look;
mod tcp;
mod tcp_in;
mod tcp_out;
mod udp;

use super::{Direction, Order, Protocol, Source, Tell, Whole, column, missing_column};
use linerate_result::{How, Stage as Row, Summary, Test, Unit};
use linerate_rt::{Stop, cpus, pin};
use linerate_stack::{STAGES, Stage};

pub(super) const SOURCE: Source = Source {
    name: "linerate",
    kernel: false,
    ways: &[(Protocol::Udp, Direction::Tx), (Protocol::Tcp, Direction::Tx), (Protocol::Tcp, Direction::Rx)],
    measure,
};

struct Column {
    id: &'static str,
    title: &'static str,
    measure: fn(&Order, &Stop) -> Result<Measured, String>,
}

struct Measured {
    stages: Vec<Row>,
    wholes: Vec<Whole>,
    /// Time of the whole path when compiled without measuring points, nanoseconds.
    bare: Vec<f64>,
}

fn measure(order: &Order, stop: &Stop, tell: Tell<'_>) -> Vec<Test> {
    let columns = match (order.protocol, order.way) {
        (Protocol::Udp, Direction::Tx) => udp::COLUMNS,
        (Protocol::Udp, Direction::Rx) => &[],
        (Protocol::Tcp, Direction::Tx) => tcp_out::COLUMNS,
        (Protocol::Tcp, Direction::Rx) => tcp_in::COLUMNS,
    };
    let before = cpus();
    let mut tests = Vec::new();
    for Column { id, title, measure } in columns {
        if stop.asked() {
            break;
        }
        tell(title);
        let measured = pin(&[order.core])
            .map_err(|e| format!("processor {}: {e}", order.core))
            .and_then(|()| measure(order, stop));
        tests.push(match measured {
            Ok(Measured { stages, wholes, mut bare }) => {
                let bare = Summary::of_values(&mut bare, Unit::Ns).map(|ns| ("without probes".to_owned(), ns));
                Test { further: bare.into_iter().collect(), ..column(id, title, order, stages, &wholes) }
            }
            Err(why) => missing_column(id, title, order, &why),
        });
    }
    // The thread ran there before, so this fails only if that was forbidden meanwhile.
    let _ = pin(&before);
    tests
}

/// Rows of stages that were measured by one method.
fn rows(how: How, stages: &[(Stage, &str)], all: &[Vec<f64>]) -> Vec<Row> {
    let name = |stage: Stage| STAGES.iter().find(|(s, _)| *s == stage).map_or("", |(_, name)| name);
    stages.iter().zip(all).map(|((stage, about), rounds)| Row::new(name(*stage), how, about, rounds)).collect()
}
