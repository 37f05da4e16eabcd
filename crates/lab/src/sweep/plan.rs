//! What a sweep measures: points, each a workload's parameters.

use linerate_load::Workload;
use linerate_load::fcoe::{Mix, WORKLOAD, Wire};
use linerate_result::{Parameters, parameters};
use std::time::Duration;

/// One measurement.
#[derive(Clone)]
pub struct Point {
    /// Short and unique in the plan: `fcoe-40G-read-512`.
    pub id: String,
    /// A line for people.
    pub title: String,
    /// The workload that measures it.
    pub workload: &'static Workload,
    /// What is asked of it.
    pub parameters: Parameters,
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

    /// How long each point is measured.
    fn time(self) -> Duration {
        match self {
            Self::Quick => Duration::from_millis(500),
            Self::Full => Duration::from_secs(3),
        }
    }
}

/// A plan.
#[derive(Clone)]
pub struct Plan {
    /// Its name.
    pub preset: &'static str,
    /// How thorough it is.
    pub form: Form,
    /// What is measured, in order.
    pub points: Vec<Point>,
}

impl Plan {
    /// Says what a workload of it needs and this machine has not.
    ///
    /// # Errors
    /// The first need that is not met.
    pub fn needs(&self) -> Result<(), String> {
        self.points.iter().try_for_each(|point| (point.workload.needs)())
    }
}

/// A plan by its name.
pub struct Preset {
    /// What is typed.
    pub name: &'static str,
    /// What it measures.
    pub about: &'static str,
    /// All its points.
    pub plan: fn(Form) -> Vec<Point>,
}

/// All presets: one row each.
pub const PRESETS: &[Preset] = &[
    // Its name, what it measures, its points.
    row("t5-fcoe", "the published FCoE measurements, three sizes of a request or seven", t5_fcoe),
];

const fn row(name: &'static str, about: &'static str, plan: fn(Form) -> Vec<Point>) -> Preset {
    Preset { name, about, plan }
}

impl Preset {
    /// Its plan.
    #[must_use]
    pub fn plan(&self, form: Form) -> Plan {
        Plan { preset: self.name, form, points: (self.plan)(form) }
    }
}

/// The published sizes, octets.
const SIZES: [u32; 7] = [512, 1024, 2048, 4096, 8192, 16384, 32768];
const QUICK: [u32; 3] = [512, 4096, 32768];

/// The published FCoE table: one target with 48 LUNs, 4 initiators with 12 of them each, queue depth 16, MTU 2180; at each
/// speed of the wire all sizes, of each size READ, WRITE and 50/50.
fn t5_fcoe(form: Form) -> Vec<Point> {
    Wire::ALL.into_iter().flat_map(|wire| fcoe(form, wire, form.time())).collect()
}

/// The points of the published FCoE table over one wire, each measured for so long.
pub(crate) fn fcoe(form: Form, wire: Wire, time: Duration) -> Vec<Point> {
    let sizes = match form {
        Form::Quick => &QUICK[..],
        Form::Full => &SIZES[..],
    };
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let point = |io_bytes: u32, mix: Mix| Point {
        id: format!("fcoe-{}-{}-{io_bytes}", wire.word(), mix.word()),
        title: format!("{} of {io_bytes} bytes, {}", mix.title(), wire.title()),
        workload: &WORKLOAD,
        parameters: parameters([
            ("io_bytes", io_bytes.into()),
            ("op", mix.word().into()),
            ("wire", wire.word().into()),
            ("queue_depth", 16_u32.into()),
            ("initiators", 4_u32.into()),
            ("luns", 48_u32.into()),
            ("mtu", 2180_u32.into()),
            ("time_ms", milliseconds.into()),
        ]),
    };
    sizes.iter().flat_map(|&size| Mix::ALL.map(|mix| point(size, mix))).collect()
}
