//! INQUIRY (SPC-4, clause 6.6) with its vital product data.

use super::Response;
use super::unit::{MAX_COMPARE, MAX_RANGES, MAX_SPAN, MAX_TRANSFER, Unit};
use crate::ProtectionType;
use linerate_wire::Wwn;
use linerate_wire::scsi::{
    BlockCharacteristics, BlockLimits, BlockProvisioning, Designator, ExtendedInquiry, Inquiry, Qualifier, VpdPage,
    put_list_len, vpd,
};

pub(crate) const VENDOR: &[u8; 8] = b"LINERATE";
/// Direct access block device.
const DISK: u8 = 0;
/// No device type.
const NONE: u8 = 0x1f;

const PAGES: [u8; 7] = [
    VpdPage::SUPPORTED,
    VpdPage::SERIAL,
    VpdPage::DESIGNATORS,
    VpdPage::EXTENDED,
    VpdPage::LIMITS,
    VpdPage::CHARACTERISTICS,
    VpdPage::PROVISIONING,
];

/// Data of a LUN without a unit: qualifier 3 (SPC-4, clause 6.6.2), and no page but the list of pages.
pub(super) fn nobody(page: Option<u8>, to: &mut Vec<u8>) -> Result<(), Response> {
    let peripheral = Qualifier::NOT_SUPPORTED.0 << 5 | NONE;
    match page {
        None => to.extend(standard(Qualifier::NOT_SUPPORTED, NONE, "").bytes()),
        Some(VpdPage::SUPPORTED) => vpd(peripheral, VpdPage::SUPPORTED, to, |to| to.push(VpdPage::SUPPORTED)),
        Some(_) => return Err(Response::invalid_field(2, None)),
    }
    Ok(())
}

/// The port through which a unit is asked, one of a target's.
pub(super) struct Port<'a> {
    pub(super) ports: &'a [Wwn],
    pub(super) number: u16,
    pub(super) node: Wwn,
}

/// Data of a unit.
pub(super) fn inquire(unit: &Unit, port: &Port<'_>, page: Option<u8>, to: &mut Vec<u8>) -> Result<(), Response> {
    let Some(page) = page else {
        let disk = standard(Qualifier::CONNECTED, DISK, unit.geometry.product);
        // One group, whose state never changes (SPC-4, clause 5.15.2).
        let multi_port = port.ports.len() > 1;
        let protect = unit.protection.is_some();
        to.extend(Inquiry { protect, copies: true, port_groups: 1, multi_port, ..disk }.bytes());
        return Ok(());
    };
    let body: &dyn Fn(&mut Vec<u8>) = match page {
        VpdPage::SUPPORTED => &|to| to.extend(PAGES),
        VpdPage::SERIAL => &|to| to.extend(unit.name.serial().bytes()),
        VpdPage::DESIGNATORS => &|to| designators(unit, port, to),
        VpdPage::EXTENDED => &|to| to.extend(extended(unit).bytes()),
        VpdPage::LIMITS => &|to| to.extend(limits(unit).bytes()),
        VpdPage::CHARACTERISTICS => &|to| {
            // SANITIZE: BLOCK ERASE leaves zeros, which are read like any others.
            let disk = BlockCharacteristics { rotation: 1, after_erase: 1, form_factor: 0, verifies_unmapped: true };
            to.extend(disk.bytes());
        },
        VpdPage::PROVISIONING => &|to| to.extend(provisioning(unit).bytes()),
        _ => return Err(Response::invalid_field(2, None)),
    };
    vpd(DISK, page, to, body);
    Ok(())
}

fn standard(qualifier: Qualifier, device_type: u8, product: &str) -> Inquiry {
    Inquiry {
        qualifier,
        device_type,
        version: 6,
        hierarchical: true,
        protect: false,
        port_groups: 0,
        copies: false,
        multi_port: false,
        queues: true,
        vendor: *VENDOR,
        product: padded(product),
        // Four characters.
        revision: padded(concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"))),
        standards: Inquiry::DISK_STANDARDS,
    }
}

/// Text, cut or padded with spaces (SPC-4, clause 4.3.1).
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [b' '; N];
    bytes.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
    bytes
}

