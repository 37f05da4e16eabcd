//! A disk behind a LUN: its properties from a scan, and the commands that read and write it.

use super::command::{Command, Data};
use super::scan::{ALLOCATION, name};
use crate::scsi::VENDOR;
use crate::{Lun, ProtectionTuple, ProtectionType, TaskAttribute};
use linerate_block::{Buffer, Tag};
use linerate_wire::scsi::{Cdb, ProtectionTags, Transfer, UnmapRange, VpdPage, Width, put_unmap};

/// Most bytes of a transfer to a unit without a limit: the capacity of the largest buffer of a
/// [`Pool`](linerate_block::Pool).
const TRANSFER: u32 = 16 << 20;

/// Protection information that READ, WRITE and WRITE SAME carry behind each block (SBC-3, clause 4.22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// Type that the unit is formatted with; type 2 has commands of 32 bytes.
    pub kind: ProtectionType,
    /// RDPROTECT and WRPROTECT, 1 to 5: the fields that the unit checks (SBC-3, clauses 5.11 and 5.33).
    pub protect: u8,
    /// Application tag that a unit of type 2 checks; none otherwise.
    pub application: Option<u16>,
}

/// A direct access block device (SBC-3) found by a [`LunScan`](super::LunScan). Numbers of blocks are of logical
/// blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLun {
    pub lun: Lun,
    /// T10 vendor identification.
    pub vendor: String,
    pub product: String,
    /// Product revision level.
    pub revision: String,
    /// Unit serial number (VPD page 80h).
    pub serial: Option<String>,
    /// World-wide name of the unit: its NAA or EUI-64 designator (VPD page 83h), the longer of the two.
    pub designator: Vec<u8>,
    /// Bytes of a block, from 512 to 65536, a power of two.
    pub block_size: u32,
    pub blocks: u64,
    /// Log2 of the number of blocks in a physical block.
    pub physical_exponent: u8,
    /// Type of protection information, 1 to 3; 0 for none.
    pub protection: u8,
    /// Log2 of the number of intervals in a block, each with protection information of its own.
    pub interval_exponent: u8,
    /// Protection information that its commands carry, and buffers have behind each block: none from a scan, whoever
    /// checks it sets it.
    pub carried: Option<Carried>,
    pub read_only: bool,
    /// The disk has a volatile write cache.
    pub write_cache: bool,
    pub fua: bool,
    /// UNMAP deallocates blocks.
    pub unmap: bool,
    /// Most blocks of one UNMAP.
    pub max_unmap: u32,
    /// Most ranges of one UNMAP.
    pub max_unmap_ranges: u32,
    /// WRITE SAME (16) can deallocate blocks.
    pub write_same_unmaps: bool,
    /// Deallocated blocks read as zeros.
    pub zeroes: bool,
    /// Most blocks of one WRITE SAME; 0 when the unit states none.
    pub max_write_same: u64,
    /// Most blocks of a transfer, at least 1; never more than 16 MiB.
    pub max_transfer: u32,
    /// Number of blocks that a transfer should be a multiple of; 0 when the unit states none.
    pub granularity: u16,
    /// Optimal number of blocks of a transfer; 0 when the unit states none.
    pub optimal: u32,
    /// Rotations per minute: 1 for a non-rotating medium, 0 when the unit states none.
    pub rotation: u16,
}

