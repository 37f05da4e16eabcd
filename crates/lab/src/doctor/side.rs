//! The other end: its interface, and what its own linerate found there.

use super::Examination;
use super::examine::{Asked, examine};
use super::finding::Load;
use super::view::speed;
use linerate_host::adapter::{Adapter, Machine, find, read};
use linerate_rt::Stop;
use linerate_text::plain;
use serde::{Deserialize, Serialize};

/// What two ends of a path ought to have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkEnd {
    pub name: String,
    pub mtu: Option<u32>,
    /// Mb/s of a device's link.
    pub speed: Option<u32>,
    /// Pause frames are heeded, and sent.
    pub pause: Option<[bool; 2]>,
}

impl LinkEnd {
    pub(super) fn of(adapter: &Adapter) -> Self {
        let Adapter { interface, pause, .. } = adapter;
        let pause = pause.as_ref().ok().and_then(|pause| Some([pause.rx?, pause.tx?]));
        Self { name: interface.name.clone(), mtu: interface.mtu, speed: speed(adapter), pause }
    }
}

/// Where a value was read that the other end tells of itself.
pub(super) fn claimed(interface: &str) -> String {
    format!("as the other end says of its {}", plain(interface))
}

/// The other end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Side {
    /// Destination of the login, as the user named it, and the machine as it named itself.
    #[serde(default)]
    pub at: String,
    /// Its interface.
    pub end: LinkEnd,
    pub examination: Examination,
}

impl Side {
    /// Reads an interface of this machine, for the other end.
    ///
    /// # Errors
    /// One line: there is no such interface.
    pub fn here(name: &str, loads: &[Load], stop: &Stop) -> Result<Self, String> {
        let asked = Asked { names: &[name.to_owned()], loads, ..Asked::default() };
        let examination = examine(&asked, stop)?;
        let mut machine = Machine::new();
        let interface = find(&mut machine, name).map_err(|absent| format!("{name}: {absent}"))?;
        Ok(Self { at: String::new(), end: LinkEnd::of(&read(&mut machine, interface)), examination })
    }
}
