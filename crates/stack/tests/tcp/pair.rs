//! Two connections, their users, and the network between them.

use crate::network::{Chance, Path, Way};
use crate::wire::cut;
use linerate_stack::tcp::{Algorithm, Config, Connection, End, MtuSearch, Segment, Seq, State};
use linerate_wire::{FastOpenCookie, TcpSegment};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// Habits of a user.
#[derive(Clone, Copy, Debug)]
struct User {
    /// Bytes that it sends.
    sends: u64,
    /// Most bytes of a call, and the least time between two.
    chunk: u64,
    pause: u64,
    /// Most bytes that it reads at a time, and the least time between two.
    reads: u64,
    rest: u64,
}

/// A schedule.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    seed: u64,
    configs: [Config; 2],
    mss: [u32; 2],
    users: [User; 2],
    paths: [Path; 2],
    /// The first has a cookie of Fast Open, and takes segments of the other to have so many bytes; and whether the other takes
    /// it.
    fast: Option<(u32, bool)>,
}

/// A cookie.
fn cookie() -> FastOpenCookie {
    FastOpenCookie::new(b"a cookie").unwrap()
}

impl Plan {
    pub(crate) fn clean(bytes: u64, delay: u64, rate: u64) -> Self {
        let path = Path { delay, rate, queue: 64 << 20, most: usize::MAX, lost: 0, doubled: 0, late: 0, lateness: 0 };
        let user = User { sends: 0, chunk: 65_536, pause: 0, reads: 1 << 20, rest: 0 };
        Self {
            seed: 1,
            configs: [Config::default(); 2],
            mss: [1460; 2],
            users: [User { sends: bytes, ..user }, user],
            paths: [path; 2],
            fast: None,
        }
    }

    /// A path that loses one segment in a hundred.
    pub(crate) fn lossy(bytes: u64) -> Self {
        let mut plan = Self::clean(bytes, 10_000_000, 12_500_000);
        plan.paths[0].lost = 10;
        plan
    }

    /// A path of 0.1 s and 100 Mb/s, with a queue that holds 14 segments.
    pub(crate) fn short_queue(bytes: u64) -> Self {
        let mut plan = Self::clean(bytes, 50_000_000, 12_500_000);
        plan.paths[0].queue = 20_000;
        plan
    }

