//! Many virtual interfaces on one adapter: the receivers of each frame, the transmit rates, and the counters.

use crate::common::{A, B, Kind, pair, payload, queues, send};
use linerate_nic::Nic;
use linerate_nic::{Control, Count, Flags, NicConfig, NicError, NicQueue, on_the_wire};
use linerate_offload::{ClassTable, Frames, Prepared, Selection, Sink};
use linerate_port::open;

fn many(interfaces: usize) -> NicConfig {
    NicConfig { interfaces, ..NicConfig::default() }
}

/// MAC address of the right adapter's interface `k`.
fn mac(k: usize) -> [u8; 6] {
    let n = u16::try_from(0x0100 + k).unwrap().to_be_bytes();
    [2, 0, 0, 0, n[0], n[1]]
}

/// A frame of minimum length to an address, in a VLAN unless `vid` is 0.
fn frame(to: [u8; 6], vid: u16) -> Vec<u8> {
    let mut frame = [&to[..], &A].concat();
    if vid != 0 {
        frame.extend([0x81, 0]);
        frame.extend(vid.to_be_bytes());
    }
    frame.extend([0x88, 0xb5]);
    frame.resize(60, 7);
    frame
}

/// Interfaces that receive a frame; each must get it exactly once.
fn takers(a: &mut NicQueue, b: &mut NicQueue, frame: &[u8]) -> Vec<usize> {
    send(a, 0, frame, &[], None);
    let mut takers = Vec::new();
    assert!(b.rx.poll(0) < 1000);
    for vi in b.rx.ready().collect::<Vec<_>>() {
        assert_eq!(
            b.rx.receive(vi, usize::MAX, |got| assert_eq!(
                got.head().len() + if got.meta().vlan.is_some() { 4 } else { 0 },
                60
            )),
            1
        );
        takers.push(vi);
    }
    takers
}

#[test]
fn each_interface_gets_what_its_filters_take() {
    let mut nics = pair("", &many(1), &many(4));
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[1].control();
    let group = [0x33, 0x33, 0, 0, 0, 1];
    let mut asks = |to, vid| takers(&mut a, &mut b, &frame(to, vid));
    for k in 0..4 {
        assert_eq!(control.settings(k).unwrap().mac, mac(k));
        assert_eq!(asks(mac(k), 0), [k]);
    }
    assert_eq!(asks([0xff; 6], 0), [0, 1, 2, 3]);
    assert!(asks(mac(9), 0).is_empty());
    assert!(asks(group, 0).is_empty());
    control.change(1, |vi| vi.addresses = vec![group, mac(9)]).unwrap();
    assert_eq!(asks(group, 0), [1]);
    assert_eq!(asks(mac(9), 0), [1]);
    control.change(2, |vi| vi.all_multicast = true).unwrap();
    assert_eq!(asks(group, 0), [1, 2]);
    assert_eq!(asks(mac(8), 0), [] as [usize; 0]);
    control.change(3, |vi| vi.promiscuous = true).unwrap();
    assert_eq!(asks(mac(8), 0), [3]);
    assert_eq!(asks(mac(0), 0), [0, 3]);
    // VLANs: the filter is on and passes none, at first.
    assert!(asks(mac(0), 77).is_empty());
    control.change(0, |vi| vi.vlans = vec![77]).unwrap();
    assert_eq!(asks(mac(0), 77), [0]);
    control.set_flag(3, "-vlanhwfilter").unwrap();
    assert_eq!(asks(mac(0), 77), [0, 3]);
    assert_eq!(asks(mac(0), 78), [3]);
    control.change(3, |vi| vi.up = false).unwrap();
    assert_eq!(asks([0xff; 6], 0), [0, 1, 2]);
    ledger(&nics, 4);
}

