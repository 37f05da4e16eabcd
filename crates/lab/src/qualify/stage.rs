//! Stages on which the tests run: two ports that reach each other.

use super::Order;
#[cfg(target_os = "linux")]
use linerate_host::{Namespace, VethPair};
use linerate_result::Test;

/// Two ports that reach each other, and optionally a second such pair.
pub(super) struct Stage {
    /// Identifier, short and unique in the run.
    pub(super) key: &'static str,
    pub(super) pair: [String; 2],
    /// Another pair, for tests on two ports at once.
    pub(super) second: Option<[String; 2]>,
    /// True if the kernel carries the frames: it may drop them, and threads sleep rather than spin.
    pub(super) kernel: bool,
    /// Network namespace and veth pair of the ports, if they have their own.
    #[cfg(target_os = "linux")]
    place: Option<(Namespace, VethPair)>,
}

pub struct StageRow {
    /// Identifier, short and unique.
    pub key: &'static str,
    pub about: &'static str,
    make: fn(&'static str) -> Result<Stage, String>,
}

/// The stages that are made when no ports are named.
pub const STAGES: &[StageRow] = &[
    StageRow { key: "cable", about: "a virtual cable within this process", make: cable },
    #[cfg(target_os = "linux")]
    StageRow { key: "packet", about: "packet: on a veth pair in a network namespace of its own", make: veth },
    #[cfg(target_os = "linux")]
    StageRow { key: "xdp", about: "xdp: on a veth pair in a network namespace of its own", make: veth },
];

/// Makes the stages of an order; a stage that cannot be made becomes a skipped test with the reason.
pub(super) fn of(order: &Order) -> Vec<Result<Stage, Box<Test>>> {
    if let Some(pair) = &order.ports {
        let kernel = pair.iter().any(|port| !port.starts_with("cable:") && !port.starts_with("null:"));
        return vec![Ok(stage("ports", pair.clone(), None, kernel))];
    }
    STAGES.iter().map(|row| (row.make)(row.key).map_err(|why| skipped(row, why))).collect()
}

fn skipped(row: &StageRow, why: String) -> Box<Test> {
    let test = Test {
        id: row.key.into(),
        title: row.about.into(),
        workload: "stage".into(),
        skipped: Some(why),
        ..Test::default()
    };
    Box::new(test)
}

fn stage(key: &'static str, pair: [String; 2], second: Option<[String; 2]>, kernel: bool) -> Stage {
    Stage {
        key,
        pair,
        second,
        kernel,
        #[cfg(target_os = "linux")]
        place: None,
    }
}

fn cable(key: &'static str) -> Result<Stage, String> {
    let pair = |id| [format!("cable:qualify{{{id}"), format!("cable:qualify}}{id}")];
    Ok(stage(key, pair(1), Some(pair(2)), false))
}

#[cfg(target_os = "linux")]
fn veth(key: &'static str) -> Result<Stage, String> {
    let space = Namespace::new().map_err(|e| e.to_string())?;
    let pair =
        space.run_in(|| VethPair::new(["qv0", "qv1"], 1, 1500)).and_then(|pair| pair).map_err(|e| e.to_string())?;
    let names = pair.names().map(|name| format!("{key}:{name}"));
    Ok(Stage { place: Some((space, pair)), ..stage(key, names, None, true) })
}

impl Stage {
    /// Runs `work` in the network namespace of the ports.
    #[cfg(target_os = "linux")]
    pub(super) fn run_in<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, String> {
        match &self.place {
            None => Ok(work()),
            Some((space, _)) => space.run_in(work).map_err(|e| e.to_string()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn run_in<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, String> {
        Ok(work())
    }
}
