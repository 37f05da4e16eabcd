//! Arbitrary frames and requests, sent and received: the adapter does not panic, and every frame is counted once.

use crate::common::{B, KINDS, pair, payload, queues};
use linerate_nic::{Control, Count, NicConfig};
use linerate_offload::{Action, Match, Rule, Steering};
use linerate_port::open_all;
use linerate_ring::{Meta, flags};
use std::sync::Arc;

/// A random number generator, the same in each run (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from((self.next() >> 20) % n as u64).unwrap()
    }

    /// A frame that is nearly valid, or not at all.
    fn frame(&mut self) -> Vec<u8> {
        let kind = KINDS[self.below(4)];
        let len = [0, 1, 7, 100, 1400][self.below(5)];
        let mut frame = kind.frame([B, [0xff; 6], [9; 6]][self.below(3)], &payload(len), 7);
        if self.below(3) == 0 {
            let tci = self.next().to_be_bytes();
            frame.splice(12..12, [0x81, 0, tci[0] & 0x0f, tci[1] & 3]);
        }
        for _ in 0..self.below(4) {
            let at = self.below(frame.len().min(80));
            frame[at] = self.next().to_be_bytes()[0];
        }
        if self.below(4) == 0 {
            frame.truncate(self.below(frame.len()));
        }
        frame
    }

    fn meta(&mut self) -> Meta {
        let [a, b] = [self.next(), self.next()];
        let mut meta = Meta::from_words([a, b]);
        if self.below(2) == 0 {
            let right = KINDS[self.below(4)].shape().meta;
            let gso_type = [0, 1, 4, 5, 3][self.below(5)];
            meta = Meta { gso_type, gso_size: meta.gso_size % 2000, vlan_tci: meta.vlan_tci & 3, ..right };
        }
        meta
    }
}

fn everything_on(control: &Control) {
    let mut steering = Steering::new(4);
    let fields = Match { dst_port: Some(2000), ..Match::default() };
    steering.insert(Rule { location: 1, fields, action: Action::Queue(3) }).unwrap();
    for vi in 0..control.interfaces() {
        control.set_parameter(vi, "rx.rss_queues", "4").unwrap();
        control.change(vi, |vi| vi.steering = Some(Arc::new(steering.clone()))).unwrap();
        control.change(vi, |vi| vi.vlans = vec![1, 2]).unwrap();
    }
}

#[test]
fn nonsense_to_send_is_sent_or_counted() {
    for options in ["", ",buf=512"] {
        let mut nics = pair(options, &NicConfig::default(), &NicConfig { interfaces: 2, ..NicConfig::default() });
        let [mut a, mut b] = queues(&mut nics);
        everything_on(&nics[1].control());
        let mut numbers = Numbers(4711);
        let mut given = 0;
        for _ in 0..20_000 {
            let frame = numbers.frame();
            let meta = (numbers.below(4) > 0).then(|| numbers.meta());
            let cut = numbers.below(frame.len() + 1);
            given += u64::from(a.tx.send(0, &frame[..cut], &[&frame[cut..]], meta));
            a.tx.sync(0);
            b.rx.poll(0);
            for vi in 0..2 {
                b.rx.receive(vi, usize::MAX, |frame| {
                    let len = frame.len();
                    assert_eq!(frame.to_vec().len(), len);
                });
            }
        }
        let sent = nics[0].control().counters(0).unwrap();
        // A segmented frame was given as one.
        assert_eq!(sent.given() - sent.of(Count::TxSegments) + sent.of(Count::TxSegmented), given);
        assert!(sent.of(Count::TxSegmented) > 0 && sent.of(Count::TxBadRequest) > 0, "{sent:?}");
        explained(&nics[1].control(), sent.of(Count::TxFrames));
    }
}

fn explained(control: &Control, frames: u64) {
    let ledger = control.ledger();
    assert_eq!(ledger.frames, frames);
    let arrived: u64 = (0..control.interfaces()).map(|vi| control.counters(vi).unwrap().arrived()).sum();
    assert_eq!(ledger.frames + ledger.copies, arrived + ledger.no_interface + ledger.too_short + ledger.spoiled);
}

#[test]
fn nonsense_that_comes_is_handed_over_or_counted() {
    let id = format!("hostile{}", std::process::id());
    let ports = open_all(&[format!("cable:{id}{{1,buf=512"), format!("cable:{id}}}1,buf=512")]).unwrap();
    let [mut a, b] = <[_; 2]>::try_from(ports).ok().unwrap();
    let mut tx = a.take_tx(0).unwrap();
    let config = NicConfig { interfaces: 3, mac: Some(B), ..NicConfig::default() };
    let mut nic = linerate_nic::Nic::new(b, &config).unwrap();
    let mut queue = nic.take(0).unwrap();
    everything_on(&nic.control());
    let mut numbers = Numbers(99);
    let mut frames = 0;
    for round in 0..20_000 {
        let frame = numbers.frame();
        // In slots of any length, some of them empty; a hostile chain may be longer than any frame.
        let most = if round % 100 == 0 { 80 } else { 4 };
        let parts = 1 + numbers.below(most);
        let mut batch = tx.ring.reserve(100);
        let mut at = 0;
        for i in 0..parts {
            let len = if i + 1 == parts { frame.len() - at } else { numbers.below(frame.len() - at + 1) }.min(256);
            let slot = u32::try_from(i).unwrap();
            assert!(batch.put(slot, &frame[at..at + len]));
            batch.set(slot, len, if i + 1 < parts { flags::MOREFRAG } else { 0 });
            at += len;
        }
        if numbers.below(2) == 0 {
            batch.set_meta(0, numbers.meta());
        }
        // One slot without bytes is no frame.
        frames += u64::from(parts > 1 || at > 0);
        batch.commit(u32::try_from(parts).unwrap());
        tx.sync();
        queue.rx.poll(0);
        for vi in queue.rx.ready().collect::<Vec<_>>() {
            queue.rx.receive(vi, usize::MAX, |frame| drop(frame.to_vec()));
        }
    }
    let lost = tx.counters().dropped.total();
    explained(&nic.control(), frames - lost);
    assert!(nic.control().ledger().too_short > 0);
}

/// A VLAN tag would be inserted into the bytes that such a checksum covers.
#[test]
fn a_checksum_over_the_ethernet_header_is_no_request() {
    let mut nics = pair("", &NicConfig::default(), &NicConfig::default());
    let [mut a, _b] = queues(&mut nics);
    let (frame, meta) = (crate::common::Kind::Udp4.frame(B, &payload(100), 7), crate::common::Kind::Udp4.shape().meta);
    for (csum_start, vlan_tci) in [(0, 0), (13, 0), (3, 5), (12, 5)] {
        assert!(a.tx.send(0, &frame, &[], Some(Meta { csum_start, vlan_tci, ..meta })));
    }
    let count = nics[0].control().counters(0).unwrap();
    assert_eq!((count.of(Count::TxBadRequest), count.of(Count::TxFrames)), (4, 0));
}
