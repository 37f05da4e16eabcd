//! Workloads that are measured at the same time over one path, such as transactions beside streams: latency under load.
//!
//! All are set up first and begin together; as they last equally long they end together, and a measurement in which they did
//! not does not count. Before that those that measure latency run without the others: idle latency.

use crate::socket::{Ends, Path, Via};
use crate::turn::Start;
use crate::workload::{Over, Run, Workload};
use linerate_result::{Parameters, Test, Unit};
use linerate_rt::{Stop, pause};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Most workloads at once: each has ports of its own, one behind the other.
pub const MOST: usize = 16;
/// Least share of the time from the first one's beginning to the last one's end in which all run.
const COMMON: f64 = 0.8;

/// A workload and what is asked of it.
pub type Asked<'a> = (&'static Workload, &'a Parameters);

/// Measurements of one time.
#[derive(Debug, Default)]
pub struct Measured {
    /// Tests of all workloads, in their order.
    pub loaded: Vec<Test>,
    /// Tests of those that measure latency before that, each with its place.
    pub idle: Vec<(usize, Test)>,
    /// Bits per second of all streams together, if several workloads have such.
    pub sum: Option<Test>,
}

/// Jain's fairness index of rates that should be alike: 1 if they are equal, one over their number if one has all (R. Jain,
/// D. Chiu, W. Hawe, DEC-TR-301). None of fewer than two, or if all are nought.
pub(crate) fn fairness(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    (rates.len() > 1 && squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// True of a workload that measures latency.
#[must_use]
pub fn measures_latency(workload: &Workload) -> bool {
    workload.reports.iter().any(|(_, unit)| *unit == Unit::Ns)
}

/// A workload that is ready to be measured beside others.
struct Ready {
    path: Path,
    seconds: u64,
    run: Box<Over>,
}

/// Makes ready what is asked: all of it over one path, and equally long.
fn ready(asked: &[Asked<'_>]) -> Result<Vec<Ready>, String> {
    if asked.len() > MOST {
        return Err(format!("beside: {} workloads at once; give {MOST} at most", asked.len()));
    }
    let mut all: Vec<Ready> = Vec::with_capacity(asked.len());
    for (workload, parameters) in asked {
        let Run::Over(path, seconds, run) = workload.job(parameters)?.run else {
            return Err(format!("workload {}: it is not measured beside others; give one with sockets", workload.name));
        };
        if let Some(first) = all.first() {
            match (first.path, path) {
                (Path::Server(..), Path::Server(..)) => {}
                (Path::Server(..), _) | (_, Path::Server(..)) => {
                    return Err("peer: workloads at once have one path; give each a server there, or none".to_owned());
                }
                (Path::Pair(via, mtu), Path::Pair(other, size)) => {
                    let differs =
                        [("via", via != other), ("mtu", mtu != size)].into_iter().find(|(_, differs)| *differs);
                    if let Some((name, _)) = differs {
                        return Err(format!("{name}: workloads at once have one path; give it once, in the test"));
                    }
                }
            }
            if first.seconds != seconds {
                return Err("seconds: workloads at once end together; give seconds once, in the test".to_owned());
            }
        }
        all.push(Ready { path, seconds, run });
    }
    Ok(all)
}

/// Those that measure latency, for so many seconds: their places, and what is asked of them.
fn idle(asked: &[Asked<'_>], seconds: u64) -> Vec<(usize, &'static Workload, Parameters)> {
    let latency = asked.iter().enumerate().filter(|(_, (workload, _))| seconds > 0 && measures_latency(workload));
    let of = |(place, (workload, parameters)): (usize, &Asked<'_>)| {
        let mut parameters = (*parameters).clone();
        parameters.insert("seconds".to_owned(), seconds.into());
        (place, *workload, parameters)
    };
    latency.map(of).collect()
}

/// Checks workloads that are to be measured at the same time, and describes in a line what that makes and does. Those that measure
/// latency are measured for so many seconds without the others before.
///
/// # Errors
/// A thing that one of them cannot do, or not beside the others, with the mend.
pub fn describe(asked: &[Asked<'_>], quiet: u64) -> Result<String, String> {
    let all = ready(asked)?;
    let idle = idle(asked, quiet);
    let latency: Vec<Asked<'_>> = idle.iter().map(|(_, workload, parameters)| (*workload, parameters)).collect();
    ready(&latency)?;
    let first = all.first().ok_or("beside: nothing to measure")?;
    let names = |of: &[Asked<'_>]| of.iter().map(|(workload, _)| workload.name).collect::<Vec<_>>().join(", ");
    let before =
        if idle.is_empty() { String::new() } else { format!("; before that {} for {quiet} s", names(&latency)) };
    Ok(format!("{}; {} at once for {} s{before}", first.path.describe(), names(asked), first.seconds))
}

/// Measures workloads at the same time, once, behind those of them that measure latency for so many seconds.
///
/// # Errors
/// Those of [`describe`], or the first obstacle of any of them. Also when `stop` was requested before the end.
pub fn measure(asked: &[Asked<'_>], quiet: u64, stop: &Stop) -> Result<Measured, String> {
    let (all, before) = (ready(asked)?, idle(asked, quiet));
    let latency = ready(&before.iter().map(|(_, workload, parameters)| (*workload, parameters)).collect::<Vec<_>>())?;
    // One pair for all; the machine's own way to a server is everybody's.
    let path = all.first().ok_or("beside: nothing to measure")?.path;
    let ends = path.open()?;
    let idle = at_once(latency, &ends, stop)?;
    let loaded = at_once(all, &ends, stop)?;
    let mut measured =
        Measured { sum: sum(&loaded), loaded, idle: before.into_iter().map(|(place, ..)| place).zip(idle).collect() };
    if matches!(path, Path::Pair(Via::Stack, _)) {
        // A host's threads serve all of its workloads: what they take is no single one's.
        for test in measured.loaded.iter_mut().chain(measured.idle.iter_mut().map(|(_, test)| test)) {
            test.further.retain(|name, _| !name.starts_with("cpu"));
        }
    }
    Ok(measured)
}

fn at_once(all: Vec<Ready>, ends: &Ends, stop: &Stop) -> Result<Vec<Test>, String> {
    let start = Start::of(all.len())?;
    let new = || Stop::new().map_err(|e| e.to_string());
    // One that fails ends the others.
    let (ends_all, done) = (new()?, new()?);
    let (left, failed) = (AtomicUsize::new(all.len()), Mutex::new(None));
    if all.is_empty() {
        done.ask(0);
    }
    let tests = std::thread::scope(|scope| {
        let threads: Vec<_> = all
            .into_iter()
            .enumerate()
            .map(|(place, Ready { path, run, .. })| {
                let (start, ends_all, done, left, failed) = (&start, &ends_all, &done, &left, &failed);
                scope.spawn(move || {
                    let turn = start.turn(place);
                    let tested = match path {
                        Path::Pair(..) => run(ends, &turn, ends_all),
                        Path::Server(..) => path.open().and_then(|ends| run(&ends, &turn, ends_all)),
                    };
                    let test = tested.map_err(|why| {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
                        ends_all.ask(0);
                    });
                    if left.fetch_sub(1, Relaxed) == 1 {
                        done.ask(0);
                    }
                    test.ok()
                })
            })
            .collect();
        pause(&[stop, &done], None);
        if stop.asked() {
            ends_all.ask(0);
        }
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Option<Vec<Test>>>()
    });
    if stop.asked() {
        return Err("stopped".to_owned());
    }
    let mut tests = tests.ok_or_else(|| {
        let why = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        why.unwrap_or_else(|| "a workload has panicked".to_owned())
    })?;
    if let Some(why) = apart(&start.began(), &tests) {
        tests.iter_mut().for_each(|test| test.discard(&why));
    }
    Ok(tests)
}

/// Reason why tests that should have run at the same time did not.
fn apart(began: &[u64], tests: &[Test]) -> Option<String> {
    let seconds = |test: &Test| test.repeats.first().and_then(|repeat| repeat.seconds.known()).unwrap_or(0.0);
    let first = *began.iter().min()?;
    let spans = || began.iter().zip(tests).map(|(at, test)| ((at - first) as f64 / 1e9, seconds(test)));
    let whole = spans().map(|(at, seconds)| at + seconds).fold(0.0, f64::max);
    let common = spans().map(|(at, seconds)| at + seconds).fold(f64::MAX, f64::min);
    let common = (common - spans().map(|(at, _)| at).fold(0.0, f64::max)).max(0.0);
    (common < COMMON * whole).then(|| format!("all workloads ran at once for {common:.2} of {whole:.2} s"))
}

/// Sum of the rates of bits, which are all of payload that arrived in the same time.
fn sum(tests: &[Test]) -> Option<Test> {
    let bits = |test: &&Test| test.value.as_ref().is_some_and(|value| value.unit == Unit::BitsPerSecond);
    let mut all = tests.iter().filter(bits);
    let (first, others) = (all.next()?, all.collect::<Vec<_>>());
    if others.is_empty() {
        return None;
    }
    let mut sum = first.clone();
    others.into_iter().for_each(|test| sum.beside(test.clone()));
    sum.workload = "sum".to_owned();
    // These are no sums: samples were taken at different moments, threads' times are of each end. What is to be known of a
    // workload is told with it.
    sum.warnings.clear();
    (sum.samples, sum.further) = (Vec::new(), std::collections::BTreeMap::new());
    sum.ports = first.ports.clone();
    sum.summarize(Unit::BitsPerSecond);
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WORKLOADS;
    use linerate_result::{Repeat, Summary, parameters};
    use std::time::Duration;

    fn workload(name: &str) -> &'static Workload {
        WORKLOADS.iter().find(|workload| workload.name == name).unwrap()
    }

    #[test]
    fn fairness_is_one_among_equals_and_one_over_their_number_if_one_has_all() {
        assert_eq!(fairness(&[3.0; 4]), Some(1.0));
        assert_eq!(fairness(&[0.0, 8.0, 0.0, 0.0]), Some(0.25));
        // (1 + 2 + 3)^2 / (3 * 14)
        assert!((fairness(&[1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!((fairness(&[5.0]), fairness(&[0.0; 2]), fairness(&[])), (None, None, None));
    }

    #[test]
    fn what_did_not_run_at_the_same_time_does_not_count() {
        let test = |seconds: f64| Test {
            repeats: vec![Repeat { value: 1.0.into(), seconds: seconds.into(), valid: true, ..Repeat::default() }],
            ..Test::default()
        };
        let (one, second) = ([test(1.0), test(1.0)], 1_000_000_000);
        assert_eq!(apart(&[7, 7 + second / 50], &one), None);
        assert_eq!(apart(&[second, 0], &one).unwrap(), "all workloads ran at once for 0.00 of 2.00 s");
        assert_eq!(
            apart(&[0, 0], &[test(1.0), test(2.0)]).unwrap(),
            "all workloads ran at once for 1.00 of 2.00 s",
            "one that lasts longer is alone in the end"
        );
        assert_eq!(apart(&[], &[]), None);
    }

    #[test]
    fn only_rates_of_bits_are_summed() {
        let test = |value: f64, unit: Unit| {
            let mut test = Test {
                repeats: vec![Repeat { value: value.into(), valid: true, ..Repeat::default() }],
                further: [("cpu".to_owned(), Summary::once(9.0, Unit::PerCent))].into(),
                ..Test::default()
            };
            test.summarize(unit);
            test.counters.add(None, "bytes received", 10);
            test
        };
        let [up, down] = [3.0, 4.0].map(|value| test(value, Unit::BitsPerSecond));
        let ping = test(9.0, Unit::TransactionsPerSecond);
        let sum = |tests: &[Test]| super::sum(tests);
        let both = sum(&[ping.clone(), up.clone(), down]).unwrap();
        assert_eq!((both.value.unwrap().median.known(), both.further.len()), (Some(7.0), 0));
        assert_eq!(both.counters.get(None, "bytes received"), Some(20));
        assert_eq!((sum(&[ping.clone(), up]), sum(&[ping])), (None, None));
    }

    /// Streams each way beside transactions, over each path.
    #[test]
    fn workloads_are_measured_at_the_same_time_over_one_path() {
        let stop = Stop::new().unwrap();
        for via in ["kernel", "stack"] {
            let path = [("via", via.into()), ("mtu", 1500_u32.into()), ("seconds", 1_u32.into())];
            let bulk = [("io_bytes", 65_536_u32.into()), ("parallel", 2_u32.into())];
            let streams = parameters(path.clone().into_iter().chain(bulk));
            let ping = parameters(path);
            let asked =
                [(workload("UDP_RR"), &ping), (workload("TCP_STREAM"), &streams), (workload("TCP_MAERTS"), &streams)];
            let told = describe(&asked, 1).unwrap();
            let both = "; UDP_RR, TCP_STREAM, TCP_MAERTS at once for 1 s; before that UDP_RR for 1 s";
            assert!(told.ends_with(both), "{told}");
            let measured = match measure(&asked, 1, &stop) {
                Err(why) if why.contains("network namespace") => {
                    linerate_skip::skip!("{why}");
                    continue;
                }
                measured => measured.unwrap_or_else(|why| panic!("{via}: {why}")),
            };
            let names: Vec<&str> = measured.loaded.iter().map(|test| test.workload.as_str()).collect();
            assert_eq!(names, ["UDP_RR", "TCP_STREAM", "TCP_MAERTS"], "{via}");
            let [(0, idle)] = &measured.idle[..] else { panic!("{via}: {:?}", measured.idle) };
            assert!(idle.latency.is_some() && measured.loaded[0].latency.is_some(), "{via}");
            for test in &measured.loaded {
                assert_eq!(test.failures, [""; 0], "{via} {}", test.workload);
                // A machine that is busy may have started one later.
                let repeat = &test.repeats[0];
                let late = repeat.why_invalid.as_ref().is_some_and(|why| why.starts_with("all workloads ran at once"));
                assert!(repeat.value.known() > Some(0.0) && (repeat.valid || late), "{via}: {repeat:?}");
                assert_eq!(test.further.contains_key("cpu"), via == "kernel", "{via}");
            }
            for streams in &measured.loaded[1..] {
                let fair = streams.further["fairness"].median.known().unwrap();
                assert!((0.5..=1.0).contains(&fair), "{via}: {fair}");
            }
            if let Some(sum) = &measured.sum {
                let of = |test: &Test| test.repeats[0].value.known().unwrap();
                let both = of(&measured.loaded[1]) + of(&measured.loaded[2]);
                assert!((of(sum) / both - 1.0).abs() < 1e-9, "{via}: {sum:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_measured_at_the_same_time_is_told_in_a_line() {
        let stop = Stop::new().unwrap();
        let of = |list: &[(&'static str, u32)]| parameters(list.iter().map(|(name, value)| (*name, (*value).into())));
        let stream = of(&[("io_bytes", 64)]);
        let (udp, tcp, none) = (workload("UDP_RR"), workload("TCP_STREAM"), Parameters::new());
        let peer = parameters([("peer", "127.0.0.1:9".into())]);
        let port = parameters([("-i", "null:".into()), ("-f", "tx".into())]);
        for (other, told) in [
            ((tcp, &of(&[("io_bytes", 64), ("mtu", 9000)])), "mtu: workloads at once have one path"),
            ((tcp, &of(&[("io_bytes", 64), ("seconds", 3)])), "seconds: workloads at once end together"),
            ((udp, &peer), "peer: workloads at once have one path"),
            ((workload("pkt-gen"), &port), "workload pkt-gen: it is not measured beside others"),
            ((tcp, &none), "io_bytes: give bytes"),
        ] {
            let asked = [(udp, &none), other];
            let error = describe(&asked, 0).unwrap_err();
            assert!(error.starts_with(told) && !error.contains('\n'), "{told}: {error}");
            assert_eq!(measure(&asked, 0, &stop).unwrap_err(), error);
        }
        let many: Vec<Asked<'_>> = (0..=MOST).map(|_| (tcp, &stream)).collect();
        assert_eq!(describe(&many, 0).unwrap_err(), "beside: 17 workloads at once; give 16 at most");
        stop.ask(2);
        let own = parameters([("via", "stack".into())]);
        assert_eq!(measure(&[(udp, &own), (udp, &own)], 1, &stop).unwrap_err(), "stopped");
    }

    /// One that fails ends the others at once, and says why.
    #[test]
    fn the_first_failure_ends_all() {
        let stop = Stop::new().unwrap();
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let server = crate::stream::Server::at([127, 0, 0, 1].into()).unwrap();
        let there = format!("127.0.0.1:{}", server.port());
        let of = |peer: String| {
            parameters([("io_bytes", 64_u32.into()), ("seconds", 600_u32.into()), ("peer", peer.into())])
        };
        let (good, bad) = (of(there), of(nobody.to_string()));
        let tcp = workload("TCP_STREAM");
        let begin = std::time::Instant::now();
        let error = measure(&[(tcp, &good), (tcp, &bad)], 0, &stop).unwrap_err();
        assert!(error.contains("Connection refused") && begin.elapsed() < Duration::from_secs(60), "{error}");
    }
}
