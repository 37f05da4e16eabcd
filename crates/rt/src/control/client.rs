//! The asking side: one request, one answer, within a time limit.

use super::name::{self, Named};
use super::session::{LONGEST_ANSWER, LONGEST_REQUEST};
use crate::sys::poll::readable;
use crate::sys::socket::{connect_at_once, is_of_this_user};
use linerate_port::{DirLock, runtime_dir};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time limit of a request: longer than that of a call into the machine.
const LIMIT: Duration = Duration::from_secs(5);
/// Time limit of a process for saying its name.
pub(super) const QUICK: Duration = Duration::from_millis(500);
/// Time between two attempts to connect to a process with which too many others want to speak.
const AGAIN: Duration = Duration::from_millis(5);

#[derive(Debug, Error)]
pub enum ControlError {
    #[error("no {kind} '{name}' runs as this user")]
    Nobody { kind: String, name: String },
    #[error("{0}")]
    Refused(String),
    #[error("{kind} '{name}' does not answer: try again, or stop it")]
    Silent { kind: String, name: String },
    #[error("a request is one line of up to {LONGEST_REQUEST} bytes")]
    Request,
    #[error("{0}: check $XDG_RUNTIME_DIR")]
    System(#[from] io::Error),
}

/// Asks a process something: a line of words. Returns the text of its answer, which takes 5 s at most.
pub fn ask(kind: &str, name: &str, request: &str) -> Result<String, ControlError> {
    ask_within(kind, name, request, LIMIT)
}

/// The same for what takes longer.
pub fn ask_within(kind: &str, name: &str, request: &str, limit: Duration) -> Result<String, ControlError> {
    if request.contains('\n') || request.len() > LONGEST_REQUEST {
        return Err(ControlError::Request);
    }
    let path = name::path(&runtime_dir()?, kind, name);
    let (kind, name) = (kind.to_owned(), name.to_owned());
    match ask_at(&path, request, Instant::now() + limit) {
        Ok(Some(answer)) => answer.map_err(ControlError::Refused),
        Ok(None) => Err(ControlError::Silent { kind, name }),
        Err(e) if is_nobody(&e) => Err(ControlError::Nobody { kind, name }),
        Err(e) => Err(e.into()),
    }
}

/// Names of the processes of a kind that run now, in order. Sockets that killed processes left behind are removed.
///
/// # Errors
/// Errors of the system, if there is no directory of sockets.
pub fn list(kind: &str) -> io::Result<Vec<String>> {
    let dir = runtime_dir()?;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&dir)? {
        let Ok(file) = entry?.file_name().into_string() else { continue };
        let Some(named) = name::of_file(kind, &file) else { continue };
        let path = dir.join(&file);
        match connect_at_once(&path) {
            // Others are speaking with it.
            Err(e) if e.kind() != ErrorKind::WouldBlock => {
                remove_dead(&dir, &path);
                continue;
            }
            _ => {}
        }
        match named {
            Named::As(name) => names.push(name),
            Named::Cut => names.extend(true_name(&path)),
        }
    }
    names.sort();
    Ok(names)
}

/// Name that the process at a socket says that it has; None if it says nothing.
pub(super) fn true_name(path: &Path) -> Option<String> {
    ask_at(path, "", Instant::now() + QUICK).ok().flatten().and_then(Result::ok)
}

/// True if nobody listens.
pub(super) fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused)
}

/// Removes a socket that nobody listens at any more. With the lock, nobody is replacing it right now.
fn remove_dead(dir: &Path, path: &Path) {
    let Ok(_lock) = DirLock::take(dir) else { return };
    if connect_at_once(path).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused) {
        // It is no error if another process did it first.
        let _ = std::fs::remove_file(path);
    }
}

/// Asks the process at a socket: its answer or refusal; None if it does not answer in time.
fn ask_at(path: &Path, request: &str, end: Instant) -> io::Result<Option<Result<String, String>>> {
    let mut stream = loop {
        match connect_at_once(path) {
            Err(e) if e.kind() == ErrorKind::WouldBlock && Instant::now() < end => std::thread::sleep(AGAIN),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
            connected => break connected?,
        }
    };
    if !is_of_this_user(stream.as_fd()) {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "that socket is another user's"));
    }
    // A request fits into a socket's buffer. A process that is about to go takes it no more.
    if stream.write_all(format!("{request}\n").as_bytes()).is_err() {
        return Ok(None);
    }
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
    while bytes.len() <= LONGEST_ANSWER {
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(whole(&bytes)),
            Ok(n) => bytes.extend_from_slice(&chunk[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                readable(&[stream.as_fd()], Some(left));
            }
            Err(_) => break,
        }
    }
    Ok(None)
}

/// An answer, if all of it is there: `ok` or `error`, the number of its bytes, a line's end, and the text.
fn whole(bytes: &[u8]) -> Option<Result<String, String>> {
    let (head, text) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
    let (status, len) = head.split_once(' ')?;
    let text = (len.parse() == Ok(text.len())).then(|| text.to_owned())?;
    match status {
        "ok" => Some(Ok(text)),
        "error" => Some(Err(text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn half_an_answer_is_none() {
        assert_eq!(whole(b"ok 3\nabc"), Some(Ok("abc".into())));
        assert_eq!(whole(b"error 0\n"), Some(Err(String::new())));
        for wrong in [&b""[..], b"ok", b"ok 3\nab", b"ok 3\nabcd", b"ok x\n", b"oh 0\n", b"ok 1\n\xff"] {
            assert_eq!(whole(wrong), None, "{wrong:?}");
        }
    }
}
