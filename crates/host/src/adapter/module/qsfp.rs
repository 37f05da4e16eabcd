//! QSFP, QSFP+ and QSFP28 modules: SFF-8636, lower memory and page 0.

use super::Module;
use super::bytes::{byte, degrees, half, lanes, lengths, oui, text, volts};
use super::codes::{bits, connector, extended};

const COMPLIANCE: &[(u8, &str)] = &[
    (0x40, "10G Base-LRM"),
    (0x20, "10G Base-LR"),
    (0x10, "10G Base-SR"),
    (0x08, "40G Base-CR4"),
    (0x04, "40G Base-SR4"),
    (0x02, "40G Base-LR4"),
    (0x01, "40G Active Cable (XLPPI)"),
];
const FLAT: u8 = 0x04;

/// `upper` has addresses from 128.
pub(super) fn parse(lower: &[u8], upper: &[u8]) -> Module {
    let at = |address: usize| address - 128;
    let code = byte(upper, at(131)).unwrap_or(0);
    let mut media = bits(Some(code), COMPLIANCE);
    if code & 0x80 != 0 {
        media.extend(byte(upper, at(192)).and_then(extended));
    }
    // Copper cables have no laser.
    let copper = byte(upper, at(147)).is_some_and(|technology| technology >> 4 >= 0x0a);
    let metres = |address, unit: f64| byte(upper, at(address)).map(|length| f64::from(length) * unit);
    let rate = match (byte(upper, at(140)), byte(upper, at(222))) {
        (Some(0xff), Some(quarters)) => Some(u32::from(quarters) * 250),
        (Some(hundreds), _) => Some(u32::from(hundreds) * 100),
        _ => None,
    };
    let flat = byte(lower, 2).is_some_and(|status| status & FLAT != 0);
    Module {
        connector: byte(upper, at(130)).and_then(connector),
        media,
        vendor: text(upper, at(148), 16),
        oui: oui(upper, at(165)),
        part: text(upper, at(168), 16),
        revision: text(upper, at(184), 2),
        serial: text(upper, at(196), 16),
        date: text(upper, at(212), 8),
        rate: rate.filter(|rate| *rate != 0),
        wavelength: half(upper, at(186))
            .filter(|length| *length != 0 && !copper)
            .map(|length| f64::from(length) / 20.0),
        lengths: lengths(&[
            ("SMF", metres(142, 1000.0)),
            ("OM3", metres(143, 2.0)),
            ("OM2", metres(144, 1.0)),
            ("OM1", metres(145, 1.0)),
            (if copper { "copper" } else { "cable or OM4" }, metres(146, 1.0)),
        ]),
        power_most: byte(upper, at(129)).map(|class| match (class >> 6, class & 3) {
            (_, 1) => 4.0,
            (_, 2) => 4.5,
            (_, 3) => 5.0,
            (0, _) => 1.5,
            (1, _) => 2.0,
            (2, _) => 2.5,
            _ => 3.5,
        }),
        temperature: degrees(lower, 22).filter(|degrees| *degrees != 0.0 || !flat),
        voltage: volts(lower, 26),
        lanes: lanes(lower, 4, [50, 42, 34], 2.0),
        // Two lanes to a byte.
        alarms: [(6, 0x80, "temperature high"), (9, 0x44, "rx power low"), (10, 0x44, "rx power low")]
            .iter()
            .filter(|(at, bits, _)| byte(lower, *at).is_some_and(|flags| flags & bits != 0))
            .map(|(.., alarm)| (*alarm).to_owned())
            .collect(),
        ..Module::default()
    }
}
