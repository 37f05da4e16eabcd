//! Segments as scripts write them, and as they are on the wire.

use crate::world::{bytes, checksum, ends, framed, v4_with, v6};
use std::fmt;
use std::net::IpAddr;

/// The protocol's number.
const TCP: u8 = 6;
/// Control bits, in the order of their bits (RFC 9293, section 3.1).
const BITS: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
pub(super) const SYN: u8 = 0x02;
pub(super) const PSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;

/// A segment. Numbers are absolute on the wire, and relative in a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Segment {
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) ctl: u8,
    pub(super) data: usize,
    pub(super) win: Option<u16>,
    pub(super) mss: Option<u16>,
    pub(super) shift: Option<u8>,
    pub(super) sack_ok: bool,
    pub(super) stamps: Option<(u32, u32)>,
    pub(super) sack: Vec<(u32, u32)>,
    /// Cookie of Fast Open; empty is a request for one (RFC 7413).
    pub(super) cookie: Option<Vec<u8>>,
    /// Name that a script gives the cookie; its bytes are the host's.
    pub(super) cookie_name: Option<String>,
    /// Bits of ECN in the IP header (RFC 3168, section 5).
    pub(super) ecn: Option<u8>,
    /// Port of the peer.
    pub(super) port: u16,
    /// Options that a segment of ours must not have: `NOTS` and so on.
    pub(super) none: Vec<&'static str>,
    /// Bytes of data, of what has come.
    pub(super) payload: Vec<u8>,
}

/// Names of options, and of a bit, that may be forbidden.
const NONE: [&str; 6] = ["NOMSS", "NOWS", "NOSACKOK", "NOTS", "NOFO", "NOPSH"];
/// Values of ECN's bits (RFC 3168, figure 1).
const ECN: [&str; 4] = ["NOECT", "ECT1", "ECT0", "CE"];

