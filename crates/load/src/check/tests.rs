use super::*;
use crate::frame::Payload;
use linerate_port::Planned;
use proptest::prelude::*;
use std::collections::HashSet;

const RUN: u16 = 0xbeef;

fn flow(v6: bool) -> Flow {
    let addr = |last: u8| {
        if v6 { [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last].into() } else { [10, 0, 0, last].into() }
    };
    Flow { src: addr(1), dst: addr(2), src_port: 1234, dst_port: 4321 }
}

fn template(vnet: usize, v6: bool, payload: Payload) -> Template {
    let layout = Layout { vnet, v6 };
    Template { layout, src_mac: [2, 0, 0, 0, 0, 1], dst_mac: [2, 0, 0, 0, 0, 2], stream: 3, payload }
}

fn told(template: &Template, fixed: bool, len: usize) -> Check {
    let mut check = Check::new(template.layout.vnet, Some(RUN));
    check.expect(template, RUN, fixed.then(|| flow(template.layout.v6)), len);
    check
}

/// Any flipped byte of a frame is found, by a check that was given the template and by one that learned it from the
/// frame before.
#[test]
fn any_flipped_byte_is_found() {
    for (vnet, v6) in [(0, false), (0, true), (12, false)] {
        for payload in [Payload::Marked, Payload::Stamped] {
            for extra in [0usize, 16, 17, 90] {
                let template = template(vnet, v6, payload);
                let len = template.layout.end() + extra;
                for mode in ["fixed", "any", "learned"] {
                    let mut check =
                        if mode == "learned" { Check::new(vnet, None) } else { told(&template, mode == "fixed", len) };
                    let frame = |sequence| template.frame(len, &flow(v6), RUN, sequence, 99);
                    check.bytes(&frame(0));
                    assert_eq!(check.received().corrupt, 0, "{mode} {len}");
                    for at in 0..len {
                        for flip in [0x01, 0x80, 0xff] {
                            let mut bad = frame(1);
                            bad[at] ^= flip;
                            let before = check.received();
                            check.bytes(&bad);
                            let after = check.received();
                            assert_eq!(after.corrupt, before.corrupt + 1, "{mode}: byte {at} of {len} ^ {flip:#x}");
                            assert_eq!(after.foreign, before.foreign, "{mode}: byte {at} of {len}");
                        }
                    }
                    let corrupt = check.received().corrupt;
                    check.bytes(&frame(1_000));
                    assert_eq!(check.received().corrupt, corrupt, "a whole frame is whole afterwards");
                }
            }
        }
    }
}

#[test]
fn frames_cut_short_or_grown_are_found() {
    let template = template(0, false, Payload::Marked);
    let mut check = told(&template, true, 100);
    let frame = template.frame(100, &flow(false), RUN, 0, 0);
    check.bytes(&frame[..99]);
    let mut longer = frame.clone();
    longer.push(pattern()[100]);
    check.bytes(&longer);
    assert_eq!((check.received().ours, check.received().corrupt), (1, 2), "one number, twice, both damaged");
    assert_eq!(check.received().duplicates, 1);
}

/// Regression: a sum without one of its terms went unnoticed.
#[test]
fn sums_have_every_term() {
    let of = |n: u64| Matched { put_in: n, found: n + 1 };
    let one = Received {
        frames: 1,
        bytes: 2,
        ours: 3,
        corrupt: 4,
        duplicates: 5,
        reordered: 6,
        lost: 7,
        foreign: 8,
        unsent: 9,
        mended: 10,
        injected: Injected { dropped: of(11), doubled: of(13), corrupted: of(15) },
    };
    let mut sum = one;
    sum += one;
    let of = |n: u64| Matched { put_in: 2 * n, found: 2 * n + 2 };
    let twice = Received {
        frames: 2,
        bytes: 4,
        ours: 6,
        corrupt: 8,
        duplicates: 10,
        reordered: 12,
        lost: 14,
        foreign: 16,
        unsent: 18,
        mended: 20,
        injected: Injected { dropped: of(11), doubled: of(13), corrupted: of(15) },
    };
    assert_eq!(sum, twice);
}

