use super::*;
use etherparse::{PacketHeaders, PayloadSlice};
use proptest::prelude::*;
use std::net::IpAddr;

fn flow(v6: bool) -> Flow {
    let (src, dst): (IpAddr, IpAddr) = if v6 {
        ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap())
    } else {
        ("10.0.0.1".parse().unwrap(), "10.1.0.1".parse().unwrap())
    };
    Flow { src, dst, src_port: 1234, dst_port: 1234 }
}

fn template(layout: Layout, payload: Payload) -> Template {
    Template { layout, src_mac: [2, 0, 0, 0, 0, 1], dst_mac: [0xff; 6], stream: 7, payload }
}

/// Checks with an independent decoder that lengths and both checksums are right.
fn assert_valid(frame: &[u8], layout: Layout) {
    let frame = &frame[layout.vnet..];
    let packet = PacketHeaders::from_ethernet_slice(frame).unwrap();
    let udp = packet.transport.clone().unwrap().udp().unwrap();
    let PayloadSlice::Udp(payload) = packet.payload else { panic!("no UDP payload") };
    let expected = match packet.net.unwrap() {
        etherparse::NetHeaders::Ipv4(ip, _) => {
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            udp.calc_checksum_ipv4(&ip, payload).unwrap()
        }
        etherparse::NetHeaders::Ipv6(ip, _) => udp.calc_checksum_ipv6(&ip, payload).unwrap(),
        _ => panic!("no IP"),
    };
    assert_eq!(udp.checksum, expected);
    let total = layout.udp() - layout.vnet + usize::from(udp.length);
    assert_eq!(total, frame.len(), "the UDP length reaches to the end");
}

