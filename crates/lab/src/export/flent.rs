//! flent's data file, version 4 of its format: metadata, times, a series for each test with samples.
//!
//! Series of bits a second are in Mbits/s and called as in flent's test `tcp_nup`, so that its plots draw them; others
//! are called as the tests are. `raw_values` has each sample as it is, `results` the same on common times.

use linerate_result::{RunResult, Sample, Test, Unit};
use serde_json::{Map, Value, json};

use super::{Export, ExportError};

pub(super) const EXPORT: Export = Export {
    name: "flent",
    about: "flent's data file of one run with values over time: .flent.gz, or .flent not packed",
    packed: true,
    write,
};

/// Version of the format.
const VERSION: u32 = 4;
/// flent's tests whose plots draw any number of streams, with the beginning of these names: to the server, and from there.
const TESTS: [(&str, &str); 2] = [("tcp_nup", "upload"), ("tcp_ndown", "download")];
/// The greatest number of common times.
const MOST: f64 = 20_000.0;

/// The samples of a test: name, unit, times and values.
struct Series<'a> {
    test: &'a Test,
    name: String,
    unit: String,
    points: Vec<(f64, f64)>,
}

fn write(runs: &[RunResult]) -> Result<String, ExportError> {
    let [run] = runs else {
        let why = "a data file of flent holds one run; export each by itself";
        return Err(ExportError {
            run: runs.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>().join(", "),
            why: why.to_owned(),
        });
    };
    let mut streams = [0; 2];
    let series: Vec<Series<'_>> = run.tests.iter().filter_map(|test| series(test, &mut streams)).collect();
    if series.is_empty() {
        return Err(ExportError::of(run, "no test has values over time; flent has no form for others"));
    }
    let end = series.iter().filter_map(|one| one.points.last()).map(|point| point.0).fold(0.0, f64::max);
    let gaps = series.iter().flat_map(|one| one.points.windows(2)).map(|pair| pair[1].0 - pair[0].0);
    let step = gaps.filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
    let step = if step.is_finite() { step } else { 1.0 }.max(end / MOST);
    let mut times = Vec::new();
    let mut time = 0.0;
    while time <= end + step / 2.0 && (times.len() as f64) <= MOST {
        times.push(time);
        time = step * times.len() as f64;
    }
    let start = run.start.milliseconds() as f64 / 1000.0;
    let (mut results, mut raw, mut about) = (Map::new(), Map::new(), Map::new());
    for one in &series {
        results.insert(one.name.clone(), times.iter().map(|time| at(&one.points, *time, step)).collect());
        let point = |(t, value): &(f64, f64)| json!({"t": start + t, "val": value});
        raw.insert(one.name.clone(), one.points.iter().map(point).collect());
        let mean = one.points.iter().map(|point| point.1).sum::<f64>() / one.points.len() as f64;
        about.insert(
            one.name.clone(),
            json!({"MEAN_VALUE": mean, "UNITS": one.unit, "TEST": one.test.id, "COUNTED_BY": one.test.samples_of}),
        );
    }
    // flent reads times with six digits behind the point.
    let time = run.start.to_string().replace('Z', "000Z");
    let (kernel, release) = run.environment.kernel.as_deref().and_then(|kernel| kernel.split_once(' ')).unzip();
    let parameters =
        TESTS.iter().zip(streams).map(|((_, way), count)| (format!("{way}_streams"), count.to_string().into()));
    let parameters: Map<_, _> = parameters.collect();
    let document = json!({
        "version": VERSION,
        "metadata": {
            "NAME": TESTS[usize::from(streams[0] == 0 && streams[1] > 0)].0, "TITLE": format!("linerate {}", run.run_id), "NOTE": run.command_line.join(" "),
            "TIME": time, "T0": time, "LENGTH": end, "TOTAL_LENGTH": end, "STEP_SIZE": step,
            "LOCAL_HOST": run.environment.host, "KERNEL_NAME": kernel, "KERNEL_RELEASE": release,
            "HOST": Value::Null, "HOSTS": [], "TEST_PARAMETERS": parameters,
            "SERIES_META": about,
        },
        "x_values": times,
        "results": results,
        "raw_values": raw,
    });
    Ok(format!("{document:#}\n"))
}

fn series<'a>(test: &'a Test, streams: &mut [usize; 2]) -> Option<Series<'a>> {
    let unit = test.value.as_ref()?.unit.clone();
    let scale = match unit {
        Unit::BitsPerSecond => Some(1e-6),
        Unit::BytesPerSecond => Some(8e-6),
        _ => None,
    };
    let point = |sample: &Sample| Some((sample.t_s.known()?, sample.value.known()? * scale.unwrap_or(1.0)));
    let mut points: Vec<(f64, f64)> = test.samples.iter().filter_map(point).filter(|point| point.0 >= 0.0).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if points.is_empty() {
        return None;
    }
    let (name, unit) = if scale.is_some() {
        let way = usize::from(test.parameters.get("reverse").is_some_and(|value| value.to_string() == "true"));
        streams[way] += 1;
        (format!("TCP {}::{}", TESTS[way].1, streams[way]), "Mbits/s".to_owned())
    } else {
        (test.id.clone(), unit.name().to_owned())
    };
    Some(Series { test, name, unit, points })
}

/// The value at a time, between its neighbours; `null` before the first and behind the last point.
fn at(points: &[(f64, f64)], time: f64, step: f64) -> Value {
    let behind = points.partition_point(|point| point.0 < time);
    match (behind.checked_sub(1).map(|at| points[at]), points.get(behind)) {
        (Some((t0, v0)), Some(&(t1, v1))) if t1 > t0 => json!(v0 + (v1 - v0) * (time - t0) / (t1 - t0)),
        (None, Some(&(t1, v1))) if t1 - time < step / 2.0 => json!(v1),
        (Some((t0, v0)), None) if time - t0 < step / 2.0 => json!(v0),
        _ => Value::Null,
    }
}
