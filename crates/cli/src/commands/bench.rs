//! `linerate bench`.

use super::shared::{ended, file, stop_at_signals};
use super::{Command, parsed};
use crate::print::print;
use crate::progress::Progress;
use crate::trouble::Trouble;
use clap::builder::PossibleValuesParser;
use clap::{CommandFactory, Parser};
use linerate_lab::history::{History, HistoryError};
use linerate_lab::progress::{Step, Steps};
use linerate_load::bench::{BENCHES, Bench, Compared, Missing, Setting, Unit, compare, spread};
use linerate_result::Counted;
use linerate_rt::cpus;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub(super) const COMMAND: Command = Command::by_clap("bench", Arguments::command, |matches, _| run(parsed(matches)?));

/// Measure linerate against the machine's roof and its peers, as ratios.
///
/// They are measured in turns; a round counts only if the cores' state stays the same. Without names: all. Ctrl-C ends it
/// early, with the rounds that were measured.
#[derive(Parser)]
#[command(
    after_help = "Exit codes: 0 measured, 1 a measurement failed or the history could not be written, 2 wrong on the \
                        command line, 3 a figure or a ratio is worse than wanted, 128+n ended early by signal n"
)]
struct Arguments {
    /// Which benches; `linerate bench list` lists them.
    #[arg(value_name = "NAME", value_parser = known())]
    names: Vec<String>,
    /// Milliseconds that each measurement of linerate takes, 50 to 60000.
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    time: u64,
    /// Rounds wanted that count, 1 to 100.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=100))]
    rounds: u8,
    /// The folder with the script `peer` (bench/peers, if it is there).
    #[arg(long, value_name = "DIR", value_parser = file)]
    peers: Option<PathBuf>,
    /// Print one JSON document, the last line of output.
    #[arg(long)]
    json: bool,
    /// Add the figure of each bench that was not cut short to this file, a JSON line each; without it no file is written.
    #[arg(long, value_name = "FILE", value_parser = file)]
    history: Option<PathBuf>,
}

/// Every bench, and `list`.
fn known() -> PossibleValuesParser {
    PossibleValuesParser::new(BENCHES.iter().map(|bench| bench.name).chain(["list"]))
}

fn run(parsed: Arguments) -> Result<ExitCode, Trouble> {
    if parsed.names.iter().any(|name| name == "list") {
        print(&BENCHES.iter().map(|b| format!("{:12} {}\n", b.name, b.about)).collect::<String>());
        return Ok(ExitCode::SUCCESS);
    }
    let mut history = parsed.history.as_deref().map(History::open).transpose()?;
    let cores = cpus().first_chunk::<2>().copied().unwrap_or([0, 0]);
    let beside = PathBuf::from("bench/peers");
    let peers = parsed.peers.or_else(|| beside.join("peer").exists().then_some(beside));
    let setting = Setting { cores, time: Duration::from_millis(parsed.time), rounds: parsed.rounds.into(), peers };
    let wanted = |bench: &&Bench| parsed.names.is_empty() || parsed.names.iter().any(|name| name == bench.name);
    let benches: Vec<&Bench> = BENCHES.iter().filter(wanted).collect();
    let stop = stop_at_signals()?;
    let progress = RefCell::new(Progress::new());
    let mut tell = |step: &Step| progress.borrow_mut().step(step);
    let mut steps = Steps::new(vec![1.0; benches.len()], &mut tell);
    let (mut documents, mut failed, mut missed, mut unwritten) = (Vec::new(), false, false, None);
    for bench in &benches {
        if stop.asked() {
            break;
        }
        steps.next(bench.name);
        let compared = compare(bench, &setting, &stop, |line| steps.within(line));
        progress.borrow_mut().clear();
        steps.figure(figure(bench, &compared));
        if !parsed.json {
            print(&table(bench, &compared));
        }
        // What was cut short has fewer rounds than its neighbours in the history.
        if let Some(history) = history.as_mut().filter(|_| !stop.asked()) {
            unwritten = unwritten.or(history.add(bench, &compared).err());
        }
        failed |= compared.missing.values().any(|why| matches!(why, Missing::Failed(_)));
        missed |= compared.misses(bench);
        documents.push(document(bench, &compared));
    }
    let partial = stop.asked().then(|| format!("partial: stopped in bench {} of {}", documents.len(), benches.len()));
    if parsed.json {
        // One bench alone says its figure at the top, where scripts that compare two commands look for it.
        let mut all = match &documents[..] {
            [one] if benches.len() == 1 => one.as_object().cloned().unwrap_or_default(),
            _ => Map::new(),
        };
        all.insert("schema".into(), json!("linerate.bench"));
        all.insert("version".into(), json!(1));
        all.insert("cores".into(), json!(setting.cores));
        all.insert("signal".into(), json!(stop.signal()));
        all.insert("benches".into(), Value::Array(documents));
        print(&format!("{}\n", Value::Object(all)));
    } else if let Some(partial) = partial {
        print(&format!("\n{partial}\n"));
    }
    if let Some(trouble) = unwritten {
        return Err(trouble.into());
    }
    Ok(match (stop.asked(), failed, missed) {
        (true, ..) => ended(&stop),
        (false, true, _) => ExitCode::FAILURE,
        (false, false, true) => ExitCode::from(3),
        (false, false, false) => ExitCode::SUCCESS,
    })
}

