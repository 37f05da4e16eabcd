//! The run in the format of fio 3's `--output-format=json`: one job that is all targets together, so that scripts which
//! read fio's figures can read these.

use super::run::Facts;
use super::tally::{Tally, float};
use hdrhistogram::Histogram;
use linerate_text::saturating_ns;
use serde_json::{Map, Value, json};

/// The percentiles that fio prints by default.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

pub(super) fn of(facts: &Facts<'_>) -> Value {
    let (all, target) = (&facts.all, &facts.config.targets[0]);
    let runtime = all.elapsed_ns / 1_000_000;
    let wall = linerate_rt::wall();
    let size = target.request_bytes();
    let percent = |time: std::time::Duration| round(time.as_secs_f64() * 100.0 / (float(all.elapsed_ns.max(1)) / 1e9));
    json!({
        "fio version": concat!("linerate-", env!("CARGO_PKG_VERSION")),
        "timestamp": wall.as_secs(),
        "timestamp_ms": saturating_ns(wall) / 1_000_000,
        "time": facts.start.to_string(),
        "global options": {},
        "jobs": [{
            "jobname": facts.config.id.as_deref().unwrap_or("xdd"),
            "groupid": 0,
            "error": if all.errors() > 0 { 5 } else { 0 },
            "eta": 0,
            "elapsed": facts.elapsed.div_ceil(1_000_000_000),
            "job options": {
                "filename": facts.config.targets.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(":"),
                "bs": size.to_string(),
                "iodepth": target.depth.to_string(),
                "rw": all.operation(),
            },
            "read": direction(&all.reads, all.elapsed_ns),
            "write": direction(&all.writes, all.elapsed_ns),
            "trim": direction(&Tally::default(), all.elapsed_ns),
            "job_runtime": runtime,
            "usr_cpu": percent(facts.cpu.0),
            "sys_cpu": percent(facts.cpu.1),
            "total_err": all.errors(),
            "latency_depth": target.depth,
        }],
    })
}

fn direction(tally: &Tally, ns: u64) -> Value {
    let seconds = float(ns) / 1e9;
    let rate = |n: u64| if ns == 0 { 0.0 } else { float(n) / seconds };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate, rounded down as fio has it")]
    let (bytes, kib) = (rate(tally.bytes) as u64, (rate(tally.bytes) / 1024.0) as u64);
    let nothing = json!({"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0});
    json!({
        "io_bytes": tally.bytes,
        "io_kbytes": tally.bytes / 1024,
        "bw_bytes": bytes,
        "bw": kib,
        "iops": round(rate(tally.ops)),
        "runtime": if tally.ops > 0 { ns / 1_000_000 } else { 0 },
        "total_ios": tally.ops,
        "short_ios": 0,
        "drop_ios": tally.errors,
        "slat_ns": nothing,
        "clat_ns": latency(&tally.latency, true),
        "lat_ns": latency(&tally.latency, false),
        "iops_mean": round(rate(tally.ops)),
    })
}

fn latency(latency: &Histogram<u64>, percentiles: bool) -> Value {
    let (min, max) = if latency.is_empty() { (0, 0) } else { (latency.min(), latency.max()) };
    let mut value = json!({
        "min": min, "max": max, "mean": round(latency.mean()), "stddev": round(latency.stdev()), "N": latency.len(),
    });
    if percentiles && !latency.is_empty() {
        let of = |p: f64| (format!("{p:.6}"), Value::from(latency.value_at_quantile(p / 100.0)));
        value["percentile"] = Value::Object(PERCENTILES.map(of).into_iter().collect::<Map<_, _>>());
    }
    value
}

fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
