//! Commands whose blocks carry protection information (SBC-3, clause 4.22), as they go out.

use crate::initiator::world::*;
use linerate_block::{Buffer, Tag};
use linerate_fcoe::{Carried, FoundLun, ProtectionType};
use linerate_wire::*;
use std::process::{Command, Stdio};

fn disk(kind: ProtectionType) -> FoundLun {
    FoundLun {
        lun: LUN,
        vendor: String::new(),
        product: String::new(),
        revision: String::new(),
        serial: None,
        designator: Vec::new(),
        block_size: 512,
        blocks: 1 << 20,
        physical_exponent: 0,
        protection: kind.code(),
        interval_exponent: 0,
        carried: Some(Carried { kind, protect: 1, application: Some(0x1234) }),
        read_only: false,
        write_cache: true,
        fua: true,
        unmap: false,
        max_unmap: 0,
        max_unmap_ranges: 0,
        write_same_unmaps: false,
        zeroes: false,
        max_write_same: 0,
        max_transfer: 1024,
        granularity: 0,
        optimal: 0,
        rotation: 0,
    }
}

/// FCP-4, clause 9.2: the additional CDB length of 32 bytes, in words, before FCP_DL; and FCP_DL counts the protection
/// information, which is sent with the blocks.
#[test]
fn fcp_dl_counts_the_protection_information_and_a_long_cdb_its_words() {
    for (kind, additional) in [(ProtectionType::Type1, 0), (ProtectionType::Type2, 4), (ProtectionType::Type3, 0)] {
        let mut world = World::new();
        let data = pattern(2 * 520, 3);
        let mut buffer = Buffer::new(data.len());
        buffer.bytes_mut().copy_from_slice(&data);
        let write = disk(kind).write(Tag(1), 7, buffer, false, SECOND).unwrap();
        world.initiator.submit(world.now, &world.peer, write).unwrap();
        let frame = world.command();
        let length = 12 + 16 + usize::from(additional) * 4;
        assert_eq!((frame.payload[11], frame.payload.len()), (additional << 2 | 1, length + 4), "{kind:?}");
        assert_eq!(frame.payload[length..], 1040_u32.to_be_bytes());
        assert_eq!(frame.payload[12], if additional == 0 { 0x8a } else { 0x7f });
        world.feed(&xfer_rdy(frame.header.ox_id, 0, 1040));
        assert_eq!(world.sent().into_iter().flat_map(|frame| frame.payload).collect::<Vec<_>>(), data);
    }
}

/// Of a command of 32 bytes tshark (4.0) takes the additional length for bytes, and so finds no FCP_DL.
#[test]
fn tshark_reads_the_protect_fields_of_our_commands() {
    let mut frames = Vec::new();
    for kind in [ProtectionType::Type1, ProtectionType::Type2] {
        for writes in [false, true] {
            let (mut world, disk) = (World::new(), disk(kind));
            let command = match writes {
                true => disk.write(Tag(1), 7, Buffer::new(1040), false, SECOND),
                false => disk.read(Tag(1), 7, Buffer::new(1040), SECOND),
            };
            world.initiator.submit(world.now, &world.peer, command.unwrap()).unwrap();
            let (frame, link) = (world.command(), world.peer.link);
            let bytes = [&link.dst.0[..], &link.src.0, &EtherType::FCOE.0.to_be_bytes(), &frame.bytes()].concat();
            frames.push(crate::fip::capture::Frame { at: 0, bytes });
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.pcap");
    crate::fip::capture::write(&path, &frames);
    let fields =
        ["fcp.addlcdblen", "fcp.dl", "scsi_sbc.opcode", "scsi_sbc.rdprotect", "scsi_sbc.wrprotect", "_ws.malformed"];
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(&path).args(["-T", "fields"]).stderr(Stdio::null());
    let Ok(output) = command.args(fields.iter().flat_map(|field| ["-e", field])).output() else {
        linerate_skip::skip!("tshark is not installed");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["0\t1040\t0x88\t0x01\t\t", "0\t1040\t0x8a\t\t0x01\t"]);
    assert!(
        lines.len() == 4 && lines[2..].iter().all(|line| line.starts_with("4\t") && line.contains("\t0x7f\t")),
        "{text}"
    );
}
