//! A test while its data flow: the lanes, the times at which something is due, and the figures.

mod meter;

use super::control::Control;
use super::fault::Fault;
use super::figures::{Cpu, Figure, StreamInfo, Summary, Total};
use super::lane::{self, Job, Limit, Next, Payload, Shared};
use super::protocol::{Results, StreamResult};
use super::settings::{Role, Settings, Transport};
use crate::sequence::{doubled, told};
use crate::socket::sys::{Ready, poll};
use crate::socket::{Site, Socket};
use crate::team::Team;
use linerate_rt::{Moves, Stop, ThreadTime, monotonic_ns, random};
use linerate_text::saturating_ns;
use meter::Meter;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Silence after which nothing is waited for any more at the end, and the longest time of it.
const DRAINS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(200));
/// The same where what comes is written to a file.
const FILE_DRAINS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(10));

/// Time that a server's senders wait at the limit for the end that the client makes, before they send on.
const PATIENCE: Duration = Duration::from_secs(2);

const SECOND_NS: u64 = 1_000_000_000;
/// Time that a server gives a client beyond the time of the test, as iperf3 does.
const GRACE_NS: u64 = 40 * SECOND_NS;

pub(super) struct Stream {
    pub(super) socket: Socket,
    pub(super) info: StreamInfo,
}

/// Parts of a test.
pub(super) struct Setup {
    pub(super) role: Role,
    pub(super) settings: Settings,
    pub(super) streams: Vec<Stream>,
    pub(super) interval: Option<Duration>,
    /// File that is sent, or that takes what is received.
    pub(super) file: Option<PathBuf>,
    /// Time without data after which a receiver gives up.
    pub(super) idle: Duration,
    /// Time without an acknowledgement after which TCP gives up; none is the system's.
    pub(super) send_timeout: Option<Duration>,
    /// Source of the sockets: a host of our own has threads, whose processor time counts too.
    pub(super) site: Site,
    pub(super) congestion: Option<String>,
    /// Marked when data come or go: a session that does not move may lose its place.
    pub(super) moves: Moves,
}

/// A stream in the test.
struct Track {
    info: StreamInfo,
    socket: Arc<Socket>,
    next: Next,
    /// Number of the stream, in the order in which they were opened.
    number: usize,
    meter: Meter,
}

impl Track {
    /// True if it receives, has had no data, and is one of the first streams that were opened, as many as were agreed on.
    fn is_silent(&self, agreed: usize) -> bool {
        !self.info.sends && self.number < agreed && self.meter.bytes() == 0
    }
}

/// A test in its course.
pub(super) struct Run {
    role: Role,
    settings: Arc<Settings>,
    shared: Arc<Shared>,
    payload: Arc<Payload>,
    file: Option<PathBuf>,
    congestion: Option<String>,
    tracks: Vec<Track>,
    /// Lanes that receive, and those that send, as long as they go on.
    lanes: [Option<Team<ThreadTime>>; 2],
    site: Site,
    idle_ns: u64,
    interval_ns: Option<u64>,
    /// Beginning of the count.
    begin: u64,
    /// Time at which the figures are due, the count begins, and the test ends.
    next: u64,
    count_at: Option<u64>,
    end_at: u64,
    /// Time at which a server looks whether data still move, and the bytes that it has seen then.
    late_at: u64,
    late: Option<u64>,
    /// Bytes moved when somebody last looked, and the time of the last change.
    moved: (u64, u64),
    /// Own processor time at the beginning, and that of the lanes.
    cpu: (ThreadTime, ThreadTime),
    cpu_begin: u64,
    /// True once its time has begun.
    begun: bool,
    /// True once the end of the senders, or of a limit, has been seen.
    over: bool,
}

/// Event that a test was waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// The other end says something.
    Control,
    /// Something is due.
    Time,
    /// A limit is reached, all is sent, or a stream broke.
    Over,
    /// This end was told to end.
    Stopped,
}

pub(super) enum Due {
    /// Figures of the streams, in their order.
    Figures(Vec<Figure>),
    /// The count begins.
    Count,
    /// The time of the test is over, with a server's grace.
    End,
    /// No data came for too long.
    Idle,
}

