//! A logical unit: a device, its state, and its tasks' order.

use super::disks::UnitOptions;
use super::hold::Holds;
use super::identifying::Identifying;
use super::log::Log;
use super::mode::Mode;
use super::order::Order;
use super::reserve::Reservations;
use super::upkeep::Upkeep;
use super::work::Tools;
use super::{Response, UnitName};
use crate::indexed::table_index;
use crate::{Guard, Protection, ProtectionType};
use linerate_block::{Backend, BackendError, Geometry, Pool};
use linerate_wire::scsi::{Capacity, Provisioning, Sense, SenseKey, Transfer, Width, asc};

/// Most bytes moved by one command.
pub(super) const MAX_TRANSFER: u32 = 8 << 20;
/// Most bytes covered by one WRITE SAME: a device in memory is busy for the whole time.
pub(super) const MAX_SPAN: u32 = 64 << 20;
/// Most blocks compared by COMPARE AND WRITE.
pub(super) const MAX_COMPARE: u8 = u8::MAX;
/// Most ranges of one UNMAP.
pub(super) const MAX_RANGES: u16 = 256;

table_index! {
    /// Index of a unit in the table of units.
    UnitIndex
}

/// Null index.
pub(super) const NO_UNIT: UnitIndex = UnitIndex(u16::MAX);

/// Counters of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnitCounters {
    /// READ commands.
    pub reads: u64,
    /// WRITE commands.
    pub writes: u64,
    /// Bytes requested by READ commands.
    pub bytes_read: u64,
    /// Bytes requested by WRITE commands.
    pub bytes_written: u64,
    /// Commands that ended with CHECK CONDITION.
    pub checks: u64,
    /// Operations that failed in its back end.
    pub failures: u64,
}

/// Presence of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Here,
    /// It was removed; work for it is under way.
    Leaving,
    /// It has gone, and its place can be another's.
    Gone,
}

/// A logical unit.
pub(super) struct Unit {
    pub(super) lun: u16,
    pub(super) presence: Presence,
    pub(super) name: UnitName,
    pub(super) backend: Box<dyn Backend>,
    pub(super) geometry: Geometry,
    /// The back end is memory: it completes operations at once.
    pub(super) in_memory: bool,
    /// Protection information, if the unit is formatted with it.
    pub(super) protection: Option<Protection>,
    /// The unit was stopped by START STOP UNIT.
    pub(super) stopped: bool,
    pub(super) mode: Mode,
    pub(super) log: Log,
    /// Content of the buffer of READ BUFFER, as far as it was written.
    pub(super) buffer: Vec<u8>,
    pub(super) identifying: Identifying,
    pub(super) upkeep: Upkeep,
    pub(super) order: Order,
    pub(super) holds: Holds,
    pub(super) reservations: Reservations,
    /// Operations that the back end has not completed.
    pub(super) in_flight: u32,
    /// Operations were submitted since the back end was last flushed.
    pub(super) dirty: bool,
    pub(super) counters: UnitCounters,
}

impl Unit {
    pub(super) fn new(lun: u16, mut backend: Box<dyn Backend>, options: UnitOptions) -> Self {
        let geometry = backend.geometry().clone();
        let in_memory = backend.memory().is_some();
        let block = usize::try_from(geometry.block_size).unwrap_or(0);
        let kind = options.protection.unwrap_or(ProtectionType::Type1);
        let name = options.name.unwrap_or_else(|| UnitName::of_number(geometry.serial));
        let protection = geometry.protection.then_some(Protection { kind, guard: Guard::Crc16, block });
        Self {
            lun,
            presence: Presence::Here,
            name,
            backend,
            mode: Mode::new(&geometry),
            log: Log::default(),
            buffer: Vec::new(),
            identifying: Identifying::default(),
            upkeep: Upkeep::default(),
            geometry,
            in_memory,
            protection,
            stopped: false,
            order: Order::default(),
            holds: Holds::default(),
            reservations: Reservations::default(),
            in_flight: 0,
            dirty: false,
            counters: UnitCounters::default(),
        }
    }

    /// Resources for work on its blocks, for a command that moves `wanted` bytes.
    pub(super) fn tools<'a>(&'a self, pool: &'a mut Pool, wanted: u64) -> Tools<'a> {
        Tools {
            geometry: &self.geometry,
            protection: self.protection.as_ref(),
            pool,
            unmap_blocks: self.unmap_blocks(),
            writes_through: self.writes_through(),
            wanted,
        }
    }

