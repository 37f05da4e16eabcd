//! Tests with sequences over virtual cables, and frames from hand-made rings.

use super::*;
use crate::line::Line;
use crate::machine::Sleeper;
use crate::machine::{Machine, Progress};
use linerate_dcb::{Application, Config, Dcb, Selector, Settings};
use linerate_fcoe::{Disks, DisksConfig, Link, Node, NodeEvent, Sequence, Transmit};
use linerate_nic::{NicRx, NicTx};
use linerate_offload::Verdict;
use linerate_port::open_all;
use linerate_wire::{
    Eof, EtherType, FcHeader, FcId, FcType, MacAddr, OxId, Priority, RxId, Sof, VlanTag, f_ctl, r_ctl,
};

/// One end of a cable, to send.
struct Out {
    tx: FcTx,
    nic: NicTx,
}

impl Out {
    fn new(mut nic: NicTx, vlan: Option<VlanTag>) -> Self {
        Self { tx: FcTx::new(&mut nic, 0, vlan), nic }
    }

    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        self.tx.over(&mut self.nic, 0).sequence(sequence)
    }

    fn frame(&mut self, frame: &[u8]) -> bool {
        self.tx.over(&mut self.nic, 0).frame(frame)
    }

    fn room(&mut self) -> usize {
        self.tx.over(&mut self.nic, 0).room()
    }

    fn sync(&mut self) {
        self.nic.sync(0);
    }

    fn counters(&self) -> FcTxCounters {
        self.tx.counters()
    }
}

/// The other end, to receive.
struct In {
    rx: FcRx,
    nic: NicRx,
}

impl In {
    fn sync(&mut self) {
        self.nic.poll(0);
    }

    fn receive(&mut self, most: usize, reader: impl FnMut(&[u8], Verdict)) -> usize {
        self.rx.receive(&mut self.nic, most, reader)
    }

    fn counters(&self) -> FcRxCounters {
        self.rx.counters()
    }
}

/// Two ends of a cable, one to send and one to receive.
fn ends(names: &[&str; 2], vlan: Option<VlanTag>) -> (Out, In) {
    let mut nics = open_all(names).unwrap().into_iter().zip([1, 2]).map(|(port, last)| {
        // The receiver is promiscuous and takes all frames.
        let nic = Line::adapter(port, 1, MacAddr([2, 0, 0, 0, 0, last]), false).unwrap();
        let mtu = nic.info().mtu.min(9216);
        nic.control().change(0, |vi| (vi.promiscuous, vi.mtu) = (true, mtu)).unwrap();
        nic
    });
    let (mut near, mut far) = (nics.next().unwrap(), nics.next().unwrap());
    let mut tx = Out::new(near.take_tx(0).unwrap(), vlan);
    let mut rx = In { rx: FcRx::new(0), nic: far.take_rx(0).unwrap() };
    tx.sync();
    rx.sync();
    (tx, rx)
}

fn cable(name: &str, more: &str) -> (Out, In) {
    let names = ["{1", "}1"].map(|end| format!("cable:fc-{name}{end}{more}"));
    ends(&names.each_ref().map(String::as_str), None)
}

fn link(vlan: Option<u16>) -> Link {
    let vlan = vlan.map(|vid| VlanTag::new(3, false, vid).unwrap());
    Link { src: MacAddr([0x0e, 0xfd, 0, 0, 0x0e, 2]), dst: MacAddr([0x0e, 0xfd, 0, 0, 0x0e, 1]), vlan }
}

/// Header of a READ's data, as its target sends it.
fn header() -> FcHeader {
    FcHeader {
        r_ctl: r_ctl::DATA,
        d_id: FcId::new(0x0e01),
        cs_ctl: 0,
        s_id: FcId::new(0x0e02),
        fc_type: FcType::FCP,
        f_ctl: f_ctl::EXCHANGE_RESPONDER | f_ctl::END_SEQUENCE | f_ctl::RELATIVE_OFFSET,
        seq_id: 1,
        df_ctl: 0,
        seq_cnt: 0,
        ox_id: OxId(7),
        rx_id: RxId(9),
        parameter: 0,
    }
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 7 + i / 256) % 251).unwrap()).collect()
}

/// A frame of a received sequence: start, end, SEQ_CNT, relative offset, payload.
type Seen = (Sof, Eof, u16, u32, Vec<u8>);

