//! Tests without a word: for programs that want figures.

use super::config::{Asked, Form, Serving};
use super::lane::Outcome;
use super::protocol::Report;
use super::report::Reporter;
use super::{client, server};
use crate::socket::{Place, Site};
use linerate_rt::{Stop, ThreadTime};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Bytes that this end sent, in all streams.
    pub sent: u64,
    /// Bytes that this end received, in all streams.
    pub received: u64,
    /// Seconds from the beginning to the end of the last stream: a byte stream ends when the other end has all.
    pub seconds: f64,
    pub send_cpu: ThreadTime,
    pub receive_cpu: ThreadTime,
    /// Segments that this end sent again; `None` for datagrams, and if it sent nothing.
    pub retransmits: Option<u64>,
    /// Datagrams sent to this end, and those of them that did not come.
    pub datagrams: u64,
    /// Datagrams lost on the way to this end.
    pub lost: u64,
    /// The server's reports, one of each stream of datagrams that this end sent.
    pub reports: Vec<Report>,
}

impl Measured {
    fn of(outcomes: &[Outcome]) -> Self {
        let mut all = Self::default();
        let begin = outcomes.iter().map(|outcome| outcome.flow.begin).min().unwrap_or(0);
        for outcome in outcomes {
            let figures = &outcome.figures;
            let cpu = if outcome.flow.sends { &mut all.send_cpu } else { &mut all.receive_cpu };
            cpu.user += outcome.cpu.user;
            cpu.system += outcome.cpu.system;
            if outcome.flow.sends {
                all.sent += figures.bytes;
                if let Some(tcp) = figures.tcp {
                    all.retransmits = Some(all.retransmits.unwrap_or(0) + tcp.retransmits);
                }
            } else {
                all.received += figures.bytes;
                all.datagrams += figures.datagrams;
                all.lost += figures.lost;
            }
            let seconds = Duration::from_nanos(outcome.end.saturating_sub(begin)).as_secs_f64();
            all.seconds = all.seconds.max(seconds);
            all.reports.extend(outcome.report);
        }
        all
    }
}

/// Runs a client's test, and prints nothing.
///
/// # Errors
/// One line: the first fault of the test, which has no figures then.
pub fn measure(place: &Place, asked: &Asked, stop: &Stop) -> Result<Measured, String> {
    let reporter = Arc::new(Reporter::new(Form::default(), None, false));
    let outcomes = client::run(&Site::open(place, None)?, asked, &reporter, stop)?;
    match outcomes.iter().find_map(|outcome| outcome.fault.clone()) {
        Some(fault) => Err(fault),
        None => Ok(Measured::of(&outcomes)),
    }
}

/// A server that prints nothing.
pub struct Server {
    listener: server::Listener,
    site: Site,
    serving: Serving,
}

impl Server {
    /// Opens the server's port; with port 0 one that the system chooses.
    pub fn listen(place: &Place, serving: &Serving) -> Result<Self, String> {
        let site = Site::open(place, None)?;
        let listener = server::Listener::open(&site, serving)?;
        let port = listener.address().map_or(place.port, |address| address.port());
        Ok(Self { listener, site: site.placed(Place { port, ..place.clone() }), serving: serving.clone() })
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.site.place().port
    }

    /// Serves clients until a stop is requested; returns when all sessions have ended.
    ///
    /// # Errors
    /// One line about a socket that failed. Faults of clients are none.
    pub fn serve(self, stop: &Stop) -> Result<(), String> {
        let reporter = Arc::new(Reporter::new(Form::default(), None, true));
        server::ServerState::new(&self.site, &self.serving, &reporter, None).serve(&self.listener, stop)
    }
}
