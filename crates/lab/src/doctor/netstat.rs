//! Counters of TCP in `/proc/net/netstat`: a line of names, and a line of values behind it.

use super::view::View;

/// Value of a counter since the network namespace was made.
pub(super) fn tcp_counter(view: &View<'_>, name: &str) -> Result<u64, String> {
    let text = view.file("proc/net/netstat")?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:")).map(str::split_whitespace);
    let counter = lines.next().zip(lines.next()).and_then(|(mut names, mut values)| {
        let at = names.position(|one| one == name)?;
        values.nth(at)?.parse().ok()
    });
    counter.ok_or_else(|| format!("/proc/net/netstat: it has no {name}"))
}
