//! linerate's own stack: the long way, the flow table and the fast path, over a port that swallows what it gets.
//!
//! Each stage is measured in two ways. *Time-stamps*: of one datagram in [`EVERY`], the processor's counter is read
//! between the stages. A reading waits for the stage to end, so stages cannot overlap as they otherwise do; what that and
//! the reading itself cost is told by datagrams of the same run that are stamped at both ends only, and taken off. *Early
//! return*: all datagrams turn back after a stage, and what that costs more than turning back one stage earlier is the
//! stage's. In both, and in the whole way without either, a datagram begins when the one before has ended.

use super::{HEADERS, Order, Source, Tell, Way, Whole, column, missing_column};
use crate::result::{How, Stage as Row, Test};
use linerate_rt::net::{Node, Options};
use linerate_rt::{Stop, cpus, monotonic_ns, pin, ticks};
use linerate_stack::{Path, Probe, STAGES, SendError, Stage, UdpId};
use linerate_wire::MacAddr;
use std::cell::Cell;
use std::net::Ipv4Addr;
use std::time::Duration;

pub(super) const SOURCE: Source = Source { name: "linerate", kernel: false, ways: &[Way::Tx], measure };

/// A column.
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

/// One datagram in so many is stamped: less than two in a hundred, and no divisor of a batch.
const EVERY: u32 = 61;
/// The one of them, far from that, of which only both ends are.
const BETWEEN: u32 = 30;
/// Datagrams between two syncs.
const BATCH: u32 = 256;
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Turns back after a stage.
struct TurnBack(Stage);

impl Probe for TurnBack {
    #[inline]
    fn passed<M: ?Sized>(&mut self, stage: Stage, made: &M) -> bool {
        if stage == self.0 {
            std::hint::black_box(made);
        }
        stage != self.0
    }
}

/// What the counter was, at the start and after each stage.
type Readings = [Cell<u64>; STAGES.len() + 1];

/// Reads the counter after each stage, into memory that is there: made anew, it would cost some of what is measured.
struct Stamps<'a> {
    at: &'a Readings,
    n: usize,
}