/// Checks that every frame of the port is counted once.
fn ledger(nics: &[Nic; 2], interfaces: usize) {
    let control = nics[1].control();
    let ledger = control.ledger();
    let arrived: u64 = (0..interfaces).map(|vi| control.counters(vi).unwrap().arrived()).sum();
    assert_eq!(ledger.frames + ledger.copies, arrived + ledger.no_interface + ledger.too_short + ledger.spoiled);
    let left = nics[0].control();
    let sent: u64 = (0..left.interfaces()).map(|vi| left.counters(vi).unwrap().of(Count::TxFrames)).sum();
    assert_eq!(ledger.frames, sent);
}

/// A random number generator, the same in each run (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n as u64).unwrap()
    }
}

#[test]
fn a_storm_over_128_interfaces_and_changing_filters_goes_where_a_plain_model_says() {
    let mut nics = pair("", &many(1), &many(128));
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[1].control();
    let mut numbers = Numbers(88);
    let groups: Vec<[u8; 6]> = (0..8).map(|k| [1, 0, 0x5e, 0, 0, k]).collect();
    let mut filtered = 0;
    for _ in 0..400 {
        let vi = numbers.below(128);
        let (what, other) = (numbers.below(7), numbers.below(200));
        control
            .change(vi, |vi| match what {
                0 => vi.promiscuous ^= numbers.below(4) == 0 || vi.promiscuous,
                1 => vi.all_multicast ^= true,
                2 => vi.addresses = vec![groups[other % 8], mac(200 + other)],
                3 => vi.addresses.clear(),
                4 => vi.vlans = vec![u16::try_from(1 + other % 4).unwrap()],
                5 => vi.up ^= true,
                _ => vi.flags.apply(if other % 2 == 0 { "-vlanhwfilter" } else { "vlanhwfilter" }).map(|_| ()).unwrap(),
            })
            .unwrap();
        let mut wanted = vec![0; 128];
        for _ in 0..20 {
            let to = match numbers.below(4) {
                0 => mac(numbers.below(128)),
                1 => mac(200 + numbers.below(200)),
                2 => groups[numbers.below(8)],
                _ => [[0xff; 6], mac(150)][numbers.below(2)],
            };
            let vid = u16::try_from(numbers.below(6)).unwrap();
            assert!(a.tx.send(0, &frame(to, vid), &[], None));
            for (k, wanted) in wanted.iter_mut().enumerate() {
                let s = control.settings(k).unwrap();
                let group = to[0] & 1 == 1;
                let by_address =
                    s.mac == to || s.addresses.contains(&to) || to == [0xff; 6] || (group && s.all_multicast);
                let by_vlan = vid == 0 || !s.flags.enabled().contains(Flags::VLAN_HWFILTER) || s.vlans.contains(&vid);
                let addressed = s.up && (s.promiscuous || by_address);
                filtered += u64::from(addressed && !by_vlan);
                *wanted += usize::from(addressed && by_vlan);
            }
        }
        a.tx.sync(0);
        b.rx.poll(0);
        for (vi, wanted) in wanted.into_iter().enumerate() {
            assert_eq!(b.rx.receive(vi, usize::MAX, |_| ()), wanted, "{vi}");
        }
    }
    ledger(&nics, 128);
    let vlan: u64 = (0..128).map(|vi| control.counters(vi).unwrap().of(Count::RxVlan)).sum();
    assert_eq!(vlan, filtered);
    assert_eq!(control.ledger().frames, 8000);
}

