//! linerate's own stack: the long way, the flow table and the fast path, over a port that swallows what it gets.
//!
//! Each stage is measured in two ways, both from the start of a datagram to the end of a stage, less the same to the end
//! of the stage before. *Time-stamps*: of one batch in [`EVERY`], the processor's counter is read where the stage ends,
//! and the datagram goes on. *Early return*: all datagrams turn back there. In both a datagram begins when the one before
//! has ended, by a reading that waits for it; what that costs by itself is taken off.
//!
//! A place to look at is not free though nobody looks: what was made up to there has to lie in memory, where the compiler
//! would have kept it in registers. The whole way is that of the same code with nobody looking; what it takes compiled
//! without such places is told beside it.

use super::{Direction, HEADERS, Order, Source, Span, Tell, Whole, column, missing_column};
use linerate_result::{How, Stage as Row, Summary, Test, Unit};
use linerate_rt::net::{Node, Options};
use linerate_rt::{Stop, cpus, monotonic_ns, pin, ticks};
use linerate_stack::{Path, Probe, STAGES, SendError, Stage, UdpId};
use linerate_wire::MacAddr;
use std::net::Ipv4Addr;

pub(super) const SOURCE: Source = Source { name: "linerate", kernel: false, ways: &[Direction::Tx], measure };

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

/// One batch in so many is stamped.
const EVERY: usize = 8;
/// Batches in which every stage has its turn.
const LEAST: usize = EVERY * STAGES.len();
/// Datagrams between two syncs.
const BATCH: u32 = 256;
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Where the datagrams of a batch are looked at.
#[derive(Clone, Copy)]
enum Look {
    Nowhere,
    /// Read the counter there.
    Stamp(Stage),
    /// Turn back there.
    Back(Stage),
}

/// Who looks. All of it is one type, so that stamped, turned back and whole datagrams run the same code.
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
    /// When it looked.
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

/// Nobody looks, and the compiler knows it.
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
    // Where this thread was before, it may not be any more only if somebody forbade it meanwhile.
    let _ = pin(&before);
    tests
}

/// What a column came to.
struct Measured {
    stages: Vec<Row>,
    wholes: Vec<Whole>,
    /// The whole way as it is compiled without places to look at, nanoseconds.
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

    /// Sends for a time, and until every stage has had its turn; every datagram must go. Of each batch it is told where
    /// to look at it, and `took` gets what it took, in ticks: to there if it was stamped, else as a whole. Gives
    /// nanoseconds a tick.
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

    /// Nanoseconds a datagram that is nowhere looked at, or turns back.
    fn whole<W: Watch>(&mut self, time: Span<'_>, look: Look) -> Result<f64, String> {
        let mut all = Vec::new();
        let scale = self.send::<W>(time, &|_| look, &mut |_, took| all.push(took))?;
        Ok(each(&mut all, scale))
    }

    /// Nanoseconds to the end of each stage, by stamps; to the last one's, the whole way of the batches without.
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
            // What a stop has cut short says nothing.
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

/// What waiting for each datagram's end costs by itself, nanoseconds.
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

/// Nanoseconds a datagram: the median of batches, which are so short that a neighbour on the processor spoils few.
fn each(batches: &mut [u64], scale: f64) -> f64 {
    batches.sort_unstable();
    batches.get(batches.len() / 2).map_or(f64::NAN, |middle| *middle as f64 * scale / f64::from(BATCH))
}

/// Nanoseconds a tick, of what has passed since then.
fn scale(ticks0: u64, ns0: u64) -> Result<f64, String> {
    match (ticks().wrapping_sub(ticks0), monotonic_ns().saturating_sub(ns0)) {
        (0, _) | (_, 0) => Err("this processor has no counter to take time-stamps from".into()),
        (ticks, ns) => Ok(ns as f64 / ticks as f64),
    }
}
