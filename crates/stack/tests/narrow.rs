//! Paths that take less than their ends, and do not tell (RFC 2923, section 2.1): two hosts, in virtual time, over a network that
//! silently drops what is too long. Every byte arrives, and segments become as long as the path takes (RFC 4821).

#[expect(dead_code, reason = "other tests need more of it")]
mod world;

use linerate_stack::tcp::{Counters, MtuSearch, TcpId};
use linerate_stack::{Config, Host};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use world::{PEER, SECOND, World, families, pattern};

/// Time that each frame takes.
const DELAY: u64 = 5_000_000;
/// Bytes of Ethernet's header.
const ETHERNET: usize = 14;

/// Two hosts, the first of which sends, and the path from it to the other.
struct Net {
    hosts: [World; 2],
    ids: [TcpId; 2],
    flying: VecDeque<(u64, usize, Vec<u8>)>,
    /// Longest packet that gets through.
    mtu: usize,
    /// One frame in so many is lost anyway.
    lossy: Option<u64>,
    dropped: u64,
    longest: usize,
    dice: u64,
    stream: Vec<u8>,
    written: usize,
    read: usize,
}

/// Bytes of the stream.
const STREAM: usize = 1 << 20;

impl Net {
    /// A connection that is made before the path becomes narrow.
    fn new(search: MtuSearch, (them, us): (IpAddr, IpAddr)) -> Self {
        let mut hosts = [World::alone(), World::alone()];
        hosts[1].host = Host::new(&Config::new(PEER, 8)).unwrap();
        for address in ["10.0.0.2/24", "fd00::2/64"] {
            hosts[1].host.add_address(address.parse().unwrap()).unwrap();
        }
        hosts[0].host.tcp_config().mtu_search = search;
        // The window is what limits the sender, or all would be sent in a few round trips.
        hosts[1].host.tcp_config().receive = 32_768;
        let listener = hosts[1].host.tcp_listen(SocketAddr::new(them, 80), 4).unwrap();
        let now = hosts[0].now;
        let id = hosts[0].host.tcp_connect(now, Some(SocketAddr::new(us, 0)), SocketAddr::new(them, 80)).unwrap();
        let mut net = Self {
            hosts,
            ids: [id; 2],
            flying: VecDeque::new(),
            mtu: 1500,
            lossy: None,
            dropped: 0,
            longest: 0,
            dice: 1,
            stream: pattern(STREAM),
            written: 0,
            read: 0,
        };
        net.run(SECOND / 10, 0);
        net.ids[1] = net.hosts[1].host.tcp_accept(listener).unwrap().0;
        net
    }

    fn now(&self) -> u64 {
        self.hosts[0].now
    }

    fn lost(&mut self, from: usize, frame: &[u8]) -> bool {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unlucky = self.lossy.is_some_and(|one_in| (self.dice >> 33).is_multiple_of(one_in));
        from == 0 && (frame.len() - ETHERNET > self.mtu || unlucky)
    }

    fn poll(&mut self, bytes: usize) {
        if self.written < bytes {
            let at = self.written % STREAM;
            let some = &self.stream[at..STREAM.min(at + bytes - self.written)];
            self.written += self.hosts[0].host.tcp_write(self.ids[0], some).unwrap();
        }
        for from in 0..2 {
            let now = self.now();
            self.hosts[from].host.poll(now, &mut self.hosts[from].ring);
            for (frame, _) in self.hosts[from].sent_with() {
                if self.lost(from, &frame) {
                    self.dropped += 1;
                } else {
                    self.longest = self.longest.max(if from == 0 { frame.len() - ETHERNET } else { 0 });
                    self.flying.push_back((now + DELAY, 1 - from, frame));
                }
            }
        }
        let mut buffer = vec![0; 1 << 16];
        while let Some(n) = self.hosts[1].host.tcp_read(self.ids[1], &mut buffer).filter(|n| *n > 0) {
            let right = (0..n).all(|i| buffer[i] == self.stream[(self.read + i) % STREAM]);
            assert!(right, "wrong bytes at {}", self.read);
            self.read += n;
        }
    }

    /// Goes on for so long, or until so many bytes more were written and have arrived; true if they have.
    fn run(&mut self, time: u64, bytes: usize) -> bool {
        let (end, all) = (self.now() + time, self.written + bytes);
        while self.now() < end && (bytes == 0 || self.read < all) {
            let now = self.now();
            while let Some((_, to, frame)) = self.flying.pop_front_if(|(at, ..)| *at <= now) {
                self.hosts[to].host.handle(now, &frame, None, &mut self.hosts[to].ring);
            }
            self.poll(all);
            let timers = self.hosts.iter().filter_map(|world| world.host.poll_timeout()).min();
            let next = self.flying.front().map(|(at, ..)| *at).into_iter().chain(timers).min().unwrap_or(end);
            for world in &mut self.hosts {
                world.now = next.clamp(now + 1000, end.max(now + 1000));
            }
        }
        self.read == all
    }

    fn mss(&self) -> usize {
        self.hosts[0].host.tcp_connection(self.ids[0]).unwrap().mss() as usize
    }

    fn counters(&self) -> Counters {
        *self.hosts[0].host.tcp_connection(self.ids[0]).unwrap().counters()
    }
}

