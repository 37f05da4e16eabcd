//! Values of the flags read so far.

use crate::flags::Ends;
use crate::flags::own::Hosted;
use crate::iperf::config::Form;
use crate::iperf::settings::{Limit, Rate, Settings, Transport};
use crate::socket::{Own, Place};
use std::time::Duration;

/// Values of the flags.
pub(super) struct State {
    pub(super) host: Option<String>,
    pub(super) server: bool,
    pub(super) daemon: bool,
    pub(super) realtime: bool,
    pub(super) place: Place,
    /// Host of our own.
    pub(super) own: Own,
    pub(super) v4: bool,
    pub(super) v6: bool,
    pub(super) form: Form,
    pub(super) settings: Settings,
    pub(super) block: Option<u64>,
    pub(super) rate: Option<Rate>,
    /// `-t`; `None` inside for 0.
    pub(super) time: Option<Option<Duration>>,
    pub(super) bytes: Option<u64>,
    pub(super) streams: Option<u32>,
    pub(super) own_port: u16,
    pub(super) listen_port: u16,
    /// Flags given for the way of the data.
    pub(super) ways: Vec<&'static str>,
    pub(super) ends: Ends,
}

impl Default for State {
    fn default() -> Self {
        Self {
            host: None,
            server: false,
            daemon: false,
            realtime: false,
            place: Place { port: 5001, bind: None, device: None, family: None },
            own: Own::default(),
            v4: false,
            v6: false,
            form: Form::default(),
            settings: Settings::default(),
            block: None,
            rate: None,
            time: None,
            bytes: None,
            streams: None,
            own_port: 0,
            listen_port: 0,
            ways: Vec::new(),
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
    pub(super) fn udp(&self) -> bool {
        self.settings.transport == Transport::Udp
    }

    /// Takes a host, in brackets or not, with `%INTERFACE` behind it.
    pub(super) fn host_of(&mut self, text: &str) -> Result<String, String> {
        let host = self.place.host_of(text.trim_start_matches('[')).trim_end_matches(']');
        if host.is_empty() { Err("give a name or an address".to_owned()) } else { Ok(host.to_owned()) }
    }

    /// Takes the own address of `-B`: `ADDRESS`, `ADDRESS:PORT`, `[ADDRESS]:PORT`, each with `%INTERFACE` behind it.
    pub(super) fn bind(&mut self, text: &str) -> Result<(), String> {
        let (text, device) = text.split_once('%').map_or((text, None), |(text, device)| (text, Some(device)));
        let (address, port) = match text.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((address, "")) => (address, None),
                Some((address, port)) => (address, Some(port.trim_start_matches(':'))),
                None => return Err("give the address in brackets, as [::1]:6001".to_owned()),
            },
            None if text.matches(':').count() == 1 => {
                text.split_once(':').map_or((text, None), |(address, port)| (address, Some(port)))
            }
            None => (text, None),
        };
        if let Some(port) = port {
            self.own_port = crate::flags::number(port, 1..=u16::MAX)?;
        }
        let device = device.map(str::to_owned);
        if address.to_ascii_lowercase().starts_with("fe80:") {
            self.place.bind = Some(device.map_or_else(|| address.to_owned(), |device| format!("{address}%{device}")));
            return Ok(());
        }
        if device.is_some() {
            self.place.device = device;
        }
        self.place.bind = Some(address.to_owned());
        if address.is_empty() { Err("give an address".to_owned()) } else { Ok(()) }
    }

    pub(super) fn limit(&self) -> Result<Limit, String> {
        Ok(match (self.time, self.bytes) {
            (Some(_), Some(_)) => return Err("-t and -n: a test has one end; give one of them".to_owned()),
            (_, Some(bytes)) => Limit::Bytes(bytes),
            (Some(None), None) => Limit::None,
            (Some(Some(time)), None) => Limit::Time(time),
            (None, None) => Limit::Time(crate::iperf::settings::TIME),
        })
    }
}