impl Probe for Stamps<'_> {
    #[inline]
    fn passed<M: ?Sized>(&mut self, _: Stage, _: &M) -> bool {
        if let Some(at) = self.at.get(self.n) {
            at.set(ticks());
        }
        self.n += 1;
        true
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
            Ok((rows, wholes)) => column(id, title, order, rows, &wholes),
            Err(why) => missing_column(id, title, order, &why),
        });
    }
    // Where this thread was before, it may not be any more only if somebody forbade it meanwhile.
    let _ = pin(&before);
    tests
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
        let host = &mut node.host;
        host.set_path(path);
        host.neighbours().insert_permanent(THERE.into(), MacAddr([2, 0, 0, 0, 0, 2])).map_err(|e| said(&e))?;
        let socket = host.udp_bind((Ipv4Addr::UNSPECIFIED, 0).into()).map_err(|e| said(&e))?;
        host.udp_connect(socket, Some((THERE, 9).into()));
        Ok(Self { node, socket, payload: vec![0x55; order.size.saturating_sub(HEADERS) as usize] })
    }

    /// Sends for a time; every datagram must go. Gives nanoseconds a datagram: the median of batches, which are so short
    /// that a neighbour on the processor spoils few of them.
    fn send<P: Probe>(&mut self, time: Duration, alone: bool, mut probe: impl FnMut(u32) -> P) -> Result<f64, String> {
        let Self { node, socket, payload } = self;
        let (ticks0, ns0) = (ticks(), monotonic_ns());
        let until = ns0 + u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2);
        let (mut batches, mut now) = (Vec::new(), ns0);
        while now < until {
            let start = ticks();
            for i in 0..BATCH {
                let result = node.host.udp_send_probed(now, *socket, None, payload, &mut node.tx, &mut probe(i));
                result.map_err(|e: SendError| e.to_string())?;
                if alone {
                    std::hint::black_box(ticks());
                }
            }
            node.flush(now);
            batches.push(ticks().wrapping_sub(start));
            now = monotonic_ns();
        }
        let scale = scale(ticks0, ns0)?;
        batches.sort_unstable();
        Ok(batches[batches.len() / 2] as f64 * scale / f64::from(BATCH))
    }

    /// The same without a datagram: what waiting for each one's end costs by itself.
    fn nothing(&mut self, time: Duration) -> Result<f64, String> {
        let (ticks0, ns0) = (ticks(), monotonic_ns());
        let until = ns0 + u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2);
        let mut batches = Vec::new();
        while monotonic_ns() < until {
            let start = ticks();
            for _ in 0..BATCH {
                std::hint::black_box(ticks());
            }
            batches.push(ticks().wrapping_sub(start));
        }
        let scale = scale(ticks0, ns0)?;
        batches.sort_unstable();
        Ok(batches[batches.len() / 2] as f64 * scale / f64::from(BATCH))
    }

    fn column(
        &mut self,
        stages: &[(Stage, &str)],
        order: &Order,
        stop: &Stop,
    ) -> Result<(Vec<Row>, Vec<Whole>), String> {
        let each = order.time;
        self.send(each, false, |_| ())?;
        let mut stamped = vec![Vec::new(); stages.len()];
        let mut cut = vec![Vec::new(); stages.len()];
        let mut wholes = Vec::new();
        for _ in 0..order.rounds {
            if stop.asked() {
                break;
            }
            let nothing = self.nothing(each)?;
            let whole = self.send(each, true, |_| ())?;
            wholes.push(Whole { ns: whole - nothing, seconds: each.as_secs_f64() });
            let mut before = nothing;
            for ((stage, _), round) in stages.iter().zip(&mut cut) {
                let ns = if *stage == Stage::Ring {
                    self.send(each, true, |_| ())?
                } else {
                    self.send(each, true, |_| TurnBack(*stage))?
                };
                round.push(ns - before);
                before = ns;
            }
            for (ns, round) in self.stamps(each, stages.len(), nothing)?.into_iter().zip(&mut stamped) {
                round.push(ns);
            }
        }
        let name = |stage: Stage| STAGES.iter().find(|(s, _)| *s == stage).map_or("", |(_, name)| name);
        let rows = |how: How, all: &[Vec<f64>]| -> Vec<Row> {
            stages.iter().zip(all).map(|((stage, about), rounds)| Row::new(name(*stage), how, about, rounds)).collect()
        };
        Ok(([rows(How::TimeStamps, &stamped), rows(How::EarlyReturn, &cut)].concat(), wholes))
    }

    /// Nanoseconds of each stage, by stamps. What a reading costs is taken off: what datagrams that are stamped between
    /// all stages take longer than others of the same run that are stamped at both ends only, and what those readings
    /// are by themselves (`nothing`).
    fn stamps(&mut self, time: Duration, stages: usize, nothing: f64) -> Result<Vec<f64>, String> {
        let (ticks0, ns0) = (ticks(), monotonic_ns());
        let mut samples: Vec<Vec<u64>> = vec![Vec::new(); stages];
        let (mut ends, mut handed) = (Vec::new(), Vec::new());
        let Self { node, socket, payload } = self;
        let until = ns0 + u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2);
        let (mut i, mut now) = (0u32, ns0);
        let readings = Readings::default();
        while now < until {
            for _ in 0..BATCH {
                i = i.wrapping_add(1);
                let ring = &mut node.tx;
                let result = match i % EVERY {
                    0 => {
                        let probe = &mut Stamps { at: &readings, n: 1 };
                        readings[0].set(ticks());
                        let result = node.host.udp_send_probed(now, *socket, None, payload, ring, probe);
                        for (k, sample) in samples.iter_mut().enumerate() {
                            sample.push(readings[k + 1].get().wrapping_sub(readings[k].get()));
                        }
                        result
                    }
                    BETWEEN => {
                        let start = ticks();
                        let result = node.host.udp_send_probed(now, *socket, None, payload, ring, &mut ());
                        ends.push(ticks().wrapping_sub(start));
                        result
                    }
                    _ => node.host.udp_send_probed(now, *socket, None, payload, ring, &mut ()),
                };
                result.map_err(|e: SendError| e.to_string())?;
            }
            let start = ticks();
            node.flush(now);
            handed.push(ticks().wrapping_sub(start));
            now = monotonic_ns();
        }
        let ns = scale(ticks0, ns0)?;
        let stamped: Vec<f64> = samples.iter_mut().map(|sample| middle(sample) * ns).collect();
        let reading = (stamped.iter().sum::<f64>() - middle(&mut ends) * ns + nothing) / stages as f64;
        let mut stages: Vec<f64> = stamped.iter().map(|stage| stage - reading).collect();
        // The ring's stage is not over before the batch is handed over.
        if let Some(ring) = stages.last_mut() {
            *ring += middle(&mut handed) * ns / f64::from(BATCH);
        }
        Ok(stages)
    }
}

/// Nanoseconds a tick, of what has passed since then.
fn scale(ticks0: u64, ns0: u64) -> Result<f64, String> {
    match (ticks().wrapping_sub(ticks0), monotonic_ns().saturating_sub(ns0)) {
        (0, _) | (_, 0) => Err("this processor has no counter to take time-stamps from".into()),
        (ticks, ns) => Ok(ns as f64 / ticks as f64),
    }
}

/// The mean of the middle half: interrupts and clock corrections fall outside, and what code that runs once in many times
/// has to fetch; the whole way is the median of batches likewise.
fn middle(samples: &mut [u64]) -> f64 {
    samples.sort_unstable();
    let quarter = samples.len() / 4;
    let kept = &samples[quarter..samples.len() - quarter];
    kept.iter().sum::<u64>() as f64 / kept.len().max(1) as f64
}
