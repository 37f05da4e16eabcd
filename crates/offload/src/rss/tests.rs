use std::net::IpAddr;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::testing::{Shape, shapes};
use super::*;

/// "Verifying the RSS Hash Calculation": destination, source, hash with ports, hash of the addresses.
const PUBLISHED: [(&str, u16, &str, u16, u32, u32); 8] = [
    ("161.142.100.80", 1766, "66.9.149.187", 2794, 0x51ccc178, 0x323e8fc2),
    ("65.69.140.83", 4739, "199.92.111.2", 14230, 0xc626b0ea, 0xd718262a),
    ("12.22.207.184", 38024, "24.19.198.95", 12898, 0x5c2b394a, 0xd2d0a5de),
    ("209.142.163.6", 2217, "38.27.205.30", 48228, 0xafc7327f, 0x82989176),
    ("202.188.127.2", 1303, "153.39.163.191", 44251, 0x10e828a2, 0x5d1809c5),
    ("3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x40207d3d, 0x2cc18cd5),
    ("ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0xdde51bbf, 0x0f0c461c),
    ("fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, 0x02d1feef, 0x4b61e985),
];

/// The hash as specified: for each bit that is set, the key's leftmost 32 bits are added; then the key is shifted by
/// one.
fn naive(key: &[u8; KEY_LEN], input: &[u8]) -> u32 {
    let mut key: Vec<bool> = key.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect();
    let mut hash = 0;
    for byte in input {
        for bit in (0..8).rev() {
            if byte >> bit & 1 == 1 {
                hash ^= key[..32].iter().fold(0, |word, &bit| word << 1 | u32::from(bit));
            }
            key.rotate_left(1);
        }
    }
    hash
}

fn bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

#[test]
fn the_published_vectors_hold() {
    let toeplitz = Toeplitz::new(DEFAULT_KEY);
    for (dst, dst_port, src, src_port, with_ports, addresses) in PUBLISHED {
        let mut input = bytes(src.parse().unwrap());
        input.extend(bytes(dst.parse().unwrap()));
        assert_eq!(toeplitz.hash(&input), addresses, "{src} > {dst}");
        input.extend(src_port.to_be_bytes());
        input.extend(dst_port.to_be_bytes());
        assert_eq!(toeplitz.hash(&input), with_ports, "{src}.{src_port} > {dst}.{dst_port}");
    }
}

#[test]
fn frames_hash_to_the_published_vectors() {
    let rss = Rss::new(4);
    for (dst, dst_port, src, src_port, with_ports, addresses) in PUBLISHED {
        let v6 = dst.contains(':');
        let mut frame = Shape { v6, udp: true, ports: (src_port, dst_port), ..Shape::default() }.frame();
        let (src, dst) = (bytes(src.parse().unwrap()), bytes(dst.parse().unwrap()));
        let at = if v6 { 14 + 8 } else { 14 + 12 };
        frame[at..at + 2 * src.len()].copy_from_slice(&[src, dst].concat());
        let headers = Headers::parse(&frame, frame.len()).unwrap();
        let (udp, plain) = if v6 { (HashTypes::UDPV6, HashTypes::IPV6) } else { (HashTypes::UDPV4, HashTypes::IPV4) };
        assert_eq!(rss.hash(&headers, &frame), Some((with_ports, udp)));
        let mut rss = rss.clone();
        rss.set_types(plain.union(HashTypes::TCPV4).union(HashTypes::TCPV6));
        assert_eq!(rss.hash(&headers, &frame), Some((addresses, plain)));
        rss.set_types(HashTypes::NONE);
        assert_eq!(rss.hash(&headers, &frame), None);
    }
}

#[test]
fn fragments_hash_by_their_addresses() {
    let rss = Rss::new(4);
    let mut frame = Shape::default().frame();
    let hash = |frame: &[u8]| rss.hash(&Headers::parse(frame, frame.len()).unwrap(), frame).unwrap();
    assert_eq!(hash(&frame).1, HashTypes::TCPV4);
    frame[14 + 6] = 0x20;
    let first = hash(&frame);
    frame[14 + 6..14 + 8].copy_from_slice(&[0, 90]);
    frame[34..38].fill(0xaa);
    assert_eq!((first.1, hash(&frame)), (HashTypes::IPV4, first));
}

#[test]
fn the_table_spreads_over_all_queues_and_checks_names() {
    let mut rss = Rss::new(3);
    let share = |rss: &Rss, queue| rss.table().iter().filter(|&&q| q == queue).count();
    assert_eq!([0, 1, 2].map(|queue| share(&rss, queue)), [43, 43, 42]);
    assert_eq!(rss.queue(0x8000_0081), rss.table()[1]);
    assert_eq!(rss.set_table(&[0, 1, 2]), Err(RssError::Entries(3)));
    assert_eq!(rss.set_table(&[]), Err(RssError::Entries(0)));
    assert_eq!(rss.set_table(&[0; 8192]), Err(RssError::Entries(8192)));
    assert_eq!(rss.set_table(&[0, 3]), Err(RssError::Queue { queue: 3, queues: 3 }));
    assert_eq!(rss.table().len(), Rss::ENTRIES, "the old table stays");
    assert_eq!(rss.set_table(&[2, 0]), Ok(()));
    assert_eq!([4, 5].map(|hash| rss.queue(hash)), [2, 0]);
    assert_eq!(Rss::new(0).queues(), 1);
}

proptest! {
    #[test]
    fn the_fast_form_is_the_specified_one(key in vec(any::<u8>(), KEY_LEN), input in vec(any::<u8>(), 0..=INPUT_LEN)) {
        let key = key.try_into().unwrap();
        prop_assert_eq!(Toeplitz::new(key).hash(&input), naive(&key, &input));
    }

    #[test]
    fn the_symmetric_key_gives_both_directions_one_hash(
        a in vec(any::<u8>(), 16), b in vec(any::<u8>(), 16), v6: bool, ports: [[u8; 2]; 2],
    ) {
        let toeplitz = Toeplitz::new(SYMMETRIC_KEY);
        let len = if v6 { 16 } else { 4 };
        let there = [&a[..len], &b[..len], &ports[0], &ports[1]].concat();
        let back = [&b[..len], &a[..len], &ports[1], &ports[0]].concat();
        prop_assert_eq!(toeplitz.hash(&there), toeplitz.hash(&back));
    }

    #[test]
    fn damaged_frames_do_not_panic(shape in shapes(0..20), at: prop::sample::Index, value: u8, cut: prop::sample::Index) {
        let mut frame = shape.frame();
        let at = at.index(frame.len());
        frame[at] = value;
        let whole = frame.len();
        frame.truncate(cut.index(whole + 1));
        if let Some(headers) = Headers::parse(&frame, whole) {
            let rss = Rss::new(8);
            if let Some((hash, _)) = rss.hash(&headers, &frame) {
                prop_assert!(rss.queue(hash) < 8);
            }
        }
    }
}
