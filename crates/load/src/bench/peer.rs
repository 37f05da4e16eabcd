//! Peers that linerate is compared with: well-known programs, run by the script `peer`, and linerate's own
//! measurements.

use super::{Missing, Setting};
use std::process::{Command, Stdio};
use std::time::Duration;

pub struct Peer {
    pub name: &'static str,
    pub how: How,
    /// Target for the ratio linerate : peer, if there is one.
    pub wanted: Option<f64>,
}

/// Method of measuring a peer.
pub enum How {
    /// Run the script with these arguments.
    Script(&'static [&'static str]),
    /// Call a function of linerate.
    Own(fn(&Setting) -> Result<f64, Missing>),
    /// Call functions of linerate that measure the same in several ways, of which the best counts: a roof.
    Best(fn() -> Vec<Variant>),
}

/// One of the ways to measure a roof.
pub struct Variant {
    pub name: String,
    measure: Box<Measure>,
}

type Measure = dyn Fn(&Setting) -> Result<f64, Missing>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) value: f64,
    /// Name of the best variant.
    pub(super) variant: Option<String>,
}

/// Shortest time that a variant is measured.
const LEAST: Duration = Duration::from_millis(20);

impl Peer {
    /// Measures the figure in the bench's unit; of several variants the best counts, by `more_is_better`.
    pub(super) fn measure(&self, setting: &Setting, more_is_better: bool) -> Result<Measured, Missing> {
        let alone = |value| Measured { value, variant: None };
        match self.how {
            How::Own(measure) => measure(setting).map(alone),
            How::Script(arguments) => script(setting, arguments).map(alone),
            How::Best(variants) => best(&variants(), setting, more_is_better),
        }
    }
}

impl Variant {
    pub(super) fn new(name: impl Into<String>, measure: impl Fn(&Setting) -> Result<f64, Missing> + 'static) -> Self {
        Self { name: name.into(), measure: Box::new(measure) }
    }

    pub(super) fn measure(&self, setting: &Setting) -> Result<f64, Missing> {
        (self.measure)(setting)
    }
}

/// Best of the variants, which share the time of a measurement. If one gives a wrong result, all fail; if one is
/// discarded, all are; one that this machine does not support is left out.
fn best(variants: &[Variant], setting: &Setting, more_is_better: bool) -> Result<Measured, Missing> {
    let share = setting.time.div_f64(variants.len().max(1) as f64);
    let setting = Setting { time: share.max(LEAST), ..setting.clone() };
    let mut best: Option<Measured> = None;
    let mut skipped = Missing::Skipped("there is no way to measure it here".into());
    for variant in variants {
        let value = match variant.measure(&setting) {
            Ok(value) => value,
            Err(Missing::Failed(why)) => return Err(Missing::Failed(format!("{}: {why}", variant.name))),
            Err(Missing::Skipped(why)) => {
                skipped = Missing::Skipped(why);
                continue;
            }
            Err(why @ Missing::Discarded(_)) => return Err(why),
        };
        let better = best.as_ref().is_none_or(|best| (value > best.value) == more_is_better);
        if better {
            best = Some(Measured { value, variant: Some(variant.name.clone()) });
        }
    }
    best.ok_or(skipped)
}

/// Runs the script; returns the `value` of the JSON object that it prints last.
fn script(setting: &Setting, arguments: &[&str]) -> Result<f64, Missing> {
    let Some(peers) = &setting.peers else {
        return Err(Missing::Skipped("no folder with the script 'peer': give --peers DIR (bench/peers)".into()));
    };
    let program = peers.join("peer");
    let cores = setting.cores.map(|c| c.to_string()).join(",");
    let out = Command::new(&program)
        .args(arguments)
        .args(["--cores", &cores])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| Missing::Skipped(format!("{}: {e}", program.display())))?;
    let complaint = String::from_utf8_lossy(&out.stderr);
    let last = complaint.lines().last().unwrap_or("it said nothing").to_owned();
    if !out.status.success() {
        return Err(Missing::Skipped(format!("{last} (bench/peers/install installs the peers)")));
    }
    let text = String::from_utf8_lossy(&out.stdout);
    let said: serde_json::Value =
        text.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    // Streams are told in bits, and compared in bytes.
    let scale = if said["unit"] == "Gb/s" { 1e9 / 8.0 } else { 1.0 };
    match said["value"].as_f64().map(|value| value * scale) {
        Some(value) if said["valid"] != false => Ok(value),
        Some(_) => Err(Missing::Discarded("the peer's own figure is not valid: the cores changed state".into())),
        None => Err(Missing::Failed(format!("the peer gave no figure: {last}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting() -> Setting {
        Setting { cores: [0, 1], time: Duration::from_millis(300), rounds: 1, peers: None }
    }

    fn variants(values: &[(&str, f64)]) -> Vec<Variant> {
        values.iter().map(|&(name, value)| Variant::new(name, move |_: &Setting| Ok(value))).collect()
    }

    #[test]
    fn a_roof_is_the_best_of_its_variants_and_says_which() {
        let of = |more| best(&variants(&[("a", 5.0), ("b", 9.0), ("c", 7.0)]), &setting(), more).unwrap();
        assert_eq!(of(true), Measured { value: 9.0, variant: Some("b".into()) });
        assert_eq!(of(false), Measured { value: 5.0, variant: Some("a".into()) });
    }

    #[test]
    fn variants_share_the_time_of_one_measurement() {
        let asked: std::rc::Rc<std::cell::RefCell<Vec<Duration>>> = std::rc::Rc::default();
        let variant = |_| {
            let asked = asked.clone();
            Variant::new("v", move |setting: &Setting| {
                asked.borrow_mut().push(setting.time);
                Ok(1.0)
            })
        };
        best(&(0..3).map(variant).collect::<Vec<_>>(), &setting(), true).unwrap();
        assert_eq!(*asked.borrow(), [Duration::from_millis(100); 3]);
        best(&(0..100).map(variant).collect::<Vec<_>>(), &setting(), true).unwrap();
        assert_eq!(asked.borrow()[3], LEAST);
    }

    #[test]
    fn a_variant_that_comes_out_wrong_spoils_the_roof_and_one_that_is_not_here_does_not() {
        let mut all = variants(&[("a", 5.0)]);
        all.push(Variant::new("b", |_: &Setting| Err(Missing::Skipped("no such unit".into()))));
        assert_eq!(best(&all, &setting(), true).unwrap().variant.as_deref(), Some("a"));
        assert_eq!(best(&all[1..], &setting(), true), Err(Missing::Skipped("no such unit".into())));
        all.push(Variant::new("c", |_: &Setting| Err(Missing::Failed("wrong".into()))));
        assert_eq!(best(&all, &setting(), true), Err(Missing::Failed("c: wrong".into())));
        all.push(Variant::new("d", |_: &Setting| Err(Missing::Discarded("busy".into()))));
        assert_eq!(best(&all[3..], &setting(), true), Err(Missing::Discarded("busy".into())));
    }
}
