//! TCP: a connection to a peer that is made of numbers, and the rounds of a column.
//!
//! The host's clock stands still while a batch is under way, and goes on by [`STEP`] between two: no timer ends because
//! this program had to wait for the processor, and each batch finds the connection in the state of the one before. What
//! brings it there, such as the peer's acknowledgement, is not in the time.

use super::look::{EVERY, Look, Looker, Watch, each, nothing, scale};
use super::{Measured, rows};
use crate::profile::peer::{Peer, syn_options};
use crate::profile::{Order, Span, Whole};
use linerate_result::How;
use linerate_ring::{Frame, Meta};
use linerate_rt::{Stop, monotonic_ns, ticks};
use linerate_stack::tcp::{Connection, State, TcpId};
use linerate_stack::{Host, Stage, Transmit};
use linerate_wire::{MacAddr, TcpFlags, TcpOptions, TcpSegment};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

/// Segments of a batch, between two syncs.
pub(super) const BATCH: u32 = 64;
/// Time between two batches by the host's clock, ns, and from a batch to its acknowledgement.
const STEP: u64 = 50_000;
/// Time by which a host has checked its address.
const SETTLED: u64 = 20_000_000_000;

pub(super) const HERE: &str = "10.0.0.1/24";
const THERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 9);
pub(super) const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

/// Output of a host between the batches: it keeps the last frame.
#[derive(Default)]
pub(super) struct Last(Vec<u8>);

impl Transmit for Last {
    fn send(&mut self, head: &[u8], body: &[&[u8]], _: Option<Meta>) -> bool {
        self.0.clear();
        std::iter::once(&head).chain(body).for_each(|piece| self.0.extend_from_slice(piece));
        true
    }

    fn frame(&mut self, _: usize, _: Option<Meta>, _: impl FnOnce(&mut Frame<'_>)) -> bool {
        false
    }

    fn single(&self) -> usize {
        0
    }
}

/// A host's connection, the peer, and the host's clock.
pub(super) struct Talk {
    pub(super) id: TcpId,
    pub(super) peer: Peer,
    pub(super) now: u64,
    /// The host's timestamp at the time of its SYN.
    stamp: (u32, u64),
}

/// One line of an error.
pub(super) fn said(e: impl std::fmt::Display) -> String {
    e.to_string()
}

impl Talk {
    /// Connects a host to a peer that takes segments of `mss` bytes, options not counted.
    pub(super) fn begin(host: &mut Host, mss: u16) -> Result<Self, String> {
        let (mut out, mut now) = (Last::default(), 0);
        while now < SETTLED {
            host.poll(now, &mut out);
            now += SETTLED / 64;
        }
        host.neighbours().insert_permanent((*THERE.ip()).into(), STATION).map_err(said)?;
        // Each write goes out at once.
        host.tcp_config().nagle = false;
        let id = host.tcp_connect(now, None, THERE.into()).map_err(said)?;
        host.poll(now, &mut out);
        let Some((SocketAddr::V4(end), _)) = host.tcp_ends(id) else { return Err("there is no connection".into()) };
        let syn = out.0.get(34..).and_then(|segment| TcpSegment::new_checked(segment).ok());
        let syn = syn.map(|syn| (syn.seq(), TcpOptions::parse(syn.options())));
        let Some((seq, TcpOptions { timestamps: Some((stamp, _)), .. })) = syn else {
            return Err("the host sent no SYN with timestamps".into());
        };
        let (here, there) = ((STATION, THERE), (host.mac(), end));
        let peer = Peer { here, there, seq: 1000, ack: seq.wrapping_add(1), stamps: (1, stamp), window: u16::MAX };
        let answer = peer.of(TcpFlags::SYN.union(TcpFlags::ACK), &syn_options(mss), &[]);
        host.handle(now, &answer, None, &mut out);
        let peer = Peer { seq: peer.seq.wrapping_add(1), ..peer };
        let mut talk = Self { id, peer, now, stamp: (stamp, now) };
        // Of this one the window is scaled.
        talk.acknowledge(host, 0)?;
        match host.tcp_state(id) {
            Some((State::Established, _)) => Ok(talk),
            other => Err(format!("the connection is {other:?}")),
        }
    }

    /// Lets time go by.
    pub(super) fn wait(&mut self) {
        self.now += STEP;
        let later = (self.now - self.stamp.1) / 1_000_000;
        self.peer.stamps.1 = self.stamp.0.wrapping_add(u32::try_from(later & 0xffff_ffff).unwrap_or(0));
    }

    pub(super) fn connection<'a>(&self, host: &'a Host) -> Result<&'a Connection, String> {
        host.tcp_connection(self.id).ok_or_else(|| "the connection is gone".to_owned())
    }

    /// Has so many bytes more acknowledged, which must be all that was written; what did not go out before goes out now, to
    /// nobody.
    pub(super) fn acknowledge(&mut self, host: &mut Host, bytes: usize) -> Result<(), String> {
        let mut out = Last::default();
        host.poll(self.now, &mut out);
        self.wait();
        self.peer.ack = self.peer.ack.wrapping_add(u32::try_from(bytes).map_err(said)?);
        host.handle(self.now, &self.peer.acknowledgement(), None, &mut out);
        host.poll(self.now, &mut out);
        while host.tcp_news().is_some() {}
        self.wait();
        match self.connection(host)?.unacknowledged() {
            0 => Ok(()),
            left => Err(format!("not verified: {left} bytes of those written did not go out")),
        }
    }
}

/// Ticks of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    /// To the measuring point.
    pub(super) reached: u64,
    /// Until the last call has returned.
    pub(super) calls: u64,
    /// Until all is done.
    pub(super) whole: u64,
}

