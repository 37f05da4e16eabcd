//! A session: one client's test, from its parameters to its results.

use super::datagrams::{Knock, Turn};
use super::listener::Arrival;
use super::{ServerState, peer};
use crate::socket::{Socket, plain};
use crate::stream::config::TestLimits;
use crate::stream::control::Control;
use crate::stream::fault::Fault;
use crate::stream::figures::{Cpu, ServerOutput, StreamInfo, Subject};
use crate::stream::protocol::{Cookie, Parameters, Results, State};
use crate::stream::report::{Report, Reports};
use crate::stream::run::{Due, Run, Setup, Stream, Woken};
use crate::stream::settings::{Direction, Role, Settings, Transport};
use crate::stream::socket::{buffers, datagram_buffers, settle};
use linerate_rt::{Place, pin};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time for a client to say what it must say next, before and after the test.
const ANSWERS: Duration = Duration::from_secs(10);
/// Time for the next stream: sessions of the same address may wait for it.
const OPENS: Duration = Duration::from_secs(5);
/// Time between two looks at the control connection meanwhile.
const LOOKS: Duration = Duration::from_millis(50);
/// The same while streams have come beyond those that were agreed on.
const SPARE_LOOKS: Duration = Duration::from_millis(10);
/// Time for a state that explains why a stream broke.
const EXPLAINS: Duration = Duration::from_millis(500);

/// Said of a session that gave way.
const GAVE_WAY: &str = "error - a client that moves no data has made room for another one";

struct Session<'a> {
    state: &'a ServerState,
    place: &'a Place,
    control: Control,
    cookie: Cookie,
    peer: SocketAddr,
    report: Reports,
    spares: Spares,
}

/// Streams of datagrams beyond those that were agreed on: somebody may have opened one in the client's name.
#[derive(Default)]
struct Spares {
    /// Place at the listener, until all streams have had data.
    turn: Option<Turn>,
    /// Number of streams that were opened, and those that have no place in the test.
    opened: usize,
    all: Vec<(usize, Socket)>,
}

/// Serves a client; the line about its fault, if it had one, and true if that is its login.
pub(super) fn serve(state: &ServerState, place: &Place, arrival: Arrival) -> (Option<String>, bool) {
    let Some(peer) = peer(&arrival.stream) else { return (None, false) };
    let report = Reports::new(&state.config.form, None, &state.output);
    let control = match Control::keeping(arrival.stream, state.config.keep_alive, place.stop()) {
        Ok(control) => control,
        Err(fault) => return (Some(format!("error - {fault}")), false),
    };
    let mut session =
        Session { state, place, control, cookie: arrival.cookie, peer, report, spares: Spares::default() };
    let served = session.serve();
    let told = match &served {
        Ok(()) => None,
        Err(Fault::Stopped) if place.gives_way() => Some(GAVE_WAY.to_owned()),
        Err(Fault::Stopped) => Some(format!("interrupt - {}", Fault::ServerTerminated)),
        // In iperf3's words, which are those of no error.
        Err(fault @ Fault::ClientTerminated) => Some(fault.to_string()),
        Err(fault) => Some(format!("error - {fault}")),
    };
    session.report.end(told.as_deref());
    // That the server was told to end is said once, by itself.
    let told = told.filter(|_| place.gives_way() || !matches!(served, Err(Fault::Stopped)));
    (told, matches!(served, Err(Fault::Unauthorized(_))))
}

