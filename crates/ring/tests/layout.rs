//! The layout, as a C compiler sees it. Needs `cc`.
#![cfg(all(target_os = "linux", not(miri)))]

use linerate_ring::layout::{NetmapIf, NetmapRing, NetmapSlot, RING_OFS_OFFSET, SLOTS_OFFSET};
use linerate_ring::{Pipe, Region, RegionConfig, Sharing};
use std::collections::HashMap;
use std::mem::{offset_of, size_of};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;

/// The C program, compiled for this test run.
fn compiled(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let program = dir.join(format!("{name}-{}", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/layout.c");
    let status = Command::new("cc").args(["-Wall", "-Werror", "-o"]).arg(&program).arg(source).status();
    assert!(status.expect("a C compiler called cc").success());
    program
}

fn output(command: &mut Command) -> String {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn every_field_is_where_a_c_compiler_puts_it() {
    let program = compiled("offsets");
    let text = output(&mut Command::new(&program));
    std::fs::remove_file(program).unwrap();
    let c: HashMap<&str, usize> =
        text.lines().map(|line| line.split_once(' ').unwrap()).map(|(k, v)| (k, v.parse().unwrap())).collect();
    let ours = [
        ("netmap_slot.buf_idx", offset_of!(NetmapSlot, buf_idx)),
        ("netmap_slot.len", offset_of!(NetmapSlot, len)),
        ("netmap_slot.flags", offset_of!(NetmapSlot, flags)),
        ("netmap_slot.ptr", offset_of!(NetmapSlot, ptr)),
        ("netmap_slot", size_of::<NetmapSlot>()),
        ("netmap_ring.buf_ofs", offset_of!(NetmapRing, buf_ofs)),
        ("netmap_ring.num_slots", offset_of!(NetmapRing, num_slots)),
        ("netmap_ring.nr_buf_size", offset_of!(NetmapRing, nr_buf_size)),
        ("netmap_ring.ringid", offset_of!(NetmapRing, ringid)),
        ("netmap_ring.dir", offset_of!(NetmapRing, dir)),
        ("netmap_ring.head", offset_of!(NetmapRing, head)),
        ("netmap_ring.cur", offset_of!(NetmapRing, cur)),
        ("netmap_ring.tail", offset_of!(NetmapRing, tail)),
        ("netmap_ring.flags", offset_of!(NetmapRing, flags)),
        ("netmap_ring.ts", offset_of!(NetmapRing, ts)),
        ("netmap_ring.offset_mask", offset_of!(NetmapRing, offset_mask)),
        ("netmap_ring.buf_align", offset_of!(NetmapRing, buf_align)),
        ("netmap_ring.sem", 128),
        ("netmap_ring.slot", SLOTS_OFFSET),
        ("netmap_if.ni_name", offset_of!(NetmapIf, name)),
        ("netmap_if.ni_version", offset_of!(NetmapIf, version)),
        ("netmap_if.ni_flags", offset_of!(NetmapIf, flags)),
        ("netmap_if.ni_tx_rings", offset_of!(NetmapIf, tx_rings)),
        ("netmap_if.ni_rx_rings", offset_of!(NetmapIf, rx_rings)),
        ("netmap_if.ni_bufs_head", offset_of!(NetmapIf, bufs_head)),
        ("netmap_if.ni_host_tx_rings", offset_of!(NetmapIf, host_tx_rings)),
        ("netmap_if.ni_host_rx_rings", offset_of!(NetmapIf, host_rx_rings)),
        ("netmap_if.ring_ofs", RING_OFS_OFFSET),
    ];
    assert_eq!(c.len(), ours.len());
    for (field, offset) in ours {
        assert_eq!(c.get(field), Some(&offset), "{field}");
    }
}

#[test]
fn a_c_program_finds_its_way_and_sends_a_frame() {
    let ring_bytes = 4 * Region::ring_room(64) + 2 * Region::if_room(1, 1);
    let config = RegionConfig { buf_size: 2048, buffers: 128, ring_bytes, sharing: Sharing::Shared, huge: false };
    let region = Region::new(&config).unwrap();
    let (there, back) = (region.ring_pair(0, 64).unwrap(), region.ring_pair(0, 64).unwrap());
    let interface = region.interface("cable:t{1", &[there.tx], &[back.rx]).unwrap();
    let (mut tx, mut a) = Pipe::Maker.sender(&region, &there, 0).unwrap();
    let (mut rx, mut b) = Pipe::Maker.receiver(&region, &there, 0).unwrap();
    let program = compiled("walk");
    let file = format!("/proc/{}/fd/{}", std::process::id(), region.file().unwrap().as_raw_fd());
    let text = output(Command::new(&program).arg(file).arg(interface.to_string()));
    std::fs::remove_file(program).unwrap();
    assert_eq!(text.trim(), "cable:t{1 14 1/1 dir 0/1 slots 64 size 2048 head 0 tail 63 same 1");
    // A slot written by another program is read once and written anew: only words written by this side are sent.
    let mut batch = tx.reserve(1);
    let word = batch.slots().0[0].word();
    batch.set(0, word.len().into(), word.flags());
    batch.commit(1);
    a.sync(&mut tx, |_| true);
    b.sync(&mut rx);
    assert_eq!(rx.batch(1).frame(0).unwrap().0.to_vec(), b"written by C");
}

/// No two objects of a region overlap, each is as long as netmap's structure, and the header gives the ring's number
/// and direction.
#[test]
fn no_two_objects_of_a_region_share_a_byte() {
    let sizes = [64, 256, 128];
    let ring_bytes = 2 * sizes.map(Region::ring_room).iter().sum::<usize>() + 2 * Region::if_room(9, 9);
    let config = RegionConfig { buf_size: 512, buffers: 500, ring_bytes, sharing: Sharing::Shared, huge: false };
    let region = Region::new(&config).unwrap();
    let first = region.ring_pair(0x1234, sizes[0]).unwrap();
    let named = region.interface("cable:t{1", &[first.tx; 9], &[first.rx; 9]).unwrap();
    let rest = [region.ring_pair(0x00ff, sizes[1]).unwrap(), region.ring_pair(0xff00, sizes[2]).unwrap()];
    let pairs = [first, rest[0], rest[1]];
    region.check_pairs(&pairs).unwrap();
    // A header of 256 bytes and 16 a slot; 16 a slot's metadata; five lines of 128; 56 bytes and 8 a ring.
    let mut objects = vec![(named, 56 + 8 * 18)];
    for pair in pairs {
        for spot in [pair.tx, pair.rx] {
            objects.push((spot.ring, 256 + 16 * u64::from(spot.slots)));
            objects.push((spot.meta, 16 * u64::from(spot.slots)));
        }
        objects.push((pair.lines, 640));
    }
    objects.sort_unstable();
    for two in objects.windows(2) {
        assert!(two[0].0 + two[0].1 <= two[1].0, "{two:?}");
    }
    let (last, len) = objects[objects.len() - 1];
    assert!(last + len <= region.buf_area());
    let file = std::fs::File::from(region.file().unwrap().try_clone_to_owned().unwrap());
    let u16_at = |at: u64| {
        let mut bytes = [0; 2];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, at).unwrap();
        u16::from_ne_bytes(bytes)
    };
    for (pair, id) in pairs.iter().zip([0x1234, 0x00ff, 0xff00]) {
        for (spot, dir) in [(pair.tx, 0), (pair.rx, 1)] {
            let field = |offset: usize| u16_at(spot.ring + offset as u64);
            assert_eq!((field(offset_of!(NetmapRing, ringid)), field(offset_of!(NetmapRing, dir))), (id, dir));
        }
    }
}
