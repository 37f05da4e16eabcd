//! Lines about connections and their figures, as iperf 2 prints them.

use super::table;
use crate::iperf::config::Form;
use crate::iperf::flow::{Figures, Flow};
use crate::iperf::protocol::{Report, Spread};
use crate::iperf::units::amount;
use crate::socket::sys::{TcpInfo, local_time};
use crate::units::two_digits;
use linerate_rt::wall;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

/// Heading of lines of one kind, printed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heading {
    Plain,
    Jitter,
    TcpWrite,
    TcpRead,
    TcpTimes,
    UdpWrite,
    UdpRead,
    UdpDuplex,
}

/// Kind of a sum's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    TcpWrite,
    TcpRead,
    UdpRead,
    UdpWrite,
    UdpWritten,
    UdpDuplex,
}

/// Time of a line, seconds since the beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Span {
    pub(super) fn new(begin: u64, from: u64, to: u64) -> Self {
        let seconds = |at: u64| at.saturating_sub(begin) as f64 / 1e9;
        Self { from: seconds(from), to: seconds(to) }
    }

    pub(super) fn seconds(self) -> f64 {
        self.to - self.from
    }

    /// Number per second.
    pub(super) fn rate(self, count: u64) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }
}

impl Heading {
    const fn text(self) -> &'static str {
        match self {
            Self::Plain => "[ ID] Interval       Transfer     Bandwidth\n",
            Self::Jitter => "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n",
            Self::TcpWrite => {
                "[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr\n"
            }
            Self::TcpRead => "[ ID] Interval            Transfer    Bandwidth       Reads=Dist\n",
            Self::TcpTimes => {
                "[ ID] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) inP \
                 NetPwr  Reads=Dist\n"
            }
            Self::UdpWrite => "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS\n",
            Self::UdpRead => {
                "[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency \
                 avg/min/max/stdev PPS  Rx/inP  NetPwr\n"
            }
            Self::UdpDuplex => "[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS\n",
        }
    }

    /// The heading, if it was not shown yet.
    fn once(self, shown: &mut Vec<Self>) -> &'static str {
        if shown.contains(&self) {
            return "";
        }
        shown.push(self);
        self.text()
    }
}

impl Kind {
    /// Kind of the sum of these flows, of a client or at a server; `None` if there is none.
    pub(super) fn of_sum(flows: &[&Flow], client: bool) -> Option<Self> {
        let first = flows.first()?;
        let both = flows.iter().any(|flow| flow.sends != first.sends);
        let one = flows.iter().all(|flow| flow.id == first.id);
        if flows.len() < 2 || client && one && first.duplex && first.enhanced {
            return None;
        }
        let enhanced = flows.iter().all(|flow| flow.enhanced);
        Some(match (first.is_udp(), both, first.sends, enhanced) {
            (false, false, true, true) => Self::TcpWrite,
            (false, false, false, true) => Self::TcpRead,
            (false, ..) => Self::Plain,
            (true, true, ..) => Self::UdpDuplex,
            (true, false, true, true) => Self::UdpWrite,
            (true, false, true, false) => Self::UdpWritten,
            (true, false, false, _) => Self::UdpRead,
        })
    }
}

/// Share of datagrams lost, percent.
pub(super) fn share(lost: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * lost as f64 / of as f64 }
}

/// An address without its port; of IPv4 only the last part, if addresses are hidden.
pub(super) fn address(of: SocketAddr, hidden: bool) -> String {
    match of.ip() {
        IpAddr::V4(v4) if hidden => format!("*.*.*.{}", v4.octets()[3]),
        ip => ip.to_string(),
    }
}

/// Number of a connection in brackets, with a star for data that flow back.
fn label(id: u32, reversed: bool) -> String {
    let id = if reversed { format!("*{id}") } else { id.to_string() };
    format!("[{id:>3}] ")
}

/// Interval, amount and speed.
fn common(label: &str, span: Span, bytes: u64, form: &Form) -> String {
    let moved = amount(bytes as f64, form.unit.to_ascii_uppercase());
    let speed = amount(span.rate(bytes), form.unit);
    format!("{label}{:.4}-{:.4} sec  {moved}s  {speed}s/sec", span.from, span.to)
}

