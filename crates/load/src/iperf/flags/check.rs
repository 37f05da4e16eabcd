//! Checks of flags that do not go together, and defaults that follow from others.

use super::state::State;
use crate::flags::own;
use crate::iperf::config::{Asked, Config, Part, Serving};
use crate::iperf::protocol::{Ask, Burst, Request};
use crate::iperf::settings::{BLOCK, DATAGRAMS, IDLE, Limit, Rate, TCP_BLOCK, UDP_BLOCK, UDP_RATE};
use crate::socket::{Family, Own, algorithm};

/// Greatest amount of bytes that a header has room for.
const BYTES_IN_HEADER: u64 = i32::MAX as u64;

impl State {
    pub(super) fn config(mut self) -> Result<Config, String> {
        if self.v4 && self.v6 {
            return Err("-4 and -V: addresses are of one family; give one".to_owned());
        }
        let own = self.own_host()?;
        let part = match (self.host.take(), self.server) {
            (Some(_), true) => return Err("-s and -c: an end is one of both; give one".to_owned()),
            (None, false) => return Err("no part in the test; give -s for a server or -c HOST for a client".to_owned()),
            (None, true) => self.serving(own.is_some())?,
            (Some(host), false) => self.asking(host)?,
        };
        Ok(Config { place: self.place, own, form: self.form, part, realtime: self.realtime })
    }

    /// The host of our own stack, if one is asked for.
    fn own_host(&mut self) -> Result<Option<Own>, String> {
        let (s, client) = (&self.settings, self.host.is_some());
        let only_kernel = [
            (self.place.device.is_some(), "HOST%INTERFACE"),
            (client && self.place.bind.is_some(), "-B"),
            (s.mss > 0, "-M"),
            (s.tos > 0 && !(client && self.udp()), "-S"),
            (s.ttl > 0, "-T"),
            (s.window > 0 && self.udp(), "-w for datagrams"),
            (self.daemon, "-D"),
        ];
        let own = own::host(std::mem::take(&mut self.own), &only_kernel)?;
        match s.congestion.as_ref().filter(|name| own.is_some() && algorithm(name).is_err()) {
            Some(name) => Err(format!("-Z {name}: a host of our own (--via) has cubic and reno; give one")),
            None => Ok(own),
        }
    }

    /// Flags that the other transport has no use for.
    fn of_transport(&self) -> Result<(), String> {
        if self.udp() {
            let s = &self.settings;
            for (given, flag) in
                [(s.mss > 0, "-M"), (self.form.segment, "-m"), (s.no_delay, "-N"), (s.congestion.is_some(), "-Z")]
            {
                if given {
                    return Err(format!("{flag}: UDP has no such thing; leave it out"));
                }
            }
        }
        Ok(())
    }

    /// Size of a block.
    fn size(&self, default: usize) -> Result<usize, String> {
        let Some(size) = self.block else { return Ok(default) };
        let [least, most] = if self.udp() { DATAGRAMS } else { [1, BLOCK] };
        let fits = usize::try_from(size).ok().filter(|n| (least..=most).contains(n));
        fits.ok_or_else(|| format!("-l {size}: give a size from {least} to {most}"))
    }

    fn serving(&mut self, own: bool) -> Result<Part, String> {
        if let Some(flag) = self.ends.client {
            return Err(format!("{flag}: the client decides on that; give it there"));
        }
        self.of_transport()?;
        if self.own_port > 0 {
            return Err("-B: a server's port is given by -p; give the address alone".to_owned());
        }
        // With -V both families, unless an address says which, or the sockets are our own, which have one.
        self.place.family = match (self.v6, &self.place.bind) {
            (true, None) if !own => None,
            (true, _) => Some(Family::V6),
            (false, _) => Some(Family::V4),
        };
        let settings = &self.settings;
        Ok(Part::Server(Box::new(Serving {
            transport: settings.transport,
            block: self.size(if self.udp() { UDP_BLOCK[0] } else { TCP_BLOCK })?,
            window: settings.window,
            mss: settings.mss,
            no_delay: settings.no_delay,
            tos: settings.tos,
            congestion: settings.congestion.clone(),
            clients: self.streams.unwrap_or(0),
            time: self.time.flatten(),
            daemon: self.daemon,
            idle: IDLE,
        })))
    }

