//! A SAN in one process and in virtual time: a target, initiators, plain IP hosts and a switch, joined by cables with a rate and a
//! length.
//!
//! What runs is what ships: nodes, adapters, cables' queues and the switch are those of the other commands; only the clock and the
//! thread that drives them are of this module. Stations and the switch take no time: what they do at one instant is done at once, and
//! all time is spent on cables and in queues. Equal seeds give equal runs, bit for bit.
//!
//! Out of scope: this module prints nothing.

mod datagrams;
mod depth;
mod record;
mod streams;
mod world;

use crate::fcoe::{FcoeError, Medium, Setup, check};
use linerate_port::OpenError;
use linerate_port::switch::{Buffers, Ledger, PortReport};
use linerate_result::Latency;
use linerate_rt::Stop;
use linerate_rt::dcb::{Settings, SettingsError};
use linerate_rt::fc::FcError;
use linerate_rt::net::NetError;
use linerate_wire::VlanTag;
use std::time::Duration;
use thiserror::Error;

/// A cable between a station and the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Bits per second each way, framing included.
    pub rate: u64,
    /// Length in metres.
    pub length: u32,
}

/// A SAN, and what its initiators do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct San {
    /// Seed of all that is random.
    pub seed: u64,
    pub initiators: u16,
    /// Disks of each initiator.
    pub luns: u16,
    /// Bytes of a disk, which is in memory.
    pub disk: u64,
    /// Bytes of a request: a multiple of 512.
    pub block: u32,
    /// Requests under way on each disk.
    pub depth: u16,
    /// READs of a hundred requests.
    pub reads: u32,
    /// Cable of the target.
    pub target: Link,
    /// Cables of the initiators, and of the hosts.
    pub initiator: Link,
    /// Plain IP hosts, which send UDP datagrams to the target's port, where an IP host takes them.
    pub hosts: u16,
    /// They send as much as TCP lets them instead.
    pub host_tcp: bool,
    /// Bits per second that each sends, framing included.
    pub host_rate: u64,
    /// Bytes of a datagram, 8 at least.
    pub datagram: u16,
    /// Slots of each ring: frames that wait at a port, those on its cable among them.
    pub slots: u32,
    /// The switch lets frames wait at their sender instead of dropping them.
    pub lossless: bool,
    /// Frames that find no room at a port of the switch wait in queues by class.
    pub buffers: Option<Buffers>,
    /// Settings that the switch offers to its neighbours by DCBX; nodes take them, and FCoE's priority.
    pub dcb: Option<Settings>,
    /// Tag of the SAN's frames; those of the hosts have none.
    pub vlan: Option<VlanTag>,
    /// Probability that a frame is lost on a cable, in billionths.
    pub loss: u64,
    /// Time under load before anything counts.
    pub warm: Duration,
    pub time: Duration,
}

/// Results of an initiator.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    pub name: String,
    /// Requests that ended well in the time that counts.
    pub requests: u64,
    pub bytes: u64,
    /// Requests that failed, or moved wrong data, at any time.
    pub errors: u64,
    /// From a request to its end. None if none ended.
    pub latency: Option<Latency>,
    /// Reason that it ended early.
    pub stuck: Option<&'static str>,
}

/// Results of an IP host that sends, of the datagrams that it sent in the time that counts; by TCP, of the bytes that were read then.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    pub name: String,
    pub sent: u64,
    /// Datagrams that found no room in the host's own ring; they are not among those sent.
    pub refused: u64,
    pub received: u64,
    /// Segments that were sent again, by TCP, in the whole run.
    pub resent: Option<u64>,
    /// Bytes received, without headers.
    pub bytes: u64,
    /// One way. None if none was received.
    pub latency: Option<Latency>,
}

/// Length of a queue of the switch in the time that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Depth {
    /// Name of the station behind the port.
    pub port: String,
    /// Number of the traffic class.
    pub class: usize,
    /// Bytes, over time.
    pub mean: f64,
    /// Bytes at the end of an instant, at most.
    pub most: u64,
}

/// Frames of a station's end of its cable, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub name: String,
    /// Frames that it gave to its cable.
    pub sent: u64,
    /// Frames that it got.
    pub received: u64,
    /// Frames lost on its cable on purpose: those that it sent, those for it.
    pub lost: [u64; 2],
}

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Hash of all frames that came to stations, with their times.
    pub hash: u64,
    /// Virtual time from the first link up to the last logout.
    pub lasted: Duration,
    /// Time that counts.
    pub time: Duration,
    pub flows: Vec<Flow>,
    pub streams: Vec<Stream>,
    pub stations: Vec<Ends>,
    /// Queues in which something waited.
    pub depths: Vec<Depth>,
    /// Times that stations were asked to pause, or to go on, in the time that counts.
    pub pauses: u64,
    /// The switch's ports, by the stations' names.
    pub ports: Vec<PortReport>,
    pub ledger: Ledger,
}

impl Simulated {
    /// Bytes per second of all flows.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.flows.iter().map(|flow| flow.bytes).sum::<u64>() as f64 / self.time.as_secs_f64()
    }

    /// Jain's index of the flows' bytes: 1 if all have the same, 1/n if one of n has all; None if nothing moved.
    #[must_use]
    pub fn fairness(&self) -> Option<f64> {
        let (sum, squares) = self.flows.iter().fold((0.0, 0.0), |(sum, squares), flow| {
            let bytes = flow.bytes as f64;
            (sum + bytes, squares + bytes * bytes)
        });
        (sum > 0.0).then(|| sum * sum / (self.flows.len() as f64 * squares))
    }

    /// Frames lost on cables on purpose.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.stations.iter().flat_map(|ends| ends.lost).sum()
    }

    /// Frames that the counts of stations, cables and switch miss, or count twice.
    #[must_use]
    pub fn unexplained(&self) -> u64 {
        let cables = self.stations.iter().zip(&self.ports).map(|(ends, port)| {
            let came = port.count.received + port.count.kept + port.count.refused.total() + ends.lost[0];
            let went = ends.received + port.fate.in_ring + ends.lost[1];
            ends.sent.abs_diff(came)
                + port.count.sent.saturating_sub(went)
                + ends.received.saturating_sub(port.count.sent)
        });
        self.ledger.unexplained + cables.sum::<u64>()
    }
}

#[derive(Debug, Error)]
pub enum SimulateError {
    #[error(transparent)]
    Fcoe(#[from] FcoeError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Node(#[from] FcError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error(transparent)]
    Dcb(#[from] SettingsError),
    #[error("the IP hosts cannot be set up: this is a bug; tell us the settings")]
    Hosts,
    #[error("time stands still at {0} ns: this is a bug; tell us the seed and the settings")]
    Still(u64),
    #[error("not over after {0} s of virtual time: lose fewer frames, or give less to do")]
    Endless(u64),
    #[error("stopped")]
    Stopped,
}

impl San {
    /// The load of the initiators.
    fn setup(&self) -> Setup {
        let medium = Medium::Ram(self.disk);
        Setup {
            initiators: self.initiators,
            luns: self.luns,
            queue_depth: self.depth,
            slots: self.slots,
            warm: self.warm,
            ..Setup::new(medium, self.block, self.reads, [0, 0], self.time)
        }
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// What cannot be set up, time that does not go on, and a requested `stop`.
    pub fn run(&self, stop: &Stop) -> Result<Simulated, SimulateError> {
        let setup = self.setup();
        check(&setup)?;
        let mut world = world::World::new(self, &setup)?;
        world.run(stop)?;
        Ok(world.results(self))
    }
}

#[cfg(test)]
mod tests;
