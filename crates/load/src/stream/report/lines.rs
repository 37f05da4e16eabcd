//! Lines of a test, column for column as iperf3 prints them.

use super::tree::text;
use super::{Report, is_worth};
use crate::Output;
use crate::socket::sys::system;
use crate::stream::VERSION;
use crate::stream::config::Form;
use crate::stream::figures::{Cpu, Figure, ServerOutput, StreamInfo, Subject, Summary, Total, percent, speed};
use crate::stream::settings::{Direction, Role, Settings, Transport};
use crate::stream::units::{amount, speed as rate};
use crate::units::two_digits;
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes of a server's lines that are kept for its client.
const KEPT: usize = 1 << 20;
const RULE: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -\n";
/// Width of the role, where one is printed.
const ROLE_GAP: &str = "          ";

pub(in crate::stream) struct Lines {
    output: Arc<Output>,
    unit: Option<char>,
    verbose: bool,
    form: Form,
    /// Text in front of each line.
    title: Option<String>,
    interval: f64,
    subject: Option<Subject>,
    headed: bool,
    kept: String,
}

/// Streams of one direction, in one interval or all of the test.
struct Group<'a> {
    settings: &'a Settings,
    role: Role,
    sends: bool,
}

impl Group<'_> {
    /// Role of the streams, where both are in the test.
    fn tag(&self) -> &'static str {
        match (self.settings.direction, self.role, self.sends) {
            (Direction::Both, Role::Client, true) => "[TX-C]",
            (Direction::Both, Role::Client, false) => "[RX-C]",
            (Direction::Both, Role::Server, true) => "[TX-S]",
            (Direction::Both, Role::Server, false) => "[RX-S]",
            _ => "",
        }
    }

    fn is_tcp(&self) -> bool {
        self.settings.transport == Transport::Tcp
    }

    /// Gap before the number of datagrams.
    fn gap(&self) -> &'static str {
        if self.settings.direction == Direction::Both { ROLE_GAP } else { "" }
    }
}

impl Lines {
    pub(super) fn new(form: &Form, title: Option<&str>, output: Arc<Output>) -> Self {
        Self {
            output,
            unit: form.unit,
            verbose: form.verbose,
            form: form.clone(),
            title: title.map(str::to_owned),
            interval: form.interval.map_or(0.0, |interval| interval.as_secs_f64()),
            subject: None,
            headed: false,
            kept: String::new(),
        }
    }

    fn print(&mut self, line: &str) {
        let titled = self.title.as_ref().map(|title| format!("{title}:  {line}"));
        self.output.print(&self.form.stamped(titled.as_deref().unwrap_or(line)));
        let subject = self.subject.as_ref();
        let wanted = subject.is_some_and(|subject| subject.role == Role::Server && subject.settings.server_output);
        if wanted && self.kept.len() + line.len() <= KEPT {
            self.kept.push_str(line);
        }
    }

    fn detail_if(&mut self, wanted: bool, line: &str) {
        if wanted {
            self.detail(line);
        }
    }

    /// Line of a stream, or of all.
    fn interval_line(&self, group: &Group<'_>, name: &str, figure: &Figure, is_one: bool) -> String {
        let Figure { start, end, bytes, packets, lost, .. } = figure;
        let front = self.front(group, name, (*start, *end), *bytes);
        let end = if figure.omitted { "(omitted)" } else { "" };
        match (group.is_tcp(), group.sends) {
            (true, true) if is_one => {
                format!("{front}  {:3}   {}s       {end}\n", figure.retransmits, amount(figure.cwnd))
            }
            (true, true) => format!("{front}  {:3}             {end}\n", figure.retransmits),
            (true, false) => format!("{front}                  {end}\n"),
            (false, true) => format!("{front} {} {packets}  {end}\n", group.gap()),
            (false, false) => {
                let share = two_digits(percent(*lost as f64, *packets));
                format!("{front}  {:5.3} ms  {lost}/{packets} ({share}%)  {end}\n", figure.jitter * 1000.0)
            }
        }
    }

    /// Front of a line: up to the speed.
    fn front(&self, group: &Group<'_>, name: &str, (start, end): (f64, f64), bytes: u64) -> String {
        let speed = rate(speed(bytes, end - start), self.unit);
        format!("[{name}]{} {start:6.2}-{end:<6.2} sec  {}s  {speed}s/sec", group.tag(), amount(bytes))
    }

