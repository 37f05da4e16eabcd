//! The two threads: the target on its port, and the initiators on theirs with the switch between.

use super::beside::{Sender, options, received, with_host};
use super::load::{Load, positions};
use super::pattern::Pattern;
use super::{FcoeError, Measured, Medium, Setup, Thread};
use crate::team::{Member, Team};
use linerate_block::{Backend, Memory, Null, Ram};
use linerate_fcoe::{Disks, DisksConfig, InitiatorConfig, Node, NodeConfig, NodeEvent, TargetConfig};
use linerate_port::switch::{Policy, Switch};
use linerate_port::{Port, open_all};
use linerate_rt::fc::{FcNode, FcOptions, FcPort, Watcher};
use linerate_rt::{Machine, Progress, Sleeper, Stop, ThreadTime, Waiter};
use std::sync::Arc;
use std::sync::atomic::AtomicU16;

/// Size that null disks report, bytes.
const NULL_SIZE: u64 = 1 << 30;

/// Runs both sides until the initiators are done.
pub(super) fn run(setup: &Setup, stop: &Stop) -> Result<Measured, FcoeError> {
    let (target_port, near) = ports(setup)?;
    let mut team = Team::new()?;
    let theirs = setup.clone();
    team.add("fcoe-target", &[setup.cores[0]], move |member| {
        target(&theirs, target_port, member).map(|(thread, received)| Side::Target(thread, received))
    })?;
    let (ours, asked) = (setup.clone(), stop.clone());
    team.add("fcoe-initiators", &[setup.cores[1]], move |member| {
        let done = initiators(&ours, near, member, &asked);
        // The target ends after the initiators.
        member.stop.ask(0);
        done.map(|(loads, thread, sender)| Side::Initiators(loads, thread, sender))
    })?;
    let (mut sides, mut loads) = (Vec::new(), Vec::new());
    let (mut received, mut sender) = (0, None);
    for worked in team.join() {
        match worked.done? {
            Side::Target(thread, n) => {
                received = n;
                sides.push(thread);
            }
            Side::Initiators(all, thread, sent) => {
                (loads, sender) = (all, sent);
                sides.push(thread);
            }
        }
    }
    let [target, thread] = sides[..] else { unreachable!("two threads, two sides") };
    if let Some(why) = loads.iter().find_map(|load| load.stuck) {
        return Err(FcoeError::Stuck(why));
    }
    if stop.asked() {
        return Err(FcoeError::Stopped);
    }
    let requests = loads.iter().map(|load| load.requests).sum();
    let mut latency = loads[0].latency.clone();
    for load in &loads[1..] {
        // All histograms have the same parameters.
        let _ = latency.add(&load.latency);
    }
    Ok(Measured {
        requests,
        bytes: requests * u64::from(setup.io_bytes),
        seconds: setup.time.as_secs_f64().max(1e-9),
        errors: loads.iter().map(|load| load.errors).sum(),
        datagrams: sender.as_ref().map_or(0.0, Sender::per_second),
        datagrams_lost: sender.map_or(0, |sender| sender.sent.saturating_sub(received)),
        latency,
        target,
        initiators: thread,
    })
}

/// Result of a thread.
enum Side {
    /// The target's thread, with the number of datagrams that its host received.
    Target(Thread, u64),
    Initiators(Vec<Load>, Thread, Option<Sender>),
}

/// Ports on the initiators' side of the target's wire.
struct Near {
    /// Port of each initiator.
    ports: Vec<Port>,
    /// Ports of the switch.
    switch: Vec<Port>,
}

/// Opens all ports in one region, the target's first.
fn ports(setup: &Setup) -> Result<(Port, Near), FcoeError> {
    let Setup { mtu, slots, .. } = *setup;
    let rate = setup.rate.map(|rate| format!(",rate={rate}")).unwrap_or_default();
    let ends =
        |name: &str, rate: &str| ["{1", "}1"].map(|end| format!("cable:{name}{end},mtu={mtu},slots={slots}{rate}"));
    let mut names: Vec<String> = ends("fcoe-target", &rate).into();
    let several = setup.initiators > 1;
    if several {
        names.extend((0..setup.initiators).flat_map(|i| ends(&format!("fcoe-{i}"), "")));
    }
    let mut all = open_all(&names)?.into_iter();
    let (Some(target), Some(other)) = (all.next(), all.next()) else {
        return Err(FcoeError::Stuck("a cable has two ends: this is a bug"));
    };
    if !several {
        return Ok((target, Near { ports: vec![other], switch: Vec::new() }));
    }
    let mut near = Near { ports: Vec::new(), switch: vec![other] };
    while let (Some(port), Some(other)) = (all.next(), all.next()) {
        near.ports.push(port);
        near.switch.push(other);
    }
    Ok((target, near))
}

