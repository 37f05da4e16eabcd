//! What pkt-gen was asked to do.

use super::captured::ReplayConfig;
use super::modes::{MODES, Mode};
use super::pace::Pace;
use super::sizes::Sizes;
use crate::frame::FlowRange;
use linerate_rt::WaitMode;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Bits of `-o`, as netmap's pkt-gen numbers them.
pub mod options {
    /// Fetch buffers ahead of their use.
    pub const PREFETCH: u32 = 1;
    /// Copy with linerate's own routine.
    pub const COPY: u32 = 4;
    /// Copy with the C library's.
    pub const MEMCPY: u32 = 8;
    /// Time-stamps in the frames.
    pub const TS: u32 = 16;
    /// Print all frames.
    pub const DUMP: u32 = 64;
    /// Send whatever lies in the buffers.
    pub const RUBBISH: u32 = 256;
    /// Random source addresses and ports.
    pub const RANDOM_SRC: u32 = 512;
    /// Random destination addresses and ports.
    pub const RANDOM_DST: u32 = 1024;
    /// Mean and deviation of the rate.
    pub const PPS_STATS: u32 = 2048;
    /// Right checksums in frames that come from a capture.
    pub const UPDATE_CSUM: u32 = 4096;

    /// The bits that have a meaning, by name.
    pub const ALL: [(&str, u32); 10] = [
        ("prefetch", PREFETCH),
        ("copy", COPY),
        ("memcpy", MEMCPY),
        ("ts", TS),
        ("dump", DUMP),
        ("rubbish", RUBBISH),
        ("random_src", RANDOM_SRC),
        ("random_dst", RANDOM_DST),
        ("pps_stats", PPS_STATS),
        ("update_csum", UPDATE_CSUM),
    ];

    /// The names of the bits that are set.
    #[must_use]
    pub fn names(bits: u32) -> Vec<&'static str> {
        ALL.iter().filter(|(_, bit)| bits & bit != 0).map(|(name, _)| *name).collect()
    }
}

/// How results are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Today's netmap lines.
    #[default]
    Lines,
    /// The older pkt-gen's lines.
    Classic,
}

/// What pkt-gen was asked to do. Made by [`Config::parse`], or from [`Config::new`].
#[derive(Clone, Debug)]
pub struct Config {
    /// Port, as it is opened.
    pub port: String,
    /// What is opened otherwise than typed, a line each.
    pub remarks: Vec<String>,
    /// The port at which this process receives and checks what it sends.
    pub to: Option<String>,
    /// `-f`
    pub mode: &'static Mode,
    /// Frames to send or receive; 0 is no end.
    pub count: u64,
    /// How long.
    pub seconds: Option<Duration>,
    /// Lengths without FCS.
    pub sizes: Sizes,
    /// Frames a sync; the mode's own if not given.
    pub burst: Option<u32>,
    /// IPv6.
    pub v6: bool,
    /// Source addresses and ports.
    pub src: FlowRange,
    /// As it was typed.
    pub src_text: String,
    /// Destination addresses and ports.
    pub dst: FlowRange,
    /// As it was typed.
    pub dst_text: String,
    /// Source MAC address; the port's own if not given.
    pub src_mac: Option<[u8; 6]>,
    /// Destination MAC address.
    pub dst_mac: [u8; 6],
    /// Threads; with more than one, each has a queue of its own.
    pub threads: usize,
    /// Processors to use; 0 is all.
    pub cpus: Option<usize>,
    /// Processor of the first thread; further ones go to the following processors.
    pub affinity: Option<usize>,
    /// Between two reports.
    pub report: Duration,
    /// Before starting; if not given, until the link is up, but not for ever.
    pub wait_link: Option<Duration>,
    /// Receiving ends after a second of silence.
    pub exit_idle: bool,
    /// Frames per second of all threads together.
    pub rate: Option<u64>,
    /// Bits of [`options`].
    pub options: u32,
    /// Bytes of virtio-net header.
    pub vnet: usize,
    /// Capture whose first frame is sent.
    pub packet_file: Option<PathBuf>,
    /// Capture that is replayed.
    pub replay: Option<ReplayConfig>,
    /// Slots of a frame.
    pub frags: usize,
    /// Most bytes of a slot.
    pub frag_size: Option<usize>,
    /// Bytes of framing in the bandwidth.
    pub framing: bool,
    /// Say Mpps rather than pps.
    pub normalize: bool,
    /// How much to tell of oneself.
    pub verbose: u8,
    /// `-C`: slots and rings.
    pub rings: Option<[u32; 4]>,
    /// Latency percentiles.
    pub latency: bool,
    /// A result document on standard output.
    pub json: bool,
    /// Events on standard output, a line each.
    pub ndjson: bool,
    /// Lines.
    pub style: Style,
    /// How threads wait.
    pub wait: WaitMode,
    /// The run in the frames' marks; drawn at random if not given.
    pub run: Option<u16>,
}

impl Default for Config {
    /// No port yet.
    fn default() -> Self {
        Self::new("")
    }
}

impl Config {
    /// The defaults of netmap's pkt-gen.
    #[must_use]
    pub fn new(port: &str) -> Self {
        let range = |addr: [u8; 4]| FlowRange { addrs: (IpAddr::from(addr), IpAddr::from(addr)), ports: (1234, 1234) };
        Self {
            port: port.to_owned(),
            remarks: Vec::new(),
            to: None,
            mode: &MODES[0],
            count: 0,
            seconds: None,
            sizes: Sizes::Fixed(60),
            burst: None,
            v6: false,
            src: range([10, 0, 0, 1]),
            src_text: "10.0.0.1".into(),
            dst: range([10, 1, 0, 1]),
            dst_text: "10.1.0.1".into(),
            src_mac: None,
            dst_mac: [0xff; 6],
            threads: 1,
            cpus: None,
            affinity: None,
            report: Duration::from_secs(1),
            wait_link: None,
            exit_idle: false,
            rate: None,
            options: 0,
            vnet: 0,
            packet_file: None,
            replay: None,
            frags: 1,
            frag_size: None,
            framing: false,
            normalize: true,
            verbose: 0,
            rings: None,
            latency: false,
            json: false,
            ndjson: false,
            style: Style::Lines,
            wait: WaitMode::Adaptive,
            run: None,
        }
    }

    /// Whether a bit of [`options`] is set.
    #[must_use]
    pub fn has(&self, option: u32) -> bool {
        self.options & option != 0
    }

    /// Frames a sync.
    #[must_use]
    pub fn burst(&self) -> u32 {
        Pace::burst(self.rate.unwrap_or(0), self.burst.unwrap_or(self.mode.burst))
    }

    /// Whether frames come from a capture.
    #[must_use]
    pub fn captured(&self) -> bool {
        self.packet_file.is_some() || self.replay.is_some()
    }

    /// Whether frames carry time-stamps.
    #[must_use]
    pub fn stamps(&self) -> bool {
        self.latency || self.has(options::TS)
    }
}
