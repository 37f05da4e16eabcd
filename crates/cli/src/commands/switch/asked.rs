//! `linerate switch show`: a switch that runs, from another shell.

use crate::commands::control::{Kind, reasons, rows, table, word};
use crate::commands::dcb::asked::{NEIGHBOUR, neighbour};
use serde_json::{Value, json};

/// Requests to switches.
pub(super) const KIND: Kind = Kind {
    name: "switch",
    many: "switches",
    start: "linerate switch NAME",
    show: "linerate switch show",
    resolve: str::to_owned,
    text,
    moved,
};

fn text(document: &Value) -> String {
    let port = |port: &Value| {
        let state = match (&port["gone"], &port["blocked"]) {
            (Value::Bool(true), _) => "gone".to_owned(),
            (_, Value::String(other)) => format!("blocked: joined to {other}"),
            _ => "-".to_owned(),
        };
        let lost = reasons([&port["dropped"], &port["lost"]]);
        vec![
            word(&port["name"]),
            word(&port["received"]),
            word(&port["sent"]),
            reasons([&port["refused"]]),
            lost,
            state,
            word(&port["path"]),
        ]
    };
    // Classes that a port has had frames of in queues.
    let classes = document["ports"].as_array().into_iter().flatten().flat_map(|port| {
        let classes = port["classes"].as_array().into_iter().flatten();
        let used = classes.filter(|class| class["queued"] != 0 || class["dropped"] != json!({}));
        used.map(|class| {
            let words = ["class", "queued", "waiting", "waiting_bytes", "storms", "ecn_marked", "cnms"];
            let words = words.map(|key| word(&class[key]));
            [vec![word(&port["name"])], words.to_vec(), vec![reasons([&class["dropped"]])]].concat()
        })
    });
    let classes: Vec<Vec<String>> = classes.collect();
    let storm = |row: &Value| {
        let list = |key: &str| row[key].as_array().into_iter().flatten().map(word).collect::<Vec<_>>().join(", ");
        let circle = if row["circle"] == json!([]) { "-".to_owned() } else { list("circle") };
        vec![word(&row["port"]), word(&row["class"]), list("prio"), circle]
    };
    let address = |row: &Value| {
        vec![word(&row["mac"]), word(&row["vlan"]), word(&row["port"]), format!("{} s", word(&row["age_s"]))]
    };
    let group = |row: &Value| {
        let port = |port: &Value| format!("{} ({} s)", word(&port["port"]), word(&port["left_s"]));
        let ports: Vec<String> = row["ports"].as_array().into_iter().flatten().map(port).collect();
        vec![word(&row["group"]), word(&row["vlan"]), ports.join(", ")]
    };
    let querier = |row: &Value| {
        let port = if row["port"].is_null() { "this switch".to_owned() } else { word(&row["port"]) };
        vec![word(&row["address"]), word(&row["vlan"]), port]
    };
    let router = |row: &Value| vec![word(&row["port"]), format!("IPv{}", word(&row["ip"]))];
    let (known, listener) = (&document["table"], &document["door"]);
    let parts = [
        format!("switch {}, process {}\n", word(&document["switch"]), word(&document["pid"])),
        table(
            &["port", "in frames", "out frames", "in: refused", "out: dropped", "state", "path"],
            &rows(document, "ports", port),
        ),
        table(&["port", "class", "queued", "waiting", "bytes", "storms", "marked", "CNMs", "found no place"], &classes),
        table(&["storm at", "class", "prio", "ports that wait for each other"], &rows(document, "storms", storm)),
        format!(
            "addresses: {} known of {} at most, {} learned, {} moved, {} evicted, {} not learned; ports: {} admitted, {} refused; \
             unexplained frames: {}\n",
            word(&known["known"]),
            word(&known["size"]),
            word(&known["learned"]),
            word(&known["moved"]),
            word(&known["evicted"]),
            word(&known["refused"]),
            word(&listener["admitted"]),
            word(&listener["refused"]),
            word(&document["ledger"]["unexplained"]),
        ),
        table(&["address", "VLAN", "port", "age"], &rows(document, "addresses", address)),
        table(&["group", "VLAN", "ports, and the time that they count"], &rows(document, "groups", group)),
        table(&["querier", "VLAN", "port"], &rows(document, "queriers", querier)),
        table(&["router behind", "of"], &rows(document, "routers", router)),
        table(
            &[&["at port"], &NEIGHBOUR[..]].concat(),
            &rows(document, "neighbours", |row| [vec![word(&row["at"])], neighbour(row)].concat()),
        ),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Frames of a port that came in, went out and were not carried.
fn counts(port: &Value) -> [u64; 3] {
    let sum = |name: &str| {
        let counters = port[name].as_object().into_iter().flatten();
        counters.filter_map(|(_, n)| n.as_u64()).sum::<u64>()
    };
    let n = |name: &str| port[name].as_u64().unwrap_or(0);
    [n("received"), n("sent"), sum("refused") + sum("dropped")]
}

fn moved(before: &Value, now: &Value, seconds: f64) -> String {
    let ports = |document: &Value| document["ports"].as_array().cloned().unwrap_or_default();
    let earlier = ports(before);
    let line = |port: &Value| {
        let was = earlier.iter().find(|other| other["name"] == port["name"]).map_or([0; 3], counts);
        let is = counts(port);
        let rates = [0, 1, 2].map(|i| is[i].saturating_sub(was[i]) as f64 / seconds);
        let lost = if rates[2] > 0.0 { format!(" not carried {:.0}", rates[2]) } else { String::new() };
        let name = word(&port["name"]);
        (rates != [0.0; 3]).then(|| format!("{name}: in {:.0} out {:.0}{lost} frames/s", rates[0], rates[1]))
    };
    let lines: Vec<String> = ports(now).iter().filter_map(line).collect();
    if lines.is_empty() { "nothing moved".to_owned() } else { lines.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_ports_that_moved() {
        let port = |name: &str, received: u64, dropped: u64| json!({"name": name, "received": received, "sent": 0, "refused": {}, "dropped": {"no_room": dropped}});
        let before = json!({"ports": [port("a", 10, 0), port("b", 7, 0)]});
        let now = json!({"ports": [port("a", 30, 4), port("b", 7, 0), port("c", 2, 0)]});
        assert_eq!(moved(&before, &now, 2.0), "a: in 10 out 0 not carried 2 frames/s; c: in 1 out 0 frames/s");
        assert_eq!(moved(&now, &now, 2.0), "nothing moved");
    }

    #[test]
    fn a_text_has_all_that_a_switch_knows() {
        let document = json!({
            "switch": "lab", "pid": 7,
            "ports": [{"name": "a", "path": "a path", "received": 3, "sent": 4, "dropped": {"no_room": 5}, "blocked": "b", "classes": [
                {"class": 0, "queued": 0, "waiting": 0, "waiting_bytes": 0, "storms": 0, "ecn_marked": 0, "cnms": 0, "dropped": {}},
                {"class": 1, "queued": 70, "waiting": 30, "waiting_bytes": 7680, "storms": 4, "ecn_marked": 5, "cnms": 6, "dropped": {"threshold": 2}},
            ]}],
            "addresses": [{"mac": "02:00:00:00:00:01", "vlan": 3, "port": "a", "age_s": 12}],
            "groups": [{"group": "239.1.2.3", "vlan": 1, "ports": [{"port": "a", "left_s": 250}]}],
            "queriers": [{"address": "10.0.0.1", "vlan": 1, "port": null}],
            "routers": [{"port": "a", "ip": 6}],
            "storms": [{"port": "a", "class": 1, "prio": [3, 4], "circle": ["a", "c"]}],
            "neighbours": [{"at": "a", "chassis": "02:00:00:00:00:09", "port": "eth0", "ttl": 121, "expires_s": 90, "ieee": {}}],
        });
        let text = text(&document);
        for words in [
            "switch lab, process 7",
            "blocked: joined to b",
            "no_room 5",
            "found no place\na     1      70      30       7680   4       5       6     threshold 2\n\n",
            "a         1      3, 4  a, c\n",
            "02:00:00:00:00:01  3     a     12 s",
            "a (250 s)",
            "this switch",
            "IPv6",
            "at port  neighbour          port  system  ttl  expires s  dcbx\na        02:00:00:00:00:09  eth0  -       121  90         ieee",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
