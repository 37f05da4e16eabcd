//! The world of a run: stations, cables and the switch, and the scheduler that turns them in the order of virtual time.
//!
//! An instant begins with what is due: frames that reach the end of a cable, and timers. Who has something to do is turned, stations in
//! their order and the switch between, until nobody has; then time goes on to the next instant that a cable or a timer asks for.

use super::datagrams::{Inbox, Sender, beside};
use super::depth::Gauges;
use super::record::Record;
use super::streams::{Reader, Writer};
use super::{Ends, Flow, Link, San, SimulateError, Simulated, Stream};
use crate::fcoe::{Load, Setup, as_initiator, as_target, disks};
use linerate_fcoe::{Disks, Node, NodeConfig, NodeEvent};
use linerate_port::switch::{Buffers, Ledger, Policy, Switch};
use linerate_port::{Clock, DropReason, Port, Spec, open_specs};
use linerate_result::Latency;
use linerate_rt::dcb::{Settings, SwitchDcb};
use linerate_rt::fc::{FcNode, FcOptions, FcPort, Watcher};
use linerate_rt::{Machine, Progress, Sleeper, Stop};
use linerate_sum::SplitMix64;
use linerate_text::saturating_ns;
use linerate_wire::MacAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
/// Address of the switch in LLDP.
const SWITCH: MacAddr = MacAddr([2, 0, 0, 0x5b, 0, 0]);
/// Virtual time at the beginning: 0 means "not yet" to some.
const BEGIN: u64 = SECOND;
/// Virtual time that a run may take beyond its load: logins, recovery of what was lost, reading all again.
const PATIENCE: u64 = 600 * SECOND;
/// Time after which the switch looks at its parked queues, if nothing else happens.
const LOOK: u64 = 1_001;
/// Turns at one instant that mean that time stands still.
const STILL: u32 = 1_000_000;
/// Turns of the switch at one instant after which it goes on at the next look: it puts off what several ports are to get.
const PUT_OFF: u32 = 10_000;
/// Instants between two looks at a requested stop.
const ASKED: u32 = 4096;
/// No time.
const NEVER: u64 = u64::MAX;

/// A target has nobody to watch it.
struct Nobody;

impl Watcher<Disks> for Nobody {
    fn event(&mut self, _: u64, _: &NodeEvent, _: &mut Node<Disks>) {}

    fn turn(&mut self, _: u64, _: &mut Node<Disks>) -> bool {
        false
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}

    fn is_done(&self) -> bool {
        false
    }
}

enum Kind {
    /// With what comes to the IP host on its port, if there is one.
    Target(Box<FcNode<Disks, Nobody>>, Option<Ears>),
    Initiator(Box<FcNode<Disks, Load>>),
    Host(Box<Sender>),
    Writer(Box<Writer>),
}

/// Receiver of what hosts send.
enum Ears {
    Datagrams(Inbox),
    Streams(Reader),
}

/// A station and its cable.
struct Station {
    name: String,
    kind: Kind,
    clock: Clock,
    /// Time of its next turn, whatever happens.
    timer: u64,
    /// It has a turn at this instant.
    ready: bool,
    done: bool,
    /// Frames that came to it.
    received: Arc<AtomicU64>,
}

impl Station {
    /// Does a piece of work. `window`: times of the datagrams that count.
    fn handle(&mut self, now: u64, window: &Range<u64>) -> Progress {
        match &mut self.kind {
            Kind::Target(node, ears) => {
                let progress = node.handle(now);
                let read = match ears.as_mut().zip(node.ip_mut()) {
                    Some((Ears::Datagrams(inbox), ip)) => {
                        inbox.take(now, window, &mut ip.host);
                        false
                    }
                    Some((Ears::Streams(reader), ip)) => reader.take(now, window, &mut ip.host),
                    None => false,
                };
                // The host whose bytes were read has windows to tell.
                if read { Progress::Worked } else { progress }
            }
            Kind::Initiator(node) => node.handle(now),
            Kind::Writer(writer) => {
                if writer.handle(now) {
                    Progress::Worked
                } else {
                    Progress::Idle
                }
            }
            Kind::Host(sender) => {
                if sender.handle(now) {
                    Progress::Worked
                } else {
                    Progress::Idle
                }
            }
        }
    }

    fn timeout(&self) -> Option<u64> {
        match &self.kind {
            Kind::Target(node, _) => node.poll_timeout(),
            Kind::Initiator(node) => node.poll_timeout(),
            Kind::Host(sender) => sender.timer(),
            Kind::Writer(writer) => writer.node().poll_timeout(),
        }
    }

