//! Routes, with the numbers that they set for the packets that take them (RTM_GETROUTE, linux/rtnetlink.h).

use super::source::{Question, Source};
use crate::absent::Part;
use crate::netlink::message::{attribute, attributes, ip, next_hops, text, word};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `struct rtmsg`.
const HEADER: usize = 12;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_METRICS: u16 = 8;
const RTA_MULTIPATH: u16 = 9;
const RTA_TABLE: u16 = 15;
const RTM_F_CLONED: u32 = 0x200;
const AF_INET6: u8 = 10;
const RTAX_LOCK: u16 = 1;
const RTAX_CC_ALGO: u16 = 16;
/// RTN_….
const KINDS: &[&str] =
    &["none", "unicast", "local", "broadcast", "anycast", "multicast", "blackhole", "unreachable", "prohibit", "throw"];
/// RTAX_…, by iproute2's names.
const METRICS: &[(u16, &str)] = &[
    (2, "mtu"),
    (3, "window"),
    (4, "rtt"),
    (5, "rttvar"),
    (6, "ssthresh"),
    (7, "cwnd"),
    (8, "advmss"),
    (9, "reordering"),
    (10, "hoplimit"),
    (11, "initcwnd"),
    (12, "features"),
    (13, "rto_min"),
    (14, "initrwnd"),
    (15, "quickack"),
];

/// A number that a route sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// iproute2's name.
    pub name: &'static str,
    /// Value, in the kernel's unit.
    pub value: u32,
    /// Kept, whatever is found out later.
    pub locked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// `unicast`, `blackhole`, ….
    pub kind: &'static str,
    /// First address and bits of the network.
    pub to: (IpAddr, u8),
    /// Routing table; 254 is the main one.
    pub table: u32,
    /// Of routes to one network the one with the least is taken (iproute2's `metric`).
    pub priority: u32,
    /// Index of the interface, if it has one alone.
    pub link: Option<u32>,
    pub gateway: Option<IpAddr>,
    /// Interfaces and next hops of a route over several of them.
    pub hops: Vec<(u32, Option<IpAddr>)>,
    pub metrics: Vec<Metric>,
    pub congestion: Option<String>,
    /// True if it has nothing else but what is here: `ip route replace` with network, gateway, interface and table makes the
    /// same one without its metrics.
    pub plain: bool,
}

/// RTA_DST, OIF, GATEWAY, PRIORITY, METRICS, CACHEINFO, TABLE and PREF.
const PLAIN: [u16; 8] = [1, 4, 5, 6, 8, 12, 15, 20];
const RTA_PRIORITY: u16 = 6;
const RTPROT_BOOT: u8 = 3;
const RTNH_F_ONLINK: u32 = 4;

impl Route {
    /// Parses a route's message; none of what the kernel found out by itself.
    fn parse(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_at_checked(HEADER)?;
        if word(header, 8) & RTM_F_CLONED != 0 {
            return None;
        }
        let any = if header[0] == AF_INET6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let number = |kind| attribute(rest, kind).map(|value| word(value, 0));
        let set = attribute(rest, RTA_METRICS).unwrap_or_default();
        let locks = attribute(set, RTAX_LOCK).map_or(0, |locks| word(locks, 0));
        let metric = |(kind, value): (u16, &[u8])| {
            let name = METRICS.iter().find(|(one, _)| *one == kind)?.1;
            Some(Metric { name, value: word(value, 0), locked: locks & 1 << kind != 0 })
        };
        let usual = if header[0] == AF_INET6 { 1024 } else { 0 };
        let known = |(kind, _)| PLAIN.contains(&kind);
        let all_known = attributes(rest).all(known)
            && attributes(set).all(|(kind, _)| {
                kind == RTAX_LOCK || kind == RTAX_CC_ALGO || METRICS.iter().any(|(one, _)| *one == kind)
            });
        Some(Self {
            plain: all_known
                && [header[2], header[3], header[5]] == [0, 0, RTPROT_BOOT]
                && word(header, 8) & RTNH_F_ONLINK == 0
                && number(RTA_PRIORITY).unwrap_or(0) == usual,
            kind: KINDS.get(usize::from(header[7])).copied().unwrap_or("unknown"),
            to: (attribute(rest, RTA_DST).and_then(ip).unwrap_or(any), header[1]),
            table: number(RTA_TABLE).unwrap_or_else(|| header[4].into()),
            priority: number(RTA_PRIORITY).unwrap_or(0),
            link: number(RTA_OIF),
            gateway: attribute(rest, RTA_GATEWAY).and_then(ip),
            hops: next_hops(attribute(rest, RTA_MULTIPATH).unwrap_or_default())
                .map(|(link, hop)| (link, attribute(hop, RTA_GATEWAY).and_then(ip)))
                .collect(),
            metrics: attributes(set).filter_map(metric).collect(),
            congestion: attribute(set, RTAX_CC_ALGO).map(text),
        })
    }

