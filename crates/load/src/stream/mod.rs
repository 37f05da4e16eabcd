//! iperf3: streams of bytes or datagrams over the kernel's sockets, measured at both ends, in iperf3's protocol, flag for
//! flag and line for line.
//!
//! [`Config::parse`] reads a command line; [`run`] executes it, as client or server, with iperf3 or another of these at
//! the other end. [`protocol`] has what the two ends say to each other, and knows no sockets. Each stream has a thread and
//! blocking calls (`lane`); the thread of the control connection takes the figures (`run`) and has them reported
//! (`report`). A server may want a login (`login`).

mod client;
mod config;
mod control;
mod fault;
mod figures;
mod flags;
mod lane;
mod login;
mod measure;
pub mod protocol;
mod report;
mod run;
mod serve;
mod server;
mod settings;
mod socket;
mod units;
mod workload;

pub use crate::socket::{Family, Own, Place};
pub use config::{Asked, Config, Form, Part};
pub use fault::Fault;
pub use flags::{Command, help, listed};
pub use login::{Guard, Login, Refusal};
pub use serve::Server;
pub use settings::{Direction, Role, Settings, Transport};
pub use workload::{TCP_BIDIR, TCP_MAERTS, TCP_SENDFILE, TCP_STREAM, UDP_STREAM};

use crate::socket::Site;
use crate::{Output, Speaker};
use linerate_host::place;
use linerate_rt::{Capability, Stop, pin};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

pub const SPEAKER: Speaker = Speaker { program: "iperf3", flag: "--logfile" };

/// Version of iperf3 whose flags, protocol and output these are, and the version of this program.
const VERSION: &str = concat!("iperf 3.12 (linerate ", env!("CARGO_PKG_VERSION"), ")");

/// Runs an end to its end. The process must have this thread alone, if a server is to leave the terminal. `opened` is called
/// by a server that listens, with the capabilities that it goes on to need.
///
/// # Errors
/// One line, without the program's name: iperf3's words where it has some.
pub fn run(
    config: &Config,
    stop: &Stop,
    output: &Arc<Output>,
    opened: impl FnOnce(&[Capability]),
) -> Result<(), String> {
    if let Some(cpu) = config.cpu {
        pin(&[cpu]).map_err(|e| format!("error - unable to set CPU affinity: {e}"))?;
    }
    match &config.part {
        Part::Client(asked) => {
            let _pid = PidFile::new(config.pid_file.as_ref())?;
            client::run(config, asked, &site(config)?, stop, output)
        }
        Part::Server { daemon, once, guard, limits } => {
            for line in guard.iter().flat_map(|guard| guard.warnings()) {
                output.error(line);
            }
            let site = site(config)?;
            let listener = site.listen().map_err(|e| format!("error - {}", Fault::Listen(e)))?;
            if *daemon {
                crate::socket::sys::daemon().map_err(|e| format!("error - unable to become a daemon: {e}"))?;
            }
            let _pid = PidFile::new(config.pid_file.as_ref())?;
            // Any client may ask for datagrams, which come to sockets of their own.
            let mut keeps = config.place.keeps();
            // The one is read at each login, the other written anew in each test.
            keeps.extend(guard.as_ref().map(|_| Capability::DacReadSearch));
            keeps.extend(config.file.as_ref().map(|_| Capability::DacOverride));
            opened(&keeps);
            server::run(config, &site, listener, (*once, guard.as_deref(), limits), stop, output)
        }
    }
}

fn site(config: &Config) -> Result<Site, String> {
    Site::open(&config.place, config.own.as_ref()).map_err(|e| format!("error - {e}"))
}

/// File with the number of the process, deleted in the end.
struct PidFile(Option<PathBuf>);

impl PidFile {
    fn new(path: Option<&PathBuf>) -> Result<Self, String> {
        let Some(path) = path else { return Ok(Self(None)) };
        let unwritten = |e: std::io::Error| format!("error - unable to write PID file: {}: {e}", path.display());
        // A FIFO of another user would keep the reader waiting.
        place::check(path).map_err(unwritten)?;
        let other = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
        if other.is_some_and(|pid: i32| pid > 0 && crate::socket::sys::is_alive(pid)) {
            return Err("Another instance of iperf3 appears to be running".to_owned());
        }
        let written = place::create(path).and_then(|mut file| write!(file, "{}", std::process::id()));
        written.map_err(unwritten)?;
        Ok(Self(Some(path.clone())))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}
