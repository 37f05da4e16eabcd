//! The index made anew from the runs' folders.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use linerate_text::path::from_text;
use rusqlite::TransactionBehavior;

use super::{Index, IndexError, absolute, put};
use crate::store::{self, RESULT};

#[derive(Debug, Default)]
pub struct Rebuilt {
    /// Number of runs that were read from folders.
    pub read: usize,
    /// Number of runs in the index whose folder is gone, or holds another run.
    pub kept: usize,
    /// Folders whose document could not be read, each with the reason.
    pub faults: Vec<String>,
    /// File to which a damaged index was moved.
    pub aside: Option<PathBuf>,
}

impl Index {
    /// Reads every folder below `roots`, and every folder that the index knows, and adds what they hold; runs whose
    /// folder is gone stay. A damaged index is moved aside and made anew. All is added in one transaction.
    ///
    /// # Errors
    /// [`IndexError`]; the index is then as it was.
    pub fn rebuild(path: &Path, roots: &[PathBuf]) -> Result<Rebuilt, IndexError> {
        let mut rebuilt = Rebuilt::default();
        match Self::open(path).and_then(|mut index| index.read(roots, &mut rebuilt)) {
            Err(error) if error.is_damage() => {
                let aside = free_name(path);
                fs::rename(path, &aside).map_err(|why| IndexError::folder(path, &why))?;
                // A journal belongs to the file that was moved.
                let _ = fs::rename(beside(path, "-journal"), beside(&aside, "-journal"));
                rebuilt = Rebuilt { aside: Some(aside), ..Rebuilt::default() };
                Self::open(path)?.read(roots, &mut rebuilt)?;
            }
            other => other?,
        }
        Ok(rebuilt)
    }

    fn read(&mut self, roots: &[PathBuf], rebuilt: &mut Rebuilt) -> Result<(), IndexError> {
        let Self { path, db } = self;
        let trouble = |why| IndexError::of(path, why);
        let sound: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(trouble)?;
        if sound != "ok" {
            return Err(IndexError::damaged(path, &sound));
        }
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(trouble)?;
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        for root in roots {
            if root.join(RESULT).is_file() {
                folders.insert(absolute(root));
            }
            let Ok(entries) = fs::read_dir(root) else { continue };
            let with_result =
                entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|at| at.join(RESULT).is_file());
            folders.extend(with_result.map(|folder| absolute(&folder)));
        }
        let mut read = || -> rusqlite::Result<()> {
            let mut known = transaction.prepare("SELECT folder FROM runs WHERE folder IS NOT NULL")?;
            let known = known.query_map([], |row| row.get::<_, String>(0))?;
            for folder in known {
                folders.insert(from_text(&folder?));
            }
            // In the order in which they were stored, behind those that are known.
            let stored = |folder: &PathBuf| fs::metadata(folder.join(RESULT)).and_then(|file| file.modified()).ok();
            let mut folders: Vec<PathBuf> = folders.iter().cloned().collect();
            folders.sort_by_cached_key(stored);
            for folder in &folders {
                match store::load(folder) {
                    Ok(run) => {
                        // The file that a run was read from stands in no folder.
                        let earlier = transaction.query_row(
                            "SELECT run, imported FROM runs WHERE id = ?1 AND start = ?2",
                            [&run.run_id, &run.start.to_string()],
                            |row| Ok((row.get(0)?, row.get(1)?)),
                        );
                        let (row, imported): (_, Option<String>) = earlier.map_or((None, None), |(r, i)| (Some(r), i));
                        let imported = imported.or_else(|| crate::import::source(&run));
                        put(&transaction, &run, Some(folder), imported.as_deref(), row)?;
                        rebuilt.read += 1;
                    }
                    Err(_) if !folder.exists() => {}
                    Err(why) => rebuilt.faults.push(why.to_string()),
                }
            }
            let all: usize = transaction.query_row("SELECT count(*) FROM runs", [], |row| row.get(0))?;
            rebuilt.kept = all.saturating_sub(rebuilt.read);
            Ok(())
        };
        read().map_err(trouble)?;
        transaction.commit().map_err(trouble)
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Name for a damaged index that no file has.
fn free_name(path: &Path) -> PathBuf {
    let names = (1..).map(|n: u32| beside(path, &format!(".damaged-{n}")));
    names.into_iter().find(|name| !name.exists()).unwrap_or_else(|| beside(path, ".damaged"))
}