/// Times per packet, ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times {
    /// To the point behind each of the stages that are stamped.
    pub(super) reached: Vec<f64>,
    /// Until the last call has returned, and until all is done.
    pub(super) calls: f64,
    pub(super) whole: f64,
}

/// A path with measuring points.
pub(super) trait Bed {
    /// Its probe that does nothing but wait for each packet's end.
    type Bare: Watch;
    /// Its stages, each with what it holds. All but the last can be the last that is passed.
    const STAGES: &'static [(Stage, &'static str)];
    /// Number of the stages, from the first on, behind which there is a stamp.
    const STAMPED: usize;

    fn packets(&self) -> u32;
    /// Number of readings of the counter in a batch that wait for the end of a packet.
    fn ends(&self) -> u32;
    /// Has a batch pass, and verifies that it came as far as it should.
    fn batch<W: Watch>(&mut self, look: Look) -> Result<Ticks, String>;
    /// Time of each stage, from the times to the points.
    fn stages(times: &Times, nothing: f64) -> Vec<f64>;
    /// Early return behind a stage; the whole path behind the last.
    fn end(at: usize) -> Look {
        if at + 1 == Self::STAGES.len() { Look::Nowhere } else { Look::Back(Self::STAGES[at].0) }
    }
    /// Time of each stage, from the times of batches that returned behind each.
    fn cuts(to_the_end: &[f64], nothing: f64) -> Vec<f64> {
        differences(nothing, to_the_end)
    }
}

/// Differences between each and the one before; before the first is `base`.
pub(super) fn differences(base: f64, ends: &[f64]) -> Vec<f64> {
    std::iter::once(&base).chain(ends).zip(ends).map(|(start, end)| end - start).collect()
}

/// Batches for a time, and until every stage has had its turn. Returns nanoseconds per tick.
fn run<B: Bed, W: Watch>(
    bed: &mut B,
    time: Span<'_>,
    look: &dyn Fn(usize) -> Look,
    took: &mut dyn FnMut(usize, Ticks),
) -> Result<f64, String> {
    let (ticks0, ns0) = (ticks(), monotonic_ns());
    let until = time.until(ns0);
    let mut batch = 0;
    while time.goes_on(until, monotonic_ns()) || batch < EVERY * B::STAMPED {
        took(batch, bed.batch::<W>(look(batch))?);
        batch += 1;
    }
    scale(ticks0, ns0)
}

/// Nanoseconds per packet that runs without a measuring point, or returns.
fn whole<B: Bed, W: Watch>(bed: &mut B, time: Span<'_>, look: Look) -> Result<f64, String> {
    let mut all = Vec::new();
    let scale = run::<B, W>(bed, time, &|_| look, &mut |_, took| all.push(took.whole))?;
    Ok(each(&mut all, scale, bed.packets()))
}

/// Times to all points, by stamps.
fn stamps<B: Bed>(bed: &mut B, time: Span<'_>) -> Result<Times, String> {
    let mut reached = vec![Vec::new(); B::STAMPED];
    let (mut calls, mut wholes) = (Vec::new(), Vec::new());
    let which = |batch: usize| batch.is_multiple_of(EVERY).then_some(batch / EVERY % B::STAMPED);
    let look = |batch| which(batch).map_or(Look::Nowhere, |at| Look::Stamp(B::STAGES[at].0));
    let scale = run::<B, Looker>(bed, time, &look, &mut |batch, took| match which(batch) {
        Some(at) => reached[at].push(took.reached),
        None => {
            calls.push(took.calls);
            wholes.push(took.whole);
        }
    })?;
    let each = |batches: &mut Vec<u64>| each(batches, scale, bed.packets());
    Ok(Times { reached: reached.iter_mut().map(each).collect(), calls: each(&mut calls), whole: each(&mut wholes) })
}

pub(super) fn column<B: Bed>(bed: &mut B, order: &Order, stop: &Stop) -> Result<Measured, String> {
    let time = Span { time: order.time, stop };
    whole::<B, Looker>(bed, time, Look::Nowhere)?;
    let mut stamped = vec![Vec::new(); B::STAGES.len()];
    let mut cut = stamped.clone();
    let (mut wholes, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..order.rounds {
        if stop.asked() {
            break;
        }
        let nothing = nothing(time, BATCH)?;
        // A batch of few calls waits for few ends.
        let nothing = nothing * f64::from(bed.ends()) / f64::from(bed.packets());
        let all = whole::<B, Looker>(bed, time, Look::Nowhere)?;
        let without = whole::<B, B::Bare>(bed, time, Look::Nowhere)?;
        let mut to_the_end = Vec::new();
        for at in 0..B::STAGES.len() {
            to_the_end.push(whole::<B, Looker>(bed, time, B::end(at))?);
        }
        let by_stamps = B::stages(&stamps(bed, time)?, nothing);
        // A round cut short by a stop is discarded.
        if stop.asked() {
            break;
        }
        wholes.push(Whole { ns: all - nothing, seconds: order.time.as_secs_f64() });
        bare.push(without - nothing);
        for (round, all) in [(by_stamps, &mut stamped), (B::cuts(&to_the_end, nothing), &mut cut)] {
            round.into_iter().zip(all).for_each(|(ns, rounds)| rounds.push(ns));
        }
    }
    let stages = [rows(How::TimeStamps, B::STAGES, &stamped), rows(How::EarlyReturn, B::STAGES, &cut)].concat();
    Ok(Measured { stages, wholes, bare })
}

#[cfg(test)]
mod tests;
