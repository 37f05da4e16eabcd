//! Replays of recorded hosts that are well: their counters go on as those of such hosts do, and next to nothing is a warning.

use super::super::examine::examine_of;
use super::super::*;
use super::tree::{NAME, Tree};
use linerate_host::Absent;
use linerate_host::adapter::{Question, Recorded, Source, Subject};
use linerate_rt::Stop;
use linerate_sum::SplitMix64;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

/// Cards of recorded trees, and the names of their interfaces.
const CARDS: [(&str, &str); 3] = [("ixgbe-82599", NAME), ("mlx5-connectx", "p3p1"), ("ice-e810", "eth0")];

/// Places of counters in `struct rtnl_link_stats64`, of which so many of the frames are lost at most, by 10^9: received or sent. The
/// bit error rate of 10^-12 that IEEE 802.3 allows damages 12 of 10^9 of the longest frames.
const LOSSES: [(usize, bool, u64); 8] = [
    (7, false, 1),
    (10, true, 1),
    (11, true, 1),
    (12, true, 12),
    (13, true, 1),
    (14, true, 1),
    (15, true, 1),
    (18, false, 1),
];
const PLACES: usize = 25;
const MULTICAST: usize = 8;
const RX_DROPPED: usize = 6;
/// `IFLA_STATS64` of linux/if_link.h, and the header before the attributes.
const STATS: u16 = 23;
const HEADER: usize = 16;

/// The driver's own counters.
const COUNT: u32 = 6;
const OWN: [&str; COUNT as usize] =
    ["rx_packets", "tx_packets", "rx_no_buffer_count", "rx_missed", "rx_xoff_frames", "tx_pause_frames"];

/// Counters at one time.
#[derive(Default)]
struct Reading {
    link: [u64; PLACES],
    own: [u64; OWN.len()],
    files: BTreeMap<&'static str, String>,
}

/// A recorded tree whose counters have two readings.
struct Replay {
    tree: Recorded,
    readings: [Reading; 2],
    later: Rc<Cell<bool>>,
}

impl Replay {
    fn now(&self) -> &Reading {
        &self.readings[usize::from(self.later.get())]
    }
}

impl Source for Replay {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        self.now().files.get(path).map_or_else(|| self.tree.file(path), |text| Ok(text.clone().into_bytes()))
    }

    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        self.tree.names(path)
    }

    fn real(&self, path: &str) -> io::Result<String> {
        self.tree.real(path)
    }

    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Result<Vec<Vec<u8>>, Absent> {
        let words = |all: &[u32]| all.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        match question {
            Question::Names => {
                let name = |name: &&str| {
                    let mut field = name.as_bytes().to_vec();
                    field.resize(32, 0);
                    field
                };
                let names: Vec<u8> = OWN.iter().flat_map(name).collect();
                Ok(vec![[words(&[0x1b, 1, COUNT]), names].concat()])
            }
            Question::Values => {
                let values: Vec<u8> = self.now().own.iter().flat_map(|value| value.to_ne_bytes()).collect();
                Ok(vec![[words(&[0x1d, COUNT]), values].concat()])
            }
            Question::Link => {
                let link = self.now().link;
                let mut answers = self.tree.ask(question, of)?;
                answers.iter_mut().for_each(|answer| put(answer, &link));
                Ok(answers)
            }
            _ => self.tree.ask(question, of),
        }
    }
}

/// Writes the counters into an answer about a link.
fn put(answer: &mut [u8], link: &[u64; PLACES]) {
    let mut at = HEADER;
    while let Some(&[a, b, c, d]) = answer.get(at..at + 4) {
        let (length, kind) = (usize::from(u16::from_ne_bytes([a, b])), u16::from_ne_bytes([c, d]));
        if kind == STATS {
            let value = link.iter().flat_map(|value| value.to_ne_bytes());
            answer[at + 4..at + length].iter_mut().zip(value).for_each(|(to, byte)| *to = byte);
        }
        at += length.next_multiple_of(4).max(4);
    }
}

/// A number that is neither negative nor above 10^13.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is neither")]
fn whole(number: f64) -> u64 {
    number as u64
}

