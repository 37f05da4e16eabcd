//! Lines about the settings of an end, between rules.

use crate::iperf::config::Form;
use crate::iperf::settings::{Rate, Transport};
use crate::iperf::units::amount;
use std::fmt::Write as _;

const RULE: &str = "------------------------------------------------------------\n";

pub(in crate::iperf) struct ClientSettings<'a> {
    pub(in crate::iperf) host: &'a str,
    pub(in crate::iperf) port: u16,
    pub(in crate::iperf) device: Option<&'a str>,
    pub(in crate::iperf) streams: u32,
    pub(in crate::iperf) transport: Transport,
    pub(in crate::iperf) block: usize,
    pub(in crate::iperf) rate: Rate,
    pub(in crate::iperf) no_delay: bool,
    pub(in crate::iperf) tos: u8,
    pub(in crate::iperf) end: EndSettings<'a>,
}

pub(in crate::iperf) struct ServerSettings<'a> {
    pub(in crate::iperf) port: u16,
    pub(in crate::iperf) bind: Option<&'a str>,
    pub(in crate::iperf) transport: Transport,
    pub(in crate::iperf) block: usize,
    pub(in crate::iperf) tos: u8,
    pub(in crate::iperf) end: EndSettings<'a>,
}

/// Settings that both have.
pub(in crate::iperf) struct EndSettings<'a> {
    /// Window asked for, 0 for none, and the one that the system gave.
    pub(in crate::iperf) window: (u64, u64),
    /// Largest segment asked for, 0 for none, and the one that the system gave.
    pub(in crate::iperf) segment: (u64, u64),
    pub(in crate::iperf) congestion: Option<&'a str>,
}

const fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    }
}

impl ClientSettings<'_> {
    pub(in crate::iperf) fn text(&self, form: &Form) -> String {
        let udp = self.transport == Transport::Udp;
        let host = if form.hidden { "(**hidden**)" } else { self.host };
        let mut text = format!("{RULE}Client connecting to {host}, {} port {}", name(self.transport), self.port);
        let pid = std::process::id();
        let _ = match self.device {
            Some(device) => writeln!(text, " with pid {pid} via {device} ({} flows)", self.streams),
            None if form.enhanced => writeln!(text, " with pid {pid} ({} flows)", self.streams),
            None => writeln!(text),
        };
        if form.enhanced && !udp {
            let _ = writeln!(text, "Write buffer size: {}", amount(self.block as f64, 'B'));
        }
        text += &self.end.above(form, udp);
        if form.enhanced {
            let nagle = if self.no_delay { " and nodelay (Nagle off)" } else { " (Nagle on)" };
            let _ = writeln!(text, "TOS set to 0x{:x}{nagle}", self.tos);
        }
        if udp {
            let gap = match self.rate {
                Rate::Unlimited => 0.0,
                Rate::Bits(rate) => self.block as f64 * 8e6 / rate as f64,
                Rate::Packets(rate) => 1e6 / rate as f64,
            };
            let _ = writeln!(text, "Sending {} byte datagrams, IPG target: {gap:.2} us", self.block);
        }
        text + &self.end.window(form, udp) + RULE
    }
}

impl ServerSettings<'_> {
    pub(in crate::iperf) fn text(&self, form: &Form) -> String {
        let udp = self.transport == Transport::Udp;
        let mut text = format!("{RULE}Server listening on {} port {}", name(self.transport), self.port);
        if form.enhanced {
            let _ = write!(text, " with pid {}", std::process::id());
        }
        text.push('\n');
        if form.enhanced {
            if let Some(bind) = self.bind {
                let _ = writeln!(text, "Binding to local address {bind}");
            }
            let size = amount(self.block as f64, form.unit.to_ascii_uppercase());
            let bin = amount((self.block / 8) as f64, 'A');
            let _ = writeln!(text, "Read buffer size: {size} (Dist bin width={bin})");
        }
        text += &self.end.above(form, udp);
        if self.tos > 0 {
            let _ = writeln!(text, "TOS will be set to 0x{:x}", self.tos);
        }
        text + &self.end.window(form, udp) + RULE
    }
}

impl EndSettings<'_> {
    /// Lines above those of the window.
    fn above(&self, form: &Form, udp: bool) -> String {
        let mut text = String::new();
        if form.segment && !udp {
            let _ = match self.segment {
                (0, given) => writeln!(text, "MSS size {given} bytes"),
                (asked, _) => writeln!(text, "MSS req size {asked} bytes (per TCP_MAXSEG)"),
            };
        }
        if let Some(name) = self.congestion {
            let _ = writeln!(text, "TCP congestion control set to {name}");
        }
        text
    }

    fn window(&self, form: &Form, udp: bool) -> String {
        let what = if udp { "UDP buffer size" } else { "TCP window size" };
        let fits = if form.unit.eq_ignore_ascii_case(&'b') { 'B' } else { 'A' };
        let given = amount(self.window.1 as f64, fits);
        match self.window.0 {
            0 => format!("{what}: {given} (default)\n"),
            asked if asked == self.window.1 => format!("{what}: {given}\n"),
            asked => {
                let asked = amount(asked as f64, form.unit.to_ascii_uppercase());
                format!("{what}: {given} (WARNING: requested {asked})\n")
            }
        }
    }
}
