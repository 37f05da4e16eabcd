//! What xdd was asked to do.

use super::pattern::Pattern;
use std::path::PathBuf;
use std::time::Duration;

/// Parts of one that a share of reads is counted in: hundredths of a percent.
pub const WHOLE: u32 = 10_000;

/// A run. Made by [`Config::parse`].
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The targets, by their numbers.
    pub targets: Vec<Target>,
    /// Times that each target's requests are done; with a run time, as often as it allows.
    pub passes: u64,
    /// Between two passes.
    pub pass_delay: Duration,
    /// How long the run takes.
    pub runtime: Option<Duration>,
    /// Threads are scheduled before all others.
    pub priority: bool,
    /// Memory is locked.
    pub lock: bool,
    /// What the run is called.
    pub id: Option<String>,
    /// A line a target and pass.
    pub verbose: bool,
    /// Lines of latency percentiles.
    pub percentiles: bool,
    /// Between two signs of life.
    pub heartbeat: Option<Duration>,
    /// Say what would be done, and do nothing.
    pub dry: bool,
    /// The first error of any target ends the run.
    pub stop_on_error: bool,
    /// So many errors end the run.
    pub max_errors: Option<u64>,
    /// Errors of a target that get a line.
    pub errors_told: u64,
    /// Where lines go rather than to standard output.
    pub output: Option<PathBuf>,
    /// Where errors go rather than to standard error.
    pub errors: Option<PathBuf>,
    /// A copy of the table, separated by commas.
    pub csv: Option<PathBuf>,
    /// Combined lines are added to this file.
    pub combined: Option<PathBuf>,
    /// Which document is printed instead of the table.
    pub document: Document,
}

/// What standard output gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Document {
    /// The table.
    #[default]
    Table,
    /// The result document, as of every load.
    Result,
    /// What fio's `--output-format=json` has.
    Fio,
}

/// One target, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its name as it is opened.
    pub name: String,
    /// Which of the devices that open under this name; 0 where there is one.
    pub unit: usize,
    /// Reads of [`WHOLE`] requests; the others are writes.
    pub reads: u32,
    /// Octets of a block.
    pub block_size: u64,
    /// Blocks of a request.
    pub request_blocks: u64,
    /// What a pass is.
    pub amount: Amount,
    /// Requests under way at once.
    pub depth: u32,
    /// Where they go.
    pub seek: Seek,
    /// Blocks before the first request.
    pub start: u64,
    /// Blocks that each pass begins later than the one before.
    pub pass_offset: u64,
    /// What is written, and expected where contents are verified.
    pub pattern: Pattern,
    /// What is looked at in what was read.
    pub verify: Verify,
    /// O_DIRECT.
    pub direct: bool,
    /// SG_IO, whatever the device is called.
    pub sg: bool,
    /// Writes complete on stable storage only.
    pub sync_write: bool,
    /// A flush after so many writes.
    pub flush_every: Option<u64>,
    /// No faster than this.
    pub throttle: Option<Throttle>,
    /// Where its thread runs.
    pub cpu: Option<usize>,
    /// Before the first pass.
    pub start_delay: Duration,
    /// Longest time of a pass.
    pub time_limit: Option<Duration>,
    /// The file is deleted at the end.
    pub delete: bool,
}

/// How much a pass is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// As much as the target has, which needs a run time.
    Whole,
    /// So many requests.
    Requests(u64),
    /// So many octets; the last request is shorter when they are no whole number of requests.
    Bytes(u64),
}

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seek {
    /// In which order.
    pub way: AccessOrder,
    /// Blocks from the start offset on in which they stay; all there are if not given.
    pub range: Option<u64>,
    /// What random places follow from.
    pub seed: u64,
}

/// In which order requests go over a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessOrder {
    /// One behind the other; at the end from the start again.
    Sequential,
    /// Anywhere, at multiples of their size.
    Random,
    /// All to the same place.
    Still,
}

/// What is looked at in what was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Nothing.
    #[default]
    Nothing,
    /// The first word, which in the sequenced pattern is the request's place.
    Location,
    /// Every octet, against the pattern.
    Contents,
}

/// A bound on speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Throttle {
    /// Requests a second.
    Requests(f64),
    /// Octets a second.
    Bytes(f64),
}

impl Default for Config {
    /// xdd's defaults.
    fn default() -> Self {
        Self {
            targets: Vec::new(),
            passes: 1,
            pass_delay: Duration::ZERO,
            runtime: None,
            priority: false,
            lock: false,
            id: None,
            verbose: false,
            percentiles: false,
            heartbeat: None,
            dry: false,
            stop_on_error: false,
            max_errors: None,
            errors_told: 10,
            output: None,
            errors: None,
            csv: None,
            combined: None,
            document: Document::Table,
        }
    }
}

impl Default for Target {
    /// A target without a name.
    fn default() -> Self {
        Self::new("")
    }
}

impl Target {
    /// A target with xdd's defaults: reads of 128 blocks of 1024 octets, one at a time.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            unit: 0,
            reads: WHOLE,
            block_size: 1024,
            request_blocks: 128,
            amount: Amount::Whole,
            depth: 1,
            seek: Seek { way: AccessOrder::Sequential, range: None, seed: 72_058_327 },
            start: 0,
            pass_offset: 0,
            pattern: Pattern::default(),
            verify: Verify::Nothing,
            direct: false,
            sg: false,
            sync_write: false,
            flush_every: None,
            throttle: None,
            cpu: None,
            start_delay: Duration::ZERO,
            time_limit: None,
            delete: false,
        }
    }

    /// Octets of a request.
    #[must_use]
    pub fn request_bytes(&self) -> u64 {
        self.block_size * self.request_blocks
    }

    /// Whether anything is written.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.reads < WHOLE
    }

    /// Octets that the target must have for a sequential pass not to begin again at its start; none when a pass is as
    /// large as the target.
    #[must_use]
    pub fn span(&self) -> Option<u64> {
        let pass = match (self.amount, self.seek.way) {
            (_, AccessOrder::Random) => self.seek.range.map(|blocks| blocks.saturating_mul(self.block_size)),
            (_, AccessOrder::Still) => Some(self.request_bytes()),
            (Amount::Whole, _) => None,
            (Amount::Requests(n), _) => Some(n.saturating_mul(self.request_bytes())),
            (Amount::Bytes(n), _) => Some(n),
        };
        pass.map(|pass| pass.saturating_add(self.start.saturating_mul(self.block_size)))
    }
}
