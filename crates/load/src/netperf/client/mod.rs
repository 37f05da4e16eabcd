//! The client: asks the server for a test, moves the data, and takes the results of both ends.

mod asked;
mod data;

use super::confidence::Runs;
use super::control::Control;
use super::cpu::{Cpu, Meter, Reading};
use super::fault::Fault;
use super::figures::{EndFigures, Figures, Means, Outcome};
use super::protocol::omni::{self, flag};
use super::settings::{Length, Settings};
use super::timer::{Interim, Timer, Times};
use crate::socket::{Family, Site, Sizes, addresses, any, plain};
use data::{Data, Moved};
use linerate_rt::{Stop, pause, pin};
use linerate_text::cut;
use linerate_text::saturating_ns;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for the control connection.
const CONNECTS: Duration = Duration::from_secs(60);
/// Time for an answer of the server.
const ANSWERS: Duration = Duration::from_secs(120);
/// The same, and that to take what is under way, once this end was told to end.
const HURRIES: Duration = Duration::from_millis(700);
/// Time between two looks for the results.
const LOOKS: Duration = Duration::from_millis(100);

/// A client that is connected with its server.
pub(super) struct Client<'a> {
    settings: &'a Settings,
    site: &'a Site,
    control: Arc<Control>,
    stop: Stop,
    /// Own address of the data, and the server's.
    own: SocketAddr,
    server: SocketAddr,
    /// True if the server's is another one than that of the control connection.
    apart: bool,
    /// True if the processor time is that of threads.
    threads: bool,
}

/// The server's answer to a request, in either dialect.
struct Ready {
    port: u16,
    sizes: Sizes,
    send_size: i64,
    receive_size: i64,
    widths: (u32, u32),
    priority: i32,
    tos: i32,
}

/// Source of a client's sockets. If the settings name a processor, this thread runs on it from now on, and with it all that it
/// starts.
pub(super) fn site(settings: &Settings) -> Result<Site, Fault> {
    if let Some(cpu) = settings.local.pin {
        pin(&[cpu]).map_err(|error| Fault::Option { what: "processor", error })?;
    }
    Site::open(&settings.place, settings.own.as_ref()).map_err(Fault::Port)
}

impl<'a> Client<'a> {
    pub(super) fn connect(settings: &'a Settings, site: &'a Site, stop: &Stop) -> Result<Self, Fault> {
        let stream = site.dial(&settings.host, Some(CONNECTS)).map_err(|error| Fault::Connect {
            host: settings.host.clone(),
            port: settings.place.port,
            error,
        })?;
        let control = Arc::new(Control::new(stream, stop)?);
        let (own, server) = control.addresses()?;
        let (own, control_server) = (plain(own), plain(server));
        let (to, from) = &settings.data;
        let server = match to {
            Some(host) => of_data(host, settings.place.family, control_server.ip())?,
            None => control_server.ip(),
        };
        let ip = match from {
            Some(host) => of_data(host, Some(if server.is_ipv4() { Family::V4 } else { Family::V6 }), own.ip())?,
            None if settings.place.bind.is_some() && own.is_ipv4() == server.is_ipv4() => own.ip(),
            None => any(server.is_ipv4(), 0).ip(),
        };
        let (own, apart) = (SocketAddr::new(ip, settings.local.port), server != control_server.ip());
        let server = SocketAddr::new(server, control_server.port());
        Ok(Self { settings, site, control, stop: stop.clone(), own, server, apart, threads: false })
    }

    /// Has the processor time be that of the thread that runs the test and of a host of our own.
    pub(super) fn of_threads(mut self) -> Self {
        self.threads = true;
        self
    }

    /// Addresses of the data, for the first line of a report: this end's and the server's.
    pub(super) fn addresses(&self) -> (SocketAddr, SocketAddr) {
        (self.own, SocketAddr::new(self.server.ip(), self.settings.remote.port))
    }

