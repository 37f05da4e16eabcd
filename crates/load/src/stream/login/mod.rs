//! iperf3's login: a client proves that it knows a user's password, a server takes nobody else in.
//!
//! A [`Login`] is a client's, a [`Guard`] a server's; both have their keys read before anything is connected. No password
//! is kept but for the time of its use, or said; of a login that is refused the client hears only that it was, and the
//! server's own line has the reason. The keys' files and that of the users are bounded. A login can be sent again by whoever
//! hears it, within the difference of clocks that the server allows: that is iperf3's protocol.

mod guard;
mod key;
mod password;
mod users;

#[cfg(test)]
mod tests;

pub use guard::{Guard, Refusal};

use super::fault::Fault;
use super::protocol::{Claim, Padding, is_blank};
use linerate_rt::Stop;
use rsa::PublicKey;
use rsa::traits::PublicKeyParts;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Digits of the time in a login.
const TIME_DIGITS: usize = 10;

/// Login of a client, but for its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    user: Vec<u8>,
    key: PublicKey,
    /// Paddings to try, one after the other.
    paddings: &'static [Padding],
}

impl Login {
    /// Makes the login of a user; `old` for the padding of iperf3 before 3.17 alone.
    pub(super) fn new(user: Vec<u8>, key: &Path, old: bool) -> Result<Self, String> {
        if user.is_empty() || user.iter().any(|byte| is_blank(*byte)) {
            return Err(
                "--username: a login has no room for a blank; give a name without, of one letter at least".into()
            );
        }
        let paddings: &[Padding] = if old { &[Padding::Pkcs1] } else { &[Padding::Oaep, Padding::Pkcs1] };
        Ok(Self { user, key: key::public(key)?, paddings })
    }

    /// Has the password, from `IPERF3_PASSWORD` or from whoever sits at the terminal.
    ///
    /// # Errors
    /// [`Fault::Login`], or [`Fault::Stopped`] if the stop is requested meanwhile.
    pub(super) fn ticket(&self, stop: &Stop) -> Result<Ticket<'_>, Fault> {
        let password = password::password(stop)?;
        if password.is_empty() || password.iter().any(|byte| is_blank(*byte)) {
            let why = "a login has no room for a blank; set one without, of one letter at least";
            return Err(Fault::Login(format!("the password (IPERF3_PASSWORD): {why}")));
        }
        let ticket = Ticket { login: self, password };
        if ticket.paddings().next().is_none() {
            let (length, bits) = (ticket.length(), self.key.size() * 8);
            let why = format!("{length} bytes of name, password and time are too many for a key of {bits} bits");
            return Err(Fault::Login(format!("--username: {why}; have the server's owner make a longer key")));
        }
        Ok(ticket)
    }
}

/// Login of a client, with its password.
pub(super) struct Ticket<'a> {
    login: &'a Login,
    password: Vec<u8>,
}

impl Ticket<'_> {
    fn claim(&self, time: i64) -> Claim {
        Claim { user: self.login.user.clone(), password: self.password.clone(), time }
    }

    fn length(&self) -> usize {
        self.claim(0).text().len() - 1 + TIME_DIGITS
    }

    /// Paddings to try, of those that have room for this login.
    pub(super) fn paddings(&self) -> impl Iterator<Item = Padding> {
        let length = self.length();
        self.login.paddings.iter().copied().filter(move |padding| length <= padding.room(&self.login.key))
    }

    /// Token of this moment.
    pub(super) fn token(&self, padding: Padding) -> Result<String, Fault> {
        let sealed = self.claim(now()).seal(&self.login.key, padding);
        sealed.map_err(|e| Fault::Login(format!("--rsa-public-key-path: {e}; give another key")))
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    since.and_then(|time| i64::try_from(time.as_secs()).ok()).unwrap_or_default()
}
