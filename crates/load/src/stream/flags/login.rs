//! Flags of a login: those that are given, and what they make for either end.

use crate::stream::login::{Guard, Login};
use std::path::PathBuf;

/// Seconds that a client's clock may be wrong, if none are given.
const SKEW: u32 = 10;

/// Values of the flags.
#[derive(Default)]
pub(super) struct Given {
    pub(super) user: Option<Vec<u8>>,
    pub(super) public: Option<PathBuf>,
    pub(super) private: Option<PathBuf>,
    pub(super) users: Option<PathBuf>,
    pub(super) skew: Option<u32>,
    /// True for the padding of iperf3 before 3.17 alone.
    pub(super) old: bool,
}

impl Given {
    pub(super) fn login(&self) -> Result<Option<Login>, String> {
        match (&self.user, &self.public) {
            (Some(user), Some(public)) => Login::new(user.clone(), public, self.old).map(Some),
            (Some(_), None) => Err("--username: a login needs the server's key; give --rsa-public-key-path too".into()),
            (None, Some(_)) => Err("--rsa-public-key-path: a login needs a user; give --username too".into()),
            (None, None) => self.idle("--username and --rsa-public-key-path").map(|()| None),
        }
    }

    pub(super) fn guard(&self) -> Result<Option<Guard>, String> {
        match (&self.private, &self.users) {
            (Some(private), Some(users)) => {
                Guard::new(private, users, self.skew.unwrap_or(SKEW).into(), self.old).map(Some)
            }
            (Some(_), None) => {
                Err("--rsa-private-key-path: logins need users; give --authorized-users-path too".into())
            }
            (None, Some(_)) => {
                Err("--authorized-users-path: logins need a key; give --rsa-private-key-path too".into())
            }
            (None, None) => self.idle("--rsa-private-key-path and --authorized-users-path").map(|()| None),
        }
    }

    /// Refuses what has no effect without a login, which needs these.
    fn idle(&self, needs: &str) -> Result<(), String> {
        for (given, flag) in [(self.old, "--use-pkcs1-padding"), (self.skew.is_some(), "--time-skew-threshold")] {
            if given {
                return Err(format!("{flag}: there is no login; give {needs} too, or leave it out"));
            }
        }
        Ok(())
    }
}
