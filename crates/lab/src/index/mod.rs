//! Index of runs: a SQLite database that lists and compares runs without reading their folders.
//!
//! The `result.json` of a run's folder is the truth; the index is made from it ([`Index::rebuild`]) and may be lost. It
//! keeps each document too, compressed, so that a run can be shown when its folder is gone. It never writes into a
//! folder, and refuses a database of another program or of a newer linerate.
//!
//! The journal is SQLite's rollback journal, not the write-ahead log: after SIGKILL the next reader rolls back, two
//! writers wait for each other, and a database in a directory that cannot be written can still be read, which a
//! write-ahead log, with its shared memory in a file beside the database, does not allow.

mod rebuild;
mod rows;
mod schema;
mod text;
mod trouble;

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use linerate_host::place;
use linerate_result::RunResult;
use linerate_text::path::to_text;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};

pub use rebuild::Rebuilt;
pub use rows::{Figure, Listed, Wanted};
pub use text::{json, render};
pub use trouble::IndexError;

use crate::store::{self, StoreError};

/// Name of the database in the user's data directory.
pub const NAME: &str = "runs.db";

/// Time that a second writer waits for the first one.
const PATIENCE: Duration = Duration::from_secs(10);

/// The largest document that is taken out of a database, bytes.
const LARGEST: u64 = 256 << 20;

/// Path of the user's index: [`NAME`] in linerate's data directory.
pub fn default_path() -> Result<PathBuf, StoreError> {
    Ok(store::data_directory()?.join(NAME))
}

#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    db: Connection,
}

impl Index {
    /// Opens the database to write, and makes it if it is not there. An older one is brought up to date.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        let trouble = |why| IndexError::of(path, why);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            place::make_folder(folder).map_err(|why| IndexError::folder(folder, &why))?;
        }
        place::check(path).map_err(|why| IndexError::folder(path, &why))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut db = connect(path, flags).map_err(trouble)?;
        schema::bring_up(&mut db).map_err(|fault| fault.at(path))?;
        Ok(Self { path: path.to_path_buf(), db })
    }

    /// Opens the database to read; `None` if there is none. An older one is brought up to date if it can be written.
    pub fn look(path: &Path) -> Result<Option<Self>, IndexError> {
        let trouble = |why| IndexError::of(path, why);
        match fs::metadata(path) {
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(IndexError::folder(path, &why)),
            Ok(_) => place::check(path).map_err(|why| IndexError::folder(path, &why))?,
        }
        // SQLite opens a file that cannot be written to read it.
        let mut db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(trouble)?;
        schema::bring_up(&mut db).map_err(|fault| fault.at(path))?;
        Ok(Some(Self { path: path.to_path_buf(), db }))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks whether a run can be added: a database that is there can be opened to write, and there is room. None is made.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn ready(path: &Path) -> Result<(), IndexError> {
        if path.exists() {
            Self::open(path)?;
        }
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        store::room_beside(&place).map_err(|_| IndexError::Full { path: path.into() })
    }

    /// Adds a run, or replaces its earlier entry: a run is known by its id and start. `folder` is the folder that holds
    /// its `result.json`, `imported` the file that it was read from, if another program wrote that.
    ///
    /// # Errors
    /// [`IndexError`]; the database is then as it was.
    pub fn add(&mut self, run: &RunResult, folder: Option<&Path>, imported: Option<&str>) -> Result<(), IndexError> {
        let Self { path, db } = self;
        let mut add = || {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            put(&transaction, run, folder, imported, None)?;
            transaction.commit()
        };
        add().map_err(|why| IndexError::of(path, why))
    }

    /// Refuses a run that would replace an entry of its id and start with other contents, wherever that one's folder is.
    ///
    /// # Errors
    /// [`StoreError::Taken`]. An index that cannot be read refuses nothing.
    pub fn free(&self, run: &RunResult) -> Result<(), StoreError> {
        let alike = self.list(&Wanted { begins: Some(run.run_id.clone()), ..Wanted::default() }).unwrap_or_default();
        let listed = alike.iter().find(|listed| listed.id == run.run_id && listed.start == run.start.to_string());
        listed.and_then(|listed| self.document(listed).ok()).map_or(Ok(()), |kept| store::unlike(run, kept))
    }

    /// Takes a run off the list, with its document; all others stay.
    ///
    /// # Errors
    /// [`IndexError`]; the database is then as it was.
    pub fn remove(&mut self, listed: &Listed) -> Result<(), IndexError> {
        let removed = self.db.execute("DELETE FROM runs WHERE run = ?1 AND id = ?2", params![listed.row, listed.id]);
        removed.map(drop).map_err(|why| IndexError::of(&self.path, why))
    }

    /// The whole document of a run. Its folder's `result.json` counts, if the folder still holds this run.
    ///
    /// # Errors
    /// [`IndexError`], also for a document in the database that cannot be read.
    pub fn document(&self, listed: &Listed) -> Result<RunResult, IndexError> {
        if let Some(run) = listed.folder.as_deref().and_then(|folder| store::load(folder).ok())
            && run.run_id == listed.id
            && run.start.to_string() == listed.start
        {
            return Ok(run);
        }
        let kept = self.db.query_row("SELECT json FROM documents WHERE run = ?1", [listed.row], |row| row.get(0));
        let kept: Option<Vec<u8>> = kept.optional().map_err(|why| IndexError::of(&self.path, why))?;
        let damaged = |why: String| IndexError::damaged(&self.path, &format!("document of run {}: {why}", listed.id));
        let kept = kept.ok_or_else(|| damaged("it is missing".to_owned()))?;
        let text = unpacked(&kept).map_err(|why| damaged(why.to_string()))?;
        RunResult::from_json(&text).map_err(|why| damaged(why.to_string()))
    }
}

