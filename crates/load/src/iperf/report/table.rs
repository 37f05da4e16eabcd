//! Comma-separated values (`-y C`): time, client's address and port, server's, number, interval, bytes, bits per second; for
//! datagrams also jitter, lost, sent, share lost, out of order. The first address is that of the end that sends.

use super::lines::{Span, address};
use crate::iperf::config::Form;
use crate::iperf::flow::{Ends, Figures};
use crate::socket::sys::local_time;
use linerate_rt::wall;
use std::net::SocketAddr;

/// Digits of seconds behind the point, of what is printed.
pub(super) const DIGITS: usize = 1;

/// Row of a flow, its times with so many digits.
pub(super) fn row(flow: &Ends, span: Span, figures: &Figures, form: &Form, digits: usize) -> String {
    let (from, to) = if flow.sends { (flow.local, flow.remote) } else { (flow.remote, flow.local) };
    values(flow.is_udp, [from, to], &flow.id.to_string(), span, figures, form, digits)
}

/// Row of the sum of flows, of which one is known: the ports of their clients differ.
pub(super) fn sum(one: &Ends, span: Span, figures: &Figures, form: &Form, digits: usize) -> String {
    let (from, to) = if one.sends { (one.local, one.remote) } else { (one.remote, one.local) };
    values(one.is_udp, [SocketAddr::new(from.ip(), 0), to], "-1", span, figures, form, digits)
}

fn values(
    is_udp: bool,
    [from, to]: [SocketAddr; 2],
    id: &str,
    span: Span,
    figures: &Figures,
    form: &Form,
    digits: usize,
) -> String {
    let now = wall();
    let time = local_time(now.as_secs());
    let millis = if form.enhanced { format!(".{:03}", now.subsec_millis()) } else { String::new() };
    let time = format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}{millis}",
        time.year, time.month, time.day, time.hour, time.minute, time.second
    );
    let (from_ip, to_ip) = (address(from, form.hidden), address(to, form.hidden));
    let mut row = format!(
        "{time},{from_ip},{},{to_ip},{},{},{:.digits$}-{:.digits$},{},{:.0}",
        from.port(),
        to.port(),
        id,
        span.from,
        span.to,
        figures.bytes,
        span.rate(figures.bytes) * 8.0,
    );
    if is_udp {
        let share = super::lines::share(figures.lost, figures.datagrams);
        row += &format!(
            ",{:.3},{},{},{share:.3},{}",
            figures.jitter * 1e3,
            figures.lost,
            figures.datagrams,
            figures.out_of_order
        );
    }
    row + "\n"
}
