//! The result document: of one run as it is stored, of several a line each.

use linerate_result::RunResult;

use super::{Export, ExportError};

pub(super) const EXPORT: Export =
    Export { name: "json", about: "the result document; of several runs a line each", packed: false, write };

#[expect(clippy::unnecessary_wraps, reason = "what the table takes")]
fn write(runs: &[RunResult]) -> Result<String, ExportError> {
    Ok(match runs {
        [run] => run.to_json(),
        runs => runs.iter().map(RunResult::to_line).collect(),
    })
}