impl Run {
    pub(super) fn new(setup: Setup) -> Result<Self, Fault> {
        let (settings, now) = (setup.settings, monotonic_ns());
        let senders = setup.streams.iter().filter(|stream| stream.info.sends).count();
        // A server's senders keep the limit too; what a server receives is its client's to end.
        let limit = match (setup.role == Role::Client || senders > 0, settings.bytes, settings.blocks) {
            (true, bytes, _) if bytes > 0 => Limit::Bytes(bytes),
            (true, _, blocks) if blocks > 0 => Limit::Blocks(blocks),
            _ => Limit::None,
        };
        // The client ends the test when it has received all: it would wait for ever for datagrams that were lost, and for
        // bytes that came before its count began.
        let lossy = settings.transport == Transport::Udp || settings.omit > 0;
        let patience = (setup.role == Role::Server && lossy).then_some(PATIENCE);
        let mut shared = Shared::new(limit, patience, settings.omit > 0, senders).map_err(Fault::Create)?;
        shared.moves = setup.moves;
        for stream in &setup.streams {
            if let (Some(tcp), Some(time)) = (stream.socket.tcp(), setup.send_timeout) {
                let option = |error| Fault::Option { what: "TCP USER_TIMEOUT", code: 148, error };
                tcp.set_user_timeout(time).map_err(option)?;
            }
        }
        let payload =
            Payload::new(settings.block, settings.repeating, settings.zero_copy, random).map_err(Fault::Create)?;
        let (omit, time) = (settings.omit * SECOND_NS, settings.time * SECOND_NS);
        let interval_ns = setup.interval.map(saturating_ns);
        let tracks = setup.streams.into_iter().enumerate().map(|(number, Stream { socket, info })| Track {
            info,
            number,
            next: Next::default(),
            socket: Arc::new(socket),
            meter: Meter::new(info.sends, settings.transport),
        });
        Ok(Self {
            role: setup.role,
            tracks: tracks.collect(),
            lanes: [None, None],
            shared: Arc::new(shared),
            payload: Arc::new(payload),
            file: setup.file,
            congestion: setup.congestion,
            site: setup.site,
            idle_ns: saturating_ns(setup.idle),
            interval_ns,
            begin: now,
            next: u64::MAX,
            count_at: (omit > 0).then_some(omit),
            end_at: match (time, setup.role) {
                (0, _) => u64::MAX,
                (_, Role::Client) => omit + time,
                (_, Role::Server) => omit + time + GRACE_NS,
            },
            late_at: u64::MAX,
            late: None,
            moved: (0, now),
            cpu: (ThreadTime::default(), ThreadTime::default()),
            cpu_begin: now,
            begun: false,
            over: false,
            settings: Arc::new(settings),
        })
    }

