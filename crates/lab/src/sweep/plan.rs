//! The plan of a sweep: points, each with a workload's parameters.

use super::order::Order;
use super::repeats::Repeats;
use linerate_load::Workload;
use linerate_load::together::{self, Asked};
use linerate_result::{Parameter, Parameters};
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Clone)]
pub struct Point {
    /// Identifier, short and unique in the plan: `fcoe-40G-read-512`.
    pub id: String,
    pub title: String,
    /// The workload that measures it.
    pub workload: &'static Workload,
    pub parameters: Parameters,
    /// Workloads that are measured at the same time.
    pub beside: Beside,
}

/// Workloads beside that of a point.
#[derive(Clone, Default)]
pub struct Beside {
    /// Name of the point's own workload among them.
    pub name: String,
    pub others: Vec<Part>,
    /// Values of axes, as they stand behind the titles.
    pub axes: String,
    /// Parameters that tell a point's tests from those of another: values of axes of each workload, as `NAME.axis`.
    pub told: Parameters,
    /// Seconds for which those that measure latency run alone before.
    pub quiet: u64,
}

/// A workload beside another one.
#[derive(Clone)]
pub struct Part {
    pub name: String,
    pub workload: &'static Workload,
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
    pub(super) fn time(self) -> Duration {
        match self {
            Self::Quick => Duration::from_millis(500),
            Self::Full => Duration::from_secs(3),
        }
    }
}

/// Sockets of a plan's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The kernel's, over a veth pair.
    Kernel,
    /// Those of our own stack, over a cable.
    Stack,
}

impl Via {
    pub const ALL: [Self; 2] = [Self::Kernel, Self::Stack];

    /// Word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Stack => "stack",
        }
    }
}

/// The other machine of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// Name of its address.
    pub name: String,
    /// True if interfaces are taken down and up after a change of their MTU.
    pub cycles: bool,
}

#[derive(Clone)]
pub struct Plan {
    /// Its name: the preset's, or the one that its file gives.
    pub name: String,
    /// Whose sockets, if a preset has a choice.
    pub via: Option<Via>,
    /// Thoroughness of a preset.
    pub form: Option<Form>,
    /// The other machine, if the tests are with one.
    pub remote: Option<Other>,
    /// Text of a plan that was read from a file.
    pub text: Option<String>,
    /// Ids of the points, if others were left out.
    pub only: Option<Vec<String>>,
    /// Points to measure, in order.
    pub points: Vec<Point>,
    pub repeats: Repeats,
    pub order: Order,
    /// Time after which no measurement begins.
    pub limit: Option<Duration>,
    /// True if repeats count that other programs were in the way of.
    pub shared: bool,
}

impl Plan {
    /// A plan of a preset.
    pub(crate) fn of_preset(name: &str, via: Option<Via>, form: Form, points: Vec<Point>) -> Self {
        Self {
            name: name.to_owned(),
            via,
            form: Some(form),
            remote: None,
            text: None,
            only: None,
            points,
            repeats: Repeats::default(),
            order: Order::default(),
            limit: None,
            shared: false,
        }
    }

    /// Leaves out all points but these.
    ///
    /// # Errors
    /// An id that no point has, with the nearest.
    pub fn keep_only(&mut self, ids: &[String]) -> Result<(), String> {
        for id in ids {
            let known = || self.points.iter().map(|point| point.id.as_str());
            if !known().any(|known| known == id) {
                let meant = linerate_text::nearest(id, known()).map(|near| format!("did you mean {near}?"));
                let meant = meant.unwrap_or_else(|| "--dry-run lists them".to_owned());
                return Err(format!("{}: no point of {}; {meant}", linerate_text::plain(id), self.name));
            }
        }
        self.points.retain(|point| ids.contains(&point.id));
        self.only = Some(self.points.iter().map(|point| point.id.clone()).collect());
        Ok(())
    }

    /// Checks the requirements of the workloads on this machine.
    ///
    /// # Errors
    /// The first requirement that is not met.
    pub fn needs(&self) -> Result<(), String> {
        self.points.iter().flat_map(Point::asked).try_for_each(|(workload, _)| (workload.needs)())
    }
}

