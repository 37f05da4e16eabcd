//! Values of netperf's flags read so far.

use crate::flags::own::Hosted;
use crate::netperf::report::Form;
use crate::netperf::settings::{EndSettings, Length, PORT, Repeats};
use crate::netperf::table::{TESTS, Test};
use crate::netperf::units::{both, size};
use crate::socket::{Family, Own, Place};
use std::path::PathBuf;
use std::time::Duration;

/// Values of the flags.
pub(in crate::netperf) struct State {
    pub(super) test: &'static Test,
    pub(super) host: Option<String>,
    pub(super) place: Place,
    /// Addresses of the data alone: the server's, and the own one.
    pub(super) data: (Option<String>, Option<String>),
    /// Host of our own.
    pub(super) own: Own,
    pub(super) length: Length,
    pub(super) local: EndSettings,
    pub(super) remote: EndSettings,
    pub(super) request: Option<u32>,
    pub(super) response: Option<u32>,
    pub(super) no_delay: bool,
    pub(super) keep_alive: bool,
    pub(super) routing: Option<bool>,
    pub(super) connected: bool,
    pub(super) patience: Option<Duration>,
    pub(super) wait: Duration,
    pub(super) file: Option<PathBuf>,
    pub(super) statistics: bool,
    pub(super) unit: Option<char>,
    pub(super) repeats: Repeats,
    pub(super) repeated: bool,
    pub(super) headers: bool,
    pub(super) verbosity: u8,
    pub(super) brand: Option<String>,
    pub(super) form: Form,
    pub(super) selection: Option<String>,
    pub(super) interim: Option<Duration>,
    pub(super) keep: bool,
    /// True if the selectors are asked for, and no test.
    pub(super) lists: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            test: &TESTS[0],
            host: None,
            place: Place { port: PORT, bind: None, device: None, family: None },
            data: (None, None),
            own: Own::default(),
            length: Length::Time(10),
            local: EndSettings::default(),
            remote: EndSettings::default(),
            request: None,
            response: None,
            no_delay: false,
            keep_alive: false,
            routing: None,
            connected: false,
            patience: None,
            wait: Duration::ZERO,
            file: None,
            statistics: false,
            unit: None,
            repeats: Repeats::default(),
            repeated: false,
            headers: true,
            verbosity: 1,
            brand: None,
            form: Form::Classic,
            selection: None,
            interim: None,
            keep: false,
            lists: false,
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

    /// Another number of runs than one.
    pub(super) fn repeats(&mut self) -> &mut Repeats {
        self.repeated = true;
        &mut self.repeats
    }

    pub(super) fn select(&mut self, form: Form, selection: Option<String>) {
        self.form = form;
        self.lists |= selection.as_deref() == Some("?");
        self.selection = selection;
    }
}

/// Name and family of `NAME,FAMILY`.
pub(super) fn place(text: &str) -> Result<(Option<String>, Option<Family>), String> {
    let (name, family) = crate::netperf::units::first(text);
    let family = match family.map(str::to_ascii_lowercase).as_deref() {
        None | Some("0" | "unspec" | "af_unspec") => None,
        Some("4" | "inet" | "af_inet") => Some(Family::V4),
        Some("6" | "inet6" | "af_inet6") => Some(Family::V6),
        Some(_) => return Err("give a family of addresses: 4, 6, inet or inet6".into()),
    };
    Ok((name.map(str::to_owned), family))
}

/// Two sizes, each into its place, if it is given.
pub(super) fn sizes(text: &str, most: u32, mut to: impl FnMut(bool, u32)) -> Result<(), String> {
    set(both(text), most, &mut to)
}

/// The same, where one alone is the first only.
pub(super) fn first_size(text: &str, most: u32, mut to: impl FnMut(bool, u32)) -> Result<(), String> {
    set(crate::netperf::units::first(text), most, &mut to)
}

fn set(pair: (Option<&str>, Option<&str>), most: u32, to: &mut impl FnMut(bool, u32)) -> Result<(), String> {
    if pair == (None, None) {
        return Err("give a value".into());
    }
    for (is_first, text) in [(true, pair.0), (false, pair.1)] {
        if let Some(text) = text {
            let n = size(text)?;
            if n > most {
                return Err(format!("give {most} at most"));
            }
            to(is_first, n);
        }
    }
    Ok(())
}
