//! Operations of initiators, and the evaluation of their completions.

use crate::chance::Chance;
use crate::medium::BLOCK;
use crate::model::{BLOCKS, Kind, Model, Op, SLOW, bytes};
use crate::station::lun;
use linerate_block::{Buffer, Tag};
use linerate_fcoe::{Command, Completed, Data, Outcome, TaskAttribute, TransportError};
use linerate_wire::scsi::{Cdb, Transfer, UnmapRange, Width, put_unmap};

const CHECK_CONDITION: u8 = 0x02;
const TASK_ABORTED: u8 = 0x40;
const MISCOMPARE: u8 = 0x0e;
const UNIT_ATTENTION: u8 = 0x06;
const HARDWARE_ERROR: u8 = 0x04;
const ILLEGAL_REQUEST: u8 = 0x05;

/// An operation of chance begins.
pub(crate) fn begin(chance: &mut Chance, model: &mut Model) -> usize {
    let disk = chance.index(2);
    let first = chance.index(BLOCKS);
    let most = chance.of(&[1, 4, 16, BLOCKS]).min(BLOCKS - first);
    let range = first..first + 1 + chance.index(most);
    match chance.below(100) {
        0..40 => model.begin(Kind::Read, disk, range),
        40..80 => model.begin(Kind::Write { fua: chance.often(200) }, disk, range),
        80..88 => {
            let held = model.may_hold(disk, first);
            let expected = chance.of(held);
            model.begin(Kind::Compare { expected }, disk, first..first + 1)
        }
        88..92 => model.begin(Kind::Unmap, disk, range),
        _ => model.begin(Kind::Flush, SLOW, 0..0),
    }
}

/// The command of an operation.
pub(crate) fn command(op: &Op, tag: Tag, attribute: TaskAttribute, timeout: u64) -> Command {
    let (lba, blocks) = (op.range.start as u64, u32::try_from(op.range.len()).unwrap());
    let transfer = |fua| Transfer { width: Width::Ten, lba, blocks, protect: 0, dpo: false, fua };
    let content =
        |value, range: std::ops::Range<usize>| -> Vec<u8> { range.flat_map(|lba| bytes(value, op.lun, lba)).collect() };
    let (cdb, data) = match op.kind {
        Kind::Read => (Cdb::Read(transfer(false)), Data::In(Buffer::new(op.range.len() * BLOCK))),
        Kind::Write { fua } => (Cdb::Write(transfer(fua)), out(&content(op.value, op.range.clone()))),
        Kind::Compare { expected } => {
            let data = [content(expected, op.range.clone()), content(op.value, op.range.clone())].concat();
            (Cdb::CompareAndWrite { lba, blocks: 1, protect: 0, dpo: false, fua: false }, out(&data))
        }
        Kind::Unmap => {
            let mut list = Vec::new();
            put_unmap(&[UnmapRange { lba, blocks }], &mut list).unwrap();
            (Cdb::Unmap { anchor: false, len: u16::try_from(list.len()).unwrap() }, out(&list))
        }
        Kind::Flush => (Cdb::SynchronizeCache { width: Width::Ten, immediate: false, lba: 0, blocks: 0 }, Data::None),
    };
    let bytes = cdb.bytes().unwrap();
    let mut cdb = [0; 32];
    cdb[..bytes.len()].copy_from_slice(&bytes);
    let cdb_len = u8::try_from(bytes.len()).unwrap();
    Command { tag, lun: lun(op.lun), cdb, cdb_len, attribute, data, timeout }
}

fn out(bytes: &[u8]) -> Data {
    let mut buffer = Buffer::new(bytes.len());
    buffer.bytes_mut().copy_from_slice(bytes);
    Data::Out(buffer)
}

/// Outcome of an operation for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Good,
    Differs,
    /// The operation was not executed, unless an attempt before the last one was.
    Refused,
    /// The same, because the LUN is not that disk now.
    Denied,
    /// The operation may have been executed.
    Failed,
    /// The operation may still be executed, until the initiator logs in again.
    Lost,
}

/// Outcome of a completion.
pub(crate) fn end(completed: &Completed) -> End {
    match (completed.outcome, completed.status) {
        (Outcome::Response, 0) => {
            assert_eq!(completed.residual, 0, "all of it has moved");
            End::Good
        }
        (Outcome::Response, CHECK_CONDITION) => match completed.sense()[2] & 0x0f {
            MISCOMPARE => End::Differs,
            UNIT_ATTENTION => End::Refused,
            // Another disk stands there, or none.
            ILLEGAL_REQUEST if completed.sense()[12] == 0x25 => End::Denied,
            // The disk has gone whose data is to be sent once more.
            HARDWARE_ERROR if completed.sense()[12] == 0x44 => End::Failed,
            key => panic!("sense key {key:#x}: {:x?}", completed.sense()),
        },
        // BUSY and TASK SET FULL.
        (Outcome::Response, 0x08 | 0x28) => End::Refused,
        (Outcome::Response, TASK_ABORTED) => End::Failed,
        (Outcome::Response, status) => panic!("status {status:#x}"),
        (Outcome::LinkLost | Outcome::Transport(TransportError::AbortUnanswered), _) => End::Lost,
        (Outcome::Transport(TransportError::ResponseCode(code)), _) => panic!("response code {code:#x}"),
        (Outcome::TimedOut | Outcome::Transport(_), _) => End::Failed,
        (Outcome::Function(_), _) => panic!("no function was asked for"),
    }
}
