//! Values of reports: one row each, with netperf's name and header.

use super::View;
use crate::netperf::cpu::{Cpu, letter};
use crate::netperf::figures::EndFigures;
use crate::netperf::table::Transport;
use crate::netperf::units::{name, scaled};
use hdrhistogram::Histogram;
use std::net::SocketAddr;

pub(in crate::netperf) struct Row {
    pub(super) name: &'static str,
    /// Words above it.
    pub(super) head: [&'static str; 4],
    /// True if the time of each call or transaction has to be kept for it.
    pub(super) latency: bool,
    pub(super) value: fn(&View<'_>) -> String,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn row(name: &'static str, head: [&'static str; 4], value: fn(&View<'_>) -> String) -> Row {
    Row { name, head, latency: false, value }
}

const fn timed(name: &'static str, head: [&'static str; 4], value: fn(&View<'_>) -> String) -> Row {
    Row { name, head, latency: true, value }
}

fn two(n: f64) -> String {
    format!("{n:.2}")
}

fn three(n: f64) -> String {
    format!("{n:.3}")
}

fn udp(v: &View<'_>) -> bool {
    v.config.settings.test.transport == Transport::Udp
}

fn direction(v: &View<'_>) -> &'static str {
    let test = v.config.settings.test;
    match (test.sends, test.receives) {
        (true, true) if test.connects => "Connect|Send|Recv",
        (true, true) => "Send|Recv",
        (true, false) => "Send",
        _ => "Receive",
    }
}

fn asked(size: Option<u32>) -> String {
    size.map_or_else(|| "-1".to_owned(), |size| size.to_string())
}

fn transaction(v: &View<'_>, size: u32) -> String {
    if v.config.settings.test.is_transactions() { size.to_string() } else { "-1".to_owned() }
}

fn cpu(of: &EndFigures, value: fn(&Cpu) -> f64) -> String {
    two(of.cpu.as_ref().map_or(0.0, value))
}

fn width(n: f64) -> String {
    three(if n < 0.0 { n } else { 100.0 * n })
}

fn rate(v: &View<'_>) -> Option<f64> {
    v.config.settings.test.is_transactions().then(|| v.outcome.last.transactions_per_second())
}

/// A type of service, as netperf writes it: 0xffffffff for the system's own.
fn service(n: i32) -> String {
    format!("0x{n:02x}")
}

fn through(v: &View<'_>, bytes: u64) -> String {
    let unit = v.config.settings.unit();
    two(scaled(v.outcome.last.per_second(bytes), if unit == 'x' { 'm' } else { unit }))
}

fn each(bytes: u64, calls: u64) -> String {
    two(if calls > 0 { bytes as f64 / calls as f64 } else { 0.0 })
}

fn number_of_family(of: SocketAddr) -> String {
    if of.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }.to_string()
}

/// Value of the times of calls; none if they were not kept.
fn times<T>(v: &View<'_>, of: fn(&Histogram<u64>) -> T) -> Option<T> {
    v.outcome.last.times.as_ref().filter(|times| !times.is_empty()).map(of)
}

/// Microseconds, with their fraction; -1 for none.
fn latency(v: &View<'_>, of: fn(&Histogram<u64>) -> f64) -> String {
    two(times(v, of).map_or(-1.0, |ns| ns / 1e3))
}

/// The same, whole.
fn whole(v: &View<'_>, of: fn(&Histogram<u64>) -> u64) -> String {
    times(v, of).map_or_else(|| "-1".to_owned(), |ns| (ns / 1000).to_string())
}

/// All values, in netperf's order. Those that netperf 2.7.0 says nothing in any more are left out.
pub(super) static ROWS: &[Row] = &[
    row("SOCKET_TYPE", ["Socket", "Type", "", ""], |v| if udp(v) { "Datagram".into() } else { "Stream".into() }),
    row("PROTOCOL", ["Protocol", "", "", ""], |v| if udp(v) { "UDP".into() } else { "TCP".into() }),
    row("DIRECTION", ["Direction", "", "", ""], |v| direction(v).into()),
    row("ELAPSED_TIME", ["Elapsed", "Time", "(sec)", ""], |v| two(v.outcome.means.seconds)),
    row("THROUGHPUT", ["Throughput", "", "", ""], |v| two(scaled(v.outcome.means.result, v.config.settings.unit()))),
    row("THROUGHPUT_UNITS", ["Throughput", "Units", "", ""], |v| format!("{}/s", name(v.config.settings.unit()))),
    row("LSS_SIZE_REQ", ["Local", "Send Socket", "Size", "Requested"], |v| asked(v.config.settings.local.buffers.send)),
    row("LSS_SIZE", ["Local", "Send Socket", "Size", "Initial"], |v| v.outcome.last.local.send_buffer.0.to_string()),
    row("LSS_SIZE_END", ["Local", "Send Socket", "Size", "Final"], |v| v.outcome.last.local.send_buffer.1.to_string()),
    row("LSR_SIZE_REQ", ["Local", "Recv Socket", "Size", "Requested"], |v| {
        asked(v.config.settings.local.buffers.receive)
    }),
    row("LSR_SIZE", ["Local", "Recv Socket", "Size", "Initial"], |v| v.outcome.last.local.receive_buffer.0.to_string()),
    row("LSR_SIZE_END", ["Local", "Recv Socket", "Size", "Final"], |v| {
        v.outcome.last.local.receive_buffer.1.to_string()
    }),
    row("RSS_SIZE_REQ", ["Remote", "Send Socket", "Size", "Requested"], |v| {
        asked(v.config.settings.remote.buffers.send)
    }),
    row("RSS_SIZE", ["Remote", "Send Socket", "Size", "Initial"], |v| v.outcome.last.remote.send_buffer.0.to_string()),
    row("RSS_SIZE_END", ["Remote", "Send Socket", "Size", "Final"], |v| {
        v.outcome.last.remote.send_buffer.1.to_string()
    }),
    row("RSR_SIZE_REQ", ["Remote", "Recv Socket", "Size", "Requested"], |v| {
        asked(v.config.settings.remote.buffers.receive)
    }),
    row("RSR_SIZE", ["Remote", "Recv Socket", "Size", "Initial"], |v| {
        v.outcome.last.remote.receive_buffer.0.to_string()
    }),
    row("RSR_SIZE_END", ["Remote", "Recv Socket", "Size", "Final"], |v| {
        v.outcome.last.remote.receive_buffer.1.to_string()
    }),
    row("LOCAL_SEND_SIZE", ["Local", "Send", "Size", ""], |v| v.outcome.last.local.send_size.to_string()),
    row("LOCAL_RECV_SIZE", ["Local", "Recv", "Size", ""], |v| v.outcome.last.local.receive_size.to_string()),
    row("REMOTE_SEND_SIZE", ["Remote", "Send", "Size", ""], |v| v.outcome.last.remote.send_size.to_string()),
    row("REMOTE_RECV_SIZE", ["Remote", "Recv", "Size", ""], |v| v.outcome.last.remote.receive_size.to_string()),
    row("REQUEST_SIZE", ["Request", "Size", "Bytes", ""], |v| transaction(v, v.config.settings.request)),
    row("RESPONSE_SIZE", ["Response", "Size", "Bytes", ""], |v| transaction(v, v.config.settings.response)),
    row("LOCAL_CPU_UTIL", ["Local", "CPU", "Util", "%"], |v| two(v.outcome.means.local_cpu)),
    row("LOCAL_CPU_PERCENT_USER", ["Local", "CPU", "User", "%"], |v| cpu(&v.outcome.last.local, |cpu| cpu.user)),
    row("LOCAL_CPU_PERCENT_SYSTEM", ["Local", "CPU", "System", "%"], |v| cpu(&v.outcome.last.local, |cpu| cpu.system)),
    row("LOCAL_CPU_PERCENT_IOWAIT", ["Local", "CPU", "I/O", "%"], |v| cpu(&v.outcome.last.local, |cpu| cpu.waiting)),
    row("LOCAL_CPU_PERCENT_IRQ", ["Local", "CPU", "IRQ", "%"], |v| cpu(&v.outcome.last.local, |cpu| cpu.interrupts)),
    row("LOCAL_CPU_PERCENT_SWINTR", ["Local", "CPU", "swintr", "%"], |v| cpu(&v.outcome.last.local, |cpu| cpu.soft)),
    row("LOCAL_CPU_METHOD", ["Local", "CPU", "Util", "Method"], |v| {
        letter(v.outcome.last.local.cpu.map_or(0, |cpu| cpu.method)).to_string()
    }),
    row("LOCAL_SD", ["Local", "Service", "Demand", ""], |v| three(v.outcome.means.local_demand)),
    row("REMOTE_CPU_UTIL", ["Remote", "CPU", "Util", "%"], |v| two(v.outcome.means.remote_cpu)),
    row("REMOTE_CPU_PERCENT_USER", ["Remote", "CPU", "User", "%"], |v| cpu(&v.outcome.last.remote, |cpu| cpu.user)),
    row("REMOTE_CPU_PERCENT_SYSTEM", ["Remote", "CPU", "System", "%"], |v| {
        cpu(&v.outcome.last.remote, |cpu| cpu.system)
    }),
    row("REMOTE_CPU_PERCENT_IOWAIT", ["Remote", "CPU", "I/O", "%"], |v| cpu(&v.outcome.last.remote, |cpu| cpu.waiting)),
    row("REMOTE_CPU_PERCENT_IRQ", ["Remote", "CPU", "IRQ", "%"], |v| cpu(&v.outcome.last.remote, |cpu| cpu.interrupts)),
    row("REMOTE_CPU_PERCENT_SWINTR", ["Remote", "CPU", "swintr", "%"], |v| cpu(&v.outcome.last.remote, |cpu| cpu.soft)),
    row("REMOTE_CPU_METHOD", ["Remote", "CPU", "Util", "Method"], |v| {
        letter(v.outcome.last.remote.cpu.map_or(0, |cpu| cpu.method)).to_string()
    }),
    row("REMOTE_SD", ["Remote", "Service", "Demand", ""], |v| three(v.outcome.means.remote_demand)),
    row("SD_UNITS", ["Service", "Demand", "Units", ""], |v| {
        if v.config.settings.unit() == 'x' { "usec/Tran".into() } else { "usec/KB".into() }
    }),
    row("CONFIDENCE_LEVEL", ["Confidence", "Level", "Percent", ""], |v| {
        if v.config.settings.repeats.most > 1 { v.config.settings.repeats.level.to_string() } else { "0".into() }
    }),
    row("CONFIDENCE_INTERVAL", ["Confidence", "Width", "Target", ""], |v| {
        format!(
            "{:.6}",
            if v.config.settings.repeats.most > 1 { 100.0 * v.config.settings.repeats.width } else { -1.0 }
        )
    }),
    row("CONFIDENCE_ITERATION", ["Confidence", "Iterations", "Run", ""], |v| v.outcome.runs.to_string()),
    row("THROUGHPUT_CONFID", ["Throughput", "Confidence", "Width (%)", ""], |v| width(v.outcome.widths.result)),
    row("LOCAL_CPU_CONFID", ["Local", "CPU", "Confidence", "Width (%)"], |v| width(v.outcome.widths.local_cpu)),
    row("REMOTE_CPU_CONFID", ["Remote", "CPU", "Confidence", "Width (%)"], |v| width(v.outcome.widths.remote_cpu)),
    row("TRANSACTION_RATE", ["Transaction", "Rate", "Tran/s", ""], |v| rate(v).map_or_else(|| "-1.000".into(), three)),
    row("RT_LATENCY", ["Round", "Trip", "Latency", "usec/tran"], |v| {
        rate(v).filter(|n| *n > 0.0).map_or_else(|| "-1.000".into(), |n| three(1e6 / n))
    }),
    row("BURST_SIZE", ["Initial", "Burst", "Requests", ""], |_| "0".into()),
    row("LOCAL_TRANSPORT_RETRANS", ["Local", "Transport", "Retransmissions", ""], |v| {
        v.outcome.last.local.retransmits.to_string()
    }),
    row("REMOTE_TRANSPORT_RETRANS", ["Remote", "Transport", "Retransmissions", ""], |v| {
        v.outcome.last.remote.retransmits.to_string()
    }),
    row("TRANSPORT_MSS", ["Transport", "MSS", "bytes", ""], |v| {
        v.outcome.last.mss.map_or_else(|| "-1".into(), |n| n.to_string())
    }),
    row("LOCAL_SEND_THROUGHPUT", ["Local", "Send", "Throughput", ""], |v| through(v, v.outcome.last.local.sent)),
    row("LOCAL_RECV_THROUGHPUT", ["Local", "Recv", "Throughput", ""], |v| through(v, v.outcome.last.local.received)),
    row("REMOTE_SEND_THROUGHPUT", ["Remote", "Send", "Throughput", ""], |v| through(v, v.outcome.last.remote.sent)),
    row("REMOTE_RECV_THROUGHPUT", ["Remote", "Recv", "Throughput", ""], |v| through(v, v.outcome.last.remote.received)),
    row("LOCAL_CPU_BIND", ["Local", "CPU", "Bind", ""], |v| {
        v.config.settings.local.pin.map_or_else(|| "-1".into(), |n| n.to_string())
    }),
    row("LOCAL_CPU_COUNT", ["Local", "CPU", "Count", ""], |v| {
        v.outcome.last.local.cpu.map_or(0, |cpu| cpu.count).to_string()
    }),
    row("LOCAL_CPU_PEAK_UTIL", ["Local", "Peak", "Per CPU", "Util %"], |v| {
        two(v.outcome.last.local.cpu.map_or(-1.0, |cpu| cpu.peak))
    }),
    row("LOCAL_CPU_PEAK_ID", ["Local", "Peak", "Per CPU", "ID"], |v| {
        v.outcome.last.local.cpu.map_or(-1, |cpu| cpu.peak_id).to_string()
    }),
    row("REMOTE_CPU_BIND", ["Remote", "CPU", "Bind", ""], |v| {
        v.config.settings.remote.pin.map_or_else(|| "-1".into(), |n| n.to_string())
    }),
    row("REMOTE_CPU_COUNT", ["Remote", "CPU", "Count", ""], |v| {
        v.outcome.last.remote.cpu.map_or(0, |cpu| cpu.count).to_string()
    }),
    row("REMOTE_CPU_PEAK_UTIL", ["Remote", "Peak", "Per CPU", "Util %"], |v| {
        two(v.outcome.last.remote.cpu.map_or(-1.0, |cpu| cpu.peak))
    }),
    row("REMOTE_CPU_PEAK_ID", ["Remote", "Peak", "Per CPU", "ID"], |v| {
        v.outcome.last.remote.cpu.map_or(-1, |cpu| cpu.peak_id).to_string()
    }),
    row("SOURCE_PORT", ["Source", "Port", "", ""], |v| v.addresses.0.port().to_string()),
    row("SOURCE_ADDR", ["Source", "Address", "", ""], |v| v.addresses.0.ip().to_string()),
    row("SOURCE_FAMILY", ["Source", "Family", "", ""], |v| number_of_family(v.addresses.0)),
    row("DEST_PORT", ["Destination", "Port", "", ""], |v| v.addresses.1.port().to_string()),
    row("DEST_ADDR", ["Destination", "Address", "", ""], |v| v.addresses.1.ip().to_string()),
    row("DEST_FAMILY", ["Destination", "Family", "", ""], |v| number_of_family(v.addresses.1)),
    row("LOCAL_SEND_CALLS", ["Local", "Send", "Calls", ""], |v| v.outcome.last.local.sends.to_string()),
    row("LOCAL_RECV_CALLS", ["Local", "Recv", "Calls", ""], |v| v.outcome.last.local.receives.to_string()),
    row("LOCAL_BYTES_PER_RECV", ["Local", "Bytes", "Per", "Recv"], |v| {
        each(v.outcome.last.local.received, v.outcome.last.local.receives)
    }),
    row("LOCAL_BYTES_PER_SEND", ["Local", "Bytes", "Per", "Send"], |v| {
        each(v.outcome.last.local.sent, v.outcome.last.local.sends)
    }),
    row("LOCAL_BYTES_SENT", ["Local", "Bytes", "Sent", ""], |v| v.outcome.last.local.sent.to_string()),
    row("LOCAL_BYTES_RECVD", ["Local", "Bytes", "Received", ""], |v| v.outcome.last.local.received.to_string()),
    row("LOCAL_BYTES_XFERD", ["Local", "Bytes", "Xferred", ""], |v| {
        (v.outcome.last.local.sent + v.outcome.last.local.received).to_string()
    }),
    row("LOCAL_SEND_OFFSET", ["Local", "Send", "Offset", ""], |v| v.config.settings.local.send.offset.to_string()),
    row("LOCAL_RECV_OFFSET", ["Local", "Recv", "Offset", ""], |v| v.config.settings.local.receive.offset.to_string()),
    row("LOCAL_SEND_ALIGN", ["Local", "Send", "Alignment", ""], |v| v.config.settings.local.send.align.to_string()),
    row("LOCAL_RECV_ALIGN", ["Local", "Recv", "Alignment", ""], |v| v.config.settings.local.receive.align.to_string()),
    row("LOCAL_SEND_WIDTH", ["Local", "Send", "Width", ""], |v| v.outcome.last.local.send_width.to_string()),
    row("LOCAL_RECV_WIDTH", ["Local", "Recv", "Width", ""], |v| v.outcome.last.local.receive_width.to_string()),
    row("LOCAL_NODELAY", ["Local", "NODELAY", "", ""], |v| u8::from(v.config.settings.no_delay).to_string()),
    row("REMOTE_SEND_CALLS", ["Remote", "Send", "Calls", ""], |v| v.outcome.last.remote.sends.to_string()),
    row("REMOTE_RECV_CALLS", ["Remote", "Recv", "Calls", ""], |v| v.outcome.last.remote.receives.to_string()),
    row("REMOTE_BYTES_PER_RECV", ["Remote", "Bytes", "Per", "Recv"], |v| {
        each(v.outcome.last.remote.received, v.outcome.last.remote.receives)
    }),
    row("REMOTE_BYTES_PER_SEND", ["Remote", "Bytes", "Per", "Send"], |v| {
        each(v.outcome.last.remote.sent, v.outcome.last.remote.sends)
    }),
    row("REMOTE_BYTES_SENT", ["Remote", "Bytes", "Sent", ""], |v| v.outcome.last.remote.sent.to_string()),
    row("REMOTE_BYTES_RECVD", ["Remote", "Bytes", "Received", ""], |v| v.outcome.last.remote.received.to_string()),
    row("REMOTE_BYTES_XFERD", ["Remote", "Bytes", "Xferred", ""], |v| {
        (v.outcome.last.remote.sent + v.outcome.last.remote.received).to_string()
    }),
    row("REMOTE_SEND_OFFSET", ["Remote", "Send", "Offset", ""], |v| v.config.settings.remote.send.offset.to_string()),
    row("REMOTE_RECV_OFFSET", ["Remote", "Recv", "Offset", ""], |v| {
        v.config.settings.remote.receive.offset.to_string()
    }),
    row("REMOTE_SEND_ALIGN", ["Remote", "Send", "Alignment", ""], |v| v.config.settings.remote.send.align.to_string()),
    row("REMOTE_RECV_ALIGN", ["Remote", "Recv", "Alignment", ""], |v| {
        v.config.settings.remote.receive.align.to_string()
    }),
    row("REMOTE_SEND_WIDTH", ["Remote", "Send", "Width", ""], |v| v.outcome.last.remote.send_width.to_string()),
    row("REMOTE_RECV_WIDTH", ["Remote", "Recv", "Width", ""], |v| v.outcome.last.remote.receive_width.to_string()),
    row("REMOTE_NODELAY", ["Remote", "NODELAY", "", ""], |v| u8::from(v.config.settings.no_delay).to_string()),
    row("RESULT_BRAND", ["Result", "Tag", "", ""], |v| {
        format!("\"{}\"", v.config.brand.as_deref().unwrap_or_default())
    }),
    timed("MIN_LATENCY", ["Minimum", "Latency", "Microseconds", ""], |v| whole(v, Histogram::min)),
    timed("MAX_LATENCY", ["Maximum", "Latency", "Microseconds", ""], |v| whole(v, Histogram::max)),
    timed("P50_LATENCY", ["50th", "Percentile", "Latency", "Microseconds"], |v| {
        whole(v, |all| all.value_at_quantile(0.5))
    }),
    timed("P90_LATENCY", ["90th", "Percentile", "Latency", "Microseconds"], |v| {
        whole(v, |all| all.value_at_quantile(0.9))
    }),
    timed("P99_LATENCY", ["99th", "Percentile", "Latency", "Microseconds"], |v| {
        whole(v, |all| all.value_at_quantile(0.99))
    }),
    timed("MEAN_LATENCY", ["Mean", "Latency", "Microseconds", ""], |v| latency(v, Histogram::mean)),
    timed("STDDEV_LATENCY", ["Stddev", "Latency", "Microseconds", ""], |v| latency(v, Histogram::stdev)),
    row("LOCAL_SOCKET_PRIO", ["Local", "Socket", "Priority", ""], |v| v.outcome.last.local.priority.to_string()),
    row("REMOTE_SOCKET_PRIO", ["Remote", "Socket", "Priority", ""], |v| v.outcome.last.remote.priority.to_string()),
    row("LOCAL_SOCKET_TOS", ["Local", "Socket", "TOS", ""], |v| service(v.outcome.last.local.tos)),
    row("REMOTE_SOCKET_TOS", ["Remote", "Socket", "TOS", ""], |v| service(v.outcome.last.remote.tos)),
    row("LOCAL_CONG_CONTROL", ["Local", "Congestion", "Control", "Algorithm"], |v| {
        v.outcome.last.local.congestion.clone()
    }),
    row("REMOTE_CONG_CONTROL", ["Remote", "Congestion", "Control", "Algorithm"], |v| {
        v.outcome.last.remote.congestion.clone()
    }),
    row("LOCAL_FILL_FILE", ["Local", "Fill", "File", ""], |v| {
        v.config.settings.file.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    }),
    row("COMMAND_LINE", ["Command", "Line", "", ""], |v| format!("\"{}\"", v.config.typed)),
];
