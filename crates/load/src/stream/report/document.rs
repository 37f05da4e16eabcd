//! The document of a test, field by field as iperf3 writes it with `-J`; or its parts as they come about, a line for each, as iperf3
//! writes them with `--json-stream`.
//!
//! What the other end has not told is null at a client; iperf3 writes 0. A server's document has 0 as iperf3's: its client tells
//! its figures later.

use super::lines::{congestion, order, sum, whole};
use super::tree::{Fields, Tree, line, text};
use super::{Report, is_worth};
use crate::socket::sys::system;
use crate::stream::VERSION;
use crate::stream::config::Form;
use crate::stream::figures::{Buffers, Cpu, Figure, ServerOutput, StreamInfo, Subject, Summary, Total, percent, speed};
use crate::stream::settings::{Direction, Role, Settings, Transport};
use crate::validity::Validity;
use crate::{Output, Record};
use linerate_result::Connection;
use linerate_rt::wall;
use std::sync::Arc;
use std::time::SystemTime;

/// Intervals of streams that are kept: two of a stream a second for a day and more. Later ones are left out, so that a
/// client cannot fill the server's memory.
const KEPT: usize = 200_000;

pub(in crate::stream) struct Document {
    output: Arc<Output>,
    /// True for a line for each event, and for the whole document.
    events: bool,
    whole: bool,
    /// True for a record of the test, for who keeps it, instead of a document to print.
    is_record: bool,
    /// State of the machine at the beginning, for a record.
    validity: Option<Validity>,
    warnings: Vec<String>,
    connections: Vec<(bool, Connection)>,
    interval: f64,
    subject: Option<Subject>,
    start: Fields,
    connected: Vec<Tree>,
    intervals: Vec<Tree>,
    kept: usize,
    end: Fields,
    /// Fields behind these.
    further: Fields,
}

/// Fields of what an end moved, and of what a receiver counts.
const MOVED: &[&str] = &["end", "seconds", "bytes", "bits_per_second"];
const COUNTED: &[&str] = &["jitter_ms", "lost_packets", "lost_percent", "out_of_order"];

/// Knowledge of the ends of a direction: of the sender, and of the receiver.
#[derive(Clone, Copy)]
struct Knows {
    sent: bool,
    received: bool,
}

impl Knows {
    fn new(role: Role, sends: bool, summary: &Summary) -> Self {
        let other = summary.other_known || role == Role::Server;
        Self { sent: sends || other, received: !sends || other }
    }
}

/// Times, bytes and speed, with which most objects begin.
fn moved(start: f64, end: f64, seconds: f64, bytes: u64) -> Fields {
    let speed = speed(bytes, seconds) * 8.0;
    let times = Fields::default().with("start", start).with("end", end).with("seconds", seconds);
    times.with("bytes", bytes).with("bits_per_second", speed)
}

fn socket(info: &StreamInfo) -> Fields {
    Fields::default().with("socket", whole_number(info.socket))
}

fn whole_number(n: i32) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

impl Document {
    pub(super) fn new(form: &Form, output: Arc<Output>) -> Self {
        Self {
            output,
            is_record: false,
            validity: None,
            warnings: Vec::new(),
            connections: Vec::new(),
            events: form.events,
            whole: form.whole || !form.events,
            interval: form.interval.map_or(0.0, |interval| interval.as_secs_f64()),
            subject: None,
            start: Fields::default().with("version", VERSION).with("system_info", system()),
            connected: Vec::new(),
            intervals: Vec::new(),
            kept: 0,
            end: Fields::default(),
            further: Fields::default(),
        }
    }

    /// The record of a test, whatever is printed of it.
    pub(super) fn record(form: &Form, output: Arc<Output>) -> Self {
        Self { events: false, whole: true, is_record: true, ..Self::new(form, output) }
    }

    fn event(&self, name: &'static str, data: &Tree) {
        if self.events {
            let event = Fields::default().with("event", name).with("data", data.clone());
            self.output.print(&format!("{}\n", line(&Tree::from(event))));
        }
    }

    /// True if intervals are kept for somebody who wants the whole document.
    fn keeps(&self) -> bool {
        let of_server = |subject: &Subject| subject.role == Role::Server && subject.settings.server_output;
        self.whole || self.subject.as_ref().is_some_and(of_server)
    }

    fn start(&self) -> Fields {
        Fields::default().with("connected", self.connected.clone()).and(self.start.clone())
    }