    /// Lines of a stream, or of all: of its sender and of its receiver. What the other end has not told has none: a server does
    /// not know the client's figures yet, and a client that was interrupted, or whose server was, never hears of the server's.
    fn total(&mut self, group: &Group<'_>, name: &str, total: &Total, summary: &Summary) {
        let (sent_in, got_in) = ((0.0, summary.sender_seconds), (0.0, summary.receiver_seconds));
        let unknown = !summary.other_known;
        // Of datagrams, iperf3 says it of each stream, and not of their sum.
        let missed = group.is_tcp() || name != "SUM";
        if unknown && !group.sends {
            self.detail_if(missed, &format!("[{name}] (sender statistics not available)"));
        } else {
            let front = self.front(group, name, sent_in, total.sent);
            let known = if group.sends { summary.own_retransmits } else { summary.other_retransmits };
            let line = match (group.is_tcp(), known) {
                (true, true) => format!("{front}  {:3}             sender\n", total.retransmits),
                (true, false) => format!("{front}                  sender\n"),
                (false, _) => format!("{front}  0.000 ms  0/{} (0%)  sender\n", total.packets_sent),
            };
            self.print(&line);
        }
        if total.out_of_order > 0 {
            self.print(&format!(
                "[{name}]{} {:4.1}-{:4.1} sec  {} datagrams received out-of-order\n",
                group.tag(),
                0.0,
                sent_in.1,
                total.out_of_order
            ));
        }
        if unknown && group.sends {
            self.detail_if(missed, &format!("[{name}] (receiver statistics not available)"));
            return;
        }
        let front = self.front(group, name, got_in, total.received);
        let line = if group.is_tcp() {
            format!("{front}                  receiver\n")
        } else {
            let (lost, packets) = (total.lost, total.packets_received);
            let share = two_digits(percent(lost as f64, packets));
            format!("{front}  {:5.3} ms  {lost}/{packets} ({share}%)  receiver\n", total.jitter * 1000.0)
        };
        self.print(&line);
    }

    /// Processor time and congestion control of both ends.
    fn ends(&mut self, group: &Group<'_>, summary: &Summary) {
        let (own, other) = (summary.own_cpu, summary.other_cpu);
        let of = |end: &str, cpu: Cpu| format!("{end} {:.1}% ({:.1}%u/{:.1}%s)", cpu.total, cpu.user, cpu.system);
        let cpu = |own_is: &str, other_is: &str| {
            let line = format!("CPU Utilization: {}", of(&format!("local/{own_is}"), own));
            // A server prints the client's as iperf3 does, before it knows it.
            match summary.other_known || group.role == Role::Server {
                true => format!("{line}, {}", of(&format!("remote/{other_is}"), other)),
                false => line,
            }
        };
        let both = group.settings.direction == Direction::Both;
        // A server that receives knows nothing of its client yet. A client that receives says it, where iperf3 does not.
        if group.sends || (!both && group.role == Role::Client) {
            let (own_is, other_is) = if group.sends { ("sender", "receiver") } else { ("receiver", "sender") };
            self.detail(&cpu(own_is, other_is));
            if both {
                self.detail(&cpu(other_is, own_is));
            }
        }
        let (sender, receiver) = congestion(group.sends, summary);
        for (end, name) in [("snd", sender), ("rcv", receiver)] {
            if let Some(name) = name {
                self.detail(&format!("{end}_tcp_congestion {name}"));
            }
        }
    }
}

impl Report for Lines {
    fn hello(&mut self) {
        self.detail(VERSION);
        self.detail(&system());
    }

    fn detail(&mut self, line: &str) {
        if self.verbose {
            self.print(&format!("{line}\n"));
        }
    }

