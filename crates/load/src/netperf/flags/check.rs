//! Checks of flags that do not go together, and defaults that follow from others.

use super::Config;
use super::state::State;
use crate::flags::own;
use crate::netperf::report::Selection;
use crate::netperf::settings::{Buffers, DATAGRAM, Settings};
use crate::netperf::table::Transport;
use crate::socket::{Family, Own};

impl State {
    /// The host of our own stack, if one is asked for.
    fn own_host(&mut self) -> Result<Option<Own>, String> {
        let (local, udp) = (&self.local, self.test.transport == Transport::Udp);
        let own = std::mem::take(&mut self.own);
        let only_kernel = [
            (self.place.bind.is_some(), "-L"),
            (local.port > 0 && !udp, "-P"),
            (self.data.0.is_some() || self.data.1.is_some(), "-H and -L behind --"),
            (local.priority.is_some(), "-y"),
            (local.tos.is_some(), "-Y"),
            (udp && local.buffers != Buffers::default(), "-s for datagrams"),
        ];
        let own = own::host(own, &only_kernel)?;
        if own.is_some() && self.host.is_none() {
            return Err("--via: a host of our own does not reach localhost; give the server's address behind -H".into());
        }
        Ok(own)
    }

    pub(super) fn config(mut self, typed: String) -> Result<Config, String> {
        let own = self.own_host()?;
        let test = self.test;
        let (udp, transactions) = (test.transport == Transport::Udp, test.is_transactions());
        let none = |flag: &str, why: &str| Err(format!("{flag}: {} has no {why}; leave it out", test.name));
        let (local, remote) = (&self.local, &self.remote);
        for (given, flag, why) in [
            ((self.request.is_some() || self.response.is_some()) && !transactions, "-r", "requests"),
            (local.send_size.is_some() && (transactions || !test.sends), "-m", "blocks that this end sends"),
            (remote.send_size.is_some() && (transactions || test.sends), "-m", "blocks that the server sends"),
            (remote.receive_size.is_some() && (transactions || !test.sends), "-M", "blocks that the server receives"),
            (local.receive_size.is_some() && (transactions || test.sends), "-M", "blocks that this end receives"),
            (self.no_delay && udp, "-D", "segments"),
            (self.keep_alive && udp, "-S", "connection"),
            (!(local.congestion.is_empty() && remote.congestion.is_empty()) && udp, "-K", "congestion control"),
            (self.connected && !udp, "-n", "datagrams"),
            (self.patience.is_some() && !(udp && transactions), "-e", "responses that may be lost"),
            (self.unit == Some('x') && !transactions, "-f x", "transactions"),
            (self.repeats.result_only && !self.repeated, "-r", "second run without -i or -I"),
        ] {
            if given {
                return none(flag, why);
            }
        }
        if test.file && self.routing == Some(false) {
            return none("-R 0", "word for that in its protocol");
        }
        for (given, flag) in
            [(self.keep_alive, "-S"), (!remote.congestion.is_empty(), "-K"), (self.data.0.is_some(), "-H behind --")]
        {
            if test.file && given {
                return none(flag, "word for that in its protocol");
            }
        }
        for (flag, size) in [("-m", local.send_size), ("-r", self.request), ("-r", self.response)] {
            if let Some(size) = size.filter(|size| udp && *size > DATAGRAM) {
                return Err(format!("{flag} {size}: a datagram has {DATAGRAM} bytes at most"));
            }
            if size == Some(0) {
                return Err(format!("{flag} 0: give 1 at least"));
            }
        }
        let host = self.host.unwrap_or_else(|| {
            if self.place.family == Some(Family::V6) { "::1".to_owned() } else { "localhost".to_owned() }
        });
        let mut settings = Settings::new(test, &host);
        let cpu = local.cpu || remote.cpu;
        let selection = Selection::new(self.form, self.selection.as_deref(), test, cpu)?;
        (settings.place, settings.data, settings.own) = (self.place, self.data, own);
        settings.length = self.length;
        settings.request = self.request.unwrap_or(1);
        settings.response = self.response.unwrap_or(1);
        settings.no_delay = self.no_delay;
        settings.keep_alive = self.keep_alive;
        settings.routing = self.routing.unwrap_or(settings.routing);
        settings.connected = self.connected;
        settings.patience = self.patience;
        settings.wait = self.wait;
        settings.file = self.file;
        settings.latency = self.statistics || selection.wants_latency();
        settings.unit = self.unit;
        settings.repeats = self.repeats;
        (settings.local, settings.remote) = (self.local, self.remote);
        Ok(Config {
            settings,
            headers: self.headers,
            verbosity: self.verbosity,
            brand: self.brand,
            form: self.form,
            selection,
            interim: self.interim,
            keep: self.keep,
            typed,
        })
    }
}
