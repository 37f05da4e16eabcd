//! Fragments by a script: within the limits whatever comes, and what is complete is a right packet.
//!
//! The script is a sequence of fragments: version and identification (1 byte), offset in units of 8 (1), whether others
//! follow and the time since the last (1), the payload's length (1), the payload. An offset of 255 stands for the largest.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_stack::{Outcome, Reassembly, ReassemblyConfig};
use linerate_wire::*;

fn fragment(v6: bool, ident: u8, offset: u16, more: bool, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; if v6 { 48 } else { 20 } + payload.len()];
    let rest = if v6 {
        let (src, dst) = ([1; 16].into(), [2; 16].into());
        let ip = Ipv6Repr { payload_len: 8 + payload.len(), ..Ipv6Repr::new(src, dst, IpProtocol::IPV6_FRAGMENT) };
        let header = Ipv6FragmentRepr { next_header: IpProtocol(253), offset, more, ident: ident.into() };
        ip.emit(&mut bytes).and_then(|rest| header.emit(rest))
    } else {
        let ip = Ipv4Repr {
            payload_len: payload.len(),
            ident: ident.into(),
            dont_fragment: false,
            more_fragments: more,
            fragment_offset: offset,
            ..Ipv4Repr::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol(253))
        };
        ip.emit(&mut bytes)
    };
    rest.unwrap().copy_from_slice(payload);
    bytes
}

fn push(to: &mut Reassembly, now: u64, bytes: &[u8]) -> Outcome {
    if let Ok(packet) = Ipv4Packet::new_checked(bytes) {
        return to.push_v4(now, &packet);
    }
    let packet = Ipv6Packet::new_checked(bytes).unwrap();
    // A first fragment without a byte of the protocol ends here (RFC 7112).
    let Ok(chain) = Ipv6Chain::walk(&packet) else { return Outcome::Incomplete };
    let fragment = chain.fragment.unwrap();
    to.push_v6(now, &packet, &fragment)
}

fuzz_target!(|script: &[u8]| {
    let config = ReassemblyConfig { bytes: 6000, datagrams: 6, timeout_ns: 200 };
    let mut to = Reassembly::new(config);
    let (mut now, mut rest) = (0, script);
    while let [who, offset, more, len, after @ ..] = rest {
        let (payload, after) = after.split_at(after.len().min(usize::from(*len)));
        rest = after;
        now += u64::from(more >> 1);
        to.poll(now, |first| assert!(first.len() > 20));
        assert!(to.poll_timeout().is_none_or(|due| due > now));
        let offset = if *offset == 255 { 65528 } else { u16::from(*offset) * 8 };
        let bytes = fragment(who & 1 != 0, who >> 1, offset, more & 1 != 0, payload);
        if let Outcome::Complete(packet) = push(&mut to, now, &bytes) {
            match packet[0] >> 4 {
                4 => {
                    let packet = Ipv4Packet::new_checked(&packet[..]).unwrap();
                    assert!(packet.verify_checksum() && !packet.is_fragment());
                }
                _ => {
                    let packet = Ipv6Packet::new_checked(&packet[..]).unwrap();
                    assert_eq!(packet.next_header(), IpProtocol(253));
                }
            }
        }
        assert!(to.bytes() <= config.bytes && to.len() <= config.datagrams);
    }
    to.poll(u64::MAX, drop);
    assert_eq!((to.bytes(), to.len()), (0, 0));
});
