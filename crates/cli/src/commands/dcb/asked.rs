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
    let (ets, pfc) = (&operative["ets"], operative["pfc"].as_array().into_iter().flatten().collect::<Vec<_>>());
    let whose = |what: &str| if document["from_peer"][what] == true { "peer" } else { "local" };
    let priority = |prio: usize| {
        let class = usize::try_from(ets["prio_tc"][prio].as_u64().unwrap_or(0)).unwrap_or(0);
        let share = if ets["tc_tsa"][class] == "ets" { word(&ets["tc_bw"][class]) } else { "-".to_owned() };
        let lossless = if pfc.contains(&&json!(prio)) { "yes" } else { "no" };
        vec![prio.to_string(), class.to_string(), word(&ets["tc_tsa"][class]), share, lossless.to_owned()]
    };
    let conflicts: String = ["pfc", "app"]
        .iter()
        .filter(|what| document["conflict"][**what] == true)
        .map(|what| format!("{what} of both ends do not go together\n"))
        .collect();
    let parts = [
        head + &conflicts,
        format!("ets {}, pfc {}, app {}\n", whose("ets"), whose("pfc"), whose("app"))
            + &table(&["prio", "class", "tsa", "bw %", "lossless"], &(0..8).map(priority).collect::<Vec<_>>()),
        table(
            &["app", "protocol", "prio"],
            &rows(operative, "app", |row| {
                let protocol = row["protocol"].as_u64().unwrap_or(0);
                let protocol =
                    if row["selector"] == "ethtype" { format!("{protocol:#06x}") } else { protocol.to_string() };
                vec![word(&row["selector"]), protocol, word(&row["prio"])]
            }),
        ),
        table(
            &["neighbour", "port", "system", "ttl", "expires s", "dcbx"],
            &rows(document, "neighbours", |row| {
                let speaks: Vec<&str> =
                    ["ieee", "cee"].into_iter().filter(|version| !row[*version].is_null()).collect();
                let mut words: Vec<String> = ["chassis", "port", "system", "ttl", "expires_s"]
                    .iter()
                    .map(|name| plain(&word(&row[*name])))
                    .collect();
                words.push(if speaks.is_empty() { "-".to_owned() } else { speaks.join(" ") });
                words
            }),
        ),
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
