//! The adapter over a TAP interface: requests handed down reach the kernel unchanged.

use crate::common::{Kind, checked, payload};
use linerate_host::{Cause, Namespace};
use linerate_nic::{Count, Nic, NicConfig, NicQueue};
use linerate_offload::{Prepared, Verdict};
use linerate_port::{Port, RxQueue, open};
use linerate_ring::{Meta, flags};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

/// A namespace whose new interfaces send nothing; None, with the reason on standard output, if the privilege is
/// missing.
fn namespace() -> Option<Namespace> {
    linerate_skip::permitted(Namespace::quiet(), |e| e.cause == Cause::Capability)
}

fn port(ns: &Namespace, name: &str) -> Port {
    ns.run_in(|| open(name)).unwrap().unwrap()
}

/// Receives the next frame of host A, and its metadata.
fn receive(rx: &mut RxQueue) -> (Vec<u8>, Option<Meta>) {
    let until = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < until, "nothing comes");
        rx.sync();
        let mut batch = rx.ring.batch(u32::MAX);
        let (mut bytes, mut n) = (Vec::new(), 0);
        let meta = if batch.is_empty() { None } else { batch.meta(0) };
        while n < batch.len() {
            let (part, word) = batch.frame(n).unwrap();
            bytes.extend(part.to_vec());
            n += 1;
            if word & flags::MOREFRAG == 0 {
                break;
            }
        }
        batch.release(n);
        if bytes.get(6..12) == Some(&crate::common::A) {
            return (bytes, meta);
        }
        std::thread::yield_now();
    }
}

fn send(queue: &mut NicQueue, head: &[u8], body: &[u8], request: Meta) {
    let until = Instant::now() + PATIENCE;
    while !queue.tx.send(0, head, &[body], Some(request)) {
        assert!(Instant::now() < until, "the ring stays full");
        queue.tx.sync(0);
    }
    queue.tx.sync(0);
}

/// An adapter over a TAP, and the queue that receives its frames from the kernel's interface.
fn over_tap(ns: &Namespace, hand_down: bool) -> (Nic, NicQueue, RxQueue, Port) {
    let tap = port(ns, "tap:t0");
    let mut near = port(ns, "packet:t0");
    let config = NicConfig { mac: Some(crate::common::A), hand_down, ..NicConfig::default() };
    let mut nic = Nic::new(tap, &config).unwrap();
    let queue = nic.take(0).unwrap();
    let rx = near.take_rx(0).unwrap();
    (nic, queue, rx, near)
}

#[test]
fn super_frames_and_open_checksums_reach_the_kernel_as_one_frame_each() {
    let Some(ns) = namespace() else { return };
    let (nic, mut queue, mut rx, _near) = over_tap(&ns, true);
    let udp = nic.info().caps.uso;
    let udp = udp.then_some([(Kind::Udp4, 5), (Kind::Udp6, 5)]).into_iter().flatten();
    let kinds: Vec<_> = [(Kind::Tcp4, 1), (Kind::Tcp6, 4)].into_iter().chain(udp).collect();
    for (kind, gso_type) in kinds.iter().copied() {
        let shape = kind.shape();
        let len = 30_000;
        let frame = kind.open(&kind.frame(crate::common::B, &payload(len), 9));
        let hdr_len = u16::try_from(shape.headers).unwrap();
        let ask = Meta { gso_type, gso_size: 1400, hdr_len, ..shape.meta };
        send(&mut queue, &frame[..hdr_len.into()], &frame[hdr_len.into()..], ask);
        let (got, meta) = receive(&mut rx);
        let meta = meta.unwrap();
        assert!(got == frame, "{kind:?}: the super-frame is another");
        assert_eq!((meta.gso_type, meta.gso_size, meta.csum_start), (gso_type, 1400, shape.meta.csum_start));
        // The same by prepared headers.
        let headers = Prepared::new(&frame[..hdr_len.into()]).unwrap();
        assert!(queue.tx.send_prepared(0, &headers, &[&frame[hdr_len.into()..]], 1400));
        queue.tx.sync(0);
        let (got, same) = receive(&mut rx);
        assert!(got == frame && same == Some(meta), "{kind:?}: {same:?}");
        let small = kind.open(&kind.frame(crate::common::B, &payload(100), 9));
        send(&mut queue, &small, &[], shape.meta);
        let (got, meta) = receive(&mut rx);
        assert!(got == small && meta.unwrap().flags & Meta::NEEDS_CSUM != 0);
    }
    let count = nic.control().counters(0).unwrap();
    assert_eq!((count.of(Count::TxHandedDown), count.of(Count::TxSegments)), (3 * kinds.len() as u64, 0));
    assert!(nic.control().where_done().contains(&("TCP segmentation", "handed down to the port")));
}

#[test]
fn the_software_forms_give_the_kernel_finished_frames() {
    let Some(ns) = namespace() else { return };
    let (nic, mut queue, mut rx, _near) = over_tap(&ns, false);
    for (kind, gso_type) in [(Kind::Tcp4, 1), (Kind::Tcp6, 4), (Kind::Udp4, 5), (Kind::Udp6, 5)] {
        let shape = kind.shape();
        let frame = kind.open(&kind.frame(crate::common::B, &payload(5000), 9));
        let hdr_len = u16::try_from(shape.headers).unwrap();
        send(&mut queue, &frame, &[], Meta { gso_type, gso_size: 1400, hdr_len, ..shape.meta });
        let mut whole = Vec::new();
        for _ in 0..4 {
            let (got, meta) = receive(&mut rx);
            assert_eq!(meta.map_or(0, |meta| meta.flags & Meta::NEEDS_CSUM), 0);
            whole.extend(checked(&got));
        }
        assert!(whole == payload(5000), "{kind:?}");
    }
    let count = nic.control().counters(0).unwrap();
    assert_eq!((count.of(Count::TxHandedDown), count.of(Count::TxSegments)), (0, 16));
}

#[test]
fn what_the_kernel_leaves_open_is_vouched_for_or_filled_in() {
    let Some(ns) = namespace() else { return };
    let tap = port(&ns, "tap:t0,gso=on");
    let mut near = port(&ns, "packet:t0");
    let mut nic = Nic::new(tap, &NicConfig { mac: Some(crate::common::B), ..NicConfig::default() }).unwrap();
    let mut queue = nic.take(0).unwrap();
    let mut tx = near.take_tx(0).unwrap();
    let control = nic.control();
    for kind in [Kind::Tcp4, Kind::Udp6] {
        let frame = kind.frame(crate::common::B, &payload(100), 1);
        let open = kind.open(&frame);
        for rxcsum in [true, false] {
            control.set_flag(0, if rxcsum { "rxcsum" } else { "-rxcsum" }).unwrap();
            let mut batch = tx.ring.reserve(1);
            assert!(batch.put(0, &open));
            batch.set_meta(0, kind.shape().meta);
            batch.commit(1);
            tx.sync();
            let until = Instant::now() + PATIENCE;
            let mut seen = 0;
            while seen == 0 {
                assert!(Instant::now() < until, "nothing comes");
                queue.rx.poll(0);
                queue.rx.receive(0, usize::MAX, |got| {
                    let about = got.meta();
                    if rxcsum {
                        assert_eq!((about.checksum, got.head()), (Verdict::Good, &open[..]), "{kind:?}");
                        assert_eq!(about.request.csum_start, kind.shape().meta.csum_start);
                    } else {
                        assert_eq!((about.checksum, got.head()), (Verdict::Unknown, &frame[..]), "{kind:?}");
                        assert_eq!(about.request, Meta::default());
                    }
                    seen += 1;
                });
            }
        }
    }
}