    fn agreed(&mut self, subject: &Subject) {
        let s = subject.settings.clone();
        let (host, port) = (subject.host.clone(), subject.port);
        let (role, cookie, mss) = (subject.role, subject.cookie.clone(), subject.mss);
        let again = self.subject.replace(subject.clone()).is_some();
        if again {
            // A second login, by another connection.
            return self.detail(&format!("      Cookie: {cookie}"));
        }
        self.detail(&format!("Time: {}", httpdate::fmt_http_date(SystemTime::now())));
        if role == Role::Client {
            self.print(&format!("Connecting to host {host}, port {port}\n"));
            if s.direction == Direction::Reverse {
                self.print(&format!("Reverse mode, remote host {host} is sending\n"));
            }
        } else {
            self.print(&format!("Accepted connection from {host}, port {port}\n"));
        }
        self.detail(&format!("      Cookie: {cookie}"));
        match (s.transport, s.mss) {
            (Transport::Tcp, 0) => self.detail(&format!("      TCP MSS: {mss} (default)")),
            (Transport::Tcp, mss) => self.detail(&format!("      TCP MSS: {mss}")),
            (Transport::Udp, _) => {}
        }
        if s.rate > 0 {
            self.detail(&format!("      Target Bitrate: {}", s.rate));
        }
    }

    fn stream(&mut self, info: &StreamInfo) {
        let StreamInfo { socket, local, remote, .. } = info;
        self.print(&format!(
            "[{socket:3}] local {} port {} connected to {} port {}\n",
            local.ip(),
            local.port(),
            remote.ip(),
            remote.port()
        ));
    }

    fn started(&mut self) {
        let Some(Subject { settings: s, .. }) = &self.subject else { return };
        let end = match (s.bytes, s.blocks) {
            (0, 0) => format!("{} second test", s.time),
            (0, blocks) => format!("{blocks} blocks to send"),
            (bytes, _) => format!("{bytes} bytes to send"),
        };
        let protocol = if s.transport == Transport::Tcp { "TCP" } else { "UDP" };
        let line = format!(
            "Starting Test: protocol: {protocol}, {} streams, {} byte blocks, omitting {} seconds, {end}, tos {}",
            s.streams, s.block, s.omit, s.tos
        );
        self.detail(&line);
    }

    fn interval(&mut self, infos: &[StreamInfo], figures: &[Figure]) {
        let Some(Subject { role, settings, .. }) = self.subject.clone() else { return };
        if !is_worth(figures, self.interval) {
            return;
        }
        let (sends, receives) = (infos.iter().any(|info| info.sends), infos.iter().any(|info| !info.sends));
        let both = if settings.direction == Direction::Both { "[Role]" } else { "" };
        if !self.headed {
            self.headed = true;
            let columns = match (settings.transport, sends, receives) {
                // At a client that receives, too, although its lines have no such columns.
                (Transport::Tcp, ..) if sends || role == Role::Client => "        Retr  Cwnd",
                (Transport::Tcp, ..) => "",
                (Transport::Udp, true, false) => "        Total Datagrams",
                (Transport::Udp, ..) => "        Jitter    Lost/Total Datagrams",
            };
            self.print(&head(both, columns));
        } else if settings.streams > 1 {
            self.print(RULE);
        }
        for sends in order(role, settings.direction, sends) {
            let group = Group { settings: &settings, role, sends };
            let of: Vec<(&StreamInfo, &Figure)> =
                infos.iter().zip(figures).filter(|(info, _)| info.sends == sends).collect();
            for (info, figure) in &of {
                let line = self.interval_line(&group, &format!("{:3}", info.socket), figure, true);
                self.print(&line);
            }
            if settings.streams > 1 {
                let sum = sum(of.iter().map(|(_, figure)| **figure), settings.streams);
                let line = self.interval_line(&group, "SUM", &sum, false);
                self.print(&line);
            }
        }
    }

    fn counting(&mut self) {
        if self.interval == 0.0 {
            self.detail("Finished omit period, starting real test");
        }
    }

    fn summary(&mut self, infos: &[StreamInfo], summary: &Summary) {
        let Some(Subject { role, settings, .. }) = self.subject.clone() else { return };
        self.print(RULE);
        self.detail("Test Complete. Summary Results:");
        let both = if settings.direction == Direction::Both { "[Role]" } else { "" };
        let columns = match settings.transport {
            Transport::Tcp if summary.own_retransmits || summary.other_retransmits => "        Retr",
            Transport::Tcp => "",
            Transport::Udp => "        Jitter    Lost/Total Datagrams",
        };
        self.print(&head(both, columns));
        let sends = infos.iter().any(|info| info.sends);
        for sends in order(role, settings.direction, sends) {
            let group = Group { settings: &settings, role, sends };
            let of = infos.iter().zip(&summary.totals).filter(|(info, _)| info.sends == sends);
            let mut all = Vec::new();
            for (info, total) in of {
                self.total(&group, &format!("{:3}", info.socket), total, summary);
                all.push(*total);
            }
            if settings.streams > 1 && !all.is_empty() {
                let sum = whole(&all);
                self.total(&group, "SUM", &sum, summary);
            }
            self.ends(&group, summary);
        }
        match &summary.output {
            ServerOutput::None => {}
            ServerOutput::Text(text) => self.print(&format!("\nServer output:\n{text}\n")),
            ServerOutput::Json(value) => self.print(&format!("\nServer JSON output:\n{}\n", text(value))),
        }
    }

