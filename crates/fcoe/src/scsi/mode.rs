//! Mode pages (SPC-4, clause 7.5; SBC-3, clause 6.5), and MODE SENSE.

use super::Response;
use super::unit::Unit;
use linerate_block::Geometry;
use linerate_wire::scsi::{ModeHeader, ModePage, asc, emit_mode};

/// Parameters of a unit that MODE SELECT changes. All initiators share them (SPC-4, clause 7.8.9), none is saved, and a
/// reset brings the default ones back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mode {
    /// WCE: written data may stay in a volatile cache. A back end without one always writes through, and says so.
    pub(super) write_cache: bool,
    /// SWP: initiators have write-protected the unit.
    pub(super) protected: bool,
    /// D_SENSE: sense data goes with the status in descriptor format.
    pub(super) descriptors: bool,
}

impl Mode {
    /// Values after power-on.
    pub(super) const fn new(geometry: &Geometry) -> Self {
        Self { write_cache: geometry.volatile, protected: false, descriptors: false }
    }

    /// Values with all that can be changed set, or cleared.
    const fn all(set: bool) -> Self {
        Self { write_cache: set, protected: set, descriptors: set }
    }

    /// Values from the body of a page; what is not in it stays.
    pub(super) fn read(&mut self, page: u8, body: &[u8]) {
        match page {
            ModePage::CACHING => self.write_cache = body[CACHE] & WCE != 0,
            ModePage::CONTROL => {
                self.descriptors = body[FORMAT] & D_SENSE != 0;
                self.protected = body[ATTENTION] & SWP != 0;
            }
            _ => {}
        }
    }
}

/// Byte of the caching page's body with WCE.
const CACHE: usize = 0;
const WCE: u8 = 0x04;
/// Byte of the control page's body with D_SENSE.
const FORMAT: usize = 0;
const D_SENSE: u8 = 0x04;
/// Byte of the control page's body with SWP.
const ATTENTION: usize = 2;
const SWP: u8 = 0x08;

const PAGES: [u8; 4] = [ModePage::ERROR_RECOVERY, ModePage::CACHING, ModePage::CONTROL, ModePage::EXCEPTIONS];

/// Body of a page with these values; None for an unknown page.
pub(super) fn body(unit: &Unit, mode: &Mode, page: u8) -> Option<Vec<u8>> {
    Some(match page {
        ModePage::ERROR_RECOVERY => vec![0; 10],
        ModePage::CACHING => caching(unit, mode),
        ModePage::CONTROL => control(unit, mode),
        ModePage::EXCEPTIONS => exceptions(),
        _ => return None,
    })
}

/// Bits of a page's body that MODE SELECT can change.
pub(super) fn changeable(unit: &Unit, page: u8) -> Option<Vec<u8>> {
    let [on, off] = [true, false].map(|set| body(unit, &Mode::all(set), page));
    Some(on?.into_iter().zip(off?).map(|(on, off)| on ^ off).collect())
}

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

/// Appends mode data to `to` (SPC-4, clauses 6.13 and 6.14).
pub(super) fn sense(unit: &Unit, question: Question, to: &mut Vec<u8>) -> Result<(), Response> {
    if question.control == 3 {
        return Err(Response::illegal(asc::SAVING_PARAMETERS));
    }
    if !matches!(question.subpage, 0 | ModePage::ALL_SUBPAGES) {
        return Err(Response::invalid_field(3, None));
    }
    let mut pages = Vec::with_capacity(64);
    for page in PAGES.into_iter().filter(|page| matches!(question.page, ModePage::ALL) || question.page == *page) {
        let body = match question.control {
            0 => body(unit, &unit.mode, page),
            1 => changeable(unit, page),
            _ => body(unit, &Mode::new(&unit.geometry), page),
        };
        ModePage { page, subpage: 0, body: &body.unwrap_or_default() }.put(&mut pages);
    }
    if pages.is_empty() {
        return Err(Response::invalid_field(2, Some(5)));
    }
    let header = ModeHeader {
        write_protected: unit.geometry.read_only || unit.mode.protected,
        dpo_fua: true,
        blocks: (!question.no_descriptors).then_some((unit.geometry.blocks, unit.geometry.block_size)),
    };
    emit_mode(question.ten, question.long, &header, &pages, to).map_err(|_| Response::illegal(asc::FIELD_IN_CDB))
}

/// Caching (SBC-3, clause 6.5): WCE means that written data needs SYNCHRONIZE CACHE or FUA to be stable.
fn caching(unit: &Unit, mode: &Mode) -> Vec<u8> {
    let mut body = vec![0; 18];
    body[CACHE] = if unit.geometry.volatile && mode.write_cache { WCE } else { 0 };
    body
}

/// Control (SPC-4, clause 7.5.8): tasks may be reordered without restriction (QUEUE ALGORITHM MODIFIER 1), nothing is
/// logged by itself (GLTSD), a task ended by another initiator has a status (TAS), and application tags stay as they were
/// written (ATO).
fn control(unit: &Unit, mode: &Mode) -> Vec<u8> {
    let mut body = vec![0; 10];
    body[FORMAT] = 0x02 | if mode.descriptors { D_SENSE } else { 0 };
    body[1] = 0x10;
    body[ATTENTION] = if mode.protected { SWP } else { 0 };
    body[3] = 0x40 | u8::from(unit.protection.is_some()) << 7;
    body
}

/// Informational exceptions (SPC-4, clause 7.5.11): none are reported (DEXCPT).
fn exceptions() -> Vec<u8> {
    let mut body = vec![0; 10];
    body[0] = 0x08;
    body
}