    /// Runs the test, as often as is asked for. `interim` makes what is told of each run while it goes on.
    pub(super) fn run(&self, mut interim: impl FnMut() -> Option<Interim<'static>>) -> Result<Outcome, Fault> {
        let (repeats, mut runs) = (&self.settings.repeats, Runs::default());
        loop {
            let last = self.once(interim())?;
            runs.add(self.means(&last));
            if self.stop.asked() || !runs.go_on(repeats) {
                self.control.close();
                let confident = runs.are_enough(repeats);
                let widths = runs.widths(repeats.level);
                return Ok(Outcome { last, means: runs.means(), runs: runs.count(), widths, confident });
            }
        }
    }

    fn means(&self, run: &Figures) -> Means {
        let by_transactions = self.settings.unit() == 'x';
        let or = |n: Option<f64>| n.unwrap_or(-1.0);
        Means {
            seconds: run.seconds,
            result: if by_transactions {
                run.transactions_per_second()
            } else {
                run.bytes_per_second(self.settings.test)
            },
            local_cpu: or(run.local.cpu.map(|cpu| cpu.all)),
            remote_cpu: or(run.remote.cpu.map(|cpu| cpu.all)),
            local_demand: or(run.demand(&run.local, by_transactions)),
            remote_demand: or(run.demand(&run.remote, by_transactions)),
        }
    }

    fn once(&self, interim: Option<Interim<'static>>) -> Result<Figures, Fault> {
        let s = self.settings;
        let mut data = Data::new(s, self.site, self.own)?;
        let ready = self.ask(&data)?;
        if !s.wait.is_zero() {
            let until = linerate_rt::monotonic_ns().saturating_add(saturating_ns(s.wait));
            pause(&[&self.stop], Some(until));
        }
        if self.stop.asked() {
            return Err(Fault::Stopped);
        }
        let mut server = self.server;
        server.set_port(ready.port);
        let due = match s.length {
            Length::Time(0) | Length::Count(_) => None,
            Length::Time(seconds) => Some(Duration::from_secs(seconds.into())),
        };
        let times = Times { due, ..Times::default() };
        let meter = Meter::of(s.local.cpu, self.threads, self.site);
        let before = Reading::now(&meter);
        let timer =
            Timer::start(times, &self.stop, interim, Some(Control::watch(&self.control))).map_err(Fault::System)?;
        let moved = data.run(server, &timer.shared, &|| self.control.look())?;
        // A server that only sends may send on: nothing of that counts.
        let after = if s.test.sends { None } else { Some(Reading::now(&meter)) };
        drop(timer);
        let ended = Instant::now();
        data.finish(server, &|| self.is_late(ended))?;
        let after = after.unwrap_or_else(|| Reading::now(&meter));
        let results = match self.results(&data, server, ended) {
            // The server, whose time may not be over, has told nothing; this end knows what it has received.
            Err(Fault::Silent) if self.stop.asked() && moved.tally.received > 0 => omni::Results {
                receive_socket: ready.sizes.receive,
                send_socket: ready.sizes.send,
                retransmits: -1,
                ..omni::Results::default()
            },
            results => results?,
        };
        if moved.is_nothing(s.test, &results) && !self.stop.asked() {
            return Err(Fault::Nothing);
        }
        self.figures(&data, &moved, &ready, &results, (&before, &after))
    }

    fn ask(&self, data: &Data) -> Result<Ready, Fault> {
        let server = self.apart.then(|| self.server.ip());
        let request = asked::request(self.settings, data.widths(), data.own(), self.server.is_ipv6(), server);
        self.control.send(&if self.settings.test.file {
            asked::older(&request).message()
        } else {
            request.message()
        })?;
        let answer = self.control.receive(ANSWERS)?.ok_or(Fault::Silent)?;
        if answer.second() != 0 {
            return Err(Fault::Remote(answer.second()));
        }
        let (ready, measures) = asked::ready(&answer, self.settings.test.file)?;
        if self.settings.remote.cpu && !measures {
            return Err(Fault::NoCpu);
        }
        Ok(ready)
    }

