//! Results of a simulated SAN, as text and as a document.

use crate::commands::dcb;
use linerate_load::simulate::{Depth, Ends, Flow, Link, San, Simulated, Stream};
use linerate_port::switch::{Buffers, PortReport, StormAction};
use linerate_result::Latency;
use linerate_text::{saturating_u64, size};
use serde_json::{Map, Value, json};

/// Bits per second as people write them.
fn bits(rate: f64) -> String {
    let (unit, word) = match rate {
        rate if rate >= 1e9 => (1e9, "Gb/s"),
        rate if rate >= 1e6 => (1e6, "Mb/s"),
        _ => (1e3, "kb/s"),
    };
    format!("{:.2} {word}", rate / unit)
}

fn cable(link: &Link) -> String {
    format!("{} over {} m", bits(link.rate as f64), link.length)
}

/// Quantiles of a latency in microseconds.
fn quantiles(latency: Option<&Latency>) -> String {
    let us = |n: linerate_result::Number| n.known().map_or("-".to_owned(), |ns| format!("{:.1}", ns / 1e3));
    match latency {
        Some(Latency { p50, p99, p99_9, max, .. }) => [p50, p99, p99_9, max].map(|n| format!("{:>9}", us(*n))).concat(),
        None => "        -".repeat(4),
    }
}

pub(super) fn text(san: &San, done: &Simulated) -> String {
    let seconds = done.time.as_secs_f64();
    let rate = |bytes: u64| bits(bytes as f64 * 8.0 / seconds);
    let what = match san.reads {
        100 => "READs",
        0 => "WRITEs",
        _ => "READs and WRITEs",
    };
    let mut text = format!(
        "{what} of {}, {} at once on each of {} disks, {} ms\n",
        size(san.block.into()),
        san.depth,
        u32::from(san.luns) * u32::from(san.initiators),
        done.time.as_millis()
    );
    text += &format!("target: {}\ninitiators: {}\n", cable(&san.target), cable(&san.initiator));
    text += &san.buffers.as_ref().map(queues).unwrap_or_default();
    let offered = san.dcb.iter().flat_map(|offered| &offered.applications).map(|app| format!(" {app}"));
    text += &san.dcb.as_ref().map(|_| format!("dcbx: app{}\n", offered.collect::<String>())).unwrap_or_default();
    text.push('\n');
    text += &format!(
        "{:<13}{:>12}{:>10}{:>8}{:>9}{:>9}{:>9}{:>9}\n",
        "", "goodput", "requests", "failed", "p50 us", "p99", "p99.9", "max"
    );
    for Flow { name, requests, bytes, errors, latency, .. } in &done.flows {
        text += &format!("{name:<13}{:>12}{requests:>10}{errors:>8}", rate(*bytes));
        text += &format!("{}\n", quantiles(latency.as_ref()));
    }
    let sum = |of: fn(&Flow) -> u64| done.flows.iter().map(of).sum::<u64>();
    let all = format!("{:>12}{:>10}{:>8}", bits(done.bytes_per_s() * 8.0), sum(|f| f.requests), sum(|f| f.errors));
    text += &format!("{:<13}{all}\n", "all");
    if let Some(fairness) = done.fairness() {
        text += &format!("fairness (Jain): {fairness:.4}\n");
    }
    if !done.streams.is_empty() {
        text += &match san.host_tcp {
            true => format!("\n{:<13}{:>12}{:>20}\n", "", "goodput", "segments sent again"),
            false => {
                let head = format!("\n{:<13}{:>12}{:>10}{:>8}", "", "goodput", "datagrams", "lost");
                head + &format!("{:>9}{:>9}{:>9}{:>9}\n", "p50 us", "p99", "p99.9", "max")
            }
        };
    }
    for Stream { name, sent, received, resent, bytes, latency, .. } in &done.streams {
        text += &format!("{name:<13}{:>12}", rate(*bytes));
        text += &match resent {
            Some(resent) => format!("{resent:>20}\n"),
            None => {
                let lost = sent.saturating_sub(*received);
                format!("{received:>10}{lost:>8}{}\n", quantiles(latency.as_ref()))
            }
        };
    }
    text += &format!("\n{:<13}{:>10}{:>10}{:>10}  dropped by the switch\n", "frames", "sent", "received", "lost");
    for (ends, port) in done.stations.iter().zip(&done.ports) {
        let Ends { name, sent, received, lost } = ends;
        text += &format!("{name:<13}{sent:>10}{received:>10}{:>10}  {}\n", lost[0] + lost[1], drops(port));
    }
    text += &format!("unexplained: {}\n", done.unexplained());
    text += &lengths(done);
    text + &format!(
        "\nseed {}, {:.6} s of virtual time, hash {:016x}\n",
        san.seed,
        done.lasted.as_secs_f64(),
        done.hash
    )
}

/// Table of the queues in which something waited, with what was told of them in the whole run; nothing without such.
fn lengths(done: &Simulated) -> String {
    let row = |Depth { port, class, mean, most }: &Depth| {
        let of = done.ports.iter().find(|of| of.name == *port).and_then(|of| of.classes);
        let [marked, cnms] = of.map_or([0; 2], |classes| [classes[*class].marked, classes[*class].notices]);
        format!("{port:<13}{class:>6}{mean:>14.0}{most:>11}{marked:>10}{cnms:>8}\n")
    };
    let rows: String = done.depths.iter().map(row).collect();
    let head =
        format!("\n{:<13}{:>6}{:>14}{:>11}{:>10}{:>8}\n", "queues", "class", "mean bytes", "most", "marked", "CNMs");
    let pauses = format!("pauses and their ends asked for in the time that counts: {}\n", done.pauses);
    if rows.is_empty() { rows } else { head + &rows + &pauses }
}