impl Session<'_> {
    fn serve(&mut self) -> Result<(), Fault> {
        self.control.say(State::ParamExchange)?;
        let json = self.control.message(Parameters::LONGEST, ANSWERS, Fault::Parameters);
        let read = json.and_then(|json| Parameters::read(&json).map_err(Fault::Parameters));
        let (settings, token) = self.or_refuse(read)?;
        let (receive, send) = settings.direction.split(Role::Server, settings.streams);
        let state = self.state;
        if let Some(guard) = &state.guard {
            let admitted = guard.admits(token.as_deref()).map_err(Fault::Unauthorized);
            self.or_refuse(admitted)?;
        }
        if !self.place.weigh(receive + send) {
            let _ = self.control.say(State::AccessDenied);
            return Err(Fault::Denied);
        }
        self.or_refuse(permitted(&state.limits, &settings))?;
        if let Some(cpu) = settings.server_cpu {
            // This thread's only, and that of those that it starts.
            let pinned = pin(&[cpu]).map_err(|error| Fault::Option { what: "CPU affinity", code: 132, error });
            self.or_refuse(pinned)?;
        }
        let opened = self.open(&settings, receive + send, receive);
        let (streams, congestion) = self.or_refuse(opened)?;
        let setup = Setup {
            role: Role::Server,
            streams,
            interval: state.config.form.interval,
            file: state.config.file.clone(),
            idle: state.config.idle,
            send_timeout: state.config.send_timeout,
            site: state.site.clone(),
            congestion,
            settings: settings.clone(),
            moves: self.place.moves().clone(),
        };
        let mut run = self.or_refuse(Run::new(setup))?;
        self.control.say(State::TestStart)?;
        run.begin();
        self.report.started();
        self.control.say(State::TestRunning)?;
        let mut measured = run.start().and_then(|()| self.measure(&mut run, &settings));
        let wanted = matches!(measured, Ok(()) | Err(Fault::Stopped | Fault::ClientTerminated));
        if let Err(Fault::Stopped) = measured {
            let _ = self.control.say(State::ServerTerminate);
        }
        let mut cpu = Cpu::default();
        if wanted {
            let figures = run.finish(Role::Server);
            run.remarks().for_each(|told| state.output.error(&format!("{}: {told}", plain(self.peer))));
            self.report.interval(&run.infos(), &figures);
            cpu = run.close();
            self.report.summary(&run.infos(), &run.summary(cpu, None)?);
            // The last bytes may be those that its file had no room for.
            if let (Ok(()), Some(fault @ Fault::File(_))) = (&measured, run.fault()) {
                measured = Err(fault);
            }
        }
        if let Err(
            fault @ (Fault::Idle
            | Fault::Late
            | Fault::Vanished(_)
            | Fault::TotalRate
            | Fault::Write(_)
            | Fault::Read(_)
            | Fault::File(_)),
        ) = &measured
        {
            self.control.refuse(fault);
            if let Fault::TotalRate = fault {
                // It is sending: streams that were closed before it has read this would be its error.
                let _ = self.control.state(ANSWERS);
            }
        }
        measured?;
        self.exchange(&settings, &run, cpu)
    }

    /// Tells the client why it is refused.
    fn or_refuse<T>(&self, done: Result<T, Fault>) -> Result<T, Fault> {
        done.inspect_err(|fault| match fault {
            Fault::Closed | Fault::ClientTerminated | Fault::Unknown | Fault::Send(_) | Fault::Receive(_) => {}
            Fault::Stopped => {
                let _ = self.control.say(State::ServerTerminate);
            }
            fault => self.control.refuse(fault),
        })
    }

    /// Has the client open its streams: those that it sends by come first.
    fn open(
        &mut self,
        settings: &Settings,
        count: usize,
        receive: usize,
    ) -> Result<(Vec<Stream>, Option<String>), Fault> {
        let state = self.state;
        let sockets = match settings.transport {
            Transport::Tcp => {
                let taken = std::io::ErrorKind::AddrInUse;
                let seat = state.table.seat(&self.cookie, count).ok_or_else(|| Fault::StreamListen(taken.into()))?;
                self.invite(settings)?;
                let mut arrivals = self.collect(&seat.streams, count, |_| Ok(()))?;
                // As the client opened them, even if their cookies came in another order.
                arrivals.sort_by_key(|arrival| arrival.number);
                arrivals.into_iter().map(|arrival| Socket::Tcp(arrival.stream)).collect::<Vec<_>>()
            }
            Transport::Udp => {
                let goes_on = || self.is_silent();
                let turn = state.datagrams.turn(self.peer.ip(), count, self.control.round_trip(), goes_on)?;
                self.invite(settings)?;
                let knocks = self.collect(&turn.streams, count, |knock| answer(knock, settings))?;
                // What the server sends tells nothing about who has opened a stream.
                self.spares.turn = (count == receive).then_some(turn);
                self.spares.opened = count;
                knocks.into_iter().map(|(socket, _)| socket).collect()
            }
        };
        let (mut streams, mut congestion) = (Vec::with_capacity(count), None);
        for (at, socket) in sockets.into_iter().enumerate() {
            let window = if settings.transport == Transport::Tcp { settings.window } else { 0 };
            let sizes = buffers(&socket, window)?;
            congestion = settle(&socket, settings, true)?;
            let info = StreamInfo::of(&socket, at >= receive).map_err(Fault::StreamAccept)?;
            self.report.buffers(sizes);
            self.report.stream(&info);
            streams.push(Stream { socket, info });
        }
        Ok((streams, congestion))
    }

    fn invite(&mut self, settings: &Settings) -> Result<(), Fault> {
        let peer = plain(self.peer);
        self.report.agreed(&Subject {
            role: Role::Server,
            settings: settings.clone(),
            cookie: self.cookie.to_string(),
            host: peer.ip().to_string(),
            port: peer.port(),
            mss: 0,
        });
        self.control.say(State::CreateStreams)
    }

    fn collect<T>(
        &self,
        from: &Receiver<T>,
        count: usize,
        accept: impl Fn(&T) -> Result<(), Fault>,
    ) -> Result<Vec<T>, Fault> {
        let (mut all, mut until) = (Vec::with_capacity(count), Instant::now() + OPENS);
        while all.len() < count {
            match from.recv_timeout(LOOKS) {
                Ok(stream) => {
                    accept(&stream)?;
                    all.push(stream);
                    until = Instant::now() + OPENS;
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() <= until => self.is_silent()?,
                // Its time is over, or its turn at the listener for datagrams is.
                Err(_) => return Err(Fault::StreamAccept(std::io::ErrorKind::TimedOut.into())),
            }
        }
        Ok(all)
    }

    /// Fails if the client says something, or is gone, where it has nothing to say.
    fn is_silent(&self) -> Result<(), Fault> {
        match self.control.state(Duration::ZERO)? {
            Some(State::ClientTerminate) => Err(Fault::ClientTerminated),
            Some(_) => Err(Fault::Unknown),
            None => Ok(()),
        }
    }

    /// Lets the data flow until the client ends the test.
    fn measure(&mut self, run: &mut Run, settings: &Settings) -> Result<(), Fault> {
        let mut infos = run.infos();
        let mut watched = Watched { since: Instant::now(), bytes: 0 };
        loop {
            let known = watched.look(&self.state.limits, run)?;
            let within = match &self.spares {
                Spares { turn: None, .. } => Duration::MAX,
                Spares { all, .. } if all.is_empty() => LOOKS,
                _ => SPARE_LOOKS,
            };
            let woken = run.wait(&self.control, self.place.stop(), within.min(known))?;
            if self.spares.turn.is_some() {
                self.sort_out(run, settings)?;
                infos = run.infos();
            }
            match woken {
                Woken::Stopped => return Err(Fault::Stopped),
                Woken::Control => match self.control.state(ANSWERS)? {
                    Some(State::TestEnd) => return Ok(()),
                    Some(State::ClientTerminate) => return Err(Fault::ClientTerminated),
                    _ => return Err(Fault::Unknown),
                },
                Woken::Over => {
                    if let Some(fault) = run.fault() {
                        return match self.control.state(EXPLAINS)? {
                            // A file that could not be written is no end of the test.
                            Some(State::TestEnd) if !matches!(fault, Fault::File(_)) => Ok(()),
                            Some(State::ClientTerminate) => Err(Fault::ClientTerminated),
                            _ => Err(fault),
                        };
                    }
                }
                Woken::Time => {}
            }
            match run.due() {
                Some(Due::Figures(figures)) => self.report.interval(&infos, &figures),
                Some(Due::Count) => self.report.counting(),
                Some(Due::End) => return Err(run.late()),
                Some(Due::Idle) => return Err(Fault::Idle),
                None => {}
            }
        }
    }

    /// Takes in streams beyond those that were agreed on, and has one whose data come take the place of one without.
    fn sort_out(&mut self, run: &mut Run, settings: &Settings) -> Result<(), Fault> {
        let spares = &mut self.spares;
        let knocks = spares.turn.iter().flat_map(|turn| turn.streams.try_iter());
        for knock in knocks {
            // Who opened it may be gone.
            if answer(&knock, settings).is_ok() {
                spares.all.push((spares.opened, knock.0));
            }
            spares.opened += 1;
        }
        let has_data = |(_, socket): &(usize, Socket)| matches!(socket, Socket::Udp(udp) if udp.has(settings.block));
        // Before as many have data as places are free, one of the silent ones may be the client's, whose first are on their way.
        if spares.all.iter().filter(|spare| has_data(spare)).count() >= run.silent().max(1) {
            for (number, socket) in spares.all.extract_if(.., |spare| has_data(spare)) {
                settle(&socket, settings, true)?;
                let info = StreamInfo::of(&socket, false).map_err(Fault::StreamAccept)?;
                self.report.stream(&info);
                run.replace(Stream { socket, info }, number);
            }
        }
        if run.silent() == 0 {
            self.spares = Spares::default();
        }
        Ok(())
    }

    fn exchange(&mut self, settings: &Settings, run: &Run, cpu: Cpu) -> Result<(), Fault> {
        self.control.say(State::ExchangeResults)?;
        let json = self.control.message(Results::LONGEST_OF_CLIENT, ANSWERS, Fault::Results)?;
        let theirs = Results::read(&json).map_err(Fault::Results)?;
        // What it says of its streams must be of streams that there are.
        run.summary(cpu, Some(&theirs))?;
        let mut results = run.results(cpu);
        if settings.server_output {
            match self.report.for_client() {
                ServerOutput::None => {}
                ServerOutput::Text(text) => results.server_output_text = Some(text),
                ServerOutput::Json(value) => results.server_output_json = Some(value),
            }
        }
        self.control.tell(&results)?;
        self.control.say(State::DisplayResults)?;
        // It is done, or gone: the test is over in any case.
        let _ = self.control.state(ANSWERS);
        Ok(())
    }
}