    /// Most blocks covered by one UNMAP.
    pub(super) fn unmap_blocks(&self) -> u32 {
        self.blocks_in(self.backend.discard_span())
    }

    /// Blocks from one on that are in the same state, as many as 32 bits can tell, and their PROVISIONING STATUS (SBC-3,
    /// clause 5.4.2): 0 is mapped or unknown, 1 deallocated, which is said only where all commands deallocate to zeros.
    pub(super) fn extent(&mut self, lba: u64) -> (u64, u8) {
        let extent = self.backend.extent(lba);
        let left = self.geometry.blocks.saturating_sub(lba);
        let blocks = extent.blocks.clamp(1, left.max(1)).min(u32::MAX.into());
        let provisioned = self.geometry.discards && self.geometry.discard_zeroes;
        (blocks, u8::from(provisioned && extent.deallocated))
    }

    /// Bytes of a logical block.
    pub(super) fn block(&self) -> u64 {
        u64::from(self.geometry.block_size)
    }

    /// True if blocks are read and written in place: in memory, and without verification.
    #[inline]
    pub(super) fn is_direct(&self) -> bool {
        self.in_memory && self.protection.is_none()
    }

    /// True if there is a volatile cache that must not be used (WCE).
    pub(super) fn writes_through(&self) -> bool {
        self.geometry.volatile && !self.mode.write_cache
    }

    /// Bytes of a logical block with its protection information.
    pub(super) fn stride(&self) -> u64 {
        self.block() + if self.protection.is_some() { 8 } else { 0 }
    }

    /// Number of blocks in `len` bytes.
    pub(super) fn blocks_in(&self, len: u32) -> u32 {
        len / self.geometry.block_size
    }

    pub(super) fn capacity(&self) -> Capacity {
        Capacity {
            last: self.geometry.blocks - 1,
            block_size: self.geometry.block_size,
            protection: self.protection.map_or(0, |protection| protection.kind.code()),
            interval_exponent: 0,
            physical_exponent: self.geometry.physical_exponent,
            lowest_aligned: 0,
            provisioning: Provisioning {
                managed: self.geometry.discards,
                zeroes: self.geometry.discards && self.geometry.discard_zeroes,
            },
        }
    }

    /// Checks that the blocks are on the device (SBC-3, clause 4.5: otherwise LOGICAL BLOCK ADDRESS OUT OF RANGE).
    pub(super) fn has(&self, lba: u64, blocks: u64) -> Result<(), Response> {
        match self.geometry.blocks.checked_sub(lba) {
            Some(left) if blocks <= left => Ok(()),
            _ => Err(Response::illegal(asc::LBA_OUT_OF_RANGE)),
        }
    }

    /// First byte and number of bytes of a transfer, if it is valid.
    #[inline]
    pub(super) fn span(&self, transfer: &Transfer) -> Result<(u64, u32), Response> {
        self.has(transfer.lba, u64::from(transfer.blocks))?;
        match transfer.blocks.checked_mul(self.geometry.block_size) {
            Some(len) if len <= MAX_TRANSFER => Ok((transfer.lba * self.block(), len)),
            // SBC-3, clause 6.6.3: more than MAXIMUM TRANSFER LENGTH.
            _ => Err(Response::invalid_field(length_field(transfer.width), None)),
        }
    }

    /// Counts the outcome of an operation.
    pub(super) fn operated(&mut self, reads: bool, result: &Result<(), BackendError>) {
        self.counters.failures += u64::from(result.is_err());
        self.log.operated(reads, result);
    }

    /// Checks that the unit is not write-protected.
    pub(super) fn writable(&self) -> Result<(), Response> {
        if self.geometry.read_only {
            return Err(super::response::failure(BackendError::ReadOnly, true, 0));
        }
        if self.mode.protected {
            return Err(Response::check(&Sense::new(SenseKey::DATA_PROTECT, asc::SOFTWARE_PROTECTED)));
        }
        Ok(())
    }
}

/// Byte of the TRANSFER LENGTH field in a command of this width.
pub(super) const fn length_field(width: Width) -> u16 {
    match width {
        Width::Six => 4,
        Width::Ten => 7,
        Width::Twelve => 6,
        Width::Sixteen => 10,
        Width::ThirtyTwo(_) => 28,
    }
}

/// Byte of the options in a command of this width.
pub(super) const fn options_field(width: Width) -> u16 {
    match width {
        Width::ThirtyTwo(_) => 10,
        _ => 1,
    }
}
