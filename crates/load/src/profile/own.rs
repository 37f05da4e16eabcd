//! linerate's stack: slow path, flow table and fast path, over a port that discards all frames.
//!
//! Each stage is measured by two methods, both from the start of a datagram to the end of a stage, with the same up to
//! the stage before subtracted. *Time-stamps*: for one batch in [`EVERY`], the processor's counter is read at the end
//! of the stage, and the datagram goes on. *Early return*: all datagrams are returned there. In both, a datagram begins
//! when the one before has ended, by a reading that waits for it; the cost of that alone is subtracted.
//!
//! A measuring point is not free even when it is not used: the data made up to there must be in memory, where the
//! compiler would have kept it in registers. The whole path is measured with the same code and no point in use; its
//! time when compiled without such points is reported beside it.

use super::{Direction, HEADERS, Order, Source, Span, Tell, Whole, column, missing_column};
use linerate_result::{How, Stage as Row, Summary, Test, Unit};
use linerate_rt::net::{Node, Options};
use linerate_rt::{Stop, cpus, monotonic_ns, pin, ticks};
use linerate_stack::{Path, Probe, STAGES, SendError, Stage, UdpId};
use linerate_wire::MacAddr;
use std::net::Ipv4Addr;

pub(super) const SOURCE: Source = Source { name: "linerate", kernel: false, ways: &[Direction::Tx], measure };

/// A column of the table.
struct Column {
    id: &'static str,
    title: &'static str,
    path: Path,
    stages: &'static [(Stage, &'static str)],
}

const COLUMNS: &[Column] = &[
    Column { id: "tx-long", title: "linerate, long way", path: Path::Long, stages: LONG },
    Column { id: "tx-flow", title: "linerate, flow table", path: Path::Flow, stages: LONG },
    Column { id: "tx-fast", title: "linerate, fast path", path: Path::Fast, stages: FAST },
];

const LONG: &[(Stage, &str)] = &[
    (Stage::Socket, "the socket is found, the destination checked"),
    (Stage::Route, "source address and next hop; with the flow table, its entry"),
    (Stage::Udp, "UDP header and checksum"),
    (Stage::Ip, "IPv4 header and checksum"),
    (Stage::Neighbour, "the next hop's hardware address"),
    (Stage::Ethernet, "the Ethernet header"),
    (Stage::Loopback, "whether the host's own sockets are meant too"),
    (Stage::Ring, "headers and payload into the slot, the hand-over, and what the socket keeps of it"),
];

const FAST: &[(Stage, &str)] = &[
    (Stage::Socket, "the socket is found, its kept header looked at"),
    (Stage::Ring, "header, length, identification, checksums and payload into the slot, and the hand-over"),
];

/// One batch in so many is stamped.
const EVERY: usize = 8;
/// Number of batches in which every stage has its turn.
const LEAST: usize = EVERY * STAGES.len();
/// Datagrams between two syncs.
const BATCH: u32 = 256;
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Measuring point for the datagrams of a batch.
#[derive(Clone, Copy)]
enum Look {
    Nowhere,
    /// Read the counter there.
    Stamp(Stage),
    /// Return there.
    Back(Stage),
}

/// Probe for all kinds of measurement. It is one type, so that stamped, returned and whole datagrams run the same code.
struct Looker {
    after: usize,
    back: bool,
    at: u64,
}

impl Probe for Looker {
    #[inline]
    fn passed<M: ?Sized>(&mut self, stage: Stage, made: &M) -> bool {
        if stage as usize != self.after {
            return true;
        }
        std::hint::black_box(made);
        if !self.back {
            self.at = ticks();
        }
        !self.back
    }
}

/// A probe for the datagrams of a batch.
trait Watch: Probe {
    fn new(look: Look) -> Self;
    /// Counter value at the measuring point.
    fn at(&self) -> u64;
}

impl Watch for Looker {
    fn new(look: Look) -> Self {
        let (after, back) = match look {
            Look::Nowhere => (STAGES.len(), false),
            Look::Stamp(stage) => (stage as usize, false),
            Look::Back(stage) => (stage as usize, true),
        };
        Self { after, back, at: 0 }
    }

