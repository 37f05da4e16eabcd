//! Comma-separated values (`-y C`): time, client's address and port, server's, number, interval, bytes, bits per second; for
//! datagrams also jitter, lost, sent, share lost, out of order. The first address is that of the end that sends.

use super::lines::{Span, address};
use crate::iperf::config::Form;
use crate::iperf::flow::{Figures, Flow};
use crate::socket::sys::local_time;
use linerate_rt::wall;

/// Row of a flow.
pub(super) fn row(flow: &Flow, span: Span, figures: &Figures, form: &Form) -> String {
    let now = wall();
    let time = local_time(now.as_secs());
    let millis = if form.enhanced { format!(".{:03}", now.subsec_millis()) } else { String::new() };
    let time = format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}{millis}",
        time.year, time.month, time.day, time.hour, time.minute, time.second
    );
    let (from, to) = if flow.sends { (flow.local, flow.remote) } else { (flow.remote, flow.local) };
    let (from_ip, to_ip) = (address(from, form.hidden), address(to, form.hidden));
    let mut row = format!(
        "{time},{from_ip},{},{to_ip},{},{},{:.1}-{:.1},{},{:.0}",
        from.port(),
        to.port(),
        flow.id,
        span.from,
        span.to,
        figures.bytes,
        span.rate(figures.bytes) * 8.0,
    );
    if flow.is_udp() {
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
