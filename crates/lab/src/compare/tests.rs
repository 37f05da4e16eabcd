use linerate_result::{Repeat, RunResult, Test, Timestamp, Unit};

use super::{Compared, Judged, interval};

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
        ([60.0, 130.0, 70.0, 110.0], 5.0, (Judged::Same, 0)),
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

/// Computed by hand: 4.586662 degrees of freedom, whose quantile is 2.641846.
#[test]
fn the_interval_is_welchs() {
    let (ratio, low, high) = interval(&[10.0, 11.0, 12.0], &[20.0, 21.0, 25.0, 22.0]).unwrap();
    let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-5;
    assert!(near(ratio, 1.998_535) && near(low, 1.655_924) && near(high, 2.412_032), "{ratio} {low} {high}");
    let back = interval(&[20.0, 21.0, 25.0, 22.0], &[10.0, 11.0, 12.0]).unwrap();
    assert!(
        (back.0 * ratio - 1.0).abs() < 1e-12 && (back.1 * high - 1.0).abs() < 1e-12,
        "the same from the other side"
    );
    assert_eq!(interval(&[2.0; 3], &[4.0; 3]), Some((2.0, 2.0, 2.0)));
}

#[test]
fn tests_are_paired_by_id_and_parameters_or_by_parameters_alone() {
    let with = |id: &str, bytes: u32| {
        let mut test = test(id, Unit::Pps, &[1.0, 1.1, 1.0]);
        test.parameters.insert("bytes".to_owned(), bytes.into());
        test
    };
    let a = run(vec![with("same", 1), with("other", 2), with("old name", 3), with("gone", 4)]);
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
