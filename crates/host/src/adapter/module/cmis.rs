//! QSFP-DD, OSFP and others: CMIS, lower memory, pages 00h, 01h and 11h.

use super::Module;
use super::bytes::{byte, degrees, lanes, lengths, oui, text, volts};
use super::codes::connector;

/// Media of the first application, for optical modules of single mode and multimode (SFF-8024, tables 4-6 and 4-7), and
/// copper (4-8).
const MULTIMODE: &[(u8, &str)] =
    &[(0x0e, "200GBASE-SR4"), (0x10, "400GBASE-SR8"), (0x11, "400GBASE-SR4"), (0x12, "800GBASE-SR8")];
const SINGLE_MODE: &[(u8, &str)] = &[
    (0x14, "100GBASE-DR"),
    (0x17, "200GBASE-DR4"),
    (0x18, "200GBASE-FR4"),
    (0x19, "200GBASE-LR4"),
    (0x1a, "400GBASE-FR8"),
    (0x1b, "400GBASE-LR8"),
    (0x1c, "400GBASE-DR4"),
    (0x1d, "400GBASE-FR4"),
    (0x1e, "400GBASE-LR4-6"),
];
const STATES: &[&str] = &["", "low power", "powering up", "ready", "powering down", "fault"];

/// True if it has pages besides 00h.
pub(super) fn is_paged(lower: &[u8]) -> bool {
    byte(lower, 2).is_some_and(|flags| flags & 0x80 == 0)
}

/// Pages have addresses from 128.
pub(super) fn parse(lower: &[u8], upper: &[u8], advertised: &[u8], measured: &[u8]) -> Module {
    let at = |address: usize| address - 128;
    let media = match (byte(lower, 85), byte(lower, 87)) {
        (Some(1), Some(code)) => name(MULTIMODE, code),
        (Some(2), Some(code)) => name(SINGLE_MODE, code),
        (Some(3), _) => Some("passive copper".to_owned()),
        (Some(4), _) => Some("active cable".to_owned()),
        (Some(5), _) => Some("BASE-T".to_owned()),
        _ => None,
    };
    // 2 microamperes, times 1, 2 or 4 as page 01h says.
    let step = match byte(advertised, at(160)).map(|byte| byte >> 3 & 3) {
        Some(1) => 4.0,
        Some(2) => 8.0,
        _ => 2.0,
    };
    let length =
        byte(upper, at(202)).map(|length| f64::from(length & 0x3f) * [0.1, 1.0, 10.0, 100.0][usize::from(length >> 6)]);
    let state = byte(lower, 3).and_then(|state| STATES.get(usize::from(state >> 1 & 7)).copied());
    Module {
        connector: byte(upper, at(203)).and_then(connector),
        media: media.into_iter().collect(),
        vendor: text(upper, at(129), 16),
        oui: oui(upper, at(145)),
        part: text(upper, at(148), 16),
        revision: text(upper, at(164), 2),
        serial: text(upper, at(166), 16),
        date: text(upper, at(182), 8),
        lengths: lengths(&[("cable", length)]),
        power_most: byte(upper, at(201)).filter(|quarters| *quarters != 0).map(|quarters| f64::from(quarters) / 4.0),
        temperature: degrees(lower, 14),
        voltage: volts(lower, 16),
        lanes: lanes(measured, 8, [at(154), at(170), at(186)], step),
        note: state
            .filter(|state| !state.is_empty() && *state != "ready")
            .map(|state| format!("it is in state: {state}")),
        ..Module::default()
    }
}

fn name(table: &[(u8, &str)], code: u8) -> Option<String> {
    (code != 0).then(|| {
        let known = table.iter().find(|(one, _)| *one == code);
        known.map_or_else(|| format!("media {code:#04x}"), |(_, name)| (*name).to_owned())
    })
}
