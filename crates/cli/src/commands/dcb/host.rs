//! `linerate dcb show IF` and `set IF`: settings that the kernel's drivers offer (dcbnl), in the words of iproute2's `dcb`.

use super::words::{applications, lists};
use super::{asked, document::priorities};
use crate::commands::control::{table, word};
use crate::commands::nic::{interface, settings_of, told};
use crate::print::print_told;
use crate::trouble::Trouble;
use clap::Args;
use linerate_dcb::Application;
use linerate_host::Absent;
use linerate_host::adapter::{self, App, Dcb, Ets, Interface, Machine, Source, Subject, algorithm};
use linerate_host::tunables::{self, Aim, Group, State, Unknown, Wish};
use linerate_text::{power, whole};
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct Set {
    /// The interface.
    #[arg(value_name = "IF")]
    name: String,
    /// Traffic classes: willing on, prio-tc 3:1, tc-tsa 0:ets, tc-bw 0:50, pg-bw, and reco-prio-tc, reco-tc-tsa, reco-tc-bw; `all`
    /// stands for each number. What is not said stays.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    ets: Vec<String>,
    /// Lossless priorities: prio-pfc 3:on, delay BITS, macsec-bypass on.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    pfc: Vec<String>,
    /// Priorities of applications: ethtype-prio 0x8906:3, stream-port-prio 3260:4, dgram-port-prio, port-prio, dscp-prio,
    /// default-prio 0. Others of the same applications go.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    app: Vec<String>,
    /// Priorities of applications that go.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    app_del: Vec<String>,
    /// Buffers for received frames: prio-buffer 3:1, buffer-size 1:64K.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    buffer: Vec<String>,
    /// Rates that classes are held to, bit/s: tc-maxrate 1:10Gbit; 0 is no limit.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    maxrate: Vec<String>,
    /// Who negotiates, and how: host, lld-managed, ieee, cee, static.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    dcbx: Vec<String>,
}

/// Settings of an option: the word of `dcb`, and the setting's name.
type Known = &'static [(&'static str, &'static str)];
const ETS: Known = &[
    ("willing", "ets-willing"),
    ("prio-tc", "prio-tc"),
    ("tc-tsa", "tc-tsa"),
    ("tc-bw", "tc-bw"),
    ("pg-bw", "pg-bw"),
    ("reco-prio-tc", "reco-prio-tc"),
    ("reco-tc-tsa", "reco-tc-tsa"),
    ("reco-tc-bw", "reco-tc-bw"),
];
const PFC: Known = &[("prio-pfc", "prio-pfc"), ("delay", "pfc-delay"), ("macsec-bypass", "macsec-bypass")];
const BUFFER: Known = &[("prio-buffer", "prio-buffer"), ("buffer-size", "buffer-size")];
const MAXRATE: Known = &[("tc-maxrate", "tc-maxrate")];

/// The line for an interface without dcbnl.
fn without(name: &str) -> Trouble {
    Trouble::failed(format!("{name}: its driver offers no DCB (dcbnl); take an interface whose driver does"))
}

fn unread(name: &str, absent: &Absent) -> Trouble {
    match absent.errno {
        Some(95) => without(name),
        _ => Trouble::failed(format!("{name}: its DCB cannot be read: {absent}; see what the kernel logged")),
    }
}