/// Throughput by time, as iperf calls it: network power.
fn power(rate: f64, seconds: f64) -> String {
    if seconds == 0.0 {
        return "NAN".to_owned();
    }
    match 1e-6 * rate / seconds {
        n if n < -1e7 => "OBL".to_owned(),
        n if n > 100.0 => format!("{n:.0}"),
        n if n > 10.0 => format!("{n:.2}"),
        n => format!("{n:.6}"),
    }
}

/// Reads, and how many of them had which size.
fn reads(figures: &Figures) -> String {
    let bins: Vec<String> = figures.bins.iter().map(u64::to_string).collect();
    format!("{}={}", figures.calls, bins.join(":"))
}

fn times(spread: &Spread) -> String {
    let ms = |seconds: f64| seconds * 1e3;
    let [mean, least, most, off] = [spread.mean, spread.least, spread.most, spread.deviation()].map(ms);
    format!("{mean:.3}/{least:.3}/{most:.3}/{off:.3} ms")
}

fn loss(lost: u64, of: u64) -> String {
    format!("{lost}/{of} ({}%)", two_digits(share(lost, of)))
}

/// Line of a flow, with its heading.
pub(super) fn flow(flow: &Flow, span: Span, figures: &Figures, form: &Form, shown: &mut Vec<Heading>) -> String {
    if form.csv {
        return table::row(&flow.ends(), span, figures, form, table::DIGITS);
    }
    let (kind, rest) = match (flow.is_udp(), flow.sends, flow.enhanced) {
        (false, true, true) => (Heading::TcpWrite, written(span, figures)),
        (false, false, _) if flow.times.is_some() => (Heading::TcpTimes, timed(span, figures)),
        (false, false, true) => (Heading::TcpRead, format!("  {}", reads(figures))),
        (true, true, true) => {
            let rate = span.rate(figures.datagrams);
            (Heading::UdpWrite, format!("  {}/{} {rate:8.0} pps", figures.calls, figures.errors))
        }
        (true, false, true) => {
            let rate = span.rate(figures.calls);
            return Heading::UdpRead.once(shown).to_owned()
                + &received(flow, span, figures, rate, form)
                + &late(&label(flow.id, flow.reversed), span, figures.out_of_order);
        }
        (true, false, false) => {
            let jitter = figures.jitter * 1e3;
            (Heading::Jitter, format!("  {jitter:6.3} ms {}", loss(figures.lost, figures.datagrams)))
        }
        (_, true, false) | (false, false, false) => (Heading::Plain, String::new()),
    };
    let label = label(flow.id, flow.reversed);
    let late = if flow.sends { String::new() } else { late(&label, span, figures.out_of_order) };
    format!("{}{}{rest}\n{late}", kind.once(shown), common(&label, span, figures.bytes, form))
}

/// Figures of a byte stream's sender.
fn written(span: Span, figures: &Figures) -> String {
    let TcpInfo { cwnd, rtt, rttvar, retransmits, .. } = figures.tcp.unwrap_or_default();
    let power = power(span.rate(figures.bytes), rtt as f64 * 1e-6);
    let calls = format!("  {}/{} {retransmits:10}", figures.calls, figures.errors);
    if cwnd > 0 {
        format!("{calls} {:8}K/{rtt}({rttvar}) us  {power}", cwnd / 1024)
    } else {
        format!("{calls}       NA/{rtt} us  {power}")
    }
}

/// Figures of a byte stream's receiver, with times.
fn timed(span: Span, figures: &Figures) -> String {
    let (rate, spread) = (span.rate(figures.bytes), &figures.times);
    let size = figures.bytes.checked_div(spread.count).unwrap_or(0);
    let (way, power) = (amount(rate * spread.mean, 'A'), power(rate, spread.mean));
    format!("  {} ({}/{size}) {way} {power}  {}", times(spread), spread.count, reads(figures))
}

