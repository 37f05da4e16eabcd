//! Values by their names: in the order and with the headers of netperf.

use super::{End, PAIRINGS, alike, has_netperf, numbers, pair};

#[test]
fn values_stand_where_netperf_has_them() {
    if !has_netperf() {
        return;
    }
    for test in ["TCP_STREAM", "TCP_MAERTS", "UDP_STREAM", "TCP_RR"] {
        for form in ["-k", "-o", "-o THROUGHPUT,MIN_LATENCY,P50_LATENCY,MEAN_LATENCY", "-O throughput;local_send_size"]
        {
            alike(&format!("-t {test} -l 1 -c -C -- {form}"));
        }
    }
}

#[test]
fn all_values_that_netperf_still_has_are_there_in_its_order() {
    if !has_netperf() {
        return;
    }
    let words = "-t TCP_RR -l 1 -P 0 -c -C -- -k all";
    let theirs = pair((End::Theirs, End::Theirs), words);
    let ours = pair((End::Ours, End::Theirs), words);
    fn names(text: &str) -> impl Iterator<Item = &str> {
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name)
    }
    let common: Vec<&str> = names(&theirs).filter(|name| names(&ours).any(|own| own == *name)).collect();
    let known: Vec<&str> = names(&ours).filter(|name| *name != "RESULT_BRAND").collect();
    assert!(known.len() > 90 && known == common, "{known:?}\n{common:?}");
}

#[test]
fn times_of_transactions_are_in_order() {
    if !has_netperf() {
        return;
    }
    let names = "MIN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY,MEAN_LATENCY,STDDEV_LATENCY,RT_LATENCY";
    let mut shares = Vec::new();
    for pairing in PAIRINGS.into_iter().filter(|(client, _)| *client == End::Ours) {
        for (test, number) in [("TCP_RR", 20_000), ("UDP_RR", 20_000), ("TCP_CRR", 2000)] {
            // A number of them: the end of a time may come in the midst of one that takes long.
            let text = pair(pairing, &format!("-t {test} -l -{number} -P 0 -- -o {names}"));
            let [min, p50, p90, p99, max, mean, _, trip] = numbers(&text.trim().replace(',', " "))[..] else {
                panic!("{text}")
            };
            assert!(min > 0.0 && min <= p50 && p50 <= p90 && p90 <= p99 && p99 <= max && mean >= min, "{test}: {text}");
            // Two ways to the same figure: the mean of all times, and the time over their number. Between two transactions a busy
            // machine may do other things, but not in each of these tests.
            assert!(mean / trip < 1.05, "{test}: {text}");
            shares.push(mean / trip);
        }
    }
    assert!(shares.iter().any(|share| *share > 0.8), "{shares:?}");
}