pub(super) fn set(arguments: &Set) -> Result<ExitCode, Trouble> {
    let mut machine = Machine::new();
    let name = &arguments.name;
    let (subject, state) = settings_of(&mut machine, name)?;
    if let Some(absent) = state.why(Group::DcbEts) {
        return Err(unread(name, absent));
    }
    let mut wishes = Vec::new();
    for (option, words, known) in [
        ("--ets", &arguments.ets, ETS),
        ("--pfc", &arguments.pfc, PFC),
        ("--buffer", &arguments.buffer, BUFFER),
        ("--maxrate", &arguments.maxrate, MAXRATE),
    ] {
        wishes.extend(of_option(&state, option, words, known)?);
    }
    shares(&state, &wishes)?;
    if !arguments.app.is_empty() || !arguments.app_del.is_empty() {
        let (set, gone) = (apps("--app", &arguments.app)?, apps("--app-del", &arguments.app_del)?);
        let wish = tunables::applications(&state, &set, &gone);
        wishes.push(
            wish.ok_or_else(|| Trouble::failed(format!("{name}: its driver tells no applications; leave --app out")))?,
        );
    }
    if !arguments.dcbx.is_empty() {
        let words: Vec<&str> = arguments.dcbx.iter().flat_map(|words| words.split_whitespace()).collect();
        wishes.extend(wish(&state, "--dcbx", "", "dcbx", &words.join(","))?);
    }
    if wishes.is_empty() {
        return Err(Trouble::usage(format!("{name}: nothing is to be set; give some, as --pfc prio-pfc 3:on")));
    }
    told(name, &tunables::apply(&mut machine, &subject, &wishes, Aim::Effect))
}

/// Wishes of an option's words.
fn of_option(state: &State, option: &str, words: &[String], known: Known) -> Result<Vec<Wish>, Trouble> {
    let names: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    let all = lists(option, words, &names)?;
    let mut wishes = Vec::new();
    for (list, name) in known {
        let mut values = Vec::new();
        for (_, word) in all.iter().filter(|(of, _)| of == list) {
            let value = plain(name, word).ok_or_else(|| {
                let form = if *name == "tc-maxrate" { "a rate as 10Gbit" } else { "bytes as 64K" };
                Trouble::usage(format!("{option}: {list} {word}: give a number, 0 to 7 or all, a colon and {form}"))
            })?;
            wish(state, option, &format!("{list} {word}"), name, &value)?;
            values.push(value);
        }
        if let ([_, twice, ..], true) = (values.as_slice(), matches!(*list, "willing" | "delay" | "macsec-bypass")) {
            return Err(Trouble::usage(format!("{option}: {list} {twice}: it is said twice; say it once")));
        }
        if !values.is_empty() {
            wishes.extend(wish(state, option, list, name, &values.join(","))?);
        }
    }
    Ok(wishes)
}

/// Wish for a setting; a line that names the word if it has no such value.
fn wish(state: &State, option: &str, word: &str, name: &str, value: &str) -> Result<Vec<Wish>, Trouble> {
    tunables::meant(state, &format!("{name}={value}")).map_err(|unknown| {
        let give = match unknown {
            Unknown::Value(_, values) | Unknown::Bare(_, values) => values,
            Unknown::Name(_) => "another word".to_owned(),
        };
        let word = if word.is_empty() { value } else { word };
        Trouble::usage(format!("{option}: {word}: give {give}"))
    })
}

/// A word with sizes and rates as plain numbers; none if it is no size or rate.
fn plain(name: &str, word: &str) -> Option<String> {
    let number = match name {
        "buffer-size" => |text: &str| linerate_text::bytes(text.strip_suffix(['b', 'B']).unwrap_or(text)),
        "tc-maxrate" => rate,
        _ => return Some(word.to_owned()),
    };
    let (of, value) = word.split_once(':')?;
    Some(format!("{of}:{}", number(value)?))
}

/// kbit/s of a rate as `dcb` has it: bits a second, or with Kbit, Mbit, Gbit or Tbit behind it; none below the kernel's unit.
fn rate(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let bits = whole(lower.strip_suffix("bit").unwrap_or(&lower), |letter| power(letter, 1000))?;
    (bits % 1000 == 0).then_some(bits / 1000)
}

