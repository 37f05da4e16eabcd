use linerate_result::{Repeat, RunResult, Test, Timestamp, Unit};

use super::spread::{Difference, Prior, Side, family};
use super::{Compared, Judged};

fn test(id: &str, unit: Unit, values: &[f64]) -> Test {
    let repeat = |value: &f64| Repeat { value: (*value).into(), valid: true, ..Repeat::default() };
    let mut test = Test { id: id.to_owned(), workload: "tx".to_owned(), ..Test::default() };
    test.repeats = values.iter().map(repeat).collect();
    test.summarize(unit);
    test
}

fn run(tests: Vec<Test>) -> RunResult {
    let mut run = RunResult::new("r".to_owned(), Vec::new(), Timestamp::default());
    run.tests = tests;
    run
}

fn judged(unit: &Unit, a: &[f64], b: &[f64], threshold: f64) -> (Judged, u8) {
    let all = Compared::new(&run(vec![test("t", unit.clone(), a)]), &run(vec![test("t", unit.clone(), b)]), threshold);
    (all.pairs[0].judged, all.exit_code())
}

#[test]
fn worse_is_beyond_the_threshold_and_beyond_the_spread() {
    let a = [100.0, 101.0, 99.0, 100.0];
    for (b, threshold, wanted) in [
        ([90.0, 91.0, 89.0, 90.0], 5.0, (Judged::Worse, 3)),
        ([90.0, 91.0, 89.0, 90.0], 15.0, (Judged::Same, 0)),
        // A tenth less, but it scatters by more.
        ([60.0, 130.0, 70.0, 110.0], 5.0, (Judged::Unclear, 0)),
        ([110.0, 111.0, 109.0, 110.0], 5.0, (Judged::Better, 0)),
        ([100.0, 100.0, 101.0, 99.0], 0.0, (Judged::Same, 0)),
    ] {
        assert_eq!(judged(&Unit::Pps, &a, &b, threshold), wanted, "{b:?}");
    }
    // Of times more is worse.
    assert_eq!(judged(&Unit::Ns, &a, &[120.0, 121.0, 119.0], 5.0), (Judged::Worse, 3));
    assert_eq!(judged(&Unit::Ns, &a, &[80.0, 81.0, 79.0], 5.0), (Judged::Better, 0));
}

#[test]
fn too_few_repeats_are_not_judged() {
    for (a, b) in
        [(&[100.0, 100.0][..], &[1.0, 1.0, 1.0][..]), (&[100.0, 99.0, 98.0], &[1.0]), (&[1.0, 1.0, 0.0], &[1.0; 3])]
    {
        assert_eq!(judged(&Unit::Pps, a, b, 5.0), (Judged::NotEnough, 4), "{a:?} {b:?}");
    }
    let all = Compared::new(&run(Vec::new()), &run(Vec::new()), 5.0);
    assert_eq!(all.exit_code(), 4, "nothing was compared");
}

#[test]
fn repeats_that_do_not_count_are_not_compared() {
    // The last repeat of each, which would make the second run worse, was thrown away.
    let discarded = |values: &[f64]| {
        let mut test = test("t", Unit::Pps, values);
        test.repeats.last_mut().unwrap().valid = false;
        test.summarize(Unit::Pps);
        run(vec![test])
    };
    let pair = |a: &[f64], b: &[f64]| Compared::new(&discarded(a), &discarded(b), 5.0).pairs.remove(0);
    let same = pair(&[100.0, 101.0, 99.0, 1e6], &[100.0, 101.0, 99.0, 1.0]);
    assert_eq!((same.judged, same.ratio.known(), same.a_counted, same.b_counted), (Judged::Same, Some(1.0), 3, 3));
    let few = pair(&[100.0, 101.0, 99.0], &[1.0, 1.0, 1.0]);
    assert_eq!((few.judged, few.why.as_deref()), (Judged::NotEnough, Some("2 and 2 repeats count, 3 are needed")));
}

fn pair(a: &[f64], b: &[f64]) -> super::Pair {
    Compared::new(&run(vec![test("t", Unit::Pps, a)]), &run(vec![test("t", Unit::Pps, b)]), 2.0).pairs.remove(0)
}

