//! Super-frames of UDP: each segment is a datagram.

use super::*;
use linerate_nic::{Nic, NicConfig};
use linerate_port::TxQueue;
use linerate_ring::{Meta, flags};
use linerate_wire::{EtherType, EthernetRepr, IpProtocol, Ipv4Repr, MacAddr};

const OPEN: Meta = Meta {
    flags: Meta::NEEDS_CSUM,
    gso_type: 5,
    gso_size: 1000,
    hdr_len: 42,
    csum_start: 34,
    csum_offset: 6,
    vlan_tci: 0,
    hash: 0,
};

/// A super-frame from 10.0.0.1:7777 to 10.0.0.2:5000; byte `n` of its payload is `n % 251`.
fn train(payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; 42 + payload];
    let [src, dst] = [1, 2].map(|n| MacAddr([2, 0, 0, 0, 0, n]));
    let rest = EthernetRepr { dst, src, ethertype: EtherType::IPV4 }.emit(&mut bytes).unwrap();
    let ip = Ipv4Repr::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol::UDP);
    let rest = Ipv4Repr { payload_len: 8 + payload, ..ip }.emit(rest).unwrap();
    let ports = [7777u16, 5000, u16::try_from(8 + payload).unwrap()].map(u16::to_be_bytes);
    rest[..6].copy_from_slice(&ports.concat());
    rest[8..].iter_mut().zip(0u32..).for_each(|(byte, n)| *byte = u8::try_from(n % 251).unwrap());
    bytes
}

fn put(tx: &mut TxQueue, frame: &[u8], meta: Meta) {
    let parts: Vec<_> = frame.chunks(1500).collect();
    let n = u32::try_from(parts.len()).unwrap();
    let mut batch = tx.ring.reserve(n);
    for (i, part) in (0..n).zip(parts) {
        assert!(batch.put(i, part));
        batch.set(i, part.len(), if i + 1 < n { flags::MOREFRAG } else { 0 });
    }
    batch.set_meta(0, meta);
    batch.commit(n);
    tx.sync();
}

#[test]
fn datagrams_that_were_sent_as_one_frame_are_received_each_by_itself() {
    for software in [false, true] {
        let names = ["{1", "}1"].map(|end| format!("cable:train-{software}{end}"));
        let mut ports = linerate_port::open_all(&names).unwrap();
        let config = NicConfig { mac: Some([2, 0, 0, 0, 0, 2]), ..NicConfig::default() };
        let nic = Nic::new(ports.pop().unwrap(), &config).unwrap();
        let mut tx = ports[0].take_tx(0).unwrap();
        let mut node = Node::single(nic, &cidrs()[1..], &Options { software, ..Options::default() }).unwrap();
        let id = node.ip.host.udp_bind(at("10.0.0.2:5000")).unwrap();
        let whole = train(4500);
        put(&mut tx, &whole, OPEN);
        node.handle(1);
        let (mut buffer, mut got) = (vec![0; 70_000], Vec::new());
        while let Some((n, ..)) = node.ip.host.udp_recv(id, &mut buffer) {
            got.push(buffer[..n].to_vec());
        }
        let wanted: Vec<_> = whole[42..].chunks(1000).map(<[u8]>::to_vec).collect();
        assert!(got == wanted, "{:?} bytes", got.iter().map(Vec::len).collect::<Vec<_>>());
        // Metadata that contradicts the frame.
        // And one of 129 datagrams, more than any kernel sends.
        for wrong in [0, u16::MAX, 34].map(|gso_size| Meta { gso_size, ..OPEN }) {
            put(&mut tx, &whole, wrong);
            node.handle(2);
        }
        put(&mut tx, &whole[..30], OPEN);
        node.handle(3);
        let count = *node.ip.host.counters();
        assert_eq!(node.ip.host.udp_recv(id, &mut buffer).map(|(n, ..)| n), None);
        assert_eq!((count.frames, count.udp_received, count.unexplained()), (9, 5, 0), "{count:?}");
    }
}
