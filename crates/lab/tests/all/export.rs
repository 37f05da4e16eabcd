//! Tests of exports and forms of the report.

use linerate_lab::export::EXPORTS;
use linerate_lab::import;
use linerate_lab::report::FORMS;
use linerate_result::{Role, RunResult, Timestamp};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read as _;

fn text(form: &str, runs: &[RunResult]) -> Result<String, String> {
    let row = EXPORTS.iter().find(|row| row.name == form).unwrap();
    row.text(runs).map_err(|e| e.to_string())
}

fn iperf3() -> RunResult {
    let log = include_str!("../logs/iperf3-tcp.json");
    import::read("iperf3-tcp.json", log, None, Timestamp::default(), &[]).unwrap().remove(0)
}

/// Rows of a table by RFC 4180.
fn parsed(csv: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = csv.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => cell.push(letters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(!quoted && cell.is_empty() && row.is_empty());
    rows
}

#[test]
fn the_document_is_read_again_alone_and_among_others() {
    let runs = [crate::sample::passed(), crate::sample::failed()];
    assert_eq!(RunResult::from_json(&text("json", &runs[..1]).unwrap()).unwrap(), runs[0]);
    let lines = text("json", &runs).unwrap();
    let read: Vec<RunResult> = lines.lines().map(|line| RunResult::from_json(line).unwrap()).collect();
    assert_eq!(read, runs);
}

#[test]
fn the_table_has_a_row_for_each_figure_repeat_and_sample() {
    let mut run = crate::sample::passed();
    run.tests[0].parameters.insert("note".to_owned(), "a,\"b\"\nc".into());
    let rows = parsed(&text("csv", std::slice::from_ref(&run)).unwrap());
    assert_eq!(rows[0], ["run", "test", "parameters", "metric", "n", "t_s", "unit", "value"]);
    assert!(rows.iter().all(|row| row.len() == 8));
    let of =
        |test: &str, metric: &str| rows.iter().filter(|row| row[1] == test && row[3] == metric).collect::<Vec<_>>();
    for test in &run.tests {
        assert_eq!(of(&test.id, "sample").len(), test.samples.len(), "{}", test.id);
        assert_eq!(of(&test.id, "repeat").len() + of(&test.id, "discarded").len(), test.repeats.len(), "{}", test.id);
    }
    let test = &run.tests[0];
    let median = of(&test.id, "median")[0];
    assert_eq!((median[6].as_str(), median[7].parse().ok()), ("pps", test.value.as_ref().unwrap().median.known()));
    assert!(median[2].contains("note=a,\"b\"\nc") && median[2].contains("burst=512"), "{median:?}");
    let sample = of(&test.id, "sample")[7];
    assert_eq!(
        (sample[5].parse().ok(), sample[7].parse().ok()),
        (test.samples[7].t_s.known(), test.samples[7].value.known())
    );
    assert_eq!(of("latency-64", "latency 99 %")[0][7], "640");
    assert!(
        text("csv", &[RunResult::new("x".into(), Vec::new(), Timestamp::default())]).unwrap_err().contains("run x")
    );
}

#[test]
fn flents_file_has_metadata_times_and_a_series_for_each_test() {
    let row = EXPORTS.iter().find(|row| row.name == "flent").unwrap();
    let run = iperf3();
    let packed = row.bytes(std::slice::from_ref(&run), Some("x.flent.gz")).unwrap();
    let mut unpacked = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked.as_bytes(), row.bytes(std::slice::from_ref(&run), Some("x.flent")).unwrap());
    assert_eq!(packed, row.bytes(std::slice::from_ref(&run), None).unwrap(), "as its readers expect it");
    let document: Value = serde_json::from_str(&unpacked).unwrap();
    assert_eq!(
        (&document["version"], &document["metadata"]["TIME"]),
        (&4.into(), &"2026-11-26T07:08:04.000000Z".into())
    );
    let times = document["x_values"].as_array().unwrap();
    let series = document["results"]["TCP upload::1"].as_array().unwrap();
    assert_eq!((times.len(), series.len()), (3, 3), "{times:?}");
    // The first sample is that of the first second, and 1 ms late.
    assert!((series[1].as_f64().unwrap() - 23_692.703).abs() < 20.0, "{series:?}");
    let raw = document["raw_values"]["TCP upload::1"].as_array().unwrap();
    assert_eq!((raw.len(), raw[0]["val"].as_f64().unwrap().round()), (2, 23693.0));
    assert!(raw[0]["t"].as_f64().unwrap() > 1_795_676_884.0);
    assert_eq!(document["metadata"]["SERIES_META"]["TCP upload::1"]["UNITS"], "Mbits/s");
    for (runs, words) in [
        (vec![run.clone(), run], "one run"),
        (vec![RunResult::new("x".into(), Vec::new(), Timestamp::default())], "over time"),
    ] {
        let error = row.text(&runs).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn what_each_end_counted_is_exported_as_it_was() {
    // As over a slow link: the sender is done before the receiver.
    let log = include_str!("../logs/iperf3-udp.json");
    let of = |text: &str| -> Vec<[f64; 2]> {
        let document: Value = serde_json::from_str(text).unwrap();
        let ends = ["sum_sent", "sum_received"];
        ends.map(|end| ["bytes", "seconds"].map(|field| document["end"][end][field].as_f64().unwrap())).to_vec()
    };
    let run = import::read("x", log, None, Timestamp::default(), &[]).unwrap().remove(0);
    let mut slow = run.clone();
    slow.tests[0].further.get_mut("sent").unwrap().median = 2e6.into();
    slow.tests[0].counters.add(None, "sent_bytes".to_owned(), 1_000_000);
    let (there, here) = (of(log), of(&text("iperf3", &[slow]).unwrap()));
    assert_eq!(here[1][0], there[1][0]);
    assert_eq!(here[0], [there[0][0] + 1e6, 8.0 * (there[0][0] + 1e6) / 2e6]);
}

#[test]
fn what_the_server_sends_is_a_download_in_flents_file() {
    let row = EXPORTS.iter().find(|row| row.name == "flent").unwrap();
    for (log, test, streams) in [
        (include_str!("../logs/iperf3-r.json"), "tcp_ndown", vec!["TCP download::1"]),
        (include_str!("../logs/iperf3-bidir.json"), "tcp_nup", vec!["TCP download::1", "TCP upload::1"]),
    ] {
        let run = import::read("x", log, None, Timestamp::default(), &[]).unwrap().remove(0);
        let document: Value = serde_json::from_slice(&row.bytes(&[run], Some("x.flent")).unwrap()).unwrap();
        assert_eq!(document["metadata"]["NAME"], test);
        assert_eq!(document["results"].as_object().unwrap().keys().collect::<Vec<_>>(), streams);
    }
}

/// Regression: intervals that the sender had counted stood beside what arrived, and nothing told them apart.
#[test]
fn each_form_tells_which_end_counted_the_samples() {
    for (log, end, sends) in [
        (include_str!("../logs/iperf3-tcp.json"), Role::Tx, true),
        (include_str!("../logs/iperf3-r.json"), Role::Rx, false),
    ] {
        let run = import::read("x", log, None, Timestamp::default(), &[]).unwrap().remove(0);
        assert_eq!(run.tests[0].samples_of, Some(end));
        assert_eq!(RunResult::from_json(&run.to_json()).unwrap().tests[0].samples_of, Some(end));
        let table = text("csv", std::slice::from_ref(&run)).unwrap();
        let word = if sends { ",sample of the sender," } else { ",sample of the receiver," };
        assert_eq!(table.matches(word).count(), run.tests[0].samples.len(), "{table}");
        let document: Value = serde_json::from_str(&text("iperf3", &[run]).unwrap()).unwrap();
        assert_eq!(document["intervals"][0]["sum"]["sender"], sends);
    }
}

#[test]
fn what_arrived_is_not_exported_where_it_is_not_known() {
    let log = include_str!("../logs/iperf3-tcp.json").replace("\"sum_received\"", "\"sum_of_others\"");
    let run = import::read("x", &log, None, Timestamp::default(), &[]).unwrap().remove(0);
    let documents = text("iperf3", std::slice::from_ref(&run)).unwrap();
    assert!(documents.contains("sum_sent") && !documents.contains("sum_received"), "{documents}");
    let again = import::read("x", &documents, None, Timestamp::default(), &[]).unwrap().remove(0);
    assert_eq!(again.tests[0].value.as_ref().unwrap().median, run.tests[0].value.as_ref().unwrap().median);
    assert!(again.tests[0].warnings[0].contains("what was sent"), "{:?}", again.tests[0].warnings);
}

#[test]
fn documents_like_iperf3s_are_read_as_iperf3s_again() {
    let run = iperf3();
    let document = text("iperf3", std::slice::from_ref(&run)).unwrap();
    let again = import::read("x", &document, None, Timestamp::default(), &[]).unwrap().remove(0);
    let (one, other) = (&run.tests[0], &again.tests[0]);
    assert_eq!(
        (&one.value, &one.samples, one.further.get("sent")),
        (&other.value, &other.samples, other.further.get("sent"))
    );
    assert_eq!(
        (run.start, &run.environment.host, &run.environment.kernel),
        (again.start, &again.environment.host, &again.environment.kernel)
    );
    for name in ["streams", "block_bytes", "reverse", "protocol"] {
        assert_eq!(one.parameters.get(name), other.parameters.get(name), "{name}");
    }
    assert_eq!(one.counters.total("retransmits"), other.counters.total("retransmits"));
    let error = text("iperf3", &[crate::sample::passed()]).unwrap_err();
    assert!(error.contains("run 7e57da7a") && error.contains("bits or bytes a second"), "{error}");
}

/// Lines of Prometheus' text format: its comments, then `name{label="value",…} number`.
pub(crate) fn check_prometheus(text: &str) -> BTreeMap<String, usize> {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
    let (mut families, mut now): (BTreeMap<String, usize>, String) = (BTreeMap::new(), String::new());
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            now = help.split(' ').next().unwrap().to_owned();
            assert!(is_name(&now) && families.insert(now.clone(), 0).is_none(), "a family twice: {line}");
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            assert_eq!(kind, format!("{now} gauge"));
            continue;
        }
        let (name, rest) = line.split_once('{').unwrap_or_else(|| panic!("{line}"));
        assert_eq!(name, now, "{line}");
        let (labels, value) = rest.rsplit_once("} ").unwrap_or_else(|| panic!("{line}"));
        assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
        let mut rest = labels;
        while !rest.is_empty() {
            let (label, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            assert!(is_name(label), "{line}");
            let mut end = None;
            let mut escaped = false;
            for (at, c) in value.char_indices() {
                match c {
                    _ if escaped => {
                        assert!(matches!(c, '\\' | '"' | 'n'), "{line}");
                        escaped = false;
                    }
                    '\\' => escaped = true,
                    '"' => {
                        end = Some(at);
                        break;
                    }
                    _ => {}
                }
            }
            rest = value[end.unwrap_or_else(|| panic!("{line}")) + 1..].trim_start_matches(',');
        }
        *families.get_mut(&now).unwrap() += 1;
    }
    families
}

#[test]
fn prometheus_reads_base_units_and_escaped_labels() {
    let mut run = crate::sample::passed();
    run.command_line.push("a\\b\"c\nd".to_owned());
    let text = text("prometheus", &[run, crate::sample::failed()]).unwrap();
    let families = check_prometheus(&text);
    assert_eq!(families["linerate_run_info"], 2);
    assert!(
        families["linerate_test_packets_per_second"] >= 60 && families["linerate_test_seconds"] > 8,
        "{families:?}"
    );
    assert!(text.contains("a\\\\b\\\"c\\nd") && text.contains("statistic=\"99 %\"} 0.00000064"), "{text}");
}

#[test]
fn every_form_of_the_report_is_made_or_says_why_not() {
    let run = crate::sample::passed();
    let form = |name: &str, run: &RunResult| (FORMS.iter().find(|row| row.name == name).unwrap().render)(run);
    let md = form("md", &run).unwrap();
    let rows: Vec<&str> = md.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(md.starts_with("# 5") && rows.len() > 20, "{md}");
    assert!(
        md.contains("| Test | Frame | Median |") && md.contains("## Skipped") && md.contains("Sample Processor T-1000"),
        "{md}"
    );
    // A table's rows have its columns; a bar in a cell is escaped.
    for table in md.split("\n\n").filter(|part| part.starts_with("| ")) {
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        let wanted = bars(table.lines().next().unwrap());
        assert!(table.lines().all(|line| bars(line) == wanted), "{table}");
    }
    let svg = form("svg", &run).unwrap();
    assert!(svg.starts_with("<?xml") && svg.matches("<svg").count() > 3 && svg.ends_with("</svg>"), "{}", &svg[..200]);
    assert!(svg.contains("Rate over time") && !svg.contains("<script"));
    let empty = RunResult::new("x".to_owned(), Vec::new(), Timestamp::default());
    assert!(form("svg", &empty).unwrap_err().contains("enough points"));
    assert!(form("csv", &run).unwrap().starts_with("run,test,"));
    assert!(form("html", &run).unwrap().starts_with("<!DOCTYPE html>"));
}

/// The drawing is XML by a parser that knows nothing of us.
#[test]
fn the_drawing_is_xml() {
    if !linerate_skip::is_installed("python3") {
        linerate_skip::skip!("python3 is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.svg");
    let form = FORMS.iter().find(|row| row.name == "svg").unwrap();
    std::fs::write(&path, (form.render)(&crate::sample::passed()).unwrap()).unwrap();
    let check = "import sys, xml.etree.ElementTree as t; sys.exit(0 if t.parse(sys.argv[1]).getroot().tag.endswith('svg') else 1)";
    let out = std::process::Command::new("python3").args(["-c", check]).arg(&path).output().unwrap();
    assert!(out.status.success(), "{out:?}");
}
