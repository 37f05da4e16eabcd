//! Counters of the kernel's protocols: in `/proc/net/netstat` and `/proc/net/snmp` a line of names and a line of values behind it,
//! in `/proc/net/snmp6` a line for each.

use super::view::View;
use linerate_host::adapter::Source;
use std::collections::BTreeMap;

pub(super) const NETSTAT: &str = "proc/net/netstat";
pub(super) const SNMP: &str = "proc/net/snmp";
/// Counters of IPsec, a line each.
pub(super) const XFRM: &str = "proc/net/xfrm_stat";
pub(super) const SNMP6: &str = "proc/net/snmp6";
/// Counters of the processors' backlogs: a line for each, of numbers in base 16.
pub(super) const SOFTNET: &str = "proc/net/softnet_stat";

/// A counter since the network namespace was made, and how much of it came while it was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Grown {
    pub(super) value: u64,
    pub(super) more: u64,
}

/// The files as they are.
pub(super) fn snapshot(source: &dyn Source) -> BTreeMap<&'static str, String> {
    let text = |file| Some((file, String::from_utf8_lossy(&source.file(file).ok()?).into_owned()));
    [NETSTAT, SNMP, SNMP6, SOFTNET, XFRM].into_iter().filter_map(text).collect()
}

pub(super) fn named(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|one| one == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

pub(super) fn alone(text: &str, name: &str) -> Option<u64> {
    let mut all = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    all.find(|(one, _)| *one == name)?.1.trim().parse().ok()
}

fn counter(view: &View<'_>, file: &str, name: &str, of: impl Fn(&str) -> Option<u64>) -> Result<Grown, String> {
    let value = of(&view.file(file)?).ok_or_else(|| format!("/{file}: it has no {name}"))?;
    let before = view.earlier.get(file).and_then(|text| of(text));
    Ok(Grown { value, more: before.map_or(0, |before| value.saturating_sub(before)) })
}

/// A counter of TCP that is in no standard.
pub(super) fn tcp_counter(view: &View<'_>, name: &str) -> Result<Grown, String> {
    counter(view, NETSTAT, name, |text| named(text, "TcpExt", name))
}

/// A counter of a protocol (RFC 4293, 4022, 4113), as `nstat` names it: `Tcp` and `InSegs`.
pub(super) fn protocol_counter(view: &View<'_>, protocol: &str, name: &str) -> Result<Grown, String> {
    counter(view, SNMP, name, |text| named(text, protocol, name))
}

/// One of IPsec: `XfrmOutNoStates`.
pub(super) fn ipsec_counter(view: &View<'_>, name: &str) -> Result<Grown, String> {
    counter(view, XFRM, name, |text| alone(text, name))
}

/// One of IPv6: `Udp6InErrors`.
pub(super) fn ipv6_counter(view: &View<'_>, name: &str) -> Result<Grown, String> {
    counter(view, SNMP6, name, |text| alone(text, name))
}

/// True if what was lost since the start is at least a thousandth of what came, of a host of which nothing grows: one that was read
/// once.
pub(super) fn is_share(view: &View<'_>, file: &str, lost: u64, came: u64) -> bool {
    let now = view.file(file).unwrap_or_default();
    let same = view.earlier.get(file).is_some_and(|text| text.trim() == now);
    same && lost >= 100 && lost.saturating_mul(1000) >= came
}