#[test]
fn the_first_to_come_need_not_be_the_first_sent() {
    let template = template(0, false, Payload::Marked);
    let mut check = Check::new(0, None);
    for sequence in [3, 0, 1, 5, 2, 4] {
        check.bytes(&template.frame(60, &flow(false), RUN, sequence, 0));
    }
    let received = check.received();
    assert_eq!((received.ours, received.duplicates, received.lost), (6, 0, 0));
    check.bytes(&template.frame(60, &flow(false), RUN, 0, 0));
    assert_eq!(check.received().duplicates, 1);
}

#[test]
fn what_is_not_ours_is_foreign() {
    let template = template(0, false, Payload::Marked);
    let mut check = told(&template, true, 60);
    check.bytes(&[0; 60]);
    check.bytes(b"");
    check.bytes(&template.frame(60, &flow(false), RUN + 1, 0, 0));
    let mut arp = vec![0xff; 42];
    arp[12..14].copy_from_slice(&[8, 6]);
    check.bytes(&arp);
    let got = check.received();
    assert_eq!((got.frames, got.foreign, got.ours, got.corrupt), (4, 4, 0, 0));
}

#[test]
fn frames_too_short_for_a_mark_are_compared_whole() {
    let template = template(0, false, Payload::Marked);
    let mut check = told(&template, true, 50);
    let frame = template.frame(50, &flow(false), RUN, 0, 0);
    check.bytes(&frame);
    check.bytes(&frame);
    let mut bad = frame;
    bad[48] ^= 4;
    check.bytes(&bad);
    let got = check.received();
    assert_eq!((got.ours, got.foreign, got.corrupt), (3, 0, 1), "{got:?}");
}

#[test]
fn streams_are_told_apart_and_learned_in_bounds() {
    let mut check = Check::new(0, None);
    for stream in 0..400u16 {
        let template = Template { stream, ..template(0, false, Payload::Marked) };
        for sequence in 10..13 {
            check.bytes(&template.frame(70, &flow(false), RUN, sequence, 0));
        }
    }
    let got = check.received();
    assert_eq!((got.ours + got.corrupt, got.lost), (256 * 3 + 2 * (400 - 256) * 3, 0), "{got:?}");
}

