//! The link: VLAN tags, frames of other types and encapsulations, and frames that are too short.

use crate::conformance::craft::{ICMP, IPV4, VLAN, bytes, ethernet, padded, tagged};
use crate::conformance::stations::{At, HOST_MAC, HOST6};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};

const PRIORITY: &str = "IEEE 802.1Q, clause 6.9.1";
const TYPES: &str = "IEEE 802.3, clause 3.2.6";
const SERVICE_TAG: u16 = 0x88a8;

pub(crate) const CASES: &[Case] = &[
    // ---- tags ----
    case("echo with a priority", PRIORITY, "icmp 0/0", Same, |a| vec![tagged(&a.ping4(b"tagged"), VLAN, 5 << 13)]),
    case("echo with a tag of nought", PRIORITY, "icmp 0/0", Same, |a| vec![tagged(&a.ping4(b"tagged"), VLAN, 0)]),
    case("echo6 with a priority", PRIORITY, "icmp6 129/0", Same, |a| vec![tagged(&a.ping6(b"tagged"), VLAN, 5 << 13)]),
    case("ARP request with a priority", PRIORITY, "arp reply", Same, |a| vec![tagged(&a.arp_request(), VLAN, 5 << 13)])
        .unmet(),
    case("solicitation with a priority", PRIORITY, "icmp6 136/0", Same, |a| {
        vec![tagged(&a.solicitation(a.v6(1), HOST6), VLAN, 5 << 13)]
    })
    .unmet(),
    case("echo in a VLAN", PRIORITY, "nothing", Same, |a| vec![tagged(&a.ping4(b"tagged"), VLAN, 7)]),
    case("echo in the reserved VLAN", "IEEE 802.1Q, clause 9.6", "nothing", Same, |a| {
        vec![tagged(&a.ping4(b"tagged"), VLAN, 4095)]
    }),
    case("ARP request in a VLAN", PRIORITY, "nothing", Same, |a| vec![tagged(&a.arp_request(), VLAN, 7)]).unmet(),
    case(
        "echo with a service tag's priority",
        "IEEE 802.1Q, clause 9.5",
        "icmp 0/0",
        Differs("nothing", "service tags are between bridges, and not looked into; Linux strips them, too"),
        |a| vec![tagged(&a.ping4(b"tagged"), SERVICE_TAG, 5 << 13)],
    ),
    case("echo in a service VLAN", "IEEE 802.1Q, clause 9.5", "nothing", Same, |a| {
        vec![tagged(&a.ping4(b"tagged"), SERVICE_TAG, 7)]
    }),
    case(
        "echo with two priorities",
        PRIORITY,
        "icmp 0/0",
        Differs("nothing", "there is one tag at most; Linux strips two"),
        |a| vec![tagged(&tagged(&a.ping4(b"tagged"), VLAN, 0), VLAN, 5 << 13)],
    ),
    case("echo in a VLAN behind a priority", PRIORITY, "nothing", Same, |a| {
        vec![tagged(&tagged(&a.ping4(b"tagged"), VLAN, 7), VLAN, 5 << 13)]
    }),
    case("tag without a frame", PRIORITY, "nothing", Same, |a| vec![ethernet(HOST_MAC, a.mac(1), VLAN, &[0, 0])]),
    // ---- types ----
    case("frame with a length for a type", TYPES, "nothing", Same, |a| {
        vec![ethernet(HOST_MAC, a.mac(1), 46, &a.ip4(ICMP).with(&a.echo4(&bytes(18))))]
    }),
    case("IP in 802.2 and SNAP", "RFC 1042", "nothing", Same, |a| {
        let packet = a.ip4(ICMP).with(&a.echo4(&bytes(18)));
        let snap = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &packet].concat();
        vec![ethernet(HOST_MAC, a.mac(1), u16::try_from(snap.len()).unwrap(), &snap)]
    }),
    case("frame of an unknown type", TYPES, "nothing", Same, |a| {
        vec![ethernet(HOST_MAC, a.mac(1), 0x88b5, &a.ip4(ICMP).with(&a.echo4(b"lost")))]
    }),
    case("frame of a type below all types", TYPES, "nothing", Same, |a| {
        vec![ethernet(HOST_MAC, a.mac(1), 1501, &a.ip4(ICMP).with(&a.echo4(b"lost")))]
    }),
    case("pause frame", "IEEE 802.3, annex 31B", "nothing", Same, |a| {
        vec![padded(ethernet([1, 0x80, 0xc2, 0, 0, 1], a.mac(1), 0x8808, &[0, 1, 0xff, 0xff]), 60, 0)]
    }),
    case("LLDP frame", "IEEE 802.1AB, clause 7", "nothing", Same, |a| {
        vec![padded(ethernet([1, 0x80, 0xc2, 0, 0, 0x0e], a.mac(1), 0x88cc, &[2, 7, 4]), 60, 0)]
    }),
    // ---- short frames ----
    case("echo in a frame shorter than Ethernet's least", "RFC 894", "icmp 0/0", Same, |a| vec![a.ping4(b"")]),
    case("frame of a header alone", TYPES, "nothing", Same, |a| vec![ethernet(HOST_MAC, a.mac(1), 0x88b5, &[])]),
    case("ARP frame of a header alone", "RFC 826", "nothing", Same, |a| {
        vec![ethernet([0xff; 6], a.mac(1), 0x0806, &[])]
    })
    .unmet(),
    case("longest frame", "RFC 894", "icmp 0/0", Same, |a| {
        let ping = a.ping4(&At::body4(1500));
        assert_eq!((ping.len(), crate::conformance::record::ethertype(&ping)), (1514, IPV4));
        vec![ping]
    }),
];
