//! The module in an interface's cage (MODULE_EEPROM_GET): what its memory says of it. A file for each layout: SFF-8472
//! (SFP), SFF-8636 (QSFP), CMIS (QSFP-DD, OSFP).

mod bytes;
mod cmis;
mod codes;
mod qsfp;
mod sfp;
#[cfg(test)]
mod tests;

use super::source::{ModulePage, Question, Source, Subject};
use crate::absent::{Absent, Part};
use crate::netlink::message::attribute;
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Module {
    /// Kind of module, by SFF-8024's name.
    pub identifier: String,
    pub connector: Option<String>,
    /// Uses that it is made for: `10G Base-SR` …
    pub media: Vec<String>,
    pub vendor: Option<String>,
    /// Vendor's organization.
    pub oui: Option<String>,
    pub part: Option<String>,
    pub revision: Option<String>,
    pub serial: Option<String>,
    /// Date of manufacture, as in the memory: year, month, day, and perhaps the lot.
    pub date: Option<String>,
    /// Nominal rate, in Mbaud.
    pub rate: Option<u32>,
    /// Wavelength, in nanometres.
    pub wavelength: Option<f64>,
    /// Lengths that it is made for: kind of cable, and metres.
    pub lengths: Vec<(&'static str, f64)>,
    /// Most power that it takes, in watts.
    pub power_most: Option<f64>,
    /// Temperature, in degrees Celsius.
    pub temperature: Option<f64>,
    /// Supply voltage, in volts.
    pub voltage: Option<f64>,
    pub lanes: Vec<Lane>,
    /// Alarms that it raises about light.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
    /// Reason for which a part of it is not known.
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lane {
    /// Optical power that it sends, in milliwatts.
    pub tx_power: Option<f64>,
    /// Optical power that it receives, in milliwatts.
    pub rx_power: Option<f64>,
    /// Current of the laser, in milliamperes.
    pub bias: Option<f64>,
}

/// Milliwatts in dBm; none for none.
#[must_use]
pub fn dbm(milliwatts: f64) -> Option<f64> {
    (milliwatts > 0.0).then(|| 10.0 * milliwatts.log10())
}

/// Reads an interface's module.
pub(crate) fn read(source: &mut dyn Source, subject: &Subject) -> Part<Module> {
    let mut page = |device, page, offset| {
        let range = ModulePage { device, page, offset, length: 128 };
        let answer = source.ask(Question::Module(range), Some(subject))?.pop().unwrap_or_default();
        let data = attribute(&answer, 7).filter(|data| !data.is_empty());
        data.map(<[u8]>::to_vec).ok_or_else(|| Absent::told("the kernel's answer has no memory of the module"))
    };
    let lower = page(0x50, 0, 0)?;
    let rest = |got: Part<Vec<u8>>, note: &mut Option<String>| {
        got.unwrap_or_else(|why| {
            note.get_or_insert(why.why);
            Vec::new()
        })
    };
    let (first, mut note) = (lower.first().copied().unwrap_or(0), None);
    let mut module = match layout(first) {
        Layout::Sfp => {
            let measured = if sfp::is_measured(&lower) { rest(page(0x51, 0, 0), &mut note) } else { Vec::new() };
            sfp::parse(&lower, &measured)
        }
        Layout::Qsfp => qsfp::parse(&lower, &rest(page(0x50, 0, 128), &mut note)),
        Layout::Cmis => {
            let upper = rest(page(0x50, 0, 128), &mut note);
            let paged = cmis::is_paged(&lower);
            let advertised = if paged { rest(page(0x50, 1, 128), &mut note) } else { Vec::new() };
            let measured = if paged { rest(page(0x50, 0x11, 128), &mut note) } else { Vec::new() };
            cmis::parse(&lower, &upper, &advertised, &measured)
        }
        Layout::Other => Module::default(),
    };
    module.identifier = codes::identifier(first);
    module.note = note.or(module.note);
    Ok(module)
}

enum Layout {
    Sfp,
    Qsfp,
    Cmis,
    Other,
}

/// Layout of the memory of a kind of module (SFF-8024, table 4-1).
fn layout(identifier: u8) -> Layout {
    match identifier {
        0x02 | 0x03 | 0x0b => Layout::Sfp,
        0x0c | 0x0d | 0x11 => Layout::Qsfp,
        0x18 | 0x19 | 0x1b | 0x1e..=0x26 => Layout::Cmis,
        _ => Layout::Other,
    }
}

/// Parses pages as a module of the kind that the first byte says: lower memory, and the pages behind it in the layout's
/// order. For tests and fuzzing.
#[doc(hidden)]
#[must_use]
pub fn parse(lower: &[u8], pages: &[&[u8]]) -> Module {
    let page = |n: usize| pages.get(n).copied().unwrap_or_default();
    let first = lower.first().copied().unwrap_or(0);
    let module = match layout(first) {
        Layout::Sfp => sfp::parse(lower, page(0)),
        Layout::Qsfp => qsfp::parse(lower, page(0)),
        Layout::Cmis => cmis::parse(lower, page(0), page(1), page(2)),
        Layout::Other => Module::default(),
    };
    Module { identifier: codes::identifier(first), ..module }
}