/// Computed by hand: 4.586662 degrees of freedom, whose quantile is 2.641846.
#[test]
fn the_interval_of_a_test_alone_is_welchs() {
    let ends = |a: &[f64], b: &[f64]| {
        let pair = pair(a, b);
        [pair.ratio, pair.low, pair.high].map(|end| end.known().unwrap())
    };
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-5, "{found} {wanted}");
    let there = ends(&[10.0, 11.0, 12.0], &[20.0, 21.0, 25.0, 22.0]);
    there.into_iter().zip([1.998_535, 1.655_924, 2.412_032]).for_each(|(found, wanted)| near(found, wanted));
    let back = ends(&[20.0, 21.0, 25.0, 22.0], &[10.0, 11.0, 12.0]);
    [(0, 0), (1, 2)].into_iter().for_each(|(one, other)| near(back[one] * there[other], 1.0));
    ends(&[2.0; 3], &[4.0; 3]).into_iter().for_each(|end| near(end, 2.0));
}

/// The example of Holm's paper: 0.01, 0.04, 0.03, 0.005 become 0.03, 0.06, 0.06, 0.02.
#[test]
fn chances_of_a_family_are_holms() {
    let near = |found: &[f64], wanted: &[f64]| found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-12);
    assert!(near(&family(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]));
    assert!(near(&family(&[0.9, 0.8]), &[1.0, 1.0]) && family(&[]).is_empty());
}

/// Numbers of a normal distribution, by the sum of twelve.
struct Normal(u64);

impl Normal {
    fn next(&mut self) -> f64 {
        let mut sum = -6.0;
        for _ in 0..12 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += (self.0 >> 11) as f64 / (1u64 << 53) as f64;
        }
        sum
    }
    /// Two runs of 111 tests with `repeats` each and these deviations, the first test of the second run at `ratio`.
    fn runs(&mut self, repeats: usize, deviation: impl Fn(usize) -> f64, ratio: f64) -> [RunResult; 2] {
        [1.0, ratio].map(|ratio| {
            let mut one = |k: usize| {
                let scale = if k == 0 { 1000.0 * ratio } else { 1000.0 };
                let values: Vec<f64> = (0..repeats).map(|_| scale * (deviation(k) * self.next()).exp()).collect();
                test(&format!("t{k}"), Unit::BitsPerSecond, &values)
            };
            run((0..111).map(&mut one).collect())
        })
    }
}

#[test]
fn variances_that_are_alike_are_drawn_together_and_others_are_not() {
    let mut normal = Normal(1);
    let mut prior = |deviation: fn(usize) -> f64| {
        let [a, _] = normal.runs(4, deviation, 1.0);
        Prior::of(&a.tests.iter().map(|test| Side::of(&super::values(test)).unwrap()).collect::<Vec<_>>())
    };
    let one = Side::of(&[1.0, 1.0, 1.1]).unwrap();
    let alike = prior(|_| 0.02).moderate(one);
    let unlike = prior(|k| 0.002 * 1.05_f64.powi(k.try_into().unwrap())).moderate(one);
    let error = |side: Side| Difference::of(side, side).error / (2.0_f64 / 3.0).sqrt();
    // Its own deviation is 0.055.
    assert!((0.02..0.03).contains(&error(alike)), "{alike:?}");
    assert!((0.045..0.06).contains(&error(unlike)), "{unlike:?}");
}

/// Of two runs of the same, one in twenty has a test that is worse, however the tests' spreads differ.
#[test]
fn a_run_against_itself_is_rarely_worse() {
    let mut normal = Normal(2);
    for (repeats, deviation) in [
        (3, (|_| 0.02) as fn(usize) -> f64),
        (3, |_| 0.04),
        (3, |k| if k % 10 == 0 { 0.1 } else { 0.01 }),
        (5, |k| 0.002 * 1.04_f64.powi(k.try_into().unwrap())),
        (8, |_| 0.02),
    ] {
        let worse = (0..100).filter(|_| {
            let [a, b] = normal.runs(repeats, deviation, 1.0);
            Compared::new(&a, &b, 2.0).exit_code() == 3
        });
        let worse = worse.count();
        assert!(worse <= 10, "{worse} of 100 with {repeats} repeats");
    }
}