/// The line for shares that do not sum to 100, as they would be.
fn shares(state: &State, wishes: &[Wish]) -> Result<(), Trouble> {
    let value = |name: &str| {
        let wished = wishes.iter().find(|wish| wish.name == name).map(|wish| wish.value.to_string());
        wished.or_else(|| state.get(name).map(|one| one.value.to_string())).unwrap_or_default()
    };
    for (algorithms, shares) in [("tc-tsa", "tc-bw"), ("reco-tc-tsa", "reco-tc-bw")] {
        if !wishes.iter().any(|wish| [algorithms, shares].contains(&wish.name.as_str())) {
            continue;
        }
        let (tsa, bw) = (value(algorithms), value(shares));
        let of = |pair: &str| pair.split_once(':').and_then(|(_, value)| value.parse::<u32>().ok()).unwrap_or(0);
        let has_ets = tsa.split(',').any(|pair| pair.ends_with(":ets"));
        let sum: u32 = bw.split(',').map(of).sum();
        if has_ets && sum != 100 {
            return Err(Trouble::usage(format!(
                "--ets: {shares}: the shares would sum to {sum}; give such that sum to 100"
            )));
        }
    }
    Ok(())
}

fn apps(option: &str, words: &[String]) -> Result<Vec<App>, Trouble> {
    let app = |app: &Application| App::read(&app.to_string());
    Ok(applications(option, words)?.iter().filter_map(app).collect())
}

/// An interface of the host, as `dcb show` shows it.
pub(super) struct Host {
    interface: Interface,
    driver: Option<String>,
    dcb: Dcb,
}

impl Host {
    fn read(source: &mut dyn Source, interface: Interface) -> Result<Self, Absent> {
        let subject = Subject { index: interface.index, name: interface.name.clone() };
        let dcb = adapter::dcb(source, &subject)?;
        let blob = source.ask(adapter::Question::Driver, Some(&subject)).ok().and_then(|mut blobs| blobs.pop());
        Ok(Self { interface, driver: blob.and_then(|blob| linerate_host::Driver::parse(&blob).name), dcb })
    }

    /// The interface of that name; a line if its driver offers no DCB, or there is none.
    pub(super) fn named(name: &str) -> Result<Self, Trouble> {
        let mut machine = Machine::new();
        let found = interface(&mut machine, name)?;
        Self::read(&mut machine, found).map_err(|absent| unread(name, &absent))
    }

    /// All interfaces whose drivers offer DCB.
    pub(super) fn all() -> Vec<Self> {
        let mut machine = Machine::new();
        let interfaces = adapter::interfaces(&mut machine).unwrap_or_default();
        interfaces.into_iter().filter_map(|one| Self::read(&mut machine, one).ok()).collect()
    }

    pub(super) fn document(&self) -> Value {
        let Dcb { ets, pfc, app, dcbx, .. } = &self.dcb;
        json!({
            "schema": "linerate.dcb", "version": 1,
            "interface": self.interface.name, "driver": self.driver, "mac": self.interface.address,
            "link": self.interface.state,
            "dcbx": dcbx, "willing": ets.as_ref().map(|ets| ets.willing),
            "operative": { "ets": ets.as_ref().map(classes), "pfc": pfc.as_ref().map(|pfc| priorities(pfc.enabled)), "app": list(app) },
            "dcbnl": self.dcb,
        })
    }

    pub(super) fn print(&self, statistics: bool, json: bool) {
        let document = self.document();
        print_told(&if json { format!("{document}\n") } else { self.text(&document, statistics) }, json);
    }

