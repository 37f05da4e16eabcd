//! Frames captured from two Linux kernels, for the tests.

use linerate_port::capture::Reader;
use linerate_wire::FcoeFrame;
use std::path::Path;

use super::encapsulated;

/// Captures that contain FC frames.
pub(super) const CAPTURES: [&str; 5] = [
    "02-scsi-scan-rw-tmf-echo",
    "04-write-data-lost-rec-abts-ba_acc-retry",
    "05-read-data-lost-rec-rjt-retry",
    "12-mtu1500-login-write",
    "13-vlan100-discovery",
];

pub(super) fn capture(name: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fcoe/tests/golden").join(name).with_extension("pcap");
    let mut reader = Reader::open(&path).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        frames.push(record.data.to_vec());
    }
    frames
}

/// The FC frame encapsulated in a frame, if there is one.
pub(super) fn fc(frame: &[u8]) -> Option<FcoeFrame<'_>> {
    FcoeFrame::new_checked(&frame[encapsulated(frame)?..]).ok()
}
