//! Threads that do the same work on the queues of one port.

use super::captured::Replay;
use super::config::Config;
use super::job::{Done, Lane, Reading, Setup, Tally};
use super::limits;
use super::modes::Mode;
use super::output::Output;
use super::run::Refusal;
use super::source::Cut;
use crate::check::Joint;
use crate::frame::Template;
use linerate_port::{FaultPlan, Port};
use linerate_rt::{CoreTime, Stop, ThreadTime, WaitStats, Waiter, core_times, run, spawn};
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What all threads of a run have in common.
pub(super) struct Common {
    pub(super) config: Arc<Config>,
    pub(super) run: u16,
    pub(super) template: Template,
    pub(super) packet: Option<Arc<Vec<u8>>>,
    pub(super) replay: Mutex<Option<Box<Replay>>>,
    pub(super) output: Arc<Output>,
}

impl Common {
    fn take_replay(&self) -> Option<Box<Replay>> {
        self.replay.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What is known of frames that this process sends.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) streams: u16,
    /// What is done to them on purpose.
    pub(super) plan: Option<FaultPlan>,
}

/// The threads, and how they are stopped.
pub(super) struct Team {
    workers: Vec<Worker>,
    /// What several receivers' shares of each stream came to.
    joint: Option<Arc<Joint>>,
    /// Asks them to end.
    pub(super) stop: Stop,
    /// Asked when the last one has ended.
    pub(super) ended: Stop,
}

struct Worker {
    tally: Arc<Tally>,
    thread: JoinHandle<Worked>,
}

/// What a thread leaves.
pub(super) struct Worked {
    pub(super) name: String,
    pub(super) core: Option<usize>,
    pub(super) done: Done,
    pub(super) cpu: ThreadTime,
    /// In soft interrupts on that core, if the thread had one for itself.
    pub(super) softirq: Option<Duration>,
    pub(super) waits: WaitStats,
}

impl Team {
    /// Queues that so many threads use: one thread serves them all, more have one each.
    pub(super) fn queues(mode: &Mode, threads: usize, port: &Port) -> usize {
        if threads > 1 || mode.single { threads } else { mode.queues(port.info()) }
    }

    /// Starts so many threads, and returns when all have begun; `places` says on which processors each may run.
    /// `sender`: the streams that a receiver of frames that this process sends has to expect.
    pub(super) fn start(
        common: &Common,
        mode: &'static Mode,
        port: &mut Port,
        threads: usize,
        places: &[Vec<usize>],
        sender: Option<Sent>,
    ) -> Result<Self, Refusal> {
        let system = |source| Refusal::System { what: "threads", source };
        let (stop, ended) = (Stop::new().map_err(system)?, Stop::new().map_err(system)?);
        let running = Arc::new(AtomicUsize::new(threads));
        let queues = Self::queues(mode, threads, port);
        // Dropped on an error, it ends the threads that run already.
        let joint = (mode.receives() && threads > 1).then(Arc::default);
        let streams = sender.as_ref().map(|sender| sender.streams);
        let mut team = Self { workers: Vec::new(), joint, stop, ended };
        // A thread drops its end when it begins: what it prepares (the kernel takes long to close a socket that is not
        // wanted) is not of the time that was asked for.
        let (preparing, begun) = channel::<()>();
        for k in 0..threads {
            let lanes = (k..queues).step_by(threads).map(|q| Lane {
                index: u16::try_from(q).unwrap_or(u16::MAX),
                tx: port.take_tx(q),
                rx: port.take_rx(q),
            });
            let lanes: Vec<Lane> = lanes.collect();
            let cut = match lanes.first().and_then(|lane| lane.tx.as_ref()).filter(|_| mode.sends()) {
                Some(tx) => limits::cut(&common.config, &tx.ring)?,
                None => Cut { slots: 1, most: usize::MAX },
            };
            let tally = Arc::new(Tally::new());
            // A receiver of what this process sends goes on until it is told.
            let share = |all: u64| if streams.is_some() { 0 } else { share(all, threads, k) };
            let setup = Setup {
                config: common.config.clone(),
                run: common.run,
                template: common.template.clone(),
                packet: common.packet.clone(),
                replay: Mutex::new(if streams.is_none() { common.take_replay() } else { None }),
                count: share(common.config.count),
                rate: share(common.config.rate.unwrap_or(0)),
                streams,
                plan: sender.as_ref().and_then(|sender| sender.plan),
                joint: team.joint.clone(),
                cut,
                tally: tally.clone(),
                output: common.output.clone(),
            };
            let name = format!("{}{k}", mode.name);
            let on = places.get(k).cloned().unwrap_or_default();
            let (asked, wait) = (team.stop.clone(), common.config.wait);
            let (running, ended) = (running.clone(), team.ended.clone());
            let preparing = preparing.clone();
            let thread = {
                let (name, core) = (name.clone(), on.first().copied().filter(|_| on.len() == 1));
                spawn(&name.clone(), &on, move || {
                    let _last = Last { running, ended };
                    let mut job = (mode.job)(&setup, lanes);
                    let around = core.and_then(time_of);
                    drop(preparing);
                    let before = ThreadTime::of_this_thread();
                    let waits = run(&mut *job, &mut Waiter::new(wait), &asked);
                    let cpu = ThreadTime::of_this_thread().since(before);
                    let around = around.zip(core.and_then(time_of));
                    let softirq = around.map(|(before, after)| after.since(before).softirq);
                    Worked { name, core, done: job.finish(), cpu, softirq, waits }
                })
                .map_err(system)?
            };
            team.workers.push(Worker { tally, thread });
        }
        drop(preparing);
        // Nothing is ever sent: it ends with the last sender.
        let _ = begun.recv();
        Ok(team)
    }

