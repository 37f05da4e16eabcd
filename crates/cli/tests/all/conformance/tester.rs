//! The near end of a subject's link: sends a case's frames, answers the subject's questions for neighbours, and records
//! what comes back, until a marker that was sent behind the case is answered.
//!
//! Order is by construction, not by time. All that a case sets off stays on one processor, to which the tester and its
//! subject are pinned, so that every frame waits in the same queues of the kernel behind those before it. The first
//! markers are datagrams to the echo service, over both versions: it answers them after all datagrams before. The next
//! is an echo request, whose answer stands behind the answers of the stack. If a neighbour was asked for meanwhile,
//! there is another round, for the answer may have set off more.

use super::craft::{ARP, ICMP, ICMPV6, IPV4, IPV6, Mac, UDP, V4, V6, arp, ethernet, icmp, link_option, udp};
use super::record::{Record, ethertype, is_background, parse};
use super::stations::{At, ECHO, HOST_MAC, HOST4, HOST6, ROUTER_MAC, ROUTER4, ROUTER6};
use super::table::Case;
use crate::process::LIMIT;
use linerate_port::{Port, RxQueue, TxQueue};
use linerate_rt::{Clock, Machine, Progress, Sleeper, WaitMode, Waiter, monotonic_ns};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ports from which the markers come: one for each round, so that an old answer ends no later round.
const MARKERS: u16 = 20_000;

/// Time for answers that may come late: the queries ask for them within a millisecond, and linerate answers ten queries
/// a second. An answer that comes later still is missed; it never fails a case.
const PATIENCE_NS: u64 = 300_000_000;

/// Queues of the near end, and the frames that have come.
struct Wire {
    tx: TxQueue,
    rx: RxQueue,
    came: VecDeque<Vec<u8>>,
    until: u64,
    _port: Port,
}

pub(crate) struct Tester {
    wire: Wire,
    waiter: Waiter,
    clock: Clock,
    round: u16,
}

/// Part of a case, and what was heard in it.
struct Listening<'a> {
    at: At,
    case: Option<&'a Case>,
    record: Record,
    /// A neighbour was asked for, and answered.
    asked: bool,
}

impl Listening<'_> {
    /// Place in the table, for messages.
    fn place(&self) -> String {
        self.case.map_or("in a meeting or before".into(), |case| format!("in '{}' or before", case.name))
    }
}

impl Machine for Wire {
    fn handle(&mut self, _: u64) -> Progress {
        self.rx.sync();
        let mut batch = self.rx.ring.batch(64);
        let n = batch.len();
        for i in 0..n {
            if let Some((frame, _)) = batch.frame(i) {
                self.came.push_back(frame.to_vec());
            }
        }
        batch.release(n);
        if n > 0 { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        Some(self.until)
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(&mut self.rx);
    }

    fn stop(&mut self, _: u64) {}
}

impl Tester {
    /// A tester on an open port. It waits until the subject answers.
    pub(crate) fn new(mut port: Port) -> Self {
        let (tx, rx) = (port.take_tx(0).unwrap(), port.take_rx(0).unwrap());
        let wire = Wire { tx, rx, came: VecDeque::new(), until: 0, _port: port };
        let mut tester = Self { wire, waiter: Waiter::new(WaitMode::Sleep), clock: Clock::new(), round: 0 };
        let mut listening = Listening { at: At(0), case: None, record: Record::default(), asked: false };
        tester.settle(&mut listening);
        tester
    }

    /// Waits for the end of the subject's check of its addresses, which it announces twice (RFC 5227, section 2.3): until
    /// then a claim to one is believed.
    pub(crate) fn wait_for_announcements(&mut self) {
        let mut listening = Listening { at: At(0), case: None, record: Record::default(), asked: false };
        let mut left = 2;
        while left > 0 {
            let frame = self.next("no announcement of the subject's address");
            let announces = frame.len() >= 42 && frame[28..32] == HOST4.octets() && frame[38..42] == HOST4.octets();
            left -= u32::from(announces && ethertype(&frame) == ARP && frame[6..12] == HOST_MAC);
            self.hear(&frame, &mut listening);
        }
        self.settle(&mut listening);
    }

