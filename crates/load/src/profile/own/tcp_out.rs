//! Sending over TCP: a write, and what goes out with it at once, to a port that discards all frames.

use super::look::{Look, Watch};
use super::tcp::{BATCH, Bed, HERE, Talk, Ticks, Times, column, differences, said};
use super::{Column, Measured};
use crate::profile::Order;
use linerate_rt::net::{Node, Options};
use linerate_rt::{Stop, ticks};
use linerate_stack::Stage;

pub(super) const COLUMNS: &[Column] = &[
    Column {
        id: "tx-tcp-segment",
        title: "linerate TCP, segment",
        measure: |order, stop| measured(order, false, stop),
    },
    Column {
        id: "tx-tcp-super",
        title: "linerate TCP, super-frame",
        measure: |order, stop| measured(order, true, stop),
    },
];

/// Ethernet, IPv4 and TCP headers without options, and those of timestamps.
const HEADERS: u32 = 54;
const STAMPS: u32 = 12;
/// Least bytes of a segment that a host believes a peer takes, options counted.
const LEAST_MSS: u32 = 88;
/// Index of TCP's output among the stages.
const OUTPUT: usize = 3;
/// Most writes that open the congestion window before it is measured: each doubles it.
const WARM: u32 = 32;

fn measured(order: &Order, super_frames: bool, stop: &Stop) -> Result<Measured, String> {
    column(&mut Out::new(order, super_frames)?, order, stop)
}

/// A host with a connection, on `null:`.
pub(super) struct Out {
    node: Node,
    talk: Talk,
    payload: Vec<u8>,
    /// Writes of a batch, and frames of a write.
    writes: u32,
    frames: u32,
}

impl Out {
    pub(super) fn new(order: &Order, super_frames: bool) -> Result<Self, String> {
        let mut node = Node::open("null:", &[HERE.parse().map_err(said)?], &Options::default()).map_err(said)?;
        let mss = order.size - HEADERS;
        if super_frames && mss < LEAST_MSS {
            let least = LEAST_MSS + HEADERS;
            return Err(format!(
                "no peer takes segments of less than {LEAST_MSS} bytes only: give --size {least} or more"
            ));
        }
        // What a peer with an unusual MTU asks for; segments longer than what is written make no difference.
        let talk = Talk::begin(&mut node.ip.host, u16::try_from(mss.max(LEAST_MSS)).map_err(said)?)?;
        node.flush(talk.now);
        let segment = mss - STAMPS;
        let most = node.ip.host.tcp_config().burst.min(64 * segment);
        let frames = if super_frames { most / segment } else { 1 };
        let payload = vec![0x55; (frames * segment) as usize];
        let mut bed = Self { node, talk, payload, writes: (BATCH / frames).max(1), frames };
        bed.warm()?;
        Ok(bed)
    }

    /// Bytes of a batch.
    fn bytes(&self) -> usize {
        self.payload.len() * self.writes as usize
    }

    /// Opens the congestion window for two batches.
    fn warm(&mut self) -> Result<(), String> {
        let wanted = 2 * self.bytes();
        for _ in 0..WARM {
            let host = &mut self.node.ip.host;
            let connection = self.talk.connection(host)?;
            let window = connection.congestion_window() as usize;
            if window >= wanted {
                return Ok(());
            }
            let n = window.min(connection.room());
            let taken = host.tcp_write(self.talk.id, &vec![0x55; n]).unwrap_or(0);
            self.talk.acknowledge(host, taken)?;
        }
        Err("the congestion window did not open".to_owned())
    }

    /// Verifies how far a batch came, and has it acknowledged.
    fn settle(&mut self, look: Look, sent: u64) -> Result<(), String> {
        let wanted = match look {
            Look::Nowhere | Look::Stamp(_) => u64::from(self.writes),
            Look::Back(_) | Look::Settled(_) => 0,
        };
        if sent != wanted {
            return Err(format!("not verified: {} writes, {wanted} to be sent, {sent} sent", self.writes));
        }
        let bytes = self.bytes();
        self.talk.acknowledge(&mut self.node.ip.host, bytes)
    }
}

impl Bed for Out {
    type Bare = ();

    const STAGES: &'static [(Stage, &'static str)] = &[
        (
            Stage::Buffer,
            "the connection is found, the write copied into its send buffer: a segment, or 64 KB for a super-frame",
        ),
        (Stage::Turn, "work of the host that is due, and the connection that was written to"),
        (Stage::Route, "the headers that the connection keeps are looked at, and the path's MTU"),
        (Stage::Output, "timers, windows, the segment; and what is noted of it once it is out"),
        (Stage::Neighbour, "nothing: the next hop's hardware address is in the kept headers"),
        (Stage::Ethernet, "the kept headers are copied"),
        (Stage::Ip, "IPv4 length, identification and checksum"),
        (Stage::Header, "TCP header and options; checksum, unless it is a super-frame's"),
        (Stage::Ring, "into the ring, a super-frame cut and summed on the way, and the hand-over"),
    ];
    const STAMPED: usize = 9;

    fn packets(&self) -> u32 {
        self.writes * self.frames
    }

    fn ends(&self) -> u32 {
        self.writes
    }

    fn batch<W: Watch>(&mut self, look: Look) -> Result<Ticks, String> {
        let Self { node, talk: Talk { id, now, .. }, payload, writes, .. } = self;
        let (id, now) = (*id, *now);
        let before = node.ip.host.counters().tcp_sent;
        let start = ticks();
        let mut probe = W::new(look, start);
        let (host, mut tx) = node.parts();
        for _ in 0..*writes {
            if host.tcp_send_probed(now, id, payload, &mut tx, &mut probe) != Some(payload.len()) {
                return Err("a write was not taken".to_owned());
            }
            probe.ended();
        }
        let calls = ticks().wrapping_sub(start);
        node.flush(now);
        let whole = ticks().wrapping_sub(start);
        let reached = probe.reached();
        let sent = node.ip.host.counters().tcp_sent - before;
        self.settle(look, sent)?;
        Ok(Ticks { reached, calls, whole })
    }

    /// After the ring took a segment the connection notes it, which is of TCP's output; the hand-over is the ring's.
    fn stages(times: &Times, nothing: f64) -> Vec<f64> {
        let mut stages = differences(nothing, &times.reached);
        let noted = times.calls - times.reached.last().copied().unwrap_or(0.0);
        for ((stage, _), ns) in Self::STAGES.iter().zip(&mut stages) {
            match stage {
                Stage::Output => *ns += noted,
                Stage::Ring => *ns += times.whole - times.calls,
                _ => {}
            }
        }
        stages
    }

    /// Whatever is turned back behind TCP's output is noted as if it were out. That is to begin when the stage is done, as
    /// behind a stamp: the processor would do both at a time, and they could not be told apart.
    fn end(at: usize) -> Look {
        match Self::STAGES[at].0 {
            stage @ Stage::Ring => Look::Stamp(stage),
            stage if at >= OUTPUT => Look::Settled(stage),
            stage => Look::Back(stage),
        }
    }

    /// From TCP's output on there is one reading more.
    fn cuts(to_the_end: &[f64], nothing: f64) -> Vec<f64> {
        let mut stages = differences(nothing, to_the_end);
        stages[OUTPUT] -= nothing;
        stages
    }
}

#[cfg(test)]
impl Out {
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    pub(super) fn write(&mut self, probe: &mut impl linerate_stack::Probe) {
        let (host, mut tx) = self.node.parts();
        host.tcp_send_probed(self.talk.now, self.talk.id, &self.payload, &mut tx, probe);
    }
}
