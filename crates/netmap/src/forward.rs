//! A thread that forwards frames between ports, until all have gone: a switch that this process runs, for all programs of the
//! user, or the way from a port to a switch that another process runs.

use crate::sleep::add_sleep;
use crate::sys::process::{quietly, run_on};
use crate::sys::real;
use linerate_port::Sleeper;
use linerate_port::switch::{Listener, Switch};
use linerate_ring::Bell;
use linerate_text::saturating_ns;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Time for which a thread without ports stays: the first may be on its way.
const LINGER: Duration = Duration::from_secs(10);
/// Time after which it looks, whatever its descriptors say.
const LOOK: Duration = Duration::from_secs(1);

/// Number of no port (`NM_BDG_NOPORT`).
pub(crate) const NO_PORT: u32 = 254;

type Job = Box<dyn FnOnce(&mut Turn) + Send>;

/// What the thread has.
pub(crate) struct Turn {
    pub(crate) switch: Switch,
    /// Door for other programs; None: the switch is another process's.
    pub(crate) door: Option<Listener>,
    /// Processors on which it spins instead of sleeping (VALE_POLLING_ENABLE).
    pub(crate) cpus: Vec<u32>,
}

/// The thread, as others see it.
pub(crate) struct Forwarder {
    jobs: Sender<Job>,
    bell: Arc<Bell>,
    /// Nothing, which the thread has while it runs.
    alive: Weak<()>,
}

impl Forwarder {
    /// Starts the thread, with a door for other programs or without.
    pub(crate) fn start(door: Option<Listener>) -> io::Result<Arc<Self>> {
        let ((jobs, todo), bell, life) = (channel(), Arc::new(Bell::new()?), Arc::new(()));
        let forwarder = Arc::new(Self { jobs, bell: bell.clone(), alive: Arc::downgrade(&life) });
        let thread = std::thread::Builder::new().name("switch".into());
        let run = move || {
            Turn { switch: Switch::new(), door, cpus: Vec::new() }.run(&todo, &bell);
            drop(life);
        };
        quietly(|| thread.spawn(run)).map(|_| forwarder)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.alive.strong_count() == 0
    }

    /// Has the thread do something; None if it has ended.
    pub(crate) fn ask<R: Send + 'static>(&self, job: impl FnOnce(&mut Turn) -> R + Send + 'static) -> Option<R> {
        let (tell, told) = channel();
        // Whoever asked waits for the answer.
        let job = move |turn: &mut Turn| tell.send(job(turn)).unwrap_or_default();
        self.jobs.send(Box::new(job)).ok()?;
        self.bell.ring();
        told.recv().ok()
    }
}

impl Turn {
    fn run(&mut self, todo: &Receiver<Job>, bell: &Bell) {
        let begun = Instant::now();
        let (mut used, mut looked) = (begun, begun);
        loop {
            bell.clear();
            let mut worked = self.door.as_ref().is_some_and(|door| door.admit(&mut self.switch));
            while let Ok(job) = todo.try_recv() {
                job(self);
                worked = true;
            }
            worked |= self.switch.poll(saturating_ns(begun.elapsed()));
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                if !self.ports().is_empty() {
                    used = looked;
                } else if used.elapsed() > LINGER {
                    return;
                }
            }
            if !worked && self.cpus.is_empty() {
                self.sleep(bell);
            }
        }
    }

    /// Sleeps until there may be something to do.
    fn sleep(&mut self, bell: &Bell) {
        let mut set = vec![libc::pollfd { fd: bell.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        let (mut until, mut sleeps) = (Some(Instant::now() + LOOK), true);
        self.visit(&mut |sleeper| match sleeper.fall_asleep() {
            Some(sleep) => add_sleep(&sleep, &mut set, &mut until),
            None => sleeps = false,
        });
        if sleeps {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            // Signals are blocked; a failure is a sleep that was short.
            let _ = real::ppoll(&mut set, left, None);
        }
        self.visit(&mut |sleeper| sleeper.wake_up());
    }

    fn visit(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        if let Some(door) = &self.door {
            visit(&mut &*door);
        }
        self.switch.waits_for(visit);
    }

    /// Names of the ports, in the order of their numbers.
    pub(crate) fn ports(&self) -> Vec<String> {
        self.switch.ports().into_iter().filter(|port| !port.gone).map(|port| port.name).collect()
    }

    /// Number of a port.
    pub(crate) fn port(&self, name: &str) -> u32 {
        let at = self.ports().iter().position(|one| one == name);
        at.and_then(|at| u32::try_from(at).ok()).unwrap_or(NO_PORT)
    }

    /// Removes these ports, and the way to the switch with them if it is another process's.
    pub(crate) fn remove(&mut self, names: &[String]) {
        if self.door.is_none() {
            self.switch = Switch::new();
        }
        names.iter().map(|name| self.switch.detach(name)).for_each(drop);
    }

    /// Spins on one processor more, or on one less; EINVAL if there is no such processor.
    pub(crate) fn spin(&mut self, cpu: u32, on: bool) -> Result<(), libc::c_int> {
        let mut cpus = self.cpus.clone();
        if on {
            cpus.push(cpu);
        } else if let Some(at) = cpus.iter().position(|one| *one == cpu) {
            cpus.swap_remove(at);
        }
        run_on(&cpus)?;
        self.cpus = cpus;
        Ok(())
    }
}
