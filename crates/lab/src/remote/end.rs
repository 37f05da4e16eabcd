//! The interface of one end: its MTU, and the cycling of its link that a change of it wants.

use linerate_host::settings::{Setting, Settings};
use linerate_host::{LinkState, Rtnetlink};
use linerate_rt::Stop;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time for an interface to get its carrier.
const PATIENCE: Duration = Duration::from_secs(20);
/// Least MTU of an interface with IPv6 (RFC 8200, section 5).
const IPV6_MTU: u32 = 1280;

/// The interface on the way to the other end.
pub(super) struct End {
    links: Rtnetlink,
    name: String,
    source: IpAddr,
    records: PathBuf,
    /// Record of what was changed, once something was.
    settings: Option<Settings>,
}

fn told(e: linerate_host::Error) -> String {
    e.to_string()
}

impl End {
    /// Finds the interface on the way to an address. `records`: directory of what was changed, for a later process.
    pub(super) fn to(address: IpAddr, records: &Path) -> Result<Self, String> {
        let mut links = Rtnetlink::open().map_err(told)?;
        let path = links.path_to(address).map_err(told)?;
        let link = links.link_at(path.index).map_err(told)?;
        if path.source == address.to_canonical() {
            return Err(format!("{address} is this machine's own: give an address of another one"));
        }
        Ok(Self { links, name: link.name, source: path.source, records: records.into(), settings: None })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Own address on that way.
    pub(super) fn source(&self) -> IpAddr {
        self.source
    }

    fn link(&mut self) -> Result<LinkState, String> {
        self.links.link(&self.name).map_err(told)
    }

    pub(super) fn mtu(&mut self) -> Result<u32, String> {
        self.link().map(|link| link.mtu)
    }

    /// Names the reason why the interface is not to be cycled, or not to get an MTU as small as `least`: it would lose what nobody gives
    /// it back.
    pub(super) fn check(&mut self, cycled: bool, least: u32) -> Result<(), String> {
        let lost = self.links.lost_when_down(&self.name).map_err(told)?;
        let Self { name, .. } = self;
        let v6 = lost.iter().find(|lost| lost.contains(':'));
        match (cycled, lost.first(), v6) {
            (true, Some(lost), _) => {
                Err(format!("{name}: it would lose {lost} when it is taken down; leave it up by --no-bounce"))
            }
            (_, _, Some(lost)) if least < IPV6_MTU => {
                Err(format!("{name}: it would lose {lost} with an MTU of {least}; remove it, or measure no such MTU"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn set_mtu(&mut self, mtu: u32) -> Result<(), String> {
        self.set(Setting::Mtu(mtu))
    }

    fn set(&mut self, setting: Setting) -> Result<(), String> {
        if self.settings.is_none() {
            self.settings = Some(Settings::open(&self.records).map_err(told)?);
        }
        let Some(settings) = &mut self.settings else { return Ok(()) };
        settings.set(&self.name, setting).map_err(told)
    }

    /// Takes the link down and up.
    pub(super) fn cycle(&mut self) -> Result<(), String> {
        [false, true].into_iter().try_for_each(|up| self.set(Setting::Up(up)))
    }

    /// Waits until the link has its carrier.
    pub(super) fn ready(&mut self, stop: &Stop) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        while !self.link()?.running {
            if stop.asked() {
                return Err("stopped".to_owned());
            }
            if Instant::now() >= until {
                let name = &self.name;
                return Err(format!("{name}: it has had no carrier for {} s; see 'ip link'", PATIENCE.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Puts the interface back; lines about what could not be put back.
    pub(super) fn put_back(self) -> Vec<String> {
        let undone = self.settings.map(Settings::undo).unwrap_or_default();
        undone.left.iter().map(ToString::to_string).collect()
    }
}
