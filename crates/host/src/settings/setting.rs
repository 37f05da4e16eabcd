//! A setting of an interface: its name in a record, and how it is read and written.

use crate::error::{Cause, Error};
use crate::ethtool::{Channels, Ethtool};
use crate::netlink::link::LinkState;
use crate::rtnetlink::Rtnetlink;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A setting of an interface, with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A feature by the kernel's name, requested or not.
    Feature {
        /// Name of the feature, as in [`Features`](crate::Features).
        name: String,
        on: bool,
    },
    Mtu(u32),
    /// Administratively up or down. Routes and IPv6 addresses that are lost with the interface do not come back with
    /// it.
    Up(bool),
    Channels(Channels),
    /// A file of sysfs below the interface's directory, as `queues/rx-0/rps_cpus` or `threaded`.
    File {
        /// Path of the file below that directory.
        path: String,
        /// Text of the file.
        value: String,
    },
}

/// Name of a setting, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Feature(String),
    Mtu,
    Up,
    Channels,
    File(String),
}

impl Setting {
    pub(super) fn split(self) -> (Key, String) {
        match self {
            Self::Feature { name, on } => (Key::Feature(name), switch(on)),
            Self::Mtu(mtu) => (Key::Mtu, mtu.to_string()),
            Self::Up(up) => (Key::Up, switch(up)),
            Self::Channels(Channels { rx, tx, combined }) => (Key::Channels, format!("{rx} {tx} {combined}")),
            Self::File { path, value } => (Key::File(path), value),
        }
    }
}

impl Key {
    /// Kind of the setting, and its name if it has one, as written in a record.
    pub(super) fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Feature(name) => ("feature", name),
            Self::Mtu => ("mtu", ""),
            Self::Up => ("up", ""),
            Self::Channels => ("channels", ""),
            Self::File(path) => ("file", path),
        }
    }

    pub(super) fn of_words(kind: &str, name: &str) -> Option<Self> {
        match (kind, name) {
            ("feature", name) => Some(Self::Feature(name.into())),
            ("mtu", "") => Some(Self::Mtu),
            ("up", "") => Some(Self::Up),
            ("channels", "") => Some(Self::Channels),
            ("file", path) => Some(Self::File(path.into())),
            _ => None,
        }
    }

    /// True if two values are equal. The kernel writes CPU masks with additional zeros and commas.
    pub(super) fn same(&self, one: &str, other: &str) -> bool {
        let plain = |value: &str| value.trim().replace(',', "").trim_start_matches('0').to_ascii_lowercase();
        one == other || matches!(self, Self::File(_)) && plain(one) == plain(other)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words() {
            (kind, "") => f.write_str(kind),
            (kind, name) => write!(f, "{kind} {name}"),
        }
    }
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.into()
}

/// Access to settings, in the network namespace in which it was opened.
pub(super) struct Hands {
    pub(super) links: Rtnetlink,
    ethtool: Result<Ethtool, Error>,
    net: u64,
}

/// Inode number of the network namespace of a thread or a process.
pub(super) fn namespace(whose: &str) -> io::Result<u64> {
    fs::metadata(format!("/proc/{whose}/ns/net")).map(|ns| ns.ino())
}

impl Hands {
    pub(super) fn open() -> Result<Self, Error> {
        let net = namespace("thread-self").map_err(|e| Error::of("network namespace", "asking for its number", &e))?;
        Ok(Self { links: Rtnetlink::open()?, ethtool: Ethtool::open(), net })
    }

    /// Inode number of the network namespace.
    pub(super) fn net(&self) -> u64 {
        self.net
    }

    fn ethtool(&mut self) -> Result<&mut Ethtool, Error> {
        self.ethtool.as_mut().map_err(|e| e.clone())
    }

    pub(super) fn read(&mut self, link: &LinkState, key: &Key) -> Result<String, Error> {
        match key {
            Key::Mtu => Ok(link.mtu.to_string()),
            Key::Up => Ok(switch(link.up)),
            Key::Channels => Ok(Setting::Channels(self.ethtool()?.channels(&link.name)?).split().1),
            Key::Feature(name) => {
                let features = self.ethtool()?.features(&link.name)?;
                let feature = features.0.get(name).ok_or_else(|| {
                    let what = format!("this kernel has no feature '{name}'");
                    Error::new(&link.name, Cause::Usage, what, "give one that it has; 'ethtool -k' lists them")
                })?;
                Ok(switch(if feature.changeable { feature.wanted } else { feature.active }))
            }
            Key::File(path) => {
                let file = self.file(link, path)?;
                let text = fs::read_to_string(file).map_err(|e| oops(link, key, "reading it", &e))?;
                Ok(text.trim().into())
            }
        }
    }

    pub(super) fn write(&mut self, link: &LinkState, key: &Key, value: &str) -> Result<(), Error> {
        let wrong = || {
            let what = format!("{key}: '{value}' is no value of it");
            Error::new(&link.name, Cause::Usage, what, "give one as the kernel shows it")
        };
        let on = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(wrong()),
        };
        match key {
            Key::Mtu => self.links.set_mtu(&link.name, value.parse().map_err(|_| wrong())?),
            Key::Up => self.links.set_up(&link.name, on()?),
            Key::Feature(name) => self.ethtool()?.set_features(&link.name, &[(name, on()?)]),
            Key::Channels => {
                let numbers: Result<Vec<u32>, _> = value.split(' ').map(str::parse).collect();
                let Ok([rx, tx, combined]) = numbers.as_deref() else { return Err(wrong()) };
                let channels = Channels { rx: *rx, tx: *tx, combined: *combined };
                self.ethtool()?.set_channels(&link.name, channels)
            }
            Key::File(path) => {
                let file = self.file(link, path)?;
                let write = || OpenOptions::new().write(true).open(file)?.write_all(value.as_bytes());
                write().map_err(|e| oops(link, key, "writing it", &e))
            }
        }
    }

    /// Path of a file of an interface. sysfs shows the network namespace of whoever mounted it, which may be another;
    /// and no path leads out of the interface's directory, whoever wrote it.
    fn file(&self, link: &LinkState, path: &str) -> Result<PathBuf, Error> {
        let directory = Path::new("/sys/class/net").join(&link.name);
        let index = fs::read_to_string(directory.join("ifindex")).ok().and_then(|n| n.trim().parse().ok());
        if index != Some(link.index) || namespace("self").ok() != Some(self.net) {
            return Err(Error::new(
                &link.name,
                Cause::Capability,
                format!("{path}: /sys shows another network namespace"),
                "mount sysfs anew in this one, as 'ip netns exec' does",
            ));
        }
        let mut file = directory;
        for part in path.split('/') {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            file.push(part);
            let link_away = || fs::symlink_metadata(&file).is_ok_and(|found| found.is_symlink());
            if part.is_empty() || part.starts_with('.') || !part.chars().all(plain) || link_away() {
                let what = format!("'{path}' is no file of its own in sysfs");
                return Err(Error::new(&link.name, Cause::Usage, what, "give one as queues/rx-0/rps_cpus"));
            }
        }
        Ok(file)
    }
}

fn oops(link: &LinkState, key: &Key, doing: &str, error: &io::Error) -> Error {
    Error::of(&link.name, &format!("{key}: {doing}"), error)
}