/// Bytes of IP's and TCP's header without options.
fn headers(us: IpAddr) -> usize {
    if us.is_ipv4() { 40 } else { 60 }
}

/// Every MTU, of either family, from the beginning or while data flow.
#[test]
fn a_path_that_narrows_without_telling_carries_every_byte() {
    for (ends, mtus) in
        families().into_iter().zip([&[1499, 1452, 1200, 1063, 700, 296, 128][..], &[1499, 1400, 1281, 1280]])
    {
        for (mtu, before) in mtus.iter().flat_map(|mtu| [(*mtu, 0), (*mtu, 200_000)]) {
            let mut net = Net::new(MtuSearch::AfterBlackHole, ends);
            assert!(before == 0 || net.run(SECOND, before));
            (net.mtu, net.longest) = (mtu, 0);
            let what = format!("{} over {mtu} bytes after {before}", ends.1);
            assert!(net.run(600 * SECOND, 8_000_000), "{what}: {} of {} have arrived", net.read, net.written);
            let (counters, most) = (net.counters(), mtu - headers(ends.1));
            eprintln!("{what}: {} s, mss {}, {counters:?}", (net.now() - 1000 * SECOND) / SECOND, net.mss());
            assert!(counters.black_holes > 0 && counters.path_probes > 0, "{what}: {counters:?}");
            // Segments are as long as the path takes, with the error of the search.
            assert!((most.saturating_sub(8) + 1..=most).contains(&net.mss()), "{what}: mss {}", net.mss());
            assert!(net.longest <= mtu);
        }
    }
}

/// A path that takes all again after an outage: segments are as long as before.
#[test]
fn after_an_outage_segments_are_as_long_as_before() {
    for ends in families() {
        let mut net = Net::new(MtuSearch::AfterBlackHole, ends);
        let full = net.mss();
        assert!(net.run(SECOND, 200_000));
        net.mtu = 0;
        assert!(!net.run(20 * SECOND, 1_000_000));
        assert!(net.mss() < full && net.counters().black_holes > 0, "{}", net.mss());
        net.mtu = 1500;
        assert!(net.run(60 * SECOND, 8_000_000), "{} of {}", net.read, net.written);
        assert_eq!(net.mss(), full, "{ends:?}: {:?}", net.counters());
    }
}

/// A path that is wide again later: it is found ten minutes after the last lost probe (RFC 8201, section 4).
#[test]
fn a_path_that_widens_is_found() {
    for ends in families() {
        let mut net = Net::new(MtuSearch::AfterBlackHole, ends);
        let full = net.mss();
        net.mtu = 1350;
        assert!(net.run(600 * SECOND, 8_000_000));
        net.mtu = 1500;
        assert!(net.run(60 * SECOND, 1_000_000));
        assert!(net.mss() < full, "not yet: {}", net.mss());
        net.run(600 * SECOND, 0);
        assert!(net.run(60 * SECOND, 8_000_000));
        assert_eq!(net.mss(), full, "{ends:?}: {:?}", net.counters());
    }
}

/// Where a connection begins with short segments nothing times out.
#[test]
fn a_search_from_the_beginning_needs_no_time_out() {
    for (ends, mtu) in families().into_iter().flat_map(|ends| [(ends, 1500), (ends, 1400), (ends, 1290)]) {
        let mut net = Net::new(MtuSearch::Always, ends);
        net.mtu = mtu;
        assert!(net.run(60 * SECOND, 8_000_000), "{} of {}", net.read, net.written);
        let (counters, most) = (net.counters(), mtu - headers(ends.1));
        assert_eq!((counters.timeouts, counters.recoveries), (0, 0), "{ends:?} over {mtu}: {counters:?}");
        assert!((most - 7..=most).contains(&net.mss()), "{ends:?} over {mtu}: mss {}, {counters:?}", net.mss());
        // Probes are all that was lost.
        assert!(net.dropped <= u64::from(counters.path_probes), "{ends:?} over {mtu}: {} {counters:?}", net.dropped);
    }
}

/// Losses of other reasons do not end the search, nor its bytes.
#[test]
fn a_narrow_path_that_loses_frames_carries_every_byte() {
    for (ends, mtu) in families().into_iter().zip([1100, 1300]) {
        for one_in in [20, 100] {
            let mut net = Net::new(MtuSearch::AfterBlackHole, ends);
            (net.mtu, net.lossy) = (mtu, Some(one_in));
            assert!(net.run(1200 * SECOND, 3_000_000), "{} of {}", net.read, net.written);
            let (counters, most) = (net.counters(), mtu - headers(ends.1));
            assert!(counters.black_holes > 0 && net.mss() <= most, "{ends:?}: mss {}, {counters:?}", net.mss());
        }
    }
}

/// Without a search nothing gets through.
#[test]
fn without_a_search_a_black_hole_is_one() {
    for ends in families() {
        let mut net = Net::new(MtuSearch::Off, ends);
        net.mtu = 1400;
        assert!(!net.run(60 * SECOND, 100_000));
        assert_eq!((net.read, net.counters().black_holes, net.counters().path_probes), (0, 0, 0), "{ends:?}");
    }
}