/// Page 83h (SPC-4, clause 7.8.5): the unit by its vendor's name and by its NAA name, the port and the node by theirs.
fn designators(unit: &Unit, port: &Port<'_>, to: &mut Vec<u8>) {
    let mut name = VENDOR.to_vec();
    name.extend(format!("{:<16}{}", unit.geometry.product, unit.name.unique()).bytes());
    Designator { code_set: 2, kind: 1, association: 0, protocol: None, identifier: &name }.put(to);
    Designator::naa(0, unit.name.naa().bytes()).put(to);
    let name = port.ports.get(usize::from(port.number)).copied().unwrap_or(port.node);
    let (name, node, number) = (allowed(name), allowed(port.node), relative(port.number));
    Designator { protocol: Some(0), ..Designator::naa(1, &name) }.put(to);
    let relative = Designator { code_set: 1, kind: 4, association: 1, protocol: Some(0), identifier: &number };
    relative.put(to);
    Designator { kind: 5, identifier: &[0, 0, 0, GROUP], ..relative }.put(to);
    Designator { protocol: Some(0), ..Designator::naa(2, &node) }.put(to);
}

/// Identifier of the one target port group.
const GROUP: u8 = 1;

/// Relative target port identifier of a port, after two reserved bytes; they count from 1 (SPC-4, clause 7.8.5.7).
fn relative(number: u16) -> [u8; 4] {
    (u32::from(number) + 1).to_be_bytes()
}

/// Data of REPORT TARGET PORT GROUPS (SPC-4, clause 6.37): one group of all ports, active and optimized.
pub(super) fn port_groups(format: u8, ports: u16, to: &mut Vec<u8>) -> Result<(), Response> {
    let at = to.len();
    to.extend([0; 4]);
    match format {
        0 => {}
        // The extended header: no implicit transition takes time.
        1 => to.extend([1 << 4, 0, 0, 0]),
        _ => return Err(Response::invalid_field(1, Some(7))),
    }
    // State 0; T_SUP and the rest of the states are not supported but AO_SUP; changed by no command.
    to.extend([0, 1, 0, GROUP, 0, 0, 0, ports.min(255).to_be_bytes()[1]]);
    (0..ports.min(255)).for_each(|number| to.extend(relative(number)));
    put_list_len(to, at, at + 4);
    Ok(())
}

/// The name in a format that a designator may have (SPC-4, clause 7.8.5.6): Fibre Channel's names of nodes are often of NAA
/// 1, a MAC address behind 10:00, which becomes a locally assigned name.
fn allowed(name: Wwn) -> [u8; 8] {
    match name.0 >> 60 {
        2 | 3 | 5 => name.0.to_be_bytes(),
        _ => (name.0 & u64::MAX >> 4 | 3 << 60).to_be_bytes(),
    }
}

fn extended(unit: &Unit) -> ExtendedInquiry {
    let kind = unit.protection.map(|protection| protection.kind);
    ExtendedInquiry {
        // The unit's present type is the only supported one (SBC-3, clause 4.22.2: SPT).
        protection_types: match kind {
            None | Some(ProtectionType::Type1) => 0,
            Some(ProtectionType::Type2) => 2,
            Some(ProtectionType::Type3) => 4,
        },
        guard: kind.is_some(),
        reference: matches!(kind, Some(ProtectionType::Type1 | ProtectionType::Type2)),
        application: kind == Some(ProtectionType::Type2),
        attributes: true,
        volatile: unit.geometry.volatile,
        nexus_attentions: true,
    }
}

/// Page B0h: limits of commands; longer ones are refused.
fn limits(unit: &Unit) -> BlockLimits {
    let physical = 1 << unit.geometry.physical_exponent.min(15);
    let discards = unit.geometry.discards;
    BlockLimits {
        write_same_non_zero: true,
        compare_and_write: MAX_COMPARE,
        granularity: physical,
        transfer: unit.blocks_in(MAX_TRANSFER),
        optimal: unit.blocks_in(1 << 20),
        prefetch: 0,
        unmap_blocks: if discards { unit.unmap_blocks() } else { 0 },
        unmap_ranges: if discards { u32::from(MAX_RANGES) } else { 0 },
        unmap_granularity: u32::from(physical),
        unmap_alignment: None,
        write_same: u64::from(unit.blocks_in(MAX_SPAN)),
    }
}

fn provisioning(unit: &Unit) -> BlockProvisioning {
    let (discards, zeroes) = (unit.geometry.discards, unit.geometry.discards && unit.geometry.discard_zeroes);
    BlockProvisioning {
        unmap: discards,
        write_same_16: discards,
        write_same_10: discards,
        zeroes,
        anchors: false,
        kind: if discards { 2 } else { 0 },
    }
}
