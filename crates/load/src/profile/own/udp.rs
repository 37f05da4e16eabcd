//! Sending of UDP datagrams: slow path, flow table and fast path, over a port that discards all frames.

use super::look::{EVERY, Look, Looker, Watch, each, nothing, scale};
use super::{Column, Measured, rows};
use crate::profile::{Order, Span, Whole};
use linerate_result::How;
use linerate_rt::net::{Node, Options};
use linerate_rt::{Stop, monotonic_ns, ticks};
use linerate_stack::{DATAGRAM, Path, SendError, Stage, UdpId};
use linerate_wire::MacAddr;
use std::net::Ipv4Addr;

pub(super) const COLUMNS: &[Column] = &[
    Column {
        id: "tx-long",
        title: "linerate, long way",
        measure: |order, stop| Bed::new(order, Path::Long)?.column(LONG, order, stop),
    },
    Column {
        id: "tx-flow",
        title: "linerate, flow table",
        measure: |order, stop| Bed::new(order, Path::Flow)?.column(LONG, order, stop),
    },
    Column {
        id: "tx-fast",
        title: "linerate, fast path",
        measure: |order, stop| Bed::new(order, Path::Fast)?.column(FAST, order, stop),
    },
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

/// Number of batches in which every stage has its turn.
const LEAST: usize = EVERY * DATAGRAM.len();
/// Datagrams between two syncs.
const BATCH: u32 = 256;
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

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
        Ok(Self { node, socket, payload: vec![0x55; order.payload()] })
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
            let start = ticks();
            let mut probe = W::new(here, start);
            let (host, mut tx) = node.parts();
            for _ in 0..BATCH {
                let result = host.udp_send_probed(now, *socket, None, payload, &mut tx, &mut probe);
                result.map_err(|e: SendError| e.to_string())?;
                probe.ended();
            }
            node.flush(now);
            let whole = ticks().wrapping_sub(start);
            took(batch, if matches!(here, Look::Stamp(_)) { probe.reached() } else { whole });
            now = monotonic_ns();
            batch += 1;
        }
        scale(ticks0, ns0)
    }

    /// Nanoseconds per datagram that runs without a measuring point, or returns.
    fn whole<W: Watch>(&mut self, time: Span<'_>, look: Look) -> Result<f64, String> {
        let mut all = Vec::new();
        let scale = self.send::<W>(time, &|_| look, &mut |_, took| all.push(took))?;
        Ok(each(&mut all, scale, BATCH))
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
        Ok(all.iter_mut().map(|batches| each(batches, scale, BATCH)).collect())
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
            let nothing = nothing(time, BATCH)?;
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
        let stages = [rows(How::TimeStamps, stages, &stamped), rows(How::EarlyReturn, stages, &cut)].concat();
        Ok(Measured { stages, wholes, bare })
    }
}