impl From<HistoryError> for Trouble {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Open { .. } => Self::usage(error.to_string()),
            HistoryError::Write { .. } => Self::failed(error.to_string()),
        }
    }
}

/// linerate's figure in a few words.
fn figure(bench: &Bench, compared: &Compared) -> String {
    let own: Vec<f64> = compared.own.iter().map(|figure| figure.value).collect();
    let value = spread(&own).map_or_else(|| "none".to_owned(), |[median, ..]| shown(bench.unit, median));
    format!("{}: {value}", bench.name)
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

/// `3 of 5 rounds`, and whether that is few.
fn rounds(counted: Counted) -> String {
    let only = if counted.few() { "only " } else { "" };
    format!("{only}{counted} rounds")
}

fn table(bench: &Bench, compared: &Compared) -> String {
    let mut text = format!("\n{}: {}\n", bench.name, bench.about);
    if let Some([median, least, most]) = compared.own_spread() {
        let [median, least, most] = [median, least, most].map(|v| shown(bench.unit, v));
        let bound = bench.bound.map(|bound| format!("   wanted: {}", shown(bench.unit, bound))).unwrap_or_default();
        let rounds = rounds(compared.counted());
        text += &format!("  {:24} {median} ({least} to {most}; {rounds}){bound}\n", "linerate");
    } else if compared.made > 0 {
        text += &format!("  {:24} no figure: {}\n", "linerate", rounds(compared.counted()));
    } else if compared.missing.is_empty() {
        text += "  no round was measured to its end\n";
    }
    let trips: Vec<f64> = compared.own.iter().filter_map(|figure| figure.round_trips).flatten().collect();
    if let Some([median, least, most]) = spread(&trips) {
        text += &format!("  {:24} {median:.0} ns ({least:.0} to {most:.0})\n", "core-to-core round trip");
    }
    for peer in bench.peers {
        let value = compared.peers.get(peer.name).and_then(|values| spread(values));
        let (Some([ratio, least, most]), Some([value, ..])) = (compared.ratio_of(peer), value) else {
            let counted = compared.counted_of(peer);
            if counted.made > 0 {
                text += &format!("  {:24} no figure: {}\n", peer.name, rounds(counted));
            }
            continue;
        };
        let value = shown(bench.unit, value);
        let rounds = rounds(compared.counted_of(peer));
        let wanted = if compared.is_valid(peer) {
            peer.wanted.map(|wanted| format!("   wanted: {wanted}")).unwrap_or_default()
        } else {
            "   roof not valid: nothing is faster than a roof".to_owned()
        };
        text += &format!(
            "  {:24} {value}, linerate is {ratio:.2}x ({least:.2} to {most:.2}; {rounds}){wanted}\n",
            peer.name
        );
        if let Some(variant) = compared.variant_of(peer) {
            text += &format!("  {:24} best of its variants: {variant}\n", "");
        }
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
    let peers: Map<String, Value> = bench
        .peers
        .iter()
        .map(|peer| {
            let ratio = compared.ratio_of(peer);
            let value = compared.peers.get(peer.name).and_then(|values| spread(values));
            let counted = compared.counted_of(peer);
            let document = json!({
                "ratio": ratio.map(|r| r[0]), "ratio_least": ratio.map(|r| r[1]), "ratio_greatest": ratio.map(|r| r[2]),
                "rounds": counted.counted, "made": counted.made, "few": counted.few(), "value": value.map(|v| v[0]),
                "wanted": peer.wanted, "roof": peer.is_roof(), "variant": compared.variant_of(peer),
                "valid": compared.is_valid(peer), "missing": compared.missing.get(peer.name).map(ToString::to_string),
            });
            (peer.name.to_owned(), document)
        })
        .collect();
    let (figure, counted) = (compared.own_spread(), compared.counted());
    json!({
        "name": bench.name, "value": figure.map(|f| f[0]), "least": figure.map(|f| f[1]), "greatest": figure.map(|f| f[2]),
        "unit": bench.unit.name(), "bound": bench.bound, "rounds": counted.counted, "made": counted.made,
        "few": counted.few(), "discarded": compared.discarded,
        "round_trips_ns": compared.own.iter().map(|figure| figure.round_trips).collect::<Vec<_>>(),
        "missing": compared.missing.get(bench.name).map(ToString::to_string), "peers": peers,
    })
}

#[cfg(test)]
mod tests {
    use super::{document, table};
    use linerate_load::bench::{Bench, Compared, Figure, How, Peer, Unit};

    const BENCH: Bench = Bench {
        name: "b",
        about: "something",
        unit: Unit::BytesPerSecond,
        two_cores: false,
        bound: None,
        run: |_| Ok(1.0),
        peers: &[
            Peer { name: "memcpy", how: How::Best(Vec::new), wanted: Some(0.6) },
            Peer { name: "peer", how: How::Own(|_| Ok(1.0)), wanted: Some(0.6) },
        ],
    };

    /// Rounds of linerate, and ratios to both peers; seven rounds were made.
    fn compared(own: &[f64], ratios: &[f64]) -> Compared {
        let both = |values: &[f64]| ["memcpy", "peer"].map(|name| (name, values.to_vec())).into();
        Compared {
            own: own.iter().map(|&value| Figure { value, round_trips: None }).collect(),
            made: 7,
            ratios: both(ratios),
            peers: both(&vec![20e9; ratios.len()]),
            peers_made: [("memcpy", 5), ("peer", 5)].into(),
            variants: [("memcpy", vec!["rep movsb, 4 KiB at a time".to_owned(); ratios.len()])].into(),
            ..Compared::default()
        }
    }

    #[test]
    fn medians_stand_with_their_spread_and_how_many_rounds_counted() {
        let all = compared(&[3e9, 1e9, 2e9, 9e9, 2e9], &[0.7, 0.6, 0.9]);
        let text = table(&BENCH, &all);
        assert!(text.contains("2.0 GB/s (1.0 GB/s to 9.0 GB/s; 5 of 7 rounds)\n"), "{text}");
        assert!(text.contains("20.0 GB/s, linerate is 0.70x (0.60 to 0.90; 3 of 5 rounds)   wanted: 0.6\n"), "{text}");
        assert!(text.contains("best of its variants: rep movsb, 4 KiB at a time\n"), "{text}");
        let few = table(&BENCH, &compared(&[3e9, 1e9], &[0.7]));
        assert!(few.contains("; only 2 of 7 rounds)") && few.contains("; only 1 of 5 rounds)"), "{few}");
        let document = document(&BENCH, &all);
        assert_eq!((&document["rounds"], &document["made"], &document["few"]), (&5.into(), &7.into(), &false.into()));
        let peer = &document["peers"]["memcpy"];
        assert_eq!((&peer["rounds"], &peer["made"], &peer["valid"]), (&3.into(), &5.into(), &true.into()));
        assert_eq!(peer["variant"], "rep movsb, 4 KiB at a time");
    }

    #[test]
    fn what_was_measured_in_vain_is_said() {
        let text = table(&BENCH, &Compared { made: 4, peers_made: [("peer", 2)].into(), ..Compared::default() });
        assert!(text.contains("linerate                 no figure: only 0 of 4 rounds\n"), "{text}");
        assert!(text.contains("peer                     no figure: only 0 of 2 rounds\n"), "{text}");
    }

    #[test]
    fn a_roof_that_is_passed_is_said_to_be_not_valid() {
        let all = compared(&[3e9; 3], &[9.35; 3]);
        let text = table(&BENCH, &all);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("9.35x")).collect();
        assert!(lines[0].contains("memcpy") && lines[0].contains("roof not valid"), "{text}");
        assert!(lines[1].contains("peer") && lines[1].contains("wanted: 0.6"), "{text}");
        let document = document(&BENCH, &all);
        assert_eq!(
            (&document["peers"]["memcpy"]["valid"], &document["peers"]["peer"]["valid"]),
            (&false.into(), &true.into())
        );
        assert!(all.misses(&BENCH));
    }
}
