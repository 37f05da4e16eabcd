//! ethtool over netlink: the kernel's `ethtool` family of generic netlink
//! (Documentation/networking/ethtool-netlink.rst), without the program and without ioctls.
//!
//! The family has no message for driver and firmware version; [`Driver`] reads these by ioctl.

pub(crate) mod bitset;
mod driver;
mod features;
mod offloads;
#[cfg(test)]
mod tests;

use crate::error::{Cause, Error};
use crate::netlink::generic::Family;
use crate::netlink::message::{Message, attribute, word};
use std::io;

pub use driver::Driver;
pub use features::{Feature, Features};
pub use offloads::Offloads;

// linux/ethtool_netlink.h
const ETHTOOL_MSG_CHANNELS_GET: u8 = 17;
const ETHTOOL_MSG_CHANNELS_SET: u8 = 18;
const ETHTOOL_A_HEADER: u16 = 1;
const ETHTOOL_A_HEADER_DEV_NAME: u16 = 2;
const ETHTOOL_A_CHANNELS_RX_COUNT: u16 = 6;
const ETHTOOL_A_CHANNELS_TX_COUNT: u16 = 7;
const ETHTOOL_A_CHANNELS_COMBINED_COUNT: u16 = 9;

/// Functions of `ethtool`, for the network namespace of the thread that opened it. Changes need CAP_NET_ADMIN.
pub struct Ethtool(Family);

/// Number of queues that an interface uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    /// Queues for receive only.
    pub rx: u32,
    /// Queues for transmit only.
    pub tx: u32,
    /// Queues for both.
    pub combined: u32,
}

impl Ethtool {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> Result<Self, Error> {
        Family::open("ethtool").map(Self).map_err(|e| match e.raw_os_error() {
            Some(libc::ENOENT) => Error::new(
                "ethtool",
                Cause::Capability,
                "this kernel does not speak it by netlink",
                "use Linux 5.8 or newer, with CONFIG_ETHTOOL_NETLINK",
            ),
            _ => Error::of("ethtool", "opening a socket", &e),
        })
    }

    pub fn features(&mut self, name: &str) -> Result<Features, Error> {
        self.ask(name, features::get).map_err(|e| oops(name, "reading its offloads", &e))
    }

    /// Requests features to be on or off, by the kernel's names (`tx-checksum-ip-generic`). Features that the driver
    /// has fixed stay as they are; a name that the kernel does not know is an error.
    pub fn set_features(&mut self, name: &str, wanted: &[(&str, bool)]) -> Result<(), Error> {
        let set = |this: &mut Self, name: &str| features::set(this, name, wanted);
        self.ask(name, set).map_err(|e| oops(name, "setting its offloads", &e))
    }

    /// Offloads that affect the frames read from an interface; each stands for several features.
    pub fn offloads(&mut self, name: &str) -> Result<Offloads, Error> {
        self.features(name).map(|features| Offloads::of(&features))
    }

    /// Sets the offloads; returns those that the interface then has, because some need others (TSO needs checksums).
    pub fn set_offloads(&mut self, name: &str, offloads: Offloads) -> Result<Offloads, Error> {
        let now = self.features(name)?;
        let changes = offloads.changes(&now);
        if !changes.is_empty() {
            self.set_features(name, &changes)?;
        }
        self.offloads(name)
    }

    /// Reads the number of queues that an interface uses; an error if its driver does not report it.
    pub fn channels(&mut self, name: &str) -> Result<Channels, Error> {
        let get = |this: &mut Self, name: &str| {
            let message = this.request(ETHTOOL_MSG_CHANNELS_GET, name);
            Ok(Channels::parse(&this.0.ask(message)?))
        };
        self.ask(name, get).map_err(|e| oops(name, "reading its queues", &e))
    }

    /// Sets the number of queues that an interface uses.
    pub fn set_channels(&mut self, name: &str, channels: Channels) -> Result<(), Error> {
        let set = |this: &mut Self, name: &str| {
            let mut message = this.request(ETHTOOL_MSG_CHANNELS_SET, name);
            // A kind of queue that an interface lacks (most have none for one direction only) must not be named.
            let now = Channels::parse(&this.0.ask(this.request(ETHTOOL_MSG_CHANNELS_GET, name))?);
            for (kind, count, now) in [
                (ETHTOOL_A_CHANNELS_RX_COUNT, channels.rx, now.rx),
                (ETHTOOL_A_CHANNELS_TX_COUNT, channels.tx, now.tx),
                (ETHTOOL_A_CHANNELS_COMBINED_COUNT, channels.combined, now.combined),
            ] {
                if count != now {
                    message.attribute(kind, &count.to_ne_bytes());
                }
            }
            this.0.ask(message).map(drop)
        };
        self.ask(name, set).map_err(|e| oops(name, "setting its queues", &e))
    }

    fn ask<T>(&mut self, name: &str, ask: impl FnOnce(&mut Self, &str) -> io::Result<T>) -> io::Result<T> {
        // No interface has a name this long (IFNAMSIZ), and the kernel would report an invalid request instead.
        if name.is_empty() || name.len() >= libc::IFNAMSIZ {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        ask(self, name)
    }

    /// A request about an interface.
    fn request(&self, command: u8, name: &str) -> Message {
        let mut message = self.0.request(command);
        message.nest(ETHTOOL_A_HEADER | NESTED, |header| header.text(ETHTOOL_A_HEADER_DEV_NAME, name));
        message
    }
}

fn oops(name: &str, doing: &str, error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => Error::new(
            name,
            Cause::Capability,
            format!("{doing}: its driver, or this kernel, does not know that"),
            "do without, or take an interface whose driver does",
        ),
        _ => Error::of(name, doing, error),
    }
}

/// The kernel accepts nested attributes only if they are marked (NLA_F_NESTED).
const NESTED: u16 = 0x8000;

impl Channels {
    fn parse(answer: &[u8]) -> Self {
        let number = |kind| attribute(answer, kind).map_or(0, |value| word(value, 0));
        Self {
            rx: number(ETHTOOL_A_CHANNELS_RX_COUNT),
            tx: number(ETHTOOL_A_CHANNELS_TX_COUNT),
            combined: number(ETHTOOL_A_CHANNELS_COMBINED_COUNT),
        }
    }
}