    /// True if it waits for room in its ring, or, where the switch `pauses` its neighbours, for the end of a pause.
    fn is_blocked(&self, pauses: bool) -> bool {
        match &self.kind {
            Kind::Target(node, _) => node.node().is_blocked() || pauses && node.line().is_held_up(),
            Kind::Initiator(node) => node.node().is_blocked() || pauses && node.line().is_held_up(),
            Kind::Host(sender) => pauses && sender.node().line().is_held_up(),
            Kind::Writer(writer) => {
                let node = writer.node();
                node.ip.host.wants_room() || pauses && node.line().is_held_up()
            }
        }
    }

    /// Does all that it can do now; true if there was something. `turns`: counted up.
    fn turn(&mut self, now: u64, window: &Range<u64>, turns: &mut u32) -> bool {
        let mut worked = false;
        self.ready = false;
        while !self.done && *turns < STILL {
            *turns += 1;
            match self.handle(now, window) {
                Progress::Worked => worked = true,
                Progress::Idle => break,
                Progress::Done => (self.done, worked) = (true, true),
            }
        }
        self.timer = if self.done { NEVER } else { self.timeout().unwrap_or(NEVER) };
        worked
    }
}

pub(super) struct World {
    now: u64,
    clock: Clock,
    switch: Switch,
    /// It offers its classes.
    dcb: Option<SwitchDcb>,
    /// Time of the switch's next turn, whatever happens.
    look: u64,
    /// The target, then the initiators, then the hosts.
    stations: Vec<Station>,
    /// Initiators that are not logged in; they begin together.
    missing: Arc<AtomicU16>,
    begun: bool,
    /// The switch asks neighbours to pause.
    pauses: bool,
    /// Time under load before anything counts, and the time that counts, in ns.
    times: [u64; 2],
    window: Range<u64>,
    /// Length of queues, if there are some.
    gauges: Option<Gauges>,
    record: Record,
}

/// Name of a station.
fn name(san: &San, number: u16) -> String {
    match number {
        0 => "target".to_owned(),
        number if number <= san.initiators => format!("initiator-{number}"),
        number => format!("host-{}", number - san.initiators),
    }
}

fn mac(number: u16) -> MacAddr {
    let [high, low] = number.to_be_bytes();
    MacAddr([2, 0, 0, 0x5a, high, low])
}

/// Both ends of a station's cable, by its clock: the station's, and the switch's.
fn cable(san: &San, number: u16, clock: &Clock) -> Result<[Spec; 2], SimulateError> {
    let Link { rate, length } = if number == 0 { san.target } else { san.initiator };
    let end = |side: u64, end: &str| -> Result<Spec, SimulateError> {
        let (name, slots) = (name(san, number), san.slots);
        let mut text = format!("cable:{name}{end},mtu=2180,slots={slots},rate={rate},length={length}");
        if san.loss > 0 {
            let seed = SplitMix64::nth(san.seed, 1 << 32 | u64::from(number) << 1 | side);
            text += &format!(",faults=drop:{}.{:09}/seed:{seed}", san.loss / SECOND, san.loss % SECOND);
        }
        Ok(Spec::parse(&text)?.with_clock(clock))
    };
    Ok([end(0, "{1")?, end(1, "}1")?])
}

impl World {
    pub(super) fn new(san: &San, setup: &Setup) -> Result<Self, SimulateError> {
        let clock = Clock::of_virtual_time();
        clock.set(BEGIN);
        let clocks: Vec<Clock> = (0..=san.initiators + san.hosts).map(|_| clock.beside()).collect();
        let mut specs = Vec::new();
        for (number, clock) in (0..).zip(&clocks) {
            specs.extend(cable(san, number, clock)?);
        }
        // All in one region, so that the switch exchanges buffers.
        let mut ports = open_specs(&specs)?.into_iter();
        let (mut switch, record) = (Switch::of_virtual_time(san.seed), Record::default());
        san.buffers.iter().for_each(|buffers| switch.buffers(&Buffers { seed: san.seed, ..*buffers }));
        let offered = san.dcb.clone().map(|offered| SwitchDcb::new(&mut switch, SWITCH, offered));
        let missing = Arc::new(AtomicU16::new(san.initiators));
        let mut stations = Vec::new();
        for (number, clock) in (0..).zip(clocks) {
            let (Some(mut port), Some(far)) = (ports.next(), ports.next()) else { break };
            let (name, received) = (name(san, number), Arc::default());
            switch.attach(&name, far, Policy { pause: if san.lossless { 0xff } else { 0 }, ..Policy::default() })?;
            port.show(|| record.eye(number.into(), &clock, &received));
            let kind = if number == 0 {
                target(san, setup, port)?
            } else if number <= san.initiators {
                let (port, config) = node(san, number, port)?;
                let (config, none) = as_initiator(setup, config);
                Kind::Initiator(Box::new(port.node(
                    &config,
                    none,
                    Load::new(setup, number - 1, &missing).timing_all(),
                )?))
            } else if san.host_tcp {
                Kind::Writer(Box::new(Writer::new(san, number - san.initiators, port, mac(number))?))
            } else {
                Kind::Host(Box::new(Sender::new(san, number - san.initiators, port, mac(number))?))
            };
            stations.push(Station { name, kind, clock, timer: BEGIN, ready: true, done: false, received });
        }
        Ok(Self {
            now: BEGIN,
            clock,
            switch,
            dcb: offered.transpose()?,
            look: NEVER,
            stations,
            missing,
            begun: false,
            pauses: san.buffers.is_some(),
            times: [san.warm, san.time].map(saturating_ns),
            window: 0..0,
            gauges: san.buffers.map(|_| Gauges::default()),
            record,
        })
    }

