//! Threads of a run: started together, told to end together, each with its use of resources.

use linerate_rt::{CoreTime, Machine, Stop, ThreadTime, WaitStats, Waiter, core_times, run, run_delay, spawn};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Threads that each return a `T`. When dropped, it tells them to end and does not wait for them.
pub(crate) struct Team<T> {
    threads: Vec<JoinHandle<Worked<T>>>,
    /// Held until all have been started; then `begun` ends with the last of them that has prepared.
    starting: Option<(Sender<()>, Arc<Ended>)>,
    begun: Receiver<()>,
    /// Requests their end.
    pub(crate) stop: Stop,
    /// Requested when the last one has ended, even by a panic.
    pub(crate) ended: Stop,
}

pub(crate) struct Worked<T> {
    pub(crate) name: String,
    /// Processor that the thread was pinned to, if any.
    pub(crate) core: Option<usize>,
    pub(crate) done: T,
    /// Processor time while it ran its machine.
    pub(crate) cpu: ThreadTime,
    /// Time of soft interrupts on that processor meanwhile.
    pub(crate) softirq: Option<Duration>,
    /// Time for which it waited for a processor meanwhile.
    pub(crate) delayed: Option<Duration>,
    pub(crate) waits: WaitStats,
}

/// A thread's own handle of the team.
pub(crate) struct Member {
    /// Requested when the team is to end; the thread may request it for the others.
    pub(crate) stop: Stop,
    core: Option<usize>,
    preparing: Option<Sender<()>>,
    cpu: ThreadTime,
    softirq: Option<Duration>,
    delayed: Option<Duration>,
    waits: WaitStats,
}

/// Requests the stop when its last holder drops it.
struct Ended(Stop);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.ask(0);
    }
}

impl<T: Send + 'static> Team<T> {
    pub(crate) fn new() -> io::Result<Self> {
        let (stop, ended) = (Stop::new()?, Stop::new()?);
        let (preparing, begun) = channel();
        let starting = Some((preparing, Arc::new(Ended(ended.clone()))));
        Ok(Self { threads: Vec::new(), starting, begun, stop, ended })
    }

    /// Starts a thread on these processors, or on any if none is given.
    pub(crate) fn add(
        &mut self,
        name: &str,
        on: &[usize],
        body: impl FnOnce(&mut Member) -> T + Send + 'static,
    ) -> io::Result<()> {
        let core = on.first().copied().filter(|_| on.len() == 1);
        let (preparing, last) = self.starting.clone().unzip();
        let stop = self.stop.clone();
        let name = name.to_owned();
        let thread = spawn(&name.clone(), on, move || {
            let _last = last;
            let mut member = Member {
                stop,
                core,
                preparing,
                cpu: ThreadTime::default(),
                softirq: None,
                delayed: None,
                waits: WaitStats::default(),
            };
            let done = body(&mut member);
            Worked {
                name,
                core,
                done,
                cpu: member.cpu,
                softirq: member.softirq,
                delayed: member.delayed,
                waits: member.waits,
            }
        })?;
        self.threads.push(thread);
        Ok(())
    }

    /// Waits until all threads have prepared, or ended, so that preparation (the kernel takes long to close an unwanted
    /// socket) is not part of the requested time. No thread may be added after it.
    pub(crate) fn begun(&mut self) {
        self.starting = None;
        // Nothing is ever sent: it ends with the last sender.
        let _ = self.begun.recv();
    }

    /// Waits for the end of all threads, and returns their results in the order in which they were started.
    ///
    /// # Panics
    /// With the panic of a thread that did.
    pub(crate) fn join(mut self) -> Vec<Worked<T>> {
        self.starting = None;
        let join = |thread: JoinHandle<_>| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        std::mem::take(&mut self.threads).into_iter().map(join).collect()
    }
}

impl<T> Drop for Team<T> {
    fn drop(&mut self) {
        self.stop.ask(0);
    }
}

impl Member {
    /// Reports that the thread has prepared: it is no longer waited for.
    pub(crate) fn begin(&mut self) {
        self.preparing = None;
    }

