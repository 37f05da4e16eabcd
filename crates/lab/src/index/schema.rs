//! Tables of the index, and its versions: `user_version` counts the steps of [`STEPS`] that a database has taken.
//!
//! A step that was released is never changed: a database may have taken it. A database of a newer linerate is refused.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::IndexError;

/// `application_id` of an index (SQLite file header, offset 68): "lrix".
const APPLICATION: i32 = 0x6c72_6978;

/// Steps from an empty database to the present version.
const STEPS: &[&str] = &[
    // Version 1.
    "CREATE TABLE runs (
        run INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        start TEXT NOT NULL,
        command TEXT NOT NULL,
        elapsed REAL,
        outcome TEXT NOT NULL,
        signal INTEGER,
        host TEXT,
        kernel TEXT,
        cpu TEXT,
        folder TEXT,
        UNIQUE (id, start)
    ) STRICT;
    CREATE INDEX runs_by_start ON runs (start);
    CREATE TABLE tests (
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
        place INTEGER NOT NULL,
        id TEXT NOT NULL,
        workload TEXT NOT NULL,
        parameters TEXT NOT NULL,
        unit TEXT,
        median REAL,
        least REAL,
        greatest REAL,
        counted INTEGER NOT NULL,
        made INTEGER NOT NULL,
        skipped TEXT,
        PRIMARY KEY (run, place)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE documents (run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE, json BLOB NOT NULL) STRICT;",
    // Version 2: files of other programs that runs were read from, and lists by workload and folder.
    "ALTER TABLE runs ADD COLUMN imported TEXT;
    CREATE INDEX runs_by_folder ON runs (folder);
    CREATE INDEX tests_by_workload ON tests (workload, run);",
];

/// Reason why a database cannot be brought up to the present version.
pub(super) enum Fault {
    Sqlite(rusqlite::Error),
    Newer(i64),
    Foreign,
}

impl From<rusqlite::Error> for Fault {
    fn from(why: rusqlite::Error) -> Self {
        Self::Sqlite(why)
    }
}

impl Fault {
    pub(super) fn at(self, path: &Path) -> IndexError {
        match self {
            Self::Sqlite(why) => IndexError::of(path, why),
            Self::Newer(found) => IndexError::Newer { path: path.into(), found, known: STEPS.len() },
            Self::Foreign => IndexError::Foreign { path: path.into() },
        }
    }
}

fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Number of steps that the database has taken, if it is an index or empty. `db` is in a transaction: what another process
/// does between two looks would make no sense.
fn taken(db: &Connection) -> Result<usize, Fault> {
    let application: i32 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let found = version(db)?;
    if application != APPLICATION && (application, tables, found) != (0, 0, 0) {
        return Err(Fault::Foreign);
    }
    usize::try_from(found).ok().filter(|found| *found <= STEPS.len()).ok_or(Fault::Newer(found))
}

/// Takes the steps that are missing, all of them or none.
pub(super) fn bring_up(db: &mut Connection) -> Result<(), Fault> {
    if taken(&*db.transaction()?)? == STEPS.len() {
        return Ok(());
    }
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have taken them meanwhile.
    for step in &STEPS[taken(&transaction)?..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", STEPS.len())?;
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use crate::index::Index;

    /// Regression: who looked at a database while another process made it took it for another program's.
    #[test]
    fn a_database_that_others_are_making_is_an_index() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..100 {
            let path = folder.path().join(format!("{round}.db"));
            std::thread::scope(|scope| {
                for _ in 0..6 {
                    scope.spawn(|| Index::open(&path).unwrap());
                }
            });
        }
    }
}