impl FoundLun {
    /// Bytes of a block in the buffer of a command, with the protection information that it carries.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.block_size as usize + self.carried.map_or(0, |_| ProtectionTuple::LEN)
    }

    /// Number of blocks in a buffer of this length, if it is a whole number.
    fn blocks_of(&self, len: usize) -> Option<u32> {
        let blocks = len.is_multiple_of(self.stride()).then_some(len / self.stride())?;
        u32::try_from(blocks).ok().filter(|blocks| *blocks > 0)
    }

    /// Form of a command of blocks from `lba` on, and its RDPROTECT or WRPROTECT. Type 2 needs the form of 32 bytes,
    /// which says the tags that are expected (SBC-3, clauses 5.14 and 5.36).
    fn form(&self, lba: u64) -> (Width, u8) {
        let Some(Carried { kind, protect, application }) = self.carried else { return (Width::Sixteen, 0) };
        let (application, application_mask) = application.map_or((0, 0), |tag| (tag, u16::MAX));
        match kind {
            ProtectionType::Type2 => {
                let tags = ProtectionTags { reference: kind.reference(lba), application, application_mask };
                (Width::ThirtyTwo(tags), protect)
            }
            ProtectionType::Type1 | ProtectionType::Type3 => (Width::Sixteen, protect),
        }
    }

    /// Sets [`FoundLun::max_transfer`] from the unit's limit; 0 for none.
    pub(super) fn limit_transfer(&mut self, said: u32) {
        let most = (TRANSFER / self.block_size).max(1);
        self.max_transfer = if said == 0 { most } else { said.min(most) };
    }

    /// True if the blocks are on the disk.
    #[must_use]
    pub fn holds(&self, lba: u64, blocks: u64) -> bool {
        lba.checked_add(blocks).is_some_and(|end| end <= self.blocks)
    }

    /// Splits a range of blocks into transfers that the unit accepts; except for the first and the last they begin and
    /// end at multiples of the largest transfer.
    pub fn pieces(&self, lba: u64, blocks: u64) -> impl Iterator<Item = (u64, u32)> + use<> {
        pieces(lba, blocks, u64::from(self.max_transfer))
    }

    /// READ (16), or (32) for type 2, of as many blocks as the buffer holds (SBC-3, clauses 5.13 and 5.14). `None` when they are not a whole number,
    /// more than the transfer limit, or beyond the end.
    #[must_use]
    pub fn read(&self, tag: Tag, lba: u64, buffer: Buffer, timeout: u64) -> Option<Command> {
        let transfer = self.transfer(lba, buffer.len(), false)?;
        self.command(tag, &Cdb::Read(transfer), Data::In(buffer), timeout)
    }

    /// WRITE (16), or (32) for type 2, of the buffer's blocks (SBC-3, clauses 5.35 and 5.36), on stable storage when it completes if `fua`; a unit
    /// without FUA must be flushed. `None` as for [`FoundLun::read`].
    #[must_use]
    pub fn write(&self, tag: Tag, lba: u64, buffer: Buffer, fua: bool, timeout: u64) -> Option<Command> {
        let transfer = self.transfer(lba, buffer.len(), fua && self.fua)?;
        self.command(tag, &Cdb::Write(transfer), Data::Out(buffer), timeout)
    }

    fn transfer(&self, lba: u64, len: usize, fua: bool) -> Option<Transfer> {
        let blocks = self.blocks_of(len).filter(|blocks| *blocks <= self.max_transfer)?;
        let (width, protect) = self.form(lba);
        self.holds(lba, blocks.into()).then_some(Transfer { width, lba, blocks, protect, dpo: false, fua })
    }

    /// SYNCHRONIZE CACHE (16) of all blocks (SBC-3, clause 5.27).
    #[must_use]
    pub fn flush(&self, tag: Tag, timeout: u64) -> Option<Command> {
        let cdb = Cdb::SynchronizeCache { width: Width::Sixteen, immediate: false, lba: 0, blocks: 0 };
        self.command(tag, &cdb, Data::None, timeout)
    }

    /// INQUIRY of the unit's names (SPC-4, clause 7.8.5), for [`FoundLun::is_named_in`]. `None` if it has none.
    #[must_use]
    pub fn names(&self, tag: Tag, timeout: u64) -> Option<Command> {
        let cdb = Cdb::Inquiry { page: Some(VpdPage::DESIGNATORS), allocation: ALLOCATION.into() };
        let data = Data::In(Buffer::new(ALLOCATION.into()));
        if self.designator.is_empty() { None } else { self.command(tag, &cdb, data, timeout) }
    }

    /// True if the answer to [`FoundLun::names`] has the unit's name.
    #[must_use]
    pub fn is_named_in(&self, data: &[u8]) -> bool {
        VpdPage::parse(data).is_ok_and(|page| page.page == VpdPage::DESIGNATORS && name(page.body) == self.designator)
    }

    /// True for a disk of our target. That executes nothing for an initiator that knows another disk by the LUN, until it has
    /// asked for the names of this one: see [`Disks`](crate::Disks). So each command that ended well was this disk's.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        self.vendor.as_bytes() == VENDOR
    }

    /// TEST UNIT READY (SPC-4, clause 6.47).
    #[must_use]
    pub fn ready(&self, tag: Tag, timeout: u64) -> Option<Command> {
        self.command(tag, &Cdb::TestUnitReady, Data::None, timeout)
    }

    /// REQUEST SENSE (SPC-4, clause 6.39).
    #[must_use]
    pub fn sense(&self, tag: Tag, timeout: u64) -> Option<Command> {
        let cdb = Cdb::RequestSense { descriptors: false, allocation: ALLOCATION };
        self.command(tag, &cdb, Data::In(Buffer::new(ALLOCATION.into())), timeout)
    }

    /// Splits a range of blocks into pieces for the ranges of UNMAP; none when the unit has no UNMAP.
    pub fn unmap_pieces(&self, lba: u64, blocks: u64) -> impl Iterator<Item = (u64, u32)> + use<> {
        pieces(lba, if self.unmap { blocks } else { 0 }, u64::from(self.max_unmap))
    }

    /// UNMAP of these ranges (SBC-3, clause 5.28). `None` when the unit has no UNMAP, they are more or longer than its
    /// limits, or beyond the end.
    #[must_use]
    pub fn unmap(&self, tag: Tag, ranges: &[(u64, u32)], timeout: u64) -> Option<Command> {
        let total: u64 = ranges.iter().map(|(_, blocks)| u64::from(*blocks)).sum();
        let fits = self.unmap
            && total <= self.max_unmap.into()
            && u32::try_from(ranges.len()).is_ok_and(|count| count <= self.max_unmap_ranges)
            && ranges.iter().all(|(lba, blocks)| self.holds(*lba, (*blocks).into()));
        if !fits {
            return None;
        }
        let ranges: Vec<UnmapRange> = ranges.iter().map(|&(lba, blocks)| UnmapRange { lba, blocks }).collect();
        let mut list = Vec::new();
        put_unmap(&ranges, &mut list).ok()?;
        let cdb = Cdb::Unmap { anchor: false, len: u16::try_from(list.len()).ok()? };
        let mut buffer = Buffer::new(list.len());
        buffer.bytes_mut().copy_from_slice(&list);
        self.command(tag, &cdb, Data::Out(buffer), timeout)
    }

    /// Splits a range of blocks into pieces for WRITE SAME.
    pub fn write_same_pieces(&self, lba: u64, blocks: u64) -> impl Iterator<Item = (u64, u32)> + use<> {
        let most = match self.max_write_same {
            0 => u64::from(u16::MAX),
            // Limited by the command's field.
            most => most.min(u64::from(u32::MAX)),
        };
        pieces(lba, blocks, most)
    }

    /// WRITE SAME (16), or (32) for type 2, of the one block in the buffer over `blocks` blocks (SBC-3, clause 5.44); blocks of zeros may be
    /// deallocated if `unmap`. `None` when the buffer is not one block, or the blocks are none or beyond the end.
    #[must_use]
    pub fn write_same(
        &self,
        tag: Tag,
        (lba, blocks): (u64, u32),
        buffer: Buffer,
        unmap: bool,
        timeout: u64,
    ) -> Option<Command> {
        if self.blocks_of(buffer.len()) != Some(1) || blocks == 0 || !self.holds(lba, blocks.into()) {
            return None;
        }
        let unmap = unmap && self.write_same_unmaps;
        let (width, protect) = self.form(lba);
        let cdb = Cdb::WriteSame { width, lba, blocks, protect, anchor: false, unmap, no_data: false };
        self.command(tag, &cdb, Data::Out(buffer), timeout)
    }

    fn command(&self, tag: Tag, cdb: &Cdb, data: Data, timeout: u64) -> Option<Command> {
        command(tag, self.lun, cdb, data, timeout)
    }
}