    pub(crate) fn random(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let mut one = || {
            let config = Config {
                send: chance.of(&[3_000, 65_536, 1 << 20]),
                receive: chance.of(&[3_000, 65_536, 1 << 20]),
                algorithm: chance.of(&[Algorithm::Cubic, Algorithm::NewReno]),
                nagle: chance.often(500),
                timestamps: chance.often(800),
                sack: chance.often(800),
                scaling: chance.often(800),
                burst: chance.of(&[1, 10_000, 65_000]),
                // As RFC 9293 says, and longer than any time-out.
                linger: 240 * SECOND,
                ..Config::default()
            };
            let user = User {
                sends: chance.of(&[0, 1, 5_000, 100_000, 400_000]),
                chunk: chance.of(&[1, 100, 5_000, 100_000]),
                pause: chance.of(&[0, 0, MILLISECOND, 50 * MILLISECOND]),
                reads: chance.of(&[100, 10_000, 1 << 20]),
                rest: chance.of(&[0, 0, MILLISECOND, 20 * MILLISECOND]),
            };
            let user = User { sends: user.sends.min(user.chunk * 1000), ..user };
            let path = Path {
                delay: chance.of(&[20_000, MILLISECOND, 30 * MILLISECOND, 200 * MILLISECOND]),
                rate: chance.of(&[100_000, 1_250_000, 125_000_000, 1_250_000_000]),
                queue: chance.of(&[20_000, 200_000, 10_000_000]),
                most: usize::MAX,
                lost: chance.of(&[0, 0, 10, 50, 300]),
                doubled: chance.of(&[0, 0, 10, 100]),
                late: chance.of(&[0, 0, 10, 100]),
                lateness: chance.of(&[50_000, 5 * MILLISECOND, 100 * MILLISECOND]),
            };
            (config, chance.of(&[536, 1460, 8960]), user, path)
        };
        let (mut a, mut b) = (one(), one());
        // A path of three takes less than its ends do, and does not tell.
        for end in [&mut a, &mut b] {
            end.3.most = chance.of(&[usize::MAX, usize::MAX, usize::MAX, usize::MAX, 1_100, 300]);
            if end.3.most == 300 {
                // So many segments: less is enough.
                end.2.sends = end.2.sends.min(50_000);
            }
            let searches = [MtuSearch::AfterBlackHole, MtuSearch::AfterBlackHole, MtuSearch::Always];
            end.0.mtu_search = if end.3.most < usize::MAX {
                chance.of(&searches)
            } else {
                chance.of(&[MtuSearch::Off, MtuSearch::Always])
            };
        }
        if a.3.lost.max(b.3.lost) > 100 {
            // Time-outs of a minute each: less is enough.
            (a.2.sends, b.2.sends) = (a.2.sends.min(20_000), b.2.sends.min(20_000));
        }
        let fast = [None, Some((b.1, true)), Some((1460, true)), Some((536, false))];
        let fast = fast[usize::try_from(seed % 4).unwrap()];
        Self { seed, configs: [a.0, b.0], mss: [a.1, b.1], users: [a.2, b.2], paths: [a.3, b.3], fast }
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives(usize, Vec<u8>),
    Acts(usize),
    Reads(usize),
}

/// Figures of schedules.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    pub(crate) sent_again: u64,
    pub(crate) timeouts: u64,
    pub(crate) probes: u64,
    pub(crate) recoveries: u64,
    pub(crate) undone: u64,
    pub(crate) black_holes: u64,
    pub(crate) path_probes: u64,
    pub(crate) lost: u64,
    /// Connections that began with data.
    pub(crate) fast: u64,
    /// Ends whose last data all arrived, but were acknowledged in vain until the other end had forgotten the connection.
    pub(crate) late: u64,
    /// Time at which all had been read, ns.
    pub(crate) time: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.sent_again += other.sent_again;
        self.timeouts += other.timeouts;
        self.probes += other.probes;
        self.recoveries += other.recoveries;
        self.undone += other.undone;
        self.black_holes += other.black_holes;
        self.path_probes += other.path_probes;
        self.lost += other.lost;
        self.fast += other.fast;
        self.late += other.late;
        self.time += other.time;
    }
}

pub(crate) struct Pair {
    plan: Plan,
    chance: Chance,
    now: u64,
    ends: [Option<Connection>; 2],
    ways: [Way; 2],
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    count: u64,
    written: [u64; 2],
    read: [u64; 2],
    done_at: u64,
    /// End of each side's window, as it was told last.
    edges: [Option<Seq>; 2],
}

