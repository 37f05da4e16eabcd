//! FIP: what parses is written again as it was understood; a node that hears a script of frames stays within its limits.
//!
//! The script is a sequence of frames: the time since the last in units of 50 ms (1 byte), the length (2), the bytes.
//! The whole input is a frame, too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_fcoe::*;
use linerate_wire::*;

/// Counts the frames that are sent; each must be FIP.
struct Sent(usize);

impl Transmit for Sent {
    fn sequence(&mut self, _: &Sequence<'_>) -> usize {
        panic!("FIP sends no sequences");
    }

    fn frame(&mut self, frame: &[u8]) -> bool {
        assert!(frame.len() >= 60 && FipRepr::parse(&FipFrame::new_checked(&frame[14..]).unwrap()).is_ok());
        self.0 += 1;
        true
    }

    fn room(&self) -> usize {
        1
    }
}

fn rebuild(bytes: &[u8]) {
    let Ok(frame) = FipFrame::new_checked(bytes) else { return };
    let list_len: usize = frame.descriptors().flatten().map(|descriptor| descriptor.len()).sum();
    assert!(FipFrame::HEADER_LEN + list_len + frame.padding().len() <= bytes.len());
    for descriptor in frame.descriptors().flatten() {
        let mut written = vec![0xa5; descriptor.len()];
        assert!(descriptor.emit(&mut written).unwrap().is_empty());
    }
    if let Ok(repr) = FipRepr::parse(&frame) {
        let mut written = vec![0xa5; repr.buffer_len()];
        assert!(repr.emit(&mut written).unwrap().is_empty());
        assert_eq!(FipRepr::parse(&FipFrame::new_checked(&written).unwrap()), Ok(repr));
    }
}

fn play(mut script: &[u8], mode: FipMode) {
    let mac = MacAddr([0x52, 0x54, 0, 0xfc, 0x0e, 1]);
    let mut node = Vn2vn::new(&FipConfig {
        mac,
        wwpn: Wwn::from_mac(0x2000, mac),
        wwnn: Wwn::from_mac(0x1000, mac),
        max_fcoe_size: 2158,
        role: Role { target: true, initiator: true },
        mode,
        vlan: None,
        seed: 1,
    });
    let (mut now, mut out) = (0, Sent(0));
    node.set_link(now, true);
    while let [wait, high, low, rest @ ..] = script {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (frame, rest) = rest.split_at(len);
        script = rest;
        let until = now + u64::from(*wait) * 50_000_000;
        while let Some(at) = node.poll_timeout().filter(|at| *at <= until) {
            now = at.max(now);
            node.poll(now, &mut out);
            assert!(node.poll_timeout().is_none_or(|next| next > now));
        }
        now = until;
        let before = out.0;
        node.handle(now, frame, &mut out);
        assert!(out.0 - before <= 2 && node.neighbours().count() <= 256);
        assert!(node.counters().drops().map(|(_, n)| n).sum::<u64>() <= node.counters().received);
        assert!(std::iter::from_fn(|| node.poll_event()).count() <= 512);
    }
}

fuzz_target!(|bytes: &[u8]| {
    for at in [0, 14, 18] {
        rebuild(bytes.get(at..).unwrap_or_default());
    }
    for mode in [FipMode::Multipoint, FipMode::PointToPoint] {
        play(bytes, mode);
    }
});
