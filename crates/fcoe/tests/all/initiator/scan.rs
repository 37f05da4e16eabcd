//! Finding disks: what Linux's target says in capture 02, and what no target should say.

use crate::initiator::golden::Script;
use crate::initiator::world::*;
use linerate_block::Tag;
use linerate_fcoe::{FoundLun, LunScan, ScanError, SkipReason, Skipped};
use linerate_wire::scsi::asc;
use linerate_wire::*;
use proptest::prelude::*;

/// The target's part of a scan: from the LUN and the CDB, status, sense data and data.
type Answers<'a> = &'a mut dyn FnMut([u8; 8], &[u8]) -> (u8, Vec<u8>, Vec<u8>);

fn scan(answers: Answers<'_>) -> (Result<Vec<FoundLun>, ScanError>, Vec<Skipped>, u64) {
    let mut world = World::new();
    let mut scan = LunScan::new(Tag(77));
    let began = world.now;
    for _ in 0..100_000 {
        if let Some(command) = scan.command(world.now) {
            world.initiator.submit(world.now, &world.peer, command).unwrap();
            assert!(scan.command(world.now).is_none(), "one at a time");
            let frame = world.command();
            let ox_id = frame.header.ox_id;
            let unit = FcpCommand::parse(&frame.payload).unwrap();
            let (status, sense, mut bytes) = answers(unit.lun, unit.cdb);
            bytes.truncate(unit.data_len as usize);
            for frame in data(ox_id, &bytes) {
                world.feed(&frame);
            }
            let residual = i64::try_from(bytes.len()).unwrap() - i64::from(unit.data_len);
            world.feed(&response(ox_id, &FcpResponse { status, residual, sense: &sense, ..FcpResponse::default() }));
            let done = world.done();
            assert_eq!(done.tag, Tag(77));
            scan.completed(world.now, &done);
        } else if let Some(result) = scan.result() {
            return (result, scan.skipped().to_vec(), world.now - began);
        } else {
            world.now = scan.poll_timeout().expect("a pause, or an end");
        }
    }
    panic!("the scan does not end");
}

/// Longest answer of the kernel's target to a command of this kind.
fn captured(script: &Script, cdb: &[u8]) -> Vec<u8> {
    let key = |cdb: &[u8]| match cdb[0] {
        0x12 => [0x12, cdb[1] & 1, cdb[2], 0],
        0x1a => [0x1a, 0, cdb[2] & 0x3f, 0],
        code => [code, 0, 0, 0],
    };
    script
        .exchanges
        .iter()
        .filter(|exchange| key(&exchange.command.payload[12..]) == key(cdb))
        .map(|exchange| {
            let data = exchange.answers.iter().filter(|frame| frame.is(r_ctl::DATA));
            data.flat_map(|frame| frame.payload.clone()).collect::<Vec<u8>>()
        })
        .max_by_key(Vec::len)
        .unwrap_or_default()
}

#[test]
fn the_kernels_disk_is_found() {
    let script = Script::read("02-scsi-scan-rw-tmf-echo.pcap");
    let mut seen = Vec::new();
    let (found, skipped, took) = scan(&mut |_, cdb| {
        seen.push(cdb[0]);
        (0, vec![], captured(&script, cdb))
    });
    let found = found.unwrap();
    assert_eq!((found.len(), skipped.len(), took), (1, 0, 0));
    let disk = &found[0];
    assert_eq!((disk.lun.0, disk.vendor.as_str(), disk.block_size, disk.blocks), ([0; 8], "LIO-ORG", 512, 0x20000));
    assert_eq!((disk.product.as_str(), disk.serial.as_deref()), ("RAMDISK-MCP", Some("RIGLUN0000")));
    assert!(!disk.read_only && !disk.write_cache && disk.rotation == 1);
    // It says 4294967288, which is more than a transfer can have.
    assert_eq!(disk.optimal, disk.max_transfer);
    assert_eq!(disk.designator.first().map(|byte| byte >> 4), Some(6), "NAA 6");
    assert!(disk.max_transfer > 0 && disk.read(Tag(0), 0, linerate_block::Buffer::new(4096), 1).is_some());
    for code in [0xa0, 0x12, 0x00, 0x9e, 0x1a] {
        assert!(seen.contains(&code), "{code:02x}");
    }
}

