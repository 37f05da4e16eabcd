//! The adapter that runs on a port, asked by other processes: its side and theirs. A request is the words behind
//! `linerate nic`, without `-i PORT`.

use super::guests;
use crate::trouble::Trouble;
use linerate_host::shell::word;
use linerate_load::vis::AdapterJob;
use linerate_nic::{Control, Guests, Nic, Saved, adapter_for_guests, parse_rule, rule_text};
use linerate_port::open;
use linerate_rt::control::{Caller, ControlError, ask};
use serde_json::json;

/// Asks the adapter that runs on a port; None if none runs.
///
/// # Errors
/// The line with which it refuses.
pub(super) fn running(port: &str, request: &str) -> Result<Option<String>, Trouble> {
    match ask("nic", port, request) {
        Ok(text) => Ok(Some(text)),
        Err(ControlError::Nobody { .. }) => Ok(None),
        Err(ControlError::Refused(line)) => Err(Trouble::usage(line)),
        Err(other) => Err(Trouble::failed(other.to_string())),
    }
}

/// An adapter as it would be on a port that has none at the moment: a port is opened for it.
pub(super) fn at_rest(port: &str, saved: &Saved) -> Result<Guests, Trouble> {
    let mut nic = adapter_for_guests(open(port)?)?;
    let mut guests = guests(&mut nic)?;
    apply_saved(&mut guests, saved, port)?;
    Ok(guests)
}

/// The programs of an adapter.
pub(super) fn guests(nic: &mut Nic) -> Result<Guests, Trouble> {
    let none = format!("{}: it has no queue each way; use another port", nic.info().name);
    Guests::new(nic).ok_or_else(|| Trouble::usage(none))
}

/// Adds the interfaces and filters that are saved for a port.
pub(super) fn apply_saved(guests: &mut Guests, saved: &Saved, port: &str) -> Result<(), Trouble> {
    for (vi, words) in saved.interfaces(port) {
        guests.add(vi, &words).map_err(|why| {
            let mend = format!("linerate nic vi del -i {} {vi}", word(port));
            Trouble::usage(format!("saved settings of virtual interface {vi}: {why}; or forget it: {mend}"))
        })?;
    }
    for text in saved.filters(port) {
        let added = rule(text, 0).and_then(|rule| Ok(guests.control().add_filter(rule)?));
        added.map_err(|why| Trouble::usage(format!("saved filter '{text}': {why}")))?;
    }
    Ok(())
}

/// A rule from its words in one text.
pub(super) fn rule(text: &str, location: u16) -> Result<linerate_nic::Rule, Trouble> {
    let words: Vec<&str> = text.split_whitespace().collect();
    parse_rule(&words, location).map_err(|e| Trouble::usage(e.to_string()))
}

/// Location behind all rules of an adapter.
pub(super) fn next_location(control: &Control) -> u16 {
    control.filters().last().map_or(0, |(rule, _)| rule.location.saturating_add(1))
}

/// Answers a request, in the thread of the control socket.
pub(super) fn answer(control: &Control, caller: &mut Caller<AdapterJob>, words: &[&str]) -> Result<String, String> {
    let number = |text: &str| text.parse::<u16>().map_err(|_| format!("{text}: give a number"));
    match words {
        ["vi", "list", rest @ ..] => {
            let seen = caller.call(|job| {
                let reports = job.guests.reports();
                let policies = reports.iter().map(|report| job.guests.policy(report.interface)).collect::<Vec<_>>();
                (reports, policies)
            });
            let (reports, policies) = seen.map_err(|e| e.to_string())?;
            let rows: Vec<_> = reports.iter().zip(&policies).collect();
            match rest {
                ["--json"] => {
                    let rows: Vec<_> =
                        rows.iter().map(|(report, policy)| guests::row(control, policy, report)).collect();
                    let document = json!({"schema": "linerate.nic", "version": 1, "port": port(control), "running": true,
                        "interfaces": rows});
                    Ok(format!("{document:#}\n"))
                }
                _ => Ok(guests::list(control, &rows)),
            }
        }
        ["vi", what @ ("add" | "set" | "del"), interface, rest @ ..] => {
            let (interface, adds, deletes) = (usize::from(number(interface)?), *what == "add", *what == "del");
            let words: Vec<String> = rest.iter().map(|word| (*word).to_owned()).collect();
            let done = caller.call(move |job| {
                job.change(|guests| match (adds, deletes) {
                    (_, true) => guests.remove(interface),
                    (true, _) => guests.add(interface, &words),
                    _ => guests.set(interface, &words),
                })
            });
            done.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
            Ok(String::new())
        }
        ["filter", "list", rest @ ..] => {
            Ok(super::filter::list(&control.filters(), *rest == ["--json"], port(control)))
        }
        ["filter", "add", rest @ ..] => {
            let rule = parse_rule(rest, next_location(control)).map_err(|e| e.to_string())?;
            control.add_filter(rule).map_err(|e| e.to_string())?;
            Ok(rule_text(&rule) + "\n")
        }
        ["filter", "del", location] => {
            let rule = control.remove_filter(number(location)?).map_err(|e| e.to_string())?;
            Ok(rule_text(&rule) + "\n")
        }
        _ => Err(format!("{}: no such request; there are vi and filter", words.join(" "))),
    }
}

/// Name of an adapter's port, as it was opened.
fn port(control: &Control) -> &str {
    &control.port().name
}
