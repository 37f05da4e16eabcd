//! The client: asks for a test, ends it, and has the figures of both ends.

mod entry;
mod streams;

use super::config::{Asked, Config};
use super::control::Control;
use super::fault::Fault;
use super::figures::{Cpu, ServerOutput, Subject};
use super::protocol::{Cookie, Parameters, Results, State};
use super::report::{Report, Reports};
use super::run::{Due, Run, Setup, Stream, Woken};
use super::settings::{Role, Settings, Transport};
use crate::Output;
use crate::socket::Site;
use entry::Pass;
use linerate_rt::{Moves, Stop, random};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Time for the server to answer before and after the test. Before it the server may serve somebody else's streams of
/// datagrams first.
const ANSWERS: Duration = Duration::from_secs(60);
/// Time for a state that explains why a stream broke.
const EXPLAINS: Duration = Duration::from_millis(500);
/// Datagram if the path says nothing, bytes.
const DATAGRAM: usize = 1460;

/// A test, up to where it has come.
struct Test<'a> {
    config: &'a Config,
    site: &'a Site,
    settings: Settings,
    cookie: Cookie,
    control: Control,
    remote: SocketAddr,
    stop: &'a Stop,
    run: Option<Run>,
    /// True once the last figures were reported.
    finished: bool,
    mss: u64,
    host: &'a str,
}

/// Runs a test.
///
/// # Errors
/// One line, in iperf3's words.
pub(super) fn run(
    config: &Config,
    asked: &Asked,
    site: &Site,
    stop: &Stop,
    output: &Arc<Output>,
) -> Result<(), String> {
    let mut report = Reports::new(&config.form, asked.settings.title.as_deref(), output);
    report.hello();
    if let Some(path) = site.path() {
        report.detail(path);
    }
    let tested = entry::admitted(config, asked, site, stop, output, &mut report);
    // A document has the words of a fault alone, but says what an interrupt was.
    let (told, line) = match tested {
        Ok(()) => {
            report.end(None);
            return Ok(());
        }
        Err(Fault::Stopped) => {
            let line = format!("interrupt - {}", Fault::ClientTerminated);
            (line.clone(), line)
        }
        Err(fault) => (fault.to_string(), format!("error - {fault}")),
    };
    report.end(Some(&told));
    Err(line)
}

/// Runs a test, up to its summary.
pub(super) fn test(
    config: &Config,
    asked: &Asked,
    pass: Option<&Pass>,
    site: &Site,
    stop: &Stop,
    output: &Output,
    report: &mut dyn Report,
) -> Result<(), Fault> {
    let mut test = Test::connect(config, asked, site, stop, output, report)?;
    let tested = test.lead(asked.port, pass, report);
    if let Err(fault) = &tested {
        test.leave(fault, report);
    }
    test.run.iter().flat_map(Run::remarks).for_each(|told| output.error(&told));
    tested
}

impl<'a> Test<'a> {
    fn connect(
        config: &'a Config,
        asked: &'a Asked,
        site: &'a Site,
        stop: &'a Stop,
        output: &'a Output,
        report: &mut dyn Report,
    ) -> Result<Self, Fault> {
        let stream = site.dial(&asked.host, asked.patience).map_err(Fault::Connect)?;
        let remote = stream.peer_addr().map_err(Fault::Connect)?;
        let mss = stream.segment();
        report.detail(&format!("Control connection MSS {mss}"));
        let mut settings = asked.settings.clone();
        if settings.transport == Transport::Udp {
            let path = usize::try_from(mss).unwrap_or(0);
            if settings.block == 0 {
                settings.block = if path == 0 { DATAGRAM } else { path };
                report.detail(&format!("Setting UDP block size to {}", settings.block));
            }
            if path > 0 && settings.block > path {
                let (block, why) = (settings.block, "may result in fragmentation / drops");
                output.error(&format!("warning - UDP block size {block} exceeds TCP MSS {path}, {why}"));
            }
        }
        let (control, cookie) = (Control::keeping(stream, config.keep_alive, stop)?, Cookie::new(random));
        control.send(cookie.bytes())?;
        let host = &asked.host;
        Ok(Self { config, site, settings, cookie, control, remote, stop, run: None, finished: false, mss, host })
    }

