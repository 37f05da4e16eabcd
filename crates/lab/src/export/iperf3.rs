//! Documents like iperf3's `-J`, one a line for each test of a rate in bits or bytes a second. They have what linerate
//! has measured; fields of iperf3 that it has no figure for are left out.

use linerate_result::{Number, Role, RunResult, Test, Unit};
use linerate_text::escaped;
use serde_json::{Map, Value, json};

use super::{Export, ExportError};

pub(super) const EXPORT: Export = Export {
    name: "iperf3",
    about: "documents like iperf3 -J, a line for each test of bits or bytes a second",
    packed: false,
    write,
};

fn write(runs: &[RunResult]) -> Result<String, ExportError> {
    let mut text = String::new();
    for run in runs {
        let before = text.len();
        for document in run.tests.iter().filter_map(|test| document(run, test)) {
            text += &(escaped(&document.to_string()) + "\n");
        }
        if text.len() == before {
            return Err(ExportError::of(
                run,
                "no test has a rate in bits or bytes a second, which iperf3's form needs",
            ));
        }
    }
    Ok(text)
}

fn document(run: &RunResult, test: &Test) -> Option<Value> {
    let value = test.value.as_ref()?;
    let scale = match value.unit {
        Unit::BitsPerSecond => 1.0,
        Unit::BytesPerSecond => 8.0,
        _ => return None,
    };
    let median = value.median.known()? * scale;
    let seconds: f64 =
        test.repeats.iter().filter(|repeat| repeat.valid).filter_map(|repeat| repeat.seconds.known()).sum();
    let parameter = |name: &str| test.parameters.get(name).and_then(linerate_result::Parameter::count);
    let flag = |name: &str| test.parameters.get(name).is_some_and(|value| value.to_string() == "true");
    let udp = test.workload.contains("udp") || test.workload.contains("UDP");
    let mut settings = Map::new();
    settings.insert("protocol".into(), json!(if udp { "UDP" } else { "TCP" }));
    settings.insert("reverse".into(), json!(u8::from(flag("reverse"))));
    for (theirs, ours) in [("num_streams", "streams"), ("blksize", "block_bytes"), ("duration", "duration_s")] {
        settings.extend(parameter(ours).map(|value| (theirs.to_owned(), json!(value))));
    }
    let mut from = 0.0;
    let intervals: Vec<Value> = test
        .samples
        .iter()
        .filter_map(|sample| {
            let (to, rate) = (sample.t_s.known()?, sample.value.known()? * scale);
            let mut sum = sum(from, to, rate);
            // iperf3's word for the end that counts.
            if let Some(end @ (Role::Tx | Role::Rx)) = test.samples_of {
                sum["sender"] = json!(end == Role::Tx);
            }
            from = to;
            Some(json!({"streams": [], "sum": sum}))
        })
        .collect();
    let mut received = sum(0.0, seconds, median);
    let sent = test.further.get("sent").filter(|sent| sent.unit == value.unit).and_then(|sent| sent.median.known());
    let mut sent = sum(0.0, seconds, sent.map_or(median, |sent| sent * scale));
    let further =
        |name: &str, unit: &Unit| test.further.get(name).filter(|of| of.unit == *unit).and_then(|of| of.median.known());
    put(&mut received, "jitter_ms", further("jitter", &Unit::Ns).map(|ns| ns / 1e6));
    put(&mut received, "lost_percent", further("lost", &Unit::PerCent));
    for (sum, ours) in [(&mut sent, "sent_bytes"), (&mut received, "received_bytes")] {
        if let (Some(bytes), Some(rate)) = (test.counters.total(ours), sum["bits_per_second"].as_f64()) {
            // Each end has its own time.
            let seconds = Number::new(8.0 * bytes as f64 / rate);
            (sum["bytes"], sum["seconds"], sum["end"]) = (json!(bytes), json!(seconds), json!(seconds));
        }
    }
    for (of, theirs, ours) in
        [(&mut sent, "retransmits", "retransmits"), (&mut received, "lost_packets", "lost_packets")]
    {
        if let (Some(count), Some(of)) = (test.counters.total(ours), of.as_object_mut()) {
            of.insert(theirs.to_owned(), json!(count));
        }
    }
    let mut end = json!({"streams": [], "sum_sent": sent});
    // An import whose log does not tell what arrived.
    if test.parameters.get("figure").is_none_or(|figure| figure.to_string() != "sent") {
        end["sum_received"] = received;
    }
    let cpu = [("host_total", "cpu_client"), ("remote_total", "cpu_server")]
        .into_iter()
        .filter_map(|(theirs, ours)| Some((theirs.to_owned(), json!(further(ours, &Unit::PerCent)?))))
        .collect::<Map<_, _>>();
    if !cpu.is_empty() {
        end["cpu_utilization_percent"] = Value::Object(cpu);
    }
    // As `uname` has it, of which only this much is known.
    let (host, kernel) = (run.environment.host.as_deref(), run.environment.kernel.as_deref());
    let system = kernel.and_then(|kernel| kernel.split_once(' ')).zip(host);
    let system = system.map(|((system, release), host)| format!("{system} {host} {release}"));
    Some(json!({
        "start": {
            "connected": [],
            "version": format!("linerate {}", run.environment.linerate.as_deref().unwrap_or("")).trim_end(),
            "system_info": system,
            "timestamp": {"timesecs": run.start.milliseconds() / 1000},
            "test_start": settings,
            "linerate": {"run": run.run_id, "test": test.id},
        },
        "intervals": intervals,
        "end": end,
    }))
}

/// A rate over a stretch of time. The bytes follow from both.
fn sum(from: f64, to: f64, rate: f64) -> Value {
    let bytes = Number::new(rate * (to - from) / 8.0).known().map(f64::round);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded, and checked")]
    let bytes = bytes.filter(|bytes| (0.0..9e15).contains(bytes)).map(|bytes| bytes as u64);
    json!({"start": from, "end": to, "seconds": to - from, "bytes": bytes, "bits_per_second": rate, "omitted": false})
}

fn put(object: &mut Value, name: &str, value: Option<f64>) {
    if let (Some(value), Some(object)) = (value, object.as_object_mut()) {
        object.insert(name.to_owned(), json!(value));
    }
}
