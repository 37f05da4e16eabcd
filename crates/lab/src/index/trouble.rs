//! Errors of the index, one line each: the file, what is wrong, and the mend.

use linerate_text::one_line;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Error when the index cannot be opened, read or written. No finished result is lost by it: a run's own files are
/// written first.
#[derive(Debug, Error)]
pub enum IndexError {
    #[error("index {path:?} is damaged ({why}); make it anew from the runs' folders by `linerate runs --reindex`")]
    Damaged { path: PathBuf, why: String },
    #[error(
        "index {path:?} has been locked by another program for {} s; try again, or end that program",
        super::PATIENCE.as_secs()
    )]
    Locked { path: PathBuf },
    #[error("index {path:?}: no room left on its disk; free some space, then run `linerate runs --reindex`")]
    Full { path: PathBuf },
    #[error("index {path:?} cannot be written ({why}); name another one by --db FILE")]
    ReadOnly { path: PathBuf, why: String },
    #[error(
        "index {path:?} is of version {found}, this linerate knows versions 1 to {known}: use the linerate that wrote it, \
         or name another index by --db FILE"
    )]
    Newer { path: PathBuf, found: i64, known: usize },
    #[error("{path:?} is a database of another program; name another file by --db FILE")]
    Foreign { path: PathBuf },
    #[error("index {path:?}: {why}; name another one by --db FILE")]
    Other {
        /// The database, or its folder.
        path: PathBuf,
        why: String,
    },
}

impl IndexError {
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(super) fn of(path: &Path, why: rusqlite::Error) -> Self {
        let (path, text) = (path.to_path_buf(), first_line(&why.to_string()));
        match why.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch) => {
                Self::Damaged { path, why: text }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Self::ReadOnly { path, why: text }
            }
            // A table that is not there, a column of another type: the file says that it is an index, and is none.
            Some(ErrorCode::Unknown) => Self::Damaged { path, why: text },
            None if matches!(
                why,
                rusqlite::Error::InvalidColumnType(..)
                    | rusqlite::Error::FromSqlConversionFailure(..)
                    | rusqlite::Error::IntegralValueOutOfRange(..)
                    | rusqlite::Error::Utf8Error(..)
            ) =>
            {
                Self::Damaged { path, why: text }
            }
            _ => Self::Other { path, why: text },
        }
    }

    pub(super) fn damaged(path: &Path, why: &str) -> Self {
        Self::Damaged { path: path.into(), why: first_line(why) }
    }

    pub(super) fn folder(path: &Path, why: &io::Error) -> Self {
        Self::Other { path: path.into(), why: why.to_string() }
    }

    /// True if the index must be made anew.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }
}

/// What SQLite says, on one line of 200 characters at most.
fn first_line(text: &str) -> String {
    one_line(text).chars().take(200).collect()
}