/// Line about the queues of the switch.
fn queues(buffers: &Buffers) -> String {
    let lossless = dcb::priorities(buffers.lossless()).iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
    let lossless = if lossless.is_empty() { String::new() } else { format!(", prio {lossless} lossless") };
    format!("switch: {} of buffers{lossless}\n", size(buffers.bytes))
}

/// Frames for a station, and from it, that the switch dropped, by reason, and the times that it asked the station to pause.
fn drops(port: &PortReport) -> String {
    let to = port.count.dropped.iter().map(|(reason, n)| format!("{n} {reason}"));
    let from = port.count.refused.iter().map(|(reason, n)| format!("{n} {reason} from it"));
    let all: Vec<String> = to.chain(from).collect();
    let all = if all.is_empty() { "0".to_owned() } else { all.join(", ") };
    let asked = port.pfc.requests.iter().sum::<u64>();
    if asked == 0 { all } else { format!("{all}; asked it to pause or go on {asked} times") }
}

fn map<'a>(drops: impl Iterator<Item = (&'a str, u64)>) -> Map<String, Value> {
    drops.map(|(reason, n)| (reason.to_owned(), n.into())).collect()
}

pub(super) fn of(san: &San, done: &Simulated) -> Value {
    let link = |link: &Link| json!({"rate": link.rate, "length": link.length});
    let flows = done.flows.iter().map(|flow| {
        json!({
            "name": flow.name, "requests": flow.requests, "bytes": flow.bytes, "failed": flow.errors,
            "bytes_per_s": flow.bytes as f64 / done.time.as_secs_f64(), "latency": flow.latency, "ended_early": flow.stuck,
        })
    });
    let streams = done.streams.iter().map(|stream| {
        json!({
            "name": stream.name, "sent": stream.sent, "refused": stream.refused, "received": stream.received,
            "segments_again": stream.resent,
            "bytes_per_s": stream.bytes as f64 / done.time.as_secs_f64(), "latency": stream.latency,
        })
    });
    let stations = done.stations.iter().zip(&done.ports).map(|(ends, port)| {
        json!({
            "name": ends.name, "sent": ends.sent, "received": ends.received,
            "lost": {"from": ends.lost[0], "to": ends.lost[1]},
            "pfc": {"requests": port.pfc.requests},
            "dropped": {"from": map(port.count.refused.iter()), "to": map(port.count.dropped.iter())},
        })
    });
    let queues = done.depths.iter().map(|depth| {
        let of = done.ports.iter().find(|of| of.name == depth.port).and_then(|of| of.classes);
        json!({
            "port": depth.port, "class": depth.class, "mean_bytes": depth.mean, "most_bytes": depth.most,
            "ecn_marked": of.map(|classes| classes[depth.class].marked), "cnms": of.map(|classes| classes[depth.class].notices),
        })
    });
    json!({
        "schema": "linerate.simulated-san", "version": 1,
        "settings": {
            "seed": san.seed, "initiators": san.initiators, "luns": san.luns, "disk": san.disk, "block": san.block,
            "depth": san.depth, "reads": san.reads, "target": link(&san.target), "initiator": link(&san.initiator),
            "hosts": san.hosts, "host_tcp": san.host_tcp, "host_rate": san.host_rate, "datagram": san.datagram,
            "slots": san.slots, "lossless": san.lossless, "vlan": san.vlan.map(|tag| tag.vid()),
            "buffers": san.buffers.map(|buffers| json!({
                "bytes": buffers.bytes, "reserved": buffers.reserved, "alpha": buffers.alpha.to_string(),
                "classes": buffers.classes.to_string(), "pfc": dcb::priorities(buffers.lossless()),
                "rate": buffers.span.rate, "metres": buffers.span.metres,
                "ecn": buffers.ecn.map(|ecn| ecn.map(|ecn| json!({
                    "kmin": ecn.least, "kmax": ecn.most, "pmax": f64::from(ecn.chance) / 1e4,
                }))),
                "qcn": buffers.qcn.map(|qcn| json!({
                    "prio": dcb::priorities(qcn.priorities), "setpoint": qcn.set_point,
                })),
                "pfc_watchdog": buffers.watchdog.map(|watchdog| json!({
                    "detect_ms": watchdog.detect as f64 / 1e6, "restore_ms": watchdog.restore as f64 / 1e6,
                    "action": if watchdog.action == StormAction::Drop { "drop" } else { "forward" },
                })),
            })),
            "dcb": san.dcb.as_ref().map(|offered| {
                let app = offered.applications.iter().map(ToString::to_string);
                json!({ "app": app.collect::<Vec<_>>() })
            }),
            "loss": san.loss as f64 / 1e9,
            "warm_ms": saturating_u64(san.warm.as_millis()), "time_ms": saturating_u64(san.time.as_millis()),
        },
        "flows": flows.collect::<Vec<_>>(), "streams": streams.collect::<Vec<_>>(),
        "bytes_per_s": done.bytes_per_s(), "fairness": done.fairness(),
        "stations": stations.collect::<Vec<_>>(), "queues": queues.collect::<Vec<_>>(), "pauses": done.pauses,
        "unexplained": done.unexplained(),
        "virtual_s": done.lasted.as_secs_f64(), "hash": format!("{:016x}", done.hash),
    })
}