#[test]
fn stamps_come_out_of_whole_frames_only() {
    let template = template(0, false, Payload::Stamped);
    let mut check = Check::new(0, None);
    let frame = template.frame(80, &flow(false), RUN, 5, 123_456);
    check.bytes(&frame);
    assert_eq!(check.stamp(), Some(Stamp { ns: 123_456, tagged: false }));
    let tagged = Stamp { ns: 777, tagged: true };
    check.bytes(&template.frame(80, &flow(false), RUN, 6, tagged.word()));
    assert_eq!(check.stamp(), Some(tagged));
    let mut bad = template.frame(80, &flow(false), RUN, 7, 888);
    bad[79] ^= 1;
    check.bytes(&bad);
    assert_eq!(check.stamp(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever bytes arrive, the checker counts each frame once and does not panic.
    #[test]
    fn any_bytes_are_counted_once(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let template = template(0, false, Payload::Marked);
        let mut check = told(&template, true, 60);
        for frame in &frames {
            check.bytes(frame);
        }
        let got = check.received();
        prop_assert_eq!(got.frames, frames.len() as u64);
        prop_assert_eq!(got.ours + got.duplicates + got.foreign, got.frames);
    }

    /// Compares with a set: every number is received once, duplicates and gaps agree with the set.
    #[test]
    fn the_order_is_kept_as_by_a_set(numbers in prop::collection::vec(0u64..60, 0..200)) {
        let (mut sequence, mut seen) = (Sequence::default(), HashSet::new());
        let mut highest = None;
        let (mut late, mut again) = (0, 0);
        for n in numbers {
            let order = sequence.next(n);
            let fresh = seen.insert(n);
            match order {
                Order::Again => { again += 1; prop_assert!(!fresh); }
                Order::Late => { late += 1; prop_assert!(fresh && Some(n) < highest); }
                Order::Next | Order::Ahead => prop_assert!(fresh && Some(n) > highest),
            }
            highest = highest.max(Some(n));
        }
        prop_assert_eq!(sequence.received(), seen.len() as u64);
        prop_assert_eq!((sequence.reordered(), sequence.duplicates()), (late, again));
        prop_assert_eq!(sequence.lost(), highest.map_or(0, |h| h + 1) - seen.len() as u64);
    }
}

#[test]
fn gaps_are_bounded_and_their_sum_stays_right() {
    let mut sequence = Sequence::default();
    for n in (1..40_000).step_by(2) {
        sequence.next(n);
    }
    assert_eq!((sequence.received(), sequence.lost()), (20_000, 20_000));
    assert_eq!(sequence.next(0), Order::Late, "from a gap that was given up");
    assert_eq!(sequence.next(39_998), Order::Late);
    assert_eq!(sequence.lost(), 19_998);
}

/// Frames as a plan has them sent, and then one that differs, of each kind.
#[test]
fn faults_that_were_planned_are_told_from_others_by_number() {
    const LEN: usize = 90;
    let plan = FaultPlan::of("null:,faults=drop:0.1/dup:0.1/corrupt:0.1/seed:3").unwrap();
    let template = template(0, false, Payload::Marked);
    let frame = |number: u64| template.frame(LEN, &flow(false), RUN, number, 99);
    let flipped = |number: u64, bit: usize| {
        let mut frame = frame(number);
        frame[bit / 8] ^= 1 << (bit % 8);
        frame
    };
    let fate = |number| plan.fate(template.stream, number, LEN);
    let last = (1000..).find(|number| fate(*number).copies > 0).unwrap();
    let first = |copies: u8, flip: bool| {
        (10..1000).find(|number| (fate(*number).copies, fate(*number).flip.is_some()) == (copies, flip)).unwrap()
    };
    // All of them; frame `number` is replaced by `instead`.
    let come = |number: u64, instead: &[Vec<u8>]| {
        let mut check = told(&template, true, LEN);
        check.plan(plan);
        for n in 0..=last {
            let Planned { copies, flip } = fate(n);
            let first = flip.map_or_else(|| frame(n), |bit| flipped(n, bit));
            let sent: Vec<_> =
                std::iter::once(first).chain((1..copies).map(|_| frame(n))).take(copies.into()).collect();
            let came = if n == number { instead } else { &sent };
            came.iter().for_each(|frame| check.bytes(frame));
        }
        let got = check.received();
        assert_eq!(got.foreign, 0);
        (got, check.come())
    };
    let (all, come_all) = come(u64::MAX, &[]);
    let count = |of: &dyn Fn(Planned) -> bool| (0..=last).filter(|n| of(fate(*n))).count() as u64;
    let matched = |n| Matched { put_in: n, found: n };
    let (dropped, doubled) = (count(&|fate| fate.copies == 0), count(&|fate| fate.copies == 2));
    let damaged = count(&|fate| fate.copies > 0 && fate.flip.is_some());
    assert!(dropped > 50 && doubled > 50 && damaged > 50);
    let wanted = Injected { dropped: matched(dropped), doubled: matched(doubled), corrupted: matched(damaged) };
    assert_eq!((all.injected, all.lost, all.frames), (wanted, dropped, last + 1 - dropped + doubled));
    assert_eq!((all.unsent, all.mended, all.corrupt, all.spoiled(), come_all), (0, 0, damaged, 0, all.frames));

    let (gone, once, twice, hurt) = (first(0, false), first(1, false), first(2, false), first(1, true));
    let (bit, both) = (fate(hurt).flip.unwrap(), first(2, true));
    let other = |bit: usize| (bit + 8) % (8 * LEN);
    for (what, number, instead, unsent, mended, spoiled, lost) in [
        ("one that was dropped", gone, vec![frame(gone)], 1, 0, 0, dropped - 1),
        ("one twice", once, vec![frame(once); 2], 1, 0, 0, dropped),
        ("one three times", twice, vec![frame(twice); 3], 1, 0, 0, dropped),
        ("one that is damaged no more", hurt, vec![frame(hurt)], 0, 1, 0, dropped),
        ("one that is damaged elsewhere", hurt, vec![flipped(hurt, other(bit))], 0, 0, 1, dropped),
        ("one that is damaged beside the plan", once, vec![flipped(once, 700)], 0, 0, 1, dropped),
        ("none", once, vec![], 0, 0, 0, dropped + 1),
        ("the whole one of two alone", both, vec![frame(both)], 0, 0, 0, dropped),
    ] {
        let (got, whole) = come(number, &instead);
        assert_eq!((got.unsent, got.mended, got.spoiled(), got.lost), (unsent, mended, spoiled, lost), "{what}");
        assert_eq!(whole, got.frames - unsent, "{what}");
    }
}
