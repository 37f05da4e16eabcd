//! A client's own server, for connections back (`-d`, `-r`).

use super::{Listener, ServerState};
use crate::iperf::config::{Asked, Serving};
use crate::iperf::lane::Outcome;
use crate::iperf::report::Reporter;
use crate::iperf::settings::SLOP;
use crate::socket::{Place, Site};
use linerate_rt::{Stop, monotonic_ns, pause, spawn};
use linerate_text::saturating_ns;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time for the server's connections to come.
const COMES: Duration = Duration::from_secs(3);

/// A server that is open, and serves nobody yet.
pub(in crate::iperf) struct Back {
    listener: Listener,
    state: Arc<ServerState>,
}

/// A server that awaits its connections.
pub(in crate::iperf) struct Coming {
    state: Arc<ServerState>,
    stop: Stop,
    /// Requested at its end.
    done: Stop,
    thread: JoinHandle<Result<(), String>>,
    /// Time at which all must be over, if the test has one.
    until: Option<u64>,
}

impl Back {
    pub(in crate::iperf) fn open(
        site: &Site,
        asked: &Asked,
        server: IpAddr,
        reporter: &Arc<Reporter>,
    ) -> Result<Self, String> {
        let settings = &asked.settings;
        let serving = Serving {
            transport: settings.transport,
            block: settings.block,
            window: settings.window,
            clients: settings.streams,
            ..Serving::default()
        };
        let site = site.placed(Place { port: asked.listen_port, ..site.place().clone() });
        let listener = Listener::open(&site, &serving)?;
        reporter.settings(&listener.settings(&site, &serving, reporter));
        Ok(Self { listener, state: ServerState::new(&site, &serving, reporter, Some(server)) })
    }

    /// Awaits the connections of a test that takes so long.
    pub(in crate::iperf) fn begin(self, time: Option<Duration>) -> Result<Coming, String> {
        let stop = || Stop::new().map_err(|e| format!("no descriptors are left: {e}"));
        let (stop, done) = (stop()?, stop()?);
        let Self { listener, state } = self;
        let (served, told, tell) = (state.clone(), stop.clone(), done.clone());
        let thread = spawn("iperf-back", &[], move || {
            let result = served.serve(&listener, &told);
            tell.ask(0);
            result
        });
        let thread = thread.map_err(|e| format!("no thread is left: {e}"))?;
        let time = time.map(|time| saturating_ns(time + COMES + SLOP));
        let until = time.map(|time| monotonic_ns().saturating_add(time));
        Ok(Coming { state, stop, done, thread, until })
    }
}

impl Coming {
    /// Waits for the end of all connections; what came of them. If the test went wrong, none is awaited.
    pub(in crate::iperf) fn end(self, stop: &Stop, well: bool) -> Result<Vec<Outcome>, String> {
        let comes = monotonic_ns() + saturating_ns(COMES);
        while !self.done.asked() && well && !stop.asked() {
            let now = monotonic_ns();
            let missing = !self.state.is_full();
            if self.until.is_some_and(|until| now >= until) || missing && now >= comes {
                break;
            }
            pause(&[stop, &self.done], Some(now + 50_000_000));
        }
        self.stop.ask(0);
        self.thread.join().unwrap_or_else(|_| Err("the listener failed".to_owned()))?;
        let missing = !self.state.is_full();
        let kept = self.state.kept.as_ref();
        let outcomes = kept.map(|kept| std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner)));
        if missing && well && !stop.asked() {
            return Err("expected reverse connect did not occur".to_owned());
        }
        Ok(outcomes.unwrap_or_default())
    }
}
