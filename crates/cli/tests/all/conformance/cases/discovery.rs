//! Neighbour discovery (RFC 4861) and duplicate address detection (RFC 4862): questions, and what is believed.

use crate::conformance::craft::{ICMPV6, Mac, V6, group_mac, icmp6, link_option, solicited_node};
use crate::conformance::stations::{ALL_NODES, At, HOST_LOCAL, HOST6};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};
use std::net::Ipv6Addr;

const VALID: &str = "RFC 4861, section 7.1.1";
const ANSWER: &str = "RFC 4861, section 7.2.4";
const BELIEF: &str = "RFC 4861, section 7.2.5";
const DAD: &str = "RFC 4862, section 5.4.3";
const NOBODY: Ipv6Addr = Ipv6Addr::UNSPECIFIED;
/// Flags of an advertisement.
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// Solicitation of an address with these options, to this address.
fn solicit(a: At, from: Ipv6Addr, to: Ipv6Addr, target: Ipv6Addr, options: &[u8]) -> Vec<Vec<u8>> {
    let packet = a.discovery(from, to, 135, [0; 4], &[&target.octets()[..], options].concat());
    vec![if to.is_multicast() { a.group6(&packet, to) } else { a.frame6(&packet) }]
}

/// Solicitation of the subject's address that is as it should be, but for these options.
fn with(a: At, options: &[u8]) -> Vec<Vec<u8>> {
    solicit(a, a.v6(1), solicited_node(HOST6), HOST6, options)
}

/// Solicitation in a packet that differs.
fn odd(a: At, hops: u8, code: u8, len: usize) -> Vec<Vec<u8>> {
    let to = solicited_node(HOST6);
    let body = [&HOST6.octets()[..], &link_option(1, a.mac(1))].concat();
    let message = icmp6(a.v6(1), to, 135, code, [0; 4], &body[..len]);
    vec![a.group6(&V6 { hops, to, ..a.ip6(ICMPV6) }.with(&message), to)]
}

/// Advertisement of station 1's address with flags, and a MAC address or none; then an echo.
fn advertised(a: At, to: Ipv6Addr, flags: u8, mac: Option<Mac>) -> Vec<Vec<u8>> {
    let options = mac.map_or(Vec::new(), |mac| link_option(2, mac));
    let packet = a.discovery(a.v6(1), to, 136, [flags, 0, 0, 0], &[&a.v6(1).octets()[..], &options].concat());
    let frame = if to.is_multicast() { a.group6(&packet, to) } else { a.frame6(&packet) };
    vec![frame, a.ping6(b"where to")]
}

