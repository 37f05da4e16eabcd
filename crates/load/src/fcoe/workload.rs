//! FCoE's row in the table of workloads.

use super::{Measured, Medium, Mix, Setup, Wire, measure};
use crate::parameters::{count, word};
use crate::workload::{Job, ParameterRow, Workload};
use linerate_result::{Parameters, PortUsed, Repeat, Summary, Test, Unit};
use linerate_rt::{Stop, WaitMode, cpus};
use std::time::Duration;

pub const WORKLOAD: Workload = Workload::new(
    ("fcoe", "an FCoE target and initiators in this process, between them a cable and, for several, a pausing switch"),
    parameters,
    needs,
    &[("throughput", Unit::BytesPerSecond), ("iops", Unit::Iops), ("cpu", Unit::PerCent)],
    prepare,
);

/// Duration of the load before anything counts.
const WARM: Duration = Duration::from_millis(100);

fn parameters() -> Vec<ParameterRow> {
    let rows = [
        ("io_bytes", "N", "bytes of a request: a multiple of 512"),
        ("op", "read|write|readwrite", "what requests do"),
        ("wire", "unlimited|10G|40G", "the target's wire, each way (unlimited)"),
        ("queue_depth", "N", "requests under way at once on each LUN (16)"),
        ("initiators", "N", "initiators that work at once (1)"),
        ("luns", "N", "LUNs of all initiators together (4)"),
        ("mtu", "N", "the largest layer 3 packet, bytes (2180)"),
        ("time_ms", "N", "how long is measured (1000)"),
    ];
    rows.map(|(name, value, about)| ParameterRow { name: name.into(), value: value.into(), about: about.into() }).into()
}

/// Checks that there is a processor for each of the two threads.
fn needs() -> Result<(), String> {
    cores().map(drop)
}

fn cores() -> Result<[usize; 2], String> {
    let two = cpus().first_chunk::<2>().copied();
    two.ok_or_else(|| "FCoE needs two processors: the target's and the initiators'; allow it a second one".to_owned())
}

fn prepare(all: &Parameters) -> Result<Job, String> {
    let mix = word(all, "op", Mix::parse, &Mix::ALL.map(Mix::word))?.ok_or("op: give read, write or readwrite")?;
    let wire = word(all, "wire", Wire::parse, &Wire::ALL.map(Wire::word))?.unwrap_or(Wire::Unlimited);
    if !all.contains_key("io_bytes") {
        return Err("io_bytes: give bytes of a request".to_owned());
    }
    let number =
        |name, most: u32, unsaid| count(all, name, 1..=most.into(), unsaid).map(|n| u32::try_from(n).unwrap_or(most));
    let narrow = |name, most: u16, unsaid| number(name, most.into(), unsaid).map(|n| u16::try_from(n).unwrap_or(most));
    let (initiators, luns) = (narrow("initiators", 16, 1)?, narrow("luns", 1024, 4)?);
    if luns % initiators != 0 {
        return Err(format!("luns: {luns} cannot be shared by {initiators} initiators; give a multiple of it"));
    }
    let time = Duration::from_millis(number("time_ms", 3_600_000, 1000)?.into());
    let setup = Setup::new(Medium::Null, number("io_bytes", 8 << 20, 0)?, mix.reads(), cores()?, time);
    let setup = Setup {
        initiators,
        luns: luns / initiators,
        queue_depth: narrow("queue_depth", 256, 16)?,
        mtu: number("mtu", 65_535, 2180)?,
        rate: wire.bits_per_s(),
        // A target that waits for its wire does not count as busy.
        wait: WaitMode::Adaptive,
        warm: WARM,
        ..setup
    };
    let does = format!(
        "target and {initiators} initiators in this process, {luns} LUNs of no medium, {}, MTU {}, {} ms",
        wire.title(),
        setup.mtu,
        time.as_millis()
    );
    Ok(Job::new(does, move |stop: &Stop| {
        let measured = measure(&setup, stop).map_err(|error| error.to_string())?;
        Ok(test(&setup, mix, wire, &measured))
    }))
}

fn test(setup: &Setup, mix: Mix, wire: Wire, measured: &Measured) -> Test {
    let rate = setup.rate.map(|rate| format!(",rate={rate}")).unwrap_or_default();
    let name = format!("cable:fcoe-target{{1,mtu={},slots={}{rate}", setup.mtu, setup.slots);
    let path = "a cable to a pausing switch within this process".into();
    let failure = (measured.errors > 0).then(|| format!("{} requests failed", measured.errors));
    let mut test = Test {
        workload: WORKLOAD.name.to_owned(),
        ports: vec![PortUsed { name, path, mtu: Some(setup.mtu), ..PortUsed::default() }],
        repeats: vec![Repeat {
            value: measured.bytes_per_s().into(),
            seconds: measured.seconds.into(),
            valid: failure.is_none(),
            why_invalid: failure.clone(),
            ..Repeat::default()
        }],
        latency: measured.latency(),
        failures: failure.into_iter().collect(),
        warnings: warnings(mix, wire, measured),
        ..Test::default()
    };
    test.summarize(Unit::BytesPerSecond);
    test.counters.add(None, "errors", measured.errors);
    let cpu = 100.0 * measured.target.cpu;
    for (name, value, unit) in [("iops", measured.iops(), Unit::Iops), ("cpu", cpu, Unit::PerCent)] {
        test.further.insert(name.to_owned(), Summary::once(value, unit));
    }
    test
}

/// Warnings of a measurement, such as one limited by the initiators, whose figure is not the target's.
fn warnings(mix: Mix, wire: Wire, measured: &Measured) -> Vec<String> {
    let target = measured.target.cpu;
    let theirs = wire == Wire::Unlimited && measured.initiators.cpu > 0.95 && target < 0.9;
    let reads = match mix {
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
    use linerate_result::parameters;

    #[test]
    fn a_point_is_measured_as_it_is_asked_for() {
        if let Err(why) = needs() {
            linerate_skip::skip!("{why}");
            return;
        }
        let stop = Stop::new().unwrap();
        let mut asked = parameters([
            ("io_bytes", 4096_u32.into()),
            ("op", "readwrite".into()),
            ("wire", "10G".into()),
            ("initiators", 4_u32.into()),
            ("luns", 48_u32.into()),
        ]);
        // On a busy machine no request may end within a short time.
        let test = [50_u32, 500, 5000, 50_000].into_iter().find_map(|ms| {
            asked.insert("time_ms".into(), ms.into());
            let test = WORKLOAD.measure(&asked, &stop).unwrap();
            (test.further["iops"].median.known() > Some(0.0)).then_some(test)
        });
        let test = test.expect("no request ends");
        let value = |summary: &Summary| summary.median.known().unwrap();
        assert!(test.failures.is_empty() && test.latency.is_some());
        // 10 Gb/s in each direction: half of the requests go in each.
        assert!(value(test.value.as_ref().unwrap()) < 2.0 * 1.25e9, "{test:?}");
        assert!(test.ports[0].name.ends_with(",rate=10000000000") && test.ports[0].mtu == Some(2180));
        stop.ask(0);
        assert_eq!(WORKLOAD.measure(&asked, &stop), Err("stopped".into()));
        asked.insert("luns".into(), 47_u32.into());
        assert!(WORKLOAD.measure(&asked, &stop).unwrap_err().contains("give a multiple"));
        asked.insert("initiators".into(), 70_000_u32.into());
        assert_eq!(WORKLOAD.measure(&asked, &stop).unwrap_err(), "initiators: give a number from 1 to 16");
    }
}
