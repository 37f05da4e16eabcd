//! `linerate fcoe show`: a target that runs, from another shell.

use crate::commands::control::{Kind, rows, table, word};
use crate::commands::shared::port_name;
use serde_json::Value;

/// Requests to targets.
pub(in crate::commands::fcoe) const KIND: Kind = Kind {
    name: "target",
    many: "targets",
    start: "linerate fcoe target -i PORT --lun N=DEVICE",
    show: "linerate fcoe show",
    resolve: port_name,
    text,
    moved,
};

/// Kind of the socket by which LUNs are changed.
pub(in crate::commands::fcoe) const LUNS: &str = "lun";

fn text(document: &Value) -> String {
    let of = |name: &str| word(&document[name]);
    let head = format!(
        "{}, process {}: {}\nport {}, node {}, MAC {}, address {}, link {}; exchanges: {}\n",
        of("port"),
        of("pid"),
        of("path"),
        of("wwpn"),
        of("wwnn"),
        of("mac"),
        of("fc_id"),
        of("link"),
        of("exchanges"),
    );
    let luns = document["luns"].as_array().into_iter().flatten().map(|lun| format!("{}\n", word(&lun["device"])));
    let columns = ["wwpn", "fc_id", "queue_depth", "commands", "bytes_sent", "bytes_received"];
    let heading = ["initiator", "address", "queue", "commands", "bytes read", "bytes written"];
    // Who has proved its name is told where somebody must.
    let authenticates = document["unauthenticated"].is_array();
    let heading: Vec<_> = heading.into_iter().chain(authenticates.then_some("authenticated")).collect();
    let proved = |row: &Value| if row["authenticated"] == true { "yes" } else { "no" }.to_owned();
    let initiator = |row: &Value| {
        columns.iter().map(|column| word(&row[*column])).chain(authenticates.then(|| proved(row))).collect()
    };
    let failed = document["unauthenticated"].as_array().into_iter().flatten();
    let failed =
        failed.map(|row| format!("{} was not authenticated {} times\n", word(&row["wwpn"]), word(&row["times"])));
    let counters = document["counters"].as_object().into_iter().flatten();
    let parts = [
        head,
        luns.collect(),
        table(&heading, &rows(document, "initiators", initiator)),
        failed.collect(),
        counters.filter(|(_, n)| n.as_u64() != Some(0)).map(|(name, n)| format!("{name:32} {n}\n")).collect(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Sum of all initiators' work and errors.
fn moved(before: &Value, now: &Value, seconds: f64) -> String {
    let (before, counters) = (&before["counters"], &now["counters"]);
    let more = |name: &str| counters[name].as_u64().unwrap_or(0).saturating_sub(before[name].as_u64().unwrap_or(0));
    let rate = |name: &str| more(name) as f64 / seconds;
    let initiators = now["initiators"].as_array().map_or(&[][..], Vec::as_slice);
    let queue: u64 = initiators.iter().filter_map(|initiator| initiator["queue_depth"].as_u64()).sum();
    let wrong = |name: &&String| {
        name.contains("dropped")
            || ["frames_bad_crc", "exchanges_aborted", "exchanges_expired"].contains(&name.as_str())
    };
    let wrong = counters.as_object().into_iter().flat_map(|all| all.keys()).filter(wrong);
    let wrong = wrong.filter(|name| more(name) > 0).map(|name| format!("; {name} {}", more(name)));
    format!(
        "{} logged in, queue {queue}, {:.0} IOPS, read {:.3} MB/s, write {:.3} MB/s{}",
        initiators.len(),
        rate("commands"),
        rate("bytes_sent") / 1e6,
        rate("bytes_received") / 1e6,
        wrong.collect::<String>(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_line_has_rates_and_what_went_wrong() {
        let before = json!({"counters": {"commands": 10, "bytes_sent": 0, "bytes_received": 0, "frames_bad_crc": 1}});
        let now = json!({
            "counters": {"commands": 30, "bytes_sent": 4_000_000, "bytes_received": 0, "frames_bad_crc": 3},
            "initiators": [{"queue_depth": 3}, {"queue_depth": 4}],
        });
        let line = super::moved(&before, &now, 2.0);
        assert_eq!(line, "2 logged in, queue 7, 10 IOPS, read 2.000 MB/s, write 0.000 MB/s; frames_bad_crc 2");
    }
}
