//! Options of IPv4 (RFC 791, section 3.1; RFC 1122, section 3.2.1.8). Both hosts take no source routes.

use crate::conformance::craft::{ICMP, UDP, V4};
use crate::conformance::stations::{At, CLOSED};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};

const OPTIONS: &str = "RFC 791, section 3.1";
const HOSTS: &str = "RFC 1122, section 3.2.1.8";
const SOURCE: &str = "RFC 7126, section 4.3";
const PROBLEM: &str = "RFC 1122, section 3.2.2.5";

/// Echo with these options.
fn with(a: At, options: &[u8]) -> Vec<Vec<u8>> {
    vec![a.frame4(&V4 { options: options.to_vec(), ..a.ip4(ICMP) }.with(&a.echo4(b"optional")))]
}

/// Datagram for a closed port with these options.
fn closed(a: At, options: &[u8]) -> Vec<Vec<u8>> {
    vec![a.frame4(&V4 { options: options.to_vec(), ..a.ip4(UDP) }.with(&a.datagram4(CLOSED, b"optional")))]
}

/// An option for addresses with this type and pointer, and one for an end.
fn addresses(kind: u8, pointer: u8, all: &[[u8; 4]]) -> Vec<u8> {
    let len = u8::try_from(3 + 4 * all.len()).unwrap();
    [&[kind, len, pointer], &all.concat()[..], &[0]].concat()
}