    fn tree(&self) -> Fields {
        let mut top = Fields::default().with("start", self.start());
        top.add("intervals", self.intervals.clone());
        top.add("end", self.end.clone());
        top
    }

    fn print(&self, fault: Option<&str>, further: Fields) {
        let mut top = self.tree();
        if let Some(fault) = fault {
            top.add("error", fault);
        }
        let settings = self.subject.as_ref().map(|subject| &subject.settings);
        for (name, value) in [
            ("title", settings.and_then(|settings| settings.title.as_deref())),
            ("extra_data", settings.and_then(|settings| settings.extra_data.as_deref())),
        ] {
            if let Some(value) = value {
                top.add(name, value);
            }
        }
        let top = top.and(further);
        let text = format!("{}\n", text(&Tree::from(top)));
        match (self.is_record, &self.subject) {
            (false, _) => self.output.print(&text),
            (true, Some(_)) => {
                let (connections, warnings) = (self.connections.clone(), self.warnings.clone());
                self.output.keep(&[Record { connections, warnings, ..Record::new("iperf3", text) }], None);
            }
            // Who has asked for no test leaves none.
            (true, None) => {}
        }
    }
}

impl Report for Document {
    fn for_client(&self) -> ServerOutput {
        ServerOutput::Json(serde_json::to_value(Tree::from(self.tree())).unwrap_or_default())
    }

    fn agreed(&mut self, subject: &Subject) {
        if self.subject.is_some() {
            // A second login, by another connection.
            self.start.renew("cookie", subject.cookie.as_str());
            self.subject = Some(subject.clone());
            return;
        }
        let s = &subject.settings;
        let time = Fields::default()
            .with("time", httpdate::fmt_http_date(SystemTime::now()))
            .with("timesecs", wall().as_secs());
        self.start.add("timestamp", time);
        let other = Fields::default().with("host", subject.host.as_str()).with("port", subject.port);
        self.start.add(if subject.role == Role::Client { "connecting_to" } else { "accepted_connection" }, other);
        self.start.add("cookie", subject.cookie.as_str());
        match (s.transport, s.mss) {
            (Transport::Tcp, 0) => self.start.add("tcp_mss_default", subject.mss),
            (Transport::Tcp, mss) => self.start.add("tcp_mss", mss),
            (Transport::Udp, _) => {}
        }
        self.start.add("target_bitrate", s.rate);
        self.subject = Some(subject.clone());
    }

    fn buffers(&mut self, sizes: Buffers) {
        // All streams have the same; iperf3 writes them once more for each.
        if !self.start.has("sock_bufsize") {
            self.start.add("sock_bufsize", sizes.asked);
            self.start.add("sndbuf_actual", sizes.send);
            self.start.add("rcvbuf_actual", sizes.receive);
        }
    }

    fn stream(&mut self, info: &StreamInfo) {
        let fields = socket(info)
            .with("local_host", info.local.ip().to_string())
            .with("local_port", info.local.port())
            .with("remote_host", info.remote.ip().to_string())
            .with("remote_port", info.remote.port());
        self.connected.push(fields.into());
    }

    fn started(&mut self) {
        self.validity = self.is_record.then(Validity::begin);
        let Some(Subject { settings: s, .. }) = &self.subject else { return };
        let fields = Fields::default()
            .with("protocol", if s.transport == Transport::Tcp { "TCP" } else { "UDP" })
            .with("num_streams", s.streams as u64)
            .with("blksize", s.block as u64)
            .with("omit", s.omit)
            .with("duration", s.time)
            .with("bytes", s.bytes)
            .with("blocks", s.blocks)
            .with("reverse", u64::from(s.direction == Direction::Reverse))
            .with("tos", u64::from(s.tos))
            .with("target_bitrate", s.rate);
        self.start.add("test_start", fields);
        self.event("start", &self.start().into());
    }