/// Opens a connection that waits for others, and trusts nothing in the file.
fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(PATIENCE)?;
    db.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;")?;
    Ok(db)
}

/// Adds or replaces a run inside a transaction, behind all others or in a row that it had.
fn put(
    db: &Connection,
    run: &RunResult,
    folder: Option<&Path>,
    imported: Option<&str>,
    row: Option<i64>,
) -> rusqlite::Result<()> {
    let (start, folder) = (run.start.to_string(), folder.map(|folder| to_text(folder.as_os_str())));
    if let Some(folder) = &folder {
        // A folder holds one run: who lay there before was replaced.
        db.execute("UPDATE runs SET folder = NULL WHERE folder = ?1", [folder])?;
    }
    db.execute("DELETE FROM runs WHERE id = ?1 AND start = ?2", params![run.run_id, start])?;
    let environment = &run.environment;
    db.execute(
        "INSERT INTO runs (id, start, command, elapsed, outcome, signal, host, kernel, cpu, folder, imported, run)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            run.run_id,
            start,
            serde_json::to_string(&run.command_line).unwrap_or_default(),
            run.elapsed_s.known(),
            run.outcome.word(),
            run.signal,
            environment.host,
            environment.kernel,
            environment.cpu,
            folder,
            imported,
            row,
        ],
    )?;
    let row = db.last_insert_rowid();
    let mut insert = db.prepare_cached(
        "INSERT INTO tests (run, place, id, workload, parameters, unit, median, least, greatest, counted, made, skipped)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    for (place, test) in run.tests.iter().enumerate() {
        let (value, counted) = (test.value.as_ref(), test.counted());
        insert.execute(params![
            row,
            place,
            test.id,
            test.workload,
            serde_json::to_string(&test.parameters).unwrap_or_default(),
            value.map(|value| value.unit.name()),
            value.and_then(|value| value.median.known()),
            value.and_then(|value| value.least.known()),
            value.and_then(|value| value.greatest.known()),
            counted.counted,
            counted.made,
            test.skipped,
        ])?;
    }
    let packed = packed(&run.to_line()).map_err(|why| rusqlite::Error::ToSqlConversionFailure(Box::new(why)))?;
    db.execute("INSERT INTO documents (run, json) VALUES (?1, ?2)", params![row, packed])?;
    Ok(())
}

fn packed(text: &str) -> std::io::Result<Vec<u8>> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(text.as_bytes())?;
    packer.finish()
}

/// The text of a packed document, of [`LARGEST`] bytes at most.
fn unpacked(bytes: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    ZlibDecoder::new(bytes).take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "larger than 256 MiB"));
    }
    Ok(text)
}

/// Makes an absolute path of a folder, so that it is found from any other one.
#[must_use]
pub fn absolute(folder: &Path) -> PathBuf {
    fs::canonicalize(folder)
        .or_else(|_| Ok::<_, std::io::Error>(env::current_dir()?.join(folder)))
        .unwrap_or_else(|_| folder.into())
}
