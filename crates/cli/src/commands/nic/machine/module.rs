//! Rows of `nic show` about the module in the cage.

use super::super::layout::Layout;
use linerate_host::adapter::{Lane, Module, dbm};

pub(super) fn show(out: &mut Layout, module: &Module) {
    out.group("module");
    out.row("identifier", &module.identifier);
    out.maybe("connector", module.connector.clone());
    out.maybe("made for", Some(module.media.join(", ")));
    let part = [&module.vendor, &module.part, &module.revision].map(|one| one.clone().unwrap_or_default()).join(" ");
    out.maybe("vendor, part, revision", Some(part.trim().to_owned()));
    out.maybe("vendor OUI", module.oui.clone());
    out.maybe("serial number", module.serial.clone());
    out.maybe("date code", module.date.clone());
    out.maybe("nominal rate", module.rate.map(|rate| format!("{rate} MBd")));
    out.maybe("wavelength", module.wavelength.map(|length| format!("{length} nm")));
    let lengths: Vec<_> = module.lengths.iter().map(|(name, metres)| format!("{name} {metres} m")).collect();
    out.maybe("length at most", Some(lengths.join(", ")));
    out.maybe("power at most", module.power_most.map(|watts| format!("{watts} W")));
    out.maybe("temperature", module.temperature.map(|degrees| format!("{degrees:.2} C")));
    out.maybe("voltage", module.voltage.map(|volts| format!("{volts:.4} V")));
    module.lanes.iter().enumerate().for_each(|(n, one)| out.row(&format!("lane {}", n + 1), &lane(one)));
    out.maybe("note", module.note.clone());
}

fn lane(lane: &Lane) -> String {
    let light = |name: &str, power: Option<f64>| {
        power.map(|mw| match dbm(mw) {
            Some(dbm) => format!("{name} {mw:.4} mW ({dbm:.2} dBm)"),
            None => format!("{name} {mw:.4} mW (none)"),
        })
    };
    let bias = lane.bias.map(|bias| format!("bias {bias:.3} mA"));
    let parts = [light("sends", lane.tx_power), light("receives", lane.rx_power), bias];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
