//! The folder in which changes of interfaces are recorded until they are put back.

use linerate_host::settings::{DIRECTORY, recover};
use std::path::{Path, PathBuf};

/// Puts back what processes that were killed have left changed, according to a folder of records (`/run/linerate` if none is
/// given). Returns the folder, and a line for each setting that was put back or could not be.
///
/// # Errors
/// One line: the folder cannot be read.
pub fn recovered(folder: Option<&Path>) -> Result<(PathBuf, Vec<String>), String> {
    let folder = folder.unwrap_or(Path::new(DIRECTORY));
    let undone = recover(folder).map_err(|e| e.to_string())?;
    let restored = undone.restored.iter().map(|line| format!("left by a process that was killed: {line}"));
    let lines = restored.chain(undone.left.iter().map(ToString::to_string)).collect();
    Ok((folder.to_owned(), lines))
}