fn inquiry(first: u8) -> Vec<u8> {
    let mut bytes = vec![first, 0, 6, 2, 31, 0, 0, 2];
    bytes.extend(b"LINERATEa disk\t         1.0 ");
    bytes
}

fn sense(key: u8) -> Vec<u8> {
    let mut bytes = vec![0; 18];
    (bytes[0], bytes[2], bytes[7]) = (0x70, key, 10);
    bytes
}

fn attention((code, qualifier): (u8, u8)) -> Vec<u8> {
    let mut bytes = sense(ATTENTION);
    (bytes[12], bytes[13]) = (code, qualifier);
    bytes
}

fn serial(text: &[u8]) -> Vec<u8> {
    [&[0, 0x80, 0, u8::try_from(text.len()).unwrap()], text].concat()
}

const NOT_READY: u8 = 2;
const ILLEGAL: u8 = 5;
const ATTENTION: u8 = 6;

fn luns(numbers: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes[3] = u8::try_from(numbers.len() * 8).unwrap();
    numbers.iter().for_each(|number| bytes.extend([0, *number, 0, 0, 0, 0, 0, 0]));
    bytes
}

/// A unit that is exchanged in the middle of its examination: its size and its name are of one disk.
#[test]
fn all_that_is_told_of_a_unit_is_of_one_disk() {
    for at in [0x00, 0x25, 0x1a] {
        let mut new = false;
        let (found, _, _) = scan(&mut |_, cdb| match cdb[0] {
            0xa0 => (0, vec![], luns(&[1])),
            code if code == at && !new => {
                new = true;
                (2, attention(asc::DEVICE_RESET), vec![])
            }
            0x12 if cdb[1] == 0 => (0, vec![], inquiry(0)),
            0x12 if cdb[2] == 0 => (0, vec![], vec![0, 0, 0, 2, 0, 0x80]),
            0x12 => (0, vec![], serial(if new { b"new" } else { b"old" })),
            0 => (0, vec![], vec![]),
            0x25 => (0, vec![], vec![0, 0, if new { 2 } else { 1 }, 0xff, 0, 0, 2, 0]),
            _ => (2, sense(ILLEGAL), vec![]),
        });
        let found = &found.unwrap()[0];
        assert_eq!((found.serial.as_deref(), found.blocks), (Some("new"), 0x300), "{at:02x}");
    }
}

/// The answer to REQUEST SENSE behind another attention takes the news along.
#[test]
fn an_attention_in_the_answer_to_request_sense_counts() {
    let (mut told, mut new) = (false, false);
    let (found, _, _) = scan(&mut |_, cdb| match cdb[0] {
        0xa0 => (0, vec![], luns(&[1])),
        0x25 if !told => {
            told = true;
            (2, attention(asc::LOG_CHANGED), vec![])
        }
        0x03 => {
            new = true;
            (0, vec![], attention(asc::DEVICE_RESET))
        }
        0x12 if cdb[1] == 0 => (0, vec![], inquiry(0)),
        0x12 if cdb[2] == 0 => (0, vec![], vec![0, 0, 0, 2, 0, 0x80]),
        0x12 => (0, vec![], serial(if new { b"new" } else { b"old" })),
        0 => (0, vec![], vec![]),
        0x25 => (0, vec![], vec![0, 0, 1, 0xff, 0, 0, 2, 0]),
        _ => (2, sense(ILLEGAL), vec![]),
    });
    assert_eq!(found.unwrap()[0].serial.as_deref(), Some("new"));
}

/// SPC-4, clause 7.5.8, UA_INTLCK_CTRL: an attention that stays until REQUEST SENSE; and one that comes back for ever.
#[test]
fn an_attention_that_stays_is_cleared_by_asking_for_it() {
    let mut asked = 0;
    let mut answers = |ever: bool| {
        let mut pending = true;
        scan(&mut |_, cdb| match cdb[0] {
            0xa0 => (0, vec![], luns(&[1])),
            0x03 => {
                (pending, asked) = (ever, asked + 1);
                (0, vec![], attention(asc::RESET))
            }
            0x12 if cdb[1] == 0 => (0, vec![], inquiry(0)),
            _ if pending => (2, attention(asc::RESET), vec![]),
            0 => (0, vec![], vec![]),
            0x25 => (0, vec![], vec![0, 0, 1, 0xff, 0, 0, 2, 0]),
            _ => (2, sense(ILLEGAL), vec![]),
        })
    };
    assert_eq!(answers(false).0.unwrap().len(), 1);
    let (found, skipped, _) = answers(true);
    assert_eq!((found.unwrap().len(), skipped[0].why), (0, SkipReason::Changes));
    assert!(asked > 2);
}

