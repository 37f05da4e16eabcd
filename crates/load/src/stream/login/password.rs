//! Password of a login: the environment's, or that of whoever sits at the terminal, who does not see it.

use crate::socket::sys::{Hushed, Ready, poll};
use crate::stream::fault::Fault;
use linerate_rt::Stop;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;

/// Variable with the password.
const VARIABLE: &str = "IPERF3_PASSWORD";
/// Longest password that is asked for, bytes.
const LONGEST: usize = 1024;

pub(super) fn password(stop: &Stop) -> Result<Vec<u8>, Fault> {
    if let Some(password) = std::env::var_os(VARIABLE).map(OsString::into_vec) {
        return Ok(password);
    }
    if !io::stdin().is_terminal() {
        let mend = format!("set {VARIABLE}, or have a terminal to be asked on");
        return Err(Fault::Login(format!("--username: there is no password; {mend}")));
    }
    asked(stop).map_err(|e| Fault::Login(format!("the password: {e}; set {VARIABLE}")))?.ok_or(Fault::Stopped)
}

/// Asks for the password; `None` if the stop is requested meanwhile.
fn asked(stop: &Stop) -> io::Result<Option<Vec<u8>>> {
    let (stdin, mut said, mut password) = (io::stdin().lock(), io::stderr(), Vec::new());
    let _hushed = Hushed::new(stdin.as_fd())?;
    let _ = write!(said, "Password: ").and_then(|()| said.flush());
    // Beside the buffer of standard input: the poll knows only what the kernel has.
    let mut terminal = std::fs::File::from(stdin.as_fd().try_clone_to_owned()?);
    let mut piece = [0; LONGEST];
    let whole = loop {
        let ready = poll(&[(terminal.as_fd(), Ready::Read), (stop.as_fd(), Ready::Read)], None)?;
        if ready[1] {
            break None;
        }
        let got = terminal.read(&mut piece)?;
        let line = piece[..got].split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
        password.extend_from_slice(line);
        if line.len() < got || got == 0 {
            break Some(password);
        }
        if password.len() > LONGEST {
            return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
        }
    };
    let _ = writeln!(said);
    Ok(whole)
}