    /// Runs until all initiators have logged out.
    pub(super) fn run(&mut self, stop: &Stop) -> Result<(), SimulateError> {
        let end = BEGIN + PATIENCE;
        let (mut instants, mut still) = (0_u32, 0_u32);
        loop {
            if instants.is_multiple_of(ASKED) && stop.asked() {
                return Err(SimulateError::Stopped);
            }
            instants = instants.wrapping_add(1);
            self.instant()?;
            if let Some(gauges) = &mut self.gauges {
                gauges.look(self.now, &self.window, &self.switch);
            }
            if self.stations.iter().all(|station| station.done || !matches!(station.kind, Kind::Initiator(_))) {
                return Ok(());
            }
            let next = self.next().max(self.now);
            still = if next == self.now { still + 1 } else { 0 };
            if still == STILL {
                return Err(SimulateError::Still(self.now - BEGIN));
            }
            self.now = next;
            if self.now > end {
                return Err(SimulateError::Endless(PATIENCE / SECOND));
            }
            self.clock.set(self.now);
        }
    }

    /// Time of the next instant.
    fn next(&self) -> u64 {
        let of = |station: &Station| station.clock.alarm().unwrap_or(NEVER).min(station.timer);
        self.stations.iter().map(of).chain(self.due()).fold(self.look, u64::min)
    }

    /// Time at which the switch has work of its own.
    fn due(&self) -> Option<u64> {
        self.switch.due().into_iter().chain(self.dcb.as_ref().map(SwitchDcb::due)).min()
    }

    /// All that happens at this instant.
    fn instant(&mut self) -> Result<(), SimulateError> {
        let now = self.now;
        let mut switch = self.look <= now || self.due().is_some_and(|due| due <= now);
        // Stations whose cable has frames at an end: the switch has something to fetch.
        let mut arrivals = false;
        for station in &mut self.stations {
            if station.clock.alarm().is_some_and(|at| at <= now) {
                station.clock.silence();
                (station.ready, arrivals) = (true, true);
            }
            station.ready |= station.timer <= now;
        }
        switch |= arrivals;
        let (mut turns, pauses) = (0, self.pauses);
        loop {
            if switch && self.forward(&mut turns) {
                // Slots came back.
                self.stations.iter_mut().for_each(|station| station.ready |= station.is_blocked(pauses));
            }
            let mut worked = std::mem::take(&mut arrivals);
            for station in self.stations.iter_mut().filter(|station| station.ready) {
                worked |= station.turn(now, &self.window, &mut turns);
            }
            if !self.begun && self.missing.load(Relaxed) == 0 {
                self.begin();
                worked = true;
            }
            if turns >= STILL {
                return Err(SimulateError::Still(now - BEGIN));
            }
            if !worked {
                return Ok(());
            }
            switch = true;
        }
    }

    /// All initiators are logged in: they and the hosts begin.
    fn begin(&mut self) {
        let [warm, time] = self.times;
        self.window = self.now + warm..self.now + warm + time;
        for station in &mut self.stations {
            station.ready = true;
            match &mut station.kind {
                Kind::Host(sender) => sender.begin(self.now, &self.window),
                Kind::Writer(writer) => writer.begin(self.now, &self.window),
                Kind::Target(..) | Kind::Initiator(_) => {}
            }
        }
        self.begun = true;
    }