pub(crate) const CASES: &[Case] = &[
    // ---- those that say nothing ----
    case("no operation", OPTIONS, "icmp 0/0", Same, |a| with(a, &[1, 1, 1, 1])),
    case("end of options", OPTIONS, "icmp 0/0", Same, |a| with(a, &[0, 0, 0, 0])),
    case("anything behind the end of options", OPTIONS, "icmp 0/0", Same, |a| with(a, &[0, 7, 1, 200])),
    case("40 bytes of no operation", OPTIONS, "icmp 0/0", Same, |a| with(a, &[1; 40])),
    case("an unknown option", HOSTS, "icmp 0/0", Same, |a| with(a, &[30, 4, 1, 2])),
    case("an unknown option that is copied", HOSTS, "icmp 0/0", Same, |a| with(a, &[0x9e, 4, 1, 2])),
    case("stream identifier", "RFC 791, section 3.1", "icmp 0/0", Same, |a| with(a, &[136, 4, 0, 1])),
    case("router alert", "RFC 2113, section 2.1", "icmp 0/0", Same, |a| with(a, &[148, 4, 0, 0])),
    case(
        "router alert cut short",
        "RFC 2113, section 2.1",
        "icmp 12/0",
        Differs("icmp 0/0", "router alerts are for routers, and skipped here as unknown options are"),
        |a| with(a, &[148, 3, 0, 0]),
    ),
    case("security", "RFC 1108, section 2", "icmp 0/0", Same, |a| with(a, &[130, 3, 0xab, 0])),
    // ---- record route ----
    case(
        "record route",
        HOSTS,
        "icmp 0/0",
        Differs(
            "icmp 0/0",
            "the host is entered once (RFC 1122, section 3.2.1.8); Linux enters it on the way in and on the way out",
        ),
        |a| with(a, &addresses(7, 4, &[[0; 4], [0; 4]])),
    ),
    case("record route with one place left", HOSTS, "icmp 0/0", Same, |a| {
        with(a, &addresses(7, 8, &[[10, 1, 1, 1], [0; 4]]))
    }),
    case("record route without a place left", HOSTS, "icmp 0/0", Same, |a| {
        with(a, &addresses(7, 12, &[[10, 1, 1, 1], [10, 2, 2, 2]]))
    }),
    case(
        "record route with nine places",
        HOSTS,
        "icmp 0/0",
        Differs(
            "icmp 0/0",
            "the host is entered once (RFC 1122, section 3.2.1.8); Linux enters it on the way in and on the way out",
        ),
        |a| with(a, &addresses(7, 4, &[[0; 4]; 9])),
    ),
    case("record route with less than a place left", OPTIONS, "icmp 12/0", Same, |a| {
        with(a, &addresses(7, 6, &[[0; 4]]))
    }),
    case("record route whose pointer is too small", OPTIONS, "icmp 12/0", Same, |a| {
        with(a, &addresses(7, 3, &[[0; 4]]))
    }),
    case("record route too short for a pointer", OPTIONS, "icmp 12/0", Same, |a| with(a, &[7, 2, 0, 0])),
    case("record route twice", OPTIONS, "icmp 0/0", Same, |a| {
        with(a, &[addresses(7, 4, &[[0; 4]]), addresses(7, 4, &[[0; 4]])].concat())
    }),
    case(
        "record route to a closed port",
        HOSTS,
        "icmp 3/3",
        Differs("icmp 3/3", "errors carry no options; RFC 1122, section 3.2.2.6, asks for them in echo replies"),
        |a| closed(a, &addresses(7, 4, &[[0; 4], [0; 4]])),
    ),
    // ---- timestamp ----
    case(
        "timestamps",
        HOSTS,
        "icmp 0/0",
        Differs("icmp 0/0", "one time is entered, as one address is; Linux enters two"),
        |a| with(a, &[68, 12, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ),
    case(
        "timestamps with addresses",
        HOSTS,
        "icmp 0/0",
        Differs("icmp 0/0", "the host is entered once, as in record route; Linux enters it twice"),
        |a| with(a, &[&[68, 20, 5, 1][..], &[0; 16]].concat()),
    ),
    case("timestamps for addresses that are given", HOSTS, "icmp 0/0", Same, |a| {
        with(a, &[68, 12, 5, 3, 10, 0, 0, 2, 0, 0, 0, 0])
    }),
    case("timestamps for addresses of others", HOSTS, "icmp 0/0", Same, |a| {
        with(a, &[68, 12, 5, 3, 10, 9, 9, 9, 0, 0, 0, 0])
    }),
    case("timestamps without a place left", HOSTS, "icmp 0/0", Same, |a| with(a, &[68, 8, 9, 0, 0, 0, 0, 1])),
    case("timestamps that have overflowed 15 times", OPTIONS, "icmp 12/0", Same, |a| {
        with(a, &[68, 8, 9, 0xf0, 0, 0, 0, 1])
    }),
    case("timestamps whose pointer is too small", OPTIONS, "icmp 12/0", Same, |a| with(a, &[68, 8, 4, 0, 0, 0, 0, 0])),
    case("timestamps too short for flags", OPTIONS, "icmp 12/0", Same, |a| with(a, &[68, 3, 5, 0])),
    case("timestamps with less than a place left", OPTIONS, "icmp 12/0", Same, |a| with(a, &[68, 8, 7, 0, 0, 0, 0, 0])),
    // ---- source routes ----
    case("loose source route through others", SOURCE, "nothing", Same, |a| {
        with(a, &addresses(131, 4, &[[10, 9, 9, 9]]))
    }),
    case("loose source route that has ended", SOURCE, "nothing", Same, |a| {
        with(a, &addresses(131, 8, &[[10, 9, 9, 9]]))
    }),
    case("strict source route through others", "RFC 7126, section 4.4", "nothing", Same, |a| {
        with(a, &addresses(137, 4, &[[10, 9, 9, 9]]))
    }),
    case("strict source route that has ended", "RFC 7126, section 4.4", "nothing", Same, |a| {
        with(a, &addresses(137, 8, &[[10, 9, 9, 9]]))
    }),
    case("source route to a closed port", SOURCE, "nothing", Same, |a| closed(a, &addresses(131, 8, &[[10, 9, 9, 9]]))),
    case(
        "source route too short for a pointer",
        SOURCE,
        "icmp 12/0",
        Differs(
            "nothing",
            "packets with source routes are dropped whatever their length (RFC 7126); Linux reports the length",
        ),
        |a| with(a, &[131, 2, 0, 0]),
    ),
    // ---- wrong lengths ----
    case("an option of length zero", PROBLEM, "icmp 12/0", Same, |a| with(a, &[30, 0, 0, 0])),
    case("an option of length one", PROBLEM, "icmp 12/0", Same, |a| with(a, &[1, 30, 1, 0])),
    case("an option longer than the header", PROBLEM, "icmp 12/0", Same, |a| with(a, &[30, 5, 0, 0])),
    case("an option without a length", PROBLEM, "icmp 12/0", Same, |a| with(a, &[1, 1, 1, 30])),
    case("a datagram with an option of length zero", PROBLEM, "icmp 12/0", Same, |a| closed(a, &[30, 0, 0, 0])),
];
