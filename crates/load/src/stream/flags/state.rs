//! Values of the flags read so far.

use super::login::Given;
use crate::flags::Ends;
use crate::flags::own::Hosted;
use crate::socket::{Family, Own, Place};
use crate::stream::config::{Form, TestLimits};
use crate::stream::settings::Settings;
use std::path::PathBuf;
use std::time::Duration;

/// Values of the flags.
pub(in crate::stream) struct State {
    pub(super) host: Option<String>,
    pub(super) server: bool,
    pub(super) daemon: bool,
    pub(super) once: bool,
    pub(super) place: Place,
    /// Host of our own.
    pub(super) own: Own,
    pub(super) form: Form,
    pub(super) settings: Settings,
    pub(super) block: Option<u64>,
    pub(super) rate: Option<u64>,
    pub(super) time: Option<u64>,
    pub(super) own_port: u16,
    pub(super) patience: Option<Duration>,
    pub(super) idle: Option<Duration>,
    pub(super) send_timeout: Option<Duration>,
    pub(super) keep_alive: Option<[Option<u32>; 3]>,
    pub(super) limits: TestLimits,
    pub(super) file: Option<PathBuf>,
    pub(super) cpu: Option<usize>,
    pub(super) pid_file: Option<PathBuf>,
    pub(super) reverse: bool,
    pub(super) both: bool,
    pub(super) login: Given,
    pub(super) ends: Ends,
}

impl Default for State {
    fn default() -> Self {
        Self {
            host: None,
            server: false,
            daemon: false,
            once: false,
            place: Place { port: 5201, bind: None, device: None, family: None },
            own: Own::default(),
            form: Form { interval: Some(Duration::from_secs(1)), ..Form::default() },
            settings: Settings { streams: 1, ..Settings::default() },
            block: None,
            rate: None,
            time: None,
            own_port: 0,
            patience: None,
            idle: None,
            send_timeout: None,
            keep_alive: None,
            limits: TestLimits::default(),
            file: None,
            cpu: None,
            pid_file: None,
            reverse: false,
            both: false,
            login: Given::default(),
            ends: Ends::default(),
        }
    }
}

impl Hosted for State {
    fn host(&mut self) -> &mut Own {
        &mut self.own
    }
}

impl State {
    /// Permits one family of addresses only.
    pub(super) fn only(&mut self, family: Family) {
        self.place.family = Some(family);
    }
}
