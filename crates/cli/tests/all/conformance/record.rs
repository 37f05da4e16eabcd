//! Answers of a subject, made comparable: checksums are verified, and what is chosen freely (identifications, times) is
//! taken out.

use super::craft::{ARP, FRAGMENT, HOP_BY_HOP, ICMP, ICMPV6, IPV4, IPV6, OPTIONS, ROUTING, UDP, checksum, pseudo};
use std::fmt::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Frames that a subject sent in a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Frames in their order; datagrams of the echo service, which may run beside the stack, behind the others.
    pub(crate) frames: Vec<Vec<u8>>,
    /// Identifications of fragments, in the order of their appearance.
    idents: Vec<u32>,
    /// The precedence of ICMP errors is kept: Linux's is another one in all of them.
    exact: bool,
    /// Checksums that were wrong, in words.
    pub(crate) wrong: Vec<String>,
}

/// An IP packet, as far as the comparison needs to know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parsed {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    pub(crate) protocol: u8,
    /// Offset in the frame of the payload.
    pub(crate) payload: usize,
    /// Offset in the frame of the packet's end.
    pub(crate) end: usize,
    /// Offset in the frame of a fragment header (IPv6), or of the identification (IPv4).
    fragment: Option<usize>,
}

pub(crate) fn ethertype(frame: &[u8]) -> u16 {
    frame.get(12..14).map_or(0, |field| u16::from_be_bytes([field[0], field[1]]))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..at + 2).map(|field| usize::from(u16::from_be_bytes([field[0], field[1]])))
}

/// The IP packet in a frame; None if it is none, or not whole.
pub(crate) fn parse(frame: &[u8]) -> Option<Parsed> {
    match ethertype(frame) {
        IPV4 => parse4(frame),
        IPV6 => parse6(frame),
        _ => None,
    }
}

fn parse4(frame: &[u8]) -> Option<Parsed> {
    let ip = frame.get(14..34)?;
    let addr = |at: usize| Some(IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(&ip[at..at + 4]).ok()?)));
    let payload = 14 + usize::from(ip[0] & 15) * 4;
    let end = 14 + u16_at(ip, 2)?;
    let fragment = (u16_at(ip, 6)? & 0x3fff != 0).then_some(18);
    let whole = ip[0] >> 4 == 4 && payload >= 34 && end >= payload && frame.len() >= end;
    whole.then_some(Parsed { from: addr(12)?, to: addr(16)?, protocol: ip[9], payload, end, fragment })
}

fn parse6(frame: &[u8]) -> Option<Parsed> {
    let ip = frame.get(14..54)?;
    let addr = |at: usize| Some(IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(&ip[at..at + 16]).ok()?)));
    let end = 54 + u16_at(ip, 4)?;
    let (mut protocol, mut payload, mut fragment) = (ip[6], 54, None);
    while matches!(protocol, HOP_BY_HOP | OPTIONS | ROUTING | FRAGMENT) && fragment.is_none() {
        let header = frame.get(payload..payload + 8)?;
        let units = if protocol == FRAGMENT { 0 } else { usize::from(header[1]) };
        fragment = (protocol == FRAGMENT).then_some(payload);
        (protocol, payload) = (header[0], payload + 8 + units * 8);
    }
    let whole = ip[0] >> 4 == 6 && frame.len() >= end && end >= payload;
    whole.then_some(Parsed { from: addr(8)?, to: addr(24)?, protocol, payload, end, fragment })
}

/// True if the checksum of a whole packet's payload is right, or if there is none.
fn is_right(frame: &[u8], ip: &Parsed) -> bool {
    let payload = &frame[ip.payload..ip.end];
    match ip.protocol {
        ICMP => checksum(&[payload]) == [0, 0],
        UDP if ip.from.is_ipv4() && payload.get(6..8) == Some(&[0, 0]) => true,
        UDP | ICMPV6 => checksum(&[&pseudo(ip.from, ip.to, ip.protocol, payload.len()), payload]) == [0, 0],
        _ => true,
    }
}

impl Record {
    pub(crate) fn new(exact: bool) -> Self {
        Self { exact, ..Self::default() }
    }

    /// Adds a frame that the subject has sent.
    pub(crate) fn add(&mut self, mut frame: Vec<u8>) {
        if let Some(ip) = parse(&frame) {
            // What stands behind the packet is the link's.
            frame.truncate(ip.end);
            self.normalise(&mut frame, &ip);
        }
        if parse(&frame).is_some_and(|ip| ip.protocol == UDP) {
            self.frames.push(frame);
        } else {
            let at = self.frames.iter().position(|frame| parse(frame).is_some_and(|ip| ip.protocol == UDP));
            self.frames.insert(at.unwrap_or(self.frames.len()), frame);
        }
    }

