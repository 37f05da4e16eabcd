//! What a sweep measures.

use std::time::Duration;

/// What the requests of a point do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// All read.
    Read,
    /// All write.
    Write,
    /// Half of them read.
    ReadWrite,
}

impl Mix {
    /// In the order of the published table.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::ReadWrite];

    /// As the published table calls it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "readwrite",
        }
    }

    /// For people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::ReadWrite => "50/50",
        }
    }

    /// Requests of a hundred that read.
    #[must_use]
    pub fn reads(self) -> u32 {
        match self {
            Self::Read => 100,
            Self::Write => 0,
            Self::ReadWrite => 50,
        }
    }

    /// From its word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mix| mix.word() == word)
    }
}

/// How fast the wire between the target and the switch is, each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// As fast as memory.
    Unlimited,
    /// 10 Gb/s.
    TenGigabit,
    /// 40 Gb/s, the published port's.
    FortyGigabit,
}

impl Wire {
    /// All.
    pub const ALL: [Self; 3] = [Self::Unlimited, Self::TenGigabit, Self::FortyGigabit];

    /// As ports call it: the value of `rate=`, or `unlimited`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unlimited => "unlimited",
            Self::TenGigabit => "10G",
            Self::FortyGigabit => "40G",
        }
    }

    /// For people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Unlimited => "unlimited wire",
            Self::TenGigabit => "wire of 10 Gb/s",
            Self::FortyGigabit => "wire of 40 Gb/s",
        }
    }

    /// Bits a second, if there is a limit.
    #[must_use]
    pub fn bits_per_s(self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::TenGigabit => Some(10_000_000_000),
            Self::FortyGigabit => Some(40_000_000_000),
        }
    }

    /// From its word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.word() == word)
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Octets of a request.
    pub io_bytes: u32,
    /// What requests do.
    pub mix: Mix,
    /// The target's wire.
    pub wire: Wire,
    /// Requests under way at once on each LUN.
    pub queue_depth: u32,
    /// Initiators that work at once.
    pub initiators: u32,
    /// LUNs of each.
    pub luns: u32,
    /// The largest layer 3 packet, octets.
    pub mtu: u32,
    /// How long is measured.
    pub time: Duration,
}

impl Point {
    /// Short and unique in the plan: `fcoe-40G-read-512`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}-{}-{}-{}", super::WORKLOAD, self.wire.word(), self.mix.word(), self.io_bytes)
    }

    /// A line for people.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} of {} bytes, {}", self.mix.title(), self.io_bytes, self.wire.title())
    }
}

/// How thorough a sweep is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Some sizes, for short: a minute in all.
    Quick,
    /// All.
    Full,
}

impl Form {
    /// As it is typed behind two dashes.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its name.
    pub preset: &'static str,
    /// How thorough it is.
    pub form: Form,
    /// What is measured, in order.
    pub points: Vec<Point>,
}

impl Plan {
    /// The points over a wire, each measured for so long.
    #[must_use]
    pub fn over(mut self, wire: Wire, time: Duration) -> Self {
        self.points.retain(|point| point.wire == wire);
        self.points.iter_mut().for_each(|point| point.time = time);
        self
    }
}

/// The published sizes, octets.
const SIZES: [u32; 7] = [512, 1024, 2048, 4096, 8192, 16384, 32768];
const QUICK: [u32; 3] = [512, 4096, 32768];

/// The published FCoE table: one target with 48 LUNs, 4 initiators with 12 of them each, queue depth 16, MTU 2180; at each
/// speed of the wire all sizes, of each size READ, WRITE and 50/50.
#[must_use]
pub fn t5_fcoe(form: Form) -> Plan {
    let (sizes, time) = match form {
        Form::Quick => (&QUICK[..], Duration::from_millis(500)),
        Form::Full => (&SIZES[..], Duration::from_secs(3)),
    };
    let mut points = Vec::new();
    for wire in Wire::ALL {
        for &io_bytes in sizes {
            points.extend(Mix::ALL.map(|mix| Point {
                io_bytes,
                mix,
                wire,
                queue_depth: 16,
                initiators: 4,
                luns: 12,
                mtu: 2180,
                time,
            }));
        }
    }
    Plan { preset: "t5-fcoe", form, points }
}
