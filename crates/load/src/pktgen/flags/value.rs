//! Values of flags.

use crate::flags::number;
use crate::pktgen::config::options;
use crate::pktgen::sizes::LIMITS;
use linerate_wire::MacAddr;
use std::str::FromStr;
use std::time::Duration;

/// Bits of netmap that select how frames are handed over, for which linerate has only one way.
pub(super) const ACCESS: u32 = 2;
pub(super) const INDIRECT: u32 = 32;

/// Parses the value of `-o`.
pub(super) fn bits(text: &str) -> Result<u32, String> {
    let bits = number(text, 0..=u32::MAX)?;
    let known = options::ALL.iter().fold(ACCESS | INDIRECT, |all, (_, bit)| all | bit);
    if bits & !known != 0 {
        return Err(format!("bit {} means nothing; -h lists the bits", 1u32 << (bits & !known).trailing_zeros()));
    }
    Ok(bits)
}

pub(super) fn speed(text: &str) -> Result<f64, String> {
    let x = f64::from_str(text).ok().filter(|x| *x == 0.0 || (0.001..=1e6).contains(x));
    x.ok_or_else(|| "give 0, or a number from 0.001 to 1000000".into())
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let s = f64::from_str(text).ok().filter(|s| (0.001..=1e7).contains(s));
    s.map(Duration::from_secs_f64).ok_or_else(|| "give seconds, as 10 or 0.5".into())
}

pub(super) fn mac(text: &str) -> Result<[u8; 6], String> {
    text.parse::<MacAddr>().map(|mac| mac.0).map_err(|e| e.to_string())
}

/// Parses the value of `-C`.
pub(super) fn rings(text: &str) -> Result<[u32; 4], String> {
    let parts: Vec<&str> = text.split(',').collect();
    let form = || "give one to four numbers, as 1024 or 1024,1024,2,2".to_owned();
    if parts.len() > 4 {
        return Err(form());
    }
    let n = parts.iter().map(|part| if part.is_empty() { Ok(0) } else { number(part, 0..=65_536) });
    let n: Vec<u32> = n.collect::<Result<_, _>>().map_err(|_| form())?;
    let at = |k: usize| n.get(k).copied();
    let (slots, rings) = (at(0).unwrap_or(0), at(2).unwrap_or(0));
    Ok([slots, at(1).unwrap_or(slots), rings, at(3).unwrap_or(rings)])
}

/// Parses the value of `--imix`.
pub(super) fn mix(text: &str) -> Result<Vec<(usize, usize)>, String> {
    let one = |part: &str| -> Option<(usize, usize)> {
        let (len, weight) = part.split_once(':')?;
        Some((number(len, *LIMITS.start()..=*LIMITS.end()).ok()?, number(weight, 1..=1000).ok()?))
    };
    let list: Option<Vec<_>> = text.split(',').map(one).collect();
    list.filter(|list| list.len() <= 64).ok_or_else(|| "give lengths and weights, as 60:7,590:4,1514:1".into())
}
