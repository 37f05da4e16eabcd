//! `linerate dcb show`: a port that runs, from another shell.

use crate::commands::control::{Kind, moved, reasons, rows, table, word};
use crate::commands::shared::port_name;
use linerate_text::plain;
use serde_json::{Value, json};

/// Requests to ports.
pub(super) const KIND: Kind = Kind {
    name: "dcb",
    many: "ports",
    start: "linerate dcb up -i PORT",
    show: "linerate dcb show",
    resolve: port_name,
    text,
    moved: |before, now, seconds| moved(&before["counters"], &now["counters"], seconds),
};

fn text(document: &Value) -> String {
    let of = |name: &str| word(&document[name]);
    let dcbx = if document["dcbx"].is_null() { format!("off ({})", of("off")) } else { of("dcbx") };
    let head = format!(
        "{}, process {}: {}\n{}, link {}; dcbx {dcbx}, willing {}\n",
        of("port"),
        of("pid"),
        of("path"),
        of("mac"),
        of("link"),
        if document["willing"] == true { "yes" } else { "no" }
    );
    let operative = &document["operative"];
    let whose = |what: &str| if document["from_peer"][what] == true { "peer" } else { "local" };
    let conflicts: String = ["pfc", "app"]
        .iter()
        .filter(|what| document["conflict"][**what] == true)
        .map(|what| format!("{what} of both ends do not go together\n"))
        .collect();
    let parts = [
        head + &conflicts,
        format!("ets {}, pfc {}, app {}\n", whose("ets"), whose("pfc"), whose("app")) + &priorities(operative, &[]),
        applications(operative),
        table(
            &["cn prio", "place in the domain"],
            &rows(document, "cn", |row| vec![word(&row["prio"]), word(&row["defence"])]),
        ),
        table(&NEIGHBOUR, &rows(document, "neighbours", neighbour)),
        {
            let counters = &document["counters"];
            let counts =
                ["sent", "received", "tlvs_unrecognized", "aged_out", "changes", "changes_held", "events_lost"];
            let counted = counts.iter().filter(|name| counters[**name].as_u64() != Some(0));
            let counted: String = counted.map(|name| format!("{name:18} {}\n", word(&counters[*name]))).collect();
            let reason = |name: &str| format!("{name:18} {}\n", reasons([&counters[name]]));
            counted + &reason("dropped") + &reason("tlvs_discarded")
        },
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Heading of the rows of [`neighbour`].
pub(in crate::commands) const NEIGHBOUR: [&str; 6] = ["neighbour", "port", "system", "ttl", "expires s", "dcbx"];

/// A neighbour's row.
pub(in crate::commands) fn neighbour(row: &Value) -> Vec<String> {
    let speaks: Vec<&str> = ["ieee", "cee"].into_iter().filter(|version| !row[*version].is_null()).collect();
    let words = ["chassis", "port", "system", "ttl", "expires_s"].iter().map(|name| plain(&word(&row[*name])));
    let speaks = if speaks.is_empty() { "-".to_owned() } else { speaks.join(" ") };
    words.chain([speaks]).collect()
}

/// A line for each priority: its class and what that has, and columns of more.
pub(super) fn priorities(of: &Value, more: &[(&str, [String; 8])]) -> String {
    let (ets, pfc) = (&of["ets"], of["pfc"].as_array());
    let row = |prio: usize| {
        let class = ets["prio_tc"][prio].as_u64().and_then(|class| usize::try_from(class).ok());
        let of = |what: &str| class.map_or(&Value::Null, |class| &ets[what][class]);
        let share = if *of("tc_tsa") == "ets" { word(of("tc_bw")) } else { "-".to_owned() };
        let lossless = pfc.map_or("-", |pfc| if pfc.contains(&json!(prio)) { "yes" } else { "no" });
        let words = [prio.to_string(), word(&ets["prio_tc"][prio]), word(of("tc_tsa")), share, lossless.to_owned()];
        words.into_iter().chain(more.iter().map(|(_, column)| column[prio].clone())).collect::<Vec<_>>()
    };
    let heading = ["prio", "class", "tsa", "bw %", "lossless"].into_iter().chain(more.iter().map(|(name, _)| *name));
    table(&heading.collect::<Vec<_>>(), &(0..8).map(row).collect::<Vec<_>>())
}

/// A line for each application.
pub(super) fn applications(of: &Value) -> String {
    let row = |row: &Value| {
        let protocol = row["protocol"].as_u64().unwrap_or(0);
        let protocol = if row["selector"] == "ethtype" { format!("{protocol:#06x}") } else { protocol.to_string() };
        vec![word(&row["selector"]), protocol, word(&row["prio"])]
    };
    table(&["app", "protocol", "prio"], &rows(of, "app", row))
}

/// A line for each of several, ports and interfaces.
pub(super) fn overview(documents: &[Value]) -> String {
    let row = |document: &Value| {
        let name = if document["port"].is_null() { &document["interface"] } else { &document["port"] };
        let (ets, pfc) = (&document["operative"]["ets"], &document["operative"]["pfc"]);
        let class =
            |class: usize| (ets["tc_tsa"][class] == "ets").then(|| format!("{class}:{}", word(&ets["tc_bw"][class])));
        let shares: Vec<String> = (0..8).filter_map(class).collect();
        let lossless: Vec<String> = pfc.as_array().into_iter().flatten().map(word).collect();
        let there = |words: Vec<String>| if words.is_empty() { "-".to_owned() } else { words.join(" ") };
        let willing = document["willing"].as_bool().map_or("-", |willing| if willing { "yes" } else { "no" });
        let dcbx = if document["dcbx"].is_null() { "off".to_owned() } else { word(&document["dcbx"]) };
        vec![plain(&word(name)), dcbx, willing.to_owned(), there(lossless), there(shares)]
    };
    table(&["name", "dcbx", "willing", "lossless", "ets"], &documents.iter().map(row).collect::<Vec<_>>())
}
