//! A run: opens the ports, starts the threads, reports while they work, stops them in order, settles the ledger.

use super::captured::{self, Replay};
use super::config::{Config, Style, options};
use super::job::Reading;
use super::limits;
use super::modes::Role;
use super::name;
use super::output::Output;
use super::report::{Progressed, Teller, float};
use super::settle::{Facts, Finished, settle};
use super::sizes::Sizes;
use super::team::{Common, Sent, Team};
use crate::frame::{FlowRange, Layout, Payload, Template};
use crate::sampler::Sampler;
use linerate_port::{FaultPlan, Link, OpenError, Port, open_all};
use linerate_result::{Sample, Timestamp};
use linerate_rt::{Stop, Timers, monotonic_ns, pause, random};
use linerate_text::saturating_ns;
use linerate_wire::MacAddr;
use std::sync::{Arc, Mutex};
use thiserror::Error;

/// Reason why a run did not take place: one line that names the fault and the mend.
#[derive(Debug, Error)]
pub enum Refusal {
    /// A flag is wrong, or flags that do not go together.
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{what}: {source}; free some memory, threads or descriptors")]
    System {
        /// Resource that was requested.
        what: &'static str,
        source: std::io::Error,
    },
}

const MS: u64 = 1_000_000;
/// Time without arrivals that ends the drain, and longest time of the drain.
const QUIET_NS: u64 = 200 * MS;
const DRAIN_NS: u64 = 2_000 * MS;
/// Time limit for an interface to bring its link up, if `-w` is not given: netmap's default.
const LINK_UP_NS: u64 = 2_000 * MS;
/// Time that a far end may be missing before that is reported.
const LOOK_NS: u64 = 200 * MS;
/// Time between two looks for ports that are gone.
const GONE_NS: u64 = 500 * MS;
/// Reports over less time than this mean nothing.
const SHORTEST_REPORT_US: u64 = 10_000;

/// Opens the ports of a configuration, runs it to its end, and returns the result.
///
/// # Errors
/// [`Refusal`], before anything was sent.
pub fn run(config: Config, command: Vec<String>, stop: &Stop, output: &Arc<Output>) -> Result<Finished, Refusal> {
    run_after(config, command, stop, output, || ())
}

/// Like [`run`], and calls `opened` as soon as all ports are open.
///
/// # Errors
/// [`Refusal`], before anything was sent.
pub fn run_after(
    mut config: Config,
    command: Vec<String>,
    stop: &Stop,
    output: &Arc<Output>,
    opened: impl FnOnce(),
) -> Result<Finished, Refusal> {
    let names: Vec<String> = std::iter::once(&config.port)
        .chain(&config.to)
        .map(|port| name::with_rings(&config, port))
        .collect::<Result<_, _>>()?;
    let captures = Captures::load(&mut config)?;
    let ports = open_all(&names)?;
    opened();
    run_on(config, captures, ports, command, stop, output)
}

/// Captures, which are read before any port is opened.
#[derive(Default)]
pub(super) struct Captures {
    packet: Option<Arc<Vec<u8>>>,
    replay: Option<Box<Replay>>,
}

impl Captures {
    pub(super) fn load(config: &mut Config) -> Result<Self, Refusal> {
        let update = config.has(options::UPDATE_CSUM);
        let replay = config.replay.as_ref().map(|replay| Replay::open(replay, update)).transpose()?.map(Box::new);
        let mut packet = config.packet_file.as_deref().map(captured::first_frame).transpose()?;
        if let Some(packet) = &mut packet {
            config.sizes = Sizes::Fixed(packet.len());
            if update {
                captured::update_checksums(packet);
            }
        }
        Ok(Self { packet: packet.map(Arc::new), replay })
    }
}

/// Runs on open ports: the first is the one that pkt-gen uses, a second one receives.
pub(super) fn run_on(
    mut config: Config,
    captures: Captures,
    mut ports: Vec<Port>,
    command: Vec<String>,
    stop: &Stop,
    output: &Arc<Output>,
) -> Result<Finished, Refusal> {
    let (start, began) = (Timestamp::now(), monotonic_ns());
    if captures.replay.is_some() {
        config.sizes = Sizes::Fixed(ports[0].info().largest.saturating_sub(config.vnet));
    }
    limits::check(&config, &ports)?;
    let places = limits::places(&config)?;
    let common = Common {
        run: config.run.unwrap_or_else(random_run),
        template: template(&config, &ports[0]),
        packet: captures.packet,
        replay: Mutex::new(captures.replay),
        output: output.clone(),
        config: Arc::new(config),
    };
    let config = &common.config;
    introduce(&common, &ports);
    wait_for_link(config, &ports, stop, output);

    let queues = Team::queues(config.mode, config.threads, &ports[0]);
    let plan = FaultPlan::of(&ports[0].info().name);
    // The receiver is started first.
    let far = match (ports.get_mut(1), config.mode.far) {
        (Some(port), Some(mode)) => {
            let sent = Sent { streams: queues, plan };
            let place = places.get(config.threads).cloned().into_iter().collect::<Vec<_>>();
            Some(Team::start(&common, mode, port, 1, &place, Some(sent))?)
        }
        (Some(port), None) => {
            let (port, mode) = (&port.info().name, config.mode.name);
            return Err(Refusal::Usage(format!("{port}: nothing is done at the far port of -f {mode}; leave it out")));
        }
        (None, _) => None,
    };
    let main = Team::start(&common, config.mode, &mut ports[0], config.threads, &places, None)?;
    let samples = Watch::new(&common).until_ended(&main, &ports, stop);
    if let Some(far) = &far {
        drain(&main, far);
        far.threads.stop.ask(0);
    }
    let (main, far) = (main.join(), far.map(Team::join));
    let elapsed = monotonic_ns() - began;
    let facts =
        Facts { common: &common, command, start, elapsed, ports: &ports, main, far, samples, signal: stop.signal() };
    Ok(settle(facts))
}