    /// Runs a machine until it is done or `stop` is requested, and adds its use of resources; the waiter must be the
    /// same in all runs of a thread. Calls [`begin`](Self::begin) first.
    pub(crate) fn run<M: Machine + ?Sized>(&mut self, machine: &mut M, waiter: &mut Waiter, stop: &Stop) {
        let (around, delayed) = (self.core.and_then(time_of), run_delay());
        self.begin();
        let before = ThreadTime::of_this_thread();
        self.waits = run(machine, waiter, stop);
        let cpu = ThreadTime::of_this_thread().since(before);
        let around = around.zip(self.core.and_then(time_of));
        self.cpu = ThreadTime { user: self.cpu.user + cpu.user, system: self.cpu.system + cpu.system };
        let delayed = run_delay().zip(delayed).map(|(now, before)| now.saturating_sub(before));
        self.delayed = delayed.map(|more| self.delayed.unwrap_or_default() + more);
        let softirq = around.map(|(before, after)| after.since(before).softirq);
        self.softirq = softirq.map(|more| self.softirq.unwrap_or_default() + more);
    }

    /// Share of the polls so far that found work.
    #[expect(clippy::cast_precision_loss, reason = "a share to fifteen digits")]
    pub(crate) fn busy_share(&self) -> f64 {
        1.0 - self.waits.empty_polls as f64 / self.waits.polls.max(1) as f64
    }
}

/// A panic ends the other threads too: they might wait for this one.
impl Drop for Member {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.stop.ask(0);
        }
    }
}

/// Times of a core so far, if the kernel reports them.
fn time_of(core: usize) -> Option<CoreTime> {
    core_times().into_iter().find(|time| usize::try_from(time.core) == Ok(core))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_rt::{Progress, WaitMode, pause};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn a_team_has_begun_when_all_its_threads_are_prepared() {
        let prepared = Arc::new(AtomicUsize::new(0));
        let mut team = Team::new().unwrap();
        for k in 0..3 {
            let prepared = prepared.clone();
            let body = move |member: &mut Member| {
                std::thread::sleep(Duration::from_millis(10 * k));
                prepared.fetch_add(1, Relaxed);
                member.begin();
                pause(&[&member.stop], None);
                k
            };
            team.add(&format!("t{k}"), &[], body).unwrap();
        }
        team.begun();
        assert_eq!((prepared.load(Relaxed), team.ended.asked()), (3, false));
        team.stop.ask(0);
        let ended = team.ended.clone();
        let all: Vec<_> = team.join().into_iter().map(|worked| (worked.name, worked.done)).collect();
        assert_eq!(all, [("t0".to_owned(), 0), ("t1".to_owned(), 1), ("t2".to_owned(), 2)]);
        assert!(ended.asked());
    }

    #[test]
    fn a_thread_that_panics_ends_the_others_and_is_heard_of() {
        let mut team = Team::new().unwrap();
        team.add("waits", &[], |member| {
            member.begin();
            pause(&[&member.stop], None);
        })
        .unwrap();
        team.add("fails", &[], |_| panic!("on purpose")).unwrap();
        team.begun();
        pause(&[&team.ended], None);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| team.join())).err().unwrap();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
    }

    #[test]
    fn what_all_runs_of_a_thread_used_adds_up() {
        struct Turns(u64);
        impl Machine for Turns {
            fn handle(&mut self, _: u64) -> Progress {
                self.0 -= 1;
                if self.0 == 0 { Progress::Done } else { Progress::Worked }
            }
            fn poll_timeout(&self) -> Option<u64> {
                None
            }
            fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn linerate_rt::Sleeper)) {}
            fn stop(&mut self, _: u64) {}
        }
        let mut team = Team::new().unwrap();
        let body = |member: &mut Member| {
            let (mut waiter, stop) = (Waiter::new(WaitMode::Busy), member.stop.clone());
            member.run(&mut Turns(100), &mut waiter, &stop);
            let once = member.waits.polls;
            member.run(&mut Turns(100), &mut waiter, &stop);
            (once, member.waits.polls)
        };
        team.add("turns", &[linerate_rt::cpus()[0]], body).unwrap();
        let worked = team.join().pop().unwrap();
        let (once, twice) = worked.done;
        assert!(once > 0 && twice > once, "{once} {twice}");
        assert_eq!((worked.waits.polls, worked.core), (twice, Some(linerate_rt::cpus()[0])));
    }
}
