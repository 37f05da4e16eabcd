//! Configuration of a pkt-gen run.

use super::captured::ReplayConfig;
use super::modes::{MODES, Mode};
use super::pace::Pace;
use super::sizes::Sizes;
use crate::frame::FlowRange;
use linerate_rt::WaitMode;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Bits of `-o`, numbered as in netmap's pkt-gen.
pub mod options {
    /// Prefetch buffers ahead of their use.
    pub const PREFETCH: u32 = 1;
    /// Copy with linerate's routine.
    pub const COPY: u32 = 4;
    /// Copy with the C library's memcpy.
    pub const MEMCPY: u32 = 8;
    /// Put time-stamps into the frames.
    pub const TS: u32 = 16;
    /// Print all frames.
    pub const DUMP: u32 = 64;
    /// Send the present contents of the buffers.
    pub const RUBBISH: u32 = 256;
    /// Random source addresses and ports.
    pub const RANDOM_SRC: u32 = 512;
    /// Random destination addresses and ports.
    pub const RANDOM_DST: u32 = 1024;
    /// Report mean and deviation of the rate.
    pub const PPS_STATS: u32 = 2048;
    /// Correct the checksums of frames that come from a capture.
    pub const UPDATE_CSUM: u32 = 4096;

    /// Bits that have a meaning, with their names.
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

    #[must_use]
    pub fn names(bits: u32) -> Vec<&'static str> {
        ALL.iter().filter(|(_, bit)| bits & bit != 0).map(|(name, _)| *name).collect()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Lines of the present netmap pkt-gen.
    #[default]
    Lines,
    /// Lines of the older pkt-gen.
    Classic,
}

/// Configuration of a pkt-gen run. Made by [`Config::parse`], or from [`Config::new`].
#[derive(Clone, Debug)]
pub struct Config {
    /// Port name as it is opened.
    pub port: String,
    /// Differences between the names typed and opened, one per line.
    pub remarks: Vec<String>,
    /// Port at which this process receives and checks the frames that it sends.
    pub to: Option<String>,
    /// Function (`-f`).
    pub mode: &'static Mode,
    /// Number of frames to send or receive; 0 for no end.
    pub count: u64,
    /// Duration of the run; `None` for no limit.
    pub seconds: Option<Duration>,
    /// Frame lengths without FCS.
    pub sizes: Sizes,
    /// Frames per sync; the mode's own number if not given.
    pub burst: Option<u32>,
    pub v6: bool,
    pub src: FlowRange,
    /// Source range as typed.
    pub src_text: String,
    pub dst: FlowRange,
    pub dst_text: String,
    /// Source MAC address; the port's own if not given.
    pub src_mac: Option<[u8; 6]>,
    pub dst_mac: [u8; 6],
    /// Number of threads; with more than one, each has a queue of its own.
    pub threads: usize,
    /// Number of processors to use; 0 for all.
    pub cpus: Option<usize>,
    /// Processor of the first thread; further threads go to the following processors.
    pub affinity: Option<usize>,
    /// Time between two reports.
    pub report: Duration,
    /// Time to wait before the start; if not given, until the link is up, with a limit.
    pub wait_link: Option<Duration>,
    /// True to end after a second without frames.
    pub exit_idle: bool,
    /// Frames per second, summed over all threads.
    pub rate: Option<u64>,
    /// Bits of [`options`].
    pub options: u32,
    /// Length of the virtio-net header, bytes.
    pub vnet: usize,
    /// Capture whose first frame is sent repeatedly.
    pub packet_file: Option<PathBuf>,
    pub replay: Option<ReplayConfig>,
    /// Number of slots per frame.
    pub frags: usize,
    /// Greatest number of bytes per slot.
    pub frag_size: Option<usize>,
    /// True to count framing bytes in the bandwidth.
    pub framing: bool,
    /// True to report Mpps rather than pps.
    pub normalize: bool,
    pub verbose: u8,
    /// Slots and rings (`-C`).
    pub rings: Option<[u32; 4]>,
    /// True to report latency percentiles.
    pub latency: bool,
    /// True for a result document on standard output.
    pub json: bool,
    /// True for events on standard output, one JSON document per line.
    pub ndjson: bool,
    /// Keeping of the result document among the user's runs.
    pub keep: bool,
    pub style: Style,
    pub wait: WaitMode,
    /// Run number in the frames' marks; drawn at random if not given.
    pub run: Option<u16>,
}

impl Default for Config {
    fn default() -> Self {
        Self::new("")
    }
}

impl Config {
    /// Makes a configuration with the defaults of netmap's pkt-gen.
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
            keep: false,
            style: Style::Lines,
            wait: WaitMode::Adaptive,
            run: None,
        }
    }

    #[must_use]
    pub fn has(&self, option: u32) -> bool {
        self.options & option != 0
    }

    /// Frames per sync.
    #[must_use]
    pub fn burst(&self) -> u32 {
        Pace::burst(self.rate.unwrap_or(0), self.burst.unwrap_or(self.mode.burst))
    }

    /// True if frames come from a capture.
    #[must_use]
    pub fn captured(&self) -> bool {
        self.packet_file.is_some() || self.replay.is_some()
    }

    /// True if frames carry time-stamps.
    #[must_use]
    pub fn stamps(&self) -> bool {
        self.latency || self.has(options::TS)
    }
}
