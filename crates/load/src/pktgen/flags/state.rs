//! State while flags are read.

use crate::pktgen::config::Config;
use crate::pktgen::sizes::Sizes;
use std::path::PathBuf;

/// Values of the flags read so far.
#[derive(Default)]
pub(in crate::pktgen) struct State {
    pub(super) config: Config,
    pub(super) port: Option<String>,
    pub(super) src: Option<String>,
    pub(super) dst: Option<String>,
    pub(super) len: Option<usize>,
    /// Length of the second `-l`.
    pub(super) least: Option<usize>,
    pub(super) mix: Option<Sizes>,
    pub(super) capture: Option<PathBuf>,
    /// Interface of the capture.
    pub(super) interface: Option<u32>,
    pub(super) loops: Option<u64>,
    pub(super) speed: Option<f64>,
}
