//! Check of our frames by tshark.

use std::process::{Command, Stdio};

use crate::fip::capture::{self, Frame};
use crate::fip::node::*;
use linerate_fcoe::{FipConfig, FipMode};
use linerate_wire::*;

/// All kinds of frames that we send: discovery with a conflict, logins, a logout, with and without a tag, flagged.
fn ours() -> Vec<Frame> {
    let mut all = Vec::new();
    let tag = VlanTag::new(3, false, 100).unwrap();
    for (vlan, mode) in [(None, FipMode::Multipoint), (Some(tag), FipMode::Multipoint), (None, FipMode::PointToPoint)] {
        let config = FipConfig { vlan, mode, ..config([2, 0, 0, 0, 0x0e, 2]) };
        let mut node = Node::new(&config);
        node.link(true);
        node.run(2 * SECOND);
        let flags = if mode == FipMode::PointToPoint { FipFlags::REC_P2P } else { FipFlags::default() };
        let other = Other { flags, ..Other::new([2, 0, 0, 0, 0x0e, 1], 0x0e01) };
        let twin = Other { fc_id: 0x0e02, ..other };
        let frames = [
            other.frame(Vn2vnKind::ClaimNotification),
            other.frame(Vn2vnKind::Beacon),
            twin.frame(Vn2vnKind::ProbeRequest),
            twin.frame(Vn2vnKind::ClaimNotification),
        ];
        for mut frame in frames {
            if vlan.is_some() {
                frame.splice(12..12, [0x81, 0, 0, 100]);
            }
            node.hear(&frame);
        }
        // Frames 11 and 12 of capture 01, and 28 of 03: FLOGI, its accept, LOGO; 32 of 07: a reject.
        for (number, frame, kind) in [
            ("01", 10, FipElsKind::Flogi),
            ("01", 11, FipElsKind::Flogi),
            ("03", 27, FipElsKind::Logo),
            ("07", 31, FipElsKind::Flogi),
        ] {
            let bytes = &capture::golden(number)[frame].bytes;
            let fip = FipFrame::new_checked(&bytes[14..]).unwrap();
            let repr = FipElsRepr::parse(&fip).unwrap();
            let Node { machine, out, .. } = &mut node;
            assert!(machine.send_els(MacAddr([2, 0, 0, 0, 0x0e, 1]), kind, &repr.header, repr.payload, out));
            node.gather();
        }
        node.run(30 * SECOND);
        all.extend(node.sent);
    }
    all
}

#[test]
fn tshark_finds_none_of_our_frames_malformed() {
    let frames = ours();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.pcap");
    capture::write(&path, &frames);
    let fields =
        ["frame.len", "fip.opcode", "fip.vn2vn_subcode", "fip.ls.subcode", "_ws.malformed", "_ws.expert.message"];
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(&path).args(["-T", "fields"]).stderr(Stdio::null());
    let Ok(output) = command.args(fields.iter().flat_map(|field| ["-e", field])).output() else {
        linerate_skip::skip!("tshark is not installed");
        return;
    };
    assert!(output.status.success(), "tshark refuses the capture");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), frames.len());
    let mut kinds = std::collections::BTreeSet::new();
    for (line, frame) in text.lines().zip(&frames) {
        let heard = Heard::of(frame).unwrap();
        let seen: Vec<_> = line.split('\t').collect();
        let subcode = format!("0x{:02x}", heard.code.subcode);
        let (discovery, service) =
            if heard.code.protocol == 5 { (subcode.as_str(), "") } else { ("", subcode.as_str()) };
        let wanted = [frame.bytes.len().to_string(), format!("0x{:04x}", heard.code.protocol)];
        assert_eq!(seen, [&wanted[0], &wanted[1], discovery, service, "", ""], "{heard:?}");
        kinds.insert((heard.code.protocol, heard.code.subcode));
    }
    assert!(kinds.into_iter().eq([(2, 1), (2, 2), (5, 1), (5, 2), (5, 3), (5, 4), (5, 5)]));
}

#[test]
fn tshark_finds_a_wrong_frame() {
    let mut frames = ours();
    frames.truncate(1);
    frames[0].bytes[21] = 11;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.pcap");
    capture::write(&path, &frames);
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(&path).args(["-T", "fields", "-e", "_ws.malformed"]).stderr(Stdio::null());
    let Ok(output) = command.output() else {
        linerate_skip::skip!("tshark is not installed");
        return;
    };
    assert_ne!(String::from_utf8(output.stdout).unwrap().trim(), "");
}