/// Command with this CDB.
pub(super) fn command(tag: Tag, lun: Lun, cdb: &Cdb, data: Data, timeout: u64) -> Option<Command> {
    let bytes = cdb.bytes().ok()?;
    let mut cdb = [0; 32];
    cdb[..bytes.len()].copy_from_slice(&bytes);
    let cdb_len = u8::try_from(bytes.len()).ok()?;
    Some(Command { tag, lun, cdb, cdb_len, attribute: TaskAttribute::Simple, data, timeout })
}

/// Pieces of at most `most` blocks that, except for the first and the last, begin and end at multiples of it.
fn pieces(lba: u64, blocks: u64, most: u64) -> impl Iterator<Item = (u64, u32)> {
    let (mut lba, mut left, most) = (lba, blocks, most.max(1));
    std::iter::from_fn(move || {
        let piece = left.min(most - lba % most);
        let this = (lba, u32::try_from(piece).ok().filter(|piece| *piece > 0)?);
        lba = lba.saturating_add(piece);
        left -= piece;
        Some(this)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> FoundLun {
        let mut disk = FoundLun {
            lun: Lun([0, 3, 0, 0, 0, 0, 0, 0]),
            vendor: String::new(),
            product: String::new(),
            revision: String::new(),
            serial: None,
            designator: Vec::new(),
            block_size: 512,
            blocks: 1 << 33,
            physical_exponent: 0,
            protection: 0,
            interval_exponent: 0,
            carried: None,
            read_only: false,
            write_cache: true,
            fua: true,
            unmap: true,
            max_unmap: 100,
            max_unmap_ranges: 2,
            write_same_unmaps: false,
            zeroes: false,
            max_write_same: 0,
            max_transfer: 0,
            granularity: 0,
            optimal: 0,
            rotation: 0,
        };
        disk.limit_transfer(64);
        disk
    }

    #[test]
    fn transfers_are_as_long_as_the_unit_takes() {
        let disk = disk();
        let pieces: Vec<_> = disk.pieces(60, 140).collect();
        assert_eq!(pieces, [(60, 4), (64, 64), (128, 64), (192, 8)]);
        assert_eq!(disk.pieces(60, 0).count(), 0);
        assert_eq!(disk.pieces(u64::MAX - 1, 5).map(|(_, blocks)| blocks).sum::<u32>(), 5);
        assert_eq!(disk.unmap_pieces(0, 250).collect::<Vec<_>>(), [(0, 100), (100, 100), (200, 50)]);
        assert_eq!(FoundLun { unmap: false, ..disk.clone() }.unmap_pieces(0, 250).count(), 0);
        assert_eq!(disk.write_same_pieces(0, 65_536).collect::<Vec<_>>(), [(0, 65_535), (65_535, 1)]);
        assert!(disk.read(Tag(0), 0, Buffer::new(65 * 512), 1).is_none());
        assert!(disk.read(Tag(0), 0, Buffer::new(100), 1).is_none());
        assert!(disk.read(Tag(0), 0, Buffer::new(0), 1).is_none());
        assert!(disk.read(Tag(0), (1 << 33) - 1, Buffer::new(1024), 1).is_none());
        let mut unlimited = disk.clone();
        unlimited.limit_transfer(0);
        assert_eq!(unlimited.max_transfer, 32_768);
    }

    #[test]
    fn commands_have_sixteen_bytes_as_sbc_3_says() {
        let disk = disk();
        let read = disk.read(Tag(4), 0x1_0203_0405, Buffer::new(1024), 9).unwrap();
        assert_eq!((read.tag, read.lun, read.cdb_len, read.timeout), (Tag(4), disk.lun, 16, 9));
        assert_eq!(read.cdb[..16], [0x88, 0, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 2, 0, 0]);
        assert!(matches!(read.data, Data::In(buffer) if buffer.len() == 1024));
        let write = disk.write(Tag(4), 7, Buffer::new(512), true, 9).unwrap();
        assert_eq!(write.cdb[..16], [0x8a, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0]);
        let plain = FoundLun { fua: false, ..disk.clone() }.write(Tag(4), 7, Buffer::new(512), true, 9).unwrap();
        assert_eq!(plain.cdb[1], 0);
        let flush = disk.flush(Tag(4), 9).unwrap();
        assert_eq!((flush.cdb[0], flush.cdb[13]), (0x91, 0));
        let unmap = disk.unmap(Tag(4), &[(5, 10), (50, 90)], 9).unwrap();
        assert_eq!((unmap.cdb[0], unmap.cdb[8], unmap.cdb_len), (0x42, 40, 10));
        assert!(matches!(unmap.data, Data::Out(buffer) if buffer.bytes()[..8] == [0, 38, 0, 32, 0, 0, 0, 0]
            && buffer.bytes()[15] == 5 && buffer.bytes()[35] == 90));
        for bad in [&[(5, 101)][..], &[(1 << 33, 1)], &[(0, 1), (0, 1), (0, 1)]] {
            assert!(disk.unmap(Tag(4), bad, 9).is_none());
        }
        let same = disk.write_same(Tag(4), (9, 1000), Buffer::new(512), true, 9).unwrap();
        assert_eq!(same.cdb[..16], [0x93, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 3, 0xe8, 0, 0]);
        assert!(disk.write_same(Tag(4), (9, 0), Buffer::new(512), true, 9).is_none());
        assert!(disk.write_same(Tag(4), (9, 1), Buffer::new(1024), true, 9).is_none());
    }

    /// SBC-3, clauses 5.13, 5.14, 5.35, 5.36 and 5.44: RDPROTECT and WRPROTECT, and the tags of type 2.
    #[test]
    fn blocks_with_protection_information_are_asked_for_by_type() {
        let of = |kind, application| FoundLun { carried: Some(Carried { kind, protect: 1, application }), ..disk() };
        for kind in [ProtectionType::Type1, ProtectionType::Type3] {
            let disk = of(kind, Some(5));
            assert!(disk.read(Tag(4), 7, Buffer::new(1024), 9).is_none(), "eight bytes more a block");
            let read = disk.read(Tag(4), 7, Buffer::new(1040), 9).unwrap();
            assert_eq!(
                (read.cdb_len, &read.cdb[..16]),
                (16, &[0x88, 0x20, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0][..])
            );
            let write = disk.write(Tag(4), 7, Buffer::new(520), true, 9).unwrap();
            assert_eq!(
                (write.cdb_len, &write.cdb[..16]),
                (16, &[0x8a, 0x28, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0][..])
            );
            let same = disk.write_same(Tag(4), (9, 1000), Buffer::new(520), false, 9).unwrap();
            assert_eq!((same.cdb_len, same.cdb[0], same.cdb[1]), (16, 0x93, 0x20));
        }
        let read = of(ProtectionType::Type2, None).read(Tag(4), 0x1_0203_0405, Buffer::new(1040), 9).unwrap();
        assert_eq!((read.cdb_len, &read.cdb[..12]), (32, &[0x7f, 0, 0, 0, 0, 0, 0, 24, 0, 9, 0x20, 0][..]));
        assert_eq!(read.cdb[12..], [0, 0, 0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0, 2]);
        let write = of(ProtectionType::Type2, Some(0x1234)).write(Tag(4), 7, Buffer::new(520), true, 9).unwrap();
        assert_eq!((write.cdb_len, &write.cdb[8..12]), (32, &[0, 11, 0x28, 0][..]));
        assert_eq!(write.cdb[20..], [0, 0, 0, 7, 0x12, 0x34, 0xff, 0xff, 0, 0, 0, 1]);
        let same = of(ProtectionType::Type2, None).write_same(Tag(4), (9, 1000), Buffer::new(520), false, 9).unwrap();
        assert_eq!((same.cdb_len, &same.cdb[8..11], &same.cdb[20..24]), (32, &[0, 13, 0x20][..], &[0, 0, 0, 9][..]));
    }
}