    fn interval(&mut self, infos: &[StreamInfo], figures: &[Figure]) {
        let Some(Subject { role, settings, .. }) = &self.subject else { return };
        let keeps = self.keeps() && self.kept + figures.len() <= KEPT;
        if !is_worth(figures, self.interval) || !(keeps || self.events) {
            return;
        }
        let (mut streams, mut sums) = (Vec::new(), Fields::default());
        let sends = infos.iter().any(|info| info.sends);
        for sends in order(*role, settings.direction, sends) {
            let of: Vec<(&StreamInfo, &Figure)> =
                infos.iter().zip(figures).filter(|(info, _)| info.sends == sends).collect();
            streams.extend(of.iter().map(|(info, figure)| {
                let kernel = settings.transport == Transport::Tcp && sends;
                Tree::from(socket(info).and(interval(settings, figure, sends, kernel)))
            }));
            let sum = sum(of.iter().map(|(_, figure)| **figure), settings.streams);
            sums.add(
                name_of(settings, *role, sends, "sum", "sum_bidir_reverse"),
                interval(settings, &sum, sends, false),
            );
        }
        let interval = Tree::from(Fields::default().with("streams", streams).and(sums));
        self.event("interval", &interval);
        if keeps {
            self.kept += figures.len();
            self.intervals.push(interval);
        }
    }

    fn summary(&mut self, infos: &[StreamInfo], summary: &Summary) {
        let Some(Subject { role, settings, .. }) = &self.subject else { return };
        if let Some(validity) = self.validity.take() {
            self.warnings.extend(validity.end().lines());
            let reverse = |sends| sends != (*role == Role::Client);
            self.connections = summary.connections(infos).into_iter().map(|(sends, of)| (reverse(sends), of)).collect();
        }
        let (mut streams, mut sums, mut last) = (Vec::new(), Fields::default(), true);
        let sends = infos.iter().any(|info| info.sends);
        for sends in order(*role, settings.direction, sends) {
            let knows = Knows::new(*role, sends, summary);
            let of: Vec<(&StreamInfo, &Total)> =
                infos.iter().zip(&summary.totals).filter(|(info, _)| info.sends == sends).collect();
            streams.extend(of.iter().map(|(info, total)| Tree::from(stream(settings, info, total, summary, knows))));
            let all: Vec<Total> = of.iter().map(|(_, total)| **total).collect();
            let names = [
                name_of(settings, *role, sends, "sum", "sum_bidir_reverse"),
                name_of(settings, *role, sends, "sum_sent", "sum_sent_bidir_reverse"),
                name_of(settings, *role, sends, "sum_received", "sum_received_bidir_reverse"),
            ];
            sums = sums.and(totals(settings, sends, &whole(&all), summary, knows, names));
            last = sends;
        }
        let (own, other): (Cpu, Cpu) = (summary.own_cpu, summary.other_cpu);
        let cpu = Fields::default()
            .with("host_total", own.total)
            .with("host_user", own.user)
            .with("host_system", own.system)
            .with("remote_total", other.total)
            .with("remote_user", other.user)
            .with("remote_system", other.system)
            .known(summary.other_known || *role == Role::Server, &["remote_total", "remote_user", "remote_system"]);
        self.end = Fields::default().with("streams", streams).and(sums).with("cpu_utilization_percent", cpu);
        if settings.transport == Transport::Tcp {
            let (sender, receiver) = congestion(last, summary);
            for (end, name) in [("sender_tcp_congestion", sender), ("receiver_tcp_congestion", receiver)] {
                if let Some(name) = name {
                    self.end.add(end, name);
                }
            }
        }
        match &summary.output {
            ServerOutput::None => {}
            ServerOutput::Text(text) => self.further.add("server_output_text", text.as_str()),
            ServerOutput::Json(value) => self.further.add("server_output_json", value.clone()),
        }
    }

    fn end(&mut self, fault: Option<&str>) {
        let further = std::mem::take(&mut self.further);
        if let Some(fault) = fault {
            self.event("error", &fault.into());
        }
        further.all().for_each(|(name, value)| self.event(name, value));
        self.event("end", &self.end.clone().into());
        if self.whole {
            self.print(fault, further);
        }
    }
}

/// Name of a sum: with both directions in a test, what the server sends has one of its own.
fn name_of(settings: &Settings, role: Role, sends: bool, name: &'static str, reverse: &'static str) -> &'static str {
    let of_server = sends == (role == Role::Server);
    if settings.direction == Direction::Both && of_server { reverse } else { name }
}

