//! Search for the greatest load that a device forwards (RFC 2544, section 26.1), where loss need not be monotonic.
//!
//! A load that fails by few frames is offered again, as one trial may have been disturbed (ETSI GS NFV-TST 009, 12.3.3:
//! binary search with loss verification).

/// What came of offering a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passes,
    /// It may pass when it is offered again: few frames were lost, or the sender was late.
    Doubtful,
    Fails,
}

/// How finely and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Greatest distance between the load found and the least one that fails, millionths of the greatest.
    pub(super) resolution_ppm: u64,
    /// How often a doubtful load is offered again.
    pub(super) again: u64,
}

/// Greatest load up to `most` that passes, by halves; `None` if none does. Each load is offered by `trial`.
pub(super) fn greatest(
    most: u64,
    rules: Rules,
    mut trial: impl FnMut(u64) -> Result<Verdict, String>,
) -> Result<Option<u64>, String> {
    let mut passes = |load: u64| {
        for _ in 0..=rules.again {
            match trial(load)? {
                Verdict::Passes => return Ok::<_, String>(true),
                Verdict::Doubtful => {}
                Verdict::Fails => return Ok(false),
            }
        }
        Ok(false)
    };
    if passes(most)? {
        return Ok(Some(most));
    }
    let resolution = most / 1_000_000 * rules.resolution_ppm + most % 1_000_000 * rules.resolution_ppm / 1_000_000;
    let (mut passed, mut failed) = (0, most);
    while failed - passed > resolution.max(1) {
        let load = passed + (failed - passed) / 2;
        *(if passes(load)? { &mut passed } else { &mut failed }) = load;
    }
    Ok(Some(passed).filter(|passed| *passed > 0))
}

/// Greatest load up to `top` that passes, where `most` is only thought to be the greatest: as long as it passes, a quarter more is
/// offered.
pub(super) fn beyond(
    mut most: u64,
    top: u64,
    rules: Rules,
    mut trial: impl FnMut(u64) -> Result<Verdict, String>,
) -> Result<Option<u64>, String> {
    loop {
        match greatest(most, rules, &mut trial)? {
            Some(load) if load == most && most < top => most = top.min(most.saturating_add(most.div_ceil(4))),
            found => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { resolution_ppm: 100, again: 2 };

    fn limit(at: u64) -> impl FnMut(u64) -> Result<Verdict, String> {
        move |load| Ok(if load <= at { Verdict::Passes } else { Verdict::Fails })
    }

    #[test]
    fn it_ends_within_the_resolution_below_the_limit() {
        for at in [1, 9, 10, 11, 4_999, 99_990, 99_999, 100_000, 123_456] {
            let found = greatest(100_000, RULES, limit(at)).unwrap();
            match found {
                Some(found) => assert!(found <= at && at.min(100_000) - found < 10, "{at}: {found}"),
                None => assert!(at < 10, "{at}"),
            }
        }
        assert_eq!(greatest(1 << 40, RULES, limit(0)), Ok(None));
        let exact = Rules { resolution_ppm: 0, ..RULES };
        assert_eq!(greatest(u64::MAX, exact, limit(77)), Ok(Some(77)));
    }

    /// Regression: a sender that was disturbed when it was to show how fast it is ended the search there.
    #[test]
    fn what_was_thought_to_be_the_greatest_is_not_the_end() {
        for at in [500, 1_000, 1_001, 99_999] {
            let found = beyond(1_000, 1 << 30, RULES, limit(at)).unwrap().unwrap();
            assert!(found <= at && found + found.div_ceil(1_000) >= at, "{at}: {found}");
        }
        assert_eq!(beyond(1_000, 3_000, RULES, limit(u64::MAX)), Ok(Some(3_000)));
        assert_eq!(beyond(1_000, 1_000, RULES, limit(u64::MAX)), Ok(Some(1_000)));
    }

    #[test]
    fn one_disturbed_trial_does_not_mislead() {
        let (mut disturbed, mut honest) = (0, limit(70_000));
        let found = greatest(100_000, RULES, |load| {
            disturbed += 1;
            if disturbed % 3 == 0 { Ok(Verdict::Doubtful) } else { honest(load) }
        });
        assert!((69_990..=70_000).contains(&found.unwrap().unwrap()));
        let mut offered = 0;
        let never = greatest(100, RULES, |_| {
            offered += 1;
            Ok(Verdict::Doubtful)
        });
        assert_eq!(never, Ok(None));
        assert_eq!(offered % 3, 0, "three times each");
    }

    #[test]
    fn an_obstacle_ends_it() {
        assert_eq!(greatest(100, RULES, |_| Err("stopped".to_owned())), Err("stopped".to_owned()));
    }
}
