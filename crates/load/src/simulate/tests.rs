use super::*;
use linerate_dcb::{Application, Selector};
use linerate_offload::{ClassTable, Selection};
use linerate_port::switch::{Ecn, Qcn, Span};
use linerate_wire::{EtherType, Priority};

/// One initiator that reads over 10 Gb/s and 10 m.
fn san() -> San {
    let link = Link { rate: 10_000_000_000, length: 10 };
    San {
        seed: 1,
        initiators: 1,
        luns: 1,
        disk: 1 << 20,
        block: 4096,
        depth: 16,
        reads: 100,
        target: link,
        initiator: link,
        hosts: 0,
        host_tcp: false,
        host_rate: 1_000_000_000,
        datagram: 1472,
        slots: 256,
        lossless: false,
        buffers: None,
        dcb: None,
        vlan: None,
        loss: 0,
        warm: Duration::from_millis(1),
        time: Duration::from_millis(5),
    }
}

fn run(san: &San) -> Simulated {
    let done = san.run(&Stop::new().unwrap()).unwrap();
    for flow in &done.flows {
        assert_eq!(flow.stuck, None, "{san:?}: {flow:?}");
    }
    assert_eq!(done.unexplained(), 0, "{san:?}: {done:?}");
    done
}

/// Seeds that are tried: `LINERATE_SEEDS`, or so many.
fn seeds(few: u64) -> std::ops::RangeInclusive<u64> {
    1..=std::env::var("LINERATE_SEEDS").map_or(few, |seeds| seeds.parse().unwrap())
}

/// A READ of 4096 bytes comes in two frames: headers, CRC and EOF are 60 bytes of each (14 of Ethernet, 14 of FCoE, 24 of FC, 8), and
/// 24 are the wire's. FCP_RSP has 24 bytes besides.
const WIRE: u64 = 2 * (60 + 24) + 4096 + 60 + 24 + 24;

#[test]
fn one_initiator_gets_what_the_wire_has_room_for_and_no_more() {
    for (rate, length, depth) in [(10, 10, 16), (40, 100, 64), (10, 20_000, 1)] {
        let link = Link { rate: rate * 1_000_000_000, length };
        let done = run(&San { target: link, initiator: link, depth, ..san() });
        let most = link.rate as f64 / 8.0 * 4096.0 / WIRE as f64;
        let share = done.bytes_per_s() / most;
        assert!(share <= 1.0 + 1e-3, "{rate} Gb/s: {share}");
        let Flow { errors, latency, .. } = &done.flows[0];
        let least = latency.as_ref().unwrap().min.known().unwrap();
        // Command and data pass two cables each way.
        let flight = f64::from(4 * 5 * length);
        assert!(*errors == 0 && least > flight, "{least} ns");
        if depth == 1 {
            assert!(share < 0.1 && least < flight + 30_000.0, "{share}, {least} ns: the way takes the time");
        } else {
            assert!(share > 0.97, "{rate} Gb/s: {share}");
        }
    }
}

