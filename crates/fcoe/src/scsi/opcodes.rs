//! REPORT SUPPORTED OPERATION CODES (SPC-4, clause 6.35).

use super::Response;
use super::unit::Unit;
use crate::ProtectionType;
use linerate_wire::scsi::{CdbForm, FORMS, opcode, put_list_len};

/// Appends the list of all commands, or the description of one, to `to`.
pub(super) fn report(
    unit: &Unit,
    timeouts: bool,
    options: u8,
    code: u8,
    action: u16,
    to: &mut Vec<u8>,
) -> Result<(), Response> {
    let known = || FORMS.iter().filter(|form| supported(unit, form));
    if options == 0 {
        let at = to.len();
        to.extend([0; 4]);
        for form in known() {
            let flags = u8::from(timeouts) << 1 | u8::from(form.action.is_some());
            to.extend([form.opcode(), 0]);
            to.extend(form.action.unwrap_or(0).to_be_bytes());
            to.extend([0, flags]);
            to.extend(size(form));
            if timeouts {
                to.extend(TIMEOUTS);
            }
        }
        put_list_len(to, at, at + 4);
        return Ok(());
    }
    let has_actions = FORMS.iter().any(|form| form.opcode() == code && form.action.is_some());
    match options {
        // A query for an opcode with service actions must name one, and a query for any other must not.
        1 if has_actions => return Err(Response::invalid_field(2, Some(2))),
        2 if !has_actions && known().any(|form| form.opcode() == code) => {
            return Err(Response::invalid_field(2, Some(2)));
        }
        1..=3 => {}
        _ => return Err(Response::invalid_field(2, Some(2))),
    }
    let asked = |form: &&CdbForm| match form.action {
        Some(known) => known == action,
        // With option 3, an opcode without service actions is queried with action 0.
        None => options == 1 || action == 0,
    };
    let Some(form) = known().filter(|form| form.opcode() == code).find(asked) else {
        // SUPPORT 1: there is no such command.
        to.extend([0, 1, 0, 0]);
        return Ok(());
    };
    to.extend([0, u8::from(timeouts) << 7 | 3]);
    to.extend(size(form));
    to.extend(form.usage);
    if timeouts {
        to.extend(TIMEOUTS);
    }
    Ok(())
}

/// A command timeouts descriptor without timeouts (SPC-4, clause 6.35.4).
const TIMEOUTS: [u8; 12] = [0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn size(form: &CdbForm) -> [u8; 2] {
    u16::from(form.cdb_len()).to_be_bytes()
}

/// True if a unit supports the command.
fn supported(unit: &Unit, form: &CdbForm) -> bool {
    match form.opcode() {
        opcode::UNMAP => unit.geometry.discards,
        // READ (32), WRITE (32) and the like are for type 2 (SBC-3, clause 4.22.2.4).
        opcode::VARIABLE_LENGTH => unit.protection.is_some_and(|protection| protection.kind == ProtectionType::Type2),
        _ => true,
    }
}