impl Segment {
    /// Reads `<SEQ=100><ACK=300><CTL=SYN,ACK><DATA=10>`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let inner = text.trim().strip_prefix('<').and_then(|text| text.strip_suffix('>')).ok_or("not <KEY=VALUE>…")?;
        let mut segment = Self { port: 4000, ..Self::default() };
        for word in inner.split("><") {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number = || value.parse::<u32>().map_err(|_| format!("{key}={value}: not a number"));
            match key {
                "SEQ" => segment.seq = number()?,
                "ACK" => (segment.ack, segment.ctl) = (number()?, segment.ctl | ACK),
                "CTL" => {
                    for name in value.split(',').filter(|name| !name.is_empty()) {
                        let bit = BITS.iter().position(|bit| *bit == name).ok_or(format!("{name}: no control bit"))?;
                        segment.ctl |= 1 << bit;
                    }
                }
                "DATA" => segment.data = number()? as usize,
                "WIN" => segment.win = Some(narrow(number()?)?),
                "MSS" => segment.mss = Some(narrow(number()?)?),
                "WS" => segment.shift = Some(narrow(number()?)?),
                "PORT" => segment.port = narrow(number()?)?,
                "SACKOK" => segment.sack_ok = true,
                "TS" => segment.stamps = Some(pair(value, ',')?),
                "SACK" => segment.sack = value.split(',').map(|range| pair(range, '-')).collect::<Result<_, _>>()?,
                "FO" if value.contains(|c: char| !c.is_ascii_hexdigit()) => segment.cookie_name = Some(value.into()),
                "FO" => {
                    let digits = (0..value.len() / 2).map(|at| u8::from_str_radix(&value[2 * at..2 * at + 2], 16));
                    segment.cookie =
                        Some(digits.collect::<Result<_, _>>().map_err(|_| format!("{value}: not hexadecimal"))?);
                }
                _ if ECN.contains(&key) => {
                    segment.ecn = ECN
                        .iter()
                        .position(|name| *name == key)
                        .map(|at| narrow(u32::try_from(at).unwrap()))
                        .transpose()?
                }
                _ => segment
                    .none
                    .push(NONE.iter().find(|name| **name == key).ok_or(format!("{key}: no part of a segment"))?),
            }
        }
        Ok(segment)
    }

    /// A segment of ours in a frame; None if it is no TCP.
    pub(super) fn parse(frame: &[u8]) -> Option<Self> {
        let (is_v4, at) = (frame[12..14] == [8, 0], if frame[12..14] == [8, 0] { 34 } else { 54 });
        let (protocol, class) = if is_v4 { (frame[23], frame[15]) } else { (frame[20], frame[15] >> 4) };
        if protocol != TCP || frame[12..14] == [8, 6] {
            return None;
        }
        let tcp = &frame[at..];
        let word = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
        let long = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
        let head = usize::from(tcp[12] >> 4) * 4;
        let mut segment = Self {
            seq: long(4),
            ack: long(8),
            ctl: tcp[13],
            data: tcp.len() - head,
            win: Some(word(14)),
            ecn: Some(class & 3),
            port: word(2),
            payload: tcp[head..].to_vec(),
            ..Self::default()
        };
        let mut at = 20;
        while at < head {
            let len = if tcp[at] < 2 { 1 } else { usize::from(tcp[at + 1]) };
            match tcp[at] {
                0 => break,
                1 => {}
                2 => segment.mss = Some(word(at + 2)),
                3 => segment.shift = Some(tcp[at + 2]),
                4 => segment.sack_ok = true,
                5 => segment.sack = (at + 2..at + len).step_by(8).map(|at| (long(at), long(at + 4))).collect(),
                8 => segment.stamps = Some((long(at + 2), long(at + 6))),
                34 => segment.cookie = Some(tcp[at + 2..at + len].to_vec()),
                other => panic!("option {other}: {frame:x?}"),
            }
            assert!(len > 0 && at + len <= head, "{frame:x?}");
            at += len;
        }
        Some(segment)
    }

    /// The segment from the peer to one of our ports, in a frame; `payload` is its data.
    pub(super) fn frame(&self, (peer, us): (IpAddr, IpAddr), port: u16, payload: &[u8]) -> Vec<u8> {
        let mut options = Vec::new();
        let mut option = |kind: u8, value: &[u8]| {
            options.extend([kind, u8::try_from(value.len() + 2).unwrap()]);
            options.extend(value);
        };
        if let Some(mss) = self.mss {
            option(2, &mss.to_be_bytes());
        }
        if let Some(shift) = self.shift {
            option(3, &[shift]);
        }
        if self.sack_ok {
            option(4, &[]);
        }
        if let Some((value, echo)) = self.stamps {
            option(8, &[value.to_be_bytes(), echo.to_be_bytes()].concat());
        }
        if !self.sack.is_empty() {
            option(
                5,
                &self
                    .sack
                    .iter()
                    .flat_map(|(from, to)| [from.to_be_bytes(), to.to_be_bytes()].concat())
                    .collect::<Vec<_>>(),
            );
        }
        if let Some(cookie) = &self.cookie {
            option(34, cookie);
        }
        options.resize(options.len().next_multiple_of(4), 0);
        let mut tcp = [self.port.to_be_bytes(), port.to_be_bytes()].concat();
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([u8::try_from(5 + options.len() / 4).unwrap() << 4, self.ctl]);
        tcp.extend(self.win.unwrap_or(60_000).to_be_bytes());
        tcp.extend([0, 0, 0, 0]);
        tcp.extend(options);
        tcp.extend(payload);
        let mut pseudo = [bytes(peer), bytes(us)].concat();
        pseudo.extend(u32::try_from(tcp.len()).unwrap().to_be_bytes());
        pseudo.extend([0, 0, 0, TCP]);
        let sum = checksum(&[&pseudo, &tcp]);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        let ecn = self.ecn.unwrap_or(0);
        match (peer, us) {
            (IpAddr::V4(peer), IpAddr::V4(us)) => framed(&v4_with(peer, us, TCP, &[], &tcp, |header| header[1] |= ecn)),
            (IpAddr::V6(peer), IpAddr::V6(us)) => {
                let mut packet = v6(peer, us, TCP, 64, &tcp);
                packet[1] |= ecn << 4;
                framed(&packet)
            }
            _ => panic!("{peer} to {us}"),
        }
    }

    /// First difference of a segment of ours from this one, which a script expects; None if there is none.
    pub(super) fn differs(&self, ours: &Self) -> Option<&'static str> {
        let asked = if self.ctl & PSH == 0 { !PSH } else { !0 };
        let options = [
            ours.mss.is_some(),
            ours.shift.is_some(),
            ours.sack_ok,
            ours.stamps.is_some(),
            ours.cookie.is_some(),
            ours.ctl & PSH != 0,
        ];
        let forbidden = NONE.iter().zip(options).find(|(name, there)| *there && self.none.contains(name));
        if let Some((name, _)) = forbidden {
            return Some(name);
        }
        let checks = [
            ("PORT", self.port == ours.port),
            ("SEQ", self.seq == ours.seq),
            ("CTL", self.ctl & asked == ours.ctl & asked),
            ("ACK", self.ctl & ACK == 0 || self.ack == ours.ack),
            ("DATA", self.data == ours.data),
            ("WIN", self.win.is_none_or(|win| ours.win == Some(win))),
            ("MSS", self.mss.is_none() || self.mss == ours.mss),
            ("WS", self.shift.is_none() || self.shift == ours.shift),
            ("SACKOK", !self.sack_ok || ours.sack_ok),
            ("TS", self.stamps.is_none() || self.stamps == ours.stamps),
            ("SACK", self.sack == ours.sack),
            ("FO", self.cookie.is_none() || self.cookie == ours.cookie),
            ("ECN", self.ecn.is_none() || self.ecn == ours.ecn),
        ];
        checks.into_iter().find(|(_, right)| !right).map(|(name, _)| name)
    }
}