/// A run of each kind, and the hash of all frames of the one with seed 1.
fn kinds() -> [(&'static str, San, u64); 9] {
    let vlan = Some(VlanTag::new(3, false, 100).unwrap());
    let three = San { initiators: 3, depth: 32, reads: 50, vlan, time: Duration::from_millis(2), ..san() };
    let writes = San { reads: 0, ..three.clone() };
    let classes = by_class(512 << 10, three.target, true);
    let over = |buffers| San { buffers: Some(buffers), ..writes.clone() };
    let slow = Link { rate: 1_000_000_000, length: 10 };
    let ecn = [Some(Ecn { least: 40 << 10, most: 120 << 10, chance: 100_000 }); 8];
    let qcn = Some(Qcn { priorities: 1 << 3, set_point: Qcn::SET_POINT });
    let tcp = San { hosts: 2, host_tcp: true, ..over(classes) };
    let priority = Priority::new(3).unwrap();
    let fcoe = [EtherType::FCOE, EtherType::FIP].map(|of| Application {
        selector: Selector::EtherType,
        protocol: of.0,
        priority,
    });
    let dcb = Some(Settings { pfc: 1 << 3, applications: fcoe.to_vec(), ..Settings::default() });
    [
        ("neither queues nor pauses", San { vlan: None, ..three.clone() }, 0xebc3_b88e_ff20_5e84),
        ("frames lost on cables", San { loss: 2_000_000, ..three.clone() }, 0x2ed0_2c80_fc69_454d),
        ("pauses", San { lossless: true, slots: 64, ..writes.clone() }, 0x0086_876d_1089_1106),
        ("datagrams beside", San { hosts: 2, host_rate: 8_000_000_000, ..over(classes) }, 0xad39_5dc0_ae96_817a),
        ("TCP beside", tcp.clone(), 0xfacf_a2ef_cda9_2419),
        ("marks", San { buffers: Some(Buffers { ecn, ..classes }), ..tcp }, 0x459b_9355_8652_98e4),
        ("congestion points", San { slots: 64, ..over(Buffers { qcn, ..classes }) }, 0xebe6_7db7_4349_c43c),
        ("a slow target", San { target: slow, ..over(classes) }, 0x2299_ad55_20f9_7187),
        ("DCBX", San { dcb, vlan: None, ..over(classes) }, 0x5cff_316d_c3aa_f827),
    ]
}

#[test]
fn equal_seeds_have_equal_runs_and_others_have_not() {
    let mut changed = Vec::new();
    for (kind, san, hash) in kinds() {
        let mut hashes = Vec::new();
        for seed in seeds(2) {
            let [first, again] = [0, 1].map(|_| run(&San { seed, ..san.clone() }));
            assert_eq!((first.hash, first.lasted), (again.hash, again.lasted), "{kind}, {seed}");
            assert_eq!(
                (first.flows, first.stations, first.streams),
                (again.flows, again.stations, again.streams),
                "{kind}, {seed}"
            );
            assert!(!hashes.contains(&first.hash), "{kind}, {seed}: as another seed");
            hashes.push(first.hash);
        }
        if hashes[0] != hash {
            changed.push(format!("{kind}: {:#018x}", hashes[0]));
        }
    }
    // What changes what a station is sent, or when, changes them: if that was meant, here are the new ones.
    assert!(changed.is_empty(), "{changed:#?}");
}

/// Whatever the seed: WRITEs have the 60 % of the target's port that their class is given, and TCP of two hosts the 40 of the others;
/// each has all of it without the other.
#[test]
fn tcp_and_the_san_share_a_port_by_class() {
    let vlan = Some(VlanTag::new(3, false, 100).unwrap());
    let both = San { initiators: 4, reads: 0, depth: 64, hosts: 2, host_tcp: true, vlan, ..san() };
    let both = San { time: Duration::from_millis(20), warm: Duration::from_millis(20), ..both };
    let both = San { buffers: Some(by_class(2 << 20, both.target, true)), ..both };
    for seed in seeds(5) {
        let done = run(&San { seed, ..both.clone() });
        let san = done.bytes_per_s() * (WIRE + 3 * 4) as f64 / 4096.0 * 8.0;
        assert!(san / 6e9 > 0.95, "{seed}: {san} of 6 Gb/s");
        let tcp = done.streams.iter().map(|stream| stream.bytes).sum::<u64>() as f64 / 0.02 * 8.0 * 1538.0 / 1448.0;
        assert!(tcp / 4e9 > 0.95, "{seed}: {tcp} of 4 Gb/s");
        assert!(done.ports.iter().all(|port| port.classes.unwrap()[1].dropped.total() == 0), "{seed}");
    }
}

/// WRITEs of several initiators meet at the target's port.
#[test]
fn what_the_switch_has_no_room_for_is_lost_and_counted_or_waits() {
    let many = San { initiators: 4, reads: 0, depth: 64, slots: 64, luns: 1, ..san() };
    let lossy = run(&many);
    let dropped = lossy.ledger.dropped.total();
    assert!(dropped > 0 && lossy.ledger.dropped.iter().all(|(reason, n)| reason == "no_room" || n == 0));
    let lossless = run(&San { lossless: true, ..many });
    assert_eq!((lossless.ledger.dropped.total(), lossless.lost()), (0, 0));
    assert!(lossless.fairness().unwrap() > 0.999, "{:?}", lossless.flows);
    assert!(lossless.bytes_per_s() > lossy.bytes_per_s() && lossless.flows.iter().all(|flow| flow.errors == 0));
}

#[test]
fn each_frame_that_is_lost_on_purpose_is_counted() {
    let done = run(&San { loss: 1_000_000, time: Duration::from_millis(20), ..san() });
    let all: u64 = done.stations.iter().map(|ends| ends.sent).sum::<u64>() + done.ledger.sent;
    let share = done.lost() as f64 / all as f64;
    assert!(done.lost() > 5 && (0.0003..0.003).contains(&share), "{} of {all}", done.lost());
    for (ends, port) in done.stations.iter().zip(&done.ports) {
        assert_eq!(ends.sent, ends.lost[0] + port.count.received + port.count.refused.total(), "{}", ends.name);
    }
    assert_eq!(done.flows[0].errors, 0, "what was lost was sent again");
}

/// Half of the target's wire is asked for by datagrams, and all of it by WRITEs.
#[test]
fn hosts_share_the_targets_port_with_the_san() {
    let beside = San { hosts: 2, host_rate: 2_500_000_000, reads: 0, lossless: true, ..san() };
    let [done, again] = [1, 1].map(|seed| run(&San { seed, ..beside.clone() }));
    assert_eq!((done.hash, &done.streams), (again.hash, &again.streams));
    let frames = (8 * (1472 + 66)) as f64;
    for stream in &done.streams {
        let asked = beside.host_rate as f64 / frames * beside.time.as_secs_f64();
        assert!((stream.sent as f64 - asked).abs() <= 1.0 && stream.refused == 0, "{asked}: {stream:?}");
        assert_eq!((stream.received, stream.bytes), (stream.sent, stream.sent * 1472), "{stream:?}");
        // Over two cables of 10 m, and at the wire's rate.
        assert!(stream.latency.as_ref().unwrap().min.known().unwrap() >= 2.0 * (frames / 10.0 + 50.0), "{stream:?}");
    }
    let alone = run(&San { hosts: 0, ..beside.clone() });
    assert!(done.bytes_per_s() < 0.6 * alone.bytes_per_s() && alone.streams.is_empty());
    // More than there is room for: what is not received was dropped by the switch, and counted there.
    let much = run(&San { host_rate: 8_000_000_000, lossless: false, ..beside });
    assert!(much.streams.iter().any(|stream| stream.received < stream.sent));
    assert!(much.ledger.dropped.total() > 0);
}

/// Buffers in which priority 3 has a class with 60 % of each port, and the others one with 40; the first is lossless if so wanted.
fn by_class(bytes: u64, link: Link, lossless: bool) -> Buffers {
    let mut selection = [Selection::Strict; 8];
    (selection[0], selection[1]) = (Selection::Share(40), Selection::Share(60));
    let classes = ClassTable::new([0, 0, 0, 1, 0, 0, 0, 0], selection, u8::from(lossless) << 3).unwrap();
    Buffers { bytes, classes, span: Span { rate: link.rate, metres: link.length }, ..Buffers::default() }
}

/// Whatever the seed: hosts that send more than the target's port carries take all of it from a SAN without classes, and their share from one with.
#[test]
fn a_san_has_its_share_of_a_port_and_loses_nothing_beside_hosts_that_send_too_much() {
    let vlan = Some(VlanTag::new(3, false, 100).unwrap());
    let crowd = San { initiators: 4, reads: 0, depth: 64, hosts: 2, host_rate: 8_000_000_000, vlan, ..san() };
    let crowd = San { time: Duration::from_millis(20), warm: Duration::from_millis(10), ..crowd };
    let without = run(&crowd);
    let classes = San { buffers: Some(by_class(2 << 20, crowd.target, true)), ..crowd };
    for seed in seeds(1) {
        let with = run(&San { seed, ..classes.clone() });
        has_its_share(&with, &without);
    }
}

fn has_its_share(with: &Simulated, without: &Simulated) {
    assert!(without.bytes_per_s() < 0.1 * with.bytes_per_s(), "{} {}", without.bytes_per_s(), with.bytes_per_s());
    // A WRITE comes as two frames of data and a command, each with a tag; answers go the other way.
    let wire = with.bytes_per_s() * (WIRE + 3 * 4) as f64 / 4096.0 * 8.0;
    assert!((wire / 6e9 - 1.0).abs() < 0.02, "{wire} of 6 Gb/s");
    let wire = with.streams.iter().map(|stream| stream.received * 8 * (1472 + 66)).sum::<u64>() as f64 / 0.02;
    assert!((wire / 4e9 - 1.0).abs() < 0.02, "{wire} of 4 Gb/s");
    let lost =
        with.ports.iter().map(|port| port.count.priorities[3].dropped + port.classes.unwrap()[1].dropped.total());
    assert_eq!((lost.sum::<u64>(), with.lost()), (0, 0));
    assert!(with.fairness().unwrap() > 0.999, "{:?}", with.flows);
}

/// Whatever the seed: ten senders into one port, with and without priority-based flow control.
#[test]
fn ten_senders_into_one_port_lose_nothing_with_flow_control_and_something_without() {
    let vlan = Some(VlanTag::new(3, false, 100).unwrap());
    let ten = San {
        initiators: 10,
        reads: 0,
        depth: 32,
        vlan,
        warm: Duration::ZERO,
        time: Duration::from_millis(2),
        ..san()
    };
    for seed in seeds(5) {
        let [with, without] = [true, false]
            .map(|lossless| run(&San { seed, buffers: Some(by_class(1 << 20, ten.target, lossless)), ..ten.clone() }));
        assert_eq!(
            (with.ledger.dropped.total(), with.flows.iter().map(|flow| flow.errors).sum::<u64>()),
            (0, 0),
            "{seed}"
        );
        assert!(with.ports.iter().any(|port| port.pfc.requests[3] > 0), "{seed}: nobody was asked to pause");
        assert!(without.ledger.dropped.total() > 0, "{seed}");
    }
}

/// Two hosts that send what TCP lets them to the target's port: marks keep the queue short, and nothing has to be sent again.
#[test]
fn tcp_with_ecn_holds_a_shorter_queue_than_without_and_loses_nothing() {
    let hosts =
        San { hosts: 2, host_tcp: true, time: Duration::from_millis(40), warm: Duration::from_millis(10), ..san() };
    let [with, without] = [true, false].map(|marks| {
        let ecn = marks.then_some(Ecn { least: 40 << 10, most: 120 << 10, chance: 100_000 });
        let buffers = Buffers { ecn: [ecn; 8], ..by_class(512 << 10, hosts.target, false) };
        run(&San { buffers: Some(buffers), ..hosts.clone() })
    });
    let depth = |done: &Simulated| {
        let depth = done.depths.iter().find(|depth| depth.port == "target" && depth.class == 0).unwrap();
        (depth.mean, depth.most)
    };
    let marked = |done: &Simulated| done.ports[0].classes.unwrap()[0].marked;
    let resent = |done: &Simulated| done.streams.iter().map(|stream| stream.resent.unwrap()).sum::<u64>();
    let [(mean, most), (longer, longest)] = [depth(&with), depth(&without)];
    assert!(mean < longer / 2.0 && most < longest, "{mean} {most}, without {longer} {longest}");
    assert!(marked(&with) > 0 && marked(&without) == 0);
    assert_eq!((with.ledger.dropped.total(), resent(&with)), (0, 0));
    assert!(without.ledger.dropped.total() > 0 && resent(&without) > 0);
    // The link is used all the same: frames of 1514 bytes and 24 have 1448 of data.
    let bits = |done: &Simulated| done.streams.iter().map(|stream| stream.bytes).sum::<u64>() as f64 * 8.0 / 0.04;
    assert!(bits(&with) > 0.9 * 10e9 * 1448.0 / 1538.0, "{}", bits(&with));
}

/// Whatever the seed: four senders into one port are slowed down until it carries what it can, and nobody is asked to pause any more.
/// Without congestion points the queue stands where pauses are asked for.
#[test]
fn with_congestion_points_a_queue_ends_below_the_threshold_of_pauses() {
    let vlan = Some(VlanTag::new(3, false, 100).unwrap());
    let four = San { initiators: 4, reads: 0, depth: 64, slots: 64, vlan, time: Duration::from_millis(10), ..san() };
    for seed in seeds(5) {
        let [with, without] = [(true, 100), (false, 5)].map(|(on, warm)| {
            let qcn = on.then_some(Qcn { priorities: 1 << 3, set_point: Qcn::SET_POINT });
            let buffers = Buffers { qcn, ..by_class(1 << 20, four.target, true) };
            run(&San { seed, buffers: Some(buffers), warm: Duration::from_millis(warm), ..four.clone() })
        });
        let length = |done: &Simulated| {
            let depth = done.depths.iter().find(|depth| depth.port == "target" && depth.class == 1);
            depth.map_or((0.0, 0), |depth| (depth.mean, depth.most))
        };
        let ((mean, most), (stands, _)) = (length(&with), length(&without));
        assert_eq!((with.pauses, with.ledger.dropped.total()), (0, 0), "{seed}");
        assert!(without.pauses > 0 && most as f64 <= stands / 2.0, "{seed}: {mean} {most}, without {stands}");
        let share = with.bytes_per_s() / without.bytes_per_s();
        assert!(share > 0.9, "{seed}: {share}");
        assert!(with.ports[0].classes.unwrap()[1].notices > 0 && without.ports[0].classes.unwrap()[1].notices == 0);
    }
}

/// Whatever the seed: a target at a tenth of its initiators' rate has them paused, and nobody else: hosts send at their rate, all of
/// which the target's port carries.
#[test]
fn a_slow_receiver_stops_its_own_class_only() {
    let vlan = Some(VlanTag::new(3, false, 100).unwrap());
    let slow = Link { rate: 1_000_000_000, length: 10 };
    let slow =
        San { initiators: 4, reads: 0, depth: 32, hosts: 2, host_rate: 180_000_000, vlan, target: slow, ..san() };
    let slow = San { time: Duration::from_millis(20), warm: Duration::from_millis(10), ..slow };
    let slow = San { buffers: Some(by_class(256 << 10, slow.target, true)), ..slow };
    for seed in seeds(5) {
        let done = run(&San { seed, ..slow.clone() });
        assert_eq!((done.ledger.dropped.total(), done.lost()), (0, 0), "{seed}");
        for port in &done.ports {
            let [.., three, _, _, _, _] = port.pfc.requests;
            assert_eq!(
                port.pfc.requests.iter().sum::<u64>(),
                three,
                "{seed}: {} was asked for another class",
                port.name
            );
            assert_eq!(three > 0, port.name.starts_with("initiator"), "{seed}: {}", port.name);
        }
        for stream in &done.streams {
            assert!(stream.sent > 250 && stream.received == stream.sent, "{seed}: {stream:?}");
            // What is in the ring of the slow cable is before each: 256 frames.
            let most = stream.latency.as_ref().unwrap().max.known().unwrap();
            assert!(most < 256.0 * 8.0 * 2200.0 + 100_000.0, "{seed}: {most} ns");
        }
    }
}

/// Regression: a WRITE that was lost and sent again was done behind a later one of its position, whose data were then read as wrong.
#[test]
fn what_is_sent_again_is_not_written_over_what_came_later() {
    let (warm, time) = (Duration::from_millis(5), Duration::from_millis(20));
    let done = run(&San { loss: 1_000_000, reads: 0, disk: 4 << 20, warm, time, ..san() });
    assert!(done.flows[0].requests > 0 && done.lost() > 5);
    assert_eq!(done.flows[0].errors, 0);
}

#[test]
fn what_cannot_be_simulated_is_refused_in_a_line() {
    let stop = Stop::new().unwrap();
    for (san, word) in [
        (San { initiators: 0, ..san() }, "0 initiators"),
        (San { block: 700, ..san() }, "700"),
        (San { slots: 100, ..san() }, "give 128"),
    ] {
        let line = san.run(&stop).unwrap_err().to_string();
        assert!(line.contains(word) && !line.contains('\n'), "{line}");
    }
    stop.ask(0);
    assert!(matches!(san().run(&stop), Err(SimulateError::Stopped)));
}