/// Numbers by chance.
struct Chance(SplitMix64);

impl Chance {
    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number between 1 and a power of ten, each of whose lengths is as likely.
    fn up_to(&mut self, digits: f64) -> u64 {
        whole(10_f64.powf(self.share() * digits))
    }

    /// Number of events that come by chance, so many in the mean (Poisson's, below 30 by its definition).
    fn events(&mut self, mean: f64) -> u64 {
        if mean > 30.0 {
            return whole(mean);
        }
        let (least, mut product, mut count) = ((-mean).exp(), self.share(), 0);
        while product > least {
            product *= self.share();
            count += 1;
        }
        count
    }
}

/// A counter of a reading.
type Place = fn(&mut Reading, usize) -> &mut u64;

/// Half a second of a host that is well, with what it had before.
fn readings(chance: &mut Chance) -> [Reading; 2] {
    let mut both = [Reading::default(), Reading::default()];
    // Up to 10^13 frames since the start; now up to what a link of 10 Gb/s carries.
    let history = [0; 2].map(|_| 1_000_000_000 * chance.up_to(4.0));
    let frames = [0; 2].map(|_| chance.up_to(6.87));
    for at in 0..2 {
        both[0].link[at] = history[at];
        both[1].link[at] = history[at] + frames[at];
        both[0].link[at + 2] = history[at] * 800;
        both[1].link[at + 2] = (history[at] + frames[at]) * 800;
    }
    let mut grow = |both: &mut [Reading; 2], at: Place, place, before, more: f64| {
        *at(&mut both[0], place) = before;
        *at(&mut both[1], place) = before + chance.events(more);
    };
    let (link, own): (Place, Place) = (|one, at| &mut one.link[at], |one, at| &mut one.own[at]);
    for (place, received, most) in LOSSES {
        let at = usize::from(!received);
        grow(&mut both, link, place, history[at] / 1_000_000_000 * most / 2, frames[at] as f64 * most as f64 / 1e9);
    }
    grow(&mut both, link, MULTICAST, 1000, 20.0);
    // Frames of protocols that nobody speaks: some in a second.
    grow(&mut both, link, RX_DROPPED, 50_000, 2.0);
    for (place, before, more) in [
        (0, history[0], frames[0] as f64),
        (1, history[1], frames[1] as f64),
        (2, 3, frames[0] as f64 / 1e9),
        (3, 3, frames[0] as f64 / 1e9),
        // A second has a pause now and then.
        (4, 2000, 0.5),
        (5, 700, 0.5),
    ] {
        grow(&mut both, own, place, before, more);
    }
    // What the kernel's protocols count.
    let at_most = |chance: &mut Chance, most: u64| chance.up_to(6.0).min(most.max(1));
    let received = at_most(chance, frames[0]);
    let sent = at_most(chance, frames[1]);
    let (segments, datagrams) = (received / 2, received / 2);
    let rare = |chance: &mut Chance, of: u64, one_in: f64| chance.events(of as f64 / one_in);
    let noise = [0; 5].map(|_| chance.events(0.05));
    let [header, address, no_route, reverse, fragments] = noise;
    let again = rare(chance, sent, 1000.0);
    let [tcp, udp, icmp] = [segments, datagrams, 10].map(|of| rare(chance, of, 1e6));
    let lost = rare(chance, datagrams, 1e7);
    let opened = segments / 100;
    let listen = rare(chance, opened, 1e6);
    let dropped = rare(chance, received, 1e9);
    let texts = [0_u64, 1].map(|later| {
        let more = |before: u64, more: u64| before + later * more;
        let snmp = format!(
            "Ip: Forwarding InReceives InHdrErrors InAddrErrors InDiscards OutRequests OutDiscards OutNoRoutes ReasmFails\n\
             Ip: 2 {} {} {} 3 {} 2 {} {}\nIcmp: InMsgs InErrors InCsumErrors\nIcmp: {} 0 {}\n\
             Tcp: PassiveOpens InSegs OutSegs RetransSegs InCsumErrors\nTcp: {} {} {} {} {}\n\
             Udp: InDatagrams RcvbufErrors InCsumErrors\nUdp: {} {} {}\n",
            more(history[0], received),
            more(40, header),
            more(900, address),
            more(history[1], sent),
            more(12, no_route),
            more(7, fragments),
            more(5000, 10),
            more(1, icmp),
            more(9_000_000, opened),
            more(history[0] / 2, segments),
            more(history[1], sent),
            more(history[1] / 1000, again),
            more(90, tcp),
            more(history[0] / 2, datagrams),
            more(40, lost),
            more(20, udp),
        );
        let netstat = format!(
            "TcpExt: ListenOverflows ListenDrops TCPMemoryPressures IPReversePathFilter\nTcpExt: {0} {0} 0 {1}\n\
             IpExt: InOctets\nIpExt: 9\n",
            more(3, listen),
            more(44, reverse),
        );
        let softnet = format!("{:08x} {:08x} 00000040\n", more(0x4000_0000, received), more(1, dropped));
        BTreeMap::from([(protocols::SNMP, snmp), (protocols::NETSTAT, netstat), (protocols::SOFTNET, softnet)])
    });
    both.iter_mut().zip(texts).for_each(|(one, files)| one.files = files);
    both
}

