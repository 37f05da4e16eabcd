//! Runs in forms of other programs. A form is one file and one row of [`EXPORTS`].
//!
//! Nothing is computed for an export but units; a figure that the form has no place for is left out, and a run with
//! nothing that the form can hold is refused.

mod csv;
mod flent;
mod iperf3;
mod json;
mod prometheus;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use linerate_result::{Parameters, RunResult};
use thiserror::Error;

pub struct Export {
    pub name: &'static str,
    pub about: &'static str,
    /// True if readers expect it packed by gzip.
    pub packed: bool,
    write: fn(&[RunResult]) -> Result<String, ExportError>,
}

pub const EXPORTS: &[Export] = &[json::EXPORT, csv::EXPORT, flent::EXPORT, iperf3::EXPORT, prometheus::EXPORT];

/// Error when a run has nothing that a form can hold.
#[derive(Debug, Error)]
#[error("run {run}: {why}")]
pub struct ExportError {
    run: String,
    why: String,
}

impl ExportError {
    fn of(run: &RunResult, why: &str) -> Self {
        Self { run: run.run_id.clone(), why: why.to_owned() }
    }
}

impl Export {
    /// Text of the runs.
    pub fn text(&self, runs: &[RunResult]) -> Result<String, ExportError> {
        (self.write)(runs)
    }

    /// Bytes of the runs for a file of that name, or for standard output: packed by gzip for a name that ends in `.gz`,
    /// and without a name if readers of the form expect it.
    pub fn bytes(&self, runs: &[RunResult], name: Option<&str>) -> Result<Vec<u8>, ExportError> {
        let text = self.text(runs)?.into_bytes();
        let packed = name.map_or(self.packed, |name| name.ends_with(".gz"));
        Ok(if packed { gzip(&text) } else { text })
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    let packed = packer.write_all(bytes).and_then(|()| packer.finish());
    packed.expect("a vector takes all bytes")
}

/// Parameters in one cell: `a=1;b=two`.
fn parameters(all: &Parameters) -> String {
    all.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(";")
}