/// Line of a receiver of datagrams, with times.
fn received(flow: &Flow, span: Span, figures: &Figures, rate: f64, form: &Form) -> String {
    let line = common(&label(flow.id, flow.reversed), span, figures.bytes, form);
    let line = format!("{line}  {:6.3} ms {}", figures.jitter * 1e3, loss(figures.lost, figures.datagrams));
    let spread = &figures.times;
    // Clocks that do not agree say nothing about times.
    if spread.count == 0 || !(0.0..=60.0).contains(&spread.least) {
        return format!("{line} -/-/-/- ms {rate:.0} pps\n");
    }
    let (way, off) = ((rate * spread.mean).round(), (rate * spread.deviation()).round());
    let power = power(span.rate(figures.bytes), spread.mean);
    format!("{line} {} {rate:.0} pps {}/{way:.0}({off:.0}) pkts {power}\n", times(spread), figures.calls)
}

/// Line about datagrams out of order.
fn late(label: &str, span: Span, count: u64) -> String {
    match count {
        0 => String::new(),
        count => {
            format!("{label}{:.4}-{:.4} sec  {count} datagrams received out-of-order\n", span.from, span.to)
        }
    }
}

/// Lines behind a flow's last one.
pub(super) fn ended(flow: &Flow, figures: &Figures, form: &Form) -> String {
    if flow.is_udp() && flow.sends && !form.csv {
        return format!("[{:3}] Sent {} datagrams\n", flow.id, figures.datagrams + figures.fins);
    }
    String::new()
}

/// Line of the sum of several flows.
pub(super) fn sum(
    kind: Kind,
    flows: &[&Flow],
    span: Span,
    figures: &Figures,
    form: &Form,
    shown: &mut Vec<Heading>,
    last: bool,
) -> String {
    if form.csv {
        return String::new();
    }
    let rate = span.rate(figures.datagrams);
    let (heading, rest) = match kind {
        Kind::Plain | Kind::UdpWritten => (Heading::Plain, String::new()),
        Kind::TcpWrite => {
            let retransmits = figures.tcp.map_or(0, |tcp| tcp.retransmits);
            (Heading::TcpWrite, format!("  {}/{}{retransmits:10}", figures.calls, figures.errors))
        }
        Kind::TcpRead => (Heading::TcpRead, format!("  {}", reads(figures))),
        Kind::UdpRead => (Heading::Plain, format!("   {}", loss(figures.lost, figures.datagrams))),
        Kind::UdpWrite => (Heading::UdpWrite, format!("  {}/{} {rate:8.0} pps", figures.calls, figures.errors)),
        Kind::UdpDuplex => (Heading::UdpDuplex, format!(" {}{rate:8.0} pps", figures.datagrams)),
    };
    let mut text = format!("{}{}{rest}\n", heading.once(shown), common("[SUM] ", span, figures.bytes, form));
    if kind == Kind::UdpRead {
        text += &late("[SUM] ", span, figures.out_of_order);
    }
    if last && matches!(kind, Kind::UdpWrite | Kind::UdpWritten) {
        let _ = writeln!(text, "[SUM-{}] Sent {} datagrams", flows.len(), figures.datagrams + figures.fins);
    }
    text
}

/// Line of both flows of a connection.
pub(super) fn pair(flow: &Flow, span: Span, figures: &Figures, form: &Form, shown: &mut Vec<Heading>) -> String {
    if form.csv {
        return String::new();
    }
    let line = common(&format!("[FD{}] ", flow.id), span, figures.bytes, form);
    if flow.is_udp() {
        let rate = span.rate(figures.datagrams);
        return format!("{}{line} {}{rate:8.0} pps\n", Heading::UdpDuplex.once(shown), figures.datagrams);
    }
    format!("{}{line}\n", Heading::Plain.once(shown))
}

