//! Damage at every place where blocks of a protected disk pass, and who finds it.

mod changes;
mod world;

use super::Integrity;
use super::integrity::Edge;
use linerate_fcoe::{FoundLun, Guard};
use world::{Damage, World, pattern};

const KINDS: [u8; 3] = [1, 2, 3];
const BLOCKS: [u32; 2] = [512, 4096];
const LBA: u64 = 5;

fn crc() -> Integrity {
    Integrity::default()
}

fn ip() -> Integrity {
    Integrity { guard: Some(Guard::IpChecksum), ..crc() }
}

/// Checked here only: the target checks nothing.
fn alone(integrity: Integrity) -> Integrity {
    Integrity { protect: 3, ..integrity }
}

/// All types and sizes of blocks.
fn formats() -> impl Iterator<Item = (u8, u32)> {
    KINDS.into_iter().flat_map(|kind| BLOCKS.map(|block| (kind, block)))
}

/// A disk of which eight blocks from [`LBA`] on are written.
fn written(kind: u8, block: u32, integrity: Integrity) -> World {
    let mut world = World::new(kind, block, integrity);
    world.write(LBA, &pattern(8, block)).unwrap();
    world
}

#[test]
fn blocks_and_their_protection_information_come_back() {
    for (kind, block) in formats() {
        for integrity in [crc(), ip(), alone(crc()), Integrity { application: Some(0x1234), ..ip() }] {
            let mut world = written(kind, block, integrity);
            assert_eq!(world.read(LBA, 8), Ok(pattern(8, block)), "{kind} {block} {integrity:?}");
            // The medium has the tags that were sent.
            let tuple = world.tuple(LBA + 2);
            let reference = if kind == 3 { 0 } else { 7 };
            assert_eq!((tuple.application, tuple.reference), (integrity.application.unwrap_or(0), reference));
            assert_eq!(tuple.guard, Guard::Crc16.of(&pattern(8, block)[2 * block as usize..3 * block as usize]));
            // Blocks that were never written are not checked.
            assert_eq!(world.read(100, 2), Ok(vec![0; 2 * block as usize]));
            assert_eq!(world.found(), ([0; 3], [0; 3]));
        }
    }
}

#[test]
fn what_a_command_cannot_carry_goes_in_several() {
    for integrity in [crc(), ip()] {
        let mut world = World::new(2, 512, integrity);
        let data = pattern(2500, 512);
        world.write(3, &data).unwrap();
        assert_eq!(world.read(3, 2500), Ok(data));
        assert_eq!(world.tuple(3 + 2400).reference, 2403);
    }
}

