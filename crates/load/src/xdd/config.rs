//! Configuration of an xdd run.

use super::columns;
use super::pattern::Pattern;
use linerate_rt::fc::Integrity;
use linerate_wire::Wwn;
use std::path::PathBuf;
use std::time::Duration;

/// Parts of one in which a share of reads is counted: hundredths of a percent.
pub const WHOLE: u32 = 10_000;

/// Configuration of a run. Made by [`Config::parse`].
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Targets, by their numbers.
    pub targets: Vec<Target>,
    /// Number of times that each target's requests are repeated; with a run time, as often as it permits.
    pub passes: u64,
    pub pass_delay: Duration,
    pub runtime: Option<Duration>,
    /// True to schedule threads before all others.
    pub priority: bool,
    /// True to lock memory.
    pub lock: bool,
    /// Identifier of the run.
    pub id: Option<String>,
    /// True for a line per target and pass.
    pub verbose: bool,
    /// Columns of the table, by their names for `-outputformat`.
    pub columns: Vec<&'static str>,
    /// True for percentages of all processor time instead of the time measured.
    pub relative: bool,
    /// True for a line about the clock.
    pub timer: bool,
    /// Number of requests that all targets begin before any begins the next.
    pub step: Option<u64>,
    /// True for lines of latency percentiles.
    pub percentiles: bool,
    /// Time between two signs of life.
    pub heartbeat: Option<Duration>,
    /// True to print what would be done, and do nothing.
    pub dry: bool,
    /// True to end the run at the first error of any target.
    pub stop_on_error: bool,
    /// Number of errors that end the run.
    pub max_errors: Option<u64>,
    /// Number of errors per target that get a line.
    pub errors_told: u64,
    /// File for lines instead of standard output.
    pub output: Option<PathBuf>,
    /// File for errors instead of standard error.
    pub errors: Option<PathBuf>,
    /// File for a copy of the table, separated by commas.
    pub csv: Option<PathBuf>,
    /// File to which combined lines are appended.
    pub combined: Option<PathBuf>,
    /// Document that is printed instead of the table.
    pub document: Document,
    /// Keeping of the result document among the user's runs.
    pub keep: bool,
}

/// Contents of standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Document {
    #[default]
    Table,
    /// The result document, as of every load.
    Result,
    /// A document in the format of fio's `--output-format=json`.
    Fio,
}

/// A target, and the load on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Name as it is opened.
    pub name: String,
    /// Index of the device among those that open under this name; 0 if there is one.
    pub unit: usize,
    /// READs in [`WHOLE`] requests; the others are WRITEs.
    pub reads: u32,
    /// Bytes per block.
    pub block_size: u64,
    /// Blocks per request.
    pub request_blocks: u64,
    /// Amount of data in a pass.
    pub amount: Amount,
    /// Number of requests in flight.
    pub depth: u32,
    /// Positions of the requests.
    pub seek: Seek,
    /// True if random positions differ from pass to pass.
    pub randomize: bool,
    /// True if a request begins only when the one before it has ended.
    pub serial: bool,
    /// Number of blocks before the first request.
    pub start: u64,
    /// Number of blocks by which each pass begins later than the one before.
    pub pass_offset: u64,
    /// Data that is written, and expected when contents are verified.
    pub pattern: Pattern,
    pub verify: Verify,
    /// True for O_DIRECT.
    pub direct: bool,
    /// Protection information that is made and checked; by default CRCs, of LUNs that have any.
    pub pi: Option<Integrity>,
    /// World Wide Port Name that logs in at a target of LUNs; by default one of the port's address.
    pub wwpn: Option<Wwn>,
    /// True for SG_IO, whatever the name of the device.
    pub sg: bool,
    /// True if writes complete only on stable storage.
    pub sync_write: bool,
    /// Number of writes after which the cache is flushed.
    pub flush_every: Option<u64>,
    pub throttle: Option<Throttle>,
    /// Time between a request and the next.
    pub delay: Duration,
    /// Number of times that a failed request is repeated.
    pub retries: u32,
    /// Time beyond which a request gets a line.
    pub threshold: Option<Duration>,
    /// Length in bytes that its file is given before it is written.
    pub truncate: Option<u64>,
    /// Processor of its thread.
    pub cpu: Option<usize>,
    /// Time before the first pass.
    pub start_delay: Duration,
    /// Time limit of a pass.
    pub time_limit: Option<Duration>,
    /// True to delete the file at the end.
    pub delete: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// The whole target, which needs a run time.
    Whole,
    Requests(u64),
    /// Number of bytes; the last request is shorter when they are not a whole number of requests.
    Bytes(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seek {
    /// Order of the requests.
    pub way: AccessOrder,
    /// Number of blocks, from the start offset, in which they stay; all blocks if not given.
    pub range: Option<u64>,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessOrder {
    /// One after the other; at the end from the start again.
    Sequential,
    /// Random, at multiples of their size.
    Random,
    /// All at the same position.
    Still,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    #[default]
    Nothing,
    /// The first word, which in the sequenced pattern is the request's position.
    Location,
    /// Every byte, against the pattern.
    Contents,
}

/// Limit of the speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Throttle {
    /// Requests per second.
    Requests(f64),
    /// Bytes per second.
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
            columns: columns::default(),
            relative: false,
            timer: false,
            step: None,
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
            keep: false,
        }
    }
}

impl Default for Target {
    fn default() -> Self {
        Self::new("")
    }
}

impl Target {
    /// Makes a target with xdd's defaults: reads of 128 blocks of 1024 bytes, one at a time.
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
            randomize: false,
            serial: false,
            start: 0,
            pass_offset: 0,
            pattern: Pattern::default(),
            verify: Verify::Nothing,
            direct: false,
            pi: None,
            wwpn: None,
            sg: false,
            sync_write: false,
            flush_every: None,
            throttle: None,
            delay: Duration::ZERO,
            retries: 0,
            threshold: None,
            truncate: None,
            cpu: None,
            start_delay: Duration::ZERO,
            time_limit: None,
            delete: false,
        }
    }

    #[must_use]
    pub fn request_bytes(&self) -> u64 {
        self.block_size * self.request_blocks
    }

    #[must_use]
    pub fn writes(&self) -> bool {
        self.reads < WHOLE
    }

    /// Size in bytes that the target must have for a sequential pass not to begin again at its start; `None` when a
    /// pass is as large as the target.
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