    /// Plays a case; returns the subject's answers.
    pub(crate) fn play(&mut self, at: At, case: &Case) -> Record {
        let mut meeting = Listening { at, case: None, record: Record::default(), asked: false };
        if case.met {
            at.meeting().iter().for_each(|frame| self.send(frame));
            self.settle(&mut meeting);
        }
        let record = Record::new(case.exact);
        let mut listening = Listening { case: Some(case), record, ..meeting };
        for frame in (case.frames)(at) {
            if frame.is_empty() {
                self.settle(&mut listening);
            } else {
                self.send(&frame);
            }
        }
        self.settle(&mut listening);
        if case.reports {
            while listening.record.reports() == 0 {
                let frame = self.next(&format!("no report of groups in '{}'", case.name));
                self.hear(&frame, &mut listening);
            }
            self.settle(&mut listening);
        }
        if case.patient {
            let until = monotonic_ns() + PATIENCE_NS;
            while let Some(frame) = self.before(until) {
                self.hear(&frame, &mut listening);
            }
        }
        listening.record
    }

    /// Returns when all that was sent has been answered.
    fn settle(&mut self, listening: &mut Listening<'_>) {
        loop {
            listening.asked = false;
            self.round += 1;
            let port = MARKERS + self.round;
            let ends: [(IpAddr, IpAddr); 2] = [(ROUTER4.into(), HOST4.into()), (ROUTER6.into(), HOST6.into())];
            let ask = |tester: &mut Self, left: &[IpAddr]| {
                for (from, to) in ends.into_iter().filter(|(from, _)| left.contains(from)) {
                    tester.send(&packet(from, to, UDP, &udp((from, port), (to, ECHO), b"marker")));
                }
            };
            // The services of the two versions run beside each other.
            let mut left = vec![ends[0].0, ends[1].0];
            ask(self, &left);
            let mut again = 1..LIMIT.as_secs() / 5;
            while !left.is_empty() {
                let Some(frame) = self.before(monotonic_ns() + 5_000_000_000) else {
                    // A kernel drops an answer whose neighbour a busy machine did not tell in 3 s. Where no case listens, nobody
                    // hears a second answer.
                    let more = listening.case.is_none() && again.next().is_some();
                    assert!(more, "datagrams are not answered any more, {}", listening.place());
                    ask(self, &left);
                    continue;
                };
                let to = parse(&frame).filter(|ip| ip.protocol == UDP && port_to(&frame, ip.payload) == port);
                match left.iter().position(|from| to.is_some_and(|ip| ip.to == *from)) {
                    Some(at) => drop(left.remove(at)),
                    None => self.hear(&frame, listening),
                }
            }
            let [high, low] = self.round.to_be_bytes();
            let ident = [0xee, 0xee, high, low];
            self.send(&packet(ROUTER4.into(), HOST4.into(), ICMP, &icmp(8, 0, ident, b"marker")));
            loop {
                let frame = self.next(&format!("echo requests are not answered any more, {}", listening.place()));
                let reply = parse(&frame).filter(|ip| ip.to == ROUTER4 && ip.protocol == ICMP);
                if reply.is_some_and(|ip| frame[ip.payload + 4..].starts_with(&ident)) {
                    break;
                }
                self.hear(&frame, listening);
            }
            if !listening.asked {
                return;
            }
        }
    }

    /// The next frame, which must come.
    fn next(&mut self, missing: &str) -> Vec<u8> {
        let until = monotonic_ns() + u64::try_from(LIMIT.as_nanos()).unwrap();
        self.before(until).unwrap_or_else(|| panic!("{missing}"))
    }

