//! MODE SENSE (SPC-4, clauses 6.13 and 6.14). Nothing can be changed: there is no MODE SELECT.

use super::Response;
use super::unit::Unit;
use linerate_wire::scsi::{ModeHeader, ModePage, asc, emit_mode};

/// Parameters of a MODE SENSE.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    pub(super) ten: bool,
    pub(super) no_descriptors: bool,
    pub(super) long: bool,
    pub(super) control: u8,
    pub(super) page: u8,
    pub(super) subpage: u8,
}

/// Appends mode data to `to`.
pub(super) fn sense(unit: &Unit, question: Question, to: &mut Vec<u8>) -> Result<(), Response> {
    // Current (0) and default (2) values are the same, changeable (1) ones are none.
    if question.control == 3 {
        return Err(Response::illegal(asc::SAVING_PARAMETERS));
    }
    if !matches!(question.subpage, 0 | ModePage::ALL_SUBPAGES) {
        return Err(Response::invalid_field(3, None));
    }
    let mut pages = Vec::with_capacity(64);
    for (page, mut body) in [
        (ModePage::ERROR_RECOVERY, vec![0; 10]),
        (ModePage::CACHING, caching(unit)),
        (ModePage::CONTROL, control(unit)),
        (ModePage::EXCEPTIONS, exceptions()),
    ] {
        if matches!(question.page, ModePage::ALL) || question.page == page {
            if question.control == 1 {
                body.fill(0);
            }
            ModePage { page, subpage: 0, body: &body }.put(&mut pages);
        }
    }
    if pages.is_empty() {
        return Err(Response::invalid_field(2, Some(5)));
    }
    let header = ModeHeader {
        write_protected: unit.geometry.read_only,
        dpo_fua: true,
        blocks: (!question.no_descriptors).then_some((unit.geometry.blocks, unit.geometry.block_size)),
    };
    emit_mode(question.ten, question.long, &header, &pages, to).map_err(|_| Response::illegal(asc::FIELD_IN_CDB))
}

/// Caching (SBC-3, clause 6.5): WCE means that written data needs SYNCHRONIZE CACHE or FUA to be stable.
fn caching(unit: &Unit) -> Vec<u8> {
    let mut body = vec![0; 18];
    body[0] = u8::from(unit.geometry.volatile) << 2;
    body
}

/// Control (SPC-4, clause 7.5.8): tasks may be reordered without restriction (QUEUE ALGORITHM MODIFIER 1), sense data
/// is in fixed format (no D_SENSE), nothing is logged (GLTSD), a task ended by another initiator has a status (TAS),
/// and application tags stay as they were written (ATO).
fn control(unit: &Unit) -> Vec<u8> {
    let mut body = vec![0; 10];
    body[0] = 0x02;
    body[1] = 0x10;
    body[3] = 0x40 | u8::from(unit.protection.is_some()) << 7;
    body
}

/// Informational exceptions (SPC-4, clause 7.5.11): none are reported (DEXCPT).
fn exceptions() -> Vec<u8> {
    let mut body = vec![0; 10];
    body[0] = 0x08;
    body
}
