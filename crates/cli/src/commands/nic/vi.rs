//! `linerate nic vi`.

use super::asked::{at_rest, running};
use crate::trouble::Trouble;
use clap::{Args, Subcommand};
use linerate_host::shell::word;
use linerate_load::resolve;
use linerate_nic::{MAX_INTERFACES, Saved, setting_of};
use linerate_port::Spec;
use serde_json::{Map, Value, json};

const WORDS: &str = "\
Settings:
  mac=MAC       its address; counted up from the port's without it
  vlan=LIST     its VLANs, joined by +: 10 is the VLAN of frames without a tag; t20 and t30-39 have tags; all, the default,
                is every frame as it is. The port's own frames without a tag are of VLAN 1
  spoofchk=1|0  1, the default: what its program sends from another address is dropped and counted
  cap=RATE      most that it sends, bit/s with 24 bytes of framing a frame (10G, 500M); 0 is no cap
  share=N       its part of the link when there is not enough for all, 1 to 1000
  queues=N      receive queues that flows are spread over by hash, for a program that opens PORT/viN,queues=N
  mtu=BYTES     largest payload
  up=1|0        0: it takes part in nothing
  FLAG, -FLAG   offloads on and off, and other parameters as NAME=VALUE, as `linerate nic show` lists them

Examples:
  linerate nic vi add -i xdp:eth0 5 mac=02:00:00:00:00:05 vlan=10 cap=10G share=3
  linerate nic vi set -i xdp:eth0 5 cap=0 -tso
  linerate pkt-gen -i xdp:eth0/vi5 -f rx";

#[derive(Subcommand)]
pub(super) enum Vi {
    /// Add a virtual interface.
    #[command(after_help = WORDS)]
    Add(Change),
    /// Change a virtual interface.
    #[command(after_help = WORDS)]
    Set(Change),
    /// Remove a virtual interface; a program at it sees its link go down.
    Del(Which),
    /// List the virtual interfaces: addresses, VLANs, flags, queues, caps, shares and counters of those that run, settings
    /// of those that are saved.
    List(List),
}

#[derive(Args)]
pub(super) struct Change {
    #[command(flatten)]
    which: Which,
    /// Settings, as NAME=VALUE; flags, with - before one to disable it.
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

#[derive(Args)]
pub(super) struct Which {
    /// The port (KIND:NAME; a bare name is xdp:NAME).
    #[arg(short, value_name = "PORT")]
    i: String,
    /// Number of the interface, 0 to 127.
    #[arg(value_name = "ID", value_parser = clap::value_parser!(u16).range(0..=MAX_INTERFACES as i64 - 1))]
    id: u16,
}

#[derive(Args)]
pub(super) struct List {
    /// The port (KIND:NAME; a bare name is xdp:NAME).
    #[arg(short, value_name = "PORT")]
    i: String,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(what: Vi) -> Result<String, Trouble> {
    match what {
        Vi::Add(Change { which, words }) => change(&which, "add", &words),
        Vi::Set(Change { words, .. }) if words.is_empty() => {
            Err(Trouble::usage("WORD is missing; give a setting, as cap=10G, or a flag".to_owned()))
        }
        Vi::Set(Change { which, words }) => change(&which, "set", &words),
        Vi::Del(which) => change(&which, "del", &[]),
        Vi::List(List { i, json }) => list(&i, json),
    }
}

/// Changes the adapter that runs, or looks whether one could be so, and saves it.
fn change(which: &Which, what: &str, words: &[String]) -> Result<String, Trouble> {
    let (name, id) = (resolve(&which.i).0, usize::from(which.id));
    let key = Spec::parse(&name)?.key();
    let mut saved = Saved::load()?;
    if let Some(word) = words.iter().find(|word| word.contains(char::is_whitespace)) {
        return Err(Trouble::usage(format!("{word}: there is a space in it; leave it out")));
    }
    let before = saved.interfaces(&key).remove(&id);
    let kept = match what {
        "del" => None,
        "add" => Some(words.to_vec()),
        _ => {
            let old = before.iter().flatten();
            let still = |word: &&String| !words.iter().any(|new| setting_of(new) == setting_of(word));
            Some(old.filter(still).chain(words).cloned().collect::<Vec<_>>())
        }
    };
    let asked = running(&key, &format!("vi {what} {id} {}", words.join(" ")))?;
    if asked.is_none() {
        if what == "del" {
            // What cannot be applied any more is forgotten as well.
            before.as_ref().ok_or_else(|| Trouble::usage(format!("there is no virtual interface {id} of {key}")))?;
        } else {
            let mut guests = at_rest(&name, &saved)?;
            if what == "add" { guests.add(id, words)? } else { guests.set(id, words)? }
        }
    }
    saved.put_interface(&key, id, kept.clone());
    let path = saved.store()?.display();
    let now = match (&asked, what) {
        (Some(_), "del") => "removed; ",
        (Some(_), _) => "in force; ",
        (None, _) => "for the next `linerate nic up`; ",
    };
    let kept = kept.map_or_else(
        || "nothing".to_owned(),
        |words| if words.is_empty() { "defaults".into() } else { words.join(" ") },
    );
    Ok(format!("{key}/vi{id}: {now}saved: {kept}\nin {path}\n"))
}

fn list(port: &str, as_json: bool) -> Result<String, Trouble> {
    let key = Spec::parse(&resolve(port).0)?.key();
    if let Some(text) = running(&key, if as_json { "vi list --json" } else { "vi list" })? {
        return Ok(text);
    }
    let rows = Saved::load()?.interfaces(&key);
    if as_json {
        let rows: Map<String, Value> = rows.iter().map(|(id, words)| (id.to_string(), json!(words))).collect();
        let document = json!({"schema": "linerate.nic", "version": 1, "port": key, "running": false, "saved": rows});
        return Ok(format!("{document:#}\n"));
    }
    let mut text = format!("no adapter runs on {key}; start: linerate nic up -i {}\n", word(&key));
    for (id, words) in &rows {
        text +=
            &format!("vi{id:<8} saved: {}\n", if words.is_empty() { "defaults".to_owned() } else { words.join(" ") });
    }
    Ok(text)
}
