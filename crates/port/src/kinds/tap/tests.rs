use crate::kinds::packet::tests::{OPEN, frame, receive, send, sum, tcp, until};
use crate::{DropReason, Link, Port, open};
use linerate_host::{Cause, Namespace, Rtnetlink};
use linerate_ring::Meta;

/// A namespace whose new interfaces send nothing of their own; without the privilege None, with the reason on standard
/// output.
fn namespace() -> Option<Namespace> {
    linerate_skip::permitted(Namespace::quiet(), |e| e.cause == Cause::Capability)
}

fn port(ns: &Namespace, name: &str) -> Port {
    ns.run_in(|| open(name)).unwrap().unwrap()
}

/// Waits for a link state, which the kernel reports with a delay.
fn link_is(port: &Port, wanted: Link) {
    until(&format!("the link is {wanted:?}"), || port.link() == wanted);
}

#[test]
fn an_interface_is_made_or_found_and_says_so() {
    let Some(ns) = namespace() else { return };
    let made = port(&ns, "tap:t0,queues=2,mtu=2180");
    assert!(made.info().path.contains("made"), "{}", made.info().path);
    assert_eq!((made.info().largest, made.info().tx_queues), (2202, 2));
    link_is(&made, Link::Up);
    assert_eq!(ns.run_in(|| Rtnetlink::open().unwrap().link("t0").unwrap().mtu).unwrap(), 2180);
    // The same interface, made with several queues, has one more.
    let found = port(&ns, "tap:t0");
    assert!(found.info().path.contains("found"), "{}", found.info().path);
    assert_eq!(found.info().largest, 2202, "the interface's MTU");
    drop((made, found));
    assert!(ns.run_in(|| Rtnetlink::open().unwrap().link("t0").is_err()).unwrap(), "it went with the port");
}

#[test]
fn an_open_checksum_is_filled_in_by_the_kernel_unless_gso_is_on() {
    for gso in [false, true] {
        let Some(ns) = namespace() else { return };
        let mut tap = port(&ns, if gso { "tap:t0,gso=on" } else { "tap:t0" });
        let mut near = port(&ns, "packet:t0");
        let (mut tx, mut rx) = (near.take_tx(0).unwrap(), tap.take_rx(0).unwrap());
        send(&mut tx, &tcp(100), Some(OPEN));
        let (bytes, meta) = receive(&mut rx);
        if gso {
            assert_eq!((bytes, meta), (tcp(100), Some(OPEN)));
            let ask = Meta { gso_type: 1, gso_size: 1000, hdr_len: 54, ..OPEN };
            send(&mut tx, &tcp(20_000), Some(ask));
            let (bytes, meta) = receive(&mut rx);
            assert_eq!(bytes, tcp(20_000));
            let meta = meta.unwrap();
            assert_eq!((meta.gso_type, meta.gso_size, meta.csum_start), (1, 1000, 34));
        } else {
            assert_eq!(meta.map_or(0, |meta| meta.flags & Meta::NEEDS_CSUM), 0);
            assert_eq!(sum(&bytes[34..], u32::from(sum(&bytes[26..34], 6 + 120))), 0xffff, "the checksum is right");
        }
    }
}

#[test]
fn requests_reach_the_kernel() {
    let Some(ns) = namespace() else { return };
    let mut tap = port(&ns, "tap:t0");
    let mut near = port(&ns, "packet:t0");
    let (mut tx, mut rx) = (tap.take_tx(0).unwrap(), near.take_rx(0).unwrap());
    let ask = Meta { gso_type: 1, gso_size: 1000, hdr_len: 54, ..OPEN };
    for (payload, meta) in [(100, OPEN), (20_000, ask)] {
        send(&mut tx, &tcp(payload), Some(meta));
        let (bytes, got) = receive(&mut rx);
        let got = got.unwrap();
        assert_eq!(bytes, tcp(payload));
        assert_eq!((got.flags, got.gso_type, got.gso_size), (meta.flags, meta.gso_type, meta.gso_size));
        assert_eq!((got.csum_start, got.csum_offset), (34, 16));
    }
    assert_eq!(tx.counters().syscalls, 2, "one a frame");
}

