//! An adapter's parameters by sysctl-like names, each with its documented default beside what it is.

use super::batch::SLOTS;
use super::control::{Control, NicError};
use super::rx::LRO;
use super::settings::ViSettings;
use crate::flags::FLAGS;
use linerate_offload::{ClassTable, HashTypes, Rss, SYMMETRIC_KEY};
use linerate_port::Info;
use linerate_text::{colons, nearest, power, short, whole};
use linerate_wire::Priority;
use std::sync::Arc;

/// A parameter of an interface, of its adapter or of the port below.
pub struct Parameter {
    /// Its name behind `dev.lr.N.`.
    pub name: &'static str,
    /// Meaning and unit, and how it is set if not by its name.
    pub about: &'static str,
    /// Its documented default.
    pub default: &'static str,
    of: Owner,
}

/// Owner of a parameter, with how it is read there and set.
enum Owner {
    /// The port, or the code: it is read only.
    Port(fn(&Info) -> String),
    /// The interface alone.
    Interface { actual: fn(&ViSettings) -> String, set: fn(&mut ViSettings, &str) -> Option<()> },
    /// The adapter: all interfaces have it in common.
    Adapter { actual: fn(&ClassTable) -> String, set: fn(&str) -> Option<ClassTable> },
}

/// All of them.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "up",
        about: "takes part: 1 or 0",
        default: "1",
        of: Owner::Interface { actual: |vi| bit(vi.up), set: |vi, value| switch(&mut vi.up, value) },
    },
    Parameter {
        name: "mtu",
        about: "largest payload of a frame, bytes; at most the port's (mtu= of the port) and 9216",
        default: "the port's (1500)",
        of: Owner::Interface {
            actual: |vi| vi.mtu.to_string(),
            set: |vi, value| assign(&mut vi.mtu, value.parse().ok()),
        },
    },
    Parameter {
        name: "mac",
        about: "its own address",
        default: "the port's, or a local one made of its name",
        of: Owner::Interface { actual: |vi| colons(&vi.mac), set: |vi, value| assign(&mut vi.mac, address(value)) },
    },
    Parameter {
        name: "promisc",
        about: "receives all that comes: 1 or 0",
        default: "0",
        of: Owner::Interface { actual: |vi| bit(vi.promiscuous), set: |vi, value| switch(&mut vi.promiscuous, value) },
    },
    Parameter {
        name: "allmulti",
        about: "receives all multicasts: 1 or 0",
        default: "0",
        of: Owner::Interface {
            actual: |vi| bit(vi.all_multicast),
            set: |vi, value| switch(&mut vi.all_multicast, value),
        },
    },
    Parameter {
        name: "tx.ring_size",
        about: "slots of each transmit ring (slots= of the port)",
        default: "1024",
        of: Owner::Port(|port| port.slots.to_string()),
    },
    Parameter {
        name: "tx.queues",
        about: "transmit queues (queues= of the port)",
        default: "1",
        of: Owner::Port(|port| port.tx_queues.to_string()),
    },
    Parameter {
        name: "tx.rate",
        about: "most that it sends, bit/s on the wire, 24 bytes of framing a frame included; 0 is no limit",
        default: "0",
        of: Owner::Interface {
            actual: |vi| vi.rate.unwrap_or(0).to_string(),
            set: |vi, value| {
                let rate = whole(value, |letter| power(letter, 1000))?;
                vi.rate = (rate > 0).then_some(rate);
                Some(())
            },
        },
    },
    Parameter {
        name: "tx.weight",
        about: "its share of the link against the others' of its traffic class, 1 to 1000",
        default: "1",
        of: Owner::Interface {
            actual: |vi| vi.weight.to_string(),
            set: |vi, value| assign(&mut vi.weight, value.parse().ok()),
        },
    },
    Parameter {
        name: "tx.priority",
        about: "its 802.1Q priority, 0 to 7, which chooses its traffic class among tx.class_weights",
        default: "0",
        of: Owner::Interface {
            actual: |vi| vi.priority.number().to_string(),
            set: |vi, value| assign(&mut vi.priority, value.parse().ok().and_then(Priority::new)),
        },
    },
    Parameter {
        name: "tx.class_weights",
        about: "shares of the link of the adapter's traffic classes against each other, the first for class 0: 1 to 8 \
                numbers of 1 to 1000, strict (before all of lower numbers) or rest, with commas between",
        default: "1",
        of: Owner::Adapter { actual: ClassTable::to_string, set: |value| value.parse().ok() },
    },
    Parameter {
        name: "rx.ring_size",
        about: "slots of each receive ring (slots= of the port)",
        default: "1024",
        of: Owner::Port(|port| port.slots.to_string()),
    },
    Parameter {
        name: "rx.queues",
        about: "receive queues of the port (queues= of the port)",
        default: "1",
        of: Owner::Port(|port| port.rx_queues.to_string()),
    },
    Parameter {
        name: "rx.batch",
        about: "slots taken in one poll at most",
        default: "256",
        of: Owner::Port(|_| SLOTS.to_string()),
    },
    Parameter {
        name: "rx.rss_queues",
        about: "queues that flows are spread over by hash, 1 to 128; 1 hashes nothing",
        default: "1",
        of: Owner::Interface {
            actual: |vi| vi.rss.as_ref().map_or(1, |rss| rss.queues()).to_string(),
            set: |vi, value| {
                let queues = value.parse().ok().filter(|n| (1..=128).contains(n))?;
                let mut rss = Rss::new(queues);
                if let Some(before) = &vi.rss {
                    rss.set_key(*before.toeplitz().key());
                    rss.set_types(before.types());
                }
                vi.rss = (queues > 1).then(|| Arc::new(rss));
                Some(())
            },
        },
    },
    Parameter {
        name: "rx.rss_types",
        about: "what is hashed: names joined by + of ipv4, tcpv4, udpv4, ipv6, tcpv6, udpv6 and fcoe, all or none (once \
                rx.rss_queues is above 1)",
        default: "all",
        of: Owner::Interface {
            actual: |vi| vi.rss.as_ref().map_or(HashTypes::NONE, |rss| rss.types()).to_string(),
            set: |vi, value| {
                let types = value.parse().ok()?;
                Arc::make_mut(vi.rss.as_mut()?).set_types(types);
                Some(())
            },
        },
    },
    Parameter {
        name: "rx.rss_symmetric",
        about: "both directions of a flow get one hash: 1 or 0 (once rx.rss_queues is above 1)",
        default: "0",
        of: Owner::Interface {
            actual: |vi| bit(vi.rss.as_ref().is_some_and(|rss| *rss.toeplitz().key() == SYMMETRIC_KEY)),
            set: |vi, value| {
                let mut wanted = false;
                switch(&mut wanted, value)?;
                let rss = Arc::make_mut(vi.rss.as_mut()?);
                rss.set_key(if wanted { SYMMETRIC_KEY } else { linerate_offload::DEFAULT_KEY });
                Some(())
            },
        },
    },
    Parameter {
        name: "lro.flows",
        about: "flows merged at once on each queue",
        default: "256",
        of: Owner::Port(|_| LRO.flows.to_string()),
    },
    Parameter {
        name: "lro.segments",
        about: "segments merged into one packet at most",
        default: "64",
        of: Owner::Port(|_| LRO.max_pieces.to_string()),
    },
];

