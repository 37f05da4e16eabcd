//! Outcome of a run, in the words and exit codes that users see.

use serde::{Deserialize, Serialize};

/// Outcome of a run. JSON: `pass`, `failed`, `gate` or `partial`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every test ran and every gate held.
    Pass,
    /// A test failed: frames are unexplained, bytes differ, or a port broke.
    Failed,
    /// Every test ran, but a gate or a comparison was not met.
    Gate,
    /// All tests that ran are good, but some did not run or did not finish.
    Partial,
}

impl Outcome {
    /// The process's exit code: 0 pass, 1 failed, 3 gate, 4 partial (2 is for usage and has no result).
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Failed => 1,
            Self::Gate => 3,
            Self::Partial => 4,
        }
    }

    /// The word used in JSON and on the terminal.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Failed => "failed",
            Self::Gate => "gate",
            Self::Partial => "partial",
        }
    }
}