    fn normalise(&mut self, frame: &mut [u8], ip: &Parsed) {
        if ip.fragment.is_none() && !is_right(frame, ip) {
            self.wrong.push(format!("checksum of {}", dump(frame)));
        }
        if ip.from.is_ipv4() {
            if checksum(&[&frame[14..ip.payload]]) != [0, 0] {
                self.wrong.push(format!("header checksum of {}", dump(frame)));
            }
            let ident = u32::from(u16::from_be_bytes([frame[18], frame[19]]));
            let [.., high, low] = ip.fragment.map_or(0, |_| self.number(ident)).to_be_bytes();
            frame[18..20].copy_from_slice(&[high, low]);
            frame[24..26].copy_from_slice(&[0, 0]);
            forget_times(&mut frame[34..ip.payload]);
            if !self.exact && ip.protocol == ICMP && matches!(frame.get(ip.payload), Some(3 | 11 | 12)) {
                frame[15] &= 0x1f;
            }
            // The times of a timestamp reply (RFC 792, page 16), and the checksum over them.
            if ip.protocol == ICMP && frame.get(ip.payload) == Some(&14) && ip.end >= ip.payload + 20 {
                frame[ip.payload + 12..ip.payload + 20].fill(0);
                frame[ip.payload + 2..ip.payload + 4].fill(0);
            }
        } else if let Some(at) = ip.fragment {
            let ident = u32::from_be_bytes([frame[at + 4], frame[at + 5], frame[at + 6], frame[at + 7]]);
            frame[at + 4..at + 8].copy_from_slice(&self.number(ident).to_be_bytes());
        }
    }

    /// Number of an identification.
    fn number(&mut self, ident: u32) -> u32 {
        let known = self.idents.iter().position(|known| *known == ident).unwrap_or_else(|| {
            self.idents.push(ident);
            self.idents.len() - 1
        });
        u32::try_from(known + 1).unwrap_or(u32::MAX)
    }

    /// Number of reports of groups.
    pub(crate) fn reports(&self) -> usize {
        self.frames.iter().filter(|frame| is_report(frame)).count()
    }

    /// All frames in words: "nothing", or "arp reply, 2 x icmp 0/0".
    pub(crate) fn words(&self) -> String {
        let mut runs: Vec<(usize, String)> = Vec::new();
        for frame in &self.frames {
            let word = word(frame);
            match runs.last_mut().filter(|(_, last)| *last == word) {
                Some((n, _)) => *n += 1,
                None => runs.push((1, word)),
            }
        }
        let runs = runs.into_iter().map(|(n, word)| if n > 1 { format!("{n} x {word}") } else { word });
        let all = runs.collect::<Vec<_>>().join(", ");
        if all.is_empty() { "nothing".into() } else { all }
    }
}

/// True for a report of groups that answers a query: MLDv1's, or MLDv2's of a present state (RFC 3810, section 5.2.12).
fn is_report(frame: &[u8]) -> bool {
    let message = parse(frame).filter(|ip| ip.protocol == ICMPV6).map(|ip| &frame[ip.payload..ip.end]);
    message.is_some_and(|m| m.first() == Some(&131) || m.first() == Some(&143) && matches!(m.get(8), Some(1 | 2)))
}

/// True for the talk of a link that no case causes: router solicitations, and reports of groups unless they are `asked`
/// for.
pub(crate) fn is_background(frame: &[u8], asked: bool) -> bool {
    let Some(ip) = parse(frame).filter(|ip| ip.protocol == ICMPV6) else { return false };
    match frame.get(ip.payload) {
        Some(131 | 143) => !asked || !is_report(frame),
        Some(132 | 133) => true,
        _ => false,
    }
}

/// Takes the times out of timestamp options (RFC 791, section 3.1).
fn forget_times(options: &mut [u8]) {
    let mut at = 0;
    while let [kind, len, pointer, flags, ..] = options[at..] {
        let (end, pair) = (at + usize::from(len), flags & 15 != 0);
        if kind == 1 {
            at += 1;
            continue;
        }
        if kind == 0 || len < 2 || end > options.len() {
            return;
        }
        if kind == 68 {
            let used = (at + usize::from(pointer.saturating_sub(1))).min(end);
            let stamps = &mut options[(at + 4).min(used)..used];
            for stamp in stamps.chunks_mut(if pair { 8 } else { 4 }) {
                let from = if pair { stamp.len().min(4) } else { 0 };
                stamp[from..].fill(0);
            }
        }
        at = end;
    }
}

fn word(frame: &[u8]) -> String {
    if ethertype(frame) == ARP {
        return match frame.get(21) {
            Some(1) => "arp request".into(),
            Some(2) => "arp reply".into(),
            _ => "arp".into(),
        };
    }
    let Some(ip) = parse(frame) else { return "frame".into() };
    if ip.fragment.is_some() {
        return if ip.from.is_ipv4() { "fragment".into() } else { "fragment6".into() };
    }
    let byte = |at: usize| frame.get(ip.payload + at).copied().unwrap_or(0);
    match ip.protocol {
        ICMP => format!("icmp {}/{}", byte(0), byte(1)),
        ICMPV6 => format!("icmp6 {}/{}", byte(0), byte(1)),
        UDP if ip.from.is_ipv4() => "udp".into(),
        UDP => "udp6".into(),
        other => format!("protocol {other}"),
    }
}

fn dump(frame: &[u8]) -> String {
    let mut line = linerate_wire::summary(frame);
    line.push(':');
    for byte in frame.iter().take(160) {
        // Writing to a string does not fail.
        let _ = write!(line, " {byte:02x}");
    }
    if frame.len() > 160 {
        line.push_str(" ...");
    }
    line
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.frames.iter().try_for_each(|frame| writeln!(f, "      {}", dump(frame)))
    }
}
