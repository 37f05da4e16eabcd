//! The plan of a sweep: points, each with a workload's parameters.

use linerate_load::Workload;
use linerate_load::fcoe::{Mix, WORKLOAD, Wire};
use linerate_port::saturating_ns;
use linerate_result::{Parameters, parameters};
use std::time::Duration;

/// One measurement.
#[derive(Clone)]
pub struct Point {
    /// Identifier, short and unique in the plan: `fcoe-40G-read-512`.
    pub id: String,
    /// Title for people, one line.
    pub title: String,
    /// The workload that measures it.
    pub workload: &'static Workload,
    /// Parameters of the measurement.
    pub parameters: Parameters,
}

/// Thoroughness of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Some sizes, measured briefly: a minute in all.
    Quick,
    /// All sizes.
    Full,
}

impl Form {
    /// Name of the command-line option without its dashes.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// Duration of the measurement of each point.
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
    /// Name of the plan's preset.
    pub preset: &'static str,
    /// Thoroughness.
    pub form: Form,
    /// Points to measure, in order.
    pub points: Vec<Point>,
}

impl Plan {
    /// Checks the requirements of the workloads on this machine.
    ///
    /// # Errors
    /// The first requirement that is not met.
    pub fn needs(&self) -> Result<(), String> {
        self.points.iter().try_for_each(|point| (point.workload.needs)())
    }
}

/// A plan by its name.
pub struct Preset {
    /// Name as typed on the command line.
    pub name: &'static str,
    /// Description of the measurements.
    pub about: &'static str,
    /// Function that makes all points.
    pub plan: fn(Form) -> Vec<Point>,
}

/// All presets, one row each.
pub const PRESETS: &[Preset] = &[
    // Name, description, points.
    row("t5-fcoe", "the published FCoE measurements, three sizes of a request or seven", t5_fcoe),
];

const fn row(name: &'static str, about: &'static str, plan: fn(Form) -> Vec<Point>) -> Preset {
    Preset { name, about, plan }
}

impl Preset {
    /// Makes the plan of this preset.
    #[must_use]
    pub fn plan(&self, form: Form) -> Plan {
        Plan { preset: self.name, form, points: (self.plan)(form) }
    }
}

/// The published request sizes, bytes.
const SIZES: [u32; 7] = [512, 1024, 2048, 4096, 8192, 16384, 32768];
const QUICK: [u32; 3] = [512, 4096, 32768];

/// The published FCoE table: one target with 48 LUNs, 4 initiators with 12 of them each, queue depth 16, MTU 2180; for
/// each speed of the wire all sizes, for each size READ, WRITE and 50/50.
fn t5_fcoe(form: Form) -> Vec<Point> {
    Wire::ALL.into_iter().flat_map(|wire| fcoe(form, wire, form.time())).collect()
}

/// Points of the published FCoE table over one wire, each measured for `time`.
pub(crate) fn fcoe(form: Form, wire: Wire, time: Duration) -> Vec<Point> {
    let sizes = match form {
        Form::Quick => &QUICK[..],
        Form::Full => &SIZES[..],
    };
    let milliseconds = saturating_ns(time) / 1_000_000;
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