/// Checks what a client asks for against the limits that the server sets.
fn permitted(limits: &TestLimits, asked: &Settings) -> Result<(), Fault> {
    let ways = if asked.direction == Direction::Both { 2 } else { 1 };
    let rate = asked.rate.max(asked.pacing).saturating_mul(ways * asked.streams as u64);
    if limits.rate > 0 && rate > limits.rate {
        return Err(Fault::TotalRate);
    }
    // Without a time it lasts as long as the client wants.
    let longest = limits.longest.unwrap_or(u64::MAX);
    if asked.time + asked.omit > longest || asked.time == 0 && limits.longest.is_some() {
        return Err(Fault::TooLong);
    }
    Ok(())
}

/// Bytes that a test has moved since some time, where there is a limit.
struct Watched {
    since: Instant,
    bytes: u64,
}

impl Watched {
    /// Time until the rate is known, and an error if it is above the limit.
    fn look(&mut self, limits: &TestLimits, run: &Run) -> Result<Duration, Fault> {
        if limits.rate == 0 {
            return Ok(Duration::MAX);
        }
        let (passed, bytes) = (self.since.elapsed(), run.bytes());
        if passed < limits.over {
            return Ok(limits.over - passed);
        }
        if 8.0 * (bytes - self.bytes) as f64 / passed.as_secs_f64() > limits.rate as f64 {
            return Err(Fault::TotalRate);
        }
        *self = Self { since: Instant::now(), bytes };
        Ok(limits.over)
    }
}

/// Answers who opens a stream of datagrams.
fn answer((socket, answer): &Knock, settings: &Settings) -> Result<(), Fault> {
    datagram_buffers(socket, settings)?;
    let Socket::Udp(socket) = socket else { return Err(Fault::StreamId) };
    socket.send(answer).map(drop).map_err(Fault::StreamAccept)
}