/// Takes all received frames; each must have the link's headers and a right CRC.
fn take(rx: &mut In, link: &Link) -> Vec<Seen> {
    let mut seen = Vec::new();
    let n = rx.receive(usize::MAX, |frame, verdict| {
        assert_eq!(verdict, Verdict::Good);
        assert_eq!((&frame[..6], &frame[6..12]), (&link.dst.0[..], &link.src.0[..]));
        let mut at = 12;
        if let Some(tag) = link.vlan {
            assert_eq!(frame[at..at + 4], [[0x81, 0x00], tag.0.to_be_bytes()].concat());
            at += 4;
        }
        assert_eq!(frame[at..at + 2], EtherType::FCOE.0.to_be_bytes());
        let fc = FcoeFrame::new_checked(&frame[at + 2..]).unwrap();
        let its = fc.header();
        assert_eq!(FcHeader { f_ctl: 0, seq_cnt: 0, parameter: 0, ..*its }, FcHeader { f_ctl: 0, ..header() });
        let ends = fc.eof() == Eof::T;
        assert_eq!(its.has(f_ctl::END_SEQUENCE), ends);
        assert_eq!(its.f_ctl & !f_ctl::FILL, header().f_ctl & if ends { !0 } else { !f_ctl::END_SEQUENCE });
        seen.push((fc.sof(), fc.eof(), its.seq_cnt, its.parameter, fc.payload().to_vec()));
    });
    assert_eq!(n, seen.len());
    seen
}

/// Frames expected for a sequence of these bytes.
fn wanted(payload: &[u8], size: usize) -> Vec<Seen> {
    let last = payload.len().div_ceil(size) - 1;
    let frame = |(i, chunk): (usize, &[u8])| {
        let (sof, eof) = (if i == 0 { Sof::I3 } else { Sof::N3 }, if i == last { Eof::T } else { Eof::N });
        (sof, eof, u16::try_from(i).unwrap(), u32::try_from(i * size).unwrap(), chunk.to_vec())
    };
    payload.chunks(size).enumerate().map(frame).collect()
}

#[test]
fn a_sequence_arrives_as_it_was_sent() {
    let whole = data(32_768 + 3);
    let pieces = [&whole[..1], &whole[1..5000], &[], &whole[5000..]];
    // Frames of one slot, and chains of two and of ten.
    for (name, more, size) in [
        ("one", ",mtu=2180", 2112),
        ("two", ",mtu=2180,buf=2048", 2112),
        ("ten", ",mtu=2180,buf=512", 2048),
        ("small", "", 1452),
    ] {
        let (mut tx, mut rx) = cable(name, more);
        for vlan in [None, Some(100)] {
            let link = link(vlan);
            let sequence =
                Sequence { link, header: header(), max_payload: size, start: true, end: true, payload: &pieces };
            let right = wanted(&whole, size);
            assert_eq!(tx.sequence(&sequence), right.len(), "{more}");
            tx.sync();
            rx.sync();
            assert!(take(&mut rx, &link) == right, "{more}: {vlan:?}");
        }
        let count = rx.counters();
        assert_eq!(count.frames, tx.counters().frames);
        assert_eq!((count.bad_crc, count.too_long, tx.counters().refused), (0, 0, 0));
    }
}

#[test]
fn a_sequence_longer_than_the_ring_goes_on_where_it_stopped() {
    let (mut tx, mut rx) = cable("long", ",mtu=2180,slots=64");
    let whole = data(500_000);
    let (mut sent, mut seen) = (0, Vec::new());
    let mut rounds = 0;
    while sent < whole.len() {
        let frames_before = sent / 2112;
        let header = FcHeader {
            seq_cnt: u16::try_from(frames_before).unwrap(),
            parameter: u32::try_from(sent).unwrap(),
            ..header()
        };
        let payload = [&whole[sent..]];
        let sequence =
            Sequence { link: link(None), header, max_payload: 2112, start: sent == 0, end: true, payload: &payload };
        let room = tx.room();
        let n = tx.sequence(&sequence);
        assert!(n >= room.min(whole.len().div_ceil(2112) - frames_before));
        sent = whole.len().min(sent + n * 2112);
        if sent < whole.len() {
            assert_eq!(tx.sequence(&Sequence { payload: &[&[0]], ..sequence }), 0, "full");
            assert_eq!((tx.room(), tx.frame(&[0; 60])), (0, false));
        }
        tx.sync();
        rx.sync();
        seen.extend(take(&mut rx, &link(None)));
        rx.sync();
        tx.sync();
        rounds += 1;
        assert!(rounds < 100, "the ring does not come free");
    }
    assert!(rounds > 3 && seen == wanted(&whole, 2112));
}

