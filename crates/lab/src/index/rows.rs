//! Lists of runs, and the run that a word on the command line means.

use std::path::PathBuf;

use linerate_text::path::from_text;
use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};

use super::{Index, IndexError};

/// A run as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Row in the database.
    pub(super) row: i64,
    pub id: String,
    /// Time at which the run started, as in the document.
    pub start: String,
    /// The command line, one element an argument.
    pub command: Vec<String>,
    pub elapsed_s: Option<f64>,
    /// Outcome by its word.
    pub outcome: String,
    /// The signal that ended the run early.
    pub signal: Option<i64>,
    /// Name of the host; `None` where it is not known.
    pub host: Option<String>,
    /// Kernel name and release.
    pub kernel: Option<String>,
    pub cpu: Option<String>,
    /// Folder that held the run's files when it was indexed.
    pub folder: Option<PathBuf>,
    /// File that the run was read from, if another program measured it.
    pub imported: Option<String>,
    pub tests: i64,
    /// The first figure.
    pub first: Option<Figure>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub test: String,
    pub workload: String,
    /// Median of the repeats that count.
    pub median: f64,
    pub unit: String,
    /// Number of repeats that count.
    pub counted: i64,
    /// Number of repeats that were made.
    pub made: i64,
}

/// Selection of runs; the default selects all.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Greatest number of runs.
    pub last: Option<usize>,
    /// Only runs with a test of this workload.
    pub workload: Option<String>,
    /// Only runs with this outcome.
    pub outcome: Option<String>,
    /// Only runs of this host.
    pub host: Option<String>,
    /// Only runs with this id, with an id that begins so, or with a folder's name that begins so.
    pub begins: Option<String>,
}

/// Columns of a run, and those of its first test with a figure: of the workload that is wanted (parameter 1), if any.
const LIST: &str = "
    SELECT r.run, r.id, r.start, r.command, r.elapsed, r.outcome, r.signal, r.host, r.kernel, r.cpu, r.folder, r.imported,
           (SELECT count(*) FROM tests c WHERE c.run = r.run),
           t.id, t.workload, t.median, t.unit, t.counted, t.made
    FROM runs r LEFT JOIN tests t ON t.run = r.run AND t.place = (
        SELECT min(f.place) FROM tests f
        WHERE f.run = r.run AND f.median IS NOT NULL AND (?1 IS NULL OR f.workload = ?1))
    WHERE 1";

impl Index {
    /// Runs, the one that was stored last first, whatever its clock said.
    pub fn list(&self, wanted: &Wanted) -> Result<Vec<Listed>, IndexError> {
        let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
        let (mut query, mut values) = (LIST.to_owned(), vec![text(&wanted.workload)]);
        let mut add = |condition: &str, value: Value| {
            values.push(value);
            query += &condition.replace('?', &format!("?{}", values.len()));
        };
        if wanted.workload.is_some() {
            add(" AND r.run IN (SELECT run FROM tests WHERE workload = ?)", text(&wanted.workload));
        }
        for (column, value) in [("outcome", &wanted.outcome), ("host", &wanted.host)] {
            if value.is_some() {
                add(&format!(" AND r.{column} = ?"), text(value));
            }
        }
        if let Some(begins) = &wanted.begins {
            // A folder is named `<start, compact>-<id>`.
            add(
                " AND (substr(r.id, 1, length(?)) = ?
                    OR substr(replace(replace(substr(r.start, 1, 19), '-', ''), ':', '') || 'Z-' || r.id, 1, length(?)) = ?)",
                Value::Text(begins.clone()),
            );
        }
        query += " ORDER BY r.run DESC";
        if let Some(last) = wanted.last {
            // What is beyond SQLite's numbers is no limit, which is -1.
            values.push(Value::Integer(i64::try_from(last).unwrap_or(-1)));
            query += &format!(" LIMIT ?{}", values.len());
        }
        let list = || {
            let mut statement = self.db.prepare(&query)?;
            let rows = statement.query_map(params_from_iter(values), listed)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        list().map_err(|why| IndexError::of(&self.path, why))
    }
}

fn listed(row: &Row<'_>) -> rusqlite::Result<Listed> {
    let command: String = row.get(3)?;
    let folder: Option<String> = row.get(10)?;
    let median: Option<f64> = row.get(15)?;
    let first = match median {
        Some(median) => Some(Figure {
            test: row.get(13)?,
            workload: row.get(14)?,
            median,
            unit: row.get::<_, Option<String>>(16)?.unwrap_or_default(),
            counted: row.get(17)?,
            made: row.get(18)?,
        }),
        None => None,
    };
    Ok(Listed {
        row: row.get(0)?,
        id: row.get(1)?,
        start: row.get(2)?,
        command: serde_json::from_str(&command).unwrap_or_else(|_| vec![command]),
        elapsed_s: row.get(4)?,
        outcome: row.get(5)?,
        signal: row.get(6)?,
        host: row.get(7)?,
        kernel: row.get(8)?,
        cpu: row.get(9)?,
        folder: folder.map(|folder| from_text(&folder)),
        imported: row.get(11)?,
        tests: row.get(12)?,
        first,
    })
}

impl Listed {
    /// Name of the run that no other one has: its start and its id, as its folder is called.
    #[must_use]
    pub fn name(&self) -> String {
        let start: String = self.start.chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
        format!("{start}Z-{}", self.id)
    }
}
