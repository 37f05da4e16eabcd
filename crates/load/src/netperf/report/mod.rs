//! Reports: netperf's own lines, or values by their names.

mod classic;
mod rows;
mod selected;

pub(super) use selected::{Form, Selection, selectors};

use super::client::{self, Client};
use super::figures::Outcome;
use super::flags::{Config, ServerConfig};
use super::server::Server;
use super::table::family;
use super::timer::Interim;
use super::units;
use crate::socket::{Family, sys};
use crate::validity::Validity;
use crate::{Output, Record};
use linerate_rt::{Stop, wall};
use std::net::SocketAddr;
use std::sync::Arc;

/// Place for texts, each whole.
pub(super) type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// A test and what came of it, for reports.
pub(super) struct View<'a> {
    pub(super) config: &'a Config,
    pub(super) outcome: &'a Outcome,
    /// Addresses of the data: own, the server's.
    pub(super) addresses: (SocketAddr, SocketAddr),
}

/// Runs a test and prints its report.
///
/// # Errors
/// One line, without the program's name.
pub fn run(config: &Config, stop: &Stop, output: &Arc<Output>) -> Result<(), String> {
    let printed = output.clone();
    let say: Say = Arc::new(move |text| printed.print(text));
    let site = client::site(&config.settings).map_err(|fault| fault.to_string())?;
    let client = Client::connect(&config.settings, &site, stop).map_err(|fault| fault.to_string())?;
    let addresses = client.addresses();
    if config.headers {
        say(&title(config, addresses, site.path()));
    }
    let validity = output.keeps().then(Validity::begin);
    let outcome = client.run(|| interim(config, &say)).map_err(|fault| fault.to_string())?;
    let view = View { config, outcome: &outcome, addresses };
    let text = match config.form {
        Form::Classic => classic::lines(&view),
        form => config.selection.print(form, &view),
    };
    say(&text);
    if output.keeps() {
        let text = title(config, addresses, site.path()) + &Selection::all().print(Form::Keys, &view);
        let warnings = validity.map(|validity| validity.end().lines().collect()).unwrap_or_default();
        let connections = outcome.last.connection.into_iter().map(|connection| (false, connection)).collect();
        output.keep(&[Record { connections, warnings, ..Record::new("netperf", text) }], None);
    }
    Ok(())
}

/// Serves clients until the stop is requested. The process must have this thread alone, if it is to leave the terminal. `opened`
/// is called once it listens: it goes on to need no capability.
///
/// # Errors
/// One line, without the program's name.
pub fn serve(
    config: &ServerConfig,
    stop: &Stop,
    say: impl Fn(&str),
    log: impl Fn(&str) + Send + Sync + 'static,
    opened: impl FnOnce(),
) -> Result<(), String> {
    let place = &config.place;
    let server = Server::listen(place, config.own.as_ref()).map_err(|fault| fault.to_string())?;
    let server = if config.serially { server.serially() } else { server };
    let family = match place.family {
        None => "AF_UNSPEC",
        Some(Family::V4) => "AF_INET",
        Some(Family::V6) => "AF_INET6",
    };
    let host = place.bind.as_deref().unwrap_or("IN(6)ADDR_ANY");
    say(&format!("Starting netserver with host '{host}' port '{}' and family {family}\n", place.port));
    if config.daemon {
        sys::daemon().map_err(|e| format!("cannot leave the terminal: {e}; give -D"))?;
    }
    opened();
    let verbose = config.verbose;
    let log = move |line: &str| {
        if verbose {
            log(line);
        }
    };
    server.run(stop, log).map_err(|fault| fault.to_string())
}

/// The first line of a report.
fn title(config: &Config, (own, server): (SocketAddr, SocketAddr), path: Option<&str>) -> String {
    let (s, test) = (&config.settings, config.settings.test);
    let any = if own.is_ipv4() { "0.0.0.0" } else { "::0" };
    let name = s.place.bind.as_deref().unwrap_or(any);
    let mut line = format!("{} from {name} ({}) port {} {}", test.title, own.ip(), own.port(), family(own));
    line += &format!(" to {} ({}) port {} {}", s.host, server.ip(), server.port(), family(server));
    if s.repeats.most > 1 {
        let only = if s.repeats.result_only { " on result only" } else { "" };
        line += &format!(" : +/-{:.3}% @ {:2}% conf. {only}", s.repeats.width * 50.0, s.repeats.level);
    }
    if s.no_delay {
        line += " : nodelay";
    }
    line += " : demo";
    if test.is_transactions() && !test.connects {
        line += " : first burst 0";
    }
    if s.local.pin.is_some() || s.remote.pin.is_some() {
        line += " : cpu bind";
    }
    if let Some(path) = path {
        line += &format!(" : via {path}");
    }
    line + "\n"
}

/// Figures while a test goes on, if they are wanted.
fn interim(config: &Config, say: &Say) -> Option<Interim<'static>> {
    let s = &config.settings;
    let (unit, say) = (s.unit(), say.clone());
    // What is counted on the way: transactions, or bytes.
    let bytes = if s.test.is_transactions() && unit != 'x' { f64::from(s.request + s.response) } else { 1.0 };
    let (form, mut told) = (config.form, 0);
    let tell = move |units: u64, seconds: f64| {
        let rate = units::scaled(units as f64 * bytes / seconds, unit);
        let name = units::name(unit);
        let at = wall();
        let (at, ms) = (at.as_secs(), at.subsec_millis());
        say(&match form {
            Form::Keys => format!(
                "NETPERF_INTERIM_RESULT[{told}]={rate:.2}\nNETPERF_UNITS[{told}]={name}/s\n\
                 NETPERF_INTERVAL[{told}]={seconds:.3}\nNETPERF_ENDING[{told}]={at}.{ms:03}\n"
            ),
            Form::Commas => format!("{rate:.2},{name}/s,{seconds:.3},{at}.{ms:03}\n"),
            Form::Classic | Form::Columns => {
                format!("Interim result: {rate:7.2} {name}/s over {seconds:.3} seconds ending at {at}.{ms:03}\n")
            }
        });
        told += 1;
    };
    config.interim.map(|every| (every, Box::new(tell) as Box<dyn FnMut(u64, f64) + Send>))
}