/// SPC-4, clause 6.33: REPORTED LUNS DATA HAS CHANGED behind REPORT LUNS: what was read of it is old.
#[test]
fn a_list_of_luns_that_changes_during_the_scan_is_read_again() {
    let (mut lists, mut told) = (0, false);
    let (found, skipped, _) = scan(&mut |_, cdb| match cdb[0] {
        0xa0 => {
            lists += 1;
            (0, vec![], if lists == 1 { luns(&[1]) } else { luns(&[2, 3]) })
        }
        0x12 if cdb[1] == 0 => (0, vec![], inquiry(0)),
        0 if !told => {
            told = true;
            (2, attention(asc::LUNS_CHANGED), vec![])
        }
        0 => (0, vec![], vec![]),
        0x25 => (0, vec![], vec![0, 0, 1, 0xff, 0, 0, 2, 0]),
        _ => (2, sense(ILLEGAL), vec![]),
    });
    let found: Vec<_> = found.unwrap().iter().map(|disk| disk.lun.0[1]).collect();
    assert_eq!((found, skipped.len(), lists), (vec![2, 3], 0, 2));
}

/// Unit attentions are told once (SAM-5, clause 5.14), a unit becomes ready, one has neither pages nor READ CAPACITY (16)
/// nor MODE SENSE, one is no disk, one is never ready, and one is named twice.
#[test]
fn units_differ() {
    let (mut attentions, mut waits) = (3, 4);
    let (found, skipped, took) = scan(&mut |lun, cdb| match (lun[1], cdb[0]) {
        (_, 0xa0) => (0, vec![], luns(&[5, 1, 2, 1, 3])),
        (2, 0x12) => (0, vec![], inquiry(0x05)),
        (_, 0x12) if cdb[1] == 0 => (0, vec![], inquiry(0)),
        (1, 0) if attentions > 0 => {
            attentions -= 1;
            (2, sense(ATTENTION), vec![])
        }
        (1, 0) if waits > 0 => {
            waits -= 1;
            (2, sense(NOT_READY), vec![])
        }
        (3, 0) => (2, sense(NOT_READY), vec![]),
        (_, 0) => (0, vec![], vec![]),
        (_, 0x25) => (0, vec![], vec![0, 0, 0x0f, 0xff, 0, 0, 0x10, 0]),
        (5, 0x1a) => (0, vec![], vec![23, 0, 0x90, 0, 8, 18, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        _ => (2, sense(ILLEGAL), vec![]),
    });
    let found = found.unwrap();
    assert_eq!(found.iter().map(|disk| disk.lun.0[1]).collect::<Vec<_>>(), [1, 5]);
    let [first, second] = &found[..] else { unreachable!() };
    assert_eq!((first.blocks, first.block_size, first.product.as_str()), (4096, 4096, "a disk?"));
    assert_eq!((first.read_only, first.write_cache, first.fua), (false, true, false), "the worst is assumed");
    assert_eq!((second.read_only, second.write_cache, second.fua), (true, true, true));
    let why: Vec<_> = skipped.iter().map(|skipped| (skipped.lun.0[1], skipped.why)).collect();
    assert_eq!(why, [(2, SkipReason::NoDisk), (3, SkipReason::NotReady)]);
    assert_eq!(took, (4 + 11) * SECOND / 2, "not ready is asked again after a pause, an attention at once");
}

/// A unit that is not connected or has an impossible block size is skipped; the port's designator is not taken for the
/// unit's; a busy unit is asked again.
#[test]
fn only_what_is_a_disk_is_taken() {
    let mut busy = 2;
    let capacity = |size: u32| [&[0, 0, 0, 0, 0, 0, 0, 9][..], &size.to_be_bytes(), &[0; 20]].concat();
    let unit = [0x02, 0x03, 0, 8, 0x50, 1, 2, 3, 4, 5, 6, 7];
    let port = [&[0x01, 0x93, 0, 16][..], &[0x60; 16]].concat();
    let page = [&[0, 0x83, 0, 32][..], &port, &unit].concat();
    let (found, skipped, took) = scan(&mut |lun, cdb| match (lun[1], cdb[0]) {
        (_, 0xa0) => (0, vec![], luns(&[0, 1, 2, 3, 4])),
        (0, 0x12) if cdb[1] == 0 => (0, vec![], inquiry(0x20)),
        (_, 0x12) if cdb[1] == 0 => (0, vec![], inquiry(0)),
        (_, 0x12) if cdb[2] == 0 => (0, vec![], vec![0, 0, 0, 1, 0x83]),
        (_, 0x12) => (0, vec![], page.clone()),
        (4, 0) if busy > 0 => {
            busy -= 1;
            (8, vec![], vec![])
        }
        (_, 0) => (0, vec![], vec![]),
        (number, 0x9e) => (0, vec![], capacity([0, 256, 520, 1 << 17, 512][usize::from(number)])),
        _ => (2, sense(ILLEGAL), vec![]),
    });
    let found = found.unwrap();
    assert_eq!((found.len(), found[0].lun.0[1], &found[0].designator[..]), (1, 4, &unit[4..]));
    let strange = SkipReason::BlockSize;
    let why: Vec<_> = skipped.iter().map(|skipped| (skipped.lun.0[1], skipped.why)).collect();
    assert_eq!(why, [(0, SkipReason::NoDisk), (1, strange), (2, strange), (3, strange)]);
    assert_eq!(took, SECOND, "two pauses");
}

#[test]
fn a_target_without_a_list_is_an_error() {
    let (found, _, _) = scan(&mut |_, _| (2, sense(ILLEGAL), vec![]));
    assert_eq!(found, Err(ScanError::NoLuns));
    let (found, _, _) = scan(&mut |_, _| (0, vec![], luns(&[])));
    assert_eq!(found, Ok(vec![]), "it may have none");
}

/// More LUNs than were asked for are asked for again, but not without end.
#[test]
fn a_long_list_is_asked_for_again() {
    let mut asked = Vec::new();
    let (found, skipped, _) = scan(&mut |_, cdb| {
        if cdb[0] != 0xa0 {
            return (2, sense(ILLEGAL), vec![]);
        }
        asked.push(u32::from_be_bytes(cdb[6..10].try_into().unwrap()));
        let mut bytes = vec![0xff, 0xff, 0xff, 0xf8, 0, 0, 0, 0];
        bytes.resize(100_000, 0);
        for (i, lun) in bytes[8..].chunks_exact_mut(8).enumerate() {
            lun[..2].copy_from_slice(&u16::try_from(i).unwrap().to_be_bytes());
        }
        (0, vec![], bytes)
    });
    assert_eq!(asked, [8 + 8 * 256, 8 + 8 * 4096]);
    assert_eq!((found, skipped.len()), (Ok(vec![]), 4096));
}

proptest! {
    #[test]
    fn a_scan_ends_whatever_the_target_says(
        bytes in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..64)), 1..40),
    ) {
        let mut at = 0;
        let (found, _, _) = scan(&mut |_, cdb| {
            at += 1;
            let (bad, bytes) = &bytes[at % bytes.len()];
            match cdb[0] {
                0xa0 => (0, vec![], luns(&[0, 1, 2])),
                0x12 if cdb[1] == 0 && !bad => (0, vec![], inquiry(0)),
                0 if !bad => (0, vec![], vec![]),
                _ if *bad => (bytes.first().map_or(2, |byte| byte & 0x3e).max(2), bytes.clone(), vec![]),
                _ => (0, vec![], bytes.clone()),
            }
        });
        for disk in found.unwrap() {
            prop_assert!(disk.max_transfer > 0 && disk.block_size.is_power_of_two() && disk.blocks > 0);
            prop_assert_eq!(disk.pieces(0, 100).map(|(_, blocks)| u64::from(blocks)).sum::<u64>(), 100);
        }
    }
}
