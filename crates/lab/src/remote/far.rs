//! The far end: answers requests until their end, then puts back what it has changed.

use super::answering::Answering;
use super::end::End;
use super::words::{GREETING, LONGEST, Request, told};
use crate::doctor::Side;
use crate::environment;
use linerate_load::stream::Server;
use linerate_rt::Stop;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Interval between two looks whether the process is to end.
const LOOK: Duration = Duration::from_millis(100);

struct Agent<'a> {
    records: &'a Path,
    end: Option<End>,
    server: Option<Server>,
    answering: Option<Answering>,
}

/// Answers the requests of another machine until there are no more, or the stop is requested; then puts back what it has
/// changed. `records`: directory of what was changed ([`linerate_host::settings`]). Returns lines about what could not be put
/// back.
///
/// # Errors
/// The replies cannot be written.
pub fn agent(
    input: impl BufRead + Send + 'static,
    output: &mut impl Write,
    records: &Path,
    stop: &Stop,
) -> io::Result<Vec<String>> {
    // A read cannot be interrupted: it has a thread of its own, which ends with the process.
    let (send, lines) = sync_channel(1);
    std::thread::spawn(move || {
        let mut input = input;
        loop {
            let mut line = String::new();
            let read = (&mut input).take(LONGEST as u64).read_line(&mut line);
            if !matches!(read, Ok(1..)) || send.send(line).is_err() {
                return;
            }
        }
    });
    let system = environment::read(&[]);
    let version = env!("CARGO_PKG_VERSION");
    let system = [system.host, system.kernel, system.cpu].into_iter().flatten().collect::<Vec<_>>().join(", ");
    writeln!(output, "{GREETING}{version}, {}", linerate_text::one_line(&system))?;
    output.flush()?;
    let mut agent = Agent { records, end: None, server: None, answering: None };
    while !stop.asked() {
        let line = match lines.recv_timeout(LOOK) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let reply = match Request::parse(&line) {
            Some(request) => agent.answer(request, stop),
            None => Err(format!("{:?} is no request of this version ({version})", line.trim_end())),
        };
        writeln!(output, "{}", told(&reply))?;
        output.flush()?;
    }
    drop((agent.server, agent.answering));
    Ok(agent.end.map(End::put_back).unwrap_or_default())
}

impl Agent<'_> {
    fn answer(&mut self, request: Request, stop: &Stop) -> Result<String, String> {
        if let Request::Path(address) = request {
            let mut end = End::to(address, self.records)?;
            let mtu = end.mtu()?;
            let said = format!("{} {mtu} {}", end.name(), end.source());
            self.end = Some(end);
            return Ok(said);
        }
        let end = self.end.as_mut().ok_or("no interface was chosen")?;
        match request {
            Request::Path(_) => {}
            Request::Check { cycled, least } => end.check(cycled, least)?,
            Request::Serve => {
                let server = self.server.insert(Server::at(end.source())?);
                return Ok(server.port().to_string());
            }
            Request::Answer => {
                let answering = self.answering.insert(Answering::at(end.source())?);
                return Ok(answering.port.to_string());
            }
            Request::Mtu(mtu) => end.set_mtu(mtu)?,
            Request::Cycle => end.cycle()?,
            Request::Ready => end.ready(stop)?,
            Request::Doctor(loads) => {
                let side = Side::here(end.name(), &loads, stop)?;
                return serde_json::to_string(&side).map_err(|e| e.to_string());
            }
        }
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(requests: &str) -> Vec<String> {
        let records = tempfile::tempdir().unwrap();
        let (mut output, stop) = (Vec::new(), Stop::new().unwrap());
        let input = io::Cursor::new(requests.to_owned());
        assert_eq!(agent(input, &mut output, records.path(), &stop).unwrap(), [""; 0]);
        String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_request_has_a_reply() {
        let long = "x".repeat(2 * LONGEST);
        let lines = said(&format!("serve\nfly\n\npath 127.0.0.1\nserve\n{long}\n"));
        assert!(lines[0].starts_with(GREETING), "{lines:?}");
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(lines[1], "no no interface was chosen");
        assert_eq!(lines[2], format!("no \"fly\" is no request of this version ({version})"));
        assert!(lines[3].starts_with("no \"\" is no request"), "{lines:?}");
        assert!(lines[4].starts_with("no 127.0.0.1 is this machine's own"), "{lines:?}");
        assert_eq!((lines[5].as_str(), lines.len()), ("no no interface was chosen", 9));
    }
}