    fn at(&self) -> u64 {
        self.at
    }
}

/// A probe that does nothing, which the compiler knows.
impl Watch for () {
    fn new(_: Look) -> Self {}

    fn at(&self) -> u64 {
        0
    }
}

fn measure(order: &Order, stop: &Stop, tell: Tell<'_>) -> Vec<Test> {
    let before = cpus();
    let mut tests = Vec::new();
    for Column { id, title, path, stages } in COLUMNS {
        if stop.asked() {
            break;
        }
        tell(title);
        let measured = pin(&[order.core])
            .map_err(|e| format!("processor {}: {e}", order.core))
            .and_then(|()| Bed::new(order, *path))
            .and_then(|mut bed| bed.column(stages, order, stop));
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

/// Measurements of a column.
struct Measured {
    stages: Vec<Row>,
    wholes: Vec<Whole>,
    /// Time of the whole path when compiled without measuring points, nanoseconds.
    bare: Vec<f64>,
}

/// A host with one connected socket on `null:`.
struct Bed {
    node: Node,
    socket: UdpId,
    payload: Vec<u8>,
}

impl Bed {
    fn new(order: &Order, path: Path) -> Result<Self, String> {
        let said = |e: &dyn std::fmt::Display| e.to_string();
        let address = "10.0.0.1/24".parse().map_err(|e| said(&e))?;
        let mut node = Node::open("null:", &[address], &Options::default()).map_err(|e| said(&e))?;
        let host = &mut node.ip.host;
        host.set_path(path);
        host.neighbours().insert_permanent(THERE.into(), MacAddr([2, 0, 0, 0, 0, 2])).map_err(|e| said(&e))?;
        let socket = host.udp_bind((Ipv4Addr::UNSPECIFIED, 0).into()).map_err(|e| said(&e))?;
        host.udp_connect(socket, Some((THERE, 9).into()));
        Ok(Self { node, socket, payload: vec![0x55; order.size.saturating_sub(HEADERS) as usize] })
    }

    /// Sends for a time, and until every stage has had its turn; every datagram must be accepted. `look` gives the
    /// measuring point of each batch, and `took` gets its time in ticks: up to that point if it was stamped, else of
    /// the whole batch. Returns nanoseconds per tick.
    fn send<W: Watch>(
        &mut self,
        time: Span<'_>,
        look: &dyn Fn(usize) -> Look,
        took: &mut dyn FnMut(usize, u64),
    ) -> Result<f64, String> {
        let Self { node, socket, payload } = self;
        let (ticks0, ns0) = (ticks(), monotonic_ns());
        let until = time.until(ns0);
        let (mut now, mut batch) = (ns0, 0);
        while time.goes_on(until, now) || batch < LEAST {
            let here = look(batch);
            let mut probe = W::new(here);
            let (start, mut reached) = (ticks(), 0u64);
            let mut end = start;
            let (host, mut tx) = node.parts();
            for _ in 0..BATCH {
                let result = host.udp_send_probed(now, *socket, None, payload, &mut tx, &mut probe);
                result.map_err(|e: SendError| e.to_string())?;
                reached = reached.wrapping_add(probe.at().wrapping_sub(end));
                end = std::hint::black_box(ticks());
            }
            node.flush(now);
            let whole = ticks().wrapping_sub(start);
            took(batch, if matches!(here, Look::Stamp(_)) { reached } else { whole });
            now = monotonic_ns();
            batch += 1;
        }
        scale(ticks0, ns0)
    }

    /// Nanoseconds per datagram that runs without a measuring point, or returns.
    fn whole<W: Watch>(&mut self, time: Span<'_>, look: Look) -> Result<f64, String> {
        let mut all = Vec::new();
        let scale = self.send::<W>(time, &|_| look, &mut |_, took| all.push(took))?;
        Ok(each(&mut all, scale))
    }

    /// Nanoseconds to the end of each stage, by stamps; for the last stage, the whole path of the batches without a
    /// stamp.
    fn stamps(&mut self, time: Span<'_>, stages: &[(Stage, &str)]) -> Result<Vec<f64>, String> {
        let (_, before) = stages.split_last().ok_or("there are no stages")?;
        let mut all = vec![Vec::new(); stages.len()];
        let which = |batch: usize| match batch % EVERY {
            0 => batch / EVERY % before.len(),
            _ => before.len(),
        };
        let look = |batch| before.get(which(batch)).map_or(Look::Nowhere, |(stage, _)| Look::Stamp(*stage));
        let scale = self.send::<Looker>(time, &look, &mut |batch, took| all[which(batch)].push(took))?;
        Ok(all.iter_mut().map(|batches| each(batches, scale)).collect())
    }

    fn column(&mut self, stages: &[(Stage, &str)], order: &Order, stop: &Stop) -> Result<Measured, String> {
        let time = Span { time: order.time, stop };
        self.whole::<Looker>(time, Look::Nowhere)?;
        let mut stamped = vec![Vec::new(); stages.len()];
        let mut cut = vec![Vec::new(); stages.len()];
        let (mut wholes, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..order.rounds {
            if stop.asked() {
                break;
            }
            let nothing = nothing(time)?;
            let whole = self.whole::<Looker>(time, Look::Nowhere)?;
            let without = self.whole::<()>(time, Look::Nowhere)?;
            let back = |(stage, _): &(Stage, &str)| match stage {
                Stage::Ring => self.whole::<Looker>(time, Look::Nowhere),
                stage => self.whole::<Looker>(time, Look::Back(*stage)),
            };
            let cuts: Vec<f64> = stages.iter().map(back).collect::<Result<_, _>>()?;
            let stamps = self.stamps(time, stages)?;
            // A round cut short by a stop is discarded.
            if stop.asked() {
                break;
            }
            wholes.push(Whole { ns: whole - nothing, seconds: order.time.as_secs_f64() });
            bare.push(without - nothing);
            for (to_the_end, rounds) in [(cuts, &mut cut), (stamps, &mut stamped)] {
                let starts = std::iter::once(&nothing).chain(&to_the_end);
                for ((end, start), round) in to_the_end.iter().zip(starts).zip(rounds) {
                    round.push(end - start);
                }
            }
        }
        let name = |stage: Stage| STAGES.iter().find(|(s, _)| *s == stage).map_or("", |(_, name)| name);
        let rows = |how: How, all: &[Vec<f64>]| -> Vec<Row> {
            stages.iter().zip(all).map(|((stage, about), rounds)| Row::new(name(*stage), how, about, rounds)).collect()
        };
        let stages = [rows(How::TimeStamps, &stamped), rows(How::EarlyReturn, &cut)].concat();
        Ok(Measured { stages, wholes, bare })
    }
}

/// Cost of waiting for each datagram's end alone, nanoseconds.
fn nothing(time: Span<'_>) -> Result<f64, String> {
    let (ticks0, ns0) = (ticks(), monotonic_ns());
    let until = time.until(ns0);
    let mut batches = Vec::new();
    while batches.is_empty() || time.goes_on(until, monotonic_ns()) {
        let start = ticks();
        for _ in 0..BATCH {
            std::hint::black_box(ticks());
        }
        batches.push(ticks().wrapping_sub(start));
    }
    Ok(each(&mut batches, scale(ticks0, ns0)?))
}

/// Nanoseconds per datagram: the median of batches, which are so short that a neighbour on the processor spoils few.
fn each(batches: &mut [u64], scale: f64) -> f64 {
    batches.sort_unstable();
    batches.get(batches.len() / 2).map_or(f64::NAN, |middle| *middle as f64 * scale / f64::from(BATCH))
}

/// Nanoseconds per tick, over the time since these readings.
fn scale(ticks0: u64, ns0: u64) -> Result<f64, String> {
    match (ticks().wrapping_sub(ticks0), monotonic_ns().saturating_sub(ns0)) {
        (0, _) | (_, 0) => Err("this processor has no counter to take time-stamps from".into()),
        (ticks, ns) => Ok(ns as f64 / ticks as f64),
    }
}