#[test]
fn what_cannot_be_carried_is_counted() {
    let Some(ns) = namespace() else { return };
    let mut tap = port(&ns, "tap:t0");
    let mut near = port(&ns, "packet:t0");
    let (mut tx, mut rx) = (tap.take_tx(0).unwrap(), tap.take_rx(0).unwrap());
    send(&mut tx, &frame([0x88, 0xb5], 1523), None);
    send(&mut tx, &frame([0x88, 0xb5], 14)[..13], None);
    assert_eq!(tx.counters().dropped.of(DropReason::TooLong), 1);
    assert_eq!(tx.counters().dropped.of(DropReason::TooShort), 1);
    // An invalid request is refused by the kernel.
    send(&mut tx, &frame([0x88, 0xb5], 60), Some(Meta { csum_start: 1000, ..OPEN }));
    assert_eq!(tx.counters().dropped.of(DropReason::Refused), 1);
    ns.run_in(|| {
        let mut links = Rtnetlink::open().unwrap();
        links.set_up("t0", false).unwrap();
    })
    .unwrap();
    link_is(&tap, Link::Down);
    // Each looks for it now and then.
    until("its queue's link is down", || tx.link() == Link::Down);
    send(&mut tx, &frame([0x88, 0xb5], 60), None);
    assert_eq!(tx.counters().dropped.of(DropReason::NoReceiver), 1);
    rx.sync();
    assert_eq!((tx.counters().frames, tx.ring.outstanding()), (0, 0));
    drop(near.take_rx(0));
}

/// As one gives an interface to a container: its descriptor still tells whether it is switched on, and when it is deleted.
#[test]
fn an_interface_in_another_namespace_has_a_link_and_carries_frames() {
    let (Some(ns), Some(other)) = (namespace(), namespace()) else { return };
    let mut tap = port(&ns, "tap:t0");
    let (mut tx, mut rx) = (tap.take_tx(0).unwrap(), tap.take_rx(0).unwrap());
    link_is(&tap, Link::Up);
    ns.run_in(|| Rtnetlink::open().unwrap().move_to("t0", &other).unwrap()).unwrap();
    // It is switched off by being moved.
    link_is(&tap, Link::Down);
    other.run_in(|| Rtnetlink::open().unwrap().set_up("t0", true).unwrap()).unwrap();
    link_is(&tap, Link::Up);
    let mut far = port(&other, "packet:t0");
    let (mut far_tx, mut far_rx) = (far.take_tx(0).unwrap(), far.take_rx(0).unwrap());
    send(&mut tx, &frame([0x88, 0xb5], 60), None);
    assert_eq!(receive(&mut far_rx).0, frame([0x88, 0xb5], 60));
    send(&mut far_tx, &frame([0x88, 0xb5], 61), None);
    assert_eq!(receive(&mut rx).0, frame([0x88, 0xb5], 61));
    // A namespace ends, and its TAP interfaces with it.
    drop((far_tx, far_rx, far));
    drop(other);
    link_is(&tap, Link::Gone);
}

#[test]
fn wrong_names_and_options_are_named() {
    let Some(ns) = namespace() else { return };
    let line = |name: &str| ns.run_in(|| open(name)).unwrap().err().unwrap().to_string();
    let _one = port(&ns, "tap:t0");
    for (name, word) in [
        ("tap:lo", "no TAP"),
        ("tap:t0", "another program has"),
        ("tap:t0,queues=2", "has one queue"),
        ("tap:a-name-that-is-too-long", "no such interface"),
        ("tap:t1,gso=maybe", "neither on nor off"),
        ("tap:t1,gso=on,buf=512", "slots of 512 bytes"),
        ("tap:t0,mtu=9000", "another program has"),
    ] {
        let line = line(name);
        assert!(line.contains(word) && line.contains("; ") && !line.contains('\n'), "{name}: {line}");
    }
}
