//! READ BUFFER and WRITE BUFFER (SPC-4, clauses 6.18 and 6.49): small memories by which an initiator tries the way to the
//! unit. One belongs to the unit and one to each nexus, so that nobody makes memory grow.

use super::disks::Disks;
use super::unit::UnitIndex;
use super::{Response, Step};
use linerate_block::Tag;
use linerate_wire::scsi::{Cdb, Sense, SenseKey, asc};

/// Bytes of either buffer.
const CAPACITY: u16 = 4096;

/// Modes.
mod mode {
    pub(super) const DATA: u8 = 0x02;
    pub(super) const DESCRIPTOR: u8 = 0x03;
    pub(super) const ECHO: u8 = 0x0a;
    pub(super) const ECHO_DESCRIPTOR: u8 = 0x0b;
}

/// Echo buffer of a nexus, and the unit that it was last written through.
#[derive(Debug, Default)]
pub(super) struct Echo {
    unit: Option<UnitIndex>,
    bytes: Vec<u8>,
    /// Units whose data in it was overwritten through another one.
    lost: Vec<UnitIndex>,
}

impl Disks {
    /// READ BUFFER: appends the data to the scratch buffer.
    pub(super) fn read_buffer(&mut self, tag: Tag, mode: u8, id: u8, offset: u32) -> Result<(), Response> {
        let (index, nexus) = (self.tasks[tag].unit, self.tasks[tag].nexus);
        match mode {
            mode::DATA => {
                let from = place(id, offset)?;
                let buffer = &self.units[index].buffer;
                self.scratch.extend(&buffer[from.min(buffer.len())..]);
                // What was never written reads as zeros.
                self.scratch.resize(usize::from(CAPACITY) - from, 0);
            }
            mode::DESCRIPTOR if id == 0 => {
                let [high, low] = CAPACITY.to_be_bytes();
                // Any byte may be the first (OFFSET BOUNDARY 0).
                self.scratch.extend([0, 0, high, low]);
            }
            // A buffer that is not there has no bytes.
            mode::DESCRIPTOR => self.scratch.extend([0; 4]),
            mode::ECHO => {
                let Some(echo) = self.nexuses.get_mut(nexus).map(|nexus| &mut nexus.echo) else { return Ok(()) };
                if echo.unit == Some(index) {
                    self.scratch.extend(&echo.bytes);
                } else if let Some(at) = echo.lost.iter().position(|unit| *unit == index) {
                    echo.lost.swap_remove(at);
                    return Err(Response::check(&Sense::new(SenseKey::ABORTED_COMMAND, asc::ECHO_OVERWRITTEN)));
                } else {
                    // Nothing was written to it.
                    return Err(Response::illegal(asc::COMMAND_SEQUENCE));
                }
            }
            mode::ECHO_DESCRIPTOR => {
                let [high, low] = CAPACITY.to_be_bytes();
                // EBOS: what others do to it is told.
                self.scratch.extend([1, 0, high & 0x1f, low]);
            }
            _ => return Err(Response::invalid_field(1, Some(4))),
        }
        Ok(())
    }

    /// WRITE BUFFER before its data has come.
    pub(super) fn write_buffer(&mut self, tag: Tag, cdb: Cdb) -> Result<Step, Response> {
        let Cdb::WriteBuffer { mode, id, offset, len } = cdb else { return Err(Response::illegal(asc::OPCODE)) };
        let from = match mode {
            mode::DATA => place(id, offset)?,
            mode::ECHO => 0,
            _ => return Err(Response::invalid_field(1, Some(4))),
        };
        if from + len as usize > usize::from(CAPACITY) {
            return Err(Response::invalid_field(6, None));
        }
        if len == 0 {
            return Ok(Step::End(Response::good(0)));
        }
        self.receive_list(tag, cdb, len)
    }

    /// WRITE BUFFER with its data.
    pub(super) fn fill_buffer(&mut self, tag: Tag, mode: u8, offset: u32, data: &[u8]) -> Result<Step, Response> {
        let (index, nexus) = (self.tasks[tag].unit, self.tasks[tag].nexus);
        if mode == mode::DATA {
            let from = place(0, offset)?;
            let buffer = &mut self.units[index].buffer;
            let end = (from + data.len()).min(usize::from(CAPACITY));
            buffer.resize(buffer.len().max(end), 0);
            buffer[from..end].copy_from_slice(&data[..end - from]);
        } else if let Some(echo) = self.nexuses.get_mut(nexus).map(|nexus| &mut nexus.echo) {
            if let Some(other) = echo.unit.replace(index).filter(|other| *other != index)
                && !echo.lost.contains(&other)
            {
                echo.lost.push(other);
            }
            echo.lost.retain(|unit| *unit != index);
            echo.bytes.clear();
            echo.bytes.extend(data);
        }
        Ok(Step::End(Response::good(data.len() as u64)))
    }
}

/// First byte in the unit's buffer, the only one with a number.
fn place(id: u8, offset: u32) -> Result<usize, Response> {
    if id != 0 {
        return Err(Response::invalid_field(2, None));
    }
    usize::try_from(offset)
        .ok()
        .filter(|offset| *offset <= usize::from(CAPACITY))
        .ok_or_else(|| Response::invalid_field(3, None))
}
