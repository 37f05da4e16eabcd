//! Arbitrary frames at any time: no panic, no growth, no more answers than requests.

use crate::fip::capture;
use crate::fip::node::*;
use linerate_fcoe::{FipConfig, FipMode, Vn2vn};
use linerate_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    /// Bytes that nobody meant.
    Noise(Vec<u8>),
    /// A frame of a capture, some bytes of it changed, and cut.
    Golden(usize, Vec<(usize, u8)>, usize),
    /// A right frame about an identifier that is perhaps ours.
    Right(u8, u8, bool, bool),
    Link(bool),
    Room(bool),
    Pin(u32, bool),
    Login(Vec<u8>),
    Events,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2 * SECOND).prop_map(Step::Wait),
        1 => (0..60 * SECOND).prop_map(Step::Wait),
        1 => vec(any::<u8>(), 0..300).prop_map(Step::Noise),
        6 => (0..1000_usize, vec((0..300_usize, any::<u8>()), 0..3), 0..3000_usize)
            .prop_map(|(which, changes, cut)| Step::Golden(which, changes, cut)),
        8 => (0..5_u8, any::<u8>(), any::<bool>(), any::<bool>()).prop_map(|(k, who, same, p2p)| Step::Right(k, who, same, p2p)),
        1 => any::<bool>().prop_map(Step::Link),
        1 => any::<bool>().prop_map(Step::Room),
        1 => (0..0x1000_u32, any::<bool>()).prop_map(|(id, pinned)| Step::Pin(id, pinned)),
        1 => vec(any::<u8>(), 0..1100).prop_map(Step::Login),
        2 => Just(Step::Events),
    ]
}

fn golden() -> Vec<Vec<u8>> {
    let frames = ["01", "03", "07", "09", "10", "11", "13"].into_iter().flat_map(capture::golden);
    frames.filter(|frame| Heard::of(frame).is_some()).map(|frame| frame.bytes).collect()
}

fn play(steps: Vec<Step>, config: &FipConfig, start: u64) {
    const KINDS: [Vn2vnKind; 5] = [
        Vn2vnKind::ProbeRequest,
        Vn2vnKind::ProbeReply,
        Vn2vnKind::ClaimNotification,
        Vn2vnKind::ClaimResponse,
        Vn2vnKind::Beacon,
    ];
    let golden = golden();
    let (mut machine, mut out, mut now, mut heard) = (Vn2vn::new(config), Recorder::default(), start, 0);
    machine.set_link(now, true);
    for step in steps {
        let mut hear = |machine: &mut Vn2vn, out: &mut Recorder, bytes: &[u8]| {
            heard += 1;
            machine.handle(now, bytes, out);
            assert!(out.frames.len() <= 2, "at most an answer, and its own");
            assert_eq!(machine.counters().received, heard);
        };
        match step {
            Step::Wait(time) => {
                let until = now.saturating_add(time);
                while let Some(at) = machine.poll_timeout().filter(|&at| at <= until) {
                    now = now.max(at);
                    machine.poll(now, &mut out);
                    assert!(machine.poll_timeout().is_none_or(|next| next > now));
                    check(&mut out, config);
                }
                now = until;
            }
            Step::Noise(bytes) => hear(&mut machine, &mut out, &bytes),
            Step::Golden(which, changes, cut) => {
                let mut bytes = golden[which % golden.len()].clone();
                for (at, byte) in changes {
                    let at = at % bytes.len();
                    bytes[at] = byte;
                }
                bytes.truncate(cut.max(1));
                hear(&mut machine, &mut out, &bytes);
            }
            Step::Right(kind, who, same, point_to_point) => {
                let own = machine.own().map_or(0x0e01, |(fc_id, _)| fc_id.value());
                let fc_id = if same { own } else { u32::from(who) + 1 };
                let flags = if point_to_point { FipFlags::REC_P2P } else { FipFlags::default() };
                let mut bytes =
                    Other { flags, ..Other::new([0x52, 0x54, 0, who, 0x0e, 1], fc_id) }.frame(KINDS[usize::from(kind)]);
                if config.vlan.is_some() {
                    bytes.splice(12..12, [0x81, 0, 0, 100]);
                }
                hear(&mut machine, &mut out, &bytes);
            }
            Step::Link(up) => machine.set_link(now, up),
            Step::Room(room) => out.full = !room,
            Step::Pin(id, pinned) => {
                assert_eq!(machine.pin(FcId::new(id), pinned), machine.neighbour(FcId::new(id)).is_some());
            }
            Step::Login(payload) => {
                let header = FcHeader::parse(&[0x22; 24]).unwrap();
                let right = machine.own().is_some() && payload.len() <= 992 && payload.len().is_multiple_of(4);
                let sent = machine.send_els(MacAddr([2; 6]), FipElsKind::Flogi, &header, &payload, &mut out);
                assert_eq!(sent, right && !out.full);
            }
            Step::Events => {
                let events = std::iter::from_fn(|| machine.poll_event()).count();
                assert!(events <= 1024, "{events}");
            }
        }
        check(&mut out, config);
        assert!(machine.neighbours().count() <= 256);
        let own = machine.own().map(|(fc_id, _)| fc_id);
        assert!(machine.neighbours().all(|neighbour| Some(neighbour.fc_id) != own), "nobody else has our identifier");
        assert!(machine.counters().drops().map(|(_, n)| n).sum::<u64>() <= heard);
    }
}

/// Checks that all frames sent are valid, whatever input caused them.
fn check(out: &mut Recorder, config: &FipConfig) {
    for bytes in out.frames.drain(..) {
        let heard = Heard::of(&capture::Frame { at: 0, bytes }).expect("FIP");
        assert_eq!(heard.vlan, config.vlan);
        assert!(heard.discovery.is_some() || heard.code == FipCode::ELS_REQUEST, "{heard:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_comes_harms(
        steps in vec(step(), 0..150),
        point_to_point in any::<bool>(),
        tagged in any::<bool>(),
        max_fcoe_size in any::<u16>(),
        late in any::<bool>(),
    ) {
        let mode = if point_to_point { FipMode::PointToPoint } else { FipMode::Multipoint };
        let vlan = tagged.then(|| VlanTag::new(0, false, 100).unwrap());
        let config = FipConfig { mode, vlan, max_fcoe_size, ..config([0x52, 0x54, 0, 0xfc, 0x0e, 1]) };
        play(steps, &config, if late { u64::MAX - 30 * SECOND } else { 0 });
    }
}
