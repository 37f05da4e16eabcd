//! Lanes: a thread for each flow, which moves its data by blocking calls and counts them.
//!
//! A lane allocates before its first byte and not after. It looks at one flag between two calls; calls that move nothing end
//! after [`LOOK`], so that a peer which stalls does not hold up the end.

mod tcp;
mod udp;

pub(super) use udp::{Early, Reply};

use super::flow::{Figures, Flow};
use super::protocol::{Report, Stamp};
use super::report::Reporter;
use super::settings::Rate;
use crate::socket::Socket;
use crate::team::{Member, Team};
use linerate_rt::{Stop, ThreadTime, monotonic_ns, pause, wall};
use linerate_text::saturating_ns;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longest call that moves nothing.
const LOOK: Duration = Duration::from_millis(100);

pub(super) enum Work {
    Send(Sending),
    Receive(Receiving),
}

pub(super) struct Sending {
    /// Bytes sent before the first block: the client's header. For datagrams: the first one, if it differs from the others.
    pub(super) first: Vec<u8>,
    pub(super) block: Vec<u8>,
    /// Number of bytes after which it ends.
    pub(super) limit: Option<u64>,
    pub(super) rate: Rate,
    /// Beginning that each block says, if blocks say times.
    pub(super) begun: Option<Stamp>,
    pub(super) file: Option<File>,
    /// Time in which the other end must say that it has all: by closing its connection, or by its report.
    pub(super) answer: Option<Duration>,
    /// True if the end of datagrams, which nobody answers, is said until the other end is gone.
    pub(super) insists: bool,
}

/// Beginning of another test, by which the one before ended: its datagrams so far, and the bytes of the first one.
pub(super) struct Another {
    pub(super) early: Vec<Early>,
    pub(super) first: Vec<u8>,
}

pub(super) struct Receiving {
    /// Bytes sent before anything is received.
    pub(super) first: Vec<u8>,
    /// Number of bytes after which it ends.
    pub(super) limit: Option<u64>,
    /// Time without data after which it gives up.
    pub(super) idle: Duration,
    /// True if blocks say times; the beginning is a header if the other end is a server.
    pub(super) timed: bool,
    pub(super) headed: bool,
    /// Bytes that were read before.
    pub(super) before: usize,
    /// Datagrams that were received before.
    pub(super) early: Vec<Early>,
    /// True if numbers of datagrams have 64 bits.
    pub(super) wide: bool,
    /// Report that is sent when the datagrams have ended.
    pub(super) reply: Reply,
    /// Place for another test of the same sender, if one may begin.
    pub(super) another: Option<Arc<Mutex<Option<Another>>>>,
}

impl Receiving {
    /// Work of a receiver with no limits but this one.
    pub(super) fn new(idle: Duration) -> Self {
        Self {
            first: Vec::new(),
            limit: None,
            idle,
            timed: false,
            headed: false,
            before: 0,
            early: Vec::new(),
            wide: false,
            reply: Reply::None,
            another: None,
        }
    }
}

pub(super) struct Lane {
    pub(super) flow: Arc<Flow>,
    pub(super) reporter: Arc<Reporter>,
    /// Requested when it is to end.
    pub(super) over: Stop,
    /// Requested when somebody wants it to end before its time: the other end is not waited for any longer.
    pub(super) told: Stop,
    pub(super) work: Work,
}

pub(super) struct Outcome {
    pub(super) flow: Arc<Flow>,
    pub(super) figures: Figures,
    /// End, ns of the monotonic clock.
    pub(super) end: u64,
    pub(super) cpu: ThreadTime,
    /// The server's report.
    pub(super) report: Option<Report>,
    /// Fault that ended it, one line.
    pub(super) fault: Option<String>,
}

impl Lane {
    /// Moves the data, and reports the end.
    pub(super) fn run(self) -> Outcome {
        let before = ThreadTime::of_this_thread();
        let (flow, reporter, over) = (&self.flow, &self.reporter, &self.over);
        let ended = match (self.work, &*flow.socket) {
            (Work::Send(work), Socket::Tcp(stream)) => tcp::send(stream, flow, work, over, &self.told),
            (Work::Receive(work), Socket::Tcp(stream)) => tcp::receive(stream, flow, &work, over),
            (Work::Send(work), Socket::Udp(socket)) => udp::send(socket, flow, &work, (over, &self.told), reporter),
            (Work::Receive(work), Socket::Udp(socket)) => udp::receive(socket, flow, &work, over, reporter),
        };
        let (figures, report) = match ended.reported {
            Some((figures, report)) => (figures, report),
            None => (reporter.end(flow, ended.at, ended.fault.as_deref()), None),
        };
        let cpu = ThreadTime::of_this_thread().since(before);
        Outcome { flow: self.flow, figures, end: ended.at, cpu, report, fault: ended.fault }
    }
}