    /// The network as `ip route` takes it.
    #[must_use]
    pub fn network(&self) -> String {
        let (address, bits) = self.to;
        if bits == 0 { "default".to_owned() } else { format!("{address}/{bits}") }
    }

    /// True if it is for packets to this address.
    #[must_use]
    pub fn is_to(&self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, true),
            IpAddr::V6(v6) => (v6.to_bits(), false),
        };
        let ((network, v4), (address, also_v4)) = (bits(self.to.0), bits(address));
        v4 == also_v4 && (network ^ address).leading_zeros() >= u32::from(self.to.1)
    }
}

/// Routes of all tables.
pub fn routes(source: &mut dyn Source) -> Part<Vec<Route>> {
    Ok(source.ask(Question::Routes, None)?.iter().filter_map(|body| Route::parse(body)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::notation::read;

    #[test]
    fn a_route_has_what_it_sets_whatever_is_cut() {
        let text = "raw hex 02180000fe030001\nraw u32 0\n15 u32 254\n1 hex 0a000200\n4 u32 7\n5 hex 0a0000fe\n\
                    8 {\n1 u32 4\n2 u32 576\n7 u32 2\n16 text reno\n}\n";
        let body = read(text).unwrap().pop().unwrap();
        let route = Route::parse(&body).unwrap();
        let wanted = Route {
            kind: "unicast",
            to: ("10.0.2.0".parse().unwrap(), 24),
            table: 254,
            priority: 0,
            link: Some(7),
            gateway: "10.0.0.254".parse().ok(),
            hops: Vec::new(),
            metrics: vec![
                Metric { name: "mtu", value: 576, locked: true },
                Metric { name: "cwnd", value: 2, locked: false },
            ],
            congestion: Some("reno".into()),
            plain: true,
        };
        assert_eq!(route, wanted);
        let is_to = |address: &str| route.is_to(address.parse().unwrap());
        assert!(is_to("10.0.2.255") && !is_to("10.0.3.0") && !is_to("a00:200::"));
        for end in 0..body.len() {
            assert!(Route::parse(&body[..end]).is_none_or(|one| one.kind == "unicast"));
        }
        // Two next hops, the second one without a gateway.
        let several = "raw hex 02000000fe030001\nraw u32 0\n15 u32 254\n\
                       9 hex 1000000007000000080005000a0000fd0800000009000000\n";
        let body = read(several).unwrap().pop().unwrap();
        assert_eq!(Route::parse(&body).unwrap().hops, [(7, "10.0.0.253".parse().ok()), (9, None)]);
        for end in 0..body.len() {
            assert!(Route::parse(&body[..end]).is_none_or(|one| one.hops.len() <= 2));
        }
        let default = Route { to: ("::".parse().unwrap(), 0), ..route };
        assert!(default.network() == "default" && default.is_to("fd00::1".parse().unwrap()));
        assert!(!default.is_to("10.0.2.1".parse().unwrap()));
    }

    /// Each of these would be lost by `ip route replace` with network, gateway and interface alone, or makes it another route.
    #[test]
    fn a_route_with_more_than_network_gateway_and_interface_is_not_plain() {
        let plain = |header: &str, flags: u32, more: &str| {
            let text = format!("raw hex {header}\nraw u32 {flags}\n15 u32 254\n1 hex 0a000200\n4 u32 7\n{more}\n");
            Route::parse(&read(&text).unwrap().pop().unwrap()).unwrap().plain
        };
        let (usual, gateway) = ("02180000fe030001", "5 hex 0a0000fe");
        assert!(plain(usual, 0, gateway) && plain("0a180000fe030001", 0, "6 u32 1024"));
        for (header, flags, more) in [
            (usual, 0, "6 u32 50"),           // metric
            (usual, 0, "7 hex 0a00024d"),     // src
            (usual, 0, "30 u32 5"),           // nhid
            (usual, 0, "11 u32 5"),           // realm
            (usual, 0, "18 hex 0a00fe80"),    // via inet6
            (usual, 4, gateway),              // onlink
            ("02180008fe030001", 0, gateway), // tos
            ("02180000fe040001", 0, gateway), // proto static
            (usual, 0, "8 {\n99 u32 1\n}"),   // a metric that is not known
        ] {
            assert!(!plain(header, flags, more), "{header} {flags} {more}");
        }
    }
}
