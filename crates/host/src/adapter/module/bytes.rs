//! Fields of a module's memory, by their addresses; those behind its end are not there.

use super::Lane;

pub(super) fn byte(page: &[u8], at: usize) -> Option<u8> {
    page.get(at).copied()
}

/// Big-endian number.
pub(super) fn half(page: &[u8], at: usize) -> Option<u16> {
    page.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

/// Signed 256ths: temperatures.
pub(super) fn degrees(page: &[u8], at: usize) -> Option<f64> {
    page.get(at..)?.first_chunk().map(|bytes| f64::from(i16::from_be_bytes(*bytes)) / 256.0)
}

/// Units of 100 microvolts; zero if it is not measured.
pub(super) fn volts(page: &[u8], at: usize) -> Option<f64> {
    half(page, at).filter(|volts| *volts != 0).map(|volts| f64::from(volts) / 10_000.0)
}

/// ASCII, padded with spaces.
pub(super) fn text(page: &[u8], at: usize, len: usize) -> Option<String> {
    let bytes = page.get(at..at.checked_add(len)?)?;
    let text: String =
        bytes.iter().map(|b| if b.is_ascii_graphic() || *b == b' ' { char::from(*b) } else { ' ' }).collect();
    let text = text.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Organization, as ethtool prints it.
pub(super) fn oui(page: &[u8], at: usize) -> Option<String> {
    let bytes = page.get(at..at + 3)?;
    Some(format!("{:02x}:{:02x}:{:02x}", bytes[0], bytes[1], bytes[2]))
}

/// Lanes from tables of sent power (0.1 microwatts), current (units of microamperes) and received power.
pub(super) fn lanes(page: &[u8], count: usize, [tx, bias, rx]: [usize; 3], microamperes: f64) -> Vec<Lane> {
    let power = |at: usize| half(page, at).map(|power| f64::from(power) / 10_000.0);
    let one = |n: usize| Lane {
        tx_power: power(tx + 2 * n),
        bias: half(page, bias + 2 * n).map(|bias| f64::from(bias) * microamperes / 1000.0),
        rx_power: power(rx + 2 * n),
    };
    let is_there = |lane: &Lane| lane.tx_power.is_some() || lane.bias.is_some() || lane.rx_power.is_some();
    let lanes: Vec<_> = (0..count).map(one).filter(is_there).collect();
    // Copper measures nothing, and says zeros.
    let nothing = |lane: &Lane| [lane.tx_power, lane.bias, lane.rx_power].iter().flatten().all(|value| *value == 0.0);
    if lanes.iter().all(nothing) { Vec::new() } else { lanes }
}

/// Lengths that are not zero.
pub(super) fn lengths(all: &[(&'static str, Option<f64>)]) -> Vec<(&'static str, f64)> {
    all.iter().filter_map(|(name, metres)| Some((*name, metres.filter(|metres| *metres > 0.0)?))).collect()
}