/// Byte of a stream.
fn byte(who: usize, at: u64) -> u8 {
    ((at + who as u64 * 77).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

impl Pair {
    pub(crate) fn new(plan: Plan) -> Self {
        let mut chance = Chance::new(plan.seed ^ 0x5555);
        let iss = Seq(chance.of(&[0, 0xffff_f000, 0x7fff_ff00, 12345]));
        let stamp = chance.of(&[0, u32::MAX - 500]);
        let mut first = Connection::connect(0, &plan.configs[0], plan.mss[0], iss, stamp);
        if let Some((mss, _)) = plan.fast {
            first.ask_fast_open(cookie(), mss);
        }
        let mut pair = Self {
            chance,
            now: 0,
            ends: [Some(first), None],
            ways: plan.paths.map(Way::new),
            events: BinaryHeap::new(),
            count: 0,
            written: [0; 2],
            read: [0; 2],
            done_at: 0,
            edges: [None; 2],
            plan,
        };
        if pair.plan.fast.is_some() {
            pair.act(0);
        } else {
            pair.at(0, Event::Acts(0));
            pair.poll(0);
        }
        pair
    }

    fn at(&mut self, at: u64, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    fn poll(&mut self, who: usize) {
        let Some(end) = &mut self.ends[who] else { return };
        let mut segments = Vec::new();
        let (scaled, edge) = (self.plan.configs.iter().all(|config| config.scaling), &mut self.edges[who]);
        let limit = self.plan.configs[who].receive;
        let shift = if scaled { (0..14).find(|shift| limit >> shift <= 0xffff).unwrap() } else { 0 };
        end.poll(self.now, &mut |outgoing| {
            if outgoing.flags == linerate_wire::TcpFlags::ACK {
                let told = outgoing.ack.plus(u32::from(outgoing.window) << shift);
                // By less than a unit it may, and what was told before is taken (RFC 7323, section 2.4).
                let most = told.plus((1 << shift) - 1);
                assert!(edge.is_none_or(|edge| edge.is_until(most)), "a window shrinks: {edge:?} to {told:?}");
                *edge = Some(told);
            }
            segments.extend(cut(outgoing));
            true
        });
        for segment in segments {
            for at in self.ways[who].carry(self.now, segment.len(), &mut self.chance) {
                self.at(at, Event::Arrives(1 - who, segment.clone()));
            }
        }
    }

    fn act(&mut self, who: usize) {
        let User { sends, chunk, pause, .. } = self.plan.users[who];
        let Some(end) = &mut self.ends[who] else { return };
        let mut left = sends - self.written[who];
        while left > 0 {
            let bytes: Vec<u8> = (0..left.min(chunk)).map(|i| byte(who, self.written[who] + i)).collect();
            // Every second one, if it is long, is handed over.
            let hands = (self.written[who] / chunk).is_multiple_of(2);
            let taken = if hands { end.write_chunk(&mut bytes.clone().into()) } else { end.write(&bytes) };
            let Some(taken) = taken else { break };
            self.written[who] += taken as u64;
            left -= taken as u64;
            if taken < bytes.len() || pause > 0 {
                break;
            }
        }
        // A connection that is closed before its SYN is answered is none.
        if left == 0 && end.state() != State::SynSent {
            end.close();
        } else if left > 0 && pause > 0 {
            self.at(self.now + pause, Event::Acts(who));
        }
        self.poll(who);
    }

    fn reads(&mut self, who: usize) {
        let User { reads, rest, .. } = self.plan.users[who];
        let mut buffer = vec![0; usize::try_from(reads).unwrap()];
        let Some(end) = &mut self.ends[who] else { return };
        loop {
            let n = if reads == 10_000 {
                let pieces = end.peek().concat();
                let n = pieces.len().min(buffer.len());
                buffer[..n].copy_from_slice(&pieces[..n]);
                end.consume(n);
                n
            } else {
                end.read(&mut buffer)
            };
            for (i, got) in buffer[..n].iter().enumerate() {
                assert_eq!(
                    *got,
                    byte(1 - who, self.read[who] + i as u64),
                    "byte {} of end {who}",
                    self.read[who] + i as u64
                );
            }
            self.read[who] += n as u64;
            if n == 0 || rest > 0 {
                break;
            }
        }
        if self.read[who] == self.plan.users[1 - who].sends
            && self.done_at == 0
            && self.read[1 - who] == self.plan.users[who].sends
        {
            self.done_at = self.now;
        }
        if rest > 0 && end.readable() > 0 {
            self.at(self.now + rest, Event::Reads(who));
        }
        self.poll(who);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Acts(who) => self.act(who),
            Event::Reads(who) => self.reads(who),
            Event::Arrives(who, bytes) => {
                let view = TcpSegment::new_checked(&bytes[..]).unwrap();
                let segment = Segment::new(&view);
                match &mut self.ends[who] {
                    Some(end) => {
                        end.arrive(self.now, &segment);
                        let waits = end.readable() > 0;
                        self.poll(who);
                        if self.plan.users[who].pause == 0 || self.written[who] == self.plan.users[who].sends {
                            self.act(who);
                        }
                        if waits {
                            self.reads(who);
                        }
                    }
                    None => {
                        let (config, mss) = (&self.plan.configs[who], self.plan.mss[who]);
                        let iss = Seq(u32::try_from(self.chance.below(1 << 32)).unwrap());
                        let mut new = Connection::accept(self.now, config, mss, iss, 7, &segment);
                        let takes = self.plan.fast.is_some_and(|(_, takes)| takes);
                        if takes && segment.options.fast_open == Some(cookie()) {
                            new.open_at_once(self.now, &segment);
                        }
                        let waits = new.readable() > 0;
                        self.ends[who] = Some(new);
                        self.poll(who);
                        self.at(self.now, Event::Acts(who));
                        if waits {
                            self.reads(who);
                        }
                    }
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.ends
            .iter()
            .all(|end| end.as_ref().is_some_and(|end| matches!(end.state(), State::Closed | State::TimeWait)))
    }

    /// True if the handshake's end never came to the one that waited for it, which gave up then, and the other was told: nothing
    /// is lost without a reason.
    fn gave_up_opening(&self) -> bool {
        let [first, second] =
            self.ends.each_ref().map(|end| end.as_ref().map(|end| (end.end(), end.counters().acknowledged)));
        let told = first == Some((Some(End::Reset), 0)) && second == Some((Some(End::TimedOut), 0));
        told && self.read == [0, 0]
    }

    pub(crate) fn run(mut self) -> Tally {
        let mut still = 0;
        while !self.is_over() {
            let timers = (0..2).filter_map(|who| Some((self.ends[who].as_ref()?.poll_timeout()?, who))).min();
            let event = self.events.peek().map(|Reverse((at, ..))| *at);
            let before = self.now;
            match (timers, event) {
                (Some((at, who)), event) if event.is_none_or(|event| at <= event) => {
                    self.now = self.now.max(at);
                    self.poll(who);
                }
                (_, Some(_)) => {
                    let Some(Reverse((at, _, event))) = self.events.pop() else { break };
                    self.now = self.now.max(at);
                    self.happen(event);
                }
                _ => panic!("nothing happens any more: {:?} {:?}", self.plan, self.ends),
            }
            still = if self.now == before { still + 1 } else { 0 };
            assert!(still < 200_000, "time stands still: {:?}", self.ends);
            assert!(self.now < 20_000 * SECOND, "it takes too long: {:?} {:?} {:?}", self.plan, self.read, self.ends);
        }
        let (mut tally, mut late_ends) = (Tally { time: self.done_at, ..Tally::default() }, 0);
        if self.gave_up_opening() {
            return Tally { late: 1, ..tally };
        }
        for who in 0..2 {
            let end = self.ends[who].as_ref().unwrap();
            let other = self.ends[1 - who].as_ref().unwrap();
            let all = self.read[1 - who] + other.readable() as u64 == self.plan.users[who].sends;
            // Whose last data are acknowledged in vain for the whole of the other's TIME-WAIT is told of it, as the data may be lost.
            let late = end.end() == Some(End::Reset) && all && other.state() == State::Closed && other.end().is_none();
            assert!(end.end().is_none() || late, "{:?}: {:?}", self.plan, end.end());
            late_ends += u64::from(late);
            assert_eq!(self.written[who], self.plan.users[who].sends);
            // What was not read yet is there.
            let rest = end.readable() as u64;
            assert_eq!(self.read[who] + rest, self.plan.users[1 - who].sends, "{:?}", self.plan);
            let counters = end.counters();
            tally.bytes += counters.acknowledged;
            tally.sent_again += counters.sent_again;
            tally.timeouts += counters.timeouts;
            tally.probes += u64::from(counters.probes);
            tally.recoveries += counters.recoveries;
            tally.undone += u64::from(counters.undone);
            tally.black_holes += u64::from(counters.black_holes);
            tally.path_probes += u64::from(counters.path_probes);
            tally.lost += self.ways[who].dropped;
        }
        tally.late += late_ends;
        tally.fast = u64::from(self.ends[0].as_ref().unwrap().is_fast_open());
        tally
    }
}
