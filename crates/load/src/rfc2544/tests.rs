use super::*;
use linerate_result::parameters;

/// A trial of a second over a cable with this description.
fn over(workload: &Workload, cable: &str, more: &[(&str, u32)]) -> Result<Test, String> {
    let [near, far] = ["{", "}"].map(|end| format!("cable:{}", cable.replacen('|', &format!("{end}1"), 1)));
    let mut asked = parameters([
        ("-i", Parameter::from(near.as_str())),
        ("--to", far.as_str().into()),
        ("trial_seconds", 1_u32.into()),
        ("settle", 0_u32.into()),
    ]);
    asked.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
    workload.measure(&asked, &Stop::new().unwrap())
}

/// Measures likewise; none on a machine that is so busy that each trial's last frame is late.
fn found(workload: &Workload, cable: &str, more: &[(&str, u32)]) -> Option<Test> {
    match over(workload, cable, more) {
        Err(why) if why.ends_with("passes without loss") => {
            linerate_skip::skip!("a busy machine: {why}");
            None
        }
        measured => Some(measured.unwrap()),
    }
}

/// A link carries its rate and no more: 10^8 bits by frames of 1518 bytes and 20 more are 8127 a second.
#[test]
fn the_rate_of_a_link_is_found_and_never_exceeded() {
    let more = [("frame_bytes", 1518), ("resolution_ppm", 10_000)];
    let Some(test) = found(&THROUGHPUT, "rfc1|,rate=100M", &more) else { return };
    let value = test.value.as_ref().unwrap();
    let found = value.median.known().unwrap();
    assert_eq!(value.unit, Unit::Pps);
    assert!(found <= 8127.0 && found > 0.0, "{found}");
    let share = test.further["share"].median.known().unwrap();
    assert!((share - found / 8127.0).abs() < 1e-9, "{share}");
    assert!(test.further["latency"].median.known() > Some(0.0) && test.latency.is_some());
    assert!(
        test.warnings.iter().any(|line| line.contains("trials of 1 s, 0 s between them, do not conform")),
        "{:?}",
        test.warnings
    );
    assert!(test.failures.is_empty(), "{:?}", test.failures);
}

/// Each frame that the link drops by its seed, and no other, is lost.
#[test]
fn what_a_link_loses_is_the_loss() {
    let more = [("frame_bytes", 512), ("load", 50)];
    let test = over(&LOSS, "rfc2|,rate=100M,faults=drop:0.02/seed:5", &more).unwrap();
    // 23,496 frames a second of 512 bytes and 20 more; the half of it for a second.
    let sent = 11_748.0;
    let (.., dropped) = test.counters.iter().find(|(_, name, _)| *name == "fault_dropped").unwrap();
    let loss = test.value.as_ref().unwrap().median.known().unwrap();
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let planned = 100.0 * dropped as f64 / sent;
    assert!((loss - planned).abs() < 1e-9 && (1.0..3.0).contains(&loss), "{loss} {planned}");
    let offered = test.further["offered"].median.known().unwrap();
    assert!(offered <= 11_748.5, "{offered}");
    assert!(test.failures.is_empty(), "{:?}", test.failures);
}

#[test]
fn a_link_that_loses_has_no_throughput_without_tolerance() {
    let lossy = "rfc3|,rate=100M,faults=drop:0.02/seed:5";
    let more = [("frame_bytes", 1518), ("resolution_ppm", 100_000), ("again", 0)];
    let why = over(&THROUGHPUT, lossy, &more).unwrap_err();
    assert_eq!(why, "no rate up to 8127 pps passes without loss");
    let Some(tolerant) = found(&THROUGHPUT, lossy, &[&more[..], &[("loss_ppm", 50_000)]].concat()) else { return };
    assert!(tolerant.value.unwrap().median.known() > Some(0.0));
}

#[test]
fn no_burst_is_longer_than_what_a_link_carries_in_the_time_of_the_longest() {
    let more = [("frame_bytes", 1518), ("resolution_ppm", 100_000)];
    let Some(test) = found(&BACK_TO_BACK, "rfc4|,rate=10M", &more) else { return };
    let value = test.value.unwrap();
    let (burst, longest) = (value.median.known().unwrap(), 1624.0);
    assert!((1.0..=longest).contains(&burst) && value.unit == Unit::Frames, "two seconds of 812 a second: {burst}");
    let whole = test.warnings.iter().any(|line| line.contains("no frame was lost in 2 s"));
    assert_eq!(whole, (burst - longest).abs() < 0.5, "{:?}", test.warnings);
    let time = test.further["time"].median.known().unwrap();
    assert!((time - burst / 812.0 * 1e9).abs() < 1.0, "{time}");
}

/// Frames of 64 bytes carry a mark and no tag.
#[test]
fn the_shortest_frames_have_a_throughput_without_latency() {
    let Some(test) = found(&THROUGHPUT, "rfc6|,rate=10M", &[("resolution_ppm", 100_000)]) else { return };
    assert!(test.value.unwrap().median.known() > Some(0.0));
    assert!(test.latency.is_none() && !test.further.contains_key("latency"));
    assert!(test.warnings.iter().any(|line| line.starts_with("no latency: frames of fewer than 80 bytes")));
    let v6 = parameters([("-i", "null:".into()), ("--to", "null:".into()), ("-6", true.into())]);
    let why = THROUGHPUT.describe(&v6).unwrap_err();
    assert!(why.starts_with("frame_bytes: 64 bytes have no room for the mark"), "{why}");
}

#[test]
fn what_a_trial_sets_itself_is_not_asked() {
    for (name, value, told) in [
        ("-R", 5_u32, "rfc2544-loss has no parameter '-R'"),
        (FRAME, 63, "frame_bytes: give a number from 64"),
        ("load", 101, "load: give a number from 1 to 100"),
        ("trial_seconds", 0, "trial_seconds: give a number from 1"),
    ] {
        let why = over(&LOSS, "rfc5|", &[(name, value)]).unwrap_err();
        assert!(why.contains(told), "{name}: {why}");
    }
    let alone = parameters([("-i", "null:".into())]);
    let why = THROUGHPUT.describe(&alone).unwrap_err();
    assert_eq!(why, "--to: give the port at which the frames arrive");
}
