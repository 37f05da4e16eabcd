//! Measures a point with FCoE: the target in one thread, all initiators and their switch in another.

use super::{Measured, Mix, Point, PointResult, Runner, Wire};
use linerate_load::fcoe::{Medium, Setup, measure};
use linerate_result::PortUsed;
use linerate_rt::{Stop, WaitMode, cpus};
use std::time::Duration;

/// Needs a processor for each of the two threads.
pub(crate) fn runner() -> Result<Box<dyn Runner>, String> {
    let cores = cpus().first_chunk::<2>().copied();
    let cores = cores.ok_or("a sweep needs two processors: the target's and the initiators'; allow it a second one")?;
    Ok(Box::new(Fcoe { cores }))
}

struct Fcoe {
    cores: [usize; 2],
}

/// How long requests go before anything counts.
const WARM: Duration = Duration::from_millis(100);

impl Fcoe {
    fn setup(&self, point: &Point) -> Option<Setup> {
        let narrow = |n: u32| u16::try_from(n).ok();
        let setup = Setup::new(Medium::Null, point.io_bytes, point.mix.reads(), self.cores, point.time);
        Some(Setup {
            initiators: narrow(point.initiators)?,
            luns: narrow(point.luns)?,
            queue_depth: narrow(point.queue_depth)?,
            mtu: point.mtu,
            rate: point.wire.bits_per_s(),
            // A target that waits for its wire does not count as busy.
            wait: WaitMode::Adaptive,
            warm: WARM,
            ..setup
        })
    }
}

impl Runner for Fcoe {
    fn run(&mut self, point: &Point, stop: &Stop) -> PointResult {
        let setup = self.setup(point).ok_or("more initiators, LUNs or requests than there can be; give fewer")?;
        let measured = measure(&setup, stop).map_err(|error| error.to_string())?;
        let rate = point.wire.bits_per_s().map(|rate| format!(",rate={rate}")).unwrap_or_default();
        let name = format!("cable:fcoe-target{{1,mtu={},slots={}{rate}", setup.mtu, setup.slots);
        let path = "a cable to a pausing switch within this process".into();
        Ok(Measured {
            bytes_per_s: measured.bytes_per_s(),
            iops: measured.iops(),
            cpu_percent: Some(100.0 * measured.target.cpu),
            seconds: measured.seconds,
            latency: measured.latency(),
            errors: measured.errors,
            ports: vec![PortUsed { name, path, mtu: Some(point.mtu), ..PortUsed::default() }],
            warnings: warnings(point, &measured),
        })
    }
}

/// Where the initiators' side is the limit, the figure is not the target's.
fn warnings(point: &Point, measured: &linerate_load::fcoe::Measured) -> Vec<String> {
    let target = measured.target.cpu;
    let theirs = point.wire == Wire::Unlimited && measured.initiators.cpu > 0.95 && target < 0.9;
    let reads = match point.mix {
        Mix::Read => "READs",
        Mix::Write => "WRITEs",
        Mix::ReadWrite => "READs and WRITEs",
    };
    let text =
        || format!("{reads}: the initiators' core was busy all the time, the target's {:.0} % of it", 100.0 * target);
    theirs.then(text).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{Form, t5_fcoe};

    #[test]
    fn a_point_is_measured_as_it_is_planned() {
        let Ok(mut runner) = runner() else {
            linerate_skip::skip!("one processor only");
            return;
        };
        let stop = Stop::new().unwrap();
        let plan = t5_fcoe(Form::Quick);
        let time = Duration::from_millis(50);
        let point = plan.points.iter().find(|point| point.id() == "fcoe-10G-readwrite-4096").unwrap();
        let measured = runner.run(&Point { time, ..*point }, &stop).unwrap();
        assert!(measured.iops > 0.0 && measured.errors == 0 && measured.latency.is_some());
        // 10 Gb/s each way: half of the requests go each way.
        assert!(measured.bytes_per_s < 2.0 * 1.25e9, "{measured:?}");
        stop.ask(0);
        assert_eq!(runner.run(point, &stop), Err("stopped".into()));
        let many = Point { initiators: 70_000, ..*point };
        assert!(runner.run(&many, &stop).unwrap_err().contains("give fewer"));
    }
}