    /// The next frame, if one comes before that time.
    fn before(&mut self, until: u64) -> Option<Vec<u8>> {
        self.wire.until = until;
        loop {
            if let Some(frame) = self.wire.came.pop_front() {
                return Some(frame);
            }
            let now = monotonic_ns();
            match self.wire.handle(now) {
                Progress::Worked => self.waiter.worked(),
                _ if now >= until => return None,
                _ => self.waiter.idle(&mut self.wire, &mut self.clock, None),
            }
        }
    }

    /// Looks at a frame: a question for a neighbour is answered; what belongs to the case is recorded.
    fn hear(&mut self, frame: &[u8], listening: &mut Listening<'_>) {
        if let Some((answer, routers)) = answer(frame, listening.at) {
            self.send(&answer);
            listening.asked |= !routers;
            // The router is nobody's case, and whether a known neighbour is asked again is a matter of time.
            if routers || frame[0] & 1 == 0 {
                return;
            }
        }
        let Some(case) = listening.case else { return };
        if belongs(frame, listening.at) && !is_background(frame, case.reports || case.patient) {
            listening.record.add(frame.to_vec());
        }
    }

    fn send(&mut self, frame: &[u8]) {
        let mut batch = self.wire.tx.ring.reserve(1);
        assert!(!batch.is_empty() && batch.put(0, frame), "no room for a frame of {} bytes", frame.len());
        batch.commit(1);
        self.wire.tx.sync();
        let count = self.wire.tx.counters();
        assert_eq!((count.dropped.total(), self.wire.tx.ring.pending()), (0, 0), "a frame was not sent");
    }
}

/// A frame from the router to the subject.
fn packet(from: IpAddr, to: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            ethernet(HOST_MAC, ROUTER_MAC, IPV4, &V4::new(from, to, protocol).with(payload))
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            ethernet(HOST_MAC, ROUTER_MAC, IPV6, &V6::new(from, to, protocol).with(payload))
        }
        _ => panic!("two versions"),
    }
}

/// Destination port of a datagram at this offset.
fn port_to(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at + 2], frame[at + 3]])
}

/// True if a frame of the subject's is about the case: to one of its stations, or to a group.
fn belongs(frame: &[u8], at: At) -> bool {
    let to_station = at.is_ours(frame) || parse(frame).is_some_and(|ip| at.station(ip.to).is_some());
    let question = question(frame).map(|(target, _)| target);
    // Others than the case's may be looked for again, or the subject's own address.
    let group = frame[0] & 1 == 1 && question.is_none_or(|target| target == HOST4 || at.station(target).is_some());
    to_station || group
}

/// Target and sender of a question for a neighbour.
fn question(frame: &[u8]) -> Option<(IpAddr, IpAddr)> {
    if ethertype(frame) == ARP {
        let addr = |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(frame.get(at..at + 4)?).ok()?));
        return (frame.get(21) == Some(&1)).then_some((addr(38)?.into(), addr(28)?.into()));
    }
    let ip = parse(frame).filter(|ip| ip.protocol == ICMPV6 && frame.get(ip.payload) == Some(&135))?;
    let target = <[u8; 16]>::try_from(frame.get(ip.payload + 8..ip.payload + 24)?).ok()?;
    Some((Ipv6Addr::from(target).into(), ip.from))
}

/// Answer to a question for a station of the case, or for the router: then true.
fn answer(frame: &[u8], at: At) -> Option<(Vec<u8>, bool)> {
    let (target, sender) = question(frame)?;
    let router = target == ROUTER4 || target == ROUTER6;
    let mac: Mac = if router { ROUTER_MAC } else { at.mac(at.station(target)?) };
    let answer = match (target, sender) {
        (IpAddr::V4(target), IpAddr::V4(sender)) => {
            ethernet(HOST_MAC, mac, ARP, &arp(2, (mac, target), (HOST_MAC, sender)))
        }
        (IpAddr::V6(target), IpAddr::V6(sender)) => {
            let body = [&target.octets()[..], &link_option(2, mac)].concat();
            // Solicited, override.
            ethernet(HOST_MAC, mac, IPV6, &at.discovery(target, sender, 136, [0x60, 0, 0, 0], &body))
        }
        _ => return None,
    };
    Some((answer, router))
}
