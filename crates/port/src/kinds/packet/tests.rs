use crate::{DropReason, Filter, Link, Port, RxQueue, TxQueue, open, open_all};
use linerate_host::{Cause, Namespace, Offloads, VethPair};
use linerate_ring::{Meta, flags};
use std::time::{Duration, Instant};

pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Tries until it is so, which a kernel or another thread makes it a little later.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < end, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A namespace with a pair `va`, `vb`; without the privilege None, with the reason on standard output.
pub(crate) fn veth(queues: u32, mtu: u32) -> Option<(Namespace, VethPair)> {
    let made = Namespace::new().and_then(|ns| {
        let pair = ns.run_in(|| VethPair::new(["va", "vb"], queues, mtu))??;
        Ok((ns, pair))
    });
    linerate_skip::permitted(made, |e| e.cause == Cause::Capability)
}

fn ports(ns: &Namespace, names: &[&str]) -> Vec<Port> {
    ns.run_in(|| open_all(names)).unwrap().unwrap()
}

pub(crate) fn send(tx: &mut TxQueue, bytes: &[u8], meta: Option<Meta>) {
    let usable = tx.ring.usable();
    let parts: Vec<_> = bytes.chunks(usable).collect();
    let n = u32::try_from(parts.len()).unwrap();
    let mut batch = tx.ring.reserve(n);
    for (i, part) in (0..n).zip(&parts) {
        assert!(batch.put(i, part));
        batch.set(i, part.len(), if i + 1 < n { flags::MOREFRAG } else { 0 });
    }
    if let Some(meta) = meta {
        batch.set_meta(0, meta);
    }
    batch.commit(n);
    tx.sync();
}

/// The next frame of ours (Ethertype 0x88b5 or IPv4, tagged or not), and its metadata.
pub(crate) fn receive(rx: &mut RxQueue) -> (Vec<u8>, Option<Meta>) {
    let until = Instant::now() + LIMIT;
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
        match bytes.get(12..14) {
            Some([0x88, 0xb5] | [0x08, 0x00] | [0x81, 0x00] | [0x88, 0xa8]) => return (bytes, meta),
            _ => std::thread::yield_now(),
        }
    }
}

