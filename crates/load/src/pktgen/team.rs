//! Threads that do the same work on the queues of one port.

use super::captured::Replay;
use super::config::Config;
use super::job::{Done, Lane, Reading, Setup, Tally, Wanted};
use super::limits;
use super::modes::Mode;
use super::output::Output;
use super::run::Refusal;
use super::source::Cut;
use crate::check::Joint;
use crate::frame::Template;
use crate::team;
use linerate_port::{FaultPlan, Port};
use linerate_rt::Waiter;
use std::sync::{Arc, Mutex, PoisonError};

/// Common input of all threads of a run.
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

/// Facts about the frames that this process sends.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) streams: u16,
    /// Faults that are injected.
    pub(super) plan: Option<FaultPlan>,
}

/// Threads that work on a port, and their counters so far.
pub(super) struct Team {
    pub(super) threads: team::Team<Done>,
    tallies: Vec<Arc<Tally>>,
    /// Merged shares of several receivers of each stream.
    joint: Option<Arc<Joint>>,
}

pub(super) type Worked = team::Worked<Done>;

impl Team {
    /// Number of queues that so many threads use: one thread serves all, several have one each. Marks of frames have
    /// room for 16 bits of it; no port has more.
    pub(super) fn queues(mode: &Mode, threads: usize, port: &Port) -> u16 {
        let queues = if threads > 1 || mode.single { threads } else { mode.queues(port.info()) };
        u16::try_from(queues).unwrap_or(u16::MAX)
    }

    /// Starts `threads` threads, and returns when all have begun; `places` holds the processors that each may run on.
    /// `sender`: facts about the frames for a receiver, if this process sends them.
    pub(super) fn start(
        common: &Common,
        mode: &'static Mode,
        port: &mut Port,
        threads: usize,
        places: &[Vec<usize>],
        sender: Option<Sent>,
    ) -> Result<Self, Refusal> {
        let system = |source| Refusal::System { what: "threads", source };
        let queues = Self::queues(mode, threads, port);
        let joint = (mode.receives() && threads > 1).then(Arc::default);
        let together = mode.receives() && threads > 1 && common.config.count > 0 && sender.is_none();
        let wanted = together.then(|| Arc::new(Wanted::new(common.config.count)));
        let streams = sender.as_ref().map(|sender| sender.streams);
        // If it is dropped on an error, it ends the threads that already run.
        let mut team = Self { threads: team::Team::new().map_err(system)?, tallies: Vec::new(), joint };
        for k in 0..threads {
            let lanes = (0..queues).skip(k).step_by(threads).map(|q| Lane {
                index: q,
                tx: port.take_tx(q.into()),
                rx: port.take_rx(q.into()),
            });
            let lanes: Vec<Lane> = lanes.collect();
            let cut = match lanes.first().and_then(|lane| lane.tx.as_ref()).filter(|_| mode.sends()) {
                Some(tx) => limits::cut(&common.config, &tx.ring)?,
                None => Cut { slots: 1, most: usize::MAX },
            };
            let tally = Arc::new(Tally::new());
            // A receiver of this process's frames goes on until it is told to end, several receivers as long as `wanted` says.
            let share = |all: u64| if streams.is_some() || together { 0 } else { share(all, threads, k) };
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
                wanted: wanted.clone(),
                cut,
                tally: tally.clone(),
                output: common.output.clone(),
            };
            let name = format!("{}{k}", mode.name);
            let on = places.get(k).cloned().unwrap_or_default();
            let wait = common.config.wait;
            let body = move |member: &mut team::Member| {
                let mut job = (mode.job)(&setup, lanes);
                let stop = member.stop.clone();
                member.run(&mut *job, &mut Waiter::new(wait), &stop);
                job.finish()
            };
            team.threads.add(&name, &on, body).map_err(system)?;
            team.tallies.push(tally);
        }
        team.threads.begun();
        Ok(team)
    }

    /// Sums the counters so far; the least space is since the last reading.
    pub(super) fn read(&self) -> Reading {
        let mut sum = Reading::default();
        for tally in &self.tallies {
            let one = tally.read();
            sum.frames += one.frames;
            sum.bytes += one.bytes;
            sum.events += one.events;
            sum.min_space += one.min_space;
            sum.come += one.come;
        }
        sum
    }

    /// Waits for the threads' end, and returns their results.
    pub(super) fn join(self) -> Vec<Worked> {
        let mut all = self.threads.join();
        if let (Some(joint), Some(Worked { done, .. })) = (&self.joint, all.first_mut()) {
            let received = joint.received();
            *done.ledger.received.get_or_insert(0) += received.ours;
            done.ledger.duplicated += received.duplicates;
            *done.received.get_or_insert_default() += received;
        }
        all
    }
}

/// The `k`th of `n` shares, as even as possible, with nothing left over. 0, no limit, stays 0.
fn share(all: u64, n: usize, k: usize) -> u64 {
    let (n, k) = (n as u64, k as u64);
    all / n + u64::from(k < all % n)
}

#[cfg(test)]
mod tests {
    use super::super::tx;
    use super::*;
    use crate::frame::{Layout, Payload};
    use linerate_rt::Stop;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn shares_are_even_and_whole() {
        assert_eq!((0..3).map(|k| share(10, 3, k)).collect::<Vec<_>>(), [4, 3, 3]);
        assert_eq!(share(0, 3, 0), 0);
    }

    /// Regression: over `packet:` a requested time was over before a slow thread began.
    #[test]
    fn a_team_has_started_when_all_its_threads_are_prepared() {
        static PREPARED: AtomicUsize = AtomicUsize::new(0);
        static SLOW: Mode = Mode {
            job: |setup, lanes| {
                std::thread::sleep(std::time::Duration::from_millis(50));
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