#[test]
fn what_can_never_be_sent_is_counted_and_passed_over() {
    let (mut tx, mut rx) = cable("never", ",mtu=2180");
    let whole = data(4096);
    let payload = [&whole[..]];
    let sequence =
        Sequence { link: link(None), header: header(), max_payload: 6, start: true, end: true, payload: &payload };
    assert_eq!(tx.sequence(&sequence), 683, "all of it is gone");
    assert_eq!(tx.sequence(&Sequence { max_payload: 0, ..sequence }), 4096);
    assert_eq!(tx.sequence(&Sequence { max_payload: 0, payload: &[], ..sequence }), 1);
    assert!(tx.frame(&vec![0; 64 * 4096 + 1]));
    assert_eq!(tx.counters(), FcTxCounters { frames: 0, refused: 4 });
    tx.sync();
    rx.sync();
    assert_eq!((take(&mut rx, &link(None)), rx.counters()), (Vec::new(), FcRxCounters::default()));
}

#[test]
fn tagged_frames_wait_for_a_pause_of_their_priority_alone() {
    let link = link(Some(100));
    let (mut tx, mut rx) = ends(&["cable:fc-class{1,mtu=2180", "cable:fc-class}1"], link.vlan);
    let sequence = Sequence { link, header: header(), max_payload: 2112, start: true, end: true, payload: &[&[1; 8]] };
    for (paused, arrive) in [(0xf7, 1), (0x08, 0), (0, 1)] {
        rx.nic.port().pause(paused);
        if paused != 0 {
            assert_eq!(tx.sequence(&sequence), 1);
        }
        tx.sync();
        rx.sync();
        assert_eq!(rx.receive(usize::MAX, |_, _| ()), arrive, "{paused:x}");
    }
}

#[test]
fn a_wrong_crc_is_dropped_and_what_has_none_is_shown() {
    let (mut tx, mut rx) = cable("crc", ",mtu=2180");
    let payload = [&[1, 2, 3][..]];
    let sequence =
        Sequence { link: link(None), header: header(), max_payload: 2112, start: true, end: true, payload: &payload };
    assert_eq!(tx.sequence(&sequence), 1);
    tx.sync();
    rx.sync();
    let mut good = Vec::new();
    assert_eq!(rx.receive(usize::MAX, |frame, _| good = frame.to_vec()), 1);
    let mut bad = good.clone();
    bad[53] ^= 1;
    let mut fip = good.clone();
    fip[12..14].copy_from_slice(&EtherType::FIP.0.to_be_bytes());
    for frame in [&bad, &fip, &good, &good[..50].to_vec(), &good] {
        assert!(tx.frame(frame));
    }
    tx.sync();
    rx.sync();
    let mut seen = Vec::new();
    assert_eq!(rx.receive(3, |frame, verdict| seen.push((frame.to_vec(), verdict))), 3);
    assert_eq!(rx.receive(usize::MAX, |frame, verdict| seen.push((frame.to_vec(), verdict))), 2);
    let (good_one, unknown) = ((good.clone(), Verdict::Good), Verdict::Unknown);
    assert_eq!(seen, [(fip, unknown), good_one.clone(), (good[..50].to_vec(), unknown), good_one]);
    assert_eq!(rx.counters(), FcRxCounters { frames: 6, bad_crc: 1, ..FcRxCounters::default() });
}

#[test]
fn a_frame_longer_than_any_of_fcoe_is_counted_and_not_shown() {
    let (mut tx, mut rx) = cable("longer", ",mtu=9000");
    for len in [LONGEST, LONGEST + 1] {
        assert!(tx.frame(&vec![0; len]));
    }
    tx.sync();
    rx.sync();
    let mut shown = Vec::new();
    rx.receive(usize::MAX, |frame, _| shown.push(frame.len()));
    assert_eq!((shown, rx.counters()), (vec![LONGEST], FcRxCounters { frames: 2, too_long: 1, bad_crc: 0 }));
}

/// A watcher without work.
struct Idle {
    done: bool,
}

impl Watcher<Disks> for Idle {
    fn event(&mut self, _: u64, _: &NodeEvent, _: &mut Node<Disks>) {}
    fn turn(&mut self, _: u64, _: &mut Node<Disks>) -> bool {
        false
    }
    fn poll_timeout(&self) -> Option<u64> {
        None
    }
    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}
    fn is_done(&self) -> bool {
        self.done
    }
}