/// Figures of the server's report.
pub(super) fn reported(report: &Report) -> (Span, Figures) {
    let figures = Figures {
        bytes: report.bytes,
        calls: report.datagrams.saturating_sub(report.lost),
        datagrams: report.datagrams,
        lost: report.lost,
        out_of_order: report.out_of_order,
        jitter: report.jitter,
        times: report.latency.map(|(spread, _)| spread).unwrap_or_default(),
        ..Figures::default()
    };
    (Span { from: 0.0, to: report.seconds }, figures)
}

/// Lines of the server's report.
pub(super) fn report(flow: &Flow, report: &Report, form: &Form, shown: &mut Vec<Heading>) -> String {
    let (span, figures) = reported(report);
    let label = label(flow.id, flow.reversed);
    let line = match report.latency {
        Some((_, rate)) => Heading::UdpRead.once(shown).to_owned() + &received(flow, span, &figures, rate.into(), form),
        None => {
            let (line, jitter) = (common(&label, span, report.bytes, form), report.jitter * 1e3);
            let loss = loss(report.lost, report.datagrams);
            format!("{}{line}  {jitter:6.3} ms {loss}\n", Heading::Jitter.once(shown))
        }
    };
    format!("[{:3}] Server Report:\n{line}{}", flow.id, late(&label, span, report.out_of_order))
}

/// A connection, for its line.
pub(in crate::iperf) struct Connected<'a> {
    pub(in crate::iperf) id: u32,
    pub(in crate::iperf) reversed: bool,
    pub(in crate::iperf) local: SocketAddr,
    pub(in crate::iperf) remote: SocketAddr,
    /// Words about it, as `reverse`.
    pub(in crate::iperf) about: &'a [&'a str],
    pub(in crate::iperf) enhanced: bool,
    /// Number of the socket.
    pub(in crate::iperf) socket: i32,
    /// The other end's version.
    pub(in crate::iperf) version: Option<(u32, u32)>,
    pub(in crate::iperf) tos: u8,
    /// State of the connection at its beginning, and its largest segment.
    pub(in crate::iperf) tcp: Option<(TcpInfo, u64)>,
    /// Milliseconds that connecting took.
    pub(in crate::iperf) took: Option<f64>,
    /// True if its time is shown.
    pub(in crate::iperf) dated: bool,
}

impl Connected<'_> {
    pub(super) fn line(&self, form: &Form) -> String {
        let mut line = label(self.id, self.reversed);
        let (local, remote) = (address(self.local, form.hidden), address(self.remote, form.hidden));
        let (own, other) = (self.local.port(), self.remote.port());
        let _ = write!(line, "local {local} port {own} connected with {remote} port {other}");
        for word in self.about {
            let _ = write!(line, " ({word})");
        }
        if self.enhanced {
            let _ = write!(line, " (sock={})", self.socket);
        }
        if self.tos > 0 {
            let tos = self.tos;
            let _ = match () {
                () if self.about.contains(&"full-duplex") => write!(line, " (tos rx/tx=0x{tos:x}/0x{tos:x})"),
                () if self.about.contains(&"reverse") => write!(line, " (tos tx=0x{tos:x})"),
                () => write!(line, " (tos rx=0x{tos:x})"),
            };
        }
        if let Some((upper, lower)) = self.version.filter(|_| self.enhanced) {
            let kind = ["-dev", "-rc", "-rc2", "", "-private", "-master"].get(lower as usize & 15).unwrap_or(&"-unk");
            let _ = write!(line, " (peer {}.{}.{}{kind})", upper >> 16, upper & 0xffff, lower >> 16);
        }
        if let Some((tcp, segment)) = self.tcp {
            let _ = write!(line, " (icwnd/mss/irtt={}/{segment}/{})", tcp.cwnd / 1024, tcp.rtt);
        }
        if self.enhanced && self.dated {
            if let Some(took) = self.took {
                let _ = write!(line, " (ct={took:.2} ms)");
            }
            let t = local_time(wall().as_secs());
            let _ = write!(
                line,
                " on {:04}-{:02}-{:02} {:02}:{:02}:{:02}",
                t.year, t.month, t.day, t.hour, t.minute, t.second
            );
            let _ = write!(line, " ({})", t.zone);
        }
        line + "\n"
    }
}
