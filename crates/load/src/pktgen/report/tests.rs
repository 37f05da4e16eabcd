use super::*;

fn teller(style: Style, normalize: bool, framing: bool) -> Teller {
    Teller::new(style, normalize, framing, false)
}

/// The figures of netmap's own lines, as quoted in its documentation and by its users, give those lines.
#[test]
fn netmaps_lines_come_out_to_the_letter() {
    let x = Progressed {
        frames: 6_813_320,
        bytes: 408_799_200,
        events: 13_320,
        min_space: 0,
        usec: 1_001_608,
        ..Progressed::default()
    };
    let (line, text) = teller(Style::Lines, true, false).periodic(&x);
    assert_eq!(
        (line, text.as_str()),
        (2781, "6.802 Mpps (6.813 Mpkts 3.265 Gbps in 1001608 usec) 511.51 avg_batch 0 min_space")
    );
    let x = Progressed { frames: 44_540_090, usec: 1_000_916, ..Progressed::default() };
    let (line, text) = teller(Style::Classic, true, false).periodic(&x);
    assert_eq!((line, text.as_str()), (1418, "44499329 pps (44540090 pkts in 1000916 usec)"));
    let x = Progressed {
        frames: 55_898_702,
        bytes: 3_353_922_120,
        events: 109_281,
        min_space: 0,
        usec: 7_973_000,
        ..Progressed::default()
    };
    assert_eq!(
        teller(Style::Lines, true, false).last("Sent", &x),
        [
            "Sent 55898702 packets 3353922120 bytes 109281 events 60 bytes each in 7.97 seconds.",
            "Speed: 7.011 Mpps Bandwidth: 3.365 Gbps (raw 3.365 Gbps). Average batch: 511.51 pkts",
        ]
    );
}

#[test]
fn framing_adds_24_bytes_to_the_raw_bandwidth_only() {
    let x = Progressed {
        frames: 1_000_000,
        bytes: 60_000_000,
        events: 2000,
        min_space: 3,
        usec: 1_000_000,
        ..Progressed::default()
    };
    let lines = teller(Style::Lines, true, true).last("Received", &x);
    assert_eq!(lines[1], "Speed: 1.000 Mpps Bandwidth: 480.000 Mbps (raw 672.000 Mbps). Average batch: 500.00 pkts");
    let (_, text) = teller(Style::Lines, true, true).periodic(&x);
    assert_eq!(text, "1.000 Mpps (1.000 Mpkts 672.000 Mbps in 1000000 usec) 500.00 avg_batch 3 min_space");
}

#[test]
fn units_need_not_be_normalized() {
    let x =
        Progressed { frames: 1_500, bytes: 90_000, events: 3, min_space: 0, usec: 1_000_000, ..Progressed::default() };
    let (_, text) = teller(Style::Lines, false, false).periodic(&x);
    assert_eq!(text, "1500 pps (1500 pkts 720000 bps in 1000000 usec) 500.00 avg_batch 0 min_space");
}

#[test]
fn nothing_is_said_to_be_nothing() {
    assert_eq!(teller(Style::Lines, true, false).last("Sent", &Progressed::default()), ["Sent nothing."]);
}

/// Regression: frames that fitted into one burst once were reported at 512 Mpps.
#[test]
fn a_rate_needs_a_measured_time() {
    let burst = Progressed { frames: 512, bytes: 30_720, events: 1, usec: 1, ..Progressed::default() };
    for x in [burst, Progressed { usec: 0, ..burst }, Progressed { usec: 1_000, before: (512, 30_720), ..burst }] {
        let lines = teller(Style::Lines, true, false).last("Sent", &x);
        assert!(
            lines[1].starts_with("Speed: not measured: 512 packets within ") && !lines[1].contains("pps"),
            "{lines:?}"
        );
        assert!(x.rates().is_err());
    }
    // Frames present at the first clock reading took no time that was measured.
    let x = Progressed { frames: 1_024, bytes: 61_440, events: 2, usec: 1_000, before: (512, 30_720), min_space: 0 };
    assert_eq!(x.rates(), Ok((512_000.0, 30_720_000.0)));
}

#[test]
fn mean_and_deviation_slide_over_fifteen_reports_and_skip_empty_ones() {
    let mut teller = Teller::new(Style::Lines, true, false, true);
    let mut report =
        |frames| teller.periodic(&Progressed { frames, events: 1, usec: 1_000_000, ..Progressed::default() }).1;
    for _ in 0..20 {
        report(9_000_000);
    }
    report(0);
    for _ in 0..7 {
        report(1_000);
    }
    let text = report(3_000);
    // Of the last 15: six of 9 M, one of zero, seven of 1 K, one of 3 K.
    let live = [9e6, 9e6, 9e6, 9e6, 9e6, 9e6, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 3e3];
    let mean = live.iter().sum::<f64>() / 14.0;
    let dev = (live.iter().map(|x: &f64| (x - mean).powi(2)).sum::<f64>() / 14.0).sqrt();
    assert!(text.contains(&format!("[avg/std {:.3} M/{:.3} M pps](", mean / 1e6, dev / 1e6)), "{text}");
}