/// Regression: a node that was done waited for the time-out of a logout, although it was not logged in.
#[test]
fn a_node_that_is_done_and_logged_in_nowhere_ends_at_once() {
    let port = FcPort::open("null:", &FcOptions::default()).unwrap();
    let config = port.config();
    let disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 0 });
    let mut node = port.node(&config, disks, Idle { done: true }).unwrap();
    assert_eq!(node.handle(1), Progress::Worked, "it is to be asked again before it sleeps");
    assert_eq!(node.handle(1), Progress::Done);
}

/// Regression: of a port with several queues only the first was read.
#[test]
fn frames_on_any_queue_reach_the_node_and_its_ip_host() {
    use crate::net::{Net, Options, SERVICES};
    let mut ports = open_all(&["cable:fcqueues{1,queues=4", "cable:fcqueues}1,queues=4"]).unwrap();
    let theirs = FcPort::over(ports.pop().unwrap(), &FcOptions::default()).unwrap();
    let services: Vec<_> = SERVICES.iter().collect();
    let theirs = theirs.with_ip(&["10.0.0.2/24".parse().unwrap()], &Options::default(), &services);
    let config = theirs.config();
    let disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 0 });
    let mut node = theirs.node(&config, disks, Idle { done: false }).unwrap();
    let stop = crate::Stop::new().unwrap();
    let nic = Line::adapter(ports.pop().unwrap(), 1, MacAddr([2, 0, 0, 0, 0, 1]), false).unwrap();
    let ours = crate::net::Node::shards(nic, &["10.0.0.1/24".parse().unwrap()], &Options::default()).unwrap();
    let answered = std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let net = Net::run(ours).unwrap();
            // Each socket sends by another queue.
            let sockets: Vec<_> = (0..4).map(|_| net.udp_bind("0.0.0.0:0".parse().unwrap()).unwrap()).collect();
            let answered = sockets.iter().map(|socket| {
                socket.set_read_timeout(Some(std::time::Duration::from_secs(20)));
                socket.send_to(b"hello", "10.0.0.2:7".parse().unwrap()).unwrap();
                socket.recv(&mut [0; 16]).ok()
            });
            let answered: Vec<_> = answered.collect();
            stop.ask(0);
            answered
        });
        crate::run(&mut node, &mut crate::Waiter::new(crate::WaitMode::Sleep), &stop);
        client.join().unwrap()
    });
    assert_eq!(answered, [Some(5); 4]);
    assert_eq!(node.ip().unwrap().0.host.counters().udp_received, 4);
}

/// A node that negotiates, and the far end of its cable: it speaks LLDP, and reads the tags of FIP's frames.
struct Negotiating {
    node: FcNode<Disks, Idle>,
    far: Line,
    dcb: Dcb,
    now: u64,
}

impl Negotiating {
    fn new(name: &str, vlan: Option<VlanTag>) -> Self {
        let ports = open_all(&[&format!("cable:{name}{{1"), &format!("cable:{name}}}1")]);
        let [far, near] = <[_; 2]>::try_from(ports.unwrap()).ok().unwrap();
        let willing = Settings { willing: true, ..Settings::default() };
        let near = FcPort::over(near, &FcOptions { vlan, ..FcOptions::default() }).unwrap().with_dcb(Some(willing));
        let config = near.config();
        let disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 0 });
        let node = near.node(&config, disks, Idle { done: false }).unwrap();
        let mac = MacAddr([2, 0, 0, 0, 0, 9]);
        let mut nic = Line::adapter(far, 1, mac, false).unwrap();
        nic.control().change(0, |vi| vi.promiscuous = true).unwrap();
        let dcb = Dcb::new(Config::new(mac, "far"), Settings::default(), 0).unwrap();
        let mut own = Self { node, far: Line::new(&mut nic, 0).unwrap(), dcb, now: 0 };
        own.dcb.set_link(true, 0);
        own
    }

    /// Tags of FIP's frames of the next 20 seconds, each once; the first second does not count.
    fn tags(&mut self, applications: &[(u16, u8)]) -> Vec<Option<u16>> {
        let app = |(protocol, priority): &(u16, u8)| Application {
            selector: Selector::EtherType,
            protocol: *protocol,
            priority: Priority::new(*priority).unwrap(),
        };
        let mut classes = self.dcb.settings().classes;
        classes.of[3] = 1;
        let applications = applications.iter().map(app).collect();
        let settings = Settings { classes, recommendation: Some(classes), applications, ..Settings::default() };
        self.dcb.set(settings, self.now).unwrap();
        let (begin, mut tags) = (self.now + 1_000_000_000, Vec::new());
        while self.now < begin + 19_000_000_000 {
            self.now += 10_000_000;
            self.step(|now, tag| {
                if now >= begin && !tags.contains(&tag) {
                    tags.push(tag);
                }
            });
        }
        tags
    }

    fn step(&mut self, mut fip: impl FnMut(u64, Option<u16>)) {
        let Self { node, far, dcb, now } = self;
        while node.handle(*now) == Progress::Worked {}
        far.changed(*now);
        far.arrivals.rx.take(*now, usize::MAX, |_, frame| match frame.head()[12..18] {
            [0x88, 0xcc, ..] => dcb.receive(frame.head(), *now),
            [0x89, 0x14, ..] => fip(*now, None),
            [0x81, 0x00, high, low, 0x89, 0x14] => fip(*now, Some(u16::from_be_bytes([high, low]))),
            _ => {}
        });
        if let Some(frame) = dcb.poll_transmit(*now) {
            assert!(far.tx.send(0, &frame, &[], None));
        }
        far.flush(*now);
    }
}