#[test]
fn what_is_not_read_before_the_next_poll_is_counted() {
    let mut nics = pair("", &many(1), &many(2));
    let [mut a, mut b] = queues(&mut nics);
    for k in [0, 1, 1, 1] {
        send(&mut a, 0, &frame(mac(k), 0), &[], None);
    }
    assert_eq!(b.rx.poll(0), 4);
    assert_eq!(b.rx.receive(1, 1, |_| ()), 1);
    assert_eq!(b.rx.ready().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(b.rx.poll(0), 0);
    let control = nics[1].control();
    let unread = [0, 1].map(|vi| control.counters(vi).unwrap().of(Count::RxUnread));
    assert_eq!(unread, [1, 2]);
    ledger(&nics, 2);
}

#[test]
fn a_shared_frame_is_shown_to_each_as_its_own_flags_say() {
    let mut nics = pair("", &many(1), &many(3));
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[1].control();
    for vi in 0..3 {
        control.change(vi, |vi| vi.vlans = vec![5]).unwrap();
    }
    control.set_flag(1, "-vlanhwtag").unwrap();
    let tagged = frame([0xff; 6], 5);
    send(&mut a, 0, &tagged, &[], None);
    b.rx.poll(0);
    for (vi, tag) in [(0, Some(5)), (1, None), (2, Some(5)), (1, None)] {
        b.rx.receive(vi, 1, |got| {
            assert_eq!(got.meta().vlan, tag, "{vi}");
            let untagged = [&tagged[..12], &tagged[16..]].concat();
            assert_eq!(got.head(), if tag.is_some() { &untagged } else { &tagged }, "{vi}");
        });
    }
}

#[test]
fn a_capped_interface_sends_its_rate_on_the_wire_and_no_more() {
    let mut nic = Nic::new(open("null:").unwrap(), &many(3)).unwrap();
    let mut queue = nic.take(0).unwrap();
    let control = nic.control();
    control.set_parameter(0, "tx.rate", "1G").unwrap();
    control.set_parameter(1, "tx.rate", "10M").unwrap();
    let sizes = [60, 1514, 60];
    let mut wire = [0; 3];
    // A tenth of a second, in steps of 20 us.
    for now in (0..100_000_000).step_by(20_000) {
        queue.tx.sync(now);
        for vi in 0..3 {
            let frame = vec![1; sizes[vi]];
            for _ in 0..40 {
                if !queue.tx.send(vi, &frame, &[], None) {
                    break;
                }
                wire[vi] += on_the_wire(sizes[vi]);
            }
        }
    }
    for (vi, rate) in [(0, 1_000_000_000), (1, 10_000_000)] {
        let bits = wire[vi] * 8;
        let burst = (rate / 100).min(8 * (256 << 10)) + 3 * 8 * on_the_wire(1514);
        assert!(bits <= rate / 10 + burst, "{vi}: {bits} bits in a tenth of a second");
        assert!(bits + burst >= rate / 10, "{vi}: {bits} bits in a tenth of a second");
        assert!(control.counters(vi).unwrap().of(Count::TxCapped) > 0);
    }
    assert_eq!(wire[2], 5000 * 40 * 84, "the third has no cap");
    // An interface that must wait may send at the announced time.
    while queue.tx.send(1, &[1; 1514], &[], None) {}
    let due = queue.tx.due(1).unwrap();
    assert!(queue.tx.due(2).is_none() && due < 110_000_000, "{due}");
    queue.tx.sync(due - 1);
    assert!(!queue.tx.send(1, &[1; 1514], &[], None));
    queue.tx.sync(due);
    assert!(queue.tx.due(1).is_none() && queue.tx.send(1, &[1; 1514], &[], None));
    control.set_parameter(0, "tx.rate", "0").unwrap();
    queue.tx.sync(110_000_000);
    assert!((0..1000).all(|_| queue.tx.send(0, &[1; 60], &[], None)), "the cap is gone");
}

/// Bytes that the left adapter's interfaces send over a small ring when all always have frames of these sizes.
fn flood<const N: usize>(prepare: impl FnOnce(&Control), sizes: [usize; N]) -> [u64; N] {
    let mut nics = pair(",slots=64", &many(N), &many(1));
    let [mut a, mut b] = queues(&mut nics);
    nics[1].control().change(0, |vi| vi.promiscuous = true).unwrap();
    prepare(&nics[0].control());
    let frames: Vec<_> = sizes.iter().map(|size| vec![3; *size]).collect();
    for round in 0..20_000u64 {
        a.tx.sync(round * 1000);
        for (vi, frame) in frames.iter().enumerate() {
            while a.tx.send(vi, frame, &[], None) {}
        }
        a.tx.sync(round * 1000);
        b.rx.poll(0);
        b.rx.receive(0, usize::MAX, |_| ());
    }
    std::array::from_fn(|vi| nics[0].control().counters(vi).unwrap().of(Count::TxBytes))
}

#[test]
fn the_link_is_shared_by_weight_when_all_want_it() {
    let weights = [1, 2, 4, 1];
    let give = |control: &Control| {
        for (vi, weight) in weights.iter().enumerate() {
            control.set_parameter(vi, "tx.weight", &weight.to_string()).unwrap();
        }
    };
    let bytes = flood(give, [60, 1514, 512, 1514]);
    let total: u64 = bytes.iter().sum();
    for (vi, weight) in weights.iter().enumerate() {
        let wanted = total * weight / 8;
        assert!(bytes[vi].abs_diff(wanted) < total / 100, "{vi}: {} of {wanted}", bytes[vi]);
    }
}

/// An interface's priority chooses its class, whatever its frames' tags say.
#[test]
fn the_link_is_shared_by_class_and_then_by_weight() {
    // With three classes, priorities 0 to 3 are in class 0, 4 and 5 in class 1, 6 and 7 in class 2.
    let interfaces = [(0, 4), (3, 1), (5, 1), (6, 2), (7, 1)];
    let give = |control: &Control| {
        control.set_parameter(0, "tx.class_weights", "1,3,4").unwrap();
        for (vi, (priority, weight)) in interfaces.iter().enumerate() {
            control.set_parameter(vi, "tx.priority", &format!("{priority}")).unwrap();
            control.change(vi, |vi| vi.weight = *weight).unwrap();
        }
    };
    let bytes = flood(give, [1514, 60, 512, 1514, 60]);
    let total: u64 = bytes.iter().sum();
    for (vi, (share, of)) in [(4, 40), (1, 40), (3, 8), (8, 24), (4, 24)].into_iter().enumerate() {
        let wanted = total * share / of;
        assert!(bytes[vi].abs_diff(wanted) < total / 100, "{vi}: {} of {wanted}", bytes[vi]);
    }
    // Tags of priority 7 in all frames of class 0: nothing changes.
    let mut nics = pair(",slots=64", &many(2), &many(1));
    let [mut a, mut b] = queues(&mut nics);
    nics[0].control().set_parameter(1, "tx.class_weights", "1,9").unwrap();
    nics[0].control().set_parameter(1, "tx.priority", "4").unwrap();
    let frames = [frame(mac(0), 0xe005), frame(mac(0), 0)];
    for round in 0..20_000u64 {
        a.tx.sync(round * 1000);
        for (vi, frame) in frames.iter().enumerate() {
            while a.tx.send(vi, frame, &[], None) {}
        }
        a.tx.sync(round * 1000);
        b.rx.poll(0);
    }
    let [tagged, plain] = [0, 1].map(|vi| nics[0].control().counters(vi).unwrap().of(Count::TxBytes));
    assert!(plain.abs_diff(9 * tagged) < (plain + tagged) / 20, "{tagged} and {plain}");
}

/// Strict classes first, then shares by bytes, of super-frames of 64 KiB and frames of 60 bytes; a table that is changed is obeyed
/// from the next sync on, and who has nothing to send leaves its share to the others.
#[test]
fn strict_classes_go_first_and_others_have_their_shares_whatever_the_frames() {
    let mut nics = pair(",slots=64", &many(3), &many(1));
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[0].control();
    nics[1].control().change(0, |vi| vi.promiscuous = true).unwrap();
    for (vi, priority) in [(0, "0"), (1, "1"), (2, "7")] {
        control.set_parameter(vi, "tx.priority", priority).unwrap();
    }
    let whole = Kind::Tcp4.frame(B, &payload(1000), 1);
    let headers = Prepared::new(&whole[..Kind::Tcp4.shape().headers]).unwrap();
    let (body, small) = (payload(65_000), [1; 60]);
    let bytes = || [0, 1, 2].map(|vi| control.counters(vi).unwrap().of(Count::TxBytes));
    let (mut now, mut before) = (0, [0; 3]);
    for (shares, active) in
        [([70, 30], [true; 3]), ([20, 80], [true; 3]), ([20, 80], [true, false, true]), ([90, 10], [false, true, true])]
    {
        let mut selection = [Selection::Strict; 8];
        (selection[0], selection[1]) = (Selection::Share(shares[0]), Selection::Share(shares[1]));
        control.set_classes(ClassTable::new([0, 1, 2, 2, 2, 2, 2, 7], selection, 0).unwrap());
        let mut urgent = 0;
        for _ in 0..10_000 {
            now += 1000;
            a.tx.sync(now);
            urgent += 1;
            for _ in 0..2 {
                while active[0] && a.tx.send_prepared(0, &headers, &[&body], 1460) {}
                while active[1] && a.tx.send(1, &small, &[], None) {}
                while urgent > 0 && a.tx.send(2, &[2; 1000], &[], None) {
                    urgent -= 1;
                }
            }
            a.tx.sync(now);
            for _ in 0..2 {
                b.rx.poll(now);
                b.rx.receive(0, usize::MAX, |_| ());
            }
        }
        let all = bytes();
        let sent: [u64; 3] = std::array::from_fn(|vi| all[vi] - before[vi]);
        before = all;
        assert!(sent[2] >= 1000 * 9_990, "{shares:?}: the strict one waits for nobody: {sent:?}");
        let both = sent[0] + sent[1];
        let wanted =
            if active[0] && active[1] { both * u64::from(shares[0]) / 100 } else { both * u64::from(active[0]) };
        assert!(sent[0].abs_diff(wanted) <= both / 100 + 2 * 65_000, "{shares:?} {active:?}: {sent:?}, not {wanted}");
        let least = if active[0] { 65_000 * 10_000 / 2 } else { 60 * 10_000 * 50 };
        assert!(both >= least || active == [true; 3], "{active:?}: nobody waits for who has nothing: {sent:?}");
    }
}

/// A protocol of the link itself gets through where its interface's class does not.
#[test]
fn what_is_sent_first_waits_for_no_class() {
    let mut nic = Nic::new(open("null:").unwrap(), &many(2)).unwrap();
    let mut queue = nic.take(0).unwrap();
    let control = nic.control();
    control.set_parameter(0, "tx.class_weights", "rest,strict").unwrap();
    control.set_parameter(1, "tx.priority", "7").unwrap();
    queue.tx.sync(0);
    while queue.tx.send(1, &[1; 60], &[], None) {}
    assert!(!queue.tx.send_first(0, &[1; 60]), "there is no room");
    queue.tx.sync(1);
    assert!(!queue.tx.send(0, &[1; 60], &[], None), "the strict class waits");
    assert!(queue.tx.send_first(0, &[1; 60]));
    queue.tx.sync(2);
    assert_eq!(control.counters(0).unwrap().of(Count::TxFrames), 1);
}

/// An interface that found no room, and then has nothing more to send, is waited for a moment only.
#[test]
fn an_interface_that_fell_silent_holds_up_nobody() {
    let mut nics = pair(",slots=64", &many(2), &many(1));
    let [mut a, mut b] = queues(&mut nics);
    nics[1].control().change(0, |vi| vi.promiscuous = true).unwrap();
    while a.tx.send(0, &[1; 60], &[], None) {}
    for _ in 0..3 {
        a.tx.sync(1000);
        b.rx.poll(0);
        b.rx.receive(0, usize::MAX, |_| ());
        b.rx.poll(0);
    }
    while a.tx.send(1, &[1; 1514], &[], None) {}
    for _ in 0..3 {
        a.tx.sync(1000);
        b.rx.poll(0);
        b.rx.receive(0, usize::MAX, |_| ());
        b.rx.poll(0);
    }
    assert!(!a.tx.is_due() && a.tx.free() > 0, "all is sent");
    assert!(!a.tx.send(1, &[1; 1514], &[], None), "its turn is over while the other one waits");
    let sent = [300_000, 600_000, 900_000].map(|now| {
        if a.tx.is_due() {
            a.tx.sync(now);
        }
        a.tx.send(1, &[1; 1514], &[], None)
    });
    assert!(sent[2], "{sent:?}");
}

/// Frames that need more slots than are free wait like those that find none.
#[test]
fn an_interface_that_needs_several_slots_gets_its_turn() {
    struct Long(Vec<u8>);
    impl Frames for Long {
        fn next_len(&self) -> Option<usize> {
            Some(self.0.len())
        }
        fn write_next(&mut self, to: &mut (impl Sink + ?Sized)) -> Option<usize> {
            (self.0.len() <= to.room()).then(|| to.put(0, &self.0))?;
            Some(self.0.len())
        }
    }
    let mut nics = pair(",slots=64,buf=512", &many(2), &many(1));
    let [mut a, mut b] = queues(&mut nics);
    nics[1].control().change(0, |vi| vi.promiscuous = true).unwrap();
    let slots = a.tx.port().ring.usable();
    let mut long = Long(vec![1; slots + 100]);
    assert!(long.0.len() < 1500);
    for _ in 0..62 {
        assert!(a.tx.send(1, &[1; 60], &[], None));
    }
    assert_eq!((a.tx.free(), a.tx.send_all(0, &mut long)), (1, Ok(0)));
    let mut bytes = 62 * 60;
    for _ in 0..10 {
        a.tx.sync(1000);
        b.rx.poll(0);
        b.rx.receive(0, usize::MAX, |_| ());
        b.rx.poll(0);
        a.tx.sync(1000);
        while a.tx.send(1, &[1; 400], &[], None) {
            bytes += 400;
        }
    }
    assert!(bytes < 4 * 1024 + 400, "{bytes}: the other one waits, and has credit left");
    assert!(a.tx.send_all(0, &mut long).unwrap() > 0);
}

#[test]
fn settings_that_cannot_be_are_refused_in_one_line_and_change_nothing() {
    let nic = Nic::new(open("null:").unwrap(), &many(2)).unwrap();
    let control = nic.control();
    let before = control.generation();
    for (name, value, word) in [
        ("mtu", "67", "68 to 1500"),
        ("mtu", "many", "mtu=many"),
        ("mac", "01:00:00:00:00:00", "group"),
        ("mac", "02:00", "mac=02:00"),
        ("tx.weight", "0", "1 to 1000"),
        ("tx.priority", "8", "0 to 7"),
        ("tx.class_weights", "1,0", "1 to 8 numbers of 1 to 1000"),
        ("tx.class_weights", "1,1,1,1,1,1,1,1,1", "1 to 8"),
        ("tx.rate", "999", "at least 1000"),
        ("tx.ring_size", "64", "slots="),
        ("colour", "red", "no such parameter; those that can be set are"),
        ("rx.rss_queue", "2", "did you mean rx.rss_queues?"),
        ("tso", "off", "it is a flag: write tso, or -tso"),
        ("rx.rss_queues", "129", "1 to 128"),
        ("rx.rss_symmetric", "1", "rx.rss_queues"),
        ("rx.rss_types", "fcoe", "rx.rss_queues"),
        ("up", "yes", "1 or 0"),
    ] {
        let line = control.set_parameter(0, name, value).unwrap_err().to_string();
        assert!(line.contains(word) && line.contains(';') && !line.contains('\n'), "{name}={value}: {line}");
    }
    let own = control.settings(0).unwrap().mac;
    assert!(matches!(control.change(1, |vi| vi.mac = own), Err(NicError::MacTaken { other: 0, .. })));
    assert!(matches!(control.change(2, |vi| vi.up = false), Err(NicError::NoInterface(2, 2))));
    assert!(control.change(0, |vi| vi.vlans = vec![4095]).is_err());
    assert!(control.change(0, |vi| vi.addresses = vec![[1; 6]; 33]).is_err());
    assert!(control.set_flag(0, "-vlanhwtso").is_err());
    assert_eq!(control.generation(), before, "nothing was changed");
    for interfaces in [0, 129] {
        assert!(Nic::new(open("null:").unwrap(), &many(interfaces)).is_err());
    }
}

#[test]
fn parameters_stand_beside_their_defaults() {
    let nic = Nic::new(open("null:,slots=256,mtu=9000").unwrap(), &many(1)).unwrap();
    let control = nic.control();
    let named = |name: &str| {
        let all = control.parameters(0).unwrap();
        all.into_iter().find(|(row, _)| row.name == name).map(|(row, actual)| (row.default, actual)).unwrap()
    };
    assert_eq!(named("tx.ring_size"), ("1024", "256".into()));
    assert_eq!(named("mtu").1, "9000");
    assert_eq!(named("rx.rss_types"), ("all", "none".into()), "one queue needs no hash");
    for (name, value) in [
        ("mtu", "1500"),
        ("mac", "02:00:00:00:00:09"),
        ("promisc", "1"),
        ("tx.rate", "5M"),
        ("tx.rate", "64k"),
        ("tx.rate", "2G"),
        ("tx.priority", "7"),
        ("tx.class_weights", "1,20,300"),
        ("tx.class_weights", "1"),
        ("rx.rss_queues", "2"),
        ("rx.rss_types", "all"),
        ("rx.rss_types", "none"),
        ("rx.rss_types", "tcpv4+fcoe"),
    ] {
        control.set_parameter(0, name, value).unwrap();
        let shown = match value {
            "5M" => "5000000",
            "64k" => "64000",
            "2G" => "2000000000",
            as_given => as_given,
        };
        assert_eq!(named(name).1, shown);
    }
    control.set_parameter(0, "rx.rss_queues", "4").unwrap();
    assert_eq!(named("rx.rss_types").1, "tcpv4+fcoe", "it stays with another number of queues");
    let line = control.set_parameter(0, "rx.rss_types", "tcpv4+arp").unwrap_err().to_string();
    assert!(line.contains("udpv6 and fcoe") && !line.contains('\n'), "{line}");
}

#[test]
fn settings_change_while_two_queues_run_on_their_own_threads() {
    let mut nics = pair(",queues=2", &many(2), &many(2));
    let control = [nics[0].control(), nics[1].control()];
    let each = 20_000u64;
    std::thread::scope(|scope| {
        for q in 0..2 {
            let [mut a, mut b] = nics.each_mut().map(|nic| nic.take(q).unwrap());
            let control = &control;
            scope.spawn(move || {
                let frame = Kind::Udp4.frame(mac(1), &payload(20), 1);
                let mut sent = 0;
                while sent < each {
                    while sent < each && a.tx.send(q, &frame, &[], None) {
                        sent += 1;
                    }
                    a.tx.sync(sent);
                    b.rx.poll(sent);
                    for vi in b.rx.ready().collect::<Vec<_>>() {
                        b.rx.receive(vi, usize::MAX, |_| ());
                    }
                    if sent % 7 == 0 {
                        control[1].change(0, |vi| vi.promiscuous ^= true).unwrap();
                        control[0].change(q, |vi| vi.weight = vi.weight % 9 + 1).unwrap();
                    }
                }
                while {
                    a.tx.sync(sent);
                    b.rx.poll(sent)
                } > 0
                {
                    for vi in b.rx.ready().collect::<Vec<_>>() {
                        b.rx.receive(vi, usize::MAX, |_| ());
                    }
                }
            });
        }
    });
    assert_eq!(control[0].counters(0).unwrap().of(Count::TxFrames), each);
    assert_eq!(control[1].counters(1).unwrap().of(Count::RxFrames), 2 * each);
    ledger(&nics, 2);
}