    fn text(&self, document: &Value, statistics: bool) -> String {
        let Dcb { ets, pfc, buffer, maxrate, peer, .. } = &self.dcb;
        let on = |on: bool| if on { "on" } else { "off" };
        let of = |name: &str| word(&document[name]);
        let mut head = format!(
            "{}, driver {}\n{}, link {}; dcbx {}\n",
            of("interface"),
            of("driver"),
            of("mac"),
            of("link"),
            of("dcbx")
        );
        if let Some(ets) = ets {
            head += &format!("willing {}, ets-cap {}, cbs {}\n", on(ets.willing), ets.ets_cap, on(ets.cbs));
        }
        if let Some(pfc) = pfc {
            head += &format!("pfc-cap {}, macsec-bypass {}, delay {}\n", pfc.pfc_cap, on(pfc.macsec_bypass), pfc.delay);
        }
        let mut more: Vec<(&str, [String; 8])> = Vec::new();
        if let Some(buffer) = buffer {
            more.push(("buffer", buffer.prio_buffer.map(|buffer| buffer.to_string())));
            more.push((
                "bytes",
                buffer
                    .prio_buffer
                    .map(|at| buffer.buffer_size.get(usize::from(at)).map_or_else(|| "-".to_owned(), u32::to_string)),
            ));
        }
        if let Some(pfc) = pfc.as_ref().filter(|_| statistics) {
            more.push(("requests", pfc.requests.map(|count| count.to_string())));
            more.push(("indications", pfc.indications.map(|count| count.to_string())));
        }
        let theirs = json!({ "ets": peer.ets.as_ref().map(classes), "pfc": peer.pfc.as_ref().map(|pfc| priorities(pfc.enabled)), "app": list(&peer.app) });
        let has_peer = peer.ets.is_some() || peer.pfc.is_some() || !peer.app.is_empty();
        let total = buffer.as_ref().map(|buffer| format!("total-size {}\n", buffer.total_size)).unwrap_or_default();
        let parts = [
            head,
            asked::priorities(&document["operative"], &more) + &total,
            of_classes(ets.as_ref(), maxrate.as_ref()),
            asked::applications(&document["operative"]),
            if has_peer {
                "the peer's:\n".to_owned() + &asked::priorities(&theirs, &[]) + &asked::applications(&theirs)
            } else {
                String::new()
            },
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// True if the host has an interface of that name.
pub(super) fn is_there(name: &str) -> bool {
    adapter::find(&mut Machine::new(), name).is_ok()
}

/// Settings said of classes and not of priorities, if any are.
fn of_classes(ets: Option<&Ets>, maxrate: Option<&[u64; 8]>) -> String {
    let ets = ets.cloned().unwrap_or_default();
    let maxrate = maxrate.copied().unwrap_or_default();
    let recommends = ets.reco_tc_bw != [0; 8] || ets.reco_tc_tsa != [0; 8] || ets.reco_prio_tc != [0; 8];
    if !recommends && ets.pg_bw == [0; 8] && maxrate == [0; 8] {
        return String::new();
    }
    let row = |class: usize| {
        let prios: Vec<String> =
            (0..8).filter(|prio| usize::from(ets.reco_prio_tc[*prio]) == class).map(|prio| prio.to_string()).collect();
        let rate = if maxrate[class] == 0 { "-".to_owned() } else { format!("{}kbit", maxrate[class]) };
        let reco = [prios.join(","), algorithm(ets.reco_tc_tsa[class]), ets.reco_tc_bw[class].to_string()];
        [
            vec![class.to_string(), ets.pg_bw[class].to_string(), rate],
            reco.map(|word| if recommends && !word.is_empty() { word } else { "-".to_owned() }).to_vec(),
        ]
        .concat()
    };
    let heading = ["class", "pg-bw %", "maxrate", "reco prio", "reco tsa", "reco bw %"];
    table(&heading, &(0..8).map(row).collect::<Vec<_>>())
}

fn classes(ets: &Ets) -> Value {
    json!({ "prio_tc": ets.prio_tc, "tc_tsa": ets.tc_tsa.map(algorithm), "tc_bw": ets.tc_bw })
}

fn list(apps: &[App]) -> Vec<Value> {
    apps.iter()
        .map(|app| json!({ "selector": app.selector(), "protocol": app.protocol, "prio": app.priority }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_sizes_are_those_of_dcb() {
        for (text, kbit) in [
            ("10Gbit", Some(10_000_000)),
            ("1500Mbit", Some(1_500_000)),
            ("77Kbit", Some(77)),
            ("2000", Some(2)),
            ("0", Some(0)),
            ("10g", Some(10_000_000)),
        ] {
            assert_eq!(rate(text), kbit, "{text}");
        }
        for text in ["", "bit", "1.5Gbit", "-1", "10Gbps", "999", "99999999999Tbit"] {
            assert_eq!(rate(text), None, "{text}");
        }
        assert_eq!(plain("buffer-size", "1:64K").as_deref(), Some("1:65536"));
        assert_eq!((plain("buffer-size", "1:64Kb").as_deref(), plain("buffer-size", "64K")), (Some("1:65536"), None));
    }
}
