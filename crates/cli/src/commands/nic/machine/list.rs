//! `nic list`: all interfaces of the host in one table, by a fixed number of questions to the kernel.

use super::super::layout::{cut, speed};
use super::{failed, freebsd, source};
use crate::trouble::Trouble;
use linerate_host::adapter::{Row, list};
use serde_json::{Value, json};
use std::path::Path;

/// Interfaces of the host: of each the cells of its line, and its document.
pub(in super::super) struct Host(pub(super) Vec<([String; 9], Value)>);

/// Reads the interfaces of the host, or of the one that a recorded tree is of.
pub(in super::super) fn host(from: Option<&Path>) -> Result<Host, Trouble> {
    if let Some(texts) = freebsd::texts(from)? {
        return freebsd::host(&texts);
    }
    let rows = list(&mut *source(from)?).map_err(|absent| failed("netlink", &absent))?;
    Ok(Host(rows.iter().map(|row| (cells(row), document(row))).collect()))
}

/// Columns of the table, with their widths.
const COLUMNS: [(&str, usize); 9] = [
    ("NAME", 15),
    ("KIND", 8),
    ("DRIVER", 11),
    ("BUS", 12),
    ("SPEED", 5),
    ("MTU", 5),
    ("STATE", 7),
    ("QUEUES", 6),
    ("XDP", 3),
];

/// Line of the table; cells that are too wide are cut.
pub(in super::super) fn line(cells: [&str; 9]) -> String {
    let cells = COLUMNS.iter().zip(cells).map(|((_, width), cell)| format!("{:width$}", cut(cell, *width)));
    cells.collect::<Vec<_>>().join(" ").trim_end().to_owned() + "\n"
}

impl Host {
    pub(in super::super) fn table(&self) -> String {
        line(COLUMNS.map(|(name, _)| name))
            + &self.0.iter().map(|(cells, _)| line(cells.each_ref().map(String::as_str))).collect::<String>()
    }

    /// The same as documents.
    pub(in super::super) fn documents(&self) -> Vec<Value> {
        self.0.iter().map(|(_, document)| document.clone()).collect()
    }
}

fn kind(row: &Row) -> &str {
    match (&row.interface.kind, row.interface.hardware) {
        (Some(kind), _) => kind,
        (None, 772) => "loopback",
        (None, _) if row.interface.device.is_some() || row.driver.is_some() => "device",
        _ => "-",
    }
}

fn cells(row: &Row) -> [String; 9] {
    let there = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let link = &row.interface;
    let state = match link.state {
        Some("lowerlayerdown") => Some("no low"),
        Some("notpresent") => Some("absent"),
        state => state,
    };
    [
        link.name.clone(),
        kind(row).to_owned(),
        there(row.driver.as_deref()),
        there(row.place.as_deref()),
        there(row.speed.map(speed).as_deref()),
        there(link.mtu.map(|mtu| mtu.to_string()).as_deref()),
        there(state),
        there(row.queues.map(|count| count.to_string()).as_deref()),
        row.xdp
            .as_ref()
            .map_or("?", |xdp| match xdp {
                xdp if xdp.features.iter().any(|name| name == "xsk-zerocopy") => "zc",
                xdp if xdp.features.iter().any(|name| name == "basic") => "yes",
                _ => "no",
            })
            .to_owned(),
    ]
}

fn document(row: &Row) -> Value {
    let link = &row.interface;
    json!({
        "name": link.name,
        "index": link.index,
        "kind": kind(row),
        "driver": row.driver,
        "bus": row.place,
        "mac": link.address,
        "speed_mbps": row.speed,
        "mtu": link.mtu,
        "state": link.state,
        "queues": row.queues,
        "xdp": row.xdp.as_ref().ok().map(|xdp| &xdp.features),
    })
}