fn interval(settings: &Settings, figure: &Figure, sends: bool, kernel: bool) -> Fields {
    let mut fields = moved(figure.start, figure.end, figure.seconds(), figure.bytes);
    match (settings.transport, sends) {
        (Transport::Tcp, true) => {
            fields.add("retransmits", figure.retransmits);
            if kernel {
                fields.add("snd_cwnd", figure.cwnd);
                fields.add("snd_wnd", figure.wnd);
                fields.add("rtt", figure.rtt);
                fields.add("rttvar", figure.rttvar);
                fields.add("pmtu", figure.pmtu);
            }
        }
        (Transport::Tcp, false) => {}
        (Transport::Udp, true) => fields.add("packets", figure.packets),
        (Transport::Udp, false) => {
            fields.add("jitter_ms", figure.jitter * 1000.0);
            fields.add("lost_packets", figure.lost);
            fields.add("packets", figure.packets);
            fields.add("lost_percent", percent(figure.lost as f64, figure.packets));
        }
    }
    fields.with("omitted", figure.omitted).with("sender", sends)
}

/// True if segments sent again are known of this direction.
fn retransmits(sends: bool, summary: &Summary) -> bool {
    if sends { summary.own_retransmits } else { summary.other_retransmits }
}

fn stream(settings: &Settings, info: &StreamInfo, total: &Total, summary: &Summary, knows: Knows) -> Fields {
    let (sent_in, got_in, sends) = (summary.sender_seconds, summary.receiver_seconds, info.sends);
    let sent = socket(info).and(moved(0.0, sent_in, sent_in, total.sent).known(knows.sent, MOVED));
    if settings.transport == Transport::Udp {
        let packets = if total.packets_sent > 0 { total.packets_sent } else { total.packets_received };
        let udp = sent
            .with("jitter_ms", total.jitter * 1000.0)
            .with("lost_packets", total.lost)
            .with("packets", packets)
            .with("lost_percent", percent(total.lost as f64, packets))
            .with("out_of_order", total.out_of_order)
            .known(knows.received, COUNTED)
            .with("sender", sends);
        return Fields::default().with("udp", udp);
    }
    let mut sender = sent;
    if retransmits(sends, summary) {
        sender.add("retransmits", total.retransmits);
        sender.add("max_snd_cwnd", total.max_cwnd);
        sender.add("max_snd_wnd", total.max_wnd);
        sender.add("max_rtt", total.max_rtt);
        sender.add("min_rtt", total.min_rtt);
        sender.add("mean_rtt", total.mean_rtt);
    }
    let receiver = socket(info).and(moved(0.0, got_in, got_in, total.received).known(knows.received, MOVED));
    Fields::default().with("sender", sender.with("sender", sends)).with("receiver", receiver.with("sender", sends))
}

/// Sums of a direction over the test; `names` of the sum, of what was sent, and of what was received.
fn totals(
    settings: &Settings,
    sends: bool,
    total: &Total,
    summary: &Summary,
    knows: Knows,
    names: [&'static str; 3],
) -> Fields {
    let (sent_in, got_in) = (summary.sender_seconds, summary.receiver_seconds);
    let sent = moved(0.0, sent_in, sent_in, total.sent).known(knows.sent, MOVED);
    let received = moved(0.0, got_in, got_in, total.received).known(knows.received, MOVED);
    let [sum_name, sent_name, received_name] = names;
    if settings.transport == Transport::Tcp {
        let again = retransmits(sends, summary).then_some(total.retransmits);
        let sent = again.map_or(sent.clone(), |n| sent.with("retransmits", n));
        let sums = Fields::default().with(sent_name, sent.with("sender", sends));
        return sums.with(received_name, received.with("sender", sends));
    }
    let datagrams = |fields: Fields, jitter: f64, lost: u64, packets: u64| {
        let fields = fields.with("jitter_ms", jitter * 1000.0).with("lost_packets", lost).with("packets", packets);
        fields.with("lost_percent", percent(lost as f64, packets))
    };
    let packets = if total.packets_sent > 0 { total.packets_sent } else { total.packets_received };
    let sum = moved(0.0, got_in, got_in, total.sent).known(knows.sent, MOVED).known(knows.received, &MOVED[..2]);
    let sum = datagrams(sum, total.jitter, total.lost, packets).known(knows.received, COUNTED);
    let sent = datagrams(sent, 0.0, 0, total.packets_sent).known(knows.sent, &["packets"]);
    let received = datagrams(received, total.jitter, total.lost, total.packets_received);
    let received = received.known(knows.received, COUNTED).known(knows.received, &["packets"]);
    Fields::default()
        .with(sum_name, sum.with("sender", sends))
        .with(sent_name, sent.with("sender", true))
        .with(received_name, received.with("sender", false))
}
