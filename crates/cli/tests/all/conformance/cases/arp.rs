//! ARP (RFC 826, RFC 5227): questions, and what is believed. An echo shows where an answer goes.

use crate::conformance::craft::{ARP, BROADCAST, Mac, arp, cut, ethernet, padded};
use crate::conformance::stations::{At, HOST_MAC, HOST4};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};
use std::net::Ipv4Addr;

const RECEPTION: &str = "RFC 826, packet reception";
const CONFLICT: &str = "RFC 5227, section 2.4";
const NOBODY: Mac = [0; 6];

/// Request to all for an address, from station 1's MAC address and this IP address.
fn request(a: At, from: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    ethernet(BROADCAST, a.mac(1), ARP, &arp(1, (a.mac(1), from), (NOBODY, target)))
}

/// Request with other bytes in its head: types and lengths of addresses, and the operation.
fn head(a: At, bytes: [u8; 8]) -> Vec<u8> {
    let mut frame = request(a, a.v4(1), HOST4);
    frame[14..22].copy_from_slice(&bytes);
    frame
}

/// Echo of a known neighbour after a frame that says something else of it.
fn moved(a: At, frame: Vec<u8>) -> Vec<Vec<u8>> {
    vec![frame, a.ping4(b"where to")]
}

pub(crate) const CASES: &[Case] = &[
    case("ARP request", RECEPTION, "arp reply", Same, |a| vec![a.arp_request()]).unmet(),
    case("ARP request to one station", RECEPTION, "arp reply", Same, |a| {
        vec![ethernet(HOST_MAC, a.mac(1), ARP, &arp(1, (a.mac(1), a.v4(1)), (HOST_MAC, HOST4)))]
    })
    .unmet(),
    case("ARP request with padding", RECEPTION, "arp reply", Same, |a| vec![padded(a.arp_request(), 60, 0xaa)]).unmet(),
    case("ARP request and an echo", RECEPTION, "arp reply, icmp 0/0", Same, |a| {
        vec![a.arp_request(), a.ping4(b"known by now")]
    })
    .unmet(),
    case("ARP request for another", RECEPTION, "nothing", Same, |a| vec![request(a, a.v4(1), a.v4(2))]).unmet(),
    case("ARP request for another and an echo", RECEPTION, "arp request, icmp 0/0", Same, |a| {
        vec![request(a, a.v4(1), a.v4(2)), a.ping4(b"not learned")]
    })
    .unmet(),
    case("ARP request to another station's MAC address", RECEPTION, "nothing", Same, |a| {
        vec![ethernet(a.mac(9), a.mac(1), ARP, &arp(1, (a.mac(1), a.v4(1)), (NOBODY, HOST4)))]
    })
    .unmet(),
    case("ARP request from another MAC address than the frame's", RECEPTION, "arp reply", Same, |a| {
        vec![ethernet(BROADCAST, a.mac(2), ARP, &arp(1, (a.mac(1), a.v4(1)), (NOBODY, HOST4)))]
    })
    .unmet(),
    case("ARP request with a target MAC address", RECEPTION, "arp reply", Same, |a| {
        vec![ethernet(BROADCAST, a.mac(1), ARP, &arp(1, (a.mac(1), a.v4(1)), (a.mac(9), HOST4)))]
    })
    .unmet(),
    case("ARP request from behind the router", RECEPTION, "arp reply", Same, |a| vec![request(a, a.far4(1), HOST4)])
        .unmet(),
    case("ARP probe", "RFC 5227, section 2.1", "arp reply", Same, |a| vec![request(a, Ipv4Addr::UNSPECIFIED, HOST4)])
        .unmet(),
    case("ARP announcement", "RFC 5227, section 2.3", "nothing", Same, |a| vec![request(a, a.v4(1), a.v4(1))]).unmet(),
    case("ARP announcement and an echo", "RFC 5227, section 2.3", "arp request, icmp 0/0", Same, |a| {
        vec![request(a, a.v4(1), a.v4(1)), a.ping4(b"not learned")]
    })
    .unmet(),
    case(
        "ARP announcement of our address",
        CONFLICT,
        "nothing",
        Differs(
            "arp request",
            "an address in use is defended (RFC 5227, section 2.4 c); Linux leaves that to programs",
        ),
        |a| vec![request(a, HOST4, HOST4)],
    )
    .unmet(),
    case("ARP request from our address", CONFLICT, "nothing", Same, |a| vec![request(a, HOST4, a.v4(2))]).unmet(),
    case("ARP reply from our address", CONFLICT, "nothing", Same, |a| {
        vec![ethernet(HOST_MAC, a.mac(1), ARP, &arp(2, (a.mac(1), HOST4), (HOST_MAC, HOST4)))]
    })
    .unmet(),
    // ---- what is believed ----
    case("ARP reply that nobody asked for", RECEPTION, "arp request, icmp 0/0", Same, |a| {
        let reply = arp(2, (a.mac(1), a.v4(1)), (HOST_MAC, HOST4));
        vec![ethernet(HOST_MAC, a.mac(1), ARP, &reply), a.ping4(b"not learned")]
    })
    .unmet(),
    case("ARP request from a known neighbour's new MAC address", RECEPTION, "arp reply, icmp 0/0", Same, |a| {
        moved(a, ethernet(BROADCAST, a.mac(2), ARP, &arp(1, (a.mac(2), a.v4(1)), (NOBODY, HOST4))))
    }),
    case(
        "ARP announcement of a known neighbour's new MAC address",
        "RFC 826, packet reception",
        "icmp 0/0",
        Same,
        |a| moved(a, ethernet(BROADCAST, a.mac(2), ARP, &arp(1, (a.mac(2), a.v4(1)), (NOBODY, a.v4(1))))),
    ),
    case("ARP reply with a known neighbour's new MAC address", RECEPTION, "icmp 0/0", Same, |a| {
        moved(a, ethernet(HOST_MAC, a.mac(2), ARP, &arp(2, (a.mac(2), a.v4(1)), (HOST_MAC, HOST4))))
    }),
    case("ARP reply to all with a known neighbour's new MAC address", RECEPTION, "icmp 0/0", Same, |a| {
        moved(a, ethernet(BROADCAST, a.mac(2), ARP, &arp(2, (a.mac(2), a.v4(1)), (BROADCAST, a.v4(1)))))
    }),
    case("ARP request for another from a known neighbour's new MAC address", RECEPTION, "icmp 0/0", Same, |a| {
        moved(a, ethernet(BROADCAST, a.mac(2), ARP, &arp(1, (a.mac(2), a.v4(1)), (NOBODY, a.v4(3)))))
    }),
    // ---- senders that cannot be ----
    case(
        "ARP request from the broadcast MAC address",
        "RFC 1812, section 3.3.2",
        "arp reply",
        Differs("nothing", "stations have no such address (RFC 1812, section 3.3.2); Linux answers to all"),
        |a| vec![ethernet(BROADCAST, a.mac(1), ARP, &arp(1, (BROADCAST, a.v4(1)), (NOBODY, HOST4)))],
    )
    .unmet(),
    case(
        "ARP request from a group's MAC address",
        "RFC 1812, section 3.3.2",
        "arp reply",
        Differs("nothing", "stations have no such address (RFC 1812, section 3.3.2); Linux answers to the group"),
        |a| vec![ethernet(BROADCAST, a.mac(1), ARP, &arp(1, ([1, 0, 0x5e, 0, 0, 1], a.v4(1)), (NOBODY, HOST4)))],
    )
    .unmet(),
    case("ARP request from MAC address zero", RECEPTION, "nothing", Same, |a| {
        vec![ethernet(BROADCAST, a.mac(1), ARP, &arp(1, (NOBODY, a.v4(1)), (NOBODY, HOST4)))]
    })
    .unmet(),
    case("ARP request from a group", "RFC 1122, section 3.2.1.3", "nothing", Same, |a| {
        vec![request(a, Ipv4Addr::new(224, 0, 0, 5), HOST4)]
    })
    .unmet(),
    case("ARP request from the broadcast address", "RFC 1122, section 3.2.1.3", "nothing", Same, |a| {
        vec![request(a, Ipv4Addr::BROADCAST, HOST4)]
    })
    .unmet(),
    case("ARP request from the loopback address", "RFC 1122, section 3.2.1.3", "nothing", Same, |a| {
        vec![request(a, Ipv4Addr::LOCALHOST, HOST4)]
    })
    .unmet(),
    case("ARP request for the loopback address", "RFC 1122, section 3.2.1.3", "nothing", Same, |a| {
        vec![request(a, a.v4(1), Ipv4Addr::LOCALHOST)]
    })
    .unmet(),
    // ---- other packets ----
    case(
        "ARP request for IEEE 802 networks",
        "RFC 1042",
        "arp reply",
        Differs("nothing", "only Ethernet's type of hardware is known; Linux takes IEEE 802's for the same (RFC 1042)"),
        |a| vec![head(a, [0, 6, 8, 0, 6, 4, 0, 1])],
    )
    .unmet(),
    case("ARP request of another hardware", RECEPTION, "nothing", Same, |a| vec![head(a, [0, 7, 8, 0, 6, 4, 0, 1])])
        .unmet(),
    case("ARP request of another protocol", RECEPTION, "nothing", Same, |a| {
        vec![head(a, [0, 1, 0x86, 0xdd, 6, 4, 0, 1])]
    })
    .unmet(),
    case("ARP request of another length of MAC addresses", RECEPTION, "nothing", Same, |a| {
        vec![head(a, [0, 1, 8, 0, 8, 4, 0, 1])]
    })
    .unmet(),
    case("ARP request of another length of IP addresses", RECEPTION, "nothing", Same, |a| {
        vec![head(a, [0, 1, 8, 0, 6, 16, 0, 1])]
    })
    .unmet(),
    case("ARP of an unknown operation", RECEPTION, "nothing", Same, |a| vec![head(a, [0, 1, 8, 0, 6, 4, 0, 9])])
        .unmet(),
    case("RARP request", "RFC 903", "nothing", Same, |a| vec![head(a, [0, 1, 8, 0, 6, 4, 0, 3])]).unmet(),
    case("ARP request cut short", RECEPTION, "nothing", Same, |a| vec![cut(a.arp_request(), 41)]).unmet(),
];
