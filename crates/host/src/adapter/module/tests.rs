//! Tests of layouts that no recorded card has, and of bytes that are cut or make no sense.

use super::*;

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A 400G module of eight lanes.
fn cmis() -> [[u8; 128]; 4] {
    let [mut lower, mut upper, mut advertised, mut measured] = [[0_u8; 128]; 4];
    put(&mut lower, 0, &[0x18, 0x50, 0, 3 << 1]);
    put(&mut lower, 14, &[0x28, 0x80, 0x81, 0x00]);
    put(&mut lower, 85, &[2, 0x11, 0x1c]);
    put(&mut upper, 1, b"ACME OPTICS     ");
    put(&mut upper, 17, &[0x00, 0x1b, 0x21]);
    put(&mut upper, 20, b"QDD-400G-DR4    01SN12345         240117  ");
    upper[201 - 128] = 40;
    upper[202 - 128] = 0b0100_0101;
    upper[203 - 128] = 0x0c;
    advertised[160 - 128] = 1 << 3;
    for lane in 0..8 {
        put(&mut measured, 26 + 2 * lane, &12_345_u16.to_be_bytes());
        put(&mut measured, 42 + 2 * lane, &10_000_u16.to_be_bytes());
        put(&mut measured, 58 + 2 * lane, &10_000_u16.to_be_bytes());
    }
    [lower, upper, advertised, measured]
}

#[test]
fn a_module_of_eight_lanes_is_read() {
    let [lower, upper, advertised, measured] = cmis();
    let module = parse(&lower, &[&upper, &advertised, &measured]);
    assert_eq!((module.identifier.as_str(), &module.media[..]), ("QSFP-DD", &["400GBASE-DR4".to_owned()][..]));
    assert_eq!((module.vendor.as_deref(), module.part.as_deref()), (Some("ACME OPTICS"), Some("QDD-400G-DR4")));
    assert_eq!((module.revision.as_deref(), module.serial.as_deref()), (Some("01"), Some("SN12345")));
    assert_eq!((module.date.as_deref(), module.oui.as_deref()), (Some("240117"), Some("00:1b:21")));
    assert_eq!((module.power_most, module.lengths), (Some(10.0), vec![("cable", 5.0)]));
    assert_eq!((module.temperature, module.voltage), (Some(40.5), Some(3.3024)));
    // Steps of 4 microamperes, as page 01h says.
    let lane = Lane { tx_power: Some(1.2345), rx_power: Some(1.0), bias: Some(40.0) };
    assert_eq!((module.lanes, module.note), (vec![lane; 8], None));
    let mut powered_down = lower;
    powered_down[3] = 1 << 1;
    assert_eq!(parse(&powered_down, &[]).note.as_deref(), Some("it is in state: low power"));
}

#[test]
fn copper_has_no_light() {
    let [mut lower, mut upper] = [[0_u8; 128]; 2];
    put(&mut lower, 0, &[0x11, 8, 0x06]);
    put(&mut upper, 2, &[0x23, 0x80]);
    upper[146 - 128] = 3;
    upper[147 - 128] = 0xa0;
    put(&mut upper, 186 - 128, &[3, 9]);
    upper[192 - 128] = 0x0b;
    let module = parse(&lower, &[&upper]);
    assert_eq!((module.lanes.len(), module.wavelength, module.temperature), (0, None, None));
    assert_eq!((module.connector.as_deref(), module.lengths), (Some("No separable connector"), vec![("copper", 3.0)]));
    assert_eq!(module.media, ["100G Base-CR4 or 25G Base-CR CA-L"]);
}

/// Constants of calibration are not applied: nothing is said instead of something wrong.
#[test]
fn what_the_host_must_calibrate_is_not_told() {
    let [mut page, measured] = [[0_u8; 128], [0x40_u8; 128]];
    put(&mut page, 0, &[3, 4, 7]);
    page[92] = 0x50;
    let module = parse(&page, &[&measured]);
    assert_eq!((module.temperature, module.lanes.len()), (None, 0));
    assert!(module.note.unwrap().contains("calibration"));
    page[92] = 0x60;
    let module = parse(&page, &[&measured]);
    assert_eq!((module.temperature, module.lanes.len(), module.note), (Some(64.25), 1, None));
}

#[test]
fn pages_that_are_cut_lose_fields_and_nothing_else() {
    let [lower, upper, advertised, measured] = cmis();
    for first in [0x03, 0x0d, 0x11, 0x18, 0x00, 0xff] {
        let mut lower = lower;
        lower[0] = first;
        for end in 0..=128 {
            let pages = [&upper[..end], &advertised[..end], &measured[..end]];
            assert!(parse(&lower[..end.max(1)], &pages).lanes.len() <= 8);
        }
    }
    assert_eq!(parse(&[], &[]).identifier, "kind 0x00");
}