    fn for_client(&self) -> ServerOutput {
        ServerOutput::Text(self.kept.clone())
    }

    fn end(&mut self, fault: Option<&str>) {
        let is_client = self.subject.as_ref().is_some_and(|subject| subject.role == Role::Client);
        if fault.is_none() && is_client {
            self.print("\n");
            self.print("iperf Done.\n");
        }
    }
}

/// Line of columns' names.
fn head(both: &str, columns: &str) -> String {
    let line = format!("[ ID]{both} Interval           Transfer     Bitrate {columns}");
    format!("{}\n", line.trim_end_matches(' '))
}

/// Directions in the order of reports: at a client what it sends first, at a server what it receives.
pub(super) fn order(role: Role, direction: Direction, sends: bool) -> impl Iterator<Item = bool> {
    let all = match (direction, role) {
        (Direction::Both, Role::Client) => [Some(true), Some(false)],
        (Direction::Both, Role::Server) => [Some(false), Some(true)],
        _ => [Some(sends), None],
    };
    all.into_iter().flatten()
}

/// Sum of the figures of several streams; the first one's times stand for all.
pub(super) fn sum(figures: impl Iterator<Item = Figure>, streams: usize) -> Figure {
    let mut sum = Figure::default();
    for (at, figure) in figures.enumerate() {
        if at == 0 {
            (sum.start, sum.end, sum.omitted) = (figure.start, figure.end, figure.omitted);
        }
        sum.bytes += figure.bytes;
        sum.retransmits += figure.retransmits;
        sum.packets += figure.packets;
        sum.lost += figure.lost;
        sum.jitter += figure.jitter / streams as f64;
    }
    sum
}

/// Sum of totals; what the other end says of itself may be anything.
pub(super) fn whole(totals: &[Total]) -> Total {
    let mut sum = Total::default();
    for total in totals {
        sum.sent = sum.sent.saturating_add(total.sent);
        sum.received = sum.received.saturating_add(total.received);
        sum.retransmits = sum.retransmits.saturating_add(total.retransmits);
        sum.packets_sent = sum.packets_sent.saturating_add(total.packets_sent);
        sum.packets_received = sum.packets_received.saturating_add(total.packets_received);
        sum.lost = sum.lost.saturating_add(total.lost);
        sum.out_of_order = sum.out_of_order.saturating_add(total.out_of_order);
        sum.jitter += total.jitter / totals.len() as f64;
    }
    sum
}

