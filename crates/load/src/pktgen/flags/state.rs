//! What is known while flags are read.

use crate::pktgen::config::Config;
use crate::pktgen::sizes::Sizes;
use std::path::PathBuf;

/// What flags have said.
#[derive(Default)]
pub(in crate::pktgen) struct State {
    pub(super) config: Config,
    pub(super) port: Option<String>,
    pub(super) src: Option<String>,
    pub(super) dst: Option<String>,
    pub(super) len: Option<usize>,
    /// The second `-l`.
    pub(super) least: Option<usize>,
    pub(super) mix: Option<Sizes>,
    pub(super) capture: Option<PathBuf>,
    /// The capture's.
    pub(super) interface: Option<u32>,
    pub(super) loops: Option<u64>,
    pub(super) speed: Option<f64>,
}
