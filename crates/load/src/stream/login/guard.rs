//! Guard of a server: reads a client's login, looks at its clock, and at the users' file, which may change meanwhile.

use super::users::Users;
use super::{key, now};
use crate::stream::protocol::{Claim, Padding};
use rsa::PrivateKey;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Longest file of users, bytes.
const LONGEST: u64 = 1 << 20;

/// Reason why a client is not taken in, for the server's own lines.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the client sent no login; give --username and --rsa-public-key-path there")]
    Absent,
    /// A token for another key, by another padding, or of no sense.
    #[error(
        "the login is for another key or padding; give the client this key's public one, and --use-pkcs1-padding to both \
         ends or to none (iperf3 before 3.17: to this one)"
    )]
    Unreadable,
    /// Seconds between the clocks.
    #[error("the client's clock is {0} s {1} this one; set both right, or give a larger --time-skew-threshold")]
    Clock(u64, &'static str),
    #[error("no user has this name and password; see --authorized-users-path")]
    Unknown,
    /// The users' file: its name, the reason and the mend.
    #[error("{0}")]
    Users(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    key: PrivateKey,
    /// From the root: a daemon goes elsewhere.
    users: PathBuf,
    padding: Padding,
    /// Seconds that a client's clock may be wrong.
    skew: u64,
    /// Lines about files that more may read than should.
    warnings: Vec<String>,
}

impl Guard {
    /// Makes a guard; `old` for the padding of iperf3 before 3.17.
    pub(in crate::stream) fn new(key: &Path, users: &Path, skew: u64, old: bool) -> Result<Self, String> {
        let padding = if old { Padding::Pkcs1 } else { Padding::Oaep };
        let files = [("--rsa-private-key-path", key), ("--authorized-users-path", users)];
        let warnings = files.iter().filter_map(|(flag, path)| exposed(flag, path)).collect();
        let (key, users) = (key::private(key)?, std::path::absolute(users).unwrap_or_else(|_| users.to_owned()));
        let guard = Self { key, users, padding, skew, warnings };
        guard.users().map(|_| guard)
    }

    /// Lines about files that everybody may read.
    pub(in crate::stream) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Takes a client in, or tells why not.
    pub(in crate::stream) fn admits(&self, token: Option<&str>) -> Result<(), Refusal> {
        self.admits_at(now(), token)
    }

    pub(super) fn admits_at(&self, now: i64, token: Option<&str>) -> Result<(), Refusal> {
        let token = token.ok_or(Refusal::Absent)?;
        let Claim { user, password, time } = Claim::open(token, &self.key, self.padding).ok_or(Refusal::Unreadable)?;
        let apart = now.abs_diff(time);
        if apart > self.skew {
            return Err(Refusal::Clock(apart, if time > now { "ahead of" } else { "behind" }));
        }
        let users = self.users().map_err(Refusal::Users)?;
        if users.has(&user, &password) { Ok(()) } else { Err(Refusal::Unknown) }
    }

    /// The users of this moment.
    fn users(&self) -> Result<Users, String> {
        let named = |why: String| format!("--authorized-users-path {}: {why}", self.users.display());
        let file = std::fs::metadata(&self.users);
        if file.is_ok_and(|file| !file.is_file()) {
            return Err(named("it is no file, and is read at each login; give a file".to_owned()));
        }
        let text = key::read(&self.users, LONGEST);
        let text = text.map_err(|e| named(format!("{e}; give a file with a line NAME,HASH for each user")))?;
        Users::read(&text).map_err(named)
    }
}

/// Warning about a file that everybody on the machine may read.
fn exposed(flag: &str, path: &Path) -> Option<String> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    let path = path.display();
    (mode & 0o004 != 0).then(|| format!("warning - {flag} {path}: everybody here may read it; chmod o-r {path}"))
}
