//! Parameters of a test, as a client sends them.

use super::message::Malformed;
use super::value::{known, present, whole};
use crate::stream::settings::{
    BLOCK, BURST, CPU, DATAGRAM, Direction, LEAST_DATAGRAM, MSS, OMIT, STREAMS, Settings, TCP_BLOCK, TIME, Transport,
    WINDOW,
};
use linerate_text::plain;
use serde::{Deserialize, Serialize};

/// Version of iperf3 whose protocol is spoken.
const VERSION: &str = "3.12";

fn unset(flag: &bool) -> bool {
    !flag
}

fn zero(n: &u64) -> bool {
    *n == 0
}

/// Parameters by iperf3's names; what has no name here is passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    #[serde(deserialize_with = "present", skip_serializing_if = "unset")]
    tcp: bool,
    #[serde(deserialize_with = "present", skip_serializing_if = "unset")]
    udp: bool,
    #[serde(deserialize_with = "present", skip_serializing_if = "unset")]
    sctp: bool,
    #[serde(deserialize_with = "whole")]
    omit: u64,
    #[serde(deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    server_affinity: Option<u64>,
    #[serde(deserialize_with = "whole")]
    time: u64,
    #[serde(deserialize_with = "whole")]
    num: u64,
    #[serde(deserialize_with = "whole")]
    blockcount: u64,
    #[serde(rename = "MSS", deserialize_with = "whole", skip_serializing_if = "zero")]
    mss: u64,
    #[serde(deserialize_with = "present", skip_serializing_if = "unset")]
    nodelay: bool,
    #[serde(deserialize_with = "whole")]
    parallel: u64,
    #[serde(deserialize_with = "present", skip_serializing_if = "unset")]
    reverse: bool,
    #[serde(deserialize_with = "present", skip_serializing_if = "unset")]
    bidirectional: bool,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    window: u64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    len: u64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    bandwidth: u64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    fqrate: u64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    burst: u64,
    #[serde(rename = "TOS", deserialize_with = "whole", skip_serializing_if = "zero")]
    tos: u64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    flowlabel: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<String>,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    get_server_output: u64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    udp_counters_64bit: u64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    repeating_payload: u64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    zerocopy: u64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    dont_fragment: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    authtoken: Option<String>,
    client_version: String,
}

/// Checks a number that a peer gave.
fn within(name: &str, n: u64, least: u64, most: u64) -> Result<u64, Malformed> {
    if (least..=most).contains(&n) {
        return Ok(n);
    }
    Err(Malformed::Content(format!("{name} is {n}; it may be from {least} to {most}")))
}

fn size(name: &str, n: u64, least: usize, most: usize) -> Result<usize, Malformed> {
    within(name, n, least as u64, most as u64)?;
    Ok(usize::try_from(n).unwrap_or(most))
}

impl Parameters {
    /// Longest message with parameters, bytes of JSON.
    pub const LONGEST: u32 = 64 << 10;

    #[must_use]
    pub fn of(s: &Settings) -> Self {
        Self {
            tcp: s.transport == Transport::Tcp,
            udp: s.transport == Transport::Udp,
            sctp: false,
            omit: s.omit,
            server_affinity: s.server_cpu.map(|cpu| cpu as u64),
            time: s.time,
            num: s.bytes,
            blockcount: s.blocks,
            mss: s.mss,
            nodelay: s.no_delay,
            parallel: s.streams as u64,
            reverse: s.direction == Direction::Reverse,
            bidirectional: s.direction == Direction::Both,
            window: s.window,
            len: s.block as u64,
            bandwidth: s.rate,
            fqrate: s.pacing,
            burst: s.burst,
            tos: s.tos.into(),
            flowlabel: s.flow_label.into(),
            title: s.title.clone(),
            extra_data: s.extra_data.clone(),
            congestion: s.congestion.clone(),
            get_server_output: s.server_output.into(),
            udp_counters_64bit: s.wide_counters.into(),
            repeating_payload: s.repeating.into(),
            zerocopy: s.zero_copy.into(),
            dont_fragment: s.dont_fragment.into(),
            authtoken: None,
            client_version: VERSION.to_owned(),
        }
    }

    /// The same, with a login.
    #[must_use]
    pub fn with(self, token: Option<String>) -> Self {
        Self { authtoken: token, ..self }
    }

    /// Settings of the parameters that a client sent, and its login if it sent one.
    pub fn read(json: &[u8]) -> Result<(Settings, Option<String>), Malformed> {
        let mut parameters: Self = serde_json::from_slice(json)?;
        let token = parameters.authtoken.take();
        parameters.settings().map(|settings| (settings, token))
    }

    fn settings(self) -> Result<Settings, Malformed> {
        let p = self;
        if p.sctp {
            return Err(Malformed::Content("SCTP is not spoken here".to_owned()));
        }
        let transport = if p.udp { Transport::Udp } else { Transport::Tcp };
        let (least, most) = match transport {
            Transport::Tcp => (1, BLOCK),
            Transport::Udp => (LEAST_DATAGRAM, DATAGRAM),
        };
        // Absent, as from the oldest clients: iperf3's default.
        let (len, parallel) = (if p.len == 0 { TCP_BLOCK as u64 } else { p.len }, p.parallel.max(1));
        let tos = within("TOS", p.tos, 0, 255)?;
        let cpu = p.server_affinity.map(|cpu| size("server_affinity", cpu, 0, CPU)).transpose()?;
        Ok(Settings {
            transport,
            direction: match (p.bidirectional, p.reverse) {
                (true, _) => Direction::Both,
                (false, true) => Direction::Reverse,
                (false, false) => Direction::Forward,
            },
            streams: size("parallel", parallel, 1, STREAMS)?,
            block: size("len", len, least, most)?,
            omit: within("omit", p.omit, 0, OMIT)?,
            time: within("time", p.time, 0, TIME)?,
            bytes: p.num,
            blocks: p.blockcount,
            rate: p.bandwidth,
            burst: within("burst", p.burst, 0, BURST)?,
            pacing: p.fqrate,
            mss: within("MSS", p.mss, 0, MSS)?,
            no_delay: p.nodelay,
            window: within("window", p.window, 0, WINDOW)?,
            tos: u8::try_from(tos).unwrap_or(0),
            flow_label: u32::try_from(within("flowlabel", p.flowlabel, 0, 0xf_ffff)?).unwrap_or(0),
            title: p.title.as_deref().map(plain),
            extra_data: p.extra_data.as_deref().map(plain),
            congestion: p.congestion.as_deref().map(plain),
            server_output: p.get_server_output > 0,
            wide_counters: p.udp_counters_64bit > 0,
            repeating: p.repeating_payload > 0,
            zero_copy: p.zerocopy > 0,
            dont_fragment: p.dont_fragment > 0,
            server_cpu: cpu,
        })
    }
}