/// Random number that identifies this run's frames. 0 would make the first mark all zeros and all ones.
fn random_run() -> u16 {
    u16::try_from(random() % 0xffff).unwrap_or(0) + 1
}

fn template(config: &Config, port: &Port) -> Template {
    Template {
        layout: Layout { vnet: config.vnet, v6: config.v6 },
        src_mac: config.src_mac.or(port.info().mac).unwrap_or([0; 6]),
        dst_mac: config.dst_mac,
        stream: 0,
        payload: match config.mode.name {
            "txseq" => Payload::Numbered,
            _ if config.stamps() => Payload::Stamped,
            _ => Payload::Marked,
        },
    }
}

/// Prints the lines at the start.
fn introduce(common: &Common, ports: &[Port]) {
    let (config, output) = (&common.config, &common.output);
    let verb = match config.mode.role {
        Role::Sender => "Sending on",
        Role::Receiver => "Receiving from",
        Role::Other => "Working on",
    };
    config.remarks.iter().for_each(|remark| output.remark("main", 2890, remark));
    if config.style == Style::Classic {
        older(common, &ports[0]);
    }
    let queues = config.mode.queues(ports[0].info());
    let (threads, cpus) = (config.threads, limits::cpus_used(config));
    output.line(&format!("{verb} {}: {queues} queues, {threads} threads and {cpus} cpus.", config.port));
    if config.mode.role == Role::Sender {
        let (src, dst) = (MacAddr(common.template.src_mac), MacAddr(common.template.dst_mac));
        output.line(&format!("{} -> {} ({src} -> {dst})", config.src_text, config.dst_text));
    }
    for port in ports {
        let info = port.info();
        crate::ports::lines(port).iter().for_each(|line| output.remark("main", 2900, line));
        if config.verbose > 0 {
            let (tx, rx, slots) = (info.tx_queues, info.rx_queues, info.slots);
            output.remark("main", 2902, &format!("{}: {tx} tx and {rx} rx rings of {slots} slots", info.name));
        }
    }
    if let Some(line) = unmarked(common) {
        output.remark("main", 2903, &line);
    }
    let special = options::names(config.options);
    if !special.is_empty() {
        output.remark("main", 2910, &format!("--- SPECIAL OPTIONS: {}", special.join(" ")));
    }
    if config.mode.role == Role::Sender {
        let burst = config.burst();
        let ns =
            config.rate.map_or(0, |rate| u128::from(burst) * 1_000_000_000 * config.threads as u128 / u128::from(rate));
        let text = format!("Sending {burst} packets every  {}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000);
        output.remark("main", 2920, &text);
    }
    if config.ndjson {
        let ports: Vec<_> =
            ports.iter().map(|p| serde_json::json!({"name": p.info().name, "path": p.info().path})).collect();
        let event = serde_json::json!({"event": "start", "mode": config.mode.name, "run": common.run, "ports": ports});
        output.document(&event.to_string());
    }
}

/// A line about frames that are too short for a mark, which other processes cannot check.
fn unmarked(common: &Common) -> Option<String> {
    let (config, made) = (&common.config, common.template.payload != Payload::Numbered);
    let (len, needed) = (config.sizes.shortest(), Layout { vnet: 0, v6: config.v6 }.end());
    let marks = config.mode.role == Role::Sender && made && !config.captured() && !config.has(options::RUBBISH);
    (marks && len < needed).then(|| {
        format!("frames of {len} bytes have no room for a mark, so no other process can check them; give -l {needed} or more")
    })
}

/// Prints the lines that older pkt-gens begin with.
fn older(common: &Common, port: &Port) {
    let (config, output) = (&common.config, &common.output);
    output.remark("main", 1507, &format!("interface is {}", config.port));
    for FlowRange { addrs: (first, last), ports: (low, high) } in [config.src, config.dst] {
        output.remark("extract_ip_range", 160, &format!("range is {first}:{low} to {last}:{high}"));
    }
    let (address, bytes) = port.memory();
    output.remark("main", 1700, &format!("mapped {}KB at {address:#x}", bytes >> 10));
}

/// Waits for `-w` seconds as netmap does, or, without `-w`, until a physical port's link is up.
fn wait_for_link(config: &Config, ports: &[Port], stop: &Stop, output: &Output) {
    let now = monotonic_ns();
    if let Some(wait) = config.wait_link {
        output.remark("start_threads", 2500, &format!("Wait {} secs for phy reset", wait.as_secs()));
        pause(&[stop], Some(now + saturating_ns(wait)));
    } else if name::is_physical(&config.port) {
        let until = now + LINK_UP_NS;
        while !stop.asked() && monotonic_ns() < until && ports.iter().any(|port| port.link() == Link::Down) {
            pause(&[stop], Some(monotonic_ns() + 10 * MS));
        }
    }
    output.remark("start_threads", 2501, "Ready...");
}

/// Waits until the receiver has all frames sent, or no more arrive. Foreign frames, and arrivals in excess of the
/// frames sent, do not count.
fn drain(sender: &Team, receiver: &Team) {
    let (start, sent) = (monotonic_ns(), sender.read().frames);
    let reading = receiver.read();
    let (mut since, mut frames, mut come) = (start, reading.frames, reading.come);
    while come < sent && monotonic_ns() < start + DRAIN_NS {
        pause(&[&receiver.threads.ended], Some(monotonic_ns() + MS));
        let (now, reading) = (monotonic_ns(), receiver.read());
        if reading.frames != frames {
            (since, frames, come) = (now, reading.frames, reading.come);
        } else if now > since + QUIET_NS || receiver.threads.ended.asked() {
            return;
        }
    }
}

/// Timed tasks while the threads work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    Look,
    Gone,
    Report,
    End,
}

