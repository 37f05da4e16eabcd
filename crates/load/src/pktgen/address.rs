//! Ranges of addresses and ports in the syntax of netmap's pkt-gen.
//!
//! ```text
//!   addr[-addr][:port[-port]]      10.0.0.1-10.0.0.200:1234-1300      [fd00::1]-[fd00::ff]:1234-1300
//!   addr:port-addr:port            10.0.0.1:1234-10.0.0.200:1300      (netmap's own form)
//! ```

use crate::frame::FlowRange;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// netmap's default.
const PORT: u16 = 1234;

/// Parses a range of one family. The error names the fault and the mend.
pub(super) fn range(text: &str, v6: bool) -> Result<FlowRange, String> {
    let example = if v6 { "[fd00::1]-[fd00::ff]:1234-1300" } else { "10.0.0.1-10.0.0.200:1234-1300" };
    parse(text, v6).ok_or_else(|| {
        let family = if v6 { "IPv6" } else { "IPv4" };
        format!("no range of {family} addresses and ports; write it as {example}")
    })
}

fn parse(text: &str, v6: bool) -> Option<FlowRange> {
    // At most: address, port or address, address or port, port. There are no dashes in addresses and ports.
    let pieces: Vec<&str> = text.split('-').collect();
    let (mut addrs, mut ports) = (Vec::new(), Vec::new());
    for (k, piece) in pieces.iter().enumerate() {
        // A piece that is only a number is the end of a range of ports.
        if k > 0 && !ports.is_empty() && piece.bytes().all(|b| b.is_ascii_digit()) {
            ports.push(piece.parse().ok()?);
            continue;
        }
        let (addr, port) = endpoint(piece, v6)?;
        addrs.push(addr);
        ports.extend(port);
    }
    if addrs.is_empty() || addrs.len() > 2 || ports.len() > 2 {
        return None;
    }
    let (first, last) = (addrs[0], *addrs.last()?);
    let low = ports.first().copied().unwrap_or(PORT);
    let high = ports.last().copied().unwrap_or(low);
    // As in netmap, ends in the wrong order are exchanged.
    Some(FlowRange { addrs: (first.min(last), first.max(last)), ports: (low.min(high), low.max(high)) })
}

/// Parses an address, and a port if there is one. IPv6 needs brackets when a port follows.
fn endpoint(text: &str, v6: bool) -> Option<(IpAddr, Option<u16>)> {
    if !v6 {
        let (addr, port) = text.split_once(':').map_or((text, None), |(addr, port)| (addr, Some(port)));
        let port = port.map(str::parse).transpose().ok()?;
        return Some((addr.parse::<Ipv4Addr>().ok()?.into(), port));
    }
    let Some(rest) = text.strip_prefix('[') else { return Some((text.parse::<Ipv6Addr>().ok()?.into(), None)) };
    let (addr, rest) = rest.split_once(']')?;
    let port = match rest {
        "" => None,
        rest => Some(rest.strip_prefix(':')?.parse().ok()?),
    };
    Some((addr.parse::<Ipv6Addr>().ok()?.into(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(text: &str) -> Option<(String, String, u16, u16)> {
        parse(text, false).map(|r| (r.addrs.0.to_string(), r.addrs.1.to_string(), r.ports.0, r.ports.1))
    }

    #[test]
    fn both_ways_of_writing_a_range_are_understood() {
        let all = ("10.0.0.1".into(), "10.0.0.200".into(), 1234, 1300);
        assert_eq!(v4("10.0.0.1-10.0.0.200:1234-1300"), Some(all.clone()));
        assert_eq!(v4("10.0.0.1:1234-10.0.0.200:1300"), Some(all.clone()));
        assert_eq!(v4("10.0.0.200:1300-10.0.0.1:1234"), Some(all));
        assert_eq!(v4("10.0.0.9"), Some(("10.0.0.9".into(), "10.0.0.9".into(), 1234, 1234)));
        assert_eq!(v4("10.0.0.9:7-9"), Some(("10.0.0.9".into(), "10.0.0.9".into(), 7, 9)));
        let r = parse("[fd00::1]-[fd00::ff]:5-6", true).unwrap();
        assert_eq!((r.addrs.1.to_string(), r.ports), ("fd00::ff".into(), (5, 6)));
        assert_eq!(parse("fd00::1", true).unwrap().ports, (1234, 1234));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "10.0.0", "10.0.0.1:", "10.0.0.1:99999", "10.0.0.1-", "10.0.0.1-5", "fd00::1", "1-2-3-4-5", ":5"]
        {
            assert_eq!(v4(text), None, "{text}");
        }
        for text in ["10.0.0.1", "[fd00::1", "[fd00::1]5", "fd00::1-5"] {
            assert_eq!(parse(text, true), None, "{text}");
        }
    }
}