    /// Begins the time of the test.
    pub(super) fn begin(&mut self) {
        let now = monotonic_ns();
        (self.begin, self.moved.1, self.cpu_begin, self.begun) = (now, now, now, true);
        self.next = self.interval_ns.map_or(u64::MAX, |interval| now + interval);
        self.count_at = self.count_at.map(|omit| now + omit);
        self.end_at = self.end_at.saturating_add(now);
        if self.role == Role::Server && self.end_at < u64::MAX {
            self.late_at = self.end_at - GRACE_NS / 2;
        }
        self.cpu.0 = self.site.spent_with_this_thread();
        self.tracks.iter_mut().for_each(|track| track.meter.begin(now));
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Lets the data flow.
    pub(super) fn start(&mut self) -> Result<(), Fault> {
        for sends in [false, true] {
            let lanes = self.lanes[usize::from(sends)].insert(Team::new().map_err(Fault::Create)?);
            for track in self.tracks.iter().filter(|track| track.info.sends == sends) {
                let job = Job {
                    socket: track.socket.clone(),
                    next: track.next.clone(),
                    sends,
                    counters: track.meter.counters(),
                    shared: self.shared.clone(),
                    settings: self.settings.clone(),
                    payload: self.payload.clone(),
                    file: self.file.clone(),
                };
                lane::start(lanes, job).map_err(Fault::Create)?;
            }
            lanes.begun();
        }
        Ok(())
    }

    /// Number of streams that receive and have had no data yet.
    pub(super) fn silent(&self) -> usize {
        self.tracks.iter().filter(|track| track.is_silent(self.tracks.len())).count()
    }

    /// Has a stream, whose data have come, take the place of one that has had none, if there is one. `number` is that of the
    /// stream, in the order in which all were opened.
    pub(super) fn replace(&mut self, Stream { socket, info }: Stream, number: usize) {
        let agreed = self.tracks.len();
        let Some(track) = self.tracks.iter_mut().find(|track| track.is_silent(agreed)) else { return };
        let before = std::mem::replace(&mut track.socket, Arc::new(socket));
        (track.info, track.number) = (info, number);
        *track.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(track.socket.clone());
        before.receive_no_more();
        // The client numbers its streams in the order in which it opened them.
        self.tracks.sort_by_key(|track| track.number);
    }

    /// The streams, for reports.
    pub(super) fn infos(&self) -> Vec<StreamInfo> {
        self.tracks.iter().map(|track| track.info).collect()
    }

    /// Waits until something happens, and so long at most.
    pub(super) fn wait(&mut self, control: &Control, stop: &Stop, within: Duration) -> Result<Woken, Fault> {
        let late_at = if self.late.is_none() { self.late_at } else { u64::MAX };
        let at = self.next.min(self.count_at.unwrap_or(u64::MAX)).min(self.end_at).min(self.idle_at()).min(late_at);
        let left = Duration::from_nanos(at.saturating_sub(monotonic_ns())).min(within);
        let over = self.shared.over.as_fd();
        let mut on = vec![(stop.as_fd(), Ready::Read), (control.readiness()?, Ready::Read)];
        // Once seen, it stays ready.
        if !self.over {
            on.push((over, Ready::Read));
        }
        let ready = poll(&on, Some(left)).map_err(Fault::Receive)?;
        if ready[0] {
            return Ok(Woken::Stopped);
        }
        if ready.get(2) == Some(&true) {
            self.over = true;
            return Ok(Woken::Over);
        }
        Ok(if ready[1] && control.is_readable() { Woken::Control } else { Woken::Time })
    }

    /// Time at which a receiver gives up.
    fn idle_at(&self) -> u64 {
        self.moved.1.saturating_add(self.idle_ns)
    }

    /// The next thing that is due by now.
    pub(super) fn due(&mut self) -> Option<Due> {
        let now = monotonic_ns();
        let counts_late = self.count_at.and_then(|at| now.checked_sub(at));
        if now >= self.late_at && self.late.is_none() {
            self.late = Some(self.bytes());
            self.late_at = now;
        }
        // At the end the last figures are taken by `finish`.
        if now >= self.end_at && counts_late.is_none() {
            return Some(Due::End);
        }
        if now >= self.next {
            let interval = self.interval_ns.unwrap_or(u64::MAX);
            while self.next <= now {
                self.next = self.next.saturating_add(interval);
            }
            return Some(Due::Figures(self.figures(now)));
        }
        if let Some(late) = counts_late {
            self.count(now);
            // Whoever was kept from running for longer than the test takes counts all of it nevertheless.
            self.end_at = self.end_at.saturating_add(late);
            return Some(Due::Count);
        }
        if now >= self.idle_at() {
            let bytes = self.bytes();
            if bytes == self.moved.0 {
                return Some(Due::Idle);
            }
            self.moved = (bytes, now);
        }
        None
    }

    /// Bytes that have moved.
    pub(super) fn bytes(&self) -> u64 {
        self.tracks.iter().map(|track| track.meter.bytes()).sum()
    }

    /// Reason why a server's test did not end in time.
    pub(super) fn late(&self) -> Fault {
        let since = Duration::from_nanos(monotonic_ns().saturating_sub(self.late_at));
        if self.late == Some(self.bytes()) { Fault::Vanished(since) } else { Fault::Late }
    }

    /// Begins the count.
    fn count(&mut self, now: u64) {
        self.shared.count();
        for track in &mut self.tracks {
            track.meter.count(&track.socket, now);
        }
        (self.begin, self.count_at) = (now, None);
        self.next = self.interval_ns.map_or(u64::MAX, |interval| now + interval);
    }

    fn figures(&mut self, now: u64) -> Vec<Figure> {
        let omitted = self.count_at.is_some();
        let mut figures = Vec::with_capacity(self.tracks.len());
        for track in &mut self.tracks {
            figures.push(track.meter.figure(&track.socket, self.begin, now, omitted));
        }
        figures
    }

    /// The first fault of a lane.
    pub(super) fn fault(&self) -> Option<Fault> {
        self.shared.fault()
    }

    /// Ends the senders, or the receivers; these take what has arrived.
    fn halt(&mut self, senders: bool) {
        self.shared.end(senders);
        for track in self.tracks.iter().filter(|track| track.info.sends == senders) {
            if senders { track.socket.shut_down() } else { track.socket.receive_no_more() }
        }
        for lane in self.lanes[usize::from(senders)].take().map(Team::join).unwrap_or_default() {
            let (all, spent) = (&mut self.cpu.1, lane.done);
            (all.user, all.system) = (all.user + spent.user, all.system + spent.system);
        }
    }

    /// Waits for what is still under way to receivers of byte streams: the end of the test comes by another connection and may
    /// overtake it. Up to the end of each stream, which our clients send behind their last byte and iperf3's do not; or until
    /// nothing has come for a while, which is longer where a file is to be whole. The time of the last byte, or of the call: waiting
    /// is no part of the test.
    fn drain(&self) -> u64 {
        let begin = monotonic_ns();
        if self.settings.transport != Transport::Tcp {
            return begin;
        }
        let (silence, limit) = if self.file.is_some() { FILE_DRAINS } else { DRAINS };
        let receivers = || self.tracks.iter().filter(|track| !track.info.sends);
        let bytes = || receivers().map(|track| track.meter.bytes()).sum::<u64>();
        let mut seen = (bytes(), begin);
        while self.lanes[0].as_ref().is_some_and(|lanes| !lanes.ended.asked()) {
            let (now, bytes) = (monotonic_ns(), bytes());
            if bytes != seen.0 {
                seen = (bytes, now);
            }
            if now - seen.1 >= saturating_ns(silence) || now - begin >= saturating_ns(limit) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // What a lane took before it ended.
        if bytes() == seen.0 { seen.1 } else { monotonic_ns() }
    }

    /// Ends the senders, and at a server, which hears of the end behind all data, the receivers; the last figures.
    /// A client's receivers go on, and count no more, until [`Run::close`].
    pub(super) fn finish(&mut self, role: Role) -> Vec<Figure> {
        self.halt(true);
        if role == Role::Client {
            return self.figures(monotonic_ns());
        }
        let end = self.drain();
        self.halt(false);
        self.figures(end)
    }

    /// Ends all that goes on, and closes the streams; own processor time in per cent.
    pub(super) fn close(&mut self) -> Cpu {
        self.halt(true);
        self.halt(false);
        let own = self.site.spent_with_this_thread().since(self.cpu.0);
        let ns = (monotonic_ns() - self.cpu_begin).max(1) as f64;
        let percent = |time: Duration| 100.0 * saturating_ns(time) as f64 / ns;
        let (user, system) = (percent(own.user + self.cpu.1.user), percent(own.system + self.cpu.1.system));
        Cpu { total: user + system, user, system }
    }

    /// Lines about datagrams outside the sequence of their stream, and about those that came twice, if some came.
    pub(super) fn remarks(&self) -> impl Iterator<Item = String> + use<> {
        let of = [told(self.shared.outside.load(Relaxed)), doubled(self.shared.copies.load(Relaxed))];
        of.into_iter().flatten()
    }

    /// Results for the other end.
    pub(super) fn results(&self, cpu: Cpu) -> Results {
        let (tcp, sends) =
            (self.settings.transport == Transport::Tcp, self.tracks.iter().any(|track| track.info.sends));
        Results {
            cpu_util_total: cpu.total,
            cpu_util_user: cpu.user,
            cpu_util_system: cpu.system,
            sender_has_retransmits: sends.then_some(tcp.into()),
            congestion_used: self.congestion.clone(),
            server_output_text: None,
            server_output_json: None,
            streams: self
                .tracks
                .iter()
                .enumerate()
                .map(|(place, track)| track.meter.result(Results::id(place), self.begin))
                .collect(),
        }
    }

    /// The figures of both ends, as far as the other one's are known.
    pub(super) fn summary(&self, cpu: Cpu, other: Option<&Results>) -> Result<Summary, Fault> {
        let mut results: Vec<Option<&StreamResult>> = vec![None; self.tracks.len()];
        for result in other.iter().flat_map(|other| &other.streams) {
            let place = (0..results.len()).find(|place| Results::id(*place) == result.id).ok_or(Fault::StreamId)?;
            results[place] = Some(result);
        }
        let totals: Vec<Total> =
            self.tracks.iter().zip(&results).map(|(track, result)| track.meter.total(*result)).collect();
        // The first stream stands for all.
        let seconds = self.tracks.first().map_or(0.0, |track| track.meter.seconds(self.begin));
        let theirs = results.first().copied().flatten().map_or(0.0, |result| result.end_time - result.start_time);
        let theirs = if theirs.is_finite() && theirs > 0.0 { theirs } else { seconds };
        let first_sends = self.tracks.first().is_some_and(|track| track.info.sends);
        let tcp = self.settings.transport == Transport::Tcp;
        Ok(Summary {
            totals,
            seconds,
            sender_seconds: if first_sends { seconds } else { theirs },
            receiver_seconds: if first_sends { theirs } else { seconds },
            own_retransmits: tcp && self.tracks.iter().any(|track| track.info.sends),
            other_retransmits: other.is_some_and(|other| other.sender_has_retransmits == Some(1)),
            own_cpu: cpu,
            other_cpu: other.map_or(Cpu::default(), |other| Cpu {
                total: other.cpu_util_total,
                user: other.cpu_util_user,
                system: other.cpu_util_system,
            }),
            own_congestion: self.congestion.clone(),
            other_congestion: other.and_then(|other| other.congestion_used.clone()),
            other_known: other.is_some(),
            output: super::figures::ServerOutput::None,
        })
    }
}

/// No lane outlives its test.
impl Drop for Run {
    fn drop(&mut self) {
        self.halt(true);
        self.halt(false);
    }
}