pub(crate) fn frame(kind: [u8; 2], len: usize) -> Vec<u8> {
    let mut bytes: Vec<_> = (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect();
    bytes[..6].fill(0xff);
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    bytes[12..14].copy_from_slice(&kind);
    bytes
}

/// An IPv4 frame with a TCP segment of so many bytes, its TCP checksum left open (the pseudo-header's sum in its place).
pub(crate) fn tcp(payload: usize) -> Vec<u8> {
    let mut bytes = frame([8, 0], 14 + 20 + 20 + payload);
    let total = u16::try_from(40 + payload).unwrap();
    bytes[14..34].copy_from_slice(&[0x45, 0, 0, 0, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes[16..18].copy_from_slice(&total.to_be_bytes());
    let header = !sum(&bytes[14..34], 0);
    bytes[24..26].copy_from_slice(&header.to_be_bytes());
    bytes[34..54].copy_from_slice(&[0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    let open = sum(&bytes[26..34], 6 + 20 + u32::try_from(payload).unwrap());
    bytes[50..52].copy_from_slice(&open.to_be_bytes());
    bytes
}

/// Ones' complement sum of RFC 1071, not complemented.
pub(crate) fn sum(bytes: &[u8], start: u32) -> u16 {
    let mut sum = start;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap()
}

pub(crate) const OPEN: Meta = Meta {
    flags: Meta::NEEDS_CSUM,
    gso_type: 0,
    hdr_len: 0,
    gso_size: 0,
    csum_start: 34,
    csum_offset: 16,
    vlan_tci: 0,
    hash: 0,
};

#[test]
fn an_open_checksum_arrives_with_its_request_or_is_filled_in() {
    let Some((ns, pair)) = veth(1, 1500) else { return };
    let mut ports = ports(&ns, &["packet:va", "packet:vb"]);
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    send(&mut tx, &tcp(100), Some(OPEN));
    let (bytes, meta) = receive(&mut rx);
    assert_eq!((bytes, meta), (tcp(100), Some(OPEN)), "a veth pair passes it on as it is");
    let mut tagged = tcp(100);
    tagged.splice(12..12, [0x81, 0x00, 0x20, 0x07]);
    send(&mut tx, &tagged, Some(Meta { csum_start: 38, ..OPEN }));
    let (bytes, meta) = receive(&mut rx);
    assert_eq!((bytes, meta), (tagged, Some(Meta { csum_start: 38, ..OPEN })));
    let off = Offloads { tx_checksum: false, tso: false, gso: false, gro: false };
    pair.set_offloads("va", off).unwrap();
    send(&mut tx, &tcp(101), Some(OPEN));
    let (bytes, meta) = receive(&mut rx);
    assert_eq!(meta.map_or(0, |meta| meta.flags & Meta::NEEDS_CSUM), 0);
    assert_eq!(sum(&bytes[34..], u32::from(sum(&bytes[26..34], 6 + 121))), 0xffff, "the checksum is right");
}

#[test]
fn super_frames_go_out_whole_or_are_cut_by_the_kernel() {
    let Some((ns, pair)) = veth(1, 1500) else { return };
    let mut ports = ports(&ns, &["packet:va", "packet:vb"]);
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    let ask = Meta { gso_type: 1, gso_size: 1000, hdr_len: 54, ..OPEN };
    send(&mut tx, &tcp(20_000), Some(ask));
    let (bytes, meta) = receive(&mut rx);
    assert_eq!(bytes, tcp(20_000), "a veth pair carries it whole");
    let meta = meta.unwrap();
    assert_eq!((meta.gso_type, meta.gso_size, meta.csum_start), (1, 1000, 34));
    let off = Offloads { tx_checksum: false, tso: false, gso: false, gro: false };
    pair.set_offloads("va", off).unwrap();
    send(&mut tx, &tcp(20_000), Some(ask));
    let whole = tcp(20_000);
    for n in 0..20 {
        let (bytes, _) = receive(&mut rx);
        assert_eq!(bytes.len(), 1054);
        assert_eq!(bytes[54..], whole[54 + n * 1000..][..1000]);
        assert_eq!(sum(&bytes[34..], u32::from(sum(&bytes[26..34], 6 + 1020))), 0xffff, "the checksum is right");
    }
    assert_eq!((tx.counters().frames, tx.counters().dropped.total()), (2, 0));
}

#[test]
fn vlan_tags_come_back_into_the_frame() {
    let Some((ns, _pair)) = veth(1, 1500) else { return };
    let mut ports = ports(&ns, &["packet:va", "packet:vb"]);
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    for tag in [&[0x81, 0x00, 0x60, 0x2a][..], &[0x88, 0xa8, 0x00, 0x05], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6]] {
        let mut bytes = frame([0x88, 0xb5], 200);
        bytes.splice(12..12, tag.iter().copied());
        send(&mut tx, &bytes, None);
        assert_eq!(receive(&mut rx).0, bytes);
    }
}

#[test]
fn frames_of_all_lengths_arrive_whole_and_in_order() {
    let Some((ns, _pair)) = veth(1, 1500) else { return };
    let to = ["packet:vb,slots=64", "packet:vb,slots=1024", "packet:vb,rx=ring"];
    let mut ports = ports(&ns, &[&["packet:va"][..], &to].concat());
    let mut tx = ports[0].take_tx(0).unwrap();
    let ask = Meta { gso_type: 1, gso_size: 1000, hdr_len: 54, ..OPEN };
    let tagged = |mut bytes: Vec<u8>| {
        bytes.splice(12..12, [0x81, 0x00, 0x20, 0x07]);
        bytes
    };
    let mut sent: Vec<(Vec<u8>, Option<Meta>)> = Vec::new();
    for n in 0..200usize {
        sent.push(match n % 50 {
            // Long ones alone, behind each other, and between short ones; the last fills its slot but for the tag.
            7 | 20 | 21 | 40 => (tcp(2_000 + 300 * n), Some(ask)),
            22 => (tagged(tcp(50_000 + n)), Some(Meta { hdr_len: 58, csum_start: 38, ..ask })),
            30 => (tagged(frame([0x88, 0xb5], 60 + n)), None),
            31 => (tagged(frame([0x88, 0xb5], 1514)), None),
            _ => (frame([0x88, 0xb5], 60 + 7 * (n % 50)), None),
        });
    }
    let rxs: Vec<_> = ports[1..].iter_mut().map(|port| port.take_rx(0).unwrap()).collect();
    for (bytes, meta) in &sent {
        send(&mut tx, bytes, *meta);
    }
    for mut rx in rxs {
        for (n, (bytes, meta)) in sent.iter().enumerate() {
            let (came, said) = receive(&mut rx);
            assert!(came == *bytes, "frame {n} of {} bytes: {} bytes came", bytes.len(), came.len());
            assert_eq!(said.map(|meta| meta.csum_start), meta.map(|meta| meta.csum_start), "frame {n}");
        }
        assert_eq!(rx.counters().dropped.total(), 0);
    }
}

#[test]
fn what_is_too_long_is_counted() {
    let Some((ns, _pair)) = veth(1, 1500) else { return };
    let mut ports = ports(&ns, &["packet:va", "packet:vb"]);
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    // By the port, then by the kernel (a frame of this length must have a tag).
    for len in [1519, 1518, 13] {
        send(&mut tx, &frame([0x88, 0xb5], 14.max(len))[..len], None);
    }
    send(&mut tx, &frame([0x88, 0xb5], 1514), None);
    assert_eq!(receive(&mut rx).0.len(), 1514);
    let count = tx.counters();
    assert_eq!((count.frames, tx.ring.outstanding()), (1, 0));
    assert_eq!(count.dropped.of(DropReason::TooLong), 2);
    assert_eq!(count.dropped.of(DropReason::TooShort), 1);
    assert!(ports[0].raw_counters().contains(&("link_tx_packets".into(), 1)));
}

#[test]
fn several_queues_share_the_frames_and_see_none_twice() {
    for fanout in ["hash", "cpu", "lb"] {
        let Some((ns, _pair)) = veth(1, 1500) else { return };
        let name = format!("packet:vb,queues=3,fanout={fanout}");
        let mut ports = ports(&ns, &["packet:va", &name]);
        let mut tx = ports[0].take_tx(0).unwrap();
        let mut queues: Vec<_> = (0..3).map(|q| ports[1].take_rx(q).unwrap()).collect();
        for n in 0..90u8 {
            let mut bytes = frame([0x88, 0xb5], 60);
            bytes[20] = n;
            send(&mut tx, &bytes, None);
        }
        let (mut seen, until) = (Vec::new(), Instant::now() + LIMIT);
        let mut each = [0; 3];
        while seen.len() < 90 {
            assert!(Instant::now() < until, "{fanout}: {} of 90", seen.len());
            for (q, rx) in queues.iter_mut().enumerate() {
                rx.sync();
                let mut batch = rx.ring.batch(u32::MAX);
                let n = batch.len();
                for i in 0..n {
                    let bytes = batch.frame(i).unwrap().0.to_vec();
                    if bytes[12..14] == [0x88, 0xb5] {
                        seen.push(bytes[20]);
                        each[q] += 1;
                    }
                }
                batch.release(n);
            }
            std::thread::yield_now();
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..90).collect::<Vec<_>>(), "{fanout}");
        if fanout == "lb" {
            assert_eq!(each, [30, 30, 30]);
        }
    }
}

#[test]
fn own_frames_are_not_received_and_a_switched_off_link_takes_nothing() {
    let Some((ns, pair)) = veth(1, 1500) else { return };
    let mut ports = ports(&ns, &["packet:va", "packet:va", "packet:vb"]);
    let (mut tx, mut own) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    let (mut back, mut far) = (ports[2].take_tx(0).unwrap(), ports[2].take_rx(0).unwrap());
    send(&mut tx, &frame([0x88, 0xb5], 60), None);
    receive(&mut far);
    send(&mut back, &frame([0x88, 0xb5], 99), None);
    assert_eq!(receive(&mut own).0.len(), 99, "the first that the near end sees is the far end's");
    assert_eq!(ports[0].link(), Link::Up);
    pair.set_up("vb", false).unwrap();
    // The kernel reports the loss of carrier with a delay, each end looks for it now and then, and what is sent meanwhile is
    // lost behind it.
    until("both ends' links are down", || [ports[0].link(), tx.link(), far.link()] == [Link::Down; 3]);
    until("a frame is refused", || {
        send(&mut tx, &frame([0x88, 0xb5], 60), None);
        tx.counters().dropped.total() > 0
    });
    assert_eq!(tx.counters().dropped.of(DropReason::NoReceiver), 1);
    drop(pair);
    send(&mut tx, &frame([0x88, 0xb5], 60), None);
    assert_eq!(tx.counters().dropped.total(), 2);
    assert_eq!(tx.ring.outstanding(), 0);
    far.sync();
    assert!(ports[0].raw_counters().is_empty(), "the interface is gone");
}

#[test]
fn filters_are_asked_of_the_interface() {
    let Some((ns, pair)) = veth(1, 1500) else { return };
    let ports = ports(&ns, &["packet:va"]);
    let some = vec![[2, 0, 0, 0, 0, 77], [1, 0, 0x5e, 0, 0, 1]];
    for filter in [
        Filter { promiscuous: true, all_multicast: true, addresses: some.clone() },
        Filter { addresses: some, ..Filter::default() },
        Filter::default(),
    ] {
        ports[0].filter(&filter).unwrap();
    }
    ports[0].filter(&Filter { addresses: vec![[1, 0, 0x5e, 1, 2, 3]], ..Filter::default() }).unwrap();
    let says = || ports[0].notes().iter().any(|note| note.contains("va keeps no further unicast address"));
    assert!(!says() && !pair.link("va").unwrap().promiscuous, "groups are kept apart");
    let multicasts = ns.run_in(|| std::fs::read_to_string("/proc/thread-self/net/dev_mcast").unwrap());
    assert!(multicasts.unwrap().contains("01005e010203"), "the kernel has it");
    // A veth has no unicast filter, and receives all frames instead.
    ports[0].filter(&Filter { addresses: vec![[2, 0, 0, 0, 0, 77]], ..Filter::default() }).unwrap();
    assert!(says() && pair.link("va").unwrap().promiscuous);
    ports[0].filter(&Filter::default()).unwrap();
    assert!(!says() && !pair.link("va").unwrap().promiscuous);
}

#[test]
fn wrong_names_and_options_are_named() {
    let Some((ns, pair)) = veth(1, 1500) else { return };
    let line = |name: &str| ns.run_in(|| open(name)).unwrap().err().unwrap().to_string();
    for (name, word) in [
        ("packet:nosuch", "no such interface"),
        ("packet:a-name-that-is-too-long", "no such interface"),
        ("packet:va,fanout=all", "no such fanout"),
        ("packet:va,queues=0", "queues=0"),
        ("packet:va,mtu=9000", "more than the interface's 1500"),
    ] {
        let line = line(name);
        assert!(line.contains(word) && line.contains("; ") && !line.contains('\n'), "{name}: {line}");
    }
    pair.set_up("va", false).unwrap();
    assert!(line("packet:va").contains("ip link set dev va up"));
}
