//! A file that its path leads to no more, as it was removed or replaced: it has what is written until it is closed.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(3);

/// The path of an open file, and what was said of it.
pub(super) struct Place {
    path: PathBuf,
    next: Instant,
    told: Option<String>,
}

impl Place {
    /// Path by which a file was opened just now.
    pub(super) fn new(path: &Path) -> Self {
        // The current directory may be another one later.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self { path, next: Instant::now() + EVERY, told: None }
    }

    /// Takes what has become of the file, once; looked for every few seconds at most.
    pub(super) fn news(&mut self, file: &File, now: Instant) -> Option<String> {
        if now < self.next {
            return None;
        }
        self.next = now + EVERY;
        let loss = self.loss(file);
        if loss == self.told {
            return None;
        }
        self.told = loss;
        Some(self.told.clone().unwrap_or_else(|| format!("{} is its file again", self.path.display())))
    }

    /// Sentence about the file if the path does not lead to it; none if it does, or if that is not known.
    pub(super) fn loss(&self, file: &File) -> Option<String> {
        let open = file.metadata().ok()?;
        let what = match std::fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (open.dev(), open.ino()) => return None,
            Ok(_) => "another file",
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => "no file",
            Err(_) => return None,
        };
        let which = match open.nlink() {
            0 => format!(
                "which is gone when it is closed; copy it from /proc/{}/fd/{}",
                std::process::id(),
                file.as_raw_fd()
            ),
            _ => "which has another name".to_owned(),
        };
        Some(format!("{} is {what} now: what is written goes to the one from before, {which}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: nobody was told that a file was removed or replaced, and what was written to it was gone in the end.
    #[test]
    fn a_file_that_its_path_leads_to_no_more_is_told_of_once() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("disk"), dir.path().join("other"));
        let file = File::create(&path).unwrap();
        let mut place = Place::new(&path);
        let (mut now, began) = (Instant::now(), Instant::now());
        let mut news = |file: &File| {
            now += 2 * EVERY;
            place.news(file, now)
        };
        assert_eq!(news(&file), None);
        std::fs::rename(&path, &other).unwrap();
        let told = news(&file).unwrap();
        assert!(told.contains("disk is no file now") && told.ends_with("has another name"), "{told}");
        assert_eq!(news(&file), None, "it was told");
        std::fs::rename(&other, &path).unwrap();
        assert!(news(&file).unwrap().ends_with("is its file again"));
        File::create(&other).unwrap();
        std::fs::rename(&other, &path).unwrap();
        let told = news(&file).unwrap();
        assert!(told.contains("disk is another file now"), "{told}");
        let copy = told.rsplit(' ').next().unwrap();
        assert_eq!(std::fs::metadata(copy).unwrap().ino(), file.metadata().unwrap().ino(), "{told}");
        std::fs::remove_file(&path).unwrap();
        assert!(news(&file).unwrap().contains("disk is no file now"));
        assert_eq!(place.news(&File::open("/dev/null").unwrap(), began), None, "not so soon");
    }
}