    /// Waits for the server's results. Datagrams that say that there are no more may have been lost.
    fn results(&self, data: &Data, server: SocketAddr, ended: Instant) -> Result<omni::Results, Fault> {
        let begin = Instant::now();
        loop {
            match self.control.receive_in_any_case(LOOKS)? {
                Some(message) if message.second() != 0 => return Err(Fault::Remote(message.second())),
                Some(message) => return asked::results(&message, self.settings.test.file),
                None if begin.elapsed() > ANSWERS || self.is_late(ended) => return Err(Fault::Silent),
                None => data.remind(server),
            }
        }
    }

    /// True if this end was told to end, and has waited for the other one long enough since its data ended.
    fn is_late(&self, ended: Instant) -> bool {
        self.stop.asked() && ended.elapsed() > HURRIES
    }

    fn figures(
        &self,
        data: &Data,
        moved: &Moved,
        ready: &Ready,
        results: &omni::Results,
        (before, after): (&Reading, &Reading),
    ) -> Result<Figures, Fault> {
        let (s, tally) = (self.settings, &moved.tally);
        let local_cpu = if s.local.cpu { Some(after.since(before).ok_or(Fault::NoStat)?) } else { None };
        let remote_cpu = if s.remote.cpu { Some(cpu_of(results).ok_or(Fault::NoCpu)?) } else { None };
        let (first, last) = (data.sizes(), moved.sizes);
        let (send_width, receive_width) = data.widths();
        let local = EndFigures {
            sent: tally.sent,
            sends: tally.sends,
            failed: tally.failed,
            received: tally.received,
            receives: tally.receives,
            send_buffer: (first.send, if s.local.buffers.send.is_some() { first.send } else { last.send }),
            receive_buffer: (
                first.receive,
                if s.local.buffers.receive.is_some() { first.receive } else { last.receive },
            ),
            send_size: if s.test.sends { data.send_size().into() } else { 0 },
            receive_size: if s.test.receives { data.receive_size().into() } else { 0 },
            send_width,
            receive_width,
            retransmits: moved.retransmits,
            congestion: moved.congestion.clone(),
            priority: s.local.priority.map_or(-1, |n| cut(n, i32::MAX)),
            tos: data.service(),
            cpu: local_cpu,
        };
        let remote = EndFigures {
            sent: results.sent,
            sends: results.sends.into(),
            failed: results.failed.into(),
            received: results.received,
            receives: results.receives.into(),
            send_buffer: (ready.sizes.send, results.send_socket),
            receive_buffer: (ready.sizes.receive, results.receive_socket),
            send_size: ready.send_size,
            receive_size: ready.receive_size,
            send_width: ready.widths.0,
            receive_width: ready.widths.1,
            retransmits: results.retransmits,
            congestion: results.congestion.clone(),
            priority: ready.priority,
            tos: ready.tos,
            cpu: remote_cpu,
        };
        Ok(Figures {
            seconds: after.seconds_since(before),
            transactions: tally.transactions,
            local,
            remote,
            // Of what is only received, the other end is the sender.
            connection: moved.connection.filter(|_| s.test.sends),
            mss: moved.mss,
            times: moved.latency.clone(),
        })
    }
}

fn cpu_of(results: &omni::Results) -> Option<Cpu> {
    let [all, user, system, waiting, interrupts, soft] = results.cpu?.map(f64::from);
    Some(Cpu {
        all,
        user,
        system,
        waiting,
        interrupts,
        soft,
        peak: results.peak.into(),
        peak_id: results.peak_id,
        count: results.cpus,
        method: results.method,
    })
}

/// Address of the data by its name: that of the control connection, if that is one of them.
fn of_data(host: &str, family: Option<Family>, control: IpAddr) -> Result<IpAddr, Fault> {
    let all = addresses(host, 0, family).map_err(Fault::DataConnect)?;
    let same = all.iter().find(|address| address.ip() == control);
    same.or(all.first()).map(SocketAddr::ip).ok_or_else(|| Fault::DataConnect(ErrorKind::NotFound.into()))
}

fn measures(flags: u32) -> bool {
    flags & flag::MEASURE_CPU != 0
}