    /// Goes from state to state as the server says, to the end.
    fn lead(&mut self, port: u16, pass: Option<&Pass>, report: &mut dyn Report) -> Result<(), Fault> {
        let mut cpu = Cpu::default();
        let (mut other, mut logs_in) = (None, false);
        loop {
            let state = self.control.state(ANSWERS).map_err(|fault| match fault {
                Fault::Closed if logs_in => Fault::ClosedAtLogin,
                fault => fault,
            });
            let state = state?.ok_or(Fault::Late)?;
            logs_in = state == State::ParamExchange && pass.is_some();
            match (state, &mut self.run) {
                (State::ParamExchange, None) => {
                    let token = pass.map(Pass::token).transpose()?;
                    self.control.tell(&Parameters::of(&self.settings).with(token))?;
                    report.agreed(&self.subject());
                }
                (State::CreateStreams, None) => {
                    let (streams, congestion) = self.open(port, report)?;
                    self.run = Some(Run::new(Setup {
                        role: Role::Client,
                        settings: self.settings.clone(),
                        streams,
                        interval: self.config.form.interval,
                        file: self.config.file.clone(),
                        idle: self.config.idle,
                        send_timeout: self.config.send_timeout,
                        site: self.site.clone(),
                        congestion,
                        moves: Moves::default(),
                    })?);
                }
                (State::TestStart, Some(run)) => {
                    run.begin();
                    report.started();
                }
                (State::TestRunning, Some(_)) => self.measure(report)?,
                (State::ExchangeResults, Some(run)) => {
                    cpu = run.close();
                    self.control.tell(&run.results(cpu))?;
                    let json = self.control.message(Results::LONGEST_OF_SERVER, ANSWERS, Fault::Results)?;
                    other = Some(Results::read(&json).map_err(Fault::Results)?);
                }
                (State::DisplayResults, Some(run)) => {
                    let mut summary = run.summary(cpu, other.as_ref())?;
                    if self.settings.server_output {
                        summary.output = other.take().map_or(ServerOutput::None, output_of);
                    }
                    report.summary(&run.infos(), &summary);
                    // The server has all it wants; it may be gone.
                    let _ = self.control.say(State::Done);
                    return Ok(());
                }
                (State::AccessDenied, _) => return Err(Fault::Denied),
                (State::ServerTerminate, _) => return Err(Fault::ServerTerminated),
                (State::ServerError, _) => return Err(self.control.refusal(EXPLAINS)),
                _ => return Err(Fault::Unknown),
            }
        }
    }

    fn subject(&self) -> Subject {
        Subject {
            role: Role::Client,
            settings: self.settings.clone(),
            cookie: self.cookie.to_string(),
            host: self.host.to_owned(),
            port: self.config.place.port,
            mss: self.mss,
        }
    }

    /// Lets the data flow until the end of the test.
    fn measure(&mut self, report: &mut dyn Report) -> Result<(), Fault> {
        let Some(run) = &mut self.run else { return Err(Fault::Unknown) };
        run.start()?;
        let infos = run.infos();
        loop {
            match run.wait(&self.control, self.stop, Duration::MAX)? {
                Woken::Stopped => return Err(Fault::Stopped),
                // The server has no say before the end, but that it goes.
                Woken::Control => return Err(said(&self.control, Duration::ZERO)),
                Woken::Over => {
                    if let Some(fault) = run.fault() {
                        return Err(explained(&self.control, fault));
                    }
                    break;
                }
                Woken::Time => {}
            }
            match run.due() {
                Some(Due::Figures(figures)) => report.interval(&infos, &figures),
                Some(Due::Count) => report.counting(),
                Some(Due::End) => break,
                Some(Due::Idle) => return Err(Fault::Idle),
                None => {}
            }
        }
        let figures = run.finish(Role::Client);
        report.interval(&infos, &figures);
        self.finished = true;
        self.control.say(State::TestEnd)
    }

    /// Ends early: the figures so far, and a word to the server if it is not its own end.
    fn leave(&mut self, fault: &Fault, report: &mut dyn Report) {
        if matches!(fault, Fault::Stopped | Fault::Idle) {
            let _ = self.control.say(State::ClientTerminate);
        }
        let wanted = matches!(fault, Fault::Stopped | Fault::ServerTerminated);
        let Some(run) = self.run.as_mut().filter(|run| wanted && run.has_begun()) else { return };
        if !self.finished {
            let figures = run.finish(Role::Client);
            report.interval(&run.infos(), &figures);
        }
        let cpu = run.close();
        if let Ok(summary) = run.summary(cpu, None) {
            report.summary(&run.infos(), &summary);
        }
    }

    /// Opens the streams, those that send first; the congestion control that they have.
    fn open(&self, port: u16, report: &mut dyn Report) -> Result<(Vec<Stream>, Option<String>), Fault> {
        streams::open(self.site, self.remote, port, &self.settings, &self.cookie, |info, sizes| {
            report.buffers(sizes);
            report.stream(info);
        })
        .inspect_err(|_| {
            let _ = self.control.say(State::ClientTerminate);
        })
    }
}

/// State that the server says instead of waiting for the end.
fn said(control: &Control, within: Duration) -> Fault {
    match control.state(within) {
        Ok(Some(State::ServerTerminate)) => Fault::ServerTerminated,
        Ok(Some(State::ServerError)) => control.refusal(EXPLAINS),
        Ok(Some(State::AccessDenied)) => Fault::Denied,
        Ok(_) => Fault::Unknown,
        Err(fault) => fault,
    }
}

/// Reason for the fault of a stream: the server's, if it gives one.
fn explained(control: &Control, fault: Fault) -> Fault {
    match control.state(EXPLAINS) {
        Ok(Some(State::ServerTerminate)) => Fault::ServerTerminated,
        Ok(Some(State::ServerError)) => control.refusal(EXPLAINS),
        Err(Fault::Stopped) => Fault::Stopped,
        _ => fault,
    }
}

fn output_of(results: Results) -> ServerOutput {
    match (results.server_output_json, results.server_output_text) {
        (Some(value), _) => ServerOutput::Json(value),
        (None, Some(text)) => ServerOutput::Text(text),
        (None, None) => ServerOutput::None,
    }
}
