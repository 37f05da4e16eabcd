//! Messages of congestion points at an adapter: who sends slower, and what is counted.

use crate::common::{A, B, pair, queues, send};
use linerate_nic::{NicConfig, NicQueue, RxLedger};
use linerate_wire::{Cnm, EtherType, MacAddr};

const SECOND: u64 = 1_000_000_000;

/// A message to a station about a frame that began with this.
fn message(to: [u8; 6], flow: u16, feedback: u8, sampled: &[u8]) -> Vec<u8> {
    let cnm = Cnm {
        version: 0,
        feedback,
        cpid: [7; 8],
        q_offset: 100,
        q_delta: 10,
        priority: 3,
        dst: MacAddr(A),
        msdu_len: u16::try_from(sampled.len()).unwrap(),
    };
    let front = [&to[..], &A, &[0x81, 0, 0xc0, 5, 0x22, 0xe9], &flow.to_be_bytes(), &[0x22, 0xe7]].concat();
    [&front[..], &cnm.bytes(), sampled].concat()
}

/// Frames of 1500 bytes that an interface may send in 10 ms, 1000 at most, to an end that takes them all.
fn sends(from: &mut NicQueue, to: &mut NicQueue, vi: usize, begin: u64) -> usize {
    let frame = [&A[..], &B, &[0x88, 0xb5], &[0x5a; 1486]].concat();
    let mut n = 0;
    for now in (begin..begin + SECOND / 100).step_by(10_000) {
        from.tx.sync(now);
        while n < 1000 && from.tx.send(vi, &frame, &[], None) {
            n += 1;
        }
        from.tx.sync(now);
        to.rx.poll(now);
    }
    n
}

#[test]
fn who_is_told_to_slow_down_does_and_nobody_else() {
    let one = NicConfig::default();
    let mut nics = pair("", &one, &NicConfig { interfaces: 2, ..one.clone() });
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[1].control();
    // Two protocols of one address: what was sampled says whose frame it was.
    control
        .change(1, |vi| {
            vi.mac = B;
            vi.ethertypes = vec![EtherType::FCOE];
        })
        .unwrap();
    control.react(Some(10 * SECOND));
    assert_eq!([0, 1].map(|vi| sends(&mut b, &mut a, vi, vi as u64 * SECOND / 2)), [1000; 2]);
    for _ in 0..20 {
        send(&mut a, 0, &message(B, 0, 63, &[0x89, 6, 1]), &[], None);
    }
    assert_eq!(b.rx.poll(SECOND), 0, "nobody is shown it");
    // 5 Mb/s are 4 frames of 1524 bytes in 10 ms, and one may be before its time.
    let slow = sends(&mut b, &mut a, 1, SECOND);
    assert!((4..=6).contains(&slow), "{slow}");
    assert_eq!(sends(&mut b, &mut a, 0, SECOND + SECOND / 50), 1000, "it was not meant");
    // It rises with time.
    let more = sends(&mut b, &mut a, 1, 2 * SECOND);
    assert!(more > slow + 50, "{more}");
    assert_eq!(sends(&mut b, &mut a, 1, 60 * SECOND), 1000);
    let wanted = RxLedger { frames: 20, cnm: 20, ..RxLedger::default() };
    assert_eq!(control.ledger(), wanted);
}

#[test]
fn what_is_damaged_or_about_no_flow_slows_nobody_down() {
    let mut nics = pair("", &NicConfig::default(), &NicConfig::default());
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[1].control();
    control.react(Some(10 * SECOND));
    let good = message(B, 0, 63, &[0x88, 0xb5]);
    let mut long = good.clone();
    long[44..46].copy_from_slice(&65_u16.to_be_bytes());
    for bad in [&good[..good.len() - 1], &good[..30], &long[..]] {
        send(&mut a, 0, bad, &[], None);
    }
    for none in
        [message(B, 1, 63, &[0x88, 0xb5]), message([2, 0, 0, 0, 0, 9], 0, 63, &[0x88, 0xb5]), message(B, 0, 63, &[])]
    {
        send(&mut a, 0, &none, &[], None);
    }
    send(&mut a, 0, &message(B, 0, 0, &[0x88, 0xb5]), &[], None);
    assert_eq!(b.rx.poll(0), 0);
    assert_eq!(sends(&mut b, &mut a, 0, 0), 1000);
    let wanted = RxLedger { frames: 7, cnm: 1, cnm_damaged: 3, cnm_no_flow: 3, ..RxLedger::default() };
    assert_eq!(control.ledger(), wanted);
    // Who hears none gets them as other frames.
    control.react(None);
    control.change(0, |vi| vi.promiscuous = true).unwrap();
    control.set_flag(0, "-vlanhwfilter").unwrap();
    send(&mut a, 0, &good, &[], None);
    assert_eq!(b.rx.poll(0), 1);
    assert_eq!(sends(&mut b, &mut a, 0, SECOND), 1000);
}
