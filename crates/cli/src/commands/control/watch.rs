//! `show --watch`: a line a second of a process, until it ends or we are told to.

use super::Kind;
use crate::commands::shared::ended;
use crate::print::{print_told, remark};
use crate::trouble::Trouble;
use linerate_rt::control::{ControlError, ask};
use linerate_rt::{Stop, monotonic_ns, pause};
use serde_json::Value;
use std::process::ExitCode;

const SECOND: u64 = 1_000_000_000;

/// Result of one more request.
enum Next {
    State(Value),
    /// It cannot answer now, for this reason.
    Busy(String),
    /// The process has ended, and perhaps another one of its name has begun.
    Ended,
}

/// Prints a line a second, the first one a second after the state that is known.
pub(super) fn watch(kind: &Kind, name: &str, first: Value, json: bool, stop: &Stop) -> Result<ExitCode, Trouble> {
    let (mut before, mut at) = (first, monotonic_ns());
    let mut tick = at;
    loop {
        tick = (tick + SECOND).max(monotonic_ns());
        pause(&[stop], Some(tick));
        if stop.asked() {
            return Ok(ended(stop));
        }
        match next(kind, name, &before)? {
            Next::State(now) => {
                let then = monotonic_ns();
                let seconds = (then - at).max(1) as f64 / SECOND as f64;
                let line = if json { now.to_string() } else { (kind.moved)(&before, &now, seconds) };
                print_told(&(line + "\n"), json);
                (before, at) = (now, then);
            }
            Next::Busy(why) => remark(&format!("linerate: {} '{name}': {why}", kind.name)),
            Next::Ended => {
                remark(&format!("linerate: {} '{name}' has ended", kind.name));
                return Ok(ended(stop));
            }
        }
    }
}

fn next(kind: &Kind, name: &str, before: &Value) -> Result<Next, Trouble> {
    let failed = |e: ControlError| Trouble::failed(e.to_string());
    match ask(kind.name, name, "show") {
        Ok(answer) => match serde_json::from_str::<Value>(&answer) {
            Ok(now) if now["pid"] == before["pid"] => Ok(Next::State(now)),
            _ => Ok(Next::Ended),
        },
        Err(ControlError::Nobody { .. }) => Ok(Next::Ended),
        Err(ControlError::Refused(why)) => Ok(Next::Busy(why)),
        // It went while it was asked, or it is stopped.
        Err(silent @ ControlError::Silent { .. }) => match ask(kind.name, name, "show") {
            Err(ControlError::Nobody { .. }) => Ok(Next::Ended),
            _ => Err(failed(silent)),
        },
        Err(other) => Err(failed(other)),
    }
}