/// Both ends in a frame, the sender first.
pub(super) fn between(frame: &[u8]) -> (IpAddr, IpAddr, u16) {
    let (from, to) = ends(frame);
    let at = if from.is_ipv4() { 34 } else { 54 };
    (from, to, u16::from_be_bytes([frame[at], frame[at + 1]]))
}

fn narrow<T: TryFrom<u32>>(number: u32) -> Result<T, String> {
    T::try_from(number).map_err(|_| format!("{number} is too much"))
}

fn pair(text: &str, between: char) -> Result<(u32, u32), String> {
    let (one, other) = text.split_once(between).ok_or(format!("{text}: not two numbers"))?;
    Ok((
        one.parse().map_err(|_| format!("{one}: not a number"))?,
        other.parse().map_err(|_| format!("{other}: not a number"))?,
    ))
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> =
            BITS.iter().enumerate().filter(|(bit, _)| self.ctl >> bit & 1 == 1).map(|(_, name)| *name).collect();
        write!(f, "<SEQ={}>", self.seq)?;
        if self.ctl & ACK != 0 {
            write!(f, "<ACK={}>", self.ack)?;
        }
        write!(f, "<CTL={}><DATA={}>", names.join(","), self.data)?;
        self.win.iter().try_for_each(|win| write!(f, "<WIN={win}>"))?;
        self.mss.iter().try_for_each(|mss| write!(f, "<MSS={mss}>"))?;
        self.shift.iter().try_for_each(|shift| write!(f, "<WS={shift}>"))?;
        f.write_str(if self.sack_ok { "<SACKOK>" } else { "" })?;
        self.stamps.iter().try_for_each(|(value, echo)| write!(f, "<TS={value},{echo}>"))?;
        if !self.sack.is_empty() {
            let ranges: Vec<_> = self.sack.iter().map(|(from, to)| format!("{from}-{to}")).collect();
            write!(f, "<SACK={}>", ranges.join(","))?;
        }
        if let Some(cookie) = &self.cookie {
            write!(f, "<FO={}>", cookie.iter().map(|byte| format!("{byte:02x}")).collect::<String>())?;
        }
        self.ecn.iter().filter(|ecn| **ecn > 0).try_for_each(|ecn| write!(f, "<{}>", ECN[usize::from(*ecn)]))?;
        if self.port == 4000 { Ok(()) } else { write!(f, "<PORT={}>", self.port) }
    }
}