pub(crate) const CASES: &[Case] = &[
    // ---- solicitations ----
    case("solicitation", ANSWER, "icmp6 136/0", Same, |a| with(a, &link_option(1, a.mac(1)))).unmet(),
    case("solicitation of the link-local address", ANSWER, "icmp6 136/0", Same, |a| {
        vec![a.solicitation(a.local(1), HOST_LOCAL)]
    })
    .unmet(),
    case("solicitation from a link-local address", ANSWER, "icmp6 136/0", Same, |a| {
        vec![a.solicitation(a.local(1), HOST6)]
    })
    .unmet(),
    case(
        "solicitation to the address itself",
        ANSWER,
        "icmp6 136/0",
        Differs("icmp6 136/0", "with override and MAC address; RFC 4861 allows to leave them out, as Linux does"),
        |a| solicit(a, a.v6(1), HOST6, HOST6, &link_option(1, a.mac(1))),
    )
    .unmet(),
    case(
        "solicitation of a known neighbour, to the address itself",
        ANSWER,
        "icmp6 136/0",
        Differs("icmp6 136/0", "with override and MAC address; RFC 4861 allows to leave them out, as Linux does"),
        |a| solicit(a, a.v6(1), HOST6, HOST6, &[]),
    ),
    case(
        "solicitation without a MAC address",
        VALID,
        "nothing",
        Differs("icmp6 136/0", "answered to the station that asked; Linux drops it"),
        |a| with(a, &[]),
    )
    .unmet(),
    case(
        "solicitation without a MAC address, to the address itself",
        VALID,
        "icmp6 135/0, icmp6 136/0",
        Differs("icmp6 136/0", "answered to the station that asked; Linux asks for its MAC address first"),
        |a| solicit(a, a.v6(1), HOST6, HOST6, &[]),
    )
    .unmet(),
    case("solicitation to all nodes", ANSWER, "icmp6 136/0", Same, |a| {
        solicit(a, a.v6(1), ALL_NODES, HOST6, &link_option(1, a.mac(1)))
    })
    .unmet(),
    case("solicitation and an echo", BELIEF, "icmp6 136/0, icmp6 129/0", Same, |a| {
        vec![a.solicitation(a.v6(1), HOST6), a.ping6(b"known by now")]
    })
    .unmet(),
    case("solicitation of another's address", VALID, "nothing", Same, |a| {
        solicit(a, a.v6(1), ALL_NODES, a.v6(2), &link_option(1, a.mac(1)))
    })
    .unmet(),
    case("solicitation of a group", VALID, "nothing", Same, |a| {
        solicit(a, a.v6(1), ALL_NODES, solicited_node(HOST6), &link_option(1, a.mac(1)))
    })
    .unmet(),
    case("solicitation from afar", VALID, "nothing", Same, |a| odd(a, 254, 0, 24)).unmet(),
    case("solicitation from behind the router", ANSWER, "icmp6 136/0", Same, |a| {
        vec![a.solicitation(a.far6(1), HOST6)]
    })
    .unmet(),
    case("solicitation with a code", VALID, "nothing", Same, |a| odd(a, 255, 1, 24)).unmet(),
    case("solicitation cut within its target", VALID, "nothing", Same, |a| odd(a, 255, 0, 15)).unmet(),
    case("solicitation cut within an option", VALID, "nothing", Same, |a| odd(a, 255, 0, 20)).unmet(),
    case("solicitation with a wrong checksum", VALID, "nothing", Same, |a| {
        let mut frames = odd(a, 255, 0, 24);
        frames[0][14 + 40 + 2] ^= 1;
        frames
    })
    .unmet(),
    case("solicitation with an option of length zero", VALID, "nothing", Same, |a| {
        with(a, &[&link_option(1, a.mac(1))[..], &[99, 0, 0, 0, 0, 0, 0, 0]].concat())
    })
    .unmet(),
    case("solicitation with an unknown option", "RFC 4861, section 4.6", "icmp6 136/0", Same, |a| {
        with(a, &[&[99, 1, 1, 2, 3, 4, 5, 6][..], &link_option(1, a.mac(1))].concat())
    })
    .unmet(),
    case("solicitation with a nonce", "RFC 7527, section 4", "icmp6 136/0", Same, |a| {
        with(a, &[&link_option(1, a.mac(1))[..], &[14, 1, 1, 2, 3, 4, 5, 6]].concat())
    })
    .unmet(),
    case(
        "solicitation with a target's MAC address",
        VALID,
        "nothing",
        Differs("icmp6 136/0", "answered to the station that asked; Linux drops it"),
        |a| with(a, &link_option(2, a.mac(1))),
    )
    .unmet(),
    case(
        "solicitation with the MAC address of a group",
        VALID,
        "icmp6 136/0",
        Differs("nothing", "stations have no such address; Linux answers to the group"),
        |a| with(a, &link_option(1, group_mac(ALL_NODES.into()))),
    )
    .unmet(),
    case(
        "solicitation from our address",
        DAD,
        "icmp6 136/0",
        Differs("nothing", "a packet from outside cannot come from our address; Linux answers it"),
        |a| solicit(a, HOST6, solicited_node(HOST6), HOST6, &link_option(1, a.mac(1))),
    )
    .unmet(),
    // ---- duplicate address detection ----
    case("address that we have", DAD, "icmp6 136/0", Same, |a| solicit(a, NOBODY, solicited_node(HOST6), HOST6, &[]))
        .unmet(),
    case("link-local address that we have", DAD, "icmp6 136/0", Same, |a| {
        solicit(a, NOBODY, solicited_node(HOST_LOCAL), HOST_LOCAL, &[])
    })
    .unmet(),
    case("address that we have, with a nonce", "RFC 7527, section 4.2", "icmp6 136/0", Same, |a| {
        solicit(a, NOBODY, solicited_node(HOST6), HOST6, &[14, 1, 1, 2, 3, 4, 5, 6])
    })
    .unmet(),
    case("address that we do not have", DAD, "nothing", Same, |a| {
        solicit(a, NOBODY, solicited_node(HOST6), Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 0, 9, 2), &[])
    })
    .unmet(),
    case("solicitation from no address with a MAC address", VALID, "nothing", Same, |a| {
        solicit(a, NOBODY, solicited_node(HOST6), HOST6, &link_option(1, a.mac(1)))
    })
    .unmet(),
    case("solicitation from no address to one station", VALID, "nothing", Same, |a| {
        solicit(a, NOBODY, HOST6, HOST6, &[])
    })
    .unmet(),
    case("solicitation from no address to all nodes", VALID, "nothing", Same, |a| {
        solicit(a, NOBODY, ALL_NODES, HOST6, &[])
    })
    .unmet(),
    case("advertisement of our address", "RFC 4862, section 5.4.4", "nothing", Same, |a| {
        let body = [&HOST6.octets()[..], &link_option(2, a.mac(1))].concat();
        vec![a.group6(&a.discovery(HOST6, ALL_NODES, 136, [OVERRIDE, 0, 0, 0], &body), ALL_NODES)]
    }),
    // ---- advertisements ----
    case("advertisement that nobody asked for", BELIEF, "icmp6 135/0, icmp6 129/0", Same, |a| {
        advertised(a, HOST6, OVERRIDE | SOLICITED, Some(a.mac(1)))
    })
    .unmet(),
    case("advertisement of another MAC address", BELIEF, "icmp6 129/0", Same, |a| {
        advertised(a, HOST6, OVERRIDE, Some(a.mac(2)))
    }),
    case("advertisement of another MAC address to all nodes", BELIEF, "icmp6 129/0", Same, |a| {
        advertised(a, ALL_NODES, OVERRIDE, Some(a.mac(2)))
    }),
    case("advertisement of another MAC address, as if asked for", BELIEF, "icmp6 129/0", Same, |a| {
        advertised(a, HOST6, OVERRIDE | SOLICITED, Some(a.mac(2)))
    }),
    case("advertisement of another MAC address that overrides nothing", BELIEF, "icmp6 129/0", Same, |a| {
        advertised(a, HOST6, 0, Some(a.mac(2)))
    }),
    case(
        "advertisement of another MAC address, as if asked for, that overrides nothing",
        BELIEF,
        "icmp6 129/0",
        Same,
        |a| advertised(a, HOST6, SOLICITED, Some(a.mac(2))),
    ),
    case("advertisement without a MAC address", BELIEF, "icmp6 129/0", Same, |a| {
        advertised(a, HOST6, OVERRIDE | SOLICITED, None)
    }),
    case("advertisement to all nodes, as if asked for", "RFC 4861, section 7.1.2", "icmp6 129/0", Same, |a| {
        advertised(a, ALL_NODES, OVERRIDE | SOLICITED, Some(a.mac(2)))
    }),
    case(
        "advertisement with the MAC address of a group",
        BELIEF,
        "icmp6 129/0",
        Differs(
            "icmp6 129/0",
            "stations have no such address, so it is not learned; Linux sends to the group from then on",
        ),
        |a| advertised(a, HOST6, OVERRIDE, Some(group_mac(ALL_NODES.into()))),
    ),
    case("advertisement from afar", "RFC 4861, section 7.1.2", "icmp6 129/0", Same, |a| {
        let body = [&a.v6(1).octets()[..], &link_option(2, a.mac(2))].concat();
        let message = icmp6(a.v6(1), HOST6, 136, 0, [OVERRIDE, 0, 0, 0], &body);
        vec![a.frame6(&V6 { hops: 64, ..a.ip6(ICMPV6) }.with(&message)), a.ping6(b"where to")]
    }),
    case(
        "solicitation from a known neighbour's new MAC address",
        "RFC 4861, section 7.2.3",
        "icmp6 136/0, icmp6 129/0",
        Same,
        |a| {
            let mut frames = with(a, &link_option(1, a.mac(2)));
            frames.push(a.ping6(b"where to"));
            frames
        },
    ),
];