/// One test of 111 loses 5 % at a deviation of 2 %: eight repeats a side find it, three suspect it, and eight of the suspects
/// alone find it.
#[test]
fn a_loss_is_found_or_suspected_and_then_found() {
    let mut normal = Normal(3);
    let (mut found, mut suspected, mut power) = (0, 0, 0.0);
    for _ in 0..100 {
        let [a, b] = normal.runs(8, |_| 0.02, 0.95);
        let all = Compared::new(&a, &b, 2.0);
        found += usize::from(all.pairs[0].judged == Judged::Worse);
        power += all.pairs[0].finds_per_cent.known().unwrap() / 100.0;
        let [a, b] = normal.runs(3, |_| 0.02, 0.95);
        let first = Compared::new(&a, &b, 2.0);
        if first.pairs[0].judged == Judged::Worse {
            suspected += 1;
        } else if first.suspects.iter().any(|id| id == "t0") {
            let mut again = normal.runs(8, |_| 0.02, 0.95);
            again.iter_mut().for_each(|run| run.tests.retain(|test| first.suspects.contains(&test.id)));
            let again = Compared::new(&again[0], &again[1], 2.0);
            suspected += usize::from(again.pairs[0].judged == Judged::Worse);
        }
    }
    assert!(found >= 92, "{found} of 100 at once");
    assert!(suspected >= 94, "{suspected} of 100 in two steps");
    assert!((4.0..6.0).contains(&power), "{power}");
}

#[test]
fn tests_are_paired_by_id_and_parameters_or_by_parameters_alone() {
    let with = |id: &str, bytes: u32| {
        let mut test = test(id, Unit::Pps, &[1.0, 1.1, 1.0]);
        test.parameters.insert("bytes".to_owned(), bytes.into());
        test
    };
    let mut a = run(vec![with("same", 1), with("other", 2), with("old name", 3), with("gone", 4)]);
    // Of a sweep of other points, too.
    a.tests[0].parameters.insert("points".to_owned(), 27_u32.into());
    let b = run(vec![with("same", 1), with("other", 9), with("new name", 3), with("added", 5)]);
    let all = Compared::new(&a, &b, 5.0);
    let pairs: Vec<_> = all.pairs.iter().map(|pair| (pair.test.as_str(), pair.other.as_str())).collect();
    assert_eq!(pairs, [("same", "same"), ("old name", "new name")]);
    assert_eq!(all.only_a, ["other: bytes 2 and 9", "gone"]);
    assert_eq!(all.only_b, ["other", "added"]);
    // Two that are alike are not paired by chance.
    let twins = run(vec![with("x", 3), with("y", 3)]);
    assert!(Compared::new(&run(vec![with("old name", 3)]), &twins, 5.0).pairs.is_empty());
}

/// A test of one size at one MTU, measured once.
fn point(mtu: u64, bytes: u64, value: f64) -> Test {
    let mut one = test(&format!("{bytes}-{mtu}"), Unit::BitsPerSecond, &[value]);
    one.parameters = linerate_result::parameters([("mtu", mtu.into()), ("message_bytes", bytes.into())]);
    one
}

#[test]
fn points_that_were_measured_once_are_judged_together() {
    let sizes = [64_u64, 512, 4096, 65536];
    let all = |of: fn(u64, u64) -> f64| {
        run([1500, 9000].iter().flat_map(|mtu| sizes.map(|bytes| point(*mtu, bytes, of(*mtu, bytes)))).collect())
    };
    let before = all(|mtu, bytes| (mtu * bytes) as f64);
    // Of one MTU the half of it, within a few per cent.
    let half = all(|mtu, bytes| (mtu * bytes) as f64 * if mtu == 9000 { 0.5 + bytes as f64 / 2e6 } else { 1.0 });
    let compared = Compared::new(&before, &half, 5.0);
    let judged: Vec<_> = compared.series.iter().map(|one| (one.name.as_str(), one.points, one.judged)).collect();
    assert_eq!(judged, [("tx, mtu 1500", 4, Judged::Same), ("tx, mtu 9000", 4, Judged::Worse)]);
    assert!(compared.pairs.iter().all(|pair| pair.judged == Judged::NotEnough));
    assert_eq!((compared.exit_code(), Compared::new(&before, &before, 5.0).exit_code()), (3, 0));
    assert!(super::render(&compared, false).contains("tx, mtu 9000"));
    // One point of many, and points that go both ways, are no loss.
    let one = all(|mtu, bytes| (mtu * bytes) as f64 * if mtu == 9000 && bytes == 64 { 0.5 } else { 1.0 });
    assert_eq!(Compared::new(&before, &one, 5.0).exit_code(), 0);
    // Two points are too few.
    let few = |factor: f64| run(sizes[..2].iter().map(|bytes| point(9000, *bytes, factor * *bytes as f64)).collect());
    assert_eq!(Compared::new(&few(1.0), &few(0.5), 5.0).exit_code(), 4);
}