/// Reports while the threads work.
struct Watch<'a> {
    common: &'a Common,
    teller: Teller,
    sampler: Sampler,
    began: u64,
    last: (u64, Reading),
}

impl<'a> Watch<'a> {
    fn new(common: &'a Common) -> Self {
        let now = monotonic_ns();
        let teller = teller(&common.config);
        Self { common, teller, sampler: Sampler::new(now), began: now, last: (now, Reading::default()) }
    }

    /// Runs until all threads have ended; they are told to end when the time is over or a stop is requested.
    fn until_ended(mut self, team: &Team, ports: &[Port], stop: &Stop) -> Vec<Sample> {
        let config = &self.common.config;
        let every = saturating_ns(config.report);
        let mut timers = Timers::new();
        timers.add(self.began + every, Task::Report);
        timers.add(self.began + LOOK_NS, Task::Look);
        timers.add(self.began + GONE_NS, Task::Gone);
        if let Some(seconds) = config.seconds {
            timers.add(self.began + saturating_ns(seconds), Task::End);
        }
        while !team.threads.ended.asked() {
            if stop.asked() && !team.threads.stop.asked() {
                self.common.output.remark("sigint_h", 2400, "asked to stop");
                team.threads.stop.ask(0);
            }
            let both = [&team.threads.ended, stop];
            // A stop that was requested would end each pause at once.
            pause(if stop.asked() { &both[..1] } else { &both }, timers.next());
            let now = monotonic_ns();
            while let Some((at, task)) = timers.due(now) {
                match task {
                    Task::Look => {
                        let alone = ports.iter().filter_map(name::alone);
                        alone.for_each(|line| self.common.output.remark("main_thread", 2700, &line));
                    }
                    // The verdict says it.
                    Task::Gone if ports.iter().any(|port| port.link() == Link::Gone) => team.threads.stop.ask(0),
                    Task::Gone => timers.add(now + GONE_NS, Task::Gone),
                    Task::Report => {
                        self.report(team, now);
                        // Missed reports are not made up for.
                        timers.add(at + every * ((now - at) / every + 1), Task::Report);
                    }
                    Task::End => team.threads.stop.ask(0),
                }
            }
        }
        self.report(team, monotonic_ns());
        self.sampler.into_samples()
    }

    fn report(&mut self, team: &Team, now: u64) {
        let (then, before) = self.last;
        let usec = (now - then) / 1000;
        if usec < SHORTEST_REPORT_US {
            return;
        }
        let reading = team.read();
        let x = Progressed {
            frames: reading.frames - before.frames,
            bytes: reading.bytes - before.bytes,
            events: reading.events - before.events,
            min_space: reading.min_space,
            usec,
            before: (0, 0),
        };
        self.last = (now, reading);
        let (line, text) = self.teller.periodic(&x);
        self.common.output.remark("main_thread", line, &text);
        let sample = self.sampler.take(now, reading.frames);
        if self.common.config.ndjson {
            let bits = float(x.bytes) * 8e6 / float(usec);
            let event = serde_json::json!({
                "event": "report", "t_s": sample.t_s, "usec": usec, "frames": x.frames, "bytes": x.bytes, "events": x.events,
                "min_space": x.min_space, "pps": sample.value, "bit_s": bits,
            });
            self.common.output.document(&event.to_string());
        }
    }
}

pub(super) fn teller(config: &Config) -> Teller {
    Teller::new(config.style, config.normalize, config.framing, config.has(options::PPS_STATS))
}