    /// Has the switch forward all that it can forward now; true if there was something.
    fn forward(&mut self, turns: &mut u32) -> bool {
        let mut worked = 0;
        let Self { switch, dcb, now, .. } = self;
        while worked < PUT_OFF && (switch.poll(*now) | dcb.as_mut().is_some_and(|dcb| dcb.turn(switch, *now))) {
            worked += 1;
        }
        *turns += worked;
        // A frame for a parked queue is found at the next look.
        self.look = if worked > 0 || self.look > self.now { self.now + LOOK } else { NEVER };
        worked > 0
    }

    pub(super) fn results(&mut self, san: &San) -> Simulated {
        let ports = self.switch.ports();
        let mut flows = Vec::new();
        for station in &mut self.stations {
            if let Kind::Initiator(node) = &mut station.kind {
                let (load, _) = node.watcher();
                flows.push(Flow {
                    name: station.name.clone(),
                    requests: load.requests,
                    bytes: load.requests * u64::from(san.block),
                    errors: load.errors,
                    latency: Latency::of(&load.latency),
                    stuck: load.stuck,
                });
            }
        }
        let streams = self.streams(san);
        let stations = self.stations.iter().zip(&ports).map(|(station, port)| {
            let sent = match &station.kind {
                Kind::Target(node, _) => node.line().tx_counters(),
                Kind::Initiator(node) => node.line().tx_counters(),
                Kind::Host(sender) => sender.node().line().tx_counters(),
                Kind::Writer(writer) => writer.node().line().tx_counters(),
            };
            let lost = sent.dropped.of(DropReason::Fault);
            Ends {
                name: station.name.clone(),
                sent: sent.frames + lost,
                received: station.received.load(Relaxed),
                lost: [lost, port.fate.lost.of(DropReason::Fault)],
            }
        });
        let names: Vec<&str> = self.stations.iter().map(|station| station.name.as_str()).collect();
        let gauges = self.gauges.as_ref();
        Simulated {
            hash: self.record.hash(),
            lasted: Duration::from_nanos(self.now - BEGIN),
            time: san.time,
            flows,
            streams,
            stations: stations.collect(),
            depths: gauges.map_or_else(Vec::new, |gauges| gauges.depths(&names, saturating_ns(san.time))),
            pauses: gauges.map_or(0, Gauges::pauses),
            ledger: Ledger::of(&ports),
            ports,
        }
    }
}

impl World {
    /// Results of the hosts.
    fn streams(&mut self, san: &San) -> Vec<Stream> {
        let Some((first, hosts)) = self.stations.split_first_mut() else { return Vec::new() };
        let Kind::Target(_, Some(ears)) = &first.kind else { return Vec::new() };
        let mut streams = Vec::new();
        for Station { name, kind, .. } in hosts {
            match (ears, kind) {
                (Ears::Datagrams(inbox), Kind::Host(sender)) => {
                    streams.push(inbox.stream(san, streams.len(), name, sender));
                }
                (Ears::Streams(reader), Kind::Writer(writer)) => streams.push(reader.stream(name, writer)),
                _ => {}
            }
        }
        streams
    }
}

/// The target, with an IP host beside it if there are hosts that send.
fn target(san: &San, setup: &Setup, port: Port) -> Result<Kind, SimulateError> {
    let (mut port, config) = node(san, 0, port)?;
    if san.hosts > 0 {
        port = beside(san, port, mac(0))?;
    }
    let config = as_target(config);
    let mut node = port.node(&config, disks(setup, &config)?, Nobody)?;
    let ears = node.ip_mut().map(|ip| match san.host_tcp {
        true => Reader::new(san, &mut ip.host).map(Ears::Streams),
        false => Inbox::new(san, &mut ip.host).map(Ears::Datagrams),
    });
    let ears = ears.transpose()?;
    Ok(Kind::Target(Box::new(node), ears))
}

/// A node's port, and its names and seed.
fn node(san: &San, number: u16, port: Port) -> Result<(FcPort, NodeConfig), SimulateError> {
    let rate = if number == 0 { san.target.rate } else { san.initiator.rate };
    let reaction = san.buffers.and_then(|buffers| buffers.qcn).map(|_| rate);
    let options = FcOptions { mac: Some(mac(number)), vlan: san.vlan, reaction, ..FcOptions::default() };
    let willing = san.dcb.as_ref().map(|_| Settings { willing: true, ..Settings::default() });
    let port = FcPort::over(port, &options)?.with_dcb(willing);
    let config = NodeConfig { seed: SplitMix64::nth(san.seed, number.into()), ..port.config() };
    Ok((port, config))
}