/// Makes a node's port, with or without an IP host beside it.
fn over(port: Port, with_ip: bool, target: bool) -> Result<FcPort, FcoeError> {
    if with_ip {
        with_host(FcPort::over(port, &options(target))?, target)
    } else {
        Ok(FcPort::over(port, &FcOptions::default())?)
    }
}

/// Runs the target's thread.
fn target(setup: &Setup, port: Port, member: &mut Member) -> Result<(Thread, u64), FcoeError> {
    let mut node = target_node(setup, port)?;
    let stop = member.stop.clone();
    member.run(&mut node, &mut Waiter::new(setup.wait), &stop);
    let busy = member.busy_share();
    let received = received(&node);
    Ok((Thread { cpu: node.watcher().0.cpu(), busy, frames: node.lines().0.counters().frames }, received))
}

fn target_node(setup: &Setup, port: Port) -> Result<FcNode<Disks, Meter>, FcoeError> {
    let port = over(port, setup.datagrams.is_some(), true)?;
    let config = as_target(port.config());
    let disks = disks(setup, &config)?;
    Ok(port.node(&config, disks, Meter::default())?)
}

/// A target whose queue holds what all initiators may have under way.
pub(crate) fn as_target(config: NodeConfig) -> NodeConfig {
    NodeConfig { target: Some(TargetConfig { max_queue: 64 * 256, ..TargetConfig::default() }), ..config }
}

/// An initiator with room for the requests of its disks, and no disks of its own.
pub(crate) fn as_initiator(setup: &Setup, config: NodeConfig) -> (NodeConfig, Disks) {
    let requests = setup.luns * setup.queue_depth;
    let limits = InitiatorConfig { exchanges: usize::from(requests) + 16, queue_depth: requests, retries: 5 };
    let none = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 0 });
    (NodeConfig { initiator: Some(limits), ..config }, none)
}

/// Makes the disks of all initiators; memory disks get their first contents.
pub(crate) fn disks(setup: &Setup, config: &NodeConfig) -> Result<Disks, FcoeError> {
    let mut disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 64 << 20 });
    let pattern = Pattern::named();
    for lun in 0..setup.initiators * setup.luns {
        let backend: Box<dyn Backend> = match setup.medium {
            Medium::Null => {
                Box::new(Null::new(NULL_SIZE, 512, lun.into()).map_err(|_| FcoeError::Size(setup.io_bytes))?)
            }
            Medium::Ram(size) => {
                let ram = Ram::new(size / 512 * 512, 512, false, lun.into());
                let mut ram = ram.map_err(|_| FcoeError::Size(setup.io_bytes))?;
                let mut bytes = vec![0; setup.io_bytes as usize];
                for position in 0..positions(setup) {
                    pattern.write(&mut bytes, lun, position * u64::from(setup.io_bytes / 512), 0);
                    ram.write(position * u64::from(setup.io_bytes), &bytes);
                }
                Box::new(ram)
            }
        };
        disks.add(lun, backend).map_err(|_| FcoeError::Count(setup.initiators, setup.luns, setup.queue_depth))?;
    }
    Ok(disks)
}

/// Runs the initiators' thread.
fn initiators(
    setup: &Setup,
    near: Near,
    member: &mut Member,
    stop: &Stop,
) -> Result<(Vec<Load>, Thread, Option<Sender>), FcoeError> {
    let mut side = initiator_nodes(setup, near)?;
    member.run(&mut side, &mut Waiter::new(setup.wait), stop);
    let busy = member.busy_share();
    let frames = side.nodes.iter().map(|member| member.node.lines().0.counters().frames).sum();
    let loads: Vec<Load> = side.nodes.into_iter().map(|member| member.node.into_watcher()).collect();
    // All loads run in one thread.
    let cpu = loads.first().map_or(0.0, |load| load.cpu);
    Ok((loads, Thread { cpu, busy, frames }, side.sender))
}

fn initiator_nodes(setup: &Setup, near: Near) -> Result<Initiators, FcoeError> {
    let mut switch = Switch::new();
    let all = Policy { pause: 0xff, ..Policy::default() };
    let several = !near.switch.is_empty();
    for (i, port) in near.switch.into_iter().enumerate() {
        switch.attach(&i.to_string(), port, all.clone())?;
    }
    let missing = Arc::new(AtomicU16::new(setup.initiators));
    let mut nodes = Vec::new();
    for (number, port) in (0..).zip(near.ports) {
        let port = over(port, setup.datagrams.is_some() && number == 0, false)?;
        let (config, none) = as_initiator(setup, port.config());
        nodes.push(Attached { node: port.node(&config, none, Load::new(setup, number, &missing))?, done: false });
    }
    Ok(Initiators { switch: several.then_some(switch), nodes, sender: setup.datagrams.map(Sender::new) })
}

