//! `linerate bench`.

mod history;

use super::{Command, parse};
use crate::trouble::{Trouble, print};
use clap::Parser;
use history::History;
use linerate_load::bench::{BENCHES, Bench, Compared, Missing, Setting, Unit, compare, spread};
use linerate_rt::cpus;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub(super) const COMMAND: Command =
    Command { name: "bench", about: "linerate against the machine's roof and its peers, as ratios", alone: false, run };

/// Measure linerate and its peers in turns; a round counts only if the cores' state stays the same. Without names: all.
#[derive(Parser)]
struct Arguments {
    /// Which benches; `linerate bench list` lists them.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Milliseconds that each measurement of linerate takes, 50 to 60000.
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    time: u64,
    /// Rounds wanted that count, 1 to 100.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=100))]
    rounds: u8,
    /// The folder with the script `peer` (bench/peers, if it is there).
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
    /// Print one JSON document, the last line of output.
    #[arg(long)]
    json: bool,
    /// Add each bench's figure to this file, a JSON line each; without it no file is written.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
}

fn run(arguments: &[String]) -> Result<ExitCode, Trouble> {
    let Some(parsed) = parse::<Arguments>(COMMAND.name, arguments)? else { return Ok(ExitCode::SUCCESS) };
    if parsed.names == ["list"] {
        print(&BENCHES.iter().map(|b| format!("{:12} {}\n", b.name, b.about)).collect::<String>());
        return Ok(ExitCode::SUCCESS);
    }
    for name in &parsed.names {
        if !BENCHES.iter().any(|bench| bench.name == name) {
            let names: Vec<_> = BENCHES.iter().map(|bench| bench.name).collect();
            return Err(Trouble::usage(format!("there is no bench '{name}'; give some of {}", names.join(", "))));
        }
    }
    let mut history = parsed.history.as_deref().map(History::open).transpose()?;
    let cores = cpus().first_chunk::<2>().copied().unwrap_or([0, 0]);
    let beside = PathBuf::from("bench/peers");
    let peers = parsed.peers.or_else(|| beside.join("peer").exists().then_some(beside));
    let setting = Setting { cores, time: Duration::from_millis(parsed.time), rounds: parsed.rounds.into(), peers };
    let wanted = |bench: &&Bench| parsed.names.is_empty() || parsed.names.iter().any(|name| name == bench.name);
    let (mut documents, mut failed, mut missed) = (Vec::new(), false, false);
    for bench in BENCHES.iter().filter(wanted) {
        let compared = compare(bench, &setting, |line| eprintln!("{line}"));
        if !parsed.json {
            print(&table(bench, &compared));
        }
        if let Some(history) = &mut history {
            history.add(bench, &compared)?;
        }
        failed |= compared.missing.values().any(|why| matches!(why, Missing::Failed(_)));
        missed |= misses(bench, &compared);
        documents.push(document(bench, &compared));
    }
    if parsed.json {
        // One bench alone says its figure at the top, where scripts that compare two commands look for it.
        let mut all = match &documents[..] {
            [one] => one.as_object().cloned().unwrap_or_default(),
            _ => Map::new(),
        };
        all.insert("schema".into(), json!("linerate.bench"));
        all.insert("version".into(), json!(1));
        all.insert("cores".into(), json!(setting.cores));
        all.insert("benches".into(), Value::Array(documents));
        print(&format!("{}\n", Value::Object(all)));
    }
    Ok(ExitCode::from(if failed {
        1
    } else if missed {
        3
    } else {
        0
    }))
}

/// Whether a figure or a ratio is worse than wanted.
fn misses(bench: &Bench, compared: &Compared) -> bool {
    let own: Vec<f64> = compared.own.iter().map(|figure| figure.value).collect();
    let bound = bench
        .bound
        .zip(spread(&own))
        .is_some_and(|(bound, [median, ..])| if bench.unit.is_rate() { median < bound } else { median > bound });
    bound
        || bench.peers.iter().any(|peer| {
            let ratios = compared.ratios.get(peer.name).and_then(|ratios| spread(ratios));
            peer.wanted.zip(ratios).is_some_and(|(wanted, [median, ..])| median < wanted)
        })
}

