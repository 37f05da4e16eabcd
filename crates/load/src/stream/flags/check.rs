//! Checks of flags that do not go together, and defaults that follow from others.

use super::state::State;
use crate::flags::own;
use crate::socket::Own;
use crate::stream::config::{Asked, Config, Part};
use crate::stream::settings::{BLOCK, DATAGRAM, Direction, LEAST_DATAGRAM, TCP_BLOCK, Transport, UDP_RATE};
use std::time::Duration;

/// Time without data after which a receiver gives up, if none is given.
const IDLE: Duration = Duration::from_secs(120);
/// Time of a test, if no end is given, seconds.
const TIME: u64 = 10;

impl State {
    pub(super) fn config(mut self) -> Result<Config, String> {
        self.of_form()?;
        let own = self.own_host()?;
        let part = match (self.host.take(), self.server) {
            (Some(_), true) => return Err("-s and -c: an end is one of both; give one".into()),
            (None, false) => return Err("no part in the test; give -s for a server or -c HOST for a client".into()),
            (None, true) => self.serving()?,
            (Some(host), false) => self.asking(host)?,
        };
        Ok(Config {
            place: self.place,
            own,
            form: self.form,
            part,
            file: self.file,
            cpu: self.cpu,
            pid_file: self.pid_file,
            idle: self.idle.unwrap_or(IDLE),
            send_timeout: self.send_timeout,
            keep_alive: self.keep_alive,
        })
    }

    /// Flags that have no place in the form of what is printed.
    fn of_form(&self) -> Result<(), String> {
        let form = &self.form;
        if form.whole && !form.events {
            return Err("--json-stream-full-output: -J has the whole document; give --json-stream too".into());
        }
        if form.timestamps.is_some() && form.json {
            return Err("--timestamps: documents have times of their own; leave it out, or -J and --json-stream".into());
        }
        let s = &self.settings;
        for (given, flag) in [(s.title.is_some(), "-T"), (s.extra_data.is_some(), "--extra-data")] {
            if given && form.events && !form.whole {
                let mend = "give --json-stream-full-output too, or leave it out";
                return Err(format!("{flag}: no event of --json-stream has a place for it; {mend}"));
            }
        }
        Ok(())
    }

    /// The host of our own stack, if one is asked for.
    fn own_host(&mut self) -> Result<Option<Own>, String> {
        let (s, client) = (&self.settings, self.host.is_some());
        let only_kernel = [
            (self.place.device.is_some(), "-B ADDRESS%INTERFACE"),
            (client && self.place.bind.is_some(), "-B"),
            (s.pacing > 0, "--fq-rate"),
            (s.dont_fragment, "--dont-fragment"),
            (self.keep_alive.is_some(), "--cntl-ka"),
            (self.daemon, "-D"),
        ];
        own::host(std::mem::take(&mut self.own), &only_kernel)
    }

    fn serving(&self) -> Result<Part, String> {
        match self.ends.client {
            Some(flag) => Err(format!("{flag}: the client decides on that; give it there")),
            None if self.limits.idle.is_some() && !self.once => {
                Err("--idle-timeout: a server that waits needs no restart; leave it out, or give -1 too".into())
            }
            None => Ok(Part::Server {
                daemon: self.daemon,
                once: self.once,
                guard: self.login.guard()?.map(Box::new),
                limits: self.limits.clone(),
            }),
        }
    }

    fn asking(&mut self, host: String) -> Result<Part, String> {
        if let Some(flag) = self.ends.server {
            return Err(format!("{flag}: that is for a server; leave it out"));
        }
        let s = &mut self.settings;
        s.direction = match (self.reverse, self.both) {
            (true, true) => return Err("-R and --bidir: the data flow one way or both; give one".into()),
            (true, false) => Direction::Reverse,
            (false, true) => Direction::Both,
            (false, false) => Direction::Forward,
        };
        let (udp, ends) = (s.transport == Transport::Udp, (self.time.is_some(), s.bytes > 0, s.blocks > 0));
        if matches!(ends, (true, true, _) | (true, _, true) | (_, true, true)) {
            return Err("-t, -n and -k: a test has one end; give one of them".into());
        }
        let reads = s.direction == Direction::Forward;
        if let (Some(path), (false, false, false)) = (&self.file, ends) {
            // A file that is sent ends the test.
            match std::fs::metadata(path) {
                Ok(file) if file.len() > 0 => s.bytes = file.len(),
                Err(e) if reads => return Err(format!("-F {}: {e}; give a file that can be read", path.display())),
                Ok(_) | Err(_) => {}
            }
        }
        s.time = self.time.unwrap_or(if s.bytes > 0 || s.blocks > 0 { 0 } else { TIME });
        s.rate = self.rate.unwrap_or(if udp { UDP_RATE } else { 0 });
        s.block = match (self.block, udp) {
            (None, true) => 0,
            (None, false) => TCP_BLOCK,
            (Some(n), udp) => {
                let (least, most) = if udp { (LEAST_DATAGRAM, DATAGRAM) } else { (1, BLOCK) };
                let fits = usize::try_from(n).ok().filter(|n| (least..=most).contains(n));
                fits.ok_or_else(|| format!("-l {n}: give a size from {least} to {most}"))?
            }
        };
        if self.idle.is_some() && s.direction == Direction::Forward {
            return Err("--rcv-timeout: this client receives nothing; give -R or --bidir, or leave it out".into());
        }
        // Flags that the other transport has no use for.
        let none = |flag: &str, of: &str| Err(format!("{flag}: {of} has no such thing; leave it out"));
        if udp {
            for (given, flag) in [
                (s.congestion.is_some(), "-C"),
                (s.mss > 0, "-M"),
                (s.no_delay, "-N"),
                (s.zero_copy, "-Z"),
                (self.send_timeout.is_some(), "--snd-timeout"),
                (s.flow_label > 0, "-L"),
                (self.file.is_some(), "-F"),
            ] {
                if given {
                    return none(flag, "UDP");
                }
            }
        } else {
            for (given, flag) in [(s.wide_counters, "--udp-counters-64bit"), (s.dont_fragment, "--dont-fragment")] {
                if given {
                    return none(flag, "TCP");
                }
            }
        }
        if s.burst > 0 && s.rate == 0 {
            return Err("-b: a burst needs a rate; give -b RATE/BURST".into());
        }
        if self.own_port > 0 && usize::from(self.own_port) + 2 * s.streams > 65_536 {
            return Err(format!("--cport {}: the ports behind it end at 65535; give a lower one", self.own_port));
        }
        let (settings, login) = (s.clone(), self.login.login()?);
        Ok(Part::Client(Box::new(Asked { host, port: self.own_port, patience: self.patience, login, settings })))
    }
}
