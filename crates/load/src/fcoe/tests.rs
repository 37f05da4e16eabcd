use super::*;
use linerate_rt::cpus;

/// A short set-up with sleeping threads, so that it runs on one core as well.
fn short(medium: Medium, io_bytes: u32, reads: u32) -> Setup {
    let cpus = cpus();
    let cores = [cpus[0], cpus[cpus.len() - 1]];
    let time = Duration::from_millis(50);
    Setup { wait: WaitMode::Sleep, warm: Duration::ZERO, ..Setup::new(medium, io_bytes, reads, cores, time) }
}

fn right(setup: &Setup) -> Measured {
    // On a busy machine no request may end within a short time, or none that began in it.
    let times = [1, 10, 100, 1000].map(|longer| Setup { time: longer * setup.time, ..setup.clone() });
    let measured = times.iter().map(|setup| measure(setup, &Stop::new().unwrap()).unwrap());
    let mut measured = measured.inspect(|measured| assert_eq!(measured.errors, 0, "{measured:?}"));
    let ended = |measured: &Measured| {
        let counts = [measured.requests, measured.target.frames, measured.initiators.frames];
        counts.iter().all(|n| *n > 0) && measured.latency().is_some()
    };
    let measured = measured.find(ended).expect("no request ends");
    assert_eq!(measured.bytes, measured.requests * u64::from(setup.io_bytes));
    measured
}

#[test]
fn what_is_written_is_read_again() {
    for (io_bytes, reads) in [(512, 100), (512, 0), (512, 50), (32_768, 100), (32_768, 0), (4096, 30)] {
        right(&short(Medium::Ram(4 << 20), io_bytes, reads));
    }
}

#[test]
fn nothing_is_read_from_disks_of_nothing() {
    right(&short(Medium::Null, 4096, 50));
}

#[test]
fn several_initiators_share_a_target_behind_a_switch() {
    let setup = Setup { initiators: 4, luns: 3, ..short(Medium::Ram(1 << 20), 2048, 50) };
    right(&setup);
    right(&Setup { rate: Some(10_000_000_000), ..setup });
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let stop = Stop::new().unwrap();
    let good = short(Medium::Ram(1 << 20), 512, 100);
    for (setup, wanted) in [
        (Setup { io_bytes: 700, ..good.clone() }, "700"),
        (Setup { io_bytes: 32_768, ..good.clone() }, "32768"),
        (Setup { initiators: 0, ..good.clone() }, "0 initiators"),
        (Setup { queue_depth: 300, ..good.clone() }, "300"),
        (Setup { mtu: 100, ..good.clone() }, "100"),
    ] {
        let error = measure(&setup, &stop).unwrap_err().to_string();
        assert!(error.contains(wanted) && !error.contains('\n'), "{error}");
    }
    stop.ask(0);
    assert!(matches!(measure(&good, &stop), Err(FcoeError::Stopped)));
}