fn shown(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Pps => format!("{:.2} Mpps", value / 1e6),
        Unit::Ns => format!("{value:.2} ns"),
        Unit::Bytes => format!("{:.1} MiB", value / 1048576.0),
        Unit::BytesPerSecond => format!("{:.1} GB/s", value / 1e9),
        Unit::Iops => format!("{:.0} kIOPS", value / 1e3),
    }
}

fn table(bench: &Bench, compared: &Compared) -> String {
    let mut text = format!("\n{}: {}\n", bench.name, bench.about);
    let own: Vec<f64> = compared.own.iter().map(|figure| figure.value).collect();
    if let Some([median, least, most]) = spread(&own) {
        let [median, least, most] = [median, least, most].map(|v| shown(bench.unit, v));
        let bound = bench.bound.map(|bound| format!("   wanted: {}", shown(bench.unit, bound))).unwrap_or_default();
        text += &format!("  {:24} {median} ({least} to {most}, {} rounds){bound}\n", "linerate", own.len());
    }
    let trips: Vec<f64> = compared.own.iter().filter_map(|figure| figure.round_trips).flatten().collect();
    if let Some([median, least, most]) = spread(&trips) {
        text += &format!("  {:24} {median:.0} ns ({least:.0} to {most:.0})\n", "core-to-core round trip");
    }
    for peer in bench.peers {
        let (Some(ratios), Some(values)) = (compared.ratios.get(peer.name), compared.peers.get(peer.name)) else {
            continue;
        };
        let (Some([ratio, least, most]), Some([value, ..])) = (spread(ratios), spread(values)) else { continue };
        let wanted = peer.wanted.map(|wanted| format!("   wanted: {wanted}")).unwrap_or_default();
        let value = shown(bench.unit, value);
        text += &format!("  {:24} {value}, linerate is {ratio:.2}x ({least:.2} to {most:.2}){wanted}\n", peer.name);
    }
    for (name, why) in &compared.missing {
        text += &format!("  {name:24} {why}\n");
    }
    if compared.discarded > 0 {
        text += &format!("  {} measurements were thrown away: the cores changed state\n", compared.discarded);
    }
    text
}

fn document(bench: &Bench, compared: &Compared) -> Value {
    let own: Vec<f64> = compared.own.iter().map(|figure| figure.value).collect();
    let peers: Map<String, Value> = bench
        .peers
        .iter()
        .map(|peer| {
            let ratios = compared.ratios.get(peer.name);
            let ratio = ratios.and_then(|ratios| spread(ratios));
            let value = compared.peers.get(peer.name).and_then(|values| spread(values));
            let document = json!({
                "ratio": ratio.map(|r| r[0]), "ratio_least": ratio.map(|r| r[1]), "ratio_greatest": ratio.map(|r| r[2]),
                "rounds": ratios.map_or(0, Vec::len), "value": value.map(|v| v[0]), "wanted": peer.wanted,
                "missing": compared.missing.get(peer.name).map(ToString::to_string),
            });
            (peer.name.to_owned(), document)
        })
        .collect();
    let figure = spread(&own);
    json!({
        "name": bench.name, "value": figure.map(|f| f[0]), "least": figure.map(|f| f[1]), "greatest": figure.map(|f| f[2]),
        "unit": bench.unit.name(), "bound": bench.bound, "rounds": own.len(), "discarded": compared.discarded,
        "round_trips_ns": compared.own.iter().map(|figure| figure.round_trips).collect::<Vec<_>>(),
        "missing": compared.missing.get(bench.name).map(ToString::to_string), "peers": peers,
    })
}