#[test]
fn zeros_are_written_with_their_protection_information() {
    for (kind, block) in formats() {
        let mut world = written(kind, block, Integrity { application: Some(9), ..crc() });
        world.zero(LBA + 1, 2, false).unwrap();
        let mut data = pattern(8, block);
        data[block as usize..3 * block as usize].fill(0);
        assert_eq!(world.read(LBA, 8), Ok(data));
        let tuple = world.tuple(LBA + 2);
        assert_eq!((tuple.guard, tuple.application), (0, 9), "{kind} {block}");
        assert_eq!(tuple.reference, if kind == 3 { 0 } else { 7 });
        // What may be deallocated is, and then is not checked.
        world.zero(LBA + 4, 2, true).unwrap();
        assert_eq!(world.tuple(LBA + 5).bytes(), [0xff; 8], "{kind} {block}");
        assert!(world.read(LBA + 4, 2).unwrap().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn a_format_that_is_not_known_is_not_checked() {
    let mut world = World::new(1, 512, crc());
    let lun = world.remote().units()[0].lun.clone();
    assert!(lun.carried.is_some());
    let bare = FoundLun { carried: None, ..lun };
    for (protection, interval_exponent, known) in [(1, 0, true), (0, 0, false), (4, 0, false), (1, 1, false)] {
        let mut lun = FoundLun { protection, interval_exponent, ..bare.clone() };
        assert_eq!(Edge::of(&mut lun, &crc()).is_some(), known);
        assert_eq!(lun.carried.is_some(), known);
    }
    assert!(Edge::of(&mut bare.clone(), &Integrity::OFF).is_none());
}

#[test]
fn without_protection_information_everything_passes() {
    let mut world = written(1, 512, Integrity::OFF);
    assert_eq!(world.read(LBA, 8), Ok(pattern(8, 512)));
    // What would be found: the command has no protection information, and the target makes it for damaged data.
    world.wire(Some(Damage::Out));
    world.write(LBA, &pattern(8, 512)).unwrap();
    world.wire(None);
    assert_ne!(world.read(LBA, 8).unwrap(), pattern(8, 512));
    assert_eq!(world.found(), ([0; 3], [0; 3]));
}

#[test]
fn data_that_changes_in_memory_before_it_is_sent_is_found_by_the_target() {
    for (kind, block) in formats() {
        let mut world = written(kind, block, crc());
        let why = world.write_damaged(LBA, &pattern(8, block), 3 * block as usize + 1).unwrap_err();
        assert!(why.ends_with("LOGICAL BLOCK GUARD CHECK FAILED (0b/10/01) at LBA 8"), "{why}");
        assert_eq!(world.found(), ([0; 3], [1, 0, 0]));
        assert_eq!(world.read(LBA, 8), Ok(pattern(8, block)), "what was there is there");
    }
}

#[test]
fn data_that_changes_in_memory_under_an_ip_checksum_gets_no_crc() {
    for (kind, block) in formats() {
        let mut world = written(kind, block, ip());
        let why = world.write_damaged(LBA, &pattern(8, block), 3 * block as usize + 1).unwrap_err();
        assert_eq!(why, "WRITE of 8 blocks at 5: the guard of the block at 8 is wrong: its data has changed");
        assert_eq!(world.found(), ([1, 0, 0], [0; 3]));
        assert_eq!(world.read(LBA, 8), Ok(pattern(8, block)));
    }
}

#[test]
fn data_that_changes_in_memory_after_it_was_received_is_not_handed_on() {
    for integrity in [crc(), ip()] {
        for (kind, block) in formats() {
            let mut world = written(kind, block, integrity);
            let blocks = (600 << 10) / block as usize;
            let why = world.read_damaged(LBA, blocks, 3 * block as usize + 1).unwrap_err();
            let words = "at 5: the guard of the block at 8 is wrong: its data has changed";
            assert_eq!(why, format!("READ of {blocks} blocks {words}"));
            assert_eq!(world.found(), ([1, 0, 0], [0; 3]));
        }
    }
}

#[test]
fn damage_on_the_wire_behind_a_forged_crc_is_found_by_whoever_receives_it() {
    for integrity in [crc(), ip()] {
        for (kind, block) in formats() {
            let mut world = written(kind, block, integrity);
            world.wire(Some(Damage::Out));
            let why = world.write(LBA, &pattern(8, block)).unwrap_err();
            assert!(why.contains("LOGICAL BLOCK GUARD CHECK FAILED (0b/10/01) at LBA 5"), "{why}");
            assert_eq!(world.found(), ([0; 3], [1, 0, 0]));
            world.wire(Some(Damage::In));
            let why = world.read(LBA, 8).unwrap_err();
            assert!(why.ends_with("the guard of the block at 5 is wrong: its data has changed"), "{why}");
            assert_eq!(world.found(), ([1, 0, 0], [1, 0, 0]));
            world.wire(None);
            assert_eq!(world.read(LBA, 8), Ok(pattern(8, block)));
        }
    }
}

/// A byte of the data, or of the guard, application tag and reference tag in the side file, and the place in
/// [`World::found`] of whoever finds that; types 1 and 2 only for a reference tag.
#[test]
fn damage_on_the_medium_is_found_by_the_target_or_if_it_does_not_check_by_us() {
    for integrity in [crc(), ip()] {
        let tagged = Integrity { application: Some(0x1234), ..integrity };
        for (kind, block) in formats() {
            for (byte, code, words) in [
                (None, 1, "guard"),
                (Some(1), 1, "guard"),
                (Some(3), 2, "application tag"),
                (Some(7), 3, "reference tag"),
            ] {
                if kind == 3 && code == 3 {
                    continue;
                }
                let damage = |world: &World| match byte {
                    None => world.damage_data(LBA + 3, 9),
                    Some(byte) => world.damage_side(LBA + 3, byte),
                };
                let mut counts = [0; 3];
                counts[code - 1] = 1;
                let mut world = written(kind, block, alone(tagged));
                damage(&world);
                let why = world.read(LBA, 8).unwrap_err();
                assert!(why.contains(&format!("the {words} of the block at 8 is wrong")), "{why}");
                assert_eq!(world.found(), (counts, [0; 3]), "{kind} {block} {words}");
                let mut world = written(kind, block, tagged);
                damage(&world);
                let why = world.read(LBA, 8).unwrap_err();
                // Only commands of 32 bytes say which application tag is expected.
                if code == 2 && kind != 2 {
                    assert!(why.contains("the application tag of the block at 8 is wrong"), "{why}");
                    assert_eq!(world.found(), (counts, [0; 3]));
                } else {
                    assert!(why.contains(&format!("(0b/10/{code:02x}) at LBA 8")), "{why}");
                    assert_eq!(world.found(), ([0; 3], counts), "{kind} {block} {words}");
                }
            }
        }
    }
}

#[test]
fn blocks_of_another_address_are_found_by_their_reference_tag() {
    for (kind, block) in formats() {
        for integrity in [crc(), alone(crc())] {
            let mut world = written(kind, block, integrity);
            world.misplace(LBA + 6, LBA + 3);
            let read = world.read(LBA, 8);
            if kind == 3 {
                // Type 3 has no such tag (SBC-3, clause 4.22.2.5).
                assert_eq!(
                    read.unwrap()[3 * block as usize..4 * block as usize],
                    pattern(8, block)[6 * block as usize..7 * block as usize]
                );
                continue;
            }
            let (why, ours) = (read.unwrap_err(), integrity.protect == 3);
            let words = if ours { "the reference tag of the block at 8 is wrong" } else { "(0b/10/03) at LBA 8" };
            assert!(why.contains(words), "{why}");
            assert_eq!(world.found(), if ours { ([0, 0, 1], [0; 3]) } else { ([0; 3], [0, 0, 1]) });
        }
    }
}

#[test]
fn blocks_of_another_owner_are_found_by_their_application_tag() {
    for (kind, block) in formats() {
        let mut world = written(kind, block, Integrity { application: Some(1), ..crc() });
        world.integrity(Integrity { application: Some(2), ..crc() });
        let why = world.read(LBA, 8).unwrap_err();
        let words = if kind == 2 { "(0b/10/02) at LBA 5" } else { "the application tag of the block at 5 is wrong" };
        assert!(why.contains(words), "{why}");
    }
}

/// One frame in a hundred lost between us and Linux's target, which does not ask for data that is missing: the time of a
/// WRITE passed, and the block device failed it.
#[test]
fn what_is_not_answered_in_time_is_tried_again() {
    let mut world = World::new(1, 512, crc());
    world.wire(Some(Damage::Silent));
    assert_eq!(world.write_for(LBA, &pattern(8, 512), 100), None);
    world.wire(None);
    assert_eq!(world.end_after(30), Ok(()));
    assert_eq!(world.read(LBA, 8), Ok(pattern(8, 512)));
    // Not for ever.
    world.wire(Some(Damage::Silent));
    let why = world.write_for(LBA, &pattern(8, 512), 400).unwrap().unwrap_err();
    assert_eq!(why, "WRITE of 8 blocks at 5: no answer in time");
}

#[test]
fn a_target_that_is_busy_for_seconds_fails_nothing() {
    let mut world = World::new(1, 512, crc());
    world.wire(Some(Damage::Busy));
    assert_eq!(world.write_for(LBA, &pattern(8, 512), 20), None);
    world.wire(None);
    assert_eq!(world.end_after(2), Ok(()));
    world.wire(Some(Damage::Busy));
    let why = world.write_for(LBA, &pattern(8, 512), 60).unwrap().unwrap_err();
    assert_eq!(why, "WRITE of 8 blocks at 5: SCSI status 08h");
}