/// Congestion control of sender and receiver.
pub(super) fn congestion(sends: bool, summary: &Summary) -> (Option<&str>, Option<&str>) {
    let (own, other) = (summary.own_congestion.as_deref(), summary.other_congestion.as_deref());
    if sends { (own, other) } else { (other, own) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_rt::Stop;
    use std::io::Write;
    use std::sync::Mutex;
    use std::time::Duration;

    /// Text that was printed.
    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Lines of a test of two streams, whose figures are these; `sends` says of each whether this end sends.
    fn printed(role: Role, settings: &Settings, sends: [bool; 2], figure: Figure, total: Total) -> Vec<String> {
        let (paper, stop) = (Paper::default(), Stop::new().unwrap());
        let output =
            Arc::new(Output::new(crate::stream::SPEAKER, Box::new(paper.clone()), Box::new(std::io::sink()), &stop));
        let interval = Some(Duration::from_secs(1));
        let form = Form { interval, ..Form::default() };
        let mut lines = Lines::new(&form, None, output);
        let (settings, tcp) = (settings.clone(), settings.transport == Transport::Tcp);
        let (cookie, host) = (String::new(), "h".to_owned());
        lines.agreed(&Subject { role, settings, cookie, host, port: 1, mss: 0 });
        let address = "127.0.0.1:5201".parse().unwrap();
        let info = |socket, sends| StreamInfo { socket, sends, local: address, remote: address };
        let infos = [info(5, sends[0]), info(12, sends[1])];
        lines.interval(&infos, &[figure; 2]);
        let summary = Summary {
            totals: vec![total; 2],
            seconds: 10.0,
            sender_seconds: 10.0,
            receiver_seconds: 10.04,
            own_retransmits: tcp && sends.contains(&true),
            own_cpu: Cpu::default(),
            other_known: role == Role::Client,
            ..Summary::default()
        };
        lines.summary(&infos, &summary);
        let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        text.lines().skip(1).map(str::to_owned).collect()
    }

    /// Column for column as iperf3 3.12 printed such figures.
    #[test]
    fn columns_are_those_of_iperf3() {
        let second = Figure { end: 1.0, bytes: 1 << 30, retransmits: 16, cwnd: 895 << 10, ..Figure::default() };
        let total = Total { sent: 10 << 30, received: 10 << 30, retransmits: 160, ..Total::default() };
        let tcp = Settings { streams: 2, ..Settings::default() };
        assert_eq!(
            printed(Role::Client, &tcp, [true; 2], second, total),
            [
                "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
                "[  5]   0.00-1.00   sec  1.00 GBytes  8.59 Gbits/sec   16    895 KBytes       ",
                "[ 12]   0.00-1.00   sec  1.00 GBytes  8.59 Gbits/sec   16    895 KBytes       ",
                "[SUM]   0.00-1.00   sec  2.00 GBytes  17.2 Gbits/sec   32             ",
                "- - - - - - - - - - - - - - - - - - - - - - - - -",
                "[ ID] Interval           Transfer     Bitrate         Retr",
                "[  5]   0.00-10.00  sec  10.0 GBytes  8.59 Gbits/sec  160             sender",
                "[  5]   0.00-10.04  sec  10.0 GBytes  8.56 Gbits/sec                  receiver",
                "[ 12]   0.00-10.00  sec  10.0 GBytes  8.59 Gbits/sec  160             sender",
                "[ 12]   0.00-10.04  sec  10.0 GBytes  8.56 Gbits/sec                  receiver",
                "[SUM]   0.00-10.00  sec  20.0 GBytes  17.2 Gbits/sec  320             sender",
                "[SUM]   0.00-10.04  sec  20.0 GBytes  17.1 Gbits/sec                  receiver",
            ]
        );
        let both = Settings { streams: 1, direction: Direction::Both, ..Settings::default() };
        let lines = printed(Role::Server, &both, [false, true], second, total);
        assert_eq!(lines[0], "[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd");
        assert_eq!(lines[1], "[  5][RX-S]   0.00-1.00   sec  1.00 GBytes  8.59 Gbits/sec                  ");
        assert_eq!(lines[2], "[ 12][TX-S]   0.00-1.00   sec  1.00 GBytes  8.59 Gbits/sec   16    895 KBytes       ");

        let udp = Settings { transport: Transport::Udp, streams: 1, ..Settings::default() };
        let second = Figure { end: 1.0, bytes: 131_072, packets: 91, lost: 3, jitter: 0.000_162, ..Figure::default() };
        let total = Total { packets_received: 910, lost: 910, packets_sent: 920, ..Total::default() };
        let lines = printed(Role::Client, &udp, [true; 2], second, total);
        assert_eq!(lines[0], "[ ID] Interval           Transfer     Bitrate         Total Datagrams");
        assert_eq!(lines[1], "[  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  91  ");
        let lines = printed(Role::Client, &udp, [false; 2], Figure { omitted: true, ..second }, total);
        assert_eq!(lines[0], "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams");
        assert_eq!(lines[1], "[  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  0.162 ms  3/91 (3.3%)  (omitted)");
        let receiver = "[  5]   0.00-10.04  sec  0.00 Bytes  0.00 bits/sec  0.000 ms  910/910 (1e+02%)  receiver";
        assert_eq!(lines.last().map(String::as_str), Some(receiver.replace("[  5]", "[ 12]")).as_deref());
    }
}