/// Warnings about a replay.
fn warned(tree: &Tree, name: &str, readings: [Reading; 2]) -> Vec<Finding> {
    let later = Rc::new(Cell::new(false));
    let mut replay = Replay { tree: Recorded::open(tree.0.path()).unwrap(), readings, later: later.clone() };
    let asked = Asked { names: &[name.to_owned()], tree: Some(tree.0.path()), ..Asked::default() };
    let examined = examine_of(&mut replay, &asked, || later.set(true), &Stop::new().unwrap()).unwrap();
    assert!(later.get() && examined.healthy > 50, "{examined:#?}");
    examined.findings.into_iter().filter(|one| one.severity > Severity::Note).collect()
}

#[test]
fn of_hosts_that_are_well_one_in_a_hundred_is_warned_of_at_most() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (replays, seed) = (number("LINERATE_REPLAYS").unwrap_or(300), number("LINERATE_SEED").unwrap_or(7));
    let trees = CARDS.map(|(card, name)| (Tree::of(card, &[]), name));
    // What is wrong with them while nothing passes: a slot, or a link without a carrier.
    let known = trees.each_ref().map(|(tree, name)| warned(tree, name, [Reading::default(), Reading::default()]));
    let mut chance = Chance(SplitMix64::new(seed));
    let mut rules: BTreeMap<String, u64> = BTreeMap::new();
    let mut false_ones = 0;
    for at in 0..replays {
        let of = usize::try_from(at).unwrap() % trees.len();
        let (tree, name) = &trees[of];
        let mut all = warned(tree, name, readings(&mut chance));
        all.retain(|one| known[of].iter().all(|other| (&one.rule, &one.what) != (&other.rule, &other.what)));
        false_ones += u64::from(!all.is_empty());
        for one in all {
            *rules.entry(format!("{name} {}: {}", one.rule, one.what)).or_default() += 1;
        }
    }
    println!("{false_ones} of {replays} replays are warned of (seed {seed}): {rules:#?}");
    assert!(false_ones * 100 <= replays, "{false_ones} of {replays} (seed {seed}): {rules:#?}");
}

/// The same hosts with one counter that grows as it does at a fault.
#[test]
fn a_counter_that_grows_as_at_a_fault_is_warned_of_in_each_replay() {
    let tree = Tree::new(&[]);
    let mut chance = Chance(SplitMix64::new(7));
    for at in 0..20 {
        for (rule, place) in [("crc-errors", 12), ("ring-rx", 15), ("ring-rx", RX_DROPPED), ("tx-drops", 7)] {
            let mut both = readings(&mut chance);
            let frames = both[1].link[usize::from(place == 7)] - both[0].link[usize::from(place == 7)];
            both[1].link[place] += 20 + frames / 10_000;
            let all = warned(&tree, NAME, both);
            assert!(all.iter().any(|one| one.rule == rule), "{at} {rule}: {all:#?}");
        }
    }
}