/// Samples the processor time of the target's thread while commands arrive.
#[derive(Default)]
struct Meter {
    /// Number of commands at the last sample.
    commands: u64,
    next: u64,
    first: Option<(u64, ThreadTime)>,
    last: Option<(u64, ThreadTime)>,
}

/// Time between two samples, nanoseconds.
const LOOK: u64 = 10_000_000;

impl Meter {
    fn cpu(&self) -> f64 {
        match (self.first, self.last) {
            (Some(first), Some(last)) => share(first, last),
            _ => 0.0,
        }
    }
}

/// Processor time between two readings, as a share of the time between.
pub(super) fn share(first: (u64, ThreadTime), last: (u64, ThreadTime)) -> f64 {
    let spent = last.1.since(first.1);
    (spent.user + spent.system).as_secs_f64() * 1e9 / last.0.saturating_sub(first.0).max(1) as f64
}

impl Watcher<Disks> for Meter {
    fn event(&mut self, _: u64, _: &NodeEvent, _: &mut Node<Disks>) {}

    #[inline]
    fn turn(&mut self, now: u64, node: &mut Node<Disks>) -> bool {
        if now >= self.next {
            self.next = now + LOOK;
            let commands = node.target().map_or(0, |target| target.counters().commands);
            if commands > self.commands {
                self.commands = commands;
                let reading = (now, ThreadTime::of_this_thread());
                self.first.get_or_insert(reading);
                self.last = Some(reading);
            }
        }
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

struct Attached {
    node: FcNode<Disks, Load>,
    done: bool,
}

/// Several initiators and their switch, handled in turn; done when all initiators are.
struct Initiators {
    switch: Option<Switch>,
    nodes: Vec<Attached>,
    /// Sender of datagrams on the first initiator's port.
    sender: Option<Sender>,
}

impl Machine for Initiators {
    fn handle(&mut self, now: u64) -> Progress {
        let mut worked = self.switch.as_mut().is_some_and(|switch| switch.poll(now));
        // Not while it logs out: the target may end as soon as it has answered that, with what came later unread.
        if let (Some(sender), Some(first)) = (&mut self.sender, self.nodes.first_mut())
            && !first.node.watcher().0.is_done()
        {
            sender.turn(now, &mut first.node);
        }
        for member in self.nodes.iter_mut().filter(|member| !member.done) {
            match member.node.handle(now) {
                Progress::Done => member.done = true,
                Progress::Worked => worked = true,
                Progress::Idle => {}
            }
        }
        match (worked, self.nodes.iter().all(|member| member.done)) {
            (_, true) => Progress::Done,
            (true, _) => Progress::Worked,
            _ => Progress::Idle,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.nodes.iter().filter(|member| !member.done).filter_map(|member| member.node.poll_timeout()).min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        for member in self.nodes.iter_mut().filter(|member| !member.done) {
            member.node.waits_for(visit);
        }
        if let Some(switch) = &mut self.switch {
            switch.waits_for(visit);
        }
    }

    fn stop(&mut self, now: u64) {
        self.nodes.iter_mut().for_each(|member| member.node.stop(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcoe::WaitMode;
    use std::time::Duration;

    /// Regression: datagrams went on while the initiator logged out, and the target ended with them unread.
    #[test]
    fn no_datagram_is_unread_when_the_initiators_are_done() {
        let setup = Setup::new(Medium::Null, 512, 100, [0, 0], Duration::from_millis(2));
        let setup = Setup { wait: WaitMode::Sleep, warm: Duration::ZERO, datagrams: Some(6_000_000), ..setup };
        let (port, near) = ports(&setup).unwrap();
        let mut target = target_node(&setup, port).unwrap();
        let mut side = initiator_nodes(&setup, near).unwrap();
        // The target reads all that comes in three turns, but not in one.
        let mut times = (1..10_000_000).map(|turn| turn * 10_000);
        let now = times.find(|now| {
            (0..3).for_each(|_| _ = target.handle(*now));
            side.handle(*now) == Progress::Done
        });
        let now = now.expect("the initiators are done");
        assert!(side.nodes[0].node.watcher().0.requests > 0);
        // With the side its ports go, and with them the link.
        let sent = side.sender.take().unwrap().sent;
        drop(side);
        target.stop(now);
        times.find(|now| target.handle(*now) == Progress::Done).expect("the target is done");
        assert_eq!(received(&target), sent);
        assert!(sent > 0);
    }
}