struct Ended {
    /// Time, ns.
    at: u64,
    fault: Option<String>,
    /// Figures, if the end was reported already, and the server's report.
    reported: Option<(Figures, Option<Report>)>,
}

impl Ended {
    fn now(result: Result<(), String>) -> Self {
        Self { at: monotonic_ns(), fault: result.err(), reported: None }
    }
}

/// Clock that gives times since 1970 at the price of one reading of the monotonic one.
#[derive(Clone, Copy)]
struct Calendar {
    /// Time since 1970 at the zero of the monotonic clock, ns.
    zero: u64,
}

impl Calendar {
    /// Of a few looks at both clocks the one that took the least time: another program may run between the two readings.
    fn new() -> Self {
        let look = |_| {
            let before = monotonic_ns();
            let since = u64::try_from(wall().as_nanos()).unwrap_or(0);
            let took = monotonic_ns() - before;
            (took, since.saturating_sub(before + took / 2))
        };
        Self { zero: (0..8).map(look).min().map_or(0, |(_, zero)| zero) }
    }

    /// Time since 1970 at a time of the monotonic clock.
    fn at(self, monotonic: u64) -> Duration {
        Duration::from_nanos(self.zero.saturating_add(monotonic))
    }

    fn stamp(self, monotonic: u64) -> Stamp {
        Stamp::of(self.at(monotonic))
    }

    /// Seconds from a stamp to a time of the monotonic clock; negative if clocks do not agree.
    fn since(self, stamp: Stamp, monotonic: u64) -> f64 {
        let now = i128::from(saturating_ns(self.at(monotonic))) / 1000;
        (now - i128::from(stamp.micros())) as f64 / 1e6
    }
}

/// Lanes that begin and end together.
pub(super) struct Lanes {
    pub(super) sends: Stop,
    pub(super) receives: Stop,
    team: Team<Outcome>,
}

impl Lanes {
    pub(super) fn new() -> Result<Self, String> {
        let lanes = || Ok(Self { sends: Stop::new()?, receives: Stop::new()?, team: Team::new()? });
        lanes().map_err(|e: io::Error| format!("no descriptors are left: {e}"))
    }

    pub(super) fn start(&mut self, flow: Arc<Flow>, reporter: &Arc<Reporter>, work: Work) -> Result<(), String> {
        let (name, over) = if flow.sends { ("iperf-send", &self.sends) } else { ("iperf-receive", &self.receives) };
        let lane = Lane { flow, reporter: reporter.clone(), over: over.clone(), told: self.team.stop.clone(), work };
        let body = |member: &mut Member| {
            member.begin();
            lane.run()
        };
        self.team.add(name, &[], body).map_err(|e| format!("no thread is left: {e}"))
    }

    /// Waits for the end of all lanes: of those that send after a time, of those that receive after another, of all when a
    /// stop is requested. `tick` is called when lines are due, and says when the next are.
    pub(super) fn watch(
        mut self,
        stops: &[&Stop],
        sends: Option<Duration>,
        receives: Option<Duration>,
        mut tick: impl FnMut(u64) -> Option<u64>,
    ) -> Vec<Outcome> {
        let begin = monotonic_ns();
        let until = |time: Option<Duration>| time.map_or(u64::MAX, |time| begin.saturating_add(saturating_ns(time)));
        let ends = [(until(sends), &self.sends), (until(receives), &self.receives)];
        self.team.begun();
        while !self.team.ended.asked() {
            let now = monotonic_ns();
            let told = stops.iter().any(|stop| stop.asked());
            if told {
                self.team.stop.ask(0);
            }
            for (at, stop) in ends {
                if told || now >= at {
                    stop.ask(0);
                }
            }
            let mut next = tick(now).unwrap_or(u64::MAX);
            for (at, _) in ends.iter().filter(|(at, stop)| *at < u64::MAX && !stop.asked()) {
                next = next.min(*at);
            }
            // A stop that was requested wakes no more.
            let on: Vec<&Stop> = stops.iter().copied().filter(|stop| !stop.asked()).chain([&self.team.ended]).collect();
            pause(&on, (next < u64::MAX).then_some(next));
        }
        self.team.join().into_iter().map(|lane| lane.done).collect()
    }
}