prop_compose! {
    fn layouts()(vnet in prop::sample::select(vec![0usize, 10, 12]), v6 in any::<bool>()) -> Layout {
        Layout { vnet, v6 }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_sequence_and_stamp_leave_the_checksums_right(
        layout in layouts(), extra in 0usize..1600, run in 1u16.., sequence in 0u64..1 << 48, stamp in any::<u64>(),
        payload in prop::sample::select(vec![Payload::Marked, Payload::Stamped, Payload::Numbered]),
    ) {
        let template = template(layout, payload);
        let mut frame = template.frame(layout.mark() + 4 + extra, &flow(layout.v6), run, sequence, stamp);
        template.number(&mut frame, sequence);
        assert_valid(&frame, layout);
        if template.marks(frame.len()) {
            prop_assert_eq!(Mark::of(&frame, layout), Some(Mark { run, stream: 7, sequence }));
        }
        if payload == Payload::Numbered {
            let number = u32::from_be_bytes(frame[layout.mark()..layout.mark() + 4].try_into().unwrap());
            prop_assert_eq!(u64::from(number), sequence & 0xffff_ffff);
        }
    }

    /// A head with a flow inserted is the head of the frame made with that flow.
    #[test]
    fn a_head_follows_its_flow(
        layout in layouts(), extra in 0usize..1600, a in any::<[u8; 16]>(), b in any::<[u8; 16]>(),
        src_port in any::<u16>(), dst_port in any::<u16>(),
    ) {
        let addr = |bytes: [u8; 16]| -> IpAddr {
            if layout.v6 { IpAddr::from(bytes) } else { IpAddr::from([bytes[0], bytes[1], bytes[2], bytes[3]]) }
        };
        let flow = Flow { src: addr(a), dst: addr(b), src_port, dst_port };
        let template = template(layout, Payload::Marked);
        let len = layout.mark() + extra;
        let whole = template.frame(len, &flow, 1, 0, 0);
        let head = Heads::new(template).of(len).with(&flow);
        prop_assert_eq!(head.bytes(), &whole[..head.bytes().len()]);
        prop_assert_eq!(Flow::of(&whole, layout), Some(flow));
    }
}

#[test]
fn the_mark_stands_where_it_is_said_to() {
    let layout = Layout { vnet: 0, v6: false };
    assert_eq!((layout.mark(), layout.words(), layout.end(), layout.stamp_end()), (42, 44, 60, 76));
    let layout = Layout { vnet: 0, v6: true };
    assert_eq!((layout.end(), layout.stamp_end()), (80, 96));
    let template = template(Layout { vnet: 0, v6: false }, Payload::Marked);
    let frame = template.frame(60, &flow(false), 0x1234, 5, 0);
    assert_eq!(frame[42..44], [0, 7]);
    assert_eq!(frame[44..52], [0x12, 0x34, 0, 0, 0, 0, 0, 5]);
    assert_eq!(frame[52..60], [0xed, 0xcb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfa]);
    assert_eq!(Mark::of(&template.frame(59, &flow(false), 1, 1, 1), template.layout), None, "too short for a mark");
}

/// Source ports first, then source addresses, then the destination's: netmap's order.
#[test]
fn ranges_are_gone_through_in_netmaps_order() {
    let range = |a: &str, b: &str, ports| FlowRange { addrs: (a.parse().unwrap(), b.parse().unwrap()), ports };
    let mut flows =
        Flows::new(range("10.0.0.1", "10.0.0.2", (5, 6)), range("10.1.0.1", "10.1.0.1", (7, 8)), false, false, 1);
    assert_eq!(flows.single(), None);
    let seen: Vec<_> = (0..9)
        .map(|_| {
            let f = flows.pick();
            format!("{}:{}>{}", f.src.to_string().replace("10.0.0.", ""), f.src_port, f.dst_port)
        })
        .collect();
    assert_eq!(seen, ["1:5>7", "1:6>7", "2:5>7", "2:6>7", "1:5>8", "1:6>8", "2:5>8", "2:6>8", "1:5>7"]);
}

#[test]
fn random_sides_vary_and_the_other_stays() {
    let one = |addr: &str| FlowRange { addrs: (addr.parse().unwrap(), addr.parse().unwrap()), ports: (9, 9) };
    let mut flows = Flows::new(one("10.0.0.1"), one("10.1.0.1"), false, true, 3);
    let list: Vec<_> = (0..100).map(|_| flows.pick()).collect();
    assert!(list.iter().all(|f| f.src == list[0].src && f.src_port == 9));
    let mut dst: Vec<_> = list.iter().map(|f| (f.dst, f.dst_port)).collect();
    dst.sort_unstable();
    dst.dedup();
    assert!(dst.len() > 95, "{} of 100", dst.len());
}

/// A UDP checksum of zero means that there is none: for each way to make a frame, of all frames that differ in one word
/// one has that sum, and it is sent as all ones (RFC 768).
#[test]
fn no_frame_is_sent_without_a_udp_checksum() {
    for layout in [Layout { vnet: 0, v6: false }, Layout { vnet: 0, v6: true }] {
        let flow = flow(layout.v6);
        let at = layout.udp() + 6;
        let sum = |bytes: &[u8]| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let is_right = |way: &str, sums: Vec<u16>| {
            assert_eq!(sums.len(), 1 << 16);
            assert_eq!(sums.iter().filter(|sum| **sum == 0).count(), 0, "{way}: none without");
            // With all values of 16 bits, each other sum occurs once, and all ones also in place of zero.
            assert!((1..3).contains(&sums.iter().filter(|sum| **sum == 0xffff).count()), "{way}: as ones");
        };
        let numbered = template(layout, Payload::Numbered);
        let mut frame = numbered.frame(100, &flow, 1, 0, 0);
        let of_numbers = (0..1 << 16).map(|sequence| {
            numbered.number(&mut frame, sequence);
            if sum(&frame) == 0xffff {
                assert_valid(&frame, layout);
            }
            sum(&frame)
        });
        is_right("numbered", of_numbers.collect());
        let marked = template(layout, Payload::Marked);
        let mut head = marked.head(100);
        let of_heads = (0..=u16::MAX).map(|src_port| {
            head.set(&Flow { src_port, ..flow });
            sum(head.bytes())
        });
        is_right("from a head", of_heads.collect());
        let of_frames = (0..=u16::MAX).map(|src_port| sum(&marked.frame(100, &Flow { src_port, ..flow }, 1, 0, 0)));
        is_right("whole", of_frames.collect());
    }
}
