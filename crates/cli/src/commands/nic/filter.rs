//! `linerate nic filter`.

use super::asked::{at_rest, next_location, rule, running};
use crate::trouble::Trouble;
use clap::{Args, Subcommand};
use linerate_load::resolve;
use linerate_nic::{FilterHits, Rule, Saved, rule_text};
use linerate_port::Spec;
use serde_json::json;

const WORDS: &str = "\
A filter, in the words of ethtool -N:
  [flow-type ether|ip4|tcp4|udp4|sctp4|ip6|tcp6|udp6|sctp6] [src-mac MAC] [dst-mac MAC] [proto ETHERTYPE] [vlan VID]
  [src-ip NET] [dst-ip NET] [l4proto N] [src-port N] [dst-port N], NET being an address or a network as 10.0.0.0/8
and what becomes of a frame that has all that is named, one of
  action N            goes to its interfaces, there to queue N
  action -1           is dropped
  vf ID [queue N]     goes to virtual interface ID, whatever its address
  mirror ID           goes where it goes, and a copy to virtual interface ID
  loc N               place of the filter: of those that match the lowest counts (default: behind all others)

Examples:
  linerate nic filter add -i xdp:eth0 flow-type udp4 dst-port 53 vf 5 queue 1
  linerate nic filter add -i xdp:eth0 flow-type tcp4 src-ip 10.0.0.0/8 action -1 loc 0
  linerate nic filter add -i xdp:eth0 vlan 10 mirror 7";

#[derive(Subcommand)]
pub(super) enum Filter {
    /// Add a receive filter, in place of one at the same location.
    #[command(after_help = WORDS)]
    Add(Add),
    /// Remove a receive filter.
    Del(Del),
    /// List the receive filters, with the frames and bytes that each has matched.
    List(List),
}

#[derive(Args)]
pub(super) struct Add {
    /// The port (KIND:NAME; a bare name is xdp:NAME).
    #[arg(short, value_name = "PORT")]
    i: String,
    /// Match and action.
    #[arg(value_name = "WORD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

#[derive(Args)]
pub(super) struct Del {
    /// The port (KIND:NAME; a bare name is xdp:NAME).
    #[arg(short, value_name = "PORT")]
    i: String,
    /// Location of the filter.
    #[arg(value_name = "LOC")]
    location: u16,
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

pub(super) fn run(what: Filter) -> Result<String, Trouble> {
    match what {
        Filter::Add(Add { i, words }) => add(&i, &words.join(" ")),
        Filter::Del(Del { i, location }) => remove(&i, location),
        Filter::List(List { i, json }) => {
            let key = Spec::parse(&resolve(&i).0)?.key();
            if let Some(text) = running(&key, if json { "filter list --json" } else { "filter list" })? {
                return Ok(text);
            }
            let rules = kept(&Saved::load()?, &key)?;
            let rows: Vec<_> = rules.into_iter().map(|rule| (rule, FilterHits::default())).collect();
            Ok(list(&rows, json, &key))
        }
    }
}

/// Filters that are saved for a port.
fn kept(saved: &Saved, key: &str) -> Result<Vec<Rule>, Trouble> {
    saved.filters(key).iter().map(|text| rule(text, 0)).collect()
}

fn add(port: &str, words: &str) -> Result<String, Trouble> {
    let name = resolve(port).0;
    let key = Spec::parse(&name)?.key();
    let mut saved = Saved::load()?;
    let before = kept(&saved, &key)?;
    // What is wrong with the words is told without asking anybody.
    rule(words, 0)?;
    let asked = running(&key, &format!("filter add {words}"))?;
    let added = match &asked {
        Some(text) => rule(text, 0)?,
        None => {
            let guests = at_rest(&name, &saved)?;
            let added = rule(words, next_location(guests.control()))?;
            guests.control().add_filter(added)?;
            added
        }
    };
    let others = before.into_iter().filter(|rule| rule.location != added.location);
    store(&mut saved, &key, others.chain([added]).collect(), &added, asked.is_some())
}

fn remove(port: &str, location: u16) -> Result<String, Trouble> {
    let key = Spec::parse(&resolve(port).0)?.key();
    let mut saved = Saved::load()?;
    let before = kept(&saved, &key)?;
    let asked = running(&key, &format!("filter del {location}"))?;
    let gone = match &asked {
        Some(text) => Some(rule(text, 0)?),
        None => before.iter().find(|rule| rule.location == location).copied(),
    };
    let gone = gone.ok_or_else(|| Trouble::usage(format!("{key} has no filter at location {location}")))?;
    let others = before.into_iter().filter(|rule| rule.location != location).collect();
    Ok(store(&mut saved, &key, others, &gone, asked.is_some())?.replacen(": ", ": removed: ", 1))
}

fn store(saved: &mut Saved, key: &str, mut rules: Vec<Rule>, changed: &Rule, runs: bool) -> Result<String, Trouble> {
    rules.sort_by_key(|rule| rule.location);
    saved.put_filters(key, rules.iter().map(rule_text).collect());
    let path = saved.store()?.display();
    let when = if runs { "in force, and saved" } else { "saved for the next `linerate nic up`" };
    Ok(format!("{key}: {}\n{when}, in {path}\n", rule_text(changed)))
}

/// Filters with their hits.
pub(super) fn list(rows: &[(Rule, FilterHits)], as_json: bool, port: &str) -> String {
    if as_json {
        let rows = rows.iter().map(|(rule, hits)| {
            json!({"loc": rule.location, "filter": rule_text(rule), "frames": hits.frames, "bytes": hits.bytes})
        });
        let document =
            json!({"schema": "linerate.filters", "version": 1, "port": port, "filters": rows.collect::<Vec<_>>()});
        return format!("{document:#}\n");
    }
    let mut text = format!("{:>14} {:>16}  filter\n", "frames", "bytes");
    for (rule, hits) in rows {
        text += &format!("{:>14} {:>16}  {}\n", hits.frames, hits.bytes, rule_text(rule));
    }
    text
}
