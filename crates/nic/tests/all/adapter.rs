//! The adapter over a cable: frames sent and received.

use crate::common::{B, KINDS, Kind, checked, pair, payload, queues, receive, send};
use linerate_nic::{Count, NicConfig};
use linerate_offload::Verdict;
use linerate_ring::Meta;

fn config() -> NicConfig {
    NicConfig::default()
}

#[test]
fn checksums_are_completed_as_etherparse_computes_them_and_found_good() {
    let mut nics = pair("", &config(), &config());
    let [mut a, mut b] = queues(&mut nics);
    for kind in KINDS {
        for len in [0, 1, 2, 63, 64, 1000, 1400] {
            let frame = kind.frame(B, &payload(len), 1);
            let open = kind.open(&frame);
            let shape = kind.shape();
            // With any division into head and body.
            for cut in [shape.headers, open.len(), shape.headers + len / 2, 14, 0] {
                send(&mut a, 0, &open[..cut], &open[cut..], Some(shape.meta));
                let got = receive(&mut b, 0);
                assert_eq!(got.len(), 1, "{kind:?} {len} {cut}");
                assert_eq!(got[0].0, frame, "{kind:?} {len} {cut}");
                assert_eq!(checked(&got[0].0), payload(len));
                assert_eq!(got[0].1.checksum, Verdict::Good, "{kind:?} {len}");
            }
        }
    }
    let sent = nics[0].control().counters(0).unwrap();
    assert_eq!(sent.of(Count::TxChecksums), sent.of(Count::TxFrames));
    let got = nics[1].control().counters(0).unwrap();
    assert_eq!(
        (got.of(Count::RxFrames), got.of(Count::RxCsumGood)),
        (sent.of(Count::TxFrames), got.of(Count::RxFrames))
    );
    assert_eq!(got.of(Count::RxBytes), sent.of(Count::TxBytes));
}

#[test]
fn a_wrong_checksum_is_told_and_the_frame_handed_over_and_no_work_is_done_while_rxcsum_is_off() {
    let mut nics = pair("", &config(), &config());
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[1].control();
    for kind in KINDS {
        let mut frame = kind.frame(B, &payload(100), 1);
        *frame.last_mut().unwrap() ^= 1;
        send(&mut a, 0, &frame, &[], None);
        let got = receive(&mut b, 0);
        assert_eq!((&got[0].0, got[0].1.checksum), (&frame, Verdict::Bad), "{kind:?}");
    }
    control.set_flag(0, "-rxcsum").unwrap();
    let frame = Kind::Udp4.frame(B, &payload(100), 1);
    send(&mut a, 0, &frame, &[], None);
    assert_eq!(receive(&mut b, 0)[0].1.checksum, Verdict::Unknown);
    let count = control.counters(0).unwrap();
    assert_eq!((count.of(Count::RxCsumBad), count.of(Count::RxCsumGood)), (4, 0));
}

#[test]
fn what_no_flag_allows_or_no_headers_hold_is_dropped_with_its_reason() {
    let mut nics = pair("", &config(), &config());
    let [mut a, mut b] = queues(&mut nics);
    let control = nics[0].control();
    let frame = Kind::Udp4.frame(B, &payload(100), 1);
    let ask = Kind::Udp4.shape().meta;
    control.set_flag(0, "-txcsum").unwrap();
    a.tx.sync(0);
    send(&mut a, 0, &frame, &[], Some(ask));
    control.set_flag(0, "txcsum").unwrap();
    control.set_flag(0, "-vlanhwtag").unwrap();
    a.tx.sync(0);
    send(&mut a, 0, &frame, &[], Some(Meta { vlan_tci: 5, ..Meta::default() }));
    send(&mut a, 0, &frame, &[], Some(Meta { csum_start: 200, ..ask }));
    send(&mut a, 0, &frame, &[], Some(Meta { csum_start: u16::MAX, csum_offset: u16::MAX, ..ask }));
    send(&mut a, 0, &frame, &[], Some(Meta { gso_type: 77, gso_size: 10, ..ask }));
    send(&mut a, 0, &frame[..13], &[], None);
    send(&mut a, 0, &[], &[], None);
    send(&mut a, 0, &frame, &[0; 1500], None);
    control.change(0, |vi| vi.up = false).unwrap();
    a.tx.sync(0);
    send(&mut a, 0, &frame, &[], None);
    assert!(receive(&mut b, 0).is_empty());
    let count = control.counters(0).unwrap();
    for (reason, n) in [
        (Count::TxOffloadOff, 2),
        (Count::TxBadRequest, 3),
        (Count::TxTooShort, 2),
        (Count::TxTooLong, 1),
        (Count::TxDown, 1),
        (Count::TxFrames, 0),
    ] {
        assert_eq!(count.of(reason), n, "{}", reason.name());
    }
    assert_eq!(count.given(), 9);
}

#[test]
fn a_full_ring_refuses_and_nothing_is_lost() {
    let mut nics = pair(",slots=64", &config(), &config());
    let [mut a, mut b] = queues(&mut nics);
    let frame = Kind::Udp4.frame(B, &payload(18), 1);
    let mut sent = 0;
    while a.tx.send(0, &frame, &[], None) {
        sent += 1;
    }
    assert_eq!(sent, 63);
    let mut got = 0;
    for _ in 0..10 {
        a.tx.sync(0);
        b.rx.poll(0);
        got += b.rx.receive(0, 10, |_| ());
        got += b.rx.receive(0, usize::MAX, |_| ());
    }
    assert_eq!(got, 63);
    assert_eq!(nics[0].control().counters(0).unwrap().of(Count::TxRefused), 1);
    assert_eq!(nics[1].control().counters(0).unwrap().arrived(), 63);
}
