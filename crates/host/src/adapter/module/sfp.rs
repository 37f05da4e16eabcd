//! SFP modules: SFF-8472, with what it measures at its second address.

use super::Module;
use super::bytes::{byte, degrees, half, lanes, lengths, oui, text, volts};
use super::codes::{bits, connector, extended};

const TEN_GIGABITS: &[(u8, &str)] =
    &[(0x80, "10G Base-ER"), (0x40, "10G Base-LRM"), (0x20, "10G Base-LR"), (0x10, "10G Base-SR")];
const ETHERNET: &[(u8, &str)] = &[
    (0x80, "BASE-PX"),
    (0x40, "BASE-BX10"),
    (0x20, "100BASE-FX"),
    (0x10, "100BASE-LX/LX10"),
    (0x08, "1000BASE-T"),
    (0x04, "1000BASE-CX"),
    (0x02, "1000BASE-LX"),
    (0x01, "1000BASE-SX"),
];
/// Alarms about the light that is sent, and that is received.
const SENT: &[(u8, &str)] = &[(0x80, "temperature high"), (0x02, "tx power high"), (0x01, "tx power low")];
const RECEIVED: &[(u8, &str)] = &[(0x80, "rx power high"), (0x40, "rx power low")];
const CABLES: &[(u8, &str)] = &[(0x08, "Active Cable"), (0x04, "Passive Cable")];

/// True if it measures temperature, voltage and light, and says so at its second address.
pub(super) fn is_measured(page: &[u8]) -> bool {
    byte(page, 92).is_some_and(|kind| kind & 0x40 != 0)
}

pub(super) fn parse(page: &[u8], measured: &[u8]) -> Module {
    let mut media = bits(byte(page, 3), TEN_GIGABITS);
    media.extend(bits(byte(page, 6), ETHERNET));
    media.extend(bits(byte(page, 8), CABLES));
    media.extend(byte(page, 36).and_then(extended));
    let copper = byte(page, 8).is_some_and(|cable| cable & 0x0c != 0);
    let metres = |at, unit: f64| byte(page, at).map(|length| f64::from(length) * unit);
    let rate = match (byte(page, 12), byte(page, 66)) {
        (Some(0xff), Some(quarters)) => Some(u32::from(quarters) * 250),
        (Some(hundreds), _) => Some(u32::from(hundreds) * 100),
        _ => None,
    };
    // Constants for what its host must calibrate are not applied: then nothing is said instead of something wrong.
    let calibrated = byte(page, 92).is_some_and(|kind| kind & 0x20 != 0);
    let known = if calibrated { measured } else { &[] };
    Module {
        connector: byte(page, 2).and_then(connector),
        media,
        vendor: text(page, 20, 16),
        oui: oui(page, 37),
        part: text(page, 40, 16),
        revision: text(page, 56, 4),
        serial: text(page, 68, 16),
        date: text(page, 84, 8),
        rate: rate.filter(|rate| *rate != 0),
        wavelength: half(page, 60).filter(|length| *length != 0 && !copper).map(f64::from),
        lengths: lengths(&[
            ("SMF", metres(14, 1000.0).filter(|metres| *metres > 0.0).or_else(|| metres(15, 100.0))),
            ("OM2", metres(16, 10.0)),
            ("OM1", metres(17, 10.0)),
            (if copper { "copper" } else { "OM4" }, metres(18, if copper { 1.0 } else { 10.0 })),
            ("OM3", metres(19, 10.0)),
        ]),
        power_most: byte(page, 64).map(|options| match options {
            o if o & 0x40 != 0 => 2.5,
            o if o & 0x20 != 0 => 2.0,
            o if o & 0x02 != 0 => 1.5,
            _ => 1.0,
        }),
        temperature: degrees(known, 96),
        voltage: volts(known, 98),
        lanes: lanes(known, 1, [102, 100, 104], 2.0),
        // Flags are an option.
        alarms: match byte(page, 93) {
            Some(options) if options & 0x80 != 0 => {
                [bits(byte(measured, 112), SENT), bits(byte(measured, 113), RECEIVED)].concat()
            }
            _ => Vec::new(),
        },
        note: (!measured.is_empty() && !calibrated).then(|| "its measurements need calibration by the host".to_owned()),
        ..Module::default()
    }
}