    fn asking(&mut self, host: String) -> Result<Part, String> {
        if let Some(flag) = self.ends.server {
            return Err(format!("{flag}: that is for a server; leave it out"));
        }
        if let [first, second, ..] = self.ways[..] {
            return Err(format!("{first} and {second}: the data flow one of these ways; give one"));
        }
        self.of_transport()?;
        let udp = self.udp();
        self.place.family = Some(if self.v6 || host.contains(':') { Family::V6 } else { Family::V4 });
        self.settings.block = self.size(if udp { UDP_BLOCK[usize::from(self.v6)] } else { TCP_BLOCK })?;
        self.settings.limit = self.limit()?;
        let s = &mut self.settings;
        s.block_given = self.block.is_some();
        s.streams = self.streams.unwrap_or(1);
        s.rate = match (self.rate, udp) {
            (Some(Rate::Packets(_)), false) => {
                return Err("-b: byte streams have no packets; give bits per second".to_owned());
            }
            (Some(rate), _) => rate,
            (None, true) => Rate::Bits(UDP_RATE),
            (None, false) => Rate::Unlimited,
        };
        let to_server = s.way != Ask::Forward;
        match s.limit {
            Limit::Bytes(bytes) if to_server && bytes > BYTES_IN_HEADER => {
                let flag = self.ways[0];
                return Err(format!(
                    "-n {bytes}: with {flag} the server is told, up to {BYTES_IN_HEADER} bytes; give less, or -t"
                ));
            }
            Limit::None if to_server => {
                return Err(format!("-t 0: with {} the server must know the end; give a time", self.ways[0]));
            }
            _ => {}
        }
        let backwards = matches!(s.way, Ask::Dual | Ask::TradeOff);
        if self.listen_port > 0 && !backwards {
            return Err("-L: no connection is awaited; give -d or -r with it".to_owned());
        }
        for (given, flag) in [(to_server, self.ways.first().copied().unwrap_or_default()), (s.times, "--trip-times")] {
            if s.silent && given {
                return Err(format!("-C and {flag}: the server must be told of it; leave -C out"));
            }
        }
        if s.no_fin && (!udp || s.way != Ask::Forward) {
            return Err(
                "--no-udp-fin: there is a report only with -u, where the client alone sends; leave it out".to_owned()
            );
        }
        if s.times {
            if backwards {
                return Err("--trip-times: what comes back by -d and -r has no times; give --full-duplex".to_owned());
            }
            let least = if udp { Request::IN_TIMED_DATAGRAM } else { Burst::LEN };
            if s.block < least {
                return Err(format!("--trip-times: the time takes room; give -l {least} or more"));
            }
        }
        if let Some(path) = &s.file {
            if matches!(s.way, Ask::Reverse) || s.times {
                let flag = if s.times { "--trip-times" } else { "-R" };
                return Err(format!("-F and {flag}: a file is sent as it is, by the client; give one"));
            }
            if self.time.is_some() || self.bytes.is_some() {
                return Err("-F: its end is the end of the test; leave -t and -n out".to_owned());
            }
            s.limit = Limit::None;
            if to_server {
                return Err(format!("-F and {}: the server does not know the end; give one", self.ways[0]));
            }
            if let Err(e) = std::fs::File::open(path) {
                return Err(format!("-F {}: {e}; give a file that can be read", path.display()));
            }
        }
        if self.own_port > 0 && u32::from(self.own_port) + s.streams > 65_536 {
            return Err(format!("-B: the ports behind {} end at 65535; give a lower one", self.own_port));
        }
        let listen_port = if self.listen_port > 0 { self.listen_port } else { self.place.port };
        Ok(Part::Client(Box::new(Asked { host, own_port: self.own_port, listen_port, settings: s.clone() })))
    }
}
