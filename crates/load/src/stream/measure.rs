//! A test between two ends in this process, whose figures are kept rather than printed.

use super::config::{Asked, Config, Form, Part, TestLimits};
use super::fault::Fault;
use super::figures::{Cpu, Total};
use super::report::Kept;
use super::settings::Settings;
use super::{SPEAKER, client, server};
use crate::Output;
use crate::socket::{Pair, Place, Site};
use crate::turn::Turn;
use linerate_result::Connection;
use linerate_rt::Stop;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Time without data after which an end gives up, and time to reach the server.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two samples.
const SAMPLES: Duration = Duration::from_millis(250);

/// Figures of a test: all streams together.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Bytes sent and received, of all streams.
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Streams in their order: true if the client sends by it, and the bytes that arrived.
    pub(super) streams: Vec<(bool, u64)>,
    /// Seconds in which they were received.
    pub(super) seconds: f64,
    pub(super) retransmits: u64,
    pub(super) connections: Vec<Connection>,
    /// Datagrams sent, and lost.
    pub(super) datagrams: u64,
    pub(super) lost: u64,
    /// Processor time of the client and of the server.
    pub(super) cpu: [Cpu; 2],
    /// Bytes that the client moved up to each time.
    pub(super) samples: Vec<(f64, u64)>,
}

pub(super) fn config(place: &Place, part: Part) -> Config {
    let form = Form { interval: Some(SAMPLES), ..Form::default() };
    Config {
        place: place.clone(),
        own: None,
        form,
        part,
        file: None,
        cpu: None,
        pid_file: None,
        idle: PATIENCE,
        send_timeout: None,
        keep_alive: None,
    }
}

/// Runs a test with a server that is there, at the place's port.
///
/// # Errors
/// One line, in iperf3's words.
pub(super) fn ask(
    site: &Site,
    server: IpAddr,
    settings: &Settings,
    turn: &Turn<'_>,
    stop: &Stop,
) -> Result<Measured, String> {
    let settings = settings.clone();
    let asked = Asked { host: server.to_string(), port: 0, patience: Some(PATIENCE), login: None, settings };
    let mut report = Kept::of(turn, stop);
    let asks = config(site.place(), Part::Client(Box::new(asked.clone())));
    client::test(&asks, &asked, None, site, stop, &silent(stop), &mut report).map_err(|fault| fault.to_string())?;
    figures(report)
}

/// Runs a test between the hosts of a pair: the first one asks.
///
/// # Errors
/// One line: iperf3's words, where it has some.
pub(super) fn measure(pair: &Pair, settings: &Settings, turn: &Turn<'_>, stop: &Stop) -> Result<Measured, String> {
    let [client, server] = &pair.sides;
    let over = Stop::new().map_err(|e| e.to_string())?;
    let (ready, listening) = sync_channel(1);
    let place = client.site.place();
    let served = config(place, Part::Server { daemon: false, once: true, guard: None, limits: TestLimits::default() });
    let (host, settings) = (server.address.clone(), settings.clone());
    let asked = Asked { host, port: 0, patience: Some(PATIENCE), login: None, settings };
    let asks = config(place, Part::Client(Box::new(asked.clone())));
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            server.run(|| {
                let listener = server.site.listen().map_err(|e| Fault::Listen(e).to_string());
                let _ = ready.send(());
                let output = silent(&over);
                server::run(&served, &server.site, listener?, (true, None, &TestLimits::default()), &over, &output)
            })
        });
        // It listens, or has failed.
        let _ = listening.recv_timeout(PATIENCE);
        let mut report = Kept::of(turn, stop);
        let tested = client.run(|| {
            let output = silent(stop);
            client::test(&asks, &asked, None, &client.site, stop, &output, &mut report)
        });
        // Of a client that has failed the server need not hear.
        if !matches!(tested, Ok(Ok(()))) {
            over.ask(0);
        }
        let served = serving.join().unwrap_or_else(|_| Err("the server has panicked".to_owned()));
        tested?.map_err(|fault| match (fault, served) {
            // Of what the client sees only the end, the server knows the reason.
            (Fault::Closed | Fault::Connect(_), Ok(Err(why)) | Err(why)) => why,
            (fault, _) => fault.to_string(),
        })?;
        figures(report)
    })
}

/// Output that nobody sees.
pub(super) fn silent(stop: &Stop) -> Arc<Output> {
    Arc::new(Output::new(SPEAKER, Box::new(io::sink()), Box::new(io::sink()), stop))
}

fn figures(kept: Kept<'_>) -> Result<Measured, String> {
    let (infos, summary) = kept.summary.ok_or("the test has no summary")?;
    let sum = |of: fn(&Total) -> u64| summary.totals.iter().map(of).sum::<u64>();
    Ok(Measured {
        sent: sum(|total| total.sent),
        received: sum(|total| total.received),
        streams: infos.iter().zip(&summary.totals).map(|(info, total)| (info.sends, total.received)).collect(),
        seconds: summary.receiver_seconds,
        retransmits: sum(|total| total.retransmits),
        connections: summary.connections(&infos).into_iter().map(|(_, connection)| connection).collect(),
        datagrams: sum(|total| total.packets_sent),
        lost: sum(|total| total.lost),
        cpu: [summary.own_cpu, summary.other_cpu],
        samples: kept.intervals,
    })
}