/// FIP has FCoE's priority if it has none of its own; without a VLAN, frames get a tag for a priority other than 0.
#[test]
fn priorities_are_those_that_the_neighbour_says_now() {
    const FCOE: u16 = EtherType::FCOE.0;
    const FIP: u16 = EtherType::FIP.0;
    for (name, vlan, none) in [("fc-dcb", None, None), ("fc-dcb-vlan", Some(VlanTag(0x6064)), Some(0x6064))] {
        let mut ours = Negotiating::new(name, vlan);
        let vid = vlan.map_or(0, VlanTag::vid);
        let tag = |priority: u16| Some(priority << 13 | vid);
        let zero = vlan.map(VlanTag::vid);
        for (said, expected) in [
            (&[][..], none),
            (&[(FCOE, 3), (FIP, 3)], tag(3)),
            (&[(FCOE, 4)], tag(4)),
            (&[(FCOE, 4), (FIP, 0)], zero),
            (&[(0, 5)], tag(5)),
            (&[(FIP, 5)], tag(5)),
        ] {
            // Restraint forgets the changes before.
            ours.now += 30_000_000_000;
            assert_eq!(ours.tags(said), [expected], "{name}: {said:?}");
            let fcoe = said.iter().find(|app| [FCOE, 0].contains(&app.0)).map(|app| app.1);
            let class = ours.node.line().control().settings(0).unwrap().priority.number();
            assert_eq!(class, fcoe.unwrap_or(if vlan.is_some() { 3 } else { 0 }), "{name}: {said:?}");
        }
        let classes = ours.node.line().control().classes();
        assert_ne!(classes.class(Priority::ALL[3]), classes.class(Priority::ALL[0]));
        assert_eq!(ours.dcb.neighbours().len(), 1);
        ours.node.stop(ours.now);
        ours.step(|_, _| {});
        assert!(ours.dcb.neighbours().is_empty(), "{name}: it takes leave");
    }
}

#[test]
fn data_frames_have_the_priority_and_what_is_not_said_changes_nothing() {
    for (name, vlan, tag) in [("fc-prio", None, 0x8000), ("fc-prio-vlan", Some(100), 0x8064)] {
        let given = link(vlan);
        let names = ["{1,mtu=2180", "}1"].map(|end| format!("cable:{name}{end}"));
        let (mut tx, mut rx) = ends(&names.each_ref().map(String::as_str), given.vlan);
        let payload = [&[1; 8][..]];
        let sequence =
            Sequence { link: given, header: header(), max_payload: 2112, start: true, end: true, payload: &payload };
        for (priority, expected) in [(None, given.vlan), (Some(4), Some(VlanTag(tag))), (None, given.vlan)] {
            let priority = priority.and_then(Priority::new);
            tx.tx.set_priorities(&mut tx.nic, priority, None);
            let usual = given.vlan.map_or(0xff, |_| 1 << 3);
            // FIP's are as they were.
            let bits = priority.map_or(usual, |_| 1 << 4 | if vlan.is_some() { 1 << 3 } else { 1 });
            assert_eq!(tx.nic.port().priorities(), bits, "{name}: {priority:?}");
            assert_eq!(tx.sequence(&sequence), 1);
            tx.sync();
            rx.sync();
            assert_eq!(take(&mut rx, &Link { vlan: expected, ..given }).len(), 1, "{name}: {priority:?}");
        }
    }
}