    /// What they did so far; the least room since the last reading.
    pub(super) fn read(&self) -> Reading {
        let mut sum = Reading::default();
        for worker in &self.workers {
            let one = worker.tally.read();
            sum.frames += one.frames;
            sum.bytes += one.bytes;
            sum.events += one.events;
            sum.min_space += one.min_space;
            sum.come += one.come;
        }
        sum
    }

    /// What each did; waits for their end.
    pub(super) fn join(mut self) -> Vec<Worked> {
        let join = |worker: Worker| worker.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut all: Vec<Worked> = std::mem::take(&mut self.workers).into_iter().map(join).collect();
        if let (Some(joint), Some(Worked { done, .. })) = (&self.joint, all.first_mut()) {
            let received = joint.received();
            *done.ledger.received.get_or_insert(0) += received.ours;
            done.ledger.duplicated += received.duplicates;
            done.received.get_or_insert_default().add(&received);
        }
        all
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.stop.ask(0);
    }
}

/// Tells when the last thread ends, however it ends.
struct Last {
    running: Arc<AtomicUsize>,
    ended: Stop,
}

impl Drop for Last {
    fn drop(&mut self) {
        if self.running.fetch_sub(1, AcqRel) == 1 {
            self.ended.ask(0);
        }
    }
}

/// How a core has spent its time so far, if the kernel tells.
fn time_of(core: usize) -> Option<CoreTime> {
    core_times().into_iter().find(|time| usize::try_from(time.core) == Ok(core))
}

/// The `k`th of `n` shares: as even as can be, and all of it. 0, no limit, stays 0.
fn share(all: u64, n: usize, k: usize) -> u64 {
    let (n, k) = (n as u64, k as u64);
    all / n + u64::from(k < all % n)
}

#[cfg(test)]
mod tests {
    use super::super::tx;
    use super::*;
    use crate::frame::{Layout, Payload};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn shares_are_even_and_whole() {
        assert_eq!((0..3).map(|k| share(10, 3, k)).collect::<Vec<_>>(), [4, 3, 3]);
        assert_eq!(share(0, 3, 0), 0);
    }

    /// A time that was asked for must not be over before a slow thread begins: it once was, over `packet:`.
    #[test]
    fn a_team_has_started_when_all_its_threads_are_prepared() {
        static PREPARED: AtomicUsize = AtomicUsize::new(0);
        static SLOW: Mode = Mode {
            job: |setup, lanes| {
                std::thread::sleep(Duration::from_millis(50));
                PREPARED.fetch_add(1, Relaxed);
                (tx::MODE.job)(setup, lanes)
            },
            ..tx::MODE
        };
        let stop = Stop::new().unwrap();
        let silent = || Box::new(std::io::sink());
        let template = Template {
            layout: Layout { vnet: 0, v6: false },
            src_mac: [0; 6],
            dst_mac: [0; 6],
            stream: 0,
            payload: Payload::Marked,
        };
        let common = Common {
            config: Arc::new(Config { count: 10, threads: 2, ..Config::new("null:") }),
            run: 1,
            template,
            packet: None,
            replay: Mutex::new(None),
            output: Arc::new(Output::new(silent(), silent(), false, &stop)),
        };
        let mut port = linerate_port::open("null:,queues=2").unwrap();
        let team = Team::start(&common, &SLOW, &mut port, 2, &[], None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(PREPARED.load(Relaxed), 2);
        assert_eq!(team.join().iter().map(|worked| worked.done.frames).sum::<u64>(), 10);
    }
}
