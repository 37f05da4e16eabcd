//! REPORT and SET IDENTIFYING INFORMATION (SPC-4, clauses 6.32 and 6.43): names that initiators give to a unit.

use super::disks::Disks;
use super::reserve::Effects;
use super::work::Work;
use super::{Response, Step};
use linerate_block::Tag;
use linerate_wire::scsi::{Cdb, Sense, asc, put_list_len};

/// Types of identifying information.
mod kind {
    pub(super) const UNIT: u8 = 0;
    pub(super) const TEXT: u8 = 2;
    pub(super) const SUPPORTED: u8 = 0x7f;
}

/// Longest information of each type that can be set.
const LONGEST: [(u8, u16); 2] = [(kind::UNIT, 64), (kind::TEXT, 256)];

/// Names that initiators have given a unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Identifying {
    /// Bytes with a meaning of the initiators' own.
    pub(super) unit: Vec<u8>,
    /// Text, with the NUL that ends it; or nothing.
    pub(super) text: Vec<u8>,
}

impl Identifying {
    fn of(&mut self, kind: u8) -> Option<&mut Vec<u8>> {
        match kind {
            kind::UNIT => Some(&mut self.unit),
            kind::TEXT => Some(&mut self.text),
            _ => None,
        }
    }
}

impl Disks {
    /// REPORT IDENTIFYING INFORMATION: appends the data to the scratch buffer.
    pub(super) fn identified(&mut self, tag: Tag, kind: u8) -> Result<(), Response> {
        let (unit, to) = (&mut self.units[self.tasks[tag].unit], &mut self.scratch);
        to.extend([0; 4]);
        if kind == kind::SUPPORTED {
            for (kind, longest) in LONGEST {
                let [high, low] = longest.to_be_bytes();
                to.extend([kind << 1, 0, high, low]);
            }
        } else {
            to.extend(unit.identifying.of(kind).ok_or_else(|| Response::invalid_field(10, Some(7)))?.iter());
        }
        put_list_len(to, 0, 4);
        Ok(())
    }

    /// SET IDENTIFYING INFORMATION before its parameter list has come.
    pub(super) fn set_identifying(&mut self, tag: Tag, cdb: Cdb) -> Result<Step, Response> {
        let Cdb::SetIdentifyingInformation { kind, len } = cdb else { return Err(Response::illegal(asc::OPCODE)) };
        let Some((_, longest)) = LONGEST.into_iter().find(|(known, _)| *known == kind) else {
            return Err(Response::invalid_field(10, Some(7)));
        };
        if len > u32::from(longest) {
            return Err(Response::invalid_field(6, None));
        }
        if len > 0 {
            return self.receive_list(tag, cdb, len);
        }
        // Without a list the information is removed.
        let list = self.pool.take(0).ok_or(Response::status(Response::TASK_SET_FULL))?;
        let slot = &mut self.tasks[tag];
        (slot.cdb, slot.wanted, slot.work) = (cdb, 0, Work::List(Some(list)));
        self.act(tag)
    }

    /// SET IDENTIFYING INFORMATION with its parameter list.
    pub(super) fn identify(&mut self, tag: Tag, kind: u8, list: &[u8]) -> Result<Step, Response> {
        // SPC-4, table 33: text is in UTF-8 and ends with a NUL.
        let text =
            std::str::from_utf8(list).is_ok_and(|text| text.is_empty() || text.find('\0') == Some(list.len() - 1));
        if kind == kind::TEXT && !text {
            return Err(Response::check(&Sense::invalid_parameter(0, None)));
        }
        self.change(tag, |_, identifying| {
            if let Some(known) = identifying.of(kind) {
                known.clear();
                known.extend(list);
            }
            Ok(Effects::default())
        })
    }
}