impl Parameter {
    /// True if it can be set by its name.
    #[must_use]
    pub fn can_be_set(&self) -> bool {
        !matches!(self.of, Owner::Port(_))
    }
}

impl Control {
    /// An interface's parameters, its adapter's and its port's: each with its value.
    ///
    /// # Errors
    /// [`NicError::NoInterface`].
    pub fn parameters(&self, vi: usize) -> Result<Vec<(&'static Parameter, String)>, NicError> {
        let (settings, classes) = (self.settings(vi)?, self.classes());
        let actual = |row: &Parameter| match row.of {
            Owner::Port(actual) => actual(self.port()),
            Owner::Interface { actual, .. } => actual(&settings),
            Owner::Adapter { actual, .. } => actual(&classes),
        };
        Ok(PARAMETERS.iter().map(|row| (row, actual(row))).collect())
    }

    /// Sets a parameter by its name.
    ///
    /// # Errors
    /// [`NicError::Parameter`] when there is none of that name, it cannot be set, or not to that value; and those of
    /// [`Control::change`].
    pub fn set_parameter(&self, vi: usize, name: &str, value: &str) -> Result<(), NicError> {
        let refuse = |why: String| Err(NicError::Parameter(why));
        let Some(row) = PARAMETERS.iter().find(|row| row.name == name) else {
            let names = PARAMETERS.iter().filter(|row| row.can_be_set()).map(|row| row.name);
            let mend = if FLAGS.iter().any(|flag| flag.words.contains(&name)) {
                format!("it is a flag: write {name}, or -{name} to disable it")
            } else if let Some(meant) = nearest(name, names.clone()) {
                format!("did you mean {meant}?")
            } else {
                format!("those that can be set are {}", names.collect::<Vec<_>>().join(", "))
            };
            return refuse(format!("{}: no such parameter; {mend}", short(name, 40)));
        };
        let will_not_do =
            || NicError::Parameter(format!("{name}={} will not do; it is: {}", short(value, 40), row.about));
        match row.of {
            Owner::Port(_) => refuse(format!("{name} cannot be set here; it is: {}", row.about)),
            Owner::Interface { set, .. } => {
                self.try_change(vi, |settings| set(settings, value).ok_or_else(will_not_do))
            }
            Owner::Adapter { set, .. } => {
                self.settings(vi)?;
                self.set_classes(set(value).ok_or_else(will_not_do)?);
                Ok(())
            }
        }
    }
}

fn bit(on: bool) -> String {
    u8::from(on).to_string()
}

fn switch(to: &mut bool, value: &str) -> Option<()> {
    assign(to, [("0", false), ("1", true)].iter().find(|(word, _)| *word == value).map(|(_, on)| *on))
}

fn assign<T>(to: &mut T, value: Option<T>) -> Option<()> {
    *to = value?;
    Some(())
}

/// Six bytes with colons between.
fn address(text: &str) -> Option<[u8; 6]> {
    let bytes: Vec<u8> = text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect::<Option<_>>()?;
    bytes.try_into().ok()
}