impl Point {
    /// Time that its parameters ask for, without what it takes to begin and to end; `None` if they do not say.
    fn time(&self) -> Option<Duration> {
        let count = |name: &str| self.parameters.get(name).and_then(Parameter::count);
        let time = count("seconds").map(Duration::from_secs).or_else(|| count("time_ms").map(Duration::from_millis));
        time.map(|time| time + Duration::from_secs(self.beside.quiet))
    }

    /// Its own workload and those beside, each with what is asked of it.
    pub(super) fn asked(&self) -> impl Iterator<Item = Asked<'_>> {
        let others = self.beside.others.iter().map(|other| (other.workload, &other.parameters));
        std::iter::once((self.workload, &self.parameters)).chain(others)
    }

    /// True if several workloads are measured at the same time.
    #[must_use]
    pub fn is_together(&self) -> bool {
        !self.beside.others.is_empty()
    }

    /// Checks what is asked, and describes in a line what that makes and does.
    pub(super) fn does(&self) -> Result<String, String> {
        if self.is_together() {
            return together::describe(&self.asked().collect::<Vec<_>>(), self.beside.quiet);
        }
        self.workload.describe(&self.parameters)
    }

    /// The point and what is done for it: a line, and one below it.
    ///
    /// # Errors
    /// A parameter that the workload does not take, with the mend.
    pub fn describe(&self) -> Result<String, String> {
        let told = |(workload, parameters): Asked<'_>| {
            let values = parameters.iter().map(|(name, value)| format!(" {name}={value}"));
            format!("{}{}", workload.name, values.collect::<String>())
        };
        let all = self.asked().map(told).collect::<Vec<_>>().join(", beside ");
        Ok(format!("{}: {all}\n    {}", self.id, self.does()?))
    }

    /// True if it can be measured with a server of another machine.
    #[must_use]
    pub fn has_peer(&self) -> bool {
        !self.is_together() && (self.workload.parameters)().iter().any(|row| row.name == "peer")
    }

    /// The MTU that it asks for.
    #[must_use]
    pub fn mtu(&self) -> Option<u32> {
        self.parameters.get("mtu").and_then(Parameter::count).and_then(|mtu| u32::try_from(mtu).ok())
    }

    /// The same measurement with a server of another machine.
    #[must_use]
    pub fn with(&self, server: SocketAddr) -> Self {
        let mut point = self.clone();
        if point.parameters.get("via").and_then(Parameter::text) == Some(Via::Kernel.word()) {
            point.parameters.remove("via");
        }
        point.parameters.insert("peer".to_owned(), server.to_string().into());
        point
    }
}

impl Plan {
    /// All that the sweep would do, line by line.
    ///
    /// # Errors
    /// A point that cannot be measured as it is written, with the mend.
    pub fn describe(&self) -> Result<String, String> {
        let points = self.points.len();
        let time: Option<Duration> = self.points.iter().map(Point::time).sum();
        let time = time.map_or(String::new(), |time| {
            let all = (time * self.repeats.least).as_secs_f64();
            format!("; {} of measuring, and what it takes to begin and to end", crate::quantity::duration(all.into()))
        });
        let mut text = format!(
            "{}: {}, {}, {}{time}\n",
            self.name,
            linerate_text::many(points, "point"),
            self.repeats,
            self.order
        );
        if let Some(limit) = self.limit {
            text.push_str(&format!("no measurement begins after {} minutes\n", limit.as_secs() / 60));
        }
        let mut mtu = None;
        for (n, point) in self.points.iter().enumerate() {
            let Some(remote) = &self.remote else {
                text.push_str(&format!("{}. {}\n", n + 1, point.describe()?));
                continue;
            };
            if let Some(asked) = point.mtu().filter(|asked| mtu != Some(*asked)) {
                let cycles = if remote.cycles { ", both interfaces down and up" } else { "" };
                text.push_str(&format!("MTU {asked} at both ends, if they have another{cycles}\n"));
                mtu = Some(asked);
            }
            let told = point.with(SocketAddr::from(([192, 0, 2, 1], 1))).describe()?;
            text.push_str(&format!("{}. {}\n", n + 1, told.replace("192.0.2.1:1", &remote.name)));
        }
        text.push_str("each is added to points.ndjson when it ends; then result.json, report.html and the index\n");
        Ok(text)
    }
}
