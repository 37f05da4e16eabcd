//! `linerate fcoe ls` and `linerate fcoe inq`.

use super::common::stopper;
use super::which::Which;
use crate::commands::shared::ended;
use crate::print::print_told;
use crate::trouble::Trouble;
use clap::Args;
use linerate_load::fcoe::Found;
use linerate_rt::fc::{Integrity, RemoteUnit};
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Only the LUN of this number.
    #[arg(long, value_name = "N")]
    lun: Option<u16>,
    /// Print a JSON document.
    #[arg(long)]
    json: bool,
}

/// Prints a line for each LUN, or all that is known of it.
pub(super) fn run(arguments: &Arguments, long: bool) -> Result<ExitCode, Trouble> {
    let example = if long { "fcoe inq -i xdp:eth1 --lun 0" } else { "fcoe ls -i xdp:eth1" };
    let stop = stopper(None)?;
    let Found { mut units, mut failures } = arguments.which.visit(example, Integrity::default(), &stop)?.find()?;
    if stop.signal().is_some() {
        return Ok(ended(&stop));
    }
    if let Some(lun) = arguments.lun.map(|lun| lun.to_string()) {
        units.retain(|unit| unit.number() == lun);
        if units.is_empty() && failures.is_empty() {
            failures.push(format!("no LUN {lun} was found: without --lun all are shown"));
        }
    }
    if arguments.json {
        let luns: Vec<Value> = units.iter().map(|unit| figures(unit).into_iter().collect()).collect();
        let document = json!({ "schema": "linerate.fcoe.luns", "version": 1, "luns": luns, "failures": failures });
        print_told(&format!("{document}\n"), true);
    } else if long {
        print_told(&units.iter().map(paragraph).collect::<String>(), false);
    } else {
        print_told(&units.iter().map(line).collect::<String>(), false);
    }
    if let Some(failure) = failures.first() {
        return Err(Trouble::failed(failure.clone()));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(unit: &RemoteUnit) -> String {
    let lun = &unit.lun;
    let bytes = u128::from(lun.blocks) * u128::from(lun.block_size);
    let ro = if lun.read_only { " read-only" } else { "" };
    let pi = if lun.protection > 0 { format!(" protection type {}", lun.protection) } else { String::new() };
    let auth = if unit.authenticated { " authenticated" } else { "" };
    format!(
        "{}  LUN {:<5} {:<8} {:<16} {bytes} bytes{ro}{pi}{auth}\n",
        unit.wwpn,
        unit.number(),
        lun.vendor,
        lun.product
    )
}

fn paragraph(unit: &RemoteUnit) -> String {
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let lines = figures(unit).into_iter().map(|(name, what)| format!("{name:20} {}\n", value(&what)));
    lines.chain(["\n".to_owned()]).collect()
}

fn figures(unit: &RemoteUnit) -> Vec<(String, Value)> {
    let lun = &unit.lun;
    let designator = linerate_text::hex(&lun.designator);
    [
        ("target", json!(unit.wwpn.to_string())),
        ("authenticated", json!(unit.authenticated)),
        ("lun", json!(unit.number())),
        ("vendor", json!(lun.vendor)),
        ("product", json!(lun.product)),
        ("revision", json!(lun.revision)),
        ("serial", json!(lun.serial)),
        ("designator", json!(designator)),
        ("bytes", json!(u128::from(lun.blocks) * u128::from(lun.block_size))),
        ("block_size", json!(lun.block_size)),
        ("blocks", json!(lun.blocks)),
        ("physical_block_size", json!(u64::from(lun.block_size) << lun.physical_exponent.min(32))),
        ("protection_type", json!(lun.protection)),
        ("read_only", json!(lun.read_only)),
        ("write_cache", json!(lun.write_cache)),
        ("fua", json!(lun.fua)),
        ("unmap", json!(lun.unmap)),
        ("unmapped_reads_zero", json!(lun.zeroes)),
        ("max_transfer_blocks", json!(lun.max_transfer)),
        ("rotation_rate", json!(lun.rotation)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
